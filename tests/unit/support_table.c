/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "support_table.h"

#include "coding/lossy.h"
#include "core/bytes.h"

/* About Gaussian, of deviation 1. */
static double noise(uint64_t *seed)
{
    double sum = 0;
    for (unsigned i = 0; i < 12; i++)
        sum += (double)(support_random(seed) >> 40) * 0x1p-24 - 0.5;
    return sum;
}

struct support_table support_table_make(uint64_t *seed, wcodec_dtype dtype, uint64_t rows,
                                        uint64_t columns, unsigned centres)
{
    struct support_table t = {dtype, rows, columns, NULL, 0};
    const unsigned width = dtype == WCODEC_DTYPE_F32 ? 4 : 2;
    double *centre = calloc((centres + 1) * columns, sizeof *centre);
    t.size = (size_t)(rows * columns) * width;
    t.data = malloc(t.size);
    assert_non_null(centre);
    assert_non_null(t.data);
    for (size_t i = 0; i < centres * columns; i++)
        centre[i] = noise(seed);
    for (uint64_t row = 0; row < rows; row++) {
        const uint64_t near = centres != 0 ? support_random(seed) % centres : 0;
        for (uint64_t j = 0; j < columns; j++) {
            const float f = (float)(centre[near * columns + j] + 0.25 * noise(seed));
            uint8_t *at = t.data + (row * columns + j) * width;
            if (dtype == WCODEC_DTYPE_F32)
                wcodec_store_u32(at, wcodec_f32_bits(f));
            else
                wcodec_store_u16(at, dtype == WCODEC_DTYPE_BF16 ? wcodec_bf16_from_f32(f)
                                                                : wcodec_f16_from_f32(f));
        }
    }
    free(centre);
    return t;
}

double support_table_number(const struct support_table *t, const uint8_t *data, size_t i)
{
    if (t->dtype == WCODEC_DTYPE_F32)
        return (double)wcodec_f32_of_bits(wcodec_load_u32(data + 4 * i));
    const uint32_t bits = wcodec_load_u16(data + 2 * i);
    return (double)wcodec_f32_of_bits(t->dtype == WCODEC_DTYPE_BF16 ? bits << 16
                                                                    : wcodec_f32_bits_of_f16(bits));
}
