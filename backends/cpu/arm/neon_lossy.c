/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The NEON level: reconstruction of lossy tensors. Products of 32 bits are fast here. */
#include "backends/cpu/lossy.h"

#include <arm_neon.h>

#define INLINE static inline __attribute__((always_inline))
#define INVERSE_LANES 4

typedef uint32x4_t vec;

/* Bytes: words of the format need not be aligned. */
INLINE vec load_row(const void *at)
{
    return vreinterpretq_u32_u8(vld1q_u8(at));
}

INLINE void store_row(void *at, vec v)
{
    vst1q_u8(at, vreinterpretq_u8_u32(v));
}

INLINE vec load_words(const uint8_t *at)
{
    return load_row(at);
}

INLINE void load_pairs(const uint8_t *at, vec *low, vec *high)
{
    const vec a = load_row(at), b = load_row(at + 16);
    *low = vuzp1q_u32(a, b);
    *high = vuzp2q_u32(a, b);
}

INLINE void store_wide(uint8_t *at, vec low, vec high)
{
    store_row(at, low);
    store_row(at + 16, high);
}

INLINE vec set_word(uint32_t word)
{
    return vdupq_n_u32(word);
}

INLINE vec plus(vec a, vec b)
{
    return vaddq_u32(a, b);
}

INLINE vec minus(vec a, vec b)
{
    return vsubq_u32(a, b);
}

INLINE vec times(vec a, vec b)
{
    return vmulq_u32(a, b);
}

#define SHIFT_LEFT(v, n) vshlq_n_u32(v, n)
#define SHIFT_RIGHT(v, n) vreinterpretq_u32_s32(vshrq_n_s32(vreinterpretq_s32_u32(v), n))
#define SHIFT_DOWN(v, n) vshrq_n_u32(v, n)

INLINE vec both(vec a, vec b)
{
    return vandq_u32(a, b);
}

INLINE vec either(vec a, vec b)
{
    return vorrq_u32(a, b);
}

INLINE vec pick(vec mask, vec a, vec b)
{
    return vbslq_u32(mask, a, b);
}

INLINE vec below(vec a, vec b)
{
    return vcltq_s32(vreinterpretq_s32_u32(a), vreinterpretq_s32_u32(b));
}

INLINE vec to_number(vec v)
{
    return vreinterpretq_u32_f32(vcvtq_f32_s32(vreinterpretq_s32_u32(v)));
}

INLINE vec scaled(vec a, vec b)
{
    return vreinterpretq_u32_f32(vmulq_f32(vreinterpretq_f32_u32(a), vreinterpretq_f32_u32(b)));
}

INLINE vec sum_of(vec a, vec b)
{
    return vreinterpretq_u32_f32(vaddq_f32(vreinterpretq_f32_u32(a), vreinterpretq_f32_u32(b)));
}

INLINE vec low_words(vec a, vec b)
{
    return vzip1q_u32(a, b);
}

INLINE vec high_words(vec a, vec b)
{
    return vzip2q_u32(a, b);
}

INLINE vec low_doubles(vec a, vec b)
{
    return vreinterpretq_u32_u64(vzip1q_u64(vreinterpretq_u64_u32(a), vreinterpretq_u64_u32(b)));
}

INLINE vec high_doubles(vec a, vec b)
{
    return vreinterpretq_u32_u64(vzip2q_u64(vreinterpretq_u64_u32(a), vreinterpretq_u64_u32(b)));
}

#include "backends/cpu/inverse.h"

void wcodec_cpu_lossy_dsp_init_neon(struct wcodec_cpu_lossy_dsp *dsp)
{
    *dsp = (struct wcodec_cpu_lossy_dsp){.level = 4, INVERSE_FUNCTIONS};
}
