/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#define WCODEC_FIBERS
#include "backends/emulate/encode.h"

#include "backends/cpu/batch.h"
#include "backends/emulate/lanes.h"
#include "backends/gpu/encode_tiles.h"
#include "backends/gpu/measure.h"
#include "backends/kernels/encode_join.h"
#include "backends/kernels/measure.h"

enum { SEED = 1, MANY_FROM = 33 };

static bool supports(struct wcodec_device *device, const struct wcodec_tiling *tiling)
{
    (void)device;
    return wcodec_gpu_codes_tiles(tiling);
}

static void run(struct wcodec_warp *warp, const void *argument)
{
    const struct wcodec_gpu_tiles *l = argument;
    const struct wcodec_coder_launch *a = &l->arguments;
    switch (l->kernel) {
#define WCODEC_TILE_ENCODER(name, element_log2, raw, profile) \
    case WCODEC_TILE_ENCODER_##name: \
        wcodec_coder_row_kernel(wcodec_coder_kind_of(element_log2, raw, profile), warp, a); \
        break;
#define WCODEC_TILE_STEP(name, step, groups) \
    case WCODEC_TILE_ENCODER_##name: \
        wcodec_coder_##step##_kernel( \
            wcodec_coder_kind_of(a->element_log2, a->raw_bits, a->profile), warp, a); \
        break;
#include "backends/kernels/tile_encoders.def"
#undef WCODEC_TILE_ENCODER
#undef WCODEC_TILE_STEP
    }
}

static uint64_t address_of(const struct wcodec_memory *memory)
{
    return (uint64_t)(uintptr_t)memory->data;
}

static int launch(void *opaque, struct wcodec_gpu_tiles *l)
{
    const struct wcodec_lanes_launch lanes = {run, l, l->groups, l->threads, l->shared, SEED};
    wcodec_lanes_run(opaque, &lanes);
    return 0;
}

/* As on NVIDIA's GPUs, with larger work-groups for tensors that tests have. */
static const struct wcodec_gpu_tiles_form form = {.warps = WCODEC_GPU_TILES_WARPS,
                                                  .many = WCODEC_GPU_TILES_WARPS_MANY,
                                                  .many_from = MANY_FROM,
                                                  .copies_log2 = WCODEC_CODER_COPIES_LOG2};

static wcodec_status code(struct wcodec_queue *queue, const struct wcodec_tensor_coding *coding,
                          wcodec_error *err)
{
    struct wcodec_fibers *fibers = wcodec_fibers_create();
    if (fibers == NULL)
        return queue->device->host->fail(err, WCODEC_ERROR_MEMORY, "no memory for lanes");
    (void)wcodec_gpu_code_tiles(coding, &form, address_of, launch, fibers);
    wcodec_fibers_destroy(fibers);
    return WCODEC_OK;
}

static void run_measuring(struct wcodec_warp *warp, const void *argument)
{
    const struct wcodec_gpu_measuring *l = argument;
    switch (l->kernel) {
#define WCODEC_MEASURE(name, element_log2) \
    case WCODEC_MEASURE_##name: \
        wcodec_measure_kernel(element_log2, warp, &l->arguments); \
        break;
#define WCODEC_MEASURE_SUMS(name) \
    case WCODEC_MEASURE_##name: \
        wcodec_measure_sums_kernel(warp, &l->arguments); \
        break;
#include "backends/kernels/measures.def"
#undef WCODEC_MEASURE
#undef WCODEC_MEASURE_SUMS
    }
}

static int launch_measuring(void *opaque, struct wcodec_gpu_measuring *l)
{
    const struct wcodec_lanes_launch lanes = {run_measuring, l,         l->groups,
                                              l->threads,    l->shared, SEED};
    wcodec_lanes_run(opaque, &lanes);
    return 0;
}

static wcodec_status measure(struct wcodec_queue *queue, const struct wcodec_tensor_measure *m,
                             wcodec_error *err)
{
    struct wcodec_fibers *fibers = wcodec_fibers_create();
    if (fibers == NULL)
        return queue->device->host->fail(err, WCODEC_ERROR_MEMORY, "no memory for lanes");
    (void)wcodec_gpu_measure_tensor(m, WCODEC_GPU_MEASURE_WARPS, address_of, launch_measuring,
                                    fibers);
    wcodec_fibers_destroy(fibers);
    return WCODEC_OK;
}

const struct wcodec_backend_encoders wcodec_emulated_encoders = {supports, code, measure};
