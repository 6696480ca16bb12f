/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "coding/chunks.h"
#include "core/error.h"
#include "core/memory.h"

#include <inttypes.h>
#include <limits.h>
#include <xxhash.h>
#include <zstd.h>
#include <zstd_errors.h>

/* Below this a zstd frame cannot pay: its header and block header alone take some ten bytes. */
enum { SMALLEST_FRAME_INPUT = 24 };

uint64_t wcodec_chunks_directory_size(uint64_t size, uint64_t chunk)
{
    uint64_t count = chunk != 0 ? wcodec_div_up_u64(size, chunk) : 0;
    return wcodec_align_u64(count * 8, 16);
}

wcodec_status wcodec_chunks_read_size(struct wcodec_cursor *cursor, uint64_t size,
                                      uint64_t payload_size, uint64_t *chunk, wcodec_error *err)
{
    uint64_t bytes;
    if (!wcodec_take_varint(cursor, &bytes))
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT, "chunk size: cut short, or no valid number");
    if (bytes < 1 || bytes > WCODEC_CHUNK_MAX)
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                           "chunks of %" PRIu64 " bytes, allowed are 1 to 2^24", bytes);
    const uint64_t directory = wcodec_chunks_directory_size(size, bytes);
    if (payload_size < directory || payload_size - directory > size)
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                           "payload of %" PRIu64 " bytes cannot hold %" PRIu64
                           " bytes in chunks of %" PRIu64,
                           payload_size, size, bytes);
    *chunk = bytes;
    return WCODEC_OK;
}

static uint64_t chunk_bytes(const struct wcodec_chunks *chunks, uint64_t i)
{
    uint64_t left = chunks->size - i * chunks->chunk;
    return left < chunks->chunk ? left : chunks->chunk;
}

uint32_t wcodec_chunk_check(const void *data, size_t size)
{
    return (uint32_t)XXH3_64bits(data, size);
}

static wcodec_status read_directory(struct wcodec_chunks *c, const uint8_t *directory,
                                    uint64_t payload_size, wcodec_error *err)
{
    uint64_t directory_size = wcodec_chunks_directory_size(c->size, c->chunk), at = directory_size;
    for (uint64_t i = 0; i < c->count; i++) {
        uint64_t decoded = chunk_bytes(c, i);
        c->coded[i] = wcodec_load_u32(directory + 8 * i);
        c->checks[i] = wcodec_load_u32(directory + 8 * i + 4);
        c->offsets[i] = at;
        if (c->coded[i] == 0 || c->coded[i] > decoded)
            return wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                               "chunk %" PRIu64 " takes %" PRIu32
                               " coded bytes, expected 1 to %" PRIu64,
                               i, c->coded[i], decoded);
        if (c->coded[i] > payload_size - at)
            return wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                               "chunk %" PRIu64 " ends beyond the payload's %" PRIu64 " bytes", i,
                               payload_size);
        at += c->coded[i];
    }
    if (at != payload_size)
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                           "the chunks end at byte %" PRIu64 " of a payload of %" PRIu64 " bytes",
                           at, payload_size);
    for (uint64_t i = 8 * c->count; i < directory_size; i++)
        if (directory[i] != 0)
            return wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                               "padding after the directory of chunks is not zero");
    return WCODEC_OK;
}

wcodec_status wcodec_chunks_read(uint64_t size, uint64_t chunk, const uint8_t *directory,
                                 uint64_t payload_size, const wcodec_allocator *allocator,
                                 struct wcodec_chunks **chunks, wcodec_error *err)
{
    if (chunk == 0 || chunk > WCODEC_CHUNK_MAX)
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                           "chunks of %" PRIu64 " bytes, expected 1 to %d", chunk,
                           WCODEC_CHUNK_MAX);
    if (size == 0 || size > (uint64_t)1 << 48)
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                           "%" PRIu64 " bytes in chunks, expected 1 to 2^48", size);
    if (wcodec_chunks_directory_size(size, chunk) > payload_size)
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                           "a payload of %" PRIu64 " bytes cannot hold the directory of its chunks",
                           payload_size);

    struct wcodec_chunks *c = wcodec_alloc_zeroed(allocator, sizeof *c);
    if (c == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory");
    c->size = size;
    c->chunk = chunk;
    c->count = wcodec_div_up_u64(size, chunk);
    c->allocator = allocator;
    c->coded = wcodec_alloc_array(allocator, c->count, sizeof *c->coded);
    c->checks = wcodec_alloc_array(allocator, c->count, sizeof *c->checks);
    c->offsets = wcodec_alloc_array(allocator, c->count, sizeof *c->offsets);
    wcodec_status status = WCODEC_OK;
    if (c->coded == NULL || c->checks == NULL || c->offsets == NULL)
        status = wcodec_fail(err, WCODEC_ERROR_MEMORY,
                             "out of memory for a directory of %" PRIu64 " chunks", c->count);
    if (status == WCODEC_OK)
        status = read_directory(c, directory, payload_size, err);
    if (status != WCODEC_OK) {
        wcodec_chunks_free(c);
        return status;
    }
    *chunks = c;
    return WCODEC_OK;
}

void wcodec_chunks_free(struct wcodec_chunks *chunks)
{
    if (chunks == NULL)
        return;
    wcodec_free(chunks->allocator, chunks->coded);
    wcodec_free(chunks->allocator, chunks->checks);
    wcodec_free(chunks->allocator, chunks->offsets);
    wcodec_free(chunks->allocator, chunks);
}

/* One frame, neither less nor more, that declares the size we expect: zstd itself would also take
 * several frames, and ones that may be skipped. */
static wcodec_status decode_frame(uint64_t i, const uint8_t *coded, size_t coded_size, void *out,
                                  size_t size, struct wcodec_zstd *zstd, wcodec_error *err)
{
    unsigned long long declared = ZSTD_getFrameContentSize(coded, coded_size);
    if (declared == ZSTD_CONTENTSIZE_ERROR || declared == ZSTD_CONTENTSIZE_UNKNOWN)
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                           "chunk %" PRIu64 " is no zstd frame that declares its size", i);
    if (declared != size)
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                           "chunk %" PRIu64 " declares %llu bytes, expected %zu", i, declared,
                           size);
    size_t frame = ZSTD_findFrameCompressedSize(coded, coded_size);
    if (ZSTD_isError(frame))
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT, "chunk %" PRIu64 ": zstd: %s", i,
                           ZSTD_getErrorName(frame));
    if (frame != coded_size)
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                           "chunk %" PRIu64 ": a zstd frame of %zu bytes, expected %zu", i, frame,
                           coded_size);
    size_t got = wcodec_zstd_decompress(zstd, out, size, coded, coded_size);
    if (ZSTD_isError(got)) {
        wcodec_status status = ZSTD_getErrorCode(got) == ZSTD_error_memory_allocation
                                   ? WCODEC_ERROR_MEMORY
                                   : WCODEC_ERROR_CORRUPT;
        return wcodec_fail(err, status, "chunk %" PRIu64 ": zstd: %s", i, ZSTD_getErrorName(got));
    }
    if (got != size)
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                           "chunk %" PRIu64 " decodes to %zu bytes, expected %zu", i, got, size);
    return WCODEC_OK;
}

wcodec_status wcodec_chunk_decode(const struct wcodec_chunks *chunks, uint64_t i,
                                  const uint8_t *coded, void *out, bool verify,
                                  struct wcodec_zstd *zstd, wcodec_error *err)
{
    size_t size = (size_t)chunk_bytes(chunks, i);
    if (chunks->coded[i] == size) {
        memcpy(out, coded, size);
    } else {
        wcodec_status status = decode_frame(i, coded, chunks->coded[i], out, size, zstd, err);
        if (status != WCODEC_OK)
            return status;
    }
    if (verify && wcodec_chunk_check(out, size) != chunks->checks[i])
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT, "the check of chunk %" PRIu64 " differs", i);
    return WCODEC_OK;
}

/* Bytes between two looks whether to stop, and the level from which on a chunk takes long enough to
 * look. From LARGE_LEVEL on zstd's tables would take up to 80 MiB a thread: 27 MiB give sizes that
 * differ by 0.1 %, by 0.4 % at the worst level. Up to LEAN_SIZE 3 MiB do. */
enum {
    SLICE = 1 << 18,
    SLOW_LEVEL = 7,
    LARGE_LEVEL = 12,
    WINDOW_LOG = 22,
    CHAIN_LOG = 22,
    HASH_LOG = 21,
    LEAN_LEVEL = 16,
    LEAN_SIZE = 1 << 19,
    LEAN_CHAIN_LOG = 18,
    LEAN_HASH_LOG = 16
};

static bool is_lean(int level, uint64_t size)
{
    return level >= LEAN_LEVEL && size <= LEAN_SIZE;
}

static size_t set_parameters(ZSTD_CCtx *context, int level, size_t size)
{
    const struct {
        ZSTD_cParameter parameter;
        int value;
    } settings[] = {{ZSTD_c_compressionLevel, level},
                    {ZSTD_c_windowLog, WINDOW_LOG},
                    {ZSTD_c_chainLog, is_lean(level, size) ? LEAN_CHAIN_LOG : CHAIN_LOG},
                    {ZSTD_c_hashLog, is_lean(level, size) ? LEAN_HASH_LOG : HASH_LOG}};
    size_t result = ZSTD_CCtx_setPledgedSrcSize(context, size);
    for (size_t i = 0; i < (level < LARGE_LEVEL ? 1 : sizeof settings / sizeof settings[0]) &&
                       !ZSTD_isError(result);
         i++)
        result = ZSTD_CCtx_setParameter(context, settings[i].parameter, settings[i].value);
    return result;
}

static size_t compress_slices(ZSTD_CCtx *context, const void *data, size_t size, int level,
                              struct wcodec_cancel *cancel, uint8_t *out, size_t capacity,
                              bool *cancelled)
{
    size_t left = set_parameters(context, level, size);
    ZSTD_outBuffer output = {out, capacity, 0};
    ZSTD_inBuffer input = {data, 0, 0};
    while (!ZSTD_isError(left)) {
        *cancelled = wcodec_cancel_poll(cancel);
        if (*cancelled)
            return 0;
        input.size = size - input.pos < SLICE ? size : input.pos + SLICE;
        bool last = input.size == size;
        left = ZSTD_compressStream2(context, &output, &input, last ? ZSTD_e_end : ZSTD_e_continue);
        if (ZSTD_isError(left))
            return left;
        if (last && left == 0)
            return output.pos;
        if (output.pos == capacity)
            return 0; /* it does not fit */
    }
    return left;
}

/* zstd's tables for large inputs, as measured, with what is set above. */
uint64_t wcodec_chunk_encode_memory(int zstd_level, uint64_t size)
{
    static const struct {
        int level;
        uint64_t bytes;
    } most[] = {{1, 1 << 20}, {3, 3 << 19},  {5, 4 << 20},
                {7, 7 << 20}, {9, 13 << 20}, {INT_MAX, 32 << 20}};
    size_t i = 0;
    if (is_lean(zstd_level, size))
        return 3 << 20;
    while (zstd_level > most[i].level)
        i++;
    /* Tables for a small input are small; slices are kept as far as the window reaches. */
    uint64_t small = (512 << 10) + 16 * size,
             window = size < (uint64_t)1 << WINDOW_LOG ? size : (uint64_t)1 << WINDOW_LOG;
    return (small < most[i].bytes ? small : most[i].bytes) +
           (zstd_level >= SLOW_LEVEL ? window + 4 * SLICE : 0);
}

/* Coded bytes in out, 0 if they do not fit, or an error code. */
static size_t compress(struct wcodec_zstd *zstd, const void *data, size_t size, int level,
                       struct wcodec_cancel *cancel, uint8_t *out, size_t capacity, bool *cancelled)
{
    const bool lean = is_lean(level, size);
    size_t got;
    if (lean || (level >= SLOW_LEVEL && size > SLICE)) {
        ZSTD_CCtx *context = ZSTD_createCCtx();
        if (context == NULL)
            return (size_t)-ZSTD_error_memory_allocation;
        if (!lean)
            got = compress_slices(context, data, size, level, cancel, out, capacity, cancelled);
        else if (!ZSTD_isError(got = set_parameters(context, level, size)))
            got = ZSTD_compress2(context, out, capacity, data, size);
        ZSTD_freeCCtx(context);
    } else {
        got = wcodec_zstd_compress(zstd, out, capacity, data, size, level);
    }
    return ZSTD_isError(got) && ZSTD_getErrorCode(got) == ZSTD_error_dstSize_tooSmall ? 0 : got;
}

wcodec_status wcodec_chunk_encode(struct wcodec_zstd *zstd, const void *data, size_t size,
                                  int zstd_level, struct wcodec_cancel *cancel, uint8_t *out,
                                  uint32_t *coded_size, uint32_t *check, wcodec_error *err)
{
    if (size > WCODEC_CHUNK_MAX)
        return wcodec_fail(err, WCODEC_ERROR_USAGE, "a chunk of %zu bytes, expected at most %d",
                           size, WCODEC_CHUNK_MAX);
    bool cancelled = false;
    /* Room for one byte less than stored: a frame that does not fit is one that does not pay. */
    size_t coded = size < SMALLEST_FRAME_INPUT
                       ? 0
                       : compress(zstd, data, size, zstd_level, cancel, out, size - 1, &cancelled);
    if (cancelled)
        return wcodec_fail(err, WCODEC_ERROR_CANCELLED, "cancelled by the caller");
    if (ZSTD_isError(coded))
        return wcodec_fail(err,
                           ZSTD_getErrorCode(coded) == ZSTD_error_memory_allocation
                               ? WCODEC_ERROR_MEMORY
                               : WCODEC_ERROR_UNSUPPORTED,
                           "zstd: %s", ZSTD_getErrorName(coded));
    if (coded == 0) {
        coded = size;
        if (size != 0)
            memcpy(out, data, size);
    }
    *coded_size = (uint32_t)coded;
    *check = wcodec_chunk_check(data, size);
    return WCODEC_OK;
}
