/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Rows that a device has no memory for, part by part: while one is at work, the next is on its way.
 * A pass over them measures the energy of an iteration and finds the nearest anchors of the next
 * one, so that each iteration but the first takes one. Indices and distances are the host's, which
 * has them after each pass; sums of rows stay on the device, where each part goes on with what
 * those before have left: they are added in the order of all rows. Sums in the order of distances
 * (trimmed means) are the host's. */
#include "vectors/device_steps.h"

#include "core/error.h"
#include "core/log.h"

#include <string.h>

enum { PART = 64 << 20 /* bytes of a part's rows at most */, BLOCK = WCODEC_VECTORS_BLOCK };

/* Where things are in the host's memory of a part. */
struct host_places {
    uint64_t index;    /* u32[rows], there and back; rows are before it */
    uint64_t distance; /* f32[rows] */
    uint64_t sums;     /* f64[blocks] */
    uint64_t result;
    uint64_t size;
};

static struct host_places host_places(const struct wcodec_vectors_device *d)
{
    const uint64_t n = wcodec_align_u64(d->most, BLOCK);
    struct host_places p = {.index = wcodec_vectors_row_size(&d->shape) * n};
    p.distance = p.index + 4 * n;
    p.sums = p.distance + 4 * n;
    p.result = p.sums + 8 * (n / BLOCK);
    p.size = p.result + sizeof(struct wcodec_vectors_result);
    return p;
}

struct wcodec_vectors_shape wcodec_vectors_parts_shape(const struct wcodec_vectors_shape *all)
{
    struct wcodec_vectors_shape shape = *all;
    shape.rows = all->rows < BLOCK ? all->rows : BLOCK;
    shape.parts = true;
    return shape;
}

static struct wcodec_vectors_step step_of(const struct wcodec_vectors_work *work,
                                          const struct wcodec_training_part *p,
                                          enum wcodec_vectors_kind kind)
{
    const struct wcodec_vectors_device *d = work->device;
    return (struct wcodec_vectors_step){.shape = &d->shape,
                                        .rows = p->rows,
                                        .work = p->state,
                                        .anchors = d->anchors,
                                        .kind = kind,
                                        .used = (uint32_t)p->count,
                                        .room = d->room,
                                        .count = (uint32_t)work->m,
                                        .any_order = d->any_order};
}

static wcodec_status run(const struct wcodec_vectors_device *d, struct wcodec_queue *queue,
                         const struct wcodec_vectors_step *step, wcodec_error *err)
{
    return d->owner.device->backend->vectors->run(queue, step, err);
}

struct filling {
    const struct wcodec_vectors_work *work;
    const struct wcodec_training_part *part;
};

static void fill_block(void *opaque, size_t block)
{
    const struct filling *f = opaque;
    const struct wcodec_vectors_device *d = f->work->device;
    const uint64_t row = wcodec_vectors_row_size(&d->shape);
    const size_t end = (block + 1) * BLOCK < f->part->count ? (block + 1) * BLOCK : f->part->count;
    for (size_t i = block * BLOCK; i < end; i++)
        wcodec_vectors_device_put_row(d, d->from, f->part->first + i, f->part->host.data + i * row);
}

/* Rows from number `first` on, of which the part has no others under way. */
static wcodec_status send(struct wcodec_vectors_work *work, struct wcodec_training_part *p,
                          size_t first, wcodec_error *err)
{
    const struct wcodec_vectors_device *d = work->device;
    const struct wcodec_backend *b = d->owner.device->backend;
    const struct host_places at = host_places(d);
    struct filling filling = {work, p};
    p->first = first;
    p->count = work->n - first < d->most ? work->n - first : d->most;
    wcodec_run(work->context, fill_block, &filling, (p->count + BLOCK - 1) / BLOCK);
    memcpy(p->host.data + at.index, work->index + first, p->count * sizeof *work->index);
    wcodec_status status = b->copy_in(p->queue, p->rows, 0, p->host.data,
                                      p->count * wcodec_vectors_row_size(&d->shape), err);
    if (status == WCODEC_OK)
        status = b->copy_in(p->queue, p->state, d->places.index, p->host.data + at.index,
                            4 * (uint64_t)p->count, err);
    return status;
}

/* What an iteration does with a part: energy, if the rows have had anchors, and nearest anchors. */
struct passing {
    bool energy, sums;
};

static wcodec_status start(struct wcodec_vectors_work *work, struct wcodec_training_part *p,
                           const struct passing *passing, wcodec_error *err)
{
    struct wcodec_vectors_device *d = work->device;
    struct wcodec_vectors_step step = step_of(work, p, WCODEC_VECTORS_BEGIN);
    wcodec_status status = wcodec_vectors_device_fill(
        d, p->queue, p->state, d->places.result, sizeof(struct wcodec_vectors_result) / 4, 0, err);
    if (status == WCODEC_OK)
        status = run(d, p->queue, &step, err);
    step.kind = WCODEC_VECTORS_MEASURE;
    if (status == WCODEC_OK && passing->energy)
        status = run(d, p->queue, &step, err);
    step.kind = WCODEC_VECTORS_ASSIGN;
    step.distances = true;
    if (status == WCODEC_OK)
        status = run(d, p->queue, &step, err);
    step.kind = WCODEC_VECTORS_ADD;
    step.sums = passing->sums;
    return status == WCODEC_OK ? run(d, p->queue, &step, err) : status;
}

/* What the host is to have goes back to it. */
static wcodec_status fetch(const struct wcodec_vectors_device *d, struct wcodec_training_part *p,
                           const struct passing *passing, wcodec_error *err)
{
    const struct wcodec_backend *b = d->owner.device->backend;
    const struct host_places at = host_places(d);
    const uint64_t words = 4 * (uint64_t)p->count, blocks = (p->count + BLOCK - 1) / BLOCK;
    uint8_t *to = p->host.data;
    wcodec_status status =
        b->copy_out(p->queue, to + at.index, p->state, d->places.index, words, err);
    if (status == WCODEC_OK)
        status = b->copy_out(p->queue, to + at.distance, p->state, d->places.distance, words, err);
    if (status == WCODEC_OK && passing->energy)
        status = b->copy_out(p->queue, to + at.sums, p->state, d->places.sums, 8 * blocks, err);
    if (status == WCODEC_OK)
        status = b->copy_out(p->queue, to + at.result, p->state, d->places.result,
                             sizeof(struct wcodec_vectors_result), err);
    return status;
}

static wcodec_status collect(struct wcodec_vectors_work *work, struct wcodec_training_part *p,
                             const struct passing *passing, wcodec_error *err)
{
    struct wcodec_vectors_device *d = work->device;
    const struct host_places at = host_places(d);
    const uint8_t *from = p->host.data;
    struct wcodec_vectors_result result;
    const wcodec_status status = d->owner.device->backend->queue_wait(p->queue, err);
    if (status != WCODEC_OK)
        return status;
    memcpy(work->index + p->first, from + at.index, p->count * sizeof *work->index);
    memcpy(work->distance + p->first, from + at.distance, p->count * sizeof *work->distance);
    if (passing->energy)
        memcpy(work->block_sum + p->first / BLOCK, from + at.sums,
               (p->count + BLOCK - 1) / BLOCK * sizeof *work->block_sum);
    memcpy(&result, from + at.result, sizeof result);
    d->changes += result.changes;
    d->compared += result.compared;
    d->assigned += p->count;
    const size_t count = p->count;
    p->count = 0;
    return wcodec_vectors_device_check(work, p->first, count, err);
}

/* All rows. A pass that is cancelled ends early, which the caller looks for. */
static wcodec_status pass(struct wcodec_vectors_work *work, const struct passing *passing,
                          wcodec_error *err)
{
    struct wcodec_vectors_device *d = work->device;
    struct wcodec_training_part *before = NULL;
    wcodec_status status = WCODEC_OK;
    size_t turn = 0;
    d->changes = 0;
    for (size_t first = 0; first < work->n && status == WCODEC_OK; first += d->most) {
        struct wcodec_training_part *p = &d->part[turn++ % 2];
        if (wcodec_cancel_poll(&work->cancel))
            break;
        status = send(work, p, first, err);
        /* Sums of parts are added one after the other, and so nothing of a part begins before that
         * is done. */
        if (status == WCODEC_OK && before != NULL)
            status = collect(work, before, passing, err);
        if (status == WCODEC_OK)
            status = start(work, p, passing, err);
        if (status == WCODEC_OK)
            status = fetch(d, p, passing, err);
        before = p;
    }
    if (status == WCODEC_OK && before != NULL)
        status = collect(work, before, passing, err);
    d->ahead = status == WCODEC_OK;
    return status;
}

static wcodec_status pass_over(struct wcodec_vectors_work *work, bool energy, bool sums,
                               wcodec_error *err)
{
    const struct passing passing = {energy, sums};
    wcodec_error reason = {0};
    const wcodec_status status = pass(work, &passing, &reason);
    return wcodec_vectors_device_failed(work->device, status, &reason, err);
}

/* Anchors without rows take the farthest, which the host knows. */
static wcodec_status seed(struct wcodec_vectors_work *work, wcodec_error *err)
{
    bool empty = false;
    for (size_t k = 0; k < work->m; k++) {
        uint32_t members;
        memcpy(&members, (const uint8_t *)work->begin + 4 * k, sizeof members);
        empty = empty || members == 0;
    }
    wcodec_status status = empty ? wcodec_vectors_device_get_anchors(work, err) : WCODEC_OK;
    if (!empty || status != WCODEC_OK)
        return status;
    wcodec_vectors_group(work);
    wcodec_vectors_seed_empty(work, work->anchors);
    return wcodec_vectors_device_put_anchors(work, err);
}

/* To, or towards, the means of the sums that are there. */
static wcodec_status finish(struct wcodec_vectors_work *work,
                            const struct wcodec_vectors_move *move, wcodec_error *err)
{
    struct wcodec_vectors_device *d = work->device;
    struct wcodec_vectors_step step = step_of(work, &d->part[0], WCODEC_VECTORS_FINISH);
    wcodec_error reason = {0};
    step.whole = move->whole;
    step.part = move->part;
    wcodec_status status = run(d, d->queue, &step, &reason);
    /* work->begin has room for them, and is made anew when it is needed. */
    if (status == WCODEC_OK && move->whole)
        status = wcodec_vectors_device_bring(d, work->begin, d->anchors, d->places.members,
                                             4 * (uint64_t)work->m, &reason);
    if (status == WCODEC_OK)
        status = wcodec_vectors_device_fill(d, d->queue, d->anchors, d->places.members, work->m, 0,
                                            &reason);
    if (status == WCODEC_OK)
        status = d->owner.device->backend->queue_wait(d->queue, &reason);
    status = wcodec_vectors_device_failed(d, status, &reason, err);
    return status == WCODEC_OK && move->whole ? seed(work, err) : status;
}

static wcodec_status move_anchors(struct wcodec_vectors_work *work,
                                  const struct wcodec_vectors_move *move,
                                  wcodec_vectors_iteration *now, wcodec_error *err)
{
    wcodec_status status = WCODEC_OK;
    if (move->trimmed) {
        wcodec_vectors_means(work, true);
        wcodec_vectors_update(work, move->part);
    } else {
        status = finish(work, move, err);
        if (status == WCODEC_OK && move->maintain)
            status = wcodec_vectors_device_get_anchors(work, err);
    }
    if (status == WCODEC_OK && move->maintain)
        status = wcodec_vectors_maintain(work, move->temperature, &now->merged, &now->split, err);
    return status == WCODEC_OK && (move->trimmed || move->maintain)
               ? wcodec_vectors_device_put_anchors(work, err)
               : status;
}

wcodec_status wcodec_vectors_parts_iterate(struct wcodec_vectors_work *work,
                                           const struct wcodec_vectors_move *move,
                                           wcodec_vectors_iteration *now, wcodec_error *err)
{
    struct wcodec_vectors_device *d = work->device;
    wcodec_status status = WCODEC_OK;
    if (!d->ahead) {
        status = wcodec_vectors_device_put_anchors(work, err);
        if (status == WCODEC_OK)
            status = pass_over(work, false, !move->trimmed, err);
    }
    now->changes = d->changes;
    if (status == WCODEC_OK && !wcodec_cancel_poll(&work->cancel))
        status = move_anchors(work, move, now, err);
    if (status == WCODEC_OK)
        status = pass_over(work, true, !move->trimmed, err);
    if (status != WCODEC_OK)
        return status;
    now->energy = wcodec_vectors_sum(work, work->block_sum) / (double)work->n;
    now->anchors = work->m;
    return WCODEC_OK;
}

wcodec_status wcodec_vectors_parts_assign(struct wcodec_vectors_work *work, wcodec_error *err)
{
    return work->device->ahead ? WCODEC_OK : pass_over(work, false, false, err);
}

static void end_part(struct wcodec_vectors_device *d, struct wcodec_training_part *p)
{
    const struct wcodec_backend *b = d->owner.device->backend;
    if (p->queue != NULL) {
        b->queue_wait(p->queue, NULL);
        b->queue_destroy(p->queue);
    }
    wcodec_staging_release(&d->owner, &p->host);
    wcodec_staging_free(&d->owner, wcodec_vectors_row_size(&d->shape) * d->shape.rows, &p->rows);
    wcodec_staging_free(&d->owner, d->places.rows_size, &p->state);
    *p = (struct wcodec_training_part){.count = 0};
}

void wcodec_vectors_parts_end(struct wcodec_vectors_device *d)
{
    for (size_t i = 0; i < 2; i++)
        end_part(d, &d->part[i]);
}

/* The centre is work->means, as device.c has found it. */
static wcodec_status begin_part(struct wcodec_vectors_work *work, struct wcodec_training_part *p,
                                wcodec_error *err)
{
    struct wcodec_vectors_device *d = work->device;
    const struct wcodec_backend *b = d->owner.device->backend;
    const size_t size = d->shape.pitch * sizeof(float);
    wcodec_status status = wcodec_staging_allocate(
        &d->owner, wcodec_vectors_row_size(&d->shape) * d->shape.rows, &p->rows, err);
    if (status == WCODEC_OK)
        status = wcodec_staging_allocate(&d->owner, d->places.rows_size, &p->state, err);
    if (status == WCODEC_OK)
        status = b->queue_create(d->owner.device->device, &p->queue, err);
    if (status != WCODEC_OK)
        return status;
    memset(p->host.data, 0, size);
    memcpy(p->host.data, work->means, work->width * sizeof(float));
    status = b->copy_in(p->queue, p->state, d->places.centre, p->host.data, size, err);
    return status == WCODEC_OK ? b->queue_wait(p->queue, err) : status;
}

/* Pinned memory is first: OpenCL may want as much of the device's for it, and where it has none,
 * copies from other memory, which it looks for in the device's as well. */
static wcodec_status begin_parts(struct wcodec_vectors_work *work, wcodec_error *err)
{
    struct wcodec_vectors_device *d = work->device;
    const uint64_t anchor = 4 * (uint64_t)d->shape.pitch;
    d->shape.rows = d->most;
    d->places = wcodec_vectors_places(&d->shape, work->m);
    wcodec_status status =
        d->owner.device->backend->queue_create(d->owner.device->device, &d->queue, err);
    if (status == WCODEC_OK)
        status = wcodec_vectors_device_make_room(d, work->m, err);
    if (status == WCODEC_OK)
        status =
            wcodec_staging_reserve(&d->owner, &d->host, WCODEC_MEMORY_PINNED, 16 * anchor, err);
    for (size_t i = 0; i < 2 && status == WCODEC_OK && i * d->most < work->n; i++)
        status = wcodec_staging_reserve(&d->owner, &d->part[i].host, WCODEC_MEMORY_PINNED,
                                        host_places(d).size, err);
    for (size_t i = 0; i < 2 && status == WCODEC_OK && i * d->most < work->n; i++)
        status = begin_part(work, &d->part[i], err);
    return status;
}

/* Where memory was refused, parts are half as large as they could be: drivers copy and launch by
 * memory of their own, which they look for when they do. */
wcodec_status wcodec_vectors_parts_begin(struct wcodec_vectors_work *work, wcodec_error *err)
{
    struct wcodec_vectors_device *d = work->device;
    const uint64_t row = wcodec_vectors_row_size(&d->shape);
    size_t most = (size_t)(PART / row / BLOCK * BLOCK);
    wcodec_error reason = {0};
    d->shape.parts = true;
    d->starting += wcodec_vectors_columns_memory(work);
    atomic_fetch_add(&d->owner.held, wcodec_vectors_columns_memory(work));
    most = most < BLOCK ? BLOCK : most;
    d->most = most < work->n ? most : work->n;
    wcodec_status status = begin_parts(work, &reason);
    bool refused = false;
    while (d->most > BLOCK && (wcodec_vectors_is_too_large(status) || refused)) {
        refused = status == WCODEC_ERROR_MEMORY;
        wcodec_vectors_device_free(d);
        d->most = (size_t)wcodec_align_u64(d->most / 2, BLOCK);
        reason = (wcodec_error){0};
        status = begin_parts(work, &reason);
    }
    if (status != WCODEC_OK)
        return wcodec_fail(err, status, "%s", reason.text);
    work->parts = true;
    wcodec_log(work->context, WCODEC_LOG_INFO, "%s: rows go there in %zu parts",
               d->owner.device->name, (work->n + d->most - 1) / d->most);
    return WCODEC_OK;
}
