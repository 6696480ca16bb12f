/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Hashes of leaves of a tensor: the reference is xxHash. */
#ifndef WCODEC_KERNELS_LEAVES_H
#define WCODEC_KERNELS_LEAVES_H

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
WCODEC_DEVICE_FUNCTION uint64_t wcodec_leaf_key(const uint64_t *secret, uint32_t at)
{
    const uint32_t shift = 8 * (at & 7);
    const uint64_t low = secret[at >> 3];
    return shift == 0 ? low : low >> shift | secret[(at >> 3) + 1] << (64 - shift);
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
WCODEC_DEVICE_FUNCTION uint64_t wcodec_leaf_merge(struct wcodec_warp *warp, const uint64_t *secret,
                                                  uint64_t acc0, uint64_t acc1, uint32_t at,
                                                  uint64_t first)
{
    const uint64_t part = wcodec_leaf_fold(acc0 ^ wcodec_leaf_key(secret, at),
                                           acc1 ^ wcodec_leaf_key(secret, at + 8));
    uint64_t sum = first;
    for (uint32_t i = 0; i < 4; i++)
        sum += wcodec_shuffle_long(warp, part, i);
    sum = (sum ^ sum >> 37) * 0x165667919e3779f9u;
    return sum ^ sum >> 32;
}

/* A lane's pair of accumulators. */
struct wcodec_leaf_sums {
    uint64_t acc0, acc1;
};

WCODEC_DEVICE_FUNCTION struct wcodec_leaf_sums wcodec_leaf_first(uint32_t pair)
{
    const struct wcodec_leaf_sums s = {pair == 0   ? 0xc2b2ae3du
                                       : pair == 1 ? 0xc2b2ae3d27d4eb4fu
                                       : pair == 2 ? 0x85ebca77c2b2ae63u
                                                   : 0x27d4eb2f165667c5u,
                                       pair == 0   ? 0x9e3779b185ebca87u
                                       : pair == 1 ? 0x165667b19e3779f9u
                                       : pair == 2 ? 0x85ebca77u
                                                   : 0x9e3779b1u};
    return s;
}

/* Eight blocks, of which a lane has 16 bytes of each stripe of one. Collective. */
WCODEC_DEVICE_FUNCTION void wcodec_leaf_round(struct wcodec_warp *warp,
                                              const struct wcodec_leaves_launch *l,
                                              const WCODEC_GLOBAL uint8_t *from,
                                              const uint64_t *keys, bool last,
                                              struct wcodec_leaf_sums *acc)
{
    const uint32_t lane = wcodec_lane(warp), pair = lane % 4;
    uint64_t sums[2] = {0, 0};
    WCODEC_UNROLL_ALL
    for (uint32_t part = 0; part < 16; part += 8) {
        wcodec_u4 v[8]; /* on their way together */
        WCODEC_UNROLL_ALL
        for (uint32_t s = 0; s < 8; s++)
            v[s] = wcodec_load_u4(from + 64 * (part + s));
        WCODEC_UNROLL_ALL
        for (uint32_t s = 0; s < 8; s++) {
            const bool own = part + s == 15 && last && lane / 4 == 7;
            const uint64_t key0 =
                               own ? wcodec_leaf_key(l->secret, 121 + 16 * pair) : keys[part + s],
                           key1 = own ? wcodec_leaf_key(l->secret, 129 + 16 * pair)
                                      : keys[part + s + 1];
            wcodec_leaf_stripe(v[s], key0, key1, sums);
        }
    }
    for (uint32_t b = 0; b < 8; b++) {
        acc->acc0 += wcodec_shuffle_long(warp, sums[0], 4 * b + pair);
        acc->acc1 += wcodec_shuffle_long(warp, sums[1], 4 * b + pair);
        if (!last || b != 7) {
            acc->acc0 = wcodec_leaf_scramble(acc->acc0, l->secret[16 + 2 * pair]);
            acc->acc1 = wcodec_leaf_scramble(acc->acc1, l->secret[17 + 2 * pair]);
        }
    }
}

WCODEC_DEVICE_FUNCTION void wcodec_leaf_end(struct wcodec_warp *warp,
                                            const struct wcodec_leaves_launch *l,
                                            const struct wcodec_leaf_sums *acc, uint64_t to)
{
    const uint32_t pair = wcodec_lane(warp) % 4;
    const uint64_t low = wcodec_leaf_merge(warp, l->secret, acc->acc0, acc->acc1, 11 + 16 * pair,
                                           0x9e3779b185ebca87u << l->leaf_log2),
                   high = wcodec_leaf_merge(warp, l->secret, acc->acc0, acc->acc1, 117 + 16 * pair,
                                            ~(0xc2b2ae3d27d4eb4fu << l->leaf_log2));
    if (wcodec_is_first(warp)) {
        WCODEC_GLOBAL uint64_t *out = (WCODEC_GLOBAL uint64_t *)to;
        out[0] = low;
        out[1] = high;
    }
}

/* A leaf by a warp. */
WCODEC_DEVICE_FUNCTION void wcodec_leaf_one(struct wcodec_warp *warp,
                                            const struct wcodec_leaves_launch *l, uint64_t from,
                                            uint64_t to)
{
    const uint32_t lane = wcodec_lane(warp), pair = lane % 4, place = 1024 * (lane / 4) + 16 * pair,
                   last = (1u << (l->leaf_log2 - 13)) - 1;
    /* Keys of stripe s are words s and s + 1 from here on. */
    uint64_t keys[17];
    struct wcodec_leaf_sums acc = wcodec_leaf_first(pair);
    WCODEC_UNROLL_ALL
    for (uint32_t i = 0; i < 17; i++)
        keys[i] = l->secret[2 * pair + i];
    for (uint32_t round = 0; round <= last; round++)
        wcodec_leaf_round(warp, l, (const WCODEC_GLOBAL uint8_t *)(from + 8192 * round + place),
                          keys, round == last, &acc);
    wcodec_leaf_end(warp, l, &acc, to);
}

WCODEC_DEVICE_FUNCTION void wcodec_leaves_kernel(struct wcodec_warp *warp,
                                                 const struct wcodec_leaves_launch *l)
{
    const uint64_t step = (uint64_t)wcodec_groups(warp) * wcodec_warps(warp);
    for (uint64_t i = (uint64_t)wcodec_group(warp) * wcodec_warps(warp) + wcodec_warp_number(warp);
         i < l->count; i += step)
        wcodec_leaf_one(warp, l, l->elements + (i << l->leaf_log2), l->out + 16 * i);
}
#endif

#endif
