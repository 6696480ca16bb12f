/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The nearest anchor and products with codes: a level's functions against plain C, to the last bit,
 * on rows among whose distances many are equal, and on rows that are like no other. Inputs and
 * outputs end or begin at guard pages. */
#include "support_guarded.h"

#include "backends/cpu/cpu_level.h"
#include "backends/cpu/nearest.h"

#include <math.h>

enum {
    LANES = WCODEC_NEAREST_LANES,
    GROUP = WCODEC_NEAREST_GROUP,
    ROWS_MAX = 40,
    GROUPS_MAX = 9,
    PANELS_MAX = 4
};

void checkdsp_nearest(uint32_t levels, uint64_t seed);

static void fill(uint64_t *seed, float *to, size_t count, uint64_t values)
{
    for (size_t i = 0; i < count; i++)
        to[i] = (float)(support_random(seed) % values) * 0.37f;
}

static void check(const struct wcodec_cpu_nearest_dsp *dsp,
                  const struct wcodec_cpu_nearest_dsp *plain, uint64_t *seed)
{
    const size_t count = 1 + support_random(seed) % ROWS_MAX,
                 width = GROUP * (1 + support_random(seed) % GROUPS_MAX),
                 panels = 1 + support_random(seed) % PANELS_MAX;
    const uint64_t values = support_random(seed) % 2 == 0 ? 3 : 1 << 20;
    const unsigned used = 1 + support_random(seed) % LANES; /* of the last panel */
    struct guarded row = guarded_side(count * width * 4, support_random(seed) % 2),
                   panel = guarded_side(panels * width * LANES * 4, support_random(seed) % 2),
                   distance = guarded_side(count * 4, support_random(seed) % 2),
                   index = guarded_side(count * 4, support_random(seed) % 2);
    float *anchors = (float *)(void *)panel.data, wanted[ROWS_MAX];
    uint32_t wanted_index[ROWS_MAX];
    fill(seed, (float *)(void *)row.data, count * width, values);
    fill(seed, anchors, panels * width * LANES, values);
    for (size_t j = 0; j < width; j++)
        for (size_t lane = used; lane < LANES; lane++)
            anchors[((panels - 1) * width + j) * LANES + lane] = INFINITY;
    memset(distance.data, 0xA5, count * 4);
    memset(index.data, 0xA5, count * 4);
    dsp->nearest((float *)(void *)row.data, count, width, anchors, panels,
                 (float *)(void *)distance.data, (uint32_t *)(void *)index.data);
    plain->nearest((float *)(void *)row.data, count, width, anchors, panels, wanted, wanted_index);
    for (size_t i = 0; i < count; i++)
        assert_true(wanted_index[i] < (panels - 1) * LANES + used);
    assert_memory_equal(distance.data, wanted, count * 4);
    assert_memory_equal(index.data, wanted_index, count * 4);
    struct guarded all = guarded_side(count * panels * LANES * 4, support_random(seed) % 2);
    float *sums = malloc(count * panels * LANES * sizeof *sums);
    memset(all.data, 0xA5, count * panels * LANES * 4);
    dsp->distances((float *)(void *)row.data, count, width, anchors, panels,
                   (float *)(void *)all.data);
    plain->distances((float *)(void *)row.data, count, width, anchors, panels, sums);
    assert_memory_equal(all.data, sums, count * panels * LANES * 4);
    for (size_t i = 0; i < count; i++)
        assert_true(sums[i * panels * LANES + wanted_index[i]] == wanted[i]);
    free(sums);
    guarded_free(&all);
    guarded_free(&row);
    guarded_free(&panel);
    guarded_free(&distance);
    guarded_free(&index);
}

/* Products with codes, the largest that there can be, too. */
static void check_products(const struct wcodec_cpu_nearest_dsp *dsp,
                           const struct wcodec_cpu_nearest_dsp *plain, uint64_t *seed)
{
    const size_t count = 1 + support_random(seed) % ROWS_MAX,
                 groups = support_random(seed) % 8 == 0 ? 100 : GROUPS_MAX,
                 width = WCODEC_CODES_GROUP * (1 + support_random(seed) % groups);
    const bool largest = support_random(seed) % 4 == 0;
    struct guarded vector = guarded_side(width * 2, support_random(seed) % 2),
                   codes = guarded_side(count * width, support_random(seed) % 2),
                   sums = guarded_side(count * 8, support_random(seed) % 2);
    int64_t wanted[ROWS_MAX];
    int16_t *numbers = (int16_t *)(void *)vector.data;
    for (size_t j = 0; j < width; j++)
        numbers[j] = (int16_t)(largest ? -32767 : (int)(support_random(seed) % 65535) - 32767);
    for (size_t j = 0; j < count * width; j++)
        codes.data[j] = (uint8_t)(largest ? 0x80 : support_random(seed));
    memset(sums.data, 0xA5, count * 8);
    dsp->products(numbers, (int8_t *)(void *)codes.data, count, width,
                  (int64_t *)(void *)sums.data);
    plain->products(numbers, (int8_t *)(void *)codes.data, count, width, wanted);
    assert_memory_equal(sums.data, wanted, count * 8);
    if (largest)
        assert_true(wanted[count - 1] == (int64_t)width * 32767 * 128);
    guarded_free(&vector);
    guarded_free(&codes);
    guarded_free(&sums);
}

void checkdsp_nearest(uint32_t levels, uint64_t seed)
{
    struct wcodec_cpu_nearest_dsp dsp, plain;
    wcodec_cpu_nearest_dsp_init(&dsp, levels);
    wcodec_cpu_nearest_dsp_init_scalar(&plain);
    for (unsigned i = 0; i < 300; i++)
        check(&dsp, &plain, &seed);
    for (unsigned i = 0; i < 300; i++)
        check_products(&dsp, &plain, &seed);
}
