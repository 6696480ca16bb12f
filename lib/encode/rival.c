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
    wcodec_status status = wcodec_chunk_encode(allocator, buffer, (size_t)(PIECES * piece), zstd_level, NULL, buffer + sample, &sample_coded, &check, err);
    /* A sample has a shorter memory, and pays more for its tables: 3 % of leeway. */
    if (!status)
        *shrinks = (double)sample_coded / (double)(PIECES * piece) < (double)coded / (double)size * 1.03;
    wcodec_free(allocator, buffer);
    return status;
}

static size_t hash_slot(uint64_t x, unsigned bits)
{
    return (size_t)(x * 0x9E3779B97F4A7C15u >> (64 - bits));
}

/* Note where the 8 bytes at evenly spaced anchors are, then look in some windows whether they come again. An estimate of the share of the tensor that repeats follows. */
static wcodec_status repeats(const wcodec_allocator *allocator, const uint8_t *data, uint64_t size, unsigned element_log2, bool *found, wcodec_error *err)
{
    uint64_t spacing = ANCHOR_SPACING, step = (uint64_t)1 << element_log2, hits = 0, looks = 0;
    unsigned bits = 8;
    while (size / spacing > ANCHORS_MAX)
        spacing *= 2;
    while ((uint64_t)1 << bits < size / spacing)
        bits++;
    uint32_t *anchors = wcodec_alloc_zeroed(allocator, sizeof *anchors << bits); /* number + 1 */
    if (!anchors)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for %d anchors", 1 << bits);
    for (uint32_t i = 0; i < (size - 8) / spacing; i++)
        anchors[hash_slot(wcodec_load_u64(data + i * spacing), bits)] = i + 1;
    uint64_t windows = size / 4096 < WINDOWS_MAX ? size / 4096 : WINDOWS_MAX;
    for (uint64_t i = 0; i < windows; i++) {
        uint64_t begin = (size - WINDOW) / windows * i / step * step;
        for (uint64_t at = begin; at + 8 <= begin + WINDOW; at += step, looks++) {
            uint64_t x = wcodec_load_u64(data + at), anchor = anchors[hash_slot(x, bits)];
            hits += anchor != 0 && (anchor - 1) * spacing != at && wcodec_load_u64(data + (anchor - 1) * spacing) == x;
        }
    }
    wcodec_free(allocator, anchors);
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
