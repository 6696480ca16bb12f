/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Matrices in fragments (doc/format.md 7) from their sequence in scratch memory: of any shape, any
 * elements of them. A warp takes 128 elements at a time, a lane four of them. */
#ifndef WCODEC_KERNELS_FRAGMENTS_H
#define WCODEC_KERNELS_FRAGMENTS_H

#include "backends/kernels/jobs.h"

struct wcodec_fragments_work {
    WCODEC_WARP_MEMBER
    const WCODEC_GLOBAL struct wcodec_view_job *view;
};

/* Where an element of the sequence stands. */
struct wcodec_fragment_place {
    uint64_t at;    /* in the tensor */
    uint32_t whole; /* is its section? Then the next three elements are behind it, if this is the
                       first of four */
};

WCODEC_DEVICE_FUNCTION void wcodec_fragment_find(const WCODEC_GLOBAL struct wcodec_view_job *view,
                                                 uint64_t element,
                                                 struct wcodec_fragment_place *place)
{
    const uint32_t columns = view->columns, in_band = 16 * columns;
    const uint64_t band = element / in_band, left = view->rows - 16 * band;
    const uint32_t height = left < 16 ? (uint32_t)left : 16,
                   i = (uint32_t)(element - band * in_band), x = i / (128 * height),
                   k = i - x * 128 * height, behind = columns - 128 * x,
                   width = behind < 128 ? behind : 128;
    uint32_t row = k / width, column = k - row * width;
    place->whole = height == 16 && width == 128;
    if (place->whole) {
        row = (k >> 4 & 7) + (k >> 7 & 1) * 8;
        column = (k & 3) + (k >> 2 & 3) * 8 + (k >> 8 & 1) * 4 + (k >> 9) * 32;
    }
    place->at = (16 * band + row) * columns + 128 * x + column;
}

/* Element i of the tile, if it is wanted. */
WCODEC_DEVICE_FUNCTION void wcodec_fragment_one(struct wcodec_fragments_work *w,
                                                const WCODEC_GLOBAL struct wcodec_blocks_job *job,
                                                uint32_t i)
{
    const WCODEC_GLOBAL struct wcodec_view_job *view = w->view;
    struct wcodec_fragment_place place;
    wcodec_fragment_find(view, job->first + i, &place);
    if (place.at < view->begin || place.at >= view->end)
        return;
    const uint64_t out = view->out + ((place.at - view->begin) << view->wide);
    if (view->wide)
        *WCODEC_AT_OUT(w, uint16_t, out) = WCODEC_AT(w, raw, uint16_t, job->residuals)[i];
    else
        *WCODEC_AT_OUT(w, uint8_t, out) = WCODEC_AT(w, raw, uint8_t, job->residuals)[i];
}

/* Four elements from element i of the tile on, which begin in whole words. */
WCODEC_DEVICE_FUNCTION void wcodec_fragment_four(struct wcodec_fragments_work *w,
                                                 const WCODEC_GLOBAL struct wcodec_blocks_job *job,
                                                 uint32_t i)
{
    const WCODEC_GLOBAL struct wcodec_view_job *view = w->view;
    struct wcodec_fragment_place place;
    wcodec_fragment_find(view, job->first + i, &place);
    const uint64_t out = view->out + ((place.at - view->begin) << view->wide);
    if (i + 4 > job->blocks || (job->first + i) % 4 != 0 || !place.whole || view->columns % 4 ||
        out % 4 || place.at < view->begin || place.at + 4 > view->end) {
        for (uint32_t end = i + 4; i < end && i < job->blocks; i++)
            wcodec_fragment_one(w, job, i);
        return;
    }
    const WCODEC_GLOBAL uint32_t *from = WCODEC_AT(w, raw, uint32_t, job->residuals);
    WCODEC_GLOBAL uint32_t *to = WCODEC_AT_OUT(w, uint32_t, out);
    if (view->wide) {
        to[0] = from[i / 2];
        to[1] = from[i / 2 + 1];
    } else {
        to[0] = from[i / 4];
    }
}

/* Elements of a tile, of which warp `number` of `warps` takes some. w: room, in OpenCL bound to
 * buffers: block, out, and raw for the sequence. */
WCODEC_DEVICE_FUNCTION void wcodec_fragments_tile(struct wcodec_fragments_work *w,
                                                  const WCODEC_GLOBAL struct wcodec_blocks_job *job,
                                                  uint32_t number, uint32_t warps)
{
    WCODEC_UNROLL_NONE
    for (uint32_t first = 128 * number; first < job->blocks; first += 128 * warps)
        WCODEC_EACH_LANE
        {
            if (first + 4 * lane < job->blocks)
                wcodec_fragment_four(w, job, first + 4 * lane);
        }
}

#endif
