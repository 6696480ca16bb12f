/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Matrices in fragments: their elements are put in order, and coded as any in tiles. */

#include "encode/fragments.h"

#include "backends/cpu/fragments.h"
#include "core/error.h"
#include "core/memory.h"
#include "encode/assemble.h"

enum {
    PIECE = 1 << 16, /* elements that a thread puts in order at once */
    /* More elements than this have tiles of 8192: a large device has enough of them to do. */
    SMALL_TILES_LOG2 = 24,
    WIDE_TILE_COLUMNS = 8192 / WCODEC_SECTION_ROWS
};

bool wcodec_fragments_apply(wcodec_dtype dtype, uint64_t size, uint64_t columns)
{
    unsigned element_log2 = 0;
    switch (dtype) {
    case WCODEC_DTYPE_BF16:
    case WCODEC_DTYPE_F16:
        element_log2 = 1;
        break;
    case WCODEC_DTYPE_I8:
    case WCODEC_DTYPE_F8_E4M3:
    case WCODEC_DTYPE_F8_E5M2:
    case WCODEC_DTYPE_F8_E4M3FNUZ:
    case WCODEC_DTYPE_F8_E5M2FNUZ:
        break;
    default:
        return false;
    }
    return columns != 0 && columns % WCODEC_SECTION_COLUMNS == 0 &&
           columns <= (uint64_t)WCODEC_FRAGMENTS_ROW_MAX >> element_log2 &&
           (size >> element_log2) / columns >= WCODEC_SECTION_ROWS;
}

/* So many tiles that a large device has work for all of it, each with whole sections of a band. */
static uint8_t tile_log2_of(const struct wcodec_encode_settings *settings,
                            const struct wcodec_fragments *f)
{
    if (settings->tile_log2 != 0)
        return settings->tile_log2;
    return f->columns % WIDE_TILE_COLUMNS == 0 && f->rows * f->columns >> SMALL_TILES_LOG2 != 0 &&
                   f->rows * f->columns != (uint64_t)1 << SMALL_TILES_LOG2
               ? 13
               : 12;
}

struct ordering {
    const struct wcodec_fragments *fragments;
    const uint8_t *data;
    uint8_t *sequence;
    struct wcodec_cancel *cancel;
};

static void order_task(void *argument, size_t i)
{
    const struct ordering *o = argument;
    const struct wcodec_fragments *f = o->fragments;
    const uint64_t first = (uint64_t)i * PIECE, left = f->rows * f->columns - first;
    if (!wcodec_cancel_poll(o->cancel))
        wcodec_cpu_fragments_gather(f, o->data, first, left < PIECE ? left : PIECE,
                                    o->sequence + (first << f->element_log2));
}

static wcodec_status code_sequence(wcodec_context *context,
                                   const struct wcodec_encode_settings *settings,
                                   wcodec_dtype dtype, const uint8_t *sequence, uint64_t size,
                                   struct wcodec_coded *coded, bool *done, wcodec_error *err)
{
    struct wcodec_statistics statistics;
    struct wcodec_plan *plan;
    wcodec_status status =
        wcodec_statistics_gather(context, dtype, sequence, size, settings->level, &statistics, err);
    *done = false;
    if (status != WCODEC_OK || statistics.any == statistics.all)
        return status;
    status = wcodec_plan_search(context, settings, dtype, sequence, size, &statistics, &plan, err);
    if (status != WCODEC_OK)
        return status;
    status = wcodec_payload_code(context, settings, plan, sequence, coded, err);
    wcodec_plan_free(plan);
    if (status != WCODEC_OK)
        return status;
    *done = coded->payload_size < size - size / 100;
    if (!*done)
        wcodec_coded_free(coded);
    return WCODEC_OK;
}

/* What says that these tiles are in fragments. */
static wcodec_status describe(const struct wcodec_fragments *fragments, struct wcodec_coded *coded,
                              wcodec_error *err)
{
    coded->fragments = wcodec_alloc(coded->allocator, sizeof *coded->fragments);
    if (coded->fragments == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for a tensor in fragments");
    *coded->fragments = *fragments;
    coded->coding = WCODEC_CODING_FRAGMENTS;
    return WCODEC_OK;
}

wcodec_status wcodec_fragments_code(wcodec_context *context,
                                    const struct wcodec_encode_settings *settings,
                                    wcodec_dtype dtype, const void *data, uint64_t size,
                                    struct wcodec_coded *coded, bool *done, wcodec_error *err)
{
    const wcodec_allocator *allocator = &context->allocator;
    struct wcodec_fragments f = {.columns = settings->columns};
    struct wcodec_encode_settings own = *settings;
    struct wcodec_coded result;
    const unsigned element_log2 = dtype == WCODEC_DTYPE_BF16 || dtype == WCODEC_DTYPE_F16;
    *done = false;
    wcodec_status status = wcodec_fragments_derive(&f, size, element_log2, err);
    if (status != WCODEC_OK)
        return status;
    own.tile_log2 = tile_log2_of(settings, &f);
    struct ordering o = {.fragments = &f,
                         .data = data,
                         .sequence = wcodec_alloc_array(allocator, size, 1),
                         .cancel = settings->cancel};
    if (o.sequence == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for a tensor in fragments");
    wcodec_run(context, order_task, &o, (size_t)wcodec_div_up_u64(f.rows * f.columns, PIECE));
    if (wcodec_cancel_poll(settings->cancel))
        status = wcodec_fail(err, WCODEC_ERROR_CANCELLED, "cancelled by the caller");
    else
        status = code_sequence(context, &own, dtype, o.sequence, size, &result, done, err);
    wcodec_free(allocator, o.sequence);
    if (status != WCODEC_OK || !*done)
        return status;
    status = describe(&f, &result, err);
    if (status == WCODEC_OK && settings->verify)
        status = wcodec_coded_verify(context, settings, &result, data, NULL, err);
    if (status != WCODEC_OK)
        wcodec_coded_free(&result);
    else
        *coded = result;
    *done = status == WCODEC_OK;
    return status;
}
