/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The hash of a file as it is, as .wcodec files have it of their originals. */

#include "backends/cpu/cpu_level.h"
#include "backends/cpu/leaf.h"
#include "core/context.h"
#include "core/error.h"
#include "core/memory.h"
#include "core/progress.h"
#include "io/source.h"
#include "io/tree.h"
#include <stdatomic.h>
#include <wcodec/reader.h>

enum { PART = 1 << 18, WINDOW = 1025, WORKERS = 64 };

struct hashing {
    const struct wcodec_source *source;
    struct wcodec_tree tree;
    uint8_t *buffers; /* of PART bytes, one a worker; NULL for a source in memory */
    uint64_t end;     /* of what is hashed at once */
    _Atomic uint64_t next;
    atomic_flag failed;
    wcodec_status status; /* of the first that failed; error likewise */
    wcodec_error error;
};

static wcodec_status hash_part(struct hashing *h, uint64_t at, uint8_t *buffer, wcodec_error *err)
{
    const uint64_t size = h->end - at < PART ? h->end - at : PART;
    const uint8_t *bytes = buffer;
    wcodec_status status = WCODEC_OK;
    if (buffer == NULL)
        bytes = h->source->data + at;
    else
        status = wcodec_source_read(h->source, at, buffer, (size_t)size, err);
    return status == WCODEC_OK ? wcodec_tree_put(&h->tree, at, bytes, size, err) : status;
}

static void work(void *argument, size_t i)
{
    struct hashing *h = argument;
    uint8_t *buffer = h->buffers != NULL ? h->buffers + i * PART : NULL;
    for (uint64_t at; (at = atomic_fetch_add(&h->next, PART)) < h->end;) {
        wcodec_error error;
        const wcodec_status status = hash_part(h, at, buffer, &error);
        if (status == WCODEC_OK)
            continue;
        if (!atomic_flag_test_and_set(&h->failed)) {
            h->error = error;
            h->status = status;
        }
        return;
    }
}

static wcodec_status hash_all(wcodec_context *context, struct hashing *h, size_t workers,
                              struct wcodec_reporter *reporter, wcodec_error *err)
{
    const uint64_t size = h->source->size, most = wcodec_tree_span(&h->tree);
    for (uint64_t at = 0; at < size; at = h->end) {
        h->end = size - at < most ? size : at + most;
        atomic_store(&h->next, at);
        wcodec_run(context, work, h, workers);
        if (h->status != WCODEC_OK) {
            if (err != NULL)
                *err = h->error;
            return h->status;
        }
        wcodec_tree_advance(&h->tree);
        const wcodec_status status = wcodec_reporter_add(reporter, h->end - at, err);
        if (status != WCODEC_OK)
            return status;
    }
    return wcodec_reporter_end(reporter, err);
}

static wcodec_status hash_source(wcodec_context *context, const struct wcodec_source *source,
                                 const wcodec_progress *progress, uint8_t hash[16],
                                 wcodec_error *err)
{
    const wcodec_allocator *allocator = &context->allocator;
    struct hashing h = {.source = source, .failed = ATOMIC_FLAG_INIT};
    struct wcodec_reporter reporter;
    size_t workers = wcodec_context_threads(context);
    const uint64_t most = context->limits.max_memory / PART;
    workers = workers < WORKERS ? workers : WORKERS;
    workers = workers <= most ? workers : most > 1 ? (size_t)most : 1;
    wcodec_status status = wcodec_tree_init(
        &h.tree, allocator, wcodec_cpu_leaf(wcodec_cpu_levels() & context->cpu_mask), WINDOW, err);
    if (status == WCODEC_OK && source->fd >= 0 &&
        (h.buffers = wcodec_alloc_array(allocator, workers, PART)) == NULL)
        status = wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for a hash");
    wcodec_reporter_init(&reporter, progress, source->size);
    if (status == WCODEC_OK)
        status = hash_all(context, &h, workers, &reporter, err);
    if (status == WCODEC_OK)
        wcodec_tree_canonical(wcodec_tree_end(&h.tree, source->size), hash);
    wcodec_free(allocator, h.buffers);
    wcodec_tree_free(&h.tree);
    return status;
}

wcodec_status wcodec_hash_fd(wcodec_context *context, int fd, const wcodec_progress *progress,
                             uint8_t hash[16], wcodec_error *err)
{
    struct wcodec_source source;
    if (context == NULL || hash == NULL)
        return wcodec_fail(err, WCODEC_ERROR_USAGE, "wcodec_hash_fd: an argument is NULL");
    wcodec_status status = wcodec_context_usable(context, err);
    if (status == WCODEC_OK)
        status = wcodec_source_fd(fd, &source, err);
    return status == WCODEC_OK ? hash_source(context, &source, progress, hash, err) : status;
}

wcodec_status wcodec_hash_memory(wcodec_context *context, const void *data, size_t size,
                                 uint8_t hash[16], wcodec_error *err)
{
    struct wcodec_source source;
    if (context == NULL || hash == NULL || (data == NULL && size > 0))
        return wcodec_fail(err, WCODEC_ERROR_USAGE, "wcodec_hash_memory: an argument is NULL");
    wcodec_status status = wcodec_context_usable(context, err);
    if (status != WCODEC_OK)
        return status;
    wcodec_source_memory(data, size, &source);
    return hash_source(context, &source, NULL, hash, err);
}
