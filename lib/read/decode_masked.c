/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Masked tensors: mask and values of some tiles at a time, each decoded as an entry of its own, and
 * the values put where the mask says. On the CPU, whatever the context's device is. */

#include "read/decode_parts.h"
#include "coding/masked.h"
#include "core/error.h"
#include "core/memory.h"

#include <inttypes.h>

/* Bytes that are decoded at a time. */
#define WINDOW ((uint64_t)8 << 20)

struct wcodec_masked_decoder {
    const struct wcodec_masked *head;
    uint64_t *firsts;                  /* values before each tile */
    struct wcodec_decoder_parts parts; /* of a window's tiles */
    uint8_t *tile;                     /* of which a part is wanted */
};

/* Tiles [first, stop), to `out`. */
struct masked_window {
    const struct wcodec_masked_decoder *x;
    uint64_t first, stop;
    uint8_t *out;
    _Atomic uint64_t bad; /* the first tile that is; UINT64_MAX: none */
};

uint64_t wcodec_masked_unit(const struct wcodec_entry *e)
{
    const struct wcodec_masked *m = &e->u.masked->head;
    return (uint64_t)1 << (m->tile_log2 + m->element_log2);
}

static wcodec_status read_counts(struct wcodec_decoder *d, wcodec_error *err)
{
    struct wcodec_masked_decoder *x = d->masked;
    const wcodec_allocator *allocator = &d->input.context->allocator;
    const uint64_t size = wcodec_masked_counts_size(x->head);
    const uint8_t *counts = d->payload;
    uint8_t *own = NULL, *firsts;
    wcodec_status status =
        wcodec_decoder_take(d, (x->head->tiles + 1) * sizeof *x->firsts, &firsts, err);
    if (status != WCODEC_OK)
        return status;
    x->firsts = (void *)firsts;
    if (counts == NULL) {
        status = wcodec_decoder_take(d, size, &own, err);
        if (status == WCODEC_OK)
            status = wcodec_decoder_read(d, d->input.entry->payload_offset, own, size, err);
        counts = own;
    }
    if (status == WCODEC_OK)
        status = wcodec_masked_counts_read(x->head, counts, x->firsts, err);
    if (own != NULL)
        d->held -= size;
    wcodec_free(allocator, own);
    return status;
}

wcodec_status wcodec_decoder_open_masked(struct wcodec_decoder *d, wcodec_error *err)
{
    const struct wcodec_entry *e = d->input.entry;
    struct wcodec_masked_decoder *x = wcodec_alloc_zeroed(&d->input.context->allocator, sizeof *x);
    if (x == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for a masked tensor");
    d->masked = x;
    x->head = &e->u.masked->head;
    wcodec_decoder_parts_begin(d, &x->parts);
    wcodec_status status = read_counts(d, err);
    for (unsigned i = 0; i < WCODEC_MASKED_PARTS && status == WCODEC_OK; i++)
        status = wcodec_decoder_parts_open(d, &x->parts, i, e->u.masked->parts[i], err);
    return status;
}

void wcodec_decoder_close_masked(struct wcodec_decoder *d)
{
    const wcodec_allocator *allocator = &d->input.context->allocator;
    struct wcodec_masked_decoder *x = d->masked;
    if (x == NULL)
        return;
    wcodec_decoder_parts_close(d, &x->parts);
    wcodec_free(allocator, x->firsts);
    wcodec_free(allocator, x->tile);
    wcodec_free(allocator, x);
    d->masked = NULL;
}

static void spread_task(void *argument, size_t i)
{
    struct masked_window *w = argument;
    const struct wcodec_masked_decoder *x = w->x;
    const struct wcodec_masked *m = x->head;
    const uint64_t tile = w->first + i, at = (uint64_t)i << m->tile_log2,
                   count = x->firsts[tile + 1] - x->firsts[tile];
    const uint8_t *values = x->parts.buffers[WCODEC_MASKED_VALUES] +
                            ((x->firsts[tile] - x->firsts[w->first]) << m->element_log2);
    if (!wcodec_masked_spread(m->element_log2, x->parts.buffers[WCODEC_MASKED_MASK] + at / 8,
                              values, count, wcodec_masked_tile_elements(m, tile),
                              w->out + (at << m->element_log2)))
        wcodec_note_first(&w->bad, tile);
}

/* Bytes [begin, end) of a part to its buffer, which has room for what a window may have more. */
static wcodec_status decode_part(struct wcodec_decoder *d, unsigned part, uint64_t begin,
                                 uint64_t end, wcodec_error *err)
{
    return wcodec_decoder_parts_range(d, &d->masked->parts, part, begin, end, WCODEC_MASKED_AFTER,
                                      err);
}

static wcodec_status decode_window(struct wcodec_decoder *d, struct masked_window *w,
                                   wcodec_error *err)
{
    const struct wcodec_masked_decoder *x = d->masked;
    const struct wcodec_masked *m = x->head;
    const uint64_t mask_size = wcodec_masked_part_size(m, WCODEC_MASKED_MASK),
                   stop = w->stop << m->tile_log2 >> 3;
    wcodec_status status = decode_part(d, WCODEC_MASKED_MASK, w->first << m->tile_log2 >> 3,
                                       stop < mask_size ? stop : mask_size, err);
    if (status == WCODEC_OK)
        status = decode_part(d, WCODEC_MASKED_VALUES, x->firsts[w->first] << m->element_log2,
                             x->firsts[w->stop] << m->element_log2, err);
    if (status != WCODEC_OK)
        return status;
    wcodec_run(d->input.context, spread_task, w, (size_t)(w->stop - w->first));
    return w->bad == UINT64_MAX
               ? WCODEC_OK
               : wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                             "tile %" PRIu64
                             " of a masked tensor: its mask has not as many ones as it says",
                             (uint64_t)w->bad);
}

/* One tile, of which bytes [begin, end) of the tensor are wanted, to dst. */
static wcodec_status decode_partial(struct wcodec_decoder *d, struct masked_window *w,
                                    uint64_t begin, uint64_t end, uint8_t *dst, wcodec_error *err)
{
    const uint64_t unit = wcodec_masked_unit(d->input.entry);
    wcodec_status status = WCODEC_OK;
    if (d->masked->tile == NULL)
        status = wcodec_decoder_take(d, unit, &d->masked->tile, err);
    w->out = d->masked->tile;
    if (status == WCODEC_OK)
        status = decode_window(d, w, err);
    if (status == WCODEC_OK)
        memcpy(dst, d->masked->tile + (begin - w->first * unit), (size_t)(end - begin));
    return status;
}

/* Tiles of a window: fewer where memory is limited. */
static uint64_t window_tiles(const struct wcodec_decoder *d, uint64_t unit)
{
    const uint64_t left = wcodec_decoder_left(d) / 4, most = left < WINDOW ? left : WINDOW;
    return most > unit ? most / unit : 1;
}

wcodec_status wcodec_decoder_range_masked(struct wcodec_decoder *d, uint64_t begin, uint64_t end,
                                          uint8_t *dst, struct wcodec_reporter *reporter,
                                          wcodec_error *err)
{
    const uint64_t unit = wcodec_masked_unit(d->input.entry), size = d->masked->head->size,
                   most = window_tiles(d, unit);
    wcodec_status status = WCODEC_OK;
    for (uint64_t at = begin, next; at < end && status == WCODEC_OK; at = next) {
        const uint64_t tile = at / unit;
        struct masked_window w = {
            .x = d->masked, .first = tile, .stop = tile + 1, .bad = UINT64_MAX};
        next = (tile + 1) * unit < size ? (tile + 1) * unit : size;
        if (at != tile * unit || end < next) {
            next = end < next ? end : next;
            status = decode_partial(d, &w, at, next, dst + (at - begin), err);
        } else {
            /* All whole tiles up to the end, or as many as a window has. */
            w.stop = end == size ? d->masked->head->tiles : end / unit;
            w.stop = w.stop - tile < most ? w.stop : tile + most;
            next = w.stop * unit < size ? w.stop * unit : size;
            w.out = dst + (at - begin);
            status = decode_window(d, &w, err);
        }
        if (status == WCODEC_OK)
            status = wcodec_reporter_add(reporter, next - at, err);
    }
    return status;
}
