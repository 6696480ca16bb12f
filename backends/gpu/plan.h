/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* From jobs of the backend interface to what kernels read: chooses each tile's kernel, orders tiles
 * by kernel and tables, and writes one block of descriptors, in which addresses are the device's.
 * Host code, for every GPU backend. */
#ifndef WCODEC_GPU_PLAN_H
#define WCODEC_GPU_PLAN_H

#include "backends/backend.h"
#include "backends/gpu/kernels.h"
#include "backends/kernels/jobs.h"

/* Tiles of one kernel: jobs [first, first + count) in the order of their tables. At a fixed rate
 * they are numbers of tiles, after those of all jobs. */
struct wcodec_kernel_run {
    uint32_t first;
    uint32_t count;
};

/* Consecutive tile jobs with the same tables, or the tiles of a job at a fixed rate, whose
 * wcodec_fixed_job is in the place of tables. */
struct wcodec_segment {
    uint64_t tables; /* offset in the block */
    uint32_t first;
    uint32_t count;
};

/* Tensors whose tiles are only a step on the way to elements: in blocks, lossy, in fragments. */
enum { WCODEC_GPU_VIEWS = 3 };
/* The kernels that make the elements of what was left in scratch memory. */
extern const unsigned wcodec_gpu_plan_units[WCODEC_GPU_VIEWS];

struct wcodec_gpu_plan {
    const struct wcodec_host *host;
    uint64_t tiles;     /* of all jobs: a fault each, in the order of the jobs */
    uint64_t tile_jobs; /* of those that are not at a fixed rate */
    uint64_t size;      /* bytes of the block */
    /* to be copied to the device; tile jobs at the front. Allocated by build unless it is set
     * before, after measure: then it is the caller's */
    uint8_t *block;
    bool lent;             /* is it? */
    uint64_t scratch_size; /* bytes of the device for what tiles hold that are a step on the way to
                              elements; may be 0 */
    uint64_t scratch;      /* where they are, aligned to 256: an address, set before build */
    /* Tiles of such tensors that no fused kernel takes: behind the kernels of tiles their elements
     * are made from the scratch memory by wcodec_gpu_plan_units[].
     * blocks: offset of their wcodec_blocks_jobs, of each kind blocks_capacity; those of fused
     * tiles are the last of a kind's. */
    uint64_t blocks;
    uint64_t view; /* offset of the last job's wcodec_view_job, of a kind that has one */
    uint32_t blocks_count[WCODEC_GPU_VIEWS];
    uint32_t blocks_capacity[WCODEC_GPU_VIEWS];
    uint64_t kernels;
    struct wcodec_kernel_run runs[WCODEC_KERNELS];
    struct wcodec_segment *segments; /* in the order of their tiles */
    uint32_t segment_count;
};

/* Where memory is, as kernels see it. */
typedef uint64_t wcodec_address_function(const struct wcodec_memory *memory);

#define WCODEC_GPU_PLAN_ANY_TILE ((uint64_t)1 << 63)
_Static_assert(WCODEC_KERNELS <= 63, "a bit for each kernel below WCODEC_GPU_PLAN_ANY_TILE");

/* First the sizes: *plan->size and *plan->scratch_size bytes of the device are needed, aligned to
 * 256. kernels: bit k is set if kernel k is there; WCODEC_GPU_PLAN_ANY_TILE if they take tiles that
 * are not whole, and any destination (fused ones do). */
wcodec_status wcodec_gpu_plan_measure(const struct wcodec_host *host, const struct wcodec_job *jobs,
                                      size_t count, uint64_t kernels, struct wcodec_gpu_plan *plan,
                                      wcodec_error *err);
/* Then the block, for a place at `address`. */
wcodec_status wcodec_gpu_plan_build(struct wcodec_gpu_plan *plan, const struct wcodec_job *jobs,
                                    size_t count, uint64_t address, wcodec_address_function *place,
                                    wcodec_error *err);
void wcodec_gpu_plan_free(struct wcodec_gpu_plan *plan);

/* Cut tiles [first, first + count) of one kernel, which begin in *segments, for `groups`
 * work-groups at most: group g takes parts [numbers[g], numbers[g + 1]). Few segments are cut into
 * a part a group, so that it has one set of tables; many are not: then all groups have as many
 * tiles. Returns the number of groups; *tiles is how many one has at most. Room is needed for
 * `groups` parts and one a segment, and groups + 1 numbers. */
uint32_t wcodec_gpu_plan_cut(const struct wcodec_segment *segments, uint32_t first, uint32_t count,
                             uint32_t groups, struct wcodec_part *parts, uint32_t *numbers,
                             uint32_t *tiles);

/* What came of a job: `faults` are its tiles'. */
struct wcodec_job_result wcodec_gpu_plan_result(const struct wcodec_job *job,
                                                const volatile uint32_t *faults);

/* Tables of a job: of segments, at most so many come of it. */
uint64_t wcodec_gpu_plan_tables(const struct wcodec_job *job);

/* A job at a fixed rate: its kernel, and its descriptors, which take so many bytes of the block, a
 * multiple of 16, and are written to `at`, which is at `address`. The other addresses are those of
 * its records, of its spilled elements, and of its output. slot: as wcodec_fixed_job has it. */
unsigned wcodec_gpu_plan_fixed_kernel(const struct wcodec_fixed *fixed);
uint64_t wcodec_gpu_plan_fixed_size(const struct wcodec_job *job);
void wcodec_gpu_plan_write_fixed(const struct wcodec_job *job, uint64_t records, uint64_t spilled,
                                 uint64_t out, uint32_t slot, uint64_t address, uint8_t *at);

/* The kernel that decodes whole tiles of such a tensor in mode 0; WCODEC_KERNEL_GENERIC where none
 * is made for it. */
unsigned wcodec_gpu_plan_kernel(const struct wcodec_tiling *tiling);
/* The kernel that makes elements of a job's tiles at once in mode 0; likewise. */
unsigned wcodec_gpu_plan_fused(const struct wcodec_job *job);
/* The kernel of a job's whole tiles, of those that there are. */
unsigned wcodec_gpu_plan_job_kernel(const struct wcodec_job *job, uint64_t kernels);
/* Does fused kernel `kernel`, if it is one, make elements of the tile? */
bool wcodec_gpu_plan_is_fused(const struct wcodec_job *job, unsigned kernel, uint64_t kernels,
                              uint64_t tile);

#endif
