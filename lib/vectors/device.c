/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "vectors/device_steps.h"

#include "core/error.h"
#include "core/log.h"
#include "core/memory.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum {
    CHUNK = 16 << 20, /* bytes that go there at once */
    SAMPLE = 1024,    /* rows that say where all are */
    PAYS_LOG2 = 30,   /* rows times anchors times dimensions */
    PARTS_PAY = 64    /* anchors, where rows are brought there for each iteration */
};

wcodec_status wcodec_vectors_device_failed(struct wcodec_vectors_device *d, wcodec_status status,
                                           const wcodec_error *reason, wcodec_error *err)
{
    if (status == WCODEC_OK)
        return status;
    d->failed = true;
    return wcodec_backends_failed(d->owner.context, d->owner.device, status, reason, err);
}

static struct wcodec_vectors_step step_of(const struct wcodec_vectors_work *work,
                                          enum wcodec_vectors_kind kind)
{
    const struct wcodec_vectors_device *d = work->device;
    return (struct wcodec_vectors_step){.shape = &d->shape,
                                        .rows = d->rows,
                                        .work = d->state,
                                        .anchors = d->anchors,
                                        .kind = kind,
                                        .used = (uint32_t)d->used,
                                        .room = d->room,
                                        .count = (uint32_t)work->m};
}

static wcodec_status run(struct wcodec_vectors_device *d, const struct wcodec_vectors_step *step,
                         wcodec_error *err)
{
    return d->owner.device->backend->vectors->run(d->queue, step, err);
}

wcodec_status wcodec_vectors_device_bring(struct wcodec_vectors_device *d, void *to,
                                          struct wcodec_memory *from, uint64_t at, uint64_t size,
                                          wcodec_error *err)
{
    const struct wcodec_backend *b = d->owner.device->backend;
    wcodec_status status = WCODEC_OK;
    for (uint64_t done = 0; done < size && status == WCODEC_OK;) {
        const uint64_t left = size - done, part = left < d->host.size ? left : d->host.size;
        status = b->copy_out(d->queue, d->host.data, from, at + done, part, err);
        const wcodec_status waited = b->queue_wait(d->queue, status == WCODEC_OK ? err : NULL);
        status = status == WCODEC_OK ? waited : status;
        if (status == WCODEC_OK)
            memcpy((uint8_t *)to + done, d->host.data, (size_t)part);
        done += part;
    }
    return status;
}

wcodec_status wcodec_vectors_device_fill(struct wcodec_vectors_device *d,
                                         struct wcodec_queue *queue, struct wcodec_memory *memory,
                                         uint64_t at, uint64_t words, uint8_t byte,
                                         wcodec_error *err)
{
    const uint8_t element[8] = {byte, byte, byte, byte};
    return d->owner.device->backend->fill(queue, memory, at, element, 2, words, err);
}

static unsigned element_size(const struct wcodec_vectors_shape *s)
{
    return s->dtype == WCODEC_DTYPE_F32 ? 4 : 2;
}

uint64_t wcodec_vectors_row_size(const struct wcodec_vectors_shape *s)
{
    return element_size(s) * (uint64_t)s->pitch;
}

void wcodec_vectors_device_put_row(const struct wcodec_vectors_device *d,
                                   const wcodec_vector_rows *rows, uint64_t i, uint8_t *to)
{
    const size_t size = (size_t)element_size(&d->shape) * d->shape.dimensions;
    memcpy(to, (const uint8_t *)rows->data + i * size, size);
    memset(to + size, 0, (size_t)wcodec_vectors_row_size(&d->shape) - size);
}

/* The first `all` rows; numbers: these in their place. */
static wcodec_status upload(struct wcodec_vectors_device *d, size_t all, const uint32_t *numbers,
                            wcodec_error *err)
{
    const struct wcodec_backend *b = d->owner.device->backend;
    const uint64_t row = wcodec_vectors_row_size(&d->shape), most = d->host.size / row;
    wcodec_status status = WCODEC_OK;
    for (uint64_t first = 0; first < all && status == WCODEC_OK; first += most) {
        const uint64_t left = all - first, count = left < most ? left : most;
        for (uint64_t i = 0; i < count; i++)
            wcodec_vectors_device_put_row(d, d->from,
                                          numbers != NULL ? numbers[first + i] : first + i,
                                          d->host.data + i * row);
        status = b->copy_in(d->queue, d->rows, first * row, d->host.data, count * row, err);
        if (status == WCODEC_OK)
            status = b->queue_wait(d->queue, err);
    }
    return status;
}

/* Row i of the sample, of `count`; room: for one. */
static const float *sampled(const struct wcodec_vectors_work *work, size_t i, size_t count,
                            float *room)
{
    return wcodec_vectors_widened(work, (size_t)((uint64_t)i * work->n / count), 1, room);
}

static bool has_products(const struct wcodec_vectors_device *d)
{
    const struct wcodec_opened *o = d->owner.device;
    return o->backend->vectors->multiplies(o->device, &d->shape);
}

/* The mean of a sample of rows, if it brings these so much nearer that sums of products are more
 * certain: numbers of F16, which are operands as they are, are not then. Else zeros. */
static bool find_centre(const struct wcodec_vectors_work *work, wcodec_dtype dtype, float *centre)
{
    const size_t count = work->n < SAMPLE ? work->n : SAMPLE;
    const double pays = dtype == WCODEC_DTYPE_F16 ? 3 : 1.5;
    const wcodec_allocator *allocator = &work->context->allocator;
    double before = 0, after = 0, *sums = wcodec_alloc_array(allocator, work->width, sizeof *sums);
    float *room = work->panels; /* which nobody needs yet */
    memset(centre, 0, work->width * sizeof *centre);
    if (sums == NULL || !has_products(work->device)) {
        wcodec_free(allocator, sums);
        return false;
    }
    memset(sums, 0, work->width * sizeof *sums);
    for (size_t i = 0; i < count; i++) {
        const float *row = sampled(work, i, count, room);
        for (size_t j = 0; j < work->width; j++)
            sums[j] += (double)row[j];
    }
    for (size_t j = 0; j < work->width; j++)
        centre[j] = (float)(sums[j] / (double)count);
    wcodec_free(allocator, sums);
    for (size_t i = 0; i < count; i++) {
        const float *row = sampled(work, i, count, room);
        double square = 0, rest = 0;
        for (size_t j = 0; j < work->width; j++) {
            const double left = (double)row[j] - (double)centre[j];
            square += (double)row[j] * (double)row[j];
            rest += left * left;
        }
        before += sqrt(square);
        after += sqrt(rest);
    }
    if (pays * after < before)
        return true;
    memset(centre, 0, work->width * sizeof *centre);
    return false;
}

static wcodec_status put_centre(struct wcodec_vectors_device *d, const float *centre, size_t width,
                                wcodec_error *err)
{
    const struct wcodec_backend *b = d->owner.device->backend;
    const size_t size = d->shape.pitch * sizeof *centre;
    memset(d->host.data, 0, size);
    memcpy(d->host.data, centre, width * sizeof *centre);
    const wcodec_status status =
        b->copy_in(d->queue, d->state, d->places.centre, d->host.data, size, err);
    return status == WCODEC_OK ? b->queue_wait(d->queue, err) : status;
}

/* Sums of F16 in binary64 are exact as long as they have no more than 53 bits, of which the last
 * one is 2^-24. */
static bool is_exact(const struct wcodec_vectors_work *work, wcodec_dtype dtype)
{
    return dtype == WCODEC_DTYPE_F16 && (double)work->largest * (double)work->n <= 0x1p29;
}

wcodec_status wcodec_vectors_device_make_room(struct wcodec_vectors_device *d, size_t anchors,
                                              wcodec_error *err)
{
    if (anchors <= d->room)
        return WCODEC_OK;
    wcodec_staging_free(&d->owner, d->places.anchors_size, &d->anchors);
    d->room = 0;
    d->places = wcodec_vectors_places(&d->shape, anchors);
    wcodec_status status =
        wcodec_staging_allocate(&d->owner, d->places.anchors_size, &d->anchors, err);
    if (status != WCODEC_OK)
        return status;
    d->room = (uint32_t)anchors;
    /* Counts; and of parts totals and members, which follow. */
    return wcodec_vectors_device_fill(d, d->queue, d->anchors, d->places.counts,
                                      (d->places.own_of_anchors - d->places.counts) / 4, 0, err);
}

static wcodec_status allocate(struct wcodec_vectors_device *d, size_t anchors, wcodec_error *err)
{
    const struct wcodec_vectors_shape *s = &d->shape;
    struct wcodec_opened *o = d->owner.device;
    const uint64_t all = wcodec_vectors_row_size(s) * s->rows, anchor = 4 * (uint64_t)s->pitch,
                   chunk = all < CHUNK ? all : CHUNK;
    d->places = wcodec_vectors_places(s, anchors);
    wcodec_status status = wcodec_staging_allocate(&d->owner, all, &d->rows, err);
    if (status == WCODEC_OK)
        status = wcodec_staging_allocate(&d->owner, d->places.rows_size, &d->state, err);
    if (status == WCODEC_OK)
        status = o->backend->queue_create(o->device, &d->queue, err);
    if (status == WCODEC_OK)
        status = wcodec_vectors_device_make_room(d, anchors, err);
    if (status == WCODEC_OK)
        status = wcodec_staging_reserve(&d->owner, &d->host, WCODEC_MEMORY_PINNED,
                                        chunk > anchor ? chunk : anchor, err);
    if (status == WCODEC_OK)
        status = wcodec_vectors_device_fill(d, d->queue, d->state, d->places.result, 64, 0, err);
    if (status == WCODEC_OK)
        status =
            wcodec_vectors_device_fill(d, d->queue, d->state, d->places.index, s->rows, 0xff, err);
    return status;
}

static bool pays(const struct wcodec_vectors_work *work)
{
    return (double)work->n * (double)work->m * (double)work->d >= ldexp(1, PAYS_LOG2);
}

static wcodec_status find_device(const struct wcodec_vectors_work *work,
                                 const struct wcodec_vectors_shape *shape,
                                 struct wcodec_opened **opened, wcodec_error *err)
{
    struct wcodec_opened *o;
    *opened = NULL;
    if (wcodec_backends_are_automatic(work->context) && !pays(work))
        return WCODEC_OK;
    const wcodec_status status = wcodec_backends_device(work->context, &o, err);
    if (status != WCODEC_OK || strcmp(o->backend->name, "cpu") == 0)
        return status;
    const struct wcodec_backend_vectors *v = o->backend->vectors;
    const struct wcodec_vectors_shape part = wcodec_vectors_parts_shape(shape);
    if (v != NULL && (v->supports(o->device, shape) || v->supports(o->device, &part)))
        *opened = o;
    else
        wcodec_log(work->context, WCODEC_LOG_INFO,
                   "%s (%s) finds no anchors of such vectors: the CPU does", o->name,
                   o->listing.name);
    return WCODEC_OK;
}

/* All rows to the device; the centre is in memory for means, of which there are none yet. */
static wcodec_status bring_rows(struct wcodec_vectors_work *work, wcodec_error *err)
{
    struct wcodec_vectors_device *d = work->device;
    wcodec_status status = allocate(d, work->m, err);
    if (status == WCODEC_OK)
        status = upload(d, work->n, NULL, err);
    if (status == WCODEC_OK)
        status = put_centre(d, work->means, work->width, err);
    const struct wcodec_vectors_step step = step_of(work, WCODEC_VECTORS_BEGIN);
    return status == WCODEC_OK ? run(d, &step, err) : status;
}

/* Does it pay to bring the rows there for each iteration? An element there and back is as long on
 * its way as a CPU takes for some anchors. */
static bool parts_pay(const struct wcodec_vectors_work *work)
{
    return work->n > WCODEC_VECTORS_BLOCK &&
           (!wcodec_backends_are_automatic(work->context) || work->m >= PARTS_PAY);
}

/* All rows, or, if these are too many, part by part. */
static wcodec_status begin(struct wcodec_vectors_work *work, const wcodec_vector_rows *rows,
                           bool by_parts, wcodec_error *err)
{
    struct wcodec_vectors_device *d = work->device;
    const struct wcodec_opened *o = d->owner.device;
    wcodec_error reason = {0};
    wcodec_status status = WCODEC_ERROR_MEMORY;
    d->any_order = is_exact(work, rows->dtype);
    d->shape.centred = find_centre(work, rows->dtype, work->means);
    if (o->backend->vectors->supports(o->device, &d->shape))
        status = bring_rows(work, &reason);
    else
        wcodec_fail(&reason, status, "rows are too many for its memory");
    if (!wcodec_vectors_is_too_large(status) || !by_parts || !parts_pay(work))
        return status == WCODEC_OK ? status : wcodec_fail(err, status, "%s", reason.text);
    wcodec_log(work->context, WCODEC_LOG_INFO, "%s: %s", o->name, reason.text);
    wcodec_vectors_device_free(d);
    return wcodec_vectors_parts_begin(work, err);
}

wcodec_status wcodec_vectors_device_create(struct wcodec_vectors_work *work,
                                           const wcodec_vector_rows *rows, bool by_parts,
                                           wcodec_error *err)
{
    const struct wcodec_vectors_shape shape = {.rows = work->n,
                                               .dimensions = (uint32_t)work->d,
                                               .pitch = wcodec_vectors_pitch(work->d),
                                               .dtype = rows->dtype};
    struct wcodec_opened *o;
    wcodec_error reason = {0};
    wcodec_status status = find_device(work, &shape, &o, err);
    if (status != WCODEC_OK || o == NULL)
        return status;
    struct wcodec_vectors_device *d = wcodec_alloc_zeroed(&work->context->allocator, sizeof *d);
    if (d == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for the steps of a device");
    d->owner.context = work->context;
    d->owner.device = o;
    d->owner.purpose = "a device's training";
    d->owner.limit = work->context->limits.max_memory;
    d->before = work->held;
    d->starting = wcodec_vectors_sample_memory(work, work->rows == NULL);
    d->owner.held = d->before + d->starting;
    d->shape = shape;
    d->from = rows;
    work->device = d;
    status = begin(work, rows, by_parts, &reason);
    if (!by_parts && wcodec_vectors_is_too_large(status)) {
        wcodec_vectors_device_destroy(work);
        return WCODEC_OK;
    }
    status = wcodec_vectors_device_failed(d, status, &reason, err);
    if (status == WCODEC_OK)
        return status;
    if (wcodec_vectors_device_leave(work, status, &reason))
        return WCODEC_OK;
    wcodec_vectors_device_destroy(work);
    return status;
}

uint64_t wcodec_vectors_device_memory(const struct wcodec_vectors_device *d)
{
    return atomic_load(&d->owner.held) - d->before - d->starting;
}

void wcodec_vectors_device_started(struct wcodec_vectors_work *work)
{
    struct wcodec_vectors_device *d = work->device;
    if (d == NULL)
        return;
    atomic_fetch_sub(&d->owner.held, d->starting);
    d->starting = 0;
}

void wcodec_vectors_device_free(struct wcodec_vectors_device *d)
{
    const struct wcodec_backend *b = d->owner.device->backend;
    wcodec_vectors_parts_end(d);
    if (d->queue != NULL) {
        b->queue_wait(d->queue, NULL);
        b->queue_destroy(d->queue);
        d->queue = NULL;
    }
    wcodec_staging_release(&d->owner, &d->host);
    wcodec_staging_free(&d->owner, wcodec_vectors_row_size(&d->shape) * d->shape.rows, &d->rows);
    wcodec_staging_free(&d->owner, d->places.rows_size, &d->state);
    wcodec_staging_free(&d->owner, d->places.anchors_size, &d->anchors);
    d->room = 0;
}

void wcodec_vectors_device_destroy(struct wcodec_vectors_work *work)
{
    struct wcodec_vectors_device *d = work->device;
    if (d == NULL)
        return;
    if (d->assigned != 0 && has_products(d))
        wcodec_log(work->context, WCODEC_LOG_DEBUG,
                   "%s: %" PRIu64 " of %" PRIu64 " rows were compared with all anchors",
                   d->owner.device->name, d->compared, d->assigned);
    wcodec_vectors_device_free(d);
    wcodec_free(&work->context->allocator, d);
    work->device = NULL;
    work->parts = false;
}

bool wcodec_vectors_device_leave(struct wcodec_vectors_work *work, wcodec_status status,
                                 const wcodec_error *reason)
{
    const struct wcodec_vectors_device *d = work->device;
    if (d == NULL || !d->failed)
        return false;
    const bool cannot = status == WCODEC_ERROR_MEMORY || status == WCODEC_ERROR_UNSUPPORTED ||
                        status == WCODEC_ERROR_LIMIT;
    if (!cannot && !(status == WCODEC_ERROR_DEVICE && d->owner.device->cpu_allowed))
        return false;
    wcodec_log(work->context, WCODEC_LOG_INFO, "%s finds no anchors, the CPU does: %s",
               d->owner.device->name, reason->text);
    wcodec_vectors_device_destroy(work);
    return true;
}

wcodec_status wcodec_vectors_device_sample(struct wcodec_vectors_work *work,
                                           const uint32_t *numbers, wcodec_error *err)
{
    struct wcodec_vectors_device *d = work->device;
    wcodec_error reason = {0};
    const size_t before = d->used;
    d->used = numbers != NULL ? work->n : 0;
    const wcodec_status status = upload(d, numbers != NULL ? work->n : before, numbers, &reason);
    return wcodec_vectors_device_failed(d, status, &reason, err);
}

wcodec_status wcodec_vectors_device_take_farthest(struct wcodec_vectors_work *work,
                                                  wcodec_error *err)
{
    struct wcodec_vectors_step step = step_of(work, WCODEC_VECTORS_TAKE);
    wcodec_error reason = {0};
    wcodec_status status = WCODEC_OK;
    for (size_t k = 0; status == WCODEC_OK && k < work->m && !wcodec_cancel_poll(&work->cancel);
         k++) {
        step.number = (uint32_t)k;
        step.farthest = k > 0;
        status = run(work->device, &step, &reason);
    }
    return wcodec_vectors_device_failed(work->device, status, &reason, err);
}

wcodec_status wcodec_vectors_device_take(struct wcodec_vectors_work *work, size_t k, size_t row,
                                         wcodec_error *err)
{
    struct wcodec_vectors_device *d = work->device;
    struct wcodec_vectors_step step = step_of(work, WCODEC_VECTORS_TAKE);
    wcodec_error reason = {0};
    step.number = (uint32_t)k;
    step.row[0] = (uint32_t)row;
    step.sums = true;
    wcodec_status status = run(d, &step, &reason);
    if (status == WCODEC_OK)
        status = wcodec_vectors_device_bring(d, work->block_sum, d->state, d->places.sums,
                                             8 * wcodec_vectors_blocks(work), &reason);
    return wcodec_vectors_device_failed(d, status, &reason, err);
}

wcodec_status wcodec_vectors_device_distances(struct wcodec_vectors_work *work, size_t block,
                                              wcodec_error *err)
{
    struct wcodec_vectors_device *d = work->device;
    const size_t first = block * WCODEC_VECTORS_BLOCK;
    wcodec_error reason = {0};
    const wcodec_status status = wcodec_vectors_device_bring(
        d, work->distance + first, d->state, d->places.distance + 4 * first,
        4 * (wcodec_vectors_block_end(work, block) - first), &reason);
    return wcodec_vectors_device_failed(d, status, &reason, err);
}

wcodec_status wcodec_vectors_device_try(struct wcodec_vectors_work *work, const size_t *rows,
                                        double *sums, wcodec_error *err)
{
    struct wcodec_vectors_device *d = work->device;
    struct wcodec_vectors_step step = step_of(work, WCODEC_VECTORS_TRY);
    wcodec_error reason = {0};
    for (unsigned i = 0; i < WCODEC_VECTORS_TRIED; i++)
        step.row[i] = (uint32_t)rows[i];
    wcodec_status status = run(d, &step, &reason);
    if (status == WCODEC_OK)
        status = wcodec_vectors_device_bring(d, sums, d->state, d->places.sums,
                                             8 * WCODEC_VECTORS_TRIED * wcodec_vectors_blocks(work),
                                             &reason);
    return wcodec_vectors_device_failed(d, status, &reason, err);
}

/* Anchors there have no numbers but zeros after their own; here they have fewer of these. */
static wcodec_status get_anchors(struct wcodec_vectors_work *work, wcodec_error *err)
{
    struct wcodec_vectors_device *d = work->device;
    const uint64_t row = 4 * (uint64_t)d->shape.pitch, most = d->host.size / row;
    wcodec_status status = WCODEC_OK;
    for (uint64_t first = 0; first < work->m && status == WCODEC_OK; first += most) {
        const uint64_t left = work->m - first, count = left < most ? left : most;
        const struct wcodec_backend *b = d->owner.device->backend;
        status = b->copy_out(d->queue, d->host.data, d->anchors, d->places.anchors + first * row,
                             count * row, err);
        const wcodec_status waited = b->queue_wait(d->queue, status == WCODEC_OK ? err : NULL);
        status = status == WCODEC_OK ? waited : status;
        for (uint64_t i = 0; i < count && status == WCODEC_OK; i++)
            memcpy(work->anchors + (first + i) * work->width, d->host.data + i * row,
                   work->width * sizeof(float));
    }
    return status;
}

static wcodec_status put_anchors(struct wcodec_vectors_work *work, wcodec_error *err)
{
    struct wcodec_vectors_device *d = work->device;
    const struct wcodec_backend *b = d->owner.device->backend;
    const uint64_t row = 4 * (uint64_t)d->shape.pitch, most = d->host.size / row;
    wcodec_status status = wcodec_vectors_device_make_room(d, work->m, err);
    for (uint64_t first = 0; first < work->m && status == WCODEC_OK; first += most) {
        const uint64_t left = work->m - first, count = left < most ? left : most;
        memset(d->host.data, 0, (size_t)(count * row));
        for (uint64_t i = 0; i < count; i++)
            memcpy(d->host.data + i * row, work->anchors + (first + i) * work->width,
                   work->width * sizeof(float));
        status = b->copy_in(d->queue, d->anchors, d->places.anchors + first * row, d->host.data,
                            count * row, err);
        if (status == WCODEC_OK)
            status = b->queue_wait(d->queue, err);
    }
    return status;
}

wcodec_status wcodec_vectors_device_get_anchors(struct wcodec_vectors_work *work, wcodec_error *err)
{
    wcodec_error reason = {0};
    const wcodec_status status = get_anchors(work, &reason);
    return wcodec_vectors_device_failed(work->device, status, &reason, err);
}

wcodec_status wcodec_vectors_device_put_anchors(struct wcodec_vectors_work *work, wcodec_error *err)
{
    wcodec_error reason = {0};
    work->device->ahead = false;
    const wcodec_status status = put_anchors(work, &reason);
    return wcodec_vectors_device_failed(work->device, status, &reason, err);
}

/* The host merges and splits: it has all rows. */
static wcodec_status maintain(struct wcodec_vectors_work *work,
                              const struct wcodec_vectors_move *move, wcodec_vectors_iteration *now,
                              wcodec_error *err)
{
    struct wcodec_vectors_device *d = work->device;
    wcodec_error reason = {0};
    wcodec_status status = wcodec_vectors_device_bring(d, work->index, d->state, d->places.index,
                                                       4 * (uint64_t)work->n, &reason);
    if (status == WCODEC_OK)
        status = wcodec_vectors_device_check(work, 0, work->n, &reason);
    if (status == WCODEC_OK)
        status = wcodec_vectors_device_bring(d, work->distance, d->state, d->places.distance,
                                             4 * (uint64_t)work->n, &reason);
    if (status == WCODEC_OK)
        status = get_anchors(work, &reason);
    if (status != WCODEC_OK)
        return wcodec_vectors_device_failed(d, status, &reason, err);
    status = wcodec_vectors_maintain(work, move->temperature, &now->merged, &now->split, err);
    return status == WCODEC_OK ? wcodec_vectors_device_put_anchors(work, err) : status;
}

static wcodec_status assign_and_move(struct wcodec_vectors_work *work,
                                     const struct wcodec_vectors_move *move, wcodec_error *err)
{
    struct wcodec_vectors_device *d = work->device;
    struct wcodec_vectors_step step = step_of(work, WCODEC_VECTORS_ASSIGN);
    step.distances = move->trimmed || move->maintain;
    wcodec_status status = run(d, &step, err);
    step.kind = WCODEC_VECTORS_MOVE;
    step.trimmed = move->trimmed;
    step.whole = move->whole;
    step.part = move->part;
    step.any_order = d->any_order;
    return status == WCODEC_OK ? run(d, &step, err) : status;
}

wcodec_status wcodec_vectors_device_iterate(struct wcodec_vectors_work *work,
                                            const struct wcodec_vectors_move *move,
                                            wcodec_vectors_iteration *now, wcodec_error *err)
{
    struct wcodec_vectors_device *d = work->device;
    struct wcodec_vectors_result result;
    wcodec_error reason = {0};
    if (d->most != 0)
        return wcodec_vectors_parts_iterate(work, move, now, err);
    wcodec_status status =
        wcodec_vectors_device_failed(d, assign_and_move(work, move, &reason), &reason, err);
    if (status == WCODEC_OK && move->maintain)
        status = maintain(work, move, now, err);
    if (status != WCODEC_OK)
        return status;
    const struct wcodec_vectors_step step = step_of(work, WCODEC_VECTORS_MEASURE);
    status = run(d, &step, &reason);
    if (status == WCODEC_OK)
        status = wcodec_vectors_device_bring(d, &result, d->state, d->places.result, sizeof result,
                                             &reason);
    if (status != WCODEC_OK)
        return wcodec_vectors_device_failed(d, status, &reason, err);
    d->assigned += work->n;
    d->compared += result.compared;
    now->changes = result.changes;
    now->energy = result.energy / (double)work->n;
    now->anchors = work->m;
    return WCODEC_OK;
}

wcodec_status wcodec_vectors_device_assign(struct wcodec_vectors_work *work, wcodec_error *err)
{
    struct wcodec_vectors_device *d = work->device;
    const struct wcodec_vectors_step step = step_of(work, WCODEC_VECTORS_ASSIGN);
    wcodec_error reason = {0};
    wcodec_status status;
    if (d->most != 0) {
        status = wcodec_vectors_parts_assign(work, err);
        if (status != WCODEC_OK)
            return status;
    } else {
        status = run(d, &step, &reason);
        if (status == WCODEC_OK)
            status = wcodec_vectors_device_bring(d, work->index, d->state, d->places.index,
                                                 4 * (uint64_t)work->n, &reason);
    }
    if (status == WCODEC_OK && !wcodec_cancel_poll(&work->cancel))
        status = wcodec_vectors_device_check_some(work, &reason);
    return wcodec_vectors_device_failed(d, status, &reason, err);
}
