/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Products on a device with matrices of every form and type, for which some are decoded first: the
 * fake plugin's, whose addresses are pointers, beside those in host memory. */
#include "support_plugins.h"
#include "support_resident.h"

#include "core/bytes.h"
#include "backends/cpu/product.h"
#include <math.h>
#include <string.h>

enum { VECTORS = 70 /* more than are multiplied straight from the code */ };

struct dense {
    wcodec_context *context;
    struct support_resident_file file;
    wcodec_reader *reader;
    wcodec_resident *host;
    uint64_t seed;
};

/* Returns false where kernels do not run as C. */
static bool begin(struct dense *d, const char *how, wcodec_tune tune)
{
    wcodec_resident *r;
    wcodec_error err;
    d->seed = support_seed();
    wcodec_context *cpu = support_context(2, NULL);
    support_resident_make(cpu, &d->seed, tune, &d->file);
    wcodec_context_destroy(cpu);
    d->context = support_resident_fake(how);
    d->reader = support_resident_open(d->context, &d->file);
    assert_int_equal(
        support_resident_create(d->reader, NULL, WCODEC_RESIDENT_PLAIN, &d->host, &err), WCODEC_OK);
    const wcodec_status status =
        support_resident_create(d->reader, "fake", WCODEC_RESIDENT_PLAIN, &r, &err);
    if (status == WCODEC_OK)
        wcodec_resident_destroy(r);
    return status == WCODEC_OK;
}

static void end(struct dense *d)
{
    wcodec_resident_destroy(d->host);
    wcodec_reader_close(d->reader);
    wcodec_context_destroy(d->context);
    support_resident_free(&d->file);
}

static wcodec_resident *make(const struct dense *d, wcodec_resident_form form, size_t decoded)
{
    wcodec_resident_options options;
    wcodec_resident *r;
    wcodec_error err;
    wcodec_resident_options_init(&options);
    options.memory = "fake";
    options.form = form;
    options.decoded = decoded;
    if (wcodec_resident_create(d->reader, NULL, 0, &options, &r, &err) != WCODEC_OK)
        fail_msg("%s", err.text);
    return r;
}

static wcodec_dtype any_dtype(struct dense *d)
{
    static const wcodec_dtype dtypes[] = {WCODEC_DTYPE_BF16, WCODEC_DTYPE_F16, WCODEC_DTYPE_F32};
    return dtypes[support_random(&d->seed) % 3];
}

/* Numbers from 1/2 to 2, of either sign, exactly of any type. */
static uint8_t *numbers(struct dense *d, wcodec_dtype dtype, uint64_t count)
{
    uint8_t *to = malloc((size_t)(4 * count + 4));
    assert_non_null(to);
    for (uint64_t i = 0; i < count; i++) {
        const uint64_t any = support_random(&d->seed);
        const uint32_t sign = (uint32_t)(any & 1), mantissa = (uint32_t)(any >> 8 & 7),
                       two = (uint32_t)(any >> 16 & 1);
        if (dtype == WCODEC_DTYPE_F32)
            wcodec_store_u32(to + 4 * i, sign << 31 | (126 + two) << 23 | mantissa << 20);
        else if (dtype == WCODEC_DTYPE_BF16)
            wcodec_store_u16(to + 2 * i, (uint16_t)(sign << 15 | (126 + two) << 7 | mantissa << 4));
        else
            wcodec_store_u16(to + 2 * i, (uint16_t)(sign << 15 | (14 + two) << 10 | mantissa << 7));
    }
    return to;
}

/* Both are sums of binary32. What is large may be a small part of what was added. */
static void compare(const float *y, const float *expected, uint64_t count, uint64_t inside,
                    wcodec_dtype dtype)
{
    const float least = dtype == WCODEC_DTYPE_I8 || dtype == WCODEC_DTYPE_U8 ? 256 : 1;
    for (uint64_t i = 0; i < count; i++) {
        const float bound = 1e-5F * least * (float)(inside + 8) + 1e-4F * fabsf(expected[i]);
        if (isnan(expected[i]) || isinf(expected[i]))
            assert_true(isnan(y[i]) || isinf(y[i]));
        else if (!(fabsf(y[i] - expected[i]) <= bound))
            fail_msg("%g for %g", (double)y[i], (double)expected[i]);
    }
}

/* On both, with what there may be. */
static wcodec_status multiply(struct dense *d, const wcodec_resident *r, uint64_t i,
                              const wcodec_resident_tensor *t, uint64_t vectors, bool transposed,
                              wcodec_error *err)
{
    const uint64_t inside = t->shape[transposed ? 0 : 1], outside = t->shape[transposed ? 1 : 0];
    float *y = malloc((size_t)(vectors * outside + 1) * sizeof *y),
          *expected = malloc((size_t)(vectors * outside + 1) * sizeof *y);
    wcodec_linear l;
    assert_true(y != NULL && expected != NULL);
    wcodec_linear_init(&l);
    l.transposed = transposed;
    l.rows = vectors;
    l.x_dtype = any_dtype(d);
    l.y_dtype = WCODEC_DTYPE_F32;
    l.bias_dtype = any_dtype(d);
    l.scales_dtype = any_dtype(d);
    uint8_t *x = numbers(d, l.x_dtype, vectors * inside),
            *bias = numbers(d, l.bias_dtype, t->shape[0]),
            *scales = numbers(d, l.scales_dtype, t->shape[0]);
    l.x = x;
    l.bias = !transposed && support_random(&d->seed) % 2 ? bias : NULL;
    l.scales = support_random(&d->seed) % 2 ? scales : NULL;
    l.y = y;
    memset(y, 0xff, (size_t)(vectors * outside) * sizeof *y);
    const wcodec_status status = wcodec_resident_linear(r, i, &l, err);
    if (status == WCODEC_OK) {
        wcodec_error own;
        l.y = expected;
        assert_int_equal(wcodec_resident_linear(d->host, i, &l, &own), WCODEC_OK);
        compare(y, expected, vectors * outside, inside, t->dtype);
    }
    free(scales);
    free(bias);
    free(x);
    free(expected);
    free(y);
    return status;
}

/* All matrices, by few and by many vectors. */
static unsigned multiply_all(struct dense *d, const wcodec_resident *r)
{
    unsigned products = 0;
    for (uint64_t i = 0; i < SUPPORT_RESIDENT_TENSORS; i++) {
        wcodec_resident_tensor t;
        wcodec_error err;
        assert_int_equal(wcodec_resident_info(r, i, &t, &err), WCODEC_OK);
        if (t.rank != 2 || wcodec_cpu_source_of(t.dtype) == WCODEC_CPU_SOURCES ||
            support_models[i].numbers == SUPPORT_ANY_BITS)
            continue;
        for (unsigned k = 0; k < 4; k += support_one_in(3)) {
            const uint64_t vectors = k < 2            ? 1 + support_random(&d->seed) % 9
                                     : t.size < 70000 ? (uint64_t)VECTORS
                                                      : 17;
            if (multiply(d, r, i, &t, vectors, k % 2 == 1, &err) != WCODEC_OK)
                fail_msg("%s, form %d: %s", t.name, (int)t.form, err.text);
            products++;
        }
    }
    return products;
}

/* In pieces, or at once. */
static void test_all(void **state)
{
    static const wcodec_tune tunes[] = {WCODEC_TUNE_SIZE, WCODEC_TUNE_COMPUTE};
    static const wcodec_resident_form forms[] = {WCODEC_RESIDENT_AUTO, WCODEC_RESIDENT_CODED,
                                                 WCODEC_RESIDENT_PLAIN};
    (void)state;
    for (unsigned k = 0; k < 4; k++) {
        struct dense d;
        if (!begin(&d, k % 2 ? "library" : "", tunes[k / 2])) {
            end(&d);
            skip();
        }
        for (unsigned f = 0; f < 3; f++) {
            if (k > 1 && forms[f] != WCODEC_RESIDENT_CODED)
                continue;
            wcodec_resident *r = make(&d, forms[f], k == 3 ? (size_t)1 << 30 : 20000);
            assert_true(multiply_all(&d, r) >= 40 / support_one_in(2));
            wcodec_resident_destroy(r);
        }
        end(&d);
    }
}

/* Without memory to decode to: what needs none works, all else says what is missing. */
static void test_without_memory(void **state)
{
    struct dense d;
    unsigned done = 0, refused = 0;
    (void)state;
    if (!begin(&d, "library", WCODEC_TUNE_SIZE)) {
        end(&d);
        skip();
    }
    wcodec_resident *r = make(&d, WCODEC_RESIDENT_CODED, 0),
                    *more = make(&d, WCODEC_RESIDENT_CODED, 1);
    assert_true(wcodec_resident_size(r) < wcodec_resident_size(more));
    wcodec_resident_destroy(more);
    for (uint64_t i = 0; i < SUPPORT_RESIDENT_TENSORS; i++) {
        wcodec_resident_tensor t;
        wcodec_error err;
        assert_int_equal(wcodec_resident_info(r, i, &t, &err), WCODEC_OK);
        if (t.rank != 2 || wcodec_cpu_source_of(t.dtype) == WCODEC_CPU_SOURCES || t.size == 0 ||
            support_models[i].numbers == SUPPORT_ANY_BITS)
            continue;
        const wcodec_status status = multiply(&d, r, i, &t, 2, true, &err);
        if (t.form == WCODEC_RESIDENT_PLAIN)
            assert_int_equal(status, WCODEC_OK);
        done += status == WCODEC_OK;
        refused += status == WCODEC_ERROR_UNSUPPORTED;
        if (status != WCODEC_OK) {
            assert_non_null(strstr(err.text, "wcodec_resident_options.decoded"));
            assert_non_null(strstr(err.text, t.name));
        }
    }
    assert_true(done >= 1 && refused >= 5);
    wcodec_resident_destroy(r);
    end(&d);
}

/* Matrices without rows or columns. */
static void test_empty(void **state)
{
    struct dense d;
    float y[10];
    wcodec_linear l;
    wcodec_error err;
    uint64_t i;
    (void)state;
    if (!begin(&d, "", WCODEC_TUNE_SIZE)) {
        end(&d);
        skip();
    }
    wcodec_resident *r = make(&d, WCODEC_RESIDENT_AUTO, 1 << 20);
    assert_int_equal(wcodec_resident_find(r, "empty", &i, &err), WCODEC_OK); /* 0 x 5 */
    wcodec_linear_init(&l);
    l.rows = 2;
    l.x = l.y = y;
    l.x_dtype = l.y_dtype = WCODEC_DTYPE_F32;
    assert_int_equal(wcodec_resident_linear(r, i, &l, &err), WCODEC_OK);
    l.transposed = 1;
    memset(y, 0xff, sizeof y);
    assert_int_equal(wcodec_resident_linear(r, i, &l, &err), WCODEC_OK);
    for (unsigned k = 0; k < 10; k++)
        assert_true(y[k] == 0);
    wcodec_resident_destroy(r);
    end(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_all),
                                       cmocka_unit_test(test_without_memory),
                                       cmocka_unit_test(test_empty)};
    return cmocka_run_group_tests(tests, support_find_plugins, NULL);
}
