/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Reconstruction of blocks: each level's functions, and the driver over views of all shapes,
 * against the reference. Any bytes are residuals, so that there is nothing hostile beside extreme
 * ones. Inputs and outputs end or begin at guard pages, and nothing is written between the rows. */
#include "support_guarded.h"

#include "backends/cpu/blocks.h"
#include "backends/cpu/cpu_level.h"

enum { POISON = 0x5a };

void checkdsp_blocks(uint32_t levels, uint64_t seed);

static void make_residuals(uint64_t *seed, uint8_t *to, size_t size)
{
    const unsigned kind = (unsigned)(support_random(seed) % 5);
    static const uint8_t ends[] = {0x00, 0x7f, 0x80, 0xff, 0x01, 0x81};
    for (size_t i = 0; i < size; i++) {
        const uint64_t x = support_random(seed);
        to[i] = (uint8_t)(kind == 0   ? x
                          : kind == 1 ? ends[x % sizeof ends]
                          : kind == 2 ? ends[0] + x % 3 - 1
                          : kind == 3 ? (x % 16 ? 0 : x >> 8)
                                      : ends[x % 2 + 1]);
    }
}

/* Blocks side by side in a row of blocks, with a gap between some, in their places in a random
 * order. */
static void check_mode(const struct wcodec_cpu_blocks_dsp *dsp, unsigned w, unsigned mode,
                       unsigned count, uint64_t *seed)
{
    const size_t block = (size_t)WCODEC_BLOCK << w, row = (size_t)WCODEC_BLOCK_SIDE << w,
                 gap = (size_t)(support_random(seed) % 3) << w,
                 stride = count * (row + gap) - gap +
                          (support_random(seed) % 2 ? 0 : 1 + support_random(seed) % 70);
    const size_t size = 15 * stride + count * (row + gap) - gap;
    struct guarded in = guarded_side(count * block, support_random(seed) % 2),
                   out = guarded_side(size, support_random(seed) % 2);
    uint8_t *expected = malloc(size);
    const uint8_t *from[WCODEC_CPU_BLOCKS];
    uint8_t *to[WCODEC_CPU_BLOCKS];
    const unsigned turn = (unsigned)(support_random(seed) % count);
    make_residuals(seed, in.data, count * block);
    memset(out.data, POISON, size);
    memset(expected, POISON, size);
    for (unsigned i = 0; i < count; i++) {
        uint8_t elements[2 * WCODEC_BLOCK];
        const size_t at = (i + turn) % count * (row + gap);
        from[i] = in.data + i * block;
        to[i] = out.data + at;
        wcodec_block_restore(mode, w, from[i], elements);
        for (unsigned y = 0; y < WCODEC_BLOCK_SIDE; y++)
            memcpy(expected + at + y * stride, elements + y * row, row);
    }
    for (unsigned i = count; i % WCODEC_CPU_BLOCKS_STEP; i++) {
        from[i] = from[count - 1];
        to[i] = to[count - 1];
    }
    dsp->restore[w](mode, from, to, stride, count);
    for (size_t i = 0; i < size; i++)
        if (out.data[i] != expected[i])
            fail_msg(
                "%s, elements of %u bytes, mode %u, %u blocks: byte %zu of row %zu is %u, not %u",
                wcodec_cpu_level_name(dsp->level), 1u << w, mode, count, i % stride, i / stride,
                out.data[i], expected[i]);
    free(expected);
    guarded_free(&out);
    guarded_free(&in);
}

static struct wcodec_blocks make_view(uint64_t *seed)
{
    struct wcodec_blocks b = {.columns =
                                  1 + support_random(seed) % (support_random(seed) % 2 ? 40 : 400)};
    const uint64_t rows = 1 + support_random(seed) % 100;
    const unsigned w = (unsigned)(support_random(seed) % 2);
    assert_int_equal(wcodec_blocks_derive(&b, (b.columns * rows) << w, w, NULL), WCODEC_OK);
    for (unsigned mode = 0; mode < 16; mode++)
        if (wcodec_mode_valid(mode) && support_random(seed) % 3 == 0)
            b.modes[b.mode_count++] = (uint8_t)mode;
    if (b.mode_count == 0)
        b.modes[b.mode_count++] = WCODEC_PREDICTOR_PAETH;
    return b;
}

/* Some blocks of a view, and some of their bytes. */
static void check_view(const struct wcodec_cpu_blocks_dsp *dsp, uint64_t *seed)
{
    const struct wcodec_blocks b = make_view(seed);
    const unsigned bits = wcodec_blocks_index_bits(&b);
    const uint64_t first = support_random(seed) % 4 ? 0 : support_random(seed) % b.count,
                   end = support_random(seed) % 4
                             ? b.count
                             : first + 1 + support_random(seed) % (b.count - first);
    uint64_t begin = support_random(seed) % 2 ? 0 : support_random(seed) % b.size,
             stop = support_random(seed) % 2 ? b.size
                                             : begin + 1 + support_random(seed) % (b.size - begin);
    const size_t block = (size_t)WCODEC_BLOCK << b.element_log2, size = (size_t)(stop - begin);
    struct guarded in = guarded_side((size_t)(end - first) * block, support_random(seed) % 2),
                   out = guarded_side(size, support_random(seed) % 2);
    struct guarded packed = guarded_new((size_t)wcodec_blocks_modes_size(&b) + 1);
    uint8_t *expected = malloc(size);
    memset(packed.data, 0, (size_t)wcodec_blocks_modes_size(&b) + 1);
    for (uint64_t i = 0; i < b.count && bits; i++)
        packed.data[i * bits / 8] |=
            (uint8_t)(support_random(seed) % b.mode_count << (i * bits % 8));
    make_residuals(seed, in.data, (size_t)(end - first) * block);
    memset(out.data, POISON, size);
    memset(expected, POISON, size);
    for (uint64_t i = first; i < end; i++)
        wcodec_block_reconstruct(&b, i, wcodec_blocks_mode(&b, packed.data, i),
                                 in.data + (i - first) * block, begin, stop, expected);
    wcodec_cpu_restore_blocks(dsp, &b, packed.data, first, end, in.data, begin, stop, out.data);
    if (memcmp(out.data, expected, size))
        fail_msg("%s: a view of %llu x %llu elements of %u bytes, bytes %llu to %llu",
                 wcodec_cpu_level_name(dsp->level), (unsigned long long)b.rows,
                 (unsigned long long)b.columns, 1u << b.element_log2, (unsigned long long)begin,
                 (unsigned long long)stop);
    free(expected);
    guarded_free(&packed);
    guarded_free(&out);
    guarded_free(&in);
}

void checkdsp_blocks(uint32_t levels, uint64_t seed)
{
    struct wcodec_cpu_blocks_dsp dsp;
    wcodec_cpu_blocks_dsp_init(&dsp, levels);
    assert_int_equal(dsp.level, wcodec_cpu_level_highest(levels));
    for (unsigned w = 0; w < 2; w++)
        for (unsigned mode = 0; mode < 16; mode++)
            for (unsigned i = 0; i < 60 && wcodec_mode_valid(mode); i++)
                check_mode(&dsp, w, mode,
                           i < 20 ? i + 1
                                  : 1 + (unsigned)(support_random(&seed) % WCODEC_CPU_BLOCKS),
                           &seed);
    for (unsigned i = 0; i < 600; i++)
        check_view(&dsp, &seed);
}
