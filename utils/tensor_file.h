/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* A file whose tensors are read, compressed or not. */
#ifndef WCODEC_UTILS_TENSOR_FILE_H
#define WCODEC_UTILS_TENSOR_FILE_H

#include "utils/input.h"

struct tensor_file {
    struct input input;        /* its fd is -1 for an index of .wcodec files */
    wcodec_original *original; /* NULL: compressed */
    wcodec_reader *reader;     /* NULL: not compressed */
    uint64_t tensors;
    char kind[16];
    void *decoded; /* NULL, or a tensor of `reader`: that number */
    uint64_t number;
    uint64_t decoded_size;
};

/* Open `path`, "-" for standard input; a .wcodec file, a model's index of them, or any other file
 * of tensors. `model` is NULL, or the ONNX model whose external data it is. What of it is not
 * listed is warned of. False: reported. */
bool tensor_file_open(struct app *app, const char *path, const char *model,
                      struct tensor_file *file);
void tensor_file_close(struct tensor_file *file);

/* Tensor number i, below file->tensors. */
void tensor_file_describe(const struct tensor_file *file, uint64_t i, wcodec_tensor_info *info);

/* Call with each pair of its metadata, until that returns false. */
typedef bool (*tensor_file_pair_fn)(void *opaque, const char *key, const char *value);
bool tensor_file_pairs(const struct tensor_file *file, tensor_file_pair_fn visit, void *opaque);

/* Read bytes of tensor i. Of a compressed file the tensor is decoded whole, and kept until another
 * is read. False: reported. */
bool tensor_file_read(struct app *app, struct tensor_file *file, uint64_t i, uint64_t offset,
                      void *bytes, size_t size);

/* Has the file been written to since it was opened? */
bool tensor_file_changed(const struct tensor_file *file);
/* Is it still the file that was opened? False: reported. */
bool tensor_file_check(struct app *app, const struct tensor_file *file);

#endif
