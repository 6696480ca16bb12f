/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The kernels of vectors.def in OpenCL C: what is launched, and nothing else. A program has all. A
 * launch's addresses are offsets in the buffers that it is given, as in product.cl. */
#include "backends/kernels/vectors_start.h"
#include "backends/kernels/vectors_tensor.h"

WCODEC_DEVICE_FUNCTION void wcodec_vectors_open(struct wcodec_vectors_launch *l,
                                                __global uint8_t *rows, __global uint8_t *work,
                                                __global uint8_t *anchors)
{
    l->halves += l->halves == l->rows ? (ulong)rows : (ulong)work;
    l->rows += (ulong)rows;
    l->distance += (ulong)work;
    l->index += (ulong)work;
    l->place += (ulong)work;
    l->keys += (ulong)work;
    l->sums += (ulong)work;
    l->farthest += (ulong)work;
    l->result += (ulong)work;
    l->norms += (ulong)work;
    l->list += (ulong)work;
    l->few += (ulong)work;
    l->rest += (ulong)work;
    l->centre += (ulong)work;
    l->anchors += (ulong)anchors;
    l->counts += (ulong)anchors;
    l->begin += (ulong)anchors;
    l->columns += (ulong)anchors;
    l->middle += (ulong)anchors;
    l->bounds += (ulong)anchors;
    l->totals += (ulong)anchors;
    l->members += (ulong)anchors;
}

#define WCODEC_VECTORS_LAUNCHED(name, call) \
    WCODEC_OPENCL_KERNEL void wcodec_vectors_##name( \
        __global uint8_t *rows, __global uint8_t *work, __global uint8_t *anchors, \
        const struct wcodec_vectors_launch launch, __local uint4 *shared) \
    { \
        struct wcodec_vectors_launch opened = launch; \
        struct wcodec_vectors_item item; \
        struct wcodec_warp own; \
        const struct wcodec_vectors_launch *l = &opened; \
        const struct wcodec_vectors_item *w = &item; \
        struct wcodec_warp *warp = &own; \
        WCODEC_VECTORS_WARP \
        wcodec_vectors_open(&opened, rows, work, anchors); \
        item.item = (uint32_t)get_local_id(0); \
        item.items = (uint32_t)get_local_size(0); \
        item.group = (uint32_t)get_group_id(0); \
        item.groups = (uint32_t)get_num_groups(0); \
        item.shared = (__local ulong *)shared; \
        call; \
    }
#define WCODEC_VECTORS_PLAIN(name, arguments) \
    WCODEC_VECTORS_LAUNCHED(name, wcodec_vectors_##name##_kernel arguments)
#ifdef WCODEC_MATRIX_PRODUCTS
#define WCODEC_VECTORS_WARP own.shared = (__local uint8_t *)shared;
#define WCODEC_VECTORS_TENSOR(name, held) \
    WCODEC_VECTORS_LAUNCHED(name, wcodec_vectors_tensor_kernel(held, warp, w, l))
#define WCODEC_VECTORS_BESIDE(name, arguments) WCODEC_VECTORS_PLAIN(name, arguments)
#else
#define WCODEC_VECTORS_WARP (void)warp;
#define WCODEC_VECTORS_TENSOR(name, held)
#define WCODEC_VECTORS_BESIDE(name, arguments)
#endif
#include "backends/kernels/vectors.def"
