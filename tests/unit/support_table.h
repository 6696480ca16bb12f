/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Tables of vectors that lie around centres. */
#ifndef WCODEC_TESTS_UNIT_SUPPORT_TABLE_H
#define WCODEC_TESTS_UNIT_SUPPORT_TABLE_H

#include "support.h"

#include <wcodec/base.h>

struct support_table {
    wcodec_dtype dtype; /* F32, F16 or BF16 */
    uint64_t rows, columns;
    uint8_t *data; /* to be freed */
    size_t size;
};

/* Rows around `centres`; 0: around nothing. */
struct support_table support_table_make(uint64_t *seed, wcodec_dtype dtype, uint64_t rows,
                                        uint64_t columns, unsigned centres);

/* Element i of such data. */
double support_table_number(const struct support_table *table, const uint8_t *data, size_t i);

#endif
