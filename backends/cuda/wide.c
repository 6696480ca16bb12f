/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Products of many vectors with a matrix at a fixed rate, on Hopper
 * (backends/kernels/product_wide.h): x is made ready in memory to work in, by one launch, and
 * multiplied by the next one, which begins meanwhile. */
#include "backends/cuda/cuda.h"

#include <stdio.h>
#include <string.h>

enum { CU_NOT_FOUND = 500 };

static struct cu_launch_attribute cluster_of(uint32_t size)
{
    struct cu_launch_attribute a = {.id = CU_LAUNCH_CLUSTER};
    a.value.cluster[0] = size;
    a.value.cluster[1] = a.value.cluster[2] = 1;
    return a;
}

/* Clusters of so many work-groups that the device runs at a time: some multiprocessors are left
 * over. */
static uint32_t clusters_of(const struct wcodec_device *d, uint32_t size)
{
    const unsigned k = WCODEC_WIDE_wide11_256;
    struct cu_launch_attribute attribute = cluster_of(size);
    const struct cu_launch_config config = {
        {size, 1, 1},
        {WCODEC_WIDE_THREADS(wcodec_wide_rows[k].helpers), 1, 1},
        d->wide_limits.shared,
        NULL,
        &attribute,
        1};
    int clusters = 0;
    return d->cu->clusters(&clusters, d->wide[k], &config) == 0 ? (uint32_t)clusters : 0;
}

cu_result wcodec_cuda_find_wide(struct wcodec_device *d)
{
    const char *wanted = d->host->setting(d->host->opaque, "WCODEC_CUDA_WARPGROUPS");
    if (wanted != NULL && strcmp(wanted, "0") == 0)
        return 0;
    cu_result result = d->cu->module_function(&d->wide[WCODEC_WIDE_X], d->module, "wcodec_wide_x");
    if (result == CU_NOT_FOUND) /* of a build without them, or for another device */
        return 0;
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
        return 0; /* the usual kernels do */
    for (uint32_t size = 1; size <= WCODEC_WIDE_CLUSTER; size++)
        d->wide_limits.clusters[size] = clusters_of(d, size);
    d->wide_products = d->wide_limits.clusters[1] != 0;
    return 0;
}

uint64_t wcodec_cuda_wide_room(struct wcodec_device *d, const struct wcodec_fixed *f,
                               uint64_t vectors)
{
    return d->wide_products ? wcodec_gpu_wide_room(f, vectors) : 0;
}

static cu_result launch(const struct wcodec_device *d, uint64_t stream, struct wcodec_gpu_wide *l)
{
    void *arguments[] = {&l->arguments};
    const cu_stream on = (cu_stream)(uintptr_t)stream;
    struct cu_launch_attribute attributes[2] = {cluster_of(l->cluster),
                                                {.id = CU_LAUNCH_PROGRAMMATIC_SERIALIZATION}};
    const struct cu_launch_config config = {{l->groups, 1, 1}, {l->threads, 1, 1},
                                            l->shared,         on,
                                            attributes,        d->early_launches ? 2 : 1};
    attributes[1].value.allowed = 1;
    const cu_result result =
        wcodec_cuda_launch(d, d->wide[WCODEC_WIDE_X], l->x_groups, WCODEC_WIDE_X_THREADS, 0, stream,
                           true, &l->arguments);
    return result != 0 ? result
                       : d->cu->launch_extended(&config, d->wide[l->kernel], arguments, NULL);
}

bool wcodec_cuda_takes_wide(const struct wcodec_device *d, const struct wcodec_product *p)
{
    return d->wide_products && wcodec_gpu_takes_wide(p);
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
