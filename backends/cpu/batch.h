/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Decoding batches on the CPU, and what its objects are made of. */
#ifndef WCODEC_CPU_BATCH_H
#define WCODEC_CPU_BATCH_H

#include "backends/backend.h"
#include "backends/cpu/blocks.h"
#include "backends/cpu/decode.h"
#include "backends/cpu/fixed.h"
#include "backends/cpu/fragments.h"
#include "backends/cpu/lossy.h"

struct wcodec_device {
    const struct wcodec_host *host;
    const struct wcodec_cpu_dsp *dsp;
    const struct wcodec_cpu_blocks_dsp *blocks_dsp;
    const struct wcodec_cpu_lossy_dsp *lossy_dsp;
    const struct wcodec_cpu_fixed_dsp *fixed_dsp;
};

struct wcodec_memory {
    const struct wcodec_host *host;
    uint8_t *data;
    uint64_t size;
    uint8_t *block; /* what the allocator gave; NULL: adopted */
};

struct wcodec_queue {
    struct wcodec_device *device;
};

struct wcodec_event {
    const struct wcodec_host *host;
    uint64_t time; /* nanoseconds */
};

wcodec_status wcodec_cpu_batch_create(struct wcodec_queue *queue, const struct wcodec_job *jobs,
                                      size_t count, struct wcodec_batch **batch, wcodec_error *err);
wcodec_status wcodec_cpu_batch_decode(struct wcodec_queue *queue, struct wcodec_batch *batch,
                                      wcodec_error *err);
wcodec_status wcodec_cpu_batch_results(struct wcodec_queue *queue, struct wcodec_batch *batch,
                                       struct wcodec_job_result *results, wcodec_error *err);
void wcodec_cpu_batch_destroy(struct wcodec_batch *batch);

#endif
