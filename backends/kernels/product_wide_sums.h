/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The end of products of many vectors (product_wide.h): sums of a work-group's rows become its part
 * of y. Those of parts of the columns are added in order, whatever part comes last: in a cluster by
 * way of shared memory, else in the device's memory, where the last part to come finds the others'.
 * No part waits for another there, so that none has to run while another does. */
#ifndef WCODEC_KERNELS_PRODUCT_WIDE_SUMS_H
#define WCODEC_KERNELS_PRODUCT_WIDE_SUMS_H

#include "backends/kernels/product_wide_work.h"

#ifdef WCODEC_WARPGROUPS
/* A warp's sums to shared memory. */
WCODEC_DEVICE_FUNCTION void wcodec_wide_put(const uint32_t vectors, struct wcodec_warp *warp,
                                            const struct wcodec_wide *w, const float *sums)
{
    const uint32_t lane = wcodec_lane(warp), row = 16 * wcodec_warp_number(warp) + lane / 4;
    WCODEC_UNROLL_ALL
    for (uint32_t i = 0; i < vectors / 2; i++) {
        const uint32_t vector = i / 4 * 8 + lane % 4 * 2 + i % 2;
        wcodec_put_u32(warp, w->stages + 4 * (vector * WCODEC_WIDE_STRIDE + row + i / 2 % 2 * 8),
                       WCODEC_FLOAT_BITS(sums[i]));
    }
}

/* The sums of all parts for two rows from `row` on. */
WCODEC_DEVICE_FUNCTION void wcodec_wide_sum(struct wcodec_warp *warp, const struct wcodec_wide *w,
                                            uint32_t vector, uint32_t row, float *two)
{
    const struct wcodec_wide_launch *l = w->launch;
    const uint32_t at = w->stages + 4 * (vector * WCODEC_WIDE_STRIDE + row),
                   first = w->share * l->product.parts;
    const wcodec_u2 v =
        l->product.parts == 1 ? wcodec_shared_u2(warp, at) : wcodec_cluster_u2(at, first);
    two[0] = wcodec_bits_float(v.x);
    two[1] = wcodec_bits_float(v.y);
    WCODEC_UNROLL_NONE
    for (uint32_t part = 1; part < l->product.parts; part++) {
        const wcodec_u2 more = wcodec_cluster_u2(at, first + part);
        two[0] += wcodec_bits_float(more.x);
        two[1] += wcodec_bits_float(more.y);
    }
}

/* The bits of a number of 16. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_wide_bits(uint32_t format, float v)
{
    const uint32_t bits = WCODEC_FLOAT_BITS(v), magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u)
        return format == WCODEC_TO_BF16 ? 0x7fc0 : 0x7e00;
    return format == WCODEC_TO_BF16 ? wcodec_to_bf16(bits) : wcodec_to_f16(bits);
}

/* The work-group's part of y: of its vectors those that are its turn, a thread two rows. */
WCODEC_DEVICE_FUNCTION void wcodec_wide_finish(const uint32_t vectors, struct wcodec_warp *warp,
                                               const struct wcodec_wide *w)
{
    const struct wcodec_product_launch *l = &w->launch->product;
    const uint32_t row = wcodec_thread(warp) % (WCODEC_WIDE_ROWS / 2) * 2,
                   at = w->rows * WCODEC_WIDE_ROWS + row, begin = w->block * vectors,
                   left = l->vectors - begin, count = left < vectors ? left : vectors,
                   step = 32 * WCODEC_WIDE_BANDS / (WCODEC_WIDE_ROWS / 2),
                   end = count * (w->part + 1) / l->parts;
    const bool pairs = l->y_format != WCODEC_TO_F32 && ((l->y | l->y_stride) & 3) == 0;
    float scale[2], bias[2] = {0, 0};
    if (at >= l->rows)
        return;
    const bool both = at + 1 < l->rows;
    WCODEC_UNROLL_ALL
    for (uint32_t i = 0; i < 2; i++) {
        const uint32_t r = i == 1 && both ? at + 1 : at;
        scale[i] = wcodec_product_scale(((const WCODEC_GLOBAL uint8_t *)l->shifts)[r]);
        if (l->bias)
            bias[i] = wcodec_product_number(l->bias, l->bias_format, r);
    }
    WCODEC_UNROLL_SOME
    for (uint32_t v = count * w->part / l->parts + wcodec_thread(warp) / (WCODEC_WIDE_ROWS / 2);
         v < end; v += step) {
        const uint64_t to = l->y + (uint64_t)(begin + v) * l->y_stride;
        float two[2];
        wcodec_wide_sum(warp, w, v, row, two);
        WCODEC_UNROLL_ALL
        for (uint32_t i = 0; i < 2; i++) {
            two[i] *= scale[i];
            if (l->bias)
                two[i] += bias[i];
        }
        if (pairs && both) {
            ((WCODEC_GLOBAL uint32_t *)to)[at / 2] =
                wcodec_wide_bits(l->y_format, two[0]) | wcodec_wide_bits(l->y_format, two[1]) << 16;
        } else {
            wcodec_product_store(to, l->y_format, at, two[0]);
            if (both)
                wcodec_product_store(to, l->y_format, at + 1, two[1]);
        }
    }
}

/* Where work-group `group` puts a lane's sums. */
WCODEC_DEVICE_FUNCTION uint64_t wcodec_wide_sums_at(const uint32_t vectors,
                                                    struct wcodec_warp *warp,
                                                    const struct wcodec_wide_launch *l,
                                                    uint32_t group)
{
    const uint32_t warps = WCODEC_WIDE_BANDS;
    return l->sums + ((uint64_t)group * warps + wcodec_warp_number(warp)) * (vectors * 64) +
           16 * wcodec_lane(warp);
}

/* A warp's sums, and those of the other parts of its rows, in order, if theirs have all come: true.
 * Else they are put where the part that comes last finds them. */
WCODEC_DEVICE_FUNCTION bool wcodec_wide_join(const uint32_t vectors, struct wcodec_warp *warp,
                                             const struct wcodec_wide *w, float *sums)
{
    const struct wcodec_wide_launch *l = w->launch;
    const uint32_t own = wcodec_group(warp), parts = l->product.parts, first = own - w->part;
    const uint64_t counter =
        l->counters + 4 * ((uint64_t)(own / parts) * WCODEC_WIDE_BANDS + wcodec_warp_number(warp));
    float all[WCODEC_WIDE_JOINED / 2];
    if (wcodec_arrived(warp, counter) != parts - 1) {
        const uint64_t to = wcodec_wide_sums_at(vectors, warp, l, own);
        WCODEC_UNROLL_ALL
        for (uint32_t i = 0; i < vectors / 8; i++)
            wcodec_store_u4((WCODEC_GLOBAL uint8_t *)(to + 512 * i), WCODEC_FLOAT_BITS(sums[4 * i]),
                            WCODEC_FLOAT_BITS(sums[4 * i + 1]), WCODEC_FLOAT_BITS(sums[4 * i + 2]),
                            WCODEC_FLOAT_BITS(sums[4 * i + 3]));
        if (wcodec_arrive(warp, counter) != parts - 1)
            return false;
    }
    WCODEC_UNROLL_ALL
    for (uint32_t i = 0; i < vectors / 2; i++)
        all[i] = 0;
    WCODEC_UNROLL_NONE
    for (uint32_t group = first; group < first + parts; group++) {
        const uint64_t from = wcodec_wide_sums_at(vectors, warp, l, group);
        if (group == own) {
            WCODEC_UNROLL_ALL
            for (uint32_t i = 0; i < vectors / 2; i++)
                all[i] += sums[i];
            continue;
        }
        WCODEC_UNROLL_ALL
        for (uint32_t i = 0; i < vectors / 8; i++) {
            const wcodec_u4 v = wcodec_load_shared_by_all(from + 512 * i);
            all[4 * i] += wcodec_bits_float(v.x);
            all[4 * i + 1] += wcodec_bits_float(v.y);
            all[4 * i + 2] += wcodec_bits_float(v.z);
            all[4 * i + 3] += wcodec_bits_float(v.w);
        }
    }
    WCODEC_UNROLL_ALL
    for (uint32_t i = 0; i < vectors / 2; i++)
        sums[i] = all[i];
    return true;
}

/* Where a warp's 16 rows of y go. */
struct wcodec_wide_out {
    uint32_t at;            /* the lane's first row: the other one is 8 after it */
    uint32_t vector, count; /* the block's first one, and so many */
    float scale[2], bias[2];
};

/* Two rows of two neighbouring vectors, from `vector` of the block on: [vector][row]. */
WCODEC_DEVICE_FUNCTION void wcodec_wide_values(const struct wcodec_product_launch *l,
                                               const struct wcodec_wide_out *out, const float *sums,
                                               float v[2][2])
{
    WCODEC_UNROLL_ALL
    for (uint32_t i = 0; i < 4; i++) {
        v[i % 2][i / 2] = sums[i] * out->scale[i / 2];
        if (l->bias)
            v[i % 2][i / 2] += out->bias[i / 2];
    }
}

/* By words of two rows: lanes of neighbouring rows exchange one of two vectors, and have both rows
 * of the other one each. */
WCODEC_DEVICE_FUNCTION void wcodec_wide_store_pairs(const uint32_t vectors,
                                                    struct wcodec_warp *warp,
                                                    const struct wcodec_product_launch *l,
                                                    const struct wcodec_wide_out *out,
                                                    const float *sums)
{
    const uint32_t lane = wcodec_lane(warp), odd = lane / 4 % 2, first = lane % 4 * 2 + odd;
    uint64_t to = l->y + (uint64_t)(out->vector + first) * l->y_stride + 2 * (out->at - odd);
    WCODEC_UNROLL_ALL
    for (uint32_t j = 0; j < vectors / 8; j++) {
        float v[2][2];
        uint32_t two[2], got, low, high;
        wcodec_wide_values(l, out, sums + 4 * j, v);
        WCODEC_UNROLL_ALL
        for (uint32_t i = 0; i < 2; i++)
            two[i] = wcodec_wide_bits(l->y_format, v[i][0]) | wcodec_wide_bits(l->y_format, v[i][1])
                                                                  << 16;
        got = wcodec_swap(warp, odd ? two[0] : two[1], 4);
        low = odd ? got : two[0];
        high = odd ? two[1] : got;
        if (8 * j + first < out->count) {
            ((WCODEC_GLOBAL uint32_t *)to)[0] = wcodec_bytes(low, high, 0x5410);
            ((WCODEC_GLOBAL uint32_t *)to)[4] = wcodec_bytes(low, high, 0x7632);
        }
        to += 8 * l->y_stride;
    }
}

WCODEC_DEVICE_FUNCTION void wcodec_wide_store_any(const uint32_t vectors, struct wcodec_warp *warp,
                                                  const struct wcodec_product_launch *l,
                                                  const struct wcodec_wide_out *out,
                                                  const float *sums)
{
    const uint32_t first = wcodec_lane(warp) % 4 * 2;
    WCODEC_UNROLL_ALL
    for (uint32_t j = 0; j < vectors / 8; j++) {
        float v[2][2];
        wcodec_wide_values(l, out, sums + 4 * j, v);
        WCODEC_UNROLL_ALL
        for (uint32_t i = 0; i < 4; i++) {
            const uint32_t vector = 8 * j + first + i % 2, row = out->at + i / 2 * 8;
            if (vector < out->count && row < l->rows)
                wcodec_product_store(l->y + (uint64_t)(out->vector + vector) * l->y_stride,
                                     l->y_format, row, v[i % 2][i / 2]);
        }
    }
}

/* A warp's 16 rows of y. */
WCODEC_DEVICE_FUNCTION void wcodec_wide_store(const uint32_t vectors, struct wcodec_warp *warp,
                                              const struct wcodec_wide *w, const float *sums)
{
    const struct wcodec_product_launch *l = &w->launch->product;
    const uint32_t top = w->rows * WCODEC_WIDE_ROWS + 16 * wcodec_warp_number(warp),
                   left = l->vectors - w->block * vectors;
    struct wcodec_wide_out out;
    if (top >= l->rows)
        return;
    out.at = top + wcodec_lane(warp) / 4;
    out.vector = w->block * vectors;
    out.count = left < vectors ? left : vectors;
    WCODEC_UNROLL_ALL
    for (uint32_t h = 0; h < 2; h++) {
        const uint32_t row = out.at + 8 * h < l->rows ? out.at + 8 * h : l->rows - 1;
        out.scale[h] = wcodec_product_scale(((const WCODEC_GLOBAL uint8_t *)l->shifts)[row]);
        out.bias[h] = l->bias ? wcodec_product_number(l->bias, l->bias_format, row) : 0;
    }
    if (l->y_format != WCODEC_TO_F32 && ((l->y | l->y_stride) & 3) == 0 && top + 16 <= l->rows)
        wcodec_wide_store_pairs(vectors, warp, l, &out, sums);
    else
        wcodec_wide_store_any(vectors, warp, l, &out, sums);
}
#endif

#endif
