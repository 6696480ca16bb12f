/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Blocks of GGUF's quantised types as numbers. */
#ifndef WCODEC_UTILS_DEQUANTIZE_H
#define WCODEC_UTILS_DEQUANTIZE_H

#include <stddef.h>
#include <stdint.h>

enum { DEQUANTIZE_ELEMENTS_MAX = 256 };

struct block_type {
    const char *name;
    unsigned elements, bytes; /* of a block */
    void (*decode)(const uint8_t *block, float *numbers);
};

/* NULL: none of that name is known. */
const struct block_type *block_type_find(const char *name);

/* Little-endian, rounded to the nearest, to the even one of two. */
void numbers_put_f16(const float *numbers, size_t count, uint8_t *bytes);
void numbers_put_bf16(const float *numbers, size_t count, uint8_t *bytes);
void numbers_put_f32(const float *numbers, size_t count, uint8_t *bytes);

#endif
