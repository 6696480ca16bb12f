/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Products of many vectors with a matrix at a fixed rate, on Hopper
 * (backends/kernels/product_wide.h): x is made ready in memory to work in, by one launch, and
 * multiplied by the next one, which begins meanwhile. */
#include "backends/cuda/cuda.h"

#include <stdio.h>
#include <string.h>

bool wcodec_cuda_may_use_warpgroups(const struct wcodec_device *d)
{
    const char *wanted = d->host->setting(d->host->opaque, "WCODEC_CUDA_WARPGROUPS");
    return wanted == NULL || strcmp(wanted, "0") != 0;
}

cu_result wcodec_cuda_find_wide(struct wcodec_device *d)
{
    if (!wcodec_cuda_may_use_warpgroups(d))
        return 0;
    cu_result result = d->cu->module_function(&d->wide[WCODEC_WIDE_X], d->module, "wcodec_wide_x");
    if (result == CU_NOT_FOUND) /* of a build without them, or for another device */
        return 0;
    if (result == 0 && d->limits.shared < WCODEC_GPU_WIDE_SHARED)
        return 0; /* the usual kernels do */
    d->wide_limits.shared = (uint32_t)d->limits.shared;
    for (unsigned k = 0; k < WCODEC_WIDE_PRODUCTS && result == 0; k++) {
        char name[64];
        snprintf(name, sizeof name, "wcodec_%s", wcodec_wide_rows[k].name);
        result = d->cu->module_function(&d->wide[k], d->module, name);
        if (result == 0)
            result = d->cu->function_set(d->wide[k], CU_FUNCTION_MAX_DYNAMIC_SHARED,
                                         (int)d->limits.shared);
    }
    if (result != 0 || d->cu->launch_extended == NULL || d->cu->clusters == NULL)
        return 0;
    for (uint32_t size = 1; size <= WCODEC_WIDE_CLUSTER; size++)
        d->wide_limits.clusters[size] = wcodec_cuda_clusters(
            d, d->wide[WCODEC_WIDE_wide11_256], size,
            WCODEC_WIDE_THREADS(wcodec_wide_rows[WCODEC_WIDE_wide11_256].helpers),
            d->wide_limits.shared);
    d->wide_products = d->wide_limits.clusters[1] != 0;
    return 0;
}

/* Up to 32 vectors take longer so where the two launches do not overlap. */
static bool are_enough(const struct wcodec_device *d, uint64_t vectors)
{
    return d->early_launches || vectors > 32;
}

uint64_t wcodec_cuda_wide_room(struct wcodec_device *d, const struct wcodec_fixed *f,
                               uint64_t vectors)
{
    return d->wide_products && are_enough(d, vectors) ? wcodec_gpu_wide_room(f, vectors) : 0;
}

static cu_result launch(const struct wcodec_device *d, uint64_t stream, struct wcodec_gpu_wide *l)
{
    const cu_result result =
        wcodec_cuda_launch(d, d->wide[WCODEC_WIDE_X], l->x_groups, WCODEC_WIDE_X_THREADS, 0, stream,
                           true, &l->arguments);
    return result != 0 ? result
                       : wcodec_cuda_launch_clusters(d, d->wide[l->kernel], l->cluster, l->groups,
                                                     l->threads, l->shared, stream, &l->arguments);
}

bool wcodec_cuda_takes_wide(const struct wcodec_device *d, const struct wcodec_product *p)
{
    return d->wide_products && are_enough(d, p->vectors) && wcodec_gpu_takes_wide(p);
}

cu_result wcodec_cuda_multiply_wide(const struct wcodec_device *d, uint64_t stream,
                                    const struct wcodec_product *p)
{
    cu_result result = 0;
    for (uint64_t first = 0; first < p->vectors && result == 0;) {
        struct wcodec_gpu_wide l;
        first +=
            wcodec_gpu_plan_wide(p, p->memory->address + p->offset, &d->wide_limits, first, &l);
        result = launch(d, stream, &l);
    }
    return result;
}
