/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Records (doc/format.md 3.1): fields are gathered and come back, parameters come back from what is
 * written, and those that do not cover a record once, or do not fit, are refused. */
#include "support.h"

#include "coding/records.h"
#include "core/error.h"
#include <wcodec/reader.h>

enum { COUNT = 96 }; /* of records */

/* Fields of constants and stored chunks that cover a record, in any order. */
static void make_records(uint64_t *seed, struct wcodec_records *r)
{
    unsigned at = 0, count = 1 + (unsigned)(support_random(seed) % WCODEC_RECORD_FIELDS_MAX);
    *r = (struct wcodec_records){.field_count = (uint8_t)count};
    for (unsigned i = 0; i < count; i++) {
        struct wcodec_record_field *f = &r->fields[i];
        f->offset = (uint16_t)at;
        f->width = (uint16_t)(1 + support_random(seed) % 200);
        at += f->width;
        f->size = (uint64_t)COUNT * f->width;
        if (support_random(seed) % 2 != 0) {
            f->coding = WCODEC_CODING_CONSTANT;
            f->u.constant.element_log2 = (uint8_t)(support_random(seed) % 4);
            memset(f->u.constant.element, 7, (size_t)1 << f->u.constant.element_log2);
        } else {
            f->coding = WCODEC_CODING_CHUNKS;
            f->u.chunk = WCODEC_PACKED_MOST;
            f->payload_size = 16 + f->size;
        }
    }
    for (unsigned i = count - 1; i > 0; i--) {
        const unsigned k = (unsigned)(support_random(seed) % (i + 1));
        const struct wcodec_record_field f = r->fields[i];
        r->fields[i] = r->fields[k];
        r->fields[k] = f;
    }
    r->record_size = (uint16_t)at;
}

static uint64_t payload_size_of(const struct wcodec_records *r)
{
    uint64_t end = 0;
    for (unsigned i = 0; i < r->field_count; i++)
        if (r->fields[i].payload_size != 0)
            end = wcodec_align_u64(end, wcodec_payload_alignment(r->fields[i].payload_size,
                                                                 r->fields[i].coding)) +
                  r->fields[i].payload_size;
    return end;
}

static void expect_equal(const struct wcodec_records *a, const struct wcodec_records *b)
{
    assert_int_equal(a->record_size, b->record_size);
    assert_int_equal(a->field_count, b->field_count);
    assert_int_equal(a->count, COUNT);
    for (unsigned i = 0; i < a->field_count; i++) {
        const struct wcodec_record_field *f = &a->fields[i], *g = &b->fields[i];
        assert_int_equal(f->offset, g->offset);
        assert_int_equal(f->width, g->width);
        assert_int_equal(f->coding, g->coding);
        assert_int_equal(f->payload_size, g->payload_size);
        assert_int_equal(f->size, (uint64_t)COUNT * g->width);
        if (f->coding == WCODEC_CODING_CHUNKS)
            assert_int_equal(f->u.chunk, g->u.chunk);
        else
            assert_memory_equal(f->u.constant.element, g->u.constant.element,
                                (size_t)1 << f->u.constant.element_log2);
    }
}

static wcodec_status read_back(const uint8_t *bytes, size_t count, uint64_t size,
                               uint64_t payload_size, struct wcodec_records *r, bool *newer)
{
    uint8_t *own = malloc(count != 0 ? count : 1);
    memcpy(own, bytes, count);
    struct wcodec_cursor c = {own, own + count};
    wcodec_error err = {0};
    const wcodec_status status = wcodec_records_read(&c, size, payload_size, r, newer, &err);
    assert_true(status == WCODEC_OK || (status == WCODEC_ERROR_CORRUPT && err.text[0] != 0));
    if (status == WCODEC_OK && !*newer)
        assert_int_equal(c.at - own, count);
    free(own);
    return status;
}

static void parameters_come_back(void **state)
{
    uint64_t seed = support_seed();
    (void)state;
    for (unsigned round = 0; round < 200; round++) {
        struct wcodec_records r, got;
        uint8_t bytes[WCODEC_RECORDS_MAX_BYTES];
        bool newer;
        make_records(&seed, &r);
        const uint64_t size = (uint64_t)COUNT * r.record_size, payload = payload_size_of(&r);
        const size_t count = wcodec_records_write(&r, bytes);
        assert_in_range(count, 1, sizeof bytes);
        assert_int_equal(read_back(bytes, count, size, payload, &got, &newer), WCODEC_OK);
        assert_false(newer);
        expect_equal(&got, &r);
        for (size_t cut = 0; cut < count; cut++)
            assert_int_equal(read_back(bytes, cut, size, payload, &got, &newer),
                             WCODEC_ERROR_CORRUPT);
        assert_int_equal(read_back(bytes, count, size, payload + 1, &got, &newer),
                         WCODEC_ERROR_CORRUPT);
        if (r.record_size > 1)
            assert_int_equal(read_back(bytes, count, size + 1, payload, &got, &newer),
                             WCODEC_ERROR_CORRUPT);
    }
}

/* Two fields of 2 and 32 bytes, and what may be wrong with them. */
static struct wcodec_records two_fields(void)
{
    struct wcodec_records r = {.record_size = 34, .field_count = 2};
    for (unsigned i = 0; i < 2; i++) {
        struct wcodec_record_field *f = &r.fields[i];
        f->offset = i == 0 ? 0 : 2;
        f->width = i == 0 ? 2 : 32;
        f->coding = WCODEC_CODING_CHUNKS;
        f->u.chunk = WCODEC_PACKED_MOST;
        f->payload_size = 16 + (uint64_t)COUNT * f->width;
    }
    return r;
}

static void expect_refused(const struct wcodec_records *r, uint64_t payload_size, const char *why)
{
    struct wcodec_records got = *r;
    uint8_t bytes[WCODEC_RECORDS_MAX_BYTES];
    wcodec_error err = {0};
    bool newer;
    assert_int_equal(
        wcodec_records_derive(&got, COUNT * (uint64_t)r->record_size, payload_size, &err),
        WCODEC_ERROR_CORRUPT);
    if (strstr(err.text, why) == NULL)
        fail_msg("%s, not %s", err.text, why);
    const size_t count = wcodec_records_write(r, bytes);
    assert_int_equal(
        read_back(bytes, count, COUNT * (uint64_t)r->record_size, payload_size, &got, &newer),
        WCODEC_ERROR_CORRUPT);
}

static void wrong_fields_are_refused(void **state)
{
    const struct wcodec_records right = two_fields();
    const uint64_t payload = payload_size_of(&right);
    struct wcodec_records r = right;
    (void)state;
    assert_int_equal(wcodec_records_derive(&r, COUNT * 34, payload, NULL), WCODEC_OK);
    r.fields[1].offset = 1;
    expect_refused(&r, payload, "in two fields");
    r.fields[1].offset = 3;
    expect_refused(&r, payload, "a field of 32 bytes at byte 3");
    r.fields[1].offset = UINT16_MAX;
    expect_refused(&r, payload, "a field of 32 bytes at byte 65535");
    r = right;
    r.fields[1].width = UINT16_MAX;
    expect_refused(&r, payload, "a field of 65535 bytes");
    r = right;
    r.fields[1].width = 31;
    expect_refused(&r, payload, "byte 33 of a record is in no field");
    r.fields[1].width = 0;
    expect_refused(&r, payload, "a field of 0 bytes");
    r = right;
    r.field_count = 0;
    expect_refused(&r, payload, "0 fields");
    r = right;
    r.record_size = WCODEC_RECORD_MAX + 1;
    expect_refused(&r, payload, "records of 4097 bytes");
    r.record_size = 0;
    expect_refused(&r, payload, "records of 0 bytes");
    r = right;
    expect_refused(&r, payload - 1, "longer than the payload");
    expect_refused(&r, payload + 1, "end at byte");
    expect_refused(&r, UINT64_MAX, "a payload of");
    r.fields[0].payload_size = UINT64_MAX;
    expect_refused(&r, payload, "longer than the payload");
}

/* Forms and codings of fields that are not known. */
static void unknown_ones_are_newer(void **state)
{
    struct wcodec_records r = two_fields(), got;
    const uint64_t payload = payload_size_of(&r);
    uint8_t bytes[WCODEC_RECORDS_MAX_BYTES];
    bool newer;
    (void)state;
    size_t count = wcodec_records_write(&r, bytes);
    bytes[0] = WCODEC_RECORDS_FORM + 1;
    assert_int_equal(read_back(bytes, count, COUNT * 34, payload, &got, &newer), WCODEC_OK);
    assert_true(newer);
    const uint8_t codings[] = {3, 4, 5, 6, 7, 9, 10, 255};
    for (unsigned i = 0; i < sizeof codings; i++) {
        r.fields[1].coding = codings[i];
        count = wcodec_records_write(&r, bytes);
        assert_int_equal(read_back(bytes, count, COUNT * 34, payload, &got, &newer), WCODEC_OK);
        assert_true(newer);
    }
}

/* Against one byte after the other; blocks of their own size, so that an access outside of them is
 * seen. */
static void fields_come_back(void **state)
{
    uint64_t seed = support_seed() + 1;
    (void)state;
    for (unsigned round = 0; round < 300; round++) {
        const size_t count = (size_t)(support_random(&seed) % 70),
                     size = 1 + (size_t)(support_random(&seed) % 300),
                     offset = (size_t)(support_random(&seed) % size), left = size - offset,
                     any = 1 + (size_t)(support_random(&seed) % left),
                     power = (size_t)1 << support_random(&seed) % 8,
                     width = power <= left && round % 2 ? power : any;
        uint8_t *records = malloc(count * size + 1), *array = malloc(count * width + 1),
                *back = malloc(count * size + 1);
        for (size_t i = 0; i < count * size; i++)
            records[i] = (uint8_t)support_random(&seed);
        memset(back, 0xa5, count * size);
        wcodec_record_gather(records, size, offset, width, count, array);
        wcodec_record_scatter(array, size, offset, width, count, back);
        for (size_t i = 0; i < count * size; i++) {
            const bool inside = i % size >= offset && i % size < offset + width;
            assert_int_equal(back[i], inside ? records[i] : 0xa5);
            if (inside)
                assert_int_equal(array[i / size * width + i % size - offset], records[i]);
        }
        free(back);
        free(array);
        free(records);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parameters_come_back), cmocka_unit_test(wrong_fields_are_refused),
        cmocka_unit_test(unknown_ones_are_newer), cmocka_unit_test(fields_come_back)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
