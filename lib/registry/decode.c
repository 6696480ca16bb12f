/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "registry/decode.h"
#include "registry/registry.h"
#include "backends/cpu/cpu.h"
#include "core/log.h"
#include <stdio.h>

/* One request, and what it needs on a device. */
struct request {
    struct wcodec_job job;
    const struct wcodec_view *view;
    void *out;
    uint64_t out_size;
    uint64_t payload_size; /* of all areas, as they are laid out */
    struct wcodec_memory *payload[WCODEC_AREAS];
    struct wcodec_memory *output;
    struct wcodec_queue *queue;
    struct wcodec_batch *batch;
};

/* Payloads have their areas at multiples of 16 bytes; kernels read raw bits fastest from multiples
 * of 128. */
uint64_t wcodec_lay_out_areas(const struct wcodec_tiles *tiles, uint64_t first, uint64_t count,
                              uint64_t at, struct wcodec_area_place places[WCODEC_AREAS])
{
    uint64_t begin[WCODEC_AREAS], stop[WCODEC_AREAS];
    wcodec_tiles_extent(tiles, first, first + count, begin, stop);
    for (unsigned a = 0; a < WCODEC_AREAS; a++) {
        places[a].begin = begin[a];
        places[a].size = stop[a] - begin[a];
        places[a].offset = wcodec_align_u64(at, 256) + begin[a] % 16;
        at = places[a].offset + places[a].size;
    }
    return at;
}

static void init_request(const struct wcodec_tiles *tiles, const struct wcodec_view *view,
                         uint64_t first, uint64_t count, void *out, bool verify, struct request *r)
{
    const struct wcodec_tiling *t = tiles->tiling;
    *r = (struct request){.job = {.tiles = tiles, .first = first, .count = count, .verify = verify},
                          .view = view,
                          .out = out};
    r->payload_size = wcodec_lay_out_areas(tiles, first, count, 0, r->job.places);
    uint64_t last = first + count == t->tiles ? t->elements : (first + count) << t->tile_log2;
    r->out_size = (last - (first << t->tile_log2)) << t->element_log2;
}

static const uint8_t *host_bytes(const struct request *r, unsigned area)
{
    return wcodec_view_at(r->view, (enum wcodec_area)area, r->job.places[area].begin);
}

/* Where the device sees host memory: handles over the caller's own. */
static wcodec_status adopt_memory(const struct wcodec_opened *o, struct request *r,
                                  wcodec_error *err)
{
    wcodec_status status = WCODEC_OK;
    for (unsigned a = 0; a < WCODEC_AREAS && status == WCODEC_OK; a++) {
        struct wcodec_area_place *place = &r->job.places[a];
        if (place->size == 0)
            continue;
        status = o->backend->memory_adopt(o->device, (uint64_t)(uintptr_t)host_bytes(r, a),
                                          place->size, &r->payload[a], err);
        place->memory = r->payload[a];
        place->offset = 0;
    }
    if (status == WCODEC_OK)
        status = o->backend->memory_adopt(o->device, (uint64_t)(uintptr_t)r->out, r->out_size,
                                          &r->output, err);
    r->job.memory = r->output;
    return status;
}

/* Elsewhere: one block of device memory for all areas, and one for the output. */
static wcodec_status copy_memory(const struct wcodec_opened *o, struct request *r,
                                 wcodec_error *err)
{
    wcodec_status status = o->backend->memory_allocate(o->device, WCODEC_MEMORY_DEVICE,
                                                       wcodec_align_u64(r->payload_size + 1, 256),
                                                       &r->payload[0], err);
    if (status == WCODEC_OK)
        status = o->backend->memory_allocate(o->device, WCODEC_MEMORY_DEVICE, r->out_size,
                                             &r->output, err);
    for (unsigned a = 0; a < WCODEC_AREAS && status == WCODEC_OK; a++) {
        struct wcodec_area_place *place = &r->job.places[a];
        place->memory = r->payload[0];
        if (place->size != 0)
            status = o->backend->copy_in(r->queue, place->memory, place->offset, host_bytes(r, a),
                                         place->size, err);
    }
    r->job.memory = r->output;
    return status;
}

static void release_request(const struct wcodec_opened *o, struct request *r)
{
    if (r->batch != NULL)
        o->backend->batch_destroy(r->batch);
    if (r->queue != NULL)
        o->backend->queue_destroy(r->queue);
    if (r->output != NULL)
        o->backend->memory_free(r->output);
    for (unsigned a = 0; a < WCODEC_AREAS; a++)
        if (r->payload[a] != NULL)
            o->backend->memory_free(r->payload[a]);
}

static wcodec_status decode_request(const struct wcodec_opened *o, struct request *r,
                                    struct wcodec_job_result *result, wcodec_error *err)
{
    const struct wcodec_backend *backend = o->backend;
    const uint32_t direct = WCODEC_DEVICE_HOST_MEMORY | WCODEC_DEVICE_ADOPT_MEMORY;
    bool adopt = (o->listing.capabilities & direct) == direct;
    wcodec_status status = backend->queue_create(o->device, &r->queue, err);
    if (status == WCODEC_OK)
        status = adopt ? adopt_memory(o, r, err) : copy_memory(o, r, err);
    if (status == WCODEC_OK)
        status = backend->batch_create(r->queue, &r->job, 1, &r->batch, err);
    if (status == WCODEC_OK)
        status = backend->batch_decode(r->queue, r->batch, err);
    if (status == WCODEC_OK)
        status = backend->batch_results(r->queue, r->batch, result, err);
    if (status == WCODEC_OK && !adopt && result->fault == WCODEC_TILE_OK)
        status = backend->copy_out(r->queue, r->out, r->output, 0, r->out_size, err);
    /* Nothing may be let go while the queue works on it; if waiting fails the device has stopped.
     */
    if (r->queue != NULL) {
        wcodec_status waited = backend->queue_wait(r->queue, status == WCODEC_OK ? err : NULL);
        status = status == WCODEC_OK ? waited : status;
    }
    return status;
}

/* Decode on one device; on any failure out is zeros. */
static wcodec_status decode_on(const struct wcodec_opened *o, struct request r,
                               struct wcodec_job_result *result, wcodec_error *err)
{
    wcodec_status status = decode_request(o, &r, result, err);
    release_request(o, &r);
    if (status != WCODEC_OK || result->fault != WCODEC_TILE_OK)
        memset(r.out, 0, (size_t)r.out_size);
    return status;
}

/* The CPU in place of a device that has no code for this, too little memory, or found something
 * wrong. */
static wcodec_status decode_on_cpu(wcodec_context *context, const struct request *r,
                                   struct wcodec_job_result *result, wcodec_error *err)
{
    struct wcodec_opened *cpu;
    wcodec_status status = wcodec_backends_cpu(context, &cpu, err);
    return status == WCODEC_OK ? decode_on(cpu, *r, result, err) : status;
}

static wcodec_status decode_on_device(wcodec_context *context, struct wcodec_opened *o,
                                      const struct request *r, struct wcodec_job_result *result,
                                      wcodec_error *err)
{
    wcodec_error e = {0};
    if (!o->backend->device_supports(o->device, r->job.tiles->tiling))
        return decode_on_cpu(context, r, result, err);
    wcodec_status status = decode_on(o, *r, result, &e);
    if (status == WCODEC_OK && result->fault == WCODEC_TILE_OK)
        return status;
    if (status == WCODEC_ERROR_MEMORY || status == WCODEC_ERROR_UNSUPPORTED) {
        wcodec_log(context, WCODEC_LOG_INFO, "%s: %s; the CPU decodes %llu bytes instead", o->name,
                   e.text, (unsigned long long)r->out_size);
        return decode_on_cpu(context, r, result, err);
    }
    if (status != WCODEC_OK) {
        wcodec_backends_lose(context, o, e.text);
        if (o->cpu_allowed)
            return decode_on_cpu(context, r, result, err);
        return wcodec_fail(err, WCODEC_ERROR_DEVICE, "%s failed: %s", o->name, e.text);
    }
    /* A fault is the data's or the device's: the CPU knows. */
    struct wcodec_job_result seen = *result;
    status = decode_on_cpu(context, r, result, err);
    if (status == WCODEC_OK && result->fault == WCODEC_TILE_OK) {
        char reason[160];
        snprintf(reason, sizeof reason, "it found a fault in tile %llu that is none (%s)",
                 (unsigned long long)seen.tile, wcodec_tile_fault_string(seen.fault));
        wcodec_backends_lose(context, o, reason);
        if (!o->cpu_allowed) {
            memset(r->out, 0, (size_t)r->out_size);
            return wcodec_fail(err, WCODEC_ERROR_DEVICE, "%s decodes wrongly: %s", o->name, reason);
        }
    }
    return status;
}

wcodec_status wcodec_tile_fail(const struct wcodec_tiles *tiles, uint64_t tile,
                               enum wcodec_tile_fault fault, wcodec_error *err)
{
    return wcodec_fail(err, WCODEC_ERROR_CORRUPT, "tile %llu of %llu: %s", (unsigned long long)tile,
                       (unsigned long long)tiles->tiling->tiles, wcodec_tile_fault_string(fault));
}

static wcodec_status report_fault(const struct wcodec_tiles *tiles,
                                  const struct wcodec_job_result *result, wcodec_error *err)
{
    if (result->fault == WCODEC_TILE_OK)
        return WCODEC_OK;
    return wcodec_tile_fail(tiles, result->tile, result->fault, err);
}

wcodec_status wcodec_decode_tiles_on_cpu(wcodec_context *context, const struct wcodec_tiles *tiles,
                                         const struct wcodec_view *view, uint64_t first,
                                         uint64_t count, void *out, bool verify, wcodec_error *err)
{
    struct request r;
    struct wcodec_job_result result = {0};
    init_request(tiles, view, first, count, out, verify, &r);
    wcodec_status status = decode_on_cpu(context, &r, &result, err);
    return status == WCODEC_OK ? report_fault(tiles, &result, err) : status;
}

wcodec_status wcodec_decode_tiles(wcodec_context *context, const struct wcodec_tiles *tiles,
                                  const struct wcodec_view *view, uint64_t first, uint64_t count,
                                  void *out, bool verify, wcodec_error *err)
{
    struct request r;
    init_request(tiles, view, first, count, out, verify, &r);
    struct wcodec_opened *o;
    struct wcodec_job_result result = {0};
    wcodec_status status = wcodec_backends_device(context, &o, err);
    if (status == WCODEC_OK)
        status = o->backend == &wcodec_backend_cpu ? decode_on(o, r, &result, err)
                                                   : decode_on_device(context, o, &r, &result, err);
    return status == WCODEC_OK ? report_fault(tiles, &result, err) : status;
}
