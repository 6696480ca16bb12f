/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "encode/chunked.h"

#include "coding/chunks.h"
#include "core/error.h"
#include "encode/rival.h"
#include <stdatomic.h>

enum { CHUNK_SMALL = 1 << 22, WORKERS_MAX = 1024 };

struct chunker {
    wcodec_context *context;
    const uint8_t *data;
    uint64_t size, chunk, first;
    int zstd_level;
    struct wcodec_cancel *cancel;
    size_t count; /* chunks of the batch */
    uint8_t *buffers;
    uint32_t *coded, *checks; /* of the batch */
    atomic_size_t next;
    _Atomic int status;
};

static size_t chunk_size(const struct chunker *k, uint64_t i)
{
    uint64_t left = k->size - i * k->chunk;
    return (size_t)(left < k->chunk ? left : k->chunk);
}

static void chunk_task(void *argument, size_t worker)
{
    struct chunker *k = argument;
    (void)worker;
    for (size_t i; (i = atomic_fetch_add(&k->next, 1)) < k->count;) {
        uint64_t n = k->first + i;
        wcodec_status status = wcodec_cancel_poll(k->cancel) ? WCODEC_ERROR_CANCELLED
                                                             : wcodec_chunk_encode(&k->context->allocator, k->data + n * k->chunk, chunk_size(k, n), k->zstd_level, k->cancel,
                                                                                   k->buffers + i * k->chunk, &k->coded[i], &k->checks[i], NULL);
        if (status)
            atomic_store(&k->status, (int)status);
    }
}

static wcodec_status append(const wcodec_allocator *allocator, struct wcodec_coded *coded, uint64_t *room, const uint8_t *bytes, uint64_t size, wcodec_error *err)
{
    uint64_t need = coded->parts[1].size + size;
    if (need > *room) {
        uint64_t more = *room + *room / 4 > need ? *room + *room / 4 : need;
        uint8_t *data = wcodec_realloc_array(allocator, coded->parts[1].data, more, 1);
        if (!data)
            return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for %llu coded bytes", (unsigned long long)more);
        coded->parts[1].data = data;
        *room = more;
    }
    memcpy(coded->parts[1].data + coded->parts[1].size, bytes, (size_t)size);
    coded->parts[1].size = need;
    return WCODEC_OK;
}

wcodec_status wcodec_chunked_code(wcodec_context *context, int level, const uint8_t *data, uint64_t size, uint64_t limit, struct wcodec_cancel *cancel, struct wcodec_coded *coded, bool *done,
                                  wcodec_error *err)
{
    const wcodec_allocator *allocator = &context->allocator;
    struct chunker k = {.context = context, .data = data, .size = size, .zstd_level = wcodec_zstd_level(level), .cancel = cancel};
    struct wcodec_coded result = {.coding = 2, .part_count = 2, .allocator = allocator};
    wcodec_status status = WCODEC_OK;
    k.chunk = level >= 7 ? WCODEC_CHUNK_MAX : CHUNK_SMALL;
    k.chunk = size < k.chunk ? size : k.chunk;
    uint64_t chunks = wcodec_div_up_u64(size, k.chunk), room = 0;
    size_t threads = wcodec_context_threads(context), batch = threads < 1 ? 1 : threads > WORKERS_MAX ? WORKERS_MAX : threads;
    batch = batch < chunks ? batch : (size_t)chunks;
    result.chunk = k.chunk;
    result.parts[0].size = wcodec_chunks_directory_size(size, k.chunk);
    result.parts[0].data = wcodec_alloc_zeroed(allocator, (size_t)result.parts[0].size);
    k.buffers = wcodec_alloc_array(allocator, batch, (size_t)k.chunk);
    k.coded = wcodec_alloc_array(allocator, batch, sizeof *k.coded);
    k.checks = wcodec_alloc_array(allocator, batch, sizeof *k.checks);
    if (!result.parts[0].data || !k.buffers || !k.coded || !k.checks) {
        status = wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for %zu chunks", batch);
        goto free_buffers;
    }
    *done = true;
    for (k.first = 0; k.first < chunks && *done && !status; k.first += k.count) {
        k.count = chunks - k.first < batch ? (size_t)(chunks - k.first) : batch;
        atomic_store(&k.next, 0);
        wcodec_run(context, chunk_task, &k, k.count);
        if (k.status)
            status = wcodec_fail(err, (wcodec_status)k.status, k.status == WCODEC_ERROR_CANCELLED ? "cancelled by the caller" : "out of memory in the compression of a chunk");
        for (size_t i = 0; i < k.count && !status; i++) {
            wcodec_store_u32(result.parts[0].data + 8 * (k.first + i), k.coded[i]);
            wcodec_store_u32(result.parts[0].data + 8 * (k.first + i) + 4, k.checks[i]);
            if (coded)
                status = append(allocator, &result, &room, k.buffers + i * k.chunk, k.coded[i], err);
            else
                result.parts[1].size += k.coded[i];
        }
        *done = limit == 0 || result.parts[0].size + result.parts[1].size < limit;
    }
    result.payload_size = result.parts[0].size + result.parts[1].size;
free_buffers:
    wcodec_free(allocator, k.buffers);
    wcodec_free(allocator, k.coded);
    wcodec_free(allocator, k.checks);
    if (status || !*done || !coded)
        wcodec_coded_free(&result);
    else
        *coded = result;
    return status;
}
