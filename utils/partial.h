/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* A .safetensors file of some tensors of a reader. */
#ifndef WCODEC_UTILS_PARTIAL_H
#define WCODEC_UTILS_PARTIAL_H

#include "utils/output.h"
#include <wcodec/reader.h>

/* Rows of one tensor, for a file of that tensor alone. */
struct partial_rows {
    uint64_t first;
    uint64_t count;
};

/* Write header and data of the `count` tensors numbered in `tensors` (ascending). `rows` (or NULL)
 * cuts the only one. `name` is the input, for messages. False: reported. */
bool partial_write(struct app *app, const char *name, const wcodec_reader *reader,
                   const uint64_t *tensors, size_t count, const struct partial_rows *rows,
                   struct output *output);

/* Decode a tensor, or rows of it, into memory that the caller frees; *size is its bytes. NULL:
 * reported. */
void *partial_decode(struct app *app, const char *name, const wcodec_reader *reader,
                     uint64_t tensor, const struct partial_rows *rows, uint64_t *size);

/* Is a tensor of this name asked for? */
bool partial_is_chosen(const struct options *options, const char *tensor);

/* The tensors that --tensor and --only choose, all without these, in order; the caller frees it.
 * NULL: reported. */
uint64_t *partial_select(struct app *app, const char *name, const wcodec_reader *reader,
                         size_t *count);

#endif
