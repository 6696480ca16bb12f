/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The encoder's scalar level: plain C, branchless where a branch could not be predicted. */
#include "backends/cpu/encode.h"

#include "backends/cpu/inline.h"
#include "coding/histogram.h"

bool wcodec_cpu_choose_values_scalar(const struct wcodec_cpu_encode_table *table,
                                     const uint8_t *values, unsigned groups, uint8_t *symbols)
{
    const uint8_t *substitute = table->table->substitute;
    uint64_t differ = 0;
    for (size_t i = 0; i < (size_t)groups * WCODEC_GROUP; i += 8) {
        const uint64_t v = wcodec_load_u64(values + i);
        uint64_t s = 0;
        for (unsigned k = 0; k < 64; k += 8)
            s |= (uint64_t)substitute[v >> k & 0xff] << k;
        wcodec_store_u64(symbols + i, s);
        differ |= s ^ v;
    }
    return differ != 0;
}

bool wcodec_cpu_choose_pairs_scalar(const struct wcodec_cpu_encode_table *table,
                                    const uint8_t *values, unsigned groups, uint8_t *symbols)
{
    const uint8_t *substitute = table->table->substitute;
    const unsigned base = table->table->table.base, common = table->table->most_frequent;
    unsigned differ = 0;
    for (size_t i = 0; i < (size_t)groups * WCODEC_GROUP; i += 2) {
        const unsigned v0 = values[i] - base,
                       v1 = values[i + 1] - base; /* wraps to above 15 below the window */
        const unsigned pair = (v0 < 16 ? v0 : common % 16) | (v1 < 16 ? v1 : common / 16) << 4,
                       s = substitute[pair];
        symbols[i / 2] = (uint8_t)s;
        differ |= (s % 16 ^ v0) | (s / 16 ^ v1);
    }
    return differ != 0;
}

/* x / f * 2^p + x mod f + start, with one multiplication less. */
INLINE uint32_t push(uint32_t x, const struct wcodec_encode_symbol *s, unsigned p)
{
    const uint32_t quotient = (uint32_t)(x * s->reciprocal >> (32 + p));
    return x + quotient * s->rest + s->start;
}

/* Emit a word if x has reached limit. Branchless: whether a lane emits cannot be predicted. */
INLINE uint32_t shrink(uint32_t x, uint32_t limit, uint8_t **word)
{
    const size_t emit = x >= limit;
    wcodec_store_u16(*word - 2, (uint16_t)x);
    *word -= 2 * emit;
    return x >> (16 * emit);
}

void wcodec_cpu_rans_p8_scalar(const struct wcodec_cpu_encode_table *table, const uint8_t *symbols,
                               unsigned groups, struct wcodec_cpu_encode_stream *stream)
{
    const struct wcodec_encode_symbol *all = table->table->symbols;
    uint8_t *word = stream->words;
    uint32_t x[WCODEC_LANES];
    memcpy(x, stream->x, sizeof x);
    for (unsigned g = groups; g-- > 0;)
        for (unsigned position = 4; position > 0; position -= 2)
            for (unsigned lane = WCODEC_LANES; lane-- > 0;) {
                const uint8_t *at = symbols + g * WCODEC_GROUP + 4 * lane + position - 2;
                const struct wcodec_encode_symbol *s = &all[at[0]], *next = &all[at[1]];
                const uint32_t y = shrink(x[lane], (uint32_t)s->freq * next->freq << 16, &word);
                x[lane] = push(push(y, next, 8), s, 8);
            }
    memcpy(stream->x, x, sizeof x);
    stream->words = word;
}

/* 12-bit profiles: `steps` symbols a lane in a group. */
INLINE void rans_p12(const struct wcodec_cpu_encode_table *table, const uint8_t *symbols,
                     unsigned groups, unsigned steps, struct wcodec_cpu_encode_stream *stream)
{
    const struct wcodec_encode_symbol *all = table->table->symbols;
    uint8_t *word = stream->words;
    uint32_t x[WCODEC_LANES];
    memcpy(x, stream->x, sizeof x);
    for (unsigned g = groups; g-- > 0;)
        for (unsigned step = steps; step-- > 0;)
            for (unsigned lane = WCODEC_LANES; lane-- > 0;) {
                const struct wcodec_encode_symbol *s =
                    &all[symbols[steps * (g * WCODEC_LANES + lane) + step]];
                x[lane] = push(shrink(x[lane], (uint32_t)s->freq << 20, &word), s, 12);
            }
    memcpy(stream->x, x, sizeof x);
    stream->words = word;
}

#include "backends/cpu/encode_level.h"

/* A in each element of a slot word, without carries between them. */
INLINE uint32_t add_each(uint32_t v, uint32_t add, unsigned element_log2)
{
    if (element_log2 == 2)
        return v + add;
    const uint32_t top = element_log2 == 0 ? 0x80808080u : 0x80008000u;
    return ((v & ~top) + (add & ~top)) ^ ((v ^ add) & top);
}

/* Slot word i of a lane's group goes to its row, rotated; compilers make vectors of the loop over
 * lanes. element_log2 is a constant where this is inlined. */
INLINE void pack_plane(const struct wcodec_cpu_assembly *a, unsigned element_log2, unsigned plane,
                       const uint8_t *elements, unsigned first, unsigned groups, uint8_t *rows)
{
    const unsigned own = 1u << element_log2, bits = a->plane_bits[plane], ratio = 8 * own / bits;
    const uint32_t mask = a->plane_mask[plane], add = a->add;
    for (unsigned g = 0; g < groups; g++, elements += 4 * own * WCODEC_LANES)
        for (unsigned i = 0; i < own; i++) {
            const unsigned number = (first + g) * own + i, turn = number % ratio * bits;
            uint8_t *row = rows + (size_t)(number / ratio) * 4 * WCODEC_LANES;
            for (unsigned lane = 0; lane < WCODEC_LANES; lane++) {
                const uint32_t v =
                    add_each(wcodec_load_u32(elements + 4 * (size_t)(own * lane + i)), add,
                             element_log2) &
                    mask;
                wcodec_store_u32(row + 4 * lane, turn ? wcodec_load_u32(row + 4 * lane) |
                                                            v << turn | v >> (32 - turn)
                                                      : v);
            }
        }
}

/* Eight raw bits of 16: the upper half of what the second slot word adds is its complement. */
static void pack_bf16(const struct wcodec_cpu_assembly *a, const uint8_t *elements, unsigned first,
                      unsigned groups, uint8_t *rows)
{
    const uint32_t mask = a->plane_mask[0];
    rows += (size_t)first * 4 * WCODEC_LANES;
    for (size_t i = 0; i < (size_t)groups * WCODEC_LANES; i++) {
        const uint64_t e = wcodec_load_u64(elements + 8 * i);
        const uint32_t high = (uint32_t)(e >> 32) & mask;
        wcodec_store_u32(rows + 4 * i, ((uint32_t)e & mask) | high << 8 | high >> 24);
    }
}

void wcodec_cpu_pack_scalar(const struct wcodec_cpu_assembly *a, unsigned plane,
                            const uint8_t *elements, unsigned first, unsigned groups, uint8_t *rows)
{
    if (a->element_log2 == 1 && a->plane_bits[plane] == 8 && a->add == 0 && plane == 0)
        pack_bf16(a, elements, first, groups, rows);
    else if (a->element_log2 == 0)
        pack_plane(a, 0, plane, elements, first, groups, rows);
    else if (a->element_log2 == 1)
        pack_plane(a, 1, plane, elements, first, groups, rows);
    else
        pack_plane(a, 2, plane, elements, first, groups, rows);
}

void wcodec_cpu_encode_dsp_init_scalar(struct wcodec_cpu_encode_dsp *dsp)
{
    *dsp = (struct wcodec_cpu_encode_dsp){
        .level = 0,
        .extract = wcodec_extract_field,
        .count = wcodec_count_symbols,
        .choose = {[WCODEC_PAIRS] = wcodec_cpu_choose_pairs_scalar,
                   [WCODEC_P12] = wcodec_cpu_choose_values_scalar,
                   [WCODEC_P8] = wcodec_cpu_choose_values_scalar},
        .rans = {[WCODEC_PAIRS] = rans_pairs,
                 [WCODEC_P12] = rans_bytes,
                 [WCODEC_P8] = wcodec_cpu_rans_p8_scalar},
        .pack = wcodec_cpu_pack_scalar,
    };
}
