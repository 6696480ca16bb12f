/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "coding/lossy.h"

#include "core/assert.h"
#include "core/error.h"

#include <inttypes.h>
#include <xxhash.h>

enum { SIDE = WCODEC_TRANSFORM_SIDE, BLOCK = WCODEC_TRANSFORM_BLOCK };

static wcodec_status cut_off(wcodec_error *err)
{
    return wcodec_fail(err, WCODEC_ERROR_CORRUPT, "parameters of a lossy tensor are cut off");
}

wcodec_status wcodec_lossy_derive(struct wcodec_lossy *l, uint64_t size, wcodec_dtype dtype,
                                  unsigned coefficient_log2, wcodec_error *err)
{
    if (!wcodec_lossy_dtype(dtype))
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                           "a lossy tensor of dtype %d, it must be BF16, F16 or F32", (int)dtype);
    if (coefficient_log2 > WCODEC_COEFFICIENT_LOG2_MAX)
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                           "coefficients of 2^%u bytes, at most 2^%d are allowed", coefficient_log2,
                           WCODEC_COEFFICIENT_LOG2_MAX);
    const unsigned element_log2 = dtype == WCODEC_DTYPE_F32 ? 2 : 1;
    if (l->columns < 1 || l->columns > (uint64_t)WCODEC_LOSSY_ROW_MAX >> element_log2)
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                           "rows of %" PRIu64 " elements, allowed are 1 element to 2^20 bytes",
                           l->columns);
    if (size % (l->columns << element_log2) != 0)
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                           "%" PRIu64 " bytes are no whole number of rows of %" PRIu64 " elements",
                           size, l->columns);
    l->dtype = dtype;
    l->element_log2 = (uint8_t)element_log2;
    l->coefficient_log2 = (uint8_t)coefficient_log2;
    l->size = size;
    l->elements = size >> element_log2;
    l->rows = l->elements / l->columns;
    l->across = wcodec_div_up_u64(l->columns, WCODEC_SUPERBLOCK_COLUMNS);
    l->plain = l->mode_count == 1 && l->modes[0] == WCODEC_TRANSFORM_NONE;
    l->superblocks = l->plain ? 0 : wcodec_div_up_u64(l->rows, WCODEC_SUPERBLOCK_ROWS) * l->across;
    l->blocks = l->plain ? l->elements : l->superblocks * WCODEC_SUPERBLOCK_BLOCKS;
    return WCODEC_OK;
}

static wcodec_status take_modes(struct wcodec_cursor *c, struct wcodec_lossy *l, wcodec_error *err)
{
    if (l->mode_count < 1 || l->mode_count > WCODEC_TRANSFORMS)
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT, "%u modes of blocks, allowed are 1 to %d",
                           l->mode_count, WCODEC_TRANSFORMS);
    for (unsigned i = 0; i < l->mode_count; i++) {
        if (!wcodec_take_u8(c, &l->modes[i]) || !wcodec_take_varint(c, &l->counts[i]))
            return wcodec_fail(err, WCODEC_ERROR_CORRUPT, "mode %u of %u is cut off", i,
                               l->mode_count);
        if (l->modes[i] >= WCODEC_TRANSFORMS || (i > 0 && l->modes[i] <= l->modes[i - 1]))
            return wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                               "mode %u of blocks is %u: unknown, or not above the one before", i,
                               l->modes[i]);
    }
    return WCODEC_OK;
}

static wcodec_status check_counts(const struct wcodec_lossy *l, wcodec_error *err)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < l->mode_count; i++)
        if (l->counts[i] == 0 || !wcodec_add_u64(sum, l->counts[i], &sum))
            return wcodec_fail(err, WCODEC_ERROR_CORRUPT, "a mode of %" PRIu64 " blocks",
                               l->counts[i]);
    if (sum != l->blocks)
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                           "modes of %" PRIu64 " blocks, there are %" PRIu64, sum, l->blocks);
    return WCODEC_OK;
}

/* Finite and not negative, -0 neither. */
static bool take_figure(struct wcodec_cursor *c, double *figure)
{
    const uint8_t *bytes;
    if (!wcodec_take_bytes(c, 8, &bytes))
        return false;
    const uint64_t bits = wcodec_load_u64(bytes);
    memcpy(figure, &bits, sizeof bits);
    return bits < (uint64_t)0x7ff << 52;
}

wcodec_status wcodec_lossy_read(struct wcodec_cursor *cursor, uint64_t size, wcodec_dtype dtype,
                                struct wcodec_lossy *lossy, struct wcodec_tiling *tiling,
                                bool *newer, wcodec_error *err)
{
    struct wcodec_lossy l = {0};
    struct wcodec_cursor c = *cursor;
    const uint8_t *check;
    uint8_t form;
    *newer = false;
    if (!wcodec_take_u8(&c, &form))
        return cut_off(err);
    if (form != WCODEC_LOSSY_FORM) {
        *newer = true;
        return WCODEC_OK;
    }
    if (!wcodec_take_varint(&c, &l.columns) || !wcodec_take_u8(&c, &l.row_scales) ||
        !wcodec_take_u8(&c, &l.order) || !wcodec_take_u8(&c, &l.mode_count))
        return cut_off(err);
    if (l.row_scales > WCODEC_SCALES_ROWS)
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT, "scales of kind %u, allowed are 0 and 1",
                           l.row_scales);
    if (l.order >= WCODEC_ORDERS)
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                           "order %u of coefficients, allowed are 0 to %d", l.order,
                           WCODEC_ORDERS - 1);
    wcodec_status status = take_modes(&c, &l, err);
    if (status != WCODEC_OK)
        return status;
    if (!take_figure(&c, &l.largest_error) || !take_figure(&c, &l.mean_squared_error) ||
        !take_figure(&c, &l.mean_square))
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                           "error figures of a lossy tensor are cut off, negative or not finite");
    if (!wcodec_take_bytes(&c, 4, &check) || c.at == c.end)
        return cut_off(err);
    l.check = wcodec_load_u32(check);
    status = wcodec_lossy_derive(&l, size, dtype, *c.at, err);
    if (status == WCODEC_OK && l.plain && l.order != WCODEC_ORDER_DIAGONALS)
        status = wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                             "order %u of coefficients without blocks, it must be 0", l.order);
    if (status == WCODEC_OK)
        status = check_counts(&l, err);
    if (status == WCODEC_OK)
        status = wcodec_tiling_read(&c, wcodec_lossy_coefficients(&l) << l.coefficient_log2, tiling,
                                    err);
    if (status != WCODEC_OK)
        return status;
    *cursor = c;
    *lossy = l;
    return WCODEC_OK;
}

static uint8_t *put_figure(uint8_t *p, double figure)
{
    uint64_t bits;
    memcpy(&bits, &figure, sizeof bits);
    wcodec_store_u64(p, bits);
    return p + 8;
}

size_t wcodec_lossy_write(const struct wcodec_lossy *l, const struct wcodec_tiling *tiling,
                          uint8_t *bytes)
{
    uint8_t *p = bytes;
    *p++ = WCODEC_LOSSY_FORM;
    p += wcodec_put_varint(p, l->columns);
    *p++ = l->row_scales;
    *p++ = l->order;
    *p++ = l->mode_count;
    for (unsigned i = 0; i < l->mode_count; i++) {
        *p++ = l->modes[i];
        p += wcodec_put_varint(p, l->counts[i]);
    }
    p = put_figure(p, l->largest_error);
    p = put_figure(p, l->mean_squared_error);
    p = put_figure(p, l->mean_square);
    wcodec_store_u32(p, l->check);
    p += 4;
    return (size_t)(p - bytes) + wcodec_tiling_write(tiling, p);
}

uint32_t wcodec_lossy_side_check(const struct wcodec_lossy *l, const uint8_t *side)
{
    return (uint32_t)XXH3_64bits(side, (size_t)wcodec_lossy_side_size(l));
}

static wcodec_status check_modes(const struct wcodec_lossy *l, const uint8_t *side,
                                 wcodec_error *err)
{
    const unsigned bits = wcodec_lossy_index_bits(l);
    const uint64_t size = wcodec_lossy_modes_size(l); /* whole bytes */
    uint64_t counts[4] = {0}, bytes[256] = {0};
    if (bits == 0)
        return WCODEC_OK;
    for (uint64_t i = 0; i < size; i++)
        bytes[side[i]]++;
    for (unsigned v = 0; v < 256; v++)
        for (unsigned shift = 0; shift < 8; shift += bits)
            counts[v >> shift & ((1u << bits) - 1)] += bytes[v];
    for (unsigned m = 0; m < 4; m++)
        if (counts[m] != (m < l->mode_count ? l->counts[m] : 0))
            return wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                               "%" PRIu64
                               " blocks have mode %u of %u, which is not what the index says",
                               counts[m], m, l->mode_count);
    return WCODEC_OK;
}

wcodec_status wcodec_lossy_check_side(const struct wcodec_lossy *l, const uint8_t *side,
                                      wcodec_error *err)
{
    if (wcodec_lossy_side_check(l, side) != l->check)
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT, "the check of modes and scales differs");
    wcodec_status status = check_modes(l, side, err);
    if (status != WCODEC_OK)
        return status;
    for (uint64_t i = 0; i < wcodec_lossy_scale_count(l); i++)
        if (!wcodec_scale_valid(wcodec_lossy_scale(l, side, i)))
            return wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                               "scale %" PRIu64 " is neither 0 nor between 2^-100 and 2^60", i);
    for (uint64_t i = wcodec_lossy_side_size(l); i < wcodec_lossy_tiles_begin(l); i++)
        if (side[i] != 0)
            return wcodec_fail(err, WCODEC_ERROR_CORRUPT, "bytes after the scales are not zero");
    return WCODEC_OK;
}

uint16_t wcodec_bf16_from_f32(float value)
{
    const uint32_t bits = wcodec_f32_bits(value);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/* In integers: conversions of the machine may flush subnormal results. */
uint16_t wcodec_f16_from_f32(float value)
{
    uint32_t half;
    const uint32_t bits = wcodec_f32_bits(value), sign = bits >> 16 & 0x8000,
                   magnitude = bits & 0x7fffffff;
    if (magnitude >= 0x47800000) { /* 2^16 */
        half = 0x7c00;
    } else if (magnitude >= 0x38800000) { /* 2^-14: normal */
        half = magnitude - (112u << 23);
        half = (half + 0xfff + (half >> 13 & 1)) >> 13;
    } else if (magnitude >= 0x33000000) { /* 2^-25 */
        const uint32_t mantissa = (magnitude & 0x7fffff) | 0x800000,
                       shift = 126 - (magnitude >> 23), rest = mantissa & ((1u << shift) - 1),
                       middle = 1u << (shift - 1);
        half = mantissa >> shift;
        half += rest > middle || (rest == middle && (half & 1));
    } else {
        half = 0;
    }
    return (uint16_t)(sign | half);
}

uint32_t wcodec_lossy_element(wcodec_dtype dtype, int32_t value, float scale)
{
    WCODEC_ASSERT(wcodec_lossy_dtype(dtype));
    const float number = (float)value, product = number * scale;
    if (dtype == WCODEC_DTYPE_BF16)
        return wcodec_bf16_from_f32(product);
    if (dtype == WCODEC_DTYPE_F16)
        return wcodec_f16_from_f32(product);
    return wcodec_f32_bits(product);
}

void wcodec_lossy_store(wcodec_dtype dtype, const int32_t *values, unsigned count, float scale,
                        uint8_t *to)
{
    for (unsigned i = 0; i < count; i++) {
        const uint32_t bits = wcodec_lossy_element(dtype, values[i], scale);
        if (dtype == WCODEC_DTYPE_F32)
            wcodec_store_u32(to + (size_t)4 * i, bits);
        else
            wcodec_store_u16(to + (size_t)2 * i, (uint16_t)bits);
    }
}

void wcodec_superblock_reconstruct(const struct wcodec_lossy *l, const uint8_t *side,
                                   uint64_t superblock, const uint8_t *coefficients, uint64_t begin,
                                   uint64_t end, uint8_t *dst)
{
    WCODEC_ASSERT(!l->plain && superblock < l->superblocks);
    WCODEC_ASSERT(begin <= end && end <= l->size);
    const uint8_t *positions = wcodec_orders[l->order];
    const uint64_t top = superblock / l->across * WCODEC_SUPERBLOCK_ROWS,
                   left = superblock % l->across * WCODEC_SUPERBLOCK_COLUMNS;
    for (unsigned block = 0; block < WCODEC_SUPERBLOCK_BLOCKS; block++) {
        const uint64_t row = top + block / 32 * SIDE, column = left + block % 32 * SIDE;
        int32_t placed[BLOCK], values[BLOCK];
        if (row >= l->rows || column >= l->columns)
            continue;
        for (unsigned k = 0; k < BLOCK; k++)
            placed[positions[k]] = wcodec_coefficient(coefficients, l->coefficient_log2,
                                                      wcodec_coefficient_index(block, k));
        wcodec_transform_inverse(
            wcodec_lossy_mode(l, side, superblock * WCODEC_SUPERBLOCK_BLOCKS + block), placed,
            values);
        const unsigned width = l->columns - column < SIDE ? (unsigned)(l->columns - column) : SIDE;
        for (unsigned y = 0; y < SIDE && row + y < l->rows; y++) {
            uint8_t bytes[4 * SIDE];
            wcodec_lossy_store(l->dtype, values + (size_t)SIDE * y, SIDE,
                               wcodec_lossy_scale(l, side, row + y), bytes);
            wcodec_put_part(bytes, ((row + y) * l->columns + column) << l->element_log2,
                            (uint64_t)width << l->element_log2, begin, end, dst);
        }
    }
}

void wcodec_plain_reconstruct(const struct wcodec_lossy *l, const uint8_t *side, uint64_t first,
                              uint64_t count, const uint8_t *coefficients, uint8_t *elements)
{
    WCODEC_ASSERT(l->plain && first <= l->elements && count <= l->elements - first);
    for (uint64_t i = 0; i < count; i++) {
        const int32_t value = wcodec_coefficient(coefficients, l->coefficient_log2, (size_t)i) *
                              WCODEC_TRANSFORM_UNIT;
        const float scale = wcodec_lossy_scale(l, side, (first + i) / l->columns);
        wcodec_lossy_store(l->dtype, &value, 1, scale, elements + ((size_t)i << l->element_log2));
    }
}
