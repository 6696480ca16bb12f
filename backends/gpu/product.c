/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "backends/gpu/product.h"

const struct wcodec_product_row wcodec_product_rows[WCODEC_PRODUCTS] = {
#define WCODEC_PRODUCT(name, bits, eights, way) {#name, bits, eights, WCODEC_PRODUCT_##way},
#define WCODEC_ROWS(name, bits, neighbours)
#include "backends/kernels/products.def"
#undef WCODEC_ROWS
#undef WCODEC_PRODUCT
};

const struct wcodec_rows_row wcodec_rows_rows[WCODEC_ROWS_KERNELS] = {
#define WCODEC_PRODUCT(name, bits, eights, way)
#define WCODEC_ROWS(name, bits, neighbours) {#name, bits, neighbours},
#include "backends/kernels/products.def"
#undef WCODEC_ROWS
#undef WCODEC_PRODUCT
};

static uint32_t format_of(wcodec_dtype dtype)
{
    return dtype == WCODEC_DTYPE_BF16  ? WCODEC_TO_BF16
           : dtype == WCODEC_DTYPE_F16 ? WCODEC_TO_F16
                                       : WCODEC_TO_F32;
}

/* The one for so many vectors, at most the largest takes. */
static unsigned kernel_of(unsigned bits, uint64_t vectors, unsigned way)
{
    unsigned k = 0;
    while (wcodec_product_rows[k].bits != bits || wcodec_product_rows[k].way != way ||
           8u * wcodec_product_rows[k].eights < vectors)
        k++;
    return k;
}

/* Bands for each work-group: as many as give every group one, each at least two warps; of matrices
 * that take several rounds, so few that the last one is short. */
static uint32_t bands_of_group(uint64_t bands, const struct wcodec_gpu_product_limits *limits)
{
    const uint64_t each = (bands + limits->groups - 1) / limits->groups;
    return each <= limits->warps / 2 ? (uint32_t)each : 4;
}

/* How the warps of a work-group divide the matrix: bands side by side, parts of a band's tiles.
 * Fewer where shared memory is small. */
static void divide(const struct wcodec_fixed *f, const struct wcodec_product_row *kernel,
                   const struct wcodec_gpu_product_limits *limits,
                   struct wcodec_gpu_product *launch)
{
    uint32_t bands = bands_of_group(f->bands, limits), parts = limits->warps / bands, needed;
    if (parts > f->across)
        parts = (uint32_t)f->across;
    const bool staged = kernel->way == WCODEC_PRODUCT_STAGED;
    if (staged && parts > WCODEC_PRODUCT_STAGED_PARTS)
        parts = WCODEC_PRODUCT_STAGED_PARTS;
    for (;;) {
        needed = wcodec_product_shared(bands, parts, kernel->eights, staged);
        if (needed <= limits->shared || bands * parts == 1)
            break;
        if (parts > 1)
            parts--;
        else
            bands--;
    }
    launch->groups = (uint32_t)((f->bands + bands - 1) / bands);
    launch->threads = 32 * bands * parts;
    launch->shared = needed;
    launch->arguments.group_bands = bands;
    launch->arguments.parts = parts;
}

/* Work-groups of a cluster for each tile of a band: as many as end first, if they take as long as a
 * warp has bands, and some more. */
static uint32_t groups_of_cluster(const struct wcodec_fixed *f, const uint32_t *clusters,
                                  uint32_t parts)
{
    enum { START = 4 /* bands that take as long as a beginning and end */ };
    uint64_t least = UINT64_MAX;
    uint32_t found = 1;
    for (uint32_t groups = 1; clusters != NULL && groups <= WCODEC_TRANSPOSED_CLUSTER &&
                              (uint64_t)(groups - 1) * parts < f->bands;
         groups++) {
        if (clusters[groups] == 0)
            continue;
        const uint64_t turns = (f->across + clusters[groups] - 1) / clusters[groups],
                       each = (f->bands + groups * parts - 1) / (groups * parts),
                       time = turns * (each + START);
        if (time < least) {
            least = time;
            found = groups;
        }
    }
    return found;
}

uint64_t wcodec_gpu_transposed_most(const struct wcodec_fixed *f, bool clusters)
{
    /* A work-group, or a cluster, has 128 columns: of fewer columns most of a device is idle
     * without clusters (bench/gpu/README.md). */
    enum { COLUMNS = 8192 };
    return clusters || f->columns >= COLUMNS ? WCODEC_TRANSPOSED_VECTORS : 0;
}

/* y = x W: a work-group for each tile of a band, or several, whose warps divide the bands. */
static void divide_transposed(const struct wcodec_fixed *f,
                              const struct wcodec_gpu_product_limits *limits,
                              struct wcodec_gpu_product *launch)
{
    const uint32_t each = WCODEC_PRODUCT_WARP > (int)WCODEC_TRANSPOSED_SUMS
                              ? (uint32_t)WCODEC_PRODUCT_WARP
                              : (uint32_t)WCODEC_TRANSPOSED_SUMS;
    uint32_t parts = limits->warps;
    if (parts > f->bands)
        parts = (uint32_t)f->bands;
    if (parts > limits->shared / each)
        parts = limits->shared / each;
    launch->arguments.groups = groups_of_cluster(f, limits->clusters, parts);
    launch->groups = (uint32_t)f->across * launch->arguments.groups;
    launch->threads = 32 * parts;
    launch->shared = parts * each;
    launch->arguments.group_bands = 1;
    launch->arguments.parts = parts;
}

static bool is_by_16(const struct wcodec_product *p)
{
    return p->x % 16 == 0 && p->x_stride % 16 == 0;
}

void wcodec_gpu_product_arguments(const struct wcodec_product *p, uint64_t matrix, uint64_t first,
                                  uint64_t vectors, struct wcodec_product_launch *arguments)
{
    const struct wcodec_fixed *f = p->fixed;
    *arguments = (struct wcodec_product_launch){.shifts = matrix,
                                                .records = matrix + f->tiles_begin,
                                                .spilled = matrix + f->spilled_begin,
                                                .x = p->x + first * p->x_stride,
                                                .y = p->y + first * p->y_stride,
                                                .bias = p->bias,
                                                .x_stride = p->x_stride,
                                                .y_stride = p->y_stride,
                                                .rows = (uint32_t)f->rows,
                                                .columns = (uint32_t)f->columns,
                                                .across = (uint32_t)f->across,
                                                .bands = (uint32_t)f->bands,
                                                .group_bands = 1,
                                                .parts = 1,
                                                .vectors = (uint32_t)vectors,
                                                .list = f->list,
                                                .y_format = format_of(p->y_dtype),
                                                .bias_format = format_of(p->bias_dtype),
                                                .by_16 = is_by_16(p),
                                                .groups = 1};
}

uint64_t wcodec_gpu_plan_product(const struct wcodec_product *p, uint64_t matrix,
                                 const struct wcodec_gpu_product_limits *limits, uint64_t first,
                                 struct wcodec_gpu_product *launch)
{
    const struct wcodec_fixed *f = p->fixed;
    const uint64_t left = p->vectors - first,
                   most = p->transposed ? WCODEC_TRANSPOSED_VECTORS : limits->vectors,
                   vectors = left < most ? left : most;
    const unsigned way = p->transposed ? WCODEC_PRODUCT_TRANSPOSED
                         : !is_by_16(p) || f->columns % WCODEC_FIXED_COLUMNS != 0 ||
                                 vectors > WCODEC_PRODUCT_DIRECT_VECTORS
                             ? WCODEC_PRODUCT_STAGED
                             : WCODEC_PRODUCT_DIRECT;
    launch->kernel = kernel_of(f->bits, vectors, way);
    wcodec_gpu_product_arguments(p, matrix, first, vectors, &launch->arguments);
    if (p->transposed)
        divide_transposed(f, limits, launch);
    else
        divide(f, &wcodec_product_rows[launch->kernel], limits, launch);
    return vectors;
}

enum {
    ROWS_WARPS = 2 * WCODEC_GPU_ROWS_WARPS, /* of a unit */
    GATHER_GROUPS = 1 << 18                 /* at most: then each takes several rows in turn */
};

static uint32_t groups_of(uint64_t tasks, uint32_t of_group, uint64_t most)
{
    const uint64_t groups = (tasks + of_group - 1) / of_group;
    return (uint32_t)(groups < most ? groups : most);
}

/* By work-groups of so many warps, and so many groups at most. */
static void plan_rows(const struct wcodec_rows *r, uint64_t matrix, bool neighbours, uint32_t warps,
                      uint64_t most, struct wcodec_gpu_rows *launch)
{
    const struct wcodec_fixed *f = r->fixed;
    const uint64_t band = neighbours ? r->first / WCODEC_FIXED_ROWS : 0,
                   end = neighbours
                             ? (r->first + r->count + WCODEC_FIXED_ROWS - 1) / WCODEC_FIXED_ROWS
                             : f->bands,
                   tiles = (end - band) * f->across;
    unsigned kernel = 0;
    while (wcodec_rows_rows[kernel].bits != f->bits ||
           wcodec_rows_rows[kernel].neighbours != neighbours)
        kernel++;
    *launch = (struct wcodec_gpu_rows){
        .kernel = kernel,
        .groups = groups_of(neighbours ? tiles : r->count * f->across,
                            neighbours ? warps : 8 * warps, most),
        .threads = 32 * warps,
        .shared = warps * (neighbours ? (uint32_t)WCODEC_RECORD_STAGE : WCODEC_GATHER_WARP),
        .arguments = {.job = {.records =
                                  matrix + f->tiles_begin + band * f->across * f->record_size,
                              .spilled = matrix + f->spilled_begin,
                              .shifts = matrix + band * WCODEC_FIXED_ROWS,
                              .out = r->out,
                              .begin = r->first * f->columns,
                              .end = (r->first + r->count) * f->columns,
                              .first_row = r->first,
                              .end_row = r->first + r->count,
                              .first_band = band,
                              .rows = f->rows,
                              .spilled_end = f->spilled,
                              .columns = (uint32_t)f->columns,
                              .across = (uint32_t)f->across,
                              .list = f->list,
                              .regular = f->columns % 8 == 0 && r->out % 16 == 0},
                      .indices = r->indices,
                      .count = r->count,
                      .outside = r->outside,
                      .tiles = (uint32_t)tiles,
                      .number = r->number},
    };
}

/* Rows by an index wait for memory again and again: work-groups are small, and as many as there are
 * rows for, so that others begin meanwhile. */
static void plan_gather(const struct wcodec_rows *r, uint64_t matrix,
                        struct wcodec_gpu_rows *launch)
{
    const uint32_t across = (uint32_t)r->fixed->across, tiles = wcodec_gather_tiles(across),
                   warps = WCODEC_GPU_GATHER_WARPS;
    const uint64_t chunks = (across + tiles - 1) / tiles, rows = 8 / tiles,
                   most = GATHER_GROUPS * warps / chunks * rows,
                   at_once = r->count < most ? r->count : most;
    plan_rows(r, matrix, false, warps, UINT32_MAX, launch);
    launch->groups = (uint32_t)(((at_once + rows - 1) / rows * chunks + warps - 1) / warps);
}

void wcodec_gpu_plan_rows(const struct wcodec_rows *r, uint64_t matrix, unsigned units,
                          unsigned shared, struct wcodec_gpu_rows *launch)
{
    const uint32_t warps =
        shared < WCODEC_GPU_ROWS_SHARED ? WCODEC_GPU_ROWS_WARPS / 2 : WCODEC_GPU_ROWS_WARPS;
    if (r->indices != 0)
        plan_gather(r, matrix, launch);
    else
        plan_rows(r, matrix, true, warps, (uint64_t)units * (ROWS_WARPS / warps), launch);
}

uint64_t wcodec_gpu_plan_product_plain(const struct wcodec_product *p, uint64_t matrix,
                                       unsigned parts, uint64_t first,
                                       struct wcodec_gpu_product *launch)
{
    const uint64_t left = p->vectors - first, most = WCODEC_PRODUCT_PLAIN_VECTORS,
                   vectors = left < most ? left : most;
    launch->kernel = kernel_of(p->fixed->bits, vectors,
                               p->transposed ? WCODEC_PRODUCT_TRANSPOSED : WCODEC_PRODUCT_DIRECT);
    wcodec_gpu_product_arguments(p, matrix, first, vectors, &launch->arguments);
    launch->arguments.parts = parts;
    launch->groups = p->transposed ? launch->arguments.across : launch->arguments.bands;
    launch->threads = 64 * parts;
    launch->shared = launch->threads * WCODEC_PRODUCT_PLAIN_VECTORS * (uint32_t)sizeof(float);
    if (p->transposed) /* two columns of a work-item */
        launch->shared *= 2;
    return vectors;
}

void wcodec_gpu_plan_rows_plain(const struct wcodec_rows *r, uint64_t matrix, unsigned units,
                                struct wcodec_gpu_rows *launch)
{
    plan_rows(r, matrix, false, 2, (uint64_t)units * WCODEC_GPU_ROWS_WARPS, launch);
    launch->shared = 0;
}
