/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "backends/cpu/cpu_level.h"
#include "coding/floats.h"
#include "coding/lossy.h"
#include "core/bytes.h"
#include "core/error.h"
#include "core/memory.h"
#include "core/options.h"
#include "vectors/vectors.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

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

struct widening {
    struct wcodec_vectors_work *work;
    const wcodec_vector_rows *from;
};

/* A block's rows as binary32; block_count: the first that cannot be taken, or n. */
static void widen_block(void *opaque, size_t block)
{
    const struct widening *w = opaque;
    struct wcodec_vectors_work *work = w->work;
    size_t wrong = work->n;
    for (size_t i = block * BLOCK; i < wcodec_vectors_block_end(work, block); i++) {
        float *row = work->rows + i * work->width;
        for (size_t j = 0; j < work->width; j++) {
            row[j] = j < work->d
                         ? wcodec_vectors_element(w->from->dtype, w->from->data, i * work->d + j)
                         : 0;
            if (!(fabsf(row[j]) <= 65504) && wrong == work->n)
                wrong = i;
        }
        work->index[i] = UINT32_MAX;
    }
    work->block_count[block] = wrong;
}

static wcodec_status widen(struct wcodec_vectors_work *work, const wcodec_vector_rows *from,
                           wcodec_error *err)
{
    struct widening w = {.work = work, .from = from};
    wcodec_run(work->context, widen_block, &w, wcodec_vectors_blocks(work));
    for (size_t block = 0; block < wcodec_vectors_blocks(work); block++) {
        const size_t row = work->block_count[block];
        size_t j = 0;
        if (row == work->n)
            continue;
        while (fabsf(work->rows[row * work->width + j]) <= 65504)
            j++;
        const float value = work->rows[row * work->width + j];
        const char *what = value != value ? "NaN"
                           : isinf(value) ? "infinite"
                                          : "beyond 65504, which anchors of F16 cannot be";
        return wcodec_fail(err, WCODEC_ERROR_USAGE, "row %zu: element %zu is %s", row, j, what);
    }
    return WCODEC_OK;
}

wcodec_status wcodec_vectors_work_grow(struct wcodec_vectors_work *work, size_t anchors,
                                       wcodec_error *err)
{
    const wcodec_allocator *allocator = &work->context->allocator;
    const size_t size = work->width * sizeof(float), lanes = (anchors + LANES - 1) / LANES * LANES;
    if (anchors <= work->room)
        return WCODEC_OK;
    float *moved = wcodec_realloc_array(allocator, work->anchors, anchors, size);
    if (moved != NULL)
        work->anchors = moved;
    float *means = wcodec_realloc_array(allocator, work->means, anchors, size);
    if (means != NULL)
        work->means = means;
    float *panels = wcodec_realloc_array(allocator, work->panels, lanes, size);
    if (panels != NULL)
        work->panels = panels;
    size_t *begin = wcodec_realloc_array(allocator, work->begin, anchors + 1, sizeof *begin);
    if (begin != NULL)
        work->begin = begin;
    if (moved == NULL || means == NULL || panels == NULL || begin == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for %zu anchors", anchors);
    work->room = anchors;
    return WCODEC_OK;
}

static wcodec_status allocate(struct wcodec_vectors_work *work, wcodec_error *err)
{
    const wcodec_allocator *allocator = &work->context->allocator;
    const size_t blocks = wcodec_vectors_blocks(work);
    const uint64_t row = work->width * sizeof(float) + 2 * sizeof(float) + sizeof(uint64_t);
    uint64_t bytes;
    if (!wcodec_mul_u64(row, work->n, &bytes) || bytes > work->context->limits.max_memory)
        return wcodec_fail(err, WCODEC_ERROR_LIMIT,
                           "%zu vectors of %zu dimensions take %" PRIu64
                           " bytes for each as binary32: more than the limit of memory",
                           work->n, work->d, row);
    work->rows = wcodec_alloc_array(allocator, (uint64_t)work->n * work->width, sizeof(float));
    work->distance = wcodec_alloc_array(allocator, work->n, sizeof *work->distance);
    work->index = wcodec_alloc_array(allocator, work->n, sizeof *work->index);
    work->order = wcodec_alloc_array(allocator, work->n, sizeof *work->order);
    work->block_sum = wcodec_alloc_array(allocator, blocks, sizeof *work->block_sum);
    work->block_count = wcodec_alloc_array(allocator, blocks, sizeof *work->block_count);
    if (work->rows == NULL || work->distance == NULL || work->index == NULL ||
        work->order == NULL || work->block_sum == NULL || work->block_count == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for %zu vectors", work->n);
    return wcodec_vectors_work_grow(work, work->m, err);
}

wcodec_status wcodec_vectors_work_init(struct wcodec_vectors_work *work, wcodec_context *context,
                                       const wcodec_vector_rows *rows, uint64_t anchors,
                                       wcodec_error *err)
{
    wcodec_status status = wcodec_context_usable(context, err);
    if (status == WCODEC_OK)
        status = check_shape(rows, anchors, err);
    if (status != WCODEC_OK)
        return status;
    *work = (struct wcodec_vectors_work){
        .context = context,
        .n = (size_t)rows->count,
        .d = (size_t)rows->dimensions,
        .width = (size_t)wcodec_align_u64(rows->dimensions, WCODEC_NEAREST_GROUP),
        .m = (size_t)anchors};
    wcodec_cpu_nearest_dsp_init(&work->dsp, wcodec_cpu_levels() & context->cpu_mask);
    status = allocate(work, err);
    if (status == WCODEC_OK)
        status = widen(work, rows, err);
    if (status != WCODEC_OK)
        wcodec_vectors_work_free(work);
    return status;
}

void wcodec_vectors_work_free(struct wcodec_vectors_work *work)
{
    const wcodec_allocator *allocator = &work->context->allocator;
    wcodec_free(allocator, work->rows);
    wcodec_free(allocator, work->anchors);
    wcodec_free(allocator, work->panels);
    wcodec_free(allocator, work->columns);
    wcodec_free(allocator, work->distance);
    wcodec_free(allocator, work->index);
    wcodec_free(allocator, work->order);
    wcodec_free(allocator, work->begin);
    wcodec_free(allocator, work->means);
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
