/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* A delta's side: written, and read again to verify what was coded by it. */
#include "encode/delta_work.h"
#include "core/error.h"
#include "core/memory.h"

/* Bits go by 32 at once: there is room after them. */
static uint8_t *put_modes(const struct wcodec_delta_work *w, uint8_t *at)
{
    uint64_t buffer = 0;
    unsigned filled = 0;
    for (uint64_t i = 0; i < w->d.tiles; i++) {
        const unsigned mode = w->tiles[i].mode;
        buffer |= (uint64_t)(mode == WCODEC_DELTA_EQUAL ? 0 : 1 | (mode - 1) << 1) << filled;
        filled += mode == WCODEC_DELTA_EQUAL ? 1 : 3;
        if (filled >= 32) {
            wcodec_store_u32(at, (uint32_t)buffer);
            at += 4;
            buffer >>= 32;
            filled -= 32;
        }
    }
    wcodec_store_u32(at, (uint32_t)buffer);
    return at + (filled + 7) / 8;
}

/* As wcodec_put_varint(): most have one byte or two, and there is room for two. */
static inline size_t put_size(uint8_t *to, uint32_t size)
{
    if (size >= 1u << 14)
        return wcodec_put_varint(to, size);
    const unsigned two = size >= 0x80;
    to[0] = (uint8_t)(size | two << 7);
    to[1] = (uint8_t)(size >> 7);
    return 1 + two;
}

wcodec_status wcodec_delta_make_side(struct wcodec_delta_work *w, uint8_t **side, uint64_t *room,
                                     wcodec_error *err)
{
    const bool mixed = wcodec_delta_mode_count(&w->d) > 1,
               sparse = w->d.counts[WCODEC_DELTA_SPARSE] != 0;
    const uint64_t most = (3 * w->d.tiles + 7) / 8 + WCODEC_DELTA_CODES_MAX + 13 * w->d.tiles + 16;
    uint8_t *bytes = wcodec_alloc(&w->context->allocator, (size_t)most), *at = bytes;
    if (bytes == NULL)
        return wcodec_delta_out_of_memory(err);
    if (mixed)
        at = put_modes(w, at);
    if (sparse)
        at += wcodec_delta_codes_write(&w->gaps, &w->values, at);
    for (uint64_t i = 0; i < w->d.tiles; i++)
        if (w->tiles[i].mode == WCODEC_DELTA_SPARSE) {
            at += put_size(at, w->tiles[i].size);
            wcodec_store_u32(at, w->tiles[i].check);
            at += 4;
        }
    for (uint64_t i = 0; i < w->d.tiles; i++, at += 4)
        wcodec_store_u32(at, w->tiles[i].result);
    w->d.side_size = (uint64_t)(at - bytes);
    w->d.check = wcodec_delta_check(bytes, w->d.side_size);
    *side = bytes;
    *room = wcodec_delta_streams_begin(&w->d);
    memset(at, 0, (size_t)(*room - w->d.side_size));
    return WCODEC_OK;
}

static bool is_stream_right(const struct wcodec_delta_work *w, size_t i, const uint8_t *stream,
                            uint8_t *out)
{
    const unsigned log2 = w->d.element_log2;
    const uint64_t at = (uint64_t)i << w->d.tile_log2 << log2,
                   count = wcodec_delta_tile_elements(&w->d, i), size = w->tiles[i].size;
    memcpy(out, w->base + at, (size_t)(count << log2));
    return wcodec_delta_patch(w->side, stream, size, count, out) &&
           memcmp(out, w->data + at, (size_t)(count << log2)) == 0;
}

static void verify_task(void *argument, size_t group)
{
    struct wcodec_delta_work *w = argument;
    const size_t end = wcodec_delta_group_end(w, group);
    const uint8_t *stream = w->streams[group];
    if (stream == NULL)
        return;
    uint8_t *out =
        wcodec_alloc(&w->context->allocator, (size_t)1 << (w->d.tile_log2 + w->d.element_log2));
    if (out == NULL) {
        atomic_store(&w->failed, true);
        return;
    }
    for (size_t i = group * WCODEC_DELTA_GROUP; i < end; i++) {
        if (w->tiles[i].mode != WCODEC_DELTA_SPARSE)
            continue;
        if (!is_stream_right(w, i, stream, out))
            atomic_store(&w->wrong, true);
        stream += w->tiles[i].size;
    }
    wcodec_free(&w->context->allocator, out);
}

static bool same_codes(const struct wcodec_delta_code *a, const struct wcodec_delta_code *b)
{
    return a->single == b->single && a->longest == b->longest &&
           memcmp(a->table, b->table,
                  (a->single ? 1u : (size_t)1 << a->longest) * sizeof *a->table) == 0;
}

/* Modes as they are written: do they say the same? */
static bool are_modes_right(const struct wcodec_delta_work *w, struct wcodec_cursor *c)
{
    uint64_t buffer = 0, differs = 0;
    unsigned filled = 0;
    for (uint64_t i = 0; i < w->d.tiles; i++) {
        while (filled < 3 && c->at < c->end) {
            buffer |= (uint64_t)*c->at++ << filled;
            filled += 8;
        }
        uint8_t mode;
        const unsigned more = wcodec_delta_take_mode(buffer, &mode);
        differs |= mode ^ w->tiles[i].mode;
        if (filled < more)
            return false;
        buffer >>= more;
        filled -= more;
    }
    c->at -= filled / 8;
    return differs == 0 && (buffer & ((1u << filled % 8) - 1)) == 0;
}

/* Modes, codes and directory. */
static bool is_front_right(const struct wcodec_delta_work *w, const uint8_t *bytes,
                           const uint8_t *end)
{
    struct wcodec_cursor c = {bytes, end};
    struct wcodec_delta_code codes[2];
    uint64_t differs = 0, sizes = 0;
    if (wcodec_delta_mode_count(&w->d) > 1 && !are_modes_right(w, &c))
        return false;
    if (w->d.counts[WCODEC_DELTA_SPARSE] != 0 &&
        !(wcodec_delta_codes_read(&c, &codes[0], &codes[1]) && same_codes(&codes[0], &w->gaps) &&
          same_codes(&codes[1], &w->values)))
        return false;
    for (uint64_t i = 0; i < w->d.tiles; i++) {
        const struct wcodec_delta_work_tile *t = &w->tiles[i];
        uint64_t size;
        uint32_t check;
        if (t->mode != WCODEC_DELTA_SPARSE)
            continue;
        if (!wcodec_delta_take_tile(&c, &size, &check))
            return false;
        differs |= (size ^ t->size) | (check ^ t->check);
        sizes += size;
    }
    return c.at == end && differs == 0 && sizes == w->d.streams_size;
}

static bool are_results_right(const struct wcodec_delta_work *w, const uint8_t *results)
{
    uint32_t differs = 0;
    for (uint64_t i = 0; i < w->d.tiles; i++)
        differs |= wcodec_load_u32(results + 4 * i) ^ w->tiles[i].result;
    return differs == 0;
}

/* A side whose streams somebody else has proven: does it say the same of them? By one thread:
 * others would have to wake. */
static bool is_side_right(const struct wcodec_delta_work *w, const uint8_t *bytes)
{
    const uint8_t *results = bytes + (w->d.side_size - 4 * w->d.tiles);
    return wcodec_delta_check(bytes, w->d.side_size) == w->d.check &&
           is_front_right(w, bytes, results) && are_results_right(w, results);
}

static wcodec_status end_verifying(struct wcodec_delta_work *w, wcodec_error *err)
{
    if (atomic_load(&w->failed))
        return wcodec_delta_out_of_memory(err);
    return atomic_load(&w->wrong)
               ? wcodec_fail(err, WCODEC_ERROR_DEVICE,
                             "a delta does not decode to what was coded: this machine computes "
                             "wrongly")
               : WCODEC_OK;
}

wcodec_status wcodec_delta_prove(struct wcodec_delta_work *w, const uint8_t *bytes,
                                 wcodec_error *err)
{
    struct wcodec_delta_side *side = NULL;
    if (w->found != NULL) {
        atomic_store(&w->wrong, !is_side_right(w, bytes));
        return end_verifying(w, err);
    }
    const wcodec_status status =
        wcodec_delta_side_read(&w->d, bytes, &w->context->allocator, &side, err);
    if (status == WCODEC_ERROR_CORRUPT)
        return WCODEC_ERROR_DEVICE;
    if (status != WCODEC_OK)
        return status;
    w->side = side;
    wcodec_run(w->context, verify_task, w, w->groups);
    w->side = NULL;
    wcodec_delta_side_free(side);
    return end_verifying(w, err);
}
