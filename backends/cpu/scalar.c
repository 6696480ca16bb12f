/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The scalar level: plain C, branchless where a branch could not be predicted. */
#include "backends/cpu/decode.h"

#include "backends/cpu/inline.h"
#include "coding/check_key.h"
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

static void assemble_byte(const struct wcodec_cpu_assembly *a, const uint8_t *symbols,
                          const uint8_t *const rows[WCODEC_MAX_PLANES], uint8_t *elements)
{
    (void)rows;
    for (unsigned i = 0; i < WCODEC_CPU_CHUNK; i += 4) {
        const uint32_t v = a->constant | wcodec_load_u32(symbols + i) << a->shift[0];
        wcodec_store_u32(elements + i, subtract(v, a->add, 0));
    }
}

struct keys {
    uint64_t word;
};

struct column {
    uint64_t sum;
};

INLINE struct keys make_keys(unsigned element_log2, uint32_t number)
{
    (void)element_log2;
    return (struct keys){WCODEC_CHECK_KEY(number)};
}

INLINE struct column empty_column(void)
{
    return (struct column){0};
}

INLINE void add_words(struct column *c, const uint8_t *at, const struct keys *keys)
{
    c->sum += keys->word * wcodec_load_u32(at);
}

INLINE void put_column(unsigned element_log2, unsigned r, struct column c,
                       uint64_t sums[WCODEC_LANES])
{
    sums[r >> element_log2] += c.sum;
}

#define VEC_BYTES 4
#include "backends/cpu/finish.h"

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
                     [WCODEC_CPU_NIBBLE] = wcodec_cpu_assemble_scalar,
                     [WCODEC_CPU_BYTE] = assemble_byte,
                     [WCODEC_CPU_F32] = wcodec_cpu_assemble_scalar,
                     [WCODEC_CPU_F16] = wcodec_cpu_assemble_scalar},
        .finish = finish_plain,
        .check = finish_check,
    };
}
