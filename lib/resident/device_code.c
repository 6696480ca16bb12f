/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "resident/device_code.h"
#include "core/error.h"
#include "encode/fixed.h"
#include "read/reader.h"

wcodec_status wcodec_resident_coder_allocate(const struct wcodec_resident_coder *c,
                                             enum wcodec_memory_kind kind, uint64_t size,
                                             struct wcodec_memory **memory, wcodec_error *err)
{
    wcodec_error e = {0};
    const wcodec_status status =
        wcodec_opened_allocate(c->resident->device, kind, size, memory, &e);
    return status == WCODEC_OK ? status : wcodec_resident_failed(c->resident, status, &e, err);
}

void wcodec_resident_coder_prefix(const struct wcodec_resident_coder *c, uint64_t tensor,
                                  wcodec_error *err)
{
    const struct wcodec_shard *shard;
    const struct wcodec_entry *named = wcodec_reader_entry_of_tensor(c->reader, tensor, &shard);
    wcodec_shard_prefix(shard, named, err);
}

static struct wcodec_matrix matrix_of(const struct wcodec_resident_coder *c,
                                      const struct wcodec_resident_slot *s,
                                      const struct wcodec_resident_matrix *m)
{
    return (struct wcodec_matrix){.fixed = m->suits ? &m->plan : &m->view,
                                  .elements = s->elements,
                                  .elements_at = m->elements_at,
                                  .work = s->work,
                                  .work_at = m->work_at,
                                  .payload = m->item->memory,
                                  .scratch = c->scratch,
                                  .scratch_size = c->scratch_size};
}

static uint8_t *host_of(const struct wcodec_resident_coder *c, const struct wcodec_resident_slot *s,
                        const struct wcodec_resident_matrix *m)
{
    return (uint8_t *)c->b->memory_pointer(s->host) + m->work_at;
}

/* Shifts and counts of what the slot has, on their way to the host. */
wcodec_status wcodec_resident_measure(const struct wcodec_resident_coder *c,
                                      struct wcodec_resident_slot *s, wcodec_error *err)
{
    wcodec_error e = {0};
    wcodec_status status = WCODEC_OK;
    for (size_t i = 0; i < s->count && status == WCODEC_OK; i++) {
        struct wcodec_resident_matrix *m = &s->matrices[i];
        m->suits = false;
        const struct wcodec_matrix matrix = matrix_of(c, s, m);
        status = c->b->products->measure(c->queue, &matrix, &e);
        if (status == WCODEC_OK)
            status = c->b->copy_out(c->queue, host_of(c, s, m), s->work, m->work_at,
                                    wcodec_matrix_work(&m->view).firsts, &e);
        if (status != WCODEC_OK) {
            wcodec_resident_failed(c->resident, status, &e, err);
            wcodec_resident_coder_prefix(c, m->tensor, err);
        }
    }
    return status;
}

/* The number of each tile's first spilled element, and that nothing is known to differ. */
static void number_spilled(const struct wcodec_resident_matrix *m, uint8_t *host)
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
    const struct wcodec_resident_coder *coder;
    struct wcodec_resident_slot *s;
};

static void plan(void *argument, size_t i)
{
    const struct planning *p = argument;
    struct wcodec_resident_matrix *m = &p->s->matrices[i];
    uint8_t *host = host_of(p->coder, p->s, m);
    const struct wcodec_matrix_work w = wcodec_matrix_work(&m->view);
    const struct wcodec_fixed_counts *first = (const void *)(host + w.counts),
                                     *const counts[WCODEC_FIXED_CHOICES] = {first,
                                                                            first + m->view.tiles};
    /* Products have no foreign elements. */
    m->suits = wcodec_fixed_plan(&m->view, counts, &m->plan) && m->plan.foreign == 0;
    if (m->suits)
        number_spilled(m, host);
    m->item->held = m->suits ? m->plan.payload_size : m->view.size;
}

/* Where there is none code_matrix() says so. */
static void reserve(void *argument, size_t i)
{
    const struct planning *p = argument;
    const struct wcodec_resident_matrix *m = &p->s->matrices[i];
    (void)wcodec_opened_allocate(p->coder->resident->device, WCODEC_MEMORY_DEVICE, m->item->held,
                                 &m->item->memory, NULL);
}

static wcodec_status code_fixed(const struct wcodec_resident_coder *c,
                                const struct wcodec_resident_slot *s,
                                struct wcodec_resident_matrix *m, wcodec_error *e)
{
    static const uint8_t zero[8] = {0};
    const struct wcodec_fixed *f = &m->plan;
    const struct wcodec_matrix_work w = wcodec_matrix_work(f);
    const struct wcodec_backend *b = c->b;
    const uint64_t shifts = f->bands * WCODEC_FIXED_ROWS;
    uint8_t *host = host_of(c, s, m);
    const struct wcodec_matrix matrix = matrix_of(c, s, m);
    wcodec_status status =
        b->copy(c->queue, m->item->memory, 0, s->work,
                m->work_at + (f->bits - WCODEC_FIXED_BITS_MIN) * shifts, shifts, e);
    if (status == WCODEC_OK)
        status = b->fill(c->queue, m->item->memory, f->checks_begin, zero, 2,
                         (f->tiles_begin - f->checks_begin) / 4, e);
    if (status == WCODEC_OK)
        status = b->copy_in(c->queue, s->work, m->work_at + w.firsts, host + w.firsts,
                            w.size - w.firsts, e);
    if (status == WCODEC_OK)
        status = b->products->code(c->queue, &matrix, e);
    return status == WCODEC_OK
               ? b->copy_out(c->queue, host + w.differs, s->work, m->work_at + w.differs, 4, e)
               : status;
}

static wcodec_status code_matrix(const struct wcodec_resident_coder *c,
                                 const struct wcodec_resident_slot *s,
                                 struct wcodec_resident_matrix *m, wcodec_error *err)
{
    struct wcodec_resident_item *item = m->item;
    wcodec_error e = {0};
    wcodec_status status = WCODEC_OK;
    if (item->memory == NULL)
        status =
            wcodec_resident_coder_allocate(c, WCODEC_MEMORY_DEVICE, item->held, &item->memory, err);
    if (status != WCODEC_OK)
        return status;
    item->form = m->suits ? WCODEC_RESIDENT_FIXED : WCODEC_RESIDENT_PLAIN;
    if (m->suits)
        item->fixed.plan = m->plan;
    status = m->suits ? code_fixed(c, s, m, &e)
                      : c->b->copy(c->queue, item->memory, 0, s->elements, m->elements_at,
                                   m->view.size, &e);
    return status == WCODEC_OK ? status : wcodec_resident_failed(c->resident, status, &e, err);
}

void wcodec_resident_plan(const struct wcodec_resident_coder *c, struct wcodec_resident_slot *s)
{
    struct planning p = {c, s};
    wcodec_run(c->resident->context, plan, &p, s->count);
}

void wcodec_resident_reserve(const struct wcodec_resident_coder *c, struct wcodec_resident_slot *s)
{
    struct planning p = {c, s};
    wcodec_run(c->resident->context, reserve, &p, s->count);
}

wcodec_status wcodec_resident_code(const struct wcodec_resident_coder *c,
                                   struct wcodec_resident_slot *s, wcodec_error *err)
{
    wcodec_status status = WCODEC_OK;
    for (size_t i = 0; i < s->count && status == WCODEC_OK; i++) {
        status = code_matrix(c, s, &s->matrices[i], err);
        if (status != WCODEC_OK)
            wcodec_resident_coder_prefix(c, s->matrices[i].tensor, err);
    }
    s->coded = true;
    return status;
}

wcodec_status wcodec_resident_check_coded(const struct wcodec_resident_coder *c,
                                          struct wcodec_resident_slot *s, wcodec_error *err)
{
    for (size_t i = 0; i < s->count && s->coded; i++) {
        const struct wcodec_resident_matrix *m = &s->matrices[i];
        if (!m->suits ||
            wcodec_load_u32(host_of(c, s, m) + wcodec_matrix_work(&m->plan).differs) == 0)
            continue;
        const wcodec_error e = {
            .text = "what it coded does not decode to the tensor: it computes wrongly"};
        wcodec_resident_failed(c->resident, WCODEC_ERROR_DEVICE, &e, err);
        wcodec_resident_coder_prefix(c, m->tensor, err);
        return WCODEC_ERROR_DEVICE;
    }
    s->coded = false;
    return WCODEC_OK;
}

wcodec_status wcodec_resident_coder_wait(const struct wcodec_resident_coder *c, wcodec_error *err)
{
    wcodec_error e = {0};
    const wcodec_status status = c->b->queue_wait(c->queue, &e);
    return status == WCODEC_OK ? status : wcodec_resident_failed(c->resident, status, &e, err);
}
