/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The scalar level: plain C, branchless where a branch could not be predicted. */
#include "backends/cpu/decode.h"

#include "backends/cpu/inline.h"
#include "coding/check_mix.h"
#include "core/error.h"

/* The next word is loaded whether it is needed or not, and chosen without a branch: whether it is
 * cannot be predicted. Compilers make a branch of any choice here, hence the assembler. */
INLINE uint32_t renormalise(uint32_t x, const uint8_t *words, size_t *used)
{
    const uint32_t refilled = x << 16 | wcodec_load_u16(words + 2 * *used);
#if defined(__GNUC__) && defined(__x86_64__)
    __asm__("cmpl $0x10000, %0\n\tcmovb %2, %0\n\tadcq $0, %1"
            : "+r"(x), "+r"(*used)
            : "r"(refilled)
            : "cc");
    return x;
#else
    const uint32_t low = x < 1u << 16;
    *used += low;
    return x ^ ((x ^ refilled) & (0u - low));
#endif
}

INLINE uint32_t step_p8(const struct wcodec_cpu_table *t, uint32_t x, uint8_t *symbol)
{
    const uint32_t e = t->slots[x & 255];
    *symbol = (uint8_t)e;
    return (e >> 16) * (x >> 8) + (e >> 8 & 0xff);
}

INLINE uint32_t step_p12(const uint32_t *entries, uint32_t x, uint32_t *symbol)
{
    const uint32_t e = entries[x & 4095];
    *symbol = e >> 12;
    return (e >> 20) * (x >> 12) + (e & 0xfff);
}

/* All groups of one stream. States are copied to and fro: the bytes of symbols might alias them
 * otherwise. */
INLINE void decode(struct wcodec_cpu_stream *s, unsigned profile, unsigned groups)
{
    const struct wcodec_cpu_table *table = s->table;
    const uint32_t *entries = table->entries;
    const uint8_t *words = s->words;
    uint8_t *symbols = s->symbols;
    size_t used = 0;
    uint32_t states[WCODEC_LANES];
    memcpy(states, s->x, sizeof states);
    for (unsigned g = 0; g < groups; g++, symbols += WCODEC_GROUP)
        for (unsigned position = 0; position < 4; position += profile == WCODEC_P12 ? 1 : 2)
#pragma GCC unroll 8
            for (unsigned lane = 0; lane < WCODEC_LANES; lane++) {
                uint8_t *out = symbols + 4 * lane + position;
                uint32_t a, x = states[lane];
                if (profile == WCODEC_P8) {
                    x = step_p8(table, x, out);
                    x = step_p8(table, x, out + 1);
                } else {
                    x = step_p12(entries, x, &a);
                    if (profile == WCODEC_PAIRS)
                        wcodec_store_u16(out, table->pairs[a & 0xff]);
                    else
                        *out = (uint8_t)a;
                }
                states[lane] = renormalise(x, words, &used);
            }
    memcpy(s->x, states, sizeof states);
    s->words = words + 2 * used;
    s->symbols = symbols;
}

static void symbols_p8(struct wcodec_cpu_stream *streams, unsigned count, unsigned groups)
{
    for (unsigned i = 0; i < count; i++)
        decode(&streams[i], WCODEC_P8, groups);
}

static void symbols_p12(struct wcodec_cpu_stream *streams, unsigned count, unsigned groups)
{
    for (unsigned i = 0; i < count; i++)
        decode(&streams[i], WCODEC_P12, groups);
}

static void symbols_pairs(struct wcodec_cpu_stream *streams, unsigned count, unsigned groups)
{
    for (unsigned i = 0; i < count; i++)
        decode(&streams[i], WCODEC_PAIRS, groups);
}

/* Each element of a slot word minus A, without borrows between them. */
INLINE uint32_t subtract(uint32_t v, uint32_t add, unsigned element_log2)
{
    if (element_log2 == 2)
        return v - add;
    const uint32_t top = element_log2 == 0 ? 0x80808080u : 0x80008000u;
    return ((v | top) - (add & ~top)) ^ ((v ^ ~add) & top);
}

/* A plane's part of the slot words of a group, slot word i of a lane at words[i][lane]: all are
 * rotated alike, so compilers make vectors of the loops over lanes. */
INLINE void add_plane(unsigned element_log2, unsigned bits, unsigned rotate, uint32_t mask,
                      uint32_t mask_high, const uint8_t *rows, unsigned g,
                      uint32_t words[8][WCODEC_LANES])
{
    const unsigned own = element_log2 < 2 ? 1u << element_log2 : 4;
    for (unsigned i = 0; i < own; i++) {
        const unsigned ratio = 8 * own / bits, number = g * own + i,
                       turn = (number % ratio * bits + 32 - rotate) % 32, back = (32 - turn) % 32;
        uint32_t row[WCODEC_LANES];
        for (unsigned lane = 0; lane < WCODEC_LANES; lane++)
            row[lane] = wcodec_load_u32(rows + 4 * (size_t)(number / ratio * WCODEC_LANES + lane));
        for (unsigned lane = 0; lane < WCODEC_LANES; lane++)
            words[i][lane] |= (row[lane] >> turn | row[lane] << back) & mask;
        for (unsigned lane = 0; lane < WCODEC_LANES && element_log2 == 3; lane++)
            words[i + 4][lane] |= (row[lane] >> turn | row[lane] << back) & mask_high;
    }
}

/* A field's symbols; they fit above their shift: no bit reaches the next element. */
INLINE void add_symbols(unsigned element_log2, unsigned shift, const uint8_t *symbols,
                        uint32_t words[8][WCODEC_LANES])
{
    const unsigned low = shift % 32, half = shift < 32 ? 0 : 4;
    for (unsigned lane = 0; lane < WCODEC_LANES; lane++) {
        const uint32_t s = wcodec_load_u32(symbols + 4 * (size_t)lane);
        if (element_log2 == 0) {
            words[0][lane] |= s << shift;
        } else if (element_log2 == 1) {
            words[0][lane] |= ((s & 0xff) | (s & 0xff00) << 8) << shift;
            words[1][lane] |= ((s >> 16 & 0xff) | (s >> 24) << 16) << shift;
        } else {
            words[half][lane] |= (s & 0xff) << low;
            words[half + 1][lane] |= (s >> 8 & 0xff) << low;
            words[half + 2][lane] |= (s >> 16 & 0xff) << low;
            words[half + 3][lane] |= s >> 24 << low;
        }
    }
    for (unsigned i = 0; i < 4 && element_log2 == 3 && half == 0 && shift > 24; i++)
        for (unsigned lane = 0; lane < WCODEC_LANES; lane++)
            words[i + 4][lane] |= (uint32_t)symbols[4 * lane + i] >> (32 - shift);
}

/* element_log2 is a constant where this is inlined. */
INLINE void assemble(const struct wcodec_cpu_assembly *restrict a, unsigned element_log2,
                     const uint8_t *restrict symbols, const uint8_t *const rows[WCODEC_MAX_PLANES],
                     uint8_t *restrict elements)
{
    const unsigned own = element_log2 < 2 ? 1u << element_log2 : 4;
    const uint32_t add = a->add;
    const uint64_t wide_add = a->add | (uint64_t)a->add_high << 32;
    for (unsigned g = 0; g < WCODEC_CPU_CHUNK_GROUPS; g++) {
        uint32_t words[8][WCODEC_LANES];
        for (unsigned i = 0; i < own; i++)
            for (unsigned lane = 0; lane < WCODEC_LANES; lane++) {
                words[i][lane] = a->constant;
                words[i + 4][lane] = a->constant_high;
            }
        for (unsigned p = 0; p < a->plane_count; p++)
            add_plane(element_log2, a->plane_bits[p], 0, a->plane_mask[p], a->plane_mask_high[p],
                      rows[p], g, words);
        for (unsigned i = 0; i < a->moved_count && element_log2 >= 2; i++)
            add_plane(element_log2, a->plane_bits[a->moved[i].plane], a->moved[i].rotate,
                      a->moved[i].mask, a->moved[i].mask_high, rows[a->moved[i].plane], g, words);
        for (unsigned c = 0; c < a->coded_count; c++)
            add_symbols(element_log2, a->shift[c],
                        symbols + c * WCODEC_CPU_CHUNK + g * WCODEC_GROUP, words);
        for (unsigned lane = 0; lane < WCODEC_LANES; lane++)
            for (unsigned i = 0; i < own; i++, elements += element_log2 == 3 ? 8 : 4)
                if (element_log2 == 3)
                    wcodec_store_u64(
                        elements, (words[i][lane] | (uint64_t)words[i + 4][lane] << 32) - wide_add);
                else
                    wcodec_store_u32(elements, subtract(words[i][lane], add, element_log2));
    }
}

void wcodec_cpu_assemble_scalar(const struct wcodec_cpu_assembly *a, const uint8_t *symbols,
                                const uint8_t *const rows[WCODEC_MAX_PLANES], uint8_t *elements)
{
    if (a->element_log2 == 0)
        assemble(a, 0, symbols, rows, elements);
    else if (a->element_log2 == 1)
        assemble(a, 1, symbols, rows, elements);
    else if (a->element_log2 == 2)
        assemble(a, 2, symbols, rows, elements);
    else
        assemble(a, 3, symbols, rows, elements);
}

/* Without branches, so that compilers make vectors of it. */
INLINE void bf16(const struct wcodec_cpu_assembly *a, bool plain, const uint8_t *restrict symbols,
                 const uint8_t *restrict row, uint8_t *restrict elements)
{
    const uint32_t mask = a->plane_mask[0], constant = a->constant, add = a->add,
                   shift = a->shift[0];
    for (size_t i = 0; i < WCODEC_CPU_CHUNK; i += 4) {
        const uint32_t word = wcodec_load_u32(row + i), s = wcodec_load_u32(symbols + i),
                       low = (s & 0xff) | (s & 0xff00) << 8,
                       high = (s >> 16 & 0xff) | (s >> 24) << 16;
        const uint32_t first = (word & mask) | low << shift,
                       second = ((word >> 8 | word << 24) & mask) | high << shift;
        wcodec_store_u32(elements + 2 * i, plain ? first : subtract(first | constant, add, 1));
        wcodec_store_u32(elements + 2 * i + 4,
                         plain ? second : subtract(second | constant, add, 1));
    }
}

static void assemble_bf16(const struct wcodec_cpu_assembly *a, const uint8_t *symbols,
                          const uint8_t *const rows[WCODEC_MAX_PLANES], uint8_t *elements)
{
    if (a->constant == 0 && a->add == 0)
        bf16(a, true, symbols, rows[0], elements);
    else
        bf16(a, false, symbols, rows[0], elements);
}

/* Likewise; a row has the bits of two groups. */
static void assemble_nibble(const struct wcodec_cpu_assembly *a, const uint8_t *symbols,
                            const uint8_t *const rows[WCODEC_MAX_PLANES], uint8_t *elements)
{
    const uint32_t mask = a->plane_mask[0], constant = a->constant, add = a->add,
                   shift = a->shift[0];
    const uint8_t *row = rows[0];
    for (unsigned at = 0; at < WCODEC_CPU_CHUNK; at += 2 * WCODEC_GROUP, row += WCODEC_GROUP) {
        const uint8_t *restrict from = symbols + at;
        uint8_t *restrict to = elements + at;
        for (unsigned i = 0; i < WCODEC_GROUP; i += 4) {
            const uint32_t word = wcodec_load_u32(row + i);
            const uint32_t first = (word & mask) | constant | wcodec_load_u32(from + i) << shift;
            wcodec_store_u32(to + i, subtract(first, add, 0));
        }
        from += WCODEC_GROUP;
        to += WCODEC_GROUP;
        for (unsigned i = 0; i < WCODEC_GROUP; i += 4) {
            const uint32_t word = wcodec_load_u32(row + i), turned = word >> 4 | word << 28;
            const uint32_t second = (turned & mask) | constant | wcodec_load_u32(from + i) << shift;
            wcodec_store_u32(to + i, subtract(second, add, 0));
        }
    }
}

static void assemble_byte(const struct wcodec_cpu_assembly *a, const uint8_t *symbols,
                          const uint8_t *const rows[WCODEC_MAX_PLANES], uint8_t *elements)
{
    (void)rows;
    for (unsigned i = 0; i < WCODEC_CPU_CHUNK; i += 4) {
        const uint32_t v = a->constant | wcodec_load_u32(symbols + i) << a->shift[0];
        wcodec_store_u32(elements + i, subtract(v, a->add, 0));
    }
}

/* The sums of whole groups. A lane's words count k(j) = k(first) + i STEP times, i from 0: the sum
 * of all sums so far of n words has each of them n - i times, so that two additions a word take the
 * place of a product. element_log2 is a constant where this is inlined. */
INLINE void add_sums(unsigned element_log2, const uint8_t *elements, unsigned groups,
                     uint32_t first, uint64_t sums[WCODEC_LANES])
{
    const unsigned own = 1u << element_log2;
    const uint64_t words = (uint64_t)groups * own, key = WCODEC_CHECK_KEY(first * own);
    for (unsigned lane = 0; lane < WCODEC_LANES; lane++) {
        uint64_t sum = 0, sum_of_sums = 0;
        for (unsigned g = 0; g < groups; g++)
            for (unsigned i = 0; i < own; i++) {
                sum +=
                    wcodec_load_u32(elements + 4 * (((size_t)g * WCODEC_LANES + lane) * own + i));
                sum_of_sums += sum;
            }
        sums[lane] += key * sum + WCODEC_CHECK_STEP * (words * sum - sum_of_sums);
    }
}

#include "backends/cpu/choose_sums.h"

static void finish(unsigned element_log2, const uint8_t *elements, unsigned groups, uint32_t first,
                   uint8_t *out, uint64_t sums[WCODEC_LANES])
{
    if (out)
        memcpy(out, elements, (size_t)groups * WCODEC_GROUP << element_log2);
    if (sums)
        choose_sums(element_log2, elements, groups, first, sums);
}

static uint32_t finish_check(const uint64_t sums[WCODEC_LANES])
{
    return wcodec_check_mix(sums);
}

/* 16-bit elements straight from words. A table for the call: of P8 the symbol where the element has
 * it, in the upper half, frequency and bias; of pairs both elements' bits by symbol. */
INLINE void straight(struct wcodec_cpu_stream *s, unsigned profile, unsigned groups)
{
    const struct wcodec_cpu_table *table = s->table;
    const uint32_t *entries = table->entries, mask = s->assembly->plane_mask[0];
    const unsigned shift = s->assembly->shift[0];
    uint32_t states[WCODEC_LANES], own[256];
    size_t used = 0;
    for (unsigned i = 0; i < 256; i++)
        own[i] = profile == WCODEC_P8
                     ? (table->slots[i] & 0xff) << (16 + shift) |
                           (table->slots[i] >> 16 & 0xff) << 8 | (table->slots[i] >> 8 & 0xff)
                     : ((table->pairs[i] & 0xffu) | (uint32_t)(table->pairs[i] >> 8) << 16)
                           << shift;
    memcpy(states, s->x, sizeof states);
    for (unsigned g = 0; g < groups; g++) {
        const uint8_t *row = g < s->rows_end ? s->raw + (size_t)g * WCODEC_GROUP : s->raw_last;
        uint8_t *to = s->elements + (size_t)g * 2 * WCODEC_GROUP;
        for (unsigned step = 0; step < 2; step++)
#pragma GCC unroll 8
            for (unsigned lane = 0; lane < WCODEC_LANES; lane++) {
                const uint32_t raw = wcodec_load_u32(row + 4 * lane),
                               bits = (step ? raw >> 8 | raw << 24 : raw) & mask;
                uint32_t x = states[lane], symbols;
                if (profile == WCODEC_P8) {
                    const uint32_t a = own[x & 255];
                    x = (a >> 8 & 0xff) * (x >> 8) + (a & 0xff);
                    const uint32_t b = own[x & 255];
                    x = (b >> 8 & 0xff) * (x >> 8) + (b & 0xff);
                    symbols = a >> 16 | (b & 0xffff0000);
                } else {
                    const uint32_t e = entries[x & 4095];
                    x = (e >> 20) * (x >> 12) + (e & 0xfff);
                    symbols = own[e >> 12 & 0xff];
                }
                wcodec_store_u32(to + 8 * lane + 4 * step, bits | symbols);
                states[lane] = renormalise(x, s->words, &used);
            }
        if (g % WCODEC_CPU_CHUNK_GROUPS == WCODEC_CPU_CHUNK_GROUPS - 1 || g == groups - 1) {
            const unsigned count = g % WCODEC_CPU_CHUNK_GROUPS + 1, first = g + 1 - count;
            finish(1, s->elements + (size_t)first * 2 * WCODEC_GROUP, count, s->group + first, NULL,
                   s->sums);
        }
    }
    memcpy(s->x, states, sizeof states);
    s->words += 2 * used;
}

static void straight_p8(struct wcodec_cpu_stream *streams, unsigned count, unsigned groups)
{
    for (unsigned i = 0; i < count; i++)
        straight(&streams[i], WCODEC_P8, groups);
}

static void straight_pairs(struct wcodec_cpu_stream *streams, unsigned count, unsigned groups)
{
    for (unsigned i = 0; i < count; i++)
        straight(&streams[i], WCODEC_PAIRS, groups);
}

void wcodec_cpu_dsp_init_scalar_straight(struct wcodec_cpu_dsp *dsp)
{
    dsp->direct[WCODEC_P8][WCODEC_CPU_BF16] = straight_p8;
    dsp->direct[WCODEC_PAIRS][WCODEC_CPU_BF16] = straight_pairs;
    dsp->whole[WCODEC_P8] = dsp->whole[WCODEC_PAIRS] = true;
}

void wcodec_cpu_dsp_init_scalar(struct wcodec_cpu_dsp *dsp)
{
    *dsp = (struct wcodec_cpu_dsp){
        .level = 0,
        .lookup = WCODEC_CPU_BY_SLOT,
        .tiles = {1, 1, 1, 1},
        .symbols =
            {[WCODEC_PAIRS] = symbols_pairs, [WCODEC_P12] = symbols_p12, [WCODEC_P8] = symbols_p8},
        .assemble = {[WCODEC_CPU_ANY] = wcodec_cpu_assemble_scalar,
                     [WCODEC_CPU_BF16] = assemble_bf16,
                     [WCODEC_CPU_NIBBLE] = assemble_nibble,
                     [WCODEC_CPU_BYTE] = assemble_byte,
                     [WCODEC_CPU_F32] = wcodec_cpu_assemble_scalar,
                     [WCODEC_CPU_F16] = wcodec_cpu_assemble_scalar},
        .finish = finish,
        .check = finish_check,
    };
}
