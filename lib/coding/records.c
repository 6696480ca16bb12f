/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "coding/records.h"

#include "coding/chunks.h"
#include "core/error.h"

#include <inttypes.h>
#include <wcodec/reader.h>

#define CORRUPT(err, ...) wcodec_fail(err, WCODEC_ERROR_CORRUPT, __VA_ARGS__)

/* Places of payloads must not overflow, whatever a record says. */
#define PAYLOAD_MAX ((uint64_t)1 << 62)

/* Note the bytes of a field in a map of the record. */
static wcodec_status cover(const struct wcodec_records *r, const struct wcodec_record_field *f,
                           uint8_t map[WCODEC_RECORD_MAX], wcodec_error *err)
{
    if (f->width == 0 || f->offset >= r->record_size || f->width > r->record_size - f->offset)
        return CORRUPT(err, "a field of %u bytes at byte %u of records of %u bytes", f->width,
                       f->offset, r->record_size);
    for (unsigned i = f->offset; i < (unsigned)f->offset + f->width; i++)
        if (map[i]++ != 0)
            return CORRUPT(err, "byte %u of a record is in two fields", i);
    return WCODEC_OK;
}

/* Each byte of a record is in one field. */
static wcodec_status check_cover(const struct wcodec_records *r, wcodec_error *err)
{
    uint8_t map[WCODEC_RECORD_MAX] = {0};
    wcodec_status status = WCODEC_OK;
    for (unsigned i = 0; i < r->field_count && status == WCODEC_OK; i++)
        status = cover(r, &r->fields[i], map, err);
    for (unsigned i = 0; i < r->record_size && status == WCODEC_OK; i++)
        if (map[i] == 0)
            status = CORRUPT(err, "byte %u of a record is in no field", i);
    return status;
}

static wcodec_status check_sizes(const struct wcodec_records *r, uint64_t size, wcodec_error *err)
{
    if (r->record_size == 0 || r->record_size > WCODEC_RECORD_MAX)
        return CORRUPT(err, "records of %u bytes, allowed are 1 to %d", r->record_size,
                       WCODEC_RECORD_MAX);
    if (r->field_count == 0 || r->field_count > WCODEC_RECORD_FIELDS_MAX)
        return CORRUPT(err, "records of %u fields, allowed are 1 to %d", r->field_count,
                       WCODEC_RECORD_FIELDS_MAX);
    if (size % r->record_size != 0)
        return CORRUPT(err, "%" PRIu64 " bytes are no whole number of records of %u bytes", size,
                       r->record_size);
    return WCODEC_OK;
}

wcodec_status wcodec_records_derive(struct wcodec_records *r, uint64_t size, uint64_t payload_size,
                                    wcodec_error *err)
{
    uint64_t end = 0;
    wcodec_status status = check_sizes(r, size, err);
    if (status == WCODEC_OK)
        status = check_cover(r, err);
    if (status == WCODEC_OK && payload_size > PAYLOAD_MAX)
        status = CORRUPT(err, "a payload of %" PRIu64 " bytes", payload_size);
    if (status != WCODEC_OK)
        return status;
    r->count = size / r->record_size;
    for (unsigned i = 0; i < r->field_count; i++) {
        struct wcodec_record_field *f = &r->fields[i];
        f->size = r->count * f->width;
        f->payload_begin = end;
        if (f->payload_size == 0)
            continue;
        f->payload_begin =
            wcodec_align_u64(end, wcodec_payload_alignment(f->payload_size, f->coding));
        if (f->payload_begin > payload_size || f->payload_size > payload_size - f->payload_begin)
            return CORRUPT(err,
                           "payloads of fields are longer than the payload of %" PRIu64 " bytes",
                           payload_size);
        end = f->payload_begin + f->payload_size;
    }
    return end == payload_size
               ? WCODEC_OK
               : CORRUPT(err, "payloads of fields end at byte %" PRIu64 " of %" PRIu64, end,
                         payload_size);
}

/* A number of at most 16 bits; what is larger is out of every range. */
static bool take_short(struct wcodec_cursor *c, uint16_t *value)
{
    uint64_t v;
    if (!wcodec_take_varint(c, &v))
        return false;
    *value = (uint16_t)(v > UINT16_MAX ? UINT16_MAX : v);
    return true;
}

static wcodec_status cut_short(wcodec_error *err)
{
    return CORRUPT(err, "parameters of a tensor in records are cut off");
}

static wcodec_status read_constant(struct wcodec_cursor *c, struct wcodec_record_field *f,
                                   uint64_t size, wcodec_error *err)
{
    const uint8_t *element;
    if (!wcodec_take_u8(c, &f->u.constant.element_log2))
        return cut_short(err);
    const unsigned log2 = f->u.constant.element_log2;
    if (log2 > 3 || size % ((uint64_t)1 << log2) != 0 || f->payload_size != 0)
        return CORRUPT(err,
                       "a constant element of 2^%u bytes for %" PRIu64
                       " bytes, with a payload of %" PRIu64,
                       log2, size, f->payload_size);
    if (!wcodec_take_bytes(c, (uint64_t)1 << log2, &element))
        return cut_short(err);
    memcpy(f->u.constant.element, element, (size_t)1 << log2);
    return WCODEC_OK;
}

static wcodec_status read_tiles(struct wcodec_cursor *c, struct wcodec_record_field *f,
                                uint64_t size, wcodec_error *err)
{
    struct wcodec_tiling tiling;
    uint64_t unpacked = f->payload_size;
    const bool packed = f->coding == WCODEC_CODING_PACKED;
    if (packed && !wcodec_take_varint(c, &unpacked))
        return cut_short(err);
    f->parameters = c->at;
    wcodec_status status = wcodec_tiling_read(c, size, &tiling, err);
    if (status != WCODEC_OK)
        return status;
    f->parameters_size = (size_t)(c->at - f->parameters);
    if (packed && (f->payload_size == 0 || f->payload_size > WCODEC_PACKED_MOST ||
                   !wcodec_packed_applies(&tiling, unpacked)))
        return CORRUPT(
            err, "a payload of %" PRIu64 " bytes for %" PRIu64 " cannot be packed in %" PRIu64,
            unpacked, size, f->payload_size);
    if (tiling.prefix_size > unpacked)
        return CORRUPT(err, "prefix of %" PRIu64 " bytes in a payload of %" PRIu64,
                       tiling.prefix_size, unpacked);
    f->unpacked_size = packed ? (uint32_t)unpacked : 0;
    return WCODEC_OK;
}

/* `c` has the parameters of the coding. */
static wcodec_status read_coding(struct wcodec_cursor *c, struct wcodec_record_field *f,
                                 uint64_t size, bool *newer, wcodec_error *err)
{
    wcodec_status status = WCODEC_OK;
    switch (f->coding) {
    case WCODEC_CODING_CONSTANT:
        status = read_constant(c, f, size, err);
        break;
    case WCODEC_CODING_TILES:
    case WCODEC_CODING_PACKED:
        status = read_tiles(c, f, size, err);
        break;
    case WCODEC_CODING_CHUNKS:
        status = wcodec_chunks_read_size(c, size, f->payload_size, &f->u.chunk, err);
        break;
    default:
        *newer = true;
        return WCODEC_OK;
    }
    if (status == WCODEC_OK && c->at != c->end)
        status =
            CORRUPT(err, "%zu bytes are left over after its parameters", wcodec_cursor_left(c));
    return status;
}

static wcodec_status read_field(struct wcodec_cursor *c, uint64_t size,
                                const struct wcodec_records *r, struct wcodec_record_field *f,
                                bool *newer, wcodec_error *err)
{
    uint64_t parameters;
    struct wcodec_cursor own;
    if (!take_short(c, &f->offset) || !take_short(c, &f->width) || !wcodec_take_u8(c, &f->coding) ||
        !wcodec_take_varint(c, &f->payload_size) || !wcodec_take_varint(c, &parameters) ||
        !wcodec_take_bytes(c, parameters, &own.at))
        return cut_short(err);
    own.end = c->at;
    if (f->width == 0 || f->width > r->record_size)
        return CORRUPT(err, "a field of %u bytes in records of %u", f->width, r->record_size);
    wcodec_status status = read_coding(&own, f, size / r->record_size * f->width, newer, err);
    if (status != WCODEC_OK)
        wcodec_error_prefix(err, "field at byte %u of records", f->offset);
    return status;
}

static wcodec_status read_fields(struct wcodec_cursor *c, uint64_t size, struct wcodec_records *r,
                                 bool *newer, wcodec_error *err)
{
    wcodec_status status = WCODEC_OK;
    for (unsigned i = 0; i < r->field_count && status == WCODEC_OK && !*newer; i++)
        status = read_field(c, size, r, &r->fields[i], newer, err);
    return status;
}

wcodec_status wcodec_records_read(struct wcodec_cursor *cursor, uint64_t size,
                                  uint64_t payload_size, struct wcodec_records *records,
                                  bool *newer, wcodec_error *err)
{
    struct wcodec_records r = {.record_size = 0};
    struct wcodec_cursor c = *cursor;
    uint8_t form;
    *newer = false;
    if (!wcodec_take_u8(&c, &form))
        return cut_short(err);
    if (form != WCODEC_RECORDS_FORM) {
        *newer = true;
        return WCODEC_OK;
    }
    if (!take_short(&c, &r.record_size) || !wcodec_take_u8(&c, &r.field_count))
        return cut_short(err);
    wcodec_status status = check_sizes(&r, size, err);
    if (status == WCODEC_OK)
        status = read_fields(&c, size, &r, newer, err);
    if (status != WCODEC_OK || *newer)
        return status;
    status = wcodec_records_derive(&r, size, payload_size, err);
    if (status != WCODEC_OK)
        return status;
    *cursor = c;
    *records = r;
    return WCODEC_OK;
}

/* The parameters of its coding. */
static size_t write_parameters(const struct wcodec_record_field *f, uint8_t *bytes)
{
    uint8_t *p = bytes;
    if (f->coding == WCODEC_CODING_CONSTANT) {
        const size_t size = (size_t)1 << f->u.constant.element_log2;
        *p++ = f->u.constant.element_log2;
        memcpy(p, f->u.constant.element, size);
        return (size_t)(p - bytes) + size;
    }
    if (f->coding == WCODEC_CODING_CHUNKS)
        return (size_t)(p - bytes) + wcodec_put_varint(p, f->u.chunk);
    if (f->coding == WCODEC_CODING_PACKED)
        p += wcodec_put_varint(p, f->unpacked_size);
    if (f->parameters_size != 0)
        memcpy(p, f->parameters, f->parameters_size);
    return (size_t)(p - bytes) + f->parameters_size;
}

size_t wcodec_record_coding_write(const struct wcodec_record_field *f, uint8_t *bytes)
{
    uint8_t parameters[5 + WCODEC_TILING_MAX_BYTES], *p = bytes;
    const size_t size = write_parameters(f, parameters);
    *p++ = f->coding;
    p += wcodec_put_varint(p, f->payload_size);
    p += wcodec_put_varint(p, size);
    memcpy(p, parameters, size);
    return (size_t)(p - bytes) + size;
}

static size_t write_field(const struct wcodec_record_field *f, uint8_t *bytes)
{
    uint8_t *p = bytes;
    p += wcodec_put_varint(p, f->offset);
    p += wcodec_put_varint(p, f->width);
    return (size_t)(p - bytes) + wcodec_record_coding_write(f, p);
}

size_t wcodec_records_write(const struct wcodec_records *r, uint8_t *bytes)
{
    uint8_t *p = bytes;
    *p++ = WCODEC_RECORDS_FORM;
    p += wcodec_put_varint(p, r->record_size);
    *p++ = r->field_count;
    for (unsigned i = 0; i < r->field_count; i++)
        p += write_field(&r->fields[i], p);
    return (size_t)(p - bytes);
}

/* Copies of a width that the compiler knows are a few moves each. */
#define COPY_EACH(bytes) \
    for (size_t i = 0; i < count; i++, from += step, to += put) \
    memcpy(to, from, bytes)

static void copy_each(const uint8_t *from, size_t step, uint8_t *to, size_t put, size_t width,
                      size_t count)
{
    switch (width) {
    case 1:
        COPY_EACH(1);
        break;
    case 2:
        COPY_EACH(2);
        break;
    case 4:
        COPY_EACH(4);
        break;
    case 16:
        COPY_EACH(16);
        break;
    case 32:
        COPY_EACH(32);
        break;
    case 64:
        COPY_EACH(64);
        break;
    case 128:
        COPY_EACH(128);
        break;
    default:
        COPY_EACH(width);
        break;
    }
}

void wcodec_record_gather(const uint8_t *records, size_t record_size, size_t offset, size_t width,
                          size_t count, uint8_t *array)
{
    copy_each(records + offset, record_size, array, width, width, count);
}

void wcodec_record_scatter(const uint8_t *array, size_t record_size, size_t offset, size_t width,
                           size_t count, uint8_t *records)
{
    copy_each(array, width, records + offset, record_size, width, count);
}
