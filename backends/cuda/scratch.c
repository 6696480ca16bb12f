/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Scratch memory of batches, through which tensors in blocks go. One is kept for the next batch,
 * since its allocation waits for all that the device does. */
#include "backends/cuda/cuda.h"

#define KEPT_MOST ((uint64_t)256 << 20)

wcodec_status wcodec_cuda_scratch_take(struct wcodec_device *d, uint64_t size,
                                       struct wcodec_cuda_scratch *scratch, wcodec_error *err)
{
    struct wcodec_cuda_scratch kept = {0};
    *scratch = (struct wcodec_cuda_scratch){0};
    if (size == 0)
        return WCODEC_OK;
    pthread_mutex_lock(&d->pool.lock);
    kept = d->pool.scratch;
    d->pool.scratch = *scratch;
    pthread_mutex_unlock(&d->pool.lock);
    if (kept.size >= size) {
        *scratch = kept;
        return WCODEC_OK;
    }
    if (kept.size != 0)
        d->cu->release(kept.memory);
    kept.size = wcodec_align_u64(size, (uint64_t)1 << 20);
    const cu_result result =
        kept.size <= SIZE_MAX ? d->cu->allocate(&kept.memory, (size_t)kept.size) : CU_OUT_OF_MEMORY;
    if (result)
        return wcodec_cuda_fail(d, result, "cuMemAlloc", err);
    *scratch = kept;
    return WCODEC_OK;
}

void wcodec_cuda_scratch_give(struct wcodec_device *d, struct wcodec_cuda_scratch *scratch)
{
    struct wcodec_cuda_scratch rest = *scratch;
    if (rest.size == 0)
        return;
    pthread_mutex_lock(&d->pool.lock);
    if (rest.size <= KEPT_MOST && rest.size > d->pool.scratch.size) {
        rest = d->pool.scratch;
        d->pool.scratch = *scratch;
    }
    pthread_mutex_unlock(&d->pool.lock);
    if (rest.size != 0)
        d->cu->release(rest.memory);
}

void wcodec_cuda_scratch_free(struct wcodec_device *d)
{
    if (d->pool.scratch.size != 0)
        d->cu->release(d->pool.scratch.memory);
    d->pool.scratch = (struct wcodec_cuda_scratch){0};
}
