/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Weights that a message changes where they are: sparse tiles of a delta, applied, and found. The
 * reference is lib/coding/delta.c, wcodec_delta_patch(). */
#ifndef WCODEC_KERNELS_DELTA_H
#define WCODEC_KERNELS_DELTA_H

#include "backends/kernels/leaves.h"

#ifdef WCODEC_SIMT
/* Bits of a stream. What is after all streams is no matter: a stream is over then. A word is asked
 * for when the one before it is taken, so that a lane does not wait for memory. */
struct wcodec_patch_bits {
    const WCODEC_GLOBAL uint32_t *words;
    uint32_t next, last; /* words; `ahead` is the next one */
    uint32_t ahead;
    uint32_t filled;
    uint64_t buffer;
};

/* At least 33 bits are at hand then. */
WCODEC_DEVICE_FUNCTION void wcodec_patch_fill(struct wcodec_patch_bits *b)
{
    if (b->filled <= 32) {
        b->buffer |= (uint64_t)b->ahead << b->filled;
        b->filled += 32;
        b->next++;
        b->ahead = b->words[b->next < b->last ? b->next : b->last];
    }
}

/* Bits from number `bit` of a word on; `last`: the last word that there is. */
WCODEC_DEVICE_FUNCTION void wcodec_patch_begin(struct wcodec_patch_bits *b,
                                               const WCODEC_GLOBAL uint32_t *words, uint32_t last,
                                               uint32_t bit)
{
    b->words = words;
    b->last = last;
    b->next = bit >> 5;
    b->ahead = words[b->next < last ? b->next : last];
    b->buffer = 0;
    b->filled = 0;
    wcodec_patch_fill(b);
    b->buffer >>= bit & 31;
    b->filled -= bit & 31;
}

WCODEC_DEVICE_FUNCTION void wcodec_patch_drop(struct wcodec_patch_bits *b, uint32_t count)
{
    b->buffer >>= count;
    b->filled -= count;
}

/* At most 32. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_patch_take(struct wcodec_patch_bits *b, uint32_t count)
{
    wcodec_patch_fill(b);
    const uint32_t v = (uint32_t)(b->buffer & (((uint64_t)1 << count) - 1));
    wcodec_patch_drop(b, count);
    return v;
}

/* A number from 1 on, of `direct` classes of one number each; below: bits of the first octave
 * after these. `found`: what its code has for the next bits, of which 33 are at hand. */
WCODEC_DEVICE_FUNCTION uint64_t wcodec_patch_number(const uint32_t found, const uint32_t direct,
                                                    const uint32_t below,
                                                    struct wcodec_patch_bits *b)
{
    const uint32_t class_of = found >> 4, length = found & 15;
    const bool alone = class_of < direct;
    const uint32_t more = alone ? 0 : (class_of - direct) / 2 + below;
    uint64_t v;
    if (length + more <= 32) {
        v = (uint32_t)(b->buffer >> length) & (((uint64_t)1 << more) - 1);
        wcodec_patch_drop(b, length + more);
    } else {
        wcodec_patch_drop(b, length);
        v = wcodec_patch_take(b, more < 32 ? more : 32);
        if (more > 32)
            v |= (uint64_t)wcodec_patch_take(b, more - 32) << 32;
    }
    return alone ? class_of + 1 : (uint64_t)(2 + ((class_of - direct) & 1)) << (more & 63) | v;
}

WCODEC_DEVICE_FUNCTION uint64_t wcodec_patch_load(uint64_t address, uint32_t log2)
{
    return log2 == 0   ? *(const WCODEC_GLOBAL uint8_t *)address
           : log2 == 1 ? *(const WCODEC_GLOBAL uint16_t *)address
           : log2 == 2 ? *(const WCODEC_GLOBAL uint32_t *)address
                       : *(const WCODEC_GLOBAL uint64_t *)address;
}

WCODEC_DEVICE_FUNCTION void wcodec_patch_store(uint64_t address, uint32_t log2, uint64_t v)
{
    if (log2 == 0)
        *(WCODEC_GLOBAL uint8_t *)address = (uint8_t)v;
    else if (log2 == 1)
        *(WCODEC_GLOBAL uint16_t *)address = (uint16_t)v;
    else if (log2 == 2)
        *(WCODEC_GLOBAL uint32_t *)address = (uint32_t)v;
    else
        *(WCODEC_GLOBAL uint64_t *)address = v;
}

/* Elements that are read together: while the next ones are decoded. */
#define WCODEC_PATCH_AHEAD 6

struct wcodec_patch_batch {
    uint32_t places[WCODEC_PATCH_AHEAD]; /* `count` of the tile: none */
    uint64_t changes[WCODEC_PATCH_AHEAD], held[WCODEC_PATCH_AHEAD];
};

/* Where a lane is in its part of a tile. */
struct wcodec_patch_walk {
    struct wcodec_patch_bits bits;
    uint32_t end;       /* bit */
    uint32_t at, count; /* elements */
    bool good, over;    /* over: of the tile */
};

WCODEC_DEVICE_FUNCTION uint32_t wcodec_patch_bit(const struct wcodec_patch_bits *b)
{
    return 32 * b->next - b->filled;
}

/* The next gap, which is a number less 1, and the next value. */
WCODEC_DEVICE_FUNCTION uint64_t wcodec_patch_gap(struct wcodec_warp *warp,
                                                 const struct wcodec_patch_launch *l,
                                                 struct wcodec_patch_bits *b)
{
    wcodec_patch_fill(b);
    const uint32_t at = (uint32_t)b->buffer & ((1u << l->gap_bits) - 1);
    return wcodec_patch_number(wcodec_shared_u16(warp, wcodec_shared_base(warp) + 2 * at), 1, 0,
                               b) -
           1;
}

WCODEC_DEVICE_FUNCTION uint64_t wcodec_patch_value(struct wcodec_warp *warp,
                                                   const struct wcodec_patch_launch *l,
                                                   struct wcodec_patch_bits *b)
{
    wcodec_patch_fill(b);
    const uint32_t at = WCODEC_PATCH_CODE + ((uint32_t)b->buffer & ((1u << l->value_bits) - 1));
    return wcodec_patch_number(wcodec_shared_u16(warp, wcodec_shared_base(warp) + 2 * at), 16, 3,
                               b);
}

WCODEC_DEVICE_FUNCTION void wcodec_patch_decode(struct wcodec_warp *warp,
                                                const struct wcodec_patch_launch *l,
                                                const uint64_t mask, struct wcodec_patch_walk *w,
                                                struct wcodec_patch_batch *batch)
{
    WCODEC_UNROLL_ALL
    for (uint32_t k = 0; k < WCODEC_PATCH_AHEAD; k++) {
        batch->places[k] = w->count;
        batch->changes[k] = 0;
        if (w->over || wcodec_patch_bit(&w->bits) >= w->end)
            continue;
        const uint64_t gap = wcodec_patch_gap(warp, l, &w->bits);
        w->good = gap <= w->count - w->at;
        w->at += w->good ? (uint32_t)gap : 0;
        if (w->good && w->at < w->count) {
            batch->changes[k] = wcodec_patch_value(warp, l, &w->bits);
            w->good = batch->changes[k] <= mask;
            batch->places[k] = w->good ? w->at : w->count;
            w->at++;
        }
        w->over = !w->good || w->at >= w->count;
    }
}

WCODEC_DEVICE_FUNCTION void wcodec_patch_read(const uint32_t log2, uint64_t first, uint32_t count,
                                              struct wcodec_patch_batch *batch)
{
    WCODEC_UNROLL_ALL
    for (uint32_t k = 0; k < WCODEC_PATCH_AHEAD; k++)
        batch->held[k] = batch->places[k] < count
                             ? wcodec_patch_load(first + ((uint64_t)batch->places[k] << log2), log2)
                             : 0;
}

WCODEC_DEVICE_FUNCTION void wcodec_patch_write(const uint32_t log2, bool xor_values, uint64_t first,
                                               uint32_t count,
                                               const struct wcodec_patch_batch *batch)
{
    WCODEC_UNROLL_ALL
    for (uint32_t k = 0; k < WCODEC_PATCH_AHEAD; k++) {
        const uint64_t v = batch->changes[k], held = batch->held[k];
        if (batch->places[k] < count)
            wcodec_patch_store(first + ((uint64_t)batch->places[k] << log2), log2,
                               xor_values ? held ^ v : held + (v >> 1 ^ (0 - (v & 1))));
    }
}

/* A part of a tile's stream: the bits from `begin` on before `end`, in which elements begin. */
struct wcodec_patch_part {
    const WCODEC_GLOBAL uint32_t *words;
    uint32_t last; /* word */
    uint32_t begin, end;
};

/* Pass over a part's elements: where the next part's begin, and how many of the tile there are up
 * to that, or `most`. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_patch_skim(struct wcodec_warp *warp,
                                                  const struct wcodec_patch_launch *l,
                                                  const struct wcodec_patch_part *p, uint32_t most,
                                                  uint32_t *passed)
{
    struct wcodec_patch_bits b;
    uint32_t at = 0;
    wcodec_patch_begin(&b, p->words, p->last, p->begin);
    while (wcodec_patch_bit(&b) < p->end && at < most) {
        const uint64_t gap = wcodec_patch_gap(warp, l, &b);
        (void)wcodec_patch_value(warp, l, &b);
        at = gap < most - at ? at + (uint32_t)gap + 1 : most;
    }
    *passed = at;
    return wcodec_patch_bit(&b);
}

/* Where a lane's part begins, and the number of its first element. A lane begins to decode anywhere
 * and comes upon the beginning of an element after some: parts are decoded again from where the
 * ones before them end, until that changes nothing, most often once. Collective. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_patch_divide(struct wcodec_warp *warp,
                                                    const struct wcodec_patch_launch *l,
                                                    struct wcodec_patch_part *p, uint32_t parts,
                                                    uint32_t most)
{
    const uint32_t lane = wcodec_lane(warp);
    const bool has_part = lane < parts;
    uint32_t passed = 0, first = 0, end = 0;
    bool again = has_part && parts > 1;
    while (wcodec_any(warp, again)) {
        if (again)
            end = wcodec_patch_skim(warp, l, p, most, &passed);
        const uint32_t before = wcodec_shuffle(warp, end, (lane - 1) & 31);
        again = has_part && lane != 0 && before != p->begin;
        if (again)
            p->begin = before;
    }
    for (uint32_t step = 1, sum = passed; step < 32; step *= 2) {
        const uint32_t other = wcodec_shuffle(warp, sum, (lane - step) & 31);
        sum += lane >= step ? other : 0;
        first = sum - passed;
    }
    return first;
}

/* Elements from number `first` on. Returns where the lane is then. */
WCODEC_DEVICE_FUNCTION struct wcodec_patch_walk
wcodec_patch_apply(const uint32_t log2, struct wcodec_warp *warp,
                   const struct wcodec_patch_launch *l, const struct wcodec_patch_part *p,
                   uint64_t elements, uint32_t count, uint32_t first)
{
    const uint64_t mask = ~(uint64_t)0 >> (64 - (8u << log2));
    struct wcodec_patch_batch batch;
    struct wcodec_patch_walk w;
    w.end = p->end;
    w.at = first;
    w.count = count;
    w.good = true;
    w.over = false;
    wcodec_patch_begin(&w.bits, p->words, p->last, p->begin);
    WCODEC_UNROLL_ALL
    for (uint32_t k = 0; k < WCODEC_PATCH_AHEAD; k++)
        batch.places[k] = count;
    while (!w.over && wcodec_patch_bit(&w.bits) < w.end) {
        struct wcodec_patch_batch next;
        wcodec_patch_decode(warp, l, mask, &w, &next);
        wcodec_patch_write(log2, l->xor_values, elements, count, &batch);
        wcodec_patch_read(log2, elements, count, &next);
        batch = next;
    }
    wcodec_patch_write(log2, l->xor_values, elements, count, &batch);
    return w;
}

/* A tile by a warp. Returns whether its stream is a valid one. Collective. */
WCODEC_DEVICE_FUNCTION bool wcodec_patch_tile_one(const uint32_t log2, struct wcodec_warp *warp,
                                                  const struct wcodec_patch_launch *l,
                                                  const WCODEC_GLOBAL struct wcodec_patch_tile *t)
{
    const uint32_t count = t->count, size = t->size < WCODEC_PATCH_MOST ? t->size : 0,
                   begin = 8 * (uint32_t)(t->stream & 3), bits = 8 * size, lane = wcodec_lane(warp),
                   share = (bits + 31) / 32,
                   part = share > WCODEC_PATCH_PART ? share : WCODEC_PATCH_PART,
                   parts = bits == 0 ? 1 : (bits + part - 1) / part;
    const uint64_t word = t->stream >> 2, left = l->words - 1 - word;
    struct wcodec_patch_part p;
    p.words = (const WCODEC_GLOBAL uint32_t *)l->streams + word;
    p.last = left < 0xffffffffu ? (uint32_t)left : 0xffffffffu;
    p.begin = begin + lane * part;
    p.end = p.begin + part;
    const uint32_t first = wcodec_patch_divide(warp, l, &p, parts, count + 1);
    bool good = true, ends = false;
    /* The last part is over with the tile. What a stream has after that shows, as does what was
     * read from beyond its end. */
    if (lane < parts && first < count) {
        p.end = lane + 1 == parts ? 0xffffffffu : p.end;
        struct wcodec_patch_walk w =
            wcodec_patch_apply(log2, warp, l, &p, l->elements + (t->first << log2), count, first);
        const uint32_t taken = wcodec_patch_bit(&w.bits) - begin;
        good = w.good;
        ends = w.good && w.over;
        if (ends) {
            wcodec_patch_fill(&w.bits);
            good = (taken + 7) / 8 == t->size &&
                   (w.bits.buffer & ((1u << ((bits - taken) & 7)) - 1)) == 0;
        }
    }
    const bool over = wcodec_any(warp, ends) || (count == 0 && t->size == 0);
    return wcodec_all(warp, good) && over;
}

/* A code to shared memory, as far as it is looked up. */
WCODEC_DEVICE_FUNCTION void wcodec_patch_take_code(struct wcodec_warp *warp, uint64_t from,
                                                   uint32_t to, uint32_t bits)
{
    const uint32_t words = bits == 0 ? 1 : 1u << (bits - 1);
    for (uint32_t i = wcodec_thread(warp); i < words; i += wcodec_threads(warp))
        wcodec_put_u32(warp, to + 4 * i, ((const WCODEC_GLOBAL uint32_t *)from)[i]);
}

WCODEC_DEVICE_FUNCTION void wcodec_patch_kernel(struct wcodec_warp *warp,
                                                const struct wcodec_patch_launch *l)
{
    const uint32_t shared = wcodec_shared_base(warp),
                   number = wcodec_group(warp) * wcodec_warps(warp) + wcodec_warp_number(warp);
    wcodec_patch_take_code(warp, l->codes, shared, l->gap_bits);
    wcodec_patch_take_code(warp, l->codes + 2 * WCODEC_PATCH_CODE, shared + 2 * WCODEC_PATCH_CODE,
                           l->value_bits);
    wcodec_sync_group(warp);
    if (number >= l->count)
        return;
    const WCODEC_GLOBAL struct wcodec_patch_tile *t =
        (const WCODEC_GLOBAL struct wcodec_patch_tile *)l->tiles + number;
    const bool good = l->element_log2 == 1 ? wcodec_patch_tile_one(1, warp, l, t)
                                           : wcodec_patch_tile_one(l->element_log2, warp, l, t);
    if (wcodec_is_first(warp))
        ((WCODEC_GLOBAL uint32_t *)l->faults)[number] = !good;
}

/* Bits of a number. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_changes_length(uint64_t v)
{
    const bool wide = v >> 32 != 0;
    uint32_t low = wide ? (uint32_t)(v >> 32) : (uint32_t)v;
    low |= low >> 1;
    low |= low >> 2;
    low |= low >> 4;
    low |= low >> 8;
    low |= low >> 16;
    return WCODEC_POPCOUNT(low) + (wide ? 32 : 0);
}

/* What a lane knows of its tile. */
struct wcodec_changes_tile {
    uint64_t slot;                  /* the address */
    uint32_t count;                 /* of all lanes, until now */
    uint32_t zigzag_bits, xor_bits; /* of this one */
};

/* An element that differs, which is number `at` of its tile's. */
WCODEC_DEVICE_FUNCTION void wcodec_changes_note(const uint32_t log2,
                                                const struct wcodec_changes_launch *l,
                                                struct wcodec_changes_tile *t, uint32_t at,
                                                uint32_t position, uint64_t e, uint64_t b)
{
    const uint32_t width = 8u << log2;
    const uint64_t mask = ~(uint64_t)0 >> (64 - width), difference = (e - b) & mask,
                   sign = difference >> (width - 1) & 1;
    t->zigzag_bits += wcodec_changes_length((difference << 1 & mask) ^ (sign != 0 ? mask : 0));
    t->xor_bits += wcodec_changes_length(e ^ b);
    if (at >= l->slot)
        return;
    const uint64_t values = t->slot + 2 * (uint64_t)l->slot;
    *(WCODEC_GLOBAL uint16_t *)(t->slot + 2 * (uint64_t)at) = (uint16_t)position;
    wcodec_patch_store(values + ((uint64_t)at << log2), log2, e);
    wcodec_patch_store(values + ((uint64_t)(l->slot + at) << log2), log2, b);
}

/* Elements that a lane has before those of the lanes after it; adds up what all have. Collective.
 */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_changes_place(struct wcodec_warp *warp, uint32_t own,
                                                     struct wcodec_changes_tile *t)
{
    const uint32_t below = (1u << wcodec_lane(warp)) - 1;
    uint32_t before = 0, all = 0;
    WCODEC_UNROLL_ALL
    for (uint32_t bit = 0; bit < 5; bit++) {
        const uint32_t mask = wcodec_ballot(warp, (own >> bit & 1) != 0);
        before += WCODEC_POPCOUNT(mask & below) << bit;
        all += WCODEC_POPCOUNT(mask) << bit;
    }
    before += t->count;
    t->count += all;
    return before;
}

/* One of four words, without an address: they stay in registers. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_changes_word(const uint32_t v[4], uint32_t i)
{
    const uint32_t low = i & 1 ? v[1] : v[0], high = i & 1 ? v[3] : v[2];
    return i & 2 ? high : low;
}

WCODEC_DEVICE_FUNCTION uint64_t wcodec_changes_element(const uint32_t log2, const uint32_t v[4],
                                                       const uint32_t i)
{
    if (log2 == 3)
        return i == 0 ? (uint64_t)v[1] << 32 | v[0] : (uint64_t)v[3] << 32 | v[2];
    const uint32_t bit = i << (3 + log2);
    return wcodec_changes_word(v, bit >> 5) >> (bit & 31) &
           (log2 == 2 ? ~0u : (1u << (8 << log2)) - 1);
}

/* Which of a lane's elements differ: bit i says so of number i. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_changes_mask(const uint32_t log2, const uint32_t a[4],
                                                    const uint32_t b[4])
{
    uint32_t mask = 0;
    WCODEC_UNROLL_ALL
    for (uint32_t i = 0; i < 16u >> log2; i++)
        mask |=
            wcodec_changes_element(log2, a, i) != wcodec_changes_element(log2, b, i) ? 1u << i : 0;
    return mask;
}

/* Sixteen bytes of each lane, from `at` of the tile on. Collective. */
WCODEC_DEVICE_FUNCTION void wcodec_changes_row(const uint32_t log2, struct wcodec_warp *warp,
                                               const struct wcodec_changes_launch *l,
                                               struct wcodec_changes_tile *t, uint32_t at,
                                               wcodec_u4 x, wcodec_u4 y)
{
    const uint32_t a[4] = {x.x, x.y, x.z, x.w}, b[4] = {y.x, y.y, y.z, y.w};
    const bool differs = ((a[0] ^ b[0]) | (a[1] ^ b[1]) | (a[2] ^ b[2]) | (a[3] ^ b[3])) != 0;
    if (!wcodec_any(warp, differs))
        return;
    uint32_t mask = wcodec_changes_mask(log2, a, b),
             place = wcodec_changes_place(warp, WCODEC_POPCOUNT(mask), t);
    /* As often as the lane has that has most of them. */
    for (; mask != 0; mask &= mask - 1) {
        const uint32_t i = wcodec_first_bit(mask);
        wcodec_changes_note(log2, l, t, place++, (at >> log2) + i,
                            wcodec_changes_element(log2, a, i), wcodec_changes_element(log2, b, i));
    }
}

/* A block of the tile's hash, of which lanes have 16 bytes of two rows each. Collective. */
WCODEC_DEVICE_FUNCTION void wcodec_changes_hash(struct wcodec_warp *warp,
                                                const struct wcodec_changes_launch *l, wcodec_u4 x,
                                                wcodec_u4 y, bool last,
                                                struct wcodec_leaf_sums *acc)
{
    const uint32_t lane = wcodec_lane(warp), stripe = lane / 4, pair = lane % 4,
                   at = 2 * pair + stripe;
    const bool own = last && stripe == 7;
    uint64_t sums[2] = {0, 0};
    wcodec_leaf_stripe(x, l->secret[at], l->secret[at + 1], sums);
    wcodec_leaf_stripe(y, own ? wcodec_leaf_key(l->secret, 121 + 16 * pair) : l->secret[at + 8],
                       own ? wcodec_leaf_key(l->secret, 129 + 16 * pair) : l->secret[at + 9], sums);
    WCODEC_UNROLL_ALL
    for (uint32_t step = 4; step < 32; step *= 2) {
        sums[0] += wcodec_shuffle_long(warp, sums[0], lane ^ step);
        sums[1] += wcodec_shuffle_long(warp, sums[1], lane ^ step);
    }
    acc->acc0 += sums[0];
    acc->acc1 += sums[1];
    if (!last) {
        acc->acc0 = wcodec_leaf_scramble(acc->acc0, l->secret[16 + 2 * pair]);
        acc->acc1 = wcodec_leaf_scramble(acc->acc1, l->secret[17 + 2 * pair]);
    }
}

/* Rows of 512 bytes that are read together. */
#define WCODEC_CHANGES_AHEAD 4

/* A tile by a warp. */
WCODEC_DEVICE_FUNCTION void wcodec_changes_one(const uint32_t log2, struct wcodec_warp *warp,
                                               const struct wcodec_changes_launch *l, uint32_t tile)
{
    const uint32_t lane = wcodec_lane(warp);
    const uint64_t first = (uint64_t)tile << l->tile_log2, left = l->count - first,
                   most = (uint64_t)1 << l->tile_log2;
    const uint32_t size = (uint32_t)(left < most ? left : most) << log2,
                   chunks = (size / 16 + 31) / 32, rest = size % 16 >> log2;
    const uint64_t elements = l->elements + (first << log2), base = l->base + (first << log2);
    struct wcodec_changes_tile t = {.slot = l->slots + (uint64_t)l->slot_size * tile};
    struct wcodec_leaf_sums hash = wcodec_leaf_first(lane % 4);
    for (uint32_t chunk = 0; chunk < chunks; chunk += WCODEC_CHANGES_AHEAD) {
        wcodec_u4 x[WCODEC_CHANGES_AHEAD], y[WCODEC_CHANGES_AHEAD]; /* on their way together */
        WCODEC_UNROLL_ALL
        for (uint32_t k = 0; k < WCODEC_CHANGES_AHEAD; k++) {
            const uint32_t at = 512 * (chunk + k) + 16 * lane;
            x[k] = y[k] = wcodec_make_u4(0, 0, 0, 0);
            if (at + 16 <= size) {
                x[k] = wcodec_load_once_u4((const WCODEC_GLOBAL uint8_t *)(elements + at));
                y[k] = wcodec_load_once_u4((const WCODEC_GLOBAL uint8_t *)(base + at));
            }
        }
        WCODEC_UNROLL_ALL
        for (uint32_t k = 0; k < WCODEC_CHANGES_AHEAD; k++)
            wcodec_changes_row(log2, warp, l, &t, 512 * (chunk + k) + 16 * lane, x[k], y[k]);
        WCODEC_UNROLL_ALL
        for (uint32_t k = 0; k < WCODEC_CHANGES_AHEAD; k += 2)
            wcodec_changes_hash(warp, l, x[k], x[k + 1], chunk + k + 2 >= chunks, &hash);
    }
    /* What is after the last 16 bytes: an element a lane. */
    const uint32_t i = (size / 16 * 16 >> log2) + lane;
    const uint64_t e = lane < rest ? wcodec_patch_load(elements + ((uint64_t)i << log2), log2) : 0,
                   held = lane < rest ? wcodec_patch_load(base + ((uint64_t)i << log2), log2) : 0;
    const uint32_t place = wcodec_changes_place(warp, e != held, &t);
    if (e != held)
        wcodec_changes_note(log2, l, &t, place, i, e, held);
    const uint32_t zigzag_bits = wcodec_add_lanes(warp, t.zigzag_bits),
                   xor_bits = wcodec_add_lanes(warp, t.xor_bits);
    const uint64_t result =
        wcodec_leaf_merge(warp, l->secret, hash.acc0, hash.acc1, 11 + 16 * (lane % 4),
                          0x9e3779b185ebca87u << (l->tile_log2 + log2));
    if (lane == 0) {
        WCODEC_GLOBAL uint32_t *out = (WCODEC_GLOBAL uint32_t *)(l->counts + 32 * (uint64_t)tile);
        out[0] = t.count;
        out[1] = zigzag_bits;
        out[2] = xor_bits;
        out[3] = 0;
        out[4] = (uint32_t)result;
    }
}

WCODEC_DEVICE_FUNCTION void wcodec_changes_kernel(struct wcodec_warp *warp,
                                                  const struct wcodec_changes_launch *l)
{
    const uint32_t tile = wcodec_group(warp) * wcodec_warps(warp) + wcodec_warp_number(warp);
    if (tile >= l->tiles)
        return;
    if (l->element_log2 == 1)
        wcodec_changes_one(1, warp, l, tile);
    else if (l->element_log2 == 2)
        wcodec_changes_one(2, warp, l, tile);
    else if (l->element_log2 == 0)
        wcodec_changes_one(0, warp, l, tile);
    else
        wcodec_changes_one(3, warp, l, tile);
}
#endif

#endif
