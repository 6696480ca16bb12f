/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "encode/assemble.h"

#include "coding/chunks.h"
#include "core/bytes.h"
#include "core/error.h"
#include "core/memory.h"

int wcodec_zstd_level(int level)
{
    static const int levels[10] = {1, 1, 2, 3, 5, 7, 9, 12, 16, 19};
    const uint64_t known = level > 0 ? (uint64_t)level : 1;
    return levels[known < 9 ? known : 9];
}

enum {
    WORTH = 100,      /* below, one part in so many of a sample must be saved */
    SIZE_MIN = 65536, /* smaller tensors stay as they are: decoding them from tiles is worth more
                         than a few bytes */
    SAMPLE_MIN = 16384,
    SAMPLE_MAX = 1 << 20,
    PIECES_MIN = 4,
    PIECES_MAX = 16,
    PIECE = 1 << 14, /* of larger samples there are more pieces, up to PIECES_MAX */
    TABLES = 128, /* bytes that zstd's tables take in a small sample, about, and spread over all of
                     a tensor hardly count */
    ANCHOR_SPACING = 64,
    ANCHORS_MAX = 4096, /* below 2^NUMBER_BITS; their table stays in the first-level cache */
    WINDOW = 128,
    WINDOWS_MIN = 16,
    WINDOWS_MAX = 1024
};

/* Where the pieces of a tensor lie that are looked at: from the begin of a tile on, so that it is
 * known what they take in tiles. */
struct piece {
    uint64_t first, end; /* tiles */
    uint64_t begin;      /* bytes from here on */
    uint64_t of;         /* bytes of all these tiles */
};

/* Piece i of `pieces` of `length` bytes. */
static struct piece find_piece(uint64_t size, uint64_t length, uint64_t tile_size, unsigned pieces,
                               unsigned i)
{
    const uint64_t tiles = wcodec_div_up_u64(size, tile_size),
                   count = wcodec_div_up_u64(length, tile_size);
    const uint64_t first = (size - length) / (pieces - 1) * i / tile_size,
                   left = size - first * tile_size;
    return (struct piece){first, first + count < tiles ? first + count : tiles,
                          left < length ? size - length : first * tile_size,
                          left < count * tile_size ? left : count * tile_size};
}

static wcodec_status code_sample(wcodec_context *context, int level, const uint8_t *data,
                                 uint64_t size, uint64_t tile_size, struct wcodec_zstd_look *look,
                                 wcodec_error *err)
{
    const uint64_t sample = wcodec_clamp_u64(size / (level < 5 ? 64 : 16), SAMPLE_MIN, SAMPLE_MAX),
                   pieces = wcodec_clamp_u64(sample / PIECE, PIECES_MIN, PIECES_MAX),
                   piece = sample / pieces;
    uint8_t *buffer = wcodec_alloc(&context->allocator, 2 * (size_t)sample);
    if (buffer == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for a sample of %u bytes",
                           (unsigned)sample);
    for (unsigned i = 0; i < pieces; i++)
        memcpy(buffer + i * piece,
               data + find_piece(size, piece, tile_size, (unsigned)pieces, i).begin, (size_t)piece);
    uint32_t check;
    wcodec_status status = wcodec_chunk_encode(&context->zstd, buffer, (size_t)(pieces * piece),
                                               wcodec_zstd_level(level < 7 ? level : 6), NULL,
                                               buffer + sample, &look->coded, &check, err);
    if (status == WCODEC_OK) {
        look->piece = piece;
        look->pieces = (unsigned)pieces;
    }
    wcodec_free(&context->allocator, buffer);
    return status;
}

/* An anchor in its table: its number + 1, and of the hash of its bytes what did not choose the
 * slot, so that the bytes themselves, which are far away, are seldom looked at in vain. */
enum { NUMBER_BITS = 14 };

static uint64_t hash(uint64_t x)
{
    return x * 0x9E3779B97F4A7C15u;
}

static uint32_t tag_of(uint64_t hashed)
{
    return (uint32_t)hashed & ~((1u << NUMBER_BITS) - 1);
}

/* Note where the 8 bytes at evenly spaced anchors are, then look in some windows whether they come
 * again. An estimate of the share of the tensor that repeats follows. */
static wcodec_status repeats(const wcodec_allocator *allocator, const uint8_t *data, uint64_t size,
                             unsigned element_log2, bool *found, wcodec_error *err)
{
    uint64_t spacing = ANCHOR_SPACING, step = (uint64_t)1 << element_log2, hits = 0, looks = 0;
    unsigned bits = 8;
    while (size / spacing > ANCHORS_MAX)
        spacing *= 2;
    while ((uint64_t)1 << bits < size / spacing)
        bits++;
    uint32_t *anchors = wcodec_alloc_zeroed(allocator, sizeof *anchors << bits);
    if (anchors == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for %d anchors", 1 << bits);
    for (uint32_t i = 0; i < (size - 8) / spacing; i++) {
        const uint64_t hashed = hash(wcodec_load_u64(data + i * spacing));
        anchors[hashed >> (64 - bits)] = tag_of(hashed) | (i + 1);
    }
    const uint64_t windows = wcodec_clamp_u64(size / 8192, WINDOWS_MIN, WINDOWS_MAX);
    for (uint64_t i = 0; i < windows; i++) {
        uint64_t begin = (size - WINDOW) / windows * i / step * step;
        for (uint64_t at = begin; at + 8 <= begin + WINDOW; at += step, looks++) {
            const uint64_t x = wcodec_load_u64(data + at), hashed = hash(x);
            const uint32_t entry = anchors[hashed >> (64 - bits)],
                           number = entry & ((1u << NUMBER_BITS) - 1);
            if (entry - number != tag_of(hashed) || number == 0) /* mostly the first */
                continue;
            const uint64_t anchor = (number - 1) * spacing;
            hits += anchor != at && wcodec_load_u64(data + anchor) == x;
        }
    }
    wcodec_free(allocator, anchors);
    /* One of spacing / step places of a stretch is an anchor. */
    *found = hits >= 2 && hits * (spacing / step) * 100 > looks;
    return WCODEC_OK;
}

wcodec_status wcodec_zstd_look(wcodec_context *context, int level, const uint8_t *data,
                               uint64_t size, unsigned element_log2, unsigned tile_log2,
                               struct wcodec_zstd_look *look, wcodec_error *err)
{
    *look = (struct wcodec_zstd_look){0};
    if (size < SIZE_MIN)
        return WCODEC_OK;
    wcodec_status status =
        repeats(&context->allocator, data, size, element_log2, &look->repeats, err);
    if (status != WCODEC_OK || look->repeats)
        return status;
    return code_sample(context, level, data, size, (uint64_t)1 << (tile_log2 + element_log2), look,
                       err);
}

double wcodec_zstd_share(const struct wcodec_zstd_look *look)
{
    return ((double)look->coded - TABLES) / (double)(look->pieces * look->piece);
}

/* What of the payload belongs to tiles [first, end). */
static uint64_t tiles_size(const struct wcodec_tiles *tiles, uint64_t first, uint64_t end)
{
    uint64_t begin[WCODEC_AREAS], stop[WCODEC_AREAS], size = 0;
    wcodec_tiles_extent(tiles, first, end, begin, stop);
    for (unsigned a = 0; a < WCODEC_AREAS; a++)
        size += stop[a] - begin[a];
    return size;
}

wcodec_status wcodec_zstd_may_win(const wcodec_allocator *allocator, int level,
                                  const struct wcodec_zstd_look *look,
                                  const struct wcodec_coded *coded, bool *may, wcodec_error *err)
{
    const struct wcodec_tiling *t = coded->tiling;
    struct wcodec_tiles *tiles;
    *may = look->repeats;
    if (look->piece == 0)
        return WCODEC_OK;
    if (coded->coding == WCODEC_CODING_BLOCKS) {
        /* Tiles hold residuals of other places than the sample's: it has its share of the whole,
         * and some more. */
        const double own = (double)coded->payload_size / (double)coded->blocks->size *
                           (double)(look->pieces * look->piece);
        *may = (double)look->coded - TABLES < own * 1.05;
        return WCODEC_OK;
    }
    wcodec_status status =
        wcodec_tiles_read(t, coded->parts[0].data, coded->payload_size, allocator, &tiles, err);
    if (status != WCODEC_OK)
        return status;
    double own = (double)t->prefix_size / (double)t->size * (double)(look->pieces * look->piece);
    for (unsigned i = 0; i < look->pieces; i++) {
        struct piece p = find_piece(
            t->size, look->piece, (uint64_t)1 << (t->tile_log2 + t->element_log2), look->pieces, i);
        own += (double)tiles_size(tiles, p.first, p.end) / (double)p.of * (double)look->piece;
    }
    *may = (double)look->coded - TABLES < own - (level < WCODEC_LEVEL_SIZE ? own / WORTH : 0);
    wcodec_tiles_free(tiles);
    return WCODEC_OK;
}
