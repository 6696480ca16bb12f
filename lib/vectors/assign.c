/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "core/memory.h"
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

/* Rows that are widened at once, of a block: those of some 2 MiB. */
static size_t rows_at_once(const struct wcodec_vectors_work *work)
{
    const size_t most = ((size_t)1 << 19) / work->width;
    return work->rows != NULL || most > BLOCK ? BLOCK : most > 0 ? most : 1;
}

/* Room for them; NULL, and a mark: there is none. Of rows that are there nothing is needed. */
static bool get_room(struct wcodec_vectors_work *work, float **room)
{
    *room = work->rows != NULL ? NULL
                               : wcodec_alloc_array(&work->context->allocator, rows_at_once(work),
                                                    work->width * sizeof **room);
    if (work->rows != NULL || *room != NULL)
        return true;
    atomic_store(&work->full, true);
    return false;
}

static void assign_block(void *opaque, size_t block)
{
    struct wcodec_vectors_work *work = opaque;
    const size_t end = wcodec_vectors_block_end(work, block), most = rows_at_once(work);
    uint32_t index[BLOCK];
    size_t changes = 0;
    float *room;
    work->block_count[block] = 0;
    if (wcodec_cancel_poll(&work->cancel) || !get_room(work, &room))
        return;
    for (size_t first = block * BLOCK; first < end; first += most) {
        const size_t count = end - first < most ? end - first : most;
        work->dsp.nearest(wcodec_vectors_widened(work, first, count, room), count, work->width,
                          work->panels, (work->m + LANES - 1) / LANES, work->distance + first,
                          index);
        for (size_t i = 0; i < count; i++) {
            changes += work->index[first + i] != index[i];
            work->index[first + i] = index[i];
        }
    }
    wcodec_free(&work->context->allocator, room);
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
    const size_t end = wcodec_vectors_block_end(work, block), most = rows_at_once(work);
    double sum = 0;
    float *room;
    work->block_sum[block] = 0;
    if (!get_room(work, &room))
        return;
    for (size_t first = block * BLOCK; first < end; first += most) {
        const size_t count = end - first < most ? end - first : most;
        const float *rows = wcodec_vectors_widened(work, first, count, room);
        for (size_t i = 0; i < count; i++)
            sum += (double)wcodec_vectors_distance(
                rows + i * work->width, work->anchors + work->index[first + i] * work->width,
                work->width);
    }
    wcodec_free(&work->context->allocator, room);
    work->block_sum[block] = sum;
}

double wcodec_vectors_energy(struct wcodec_vectors_work *work)
{
    wcodec_run(work->context, energy_of_block, work, wcodec_vectors_blocks(work));
    return wcodec_vectors_sum(work, work->block_sum) / (double)work->n;
}
