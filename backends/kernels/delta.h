/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Weights that a message changes where they are: sparse tiles of a delta, applied. The reference is
 * lib/coding/delta.c, wcodec_delta_patch(). */
#ifndef WCODEC_KERNELS_DELTA_H
#define WCODEC_KERNELS_DELTA_H

#include "backends/kernels/linear.h"

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
    uint64_t sum;       /* what the tensor's changes by */
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

/* Returns what the tensor's sum changes by; `at`: bytes of the tensor before the tile. */
WCODEC_DEVICE_FUNCTION uint64_t wcodec_patch_write(const uint32_t log2, bool xor_values,
                                                   uint64_t first, uint64_t at, uint32_t count,
                                                   const struct wcodec_patch_batch *batch)
{
    const uint64_t mask = ~(uint64_t)0 >> (64 - (8u << log2));
    uint64_t sum = 0;
    WCODEC_UNROLL_ALL
    for (uint32_t k = 0; k < WCODEC_PATCH_AHEAD; k++) {
        const uint64_t v = batch->changes[k], held = batch->held[k],
                       now = (xor_values ? held ^ v : held + (v >> 1 ^ (0 - (v & 1)))) & mask,
                       place = (uint64_t)batch->places[k] << log2;
        if (batch->places[k] < count) {
            wcodec_patch_store(first + place, log2, now);
            sum += wcodec_linear_change(log2, at + place, now, held);
        }
    }
    return sum;
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
                   const WCODEC_GLOBAL struct wcodec_patch_tile *t, uint32_t first)
{
    const uint64_t at = t->first << log2, elements = l->elements + at;
    const uint32_t count = t->count;
    const uint64_t mask = ~(uint64_t)0 >> (64 - (8u << log2));
    struct wcodec_patch_batch batch;
    struct wcodec_patch_walk w;
    w.end = p->end;
    w.at = first;
    w.count = count;
    w.good = true;
    w.over = false;
    w.sum = 0;
    wcodec_patch_begin(&w.bits, p->words, p->last, p->begin);
    WCODEC_UNROLL_ALL
    for (uint32_t k = 0; k < WCODEC_PATCH_AHEAD; k++)
        batch.places[k] = count;
    while (!w.over && wcodec_patch_bit(&w.bits) < w.end) {
        struct wcodec_patch_batch next;
        wcodec_patch_decode(warp, l, mask, &w, &next);
        w.sum += wcodec_patch_write(log2, l->xor_values, elements, at, count, &batch);
        wcodec_patch_read(log2, elements, count, &next);
        batch = next;
    }
    w.sum += wcodec_patch_write(log2, l->xor_values, elements, at, count, &batch);
    return w;
}

/* A tile by a warp. Returns whether its stream is a valid one; *sum: what the tensor's changes by.
 * Collective. */
WCODEC_DEVICE_FUNCTION bool wcodec_patch_tile_one(const uint32_t log2, struct wcodec_warp *warp,
                                                  const struct wcodec_patch_launch *l,
                                                  const WCODEC_GLOBAL struct wcodec_patch_tile *t,
                                                  uint64_t *sum)
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
    uint64_t own = 0;
    /* The last part is over with the tile. What a stream has after that shows, as does what was
     * read from beyond its end. */
    if (lane < parts && first < count) {
        p.end = lane + 1 == parts ? 0xffffffffu : p.end;
        struct wcodec_patch_walk w = wcodec_patch_apply(log2, warp, l, &p, t, first);
        const uint32_t taken = wcodec_patch_bit(&w.bits) - begin;
        good = w.good;
        own = w.sum;
        ends = w.good && w.over;
        if (ends) {
            wcodec_patch_fill(&w.bits);
            good = (taken + 7) / 8 == t->size &&
                   (w.bits.buffer & ((1u << ((bits - taken) & 7)) - 1)) == 0;
        }
    }
    *sum = wcodec_linear_lanes(warp, own);
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
    uint64_t sum;
    const bool good = l->element_log2 == 1
                          ? wcodec_patch_tile_one(1, warp, l, t, &sum)
                          : wcodec_patch_tile_one(l->element_log2, warp, l, t, &sum);
    if (wcodec_is_first(warp)) {
        WCODEC_GLOBAL struct wcodec_patched_tile *out =
            (WCODEC_GLOBAL struct wcodec_patched_tile *)l->results + number;
        out->sum = sum;
        out->fault = !good;
        out->unused = 0;
    }
}
#endif

#endif
