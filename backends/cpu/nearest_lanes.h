/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The nearest anchor by vectors: a lane an anchor, so that each sum is made in the order of plain
 * C. Included after a level's operations: lanes_t of WIDTH numbers, lanes_load(), lanes_store(),
 * lanes_set(), lanes_subtract(), lanes_multiply() and lanes_add(), lanes_keep(), which keeps lesser
 * distances and their numbers, and codes_product(vector, codes, dimensions), at most
 * WCODEC_CODES_EXACT. */
#ifndef WCODEC_CPU_NEAREST_LANES_H
#define WCODEC_CPU_NEAREST_LANES_H

#include "backends/cpu/inline.h"
#include "backends/cpu/nearest.h"

#include <math.h>

enum {
    LANES = WCODEC_NEAREST_LANES,
    GROUP = WCODEC_NEAREST_GROUP,
    PARTS = LANES / WIDTH, /* vectors of a panel */
    TOGETHER = 8 / PARTS   /* rows whose sums are in registers at once */
};

struct best {
    float distance[LANES];
    uint32_t index[LANES];
};

INLINE lanes_t lanes_square(lanes_t a, lanes_t b)
{
    const lanes_t difference = lanes_subtract(a, b);
    return lanes_multiply(difference, difference);
}

/* Of lanes to one: equal ones by the lower number. */
INLINE void choose(const struct best *best, float *distance, uint32_t *index)
{
    unsigned lane = 0;
    for (unsigned i = 1; i < LANES; i++)
        if (best->distance[i] < best->distance[lane] ||
            (best->distance[i] == best->distance[lane] && best->index[i] < best->index[lane]))
            lane = i;
    *distance = best->distance[lane];
    *index = best->distance[lane] < INFINITY ? best->index[lane] : 0;
}

INLINE void panel_sums(unsigned rows, const float *row, size_t dimensions, const float *panel,
                       lanes_t *sum)
{
    for (unsigned i = 0; i < rows * PARTS; i++)
        sum[i] = lanes_set(0);
    for (size_t at = 0; at < dimensions; at += GROUP)
        for (unsigned p = 0; p < PARTS; p++) {
            lanes_t anchor[GROUP];
            for (unsigned j = 0; j < GROUP; j++)
                anchor[j] = lanes_load(panel + (at + j) * LANES + (size_t)p * WIDTH);
            for (unsigned r = 0; r < rows; r++) {
                const float *x = row + r * dimensions + at;
                lanes_t group = lanes_square(lanes_set(x[0]), anchor[0]);
                for (unsigned j = 1; j < GROUP; j++)
                    group = lanes_add(group, lanes_square(lanes_set(x[j]), anchor[j]));
                sum[r * PARTS + p] = lanes_add(sum[r * PARTS + p], group);
            }
        }
}

INLINE void nearest_of(unsigned rows, const float *row, size_t dimensions, const float *panels,
                       size_t panel_count, float *distance, uint32_t *index)
{
    struct best best[TOGETHER];
    for (unsigned r = 0; r < rows; r++)
        for (unsigned i = 0; i < LANES; i++) {
            best[r].distance[i] = INFINITY;
            best[r].index[i] = 0;
        }
    for (size_t k = 0; k < panel_count; k++) {
        lanes_t sum[TOGETHER * PARTS];
        panel_sums(rows, row, dimensions, panels + k * LANES * dimensions, sum);
        for (unsigned r = 0; r < rows; r++)
            for (unsigned p = 0; p < PARTS; p++)
                lanes_keep(sum[r * PARTS + p], (uint32_t)k * LANES + p * WIDTH,
                           best[r].distance + (size_t)p * WIDTH, best[r].index + (size_t)p * WIDTH);
    }
    for (unsigned r = 0; r < rows; r++)
        choose(&best[r], distance + r, index + r);
}

static void nearest(const float *rows, size_t count, size_t dimensions, const float *panels,
                    size_t panel_count, float *distance, uint32_t *index)
{
    size_t i = 0;
    for (; count - i >= TOGETHER; i += TOGETHER)
        nearest_of(TOGETHER, rows + i * dimensions, dimensions, panels, panel_count, distance + i,
                   index + i);
    for (; i < count; i++)
        nearest_of(1, rows + i * dimensions, dimensions, panels, panel_count, distance + i,
                   index + i);
}

static void distances(const float *rows, size_t count, size_t dimensions, const float *panels,
                      size_t panel_count, float *sums)
{
    for (size_t k = 0; k < panel_count; k++)
        for (size_t i = 0; i < count; i++) {
            lanes_t sum[PARTS];
            panel_sums(1, rows + i * dimensions, dimensions, panels + k * LANES * dimensions, sum);
            for (size_t p = 0; p < PARTS; p++)
                lanes_store(sums + (i * panel_count + k) * LANES + p * WIDTH, sum[p]);
        }
}

static void products(const int16_t *vector, const int8_t *codes, size_t count, size_t dimensions,
                     int64_t *sums)
{
    for (size_t i = 0; i < count; i++, codes += dimensions) {
        sums[i] = 0;
        for (size_t at = 0; at < dimensions; at += WCODEC_CODES_EXACT)
            sums[i] += codes_product(vector + at, codes + at,
                                     dimensions - at < WCODEC_CODES_EXACT ? dimensions - at
                                                                          : WCODEC_CODES_EXACT);
    }
}

#endif
