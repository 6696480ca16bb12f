/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The encoder's AVX-512 level (with VBMI and VBMI2).
 *
 * Divisions. A quotient of less than 2^20 is estimated in single precision with everything rounded
 * towards zero: three roundings of less than 2^-23 each make it too small by less than 2^20 3 2^-23
 * < 1, so that it is right or one too small, which the remainder tells. A quotient of at most 255
 * of a 16-bit number n < 256 f is estimated as n m / 2^16 with m = min(2^16 / f, 65535), which
 * takes less than 1 from it. */
#include "backends/cpu/x86/vec512.h"

#include "backends/cpu/extract.h"

INLINE uint64_t equal_bits(vec a, vec b)
{
    return _mm512_cmpeq_epi8_mask(a, b);
}

INLINE uint64_t above_bits(vec a, vec b)
{
    return _mm512_cmpgt_epu8_mask(a, b);
}

#include "backends/cpu/x86/count.h"

#define ROUND_DOWN (_MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC)

static bool choose_values(const struct wcodec_cpu_encode_table *table, const uint8_t *values,
                          unsigned groups, uint8_t *symbols)
{
    if (!table->low6)
        return wcodec_cpu_choose_values_scalar(table, values, groups, symbols);
    const vec held = load(table->bytes6.held), other = set8(table->table->most_frequent);
    __mmask64 differ = 0;
    for (size_t i = 0; i < (size_t)groups * WCODEC_GROUP; i += 64) {
        const vec v = load(values + i);
        const __mmask64 absent = _mm512_cmpneq_epi8_mask(v, _mm512_permutexvar_epi8(v, held));
        store(symbols + i, _mm512_mask_mov_epi8(v, absent, other));
        differ |= absent;
    }
    return differ != 0;
}

/* Groups with pairs outside of the window or not held are left to the scalar function. */
static bool choose_pairs(const struct wcodec_cpu_encode_table *table, const uint8_t *values,
                         unsigned groups, uint8_t *symbols)
{
    const vec base = set8(table->table->table.base), weights = set16(0x1001);
    const vec held = load_half(table->held_pairs), bits = set64(0x8040201008040201ull);
    bool differ = false;
    for (unsigned g = 0; g < groups; g++, values += WCODEC_GROUP, symbols += WCODEC_GROUP / 2) {
        const vec a = sub8(load(values), base), b = sub8(load(values + 64), base);
        const vec pairs = in_order(pack16(dot8(a, weights), dot8(b, weights)));
        const vec bytes = _mm512_permutexvar_epi8(bit_and(SHR16(pairs, 3), set8(31)), held);
        const __mmask64 outside = _mm512_cmpgt_epu8_mask(bit_or(a, b), set8(15)),
                        absent =
                            _mm512_testn_epi8_mask(bytes, shuffle(bits, bit_and(pairs, set8(7))));
        if (outside | absent)
            differ |= wcodec_cpu_choose_pairs_scalar(table, values, 1, symbols);
        else
            store(symbols, pairs);
    }
    return differ;
}

/* P8: the low and the high halves of 32 states in a register each. */
struct p8_lanes {
    vec low, high;
    uint8_t *words;
};

/* What a table says of each symbol; and of two symbols of each lane, by bytes: of the first in the
 * low, of the second in the high half of 16 bits. */
struct p8_facts {
    vec freq, start, reciprocal_low, reciprocal_high;
};

INLINE struct p8_facts look_up(const struct p8_facts *t, vec symbols)
{
    return (struct p8_facts){_mm512_permutexvar_epi8(symbols, t->freq),
                             _mm512_permutexvar_epi8(symbols, t->start),
                             _mm512_permutexvar_epi8(symbols, t->reciprocal_low),
                             _mm512_permutexvar_epi8(symbols, t->reciprocal_high)};
}

/* n / f 2^8 + n mod f + start for n < 256 f. */
INLINE vec divide_bytes(vec n, vec f, vec reciprocal, vec start)
{
    const vec quotient = mul16_high(n, reciprocal), rest = sub16(n, mul16(quotient, f));
    const __mmask32 short_by_one = _mm512_cmpge_epu16_mask(rest, f);
    const vec v = add16(SHL16(quotient, 8), add16(rest, start));
    return _mm512_mask_add_epi16(v, short_by_one, v, sub16(set16(256), f));
}

/* The quotients of 16 states and f, where that is below 2^16; inverse: 1 / f, rounded down. */
INLINE vec divide_states(vec x, __m512 inverse)
{
    return _mm512_cvttps_epu32(
        _mm512_mul_round_ps(_mm512_cvt_roundepu32_ps(x, ROUND_DOWN), inverse, ROUND_DOWN));
}

INLINE __m512 invert(vec f)
{
    return _mm512_div_round_ps(_mm512_set1_ps(1), _mm512_cvtepi32_ps(f), ROUND_DOWN);
}

/* A renormalisation, then the second symbol and the first. With frequencies f1 f2 = f and x = f q +
 * r, the quotient of the second is f1 q + r / f2; so x' = q 2^16 + P / f1 2^8 + P mod f1 + start1
 * with P = r / f2 2^8 + r mod f2 + start2: all but q in 16 bits. */
INLINE void p8_step(const struct p8_facts *facts, struct p8_lanes *s)
{
    const vec byte = set16(255), none = zero();
    const vec f1 = bit_and(facts->freq, byte), f2 = SHR16(facts->freq, 8), f = mul16(f1, f2);
    const __m512 inverse_low = invert(zip_low16(f, none)),
                 inverse_high = invert(zip_high16(f, none));
    /* ternary logic: a & mask | b & ~mask */
    const vec reciprocal1 = _mm512_ternarylogic_epi32(facts->reciprocal_low, byte,
                                                      SHL16(facts->reciprocal_high, 8), 0xe2);
    const vec reciprocal2 = _mm512_ternarylogic_epi32(SHR16(facts->reciprocal_low, 8), byte,
                                                      facts->reciprocal_high, 0xe2);

    const __mmask32 emit = _mm512_cmpge_epu16_mask(s->high, f);
    const unsigned count = count_bits(emit);
    s->words -= 2 * (size_t)count;
    _mm512_mask_storeu_epi16(s->words, (__mmask32)_bzhi_u32(~0u, count),
                             _mm512_maskz_compress_epi16(emit, s->low));
    const vec low = _mm512_mask_mov_epi16(s->low, emit, s->high),
              high = _mm512_mask_sub_epi16(s->high, emit, s->high, s->high);

    vec q = pack32(divide_states(zip_low16(low, high), inverse_low),
                   divide_states(zip_high16(low, high), inverse_high));
    vec r = sub16(low, mul16(q, f));
    const __mmask32 short_by_one = _mm512_cmpge_epu16_mask(r, f);
    s->high = _mm512_mask_add_epi16(q, short_by_one, q, set16(1));
    r = _mm512_mask_sub_epi16(r, short_by_one, r, f);
    const vec p = divide_bytes(r, f2, reciprocal2, SHR16(facts->start, 8));
    s->low = divide_bytes(p, f1, reciprocal1, bit_and(facts->start, byte));
}

INLINE void load_states(const struct wcodec_cpu_encode_stream *stream, struct p8_lanes *s)
{
    const vec a = load(stream->x), b = load(stream->x + 16);
    s->low = _mm512_inserti64x4(_mm512_castsi256_si512(_mm512_cvtepi32_epi16(a)),
                                _mm512_cvtepi32_epi16(b), 1);
    s->high = _mm512_inserti64x4(_mm512_castsi256_si512(_mm512_cvtepi32_epi16(SHR32(a, 16))),
                                 _mm512_cvtepi32_epi16(SHR32(b, 16)), 1);
    s->words = stream->words;
}

INLINE void store_states(struct wcodec_cpu_encode_stream *stream, const struct p8_lanes *s)
{
    for (unsigned half = 0; half < 2; half++) {
        const __m256i low = half ? _mm512_extracti64x4_epi64(s->low, 1)
                                 : _mm512_castsi512_si256(s->low),
                      high = half ? _mm512_extracti64x4_epi64(s->high, 1)
                                  : _mm512_castsi512_si256(s->high);
        store(stream->x + 16 * half,
              bit_or(_mm512_cvtepu16_epi32(low), SHL32(_mm512_cvtepu16_epi32(high), 16)));
    }
    stream->words = s->words;
}

/* Of 32 lanes with four symbols each: all first two (from word 0), all last two (from word 1). */
INLINE vec every_other(vec a, vec b, uint16_t from)
{
    const vec even =
        _mm512_set_epi16(62, 60, 58, 56, 54, 52, 50, 48, 46, 44, 42, 40, 38, 36, 34, 32, 30, 28, 26,
                         24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
    return _mm512_permutex2var_epi16(a, add16(even, set16(from)), b);
}

INLINE struct p8_facts load_facts(const struct wcodec_cpu_encode_table *table)
{
    const struct wcodec_cpu_encode_bytes *b = &table->bytes6;
    return (struct p8_facts){load(b->freq), load(b->start), load(b->reciprocal_low),
                             load(b->reciprocal_high)};
}

static void rans_p8(const struct wcodec_cpu_encode_table *table, const uint8_t *symbols,
                    unsigned groups, struct wcodec_cpu_encode_stream *stream)
{
    if (!table->low6) {
        wcodec_cpu_rans_p8_scalar(table, symbols, groups, stream);
        return;
    }
    const struct p8_facts t = load_facts(table);
    struct p8_lanes lanes;
    load_states(stream, &lanes);
    for (unsigned g = groups; g-- > 0;) {
        const vec a = load(symbols + (size_t)g * WCODEC_GROUP),
                  b = load(symbols + (size_t)g * WCODEC_GROUP + 64);
        const struct p8_facts late = look_up(&t, every_other(a, b, 1)),
                              early = look_up(&t, every_other(a, b, 0));
        p8_step(&late, &lanes);
        p8_step(&early, &lanes);
    }
    store_states(stream, &lanes);
}

INLINE void p8_group(const struct p8_facts *t, const uint8_t *symbols, struct p8_facts *late,
                     struct p8_facts *early)
{
    const vec a = load(symbols), b = load(symbols + 64);
    *late = look_up(t, every_other(a, b, 1));
    *early = look_up(t, every_other(a, b, 0));
}

static void rans_p8_two(const struct wcodec_cpu_encode_table *const tables[2],
                        const uint8_t *const symbols[2], unsigned groups,
                        struct wcodec_cpu_encode_stream *const streams[2])
{
    if (!tables[0]->low6 || !tables[1]->low6) {
        rans_p8(tables[0], symbols[0], groups, streams[0]);
        rans_p8(tables[1], symbols[1], groups, streams[1]);
        return;
    }
    struct p8_facts t[2];
    struct p8_lanes lanes[2];
    for (unsigned i = 0; i < 2; i++) {
        t[i] = load_facts(tables[i]);
        load_states(streams[i], &lanes[i]);
    }
    for (size_t at = (size_t)groups * WCODEC_GROUP; at > 0;) {
        struct p8_facts late[2], early[2];
        at -= WCODEC_GROUP;
        p8_group(&t[0], symbols[0] + at, &late[0], &early[0]);
        p8_group(&t[1], symbols[1] + at, &late[1], &early[1]);
        p8_step(&late[0], &lanes[0]);
        p8_step(&late[1], &lanes[1]);
        p8_step(&early[0], &lanes[0]);
        p8_step(&early[1], &lanes[1]);
    }
    for (unsigned i = 0; i < 2; i++)
        store_states(streams[i], &lanes[i]);
}

/* One of 256 words for each of 32 lanes. What a gather does of 16 lanes takes as long on some
 * processors as all of this. */
INLINE vec look_up_words(const uint16_t words[256], vec index, __mmask32 bit6, __mmask32 bit7)
{
    const vec a = _mm512_permutex2var_epi16(load(words), index, load(words + 32)),
              b = _mm512_permutex2var_epi16(load(words + 64), index, load(words + 96)),
              c = _mm512_permutex2var_epi16(load(words + 128), index, load(words + 160)),
              d = _mm512_permutex2var_epi16(load(words + 192), index, load(words + 224));
    return _mm512_mask_mov_epi16(_mm512_mask_mov_epi16(a, bit6, b), bit7,
                                 _mm512_mask_mov_epi16(c, bit6, d));
}

/* 12-bit profiles: a renormalisation and a symbol. The quotient q of x and f has 20 bits; x' = q
 * 2^12 + r + start, of which the lower half holds four bits of q. */
INLINE void p12_step(const struct wcodec_cpu_encode_table *table, vec symbols, struct p8_lanes *s)
{
    const vec none = zero(), half = set32(0xffff);
    const __mmask32 bit6 = _mm512_test_epi16_mask(symbols, set16(64)),
                    bit7 = _mm512_test_epi16_mask(symbols, set16(128));
    const vec f = look_up_words(table->freq, symbols, bit6, bit7),
              start = look_up_words(table->start, symbols, bit6, bit7);

    const __mmask32 emit = _mm512_cmpge_epu16_mask(s->high, SHL16(f, 4));
    const unsigned count = count_bits(emit);
    s->words -= 2 * (size_t)count;
    _mm512_mask_storeu_epi16(s->words, (__mmask32)_bzhi_u32(~0u, count),
                             _mm512_maskz_compress_epi16(emit, s->low));
    const vec low = _mm512_mask_mov_epi16(s->low, emit, s->high),
              high = _mm512_mask_sub_epi16(s->high, emit, s->high, s->high);

    const vec qa = divide_states(zip_low16(low, high), invert(zip_low16(f, none))),
              qb = divide_states(zip_high16(low, high), invert(zip_high16(f, none)));
    const vec q = pack32(bit_and(qa, half), bit_and(qb, half)), r = sub16(low, mul16(q, f));
    const __mmask32 short_by_one = _mm512_cmpge_epu16_mask(r, f);
    const vec base = SHL16(q, 12), y = add16(base, add16(r, start)),
              more = _mm512_mask_add_epi16(y, short_by_one, y, sub16(set16(4096), f));
    const __mmask32 carry = _mm512_cmplt_epu16_mask(more, base);
    const vec upper = pack32(SHR32(qa, 4), SHR32(qb, 4));
    s->high = _mm512_mask_add_epi16(upper, carry, upper, set16(1));
    s->low = more;
}

/* Two symbols of each lane: the first in the low byte. */
INLINE void p12_steps(const struct wcodec_cpu_encode_table *table, vec symbols, struct p8_lanes *s)
{
    p12_step(table, SHR16(symbols, 8), s);
    p12_step(table, bit_and(symbols, set16(255)), s);
}

/* steps: symbols of a lane in a group, four or, of pairs, two. */
INLINE void rans_p12(const struct wcodec_cpu_encode_table *table, const uint8_t *symbols,
                     unsigned groups, unsigned steps, struct wcodec_cpu_encode_stream *stream)
{
    struct p8_lanes lanes;
    load_states(stream, &lanes);
    for (unsigned g = groups; g-- > 0;) {
        const uint8_t *at = symbols + (size_t)steps * WCODEC_LANES * g;
        if (steps == 2) {
            p12_steps(table, load(at), &lanes);
            continue;
        }
        const vec a = load(at), b = load(at + 64);
        p12_steps(table, every_other(a, b, 1), &lanes);
        p12_steps(table, every_other(a, b, 0), &lanes);
    }
    store_states(stream, &lanes);
}

static void rans_pairs_two(const struct wcodec_cpu_encode_table *const tables[2],
                           const uint8_t *const symbols[2], unsigned groups,
                           struct wcodec_cpu_encode_stream *const streams[2])
{
    struct p8_lanes lanes[2];
    for (unsigned i = 0; i < 2; i++)
        load_states(streams[i], &lanes[i]);
    for (size_t at = (size_t)groups * WCODEC_GROUP / 2; at > 0;) {
        at -= WCODEC_GROUP / 2;
        const vec a = load(symbols[0] + at), b = load(symbols[1] + at), byte = set16(255);
        p12_step(tables[0], SHR16(a, 8), &lanes[0]);
        p12_step(tables[1], SHR16(b, 8), &lanes[1]);
        p12_step(tables[0], bit_and(a, byte), &lanes[0]);
        p12_step(tables[1], bit_and(b, byte), &lanes[1]);
    }
    for (unsigned i = 0; i < 2; i++)
        store_states(streams[i], &lanes[i]);
}

INLINE vec add_each(vec v, vec add, unsigned element_log2)
{
    return element_log2 == 0 ? add8(v, add) : element_log2 == 1 ? add16(v, add) : add32(v, add);
}

/* Slot word i of 16 lanes, of their `own` each. */
INLINE void load_slots(const uint8_t *elements, unsigned own, vec slots[4])
{
    const vec even = _mm512_set_epi32(30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0),
              odd = add32(even, set32(1));
    if (own == 1) {
        slots[0] = load(elements);
        return;
    }
    const vec a = load(elements), b = load(elements + 64),
              ab0 = _mm512_permutex2var_epi32(a, even, b),
              ab1 = _mm512_permutex2var_epi32(a, odd, b);
    if (own == 2) {
        slots[0] = ab0;
        slots[1] = ab1;
        return;
    }
    const vec c = load(elements + 128), d = load(elements + 192),
              cd0 = _mm512_permutex2var_epi32(c, even, d),
              cd1 = _mm512_permutex2var_epi32(c, odd, d);
    slots[0] = _mm512_permutex2var_epi32(ab0, even, cd0);
    slots[1] = _mm512_permutex2var_epi32(ab1, even, cd1);
    slots[2] = _mm512_permutex2var_epi32(ab0, odd, cd0);
    slots[3] = _mm512_permutex2var_epi32(ab1, odd, cd1);
}

/* element_log2 and bits are constants where this is inlined. */
INLINE void pack_plane(const struct wcodec_cpu_assembly *a, unsigned element_log2, unsigned bits,
                       unsigned plane, const uint8_t *elements, unsigned first, unsigned groups,
                       uint8_t *rows)
{
    const unsigned own = 1u << element_log2, ratio = 8 * own / bits;
    const vec mask = set32(a->plane_mask[plane]), add = set32(a->add);
    for (unsigned g = 0; g < groups; g++)
        for (unsigned lane = 0; lane < WCODEC_LANES; lane += 16, elements += (size_t)64 * own) {
            vec slots[4], v = zero();
            load_slots(elements, own, slots);
#pragma GCC unroll 4
            for (unsigned i = 0; i < own; i++) {
                const unsigned number = (first + g) * own + i, turn = number % ratio * bits;
                uint8_t *row = rows + 4 * ((size_t)(number / ratio) * WCODEC_LANES + lane);
                const vec w = _mm512_rolv_epi32(
                    bit_and(add_each(slots[i], add, element_log2), mask), set32(turn));
                v = turn == 0 ? w : i == 0 ? bit_or(w, load(row)) : bit_or(w, v);
                if (i + 1 == own || turn + bits == 8 * own)
                    store(row, v);
            }
        }
}

INLINE void pack_elements(const struct wcodec_cpu_assembly *a, unsigned element_log2,
                          unsigned plane, const uint8_t *elements, unsigned first, unsigned groups,
                          uint8_t *rows)
{
    switch (a->plane_bits[plane]) {
    case 1:
        pack_plane(a, element_log2, 1, plane, elements, first, groups, rows);
        break;
    case 2:
        pack_plane(a, element_log2, 2, plane, elements, first, groups, rows);
        break;
    case 4:
        pack_plane(a, element_log2, 4, plane, elements, first, groups, rows);
        break;
    case 8:
        pack_plane(a, element_log2, 8, plane, elements, first, groups, rows);
        break;
    default: /* no plane has more bits than an element */
        pack_plane(a, element_log2, element_log2 > 0 ? 16 : 8, plane, elements, first, groups,
                   rows);
    }
}

static void pack(const struct wcodec_cpu_assembly *a, unsigned plane, const uint8_t *elements,
                 unsigned first, unsigned groups, uint8_t *rows)
{
    if (a->element_log2 == 0)
        pack_elements(a, 0, plane, elements, first, groups, rows);
    else if (a->element_log2 == 1)
        pack_elements(a, 1, plane, elements, first, groups, rows);
    else
        pack_elements(a, 2, plane, elements, first, groups, rows);
}

#include "backends/cpu/encode_level.h"

void wcodec_cpu_encode_dsp_init_avx512(struct wcodec_cpu_encode_dsp *dsp)
{
    dsp->level = 3;
    use_vectors(dsp);
    dsp->count = count_symbols;
    dsp->rans_two[WCODEC_P8] = rans_p8_two;
    dsp->rans_two[WCODEC_PAIRS] = rans_pairs_two;
    dsp->compresses = false; /* by an instruction */
}
