/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The encoder's AVX-512 level (with VBMI and VBMI2).
 *
 * Divisions. A quotient of less than 2^20 is estimated in single precision with everything rounded
 * towards zero: three roundings of less than 2^-23 each make it too small by less than 2^20 3 2^-23
 * < 1, so that it is right or one too small, which the remainder tells. A quotient of at most 255
 * of a 16-bit number n < 256 f is estimated as n m / 2^16 with m = min(2^16 / f, 65535), which
 * takes less than 1 from it. */
#include "backends/cpu/encode.h"

#include "coding/histogram.h"

#include <immintrin.h>

#define INLINE static inline __attribute__((always_inline))

#define ROUND_DOWN (_MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC)

INLINE __m512i load(const void *p)
{
    return _mm512_loadu_si512(p);
}

INLINE void store(void *p, __m512i v)
{
    _mm512_storeu_si512(p, v);
}

INLINE __m512i load_half(const void *p)
{
    return _mm512_castsi256_si512(_mm256_loadu_si256((const __m256i *)p));
}

/* Elements of 16 bits to bytes, 64 at once. */
static size_t extract_u16(const uint8_t *data, size_t elements, uint64_t add, unsigned shift,
                          unsigned width, uint8_t *values)
{
    const __m512i sum = _mm512_set1_epi16((short)add),
                  mask = _mm512_set1_epi16((short)((1u << width) - 1)),
                  order = _mm512_set_epi64(7, 5, 3, 1, 6, 4, 2, 0);
    const __m128i count = _mm_cvtsi32_si128((int)shift);
    size_t i = 0;
    for (; i + 64 <= elements; i += 64) {
        const __m512i a = _mm512_and_si512(
            _mm512_srl_epi16(_mm512_add_epi16(load(data + 2 * i), sum), count), mask);
        const __m512i b = _mm512_and_si512(
            _mm512_srl_epi16(_mm512_add_epi16(load(data + 2 * i + 64), sum), count), mask);
        store(values + i, _mm512_permutexvar_epi64(order, _mm512_packus_epi16(a, b)));
    }
    return i;
}

static size_t extract_u8(const uint8_t *data, size_t elements, uint64_t add, unsigned shift,
                         unsigned width, uint8_t *values)
{
    const __m512i sum = _mm512_set1_epi8((char)add),
                  mask = _mm512_set1_epi8((char)((1u << width) - 1));
    const __m128i count = _mm_cvtsi32_si128((int)shift);
    size_t i = 0;
    for (; i + 64 <= elements; i += 64)
        store(values + i, _mm512_and_si512(
                              _mm512_srl_epi16(_mm512_add_epi8(load(data + i), sum), count), mask));
    return i;
}

static size_t extract_u32(const uint8_t *data, size_t elements, uint64_t add, unsigned shift,
                          unsigned width, uint8_t *values)
{
    const __m512i sum = _mm512_set1_epi32((int)add), mask = _mm512_set1_epi32((1 << width) - 1);
    const __m128i count = _mm_cvtsi32_si128((int)shift);
    size_t i = 0;
    for (; i + 16 <= elements; i += 16) {
        const __m512i v = _mm512_and_si512(
            _mm512_srl_epi32(_mm512_add_epi32(load(data + 4 * i), sum), count), mask);
        _mm_storeu_si128((__m128i *)(void *)(values + i), _mm512_cvtepi32_epi8(v));
    }
    return i;
}

static void extract(const uint8_t *data, size_t elements, unsigned element_log2, uint64_t add,
                    unsigned shift, unsigned width, uint8_t *values)
{
    const size_t done = element_log2 == 0   ? extract_u8(data, elements, add, shift, width, values)
                        : element_log2 == 1 ? extract_u16(data, elements, add, shift, width, values)
                        : element_log2 == 2 ? extract_u32(data, elements, add, shift, width, values)
                                            : 0;
    wcodec_extract_field(data + (done << element_log2), elements - done, element_log2, add, shift,
                         width, values + done);
}

static bool choose_values(const struct wcodec_cpu_encode_table *table, const uint8_t *values,
                          unsigned groups, uint8_t *symbols)
{
    if (!table->low6)
        return wcodec_cpu_choose_values_scalar(table, values, groups, symbols);
    const __m512i held = load(table->bytes6.held),
                  other = _mm512_set1_epi8((char)table->table->most_frequent);
    __mmask64 differ = 0;
    for (size_t i = 0; i < (size_t)groups * WCODEC_GROUP; i += 64) {
        const __m512i v = load(values + i);
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
    const __m512i base = _mm512_set1_epi8((char)table->table->table.base),
                  weights = _mm512_set1_epi16(0x1001),
                  order = _mm512_set_epi64(7, 5, 3, 1, 6, 4, 2, 0);
    const __m512i held = load_half(table->held_pairs),
                  bits = _mm512_set1_epi64((long long)0x8040201008040201ull);
    bool differ = false;
    for (unsigned g = 0; g < groups; g++, values += WCODEC_GROUP, symbols += WCODEC_GROUP / 2) {
        const __m512i a = _mm512_sub_epi8(load(values), base),
                      b = _mm512_sub_epi8(load(values + 64), base);
        const __m512i pairs =
            _mm512_permutexvar_epi64(order, _mm512_packus_epi16(_mm512_maddubs_epi16(a, weights),
                                                                _mm512_maddubs_epi16(b, weights)));
        const __m512i bytes = _mm512_permutexvar_epi8(
            _mm512_and_si512(_mm512_srli_epi16(pairs, 3), _mm512_set1_epi8(31)), held);
        const __mmask64 outside =
                            _mm512_cmpgt_epu8_mask(_mm512_or_si512(a, b), _mm512_set1_epi8(15)),
                        absent = _mm512_testn_epi8_mask(
                            bytes, _mm512_shuffle_epi8(
                                       bits, _mm512_and_si512(pairs, _mm512_set1_epi8(7))));
        if (outside | absent)
            differ |= wcodec_cpu_choose_pairs_scalar(table, values, 1, symbols);
        else
            store(symbols, pairs);
    }
    return differ;
}

/* P8: the low and the high halves of 32 states in a register each. */
struct p8_lanes {
    __m512i low, high;
    uint8_t *words;
};

/* What a table says of two symbols of each lane, by bytes: of the first in the low, of the second
 * in the high half of 16 bits. */
struct p8_facts {
    __m512i freq, start, reciprocal_low, reciprocal_high;
};

struct p8_table {
    __m512i freq, start, reciprocal_low, reciprocal_high;
};

INLINE struct p8_facts look_up(const struct p8_table *t, __m512i symbols)
{
    return (struct p8_facts){_mm512_permutexvar_epi8(symbols, t->freq),
                             _mm512_permutexvar_epi8(symbols, t->start),
                             _mm512_permutexvar_epi8(symbols, t->reciprocal_low),
                             _mm512_permutexvar_epi8(symbols, t->reciprocal_high)};
}

/* n / f 2^8 + n mod f + start for n < 256 f. */
INLINE __m512i divide_bytes(__m512i n, __m512i f, __m512i reciprocal, __m512i start)
{
    const __m512i quotient = _mm512_mulhi_epu16(n, reciprocal),
                  rest = _mm512_sub_epi16(n, _mm512_mullo_epi16(quotient, f));
    const __mmask32 short_by_one = _mm512_cmpge_epu16_mask(rest, f);
    const __m512i v =
        _mm512_add_epi16(_mm512_slli_epi16(quotient, 8), _mm512_add_epi16(rest, start));
    return _mm512_mask_add_epi16(v, short_by_one, v, _mm512_sub_epi16(_mm512_set1_epi16(256), f));
}

/* The quotients of 16 states and f, where that is below 2^16; inverse: 1 / f, rounded down. */
INLINE __m512i divide_states(__m512i x, __m512 inverse)
{
    return _mm512_cvttps_epu32(
        _mm512_mul_round_ps(_mm512_cvt_roundepu32_ps(x, ROUND_DOWN), inverse, ROUND_DOWN));
}

INLINE __m512 invert(__m512i f)
{
    return _mm512_div_round_ps(_mm512_set1_ps(1), _mm512_cvtepi32_ps(f), ROUND_DOWN);
}

/* A renormalisation, then the second symbol and the first. With frequencies f1 f2 = f and x = f q +
 * r, the quotient of the second is f1 q + r / f2; so x' = q 2^16 + P / f1 2^8 + P mod f1 + start1
 * with P = r / f2 2^8 + r mod f2 + start2: but for q all in 16 bits. */
INLINE void p8_step(const struct p8_facts *facts, struct p8_lanes *s)
{
    const __m512i byte = _mm512_set1_epi16(255), zero = _mm512_setzero_si512();
    const __m512i f1 = _mm512_and_si512(facts->freq, byte), f2 = _mm512_srli_epi16(facts->freq, 8),
                  f = _mm512_mullo_epi16(f1, f2);
    const __m512 inverse_low = invert(_mm512_unpacklo_epi16(f, zero)),
                 inverse_high = invert(_mm512_unpackhi_epi16(f, zero));
    /* ternary logic: a & mask | b & ~mask */
    const __m512i reciprocal1 = _mm512_ternarylogic_epi32(
        facts->reciprocal_low, byte, _mm512_slli_epi16(facts->reciprocal_high, 8), 0xe2);
    const __m512i reciprocal2 = _mm512_ternarylogic_epi32(
        _mm512_srli_epi16(facts->reciprocal_low, 8), byte, facts->reciprocal_high, 0xe2);

    const __mmask32 emit = _mm512_cmpge_epu16_mask(s->high, f);
    const unsigned count = (unsigned)_mm_popcnt_u32(emit);
    s->words -= 2 * (size_t)count;
    _mm512_mask_storeu_epi16(s->words, (__mmask32)_bzhi_u32(~0u, count),
                             _mm512_maskz_compress_epi16(emit, s->low));
    const __m512i low = _mm512_mask_mov_epi16(s->low, emit, s->high),
                  high = _mm512_mask_sub_epi16(s->high, emit, s->high, s->high);

    __m512i q = _mm512_packus_epi32(divide_states(_mm512_unpacklo_epi16(low, high), inverse_low),
                                    divide_states(_mm512_unpackhi_epi16(low, high), inverse_high));
    __m512i r = _mm512_sub_epi16(low, _mm512_mullo_epi16(q, f));
    const __mmask32 short_by_one = _mm512_cmpge_epu16_mask(r, f);
    s->high = _mm512_mask_add_epi16(q, short_by_one, q, _mm512_set1_epi16(1));
    r = _mm512_mask_sub_epi16(r, short_by_one, r, f);
    const __m512i p = divide_bytes(r, f2, reciprocal2, _mm512_srli_epi16(facts->start, 8));
    s->low = divide_bytes(p, f1, reciprocal1, _mm512_and_si512(facts->start, byte));
}

INLINE void load_states(const struct wcodec_cpu_encode_stream *stream, struct p8_lanes *s)
{
    const __m512i a = load(stream->x), b = load(stream->x + 16);
    s->low = _mm512_inserti64x4(_mm512_castsi256_si512(_mm512_cvtepi32_epi16(a)),
                                _mm512_cvtepi32_epi16(b), 1);
    s->high =
        _mm512_inserti64x4(_mm512_castsi256_si512(_mm512_cvtepi32_epi16(_mm512_srli_epi32(a, 16))),
                           _mm512_cvtepi32_epi16(_mm512_srli_epi32(b, 16)), 1);
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
              _mm512_or_si512(_mm512_cvtepu16_epi32(low),
                              _mm512_slli_epi32(_mm512_cvtepu16_epi32(high), 16)));
    }
    stream->words = s->words;
}

static void rans_p8(const struct wcodec_cpu_encode_table *table, const uint8_t *symbols,
                    unsigned groups, struct wcodec_cpu_encode_stream *stream)
{
    if (!table->low6) {
        wcodec_cpu_rans_p8_scalar(table, symbols, groups, stream);
        return;
    }
    /* Of 32 lanes with four symbols each: all first two, all last two. */
    const __m512i first =
        _mm512_set_epi16(62, 60, 58, 56, 54, 52, 50, 48, 46, 44, 42, 40, 38, 36, 34, 32, 30, 28, 26,
                         24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
    const __m512i last = _mm512_add_epi16(first, _mm512_set1_epi16(1));
    const struct p8_table t = {load(table->bytes6.freq), load(table->bytes6.start),
                               load(table->bytes6.reciprocal_low),
                               load(table->bytes6.reciprocal_high)};
    struct p8_lanes lanes;
    load_states(stream, &lanes);
    for (unsigned g = groups; g-- > 0;) {
        const __m512i a = load(symbols + (size_t)g * WCODEC_GROUP),
                      b = load(symbols + (size_t)g * WCODEC_GROUP + 64);
        const struct p8_facts late = look_up(&t, _mm512_permutex2var_epi16(a, last, b)),
                              early = look_up(&t, _mm512_permutex2var_epi16(a, first, b));
        p8_step(&late, &lanes);
        p8_step(&early, &lanes);
    }
    store_states(stream, &lanes);
}

/* 12-bit profiles: entries by a gather, the states of 16 lanes in a register. */
INLINE __m512i p12_step(const uint32_t *entries, __m512i symbols, __m512i x, uint8_t **words)
{
    const __m512i e = _mm512_i32gather_epi32(symbols, entries, 4),
                  f = _mm512_and_si512(e, _mm512_set1_epi32(0xffff));
    const __m512 inverse = invert(f);
    const __mmask16 emit = _mm512_cmpge_epu32_mask(x, _mm512_slli_epi32(f, 20));
    const unsigned count = (unsigned)_mm_popcnt_u32(emit);
    *words -= 2 * (size_t)count;
    _mm256_mask_storeu_epi16(*words, (__mmask16)_bzhi_u32(0xffff, count),
                             _mm512_cvtepi32_epi16(_mm512_maskz_compress_epi32(emit, x)));
    x = _mm512_mask_srli_epi32(x, emit, x, 16);
    const __m512i q = divide_states(x, inverse);
    /* The remainder has at most 13 bits: the low halves of all factors are enough. */
    const __m512i r = _mm512_maskz_sub_epi16(0x55555555, x, _mm512_mullo_epi16(q, f));
    const __mmask16 short_by_one = _mm512_cmpge_epu32_mask(r, f);
    const __m512i y =
        _mm512_add_epi32(_mm512_slli_epi32(q, 12), _mm512_add_epi32(r, _mm512_srli_epi32(e, 16)));
    return _mm512_mask_add_epi32(y, short_by_one, y, _mm512_sub_epi32(_mm512_set1_epi32(4096), f));
}

INLINE void rans_p12(const struct wcodec_cpu_encode_table *table, const uint8_t *symbols,
                     unsigned groups, bool pairs, struct wcodec_cpu_encode_stream *stream)
{
    const __m512i byte = _mm512_set1_epi32(255);
    __m512i low = load(stream->x), high = load(stream->x + 16);
    uint8_t *words = stream->words;
    for (unsigned g = groups; g-- > 0;) {
        __m512i a, b;
        if (pairs) {
            const uint8_t *at = symbols + (size_t)g * WCODEC_GROUP / 2;
            a = _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)(const void *)at));
            b = _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)(const void *)(at + 32)));
        } else {
            a = load(symbols + (size_t)g * WCODEC_GROUP);
            b = load(symbols + (size_t)g * WCODEC_GROUP + 64);
        }
#pragma GCC unroll 4
        for (int place = pairs ? 1 : 3; place >= 0; place--) {
            high = p12_step(table->entries,
                            _mm512_and_si512(_mm512_srli_epi32(b, 8 * (unsigned)place), byte), high,
                            &words);
            low = p12_step(table->entries,
                           _mm512_and_si512(_mm512_srli_epi32(a, 8 * (unsigned)place), byte), low,
                           &words);
        }
    }
    store(stream->x, low);
    store(stream->x + 16, high);
    stream->words = words;
}

static void rans_bytes(const struct wcodec_cpu_encode_table *table, const uint8_t *symbols,
                       unsigned groups, struct wcodec_cpu_encode_stream *stream)
{
    rans_p12(table, symbols, groups, false, stream);
}

static void rans_pairs(const struct wcodec_cpu_encode_table *table, const uint8_t *symbols,
                       unsigned groups, struct wcodec_cpu_encode_stream *stream)
{
    rans_p12(table, symbols, groups, true, stream);
}

INLINE __m512i add_each(__m512i v, __m512i add, unsigned element_log2)
{
    return element_log2 == 0   ? _mm512_add_epi8(v, add)
           : element_log2 == 1 ? _mm512_add_epi16(v, add)
                               : _mm512_add_epi32(v, add);
}

/* Slot word i of 16 lanes, of their `own` each. */
INLINE void load_slots(const uint8_t *elements, unsigned own, __m512i slots[4])
{
    const __m512i even =
                      _mm512_set_epi32(30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0),
                  odd = _mm512_add_epi32(even, _mm512_set1_epi32(1));
    if (own == 1) {
        slots[0] = load(elements);
        return;
    }
    const __m512i a = load(elements), b = load(elements + 64),
                  ab0 = _mm512_permutex2var_epi32(a, even, b),
                  ab1 = _mm512_permutex2var_epi32(a, odd, b);
    if (own == 2) {
        slots[0] = ab0;
        slots[1] = ab1;
        return;
    }
    const __m512i c = load(elements + 128), d = load(elements + 192),
                  cd0 = _mm512_permutex2var_epi32(c, even, d),
                  cd1 = _mm512_permutex2var_epi32(c, odd, d);
    slots[0] = _mm512_permutex2var_epi32(ab0, even, cd0);
    slots[1] = _mm512_permutex2var_epi32(ab1, even, cd1);
    slots[2] = _mm512_permutex2var_epi32(ab0, odd, cd0);
    slots[3] = _mm512_permutex2var_epi32(ab1, odd, cd1);
}

/* element_log2 is a constant where this is inlined. */
INLINE void pack_plane(const struct wcodec_cpu_assembly *a, unsigned element_log2, unsigned plane,
                       const uint8_t *elements, unsigned first, unsigned groups, uint8_t *rows)
{
    const unsigned own = 1u << element_log2, bits = a->plane_bits[plane], ratio = 8 * own / bits;
    const __m512i mask = _mm512_set1_epi32((int)a->plane_mask[plane]),
                  add = _mm512_set1_epi32((int)a->add);
    for (unsigned g = 0; g < groups; g++)
        for (unsigned lane = 0; lane < WCODEC_LANES; lane += 16, elements += (size_t)64 * own) {
            __m512i slots[4], v = _mm512_setzero_si512();
            load_slots(elements, own, slots);
            for (unsigned i = 0; i < own; i++) {
                const unsigned number = (first + g) * own + i, turn = number % ratio * bits;
                uint8_t *row = rows + 4 * ((size_t)(number / ratio) * WCODEC_LANES + lane);
                const __m512i w =
                    _mm512_rolv_epi32(_mm512_and_si512(add_each(slots[i], add, element_log2), mask),
                                      _mm512_set1_epi32((int)turn));
                v = turn == 0 ? w : i == 0 ? _mm512_or_si512(w, load(row)) : _mm512_or_si512(w, v);
                if (i + 1 == own || turn + bits == 8 * own)
                    store(row, v);
            }
        }
}

static void pack(const struct wcodec_cpu_assembly *a, unsigned plane, const uint8_t *elements,
                 unsigned first, unsigned groups, uint8_t *rows)
{
    if (a->element_log2 == 0)
        pack_plane(a, 0, plane, elements, first, groups, rows);
    else if (a->element_log2 == 1)
        pack_plane(a, 1, plane, elements, first, groups, rows);
    else
        pack_plane(a, 2, plane, elements, first, groups, rows);
}

void wcodec_cpu_encode_dsp_init_avx512(struct wcodec_cpu_encode_dsp *dsp)
{
    dsp->level = 3;
    dsp->extract = extract;
    dsp->choose[WCODEC_P8] = choose_values;
    dsp->choose[WCODEC_PAIRS] = choose_pairs;
    dsp->rans[WCODEC_P8] = rans_p8;
    dsp->rans[WCODEC_P12] = rans_bytes;
    dsp->rans[WCODEC_PAIRS] = rans_pairs;
    dsp->pack = pack;
}
