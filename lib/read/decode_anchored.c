/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Tables of vectors by anchors: all anchors, then indices and residuals of some rows at a time,
 * each part decoded as an entry of its own. On the CPU, whatever the context's device is. */

#include "read/decode_parts.h"
#include "coding/anchored.h"
#include "core/error.h"
#include "core/memory.h"

#include <inttypes.h>

enum {
    UNIT_LOG2 = 16, /* elements, about as many as a tile of residuals has */
    PARTS = WCODEC_ANCHORED_PARTS,
    ANCHORS = WCODEC_ANCHORED_ANCHORS,
    INDICES = WCODEC_ANCHORED_INDICES,
    RESIDUALS = WCODEC_ANCHORED_RESIDUALS
};

/* Bytes of indices and residuals that are decoded at a time. */
#define WINDOW ((uint64_t)4 << 20)

struct wcodec_anchored_decoder {
    const struct wcodec_anchored *head;
    struct wcodec_decoder_parts parts; /* the anchors; indices and residuals of a window's rows */
    uint8_t *row;                      /* of which a part is wanted */
};

/* Rows [first, stop), to `out`. */
struct anchored_window {
    const struct wcodec_anchored_decoder *x;
    uint64_t first, stop;
    uint8_t *out;
    _Atomic uint64_t bad; /* the first of some rows with an index of none; UINT64_MAX: none */
};

/* Rows of a unit. */
static uint64_t unit_rows(const struct wcodec_anchored *a)
{
    const uint64_t rows = ((uint64_t)1 << UNIT_LOG2) / a->columns;
    return rows > 1 ? rows : 1;
}

uint64_t wcodec_anchored_unit(const struct wcodec_entry *e)
{
    const struct wcodec_anchored *a = &e->u.anchored->head;
    return unit_rows(a) * wcodec_anchored_row_size(a);
}

static wcodec_status decode_part(struct wcodec_decoder *d, unsigned part, uint64_t begin,
                                 uint64_t end, wcodec_error *err)
{
    return wcodec_decoder_parts_range(d, &d->anchored->parts, part, begin, end, 0, err);
}

wcodec_status wcodec_decoder_open_anchored(struct wcodec_decoder *d, wcodec_error *err)
{
    const struct wcodec_entry *e = d->input.entry;
    struct wcodec_anchored_decoder *x =
        wcodec_alloc_zeroed(&d->input.context->allocator, sizeof *x);
    if (x == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for a tensor by anchors");
    d->anchored = x;
    x->head = &e->u.anchored->head;
    wcodec_decoder_parts_begin(d, &x->parts);
    wcodec_status status = WCODEC_OK;
    for (unsigned i = 0; i < PARTS && status == WCODEC_OK; i++)
        status = wcodec_decoder_parts_open(d, &x->parts, i, e->u.anchored->parts[i], err);
    if (status == WCODEC_OK)
        status = decode_part(d, ANCHORS, 0, wcodec_anchored_part_size(x->head, ANCHORS), err);
    return status;
}

void wcodec_decoder_close_anchored(struct wcodec_decoder *d)
{
    const wcodec_allocator *allocator = &d->input.context->allocator;
    struct wcodec_anchored_decoder *x = d->anchored;
    if (x == NULL)
        return;
    wcodec_decoder_parts_close(d, &x->parts);
    wcodec_free(allocator, x->row);
    wcodec_free(allocator, x);
    d->anchored = NULL;
}

static void restore_task(void *argument, size_t i)
{
    struct anchored_window *w = argument;
    const struct wcodec_anchored_decoder *x = w->x;
    const struct wcodec_anchored *a = x->head;
    const uint64_t most = unit_rows(a), at = (uint64_t)i * most, left = w->stop - w->first - at,
                   rows = left < most ? left : most;
    uint8_t *const *buffers = x->parts.buffers;
    if (!wcodec_anchored_restore(a, buffers[ANCHORS], buffers[INDICES] + (at << a->index_log2),
                                 buffers[RESIDUALS] + (at * a->columns << a->number_log2), rows,
                                 w->out + at * wcodec_anchored_row_size(a)))
        wcodec_note_first(&w->bad, w->first + at);
}

static wcodec_status decode_window(struct wcodec_decoder *d, struct anchored_window *w,
                                   wcodec_error *err)
{
    const struct wcodec_anchored *a = d->anchored->head;
    wcodec_status status =
        decode_part(d, INDICES, w->first << a->index_log2, w->stop << a->index_log2, err);
    if (status == WCODEC_OK)
        status = decode_part(d, RESIDUALS, w->first * a->columns << a->number_log2,
                             w->stop * a->columns << a->number_log2, err);
    if (status != WCODEC_OK)
        return status;
    wcodec_run(d->input.context, restore_task, w,
               (size_t)wcodec_div_up_u64(w->stop - w->first, unit_rows(a)));
    return w->bad == UINT64_MAX
               ? WCODEC_OK
               : wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                             "rows from %" PRIu64 " of a tensor by anchors: an index is not below "
                             "the %" PRIu64 " of these",
                             (uint64_t)w->bad, a->anchors);
}

/* One row, of which bytes [begin, end) of the tensor are wanted, to dst. */
static wcodec_status decode_partial(struct wcodec_decoder *d, struct anchored_window *w,
                                    uint64_t begin, uint64_t end, uint8_t *dst, wcodec_error *err)
{
    const uint64_t row_size = wcodec_anchored_row_size(d->anchored->head);
    wcodec_status status = WCODEC_OK;
    if (d->anchored->row == NULL)
        status = wcodec_decoder_take(d, row_size, &d->anchored->row, err);
    w->out = d->anchored->row;
    if (status == WCODEC_OK)
        status = decode_window(d, w, err);
    if (status == WCODEC_OK)
        memcpy(dst, d->anchored->row + (begin - w->first * row_size), (size_t)(end - begin));
    return status;
}

/* Rows of a window: fewer where memory is limited. */
static uint64_t window_rows(const struct wcodec_decoder *d)
{
    const struct wcodec_anchored *a = d->anchored->head;
    const uint64_t coded = ((uint64_t)1 << a->index_log2) + (a->columns << a->number_log2),
                   left = wcodec_decoder_left(d) / 4,
                   most = (left < WINDOW ? left : WINDOW) / coded, unit = unit_rows(a);
    return most > unit ? most / unit * unit : most > 1 ? most : 1;
}

wcodec_status wcodec_decoder_range_anchored(struct wcodec_decoder *d, uint64_t begin, uint64_t end,
                                            uint8_t *dst, struct wcodec_reporter *reporter,
                                            wcodec_error *err)
{
    const uint64_t row_size = wcodec_anchored_row_size(d->anchored->head), most = window_rows(d);
    wcodec_status status = WCODEC_OK;
    for (uint64_t at = begin, next; at < end && status == WCODEC_OK; at = next) {
        const uint64_t row = at / row_size;
        struct anchored_window w = {
            .x = d->anchored, .first = row, .stop = row + 1, .bad = UINT64_MAX};
        next = (row + 1) * row_size;
        if (at != row * row_size || end < next) {
            next = end < next ? end : next;
            status = decode_partial(d, &w, at, next, dst + (at - begin), err);
        } else {
            /* All whole rows up to the end, or as many as a window has. */
            w.stop = end / row_size - row < most ? end / row_size : row + most;
            w.out = dst + (at - begin);
            next = w.stop * row_size;
            status = decode_window(d, &w, err);
        }
        if (status == WCODEC_OK)
            status = wcodec_reporter_add(reporter, next - at, err);
    }
    return status;
}
