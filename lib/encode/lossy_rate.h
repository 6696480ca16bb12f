/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* What quantised coefficients cost in bits, by the class of their band, and rounding that weighs
 * bits against error. Coefficients are in units of the quantiser's step throughout. */
#ifndef WCODEC_ENCODE_LOSSY_RATE_H
#define WCODEC_ENCODE_LOSSY_RATE_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    WCODEC_LOSSY_CLASSES = 16, /* four numbers of the order each, as tables can tell them apart */
    WCODEC_LOSSY_BUCKETS = 64, /* magnitudes up to 15, then four ranges an octave up to 2^16 */
    WCODEC_LOSSY_DIRECT = 256, /* magnitudes that have costs of their own */
    WCODEC_LOSSY_MAX = 32767   /* largest coefficient */
};

struct wcodec_lossy_counts {
    uint64_t counts[WCODEC_LOSSY_CLASSES][WCODEC_LOSSY_BUCKETS];
};

struct wcodec_lossy_costs {
    float bits[WCODEC_LOSSY_CLASSES][WCODEC_LOSSY_DIRECT]; /* of a magnitude and its sign */
    float least[WCODEC_LOSSY_CLASSES]
               [WCODEC_LOSSY_DIRECT]; /* what a value must reach for a magnitude, or it gets the one
                                         below */
    float tail[WCODEC_LOSSY_CLASSES][WCODEC_LOSSY_BUCKETS]; /* of the magnitudes of a range, each */
};

static inline unsigned wcodec_lossy_bucket(unsigned magnitude)
{
    unsigned octave = 4;
    if (magnitude < 16)
        return magnitude;
    while (magnitude >> octave > 1)
        octave++;
    return octave * 4 + (magnitude >> (octave - 2) & 3);
}

/* From what was counted, for the first `classes`. lambda: squared steps that a bit is worth; 0:
 * plain rounding. Classes of which nothing was counted cost as all together. */
void wcodec_lossy_costs_make(const struct wcodec_lossy_counts *counts, unsigned classes,
                             float lambda, struct wcodec_lossy_costs *costs);

/* The nearest magnitude to a value of this size. */
static inline int32_t wcodec_lossy_nearest(float size)
{
    return (int32_t)((size < WCODEC_LOSSY_MAX ? size : WCODEC_LOSSY_MAX) + 0.5f);
}

/* The same for 64 values times `inverse`, one step after the other: compilers make vectors of each.
 */
static inline void wcodec_lossy_scale_block(const float *values, float inverse, float *sizes,
                                            int32_t *nearest)
{
    float limited[64];
    for (unsigned i = 0; i < 64; i++)
        sizes[i] = fabsf(values[i] * inverse);
    for (unsigned i = 0; i < 64; i++)
        limited[i] = sizes[i] < WCODEC_LOSSY_MAX ? sizes[i] : WCODEC_LOSSY_MAX;
    for (unsigned i = 0; i < 64; i++)
        nearest[i] = (int32_t)(limited[i] + 0.5f);
}

/* The magnitude that the value gets: the nearest, or the one below. No branch: neither can be
 * foretold. */
static inline int32_t wcodec_lossy_round_nearest(const struct wcodec_lossy_costs *costs,
                                                 unsigned class, float size, int32_t nearest)
{
    const int32_t direct = nearest < WCODEC_LOSSY_DIRECT ? nearest : 0;
    return nearest - (size < costs->least[class][direct]);
}

static inline unsigned wcodec_lossy_round(const struct wcodec_lossy_costs *costs, unsigned class,
                                          float size)
{
    return (unsigned)wcodec_lossy_round_nearest(costs, class, size, wcodec_lossy_nearest(size));
}

static inline float wcodec_lossy_bits(const struct wcodec_lossy_costs *costs, unsigned class,
                                      unsigned magnitude)
{
    return magnitude < WCODEC_LOSSY_DIRECT ? costs->bits[class][magnitude]
                                           : costs->tail[class][wcodec_lossy_bucket(magnitude)];
}

#endif
