/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "registry/staging.h"
#include "core/assert.h"
#include "core/log.h"
#include "core/memory.h"
#include <inttypes.h>

void wcodec_staging_release(struct wcodec_staging_owner *owner, struct wcodec_staging *staging)
{
    struct wcodec_opened *o = owner->device;
    if (staging->memory != NULL &&
        (atomic_load(&o->lost) ||
         !wcodec_keep_give(&o->keep, staging->memory, staging->kind, staging->size)))
        o->backend->memory_free(staging->memory);
    wcodec_free(&owner->context->allocator, staging->plain);
    WCODEC_ASSERT(staging->data == NULL || atomic_load(&owner->held) >= staging->size);
    if (staging->data != NULL)
        atomic_fetch_sub(&owner->held, staging->size);
    *staging = (struct wcodec_staging){0};
}

wcodec_status wcodec_staging_hold(struct wcodec_staging_owner *owner, uint64_t size,
                                  wcodec_error *err)
{
    if (atomic_fetch_add(&owner->held, size) + size <= owner->limit)
        return WCODEC_OK;
    atomic_fetch_sub(&owner->held, size);
    return wcodec_fail(err, WCODEC_ERROR_LIMIT,
                       "%s needs more memory than the limit of %" PRIu64 " bytes", owner->purpose,
                       owner->context->limits.max_memory);
}

static bool counts(const struct wcodec_staging_owner *owner)
{
    return (owner->device->listing.capabilities & WCODEC_DEVICE_HOST_MEMORY) != 0;
}

wcodec_status wcodec_staging_allocate(struct wcodec_staging_owner *owner, uint64_t size,
                                      struct wcodec_memory **memory, wcodec_error *err)
{
    wcodec_status status = counts(owner) ? wcodec_staging_hold(owner, size, err) : WCODEC_OK;
    if (status != WCODEC_OK)
        return status;
    status = wcodec_opened_allocate(owner->device, WCODEC_MEMORY_DEVICE, size, memory, err);
    if (status != WCODEC_OK && counts(owner))
        atomic_fetch_sub(&owner->held, size);
    return status;
}

void wcodec_staging_free(struct wcodec_staging_owner *owner, uint64_t size,
                         struct wcodec_memory **memory)
{
    if (*memory == NULL)
        return;
    owner->device->backend->memory_free(*memory);
    *memory = NULL;
    if (counts(owner))
        atomic_fetch_sub(&owner->held, size);
}

/* Kept from the last time, or new; what is kept in other sizes is freed for it. */
static wcodec_status get_memory(const struct wcodec_staging_owner *owner,
                                struct wcodec_staging *staging, wcodec_error *err)
{
    struct wcodec_opened *o = owner->device;
    if (atomic_load(&o->lost))
        return wcodec_fail(err, WCODEC_ERROR_DEVICE, "%s", o->loss);
    staging->memory = wcodec_keep_take(&o->keep, staging->kind, &staging->size);
    if (staging->memory != NULL)
        return WCODEC_OK;
    return wcodec_opened_allocate(o, staging->kind, staging->size, &staging->memory, err);
}

wcodec_status wcodec_staging_reserve(struct wcodec_staging_owner *owner,
                                     struct wcodec_staging *staging, enum wcodec_memory_kind kind,
                                     uint64_t size, wcodec_error *err)
{
    WCODEC_ASSERT(owner->device != NULL && (staging->size == 0 || staging->kind == kind));
    const struct wcodec_opened *o = owner->device;
    const bool visible =
        kind == WCODEC_MEMORY_PINNED || (o->listing.capabilities & WCODEC_DEVICE_HOST_MEMORY) != 0;
    struct wcodec_staging s = {.size = size, .kind = kind};
    wcodec_error e = {0};
    if (size <= staging->size)
        return WCODEC_OK;
    wcodec_staging_release(owner, staging);
    wcodec_status status = get_memory(owner, &s, &e);
    if (status == WCODEC_OK) {
        s.data = o->backend->memory_pointer(s.memory);
    } else if (kind == WCODEC_MEMORY_PINNED &&
               (status == WCODEC_ERROR_MEMORY || atomic_load(&o->lost))) {
        wcodec_log(owner->context, WCODEC_LOG_INFO, "%s: no pinned memory (%s); copies are slower",
                   o->name, e.text);
        s.plain = s.data = wcodec_alloc_array(&owner->context->allocator, size, 1);
        status = s.plain != NULL ? WCODEC_OK : WCODEC_ERROR_MEMORY;
    }
    if (status != WCODEC_OK)
        return wcodec_fail(err, status, "%s", e.text);
    if (visible) {
        status = wcodec_staging_hold(owner, s.size, err);
        if (status != WCODEC_OK) {
            s.data = NULL; /* it was not counted */
            wcodec_staging_release(owner, &s);
            return status;
        }
    }
    *staging = s;
    return WCODEC_OK;
}
