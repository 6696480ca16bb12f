/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The view as a matrix: blocks at all edges, parts of them, and parameters of a record, right and
 * wrong. What a whole file with such tensors does is tested with the containers and by the oracle.
 */
#include "support.h"

#include "coding/blocks.h"
#include "core/error.h"
#include <string.h>

static void derive(struct wcodec_blocks *b, uint64_t rows, uint64_t columns, unsigned w)
{
    *b = (struct wcodec_blocks){
        .columns = columns, .mode_count = 1, .modes = {WCODEC_PREDICTOR_LEFT}};
    assert_int_equal(wcodec_blocks_derive(b, rows * columns << w, w, NULL), WCODEC_OK);
}

/* Residuals of all blocks in one mode. */
static uint8_t *residuals_of(const struct wcodec_blocks *b, unsigned mode, const uint8_t *data)
{
    uint8_t *residuals = malloc((size_t)wcodec_blocks_residual_size(b));
    for (uint64_t i = 0; i < b->count; i++) {
        uint16_t e[WCODEC_BLOCK], d[WCODEC_BLOCK];
        wcodec_block_load(b, data, i, e);
        wcodec_block_residuals(mode, b->element_log2, e, d);
        wcodec_residuals_store(b, d, residuals + (i * WCODEC_BLOCK << b->element_log2));
    }
    return residuals;
}

static void reconstruct_range(const struct wcodec_blocks *b, unsigned mode, const uint8_t *data,
                              const uint8_t *residuals, uint64_t begin, uint64_t end)
{
    const size_t size = (size_t)(end - begin);
    uint8_t *out = malloc(size + 64);
    memset(out, 0xa5, size + 64);
    for (uint64_t i = 0; i < b->count; i++)
        wcodec_block_reconstruct(b, i, mode, residuals + (i * WCODEC_BLOCK << b->element_log2),
                                 begin, end, out + 32);
    assert_memory_equal(out + 32, data + begin, size);
    for (unsigned i = 0; i < 32; i++) {
        assert_int_equal(out[i], 0xa5);
        assert_int_equal(out[32 + size + i], 0xa5);
    }
    free(out);
}

static void test_edges(void **state)
{
    static const uint64_t sides[] = {1, 2, 15, 16, 17, 31, 32, 33, 50};
    uint64_t seed = support_seed();
    (void)state;
    for (unsigned r = 0; r < 9; r++)
        for (unsigned c = 0; c < 9; c++)
            for (unsigned w = 0; w < 2; w++) {
                struct wcodec_blocks b;
                derive(&b, sides[r], sides[c], w);
                assert_int_equal(b.count, ((sides[r] + 15) / 16) * ((sides[c] + 15) / 16));
                assert_int_equal(wcodec_blocks_residual_size(&b), b.count * 256 << w);
                uint8_t *data = malloc((size_t)b.size);
                for (uint64_t i = 0; i < b.size; i++)
                    data[i] = (uint8_t)support_random(&seed);
                for (unsigned mode = 0; mode < 16; mode++) {
                    if (!wcodec_mode_valid(mode))
                        continue;
                    uint8_t *residuals = residuals_of(&b, mode, data);
                    reconstruct_range(&b, mode, data, residuals, 0, b.size);
                    for (unsigned i = 0; i < 4; i++) {
                        const uint64_t x = support_random(&seed) % (b.size + 1),
                                       y = support_random(&seed) % (b.size + 1);
                        reconstruct_range(&b, mode, data, residuals, x < y ? x : y, x < y ? y : x);
                    }
                    free(residuals);
                }
                free(data);
            }
}

static void test_views(void **state)
{
    struct wcodec_blocks b = {.columns = 10};
    wcodec_error err;
    (void)state;
    assert_int_equal(wcodec_blocks_derive(&b, 100, 0, &err), WCODEC_OK);
    assert_int_equal(wcodec_blocks_derive(&b, 101, 0, &err), WCODEC_ERROR_CORRUPT);
    assert_int_equal(wcodec_blocks_derive(&b, 110, 1, &err), WCODEC_ERROR_CORRUPT);
    assert_int_equal(wcodec_blocks_derive(&b, 400, 2, &err), WCODEC_ERROR_CORRUPT);
    b.columns = 0;
    assert_int_equal(wcodec_blocks_derive(&b, 100, 0, &err), WCODEC_ERROR_CORRUPT);
    b.columns = 1 << 20;
    assert_int_equal(wcodec_blocks_derive(&b, 1 << 20, 0, &err), WCODEC_OK);
    assert_int_equal(wcodec_blocks_derive(&b, 1 << 21, 1, &err), WCODEC_ERROR_CORRUPT);
    b.columns = (1 << 20) + 1;
    assert_int_equal(wcodec_blocks_derive(&b, (1 << 20) + 1, 0, &err), WCODEC_ERROR_CORRUPT);
    /* The thinnest view of the largest tensor. */
    b.columns = 1;
    assert_int_equal(wcodec_blocks_derive(&b, (uint64_t)1 << 48, 1, &err), WCODEC_OK);
    assert_true(wcodec_blocks_residual_size(&b) == (uint64_t)1 << 52);
}

static void test_packed_modes(void **state)
{
    static const uint8_t modes[WCODEC_MODES] = {0, 1, 2, 3, 4, 5, 6, 8, 9, 10, 11, 12, 13};
    uint64_t seed = support_seed() + 1;
    (void)state;
    for (unsigned k = 1; k <= WCODEC_MODES; k++) {
        struct wcodec_blocks b;
        uint8_t packed[64] = {0};
        unsigned numbers[91];
        derive(&b, 7 * 16, 13 * 16, 0);
        b.mode_count = (uint8_t)k;
        memcpy(b.modes, modes, sizeof modes);
        const unsigned bits = wcodec_blocks_index_bits(&b);
        assert_int_equal(b.count, 91);
        assert_true(k <= 1u << bits);
        for (unsigned i = 0; i < 91; i++) {
            numbers[i] = i < k ? i : (unsigned)(support_random(&seed) % k);
            b.counts[numbers[i]]++;
            packed[i * bits / 8] |= (uint8_t)(numbers[i] << (i * bits % 8));
        }
        b.check = wcodec_blocks_modes_check(&b, packed);
        assert_int_equal(wcodec_blocks_check_modes(&b, packed, NULL), WCODEC_OK);
        for (unsigned i = 0; i < 91; i++)
            assert_int_equal(wcodec_blocks_mode(&b, packed, i), modes[numbers[i]]);
        if (bits == 0)
            continue;
        packed[5] ^= 1;
        assert_int_equal(wcodec_blocks_check_modes(&b, packed, NULL), WCODEC_ERROR_CORRUPT);
        b.check = wcodec_blocks_modes_check(&b, packed); /* now the counts differ */
        assert_int_equal(wcodec_blocks_check_modes(&b, packed, NULL), WCODEC_ERROR_CORRUPT);
        packed[5] ^= 1;
        packed[wcodec_blocks_tiles_begin(&b) - 1] = 0x80;
        b.check = wcodec_blocks_modes_check(&b, packed);
        assert_int_equal(wcodec_blocks_check_modes(&b, packed, NULL), WCODEC_ERROR_CORRUPT);
    }
}

/* Any cut is refused, and what is read is what was written. */
static void test_parameters(void **state)
{
    struct wcodec_blocks b, read;
    struct wcodec_tiling tiling = {
        .tile_log2 = 12,
        .field_count = 2,
        .fields = {{.kind = WCODEC_FIELD_RAW, .width = 4},
                   {.kind = WCODEC_FIELD_CODED, .width = 4, .profile = WCODEC_P8, .tables = 1}},
        .prefix_size = 160};
    uint8_t bytes[WCODEC_BLOCKS_MAX_BYTES], again[WCODEC_BLOCKS_MAX_BYTES];
    bool newer;
    (void)state;
    derive(&b, 100, 200, 0);
    b.mode_count = 2;
    b.modes[1] = WCODEC_PREDICTOR_PAETH;
    b.counts[0] = b.count - 1;
    b.counts[1] = 1;
    b.check = 0x12345678;
    const size_t size = wcodec_blocks_write(&b, &tiling, bytes);
    for (size_t n = 0; n <= size; n++) {
        struct wcodec_tiling t;
        struct wcodec_cursor c = {bytes, bytes + n};
        wcodec_error err = {0};
        assert_int_equal(wcodec_blocks_read(&c, b.size, &read, &t, &newer, &err),
                         n == size ? WCODEC_OK : WCODEC_ERROR_CORRUPT);
        assert_false(newer);
        if (n < size)
            continue;
        assert_ptr_equal(c.at, c.end);
        assert_int_equal(wcodec_blocks_write(&read, &t, again), size);
        assert_memory_equal(again, bytes, size);
        assert_int_equal(t.size, wcodec_blocks_residual_size(&b));
    }
    bytes[0] = 2;
    struct wcodec_cursor c = {bytes, bytes + 1};
    assert_int_equal(wcodec_blocks_read(&c, b.size, &read, &tiling, &newer, NULL), WCODEC_OK);
    assert_true(newer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_edges), cmocka_unit_test(test_views),
                                       cmocka_unit_test(test_packed_modes),
                                       cmocka_unit_test(test_parameters)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
