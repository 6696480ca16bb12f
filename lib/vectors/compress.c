/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Rows as a segment. */
#include "core/bytes.h"
#include "core/error.h"
#include "core/memory.h"
#include "core/options.h"
#include "vectors/segment.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { BLOCK = WCODEC_VECTORS_BLOCK, VALUES = 2 * WCODEC_RESIDUAL_MAX + 1, LEVEL = 3 };

static const wcodec_vectors_compress_options defaults = {.struct_size = sizeof defaults};

void wcodec_vectors_compress_options_init_size(wcodec_vectors_compress_options *options,
                                               size_t size)
{
    wcodec_options_set(options, size, &defaults, sizeof defaults);
}

static wcodec_status take_options(const wcodec_vectors_compress_options *from,
                                  wcodec_vectors_compress_options *o, wcodec_error *err)
{
    *o = defaults;
    wcodec_status status =
        wcodec_options_take(from, o, sizeof *o, "wcodec_vectors_compress_options_init", err);
    if (status == WCODEC_OK)
        status = wcodec_progress_check(&o->progress, err);
    if (status != WCODEC_OK)
        return status;
    if (o->level < 0 || o->level > 9)
        return wcodec_fail(err, WCODEC_ERROR_USAGE, "level %d: there are 1 to 9", o->level);
    if (o->bits != 0 && !(o->bits >= 0.5 && o->bits <= 7))
        return wcodec_fail(err, WCODEC_ERROR_USAGE,
                           "residuals take 0.5 to 7 bits a dimension, and not %g", o->bits);
    if (o->recall != 0 && !(o->recall > 0 && o->recall < 1))
        return wcodec_fail(err, WCODEC_ERROR_USAGE, "a recall is above 0 and below 1, and not %g",
                           o->recall);
    if (o->bits != 0 && o->recall != 0)
        return wcodec_fail(err, WCODEC_ERROR_USAGE,
                           "either bits are asked for, or a recall, and not both");
    if (o->recall == 0)
        o->recall = 0.95;
    if (o->level == 0)
        o->level = LEVEL;
    return WCODEC_OK;
}

struct coding {
    struct wcodec_vectors_work *work;
    uint16_t *anchors; /* F16 */
    float scale;
    int8_t *residuals;
};

/* Leave anchors out that no row has; the others keep their order. */
static void keep_used(struct coding *coding, const wcodec_vectors *vectors)
{
    struct wcodec_vectors_work *work = coding->work;
    size_t used = 0;
    wcodec_vectors_group(work);
    for (size_t k = 0; k < work->m; k++) {
        const bool is_used = work->begin[k] != work->begin[k + 1];
        work->begin[k] = used;
        if (!is_used)
            continue;
        memcpy(coding->anchors + used * work->d, vectors->anchor + k * work->d,
               work->d * sizeof *coding->anchors);
        memmove(work->anchors + used * work->width, work->anchors + k * work->width,
                work->width * sizeof *work->anchors);
        used++;
    }
    for (size_t i = 0; i < work->n; i++)
        work->index[i] = (uint32_t)work->begin[work->index[i]];
    work->m = used;
}

static void quantise_block(void *opaque, size_t block)
{
    const struct coding *coding = opaque;
    struct wcodec_vectors_work *work = coding->work;
    double sum = 0;
    size_t clipped = 0;
    for (size_t i = block * BLOCK; i < wcodec_vectors_block_end(work, block); i++) {
        const float *row = work->rows + i * work->width,
                    *anchor = work->anchors + work->index[i] * work->width;
        for (size_t j = 0; j < work->d; j++) {
            const int residual = wcodec_vectors_quantise(row[j], anchor[j], coding->scale);
            const float error = row[j] - wcodec_vectors_restore(anchor[j], coding->scale, residual);
            coding->residuals[i * work->d + j] = (int8_t)residual;
            sum += (double)error * (double)error;
            clipped += fabsf(rintf((row[j] - anchor[j]) / coding->scale)) > WCODEC_RESIDUAL_MAX;
        }
    }
    work->block_sum[block] = sum;
    work->block_count[block] = clipped;
}

static void quantise(const struct coding *coding, wcodec_vectors_report *report)
{
    struct wcodec_vectors_work *work = coding->work;
    const double elements = (double)work->n * (double)work->d;
    uint64_t count[VALUES] = {0};
    wcodec_run(work->context, quantise_block, (void *)coding, wcodec_vectors_blocks(work));
    report->energy = wcodec_vectors_sum(work, work->block_sum) / (double)work->n;
    for (size_t i = 0; i < work->n * work->d; i++)
        count[coding->residuals[i] + WCODEC_RESIDUAL_MAX]++;
    for (size_t i = 0; i < VALUES; i++) {
        const double part = (double)count[i] / elements;
        report->bits -= count[i] != 0 ? part * log2(part) : 0;
    }
    for (size_t block = 0; block < wcodec_vectors_blocks(work); block++)
        report->clipped += work->block_count[block];
}

static wcodec_status write_segment(const struct coding *coding, int level, wcodec_write_fn write,
                                   void *opaque, wcodec_vectors_report *report, wcodec_error *err)
{
    const struct wcodec_vectors_work *work = coding->work;
    const struct wcodec_segment_content content = {.n = work->n,
                                                   .m = work->m,
                                                   .d = work->d,
                                                   .scale_count = 1,
                                                   .anchors = coding->anchors,
                                                   .scales = &coding->scale,
                                                   .indices = work->index,
                                                   .residuals = coding->residuals};
    wcodec_encode_options options;
    wcodec_encode_options_init(&options);
    options.level = level;
    return wcodec_segment_write(work->context, &content, &options, write, opaque,
                                &report->coded_size, err);
}

/* The least scale by which no residual is clipped. */
static float least_scale(const struct wcodec_vectors_work *work)
{
    float most = 0;
    for (size_t i = 0; i < work->n; i++) {
        const float *row = work->rows + i * work->width,
                    *anchor = work->anchors + work->index[i] * work->width;
        for (size_t j = 0; j < work->d; j++)
            most = fmaxf(most, fabsf(row[j] - anchor[j]));
    }
    return most / WCODEC_RESIDUAL_MAX;
}

/* Rows have their anchors: quantise and write them. */
static wcodec_status code(struct coding *coding, const wcodec_vectors_compress_options *o,
                          wcodec_write_fn write, void *opaque, wcodec_vectors_report *report,
                          wcodec_error *err)
{
    struct wcodec_vectors_work *work = coding->work;
    if (coding->scale == 0 && o->bits == 0) {
        const wcodec_status status =
            wcodec_vectors_scale_of_recall(work, o->recall, &coding->scale, &report->recall, err);
        if (status != WCODEC_OK)
            return status;
    } else if (coding->scale == 0)
        coding->scale = wcodec_vectors_scale_of_bits(work, o->bits);
    else
        coding->scale = fmaxf(coding->scale, least_scale(work));
    report->anchors = work->m;
    report->scale = (double)coding->scale;
    quantise(coding, report);
    wcodec_vectors_work_free_rows(work);
    return write_segment(coding, o->level, write, opaque, report, err);
}

static wcodec_status assign(struct coding *coding, const wcodec_vectors *vectors, wcodec_error *err)
{
    struct wcodec_vectors_work *work = coding->work;
    const wcodec_allocator *allocator = &work->context->allocator;
    wcodec_status status = wcodec_vectors_take_anchors(work, vectors, err);
    if (status != WCODEC_OK)
        return status;
    if ((uint64_t)work->n * work->d > work->context->limits.max_memory - work->held)
        return wcodec_fail(err, WCODEC_ERROR_LIMIT,
                           "%zu vectors of %zu dimensions take %" PRIu64
                           " bytes with their residuals: more than the limit of memory",
                           work->n, work->d, work->held + (uint64_t)work->n * work->d);
    coding->anchors =
        wcodec_alloc_array(allocator, (uint64_t)work->m * work->d, sizeof *coding->anchors);
    coding->residuals = wcodec_alloc_array(allocator, (uint64_t)work->n * work->d, 1);
    if (coding->anchors == NULL || coding->residuals == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for %zu vectors", work->n);
    (void)wcodec_vectors_assign(work);
    status = wcodec_cancel_check(&work->cancel, err);
    if (status == WCODEC_OK)
        status = wcodec_reporter_add(&work->reporter, wcodec_vectors_passes(work, 1), err);
    if (status == WCODEC_OK)
        keep_used(coding, vectors);
    return status;
}

wcodec_status wcodec_vectors_compress_by(wcodec_context *context, const wcodec_vectors *vectors,
                                         const wcodec_vector_rows *rows, float scale,
                                         const wcodec_vectors_compress_options *options,
                                         wcodec_write_fn write, void *opaque,
                                         wcodec_vectors_report *report, wcodec_error *err)
{
    struct wcodec_vectors_work work;
    struct coding coding = {.work = &work, .scale = scale};
    wcodec_vectors_compress_options o;
    wcodec_vectors_report made = {
        .rows = rows->count, .dimensions = rows->dimensions, .recall = -1};
    wcodec_status status = take_options(options, &o, err);
    if (status == WCODEC_OK && rows->dimensions != vectors->dimensions)
        status = wcodec_fail(err, WCODEC_ERROR_USAGE,
                             "anchors of %" PRIu64 " dimensions for vectors of %" PRIu64,
                             vectors->dimensions, rows->dimensions);
    /* There may be more anchors than rows. */
    if (status == WCODEC_OK)
        status = wcodec_vectors_work_init(&work, context, rows, 1, false, err);
    if (status != WCODEC_OK)
        return status;
    wcodec_reporter_init(&work.reporter, &o.progress,
                         wcodec_vectors_passes(&work, o.bits == 0 ? 2 + WCODEC_RECALL_PASSES : 2));
    wcodec_cancel_init(&work.cancel, &work.reporter);
    status = assign(&coding, vectors, err);
    if (status == WCODEC_OK)
        status = code(&coding, &o, write, opaque, &made, err);
    wcodec_free(&context->allocator, coding.anchors);
    wcodec_free(&context->allocator, coding.residuals);
    if (status == WCODEC_OK)
        status = wcodec_vectors_report_end(&work, err);
    if (status == WCODEC_OK && report != NULL)
        *report = made;
    wcodec_vectors_work_free(&work);
    return status;
}

wcodec_status wcodec_vectors_compress(wcodec_context *context, const wcodec_vectors *vectors,
                                      const wcodec_vector_rows *rows,
                                      const wcodec_vectors_compress_options *options,
                                      wcodec_write_fn write, void *opaque,
                                      wcodec_vectors_report *report, wcodec_error *err)
{
    return wcodec_vectors_compress_by(context, vectors, rows, 0, options, write, opaque, report,
                                      err);
}
