/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "encode/lossy_internal.h"

#include "encode/tables.h"

enum { BUCKETS = WCODEC_LOSSY_BUCKETS, DIRECT = WCODEC_LOSSY_DIRECT, FIRST_RANGE = 16 };

/* A bucket's magnitudes: the first, and how many. */
static unsigned first_of(unsigned bucket)
{
    return bucket < FIRST_RANGE ? bucket : (4 + bucket % 4) << (bucket / 4 - 2);
}

static unsigned width_of(unsigned bucket)
{
    return bucket < FIRST_RANGE ? 1 : 1u << (bucket / 4 - 2);
}

static float centre_of(unsigned bucket)
{
    return (float)first_of(bucket) + (float)(width_of(bucket) - 1) / 2;
}

static float bits_of(uint64_t total, uint64_t count)
{
    return (float)(wcodec_log2(total) - wcodec_log2(count)) / (float)WCODEC_LOG2_ONE;
}

/* A range's magnitudes share what was counted; what was never seen gets a little, less than one in
 * all. */
static void bucket_costs(const uint64_t counts[BUCKETS], float bits[BUCKETS])
{
    uint64_t total = 0;
    for (unsigned b = 0; b < BUCKETS; b++)
        total += 16 * counts[b] + 1;
    for (unsigned b = 0; b < BUCKETS; b++)
        bits[b] = bits_of(total, 16 * counts[b] + 1) + (float)(wcodec_log2(width_of(b)) >> 24) +
                  (b ? 1 : 0);
}

/* Bits that a magnitude costs more than the one below. Ranges are evened out, or their borders
 * would be steps. */
static float slope(const float bits[BUCKETS], unsigned magnitude)
{
    const unsigned b = wcodec_lossy_bucket(magnitude);
    if (magnitude < FIRST_RANGE)
        return bits[b] - bits[b - 1];
    return (bits[b + 1] - bits[b - 1]) / (centre_of(b + 1) - centre_of(b - 1));
}

static void class_costs(const uint64_t counts[BUCKETS], float lambda, float bits[DIRECT],
                        float least[DIRECT], float tail[BUCKETS])
{
    bucket_costs(counts, tail);
    least[0] = 0;
    bits[0] = tail[0];
    for (unsigned m = 1; m < DIRECT; m++) {
        const float s = slope(tail, m), margin = lambda * s / 2;
        bits[m] = tail[wcodec_lossy_bucket(m)];
        /* Only the nearest and the one below are looked at. */
        least[m] = (float)m - 0.5f + (margin < 0 ? 0 : margin > 1 ? 1 : margin);
    }
}

void wcodec_lossy_costs_make(const struct wcodec_lossy_counts *counts, unsigned classes,
                             float lambda, struct wcodec_lossy_costs *costs)
{
    uint64_t all[BUCKETS] = {0};
    for (unsigned c = 0; c < classes; c++)
        for (unsigned b = 0; b < BUCKETS; b++)
            all[b] += counts->counts[c][b];
    for (unsigned c = 0; c < classes; c++) {
        uint64_t total = 0;
        for (unsigned b = 0; b < BUCKETS; b++)
            total += counts->counts[c][b];
        class_costs(total ? counts->counts[c] : all, lambda, costs->bits[c], costs->least[c],
                    costs->tail[c]);
    }
}
