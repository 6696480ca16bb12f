/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The SSE4.1 level: reconstruction of blocks. */
#include "backends/cpu/blocks.h"

#include <immintrin.h>

#define INLINE static inline __attribute__((always_inline))

typedef __m128i vec;

INLINE vec zero(void)
{
    return _mm_setzero_si128();
}

INLINE vec load_parts(const uint8_t *const *from, size_t at)
{
    return _mm_loadu_si128((const __m128i *)(const void *)(from[0] + at));
}

INLINE void store_parts(uint8_t *const *to, size_t at, vec v)
{
    _mm_storeu_si128((__m128i *)(void *)(to[0] + at), v);
}

INLINE vec plus(unsigned element_log2, vec a, vec b)
{
    return element_log2 ? _mm_add_epi16(a, b) : _mm_add_epi8(a, b);
}

INLINE vec minus(unsigned element_log2, vec a, vec b)
{
    return element_log2 ? _mm_sub_epi16(a, b) : _mm_sub_epi8(a, b);
}

/* There are no shifts of bytes: half of v + 128, unsigned, less 64. */
INLINE vec half(unsigned element_log2, vec v)
{
    if (element_log2)
        return _mm_srai_epi16(v, 1);
    const vec shifted =
        _mm_and_si128(_mm_srli_epi16(_mm_xor_si128(v, _mm_set1_epi8(-128)), 1), _mm_set1_epi8(127));
    return _mm_sub_epi8(shifted, _mm_set1_epi8(64));
}

INLINE vec plus_limited(unsigned element_log2, vec a, vec b)
{
    return element_log2 ? _mm_adds_epi16(a, b) : _mm_adds_epi8(a, b);
}

INLINE vec size_of(unsigned element_log2, vec v)
{
    return element_log2 ? _mm_abs_epi16(v) : _mm_abs_epi8(v);
}

INLINE vec less(unsigned element_log2, vec a, vec b)
{
    return element_log2 ? _mm_min_epu16(a, b) : _mm_min_epu8(a, b);
}

INLINE vec pick(unsigned element_log2, vec a, vec b, vec x, vec y)
{
    const vec least = less(element_log2, a, b);
    return _mm_blendv_epi8(y, x,
                           element_log2 ? _mm_cmpeq_epi16(a, least) : _mm_cmpeq_epi8(a, least));
}

#define MOVE_UP(v, bytes) _mm_slli_si128(v, bytes)
#define SPREAD(v, i) _mm_shuffle_epi32(v, 0x55 * (i))

INLINE vec last(unsigned element_log2, vec v)
{
    return _mm_shuffle_epi8(v, element_log2 ? _mm_set1_epi16(0x0f0e) : _mm_set1_epi8(15));
}

INLINE vec low_of(unsigned size_log2, vec a, vec b)
{
    switch (size_log2) {
    case 0:
        return _mm_unpacklo_epi8(a, b);
    case 1:
        return _mm_unpacklo_epi16(a, b);
    case 2:
        return _mm_unpacklo_epi32(a, b);
    default:
        return _mm_unpacklo_epi64(a, b);
    }
}

INLINE vec high_of(unsigned size_log2, vec a, vec b)
{
    switch (size_log2) {
    case 0:
        return _mm_unpackhi_epi8(a, b);
    case 1:
        return _mm_unpackhi_epi16(a, b);
    case 2:
        return _mm_unpackhi_epi32(a, b);
    default:
        return _mm_unpackhi_epi64(a, b);
    }
}

INLINE vec turn(vec v)
{
    return _mm_shuffle_epi8(v, _mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15));
}

#define RESTORE_PARTS 1
#include "backends/cpu/restore.h"

void wcodec_cpu_blocks_dsp_init_sse41(struct wcodec_cpu_blocks_dsp *dsp)
{
    *dsp = (struct wcodec_cpu_blocks_dsp){.level = 1, .restore = {restore_8, restore_16}};
}
