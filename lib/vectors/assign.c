/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "vectors/vectors.h"

#include <math.h>

enum { BLOCK = WCODEC_VECTORS_BLOCK, LANES = WCODEC_NEAREST_LANES, GROUP = WCODEC_NEAREST_GROUP };

/* A statement for each rounding: within one, compilers may fuse. */
static float square_of(float a, float b)
{
    const float difference = a - b;
    const float square = difference * difference;
    return square;
}

float wcodec_vectors_distance(const float *a, const float *b, size_t width)
{
    float sum = 0;
    for (size_t at = 0; at < width; at += GROUP) {
        float group = square_of(a[at], b[at]);
        for (size_t j = at + 1; j < at + GROUP; j++) {
            const float square = square_of(a[j], b[j]);
            group += square;
        }
        sum += group;
    }
    return sum;
}

static void make_panels(struct wcodec_vectors_work *work)
{
    const size_t lanes = (work->m + LANES - 1) / LANES * LANES;
    for (size_t k = 0; k < lanes; k++) {
        float *panel = work->panels + k / LANES * LANES * work->width + k % LANES;
        for (size_t j = 0; j < work->width; j++)
            panel[j * LANES] = k < work->m ? work->anchors[k * work->width + j] : INFINITY;
    }
}

static void assign_block(void *opaque, size_t block)
{
    struct wcodec_vectors_work *work = opaque;
    const size_t first = block * BLOCK, left = work->n - first, count = left < BLOCK ? left : BLOCK;
    uint32_t index[BLOCK];
    size_t changes = 0;
    if (wcodec_cancel_poll(&work->cancel))
        return;
    work->dsp.nearest(work->rows + first * work->width, count, work->width, work->panels,
                      (work->m + LANES - 1) / LANES, work->distance + first, index);
    for (size_t i = 0; i < count; i++) {
        changes += work->index[first + i] != index[i];
        work->index[first + i] = index[i];
    }
    work->block_count[block] = changes;
}

size_t wcodec_vectors_assign(struct wcodec_vectors_work *work)
{
    size_t changes = 0;
    make_panels(work);
    wcodec_run(work->context, assign_block, work, wcodec_vectors_blocks(work));
    for (size_t i = 0; i < wcodec_vectors_blocks(work); i++)
        changes += work->block_count[i];
    return changes;
}

static void energy_of_block(void *opaque, size_t block)
{
    struct wcodec_vectors_work *work = opaque;
    const size_t first = block * BLOCK, left = work->n - first, count = left < BLOCK ? left : BLOCK;
    double sum = 0;
    for (size_t i = first; i < first + count; i++)
        sum += (double)wcodec_vectors_distance(work->rows + i * work->width,
                                               work->anchors + work->index[i] * work->width,
                                               work->width);
    work->block_sum[block] = sum;
}

double wcodec_vectors_energy(struct wcodec_vectors_work *work)
{
    double sum = 0;
    wcodec_run(work->context, energy_of_block, work, wcodec_vectors_blocks(work));
    for (size_t i = 0; i < wcodec_vectors_blocks(work); i++)
        sum += work->block_sum[i];
    return sum / (double)work->n;
}
