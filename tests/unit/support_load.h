/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* A compressed model of many kinds of tensors in a file, and loads of it that are compared. */
#ifndef WCODEC_TESTS_UNIT_SUPPORT_LOAD_H
#define WCODEC_TESTS_UNIT_SUPPORT_LOAD_H

#include "support_model.h"
#include <wcodec/load.h>

struct support_loaded {
    struct support_model model;
    struct support_sink sink;
    char path[40];
};

/* Tensors of all dtypes, in tiles, chunks, constants and aliases, and a large one, in a temporary
 * file. */
void support_loaded_make(struct support_loaded *m, uint64_t seed);
/* The same at a level other than the default. */
void support_loaded_make_level(struct support_loaded *m, uint64_t seed, int level);
void support_loaded_free(struct support_loaded *m);

/* Counts lines of WARNING and INFO. */
struct support_lines {
    _Atomic unsigned warnings, infos;
};
wcodec_context *support_load_context(const char *backend, unsigned threads,
                                     const wcodec_allocator *allocator,
                                     struct support_lines *lines);

wcodec_reader *support_load_open(wcodec_context *context, const struct support_loaded *m);

/* Let contexts find the plugin `name` of the build tree, or with NULL the fake ones. False: it was
 * not built; then the fake ones are found. */
bool support_load_plugin(const char *name);

/* Tensors that are smooth in both directions, so that predictions and transforms pay. */
enum { SUPPORT_SMOOTH = 6 };
struct support_smooth {
    wcodec_dtype dtype;
    uint64_t rows, columns;
};
extern const struct support_smooth support_smooth[SUPPORT_SMOOTH];

/* A container of them. */
void support_smooth_write(const wcodec_encode_options *options, struct support_sink *out);

/* What tensor i holds: the original's bytes. */
const uint8_t *support_loaded_bytes(const struct support_loaded *m, const wcodec_reader *reader,
                                    uint64_t i, uint64_t *size);

/* The log's lines, one after the other, as far as there is room. */
struct support_log {
    char text[8192];
    size_t size;
};

/* A context's log, to such lines. */
void support_keep_line(void *opaque, wcodec_log_level level, const char *text);

#endif
