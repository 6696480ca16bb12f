/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Sparse tiles, their codes, and the side of a delta: right ones come back, wrong ones are
 * refused. */
#include "support.h"

#include "coding/delta.h"
#include "core/memory.h"
#include <stdbool.h>

enum { COUNT = 5000 };

static void test_classes(void **state)
{
    (void)state;
    for (uint64_t v = 1; v < 70000; v++) {
        const unsigned gap = wcodec_delta_class(v, WCODEC_DELTA_GAP_DIRECT),
                       value = wcodec_delta_class(v, WCODEC_DELTA_VALUE_DIRECT);
        assert_true(gap >= wcodec_delta_class(v > 1 ? v - 1 : 1, WCODEC_DELTA_GAP_DIRECT));
        assert_true(value >= wcodec_delta_class(v > 1 ? v - 1 : 1, WCODEC_DELTA_VALUE_DIRECT));
    }
    assert_int_equal(wcodec_delta_class(1, 1), 0);
    assert_int_equal(wcodec_delta_class(2, 1), 1);
    assert_int_equal(wcodec_delta_class(3, 1), 2);
    assert_int_equal(wcodec_delta_class(4, 1), 3);
    assert_int_equal(wcodec_delta_class(65537, 1), WCODEC_DELTA_GAPS - 2);
    assert_int_equal(wcodec_delta_class(16, 16), 15);
    assert_int_equal(wcodec_delta_class(17, 16), 16);
    assert_int_equal(wcodec_delta_class(24, 16), 17);
    assert_int_equal(wcodec_delta_class(UINT64_MAX, 16), WCODEC_DELTA_VALUES - 1);
}

static void test_zigzag(void **state)
{
    (void)state;
    for (unsigned w = 0; w < 4; w++) {
        const uint64_t mask = wcodec_delta_mask(w);
        const uint64_t some[] = {0, 1, 2, mask, mask - 1, mask / 2, mask / 2 + 1};
        for (unsigned i = 0; i < 7; i++)
            assert_true((wcodec_unzigzag(wcodec_zigzag(some[i], w)) & mask) == some[i]);
        assert_true(wcodec_zigzag(mask, w) == 1);
        assert_true(wcodec_zigzag(1, w) == 2);
        assert_true(wcodec_zigzag(mask / 2 + 1, w) == mask);
    }
}

struct tile {
    uint8_t base[COUNT << 3], elements[COUNT << 3], out[COUNT << 3];
    uint8_t stream[COUNT * 20];
    struct wcodec_delta delta;
    struct wcodec_delta_side side;
    uint64_t size;
};

static void make(struct tile *t, uint64_t *seed, unsigned w, bool by_xor, unsigned every,
                 uint64_t largest)
{
    struct wcodec_delta_counts counts = {{0}, {0}};
    const uint64_t mask = wcodec_delta_mask(w);
    for (unsigned i = 0; i < COUNT; i++) {
        const uint64_t b = support_random(seed);
        const bool changed = support_random(seed) % every == 0;
        const uint64_t d = changed ? 1 + support_random(seed) % largest : 0;
        const uint64_t e = by_xor ? b ^ d : support_random(seed) % 2 ? b + d : b - d;
        wcodec_store_uint(t->base + ((size_t)i << w), b & mask, 1u << w);
        wcodec_store_uint(t->elements + ((size_t)i << w), e & mask, 1u << w);
    }
    t->delta = (struct wcodec_delta){.element_log2 = (uint8_t)w, .xor_values = by_xor};
    t->side = (struct wcodec_delta_side){.delta = &t->delta};
    wcodec_delta_count(w, by_xor, t->elements, t->base, COUNT, &counts);
    wcodec_delta_code_plan(counts.gaps, WCODEC_DELTA_GAPS, &t->side.gaps);
    wcodec_delta_code_plan(counts.values, WCODEC_DELTA_VALUES, &t->side.values);
    t->size = wcodec_delta_stream(&t->side.gaps, &t->side.values, w, by_xor, t->elements, t->base,
                                  COUNT, t->stream);
    assert_true(t->size <= wcodec_delta_stream_most(w, COUNT));
}

static void test_streams(void **state)
{
    static struct tile t;
    uint64_t seed = support_seed();
    (void)state;
    for (unsigned w = 0; w < 4; w++) {
        for (unsigned k = 0; k < 12; k++) {
            const unsigned every = k % 4 == 0 ? 1 : k % 4 == 1 ? 3 : k % 4 == 2 ? 50 : 4000;
            const uint64_t largest = k < 4 ? 3 : k < 8 ? 200 : wcodec_delta_mask(w);
            make(&t, &seed, w, k % 2 != 0, every, largest);
            memcpy(t.out, t.base, (size_t)COUNT << w);
            assert_true(wcodec_delta_patch(&t.side, t.stream, t.size, COUNT, t.out));
            assert_memory_equal(t.out, t.elements, (size_t)COUNT << w);
            /* Cut short, longer, or with a bit after its end. */
            for (unsigned cut = 1; cut <= 3 && cut <= t.size; cut++)
                assert_false(wcodec_delta_patch(&t.side, t.stream, t.size - cut, COUNT, t.out));
            t.stream[t.size] = 0;
            assert_false(wcodec_delta_patch(&t.side, t.stream, t.size + 1, COUNT, t.out));
            for (unsigned i = 0; i < 64 && t.size != 0; i++) {
                const uint64_t bit = support_random(&seed) % (8 * t.size);
                t.stream[bit / 8] ^= (uint8_t)(1 << bit % 8);
                (void)wcodec_delta_patch(&t.side, t.stream, t.size, COUNT, t.out);
                t.stream[bit / 8] ^= (uint8_t)(1 << bit % 8);
            }
        }
    }
}

static void test_combine(void **state)
{
    static struct tile t;
    static uint8_t coded[COUNT << 3];
    uint64_t seed = support_seed() + 1;
    (void)state;
    for (unsigned w = 0; w < 4; w++) {
        make(&t, &seed, w, false, 1, wcodec_delta_mask(w));
        for (unsigned m = WCODEC_DELTA_DIFFERENCE; m <= WCODEC_DELTA_XOR; m++) {
            wcodec_delta_separate(m, w, t.elements, t.base, COUNT, coded);
            memcpy(t.out, t.base, (size_t)COUNT << w);
            wcodec_delta_combine(m, w, coded, COUNT, t.out);
            assert_memory_equal(t.out, t.elements, (size_t)COUNT << w);
        }
    }
}

/* Counts whose best words would be longer than words may be. */
static void test_long_words(void **state)
{
    static struct wcodec_delta_code code;
    uint64_t counts[WCODEC_DELTA_VALUES] = {0}, a = 1, b = 1;
    (void)state;
    for (unsigned i = 0; i < 60; i++) {
        const uint64_t c = a + b;
        counts[2 * i] = a;
        a = b;
        b = c;
    }
    wcodec_delta_code_plan(counts, WCODEC_DELTA_VALUES, &code);
    assert_true(wcodec_delta_code_make(&code));
    assert_int_equal(code.longest, WCODEC_DELTA_CODE_BITS);
    assert_int_equal(code.count, 119);
    for (unsigned i = 0; i < 60; i++)
        assert_true(code.lengths[2 * i] != 0 && code.lengths[2 * i] <= WCODEC_DELTA_CODE_BITS);
}

static void test_wrong_codes(void **state)
{
    static const struct {
        unsigned count;
        uint8_t lengths[4];
        bool good;
    } codes[] = {
        {1, {1}, true},        {2, {0, 1}, true},       {1, {2}, false},
        {2, {1, 1}, true},     {2, {1, 2}, false},      {3, {1, 2, 2}, true},
        {3, {1, 1, 1}, false}, {4, {2, 2, 2, 2}, true}, {3, {13, 1, 1}, false},
        {3, {2, 2, 2}, false},
    };
    static struct wcodec_delta_code code;
    (void)state;
    for (unsigned i = 0; i < sizeof codes / sizeof *codes; i++) {
        code = (struct wcodec_delta_code){.count = codes[i].count};
        memcpy(code.lengths, codes[i].lengths, 4);
        assert_int_equal(wcodec_delta_code_make(&code), codes[i].good);
    }
}

/* Six tiles of all modes; every damage to the side is seen by its check, and behind it nothing that
 * is read leads out of bounds. */
static void test_side(void **state)
{
    static const uint8_t modes[6] = {0, 1, 2, 3, 4, 1};
    uint8_t bytes[64] = {0}, gaps[2] = {1, 1};
    struct wcodec_delta d = {.element_log2 = 1,
                             .tile_log2 = 12,
                             .elements = 5 * 4096 + 7,
                             .tiles = 6,
                             .counts = {4096, 4096 + 7, 4096, 4096, 4096},
                             .streams_size = 9};
    struct wcodec_delta_side *side;
    uint64_t seed = support_seed() + 2;
    unsigned bit = 0;
    (void)state;
    d.size = 2 * d.elements;
    for (unsigned i = 0; i < 6; i++) {
        const unsigned word = modes[i] == 0 ? 0 : 1u | (modes[i] - 1u) << 1;
        for (unsigned b = 0; b < (modes[i] == 0 ? 1u : 3u); b++, bit++)
            bytes[bit / 8] |= (uint8_t)((word >> b & 1) << bit % 8);
    }
    uint8_t *at = bytes + 2;
    for (unsigned c = 0; c < 2; c++) {
        memcpy(at, gaps, 2);
        at += 2;
    }
    for (unsigned s = 0; s < 2; s++) {
        *at++ = s == 0 ? 4 : 5;
        wcodec_store_u32(at, 77 + s);
        at += 4;
    }
    for (unsigned i = 0; i < 6; i++, at += 4)
        wcodec_store_u32(at, 1000 + i);
    d.side_size = (uint64_t)(at - bytes);
    d.check = wcodec_delta_check(bytes, d.side_size);
    assert_int_equal(wcodec_delta_side_read(&d, bytes, &wcodec_default_allocator, &side, NULL),
                     WCODEC_OK);
    for (unsigned i = 0; i < 6; i++)
        assert_int_equal(wcodec_delta_tile_at(side, i).mode, modes[i]);
    assert_int_equal(wcodec_delta_tile_at(side, 5).place, 4);
    assert_int_equal(wcodec_delta_tile_at(side, 5).size, 5);
    assert_int_equal(wcodec_delta_tile_at(side, 5).check, 78);
    assert_int_equal(wcodec_delta_tile_at(side, 5).result, 1005);
    wcodec_delta_side_free(side);
    d.check++;
    assert_int_equal(wcodec_delta_side_read(&d, bytes, &wcodec_default_allocator, &side, NULL),
                     WCODEC_ERROR_CORRUPT);
    for (unsigned i = 0; i < 2000; i++) {
        const unsigned place = (unsigned)(support_random(&seed) % (8 * d.side_size));
        bytes[place / 8] ^= (uint8_t)(1 << place % 8);
        d.check = wcodec_delta_check(bytes, d.side_size);
        if (wcodec_delta_side_read(&d, bytes, &wcodec_default_allocator, &side, NULL) == WCODEC_OK)
            wcodec_delta_side_free(side);
        if (i % 2)
            continue;
        bytes[place / 8] ^= (uint8_t)(1 << place % 8);
    }
}

/* Many tiles, equal and sparse ones in any order, with sizes of one byte to four: what is read is
 * what was written, an end that comes too early is found, and a size with a needless byte. */
static void test_directory(void **state)
{
    static const uint32_t sizes[] = {0, 1, 127, 128, 300, 16383, 16384, 70000, 2097151, 2097152};
    enum { TILES = 1000, SIZES = sizeof sizes / sizeof *sizes };
    static const uint8_t codes[4] = {1, 1, 1, 1};
    struct wcodec_delta d = {.element_log2 = 1, .tile_log2 = 12, .tiles = TILES};
    uint8_t own[TILES], *bytes = calloc(1, (size_t)16 * TILES), *needless = NULL;
    uint64_t seed = support_seed() + 3, bit = 0, place = 0, sparse = 0;
    struct wcodec_delta_side *side;
    (void)state;
    assert_non_null(bytes);
    d.elements = (uint64_t)TILES << 12;
    for (unsigned i = 0; i < TILES; i++) {
        own[i] = (uint8_t)(support_random(&seed) % (SIZES + 3)); /* SIZES and more: equal */
        bytes[bit / 8] |= (uint8_t)((own[i] < SIZES) << bit % 8);
        bit += own[i] < SIZES ? 3 : 1;
        d.counts[own[i] < SIZES ? WCODEC_DELTA_SPARSE : WCODEC_DELTA_EQUAL] += 4096;
    }
    uint8_t *at = bytes + (bit + 7) / 8;
    memcpy(at, codes, sizeof codes);
    at += sizeof codes;
    for (unsigned i = 0; i < TILES; i++) {
        if (own[i] >= SIZES)
            continue;
        if (sizes[own[i]] == 128)
            needless = at + 1;
        at += wcodec_put_varint(at, sizes[own[i]]);
        wcodec_store_u32(at, 77 + i);
        at += 4;
        d.streams_size += sizes[own[i]];
    }
    for (unsigned i = 0; i < TILES; i++, at += 4)
        wcodec_store_u32(at, 1000 + i);
    d.side_size = (uint64_t)(at - bytes);
    d.check = wcodec_delta_check(bytes, d.side_size);
    assert_int_equal(wcodec_delta_side_read(&d, bytes, &wcodec_default_allocator, &side, NULL),
                     WCODEC_OK);
    for (unsigned i = 0; i < TILES; i++) {
        const struct wcodec_delta_tile t = wcodec_delta_tile_at(side, i);
        const bool is_sparse = own[i] < SIZES;
        assert_int_equal(t.mode, is_sparse ? WCODEC_DELTA_SPARSE : WCODEC_DELTA_EQUAL);
        assert_int_equal(t.result, 1000 + i);
        if (!is_sparse)
            continue;
        assert_int_equal(t.size, sizes[own[i]]);
        assert_int_equal(t.check, 77 + i);
        assert_int_equal(t.place, place);
        place += t.size;
        sparse++;
    }
    wcodec_delta_side_free(side);
    assert_true(sparse > TILES / 2 && sparse < TILES && needless != NULL);
    struct wcodec_delta cut = d;
    for (unsigned i = 0; i < 4 * TILES + 40; i += i < 40 ? 1 : 97) {
        cut.side_size = d.side_size - 1 - i;
        uint8_t *exact = malloc((size_t)cut.side_size);
        assert_non_null(exact);
        memcpy(exact, bytes, (size_t)cut.side_size);
        cut.check = wcodec_delta_check(exact, cut.side_size);
        assert_int_equal(
            wcodec_delta_side_read(&cut, exact, &wcodec_default_allocator, &side, NULL),
            WCODEC_ERROR_CORRUPT);
        free(exact);
    }
    *needless = 0;
    d.streams_size -= 128;
    d.check = wcodec_delta_check(bytes, d.side_size);
    assert_int_equal(wcodec_delta_side_read(&d, bytes, &wcodec_default_allocator, &side, NULL),
                     WCODEC_ERROR_CORRUPT);
    free(bytes);
}

static void test_records(void **state)
{
    struct wcodec_delta d = {.element_log2 = 1,
                             .tile_log2 = 14,
                             .size = 200000,
                             .elements = 100000,
                             .tiles = 7,
                             .counts = {16384, 100000 - 16384, 0, 0, 0},
                             .base_size = 1234567,
                             .side_size = 50,
                             .streams_size = 1000,
                             .check = 99};
    uint8_t bytes[WCODEC_DELTA_HEAD_MAX];
    struct wcodec_delta back;
    bool newer;
    (void)state;
    for (unsigned i = 0; i < 16; i++)
        d.base[i] = (uint8_t)(7 * i);
    const size_t size = wcodec_delta_write(&d, bytes);
    struct wcodec_cursor c = {bytes, bytes + size};
    assert_int_equal(wcodec_delta_read(&c, d.size, &back, &newer, NULL), WCODEC_OK);
    assert_false(newer);
    assert_true(c.at == c.end);
    assert_memory_equal(back.base, d.base, 16);
    assert_int_equal(back.base_size, d.base_size);
    assert_int_equal(back.tiles, 7);
    assert_memory_equal(back.counts, d.counts, sizeof d.counts);
    assert_int_equal(back.streams_size, 1000);
    for (size_t n = 0; n < size; n++) {
        c = (struct wcodec_cursor){bytes, bytes + n};
        assert_int_equal(wcodec_delta_read(&c, d.size, &back, &newer, NULL), WCODEC_ERROR_CORRUPT);
    }
    c = (struct wcodec_cursor){bytes, bytes + size};
    assert_int_equal(wcodec_delta_read(&c, d.size + 1, &back, &newer, NULL), WCODEC_ERROR_CORRUPT);
    bytes[0] = 2;
    c = (struct wcodec_cursor){bytes, bytes + size};
    assert_int_equal(wcodec_delta_read(&c, d.size, &back, &newer, NULL), WCODEC_OK);
    assert_true(newer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_classes),    cmocka_unit_test(test_zigzag),
        cmocka_unit_test(test_streams),    cmocka_unit_test(test_combine),
        cmocka_unit_test(test_long_words), cmocka_unit_test(test_wrong_codes),
        cmocka_unit_test(test_side),       cmocka_unit_test(test_directory),
        cmocka_unit_test(test_records),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
