/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* A check-only plugin that works: the CPU's backend behind memory that the host does not see, as a GPU has. WCODEC_FAKE makes it fail in one way:
 *   nodriver, nodevices, unlisted, noopen, unsupported, wrong: from the beginning
 *   late-memory, late-decode, late-results, late-copy, late-wait, late-fault: after the known answers, so that the core trusts it */
#include "backends/cpu/batch.h"
#include "backends/cpu/cpu.h"
#include "core/memory.h"
#include <stdatomic.h>
#include <stdio.h>

WCODEC_API extern const struct wcodec_backend wcodec_backend_fake;

/* The core decodes so many batches to try a device. */
enum { KNOWN_ANSWERS = 3 };

struct fake_memory {
    struct wcodec_memory cpu;
    enum wcodec_memory_kind kind;
};

/* One context at a time uses it. */
static const struct wcodec_host *host;
static char mode[32];
static atomic_uint batches;

static bool is_mode(const char *name)
{
    return strcmp(mode, name) == 0;
}

static bool is_late(const char *name)
{
    return is_mode(name) && atomic_load(&batches) > KNOWN_ANSWERS;
}

static wcodec_status fake_open(const struct wcodec_host *from, struct wcodec_backend_state **state, wcodec_error *err)
{
    const char *setting = from->setting(from->opaque, "WCODEC_FAKE");
    host = from;
    snprintf(mode, sizeof mode, "%s", setting != NULL ? setting : "");
    atomic_store(&batches, 0);
    if (is_mode("nodriver"))
        return host->fail(err, WCODEC_ERROR_BACKEND, "libfake.so.1 not found");
    if (host->log_wants(host->opaque, WCODEC_LOG_DEBUG))
        host->log(host->opaque, WCODEC_LOG_DEBUG, "fake: %u threads, setting outside its names: %s", host->threads(host->opaque),
                  host->setting(host->opaque, "HOME") != NULL ? "seen" : "hidden");
    return wcodec_backend_cpu.open(from, state, err);
}

static void fake_close(struct wcodec_backend_state *state)
{
    wcodec_backend_cpu.close(state);
}

static unsigned fake_device_count(struct wcodec_backend_state *state)
{
    (void)state;
    return is_mode("nodevices") ? 0 : 2;
}

static void fake_device_list(struct wcodec_backend_state *state, unsigned i, struct wcodec_device_listing *listing)
{
    (void)state;
    *listing = (struct wcodec_device_listing){.driver = "fake 1.0", .memory = 1 << 20, .kind = WCODEC_DEVICE_GPU, .node = -1};
    snprintf(listing->name, sizeof listing->name, "Fake %u", i);
    if (is_mode("unlisted") && i == 0)
        snprintf(listing->reason, sizeof listing->reason, "architecture 1.0 is too old");
}

static wcodec_status fake_device_open(struct wcodec_backend_state *state, unsigned i, struct wcodec_device **device, wcodec_error *err)
{
    if (is_mode("noopen"))
        return host->fail(err, WCODEC_ERROR_BACKEND, "fake %u is in use by another process", i);
    return wcodec_backend_cpu.device_open(state, 0, device, err);
}

static void fake_device_close(struct wcodec_device *device)
{
    wcodec_backend_cpu.device_close(device);
}

static void fake_device_native(struct wcodec_device *device, uint64_t *context, uint64_t *number)
{
    (void)device;
    *context = 0xfa;
    *number = 0xce;
}

static bool fake_device_supports(struct wcodec_device *device, const struct wcodec_tiling *tiling)
{
    (void)device, (void)tiling;
    return !is_mode("unsupported");
}

static wcodec_status fake_memory_allocate(struct wcodec_device *device, enum wcodec_memory_kind kind, uint64_t size, struct wcodec_memory **memory, wcodec_error *err)
{
    (void)device;
    /* Memory comes before the batch that is counted. */
    if (is_mode("late-memory") && atomic_load(&batches) >= KNOWN_ANSWERS)
        return host->fail(err, WCODEC_ERROR_MEMORY, "%llu bytes of fake memory are not there", (unsigned long long)size);
    struct fake_memory *m = wcodec_alloc(host->allocator, sizeof *m);
    uint8_t *block = wcodec_alloc(host->allocator, (size_t)size + 4095);
    if (m == NULL || block == NULL) {
        wcodec_free(host->allocator, block);
        wcodec_free(host->allocator, m);
        return host->fail(err, WCODEC_ERROR_MEMORY, "out of memory");
    }
    memset(block, 0xdd, (size_t)size + 4095);
    *m = (struct fake_memory){{host, block + (4096 - (uintptr_t)block % 4096) % 4096, size, block}, kind};
    *memory = &m->cpu;
    return WCODEC_OK;
}

static wcodec_status fake_memory_adopt(struct wcodec_device *device, uint64_t native, uint64_t size, struct wcodec_memory **memory, wcodec_error *err)
{
    (void)device, (void)native, (void)size, (void)memory;
    return host->fail(err, WCODEC_ERROR_UNSUPPORTED, "fake memory cannot be taken over");
}

static void *fake_memory_pointer(struct wcodec_memory *memory)
{
    return ((struct fake_memory *)memory)->kind == WCODEC_MEMORY_PINNED ? memory->data : NULL;
}

static uint64_t fake_memory_native(struct wcodec_memory *memory)
{
    return (uint64_t)(uintptr_t)memory->data;
}

static void fake_memory_free(struct wcodec_memory *memory)
{
    wcodec_free(host->allocator, memory->block);
    wcodec_free(host->allocator, memory);
}

static wcodec_status fake_queue_create(struct wcodec_device *device, struct wcodec_queue **queue, wcodec_error *err)
{
    return wcodec_backend_cpu.queue_create(device, queue, err);
}

static wcodec_status fake_queue_adopt(struct wcodec_device *device, uint64_t native, struct wcodec_queue **queue, wcodec_error *err)
{
    return wcodec_backend_cpu.queue_adopt(device, native, queue, err);
}

static void fake_queue_destroy(struct wcodec_queue *queue)
{
    wcodec_backend_cpu.queue_destroy(queue);
}

static wcodec_status fake_queue_wait(struct wcodec_queue *queue, wcodec_error *err)
{
    if (is_late("late-wait"))
        return host->fail(err, WCODEC_ERROR_DEVICE, "the fake device was reset");
    return wcodec_backend_cpu.queue_wait(queue, err);
}

static wcodec_status fake_queue_after(struct wcodec_queue *queue, struct wcodec_event *event, wcodec_error *err)
{
    return wcodec_backend_cpu.queue_after(queue, event, err);
}

static wcodec_status fake_event_record(struct wcodec_queue *queue, struct wcodec_event **event, wcodec_error *err)
{
    return wcodec_backend_cpu.event_record(queue, event, err);
}

static wcodec_status fake_event_wait(struct wcodec_event *event, wcodec_error *err)
{
    return wcodec_backend_cpu.event_wait(event, err);
}

static wcodec_status fake_event_query(struct wcodec_event *event, bool *done, wcodec_error *err)
{
    return wcodec_backend_cpu.event_query(event, done, err);
}

static wcodec_status fake_event_elapsed(struct wcodec_event *from, struct wcodec_event *to, uint64_t *nanoseconds, wcodec_error *err)
{
    return wcodec_backend_cpu.event_elapsed(from, to, nanoseconds, err);
}

static void fake_event_destroy(struct wcodec_event *event)
{
    wcodec_backend_cpu.event_destroy(event);
}

static wcodec_status fake_copy_in(struct wcodec_queue *queue, struct wcodec_memory *to, uint64_t to_offset, const void *from, uint64_t size, wcodec_error *err)
{
    return wcodec_backend_cpu.copy_in(queue, to, to_offset, from, size, err);
}

static wcodec_status fake_copy_out(struct wcodec_queue *queue, void *to, struct wcodec_memory *from, uint64_t from_offset, uint64_t size, wcodec_error *err)
{
    if (is_late("late-copy")) {
        memcpy(to, from->data + from_offset, (size_t)(size / 2));
        return host->fail(err, WCODEC_ERROR_DEVICE, "the fake bus went away");
    }
    return wcodec_backend_cpu.copy_out(queue, to, from, from_offset, size, err);
}

static wcodec_status fake_copy(struct wcodec_queue *queue, struct wcodec_memory *to, uint64_t to_offset, struct wcodec_memory *from, uint64_t from_offset, uint64_t size,
                               wcodec_error *err)
{
    return wcodec_backend_cpu.copy(queue, to, to_offset, from, from_offset, size, err);
}

static wcodec_status fake_fill(struct wcodec_queue *queue, struct wcodec_memory *to, uint64_t to_offset, const uint8_t element[8], unsigned element_log2, uint64_t count,
                               wcodec_error *err)
{
    return wcodec_backend_cpu.fill(queue, to, to_offset, element, element_log2, count, err);
}

/* Of the batch made last: the first byte that it writes. */
static uint8_t *first_byte;

static wcodec_status fake_batch_create(struct wcodec_queue *queue, const struct wcodec_job *jobs, size_t count, struct wcodec_batch **batch, wcodec_error *err)
{
    atomic_fetch_add(&batches, 1);
    first_byte = jobs[0].memory->data + jobs[0].destination;
    return wcodec_backend_cpu.batch_create(queue, jobs, count, batch, err);
}

static wcodec_status fake_batch_decode(struct wcodec_queue *queue, struct wcodec_batch *batch, wcodec_error *err)
{
    if (is_late("late-decode"))
        return host->fail(err, WCODEC_ERROR_DEVICE, "an illegal fake instruction");
    wcodec_status status = wcodec_backend_cpu.batch_decode(queue, batch, err);
    if (is_mode("wrong"))
        *first_byte ^= 1;
    return status;
}

static wcodec_status fake_batch_results(struct wcodec_queue *queue, struct wcodec_batch *batch, struct wcodec_job_result *results, wcodec_error *err)
{
    if (is_late("late-results"))
        return host->fail(err, WCODEC_ERROR_DEVICE, "fake memory has an error that cannot be corrected");
    wcodec_status status = wcodec_backend_cpu.batch_results(queue, batch, results, err);
    if (is_late("late-fault"))
        results[0] = (struct wcodec_job_result){0, WCODEC_TILE_CHECK};
    return status;
}

static void fake_batch_destroy(struct wcodec_batch *batch)
{
    wcodec_backend_cpu.batch_destroy(batch);
}

const struct wcodec_backend wcodec_backend_fake = {
    .abi = WCODEC_BACKEND_ABI,
    .name = "fake",
    .open = fake_open,
    .close = fake_close,
    .device_count = fake_device_count,
    .device_list = fake_device_list,
    .device_open = fake_device_open,
    .device_close = fake_device_close,
    .device_native = fake_device_native,
    .device_supports = fake_device_supports,
    .memory_allocate = fake_memory_allocate,
    .memory_adopt = fake_memory_adopt,
    .memory_pointer = fake_memory_pointer,
    .memory_native = fake_memory_native,
    .memory_free = fake_memory_free,
    .queue_create = fake_queue_create,
    .queue_create_timed = fake_queue_create,
    .queue_adopt = fake_queue_adopt,
    .queue_destroy = fake_queue_destroy,
    .queue_wait = fake_queue_wait,
    .queue_after = fake_queue_after,
    .event_record = fake_event_record,
    .event_wait = fake_event_wait,
    .event_query = fake_event_query,
    .event_elapsed = fake_event_elapsed,
    .event_destroy = fake_event_destroy,
    .copy_in = fake_copy_in,
    .copy_out = fake_copy_out,
    .copy = fake_copy,
    .fill = fake_fill,
    .batch_create = fake_batch_create,
    .batch_decode = fake_batch_decode,
    .batch_results = fake_batch_results,
    .batch_destroy = fake_batch_destroy,
};
