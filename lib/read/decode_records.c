/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Entries in records: fields are decoded as entries of their own, some records at a time, and put
 * where they belong. On the CPU, whatever the context's device is. */

#include "read/decode.h"
#include "core/error.h"
#include "core/memory.h"
#include <inttypes.h>

enum {
    /* Records whose fields end where tiles do, as a rule: the powers of two up to this. */
    PIECE_RECORDS = 1 << 16,
    UNIT_RECORDS = 1 << 12,
    PIECE_BYTES = 1 << 20,
    SLICE_BYTES = 1 << 15 /* of records that are put together by a thread while they are in cache */
};

struct wcodec_record_arrays {
    struct wcodec_records records;
    struct wcodec_source source; /* of payloads: the decoder's, or memory */
    struct wcodec_entry entries[WCODEC_RECORD_FIELDS_MAX];
    struct wcodec_decoder decoders[WCODEC_RECORD_FIELDS_MAX];
    unsigned open;
    uint8_t *bytes; /* of `room` records, field by field */
    uint64_t room;
};

static void prefix(const struct wcodec_records *r, unsigned field, wcodec_error *err)
{
    wcodec_error_prefix(err, "field at byte %u of records", r->fields[field].offset);
}

/* Bytes between payloads are zero. `offset`: of the first one in the source. */
static wcodec_status check_gaps(const struct wcodec_record_arrays *a, uint64_t offset,
                                wcodec_error *err)
{
    uint64_t at = 0;
    wcodec_status status = WCODEC_OK;
    for (unsigned i = 0; i < a->records.field_count && status == WCODEC_OK; i++) {
        const struct wcodec_record_field *f = &a->records.fields[i];
        uint8_t gap[256];
        if (f->payload_size == 0)
            continue;
        const size_t size = (size_t)(f->payload_begin - at);
        if (size != 0)
            status = wcodec_source_read(&a->source, offset + at, gap, size, err);
        for (size_t k = 0; k < size && status == WCODEC_OK; k++)
            if (gap[k] != 0)
                status = wcodec_fail(
                    err, WCODEC_ERROR_CORRUPT,
                    "byte %" PRIu64 " of the payload is between two fields and not zero", at + k);
        at = f->payload_begin + f->payload_size;
    }
    return status;
}

static wcodec_status open_field(struct wcodec_decoder *d, unsigned i, uint64_t offset,
                                wcodec_error *err)
{
    struct wcodec_record_arrays *a = d->records;
    wcodec_records_entry(&a->records, i, offset, &a->entries[i]);
    const wcodec_status status =
        wcodec_decoder_open_part(d, &a->source, &a->entries[i], &a->decoders[i], err);
    if (status == WCODEC_OK)
        a->open++;
    else
        prefix(&a->records, i, err);
    return status;
}

wcodec_status wcodec_decoder_open_records(struct wcodec_decoder *d, wcodec_error *err)
{
    const struct wcodec_entry *e = d->input.entry;
    uint8_t *memory;
    wcodec_status status = wcodec_decoder_take(d, sizeof *d->records, &memory, err);
    if (status != WCODEC_OK)
        return status;
    memset(memory, 0, sizeof *d->records);
    d->records = (void *)memory;
    wcodec_entry_records(e, &d->records->records);
    d->records->source = *d->input.source;
    if (d->payload != NULL)
        wcodec_source_memory(d->payload, e->payload_size, &d->records->source);
    const uint64_t offset = d->payload != NULL ? 0 : e->payload_offset;
    if (d->payload != NULL || d->input.hash != NULL)
        status = check_gaps(d->records, offset, err);
    for (unsigned i = 0; i < d->records->records.field_count && status == WCODEC_OK; i++)
        status = open_field(d, i, offset, err);
    return status;
}

void wcodec_decoder_close_records(struct wcodec_decoder *d)
{
    struct wcodec_record_arrays *a = d->records;
    if (a == NULL)
        return;
    for (unsigned i = 0; i < a->open; i++)
        wcodec_decoder_close(&a->decoders[i]);
    wcodec_free(&d->input.context->allocator, a->bytes);
    wcodec_free(&d->input.context->allocator, a);
    d->records = NULL;
}

uint64_t wcodec_records_unit(const struct wcodec_entry *e)
{
    struct wcodec_records r;
    wcodec_entry_records(e, &r);
    return (uint64_t)r.record_size * UNIT_RECORDS;
}

/* Records [first, first + count), which are decoded field by field; of their bytes those from
 * `begin` to `end` are wanted, at dst. */
struct piece {
    const struct wcodec_record_arrays *arrays;
    uint64_t first, count;
    uint64_t begin, end; /* bytes of the entry */
    uint8_t *dst;
    size_t slice; /* records */
};

/* All fields of records [first, first + count) of the piece. */
static void join(const struct piece *p, uint64_t first, size_t count, uint8_t *out)
{
    const struct wcodec_records *r = &p->arrays->records;
    const uint8_t *array = p->arrays->bytes;
    for (unsigned i = 0; i < r->field_count; i++) {
        const struct wcodec_record_field *f = &r->fields[i];
        wcodec_record_scatter(array + first * f->width, r->record_size, f->offset, f->width, count,
                              out);
        array += p->count * f->width;
    }
}

/* A record of which only a part is wanted. */
static void join_part(const struct piece *p, uint64_t number)
{
    const uint64_t size = p->arrays->records.record_size, at = (p->first + number) * size,
                   from = at > p->begin ? at : p->begin,
                   to = at + size < p->end ? at + size : p->end;
    uint8_t record[WCODEC_RECORD_MAX];
    join(p, number, 1, record);
    memcpy(p->dst + (from - p->begin), record + (from - at), (size_t)(to - from));
}

static void join_task(void *argument, size_t i)
{
    const struct piece *p = argument;
    const uint64_t size = p->arrays->records.record_size;
    uint64_t first = (uint64_t)i * p->slice,
             stop = p->count - first < p->slice ? p->count : first + p->slice;
    if ((p->first + first) * size < p->begin)
        join_part(p, first++);
    if (first < stop && (p->first + stop) * size > p->end)
        join_part(p, --stop);
    if (first < stop)
        join(p, first, (size_t)(stop - first), p->dst + ((p->first + first) * size - p->begin));
}

static wcodec_status decode_fields(struct wcodec_decoder *d, const struct piece *p,
                                   wcodec_error *err)
{
    struct wcodec_record_arrays *a = d->records;
    uint8_t *array = a->bytes;
    wcodec_status status = WCODEC_OK;
    for (unsigned i = 0; i < a->records.field_count && status == WCODEC_OK; i++) {
        const uint64_t width = a->records.fields[i].width;
        status = wcodec_decoder_range_part(d, &a->decoders[i], p->first * width,
                                           (p->first + p->count) * width, array, err);
        if (status != WCODEC_OK)
            prefix(&a->records, i, err);
        array += p->count * width;
    }
    return status;
}

/* Room for `records` records, or as many as a piece has: less where memory is limited. */
static wcodec_status reserve(struct wcodec_decoder *d, uint64_t records, wcodec_error *err)
{
    struct wcodec_record_arrays *a = d->records;
    const uint64_t size = a->records.record_size;
    uint64_t room = 1;
    while (room < PIECE_RECORDS && room * size < PIECE_BYTES)
        room *= 2;
    while (room > UNIT_RECORDS && room * size > wcodec_decoder_left(d) / 4)
        room /= 2;
    room = room < records ? room : records;
    if (room <= a->room)
        return WCODEC_OK;
    wcodec_free(&d->input.context->allocator, a->bytes);
    a->bytes = NULL;
    d->held -= a->room * size;
    a->room = 0;
    wcodec_status status = wcodec_decoder_take(d, room * size, &a->bytes, err);
    if (status == WCODEC_OK)
        a->room = room;
    return status;
}

wcodec_status wcodec_decoder_range_records(struct wcodec_decoder *d, uint64_t begin, uint64_t end,
                                           uint8_t *dst, struct wcodec_reporter *reporter,
                                           wcodec_error *err)
{
    struct wcodec_record_arrays *a = d->records;
    const uint64_t size = a->records.record_size, stop = wcodec_div_up_u64(end, size);
    uint64_t first = begin / size;
    wcodec_status status = reserve(d, d->input.whole ? a->records.count : stop - first, err);
    for (uint64_t next; first < stop && status == WCODEC_OK; first = next) {
        next = first - first % a->room + a->room;
        next = next < stop ? next : stop;
        const uint64_t from = first * size > begin ? first * size : begin,
                       to = next * size < end ? next * size : end;
        struct piece p = {.arrays = a,
                          .first = first,
                          .count = next - first,
                          .begin = from,
                          .end = to,
                          .dst = dst + (from - begin),
                          .slice = (size_t)wcodec_div_up_u64(SLICE_BYTES, size)};
        status = decode_fields(d, &p, err);
        if (status != WCODEC_OK)
            break;
        wcodec_run(d->input.context, join_task, &p, (size_t)wcodec_div_up_u64(p.count, p.slice));
        status = wcodec_reporter_add(reporter, to - from, err);
    }
    return status;
}
