/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Every mode on every kind of block: the way there and back gives the block, and what the way back
 * gives is what doc/format.md says, computed here in exact integers. */
#include "support.h"

#include "coding/predict.h"
#include <string.h>

enum { KINDS = 9 };

/* Blocks that are smooth, wild, or at the ends of the range. */
static void make_block(uint64_t *seed, unsigned kind, unsigned bits, uint16_t *e)
{
    const unsigned mask = (1u << bits) - 1, half = 1u << (bits - 1);
    const uint64_t r = support_random(seed);
    for (unsigned i = 0; i < WCODEC_BLOCK; i++) {
        const uint64_t x = support_random(seed);
        const unsigned values[KINDS] = {
            (unsigned)x, /* anything */
            (unsigned)(r + 3 * (i % 16) + 5 * (i / 16) +
                       (x & 3)), /* a slope, through the wrap of the range */
            mask,                /* both ends */
            half,
            half - 1,
            x & 1 ? half : half - 1,
            x & 1 ? mask : 0,
            0,
            (unsigned)(i % 16 == 0 || i < 16 ? x : r), /* edges apart */
        };
        e[i] = (uint16_t)(values[kind] & mask);
    }
}

static int64_t as_signed(int64_t v, unsigned bits)
{
    v &= ((int64_t)1 << bits) - 1;
    return v >> (bits - 1) ? v - ((int64_t)1 << bits) : v;
}

static int64_t floor_half(int64_t v)
{
    return (v - (v % 2 != 0 && v < 0)) / 2;
}

static int64_t half(int64_t v, unsigned bits)
{
    return floor_half(as_signed(v, bits));
}

static void inverse_of_four(const int64_t c[4], unsigned bits, int64_t x[4])
{
    const int64_t m = c[0] - half(c[1], bits), n = m + c[1], a = c[2] - half(c[3], bits),
                  b = a + c[3];
    x[0] = m - half(a, bits);
    x[1] = x[0] + a;
    x[2] = n - half(b, bits);
    x[3] = x[2] + b;
}

static void inverse_of_square(int64_t c[4][4], unsigned bits)
{
    for (int u = 0; u < 4; u++) {
        int64_t x[4];
        inverse_of_four((const int64_t[4]){c[0][u], c[1][u], c[2][u], c[3][u]}, bits, x);
        for (int v = 0; v < 4; v++)
            c[v][u] = x[v];
    }
    for (int v = 0; v < 4; v++) {
        int64_t x[4];
        inverse_of_four(c[v], bits, x);
        memcpy(c[v], x, sizeof x);
    }
}

static void transform_back_by_the_text(unsigned bits, const uint16_t *d, uint16_t *out)
{
    static const int rows[16] = {0, 0, 1, 1, 1, 2, 2, 2, 0, 0, 1, 2, 3, 3, 3, 3},
                     columns[16] = {1, 2, 0, 1, 2, 0, 1, 2, 0, 3, 3, 3, 0, 1, 2, 3};
    int64_t means[4][4];
    for (int i = 0; i < 16; i++)
        means[i / 4][i % 4] = d[128 + i];
    inverse_of_square(means, bits);
    for (int i = 0; i < 16; i++) {
        int64_t c[4][4];
        for (int j = 0; j < 16; j++)
            c[rows[j]][columns[j]] = d[16 * j + i];
        c[0][0] = means[i / 4][i % 4];
        inverse_of_square(c, bits);
        for (int k = 0; k < 16; k++)
            out[16 * (i / 4 * 4 + k / 4) + i % 4 * 4 + k % 4] =
                (uint16_t)((uint64_t)c[k / 4][k % 4] & (((uint64_t)1 << bits) - 1));
    }
}

/* As the text has it, step by step. */
static void reconstruct_by_the_text(unsigned mode, unsigned bits, const uint16_t *d, uint16_t *out)
{
    int64_t r[256], e[256], modulus = (int64_t)1 << bits;
    if (mode == WCODEC_PREDICTOR_WHT) {
        transform_back_by_the_text(bits, d, out);
        return;
    }
    for (int i = 0; i < 256; i++)
        r[i] = mode & 8 && i > 0 ? (r[i - 1] + d[i]) % modulus : d[i] % modulus;
    for (int i = 0; i < 256; i++) {
        const int64_t left = i % 16 > 0 ? e[i - 1] : 0, top = i / 16 > 0 ? e[i - 16] : 0,
                      corner = i % 16 > 0 && i / 16 > 0 ? e[i - 17] : 0;
        const int64_t a = as_signed(top - corner, bits), b = as_signed(left - corner, bits);
        const int64_t nearest = llabs(a) <= llabs(b) && llabs(a) <= llabs(a + b) ? left
                                : llabs(b) <= llabs(a + b)                       ? top
                                                                                 : corner;
        const int64_t p[6] = {
            0,      left, top, top + floor_half(as_signed(left - top, bits)), left + top - corner,
            nearest};
        e[i] = ((r[i] + p[mode & 7]) % modulus + modulus) % modulus;
        out[i] = (uint16_t)e[i];
    }
}

static void test_modes(void **state)
{
    uint64_t seed = support_seed();
    (void)state;
    for (unsigned round = 0; round < 60; round++)
        for (unsigned w = 0; w < 2; w++)
            for (unsigned kind = 0; kind < KINDS; kind++)
                for (unsigned mode = 0; mode < 16; mode++) {
                    const unsigned bits = 8u << w;
                    uint16_t e[256], d[256], back[256], text[256];
                    if (!wcodec_mode_valid(mode))
                        continue;
                    make_block(&seed, kind, bits, e);
                    wcodec_block_residuals(mode, w, e, d);
                    for (unsigned i = 0; i < 256; i++)
                        d[i] = (uint16_t)(d[i] & ((1u << bits) - 1)); /* what is stored of them */
                    memcpy(back, d, sizeof d);
                    wcodec_block_elements(mode, w, back);
                    reconstruct_by_the_text(mode, bits, d, text);
                    for (unsigned i = 0; i < 256; i++) {
                        assert_int_equal(text[i], e[i]);
                        assert_int_equal(back[i] & ((1u << bits) - 1), e[i]);
                    }
                    /* Blocks of any kind are residuals too. */
                    memcpy(back, e, sizeof e);
                    wcodec_block_elements(mode, w, back);
                    reconstruct_by_the_text(mode, bits, e, text);
                    for (unsigned i = 0; i < 256; i++)
                        assert_int_equal(back[i] & ((1u << bits) - 1), text[i]);
                }
}

/* What each predictor is for leaves nothing but the first row and column. */
static void test_purpose(void **state)
{
    uint16_t e[256], d[256];
    (void)state;
    for (unsigned i = 0; i < 256; i++)
        e[i] = (uint16_t)(100 + 3 * (i % 16) + 7 * (i / 16));
    wcodec_block_residuals(WCODEC_PREDICTOR_PLANAR, 1, e, d);
    for (unsigned i = 17; i < 256; i++)
        assert_int_equal(d[i], i % 16 ? 0 : 7);
    wcodec_block_residuals(WCODEC_PREDICTOR_LEFT, 1, e, d);
    assert_int_equal(d[0], 100);
    assert_int_equal(d[255], 3);
    wcodec_block_residuals(WCODEC_PREDICTOR_TOP, 1, e, d);
    assert_int_equal(d[255], 7);
    wcodec_block_residuals(WCODEC_PREDICTOR_TOP | WCODEC_MODE_DIFFERENTIAL, 1, e, d);
    assert_int_equal(d[255], 0);
    wcodec_block_residuals(WCODEC_PREDICTOR_AVERAGE, 1, e, d);
    assert_int_equal(d[255], 5);
    assert_string_equal(wcodec_predictor_name(WCODEC_PREDICTOR_PAETH | WCODEC_MODE_DIFFERENTIAL),
                        "paeth");
    assert_string_equal(wcodec_predictor_name(WCODEC_PREDICTOR_WHT), "wht");
    /* A slope: differences within sub-blocks are the same for all, the mean of all stands first in
     * its band, and what mixes directions is nothing. */
    wcodec_block_residuals(WCODEC_PREDICTOR_WHT, 1, e, d);
    const unsigned bands[16] = {6, 3, 14, 0, 0, 7, 0, 0, 174, 0, 0, 0, 0, 0, 0, 0};
    for (unsigned i = 0; i < 256; i++)
        if (i / 16 != 8)
            assert_int_equal(d[i], bands[i / 16]);
    assert_int_equal(d[128], bands[8]);
    unsigned valid = 0;
    for (unsigned mode = 0; mode < 256; mode++)
        valid += wcodec_mode_valid(mode) != 0;
    assert_int_equal(valid, WCODEC_MODES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_modes),
                                       cmocka_unit_test(test_purpose)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
