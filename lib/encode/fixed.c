/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Matrices at a fixed rate: counts of all tiles for both sizes of an index, then a plan by what is
 * smaller, then the tiles. */

#include "backends/cpu/cpu_level.h"
#include "backends/cpu/fixed.h"
#include "core/error.h"
#include "core/memory.h"
#include "encode/encode.h"
#include "encode/fixed.h"
#include <inttypes.h>
#include <stdatomic.h>

enum {
    ROWS = WCODEC_FIXED_ROWS,
    COLUMNS = WCODEC_FIXED_COLUMNS,
    CHOICES = WCODEC_FIXED_CHOICES,
    PLAIN_EVERY = 64 /* tiles, one of which the reference verifies */
};

/* What one number of bits would give. */
struct choice {
    uint8_t *shifts;
    struct wcodec_fixed_counts *counts; /* of tiles */
};

struct coder {
    struct wcodec_cancel *cancel;
    const uint8_t *data;
    struct wcodec_fixed fixed; /* of what does not depend on the choice, then all */
    struct choice choices[CHOICES];
    uint64_t *spilled_before; /* bands */
    uint8_t *front, *tiles, *spilled;
};

/* Neighbours are counted apart: they often agree, and an increment waits for the one before. */
static void choose_shifts(struct coder *c, uint64_t row)
{
    enum { APART = 4 };
    const uint64_t columns = c->fixed.columns;
    const uint8_t *elements = c->data + 2 * row * columns;
    uint32_t apart[APART][256] = {{0}}, exponents[256], zeros = 0, within;
    for (uint64_t i = 0; i < columns; i++)
        apart[i % APART][wcodec_load_u16(elements + 2 * i) >> 7 & 255]++;
    for (unsigned e = 0; e < 256; e++)
        exponents[e] = apart[0][e] + apart[1][e] + apart[2][e] + apart[3][e];
    for (uint64_t i = 0; i < columns && exponents[0] != 0; i++)
        zeros += (wcodec_load_u16(elements + 2 * i) & 0x7FFF) == 0;
    for (unsigned i = 0; i < CHOICES; i++)
        c->choices[i].shifts[row] = (uint8_t)wcodec_fixed_choose_shift(WCODEC_FIXED_BITS_MIN + i,
                                                                       exponents, zeros, &within);
}

static void count_band(void *argument, size_t band)
{
    struct coder *c = argument;
    const struct wcodec_fixed *f = &c->fixed;
    const unsigned height = wcodec_fixed_height(f, band);
    const uint8_t *elements = c->data + band * wcodec_fixed_band_size(f);
    if (wcodec_cancel_poll(c->cancel))
        return;
    for (unsigned row = 0; row < height; row++)
        choose_shifts(c, band * ROWS + row);
    for (unsigned i = 0; i < CHOICES; i++) {
        struct wcodec_fixed_band tables;
        wcodec_fixed_band_init(&tables, WCODEC_FIXED_BITS_MIN + i,
                               c->choices[i].shifts + band * ROWS);
        for (uint64_t x = 0; x < f->across; x++)
            c->choices[i].counts[band * f->across + x] =
                wcodec_fixed_count(&tables, elements + 2 * COLUMNS * x, (size_t)(2 * f->columns),
                                   height, wcodec_fixed_width(f, x));
    }
}

static void code_band(void *argument, size_t band)
{
    struct coder *c = argument;
    const struct wcodec_fixed *f = &c->fixed;
    const struct wcodec_fixed_counts *counts = c->choices[f->bits - WCODEC_FIXED_BITS_MIN].counts;
    const uint8_t *elements = c->data + band * wcodec_fixed_band_size(f);
    struct wcodec_fixed_band tables;
    uint64_t first = c->spilled_before[band];
    if (wcodec_cancel_poll(c->cancel))
        return;
    wcodec_fixed_band_init(&tables, f->bits, c->front + band * ROWS);
    for (uint64_t x = 0; x < f->across; x++) {
        const uint64_t tile = band * f->across + x;
        uint8_t *record = c->tiles + tile * f->record_size, *spilled = c->spilled + 4 * first;
        const uint32_t count = wcodec_fixed_tile_encode(
            f, &tables, elements + 2 * COLUMNS * x, (size_t)(2 * f->columns),
            wcodec_fixed_height(f, band), wcodec_fixed_width(f, x), counts[tile], first, record,
            spilled);
        wcodec_store_u32(c->front + f->checks_begin + 4 * tile,
                         wcodec_fixed_tile_check(f, record, spilled, count));
        first += count;
    }
}

bool wcodec_fixed_applies(wcodec_dtype dtype, uint64_t size, uint64_t columns)
{
    return dtype == WCODEC_DTYPE_BF16 && columns >= COLUMNS &&
           columns <= WCODEC_FIXED_ROW_MAX / 2 && size / 2 / columns >= ROWS;
}

bool wcodec_fixed_plan(const struct wcodec_fixed *view,
                       const struct wcodec_fixed_counts *const counts[WCODEC_FIXED_CHOICES],
                       struct wcodec_fixed *plan)
{
    struct wcodec_fixed best = {.columns = 0};
    uint64_t least = 0;
    for (unsigned i = 0; i < CHOICES; i++) {
        struct wcodec_fixed f = {.columns = view->columns,
                                 .bits = (uint8_t)(WCODEC_FIXED_BITS_MIN + i)};
        uint64_t cost;
        /* Is the index alone, with the smallest lists, more than what was found? */
        if (best.columns != 0 &&
            view->tiles * (wcodec_fixed_list_begin(&f) + WCODEC_FIXED_LIST_UNIT) >= least)
            continue;
        f.list = (uint8_t)wcodec_fixed_choose_list(counts[i], view->tiles, &f.spilled, &cost);
        for (uint64_t tile = 0; tile < view->tiles; tile++)
            f.foreign += counts[i][tile].foreign;
        if (f.spilled > UINT32_MAX || wcodec_fixed_derive(&f, view->size, NULL) != WCODEC_OK)
            continue;
        cost += f.tiles * wcodec_fixed_list_begin(&f);
        if (best.columns != 0 && cost >= least)
            continue;
        best = f;
        least = cost;
    }
    *plan = best;
    return best.columns != 0 && best.payload_size <= view->size / 8 * 7;
}

/* false: another coding is better. */
static bool plan(struct coder *c)
{
    const struct wcodec_fixed_counts *const counts[CHOICES] = {c->choices[0].counts,
                                                               c->choices[1].counts};
    const struct wcodec_fixed view = c->fixed;
    return wcodec_fixed_plan(&view, counts, &c->fixed);
}

static void number_spilled(struct coder *c)
{
    const struct wcodec_fixed *f = &c->fixed;
    const struct wcodec_fixed_counts *counts = c->choices[f->bits - WCODEC_FIXED_BITS_MIN].counts;
    uint64_t spilled = 0;
    for (uint64_t tile = 0; tile < f->tiles; tile++) {
        if (tile % f->across == 0)
            c->spilled_before[tile / f->across] = spilled;
        spilled += wcodec_fixed_spilled(counts[tile], f->list);
    }
}

static wcodec_status reserve_counts(struct coder *c, const wcodec_allocator *allocator,
                                    wcodec_error *err)
{
    bool all = true;
    for (unsigned i = 0; i < CHOICES; i++) {
        c->choices[i].shifts = wcodec_alloc_zeroed(allocator, (size_t)(c->fixed.bands * ROWS));
        c->choices[i].counts =
            wcodec_alloc_array(allocator, c->fixed.tiles, sizeof *c->choices[i].counts);
        all = all && c->choices[i].shifts != NULL && c->choices[i].counts != NULL;
    }
    c->spilled_before = wcodec_alloc_array(allocator, c->fixed.bands, sizeof *c->spilled_before);
    return all && c->spilled_before != NULL
               ? WCODEC_OK
               : wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for the counts of tiles");
}

static void free_counts(struct coder *c, const wcodec_allocator *allocator)
{
    wcodec_free(allocator, c->spilled_before);
    for (unsigned i = 0; i < CHOICES; i++) {
        wcodec_free(allocator, c->choices[i].counts);
        wcodec_free(allocator, c->choices[i].shifts);
    }
}

/* The parts of the payload, and what describes it. */
static wcodec_status reserve_payload(struct coder *c, struct wcodec_coded *coded, wcodec_error *err)
{
    const wcodec_allocator *allocator = coded->allocator;
    const struct wcodec_fixed *f = &c->fixed;
    coded->fixed = wcodec_alloc(allocator, sizeof *coded->fixed);
    coded->parts = wcodec_alloc_array(allocator, 3, sizeof *coded->parts);
    c->front = wcodec_alloc_zeroed(allocator, (size_t)f->tiles_begin);
    c->tiles = wcodec_alloc_array(allocator, f->tiles, f->record_size);
    c->spilled = wcodec_alloc_array(allocator, f->spilled + 1, 4);
    if (coded->fixed != NULL && coded->parts != NULL && c->front != NULL && c->tiles != NULL &&
        c->spilled != NULL)
        return WCODEC_OK;
    wcodec_free(allocator, coded->fixed);
    wcodec_free(allocator, coded->parts);
    wcodec_free(allocator, c->front);
    wcodec_free(allocator, c->tiles);
    wcodec_free(allocator, c->spilled);
    return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for a payload of %" PRIu64 " bytes",
                       f->payload_size);
}

static wcodec_status code_tiles(wcodec_context *context, struct coder *c,
                                struct wcodec_coded *coded, wcodec_error *err)
{
    struct wcodec_fixed *f = &c->fixed;
    struct wcodec_coded result = {.coding = WCODEC_CODING_FIXED,
                                  .allocator = &context->allocator,
                                  .payload_size = f->payload_size};
    wcodec_status status = reserve_payload(c, &result, err);
    if (status != WCODEC_OK)
        return status;
    number_spilled(c);
    memcpy(c->front, c->choices[f->bits - WCODEC_FIXED_BITS_MIN].shifts, (size_t)f->checks_begin);
    f->check = wcodec_fixed_shifts_check(f, c->front);
    wcodec_run(context, code_band, c, (size_t)f->bands);
    *result.fixed = *f;
    result.part_count = 3;
    result.parts[0] = (struct wcodec_coded_part){c->front, f->tiles_begin};
    result.parts[1] = (struct wcodec_coded_part){c->tiles, f->tiles * f->record_size};
    result.parts[2] = (struct wcodec_coded_part){c->spilled, 4 * f->spilled};
    *coded = result;
    return WCODEC_OK;
}

wcodec_status wcodec_fixed_code(wcodec_context *context,
                                const struct wcodec_encode_settings *settings, const void *data,
                                uint64_t size, struct wcodec_coded *coded, bool *done,
                                wcodec_error *err)
{
    const wcodec_allocator *allocator = &context->allocator;
    struct coder c = {.cancel = settings->cancel,
                      .data = data,
                      .fixed = {.columns = settings->columns, .bits = 2, .list = 1}};
    *done = false;
    wcodec_status status = wcodec_fixed_derive(&c.fixed, size, err);
    if (status != WCODEC_OK)
        return status;
    status = reserve_counts(&c, allocator, err);
    if (status == WCODEC_OK)
        wcodec_run(context, count_band, &c, (size_t)c.fixed.bands);
    if (status == WCODEC_OK && !wcodec_cancel_poll(settings->cancel) && plan(&c)) {
        status = code_tiles(context, &c, coded, err);
        *done = status == WCODEC_OK;
    }
    free_counts(&c, allocator);
    if (status == WCODEC_OK && wcodec_cancel_poll(settings->cancel)) {
        if (*done)
            wcodec_coded_free(coded);
        *done = false;
        status = wcodec_fail(err, WCODEC_ERROR_CANCELLED, "cancelled by the caller");
    }
    return status;
}

struct verifier {
    struct wcodec_cancel *cancel;
    const struct wcodec_coded *coded;
    struct wcodec_cpu_fixed_dsp plain, best;
    const uint8_t *data;
    _Atomic uint64_t bad; /* the first tile that differs */
};

static bool is_right(const struct verifier *v, uint64_t tile)
{
    const struct wcodec_fixed *f = v->coded->fixed;
    const uint8_t *shifts = v->coded->parts[0].data;
    const uint64_t band = tile / f->across, x = tile % f->across, stride = 2 * f->columns;
    const unsigned height = wcodec_fixed_height(f, band);
    const size_t width = (size_t)2 * wcodec_fixed_width(f, x);
    const uint8_t *from = v->data + band * ROWS * stride + 2 * COLUMNS * x;
    uint8_t out[ROWS * 2 * COLUMNS];
    const struct wcodec_cpu_fixed_job job = {.dsp = tile % PLAIN_EVERY == 0 ? &v->plain : &v->best,
                                             .fixed = f,
                                             .shifts = shifts,
                                             .spilled = v->coded->parts[2].data,
                                             .spilled_end = f->spilled,
                                             .verify = true};
    const uint32_t check = wcodec_load_u32(shifts + f->checks_begin + 4 * tile);
    if (wcodec_cpu_fixed_decode_alone(&job, tile, v->coded->parts[1].data + tile * f->record_size,
                                      check, out) != WCODEC_TILE_OK)
        return false;
    bool right = true;
    for (unsigned row = 0; row < height; row++)
        right = right && memcmp(out + row * width, from + row * stride, width) == 0;
    return right;
}

static void verify_band(void *argument, size_t band)
{
    struct verifier *v = argument;
    const uint64_t across = v->coded->fixed->across;
    if (wcodec_cancel_poll(v->cancel))
        return;
    for (uint64_t tile = band * across; tile < (band + 1) * across; tile++) {
        if (is_right(v, tile))
            continue;
        uint64_t bad = atomic_load(&v->bad);
        while (tile < bad && !atomic_compare_exchange_weak(&v->bad, &bad, tile))
            ;
    }
}

wcodec_status wcodec_fixed_verify(wcodec_context *context,
                                  const struct wcodec_encode_settings *settings,
                                  const struct wcodec_coded *coded, const void *data,
                                  wcodec_error *err)
{
    struct verifier v = {
        .cancel = settings->cancel, .coded = coded, .data = data, .bad = UINT64_MAX};
    wcodec_cpu_fixed_dsp_init(&v.plain, WCODEC_CPU_SCALAR);
    wcodec_cpu_fixed_dsp_init(&v.best, wcodec_cpu_levels() & context->cpu_mask);
    wcodec_run(context, verify_band, &v, (size_t)coded->fixed->bands);
    if (wcodec_cancel_poll(settings->cancel))
        return wcodec_fail(err, WCODEC_ERROR_CANCELLED, "cancelled by the caller");
    if (v.bad != UINT64_MAX)
        return wcodec_fail(err, WCODEC_ERROR_DEVICE,
                           "tile %" PRIu64
                           " does not decode to what was coded: this machine computes wrongly",
                           (uint64_t)v.bad);
    return WCODEC_OK;
}
