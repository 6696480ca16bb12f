/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Rows by anchors, and what their record says: right ones come back, wrong ones are refused. */
#include "support.h"

#include "coding/anchored.h"
#include "coding/lossy.h"
#include <math.h>
#include <stdbool.h>

enum { ROWS = 40, COLUMNS = 700, ANCHORS = 7 };

static struct wcodec_anchored anchored_of(wcodec_dtype dtype, unsigned number_log2,
                                          unsigned index_log2)
{
    return (struct wcodec_anchored){.scale = 0x1.8p-12f,
                                    .largest_error = 1.5,
                                    .mean_squared_error = 0.25,
                                    .mean_square = 3,
                                    .columns = COLUMNS,
                                    .anchors = ANCHORS,
                                    .number_log2 = (uint8_t)number_log2,
                                    .index_log2 = (uint8_t)index_log2,
                                    .dtype = dtype,
                                    .element_log2 = dtype == WCODEC_DTYPE_F32 ? 2 : 1,
                                    .rows = ROWS};
}

static void fill(uint8_t *bytes, uint64_t size, uint64_t *seed)
{
    for (uint64_t i = 0; i < size; i++)
        bytes[i] = (uint8_t)support_random(seed);
}

/* Element by element, as the text has it. */
static void expect_elements(const struct wcodec_anchored *a, const uint8_t *anchors,
                            const uint8_t *indices, const uint8_t *residuals, const uint8_t *out)
{
    for (uint64_t i = 0; i < a->rows * a->columns; i++) {
        const uint64_t row = i / a->columns, column = i % a->columns,
                       anchor = indices[row << a->index_log2];
        const int32_t number =
            wcodec_coefficient(anchors, a->number_log2, (size_t)(anchor * a->columns + column)) +
            wcodec_coefficient(residuals, a->number_log2, (size_t)i);
        assert_int_equal(wcodec_load_element(out + (i << a->element_log2), a->element_log2),
                         wcodec_lossy_element(a->dtype, 64 * number, a->scale));
    }
}

static void rows_come_back(void **state)
{
    static const wcodec_dtype dtypes[] = {WCODEC_DTYPE_F32, WCODEC_DTYPE_BF16, WCODEC_DTYPE_F16};
    static uint8_t anchors[2 * ANCHORS * COLUMNS], indices[4 * ROWS], residuals[2 * ROWS * COLUMNS],
        out[4 * ROWS * COLUMNS + 1];
    uint64_t seed = support_seed();
    (void)state;
    for (unsigned round = 0; round < 18; round++) {
        const struct wcodec_anchored a =
            anchored_of(dtypes[round % 3], round / 3 % 2, round / 6 % 3);
        const uint64_t size = a.rows * wcodec_anchored_row_size(&a);
        fill(anchors, wcodec_anchored_part_size(&a, WCODEC_ANCHORED_ANCHORS), &seed);
        fill(residuals, wcodec_anchored_part_size(&a, WCODEC_ANCHORED_RESIDUALS), &seed);
        memset(indices, 0, sizeof indices);
        assert_int_equal(wcodec_anchored_part_size(&a, WCODEC_ANCHORED_INDICES),
                         (uint64_t)ROWS << a.index_log2);
        for (unsigned row = 0; row < ROWS; row++)
            indices[row << a.index_log2] = (uint8_t)(support_random(&seed) % ANCHORS);
        out[size] = 0xEE;
        assert_true(wcodec_anchored_restore(&a, anchors, indices, residuals, ROWS, out));
        assert_int_equal(out[size], 0xEE);
        expect_elements(&a, anchors, indices, residuals, out);
        indices[(ROWS - 1) << a.index_log2] = ANCHORS;
        assert_true(wcodec_anchored_restore(&a, anchors, indices, residuals, ROWS - 1, out));
        assert_false(wcodec_anchored_restore(&a, anchors, indices, residuals, ROWS, out));
    }
}

static wcodec_status read_back(const uint8_t *bytes, size_t size, uint64_t tensor,
                               wcodec_dtype dtype, struct wcodec_anchored *a, bool *newer)
{
    struct wcodec_cursor c = {bytes, bytes + size};
    wcodec_error err;
    return wcodec_anchored_read(&c, tensor, dtype, a, newer, &err);
}

static void records_come_back(void **state)
{
    const struct wcodec_anchored a = anchored_of(WCODEC_DTYPE_F32, 1, 2);
    const uint64_t size = a.rows * wcodec_anchored_row_size(&a);
    uint8_t bytes[WCODEC_ANCHORED_HEAD_MAX];
    const size_t count = wcodec_anchored_write(&a, bytes);
    struct wcodec_anchored back;
    bool newer;
    (void)state;
    assert_int_equal(read_back(bytes, count, size, WCODEC_DTYPE_F32, &back, &newer), WCODEC_OK);
    assert_false(newer);
    assert_int_equal(back.rows, ROWS);
    assert_int_equal(back.columns, COLUMNS);
    assert_int_equal(back.anchors, ANCHORS);
    assert_int_equal(back.number_log2, 1);
    assert_int_equal(back.index_log2, 2);
    assert_int_equal(back.element_log2, 2);
    assert_true(back.scale == a.scale && back.largest_error == a.largest_error &&
                back.mean_squared_error == a.mean_squared_error &&
                back.mean_square == a.mean_square);
    for (size_t cut = 0; cut < count; cut++)
        assert_int_equal(read_back(bytes, cut, size, WCODEC_DTYPE_F32, &back, &newer),
                         WCODEC_ERROR_CORRUPT);
    assert_int_equal(read_back(bytes, count, size + 4, WCODEC_DTYPE_F32, &back, &newer),
                     WCODEC_ERROR_CORRUPT);
    assert_int_equal(read_back(bytes, count, size, WCODEC_DTYPE_I32, &back, &newer),
                     WCODEC_ERROR_CORRUPT);
    bytes[0] = 2;
    assert_int_equal(read_back(bytes, count, size, WCODEC_DTYPE_F32, &back, &newer), WCODEC_OK);
    assert_true(newer);
}

/* All anchors are in memory while rows are decoded: no file makes them many bytes. */
static void anchors_are_few_bytes(void **state)
{
    struct wcodec_anchored a = anchored_of(WCODEC_DTYPE_F32, 1, 2), back;
    (void)state;
    a.columns = 1 << 16;
    for (unsigned more = 0; more < 2; more++) {
        uint8_t bytes[WCODEC_ANCHORED_HEAD_MAX];
        bool newer;
        a.anchors = 32 + more;
        const size_t count = wcodec_anchored_write(&a, bytes);
        assert_int_equal(
            read_back(bytes, count, (uint64_t)1000 << 18, WCODEC_DTYPE_F32, &back, &newer),
            more == 0 ? WCODEC_OK : WCODEC_ERROR_CORRUPT);
    }
}

static void wrong_records_are_refused(void **state)
{
    struct wcodec_anchored all[10];
    (void)state;
    for (unsigned i = 0; i < 10; i++)
        all[i] = anchored_of(WCODEC_DTYPE_F32, 0, 0);
    all[0].columns = 0;
    all[1].columns = COLUMNS + 1;
    all[2].columns = (1 << 18) + 1;
    all[3].anchors = 0;
    all[4].anchors = ROWS + 1;
    all[5].number_log2 = 2;
    all[6].index_log2 = 3;
    all[7].scale = -1;
    all[8].largest_error = NAN;
    all[9].mean_square = -0.0;
    for (unsigned i = 0; i < 10; i++) {
        uint8_t bytes[WCODEC_ANCHORED_HEAD_MAX];
        const size_t count = wcodec_anchored_write(&all[i], bytes);
        struct wcodec_anchored back;
        bool newer;
        assert_int_equal(
            read_back(bytes, count, (uint64_t)ROWS * COLUMNS * 4, WCODEC_DTYPE_F32, &back, &newer),
            WCODEC_ERROR_CORRUPT);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_come_back),
        cmocka_unit_test(records_come_back),
        cmocka_unit_test(anchors_are_few_bytes),
        cmocka_unit_test(wrong_records_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
