/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "backends/cpu/cpu_level.h"
#include "coding/floats.h"
#include "coding/lossy.h"
#include "core/bytes.h"
#include "core/error.h"
#include "core/log.h"
#include "core/memory.h"
#include "core/options.h"
#include "vectors/vectors.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

enum { DIMENSIONS_MAX = 1 << 16, BLOCK = WCODEC_VECTORS_BLOCK, LANES = WCODEC_NEAREST_LANES };

float wcodec_vectors_round(float value)
{
    return wcodec_f32_of_bits(wcodec_f32_bits_of_f16(wcodec_f16_from_f32(value)));
}

wcodec_status wcodec_vectors_check_rows(const wcodec_vector_rows *rows, wcodec_error *err)
{
    const char *name = wcodec_dtype_name(rows->dtype);
    const wcodec_status status =
        wcodec_reserved_check(rows->reserved, sizeof rows->reserved, "wcodec_vector_rows", err);
    if (status != WCODEC_OK)
        return status;
    if (rows->dtype != WCODEC_DTYPE_F16 && rows->dtype != WCODEC_DTYPE_BF16 &&
        rows->dtype != WCODEC_DTYPE_F32)
        return wcodec_fail(err, WCODEC_ERROR_UNSUPPORTED,
                           "vectors are of F16, BF16 or F32, and not of %s",
                           name != NULL ? name : "an unknown dtype");
    if (rows->dimensions == 0 || rows->dimensions > DIMENSIONS_MAX)
        return wcodec_fail(err, WCODEC_ERROR_USAGE,
                           "vectors have 1 to %d dimensions, and not %" PRIu64, DIMENSIONS_MAX,
                           rows->dimensions);
    if (rows->count == 0 || rows->count >= UINT32_MAX)
        return wcodec_fail(err, WCODEC_ERROR_USAGE,
                           "there are 1 to 4294967294 vectors, and not %" PRIu64, rows->count);
    return WCODEC_OK;
}

static wcodec_status check_shape(const wcodec_vector_rows *rows, uint64_t anchors,
                                 wcodec_error *err)
{
    const wcodec_status status = wcodec_vectors_check_rows(rows, err);
    if (status != WCODEC_OK)
        return status;
    if (anchors == 0 || anchors > rows->count)
        return wcodec_fail(err, WCODEC_ERROR_USAGE,
                           "%" PRIu64 " anchors for %" PRIu64
                           " vectors: there must be 1 at least, and no more than vectors",
                           anchors, rows->count);
    return WCODEC_OK;
}

float wcodec_vectors_element(wcodec_dtype dtype, const uint8_t *data, uint64_t i)
{
    switch (dtype) {
    case WCODEC_DTYPE_F16:
        return wcodec_f32_of_bits(wcodec_f32_bits_of_f16(wcodec_load_u16(data + 2 * i)));
    case WCODEC_DTYPE_BF16:
        return wcodec_f32_of_bits((uint32_t)wcodec_load_u16(data + 2 * i) << 16);
    default:
        return wcodec_f32_of_bits(wcodec_load_u32(data + 4 * i));
    }
}

const float *wcodec_vectors_widened(const struct wcodec_vectors_work *work, size_t first,
                                    size_t count, float *room)
{
    if (work->rows != NULL)
        return work->rows + first * work->width;
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < work->width; j++)
            room[i * work->width + j] =
                j < work->d ? wcodec_vectors_element(work->from->dtype, work->from->data,
                                                     (first + i) * work->d + j)
                            : 0;
    return room;
}

wcodec_status wcodec_vectors_check_full(struct wcodec_vectors_work *work, wcodec_error *err)
{
    return atomic_load(&work->full) ? wcodec_fail(err, WCODEC_ERROR_MEMORY,
                                                  "out of memory for some vectors of %zu", work->d)
                                    : WCODEC_OK;
}

/* A block's rows as binary32; block_count: the first that cannot be taken, or n; block_sum: the
 * largest magnitude. */
static void widen_block(void *opaque, size_t block)
{
    struct wcodec_vectors_work *work = opaque;
    float largest = 0;
    size_t wrong = work->n;
    for (size_t i = block * BLOCK; i < wcodec_vectors_block_end(work, block); i++) {
        for (size_t j = 0; j < work->width; j++) {
            const float x = j < work->d ? wcodec_vectors_element(work->from->dtype,
                                                                 work->from->data, i * work->d + j)
                                        : 0;
            if (!(fabsf(x) <= 65504) && wrong == work->n)
                wrong = i;
            largest = fabsf(x) > largest ? fabsf(x) : largest;
            if (work->rows != NULL)
                work->rows[i * work->width + j] = x;
        }
        work->index[i] = UINT32_MAX;
    }
    work->block_count[block] = wrong;
    work->block_sum[block] = (double)largest;
}

static wcodec_status widen(struct wcodec_vectors_work *work, wcodec_error *err)
{
    wcodec_run(work->context, widen_block, work, wcodec_vectors_blocks(work));
    for (size_t block = 0; block < wcodec_vectors_blocks(work); block++) {
        const size_t row = work->block_count[block];
        const float largest = (float)work->block_sum[block];
        size_t j = 0;
        work->largest = largest > work->largest ? largest : work->largest;
        if (row == work->n)
            continue;
        float value = 0;
        while (j < work->d &&
               fabsf(value = wcodec_vectors_element(work->from->dtype, work->from->data,
                                                    row * work->d + j)) <= 65504)
            j++;
        if (j == work->d)
            return wcodec_fail(err, WCODEC_ERROR_USAGE, "row %zu was changed while it was read",
                               row);
        const char *what = value != value ? "NaN"
                           : isinf(value) ? "infinite"
                                          : "beyond 65504, which anchors of F16 cannot be";
        return wcodec_fail(err, WCODEC_ERROR_USAGE, "row %zu: element %zu is %s", row, j, what);
    }
    return WCODEC_OK;
}

/* What so many anchors take: they themselves, their means and panels, sums of rows that are widened
 * as they are wanted, and where their rows begin. */
static uint64_t anchors_memory(const struct wcodec_vectors_work *work, size_t anchors, bool widened)
{
    const uint64_t lanes = wcodec_align_u64(anchors, LANES),
                   sums = widened ? 0 : anchors * sizeof *work->sums;
    return anchors == 0 ? 0
                        : work->width * (sizeof(float) * (2 * anchors + lanes) + sums) +
                              (anchors + 1) * sizeof *work->begin;
}

wcodec_status wcodec_vectors_work_grow(struct wcodec_vectors_work *work, size_t anchors,
                                       wcodec_error *err)
{
    const wcodec_allocator *allocator = &work->context->allocator;
    const size_t size = work->width * sizeof(float), lanes = (anchors + LANES - 1) / LANES * LANES;
    const bool widened = work->rows != NULL;
    if (anchors <= work->room)
        return WCODEC_OK;
    const uint64_t held = work->held - anchors_memory(work, work->room, widened) +
                          anchors_memory(work, anchors, widened);
    if (held > work->context->limits.max_memory)
        return wcodec_fail(err, WCODEC_ERROR_LIMIT,
                           "%zu anchors of %zu dimensions take %" PRIu64
                           " bytes with their vectors: more than the limit of memory",
                           anchors, work->d, held);
    float *moved = wcodec_realloc_array(allocator, work->anchors, anchors, size);
    if (moved != NULL)
        work->anchors = moved;
    float *means = wcodec_realloc_array(allocator, work->means, anchors, size);
    if (means != NULL)
        work->means = means;
    float *panels = wcodec_realloc_array(allocator, work->panels, lanes, size);
    if (panels != NULL)
        work->panels = panels;
    double *sums = work->rows != NULL ? NULL
                                      : wcodec_realloc_array(allocator, work->sums, anchors,
                                                             work->width * sizeof *sums);
    if (sums != NULL)
        work->sums = sums;
    size_t *begin = wcodec_realloc_array(allocator, work->begin, anchors + 1, sizeof *begin);
    if (begin != NULL)
        work->begin = begin;
    if (moved == NULL || means == NULL || panels == NULL || begin == NULL ||
        (work->rows == NULL && sums == NULL))
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for %zu anchors", anchors);
    work->room = anchors;
    work->held = held;
    return WCODEC_OK;
}

static uint64_t machine_memory(void)
{
    const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    return pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : UINT64_MAX;
}

/* Is there room for all rows as binary32, of `bytes` with what is theirs, for the anchors, and,
 * where a sample of them is enough to begin with, for that? */
static bool fits(const struct wcodec_vectors_work *work, uint64_t bytes)
{
    const uint64_t limit = work->context->limits.max_memory,
                   machine = work->random ? machine_memory() : limit,
                   most = machine < limit ? machine : limit;
    bytes += anchors_memory(work, work->m, true);
    if (work->random && wcodec_vectors_start_rows(work) < work->n)
        bytes += wcodec_vectors_sample_memory(work, false) + wcodec_vectors_columns_memory(work);
    return bytes <= most;
}

/* Numbers of rows have 32 bits, and those of dimensions 17: products are far from 64. */
static wcodec_status allocate(struct wcodec_vectors_work *work, wcodec_error *err)
{
    const wcodec_allocator *allocator = &work->context->allocator;
    const size_t blocks = wcodec_vectors_blocks(work);
    const uint64_t row = work->width * sizeof(float),
                   own = sizeof *work->distance + sizeof *work->index + sizeof *work->order;
    const bool widened = fits(work, (row + own) * work->n);
    work->held = (widened ? row + own : own) * work->n;
    if ((!widened && !work->random) || work->held > work->context->limits.max_memory)
        return wcodec_fail(err, WCODEC_ERROR_LIMIT,
                           "%zu vectors of %zu dimensions take %" PRIu64
                           " bytes for each as binary32: more than the limit of memory",
                           work->n, work->d, row + own);
    if (widened)
        work->rows = wcodec_alloc_array(allocator, (uint64_t)work->n * work->width, sizeof(float));
    else
        wcodec_log(work->context, WCODEC_LOG_INFO,
                   "%zu vectors of %zu dimensions are widened as they are wanted: there is no "
                   "memory for all as binary32",
                   work->n, work->d);
    work->distance = wcodec_alloc_array(allocator, work->n, sizeof *work->distance);
    work->index = wcodec_alloc_array(allocator, work->n, sizeof *work->index);
    work->order = wcodec_alloc_array(allocator, work->n, sizeof *work->order);
    work->block_sum = wcodec_alloc_array(allocator, blocks, sizeof *work->block_sum);
    work->block_count = wcodec_alloc_array(allocator, blocks, sizeof *work->block_count);
    if ((work->rows == NULL && widened) || work->distance == NULL || work->index == NULL ||
        work->order == NULL || work->block_sum == NULL || work->block_count == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for %zu vectors", work->n);
    return wcodec_vectors_work_grow(work, work->m, err);
}

wcodec_status wcodec_vectors_work_init(struct wcodec_vectors_work *work, wcodec_context *context,
                                       const wcodec_vector_rows *rows, uint64_t anchors,
                                       bool random, wcodec_error *err)
{
    wcodec_status status = wcodec_context_usable(context, err);
    if (status == WCODEC_OK)
        status = check_shape(rows, anchors, err);
    if (status != WCODEC_OK)
        return status;
    *work = (struct wcodec_vectors_work){
        .context = context,
        .from = rows,
        .n = (size_t)rows->count,
        .d = (size_t)rows->dimensions,
        .width = (size_t)wcodec_align_u64(rows->dimensions, WCODEC_NEAREST_GROUP),
        .m = (size_t)anchors,
        .random = random};
    wcodec_cpu_nearest_dsp_init(&work->dsp, wcodec_cpu_levels() & context->cpu_mask);
    status = allocate(work, err);
    if (status == WCODEC_OK)
        status = widen(work, err);
    if (status != WCODEC_OK)
        wcodec_vectors_work_free(work);
    return status;
}

void wcodec_vectors_work_free_rows(struct wcodec_vectors_work *work)
{
    const wcodec_allocator *allocator = &work->context->allocator;
    wcodec_free(allocator, work->rows);
    wcodec_free(allocator, work->distance);
    wcodec_free(allocator, work->order);
    work->rows = work->distance = NULL;
    work->order = NULL;
}

void wcodec_vectors_work_free(struct wcodec_vectors_work *work)
{
    const wcodec_allocator *allocator = &work->context->allocator;
    wcodec_vectors_work_free_rows(work);
    wcodec_free(allocator, work->anchors);
    wcodec_free(allocator, work->panels);
    wcodec_free(allocator, work->columns);
    wcodec_free(allocator, work->index);
    wcodec_free(allocator, work->begin);
    wcodec_free(allocator, work->means);
    wcodec_free(allocator, work->sums);
    wcodec_free(allocator, work->block_sum);
    wcodec_free(allocator, work->block_count);
}

uint64_t wcodec_vectors_passes(const struct wcodec_vectors_work *work, uint64_t passes)
{
    const uint64_t size = (uint64_t)work->n * work->width * sizeof(float);
    return size > UINT64_MAX / passes ? 0 : size * passes;
}

wcodec_status wcodec_vectors_report_end(struct wcodec_vectors_work *work, wcodec_error *err)
{
    /* Fewer iterations than there could be are the whole, too. */
    work->reporter.done = work->reporter.total;
    return wcodec_reporter_end(&work->reporter, err);
}
