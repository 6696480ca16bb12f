/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "coding/tiling.h"

#include "core/assert.h"
#include "core/error.h"

#include <inttypes.h>

/* Raw bits are numbered from just above the highest coded field, around to the bottom of it
 * (doc/format.md 2.4). */
static void derive_raw_bits(struct wcodec_tiling *t, unsigned width)
{
    const struct wcodec_field *top = &t->fields[t->coded[t->coded_count - 1]];
    bool raw[64] = {false};
    for (unsigned f = 0; f < t->field_count; f++)
        if (t->fields[f].kind == WCODEC_FIELD_RAW)
            for (unsigned i = 0; i < t->fields[f].width; i++)
                raw[t->fields[f].shift + i] = true;
    t->raw_bits = 0;
    for (unsigned i = 0; i < width; i++) {
        unsigned position = (top->shift + top->width + i) % width;
        if (raw[position])
            t->raw_position[t->raw_bits++] = (uint8_t)position;
    }
    t->plane_count = 0;
    for (unsigned bits = 32, first = 0; bits; bits /= 2)
        if (t->raw_bits & bits) {
            t->planes[t->plane_count++] =
                (struct wcodec_plane){(uint8_t)bits, (uint8_t)first, t->raw_position[first]};
            first += bits;
        }
}

static wcodec_status derive_field(struct wcodec_tiling *t, unsigned i, wcodec_error *err)
{
    struct wcodec_field *f = &t->fields[i];
    switch (f->kind) {
    case WCODEC_FIELD_CONSTANT:
        if (f->width < 64 && f->value >> f->width)
            return wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                               "constant field %u does not fit its %u bits", i, f->width);
        t->constant_bits |= f->value << f->shift;
        return WCODEC_OK;
    case WCODEC_FIELD_RAW:
        return WCODEC_OK;
    case WCODEC_FIELD_CODED:
        break;
    default:
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT, "field %u has kind %u, known are 0 to 2", i,
                           f->kind);
    }
    if (f->width > 8)
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                           "coded field %u has %u bits, at most 8 are allowed", i, f->width);
    if (f->profile < WCODEC_PAIRS || f->profile > WCODEC_P8)
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                           "coded field %u has profile %u, known are 1 to 3", i, f->profile);
    if (f->tables < 1 || f->tables > (f->profile == WCODEC_P8 ? 16 : 4))
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT, "coded field %u has %u tables", i, f->tables);
    if (f->run_log2 &&
        (f->profile != WCODEC_P8 || f->tables < 2 || f->run_log2 < 7 || f->run_log2 > 12))
        return wcodec_fail(
            err, WCODEC_ERROR_CORRUPT,
            "coded field %u has runs of 2^%u elements, which its profile or pool does not allow", i,
            f->run_log2);
    if (t->coded_count == WCODEC_MAX_CODED)
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT, "more than %d coded fields",
                           WCODEC_MAX_CODED);
    t->coded[t->coded_count++] = (uint8_t)i;
    t->table_count += f->tables;
    return WCODEC_OK;
}

wcodec_status wcodec_tiling_derive(struct wcodec_tiling *t, uint64_t size, wcodec_error *err)
{
    if (t->element_log2 > 3)
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                           "element size 2^%u bytes, at most 2^3 is allowed", t->element_log2);
    if (t->tile_log2 < WCODEC_TILE_LOG2_MIN || t->tile_log2 > WCODEC_TILE_LOG2_MAX)
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                           "tile size 2^%u elements is not from 2^%d to 2^%d", t->tile_log2,
                           WCODEC_TILE_LOG2_MIN, WCODEC_TILE_LOG2_MAX);
    if (size == 0 || size & (((uint64_t)1 << t->element_log2) - 1))
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                           "%" PRIu64 " bytes are no positive number of elements of 2^%u bytes",
                           size, t->element_log2);
    if (t->field_count < 1 || t->field_count > WCODEC_MAX_FIELDS)
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT, "%u fields", t->field_count);
    t->size = size;
    t->elements = size >> t->element_log2;
    t->tiles = wcodec_div_up_u64(t->elements, (uint64_t)1 << t->tile_log2);
    t->coded_count = 0;
    t->table_count = 0;
    t->constant_bits = 0;
    unsigned width = 8u << t->element_log2, bit = 0;
    for (unsigned i = 0; i < t->field_count; i++) {
        struct wcodec_field *f = &t->fields[i];
        if (f->width < 1 || f->width > width - bit)
            return wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                               "field %u of %u bits passes the element's %u bits", i, f->width,
                               width);
        if (i > 0 && f->kind != WCODEC_FIELD_CODED && f->kind == t->fields[i - 1].kind)
            return wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                               "fields %u and %u are both constant or both raw", i - 1, i);
        f->shift = (uint8_t)bit;
        bit += f->width;
        wcodec_status status = derive_field(t, i, err);
        if (status != WCODEC_OK)
            return status;
    }
    if (bit != width)
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                           "fields have %u bits together, the element has %u", bit, width);
    if (t->coded_count == 0)
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT, "no field is coded");
    derive_raw_bits(t, width);
    return WCODEC_OK;
}

static bool take_field(struct wcodec_cursor *c, struct wcodec_field *f)
{
    const uint8_t *value;
    if (!wcodec_take_u8(c, &f->kind) || !wcodec_take_u8(c, &f->width))
        return false;
    if (f->kind == WCODEC_FIELD_CODED)
        return wcodec_take_u8(c, &f->profile) && wcodec_take_u8(c, &f->tables) &&
               wcodec_take_u8(c, &f->run_log2);
    if (f->kind != WCODEC_FIELD_CONSTANT)
        return true;
    if (f->width > 64 || !wcodec_take_bytes(c, (f->width + 7u) / 8, &value))
        return false;
    f->value = wcodec_load_uint(value, (f->width + 7u) / 8);
    return true;
}

wcodec_status wcodec_tiling_read(struct wcodec_cursor *cursor, uint64_t size,
                                 struct wcodec_tiling *tiling, wcodec_error *err)
{
    struct wcodec_tiling t = {0};
    struct wcodec_cursor c = *cursor;
    const uint8_t *add;
    if (!wcodec_take_u8(&c, &t.element_log2) || !wcodec_take_u8(&c, &t.tile_log2) ||
        t.element_log2 > 3 || !wcodec_take_bytes(&c, 1u << t.element_log2, &add) ||
        !wcodec_take_u8(&c, &t.field_count) || t.field_count > WCODEC_MAX_FIELDS)
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                           "parameters of a tensor in tiles are cut off or out of range");
    t.add = wcodec_load_uint(add, 1u << t.element_log2);
    for (unsigned i = 0; i < t.field_count; i++)
        if (!take_field(&c, &t.fields[i]))
            return wcodec_fail(err, WCODEC_ERROR_CORRUPT, "field %u of %u is cut off", i,
                               t.field_count);
    if (!wcodec_take_varint(&c, &t.prefix_size) || c.at != c.end)
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                           "parameters of a tensor in tiles do not end where its record ends");
    wcodec_status status = wcodec_tiling_derive(&t, size, err);
    if (status != WCODEC_OK)
        return status;
    *cursor = c;
    *tiling = t;
    return WCODEC_OK;
}

size_t wcodec_tiling_write(const struct wcodec_tiling *t, uint8_t *bytes)
{
    uint8_t *p = bytes;
    *p++ = t->element_log2;
    *p++ = t->tile_log2;
    wcodec_store_uint(p, t->add, 1u << t->element_log2);
    p += (size_t)1 << t->element_log2;
    *p++ = t->field_count;
    for (unsigned i = 0; i < t->field_count; i++) {
        const struct wcodec_field *f = &t->fields[i];
        *p++ = f->kind;
        *p++ = f->width;
        if (f->kind == WCODEC_FIELD_CODED) {
            *p++ = f->profile;
            *p++ = f->tables;
            *p++ = f->run_log2;
        } else if (f->kind == WCODEC_FIELD_CONSTANT) {
            wcodec_store_uint(p, f->value, (f->width + 7u) / 8);
            p += (f->width + 7u) / 8;
        }
    }
    p += wcodec_put_varint(p, t->prefix_size);
    return (size_t)(p - bytes);
}

uint64_t wcodec_tile_raw_size(const struct wcodec_tiling *t, uint32_t elements, unsigned mode)
{
    WCODEC_ASSERT(mode <= WCODEC_STREAM_STORED);
    WCODEC_ASSERT(elements >= 1);
    if (mode == WCODEC_STREAM_STORED)
        return wcodec_align_u64((uint64_t)elements << t->element_log2, 64);
    uint64_t groups = wcodec_div_up_u64(elements, WCODEC_GROUP), rows = 0;
    for (unsigned i = 0; i < t->plane_count; i++)
        rows += wcodec_div_up_u64(groups * t->planes[i].bits, 8);
    uint64_t size = rows * 4 * WCODEC_LANES;
    if (!wcodec_tile_has_payload(t, mode))
        return size;
    return size - (t->planes[0].bits == 4 && groups % 2 ? 4u : 2u) * WCODEC_LANES;
}
