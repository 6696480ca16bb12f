/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Views of lossy tensors: blocks at all edges, parts of them, rounding to elements, and parameters
 * of a record, right and wrong. The bits that files decode to are compared with the oracle's. */
#include "support.h"

#include "coding/lossy.h"
#include "core/error.h"
#include <math.h>
#include <string.h>

static const wcodec_dtype dtypes[] = {WCODEC_DTYPE_BF16, WCODEC_DTYPE_F16, WCODEC_DTYPE_F32};

static unsigned width_of(wcodec_dtype dtype)
{
    return dtype == WCODEC_DTYPE_F32 ? 4 : 2;
}

/* All modes of the list in turn, and any scales. */
static uint8_t *make_side(uint64_t *seed, struct wcodec_lossy *l)
{
    uint8_t *side = calloc(1, (size_t)wcodec_lossy_tiles_begin(l));
    const unsigned bits = wcodec_lossy_index_bits(l);
    memset(l->counts, 0, sizeof l->counts);
    for (uint64_t i = 0; i < l->blocks; i++) {
        const unsigned number =
            (unsigned)(i < l->mode_count ? i : support_random(seed) % l->mode_count);
        l->counts[number]++;
        if (bits)
            side[i * bits / 8] |= (uint8_t)(number << (i * bits % 8));
    }
    for (uint64_t i = 0; i < wcodec_lossy_scale_count(l); i++) {
        const float scale = (float)(1 + support_random(seed) % 1000) / 4096;
        uint32_t word;
        memcpy(&word, &scale, sizeof word);
        wcodec_store_u32(side + wcodec_lossy_modes_size(l) + 4 * i, word);
    }
    l->check = wcodec_lossy_side_check(l, side);
    return side;
}

static void derive(struct wcodec_lossy *l, wcodec_dtype dtype, unsigned coefficient_log2,
                   uint64_t rows, uint64_t columns, unsigned modes, bool row_scales)
{
    *l = (struct wcodec_lossy){.columns = columns, .row_scales = row_scales};
    for (unsigned m = 0; m < WCODEC_TRANSFORMS; m++)
        if (modes >> m & 1)
            l->modes[l->mode_count++] = (uint8_t)m;
    assert_int_equal(
        wcodec_lossy_derive(l, rows * columns * width_of(dtype), dtype, coefficient_log2, NULL),
        WCODEC_OK);
}

static void reconstruct_range(const struct wcodec_lossy *l, const uint8_t *side,
                              const uint8_t *coefficients, const uint8_t *expected, uint64_t begin,
                              uint64_t end)
{
    const size_t size = (size_t)(end - begin);
    uint8_t *out = malloc(size + 64);
    memset(out, 0xa5, size + 64);
    for (uint64_t i = 0; i < l->superblocks; i++)
        wcodec_superblock_reconstruct(l, side, i,
                                      coefficients + (i * WCODEC_SUPERBLOCK << l->coefficient_log2),
                                      begin, end, out + 32);
    assert_memory_equal(out + 32, expected + begin, size);
    for (unsigned i = 0; i < 32; i++) {
        assert_int_equal(out[i], 0xa5);
        assert_int_equal(out[32 + size + i], 0xa5);
    }
    free(out);
}

/* Element by element, from the definition of the order. */
static void expect(const struct wcodec_lossy *l, const uint8_t *side, const uint8_t *coefficients,
                   uint8_t *out)
{
    const unsigned width = width_of(l->dtype);
    for (uint64_t row = 0; row < l->rows; row++)
        for (uint64_t column = 0; column < l->columns; column++) {
            const uint64_t superblock = row / 16 * ((l->columns + 255) / 256) + column / 256,
                           lane = column % 256 / 8, half = row / 8 % 2;
            int32_t q[64], z[64];
            for (unsigned k = 0; k < 64; k++) {
                const uint64_t at =
                    superblock * 4096 + 128 * (16 * half + k / 4) + 4 * lane + k % 4;
                q[wcodec_orders[l->order][k]] =
                    l->coefficient_log2 ? (int16_t)wcodec_load_u16(coefficients + 2 * at)
                                        : (int8_t)coefficients[at];
            }
            wcodec_transform_inverse(wcodec_lossy_mode(l, side, 64 * superblock + 32 * half + lane),
                                     q, z);
            const uint32_t bits = wcodec_lossy_element(l->dtype, z[8 * (row % 8) + column % 8],
                                                       wcodec_lossy_scale(l, side, row));
            wcodec_store_uint(out + (row * l->columns + column) * width, bits, width);
        }
}

static void check_view(uint64_t *seed, wcodec_dtype dtype, unsigned w, uint64_t rows,
                       uint64_t columns, unsigned modes, bool row_scales)
{
    struct wcodec_lossy l;
    derive(&l, dtype, w, rows, columns, modes, row_scales);
    l.order = (uint8_t)(support_random(seed) % WCODEC_ORDERS);
    const size_t count = (size_t)wcodec_lossy_coefficients(&l) << w;
    uint8_t *side = make_side(seed, &l), *coefficients = malloc(count),
            *expected = malloc((size_t)l.size);
    assert_int_equal(l.superblocks, ((rows + 15) / 16) * ((columns + 255) / 256));
    assert_int_equal(l.blocks, 64 * l.superblocks);
    assert_int_equal(wcodec_lossy_check_side(&l, side, NULL), WCODEC_OK);
    for (size_t i = 0; i < count; i++)
        coefficients[i] = (uint8_t)support_random(seed);
    expect(&l, side, coefficients, expected);
    reconstruct_range(&l, side, coefficients, expected, 0, l.size);
    for (unsigned i = 0; i < 3; i++) {
        const uint64_t x = support_random(seed) % (l.size + 1),
                       y = support_random(seed) % (l.size + 1);
        reconstruct_range(&l, side, coefficients, expected, x < y ? x : y, x < y ? y : x);
    }
    free(expected);
    free(coefficients);
    free(side);
}

static void test_edges(void **state)
{
    static const uint64_t sides[][2] = {{1, 1}, {1, 300},  {300, 1},  {15, 257}, {8, 8},
                                        {7, 9}, {16, 256}, {17, 255}, {9, 5},    {33, 12}};
    uint64_t seed = support_seed();
    unsigned modes = 0;
    (void)state;
    for (unsigned s = 0; s < 10; s++)
        for (unsigned d = 0; d < 3; d++)
            for (unsigned w = 0; w < 2; w++) {
                modes = modes % 6 + 2; /* 2 to 7: all but none alone */
                check_view(&seed, dtypes[d], w, sides[s][0], sides[s][1], modes,
                           support_random(&seed) & 1);
            }
}

static void test_plain(void **state)
{
    uint64_t seed = support_seed() + 1;
    (void)state;
    for (unsigned i = 0; i < 12; i++) {
        struct wcodec_lossy l;
        const unsigned w = i / 3 % 2, width = width_of(dtypes[i % 3]);
        derive(&l, dtypes[i % 3], w, 37, 5, 1, i >= 6);
        uint8_t *side = make_side(&seed, &l), coefficients[185 * 2], out[185 * 4];
        for (unsigned k = 0; k < sizeof coefficients; k++)
            coefficients[k] = (uint8_t)support_random(&seed);
        assert_true(l.plain && wcodec_lossy_coefficients(&l) == 185 && l.counts[0] == 185 &&
                    wcodec_lossy_modes_size(&l) == 0);
        for (uint64_t first = 0; first < 185; first += 40) {
            wcodec_plain_reconstruct(&l, side, first, 185 - first, coefficients + (first << w),
                                     out);
            for (uint64_t k = first; k < 185; k++) {
                const int32_t q =
                    w ? (int16_t)wcodec_load_u16(coefficients + 2 * k) : (int8_t)coefficients[k];
                const uint32_t bits = wcodec_lossy_element(dtypes[i % 3], 64 * q,
                                                           wcodec_lossy_scale(&l, side, k / 5));
                assert_true(wcodec_load_uint(out + (k - first) * width, width) == bits);
            }
        }
        free(side);
    }
}

static double f16_value(uint16_t bits)
{
    const int exponent = bits >> 10 & 31, mantissa = bits & 1023;
    const double magnitude = exponent == 31 ? HUGE_VAL
                             : exponent     ? ldexp(1024 + mantissa, exponent - 25)
                                            : ldexp(mantissa, -24);
    return bits >> 15 ? -magnitude : magnitude;
}

/* Nearest of all numbers there are, ties to the even one. */
static void test_f16(void **state)
{
    uint64_t seed = support_seed() + 2;
    (void)state;
    for (unsigned i = 0; i < 300000; i++) {
        uint32_t bits = (uint32_t)support_random(&seed);
        if (i % 2) /* in the range, and often a tie */
            bits = (bits & 0x80000000) | ((100 + bits % 46) << 23) |
                   (bits >> 8 & 0x7fffff & ~((i % 4 == 1 ? 0xfffu : 0) << (bits % 12)));
        if ((bits & 0x7f800000) == 0x7f800000)
            continue;
        float value;
        memcpy(&value, &bits, sizeof value);
        const uint16_t half = wcodec_f16_from_f32(value);
        assert_int_equal(half >> 15, bits >> 31);
        if ((half & 0x7fff) == 0x7c00) {
            assert_true(fabs((double)value) >= 65520);
            continue;
        }
        assert_true((half & 0x7fff) < 0x7c00);
        const double error = fabs((double)value - f16_value(half)),
                     above = (half & 0x7fff) == 0x7bff
                                 ? 65536 - fabs((double)value)
                                 : fabs((double)value - f16_value((uint16_t)(half + 1)));
        const double below =
            half & 0x7fff ? fabs((double)value - f16_value((uint16_t)(half - 1))) : 1;
        assert_true(error <= above && error <= below &&
                    ((half & 1) == 0 || (error < above && error < below)));
    }
}

static void test_elements(void **state)
{
    static const struct {
        wcodec_dtype dtype;
        int32_t value;
        float scale;
        uint32_t bits;
    } cases[] = {
        {WCODEC_DTYPE_F32, 0, 1, 0},
        {WCODEC_DTYPE_F32, -64, 0.015625f, 0xbf800000},
        {WCODEC_DTYPE_F32, 16777217, 1, 0x4b800000}, /* to even, down */
        {WCODEC_DTYPE_F32, 16777219, 1, 0x4b800002}, /* to even, up */
        {WCODEC_DTYPE_F32, INT32_MIN, 1, 0xcf000000},
        {WCODEC_DTYPE_F32, INT32_MAX, 1, 0x4f000000},
        {WCODEC_DTYPE_F32, -5, 0, 0x80000000},
        {WCODEC_DTYPE_BF16, 257, 1, 0x4380}, /* tie to even */
        {WCODEC_DTYPE_BF16, 259, 1, 0x4382},
        {WCODEC_DTYPE_BF16, -3, 1, 0xc040},
        {WCODEC_DTYPE_F16, 2049, 1, 0x6800},
        {WCODEC_DTYPE_F16, 65519, 1, 0x7bff},
        {WCODEC_DTYPE_F16, 65520, 1, 0x7c00},
        {WCODEC_DTYPE_F16, -65536, 1, 0xfc00},
        {WCODEC_DTYPE_F16, 1, 0x1p-24f, 1},
        {WCODEC_DTYPE_F16, 1, 0x1p-25f, 0},
        {WCODEC_DTYPE_F16, -3, 0x1p-25f, 0x8002},
        {WCODEC_DTYPE_F16, 2047, 0x1p-25f, 0x0400}, /* to the least normal number */
        {WCODEC_DTYPE_F16, 1, 0x1p-100f, 0},
    };
    (void)state;
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        const uint32_t bits = wcodec_lossy_element(cases[i].dtype, cases[i].value, cases[i].scale);
        if (bits != cases[i].bits)
            fail_msg("case %u: 0x%x", i, (unsigned)bits);
    }
}

static void test_views(void **state)
{
    struct wcodec_lossy l = {.columns = 10, .mode_count = 1, .modes = {1}};
    wcodec_error err;
    (void)state;
    assert_int_equal(wcodec_lossy_derive(&l, 100, WCODEC_DTYPE_BF16, 0, &err), WCODEC_OK);
    assert_int_equal(wcodec_lossy_derive(&l, 110, WCODEC_DTYPE_F16, 0, &err), WCODEC_ERROR_CORRUPT);
    assert_int_equal(wcodec_lossy_derive(&l, 100, WCODEC_DTYPE_BF16, 2, &err),
                     WCODEC_ERROR_CORRUPT);
    assert_int_equal(wcodec_lossy_derive(&l, 100, WCODEC_DTYPE_I16, 0, &err), WCODEC_ERROR_CORRUPT);
    l.columns = 0;
    assert_int_equal(wcodec_lossy_derive(&l, 100, WCODEC_DTYPE_BF16, 0, &err),
                     WCODEC_ERROR_CORRUPT);
    l.columns = 1 << 18;
    assert_int_equal(wcodec_lossy_derive(&l, 1 << 20, WCODEC_DTYPE_F32, 1, &err), WCODEC_OK);
    l.columns++;
    assert_int_equal(wcodec_lossy_derive(&l, l.columns * 4, WCODEC_DTYPE_F32, 1, &err),
                     WCODEC_ERROR_CORRUPT);
    /* The thinnest view of the largest tensor. */
    l.columns = 1;
    assert_int_equal(wcodec_lossy_derive(&l, (uint64_t)1 << 48, WCODEC_DTYPE_BF16, 1, &err),
                     WCODEC_OK);
    assert_true(wcodec_lossy_coefficients(&l) == (uint64_t)1 << 55);
}

static void test_side(void **state)
{
    static const uint32_t wrong[] = {1,          0x80000000, 0xbf800000, 0x0d7fffff,
                                     0x5d800001, 0x7f800000, 0x7fc00000},
                          right[] = {0, 0x0d800000, 0x5d800000, 0x3f800000};
    uint64_t seed = support_seed() + 3;
    (void)state;
    for (unsigned modes = 1; modes < 8; modes++) {
        struct wcodec_lossy l;
        derive(&l, WCODEC_DTYPE_BF16, 0, 31, 300, modes, true);
        uint8_t *side = make_side(&seed, &l), *last = side + wcodec_lossy_side_size(&l) - 4;
        for (unsigned i = 0; i < 11; i++) {
            wcodec_store_u32(last, i < 7 ? wrong[i] : right[i - 7]);
            assert_int_equal(wcodec_lossy_check_side(&l, side, NULL),
                             WCODEC_ERROR_CORRUPT); /* the check */
            l.check = wcodec_lossy_side_check(&l, side);
            assert_int_equal(wcodec_lossy_check_side(&l, side, NULL),
                             i < 7 ? WCODEC_ERROR_CORRUPT : WCODEC_OK);
        }
        if (l.mode_count > 1) {
            side[1] ^= 1;
            l.check = wcodec_lossy_side_check(&l, side);
            assert_int_equal(wcodec_lossy_check_side(&l, side, NULL), WCODEC_ERROR_CORRUPT);
            side[1] ^= 1;
            l.check = wcodec_lossy_side_check(&l, side);
        }
        if (wcodec_lossy_tiles_begin(&l) > wcodec_lossy_side_size(&l)) {
            side[wcodec_lossy_tiles_begin(&l) - 1] = 1;
            assert_int_equal(wcodec_lossy_check_side(&l, side, NULL), WCODEC_ERROR_CORRUPT);
        }
        free(side);
    }
}

/* Any cut is refused, and what is read is what was written. */
static void test_parameters(void **state)
{
    struct wcodec_lossy l, read;
    struct wcodec_tiling tiling = {.tile_log2 = 12,
                                   .field_count = 2,
                                   .fields = {{.kind = WCODEC_FIELD_RAW, .width = 4},
                                              {.kind = WCODEC_FIELD_CODED,
                                               .width = 4,
                                               .profile = WCODEC_P8,
                                               .tables = 1}},
                                   .prefix_size = 160},
                         t;
    uint8_t bytes[WCODEC_LOSSY_MAX_BYTES], again[WCODEC_LOSSY_MAX_BYTES];
    uint64_t seed = support_seed() + 4;
    bool newer;
    (void)state;
    derive(&l, WCODEC_DTYPE_F32, 0, 100, 200, 6, true);
    free(make_side(&seed, &l));
    l.order = WCODEC_ORDER_ROWS;
    l.largest_error = 0.25;
    l.mean_squared_error = 1e-9;
    l.mean_square = 0;
    const size_t size = wcodec_lossy_write(&l, &tiling, bytes);
    for (size_t n = 0; n <= size; n++) {
        struct wcodec_cursor c = {bytes, bytes + n};
        assert_int_equal(wcodec_lossy_read(&c, l.size, WCODEC_DTYPE_F32, &read, &t, &newer, NULL),
                         n < size ? WCODEC_ERROR_CORRUPT : WCODEC_OK);
        assert_false(newer);
        assert_ptr_equal(c.at, n < size ? bytes : bytes + size);
    }
    assert_int_equal(wcodec_lossy_write(&read, &t, again), size);
    assert_memory_equal(again, bytes, size);
    assert_true(read.largest_error == 0.25 && read.mean_squared_error == 1e-9 &&
                read.mean_square == 0 && read.check == l.check && read.row_scales == 1);
    assert_int_equal(read.order, WCODEC_ORDER_ROWS);
    bytes[0] = 2;
    struct wcodec_cursor c = {bytes, bytes + size};
    assert_int_equal(wcodec_lossy_read(&c, l.size, WCODEC_DTYPE_F32, &read, &t, &newer, NULL),
                     WCODEC_OK);
    assert_true(newer);
    bytes[0] = 1;
    l.mean_square = -1;
    wcodec_lossy_write(&l, &tiling, bytes);
    c = (struct wcodec_cursor){bytes, bytes + size};
    assert_int_equal(wcodec_lossy_read(&c, l.size, WCODEC_DTYPE_F32, &read, &t, &newer, NULL),
                     WCODEC_ERROR_CORRUPT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_edges), cmocka_unit_test(test_plain),
        cmocka_unit_test(test_f16),   cmocka_unit_test(test_elements),
        cmocka_unit_test(test_views), cmocka_unit_test(test_parameters),
        cmocka_unit_test(test_side)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
