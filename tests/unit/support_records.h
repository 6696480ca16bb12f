/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Matrices of quantised weights in blocks, in safetensors and GGUF files. */
#ifndef WCODEC_TESTS_UNIT_SUPPORT_RECORDS_H
#define WCODEC_TESTS_UNIT_SUPPORT_RECORDS_H

#include "support_model.h"

struct support_quantised {
    const char *type;        /* of GGUF */
    unsigned number;         /* the same in a file */
    unsigned block, weights; /* bytes and elements of a block */
    uint64_t rows, blocks;   /* of a row */
};

/* Its bytes: scales that are near each other, weights that are near the middle of their range. */
uint8_t *support_quantised_data(const struct support_quantised *q, uint64_t *seed, size_t *size);

/* A file that holds it as tensor "t", all of these bytes at its end. `type`: what the metadata says
 * in place of the type; NULL: that. */
void support_quantised_safetensors(const struct support_quantised *q, const char *type,
                                   const uint8_t *data, size_t size, struct support_sink *file);
void support_quantised_gguf(const struct support_quantised *q, const uint8_t *data, size_t size,
                            struct support_sink *file);

#endif
