/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The file that is saved, read from where its tensors are. */
#include "core/error.h"
#include "save/save.h"
#include <string.h>

/* Bytes [at, at + size) of the file that are in one place. */
struct part {
    uint64_t at, size;
    size_t tensor; /* SIZE_MAX: the header */
};

size_t wcodec_save_find(const struct wcodec_save_request *r, uint64_t at)
{
    size_t low = 0, high = (size_t)r->declared.names.count;
    while (high - low > 1) {
        const size_t middle = low + (high - low) / 2;
        if (r->places[middle].at <= at)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static struct part find_part(const struct wcodec_save_request *r, uint64_t at, uint64_t end)
{
    struct part part = {.at = at, .tensor = SIZE_MAX};
    uint64_t stop = r->header_size;
    if (at >= r->header_size) {
        part.tensor = wcodec_save_find(r, at);
        stop = r->places[part.tensor].at + r->declared.tensors[part.tensor].size;
    }
    part.size = (stop < end ? stop : end) - at;
    return part;
}

static const uint8_t *host_of(const struct wcodec_save_request *r, const struct part *part)
{
    if (part->tensor == SIZE_MAX)
        return r->header + part->at;
    const struct wcodec_save_place *place = &r->places[part->tensor];
    return place->host != NULL ? place->host + (part->at - place->at) : NULL;
}

static struct wcodec_save_lane *take_lane(struct wcodec_save_request *r)
{
    struct wcodec_save_lane *lane = NULL;
    pthread_mutex_lock(&r->lock);
    for (;;) {
        for (unsigned i = 0; i < r->lane_count && lane == NULL; i++)
            if (!r->lanes[i].busy)
                lane = &r->lanes[i];
        if (lane != NULL)
            break;
        pthread_cond_wait(&r->freed, &r->lock);
    }
    lane->busy = true;
    pthread_mutex_unlock(&r->lock);
    return lane;
}

static void give_lane(struct wcodec_save_request *r, struct wcodec_save_lane *lane)
{
    pthread_mutex_lock(&r->lock);
    lane->busy = false;
    pthread_cond_signal(&r->freed);
    pthread_mutex_unlock(&r->lock);
}

static wcodec_status prepare_lane(struct wcodec_save_request *r, struct wcodec_save_lane *lane,
                                  wcodec_error *err)
{
    const struct wcodec_backend *b = r->device->backend;
    if (lane->queue != NULL)
        return WCODEC_OK;
    wcodec_status status = wcodec_staging_reserve(&r->owner, &lane->staging, WCODEC_MEMORY_PINNED,
                                                  WCODEC_SAVE_LANE_BYTES, err);
    if (status != WCODEC_OK)
        return status;
    lane->queue = wcodec_keep_take_queue(&r->device->keep);
    if (lane->queue == NULL)
        status = b->queue_create(r->device->device, &lane->queue, err);
    if (status == WCODEC_OK && r->after != NULL)
        status = b->queue_after(lane->queue, r->after, err);
    if (status == WCODEC_OK)
        return status;
    if (lane->queue != NULL)
        b->queue_destroy(lane->queue);
    lane->queue = NULL;
    wcodec_staging_release(&r->owner, &lane->staging);
    return status;
}

wcodec_status wcodec_save_lane_take(struct wcodec_save_request *r, struct wcodec_save_lane **lane,
                                    wcodec_error *err)
{
    struct wcodec_save_lane *taken = take_lane(r);
    const wcodec_status status = prepare_lane(r, taken, err);
    if (status == WCODEC_OK)
        *lane = taken;
    else
        give_lane(r, taken);
    return status;
}

wcodec_status wcodec_save_lane_end(struct wcodec_save_request *r, struct wcodec_save_lane *lane,
                                   wcodec_status status, wcodec_error *err)
{
    const wcodec_status waited =
        r->device->backend->queue_wait(lane->queue, status == WCODEC_OK ? err : NULL);
    give_lane(r, lane);
    return status == WCODEC_OK ? waited : status;
}

/* Bytes [at, end), at most as many as a lane has room for, some of which are the device's. What of
 * them lies one after the other in the device is copied at once, small tensors in one buffer. */
static wcodec_status bring(struct wcodec_save_request *r, struct wcodec_save_lane *lane,
                           uint64_t at, uint64_t end, uint8_t *dst, size_t *failed,
                           wcodec_error *err)
{
    const struct wcodec_backend *b = r->device->backend;
    wcodec_status status = prepare_lane(r, lane, err);
    for (uint64_t i = at; i < end && status == WCODEC_OK;) {
        const struct part part = find_part(r, i, end);
        if (host_of(r, &part) == NULL) {
            const struct wcodec_save_place *place = &r->places[part.tensor];
            *failed = part.tensor;
            status = b->copy_out(lane->queue, lane->staging.data + (i - at), place->memory,
                                 place->offset + (i - place->at), part.size, err);
        }
        i += part.size;
    }
    if (lane->queue != NULL) {
        const wcodec_status waited = b->queue_wait(lane->queue, status == WCODEC_OK ? err : NULL);
        status = status == WCODEC_OK ? waited : status;
    }
    for (uint64_t i = at; i < end && status == WCODEC_OK;) {
        const struct part part = find_part(r, i, end);
        const uint8_t *host = host_of(r, &part);
        memcpy(dst + (i - at), host != NULL ? host : lane->staging.data + (i - at),
               (size_t)part.size);
        i += part.size;
    }
    return status;
}

static wcodec_status read_device(struct wcodec_save_request *r, uint64_t at, uint64_t end,
                                 uint8_t *dst, wcodec_error *err)
{
    size_t failed = find_part(r, at, end).tensor;
    wcodec_error reason = {0};
    wcodec_status status = WCODEC_OK;
    struct wcodec_save_lane *lane = take_lane(r);
    for (uint64_t i = at; i < end && status == WCODEC_OK; i += WCODEC_SAVE_LANE_BYTES)
        status =
            bring(r, lane, i, end - i < WCODEC_SAVE_LANE_BYTES ? end : i + WCODEC_SAVE_LANE_BYTES,
                  dst + (i - at), &failed, &reason);
    give_lane(r, lane);
    if (status == WCODEC_OK)
        return status;
    status = wcodec_backends_failed(r->context, r->device, status, &reason, err);
    if (failed != SIZE_MAX)
        wcodec_error_prefix(err, "tensor \"%.200s\"", r->declared.tensors[failed].name);
    return status;
}

wcodec_status wcodec_save_read(void *request, uint64_t offset, void *dst, size_t size,
                               wcodec_error *err)
{
    struct wcodec_save_request *r = request;
    const uint64_t end = offset + size;
    for (uint64_t at = offset; at < end;) {
        const struct part part = find_part(r, at, end);
        const uint8_t *host = host_of(r, &part);
        if (host == NULL)
            return read_device(r, at, end, (uint8_t *)dst + (at - offset), err);
        uint8_t *to = (uint8_t *)dst + (at - offset);
        if (to != host)
            memcpy(to, host, (size_t)part.size);
        at += part.size;
    }
    return WCODEC_OK;
}

/* Through a lane's memory: host bytes must stay until the copy is done, and pinned ones are fast.
 */
static wcodec_status put_back(struct wcodec_save_request *r, struct wcodec_save_lane *lane,
                              size_t tensor, uint64_t offset, const uint8_t *src, uint64_t size,
                              wcodec_error *err)
{
    const struct wcodec_backend *b = r->device->backend;
    const struct wcodec_save_place *place = &r->places[tensor];
    wcodec_status status = prepare_lane(r, lane, err);
    for (uint64_t i = 0; i < size && status == WCODEC_OK;) {
        const uint64_t left = size - i,
                       piece = left < WCODEC_SAVE_LANE_BYTES ? left : WCODEC_SAVE_LANE_BYTES;
        memcpy(lane->staging.data, src + i, (size_t)piece);
        status = b->copy_in(lane->queue, place->memory, place->offset + offset + i,
                            lane->staging.data, piece, err);
        const wcodec_status waited = b->queue_wait(lane->queue, status == WCODEC_OK ? err : NULL);
        status = status == WCODEC_OK ? waited : status;
        i += piece;
    }
    return status;
}

wcodec_status wcodec_save_write(struct wcodec_save_request *r, size_t tensor, uint64_t offset,
                                const void *src, size_t size, wcodec_error *err)
{
    wcodec_error reason = {0};
    struct wcodec_save_lane *lane = take_lane(r);
    const wcodec_status status = put_back(r, lane, tensor, offset, src, size, &reason);
    give_lane(r, lane);
    return status == WCODEC_OK
               ? status
               : wcodec_backends_failed(r->context, r->device, status, &reason, err);
}
