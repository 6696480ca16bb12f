/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Products of many vectors with a matrix at a fixed rate (product.h), y = x W^T + bias, on Hopper:
 * four warps multiply 64 rows, which they have in registers as they come out of the records, by up
 * to 256 vectors in shared memory, and decode their next tile meanwhile.
 *
 * A record has, of every 32 columns, eight for each of four lanes, of which an operation of 16
 * columns wants two from each: so x is made ready before by a kernel of its own, in blocks of as
 * many vectors as a work-group takes, tile by tile, that copies bring as they are. A work-group has
 * 128 rows. In a cluster of them some share x, which each brings a part of to all; some divide the
 * columns, and add their sums in order at the end. */
#ifndef WCODEC_KERNELS_PRODUCT_WIDE_H
#define WCODEC_KERNELS_PRODUCT_WIDE_H

#include "backends/kernels/product_wide_sums.h"

#ifdef WCODEC_WARPGROUPS
/* x, by one lane: its share of each stage to all that share it. */
WCODEC_DEVICE_FUNCTION void wcodec_wide_bring(const uint32_t vectors, const struct wcodec_wide *w)
{
    const struct wcodec_wide_launch *l = w->launch;
    const uint32_t size = vectors * 128, bytes = size / l->shares, offset = w->share * bytes;
    uint64_t from = l->blocks + w->block * l->block_size + (uint64_t)w->first * 2 * size + offset;
    uint32_t stage = 0, phase = 1, mask = 0;
    WCODEC_UNROLL_NONE
    for (uint32_t i = 0; i < l->shares; i++)
        mask |= 1u << (i * l->product.parts + w->part);
    WCODEC_UNROLL_NONE
    for (uint32_t i = 2 * w->first; i < 2 * w->end; i++) {
        const uint32_t full = w->full + 8 * stage, to = w->stages + stage * size + offset;
        wcodec_barrier_wait(w->empty + 8 * stage, phase);
        wcodec_barrier_expect(full, size);
        if (l->shares > 1)
            wcodec_cluster_copy(to, from, bytes, full, mask);
        else
            wcodec_group_copy(to, from, bytes, full);
        from += size;
        if (++stage == l->stages) {
            stage = 0;
            phase ^= 1;
        }
    }
}

/* A stage has been read by the warp: said to all that bring parts of it. */
WCODEC_DEVICE_FUNCTION void wcodec_wide_release(struct wcodec_warp *warp,
                                                const struct wcodec_wide *w, uint32_t stage)
{
    const uint32_t lane = wcodec_lane(warp);
    if (lane < w->launch->shares)
        wcodec_barrier_arrive(w->empty + 8 * stage,
                              w->launch->groups != 0 ? 0
                                                     : lane * w->launch->product.parts + w->part);
    wcodec_sync_warp(warp);
}

/* A record of warp `number`, as a warp that fetches and patches has it. */
WCODEC_DEVICE_FUNCTION void wcodec_wide_record_of(const uint32_t bits, const uint32_t records,
                                                  const struct wcodec_wide *w, uint32_t number,
                                                  uint32_t place, struct wcodec_product_warp *own)
{
    const struct wcodec_product_launch *l = &w->launch->product;
    own->launch = l;
    own->band = w->rows * WCODEC_WIDE_BANDS + number;
    own->patch = wcodec_wide_array(bits, records, w, number, place);
    own->record = own->patch + WCODEC_PRODUCT_RECORD;
    own->barrier = wcodec_wide_barrier(w, number, place, WCODEC_WIDE_COME);
    own->records =
        (const WCODEC_GLOBAL uint8_t *)(l->records + (uint64_t)own->band * l->across *
                                                         wcodec_record_size(bits, l->list));
}

/* An array of zeros, and a record asked for. */
WCODEC_DEVICE_FUNCTION void wcodec_wide_fetch(const uint32_t bits, struct wcodec_warp *warp,
                                              const struct wcodec_product_warp *own, uint32_t tile)
{
    WCODEC_UNROLL_ALL
    for (uint32_t q = 0; q < 4; q++)
        wcodec_put_u4(warp, own->patch + 512 * q + 16 * wcodec_lane(warp),
                      wcodec_make_u4(0, 0, 0, 0));
    wcodec_product_fetch(bits, warp, own, tile);
    wcodec_sync_warp(warp);
}

/* A record's outliers to its array, of which its warp is told. */
WCODEC_DEVICE_FUNCTION void wcodec_wide_patch(const uint32_t bits, struct wcodec_warp *warp,
                                              const struct wcodec_product_warp *own, uint32_t phase,
                                              uint32_t ready)
{
    const uint32_t lane = wcodec_lane(warp), list = own->record + wcodec_record_list_at(bits);
    wcodec_barrier_wait(own->barrier, phase);
    const uint32_t head = wcodec_shared_u32(warp, list),
                   listed = (head & 0xff) + (head >> 8 & 0x7f);
    if (lane < listed) {
        const uint32_t outlier =
            wcodec_product_outlier(bits, warp, list, 16 * own->launch->list, head, lane);
        wcodec_put_u8(warp, own->patch + (outlier & 0x7ff), outlier >> 11);
    }
    if (listed > 32 || (head & 0x8000))
        wcodec_product_many(bits, warp, own, list, head, listed);
    wcodec_barrier_arrive_own(ready);
}

/* One of `helpers` warps that have records brought and patched, for warps `helper`,
 * helper + helpers, ... */
WCODEC_DEVICE_FUNCTION void wcodec_wide_help(const uint32_t bits, const uint32_t records,
                                             const uint32_t helpers, struct wcodec_warp *warp,
                                             const struct wcodec_wide *w, uint32_t helper)
{
    const uint32_t whole = w->launch->product.bands - w->rows * WCODEC_WIDE_BANDS,
                   count = w->rows * WCODEC_WIDE_BANDS >= w->launch->product.bands ? 0
                           : whole < WCODEC_WIDE_BANDS                             ? whole
                                                       : (uint32_t)WCODEC_WIDE_BANDS;
    struct wcodec_product_warp own;
    uint32_t place = 0, before = records - 1, phase = 0, phase_before = 1;
    WCODEC_UNROLL_NONE
    for (uint32_t number = helper; number < count; number += helpers)
        WCODEC_UNROLL_NONE
    for (uint32_t i = 0; i < records && w->first + i < w->end; i++) {
        wcodec_wide_record_of(bits, records, w, number, i, &own);
        wcodec_wide_fetch(bits, warp, &own, w->first + i);
    }
    WCODEC_UNROLL_NONE
    for (uint32_t tile = w->first; tile < w->end; tile++) {
        /* What the tile before had is free, or soon. Asked for before the next ones come: of two
         * that there are, one is always on its way. */
        WCODEC_UNROLL_NONE
        for (uint32_t number = helper; number < count; number += helpers) {
            if (tile == w->first || tile - 1 + records >= w->end)
                break;
            wcodec_barrier_wait(wcodec_wide_barrier(w, number, before, WCODEC_WIDE_READ),
                                phase_before);
            wcodec_wide_record_of(bits, records, w, number, before, &own);
            wcodec_wide_fetch(bits, warp, &own, tile - 1 + records);
        }
        WCODEC_UNROLL_NONE
        for (uint32_t number = helper; number < count; number += helpers) {
            wcodec_wide_record_of(bits, records, w, number, place, &own);
            wcodec_wide_patch(bits, warp, &own, phase,
                              wcodec_wide_barrier(w, number, place, WCODEC_WIDE_READY));
        }
        before = place;
        phase_before = phase;
        if (++place == records) {
            place = 0;
            phase ^= 1;
        }
    }
}

/* What a warp that multiplies is at. */
struct wcodec_wide_warp {
    uint32_t number;
    uint32_t place, phase; /* of its record */
    uint32_t stage, stage_phase;
    bool idle; /* it has no rows */
};

/* Half of a tile, 64 columns, as operands. */
WCODEC_DEVICE_FUNCTION void wcodec_wide_operands(const uint32_t bits, const uint32_t half,
                                                 struct wcodec_warp *warp, uint32_t array,
                                                 const uint32_t *index, uint32_t a[4][4])
{
    const uint32_t lane = wcodec_lane(warp), record = array + WCODEC_PRODUCT_RECORD;
    uint32_t lower[8], upper[8];
    WCODEC_UNROLL_ALL
    for (uint32_t i = 0; i < 2; i++)
        wcodec_product_u4(lower + 4 * i,
                          wcodec_shared_u4(warp, record + 512 * (2 * half + i) + 16 * lane));
    WCODEC_UNROLL_ALL
    for (uint32_t i = 0; i < 4; i++) {
        const uint32_t all = wcodec_record_nibbles(bits, index + half * (bits + 1), i),
                       nibbles = all & 0x77777777u;
        upper[2 * i] = wcodec_record_upper(bits, nibbles, all);
        upper[2 * i + 1] = wcodec_record_upper(bits, nibbles >> 16, all << 4);
    }
    WCODEC_UNROLL_ALL
    for (uint32_t i = 0; i < 2; i++) {
        const wcodec_u4 change = wcodec_shared_u4(warp, array + 512 * (2 * half + i) + 16 * lane);
        upper[4 * i] ^= change.x;
        upper[4 * i + 1] ^= change.y;
        upper[4 * i + 2] ^= change.z;
        upper[4 * i + 3] ^= change.w;
        wcodec_product_operands(lower + 4 * i, upper + 4 * i, &a[2 * i]);
    }
}

/* The next tile as operands. */
WCODEC_DEVICE_FUNCTION void wcodec_wide_take(const uint32_t bits, const uint32_t records,
                                             struct wcodec_warp *warp, const struct wcodec_wide *w,
                                             struct wcodec_wide_warp *own, uint32_t a[8][4])
{
    if (own->idle) {
        WCODEC_UNROLL_ALL
        for (uint32_t i = 0; i < 32; i++)
            a[i / 4][i % 4] = 0;
        return;
    }
    const uint32_t array = wcodec_wide_array(bits, records, w, own->number, own->place),
                   at = array + WCODEC_PRODUCT_RECORD + 2048, lane = wcodec_lane(warp);
    uint32_t index[8];
    wcodec_barrier_wait(wcodec_wide_barrier(w, own->number, own->place, WCODEC_WIDE_READY),
                        own->phase);
    wcodec_product_u4(index, wcodec_shared_u4(warp, at + 16 * lane));
    if (bits == 3) {
        wcodec_product_u4(index + 4, wcodec_shared_u4(warp, at + 512 + 16 * lane));
    } else {
        const wcodec_u2 more = wcodec_shared_u2(warp, at + 512 + 8 * lane);
        index[4] = more.x;
        index[5] = more.y;
    }
    wcodec_wide_operands(bits, 0, warp, array, index, a);
    wcodec_wide_operands(bits, 1, warp, array, index, a + 4);
    wcodec_barrier_arrive_own(wcodec_wide_barrier(w, own->number, own->place, WCODEC_WIDE_READ));
    if (++own->place == records) {
        own->place = 0;
        own->phase ^= 1;
    }
}

/* 64 columns, half of a tile, times the stage that has them. Returns its number. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_wide_half(const uint32_t vectors,
                                                 const struct wcodec_wide *w,
                                                 struct wcodec_wide_warp *own, uint32_t a[4][4],
                                                 float *sums)
{
    const uint32_t stage = own->stage;
    const uint64_t operand = wcodec_group_operand(w->stages + stage * vectors * 128);
    wcodec_barrier_wait(w->full + 8 * stage, own->stage_phase);
    wcodec_group_begin();
    WCODEC_UNROLL_ALL
    for (uint32_t i = 0; i < 4; i++)
        wcodec_group_multiply(vectors, sums, a[i], operand + 2 * i);
    wcodec_group_commit();
    if (++own->stage == w->launch->stages) {
        own->stage = 0;
        own->stage_phase ^= 1;
    }
    return stage;
}

/* A tile is multiplied, and the next one decoded meanwhile, if there is one. */
WCODEC_DEVICE_FUNCTION void wcodec_wide_tile(const uint32_t bits, const uint32_t vectors,
                                             const uint32_t records, struct wcodec_warp *warp,
                                             const struct wcodec_wide *w,
                                             struct wcodec_wide_warp *own, uint32_t a[8][4],
                                             uint32_t next[8][4], bool more, float *sums)
{
    const uint32_t first = wcodec_wide_half(vectors, w, own, a, sums),
                   second = wcodec_wide_half(vectors, w, own, a + 4, sums);
    if (more)
        wcodec_wide_take(bits, records, warp, w, own, next);
    wcodec_group_wait(1);
    wcodec_wide_release(warp, w, first);
    wcodec_group_wait(0);
    wcodec_wide_release(warp, w, second);
}

/* All tiles of the work-group's part, of which there is one at least. */
WCODEC_DEVICE_FUNCTION void wcodec_wide_tiles(const uint32_t bits, const uint32_t vectors,
                                              const uint32_t records, struct wcodec_warp *warp,
                                              const struct wcodec_wide *w, float *sums)
{
    struct wcodec_wide_warp own = {wcodec_warp_number(warp), 0, 0, 0, 0, false};
    uint32_t even[8][4], odd[8][4], left = w->end - w->first;
    own.idle = w->rows * WCODEC_WIDE_BANDS + own.number >= w->launch->product.bands;
    wcodec_wide_take(bits, records, warp, w, &own, even);
    WCODEC_UNROLL_NONE
    for (; left >= 2; left -= 2) {
        wcodec_wide_tile(bits, vectors, records, warp, w, &own, even, odd, true, sums);
        wcodec_wide_tile(bits, vectors, records, warp, w, &own, odd, even, left > 2, sums);
    }
    if (left != 0)
        wcodec_wide_tile(bits, vectors, records, warp, w, &own, even, odd, false, sums);
}

/* Warps that multiply. */
WCODEC_DEVICE_FUNCTION void wcodec_wide_multiply(const uint32_t bits, const uint32_t vectors,
                                                 const uint32_t records, struct wcodec_warp *warp,
                                                 const struct wcodec_wide *w)
{
    float sums[128];
    WCODEC_UNROLL_ALL
    for (uint32_t i = 0; i < vectors / 2; i++)
        sums[i] = 0;
    wcodec_wide_tiles(bits, vectors, records, warp, w, sums);
    if (vectors <= WCODEC_WIDE_JOINED && w->launch->groups != 0) {
        wcodec_wait_for_launch(warp);
        if (w->launch->product.parts == 1 || wcodec_wide_join(vectors, warp, w, sums))
            wcodec_wide_store(vectors, warp, w, sums);
        return;
    }
    wcodec_sync_part(warp, 0, 32 * WCODEC_WIDE_BANDS); /* all stages have been read */
    wcodec_wide_put(vectors, warp, w, sums);
    if (w->launch->product.parts > 1)
        wcodec_cluster_sync(warp);
    else
        wcodec_sync_part(warp, 0, 32 * WCODEC_WIDE_BANDS);
    wcodec_wait_for_launch(warp);
    wcodec_wide_finish(vectors, warp, w);
    wcodec_sync_warp(warp);
    if (w->launch->product.parts * w->launch->shares > 1)
        wcodec_cluster_meet(warp); /* sums have been read, and barriers arrived at */
}

/* Warps that bring x (the first of them), and records. They end when all is on its way: no barrier
 * waits for threads that have ended, and memory stays until the last one has. */
WCODEC_DEVICE_FUNCTION void wcodec_wide_serve(const uint32_t bits, const uint32_t vectors,
                                              const uint32_t records, const uint32_t helpers,
                                              struct wcodec_warp *warp, const struct wcodec_wide *w)
{
    const uint32_t number = wcodec_warp_number(warp) - WCODEC_WIDE_BANDS;
    if (number == 0) {
        if (wcodec_lane(warp) == 0) {
            wcodec_wait_for_launch(warp);
            wcodec_wide_bring(vectors, w);
        }
    } else if (number <= helpers) {
        wcodec_wide_help(bits, records, helpers, warp, w, number - 1);
    }
}

WCODEC_DEVICE_FUNCTION void wcodec_wide_kernel(const uint32_t bits, const uint32_t vectors,
                                               const uint32_t helpers, struct wcodec_warp *warp,
                                               const struct wcodec_wide_launch *l)
{
    const uint32_t records = wcodec_wide_records(vectors);
    struct wcodec_wide w;
    wcodec_allow_next_launch(warp);
    if (l->groups != 0 && wcodec_group(warp) >= l->groups) {
        wcodec_wait_for_launch(warp);
        wcodec_pause();
        return;
    }
    wcodec_wide_place(vectors, warp, l, &w);
    wcodec_wide_open(warp, &w);
    if (wcodec_warp_number(warp) < WCODEC_WIDE_BANDS) {
        wcodec_registers_more(helpers > 3 ? 192 : 232);
        wcodec_wide_multiply(bits, vectors, records, warp, &w);
    } else {
        wcodec_registers_fewer(helpers > 3 ? 32 : 40);
        wcodec_wide_serve(bits, vectors, records, helpers, warp, &w);
    }
}

/* Columns `column`, which is even, and the next one of a vector; zeros after the last vector and
 * column. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_wide_two(const struct wcodec_product_launch *l,
                                                uint32_t vector, uint32_t column)
{
    const WCODEC_GLOBAL uint8_t *from =
        (const WCODEC_GLOBAL uint8_t *)(l->x + vector * l->x_stride + 2 * (uint64_t)column);
    uint32_t two = 0;
    if (vector < l->vectors && column < l->columns)
        two = wcodec_load_once_u16(from);
    if (vector < l->vectors && column + 1 < l->columns)
        two |= wcodec_load_once_u16(from + 2) << 16;
    return two;
}

/* 32 columns of a vector, number i of all, whose words i of four pieces of 16 bytes become piece i.
 */
WCODEC_DEVICE_FUNCTION void wcodec_wide_ready(const struct wcodec_wide_launch *l, uint32_t i)
{
    const uint32_t across = 4 * l->product.across, vectors = l->vectors, vector = i / across,
                   piece = i % across, column = 32 * piece, in_block = vector % vectors,
                   exchange = in_block % 8, first = piece % 2 * 4;
    WCODEC_GLOBAL uint8_t *to =
        (WCODEC_GLOBAL uint8_t *)(l->blocks + vector / vectors * l->block_size +
                                  (uint64_t)(piece / 2) * vectors * 128 + in_block * 128);
    if (!l->product.by_16 || vector >= l->product.vectors || column + 32 > l->product.columns) {
        WCODEC_UNROLL_NONE
        for (uint32_t q = 0; q < 4; q++)
            wcodec_store_u4(to + ((first + q) ^ exchange) * 16,
                            wcodec_wide_two(&l->product, vector, column + 2 * q),
                            wcodec_wide_two(&l->product, vector, column + 2 * q + 8),
                            wcodec_wide_two(&l->product, vector, column + 2 * q + 16),
                            wcodec_wide_two(&l->product, vector, column + 2 * q + 24));
        return;
    }
    const WCODEC_GLOBAL uint8_t *from =
        (const WCODEC_GLOBAL uint8_t *)(l->product.x + vector * l->product.x_stride +
                                        2 * (uint64_t)column);
    wcodec_u4 v[4];
    WCODEC_UNROLL_ALL
    for (uint32_t c = 0; c < 4; c++)
        v[c] = wcodec_load_u4(from + 16 * c);
    wcodec_store_u4(to + ((first + 0) ^ exchange) * 16, v[0].x, v[1].x, v[2].x, v[3].x);
    wcodec_store_u4(to + ((first + 1) ^ exchange) * 16, v[0].y, v[1].y, v[2].y, v[3].y);
    wcodec_store_u4(to + ((first + 2) ^ exchange) * 16, v[0].z, v[1].z, v[2].z, v[3].z);
    wcodec_store_u4(to + ((first + 3) ^ exchange) * 16, v[0].w, v[1].w, v[2].w, v[3].w);
}

/* x made ready. The threads have as many pieces each as it takes. */
WCODEC_DEVICE_FUNCTION void wcodec_wide_x_kernel(struct wcodec_warp *warp,
                                                 const struct wcodec_wide_launch *l)
{
    const uint32_t blocks = (l->product.vectors + l->vectors - 1) / l->vectors,
                   all = blocks * l->vectors * l->product.across * 4, /* of 64 bytes: no 2^32 */
        step = wcodec_groups(warp) * wcodec_threads(warp);
    uint32_t i = wcodec_group(warp) * wcodec_threads(warp) + wcodec_thread(warp);
    wcodec_allow_next_launch(warp);
    wcodec_wait_for_launch(warp);
    if (i < l->counts)
        ((WCODEC_GLOBAL uint32_t *)l->counters)[i] = 0;
    WCODEC_UNROLL_NONE
    for (; i < all; i += step)
        wcodec_wide_ready(l, i);
}
#endif

#endif
