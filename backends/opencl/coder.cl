/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The kernels of backends/kernels/tile_encoders.def, measures.def and delta.h in OpenCL C: what is
 * launched, and nothing else. A program has one kernel. WCODEC_CODER is its step: 0 a row of its
 * own, of which WCODEC_CODER_ELEMENT_LOG2, _RAW and _PROFILE are the columns, 1 tiles of any
 * tensor, 2 sums, 3 join; 4 measuring elements of that size, 5 its sums; 6 hashes of leaves, 7
 * tiles of a delta; 8 elements that differ, and counts of their classes; 10 measures their streams,
 * 14 says where they begin, 11 writes them, 12 decodes them, too, and 15 takes their checks; 13
 * linear hashes.
 *
 * A launch's addresses are offsets in the buffers that it is given, as in product.cl. */
#include "backends/kernels/delta_checks.h"
#include "backends/kernels/encode_join.h"
#include "backends/kernels/measure.h"

#if WCODEC_CODER == 6
WCODEC_OPENCL_KERNEL void wcodec_coder(__global uint8_t *elements, __global uint8_t *out,
                                       const struct wcodec_leaves_launch launch,
                                       __local uint4 *shared)
{
    struct wcodec_leaves_launch l = launch;
    struct wcodec_warp warp;
    WCODEC_WARP_OPEN
    l.elements += (ulong)elements;
    l.out += (ulong)out;
    barrier(CLK_LOCAL_MEM_FENCE);
    wcodec_leaves_kernel(&warp, &l);
}
#elif WCODEC_CODER == 7
WCODEC_OPENCL_KERNEL void wcodec_coder(__global uint8_t *elements, __global uint8_t *work,
                                       const struct wcodec_patch_launch launch,
                                       __local uint4 *shared)
{
    struct wcodec_patch_launch l = launch;
    struct wcodec_warp warp;
    WCODEC_WARP_OPEN
    l.elements += (ulong)elements;
    l.tiles += (ulong)work;
    l.results += (ulong)work;
    l.codes += (ulong)work;
    l.streams += (ulong)work;
    barrier(CLK_LOCAL_MEM_FENCE);
    wcodec_patch_kernel(&warp, &l);
}
#elif WCODEC_CODER == 13
WCODEC_OPENCL_KERNEL void wcodec_coder(__global uint8_t *elements, __global uint8_t *out,
                                       const struct wcodec_linear_launch launch,
                                       __local uint4 *shared)
{
    struct wcodec_linear_launch l = launch;
    struct wcodec_warp warp;
    WCODEC_WARP_OPEN
    l.elements += (ulong)elements;
    l.out += (ulong)out;
    barrier(CLK_LOCAL_MEM_FENCE);
    wcodec_linear_kernel(&warp, &l);
}
#elif WCODEC_CODER >= 8
WCODEC_OPENCL_KERNEL void wcodec_coder(__global uint8_t *elements, __global uint8_t *base,
                                       __global uint8_t *work, __global uint8_t *streams,
                                       const struct wcodec_changes_launch launch,
                                       __local uint4 *shared)
{
    struct wcodec_changes_launch l = launch;
    struct wcodec_warp warp;
    WCODEC_WARP_OPEN
    l.elements += (ulong)elements;
    l.base += (ulong)base;
    l.tally += (ulong)work;
    l.counts += (ulong)work;
    l.words += (ulong)work;
    l.codes += (ulong)work;
    l.secret += (ulong)work;
    l.firsts += (ulong)work;
    l.total += (ulong)work;
    l.coded += (ulong)work;
    l.slots += (ulong)work;
    l.streams += (ulong)streams;
    barrier(CLK_LOCAL_MEM_FENCE);
#if WCODEC_CODER == 8
    wcodec_changes_kernel(&warp, &l);
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    wcodec_stream_tally_kernel(&warp, &l);
#elif WCODEC_CODER == 10
    wcodec_stream_sizes_kernel(&warp, &l);
#elif WCODEC_CODER == 14
    wcodec_stream_places_kernel(&warp, &l);
#elif WCODEC_CODER == 15
    wcodec_stream_checks_kernel(&warp, &l);
#else
    wcodec_stream_kernel(&warp, &l);
#if WCODEC_CODER == 12
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    wcodec_stream_proof_kernel(&warp, &l);
#endif
#endif
}
#elif WCODEC_CODER >= 4
WCODEC_OPENCL_KERNEL void wcodec_coder(__global uint8_t *elements, __global uint8_t *work,
                                       const struct wcodec_measure_launch launch,
                                       __local uint4 *shared)
{
    struct wcodec_measure_launch l = launch;
    struct wcodec_warp warp;
    WCODEC_WARP_OPEN
    l.elements += (ulong)elements;
    l.log2_table += (ulong)work;
    l.parts_at += (ulong)work;
    l.result += (ulong)work;
    barrier(CLK_LOCAL_MEM_FENCE);
#if WCODEC_CODER == 4
    wcodec_measure_kernel(WCODEC_CODER_ELEMENT_LOG2, &warp, &l);
#else
    wcodec_measure_sums_kernel(&warp, &l);
#endif
}
#else

#if WCODEC_CODER == 0
#define WCODEC_CODER_KIND \
    wcodec_coder_kind_of(WCODEC_CODER_ELEMENT_LOG2, WCODEC_CODER_RAW, WCODEC_CODER_PROFILE)
#else
#define WCODEC_CODER_KIND wcodec_coder_kind_of(l.element_log2, l.raw_bits, l.profile)
#endif

/* positions, values: any buffer if there are none. shared: as much as the launch says. */
WCODEC_OPENCL_KERNEL void wcodec_coder(__global uint8_t *elements, __global uint8_t *work,
                                       __global uint8_t *directory, __global uint8_t *states,
                                       __global uint8_t *words, __global uint8_t *raw,
                                       __global uint8_t *positions, __global uint8_t *values,
                                       const struct wcodec_coder_launch launch,
                                       __local uint4 *shared)
{
    struct wcodec_coder_launch l = launch;
    struct wcodec_warp warp;
    WCODEC_WARP_OPEN
    l.elements += (ulong)elements;
    l.table += (ulong)work;
    l.tile_states += (ulong)work;
    l.tile_marks += (ulong)work;
    l.tile_words += (ulong)work;
    l.sums += (ulong)work;
    l.totals += (ulong)work;
    l.directory += (ulong)directory;
    l.states += (ulong)states;
    l.words += (ulong)words;
    l.raw += (ulong)raw;
    l.positions += (ulong)positions;
    l.values += (ulong)values;
    barrier(CLK_LOCAL_MEM_FENCE);
#if WCODEC_CODER == 0
    wcodec_coder_row_kernel(WCODEC_CODER_KIND, &warp, &l);
#elif WCODEC_CODER == 1
    wcodec_coder_tiles_kernel(WCODEC_CODER_KIND, &warp, &l);
#elif WCODEC_CODER == 2
    wcodec_coder_sums_kernel(WCODEC_CODER_KIND, &warp, &l);
#else
    wcodec_coder_join_kernel(WCODEC_CODER_KIND, &warp, &l);
#endif
}
#endif
