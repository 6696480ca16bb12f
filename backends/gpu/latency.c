/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "backends/gpu/latency.h"
#include "backends/kernels/rans.h"

#include <string.h>

bool wcodec_latency_write_table(const struct wcodec_table_set *set, uint8_t *at)
{
    const uint32_t *entries = (const void *)(set + 1);
    uint32_t *symbols = (void *)(at + 4096);
    memset(symbols, 0, 1024);
    for (uint32_t slot = 0, frequency; slot < 4096; slot += frequency) {
        const uint32_t e = entries[slot], symbol = WCODEC_ENTRY_SYMBOL(e);
        frequency = e >> 20;
        if (frequency == 0 || frequency > 4096 - slot || e & 0xfff)
            return false;
        memset(at + slot, (int)symbol, frequency);
        symbols[symbol] = e - slot;
    }
    return true;
}
