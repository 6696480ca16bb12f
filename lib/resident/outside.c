/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Indices of gathers in a device's memory that name no row: their launches count them in two words
 * there (struct wcodec_rows), which are read when somebody asks. */
#include "core/error.h"
#include "resident/resident.h"
#include <inttypes.h>
#include <string.h>

enum { COUNT, NUMBER, WORDS };

wcodec_status wcodec_resident_count_outside(wcodec_resident *resident, wcodec_error *err)
{
    static const uint8_t zero[8] = {0};
    struct wcodec_opened *o = resident->device;
    struct wcodec_queue *queue;
    wcodec_error e = {0};
    if (o == NULL)
        return WCODEC_OK;
    wcodec_status status =
        wcodec_opened_allocate(o, WCODEC_MEMORY_DEVICE, 4 * WORDS, &resident->outside, &e);
    if (status == WCODEC_OK)
        status = o->backend->queue_create(o->device, &queue, &e);
    if (status != WCODEC_OK)
        return wcodec_resident_failed(resident, status, &e, err);
    status = o->backend->fill(queue, resident->outside, 0, zero, 2, WORDS, &e);
    const wcodec_status waited = o->backend->queue_wait(queue, status == WCODEC_OK ? &e : NULL);
    o->backend->queue_destroy(queue);
    status = status == WCODEC_OK ? waited : status;
    return status == WCODEC_OK ? status : wcodec_resident_failed(resident, status, &e, err);
}

uint64_t wcodec_resident_outside(const wcodec_resident *resident)
{
    return resident->device->backend->memory_native(resident->outside);
}

void wcodec_resident_forget_outside(wcodec_resident *resident)
{
    if (resident->outside != NULL && wcodec_context_usable(resident->context, NULL) == WCODEC_OK)
        resident->device->backend->memory_free(resident->outside);
    resident->outside = NULL;
}

static wcodec_status read_words(const wcodec_resident *resident, uint32_t words[WORDS],
                                wcodec_error *err)
{
    const struct wcodec_opened *o = resident->device;
    struct wcodec_queue *queue;
    wcodec_error e = {0};
    wcodec_status status = o->backend->queue_create(o->device, &queue, &e);
    if (status != WCODEC_OK)
        return wcodec_resident_failed(resident, status, &e, err);
    status = o->backend->copy_out(queue, words, resident->outside, 0, 4 * WORDS, &e);
    const wcodec_status waited = o->backend->queue_wait(queue, status == WCODEC_OK ? &e : NULL);
    o->backend->queue_destroy(queue);
    status = status == WCODEC_OK ? waited : status;
    return status == WCODEC_OK ? status : wcodec_resident_failed(resident, status, &e, err);
}

wcodec_status wcodec_resident_check(wcodec_resident *resident, wcodec_error *err)
{
    uint32_t words[WORDS] = {0};
    if (resident == NULL)
        return wcodec_fail(err, WCODEC_ERROR_USAGE, "the resident object is NULL");
    if (resident->device == NULL)
        return wcodec_context_usable(resident->context, err);
    wcodec_status status = wcodec_resident_alive(resident, err);
    if (status == WCODEC_OK)
        status = read_words(resident, words, err);
    if (status != WCODEC_OK)
        return status;
    const uint32_t more = words[COUNT] - resident->seen;
    resident->seen = words[COUNT];
    if (more == 0)
        return WCODEC_OK;
    const char *name = words[NUMBER] < resident->count ? resident->items[words[NUMBER]].name : "";
    return wcodec_fail(err, WCODEC_ERROR_USAGE,
                       "%" PRIu32 " of the rows that were gathered are none of their tensors', the "
                       "last ones of '%s'",
                       more, name);
}
