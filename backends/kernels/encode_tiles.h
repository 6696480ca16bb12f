/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Tensors are coded in tiles, of one coded field with one table (doc/format.md 2;
 * lib/coding/tile_encode.c is the reference). A warp takes a tile and goes from its last group to
 * the first. Raw bits go to their place at once, if no tile before is stored or constant; words,
 * states and outliers to the work area, from which encode_join.h takes them when all sizes are
 * known. Outliers are only marked there. */
#ifndef WCODEC_KERNELS_ENCODE_TILES_H
#define WCODEC_KERNELS_ENCODE_TILES_H

#include "backends/kernels/encode_rows.h"

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
    uint64_t sum;         /* of the check */
    struct wcodec_coder_rows rows;
};

/* How a lane's elements are coded: one symbol each, or one for two. */
struct wcodec_coder_pick {
    uint32_t entry;
    uint32_t outside; /* WCODEC_CODER_OTHER, or 0 */
};

/* Are the four coded fields of a word's bytes pairs of at most 4 bits? There is no window then. */
WCODEC_DEVICE_FUNCTION bool wcodec_coder_is_narrow(const struct wcodec_coder_kind k)
{
    return k.element_log2 == 0 && k.raw == 4 && k.profile == WCODEC_PAIRS;
}

/* The pairs of such a word, in its bytes 0 and 2. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_coder_narrow_pairs(const struct wcodec_coder_launch *l,
                                                          uint32_t word, uint32_t there)
{
    uint32_t fields = word >> l->shift & l->mask * 0x01010101u;
    if (there < 4)
        fields =
            wcodec_select_bits((1u << 8 * there) - 1, fields,
                               (l->common & 15) * 0x00010001u | (l->common >> 4) * 0x01000100u);
    return fields | fields >> 4;
}

/* The table's entry of symbol i, where each takes 2^log2 bytes from `table` on, which is a multiple
 * of all of them together but for what is less than one of them. */
WCODEC_DEVICE_FUNCTION struct wcodec_coder_pick
wcodec_coder_pick(const struct wcodec_coder_kind k, const struct wcodec_coder_launch *l,
                  uint32_t table, const uint32_t log2, const uint32_t *words, const uint32_t i,
                  uint32_t there)
{
    struct wcodec_coder_pick pick = {0, 0};
    if (wcodec_coder_is_narrow(k)) {
        pick.entry =
            table + ((wcodec_coder_narrow_pairs(l, words[0], there) >> 16 * i & 0xff) << log2);
    } else if (k.profile == WCODEC_PAIRS) {
        uint32_t a = wcodec_coder_value(k, l, words, 2 * i) - l->base,
                 b = wcodec_coder_value(k, l, words, 2 * i + 1) - l->base;
        pick.outside = (a | b) > 15 ? WCODEC_CODER_OTHER : 0;
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
    uint32_t any; /* `how` of all of them */
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
    symbols->any = 0;
    WCODEC_UNROLL_ALL
    for (uint32_t i = 0; i < 4; i++) {
        if (i >= wcodec_coder_symbol_count(k))
            continue;
        const struct wcodec_coder_pick pick =
            wcodec_coder_pick(k, l, s->symbols, 4 + WCODEC_CODER_COPIES_LOG2, words, i, there);
        symbols->entry[i] = wcodec_shared_u4(warp, pick.entry);
        symbols->any |= symbols->entry[i].y | pick.outside;
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

/* Is the lane's element i an outlier? */
WCODEC_DEVICE_FUNCTION bool wcodec_coder_is_outlier(const struct wcodec_coder_kind k,
                                                    const struct wcodec_coder_launch *l,
                                                    const uint32_t *words, const uint32_t i,
                                                    uint32_t there,
                                                    const struct wcodec_coder_symbols *symbols)
{
    if (i >= there)
        return false;
    if (k.profile != WCODEC_PAIRS)
        return (symbols->entry[i].y & WCODEC_CODER_OTHER) != 0;
    if (wcodec_coder_is_narrow(k)) {
        const uint32_t coded = wcodec_bytes(symbols->entry[0].y, symbols->entry[1].y, 0x1511);
        return ((coded ^ wcodec_coder_narrow_pairs(l, words[0], there)) &
                (i < 2 ? 15u << 4 * i : 15u << (8 + 4 * i))) != 0;
    }
    const uint32_t pair = symbols->entry[i / 2].y >> 8;
    return wcodec_coder_value(k, l, words, i) != l->base + (i % 2 ? pair >> 4 & 15 : pair & 15);
}

/* Which lanes' elements of a group are outliers, a vote for each of the four, to the work area:
 * encode_join.h writes them. A lane stores what it counts in the end. */
WCODEC_DEVICE_FUNCTION void
wcodec_coder_mark_outliers(const struct wcodec_coder_kind k, struct wcodec_warp *warp,
                           const struct wcodec_coder_launch *l, const struct wcodec_coder_state *s,
                           uint32_t base, const uint32_t group, const uint32_t *words,
                           uint32_t there, const struct wcodec_coder_symbols *symbols)
{
    const bool wide = k.profile == WCODEC_PAIRS && !wcodec_coder_is_narrow(k);
    uint32_t marks[4] = {0, 0, 0, 0};
    if (!wide || wcodec_any(warp, (symbols->any & WCODEC_CODER_OTHER) != 0)) {
        WCODEC_UNROLL_ALL
        for (uint32_t i = 0; i < 4; i++)
            marks[i] = wcodec_ballot(warp, wcodec_coder_is_outlier(k, l, words, i, there, symbols));
    }
    if (((s->lane - base) & 31) == group)
        wcodec_store_u4((WCODEC_GLOBAL uint8_t *)(s->marks + (uint64_t)16 * base + 16 * group),
                        marks[0], marks[1], marks[2], marks[3]);
}

/* How many outliers a lane has marked in a tile of so many groups. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_coder_count_marks(const struct wcodec_coder_state *s,
                                                         uint32_t groups)
{
    uint32_t count = 0;
    for (uint32_t group = s->lane; group < groups; group += 32) {
        const wcodec_u4 v =
            wcodec_load_u4((const WCODEC_GLOBAL uint8_t *)(s->marks + (uint64_t)16 * group));
        count += WCODEC_POPCOUNT(v.x) + WCODEC_POPCOUNT(v.y) + WCODEC_POPCOUNT(v.z) +
                 WCODEC_POPCOUNT(v.w);
    }
    return count;
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

WCODEC_DEVICE_FUNCTION void
wcodec_coder_group(const struct wcodec_coder_kind k, struct wcodec_warp *warp,
                   const struct wcodec_coder_launch *l, struct wcodec_coder_state *s, uint32_t base,
                   const uint32_t group, uint32_t *words, uint32_t there, bool last)
{
    struct wcodec_coder_symbols symbols;
    WCODEC_UNROLL_ALL
    for (uint32_t i = 0; i < 4; i++)
        if (i < wcodec_coder_words(k))
            s->sum += (uint64_t)words[i] * (wcodec_check_factor(base << k.element_log2) +
                                            WCODEC_CHECK_STEP * ((group << k.element_log2) + i));
    wcodec_coder_add(k, l, there, words);
    wcodec_coder_look(k, warp, l, s, words, there, &symbols);
    wcodec_coder_put_rows(k, l, &s->rows, base, group, s->lane, words, last);
    wcodec_coder_mark_outliers(k, warp, l, s, base, group, words, there, &symbols);
    wcodec_coder_push_all(k, warp, s, &symbols);
    /* Two groups of less than 256 bytes do not fill what a chunk leaves of the stage. */
    if ((k.profile == WCODEC_P12 || group % 2 == 0) && s->at <= s->full)
        wcodec_coder_flush(warp, s);
}

/* Elements of which a few look alike: is the tile smaller as a constant with outliers? By what the
 * reference counts (lib/encode/tile_plan.c). */
WCODEC_DEVICE_FUNCTION bool wcodec_coder_is_constant(const struct wcodec_coder_kind k,
                                                     struct wcodec_warp *warp,
                                                     const struct wcodec_coder_launch *l,
                                                     uint32_t tile, uint32_t count,
                                                     uint32_t *symbol, uint32_t *outliers)
{
    const uint32_t lane = wcodec_lane(warp);
    const WCODEC_GLOBAL uint8_t *elements = wcodec_coder_elements(k, l, tile);
    uint32_t words[4], same = 0, cost = 0;
    const uint32_t middle = count / 2, sample = (uint32_t)((uint64_t)lane * count / 32);
    (void)wcodec_coder_load_part(k, elements, count, middle / 128, middle / 4 & 31, words);
    wcodec_coder_add(k, l, 4, words);
    *symbol = wcodec_coder_value_at(k, l, words, middle & 3);
    (void)wcodec_coder_load_part(k, elements, count, sample / 128, sample / 4 & 31, words);
    wcodec_coder_add(k, l, 4, words);
    const uint32_t value = wcodec_coder_value_at(k, l, words, sample & 3);
    if (WCODEC_POPCOUNT(wcodec_ballot(warp, value != *symbol)) > 2)
        return false;
    const WCODEC_GLOBAL uint32_t *costs =
        (const WCODEC_GLOBAL uint32_t *)(l->table + WCODEC_CODER_SYMBOLS);
    for (uint32_t group = 0; 128 * group < count; group++) {
        const uint32_t there = wcodec_coder_load_part(k, elements, count, group, lane, words);
        wcodec_coder_add(k, l, there, words);
        WCODEC_UNROLL_ALL
        for (uint32_t i = 0; i < 4; i++)
            if (i < there) {
                const uint32_t v = wcodec_coder_value(k, l, words, i);
                same += v == *symbol;
                cost += costs[v];
            }
    }
    *outliers = count - wcodec_add_lanes(warp, same);
    const uint64_t bits = (((uint64_t)wcodec_add_lanes(warp, cost >> 16) << 16) +
                           wcodec_add_lanes(warp, cost & 0xffff)) >>
                          12;
    return wcodec_any(warp, (uint64_t)24 * *outliers <
                                (wcodec_coder_payload_plane(k) ? 512 : 1024) + bits);
}

/* A tile's check and descriptor; what it takes decides whether it is stored. */
WCODEC_DEVICE_FUNCTION void wcodec_coder_describe(const struct wcodec_coder_kind k,
                                                  const struct wcodec_coder_launch *l,
                                                  uint32_t tile, uint32_t count, uint32_t check,
                                                  uint32_t mode, uint32_t symbol, uint32_t words,
                                                  uint32_t outliers)
{
    const uint32_t groups = (count + 127) / 128;
    const bool rans = mode == WCODEC_STREAM_RANS;
    const uint64_t size =
        wcodec_coder_raw_size(k, groups, rans && wcodec_coder_payload_plane(k) != 0) +
        (rans ? 128 : 0) + (uint64_t)2 * words + (uint64_t)3 * outliers;
    const bool stored = size >= wcodec_coder_stored_size(k, count);
    WCODEC_GLOBAL uint8_t *to =
        (WCODEC_GLOBAL uint8_t *)(l->directory + (uint64_t)4 * l->tiles + (uint64_t)8 * tile);
    wcodec_store_u32((WCODEC_GLOBAL uint8_t *)(l->directory + (uint64_t)4 * tile), check);
    wcodec_store_u32(to, stored ? (uint32_t)WCODEC_STREAM_STORED << 24 : words | mode << 24);
    wcodec_store_u32(to + 4, stored ? 0 : outliers | symbol << 24);
}

WCODEC_DEVICE_FUNCTION uint64_t wcodec_coder_check_alone(const struct wcodec_coder_kind k,
                                                         const struct wcodec_coder_launch *l,
                                                         uint32_t tile, uint32_t count,
                                                         uint32_t lane)
{
    uint64_t sum = 0;
    for (uint32_t group = 0; 128 * group < count; group++) {
        uint32_t words[4];
        (void)wcodec_coder_load_part(k, wcodec_coder_elements(k, l, tile), count, group, lane,
                                     words);
        WCODEC_UNROLL_ALL
        for (uint32_t i = 0; i < 4; i++)
            if (i < wcodec_coder_words(k))
                sum += (uint64_t)words[i] * wcodec_check_factor((group << k.element_log2) + i);
    }
    return sum;
}

WCODEC_DEVICE_FUNCTION void wcodec_coder_begin_tile(const struct wcodec_coder_kind k,
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
    s->chunks = 0;
    s->sum = 0;
    wcodec_coder_begin_rows(&s->rows, l->raw + raw, groups, s->lane, payload);
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
                   outliers =
                       wcodec_add_lanes(warp, wcodec_coder_count_marks(s, (count + 127) / 128));
    if (s->lane == 0)
        wcodec_coder_describe(k, l, tile, count, check, WCODEC_STREAM_RANS, 0,
                              (s->chunks * WCODEC_CODER_CHUNK + left) / 2, outliers);
}

WCODEC_DEVICE_FUNCTION void wcodec_coder_code_tile(const struct wcodec_coder_kind k,
                                                   struct wcodec_warp *warp,
                                                   const struct wcodec_coder_launch *l,
                                                   struct wcodec_coder_state *s, uint32_t tile)
{
    const uint32_t count = wcodec_coder_count(l, tile), groups = (count + 127) / 128,
                   batch = k.element_log2 == 2 ? 2 : 4;
    const WCODEC_GLOBAL uint8_t *elements = wcodec_coder_elements(k, l, tile);
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
    wcodec_coder_begin_tile(k, l, tile, groups, count, s);
    const uint32_t whole = (groups - 1) / batch * batch, batch_bytes = (128 * batch)
                                                                       << k.element_log2;
    const WCODEC_GLOBAL uint8_t *before =
        elements + ((uint64_t)(128 * whole) << k.element_log2) - batch_bytes;
    WCODEC_UNROLL_ALL
    for (uint32_t i = 0; i < 4; i++)
        if (i < batch && whole > 0)
            wcodec_coder_load(k, before, i, s->lane, next[i]);
    /* The last group, which may be short, and those that make no whole batch. */
    WCODEC_UNROLL_NONE
    while (group > whole) {
        uint32_t last[4];
        const uint32_t there = wcodec_coder_load_part(k, elements, count, --group, s->lane, last);
        wcodec_coder_group(k, warp, l, s, group, 0, last, there, true);
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
                wcodec_coder_load(k, before, i, s->lane, next[i]);
        }
        WCODEC_UNROLL_ALL
        for (uint32_t i = 4; i > 0; i--)
            if (i <= batch)
                wcodec_coder_group(k, warp, l, s, group, i - 1, words[i - 1], 4, false);
    }
    wcodec_coder_end_tile(k, warp, l, s, tile, count);
}

/* The table to shared memory, and what a lane knows of itself. */
WCODEC_DEVICE_FUNCTION void wcodec_coder_take_table(struct wcodec_warp *warp,
                                                    const struct wcodec_coder_launch *l,
                                                    struct wcodec_coder_state *s)
{
    const uint32_t stages = wcodec_shared_base(warp),
                   table =
                       (stages + wcodec_warps(warp) * WCODEC_CODER_STAGE + WCODEC_CODER_TABLE - 1) &
                       ~(WCODEC_CODER_TABLE - 1u);
    const WCODEC_GLOBAL uint8_t *from = (const WCODEC_GLOBAL uint8_t *)l->table;
    for (uint32_t i = wcodec_thread(warp); i < 256 * WCODEC_CODER_COPIES; i += wcodec_threads(warp))
        wcodec_put_u4(warp, table + 16 * i, wcodec_load_u4(from + i / WCODEC_CODER_COPIES * 16));
    wcodec_sync_group(warp);
    s->lane = wcodec_lane(warp);
    /* By a shuffle, so that they are kept, and not computed anew for each symbol. */
    s->below = wcodec_shuffle(warp, (1u << s->lane) - 1, s->lane);
    s->top = wcodec_shuffle(warp, stages + (wcodec_warp_number(warp) + 1) * WCODEC_CODER_STAGE, 0);
    s->symbols = wcodec_shuffle(warp, table + 16 * (s->lane % WCODEC_CODER_COPIES), s->lane);
    s->full = s->top - WCODEC_CODER_CHUNK;
}

WCODEC_DEVICE_FUNCTION void wcodec_coder_tiles_kernel(const struct wcodec_coder_kind k,
                                                      struct wcodec_warp *warp,
                                                      const struct wcodec_coder_launch *l)
{
    const uint32_t step = wcodec_groups(warp) * wcodec_warps(warp);
    struct wcodec_coder_state s;
    wcodec_coder_take_table(warp, l, &s);
    /* By a shuffle from one lane, so that the compiler knows that all lanes have the same: it has
     * votes of all of them without asking who is there, and counts them once. */
    WCODEC_UNROLL_NONE
    for (uint32_t tile = wcodec_shuffle(
             warp, wcodec_group(warp) * wcodec_warps(warp) + wcodec_warp_number(warp), 0);
         tile < l->tiles; tile += step)
        wcodec_coder_code_tile(k, warp, l, &s, tile);
}
#endif

#endif
