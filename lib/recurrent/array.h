/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Arrays of weights of several dtypes as binary32. */
#ifndef WCODEC_RECURRENT_ARRAY_H
#define WCODEC_RECURRENT_ARRAY_H

#include <stdbool.h>
#include <wcodec/recurrent.h>

/* Can wcodec_recurrent_element() take it? */
bool wcodec_recurrent_dtype(wcodec_dtype dtype);

/* Element i of data, in the machine's byte order. */
float wcodec_recurrent_element(wcodec_dtype dtype, const void *data, size_t i);

/* A matrix [rows, columns] to blocks of WCODEC_GATES_BLOCK rows, [rows / block, columns, block];
 * what is not there stays as it was. All must be finite numbers. */
wcodec_status wcodec_gru_array_take(const wcodec_gru_array *from, size_t rows, size_t columns,
                                    const char *name, float *to, wcodec_error *err);

#endif
