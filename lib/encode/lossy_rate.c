/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "encode/lossy_internal.h"

#include "encode/tables.h"

enum {
    ENTRIES = WCODEC_CPU_ENTRIES,
    SINGLE = WCODEC_CPU_SINGLE,
    LARGE = 32 /* from this entry on, magnitudes of 256, no rounding goes by bits */
};

/* An entry's magnitudes: the first, and how many. */
static unsigned first_of(unsigned entry)
{
    return entry < SINGLE ? entry : (4 + entry % 4) << (entry / 4 - 2);
}

static unsigned width_of(unsigned entry)
{
    return entry < SINGLE ? 1 : 1u << (entry / 4 - 2);
}

static float centre_of(unsigned entry)
{
    return (float)first_of(entry) + (float)(width_of(entry) - 1) / 2;
}

static float bits_of(uint64_t total, uint64_t count)
{
    return (float)(wcodec_log2(total) - wcodec_log2(count)) / (float)WCODEC_LOG2_ONE;
}

/* The magnitudes of an entry share what was counted; what was never seen gets a little, less than
 * one in all. */
static void entry_costs(const uint64_t counts[ENTRIES], float bits[ENTRIES])
{
    uint64_t total = 0;
    for (unsigned e = 0; e < ENTRIES; e++)
        total += 16 * counts[e] + 1;
    for (unsigned e = 0; e < ENTRIES; e++)
        bits[e] = bits_of(total, 16 * counts[e] + 1) + (float)(wcodec_log2(width_of(e)) >> 24) +
                  (e ? 1 : 0);
}

/* By the bits that a magnitude costs more than the one below. Entries of several are evened out, or
 * their borders would be steps. */
static float margin_of(const float bits[ENTRIES], float lambda, unsigned entry)
{
    if (entry == 0 || entry >= LARGE)
        return -1;
    const float slope = entry < SINGLE ? bits[entry] - bits[entry - 1]
                                       : (bits[entry + 1] - bits[entry - 1]) /
                                             (centre_of(entry + 1) - centre_of(entry - 1));
    const float margin = lambda * slope / 2;
    /* Only the nearest and the one below are looked at. */
    return margin < 0 ? 0 : margin > 1 ? 1 : margin;
}

void wcodec_lossy_costs_make(const struct wcodec_lossy_counts *counts, unsigned classes,
                             float lambda, struct wcodec_lossy_costs *costs)
{
    uint64_t all[ENTRIES] = {0};
    for (unsigned c = 0; c < classes; c++)
        for (unsigned e = 0; e < ENTRIES; e++)
            all[e] += counts->counts[c][e];
    for (unsigned c = 0; c < classes; c++) {
        uint64_t own[ENTRIES], total = 0;
        for (unsigned e = 0; e < ENTRIES; e++)
            total += own[e] = counts->counts[c][e];
        entry_costs(total != 0 ? own : all, costs->bits[c]);
        for (unsigned e = 0; e < ENTRIES; e++)
            costs->margin[c][e] = margin_of(costs->bits[c], lambda, e);
    }
}
