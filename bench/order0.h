/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The order-0 bound of a tensor, counted without any of the library's code: what an ideal coder
 * takes that knows one table a coded field and tensor, raw bits counted full. */
#ifndef WCODEC_BENCH_ORDER0_H
#define WCODEC_BENCH_ORDER0_H

#include <stddef.h>
#include <stdint.h>

/* Bits. Splits: bf16 8 coded + 8 raw, f16 5 + 11, f32 (and halves of c64) 8 + 24, f8 the exponent
 * and the rest, 8-bit integers the best of 8 + 0, 5 + 3 and 4 + 4, all else bytes, each place of an
 * element a field of its own. dtype: a safetensors name; others are single bytes. */
double order0_bits(const char *dtype, const void *data, size_t size);

#endif
