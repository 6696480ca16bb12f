/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* How fast a device decodes what is in its memory, and copies, by its own clock and in one run. */
#include "core/error.h"
#include "core/memory.h"
#include "load/load.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define COPY_BYTES ((uint64_t)256 << 20)

enum { REPETITIONS = 9, REPETITIONS_MIN = 3, REPETITIONS_MAX = 1000 };

struct tensor {
    const struct wcodec_shard *shard;
    const struct wcodec_entry *entry;
    struct wcodec_layout layout;
    uint8_t *side; /* modes and scales, or shifts and checks, where there are any */
    struct wcodec_tiles *tiles;
};

struct measure {
    wcodec_context *context;
    struct wcodec_opened *device;
    const struct wcodec_backend *b;
    struct wcodec_queue *queue;
    unsigned repetitions;
    uint64_t *times;
    size_t count;
    struct tensor *tensors;
    struct wcodec_job *jobs;
    struct wcodec_job_result *results;
    struct wcodec_memory *coded, *decoded, *pinned;
    uint64_t coded_size, decoded_size;
    struct wcodec_batch *batch;
};

static int compare_times(const void *x, const void *y)
{
    uint64_t a = *(const uint64_t *)x, b = *(const uint64_t *)y;
    return (a > b) - (a < b);
}

enum action { DECODE, COPY, UPLOAD };

static wcodec_status act(struct measure *m, enum action action, uint64_t size, wcodec_error *err)
{
    if (action == DECODE)
        return m->b->batch_decode(m->queue, m->batch, err);
    if (action == COPY)
        return m->b->copy(m->queue, m->decoded, size, m->decoded, 0, size, err);
    return m->b->copy_in(m->queue, m->decoded, 0, m->b->memory_pointer(m->pinned), size, err);
}

static wcodec_status check_results(struct measure *m, wcodec_error *err)
{
    wcodec_status status = m->b->batch_results(m->queue, m->batch, m->results, err);
    for (size_t i = 0; i < m->count && status == WCODEC_OK; i++) {
        if (m->results[i].fault == WCODEC_TILE_OK)
            continue;
        status = wcodec_fail(err, WCODEC_ERROR_CORRUPT, "tile %" PRIu64 ": %s", m->results[i].tile,
                             wcodec_tile_fault_string(m->results[i].fault));
        wcodec_shard_prefix(m->tensors[i].shard, m->tensors[i].entry, err);
    }
    return status;
}

static wcodec_status time_once(struct measure *m, enum action action, uint64_t size,
                               uint64_t *nanoseconds, wcodec_error *err)
{
    struct wcodec_event *before = NULL, *after = NULL;
    wcodec_status status = m->b->event_record(m->queue, &before, err);
    if (status == WCODEC_OK)
        status = act(m, action, size, err);
    if (status == WCODEC_OK)
        status = m->b->event_record(m->queue, &after, err);
    wcodec_status waited = m->b->queue_wait(m->queue, status == WCODEC_OK ? err : NULL);
    if (status == WCODEC_OK)
        status = waited;
    if (status == WCODEC_OK)
        status = m->b->event_elapsed(before, after, nanoseconds, err);
    if (before != NULL)
        m->b->event_destroy(before);
    if (after != NULL)
        m->b->event_destroy(after);
    return status == WCODEC_OK && action == DECODE ? check_results(m, err) : status;
}

/* The median; the first run, which warms up, is not among them. */
static wcodec_status time_action(struct measure *m, enum action action, uint64_t size,
                                 uint64_t *nanoseconds, wcodec_error *err)
{
    wcodec_status status = WCODEC_OK;
    for (unsigned i = 0; i <= m->repetitions && status == WCODEC_OK; i++)
        status = time_once(m, action, size, &m->times[i == 0 ? 0 : i - 1], err);
    if (status != WCODEC_OK)
        return status;
    qsort(m->times, m->repetitions, sizeof *m->times, compare_times);
    *nanoseconds = m->times[m->repetitions / 2] != 0 ? m->times[m->repetitions / 2] : 1;
    return WCODEC_OK;
}

/* What the payload says of the tiles, the first time that it is read. */
static wcodec_status parse_tensor(struct measure *m, struct tensor *t, const uint8_t *payload,
                                  wcodec_error *err)
{
    const struct wcodec_layout *l = &t->layout;
    const uint64_t size = l->is_fixed ? l->tiling.prefix_size : l->tiles_begin;
    if (wcodec_layout_in_units(l) && size != 0) {
        t->side = wcodec_alloc_array(&m->context->allocator, size, 1);
        if (t->side == NULL)
            return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for a tensor's modes");
        memcpy(t->side, payload, (size_t)size);
    }
    return wcodec_layout_parse(l, payload, wcodec_entry_unpacked_size(t->entry),
                               &m->context->allocator, &t->tiles, err);
}

/* The payload as it is decoded from; the caller frees it. */
static wcodec_status read_payload(struct measure *m, const struct wcodec_entry *e,
                                  const struct wcodec_source *source, uint8_t **payload,
                                  wcodec_error *err)
{
    const wcodec_allocator *allocator = &m->context->allocator;
    const uint64_t size = wcodec_entry_unpacked_size(e);
    uint8_t *memory = wcodec_alloc_array(allocator, size, 1);
    *payload = NULL;
    if (memory == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory: %" PRIu64 " bytes", size);
    const wcodec_status status =
        wcodec_entry_is_packed(e)
            ? wcodec_entry_read_packed(e, source, allocator, memory, err)
            : wcodec_source_read(source, e->payload_offset, memory, (size_t)size, err);
    if (status == WCODEC_OK)
        *payload = memory;
    else
        wcodec_free(allocator, memory);
    return status;
}

static wcodec_status read_tensor(struct measure *m, struct tensor *t,
                                 const struct wcodec_source *source, uint64_t at, uint64_t *staged,
                                 wcodec_error *err)
{
    uint8_t *payload;
    wcodec_status status = read_payload(m, t->entry, source, &payload, err);
    if (status != WCODEC_OK)
        return status;
    if (t->tiles == NULL && t->side == NULL)
        status = parse_tensor(m, t, payload, err);
    if (status == WCODEC_OK) {
        const uint64_t tiles = t->layout.tiling.tiles;
        struct wcodec_job *job = &m->jobs[t - m->tensors];
        *job = wcodec_layout_job(&t->layout, t->tiles, t->side, 0, tiles, 0, t->entry->size);
        *staged = wcodec_layout_place(&t->layout, t->tiles, 0, tiles, at, job->places);
        for (unsigned a = 0; a < WCODEC_AREAS && status == WCODEC_OK && m->coded != NULL; a++) {
            job->places[a].memory = m->coded;
            status = m->b->copy_in(m->queue, m->coded, job->places[a].offset,
                                   payload + t->layout.tiles_begin + job->places[a].begin,
                                   job->places[a].size, err);
        }
        wcodec_status waited = m->b->queue_wait(m->queue, status == WCODEC_OK ? err : NULL);
        status = status == WCODEC_OK ? waited : status;
    }
    wcodec_free(&m->context->allocator, payload);
    return status;
}

/* Once to see how much there is, without memory of the device; then to bring it there. */
static wcodec_status read_tensors(struct measure *m, wcodec_error *err)
{
    m->coded_size = m->decoded_size = 0;
    for (size_t i = 0; i < m->count; i++) {
        struct tensor *t = &m->tensors[i];
        struct wcodec_source source;
        wcodec_status status = wcodec_shard_acquire(t->shard, &source, err);
        if (status == WCODEC_OK) {
            status = read_tensor(m, t, &source, m->coded_size, &m->coded_size, err);
            wcodec_shard_release(t->shard, &source);
        }
        if (status != WCODEC_OK) {
            wcodec_shard_prefix(t->shard, t->entry, err);
            return status;
        }
        m->jobs[i].memory = m->decoded;
        m->jobs[i].destination = m->decoded_size;
        m->jobs[i].verify = true;
        m->decoded_size = wcodec_align_u64(m->decoded_size + t->entry->size, 256);
    }
    return WCODEC_OK;
}

static wcodec_status allocate(struct measure *m, wcodec_error *err)
{
    uint64_t decoded = m->decoded_size > 2 * COPY_BYTES ? m->decoded_size : 2 * COPY_BYTES;
    if (m->device->listing.capabilities &
        WCODEC_DEVICE_HOST_MEMORY) /* of which there may not be so much, and nothing to copy from */
        decoded = m->decoded_size > 4096 ? m->decoded_size : 4096;
    m->decoded_size = decoded;
    wcodec_status status =
        m->b->memory_allocate(m->device->device, WCODEC_MEMORY_DEVICE, decoded, &m->decoded, err);
    if (status == WCODEC_OK)
        status = m->b->memory_allocate(m->device->device, WCODEC_MEMORY_DEVICE,
                                       wcodec_align_u64(m->coded_size + 1, 256), &m->coded, err);
    if (status == WCODEC_OK)
        status = m->b->memory_allocate(m->device->device, WCODEC_MEMORY_PINNED,
                                       COPY_BYTES / 4 < decoded / 2 ? COPY_BYTES / 4 : decoded / 2,
                                       &m->pinned, err);
    if (status == WCODEC_OK)
        memset(m->b->memory_pointer(m->pinned), 1,
               (size_t)(COPY_BYTES / 4 < decoded / 2 ? COPY_BYTES / 4 : decoded / 2));
    return status;
}

static wcodec_status measure(struct measure *m, wcodec_device_rates *rates, wcodec_error *err)
{
    uint64_t copied, uploaded, whole;
    wcodec_status status = m->b->queue_create_timed(m->device->device, &m->queue, err);
    if (status == WCODEC_OK)
        status = read_tensors(m, err);
    if (status != WCODEC_OK)
        return status;
    rates->coded_bytes = m->coded_size;
    for (size_t i = 0; i < m->count; i++)
        rates->bytes += m->tensors[i].entry->size;
    status = allocate(m, err);
    whole = m->decoded_size;
    if (status == WCODEC_OK && m->count != 0) {
        status = read_tensors(m, err);
        if (status == WCODEC_OK)
            status = m->b->batch_create(m->queue, m->jobs, m->count, &m->batch, err);
        if (status == WCODEC_OK)
            status = time_action(m, DECODE, 0, &rates->decode_nanoseconds, err);
    }
    if (status == WCODEC_OK)
        status = time_action(m, COPY, whole / 2, &copied, err);
    const uint64_t upload = COPY_BYTES / 4 < whole / 2 ? COPY_BYTES / 4 : whole / 2;
    if (status == WCODEC_OK)
        status = time_action(m, UPLOAD, upload, &uploaded, err);
    if (status != WCODEC_OK)
        return status;
    rates->copy_bandwidth = 2e9 * (double)(whole / 2) / (double)copied;
    rates->upload_bandwidth = 1e9 * (double)upload / (double)uploaded;
    return WCODEC_OK;
}

static void release(struct measure *m)
{
    const wcodec_allocator *allocator = &m->context->allocator;
    if (m->queue != NULL)
        m->b->queue_wait(m->queue, NULL);
    if (m->batch != NULL)
        m->b->batch_destroy(m->batch);
    struct wcodec_memory *const memories[] = {m->coded, m->decoded, m->pinned};
    for (unsigned i = 0; i < 3; i++)
        if (memories[i] != NULL)
            m->b->memory_free(memories[i]);
    if (m->queue != NULL)
        m->b->queue_destroy(m->queue);
    for (size_t i = 0; m->tensors != NULL && i < m->count; i++) {
        wcodec_tiles_free(m->tensors[i].tiles);
        wcodec_free(allocator, m->tensors[i].side);
    }
    wcodec_free(allocator, m->times);
    wcodec_free(allocator, m->results);
    wcodec_free(allocator, m->jobs);
    wcodec_free(allocator, m->tensors);
}

/* Is there a kernel of the device for it? */
static bool is_decoded(const struct measure *m, const struct wcodec_entry *entry,
                       struct wcodec_layout *layout)
{
    if (entry->newer || !wcodec_entry_has_layout(entry) || entry->size == 0)
        return false;
    wcodec_layout_derive(entry, layout);
    const uint32_t needs = wcodec_layout_needs(layout);
    return (m->device->listing.capabilities & needs) == needs &&
           (layout->is_fixed || m->b->device_supports(m->device->device, &layout->tiling));
}

static wcodec_status choose(struct measure *m, const wcodec_reader *reader, const uint64_t *tensors,
                            size_t count, wcodec_device_rates *rates, wcodec_error *err)
{
    for (size_t i = 0; i < count; i++) {
        struct tensor *t = &m->tensors[m->count];
        const wcodec_status status =
            wcodec_check_number(tensors[i], reader->tensor_count, "tensor", err);
        if (status != WCODEC_OK)
            return status;
        t->entry = wcodec_reader_entry_of_tensor(reader, tensors[i], &t->shard);
        t->entry = wcodec_shard_resolve(t->shard, t->entry);
        if (is_decoded(m, t->entry, &t->layout))
            m->count++;
        else
            rates->skipped++;
    }
    return WCODEC_OK;
}

wcodec_status wcodec_reader_measure(const wcodec_reader *reader, const uint64_t *tensors,
                                    size_t count, unsigned repetitions, wcodec_device_rates *rates,
                                    wcodec_error *err)
{
    if (reader == NULL || rates == NULL || (tensors == NULL && count != 0))
        return wcodec_fail(err, WCODEC_ERROR_USAGE, "wcodec_reader_measure: an argument is NULL");
    struct measure m = {.context = reader->context};
    const wcodec_allocator *allocator = &m.context->allocator;
    wcodec_device_rates made = {0};
    wcodec_error e = {0};
    wcodec_status status = wcodec_context_usable(m.context, err);
    if (status == WCODEC_OK)
        status = wcodec_backends_device(m.context, &m.device, err);
    if (status != WCODEC_OK)
        return status;
    m.b = m.device->backend;
    m.repetitions = repetitions == 0                ? REPETITIONS
                    : repetitions < REPETITIONS_MIN ? REPETITIONS_MIN
                    : repetitions > REPETITIONS_MAX ? REPETITIONS_MAX
                                                    : repetitions;
    m.tensors = count < SIZE_MAX / sizeof *m.tensors - 1
                    ? wcodec_alloc_zeroed(allocator, (count + 1) * sizeof *m.tensors)
                    : NULL;
    m.jobs =
        m.tensors != NULL ? wcodec_alloc_zeroed(allocator, (count + 1) * sizeof *m.jobs) : NULL;
    m.results = wcodec_alloc_array(allocator, count, sizeof *m.results);
    m.times = wcodec_alloc_array(allocator, m.repetitions + 1, sizeof *m.times);
    if (m.tensors == NULL || m.jobs == NULL || m.results == NULL || m.times == NULL)
        status = wcodec_fail(&e, WCODEC_ERROR_MEMORY, "out of memory for %zu tensors", count);
    if (status == WCODEC_OK)
        status = choose(&m, reader, tensors, count, &made, &e);
    if (status == WCODEC_OK)
        status = measure(&m, &made, &e);
    release(&m);
    if (status == WCODEC_ERROR_DEVICE)
        wcodec_backends_lose(m.context, m.device, e.text);
    if (status != WCODEC_OK)
        return wcodec_fail(err, status, "%s", e.text);
    *rates = made;
    return WCODEC_OK;
}
