/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "coding/linear.h"
#include "core/bytes.h"
#ifdef __SSE2__
#include <emmintrin.h>
#endif

enum { WORDS = WCODEC_LINEAR_SECTION / 4 };

static uint32_t mix(uint32_t v)
{
    v = (v ^ v >> 16) * 0x85ebca6bu;
    v = (v ^ v >> 13) * 0xc2b2ae35u;
    return v ^ v >> 16;
}

/* Of a word of a section. */
static uint32_t key_of(uint32_t word)
{
    return mix(word + 1);
}

/* Of a section, an odd number. */
static uint64_t factor_of(uint64_t section)
{
    const uint32_t n = (uint32_t)section ^ mix((uint32_t)(section >> 32));
    return (uint64_t)mix(n ^ 0x9e3779b9u) << 32 | mix(n ^ 0x7f4a7c15u) | 1;
}

#ifdef __SSE2__
static uint64_t sum_whole(const uint32_t keys[WORDS], const uint8_t *bytes)
{
    __m128i even = _mm_setzero_si128(), odd = even;
    uint64_t sums[2];
    for (unsigned i = 0; i < WORDS; i += 4) {
        const __m128i v = _mm_loadu_si128((const __m128i *)(const void *)(bytes + (size_t)4 * i)),
                      k = _mm_loadu_si128((const __m128i *)(const void *)(keys + i));
        even = _mm_add_epi64(even, _mm_mul_epu32(v, k));
        odd = _mm_add_epi64(odd, _mm_mul_epu32(_mm_srli_epi64(v, 32), _mm_srli_epi64(k, 32)));
    }
    _mm_storeu_si128((__m128i *)(void *)sums, _mm_add_epi64(even, odd));
    return sums[0] + sums[1];
}
#else
static uint64_t sum_whole(const uint32_t keys[WORDS], const uint8_t *bytes)
{
    uint64_t even = 0, odd = 0;
    for (unsigned i = 0; i < WORDS; i += 2) {
        const uint64_t v = wcodec_load_u64(bytes + (size_t)4 * i);
        even += (v & UINT32_MAX) * keys[i];
        odd += (v >> 32) * keys[i + 1];
    }
    return even + odd;
}
#endif

/* Bytes of a section from number `begin` on. */
static uint64_t sum_part(const uint8_t *bytes, uint32_t size, uint32_t begin)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < size;) {
        const uint32_t at = begin + i, key = key_of(at / 4);
        uint64_t word = 0;
        for (uint32_t b = at % 4; b < 4 && i < size; b++, i++)
            word |= (uint64_t)bytes[i] << 8 * b;
        sum += word * key;
    }
    return sum;
}

uint64_t wcodec_linear_sum(const uint8_t *bytes, uint64_t size, uint64_t at)
{
    uint32_t keys[WORDS];
    uint64_t sum = 0;
    for (uint32_t i = 0; i < WORDS && size >= WCODEC_LINEAR_SECTION; i++)
        keys[i] = key_of(i);
    while (size != 0) {
        const uint32_t begin = (uint32_t)(at % WCODEC_LINEAR_SECTION),
                       most = WCODEC_LINEAR_SECTION - begin,
                       part = size < most ? (uint32_t)size : most;
        const uint64_t section =
            part == WCODEC_LINEAR_SECTION ? sum_whole(keys, bytes) : sum_part(bytes, part, begin);
        sum += section * factor_of(at / WCODEC_LINEAR_SECTION);
        bytes += part;
        size -= part;
        at += part;
    }
    return sum;
}

uint64_t wcodec_linear_hash(uint64_t sum, uint64_t size)
{
    uint64_t hash = sum + size * 0x9e3779b185ebca87u;
    hash = (hash ^ hash >> 37) * 0x165667919e3779f9u;
    return hash ^ hash >> 32;
}
