/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Vector operations in registers of 16 bytes: NEON of AArch64. A number in a name is the width of
 * the elements in bits; x86/vec.h, vec128.h and vec_masks.h have the same names. */
#ifndef WCODEC_CPU_ARM_VEC_NEON_H
#define WCODEC_CPU_ARM_VEC_NEON_H

#include "backends/cpu/inline.h"

#include <arm_neon.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VEC_BYTES 16

typedef uint32x4_t vec;

/* A register as elements of a type and back. */
#define AS_u8(v) vreinterpretq_u8_u32(v)
#define AS_u16(v) vreinterpretq_u16_u32(v)
#define AS_u32(v) (v)
#define AS_u64(v) vreinterpretq_u64_u32(v)
#define AS_s8(v) vreinterpretq_s8_u32(v)
#define AS_s16(v) vreinterpretq_s16_u32(v)
#define AS_s32(v) vreinterpretq_s32_u32(v)
#define AS_f32(v) vreinterpretq_f32_u32(v)
#define FROM_u8(v) vreinterpretq_u32_u8(v)
#define FROM_u16(v) vreinterpretq_u32_u16(v)
#define FROM_u32(v) (v)
#define FROM_u64(v) vreinterpretq_u32_u64(v)
#define FROM_s8(v) vreinterpretq_u32_s8(v)
#define FROM_s16(v) vreinterpretq_u32_s16(v)
#define FROM_s32(v) vreinterpretq_u32_s32(v)
#define FROM_f32(v) vreinterpretq_u32_f32(v)

#define VEC_UNARY(name, op, type) \
    INLINE vec name(vec v) \
    { \
        return FROM_##type(op##_##type(AS_##type(v))); \
    }
#define VEC_BINARY(name, op, type) \
    INLINE vec name(vec a, vec b) \
    { \
        return FROM_##type(op##_##type(AS_##type(a), AS_##type(b))); \
    }
#define VEC_COMPARE(name, op, type, mask) \
    INLINE vec name(vec a, vec b) \
    { \
        return FROM_##mask(op##_##type(AS_##type(a), AS_##type(b))); \
    }

/* Bytes: words of the format need not be aligned. */
INLINE vec load(const void *p)
{
    return FROM_u8(vld1q_u8(p));
}

INLINE void store(void *p, vec v)
{
    vst1q_u8(p, AS_u8(v));
}

INLINE vec set8(uint8_t n)
{
    return FROM_u8(vdupq_n_u8(n));
}

INLINE vec set16(uint16_t n)
{
    return FROM_u16(vdupq_n_u16(n));
}

INLINE vec set32(uint32_t n)
{
    return FROM_u32(vdupq_n_u32(n));
}

INLINE vec set64(uint64_t n)
{
    return FROM_u64(vdupq_n_u64(n));
}

INLINE vec zero(void)
{
    return set8(0);
}

VEC_BINARY(bit_and, vandq, u32)
VEC_BINARY(bit_or, vorrq, u32)
VEC_BINARY(bit_clear, vbicq, u32) /* a & ~b */

VEC_BINARY(add8, vaddq, u8)
VEC_BINARY(add16, vaddq, u16)
VEC_BINARY(add32, vaddq, u32)
VEC_BINARY(sub8, vsubq, u8)
VEC_BINARY(sub16, vsubq, u16)
VEC_BINARY(sub32, vsubq, u32)
VEC_BINARY(sub64, vsubq, u64)
VEC_BINARY(mul16, vmulq, u16)
VEC_BINARY(mul32, vmulq, u32)
VEC_BINARY(min8, vminq, u8)
VEC_BINARY(min16, vminq, u16)
VEC_BINARY(add8_limited, vqaddq, s8)
VEC_BINARY(add16_limited, vqaddq, s16)
VEC_UNARY(abs8, vabsq, s8)
VEC_UNARY(abs16, vabsq, s16)

/* The upper 16 bits of the products. */
INLINE vec mul16_high(vec a, vec b)
{
    const uint32x4_t low = vmull_u16(vget_low_u16(AS_u16(a)), vget_low_u16(AS_u16(b))),
                     high = vmull_high_u16(AS_u16(a), AS_u16(b));
    return FROM_u16(vuzp2q_u16(vreinterpretq_u16_u32(low), vreinterpretq_u16_u32(high)));
}

VEC_BINARY(equal8, vceqq, u8)
VEC_BINARY(not_below16, vcgeq, u16)
VEC_BINARY(not_below32, vcgeq, u32)
VEC_COMPARE(above32, vcgtq, s32, u32)

/* a where the mask is all ones, b where it is zero. */
INLINE vec blend(vec mask, vec a, vec b)
{
    return vbslq_u32(mask, a, b);
}

INLINE vec blend_not_above8(vec a, vec b, vec x, vec y)
{
    return FROM_u8(vbslq_u8(vcleq_u8(AS_u8(a), AS_u8(b)), AS_u8(x), AS_u8(y)));
}

INLINE vec blend_not_above16(vec a, vec b, vec x, vec y)
{
    return FROM_u8(
        vbslq_u8(vreinterpretq_u8_u16(vcleq_u16(AS_u16(a), AS_u16(b))), AS_u8(x), AS_u8(y)));
}

INLINE bool any(vec v)
{
    return vmaxvq_u8(AS_u8(v)) != 0;
}

/* By any count; SHL32() and the like take constants. */
INLINE vec shl16(vec v, unsigned n)
{
    return FROM_u16(vshlq_u16(AS_u16(v), vdupq_n_s16((int16_t)n)));
}

INLINE vec shr16(vec v, unsigned n)
{
    return FROM_u16(vshlq_u16(AS_u16(v), vdupq_n_s16((int16_t) - (int)n)));
}

INLINE vec shl32(vec v, unsigned n)
{
    return FROM_u32(vshlq_u32(AS_u32(v), vdupq_n_s32((int32_t)n)));
}

INLINE vec shr32(vec v, unsigned n)
{
    return FROM_u32(vshlq_u32(AS_u32(v), vdupq_n_s32(-(int32_t)n)));
}

#define SHL32(v, n) FROM_u32(vshlq_n_u32(AS_u32(v), n))
#define SHR32(v, n) FROM_u32(vshrq_n_u32(AS_u32(v), n))
#define SAR32(v, n) FROM_s32(vshrq_n_s32(AS_s32(v), n))

/* Floor of half a signed element. */
INLINE vec half8(vec v)
{
    return FROM_s8(vshrq_n_s8(AS_s8(v), 1));
}

INLINE vec half16(vec v)
{
    return FROM_s16(vshrq_n_s16(AS_s16(v), 1));
}

INLINE vec rotate_right_4(vec v)
{
    return FROM_u32(vsliq_n_u32(vshrq_n_u32(AS_u32(v), 4), AS_u32(v), 28));
}

typedef int32_t shift_count;

INLINE shift_count make_count(unsigned log2, unsigned by)
{
    (void)log2;
    return (int32_t)by;
}

INLINE vec shift_left(unsigned log2, vec v, shift_count by)
{
    return log2 == 1 ? FROM_u16(vshlq_u16(AS_u16(v), vdupq_n_s16((int16_t)by)))
                     : FROM_u32(vshlq_u32(AS_u32(v), vdupq_n_s32(by)));
}

INLINE vec shift_right(vec v, shift_count by)
{
    return FROM_u32(vshlq_u32(AS_u32(v), vdupq_n_s32(-by)));
}

VEC_BINARY(zip_low8, vzip1q, u8)
VEC_BINARY(zip_low16, vzip1q, u16)
VEC_BINARY(zip_low32, vzip1q, u32)
VEC_BINARY(zip_low64, vzip1q, u64)
VEC_BINARY(zip_high8, vzip2q, u8)
VEC_BINARY(zip_high16, vzip2q, u16)
VEC_BINARY(zip_high32, vzip2q, u32)
VEC_BINARY(zip_high64, vzip2q, u64)
VEC_BINARY(pack16, vuzp1q, u8)  /* elements of at most 255 to bytes */
VEC_BINARY(pack32, vuzp1q, u16) /* of at most 65535 to halves */
VEC_BINARY(even_words, vuzp1q, u32)
VEC_BINARY(odd_words, vuzp2q, u32)
VEC_BINARY(shuffle, vqtbl1q, u8)

INLINE vec repeat_last8(vec v)
{
    return FROM_u8(vdupq_laneq_u8(AS_u8(v), 15));
}

INLINE vec repeat_last16(vec v)
{
    return FROM_u16(vdupq_laneq_u16(AS_u16(v), 7));
}

/* Integers to binary32 and back towards zero; sums and products, rounded to nearest. */
INLINE vec f32_from_i32(vec v)
{
    return FROM_f32(vcvtq_f32_s32(AS_s32(v)));
}

INLINE vec i32_from_f32(vec v)
{
    return FROM_s32(vcvtq_s32_f32(AS_f32(v)));
}

INLINE vec f32_set(float n)
{
    return FROM_f32(vdupq_n_f32(n));
}

VEC_BINARY(f32_add, vaddq, f32)
VEC_BINARY(f32_mul, vmulq, f32)
VEC_BINARY(f32_div, vdivq, f32)

/* As many elements as a register has words, as words. */
INLINE vec load_u16(const void *p)
{
    return vmovl_u16(vreinterpret_u16_u8(vld1_u8(p)));
}

INLINE vec load_s8(const void *p)
{
    uint32_t four;
    memcpy(&four, p, sizeof four);
    const int8x8_t bytes = vreinterpret_s8_u32(vdup_n_u32(four));
    return FROM_s32(vmovl_s16(vget_low_s16(vmovl_s8(bytes))));
}

/* a b + c, rounded once. */
INLINE vec f32_fused(vec a, vec b, vec c)
{
    return FROM_f32(vfmaq_f32(AS_f32(c), AS_f32(a), AS_f32(b)));
}

/* The number whose halves are given in words, rounded. */
INLINE vec f32_from_halves(vec high, vec low)
{
    return FROM_f32(vcvtq_f32_u32(vsliq_n_u32(AS_u32(low), AS_u32(high), 16)));
}

#include "backends/cpu/vec_one_part.h"

#define MOVE_UP(v, bytes) FROM_u8(vextq_u8(vdupq_n_u8(0), AS_u8(v), 16 - (bytes)))
#define SPREAD32(v, i) FROM_u32(vdupq_laneq_u32(AS_u32(v), i))

INLINE part load_part(const void *p)
{
    return load(p);
}

INLINE void store_part(void *p, part v)
{
    store(p, v);
}

INLINE part shuffle_part(part v, const uint8_t order[16])
{
    return shuffle(v, load(order));
}

/* A bit for each half that is all ones, not zeros. */
INLINE unsigned mask16(vec v)
{
    static const uint16_t bits[8] = {1, 2, 4, 8, 16, 32, 64, 128};
    return vaddvq_u16(vandq_u16(AS_u16(v), vld1q_u16(bits)));
}

INLINE unsigned count_bits(unsigned mask)
{
    return (unsigned)__builtin_popcount(mask);
}

INLINE vec gather(const uint32_t *entries, vec index)
{
    const uint64_t a = vgetq_lane_u64(AS_u64(index), 0), b = vgetq_lane_u64(AS_u64(index), 1);
    const uint32x4_t v = vld1q_lane_u32(entries + (a >> 32), vdupq_n_u32(entries[(uint32_t)a]), 1);
    return FROM_u32(
        vld1q_lane_u32(entries + (b >> 32), vld1q_lane_u32(entries + (uint32_t)b, v, 2), 3));
}

#endif
