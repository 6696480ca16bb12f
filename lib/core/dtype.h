/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Dtypes: names, widths, and how a tensor of each is first read (doc/format.md 1.4). */
#ifndef WCODEC_CORE_DTYPE_H
#define WCODEC_CORE_DTYPE_H

#include <stdbool.h>
#include <wcodec/base.h>

#define WCODEC_DTYPE_COUNT 23

/* Bytes of a tensor: product(shape) * bits / 8, checked. False if it overflows 2^48, or is no whole
 * number of bytes. dtype must not be OTHER. */
bool wcodec_dtype_size(wcodec_dtype dtype, const uint64_t *shape, unsigned rank, uint64_t *size);

/* log2 of the bytes of the element that coding works on: 0 for 8-bit, packed and unknown types, 2
 * for C64. */
unsigned wcodec_dtype_element_log2(wcodec_dtype dtype);

#endif
