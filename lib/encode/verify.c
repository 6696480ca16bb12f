/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "core/error.h"
#include "encode/payload.h"
#include <inttypes.h>
#include <stdatomic.h>

struct verifier {
    const struct wcodec_tiles *tiles;
    struct wcodec_view view;
    const uint8_t *data;
    uint8_t *buffers; /* a tile for each worker */
    size_t buffer_size;
    _Atomic uint64_t next;
    _Atomic uint64_t bad; /* the first tile that differs */
};

static void verify_task(void *argument, size_t worker)
{
    struct verifier *v = argument;
    const struct wcodec_tiling *t = v->tiles->tiling;
    uint8_t *out = v->buffers + worker * v->buffer_size;
    for (uint64_t tile; (tile = atomic_fetch_add(&v->next, 1)) < t->tiles;) {
        size_t size = (size_t)wcodec_tile_elements(t, tile) << t->element_log2;
        enum wcodec_tile_fault fault = wcodec_tile_decode(v->tiles, &v->view, tile, out, true);
        if (fault == WCODEC_TILE_OK && memcmp(out, v->data + (tile << (t->tile_log2 + t->element_log2)), size) == 0)
            continue;
        uint64_t bad = atomic_load(&v->bad);
        while (tile < bad && !atomic_compare_exchange_weak(&v->bad, &bad, tile))
            ;
    }
}

/* The areas of the format are the parts behind the prefix. */
static void view_parts(const struct wcodec_payload *payload, struct wcodec_view *view)
{
    uint64_t at = payload->parts[WCODEC_PART_PREFIX].size;
    for (unsigned a = 0; a < WCODEC_AREAS; a++) {
        view->data[a] = payload->parts[WCODEC_PART_STATES + a].data;
        view->begin[a] = at;
        at += payload->parts[WCODEC_PART_STATES + a].size;
    }
}

wcodec_status wcodec_payload_verify(wcodec_context *context, const struct wcodec_plan *plan, const uint8_t *data, const struct wcodec_payload *payload, wcodec_error *err)
{
    struct wcodec_tiles *tiles;
    wcodec_status status = wcodec_tiles_read(plan->tiling, payload->parts[WCODEC_PART_PREFIX].data, payload->size, &context->allocator, &tiles, err);
    if (status == WCODEC_ERROR_CORRUPT)
        status = WCODEC_ERROR_DEVICE;
    if (status)
        return status;
    struct verifier v = {.tiles = tiles, .data = data, .bad = UINT64_MAX};
    size_t threads = wcodec_context_threads(context), workers = threads < plan->tiling->tiles ? threads : (size_t)plan->tiling->tiles;
    view_parts(payload, &v.view);
    v.buffer_size = (size_t)wcodec_tile_elements(plan->tiling, 0) << plan->tiling->element_log2;
    v.buffers = wcodec_alloc_array(&context->allocator, workers, v.buffer_size);
    if (!v.buffers) {
        status = wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for %zu tiles to verify", workers);
        goto free_tiles;
    }
    wcodec_run(context, verify_task, &v, workers);
    if (v.bad != UINT64_MAX)
        status = wcodec_fail(err, WCODEC_ERROR_DEVICE, "tile %" PRIu64 " does not decode to what was coded: this machine computes wrongly", (uint64_t)v.bad);
    wcodec_free(&context->allocator, v.buffers);
free_tiles:
    wcodec_tiles_free(tiles);
    return status;
}
