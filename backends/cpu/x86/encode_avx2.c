/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The encoder's AVX2 level: as encode_avx512.c in registers of half the width, tables of 32 bytes
 * looked up by two shuffles, and words put together by a shuffle for each mask.
 *
 * Quotients in single precision are rounded to the nearest here, so that the inverse is made 2^-21
 * too small: with three roundings of 2^-24 the estimate is too small by 5 to 11 parts in 2^24,
 * which is less than 0.7 of a quotient below 2^20, and less than 0.05 of one below 2^16. */
#include "backends/cpu/encode.h"

#include "coding/histogram.h"

#include <immintrin.h>

#define INLINE static inline __attribute__((always_inline))

INLINE __m256i load(const void *p)
{
    return _mm256_loadu_si256(p);
}

INLINE void store(void *p, __m256i v)
{
    _mm256_storeu_si256(p, v);
}

/* Bytes of two packed registers in their order. */
INLINE __m256i in_order(__m256i packed)
{
    return _mm256_permute4x64_epi64(packed, 0xd8);
}

static size_t extract_u16(const uint8_t *data, size_t elements, uint64_t add, unsigned shift,
                          unsigned width, uint8_t *values)
{
    const __m256i sum = _mm256_set1_epi16((short)add),
                  mask = _mm256_set1_epi16((short)((1u << width) - 1));
    const __m128i count = _mm_cvtsi32_si128((int)shift);
    size_t i = 0;
    for (; i + 32 <= elements; i += 32) {
        const __m256i a = _mm256_and_si256(
            _mm256_srl_epi16(_mm256_add_epi16(load(data + 2 * i), sum), count), mask);
        const __m256i b = _mm256_and_si256(
            _mm256_srl_epi16(_mm256_add_epi16(load(data + 2 * i + 32), sum), count), mask);
        store(values + i, in_order(_mm256_packus_epi16(a, b)));
    }
    return i;
}

static size_t extract_u8(const uint8_t *data, size_t elements, uint64_t add, unsigned shift,
                         unsigned width, uint8_t *values)
{
    const __m256i sum = _mm256_set1_epi8((char)add),
                  mask = _mm256_set1_epi8((char)((1u << width) - 1));
    const __m128i count = _mm_cvtsi32_si128((int)shift);
    size_t i = 0;
    for (; i + 32 <= elements; i += 32)
        store(values + i, _mm256_and_si256(
                              _mm256_srl_epi16(_mm256_add_epi8(load(data + i), sum), count), mask));
    return i;
}

static size_t extract_u32(const uint8_t *data, size_t elements, uint64_t add, unsigned shift,
                          unsigned width, uint8_t *values)
{
    const __m256i sum = _mm256_set1_epi32((int)add), mask = _mm256_set1_epi32((1 << width) - 1),
                  order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    const __m128i count = _mm_cvtsi32_si128((int)shift);
    size_t i = 0;
    for (; i + 32 <= elements; i += 32) {
        __m256i v[4];
        for (unsigned k = 0; k < 4; k++)
            v[k] = _mm256_and_si256(
                _mm256_srl_epi32(_mm256_add_epi32(load(data + 4 * i + 32 * k), sum), count), mask);
        const __m256i bytes =
            _mm256_packus_epi16(_mm256_packus_epi32(v[0], v[1]), _mm256_packus_epi32(v[2], v[3]));
        store(values + i, _mm256_permutevar8x32_epi32(bytes, order));
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

/* A table of 32 bytes. */
struct lookup {
    __m256i low, high;
};

INLINE struct lookup load_lookup(const uint8_t *bytes)
{
    return (struct lookup){
        _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)bytes)),
        _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)(bytes + 16)))};
}

/* Looked up by the low 5 bits; nibble: index & 15, upper: the fifth bit in each byte's top. */
INLINE __m256i look_up(const struct lookup *l, __m256i nibble, __m256i upper)
{
    return _mm256_blendv_epi8(_mm256_shuffle_epi8(l->low, nibble),
                              _mm256_shuffle_epi8(l->high, nibble), upper);
}

INLINE __m256i nibble_of(__m256i v)
{
    return _mm256_and_si256(v, _mm256_set1_epi8(15));
}

INLINE __m256i upper_of(__m256i v)
{
    return _mm256_slli_epi16(v, 3);
}

static bool choose_values(const struct wcodec_cpu_encode_table *table, const uint8_t *values,
                          unsigned groups, uint8_t *symbols)
{
    if (!table->low5)
        return wcodec_cpu_choose_values_scalar(table, values, groups, symbols);
    const struct lookup held = load_lookup(table->bytes5.held);
    const __m256i other = _mm256_set1_epi8((char)table->table->most_frequent);
    __m256i same = _mm256_set1_epi8(-1);
    for (size_t i = 0; i < (size_t)groups * WCODEC_GROUP; i += 32) {
        const __m256i v = load(values + i),
                      present = _mm256_cmpeq_epi8(v, look_up(&held, nibble_of(v), upper_of(v)));
        store(symbols + i, _mm256_blendv_epi8(other, v, present));
        same = _mm256_and_si256(same, present);
    }
    return _mm256_movemask_epi8(same) != -1;
}

/* Groups with pairs outside of the window or not held are left to the scalar function. */
static bool choose_pairs(const struct wcodec_cpu_encode_table *table, const uint8_t *values,
                         unsigned groups, uint8_t *symbols)
{
    const __m256i base = _mm256_set1_epi8((char)table->table->table.base),
                  weights = _mm256_set1_epi16(0x1001),
                  bits = _mm256_set1_epi64x((long long)0x8040201008040201ull);
    const struct lookup held = load_lookup(table->held_pairs);
    bool differ = false;
    for (unsigned g = 0; g < groups; g++, values += WCODEC_GROUP, symbols += WCODEC_GROUP / 2) {
        __m256i pairs[2], wrong = _mm256_setzero_si256();
        for (unsigned half = 0; half < 2; half++) {
            const __m256i a = _mm256_sub_epi8(load(values + 64 * half), base),
                          b = _mm256_sub_epi8(load(values + 64 * half + 32), base);
            const __m256i v = pairs[half] = in_order(_mm256_packus_epi16(
                _mm256_maddubs_epi16(a, weights), _mm256_maddubs_epi16(b, weights)));
            const __m256i byte = _mm256_srli_epi16(v, 3),
                          bit = _mm256_shuffle_epi8(bits, _mm256_and_si256(v, _mm256_set1_epi8(7)));
            /* the sums of these may wrap: what is looked up then does not matter */
            const __m256i outside =
                _mm256_and_si256(_mm256_or_si256(a, b), _mm256_set1_epi8((char)0xf0));
            const __m256i absent = _mm256_cmpeq_epi8(
                _mm256_and_si256(look_up(&held, nibble_of(byte), upper_of(byte)), bit),
                _mm256_setzero_si256());
            wrong = _mm256_or_si256(wrong, _mm256_or_si256(outside, absent));
        }
        if (!_mm256_testz_si256(wrong, wrong)) {
            differ |= wcodec_cpu_choose_pairs_scalar(table, values, 1, symbols);
            continue;
        }
        store(symbols, pairs[0]);
        store(symbols + 32, pairs[1]);
    }
    return differ;
}

/* a >= b, unsigned. */
INLINE __m256i not_below_16(__m256i a, __m256i b)
{
    return _mm256_cmpeq_epi16(_mm256_max_epu16(a, b), a);
}

/* The words of eight lanes whose bit in the mask is set, below what is written. What lies below
 * these is overwritten with anything. */
INLINE uint8_t *put_words(const struct wcodec_cpu_encode_table *table, __m128i words, unsigned mask,
                          uint8_t *at)
{
    const __m128i order = _mm_loadu_si128((const __m128i *)(const void *)table->compress[mask]);
    _mm_storeu_si128((__m128i *)(void *)(at - 16), _mm_shuffle_epi8(words, order));
    return at - 2 * (size_t)_mm_popcnt_u32(mask);
}

INLINE __m256 invert(__m256i f)
{
    return _mm256_div_ps(_mm256_set1_ps(1 - 0x1p-21f), _mm256_cvtepi32_ps(f));
}

INLINE __m256i divide_states(__m256i high, __m256i low, __m256 inverse)
{
    return _mm256_cvttps_epi32(
        _mm256_mul_ps(_mm256_add_ps(_mm256_mul_ps(_mm256_cvtepi32_ps(high), _mm256_set1_ps(65536)),
                                    _mm256_cvtepi32_ps(low)),
                      inverse));
}

/* P8: low and high halves of 16 states, and what the table says of two symbols of each: of the
 * first in the low, of the second in the high half of 16 bits. */
struct p8_lanes {
    __m256i low, high;
};

struct p8_table {
    struct lookup freq, start, reciprocal_low, reciprocal_high;
};

/* n / f 2^8 + n mod f + start for n < 256 f. */
INLINE __m256i divide_bytes(__m256i n, __m256i f, __m256i reciprocal, __m256i start)
{
    const __m256i quotient = _mm256_mulhi_epu16(n, reciprocal),
                  rest = _mm256_sub_epi16(n, _mm256_mullo_epi16(quotient, f));
    const __m256i v =
        _mm256_add_epi16(_mm256_slli_epi16(quotient, 8), _mm256_add_epi16(rest, start));
    return _mm256_add_epi16(
        v, _mm256_and_si256(not_below_16(rest, f), _mm256_sub_epi16(_mm256_set1_epi16(256), f)));
}

/* encode_avx512.c has the formulas. */
INLINE uint8_t *p8_step(const struct wcodec_cpu_encode_table *table, const struct p8_table *t,
                        __m256i symbols, struct p8_lanes *s, uint8_t *words)
{
    const __m256i byte = _mm256_set1_epi16(255), zero = _mm256_setzero_si256(),
                  nibble = nibble_of(symbols), upper = upper_of(symbols);
    const __m256i freq = look_up(&t->freq, nibble, upper),
                  start = look_up(&t->start, nibble, upper);
    const __m256i low_part = look_up(&t->reciprocal_low, nibble, upper),
                  high_part = look_up(&t->reciprocal_high, nibble, upper);
    const __m256i reciprocal1 =
        _mm256_or_si256(_mm256_and_si256(low_part, byte), _mm256_slli_epi16(high_part, 8));
    const __m256i reciprocal2 =
        _mm256_or_si256(_mm256_srli_epi16(low_part, 8), _mm256_andnot_si256(byte, high_part));
    const __m256i f1 = _mm256_and_si256(freq, byte), f2 = _mm256_srli_epi16(freq, 8),
                  f = _mm256_mullo_epi16(f1, f2);

    const __m256i emit = not_below_16(s->high, f);
    const unsigned mask = (unsigned)_mm_movemask_epi8(
        _mm_packs_epi16(_mm256_castsi256_si128(emit), _mm256_extracti128_si256(emit, 1)));
    words = put_words(table, _mm256_extracti128_si256(s->low, 1), mask >> 8, words);
    words = put_words(table, _mm256_castsi256_si128(s->low), mask & 255, words);
    const __m256i low = _mm256_blendv_epi8(s->low, s->high, emit),
                  high = _mm256_andnot_si256(emit, s->high);

    const __m256i q = _mm256_packus_epi32(
        divide_states(_mm256_unpacklo_epi16(high, zero), _mm256_unpacklo_epi16(low, zero),
                      invert(_mm256_unpacklo_epi16(f, zero))),
        divide_states(_mm256_unpackhi_epi16(high, zero), _mm256_unpackhi_epi16(low, zero),
                      invert(_mm256_unpackhi_epi16(f, zero))));
    const __m256i r = _mm256_sub_epi16(low, _mm256_mullo_epi16(q, f)),
                  short_by_one = not_below_16(r, f);
    s->high = _mm256_sub_epi16(q, short_by_one);
    const __m256i p = divide_bytes(_mm256_sub_epi16(r, _mm256_and_si256(short_by_one, f)), f2,
                                   reciprocal2, _mm256_srli_epi16(start, 8));
    s->low = divide_bytes(p, f1, reciprocal1, _mm256_and_si256(start, byte));
    return words;
}

/* 16-bit halves of two registers of 32-bit lanes, in order. */
INLINE __m256i low_halves(__m256i a, __m256i b)
{
    const __m256i mask = _mm256_set1_epi32(0xffff);
    return in_order(_mm256_packus_epi32(_mm256_and_si256(a, mask), _mm256_and_si256(b, mask)));
}

INLINE __m256i high_halves(__m256i a, __m256i b)
{
    return in_order(_mm256_packus_epi32(_mm256_srli_epi32(a, 16), _mm256_srli_epi32(b, 16)));
}

static void rans_p8(const struct wcodec_cpu_encode_table *table, const uint8_t *symbols,
                    unsigned groups, struct wcodec_cpu_encode_stream *stream)
{
    if (!table->low5) {
        wcodec_cpu_rans_p8_scalar(table, symbols, groups, stream);
        return;
    }
    const struct p8_table t = {load_lookup(table->bytes5.freq), load_lookup(table->bytes5.start),
                               load_lookup(table->bytes5.reciprocal_low),
                               load_lookup(table->bytes5.reciprocal_high)};
    struct p8_lanes lanes[2];
    uint8_t *words = stream->words;
    for (unsigned half = 0; half < 2; half++) {
        const __m256i a = load(stream->x + 16 * half), b = load(stream->x + 16 * half + 8);
        lanes[half] = (struct p8_lanes){low_halves(a, b), high_halves(a, b)};
    }
    for (unsigned g = groups; g-- > 0;) {
        const uint8_t *at = symbols + (size_t)g * WCODEC_GROUP;
        const __m256i a = load(at), b = load(at + 32), c = load(at + 64), d = load(at + 96);
        words = p8_step(table, &t, high_halves(c, d), &lanes[1], words);
        words = p8_step(table, &t, high_halves(a, b), &lanes[0], words);
        words = p8_step(table, &t, low_halves(c, d), &lanes[1], words);
        words = p8_step(table, &t, low_halves(a, b), &lanes[0], words);
    }
    for (unsigned half = 0; half < 2; half++) {
        /* Their unpacked halves hold lanes 0 to 3 and 8 to 11, and the others. */
        const __m256i a = _mm256_unpacklo_epi16(lanes[half].low, lanes[half].high),
                      b = _mm256_unpackhi_epi16(lanes[half].low, lanes[half].high);
        store(stream->x + 16 * half, _mm256_permute2x128_si256(a, b, 0x20));
        store(stream->x + 16 * half + 8, _mm256_permute2x128_si256(a, b, 0x31));
    }
    stream->words = words;
}

/* 12-bit profiles: eight states. Entries by loads: with microcode against data sampling a gather
 * takes several times as long on most processors that stop at AVX2. */
INLINE __m256i p12_step(const struct wcodec_cpu_encode_table *table, const uint8_t *symbols,
                        unsigned stride, __m256i x, uint8_t **words)
{
    const uint32_t *entries = table->entries;
    const __m256i e =
        _mm256_setr_epi32((int)entries[symbols[0]], (int)entries[symbols[stride]],
                          (int)entries[symbols[2 * stride]], (int)entries[symbols[3 * stride]],
                          (int)entries[symbols[4 * stride]], (int)entries[symbols[5 * stride]],
                          (int)entries[symbols[6 * stride]], (int)entries[symbols[7 * stride]]);
    const __m256i half = _mm256_set1_epi32(0xffff), f = _mm256_and_si256(e, half),
                  limit = _mm256_slli_epi32(f, 20);
    const __m256i emit = _mm256_cmpeq_epi32(_mm256_max_epu32(x, limit), x),
                  low = _mm256_and_si256(x, half), high = _mm256_srli_epi32(x, 16);
    *words = put_words(
        table, _mm_packus_epi32(_mm256_castsi256_si128(low), _mm256_extracti128_si256(low, 1)),
        (unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(emit)), *words);
    x = _mm256_blendv_epi8(x, high, emit);
    const __m256i q = divide_states(_mm256_srli_epi32(x, 16), _mm256_and_si256(x, half), invert(f));
    /* The remainder has at most 13 bits: the low halves of all factors are enough. */
    const __m256i r = _mm256_and_si256(_mm256_sub_epi16(x, _mm256_mullo_epi16(q, f)), half),
                  fits = _mm256_cmpgt_epi32(f, r);
    const __m256i y =
        _mm256_add_epi32(_mm256_slli_epi32(q, 12), _mm256_add_epi32(r, _mm256_srli_epi32(e, 16)));
    return _mm256_add_epi32(
        y, _mm256_andnot_si256(fits, _mm256_sub_epi32(_mm256_set1_epi32(4096), f)));
}

/* steps: symbols of a lane in a group. */
INLINE void rans_p12(const struct wcodec_cpu_encode_table *table, const uint8_t *symbols,
                     unsigned groups, unsigned steps, struct wcodec_cpu_encode_stream *stream)
{
    __m256i x[4];
    uint8_t *words = stream->words;
    for (unsigned k = 0; k < 4; k++)
        x[k] = load(stream->x + 8 * k);
    for (unsigned g = groups; g-- > 0;)
        for (unsigned step = steps; step-- > 0;)
#pragma GCC unroll 4
            for (unsigned k = 4; k-- > 0;)
                x[k] = p12_step(table, symbols + (size_t)steps * (g * WCODEC_LANES + 8 * k) + step,
                                steps, x[k], &words);
    for (unsigned k = 0; k < 4; k++)
        store(stream->x + 8 * k, x[k]);
    stream->words = words;
}

static void rans_bytes(const struct wcodec_cpu_encode_table *table, const uint8_t *symbols,
                       unsigned groups, struct wcodec_cpu_encode_stream *stream)
{
    rans_p12(table, symbols, groups, 4, stream);
}

static void rans_pairs(const struct wcodec_cpu_encode_table *table, const uint8_t *symbols,
                       unsigned groups, struct wcodec_cpu_encode_stream *stream)
{
    rans_p12(table, symbols, groups, 2, stream);
}

INLINE __m256i rotate(__m256i v, unsigned bits)
{
    return _mm256_or_si256(_mm256_sll_epi32(v, _mm_cvtsi32_si128((int)bits)),
                           _mm256_srl_epi32(v, _mm_cvtsi32_si128(32 - (int)bits)));
}

/* Elements of 8 bits: a slot word a lane and group. */
static void pack_bytes(const struct wcodec_cpu_assembly *a, unsigned plane, const uint8_t *elements,
                       unsigned first, unsigned groups, uint8_t *rows)
{
    const unsigned bits = a->plane_bits[plane], ratio = 8 / bits;
    const __m256i mask = _mm256_set1_epi32((int)a->plane_mask[plane]),
                  add = _mm256_set1_epi32((int)a->add);
    for (unsigned g = first; g < first + groups; g++)
        for (unsigned i = 0; i < 4 * WCODEC_LANES; i += 32, elements += 32) {
            uint8_t *row = rows + (size_t)(g / ratio) * 4 * WCODEC_LANES + i;
            const __m256i v = _mm256_and_si256(_mm256_add_epi8(load(elements), add), mask);
            store(row, g % ratio ? _mm256_or_si256(load(row), rotate(v, g % ratio * bits)) : v);
        }
}

/* Eight raw bits of 16: two slot words a lane and group, in a row. */
static void pack_bf16(const struct wcodec_cpu_assembly *a, const uint8_t *elements, unsigned first,
                      unsigned groups, uint8_t *rows)
{
    const __m256i mask = _mm256_set1_epi32((int)a->plane_mask[0]),
                  add = _mm256_set1_epi32((int)a->add);
    rows += (size_t)first * 4 * WCODEC_LANES;
    for (size_t i = 0; i < (size_t)groups * 4 * WCODEC_LANES; i += 32, elements += 64) {
        __m256i v[2];
        for (unsigned k = 0; k < 2; k++) {
            const __m256i e = _mm256_and_si256(_mm256_add_epi16(load(elements + 32 * k), add),
                                               mask),
                          second = _mm256_srli_epi64(e, 32);
            v[k] = _mm256_or_si256(
                e, _mm256_or_si256(_mm256_slli_epi32(second, 8), _mm256_srli_epi32(second, 24)));
        }
        store(rows + i, in_order(_mm256_castps_si256(_mm256_shuffle_ps(
                            _mm256_castsi256_ps(v[0]), _mm256_castsi256_ps(v[1]), 0x88))));
    }
}

static void pack(const struct wcodec_cpu_assembly *a, unsigned plane, const uint8_t *elements,
                 unsigned first, unsigned groups, uint8_t *rows)
{
    if (a->element_log2 == 0)
        pack_bytes(a, plane, elements, first, groups, rows);
    else if (a->element_log2 == 1 && plane == 0 && a->plane_bits[0] == 8)
        pack_bf16(a, elements, first, groups, rows);
    else
        wcodec_cpu_pack_scalar(a, plane, elements, first, groups, rows);
}

void wcodec_cpu_encode_dsp_init_avx2(struct wcodec_cpu_encode_dsp *dsp)
{
    dsp->level = 2;
    dsp->extract = extract;
    dsp->choose[WCODEC_P8] = choose_values;
    dsp->choose[WCODEC_PAIRS] = choose_pairs;
    dsp->rans[WCODEC_P8] = rans_p8;
    dsp->rans[WCODEC_P12] = rans_bytes;
    dsp->rans[WCODEC_PAIRS] = rans_pairs;
    dsp->pack = pack;
}
