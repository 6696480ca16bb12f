/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* A table as devices encode with it: in words of 32 bits, for hosts and kernels. */
#ifndef WCODEC_CODING_DEVICE_TABLE_H
#define WCODEC_CODING_DEVICE_TABLE_H

#include "coding/tile.h"

/* By a field's value, in pairs by both windowed values: how what is coded for it is pushed onto a
 * state x. With c the top bit of `how` and s its lowest five, x / freq is the upper half of (x + c)
 * * reciprocal, shifted right by s; then x + quotient * rest + start. */
struct wcodec_device_symbol {
    uint32_t reciprocal;
    uint32_t how; /* bit 5: another symbol is coded; bits 8 to 15: which is, 16 to 27: freq */
    uint32_t rest;
    uint32_t start;
};

struct wcodec_device_table {
    struct wcodec_device_symbol symbols[256];
    uint32_t costs[256]; /* of a value, as those of struct wcodec_costs; 0 in pairs */
};

enum { WCODEC_DEVICE_OTHER_SYMBOL = 32 };

/* costs: NULL for pairs. */
void wcodec_device_table_init(struct wcodec_device_table *device,
                              const struct wcodec_encode_table *table, const uint32_t costs[256]);

#endif
