/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The scalar reference of one tile: round trips of everything that the format has, faults of
 * everything that it has not, and nothing outside of buffers. */
#include "support.h"
#include "support_tiles.h"

#include "core/error.h"

static void decode_all(const struct support_tensor *x, const uint8_t *payload,
                       enum wcodec_tile_fault expected)
{
    struct wcodec_tiles *tiles;
    struct wcodec_view view;
    wcodec_error err;
    if (wcodec_tiles_read(&x->tiling, payload, x->payload_size, &wcodec_default_allocator, &tiles,
                          &err))
        fail_msg("%s", err.text);
    wcodec_view_whole(payload, &view);
    for (uint64_t tile = 0; tile < x->tiling.tiles; tile++) {
        const size_t size = (size_t)wcodec_tile_elements(&x->tiling, tile)
                            << x->tiling.element_log2;
        uint8_t *out = malloc(size + 33);
        memset(out, 0xa5, size + 33);
        assert_int_equal(wcodec_tile_decode(tiles, &view, tile, out + 1, true), expected);
        if (!expected)
            assert_memory_equal(
                out + 1, x->data + (tile << x->tiling.tile_log2 << x->tiling.element_log2), size);
        assert_int_equal(out[0], 0xa5);
        for (unsigned i = 0; i < 32; i++)
            assert_int_equal(out[1 + size + i], 0xa5);
        free(out);
    }
    wcodec_tiles_free(tiles);
}

static void test_round_trip(void **state)
{
    uint64_t seed = support_seed();
    (void)state;
    for (unsigned i = 0; i < 400; i++) {
        struct support_tensor x;
        support_tensor_make(&seed, 0, &x);
        decode_all(&x, x.payload, WCODEC_TILE_OK);
        support_tensor_free(&x);
    }
}

/* A payload with one bit flipped anywhere after the prefix: a fault, or the same bytes (padding).
 */
static void test_flips(void **state)
{
    uint64_t seed = support_seed() + 1;
    unsigned faults[6] = {0};
    (void)state;
    for (unsigned i = 0; i < 60; i++) {
        struct support_tensor x;
        struct wcodec_tiles *tiles;
        struct wcodec_view view;
        wcodec_error err;
        support_tensor_make(&seed, 1 + support_random(&seed) % 5000, &x);
        assert_int_equal(wcodec_tiles_read(&x.tiling, x.payload, x.payload_size,
                                           &wcodec_default_allocator, &tiles, &err),
                         WCODEC_OK);
        wcodec_view_whole(x.payload, &view);
        uint8_t *out = malloc(x.tiling.size);
        for (unsigned k = 0; k < 40 && x.payload_size > x.tiling.prefix_size; k++) {
            const uint64_t bit =
                8 * x.tiling.prefix_size +
                support_random(&seed) % (8 * (x.payload_size - x.tiling.prefix_size));
            x.payload[bit / 8] ^= (uint8_t)(1u << bit % 8);
            enum wcodec_tile_fault worst = WCODEC_TILE_OK;
            for (uint64_t tile = 0; tile < x.tiling.tiles; tile++) {
                const enum wcodec_tile_fault fault = wcodec_tile_decode(
                    tiles, &view, tile, out + (tile << x.tiling.tile_log2 << x.tiling.element_log2),
                    true);
                worst = fault ? fault : worst;
                faults[fault]++;
            }
            if (!worst)
                assert_memory_equal(out, x.data, x.tiling.size);
            x.payload[bit / 8] ^= (uint8_t)(1u << bit % 8);
        }
        free(out);
        wcodec_tiles_free(tiles);
        support_tensor_free(&x);
    }
    for (unsigned f = WCODEC_TILE_WORDS; f <= WCODEC_TILE_CHECK; f++) {
        print_message("%s: %u\n", wcodec_tile_fault_string((enum wcodec_tile_fault)f), faults[f]);
        assert_true(faults[f] > 0);
    }
}

static void test_start_state_too_small(void **state)
{
    uint64_t seed = support_seed() + 2;
    (void)state;
    for (unsigned i = 0; i < 50; i++) {
        struct support_tensor x;
        struct wcodec_tiles *tiles;
        struct wcodec_view view;
        support_tensor_make(&seed, 1000, &x);
        assert_int_equal(wcodec_tiles_read(&x.tiling, x.payload, x.payload_size,
                                           &wcodec_default_allocator, &tiles, NULL),
                         WCODEC_OK);
        if (tiles->streams[0].mode == WCODEC_STREAM_RANS) {
            uint8_t out[8192];
            const unsigned lane = (unsigned)(support_random(&seed) % 32);
            wcodec_store_u32(x.payload + tiles->streams[0].state + 4 * lane,
                             (uint32_t)(support_random(&seed) & 0xffff));
            wcodec_view_whole(x.payload, &view);
            assert_int_equal(wcodec_tile_decode(tiles, &view, 0, out, true), WCODEC_TILE_STATE);
        }
        wcodec_tiles_free(tiles);
        support_tensor_free(&x);
    }
}

/* Any words, states, raw bits and outliers: a fault or not, but nothing read or written outside
 * (sanitizers and valgrind see to the reading). */
static void test_hostile_bytes(void **state)
{
    uint64_t seed = support_seed() + 3;
    (void)state;
    for (unsigned i = 0; i < 300; i++) {
        struct support_tensor x;
        struct wcodec_tiles *tiles;
        struct wcodec_view view;
        support_tensor_make(&seed, 1 + support_random(&seed) % 6000, &x);
        assert_int_equal(wcodec_tiles_read(&x.tiling, x.payload, x.payload_size,
                                           &wcodec_default_allocator, &tiles, NULL),
                         WCODEC_OK);
        for (uint64_t k = x.tiling.prefix_size; k < x.payload_size; k++)
            x.payload[k] = (uint8_t)support_random(&seed);
        wcodec_view_whole(x.payload, &view);
        for (uint64_t tile = 0; tile < x.tiling.tiles; tile++) {
            const size_t size = (size_t)wcodec_tile_elements(&x.tiling, tile)
                                << x.tiling.element_log2;
            uint8_t *out = malloc(size + 16);
            memset(out + size, 0xa5, 16);
            (void)wcodec_tile_decode(tiles, &view, tile, out, true);
            for (unsigned k = 0; k < 16; k++)
                assert_int_equal(out[size + k], 0xa5);
            free(out);
        }
        wcodec_tiles_free(tiles);
        support_tensor_free(&x);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_flips),
        cmocka_unit_test(test_start_state_too_small),
        cmocka_unit_test(test_hostile_bytes),
    };
    return cmocka_run_group_tests_name("coding/tile", tests, NULL, NULL);
}
