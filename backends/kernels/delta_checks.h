/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Checks of streams of sparse tiles, a stream by a warp: the lower half of its XXH3-64, of which
 * the reference is xxHash. Up to 240 bytes that is a sum of products of 16 bytes each, beyond that
 * stripes as in leaves.h. */
#ifndef WCODEC_KERNELS_DELTA_CHECKS_H
#define WCODEC_KERNELS_DELTA_CHECKS_H

#include "backends/kernels/delta_streams.h"

#ifdef WCODEC_SIMT
/* A stream, which begins at byte `begin` of a word, and the secret; both by words of 32 bits. */
struct wcodec_check_stream {
    const WCODEC_GLOBAL uint32_t *words, *secret;
    uint32_t begin, size;
};

WCODEC_DEVICE_FUNCTION uint32_t wcodec_check_four(const WCODEC_GLOBAL uint32_t *words, uint32_t at)
{
    const uint32_t shift = 8 * (at & 3), low = words[at >> 2];
    return shift == 0 ? low : low >> shift | words[(at >> 2) + 1] << (32 - shift);
}

WCODEC_DEVICE_FUNCTION uint64_t wcodec_check_eight(const WCODEC_GLOBAL uint32_t *words, uint32_t at)
{
    return (uint64_t)wcodec_check_four(words, at + 4) << 32 | wcodec_check_four(words, at);
}

WCODEC_DEVICE_FUNCTION uint64_t wcodec_check_key(const struct wcodec_check_stream *s, uint32_t at)
{
    return wcodec_check_eight(s->secret, at);
}

WCODEC_DEVICE_FUNCTION uint64_t wcodec_check_mix(const struct wcodec_check_stream *s, uint32_t at,
                                                 uint32_t key)
{
    return wcodec_leaf_fold(wcodec_check_eight(s->words, s->begin + at) ^ wcodec_check_key(s, key),
                            wcodec_check_eight(s->words, s->begin + at + 8) ^
                                wcodec_check_key(s, key + 8));
}

WCODEC_DEVICE_FUNCTION uint64_t wcodec_check_end(uint64_t v)
{
    v = (v ^ v >> 37) * 0x165667919e3779f9u;
    return v ^ v >> 32;
}

/* The end of what has up to three bytes. */
WCODEC_DEVICE_FUNCTION uint64_t wcodec_check_end_few(uint64_t v)
{
    v = (v ^ v >> 33) * 0xc2b2ae3d27d4eb4fu;
    v = (v ^ v >> 29) * 0x165667b19e3779f9u;
    return v ^ v >> 32;
}

WCODEC_DEVICE_FUNCTION uint64_t wcodec_check_swap(uint64_t v)
{
    v = (v >> 8 & 0x00ff00ff00ff00ffu) | (v & 0x00ff00ff00ff00ffu) << 8;
    v = (v >> 16 & 0x0000ffff0000ffffu) | (v & 0x0000ffff0000ffffu) << 16;
    return v >> 32 | v << 32;
}

WCODEC_DEVICE_FUNCTION uint64_t wcodec_check_turn(uint64_t v, const uint32_t bits)
{
    return v << bits | v >> (64 - bits);
}

/* Up to 16 bytes. */
WCODEC_DEVICE_FUNCTION uint64_t wcodec_check_few(const struct wcodec_check_stream *s)
{
    const uint32_t size = s->size, begin = s->begin;
    if (size > 8) {
        const uint64_t low = wcodec_check_eight(s->words, begin) ^ wcodec_check_key(s, 24) ^
                             wcodec_check_key(s, 32),
                       high = wcodec_check_eight(s->words, begin + size - 8) ^
                              wcodec_check_key(s, 40) ^ wcodec_check_key(s, 48);
        return wcodec_check_end(size + wcodec_check_swap(low) + high + wcodec_leaf_fold(low, high));
    }
    if (size > 3) {
        uint64_t v = ((uint64_t)wcodec_check_four(s->words, begin) << 32 |
                      wcodec_check_four(s->words, begin + size - 4)) ^
                     wcodec_check_key(s, 8) ^ wcodec_check_key(s, 16);
        v = (v ^ wcodec_check_turn(v, 49) ^ wcodec_check_turn(v, 24)) * 0x9fb21c651e98df25u;
        v = (v ^ ((v >> 35) + size)) * 0x9fb21c651e98df25u;
        return v ^ v >> 28;
    }
    if (size == 0)
        return wcodec_check_end_few(wcodec_check_key(s, 56) ^ wcodec_check_key(s, 64));
    const WCODEC_GLOBAL uint8_t *bytes = (const WCODEC_GLOBAL uint8_t *)s->words + begin;
    const uint32_t all =
        (uint32_t)bytes[0] << 16 | (uint32_t)bytes[size >> 1] << 24 | bytes[size - 1] | size << 8;
    return wcodec_check_end_few(all ^ (uint64_t)(s->secret[0] ^ s->secret[1]));
}

/* 17 to 128 bytes: pairs of 16 from both ends. Collective, as the next ones. */
WCODEC_DEVICE_FUNCTION uint64_t wcodec_check_some(struct wcodec_warp *warp,
                                                  const struct wcodec_check_stream *s)
{
    const uint32_t lane = wcodec_lane(warp), pairs = (s->size - 1) / 32 + 1, i = lane / 2;
    uint64_t own = 0;
    if (lane < 2 * pairs)
        own = wcodec_check_mix(s, lane % 2 == 0 ? 16 * i : s->size - 16 * (i + 1), 16 * lane);
    return wcodec_check_end(s->size * 0x9e3779b185ebca87u + wcodec_linear_lanes(warp, own));
}

/* 129 to 240 bytes. */
WCODEC_DEVICE_FUNCTION uint64_t wcodec_check_more(struct wcodec_warp *warp,
                                                  const struct wcodec_check_stream *s)
{
    const uint32_t lane = wcodec_lane(warp), rounds = s->size / 16;
    uint64_t own = 0;
    if (lane <= rounds)
        own = wcodec_check_mix(s, lane < rounds ? 16 * lane : s->size - 16,
                               lane < 8        ? 16 * lane
                               : lane < rounds ? 16 * (lane - 8) + 3
                                               : 119);
    const uint64_t first = wcodec_linear_lanes(warp, lane < 8 ? own : 0),
                   rest = wcodec_linear_lanes(warp, lane < 8 ? 0 : own);
    return wcodec_check_end(wcodec_check_end(s->size * 0x9e3779b185ebca87u + first) + rest);
}

/* What stripes add to a pair of accumulators, of which four lanes have one stripe each. */
WCODEC_DEVICE_FUNCTION void wcodec_check_stripe(const struct wcodec_check_stream *s, uint32_t pair,
                                                uint32_t at, uint32_t key, uint64_t sums[2])
{
    const uint32_t from = s->begin + at + 16 * pair;
    const uint64_t a = wcodec_check_eight(s->words, from),
                   b = wcodec_check_eight(s->words, from + 8);
    wcodec_leaf_stripe(
        wcodec_make_u4((uint32_t)a, (uint32_t)(a >> 32), (uint32_t)b, (uint32_t)(b >> 32)),
        wcodec_check_key(s, key + 16 * pair), wcodec_check_key(s, key + 16 * pair + 8), sums);
}

/* Of all lanes that have the same pair. */
WCODEC_DEVICE_FUNCTION uint64_t wcodec_check_pair(struct wcodec_warp *warp, uint64_t v)
{
    for (uint32_t step = 4; step < 32; step *= 2)
        v += wcodec_shuffle_long(warp, v, wcodec_lane(warp) ^ step);
    return v;
}

/* More: blocks of 16 stripes, all but the last one of which are scrambled after. */
WCODEC_DEVICE_FUNCTION uint64_t wcodec_check_many(struct wcodec_warp *warp,
                                                  const struct wcodec_check_stream *s)
{
    const uint32_t lane = wcodec_lane(warp), pair = lane % 4, blocks = (s->size - 1) / 1024,
                   stripes = (s->size - 1) / 64;
    struct wcodec_leaf_sums acc = wcodec_leaf_first(pair);
    for (uint32_t block = 0; block <= blocks; block++) {
        uint64_t sums[2] = {0, 0};
        for (uint32_t i = lane / 4; i < 16; i += 8)
            if (16 * block + i < stripes)
                wcodec_check_stripe(s, pair, 1024 * block + 64 * i, 8 * i, sums);
        if (block == blocks && lane < 4)
            wcodec_check_stripe(s, pair, s->size - 64, 121, sums);
        acc.acc0 += wcodec_check_pair(warp, sums[0]);
        acc.acc1 += wcodec_check_pair(warp, sums[1]);
        if (block < blocks) {
            acc.acc0 = wcodec_leaf_scramble(acc.acc0, wcodec_check_key(s, 128 + 16 * pair));
            acc.acc1 = wcodec_leaf_scramble(acc.acc1, wcodec_check_key(s, 136 + 16 * pair));
        }
    }
    const uint64_t part = wcodec_leaf_fold(acc.acc0 ^ wcodec_check_key(s, 11 + 16 * pair),
                                           acc.acc1 ^ wcodec_check_key(s, 19 + 16 * pair));
    return wcodec_check_end(s->size * 0x9e3779b185ebca87u +
                            wcodec_linear_lanes(warp, lane < 4 ? part : 0));
}

WCODEC_DEVICE_FUNCTION void wcodec_stream_checks_kernel(struct wcodec_warp *warp,
                                                        const struct wcodec_changes_launch *l)
{
    const uint32_t tile = wcodec_group(warp) * wcodec_warps(warp) + wcodec_warp_number(warp);
    uint64_t first, check;
    if (tile >= l->tiles || !wcodec_stream_place(l, tile, &first))
        return;
    struct wcodec_check_stream s;
    s.words = (const WCODEC_GLOBAL uint32_t *)l->streams + (first >> 2);
    s.secret = (const WCODEC_GLOBAL uint32_t *)l->secret;
    s.begin = (uint32_t)first & 3;
    s.size = wcodec_stream_coded(l, tile)->size;
    if (s.size <= 16)
        check = wcodec_check_few(&s);
    else if (s.size <= 128)
        check = wcodec_check_some(warp, &s);
    else if (s.size <= 240)
        check = wcodec_check_more(warp, &s);
    else
        check = wcodec_check_many(warp, &s);
    if (wcodec_is_first(warp))
        wcodec_stream_coded(l, tile)->check = (uint32_t)check;
}
#endif

#endif
