/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The decoder's second and third stage, each function by itself: against what the format says of
 * one element, and against the reference of the check. Inputs and outputs touch a guard page at
 * their begin or end, or lie at odd addresses among poisoned bytes. */
#include "support_guarded.h"
#include "support_tiles.h"

#include "backends/cpu/decode.h"
#include "coding/planes.h"

enum { MARGIN = 64, POISON = 0x5a };

void checkdsp_stages(const struct wcodec_cpu_dsp *dsp, uint64_t seed);

/* `size` bytes at one of three kinds of places; align: of the odd ones. */
static struct guarded random_guarded(uint64_t *seed, size_t size, size_t align)
{
    const unsigned kind = (unsigned)(support_random(seed) % 3);
    struct guarded g = guarded_side(kind < 2 ? size : size + 2 * MARGIN, kind == 1);
    memset(g.map + sysconf(_SC_PAGESIZE), POISON, g.size - 2 * (size_t)sysconf(_SC_PAGESIZE));
    if (kind == 2)
        g.data += support_random(seed) % (2 * MARGIN / align) * align;
    return g;
}

/* Nothing was written around the output. */
static void check_poison(const struct guarded *g, size_t size)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const uint8_t *end = g->map + g->size - page;
    for (const uint8_t *p = g->map + page; p < end; p++)
        if ((p < g->data || p >= g->data + size) && *p != POISON)
            fail_msg("a byte %td from the output was written", p - g->data);
}

static void check_finish(wcodec_cpu_finish_fn finish,
                         uint32_t (*mix)(const uint64_t sums[WCODEC_LANES]), bool stream,
                         uint64_t *seed)
{
    const unsigned element_log2 = (unsigned)(support_random(seed) % 4),
                   groups = 1 + (unsigned)(support_random(seed) % WCODEC_CPU_CHUNK_GROUPS);
    const uint32_t first = (uint32_t)(support_random(seed) % 505);
    const size_t group_size = (size_t)WCODEC_GROUP << element_log2, size = groups * group_size;
    struct guarded elements = random_guarded(seed, size, 1),
                   out = random_guarded(seed, size, stream ? 64 : 1);
    uint64_t expected[WCODEC_LANES], sums[WCODEC_LANES];
    uint8_t *whole = calloc(first + groups, group_size);
    if (stream)
        out.data = (uint8_t *)((uintptr_t)out.data & ~(uintptr_t)63);
    for (size_t i = 0; i < size; i++)
        elements.data[i] = (uint8_t)(support_random(seed) % 4 ? support_random(seed) : 0xff);
    memcpy(whole + first * group_size, elements.data, size);
    wcodec_tile_check_sums(whole, (first + groups) * WCODEC_GROUP, element_log2, expected);
    for (unsigned lane = 0; lane < WCODEC_LANES; lane++) {
        sums[lane] = support_random(seed) << 32 ^ support_random(seed);
        expected[lane] += sums[lane];
    }
    const bool copy = support_random(seed) % 4, check = support_random(seed) % 4;
    finish(element_log2, elements.data, groups, first, copy ? out.data : NULL, check ? sums : NULL);
    if (copy)
        assert_memory_equal(out.data, elements.data, size);
    check_poison(&out, copy ? size : 0);
    if (check)
        assert_memory_equal(sums, expected, sizeof sums);
    assert_int_equal(mix(sums), wcodec_tile_check_finish(sums));
    free(whole);
    guarded_free(&elements);
    guarded_free(&out);
}

/* One element as the format says it. */
static uint64_t element_of(const struct wcodec_tiling *t, const uint8_t *symbols,
                           const uint8_t *const rows[WCODEC_MAX_PLANES], uint32_t i)
{
    uint64_t e = t->constant_bits;
    for (unsigned c = 0; c < t->coded_count; c++)
        e |= (uint64_t)symbols[c * WCODEC_CPU_CHUNK + i] << t->fields[t->coded[c]].shift;
    for (unsigned p = 0; p < t->plane_count; p++) {
        const struct wcodec_placing at = wcodec_place_element(t, &t->planes[p], i);
        const uint32_t word =
            wcodec_load_u32(rows[p] + 4 * ((size_t)at.row * WCODEC_LANES + at.lane));
        e |= wcodec_scatter_plane(
            t, &t->planes[p], wcodec_placed_value(&t->planes[p], wcodec_slot_bits(t), &at, word));
    }
    return e - t->add;
}

/* Returns whether the tiling's elements can be assembled so. */
static bool check_assemble(const struct wcodec_cpu_dsp *dsp, const struct wcodec_tiling *t,
                           bool any, uint64_t *seed)
{
    struct wcodec_cpu_assembly a;
    if (!wcodec_cpu_derive_assembly(t, &a))
        return false;
    const unsigned size = 1u << t->element_log2;
    const size_t symbols_size = (size_t)t->coded_count * WCODEC_CPU_CHUNK,
                 elements_size = (size_t)WCODEC_CPU_CHUNK * size;
    struct guarded symbols = random_guarded(seed, symbols_size, 64),
                   elements = random_guarded(seed, elements_size, 1), planes[WCODEC_MAX_PLANES];
    const uint8_t *rows[WCODEC_MAX_PLANES];
    for (unsigned c = 0; c < t->coded_count; c++)
        for (unsigned i = 0; i < WCODEC_CPU_CHUNK; i++)
            symbols.data[c * WCODEC_CPU_CHUNK + i] =
                (uint8_t)(support_random(seed) & ((1u << t->fields[t->coded[c]].width) - 1));
    for (unsigned p = 0; p < t->plane_count; p++) {
        const size_t rows_size = (size_t)t->planes[p].bits * 4 * WCODEC_LANES;
        planes[p] = random_guarded(seed, rows_size, 2);
        for (size_t i = 0; i < rows_size; i++)
            planes[p].data[i] = (uint8_t)support_random(seed);
        rows[p] = planes[p].data;
    }
    dsp->assemble[any ? WCODEC_CPU_ANY : wcodec_cpu_assembly_shape(&a)](&a, symbols.data, rows,
                                                                        elements.data);
    for (uint32_t i = 0; i < WCODEC_CPU_CHUNK; i++) {
        const uint64_t differ = wcodec_load_uint(elements.data + (size_t)i * size, size) ^
                                element_of(t, symbols.data, rows, i);
        if (differ << (64 - 8 * size))
            fail_msg(
                "element %u of 2^%u bytes, %u fields, the first at %u, %u planes, the first of %u bits, %u moved, shape %d differs",
                i, t->element_log2, t->coded_count, a.shift[0], t->plane_count, a.plane_bits[0],
                a.moved_count, any ? -1 : (int)wcodec_cpu_assembly_shape(&a));
    }
    check_poison(&elements, elements_size);
    guarded_free(&symbols);
    guarded_free(&elements);
    for (unsigned p = 0; p < t->plane_count; p++)
        guarded_free(&planes[p]);
    return true;
}

void checkdsp_stages(const struct wcodec_cpu_dsp *dsp, uint64_t seed)
{
    unsigned served[4][2] = {{0}}, moved = 0;
    for (unsigned i = 0; i < 400; i++) {
        check_finish(dsp->finish, dsp->check, false, &seed);
        if (dsp->finish_stream)
            check_finish(dsp->finish_stream, dsp->check, true, &seed);
    }
    if (dsp->stream_end)
        dsp->stream_end();
    for (unsigned i = 0; i < 1600; i++) {
        struct support_tensor x;
        struct wcodec_cpu_assembly a;
        if (i % 4)
            support_tensor_make(&seed, 1, &x);
        else
            support_tensor_common(&seed, i / 4 % SUPPORT_SHAPES, WCODEC_P12, 1, &x);
        if (check_assemble(dsp, &x.tiling, i % 16 >= 12, &seed) &&
            wcodec_cpu_derive_assembly(&x.tiling, &a)) {
            served[a.element_log2][a.coded_count > 1]++;
            moved += a.moved_count > 0;
        }
        support_tensor_free(&x);
    }
    print_message(
        "  assembly of one field %u %u %u %u, of several %u %u %u %u, with parted raw bits %u\n",
        served[0][0], served[1][0], served[2][0], served[3][0], served[0][1], served[1][1],
        served[2][1], served[3][1], moved);
    for (unsigned k = 0; k < 4; k++)
        assert_true(served[k][0] > 0 && served[k][1] > 0);
    assert_true(moved > 0);
}
