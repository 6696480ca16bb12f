/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Halves of superblocks go straight to their destination; those of which only a part is wanted, or
 * of which a part is padding, go through a buffer. */
#include "backends/cpu/lossy.h"

#include "backends/cpu/cpu_level.h"
#include "backends/cpu/quantise.h"
#include "core/assert.h"

enum { SIDE = WCODEC_TRANSFORM_SIDE, BLOCK = WCODEC_TRANSFORM_BLOCK };

static const wcodec_dtype dtypes[WCODEC_CPU_NUMBERS] = {WCODEC_DTYPE_BF16, WCODEC_DTYPE_F16,
                                                        WCODEC_DTYPE_F32};

static inline void inverse_scalar(enum wcodec_cpu_number number, unsigned order, unsigned log2,
                                  const uint8_t *coefficients, unsigned count, const uint8_t *modes,
                                  const float *scales, uint8_t *dst, size_t stride)
{
    const size_t width = (size_t)SIDE << (number == WCODEC_CPU_TO_F32 ? 2 : 1);
    for (unsigned block = 0; block < count; block++) {
        int32_t placed[BLOCK], values[BLOCK];
        for (unsigned k = 0; k < BLOCK; k++)
            placed[wcodec_orders[order][k]] =
                wcodec_coefficient(coefficients, log2, wcodec_coefficient_index(block, k));
        wcodec_transform_inverse(modes[block], placed, values);
        for (unsigned y = 0; y < SIDE; y++)
            wcodec_lossy_store(dtypes[number], values + (size_t)SIDE * y, SIDE, scales[y],
                               dst + y * stride + block * width);
    }
}

static inline void dequantise_scalar(enum wcodec_cpu_number number, unsigned log2,
                                     const uint8_t *coefficients, size_t count, float scale,
                                     uint8_t *dst)
{
    for (size_t i = 0; i < count; i++) {
        const int32_t value = wcodec_coefficient(coefficients, log2, i) * WCODEC_TRANSFORM_UNIT;
        wcodec_lossy_store(dtypes[number], &value, 1, scale,
                           dst + (i << (number == WCODEC_CPU_TO_F32 ? 2 : 1)));
    }
}

#define FUNCTIONS(name, number) \
    static void inverse_##name(unsigned order, unsigned log2, const uint8_t *coefficients, \
                               unsigned count, const uint8_t *modes, const float *scales, \
                               uint8_t *dst, size_t stride) \
    { \
        inverse_scalar(number, order, log2, coefficients, count, modes, scales, dst, stride); \
    } \
    static void dequantise_##name(unsigned log2, const uint8_t *coefficients, size_t count, \
                                  float scale, uint8_t *dst) \
    { \
        dequantise_scalar(number, log2, coefficients, count, scale, dst); \
    }

FUNCTIONS(bf16, WCODEC_CPU_TO_BF16)
FUNCTIONS(f16, WCODEC_CPU_TO_F16)
FUNCTIONS(f32, WCODEC_CPU_TO_F32)

void wcodec_cpu_lossy_dsp_init_scalar(struct wcodec_cpu_lossy_dsp *dsp)
{
    *dsp = (struct wcodec_cpu_lossy_dsp){
        .level = 0,
        .inverse = {inverse_bf16, inverse_f16, inverse_f32},
        .dequantise = {dequantise_bf16, dequantise_f16, dequantise_f32},
        QUANTISE_FUNCTIONS};
}

void wcodec_cpu_lossy_dsp_init(struct wcodec_cpu_lossy_dsp *dsp, uint32_t levels)
{
    WCODEC_CPU_CLIMB(wcodec_cpu_lossy_dsp_init_, struct wcodec_cpu_lossy_dsp, dsp, levels);
}

/* The arguments of a call. */
struct request {
    const struct wcodec_cpu_lossy_dsp *dsp;
    const struct wcodec_lossy *lossy;
    const uint8_t *side;
    enum wcodec_cpu_number number;
    uint64_t begin, end;
    uint8_t *dst;
    bool stream;
};

/* Half `half` of a superblock whose upper left element is at that row and column. */
static void restore_half(const struct request *r, uint64_t superblock, unsigned half, uint64_t row,
                         uint64_t column, const uint8_t *coefficients)
{
    const struct wcodec_lossy *l = r->lossy;
    const uint64_t left = l->columns - column,
                   first = superblock * WCODEC_SUPERBLOCK_BLOCKS + half * WCODEC_CPU_HALF_BLOCKS;
    const unsigned width = left < WCODEC_SUPERBLOCK_COLUMNS ? (unsigned)left
                                                            : WCODEC_SUPERBLOCK_COLUMNS,
                   height = l->rows - row < SIDE ? (unsigned)(l->rows - row) : SIDE;
    const uint64_t stride = l->columns << l->element_log2,
                   at = row * stride + (column << l->element_log2),
                   bytes = (uint64_t)width << l->element_log2;
    uint8_t modes[WCODEC_CPU_HALF_BLOCKS];
    float scales[SIDE];
    for (unsigned i = 0; i < WCODEC_CPU_HALF_BLOCKS; i++)
        modes[i] = (uint8_t)wcodec_lossy_mode(l, r->side, first + i);
    for (unsigned y = 0; y < SIDE; y++)
        scales[y] = y < height ? wcodec_lossy_scale(l, r->side, row + y) : 0;
    if (width == WCODEC_SUPERBLOCK_COLUMNS && height == SIDE && at >= r->begin &&
        at + (SIDE - 1) * stride + bytes <= r->end) {
        uint8_t *to = r->dst + (at - r->begin);
        const bool aligned = ((uintptr_t)to | stride) % 64 == 0;
        const wcodec_cpu_inverse_fn inverse =
            r->stream && aligned ? r->dsp->inverse_stream[r->number] : r->dsp->inverse[r->number];
        inverse(l->order, l->coefficient_log2, coefficients, WCODEC_CPU_HALF_BLOCKS, modes, scales,
                to, (size_t)stride);
        return;
    }
    uint8_t elements[SIDE][4 * WCODEC_SUPERBLOCK_COLUMNS];
    r->dsp->inverse[r->number](l->order, l->coefficient_log2, coefficients,
                               (width + SIDE - 1) / SIDE, modes, scales, elements[0],
                               sizeof elements[0]);
    for (unsigned y = 0; y < height; y++)
        wcodec_put_part(elements[y], at + y * stride, bytes, r->begin, r->end, r->dst);
}

static void restore_superblock(const struct request *r, uint64_t superblock,
                               const uint8_t *coefficients)
{
    const struct wcodec_lossy *l = r->lossy;
    const uint64_t row = superblock / l->across * WCODEC_SUPERBLOCK_ROWS,
                   column = superblock % l->across * WCODEC_SUPERBLOCK_COLUMNS;
    for (unsigned half = 0; half < 2 && row + half * SIDE < l->rows; half++)
        restore_half(r, superblock, half, row + half * SIDE, column,
                     coefficients + ((size_t)half * WCODEC_CPU_HALF << l->coefficient_log2));
}

/* Elements of one row, or of a tensor with one scale. */
static void restore_run(const struct request *r, uint64_t first, size_t count,
                        const uint8_t *coefficients)
{
    const struct wcodec_lossy *l = r->lossy;
    const unsigned element = l->element_log2;
    const float scale = wcodec_lossy_scale(l, r->side, first / l->columns);
    uint8_t bytes[4];
    if (first << element < r->begin || (first + count) << element > r->end) {
        for (size_t i = 0; i < count; i++) {
            r->dsp->dequantise[r->number](
                l->coefficient_log2, coefficients + (i << l->coefficient_log2), 1, scale, bytes);
            wcodec_put_part(bytes, (first + i) << element, (uint64_t)1 << element, r->begin, r->end,
                            r->dst);
        }
    } else {
        r->dsp->dequantise[r->number](l->coefficient_log2, coefficients, count, scale,
                                      r->dst + ((first << element) - r->begin));
    }
}

static void restore_plain(const struct request *r, uint64_t first, uint64_t end,
                          const uint8_t *coefficients)
{
    const struct wcodec_lossy *l = r->lossy;
    /* Elements whose first or last byte is not wanted, at both ends of the bytes. */
    const uint64_t inside = (r->begin + ((uint64_t)1 << l->element_log2) - 1) >> l->element_log2,
                   beyond = r->end >> l->element_log2;
    for (uint64_t i = first; i < end;) {
        uint64_t stop = l->row_scales ? (i / l->columns + 1) * l->columns : end;
        if (stop > end)
            stop = end;
        if (i < inside && inside < stop)
            stop = inside;
        else if (i < beyond && beyond < stop)
            stop = beyond;
        restore_run(r, i, (size_t)(stop - i), coefficients + ((i - first) << l->coefficient_log2));
        i = stop;
    }
}

void wcodec_cpu_restore_lossy(const struct wcodec_cpu_lossy_dsp *dsp, const struct wcodec_lossy *l,
                              const uint8_t *side, uint64_t first, uint64_t end,
                              const uint8_t *coefficients, uint64_t begin, uint64_t end_byte,
                              uint8_t *dst, bool stream)
{
    const struct request r = {.dsp = dsp,
                              .lossy = l,
                              .side = side,
                              .number = l->dtype == WCODEC_DTYPE_BF16  ? WCODEC_CPU_TO_BF16
                                        : l->dtype == WCODEC_DTYPE_F16 ? WCODEC_CPU_TO_F16
                                                                       : WCODEC_CPU_TO_F32,
                              .begin = begin,
                              .end = end_byte,
                              .dst = dst,
                              .stream = stream && dsp->stream_end != NULL};
    WCODEC_ASSERT(first <= end && begin <= end_byte);
    if (l->plain) {
        restore_plain(&r, first, end, coefficients);
        return;
    }
    for (uint64_t s = first; s < end;
         s++, coefficients += (size_t)WCODEC_SUPERBLOCK << l->coefficient_log2)
        restore_superblock(&r, s, coefficients);
    if (r.stream)
        dsp->stream_end();
}
