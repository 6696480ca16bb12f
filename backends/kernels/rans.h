/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Constants, table entries, the rANS step and the tile check (doc/format.md 2.2, 2.3, 2.6), for
 * every dialect. */
#ifndef WCODEC_KERNELS_RANS_H
#define WCODEC_KERNELS_RANS_H

#include "backends/kernels/dialect.h"
#include "lib/coding/check_key.h"

#define WCODEC_STATE_LOW 0x10000u /* a state below this takes a word */

/* As lib/coding/table.h makes them: frequency << 20 | symbol << 12 | bias. */
#define WCODEC_ENTRY_SYMBOL(e) ((e) >> 12 & 0xffu)

WCODEC_DEVICE_FUNCTION uint32_t wcodec_entry_step(uint32_t state, uint32_t entry, uint32_t bits)
{
    return (entry >> 20) * (state >> bits) + (entry & 0xfffu);
}

/* An entry ready for output is two words: what the symbol puts into the element, and this.
 * frequency << 20 | bias, since frequency * (x >> 12) + bias is frequency * ((x >> 12) - 2^20) +
 * this word mod 2^32, and the first factor is one funnel shift: bias needs no masking. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_ready_word(uint32_t entry)
{
    return entry & 0xfff00fffu;
}

/* ones: all bits set, which the compiler cannot see. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_ready_step(uint32_t state, uint32_t word, uint32_t ones)
{
    return (word >> 20) * wcodec_shift_pair(state, ones, 12) + word;
}

/* P8's entry in a kernel: frequency, zero, bias, symbol, a byte each from the top. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_p8_entry(uint32_t entry, uint32_t shift)
{
    return entry >> 20 << 24 | (entry & 0xffu) << 8 | (WCODEC_ENTRY_SYMBOL(entry) << shift & 0xffu);
}

WCODEC_DEVICE_FUNCTION uint32_t wcodec_p8_step(uint32_t state, uint32_t entry)
{
    return (entry >> 24) * (state >> 8) + wcodec_bytes(entry, 0, 0x4441);
}

#if defined(WCODEC_SIMT) && !defined(WCODEC_PTX)
/* Lanes whose state is low take the next words, in lane order; at: shared address of the first word
 * that is not taken. (NVIDIA's GPUs: dialect_ptx.h.) */
WCODEC_DEVICE_FUNCTION void wcodec_renormalise(struct wcodec_warp *warp, uint32_t *state,
                                               uint32_t *at, uint32_t lanes_below)
{
    const bool low = *state < WCODEC_STATE_LOW;
    const uint32_t mask = wcodec_ballot(warp, low),
                   word = wcodec_shared_u16(warp, *at + 2 * WCODEC_POPCOUNT(mask & lanes_below));
    *state = low ? *state << 16 | word : *state;
    *at += 2 * WCODEC_POPCOUNT(mask);
}

/* The other way (encode_tiles.h): lanes whose `test` reaches their limit put the lower half of the
 * state before `at`, in lane order, and keep the upper one. */
WCODEC_DEVICE_FUNCTION void wcodec_shrink(struct wcodec_warp *warp, uint32_t *state, uint32_t *at,
                                          uint32_t lanes_below, uint32_t test, uint32_t limit)
{
    const bool high = test >= limit;
    const uint32_t mask = wcodec_ballot(warp, high);
    *at -= 2 * WCODEC_POPCOUNT(mask);
    if (high)
        wcodec_put_u16(warp, *at + 2 * WCODEC_POPCOUNT(mask & lanes_below), *state & 0xffff);
    *state = high ? *state >> 16 : *state;
}
#endif

/* The check: word j of a lane counts k(j) times. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_check_factor(uint32_t j)
{
    return WCODEC_CHECK_KEY(j);
}

/* A lane's share of the check; the check is the sum over lanes. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_check_share(uint64_t sum, uint32_t lane)
{
    uint32_t h = (uint32_t)sum * WCODEC_CHECK_LOW + (uint32_t)(sum >> 32) * WCODEC_CHECK_HIGH +
                 lane * WCODEC_CHECK_LANE;
    h ^= h >> 16;
    h *= WCODEC_CHECK_MIX1;
    h ^= h >> 15;
    h *= WCODEC_CHECK_MIX2;
    return h ^ h >> 16;
}

#endif
