/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Training of anchors: rows as binary32, and the steps that schedules are made of. Each step is a
 * function of the whole work, so that a device can take its place. */
#ifndef WCODEC_VECTORS_VECTORS_H
#define WCODEC_VECTORS_VECTORS_H

#include "backends/cpu/nearest.h"
#include "core/cancel.h"
#include "core/context.h"
#include <wcodec/vectors.h>

enum { WCODEC_VECTORS_BLOCK = 256 /* rows that a task takes; sums are made block by block */ };

struct wcodec_vectors {
    wcodec_allocator allocator;
    uint64_t rows, anchors, dimensions;
    uint16_t *anchor;
    uint32_t *index;
    uint32_t flags;
};

struct wcodec_vectors_device;

struct wcodec_vectors_work {
    wcodec_context *context;
    struct wcodec_vectors_device *device; /* that takes the steps; NULL: the CPU does */
    bool parts;    /* the device sees rows part by part: the CPU finds what anchors begin with */
    bool random;   /* anchors begin with rows of a sample */
    uint64_t held; /* bytes that rows take, and what is made of them */
    struct wcodec_cpu_nearest_dsp dsp;
    struct wcodec_reporter reporter;
    struct wcodec_cancel cancel;
    size_t n, d;
    size_t width;   /* d up to a multiple of WCODEC_NEAREST_GROUP; what is added is 0 */
    size_t m, room; /* anchors, and for how many there is memory */
    const wcodec_vector_rows *from;
    float *rows;       /* n * width; NULL: no room, and each step widens those that it is at */
    float largest;     /* magnitude of an element */
    atomic_bool full;  /* there was no memory for those that a step was at */
    double *sums;      /* without rows: room * width, of the rows of each anchor */
    float *anchors;    /* room * width */
    float *panels;     /* the anchors, as the kernel takes them */
    float *columns;    /* the rows so, while anchors are looked for to begin with */
    float *distance;   /* of each row to its anchor, when they were assigned */
    uint32_t *index;   /* of each row; UINT32_MAX: none yet */
    uint64_t *order;   /* rows by their anchors, by wcodec_vectors_group() */
    size_t *begin;     /* room + 1: where those of each anchor begin in it */
    float *means;      /* room * width */
    double *block_sum; /* of each block of rows */
    size_t *block_count;
    uint64_t reported; /* iterations: those that are made again are not reported again */
};

/* What an iteration does to anchors when rows have theirs. */
struct wcodec_vectors_move {
    bool trimmed;
    bool whole;        /* all of the way; anchors without rows go to the farthest rows */
    bool maintain;     /* merge and split */
    float part;        /* of the way */
    float temperature; /* of maintenance */
};

/* Rows of a tensor as binary32, checked. random: anchors begin with rows of a sample, and the steps
 * go by widened rows; where there is no room for all of them beside these, the rows stay what they
 * are, as long as the work takes. On failure nothing is left. */
wcodec_status wcodec_vectors_work_init(struct wcodec_vectors_work *work, wcodec_context *context,
                                       const wcodec_vector_rows *rows, uint64_t anchors,
                                       bool random, wcodec_error *err);
/* Rows [first, first + count): those that there are, or widened to `room`. */
const float *wcodec_vectors_widened(const struct wcodec_vectors_work *work, size_t first,
                                    size_t count, float *room);
/* Was there memory for all that the steps so far were at? */
wcodec_status wcodec_vectors_check_full(struct wcodec_vectors_work *work, wcodec_error *err);
void wcodec_vectors_work_free(struct wcodec_vectors_work *work);
/* What is only for steps: rows, their distances and order are no more. */
void wcodec_vectors_work_free_rows(struct wcodec_vectors_work *work);
/* Memory for so many anchors; those that there are stay. */
wcodec_status wcodec_vectors_work_grow(struct wcodec_vectors_work *work, size_t anchors,
                                       wcodec_error *err);

static inline size_t wcodec_vectors_blocks(const struct wcodec_vectors_work *work)
{
    return (work->n + WCODEC_VECTORS_BLOCK - 1) / WCODEC_VECTORS_BLOCK;
}

/* Bytes of so many passes over the rows, of which progress is told; 0, not known: too many. */
uint64_t wcodec_vectors_passes(const struct wcodec_vectors_work *work, uint64_t passes);
/* The last report: all is done. */
wcodec_status wcodec_vectors_report_end(struct wcodec_vectors_work *work, wcodec_error *err);

static inline size_t wcodec_vectors_block_end(const struct wcodec_vectors_work *work, size_t block)
{
    const size_t end = (block + 1) * WCODEC_VECTORS_BLOCK;
    return end < work->n ? end : work->n;
}

/* Of what each block has found, in their order. */
double wcodec_vectors_sum(const struct wcodec_vectors_work *work, const double *sums);

/* Lane i of panels: a row of `width` numbers, or NULL: `other` in place of each. */
void wcodec_vectors_put_lane(float *panels, size_t i, const float *row, size_t width, float other);

/* Squared distance of two rows of `width` numbers, as the kernels make it. */
static inline float wcodec_vectors_distance(const float *a, const float *b, size_t width)
{
    return wcodec_nearest_distance(a, b, 1, width);
}

/* Product of two such rows. */
static inline double wcodec_vectors_product(const float *a, const float *b, size_t width)
{
    double sum = 0;
    for (size_t j = 0; j < width; j++)
        sum += (double)a[j] * (double)b[j];
    return sum;
}

/* Give each row its nearest anchor. Returns how many got another. */
size_t wcodec_vectors_assign(struct wcodec_vectors_work *work);
/* Mean squared distance to the anchors as they are now. */
double wcodec_vectors_energy(struct wcodec_vectors_work *work);
/* Order the rows by their anchors, and by number within one. */
void wcodec_vectors_group(struct wcodec_vectors_work *work);
/* Means of the rows of each anchor; trimmed: without the tenth at either end by distance, and the
 * order is by distance then. Those of anchors without rows are left as they were. */
void wcodec_vectors_means(struct wcodec_vectors_work *work, bool trimmed);
/* Each anchor without rows, by work->begin, goes to the row that is farthest from its own; of
 * equally far ones, the first. That row then counts as near. to: room * width. */
void wcodec_vectors_seed_empty(struct wcodec_vectors_work *work, float *to);
/* Move the anchors towards their means, by that part of the way and at most 0.1 a dimension, to
 * numbers of F16. */
void wcodec_vectors_update(struct wcodec_vectors_work *work, float part);

/* Anchors to begin with: the rows that are farthest from those before; or by random numbers. */
wcodec_status wcodec_vectors_start_farthest(struct wcodec_vectors_work *work, wcodec_error *err);
wcodec_status wcodec_vectors_start_random(struct wcodec_vectors_work *work, uint64_t seed,
                                          wcodec_error *err);

/* Rows that anchors begin with: those of the sample, or all. */
size_t wcodec_vectors_start_rows(const struct wcodec_vectors_work *work);
/* Bytes of a copy of these, 0: the rows that are there do; and of what the CPU makes of them.
 * apart: the rows are not there as binary32. */
uint64_t wcodec_vectors_sample_memory(const struct wcodec_vectors_work *work, bool apart);
uint64_t wcodec_vectors_columns_memory(const struct wcodec_vectors_work *work);

/* Merge anchors that are close to each other, and split those of many or distant rows. */
wcodec_status wcodec_vectors_maintain(struct wcodec_vectors_work *work, float temperature,
                                      uint64_t *merged, uint64_t *split, wcodec_error *err);

/* Type and shape of rows. WCODEC_ERROR_USAGE, _UNSUPPORTED. */
wcodec_status wcodec_vectors_check_rows(const wcodec_vector_rows *rows, wcodec_error *err);
/* A number rounded to F16. */
float wcodec_vectors_round(float value);
/* Element i of rows. */
float wcodec_vectors_element(wcodec_dtype dtype, const uint8_t *data, uint64_t i);
/* The anchors of an object in place of those that there are. */
wcodec_status wcodec_vectors_take_anchors(struct wcodec_vectors_work *work, const wcodec_vectors *v,
                                          wcodec_error *err);

#endif
