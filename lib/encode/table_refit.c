/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "encode/choice.h"

#include "core/error.h"
#include "coding/histogram.h"

/* A task's counts take 32 KiB: it must have much more to look at. */
enum { MAX_TASKS = 64, TASK_BYTES = 1 << 18, PART = 4096 };

struct refitter {
    const struct wcodec_cpu_encode_dsp *dsp;
    const struct wcodec_tiling *tiling;
    const struct wcodec_field *field;
    const uint8_t *data;
    const struct wcodec_field_choice *choice;
    struct wcodec_costs *costs; /* NULL with one table */
    uint64_t stride, units;     /* tiles that are counted */
    bool scattered;
    size_t tasks;
    uint64_t (*counts)[256]; /* by task and table */
    uint8_t *symbols;        /* of a tile, by task: too large for some stacks */
    size_t symbols_size;
};

/* `count` symbols that share a table, at most a tile. */
static void count_unit(const struct refitter *r, const uint8_t *symbols, uint32_t count,
                       uint64_t (*counts)[256])
{
    unsigned best = 0;
    if (r->costs) {
        uint64_t total[WCODEC_POOL_MAX] = {0};
        for (uint32_t i = 0; i < count; i += PART) {
            uint32_t sums[16];
            wcodec_costs_sum(r->costs, symbols + i, count - i < PART ? count - i : PART, sums);
            for (unsigned t = 0; t < r->choice->count; t++)
                total[t] += sums[t];
        }
        for (unsigned t = 1; t < r->choice->count; t++)
            best = total[t] < total[best] ? t : best;
    }
    if (count >= 1024) {
        r->dsp->count(symbols, count, counts[best]);
        return;
    }
    for (uint32_t i = 0; i < count; i++)
        counts[best][symbols[i]]++;
}

/* Values of a tile, as the symbols that are coded. */
static uint32_t load_symbols(const struct refitter *r, uint64_t first, uint32_t count,
                             uint8_t *symbols)
{
    const struct wcodec_tiling *t = r->tiling;
    r->dsp->extract(r->data + (first << t->element_log2), count, t->element_log2, t->add,
                    r->field->shift, r->field->width, symbols);
    return r->choice->profile == WCODEC_PAIRS
               ? wcodec_pairs_symbols(symbols, count, r->choice->tables[0].base)
               : count;
}

static void refit_task(void *argument, size_t task)
{
    struct refitter *r = argument;
    const struct wcodec_tiling *t = r->tiling;
    uint64_t(*counts)[256] = r->counts + task * r->choice->count;
    uint8_t *symbols = r->symbols + task * r->symbols_size;
    for (uint64_t i = r->units * task / r->tasks; i < r->units * (task + 1) / r->tasks; i++) {
        const uint64_t chosen = i * r->stride + (r->scattered ? wcodec_scatter(i, r->stride) : 0),
                       tile = chosen < t->tiles ? chosen : t->tiles - 1;
        uint32_t n = load_symbols(r, tile << t->tile_log2, wcodec_tile_elements(t, tile), symbols);
        uint32_t unit = r->choice->run_log2 ? (uint32_t)1 << r->choice->run_log2 : n;
        for (uint32_t j = 0; j < n; j += unit)
            count_unit(r, symbols + j, n - j < unit ? n - j : unit, counts);
    }
}

wcodec_status wcodec_tables_refit(wcodec_context *context, const struct wcodec_cpu_encode_dsp *dsp,
                                  const struct wcodec_tiling *tiling, unsigned field,
                                  const uint8_t *data, uint64_t stride, bool scattered,
                                  struct wcodec_field_choice *choice, wcodec_error *err)
{
    const wcodec_allocator *allocator = &context->allocator;
    struct refitter r = {.dsp = dsp,
                         .tiling = tiling,
                         .field = &tiling->fields[tiling->coded[field]],
                         .data = data,
                         .choice = choice};
    const struct wcodec_table *pointers[WCODEC_POOL_MAX];
    wcodec_status status = WCODEC_OK;
    r.stride = stride;
    r.scattered = scattered;
    r.units = wcodec_div_up_u64(tiling->tiles, stride);
    uint64_t tasks = (r.units << (tiling->tile_log2 + tiling->element_log2)) / TASK_BYTES + 1;
    tasks = tasks < r.units ? tasks : r.units;
    r.tasks = tasks < MAX_TASKS ? (size_t)tasks : MAX_TASKS;
    r.counts = wcodec_alloc_zeroed(allocator, r.tasks * choice->count * sizeof *r.counts);
    r.symbols_size = ((size_t)1 << tiling->tile_log2) + 64; /* no cache line is of two */
    r.symbols = wcodec_alloc_array(allocator, r.tasks, r.symbols_size);
    r.costs = choice->count > 1 ? wcodec_alloc(allocator, sizeof *r.costs) : NULL;
    if (r.counts == NULL || r.symbols == NULL || (choice->count > 1 && r.costs == NULL)) {
        status = wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for %zu histograms", r.tasks);
        goto release;
    }
    for (unsigned i = 0; i < choice->count; i++)
        pointers[i] = &choice->tables[i];
    if (r.costs)
        wcodec_costs_init(r.costs, pointers, choice->count);
    wcodec_run(context, refit_task, &r, r.tasks);
    struct wcodec_table_kind kind = {choice->profile, r.field->width, choice->tables[0].base,
                                     choice->run_log2 > 0};
    for (unsigned i = 0; i < choice->count; i++) {
        uint64_t counts[256] = {0}, total = 0;
        for (size_t task = 0; task < r.tasks; task++)
            for (unsigned s = 0; s < 256; s++)
                counts[s] += r.counts[task * choice->count + i][s];
        for (unsigned s = 0; s < 256; s++)
            total += counts[s];
        if (total)
            wcodec_table_fit(&kind, counts, true, &choice->tables[i]);
    }
release:
    wcodec_free(allocator, r.counts);
    wcodec_free(allocator, r.symbols);
    wcodec_free(allocator, r.costs);
    return status;
}
