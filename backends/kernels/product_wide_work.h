/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* What threads of products of many vectors (product_wide.h) know of their work-group, and its
 * barriers. */
#ifndef WCODEC_KERNELS_PRODUCT_WIDE_WORK_H
#define WCODEC_KERNELS_PRODUCT_WIDE_WORK_H

#include "backends/kernels/product.h"
#include "backends/kernels/warpgroup.h"

#ifdef WCODEC_WARPGROUPS
/* What a thread knows of its work-group. */
struct wcodec_wide {
    const struct wcodec_wide_launch *launch;
    uint32_t part, share; /* its numbers in the cluster */
    uint32_t block;       /* of vectors */
    uint32_t rows;        /* its number among those of rows */
    uint32_t first, end;  /* tiles */
    uint32_t full;        /* barriers: of stages of x that have come, */
    uint32_t empty;       /* and of those that have been read */
    uint32_t records;     /* likewise, of the warps' records: wcodec_wide_barrier() */
    uint32_t stages;      /* where they begin */
    uint32_t warps;       /* likewise, what each warp has */
};

WCODEC_DEVICE_FUNCTION void wcodec_wide_place(const uint32_t vectors, struct wcodec_warp *warp,
                                              const struct wcodec_wide_launch *l,
                                              struct wcodec_wide *w)
{
    const uint32_t parts = l->product.parts, size = parts * l->shares,
                   cluster = wcodec_group(warp) / size, rank = wcodec_group(warp) % size,
                   across = l->product.across, base = wcodec_shared_base(warp),
                   each = WCODEC_WIDE_BANDS * l->shares,
                   clusters = (l->product.bands + each - 1) / each;
    w->launch = l;
    w->part = rank % parts;
    w->share = rank / parts;
    w->block = cluster / clusters;
    w->rows = cluster % clusters * l->shares + w->share;
    w->first = across * w->part / parts;
    w->end = across * (w->part + 1) / parts;
    w->full = base;
    w->empty = base + 8 * WCODEC_WIDE_STAGES;
    w->records = base + 16 * WCODEC_WIDE_STAGES;
    w->stages = base + WCODEC_WIDE_HEAD;
    w->warps = w->stages + l->stages * vectors * 128;
}

/* Of place `place` of a warp's records: one has come, its outliers are in their array, both have
 * been read. All lanes arrive at the last two, each for what it did. */
#define WCODEC_WIDE_COME 0
#define WCODEC_WIDE_READY 1
#define WCODEC_WIDE_READ 2
WCODEC_DEVICE_FUNCTION uint32_t wcodec_wide_barrier(const struct wcodec_wide *w, uint32_t number,
                                                    uint32_t place, const uint32_t what)
{
    return w->records + 8 * (3 * (number * WCODEC_WIDE_RECORDS + place) + what);
}

/* Where it is: the array, and the record behind it. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_wide_array(const uint32_t bits, const uint32_t records,
                                                  const struct wcodec_wide *w, uint32_t number,
                                                  uint32_t place)
{
    return w->warps +
           (number * records + place) * wcodec_wide_record(bits, w->launch->product.list);
}

/* All barriers; the cluster's may be arrived at from then on. */
WCODEC_DEVICE_FUNCTION void wcodec_wide_open(struct wcodec_warp *warp, const struct wcodec_wide *w)
{
    const uint32_t thread = wcodec_thread(warp), pairs = WCODEC_WIDE_BANDS * WCODEC_WIDE_RECORDS;
    if (thread < WCODEC_WIDE_STAGES) {
        wcodec_barrier_open(w->full + 8 * thread, 1);
        wcodec_barrier_open(w->empty + 8 * thread, WCODEC_WIDE_BANDS * w->launch->shares);
    } else if (thread >= 32 && thread < 32 + pairs) {
        for (uint32_t i = 0; i < 3; i++)
            wcodec_barrier_open(w->records + 8 * (3 * (thread - 32) + i),
                                i == WCODEC_WIDE_COME ? 1 : 32);
    }
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    wcodec_sync_warp(warp);
    wcodec_cluster_meet(warp);
}
#endif

#endif
