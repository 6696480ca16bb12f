/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "coding/lossy.h"
#include "core/error.h"
#include "core/memory.h"
#include "core/options.h"
#include "vectors/device.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { ITERATIONS_MAX = 1000000, STABLE = 3 };

static const wcodec_vectors_options defaults = {.struct_size = sizeof defaults,
                                                .anchors = 1024,
                                                .cooling = 0.01,
                                                .step = 0.1,
                                                .tolerance = 1e-4,
                                                .min_changes = 10,
                                                .maintenance = 50};

void wcodec_vectors_options_init_size(wcodec_vectors_options *options, size_t size)
{
    wcodec_options_set(options, size, &defaults, sizeof defaults);
}

static bool is_part(double value)
{
    return value >= 0 && value <= 1;
}

static wcodec_status take_options(const wcodec_vectors_options *from, wcodec_vectors_options *o,
                                  wcodec_error *err)
{
    *o = defaults;
    wcodec_status status =
        wcodec_options_take(from, o, sizeof *o, "wcodec_vectors_options_init", err);
    if (status == WCODEC_OK)
        status = wcodec_progress_check(&o->progress, err);
    if (status != WCODEC_OK)
        return status;
    if (o->schedule != WCODEC_VECTORS_BEST && o->schedule != WCODEC_VECTORS_COMPAT)
        return wcodec_fail(err, WCODEC_ERROR_USAGE, "there is no schedule %d", (int)o->schedule);
    if (o->reduce != WCODEC_VECTORS_TRIMMED && o->reduce != WCODEC_VECTORS_PLAIN)
        return wcodec_fail(err, WCODEC_ERROR_USAGE, "there is no reduction %d", (int)o->reduce);
    if (o->max_iterations > ITERATIONS_MAX)
        return wcodec_fail(err, WCODEC_ERROR_USAGE, "at most %d iterations, and not %" PRIu64,
                           ITERATIONS_MAX, o->max_iterations);
    if (!is_part(o->cooling) || !is_part(o->step) || !(o->tolerance >= 0))
        return wcodec_fail(err, WCODEC_ERROR_USAGE,
                           "cooling and step are from 0 to 1, and the tolerance is not negative");
    if (o->max_iterations == 0)
        o->max_iterations = o->schedule == WCODEC_VECTORS_COMPAT ? 1000 : 100;
    return WCODEC_OK;
}

/* After an iteration: count it, report it, and see whether to stop. */
static wcodec_status report(struct wcodec_vectors_work *work, const wcodec_vectors_options *o,
                            const wcodec_vectors_iteration *iteration, wcodec_error *err)
{
    wcodec_status status = wcodec_cancel_check(&work->cancel, err);
    if (status != WCODEC_OK || iteration->iteration <= work->reported)
        return status;
    work->reported = iteration->iteration;
    status = wcodec_reporter_add(&work->reporter, wcodec_vectors_passes(work, 1), err);
    if (status == WCODEC_OK && o->iteration != NULL && o->iteration(o->opaque, iteration) != 0)
        status = wcodec_fail(err, WCODEC_ERROR_CANCELLED, "cancelled by the caller");
    return status;
}

/* Rows get their nearest anchors, and these move. */
static wcodec_status iterate(struct wcodec_vectors_work *work,
                             const struct wcodec_vectors_move *move, wcodec_vectors_iteration *now,
                             wcodec_error *err)
{
    /* The start may have ended early. */
    wcodec_status status = wcodec_cancel_check(&work->cancel, err);
    if (status == WCODEC_OK && work->device != NULL)
        return wcodec_vectors_device_iterate(work, move, now, err);
    if (status == WCODEC_OK)
        now->changes = wcodec_vectors_assign(work);
    if (status == WCODEC_OK)
        status = wcodec_cancel_check(&work->cancel, err);
    if (status == WCODEC_OK)
        status = wcodec_vectors_check_full(work, err);
    if (status == WCODEC_OK) {
        wcodec_vectors_means(work, move->trimmed);
        status = wcodec_vectors_check_full(work, err);
    }
    if (status != WCODEC_OK)
        return status;
    if (move->whole) {
        wcodec_vectors_seed_empty(work, work->means);
        memcpy(work->anchors, work->means, work->m * work->width * sizeof *work->anchors);
    } else {
        wcodec_vectors_update(work, move->part);
    }
    if (move->maintain)
        status = wcodec_vectors_maintain(work, move->temperature, &now->merged, &now->split, err);
    now->energy = wcodec_vectors_energy(work);
    now->anchors = work->m;
    return status == WCODEC_OK ? wcodec_vectors_check_full(work, err) : status;
}

static wcodec_status train_compat(struct wcodec_vectors_work *work, const wcodec_vectors_options *o,
                                  wcodec_error *err)
{
    wcodec_status status = wcodec_vectors_start_farthest(work, err);
    double temperature = 1, energy = INFINITY;
    unsigned stable = 0;
    for (uint64_t t = 0; status == WCODEC_OK && t < o->max_iterations && stable < STABLE; t++) {
        const struct wcodec_vectors_move move = {
            .trimmed = o->reduce == WCODEC_VECTORS_TRIMMED,
            .maintain = o->maintenance != 0 && t > 0 && t % o->maintenance == 0,
            .part = (float)(o->step * temperature / (1 + temperature)),
            .temperature = (float)temperature};
        wcodec_vectors_iteration now = {.iteration = t + 1};
        status = iterate(work, &move, &now, err);
        if (status != WCODEC_OK)
            break;
        temperature *= 1 - o->cooling;
        now.temperature = temperature;
        stable = fabs(energy - now.energy) < o->tolerance && now.changes < o->min_changes
                     ? stable + 1
                     : 0;
        energy = now.energy;
        status = report(work, o, &now, err);
    }
    return status;
}

/* Anchors as the numbers of F16 that are kept. */
static wcodec_status round_anchors(struct wcodec_vectors_work *work, wcodec_error *err)
{
    const wcodec_status status =
        work->device != NULL ? wcodec_vectors_device_get_anchors(work, err) : WCODEC_OK;
    bool moved = false;
    for (size_t i = 0; status == WCODEC_OK && i < work->m * work->width; i++) {
        const float rounded = wcodec_vectors_round(work->anchors[i]);
        moved = moved || rounded != work->anchors[i];
        work->anchors[i] = rounded;
    }
    return status == WCODEC_OK && work->device != NULL && moved
               ? wcodec_vectors_device_put_anchors(work, err)
               : status;
}

static wcodec_status train_best(struct wcodec_vectors_work *work, const wcodec_vectors_options *o,
                                wcodec_error *err)
{
    const struct wcodec_vectors_move move = {.whole = true};
    wcodec_status status = wcodec_vectors_start_random(work, o->seed, err);
    uint64_t changes = 1;
    for (uint64_t t = 0; status == WCODEC_OK && t < o->max_iterations && changes != 0; t++) {
        wcodec_vectors_iteration now = {.iteration = t + 1};
        status = iterate(work, &move, &now, err);
        changes = now.changes;
        if (status == WCODEC_OK)
            status = report(work, o, &now, err);
    }
    return status;
}

/* All of it, by the device or by the CPU; anchors moved after the last assignment. */
static wcodec_status train(struct wcodec_vectors_work *work, const wcodec_vectors_options *o,
                           wcodec_error *err)
{
    wcodec_status status = o->schedule == WCODEC_VECTORS_COMPAT ? train_compat(work, o, err)
                                                                : train_best(work, o, err);
    if (status == WCODEC_OK)
        status = wcodec_cancel_check(&work->cancel, err);
    /* Those of the schedule COMPAT are rounded as they move, and some have never moved. */
    if (status == WCODEC_OK)
        status = round_anchors(work, err);
    if (status == WCODEC_OK && work->device != NULL)
        status = wcodec_vectors_device_assign(work, err);
    else if (status == WCODEC_OK)
        (void)wcodec_vectors_assign(work);
    if (status == WCODEC_OK)
        status = wcodec_vectors_check_full(work, err);
    return status == WCODEC_OK ? wcodec_cancel_check(&work->cancel, err) : status;
}

/* Where the device fails the CPU begins again: it finds the same. */
static wcodec_status train_somewhere(struct wcodec_vectors_work *work,
                                     const wcodec_vector_rows *rows,
                                     const wcodec_vectors_options *o, wcodec_error *err)
{
    wcodec_error reason = {0};
    wcodec_status status = wcodec_vectors_device_create(work, rows, true, err);
    if (status != WCODEC_OK)
        return status;
    if (work->device == NULL)
        return train(work, o, err);
    status = train(work, o, &reason);
    if (wcodec_vectors_device_leave(work, status, &reason)) {
        work->m = (size_t)o->anchors;
        for (size_t i = 0; i < work->n; i++)
            work->index[i] = UINT32_MAX;
        return train(work, o, err);
    }
    wcodec_vectors_device_destroy(work);
    return status == WCODEC_OK ? status : wcodec_fail(err, status, "%s", reason.text);
}

/* Anchors as F16, and the indices, which become the object's. */
static wcodec_status keep(struct wcodec_vectors_work *work, wcodec_vectors **vectors,
                          wcodec_error *err)
{
    const wcodec_allocator *allocator = &work->context->allocator;
    wcodec_vectors *v = wcodec_alloc_zeroed(allocator, sizeof *v);
    uint16_t *anchor = wcodec_alloc_array(allocator, (uint64_t)work->m * work->d, sizeof *anchor);
    if (v == NULL || anchor == NULL) {
        wcodec_free(allocator, v);
        wcodec_free(allocator, anchor);
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for %zu anchors", work->m);
    }
    for (size_t k = 0; k < work->m; k++)
        for (size_t j = 0; j < work->d; j++)
            anchor[k * work->d + j] = wcodec_f16_from_f32(work->anchors[k * work->width + j]);
    *v = (wcodec_vectors){.allocator = *allocator,
                          .rows = work->n,
                          .anchors = work->m,
                          .dimensions = work->d,
                          .anchor = anchor,
                          .index = work->index};
    work->index = NULL;
    *vectors = v;
    return WCODEC_OK;
}

wcodec_status wcodec_vectors_train(wcodec_context *context, const wcodec_vector_rows *rows,
                                   const wcodec_vectors_options *options, wcodec_vectors **vectors,
                                   wcodec_error *err)
{
    struct wcodec_vectors_work work;
    wcodec_vectors_options o;
    wcodec_status status = take_options(options, &o, err);
    if (status == WCODEC_OK)
        status = wcodec_vectors_work_init(&work, context, rows, o.anchors,
                                          o.schedule == WCODEC_VECTORS_BEST, err);
    if (status != WCODEC_OK)
        return status;
    wcodec_reporter_init(&work.reporter, &o.progress,
                         wcodec_vectors_passes(&work, o.max_iterations));
    wcodec_cancel_init(&work.cancel, &work.reporter);
    status = train_somewhere(&work, rows, &o, err);
    if (status == WCODEC_OK)
        status = wcodec_vectors_report_end(&work, err);
    if (status == WCODEC_OK)
        status = keep(&work, vectors, err);
    wcodec_vectors_work_free(&work);
    return status;
}
