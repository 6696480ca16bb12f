/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The AVX-512 level (with VBMI and VBMI2): 32 lanes in one register. */
#include "backends/cpu/decode.h"
#include "coding/check_key.h"

#include <immintrin.h>

#define INLINE static inline __attribute__((always_inline))

#define EVEN_BYTES 0x5555555555555555ull

INLINE __m512i load(const void *p)
{
    return _mm512_loadu_si512(p);
}

INLINE void store(void *p, __m512i v)
{
    _mm512_storeu_si512(p, v);
}

/* A table of 256 bytes looked up by bytes. */
struct lookup {
    __m512i t[4];
};

INLINE struct lookup load_lookup(const uint8_t *bytes)
{
    return (struct lookup){{load(bytes), load(bytes + 64), load(bytes + 128), load(bytes + 192)}};
}

INLINE __m512i look_up(const struct lookup *l, __m512i index)
{
    return _mm512_mask_blend_epi8(_mm512_movepi8_mask(index), _mm512_permutex2var_epi8(l->t[0], index, l->t[1]), _mm512_permutex2var_epi8(l->t[2], index, l->t[3]));
}

/* The low and the high halves of 32 states, and what their table says. */
struct p8_lanes {
    __m512i low, high;
    const uint8_t *words;
};

/* How a table is looked up: by classes of blocks of 4 or 2 slots, where there are few; by symbols of which the low 6 bits differ; or all by slot. */
enum lookup_kind { CLASSES_OF_4, CLASSES_OF_2, LOW6, SLOTS };

struct p8_table {
    __m512i class_of[2], class_symbol;
    struct lookup symbol, freq, bias; /* by slot */
    __m512i freq_64, start_64;        /* by class and slot, or by a symbol's low 6 bits */
};

INLINE void load_p8(const struct wcodec_cpu_table *t, enum lookup_kind kind, struct p8_table *p)
{
    if (kind <= CLASSES_OF_2) {
        p->class_of[0] = load(t->class_of);
        p->class_of[1] = load(t->class_of + 64);
        p->class_symbol = load(t->class_symbol);
        p->freq_64 = load(t->class_freq);
        p->start_64 = load(t->class_start);
        return;
    }
    p->symbol = load_lookup(t->symbol);
    if (kind == LOW6) {
        p->freq_64 = load(t->freq_low6);
        p->start_64 = load(t->start_low6);
    } else {
        p->freq = load_lookup(t->freq);
        p->bias = load_lookup(t->bias);
    }
}

/* For the slots in the even bytes of v: symbol or what leads to it (odd bytes are rubbish), frequency and bias in 16 bits each. */
INLINE void p8_symbol(const struct p8_table *t, enum lookup_kind kind, __m512i v, __m512i *symbol, __m512i *freq, __m512i *bias)
{
    if (kind == CLASSES_OF_4) /* ternary logic: the class's bits, the slot's low ones */
        *symbol = _mm512_ternarylogic_epi32(_mm512_permutexvar_epi8(_mm512_srli_epi16(v, 2), t->class_of[0]), v, _mm512_set1_epi8(3), 0xd8);
    else if (kind == CLASSES_OF_2)
        *symbol = _mm512_ternarylogic_epi32(_mm512_permutex2var_epi8(t->class_of[0], _mm512_srli_epi16(v, 1), t->class_of[1]), v, _mm512_set1_epi8(1), 0xd8);
    else
        *symbol = look_up(&t->symbol, v);
    if (kind != SLOTS) {
        *freq = _mm512_maskz_permutexvar_epi8(EVEN_BYTES, *symbol, t->freq_64);
        *bias = _mm512_maskz_sub_epi8(EVEN_BYTES, v, _mm512_permutexvar_epi8(*symbol, t->start_64));
    } else {
        *freq = _mm512_maskz_mov_epi8(EVEN_BYTES, look_up(&t->freq, v));
        *bias = _mm512_maskz_mov_epi8(EVEN_BYTES, look_up(&t->bias, v));
    }
}

/* Two symbols and a renormalisation. With x = 2^16 high + low, P = f1 (low / 2^8) + bias1 has the second slot in its low byte, and x'' = f1 f2 high + f2 (P /
 * 2^8) + bias2: all in 16-bit products. */
INLINE void p8_step(const struct p8_table *t, enum lookup_kind kind, struct p8_lanes *s, __m512i *first, __m512i *second)
{
    __m512i f1, b1, f2, b2;
    p8_symbol(t, kind, s->low, first, &f1, &b1);
    const __m512i p = _mm512_add_epi16(_mm512_mullo_epi16(f1, _mm512_srli_epi16(s->low, 8)), b1);
    p8_symbol(t, kind, p, second, &f2, &b2);
    const __m512i b = _mm512_add_epi16(_mm512_mullo_epi16(f2, _mm512_srli_epi16(p, 8)), b2), f = _mm512_mullo_epi16(f1, f2);
    const __m512i low = _mm512_add_epi16(_mm512_mullo_epi16(f, s->high), b), carried = _mm512_mulhi_epu16(f, s->high);
    const __m512i high = _mm512_mask_sub_epi16(carried, _mm512_cmplt_epu16_mask(low, b), carried, _mm512_set1_epi16(-1));
    const __mmask32 refill = _mm512_testn_epi16_mask(high, high);
    s->high = _mm512_mask_mov_epi16(high, refill, low);
    s->low = _mm512_mask_expand_epi16(low, refill, load(s->words));
    s->words += 2 * (size_t)_mm_popcnt_u32(refill);
}

/* Four vectors with a symbol, or a class and slot, in each even byte -> 128 symbols in the order of elements. */
INLINE void put_group(const struct p8_table *t, enum lookup_kind kind, uint8_t *symbols, const __m512i s[4])
{
    const __m512i first = _mm512_set_epi16(47, 15, 46, 14, 45, 13, 44, 12, 43, 11, 42, 10, 41, 9, 40, 8, 39, 7, 38, 6, 37, 5, 36, 4, 35, 3, 34, 2, 33, 1, 32, 0);
    const __m512i second = _mm512_add_epi16(first, _mm512_set1_epi16(16));
    __m512i a = _mm512_mask_mov_epi8(_mm512_slli_epi16(s[1], 8), EVEN_BYTES, s[0]), b = _mm512_mask_mov_epi8(_mm512_slli_epi16(s[3], 8), EVEN_BYTES, s[2]);
    if (kind <= CLASSES_OF_2) {
        a = _mm512_permutexvar_epi8(a, t->class_symbol);
        b = _mm512_permutexvar_epi8(b, t->class_symbol);
    }
    store(symbols, _mm512_permutex2var_epi16(a, first, b));
    store(symbols + 64, _mm512_permutex2var_epi16(a, second, b));
}

INLINE void load_states(const struct wcodec_cpu_stream *stream, struct p8_lanes *s)
{
    const __m512i a = load(stream->x), b = load(stream->x + 16);
    s->low = _mm512_inserti64x4(_mm512_castsi256_si512(_mm512_cvtepi32_epi16(a)), _mm512_cvtepi32_epi16(b), 1);
    s->high = _mm512_inserti64x4(_mm512_castsi256_si512(_mm512_cvtepi32_epi16(_mm512_srli_epi32(a, 16))), _mm512_cvtepi32_epi16(_mm512_srli_epi32(b, 16)), 1);
    s->words = stream->words;
}

INLINE void store_states(struct wcodec_cpu_stream *stream, const struct p8_lanes *s)
{
    for (unsigned half = 0; half < 2; half++) {
        const __m256i low = half ? _mm512_extracti64x4_epi64(s->low, 1) : _mm512_castsi512_si256(s->low), high = half ? _mm512_extracti64x4_epi64(s->high, 1) : _mm512_castsi512_si256(s->high);
        store(stream->x + 16 * half, _mm512_or_si512(_mm512_cvtepu16_epi32(low), _mm512_slli_epi32(_mm512_cvtepu16_epi32(high), 16)));
    }
    stream->words = s->words;
}

/* count, kind and shared are constants where this is inlined; shared: all streams have one table, which stays in registers. */
INLINE void p8(struct wcodec_cpu_stream *streams, unsigned count, unsigned groups, enum lookup_kind kind, bool shared)
{
    struct p8_lanes lanes[WCODEC_CPU_TILES];
    struct p8_table table;
    for (unsigned i = 0; i < count; i++)
        load_states(&streams[i], &lanes[i]);
    if (shared)
        load_p8(streams[0].table, kind, &table);
    for (unsigned g = 0; g < groups; g++) {
        __m512i s[WCODEC_CPU_TILES][4];
        for (unsigned half = 0; half < 2; half++)
#pragma GCC unroll 6
            for (unsigned i = 0; i < count; i++) {
                if (!shared)
                    load_p8(streams[i].table, kind, &table);
                p8_step(&table, kind, &lanes[i], &s[i][2 * half], &s[i][2 * half + 1]);
            }
#pragma GCC unroll 6
        for (unsigned i = 0; i < count; i++) {
            if (!shared)
                load_p8(streams[i].table, kind, &table);
            put_group(&table, kind, streams[i].symbols + g * WCODEC_GROUP, s[i]);
        }
    }
    for (unsigned i = 0; i < count; i++) {
        store_states(&streams[i], &lanes[i]);
        streams[i].symbols += groups * WCODEC_GROUP;
    }
}

INLINE void p8_with(struct wcodec_cpu_stream *streams, unsigned count, unsigned groups, enum lookup_kind kind, bool shared)
{
    if (count == 4 && shared)
        p8(streams, 4, groups, kind, true);
    else if (count == 4)
        p8(streams, 4, groups, kind, false);
    else
        for (unsigned i = 0; i < count; i++)
            p8(streams + i, 1, groups, kind, true);
}

static enum lookup_kind kind_of(const struct wcodec_cpu_table *t)
{
    return t->class_log2 == 2 ? CLASSES_OF_4 : t->class_log2 == 1 ? CLASSES_OF_2 : t->low6 ? LOW6 : SLOTS;
}

static void symbols_p8(struct wcodec_cpu_stream *streams, unsigned count, unsigned groups)
{
    const enum lookup_kind kind = kind_of(streams[0].table);
    bool same = true, shared = true;
    for (unsigned i = 1; i < count; i++) {
        same = same && kind_of(streams[i].table) == kind;
        shared = shared && streams[i].table == streams[0].table;
    }
    if (!same)
        for (unsigned i = 0; i < count; i++)
            symbols_p8(streams + i, 1, groups);
    else if (kind == CLASSES_OF_4)
        p8_with(streams, count, groups, CLASSES_OF_4, shared);
    else if (kind == CLASSES_OF_2)
        p8_with(streams, count, groups, CLASSES_OF_2, shared);
    else if (kind == LOW6)
        p8_with(streams, count, groups, LOW6, shared);
    else
        for (unsigned i = 0; i < count; i++)
            p8(streams + i, 1, groups, SLOTS, true);
}

/* 12-bit profiles: states as two vectors of 16 lanes, entries by gathers. */
struct p12_lanes {
    __m512i x[2];
    const uint8_t *words;
};

INLINE void p12_step(const uint32_t *entries, struct p12_lanes *s, __m512i e[2])
{
    for (unsigned half = 0; half < 2; half++) {
        const __m512i x = s->x[half];
        e[half] = _mm512_i32gather_epi32(_mm512_and_si512(x, _mm512_set1_epi32(0xfff)), entries, 4);
        s->x[half] = _mm512_add_epi32(_mm512_mullo_epi32(_mm512_srli_epi32(e[half], 20), _mm512_srli_epi32(x, 12)), _mm512_and_si512(e[half], _mm512_set1_epi32(0xfff)));
    }
    for (unsigned half = 0; half < 2; half++) {
        const __mmask16 refill = _mm512_cmplt_epu32_mask(s->x[half], _mm512_set1_epi32(1 << 16));
        const __m512i words = _mm512_maskz_expand_epi32(refill, _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)(const void *)s->words)));
        s->x[half] = _mm512_mask_or_epi32(s->x[half], refill, _mm512_slli_epi32(s->x[half], 16), words);
        s->words += 2 * (size_t)_mm_popcnt_u32(refill);
    }
}

INLINE void p12(struct wcodec_cpu_stream *streams, unsigned count, unsigned groups, bool pairs)
{
    struct p12_lanes lanes[WCODEC_CPU_TILES];
    for (unsigned i = 0; i < count; i++)
        lanes[i] = (struct p12_lanes){{load(streams[i].x), load(streams[i].x + 16)}, streams[i].words};
    for (unsigned g = 0; g < groups; g++)
#pragma GCC unroll 6
        for (unsigned i = 0; i < count; i++) {
            const uint32_t *entries = streams[i].table->entries;
            uint8_t *symbols = streams[i].symbols + g * WCODEC_GROUP;
            __m512i a[2], b[2], c[2], d[2];
            p12_step(entries, &lanes[i], a);
            p12_step(entries, &lanes[i], b);
            if (!pairs) {
                p12_step(entries, &lanes[i], c);
                p12_step(entries, &lanes[i], d);
            }
            for (unsigned half = 0; half < 2; half++) {
                __m512i v;
                if (pairs) {
                    const __m512i low = _mm512_and_si512(_mm512_srli_epi32(a[half], 12), _mm512_set1_epi32(0xff));
                    const __m512i both = _mm512_or_si512(low, _mm512_and_si512(_mm512_slli_epi32(b[half], 4), _mm512_set1_epi32(0xff0000)));
                    v = _mm512_and_si512(_mm512_or_si512(both, _mm512_slli_epi32(both, 4)), _mm512_set1_epi32(0x0f0f0f0f));
                    v = _mm512_add_epi8(v, _mm512_set1_epi8((char)streams[i].table->base));
                } else {
                    v = _mm512_and_si512(_mm512_srli_epi32(a[half], 12), _mm512_set1_epi32(0xff));
                    v = _mm512_or_si512(v, _mm512_and_si512(_mm512_srli_epi32(b[half], 4), _mm512_set1_epi32(0xff00)));
                    v = _mm512_or_si512(v, _mm512_and_si512(_mm512_slli_epi32(c[half], 4), _mm512_set1_epi32(0xff0000)));
                    v = _mm512_or_si512(v, _mm512_and_si512(_mm512_slli_epi32(d[half], 12), _mm512_set1_epi32((int)0xff000000)));
                }
                store(symbols + 64 * half, v);
            }
        }
    for (unsigned i = 0; i < count; i++) {
        store(streams[i].x, lanes[i].x[0]);
        store(streams[i].x + 16, lanes[i].x[1]);
        streams[i].words = lanes[i].words;
        streams[i].symbols += groups * WCODEC_GROUP;
    }
}

static void symbols_p12(struct wcodec_cpu_stream *streams, unsigned count, unsigned groups)
{
    if (count == 3)
        p12(streams, 3, groups, false);
    else
        for (unsigned i = 0; i < count; i++)
            p12(streams + i, 1, groups, false);
}

static void symbols_pairs(struct wcodec_cpu_stream *streams, unsigned count, unsigned groups)
{
    if (count == 3)
        p12(streams, 3, groups, true);
    else
        for (unsigned i = 0; i < count; i++)
            p12(streams + i, 1, groups, true);
}

/* Elements minus A. */
INLINE __m512i subtract(__m512i v, __m512i add, unsigned element_log2)
{
    return element_log2 == 0 ? _mm512_sub_epi8(v, add) : element_log2 == 1 ? _mm512_sub_epi16(v, add) : _mm512_sub_epi32(v, add);
}

INLINE __m512i masked_or(__m512i v, __m512i mask, __m512i rest)
{
    return _mm512_ternarylogic_epi32(v, mask, rest, 0xea); /* v & mask | rest */
}

/* What is the same for all slot words of an assembly; `plain`, a constant where it is used: neither constant bits nor A. */
struct common {
    __m512i mask, constant, add;
    __m128i shift;
};

INLINE struct common load_common(const struct wcodec_cpu_assembly *a)
{
    return (struct common){_mm512_set1_epi32((int)a->plane_mask[0]), _mm512_set1_epi32((int)a->constant), _mm512_set1_epi32((int)a->add), _mm_cvtsi32_si128(a->shift)};
}

INLINE void put(const struct common *c, bool plain, unsigned element_log2, __m512i v, uint8_t *elements)
{
    store(elements, plain ? v : subtract(_mm512_or_si512(v, c->constant), c->add, element_log2));
}

/* One word of 8-bit planes a lane and group: each is doubled, its copy rotated by 8, both by one byte permutation. */
INLINE void bf16(const struct wcodec_cpu_assembly *a, bool plain, const uint8_t *symbols, const uint8_t *row, uint8_t *elements)
{
    const __m512i double_word = _mm512_set_epi8(28, 31, 30, 29, 31, 30, 29, 28, 24, 27, 26, 25, 27, 26, 25, 24, 20, 23, 22, 21, 23, 22, 21, 20, 16, 19, 18, 17, 19, 18, 17, 16, 12, 15, 14, 13, 15,
                                                14, 13, 12, 8, 11, 10, 9, 11, 10, 9, 8, 4, 7, 6, 5, 7, 6, 5, 4, 0, 3, 2, 1, 3, 2, 1, 0);
    const struct common c = load_common(a);
    for (unsigned i = 0; i < WCODEC_CPU_CHUNK; i += 32) {
        const __m512i s = _mm512_sll_epi16(_mm512_cvtepu8_epi16(_mm256_loadu_si256((const __m256i *)(const void *)(symbols + i))), c.shift);
        const __m512i raw = _mm512_permutexvar_epi8(double_word, _mm512_castsi256_si512(_mm256_loadu_si256((const __m256i *)(const void *)(row + i))));
        put(&c, plain, 1, masked_or(raw, c.mask, s), elements + 2 * (size_t)i);
    }
}

static void assemble_bf16(const struct wcodec_cpu_assembly *a, const uint8_t *symbols, const uint8_t *const rows[WCODEC_MAX_PLANES], uint8_t *elements)
{
    if (a->constant == 0 && a->add == 0)
        bf16(a, true, symbols, rows[0], elements);
    else
        bf16(a, false, symbols, rows[0], elements);
}

/* One word of 4-bit planes a lane and two groups. Symbols fit above their shift: no bit reaches the next byte. */
INLINE void nibble(const struct wcodec_cpu_assembly *a, bool plain, const uint8_t *symbols, const uint8_t *row, uint8_t *elements)
{
    const struct common c = load_common(a);
    for (unsigned g = 0; g < WCODEC_CPU_CHUNK_GROUPS; g += 2, row += WCODEC_GROUP)
        for (unsigned half = 0; half < WCODEC_GROUP; half += 64) {
            const size_t at = g * WCODEC_GROUP + half;
            const __m512i word = load(row + half);
            put(&c, plain, 0, masked_or(word, c.mask, _mm512_sll_epi32(load(symbols + at), c.shift)), elements + at);
            put(&c, plain, 0, masked_or(_mm512_ror_epi32(word, 4), c.mask, _mm512_sll_epi32(load(symbols + at + WCODEC_GROUP), c.shift)), elements + at + WCODEC_GROUP);
        }
}

static void assemble_nibble(const struct wcodec_cpu_assembly *a, const uint8_t *symbols, const uint8_t *const rows[WCODEC_MAX_PLANES], uint8_t *elements)
{
    if (a->constant == 0 && a->add == 0)
        nibble(a, true, symbols, rows[0], elements);
    else
        nibble(a, false, symbols, rows[0], elements);
}

static void assemble_byte(const struct wcodec_cpu_assembly *a, const uint8_t *symbols, const uint8_t *const rows[WCODEC_MAX_PLANES], uint8_t *elements)
{
    const struct common c = load_common(a);
    (void)rows;
    for (unsigned i = 0; i < WCODEC_CPU_CHUNK; i += 64)
        put(&c, false, 0, _mm512_sll_epi32(load(symbols + i), c.shift), elements + i);
}

/* Planes of 16 (two words a lane and group) and 8 bits (one): 16 elements are four lanes' words. */
static void assemble_f32(const struct wcodec_cpu_assembly *a, const uint8_t *symbols, const uint8_t *const rows[WCODEC_MAX_PLANES], uint8_t *elements)
{
    const __m512i constant = _mm512_set1_epi32((int)a->constant), add = _mm512_set1_epi32((int)a->add);
    const __m512i mask16 = _mm512_set1_epi32((int)a->plane_mask[0]), mask8 = _mm512_set1_epi32((int)a->plane_mask[1]);
    /* Of the 16-bit plane's two rows, four words each (second row's in the upper half of a register): elements 0, 1 of a lane from the first, 2, 3 from the
     * second, rotated by 0, 16. */
    const __m512i spread16 = _mm512_set_epi32(7, 7, 3, 3, 6, 6, 2, 2, 5, 5, 1, 1, 4, 4, 0, 0), turn16 = _mm512_set_epi32(16, 0, 16, 0, 16, 0, 16, 0, 16, 0, 16, 0, 16, 0, 16, 0);
    const __m512i spread8 = _mm512_set_epi32(3, 3, 3, 3, 2, 2, 2, 2, 1, 1, 1, 1, 0, 0, 0, 0), turn8 = _mm512_set_epi32(24, 16, 8, 0, 24, 16, 8, 0, 24, 16, 8, 0, 24, 16, 8, 0);
    const __m128i shift = _mm_cvtsi32_si128(a->shift);
    for (unsigned g = 0; g < WCODEC_CPU_CHUNK_GROUPS; g++)
        for (unsigned lane = 0; lane < WCODEC_LANES; lane += 4) {
            const uint8_t *row16 = rows[0] + 256 * (size_t)g + 4 * lane, *row8 = rows[1] + 128 * (size_t)g + 4 * lane;
            const __m256i both = _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)row16)),
                                                         _mm_loadu_si128((const __m128i *)(const void *)(row16 + 128)), 1);
            const __m512i raw16 = _mm512_rorv_epi32(_mm512_permutexvar_epi32(spread16, _mm512_castsi256_si512(both)), turn16);
            const __m512i raw8 = _mm512_rorv_epi32(_mm512_permutexvar_epi32(spread8, _mm512_castsi128_si512(_mm_loadu_si128((const __m128i *)(const void *)row8))), turn8);
            const size_t at = g * WCODEC_GROUP + 4 * (size_t)lane;
            const __m512i s = _mm512_sll_epi32(_mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)(const void *)(symbols + at))), shift);
            store(elements + 4 * at, subtract(_mm512_or_si512(masked_or(raw16, mask16, masked_or(raw8, mask8, s)), constant), add, 2));
        }
}

/* Any planes. Slot word `number` of a lane (own * group + i) is in row number / ratio, rotated by number % ratio * bits; a register of 16 slot words holds 16 /
 * own lanes. */
INLINE __m512i any_plane(const uint8_t *rows, unsigned bits, unsigned element_log2, unsigned group, unsigned lane)
{
    const unsigned own = 1u << element_log2, ratio = 8 * own / bits, number = own * group;
    const __m512i twice = _mm512_set_epi32(7, 7, 6, 6, 5, 5, 4, 4, 3, 3, 2, 2, 1, 1, 0, 0), fourfold = _mm512_set_epi32(3, 3, 3, 3, 2, 2, 2, 2, 1, 1, 1, 1, 0, 0, 0, 0);
    const uint8_t *row = rows + 128 * (size_t)(number / ratio) + 4 * lane;
    const __m512i turn = _mm512_set1_epi32((int)(number % ratio * bits)), places = _mm512_set_epi32(3, 2, 1, 0, 3, 2, 1, 0, 3, 2, 1, 0, 3, 2, 1, 0);
    switch (own) {
    case 1:
        return _mm512_rorv_epi32(load(row), turn);
    case 2: /* bits is at most 8: both slot words of a group share a row */
        return _mm512_rorv_epi32(_mm512_permutexvar_epi32(twice, _mm512_castsi256_si512(_mm256_loadu_si256((const __m256i *)(const void *)row))),
                                 _mm512_add_epi32(turn, _mm512_mullo_epi32(_mm512_and_si512(places, _mm512_set1_epi32(1)), _mm512_set1_epi32((int)bits))));
    default:
        if (bits == 16) { /* two rows a group */
            const __m256i both = _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)row)), _mm_loadu_si128((const __m128i *)(const void *)(row + 128)), 1);
            return _mm512_rorv_epi32(_mm512_permutexvar_epi32(_mm512_set_epi32(7, 7, 3, 3, 6, 6, 2, 2, 5, 5, 1, 1, 4, 4, 0, 0), _mm512_castsi256_si512(both)),
                                     _mm512_slli_epi32(_mm512_and_si512(places, _mm512_set1_epi32(1)), 4));
        }
        return _mm512_rorv_epi32(_mm512_permutexvar_epi32(fourfold, _mm512_castsi128_si512(_mm_loadu_si128((const __m128i *)(const void *)row))),
                                 _mm512_add_epi32(turn, _mm512_mullo_epi32(places, _mm512_set1_epi32((int)bits))));
    }
}

INLINE void assemble_planes(const struct wcodec_cpu_assembly *a, unsigned element_log2, unsigned plane_count, const uint8_t *bits, const uint8_t *symbols,
                            const uint8_t *const rows[WCODEC_MAX_PLANES], uint8_t *elements)
{
    const __m512i constant = _mm512_set1_epi32((int)a->constant), add = _mm512_set1_epi32((int)a->add);
    const __m128i shift = _mm_cvtsi32_si128(a->shift);
    const unsigned lanes = 16u >> element_log2;
    for (unsigned g = 0; g < WCODEC_CPU_CHUNK_GROUPS; g++)
        for (unsigned lane = 0; lane < WCODEC_LANES; lane += lanes) {
            const size_t at = g * WCODEC_GROUP + 4 * (size_t)lane;
            __m512i v;
            if (element_log2 == 0)
                v = _mm512_sll_epi32(load(symbols + at), shift); /* symbols fit above their shift: no bit reaches the next byte */
            else if (element_log2 == 1)
                v = _mm512_sll_epi16(_mm512_cvtepu8_epi16(_mm256_loadu_si256((const __m256i *)(const void *)(symbols + at))), shift);
            else
                v = _mm512_sll_epi32(_mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)(const void *)(symbols + at))), shift);
            for (unsigned p = 0; p < plane_count; p++)
                v = masked_or(any_plane(rows[p], bits[p], element_log2, g, lane), _mm512_set1_epi32((int)a->plane_mask[p]), v);
            store(elements + (at << element_log2), subtract(_mm512_or_si512(v, constant), add, element_log2));
        }
}

static void assemble_f16(const struct wcodec_cpu_assembly *a, const uint8_t *symbols, const uint8_t *const rows[WCODEC_MAX_PLANES], uint8_t *elements)
{
    static const uint8_t bits[] = {8, 2, 1};
    assemble_planes(a, 1, 3, bits, symbols, rows, elements);
}

static void assemble_any(const struct wcodec_cpu_assembly *a, const uint8_t *symbols, const uint8_t *const rows[WCODEC_MAX_PLANES], uint8_t *elements)
{
    static const uint8_t three_bits[] = {2, 1};
    if (a->element_log2 == 0 && a->plane_count == 2 && a->plane_bits[0] == 2)
        assemble_planes(a, 0, 2, three_bits, symbols, rows, elements); /* int8 split 5 + 3, e5m2 */
    else if (a->element_log2 == 0)
        assemble_planes(a, 0, a->plane_count, a->plane_bits, symbols, rows, elements);
    else if (a->element_log2 == 1)
        assemble_planes(a, 1, a->plane_count, a->plane_bits, symbols, rows, elements);
    else
        assemble_planes(a, 2, a->plane_count, a->plane_bits, symbols, rows, elements);
}

/* Keys and sums of a register's even words and of its odd ones. */
struct keys {
    __m512i even, odd;
};

struct column {
    __m512i even, odd;
};

INLINE struct keys make_keys(unsigned element_log2, uint32_t number)
{
    const __m512i words = _mm512_and_si512(_mm512_set_epi64(14, 12, 10, 8, 6, 4, 2, 0), _mm512_set1_epi64((1 << element_log2) - 1)), step = _mm512_set1_epi64(WCODEC_CHECK_STEP);
    const __m512i even = _mm512_add_epi64(_mm512_mul_epu32(words, step), _mm512_set1_epi64(WCODEC_CHECK_KEY(number)));
    return (struct keys){even, element_log2 == 0 ? even : _mm512_add_epi64(even, step)};
}

INLINE struct column empty_column(void)
{
    return (struct column){_mm512_setzero_si512(), _mm512_setzero_si512()};
}

INLINE void add_words(struct column *c, const uint8_t *at, const struct keys *keys)
{
    const __m512i v = load(at);
    c->even = _mm512_add_epi64(c->even, _mm512_mul_epu32(v, keys->even));
    c->odd = _mm512_add_epi64(c->odd, _mm512_mul_epu32(_mm512_srli_epi64(v, 32), keys->odd));
}

INLINE void put_column(unsigned element_log2, unsigned r, struct column c, uint64_t sums[WCODEC_LANES])
{
    uint64_t *to = sums + ((16 * r) >> element_log2);
    if (element_log2 == 0) {
        const __m512i low = _mm512_permutex2var_epi64(c.even, _mm512_set_epi64(11, 3, 10, 2, 9, 1, 8, 0), c.odd), high = _mm512_permutex2var_epi64(c.even, _mm512_set_epi64(15, 7, 14, 6, 13, 5, 12, 4), c.odd);
        store(to, _mm512_add_epi64(load(to), low));
        store(to + 8, _mm512_add_epi64(load(to + 8), high));
        return;
    }
    __m512i v = _mm512_add_epi64(c.even, c.odd);
    if (element_log2 == 1) {
        store(to, _mm512_add_epi64(load(to), v));
        return;
    }
    v = _mm512_add_epi64(v, _mm512_permutex_epi64(v, 0xb1));
    if (element_log2 == 2) {
        const __m256i lanes = _mm512_castsi512_si256(_mm512_permutexvar_epi64(_mm512_set_epi64(6, 4, 2, 0, 6, 4, 2, 0), v));
        _mm256_storeu_si256((__m256i *)(void *)to, _mm256_add_epi64(_mm256_loadu_si256((const __m256i *)(const void *)to), lanes));
        return;
    }
    v = _mm512_add_epi64(v, _mm512_permutex_epi64(v, 0x4e));
    to[0] += (uint64_t)_mm_cvtsi128_si64(_mm512_castsi512_si128(v));
    to[1] += (uint64_t)_mm_cvtsi128_si64(_mm512_extracti32x4_epi32(v, 2));
}

#define FINISH_BYTES 64
#define FINISH_STREAM(to, from) _mm512_stream_si512((__m512i *)(void *)(to), load(from))
#include "backends/cpu/finish.h"

static void stream_end(void)
{
    _mm_sfence();
}

void wcodec_cpu_dsp_init_avx512(struct wcodec_cpu_dsp *dsp)
{
    dsp->level = 3;
    dsp->tiles[WCODEC_P8] = 4;
    dsp->tiles[WCODEC_P12] = dsp->tiles[WCODEC_PAIRS] = 3;
    dsp->symbols[WCODEC_P8] = symbols_p8;
    dsp->symbols[WCODEC_P12] = symbols_p12;
    dsp->symbols[WCODEC_PAIRS] = symbols_pairs;
    dsp->assemble[WCODEC_CPU_ANY] = assemble_any;
    dsp->assemble[WCODEC_CPU_BF16] = assemble_bf16;
    dsp->assemble[WCODEC_CPU_NIBBLE] = assemble_nibble;
    dsp->assemble[WCODEC_CPU_BYTE] = assemble_byte;
    dsp->assemble[WCODEC_CPU_F32] = assemble_f32;
    dsp->assemble[WCODEC_CPU_F16] = assemble_f16;
    dsp->finish = finish_plain;
    dsp->finish_stream = finish_stream;
    dsp->stream_end = stream_end;
}
