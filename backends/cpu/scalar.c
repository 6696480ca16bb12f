/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The scalar level: plain C, branchless where a branch could not be predicted. */
#include "backends/cpu/decode.h"

#include "core/error.h"

/* A word is loaded whether it is needed or not. */
static inline uint32_t renormalise(uint32_t x, const uint8_t **words)
{
    const uint32_t low = x < 1u << 16, refilled = x << 16 | wcodec_load_u16(*words);
    *words += 2 * low;
    return low ? refilled : x;
}

static inline uint32_t step(const uint32_t *entries, unsigned p, uint32_t x, uint32_t *symbol)
{
    const uint32_t e = entries[x & ((1u << p) - 1)];
    *symbol = e >> 12 & 0xff;
    return (e >> 20) * (x >> p) + (e & 0xfff);
}

static void symbols_p8(struct wcodec_cpu_stream *streams, unsigned count, unsigned groups)
{
    for (struct wcodec_cpu_stream *s = streams; s < streams + count; s++) {
        const uint32_t *entries = s->table->entries;
        const uint8_t *words = s->words;
        for (unsigned g = 0; g < groups; g++, s->symbols += WCODEC_GROUP)
            for (unsigned place = 0; place < 4; place += 2)
                for (unsigned lane = 0; lane < WCODEC_LANES; lane++) {
                    uint32_t a, b, x = step(entries, 8, s->x[lane], &a);
                    x = step(entries, 8, x, &b);
                    s->x[lane] = renormalise(x, &words);
                    wcodec_store_u16(s->symbols + 4 * lane + place, (uint16_t)(a | b << 8));
                }
        s->words = words;
    }
}

static void symbols_p12(struct wcodec_cpu_stream *streams, unsigned count, unsigned groups)
{
    for (struct wcodec_cpu_stream *s = streams; s < streams + count; s++) {
        const uint32_t *entries = s->table->entries;
        const uint8_t *words = s->words;
        for (unsigned g = 0; g < groups; g++, s->symbols += WCODEC_GROUP)
            for (unsigned place = 0; place < 4; place++)
                for (unsigned lane = 0; lane < WCODEC_LANES; lane++) {
                    uint32_t a, x = step(entries, 12, s->x[lane], &a);
                    s->x[lane] = renormalise(x, &words);
                    s->symbols[4 * lane + place] = (uint8_t)a;
                }
        s->words = words;
    }
}

static void symbols_pairs(struct wcodec_cpu_stream *streams, unsigned count, unsigned groups)
{
    for (struct wcodec_cpu_stream *s = streams; s < streams + count; s++) {
        const uint32_t *entries = s->table->entries, base = s->table->base * 0x101u;
        const uint8_t *words = s->words;
        for (unsigned g = 0; g < groups; g++, s->symbols += WCODEC_GROUP)
            for (unsigned place = 0; place < 4; place += 2)
                for (unsigned lane = 0; lane < WCODEC_LANES; lane++) {
                    uint32_t a, x = step(entries, 12, s->x[lane], &a);
                    s->x[lane] = renormalise(x, &words);
                    wcodec_store_u16(s->symbols + 4 * lane + place, (uint16_t)(a % 16 + (a >> 4 << 8) + base));
                }
        s->words = words;
    }
}

/* The symbols of one slot word in their places. */
static inline uint32_t spread(const uint8_t *symbols, unsigned element_log2, unsigned shift)
{
    switch (element_log2) {
    case 0:
        return wcodec_load_u32(symbols) << shift;
    case 1:
        return (symbols[0] | (uint32_t)symbols[1] << 16) << shift;
    default:
        return (uint32_t)symbols[0] << shift;
    }
}

/* Each element of a slot word minus A, without borrows between them. */
static inline uint32_t subtract(uint32_t v, uint32_t add, unsigned element_log2)
{
    if (element_log2 == 2)
        return v - add;
    const uint32_t top = element_log2 == 0 ? 0x80808080u : 0x80008000u;
    return ((v | top) - (add & ~top)) ^ ((v ^ ~add) & top);
}

/* Always inlined: element_log2 and the planes' bits are constants in all functions but the general one. */
static inline void assemble(const struct wcodec_cpu_assembly *a, unsigned element_log2, unsigned plane_count, const uint8_t *bits, const uint8_t *symbols,
                            const uint8_t *const rows[WCODEC_MAX_PLANES], uint8_t *elements)
{
    const unsigned own = 1u << element_log2, per_word = 4 / own; /* slot words of a lane in a group; elements in each */
    for (unsigned g = 0; g < WCODEC_CPU_CHUNK_GROUPS; g++)
        for (unsigned lane = 0; lane < WCODEC_LANES; lane++)
            for (unsigned i = 0; i < own; i++) {
                const unsigned number = g * own + i;
                uint32_t v = a->constant | spread(symbols, element_log2, a->shift);
                for (unsigned p = 0; p < plane_count; p++) {
                    const unsigned ratio = 8 * own / bits[p];
                    const uint32_t word = wcodec_load_u32(rows[p] + 4 * (size_t)(number / ratio * WCODEC_LANES + lane));
                    v |= wcodec_rotl32(word, 32u - number % ratio * bits[p]) & a->plane_mask[p];
                }
                wcodec_store_u32(elements, a->add ? subtract(v, a->add, element_log2) : v);
                symbols += per_word;
                elements += 4;
            }
}

static void assemble_any(const struct wcodec_cpu_assembly *a, const uint8_t *symbols, const uint8_t *const rows[WCODEC_MAX_PLANES], uint8_t *elements)
{
    assemble(a, a->element_log2, a->plane_count, a->plane_bits, symbols, rows, elements);
}

static void assemble_bf16(const struct wcodec_cpu_assembly *a, const uint8_t *symbols, const uint8_t *const rows[WCODEC_MAX_PLANES], uint8_t *elements)
{
    static const uint8_t bits[] = {8};
    assemble(a, 1, 1, bits, symbols, rows, elements);
}

static void assemble_nibble(const struct wcodec_cpu_assembly *a, const uint8_t *symbols, const uint8_t *const rows[WCODEC_MAX_PLANES], uint8_t *elements)
{
    static const uint8_t bits[] = {4};
    assemble(a, 0, 1, bits, symbols, rows, elements);
}

static void assemble_byte(const struct wcodec_cpu_assembly *a, const uint8_t *symbols, const uint8_t *const rows[WCODEC_MAX_PLANES], uint8_t *elements)
{
    (void)rows;
    for (unsigned i = 0; i < WCODEC_CPU_CHUNK; i += 4) {
        const uint32_t v = a->constant | wcodec_load_u32(symbols + i) << a->shift;
        wcodec_store_u32(elements + i, subtract(v, a->add, 0));
    }
}

static void assemble_f32(const struct wcodec_cpu_assembly *a, const uint8_t *symbols, const uint8_t *const rows[WCODEC_MAX_PLANES], uint8_t *elements)
{
    static const uint8_t bits[] = {16, 8};
    assemble(a, 2, 2, bits, symbols, rows, elements);
}

static void assemble_f16(const struct wcodec_cpu_assembly *a, const uint8_t *symbols, const uint8_t *const rows[WCODEC_MAX_PLANES], uint8_t *elements)
{
    static const uint8_t bits[] = {8, 2, 1};
    assemble(a, 1, 3, bits, symbols, rows, elements);
}

static void finish(unsigned element_log2, const uint8_t *elements, unsigned groups, uint32_t first, uint8_t *out, uint64_t sums[WCODEC_LANES])
{
    const unsigned own = 1u << element_log2;
    const size_t row = (size_t)4 * own * WCODEC_LANES;
    if (out)
        memcpy(out, elements, groups * row);
    if (!sums)
        return;
    for (unsigned g = 0; g < groups; g++)
        for (unsigned i = 0; i < own; i++) {
            const uint64_t k = 0x4CF5AD43u + 81006u * ((first + g) * own + i);
            const uint8_t *p = elements + g * row + 4 * i;
            for (unsigned lane = 0; lane < WCODEC_LANES; lane++)
                sums[lane] += k * wcodec_load_u32(p + (size_t)4 * own * lane);
        }
}

void wcodec_cpu_dsp_init_scalar(struct wcodec_cpu_dsp *dsp)
{
    *dsp = (struct wcodec_cpu_dsp){
        .level = 0,
        .tiles = {1, 1, 1, 1},
        .symbols = {[WCODEC_PAIRS] = symbols_pairs, [WCODEC_P12] = symbols_p12, [WCODEC_P8] = symbols_p8},
        .assemble = {assemble_any, assemble_bf16, assemble_nibble, assemble_byte, assemble_f32, assemble_f16},
        .finish = finish,
        .finish_stream = finish,
    };
}
