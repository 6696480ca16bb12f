/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* How integers of 16 bits that are small more often than not, whatever their sign, are cut into
 * fields: coefficients, residuals. */
#ifndef WCODEC_ENCODE_INTEGER_SPLIT_H
#define WCODEC_ENCODE_INTEGER_SPLIT_H

#include "core/memory.h"
#include "encode/split.h"

/* A window of 8 bits around zero is coded, what is below it is raw, what is above it constant or,
 * where large values occur, coded: the window of least counted cost. `least` and `largest` are
 * those of all values. WCODEC_ERROR_MEMORY. */
wcodec_status wcodec_integer_split(const wcodec_allocator *allocator, const uint8_t *values,
                                   uint64_t count, int least, int largest,
                                   struct wcodec_split *split, wcodec_error *err);

/* The same for coefficients in their order, of which GPUs make elements in one pass where one field
 * is coded: of what is above the window, few values are not zero, and go as outliers
 * (constant_above), unless that costs 0.7 % more. */
wcodec_status wcodec_plain_split(const wcodec_allocator *allocator, const uint8_t *values,
                                 uint64_t count, int least, int largest, struct wcodec_split *split,
                                 wcodec_error *err);

/* The same for coefficients in bands: runs of 128 that repeat by 16, each with a table of P8 of its
 * own. Two whole bytes are preferred where the upper ones have one value in most runs, which
 * decoders skip; else they are avoided. */
wcodec_status wcodec_banded_split(const wcodec_allocator *allocator, const uint8_t *values,
                                  uint64_t count, int least, int largest,
                                  struct wcodec_split *split, wcodec_error *err);

#endif
