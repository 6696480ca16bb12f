/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* From the caller's items to a file that can be read. */
#include "core/error.h"
#include "core/memory.h"
#include "core/options.h"
#include "save/save.h"
#include "write/encode_options.h"
#include <inttypes.h>
#include <string.h>

#define HOST_MEMORY ((uint64_t)32 << 20)

static const wcodec_save_options defaults = {.fd = -1};

void wcodec_save_options_init_size(wcodec_save_options *options, size_t size)
{
    wcodec_options_set(options, size, &defaults, sizeof defaults);
}

static wcodec_status check_target(const wcodec_save_options *o, wcodec_error *err)
{
    const int targets = (o->path != NULL) + (o->fd >= 0) + (o->write != NULL);
    if (targets != 1)
        return wcodec_fail(err, WCODEC_ERROR_USAGE,
                           "%s to save to: expected a path, a descriptor or a function",
                           targets == 0 ? "nothing" : "more than one thing");
    return WCODEC_OK;
}

static wcodec_status check_encoding(const struct wcodec_save_request *r,
                                    const wcodec_save_options *o, const wcodec_encode_options *e,
                                    wcodec_error *err)
{
    if (r->started && e->times != NULL)
        return wcodec_fail(err, WCODEC_ERROR_USAGE, "times are not for a save that is started");
    if (e->raw || e->strict || e->index_first || e->onnx_model != NULL || e->onnx_location != NULL)
        return wcodec_fail(err, WCODEC_ERROR_USAGE,
                           "raw, strict, index_first and onnx_* are not for tensors that are "
                           "saved");
    if (e->write_at != NULL && o->write == NULL)
        return wcodec_fail(err, WCODEC_ERROR_USAGE, "write_at is for saving by `write` only");
    return WCODEC_OK;
}

static wcodec_status read_options(struct wcodec_save_request *r, const wcodec_save_options *from,
                                  wcodec_error *err)
{
    wcodec_save_options o = defaults;
    wcodec_encode_options e;
    wcodec_status status = wcodec_options_take(from, &o, sizeof o, "wcodec_save_options_init", err);
    if (status == WCODEC_OK)
        status = wcodec_encode_options_read(o.encode, &e, err);
    if (status == WCODEC_OK)
        status = wcodec_encode_options_whole(&e, err);
    if (status == WCODEC_OK)
        status = check_target(&o, err);
    if (status == WCODEC_OK)
        status = check_encoding(r, &o, &e, err);
    if (status == WCODEC_OK && o.use_queue && o.memory == NULL)
        status = wcodec_fail(err, WCODEC_ERROR_USAGE,
                             "a queue is waited for, but the tensors are in host memory");
    if (status == WCODEC_OK)
        status = wcodec_encode_options_keep(&e, &r->arena, err);
    if (status == WCODEC_OK && o.path != NULL) {
        o.path = wcodec_arena_text(&r->arena, o.path, strlen(o.path));
        if (o.path == NULL)
            status = wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory");
    }
    if (status != WCODEC_OK)
        return status;
    e.strict = 1; /* what this room makes is a safetensors file */
    o.encode = NULL;
    r->options = o;
    r->encode = e;
    return WCODEC_OK;
}

static wcodec_status declare_metadata(struct wcodec_save_request *r, wcodec_error *err)
{
    wcodec_status status = WCODEC_OK;
    const char *const *pairs = r->options.metadata;
    for (size_t i = 0; pairs != NULL && status == WCODEC_OK && pairs[i] != NULL; i += 2)
        status = pairs[i + 1] != NULL
                     ? wcodec_declared_metadata(&r->declared, pairs[i], pairs[i + 1], err)
                     : wcodec_fail(err, WCODEC_ERROR_USAGE,
                                   "the metadata key \"%.200s\" has no value", pairs[i]);
    r->options.metadata = NULL;
    return status;
}

static wcodec_status declare(struct wcodec_save_request *r, const wcodec_save_item *item,
                             wcodec_error *err)
{
    wcodec_status status =
        wcodec_reserved_check(item->reserved, sizeof item->reserved, "save item", err);
    if (status == WCODEC_OK)
        status = wcodec_declared_tensor(&r->declared, item->name, item->dtype, item->shape,
                                        item->rank, err);
    if (status != WCODEC_OK)
        return status;
    const uint64_t size = r->declared.tensors[r->declared.names.count - 1].size;
    if (item->size != size)
        return wcodec_fail(err, WCODEC_ERROR_USAGE,
                           "tensor \"%.200s\": %" PRIu64 " bytes, expected %" PRIu64, item->name,
                           item->size, size);
    if (size != 0 && item->source == 0)
        return wcodec_fail(err, WCODEC_ERROR_USAGE, "tensor \"%.200s\": the source is NULL",
                           item->name);
    if (item->offset > UINT64_MAX - size || item->source > UINT64_MAX - size - item->offset)
        return wcodec_fail(err, WCODEC_ERROR_USAGE,
                           "tensor \"%.200s\": the source's offset is %" PRIu64, item->name,
                           item->offset);
    return WCODEC_OK;
}

/* Items of one source share a handle: how many they are, and the bytes that it must have. */
static size_t same_source(const wcodec_save_item *items, size_t count, uint64_t *size)
{
    size_t n = 0;
    *size = 0;
    for (; n < count && items[n].source == items[0].source; n++)
        if (items[n].size != 0 && items[n].offset + items[n].size > *size)
            *size = items[n].offset + items[n].size;
    return n;
}

static wcodec_status adopt(struct wcodec_save_request *r, const wcodec_save_item *items,
                           struct wcodec_save_place *places, size_t count, uint64_t size,
                           wcodec_error *err)
{
    struct wcodec_memory *memory;
    uint64_t off;
    const wcodec_status status =
        wcodec_opened_adopt(r->device, items[0].source, size, &memory, &off, err);
    if (status != WCODEC_OK) {
        wcodec_error_prefix(err, "tensor \"%.200s\"", items[0].name);
        return status;
    }
    r->adopted[r->adopted_count++] = memory;
    const uint8_t *pointer = r->device->backend->memory_pointer(memory);
    for (size_t i = 0; i < count; i++) {
        places[i].memory = memory;
        places[i].offset = off + items[i].offset;
        if (pointer != NULL && !r->options.use_queue) /* else it is read after the queue */
            places[i].host = pointer + places[i].offset;
    }
    return WCODEC_OK;
}

static wcodec_status find_places(struct wcodec_save_request *r, const wcodec_save_item *items,
                                 size_t count, wcodec_error *err)
{
    wcodec_status status = WCODEC_OK;
    uint64_t at = r->header_size;
    for (size_t i = 0; i < count; i++) {
        r->places[i] = (struct wcodec_save_place){.at = at};
        at += items[i].size;
        if (r->device == NULL)
            r->places[i].host = (const uint8_t *)(uintptr_t)items[i].source + items[i].offset;
    }
    r->size = at;
    for (size_t i = 0, n; r->device != NULL && i < count && status == WCODEC_OK; i += n) {
        uint64_t size;
        n = same_source(items + i, count - i, &size);
        if (size != 0)
            status = adopt(r, items + i, r->places + i, n, size, err);
    }
    return status;
}

/* The device, if it is one that tensors must be brought from. */
static wcodec_status find_device(struct wcodec_save_request *r, wcodec_error *err)
{
    const uint64_t limit = r->context->limits.max_memory / 4,
                   host = r->options.host_memory != 0 ? r->options.host_memory : HOST_MEMORY,
                   lanes = (host < limit ? host : limit) / WCODEC_SAVE_LANE_BYTES;
    const unsigned threads = wcodec_context_threads(r->context);
    if (r->options.memory == NULL)
        return WCODEC_OK;
    wcodec_status status = wcodec_backends_device(r->context, &r->device, err);
    if (status == WCODEC_OK)
        status = wcodec_opened_check_memory(r->device, r->options.memory, "tensors", err);
    r->options.memory = NULL; /* the caller's, and looked at already */
    r->lane_count = threads < WCODEC_SAVE_LANES_MAX ? threads : WCODEC_SAVE_LANES_MAX;
    if (lanes < r->lane_count)
        r->lane_count = lanes != 0 ? (unsigned)lanes : 1;
    r->owner = (struct wcodec_staging_owner){.context = r->context,
                                             .device = r->device,
                                             .purpose = "saving",
                                             .limit = r->context->limits.max_memory};
    return status;
}

static wcodec_status fill_in(struct wcodec_save_request *r, const wcodec_save_item *items,
                             size_t count, const wcodec_save_options *options, wcodec_error *err)
{
    wcodec_status status = read_options(r, options, err);
    if (status == WCODEC_OK)
        status = declare_metadata(r, err);
    for (size_t i = 0; i < count && status == WCODEC_OK; i++)
        status = declare(r, &items[i], err);
    if (status == WCODEC_OK)
        status = wcodec_declared_header(&r->declared, &r->header, &r->header_size, err);
    if (status == WCODEC_OK)
        status = find_device(r, err);
    if (status != WCODEC_OK)
        return status;
    r->places = wcodec_alloc_array(&r->context->allocator, count, sizeof *r->places);
    r->adopted = wcodec_alloc_array(&r->context->allocator, count, sizeof(struct wcodec_memory *));
    if (r->places == NULL || r->adopted == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for a save of %zu tensors",
                           count);
    status = find_places(r, items, count, err);
    if (status == WCODEC_OK && r->options.use_queue)
        status = wcodec_opened_mark(r->device, r->options.queue, &r->after, err);
    return status;
}

wcodec_status wcodec_save_request_create(wcodec_context *context, const wcodec_save_item *items,
                                         size_t count, const wcodec_save_options *options,
                                         bool started, struct wcodec_save_request *request,
                                         wcodec_error *err)
{
    struct wcodec_save_request *r = request;
    wcodec_status status = wcodec_context_usable(context, err);
    if (status != WCODEC_OK)
        return status;
    *r = (struct wcodec_save_request){.context = context, .started = started};
    if (pthread_mutex_init(&r->lock, NULL) != 0)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for a lock");
    if (pthread_cond_init(&r->freed, NULL) != 0) {
        pthread_mutex_destroy(&r->lock);
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for a condition");
    }
    wcodec_arena_init(&r->arena, &context->allocator);
    wcodec_declared_init(&r->declared, &r->arena);
    status = fill_in(r, items, count, options, err);
    if (status != WCODEC_OK)
        wcodec_save_request_free(r);
    return status;
}

void wcodec_save_request_free(struct wcodec_save_request *r)
{
    for (unsigned i = 0; i < r->lane_count; i++) {
        struct wcodec_save_lane *lane = &r->lanes[i];
        if (lane->queue == NULL)
            continue;
        const bool idle = r->device->backend->queue_wait(lane->queue, NULL) == WCODEC_OK &&
                          !atomic_load(&r->device->lost);
        wcodec_staging_release(&r->owner, &lane->staging);
        wcodec_staging_release(&r->owner, &lane->work);
        if (!idle || !wcodec_keep_give_queue(&r->device->keep, lane->queue))
            r->device->backend->queue_destroy(lane->queue);
    }
    if (r->after != NULL)
        r->device->backend->event_destroy(r->after);
    for (size_t i = 0; i < r->adopted_count; i++)
        r->device->backend->memory_free(r->adopted[i]);
    wcodec_free(&r->context->allocator, r->adopted);
    wcodec_free(&r->context->allocator, r->places);
    wcodec_free(&r->context->allocator, r->header);
    wcodec_declared_free(&r->declared);
    wcodec_arena_free(&r->arena);
    pthread_cond_destroy(&r->freed);
    pthread_mutex_destroy(&r->lock);
}
