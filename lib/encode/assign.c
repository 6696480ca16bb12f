/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "encode/assign.h"

#include "encode/normalize.h"

void wcodec_costs_init(struct wcodec_costs *costs, const struct wcodec_table *const *tables, unsigned count)
{
    costs->tables = count;
    costs->lanes = (count + WCODEC_COST_LANES - 1) / WCODEC_COST_LANES * WCODEC_COST_LANES;
    for (unsigned t = 0; t < costs->lanes; t++) {
        uint32_t bits[256] = {0};
        if (t < count)
            wcodec_table_costs(tables[t], bits);
        for (unsigned s = 0; s < 256; s++)
            costs->bits[s][t] = bits[s] >> WCODEC_COST_SHIFT;
    }
}

static void sum_lanes(const struct wcodec_costs *costs, unsigned lane, const uint8_t *symbols, size_t count, uint32_t sums[16])
{
    uint32_t sum[WCODEC_COST_LANES] = {0};
    for (size_t i = 0; i < count; i++) {
        const uint32_t *bits = &costs->bits[symbols[i]][lane];
        for (unsigned k = 0; k < WCODEC_COST_LANES; k++)
            sum[k] += bits[k];
    }
    memcpy(sums + lane, sum, sizeof sum);
}

void wcodec_costs_sum(const struct wcodec_costs *costs, const uint8_t *symbols, size_t count, uint32_t sums[16])
{
    for (unsigned lane = 0; lane < costs->lanes; lane += WCODEC_COST_LANES)
        sum_lanes(costs, lane, symbols, count, sums);
}

unsigned wcodec_costs_best(const struct wcodec_costs *costs, const uint32_t sums[16])
{
    unsigned best = 0;
    for (unsigned t = 1; t < costs->tables; t++)
        if (sums[t] < sums[best])
            best = t;
    return best;
}
