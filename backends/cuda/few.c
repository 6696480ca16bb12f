/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Launches of few tiles: kernels of their own (few.cuh), of which a work-group takes a few tiles
 * with all that belongs to them. */
#include "backends/cuda/cuda.h"
#include "backends/cuda/geometry.h"

#include <stdio.h>

enum { WARPS = 8 }; /* so many at least copy and look up */

void wcodec_cuda_few_find(struct wcodec_device *d)
{
    char name[64];
    for (unsigned i = 0; i < 2 * WCODEC_SHAPES; i++) {
        cu_function *function = &d->few[i / 2][i % 2];
        snprintf(name, sizeof name, "wcodec_few_%s_%s", wcodec_cuda_shape_names[i / 2],
                 i % 2 ? "p8" : "pairs");
        if (d->cu->module_function(function, d->module, name) != 0 ||
            d->cu->function_set(*function, CU_FUNCTION_MAX_DYNAMIC_SHARED, (int)d->few_shared) !=
                0 ||
            d->cu->function_set(*function, CU_FUNCTION_SHARED_CARVEOUT, 100) != 0)
            *function = NULL;
    }
}

bool wcodec_cuda_plan_few(const struct wcodec_device *d, const struct wcodec_tile_job *jobs,
                          const struct wcodec_kernel_run *run, const struct wcodec_segment *segment,
                          const struct wcodec_table_set *set, struct wcodec_cuda_launch *l,
                          uint8_t *at, cu_pointer address)
{
    const unsigned shape = l->kernel / 2 / WCODEC_CODINGS, coding = l->kernel / 2 % WCODEC_CODINGS,
                   bytes = wcodec_few_bytes[shape];
    const uint32_t tiles = (run->count + d->multiprocessors - 1) / d->multiprocessors;
    const uint32_t elements = jobs[0].elements;
    uint32_t words = 0;
    const bool p8 = coding == WCODEC_CODING_P8;
    if ((coding != WCODEC_CODING_PAIRS && !p8) || l->kernel % 2 || d->few[shape][p8] == NULL ||
        tiles > WCODEC_CUDA_FEW_TILES || elements % (128u * WCODEC_CUDA_GROUPS(shape)))
        return false;
    for (uint32_t i = 0; i < run->count; i++) {
        if (jobs[i].elements != elements || jobs[i].out % (4 * bytes))
            return false;
        words = jobs[i].word_count > words ? jobs[i].word_count : words;
    }
    words = (words + 7) & ~7u;
    const uint64_t shared = WCODEC_CUDA_HEAD + WCODEC_CUDA_FEW_TABLES(p8) +
                            (uint64_t)tiles * WCODEC_CUDA_FEW_ROOM(shape, words, elements / 128);
    if (shared > d->few_shared || (!p8 && !wcodec_few_write_table(set, at)))
        return false;
    l->function = d->few[shape][p8];
    l->arguments.tables = segment->tables;
    l->arguments.parts = address;
    l->arguments.first = run->first;
    l->arguments.tiles = tiles;
    const uint32_t helpers = (WARPS + tiles - 1) / tiles;
    l->arguments.inverse = 65535 / tiles + 1;
    l->arguments.helpers = helpers;
    l->arguments.words = words;
    l->arguments.groups = elements / 128;
    l->blocks = (run->count + tiles - 1) / tiles;
    l->threads = 32 * tiles * helpers;
    l->shared = (unsigned)shared;
    return true;
}
