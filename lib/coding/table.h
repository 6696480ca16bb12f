/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Frequency tables of one symbol distribution (doc/format.md 2.2). */
#ifndef WCODEC_CODING_TABLE_H
#define WCODEC_CODING_TABLE_H

#include "coding/codes.h"
#include "core/bytes.h"
#include <wcodec/base.h>

/* A valid table: at least two symbols have a frequency; all frequencies add up to 4096 (pairs, P12)
 * or 256 (P8), each one less at most. In a pool of P8 that runs choose from, also one symbol of
 * frequency 256: a run of such a table is constant, and leaves states and words alone. */
struct wcodec_table {
    uint8_t profile;
    uint8_t width;      /* bits of the field */
    uint8_t base;       /* pairs: first value of the window */
    uint16_t count;     /* symbols with a frequency */
    uint8_t order[256]; /* these symbols in the order in which slots are dealt: ascending except in
                           P8 */
    uint16_t freq[256]; /* by symbol; 0: not held */
};

static inline unsigned wcodec_profile_bits(unsigned profile)
{
    return profile == WCODEC_P8 ? 8 : 12;
}

/* Elements that one symbol stands for. */
static inline unsigned wcodec_profile_span(unsigned profile)
{
    return profile == WCODEC_PAIRS ? 2 : 1;
}

static inline bool wcodec_table_is_constant(const struct wcodec_table *t)
{
    return t->count == 1;
}

/* Parse one table; runs: of a field with runs. WCODEC_ERROR_CORRUPT if it is not valid, or bytes
 * are missing. */
wcodec_status wcodec_table_read(struct wcodec_cursor *cursor, unsigned profile, unsigned width,
                                bool runs, struct wcodec_table *table, wcodec_error *err);

/* Most bytes that a table takes. */
#define WCODEC_TABLE_MAX_BYTES 600

/* Write a valid table; returns the number of bytes, at most WCODEC_TABLE_MAX_BYTES. */
size_t wcodec_table_write(const struct wcodec_table *table, uint8_t *bytes);

/* One u32 a slot: frequency << 20 | symbol << 12 | bias; 4096 entries, or 256 for P8. Decoding: x =
 * (e >> 20) * (x >> p) + (e & 0xfff). */
void wcodec_table_entries(const struct wcodec_table *table, uint32_t *entries);

/* Cumulative frequency of each held symbol: where its slots begin. */
void wcodec_table_starts(const struct wcodec_table *table, uint16_t starts[256]);

#endif
