/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Tiles at a fixed rate: each level's functions against the reference, on random bytes under all
 * shifts. Inputs and outputs end or begin at guard pages, and nothing is written between the rows;
 * then matrices of all shapes, whole and in parts. */
#include "support_fixed.h"
#include "support_guarded.h"

#include "backends/cpu/cpu_level.h"
#include "backends/cpu/fixed.h"

enum { POISON = 0x5a, ROWS = WCODEC_FIXED_ROWS, ROW = 2 * WCODEC_FIXED_COLUMNS };

void checkdsp_fixed(uint32_t levels, uint64_t seed);

static struct wcodec_fixed random_fixed(uint64_t *seed, uint64_t rows, uint64_t columns)
{
    struct wcodec_fixed f = {.columns = columns,
                             .bits = (uint8_t)(2 + support_random(seed) % 2),
                             .list = (uint8_t)(1 + support_random(seed) % 16)};
    assert_int_equal(wcodec_fixed_derive(&f, 2 * rows * columns, NULL), WCODEC_OK);
    return f;
}

static void fill(uint64_t *seed, uint8_t *to, size_t size)
{
    for (size_t i = 0; i < size; i++)
        to[i] = (uint8_t)support_random(seed);
}

static void check_expand(const struct wcodec_cpu_fixed_dsp *dsp, uint64_t *seed)
{
    const struct wcodec_fixed f = random_fixed(seed, ROWS, WCODEC_FIXED_COLUMNS);
    const struct wcodec_fixed_list none = {0};
    const uint32_t coded = wcodec_fixed_list_begin(&f);
    const size_t stride = ROW + support_random(seed) % 70, size = (ROWS - 1) * stride + ROW;
    struct guarded in = guarded_side(coded, support_random(seed) % 2),
                   out = guarded_side(size, support_random(seed) % 2);
    uint8_t *expected = malloc(size), shifts[ROWS];
    uint16_t add[ROWS], mask[ROWS];
    fill(seed, in.data, coded);
    fill(seed, shifts, sizeof shifts);
    for (unsigned i = 0; i < ROWS; i++) {
        shifts[i] = support_random(seed) % 8 ? shifts[i] : (uint8_t)WCODEC_FIXED_ZERO_ROW;
        add[i] = (uint16_t)(128 * (int8_t)shifts[i]);
        mask[i] = shifts[i] == (uint8_t)WCODEC_FIXED_ZERO_ROW ? 0x8000 : 0xFFFF;
        add[i] = mask[i] == 0x8000 ? 0 : add[i];
    }
    memset(out.data, POISON, size);
    memset(expected, POISON, size);
    dsp->expand[f.bits - 2](in.data, add, mask, out.data, stride);
    wcodec_fixed_tile_decode(&f, in.data, &none, shifts, NULL, expected, stride);
    for (size_t i = 0; i < size; i++)
        if (out.data[i] != expected[i])
            fail_msg("%s, %u bits: byte %zu of row %zu is %u, not %u",
                     wcodec_cpu_level_name(dsp->level), f.bits, i % stride, i / stride, out.data[i],
                     expected[i]);
    free(expected);
    guarded_free(&out);
    guarded_free(&in);
}

/* A tile without those beside it, of a matrix with those elements. */
static void check_alone(const struct wcodec_cpu_fixed_job *job, uint64_t tile,
                        const uint8_t *record, uint32_t check, const uint8_t *elements)
{
    const struct wcodec_fixed *f = job->fixed;
    const uint64_t band = tile / f->across, x = tile % f->across;
    const unsigned height = wcodec_fixed_height(f, band);
    const size_t width = 2 * (size_t)wcodec_fixed_width(f, x);
    const uint8_t *from = elements + 2 * (band * ROWS * f->columns + x * WCODEC_FIXED_COLUMNS);
    struct guarded out = guarded_side(height * width, tile % 2 != 0);
    assert_int_equal(wcodec_cpu_fixed_decode_alone(job, tile, record, check ^ 1, out.data),
                     WCODEC_TILE_CHECK);
    assert_int_equal(wcodec_cpu_fixed_decode_alone(job, tile, record, check, out.data),
                     WCODEC_TILE_OK);
    for (unsigned row = 0; row < height; row++)
        assert_memory_equal(out.data + row * width, from + 2 * row * f->columns, width);
    guarded_free(&out);
}

/* What the driver makes of a matrix: its tiles, their checks, and any part of its bytes. */
static void check_matrix(const struct wcodec_cpu_fixed_dsp *dsp, uint64_t *seed)
{
    const uint64_t rows = 1 + support_random(seed) % 40, columns = 1 + support_random(seed) % 300;
    struct wcodec_fixed f = random_fixed(seed, rows, columns);
    const size_t size = (size_t)f.size;
    uint8_t *elements = malloc(size), *spilled = malloc(4 * 2048 * (size_t)f.tiles),
            *records = malloc((size_t)f.tiles * f.record_size),
            *shifts = calloc(1, (size_t)f.checks_begin);
    uint32_t *checks = malloc((size_t)f.tiles * sizeof *checks);
    const uint64_t begin = support_random(seed) % (size + 1),
                   end = begin + support_random(seed) % (size - begin + 1);
    struct guarded out = guarded_side((size_t)(end - begin), support_random(seed) % 2);
    for (size_t i = 0; i < size; i += 2) /* mostly of few exponents */
        wcodec_store_u16(elements + i, (uint16_t)(support_random(seed) % 50
                                                      ? 0x3C00 + (support_random(seed) & 0x83FF)
                                                      : support_random(seed)));
    for (uint64_t i = 0; i < rows; i++)
        shifts[i] = (uint8_t)(support_random(seed) % 3);
    for (uint64_t tile = 0; tile < f.tiles; tile++) {
        const uint64_t band = tile / f.across, row = band * ROWS,
                       column = tile % f.across * WCODEC_FIXED_COLUMNS;
        uint8_t *record = records + tile * f.record_size, *own = spilled + 4 * f.spilled;
        const uint32_t count = support_fixed_code_tile(
            &f, elements + 2 * (row * columns + column), (size_t)(2 * columns),
            wcodec_fixed_height(&f, band), wcodec_fixed_width(&f, tile % f.across), shifts + row,
            f.spilled, record, own);
        checks[tile] = wcodec_fixed_tile_check(&f, record, own, count);
        f.spilled += count;
    }
    const struct wcodec_cpu_fixed_job job = {.dsp = dsp,
                                             .fixed = &f,
                                             .shifts = shifts,
                                             .spilled = spilled,
                                             .spilled_end = f.spilled,
                                             .verify = true,
                                             .begin = begin,
                                             .end = end,
                                             .dst = out.data};
    for (uint64_t tile = 0; tile < f.tiles; tile++) {
        const uint8_t *record = records + tile * f.record_size;
        assert_int_equal(wcodec_cpu_fixed_decode(&job, tile, record, checks[tile]), WCODEC_TILE_OK);
        assert_int_equal(wcodec_cpu_fixed_decode(&job, tile, record, checks[tile] ^ 1),
                         WCODEC_TILE_CHECK);
        check_alone(&job, tile, record, checks[tile], elements);
    }
    assert_memory_equal(out.data, elements + begin, (size_t)(end - begin));
    guarded_free(&out);
    free(checks);
    free(shifts);
    free(records);
    free(spilled);
    free(elements);
}

void checkdsp_fixed(uint32_t levels, uint64_t seed)
{
    struct wcodec_cpu_fixed_dsp dsp;
    wcodec_cpu_fixed_dsp_init(&dsp, levels);
    for (unsigned i = 0; i < 100; i++)
        check_expand(&dsp, &seed);
    for (unsigned i = 0; i < 60; i++)
        check_matrix(&dsp, &seed);
}
