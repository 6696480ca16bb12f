/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Tilings and payload prefixes: written and read again; every parameter and every descriptor that
 * is not allowed is refused by name (BADINPUT classes C and D). */
#include "support.h"
#include "support_tiles.h"

#include "core/error.h"

static wcodec_status read_bytes(const uint8_t *bytes, size_t size, uint64_t tensor,
                                wcodec_error *err)
{
    struct wcodec_cursor cursor = {bytes, bytes + size};
    struct wcodec_tiling t;
    return wcodec_tiling_read(&cursor, tensor, &t, err);
}

static void test_round_trip(void **state)
{
    uint64_t seed = support_seed();
    (void)state;
    for (unsigned i = 0; i < 200; i++) {
        struct support_tensor x;
        struct wcodec_tiling again;
        uint8_t bytes[WCODEC_TILING_MAX_BYTES];
        support_tensor_make(&seed, 100, &x);
        const size_t size = wcodec_tiling_write(&x.tiling, bytes);
        struct wcodec_cursor cursor = {bytes, bytes + size};
        assert_int_equal(wcodec_tiling_read(&cursor, x.tiling.size, &again, NULL), WCODEC_OK);
        assert_memory_equal(&again, &x.tiling, sizeof again);
        for (size_t cut = 0; cut < size; cut++)
            assert_int_equal(read_bytes(bytes, cut, x.tiling.size, NULL), WCODEC_ERROR_CORRUPT);
        bytes[size] = 0;
        assert_int_equal(read_bytes(bytes, size + 1, x.tiling.size, NULL), WCODEC_ERROR_CORRUPT);
        support_tensor_free(&x);
    }
}

static void refused(const uint8_t *bytes, size_t size, uint64_t tensor, const char *text)
{
    wcodec_error err;
    assert_int_equal(read_bytes(bytes, size, tensor, &err), WCODEC_ERROR_CORRUPT);
    if (!strstr(err.text, text))
        fail_msg("'%s' does not say '%s'", err.text, text);
}

#define REFUSED(tensor, text, ...) \
    refused((const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}), tensor, text)

static void test_parameters(void **state)
{
    (void)state;
    assert_int_equal(read_bytes((const uint8_t[]){0, 12, 0, 1, 2, 8, 2, 1, 0, 16}, 10, 100, NULL),
                     WCODEC_OK);
    REFUSED(100, "out of range", 4, 12, 0, 1, 2, 8, 2, 1, 0, 16);
    REFUSED(100, "tile size", 0, 11, 0, 1, 2, 8, 2, 1, 0, 16);
    REFUSED(100, "tile size", 0, 17, 0, 1, 2, 8, 2, 1, 0, 16);
    REFUSED(0, "no positive number", 0, 12, 0, 1, 2, 8, 2, 1, 0, 16);
    REFUSED(101, "no positive number", 1, 12, 0, 0, 2, 1, 8, 2, 8, 2, 1, 0, 16);
    REFUSED(100, "0 fields", 0, 12, 0, 0, 16);
    REFUSED(100, "have 7 bits", 0, 12, 0, 1, 2, 7, 2, 1, 0, 16);
    REFUSED(100, "passes", 0, 12, 0, 1, 2, 9, 2, 1, 0, 16);
    REFUSED(100, "passes", 0, 12, 0, 2, 2, 8, 2, 1, 0, 1, 0, 16);
    REFUSED(100, "at most 8", 1, 12, 0, 0, 2, 1, 7, 2, 9, 2, 1, 0, 16);
    REFUSED(100, "kind 3", 0, 12, 0, 1, 3, 8, 16);
    REFUSED(100, "profile 0", 0, 12, 0, 1, 2, 8, 0, 1, 0, 16);
    REFUSED(100, "profile 4", 0, 12, 0, 1, 2, 8, 4, 1, 0, 16);
    REFUSED(100, "0 tables", 0, 12, 0, 1, 2, 8, 2, 0, 0, 16);
    REFUSED(100, "5 tables", 0, 12, 0, 1, 2, 8, 2, 5, 0, 16);
    REFUSED(100, "17 tables", 0, 12, 0, 1, 2, 8, 3, 17, 0, 16);
    REFUSED(100, "runs", 0, 12, 0, 1, 2, 8, 3, 1, 7, 16);
    REFUSED(100, "runs", 0, 12, 0, 1, 2, 8, 3, 2, 6, 16);
    REFUSED(100, "runs", 0, 12, 0, 1, 2, 8, 3, 2, 13, 16);
    REFUSED(100, "runs", 0, 12, 0, 1, 2, 8, 2, 2, 7, 16);
    REFUSED(100, "both", 0, 12, 0, 3, 1, 2, 1, 2, 2, 4, 2, 1, 0, 16);
    REFUSED(100, "no field is coded", 0, 12, 0, 1, 1, 8, 16);
    REFUSED(100, "does not fit", 0, 12, 0, 2, 0, 4, 16, 2, 4, 2, 1, 0, 16);
    REFUSED(100, "more than 8", 2, 12, 0, 0, 0, 0, 9, 2, 1, 2, 1, 0, 2, 1, 2, 1, 0, 2, 1, 2, 1, 0,
            2, 1, 2, 1, 0, 2, 1, 2, 1, 0, 2, 1, 2, 1, 0, 2, 1, 2, 1, 0, 2, 1, 2, 1, 0, 2, 8, 2, 1,
            0, 16);
}

/* One tensor whose prefix is bent in one place at a time. */
struct bent {
    struct support_tensor x;
    uint64_t directory; /* where checks begin */
    uint64_t streams;
};

static void bend_refused(struct bent *b, uint64_t at, uint32_t value, const char *text)
{
    struct wcodec_tiles *tiles;
    wcodec_error err;
    const uint32_t old = wcodec_load_u32(b->x.payload + at);
    wcodec_store_u32(b->x.payload + at, value);
    assert_int_equal(wcodec_tiles_read(&b->x.tiling, b->x.payload, b->x.payload_size,
                                       &wcodec_default_allocator, &tiles, &err),
                     WCODEC_ERROR_CORRUPT);
    if (!strstr(err.text, text))
        fail_msg("'%s' does not say '%s'", err.text, text);
    wcodec_store_u32(b->x.payload + at, old);
}

static void test_prefix(void **state)
{
    uint64_t seed = support_seed() + 2;
    struct bent b = {0};
    struct wcodec_tiling *t = &b.x.tiling;
    struct wcodec_tiles *tiles;
    (void)state;
    /* int8 4+4 with two P8 tables and runs: five tiles, the last a part. */
    *t = (struct wcodec_tiling){.tile_log2 = 12, .field_count = 2};
    t->fields[0] = (struct wcodec_field){.kind = WCODEC_FIELD_RAW, .width = 4};
    t->fields[1] = (struct wcodec_field){
        .kind = WCODEC_FIELD_CODED, .width = 4, .profile = WCODEC_P8, .tables = 3, .run_log2 = 9};
    do {
        support_tensor_free(&b.x);
        support_tensor_code(&seed, 4 * 4096 + 1000, &b.x);
        assert_int_equal(wcodec_tiles_read(t, b.x.payload, b.x.payload_size,
                                           &wcodec_default_allocator, &tiles, NULL),
                         WCODEC_OK);
        const bool plain = tiles->streams[0].mode == 0 && tiles->streams[1].mode == 0 &&
                           tiles->streams[4].mode == 0;
        wcodec_tiles_free(tiles);
        if (plain)
            break;
    } while (1);
    /* The directory ends 5 * 2 bytes of runs (16 with padding) before the prefix does. */
    b.streams = t->prefix_size - 16 - wcodec_align_u64(5 * 12, 16) + 5 * 4;
    const uint32_t s = wcodec_load_u32(b.x.payload + b.streams),
                   o = wcodec_load_u32(b.x.payload + b.streams + 4);
    bend_refused(&b, b.streams, s | 1u << 28, "reserved");
    bend_refused(&b, b.streams + 4, o | 1u << 17, "reserved");
    bend_refused(&b, b.streams, s | 3u << 24, "mode 3");
    bend_refused(&b, b.streams, s | 1u << 24, "does not have");
    bend_refused(&b, b.streams + 4, o | 1u << 24, "does not have");
    bend_refused(&b, b.streams, s | 1u << 20, "with runs");
    bend_refused(&b, b.streams, 2049, "words for");
    bend_refused(&b, b.streams + 4, 4097, "outliers in");
    bend_refused(&b, b.streams, s - 8, "the parts of a payload");
    bend_refused(&b, b.streams + 4, o + 1, "the parts of a payload");
    bend_refused(&b, t->prefix_size - 16, 0xffffffff, "names table 3");
    bend_refused(&b, t->prefix_size - 16 + 8, 0x10,
                 "names table"); /* runs of the last tile that it has not */
    bend_refused(&b, t->prefix_size - 4, 1, "does not end");
    /* Sizes. */
    wcodec_error err;
    assert_int_equal(wcodec_tiles_read(t, b.x.payload, b.x.payload_size - 1,
                                       &wcodec_default_allocator, &tiles, &err),
                     WCODEC_ERROR_CORRUPT);
    assert_int_equal(wcodec_tiles_read(t, b.x.payload, b.x.payload_size + 1,
                                       &wcodec_default_allocator, &tiles, &err),
                     WCODEC_ERROR_CORRUPT);
    assert_int_equal(wcodec_tiles_read(t, b.x.payload, t->prefix_size - 1,
                                       &wcodec_default_allocator, &tiles, &err),
                     WCODEC_ERROR_CORRUPT);
    for (uint64_t cut = 0; cut < t->prefix_size; cut++) {
        struct wcodec_tiling shorter = *t;
        shorter.prefix_size = cut;
        assert_int_equal(wcodec_tiles_read(&shorter, b.x.payload, b.x.payload_size,
                                           &wcodec_default_allocator, &tiles, &err),
                         WCODEC_ERROR_CORRUPT);
    }
    support_tensor_free(&b.x);
}

/* A directory that is not there takes no memory: 2^48 bytes declared in a few. */
static void test_no_memory_for_promises(void **state)
{
    struct wcodec_tiling t = {.tile_log2 = 12, .field_count = 1, .prefix_size = 1024};
    struct wcodec_tiles *tiles;
    wcodec_error err;
    uint8_t prefix[1024] = {0};
    (void)state;
    t.fields[0] = (struct wcodec_field){
        .kind = WCODEC_FIELD_CODED, .width = 8, .profile = WCODEC_P12, .tables = 1};
    assert_int_equal(wcodec_tiling_derive(&t, 1ull << 48, &err), WCODEC_OK);
    assert_int_equal(t.tiles, 1ull << 36);
    assert_int_equal(
        wcodec_tiles_read(&t, prefix, 1ull << 40, &wcodec_default_allocator, &tiles, &err),
        WCODEC_ERROR_CORRUPT);
    assert_non_null(strstr(err.text, "cannot be described"));
}

/* Extents of tiles join without a gap and cover the areas. */
static void test_extents(void **state)
{
    uint64_t seed = support_seed() + 3;
    (void)state;
    for (unsigned i = 0; i < 40; i++) {
        struct support_tensor x;
        struct wcodec_tiles *tiles;
        uint64_t begin[WCODEC_AREAS], stop[WCODEC_AREAS], next[WCODEC_AREAS];
        support_tensor_make(&seed, 0, &x);
        assert_int_equal(wcodec_tiles_read(&x.tiling, x.payload, x.payload_size,
                                           &wcodec_default_allocator, &tiles, NULL),
                         WCODEC_OK);
        wcodec_tiles_extent(tiles, 0, x.tiling.tiles, begin, stop);
        assert_memory_equal(begin, tiles->area_begin, sizeof begin);
        assert_memory_equal(stop, tiles->area_end, sizeof stop);
        /* Every tile decodes from its own extent alone, copied elsewhere. */
        for (uint64_t tile = 0; tile < x.tiling.tiles; tile++) {
            struct wcodec_view view;
            wcodec_tiles_extent(tiles, tile, tile + 1, begin, stop);
            if (tile > 0)
                assert_memory_equal(begin, next, sizeof begin);
            memcpy(next, stop, sizeof next);
            uint8_t *copies[WCODEC_AREAS],
                *out =
                    malloc((size_t)wcodec_tile_elements(&x.tiling, tile) << x.tiling.element_log2);
            for (unsigned a = 0; a < WCODEC_AREAS; a++) {
                copies[a] = malloc(stop[a] - begin[a] + 1);
                memcpy(copies[a], x.payload + begin[a], stop[a] - begin[a]);
                view.data[a] = copies[a];
                view.begin[a] = begin[a];
            }
            assert_int_equal(wcodec_tile_decode(tiles, &view, tile, out, true), WCODEC_TILE_OK);
            for (unsigned a = 0; a < WCODEC_AREAS; a++)
                free(copies[a]);
            free(out);
        }
        wcodec_tiles_free(tiles);
        support_tensor_free(&x);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip), cmocka_unit_test(test_parameters),
        cmocka_unit_test(test_prefix),     cmocka_unit_test(test_no_memory_for_promises),
        cmocka_unit_test(test_extents),
    };
    return cmocka_run_group_tests_name("coding/tiling", tests, NULL, NULL);
}
