/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Weights that a message changes where they are: hashes of their leaves, and sparse tiles of a
 * delta. lib/coding/delta.c is the reference, wcodec_delta_patch(), of hashes xxHash. */
#ifndef WCODEC_KERNELS_DELTA_H
#define WCODEC_KERNELS_DELTA_H

#include "backends/kernels/delta_launch.h"
#include "backends/kernels/encode_rows.h"

#ifdef WCODEC_SIMT
/* XXH3-128 of a leaf of 64 KiB as far as its eight accumulators go. It is 64 blocks of 16 stripes
 * of 64 bytes. Four lanes take a block, each a pair of accumulators, which blocks add to in any
 * order; between blocks accumulators are scrambled, which the lanes do for eight blocks together.
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

WCODEC_DEVICE_FUNCTION void wcodec_leaf_one(struct wcodec_warp *warp,
                                            const struct wcodec_leaves_launch *l, uint64_t leaf)
{
    const uint32_t lane = wcodec_lane(warp), quad = lane / 4, pair = lane % 4;
    const WCODEC_GLOBAL uint8_t *from =
        (const WCODEC_GLOBAL uint8_t *)(l->elements + (leaf << 16)) + 1024 * quad + 16 * pair;
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
    for (uint32_t round = 0; round < 8; round++) {
        uint64_t sums[2] = {0, 0};
        WCODEC_UNROLL_ALL
        for (uint32_t s = 0; s < 16; s++) {
            const wcodec_u4 v = wcodec_load_once_u4(from + 8192 * round + 64 * s);
            uint64_t key0 = keys[s], key1 = keys[s + 1];
            if (s == 15 && round == 7 && quad == 7) { /* the secret's from byte 121 on */
                const uint32_t at = 15 + 2 * pair;
                key0 = l->secret[at] >> 8 | l->secret[at + 1] << 56;
                key1 = l->secret[at + 1] >> 8 | l->secret[at + 2] << 56;
            }
            wcodec_leaf_stripe(v, key0, key1, sums);
        }
        for (uint32_t b = 0; b < 8; b++) {
            acc0 += wcodec_shuffle_long(warp, sums[0], 4 * b + pair);
            acc1 += wcodec_shuffle_long(warp, sums[1], 4 * b + pair);
            if (round != 7 || b != 7) {
                acc0 = wcodec_leaf_scramble(acc0, l->secret[16 + 2 * pair]);
                acc1 = wcodec_leaf_scramble(acc1, l->secret[17 + 2 * pair]);
            }
        }
    }
    if (quad == 0) {
        WCODEC_GLOBAL uint64_t *out = (WCODEC_GLOBAL uint64_t *)(l->out + 64 * leaf) + 2 * pair;
        out[0] = acc0;
        out[1] = acc1;
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

/* 32 bits of a stream; what is after all streams is no matter, since they are over then. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_patch_peek(const struct wcodec_patch_launch *l, uint64_t at)
{
    const WCODEC_GLOBAL uint32_t *words = (const WCODEC_GLOBAL uint32_t *)l->streams;
    const uint64_t i = at >> 5, most = l->words - 1;
    return (
        uint32_t)(((uint64_t)words[i < most ? i + 1 : most] << 32 | words[i < most ? i : most]) >>
                  (at & 31));
}

/* A number from 1 on, of `direct` classes of one number each; below: bits of the first octave
 * after these. */
WCODEC_DEVICE_FUNCTION uint64_t wcodec_patch_number(const struct wcodec_patch_launch *l,
                                                    uint32_t table, uint32_t bits,
                                                    const uint32_t direct, const uint32_t below,
                                                    uint64_t *at)
{
    const WCODEC_GLOBAL uint16_t *codes = (const WCODEC_GLOBAL uint16_t *)l->codes + table;
    const uint32_t found = codes[wcodec_patch_peek(l, *at) & ((1u << bits) - 1)],
                   class_of = found >> 4;
    *at += found & 15;
    if (class_of < direct)
        return class_of + 1;
    const uint32_t more = (class_of - direct) / 2 + below;
    uint64_t v = wcodec_patch_peek(l, *at);
    if (more > 32)
        v |= (uint64_t)wcodec_patch_peek(l, *at + 32) << 32;
    *at += more;
    return (uint64_t)(2 + ((class_of - direct) & 1)) << (more & 63) |
           (v & (((uint64_t)1 << (more & 63)) - 1));
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

/* Returns whether the stream is a valid one. An element is stored when the next one is on its way:
 * a lane waits for memory only once for both. */
WCODEC_DEVICE_FUNCTION bool wcodec_patch_tile_one(const struct wcodec_patch_launch *l,
                                                  const WCODEC_GLOBAL struct wcodec_patch_tile *t)
{
    const uint64_t begin = 8 * t->stream, end = begin + 8 * (uint64_t)t->size,
                   mask = ~(uint64_t)0 >> (64 - (8u << l->element_log2));
    const uint32_t count = t->count;
    uint64_t at = begin, held_at = 0, held = 0, held_value = 0;
    bool good = true;
    for (uint32_t i = 0; i < count && good; i++) {
        const uint64_t gap = wcodec_patch_number(l, 0, l->gap_bits, 1, 0, &at) - 1;
        good = gap <= count - i && at <= end;
        i += good ? (uint32_t)gap : 0;
        if (!good || i == count)
            break;
        const uint64_t value = wcodec_patch_number(l, WCODEC_PATCH_CODE, l->value_bits, 16, 3, &at);
        good = value <= mask && at <= end;
        if (good) {
            const uint64_t address = l->elements + ((t->first + i) << l->element_log2),
                           base = wcodec_patch_load(address, l->element_log2);
            if (held_at)
                wcodec_patch_store(held_at, l->element_log2,
                                   l->xor_values
                                       ? held ^ held_value
                                       : held + (held_value >> 1 ^ (0 - (held_value & 1))));
            held_at = address;
            held = base;
            held_value = value;
        }
    }
    if (held_at)
        wcodec_patch_store(held_at, l->element_log2,
                           l->xor_values ? held ^ held_value
                                         : held + (held_value >> 1 ^ (0 - (held_value & 1))));
    if (!good || (at - begin + 7) / 8 != t->size)
        return false;
    const uint32_t left = (uint32_t)((end - at) & 7);
    return (wcodec_patch_peek(l, at) & ((1u << left) - 1)) == 0;
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
    ((WCODEC_GLOBAL uint32_t *)l->faults)[number] = !wcodec_patch_tile_one(l, t);
}
#endif

#endif
