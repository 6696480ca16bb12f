/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Products with decoded elements: by cuBLASLt where it is and takes them, else by kernels of ours.
 */
#include "backends/cuda/cuda.h"

cu_result wcodec_cuda_find_dense(struct wcodec_device *d)
{
    static const char *const names[WCODEC_DENSE_KERNELS] = {
        "wcodec_dense", "wcodec_dense_transposed", "wcodec_dense_int8"};
    cu_result result = 0;
    for (unsigned k = 0; k < WCODEC_DENSE_KERNELS && result == 0; k++)
        result = d->cu->module_function(&d->dense[k], d->module, names[k]);
    return result;
}

uint64_t wcodec_cuda_dense_work(struct wcodec_device *d)
{
    if (wcodec_cuda_enter(d, NULL) != WCODEC_OK)
        return 0;
    const bool there = wcodec_cuda_blas_open(&d->blas, d->host);
    wcodec_cuda_leave(d, 0, "", NULL);
    return there ? WCODEC_CUDA_BLAS_WORK : 0;
}

static cu_result launch(const struct wcodec_device *d, uint64_t queue,
                        const struct wcodec_dense_product *p, uint64_t elements)
{
    const bool by_int8 = wcodec_gpu_dense_by_int8(p, elements);
    cu_result result = 0;
    for (uint64_t first = 0; first < p->vectors && result == 0;) {
        struct wcodec_gpu_dense l;
        first += by_int8 ? wcodec_gpu_plan_int8(p, elements, first, &l)
                         : wcodec_gpu_plan_dense(p, elements, WCODEC_DENSE_ITEMS, first, &l);
        result = wcodec_cuda_launch(d, d->dense[l.kernel], l.groups, l.threads, l.shared, queue,
                                    by_int8, &l.arguments);
    }
    return result;
}

/* Does the library have it? What it does not take is left to the kernels. */
static bool by_library(struct wcodec_device *d, uint64_t queue,
                       const struct wcodec_dense_product *p, uint64_t elements)
{
    return wcodec_cuda_blas_takes(p) &&
           wcodec_cuda_blas_multiply(&d->blas, p, elements, p->work->address,
                                     (cu_stream)(uintptr_t)queue) == 0;
}

/* A bias of another type than y is added afterwards: by a product without columns. */
static bool library_and_bias(struct wcodec_device *d, uint64_t queue,
                             const struct wcodec_dense_product *p, uint64_t elements,
                             cu_result *result)
{
    struct wcodec_dense_product without = *p, bias = *p;
    without.bias = 0;
    bias.columns = 0;
    bias.add = true;
    if (!by_library(d, queue, &without, elements))
        return false;
    *result = launch(d, queue, &bias, elements);
    return true;
}

wcodec_status wcodec_cuda_multiply_dense(struct wcodec_device *d, uint64_t queue,
                                         const struct wcodec_dense_product *p, wcodec_error *err)
{
    const uint64_t elements = p->memory != NULL ? p->memory->address + p->offset : 0;
    cu_result result = 0;
    const wcodec_status status = wcodec_cuda_enter(d, err);
    if (status != WCODEC_OK)
        return status;
    if (!by_library(d, queue, p, elements) &&
        (p->bias == 0 || !library_and_bias(d, queue, p, elements, &result)))
        result = launch(d, queue, p, elements);
    wcodec_cuda_leave(d, 0, "", NULL);
    return result != 0 ? wcodec_cuda_launch_failed(d, result, err) : WCODEC_OK;
}
