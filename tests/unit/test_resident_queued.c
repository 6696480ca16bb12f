/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Resident tensors in the memory of a device: the fake plugin's, whose addresses are pointers and
 * whose products are the kernels as C. */
#include "support_plugins.h"
#include "support_resident.h"

#include "core/bytes.h"
#include <math.h>
#include <string.h>

/* MANY: more than go straight from the code where there is a library. */
enum { VECTORS = 35, MANY = 66 };

struct queued {
    wcodec_context *context;
    struct support_resident_file file;
    wcodec_reader *reader;
};

static void begin_tuned(struct queued *q, const char *how, wcodec_tune tune)
{
    uint64_t seed = support_seed();
    wcodec_context *cpu = support_context(2, NULL);
    support_resident_make(cpu, &seed, tune, &q->file);
    wcodec_context_destroy(cpu);
    q->context = support_resident_fake(how);
    q->reader = support_resident_open(q->context, &q->file);
}

static void begin(struct queued *q, const char *how)
{
    begin_tuned(q, how, WCODEC_TUNE_SIZE);
}

static void end(struct queued *q)
{
    wcodec_reader_close(q->reader);
    wcodec_context_destroy(q->context);
    support_resident_free(&q->file);
}

static wcodec_status make(const struct queued *q, const char *memory, wcodec_resident_form form,
                          wcodec_resident **resident, wcodec_error *err)
{
    return support_resident_create(q->reader, memory, form, resident, err);
}

static uint64_t address_of(const void *p)
{
    return (uint64_t)(uintptr_t)p;
}

/* Gathers told of `rows` that were none, once. */
static void check_outside(wcodec_resident *r, const char *rows, const char *name)
{
    wcodec_error err;
    assert_int_equal(wcodec_resident_check(r, &err), WCODEC_ERROR_USAGE);
    assert_int_equal(strncmp(err.text, rows, strlen(rows)), 0);
    assert_non_null(strstr(err.text, name));
    assert_int_equal(wcodec_resident_check(r, &err), WCODEC_OK);
}

static void check_rows(wcodec_resident *r, uint64_t i, const wcodec_resident_tensor *t,
                       const uint8_t *data)
{
    const uint64_t rows = t->shape[0], row_size = t->size / rows;
    const int64_t numbers[] = {2, (int64_t)rows - 1, 0, 2, -1, (int64_t)rows};
    uint8_t *out = malloc((size_t)t->size), zeros[10002] = {0};
    wcodec_error err;
    assert_non_null(out);
    assert_int_equal(
        wcodec_resident_decode_queued(r, i, 0, rows, address_of(out), t->size, 0, &err), WCODEC_OK);
    assert_memory_equal(out, data, (size_t)t->size);
    memset(out, 0xee, (size_t)t->size);
    assert_int_equal(
        wcodec_resident_decode_queued(r, i, 1, 2, address_of(out), 2 * row_size, 0, &err),
        WCODEC_OK);
    assert_memory_equal(out, data + row_size, (size_t)(2 * row_size));
    assert_int_equal(out[2 * row_size], 0xee);
    assert_int_equal(wcodec_resident_decode_queued(r, i, 0, 0, 0, 0, 0, &err), WCODEC_OK);
    assert_int_equal(
        wcodec_resident_decode_queued(r, i, 1, rows, address_of(out), t->size, 0, &err),
        WCODEC_ERROR_USAGE);
    assert_int_equal(
        wcodec_resident_decode_queued(r, i, 0, rows, address_of(out), t->size - 1, 0, &err),
        WCODEC_ERROR_USAGE);
    assert_int_equal(
        wcodec_resident_decode_queued(r, i, 0, 1, address_of(out) + 1, t->size, 0, &err),
        WCODEC_ERROR_USAGE);
    assert_int_equal(wcodec_resident_decode_queued(r, i, 0, 1, 0, t->size, 0, &err),
                     WCODEC_ERROR_USAGE);
    const wcodec_status status = wcodec_resident_gather_queued(r, i, address_of(numbers), 6,
                                                               address_of(out), t->size, 0, &err);
    if (t->rank != 2) {
        assert_int_equal(status, WCODEC_ERROR_UNSUPPORTED);
        free(out);
        return;
    }
    assert_int_equal(status, WCODEC_OK);
    check_outside(r, "2 of the rows", t->name);
    for (unsigned k = 0; k < 6; k++)
        assert_memory_equal(out + k * row_size,
                            k < 4 ? data + (uint64_t)numbers[k] * row_size : zeros,
                            (size_t)row_size);
    assert_int_equal(wcodec_resident_gather_queued(r, i, 0, 1, address_of(out), t->size, 0, &err),
                     WCODEC_ERROR_USAGE);
    assert_int_equal(wcodec_resident_gather_queued(r, i, address_of(numbers), 6, address_of(out),
                                                   6 * row_size - 1, 0, &err),
                     WCODEC_ERROR_USAGE);
    assert_int_equal(wcodec_resident_gather_queued(r, i, address_of(numbers), 4, address_of(out),
                                                   t->size, 0, &err),
                     WCODEC_OK);
    assert_int_equal(wcodec_resident_check(r, &err), WCODEC_OK);
    for (unsigned k = 0; k < 3; k++)
        assert_int_equal(wcodec_resident_gather_queued(r, i, address_of(numbers + k), 6 - k,
                                                       address_of(out), t->size, 0, &err),
                         WCODEC_OK);
    check_outside(r, "6 of the rows", t->name);
    free(out);
}

/* y = x W, as the CPU has it. */
static void check_transposed(const wcodec_resident *r, const wcodec_resident *host, uint64_t i,
                             uint64_t n, uint64_t k)
{
    uint16_t *x = malloc((size_t)(VECTORS * n) * sizeof *x);
    float *y = malloc((size_t)(VECTORS * k) * sizeof *y),
          *expected = malloc((size_t)(VECTORS * k) * sizeof *expected);
    wcodec_linear l;
    wcodec_error err;
    uint64_t seed = support_seed();
    assert_true(x != NULL && y != NULL && expected != NULL);
    for (uint64_t j = 0; j < VECTORS * n; j++)
        x[j] = (uint16_t)(0x3f00 | (support_random(&seed) & 0x80ff));
    wcodec_linear_init(&l);
    l.transposed = 1;
    l.rows = VECTORS;
    l.x = x;
    l.x_dtype = WCODEC_DTYPE_BF16;
    l.y = expected;
    l.y_dtype = WCODEC_DTYPE_F32;
    assert_int_equal(wcodec_resident_linear(host, i, &l, &err), WCODEC_OK);
    l.y = y;
    if (wcodec_resident_linear(r, i, &l, &err) != WCODEC_OK)
        fail_msg("%s", err.text);
    for (uint64_t j = 0; j < VECTORS * k; j++)
        assert_true(fabsf(y[j] - expected[j]) <= 1e-4F * (float)n);
    l.bias = x;
    l.bias_dtype = WCODEC_DTYPE_BF16;
    assert_int_equal(wcodec_resident_linear(r, i, &l, &err), WCODEC_ERROR_USAGE);
    l.bias = NULL;
    l.x_stride = (size_t)(2 * n - 2);
    assert_int_equal(wcodec_resident_linear(r, i, &l, &err), WCODEC_ERROR_USAGE);
    free(expected);
    free(y);
    free(x);
}

/* What is said to be faster straight from the code: few vectors, with `wide` any of y = x W^T. */
static void check_straight(const wcodec_resident *r, const wcodec_resident *host, uint64_t i,
                           const wcodec_resident_tensor *t, bool wide)
{
    const bool is =
        t->form == WCODEC_RESIDENT_FIXED && t->dtype == WCODEC_DTYPE_BF16 && t->rank == 2;
    for (int transposed = 0; transposed < 2; transposed++)
        assert_int_equal(wcodec_resident_linear_straight(host, i, 1, transposed), 0);
    assert_int_equal(wcodec_resident_linear_straight(r, i, 0, 0), 0);
    assert_int_equal(wcodec_resident_linear_straight(r, i, 1, 0), is);
    assert_int_equal(wcodec_resident_linear_straight(r, i, 64, 0), is);
    assert_int_equal(wcodec_resident_linear_straight(r, i, 129, 0), is && wide);
    assert_int_equal(wcodec_resident_linear_straight(r, i, (uint64_t)1 << 32, 0), 0);
    assert_int_equal(wcodec_resident_linear_straight(r, i, 16, 1), is && wide);
    assert_int_equal(wcodec_resident_linear_straight(r, i, 17, 1), 0);
}

/* The same numbers by the CPU, whose order of sums is another. */
static void check_product(const wcodec_resident *r, const wcodec_resident *host, uint64_t i,
                          const wcodec_resident_tensor *t)
{
    const uint64_t n = t->shape[0], k = t->shape[1];
    uint16_t *x = malloc((size_t)(VECTORS * k) * sizeof *x);
    float *y = malloc((size_t)(VECTORS * n) * sizeof *y),
          *expected = malloc((size_t)(VECTORS * n) * sizeof *expected);
    wcodec_linear l;
    wcodec_error err;
    uint64_t seed = support_seed();
    assert_true(x != NULL && y != NULL && expected != NULL);
    for (uint64_t j = 0; j < VECTORS * k; j++)
        x[j] = (uint16_t)(0x3f00 | (support_random(&seed) & 0x80ff));
    wcodec_linear_init(&l);
    l.rows = VECTORS;
    l.x = x;
    l.x_dtype = WCODEC_DTYPE_BF16;
    l.y = expected;
    l.y_dtype = WCODEC_DTYPE_F32;
    assert_int_equal(wcodec_resident_linear(host, i, &l, &err), WCODEC_OK);
    l.y = y;
    if (wcodec_resident_linear(r, i, &l, &err) != WCODEC_OK)
        fail_msg("%s", err.text);
    for (uint64_t j = 0; j < VECTORS * n; j++)
        assert_true(fabsf(y[j] - expected[j]) <= 1e-4F * (float)k);
    check_transposed(r, host, i, n, k);
    l.x = (const uint8_t *)l.x + 1;
    assert_int_equal(wcodec_resident_linear(r, i, &l, &err), WCODEC_ERROR_USAGE);
    assert_non_null(strstr(err.text, "x is not aligned"));
    l.x = x;
    l.scales = (const uint8_t *)(const void *)x + 1;
    l.scales_dtype = WCODEC_DTYPE_F16;
    assert_int_equal(wcodec_resident_linear(r, i, &l, &err), WCODEC_ERROR_USAGE);
    assert_non_null(strstr(err.text, "scales is not aligned"));
    free(expected);
    free(y);
    free(x);
}

static void check_plain(const wcodec_resident *r, uint64_t i, const wcodec_resident_tensor *t,
                        const uint8_t *data)
{
    uint8_t byte;
    wcodec_error err;
    if (t->size != 0) {
        assert_true(t->native != 0);
        assert_memory_equal((const void *)(uintptr_t)t->native, data, (size_t)t->size);
    }
    assert_int_equal(wcodec_resident_decode_queued(r, i, 0, 1, address_of(&byte), t->size, 0, &err),
                     WCODEC_ERROR_UNSUPPORTED);
}

static void test_all(void **state)
{
    struct queued q;
    wcodec_resident *r, *host;
    wcodec_error err;
    unsigned fixed = 0;
    (void)state;
    begin(&q, "");
    if (make(&q, "fake", WCODEC_RESIDENT_AUTO, &r, &err) == WCODEC_ERROR_UNSUPPORTED) {
        print_message("there are no fibers here\n");
        end(&q);
        skip();
    }
    assert_int_equal(make(&q, NULL, WCODEC_RESIDENT_PLAIN, &host, &err), WCODEC_OK);
    for (uint64_t i = 0; i < SUPPORT_RESIDENT_TENSORS; i++) {
        wcodec_resident_tensor t;
        uint8_t byte;
        assert_int_equal(wcodec_resident_info(r, i, &t, &err), WCODEC_OK);
        if (support_models[i].fixed)
            assert_int_equal(t.form, WCODEC_RESIDENT_FIXED);
        assert_true(t.form != WCODEC_RESIDENT_CODED);
        check_straight(r, host, i, &t, false);
        if (t.form == WCODEC_RESIDENT_FIXED) {
            fixed++;
            assert_int_equal(t.native, 0);
            if (t.dtype == WCODEC_DTYPE_BF16)
                check_rows(r, i, &t, q.file.data[i]);
            if (t.dtype == WCODEC_DTYPE_BF16 && t.rank == 2)
                check_product(r, host, i, &t);
        } else {
            check_plain(r, i, &t, q.file.data[i]);
        }
        assert_int_equal(wcodec_resident_decode(r, i, 0, 0, &byte, 1, &err), WCODEC_ERROR_USAGE);
        assert_non_null(strstr(err.text, "fake:0"));
        assert_int_equal(wcodec_resident_decode_queued(host, i, 0, 0, 0, 0, 0, &err),
                         WCODEC_ERROR_USAGE);
    }
    assert_int_equal(wcodec_resident_check(r, &err), WCODEC_OK);
    assert_int_equal(wcodec_resident_check(host, &err), WCODEC_OK);
    assert_int_equal(wcodec_resident_check(NULL, &err), WCODEC_ERROR_USAGE);
    assert_true(fixed >= 5);
    wcodec_resident_destroy(host);
    wcodec_resident_destroy(r);
    end(&q);
}

/* A product in memory of the caller's, or of the resident object. */
static void check_work(const wcodec_resident *r, const wcodec_resident *host, uint64_t i,
                       const wcodec_resident_tensor *t, uint64_t vectors, uint8_t *work)
{
    const uint64_t n = t->shape[0], k = t->shape[1];
    uint16_t *x = malloc((size_t)(vectors * k) * sizeof *x);
    float *y = malloc((size_t)(vectors * n) * sizeof *y),
          *expected = malloc((size_t)(vectors * n) * sizeof *expected);
    wcodec_linear l;
    wcodec_error err;
    uint64_t seed = support_seed();
    assert_true(x != NULL && y != NULL && expected != NULL);
    for (uint64_t j = 0; j < vectors * k; j++)
        x[j] = (uint16_t)(0x3f00 | (support_random(&seed) & 0x80ff));
    wcodec_linear_init(&l);
    l.rows = vectors;
    l.x = x;
    l.x_dtype = WCODEC_DTYPE_BF16;
    l.y = expected;
    l.y_dtype = WCODEC_DTYPE_F32;
    assert_int_equal(wcodec_resident_linear(host, i, &l, &err), WCODEC_OK);
    l.y = y;
    l.work = work;
    l.work_size = work != NULL ? vectors : 0;
    if (wcodec_resident_linear(r, i, &l, &err) != WCODEC_OK)
        fail_msg("%s", err.text);
    for (uint64_t j = 0; j < vectors * n; j++)
        assert_true(fabsf(y[j] - expected[j]) <= 1e-4F * (float)k);
    if (work != NULL) {
        l.work = work + 1;
        assert_int_equal(wcodec_resident_linear(r, i, &l, &err), WCODEC_ERROR_USAGE);
        assert_non_null(strstr(err.text, "work is no multiple"));
    }
    free(expected);
    free(y);
    free(x);
}

static void test_work(void **state)
{
    struct queued q;
    wcodec_resident *r, *host;
    wcodec_error err;
    unsigned wide = 0;
    uint8_t *work = aligned_alloc(256, 512);
    (void)state;
    assert_non_null(work);
    begin(&q, "wide");
    if (make(&q, "fake", WCODEC_RESIDENT_AUTO, &r, &err) == WCODEC_ERROR_UNSUPPORTED) {
        print_message("there are no fibers here\n");
        free(work);
        end(&q);
        skip();
    }
    assert_int_equal(make(&q, NULL, WCODEC_RESIDENT_PLAIN, &host, &err), WCODEC_OK);
    for (uint64_t i = 0; i < SUPPORT_RESIDENT_TENSORS; i++) {
        wcodec_resident_tensor t;
        assert_int_equal(wcodec_resident_info(r, i, &t, &err), WCODEC_OK);
        const uint64_t vectors = wide == 0 ? MANY : VECTORS,
                       size = wcodec_resident_linear_work(r, i, vectors);
        assert_int_equal(wcodec_resident_linear_work(host, i, VECTORS), 0);
        assert_int_equal(wcodec_resident_linear_work(r, i, 1), 0);
        check_straight(r, host, i, &t, true);
        if (t.form != WCODEC_RESIDENT_FIXED || t.dtype != WCODEC_DTYPE_BF16 || t.rank != 2)
            assert_int_equal(size, 0);
        if (size == 0)
            continue;
        assert_int_equal(size, vectors);
        memset(work, 0, 512);
        check_work(r, host, i, &t, vectors, work);
        assert_int_equal(work[0], 0xee);
        assert_int_equal(work[vectors - 1], 0xee);
        assert_int_equal(work[vectors], 0);
        check_work(r, host, i, &t, VECTORS, NULL);
        wide++;
    }
    assert_true(wide > 0);
    assert_int_equal(wcodec_resident_linear_work(r, SUPPORT_RESIDENT_TENSORS, VECTORS), 0);
    assert_int_equal(wcodec_resident_linear_straight(r, SUPPORT_RESIDENT_TENSORS, 1, 0), 0);
    wcodec_resident_destroy(host);
    wcodec_resident_destroy(r);
    free(work);
    end(&q);
}

static void test_refused(void **state)
{
    struct queued q;
    wcodec_resident *r;
    wcodec_error err;
    (void)state;
    begin(&q, "noproducts");
    assert_int_equal(make(&q, "fake", WCODEC_RESIDENT_AUTO, &r, &err), WCODEC_ERROR_UNSUPPORTED);
    end(&q);
    begin(&q, "");
    assert_int_equal(make(&q, "cuda", WCODEC_RESIDENT_AUTO, &r, &err), WCODEC_ERROR_BACKEND);
    end(&q);
}

/* Rows by an index, where its tiles are some from which they are gathered. Returns whether they
 * are. */
static bool check_gathered(wcodec_resident *r, uint64_t i, const wcodec_resident_tensor *t,
                           const uint8_t *data)
{
    const uint64_t rows = t->rank > 0 ? t->shape[0] : 1, row_size = t->size / rows;
    const int64_t last = (int64_t)rows - 1,
                  numbers[] = {last, 0, last / 2, last, -1, (int64_t)rows};
    uint8_t *got = aligned_alloc(16, (size_t)(6 * row_size + 15) / 16 * 16);
    wcodec_error err;
    assert_non_null(got);
    memset(got, 0xee, (size_t)(6 * row_size));
    const wcodec_status status = wcodec_resident_gather_queued(
        r, i, address_of(numbers), 6, address_of(got), 6 * row_size, 0, &err);
    if (status == WCODEC_OK) {
        check_outside(r, "2 of the rows", t->name);
        for (unsigned k = 0; k < 4; k++)
            assert_memory_equal(got + k * row_size, data + (uint64_t)numbers[k] * row_size,
                                (size_t)row_size);
        for (uint64_t k = 4 * row_size; k < 6 * row_size; k++)
            assert_int_equal(got[k], 0);
        assert_int_equal(wcodec_resident_gather_queued(r, i, address_of(numbers), 1,
                                                       address_of(got) + 8, row_size, 0, &err),
                         WCODEC_ERROR_USAGE);
        assert_int_equal(
            wcodec_resident_gather_queued(r, i, 0, 1, address_of(got), row_size, 0, &err),
            WCODEC_ERROR_USAGE);
        assert_int_equal(wcodec_resident_gather_queued(r, i, address_of(numbers), 2,
                                                       address_of(got), row_size, 0, &err),
                         WCODEC_ERROR_USAGE);
    } else {
        assert_int_equal(status, WCODEC_ERROR_UNSUPPORTED);
    }
    free(got);
    return status == WCODEC_OK;
}

/* As in the file, what has tiles: decoded whole, to any place, and where tiles allow it by rows.
 * Returns whether rows are gathered. */
static bool check_coded(wcodec_resident *r, uint64_t i, const uint8_t *data)
{
    wcodec_resident_tensor t;
    wcodec_error err;
    assert_int_equal(wcodec_resident_info(r, i, &t, &err), WCODEC_OK);
    if (t.form != WCODEC_RESIDENT_CODED)
        return false;
    const uint64_t rows = t.rank > 0 ? t.shape[0] : 1, row_size = t.size / rows, room = t.size + 32;
    uint8_t *memory = aligned_alloc(16, (size_t)(room + 15) / 16 * 16);
    assert_non_null(memory);
    for (unsigned k = 0; k < 3; k++) {
        uint8_t *out = memory + 16 * k % 32;
        const uint64_t first = k == 2 && rows > 16 ? 16 : 0;
        memset(memory, 0xee, (size_t)room);
        const wcodec_status status = wcodec_resident_decode_queued(
            r, i, first, rows - first, address_of(out), t.size, 0, &err);
        if (first == 0)
            assert_int_equal(status, WCODEC_OK);
        if (status == WCODEC_OK)
            assert_memory_equal(out, data + first * row_size, (size_t)(t.size - first * row_size));
        else
            assert_int_equal(status, WCODEC_ERROR_UNSUPPORTED);
    }
    assert_int_equal(
        wcodec_resident_decode_queued(r, i, 0, rows, address_of(memory) + 2, t.size, 0, &err),
        WCODEC_ERROR_USAGE);
    assert_int_equal(
        wcodec_resident_decode_queued(r, i, 0, rows, address_of(memory), t.size - 1, 0, &err),
        WCODEC_ERROR_USAGE);
    free(memory);
    return check_gathered(r, i, &t, data);
}

static void test_coded(void **state)
{
    static const wcodec_tune tunes[] = {WCODEC_TUNE_SIZE, WCODEC_TUNE_COMPUTE, WCODEC_TUNE_LATENCY};
    (void)state;
    for (unsigned k = 0; k < 3; k++) {
        struct queued q;
        wcodec_resident *r, *host;
        wcodec_error err;
        unsigned coded = 0, products = 0, gathered = 0;
        begin_tuned(&q, "", tunes[k]);
        if (make(&q, "fake", WCODEC_RESIDENT_CODED, &r, &err) != WCODEC_OK) {
            assert_int_equal(err.status, WCODEC_ERROR_UNSUPPORTED);
            end(&q);
            skip();
        }
        assert_int_equal(make(&q, NULL, WCODEC_RESIDENT_PLAIN, &host, &err), WCODEC_OK);
        for (uint64_t i = 0; i < SUPPORT_RESIDENT_TENSORS; i++) {
            wcodec_resident_tensor t;
            assert_int_equal(wcodec_resident_info(r, i, &t, &err), WCODEC_OK);
            if (tunes[k] == WCODEC_TUNE_COMPUTE && strcmp(t.name, "deep") == 0) {
                check_product(r, host, i, &t);
                products++;
            }
            if (strcmp(t.name, "deep") == 0) {
                const bool is = tunes[k] == WCODEC_TUNE_COMPUTE;
                assert_int_equal(wcodec_resident_linear_straight(r, i, 32, 0), is);
                assert_int_equal(wcodec_resident_linear_straight(r, i, 33, 0), 0);
                assert_int_equal(wcodec_resident_linear_straight(r, i, 1, 1), 0);
            }
            coded += t.form == WCODEC_RESIDENT_CODED;
            if (t.alias_of == UINT64_MAX && t.form == WCODEC_RESIDENT_CODED)
                assert_true(t.held != 0 && t.native == 0);
            gathered += check_coded(r, i, q.file.data[i]);
        }
        assert_true(coded >= 8 && products == (tunes[k] == WCODEC_TUNE_COMPUTE));
        print_message("%u of %u gathered\n", gathered, coded);
        assert_true(tunes[k] != WCODEC_TUNE_SIZE || gathered >= 4);
        wcodec_resident_destroy(host);
        wcodec_resident_destroy(r);
        end(&q);
    }
}

/* What is damaged is found when it becomes resident. */
static void test_damaged(void **state)
{
    struct queued q;
    wcodec_resident *r;
    wcodec_error err;
    unsigned found = 0;
    (void)state;
    begin(&q, "");
    for (size_t at = 4096; at < q.file.size / 2; at += q.file.size / 16) {
        q.file.bytes[at] ^= 0x10;
        const wcodec_status status = make(&q, "fake", WCODEC_RESIDENT_CODED, &r, &err);
        if (status == WCODEC_ERROR_CORRUPT) {
            assert_non_null(strstr(err.text, "tensor '"));
            found++;
        } else if (status == WCODEC_OK) {
            wcodec_resident_destroy(r);
        } else {
            assert_int_equal(status, WCODEC_ERROR_UNSUPPORTED);
            end(&q);
            skip();
        }
        q.file.bytes[at] ^= 0x10;
    }
    assert_true(found >= 4);
    end(&q);
    /* A fault that is none is the device's. */
    begin(&q, "late-fault");
    assert_int_equal(make(&q, "fake", WCODEC_RESIDENT_CODED, &r, &err), WCODEC_ERROR_DEVICE);
    end(&q);
}

static int stop_later(void *opaque, uint64_t done, uint64_t total)
{
    unsigned *left = opaque;
    (void)done;
    (void)total;
    return *left == 0 || --*left == 0;
}

/* What is loaded to be coded by the device, too; and the caller may end it at a report. */
static void test_stopped(void **state)
{
    struct queued q;
    wcodec_resident *r;
    wcodec_resident_options options;
    wcodec_error err;
    (void)state;
    begin(&q, "");
    q.file.bytes[q.file.size / 2] ^= 0x10;
    wcodec_status status = make(&q, "fake", WCODEC_RESIDENT_PLAIN, &r, &err);
    q.file.bytes[q.file.size / 2] ^= 0x10;
    if (status == WCODEC_ERROR_UNSUPPORTED) {
        end(&q);
        skip();
    }
    assert_int_equal(status, WCODEC_ERROR_CORRUPT);
    wcodec_resident_options_init(&options);
    options.memory = "fake";
    status = WCODEC_ERROR_CANCELLED;
    for (unsigned n = 1; status == WCODEC_ERROR_CANCELLED; n *= 4) {
        unsigned left = n;
        options.progress = (wcodec_progress){.fn = stop_later, .opaque = &left};
        status = wcodec_resident_create(q.reader, NULL, 0, &options, &r, &err);
    }
    assert_int_equal(status, WCODEC_OK);
    wcodec_resident_destroy(r);
    end(&q);
}

/* A device that computes wrongly is used no more. */
static void test_miscodes(void **state)
{
    struct queued q;
    wcodec_resident *r;
    wcodec_error err;
    (void)state;
    begin(&q, "miscodes");
    const wcodec_status status = make(&q, "fake", WCODEC_RESIDENT_AUTO, &r, &err);
    if (status != WCODEC_ERROR_UNSUPPORTED) {
        assert_int_equal(status, WCODEC_ERROR_DEVICE);
        assert_non_null(strstr(err.text, "tensor '"));
        assert_non_null(strstr(err.text, "it computes wrongly"));
        assert_int_equal(make(&q, "fake", WCODEC_RESIDENT_PLAIN, &r, &err), WCODEC_ERROR_DEVICE);
    }
    end(&q);
}

static wcodec_status make_failing(const struct support_resident_file *file, const char *how,
                                  unsigned n, wcodec_resident_form form)
{
    char mode[32];
    wcodec_resident *r = NULL;
    wcodec_error err;
    snprintf(mode, sizeof mode, "%s-%u", how, n);
    wcodec_context *context = support_resident_fake(mode);
    wcodec_reader *reader = support_resident_open(context, file);
    const wcodec_status status = support_resident_create(reader, "fake", form, &r, &err);
    if (status != WCODEC_OK)
        assert_true(status == WCODEC_ERROR_DEVICE || status == WCODEC_ERROR_MEMORY ||
                    status == WCODEC_ERROR_UNSUPPORTED);
    wcodec_resident_destroy(r);
    wcodec_reader_close(reader);
    wcodec_context_destroy(context);
    return status;
}

/* The device fails at some of its calls, from the first one to the last, and once has no memory,
 * which may be no matter: nothing is left, and nothing is wrong. */
static void test_lost(void **state)
{
    static const wcodec_resident_form forms[] = {WCODEC_RESIDENT_AUTO, WCODEC_RESIDENT_CODED};
    struct queued q;
    (void)state;
    begin(&q, "");
    for (unsigned f = 0; f < 2; f++) {
        wcodec_status status = WCODEC_ERROR_DEVICE;
        unsigned n = 1;
        for (; status == WCODEC_ERROR_DEVICE; n += 3 + n / 3)
            status = make_failing(&q.file, "lost", n, forms[f]);
        assert_true(status == WCODEC_ERROR_UNSUPPORTED || (status == WCODEC_OK && n > 60));
        for (n = 1; n < 50 && status == WCODEC_OK; n += 7)
            (void)make_failing(&q.file, "memory", n, forms[f]);
    }
    end(&q);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all),     cmocka_unit_test(test_work),
        cmocka_unit_test(test_refused), cmocka_unit_test(test_coded),
        cmocka_unit_test(test_damaged), cmocka_unit_test(test_miscodes),
        cmocka_unit_test(test_lost),    cmocka_unit_test(test_stopped)};
    return cmocka_run_group_tests(tests, support_find_plugins, NULL);
}
