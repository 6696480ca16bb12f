/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* What a launch of kernels is given, for hosts and kernels, and what its warps need of it. */
#ifndef WCODEC_KERNELS_LAUNCH_H
#define WCODEC_KERNELS_LAUNCH_H

#include "backends/kernels/geometry.h"

/* Addresses are of the batch's block of descriptors: in OpenCL offsets. */
struct wcodec_launch {
    uint64_t block;  /* of all descriptors */
    uint64_t jobs;   /* wcodec_tile_job, or wcodec_blocks_job */
    uint64_t tables; /* wcodec_table_set of all tiles, at a fixed rate their wcodec_fixed_job; or 0:
                        as the parts say */
    uint64_t parts;  /* wcodec_part; at a fixed rate 0 with one job for all; latency: what tables of
                        pairs are made from */
    uint64_t first_part; /* of each work-group, and one more; 0: one a work-group */
    uint64_t faults;     /* a word for each tile */
    uint64_t out;        /* added to where tile jobs say that elements go */
    uint64_t queue;  /* 0, or with tables for all: tiles taken, and work-groups that have ended */
    uint32_t ones;   /* all bits set. From here the compiler cannot see it, and takes it as an
                        operand instead of making it again and again */
    uint32_t serial; /* of the decoding, which faults bear; 0: they are cleared before */
    uint32_t count;  /* generic, units, and with tables for all: tiles */
    uint32_t first;  /* with tables for all, and units: their first job */
    uint32_t table_bytes; /* of shared memory, for a work-group's tables */
    uint32_t warp_bytes;  /* of shared memory, for each warp */
    uint32_t units;       /* latency: work-groups of which neighbours run on different units */
    uint32_t tiles;       /* latency: of a work-group */
    uint32_t inverse;     /* latency: 2^16 over that, rounded up */
    uint32_t helpers;     /* latency: warps for each tile */
    uint32_t words;       /* latency: most of a tile, a multiple of 8 */
    uint32_t groups; /* latency: of each tile; lossy: of the largest, a multiple of 16; at a fixed
                        rate: work-groups */
};
WCODEC_STRUCT_SIZE(wcodec_launch, 112);

#ifdef WCODEC_BLOCK
WCODEC_DEVICE_FUNCTION const WCODEC_GLOBAL struct wcodec_tile_job *
wcodec_job_at(struct wcodec_warp *warp, const struct wcodec_launch *launch, uint32_t number)
{
    return WCODEC_BLOCK(warp, struct wcodec_tile_job, launch->jobs) + number;
}

/* Called by one lane. slot: as the job has it. */
WCODEC_DEVICE_FUNCTION void wcodec_report_fault(struct wcodec_warp *warp,
                                                const struct wcodec_launch *launch, uint32_t slot,
                                                uint32_t fault)
{
    WCODEC_BLOCK_OUT(warp, uint32_t, launch->faults)
    [slot & 0x7fffffffu] = launch->serial << 3 | fault;
    WCODEC_RAISE_FLAG(warp, launch->serial);
}

#endif

#ifdef WCODEC_SIMT
/* Shared memory: the part that the work-group is at (read again when needed, rather than held in
 * registers through a tile), tables, and what each warp has. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_tables_at(struct wcodec_warp *warp)
{
    return wcodec_shared_base(warp) + WCODEC_SHARED_HEAD;
}

WCODEC_DEVICE_FUNCTION uint32_t wcodec_warp_at(struct wcodec_warp *warp,
                                               const struct wcodec_launch *launch)
{
    return wcodec_tables_at(warp) + launch->table_bytes +
           wcodec_warp_number(warp) * launch->warp_bytes;
}

/* Number of the first job after the part's. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_part_end(struct wcodec_warp *warp)
{
    const wcodec_u2 part = wcodec_shared_u2(warp, wcodec_shared_base(warp) + 8);
    return part.x + part.y;
}

WCODEC_DEVICE_FUNCTION const WCODEC_GLOBAL struct wcodec_table_set *
wcodec_part_set(struct wcodec_warp *warp)
{
    const wcodec_u2 tables = wcodec_shared_u2(warp, wcodec_shared_base(warp));
    return WCODEC_BLOCK(warp, struct wcodec_table_set, (uint64_t)tables.y << 32 | tables.x);
}

/* All of a descriptor at once, so that nothing of it is waited for twice. */
WCODEC_DEVICE_FUNCTION void wcodec_load_job(const WCODEC_GLOBAL struct wcodec_tile_job *from,
                                            struct wcodec_tile_job *job)
{
    union {
        struct wcodec_tile_job job;
        wcodec_u4 part[sizeof(struct wcodec_tile_job) / 16];
    } u;
    WCODEC_UNROLL_ALL
    for (uint32_t i = 0; i < sizeof u / 16; i++)
        u.part[i] = wcodec_load_u4((const WCODEC_GLOBAL uint8_t *)from + 16 * i);
    *job = u.job;
}

/* Where words are copied from: never what is after a payload that ends with no words. */
#define WCODEC_WORD_ADDRESS(job) ((job)->word_count ? (job)->words : (job)->states)

/* Call into the cache what a tile begins with. */
WCODEC_DEVICE_FUNCTION void wcodec_prefetch_tile(struct wcodec_warp *warp,
                                                 const WCODEC_GLOBAL struct wcodec_tile_job *job,
                                                 const bool has_raw)
{
    const uint32_t lane = wcodec_lane(warp);
    if (lane < 8) {
        if (lane * 128 < 2 * job->word_count)
            wcodec_prefetch(WCODEC_BUFFER(warp, uint8_t, job->words) + lane * 128);
    } else if (lane < 16) {
        if (has_raw && job->elements >= 4096) /* as all whole tiles */
            wcodec_prefetch(WCODEC_BUFFER(warp, uint8_t, job->raw) + (lane - 8) * 128);
    } else if (lane == 31) {
        wcodec_prefetch(WCODEC_BUFFER(warp, uint8_t, job->states));
    } else if (lane > 28 && job->outliers) {
        wcodec_prefetch(WCODEC_BUFFER(warp, uint8_t, lane == 30 ? job->positions : job->values));
    }
}

WCODEC_DEVICE_FUNCTION void wcodec_prefetch_job(struct wcodec_warp *warp,
                                                const struct wcodec_launch *launch, uint32_t number)
{
    if (number < wcodec_part_end(warp) && wcodec_lane(warp) < 2)
        wcodec_prefetch((const WCODEC_GLOBAL uint8_t *)wcodec_job_at(warp, launch, number) +
                        wcodec_lane(warp) * (sizeof(struct wcodec_tile_job) - 1));
}
#endif

#endif
