/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The nearest anchor of a row, by squared distances in binary32. Plain C says what the results are,
 * to the last bit (nearest.c); tests/unit/checkdsp_nearest.c proves each level against it. */
#ifndef WCODEC_CPU_NEAREST_H
#define WCODEC_CPU_NEAREST_H

#include <stddef.h>
#include <stdint.h>

enum {
    WCODEC_NEAREST_LANES = 16, /* anchors of a panel */
    WCODEC_NEAREST_GROUP = 4   /* dimensions that a step of a sum takes */
};

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
};

/* The best function among the levels in mask, already masked by what the machine has. */
void wcodec_cpu_nearest_dsp_init(struct wcodec_cpu_nearest_dsp *dsp, uint32_t levels);

void wcodec_cpu_nearest_dsp_init_scalar(struct wcodec_cpu_nearest_dsp *dsp);
void wcodec_cpu_nearest_dsp_init_avx2(struct wcodec_cpu_nearest_dsp *dsp);
void wcodec_cpu_nearest_dsp_init_avx512(struct wcodec_cpu_nearest_dsp *dsp);

#endif
