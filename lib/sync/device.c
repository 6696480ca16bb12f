/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Tensors that are hashed in the memory of the device that has them: sums of pieces come back. */
#include "core/error.h"
#include "sync/sync.h"
#include <string.h>

enum { LEAF = WCODEC_LEAF_BYTES, PIECES = WCODEC_SAVE_LANE_BYTES / 8 /* at once */ };

bool wcodec_sync_on_device(const struct wcodec_save_request *r, uint64_t tensor)
{
    const struct wcodec_save_place *place = &r->places[tensor];
    return r->declared.tensors[tensor].size >= LEAF && place->host == NULL &&
           place->offset % 16 == 0 && r->device != NULL && wcodec_sync_functions(r) != NULL &&
           wcodec_sync_functions(r)->supports(r->device->device);
}

/* What pieces of [at, at + size) of a tensor add to its sum. */
static wcodec_status sum_part(struct wcodec_save_request *r, uint64_t tensor, uint64_t at,
                              uint64_t size, uint64_t *sum, wcodec_error *err)
{
    const struct wcodec_backend *b = r->device->backend;
    const struct wcodec_save_place *place = &r->places[tensor];
    const uint64_t pieces = wcodec_div_up_u64(size, LEAF);
    struct wcodec_save_lane *lane = NULL;
    wcodec_status status = wcodec_save_lane_take(r, &lane, err);
    if (status != WCODEC_OK)
        return status;
    status = wcodec_staging_reserve(&r->owner, &lane->work, WCODEC_MEMORY_DEVICE,
                                    pieces * sizeof *sum, err);
    const struct wcodec_tensor_linear linear = {.elements = place->memory,
                                                .elements_at = place->offset,
                                                .out = lane->work.memory,
                                                .before = at,
                                                .size = size};
    if (status == WCODEC_OK)
        status = wcodec_sync_functions(r)->linear(lane->queue, &linear, err);
    if (status == WCODEC_OK)
        status = b->copy_out(lane->queue, lane->staging.data, lane->work.memory, 0,
                             pieces * sizeof *sum, err);
    if (status == WCODEC_OK)
        status = b->queue_wait(lane->queue, err);
    for (uint64_t i = 0, own; i < pieces && status == WCODEC_OK; i++) { /* in the device's order */
        memcpy(&own, lane->staging.data + i * sizeof own, sizeof own);
        *sum += own;
    }
    return wcodec_save_lane_end(r, lane, status, err);
}

wcodec_status wcodec_sync_sum_on_device(struct wcodec_save_request *r, uint64_t tensor,
                                        uint64_t *sum, wcodec_error *err)
{
    const uint64_t size = r->declared.tensors[tensor].size, most = (uint64_t)PIECES * LEAF;
    wcodec_error reason = {0};
    wcodec_status status = WCODEC_OK;
    *sum = 0;
    for (uint64_t at = 0; at < size && status == WCODEC_OK; at += most)
        status = sum_part(r, tensor, at, size - at < most ? size - at : most, sum, &reason);
    return wcodec_sync_report(r, status, &reason, err);
}
