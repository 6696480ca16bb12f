/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "encode/plan.h"

#include "core/dtype.h"
#include "core/error.h"
#include "encode/bits.h"
#include "encode/histogram.h"
#include "encode/normalize.h"
#include "encode/order.h"

enum { TILES_FOR_LARGE = 1024, TILES_FOR_MEDIUM = 4 };

unsigned wcodec_tile_policy(const struct wcodec_encode_settings *settings, uint64_t elements)
{
    if (settings->tile_log2)
        return settings->tile_log2;
    if (settings->latency)
        return 12;
    return elements >= (uint64_t)TILES_FOR_LARGE << 14 ? 14 : elements >= (uint64_t)TILES_FOR_MEDIUM << 13 ? 13 : 12;
}

void wcodec_plan_free(struct wcodec_plan *plan)
{
    if (!plan)
        return;
    for (unsigned c = 0; c < WCODEC_MAX_CODED; c++) {
        wcodec_free(plan->allocator, plan->tables[c]);
        wcodec_free(plan->allocator, plan->costs[c]);
    }
    wcodec_free(plan->allocator, plan->tiling);
    wcodec_free(plan->allocator, plan);
}

/* Make a field's pool ready for coding. */
static wcodec_status set_pool(struct wcodec_plan *plan, unsigned c, const struct wcodec_table *tables, unsigned count, wcodec_error *err)
{
    const struct wcodec_table *pointers[16];
    plan->tables[c] = wcodec_alloc_array(plan->allocator, count, sizeof *plan->tables[c]);
    plan->costs[c] = wcodec_alloc(plan->allocator, sizeof *plan->costs[c]);
    if (!plan->tables[c] || !plan->costs[c])
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for %u tables", count);
    for (unsigned i = 0; i < count; i++) {
        struct wcodec_table table = tables[i];
        if (table.profile == WCODEC_P8)
            wcodec_table_order(&table);
        wcodec_encode_table_init(&plan->tables[c][i], &table);
        pointers[i] = &tables[i];
    }
    wcodec_costs_init(plan->costs[c], pointers, count);
    return WCODEC_OK;
}

wcodec_status wcodec_plan_tensor(wcodec_context *context, const struct wcodec_encode_settings *settings, wcodec_dtype dtype, const uint8_t *data, uint64_t size,
                                 const struct wcodec_survey *survey, struct wcodec_plan **plan, wcodec_error *err)
{
    struct wcodec_split splits[WCODEC_MAX_SPLITS];
    struct wcodec_plan *p = wcodec_alloc_zeroed(&context->allocator, sizeof *p);
    if (!p)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for a plan");
    wcodec_status status = WCODEC_OK;
    p->allocator = &context->allocator;
    p->tiling = wcodec_alloc_zeroed(p->allocator, sizeof *p->tiling);
    if (!p->tiling) {
        status = wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for a tiling");
        goto free_plan;
    }
    wcodec_split_candidates(survey, dtype, settings->level, splits, &p->order0_bits);
    struct wcodec_tiling *t = p->tiling;
    t->element_log2 = (uint8_t)survey->element_log2;
    t->tile_log2 = (uint8_t)wcodec_tile_policy(settings, survey->elements);
    t->field_count = splits[0].field_count;
    t->add = splits[0].add;
    memcpy(t->fields, splits[0].fields, sizeof t->fields);
    unsigned c = 0;
    for (unsigned i = 0; i < t->field_count; i++) {
        struct wcodec_field *f = &t->fields[i];
        if (f->kind != WCODEC_FIELD_CODED)
            continue;
        f->profile = WCODEC_P8;
        f->tables = 1;
        struct wcodec_table_kind kind = {f->profile, f->width, 0};
        uint64_t counts[256] = {0};
        struct wcodec_table table;
        uint32_t costs[256];
        wcodec_count_field(data, (size_t)survey->elements, survey->element_log2, t->add, f->shift, f->width, counts);
        wcodec_table_fit(&kind, counts, true, &table);
        wcodec_table_costs(&table, costs);
        p->word_bits += wcodec_counts_cost(counts, costs) / WCODEC_BIT;
        status = set_pool(p, c++, &table, 1, err);
        if (status)
            goto free_plan;
    }
    status = wcodec_tiling_derive(t, size, err);
    if (status)
        goto free_plan;
    *plan = p;
    return WCODEC_OK;

free_plan:
    wcodec_plan_free(p);
    return status;
}
