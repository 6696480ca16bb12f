/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The NEON level of AArch64: reconstruction of blocks. */
#include "backends/cpu/blocks.h"

#include <arm_neon.h>

#define INLINE static inline __attribute__((always_inline))

typedef uint8x16_t vec;

INLINE uint16x8_t wide(vec v)
{
    return vreinterpretq_u16_u8(v);
}

INLINE vec bytes(uint16x8_t v)
{
    return vreinterpretq_u8_u16(v);
}

INLINE vec zero(void)
{
    return vdupq_n_u8(0);
}

INLINE vec load_parts(const uint8_t *const *from, size_t at)
{
    return vld1q_u8(from[0] + at);
}

INLINE void store_parts(uint8_t *const *to, size_t at, vec v)
{
    vst1q_u8(to[0] + at, v);
}

INLINE vec plus(unsigned element_log2, vec a, vec b)
{
    return element_log2 ? bytes(vaddq_u16(wide(a), wide(b))) : vaddq_u8(a, b);
}

INLINE vec minus(unsigned element_log2, vec a, vec b)
{
    return element_log2 ? bytes(vsubq_u16(wide(a), wide(b))) : vsubq_u8(a, b);
}

INLINE vec half(unsigned element_log2, vec v)
{
    return element_log2 ? vreinterpretq_u8_s16(vshrq_n_s16(vreinterpretq_s16_u8(v), 1))
                        : vreinterpretq_u8_s8(vshrq_n_s8(vreinterpretq_s8_u8(v), 1));
}

INLINE vec plus_limited(unsigned element_log2, vec a, vec b)
{
    if (element_log2)
        return vreinterpretq_u8_s16(vqaddq_s16(vreinterpretq_s16_u8(a), vreinterpretq_s16_u8(b)));
    return vreinterpretq_u8_s8(vqaddq_s8(vreinterpretq_s8_u8(a), vreinterpretq_s8_u8(b)));
}

INLINE vec size_of(unsigned element_log2, vec v)
{
    return element_log2 ? vreinterpretq_u8_s16(vabsq_s16(vreinterpretq_s16_u8(v)))
                        : vreinterpretq_u8_s8(vabsq_s8(vreinterpretq_s8_u8(v)));
}

INLINE vec less(unsigned element_log2, vec a, vec b)
{
    return element_log2 ? bytes(vminq_u16(wide(a), wide(b))) : vminq_u8(a, b);
}

INLINE vec pick(unsigned element_log2, vec a, vec b, vec x, vec y)
{
    return vbslq_u8(element_log2 ? bytes(vcleq_u16(wide(a), wide(b))) : vcleq_u8(a, b), x, y);
}

#define MOVE_UP(v, bytes) vextq_u8(vdupq_n_u8(0), v, 16 - (bytes))
#define SPREAD(v, i) vreinterpretq_u8_u32(vdupq_laneq_u32(vreinterpretq_u32_u8(v), i))

INLINE vec last(unsigned element_log2, vec v)
{
    return element_log2 ? bytes(vdupq_laneq_u16(wide(v), 7)) : vdupq_laneq_u8(v, 15);
}

INLINE vec low_of(unsigned size_log2, vec a, vec b)
{
    switch (size_log2) {
    case 0:
        return vzip1q_u8(a, b);
    case 1:
        return bytes(vzip1q_u16(wide(a), wide(b)));
    case 2:
        return vreinterpretq_u8_u32(vzip1q_u32(vreinterpretq_u32_u8(a), vreinterpretq_u32_u8(b)));
    default:
        return vreinterpretq_u8_u64(vzip1q_u64(vreinterpretq_u64_u8(a), vreinterpretq_u64_u8(b)));
    }
}

INLINE vec high_of(unsigned size_log2, vec a, vec b)
{
    switch (size_log2) {
    case 0:
        return vzip2q_u8(a, b);
    case 1:
        return bytes(vzip2q_u16(wide(a), wide(b)));
    case 2:
        return vreinterpretq_u8_u32(vzip2q_u32(vreinterpretq_u32_u8(a), vreinterpretq_u32_u8(b)));
    default:
        return vreinterpretq_u8_u64(vzip2q_u64(vreinterpretq_u64_u8(a), vreinterpretq_u64_u8(b)));
    }
}

INLINE vec turn(vec v)
{
    static const uint8_t order[16] = {0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15};
    return vqtbl1q_u8(v, vld1q_u8(order));
}

#define RESTORE_PARTS 1
#include "backends/cpu/restore.h"

void wcodec_cpu_blocks_dsp_init_neon(struct wcodec_cpu_blocks_dsp *dsp)
{
    *dsp = (struct wcodec_cpu_blocks_dsp){.level = 4, .restore = {restore_8, restore_16}};
}
