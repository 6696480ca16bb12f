/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The order of matrices in fragments, as products take it and at all edges, and parameters of a
 * record, right and wrong. What a whole file with such tensors does is tested with the readers and
 * by the oracle. */
#include "support.h"

#include "coding/fragments.h"
#include "core/error.h"
#include <string.h>

static struct wcodec_fragments derived(uint64_t rows, uint64_t columns, unsigned w)
{
    struct wcodec_fragments f = {.columns = columns};
    assert_int_equal(wcodec_fragments_derive(&f, rows * columns << w, w, NULL), WCODEC_OK);
    assert_int_equal(f.rows, rows);
    return f;
}

/* Numbers of the elements, so that it is seen where each has gone. */
static uint8_t *numbered(uint64_t count)
{
    uint8_t *data = malloc((size_t)(2 * count));
    for (uint64_t i = 0; i < count; i++)
        wcodec_store_u16(data + 2 * i, (uint16_t)i);
    return data;
}

/* A whole section: in group 4q + 2j + h lane 4g + c has four elements of row g + 8h, from column
 * 32q + 8c + 4j on: operand A of a product of 16 x 8 x 16, registers h of k = 8c + 4j. */
static void test_section(void **state)
{
    const struct wcodec_fragments f = derived(32, 384, 1);
    uint8_t *data = numbered(32 * 384), *sequence = malloc((size_t)f.size);
    const uint64_t section = 4; /* the second of the second band */
    (void)state;
    wcodec_fragments_gather(&f, data, 0, f.rows * f.columns, sequence);
    for (unsigned q = 0; q < 4; q++)
        for (unsigned j = 0; j < 2; j++)
            for (unsigned h = 0; h < 2; h++)
                for (unsigned g = 0; g < 8; g++)
                    for (unsigned c = 0; c < 4; c++)
                        for (unsigned i = 0; i < 4; i++) {
                            const uint64_t number =
                                section * 2048 + 128 * (4 * q + 2 * j + h) + 4 * (4 * g + c) + i;
                            const unsigned row = 16 + g + 8 * h,
                                           column = 128 + 32 * q + 8 * c + 4 * j + i;
                            assert_int_equal(wcodec_load_u16(sequence + 2 * number),
                                             row * 384 + column);
                        }
    free(sequence);
    free(data);
}

/* Sections that are not whole are row by row. */
static void test_edges(void **state)
{
    const struct wcodec_fragments f = derived(19, 130, 1);
    uint8_t *data = numbered(19 * 130), *sequence = malloc((size_t)f.size);
    (void)state;
    wcodec_fragments_gather(&f, data, 0, f.rows * f.columns, sequence);
    for (unsigned row = 0; row < 16; row++)
        for (unsigned i = 0; i < 2; i++)
            assert_int_equal(wcodec_load_u16(sequence + 2 * (2048 + 2 * row + i)),
                             row * 130 + 128 + i);
    for (unsigned row = 0; row < 3; row++)
        for (unsigned i = 0; i < 128; i++)
            assert_int_equal(wcodec_load_u16(sequence + 2 * (16 * 130 + 128 * row + i)),
                             (16 + row) * 130 + i);
    for (unsigned row = 0; row < 3; row++)
        for (unsigned i = 0; i < 2; i++)
            assert_int_equal(wcodec_load_u16(sequence + 2 * (16 * 130 + 384 + 2 * row + i)),
                             (16 + row) * 130 + 128 + i);
    free(sequence);
    free(data);
}

/* There and back, of any part: each element has one place, and bands keep their bytes. */
static void test_parts(void **state)
{
    static const uint64_t sides[] = {1, 15, 16, 17, 33, 127, 128, 129, 256, 300};
    uint64_t seed = support_seed();
    (void)state;
    for (unsigned n = 0; n < 200; n++) {
        const uint64_t rows = sides[support_random(&seed) % 5],
                       columns = sides[support_random(&seed) % 10], all = rows * columns;
        const unsigned w = n % 2;
        const struct wcodec_fragments f = derived(rows, columns, w);
        const uint64_t begin = support_random(&seed) % (f.size + 1),
                       end = begin + support_random(&seed) % (f.size - begin + 1),
                       cut = support_random(&seed) % (all + 1);
        uint8_t *data = malloc((size_t)f.size), *sequence = malloc((size_t)f.size),
                *out = malloc((size_t)f.size + 2);
        for (uint64_t i = 0; i < f.size; i++)
            data[i] = (uint8_t)support_random(&seed);
        wcodec_fragments_gather(&f, data, 0, cut, sequence);
        wcodec_fragments_gather(&f, data, cut, all - cut, sequence + (cut << w));
        memset(out, 0xa5, (size_t)f.size + 2);
        wcodec_fragments_put(&f, 0, cut, sequence, begin, end, out + 1);
        wcodec_fragments_put(&f, cut, all - cut, sequence + (cut << w), begin, end, out + 1);
        assert_memory_equal(out + 1, data + begin, (size_t)(end - begin));
        assert_int_equal(out[0], 0xa5);
        assert_int_equal(out[1 + end - begin], 0xa5);
        for (uint64_t i = 0; i < all; i++) {
            const struct wcodec_section s = wcodec_fragments_section(&f, i);
            assert_int_equal(s.row, i / (16 * columns) * 16);
            assert_true(i >= s.first && i < s.first + (uint64_t)s.height * s.width);
        }
        free(out);
        free(sequence);
        free(data);
    }
}

static void refuse(uint64_t columns, uint64_t size, unsigned w)
{
    struct wcodec_fragments f = {.columns = columns};
    wcodec_error err = {0};
    assert_int_equal(wcodec_fragments_derive(&f, size, w, &err), WCODEC_ERROR_CORRUPT);
    assert_true(err.text[0] != 0);
}

static void test_view(void **state)
{
    (void)state;
    refuse(0, 16, 0);
    refuse(3, 16, 0);
    refuse(UINT64_MAX, 16, 0);
    refuse(32, 16, 0);
    refuse(8, 16, 2);
    refuse((1 << 20) + 1, ((uint64_t)1 << 20) + 1, 0);
    refuse((1 << 19) + 1, ((uint64_t)1 << 20) + 2, 1);
    (void)derived(1, 1 << 20, 0);
    (void)derived(1, 1 << 19, 1);
}

static void test_parameters(void **state)
{
    /* Form, columns, then a tiling: w, t, offset, a raw field and a coded one, prefix. */
    static const uint8_t right[] = {1, 16, 0, 12, 0, 2, 1, 4, 2, 4, 3, 1, 0, 176, 1};
    uint8_t again[WCODEC_FRAGMENTS_MAX_BYTES];
    struct wcodec_fragments f;
    struct wcodec_tiling t;
    wcodec_error err = {0};
    bool newer;
    (void)state;
    for (size_t size = 0; size <= sizeof right; size++) {
        struct wcodec_cursor c = {right, right + size};
        const wcodec_status status = wcodec_fragments_read(&c, 32, &f, &t, &newer, &err);
        assert_int_equal(status, size == sizeof right ? WCODEC_OK : WCODEC_ERROR_CORRUPT);
        assert_false(newer);
    }
    assert_int_equal(f.columns, 16);
    assert_int_equal(f.rows, 2);
    assert_int_equal(wcodec_fragments_write(&f, &t, again), sizeof right);
    assert_memory_equal(again, right, sizeof right);
    for (unsigned form = 0; form < 256; form++) {
        uint8_t other[sizeof right];
        memcpy(other, right, sizeof right);
        other[0] = (uint8_t)form;
        struct wcodec_cursor c = {other, other + sizeof other};
        assert_int_equal(wcodec_fragments_read(&c, 32, &f, &t, &newer, &err), WCODEC_OK);
        assert_int_equal(newer, form != 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_section), cmocka_unit_test(test_edges),
                                       cmocka_unit_test(test_parts), cmocka_unit_test(test_view),
                                       cmocka_unit_test(test_parameters)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
