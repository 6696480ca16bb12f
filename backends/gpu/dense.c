/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "backends/gpu/dense.h"

enum { GROUPS = 1 << 30 /* most of a launch */ };

static uint32_t format_of(wcodec_dtype dtype)
{
    switch (dtype) {
    case WCODEC_DTYPE_BF16:
        return WCODEC_TO_BF16;
    case WCODEC_DTYPE_F16:
        return WCODEC_TO_F16;
    case WCODEC_DTYPE_I8:
        return WCODEC_FROM_I8;
    case WCODEC_DTYPE_U8:
        return WCODEC_FROM_U8;
    case WCODEC_DTYPE_F8_E4M3:
        return WCODEC_FROM_E4M3;
    case WCODEC_DTYPE_F8_E5M2:
        return WCODEC_FROM_E5M2;
    default:
        return WCODEC_TO_F32;
    }
}

uint64_t wcodec_gpu_plan_dense(const struct wcodec_dense_product *p, uint64_t elements,
                               uint32_t items, uint64_t first, struct wcodec_gpu_dense *launch)
{
    const uint64_t width = p->transposed ? WCODEC_DENSE_COLUMNS : WCODEC_DENSE_ROWS,
                   parts = ((p->transposed ? p->columns : p->rows) + width - 1) / width,
                   most = parts < GROUPS ? GROUPS / parts * WCODEC_DENSE_VECTORS
                                         : (uint64_t)WCODEC_DENSE_VECTORS,
                   left = p->vectors - first, vectors = left < most ? left : most,
                   eights = (vectors + WCODEC_DENSE_VECTORS - 1) / WCODEC_DENSE_VECTORS,
                   x_first = p->transposed ? p->first : 0, y_first = p->transposed ? 0 : p->first;
    *launch = (struct wcodec_gpu_dense){
        .kernel = p->transposed ? WCODEC_DENSE_COLUMN_SUMS : WCODEC_DENSE_ROW_SUMS,
        .groups = (uint32_t)(parts * eights),
        .threads = items,
        .shared = WCODEC_DENSE_SHARED_BYTES(items),
        .arguments = {
            .elements = elements,
            .x = p->x + first * p->x_stride + x_first * wcodec_gpu_operand_bytes(p->x_dtype),
            .y = p->y + first * p->y_stride + y_first * wcodec_gpu_operand_bytes(p->y_dtype),
            .bias = p->bias + p->first * wcodec_gpu_operand_bytes(p->bias_dtype),
            .scales = p->scales + p->first * wcodec_gpu_operand_bytes(p->scales_dtype),
            .x_stride = p->x_stride,
            .y_stride = p->y_stride,
            .rows = (uint32_t)p->rows,
            .columns = (uint32_t)p->columns,
            .vectors = (uint32_t)vectors,
            .format = format_of(p->dtype),
            .x_format = format_of(p->x_dtype),
            .y_format = format_of(p->y_dtype),
            .bias_format = format_of(p->bias_dtype),
            .scales_format = format_of(p->scales_dtype),
            .with_bias = p->bias != 0,
            .with_scales = p->scales != 0,
            .add = p->add,
        }};
    return vectors;
}

bool wcodec_gpu_dense_by_int8(const struct wcodec_dense_product *p, uint64_t elements)
{
    return p->dtype == WCODEC_DTYPE_I8 && p->x_dtype == WCODEC_DTYPE_BF16 && !p->transposed &&
           p->columns % WCODEC_INT8_COLUMNS == 0 && elements % 16 == 0 && p->x % 16 == 0 &&
           p->x_stride % 16 == 0;
}

uint64_t wcodec_gpu_plan_int8(const struct wcodec_dense_product *p, uint64_t elements,
                              uint64_t first, struct wcodec_gpu_dense *launch)
{
    const uint64_t left = p->vectors - first, most = WCODEC_DENSE_VECTORS;
    wcodec_gpu_plan_dense(p, elements, WCODEC_DENSE_ITEMS, first, launch);
    launch->kernel = WCODEC_DENSE_INT8;
    launch->groups = (uint32_t)((p->rows + WCODEC_INT8_ROWS - 1) / WCODEC_INT8_ROWS);
    launch->threads = 32 * WCODEC_INT8_WARPS;
    launch->shared = WCODEC_INT8_SHARED;
    launch->arguments.vectors = (uint32_t)(left < most ? left : most);
    return launch->arguments.vectors;
}
