/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Reconstruction of lossy tensors: each level's functions, and the driver over views of all shapes,
 * against the reference; and their encoder's. Any bytes are coefficients: small ones, those at the
 * limit up to which products of 16 bits serve, and the extremes, which wrap. Inputs and outputs end
 * or begin at guard pages, and nothing is written between the rows. */
#include "support_guarded.h"

#include "backends/cpu/cpu_level.h"
#include "backends/cpu/lossy.h"
#include <math.h>

enum { POISON = 0x5a };

void checkdsp_lossy(uint32_t levels, uint64_t seed);

static void put_coefficient(uint8_t *to, unsigned w, size_t i, int64_t v)
{
    if (w)
        wcodec_store_u16(to + 2 * i, (uint16_t)v);
    else
        to[i] = (uint8_t)v;
}

/* Half a superblock or a part of one; kind 3: blocks whose absolute values add up to about 1400, by
 * few or many coefficients. */
static void make_coefficients(uint64_t *seed, unsigned w, uint8_t *to, size_t count)
{
    const unsigned kind = (unsigned)(support_random(seed) % 6);
    for (size_t i = 0; i < count; i++) {
        const uint64_t x = support_random(seed);
        const int64_t sign = x >> 60 & 1 ? 1 : -1;
        switch (kind) {
        case 0:
            put_coefficient(to, w, i, (int64_t)x);
            break;
        case 1: /* the largest */
            put_coefficient(to, w, i, (w ? 32767 : 127) * sign - (sign < 0 && x >> 50 & 1));
            break;
        case 2: /* sparse */
            put_coefficient(to, w, i, x % 12 ? 0 : (int64_t)(x >> 8 & 7) * sign);
            break;
        case 3:
            put_coefficient(to, w, i, (int64_t)(14 + x % 16) * sign);
            break;
        case 4: /* one or two of a block */
            put_coefficient(to, w, i,
                            x % 64 ? 0 : (int64_t)(w ? 1200 + x / 64 % 1000 : 127) * sign);
            break;
        default:
            put_coefficient(to, w, i, (int64_t)(x % 7) - 3);
            break;
        }
    }
}

static float random_scale(uint64_t *seed)
{
    static const uint32_t limits[] = {0, 0x0d800000, 0x5d800000, 0x3f800000};
    const uint64_t x = support_random(seed);
    /* Of numbers that weights have, or of any that is allowed. */
    uint32_t bits = x % 8 == 0  ? limits[x >> 8 & 3]
                    : x % 8 < 3 ? 0x0d800000 + (uint32_t)((x >> 8) % (0x5d800000 - 0x0d800000))
                                : 0x33000000 + (uint32_t)((x >> 8) % 0x0d000000);
    float scale;
    memcpy(&scale, &bits, sizeof scale);
    return scale;
}

static const wcodec_dtype dtypes[WCODEC_CPU_NUMBERS] = {WCODEC_DTYPE_BF16, WCODEC_DTYPE_F16,
                                                        WCODEC_DTYPE_F32};

static void check_half(const struct wcodec_cpu_lossy_dsp *dsp,
                       const struct wcodec_cpu_lossy_dsp *reference, unsigned number, unsigned w,
                       uint64_t *seed)
{
    const bool stream = dsp->stream_end && support_random(seed) % 3 == 0;
    const size_t row = (size_t)WCODEC_SUPERBLOCK_COLUMNS << (number == WCODEC_CPU_TO_F32 ? 2 : 1);
    const size_t stride = row + (support_random(seed) % 2 ? 0
                                 : stream                 ? 64 * (support_random(seed) % 3)
                                                          : support_random(seed) % 70);
    const size_t size = 7 * stride + row, coded = (size_t)WCODEC_CPU_HALF << w;
    const unsigned count =
                       support_random(seed) % 2 ? 32 : 1 + (unsigned)(support_random(seed) % 32),
                   kind = (unsigned)(support_random(seed) % 5),
                   order = (unsigned)(support_random(seed) % WCODEC_ORDERS);
    struct guarded in = guarded_side(coded, support_random(seed) % 2),
                   out = guarded_side(size, support_random(seed) % 2); /* aligned: size is */
    uint8_t *expected = malloc(size), modes[WCODEC_CPU_HALF_BLOCKS];
    float scales[WCODEC_TRANSFORM_SIDE];
    for (unsigned i = 0; i < WCODEC_CPU_HALF_BLOCKS; i++)
        modes[i] = (uint8_t)(kind < 3                   ? kind
                             : kind == 3                ? support_random(seed) % 3
                             : support_random(seed) % 8 ? 1
                                                        : 2 * (support_random(seed) % 2));
    for (unsigned y = 0; y < WCODEC_TRANSFORM_SIDE; y++)
        scales[y] = random_scale(seed);
    make_coefficients(seed, w, in.data, (size_t)WCODEC_CPU_HALF);
    memset(out.data, POISON, size);
    memset(expected, POISON, size);
    (stream ? dsp->inverse_stream : dsp->inverse)[number](order, w, in.data, count, modes, scales,
                                                          out.data, stride);
    if (stream)
        dsp->stream_end();
    reference->inverse[number](order, w, in.data, WCODEC_CPU_HALF_BLOCKS, modes, scales, expected,
                               stride);
    for (size_t i = 0; i < size; i++) {
        const size_t column = i % stride, wanted = row / 32 * count;
        /* Blocks after those that are wanted may have been made, too. */
        if (column >= wanted && column < row && out.data[i] == POISON)
            continue;
        if (out.data[i] != expected[i])
            fail_msg(
                "%s, dtype %s, coefficients of %u bytes, %u blocks, modes %u: byte %zu of row %zu is %u, not %u",
                wcodec_cpu_level_name(dsp->level), wcodec_dtype_name(dtypes[number]), 1u << w,
                count, kind, column, i / stride, out.data[i], expected[i]);
    }
    free(expected);
    guarded_free(&out);
    guarded_free(&in);
}

static void check_run(const struct wcodec_cpu_lossy_dsp *dsp,
                      const struct wcodec_cpu_lossy_dsp *reference, unsigned number, unsigned w,
                      size_t count, uint64_t *seed)
{
    const size_t size = count << (number == WCODEC_CPU_TO_F32 ? 2 : 1);
    struct guarded in = guarded_side(count << w, support_random(seed) % 2),
                   out = guarded_side(size, support_random(seed) % 2);
    uint8_t *expected = malloc(size);
    const float scale = random_scale(seed);
    make_coefficients(seed, w, in.data, count);
    dsp->dequantise[number](w, in.data, count, scale, out.data);
    reference->dequantise[number](w, in.data, count, scale, expected);
    if (memcmp(out.data, expected, size))
        fail_msg("%s, dtype %s, %zu plain coefficients of %u bytes",
                 wcodec_cpu_level_name(dsp->level), wcodec_dtype_name(dtypes[number]), count,
                 1u << w);
    free(expected);
    guarded_free(&out);
    guarded_free(&in);
}

static struct wcodec_lossy make_view(uint64_t *seed, unsigned number)
{
    struct wcodec_lossy l = {.columns =
                                 1 + support_random(seed) % (support_random(seed) % 2 ? 40 : 700),
                             .row_scales = support_random(seed) % 2};
    const uint64_t rows = 1 + support_random(seed) % 50;
    for (unsigned mode = 0; mode < WCODEC_TRANSFORMS; mode++)
        if (support_random(seed) % 2)
            l.modes[l.mode_count++] = (uint8_t)mode;
    if (l.mode_count == 0)
        l.modes[l.mode_count++] = WCODEC_TRANSFORM_DCT;
    assert_int_equal(
        wcodec_lossy_derive(&l, l.columns * rows * wcodec_dtype_bits(dtypes[number]) / 8,
                            dtypes[number], (unsigned)(support_random(seed) % 2), NULL),
        WCODEC_OK);
    l.order = (uint8_t)(l.plain ? 0 : support_random(seed) % WCODEC_ORDERS);
    return l;
}

static void expect(const struct wcodec_lossy *l, const uint8_t *side, uint64_t first, uint64_t end,
                   const uint8_t *coefficients, uint64_t begin, uint64_t stop, uint8_t *out)
{
    uint8_t *whole = malloc((size_t)l->size);
    if (l->plain) {
        wcodec_plain_reconstruct(l, side, first, end - first, coefficients,
                                 whole + (first << l->element_log2));
        for (uint64_t i = first << l->element_log2; i < end << l->element_log2; i++)
            if (i >= begin && i < stop)
                out[i - begin] = whole[i];
    }
    for (uint64_t s = first; s < end && !l->plain; s++)
        wcodec_superblock_reconstruct(
            l, side, s, coefficients + ((s - first) * WCODEC_SUPERBLOCK << l->coefficient_log2),
            begin, stop, out);
    free(whole);
}

/* Some superblocks or elements of a view, and some of their bytes. */
static void check_view(const struct wcodec_cpu_lossy_dsp *dsp, uint64_t *seed)
{
    const struct wcodec_lossy l =
        make_view(seed, (unsigned)(support_random(seed) % WCODEC_CPU_NUMBERS));
    const unsigned bits = wcodec_lossy_index_bits(&l);
    const uint64_t units = l.plain ? l.elements : l.superblocks,
                   unit = l.plain ? 1 : WCODEC_SUPERBLOCK;
    const uint64_t first = support_random(seed) % 4 ? 0 : support_random(seed) % units,
                   end = support_random(seed) % 4
                             ? units
                             : first + 1 + support_random(seed) % (units - first);
    const uint64_t begin = support_random(seed) % 2 ? 0 : support_random(seed) % l.size,
                   stop = support_random(seed) % 2
                              ? l.size
                              : begin + 1 + support_random(seed) % (l.size - begin);
    const size_t coded = (size_t)((end - first) * unit) << l.coefficient_log2,
                 size = (size_t)(stop - begin);
    struct guarded in = guarded_side(coded, support_random(seed) % 2),
                   out = guarded_side(size, support_random(seed) % 2),
                   side = guarded_new((size_t)wcodec_lossy_side_size(&l));
    uint8_t *expected = malloc(size);
    memset(side.data, 0, (size_t)wcodec_lossy_side_size(&l));
    for (uint64_t i = 0; i < l.blocks && bits; i++)
        side.data[i * bits / 8] |= (uint8_t)(support_random(seed) % l.mode_count << (i * bits % 8));
    for (uint64_t i = 0; i < wcodec_lossy_scale_count(&l); i++) {
        const float scale = random_scale(seed);
        uint32_t word;
        memcpy(&word, &scale, sizeof word);
        wcodec_store_u32(side.data + wcodec_lossy_modes_size(&l) + 4 * i, word);
    }
    make_coefficients(seed, l.coefficient_log2, in.data, (size_t)((end - first) * unit));
    memset(out.data, POISON, size);
    memset(expected, POISON, size);
    expect(&l, side.data, first, end, in.data, begin, stop, expected);
    wcodec_cpu_restore_lossy(dsp, &l, side.data, first, end, in.data, begin, stop, out.data,
                             support_random(seed) % 2);
    if (memcmp(out.data, expected, size))
        fail_msg("%s: a view of %llu x %llu elements of %s, %u modes, bytes %llu to %llu",
                 wcodec_cpu_level_name(dsp->level), (unsigned long long)l.rows,
                 (unsigned long long)l.columns, wcodec_dtype_name(l.dtype), l.mode_count,
                 (unsigned long long)begin, (unsigned long long)stop);
    free(expected);
    guarded_free(&side);
    guarded_free(&out);
    guarded_free(&in);
}

/* The encoder's side: transforms and quantising, bit for bit, of values of all sizes. */
static void check_quantise(const struct wcodec_cpu_lossy_dsp *dsp,
                           const struct wcodec_cpu_lossy_dsp *reference, uint64_t *seed)
{
    enum { CLASSES = 16, N = WCODEC_TRANSFORM_BLOCK };
    float margin[CLASSES * WCODEC_CPU_ENTRIES], bits[CLASSES * WCODEC_CPU_ENTRIES];
    struct wcodec_cpu_rounding rounding = {.margin = margin, .bits = bits};
    struct wcodec_cpu_quantised q, expected;
    float values[N], out[N], other[N];
    const bool count = support_random(seed) % 2;
    const float inverse = ldexpf(1, (int)(support_random(seed) % 20));
    for (unsigned i = 0; i < CLASSES * WCODEC_CPU_ENTRIES; i++) {
        const bool never = i % WCODEC_CPU_ENTRIES == 0 || support_random(seed) % 8 == 0;
        margin[i] = never ? -1 : (float)(support_random(seed) % 1024) / 1024;
        bits[i] = (float)(support_random(seed) % 4096) / 128;
    }
    for (unsigned k = 0; k < N; k++) {
        const int64_t x = (int64_t)(support_random(seed) % 65536) - 32768;
        rounding.rows[k] = (uint32_t)(support_random(seed) % CLASSES) * WCODEC_CPU_ENTRIES;
        values[k] = ldexpf((float)x, -(int)(support_random(seed) % 16) - 8);
    }
    dsp->quantise(&rounding, count, values, inverse, &q);
    reference->quantise(&rounding, count, values, inverse, &expected);
    if (memcmp(&q, &expected, sizeof q))
        fail_msg("%s: quantising by %g", wcodec_cpu_level_name(dsp->level), (double)inverse);
    for (unsigned mode = WCODEC_TRANSFORM_DCT; mode < WCODEC_TRANSFORMS; mode++) {
        dsp->forward[mode](values, out);
        reference->forward[mode](values, other);
        if (memcmp(out, other, sizeof out))
            fail_msg("%s: forward %s", wcodec_cpu_level_name(dsp->level),
                     wcodec_transform_name(mode));
    }
}

void checkdsp_lossy(uint32_t levels, uint64_t seed)
{
    struct wcodec_cpu_lossy_dsp dsp, reference;
    wcodec_cpu_lossy_dsp_init(&dsp, levels);
    wcodec_cpu_lossy_dsp_init_scalar(&reference);
    assert_int_equal(dsp.level, wcodec_cpu_level_highest(levels));
    for (unsigned number = 0; number < WCODEC_CPU_NUMBERS; number++)
        for (unsigned w = 0; w < 2; w++) {
            for (unsigned i = 0; i < 150; i++)
                check_half(&dsp, &reference, number, w, &seed);
            for (unsigned i = 0; i < 200; i++)
                check_run(&dsp, &reference, number, w,
                          i < 140 ? i + 1 : 1 + (size_t)(support_random(&seed) % 3000), &seed);
        }
    for (unsigned i = 0; i < 500; i++)
        check_view(&dsp, &seed);
    for (unsigned i = 0; i < 2000; i++)
        check_quantise(&dsp, &reference, &seed);
}
