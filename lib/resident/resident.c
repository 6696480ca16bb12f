/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* What resident tensors are, and their elements: ranges of rows, and rows by an index. */

#include "resident/resident.h"
#include "backends/cpu/cpu_level.h"
#include "core/error.h"
#include "core/memory.h"
#include "read/reader.h"
#include <inttypes.h>
#include <stdatomic.h>
#include <string.h>

enum { COPY_PIECE = 1 << 20 };

uint64_t wcodec_resident_count(const wcodec_resident *resident)
{
    return resident->count;
}

uint64_t wcodec_resident_size(const wcodec_resident *resident)
{
    return resident->size;
}

wcodec_status wcodec_resident_find(const wcodec_resident *resident, const char *name, uint64_t *i,
                                   wcodec_error *err)
{
    if (resident == NULL || name == NULL || i == NULL)
        return wcodec_fail(err, WCODEC_ERROR_USAGE, "wcodec_resident_find: an argument is NULL");
    if (!wcodec_names_find(&resident->names, name, i))
        return wcodec_fail(err, WCODEC_ERROR_NOT_FOUND, "no tensor '%s' is resident", name);
    return WCODEC_OK;
}

wcodec_status wcodec_resident_item(const wcodec_resident *resident, uint64_t i,
                                   const struct wcodec_resident_item **named,
                                   const struct wcodec_resident_item **item, wcodec_error *err)
{
    if (resident == NULL)
        return wcodec_fail(err, WCODEC_ERROR_USAGE, "the resident object is NULL");
    if (i >= resident->count)
        return wcodec_fail(err, WCODEC_ERROR_USAGE,
                           "there is no resident tensor number %" PRIu64 ", there are %" PRIu64, i,
                           resident->count);
    *named = &resident->items[i];
    *item = (*named)->alias_of == UINT64_MAX ? *named : &resident->items[(*named)->alias_of];
    return WCODEC_OK;
}

void wcodec_resident_prefix(const struct wcodec_resident_item *named, wcodec_error *err)
{
    wcodec_error_prefix(err, "tensor '%s'", named->name);
}

wcodec_status wcodec_resident_info(const wcodec_resident *resident, uint64_t i,
                                   wcodec_resident_tensor *info, wcodec_error *err)
{
    const struct wcodec_resident_item *named = NULL, *item = NULL;
    wcodec_status status = wcodec_resident_item(resident, i, &named, &item, err);
    if (status == WCODEC_OK && info == NULL)
        status = wcodec_fail(err, WCODEC_ERROR_USAGE, "wcodec_resident_info: info is NULL");
    if (status == WCODEC_OK)
        *info = (wcodec_resident_tensor){.name = named->name,
                                         .dtype = named->dtype,
                                         .rank = named->rank,
                                         .shape = named->shape,
                                         .size = named->entry.size,
                                         .form = named->form,
                                         .held = named->held,
                                         .alias_of = named->alias_of,
                                         .native = wcodec_resident_native(resident, item)};
    return status;
}

struct wcodec_cpu_fixed_job wcodec_resident_fixed_job(const struct wcodec_resident_item *item,
                                                      const struct wcodec_cpu_fixed_dsp *dsp)
{
    return (struct wcodec_cpu_fixed_job){.dsp = dsp,
                                         .fixed = &item->fixed.plan,
                                         .shifts = item->fixed.front,
                                         .spilled = item->fixed.spilled,
                                         .spilled_end = item->fixed.plan.spilled};
}

/* Tiles were verified when the tensor became resident. */
static wcodec_status decode_fixed(wcodec_context *context, const struct wcodec_resident_item *item,
                                  uint64_t begin, uint64_t end, uint8_t *dst, wcodec_error *err)
{
    const struct wcodec_fixed *f = &item->fixed.plan;
    const uint64_t band = wcodec_fixed_band_size(f), first = begin / band,
                   stop = (end - 1) / band + 1;
    struct wcodec_job job = {
        .fixed = f,
        .modes = item->fixed.front,
        .first = first * f->across,
        .count = (stop - first) * f->across,
        .begin = begin,
        .end = end,
        .places = {[WCODEC_AREA_VALUES] = {.begin = f->spilled_begin, .size = 4 * f->spilled}}};
    const struct wcodec_view view = {
        .data = {[WCODEC_AREA_RAW] = item->fixed.tiles, [WCODEC_AREA_VALUES] = item->fixed.spilled},
        .begin = {[WCODEC_AREA_RAW] = f->tiles_begin, [WCODEC_AREA_VALUES] = f->spilled_begin}};
    wcodec_fixed_place_records(&job);
    return wcodec_decode_on_cpu(context, &job, &view, dst, err);
}

struct copy {
    const uint8_t *from;
    uint8_t *to;
    uint64_t size;
};

static void copy_piece(void *argument, size_t i)
{
    const struct copy *c = argument;
    const uint64_t at = (uint64_t)i * COPY_PIECE,
                   size = c->size - at < COPY_PIECE ? c->size - at : COPY_PIECE;
    memcpy(c->to + at, c->from + at, (size_t)size);
}

wcodec_status wcodec_resident_open(const wcodec_resident *resident,
                                   const struct wcodec_resident_item *item, uint64_t held,
                                   struct wcodec_resident_elements *elements, wcodec_error *err)
{
    *elements = (struct wcodec_resident_elements){.context = resident->context, .item = item};
    if (item->form != WCODEC_RESIDENT_CODED)
        return WCODEC_OK;
    const struct wcodec_decoder_input input = {.context = resident->context,
                                               .source = &elements->source,
                                               .entry = &item->entry,
                                               .held = resident->size + held,
                                               .on_cpu = true};
    wcodec_source_memory(item->bytes, item->entry.payload_size, &elements->source);
    return wcodec_decoder_open(&input, &elements->decoder, err);
}

wcodec_status wcodec_resident_read(struct wcodec_resident_elements *elements, uint64_t begin,
                                   uint64_t end, uint8_t *dst, wcodec_error *err)
{
    const struct wcodec_resident_item *item = elements->item;
    struct wcodec_reporter reporter;
    if (begin == end)
        return WCODEC_OK;
    if (item->form == WCODEC_RESIDENT_CODED) {
        wcodec_reporter_init(&reporter, NULL, end - begin);
        return wcodec_decoder_range(&elements->decoder, begin, end, dst, &reporter, err);
    }
    if (item->form == WCODEC_RESIDENT_FIXED)
        return decode_fixed(elements->context, item, begin, end, dst, err);
    struct copy c = {item->bytes + begin, dst, end - begin};
    wcodec_run(elements->context, copy_piece, &c, (size_t)wcodec_div_up_u64(c.size, COPY_PIECE));
    return WCODEC_OK;
}

void wcodec_resident_close(struct wcodec_resident_elements *elements)
{
    if (elements->item->form == WCODEC_RESIDENT_CODED)
        wcodec_decoder_close(&elements->decoder);
}

static wcodec_status read_bytes(const wcodec_resident *resident,
                                const struct wcodec_resident_item *item, uint64_t begin,
                                uint64_t end, uint8_t *dst, wcodec_error *err)
{
    struct wcodec_resident_elements elements;
    wcodec_status status = wcodec_resident_open(resident, item, 0, &elements, err);
    if (status != WCODEC_OK)
        return status;
    status = wcodec_resident_read(&elements, begin, end, dst, err);
    wcodec_resident_close(&elements);
    return status;
}

wcodec_status wcodec_resident_rows(const struct wcodec_resident_item *named, uint64_t first,
                                   uint64_t count, uint64_t *begin, uint64_t *end,
                                   wcodec_error *err)
{
    const struct wcodec_entry e = {
        .rank = named->rank, .shape = named->shape, .size = named->entry.size};
    return wcodec_entry_rows(&e, first, count, begin, end, err);
}

static wcodec_status check_host(const wcodec_resident *resident, wcodec_error *err)
{
    if (resident->device != NULL)
        return wcodec_fail(err, WCODEC_ERROR_USAGE, "these tensors are in memory of %s",
                           resident->device->name);
    return wcodec_context_usable(resident->context, err);
}

wcodec_status wcodec_resident_decode(const wcodec_resident *resident, uint64_t i, uint64_t first,
                                     uint64_t count, void *dst, size_t dst_size, wcodec_error *err)
{
    const struct wcodec_resident_item *named = NULL, *item = NULL;
    uint64_t begin, end;
    wcodec_status status = wcodec_resident_item(resident, i, &named, &item, err);
    if (status == WCODEC_OK)
        status = check_host(resident, err);
    if (status != WCODEC_OK)
        return status;
    status = wcodec_resident_rows(named, first, count, &begin, &end, err);
    if (status == WCODEC_OK)
        status = wcodec_check_room(end - begin, dst, dst_size, err);
    if (status == WCODEC_OK)
        status = read_bytes(resident, item, begin, end, dst, err);
    if (status != WCODEC_OK)
        wcodec_resident_prefix(named, err);
    return status;
}

/* Rows by an index, which workers take one after the other. */
struct gathering {
    const wcodec_resident *resident;
    const struct wcodec_resident_item *item;
    struct wcodec_cpu_fixed_dsp dsp;
    const int64_t *rows;
    size_t count;
    uint64_t all; /* rows of the tensor */
    uint64_t row_size;
    uint8_t *dst;
    atomic_size_t next;
    atomic_flag failed;
    wcodec_status status; /* of the first that failed; error likewise */
    wcodec_error error;
};

static wcodec_status check_row(const struct gathering *g, size_t i, int64_t row, wcodec_error *err)
{
    if (row >= 0 && (uint64_t)row < g->all)
        return WCODEC_OK;
    return wcodec_fail(err, WCODEC_ERROR_USAGE, "index %zu is row %" PRId64 " of %" PRIu64, i, row,
                       g->all);
}

static void gather_fixed(const struct gathering *g, uint64_t begin, uint8_t *dst)
{
    const struct wcodec_fixed *f = &g->item->fixed.plan;
    const uint64_t end = begin + g->row_size, band = wcodec_fixed_band_size(f);
    struct wcodec_cpu_fixed_job job = wcodec_resident_fixed_job(g->item, &g->dsp);
    job.begin = begin;
    job.end = end;
    job.dst = dst;
    for (uint64_t tile = begin / band * f->across; tile < ((end - 1) / band + 1) * f->across;
         tile++)
        (void)wcodec_cpu_fixed_decode(&job, tile, g->item->fixed.tiles + tile * f->record_size, 0);
}

/* The caller may write to the index meanwhile: what was read once is looked at and used. */
static wcodec_status gather_row(const struct gathering *g,
                                struct wcodec_resident_elements *elements, size_t i,
                                wcodec_error *err)
{
    const int64_t row = g->rows[i];
    uint8_t *dst = g->dst + i * g->row_size;
    wcodec_status status = check_row(g, i, row, err);
    if (status != WCODEC_OK)
        return status;
    const uint64_t begin = (uint64_t)row * g->row_size;
    if (g->item->form == WCODEC_RESIDENT_PLAIN)
        memcpy(dst, g->item->bytes + begin, (size_t)g->row_size);
    else if (g->item->form == WCODEC_RESIDENT_FIXED)
        gather_fixed(g, begin, dst);
    else
        return wcodec_resident_read(elements, begin, begin + g->row_size, dst, err);
    return WCODEC_OK;
}

static wcodec_status gather_rows(struct gathering *g, wcodec_error *err)
{
    struct wcodec_resident_elements elements;
    wcodec_status status = wcodec_resident_open(g->resident, g->item, 0, &elements, err);
    if (status != WCODEC_OK)
        return status;
    for (size_t i; status == WCODEC_OK && (i = atomic_fetch_add(&g->next, 1)) < g->count;)
        status = gather_row(g, &elements, i, err);
    wcodec_resident_close(&elements);
    return status;
}

static void gather_task(void *argument, size_t worker)
{
    struct gathering *g = argument;
    wcodec_error error = {0};
    const wcodec_status status = gather_rows(g, &error);
    (void)worker;
    if (status == WCODEC_OK || atomic_flag_test_and_set(&g->failed))
        return;
    g->error = error;
    g->status = status;
}

static wcodec_status gather(struct gathering *g, const struct wcodec_resident_item *named,
                            size_t dst_size, wcodec_error *err)
{
    const unsigned threads = wcodec_context_threads(g->resident->context);
    uint64_t begin;
    wcodec_status status = WCODEC_OK;
    g->all = named->rank > 0 ? named->shape[0] : 1;
    for (size_t i = 0; i < g->count && status == WCODEC_OK; i++)
        status = check_row(g, i, g->rows[i], err);
    if (status == WCODEC_OK)
        status = wcodec_resident_rows(named, 0, g->count == 0 ? 0 : 1, &begin, &g->row_size, err);
    if (status == WCODEC_OK && g->row_size != 0 && g->count > UINT64_MAX / g->row_size)
        status =
            wcodec_fail(err, WCODEC_ERROR_USAGE, "%zu rows are more than 2^64 bytes", g->count);
    if (status == WCODEC_OK)
        status = wcodec_check_room(g->count * g->row_size, g->dst, dst_size, err);
    if (status != WCODEC_OK || g->count == 0 || g->row_size == 0)
        return status;
    wcodec_cpu_fixed_dsp_init(&g->dsp, wcodec_cpu_levels() & g->resident->context->cpu_mask);
    wcodec_run(g->resident->context, gather_task, g, threads < g->count ? threads : g->count);
    if (g->status != WCODEC_OK && err != NULL)
        *err = g->error;
    return g->status;
}

wcodec_status wcodec_resident_gather(const wcodec_resident *resident, uint64_t i,
                                     const int64_t *rows, size_t count, void *dst, size_t dst_size,
                                     wcodec_error *err)
{
    const struct wcodec_resident_item *named = NULL, *item = NULL;
    wcodec_status status = wcodec_resident_item(resident, i, &named, &item, err);
    if (status == WCODEC_OK)
        status = check_host(resident, err);
    if (status == WCODEC_OK && rows == NULL && count != 0)
        status = wcodec_fail(err, WCODEC_ERROR_USAGE, "wcodec_resident_gather: rows is NULL");
    if (status != WCODEC_OK)
        return status;
    struct gathering g = {.resident = resident,
                          .item = item,
                          .rows = rows,
                          .count = count,
                          .dst = dst,
                          .failed = ATOMIC_FLAG_INIT};
    status = gather(&g, named, dst_size, err);
    if (status != WCODEC_OK)
        wcodec_resident_prefix(named, err);
    return status;
}

void wcodec_resident_drop(struct wcodec_resident_item *item, const wcodec_allocator *allocator)
{
    if (item->fixed.coded.allocator != NULL)
        wcodec_coded_free(&item->fixed.coded);
    wcodec_free(allocator, item->bytes);
    item->bytes = NULL;
    item->fixed.coded.allocator = NULL;
    item->fixed.front = item->fixed.tiles = item->fixed.spilled = NULL;
}

void wcodec_resident_destroy(wcodec_resident *resident)
{
    if (resident == NULL)
        return;
    const wcodec_allocator *allocator = &resident->context->allocator;
    if (resident->work != NULL && wcodec_context_usable(resident->context, NULL) == WCODEC_OK)
        resident->device->backend->memory_free(resident->work);
    for (uint64_t i = 0; i < resident->count; i++) {
        wcodec_resident_unload(resident, &resident->items[i]);
        wcodec_resident_drop(&resident->items[i], allocator);
    }
    wcodec_resident_drop_dense(resident);
    wcodec_resident_forget_outside(resident);
    wcodec_free(allocator, resident->items);
    wcodec_names_free(&resident->names);
    wcodec_arena_free(&resident->arena);
    pthread_mutex_destroy(&resident->launches);
    wcodec_free(allocator, resident);
}
