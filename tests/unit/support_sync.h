/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Snapshots of weights, changed here and there, and what messages make of them. */
#ifndef WCODEC_TESTS_UNIT_SUPPORT_SYNC_H
#define WCODEC_TESTS_UNIT_SUPPORT_SYNC_H

#include "support_files.h"
#include "support_load.h"
#include "support_plugins.h"
#include <wcodec/delta.h>

/* A tensor of so many elements; of no dtype: the end of a list. */
struct support_shape {
    wcodec_dtype dtype;
    uint64_t elements;
};

/* All tensors in one block of memory, with bytes between that nobody may change. */
struct support_snapshot {
    unsigned count;
    uint8_t *data;
    uint64_t size;
    wcodec_save_item *items;
    uint64_t *shapes;
    char (*names)[32];
};

void support_snapshot_make(struct support_snapshot *s, const struct support_shape *shapes,
                           unsigned count, uint64_t seed);
/* The same bytes in other memory. */
void support_snapshot_copy(const struct support_snapshot *from, struct support_snapshot *to);
void support_snapshot_free(struct support_snapshot *s);
/* Change one of `every` elements, about; 0: none. */
void support_snapshot_change(struct support_snapshot *s, uint64_t every, uint64_t seed);
uint8_t *support_snapshot_tensor(const struct support_snapshot *s, unsigned i);
void support_snapshot_expect(const struct support_snapshot *got,
                             const struct support_snapshot *wanted);

/* The message between two of them, to be freed with the context. Fails the test if it cannot be
 * made. */
void *support_message(wcodec_context *context, const struct support_snapshot *before,
                      const struct support_snapshot *after, size_t *size);
/* A message with another text of metadata, right in all its other hashes: the caller's to free. */
uint8_t *support_message_forge(const uint8_t *message, size_t message_size, const char *key,
                               const char *text, size_t *size);

#endif
