/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "container/batch.h"
#include "coding/chunks.h"
#include "core/dtype.h"
#include "core/error.h"
#include "core/memory.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>

/* Weight tensors from LARGE bytes on are coded one after the other, each by all threads; all else side by side. */
enum { READ_PIECE = 1 << 22, LARGE = 1 << 20 };

/* One run of tasks over a batch, with the error of the item that failed first in the order of the file. */
struct work {
    struct wcodec_batch *batch;
    pthread_mutex_t lock;
    pthread_t caller;
    atomic_flag code_taken, hash_taken;
    atomic_bool failed;
    size_t failed_item;
    wcodec_status status;
    wcodec_error error;
};

/* Is it one repeated element of 2^log2 bytes? */
static bool repeats(const uint8_t *data, size_t size, unsigned log2)
{
    size_t width = (size_t)1 << log2;
    return size % width == 0 && memcmp(data, data + width, size - width) == 0;
}

static wcodec_status code_tiny(const wcodec_allocator *allocator, wcodec_dtype dtype, const uint8_t *data, size_t size, struct wcodec_coded *coded, wcodec_error *err)
{
    unsigned log2 = size == 8 ? 3 : size == 4 ? 2 : size == 2 ? 1 : wcodec_dtype_element_log2(dtype);
    struct wcodec_coded c = {.coding = WCODEC_CODING_CONSTANT, .allocator = allocator};
    if (repeats(data, size, log2)) {
        c.constant_element_log2 = (uint8_t)log2;
        memcpy(c.constant_element, data, (size_t)1 << log2);
        *coded = c;
        return WCODEC_OK;
    }
    uint64_t directory = wcodec_chunks_directory_size(size, size);
    uint8_t *payload = wcodec_alloc_zeroed(allocator, (size_t)directory + size);
    if (!payload)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory");
    wcodec_store_u32(payload, (uint32_t)size);
    wcodec_store_u32(payload + 4, wcodec_chunk_check(data, size));
    memcpy(payload + directory, data, size);
    c.coding = WCODEC_CODING_CHUNKS;
    c.chunk = size;
    c.payload_size = directory + size;
    c.part_count = 1;
    c.parts[0].data = payload;
    c.parts[0].size = c.payload_size;
    *coded = c;
    return WCODEC_OK;
}

wcodec_status wcodec_code_bytes(wcodec_context *context, const struct wcodec_encode_settings *settings, bool weights, wcodec_dtype dtype, const void *data, uint64_t size,
                                struct wcodec_coded *coded, wcodec_error *err)
{
    if (size != 0 && size <= WCODEC_TINY_BYTES)
        return code_tiny(&context->allocator, dtype, data, (size_t)size, coded, err);
    struct wcodec_encode_settings own = *settings;
    own.weights = weights;
    return wcodec_encode_tensor(context, &own, dtype, data, size, coded, err);
}

bool wcodec_batch_is_full(const struct wcodec_batch *batch, uint64_t size, uint64_t limit)
{
    return batch->count != 0 && (batch->count == WCODEC_BATCH_ITEMS || size > limit || batch->size > limit - size);
}

/* Tensors that can be constants need no alias. */
static bool is_candidate(const struct wcodec_batch *batch, const struct wcodec_batch_item *item)
{
    return batch->dedup && item->what.is_tensor && item->what.size > 8;
}

static void hash_task(void *argument, size_t i)
{
    struct work *w = argument;
    struct wcodec_batch_item *item = &w->batch->items[i];
    if (is_candidate(w->batch, item))
        item->hash = wcodec_dedup_hash(w->batch->context, w->batch->bytes + item->at, (size_t)item->what.size);
}

static void note_failure(struct work *w, size_t i, wcodec_status status, const wcodec_error *error)
{
    pthread_mutex_lock(&w->lock);
    if (!atomic_load(&w->failed) || i < w->failed_item) {
        w->failed_item = i;
        w->status = status;
        w->error = *error;
    }
    atomic_store(&w->failed, true);
    pthread_mutex_unlock(&w->lock);
}

static void code_item(struct work *w, size_t i)
{
    struct wcodec_batch *b = w->batch;
    struct wcodec_batch_item *item = &b->items[i];
    if (item->alias != UINT64_MAX || atomic_load(&w->failed))
        return;
    wcodec_error error = {0};
    wcodec_status status = WCODEC_OK;
    if (wcodec_cancel_poll(b->settings.cancel))
        status = wcodec_fail(&error, WCODEC_ERROR_CANCELLED, "cancelled by the caller");
    if (status == WCODEC_OK)
        status = wcodec_code_bytes(b->context, &b->settings, item->weights, (wcodec_dtype)item->what.dtype, b->bytes + item->at, item->what.size, &item->coded, &error);
    item->is_coded = status == WCODEC_OK;
    if (status == WCODEC_OK)
        return;
    if (item->what.name && status != WCODEC_ERROR_CANCELLED)
        wcodec_error_prefix(&error, "tensor \"%.200s\"", item->what.name);
    note_failure(w, i, status, &error);
}

static bool is_large(const struct wcodec_batch_item *item)
{
    return item->weights && item->what.size >= LARGE;
}

/* Task 1 hashes the original's bytes, which can only be done in order; the others code the items that are not large. Task 0 most often falls to the calling thread:
 * with something to code it looks whether it is cancelled. */
static void code_task(void *argument, size_t i)
{
    struct work *w = argument;
    size_t item = i == 0 ? 0 : i - 1;
    if (i == 1)
        wcodec_output_hash(w->batch->output, w->batch->bytes, (size_t)w->batch->size);
    else if (!is_large(&w->batch->items[item]))
        code_item(w, item);
}

/* For a batch of one item: the calling thread takes the item, another one the hash. A thread that waits for a task does not help with what that task runs in parallel,
 * so that the calling thread would be lost while another one codes. */
static void code_or_hash_task(void *argument, size_t i)
{
    struct work *w = argument;
    (void)i;
    bool code = pthread_equal(pthread_self(), w->caller);
    if (atomic_flag_test_and_set(code ? &w->code_taken : &w->hash_taken)) {
        code = !code;
        if (atomic_flag_test_and_set(code ? &w->code_taken : &w->hash_taken))
            return;
    }
    if (code)
        code_item(w, 0);
    else
        wcodec_output_hash(w->batch->output, w->batch->bytes, (size_t)w->batch->size);
}

static void read_task(void *argument, size_t i)
{
    struct work *w = argument;
    struct wcodec_batch *b = w->batch;
    uint64_t at = i * READ_PIECE, left = b->size - at;
    wcodec_error error = {0};
    if (atomic_load(&w->failed))
        return;
    wcodec_status status = wcodec_source_read(b->source, b->begin + at, b->data + at, (size_t)(left < READ_PIECE ? left : READ_PIECE), &error);
    if (status != WCODEC_OK)
        note_failure(w, i, status, &error);
}

/* Run tasks, then pass on what went wrong. */
static wcodec_status run(struct work *w, void (*task)(void *argument, size_t i), uint64_t count, wcodec_error *err)
{
    wcodec_run(w->batch->context, task, w, (size_t)count);
    return atomic_load(&w->failed) ? wcodec_fail(err, w->status, "%s", w->error.text) : WCODEC_OK;
}

/* In parallel: copying from the system's cache, and touching new memory, take as long as some of the coding. */
static wcodec_status read_bytes(struct work *w, wcodec_error *err)
{
    struct wcodec_batch *b = w->batch;
    if (b->source->fd < 0) {
        b->bytes = b->source->data + b->begin;
        return WCODEC_OK;
    }
    if (!b->data || b->size > b->data_room) { /* a batch of nothing has a pointer too */
        wcodec_free(&b->context->allocator, b->data); /* its contents are of no use: no copy */
        b->data_room = 0;
        b->data = wcodec_alloc_array(&b->context->allocator, b->size, 1);
        if (!b->data)
            return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for %" PRIu64 " bytes", b->size);
        b->data_room = b->size;
    }
    b->bytes = b->data;
    return run(w, read_task, wcodec_div_up_u64(b->size, READ_PIECE), err);
}

static wcodec_status code_items(struct work *w, wcodec_error *err)
{
    struct wcodec_batch *b = w->batch;
    if (b->count == 1)
        return run(w, code_or_hash_task, 2, err);
    wcodec_status status = run(w, code_task, 1 + (uint64_t)b->count, err);
    for (size_t i = 0; i < b->count && status == WCODEC_OK; i++)
        if (is_large(&b->items[i])) {
            code_item(w, i);
            status = run(w, NULL, 0, err);
        }
    return status;
}

/* Entry numbers are known before anything is coded: items become entries in their order. */
static wcodec_status find_aliases(struct wcodec_batch *b, wcodec_error *err)
{
    for (size_t i = 0; i < b->count; i++) {
        struct wcodec_batch_item *item = &b->items[i];
        if (!is_candidate(b, item))
            continue;
        wcodec_status status = wcodec_dedup_find(b->dedup, item->hash, b->bytes + item->at, (size_t)item->what.size, &item->alias, err);
        if (status == WCODEC_OK && item->alias == UINT64_MAX) {
            struct wcodec_dedup_item known = {item->hash, item->what.size, b->begin + item->at, b->output->index.entry_count + i};
            status = wcodec_dedup_add(b->dedup, &known, err);
        }
        if (status != WCODEC_OK)
            return status;
    }
    return WCODEC_OK;
}

static wcodec_status write_items(struct wcodec_batch *b, wcodec_error *err)
{
    wcodec_status status = WCODEC_OK;
    for (size_t i = 0; i < b->count && status == WCODEC_OK; i++) {
        struct wcodec_batch_item *item = &b->items[i];
        if (item->alias != UINT64_MAX) {
            status = wcodec_output_alias(b->output, &item->what, item->alias, err);
        } else {
            status = wcodec_output_coded(b->output, &item->what, &item->coded, err);
            wcodec_coded_free(&item->coded);
            item->is_coded = false;
        }
    }
    return status;
}

static void clear(struct wcodec_batch *b)
{
    for (size_t i = 0; i < b->count; i++)
        if (b->items[i].is_coded)
            wcodec_coded_free(&b->items[i].coded);
    b->begin += b->size;
    b->size = 0;
    b->count = 0;
    if (b->data_room > WCODEC_BATCH_BYTES) {
        /* A large tensor's memory is not kept for the small ones after it. */
        wcodec_free(&b->context->allocator, b->data);
        b->data = NULL;
        b->data_room = 0;
    }
}

wcodec_status wcodec_batch_run(struct wcodec_batch *batch, wcodec_error *err)
{
    if (batch->count == 0)
        return WCODEC_OK;
    struct work w = {.batch = batch, .caller = pthread_self(), .code_taken = ATOMIC_FLAG_INIT, .hash_taken = ATOMIC_FLAG_INIT};
    if (pthread_mutex_init(&w.lock, NULL) != 0)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for a lock");
    wcodec_status status = read_bytes(&w, err);
    if (status == WCODEC_OK && batch->dedup) {
        status = run(&w, hash_task, batch->count, err);
        if (status == WCODEC_OK)
            status = find_aliases(batch, err);
    }
    if (status == WCODEC_OK)
        status = code_items(&w, err);
    if (status == WCODEC_OK)
        status = write_items(batch, err);
    clear(batch);
    pthread_mutex_destroy(&w.lock);
    return status;
}
