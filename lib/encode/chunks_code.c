/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "encode/assemble.h"

#include "coding/chunks.h"
#include "core/error.h"
#include <stdatomic.h>
#include <string.h>

enum {
    CHUNK_SMALL = 1 << 22,
    LEVEL_USUAL = 3,
    /* What is neither small nor large, and takes a second at most, is coded by zstd's best level at
     * the middle levels too, where a part of it says that this saves enough. Chunks are smaller
     * then: what zstd takes of memory grows with them. */
    SLOW_MIN = 1 << 16,
    SLOW_MAX = 1 << 22,
    SLOW_CHUNK = 1 << 19,
    SLOW_LEVEL = 19,
    SLOW_SAVES = 256, /* one part in so many */
    SLOW_SAMPLE_MIN = 1 << 15,
    SLOW_SAMPLE_MAX = 1 << 17,
    /* What is so small, such as the header of an array, gets at most a byte or two less by others.
     */
    TINY_CHUNK = 512,
    TINY_LEVEL = 3
};

struct chunker {
    const wcodec_allocator *allocator;
    struct wcodec_zstd *zstd;
    const uint8_t *data;
    uint64_t size, chunk, count;
    int level; /* ours */
    int zstd_level;
    struct wcodec_cancel *cancel;
    struct wcodec_coded_part *parts; /* the directory, then the chunks */
    bool keep;                       /* else only counted */
    uint64_t limit;                  /* 0: none */
    _Atomic uint64_t next;           /* chunk */
    _Atomic uint64_t coded;          /* bytes of all coded so far, with the directory */
    _Atomic int status;
};

static size_t chunk_size(const struct chunker *k, uint64_t i)
{
    uint64_t left = k->size - i * k->chunk;
    return (size_t)(left < k->chunk ? left : k->chunk);
}

static wcodec_status encode(const struct chunker *k, uint64_t i, int zstd_level, uint8_t *buffer,
                            uint32_t *coded, uint32_t *check)
{
    return wcodec_chunk_encode(k->zstd, k->data + i * k->chunk, chunk_size(k, i), zstd_level,
                               k->cancel, buffer, coded, check, NULL);
}

/* By the lowest of the levels that take the fewest bytes. Of a small chunk, such as a header, a
 * higher level may take some bytes more than a lower one. */
static wcodec_status encode_small(const struct chunker *k, uint64_t i, uint8_t *buffer,
                                  uint32_t *coded, uint32_t *check)
{
    uint8_t *tried = wcodec_alloc(k->allocator, chunk_size(k, i));
    wcodec_status status = tried != NULL ? WCODEC_OK : WCODEC_ERROR_MEMORY;
    *coded = UINT32_MAX;
    for (int own = LEVEL_USUAL; own <= k->level && status == WCODEC_OK; own++) {
        const int level = own < k->level ? wcodec_zstd_level(own) : k->zstd_level;
        uint32_t size;
        status = encode(k, i, level, tried, &size, check);
        if (status == WCODEC_OK && size < *coded) {
            memcpy(buffer, tried, size);
            *coded = size;
        }
    }
    wcodec_free(k->allocator, tried);
    return status;
}

/* Code chunk i to `buffer`, which then holds it, or is freed. */
static wcodec_status code_chunk(struct chunker *k, uint64_t i, uint8_t *buffer)
{
    uint32_t coded, check;
    wcodec_status status;
    if (chunk_size(k, i) <= TINY_CHUNK)
        status = encode(k, i, TINY_LEVEL, buffer, &coded, &check);
    else if (k->level > LEVEL_USUAL && chunk_size(k, i) < SLOW_MIN)
        status = encode_small(k, i, buffer, &coded, &check);
    else
        status = encode(k, i, k->zstd_level, buffer, &coded, &check);
    if (status != WCODEC_OK) {
        wcodec_free(k->allocator, buffer);
        return status;
    }
    wcodec_store_u32(k->parts[0].data + 8 * i, coded);
    wcodec_store_u32(k->parts[0].data + 8 * i + 4, check);
    k->parts[1 + i].size = coded;
    atomic_fetch_add(&k->coded, coded);
    if (!k->keep) {
        wcodec_free(k->allocator, buffer);
        return WCODEC_OK;
    }
    uint8_t *fitting =
        coded < chunk_size(k, i) ? wcodec_realloc_array(k->allocator, buffer, coded, 1) : NULL;
    k->parts[1 + i].data = fitting ? fitting : buffer;
    return WCODEC_OK;
}

static bool is_too_large(struct chunker *k)
{
    return k->limit != 0 && atomic_load(&k->coded) >= k->limit;
}

static void chunk_task(void *argument, size_t worker)
{
    struct chunker *k = argument;
    (void)worker;
    for (uint64_t i; !atomic_load(&k->status) && !is_too_large(k) &&
                     (i = atomic_fetch_add(&k->next, 1)) < k->count;) {
        wcodec_status status = WCODEC_ERROR_CANCELLED;
        if (!wcodec_cancel_poll(k->cancel)) {
            uint8_t *buffer = wcodec_alloc(k->allocator, chunk_size(k, i));
            status = buffer != NULL ? code_chunk(k, i, buffer) : WCODEC_ERROR_MEMORY;
            wcodec_cancel_count(k->cancel, chunk_size(k, i));
        }
        if (status != WCODEC_OK)
            atomic_store(&k->status, (int)status);
    }
}

static bool may_be_slow(const struct wcodec_encode_settings *settings, uint64_t size)
{
    return !settings->quick && settings->level >= 3 && settings->level < 7 && size >= SLOW_MIN &&
           size <= SLOW_MAX;
}

/* Does the slow level save enough of the middle? */
static wcodec_status try_slow(const struct chunker *k, bool *slow, wcodec_error *err)
{
    const size_t sample = (size_t)wcodec_clamp_u64(k->size / 4, SLOW_SAMPLE_MIN, SLOW_SAMPLE_MAX);
    const uint8_t *at = k->data + (k->size - sample) / 2;
    uint8_t *buffer = wcodec_alloc(k->allocator, sample);
    uint32_t quick, best, check;
    if (buffer == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for a sample of %zu bytes",
                           sample);
    wcodec_status status = wcodec_chunk_encode(k->zstd, at, sample, k->zstd_level, k->cancel,
                                               buffer, &quick, &check, err);
    if (status == WCODEC_OK)
        status = wcodec_chunk_encode(k->zstd, at, sample, SLOW_LEVEL, k->cancel, buffer, &best,
                                     &check, err);
    if (status == WCODEC_OK)
        *slow = best < quick - quick / SLOW_SAVES;
    wcodec_free(k->allocator, buffer);
    return status;
}

wcodec_status wcodec_chunked_code(wcodec_context *context,
                                  const struct wcodec_encode_settings *settings,
                                  const uint8_t *data, uint64_t size, uint64_t limit,
                                  struct wcodec_coded *coded, bool *done, wcodec_error *err)
{
    const wcodec_allocator *allocator = &context->allocator;
    struct chunker k = {.allocator = allocator,
                        .zstd = &context->zstd,
                        .data = data,
                        .size = size,
                        .level = settings->level,
                        .zstd_level = wcodec_zstd_level(settings->level),
                        .cancel = settings->cancel,
                        .keep = coded != NULL,
                        .limit = limit};
    struct wcodec_coded result = {.coding = WCODEC_CODING_CHUNKS, .allocator = allocator};
    k.chunk = settings->level >= 7 ? WCODEC_CHUNK_MAX : CHUNK_SMALL;
    bool slow = false;
    if (may_be_slow(settings, size)) {
        wcodec_status tried = try_slow(&k, &slow, err);
        if (tried != WCODEC_OK)
            return tried;
    }
    if (slow) {
        k.zstd_level = SLOW_LEVEL;
        k.chunk = SLOW_CHUNK;
    }
    /* No larger than the middle levels make it. */
    if (settings->level >= 7 && !settings->quick && size <= SLOW_MAX)
        k.zstd_level = SLOW_LEVEL;
    k.chunk = size < k.chunk ? size : k.chunk;
    k.count = wcodec_div_up_u64(size, k.chunk);
    result.chunk = k.chunk;
    result.part_count = 1 + (size_t)k.count;
    result.parts = wcodec_alloc_zeroed(allocator, result.part_count * sizeof *result.parts);
    if (result.parts == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for %zu parts of a payload",
                           result.part_count);
    k.parts = result.parts;
    result.parts[0].size = wcodec_chunks_directory_size(size, k.chunk);
    result.parts[0].data = wcodec_alloc_zeroed(allocator, (size_t)result.parts[0].size);
    atomic_init(&k.coded, result.parts[0].size);
    wcodec_status status = WCODEC_OK;
    if (result.parts[0].data)
        wcodec_run(context, chunk_task, &k,
                   wcodec_encode_workers(
                       context, settings->scratch,
                       k.chunk + wcodec_chunk_encode_memory(k.zstd_level, k.chunk), k.count));
    if (!result.parts[0].data || k.status == WCODEC_ERROR_MEMORY)
        status =
            wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory in the compression of a chunk");
    else if (k.status)
        status =
            wcodec_fail(err, (wcodec_status)k.status,
                        k.status == WCODEC_ERROR_CANCELLED ? "cancelled by the caller"
                                                           : "the compression of a chunk failed");
    else
        *done = !is_too_large(&k);
    result.payload_size = k.coded;
    if (status == WCODEC_OK && *done && coded)
        *coded = result;
    else
        wcodec_coded_free(&result);
    return status;
}
