/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Every CPU variant against the scalar reference: the same bytes and the same faults, on random tensors of all kinds and on hostile payloads, at every level that this machine has. Buffers end at guard pages, outputs are poisoned and
 * checked for what was not to be written. checkdsp LEVEL runs one level only. */
#include "support.h"
#include "support_tiles.h"

#include "backends/cpu/cpu_level.h"
#include "backends/cpu/decode.h"
#include "core/error.h"

#include <sys/mman.h>
#include <unistd.h>

static uint32_t levels;

/* Memory whose last byte is followed by a page that cannot be touched. */
struct guarded {
    uint8_t *map;
    size_t size;
    uint8_t *data;
};

static struct guarded guarded_new(size_t size)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), whole = (size + page - 1) / page * page;
    struct guarded g = {NULL, whole + 2 * page, NULL};
    g.map = mmap(NULL, g.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(g.map != MAP_FAILED);
    assert_int_equal(mprotect(g.map, page, PROT_NONE), 0);
    assert_int_equal(mprotect(g.map + page + whole, page, PROT_NONE), 0);
    g.data = g.map + page + whole - size;
    return g;
}

static void guarded_free(struct guarded *g)
{
    munmap(g->map, g->size);
}

/* Of each area just what the tiles from `first` on need, each before a guard page. */
static void view_areas(const struct wcodec_tiles *tiles, const uint8_t *payload, uint64_t first, struct wcodec_view *view, struct guarded areas[WCODEC_AREAS])
{
    uint64_t stop[WCODEC_AREAS];
    wcodec_tiles_extent(tiles, first, tiles->tiling->tiles, view->begin, stop);
    for (unsigned a = 0; a < WCODEC_AREAS; a++) {
        const size_t size = (size_t)(stop[a] - view->begin[a]);
        areas[a] = guarded_new(size);
        memcpy(areas[a].data, payload + view->begin[a], size);
        view->data[a] = areas[a].data;
    }
}

/* All tiles by the reference and by the level's functions. */
static void compare(const struct wcodec_cpu_dsp *dsp, const struct support_tensor *x, uint64_t *seed, bool hostile, unsigned faults[6])
{
    struct wcodec_tiles *tiles;
    struct wcodec_cpu_decoder *decoder;
    struct wcodec_view view;
    wcodec_error err;
    struct guarded payload = guarded_new(x->payload_size), out = guarded_new(x->tiling.size);
    memcpy(payload.data, x->payload, x->payload_size);
    if (hostile)
        for (unsigned i = 0; i < 1 + support_random(seed) % 4 && x->payload_size > x->tiling.prefix_size; i++) {
            const uint64_t at = x->tiling.prefix_size + support_random(seed) % (x->payload_size - x->tiling.prefix_size);
            const uint64_t end = support_random(seed) % 2 ? at + 1 : x->payload_size;
            const bool zero = support_random(seed) % 8 == 0;
            for (uint64_t k = at; k < end; k++)
                payload.data[k] = (uint8_t)(zero ? 0 : payload.data[k] ^ (support_random(seed) % 2 ? support_random(seed) : 1u << support_random(seed) % 8));
        }
    assert_int_equal(wcodec_tiles_read(&x->tiling, payload.data, x->payload_size, &wcodec_default_allocator, &tiles, &err), WCODEC_OK);
    assert_int_equal(wcodec_cpu_decoder_create(dsp, tiles, &wcodec_default_allocator, &decoder, &err), WCODEC_OK);
    const uint64_t count = x->tiling.tiles, first = support_random(seed) % count;
    struct guarded areas[WCODEC_AREAS] = {{0}};
    if (support_random(seed) % 2)
        wcodec_view_whole(payload.data, &view);
    else
        view_areas(tiles, payload.data, first, &view, areas);
    const size_t tile_size = (size_t)1 << x->tiling.tile_log2 << x->tiling.element_log2, skipped = (size_t)first * tile_size;
    const bool stream = support_random(seed) % 2, verify = support_random(seed) % 4 != 0;
    enum wcodec_tile_fault *got = malloc(count * sizeof *got);
    uint8_t *expected = malloc(tile_size);
    memset(out.data, 0x5a, x->tiling.size);
    wcodec_cpu_decode_tiles(decoder, &view, first, (unsigned)(count - first), out.data + skipped, verify, stream, got);
    for (size_t i = 0; i < skipped; i++)
        assert_int_equal(out.data[i], 0x5a);
    for (uint64_t tile = first; tile < count; tile++) {
        const enum wcodec_tile_fault fault = wcodec_tile_decode(tiles, &view, tile, expected, verify);
        if (got[tile - first] != fault)
            fail_msg("%s: fault %d instead of %d", wcodec_cpu_level_name(dsp->level), got[tile - first], fault);
        if (fault == WCODEC_TILE_OK || fault == WCODEC_TILE_CHECK)
            assert_memory_equal(out.data + tile * tile_size, expected, (size_t)wcodec_tile_elements(&x->tiling, tile) << x->tiling.element_log2);
        faults[fault]++;
    }
    free(expected);
    free(got);
    wcodec_cpu_decoder_free(decoder);
    wcodec_tiles_free(tiles);
    for (unsigned a = 0; a < WCODEC_AREAS; a++)
        if (areas[a].map)
            guarded_free(&areas[a]);
    guarded_free(&payload);
    guarded_free(&out);
}

static void run_level(unsigned level)
{
    struct wcodec_cpu_dsp dsp;
    unsigned faults[6] = {0};
    uint64_t seed = support_seed() + level;
    print_message("level %s\n", wcodec_cpu_level_name(level));
    wcodec_cpu_dsp_init(&dsp, levels & ((2u << level) - 1));
    for (unsigned i = 0; i < 150; i++) {
        struct support_tensor x;
        support_tensor_make(&seed, 0, &x);
        compare(&dsp, &x, &seed, false, faults);
        for (unsigned k = 0; k < 4; k++)
            compare(&dsp, &x, &seed, true, faults);
        support_tensor_free(&x);
    }
    for (unsigned i = 0; i < 8 * 3 * 4; i++) {
        struct support_tensor x;
        support_tensor_common(&seed, i % 8, 1 + i / 8 % 3, 1 + support_random(&seed) % (12 * 4096), &x);
        compare(&dsp, &x, &seed, false, faults);
        for (unsigned k = 0; k < 6; k++)
            compare(&dsp, &x, &seed, true, faults);
        support_tensor_free(&x);
    }
    for (unsigned f = 0; f <= WCODEC_TILE_CHECK; f++) {
        print_message("  %s: %u\n", wcodec_tile_fault_string((enum wcodec_tile_fault)f), faults[f]);
        assert_true(faults[f] > 0);
    }
}

static void test_levels(void **state)
{
    (void)state;
    for (unsigned level = 0; wcodec_cpu_level_name(level); level++) {
        if (levels >> level & 1)
            run_level(level);
        else
            print_message("level %s: not on this machine\n", wcodec_cpu_level_name(level));
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_levels)};
    levels = wcodec_cpu_levels();
    for (unsigned level = 0; argc > 1 && wcodec_cpu_level_name(level); level++)
        if (strcmp(argv[1], wcodec_cpu_level_name(level)))
            levels &= ~(1u << level);
    if (!levels) {
        fprintf(stderr, "checkdsp: no level '%s' here\n", argv[1]);
        return 77;
    }
    return cmocka_run_group_tests_name("checkdsp", tests, NULL, NULL);
}
