/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Deltas: the base's bytes, and what is changed of them, some tiles at a time. */

#include "read/bases.h"
#include "read/decode_parts.h"
#include "core/error.h"
#include "core/memory.h"

#include <inttypes.h>

/* Bytes that are decoded at a time. */
#define WINDOW ((uint64_t)8 << 20)

struct wcodec_delta_decoder {
    const struct wcodec_delta *head;
    struct wcodec_delta_side *side;
    struct wcodec_base_reader base;
    bool has_base;
    struct wcodec_decoder_parts parts;
    uint8_t *coded; /* elements of a window that are in a part */
    uint64_t coded_size;
    uint8_t *streams; /* of a window */
    uint64_t streams_size;
    uint8_t *tile; /* of which a part is wanted */
};

/* Bytes of the payload that are in memory, or read to `memory`, which is taken for them. */
static wcodec_status payload_bytes(struct wcodec_decoder *d, uint64_t at, uint64_t size,
                                   uint8_t **memory, const uint8_t **bytes, wcodec_error *err)
{
    if (d->payload != NULL) {
        *bytes = d->payload + at;
        return WCODEC_OK;
    }
    wcodec_status status = wcodec_decoder_take(d, size, memory, err);
    if (status == WCODEC_OK)
        status = wcodec_decoder_read(d, d->input.entry->payload_offset + at, *memory, size, err);
    *bytes = *memory;
    return status;
}

static wcodec_status read_side(struct wcodec_decoder *d, wcodec_error *err)
{
    struct wcodec_delta_decoder *x = d->delta;
    const uint64_t size = x->head->side_size, memory = wcodec_delta_side_memory(x->head);
    const uint8_t *bytes = NULL;
    uint8_t *own = NULL;
    wcodec_status status = WCODEC_OK;
    if (memory > wcodec_decoder_left(d))
        return wcodec_fail(err, WCODEC_ERROR_LIMIT,
                           "decoding takes at least %" PRIu64
                           " bytes of memory more than the limit",
                           memory - wcodec_decoder_left(d));
    if (size != 0)
        status = payload_bytes(d, 0, size, &own, &bytes, err);
    if (status == WCODEC_OK)
        status =
            wcodec_delta_side_read(x->head, bytes, &d->input.context->allocator, &x->side, err);
    if (status == WCODEC_OK)
        d->held += memory;
    if (own != NULL)
        d->held -= size;
    wcodec_free(&d->input.context->allocator, own);
    return status;
}

static wcodec_status open_parts(struct wcodec_decoder *d, wcodec_error *err)
{
    wcodec_status status = WCODEC_OK;
    for (unsigned i = 0; i < WCODEC_DELTA_PARTS && status == WCODEC_OK; i++) {
        const struct wcodec_entry *part = d->input.entry->u.delta->parts[i];
        if (part != NULL)
            status = wcodec_decoder_parts_open(d, &d->delta->parts, i, part, err);
    }
    return status;
}

wcodec_status wcodec_decoder_open_delta(struct wcodec_decoder *d, wcodec_error *err)
{
    const struct wcodec_entry *e = d->input.entry;
    struct wcodec_base_tensor tensor;
    wcodec_status status = wcodec_bases_resolve(d->input.bases, e, &tensor, err);
    if (status == WCODEC_OK && d->input.depth >= d->input.bases->depth)
        status = wcodec_fail(err, WCODEC_ERROR_LIMIT,
                             "a chain of more than %u deltas, which is the limit of depth",
                             d->input.bases->depth);
    if (status != WCODEC_OK)
        return status;
    struct wcodec_delta_decoder *x = wcodec_alloc_zeroed(&d->input.context->allocator, sizeof *x);
    if (x == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for a delta");
    d->delta = x;
    x->head = &e->u.delta->head;
    wcodec_decoder_parts_begin(d, &x->parts);
    status = read_side(d, err);
    if (status == WCODEC_OK)
        status = open_parts(d, err);
    if (status == WCODEC_OK) {
        struct wcodec_decoder_input like = d->input;
        like.held = d->held;
        status = wcodec_base_reader_open(&like, &tensor, &x->base, err);
        x->has_base = status == WCODEC_OK;
    }
    return status;
}

struct wcodec_delta_side *wcodec_decoder_take_side(struct wcodec_decoder *d)
{
    struct wcodec_delta_side *side = d->delta->side;
    d->delta->side = NULL;
    return side;
}

void wcodec_decoder_close_delta(struct wcodec_decoder *d)
{
    const wcodec_allocator *allocator = &d->input.context->allocator;
    struct wcodec_delta_decoder *x = d->delta;
    if (x == NULL)
        return;
    if (x->has_base)
        wcodec_base_reader_close(&x->base);
    wcodec_decoder_parts_close(d, &x->parts);
    wcodec_delta_side_free(x->side);
    wcodec_free(allocator, x->coded);
    wcodec_free(allocator, x->streams);
    wcodec_free(allocator, x->tile);
    wcodec_free(allocator, x);
    d->delta = NULL;
}

uint64_t wcodec_delta_unit(const struct wcodec_entry *e)
{
    const struct wcodec_delta *d = &e->u.delta->head;
    return (uint64_t)1 << (d->tile_log2 + d->element_log2);
}

/* Some tiles at work. */
struct window {
    const struct wcodec_delta_decoder *delta;
    uint64_t first, stop; /* tiles */
    uint8_t *out;
    bool verify;
    unsigned mode;        /* of tiles that are combined now */
    const uint8_t *coded; /* of that mode's part, from `coded_first` on */
    uint64_t coded_first; /* element of the part, or byte of the streams */
    _Atomic uint64_t bad; /* the first tile that is */
};

static void combine_task(void *argument, size_t i)
{
    struct window *w = argument;
    const struct wcodec_delta *d = w->delta->head;
    const uint64_t tile = w->first + i, count = wcodec_delta_tile_elements(d, tile);
    const struct wcodec_delta_tile t = wcodec_delta_tile_at(w->delta->side, tile);
    uint8_t *out = w->out + ((uint64_t)i << d->tile_log2 << d->element_log2);
    if (t.mode != w->mode)
        return;
    if (w->mode == WCODEC_DELTA_SPARSE) {
        const uint8_t *stream = w->coded + (t.place - w->coded_first);
        if ((w->verify && wcodec_delta_check(stream, t.size) != t.check) ||
            !wcodec_delta_patch(w->delta->side, stream, t.size, count, out))
            wcodec_note_first(&w->bad, tile);
        return;
    }
    const uint8_t *coded = w->coded + ((t.place - w->coded_first) << d->element_log2);
    if (w->mode == WCODEC_DELTA_ALONE)
        memcpy(out, coded, (size_t)(count << d->element_log2));
    else
        wcodec_delta_combine(w->mode, d->element_log2, coded, count, out);
}

/* What a tile has become is what was coded: so the base's elements were right, too. */
static void check_task(void *argument, size_t i)
{
    struct window *w = argument;
    const struct wcodec_delta *d = w->delta->head;
    const uint64_t tile = w->first + i, count = wcodec_delta_tile_elements(d, tile);
    const uint8_t *out = w->out + ((uint64_t)i << d->tile_log2 << d->element_log2);
    if (wcodec_delta_result_of(out, count << d->element_log2,
                               tile << d->tile_log2 << d->element_log2) !=
        wcodec_delta_tile_at(w->delta->side, tile).result)
        wcodec_note_first(&w->bad, tile);
}

/* Compare elements with the checks that the delta has of them. */
static wcodec_status check_results(struct wcodec_decoder *d, struct window *w, wcodec_error *err)
{
    const struct wcodec_delta_decoder *x = d->delta;
    const struct wcodec_base_file *file = x->base.tensor.file;
    /* Of tensors in memory who asks for this hashes all. */
    if (!w->verify || file->source.read != NULL)
        return WCODEC_OK;
    wcodec_run(d->input.context, check_task, w, (size_t)(w->stop - w->first));
    return w->bad == UINT64_MAX
               ? WCODEC_OK
               : wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                             "tile %" PRIu64 " of a delta is not what was coded: its base %s is "
                             "not the file that its hash says, or is damaged",
                             (uint64_t)w->bad, file->path);
}

/* Places of the first tile of a mode in the window and after the last; false: none has it. */
static bool find_places(const struct window *w, unsigned mode, uint64_t *begin, uint64_t *end)
{
    bool any = false;
    for (uint64_t i = w->first; i < w->stop; i++) {
        const struct wcodec_delta_tile t = wcodec_delta_tile_at(w->delta->side, i);
        if (t.mode != mode)
            continue;
        if (!any)
            *begin = t.place;
        *end =
            t.place +
            (mode == WCODEC_DELTA_SPARSE ? t.size : wcodec_delta_tile_elements(w->delta->head, i));
        any = true;
    }
    return any;
}

static wcodec_status decode_streams(struct wcodec_decoder *d, struct window *w, uint64_t begin,
                                    uint64_t end, wcodec_error *err)
{
    static const uint8_t none[1];
    struct wcodec_delta_decoder *x = d->delta;
    const uint64_t at = wcodec_delta_streams_begin(x->head) + begin;
    w->coded_first = begin;
    if (begin == end) { /* the payload may end before */
        w->coded = none;
        return WCODEC_OK;
    }
    if (d->payload != NULL) {
        w->coded = d->payload + at;
        return WCODEC_OK;
    }
    wcodec_status status =
        wcodec_decoder_enlarge(d, end - begin, &x->streams, &x->streams_size, err);
    if (status == WCODEC_OK)
        status = wcodec_decoder_read(d, d->input.entry->payload_offset + at, x->streams,
                                     end - begin, err);
    w->coded = x->streams;
    return status;
}

static wcodec_status decode_part(struct wcodec_decoder *d, struct window *w, uint64_t begin,
                                 uint64_t end, wcodec_error *err)
{
    struct wcodec_delta_decoder *x = d->delta;
    const unsigned log2 = x->head->element_log2;
    wcodec_status status =
        wcodec_decoder_enlarge(d, (end - begin) << log2, &x->coded, &x->coded_size, err);
    w->coded = x->coded;
    w->coded_first = begin;
    return status == WCODEC_OK
               ? wcodec_decoder_range_part(d, &x->parts.decoders[w->mode - WCODEC_DELTA_ALONE],
                                           begin << log2, end << log2, x->coded, err)
               : status;
}

static wcodec_status decode_window(struct wcodec_decoder *d, struct window *w, wcodec_error *err)
{
    struct wcodec_delta_decoder *x = d->delta;
    const unsigned shift = x->head->tile_log2 + x->head->element_log2;
    const uint64_t begin = w->first << shift,
                   end = w->stop == x->head->tiles ? x->head->size : w->stop << shift;
    uint64_t from = 0, to = 0;
    wcodec_status status = wcodec_base_reader_range(&x->base, begin, end, w->out, err);
    for (unsigned m = WCODEC_DELTA_SPARSE; m < WCODEC_DELTA_MODES && status == WCODEC_OK; m++) {
        if (x->head->counts[m] == 0 || !find_places(w, m, &from, &to))
            continue;
        w->mode = m;
        status = m == WCODEC_DELTA_SPARSE ? decode_streams(d, w, from, to, err)
                                          : decode_part(d, w, from, to, err);
        if (status == WCODEC_OK)
            wcodec_run(d->input.context, combine_task, w, (size_t)(w->stop - w->first));
    }
    if (status == WCODEC_OK && w->bad != UINT64_MAX)
        status = wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                             "tile %" PRIu64 " of a delta is damaged: its stream or its check",
                             (uint64_t)w->bad);
    return status == WCODEC_OK ? check_results(d, w, err) : status;
}

/* One tile, of which bytes [begin, end) of the tensor are wanted, to dst. */
static wcodec_status decode_partial(struct wcodec_decoder *d, struct window *w, uint64_t begin,
                                    uint64_t end, uint8_t *dst, wcodec_error *err)
{
    const uint64_t unit = wcodec_delta_unit(d->input.entry), at = w->first * unit,
                   from = begin - at, to = end - at;
    wcodec_status status = WCODEC_OK;
    if (d->delta->tile == NULL)
        status = wcodec_decoder_take(d, unit, &d->delta->tile, err);
    w->out = d->delta->tile;
    if (status == WCODEC_OK)
        status = decode_window(d, w, err);
    if (status == WCODEC_OK)
        memcpy(dst, d->delta->tile + from, (size_t)(to - from));
    return status;
}

wcodec_status wcodec_decoder_range_delta(struct wcodec_decoder *d, uint64_t begin, uint64_t end,
                                         uint8_t *dst, struct wcodec_reporter *reporter,
                                         wcodec_error *err)
{
    const uint64_t unit = wcodec_delta_unit(d->input.entry), size = d->delta->head->size,
                   most = WINDOW / unit > 1 ? WINDOW / unit : 1;
    wcodec_status status = WCODEC_OK;
    for (uint64_t at = begin; at < end && status == WCODEC_OK;) {
        const uint64_t tile = at / unit,
                       tile_end = (tile + 1) * unit < size ? (tile + 1) * unit : size;
        struct window w = {.delta = d->delta,
                           .first = tile,
                           .stop = tile + 1,
                           .verify = d->input.verify,
                           .bad = UINT64_MAX};
        uint64_t next = tile_end;
        if (at != tile * unit || end < tile_end) {
            next = end < tile_end ? end : tile_end;
            status = decode_partial(d, &w, at, next, dst + (at - begin), err);
        } else {
            while (w.stop - tile < most && next < end && (next + unit <= end || end == size)) {
                next = next + unit < size ? next + unit : size;
                w.stop++;
            }
            w.out = dst + (at - begin);
            status = decode_window(d, &w, err);
        }
        if (status == WCODEC_OK)
            status = wcodec_reporter_add(reporter, next - at, err);
        at = next;
    }
    return status;
}
