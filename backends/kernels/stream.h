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
    uint32_t row_part;  /* where its copies to them go */
    uint32_t raw_limit; /* of copies from `raw` */
    const WCODEC_GLOBAL uint8_t *raw;
};

/* Raw bits come after the ring and its first words again. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_raw_begin(const struct wcodec_kind k)
{
    return wcodec_ring_size(k, 0) + wcodec_ring_again(k, 0);
}

/* What is in a slot begins at offset s->load. twice: it is one of the first, whose words are again
 * after the last. */
WCODEC_DEVICE_FUNCTION void wcodec_stream_fill(const struct wcodec_kind k, const uint32_t stream,
                                               struct wcodec_warp *warp,
                                               struct wcodec_ring_stream *s, uint32_t to,
                                               bool twice)
{
    const uint32_t slot = wcodec_ring_slot(k, stream);
    if (slot >= 512 || s->part < slot) {
        WCODEC_UNROLL_ALL
        for (uint32_t i = 0; i < slot; i += 512) {
            wcodec_copy_16(warp, to + i, s->from, s->load + i, s->limit);
            if (twice)
                wcodec_copy_16(warp, to + i + wcodec_ring_size(k, stream), s->from, s->load + i,
                               s->limit);
        }
    }
    s->load += slot;
}

/* Rows of the block that begins with group g; after the last one, whatever is there. */
WCODEC_DEVICE_FUNCTION void wcodec_stream_fill_raw(const struct wcodec_kind k,
                                                   struct wcodec_warp *warp,
                                                   const struct wcodec_ring_stream *s, uint32_t to,
                                                   uint32_t g, uint32_t groups)
{
    const uint32_t part = s->part;
    if (k.low) {
        const uint32_t one = g / 8 * 128 + (k.rows == 1 ? part : part - 128);
        uint32_t from = one; /* of a plane of one bit */
        if (k.rows == 2)
            from = part < 128 ? g / 4 * 128 + part : wcodec_plane_offset(k, 1, groups) + one;
        else if (k.shape == WCODEC_SHAPE_8_2)
            from = g / 4 * 128 + part;
        if (part < 128 * k.rows)
            wcodec_copy_16(warp, to, s->raw, from, s->raw_limit);
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
WCODEC_DEVICE_FUNCTION void wcodec_stream_open(const struct wcodec_kind k, const uint32_t stream,
                                               struct wcodec_warp *warp,
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
    s->next = ring + wcodec_ring_slot(k, stream);
    if (k.rows > 0) {
        s->raw = WCODEC_BUFFER(warp, uint8_t, raw);
        s->raw_limit = WCODEC_COPY_LIMIT(wcodec_raw_size(k, groups));
        s->row = ring + wcodec_raw_begin(k) + wcodec_lane(warp) * 4;
        s->row_part = ring + wcodec_raw_begin(k) + s->part;
    }
    wcodec_sync_warp(warp); /* all have read their words of the tile before */
    WCODEC_UNROLL_ALL
    for (uint32_t i = 0; i < wcodec_ring_size(k, stream); i += wcodec_ring_slot(k, stream))
        wcodec_stream_fill(k, stream, warp, s, ring + i + s->part,
                           i < wcodec_ring_again(k, stream));
    if (k.rows > 0 && groups >= k.groups) /* else there is no block */
        wcodec_stream_fill_raw(k, warp, s, s->row_part, 0, groups);
    wcodec_copy_commit(warp);
}

WCODEC_DEVICE_FUNCTION void wcodec_stream_wait(struct wcodec_warp *warp)
{
    wcodec_copy_wait(warp);
    wcodec_sync_warp(warp);
}

WCODEC_DEVICE_FUNCTION void wcodec_stream_next_slot(const struct wcodec_kind k,
                                                    const uint32_t stream, struct wcodec_warp *warp,
                                                    struct wcodec_ring_stream *s)
{
    const uint32_t slot = wcodec_ring_slot(k, stream), size = wcodec_ring_size(k, stream),
                   left = s->next - slot;
    const bool last = s->next == s->ring + size;
    wcodec_stream_fill(k, stream, warp, s, left + s->part,
                       left - s->ring < wcodec_ring_again(k, stream));
    s->at -= last ? size : 0;
    s->next = last ? s->ring + slot : s->next + slot;
}

/* Has `at` entered the next slot? It is the same for all lanes: said by a vote, so that the
 * compiler knows. */
WCODEC_DEVICE_FUNCTION bool wcodec_stream_enters_slot(struct wcodec_warp *warp,
                                                      const struct wcodec_ring_stream *s)
{
    return !wcodec_all(warp, s->at < s->next);
}

/* `at` has moved on by a block's words at most, and all that was asked for has arrived: ask for
 * what the slots that it has left shall hold next. What the next block can take is there then, and
 * no more than one slot on its way. */
WCODEC_DEVICE_FUNCTION void wcodec_stream_enter_slots(const struct wcodec_kind k,
                                                      struct wcodec_warp *warp,
                                                      struct wcodec_ring_stream *s)
{
    if (!wcodec_stream_enters_slot(warp, s))
        return;
    wcodec_stream_next_slot(k, 0, warp, s);
    if (k.slot == k.block_words)
        return;
    WCODEC_UNROLL_NONE
    while (wcodec_stream_enters_slot(warp, s)) { /* a block that is hard to code */
        wcodec_copy_commit(warp);
        wcodec_stream_wait(warp);
        wcodec_stream_next_slot(k, 0, warp, s);
    }
}

/* Before every block. */
WCODEC_DEVICE_FUNCTION void wcodec_stream_begin_block(const struct wcodec_kind k,
                                                      struct wcodec_warp *warp,
                                                      struct wcodec_ring_stream *s)
{
    wcodec_stream_wait(warp); /* copies have arrived, and all have read what is overwritten now */
    wcodec_stream_enter_slots(k, warp, s);
}

/* When the block's raw bits were read: those of the next one, which begins with group g. */
WCODEC_DEVICE_FUNCTION void wcodec_stream_next_raw(const struct wcodec_kind k,
                                                   struct wcodec_warp *warp,
                                                   const struct wcodec_ring_stream *s, uint32_t g,
                                                   uint32_t groups)
{
    wcodec_sync_warp(warp);
    wcodec_stream_fill_raw(k, warp, s, s->row_part, g, groups);
    wcodec_copy_commit(warp);
}

/* Before a block without raw bits, after wcodec_stream_wait() was called once: what was asked for
 * when `at` entered its slot comes after a block's words, and is waited for when `at` enters the
 * next one only. */
WCODEC_DEVICE_FUNCTION void wcodec_stream_begin_words(const struct wcodec_kind k,
                                                      const uint32_t stream,
                                                      struct wcodec_warp *warp,
                                                      struct wcodec_ring_stream *s)
{
    if (!wcodec_stream_enters_slot(warp, s))
        return;
    do {
        wcodec_stream_wait(warp);
        wcodec_stream_next_slot(k, stream, warp, s);
        wcodec_copy_commit(warp);
    } while (wcodec_ring_slot(k, stream) < wcodec_ring_again(k, stream) &&
             wcodec_stream_enters_slot(warp, s));
}

/* Before a group that is decoded alone, or words without raw bits. */
WCODEC_DEVICE_FUNCTION void wcodec_stream_begin_group(const struct wcodec_kind k,
                                                      struct wcodec_warp *warp,
                                                      struct wcodec_ring_stream *s)
{
    wcodec_stream_wait(warp);
    wcodec_stream_enter_slots(k, warp, s);
    wcodec_copy_commit(warp);
}

/* Bytes of words taken since wcodec_stream_open(), which was at `words`. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_stream_taken(const struct wcodec_kind k,
                                                    const uint32_t stream,
                                                    const struct wcodec_ring_stream *s,
                                                    uint64_t words)
{
    return s->load - s->part - wcodec_ring_size(k, stream) + s->at -
           (s->next - wcodec_ring_slot(k, stream)) - ((uint32_t)words & 31);
}

#endif
