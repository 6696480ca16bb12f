/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The kernel that decodes whatever no other one takes: a warp a tile. */
#ifndef WCODEC_KERNELS_GENERIC_H
#define WCODEC_KERNELS_GENERIC_H

#include "backends/kernels/launch.h"
#include "backends/kernels/tile.h"

WCODEC_DEVICE_FUNCTION void wcodec_generic_kernel(struct wcodec_warp *warp,
                                                  const struct wcodec_launch *launch)
{
    const uint32_t number = wcodec_group(warp) * wcodec_warps(warp) + wcodec_warp_number(warp);
    if (number >= launch->count)
        return;
    const WCODEC_GLOBAL struct wcodec_tile_job *job =
        wcodec_job_at(warp, launch, launch->first + number);
    /* A tile's streams have the same buffers. */
    const WCODEC_GLOBAL struct wcodec_stream_job *stream =
        WCODEC_BLOCK(warp, struct wcodec_stream_job, job->runs);
    struct wcodec_tile_work work;
    WCODEC_WARP_COPY(&work, warp);
    WCODEC_BIND(&work, states, stream->states);
    WCODEC_BIND(&work, words, stream->words);
    WCODEC_BIND(&work, raw, job->raw);
    WCODEC_BIND(&work, positions, stream->positions);
    WCODEC_BIND(&work, values, stream->values);
    work.base = launch->out;
    WCODEC_BIND(&work, out, work.base + job->out);
    const uint32_t fault = wcodec_decode_tile(&work, job, launch->block);
    if (fault && wcodec_is_first(warp))
        wcodec_report_fault(warp, launch, job->slot, fault);
}

#endif
