/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Tensors become resident on a device without passing through host memory: they are loaded to where
 * they stay, and matrices to one of four slots, from where the device codes them at a fixed rate.
 * While one slot is being loaded, and the one before it comes to its end, the one before that is
 * planned by the host from what the device has measured, and coded. */
#include "core/error.h"
#include "core/memory.h"
#include "encode/fixed.h"
#include "read/reader.h"
#include "resident/resident.h"
#include <inttypes.h>
#include <string.h>
#include <wcodec/load.h>

enum { SLOTS = 4, PLACE = 256 /* bytes that places are multiples of */ };

/* Decoded bytes of a round, but for its last tensor: some rounds, if that does not make them small.
 */
enum { ROUNDS = 8 };
#define ROUND_MIN ((uint64_t)64 << 10)
#define ROUND_MAX ((uint64_t)128 << 20)
#define SCRATCH_BYTES ((uint64_t)16 << 20)

struct matrix {
    uint64_t tensor; /* its number in the reader */
    struct wcodec_resident_item *item;
    struct wcodec_fixed view, plan;
    uint64_t elements_at, work_at;
    bool suits; /* the fixed rate */
};

struct slot {
    struct wcodec_memory *elements, *work;
    uint64_t size;              /* of `elements` */
    struct wcodec_memory *host; /* as much as `work`, pinned */
    uint64_t work_size;
    struct matrix *matrices;
    size_t count;
    wcodec_loading *loading; /* NULL: there is none */
    uint64_t bytes;          /* that it loads */
    bool coded;              /* but perhaps not compared yet */
};

struct loader {
    const wcodec_reader *reader;
    wcodec_resident *resident;
    const struct wcodec_backend *b;
    struct wcodec_queue *queue;
    const struct wcodec_resident_wanted *wanted;
    size_t count, next; /* of `wanted` */
    wcodec_load_item *items;
    struct wcodec_memory *scratch;
    uint64_t round, slot_size, scratch_size;
    struct slot slots[SLOTS];
};

static wcodec_status allocate(const struct loader *l, enum wcodec_memory_kind kind, uint64_t size,
                              struct wcodec_memory **memory, wcodec_error *err)
{
    wcodec_error e = {0};
    const wcodec_status status =
        wcodec_opened_allocate(l->resident->device, kind, size, memory, &e);
    return status == WCODEC_OK ? status : wcodec_resident_failed(l->resident, status, &e, err);
}

/* Put file and tensor in front of an error. */
static void name_error(const struct loader *l, uint64_t tensor, wcodec_error *err)
{
    const struct wcodec_shard *shard;
    const struct wcodec_entry *named = wcodec_reader_entry_of_tensor(l->reader, tensor, &shard);
    wcodec_shard_prefix(shard, named, err);
}

static void release(const struct loader *l, struct wcodec_memory **memory)
{
    if (*memory != NULL)
        l->b->memory_free(*memory);
    *memory = NULL;
}

static uint64_t place_of(uint64_t size)
{
    return wcodec_align_u64(size, PLACE);
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
        if (l->scratch_size < band)
            l->scratch_size = band;
    }
    l->round = total / ROUNDS;
    l->round = l->round < ROUND_MIN ? ROUND_MIN : l->round > ROUND_MAX ? ROUND_MAX : l->round;
    l->slot_size = all < l->round ? all : l->round;
    if (l->scratch_size != 0 && l->scratch_size < SCRATCH_BYTES)
        l->scratch_size = all < SCRATCH_BYTES ? all : SCRATCH_BYTES;
    return WCODEC_OK;
}

static wcodec_status begin(struct loader *l, wcodec_error *err)
{
    const wcodec_allocator *allocator = &l->resident->context->allocator;
    wcodec_error e = {0};
    bool all = true;
    wcodec_status status = measure_all(l, err);
    if (status != WCODEC_OK)
        return status;
    l->items = wcodec_alloc_array(allocator, l->count, sizeof *l->items);
    for (unsigned i = 0; i < SLOTS; i++) {
        l->slots[i].matrices =
            wcodec_alloc_array(allocator, l->count, sizeof *l->slots[i].matrices);
        all = all && l->slots[i].matrices != NULL;
    }
    if (l->items == NULL || !all)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for %zu tensors", l->count);
    status = l->b->queue_create(l->resident->device->device, &l->queue, &e);
    if (status != WCODEC_OK)
        return wcodec_resident_failed(l->resident, status, &e, err);
    return l->scratch_size != 0
               ? allocate(l, WCODEC_MEMORY_DEVICE, l->scratch_size, &l->scratch, err)
               : WCODEC_OK;
}

/* All queues have been waited for. Of what loads keep for the next one the memory is the device's
 * that tensors are to stay in. */
static void end(struct loader *l)
{
    const wcodec_allocator *allocator = &l->resident->context->allocator;
    for (unsigned i = 0; i < SLOTS; i++) {
        release(l, &l->slots[i].host);
        release(l, &l->slots[i].work);
        release(l, &l->slots[i].elements);
        wcodec_free(allocator, l->slots[i].matrices);
    }
    release(l, &l->scratch);
    wcodec_keep_free(&l->resident->device->keep, l->b, WCODEC_MEMORY_DEVICE);
    if (l->queue != NULL)
        l->b->queue_destroy(l->queue);
    wcodec_free(allocator, l->items);
}

/* Memory for as much to measure, which the slot keeps for the next time. */
static wcodec_status reserve_work(const struct loader *l, struct slot *s, uint64_t size,
                                  wcodec_error *err)
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
static wcodec_status reserve_elements(const struct loader *l, struct slot *s, uint64_t size,
                                      wcodec_error *err)
{
    size = size > l->slot_size ? size : l->slot_size;
    if (size <= s->size)
        return WCODEC_OK;
    s->size = 0;
    release(l, &s->elements);
    wcodec_status status = allocate(l, WCODEC_MEMORY_DEVICE, size, &s->elements, err);
    if (status == WCODEC_OK)
        s->size = size;
    return status;
}

/* The next tensor goes to the slot, if there is room, or to memory of its own. */
static wcodec_status take(struct loader *l, struct slot *s, uint64_t *at, uint64_t *work_at,
                          wcodec_load_item *to, bool *taken, wcodec_error *err)
{
    const struct wcodec_resident_wanted *w = &l->wanted[l->next];
    struct wcodec_resident_item *item = w->item;
    struct matrix m = {.tensor = w->tensor, .item = item, .elements_at = *at, .work_at = *work_at};
    wcodec_status status = WCODEC_OK;
    *taken = w->columns == 0 || *at == 0 || *at + item->entry.size <= s->size;
    if (!*taken)
        return WCODEC_OK;
    *to = (wcodec_load_item){.tensor = w->tensor, .size = item->entry.size};
    if (w->columns == 0) {
        status = allocate(l, WCODEC_MEMORY_DEVICE, item->entry.size, &item->memory, err);
        if (status == WCODEC_OK)
            to->destination = l->b->memory_native(item->memory);
        item->form = WCODEC_RESIDENT_PLAIN;
        item->held = item->entry.size;
        return status;
    }
    status = derive(w, &m.view, err);
    if (status == WCODEC_OK && *at == 0)
        status = reserve_elements(l, s, item->entry.size, err);
    if (status != WCODEC_OK)
        return status;
    to->destination = l->b->memory_native(s->elements);
    to->offset = *at;
    s->matrices[s->count++] = m;
    *at += place_of(item->entry.size);
    *work_at += place_of(wcodec_matrix_work(&m.view).size);
    return WCODEC_OK;
}

/* Begin to load the next tensors, if there are any left. */
static wcodec_status start(struct loader *l, struct slot *s, wcodec_error *err)
{
    uint64_t at = 0, work_at = 0;
    size_t count = 0;
    bool taken = true;
    wcodec_load_options options;
    wcodec_status status = WCODEC_OK;
    s->bytes = 0;
    s->count = 0;
    s->coded = false;
    for (; l->next < l->count && s->bytes < l->round; l->next++) {
        status = take(l, s, &at, &work_at, &l->items[count], &taken, err);
        if (status != WCODEC_OK)
            name_error(l, l->wanted[l->next].tensor, err);
        if (status != WCODEC_OK || !taken)
            break;
        s->bytes += l->items[count++].size;
    }
    if (status == WCODEC_OK && work_at != 0)
        status = reserve_work(l, s, work_at, err);
    if (status != WCODEC_OK || count == 0)
        return status;
    wcodec_load_options_init(&options);
    options.memory = l->b->name;
    return wcodec_load_start(l->reader, l->items, count, &options, &s->loading, err);
}

static struct wcodec_matrix matrix_of(const struct loader *l, const struct slot *s,
                                      const struct matrix *m)
{
    return (struct wcodec_matrix){.fixed = m->suits ? &m->plan : &m->view,
                                  .elements = s->elements,
                                  .elements_at = m->elements_at,
                                  .work = s->work,
                                  .work_at = m->work_at,
                                  .payload = m->item->memory,
                                  .scratch = l->scratch,
                                  .scratch_size = l->scratch_size};
}

static uint8_t *host_of(const struct loader *l, const struct slot *s, const struct matrix *m)
{
    return (uint8_t *)l->b->memory_pointer(s->host) + m->work_at;
}

/* Shifts and counts of what the slot has, on their way to the host. */
static wcodec_status measure(const struct loader *l, struct slot *s, wcodec_error *err)
{
    wcodec_error e = {0};
    wcodec_status status = WCODEC_OK;
    for (size_t i = 0; i < s->count && status == WCODEC_OK; i++) {
        struct matrix *m = &s->matrices[i];
        m->suits = false;
        const struct wcodec_matrix matrix = matrix_of(l, s, m);
        status = l->b->products->measure(l->queue, &matrix, &e);
        if (status == WCODEC_OK)
            status = l->b->copy_out(l->queue, host_of(l, s, m), s->work, m->work_at,
                                    wcodec_matrix_work(&m->view).firsts, &e);
        if (status != WCODEC_OK) {
            wcodec_resident_failed(l->resident, status, &e, err);
            name_error(l, m->tensor, err);
        }
    }
    return status;
}

/* The number of each tile's first spilled element, and that nothing is known to differ. */
static void number_spilled(const struct matrix *m, uint8_t *host)
{
    /* So many short outliers fit a list that has no others, as most have. */
    const unsigned fit = (m->plan.list * WCODEC_FIXED_LIST_UNIT - 2u) * 2 / 3;
    const struct wcodec_matrix_work w = wcodec_matrix_work(&m->plan);
    const struct wcodec_fixed_counts *counts =
        (const struct wcodec_fixed_counts *)(const void *)(host + w.counts) +
        (m->plan.bits - WCODEC_FIXED_BITS_MIN) * m->plan.tiles;
    uint32_t spilled = 0;
    for (uint64_t tile = 0; tile < m->plan.tiles; tile++) {
        wcodec_store_u32(host + w.firsts + 4 * tile, spilled);
        if ((counts[tile].long_count | counts[tile].foreign) != 0 || counts[tile].short_count > fit)
            spilled += wcodec_fixed_spilled(counts[tile], m->plan.list);
    }
    wcodec_store_u32(host + w.differs, 0);
}

struct planning {
    const struct loader *l;
    struct slot *s;
};

static void plan(void *argument, size_t i)
{
    const struct planning *p = argument;
    struct matrix *m = &p->s->matrices[i];
    uint8_t *host = host_of(p->l, p->s, m);
    const struct wcodec_matrix_work w = wcodec_matrix_work(&m->view);
    const struct wcodec_fixed_counts *first = (const void *)(host + w.counts),
                                     *const counts[WCODEC_FIXED_CHOICES] = {first,
                                                                            first + m->view.tiles};
    /* Products have no foreign elements. */
    m->suits = wcodec_fixed_plan(&m->view, counts, &m->plan) && m->plan.foreign == 0;
    if (m->suits)
        number_spilled(m, host);
    /* Memory takes as long to get; where there is none code_matrix() says so. */
    m->item->held = m->suits ? m->plan.payload_size : m->view.size;
    (void)wcodec_opened_allocate(p->l->resident->device, WCODEC_MEMORY_DEVICE, m->item->held,
                                 &m->item->memory, NULL);
}

static wcodec_status code_fixed(const struct loader *l, const struct slot *s, struct matrix *m,
                                wcodec_error *e)
{
    static const uint8_t zero[8] = {0};
    const struct wcodec_fixed *f = &m->plan;
    const struct wcodec_matrix_work w = wcodec_matrix_work(f);
    const struct wcodec_backend *b = l->b;
    const uint64_t shifts = f->bands * WCODEC_FIXED_ROWS;
    uint8_t *host = host_of(l, s, m);
    const struct wcodec_matrix matrix = matrix_of(l, s, m);
    wcodec_status status =
        b->copy(l->queue, m->item->memory, 0, s->work,
                m->work_at + (f->bits - WCODEC_FIXED_BITS_MIN) * shifts, shifts, e);
    if (status == WCODEC_OK)
        status = b->fill(l->queue, m->item->memory, f->checks_begin, zero, 2,
                         (f->tiles_begin - f->checks_begin) / 4, e);
    if (status == WCODEC_OK)
        status = b->copy_in(l->queue, s->work, m->work_at + w.firsts, host + w.firsts,
                            w.size - w.firsts, e);
    if (status == WCODEC_OK)
        status = b->products->code(l->queue, &matrix, e);
    return status == WCODEC_OK
               ? b->copy_out(l->queue, host + w.differs, s->work, m->work_at + w.differs, 4, e)
               : status;
}

static wcodec_status code_matrix(const struct loader *l, const struct slot *s, struct matrix *m,
                                 wcodec_error *err)
{
    struct wcodec_resident_item *item = m->item;
    wcodec_error e = {0};
    wcodec_status status = WCODEC_OK;
    if (item->memory == NULL)
        status = allocate(l, WCODEC_MEMORY_DEVICE, item->held, &item->memory, err);
    if (status != WCODEC_OK)
        return status;
    item->form = m->suits ? WCODEC_RESIDENT_FIXED : WCODEC_RESIDENT_PLAIN;
    if (m->suits)
        item->fixed.plan = m->plan;
    status = m->suits ? code_fixed(l, s, m, &e)
                      : l->b->copy(l->queue, item->memory, 0, s->elements, m->elements_at,
                                   m->view.size, &e);
    return status == WCODEC_OK ? status : wcodec_resident_failed(l->resident, status, &e, err);
}

/* What was measured is there: plan, and give the queue what is to be coded. */
static wcodec_status code(const struct loader *l, struct slot *s, wcodec_error *err)
{
    struct planning p = {l, s};
    wcodec_status status = WCODEC_OK;
    wcodec_run(l->resident->context, plan, &p, s->count);
    for (size_t i = 0; i < s->count && status == WCODEC_OK; i++) {
        status = code_matrix(l, s, &s->matrices[i], err);
        if (status != WCODEC_OK)
            name_error(l, s->matrices[i].tensor, err);
    }
    s->coded = true;
    return status;
}

/* What was coded has been decoded and compared. */
static wcodec_status check(const struct loader *l, struct slot *s, wcodec_error *err)
{
    for (size_t i = 0; i < s->count && s->coded; i++) {
        const struct matrix *m = &s->matrices[i];
        if (!m->suits ||
            wcodec_load_u32(host_of(l, s, m) + wcodec_matrix_work(&m->plan).differs) == 0)
            continue;
        const wcodec_error e = {
            .text = "what it coded does not decode to the tensor: it computes wrongly"};
        wcodec_resident_failed(l->resident, WCODEC_ERROR_DEVICE, &e, err);
        name_error(l, m->tensor, err);
        return WCODEC_ERROR_DEVICE;
    }
    s->coded = false;
    if (s->size > l->slot_size) {
        release(l, &s->elements);
        s->size = 0;
    }
    return WCODEC_OK;
}

static wcodec_status wait(const struct loader *l, wcodec_error *err)
{
    wcodec_error e = {0};
    const wcodec_status status = l->b->queue_wait(l->queue, &e);
    return status == WCODEC_OK ? status : wcodec_resident_failed(l->resident, status, &e, err);
}

/* A slot that was measured is coded; the one before it has been. */
static wcodec_status advance(const struct loader *l, struct slot *measured, struct slot *before,
                             wcodec_error *err)
{
    wcodec_status status = wait(l, err);
    if (status == WCODEC_OK)
        status = check(l, before, err);
    return status == WCODEC_OK ? code(l, measured, err) : status;
}

/* Wait for a slot's load, and have what it brought measured. */
static wcodec_status finish(const struct loader *l, struct slot *s,
                            struct wcodec_reporter *reporter, wcodec_error *err)
{
    wcodec_status status = WCODEC_OK;
    if (s->loading != NULL) {
        status = wcodec_loading_wait(s->loading, NULL, err);
        wcodec_loading_destroy(s->loading);
        s->loading = NULL;
    }
    if (status == WCODEC_OK)
        status = wcodec_reporter_add(reporter, s->bytes, err);
    return status == WCODEC_OK ? measure(l, s, err) : status;
}

/* Nothing is under way afterwards. */
static wcodec_status stop(const struct loader *l, wcodec_error *err)
{
    for (unsigned i = 0; i < SLOTS; i++)
        if (l->slots[i].loading != NULL) {
            wcodec_loading_cancel(l->slots[i].loading);
            wcodec_loading_destroy(l->slots[i].loading);
        }
    return wait(l, err);
}

static wcodec_status run(struct loader *l, struct wcodec_reporter *reporter, wcodec_error *err)
{
    wcodec_status status = WCODEC_OK;
    /* Three rounds more than there is to load: the last load is finished, coded and compared. */
    for (unsigned i = 0, after = 0; after < 3 && status == WCODEC_OK; i = (i + 1) % SLOTS) {
        struct slot *const s = &l->slots[i], *const ending = &l->slots[(i + 3) % SLOTS],
                           *const measured = &l->slots[(i + 2) % SLOTS],
                           *const coded = &l->slots[(i + 1) % SLOTS];
        status = start(l, s, err);
        if (s->loading == NULL)
            after++;
        if (status == WCODEC_OK)
            status = advance(l, measured, coded, err);
        if (status == WCODEC_OK)
            status = finish(l, ending, reporter, err);
    }
    const wcodec_status stopped = stop(l, status == WCODEC_OK ? err : NULL);
    for (unsigned k = 0; k < SLOTS && status == WCODEC_OK && stopped == WCODEC_OK; k++)
        status = check(l, &l->slots[k], err);
    return status == WCODEC_OK ? stopped : status;
}

wcodec_status wcodec_resident_load(const wcodec_reader *reader, wcodec_resident *resident,
                                   const struct wcodec_resident_wanted *wanted, size_t count,
                                   struct wcodec_reporter *reporter, wcodec_error *err)
{
    struct loader l = {.reader = reader,
                       .resident = resident,
                       .b = resident->device->backend,
                       .wanted = wanted,
                       .count = count};
    wcodec_status status = begin(&l, err);
    if (status == WCODEC_OK)
        status = run(&l, reporter, err);
    end(&l);
    return status;
}
