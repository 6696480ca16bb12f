/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "vectors/vectors.h"

#include <math.h>

enum { BLOCK = WCODEC_VECTORS_BLOCK, LANES = WCODEC_NEAREST_LANES };

double wcodec_vectors_sum(const struct wcodec_vectors_work *work, const double *sums)
{
    double sum = 0;
    for (size_t i = 0; i < wcodec_vectors_blocks(work); i++)
        sum += sums[i];
    return sum;
}

void wcodec_vectors_put_lane(float *panels, size_t i, const float *row, size_t width, float other)
{
    float *lane = panels + i / LANES * LANES * width + i % LANES;
    for (size_t j = 0; j < width; j++)
        lane[j * LANES] = row != NULL ? row[j] : other;
}

static void make_panels(struct wcodec_vectors_work *work)
{
    const size_t lanes = (work->m + LANES - 1) / LANES * LANES;
    for (size_t k = 0; k < lanes; k++)
        wcodec_vectors_put_lane(work->panels, k,
                                k < work->m ? work->anchors + k * work->width : NULL, work->width,
                                INFINITY);
}

static void assign_block(void *opaque, size_t block)
{
    struct wcodec_vectors_work *work = opaque;
    const size_t first = block * BLOCK, count = wcodec_vectors_block_end(work, block) - first;
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
    double sum = 0;
    for (size_t i = block * BLOCK; i < wcodec_vectors_block_end(work, block); i++)
        sum += (double)wcodec_vectors_distance(work->rows + i * work->width,
                                               work->anchors + work->index[i] * work->width,
                                               work->width);
    work->block_sum[block] = sum;
}

double wcodec_vectors_energy(struct wcodec_vectors_work *work)
{
    wcodec_run(work->context, energy_of_block, work, wcodec_vectors_blocks(work));
    return wcodec_vectors_sum(work, work->block_sum) / (double)work->n;
}
