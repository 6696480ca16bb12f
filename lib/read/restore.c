/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "read/restore.h"
#include "backends/cpu/batch.h"
#include "backends/cpu/cpu_level.h"
#include "backends/cpu/leaf.h"
#include "core/error.h"
#include "format/groups.h"
#include "core/memory.h"
#include <inttypes.h>
#include <string.h>

enum {
    /* Progress is reported, and cancelling noticed, so often. */
    ROUND_NS = 200000000,
    /* Of a part: hashed and written by one thread at a time. */
    SLICE = 1 << 20,
    /* One thread alone writes in order what is still in its cache. */
    ALONE_BYTES = 1 << 20,
    BUFFERS = 2
};

wcodec_status wcodec_check_padding(const uint8_t *bytes, uint64_t begin, uint64_t end,
                                   wcodec_error *err)
{
    for (uint64_t i = 0; i < end - begin; i++)
        if (bytes[i] != 0)
            return wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                               "byte %" PRIu64 " of the file is padding and not zero", begin + i);
    return WCODEC_OK;
}

wcodec_status wcodec_check_payload_hash(const struct wcodec_entry *entry,
                                        struct wcodec_tree_hash hash, wcodec_error *err)
{
    if (entry->unhashed || hash.low == entry->payload_hash)
        return WCODEC_OK;
    return wcodec_fail(err, WCODEC_ERROR_CORRUPT, "the hash of its payload differs");
}

/* There are less than 256. */
wcodec_status wcodec_check_gap(const struct wcodec_source *source, uint64_t begin, uint64_t end,
                               wcodec_error *err)
{
    uint8_t bytes[256];
    if (end - begin > sizeof(bytes))
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                           "a hole of %" PRIu64 " bytes at byte %" PRIu64, end - begin, begin);
    wcodec_status status = wcodec_source_read(source, begin, bytes, (size_t)(end - begin), err);
    return status == WCODEC_OK ? wcodec_check_padding(bytes, begin, end, err) : status;
}

wcodec_status wcodec_check_headers(wcodec_context *context, struct wcodec_header_checks *checks,
                                   uint64_t end, wcodec_error *err)
{
    const struct wcodec_index *index = checks->shard->index;
    wcodec_status status = WCODEC_OK;
    for (; checks->next < index->group_count && status == WCODEC_OK; checks->next++) {
        const struct wcodec_group *g = &index->groups[checks->next];
        if (g->first >= end)
            break;
        status = wcodec_check_gap(checks->source, g->gap_offset, g->offset, err);
        if (status == WCODEC_OK)
            status = wcodec_group_check(checks->source, &context->allocator,
                                        context->limits.max_memory, g, &context->zstd, err);
    }
    return status;
}

/* Does a device that the library chose pay where all bytes come back to be hashed or written? What
 * was measured says no (bench/README.md: 2.8 GB/s by an H200, 3.9 by the 16 cores beside it, when
 * both tested a file): so whoever wants one for whole files names it. */
static bool device_pays(const wcodec_context *context)
{
    return context->backend != NULL && strcmp(context->backend, "auto") != 0;
}

/* The CPU's functions for jobs, unless all is a device's. */
static wcodec_status choose_way(struct wcodec_restore *r, wcodec_error *err)
{
    struct wcodec_opened *o, *cpu;
    wcodec_status status = wcodec_backends_cpu(r->context, &cpu, err);
    if (status != WCODEC_OK)
        return status;
    r->leaf = wcodec_cpu_leaf(wcodec_cpu_levels() & r->context->cpu_mask);
    r->dsp = cpu->device->dsp;
    if (!device_pays(r->context))
        return WCODEC_OK;
    status = wcodec_backends_device(r->context, &o, err);
    if (status == WCODEC_OK && o->backend != cpu->backend) {
        r->dsp = NULL;
        r->device = o->name;
    }
    return status;
}

/* As many workers as threads, and memory for them. With too little for one there are parts only. */
static void choose_workers(struct wcodec_restore *r)
{
    const uint64_t most = r->context->limits.max_memory,
                   left = most > 2 * r->base ? (most - 2 * r->base) / WCODEC_JOB_MEMORY : 0;
    r->worker_count = wcodec_context_threads(r->context);
    if (r->worker_count > WCODEC_RESTORE_WORKERS)
        r->worker_count = WCODEC_RESTORE_WORKERS;
    if (r->worker_count > left)
        r->worker_count = (size_t)left;
    if (r->worker_count == 0) {
        r->dsp = NULL;
        r->worker_count = 1;
    }
    if (r->dsp != NULL && most != UINT64_MAX)
        r->base += r->worker_count * WCODEC_JOB_MEMORY;
}

static void work_task(void *argument, size_t i)
{
    struct wcodec_restore *r = argument;
    wcodec_restore_work(r, &r->workers[i]);
}

/* The sums of all workers become shares of the clock: what is left they waited. */
static void divide(struct wcodec_restore *r)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < WCODEC_PHASES; i++)
        sum += r->phases.ns[i];
    wcodec_phases_divide(&r->phases, sum / r->worker_count, WCODEC_PHASE_CODE);
}

static void run_jobs(struct wcodec_restore *r)
{
    wcodec_run(r->context, work_task, r, r->worker_count);
    divide(r);
}

/* Bytes of a part on their way out. */
struct slices {
    struct wcodec_restore *r;
    uint64_t offset, size;
    const uint8_t *data;
};

static void slice_task(void *argument, size_t i)
{
    const struct slices *s = argument;
    struct wcodec_restore *r = s->r;
    const uint64_t at = (uint64_t)i * SLICE, left = s->size - at,
                   size = left < SLICE ? left : SLICE;
    wcodec_error error = {0};
    wcodec_status status = WCODEC_OK;
    uint64_t begin = wcodec_phase_begin(&r->phases);
    if (r->hashed)
        status =
            wcodec_tree_put(&r->hash, s->offset + at - r->hash_begin, s->data + at, size, &error);
    begin = wcodec_phase_end(&r->phases, WCODEC_PHASE_HASH, begin);
    if (status == WCODEC_OK && r->write_at != NULL) {
        const int e = r->write_at(r->opaque, s->offset + at, s->data + at, (size_t)size);
        if (e != 0)
            status = wcodec_fail(&error, WCODEC_ERROR_IO, "writing: %s", strerror(e));
        (void)wcodec_phase_end(&r->phases, WCODEC_PHASE_WRITE, begin);
    }
    if (status == WCODEC_OK)
        return;
    pthread_mutex_lock(&r->lock);
    wcodec_restore_note(r, s->offset + at, status, &error);
    pthread_mutex_unlock(&r->lock);
}

/* Parts from the plan's place on, as many as fit in the buffer: *filled bytes of it. */
static void run_parts(struct wcodec_restore *r, struct wcodec_restore_part *part, uint8_t *buffer,
                      uint64_t capacity, uint64_t *filled)
{
    struct slices s = {.r = r, .offset = r->offset, .data = buffer};
    uint64_t size = 1;
    wcodec_error error = {0};
    const uint64_t begin = wcodec_phase_begin(&r->phases);
    while (r->status == WCODEC_OK && size > 0 && (r->at_part || r->dsp == NULL) &&
           (part->entry != NULL || r->entry < r->end)) {
        const uint64_t at = r->offset;
        const wcodec_status status =
            wcodec_restore_part(r, part, buffer + s.size, capacity - s.size, &size, &error);
        if (status != WCODEC_OK)
            wcodec_restore_note(r, at, status, &error);
        else
            s.size += size;
        /* An entry of no bytes is no reason to stop. */
        size = size == 0 && part->entry == NULL ? 1 : size;
    }
    /* By all threads, and reading with it. */
    if (r->phases.on)
        wcodec_phases_divide(&r->phases, wcodec_clock_ns() - begin, WCODEC_PHASE_CODE);
    if (r->status == WCODEC_OK)
        wcodec_run(r->context, slice_task, &s, (size_t)wcodec_div_up_u64(s.size, SLICE));
    divide(r);
    if (r->hashed)
        wcodec_tree_advance(&r->hash);
    *filled = s.size;
}

static bool has_ended(const struct wcodec_restore *r)
{
    return r->status != WCODEC_OK || (r->entry == r->end && r->tensor == NULL);
}

static wcodec_status report(struct wcodec_restore *r, uint64_t bytes)
{
    wcodec_error error = {0};
    const wcodec_status status =
        r->status == WCODEC_OK ? wcodec_reporter_add(&r->reporter, bytes, &error) : WCODEC_OK;
    if (status != WCODEC_OK)
        wcodec_restore_note(r, 0, status, &error);
    return status;
}

static wcodec_status take_buffer(struct wcodec_restore *r, uint64_t size, uint8_t **buffer,
                                 wcodec_error *err)
{
    if (*buffer == NULL)
        *buffer = wcodec_alloc_array(&r->context->allocator, size, 1);
    return *buffer != NULL
               ? WCODEC_OK
               : wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory: %" PRIu64 " bytes", size);
}

/* Tests, and writes in any order: jobs keep to their own buffers. */
static wcodec_status run_freely(struct wcodec_restore *r, uint64_t capacity, wcodec_error *err)
{
    struct wcodec_restore_part part = {.entry = NULL};
    uint8_t *buffer = NULL;
    wcodec_status status = WCODEC_OK;
    r->stop = UINT64_MAX;
    while (status == WCODEC_OK && !has_ended(r)) {
        const uint64_t before = r->offset;
        uint64_t filled;
        if (r->dsp != NULL && !r->at_part) {
            r->until_ns = wcodec_clock_ns() + ROUND_NS;
            run_jobs(r);
        } else {
            status = take_buffer(r, capacity, &buffer, err);
            if (status == WCODEC_OK)
                run_parts(r, &part, buffer, capacity, &filled);
        }
        if (status == WCODEC_OK)
            (void)report(r, r->offset - before);
    }
    wcodec_restore_part_close(&part);
    wcodec_free(&r->context->allocator, buffer);
    return status;
}

/* Two buffers: the calling thread writes one while the others fill the next. */
struct ordered {
    struct wcodec_restore *r;
    struct wcodec_restore_part part;
    uint8_t *buffers[BUFFERS];
    uint64_t capacity;
    uint64_t job_capacity; /* of that, what jobs fill */
    unsigned next;         /* buffer to fill */
    uint64_t filled[BUFFERS];
    uint64_t fill_end, write_end, write_ns; /* of the last ones */
    wcodec_status status;                   /* of writing; noted when no thread is at jobs */
    wcodec_error error;
};

static void fill_next(void *argument)
{
    struct ordered *o = argument;
    struct wcodec_restore *r = o->r;
    uint8_t *buffer = o->buffers[o->next];
    o->filled[o->next] = 0;
    if (has_ended(r))
        return;
    if (r->dsp == NULL || r->at_part) {
        run_parts(r, &o->part, buffer, o->capacity, &o->filled[o->next]);
        return;
    }
    r->dst = buffer;
    r->dst_begin = r->offset;
    r->stop = r->offset + o->job_capacity - WCODEC_JOB_BYTES + 1;
    run_jobs(r);
    o->filled[o->next] = r->offset - r->dst_begin;
}

static void fill(void *argument)
{
    struct ordered *o = argument;
    fill_next(argument);
    o->fill_end = wcodec_phase_begin(&o->r->phases);
}

static void write_filled(void *argument)
{
    struct ordered *o = argument;
    struct wcodec_restore *r = o->r;
    const unsigned which = 1 - o->next;
    if (o->filled[which] == 0)
        return;
    const uint64_t begin = wcodec_phase_begin(&r->phases);
    const int e = r->write(r->opaque, o->buffers[which], (size_t)o->filled[which]);
    if (e != 0)
        o->status = wcodec_fail(&o->error, WCODEC_ERROR_IO, "writing: %s", strerror(e));
    else
        o->status = wcodec_reporter_add(&r->reporter, o->filled[which], &o->error);
    o->write_end = wcodec_phase_begin(&r->phases);
    o->write_ns = o->write_end - begin;
}

static wcodec_status run_in_order(struct wcodec_restore *r, uint64_t capacity, wcodec_error *err)
{
    struct ordered o = {.r = r, .capacity = capacity};
    const bool alone = wcodec_context_threads(r->context) < 2;
    wcodec_status status = WCODEC_OK;
    o.job_capacity = capacity < WCODEC_JOB_BYTES       ? WCODEC_JOB_BYTES
                     : alone && capacity > ALONE_BYTES ? ALONE_BYTES
                                                       : capacity;
    for (unsigned i = 0; i < (alone ? 1u : BUFFERS) && status == WCODEC_OK; i++)
        status = take_buffer(r, capacity > o.job_capacity ? capacity : o.job_capacity,
                             &o.buffers[i], err);
    while (status == WCODEC_OK && (!has_ended(r) || o.filled[1 - o.next] != 0)) {
        if (r->status != WCODEC_OK)
            break;
        if (alone) {
            o.next = 0;
            fill(&o);
            o.next = 1;
            o.write_ns = 0;
            if (r->status == WCODEC_OK)
                write_filled(&o);
            r->phases.shares[WCODEC_PHASE_WRITE] += o.write_ns;
            o.filled[0] = 0;
        } else {
            wcodec_run_beside(r->context, write_filled, fill, &o);
            /* As far as it took longer. */
            if (o.write_end > o.fill_end)
                r->phases.shares[WCODEC_PHASE_WRITE] +=
                    o.write_end - o.fill_end < o.write_ns ? o.write_end - o.fill_end : o.write_ns;
            o.next = 1 - o.next;
        }
        if (o.status != WCODEC_OK)
            wcodec_restore_note(r, 0, o.status, &o.error);
    }
    wcodec_restore_part_close(&o.part);
    for (unsigned i = 0; i < BUFFERS; i++)
        wcodec_free(&r->context->allocator, o.buffers[i]);
    return status;
}

static wcodec_status run(struct wcodec_restore *r, wcodec_error *err)
{
    const wcodec_allocator *allocator = &r->context->allocator;
    const uint64_t capacity = wcodec_restore_part_bytes(r), most = r->context->limits.max_memory;
    const bool in_order = r->write != NULL;
    r->base = capacity * (in_order && wcodec_context_threads(r->context) > 1 ? BUFFERS : 1) +
              wcodec_restore_span_memory(r);
    if (r->base > most)
        return wcodec_fail(err, WCODEC_ERROR_LIMIT,
                           "restoring takes at least %" PRIu64
                           " bytes of memory, the limit is %" PRIu64,
                           r->base, most);
    choose_workers(r);
    wcodec_status status =
        r->hashed ? wcodec_tree_init(&r->hash, allocator, r->leaf, WCODEC_RESTORE_LEAVES, err)
                  : WCODEC_OK;
    if (status == WCODEC_OK && r->hashed && r->is_part)
        status = wcodec_restore_span_begin(r, err);
    r->workers = wcodec_alloc_zeroed(allocator, r->worker_count * sizeof *r->workers);
    if (status == WCODEC_OK && r->workers == NULL)
        status = wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for threads' buffers");
    if (status == WCODEC_OK)
        status = in_order ? run_in_order(r, capacity, err) : run_freely(r, capacity, err);
    if (r->tensor != NULL)
        wcodec_open_tensor_free(r, r->tensor);
    for (size_t i = 0; i < r->worker_count && r->workers != NULL; i++) {
        wcodec_free(allocator, r->workers[i].coded);
        wcodec_free(allocator, r->workers[i].decoded);
        wcodec_free(allocator, r->workers[i].waiting);
    }
    wcodec_free(allocator, r->workers);
    if (status != WCODEC_OK || r->status == WCODEC_OK)
        return status;
    if (err != NULL)
        *err = r->error;
    return r->status;
}

/* What follows the last payload; of a rebuilt index nothing is known of that. */
static wcodec_status check_end(const struct wcodec_shard *shard, const struct wcodec_source *source,
                               wcodec_error *err)
{
    const struct wcodec_index *index = shard->index;
    return index->rebuilt ? WCODEC_OK
                          : wcodec_check_gap(source, index->body_end, index->body_stop, err);
}

/* A device checks its tiles itself, so only the CPU can tell whose fault it is. */
static wcodec_status check_hash(struct wcodec_restore *r, wcodec_error *err)
{
    const wcodec_status status = wcodec_restore_check_hash(r->shard->index, &r->hash, err);
    if (status != WCODEC_ERROR_CORRUPT || r->device == NULL)
        return status;
    return wcodec_fail(err, status,
                       "the hash of the restored file differs, of which %s decoded tensors: the "
                       "file is damaged, or the device is wrong (the backend \"cpu\" tells)",
                       r->device);
}

/* What is verified after the last entry. */
static wcodec_status check_rest(struct wcodec_restore *r, const wcodec_decode_options *options,
                                wcodec_error *err)
{
    wcodec_status status = WCODEC_OK;
    if (r->end == r->shard->index->entry_count)
        status = check_end(r->shard, r->source, err);
    if (status != WCODEC_OK || !r->hashed)
        return status;
    return r->is_part ? wcodec_restore_span_end(r, options, err) : check_hash(r, err);
}

/* Neither write nor write_at: only test. */
static wcodec_status decode_file(const wcodec_reader *reader, const struct wcodec_shard *shard,
                                 const struct wcodec_source *source, wcodec_write_fn write,
                                 void *opaque, const wcodec_decode_options *options,
                                 wcodec_error *err)
{
    struct wcodec_restore r = {.context = reader->context,
                               .shard = shard,
                               .source = source,
                               .checks = !options->skip_checks,
                               .write = options->write_at != NULL ? NULL : write,
                               .write_at = options->write_at,
                               .opaque = opaque,
                               .headers = {.shard = shard, .source = source}};
    wcodec_restore_choose(&r, options);
    wcodec_reporter_init(&r.reporter, &options->progress, r.span.end - r.span.begin);
    wcodec_phases_begin(&r.phases, options->times);
    wcodec_status status = choose_way(&r, err);
    if (status != WCODEC_OK)
        return status;
    if (pthread_mutex_init(&r.lock, NULL) != 0)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for a lock");
    if (pthread_cond_init(&r.advanced, NULL) != 0) {
        pthread_mutex_destroy(&r.lock);
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for a lock");
    }
    status = run(&r, err);
    if (status == WCODEC_OK)
        status = check_rest(&r, options, err);
    if (status == WCODEC_OK)
        status = wcodec_reporter_end(&r.reporter, err);
    if (status == WCODEC_OK)
        wcodec_phases_end(&r.phases, options->times);
    wcodec_tree_free(&r.hash);
    wcodec_span_free(&r.span, &reader->context->allocator);
    pthread_cond_destroy(&r.advanced);
    pthread_mutex_destroy(&r.lock);
    return status;
}

/* All headers and padding of the container; the structure was checked when it was opened. */
static wcodec_status check_gaps(wcodec_context *context, const struct wcodec_shard *shard,
                                const struct wcodec_source *source, wcodec_error *err)
{
    const struct wcodec_index *index = shard->index;
    struct wcodec_header_checks headers = {.shard = shard, .source = source};
    uint64_t position = index->body_begin;
    wcodec_status headers_status = wcodec_check_headers(context, &headers, index->entry_count, err);
    if (headers_status != WCODEC_OK)
        return headers_status;
    for (uint64_t i = 0; i < index->entry_count; i++) {
        const struct wcodec_entry *e = &index->entries[i];
        if (e->payload_size == 0)
            continue;
        wcodec_status status =
            wcodec_check_gap(source, wcodec_gap_begin(e, position), e->payload_offset, err);
        if (status != WCODEC_OK)
            return status;
        position = e->payload_offset + e->payload_size;
    }
    return check_end(shard, source, err);
}

enum task { RESTORE, TEST, TEST_QUICKLY };

static wcodec_status work(const wcodec_reader *reader, uint64_t file, enum task task,
                          wcodec_write_fn write, void *opaque, const wcodec_decode_options *options,
                          wcodec_error *err)
{
    struct wcodec_source source;
    wcodec_decode_options own;
    wcodec_status status = wcodec_context_usable(reader->context, err);
    if (status == WCODEC_OK)
        status = wcodec_decode_options_read(options, &own, err);
    if (status != WCODEC_OK)
        return status;
    if (task == TEST_QUICKLY && own.part_end != 0)
        return wcodec_fail(err, WCODEC_ERROR_USAGE,
                           "wcodec_reader_test: part_end with a quick test, which has no parts");
    if (task != RESTORE)
        own.write_at = NULL;
    else if (write == NULL && own.write_at == NULL)
        return wcodec_fail(err, WCODEC_ERROR_USAGE,
                           "wcodec_reader_restore: there is no function to write by");
    if (file >= reader->shard_count)
        return wcodec_fail(err, WCODEC_ERROR_USAGE,
                           "there is no file number %" PRIu64 ", there are %" PRIu64, file,
                           reader->shard_count);
    const struct wcodec_shard *shard = &reader->shards[file];
    if (shard->index->missing > 0)
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                           "the file is cut short, or damaged: %" PRIu64
                           " bytes of the original's %" PRIu64 " are missing",
                           shard->index->missing, shard->index->size);
    status = wcodec_shard_acquire(shard, &source, err);
    if (status != WCODEC_OK)
        return status;
    const struct wcodec_source_range body = wcodec_restore_body(shard->index, &own);
    if (task != TEST_QUICKLY)
        wcodec_source_announce(&source, &source, &body, 1);
    status = task == TEST_QUICKLY ? check_gaps(reader->context, shard, &source, err)
                                  : decode_file(reader, shard, &source, write, opaque, &own, err);
    wcodec_source_withdraw(&source, &source);
    wcodec_shard_release(shard, &source);
    return status;
}

wcodec_status wcodec_reader_restore(const wcodec_reader *reader, uint64_t file,
                                    wcodec_write_fn write, void *opaque,
                                    const wcodec_decode_options *options, wcodec_error *err)
{
    if (reader == NULL)
        return wcodec_fail(err, WCODEC_ERROR_USAGE, "wcodec_reader_restore: an argument is NULL");
    return work(reader, file, RESTORE, write, opaque, options, err);
}

wcodec_status wcodec_reader_test(const wcodec_reader *reader, uint64_t file, int quick,
                                 const wcodec_decode_options *options, wcodec_error *err)
{
    if (reader == NULL)
        return wcodec_fail(err, WCODEC_ERROR_USAGE, "wcodec_reader_test: an argument is NULL");
    return work(reader, file, quick != 0 ? TEST_QUICKLY : TEST, NULL, NULL, options, err);
}
