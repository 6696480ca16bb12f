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

/* lanes is a constant where this is inlined, so that the sums stay in registers; there are two of
 * each, so that additions do not wait for each other. */
#if defined(__GNUC__)
__attribute__((always_inline))
#endif
static inline void
sum_lanes(const struct wcodec_costs *costs, unsigned lanes, const uint8_t *symbols, size_t count,
          uint32_t sums[16])
{
    uint32_t even[16] = {0}, odd[16] = {0};
    size_t i = 0;
    for (; i + 8 <= count; i += 8) {
        const uint64_t v = wcodec_load_u64(symbols + i);
        for (unsigned b = 0; b < 64; b += 16) {
            const uint32_t *first = costs->bits[v >> b & 0xff],
                           *second = costs->bits[v >> (b + 8) & 0xff];
            for (unsigned k = 0; k < lanes; k++)
                even[k] += first[k];
            for (unsigned k = 0; k < lanes; k++)
                odd[k] += second[k];
        }
    }
    for (; i < count; i++)
        for (unsigned k = 0; k < lanes; k++)
            even[k] += costs->bits[symbols[i]][k];
    for (unsigned k = 0; k < lanes; k++)
        sums[k] = even[k] + odd[k];
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
