/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* A delta's side: written, and read again to verify what was coded by it. */
#include "encode/delta_work.h"
#include "core/error.h"
#include "core/memory.h"

wcodec_status wcodec_delta_make_side(struct wcodec_delta_work *w, uint8_t **side, uint64_t *room,
                                     wcodec_error *err)
{
    const bool mixed = wcodec_delta_mode_count(&w->d) > 1,
               sparse = w->d.counts[WCODEC_DELTA_SPARSE] != 0;
    const uint64_t most = (3 * w->d.tiles + 7) / 8 + WCODEC_DELTA_CODES_MAX + 13 * w->d.tiles + 16;
    uint8_t *bytes = wcodec_alloc_zeroed(&w->context->allocator, (size_t)most), *at = bytes;
    uint64_t bit = 0;
    if (bytes == NULL)
        return wcodec_delta_out_of_memory(err);
    for (uint64_t i = 0; i < w->d.tiles && mixed; i++) {
        const unsigned mode = w->tiles[i].mode,
                       word = mode == WCODEC_DELTA_EQUAL ? 0 : 1 | (mode - 1) << 1;
        for (unsigned b = 0; b < (mode == WCODEC_DELTA_EQUAL ? 1u : 3u); b++, bit++)
            bytes[bit / 8] |= (uint8_t)((word >> b & 1) << bit % 8);
    }
    at += (bit + 7) / 8;
    if (sparse)
        at += wcodec_delta_codes_write(&w->gaps, &w->values, at);
    for (uint64_t i = 0; i < w->d.tiles; i++)
        if (w->tiles[i].mode == WCODEC_DELTA_SPARSE) {
            at += wcodec_put_varint(at, w->tiles[i].size);
            wcodec_store_u32(at, w->tiles[i].check);
            at += 4;
        }
    for (uint64_t i = 0; i < w->d.tiles; i++, at += 4)
        wcodec_store_u32(at, w->tiles[i].result);
    w->d.side_size = (uint64_t)(at - bytes);
    w->d.check = wcodec_delta_check(bytes, w->d.side_size);
    *side = bytes;
    *room = wcodec_delta_streams_begin(&w->d);
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

/* Whoever coded the streams has decoded them: does the side say the same of them? */
static void verify_lent(struct wcodec_delta_work *w)
{
    uint64_t at = 0;
    bool right = same_codes(&w->side->gaps, &w->gaps) && same_codes(&w->side->values, &w->values);
    for (uint64_t i = 0; i < w->d.tiles; i++) {
        const struct wcodec_delta_tile t = wcodec_delta_tile_at(w->side, i);
        right = right && t.mode == w->tiles[i].mode && t.result == w->tiles[i].result;
        if (t.mode != WCODEC_DELTA_SPARSE)
            continue;
        right =
            right && t.place == at && t.size == w->tiles[i].size && t.check == w->tiles[i].check;
        at += t.size;
    }
    if (!right)
        atomic_store(&w->wrong, true);
}

wcodec_status wcodec_delta_verify(struct wcodec_delta_work *w, const uint8_t *bytes,
                                  wcodec_error *err)
{
    struct wcodec_delta_side *side = NULL;
    wcodec_status status = wcodec_delta_side_read(&w->d, bytes, &w->context->allocator, &side, err);
    if (status == WCODEC_ERROR_CORRUPT)
        return WCODEC_ERROR_DEVICE;
    if (status != WCODEC_OK)
        return status;
    w->side = side;
    if (w->lent.bytes != NULL)
        verify_lent(w);
    else
        wcodec_run(w->context, verify_task, w, w->groups);
    w->side = NULL;
    wcodec_delta_side_free(side);
    if (atomic_load(&w->failed))
        return wcodec_delta_out_of_memory(err);
    return atomic_load(&w->wrong)
               ? wcodec_fail(err, WCODEC_ERROR_DEVICE,
                             "a delta does not decode to what was coded: this machine computes "
                             "wrongly")
               : WCODEC_OK;
}
