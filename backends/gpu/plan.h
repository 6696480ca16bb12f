/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* From jobs of the backend interface to what kernels read: chooses each tile's kernel, orders tiles
 * by kernel and tables, and writes one block of descriptors, in which addresses are the device's.
 * Host code, for every GPU backend. */
#ifndef WCODEC_GPU_PLAN_H
#define WCODEC_GPU_PLAN_H

#include "backends/backend.h"
#include "backends/kernels/jobs.h"

/* Kernels: one generic, and fast ones by shape, coding and whether an offset is subtracted. */
enum {
    WCODEC_CODING_PAIRS = 0,
    WCODEC_CODING_P12 = 1,
    WCODEC_CODING_P8 = 2,
    WCODEC_CODING_P8_RUNS = 3,
    WCODEC_CODINGS = 4
};
enum { WCODEC_KERNEL_GENERIC = WCODEC_SHAPES * WCODEC_CODINGS * 2 };
/* Behind it the fused ones, whose tiles become elements of a tensor in blocks, or of a lossy one,
 * at once: of 8-bit coefficients in blocks by P8 with runs, of 16-bit ones of which both bytes are
 * so coded, and of plain ones by P12 and by pairs; the same with raw bits below what is coded: of
 * 16-bit ones in blocks, of plain 16-bit ones by P12, and of plain 8-bit ones by pairs; and of
 * blocks of 8-bit elements, of which the lowest bits may be raw. */
enum {
    WCODEC_FUSED_LOSSY_BLOCKS = WCODEC_KERNEL_GENERIC + 1,
    WCODEC_FUSED_LOSSY_WIDE,
    WCODEC_FUSED_LOSSY_P12,
    WCODEC_FUSED_LOSSY_PAIRS,
    WCODEC_FUSED_LOSSY_RAW_WIDE,
    WCODEC_FUSED_LOSSY_RAW_P12,
    WCODEC_FUSED_LOSSY_RAW_PAIRS,
    WCODEC_FUSED_8_4_PAIRS,
    WCODEC_FUSED_8_1_PAIRS,
    WCODEC_FUSED_8_2_PAIRS,
    WCODEC_FUSED_8_3_PAIRS,
    WCODEC_FUSED_8_0_P12,
    WCODEC_FUSED_8_0_P8,
    WCODEC_FUSED_8_0_P8_RUNS,
    WCODEC_KERNELS
};
/* Besides those of tiles: the kernels that make elements of residuals, and of lossy tensors'
 * coefficients. */
enum { WCODEC_KERNEL_BLOCKS = WCODEC_KERNELS, WCODEC_KERNEL_LOSSY, WCODEC_KERNELS_ALL };

static inline unsigned wcodec_kernel_number(unsigned shape, unsigned coding, bool add)
{
    return shape == WCODEC_SHAPE_32_8 ? (WCODEC_SHAPE_32_24 * WCODEC_CODINGS + coding) * 2 + 1
                                      : (shape * WCODEC_CODINGS + coding) * 2 + add;
}

static inline unsigned wcodec_kernel_shape(unsigned kernel)
{
    const unsigned shape = kernel / 2 / WCODEC_CODINGS;
    return shape == WCODEC_SHAPE_32_24 && kernel % 2 ? (unsigned)WCODEC_SHAPE_32_8 : shape;
}

/* Tiles of one kernel: jobs [first, first + count) in the order of their tables. */
struct wcodec_kernel_run {
    uint32_t first;
    uint32_t count;
};

/* Consecutive tile jobs with the same tables. */
struct wcodec_segment {
    uint64_t tables; /* offset in the block */
    uint32_t first;
    uint32_t count;
};

struct wcodec_gpu_plan {
    const struct wcodec_host *host;
    uint64_t tiles; /* of all jobs: a fault each, in the order of the jobs */
    uint64_t size;  /* bytes of the block */
    uint64_t jobs;  /* offset of the tile jobs */
    /* to be copied to the device; tile jobs at the front. Allocated by build unless it is set
     * before, after measure: then it is the caller's */
    uint8_t *block;
    bool lent;             /* is it? */
    uint64_t scratch_size; /* bytes of the device for residuals of tensors in blocks; may be 0 */
    uint64_t scratch;      /* where they are, aligned to 256: an address, set before build */
    /* Tiles of tensors in blocks, and of lossy ones, that no fused kernel takes: behind the kernels
     * of tiles they are reconstructed from the scratch memory by kernel WCODEC_KERNEL_BLOCKS + i.
     * blocks: offset of their wcodec_blocks_jobs, of either kind blocks_room; those of fused tiles
     * are the last of a kind's. */
    uint64_t blocks;
    uint32_t blocks_count[2];
    uint32_t blocks_room[2];
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

/* The kernel that decodes whole tiles of such a tensor in mode 0; WCODEC_KERNEL_GENERIC where none
 * is made for it. */
unsigned wcodec_gpu_plan_kernel(const struct wcodec_tiling *tiling);
/* The fused kernel of a job's tiles in mode 0; likewise. */
unsigned wcodec_gpu_plan_fused(const struct wcodec_job *job);
/* The kernel of a job's whole tiles, of those that there are. */
unsigned wcodec_gpu_plan_job_kernel(const struct wcodec_job *job, uint64_t kernels);
/* Does fused kernel `kernel`, if it is one, make elements of the tile? */
bool wcodec_gpu_plan_is_fused(const struct wcodec_job *job, unsigned kernel, uint64_t kernels,
                              uint64_t tile);

#endif
