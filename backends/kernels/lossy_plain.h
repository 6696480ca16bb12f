/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Elements of plain lossy tensors: coefficients in their order, each by itself. */
#ifndef WCODEC_KERNELS_LOSSY_PLAIN_H
#define WCODEC_KERNELS_LOSSY_PLAIN_H

#include "backends/kernels/bytes.h"
#include "backends/kernels/lossy_unit.h"

/* A lane's words get the upper symbol `value` of the unit's element `at`, from bit `shift` on. */
WCODEC_DEVICE_FUNCTION void wcodec_lossy_replace_upper(const struct wcodec_kind k,
                                                       struct wcodec_warp *warp, uint32_t at,
                                                       uint32_t value, uint32_t shift, uint32_t *v)
{
    const uint32_t bit = at % 2 * 16, mask = (0xffffu << shift & 0xffffu) << bit,
                   bits = (value << shift & 0xffffu) << bit,
                   word = at / 4 % 32 == wcodec_lane(warp) ? at / 128 * 2 + at % 4 / 2 : ~0u;
    WCODEC_UNROLL_ALL
    for (uint32_t i = 0; i < 2 * k.lossy.groups; i++)
        v[i] = i == word ? (v[i] & ~mask) | bits : v[i];
}

/* Upper symbols of a plain tensor are constant except outliers, which a lane's words of the unit
 * from element `first` on get here. Where they are in order, those that are done are the first. */
WCODEC_DEVICE_FUNCTION void wcodec_lossy_patch_upper(const struct wcodec_kind k,
                                                     struct wcodec_warp *warp,
                                                     const struct wcodec_lossy_tile *tile,
                                                     uint32_t first, uint32_t shift, uint32_t *v)
{
    const uint32_t elements = 128 * k.lossy.groups;
    while (wcodec_shared_u32(warp, tile->head + WCODEC_LOSSY_NEXT) - first < elements) {
        const WCODEC_VIEW struct wcodec_stream_job *job = wcodec_lossy_upper(warp, tile);
        const uint32_t count = job->outliers, lane = wcodec_lane(warp),
                       done = wcodec_shared_u32(warp, tile->head + WCODEC_LOSSY_CHANGED),
                       i = done + lane;
        const WCODEC_GLOBAL uint16_t *positions = WCODEC_BUFFER(warp, uint16_t, job->positions);
        uint32_t position = ~0u, value = 0;
        if (i < count) {
            position = positions[i];
            value = WCODEC_BUFFER(warp, uint8_t, job->values)[i];
        }
        const uint32_t here = wcodec_ballot(warp, position - first < elements),
                       next = done + WCODEC_POPCOUNT(here);
        for (uint32_t left = here; left; left &= left - 1) {
            const uint32_t from = wcodec_first_bit(left),
                           at = wcodec_shuffle(warp, position, from) - first,
                           bits = wcodec_shuffle(warp, value, from);
            wcodec_lossy_replace_upper(k, warp, at, bits, shift, v);
        }
        wcodec_sync_warp(warp);
        if (lane == 0)
            wcodec_put_u2(warp, tile->head + WCODEC_LOSSY_CHANGED,
                          wcodec_make_u2(next, next < count && here ? positions[next] : ~0u));
        wcodec_sync_warp(warp);
    }
}

/* A lane's words of the unit that begins with element `first` of the tile, as they count for the
 * check. */
WCODEC_DEVICE_FUNCTION void wcodec_lossy_take_plain(const struct wcodec_kind k,
                                                    struct wcodec_warp *warp,
                                                    const struct wcodec_lossy_tile *tile,
                                                    uint32_t first, uint32_t *v)
{
    const uint32_t from = tile->low.staged + 4 * wcodec_lane(warp), bytes = k.lossy.bytes;
    if (!k.lossy.raw) {
        WCODEC_UNROLL_ALL
        for (uint32_t i = 0; i < k.lossy.groups; i++)
            v[i] = wcodec_shared_u32(warp, from + 128 * i);
        return;
    }
    const wcodec_u4 with = wcodec_shared_u4(warp, tile->head + WCODEC_LOSSY_WITH);
    const uint32_t add = with.x, bits = with.y, constants = with.z;
    WCODEC_UNROLL_ALL
    for (uint32_t i = 0; i < k.lossy.groups; i++) {
        const uint32_t symbols = wcodec_shared_u32(warp, from + 128 * i);
        if (bytes == 2) {
            v[2 * i] = wcodec_bytes(symbols, 0, 0x4140) << bits | constants;
            v[2 * i + 1] = wcodec_bytes(symbols, 0, 0x4342) << bits | constants;
        } else {
            v[i] = symbols;
        }
    }
    wcodec_lossy_put_raw(k, warp, wcodec_lossy_raw_rows(k, tile), bits, v);
    if (bytes == 2)
        wcodec_lossy_patch_upper(k, warp, tile, first, 8 + bits, v);
    WCODEC_UNROLL_ALL
    for (uint32_t i = 0; i < k.lossy.groups * bytes; i++)
        v[i] = bytes == 2 ? wcodec_subtract_halves(v[i], add) : wcodec_subtract_bytes(v[i], add);
}

/* Of one row, and from the unit's element `row` on of the next; a step's. */
struct wcodec_lossy_scales {
    float first, then;
    uint32_t row;
};

/* A lane's four elements of a group; format: known when this is compiled, as in what follows. */
WCODEC_DEVICE_FUNCTION void wcodec_lossy_store_four(const struct wcodec_kind k,
                                                    const uint32_t format, const uint32_t *words,
                                                    float scale, WCODEC_GLOBAL uint8_t *to)
{
    uint32_t v[4];
    if (k.lossy.bytes == 2) {
        wcodec_lossy_two(words[0], v, v + 1);
        wcodec_lossy_two(words[1], v + 2, v + 3);
    } else {
        wcodec_lossy_four(words[0], v, v + 1, v + 2, v + 3);
    }
    if (format == WCODEC_ELEMENT_F32)
        wcodec_store_once_u4(to, wcodec_lossy_product(v[0], scale),
                             wcodec_lossy_product(v[1], scale), wcodec_lossy_product(v[2], scale),
                             wcodec_lossy_product(v[3], scale));
    else
        wcodec_store_u2(to, wcodec_lossy_pair(format, v[0], v[1], scale),
                        wcodec_lossy_pair(format, v[2], v[3], scale));
}

/* A unit of which all is wanted, of one row or, with `rows`, two. */
WCODEC_DEVICE_FUNCTION void wcodec_lossy_store_unit(const struct wcodec_kind k,
                                                    struct wcodec_warp *warp,
                                                    const struct wcodec_lossy_tile *tile,
                                                    const uint32_t format, const bool rows,
                                                    uint32_t first, WCODEC_GLOBAL uint8_t *to,
                                                    const struct wcodec_lossy_scales *scales)
{
    const uint32_t bytes = k.lossy.bytes,
                   factor = WCODEC_CHECK_FIRST + first / 128 * bytes * WCODEC_CHECK_STEP;
    uint32_t words[16];
    uint64_t sum = 0;
    wcodec_lossy_take_plain(k, warp, tile, first, words);
    WCODEC_UNROLL_ALL
    for (uint32_t i = 0; i < k.lossy.groups; i++) {
        const bool second = rows && 128 * i + 4 * wcodec_lane(warp) >= scales->row;
        WCODEC_UNROLL_ALL
        for (uint32_t j = bytes * i; j < bytes * (i + 1); j++)
            sum += (uint64_t)words[j] * (factor + j * WCODEC_CHECK_STEP);
        wcodec_lossy_store_four(k, format, words + bytes * i, second ? scales->then : scales->first,
                                to + (format == WCODEC_ELEMENT_F32 ? 512 : 256) * i);
    }
    wcodec_lossy_add_sum(warp, tile, sum);
}

WCODEC_DEVICE_FUNCTION void wcodec_lossy_store_rows(const struct wcodec_kind k,
                                                    struct wcodec_warp *warp,
                                                    const struct wcodec_lossy_tile *tile,
                                                    uint32_t format, const bool rows,
                                                    uint32_t first, WCODEC_GLOBAL uint8_t *to,
                                                    const struct wcodec_lossy_scales *scales)
{
    if (format == WCODEC_ELEMENT_BF16)
        wcodec_lossy_store_unit(k, warp, tile, WCODEC_ELEMENT_BF16, rows, first, to, scales);
    else if (format == WCODEC_ELEMENT_F16)
        wcodec_lossy_store_unit(k, warp, tile, WCODEC_ELEMENT_F16, rows, first, to, scales);
    else
        wcodec_lossy_store_unit(k, warp, tile, WCODEC_ELEMENT_F32, rows, first, to, scales);
}

/* Word `i` of a lane, of which the compiler does not know the number. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_lossy_nth_word(const struct wcodec_kind k,
                                                      const uint32_t *words, uint32_t i)
{
    uint32_t word = 0;
    WCODEC_UNROLL_ALL
    for (uint32_t j = 0; j < k.lossy.groups * k.lossy.bytes; j++)
        word = j == i ? words[j] : word;
    return word;
}

/* The first n groups of a unit, an element at a time: those that are wanted. */
WCODEC_DEVICE_FUNCTION void
wcodec_lossy_put_each(const struct wcodec_kind k, struct wcodec_warp *warp,
                      const struct wcodec_lossy_tile *tile, const struct wcodec_lossy_work *w,
                      const WCODEC_VIEW struct wcodec_blocks_job *job, uint32_t first, uint32_t n)
{
    const WCODEC_VIEW struct wcodec_view_job *view = w->view;
    const uint32_t lane = wcodec_lane(warp), bytes = k.lossy.bytes,
                   log2 = w->format == WCODEC_ELEMENT_F32 ? 2 : 1;
    uint32_t words[16];
    uint64_t sum = 0;
    wcodec_lossy_take_plain(k, warp, tile, first, words);
    WCODEC_UNROLL_NONE
    for (uint32_t i = 0; i < 4 * n; i++) {
        /* Element i % 4 of the lane's in group i / 4; those after the last are zero, for the check.
         */
        const uint32_t number = first + i / 4 * 128 + 4 * lane + i % 4, offset = i % 4 * bytes,
                       word = i / 4 * bytes + offset / 4, shift = offset % 4 * 8;
        const uint64_t element = job->first + number;
        uint32_t value = wcodec_lossy_nth_word(k, words, word) >> shift;
        if (number >= job->blocks)
            continue;
        value &= bytes == 2 ? 0xffffu : 0xffu;
        sum += (uint64_t)(value << shift) *
               (WCODEC_CHECK_FIRST + (first / 128 * bytes + word) * WCODEC_CHECK_STEP);
        if (element >= view->begin && element < view->end)
            wcodec_put_one(w, view->out + ((element - view->begin) << log2),
                           (uint32_t)WCODEC_SIGNED(bytes == 2, value) * 64,
                           wcodec_row_scale(w, view->row_scales ? element / view->columns : 0));
    }
    wcodec_lossy_add_sum(warp, tile, sum);
}

/* Scales of `elements` from number `at` of the tensor on. */
WCODEC_DEVICE_FUNCTION void wcodec_lossy_scales_of(struct wcodec_warp *warp,
                                                   const WCODEC_VIEW struct wcodec_view_job *view,
                                                   uint64_t at, uint32_t elements,
                                                   struct wcodec_lossy_scales *s)
{
    const WCODEC_GLOBAL float *scale = WCODEC_BLOCK(warp, float, view->scales);
    s->row = elements;
    s->then = 0;
    if (view->row_scales) {
        const uint64_t number = at / view->columns, left = (number + 1) * view->columns - at;
        s->row = left < elements ? (uint32_t)left : elements;
        scale += number - view->first_row;
        if (s->row < elements)
            s->then = scale[1] * 64;
    }
    s->first = scale[0] * 64;
}

/* Where the elements of a tile go that is wanted as a whole, with one scale for all; else NULL. */
WCODEC_DEVICE_FUNCTION WCODEC_GLOBAL uint8_t *
wcodec_lossy_whole_out(struct wcodec_warp *warp, const struct wcodec_lossy_tile *tile)
{
    const wcodec_u2 out = wcodec_shared_u2(warp, tile->head + WCODEC_LOSSY_PLAIN);
    return (WCODEC_GLOBAL uint8_t *)(uintptr_t)((uint64_t)out.y << 32 | out.x);
}

/* Of a step. */
WCODEC_DEVICE_FUNCTION WCODEC_LOCAL float *
wcodec_lossy_whole_scale(struct wcodec_warp *warp, const struct wcodec_lossy_tile *tile)
{
    return WCODEC_SHARED(warp, float, tile->head + WCODEC_LOSSY_PLAIN + 8);
}

/* After the tile's descriptors were copied: both. */
WCODEC_DEVICE_FUNCTION void wcodec_lossy_plain_begin(struct wcodec_warp *warp,
                                                     const struct wcodec_lossy_tile *tile)
{
    const WCODEC_VIEW struct wcodec_view_job *view =
        WCODEC_LOSSY_SHARED(warp, tile, wcodec_view_job, VIEW);
    const WCODEC_VIEW struct wcodec_blocks_job *job =
        WCODEC_LOSSY_SHARED(warp, tile, wcodec_blocks_job, BLOCKS);
    const uint32_t log2 = view->format == WCODEC_ELEMENT_F32 ? 2 : 1;
    const uint64_t out = view->out + ((job->first - view->begin) << log2);
    uint64_t address = 0;
    if (!view->row_scales && job->first >= view->begin && job->first + job->blocks <= view->end &&
        out % (4u << log2) == 0)
        address = (uint64_t)(uintptr_t)WCODEC_BUFFER_OUT(warp, uint8_t, out);
    wcodec_put_u2(warp, tile->head + WCODEC_LOSSY_PLAIN,
                  wcodec_make_u2((uint32_t)address, (uint32_t)(address >> 32)));
    *wcodec_lossy_whole_scale(warp, tile) = *WCODEC_BLOCK(warp, float, view->scales) * 64;
}

/* n groups of a unit, of a tile that is not wanted as a whole, has scales of rows, or ends here. */
WCODEC_DEVICE_FUNCTION void wcodec_lossy_put_part(const struct wcodec_kind k,
                                                  struct wcodec_warp *warp,
                                                  const struct wcodec_lossy_tile *tile,
                                                  const struct wcodec_lossy_work *w, uint32_t first,
                                                  uint32_t n)
{
    const WCODEC_VIEW struct wcodec_view_job *view = w->view;
    const WCODEC_VIEW struct wcodec_blocks_job *job =
        WCODEC_LOSSY_SHARED(warp, tile, wcodec_blocks_job, BLOCKS);
    const uint32_t log2 = w->format == WCODEC_ELEMENT_F32 ? 2 : 1, elements = 128 * k.lossy.groups;
    const uint64_t at = job->first + first, out = view->out + ((at - view->begin) << log2);
    /* Two rows at most, of which none ends within a lane's four elements. */
    const bool rows = !view->row_scales || (view->columns >= elements && view->columns % 4 == 0);
    struct wcodec_lossy_scales scales;
    if (!rows || first + elements > job->blocks || at < view->begin || at + elements > view->end ||
        out % (4u << log2)) {
        wcodec_lossy_put_each(k, warp, tile, w, job, first, n);
        return;
    }
    wcodec_lossy_scales_of(warp, view, at, elements, &scales);
    wcodec_lossy_store_rows(k, warp, tile, w->format, true, first,
                            WCODEC_BUFFER_OUT(warp, uint8_t, out) + (wcodec_lane(warp) * 4 << log2),
                            &scales);
}

WCODEC_DEVICE_FUNCTION void wcodec_lossy_plain_unit(const struct wcodec_kind k,
                                                    struct wcodec_warp *warp,
                                                    struct wcodec_lossy_tile *tile,
                                                    const struct wcodec_lossy_work *w, uint32_t g)
{
    const uint32_t left = wcodec_lossy_elements(warp, tile) - g * 128,
                   n = left < k.lossy.groups * 128 ? (left + 127) / 128 : k.lossy.groups;
    const bool saved = k.lossy.raw && k.lossy.bytes == 2; /* upper symbols need registers, too */
    wcodec_lossy_stream_lane(warp, tile->launch, &tile->low);
    wcodec_lossy_begin_raw(k, warp, tile, g);
    if (saved || g == 0)
        wcodec_lossy_load_outliers(warp, &tile->low, wcodec_lossy_first(warp, tile));
    wcodec_lossy_decode_groups(k, warp, &tile->low, g, n);
    if (wcodec_lossy_patch(warp, &tile->low, wcodec_lossy_first(warp, tile), g * 128,
                           k.lossy.groups * 128,
                           k.lossy.bytes == 1 ? wcodec_lossy_raw_bits(k, warp, tile) : 0) &&
        !saved)
        wcodec_lossy_load_outliers(warp, &tile->low, wcodec_lossy_first(warp, tile));
    wcodec_lossy_end_raw(k, warp, tile, g);
    if (saved)
        wcodec_lossy_save(warp, &tile->low, tile->head);
    WCODEC_GLOBAL uint8_t *out = wcodec_lossy_whole_out(warp, tile);
    if (out && left >= k.lossy.groups * 128) {
        const struct wcodec_lossy_scales one = {*wcodec_lossy_whole_scale(warp, tile), 0, 0};
        wcodec_lossy_store_rows(
            k, warp, tile, w->format, false, g * 128,
            out + ((g * 128 + wcodec_lane(warp) * 4) << (w->format == WCODEC_ELEMENT_F32 ? 2 : 1)),
            &one);
    } else {
        wcodec_lossy_put_part(k, warp, tile, w, g * 128, n);
    }
    wcodec_sync_warp(warp);
    if (saved)
        wcodec_lossy_restore(warp, &tile->low, tile->head);
}

#endif
