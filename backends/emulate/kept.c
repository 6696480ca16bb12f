/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "backends/emulate/kept.h"

#include "backends/cpu/batch.h"
#include "backends/cpu/cpu.h"
#include "backends/emulate/kernels.h"
#include "backends/gpu/kept.h"

#include <stdlib.h>
#include <string.h>

struct wcodec_kept {
    const struct wcodec_host *host;
    struct wcodec_gpu_kept gpu;
    uint8_t *memory;
};

static unsigned random_below(uint64_t *seed, unsigned below)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)((*seed >> 33) % below);
}

struct wcodec_gpu_limits wcodec_emulated_limits(uint64_t *seed)
{
    static const uint32_t copies[] = {1, 4, 8, 16, 32, 32};
    const bool latency = random_below(seed, 4) != 0;
    struct wcodec_gpu_limits limits = {
        .units = 1 + random_below(seed, 3),
        .copies = copies[random_below(seed, 6)],
        .shared = 200 << 10,
        .unit_shared = 200 << 10,
        .groups = 2,
        .refit = random_below(seed, 2) == 0,
        .launch_tiles = random_below(seed, 3) == 0 ? 5 : 1 << 20,
        .lanes = WCODEC_FIBERS_WARP,
        .queue = random_below(seed, 4) != 0,
        .fixed_threads = random_below(seed, 4) == 0,
    };
    for (unsigned k = 0; k < WCODEC_KERNELS; k++)
        limits.kernels[k] = (struct wcodec_gpu_kernel){
            .there = wcodec_kernel_rows[k].family != WCODEC_FAMILY_LATENCY || latency,
            .warps = 1 + random_below(seed, 4),
            .groups = 1 + random_below(seed, 2),
        };
    return limits;
}

uint64_t wcodec_emulated_kernels_there(const struct wcodec_gpu_limits *limits)
{
    uint64_t there = WCODEC_GPU_PLAN_ANY_TILE;
    for (unsigned k = 0; k < WCODEC_KERNELS; k++)
        if (wcodec_kernel_takes_tiles(k) && limits->kernels[k].there)
            there |= (uint64_t)1 << k;
    return there;
}

static uint64_t address_of(const void *memory)
{
    return (uint64_t)(uintptr_t)memory;
}

static uint64_t memory_address(const struct wcodec_memory *memory)
{
    return address_of(memory->data);
}

struct running {
    struct wcodec_fibers *fibers;
    uint32_t copies;
    uint64_t seed;
};

static int launch(void *opaque, struct wcodec_gpu_launch *from)
{
    struct running *r = opaque;
    const struct wcodec_emulated_launch launched = {
        .kernel = from->kernel,
        .copies = r->copies,
        .groups = from->groups,
        .threads = from->threads,
        .shared = from->shared,
        .seed = r->seed++,
        .arguments = &from->arguments,
    };
    wcodec_emulate_launch(r->fibers, &launched);
    return 0;
}

static int set(void *opaque, uint64_t address, uint64_t value)
{
    (void)opaque;
    memcpy((void *)(uintptr_t)address, &value, sizeof value);
    return 0;
}

wcodec_status wcodec_emulated_kept_decode(struct wcodec_kept *kept, uint64_t queue, uint64_t begin,
                                          uint64_t end, uint64_t out, wcodec_error *err)
{
    (void)queue;
    if (out % 16 != 0)
        return kept->host->fail(err, WCODEC_ERROR_USAGE, "the destination is no multiple of 16");
    if (!wcodec_gpu_kept_divides(&kept->gpu, begin, end))
        return kept->host->fail(err, WCODEC_ERROR_UNSUPPORTED,
                                "these rows are coded together with others");
    struct running r = {wcodec_fibers_create(), kept->gpu.limits.copies, begin + end};
    const struct wcodec_gpu_kept_queue to = {launch, set, &r};
    if (r.fibers == NULL)
        return kept->host->fail(err, WCODEC_ERROR_MEMORY, "no memory for lanes");
    wcodec_gpu_kept_decode(&kept->gpu, begin, end, out, &to);
    wcodec_fibers_destroy(r.fibers);
    return WCODEC_OK;
}

static int launch_rows(void *opaque, struct wcodec_gpu_coded_rows *from)
{
    struct running *r = opaque;
    const struct wcodec_emulated_coded_rows launched = {
        .coding = wcodec_coded_rows_rows[from->kernel].coding,
        .copies = r->copies,
        .groups = from->groups,
        .threads = from->threads,
        .shared = from->shared,
        .seed = r->seed++,
        .arguments = &from->arguments,
    };
    wcodec_emulate_coded_rows(r->fibers, &launched);
    return 0;
}

wcodec_status wcodec_emulated_kept_gather(const struct wcodec_rows *rows, wcodec_error *err)
{
    const struct wcodec_kept *kept = rows->kept;
    if (rows->out % 16 != 0)
        return kept->host->fail(err, WCODEC_ERROR_USAGE, "the destination is no multiple of 16");
    if (!wcodec_gpu_kept_gathers(&kept->gpu, rows->row_size))
        return kept->host->fail(err, WCODEC_ERROR_UNSUPPORTED,
                                "rows are not gathered from its tiles");
    struct running r = {wcodec_fibers_create(), kept->gpu.limits.copies, rows->count};
    if (r.fibers == NULL)
        return kept->host->fail(err, WCODEC_ERROR_MEMORY, "no memory for lanes");
    wcodec_gpu_kept_gather(&kept->gpu, rows, launch_rows, &r);
    wcodec_fibers_destroy(r.fibers);
    return WCODEC_OK;
}

static wcodec_status build(struct wcodec_kept *kept, const struct wcodec_job *job,
                           const struct wcodec_memory *scratch, struct wcodec_job_result *result,
                           wcodec_error *err)
{
    struct wcodec_gpu_kept *gpu = &kept->gpu;
    void *memory = NULL;
    if (posix_memalign(&memory, 256, (size_t)gpu->size + 1) != 0)
        return kept->host->fail(err, WCODEC_ERROR_MEMORY, "no memory for a tensor's tiles");
    kept->memory = memory;
    memset(kept->memory + gpu->faults, 0, (size_t)(4 * gpu->tiles));
    wcodec_status status = wcodec_gpu_keep_build(gpu, address_of(memory), address_of(memory),
                                                 memory, memory_address, err);
    if (status == WCODEC_OK)
        status = wcodec_emulated_kept_decode(kept, 0, 0, gpu->bytes, memory_address(scratch), err);
    if (status == WCODEC_OK)
        *result = wcodec_gpu_plan_result(job, (const void *)(kept->memory + gpu->faults));
    return status;
}

wcodec_status wcodec_emulated_keep(struct wcodec_queue *queue, const struct wcodec_job *job,
                                   struct wcodec_memory *scratch, struct wcodec_job_result *result,
                                   struct wcodec_kept **kept, wcodec_error *err)
{
    const struct wcodec_host *host = queue->device->host;
    uint64_t seed = job->tiles->payload_size;
    const struct wcodec_gpu_limits limits = wcodec_emulated_limits(&seed);
    struct wcodec_kept *k = calloc(1, sizeof *k);
    if (k == NULL)
        return host->fail(err, WCODEC_ERROR_MEMORY, "no memory for a tensor");
    k->host = host;
    wcodec_status status = wcodec_gpu_keep_measure(
        host, &limits, wcodec_emulated_kernels_there(&limits), job, memory_address, &k->gpu, err);
    if (status == WCODEC_OK)
        status = build(k, job, scratch, result, err);
    if (status == WCODEC_OK && result->fault == WCODEC_TILE_OK)
        *kept = k;
    else
        wcodec_emulated_kept_free(k);
    return status;
}

uint64_t wcodec_emulated_kept_size(const struct wcodec_kept *kept)
{
    return kept->gpu.size;
}

uint64_t wcodec_emulated_kept_unit(const struct wcodec_kept *kept)
{
    return kept->gpu.unit;
}

uint64_t wcodec_emulated_kept_work(const struct wcodec_kept *kept)
{
    return wcodec_gpu_kept_work(&kept->gpu);
}

uint32_t wcodec_emulated_kept_copies(const struct wcodec_kept *kept)
{
    return kept->gpu.limits.copies;
}

int wcodec_emulated_kept_multiply(const struct wcodec_product *product, uint64_t work,
                                  int (*to)(void *opaque, struct wcodec_gpu_coded_product *l),
                                  void *opaque)
{
    return wcodec_gpu_kept_multiply(&product->kept->gpu, product, work, to, opaque);
}

void wcodec_emulated_kept_free(struct wcodec_kept *kept)
{
    wcodec_gpu_keep_free(&kept->gpu);
    free(kept->memory);
    free(kept);
}
