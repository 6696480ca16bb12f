/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "coding/blocks.h"

#include "core/assert.h"
#include "core/error.h"

#include <inttypes.h>
#include <xxhash.h>

enum { SIDE = WCODEC_BLOCK_SIDE };

wcodec_status wcodec_blocks_derive(struct wcodec_blocks *b, uint64_t size, unsigned element_log2,
                                   wcodec_error *err)
{
    if (element_log2 > WCODEC_BLOCKS_ELEMENT_LOG2_MAX)
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                           "elements of 2^%u bytes in blocks, at most 2^%d are allowed",
                           element_log2, WCODEC_BLOCKS_ELEMENT_LOG2_MAX);
    if (b->columns < 1 || b->columns > (uint64_t)WCODEC_BLOCKS_ROW_MAX >> element_log2)
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                           "rows of %" PRIu64 " elements, allowed are 1 element to 2^20 bytes",
                           b->columns);
    if (size % (b->columns << element_log2) != 0)
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                           "%" PRIu64 " bytes are no whole number of rows of %" PRIu64 " elements",
                           size, b->columns);
    b->element_log2 = (uint8_t)element_log2;
    b->size = size;
    b->rows = size / (b->columns << element_log2);
    b->across = wcodec_div_up_u64(b->columns, SIDE);
    b->count = wcodec_div_up_u64(b->rows, SIDE) * b->across;
    return WCODEC_OK;
}

static wcodec_status take_modes(struct wcodec_cursor *c, struct wcodec_blocks *b, wcodec_error *err)
{
    if (b->mode_count < 1 || b->mode_count > WCODEC_MODES)
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT, "%u modes of blocks, allowed are 1 to %d",
                           b->mode_count, WCODEC_MODES);
    for (unsigned i = 0; i < b->mode_count; i++) {
        if (!wcodec_take_u8(c, &b->modes[i]) || !wcodec_take_varint(c, &b->counts[i]))
            return wcodec_fail(err, WCODEC_ERROR_CORRUPT, "mode %u of %u is cut off", i,
                               b->mode_count);
        if (!wcodec_mode_valid(b->modes[i]) || (i > 0 && b->modes[i] <= b->modes[i - 1]))
            return wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                               "mode %u of blocks is %u: unknown, or not above the one before", i,
                               b->modes[i]);
    }
    return WCODEC_OK;
}

static wcodec_status check_counts(const struct wcodec_blocks *b, wcodec_error *err)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < b->mode_count; i++)
        if (b->counts[i] == 0 || !wcodec_add_u64(sum, b->counts[i], &sum))
            return wcodec_fail(err, WCODEC_ERROR_CORRUPT, "a mode of %" PRIu64 " blocks",
                               b->counts[i]);
    if (sum != b->count)
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                           "modes of %" PRIu64 " blocks, there are %" PRIu64, sum, b->count);
    return WCODEC_OK;
}

wcodec_status wcodec_blocks_read(struct wcodec_cursor *cursor, uint64_t size,
                                 struct wcodec_blocks *blocks, struct wcodec_tiling *tiling,
                                 bool *newer, wcodec_error *err)
{
    struct wcodec_blocks b = {0};
    struct wcodec_cursor c = *cursor;
    const uint8_t *check;
    uint8_t form;
    *newer = false;
    if (!wcodec_take_u8(&c, &form))
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                           "parameters of a tensor in blocks are cut off");
    if (form != WCODEC_BLOCKS_FORM) {
        *newer = true;
        return WCODEC_OK;
    }
    if (!wcodec_take_varint(&c, &b.columns) || !wcodec_take_u8(&c, &b.mode_count))
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                           "parameters of a tensor in blocks are cut off");
    wcodec_status status = take_modes(&c, &b, err);
    if (status != WCODEC_OK)
        return status;
    if (!wcodec_take_bytes(&c, 4, &check) || c.at == c.end)
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                           "parameters of a tensor in blocks are cut off");
    b.check = wcodec_load_u32(check);
    status = wcodec_blocks_derive(&b, size, *c.at, err);
    if (status == WCODEC_OK)
        status = check_counts(&b, err);
    if (status == WCODEC_OK)
        status = wcodec_tiling_read(&c, wcodec_blocks_residual_size(&b), tiling, err);
    if (status != WCODEC_OK)
        return status;
    *cursor = c;
    *blocks = b;
    return WCODEC_OK;
}

size_t wcodec_blocks_write(const struct wcodec_blocks *b, const struct wcodec_tiling *tiling,
                           uint8_t *bytes)
{
    uint8_t *p = bytes;
    *p++ = WCODEC_BLOCKS_FORM;
    p += wcodec_put_varint(p, b->columns);
    *p++ = b->mode_count;
    for (unsigned i = 0; i < b->mode_count; i++) {
        *p++ = b->modes[i];
        p += wcodec_put_varint(p, b->counts[i]);
    }
    wcodec_store_u32(p, b->check);
    p += 4;
    return (size_t)(p - bytes) + wcodec_tiling_write(tiling, p);
}

uint32_t wcodec_blocks_modes_check(const struct wcodec_blocks *b, const uint8_t *packed)
{
    return (uint32_t)XXH3_64bits(packed, (size_t)wcodec_blocks_modes_size(b));
}

wcodec_status wcodec_blocks_check_modes(const struct wcodec_blocks *b, const uint8_t *packed,
                                        wcodec_error *err)
{
    const unsigned bits = wcodec_blocks_index_bits(b);
    uint64_t counts[16] = {0};
    if (wcodec_blocks_modes_check(b, packed) != b->check)
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT, "the check of the blocks' modes differs");
    if (bits == 0)
        return WCODEC_OK;
    for (uint64_t i = 0; i < b->count; i++)
        counts[(unsigned)packed[i * bits / 8] >> (i * bits % 8) & ((1u << bits) - 1)]++;
    for (unsigned m = 0; m < 16; m++)
        if (counts[m] != (m < b->mode_count ? b->counts[m] : 0))
            return wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                               "%" PRIu64
                               " blocks have mode %u of %u, which is not what the index says",
                               counts[m], m, b->mode_count);
    if (b->count * bits % 8 != 0 && packed[b->count * bits / 8] >> (b->count * bits % 8) != 0)
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT, "bits after the blocks' modes are not zero");
    for (uint64_t i = wcodec_blocks_modes_size(b); i < wcodec_blocks_tiles_begin(b); i++)
        if (packed[i] != 0)
            return wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                               "bytes after the blocks' modes are not zero");
    return WCODEC_OK;
}

/* Where a block lies in the view; rows and columns of it that are no padding. */
struct extent {
    uint64_t row, column;
    unsigned height, width;
};

static struct extent extent_of(const struct wcodec_blocks *b, uint64_t block)
{
    struct extent p = {block / b->across * SIDE, block % b->across * SIDE, SIDE, SIDE};
    if (b->rows - p.row < SIDE)
        p.height = (unsigned)(b->rows - p.row);
    if (b->columns - p.column < SIDE)
        p.width = (unsigned)(b->columns - p.column);
    return p;
}

static inline void widen(const uint8_t *from, unsigned element_log2, unsigned count, uint16_t *to)
{
    if (element_log2)
        for (unsigned i = 0; i < count; i++)
            to[i] = wcodec_load_u16(from + (size_t)2 * i);
    else
        for (unsigned i = 0; i < count; i++)
            to[i] = from[i];
}

static inline void narrow(const uint16_t *from, unsigned element_log2, unsigned count, uint8_t *to)
{
    if (element_log2)
        for (unsigned i = 0; i < count; i++)
            wcodec_store_u16(to + (size_t)2 * i, from[i]);
    else
        for (unsigned i = 0; i < count; i++)
            to[i] = (uint8_t)from[i];
}

void wcodec_block_load(const struct wcodec_blocks *b, const uint8_t *data, uint64_t block,
                       uint16_t elements[WCODEC_BLOCK])
{
    WCODEC_ASSERT(block < b->count);
    const struct extent p = extent_of(b, block);
    for (unsigned y = 0; y < SIDE; y++) {
        uint16_t *row = elements + (size_t)SIDE * y;
        if (y >= p.height) {
            memcpy(row, row - SIDE, SIDE * sizeof *row);
            continue;
        }
        const uint8_t *from = data + (((p.row + y) * b->columns + p.column) << b->element_log2);
        if (p.width == SIDE)
            widen(from, b->element_log2, SIDE, row);
        else
            widen(from, b->element_log2, p.width, row);
        for (unsigned x = p.width; x < SIDE; x++)
            row[x] = row[p.width - 1];
    }
}

void wcodec_residuals_store(const struct wcodec_blocks *b, const uint16_t residuals[WCODEC_BLOCK],
                            uint8_t *to)
{
    narrow(residuals, b->element_log2, WCODEC_BLOCK, to);
}

void wcodec_block_put(const struct wcodec_blocks *b, uint64_t block, const uint8_t *elements,
                      uint64_t begin, uint64_t end, uint8_t *dst)
{
    WCODEC_ASSERT(block < b->count && begin <= end);
    const struct extent p = extent_of(b, block);
    for (unsigned y = 0; y < p.height; y++, elements += (size_t)SIDE << b->element_log2) {
        const uint64_t at = ((p.row + y) * b->columns + p.column) << b->element_log2;
        wcodec_put_part(elements, at, (uint64_t)p.width << b->element_log2, begin, end, dst);
    }
}

void wcodec_block_restore(unsigned mode, unsigned element_log2, const uint8_t *residuals,
                          uint8_t *elements)
{
    uint16_t values[WCODEC_BLOCK];
    widen(residuals, element_log2, WCODEC_BLOCK, values);
    wcodec_block_elements(mode, element_log2, values);
    narrow(values, element_log2, WCODEC_BLOCK, elements);
}

void wcodec_block_reconstruct(const struct wcodec_blocks *b, uint64_t block, unsigned mode,
                              const uint8_t *residuals, uint64_t begin, uint64_t end, uint8_t *dst)
{
    uint8_t elements[2 * WCODEC_BLOCK];
    wcodec_block_restore(mode, b->element_log2, residuals, elements);
    wcodec_block_put(b, block, elements, begin, end, dst);
}

bool wcodec_block_is_right(const struct wcodec_blocks *b, uint64_t block, unsigned mode,
                           const uint8_t *residuals, const uint8_t *data)
{
    uint16_t values[WCODEC_BLOCK], elements[WCODEC_BLOCK], differ = 0;
    widen(residuals, b->element_log2, WCODEC_BLOCK, values);
    wcodec_block_elements(mode, b->element_log2, values);
    wcodec_block_load(b, data, block, elements);
    for (unsigned i = 0; i < WCODEC_BLOCK; i++)
        differ |= (uint16_t)(values[i] ^ elements[i]);
    return (differ & (b->element_log2 ? 0xffff : 0xff)) == 0;
}
