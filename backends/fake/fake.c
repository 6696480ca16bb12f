/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* A check-only plugin that works: the CPU's backend behind memory that the host does not see and
 * queues that do nothing before somebody waits, as a GPU may. WCODEC_FAKE makes it fail in one way.
 *
 *   nodriver, nodevices, unlisted, noopen, unsupported, nofixed, nofragments, noproducts, wrong,
 *     noadopt, nopinned, nopeers: from the beginning
 *   apart: parts of a rollout's members that are to run at once run one after the other; clusters:
 *     they are clusters
 *   library: its products are said to be by a library; wide: those of many vectors that work in
 *     room are said to be faster, and take what is there
 *   late-memory, late-decode, late-results, late-copy, late-wait, late-event, late-fault,
 *     late-undone, late-wrong, late-peer, late-miscodes, late-misorders, late-missizes,
 *     late-mistallies, late-nocoders, late-idle (no step of a training is done), late-stale (after
 *     the second no assignment is): after the known answers, so that the core trusts it
 *
 *   memory-N: its N-th allocation (memory, queue, event, batch) after them, and only that
 *
 *   room-N: memory of its own is N bytes after them; beside another failure: WCODEC_FAKE_ROOM=N
 *
 *   lost-N: every call from the N-th after them on
 *
 *   silent-N: from the N-th call on nothing is done any more; waiting says so
 *
 * It has two devices, and each refuses what belongs to the other. Several contexts may use it, if
 * they are created one after the other. */
#include "backends/fake/queue.h"
#include "backends/cpu/cpu.h"
#include "backends/emulate/fibers.h"
#include "backends/emulate/delta.h"
#include "backends/emulate/rollout.h"
#include "backends/emulate/encode.h"
#include "backends/emulate/product.h"
#include "backends/emulate/search.h"
#include "backends/emulate/vectors.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

WCODEC_API extern const struct wcodec_backend wcodec_backend_fake;

/* The core decodes so many batches to try a device, each in a queue of its own. */
enum { KNOWN_ANSWERS = 3 };

struct fake_device {
    struct wcodec_device cpu;
    unsigned number;
};

struct fake_memory {
    struct wcodec_memory cpu;
    enum wcodec_memory_kind kind;
    unsigned device;
    struct fake_memory *next; /* in blocks */
};

/* What all contexts have allocated: a driver knows whose an address is. */
static pthread_mutex_t blocks_lock = PTHREAD_MUTEX_INITIALIZER;
static struct fake_memory *blocks;

struct fake_event {
    struct wcodec_event cpu;
    struct fake_queue *queue;
    uint64_t number;
};

static wcodec_status (*fail)(wcodec_error *err, wcodec_status status, const char *format, ...)
    WCODEC_PRINTF(3, 4);
static char mode[32];
static unsigned long nth, room; /* 0: no end of memory */
static atomic_uint queues_ended;
static atomic_ulong allocations, calls;
static atomic_ulong blocks_made, queues_made, batches_made; /* after the known answers */

static bool is_mode(const char *name)
{
    return strcmp(mode, name) == 0;
}

static bool is_trusted(void)
{
    return atomic_load(&queues_ended) >= KNOWN_ANSWERS;
}

static bool is_late(const char *name)
{
    return is_mode(name) && is_trusted();
}

/* Every call on a device that it has to answer for. */
static wcodec_status begin_call(wcodec_error *err)
{
    if (is_trusted() && atomic_fetch_add(&calls, 1) + 1 >= nth && is_mode("lost"))
        return fail(err, WCODEC_ERROR_DEVICE, "the fake device fell off its bus");
    return WCODEC_OK;
}

static wcodec_status begin_allocation(wcodec_error *err)
{
    wcodec_status status = begin_call(err);
    if (status == WCODEC_OK && is_trusted() && atomic_fetch_add(&allocations, 1) + 1 == nth &&
        is_mode("memory"))
        return fail(err, WCODEC_ERROR_MEMORY, "there is no fake memory for once");
    return status;
}

static bool is_silent(void)
{
    return is_late("silent") && atomic_load(&calls) >= nth;
}

static wcodec_status give(struct wcodec_queue *queue, const struct fake_operation *operation,
                          wcodec_error *err)
{
    wcodec_status status = begin_call(err);
    if (status == WCODEC_OK && !is_silent() &&
        !fake_queue_give((struct fake_queue *)queue, operation))
        return fail(err, WCODEC_ERROR_MEMORY, "out of memory");
    return status;
}

static wcodec_status wait_until(struct fake_queue *queue, uint64_t number, wcodec_error *err)
{
    wcodec_status status = begin_call(err);
    if (status == WCODEC_OK && is_silent())
        status = fail(err, WCODEC_ERROR_DEVICE, "the fake device stopped long ago");
    if (status == WCODEC_OK)
        return fake_queue_run(queue, number, err);
    fake_queue_drop(queue);
    return status;
}

static wcodec_status fake_open(const struct wcodec_host *from, struct wcodec_backend_state **state,
                               wcodec_error *err)
{
    const char *setting = from->setting(from->opaque, "WCODEC_FAKE");
    fail = from->fail;
    snprintf(mode, sizeof mode, "%s", setting != NULL ? setting : "");
    char *dash = strrchr(mode, '-');
    nth = 0;
    if (dash != NULL && dash[1] >= '0' && dash[1] <= '9') {
        nth = strtoul(dash + 1, NULL, 10);
        *dash = '\0';
    }
    const char *limit = from->setting(from->opaque, "WCODEC_FAKE_ROOM");
    room = is_mode("room") ? nth : limit != NULL ? strtoul(limit, NULL, 10) : 0;
    atomic_store(&queues_ended, 0);
    atomic_store(&allocations, 0);
    atomic_store(&calls, 0);
    atomic_store(&blocks_made, 0);
    atomic_store(&queues_made, 0);
    atomic_store(&batches_made, 0);
    wcodec_emulated_rollouts_apart = is_mode("apart");
    wcodec_emulated_rollouts_clusters = is_mode("clusters");
    if (is_mode("nodriver"))
        return fail(err, WCODEC_ERROR_BACKEND, "libfake.so.1 not found");
    if (from->log_wants(from->opaque, WCODEC_LOG_DEBUG))
        from->log(from->opaque, WCODEC_LOG_DEBUG, "fake: %u threads, setting outside its names: %s",
                  from->threads(from->opaque),
                  from->setting(from->opaque, "HOME") != NULL ? "seen" : "hidden");
    return wcodec_backend_cpu.open(from, state, err);
}

/* The CPU's state begins with its host. */
static void fake_close(struct wcodec_backend_state *state)
{
    const struct wcodec_host *host = *(const struct wcodec_host *const *)state;
    host->log(host->opaque, WCODEC_LOG_DEBUG, "fake: %lu blocks, %lu queues, %lu batches",
              atomic_load(&blocks_made), atomic_load(&queues_made), atomic_load(&batches_made));
    wcodec_backend_cpu.close(state);
}

static unsigned fake_device_count(struct wcodec_backend_state *state)
{
    (void)state;
    return is_mode("nodevices") ? 0 : 2;
}

static void fake_device_list(struct wcodec_backend_state *state, unsigned i,
                             struct wcodec_device_listing *listing)
{
    (void)state;
    *listing = (struct wcodec_device_listing){
        .driver = "fake 1.0",
        .memory = 1 << 20,
        .kind = WCODEC_DEVICE_GPU,
        .capabilities = WCODEC_DEVICE_ADDRESSES | WCODEC_DEVICE_BLOCKS | WCODEC_DEVICE_LOSSY};
    if (!is_mode("nofixed"))
        listing->capabilities |= WCODEC_DEVICE_FIXED;
    if (!is_mode("nofragments"))
        listing->capabilities |= WCODEC_DEVICE_FRAGMENTS;
    if (wcodec_fibers_supported() && !is_mode("noproducts"))
        listing->capabilities |= WCODEC_DEVICE_PRODUCTS;
    if (!is_mode("noadopt"))
        listing->capabilities |= WCODEC_DEVICE_ADOPT_MEMORY | WCODEC_DEVICE_ADOPT_QUEUE;
    snprintf(listing->name, sizeof listing->name, "Fake %u", i);
    if (is_mode("unlisted") && i == 0)
        snprintf(listing->reason, sizeof listing->reason, "architecture 1.0 is too old");
}

static wcodec_status fake_device_open(struct wcodec_backend_state *state, unsigned i,
                                      struct wcodec_device **device, wcodec_error *err)
{
    if (is_mode("noopen"))
        return fail(err, WCODEC_ERROR_BACKEND, "fake %u is in use by another process", i);
    struct wcodec_device *cpu;
    wcodec_status status = wcodec_backend_cpu.device_open(state, 0, &cpu, err);
    if (status != WCODEC_OK)
        return status;
    struct fake_device *d = wcodec_alloc(cpu->host->allocator, sizeof *d);
    if (d != NULL)
        *d = (struct fake_device){*cpu, i};
    wcodec_backend_cpu.device_close(cpu);
    if (d == NULL)
        return fail(err, WCODEC_ERROR_MEMORY, "out of memory");
    *device = &d->cpu;
    return WCODEC_OK;
}

static void fake_device_close(struct wcodec_device *device)
{
    wcodec_free(device->host->allocator, device);
}

static unsigned number_of(const struct wcodec_device *device)
{
    return ((const struct fake_device *)device)->number;
}

/* A job or copy of another device's memory. NULL is nobody's. */
static wcodec_status check_owner(const struct wcodec_queue *queue,
                                 const struct wcodec_memory *memory, wcodec_error *err)
{
    const unsigned number = number_of(queue->device);
    if (memory == NULL || ((const struct fake_memory *)memory)->device == number)
        return WCODEC_OK;
    return fail(err, WCODEC_ERROR_DEVICE, "memory of fake device %u in a queue of device %u",
                ((const struct fake_memory *)memory)->device, number);
}

static void fake_device_native(struct wcodec_device *device, uint64_t *context, uint64_t *number)
{
    *context = 0xfa;
    *number = 0xce + number_of(device);
}

static bool fake_device_supports(struct wcodec_device *device, const struct wcodec_tiling *tiling)
{
    (void)device, (void)tiling;
    return !is_mode("unsupported");
}

/* Has its own memory that much left? */
static bool has_room(enum wcodec_memory_kind kind, uint64_t size)
{
    uint64_t used = 0;
    if (room == 0 || !is_trusted() || kind != WCODEC_MEMORY_DEVICE)
        return true;
    pthread_mutex_lock(&blocks_lock);
    for (const struct fake_memory *m = blocks; m != NULL; m = m->next)
        used += m->kind == WCODEC_MEMORY_DEVICE ? m->cpu.size : 0;
    pthread_mutex_unlock(&blocks_lock);
    return used <= room && size <= room - used;
}

static wcodec_status fake_memory_allocate(struct wcodec_device *device,
                                          enum wcodec_memory_kind kind, uint64_t size,
                                          struct wcodec_memory **memory, wcodec_error *err)
{
    const struct wcodec_host *host = device->host;
    wcodec_status status = begin_allocation(err);
    if (status != WCODEC_OK)
        return status;
    if (is_late("late-memory") || !has_room(kind, size) ||
        (is_mode("nopinned") && kind == WCODEC_MEMORY_PINNED))
        return fail(err, WCODEC_ERROR_MEMORY, "%llu bytes of fake memory are not there",
                    (unsigned long long)size);
    struct fake_memory *m = wcodec_alloc(host->allocator, sizeof *m);
    uint8_t *block = wcodec_alloc(host->allocator, (size_t)size + 4095);
    if (m == NULL || block == NULL) {
        wcodec_free(host->allocator, block);
        wcodec_free(host->allocator, m);
        return fail(err, WCODEC_ERROR_MEMORY, "out of memory");
    }
    memset(block, 0xdd, (size_t)size + 4095);
    atomic_fetch_add(&blocks_made, is_trusted());
    *m = (struct fake_memory){{host, block + (4096 - (uintptr_t)block % 4096) % 4096, size, block},
                              kind,
                              number_of(device),
                              NULL};
    pthread_mutex_lock(&blocks_lock);
    m->next = blocks;
    blocks = m;
    pthread_mutex_unlock(&blocks_lock);
    *memory = &m->cpu;
    return WCODEC_OK;
}

/* The device that an address is of; -1: unknown, as memory of the caller's own is. */
static int owner_of(uint64_t native)
{
    int owner = -1;
    pthread_mutex_lock(&blocks_lock);
    for (const struct fake_memory *m = blocks; m != NULL; m = m->next)
        if (native >= (uintptr_t)m->cpu.data && native - (uintptr_t)m->cpu.data < m->cpu.size)
            owner = (int)m->device;
    pthread_mutex_unlock(&blocks_lock);
    return owner;
}

static wcodec_status fake_memory_adopt(struct wcodec_device *device, uint64_t native, uint64_t size,
                                       struct wcodec_memory **memory, wcodec_error *err)
{
    const struct wcodec_host *host = device->host;
    const int owner = owner_of(native);
    wcodec_status status = begin_allocation(err);
    if (status != WCODEC_OK)
        return status;
    if (is_mode("noadopt"))
        return fail(err, WCODEC_ERROR_UNSUPPORTED, "fake memory cannot be taken over");
    if (native % 16 != 0)
        return fail(err, WCODEC_ERROR_USAGE, "fake memory is aligned to 16 bytes");
    if (owner >= 0 && (unsigned)owner != number_of(device))
        return fail(err, WCODEC_ERROR_USAGE, "memory of device %d was given to device %u", owner,
                    number_of(device));
    struct fake_memory *m = wcodec_alloc(host->allocator, sizeof *m);
    if (m == NULL)
        return fail(err, WCODEC_ERROR_MEMORY, "out of memory");
    *m = (struct fake_memory){{host, (uint8_t *)(uintptr_t)native, size, NULL},
                              WCODEC_MEMORY_DEVICE,
                              number_of(device),
                              NULL};
    *memory = &m->cpu;
    return WCODEC_OK;
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
    const wcodec_allocator *allocator = memory->host->allocator;
    pthread_mutex_lock(&blocks_lock);
    for (struct fake_memory **m = &blocks; *m != NULL; m = &(*m)->next) {
        if (&(*m)->cpu == memory) {
            *m = (*m)->next;
            break;
        }
    }
    pthread_mutex_unlock(&blocks_lock);
    wcodec_free(allocator, memory->block);
    wcodec_free(allocator, memory);
}

static wcodec_status fake_queue_create(struct wcodec_device *device, struct wcodec_queue **queue,
                                       wcodec_error *err)
{
    const struct wcodec_host *host = device->host;
    wcodec_status status = begin_allocation(err);
    if (status != WCODEC_OK)
        return status;
    struct fake_queue *q = wcodec_alloc(host->allocator, sizeof *q);
    if (q == NULL)
        return fail(err, WCODEC_ERROR_MEMORY, "out of memory");
    fake_queue_init(q, device, host);
    atomic_fetch_add(&queues_made, is_trusted());
    *queue = &q->cpu;
    return WCODEC_OK;
}

/* A caller's queue is any number but 0: all that it was given is done already. */
static wcodec_status fake_queue_adopt(struct wcodec_device *device, uint64_t native,
                                      struct wcodec_queue **queue, wcodec_error *err)
{
    if (native == 0)
        return fail(err, WCODEC_ERROR_USAGE, "fake queue 0 does not exist");
    return fake_queue_create(device, queue, err);
}

static void fake_queue_destroy(struct wcodec_queue *queue)
{
    fake_queue_drop((struct fake_queue *)queue);
    atomic_fetch_add(&queues_ended, 1);
    wcodec_free(queue->device->host->allocator, queue);
}

static wcodec_status fake_queue_wait(struct wcodec_queue *queue, wcodec_error *err)
{
    if (is_late("late-wait"))
        return fail(err, WCODEC_ERROR_DEVICE, "the fake device was reset");
    return wait_until((struct fake_queue *)queue, UINT64_MAX, err);
}

/* The other queue is not the caller's to touch from here, so events of other queues only mark what
 * was waited for. */
static wcodec_status fake_queue_after(struct wcodec_queue *queue, struct wcodec_event *event,
                                      wcodec_error *err)
{
    struct fake_event *e = (struct fake_event *)event;
    return e->queue != NULL && e->queue != (struct fake_queue *)queue
               ? wait_until(e->queue, e->number, err)
               : WCODEC_OK;
}

static wcodec_status fake_event_record(struct wcodec_queue *queue, struct wcodec_event **event,
                                       wcodec_error *err)
{
    struct wcodec_event *clock;
    wcodec_status status = begin_allocation(err);
    if (status == WCODEC_OK)
        status = wcodec_backend_cpu.event_record(queue, &clock, err);
    if (status != WCODEC_OK)
        return status;
    struct fake_event *e = wcodec_alloc(clock->host->allocator, sizeof *e);
    if (e != NULL)
        *e = (struct fake_event){*clock, (struct fake_queue *)queue,
                                 ((struct fake_queue *)queue)->given};
    wcodec_backend_cpu.event_destroy(clock);
    if (e == NULL)
        return fail(err, WCODEC_ERROR_MEMORY, "out of memory");
    if (((struct fake_queue *)queue)->first == NULL)
        e->queue = NULL; /* passed: it outlives the queue */
    *event = &e->cpu;
    return WCODEC_OK;
}

static wcodec_status fake_event_wait(struct wcodec_event *event, wcodec_error *err)
{
    struct fake_event *e = (struct fake_event *)event;
    if (is_late("late-event"))
        return fail(err, WCODEC_ERROR_DEVICE, "a fake event never came");
    return e->queue != NULL ? wait_until(e->queue, e->number, err) : begin_call(err);
}

static wcodec_status fake_event_query(struct wcodec_event *event, bool *done, wcodec_error *err)
{
    struct fake_event *e = (struct fake_event *)event;
    wcodec_status status = begin_call(err);
    *done = !is_late("late-undone") &&
            (e->queue == NULL || e->queue->first == NULL || e->queue->first->number > e->number);
    return status;
}

static wcodec_status fake_event_elapsed(struct wcodec_event *from, struct wcodec_event *to,
                                        uint64_t *nanoseconds, wcodec_error *err)
{
    return wcodec_backend_cpu.event_elapsed(from, to, nanoseconds, err);
}

static void fake_event_destroy(struct wcodec_event *event)
{
    wcodec_free(event->host->allocator, event);
}

static wcodec_status fake_copy_in(struct wcodec_queue *queue, struct wcodec_memory *to,
                                  uint64_t to_offset, const void *from, uint64_t size,
                                  wcodec_error *err)
{
    wcodec_status status = check_owner(queue, to, err);
    return status == WCODEC_OK ? give(queue,
                                      &(struct fake_operation){
                                          .to = to->data + to_offset, .from = from, .size = size},
                                      err)
                               : status;
}

static wcodec_status fake_copy_out(struct wcodec_queue *queue, void *to, struct wcodec_memory *from,
                                   uint64_t from_offset, uint64_t size, wcodec_error *err)
{
    const bool fails = is_late("late-copy");
    wcodec_status status = check_owner(queue, from, err);
    if (status == WCODEC_OK)
        status =
            give(queue,
                 &(struct fake_operation){
                     .to = to, .from = from->data + from_offset, .size = fails ? size / 2 : size},
                 err);
    return status == WCODEC_OK && fails ? fail(err, WCODEC_ERROR_DEVICE, "the fake bus went away")
                                        : status;
}

static wcodec_status fake_copy(struct wcodec_queue *queue, struct wcodec_memory *to,
                               uint64_t to_offset, struct wcodec_memory *from, uint64_t from_offset,
                               uint64_t size, wcodec_error *err)
{
    wcodec_status status = check_owner(queue, to, err);
    if (status == WCODEC_OK)
        status = check_owner(queue, from, err);
    return status == WCODEC_OK ? give(queue,
                                      &(struct fake_operation){.to = to->data + to_offset,
                                                               .from = from->data + from_offset,
                                                               .size = size},
                                      err)
                               : status;
}

static wcodec_status fake_fill(struct wcodec_queue *queue, struct wcodec_memory *to,
                               uint64_t to_offset, const uint8_t element[8], unsigned element_log2,
                               uint64_t count, wcodec_error *err)
{
    struct fake_operation o = {
        .to = to->data + to_offset, .size = count << element_log2, .element_log2 = element_log2};
    memcpy(o.element, element, (size_t)1 << element_log2);
    wcodec_status status = check_owner(queue, to, err);
    return status == WCODEC_OK ? give(queue, &o, err) : status;
}

/* Of the batch made last: the first byte that it writes. */
static uint8_t *first_byte;

static bool is_wrong(void)
{
    return is_mode("wrong") || is_late("late-wrong");
}

static wcodec_status fake_batch_create(struct wcodec_queue *queue, const struct wcodec_job *jobs,
                                       size_t count, struct wcodec_batch **batch, wcodec_error *err)
{
    wcodec_status status = begin_allocation(err);
    for (size_t i = 0; i < count && status == WCODEC_OK; i++) {
        status = check_owner(queue, jobs[i].memory, err);
        for (unsigned a = 0; a < WCODEC_AREAS && status == WCODEC_OK; a++)
            status = check_owner(queue, jobs[i].places[a].memory, err);
    }
    atomic_fetch_add(&batches_made, is_trusted());
    if (is_wrong())
        first_byte = jobs[0].memory->data + jobs[0].destination;
    return status == WCODEC_OK ? wcodec_backend_cpu.batch_create(queue, jobs, count, batch, err)
                               : status;
}

static wcodec_status fake_batch_decode(struct wcodec_queue *queue, struct wcodec_batch *batch,
                                       wcodec_error *err)
{
    if (is_late("late-decode"))
        return fail(err, WCODEC_ERROR_DEVICE, "an illegal fake instruction");
    return give(queue,
                &(struct fake_operation){.batch = batch, .wrong = is_wrong() ? first_byte : NULL},
                err);
}

static wcodec_status fake_batch_results(struct wcodec_queue *queue, struct wcodec_batch *batch,
                                        struct wcodec_job_result *results, wcodec_error *err)
{
    if (is_late("late-results"))
        return fail(err, WCODEC_ERROR_DEVICE, "fake memory has an error that cannot be corrected");
    wcodec_status status = wait_until((struct fake_queue *)queue, UINT64_MAX, err);
    if (status == WCODEC_OK)
        status = wcodec_backend_cpu.batch_results(queue, batch, results, err);
    if (status == WCODEC_OK && is_late("late-fault"))
        results[0] = (struct wcodec_job_result){0, WCODEC_TILE_CHECK};
    return status;
}

static void fake_batch_destroy(struct wcodec_batch *batch)
{
    wcodec_backend_cpu.batch_destroy(batch);
}

/* A byte for each vector, of more than some. */
static uint64_t fake_wide_room(struct wcodec_device *device, const struct wcodec_fixed *fixed,
                               uint64_t vectors)
{
    enum { SOME = 20 };
    (void)device;
    (void)fixed;
    return is_mode("wide") && vectors > SOME ? vectors : 0;
}

static uint64_t fake_transposed_most(struct wcodec_device *device, const struct wcodec_fixed *fixed)
{
    enum { MOST = 16 };
    return is_mode("wide") ? MOST : wcodec_emulated_products.transposed_most(device, fixed);
}

/* Products by the kernels as C, at once: nothing that they read is under way in another queue. */
static wcodec_status fake_multiply(struct wcodec_device *device, uint64_t queue,
                                   const struct wcodec_product *product, wcodec_error *err)
{
    const wcodec_status status = begin_call(err);
    if (is_mode("wide") && product->room != 0)
        memset((void *)(uintptr_t)product->room, 0xee, (size_t)product->room_size);
    return status == WCODEC_OK ? wcodec_emulated_products.multiply(device, queue, product, err)
                               : status;
}

static wcodec_status fake_decode_rows(struct wcodec_device *device, uint64_t queue,
                                      const struct wcodec_rows *rows, wcodec_error *err)
{
    const wcodec_status status = begin_call(err);
    return status == WCODEC_OK ? wcodec_emulated_products.decode_rows(device, queue, rows, err)
                               : status;
}

static wcodec_status fake_multiply_dense(struct wcodec_device *device, uint64_t queue,
                                         const struct wcodec_dense_product *product,
                                         wcodec_error *err)
{
    const wcodec_status status = begin_call(err);
    return status == WCODEC_OK
               ? wcodec_emulated_products.multiply_dense(device, queue, product, err)
               : status;
}

/* A library is as good as these kernels. */
static uint64_t fake_dense_work(struct wcodec_device *device)
{
    (void)device;
    return is_mode("library") || is_mode("wide") ? 1024 : 0;
}

static wcodec_status fake_measure(struct wcodec_queue *queue, const struct wcodec_matrix *matrix,
                                  wcodec_error *err)
{
    const struct fake_operation o = {
        .step = wcodec_emulated_products.measure, .matrix = *matrix, .fixed = *matrix->fixed};
    wcodec_status status = check_owner(queue, matrix->elements, err);
    return status == WCODEC_OK ? give(queue, &o, err) : status;
}

static wcodec_status fake_code(struct wcodec_queue *queue, const struct wcodec_matrix *matrix,
                               wcodec_error *err)
{
    const struct wcodec_matrix_work w = wcodec_matrix_work(matrix->fixed);
    const struct fake_operation o = {
        .step = wcodec_emulated_products.code,
        .matrix = *matrix,
        .fixed = *matrix->fixed,
        .wrong = is_mode("miscodes") ? matrix->work->data + matrix->work_at + w.differs : NULL};
    wcodec_status status = check_owner(queue, matrix->payload, err);
    return status == WCODEC_OK ? give(queue, &o, err) : status;
}

static wcodec_status fake_keep(struct wcodec_queue *queue, const struct wcodec_job *job,
                               struct wcodec_memory *scratch, struct wcodec_job_result *result,
                               struct wcodec_kept **kept, wcodec_error *err)
{
    wcodec_status status = begin_allocation(err);
    if (status == WCODEC_OK)
        status = check_owner(queue, scratch, err);
    for (unsigned a = 0; a < WCODEC_AREAS && status == WCODEC_OK; a++)
        status = check_owner(queue, job->places[a].memory, err);
    if (status == WCODEC_OK)
        status = wait_until((struct fake_queue *)queue, UINT64_MAX, err);
    if (status == WCODEC_OK)
        status = wcodec_emulated_products.keep(queue, job, scratch, result, kept, err);
    if (status == WCODEC_OK && is_late("late-fault")) {
        *result = (struct wcodec_job_result){0, WCODEC_TILE_CHECK};
        wcodec_emulated_products.kept_free(*kept);
    }
    return status;
}

static uint64_t fake_kept_size(const struct wcodec_kept *kept)
{
    return wcodec_emulated_products.kept_size(kept);
}

static wcodec_status fake_kept_decode(struct wcodec_kept *kept, uint64_t queue, uint64_t begin,
                                      uint64_t end, uint64_t out, wcodec_error *err)
{
    const wcodec_status status = begin_call(err);
    return status == WCODEC_OK
               ? wcodec_emulated_products.kept_decode(kept, queue, begin, end, out, err)
               : status;
}

static uint64_t fake_kept_unit(const struct wcodec_kept *kept)
{
    return wcodec_emulated_products.kept_unit(kept);
}

static uint64_t fake_kept_work(const struct wcodec_kept *kept)
{
    return wcodec_emulated_products.kept_work(kept);
}

static void fake_kept_free(struct wcodec_kept *kept)
{
    wcodec_emulated_products.kept_free(kept);
}

static const struct wcodec_backend_products fake_products = {
    .multiply = fake_multiply,
    .decode_rows = fake_decode_rows,
    .wide_room = fake_wide_room,
    .transposed_most = fake_transposed_most,
    .multiply_dense = fake_multiply_dense,
    .dense_work = fake_dense_work,
    .measure = fake_measure,
    .code = fake_code,
    .keep = fake_keep,
    .kept_size = fake_kept_size,
    .kept_decode = fake_kept_decode,
    .kept_unit = fake_kept_unit,
    .kept_work = fake_kept_work,
    .kept_free = fake_kept_free,
};

static bool fake_deltas(struct wcodec_device *device)
{
    return !is_mode("nodeltas") && wcodec_emulated_deltas.supports(device);
}

/* At once, too, after what the queue has. */
static wcodec_status before_delta(struct wcodec_queue *queue, struct wcodec_memory *elements,
                                  wcodec_error *err)
{
    wcodec_status status = begin_call(err);
    if (status == WCODEC_OK && is_late("late-nocoders"))
        return fail(err, WCODEC_ERROR_UNSUPPORTED, "the fake compiler made no kernel of it");
    if (status == WCODEC_OK)
        status = check_owner(queue, elements, err);
    return status == WCODEC_OK ? wait_until((struct fake_queue *)queue, UINT64_MAX, err) : status;
}

static wcodec_status fake_hash(struct wcodec_queue *queue,
                               const struct wcodec_tensor_leaves *leaves, wcodec_error *err)
{
    const wcodec_status status = before_delta(queue, leaves->elements, err);
    return status == WCODEC_OK ? wcodec_emulated_deltas.hash(queue, leaves, err) : status;
}

static wcodec_status fake_linear(struct wcodec_queue *queue,
                                 const struct wcodec_tensor_linear *tensor, wcodec_error *err)
{
    const wcodec_status status = before_delta(queue, tensor->elements, err);
    return status == WCODEC_OK ? wcodec_emulated_deltas.linear(queue, tensor, err) : status;
}

static wcodec_status fake_patch(struct wcodec_queue *queue, const struct wcodec_tensor_patch *patch,
                                wcodec_error *err)
{
    const wcodec_status status = before_delta(queue, patch->elements, err);
    return status == WCODEC_OK ? wcodec_emulated_deltas.patch(queue, patch, err) : status;
}

static wcodec_status fake_find(struct wcodec_queue *queue, const struct wcodec_tensor_changes *c,
                               wcodec_error *err)
{
    wcodec_status status = before_delta(queue, c->elements, err);
    if (status == WCODEC_OK)
        status = check_owner(queue, c->base, err);
    if (status == WCODEC_OK)
        status = wcodec_emulated_deltas.find(queue, c, err);
    /* The longest gaps' class. */
    for (unsigned i = WCODEC_CHANGES_GAPS;
         i-- > 0 && status == WCODEC_OK && is_late("late-mistallies");) {
        uint8_t *const count = c->work->data + 4 * (size_t)i;
        const bool any = (count[0] | count[1] | count[2] | count[3]) != 0;
        memset(count, 0, 4);
        if (any)
            break;
    }
    return status;
}

static wcodec_status fake_code_changes(struct wcodec_queue *queue,
                                       const struct wcodec_tensor_changes *c, bool prove,
                                       wcodec_error *err)
{
    const struct wcodec_changes_work w = wcodec_changes_work(c);
    wcodec_status status = before_delta(queue, c->work, err);
    if (status == WCODEC_OK)
        status = check_owner(queue, c->streams, err);
    if (status == WCODEC_OK && is_late("late-misorders"))
        memset(c->work->data + w.slots, 0, 8); /* positions of the first tile */
    if (status == WCODEC_OK)
        status = wcodec_emulated_deltas.code(queue, c, prove, err);
    /* Of the first tile. */
    uint8_t *const size = c->work->data + w.coded;
    if (status == WCODEC_OK && is_late("late-missizes") && (size[0] | size[1]) != 0)
        size[0]++;
    return status;
}

static const struct wcodec_backend_deltas fake_delta_functions = {
    fake_deltas, fake_hash, fake_linear, fake_patch, fake_find, fake_code_changes};

static bool fake_codes(struct wcodec_device *device, const struct wcodec_tiling *tiling)
{
    return wcodec_fibers_supported() && wcodec_emulated_encoders.supports(device, tiling);
}

static wcodec_status fake_code_tensor(struct wcodec_queue *queue,
                                      const struct wcodec_tensor_coding *coding, wcodec_error *err)
{
    wcodec_status status = before_delta(queue, coding->elements, err);
    if (status == WCODEC_OK)
        status = wcodec_emulated_encoders.code(queue, coding, err);
    if (status == WCODEC_OK && is_late("late-miscodes"))
        coding->areas[WCODEC_AREA_RAW].memory->data[coding->areas[WCODEC_AREA_RAW].offset] ^= 1;
    return status;
}

static wcodec_status fake_measure_tensor(struct wcodec_queue *queue,
                                         const struct wcodec_tensor_measure *m, wcodec_error *err)
{
    const wcodec_status status = before_delta(queue, m->elements, err);
    return status == WCODEC_OK ? wcodec_emulated_encoders.measure(queue, m, err) : status;
}

static const struct wcodec_backend_encoders fake_encoders = {fake_codes, fake_code_tensor,
                                                             fake_measure_tensor};

static bool fake_plan_rollout(struct wcodec_device *device,
                              const struct wcodec_rollout_sizes *sizes,
                              struct wcodec_rollout_plan *plan)
{
    return !is_mode("norollouts") && wcodec_emulated_rollouts.plan(device, sizes, plan);
}

static wcodec_status fake_run_rollout(struct wcodec_queue *queue,
                                      const struct wcodec_ensemble_rollout *rollout,
                                      wcodec_error *err)
{
    wcodec_status status = before_delta(queue, rollout->weights, err);
    if (status == WCODEC_OK)
        status = check_owner(queue, rollout->work, err);
    return status == WCODEC_OK ? wcodec_emulated_rollouts.run(queue, rollout, err) : status;
}

static wcodec_status fake_run_many(struct wcodec_queue *queue,
                                   const struct wcodec_many_rollouts *rollouts, wcodec_error *err)
{
    wcodec_status status = before_delta(queue, rollouts->weights, err);
    if (status == WCODEC_OK)
        status = check_owner(queue, rollouts->work, err);
    return status == WCODEC_OK ? wcodec_emulated_rollouts.run_many(queue, rollouts, err) : status;
}

static wcodec_status fake_run_sequences(struct wcodec_device *device, uint64_t queue,
                                        const struct wcodec_sequences *sequences, wcodec_error *err)
{
    wcodec_status status = begin_call(err);
    if (status == WCODEC_OK && is_late("late-nocoders"))
        status = fail(err, WCODEC_ERROR_UNSUPPORTED, "the fake compiler made no kernel of it");
    return status == WCODEC_OK
               ? wcodec_emulated_rollouts.run_sequences(device, queue, sequences, err)
               : status;
}

static const struct wcodec_backend_rollouts fake_rollouts = {fake_plan_rollout, fake_run_rollout,
                                                             fake_run_many, fake_run_sequences};

static atomic_uint assignments; /* that late-stale was asked for */

static bool fake_takes_vectors(struct wcodec_device *device,
                               const struct wcodec_vectors_shape *shape)
{
    return !is_mode("novectors") && wcodec_emulated_vectors.supports(device, shape);
}

static bool fake_multiplies(struct wcodec_device *device, const struct wcodec_vectors_shape *shape)
{
    return wcodec_emulated_vectors.multiplies(device, shape);
}

static wcodec_status fake_run_vectors(struct wcodec_queue *queue,
                                      const struct wcodec_vectors_step *step, wcodec_error *err)
{
    wcodec_status status = before_delta(queue, step->rows, err);
    if (status == WCODEC_OK)
        status = check_owner(queue, step->work, err);
    if (status == WCODEC_OK)
        status = check_owner(queue, step->anchors, err);
    const bool idle =
        is_late("late-idle") || (is_late("late-stale") && step->kind == WCODEC_VECTORS_ASSIGN &&
                                 atomic_fetch_add(&assignments, 1) >= 2);
    return status == WCODEC_OK && !idle ? wcodec_emulated_vectors.run(queue, step, err) : status;
}

static const struct wcodec_backend_vectors fake_vectors = {fake_takes_vectors, fake_multiplies,
                                                           fake_run_vectors};

static bool fake_takes_searches(struct wcodec_device *device,
                                const struct wcodec_search_shape *shape)
{
    return !is_mode("novectors") && wcodec_emulated_searches.supports(device, shape);
}

static wcodec_status fake_run_search(struct wcodec_queue *queue,
                                     const struct wcodec_search_step *step, wcodec_error *err)
{
    wcodec_status status = before_delta(queue, step->codes, err);
    if (status == WCODEC_OK)
        status = check_owner(queue, step->vectors, err);
    if (status == WCODEC_OK)
        status = check_owner(queue, step->work, err);
    return status == WCODEC_OK ? wcodec_emulated_searches.run(queue, step, err) : status;
}

static const struct wcodec_backend_searches fake_searches = {fake_takes_searches, fake_run_search};

static wcodec_status fake_peer_open(struct wcodec_device *from, struct wcodec_device *to,
                                    wcodec_error *err)
{
    const wcodec_status status = begin_call(err);
    if (status == WCODEC_OK && is_mode("nopeers"))
        return fail(err, WCODEC_ERROR_UNSUPPORTED, "no fake link goes from device %u to device %u",
                    number_of(from), number_of(to));
    return status;
}

static wcodec_status fake_peer_copy(struct wcodec_queue *queue, struct wcodec_memory *to,
                                    uint64_t to_offset, struct wcodec_memory *from,
                                    uint64_t from_offset, uint64_t size, wcodec_error *err)
{
    if (is_late("late-peer"))
        return fail(err, WCODEC_ERROR_DEVICE, "the fake link went down");
    wcodec_status status = check_owner(queue, from, err);
    return status == WCODEC_OK ? give(queue,
                                      &(struct fake_operation){.to = to->data + to_offset,
                                                               .from = from->data + from_offset,
                                                               .size = size},
                                      err)
                               : status;
}

static const struct wcodec_backend_peers fake_peers = {fake_peer_open, fake_peer_copy};

const struct wcodec_backend wcodec_backend_fake = {
    WCODEC_BACKEND_HEAD,
    .name = "fake",
    .products = &fake_products,
    .encoders = &fake_encoders,
    .deltas = &fake_delta_functions,
    .rollouts = &fake_rollouts,
    .vectors = &fake_vectors,
    .searches = &fake_searches,
    .peers = &fake_peers,
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
