/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* A slot leads a piece from the file to its places: staged, copied, decoded, waited for. */
#include "core/error.h"
#include "core/log.h"
#include "core/memory.h"
#include "load/load.h"
#include <inttypes.h>
#include <string.h>

enum { MEMCPY_BYTES = 1 << 20, STAGE_MIN = 1 << 20 };

static const struct wcodec_backend *backend_of(const struct wcodec_load_slot *slot)
{
    return slot->work->request->device->backend;
}

static wcodec_status reserve(struct wcodec_load_slot *slot, struct wcodec_staging *staging,
                             enum wcodec_memory_kind kind, uint64_t size, wcodec_error *err)
{
    return wcodec_staging_reserve(&slot->work->owner, staging, kind, size, err);
}

wcodec_status wcodec_load_slot_create(struct wcodec_load_work *work, struct wcodec_load_slot *slot,
                                      wcodec_error *err)
{
    const struct wcodec_load_request *q = work->request;
    const struct wcodec_backend *b = q->device->backend;
    *slot = (struct wcodec_load_slot){.work = work};
    slot->piece.parts =
        wcodec_alloc_array(&q->context->allocator, q->parts, sizeof *slot->piece.parts);
    slot->piece.tensors =
        wcodec_alloc_array(&q->context->allocator, q->parts, sizeof *slot->piece.tensors);
    slot->jobs = wcodec_alloc_array(&q->context->allocator, q->parts, sizeof *slot->jobs);
    slot->results = wcodec_alloc_array(&q->context->allocator, q->parts, sizeof *slot->results);
    wcodec_status status = WCODEC_OK;
    if (slot->piece.parts == NULL || slot->piece.tensors == NULL || slot->jobs == NULL ||
        slot->results == NULL)
        status = wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for a stream");
    if (status == WCODEC_OK)
        slot->queue = wcodec_keep_take_queue(&q->device->keep);
    if (status == WCODEC_OK && slot->queue == NULL)
        status = b->queue_create(q->device->device, &slot->queue, err);
    if (status == WCODEC_OK && work->after != NULL) {
        status = b->queue_after(slot->queue, work->after, err);
        slot->doubtful = status != WCODEC_OK;
    }
    if (status != WCODEC_OK)
        wcodec_load_slot_free(slot);
    return status;
}

/* Wait for what the device was given, whatever came of it. */
static wcodec_status drain(struct wcodec_load_slot *slot, wcodec_error *err)
{
    wcodec_status status = WCODEC_OK;
    const bool given = slot->event != NULL || slot->busy;
    if (slot->event != NULL) {
        status = backend_of(slot)->event_wait(slot->event, err);
        backend_of(slot)->event_destroy(slot->event);
        slot->event = NULL;
    }
    if (slot->busy) {
        wcodec_status waited =
            backend_of(slot)->queue_wait(slot->queue, status == WCODEC_OK ? err : NULL);
        status = status == WCODEC_OK ? waited : status;
    }
    slot->busy = false;
    if (status != WCODEC_OK)
        slot->doubtful = true;
    else if (given)
        atomic_store(&slot->work->passed, true);
    return status;
}

/* Has its queue nothing to do, so that others may have it? One that was given nothing may still
 * wait for the caller's. */
static bool is_idle(struct wcodec_load_slot *slot)
{
    const struct wcodec_load_work *work = slot->work;
    return drain(slot, NULL) == WCODEC_OK && !slot->doubtful &&
           (work->after == NULL || atomic_load(&work->passed)) &&
           !atomic_load(&work->request->device->lost);
}

static void end_batch(struct wcodec_load_slot *slot)
{
    if (slot->batch != NULL)
        backend_of(slot)->batch_destroy(slot->batch);
    slot->batch = NULL;
}

void wcodec_load_slot_free(struct wcodec_load_slot *slot)
{
    const wcodec_allocator *allocator = &slot->work->request->context->allocator;
    struct wcodec_opened *device = slot->work->request->device;
    const bool idle = is_idle(slot);
    end_batch(slot);
    wcodec_load_passing_end(slot);
    if (slot->piece.parts != NULL)
        wcodec_load_piece_end(&slot->piece);
    wcodec_staging_release(&slot->work->owner, &slot->stage);
    wcodec_staging_release(&slot->work->owner, &slot->coded);
    wcodec_staging_release(&slot->work->owner, &slot->scratch);
    wcodec_staging_release(&slot->work->owner, &slot->out);
    if (slot->queue != NULL && !(idle && wcodec_keep_give_queue(&device->keep, slot->queue)))
        device->backend->queue_destroy(slot->queue);
    wcodec_free(allocator, slot->results);
    wcodec_free(allocator, slot->jobs);
    wcodec_free(allocator, slot->piece.tensors);
    wcodec_free(allocator, slot->piece.parts);
    *slot = (struct wcodec_load_slot){.work = slot->work};
}

/* Where the host sees the device's memory, coded bytes are read to it at once. */
static bool is_shared(const struct wcodec_load_slot *slot)
{
    return (slot->work->request->device->listing.capabilities & WCODEC_DEVICE_HOST_MEMORY) != 0;
}

static wcodec_status reserve_stage(struct wcodec_load_slot *slot, wcodec_error *err)
{
    const struct wcodec_load_piece *p = &slot->piece;
    const uint64_t most = slot->work->request->slot_bytes, needed = p->low + p->high + 512;
    uint64_t size = STAGE_MIN;
    while (size < needed && size < most) /* few sizes, so that what is kept is found again */
        size *= 2;
    if (size > most)
        size = most;
    if (p->low + 256 > size)
        size = p->low + 256;
    slot->top = size;
    return reserve(slot, &slot->stage,
                   is_shared(slot) ? WCODEC_MEMORY_DEVICE : WCODEC_MEMORY_PINNED, size, err);
}

static size_t make_jobs(struct wcodec_load_slot *slot)
{
    const struct wcodec_load_piece *piece = &slot->piece;
    size_t n = 0;
    for (size_t i = 0; i < piece->count; i++) {
        const struct wcodec_load_part *p = &piece->parts[i];
        if (p->kind != WCODEC_LOAD_TILES || p->on_cpu)
            continue;
        struct wcodec_job *job = &slot->jobs[n++];
        const struct wcodec_load_tensor *t = p->tensor;
        *job =
            wcodec_layout_job(&t->layout, t->tiles, t->side, p->first, p->end, p->begin, p->stop);
        job->verify = slot->work->request->verify;
        for (unsigned a = 0; a < WCODEC_AREAS; a++) {
            job->places[a] = p->areas[a];
            job->places[a].memory = is_shared(slot) ? slot->stage.memory : slot->coded.memory;
        }
        job->memory = p->scratch != UINT64_MAX ? slot->scratch.memory : p->range->memory;
        job->destination =
            p->scratch != UINT64_MAX ? p->scratch : p->range->offset + (p->begin - p->range->begin);
    }
    return n;
}

/* Bytes that were decoded beside their place. */
static wcodec_status bring_home(struct wcodec_load_slot *slot, const struct wcodec_load_part *p,
                                wcodec_error *err)
{
    const uint64_t from = p->begin_there;
    if (p->range->memory != NULL)
        return backend_of(slot)->copy(slot->queue, p->range->memory,
                                      p->range->offset + (p->begin - p->range->begin),
                                      slot->scratch.memory, from, p->stop - p->begin, err);
    return backend_of(slot)->copy_out(slot->queue, slot->out.data + from, slot->scratch.memory,
                                      from, p->stop - p->begin, err);
}

static wcodec_status submit_tiles(struct wcodec_load_slot *slot, wcodec_error *err)
{
    const struct wcodec_backend *b = backend_of(slot);
    const struct wcodec_load_piece *piece = &slot->piece;
    wcodec_status status = WCODEC_OK;
    if (!is_shared(slot))
        status = reserve(slot, &slot->coded, WCODEC_MEMORY_DEVICE, slot->stage.size, err);
    if (status == WCODEC_OK && piece->scratch != 0)
        status = reserve(slot, &slot->scratch, WCODEC_MEMORY_DEVICE, piece->scratch, err);
    if (status == WCODEC_OK && piece->scratch != 0 && !is_shared(slot))
        status = reserve(slot, &slot->out, WCODEC_MEMORY_PINNED, piece->scratch, err);
    if (status != WCODEC_OK)
        return status;
    const size_t count = make_jobs(slot);
    if (count == 0)
        return WCODEC_OK;
    slot->busy = true;
    if (!is_shared(slot))
        status = b->copy_in(slot->queue, slot->coded.memory, 0, slot->stage.data, piece->low, err);
    if (status == WCODEC_OK)
        status = b->batch_create(slot->queue, slot->jobs, count, &slot->batch, err);
    if (status == WCODEC_OK)
        status = b->batch_decode(slot->queue, slot->batch, err);
    for (size_t i = 0; i < piece->count && status == WCODEC_OK; i++)
        if (piece->parts[i].kind == WCODEC_LOAD_TILES && !piece->parts[i].on_cpu &&
            piece->parts[i].scratch != UINT64_MAX)
            status = bring_home(slot, &piece->parts[i], err);
    atomic_fetch_add(&slot->work->batches, 1);
    return status;
}

static void all_on_cpu(struct wcodec_load_slot *slot)
{
    for (size_t i = 0; i < slot->piece.count; i++)
        slot->piece.parts[i].on_cpu = true;
}

static wcodec_status submit_fill(struct wcodec_load_slot *slot, const struct wcodec_load_part *p,
                                 wcodec_error *err)
{
    const struct wcodec_entry *e = p->range->entry;
    slot->busy = true;
    return backend_of(slot)->fill(slot->queue, p->range->memory, p->range->offset,
                                  e->u.constant.element, e->u.constant.element_log2,
                                  (p->stop - p->begin) >> e->u.constant.element_log2, err);
}

/* Does the host see all of the piece's places? Then it can do without the device; what is passed on
 * to others it cannot. */
static bool host_can(const struct wcodec_load_slot *slot)
{
    for (size_t i = 0; i < slot->piece.count; i++)
        if (slot->piece.parts[i].range->host == NULL || slot->piece.parts[i].range->pass_count != 0)
            return false;
    return true;
}

wcodec_status wcodec_load_lose(wcodec_context *context, struct wcodec_opened *device,
                               const struct wcodec_load_part *part, const wcodec_error *reason,
                               wcodec_error *err)
{
    wcodec_backends_lose(context, device, reason->text);
    wcodec_fail(err, WCODEC_ERROR_DEVICE, "%s failed: %s", device->name, reason->text);
    wcodec_shard_prefix(part->range->shard, part->range->named, err);
    return WCODEC_ERROR_DEVICE;
}

/* The device failed. What it was given is over; the CPU goes on if it may and can. */
static wcodec_status lose(struct wcodec_load_slot *slot, const wcodec_error *reason,
                          wcodec_error *err)
{
    struct wcodec_opened *device = slot->work->request->device;
    drain(slot, NULL);
    end_batch(slot);
    if (!device->cpu_allowed || !host_can(slot))
        return wcodec_load_lose(slot->work->request->context, device, &slot->piece.parts[0], reason,
                                err);
    wcodec_backends_lose(slot->work->request->context, device, reason->text);
    all_on_cpu(slot);
    return WCODEC_OK;
}

static wcodec_status prefix(const struct wcodec_load_part *p, wcodec_status status,
                            wcodec_error *err)
{
    if (status != WCODEC_OK)
        wcodec_shard_prefix(p->range->shard, p->range->named, err);
    return status;
}

/* Tiles for the device. Where it has no memory or no code for them, the CPU decodes this piece. */
static wcodec_status begin_tiles(struct wcodec_load_slot *slot, wcodec_error *err)
{
    const struct wcodec_load_request *q = slot->work->request;
    wcodec_error e = {0};
    wcodec_status status = submit_tiles(slot, &e);
    if (status == WCODEC_OK)
        return status;
    if (status == WCODEC_ERROR_MEMORY || status == WCODEC_ERROR_UNSUPPORTED) {
        wcodec_log(q->context, WCODEC_LOG_INFO,
                   "%s: %s; the CPU decodes this piece of tensor '%s' instead", q->device->name,
                   e.text, slot->piece.parts[0].range->named->name);
        wcodec_error late = {0};
        status = drain(slot, &late);
        end_batch(slot);
        all_on_cpu(slot);
        return status == WCODEC_OK ? status : lose(slot, &late, err);
    }
    if (status == WCODEC_ERROR_DEVICE)
        return lose(slot, &e, err);
    wcodec_fail(err, status, "%s", e.text);
    return prefix(&slot->piece.parts[0], status, err);
}

wcodec_status wcodec_load_slot_begin(struct wcodec_load_slot *slot, wcodec_error *err)
{
    struct wcodec_load_piece *piece = &slot->piece;
    wcodec_error e = {0};
    wcodec_status status = reserve_stage(slot, &e);
    if (status == WCODEC_ERROR_DEVICE)
        status = lose(slot, &e, err) == WCODEC_OK ? reserve_stage(slot, &e) : WCODEC_ERROR_DEVICE;
    if (status != WCODEC_OK)
        return status == WCODEC_ERROR_DEVICE
                   ? status
                   : prefix(&piece->parts[0], wcodec_fail(err, status, "%s", e.text), err);
    status = wcodec_load_stage(slot, err);
    if (status == WCODEC_OK && atomic_load(&slot->work->request->device->lost)) {
        wcodec_fail(&e, WCODEC_ERROR_DEVICE, "%s", slot->work->request->device->loss);
        status = lose(slot, &e, err);
    }
    if (status == WCODEC_OK && piece->jobs != 0 && !atomic_load(&slot->work->request->device->lost))
        status = begin_tiles(slot, err);
    for (size_t i = 0; i < piece->count && status == WCODEC_OK; i++) {
        const struct wcodec_load_part *p = &piece->parts[i];
        if (p->kind == WCODEC_LOAD_TILES)
            continue;
        status = p->kind == WCODEC_LOAD_FILL ? submit_fill(slot, p, &e)
                                             : wcodec_load_part_bytes(slot, p, &e);
        if (status == WCODEC_ERROR_DEVICE) {
            status = lose(slot, &e, err);
        } else if (status != WCODEC_OK) {
            wcodec_fail(err, status, "%s", e.text);
            prefix(p, status, err);
        }
    }
    for (size_t i = 0; i < piece->count && status == WCODEC_OK; i++)
        if (piece->parts[i].kind != WCODEC_LOAD_TILES || !piece->parts[i].on_cpu)
            status = wcodec_load_pass_on(slot, &piece->parts[i], err);
    if (status == WCODEC_OK && slot->busy) {
        status = backend_of(slot)->event_record(slot->queue, &slot->event, &e);
        if (status != WCODEC_OK)
            status = status == WCODEC_ERROR_DEVICE
                         ? lose(slot, &e, err)
                         : prefix(&piece->parts[0], wcodec_fail(err, status, "%s", e.text), err);
    }
    return status;
}

struct out_copy {
    const struct wcodec_load_slot *slot;
    const struct wcodec_load_part *part;
};

static void copy_task(void *argument, size_t i)
{
    const struct out_copy *c = argument;
    const struct wcodec_load_part *p = c->part;
    const uint64_t at = (uint64_t)i * MEMCPY_BYTES, left = p->stop - p->begin - at;
    memcpy(p->range->host + (p->begin - p->range->begin) + at,
           c->slot->out.data + p->begin_there + at,
           (size_t)(left < MEMCPY_BYTES ? left : MEMCPY_BYTES));
}

/* A fault is the data's or the device's: the CPU knows. */
static wcodec_status judge_fault(struct wcodec_load_slot *slot, struct wcodec_load_part *part,
                                 const struct wcodec_job_result *result, wcodec_error *err)
{
    struct wcodec_opened *device = slot->work->request->device;
    wcodec_error reason = {0};
    wcodec_status status = wcodec_load_part_on_cpu(slot, part, err);
    if (status != WCODEC_OK)
        return prefix(part, status, err);
    wcodec_fail(&reason, WCODEC_ERROR_DEVICE,
                "it found a fault in tile %" PRIu64 " that is none (%s)", result->tile,
                wcodec_tile_fault_string(result->fault));
    /* The CPU has nobody to judge it, and to take its place. */
    if (strcmp(device->backend->name, "cpu") != 0)
        wcodec_backends_lose(slot->work->request->context, device, reason.text);
    if (device->cpu_allowed && part->range->host != NULL && part->range->pass_count == 0)
        return WCODEC_OK;
    return prefix(
        part,
        wcodec_fail(err, WCODEC_ERROR_DEVICE, "%s decodes wrongly: %s", device->name, reason.text),
        err);
}

static wcodec_status finish_device_part(struct wcodec_load_slot *slot, struct wcodec_load_part *p,
                                        const struct wcodec_job_result *result, wcodec_error *err)
{
    if (result->fault != WCODEC_TILE_OK)
        return judge_fault(slot, p, result, err);
    if (p->scratch != UINT64_MAX && p->range->memory == NULL) {
        struct out_copy c = {slot, p};
        wcodec_run(slot->work->request->context, copy_task, &c,
                   (size_t)wcodec_div_up_u64(p->stop - p->begin, MEMCPY_BYTES));
    }
    return WCODEC_OK;
}

static wcodec_status finish_on_cpu(struct wcodec_load_slot *slot, const struct wcodec_load_part *p,
                                   wcodec_error *err)
{
    wcodec_error e = {0};
    wcodec_status status = wcodec_load_part_on_cpu(slot, p, &e);
    if (status == WCODEC_ERROR_DEVICE)
        return lose(slot, &e, err);
    if (status != WCODEC_OK)
        return prefix(p, wcodec_fail(err, status, "%s", e.text), err);
    status = wcodec_load_pass_on(slot, p, err);
    if (status == WCODEC_OK && drain(slot, &e) != WCODEC_OK)
        status = lose(slot, &e, err);
    return status;
}

/* Late failures of the device come out here. */
static wcodec_status wait_for_device(struct wcodec_load_slot *slot, wcodec_error *err)
{
    wcodec_error e = {0};
    wcodec_status status = drain(slot, &e);
    if (status == WCODEC_OK && slot->batch != NULL)
        status = backend_of(slot)->batch_results(slot->queue, slot->batch, slot->results, &e);
    if (status == WCODEC_OK)
        return status;
    if (status == WCODEC_ERROR_DEVICE)
        return lose(slot, &e, err);
    return prefix(&slot->piece.parts[0], wcodec_fail(err, status, "%s", e.text), err);
}

wcodec_status wcodec_load_slot_finish(struct wcodec_load_slot *slot, wcodec_error *err)
{
    struct wcodec_load_piece *piece = &slot->piece;
    size_t job = 0;
    uint64_t bytes = 0;
    wcodec_status status = wait_for_device(slot, err);
    for (size_t i = 0; i < piece->count && status == WCODEC_OK; i++) {
        struct wcodec_load_part *p = &piece->parts[i];
        bytes += (p->stop - p->begin) * (1 + p->range->pass_count);
        if (p->kind == WCODEC_LOAD_TILES)
            status = p->on_cpu ? finish_on_cpu(slot, p, err)
                               : finish_device_part(slot, p, &slot->results[job++], err);
        if (status == WCODEC_OK)
            status = wcodec_load_pass_through_host(slot, p, err);
    }
    end_batch(slot);
    wcodec_load_piece_end(piece);
    if (status == WCODEC_OK)
        atomic_fetch_add(&slot->work->done, bytes);
    return status;
}
