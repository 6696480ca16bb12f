/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Streams of sparse tiles, written from what is known to differ (delta_find.h), a tile by a warp:
 * the reference is lib/coding/delta_encode.c. Classes are counted, from which the host makes both
 * codes; streams are measured by these, which says where each begins; then they are written, and
 * each element is decoded from where it has to be. Their checks: delta_checks.h. */
#ifndef WCODEC_KERNELS_DELTA_STREAMS_H
#define WCODEC_KERNELS_DELTA_STREAMS_H

#include "backends/kernels/delta_find.h"

#ifdef WCODEC_SIMT
/* An element that differs, or what is after the last one. */
struct wcodec_stream_change {
    uint32_t gap;            /* elements before it that do not, and 1; 0: nothing is coded */
    uint64_t zigzag, by_xor; /* what it differs by; 0: what is after the last one has none */
    uint64_t now, was;       /* the element, and the base's */
    bool right;              /* in its place, and different */
};

struct wcodec_stream_tile {
    uint32_t count; /* elements that differ; 0: it has no stream */
    uint32_t size;  /* elements */
    uint64_t slot;
};

WCODEC_DEVICE_FUNCTION WCODEC_GLOBAL struct wcodec_changed_tile *
wcodec_stream_counts(const struct wcodec_changes_launch *l, uint32_t tile)
{
    return (WCODEC_GLOBAL struct wcodec_changed_tile *)l->counts + tile;
}

WCODEC_DEVICE_FUNCTION WCODEC_GLOBAL struct wcodec_coded_tile *
wcodec_stream_coded(const struct wcodec_changes_launch *l, uint32_t tile)
{
    return (WCODEC_GLOBAL struct wcodec_coded_tile *)l->coded + tile;
}

/* Where its stream begins. False: there is no room for it. */
WCODEC_DEVICE_FUNCTION bool wcodec_stream_place(const struct wcodec_changes_launch *l,
                                                uint32_t tile, uint64_t *first)
{
    *first = ((const WCODEC_GLOBAL uint64_t *)l->firsts)[tile];
    return *first + wcodec_stream_coded(l, tile)->size <= 4 * l->stream_words;
}

WCODEC_DEVICE_FUNCTION struct wcodec_stream_tile
wcodec_stream_tile_of(const struct wcodec_changes_launch *l, uint32_t tile)
{
    const uint64_t left = l->count - ((uint64_t)tile << l->tile_log2);
    const uint32_t most = 1u << l->tile_log2, found = wcodec_stream_counts(l, tile)->count;
    const struct wcodec_stream_tile t = {found <= l->slot ? found : 0,
                                         left < most ? (uint32_t)left : most,
                                         l->slots + (uint64_t)l->slot_size * tile};
    return t;
}

/* Number i of the tile's; number `count` is what is after the last one. */
WCODEC_DEVICE_FUNCTION struct wcodec_stream_change
wcodec_stream_change_at(const struct wcodec_changes_launch *l, const struct wcodec_stream_tile *t,
                        uint32_t i)
{
    const WCODEC_GLOBAL uint16_t *positions = (const WCODEC_GLOBAL uint16_t *)t->slot;
    const uint32_t log2 = l->element_log2, width = 8u << log2;
    const uint64_t values = t->slot + 2 * (uint64_t)l->slot, mask = ~(uint64_t)0 >> (64 - width);
    struct wcodec_stream_change c = {0, 0, 0, 0, 0, true};
    if (i > t->count)
        return c;
    const uint32_t begin = i == 0 ? 0 : positions[i - 1] + 1u,
                   at = i < t->count ? positions[i] : t->size;
    c.right = begin <= at && at <= t->size;
    c.gap = c.right ? at - begin + 1 : 1;
    if (i == t->count) {
        c.gap = at == begin ? 0 : c.gap;
        return c;
    }
    c.now = wcodec_patch_load(values + ((uint64_t)i << log2), log2);
    c.was = wcodec_patch_load(values + ((uint64_t)(l->slot + i) << log2), log2);
    const uint64_t difference = (c.now - c.was) & mask, sign = difference >> (width - 1) & 1;
    c.zigzag = (difference << 1 & mask) ^ (sign != 0 ? mask : 0);
    c.by_xor = c.now ^ c.was;
    c.right = c.right && at < t->size && c.by_xor != 0;
    return c;
}

/* The class of a number, of which the first `direct` have one each; below as in
 * wcodec_patch_number(). */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_stream_class(uint64_t number, const uint32_t direct,
                                                    const uint32_t below)
{
    if (number <= direct)
        return (uint32_t)number - 1;
    const uint32_t bits = wcodec_changes_length(number);
    return direct + 2 * (bits - 2 - below) + (uint32_t)(number >> (bits - 2) & 1);
}

WCODEC_DEVICE_FUNCTION void wcodec_stream_count(struct wcodec_warp *warp, uint32_t first,
                                                uint32_t class_of)
{
    wcodec_shared_add(warp, wcodec_shared_base(warp) + 4 * (first + class_of), 1);
}

/* Each work-group counts in shared memory. */
WCODEC_DEVICE_FUNCTION void wcodec_stream_tally_kernel(struct wcodec_warp *warp,
                                                       const struct wcodec_changes_launch *l)
{
    const uint32_t tile = wcodec_group(warp) * wcodec_warps(warp) + wcodec_warp_number(warp),
                   shared = wcodec_shared_base(warp);
    for (uint32_t i = wcodec_thread(warp); i < WCODEC_CHANGES_TALLY; i += wcodec_threads(warp))
        wcodec_put_u32(warp, shared + 4 * i, 0);
    wcodec_sync_group(warp);
    if (tile < l->tiles) {
        const struct wcodec_stream_tile t = wcodec_stream_tile_of(l, tile);
        if (wcodec_is_first(warp) && wcodec_stream_counts(l, tile)->count > l->slot)
            wcodec_atomic_add((WCODEC_GLOBAL uint32_t *)l->tally + WCODEC_CHANGES_FULL, 1);
        for (uint32_t i = wcodec_lane(warp); t.count != 0 && i <= t.count; i += 32) {
            const struct wcodec_stream_change c = wcodec_stream_change_at(l, &t, i);
            if (c.gap == 0)
                continue;
            wcodec_stream_count(warp, 0, wcodec_stream_class(c.gap, 1, 0));
            if (i == t.count)
                continue;
            wcodec_stream_count(warp, WCODEC_CHANGES_ZIGZAG, wcodec_stream_class(c.zigzag, 16, 3));
            wcodec_stream_count(warp, WCODEC_CHANGES_XOR, wcodec_stream_class(c.by_xor, 16, 3));
        }
    }
    wcodec_sync_group(warp);
    for (uint32_t i = wcodec_thread(warp); i < WCODEC_CHANGES_TALLY; i += wcodec_threads(warp)) {
        const uint32_t found = wcodec_shared_u32(warp, shared + 4 * i);
        if (found != 0)
            wcodec_atomic_add((WCODEC_GLOBAL uint32_t *)l->tally + i, found);
    }
}

/* A word, and the bits below the two that its class says. */
struct wcodec_stream_number {
    uint32_t word, length;
    uint32_t below;
    uint64_t rest;
};

WCODEC_DEVICE_FUNCTION struct wcodec_stream_number
wcodec_stream_number_of(const struct wcodec_changes_launch *l, const uint32_t first,
                        uint64_t number, const uint32_t direct, const uint32_t below)
{
    struct wcodec_stream_number n = {0, 0, 0, 0};
    if (number == 0)
        return n;
    const uint32_t code = ((const WCODEC_GLOBAL uint32_t *)
                               l->words)[first + wcodec_stream_class(number, direct, below)];
    n.word = code & 0xffff;
    n.length = code >> 16;
    n.below = number > direct ? wcodec_changes_length(number) - 2 : 0;
    n.rest = number & (((uint64_t)1 << n.below) - 1);
    return n;
}

/* What a lane writes of an element. */
struct wcodec_stream_element {
    struct wcodec_stream_number gap, value;
    uint32_t bits;
};

WCODEC_DEVICE_FUNCTION struct wcodec_stream_element
wcodec_stream_element_of(const struct wcodec_changes_launch *l,
                         const struct wcodec_stream_change *c)
{
    struct wcodec_stream_element e;
    e.gap = wcodec_stream_number_of(l, 0, c->gap, 1, 0);
    e.value = wcodec_stream_number_of(l, WCODEC_CHANGES_GAPS, l->xor_values ? c->by_xor : c->zigzag,
                                      16, 3);
    e.bits = e.gap.length + e.gap.below + e.value.length + e.value.below;
    return e;
}

/* Bytes of streams. */
WCODEC_DEVICE_FUNCTION void wcodec_stream_sizes_kernel(struct wcodec_warp *warp,
                                                       const struct wcodec_changes_launch *l)
{
    const uint32_t tile = wcodec_group(warp) * wcodec_warps(warp) + wcodec_warp_number(warp);
    if (tile >= l->tiles)
        return;
    const struct wcodec_stream_tile t = wcodec_stream_tile_of(l, tile);
    uint32_t bits = 0;
    for (uint32_t i = wcodec_lane(warp); t.count != 0 && i <= t.count; i += 32) {
        const struct wcodec_stream_change c = wcodec_stream_change_at(l, &t, i);
        bits += wcodec_stream_element_of(l, &c).bits;
    }
    bits = wcodec_add_lanes(warp, bits);
    if (wcodec_is_first(warp))
        wcodec_stream_coded(l, tile)->size = (bits + 7) / 8;
}

/* Where streams begin, by one work-group, of which a lane has neighbours. */
WCODEC_DEVICE_FUNCTION void wcodec_stream_places_kernel(struct wcodec_warp *warp,
                                                        const struct wcodec_changes_launch *l)
{
    const uint32_t shared = wcodec_shared_base(warp), own = wcodec_warp_number(warp),
                   lane = wcodec_lane(warp), threads = wcodec_threads(warp),
                   share = (l->tiles + threads - 1) / threads, from = wcodec_thread(warp) * share,
                   begin = from < l->tiles ? from : l->tiles,
                   end = l->tiles - begin < share ? l->tiles : begin + share;
    uint64_t sum = 0, before = 0;
    WCODEC_UNROLL_MANY
    for (uint32_t i = begin; i < end; i++)
        sum += wcodec_stream_coded(l, i)->size;
    const uint64_t lanes_own = sum;
    for (uint32_t step = 1; step < 32; step *= 2) {
        const uint64_t other = wcodec_shuffle_long(warp, sum, (lane - step) & 31);
        sum += lane >= step ? other : 0;
    }
    if (lane == 31) {
        wcodec_put_u32(warp, shared + 8 * own, (uint32_t)sum);
        wcodec_put_u32(warp, shared + 8 * own + 4, (uint32_t)(sum >> 32));
    }
    wcodec_sync_group(warp);
    for (uint32_t i = 0; i < own; i++)
        before += (uint64_t)wcodec_shared_u32(warp, shared + 8 * i + 4) << 32 |
                  wcodec_shared_u32(warp, shared + 8 * i);
    uint64_t place = before + sum - lanes_own;
    WCODEC_UNROLL_MANY
    for (uint32_t i = begin; i < end; i++) {
        ((WCODEC_GLOBAL uint64_t *)l->firsts)[i] = place;
        place += wcodec_stream_coded(l, i)->size;
    }
    if (wcodec_thread(warp) == threads - 1) {
        WCODEC_GLOBAL struct wcodec_coded_total *total =
            (WCODEC_GLOBAL struct wcodec_coded_total *)l->total;
        total->size = place;
        total->wrong = 0;
        total->unused = 0;
    }
}

/* The sum of what the lanes before have; of all. Collective. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_stream_before(struct wcodec_warp *warp, uint32_t own,
                                                     uint32_t *all)
{
    const uint32_t lane = wcodec_lane(warp);
    uint32_t sum = own;
    WCODEC_UNROLL_ALL
    for (uint32_t step = 1; step < 32; step *= 2) {
        const uint32_t other = wcodec_shuffle(warp, sum, (lane - step) & 31);
        sum += lane >= step ? other : 0;
    }
    *all = wcodec_shuffle(warp, sum, 31);
    return sum - own;
}

/* At most 32 bits to the warp's words, from bit `at` of them on; others put theirs beside them. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_stream_put(struct wcodec_warp *warp, uint32_t words,
                                                  uint32_t at, uint32_t v, uint32_t count)
{
    const uint32_t to = words + 4 * (at >> 5);
    const uint64_t wide = (uint64_t)v << (at & 31);
    if ((uint32_t)wide != 0)
        wcodec_shared_add(warp, to, (uint32_t)wide);
    if (wide >> 32 != 0)
        wcodec_shared_add(warp, to + 4, (uint32_t)(wide >> 32));
    return at + count;
}

WCODEC_DEVICE_FUNCTION void wcodec_stream_put_number(struct wcodec_warp *warp, uint32_t words,
                                                     uint32_t at,
                                                     const struct wcodec_stream_number *n)
{
    const uint32_t low = n->below < 32 ? n->below : 32;
    at = wcodec_stream_put(warp, words, at, n->word, n->length);
    at = wcodec_stream_put(warp, words, at, (uint32_t)n->rest, low);
    if (n->below > 32)
        wcodec_stream_put(warp, words, at, (uint32_t)(n->rest >> 32), n->below - 32);
}

/* A tile's stream, by words in shared memory. Its first word and its last one are shared with the
 * streams beside it: bits are added there. */
WCODEC_DEVICE_FUNCTION void wcodec_stream_write(struct wcodec_warp *warp,
                                                const struct wcodec_changes_launch *l,
                                                const struct wcodec_stream_tile *t, uint64_t first)
{
    const uint32_t lane = wcodec_lane(warp),
                   words = wcodec_shared_base(warp) +
                           4 * WCODEC_CHANGES_STAGE * wcodec_warp_number(warp);
    const uint64_t room = l->stream_words - (first >> 2);
    WCODEC_GLOBAL uint32_t *to = (WCODEC_GLOBAL uint32_t *)l->streams + (first >> 2);
    uint32_t held = 0, filled = 8 * ((uint32_t)first & 3), written = 0; /* filled: bits of `held` */
    for (uint32_t begin = 0; begin <= t->count; begin += 32) {
        const struct wcodec_stream_change c = wcodec_stream_change_at(l, t, begin + lane);
        const struct wcodec_stream_element e = wcodec_stream_element_of(l, &c);
        uint32_t all;
        const uint32_t at = filled + wcodec_stream_before(warp, e.bits, &all),
                       whole = (filled + all) >> 5;
        for (uint32_t i = lane; i < WCODEC_CHANGES_STAGE; i += 32)
            wcodec_put_u32(warp, words + 4 * i, i == 0 ? held : 0);
        wcodec_sync_warp(warp);
        wcodec_stream_put_number(warp, words, at, &e.gap);
        wcodec_stream_put_number(warp, words, at + e.gap.length + e.gap.below, &e.value);
        wcodec_sync_warp(warp);
        const bool last = begin + 32 > t->count;
        const uint32_t ready = whole + (last && ((filled + all) & 31) != 0 ? 1 : 0);
        for (uint32_t i = lane; i < ready; i += 32) {
            const uint32_t v = wcodec_shared_u32(warp, words + 4 * i);
            if (written + i >= room) /* its size is wrong */
                continue;
            if (written + i == 0 || i == whole)
                wcodec_atomic_add(to + written + i, v);
            else
                to[written + i] = v;
        }
        held = wcodec_shared_u32(warp, words + 4 * whole);
        wcodec_sync_warp(warp);
        written += whole;
        filled = (filled + all) & 31;
    }
}

WCODEC_DEVICE_FUNCTION void wcodec_stream_kernel(struct wcodec_warp *warp,
                                                 const struct wcodec_changes_launch *l)
{
    const uint32_t tile = wcodec_group(warp) * wcodec_warps(warp) + wcodec_warp_number(warp);
    if (tile >= l->tiles)
        return;
    const struct wcodec_stream_tile t = wcodec_stream_tile_of(l, tile);
    uint64_t first;
    if (t.count != 0 && wcodec_stream_place(l, tile, &first))
        wcodec_stream_write(warp, l, &t, first);
}

/* Does an element come of the stream at this bit, and the next one begin where it does? */
WCODEC_DEVICE_FUNCTION bool wcodec_stream_decodes(const struct wcodec_changes_launch *l,
                                                  const struct wcodec_stream_change *c,
                                                  const WCODEC_GLOBAL uint32_t *words,
                                                  uint32_t last, uint32_t at, uint32_t bits)
{
    const WCODEC_GLOBAL uint16_t *gaps = (const WCODEC_GLOBAL uint16_t *)l->codes,
                                 *values = gaps + WCODEC_PATCH_CODE;
    const uint64_t mask = ~(uint64_t)0 >> (64 - (8u << l->element_log2));
    struct wcodec_patch_bits b;
    bool good = c->right;
    if (c->gap == 0)
        return good;
    wcodec_patch_begin(&b, words, last, at);
    wcodec_patch_fill(&b);
    const uint32_t gap_code = gaps[(uint32_t)b.buffer & ((1u << l->gap_bits) - 1)];
    good = wcodec_patch_number(gap_code, 1, 0, &b) == c->gap && good;
    if (c->by_xor != 0) {
        wcodec_patch_fill(&b);
        const uint32_t value_code = values[(uint32_t)b.buffer & ((1u << l->value_bits) - 1)];
        const uint64_t v = wcodec_patch_number(value_code, 16, 3, &b),
                       now = l->xor_values ? c->was ^ v : c->was + (v >> 1 ^ (0 - (v & 1)));
        good = v <= mask && (now & mask) == c->now && good;
    }
    return good && 32 * b.next - b.filled == at + bits;
}

/* Is a tile's stream, of `size` bytes, one that makes of the base what the tile is? By induction:
 * every element is decoded from where the one before it ends. */
WCODEC_DEVICE_FUNCTION bool wcodec_stream_proves(struct wcodec_warp *warp,
                                                 const struct wcodec_changes_launch *l,
                                                 const struct wcodec_stream_tile *t, uint64_t first,
                                                 uint32_t size)
{
    const uint64_t left = l->stream_words - 1 - (first >> 2);
    const WCODEC_GLOBAL uint32_t *words = (const WCODEC_GLOBAL uint32_t *)l->streams + (first >> 2);
    const uint32_t begin = 8 * ((uint32_t)first & 3),
                   last = left < 0xffffffffu ? (uint32_t)left : 0xffffffffu;
    uint32_t at = begin;
    bool good = true;
    for (uint32_t i = 0; i <= t->count; i += 32) {
        const struct wcodec_stream_change c = wcodec_stream_change_at(l, t, i + wcodec_lane(warp));
        const uint32_t bits = wcodec_stream_element_of(l, &c).bits;
        uint32_t all;
        const uint32_t own = at + wcodec_stream_before(warp, bits, &all);
        good = wcodec_stream_decodes(l, &c, words, last, own, bits) && good;
        at += all;
    }
    /* Zeros up to a whole byte. */
    const uint32_t rest = (0 - at) & 7;
    return good && (at - begin + 7) / 8 == size &&
           (rest == 0 || (words[at >> 5] >> (at & 31) & ((1u << rest) - 1)) == 0);
}

WCODEC_DEVICE_FUNCTION void wcodec_stream_proof_kernel(struct wcodec_warp *warp,
                                                       const struct wcodec_changes_launch *l)
{
    const uint32_t tile = wcodec_group(warp) * wcodec_warps(warp) + wcodec_warp_number(warp);
    if (tile >= l->tiles)
        return;
    const struct wcodec_stream_tile t = wcodec_stream_tile_of(l, tile);
    uint64_t first;
    if (t.count == 0)
        return;
    const bool good = wcodec_stream_place(l, tile, &first) &&
                      wcodec_stream_proves(warp, l, &t, first, wcodec_stream_coded(l, tile)->size);
    if (!wcodec_all(warp, good) && wcodec_is_first(warp))
        wcodec_atomic_add(&((WCODEC_GLOBAL struct wcodec_coded_total *)l->total)->wrong, 1);
}
#endif

#endif
