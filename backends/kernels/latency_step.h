/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* What a word does to the lane that takes it, worked out before the lane's state is known, for
 * latency kernels (tile_latency.h). The state before is x < 2^16; with the word it is x
 * << 16 | word, of which the lowest bits, and so the table's entries, are the word's. */
#ifndef WCODEC_KERNELS_LATENCY_STEP_H
#define WCODEC_KERNELS_LATENCY_STEP_H

#include "backends/kernels/rans.h"

/* Behind a tile's last step stand as many that hold nothing: a lane may look at them before it is
 * known that a word is missing. */
#define WCODEC_LATENCY_SPARE 40u

/* The next state is factor * x + plus; entry: what is decoded. */
struct wcodec_latency_step {
    uint32_t factor, plus, entry;
};

/* Pairs, e = table[word % 4096]: frequency * (x << 4 | word >> 12) + bias. */
WCODEC_DEVICE_FUNCTION struct wcodec_latency_step wcodec_latency_pair(uint32_t word, uint32_t e)
{
    const uint32_t frequency = e >> 20;
    const struct wcodec_latency_step step = {frequency << 4,
                                             frequency * (word >> 12) + (e & 0xfffu), e};
    return step;
}

/* P8, e = table[word % 256], as wcodec_p8_entry() makes it. After the first symbol the state is
 * frequency * (x << 8) + plus, of which the lowest eight bits are those of plus: the second entry
 * is table[plus % 256]. */
WCODEC_DEVICE_FUNCTION struct wcodec_latency_step wcodec_latency_first(uint32_t word, uint32_t e)
{
    const struct wcodec_latency_step step = {e >> 24, (e >> 24) * (word >> 8) + (e >> 8 & 0xffu),
                                             e};
    return step;
}

/* Two symbols of P8 in one word, the second in the upper half. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_latency_symbols(uint32_t first, uint32_t second)
{
    return (first & 0xffu) | (second & 0xffu) << 16;
}

/* Then the second: frequency * (factor * x + plus >> 8) + bias. */
WCODEC_DEVICE_FUNCTION struct wcodec_latency_step
wcodec_latency_second(struct wcodec_latency_step first, uint32_t e)
{
    const uint32_t frequency = e >> 24;
    const struct wcodec_latency_step step = {frequency * first.factor,
                                             frequency * (first.plus >> 8) + (e >> 8 & 0xffu),
                                             wcodec_latency_symbols(first.entry, e)};
    return step;
}

#endif
