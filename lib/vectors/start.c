/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "core/bytes.h"
#include "core/error.h"
#include "core/log.h"
#include "core/memory.h"
#include "vectors/device.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum {
    BLOCK = WCODEC_VECTORS_BLOCK,
    LANES = WCODEC_NEAREST_LANES,
    CANDIDATES = 3,
    SAMPLE_OF_ANCHOR = 256, /* rows, of which anchors to begin with are chosen */
    SAMPLE_LEAST = 1 << 16
};

/* Rows and anchors that may be the next. Until there are all, work->distance is that of each row to
 * the nearest of those that there are. */
struct start {
    struct wcodec_vectors_work *work;
    const float *candidates; /* CANDIDATES * width; one is taken */
    double *sums;            /* of each block what the distances would add up to with each */
};

/* Has a device all rows? */
static bool is_there(const struct wcodec_vectors_work *work)
{
    return work->device != NULL && !work->parts;
}

/* A block's rows beside each other, as the kernel takes anchors; after the last one, zeros. */
static void turn_block(void *opaque, size_t block)
{
    struct wcodec_vectors_work *work = opaque;
    const size_t end = (wcodec_vectors_block_end(work, block) + LANES - 1) / LANES * LANES;
    for (size_t i = block * BLOCK; i < end; i++)
        wcodec_vectors_put_lane(work->columns, i, i < work->n ? work->rows + i * work->width : NULL,
                                work->width, 0);
}

/* Distances of a block's rows to `count` anchors; those of each begin so far apart as returned. */
static size_t measure(const struct wcodec_vectors_work *work, size_t block, const float *anchors,
                      size_t count, float *distances)
{
    const size_t first = block * BLOCK,
                 panels = (wcodec_vectors_block_end(work, block) - first + LANES - 1) / LANES;
    work->dsp.distances(anchors, count, work->width, work->columns + first * work->width, panels,
                        distances);
    return panels * LANES;
}

static void try_block(void *opaque, size_t block)
{
    const struct start *start = opaque;
    const struct wcodec_vectors_work *work = start->work;
    float distances[CANDIDATES * BLOCK];
    const size_t first = block * BLOCK,
                 step = measure(work, block, start->candidates, CANDIDATES, distances);
    for (size_t c = 0; c < CANDIDATES; c++) {
        double sum = 0;
        for (size_t i = first; i < wcodec_vectors_block_end(work, block); i++) {
            const float d = distances[c * step + i - first];
            sum += (double)(d < work->distance[i] ? d : work->distance[i]);
        }
        start->sums[c * wcodec_vectors_blocks(work) + block] = sum;
    }
}

static void take_block(void *opaque, size_t block)
{
    const struct start *start = opaque;
    struct wcodec_vectors_work *work = start->work;
    float distances[BLOCK];
    double sum = 0;
    const size_t first = block * BLOCK;
    size_t farthest = first;
    measure(work, block, start->candidates, 1, distances);
    for (size_t i = first; i < wcodec_vectors_block_end(work, block); i++) {
        const float d = distances[i - first];
        if (d < work->distance[i])
            work->distance[i] = d;
        if (work->distance[i] >= work->distance[farthest])
            farthest = i;
        sum += (double)work->distance[i];
    }
    work->block_sum[block] = sum;
    work->block_count[block] = farthest;
}

static wcodec_status take(struct wcodec_vectors_work *work, size_t k, size_t row, wcodec_error *err)
{
    struct start start = {.work = work, .candidates = work->anchors + k * work->width};
    memcpy(work->anchors + k * work->width, work->rows + row * work->width,
           work->width * sizeof *work->rows);
    if (is_there(work))
        return wcodec_vectors_device_take(work, k, row, err);
    wcodec_run(work->context, take_block, &start, wcodec_vectors_blocks(work));
    return WCODEC_OK;
}

size_t wcodec_vectors_start_rows(const struct wcodec_vectors_work *work)
{
    const size_t wanted = SAMPLE_OF_ANCHOR * work->m,
                 most = wanted > SAMPLE_LEAST ? wanted : SAMPLE_LEAST;
    return work->random && most < work->n ? most : work->n;
}

uint64_t wcodec_vectors_sample_memory(const struct wcodec_vectors_work *work, bool apart)
{
    const uint64_t count = wcodec_vectors_start_rows(work);
    return work->random && (apart || count < work->n)
               ? count * (work->width * sizeof(float) + sizeof(uint32_t))
               : 0;
}

uint64_t wcodec_vectors_columns_memory(const struct wcodec_vectors_work *work)
{
    return wcodec_align_u64(wcodec_vectors_start_rows(work), LANES) * work->width * sizeof(float);
}

static wcodec_status check_room(const struct wcodec_vectors_work *work, size_t among,
                                uint64_t bytes, wcodec_error *err)
{
    const uint64_t most = work->context->limits.max_memory;
    if (work->held <= most && bytes <= most - work->held)
        return WCODEC_OK;
    return wcodec_fail(err, WCODEC_ERROR_LIMIT,
                       "anchors begin with %zu vectors of %zu dimensions, and %" PRIu64
                       " bytes are taken by then: more than the limit of memory",
                       among, work->d, work->held + bytes);
}

static wcodec_status begin(struct wcodec_vectors_work *work, size_t row, wcodec_error *err)
{
    const uint64_t bytes = wcodec_vectors_columns_memory(work);
    if (is_there(work))
        return take(work, 0, row, err);
    const wcodec_status status = check_room(work, work->n, bytes, err);
    if (status != WCODEC_OK)
        return status;
    work->columns = wcodec_alloc_array(&work->context->allocator, bytes, 1);
    if (work->columns == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for %zu vectors", work->n);
    wcodec_run(work->context, turn_block, work, wcodec_vectors_blocks(work));
    for (size_t i = 0; i < work->n; i++)
        work->distance[i] = INFINITY;
    return take(work, 0, row, err);
}

static void end(struct wcodec_vectors_work *work)
{
    wcodec_free(&work->context->allocator, work->columns);
    work->columns = NULL;
}

wcodec_status wcodec_vectors_start_farthest(struct wcodec_vectors_work *work, wcodec_error *err)
{
    if (is_there(work))
        return wcodec_vectors_device_take_farthest(work, err);
    wcodec_status status = begin(work, 0, err);
    for (size_t k = 1; status == WCODEC_OK && k < work->m && !wcodec_cancel_poll(&work->cancel);
         k++) {
        size_t row = work->block_count[0];
        for (size_t i = 1; i < wcodec_vectors_blocks(work); i++)
            if (work->distance[work->block_count[i]] >= work->distance[row])
                row = work->block_count[i];
        status = take(work, k, row, err);
    }
    end(work);
    wcodec_vectors_device_started(work);
    return status;
}

/* splitmix64, as a number from 0 to below 1. */
static double next(uint64_t *state)
{
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (double)((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

/* The row at which the sum of distances passes `target`; sums are those of each block. */
static wcodec_status find_row(struct wcodec_vectors_work *work, const double *sums, double target,
                              size_t *found, wcodec_error *err)
{
    size_t block = 0, last = wcodec_vectors_blocks(work) - 1;
    while (block < last && target >= sums[block])
        target -= sums[block++];
    size_t row = block * BLOCK;
    const wcodec_status status =
        is_there(work) ? wcodec_vectors_device_distances(work, block, err) : WCODEC_OK;
    if (status != WCODEC_OK)
        return status;
    while (row + 1 < wcodec_vectors_block_end(work, block) && target >= (double)work->distance[row])
        target -= (double)work->distance[row++];
    *found = row;
    return WCODEC_OK;
}

/* The best of some rows that are chosen by their distances. */
static wcodec_status choose(struct start *start, float *candidates, uint64_t *seed, size_t *chosen,
                            wcodec_error *err)
{
    struct wcodec_vectors_work *work = start->work;
    const size_t blocks = wcodec_vectors_blocks(work);
    const double total = wcodec_vectors_sum(work, work->block_sum);
    size_t rows[CANDIDATES];
    double least = INFINITY;
    wcodec_status status = WCODEC_OK;
    for (size_t i = 0; i < CANDIDATES; i++) {
        status = find_row(work, work->block_sum, next(seed) * total, &rows[i], err);
        if (status != WCODEC_OK)
            return status;
        memcpy(candidates + i * work->width, work->rows + rows[i] * work->width,
               work->width * sizeof *candidates);
    }
    if (is_there(work))
        status = wcodec_vectors_device_try(work, rows, start->sums, err);
    else
        wcodec_run(work->context, try_block, start, blocks);
    for (size_t i = 0; i < CANDIDATES && status == WCODEC_OK; i++) {
        const double sum = wcodec_vectors_sum(work, start->sums + i * blocks);
        if (sum < least) {
            least = sum;
            *chosen = rows[i];
        }
    }
    return status;
}

/* Rows that anchors to begin with are looked for among: all, or one at random of each of so many
 * runs of rows. They take the place of all meanwhile. */
struct sample {
    size_t n; /* all rows */
    float *all, *rows;
    uint32_t *numbers; /* NULL: they are all there */
    uint64_t bytes;    /* that it takes */
};

static void put_sample(void *opaque, size_t block)
{
    const struct sample *s = ((const struct sample *const *)opaque)[0];
    const struct wcodec_vectors_work *work = ((const struct wcodec_vectors_work *const *)opaque)[1];
    for (size_t i = block * BLOCK; i < wcodec_vectors_block_end(work, block); i++) {
        float *to = s->rows + i * work->width;
        const float *from = wcodec_vectors_widened(work, s->numbers[i], 1, to);
        if (from != to)
            memcpy(to, from, work->width * sizeof *to);
    }
}

static wcodec_status begin_sample(struct wcodec_vectors_work *work, struct sample *s,
                                  uint64_t *seed, wcodec_error *err)
{
    const wcodec_allocator *allocator = &work->context->allocator;
    const size_t count = wcodec_vectors_start_rows(work);
    const uint64_t bytes = wcodec_vectors_sample_memory(work, work->rows == NULL);
    const bool all = count == work->n;
    const void *both[] = {s, work};
    *s = (struct sample){.n = work->n, .all = work->rows};
    if (bytes == 0)
        return WCODEC_OK;
    const wcodec_status status = check_room(work, count, bytes, err);
    if (status != WCODEC_OK)
        return status;
    s->numbers = wcodec_alloc_array(allocator, count, sizeof *s->numbers);
    s->rows = wcodec_alloc_array(allocator, (uint64_t)count * work->width, sizeof *s->rows);
    if (s->numbers == NULL || s->rows == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for %zu vectors", count);
    const double step = (double)work->n / (double)count;
    for (size_t i = 0; i < count; i++) {
        const size_t row = all ? i : (size_t)(((double)i + next(seed)) * step);
        s->numbers[i] = (uint32_t)(row < work->n ? row : work->n - 1);
    }
    work->n = count;
    work->held += s->bytes = bytes;
    wcodec_run(work->context, put_sample, both, wcodec_vectors_blocks(work));
    work->rows = s->rows;
    return is_there(work) && !all ? wcodec_vectors_device_sample(work, s->numbers, err) : WCODEC_OK;
}

static wcodec_status end_sample(struct wcodec_vectors_work *work, struct sample *s,
                                wcodec_error *err)
{
    const wcodec_allocator *allocator = &work->context->allocator;
    const bool some = work->n != s->n;
    work->n = s->n;
    work->rows = s->all;
    work->held -= s->bytes;
    wcodec_free(allocator, s->numbers);
    wcodec_free(allocator, s->rows);
    return some && is_there(work) ? wcodec_vectors_device_sample(work, NULL, err) : WCODEC_OK;
}

static wcodec_status start_among(struct wcodec_vectors_work *work, uint64_t seed, wcodec_error *err)
{
    const wcodec_allocator *allocator = &work->context->allocator;
    float *candidates = wcodec_alloc_array(allocator, CANDIDATES * work->width, sizeof *candidates);
    struct start start = {.work = work, .candidates = candidates};
    wcodec_status status = WCODEC_OK;
    start.sums =
        wcodec_alloc_array(allocator, CANDIDATES * wcodec_vectors_blocks(work), sizeof *start.sums);
    if (candidates == NULL || start.sums == NULL)
        status = wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for %zu vectors", work->n);
    if (status == WCODEC_OK)
        status = begin(work, (size_t)(next(&seed) * (double)work->n), err);
    for (size_t k = 1; status == WCODEC_OK && k < work->m && !wcodec_cancel_poll(&work->cancel);
         k++) {
        size_t row = 0;
        status = choose(&start, candidates, &seed, &row, err);
        if (status == WCODEC_OK)
            status = take(work, k, row, err);
    }
    end(work);
    wcodec_free(allocator, candidates);
    wcodec_free(allocator, start.sums);
    return status;
}

/* A sample of what has no room on the device may have: it goes there by itself. */
static wcodec_status start_there(struct wcodec_vectors_work *work, const struct sample *s,
                                 uint64_t seed, wcodec_error *err)
{
    const wcodec_vector_rows rows = {
        .dtype = WCODEC_DTYPE_F32, .count = work->n, .dimensions = work->width, .data = s->rows};
    struct wcodec_vectors_device *of_all = work->device;
    const uint64_t beside = wcodec_vectors_device_memory(of_all);
    const size_t d = work->d;
    wcodec_error reason = {0};
    work->device = NULL;
    work->parts = false;
    work->d = work->width;
    work->held += beside;
    wcodec_status status = wcodec_vectors_device_create(work, &rows, false, &reason);
    if (work->device != NULL)
        wcodec_log(work->context, WCODEC_LOG_INFO,
                   "a sample of %zu rows, of which anchors begin, is there by itself", work->n);
    if (status == WCODEC_OK)
        status = start_among(work, seed, &reason);
    if (status == WCODEC_OK && work->device != NULL)
        status = wcodec_vectors_device_get_anchors(work, &reason);
    /* What the device says once more, when all rows go there, is the caller's then. */
    if (status != WCODEC_OK && wcodec_vectors_device_leave(work, status, &reason))
        status = start_among(work, seed, &reason);
    wcodec_vectors_device_destroy(work);
    work->device = of_all;
    work->parts = true;
    work->d = d;
    work->held -= beside;
    return status == WCODEC_OK ? status : wcodec_fail(err, status, "%s", reason.text);
}

wcodec_status wcodec_vectors_start_random(struct wcodec_vectors_work *work, uint64_t seed,
                                          wcodec_error *err)
{
    struct sample sample;
    wcodec_error ignored = {0};
    wcodec_status status = begin_sample(work, &sample, &seed, err);
    if (status == WCODEC_OK && work->parts && work->n != sample.n)
        status = start_there(work, &sample, seed, err);
    else if (status == WCODEC_OK)
        status = start_among(work, seed, err);
    const wcodec_status ended = end_sample(work, &sample, status == WCODEC_OK ? err : &ignored);
    wcodec_vectors_device_started(work);
    return status == WCODEC_OK ? ended : status;
}
