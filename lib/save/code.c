/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* A tensor in a device's memory is measured and coded there. */
#include "core/dtype.h"
#include "core/error.h"
#include "core/memory.h"
#include "encode/tables.h"
#include "save/coding.h"
#include <string.h>

enum {
    ALIGNMENT = WCODEC_SAVE_ALIGNMENT,
    SPARE = 4096, /* what an area may take more than was thought, beside one part in SHARE */
    SHARE = 32,
    FEW_OUTLIERS = 256 /* one element in so many is expected to be one at most */
};

/* Where kernels read the elements: where they are, or moved to `to` of the lane's memory. */
static wcodec_status find_elements(const struct wcodec_save_placed *p, uint64_t to,
                                   struct wcodec_memory **memory, uint64_t *at, wcodec_error *err)
{
    *memory = p->place->memory;
    *at = p->place->offset;
    if (wcodec_save_is_aligned(p, *at, ALIGNMENT))
        return WCODEC_OK;
    *memory = p->lane->work.memory;
    *at = to;
    return p->b->copy(p->lane->queue, *memory, to, p->place->memory, p->place->offset, p->size,
                      err);
}

/* Bytes of the lane's memory that elements take which must be moved. */
static uint64_t moved_size(const struct wcodec_save_placed *p)
{
    return wcodec_save_is_aligned(p, p->place->offset, ALIGNMENT)
               ? 0
               : wcodec_align_u64(p->size, ALIGNMENT);
}

wcodec_status wcodec_save_measure(struct wcodec_save_coding *k, wcodec_error *err)
{
    struct wcodec_save_placed *p = &k->placed;
    const unsigned log2 = wcodec_dtype_element_log2(k->dtype);
    struct wcodec_tensor_measure m = {.count = p->size >> log2, .element_log2 = log2};
    const struct wcodec_measure_work w = wcodec_measure_work(m.count);
    const uint64_t own = wcodec_align_u64(w.size, ALIGNMENT);
    if (!wcodec_statistics_measure(k->dtype, p->size, k->settings->level, m.fields, &m.field_count))
        return wcodec_fail(err, WCODEC_ERROR_UNSUPPORTED,
                           "its elements are too long to be measured");
    wcodec_status status = wcodec_save_reserve(p, own + moved_size(p), err);
    if (status == WCODEC_OK)
        status = find_elements(p, own, &m.elements, &m.elements_at, err);
    m.work = p->lane->work.memory;
    if (status == WCODEC_OK)
        status = p->b->copy_in(p->lane->queue, m.work, 0, wcodec_log2_table,
                               sizeof wcodec_log2_table, err);
    if (status == WCODEC_OK)
        status = p->b->encoders->measure(p->lane->queue, &m, err);
    if (status == WCODEC_OK)
        status = p->b->copy_out(p->lane->queue, p->lane->staging.data, m.work, w.result,
                                sizeof(struct wcodec_measured), err);
    return status == WCODEC_OK ? p->b->queue_wait(p->lane->queue, err) : status;
}

/* What areas take, in bytes; of the words an estimate. */
static struct wcodec_tensor_totals expected(const struct wcodec_plan *plan)
{
    const struct wcodec_tiling *t = plan->tiling;
    const struct wcodec_tensor_work w = wcodec_tensor_work(t);
    const uint64_t full = wcodec_tile_raw_size(t, wcodec_tile_elements(t, 0), WCODEC_STREAM_RANS),
                   last = wcodec_tile_raw_size(t, wcodec_tile_elements(t, t->tiles - 1),
                                               WCODEC_STREAM_RANS),
                   words = plan->word_bits / 16, raw = (t->tiles - 1) * full + last,
                   most = w.words_part * t->tiles / 2;
    struct wcodec_tensor_totals e = {.words = words + words / SHARE + SPARE,
                                     .streams = t->tiles,
                                     .raw = raw + raw / SHARE + SPARE,
                                     .outliers = t->elements / FEW_OUTLIERS + SPARE};
    e.words = e.words < most ? e.words : most;
    return e;
}

/* The place of an area of `size` bytes in the lane's memory, from *at on. */
static struct wcodec_area_place area(uint64_t *at, uint64_t size)
{
    const struct wcodec_area_place place = {.offset = *at, .size = size};
    *at = wcodec_align_u64(*at + size, ALIGNMENT);
    return place;
}

/* All that coding takes in the lane's memory: the work area, in which the tensor is decoded later;
 * directory and areas; hashes; and elements that must be moved. */
static wcodec_status make_room(struct wcodec_save_coding *k,
                               const struct wcodec_tensor_totals *most, wcodec_error *err)
{
    struct wcodec_save_placed *p = &k->placed;
    const struct wcodec_tiling *t = k->plan->tiling;
    const uint64_t work = wcodec_tensor_work(t).size;
    struct wcodec_tensor_coding *o = &k->own;
    uint64_t at = wcodec_align_u64(work > p->size ? work : p->size, ALIGNMENT);
    o->tiling = t;
    o->directory = area(&at, 12 * t->tiles);
    o->areas[WCODEC_AREA_STATES] = area(&at, 128 * t->tiles);
    o->areas[WCODEC_AREA_WORDS] = area(&at, 2 * most->words);
    o->areas[WCODEC_AREA_RAW] = area(&at, most->raw);
    o->areas[WCODEC_AREA_POSITIONS] = area(&at, 2 * most->outliers);
    o->areas[WCODEC_AREA_VALUES] = area(&at, most->outliers);
    k->values_again = area(&at, most->outliers + 16).offset;
    wcodec_status status = wcodec_save_reserve(p, at + moved_size(p), err);
    if (status == WCODEC_OK)
        status = find_elements(p, at, &o->elements, &o->elements_at, err);
    o->work = o->directory.memory = p->lane->work.memory;
    for (unsigned a = 0; a < WCODEC_AREAS; a++)
        o->areas[a].memory = o->work;
    return status;
}

static bool fit(const struct wcodec_save_coding *k)
{
    const struct wcodec_area_place *a = k->own.areas;
    const struct wcodec_tensor_totals *t = &k->totals;
    return 2 * t->words <= a[WCODEC_AREA_WORDS].size && t->raw <= a[WCODEC_AREA_RAW].size &&
           t->outliers <= a[WCODEC_AREA_VALUES].size &&
           2 * t->outliers <= a[WCODEC_AREA_POSITIONS].size;
}

/* Once, with room for so much. */
static wcodec_status code_once(struct wcodec_save_coding *k,
                               const struct wcodec_tensor_totals *most, wcodec_error *err)
{
    struct wcodec_save_placed *p = &k->placed;
    const struct wcodec_encode_table *from = &k->plan->tables[0][0];
    struct wcodec_device_table *table = (void *)p->lane->staging.data;
    wcodec_status status = make_room(k, most, err);
    if (status != WCODEC_OK)
        return status;
    wcodec_table_for_device(from, table);
    k->own.base = from->table.base;
    k->own.common = from->most_frequent;
    status = p->b->copy_in(p->lane->queue, k->own.work, 0, table, sizeof *table, err);
    if (status == WCODEC_OK)
        status = p->b->encoders->code(p->lane->queue, &k->own, err);
    if (status == WCODEC_OK)
        status = p->b->copy_out(p->lane->queue, table, k->own.work,
                                wcodec_tensor_work(k->plan->tiling).totals, sizeof k->totals, err);
    if (status == WCODEC_OK)
        status = p->b->queue_wait(p->lane->queue, err);
    if (status == WCODEC_OK)
        memcpy(&k->totals, table, sizeof k->totals);
    return status;
}

wcodec_status wcodec_save_computes_wrongly(const char *what, wcodec_error *err)
{
    return wcodec_fail(err, WCODEC_ERROR_DEVICE, "it computes wrongly: %s", what);
}

/* With as much room as is expected, or else with what it takes. */
static wcodec_status code_tiles(struct wcodec_save_coding *k, wcodec_error *err)
{
    const struct wcodec_tensor_totals most = expected(k->plan);
    wcodec_status status = code_once(k, &most, err);
    if (status != WCODEC_OK || fit(k))
        return status;
    struct wcodec_tensor_totals all = k->totals;
    all.raw = all.raw > most.raw ? all.raw : most.raw;
    if (all.words > wcodec_tensor_work(k->plan->tiling).words_part * k->plan->tiling->tiles / 2 ||
        all.outliers > k->plan->tiling->elements || all.raw > 2 * (k->placed.size + most.raw))
        return wcodec_save_computes_wrongly("what it codes takes more than there is", err);
    status = code_once(k, &all, err);
    return status == WCODEC_OK && !fit(k)
               ? wcodec_save_computes_wrongly("what it codes takes more than before", err)
               : status;
}

static void area_sizes(const struct wcodec_tensor_totals *t, uint64_t sizes[WCODEC_AREAS])
{
    sizes[WCODEC_AREA_STATES] = 128 * t->streams;
    sizes[WCODEC_AREA_WORDS] = 2 * t->words;
    sizes[WCODEC_AREA_RAW] = t->raw;
    sizes[WCODEC_AREA_POSITIONS] = 2 * t->outliers;
    sizes[WCODEC_AREA_VALUES] = t->outliers;
}

/* Are areas as large as the totals say? Up to the zeros after words. */
static bool are_areas_right(const struct wcodec_save_coding *k)
{
    uint64_t sizes[WCODEC_AREAS];
    bool right = k->totals.streams <= k->tiles->tiling->tiles;
    area_sizes(&k->totals, sizes);
    for (unsigned a = 0; a < WCODEC_AREAS; a++) {
        const uint64_t begin = k->tiles->area_begin[a], end = a + 1 < WCODEC_AREAS
                                                                  ? k->tiles->area_begin[a + 1]
                                                                  : k->tiles->payload_size;
        right = right && end - begin == wcodec_align_u64(sizes[a], a == WCODEC_AREA_WORDS ? 16 : 1);
    }
    return right;
}

/* The directory, and what it says of the areas. */
static wcodec_status read_directory(struct wcodec_save_coding *k, wcodec_error *err)
{
    struct wcodec_save_placed *p = &k->placed;
    struct wcodec_tiling *t = k->plan->tiling;
    wcodec_status status = wcodec_payload_prefix_init(k->plan, &k->prefix, err);
    if (status == WCODEC_OK)
        status = p->b->copy_out(p->lane->queue, k->prefix.bytes + k->prefix.directory, k->own.work,
                                k->own.directory.offset, 12 * t->tiles, err);
    if (status == WCODEC_OK)
        status = p->b->queue_wait(p->lane->queue, err);
    if (status != WCODEC_OK)
        return status;
    t->prefix_size = k->prefix.size;
    const uint64_t size = k->prefix.size + 128 * k->totals.streams +
                          wcodec_align_u64(2 * k->totals.words, 16) + k->totals.raw +
                          3 * k->totals.outliers;
    if (size >= p->size)
        return wcodec_fail(err, WCODEC_ERROR_UNSUPPORTED, "tiles make it no smaller");
    status = wcodec_tiles_read(t, k->prefix.bytes, size, &p->request->context->allocator, &k->tiles,
                               err);
    return status == WCODEC_ERROR_CORRUPT || (status == WCODEC_OK && !are_areas_right(k))
               ? wcodec_save_computes_wrongly("its directory is not that of what it coded", err)
               : status;
}

wcodec_status wcodec_save_code(struct wcodec_save_coding *k, wcodec_error *err)
{
    const wcodec_status status = code_tiles(k, err);
    return status == WCODEC_OK ? read_directory(k, err) : status;
}

void wcodec_save_loan_end(void *loan)
{
    struct wcodec_save_loan *l = loan;
    struct wcodec_save_request *r = l->request;
    wcodec_staging_release(&r->owner, &l->staging);
    wcodec_free(&r->context->allocator, l);
}

wcodec_status wcodec_save_bring(struct wcodec_save_coding *k, wcodec_error *err)
{
    struct wcodec_save_placed *p = &k->placed;
    struct wcodec_save_request *r = p->request;
    const struct wcodec_tiles *t = k->tiles;
    const uint64_t begin = k->prefix.size;
    uint64_t sizes[WCODEC_AREAS];
    area_sizes(&k->totals, sizes);
    const uint64_t words_end = t->area_begin[WCODEC_AREA_WORDS] + sizes[WCODEC_AREA_WORDS];
    if (t->payload_size == begin)
        return wcodec_fail(err, WCODEC_ERROR_UNSUPPORTED, "its tiles have nothing but a directory");
    k->loan = wcodec_alloc_zeroed(&r->context->allocator, sizeof *k->loan);
    if (k->loan == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for a payload");
    k->loan->request = r;
    wcodec_status status = wcodec_staging_reserve(
        &r->owner, &k->loan->staging, WCODEC_MEMORY_PINNED, t->payload_size - begin, err);
    if (status != WCODEC_OK)
        return status;
    uint8_t *const to = k->loan->staging.data;
    memset(to + (words_end - begin), 0, (size_t)(t->area_begin[WCODEC_AREA_RAW] - words_end));
    for (unsigned a = 0; a < WCODEC_AREAS && status == WCODEC_OK; a++)
        status = p->b->copy_out(p->lane->queue, to + (t->area_begin[a] - begin), k->own.work,
                                k->own.areas[a].offset, sizes[a], err);
    return status;
}

void wcodec_save_coding_end(struct wcodec_save_coding *k)
{
    wcodec_free(&k->placed.request->context->allocator, k->prefix.bytes);
    wcodec_tiles_free(k->tiles);
    wcodec_plan_free(k->plan);
    if (k->loan != NULL)
        wcodec_save_loan_end(k->loan);
}
