/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Random safetensors files, and a place for what is written: for tests of everything that
 * compresses. */
#ifndef WCODEC_TESTS_UNIT_SUPPORT_MODEL_H
#define WCODEC_TESTS_UNIT_SUPPORT_MODEL_H

#include "support_memory.h"

/* A safetensors file in memory, made tensor by tensor. */
struct support_model {
    char *json; /* without the closing brace */
    size_t json_size, json_room;
    uint8_t *data;
    size_t data_size, data_capacity;
    uint8_t *file; /* by support_model_finish() */
    size_t file_size;
    unsigned tensors;
};

enum support_pattern {
    SUPPORT_WEIGHTS,
    SUPPORT_RANDOM,
    SUPPORT_ZEROS,
    SUPPORT_ALTERNATING,
    SUPPORT_PATTERNS
};

void support_model_init(struct support_model *model);
/* A tensor of `elements` elements in one dimension (bytes for dtypes that are packed or not known:
 * `elements` of them), filled by a pattern. */
void support_model_add(struct support_model *model, const char *name, const char *dtype,
                       unsigned bits, uint64_t elements, enum support_pattern pattern,
                       uint64_t *seed);
/* One with the bytes of `data`. */
void support_model_add_data(struct support_model *model, const char *name, const char *dtype,
                            uint64_t elements, const void *data, size_t size);
/* Header and data to `file`; `blanks` follow the JSON text, so that the data starts anywhere. */
void support_model_finish(struct support_model *model, const char *metadata, unsigned blanks);
void support_model_free(struct support_model *model);

/* Collects what is written; fails at call number fail_at (from 0) with ENOSPC. */
struct support_sink {
    uint8_t *data;
    size_t size, capacity;
    unsigned calls;
    unsigned fail_at; /* UINT_MAX: never */
};

void support_sink_init(struct support_sink *sink);
int support_sink_write(void *sink, const void *data, size_t size);
void support_sink_free(struct support_sink *sink);

/* Opens a container in memory, which must stay; fails the test where that fails. */
wcodec_reader *support_open_sink(wcodec_context *context, const struct support_sink *sink);

/* Restores a container in memory and compares; fails the test if it differs. */
void support_expect_restores(wcodec_context *context, const struct support_sink *sink,
                             const void *original, size_t size);

/* The only tensor of a file in memory, of so many rows: its rows are as in `data`, and the file
 * restores to what ends in them; from memory, from a file, and in little memory. */
void support_expect_tensor(wcodec_context *context, uint64_t *seed,
                           const struct support_sink *coded, uint64_t rows, const uint8_t *data,
                           size_t size);

#endif
