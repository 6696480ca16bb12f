/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The kernels of search.def in OpenCL C: what is launched, and nothing else. A program has all. A
 * launch's addresses are offsets in the buffers that it is given, as in product.cl. */
#include "backends/kernels/search.h"

WCODEC_DEVICE_FUNCTION void wcodec_search_bind(struct wcodec_search_launch *l,
                                               __global uint8_t *codes, __global uint8_t *vectors,
                                               __global uint8_t *work)
{
    l->codes += (ulong)codes;
    l->panels += (ulong)vectors;
    l->anchors += (ulong)vectors;
    l->anchor_lengths += (ulong)vectors;
    l->scales += (ulong)vectors;
    l->begin += (ulong)vectors;
    l->segments += (ulong)vectors;
    l->pieces += (ulong)vectors;
    l->ranks += (ulong)vectors;
    l->squares += (ulong)vectors;
    l->lengths += (ulong)vectors;
    l->allowed += (ulong)work;
    l->queries += (ulong)work;
    l->query_lengths += (ulong)work;
    l->base += (ulong)work;
    l->order += (ulong)work;
    l->probes += (ulong)work;
    l->looked += (ulong)work;
    l->counts += (ulong)work;
    l->first += (ulong)work;
    l->entries += (ulong)work;
    l->keys += (ulong)work;
    l->parts += (ulong)work;
    l->found += (ulong)work;
}

/* As shell.cl has WCODEC_OPENCL_KERNEL, but some kernels have fewer work-items. */
#ifdef WCODEC_OPENCL_NVIDIA
#define WCODEC_SEARCH_SIZED(most) __kernel
#else
#define WCODEC_SEARCH_SIZED(most) \
    __kernel __attribute__(( \
        reqd_work_group_size((most) < WCODEC_OPENCL_ITEMS ? (most) : WCODEC_OPENCL_ITEMS, 1, 1)))
#endif

#define WCODEC_SEARCH_KERNEL(name, most, at_once) \
    WCODEC_SEARCH_SIZED(most) \
    void wcodec_search_##name(__global uint8_t *codes, __global uint8_t *vectors, \
                              __global uint8_t *work, const struct wcodec_search_launch launch, \
                              __local uint4 *shared) \
    { \
        struct wcodec_search_launch bound = launch; \
        struct wcodec_vectors_item item; \
        struct wcodec_warp warp; \
        wcodec_search_bind(&bound, codes, vectors, work); \
        item.item = (uint32_t)get_local_id(0); \
        item.items = (uint32_t)get_local_size(0); \
        item.group = (uint32_t)get_group_id(0); \
        item.groups = (uint32_t)get_num_groups(0); \
        item.shared = (__local ulong *)shared; \
        wcodec_search_##name##_kernel(&warp, &item, &bound); \
    }
#include "backends/kernels/search.def"
