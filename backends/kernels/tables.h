/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Tables in shared memory, made of entries as they are stored, and the step by an entry. */
#ifndef WCODEC_KERNELS_TABLES_H
#define WCODEC_KERNELS_TABLES_H

#include "backends/kernels/geometry.h"
#include "backends/kernels/rans.h"

/* One symbol, or pair, of a lane: its entry (wide: what it puts into elements), and the next state.
 * table: where the lane's entries begin. ones: all bits set, which the compiler cannot see. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_symbol(const struct wcodec_kind k, struct wcodec_warp *warp,
                                              uint32_t *state, uint32_t table, uint32_t ones)
{
    const uint32_t x = *state;
    if (k.wide) {
        const wcodec_u2 e = wcodec_shared_u2(warp, wcodec_entry_address(table, x, 0xfff, 8));
        *state = wcodec_ready_step(x, e.y, ones);
        return e.x;
    }
    if (k.p8) {
        const uint32_t e =
            wcodec_shared_u32(warp, wcodec_entry_address(table, x, 0xff, 4 * k.copies));
        *state = wcodec_p8_step(x, e);
        return e;
    }
    const uint32_t e = wcodec_shared_u32(warp, wcodec_entry_address(table, x, 0xfff, 4));
    *state = wcodec_entry_step(x, e, 12);
    return e;
}

/* The symbols of a group of a lane, or pairs of them in v[0] and v[2]. */
WCODEC_DEVICE_FUNCTION void wcodec_symbols(const struct wcodec_kind k, struct wcodec_warp *warp,
                                           uint32_t *state, uint32_t *at, uint32_t lanes_below,
                                           uint32_t table, uint32_t ones, uint32_t *v)
{
    WCODEC_UNROLL_ALL
    for (uint32_t i = 0; i < 4; i += k.pairs ? 2 : 1) {
        v[i] = wcodec_symbol(k, warp, state, table, ones);
        if (!k.p8 || i % 2)
            wcodec_renormalise(warp, state, at, lanes_below);
    }
}

/* What a symbol, or a pair of them, puts into elements: one word of a wide entry. For 32-bit
 * elements the second of a pair waits 16 bits lower. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_ready_pattern(const struct wcodec_kind k, uint32_t base,
                                                     uint32_t shift, uint32_t symbol)
{
    const uint32_t v0 = (base + symbol % 16) << shift, v1 = (base + symbol / 16) << shift;
    return k.bytes == 4 ? v0 | v1 >> 16 : v0 | v1 << 8 * k.bytes % 32;
}

/* An entry of four bytes. Bytes to which something is added get the upper half of it here, in both
 * values of a pair. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_ready_entry(const struct wcodec_kind k, uint32_t e,
                                                   uint32_t shift, uint32_t add)
{
    if (k.p8)
        return wcodec_p8_entry(e, k.shifted ? shift : 0);
    if (!k.pairs || k.shape != WCODEC_SHAPE_8_4)
        return e;
    const uint32_t upper = (0u - add) >> 4 & 15u;
    return (e & 0xfff00fffu) | (((e & 0xf000u) + (upper << 12)) & 0xf000u) |
           (((e & 0xf0000u) + (upper << 16)) & 0xf0000u);
}

/* A set's entries, made ready, to shared address `to`: four for each of these, but for tables of
 * which there are copies. `entries` is what the first call of wcodec_tables_ask() has asked for. */
enum { WCODEC_TABLES_AHEAD = 4 };

struct wcodec_tables_load {
    wcodec_u4 entries[WCODEC_TABLES_AHEAD];
    uint32_t stored; /* of a table with copies */
};

WCODEC_DEVICE_FUNCTION const WCODEC_GLOBAL uint8_t *
wcodec_set_entries(const WCODEC_GLOBAL struct wcodec_table_set *set)
{
    return (const WCODEC_GLOBAL uint8_t *)(set + 1);
}

/* Entries, in fours, that a work-group loads. */
WCODEC_DEVICE_FUNCTION uint32_t
wcodec_tables_fours(const struct wcodec_kind k, const WCODEC_GLOBAL struct wcodec_table_set *set)
{
    return k.runs ? set->entries / 4 : k.p8 ? 64 : 1024;
}

/* The thread's first entries, on their way while it does something else. */
WCODEC_DEVICE_FUNCTION void wcodec_tables_ask(const struct wcodec_kind k, struct wcodec_warp *warp,
                                              const WCODEC_GLOBAL struct wcodec_table_set *set,
                                              struct wcodec_tables_load *load)
{
    const WCODEC_GLOBAL uint8_t *entries = wcodec_set_entries(set);
    if (k.copies > 1) {
        load->stored =
            *(const WCODEC_GLOBAL uint32_t *)(entries + wcodec_thread(warp) % (64 * k.copies) /
                                                            (k.copies / 4) * 4);
        return;
    }
    const uint32_t fours = wcodec_tables_fours(k, set);
    WCODEC_UNROLL_ALL
    for (uint32_t i = 0; i < WCODEC_TABLES_AHEAD; i++) {
        const uint32_t n = wcodec_thread(warp) + i * wcodec_threads(warp);
        load->entries[i] =
            *(const WCODEC_GLOBAL wcodec_u4 *)(entries + 16 * (n < fours ? n : fours - 1));
    }
}

WCODEC_DEVICE_FUNCTION void wcodec_tables_put(const struct wcodec_kind k, struct wcodec_warp *warp,
                                              const WCODEC_GLOBAL struct wcodec_table_set *set,
                                              uint32_t to, uint32_t n, wcodec_u4 e)
{
    const uint32_t shift = set->shift, add = set->add, base = set->base;
    if (k.wide) {
        wcodec_put_u4(warp, to + 32 * n,
                      wcodec_make_u4(wcodec_ready_pattern(k, base, shift, WCODEC_ENTRY_SYMBOL(e.x)),
                                     wcodec_ready_word(e.x),
                                     wcodec_ready_pattern(k, base, shift, WCODEC_ENTRY_SYMBOL(e.y)),
                                     wcodec_ready_word(e.y)));
        wcodec_put_u4(warp, to + 32 * n + 16,
                      wcodec_make_u4(wcodec_ready_pattern(k, base, shift, WCODEC_ENTRY_SYMBOL(e.z)),
                                     wcodec_ready_word(e.z),
                                     wcodec_ready_pattern(k, base, shift, WCODEC_ENTRY_SYMBOL(e.w)),
                                     wcodec_ready_word(e.w)));
    } else {
        wcodec_put_u4(warp, to + 16 * n,
                      wcodec_make_u4(wcodec_ready_entry(k, e.x, shift, add),
                                     wcodec_ready_entry(k, e.y, shift, add),
                                     wcodec_ready_entry(k, e.z, shift, add),
                                     wcodec_ready_entry(k, e.w, shift, add)));
    }
}

/* Then all of them. */
WCODEC_DEVICE_FUNCTION void wcodec_tables_make(const struct wcodec_kind k, struct wcodec_warp *warp,
                                               const WCODEC_GLOBAL struct wcodec_table_set *set,
                                               uint32_t to, struct wcodec_tables_load *load)
{
    const uint32_t step = wcodec_threads(warp), fours = wcodec_tables_fours(k, set);
    if (k.copies > 1) {
        const WCODEC_GLOBAL uint8_t *entries = wcodec_set_entries(set);
        const uint32_t all = 64 * k.copies, shift = set->shift;
        for (uint32_t n = wcodec_thread(warp); n < all; n += step) {
            const uint32_t e = wcodec_ready_entry(k, load->stored, shift, 0);
            load->stored =
                *(const WCODEC_GLOBAL uint32_t *)(entries + (n + step) % all / (k.copies / 4) * 4);
            wcodec_put_u4(warp, to + 16 * n, wcodec_make_u4(e, e, e, e));
        }
        return;
    }
    WCODEC_UNROLL_ALL
    for (uint32_t i = 0; i < WCODEC_TABLES_AHEAD; i++) {
        const uint32_t n = wcodec_thread(warp) + i * step;
        if (n < fours)
            wcodec_tables_put(k, warp, set, to, n, load->entries[i]);
    }
    for (uint32_t n = wcodec_thread(warp) + WCODEC_TABLES_AHEAD * step; n < fours; n += step)
        wcodec_tables_put(k, warp, set, to, n,
                          *(const WCODEC_GLOBAL wcodec_u4 *)(wcodec_set_entries(set) + 16 * n));
}

#endif
