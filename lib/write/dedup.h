/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Finds tensors that are equal to earlier ones. A hash only says where to look: the bytes are read
 * again and compared, by all threads. Neither samples nor a hash of all bytes would do in their
 * place: XXH3 is no cryptographic hash, so that who makes a file could have one tensor taken for
 * another. */
#ifndef WCODEC_WRITE_DEDUP_H
#define WCODEC_WRITE_DEDUP_H

#include "core/context.h"
#include "io/source.h"

/* An XXH3-128 of samples. */
struct wcodec_dedup_hash {
    uint64_t low, high;
};

struct wcodec_dedup_item {
    struct wcodec_dedup_hash hash;
    uint64_t size;
    uint64_t offset; /* in the source */
    uint64_t entry;  /* its number */
};

struct wcodec_dedup {
    wcodec_context *context;
    const struct wcodec_source *source;
    /* Bytes of the source that are in memory, which are not read again: from `held_begin` on,
     * `held_size` of them. Set by the caller where there are any. */
    const uint8_t *held;
    uint64_t held_begin, held_size;
    struct wcodec_dedup_item *items;
    uint64_t count, capacity;
    uint64_t *
        slots; /* number of an item plus 1; 0: free. A power of two of them, at most half in use. */
    uint64_t slot_count;
    uint64_t seed; /* of the slots: nobody can choose tensors that all fall into one place */
};

void wcodec_dedup_init(struct wcodec_dedup *dedup, wcodec_context *context,
                       const struct wcodec_source *source);
void wcodec_dedup_free(struct wcodec_dedup *dedup);

/* Of 64 samples of 64 bytes: the original is hashed once already, and what has the same samples is
 * compared. */
enum { WCODEC_DEDUP_SAMPLES = 64, WCODEC_DEDUP_SAMPLE = 64 };
struct wcodec_dedup_hash wcodec_dedup_hash(const void *data, size_t size);

/* The same of samples alone, of what has more bytes than all of them: where sample i begins, and
 * the hash of all, one after the other. */
size_t wcodec_dedup_sample(size_t size, unsigned i);
struct wcodec_dedup_hash wcodec_dedup_hash_samples(const uint8_t *samples);

/* Look for an earlier item with these bytes; its entry number is set, or UINT64_MAX if there is
 * none. What is large is compared by the context's threads. WCODEC_ERROR_IO, WCODEC_ERROR_MEMORY.
 */
wcodec_status wcodec_dedup_find(struct wcodec_dedup *dedup, struct wcodec_dedup_hash hash,
                                const void *data, size_t size, uint64_t *entry, wcodec_error *err);

/* The same for bytes that are in the source as well, from `offset` on. */
wcodec_status wcodec_dedup_find_read(struct wcodec_dedup *dedup, struct wcodec_dedup_hash hash,
                                     uint64_t offset, uint64_t size, uint64_t *entry,
                                     wcodec_error *err);

/* Remember an item. WCODEC_ERROR_MEMORY. */
wcodec_status wcodec_dedup_add(struct wcodec_dedup *dedup, const struct wcodec_dedup_item *item,
                               wcodec_error *err);

#endif
