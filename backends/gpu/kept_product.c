/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "backends/gpu/kept_product.h"

enum { VECTORS = 16 /* most of a launch */, SUM_THREADS = 128 };

const struct wcodec_coded_product_row wcodec_coded_product_rows[WCODEC_CODED_PRODUCTS] = {
#define WCODEC_CODED_PRODUCT(name, coding, eights) {#name, WCODEC_CODING_##coding, eights},
#include "backends/kernels/products_coded.def"
#undef WCODEC_CODED_PRODUCT
    {"coded_sum", 0, 0},
};

unsigned wcodec_gpu_coded_decoder(unsigned kernel)
{
    return wcodec_kernel_find(WCODEC_FAMILY_FRAGMENTS, WCODEC_SHAPE_16_8,
                              wcodec_coded_product_rows[kernel].coding, false, 0, false);
}

/* The kernel for so many vectors, by the one that decodes. */
static unsigned kernel_of(unsigned decoder, uint64_t vectors)
{
    unsigned k = 0;
    while (k < WCODEC_CODED_SUM && (wcodec_gpu_coded_decoder(k) != decoder ||
                                    8u * wcodec_coded_product_rows[k].eights < vectors))
        k++;
    return k;
}

bool wcodec_gpu_kept_takes(const struct wcodec_gpu_kept *kept, unsigned kernel)
{
    const struct wcodec_gpu_kept_part *p = &kept->parts[0];
    bool takes = kernel == WCODEC_CODED_SUM;
    for (unsigned i = 0; i < p->launch_count && !takes; i++)
        takes = wcodec_gpu_coded_decoder(kernel) == p->launches[i].kernel;
    return takes;
}

uint64_t wcodec_gpu_kept_work(const struct wcodec_gpu_kept *kept)
{
    const struct wcodec_gpu_kept_part *p = &kept->parts[0];
    if (kept->unit == 0 || p->job.fragments == NULL)
        return 0;
    for (unsigned i = 0; i < p->launch_count; i++)
        if (kernel_of(p->launches[i].kernel, VECTORS) == WCODEC_CODED_SUM)
            return 0;
    return kept->tiles * WCODEC_CODED_SUMS(VECTORS / 8);
}

static uint32_t format_of(wcodec_dtype dtype)
{
    return dtype == WCODEC_DTYPE_BF16  ? WCODEC_TO_BF16
           : dtype == WCODEC_DTYPE_F16 ? WCODEC_TO_F16
                                       : WCODEC_TO_F32;
}

/* Vectors [first, first + count). */
static int multiply_some(const struct wcodec_gpu_kept *kept, const struct wcodec_product *product,
                         uint64_t work, uint64_t first, uint64_t count,
                         int (*launch)(void *opaque, struct wcodec_gpu_coded_product *l),
                         void *opaque)
{
    const struct wcodec_gpu_kept_part *p = &kept->parts[0];
    struct wcodec_gpu_coded_product l = {
        .arguments = {.x = product->x + first * product->x_stride,
                      .x_stride = product->x_stride,
                      .sums = work,
                      .y = product->y + first * product->y_stride,
                      .y_stride = product->y_stride,
                      .bias = product->bias,
                      .vectors = (uint32_t)count,
                      .across = (uint32_t)kept->unit_tiles,
                      .bands = (uint32_t)(kept->tiles / kept->unit_tiles),
                      .y_format = format_of(product->y_dtype),
                      .bias_format = format_of(product->bias_dtype)}};
    int result = 0;
    for (unsigned i = 0; i < p->launch_count && result == 0; i++) {
        const struct wcodec_gpu_launch *from = &p->launches[i];
        l.kernel = kernel_of(from->kernel, count);
        l.groups = from->groups;
        l.threads = from->threads;
        l.shared = from->shared;
        l.arguments.tiles = from->arguments;
        l.arguments.tiles.out = work; /* nothing is stored there */
        l.arguments.eights = wcodec_coded_product_rows[l.kernel].eights;
        result = launch(opaque, &l);
    }
    if (result != 0)
        return result;
    const uint32_t threads = l.arguments.bands * l.arguments.eights * 32;
    l.kernel = WCODEC_CODED_SUM;
    l.groups = (threads + SUM_THREADS - 1) / SUM_THREADS;
    l.threads = SUM_THREADS;
    l.shared = 0;
    return launch(opaque, &l);
}

int wcodec_gpu_kept_multiply(const struct wcodec_gpu_kept *kept,
                             const struct wcodec_product *product, uint64_t work,
                             int (*launch)(void *opaque, struct wcodec_gpu_coded_product *l),
                             void *opaque)
{
    int result = 0;
    for (uint64_t first = 0; first < product->vectors && result == 0; first += VECTORS) {
        const uint64_t left = product->vectors - first;
        result = multiply_some(kept, product, work, first, left < VECTORS ? left : VECTORS, launch,
                               opaque);
    }
    return result;
}
