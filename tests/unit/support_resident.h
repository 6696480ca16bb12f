/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* A file in memory with tensors of all kinds that may become resident, and what is in them. */
#ifndef WCODEC_TESTS_UNIT_SUPPORT_RESIDENT_H
#define WCODEC_TESTS_UNIT_SUPPORT_RESIDENT_H

#include "support_memory.h"
#include <wcodec/resident.h>

enum { SUPPORT_RESIDENT_TENSORS = 22 };

/* How a tensor's numbers are. */
enum support_numbers {
    SUPPORT_BELL,     /* around zero, in the tensor's dtype */
    SUPPORT_ANY_BITS, /* infinities and NaNs too */
    SUPPORT_CONSTANT,
    SUPPORT_SAME /* the bytes of the tensor before it */
};

struct support_model {
    const char *name;
    wcodec_dtype dtype;
    unsigned rank;
    uint64_t shape[3];
    enum support_numbers numbers;
    bool fixed; /* suits the fixed rate */
};

extern const struct support_model support_models[SUPPORT_RESIDENT_TENSORS];

struct support_resident_file {
    size_t size;
    uint8_t *bytes;
    size_t sizes[SUPPORT_RESIDENT_TENSORS];
    uint8_t *data[SUPPORT_RESIDENT_TENSORS];
};

/* tune: of the encoder. */
void support_resident_make(wcodec_context *context, uint64_t *seed, wcodec_tune tune,
                           struct support_resident_file *file);
/* A reader of it. */
wcodec_reader *support_resident_open(wcodec_context *context,
                                     const struct support_resident_file *file);
void support_resident_free(struct support_resident_file *file);
/* A context whose device is the fake plugin's, which is as `how` says. */
wcodec_context *support_resident_fake(const char *how);

/* All tensors of a reader, in that memory. */
wcodec_status support_resident_create(const wcodec_reader *reader, const char *memory,
                                      wcodec_resident_form form, wcodec_resident **resident,
                                      wcodec_error *err);

#endif
