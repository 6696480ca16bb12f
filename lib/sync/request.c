/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* A side's tensors, found and brought to the host; failures of threads. */
#include "core/error.h"
#include "core/memory.h"
#include "sync/sync.h"
#include <string.h>

static int write_nothing(void *opaque, const void *data, size_t size)
{
    (void)opaque, (void)data, (void)size;
    return 0;
}

wcodec_status wcodec_sync_request_create(wcodec_context *context,
                                         const struct wcodec_sync_side *side,
                                         struct wcodec_save_request **request, wcodec_error *err)
{
    wcodec_save_options options;
    struct wcodec_save_request *r = wcodec_alloc_zeroed(&context->allocator, sizeof *r);
    if (r == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for a snapshot");
    wcodec_save_options_init(&options);
    options.write = write_nothing;
    options.memory = side->memory;
    options.use_queue = side->use_queue && side->memory != NULL;
    options.queue = side->queue;
    options.host_memory = side->host_memory;
    const wcodec_status status =
        wcodec_save_request_create(context, side->items, side->count, &options, false, r, err);
    if (status == WCODEC_OK)
        *request = r;
    else
        wcodec_free(&context->allocator, r);
    return status;
}

void wcodec_sync_request_free(struct wcodec_save_request *r)
{
    if (r == NULL)
        return;
    const wcodec_allocator allocator = r->context->allocator;
    wcodec_save_request_free(r);
    wcodec_free(&allocator, r);
}

bool wcodec_sync_find(const struct wcodec_save_request *r, const struct wcodec_entry *what,
                      uint64_t *tensor, bool *same)
{
    if (r->declared.names.count == 0 ||
        !wcodec_names_find(&r->declared.names.names, what->name, tensor))
        return false;
    const struct wcodec_entry *e = &r->declared.tensors[*tensor];
    *same = e->dtype == what->dtype && e->rank == what->rank && e->size == what->size &&
            (e->rank == 0 || memcmp(e->shape, what->shape, e->rank * sizeof *e->shape) == 0);
    return true;
}

/* One tensor on its way. */
struct bringing {
    struct wcodec_save_request *request;
    struct wcodec_sync_failure failure;
    uint64_t at, size;
    uint8_t *dst;
};

static void bring_task(void *argument, size_t i)
{
    struct bringing *b = argument;
    const uint64_t offset = (uint64_t)i * WCODEC_SAVE_LANE_BYTES, left = b->size - offset,
                   size = left < WCODEC_SAVE_LANE_BYTES ? left : WCODEC_SAVE_LANE_BYTES;
    wcodec_error error = {0};
    if (atomic_load(&b->failure.failed))
        return;
    const wcodec_status status =
        wcodec_save_read(b->request, b->at + offset, b->dst + offset, (size_t)size, &error);
    if (status != WCODEC_OK)
        wcodec_sync_failure_note(&b->failure, i, status, &error);
}

wcodec_status wcodec_sync_bring(struct wcodec_save_request *r, uint64_t tensor, uint8_t *dst,
                                wcodec_error *err)
{
    struct bringing b = {.request = r,
                         .at = r->places[tensor].at,
                         .size = r->declared.tensors[tensor].size,
                         .dst = dst};
    const wcodec_status status = wcodec_sync_failure_init(&b.failure, err);
    if (status != WCODEC_OK)
        return status;
    wcodec_run(r->context, bring_task, &b,
               (size_t)wcodec_div_up_u64(b.size, WCODEC_SAVE_LANE_BYTES));
    return wcodec_sync_failure_end(&b.failure, err);
}

wcodec_status wcodec_sync_failure_init(struct wcodec_sync_failure *f, wcodec_error *err)
{
    *f = (struct wcodec_sync_failure){.status = WCODEC_OK};
    return pthread_mutex_init(&f->lock, NULL) == 0
               ? WCODEC_OK
               : wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for a lock");
}

void wcodec_sync_failure_note(struct wcodec_sync_failure *f, uint64_t place, wcodec_status status,
                              const wcodec_error *error)
{
    pthread_mutex_lock(&f->lock);
    if (f->status == WCODEC_OK || place < f->place) {
        f->place = place;
        f->status = status;
        f->error = *error;
    }
    atomic_store(&f->failed, true);
    pthread_mutex_unlock(&f->lock);
}

wcodec_status wcodec_sync_failure_end(struct wcodec_sync_failure *f, wcodec_error *err)
{
    if (f->status != WCODEC_OK && err != NULL)
        *err = f->error;
    pthread_mutex_destroy(&f->lock);
    return f->status;
}
