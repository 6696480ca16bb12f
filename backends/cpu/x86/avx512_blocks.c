/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The AVX-512 level: reconstruction of blocks. */
#include "backends/cpu/blocks.h"

#include <immintrin.h>

#define INLINE static inline __attribute__((always_inline))

typedef __m512i vec;

INLINE vec zero(void)
{
    return _mm512_setzero_si512();
}

INLINE __m128i load_part(const uint8_t *from)
{
    return _mm_loadu_si128((const __m128i *)(const void *)from);
}

INLINE void store_part(uint8_t *to, __m128i v)
{
    _mm_storeu_si128((__m128i *)(void *)to, v);
}

INLINE vec load_parts(const uint8_t *const *from, size_t at)
{
    const __m512i first = _mm512_castsi128_si512(load_part(from[0] + at));
    const __m512i two = _mm512_inserti32x4(first, load_part(from[1] + at), 1),
                  three = _mm512_inserti32x4(two, load_part(from[2] + at), 2);
    return _mm512_inserti32x4(three, load_part(from[3] + at), 3);
}

INLINE void store_parts(uint8_t *const *to, size_t at, vec v)
{
    store_part(to[0] + at, _mm512_castsi512_si128(v));
    store_part(to[1] + at, _mm512_extracti32x4_epi32(v, 1));
    store_part(to[2] + at, _mm512_extracti32x4_epi32(v, 2));
    store_part(to[3] + at, _mm512_extracti32x4_epi32(v, 3));
}

INLINE vec plus(unsigned element_log2, vec a, vec b)
{
    return element_log2 ? _mm512_add_epi16(a, b) : _mm512_add_epi8(a, b);
}

INLINE vec minus(unsigned element_log2, vec a, vec b)
{
    return element_log2 ? _mm512_sub_epi16(a, b) : _mm512_sub_epi8(a, b);
}

/* There are no shifts of bytes: half of v + 128, unsigned, less 64. */
INLINE vec half(unsigned element_log2, vec v)
{
    if (element_log2)
        return _mm512_srai_epi16(v, 1);
    const vec shifted = _mm512_and_si512(
        _mm512_srli_epi16(_mm512_xor_si512(v, _mm512_set1_epi8(-128)), 1), _mm512_set1_epi8(127));
    return _mm512_sub_epi8(shifted, _mm512_set1_epi8(64));
}

INLINE vec plus_limited(unsigned element_log2, vec a, vec b)
{
    return element_log2 ? _mm512_adds_epi16(a, b) : _mm512_adds_epi8(a, b);
}

INLINE vec size_of(unsigned element_log2, vec v)
{
    return element_log2 ? _mm512_abs_epi16(v) : _mm512_abs_epi8(v);
}

INLINE vec less(unsigned element_log2, vec a, vec b)
{
    return element_log2 ? _mm512_min_epu16(a, b) : _mm512_min_epu8(a, b);
}

INLINE vec pick(unsigned element_log2, vec a, vec b, vec x, vec y)
{
    if (element_log2)
        return _mm512_mask_mov_epi16(y, _mm512_cmple_epu16_mask(a, b), x);
    return _mm512_mask_mov_epi8(y, _mm512_cmple_epu8_mask(a, b), x);
}

#define MOVE_UP(v, bytes) _mm512_bslli_epi128(v, bytes)
#define SPREAD(v, i) _mm512_shuffle_epi32(v, (_MM_PERM_ENUM)(0x55 * (i)))

INLINE vec last(unsigned element_log2, vec v)
{
    return _mm512_shuffle_epi8(v, element_log2 ? _mm512_set1_epi16(0x0f0e) : _mm512_set1_epi8(15));
}

INLINE vec low_of(unsigned size_log2, vec a, vec b)
{
    switch (size_log2) {
    case 0:
        return _mm512_unpacklo_epi8(a, b);
    case 1:
        return _mm512_unpacklo_epi16(a, b);
    case 2:
        return _mm512_unpacklo_epi32(a, b);
    default:
        return _mm512_unpacklo_epi64(a, b);
    }
}

INLINE vec high_of(unsigned size_log2, vec a, vec b)
{
    switch (size_log2) {
    case 0:
        return _mm512_unpackhi_epi8(a, b);
    case 1:
        return _mm512_unpackhi_epi16(a, b);
    case 2:
        return _mm512_unpackhi_epi32(a, b);
    default:
        return _mm512_unpackhi_epi64(a, b);
    }
}

INLINE vec turn(vec v)
{
    return _mm512_shuffle_epi8(v, _mm512_broadcast_i32x4(_mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2,
                                                                       6, 10, 14, 3, 7, 11, 15)));
}

#define RESTORE_PARTS 4
#include "backends/cpu/restore.h"

void wcodec_cpu_blocks_dsp_init_avx512(struct wcodec_cpu_blocks_dsp *dsp)
{
    *dsp = (struct wcodec_cpu_blocks_dsp){.level = 3, .restore = {restore_8, restore_16}};
}
