/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Tensors are coded in tiles, of one coded field with one table (doc/format.md 2;
 * lib/coding/tile_encode.c is the reference). A warp takes a tile and goes from its last group to
 * the first. Raw bits go to their place at once, if no tile before is stored or constant; words,
 * states and outliers to the work area, from which encode_join.h takes them when all sizes are
 * known. Outliers are only marked there. */
#ifndef WCODEC_KERNELS_ENCODE_TILES_H
#define WCODEC_KERNELS_ENCODE_TILES_H

#include "backends/kernels/encode_constant.h"

#ifdef WCODEC_SIMT
/* A tile that is being coded. */
struct wcodec_coder_state {
    uint32_t x;
    uint32_t at;          /* shared address of the first word */
    uint32_t top;         /* of the stage's end */
    uint32_t full;        /* a chunk before it */
    uint32_t symbols;     /* of the lane's copy of the table */
    uint32_t lane, below; /* below: a mask of the lanes before */
    uint64_t words;       /* address after the next chunk */
    uint32_t chunks;      /* that were written */
    uint64_t marks;       /* of the tile's first group */
    uint32_t flags;       /* a byte for each of the lane's elements: outliers of up to 8 groups,
                           * the first group's the top bit */
    uint32_t outliers;    /* that were marked */
    uint64_t sum;         /* of the check */
    struct wcodec_coder_rows rows;
};

/* How a lane's elements are coded: one symbol each, or one for two. */
struct wcodec_coder_pick {
    uint32_t entry;
    bool outside; /* the window: one of the pair is */
};

/* Are the four coded fields of a word's bytes pairs of at most 4 bits? There is no window then. */
WCODEC_DEVICE_FUNCTION bool wcodec_coder_is_narrow(const struct wcodec_coder_kind k)
{
    return k.element_log2 == 0 && k.raw == 4 && k.profile == WCODEC_PAIRS;
}

/* Such a word's pairs, from bit log2 on of both halves. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_coder_narrow_pairs(const struct wcodec_coder_launch *l,
                                                          uint32_t word, const uint32_t log2,
                                                          uint32_t there)
{
    uint32_t fields = word >> l->shift & l->mask * 0x01010101u;
    if (there < 4)
        fields =
            wcodec_select_bits((1u << 8 * there) - 1, fields,
                               (l->common & 15) * 0x00010001u | (l->common >> 4) * 0x01000100u);
    return fields * (0x11u << (log2 - 4)); /* nothing of it overlaps */
}

/* The table's entry of symbol i, where each takes 2^log2 bytes from `table` on, which is a multiple
 * of all of them together but for what is less than one of them. */
WCODEC_DEVICE_FUNCTION struct wcodec_coder_pick
wcodec_coder_pick(const struct wcodec_coder_kind k, const struct wcodec_coder_launch *l,
                  uint32_t table, const uint32_t log2, const uint32_t *words, const uint32_t i,
                  uint32_t there)
{
    struct wcodec_coder_pick pick = {0, false};
    if (wcodec_coder_is_narrow(k)) {
        pick.entry = wcodec_select_bits(
            0xffu << log2, wcodec_coder_narrow_pairs(l, words[0], log2, there) >> 16 * i, table);
    } else if (k.profile == WCODEC_PAIRS) {
        uint32_t a = wcodec_coder_value(k, l, words, 2 * i) - l->base,
                 b = wcodec_coder_value(k, l, words, 2 * i + 1) - l->base;
        pick.outside = (a | b) > 15;
        a = a < 16 && 2 * i < there ? a : l->common & 15;
        b = b < 16 && 2 * i + 1 < there ? b : l->common >> 4;
        pick.entry = table + (a << log2) + (b << (4 + log2));
    } else {
        const uint32_t word = k.element_log2 == 0   ? words[0]
                              : k.element_log2 == 1 ? words[i / 2]
                                                    : words[i],
                       from = (i << (3 + k.element_log2)) & 31;
        pick.entry = wcodec_select_bits(
            l->mask << log2, wcodec_rotate_right(word, (l->shift + from - log2) & 31), table);
    }
    return pick;
}

WCODEC_DEVICE_FUNCTION uint32_t wcodec_coder_push(uint32_t x, wcodec_u4 symbol)
{
    const uint64_t product = (uint64_t)(x + (symbol.y >> 31)) * symbol.x;
    const uint32_t quotient = wcodec_shift_pair((uint32_t)(product >> 32), 0, symbol.y);
    return x + symbol.w + quotient * symbol.z;
}

/* What is coded for a lane's elements of a group. */
struct wcodec_coder_symbols {
    wcodec_u4 entry[4];
    bool outside; /* one of the lane's elements is */
};

WCODEC_DEVICE_FUNCTION uint32_t wcodec_coder_symbol_count(const struct wcodec_coder_kind k)
{
    return k.profile == WCODEC_PAIRS ? 2 : 4;
}

WCODEC_DEVICE_FUNCTION void
wcodec_coder_look(const struct wcodec_coder_kind k, struct wcodec_warp *warp,
                  const struct wcodec_coder_launch *l, const struct wcodec_coder_state *s,
                  const uint32_t *words, uint32_t there, struct wcodec_coder_symbols *symbols)
{
    symbols->outside = false;
    WCODEC_UNROLL_ALL
    for (uint32_t i = 0; i < 4; i++) {
        if (i >= wcodec_coder_symbol_count(k))
            continue;
        const struct wcodec_coder_pick pick =
            wcodec_coder_pick(k, l, s->symbols, 4 + WCODEC_CODER_COPIES_LOG2, words, i, there);
        symbols->entry[i] = wcodec_shared_u4(warp, pick.entry);
        symbols->outside |= pick.outside;
    }
}

WCODEC_DEVICE_FUNCTION void wcodec_coder_push_all(const struct wcodec_coder_kind k,
                                                  struct wcodec_warp *warp,
                                                  struct wcodec_coder_state *s,
                                                  const struct wcodec_coder_symbols *symbols)
{
    WCODEC_UNROLL_ALL
    for (uint32_t i = 4; i > 0; i--) {
        if (i > wcodec_coder_symbol_count(k) || (k.profile == WCODEC_P8 && i % 2 == 1))
            continue;
        if (k.profile == WCODEC_P8) {
            wcodec_shrink(warp, &s->x, &s->at, s->below, s->x >> 16,
                          wcodec_bytes(symbols->entry[i - 1].y, 0, 0x4442) *
                              wcodec_bytes(symbols->entry[i - 2].y, 0, 0x4442));
            s->x = wcodec_coder_push(s->x, symbols->entry[i - 1]);
            s->x = wcodec_coder_push(s->x, symbols->entry[i - 2]);
        } else {
            wcodec_shrink(warp, &s->x, &s->at, s->below, s->x,
                          symbols->entry[i - 1].y << 4 & 0xfff00000);
            s->x = wcodec_coder_push(s->x, symbols->entry[i - 1]);
        }
    }
}

/* Which of the lane's elements are outliers: the top bits of four bytes. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_coder_outliers(const struct wcodec_coder_kind k,
                                                      struct wcodec_warp *warp,
                                                      const struct wcodec_coder_launch *l,
                                                      const uint32_t *words, uint32_t there,
                                                      const struct wcodec_coder_symbols *symbols)
{
    const wcodec_u4 *e = symbols->entry;
    uint32_t flags;
    if (k.profile == WCODEC_PAIRS)
        flags = wcodec_bytes(e[0].y, e[1].y, 0x5410);
    else
        flags = wcodec_bytes(wcodec_bytes(e[0].y, e[1].y, 0x4440),
                             wcodec_bytes(e[2].y, e[3].y, 0x4440), 0x5410);
    if (k.profile == WCODEC_PAIRS && !wcodec_coder_is_narrow(k) &&
        wcodec_any(warp, symbols->outside)) {
        WCODEC_UNROLL_ALL
        for (uint32_t i = 0; i < 4; i++)
            flags |= wcodec_coder_value(k, l, words, i) - l->base > 15 ? 0x80u << 8 * i : 0;
    }
    if (there < 4)
        flags &= (1u << 8 * there) - 1;
    return flags & 0x80808080u;
}

/* Bit i of lane j becomes bit j of lane i. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_coder_transpose(struct wcodec_warp *warp, uint32_t lane,
                                                       uint32_t v)
{
    WCODEC_UNROLL_ALL
    for (uint32_t log2 = 5; log2-- > 0;) {
        const uint32_t d = 1u << log2, low = 0xffffffffu / ((1u << d) + 1),
                       other = wcodec_swap(warp, v, d);
        v = wcodec_select_bits(lane & d ? low : ~low,
                               wcodec_rotate_right(other, (2 * (lane & d) - d) & 31), v);
    }
    return v;
}

/* Outliers of up to eight groups, from `group` on, to the work area, from which encode_join.h takes
 * them: of each group four words, whose bits are lanes. */
WCODEC_DEVICE_FUNCTION void wcodec_coder_put_marks(struct wcodec_warp *warp,
                                                   struct wcodec_coder_state *s, uint32_t group)
{
    s->outliers += WCODEC_POPCOUNT(s->flags);
    wcodec_store_u32((WCODEC_GLOBAL uint8_t *)(s->marks + (uint64_t)16 * group +
                                               16 * (~s->lane & 7) + s->lane / 8 * 4),
                     wcodec_coder_transpose(warp, s->lane, s->flags));
    s->flags = 0;
}

/* Words are written in chunks; what is left moves to the stage's end. */
WCODEC_DEVICE_FUNCTION void wcodec_coder_flush(struct wcodec_warp *warp,
                                               struct wcodec_coder_state *s)
{
    wcodec_u4 rest = wcodec_make_u4(0, 0, 0, 0);
    wcodec_sync_warp(warp);
    const wcodec_u4 v = wcodec_shared_u4(warp, s->top - WCODEC_CODER_CHUNK + 16 * s->lane);
    s->words -= WCODEC_CODER_CHUNK;
    wcodec_store_u4((WCODEC_GLOBAL uint8_t *)(s->words + 16 * s->lane), v.x, v.y, v.z, v.w);
    if (s->lane < 16)
        rest = wcodec_shared_u4(warp, s->top - WCODEC_CODER_STAGE + 16 * s->lane);
    wcodec_sync_warp(warp);
    if (s->lane < 16)
        wcodec_put_u4(warp, s->top - 256 + 16 * s->lane, rest);
    wcodec_sync_warp(warp);
    s->at += WCODEC_CODER_CHUNK;
    s->chunks++;
}

/* The check's share of a group's elements, and how the coded fields are pushed. */
WCODEC_DEVICE_FUNCTION void
wcodec_coder_begin_group(const struct wcodec_coder_kind k, struct wcodec_warp *warp,
                         const struct wcodec_coder_launch *l, struct wcodec_coder_state *s,
                         uint32_t base, const uint32_t group, uint32_t *words, uint32_t there,
                         struct wcodec_coder_symbols *symbols)
{
    WCODEC_UNROLL_ALL
    for (uint32_t i = 0; i < 4; i++)
        if (i < wcodec_coder_words(k))
            s->sum += (uint64_t)words[i] * (wcodec_check_factor(base << k.element_log2) +
                                            WCODEC_CHECK_STEP * ((group << k.element_log2) + i));
    wcodec_coder_add(k, l, there, words);
    wcodec_coder_look(k, warp, l, s, words, there, symbols);
}

WCODEC_DEVICE_FUNCTION void
wcodec_coder_end_group(const struct wcodec_coder_kind k, struct wcodec_warp *warp,
                       const struct wcodec_coder_launch *l, struct wcodec_coder_state *s,
                       uint32_t base, const uint32_t group, const uint32_t *words, uint32_t there,
                       bool last, const struct wcodec_coder_symbols *symbols)
{
    wcodec_coder_put_rows(k, l, &s->rows, base, group, s->lane, words, last);
    s->flags = s->flags >> 1 | wcodec_coder_outliers(k, warp, l, words, there, symbols);
    if (group == 0 && base % 8 == 0)
        wcodec_coder_put_marks(warp, s, base);
    wcodec_coder_push_all(k, warp, s, symbols);
    /* Two groups of less than 256 bytes do not fill what a chunk leaves of the stage. */
    if ((k.profile == WCODEC_P12 || group % 2 == 0) && s->at <= s->full)
        wcodec_coder_flush(warp, s);
}

/* Are there registers to read a group's entries before the group after it is pushed? */
WCODEC_DEVICE_FUNCTION bool wcodec_coder_looks_ahead(const struct wcodec_coder_kind k)
{
    return wcodec_coder_is_narrow(k) || k.profile == WCODEC_P12;
}

/* By shuffles, so that it is kept, and not computed anew for each group. */
WCODEC_DEVICE_FUNCTION uint64_t wcodec_coder_kept(struct wcodec_warp *warp, uint64_t v)
{
    return wcodec_shuffle(warp, (uint32_t)v, wcodec_lane(warp)) |
           (uint64_t)wcodec_shuffle(warp, (uint32_t)(v >> 32), wcodec_lane(warp)) << 32;
}

WCODEC_DEVICE_FUNCTION void wcodec_coder_begin_tile(const struct wcodec_coder_kind k,
                                                    struct wcodec_warp *warp,
                                                    const struct wcodec_coder_launch *l,
                                                    uint32_t tile, uint32_t groups, uint32_t count,
                                                    struct wcodec_coder_state *s)
{
    const bool payload = wcodec_coder_payload_plane(k) != 0;
    const uint64_t raw =
        (uint64_t)tile * wcodec_coder_raw_size(k, 1u << (l->tile_log2 - 7), payload);
    uint32_t words[4];
    const uint32_t there = wcodec_coder_load_part(k, wcodec_coder_elements(k, l, tile), count,
                                                  groups - 1, s->lane, words);
    wcodec_coder_add(k, l, there, words);
    s->x = (1u << 16) + wcodec_coder_payload(k, l, words);
    s->at = s->top;
    s->words = l->tile_words + (uint64_t)(tile + 1) * l->words_part;
    s->marks = l->tile_marks + (uint64_t)tile * l->marks_part;
    s->chunks = s->flags = s->outliers = 0;
    s->sum = 0;
    wcodec_coder_begin_rows(&s->rows, wcodec_coder_kept(warp, l->raw + raw), groups, s->lane,
                            payload);
}

/* What is left of the words, the states and the descriptor. */
WCODEC_DEVICE_FUNCTION void wcodec_coder_end_tile(const struct wcodec_coder_kind k,
                                                  struct wcodec_warp *warp,
                                                  const struct wcodec_coder_launch *l,
                                                  struct wcodec_coder_state *s, uint32_t tile,
                                                  uint32_t count)
{
    const uint32_t left = s->top - s->at, from = s->top - WCODEC_CODER_CHUNK + 16 * s->lane;
    wcodec_sync_warp(warp);
    if (16 * (32 - s->lane) < left + 16) {
        const wcodec_u4 v = wcodec_shared_u4(warp, from);
        wcodec_store_u4((WCODEC_GLOBAL uint8_t *)(s->words - WCODEC_CODER_CHUNK + 16 * s->lane),
                        v.x, v.y, v.z, v.w);
    }
    wcodec_sync_warp(warp);
    wcodec_store_u32((WCODEC_GLOBAL uint8_t *)(l->tile_states + (uint64_t)128 * tile + 4 * s->lane),
                     s->x);
    const uint32_t check = wcodec_add_lanes(warp, wcodec_check_share(s->sum, s->lane)),
                   outliers = wcodec_add_lanes(warp, s->outliers);
    if (s->lane == 0)
        wcodec_coder_describe(k, l, tile, count, check, WCODEC_STREAM_RANS, 0,
                              (s->chunks * WCODEC_CODER_CHUNK + left) / 2, outliers);
}

/* known: the kind is, to the compiler. */
WCODEC_DEVICE_FUNCTION void wcodec_coder_code_tile(const struct wcodec_coder_kind k,
                                                   const bool known, struct wcodec_warp *warp,
                                                   const struct wcodec_coder_launch *l,
                                                   struct wcodec_coder_state *s, uint32_t tile)
{
    const uint32_t count = wcodec_coder_count(l, tile), groups = (count + 127) / 128,
                   batch = k.element_log2 == 2 ? 2 : 4;
    const WCODEC_GLOBAL uint8_t *elements = wcodec_coder_elements(k, l, tile);
    const bool ahead = known && wcodec_coder_looks_ahead(k);
    uint32_t symbol, outliers, group = groups, next[4][4];
    if (wcodec_coder_is_constant(k, warp, l, tile, count, &symbol, &outliers)) {
        const uint32_t check = wcodec_add_lanes(
            warp,
            wcodec_check_share(wcodec_coder_check_alone(k, l, tile, count, s->lane), s->lane));
        if (s->lane == 0)
            wcodec_coder_describe(k, l, tile, count, check, WCODEC_STREAM_CONSTANT, symbol, 0,
                                  outliers);
        return;
    }
    wcodec_coder_begin_tile(k, warp, l, tile, groups, count, s);
    const uint32_t whole = (groups - 1) / batch * batch, batch_bytes = (128 * batch)
                                                                       << k.element_log2;
    /* Of the lane, in the batch that is read next. */
    uint64_t before = wcodec_coder_kept(
        warp, (uint64_t)elements + ((uint64_t)(128 * whole + 4 * s->lane) << k.element_log2) -
                  batch_bytes);
    WCODEC_UNROLL_ALL
    for (uint32_t i = 0; i < 4; i++)
        if (i < batch && whole > 0)
            wcodec_coder_load(k, (const WCODEC_GLOBAL uint8_t *)before, i, 0, next[i]);
    /* The last group, which may be short, and those that make no whole batch. */
    WCODEC_UNROLL_NONE
    while (group > whole) {
        uint32_t last[4];
        const uint32_t there = wcodec_coder_load_part(k, elements, count, --group, s->lane, last);
        struct wcodec_coder_symbols symbols;
        wcodec_coder_begin_group(k, warp, l, s, group, 0, last, there, &symbols);
        wcodec_coder_end_group(k, warp, l, s, group, 0, last, there, true, &symbols);
    }
    WCODEC_UNROLL_NONE
    while (group > 0) {
        uint32_t words[4][4];
        group -= batch;
        before -= batch_bytes;
        WCODEC_UNROLL_ALL
        for (uint32_t i = 0; i < 4; i++) {
            WCODEC_UNROLL_ALL
            for (uint32_t j = 0; j < 4; j++)
                if (i < batch && j < wcodec_coder_words(k))
                    words[i][j] = next[i][j];
            if (i < batch && group > 0)
                wcodec_coder_load(k, (const WCODEC_GLOBAL uint8_t *)before, i, 0, next[i]);
        }
        struct wcodec_coder_symbols symbols[4];
        WCODEC_UNROLL_ALL
        for (uint32_t i = 4; i > 0; i--) {
            if (i > batch)
                continue;
            if (i == batch || !ahead)
                wcodec_coder_begin_group(k, warp, l, s, group, i - 1, words[i - 1], 4,
                                         &symbols[ahead ? i - 1 : 0]);
            if (i > 1 && ahead)
                wcodec_coder_begin_group(k, warp, l, s, group, i - 2, words[i - 2], 4,
                                         &symbols[i - 2]);
            wcodec_coder_end_group(k, warp, l, s, group, i - 1, words[i - 1], 4, false,
                                   &symbols[ahead ? i - 1 : 0]);
        }
    }
    wcodec_coder_end_tile(k, warp, l, s, tile, count);
}

/* `how` of a table's entry, where the top bits of its two low bytes say which of the symbol's
 * elements are outliers. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_coder_flagged(const struct wcodec_coder_kind k, uint32_t how,
                                                     uint32_t symbol)
{
    const uint32_t differs = (how >> 8 ^ symbol) & 0xff;
    if (k.profile != WCODEC_PAIRS)
        return (how & 0xffff001fu) | (differs != 0 ? 0x80 : 0);
    return (how & 0xffff001fu) | ((differs & 15) != 0 ? 0x80 : 0) | (differs > 15 ? 0x8000 : 0);
}

/* The table to shared memory, and what a lane knows of itself. */
WCODEC_DEVICE_FUNCTION void wcodec_coder_take_table(const struct wcodec_coder_kind k,
                                                    struct wcodec_warp *warp,
                                                    const struct wcodec_coder_launch *l,
                                                    struct wcodec_coder_state *s)
{
    const uint32_t stages = wcodec_shared_base(warp),
                   table =
                       (stages + wcodec_warps(warp) * WCODEC_CODER_STAGE + WCODEC_CODER_TABLE - 1) &
                       ~(WCODEC_CODER_TABLE - 1u);
    const WCODEC_GLOBAL uint8_t *from = (const WCODEC_GLOBAL uint8_t *)l->table;
    for (uint32_t i = wcodec_thread(warp); i < 256 * WCODEC_CODER_COPIES;
         i += wcodec_threads(warp)) {
        const uint32_t symbol = i / WCODEC_CODER_COPIES;
        wcodec_u4 v = wcodec_load_u4(from + 16 * symbol);
        v.y = wcodec_coder_flagged(k, v.y, symbol);
        wcodec_put_u4(warp, table + 16 * i, v);
    }
    wcodec_sync_group(warp);
    s->lane = wcodec_lane(warp);
    /* By a shuffle, so that they are kept, and not computed anew for each symbol. */
    s->below = wcodec_shuffle(warp, (1u << s->lane) - 1, s->lane);
    s->top = wcodec_shuffle(warp, stages + (wcodec_warp_number(warp) + 1) * WCODEC_CODER_STAGE, 0);
    s->symbols = wcodec_shuffle(warp, table + 16 * (s->lane % WCODEC_CODER_COPIES), s->lane);
    s->full = s->top - WCODEC_CODER_CHUNK;
}

WCODEC_DEVICE_FUNCTION void wcodec_coder_code_tiles(const struct wcodec_coder_kind k,
                                                    const bool known, struct wcodec_warp *warp,
                                                    const struct wcodec_coder_launch *l)
{
    const uint32_t step = wcodec_groups(warp) * wcodec_warps(warp);
    struct wcodec_coder_state s;
    wcodec_coder_take_table(k, warp, l, &s);
    /* By a shuffle from one lane, so that the compiler knows that all lanes have the same: it has
     * votes of all of them without asking who is there, and counts them once. */
    WCODEC_UNROLL_NONE
    for (uint32_t tile = wcodec_shuffle(
             warp, wcodec_group(warp) * wcodec_warps(warp) + wcodec_warp_number(warp), 0);
         tile < l->tiles; tile += step)
        wcodec_coder_code_tile(k, known, warp, l, &s, tile);
}

/* Of a kind that the compiler knows. */
WCODEC_DEVICE_FUNCTION void wcodec_coder_row_kernel(const struct wcodec_coder_kind k,
                                                    struct wcodec_warp *warp,
                                                    const struct wcodec_coder_launch *l)
{
    wcodec_coder_code_tiles(k, true, warp, l);
}

WCODEC_DEVICE_FUNCTION void wcodec_coder_tiles_kernel(const struct wcodec_coder_kind k,
                                                      struct wcodec_warp *warp,
                                                      const struct wcodec_coder_launch *l)
{
    wcodec_coder_code_tiles(k, false, warp, l);
}
#endif

#endif
