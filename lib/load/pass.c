/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* What one device has decoded, to the memory of others that want it too. */
#include "core/error.h"
#include "load/load.h"

/* Bytes that are in host memory at once on their way from one device to another. */
#define BOUNCE_BYTES ((uint64_t)4 << 20)

static const struct wcodec_backend *backend_of(const struct wcodec_load_slot *slot)
{
    return slot->work->request->device->backend;
}

/* A call failed on a device. */
static wcodec_status fail(const struct wcodec_load_request *q, const struct wcodec_load_part *part,
                          wcodec_status status, const wcodec_error *reason, wcodec_error *err)
{
    if (status == WCODEC_ERROR_DEVICE)
        return wcodec_load_lose(q->context, q->device, part, reason, err);
    wcodec_fail(err, status, "%s: %s", q->device->name, reason->text);
    wcodec_shard_prefix(part->range->shard, part->range->named, err);
    return status;
}

static uint64_t offset_there(const struct wcodec_load_pass *pass,
                             const struct wcodec_load_part *part, uint64_t at)
{
    return pass->offset + (at - part->range->begin);
}

static uint64_t offset_here(const struct wcodec_load_part *part, uint64_t at)
{
    return part->range->offset + (at - part->range->begin);
}

wcodec_status wcodec_load_pass_on(struct wcodec_load_slot *slot,
                                  const struct wcodec_load_part *part, wcodec_error *err)
{
    const struct wcodec_load_range *r = part->range;
    for (size_t i = 0; i < r->pass_count; i++) {
        const struct wcodec_load_pass *pass = &r->passes[i];
        wcodec_error e = {0};
        if (pass->through_host)
            continue;
        slot->busy = true;
        const wcodec_status status = backend_of(slot)->peers->copy(
            slot->queue, pass->memory, offset_there(pass, part, part->begin), r->memory,
            offset_here(part, part->begin), part->stop - part->begin, &e);
        if (status != WCODEC_OK) {
            wcodec_error_prefix(&e, "a copy to %s", pass->to->device->name);
            return fail(slot->work->request, part, status, &e, err);
        }
    }
    return WCODEC_OK;
}

/* Wait for all that the queue was given, whatever came of the last call. */
static wcodec_status settle(const struct wcodec_backend *b, struct wcodec_queue *queue,
                            wcodec_status status, wcodec_error *err)
{
    const wcodec_status waited = b->queue_wait(queue, status == WCODEC_OK ? err : NULL);
    return status == WCODEC_OK ? waited : status;
}

static wcodec_status open_queue(struct wcodec_load_slot *slot, struct wcodec_load_request *to,
                                wcodec_error *err)
{
    if (slot->passing_to == to)
        return WCODEC_OK;
    wcodec_load_passing_end(slot);
    const wcodec_status status =
        to->device->backend->queue_create(to->device->device, &slot->passing, err);
    if (status == WCODEC_OK)
        slot->passing_to = to;
    return status;
}

static wcodec_status bounce(struct wcodec_load_slot *slot, const struct wcodec_load_part *part,
                            const struct wcodec_load_pass *pass, wcodec_error *err)
{
    const struct wcodec_backend *here = backend_of(slot), *there = pass->to->device->backend;
    wcodec_error e = {0};
    wcodec_status status = open_queue(slot, pass->to, &e);
    if (status != WCODEC_OK)
        return fail(pass->to, part, status, &e, err);
    for (uint64_t at = part->begin; at < part->stop; at += BOUNCE_BYTES) {
        const uint64_t left = part->stop - at, size = left < BOUNCE_BYTES ? left : BOUNCE_BYTES;
        status = here->copy_out(slot->queue, slot->out.data, part->range->memory,
                                offset_here(part, at), size, &e);
        status = settle(here, slot->queue, status, &e);
        if (status != WCODEC_OK)
            return fail(slot->work->request, part, status, &e, err);
        status = there->copy_in(slot->passing, pass->memory, offset_there(pass, part, at),
                                slot->out.data, size, &e);
        status = settle(there, slot->passing, status, &e);
        if (status != WCODEC_OK)
            return fail(pass->to, part, status, &e, err);
    }
    return WCODEC_OK;
}

wcodec_status wcodec_load_pass_through_host(struct wcodec_load_slot *slot,
                                            const struct wcodec_load_part *part, wcodec_error *err)
{
    for (size_t i = 0; i < part->range->pass_count; i++) {
        const struct wcodec_load_pass *pass = &part->range->passes[i];
        wcodec_error e = {0};
        if (!pass->through_host)
            continue;
        wcodec_status status = wcodec_staging_reserve(&slot->work->owner, &slot->out,
                                                      WCODEC_MEMORY_PINNED, BOUNCE_BYTES, &e);
        if (status != WCODEC_OK)
            return fail(slot->work->request, part, status, &e, err);
        status = bounce(slot, part, pass, err);
        if (status != WCODEC_OK)
            return status;
    }
    return WCODEC_OK;
}

void wcodec_load_passing_end(struct wcodec_load_slot *slot)
{
    if (slot->passing != NULL)
        slot->passing_to->device->backend->queue_destroy(slot->passing);
    slot->passing = NULL;
    slot->passing_to = NULL;
}
