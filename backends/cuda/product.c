/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Products, and rows, of matrices that stay coded in the device's memory: one launch each, on the
 * caller's stream. Where the device can, it begins while the launch before it ends. */
#include "backends/cuda/cuda.h"

#include <stdio.h>

static cu_result find(struct wcodec_device *d, const char *kernel, uint32_t shared,
                      cu_function *function)
{
    char name[64];
    snprintf(name, sizeof name, "wcodec_%s", kernel);
    const cu_result result = d->cu->module_function(function, d->module, name);
    return result != 0
               ? result
               : d->cu->function_set(*function, CU_FUNCTION_MAX_DYNAMIC_SHARED, (int)shared);
}

struct cu_launch_attribute wcodec_cuda_cluster_of(uint32_t size)
{
    struct cu_launch_attribute a = {.id = CU_LAUNCH_CLUSTER};
    a.value.cluster[0] = size;
    a.value.cluster[1] = a.value.cluster[2] = 1;
    return a;
}

cu_result wcodec_cuda_launch_clusters(const struct wcodec_device *d, cu_function function,
                                      uint32_t cluster, uint32_t groups, uint32_t threads,
                                      uint32_t shared, uint64_t stream, void *argument)
{
    void *arguments[] = {argument};
    struct cu_launch_attribute attributes[2] = {wcodec_cuda_cluster_of(cluster),
                                                {.id = CU_LAUNCH_PROGRAMMATIC_SERIALIZATION}};
    const struct cu_launch_config config = {{groups, 1, 1}, {threads, 1, 1},
                                            shared,         (cu_stream)(uintptr_t)stream,
                                            attributes,     d->early_launches ? 2 : 1};
    attributes[1].value.allowed = 1;
    return d->cu->launch_extended(&config, function, arguments, NULL);
}

uint32_t wcodec_cuda_clusters(const struct wcodec_device *d, cu_function function, uint32_t size,
                              uint32_t threads, uint32_t shared)
{
    struct cu_launch_attribute attribute = wcodec_cuda_cluster_of(size);
    const struct cu_launch_config config = {{size, 1, 1}, {threads, 1, 1}, shared,
                                            NULL,         &attribute,      1};
    int clusters = 0;
    return d->cu->clusters(&clusters, function, &config) == 0 ? (uint32_t)clusters : 0;
}

/* y = x W by clusters, on devices that have them. */
static void find_clusters(struct wcodec_device *d)
{
    for (uint32_t size = 1; size <= WCODEC_TRANSPOSED_CLUSTER; size++)
        d->transposed_clusters[size] = wcodec_cuda_clusters(
            d, d->products[WCODEC_PRODUCT_transposed11], size, 32 * WCODEC_PRODUCT_WARPS,
            WCODEC_PRODUCT_WARPS * WCODEC_TRANSPOSED_SUMS);
}

cu_result wcodec_cuda_find_products(struct wcodec_device *d)
{
    int built_for = 0;
    cu_result result = 0;
    for (unsigned k = 0; k < WCODEC_PRODUCTS && result == 0; k++)
        result = find(d, wcodec_product_rows[k].name, d->limits.shared, &d->products[k]);
    for (unsigned k = 0; k < WCODEC_ROWS_KERNELS && result == 0; k++)
        result =
            find(d, wcodec_rows_rows[k].name,
                 wcodec_rows_rows[k].neighbours ? WCODEC_GPU_ROWS_SHARED : WCODEC_GPU_GATHER_SHARED,
                 &d->products[WCODEC_PRODUCTS + k]);
    if (result == 0)
        result = wcodec_cuda_find_encoders(d);
    if (result == 0)
        result = wcodec_cuda_find_coded_products(d);
    if (result == 0)
        result = wcodec_cuda_find_dense(d);
    if (result == 0)
        result = wcodec_cuda_find_wide(d);
    /* What the code that was loaded can do, which a build for older devices may lack. */
    if (result == 0)
        result = d->cu->function_get(&built_for, CU_FUNCTION_PTX_VERSION, d->products[0]);
    d->tensor_cores = d->tensor_cores && built_for >= 80;
    d->early_launches = d->early_launches && built_for >= 90;
    if (result == 0 && built_for >= 90 && d->cu->launch_extended != NULL && d->cu->clusters != NULL)
        find_clusters(d);
    return result;
}

wcodec_status wcodec_cuda_launch_failed(const struct wcodec_device *d, cu_result result,
                                        wcodec_error *err)
{
    const char *name = NULL;
    if (result != CU_INVALID_VALUE && result != CU_INVALID_HANDLE &&
        (result < CU_CAPTURE_FIRST || result > CU_CAPTURE_LAST))
        return wcodec_cuda_fail(d, result, "cuLaunchKernel", err);
    d->cu->error_name(result, &name);
    return d->host->fail(err, WCODEC_ERROR_USAGE, "the stream does not take the launch: %s",
                         name ? name : "unknown error");
}

static wcodec_status no_code(const struct wcodec_device *d, wcodec_error *err)
{
    return d->host->fail(err, WCODEC_ERROR_UNSUPPORTED,
                         "this build has no kernels of products for device %d", d->number);
}

/* Does a launch take 64 vectors? Work-groups of one or two bands would move more of x to their
 * stages than they have of the matrix: they take half as many, twice. */
static bool takes_many(const struct wcodec_device *d, const struct wcodec_product *p)
{
    enum { BANDS_OF_FEW = 2, SHARED_OF_MANY = 160 << 10 };
    return p->vectors > WCODEC_PRODUCT_DIRECT_VECTORS && !p->transposed &&
           p->fixed->bands > BANDS_OF_FEW * d->limits.units && d->limits.shared >= SHARED_OF_MANY;
}

/* Work-groups of a multiprocessor. Two of half as many warps end their tiles at different times,
 * which pays where several vectors leave a warp more to do than to wait for, and where all bands
 * have room at once (bench/README.md). */
static unsigned groups_of_unit(const struct wcodec_device *d, const struct wcodec_product *p)
{
    enum { VECTORS_OF_TWO = 5, BANDS_OF_TWO = 4 };
    return p->vectors >= VECTORS_OF_TWO && p->fixed->bands <= BANDS_OF_TWO * d->limits.units ? 2
                                                                                             : 1;
}

/* So much shared memory that a multiprocessor has no more than so many work-groups: those of later
 * launches would crowd on the first ones that are free. */
static uint32_t alone(const struct wcodec_device *d, unsigned groups, uint32_t shared)
{
    const uint32_t part = (uint32_t)d->limits.unit_shared / (groups + 1) + 1024;
    const uint32_t least = part < d->limits.shared ? part : (uint32_t)d->limits.shared;
    return shared > least ? shared : least;
}

cu_result wcodec_cuda_launch(const struct wcodec_device *d, cu_function function, uint32_t groups,
                             uint32_t threads, uint32_t shared, uint64_t stream, bool early,
                             void *argument)
{
    void *arguments[] = {argument};
    const cu_stream on = (cu_stream)(uintptr_t)stream;
    if (!early || !d->early_launches)
        return d->cu->launch(function, groups, 1, 1, threads, 1, 1, shared, on, arguments, NULL);
    struct cu_launch_attribute attribute = {.id = CU_LAUNCH_PROGRAMMATIC_SERIALIZATION};
    attribute.value.allowed = 1;
    const struct cu_launch_config config = {
        {groups, 1, 1}, {threads, 1, 1}, shared, on, &attribute, 1};
    return d->cu->launch_extended(&config, function, arguments, NULL);
}

static uint64_t transposed_most(struct wcodec_device *d, const struct wcodec_fixed *fixed)
{
    return wcodec_gpu_transposed_most(fixed, d->transposed_clusters[1] != 0);
}

static cu_result launch_products(struct wcodec_device *d, uint64_t queue,
                                 const struct wcodec_product *p)
{
    cu_result result = 0;
    const bool many = takes_many(d, p);
    const unsigned groups = many || p->transposed ? 1 : groups_of_unit(d, p);
    const struct wcodec_gpu_product_limits limits = {
        groups * d->limits.units, WCODEC_PRODUCT_WARPS / groups, (unsigned)d->limits.shared,
        many ? WCODEC_PRODUCT_VECTORS : WCODEC_PRODUCT_DIRECT_VECTORS,
        d->transposed_clusters[1] != 0 ? d->transposed_clusters : NULL};
    for (uint64_t first = 0; first < p->vectors && result == 0;) {
        struct wcodec_gpu_product l;
        first += wcodec_gpu_plan_product(p, p->memory->address + p->offset, &limits, first, &l);
        const uint32_t shared = alone(d, groups, l.shared);
        result = l.arguments.groups > 1
                     ? wcodec_cuda_launch_clusters(d, d->products[l.kernel], l.arguments.groups,
                                                   l.groups, l.threads, shared, queue, &l.arguments)
                     : wcodec_cuda_launch(d, d->products[l.kernel], l.groups, l.threads, shared,
                                          queue, true, &l.arguments);
    }
    return result;
}

static wcodec_status multiply(struct wcodec_device *d, uint64_t queue,
                              const struct wcodec_product *p, wcodec_error *err)
{
    if (!d->tensor_cores)
        return no_code(d, err);
    if (p->fixed == NULL)
        return wcodec_cuda_kept_multiply(d, queue, p, err);
    const wcodec_status status = wcodec_cuda_enter(d, err);
    if (status != WCODEC_OK)
        return status;
    const cu_result result = wcodec_cuda_takes_wide(d, p) ? wcodec_cuda_multiply_wide(d, queue, p)
                                                          : launch_products(d, queue, p);
    wcodec_cuda_leave(d, 0, "", NULL);
    return result ? wcodec_cuda_launch_failed(d, result, err) : WCODEC_OK;
}

static wcodec_status decode_rows(struct wcodec_device *d, uint64_t queue,
                                 const struct wcodec_rows *r, wcodec_error *err)
{
    struct wcodec_gpu_rows l;
    if (r->kept != NULL)
        return wcodec_cuda_kept_gather(d, queue, r, err);
    if (!d->tensor_cores)
        return no_code(d, err);
    const wcodec_status status = wcodec_cuda_enter(d, err);
    if (status != WCODEC_OK)
        return status;
    wcodec_gpu_plan_rows(r, r->memory->address + r->offset, d->limits.units,
                         (unsigned)d->limits.shared, &l);
    const cu_result result =
        wcodec_cuda_launch(d, d->products[WCODEC_PRODUCTS + l.kernel], l.groups, l.threads,
                           l.shared, queue, true, &l.arguments);
    wcodec_cuda_leave(d, 0, "", NULL);
    return result ? wcodec_cuda_launch_failed(d, result, err) : WCODEC_OK;
}

const struct wcodec_backend_products wcodec_cuda_products = {
    .multiply = multiply,
    .decode_rows = decode_rows,
    .wide_room = wcodec_cuda_wide_room,
    .transposed_most = transposed_most,
    .multiply_dense = wcodec_cuda_multiply_dense,
    .dense_work = wcodec_cuda_dense_work,
    .measure = wcodec_cuda_measure,
    .code = wcodec_cuda_code,
    .keep = wcodec_cuda_keep,
    .kept_size = wcodec_cuda_kept_size,
    .kept_decode = wcodec_cuda_kept_decode,
    .kept_unit = wcodec_cuda_kept_unit,
    .kept_work = wcodec_cuda_kept_work,
    .kept_free = wcodec_cuda_kept_free,
};
