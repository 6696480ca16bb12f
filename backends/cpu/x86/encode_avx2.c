/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The encoder's AVX2 level. */
#include "backends/cpu/x86/vec256.h"

#include "backends/cpu/x86/encode_x86.h"

enum { EIGHT = 1 };

/* By loads: with microcode against data sampling a gather takes several times as long on most
 * processors that stop at AVX2. */
INLINE void load_entries(const uint32_t *entries, const uint8_t *symbols, unsigned stride,
                         vec e[EIGHT])
{
    e[0] = _mm256_setr_epi32((int)entries[symbols[0]], (int)entries[symbols[stride]],
                             (int)entries[symbols[2 * stride]], (int)entries[symbols[3 * stride]],
                             (int)entries[symbols[4 * stride]], (int)entries[symbols[5 * stride]],
                             (int)entries[symbols[6 * stride]], (int)entries[symbols[7 * stride]]);
}

INLINE part low_halves(const vec v[EIGHT])
{
    const vec low = bit_and(v[0], set32(0xffff));
    return _mm_packus_epi32(part_of(low, 0), part_of(low, 1));
}

INLINE unsigned mask_words(const vec v[EIGHT])
{
    return (unsigned)_mm256_movemask_ps(VEC_CAST_PS(v[0]));
}

#include "backends/cpu/encode_vectors.h"

INLINE uint64_t equal_bits(vec a, vec b)
{
    return (uint32_t)_mm256_movemask_epi8(equal8(a, b));
}

INLINE uint64_t above_bits(vec a, vec b)
{
    return (uint32_t)~_mm256_movemask_epi8(equal8(min8(a, b), a));
}

#include "backends/cpu/x86/count.h"

void wcodec_cpu_encode_dsp_init_avx2(struct wcodec_cpu_encode_dsp *dsp)
{
    dsp->level = 2;
    use_vectors(dsp);
    dsp->count = count_symbols;
}
