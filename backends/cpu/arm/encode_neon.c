/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The encoder's NEON level. */
#include "backends/cpu/arm/vec_neon.h"

struct lookup {
    uint8x16x2_t t;
};

INLINE struct lookup load_lookup(const uint8_t *p)
{
    return (struct lookup){{{vld1q_u8(p), vld1q_u8(p + 16)}}};
}

INLINE vec look_up(const struct lookup *l, vec v)
{
    return FROM_u8(vqtbl2q_u8(l->t, vandq_u8(AS_u8(v), vdupq_n_u8(31))));
}

INLINE vec even_halves(vec a, vec b)
{
    return FROM_u16(vuzp1q_u16(AS_u16(a), AS_u16(b)));
}

INLINE vec odd_halves(vec a, vec b)
{
    return FROM_u16(vuzp2q_u16(AS_u16(a), AS_u16(b)));
}

INLINE vec pair_nibbles(vec a, vec b)
{
    return FROM_u8(vsliq_n_u8(vuzp1q_u8(AS_u8(a), AS_u8(b)), vuzp2q_u8(AS_u8(a), AS_u8(b)), 4));
}

#include "backends/cpu/encode_one_part.h"
#include "backends/cpu/encode_vectors.h"

void wcodec_cpu_encode_dsp_init_neon(struct wcodec_cpu_encode_dsp *dsp)
{
    dsp->level = 4;
    use_vectors(dsp);
}
