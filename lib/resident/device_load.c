/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Tensors become resident on a device without passing through host memory, by one load that runs
 * from the first to the last: they are loaded to where they stay, and matrices to one of four
 * slots, from where the device codes them at a fixed rate. A slot takes some tensors at a time.
 * When they have arrived they are measured, planned by the host and coded, while the load goes on
 * with those of two slots more; the slot before, which has been coded by then, is given to the load
 * again. */
#include "core/error.h"
#include "core/log.h"
#include "core/memory.h"
#include "core/phases.h"
#include "load/gate.h"
#include "read/reader.h"
#include "resident/device_code.h"
#include <stdlib.h>

enum { SLOTS = 4 };

/* Decoded bytes of a slot's tensors, but for the last one: some times as many are all, if that does
 * not make them small. */
enum { ROUNDS = 8 };
#define ROUND_MIN ((uint64_t)64 << 10)
#define ROUND_MAX ((uint64_t)128 << 20)
#define SCRATCH_BYTES ((uint64_t)16 << 20)

/* What the calling thread does, for the log. */
enum stage { LOADING, QUEUE, PLANNING, MEMORY, CALLS, PLACES, BEGINNING, ENDING, STAGES };

struct loader {
    struct wcodec_resident_coder coder;
    struct wcodec_resident_wanted *wanted; /* in the order of the files */
    size_t count, next;                    /* of `wanted` */
    wcodec_load_item *items;               /* as many; places likewise */
    struct wcodec_load_place *places;
    uint64_t round, slot_size;
    struct wcodec_resident_slot slots[SLOTS];
    struct wcodec_load_gate *gate;
    wcodec_loading *loading;       /* NULL: there is none */
    uint64_t since, taken[STAGES]; /* nanoseconds */
};

/* The time since the last call was this stage's. */
static void count_time(struct loader *l, enum stage stage)
{
    const uint64_t now = wcodec_clock_ns();
    l->taken[stage] += now - l->since;
    l->since = now;
}

static wcodec_status allocate(const struct loader *l, enum wcodec_memory_kind kind, uint64_t size,
                              struct wcodec_memory **memory, wcodec_error *err)
{
    return wcodec_resident_coder_allocate(&l->coder, kind, size, memory, err);
}

static void release(const struct loader *l, struct wcodec_memory **memory)
{
    if (*memory != NULL)
        l->coder.b->memory_free(*memory);
    *memory = NULL;
}

static uint64_t place_of(uint64_t size)
{
    return wcodec_align_u64(size, WCODEC_RESIDENT_PLACE);
}

static wcodec_status derive(const struct wcodec_resident_wanted *w, struct wcodec_fixed *view,
                            wcodec_error *err)
{
    *view = (struct wcodec_fixed){.columns = w->columns, .bits = WCODEC_FIXED_BITS_MIN, .list = 1};
    return wcodec_fixed_derive(view, w->item->entry.size, err);
}

/* How much is loaded at a time, and how large slots and scratch memory are to be. */
static wcodec_status measure_all(struct loader *l, wcodec_error *err)
{
    struct wcodec_resident_coder *c = &l->coder;
    uint64_t all = 0, total = 0;
    for (size_t i = 0; i < l->count; i++) {
        struct wcodec_fixed view;
        total += l->wanted[i].item->entry.size;
        if (l->wanted[i].columns == 0)
            continue;
        wcodec_status status = derive(&l->wanted[i], &view, err);
        if (status != WCODEC_OK)
            return status;
        const uint64_t size = place_of(view.size), band = wcodec_fixed_band_size(&view);
        all += size;
        if (c->scratch_size < band)
            c->scratch_size = band;
    }
    l->round = total / ROUNDS;
    l->round = l->round < ROUND_MIN ? ROUND_MIN : l->round > ROUND_MAX ? ROUND_MAX : l->round;
    l->slot_size = all < l->round ? all : l->round;
    if (c->scratch_size != 0 && c->scratch_size < SCRATCH_BYTES)
        c->scratch_size = all < SCRATCH_BYTES ? all : SCRATCH_BYTES;
    return WCODEC_OK;
}

static int compare_wanted(const void *x, const void *y)
{
    const struct wcodec_resident_wanted *a = x, *b = y;
    if (a->shard != b->shard)
        return a->shard < b->shard ? -1 : 1;
    if (a->payload_offset != b->payload_offset)
        return a->payload_offset < b->payload_offset ? -1 : 1;
    return a->tensor < b->tensor ? -1 : a->tensor > b->tensor;
}

static wcodec_status begin_load(struct loader *l, wcodec_error *err)
{
    wcodec_load_options options;
    qsort(l->wanted, l->count, sizeof *l->wanted, compare_wanted);
    for (size_t i = 0; i < l->count; i++)
        l->items[i] = (wcodec_load_item){.tensor = l->wanted[i].tensor,
                                         .size = l->wanted[i].item->entry.size};
    wcodec_load_options_init(&options);
    options.memory = l->coder.b->name;
    return wcodec_load_start_gated(l->coder.reader, l->items, l->count, &options, &l->gate,
                                   &l->loading, err);
}

static wcodec_status begin(struct loader *l, wcodec_error *err)
{
    struct wcodec_resident_coder *c = &l->coder;
    const wcodec_allocator *allocator = &c->resident->context->allocator;
    wcodec_error e = {0};
    bool all = true;
    wcodec_status status = measure_all(l, err);
    if (status != WCODEC_OK)
        return status;
    l->items = wcodec_alloc_array(allocator, l->count, sizeof *l->items);
    l->places = wcodec_alloc_array(allocator, l->count, sizeof *l->places);
    for (unsigned i = 0; i < SLOTS; i++) {
        l->slots[i].matrices =
            wcodec_alloc_array(allocator, l->count, sizeof *l->slots[i].matrices);
        all = all && l->slots[i].matrices != NULL;
    }
    if (l->items == NULL || l->places == NULL || !all)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for %zu tensors", l->count);
    status = c->b->queue_create(c->resident->device->device, &c->queue, &e);
    if (status != WCODEC_OK)
        return wcodec_resident_failed(c->resident, status, &e, err);
    if (c->scratch_size != 0)
        status = allocate(l, WCODEC_MEMORY_DEVICE, c->scratch_size, &c->scratch, err);
    return status == WCODEC_OK ? begin_load(l, err) : status;
}

/* All queues have been waited for. Of what loads keep for the next one the memory is the device's
 * that tensors are to stay in. */
static void end(struct loader *l)
{
    struct wcodec_resident_coder *c = &l->coder;
    const wcodec_allocator *allocator = &c->resident->context->allocator;
    for (unsigned i = 0; i < SLOTS; i++) {
        release(l, &l->slots[i].host);
        release(l, &l->slots[i].work);
        release(l, &l->slots[i].elements);
        wcodec_free(allocator, l->slots[i].matrices);
    }
    release(l, &c->scratch);
    wcodec_keep_free(&c->resident->device->keep, c->b, WCODEC_MEMORY_DEVICE);
    if (c->queue != NULL)
        c->b->queue_destroy(c->queue);
    wcodec_free(allocator, l->places);
    wcodec_free(allocator, l->items);
}

/* Memory for as much to measure, which the slot keeps for the next time. */
static wcodec_status reserve_work(const struct loader *l, struct wcodec_resident_slot *s,
                                  uint64_t size, wcodec_error *err)
{
    if (size <= s->work_size)
        return WCODEC_OK;
    s->work_size = 0;
    release(l, &s->work);
    release(l, &s->host);
    wcodec_status status = allocate(l, WCODEC_MEMORY_DEVICE, size, &s->work, err);
    if (status == WCODEC_OK)
        status = allocate(l, WCODEC_MEMORY_PINNED, size, &s->host, err);
    if (status == WCODEC_OK)
        s->work_size = size;
    return status;
}

/* Memory for elements: as much as slots have, more only for a matrix that is larger. */
static wcodec_status reserve_elements(const struct loader *l, struct wcodec_resident_slot *s,
                                      uint64_t size, wcodec_error *err)
{
    size = size > l->slot_size ? size : l->slot_size;
    if (size == s->size)
        return WCODEC_OK;
    s->size = 0;
    release(l, &s->elements);
    wcodec_status status = allocate(l, WCODEC_MEMORY_DEVICE, size, &s->elements, err);
    if (status == WCODEC_OK)
        s->size = size;
    return status;
}

/* The next tensor goes to the slot, if there is room, or to memory of its own. */
static wcodec_status take(struct loader *l, struct wcodec_resident_slot *s, uint64_t *at,
                          uint64_t *work_at, bool *taken, wcodec_error *err)
{
    const struct wcodec_resident_wanted *w = &l->wanted[l->next];
    struct wcodec_resident_item *item = w->item;
    struct wcodec_resident_matrix m = {
        .tensor = w->tensor, .item = item, .elements_at = *at, .work_at = *work_at};
    struct wcodec_load_place *to = &l->places[l->next];
    wcodec_status status = WCODEC_OK;
    *taken = w->columns == 0 || *at == 0 || *at + item->entry.size <= s->size;
    if (!*taken)
        return WCODEC_OK;
    if (w->columns == 0) {
        status = allocate(l, WCODEC_MEMORY_DEVICE, item->entry.size, &item->memory, err);
        *to = (struct wcodec_load_place){item->memory, 0};
        item->form = WCODEC_RESIDENT_PLAIN;
        item->held = item->entry.size;
        return status;
    }
    status = derive(w, &m.view, err);
    if (status == WCODEC_OK && *at == 0)
        status = reserve_elements(l, s, item->entry.size, err);
    if (status != WCODEC_OK)
        return status;
    *to = (struct wcodec_load_place){s->elements, *at};
    s->matrices[s->count++] = m;
    *at += place_of(item->entry.size);
    *work_at += place_of(wcodec_matrix_work(&m.view).size);
    return WCODEC_OK;
}

/* Give the load places for the next tensors, if there are any left. */
static wcodec_status admit(struct loader *l, struct wcodec_resident_slot *s, wcodec_error *err)
{
    const size_t first = l->next;
    uint64_t at = 0, work_at = 0;
    bool taken = true;
    wcodec_status status = WCODEC_OK;
    s->bytes = 0;
    s->count = 0;
    while (l->next < l->count && s->bytes < l->round) {
        status = take(l, s, &at, &work_at, &taken, err);
        if (status != WCODEC_OK)
            wcodec_resident_coder_prefix(&l->coder, l->wanted[l->next].tensor, err);
        if (status != WCODEC_OK || !taken)
            break;
        s->bytes += l->items[l->next++].size;
    }
    s->end = l->next;
    if (status == WCODEC_OK && work_at != 0)
        status = reserve_work(l, s, work_at, err);
    if (status == WCODEC_OK && l->next != first)
        wcodec_load_gate_admit(l->gate, l->places + first, l->next - first);
    count_time(l, PLACES);
    return status;
}

/* Wait for a slot's tensors, and have its matrices measured. */
static wcodec_status arrive(struct loader *l, struct wcodec_resident_slot *s,
                            struct wcodec_reporter *reporter, wcodec_error *err)
{
    wcodec_status status = WCODEC_OK;
    if (!wcodec_load_gate_wait(l->gate, s->end))
        status = wcodec_loading_wait(l->loading, NULL, err);
    count_time(l, LOADING);
    if (status == WCODEC_OK)
        status = wcodec_reporter_add(reporter, s->bytes, err);
    if (status == WCODEC_OK)
        status = wcodec_resident_measure(&l->coder, s, err);
    count_time(l, CALLS);
    return status;
}

/* What a slot has is coded; the one before has been, and takes the next tensors. */
static wcodec_status advance(struct loader *l, struct wcodec_resident_slot *s,
                             struct wcodec_resident_slot *before, wcodec_error *err)
{
    wcodec_status status = wcodec_resident_coder_wait(&l->coder, err);
    count_time(l, QUEUE);
    if (status == WCODEC_OK)
        status = wcodec_resident_check_coded(&l->coder, before, err);
    if (status == WCODEC_OK)
        status = admit(l, before, err);
    if (status != WCODEC_OK)
        return status;
    wcodec_resident_plan(&l->coder, s);
    count_time(l, PLANNING);
    wcodec_resident_reserve(&l->coder, s);
    count_time(l, MEMORY);
    status = wcodec_resident_code(&l->coder, s, err);
    count_time(l, CALLS);
    return status;
}

/* Nothing is under way afterwards. */
static wcodec_status stop(struct loader *l, wcodec_status status, wcodec_error *err)
{
    if (l->loading != NULL) {
        if (status != WCODEC_OK)
            wcodec_loading_cancel(l->loading);
        else
            status = wcodec_loading_wait(l->loading, NULL, err);
        wcodec_loading_destroy(l->loading);
        l->loading = NULL;
    }
    if (l->coder.queue == NULL)
        return status;
    const wcodec_status waited =
        wcodec_resident_coder_wait(&l->coder, status == WCODEC_OK ? err : NULL);
    return status == WCODEC_OK ? waited : status;
}

static wcodec_status run(struct loader *l, struct wcodec_reporter *reporter, wcodec_error *err)
{
    wcodec_status status = WCODEC_OK;
    for (unsigned i = 0; i + 1 < SLOTS && status == WCODEC_OK; i++)
        status = admit(l, &l->slots[i], err);
    for (unsigned i = 0; status == WCODEC_OK && l->slots[i % SLOTS].bytes != 0; i++) {
        struct wcodec_resident_slot *s = &l->slots[i % SLOTS];
        status = arrive(l, s, reporter, err);
        if (status == WCODEC_OK)
            status = advance(l, s, &l->slots[(i + SLOTS - 1) % SLOTS], err);
    }
    return status;
}

static double milliseconds(const struct loader *l, enum stage stage)
{
    return 1e-6 * (double)l->taken[stage];
}

static void log_times(const struct loader *l)
{
    wcodec_log(l->coder.resident->context, WCODEC_LOG_DEBUG,
               "resident: beginning %.1f ms, places %.1f, waiting for the load %.1f, for the queue "
               "%.1f, planning %.1f, memory %.1f, calls %.1f, ending %.1f",
               milliseconds(l, BEGINNING), milliseconds(l, PLACES), milliseconds(l, LOADING),
               milliseconds(l, QUEUE), milliseconds(l, PLANNING), milliseconds(l, MEMORY),
               milliseconds(l, CALLS), milliseconds(l, ENDING));
}

wcodec_status wcodec_resident_load(const wcodec_reader *reader, wcodec_resident *resident,
                                   struct wcodec_resident_wanted *wanted, size_t count,
                                   struct wcodec_reporter *reporter, wcodec_error *err)
{
    struct loader l = {
        .coder = {.reader = reader, .resident = resident, .b = resident->device->backend},
        .wanted = wanted,
        .count = count};
    count_time(&l, BEGINNING);
    l.taken[BEGINNING] = 0;
    wcodec_status status = begin(&l, err);
    count_time(&l, BEGINNING);
    if (status == WCODEC_OK)
        status = run(&l, reporter, err);
    status = stop(&l, status, err);
    for (unsigned i = 0; i < SLOTS && status == WCODEC_OK; i++)
        status = wcodec_resident_check_coded(&l.coder, &l.slots[i], err);
    count_time(&l, QUEUE);
    end(&l);
    count_time(&l, ENDING);
    log_times(&l);
    return status;
}
