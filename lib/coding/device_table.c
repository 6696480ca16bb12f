/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "coding/device_table.h"

/* With s such that 2^(32 + s) / f has 32 bits: rounded up to R it is right for all x < f 2^(32 - p)
 * as long as x e < 2^(32 + s), where e = R f - 2^(32 + s); else rounded down, for x + 1. One of the
 * two holds for every f (tests/unit/test_coding_device_table.c tries them all). */
static void prepare_quotient(unsigned p, uint32_t freq, struct wcodec_device_symbol *symbol)
{
    unsigned s = 0;
    while ((uint64_t)2 << s < freq)
        s++;
    const uint64_t one = (uint64_t)1 << (32 + s), up = (one + freq - 1) / freq,
                   most = ((uint64_t)freq << (32 - p)) - 1;
    if (up <= UINT32_MAX && most * (up * freq - one) < one) {
        symbol->reciprocal = (uint32_t)up;
        symbol->how = s;
    } else {
        symbol->reciprocal = freq == 1 ? UINT32_MAX : (uint32_t)(one / freq);
        symbol->how = s | 1u << 31;
    }
}

void wcodec_device_table_init(struct wcodec_device_table *device,
                              const struct wcodec_encode_table *table, const uint32_t costs[256])
{
    const unsigned p = wcodec_profile_bits(table->table.profile);
    for (unsigned v = 0; v < 256; v++) {
        const unsigned coded = table->substitute[v];
        const struct wcodec_encode_symbol *from = &table->symbols[coded];
        struct wcodec_device_symbol *to = &device->symbols[v];
        prepare_quotient(p, from->freq, to);
        to->how |= (coded != v ? (unsigned)WCODEC_DEVICE_OTHER_SYMBOL : 0u) | coded << 8 |
                   (unsigned)from->freq << 16;
        to->rest = from->rest;
        to->start = from->start;
        device->costs[v] = costs != NULL ? costs[v] : 0;
    }
}
