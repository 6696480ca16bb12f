/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "backends/cpu/decode.h"
#include "core/error.h"
#include "encode/payload.h"
#include <inttypes.h>
#include <stdatomic.h>

/* Tiles that a worker decodes at once. */
enum { BATCH = 4 };

struct verifier {
    const struct wcodec_tiles *tiles;
    const struct wcodec_cpu_decoder *decoder;
    struct wcodec_view view;
    const uint8_t *data;
    uint8_t *buffers; /* a batch of tiles for each worker */
    size_t buffer_size;
    struct wcodec_cancel *cancel;
    _Atomic uint64_t next;
    _Atomic uint64_t bad; /* the first tile that differs */
};

static void note_bad(struct verifier *v, uint64_t tile)
{
    uint64_t bad = atomic_load(&v->bad);
    while (tile < bad && !atomic_compare_exchange_weak(&v->bad, &bad, tile))
        ;
}

static void verify_task(void *argument, size_t worker)
{
    struct verifier *v = argument;
    const struct wcodec_tiling *t = v->tiles->tiling;
    uint8_t *out = v->buffers + worker * v->buffer_size;
    for (uint64_t first; (first = atomic_fetch_add(&v->next, BATCH)) < t->tiles;) {
        enum wcodec_tile_fault faults[BATCH];
        if (wcodec_cancel_poll(v->cancel))
            return;
        unsigned count = t->tiles - first < BATCH ? (unsigned)(t->tiles - first) : BATCH;
        wcodec_cpu_decode_tiles(v->decoder, &v->view, first, count, out, true, false, faults);
        for (unsigned i = 0; i < count; i++) {
            uint64_t offset = (uint64_t)i << (t->tile_log2 + t->element_log2), size = (uint64_t)wcodec_tile_elements(t, first + i) << t->element_log2;
            if (faults[i] != WCODEC_TILE_OK || memcmp(out + offset, v->data + (first << (t->tile_log2 + t->element_log2)) + offset, (size_t)size) != 0)
                note_bad(v, first + i);
        }
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

wcodec_status wcodec_payload_verify(wcodec_context *context, const struct wcodec_plan *plan, const uint8_t *data, const struct wcodec_payload *payload, struct wcodec_cancel *cancel,
                                    wcodec_error *err)
{
    struct wcodec_tiles *tiles;
    wcodec_status status = wcodec_tiles_read(plan->tiling, payload->parts[WCODEC_PART_PREFIX].data, payload->size, &context->allocator, &tiles, err);
    if (status == WCODEC_ERROR_CORRUPT)
        status = WCODEC_ERROR_DEVICE;
    if (status)
        return status;
    struct wcodec_cpu_dsp dsp = {0};
    struct wcodec_cpu_decoder *decoder = NULL;
    struct verifier v = {.tiles = tiles, .data = data, .cancel = cancel, .bad = UINT64_MAX};
    uint64_t batches = wcodec_div_up_u64(plan->tiling->tiles, BATCH);
    size_t threads = wcodec_context_threads(context), workers = threads < batches ? threads : (size_t)batches;
    view_parts(payload, &v.view);
    v.buffer_size = BATCH * (size_t)wcodec_tile_elements(plan->tiling, 0) << plan->tiling->element_log2;
    /* The plain C decoder: what it gives does not depend on what this machine can do. */
    wcodec_cpu_dsp_init_scalar(&dsp);
    status = wcodec_cpu_decoder_create(&dsp, tiles, &context->allocator, &decoder, err);
    if (status)
        goto free_tiles;
    v.decoder = decoder;
    v.buffers = wcodec_alloc_array(&context->allocator, workers, v.buffer_size);
    if (!v.buffers) {
        status = wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for %zu batches of tiles to verify", workers);
        goto free_decoder;
    }
    wcodec_run(context, verify_task, &v, workers);
    if (wcodec_cancel_poll(cancel))
        status = wcodec_fail(err, WCODEC_ERROR_CANCELLED, "cancelled by the caller");
    else if (v.bad != UINT64_MAX)
        status = wcodec_fail(err, WCODEC_ERROR_DEVICE, "tile %" PRIu64 " does not decode to what was coded: this machine computes wrongly", (uint64_t)v.bad);
    wcodec_free(&context->allocator, v.buffers);
free_decoder:
    wcodec_cpu_decoder_free(decoder);
free_tiles:
    wcodec_tiles_free(tiles);
    return status;
}
