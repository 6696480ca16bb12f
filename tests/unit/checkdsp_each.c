/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Tiles of several tensors side by side against the scalar reference: tensors that are alike with
 * tables of their own, others between them, stored tiles and damaged payloads. */
#include "support.h"
#include "support_guarded.h"
#include "support_tiles.h"

#include "backends/cpu/decode.h"

void checkdsp_each(const struct wcodec_cpu_dsp *dsp, uint64_t seed);

enum { TENSORS = 12, ROUNDS = 40 };

struct member {
    struct support_tensor tensor;
    struct guarded payload, out;
    struct wcodec_tiles *tiles;
    struct wcodec_cpu_decoder *decoder;
    struct wcodec_view view;
};

/* Some of one shape and size, or of sizes with the same number of groups; others are random. */
static void make(const struct wcodec_cpu_dsp *dsp, uint64_t *seed, unsigned shape, unsigned profile,
                 uint64_t elements, struct member *m)
{
    const unsigned which = (unsigned)(support_random(seed) % 6);
    if (which == 0)
        support_tensor_make(seed, 1 + support_random(seed) % 6000, &m->tensor);
    else
        support_tensor_common(seed, shape, profile,
                              which == 1 ? 1 + support_random(seed) % 6000 : elements, &m->tensor);
    const struct support_tensor *x = &m->tensor;
    const uint64_t after = x->payload_size - x->tiling.prefix_size;
    m->payload = guarded_new(x->payload_size);
    m->out = guarded_new(x->tiling.size);
    memcpy(m->payload.data, x->payload, x->payload_size);
    if (after > 0 && support_random(seed) % 4 == 0)
        m->payload.data[x->tiling.prefix_size + support_random(seed) % after] ^=
            (uint8_t)(1u << support_random(seed) % 8);
    assert_int_equal(wcodec_tiles_read(&m->tensor.tiling, m->payload.data, x->payload_size,
                                       &wcodec_default_allocator, &m->tiles, NULL),
                     WCODEC_OK);
    assert_int_equal(
        wcodec_cpu_decoder_create(dsp, m->tiles, &wcodec_default_allocator, &m->decoder, NULL),
        WCODEC_OK);
    wcodec_view_whole(m->payload.data, &m->view);
    memset(m->out.data, 0x5a, x->tiling.size);
}

static void end(struct member *m)
{
    wcodec_cpu_decoder_free(m->decoder);
    wcodec_tiles_free(m->tiles);
    guarded_free(&m->payload);
    guarded_free(&m->out);
    support_tensor_free(&m->tensor);
}

/* Of the tiles that were decoded; those of other members are as they were. */
static void compare(const struct wcodec_cpu_tile *t, const struct wcodec_tiling *s,
                    unsigned faults[6])
{
    uint8_t *expected = malloc((size_t)1 << s->tile_log2 << s->element_log2);
    assert_non_null(expected);
    const enum wcodec_tile_fault fault =
        wcodec_tile_decode(t->decoder->tiles, t->view, t->number, expected, t->verify);
    assert_int_equal(t->fault, fault);
    if (fault == WCODEC_TILE_OK || fault == WCODEC_TILE_CHECK)
        assert_memory_equal(t->out, expected,
                            (size_t)wcodec_tile_elements(s, t->number) << s->element_log2);
    faults[fault]++;
    free(expected);
}

static void run_round(const struct wcodec_cpu_dsp *dsp, uint64_t *seed, unsigned faults[6])
{
    struct member members[TENSORS];
    struct wcodec_cpu_tile tiles[WCODEC_CPU_EACH];
    unsigned count = 0;
    const unsigned shape = (unsigned)(support_random(seed) % SUPPORT_SHAPES);
    const unsigned profile = 1 + (unsigned)(support_random(seed) % 3);
    const uint64_t elements = 1 + support_random(seed) % 4096;
    for (unsigned i = 0; i < TENSORS; i++) {
        struct member *m = &members[i];
        make(dsp, seed, shape, support_random(seed) % 8 ? profile : 1 + profile % 3, elements, m);
        const struct wcodec_tiling *s = &m->tensor.tiling;
        for (uint64_t n = 0; n < s->tiles && count < WCODEC_CPU_EACH; n++)
            tiles[count++] = (struct wcodec_cpu_tile){
                .decoder = m->decoder,
                .view = &m->view,
                .number = n,
                .out = m->out.data + ((size_t)n << s->tile_log2 << s->element_log2),
                .verify = support_random(seed) % 4 != 0};
    }
    for (unsigned i = count; i > 1; i--) { /* in any order */
        const unsigned k = (unsigned)(support_random(seed) % i);
        const struct wcodec_cpu_tile t = tiles[k];
        tiles[k] = tiles[i - 1];
        tiles[i - 1] = t;
    }
    wcodec_cpu_decode_each(tiles, count);
    for (unsigned i = 0; i < count; i++)
        compare(&tiles[i], tiles[i].decoder->tiles->tiling, faults);
    for (unsigned i = 0; i < TENSORS; i++)
        end(&members[i]);
}

void checkdsp_each(const struct wcodec_cpu_dsp *dsp, uint64_t seed)
{
    unsigned faults[6] = {0};
    wcodec_cpu_decode_each(NULL, 0);
    for (unsigned round = 0; round < ROUNDS; round++)
        run_round(dsp, &seed, faults);
    print_message("  tiles of several tensors: %u whole, %u with a wrong check\n",
                  faults[WCODEC_TILE_OK], faults[WCODEC_TILE_CHECK]);
    assert_true(faults[WCODEC_TILE_OK] > 0 && faults[WCODEC_TILE_CHECK] > 0);
}
