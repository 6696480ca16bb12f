/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "encode/tables.h"

#include "core/assert.h"

void wcodec_costs_init(struct wcodec_costs *costs, const struct wcodec_table *const *tables,
                       unsigned count)
{
    WCODEC_ASSERT(count >= 1 && count <= 16);
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

/* lanes is a constant where this is inlined, so that the sums stay in registers. */
#if defined(__GNUC__)
__attribute__((always_inline))
#endif
static inline void
sum_lanes(const struct wcodec_costs *costs, unsigned lanes, const uint8_t *symbols, size_t count,
          uint32_t sums[16])
{
    uint32_t sum[16] = {0};
    for (size_t i = 0; i < count; i++) {
        const uint32_t *bits = costs->bits[symbols[i]];
        for (unsigned k = 0; k < lanes; k++)
            sum[k] += bits[k];
    }
    memcpy(sums, sum, lanes * sizeof *sum);
}

void wcodec_costs_sum(const struct wcodec_costs *costs, const uint8_t *symbols, size_t count,
                      uint32_t sums[16])
{
    WCODEC_ASSERT(count <= 4096);
    switch (costs->lanes) {
    case 4:
        sum_lanes(costs, 4, symbols, count, sums);
        break;
    case 8:
        sum_lanes(costs, 8, symbols, count, sums);
        break;
    case 12:
        sum_lanes(costs, 12, symbols, count, sums);
        break;
    default:
        sum_lanes(costs, 16, symbols, count, sums);
    }
}
