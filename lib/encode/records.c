/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Tensors in records: fields are gathered, and each is coded as a tensor of its own. */

#include "encode/records.h"

#include "core/error.h"
#include "core/memory.h"

enum {
    SLICE = 1 << 18,        /* bytes of records that a thread gathers at once */
    SAMPLE = 1 << 18,       /* of a larger tensor decide, ... */
    SAMPLE_LARGE = 1 << 22, /* ... or so many where size alone counts, ... */
    SAMPLE_PIECES = 16,     /* ... in so many pieces */
    LEVEL_QUICK = 2,        /* has no trials of zstd */
    CLEARLY = 64,
    RECORDS_MIN = 32 /* fewer of them have no statistics */
};

/* What decides, and what is coded. */
struct cutting {
    wcodec_context *context;
    const struct wcodec_encode_settings *settings;
    const struct wcodec_record_geometry *geometry;
    wcodec_dtype dtype;
    const uint8_t *data;
    uint64_t size;
};

struct gathering {
    const uint8_t *data;
    uint8_t *array;
    size_t record_size, offset, width;
    uint64_t count, slice;
};

static void gather_task(void *argument, size_t i)
{
    const struct gathering *g = argument;
    const uint64_t first = (uint64_t)i * g->slice, left = g->count - first;
    wcodec_record_gather(g->data + first * g->record_size, g->record_size, g->offset, g->width,
                         (size_t)(left < g->slice ? left : g->slice), g->array + first * g->width);
}

static void gather(wcodec_context *context, const uint8_t *data, uint64_t size, size_t record_size,
                   size_t offset, size_t width, uint8_t *array)
{
    struct gathering g = {.data = data,
                          .array = array,
                          .record_size = record_size,
                          .offset = offset,
                          .width = width,
                          .count = size / record_size,
                          .slice = SLICE / record_size + 1};
    wcodec_run(context, gather_task, &g, (size_t)wcodec_div_up_u64(g.count, g.slice));
}

/* An array of its own; NULL: no memory. */
static uint8_t *gather_field(wcodec_context *context, const struct wcodec_records *r,
                             const struct wcodec_record_field *f, const uint8_t *data,
                             uint64_t size)
{
    uint8_t *array = wcodec_alloc_array(&context->allocator, size / r->record_size, f->width);
    if (array != NULL)
        gather(context, data, size, r->record_size, f->offset, f->width, array);
    return array;
}

static wcodec_status fail_memory(wcodec_error *err)
{
    return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for a tensor in records");
}

void wcodec_coded_records_free(struct wcodec_coded_records *records)
{
    if (records == NULL)
        return;
    const wcodec_allocator *allocator = records->allocator;
    for (unsigned i = 0; i < records->records.field_count; i++)
        if (records->fields[i].allocator != NULL)
            wcodec_coded_free(&records->fields[i]);
    wcodec_free(allocator, records);
}

struct wcodec_encode_settings wcodec_part_settings(const struct wcodec_encode_settings *settings)
{
    struct wcodec_encode_settings own = *settings;
    own.geometry = NULL;
    own.columns = 0;
    own.lossy = WCODEC_LOSSY_NONE;
    own.fixed = own.fragments = false;
    own.part = true;
    return own;
}

void wcodec_coded_note(const struct wcodec_coded *coded, struct wcodec_record_field *f)
{
    f->coding = coded->unpacked_size != 0 ? WCODEC_CODING_PACKED : coded->coding;
    f->payload_size = coded->payload_size;
    f->unpacked_size = coded->unpacked_size;
    if (coded->coding == WCODEC_CODING_CHUNKS) {
        f->u.chunk = coded->chunk;
    } else if (coded->coding == WCODEC_CODING_CONSTANT) {
        f->u.constant.element_log2 = coded->constant_element_log2;
        memcpy(f->u.constant.element, coded->constant_element, sizeof f->u.constant.element);
    }
}

size_t wcodec_coded_put_part(const struct wcodec_coded *coded, uint8_t *to)
{
    struct wcodec_record_field part = {.offset = 0};
    uint8_t tiling[WCODEC_TILING_MAX_BYTES];
    wcodec_coded_note(coded, &part);
    part.parameters = tiling;
    part.parameters_size = coded->tiling != NULL ? wcodec_tiling_write(coded->tiling, tiling) : 0;
    return wcodec_record_coding_write(&part, to);
}

bool wcodec_coded_add_part(struct wcodec_coded *coded, struct wcodec_coded *part)
{
    const uint64_t gap = wcodec_align_u64(coded->payload_size, 16) - coded->payload_size;
    if (part->payload_size == 0)
        return true;
    uint8_t *bytes = wcodec_alloc_array(coded->allocator, gap + part->payload_size, 1);
    if (bytes == NULL)
        return false;
    memset(bytes, 0, (size_t)gap);
    (void)wcodec_coded_join(part, bytes + gap);
    coded->parts[coded->part_count++] = (struct wcodec_coded_part){bytes, gap + part->payload_size};
    coded->payload_size += gap + part->payload_size;
    return true;
}

static wcodec_status code_field(const struct cutting *c, struct wcodec_coded_records *made,
                                unsigned i, wcodec_error *err)
{
    const struct wcodec_encode_settings own = wcodec_part_settings(c->settings);
    struct wcodec_record_field *f = &made->records.fields[i];
    uint8_t *array = gather_field(c->context, &made->records, f, c->data, c->size);
    if (array == NULL)
        return fail_memory(err);
    struct wcodec_coded coded;
    wcodec_status status =
        wcodec_encode_tensor(c->context, &own, (wcodec_dtype)made->dtypes[i], array,
                             c->size / made->records.record_size * f->width, &coded, err);
    wcodec_free(&c->context->allocator, array);
    if (status != WCODEC_OK)
        return status;
    made->fields[i] = coded;
    wcodec_coded_note(&coded, f);
    return WCODEC_OK;
}

static struct wcodec_coded_records *create(const struct cutting *c)
{
    struct wcodec_coded_records *made = wcodec_alloc_zeroed(&c->context->allocator, sizeof *made);
    if (made == NULL)
        return NULL;
    made->allocator = &c->context->allocator;
    made->records.record_size = c->geometry->record_size;
    made->records.field_count = c->geometry->field_count;
    for (unsigned i = 0; i < made->records.field_count; i++) {
        made->records.fields[i].offset = c->geometry->fields[i].offset;
        made->records.fields[i].width = c->geometry->fields[i].width;
        made->dtypes[i] = c->geometry->fields[i].dtype;
    }
    return made;
}

/* Size with the bytes between fields, and how many parts there are. */
static uint64_t lay_out(const struct wcodec_coded_records *made, size_t *parts)
{
    uint64_t end = 0;
    *parts = 0;
    for (unsigned i = 0; i < made->records.field_count; i++) {
        const struct wcodec_record_field *f = &made->records.fields[i];
        if (f->payload_size == 0)
            continue;
        end = wcodec_align_u64(end, wcodec_payload_alignment(f->payload_size, f->coding)) +
              f->payload_size;
        *parts += 1 + made->fields[i].part_count;
    }
    return end;
}

static wcodec_status code_fields(const struct cutting *c, struct wcodec_coded_records **records,
                                 wcodec_error *err)
{
    wcodec_status status = WCODEC_OK;
    struct wcodec_coded_records *made = create(c);
    if (made == NULL)
        return fail_memory(err);
    for (unsigned i = 0; i < made->records.field_count && status == WCODEC_OK; i++)
        status = code_field(c, made, i, err);
    if (status == WCODEC_OK)
        *records = made;
    else
        wcodec_coded_records_free(made);
    return status;
}

/* The parts of all fields, with zeros between, are those of one payload. */
static wcodec_status join(struct wcodec_coded_records *made, struct wcodec_coded *coded,
                          wcodec_error *err)
{
    size_t count;
    struct wcodec_coded result = {.coding = WCODEC_CODING_RECORDS,
                                  .payload_size = lay_out(made, &count),
                                  .allocator = made->allocator};
    struct wcodec_coded_part *p = wcodec_alloc_array(result.allocator, count, sizeof *p);
    if (p == NULL)
        return fail_memory(err);
    result.parts = p;
    result.part_count = count;
    uint64_t end = 0;
    for (unsigned i = 0; i < made->records.field_count; i++) {
        const struct wcodec_record_field *f = &made->records.fields[i];
        const struct wcodec_coded *field = &made->fields[i];
        result.order0_bits += field->order0_bits;
        if (f->payload_size == 0)
            continue;
        const uint64_t begin =
            wcodec_align_u64(end, wcodec_payload_alignment(f->payload_size, f->coding));
        *p++ = (struct wcodec_coded_part){made->zeros, begin - end};
        memcpy(p, field->parts, field->part_count * sizeof *p);
        p += field->part_count;
        end = begin + f->payload_size;
    }
    result.records = made;
    *coded = result;
    return WCODEC_OK;
}

size_t wcodec_coded_records_write(const struct wcodec_coded *coded, uint8_t *bytes)
{
    struct wcodec_records r = coded->records->records;
    uint8_t tilings[WCODEC_RECORDS_MAX_BYTES], *p = tilings;
    for (unsigned i = 0; i < r.field_count; i++) {
        const struct wcodec_coded *field = &coded->records->fields[i];
        if (field->tiling == NULL)
            continue;
        r.fields[i].parameters = p;
        r.fields[i].parameters_size = wcodec_tiling_write(field->tiling, p);
        p += r.fields[i].parameters_size;
    }
    return wcodec_records_write(&r, bytes);
}

wcodec_status wcodec_coded_verify_records(wcodec_context *context,
                                          const struct wcodec_encode_settings *settings,
                                          const struct wcodec_coded *coded, const void *data,
                                          wcodec_error *err)
{
    const struct wcodec_coded_records *made = coded->records;
    const uint64_t size = made->records.count * made->records.record_size;
    const struct wcodec_encode_settings own = wcodec_part_settings(settings);
    wcodec_status status = WCODEC_OK;
    for (unsigned i = 0; i < made->records.field_count && status == WCODEC_OK; i++) {
        const struct wcodec_coded *field = &made->fields[i];
        if (field->tiling == NULL)
            continue;
        uint8_t *array =
            gather_field(context, &made->records, &made->records.fields[i], data, size);
        if (array == NULL)
            return fail_memory(err);
        status = wcodec_coded_verify(context, &own, field, array, NULL, err);
        wcodec_free(&context->allocator, array);
    }
    return status;
}

/* What its record and payload take. */
static uint64_t cost_of(const struct wcodec_coded *coded)
{
    uint8_t bytes[WCODEC_RECORDS_MAX_BYTES];
    uint64_t cost = coded->payload_size;
    if (coded->records != NULL)
        cost += wcodec_coded_records_write(coded, bytes);
    else if (coded->tiling != NULL)
        cost += wcodec_tiling_write(coded->tiling, bytes);
    return cost;
}

static wcodec_status code_records(const struct cutting *c, struct wcodec_coded *coded,
                                  wcodec_error *err)
{
    struct wcodec_coded_records *made = NULL;
    wcodec_status status = code_fields(c, &made, err);
    if (status != WCODEC_OK)
        return status;
    made->records.count = c->size / made->records.record_size;
    status = join(made, coded, err);
    if (status != WCODEC_OK)
        wcodec_coded_records_free(made);
    return status;
}

/* Code the bytes as they are, and compare: *better by one part in `share`, or at all with 0. *bytes
 * is what came of them. */
static wcodec_status compare(const struct cutting *c, int level, const struct wcodec_coded *records,
                             uint64_t share, bool *better, struct wcodec_coded *bytes,
                             wcodec_error *err)
{
    struct wcodec_encode_settings own = *c->settings;
    const uint64_t cost = cost_of(records);
    own.geometry = NULL;
    own.level = level;
    wcodec_status status =
        wcodec_encode_tensor(c->context, &own, c->dtype, c->data, c->size, bytes, err);
    if (status == WCODEC_OK)
        *better = cost + (share != 0 ? cost / share : 0) < cost_of(bytes);
    return status;
}

/* As compare() does, but where records are clearly smaller without zstd's trials on the bytes,
 * which take most of the time. *better: `bytes` is not set. */
static wcodec_status decide(const struct cutting *c, const struct wcodec_coded *records,
                            bool *better, struct wcodec_coded *bytes, wcodec_error *err)
{
    const int level = c->settings->level;
    wcodec_status status = WCODEC_OK;
    *better = false;
    if (level > LEVEL_QUICK && level < WCODEC_LEVEL_SIZE) {
        status = compare(c, LEVEL_QUICK, records, CLEARLY, better, bytes, err);
        if (status == WCODEC_OK)
            wcodec_coded_free(bytes);
    }
    if (status != WCODEC_OK || *better)
        return status;
    status = compare(c, level, records, 0, better, bytes, err);
    if (status == WCODEC_OK && *better)
        wcodec_coded_free(bytes);
    return status;
}

/* All of a small tensor: the smaller of both. */
static wcodec_status code_smaller(const struct cutting *c, struct wcodec_coded *coded,
                                  wcodec_error *err)
{
    struct wcodec_coded records, bytes;
    bool better;
    wcodec_status status = code_records(c, &records, err);
    if (status != WCODEC_OK)
        return status;
    status = decide(c, &records, &better, &bytes, err);
    if (status == WCODEC_OK && better) {
        *coded = records;
        return WCODEC_OK;
    }
    wcodec_coded_free(&records);
    if (status == WCODEC_OK)
        *coded = bytes;
    return status;
}

/* Pieces of a large tensor, whole records each, one after the other. */
static void take_sample(const struct cutting *c, uint64_t piece, uint8_t *sample)
{
    const uint64_t record = c->geometry->record_size,
                   room = c->size / record - piece; /* where the last one begins */
    for (unsigned i = 0; i < SAMPLE_PIECES; i++)
        memcpy(sample + i * piece * record, c->data + room * i / (SAMPLE_PIECES - 1) * record,
               (size_t)(piece * record));
}

/* Is a large tensor smaller in records, as far as a sample shows? */
static wcodec_status ask_sample(const struct cutting *c, uint64_t size, bool *better,
                                wcodec_error *err)
{
    const uint64_t record = c->geometry->record_size, piece = size / SAMPLE_PIECES / record + 1;
    struct cutting part = *c;
    struct wcodec_coded records, bytes;
    struct wcodec_encode_settings own = *c->settings;
    uint8_t *sample = wcodec_alloc_array(&c->context->allocator, SAMPLE_PIECES * piece, record);
    if (sample == NULL)
        return fail_memory(err);
    take_sample(c, piece, sample);
    own.verify = false;
    part.settings = &own;
    part.data = sample;
    part.size = SAMPLE_PIECES * piece * record;
    wcodec_status status = code_records(&part, &records, err);
    if (status == WCODEC_OK) {
        status = decide(&part, &records, better, &bytes, err);
        wcodec_coded_free(&records);
        if (status == WCODEC_OK && !*better)
            wcodec_coded_free(&bytes);
    }
    wcodec_free(&c->context->allocator, sample);
    return status;
}

/* May the tensor be cut by this geometry? */
static bool applies(const struct cutting *c)
{
    const uint64_t record = c->geometry->record_size;
    return c->size % record == 0 && c->size / record >= RECORDS_MIN;
}

wcodec_status wcodec_records_code(wcodec_context *context,
                                  const struct wcodec_encode_settings *settings, wcodec_dtype dtype,
                                  const void *data, uint64_t size, struct wcodec_coded *coded,
                                  bool *done, wcodec_error *err)
{
    const struct cutting c = {context, settings, settings->geometry, dtype, data, size};
    const uint64_t sample = settings->level < WCODEC_LEVEL_SIZE ? SAMPLE : SAMPLE_LARGE;
    struct wcodec_coded result;
    *done = false;
    if (!applies(&c))
        return WCODEC_OK;
    wcodec_status status = WCODEC_OK;
    bool better = true;
    if (size > sample)
        status = ask_sample(&c, sample, &better, err);
    if (status != WCODEC_OK || !better)
        return status;
    status = size > sample ? code_records(&c, &result, err) : code_smaller(&c, &result, err);
    if (status != WCODEC_OK)
        return status;
    if (settings->lossy != WCODEC_LOSSY_NONE)
        result.lossless = "its type has no lossy form";
    *coded = result;
    *done = true;
    return WCODEC_OK;
}
