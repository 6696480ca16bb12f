/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Products of many vectors with a matrix at a fixed rate, on Hopper
 * (backends/kernels/product_wide.h): x is made ready in memory to work in, by one launch, and
 * multiplied by the next one, which begins meanwhile. */
#include "backends/cuda/cuda.h"

#include <stdio.h>
#include <string.h>

enum {
    GROUP = 256, /* threads that make x ready */
    START = 8,   /* tiles that take as long as a work-group's beginning and end */
    CU_NOT_FOUND = 500
};

/* Vectors that are multiplied so, from more than 32 on, which other kernels take as fast; at most,
 * where there is a library that multiplies after decoding: of all matrices, of large ones, and of
 * those that are tall too (bench/gpu/README.md). */
enum { LEAST = 33, MOST = 128, LARGE_MOST = 256, TALL_MOST = 512 };
enum { LARGE = 1 << 25 /* elements */, TALL = 8192 /* rows */ };

struct row {
    const char *name;
    uint32_t bits, vectors, helpers;
};

static const struct row rows[WCODEC_WIDE_PRODUCTS] = {
#define WCODEC_WIDE_PRODUCT(name, bits, vectors, helpers) {#name, bits, vectors, helpers},
#include "backends/kernels/products_wide.def"
#undef WCODEC_WIDE_PRODUCT
};

static struct cu_launch_attribute cluster_of(uint32_t size)
{
    struct cu_launch_attribute a = {.id = CU_LAUNCH_CLUSTER};
    a.value.cluster[0] = size;
    a.value.cluster[1] = a.value.cluster[2] = 1;
    return a;
}

/* Clusters of so many work-groups that the device runs at a time: some multiprocessors are left
 * over. */
static unsigned clusters_of(const struct wcodec_device *d, uint32_t size)
{
    const unsigned k = WCODEC_WIDE_wide11_256;
    struct cu_launch_attribute attribute = cluster_of(size);
    const struct cu_launch_config config = {{size, 1, 1},
                                            {WCODEC_WIDE_THREADS(rows[k].helpers), 1, 1},
                                            (unsigned)d->limits.shared,
                                            NULL,
                                            &attribute,
                                            1};
    int clusters = 0;
    return d->cu->clusters(&clusters, d->wide[k], &config) == 0 ? (unsigned)clusters : 0;
}

cu_result wcodec_cuda_find_wide(struct wcodec_device *d)
{
    /* Not by itself until all of its shapes have been seen on a device, and what synccheck says of
     * its barriers has been mended (bench/gpu/README.md). */
    const char *wanted = d->host->setting(d->host->opaque, "WCODEC_CUDA_WARPGROUPS");
    if (wanted == NULL || strcmp(wanted, "1") != 0)
        return 0;
    cu_result result = d->cu->module_function(&d->wide[WCODEC_WIDE_X], d->module, "wcodec_wide_x");
    if (result == CU_NOT_FOUND) /* of a build without them, or for another device */
        return 0;
    for (unsigned k = 0; k < WCODEC_WIDE_PRODUCTS && result == 0; k++) {
        char name[64];
        snprintf(name, sizeof name, "wcodec_%s", rows[k].name);
        result = d->cu->module_function(&d->wide[k], d->module, name);
        if (result == 0)
            result = d->cu->function_set(d->wide[k], CU_FUNCTION_MAX_DYNAMIC_SHARED,
                                         (int)d->limits.shared);
    }
    if (result != 0 || d->cu->launch_extended == NULL || d->cu->clusters == NULL)
        return 0; /* the usual kernels do */
    for (uint32_t size = 1; size <= WCODEC_WIDE_CLUSTER; size++)
        d->wide_clusters[size] = clusters_of(d, size);
    d->wide_products = d->wide_clusters[1] != 0;
    return 0;
}

/* Bytes that a block of the kernel's vectors takes when it is ready. */
static uint64_t block_size(const struct wcodec_fixed *f, unsigned k)
{
    return (uint64_t)rows[k].vectors * f->across * WCODEC_FIXED_COLUMNS * 2;
}

/* The kernel with the least blocks that take all vectors, in so much memory; WCODEC_WIDE_PRODUCTS:
 * there is none. */
static unsigned kernel_for(const struct wcodec_fixed *f, uint64_t vectors, uint64_t size)
{
    unsigned found = WCODEC_WIDE_PRODUCTS;
    for (unsigned k = 0; k < WCODEC_WIDE_PRODUCTS; k++)
        if (rows[k].bits == f->bits && block_size(f, k) <= size) {
            found = k;
            if (rows[k].vectors >= vectors || rows[k].vectors == 256)
                break;
        }
    return found;
}

uint64_t wcodec_cuda_wide_room(struct wcodec_device *d, const struct wcodec_fixed *f,
                               uint64_t vectors)
{
    const uint64_t most = f->rows * f->columns < LARGE ? MOST
                          : f->rows < TALL             ? LARGE_MOST
                                                       : TALL_MOST;
    if (!d->wide_products || vectors < LEAST || vectors > most)
        return 0;
    const unsigned k = kernel_for(f, vectors, UINT64_MAX);
    return (vectors + rows[k].vectors - 1) / rows[k].vectors * block_size(f, k);
}

struct wide {
    unsigned kernel;
    uint32_t groups, cluster, shared;
    struct wcodec_wide_launch arguments;
};

/* Work-groups of a cluster: of those shapes the one that ends first, if work-groups take as long as
 * they have tiles; those that share x if that is no matter. */
static void divide(const struct wcodec_device *d, const struct wcodec_fixed *f, uint64_t blocks,
                   struct wide *l)
{
    const uint64_t tall = (f->bands + WCODEC_WIDE_BANDS - 1) / WCODEC_WIDE_BANDS;
    uint64_t least = UINT64_MAX;
    for (uint32_t shares = tall > 1 ? 2 : 1; shares > 0; shares--)
        for (uint32_t parts = 1; parts * shares <= WCODEC_WIDE_CLUSTER && parts <= f->across;
             parts++) {
            const uint64_t at_once = d->wide_clusters[parts * shares],
                           clusters = (tall + shares - 1) / shares * blocks;
            if (at_once == 0)
                continue;
            const uint64_t turns = (clusters + at_once - 1) / at_once,
                           time = turns * ((f->across + parts - 1) / parts + START);
            if (time >= least)
                continue;
            least = time;
            l->cluster = parts * shares;
            l->groups = (uint32_t)(clusters * l->cluster);
            l->arguments.product.parts = parts;
            l->arguments.shares = shares;
        }
}

/* As many stages of x as there is room for. */
static void stage(const struct wcodec_device *d, const struct wcodec_fixed *f, struct wide *l)
{
    const struct row *row = &rows[l->kernel];
    const uint32_t warps = WCODEC_WIDE_BANDS * wcodec_wide_records(row->vectors) *
                           wcodec_wide_record(row->bits, f->list),
                   each = 128 * row->vectors,
                   fit = ((uint32_t)d->limits.shared - WCODEC_WIDE_HEAD - warps) / each;
    l->arguments.stages = fit < WCODEC_WIDE_STAGES ? fit : WCODEC_WIDE_STAGES;
    l->shared = WCODEC_WIDE_HEAD + l->arguments.stages * each + warps;
}

/* The launches for vectors from `first` on; returns how many they take. */
static uint64_t plan(const struct wcodec_device *d, const struct wcodec_product *p, uint64_t first,
                     struct wide *l)
{
    const struct wcodec_fixed *f = p->fixed;
    const struct wcodec_gpu_product_limits any = {1, WCODEC_PRODUCT_WARPS, UINT32_MAX,
                                                  WCODEC_PRODUCT_DIRECT_VECTORS};
    struct wcodec_gpu_product product;
    uint64_t vectors = p->vectors - first;
    const unsigned k = kernel_for(f, vectors, p->room_size);
    const uint64_t each = rows[k].vectors, size = block_size(f, k), most = p->room_size / size;
    uint64_t blocks = (vectors + each - 1) / each;
    /* What is left over in a block has a kernel of its own. */
    if (blocks > 1 && vectors % each != 0 && vectors % each <= each / 2)
        blocks--;
    blocks = blocks < most ? blocks : most;
    vectors = vectors < blocks * each ? vectors : blocks * each;
    wcodec_gpu_plan_product(p, p->memory->address + p->offset, &any, first, &product);
    *l = (struct wide){.kernel = k,
                       .arguments = {.product = product.arguments,
                                     .blocks = p->room,
                                     .block_size = size,
                                     .vectors = (uint32_t)each}};
    l->arguments.product.vectors = (uint32_t)vectors;
    divide(d, f, blocks, l);
    stage(d, f, l);
    return vectors;
}

static cu_result launch(const struct wcodec_device *d, uint64_t stream, struct wide *l)
{
    void *arguments[] = {&l->arguments};
    const cu_stream on = (cu_stream)(uintptr_t)stream;
    struct cu_launch_attribute attributes[2] = {cluster_of(l->cluster),
                                                {.id = CU_LAUNCH_PROGRAMMATIC_SERIALIZATION}};
    const struct wcodec_wide_launch *a = &l->arguments;
    const uint64_t blocks = (a->product.vectors + a->vectors - 1) / a->vectors,
                   threads = blocks * a->vectors * a->product.across * 4;
    const struct cu_launch_config config = {
        {l->groups, 1, 1}, {WCODEC_WIDE_THREADS(rows[l->kernel].helpers), 1, 1},
        l->shared,         on,
        attributes,        d->early_launches ? 2 : 1};
    attributes[1].value.allowed = 1;
    const cu_result result =
        wcodec_cuda_launch(d, d->wide[WCODEC_WIDE_X], (uint32_t)((threads + GROUP - 1) / GROUP),
                           GROUP, 0, stream, true, &l->arguments);
    return result != 0 ? result
                       : d->cu->launch_extended(&config, d->wide[l->kernel], arguments, NULL);
}

bool wcodec_cuda_takes_wide(const struct wcodec_device *d, const struct wcodec_product *p)
{
    return d->wide_products && !p->transposed && p->room != 0 && p->vectors >= LEAST &&
           kernel_for(p->fixed, 1, p->room_size) != WCODEC_WIDE_PRODUCTS;
}

cu_result wcodec_cuda_multiply_wide(const struct wcodec_device *d, uint64_t stream,
                                    const struct wcodec_product *p)
{
    cu_result result = 0;
    for (uint64_t first = 0; first < p->vectors && result == 0;) {
        struct wide l;
        first += plan(d, p, first, &l);
        result = launch(d, stream, &l);
    }
    return result;
}
