/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* What the files of this plugin share. */
#ifndef WCODEC_CUDA_CUDA_H
#define WCODEC_CUDA_CUDA_H

#include "backends/common/plan.h"
#include "backends/cuda/driver.h"

struct wcodec_backend_state {
    const struct wcodec_host *host;
    struct wcodec_cuda_driver driver;
    int version; /* of the driver: 1000 * major + 10 * minor */
    unsigned devices;
};

struct wcodec_device {
    struct wcodec_backend_state *state;
    const struct wcodec_host *host;
    const struct wcodec_cuda_driver *cu;
    cu_device number;
    cu_context context;
    cu_module module;
    unsigned multiprocessors;
    uint64_t fast; /* bit k: kernels[k] is there */
    cu_function kernels[WCODEC_KERNELS];
};

struct wcodec_memory {
    struct wcodec_device *device;
    cu_pointer address;
    void *pointer; /* PINNED */
    bool adopted;
};

struct wcodec_queue {
    struct wcodec_device *device;
    cu_stream stream;
    bool adopted;
    bool timed; /* its events have times */
};

struct wcodec_event {
    struct wcodec_device *device;
    cu_event event;
};

/* Record a failed call: "cuMemAlloc: CUDA_ERROR_..., text". */
wcodec_status wcodec_cuda_fail(const struct wcodec_device *device, cu_result result, const char *call, wcodec_error *err);

/* Times and native handles: transfer.c. */
wcodec_status wcodec_cuda_queue_create_timed(struct wcodec_device *device, struct wcodec_queue **queue, wcodec_error *err);
wcodec_status wcodec_cuda_event_elapsed(struct wcodec_event *from, struct wcodec_event *to, uint64_t *nanoseconds, wcodec_error *err);
void wcodec_cuda_device_native(struct wcodec_device *device, uint64_t *context, uint64_t *number);

extern const struct wcodec_backend wcodec_backend_cuda;

/* Bytes behind every allocation that kernels may read: the last word copies are of 16 bytes. */
enum { WCODEC_CUDA_SLACK = 256 };

wcodec_status wcodec_cuda_batch_create(struct wcodec_queue *queue, const struct wcodec_job *jobs, size_t count, struct wcodec_batch **batch, wcodec_error *err);
wcodec_status wcodec_cuda_batch_decode(struct wcodec_queue *queue, struct wcodec_batch *batch, wcodec_error *err);
wcodec_status wcodec_cuda_batch_results(struct wcodec_queue *queue, struct wcodec_batch *batch, struct wcodec_job_result *results, wcodec_error *err);
void wcodec_cuda_batch_destroy(struct wcodec_batch *batch);

/* Most warps of a fast kernel's block: two blocks a multiprocessor, with 40 registers a thread; with 64 for 32-bit elements (kernels.cu). */
static inline unsigned wcodec_cuda_warps(unsigned kernel)
{
    return kernel / 2 / WCODEC_CODINGS == WCODEC_SHAPE_32_24 ? 16 : 24;
}

/* Shared memory of such a block. */
unsigned wcodec_cuda_shared_size(unsigned kernel, unsigned warps);

/* The kernels, built by nvcc. */
extern const unsigned char wcodec_cuda_fatbin[] __attribute__((visibility("hidden")));

#endif
