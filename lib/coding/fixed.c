/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "coding/fixed.h"

#include "coding/tile.h"
#include "core/assert.h"

#include <inttypes.h>
#include <string.h>
#include <xxhash.h>

enum { ROWS = WCODEC_FIXED_ROWS, COLUMNS = WCODEC_FIXED_COLUMNS, TILE = WCODEC_FIXED_TILE };

/* Index words of lanes: four of each, then the others. */
enum { FIRST_WORDS = WCODEC_FIXED_INDEX_AT, OTHER_WORDS = WCODEC_FIXED_INDEX_AT + 512 };

wcodec_status wcodec_fixed_derive(struct wcodec_fixed *f, uint64_t size, wcodec_error *err)
{
    if (f->bits < WCODEC_FIXED_BITS_MIN || f->bits > WCODEC_FIXED_BITS_MAX)
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT, "indices of %u bits, allowed are 2 and 3",
                           f->bits);
    if (f->list < 1 || f->list > WCODEC_FIXED_LIST_MAX)
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                           "lists of %u times 16 bytes, allowed are 1 to %d", f->list,
                           WCODEC_FIXED_LIST_MAX);
    if (f->columns < 1 || f->columns > WCODEC_FIXED_ROW_MAX / 2)
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                           "rows of %" PRIu64 " elements, allowed are 1 element to 2^20 bytes",
                           f->columns);
    if (size % (2 * f->columns) != 0)
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                           "%" PRIu64 " bytes are no whole number of rows of %" PRIu64 " elements",
                           size, f->columns);
    f->size = size;
    f->rows = size / 2 / f->columns;
    f->bands = wcodec_div_up_u64(f->rows, ROWS);
    f->across = wcodec_div_up_u64(f->columns, COLUMNS);
    /* With at most 2^48 bytes in rows of one element, 2^43 tiles: nothing overflows. */
    f->tiles = f->bands * f->across;
    if (f->spilled > f->tiles * TILE || f->foreign > f->spilled)
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                           "%" PRIu64 " spilled elements, %" PRIu64 " of them foreign, in %" PRIu64
                           " tiles",
                           f->spilled, f->foreign, f->tiles);
    f->record_size = wcodec_fixed_list_begin(f) + wcodec_fixed_list_size(f);
    f->checks_begin = f->bands * ROWS;
    f->tiles_begin = wcodec_align_u64(f->checks_begin + 4 * f->tiles, 16);
    f->spilled_begin = f->tiles_begin + f->tiles * f->record_size;
    f->payload_size = f->spilled_begin + 4 * f->spilled;
    return WCODEC_OK;
}

wcodec_status wcodec_fixed_read(struct wcodec_cursor *cursor, uint64_t size, wcodec_dtype dtype,
                                struct wcodec_fixed *fixed, bool *newer, wcodec_error *err)
{
    struct wcodec_fixed f = {0};
    struct wcodec_cursor c = *cursor;
    const uint8_t *check;
    uint8_t form;
    *newer = false;
    if (!wcodec_take_u8(&c, &form))
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                           "parameters of a tensor at a fixed rate are cut off");
    if (form != WCODEC_FIXED_FORM) {
        *newer = true;
        return WCODEC_OK;
    }
    if (dtype != WCODEC_DTYPE_BF16)
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                           "a tensor at a fixed rate of a type that has no such form");
    if (!wcodec_take_varint(&c, &f.columns) || !wcodec_take_u8(&c, &f.bits) ||
        !wcodec_take_u8(&c, &f.list) || !wcodec_take_varint(&c, &f.spilled) ||
        !wcodec_take_varint(&c, &f.foreign) || !wcodec_take_bytes(&c, 4, &check))
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                           "parameters of a tensor at a fixed rate are cut off");
    f.check = wcodec_load_u32(check);
    const wcodec_status status = wcodec_fixed_derive(&f, size, err);
    if (status != WCODEC_OK)
        return status;
    *cursor = c;
    *fixed = f;
    return WCODEC_OK;
}

size_t wcodec_fixed_write(const struct wcodec_fixed *f, uint8_t *bytes)
{
    uint8_t *p = bytes;
    *p++ = WCODEC_FIXED_FORM;
    p += wcodec_put_varint(p, f->columns);
    *p++ = f->bits;
    *p++ = f->list;
    p += wcodec_put_varint(p, f->spilled);
    p += wcodec_put_varint(p, f->foreign);
    wcodec_store_u32(p, f->check);
    return (size_t)(p + 4 - bytes);
}

uint32_t wcodec_fixed_shifts_check(const struct wcodec_fixed *f, const uint8_t *shifts)
{
    return (uint32_t)XXH3_64bits(shifts, (size_t)f->checks_begin);
}

wcodec_status wcodec_fixed_check_front(const struct wcodec_fixed *f, const uint8_t *front,
                                       wcodec_error *err)
{
    /* The window ends at exponent 127 + shift, and begins at 1 or above. */
    const int least = (1 << (f->bits + 1)) - WCODEC_FIXED_SHIFT_MAX;
    if (wcodec_fixed_shifts_check(f, front) != f->check)
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT, "the check of the rows' shifts differs");
    for (uint64_t i = 0; i < f->checks_begin; i++) {
        const int shift = (int8_t)front[i];
        if (shift < least && shift != WCODEC_FIXED_ZERO_ROW)
            return wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                               "row %" PRIu64 " has a shift of %d, the least is %d", i, shift,
                               least);
    }
    for (uint64_t i = f->checks_begin + 4 * f->tiles; i < f->tiles_begin; i++)
        if (front[i] != 0)
            return wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                               "byte %" PRIu64 " of the payload is padding and not zero", i);
    return WCODEC_OK;
}

enum wcodec_tile_fault wcodec_fixed_list_find(const struct wcodec_fixed *f, const uint8_t *record,
                                              struct wcodec_fixed_list *list)
{
    const uint8_t *at = record + wcodec_fixed_list_begin(f);
    const uint32_t size = wcodec_fixed_list_size(f);
    const bool spills = (at[1] & 128) != 0;
    const uint32_t end = size - (spills ? 8 : 0);
    const unsigned shorts = at[0], longs = at[1] & 127;
    if (2 + shorts + (shorts + 1) / 2 + 2 * longs > end)
        return WCODEC_TILE_OUTLIER;
    *list = (struct wcodec_fixed_list){.short_count = shorts,
                                       .long_count = longs,
                                       .short_low = at + 2,
                                       .short_high = at + 2 + shorts,
                                       .long_end = at + end};
    if (!spills)
        return WCODEC_TILE_OK;
    list->spilled_first = wcodec_load_u32(at + size - 8);
    list->spilled_count = wcodec_load_u32(at + size - 4);
    return list->spilled_count >= 1 && list->spilled_count <= TILE &&
                   list->spilled_first <= f->spilled &&
                   list->spilled_count <= f->spilled - list->spilled_first
               ? WCODEC_TILE_OK
               : WCODEC_TILE_OUTLIER;
}

enum wcodec_tile_fault wcodec_fixed_list_check(const struct wcodec_fixed_list *list,
                                               const uint8_t *spilled)
{
    unsigned kind, number = 0;
    int before = -1;
    for (unsigned i = 0; i < list->long_count; i++) {
        const int position = (int)(wcodec_fixed_long(list, i) % TILE);
        if (position <= before)
            return WCODEC_TILE_OUTLIER;
        before = position;
    }
    before = -1;
    for (unsigned i = 0; i < list->short_count; i++) {
        const int position = (int)wcodec_fixed_short(list, i, &kind);
        while (number < list->long_count &&
               (int)(wcodec_fixed_long(list, number) % TILE) < position)
            number++;
        if (position <= before || (number < list->long_count &&
                                   (int)(wcodec_fixed_long(list, number) % TILE) == position))
            return WCODEC_TILE_OUTLIER;
        before = position;
    }
    before = -1;
    for (uint32_t i = 0; i < list->spilled_count; i++) {
        const uint32_t word = wcodec_load_u32(spilled + 4 * (size_t)i);
        if ((int)(word % TILE) <= before || (word >> 11 & 31) != 0)
            return WCODEC_TILE_OUTLIER;
        before = (int)(word % TILE);
    }
    return WCODEC_TILE_OK;
}

static uint32_t index_word(unsigned bits, const uint8_t *record, unsigned lane, unsigned number)
{
    return wcodec_load_u32(number < 4 ? record + FIRST_WORDS + 16 * lane + 4 * (size_t)number
                                      : record + OTHER_WORDS + 8 * (bits - 1) * lane +
                                            4 * (size_t)(number - 4));
}

/* Index, and above it the sign. */
static unsigned selector(unsigned bits, const uint8_t *record, unsigned position)
{
    const unsigned lane = position / 16 % 32, quad = position / 512 * 4 + position / 4 % 4,
                   i = position % 4, u = quad % 8, half = quad / 8 * (bits + 1),
                   nibble = 4 * (u % 2 * 4 + i);
    if (u / 2 <= bits) {
        const uint32_t word = index_word(bits, record, lane, half + u / 2);
        const unsigned low = word >> nibble & 7;
        return bits == 2 ? low : low | (word >> (8 * i + (u % 2 ? 3 : 7)) & 1) << 3;
    }
    unsigned low = 0;
    for (unsigned k = 0; k < 3; k++)
        low |= (index_word(bits, record, lane, half + k) >> (nibble + 3) & 1) << k;
    return low;
}

static uint8_t *place(uint8_t *out, size_t stride, unsigned position)
{
    return out + wcodec_fixed_row(position) * stride + 2 * (size_t)wcodec_fixed_column(position);
}

/* An outlier, in whose place its element stands as its index says. */
static void patch(unsigned position, unsigned flip, const uint8_t *shifts, uint8_t *out,
                  size_t stride)
{
    const int shift = (int8_t)shifts[wcodec_fixed_row(position)];
    uint8_t *at = place(out, stride, position);
    if (shift == WCODEC_FIXED_ZERO_ROW)
        return;
    const uint16_t r = (uint16_t)((wcodec_load_u16(at) - 128 * shift) ^ (int)(flip << 8));
    wcodec_store_u16(at, wcodec_fixed_shifted(r, shift));
}

void wcodec_fixed_tile_patch(const struct wcodec_fixed *f, const struct wcodec_fixed_list *list,
                             const uint8_t *shifts, const uint8_t *spilled, uint8_t *out,
                             size_t stride)
{
    for (unsigned i = 0; i < list->short_count; i++) {
        unsigned kind;
        const unsigned position = wcodec_fixed_short(list, i, &kind);
        patch(position, wcodec_fixed_kind(f->bits, kind), shifts, out, stride);
    }
    for (unsigned i = 0; i < list->long_count; i++) {
        const unsigned outlier = wcodec_fixed_long(list, i);
        patch(outlier % TILE, outlier / TILE * 4, shifts, out, stride);
    }
    for (uint32_t i = 0; i < list->spilled_count; i++) {
        const uint32_t word = wcodec_load_u32(spilled + 4 * (size_t)i);
        wcodec_store_u16(place(out, stride, word % TILE), (uint16_t)(word >> 16));
    }
}

void wcodec_fixed_tile_decode(const struct wcodec_fixed *f, const uint8_t *record,
                              const struct wcodec_fixed_list *list, const uint8_t *shifts,
                              const uint8_t *spilled, uint8_t *out, size_t stride)
{
    for (unsigned position = 0; position < TILE; position++) {
        const unsigned selected = selector(f->bits, record, position),
                       upper = wcodec_fixed_base(f->bits) + selected % (1u << f->bits);
        const uint16_t r = (uint16_t)(selected >> f->bits << 15 | upper << 8 | record[position]);
        wcodec_store_u16(place(out, stride, position),
                         wcodec_fixed_shifted(r, (int8_t)shifts[wcodec_fixed_row(position)]));
    }
    wcodec_fixed_tile_patch(f, list, shifts, spilled, out, stride);
}

uint32_t wcodec_fixed_tile_check(const struct wcodec_fixed *f, const uint8_t *record,
                                 const uint8_t *spilled, uint32_t spilled_count)
{
    const uint32_t group = WCODEC_GROUP, spilled_size = 4 * spilled_count;
    uint64_t sums[WCODEC_LANES], more[WCODEC_LANES];
    wcodec_tile_check_sums(record, f->record_size, 0, sums);
    if (spilled_count != 0) {
        const uint32_t first = (f->record_size + group - 1) / group;
        wcodec_tile_check_sums_from(spilled, spilled_size, 0, first, more);
        for (unsigned lane = 0; lane < WCODEC_LANES; lane++)
            sums[lane] += more[lane];
    }
    return wcodec_tile_check_finish(sums);
}
