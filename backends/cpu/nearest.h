/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The nearest anchor of a row, by squared distances in binary32, and products of a vector with
 * codes of 8 bits, which are exact. Plain C says what the results are, to the last bit (nearest.c);
 * tests/unit/checkdsp_nearest.c proves each level against it. */
#ifndef WCODEC_CPU_NEAREST_H
#define WCODEC_CPU_NEAREST_H

#include <stddef.h>
#include <stdint.h>

enum {
    WCODEC_NEAREST_LANES = 16, /* anchors of a panel */
    WCODEC_NEAREST_GROUP = 4,  /* dimensions that a step of a sum takes */
    WCODEC_CODES_GROUP = 32,
    WCODEC_CODES_EXACT = 512 /* products of 16 and 8 bits that 32 bits add up */
};

/* A statement for each rounding: within one, compilers may fuse. */
static inline float wcodec_nearest_square(float a, float b)
{
    const float difference = a - b;
    const float square = difference * difference;
    return square;
}

/* Squared distance of two rows; the numbers of the second lie so far apart as `step`. */
static inline float wcodec_nearest_distance(const float *a, const float *b, size_t step,
                                            size_t dimensions)
{
    float sum = 0;
    for (size_t at = 0; at < dimensions; at += WCODEC_NEAREST_GROUP) {
        float group = wcodec_nearest_square(a[at], b[at * step]);
        for (size_t j = at + 1; j < at + WCODEC_NEAREST_GROUP; j++) {
            const float square = wcodec_nearest_square(a[j], b[j * step]);
            group += square;
        }
        sum += group;
    }
    return sum;
}

struct wcodec_cpu_nearest_dsp {
    unsigned level; /* number of the level */
    /* Rows of `dimensions` numbers, a multiple of WCODEC_NEAREST_GROUP, one after the other, and
     * panels of anchors: each dimension's numbers of WCODEC_NEAREST_LANES anchors beside each
     * other. Of each row the least distance and the anchor's number, the lowest of equal ones.
     * Lanes without an anchor are infinite. */
    void (*nearest)(const float *rows, size_t count, size_t dimensions, const float *panels,
                    size_t panel_count, float *distance, uint32_t *index);
    /* All distances: of row i and lane k of all lanes at sums[i * panel_count * LANES + k]. */
    void (*distances)(const float *rows, size_t count, size_t dimensions, const float *panels,
                      size_t panel_count, float *sums);
    /* Products of a vector with `count` rows of codes, one after the other; dimensions: a multiple
     * of WCODEC_CODES_GROUP. The vector's numbers are at least -32767. */
    void (*products)(const int16_t *vector, const int8_t *codes, size_t count, size_t dimensions,
                     int64_t *sums);
};

/* The best function among the levels in mask, already masked by what the machine has. */
void wcodec_cpu_nearest_dsp_init(struct wcodec_cpu_nearest_dsp *dsp, uint32_t levels);

void wcodec_cpu_nearest_dsp_init_scalar(struct wcodec_cpu_nearest_dsp *dsp);
void wcodec_cpu_nearest_dsp_init_avx2(struct wcodec_cpu_nearest_dsp *dsp);
void wcodec_cpu_nearest_dsp_init_avx512(struct wcodec_cpu_nearest_dsp *dsp);

#endif
