/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "registry/decode.h"
#include "core/assert.h"
#include "backends/cpu/cpu.h"
#include "core/log.h"
#include <inttypes.h>
#include <stdio.h>

enum { COPY_BYTES = 1 << 20, STAGING_MIN = 1 << 16 };

/* One job on its way. */
struct request {
    struct wcodec_job job;
    const struct wcodec_view *view;
    uint8_t *out;
    uint64_t out_size;
    uint64_t payload_size; /* of all areas, as they are laid out */
};

/* Payloads have their areas at multiples of 16 bytes; kernels read raw bits fastest from multiples
 * of 128. */
uint64_t wcodec_lay_out_areas(const struct wcodec_tiles *tiles, uint64_t first, uint64_t count,
                              uint64_t at, struct wcodec_area_place places[WCODEC_AREAS])
{
    WCODEC_ASSERT(count != 0 && first < tiles->tiling->tiles &&
                  count <= tiles->tiling->tiles - first);
    uint64_t begin[WCODEC_AREAS], stop[WCODEC_AREAS];
    wcodec_tiles_extent(tiles, first, first + count, begin, stop);
    for (unsigned a = 0; a < WCODEC_AREAS; a++) {
        places[a].begin = begin[a];
        places[a].size = stop[a] - begin[a];
    }
    return wcodec_lay_out_places(at, places);
}

uint64_t wcodec_lay_out_places(uint64_t at, struct wcodec_area_place places[WCODEC_AREAS])
{
    for (unsigned a = 0; a < WCODEC_AREAS; a++) {
        places[a].offset = wcodec_align_u64(at, 256) + places[a].begin % 16;
        at = places[a].offset + places[a].size;
    }
    return at;
}

static uint64_t tiles_of(const struct wcodec_job *job)
{
    return job->fixed != NULL ? job->fixed->tiles : job->tiles->tiling->tiles;
}

static wcodec_status tile_failed(const struct wcodec_job *job, uint64_t tile,
                                 enum wcodec_tile_fault fault, wcodec_error *err)
{
    return wcodec_fail(err, WCODEC_ERROR_CORRUPT, "tile %" PRIu64 " of %" PRIu64 ": %s", tile,
                       tiles_of(job), wcodec_tile_fault_string(fault));
}

void wcodec_fixed_place_records(struct wcodec_job *job)
{
    const struct wcodec_fixed *f = job->fixed;
    struct wcodec_area_place *p = &job->places[WCODEC_AREA_RAW];
    p->begin = f->tiles_begin + job->first * f->record_size;
    p->size = job->count * f->record_size;
}

wcodec_status wcodec_fixed_place_spilled(struct wcodec_job *job, const uint8_t *records,
                                         uint64_t *next, wcodec_error *err)
{
    const struct wcodec_fixed *f = job->fixed;
    struct wcodec_area_place *p = &job->places[WCODEC_AREA_VALUES];
    uint64_t first = *next, end = *next;
    if (f->spilled == 0) /* decoders refuse any list that names some */
        return WCODEC_OK;
    for (uint64_t i = 0; i < job->count; i++) {
        struct wcodec_fixed_list list;
        const enum wcodec_tile_fault fault =
            wcodec_fixed_list_find(f, records + i * f->record_size, &list);
        if (fault != WCODEC_TILE_OK)
            return tile_failed(job, job->first + i, fault, err);
        if (list.spilled_count == 0)
            continue;
        if (end == UINT64_MAX)
            first = end = list.spilled_first;
        if (list.spilled_first != end)
            return tile_failed(job, job->first + i, WCODEC_TILE_OUTLIER, err);
        end += list.spilled_count;
    }
    *next = end;
    if (job->first + job->count == f->tiles && end != UINT64_MAX && end != f->spilled)
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                           "tiles have %" PRIu64 " spilled elements, there are %" PRIu64, end,
                           f->spilled);
    p->size = 4 * (end - first);
    p->begin = p->size == 0 ? 0 : f->spilled_begin + 4 * first;
    return WCODEC_OK;
}

static void init_request(const struct wcodec_job *job, const struct wcodec_view *view, void *out,
                         struct request *r)
{
    WCODEC_ASSERT(out != NULL && (job->blocks == NULL || job->lossy == NULL));
    *r = (struct request){.job = *job, .view = view, .out = out};
    r->payload_size = job->fixed != NULL ? wcodec_lay_out_places(0, r->job.places)
                                         : wcodec_lay_out_areas(job->tiles, job->first, job->count,
                                                                0, r->job.places);
    r->out_size = wcodec_job_bytes(job);
}

static const uint8_t *host_bytes(const struct request *r, unsigned area)
{
    return wcodec_view_at(r->view, (enum wcodec_area)area, r->job.places[area].begin);
}

/* Decode and wait. */
static wcodec_status run_batch(const struct wcodec_backend *b, struct wcodec_queue *queue,
                               const struct wcodec_job *job, struct wcodec_job_result *result,
                               wcodec_error *err)
{
    struct wcodec_batch *batch;
    wcodec_status status = b->batch_create(queue, job, 1, &batch, err);
    if (status != WCODEC_OK)
        return status;
    status = b->batch_decode(queue, batch, err);
    if (status == WCODEC_OK)
        status = b->batch_results(queue, batch, result, err);
    /* Nothing may be let go while the queue works on it; if waiting fails the device has stopped.
     */
    const wcodec_status waited = b->queue_wait(queue, status == WCODEC_OK ? err : NULL);
    b->batch_destroy(batch);
    return status == WCODEC_OK ? waited : status;
}

static wcodec_status adopt(const struct wcodec_opened *cpu, const void *bytes, uint64_t size,
                           struct wcodec_memory **memory, wcodec_error *err)
{
    return cpu->backend->memory_adopt(cpu->device, (uint64_t)(uintptr_t)bytes, size, memory, err);
}

/* By handles over the caller's own memory. */
static wcodec_status decode_in_place(const struct wcodec_opened *cpu, struct request *r,
                                     struct wcodec_job_result *result, wcodec_error *err)
{
    const struct wcodec_backend *b = cpu->backend;
    struct wcodec_memory *handles[WCODEC_AREAS + 1] = {NULL};
    struct wcodec_queue *queue = NULL;
    wcodec_status status = WCODEC_OK;
    for (unsigned a = 0; a < WCODEC_AREAS && status == WCODEC_OK; a++) {
        struct wcodec_area_place *area = &r->job.places[a];
        if (area->size != 0)
            status = adopt(cpu, host_bytes(r, a), area->size, &handles[a], err);
        area->memory = handles[a];
        area->offset = 0;
    }
    if (status == WCODEC_OK)
        status = adopt(cpu, r->out, r->out_size, &handles[WCODEC_AREAS], err);
    r->job.memory = handles[WCODEC_AREAS];
    if (status == WCODEC_OK)
        status = b->queue_create(cpu->device, &queue, err);
    if (status == WCODEC_OK)
        status = run_batch(b, queue, &r->job, result, err);
    if (queue != NULL)
        b->queue_destroy(queue);
    for (unsigned a = 0; a <= WCODEC_AREAS; a++)
        if (handles[a] != NULL)
            b->memory_free(handles[a]);
    return status;
}

static wcodec_status decode_by_cpu(wcodec_context *context, const struct request *r,
                                   struct wcodec_job_result *result, wcodec_error *err)
{
    struct wcodec_opened *cpu;
    struct request here = *r;
    wcodec_status status = wcodec_backends_cpu(context, &cpu, err);
    if (status == WCODEC_OK)
        status = decode_in_place(cpu, &here, result, err);
    if (status != WCODEC_OK || result->fault != WCODEC_TILE_OK)
        memset(r->out, 0, (size_t)r->out_size);
    return status;
}

static wcodec_status report_fault(const struct wcodec_job *job,
                                  const struct wcodec_job_result *result, wcodec_error *err)
{
    if (result->fault == WCODEC_TILE_OK)
        return WCODEC_OK;
    return tile_failed(job, result->tile, result->fault, err);
}

wcodec_status wcodec_decode_on_cpu(wcodec_context *context, const struct wcodec_job *job,
                                   const struct wcodec_view *view, void *out, wcodec_error *err)
{
    struct request r;
    struct wcodec_job_result result = {0};
    init_request(job, view, out, &r);
    wcodec_status status = decode_by_cpu(context, &r, &result, err);
    return status == WCODEC_OK ? report_fault(job, &result, err) : status;
}

void wcodec_session_init(wcodec_context *context, struct wcodec_session *s)
{
    *s = (struct wcodec_session){.owner = {.context = context, .purpose = "decoding"}};
}

void wcodec_session_end(struct wcodec_session *s)
{
    struct wcodec_opened *o = s->owner.device;
    if (o == NULL)
        return;
    if (s->queue != NULL)
        o->backend->queue_destroy(s->queue);
    wcodec_staging_release(&s->owner, &s->stage);
    wcodec_staging_release(&s->owner, &s->coded);
    wcodec_staging_release(&s->owner, &s->decoded);
    wcodec_staging_release(&s->owner, &s->out);
    if (s->device.jobs != 0)
        wcodec_log(s->owner.context, WCODEC_LOG_DEBUG,
                   "%s decoded %" PRIu64 " tiles in %" PRIu64 " jobs, %" PRIu64
                   " bytes were copied to it and %" PRIu64 " back",
                   o->name, s->device.tiles, s->device.jobs, s->bytes_in, s->bytes_out);
    if (s->cpu.jobs != 0)
        wcodec_log(s->owner.context, WCODEC_LOG_DEBUG,
                   "cpu:0 decoded %" PRIu64 " tiles in %" PRIu64 " jobs", s->cpu.tiles,
                   s->cpu.jobs);
    s->owner.device = NULL;
}

wcodec_status wcodec_session_choose(struct wcodec_session *s, const struct wcodec_tiling *tiling,
                                    uint32_t needed, wcodec_error *err)
{
    if (s->owner.device != NULL)
        return WCODEC_OK;
    wcodec_status status = wcodec_backends_device(s->owner.context, &s->owner.device, err);
    if (status != WCODEC_OK)
        return status;
    const struct wcodec_opened *o = s->owner.device;
    s->on_cpu = o->backend == &wcodec_backend_cpu;
    if (s->on_cpu)
        return WCODEC_OK;
    s->on_cpu = (o->listing.capabilities & needed) != needed ||
                (tiling != NULL && !o->backend->device_supports(o->device, tiling));
    if (s->on_cpu)
        wcodec_log(s->owner.context, WCODEC_LOG_INFO,
                   "%s has no code for a tensor; the CPU decodes it instead", o->name);
    return WCODEC_OK;
}

/* Powers of two, so that what is kept fits again, where the limit of memory leaves that. */
static wcodec_status reserve(struct wcodec_session *s, struct wcodec_staging *staging,
                             enum wcodec_memory_kind kind, uint64_t size, wcodec_error *err)
{
    uint64_t more = STAGING_MIN;
    while (more < size)
        more *= 2;
    const uint64_t held = atomic_load(&s->owner.held),
                   left = s->owner.limit > held ? s->owner.limit - held : 0;
    if (kind == WCODEC_MEMORY_PINNED && more > left)
        more = size;
    return wcodec_staging_reserve(&s->owner, staging, kind, more, err);
}

wcodec_status wcodec_session_stage(struct wcodec_session *s, uint64_t limit, uint64_t size,
                                   uint8_t **data, wcodec_error *err)
{
    s->owner.limit = limit;
    wcodec_status status = reserve(s, &s->stage, WCODEC_MEMORY_PINNED, size, err);
    if (status == WCODEC_OK)
        *data = s->stage.data;
    return status;
}

static wcodec_status copy_in(struct wcodec_session *s, struct request *r, wcodec_error *err)
{
    wcodec_status status = WCODEC_OK;
    for (unsigned a = 0; a < WCODEC_AREAS && status == WCODEC_OK; a++) {
        struct wcodec_area_place *area = &r->job.places[a];
        area->memory = s->coded.memory;
        if (area->size == 0)
            continue;
        status = s->owner.device->backend->copy_in(s->queue, area->memory, area->offset,
                                                   host_bytes(r, a), area->size, err);
        s->bytes_in += area->size;
    }
    return status;
}

struct copying {
    uint8_t *to;
    const uint8_t *from;
    uint64_t size;
};

static void copy_task(void *argument, size_t i)
{
    const struct copying *c = argument;
    const uint64_t at = (uint64_t)i * COPY_BYTES, left = c->size - at;
    memcpy(c->to + at, c->from + at, (size_t)(left < COPY_BYTES ? left : COPY_BYTES));
}

/* By pinned memory, from which threads copy on. */
static wcodec_status copy_out(struct wcodec_session *s, const struct request *r, wcodec_error *err)
{
    const struct wcodec_backend *b = s->owner.device->backend;
    struct copying c = {r->out, s->out.data, r->out_size};
    wcodec_status status =
        b->copy_out(s->queue, s->out.data, s->decoded.memory, 0, r->out_size, err);
    const wcodec_status waited = b->queue_wait(s->queue, status == WCODEC_OK ? err : NULL);
    status = status == WCODEC_OK ? waited : status;
    if (status == WCODEC_OK)
        wcodec_run(s->owner.context, copy_task, &c, (size_t)wcodec_div_up_u64(c.size, COPY_BYTES));
    s->bytes_out += r->out_size;
    return status;
}

static wcodec_status decode_by_device(struct wcodec_session *s, struct request r,
                                      struct wcodec_job_result *result, wcodec_error *err)
{
    const struct wcodec_opened *o = s->owner.device;
    wcodec_status status = WCODEC_OK;
    if (atomic_load(&o->lost))
        return wcodec_fail(err, WCODEC_ERROR_DEVICE, "%s", o->loss);
    if (s->queue == NULL)
        status = o->backend->queue_create(o->device, &s->queue, err);
    if (status == WCODEC_OK)
        status = reserve(s, &s->coded, WCODEC_MEMORY_DEVICE, r.payload_size + 1, err);
    if (status == WCODEC_OK)
        status = reserve(s, &s->decoded, WCODEC_MEMORY_DEVICE, r.out_size, err);
    if (status == WCODEC_OK)
        status = reserve(s, &s->out, WCODEC_MEMORY_PINNED, r.out_size, err);
    if (status != WCODEC_OK)
        return status;
    r.job.memory = s->decoded.memory;
    status = copy_in(s, &r, err);
    if (status == WCODEC_OK)
        status = run_batch(o->backend, s->queue, &r.job, result, err);
    if (status != WCODEC_OK) {
        o->backend->queue_wait(s->queue, NULL);
        return status;
    }
    return result->fault == WCODEC_TILE_OK ? copy_out(s, &r, err) : status;
}

/* A fault is the data's or the device's: the CPU knows. */
static wcodec_status judge_fault(struct wcodec_session *s, const struct request *r,
                                 struct wcodec_job_result *result, wcodec_error *err)
{
    struct wcodec_opened *o = s->owner.device;
    const struct wcodec_job_result seen = *result;
    char reason[160];
    wcodec_status status = decode_by_cpu(s->owner.context, r, result, err);
    if (status != WCODEC_OK || result->fault != WCODEC_TILE_OK)
        return status;
    snprintf(reason, sizeof reason, "it found a fault in tile %" PRIu64 " that is none (%s)",
             seen.tile, wcodec_tile_fault_string(seen.fault));
    wcodec_backends_lose(s->owner.context, o, reason);
    if (o->cpu_allowed)
        return WCODEC_OK;
    memset(r->out, 0, (size_t)r->out_size);
    return wcodec_fail(err, WCODEC_ERROR_DEVICE, "%s decodes wrongly: %s", o->name, reason);
}

static wcodec_status decode(struct wcodec_session *s, const struct request *r,
                            struct wcodec_job_result *result, wcodec_error *err)
{
    struct wcodec_opened *o = s->owner.device;
    wcodec_context *context = s->owner.context;
    wcodec_error e = {0};
    wcodec_status status = decode_by_device(s, *r, result, &e);
    if (status == WCODEC_OK) {
        s->device.jobs++;
        s->device.tiles += r->job.count;
        return result->fault == WCODEC_TILE_OK ? status : judge_fault(s, r, result, err);
    }
    s->cpu.jobs++;
    s->cpu.tiles += r->job.count;
    if (status == WCODEC_ERROR_MEMORY || status == WCODEC_ERROR_UNSUPPORTED ||
        status == WCODEC_ERROR_LIMIT) {
        wcodec_log(context, WCODEC_LOG_INFO, "%s: %s; the CPU decodes %" PRIu64 " bytes instead",
                   o->name, e.text, r->out_size);
        return decode_by_cpu(context, r, result, err);
    }
    wcodec_backends_lose(context, o, e.text);
    if (o->cpu_allowed)
        return decode_by_cpu(context, r, result, err);
    memset(r->out, 0, (size_t)r->out_size);
    return wcodec_fail(err, WCODEC_ERROR_DEVICE, "%s failed: %s", o->name, e.text);
}

wcodec_status wcodec_session_decode(struct wcodec_session *s, const struct wcodec_job *job,
                                    const struct wcodec_view *view, uint64_t limit, void *out,
                                    wcodec_error *err)
{
    struct request r;
    struct wcodec_job_result result = {0};
    wcodec_status status;
    WCODEC_ASSERT(s->owner.device != NULL);
    init_request(job, view, out, &r);
    s->owner.limit = limit;
    if (s->on_cpu) {
        s->cpu.jobs++;
        s->cpu.tiles += job->count;
        status = decode_by_cpu(s->owner.context, &r, &result, err);
    } else {
        status = decode(s, &r, &result, err);
    }
    return status == WCODEC_OK ? report_fault(job, &result, err) : status;
}
