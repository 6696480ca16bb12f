/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The NEON level of AArch64: assembling elements, copying them out, and the check's sums. */
#include "backends/cpu/arm/vec_neon.h"

#include "backends/cpu/decode.h"
#include "coding/check_key.h"
#include "core/bytes.h"

INLINE uint8x8_t load_4(const uint8_t *p)
{
    return vcreate_u8(wcodec_load_u32(p));
}

INLINE vec spread(unsigned element_log2, const uint8_t *symbols)
{
    if (element_log2 == 0)
        return load(symbols);
    return element_log2 == 1 ? FROM_u16(vmovl_u8(vld1_u8(symbols)))
                             : FROM_u32(vmovl_u16(vget_low_u16(vmovl_u8(load_4(symbols)))));
}

INLINE vec rotate_right(vec v, int32x4_t by)
{
    const uint32x4_t words = AS_u32(v);
    return FROM_u32(vorrq_u32(vshlq_u32(words, vnegq_s32(by)),
                              vshlq_u32(words, vsubq_s32(vdupq_n_s32(32), by))));
}

INLINE vec plane_words(const uint8_t *rows, unsigned bits, unsigned element_log2, unsigned group,
                       unsigned lane)
{
    static const uint8_t twice[16] = {0, 1, 2, 3, 1, 2, 3, 0, 4, 5, 6, 7, 5, 6, 7, 4},
                         rows_of_two[16] = {0, 1, 2, 3, 2, 3, 0, 1, 8, 9, 10, 11, 10, 11, 8, 9};
    static const uint8_t fourfold[16] = {0, 1, 2, 3, 1, 2, 3, 0, 2, 3, 0, 1, 3, 0, 1, 2};
    static const int32_t positions[2][4] = {{0, 1, 0, 1}, {0, 1, 2, 3}};
    const unsigned own = 1u << element_log2, ratio = 8 * own / bits, number = own * group;
    const uint8_t *row = rows + 128 * (size_t)(number / ratio) + 4 * lane;
    const int32x4_t turn = vdupq_n_s32((int32_t)(number % ratio * bits));
    if (own == 1)
        return rotate_right(load(row), turn);
    if (own == 2 && bits == 8)
        return shuffle_part(FROM_u8(vcombine_u8(vld1_u8(row), vdup_n_u8(0))), twice);
    if (own == 4 && bits == 16) /* elements 0 and 1 from one row, 2 and 3 from the next */
        return shuffle_part(FROM_u8(vcombine_u8(load_4(row), load_4(row + 128))), rows_of_two);
    if (own == 4 && bits == 8)
        return shuffle_part(FROM_u8(vcombine_u8(load_4(row), vdup_n_u8(0))), fourfold);
    const vec words = own == 2 ? set64(wcodec_load_u64(row)) : set32(wcodec_load_u32(row));
    return rotate_right(own == 2 ? zip_low32(words, words) : words,
                        vmlaq_n_s32(turn, vld1q_s32(positions[own == 4]), (int32_t)bits));
}

/* Keys of a register's words. */
struct keys {
    uint32x4_t words;
};

/* Sums of words 0 and 1 of a register, and of 2 and 3. */
struct column {
    uint64x2_t a, b;
};

INLINE struct keys make_keys(unsigned element_log2, uint32_t number)
{
    static const uint32_t words[4] = {0, 1, 2, 3};
    const uint32x4_t own = vandq_u32(vld1q_u32(words), vdupq_n_u32((1u << element_log2) - 1));
    return (struct keys){
        vmlaq_n_u32(vdupq_n_u32(WCODEC_CHECK_KEY(number)), own, WCODEC_CHECK_STEP)};
}

INLINE struct column empty_column(void)
{
    return (struct column){vdupq_n_u64(0), vdupq_n_u64(0)};
}

INLINE void add_words(struct column *c, const uint8_t *at, const struct keys *keys)
{
    const uint32x4_t v = AS_u32(load(at));
    c->a = vmlal_u32(c->a, vget_low_u32(v), vget_low_u32(keys->words));
    c->b = vmlal_high_u32(c->b, v, keys->words);
}

INLINE void put_column(unsigned element_log2, unsigned r, struct column c,
                       uint64_t sums[WCODEC_LANES])
{
    uint64_t *to = sums + ((4 * r) >> element_log2);
    if (element_log2 == 0) {
        vst1q_u64(to, vaddq_u64(vld1q_u64(to), c.a));
        vst1q_u64(to + 2, vaddq_u64(vld1q_u64(to + 2), c.b));
    } else if (element_log2 == 1) {
        vst1q_u64(to, vaddq_u64(vld1q_u64(to), vpaddq_u64(c.a, c.b)));
    } else {
        to[0] += vaddvq_u64(vaddq_u64(c.a, c.b));
    }
}

#include "backends/cpu/elements.h"

void wcodec_cpu_dsp_init_neon_elements(struct wcodec_cpu_dsp *dsp)
{
    use_elements(dsp);
}
