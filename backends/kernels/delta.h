/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Weights that a message changes where they are: hashes of their leaves, and sparse tiles of a
 * delta. lib/coding/delta.c is the reference, wcodec_delta_patch(), of hashes xxHash. */
#ifndef WCODEC_KERNELS_DELTA_H
#define WCODEC_KERNELS_DELTA_H

#include "backends/kernels/delta_launch.h"
#include "backends/kernels/encode_rows.h"

#ifdef WCODEC_SIMT
/* XXH3-128 of a leaf, which is blocks of 16 stripes of 64 bytes, a multiple of 8 of them. Four
 * lanes take a block, each a pair of the eight accumulators, which stripes add to in any order;
 * between blocks accumulators are scrambled, which all lanes do for the eight blocks of a round.
 * The last stripe has a key of its own, and is followed by no scrambling. */
WCODEC_DEVICE_FUNCTION void wcodec_leaf_stripe(wcodec_u4 v, uint64_t key0, uint64_t key1,
                                               uint64_t sums[2])
{
    const uint64_t a = (uint64_t)v.y << 32 | v.x, b = (uint64_t)v.w << 32 | v.z, x = a ^ key0,
                   y = b ^ key1;
    sums[0] += b + (x & 0xffffffff) * (x >> 32);
    sums[1] += a + (y & 0xffffffff) * (y >> 32);
}

WCODEC_DEVICE_FUNCTION uint64_t wcodec_shuffle_long(struct wcodec_warp *warp, uint64_t v,
                                                    uint32_t from)
{
    const uint32_t low = wcodec_shuffle(warp, (uint32_t)v, from),
                   high = wcodec_shuffle(warp, (uint32_t)(v >> 32), from);
    return (uint64_t)high << 32 | low;
}

WCODEC_DEVICE_FUNCTION uint64_t wcodec_leaf_scramble(uint64_t v, uint64_t key)
{
    return (v ^ v >> 47 ^ key) * 0x9e3779b1u;
}

/* Eight bytes of the secret from any byte on, but not its last word. */
WCODEC_DEVICE_FUNCTION uint64_t wcodec_leaf_key(const struct wcodec_leaves_launch *l, uint32_t at)
{
    const uint32_t shift = 8 * (at & 7);
    const uint64_t low = l->secret[at >> 3];
    return shift == 0 ? low : low >> shift | l->secret[(at >> 3) + 1] << (64 - shift);
}

/* Both halves of the product of 64 bits by 64, one over the other. */
WCODEC_DEVICE_FUNCTION uint64_t wcodec_leaf_fold(uint64_t a, uint64_t b)
{
    const uint64_t mask = 0xffffffff, low = (a & mask) * (b & mask), left = (a >> 32) * (b & mask),
                   right = (a & mask) * (b >> 32),
                   middle = (low >> 32) + (left & mask) + (right & mask);
    return (a * b) ^ ((a >> 32) * (b >> 32) + (left >> 32) + (right >> 32) + (middle >> 32));
}

/* What is made of all accumulators, of which a lane has a pair; `at`: where its keys begin. */
WCODEC_DEVICE_FUNCTION uint64_t wcodec_leaf_merge(struct wcodec_warp *warp,
                                                  const struct wcodec_leaves_launch *l,
                                                  uint64_t acc0, uint64_t acc1, uint32_t at,
                                                  uint64_t first)
{
    const uint64_t part =
        wcodec_leaf_fold(acc0 ^ wcodec_leaf_key(l, at), acc1 ^ wcodec_leaf_key(l, at + 8));
    uint64_t sum = first;
    for (uint32_t i = 0; i < 4; i++)
        sum += wcodec_shuffle_long(warp, part, i);
    sum = (sum ^ sum >> 37) * 0x165667919e3779f9u;
    return sum ^ sum >> 32;
}

WCODEC_DEVICE_FUNCTION void wcodec_leaf_one(struct wcodec_warp *warp,
                                            const struct wcodec_leaves_launch *l, uint64_t leaf)
{
    const uint32_t lane = wcodec_lane(warp), quad = lane / 4, pair = lane % 4;
    const WCODEC_GLOBAL uint8_t *from =
        (const WCODEC_GLOBAL uint8_t *)(l->elements + (leaf << l->leaf_log2)) + 1024 * quad +
        16 * pair;
    const uint32_t last = (1u << (l->leaf_log2 - 13)) - 1;
    /* Keys of stripe s are words s and s + 1 from here on. */
    uint64_t keys[17], acc0, acc1;
    WCODEC_UNROLL_ALL
    for (uint32_t i = 0; i < 17; i++)
        keys[i] = l->secret[2 * pair + i];
    /* The first accumulators. */
    acc0 = pair == 0   ? 0xc2b2ae3du
           : pair == 1 ? 0xc2b2ae3d27d4eb4fu
           : pair == 2 ? 0x85ebca77c2b2ae63u
                       : 0x27d4eb2f165667c5u;
    acc1 = pair == 0   ? 0x9e3779b185ebca87u
           : pair == 1 ? 0x165667b19e3779f9u
           : pair == 2 ? 0x85ebca77u
                       : 0x9e3779b1u;
    for (uint32_t round = 0; round <= last; round++) {
        uint64_t sums[2] = {0, 0};
        WCODEC_UNROLL_ALL
        for (uint32_t s = 0; s < 16; s++) {
            const wcodec_u4 v = wcodec_load_once_u4(from + 8192 * round + 64 * s);
            uint64_t key0 = keys[s], key1 = keys[s + 1];
            if (s == 15 && round == last && quad == 7) {
                key0 = wcodec_leaf_key(l, 121 + 16 * pair);
                key1 = wcodec_leaf_key(l, 129 + 16 * pair);
            }
            wcodec_leaf_stripe(v, key0, key1, sums);
        }
        for (uint32_t b = 0; b < 8; b++) {
            acc0 += wcodec_shuffle_long(warp, sums[0], 4 * b + pair);
            acc1 += wcodec_shuffle_long(warp, sums[1], 4 * b + pair);
            if (round != last || b != 7) {
                acc0 = wcodec_leaf_scramble(acc0, l->secret[16 + 2 * pair]);
                acc1 = wcodec_leaf_scramble(acc1, l->secret[17 + 2 * pair]);
            }
        }
    }
    const uint64_t low = wcodec_leaf_merge(warp, l, acc0, acc1, 11 + 16 * pair,
                                           0x9e3779b185ebca87u << l->leaf_log2),
                   high = wcodec_leaf_merge(warp, l, acc0, acc1, 117 + 16 * pair,
                                            ~(0xc2b2ae3d27d4eb4fu << l->leaf_log2));
    if (lane == 0) {
        WCODEC_GLOBAL uint64_t *out = (WCODEC_GLOBAL uint64_t *)(l->out + 16 * leaf);
        out[0] = low;
        out[1] = high;
    }
}

WCODEC_DEVICE_FUNCTION void wcodec_leaves_kernel(struct wcodec_warp *warp,
                                                 const struct wcodec_leaves_launch *l)
{
    const uint64_t step = (uint64_t)wcodec_groups(warp) * wcodec_warps(warp);
    for (uint64_t leaf =
             (uint64_t)wcodec_group(warp) * wcodec_warps(warp) + wcodec_warp_number(warp);
         leaf < l->count; leaf += step)
        wcodec_leaf_one(warp, l, leaf);
}

/* Bits of a stream. What is after all streams is no matter: a stream is over then. */
struct wcodec_patch_bits {
    const WCODEC_GLOBAL uint32_t *words;
    uint32_t next, last; /* words */
    uint64_t buffer;
    uint32_t filled;
};

/* At least 33 bits are at hand then. */
WCODEC_DEVICE_FUNCTION void wcodec_patch_fill(struct wcodec_patch_bits *b)
{
    if (b->filled <= 32) {
        b->buffer |= (uint64_t)b->words[b->next < b->last ? b->next : b->last] << b->filled;
        b->next++;
        b->filled += 32;
    }
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
 * after these. Lanes wait for a word of their streams once, unless it is a long number. */
WCODEC_DEVICE_FUNCTION uint64_t wcodec_patch_number(const WCODEC_GLOBAL uint16_t *code,
                                                    uint32_t bits, const uint32_t direct,
                                                    const uint32_t below,
                                                    struct wcodec_patch_bits *b)
{
    wcodec_patch_fill(b);
    const uint32_t found = code[(uint32_t)b->buffer & ((1u << bits) - 1)], class_of = found >> 4,
                   length = found & 15;
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

/* Elements that are read together, so that a lane waits for memory once for all of them. */
#define WCODEC_PATCH_AHEAD 6

/* A tile by one lane. Returns whether its stream is a valid one. */
WCODEC_DEVICE_FUNCTION bool wcodec_patch_tile_one(const uint32_t log2,
                                                  const struct wcodec_patch_launch *l,
                                                  const WCODEC_GLOBAL struct wcodec_patch_tile *t)
{
    const WCODEC_GLOBAL uint16_t *gaps = (const WCODEC_GLOBAL uint16_t *)l->codes,
                                 *values = gaps + WCODEC_PATCH_CODE;
    const uint32_t count = t->count, size = t->size, before = 8 * (uint32_t)(t->stream & 3);
    const uint64_t first = l->elements + (t->first << log2), word = t->stream >> 2,
                   left = l->words - 1 - word, mask = ~(uint64_t)0 >> (64 - (8u << log2));
    struct wcodec_patch_bits b = {.words = (const WCODEC_GLOBAL uint32_t *)l->streams + word,
                                  .last = left < 0xffffffffu ? (uint32_t)left : 0xffffffffu};
    bool good = true, over = count == 0;
    uint32_t i = 0;
    wcodec_patch_fill(&b);
    wcodec_patch_drop(&b, before);
    while (!over) {
        uint32_t places[WCODEC_PATCH_AHEAD];
        uint64_t changes[WCODEC_PATCH_AHEAD], held[WCODEC_PATCH_AHEAD];
        WCODEC_UNROLL_ALL
        for (uint32_t k = 0; k < WCODEC_PATCH_AHEAD; k++) {
            places[k] = count;
            changes[k] = 0;
            if (over)
                continue;
            const uint64_t gap = wcodec_patch_number(gaps, l->gap_bits, 1, 0, &b) - 1;
            good = gap <= count - i;
            i += good ? (uint32_t)gap : 0;
            if (good && i < count) {
                changes[k] = wcodec_patch_number(values, l->value_bits, 16, 3, &b);
                good = changes[k] <= mask;
                places[k] = good ? i : count;
                i++;
            }
            over = !good || i >= count;
        }
        WCODEC_UNROLL_ALL
        for (uint32_t k = 0; k < WCODEC_PATCH_AHEAD; k++)
            held[k] = places[k] < count
                          ? wcodec_patch_load(first + ((uint64_t)places[k] << log2), log2)
                          : 0;
        WCODEC_UNROLL_ALL
        for (uint32_t k = 0; k < WCODEC_PATCH_AHEAD; k++)
            if (places[k] < count)
                wcodec_patch_store(first + ((uint64_t)places[k] << log2), log2,
                                   l->xor_values
                                       ? held[k] ^ changes[k]
                                       : held[k] + (changes[k] >> 1 ^ (0 - (changes[k] & 1))));
    }
    /* What was read from beyond its end shows here, too. */
    const uint64_t taken = 32 * (uint64_t)b.next - b.filled - before, bits = 8 * (uint64_t)size;
    if (!good || (taken + 7) / 8 != size)
        return false;
    wcodec_patch_fill(&b);
    return (b.buffer & ((1u << ((uint32_t)(bits - taken) & 7)) - 1)) == 0;
}

WCODEC_DEVICE_FUNCTION void wcodec_patch_kernel(struct wcodec_warp *warp,
                                                const struct wcodec_patch_launch *l)
{
    const uint32_t number =
        32 * (wcodec_group(warp) * wcodec_warps(warp) + wcodec_warp_number(warp)) +
        wcodec_lane(warp);
    if (number >= l->count)
        return;
    const WCODEC_GLOBAL struct wcodec_patch_tile *t =
        (const WCODEC_GLOBAL struct wcodec_patch_tile *)l->tiles + number;
    const bool good = l->element_log2 == 1 ? wcodec_patch_tile_one(1, l, t)
                                           : wcodec_patch_tile_one(l->element_log2, l, t);
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

WCODEC_DEVICE_FUNCTION uint64_t wcodec_changes_element(const uint32_t log2, const uint32_t v[4],
                                                       const uint32_t i)
{
    if (log2 == 3)
        return (uint64_t)v[2 * i + 1] << 32 | v[2 * i];
    const uint32_t bit = i << (3 + log2);
    return v[bit >> 5] >> (bit & 31) & (log2 == 2 ? ~0u : (1u << (8 << log2)) - 1);
}

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
    for (uint32_t chunk = 0; chunk < chunks; chunk++) {
        const uint32_t at = 512 * chunk + 16 * lane;
        uint32_t a[4] = {0, 0, 0, 0}, b[4] = {0, 0, 0, 0}, own = 0;
        if (at + 16 <= size) {
            const wcodec_u4 x = wcodec_load_once_u4((const WCODEC_GLOBAL uint8_t *)(elements + at)),
                            y = wcodec_load_once_u4((const WCODEC_GLOBAL uint8_t *)(base + at));
            a[0] = x.x, a[1] = x.y, a[2] = x.z, a[3] = x.w;
            b[0] = y.x, b[1] = y.y, b[2] = y.z, b[3] = y.w;
        }
        const bool differs = ((a[0] ^ b[0]) | (a[1] ^ b[1]) | (a[2] ^ b[2]) | (a[3] ^ b[3])) != 0;
        if (!wcodec_any(warp, differs))
            continue;
        WCODEC_UNROLL_ALL
        for (uint32_t i = 0; i < 16u >> log2; i++)
            own += wcodec_changes_element(log2, a, i) != wcodec_changes_element(log2, b, i);
        uint32_t place = wcodec_changes_place(warp, own, &t);
        WCODEC_UNROLL_ALL
        for (uint32_t i = 0; i < 16u >> log2; i++) {
            const uint64_t e = wcodec_changes_element(log2, a, i),
                           held = wcodec_changes_element(log2, b, i);
            if (e != held)
                wcodec_changes_note(log2, l, &t, place++, (at >> log2) + i, e, held);
        }
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
    if (lane == 0) {
        WCODEC_GLOBAL uint32_t *out = (WCODEC_GLOBAL uint32_t *)(l->counts + 16 * (uint64_t)tile);
        out[0] = t.count;
        out[1] = zigzag_bits;
        out[2] = xor_bits;
        out[3] = 0;
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
