/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "coding/masked.h"
#include "core/error.h"

#include <inttypes.h>
#include <string.h>
#include <xxhash.h>

enum { FORM = 1, TILE_LOG2_LEAST = 12, TILE_LOG2_MOST = 16 };

static wcodec_status bad(wcodec_error *err, const char *what)
{
    return wcodec_fail(err, WCODEC_ERROR_CORRUPT, "a masked tensor: %s", what);
}

wcodec_status wcodec_masked_read(struct wcodec_cursor *c, uint64_t size,
                                 struct wcodec_masked *masked, bool *newer, wcodec_error *err)
{
    struct wcodec_masked m = {.size = size};
    const uint8_t *bytes;
    uint8_t form;
    if (!wcodec_take_u8(c, &form))
        return bad(err, "its record is cut short");
    *newer = form != FORM;
    if (*newer)
        return WCODEC_OK;
    if (!wcodec_take_u8(c, &m.element_log2) || !wcodec_take_u8(c, &m.tile_log2) ||
        !wcodec_take_varint(c, &m.values) || !wcodec_take_bytes(c, 4, &bytes))
        return bad(err, "its record is cut short");
    if (m.element_log2 > 3 || size % ((uint64_t)1 << m.element_log2) != 0)
        return bad(err, "elements that do not fit its size");
    if (m.tile_log2 < TILE_LOG2_LEAST || m.tile_log2 > TILE_LOG2_MOST)
        return bad(err, "size of tiles");
    m.elements = size >> m.element_log2;
    m.tiles = wcodec_div_up_u64(m.elements, (uint64_t)1 << m.tile_log2);
    m.check = wcodec_load_u32(bytes);
    if (m.values == 0 || m.values > m.elements)
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                           "a masked tensor: %" PRIu64 " values of %" PRIu64 " elements", m.values,
                           m.elements);
    *masked = m;
    return WCODEC_OK;
}

size_t wcodec_masked_write(const struct wcodec_masked *m, uint8_t *to)
{
    uint8_t *at = to;
    *at++ = FORM;
    *at++ = m->element_log2;
    *at++ = m->tile_log2;
    at += wcodec_put_varint(at, m->values);
    wcodec_store_u32(at, m->check);
    return (size_t)(at - to) + 4;
}

uint32_t wcodec_masked_check(const uint8_t *counts, uint64_t size)
{
    return (uint32_t)XXH3_64bits(counts, (size_t)size);
}

wcodec_status wcodec_masked_counts_read(const struct wcodec_masked *m, const uint8_t *counts,
                                        uint64_t *firsts, wcodec_error *err)
{
    uint64_t sum = 0;
    if (wcodec_masked_check(counts, wcodec_masked_counts_size(m)) != m->check)
        return bad(err, "the check of its counts differs");
    for (uint64_t i = 0; i < m->tiles; i++) {
        const uint32_t count = wcodec_load_u32(counts + 4 * i);
        firsts[i] = sum;
        if (count > wcodec_masked_tile_elements(m, i) || count > m->values - sum)
            return bad(err, "a tile of too many values");
        sum += count;
    }
    firsts[m->tiles] = sum;
    return sum == m->values ? WCODEC_OK : bad(err, "its tiles have too few values");
}

static unsigned ones_of(uint64_t v)
{
#if defined(__GNUC__)
    return (unsigned)__builtin_popcountll(v);
#else
    unsigned ones = 0;
    for (; v != 0; v &= v - 1)
        ones++;
    return ones;
#endif
}

/* The first `bits` of up to eight bytes. */
static uint64_t mask_word(const uint8_t *mask, uint64_t bits)
{
    uint64_t v = 0;
    if (bits >= 64)
        return wcodec_load_u64(mask);
    for (unsigned i = 0; i < (bits + 7) / 8; i++)
        v |= (uint64_t)mask[i] << 8 * i;
    return v & (((uint64_t)1 << bits) - 1);
}

uint64_t wcodec_masked_ones(const uint8_t *mask, uint64_t elements)
{
    uint64_t ones = 0;
    for (uint64_t i = 0; i < elements; i += 64)
        ones += ones_of(mask_word(mask + i / 8, elements - i));
    return ones;
}

/* Eight elements of a byte of the mask, or fewer; a branch for each would be guessed wrongly half
 * of the time. An element that is no value is a load too, of what comes next. */
#define SPREAD(type, load, store) \
    static const uint8_t *spread_##type(unsigned mask, unsigned count, const uint8_t *values, \
                                        uint8_t *out) \
    { \
        for (unsigned k = 0; k < count; k++) { \
            const type one = (type)(mask >> k & 1); \
            store(out + k * sizeof(type), (type)(load(values) & (type)(0 - one))); \
            values += one * sizeof(type); \
        } \
        return values; \
    }

static uint8_t load_byte(const uint8_t *at)
{
    return *at;
}

static void store_byte(uint8_t *at, uint8_t v)
{
    *at = v;
}

SPREAD(uint8_t, load_byte, store_byte)
SPREAD(uint16_t, wcodec_load_u16, wcodec_store_u16)
SPREAD(uint32_t, wcodec_load_u32, wcodec_store_u32)
SPREAD(uint64_t, wcodec_load_u64, wcodec_store_u64)

#define SPREAD_ALL(type) \
    for (; i + 8 <= elements; i += 8) \
        values = spread_##type(mask[i / 8], 8, values, out + i * sizeof(type)); \
    if (i < elements) \
    (void)spread_##type(mask[i / 8], (unsigned)(elements - i), values, out + i * sizeof(type))

bool wcodec_masked_spread(unsigned element_log2, const uint8_t *mask, const uint8_t *values,
                          uint64_t count, uint64_t elements, uint8_t *out)
{
    uint64_t i = 0;
    if (wcodec_masked_ones(mask, elements) != count ||
        (elements % 8 != 0 && mask[elements / 8] >> elements % 8 != 0))
        return false;
    switch (element_log2) {
    case 0:
        SPREAD_ALL(uint8_t);
        break;
    case 1:
        SPREAD_ALL(uint16_t);
        break;
    case 2:
        SPREAD_ALL(uint32_t);
        break;
    default:
        SPREAD_ALL(uint64_t);
        break;
    }
    return true;
}

uint64_t wcodec_masked_gather(unsigned element_log2, const uint8_t *data, uint64_t elements,
                              uint8_t *mask, uint8_t *values)
{
    const size_t width = (size_t)1 << element_log2;
    uint64_t count = 0;
    memset(mask, 0, (size_t)wcodec_div_up_u64(elements, 8));
    for (uint64_t i = 0; i < elements; i++) {
        const uint8_t *at = data + (i << element_log2);
        if (wcodec_load_element(at, element_log2) == 0)
            continue;
        mask[i / 8] |= (uint8_t)(1u << i % 8);
        memcpy(values + (count++ << element_log2), at, width);
    }
    return count;
}

uint64_t wcodec_masked_count(unsigned element_log2, const uint8_t *data, uint64_t elements)
{
    uint64_t count = 0;
    for (uint64_t i = 0; i < elements; i++)
        count += wcodec_load_element(data + (i << element_log2), element_log2) != 0;
    return count;
}
