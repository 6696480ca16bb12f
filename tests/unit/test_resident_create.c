/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Tensors become resident in every form, from files of both kinds; their elements, by rows and by
 * an index; what is refused; damage; and memory that runs out. */
#include "support_resident.h"

#include <string.h>

enum { COUNT = SUPPORT_RESIDENT_TENSORS };

static const wcodec_resident_form forms[] = {WCODEC_RESIDENT_AUTO, WCODEC_RESIDENT_CODED,
                                             WCODEC_RESIDENT_FIXED, WCODEC_RESIDENT_PLAIN};

static wcodec_resident *make(const wcodec_reader *reader, wcodec_resident_form form)
{
    wcodec_resident_options options;
    wcodec_resident *resident;
    wcodec_error err;
    wcodec_resident_options_init(&options);
    options.form = form;
    if (wcodec_resident_create(reader, NULL, 0, &options, &resident, &err) != WCODEC_OK)
        fail_msg("%s", err.text);
    return resident;
}

static uint64_t number_of(const wcodec_resident *resident, const char *name)
{
    uint64_t i;
    assert_int_equal(wcodec_resident_find(resident, name, &i, NULL), WCODEC_OK);
    return i;
}

/* The form that a tensor gets where `form` is asked for, and it is the first of its elements. */
static wcodec_resident_form expected_form(const struct support_model *m, wcodec_resident_form form,
                                          bool file_is_fixed)
{
    const bool half = m->dtype == WCODEC_DTYPE_BF16 || m->dtype == WCODEC_DTYPE_F16;
    if (form == WCODEC_RESIDENT_CODED || form == WCODEC_RESIDENT_PLAIN)
        return form;
    if (m->numbers == SUPPORT_CONSTANT || m->rank == 0 || m->shape[0] == 0)
        return WCODEC_RESIDENT_CODED;
    if (m->fixed && (form == WCODEC_RESIDENT_FIXED || file_is_fixed))
        return WCODEC_RESIDENT_FIXED;
    return form == WCODEC_RESIDENT_AUTO && half && m->rank >= 2 && m->numbers == SUPPORT_BELL
               ? WCODEC_RESIDENT_CODED
               : WCODEC_RESIDENT_PLAIN;
}

/* The tensor whose elements number i has. */
static unsigned first_of(unsigned i)
{
    while (support_models[i].numbers == SUPPORT_SAME)
        i--;
    return i;
}

static void check_info(const wcodec_resident *resident, const struct support_resident_file *file,
                       wcodec_resident_form form, bool file_is_fixed)
{
    uint64_t held = 0;
    assert_int_equal(wcodec_resident_count(resident), COUNT);
    for (unsigned i = 0; i < COUNT; i++) {
        const struct support_model *m = &support_models[i];
        const uint64_t number = number_of(resident, m->name);
        wcodec_resident_tensor info;
        assert_int_equal(wcodec_resident_info(resident, number, &info, NULL), WCODEC_OK);
        assert_string_equal(info.name, m->name);
        assert_int_equal(info.dtype, m->dtype);
        assert_int_equal(info.rank, m->rank);
        for (unsigned d = 0; d < m->rank; d++)
            assert_int_equal(info.shape[d], m->shape[d]);
        assert_int_equal(info.size, file->sizes[i]);
        const wcodec_resident_form wanted =
            expected_form(&support_models[first_of(i)], form, file_is_fixed);
        if (info.form != wanted)
            fail_msg("%s: form %d, not %d", m->name, (int)info.form, (int)wanted);
        if (m->numbers == SUPPORT_SAME)
            assert_int_equal(info.alias_of, number_of(resident, support_models[first_of(i)].name));
        else
            assert_true(info.alias_of == UINT64_MAX);
        if (m->numbers == SUPPORT_CONSTANT)
            assert_int_equal(info.held, form == WCODEC_RESIDENT_PLAIN ? info.size : 0);
        if (info.form == WCODEC_RESIDENT_PLAIN && info.alias_of == UINT64_MAX)
            assert_int_equal(info.held, info.size);
        if (info.form == WCODEC_RESIDENT_FIXED && strcmp(m->name, "square") == 0)
            assert_in_range(info.held, info.size * 11 / 16, info.size * 12 / 16);
        held += info.held;
    }
    assert_int_equal(held, wcodec_resident_size(resident));
}

/* Rows [first, first + count) are those, and nothing around them is written. */
static void check_rows(const wcodec_resident *resident, uint64_t number, const uint8_t *data,
                       size_t row, uint64_t first, uint64_t count)
{
    const size_t size = (size_t)count * row;
    uint8_t *out = malloc(size + 2);
    wcodec_error err;
    memset(out, 0x5a, size + 2);
    if (wcodec_resident_decode(resident, number, first, count, out + 1, size, &err) != WCODEC_OK)
        fail_msg("%s", err.text);
    assert_memory_equal(out + 1, data + first * row, size);
    assert_true(out[0] == 0x5a && out[size + 1] == 0x5a);
    free(out);
}

static void check_gather(const wcodec_resident *resident, uint64_t number, uint64_t *seed,
                         const uint8_t *data, size_t row, uint64_t rows)
{
    int64_t index[40];
    const size_t count = 1 + support_random(seed) % 40;
    uint8_t *out = malloc(count * row + 1);
    out[count * row] = 0x5a;
    for (size_t i = 0; i < count; i++)
        index[i] = (int64_t)(support_random(seed) % rows);
    assert_int_equal(wcodec_resident_gather(resident, number, index, count, out, count * row, NULL),
                     WCODEC_OK);
    for (size_t i = 0; i < count; i++)
        assert_memory_equal(out + i * row, data + (size_t)index[i] * row, row);
    assert_int_equal(out[count * row], 0x5a);
    free(out);
}

static void check_tensor(const wcodec_resident *resident, uint64_t *seed,
                         const struct support_resident_file *file, unsigned i)
{
    const struct support_model *m = &support_models[i];
    const uint64_t number = number_of(resident, m->name), rows = m->rank == 0 ? 1 : m->shape[0];
    const size_t row = rows == 0 ? 0 : file->sizes[i] / (size_t)rows;
    check_rows(resident, number, file->data[i], row, 0, rows);
    for (unsigned k = 0; k < 5 && rows != 0; k++) {
        const uint64_t first = support_random(seed) % rows;
        check_rows(resident, number, file->data[i], row, first,
                   support_random(seed) % (rows - first + 1));
        check_gather(resident, number, seed, file->data[i], row, rows);
    }
}

static void check_elements(const wcodec_resident *resident, uint64_t *seed,
                           const struct support_resident_file *file)
{
    for (unsigned i = 0; i < COUNT; i++)
        check_tensor(resident, seed, file, i);
}

/* Each tensor by itself, so that what equals another of another dtype or shape is the first. */
static void check_alone(const wcodec_reader *reader, uint64_t *seed,
                        const struct support_resident_file *file, wcodec_resident_form form)
{
    for (unsigned i = 0; i < COUNT; i++) {
        wcodec_resident_options options;
        wcodec_resident *resident;
        wcodec_error err;
        uint64_t number;
        wcodec_resident_options_init(&options);
        options.form = form;
        assert_int_equal(wcodec_reader_find(reader, support_models[i].name, &number, NULL),
                         WCODEC_OK);
        if (wcodec_resident_create(reader, &number, 1, &options, &resident, &err) != WCODEC_OK)
            fail_msg("%s", err.text);
        check_tensor(resident, seed, file, i);
        wcodec_resident_destroy(resident);
    }
}

static void test_forms(void **state)
{
    uint64_t seed = support_seed();
    (void)state;
    for (unsigned k = 0; k < 2; k++) {
        struct support_resident_file file;
        wcodec_context *context = support_context(1 + 2 * k, NULL);
        support_resident_make(context, &seed, k == 0 ? WCODEC_TUNE_SIZE : WCODEC_TUNE_COMPUTE_FIXED,
                              &file);
        for (unsigned i = 0; i < 4; i++) {
            wcodec_reader *reader = support_resident_open(context, &file);
            check_alone(reader, &seed, &file, forms[i]);
            wcodec_resident *resident = make(reader, forms[i]);
            wcodec_reader_close(reader); /* is not needed any more */
            check_info(resident, &file, forms[i], k != 0);
            check_elements(resident, &seed, &file);
            wcodec_resident_destroy(resident);
        }
        support_resident_free(&file);
        wcodec_context_destroy(context);
    }
}

static int stop(void *opaque, uint64_t done, uint64_t total)
{
    (void)opaque;
    (void)done;
    (void)total;
    return 1;
}

static void expect(wcodec_status status, wcodec_status expected, const wcodec_error *err,
                   const char *text)
{
    assert_int_equal(status, expected);
    assert_int_equal(err->status, expected);
    if (strstr(err->text, text) == NULL)
        fail_msg("'%s', expected '%s'", err->text, text);
}

static void refuse_creation(const wcodec_reader *reader)
{
    const uint64_t twice[] = {3, 5, 3}, none = COUNT, one = 2;
    wcodec_resident_options options;
    wcodec_resident *resident;
    wcodec_error err;
    expect(wcodec_resident_create(reader, twice, 3, NULL, &resident, &err), WCODEC_ERROR_USAGE,
           &err, "number 3 is given twice");
    expect(wcodec_resident_create(reader, &none, 1, NULL, &resident, &err), WCODEC_ERROR_USAGE,
           &err, "22");
    expect(wcodec_resident_create(reader, NULL, 1, NULL, &resident, &err), WCODEC_ERROR_USAGE, &err,
           "NULL");
    expect(wcodec_resident_create(NULL, NULL, 0, NULL, &resident, &err), WCODEC_ERROR_USAGE, &err,
           "NULL");
    wcodec_resident_options_init(&options);
    options.form = (wcodec_resident_form)4;
    expect(wcodec_resident_create(reader, NULL, 0, &options, &resident, &err), WCODEC_ERROR_USAGE,
           &err, "form number 4");
    wcodec_resident_options_init(&options);
    options.progress.fn = stop;
    expect(wcodec_resident_create(reader, NULL, 0, &options, &resident, &err),
           WCODEC_ERROR_CANCELLED, &err, "cancelled");
    assert_int_equal(wcodec_resident_create(reader, &one, 1, NULL, &resident, NULL), WCODEC_OK);
    assert_int_equal(wcodec_resident_count(resident), 1);
    wcodec_resident_destroy(resident);
    wcodec_resident_destroy(NULL);
}

static void refuse_reading(const wcodec_resident *resident)
{
    const uint64_t ragged = number_of(resident, "ragged");
    const int64_t after[] = {0, 397}, before[] = {-1};
    uint8_t out[2 * 2002];
    uint64_t number;
    wcodec_resident_tensor info;
    wcodec_error err;
    expect(wcodec_resident_find(resident, "none", &number, &err), WCODEC_ERROR_NOT_FOUND, &err,
           "'none'");
    expect(wcodec_resident_info(resident, COUNT, &info, &err), WCODEC_ERROR_USAGE, &err,
           "number 22");
    expect(wcodec_resident_decode(resident, ragged, 396, 2, out, sizeof out, &err),
           WCODEC_ERROR_USAGE, &err, "'ragged': rows 396 to 398 of 397");
    expect(wcodec_resident_decode(resident, ragged, 0, 3, out, sizeof out, &err),
           WCODEC_ERROR_USAGE, &err, "room for 4004 bytes, 6006 are needed");
    expect(wcodec_resident_decode(resident, ragged, 0, 1, NULL, 2002, &err), WCODEC_ERROR_USAGE,
           &err, "NULL");
    expect(wcodec_resident_gather(resident, ragged, after, 2, out, sizeof out, &err),
           WCODEC_ERROR_USAGE, &err, "index 1 is row 397 of 397");
    expect(wcodec_resident_gather(resident, ragged, before, 1, out, sizeof out, &err),
           WCODEC_ERROR_USAGE, &err, "index 0 is row -1 of 397");
    expect(wcodec_resident_gather(resident, ragged, NULL, 1, out, sizeof out, &err),
           WCODEC_ERROR_USAGE, &err, "NULL");
    assert_int_equal(wcodec_resident_gather(resident, ragged, NULL, 0, NULL, 0, NULL), WCODEC_OK);
}

static void test_refused(void **state)
{
    uint64_t seed = support_seed();
    struct support_resident_file file;
    wcodec_context *context = support_context(2, NULL);
    (void)state;
    support_resident_make(context, &seed, WCODEC_TUNE_SIZE, &file);
    wcodec_reader *reader = support_resident_open(context, &file);
    wcodec_resident *resident = make(reader, WCODEC_RESIDENT_AUTO);
    refuse_creation(reader);
    refuse_reading(resident);
    wcodec_resident_destroy(resident);
    wcodec_reader_close(reader);
    support_resident_free(&file);
    wcodec_context_destroy(context);
}

/* One byte of a payload: in no form does the tensor become resident. */
static void test_damage(void **state)
{
    uint64_t seed = support_seed();
    wcodec_context *context = support_context(2, NULL);
    (void)state;
    for (unsigned k = 0; k < 60; k++) {
        struct support_resident_file file;
        wcodec_tensor_info info;
        wcodec_resident_options options;
        wcodec_resident *resident;
        wcodec_error err;
        uint64_t at = 64;
        support_resident_make(context, &seed, k % 2 ? WCODEC_TUNE_SIZE : WCODEC_TUNE_COMPUTE_FIXED,
                              &file);
        wcodec_reader *reader = support_resident_open(context, &file);
        assert_int_equal(wcodec_reader_entry(reader, 0, &info, NULL), WCODEC_OK);
        at += info.coded_size; /* the header of the original, then "square" */
        assert_int_equal(wcodec_reader_entry(reader, 1, &info, NULL), WCODEC_OK);
        at += support_random(&seed) % info.coded_size;
        file.bytes[at] ^= (uint8_t)(1u << support_random(&seed) % 8);
        wcodec_resident_options_init(&options);
        options.form = forms[k / 2 % 4];
        wcodec_status status = wcodec_resident_create(reader, NULL, 0, &options, &resident, &err);
        if (status == WCODEC_OK) { /* padding */
            check_elements(resident, &seed, &file);
            wcodec_resident_destroy(resident);
        } else {
            expect(status, WCODEC_ERROR_CORRUPT, &err, "tensor '");
        }
        wcodec_reader_close(reader);
        support_resident_free(&file);
    }
    wcodec_context_destroy(context);
}

/* What is resident, and what it takes to make it so, count against the limit of memory. */
static void test_limits(void **state)
{
    uint64_t seed = support_seed();
    struct support_resident_file file;
    wcodec_context *whole = support_context(2, NULL);
    (void)state;
    support_resident_make(whole, &seed, WCODEC_TUNE_SIZE, &file);
    wcodec_context_destroy(whole);
    for (unsigned i = 0; i < 4; i++) {
        bool done = false, refused = false;
        for (uint64_t limit = 1 << 19; !done; limit += limit / 8) {
            wcodec_context *context = support_context_limited(2, limit);
            wcodec_reader *reader = support_resident_open(context, &file);
            wcodec_resident_options options;
            wcodec_resident *resident;
            wcodec_error err;
            wcodec_resident_options_init(&options);
            options.form = forms[i];
            const wcodec_status status =
                wcodec_resident_create(reader, NULL, 0, &options, &resident, &err);
            done = status == WCODEC_OK;
            if (done) {
                assert_true(wcodec_resident_size(resident) < limit);
                wcodec_resident_destroy(resident);
            } else {
                expect(status, WCODEC_ERROR_LIMIT, &err, "the limit is");
                refused = true;
            }
            wcodec_reader_close(reader);
            wcodec_context_destroy(context);
        }
        assert_true(refused);
    }
    support_resident_free(&file);
}

/* Each allocation fails once. */
static void test_memory(void **state)
{
    uint64_t seed = support_seed();
    struct support_resident_file file;
    wcodec_context *whole = support_context(1, NULL);
    const uint64_t few[] = {0, 1, 6, 10, 17};
    (void)state;
    support_resident_make(whole, &seed, WCODEC_TUNE_SIZE, &file);
    wcodec_context_destroy(whole);
    for (unsigned i = 0; i < 4; i++) {
        bool done = false;
        for (long left = 0; !done; left++) {
            struct support_allocator a;
            wcodec_resident_options options;
            wcodec_resident *resident;
            wcodec_error err;
            support_allocator_init(&a, SUPPORT_NEVER);
            wcodec_context *context = support_context(1, &a.allocator);
            wcodec_reader *reader = support_resident_open(context, &file);
            const long before = a.balance;
            wcodec_resident_options_init(&options);
            options.form = forms[i];
            a.left = left;
            a.once = true;
            const wcodec_status status =
                wcodec_resident_create(reader, few, 5, &options, &resident, &err);
            done = a.left > 0;
            a.left = SUPPORT_NEVER;
            if (status == WCODEC_OK)
                wcodec_resident_destroy(resident);
            else
                assert_int_equal(status, WCODEC_ERROR_MEMORY);
            assert_true(!done || status == WCODEC_OK);
            assert_int_equal(a.balance, before);
            wcodec_reader_close(reader);
            wcodec_context_destroy(context);
        }
    }
    support_resident_free(&file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_forms), cmocka_unit_test(test_refused),
                                       cmocka_unit_test(test_damage), cmocka_unit_test(test_limits),
                                       cmocka_unit_test(test_memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
