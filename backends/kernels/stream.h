/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* A tile's words and raw bits on their way through shared memory, by asynchronous copies: loads
 * into registers end in moves by the compiler, which wait for them long before the value is needed.
 * What is asked for before one block has arrived before the next. */
#ifndef WCODEC_KERNELS_STREAM_H
#define WCODEC_KERNELS_STREAM_H

#include "backends/kernels/geometry.h"

struct wcodec_ring_stream {
    uint32_t part;  /* 16 * lane */
    uint32_t ring;  /* shared address of the warp's ring */
    uint32_t at;    /* shared address of the next word */
    uint32_t next;  /* where `at` enters the slot after its own */
    uint32_t load;  /* offset from `from` of what the next slot takes: 16 * lane, and a slot's size
                       a slot */
    uint32_t limit; /* of copies from `from` */
    const WCODEC_GLOBAL uint8_t *from;
    uint32_t row;       /* shared address of the lane's words of the block's raw bits */
    uint32_t other;     /* less `row`: where the lane's copies to the other slot of raw bits go */
    uint32_t raw_limit; /* of copies from `raw` */
    const WCODEC_GLOBAL uint8_t *raw;
};

WCODEC_DEVICE_FUNCTION uint32_t wcodec_ring_size(const struct wcodec_kind k)
{
    return WCODEC_RING_SLOTS * k.slot;
}

/* Raw bits come after the ring and its first slot's copy. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_raw_begin(const struct wcodec_kind k)
{
    return wcodec_ring_size(k) + k.slot;
}

/* What is in a slot begins at offset s->load; the first slot's words are there twice. */
WCODEC_DEVICE_FUNCTION void wcodec_stream_fill(const struct wcodec_kind k, struct wcodec_warp *warp,
                                               struct wcodec_ring_stream *s, uint32_t to,
                                               bool first)
{
    WCODEC_UNROLL_ALL
    for (uint32_t i = 0; i < k.slot; i += 512) {
        wcodec_copy_16(warp, to + i, s->from, s->load + i, s->limit);
        if (first)
            wcodec_copy_16(warp, to + i + wcodec_ring_size(k), s->from, s->load + i, s->limit);
    }
    s->load += k.slot;
}

/* Rows of the block that begins with group g; after the last one, whatever is there. */
WCODEC_DEVICE_FUNCTION void wcodec_stream_fill_raw(const struct wcodec_kind k,
                                                   struct wcodec_warp *warp,
                                                   const struct wcodec_ring_stream *s, uint32_t to,
                                                   uint32_t g, uint32_t groups)
{
    const uint32_t part = s->part;
    if (k.low) {
        if (part < 128)
            wcodec_copy_16(warp, to, s->raw, g / (k.shape == WCODEC_SHAPE_8_1 ? 8 : 4) * 128 + part,
                           s->raw_limit);
        else if (k.rows == 2 && part < 256)
            wcodec_copy_16(warp, to, s->raw,
                           wcodec_plane_offset(k, 1, groups) + g / 8 * 128 + part - 128,
                           s->raw_limit);
        return;
    }
    if (k.rows == 2) {
        if (part < 256)
            wcodec_copy_16(warp, to, s->raw, g * k.group_bytes + part, s->raw_limit);
        return;
    }
    WCODEC_UNROLL_ALL
    for (uint32_t i = 0; i < k.first / 4; i++)
        wcodec_copy_16(warp, to + i * 512, s->raw, g * k.group_bytes + i * 512 + part,
                       s->raw_limit);
    if (k.shape == WCODEC_SHAPE_32_24)
        wcodec_copy_16(warp, to + 1024, s->raw, wcodec_plane_offset(k, 1, groups) + g * 128 + part,
                       s->raw_limit);
    if (k.shape == WCODEC_SHAPE_16_11 && part < 256)
        wcodec_copy_16(warp, to + 512, s->raw,
                       (part < 128 ? wcodec_plane_offset(k, 1, groups) + g / 4 * 128
                                   : wcodec_plane_offset(k, 2, groups) + g / 8 * 128 - 128) +
                           part,
                       s->raw_limit);
}

/* All lanes' copies of the tile before must be over, and its words read. words: address of the
 * first of `count`; with none, of anything that may be read. */
WCODEC_DEVICE_FUNCTION void wcodec_stream_open(const struct wcodec_kind k, struct wcodec_warp *warp,
                                               struct wcodec_ring_stream *s, uint32_t ring,
                                               uint64_t words, uint32_t count, uint64_t raw,
                                               uint32_t groups)
{
    const uint32_t skip = (uint32_t)words & 31; /* whole sectors */
    s->part = wcodec_lane(warp) * 16;
    s->ring = ring;
    s->from = WCODEC_BUFFER(warp, uint8_t, words - skip);
    s->limit = WCODEC_COPY_LIMIT(count ? skip + 2 * count : 0);
    s->load = s->part;
    s->at = ring + skip;
    s->next = ring + k.slot;
    if (k.rows > 0) {
        s->raw = WCODEC_BUFFER(warp, uint8_t, raw);
        s->raw_limit = WCODEC_COPY_LIMIT(wcodec_raw_size(k, groups));
        s->row = ring + wcodec_raw_begin(k) + wcodec_lane(warp) * 4;
        s->other = 2 * (ring + wcodec_raw_begin(k)) + k.rows * 128 + 20 * wcodec_lane(warp);
    }
    wcodec_sync_warp(warp); /* all have read their words of the tile before */
    WCODEC_UNROLL_ALL
    for (uint32_t i = 0; i < WCODEC_RING_SLOTS; i++)
        wcodec_stream_fill(k, warp, s, ring + i * k.slot + s->part, i == 0);
    if (k.rows > 0 && groups >= k.groups) /* else there is no block */
        wcodec_stream_fill_raw(k, warp, s, ring + wcodec_raw_begin(k) + s->part, 0, groups);
    wcodec_copy_commit(warp);
}

WCODEC_DEVICE_FUNCTION void wcodec_stream_wait(struct wcodec_warp *warp)
{
    wcodec_copy_wait(warp);
    wcodec_sync_warp(warp);
}

WCODEC_DEVICE_FUNCTION void wcodec_stream_next_slot(const struct wcodec_kind k,
                                                    struct wcodec_warp *warp,
                                                    struct wcodec_ring_stream *s)
{
    const uint32_t left = s->next - k.slot;
    const bool last = s->next == s->ring + wcodec_ring_size(k);
    wcodec_stream_fill(k, warp, s, left + s->part, left == s->ring);
    s->at -= last ? wcodec_ring_size(k) : 0;
    s->next = last ? s->ring + k.slot : s->next + k.slot;
}

/* Whether `at` has entered the next slot is the same for all; said by a vote, so that the compiler
 * knows. */
WCODEC_DEVICE_FUNCTION void wcodec_stream_enter_slot(const struct wcodec_kind k,
                                                     struct wcodec_warp *warp,
                                                     struct wcodec_ring_stream *s)
{
    if (!wcodec_all(warp, s->at < s->next))
        wcodec_stream_next_slot(k, warp, s);
}

/* Before every block, of which g is the first group. `at` has moved by a slot's size at most since
 * the last time: the slot before its own is free. */
WCODEC_DEVICE_FUNCTION void wcodec_stream_begin_block(const struct wcodec_kind k,
                                                      struct wcodec_warp *warp,
                                                      struct wcodec_ring_stream *s, uint32_t g,
                                                      uint32_t groups)
{
    wcodec_stream_wait(warp); /* copies have arrived, and all have read what is overwritten now */
    wcodec_stream_enter_slot(k, warp, s);
    if (k.rows > 0)
        wcodec_stream_fill_raw(k, warp, s, s->other - s->row, g + k.groups, groups);
    wcodec_copy_commit(warp);
}

/* The same of a block without raw bits, after wcodec_stream_wait() was called once: what was asked
 * for when `at` entered its slot is two slots ahead, and is waited for when it enters the next one
 * only. */
WCODEC_DEVICE_FUNCTION void wcodec_stream_begin_words(const struct wcodec_kind k,
                                                      struct wcodec_warp *warp,
                                                      struct wcodec_ring_stream *s)
{
    if (wcodec_all(warp, s->at < s->next))
        return;
    wcodec_stream_wait(warp);
    wcodec_stream_next_slot(k, warp, s);
    wcodec_copy_commit(warp);
}

/* Before a group that is decoded alone, or words without raw bits. */
WCODEC_DEVICE_FUNCTION void wcodec_stream_begin_group(const struct wcodec_kind k,
                                                      struct wcodec_warp *warp,
                                                      struct wcodec_ring_stream *s)
{
    wcodec_stream_wait(warp);
    wcodec_stream_enter_slot(k, warp, s);
    wcodec_copy_commit(warp);
}

/* After a block: the other slot of raw bits. `other` is the sum of where one slot's copies go (16
 * bytes a lane) and the other's words are (4 bytes a lane): the lane's part is 12 bytes of it. */
WCODEC_DEVICE_FUNCTION void wcodec_stream_end_block(const struct wcodec_kind k,
                                                    struct wcodec_ring_stream *s)
{
    if (k.rows > 0)
        s->row = s->other - s->row - s->part / 4 * 3;
}

/* Bytes of words taken since wcodec_stream_open(), which was at `words`. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_stream_taken(const struct wcodec_kind k,
                                                    const struct wcodec_ring_stream *s,
                                                    uint64_t words)
{
    return s->load - s->part - WCODEC_RING_SLOTS * k.slot + s->at - (s->next - k.slot) -
           ((uint32_t)words & 31);
}

#endif
