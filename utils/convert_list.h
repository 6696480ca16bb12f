/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* What a safetensors file of other files' tensors has: of which bytes each of its tensors is made,
 * and how. */
#ifndef WCODEC_UTILS_CONVERT_LIST_H
#define WCODEC_UTILS_CONVERT_LIST_H

#include "utils/dequantize.h"
#include "utils/tensor_file.h"
#include <jansson.h>

enum { CONVERT_RANK_MAX = 255 };

struct convert_item {
    struct tensor_file *file;
    uint64_t number;    /* of the tensor in that file */
    uint64_t from_size; /* its bytes there */
    char *name;
    const struct block_type *blocks; /* NULL, or what its bytes are in blocks of */
    wcodec_dtype dtype;
    unsigned rank;
    uint64_t *shape;
    uint64_t *strides; /* NULL, or in elements: its bytes are there in another order */
    uint64_t size;
    uint64_t order;
};

struct convert_list {
    struct tensor_file *files;
    size_t file_count;
    struct convert_item *items;
    size_t count, capacity;
    bool dequantized; /* no tensor is in blocks any more */
    json_t *metadata; /* of all files */
    json_t *numbers;  /* of items by their names */
};

/* All tensors of these files, those of larger elements first, so that each is aligned. False:
 * reported. */
bool convert_list_make(struct app *app, struct tensor_file *files, size_t count,
                       struct convert_list *list);
void convert_list_free(struct convert_list *list);

/* What the safetensors file begins with (safetensors_begin()). */
char *convert_list_header(const struct convert_list *list, size_t *size);

#endif
