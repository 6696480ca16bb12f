/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "coding/table.h"

#include "core/assert.h"
#include "core/error.h"

/* Nibble numbers (doc/format.md 2.2). */
struct nibbles {
    struct wcodec_cursor *cursor;
    uint8_t byte;
    bool half; /* the upper half of byte is still to be taken */
};

static bool take_nibble(struct nibbles *n, unsigned *value)
{
    if (n->half) {
        *value = n->byte >> 4;
        n->half = false;
        return true;
    }
    if (!wcodec_take_u8(n->cursor, &n->byte))
        return false;
    *value = n->byte & 15;
    n->half = true;
    return true;
}

static bool take_number(struct nibbles *n, unsigned *value)
{
    unsigned v = 0, unit;
    for (unsigned shift = 0; shift < 12; shift += 3) {
        if (!take_nibble(n, &unit))
            return false;
        v |= (unit & 7) << shift;
        if (!(unit & 8)) {
            if (unit == 0 && shift != 0)
                return false;
            *value = v;
            return true;
        }
    }
    return false;
}

static wcodec_status read_numbers(struct wcodec_cursor *cursor, unsigned alphabet,
                                  struct wcodec_table *t, wcodec_error *err)
{
    struct nibbles n = {cursor, 0, false};
    unsigned sum = 0;
    for (unsigned s = 0; s < alphabet;) {
        unsigned f, zeros;
        if (!take_number(&n, &f))
            return wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                               "frequency of symbol %u is cut off or not minimal", s);
        if (f == 0) {
            if (!take_nibble(&n, &zeros))
                return wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                                   "run of zero frequencies at symbol %u is cut off", s);
            if (zeros >= alphabet - s)
                return wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                                   "run of zero frequencies at symbol %u passes the last symbol",
                                   s);
            s += 1 + zeros;
            continue;
        }
        t->freq[s] = (uint16_t)f;
        t->order[t->count++] = (uint8_t)s++;
        sum += f;
    }
    if (n.half && n.byte >> 4 != 0)
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT, "unused half byte after a table is not zero");
    if (sum != 4096)
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT, "frequencies add up to %u instead of 4096",
                           sum);
    return WCODEC_OK;
}

static wcodec_status read_pairs(struct wcodec_cursor *cursor, struct wcodec_table *t,
                                wcodec_error *err)
{
    if (!wcodec_take_u8(cursor, &t->base))
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT, "table of pairs is cut off");
    if (t->width > 4 ? t->base + 15u >= 1u << t->width : t->base != 0)
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                           "window of pairs starts at %u, beyond a field of %u bits", t->base,
                           t->width);
    wcodec_status status = read_numbers(cursor, 256, t, err);
    if (status != WCODEC_OK || t->width >= 4)
        return status;
    for (unsigned i = 0; i < t->count; i++)
        if ((t->order[i] & 15u) >> t->width || t->order[i] >> 4 >> t->width)
            return wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                               "pair symbol %u does not fit fields of %u bits", t->order[i],
                               t->width);
    return WCODEC_OK;
}

static wcodec_status read_p8(struct wcodec_cursor *cursor, struct wcodec_table *t,
                             wcodec_error *err)
{
    uint8_t last, symbol, freq;
    if (!wcodec_take_u8(cursor, &last))
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT, "P8 table is cut off");
    unsigned sum = 0;
    for (unsigned i = 0; i <= last; i++) {
        if (!wcodec_take_u8(cursor, &symbol) || !wcodec_take_u8(cursor, &freq))
            return wcodec_fail(err, WCODEC_ERROR_CORRUPT, "P8 table of %u symbols is cut off",
                               last + 1u);
        if (symbol >> t->width)
            return wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                               "symbol %u does not fit a field of %u bits", symbol, t->width);
        if (freq == 0 && last > 0)
            return wcodec_fail(err, WCODEC_ERROR_CORRUPT, "symbol %u is held with frequency 0",
                               symbol);
        if (freq != 0 && last == 0)
            return wcodec_fail(
                err, WCODEC_ERROR_CORRUPT,
                "the only symbol of a table is stored with frequency %u instead of 0, for 256",
                freq);
        if (t->freq[symbol])
            return wcodec_fail(err, WCODEC_ERROR_CORRUPT, "symbol %u is held twice", symbol);
        t->freq[symbol] = last ? freq : 256;
        t->order[t->count++] = symbol;
        sum += t->freq[symbol];
    }
    if (sum != 256)
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT, "frequencies add up to %u instead of 256",
                           sum);
    return WCODEC_OK;
}

wcodec_status wcodec_table_read(struct wcodec_cursor *cursor, unsigned profile, unsigned width,
                                bool runs, struct wcodec_table *table, wcodec_error *err)
{
    WCODEC_ASSERT(profile >= WCODEC_PAIRS && profile <= WCODEC_P8);
    WCODEC_ASSERT(width >= 1 && width <= 8);
    struct wcodec_table t = {.profile = (uint8_t)profile, .width = (uint8_t)width};
    struct wcodec_cursor c = *cursor;
    wcodec_status status;
    if (profile == WCODEC_P8)
        status = read_p8(&c, &t, err);
    else if (profile == WCODEC_P12)
        status = read_numbers(&c, 1u << width, &t, err);
    else
        status = read_pairs(&c, &t, err);
    if (status != WCODEC_OK)
        return status;
    if (t.count < 2 && !(runs && profile == WCODEC_P8))
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                           "a table holds %u symbols; without runs it needs two", t.count);
    *cursor = c;
    *table = t;
    return WCODEC_OK;
}

struct nibble_writer {
    uint8_t *bytes;
    size_t count; /* nibbles */
};

static void put_nibble(struct nibble_writer *w, unsigned v)
{
    if (w->count % 2)
        w->bytes[w->count / 2] |= (uint8_t)(v << 4);
    else
        w->bytes[w->count / 2] = (uint8_t)v;
    w->count++;
}

static size_t write_numbers(const struct wcodec_table *t, unsigned alphabet, uint8_t *bytes)
{
    struct nibble_writer w = {bytes, 0};
    for (unsigned s = 0; s < alphabet; s++) {
        unsigned f = t->freq[s];
        for (; f >= 8; f >>= 3)
            put_nibble(&w, (f & 7) | 8);
        put_nibble(&w, f);
        if (t->freq[s])
            continue;
        unsigned zeros = 0;
        while (zeros < 15 && s + 1 < alphabet && t->freq[s + 1] == 0) {
            zeros++;
            s++;
        }
        put_nibble(&w, zeros);
    }
    return (w.count + 1) / 2;
}

size_t wcodec_table_write(const struct wcodec_table *table, uint8_t *bytes)
{
    WCODEC_ASSERT(table->count >= 1);
    switch (table->profile) {
    case WCODEC_P8:
        bytes[0] = (uint8_t)(table->count - 1);
        for (unsigned i = 0; i < table->count; i++) {
            bytes[1 + 2 * i] = table->order[i];
            bytes[2 + 2 * i] = (uint8_t)table->freq[table->order[i]]; /* 256: 0 */
        }
        return 1 + 2 * (size_t)table->count;
    case WCODEC_P12:
        return write_numbers(table, 1u << table->width, bytes);
    default:
        bytes[0] = table->base;
        return 1 + write_numbers(table, 256, bytes + 1);
    }
}

enum { SLOTS_AT_ONCE = 16 };

void wcodec_table_entries(const struct wcodec_table *table, uint32_t *entries)
{
    const uint32_t *const end = entries + (1u << wcodec_profile_bits(table->profile));
    for (unsigned i = 0; i < table->count; i++) {
        const uint32_t s = table->order[i], f = table->freq[s], e = f << 20 | s << 12;
        uint32_t bias = 0;
        /* A few too many, which the next symbol replaces, take less time than to stop in between.
         */
        for (; bias < f && end - entries >= bias + SLOTS_AT_ONCE; bias += SLOTS_AT_ONCE)
            for (uint32_t k = 0; k < SLOTS_AT_ONCE; k++)
                entries[bias + k] = e | (bias + k);
        for (; bias < f; bias++)
            entries[bias] = e | bias;
        entries += f;
    }
}

void wcodec_table_starts(const struct wcodec_table *table, uint16_t starts[256])
{
    unsigned sum = 0;
    memset(starts, 0, 256 * sizeof *starts);
    for (unsigned i = 0; i < table->count; i++) {
        starts[table->order[i]] = (uint16_t)sum;
        sum += table->freq[table->order[i]];
    }
}
