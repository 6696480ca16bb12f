/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "backends/gpu/kept_rows.h"

/* SEGMENTS: launches of a call, each of which looks at all indices. */
enum { SEGMENTS = 16, ALIGNMENT = 8, TASKS = 1 << 24 };

const struct wcodec_coded_rows_row wcodec_coded_rows_rows[WCODEC_CODED_ROWS_KERNELS] = {
#define WCODEC_CODED_ROWS(name, coding) {#name, WCODEC_CODING_##coding},
#include "backends/kernels/rows_coded.def"
#undef WCODEC_CODED_ROWS
};

unsigned wcodec_gpu_coded_rows_decoder(unsigned kernel)
{
    return wcodec_kernel_find(WCODEC_FAMILY_FAST, WCODEC_SHAPE_16_8,
                              wcodec_coded_rows_rows[kernel].coding, false, 0, false);
}

/* The one for tiles that kernel `decoder` decodes. */
static unsigned kernel_of(unsigned decoder)
{
    unsigned k = 0;
    while (k < WCODEC_CODED_ROWS_KERNELS && wcodec_gpu_coded_rows_decoder(k) != decoder)
        k++;
    return k;
}

bool wcodec_gpu_kept_gathers(const struct wcodec_gpu_kept *kept, uint64_t row_size)
{
    const struct wcodec_gpu_kept_part *p = &kept->parts[0];
    const struct wcodec_gpu_plan *plan = &p->plan;
    if (kept->unit == 0 || kept->unit_tiles != 1 || p->job.fragments != NULL || row_size == 0 ||
        row_size % ALIGNMENT != 0 || kept->bytes % row_size != 0 || plan->segment_count > SEGMENTS)
        return false;
    for (unsigned kernel = 0; kernel < WCODEC_KERNELS; kernel++)
        if (plan->runs[kernel].count > 0 &&
            (kernel == WCODEC_KERNEL_GENERIC || kernel_of(kernel) == WCODEC_CODED_ROWS_KERNELS))
            return false;
    return true;
}

/* Tiles that have a part of a row. */
static uint64_t most_pieces(uint64_t tile, uint64_t row_size)
{
    if (row_size % tile == 0 || tile % row_size == 0)
        return row_size < tile ? 1 : row_size / tile;
    return (row_size + 2 * tile - 2) / tile;
}

static unsigned log2_of(uint64_t power)
{
    unsigned log2 = 0;
    while ((uint64_t)1 << log2 < power)
        log2++;
    return log2;
}

/* The jobs of a segment. */
static int gather_some(const struct wcodec_gpu_kept *kept, const struct wcodec_rows *rows,
                       unsigned decoder, const struct wcodec_segment *s,
                       int (*launch)(void *opaque, struct wcodec_gpu_coded_rows *l), void *opaque)
{
    const struct wcodec_gpu_plan *plan = &kept->parts[0].plan;
    const uint64_t pieces = most_pieces(kept->unit, rows->row_size);
    const uint64_t tasks = rows->count > TASKS / pieces ? TASKS : rows->count * pieces;
    const struct wcodec_segment wanted = {s->tables, s->first, (uint32_t)tasks};
    struct wcodec_gpu_launch from;
    wcodec_gpu_plan_some(&kept->limits, decoder, &wanted, kept->address,
                         kept->address + kept->faults, &from);
    struct wcodec_gpu_coded_rows l = {
        .kernel = kernel_of(decoder),
        .groups = from.groups,
        .threads = from.threads,
        .shared = from.shared,
        .arguments = {.tiles = from.arguments,
                      .indices = rows->indices,
                      .count = rows->count,
                      .out = rows->out,
                      .outside = rows->outside,
                      .rows = kept->bytes / rows->row_size,
                      .row_size = rows->row_size,
                      .pieces = (uint32_t)pieces,
                      .tile_log2 = log2_of(kept->unit),
                      .number = rows->number,
                      .zeros = s == plan->segments,
                      .sole = plan->segment_count == 1 && s->count == kept->tiles}};
    l.arguments.tiles.count = s->count;
    /* No tile goes anywhere; but kernels reckon where it would. */
    l.arguments.tiles.out = rows->out & ~(uint64_t)15;
    return launch(opaque, &l);
}

int wcodec_gpu_kept_gather(const struct wcodec_gpu_kept *kept, const struct wcodec_rows *rows,
                           int (*launch)(void *opaque, struct wcodec_gpu_coded_rows *l),
                           void *opaque)
{
    const struct wcodec_gpu_plan *plan = &kept->parts[0].plan;
    const struct wcodec_segment *s = plan->segments, *last = s + plan->segment_count;
    int result = 0;
    for (unsigned kernel = 0; kernel < WCODEC_KERNELS; kernel++) {
        const struct wcodec_kernel_run *run = &plan->runs[kernel];
        for (; s < last && s->first < run->first + run->count && result == 0; s++)
            result = gather_some(kept, rows, kernel, s, launch, opaque);
    }
    return result;
}
