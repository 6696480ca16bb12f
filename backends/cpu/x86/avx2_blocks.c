/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The AVX2 level: reconstruction of blocks. */
#include "backends/cpu/blocks.h"

#include <immintrin.h>

#define INLINE static inline __attribute__((always_inline))

typedef __m256i vec;

INLINE vec zero(void)
{
    return _mm256_setzero_si256();
}

INLINE vec load_parts(const uint8_t *const *from, size_t at)
{
    const __m128i low = _mm_loadu_si128((const __m128i *)(const void *)(from[0] + at));
    return _mm256_inserti128_si256(_mm256_castsi128_si256(low),
                                   _mm_loadu_si128((const __m128i *)(const void *)(from[1] + at)),
                                   1);
}

INLINE void store_parts(uint8_t *const *to, size_t at, vec v)
{
    _mm_storeu_si128((__m128i *)(void *)(to[0] + at), _mm256_castsi256_si128(v));
    _mm_storeu_si128((__m128i *)(void *)(to[1] + at), _mm256_extracti128_si256(v, 1));
}

INLINE vec plus(unsigned element_log2, vec a, vec b)
{
    return element_log2 ? _mm256_add_epi16(a, b) : _mm256_add_epi8(a, b);
}

INLINE vec minus(unsigned element_log2, vec a, vec b)
{
    return element_log2 ? _mm256_sub_epi16(a, b) : _mm256_sub_epi8(a, b);
}

/* There are no shifts of bytes: half of v + 128, unsigned, less 64. */
INLINE vec half(unsigned element_log2, vec v)
{
    if (element_log2)
        return _mm256_srai_epi16(v, 1);
    const vec shifted = _mm256_and_si256(
        _mm256_srli_epi16(_mm256_xor_si256(v, _mm256_set1_epi8(-128)), 1), _mm256_set1_epi8(127));
    return _mm256_sub_epi8(shifted, _mm256_set1_epi8(64));
}

INLINE vec plus_limited(unsigned element_log2, vec a, vec b)
{
    return element_log2 ? _mm256_adds_epi16(a, b) : _mm256_adds_epi8(a, b);
}

INLINE vec size_of(unsigned element_log2, vec v)
{
    return element_log2 ? _mm256_abs_epi16(v) : _mm256_abs_epi8(v);
}

INLINE vec less(unsigned element_log2, vec a, vec b)
{
    return element_log2 ? _mm256_min_epu16(a, b) : _mm256_min_epu8(a, b);
}

INLINE vec pick(unsigned element_log2, vec a, vec b, vec x, vec y)
{
    const vec least = less(element_log2, a, b);
    return _mm256_blendv_epi8(
        y, x, element_log2 ? _mm256_cmpeq_epi16(a, least) : _mm256_cmpeq_epi8(a, least));
}

#define MOVE_UP(v, bytes) _mm256_slli_si256(v, bytes)
#define SPREAD(v, i) _mm256_shuffle_epi32(v, 0x55 * (i))

INLINE vec last(unsigned element_log2, vec v)
{
    return _mm256_shuffle_epi8(v, element_log2 ? _mm256_set1_epi16(0x0f0e) : _mm256_set1_epi8(15));
}

INLINE vec low_of(unsigned size_log2, vec a, vec b)
{
    switch (size_log2) {
    case 0:
        return _mm256_unpacklo_epi8(a, b);
    case 1:
        return _mm256_unpacklo_epi16(a, b);
    case 2:
        return _mm256_unpacklo_epi32(a, b);
    default:
        return _mm256_unpacklo_epi64(a, b);
    }
}

INLINE vec high_of(unsigned size_log2, vec a, vec b)
{
    switch (size_log2) {
    case 0:
        return _mm256_unpackhi_epi8(a, b);
    case 1:
        return _mm256_unpackhi_epi16(a, b);
    case 2:
        return _mm256_unpackhi_epi32(a, b);
    default:
        return _mm256_unpackhi_epi64(a, b);
    }
}

INLINE vec turn(vec v)
{
    return _mm256_shuffle_epi8(v, _mm256_broadcastsi128_si256(_mm_setr_epi8(
                                      0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15)));
}

#define RESTORE_PARTS 2
#include "backends/cpu/restore.h"

void wcodec_cpu_blocks_dsp_init_avx2(struct wcodec_cpu_blocks_dsp *dsp)
{
    *dsp = (struct wcodec_cpu_blocks_dsp){.level = 2, .restore = {restore_8, restore_16}};
}
