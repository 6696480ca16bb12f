/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "encode/rival.h"

#include "coding/chunks.h"
#include "core/bytes.h"
#include "core/error.h"
#include "core/memory.h"

int wcodec_zstd_level(int level)
{
    static const int levels[10] = {1, 1, 2, 3, 5, 7, 9, 12, 16, 19};
    return levels[level < 1 ? 1 : level > 9 ? 9 : level];
}

enum {
    SIZE_MIN = 65536, /* smaller tensors stay as they are: decoding them from tiles is worth more than a few bytes */
    SAMPLE_MIN = 16384,
    SAMPLE_MAX = 1 << 20,
    PIECES = 4,
    ANCHOR_SPACING = 64,
    ANCHORS_MAX = 65536,
    WINDOW = 128,
    WINDOWS_MAX = 1024
};

static wcodec_status sample_shrinks(const wcodec_allocator *allocator, int zstd_level, const uint8_t *data, uint64_t size, uint64_t coded, bool *shrinks, wcodec_error *err)
{
    uint64_t sample = size / 16 < SAMPLE_MIN ? SAMPLE_MIN : size / 16 > SAMPLE_MAX ? SAMPLE_MAX : size / 16, piece = sample / PIECES;
    uint8_t *buffer = wcodec_alloc(allocator, 2 * (size_t)sample);
    if (!buffer)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for a sample of %u bytes", (unsigned)sample);
    for (unsigned i = 0; i < PIECES; i++)
        memcpy(buffer + i * piece, data + (size - piece) / (PIECES - 1) * i, (size_t)piece);
    uint32_t sample_coded, check;
    wcodec_status status = wcodec_chunk_encode(allocator, buffer, (size_t)(PIECES * piece), zstd_level, buffer + sample, &sample_coded, &check, err);
    /* A sample has a shorter memory, and pays more for its tables: 3 % of leeway. */
    if (!status)
        *shrinks = (double)sample_coded / (double)(PIECES * piece) < (double)coded / (double)size * 1.03;
    wcodec_free(allocator, buffer);
    return status;
}

static size_t hash_slot(uint64_t x)
{
    return (size_t)(x * 0x9E3779B97F4A7C15u >> 48);
}

/* Note where the 8 bytes at evenly spaced anchors are, then look in some windows whether they come again. An estimate of the share of the tensor that repeats follows. */
static wcodec_status repeats(const wcodec_allocator *allocator, const uint8_t *data, uint64_t size, unsigned element_log2, bool *found, wcodec_error *err)
{
    uint64_t spacing = ANCHOR_SPACING, step = (uint64_t)1 << element_log2, hits = 0, looks = 0;
    uint64_t *places = wcodec_alloc_zeroed(allocator, ANCHORS_MAX * sizeof *places); /* position + 1 */
    if (!places)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for %d anchors", ANCHORS_MAX);
    while (size / spacing > ANCHORS_MAX)
        spacing *= 2;
    for (uint64_t at = 0; at + 8 <= size; at += spacing)
        places[hash_slot(wcodec_load_u64(data + at))] = at + 1;
    uint64_t windows = size / 4096 < WINDOWS_MAX ? size / 4096 : WINDOWS_MAX;
    for (uint64_t i = 0; i < windows; i++) {
        uint64_t begin = (size - WINDOW) / windows * i / step * step;
        for (uint64_t at = begin; at + 8 <= begin + WINDOW; at += step, looks++) {
            uint64_t x = wcodec_load_u64(data + at), place = places[hash_slot(x)];
            hits += place != 0 && place - 1 != at && wcodec_load_u64(data + place - 1) == x;
        }
    }
    wcodec_free(allocator, places);
    /* One of spacing / step places of a stretch is an anchor. */
    *found = hits >= 2 && hits * (spacing / step) * 100 > looks;
    return WCODEC_OK;
}

wcodec_status wcodec_zstd_may_win(const wcodec_allocator *allocator, int level, const uint8_t *data, uint64_t size, unsigned element_log2, uint64_t coded, bool *may, wcodec_error *err)
{
    *may = false;
    if (size < SIZE_MIN)
        return WCODEC_OK;
    wcodec_status status = repeats(allocator, data, size, element_log2, may, err);
    if (!status && !*may)
        status = sample_shrinks(allocator, wcodec_zstd_level(level < 7 ? level : 6), data, size, coded, may, err);
    return status;
}
