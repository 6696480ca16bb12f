/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "encode/assemble.h"

#include "core/assert.h"

#include "encode/tables.h"
#include "encode/choice.h"
#include "coding/histogram.h"

enum { COST_PART = 4096 };

static unsigned best_table(const struct wcodec_costs *costs, const uint8_t *symbols, uint32_t count)
{
    uint64_t total[16] = {0};
    for (uint32_t i = 0; i < count; i += COST_PART) {
        uint32_t sums[16], n = count - i < COST_PART ? count - i : COST_PART;
        wcodec_costs_sum(costs, symbols + i, n, sums);
        for (unsigned t = 0; t < costs->tables; t++)
            total[t] += sums[t];
    }
    unsigned best = 0;
    for (unsigned t = 1; t < costs->tables; t++)
        if (total[t] < total[best])
            best = t;
    return best;
}

/* May (nearly) every value be the same? A look at a few tells for most tiles that it is not so. */
static bool may_be_constant(const struct wcodec_tiling *t, const struct wcodec_field *f,
                            const uint8_t *data, uint32_t count, uint8_t *symbol)
{
    unsigned differ = 0;
    wcodec_extract_field(data + ((size_t)count / 2 << t->element_log2), 1, t->element_log2, t->add,
                         f->shift, f->width, symbol);
    for (uint32_t i = 0; i < 32 && differ <= 2; i++) {
        uint8_t other;
        wcodec_extract_field(data + ((size_t)i * count / 32 << t->element_log2), 1, t->element_log2,
                             t->add, f->shift, f->width, &other);
        differ += other != *symbol;
    }
    return differ <= 2;
}

/* Is the field smaller as a constant with outliers? */
static bool constant_pays(const struct wcodec_plan *plan, unsigned c, const uint8_t *symbols,
                          uint32_t count, uint8_t symbol)
{
    const struct wcodec_field *f = &plan->tiling->fields[plan->tiling->coded[c]];
    uint64_t counts[256] = {0};
    wcodec_count_symbols(symbols, count, counts);
    uint64_t outliers = (count - counts[symbol]) * WCODEC_OUTLIER_BITS;
    uint64_t states =
        WCODEC_LANES * 32 - (c == 0 && wcodec_tile_has_payload(plan->tiling, WCODEC_STREAM_RANS)
                                 ? WCODEC_LANES * 16
                                 : 0);
    uint64_t words = 0;
    if (f->profile != WCODEC_PAIRS) {
        uint32_t costs[256];
        wcodec_table_costs(&plan->tables[c][0].table, costs);
        for (unsigned s = 0; s < 256; s++)
            words += counts[s] * (costs[s] >> WCODEC_COST_SHIFT);
    }
    return outliers < states + (words << WCODEC_COST_SHIFT) / WCODEC_BIT;
}

static void choose_stream(const struct wcodec_plan *plan, unsigned c, const uint8_t *data,
                          const struct wcodec_tile_slot *slot, struct wcodec_stream_plan *stream,
                          struct wcodec_tile_scratch *scratch)
{
    const struct wcodec_tiling *t = plan->tiling;
    const struct wcodec_field *f = &t->fields[t->coded[c]];
    uint8_t *symbols = scratch->symbols;
    uint8_t common;
    memset(stream, 0, sizeof *stream);
    if (c > 0 && plan->constant_above) {
        stream->mode = WCODEC_STREAM_CONSTANT;
        return;
    }
    bool constant = may_be_constant(t, f, data, slot->elements, &common);
    if (constant || f->tables > 1)
        plan->encoder->dsp.extract(data, slot->elements, t->element_log2, t->add, f->shift,
                                   f->width, symbols);
    if (constant && constant_pays(plan, c, symbols, slot->elements, common)) {
        stream->mode = WCODEC_STREAM_CONSTANT;
        stream->symbol = common;
        return;
    }
    stream->mode = WCODEC_STREAM_RANS;
    if (f->tables == 1)
        return;
    if (f->run_log2) {
        uint32_t run = (uint32_t)1 << f->run_log2, n = 0;
        for (uint32_t i = 0; i < slot->elements; i += run)
            scratch->run_tables[c][n++] = (uint8_t)best_table(
                plan->costs[c], symbols + i, slot->elements - i < run ? slot->elements - i : run);
        stream->run_tables = scratch->run_tables[c];
        return;
    }
    uint32_t count = slot->elements;
    if (f->profile == WCODEC_PAIRS)
        count = wcodec_pairs_symbols(
            symbols, count,
            plan->tables[c][0]
                .table.base); /* outside of the window are outliers with each table of the pool */
    stream->table = (uint8_t)best_table(plan->costs[c], symbols, count);
}

void wcodec_tile_choose(const struct wcodec_plan *plan, const uint8_t *data,
                        struct wcodec_tile_slot *slot, struct wcodec_tile_scratch *scratch)
{
    WCODEC_ASSERT(slot->tile < plan->tiling->tiles);
    const struct wcodec_tiling *t = plan->tiling;
    slot->elements = wcodec_tile_elements(t, slot->tile);
    for (unsigned c = 0; c < t->coded_count; c++)
        choose_stream(plan, c, data + (slot->tile << (t->tile_log2 + t->element_log2)), slot,
                      &slot->streams[c], scratch);
}

static const uint8_t *bytes_of(const struct wcodec_plan *plan, const uint8_t *data,
                               const struct wcodec_tile_slot *slot)
{
    return data + (slot->tile << (plan->tiling->tile_log2 + plan->tiling->element_log2));
}

/* Store a coded tile as it is if that is no larger. */
static void compare_stored(const struct wcodec_plan *plan, const uint8_t *data,
                           struct wcodec_tile_slot *slot)
{
    const struct wcodec_tiling *t = plan->tiling;
    slot->raw_size = wcodec_tile_raw_size(t, slot->elements, slot->streams[0].mode);
    uint64_t size = slot->raw_size,
             stored = wcodec_tile_raw_size(t, slot->elements, WCODEC_STREAM_STORED);
    for (unsigned c = 0; c < t->coded_count; c++)
        size += (slot->streams[c].mode == WCODEC_STREAM_RANS ? WCODEC_LANES * 4 : 0) +
                2 * (uint64_t)slot->output.word_count[c] +
                3 * (uint64_t)slot->output.outlier_count[c];
    slot->stored = size >= stored;
    slot->size = slot->stored ? stored : size;
    if (!slot->stored)
        return;
    size_t used = (size_t)slot->elements << t->element_log2;
    memcpy(slot->output.raw, bytes_of(plan, data, slot), used);
    memset(slot->output.raw + used, 0, (size_t)stored - used);
    slot->raw_size = stored;
}

void wcodec_tile_code(const struct wcodec_plan *plan, const uint8_t *data,
                      struct wcodec_tile_slot *slot, struct wcodec_tile_scratch *scratch)
{
    wcodec_tile_choose(plan, data, slot, scratch);
    wcodec_cpu_encode_tile(plan->encoder, slot->streams, bytes_of(plan, data, slot), slot->elements,
                           &slot->output, scratch->coder);
    compare_stored(plan, data, slot);
}

void wcodec_tile_code_two(const struct wcodec_plan *plan, const uint8_t *data,
                          struct wcodec_tile_slot slots[2], struct wcodec_tile_scratch scratches[2])
{
    struct wcodec_cpu_encode_job jobs[2];
    for (unsigned i = 0; i < 2; i++) {
        wcodec_tile_choose(plan, data, &slots[i], &scratches[i]);
        jobs[i] =
            (struct wcodec_cpu_encode_job){slots[i].streams, bytes_of(plan, data, &slots[i]),
                                           slots[i].elements, &slots[i].output, scratches[i].coder};
    }
    slots[1].output.raw =
        slots[0].output.raw +
        wcodec_tile_raw_size(plan->tiling, slots[0].elements, slots[0].streams[0].mode);
    wcodec_cpu_encode_two(plan->encoder, jobs);
    compare_stored(plan, data, &slots[0]);
    if (!slots[0].stored) {
        compare_stored(plan, data, &slots[1]);
        return;
    }
    /* The first one has other bytes than was thought. */
    slots[1].output.raw = slots[0].output.raw + slots[0].raw_size;
    wcodec_tile_code(plan, data, &slots[1], &scratches[1]);
}
