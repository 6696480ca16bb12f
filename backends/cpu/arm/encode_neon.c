/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The encoder's NEON level: what encode_vectors.h asks for. */
#include "backends/cpu/encode.h"

#include <arm_neon.h>

#define INLINE static inline __attribute__((always_inline))

typedef uint8x16_t vec;
typedef float32x4_t floats;

INLINE uint16x8_t halves(vec v)
{
    return vreinterpretq_u16_u8(v);
}

INLINE uint32x4_t words(vec v)
{
    return vreinterpretq_u32_u8(v);
}

INLINE vec of_halves(uint16x8_t v)
{
    return vreinterpretq_u8_u16(v);
}

INLINE vec of_words(uint32x4_t v)
{
    return vreinterpretq_u8_u32(v);
}

INLINE vec load(const void *p)
{
    return vld1q_u8(p);
}

INLINE void store(void *p, vec v)
{
    vst1q_u8(p, v);
}

INLINE vec set_bytes(uint8_t n)
{
    return vdupq_n_u8(n);
}

INLINE vec set_halves(uint16_t n)
{
    return of_halves(vdupq_n_u16(n));
}

INLINE vec set_words(uint32_t n)
{
    return of_words(vdupq_n_u32(n));
}

INLINE vec both(vec a, vec b)
{
    return vandq_u8(a, b);
}

INLINE vec either(vec a, vec b)
{
    return vorrq_u8(a, b);
}

INLINE vec without(vec a, vec b)
{
    return vbicq_u8(a, b);
}

INLINE vec choose(vec mask, vec a, vec b)
{
    return vbslq_u8(mask, a, b);
}

INLINE bool any(vec v)
{
    return vmaxvq_u8(v) != 0;
}

INLINE vec add_bytes(vec a, vec b)
{
    return vaddq_u8(a, b);
}

INLINE vec add_halves(vec a, vec b)
{
    return of_halves(vaddq_u16(halves(a), halves(b)));
}

INLINE vec add_words(vec a, vec b)
{
    return of_words(vaddq_u32(words(a), words(b)));
}

INLINE vec subtract_bytes(vec a, vec b)
{
    return vsubq_u8(a, b);
}

INLINE vec subtract_halves(vec a, vec b)
{
    return of_halves(vsubq_u16(halves(a), halves(b)));
}

INLINE vec subtract_words(vec a, vec b)
{
    return of_words(vsubq_u32(words(a), words(b)));
}

INLINE vec equal_bytes(vec a, vec b)
{
    return vceqq_u8(a, b);
}

INLINE vec multiply_halves(vec a, vec b)
{
    return of_halves(vmulq_u16(halves(a), halves(b)));
}

INLINE vec multiply_upper_halves(vec a, vec b)
{
    const uint32x4_t low = vmull_u16(vget_low_u16(halves(a)), vget_low_u16(halves(b))),
                     high = vmull_high_u16(halves(a), halves(b));
    return of_halves(vuzp2q_u16(vreinterpretq_u16_u32(low), vreinterpretq_u16_u32(high)));
}

INLINE vec not_below_halves(vec a, vec b)
{
    return of_halves(vcgeq_u16(halves(a), halves(b)));
}

INLINE vec not_below_words(vec a, vec b)
{
    return of_words(vcgeq_u32(words(a), words(b)));
}

INLINE vec left_halves(vec v, unsigned n)
{
    return of_halves(vshlq_u16(halves(v), vdupq_n_s16((int16_t)n)));
}

INLINE vec right_halves(vec v, unsigned n)
{
    return of_halves(vshlq_u16(halves(v), vdupq_n_s16((int16_t) - (int)n)));
}

INLINE vec left_words(vec v, unsigned n)
{
    return of_words(vshlq_u32(words(v), vdupq_n_s32((int)n)));
}

INLINE vec right_words(vec v, unsigned n)
{
    return of_words(vshlq_u32(words(v), vdupq_n_s32(-(int)n)));
}

INLINE vec rotate_words(vec v, unsigned n)
{
    return either(left_words(v, n), right_words(v, 32 - n));
}

INLINE vec narrow(vec a, vec b)
{
    return vuzp1q_u8(a, b);
}

INLINE vec even_halves(vec a, vec b)
{
    return of_halves(vuzp1q_u16(halves(a), halves(b)));
}

INLINE vec odd_halves(vec a, vec b)
{
    return of_halves(vuzp2q_u16(halves(a), halves(b)));
}

INLINE vec even_words(vec a, vec b)
{
    return of_words(vuzp1q_u32(words(a), words(b)));
}

INLINE vec odd_words(vec a, vec b)
{
    return of_words(vuzp2q_u32(words(a), words(b)));
}

INLINE vec zip_low(vec a, vec b)
{
    return of_halves(vzip1q_u16(halves(a), halves(b)));
}

INLINE vec zip_high(vec a, vec b)
{
    return of_halves(vzip2q_u16(halves(a), halves(b)));
}

INLINE vec pick(vec table, vec index)
{
    return vqtbl1q_u8(table, index);
}

struct lookup {
    uint8x16x2_t t;
};

INLINE struct lookup load_lookup(const uint8_t *p)
{
    return (struct lookup){{{load(p), load(p + 16)}}};
}

INLINE vec look_up(const struct lookup *l, vec v)
{
    return vqtbl2q_u8(l->t, both(v, set_bytes(31)));
}

INLINE vec pair_nibbles(vec a, vec b)
{
    return vsliq_n_u8(vuzp1q_u8(a, b), vuzp2q_u8(a, b), 4);
}

INLINE unsigned mask_of(vec v)
{
    static const uint16_t bits[8] = {1, 2, 4, 8, 16, 32, 64, 128};
    return vaddvq_u16(vandq_u16(halves(v), vld1q_u16(bits)));
}

INLINE unsigned count_bits(unsigned mask)
{
    return (unsigned)__builtin_popcount(mask);
}

INLINE floats invert(vec f)
{
    return vdivq_f32(vdupq_n_f32(1 - 0x1p-21f), vcvtq_f32_u32(words(f)));
}

INLINE vec estimate(vec high, vec low, floats inverse)
{
    return of_words(
        vcvtq_u32_f32(vmulq_f32(vcvtq_f32_u32(vsliq_n_u32(words(low), words(high), 16)), inverse)));
}

#include "backends/cpu/encode_vectors.h"

void wcodec_cpu_encode_dsp_init_neon(struct wcodec_cpu_encode_dsp *dsp)
{
    dsp->level = 4;
    use_vectors(dsp);
}
