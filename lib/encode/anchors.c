/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Lloyd's iterations over whole numbers: sums are exact, so that anchors are the same whatever the
 * threads. */
#include "encode/anchored.h"

#include "backends/cpu/cpu_level.h"
#include "backends/cpu/nearest.h"
#include "core/error.h"
#include "core/memory.h"

#include <math.h>

enum {
    ITERATIONS = 6,
    SEEN = 64,   /* rows of the sample for an anchor */
    BLOCK = 256, /* rows that a task takes */
    LANES = WCODEC_NEAREST_LANES
};

struct finding {
    wcodec_context *context;
    struct wcodec_cpu_nearest_dsp dsp;
    struct wcodec_anchors *to;
    const uint8_t *numbers;
    unsigned log2;
    size_t seen;         /* rows that are looked at at once */
    size_t first, count; /* of those that are looked at now; with all rows in their order */
    bool spread;         /* these are evenly spread over all rows instead */
    float *rows;         /* seen x width */
    float *panels;       /* the anchors, as the kernel takes them */
    float *distance;     /* of each row that is looked at */
    uint32_t *index;     /* likewise */
    double *sums;        /* of each anchor's rows */
};

static size_t row_of(const struct finding *f, size_t i)
{
    return f->spread ? (size_t)((uint64_t)i * f->to->rows / f->seen) : f->first + i;
}

/* Rows of a block: [*begin, the result). */
static size_t block_rows(const struct finding *f, size_t block, size_t *begin)
{
    *begin = block * BLOCK;
    return f->count - *begin < BLOCK ? f->count : *begin + BLOCK;
}

static void load_block(void *argument, size_t block)
{
    const struct finding *f = argument;
    const struct wcodec_anchors *a = f->to;
    size_t begin;
    const size_t end = block_rows(f, block, &begin);
    for (size_t i = begin; i < end; i++) {
        const uint8_t *from = f->numbers + (row_of(f, i) * a->columns << f->log2);
        float *row = f->rows + i * a->width;
        for (size_t j = 0; j < a->width; j++)
            row[j] = j < a->columns ? (float)wcodec_coefficient(from, f->log2, j) : 0;
    }
}

static void assign_block(void *argument, size_t block)
{
    const struct finding *f = argument;
    const struct wcodec_anchors *a = f->to;
    size_t begin;
    const size_t end = block_rows(f, block, &begin);
    f->dsp.nearest(f->rows + begin * a->width, end - begin, a->width, f->panels,
                   (a->count + LANES - 1) / LANES, f->distance + begin, f->index + begin);
}

static void run_blocks(struct finding *f, void (*task)(void *argument, size_t block))
{
    wcodec_run(f->context, task, f, (f->count + BLOCK - 1) / BLOCK);
}

static void assign(struct finding *f)
{
    const struct wcodec_anchors *a = f->to;
    const size_t lanes = (a->count + LANES - 1) / LANES * LANES;
    for (size_t k = 0; k < lanes; k++)
        for (size_t j = 0; j < a->width; j++)
            f->panels[k / LANES * LANES * a->width + j * LANES + k % LANES] =
                k < a->count ? a->anchors[k * a->width + j] : INFINITY;
    run_blocks(f, assign_block);
}

/* Each anchor is the mean of its rows, rounded; one that has none stays. */
static void update(struct finding *f)
{
    const struct wcodec_anchors *a = f->to;
    double *counts = f->sums + a->count * a->width;
    memset(f->sums, 0, a->count * (a->width + 1) * sizeof *f->sums);
    for (size_t i = 0; i < f->count; i++) {
        double *sums = f->sums + f->index[i] * a->width;
        counts[f->index[i]]++;
        for (size_t j = 0; j < a->width; j++)
            sums[j] += (double)f->rows[i * a->width + j];
    }
    for (size_t k = 0; k < a->count; k++)
        for (size_t j = 0; j < a->width && counts[k] > 0; j++)
            a->anchors[k * a->width + j] = (float)rint(f->sums[k * a->width + j] / counts[k]);
}

static wcodec_status check_cancel(struct wcodec_cancel *cancel, wcodec_error *err)
{
    return wcodec_cancel_poll(cancel)
               ? wcodec_fail(err, WCODEC_ERROR_CANCELLED, "cancelled by the caller")
               : WCODEC_OK;
}

/* Anchors from the sample, which begin as some of its rows. */
static wcodec_status train(struct finding *f, struct wcodec_cancel *cancel, wcodec_error *err)
{
    const struct wcodec_anchors *a = f->to;
    f->spread = true;
    f->count = f->seen;
    run_blocks(f, load_block);
    for (size_t k = 0; k < a->count; k++)
        memcpy(a->anchors + k * a->width,
               f->rows + (size_t)((uint64_t)k * f->seen / a->count) * a->width,
               a->width * sizeof *a->anchors);
    for (unsigned i = 0; i < ITERATIONS; i++) {
        const wcodec_status status = check_cancel(cancel, err);
        if (status != WCODEC_OK)
            return status;
        assign(f);
        update(f);
    }
    return WCODEC_OK;
}

/* The nearest anchor of each row, as many at a time as the sample has. */
static wcodec_status assign_all(struct finding *f, struct wcodec_cancel *cancel, wcodec_error *err)
{
    const struct wcodec_anchors *a = f->to;
    f->spread = false;
    for (f->first = 0; f->first < a->rows; f->first += f->count) {
        const wcodec_status status = check_cancel(cancel, err);
        if (status != WCODEC_OK)
            return status;
        f->count = a->rows - f->first < f->seen ? a->rows - f->first : f->seen;
        run_blocks(f, load_block);
        assign(f);
        memcpy(a->index + f->first, f->index, f->count * sizeof *f->index);
    }
    return WCODEC_OK;
}

static bool allocate(struct finding *f)
{
    struct wcodec_anchors *a = f->to;
    const wcodec_allocator *allocator = a->allocator;
    const size_t lanes = (a->count + LANES - 1) / LANES * LANES;
    a->anchors = wcodec_alloc_array(allocator, a->count, a->width * sizeof *a->anchors);
    a->index = wcodec_alloc_array(allocator, a->rows, sizeof *a->index);
    f->rows = wcodec_alloc_array(allocator, f->seen, a->width * sizeof *f->rows);
    f->panels = wcodec_alloc_array(allocator, lanes, a->width * sizeof *f->panels);
    f->distance = wcodec_alloc_array(allocator, f->seen, sizeof *f->distance);
    f->index = wcodec_alloc_array(allocator, f->seen, sizeof *f->index);
    f->sums = wcodec_alloc_array(allocator, a->count, (a->width + 1) * sizeof *f->sums);
    return a->anchors != NULL && a->index != NULL && f->rows != NULL && f->panels != NULL &&
           f->distance != NULL && f->index != NULL && f->sums != NULL;
}

wcodec_status wcodec_anchors_find(wcodec_context *context, struct wcodec_cancel *cancel,
                                  const uint8_t *numbers, unsigned log2, size_t rows,
                                  size_t columns, size_t count, struct wcodec_anchors *anchors,
                                  wcodec_error *err)
{
    const wcodec_allocator *allocator = &context->allocator;
    struct finding f = {.context = context,
                        .to = anchors,
                        .numbers = numbers,
                        .log2 = log2,
                        .seen = rows / SEEN < count ? rows : SEEN * count};
    *anchors =
        (struct wcodec_anchors){.allocator = allocator,
                                .rows = rows,
                                .columns = columns,
                                .width = (size_t)wcodec_align_u64(columns, WCODEC_NEAREST_GROUP),
                                .count = count};
    wcodec_cpu_nearest_dsp_init(&f.dsp, wcodec_cpu_levels() & context->cpu_mask);
    wcodec_status status = allocate(&f) ? train(&f, cancel, err)
                                        : wcodec_fail(err, WCODEC_ERROR_MEMORY,
                                                      "out of memory for %zu anchors", count);
    if (status == WCODEC_OK)
        status = assign_all(&f, cancel, err);
    wcodec_free(allocator, f.rows);
    wcodec_free(allocator, f.panels);
    wcodec_free(allocator, f.distance);
    wcodec_free(allocator, f.index);
    wcodec_free(allocator, f.sums);
    if (status != WCODEC_OK)
        wcodec_anchors_free(anchors);
    return status;
}

void wcodec_anchors_free(struct wcodec_anchors *anchors)
{
    wcodec_free(anchors->allocator, anchors->anchors);
    wcodec_free(anchors->allocator, anchors->index);
    anchors->anchors = NULL;
    anchors->index = NULL;
}
