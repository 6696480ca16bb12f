/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Products with resident matrices: as include/wcodec/resident.h defines them, to the last bit, in
 * every form, by any number of threads, of all dtypes, with strides; near to sums in double
 * precision; and what is refused. */
#include "support_resident.h"

#include "core/bytes.h"
#include <math.h>
#include <string.h>

enum { COUNT = SUPPORT_RESIDENT_TENSORS };

static const wcodec_dtype operands[] = {WCODEC_DTYPE_BF16, WCODEC_DTYPE_F16, WCODEC_DTYPE_F32};

static float float_of(uint32_t bits)
{
    float number;
    memcpy(&number, &bits, sizeof number);
    return number;
}

static float small_float(uint32_t bits, unsigned exponent, unsigned mantissa, bool infinite)
{
    const int bias = (1 << (exponent - 1)) - 1;
    const uint32_t e = bits >> mantissa & ((1u << exponent) - 1), m = bits & ((1u << mantissa) - 1);
    const float sign = bits >> (exponent + mantissa) & 1 ? -1 : 1;
    if (e == (1u << exponent) - 1 && infinite)
        return m != 0 ? NAN : sign * INFINITY;
    if (e == (1u << exponent) - 1 && m == (1u << mantissa) - 1)
        return NAN;
    if (e == 0)
        return sign * ldexpf((float)m, 1 - bias - (int)mantissa);
    return sign * ldexpf((float)(m | 1u << mantissa), (int)e - bias - (int)mantissa);
}

/* Element number i, by the definition of its dtype. */
static float element(wcodec_dtype dtype, const uint8_t *from, uint64_t i)
{
    switch (dtype) {
    case WCODEC_DTYPE_BF16:
        return float_of((uint32_t)wcodec_load_u16(from + 2 * i) << 16);
    case WCODEC_DTYPE_F16:
        return small_float(wcodec_load_u16(from + 2 * i), 5, 10, true);
    case WCODEC_DTYPE_F32:
        return float_of(wcodec_load_u32(from + 4 * i));
    case WCODEC_DTYPE_I8:
        return (float)(int8_t)from[i];
    case WCODEC_DTYPE_U8:
        return (float)from[i];
    case WCODEC_DTYPE_F8_E4M3:
        return small_float(from[i], 4, 3, false);
    default:
        assert_int_equal(dtype, WCODEC_DTYPE_F8_E5M2);
        return small_float(from[i], 5, 2, true);
    }
}

/* Numbers of a dtype, seldom infinite or none. */
static uint8_t *make_numbers(uint64_t *seed, wcodec_dtype dtype, size_t count, bool odd)
{
    const size_t bytes = wcodec_dtype_bits(dtype) / 8;
    uint8_t *to = malloc(count * bytes + 1);
    for (size_t i = 0; i < count; i++) {
        const uint64_t any = support_random(seed);
        const uint32_t bits =
            0x3F000000 - (uint32_t)(any >> 32 & 3) * 0x800000 + (uint32_t)(any & 0x807FFFFF);
        if (dtype == WCODEC_DTYPE_F32)
            wcodec_store_u32(to + 4 * i, bits);
        else if (dtype == WCODEC_DTYPE_BF16)
            wcodec_store_u16(to + 2 * i, (uint16_t)(bits >> 16));
        else
            wcodec_store_u16(to + 2 * i, (uint16_t)((any & 0x83FF) | (12 + (any >> 32 & 3)) << 10));
        if (odd && any >> 48 < 40)
            memset(to + bytes * i, any >> 40 & 1 ? 0xFF : 0x7F, bytes);
    }
    return to;
}

/* A product, by the words of the header. */
struct expected {
    float *values;
    double *exact, *magnitude;
};

static float sum_of(float s[16])
{
    for (unsigned half = 8; half > 0; half /= 2)
        for (unsigned j = 0; j < half; j++)
            s[j] += s[j + half];
    return s[0];
}

static void expect_linear(const struct support_model *m, const uint8_t *w, const wcodec_linear *l,
                          struct expected *e)
{
    const uint64_t n = m->shape[0], k = m->shape[1];
    for (uint64_t v = 0; v < l->rows; v++)
        for (uint64_t row = 0; row < n; row++) {
            const uint8_t *x = (const uint8_t *)l->x + v * l->x_stride;
            float sums[16] = {0}, scale = 1;
            double exact = 0, magnitude = 0;
            for (uint64_t c = 0; c < k; c++) {
                const float a = element(l->x_dtype, x, c), b = element(m->dtype, w, row * k + c);
                sums[c % 16] = fmaf(a, b, sums[c % 16]);
                exact += (double)a * b;
                magnitude += fabs((double)a * b);
            }
            float value = sum_of(sums);
            if (l->scales != NULL) {
                scale = element(l->scales_dtype, l->scales, row);
                value *= scale;
            }
            if (l->bias != NULL) {
                value += element(l->bias_dtype, l->bias, row);
                exact += element(l->bias_dtype, l->bias, row) / scale;
                magnitude += fabs(element(l->bias_dtype, l->bias, row) / scale);
            }
            e->values[v * n + row] = value;
            e->exact[v * n + row] = exact * scale;
            e->magnitude[v * n + row] = magnitude * fabsf(scale);
        }
}

static void expect_transposed(const struct support_model *m, const uint8_t *w,
                              const wcodec_linear *l, struct expected *e)
{
    const uint64_t n = m->shape[0], k = m->shape[1];
    for (uint64_t v = 0; v < l->rows; v++)
        for (uint64_t c = 0; c < k; c++) {
            const uint8_t *x = (const uint8_t *)l->x + v * l->x_stride;
            float sum = 0;
            double exact = 0, magnitude = 0;
            for (uint64_t row = 0; row < n; row++) {
                const float b = element(m->dtype, w, row * k + c);
                float a = element(l->x_dtype, x, row);
                if (l->scales != NULL)
                    a *= element(l->scales_dtype, l->scales, row);
                sum = fmaf(a, b, sum);
                exact += (double)a * b;
                magnitude += fabs((double)a * b);
            }
            e->values[v * k + c] = sum;
            e->exact[v * k + c] = exact;
            e->magnitude[v * k + c] = magnitude;
        }
}

/* `got` is `wanted` rounded to a dtype: no number of the dtype is nearer. */
static void check_rounded(wcodec_dtype dtype, const uint8_t *got, float wanted)
{
    const float number = element(dtype, got, 0);
    if (isnan(wanted)) {
        assert_true(isnan(number));
        return;
    }
    if (dtype == WCODEC_DTYPE_F32) {
        assert_memory_equal(&number, &wanted, sizeof number);
        return;
    }
    const uint16_t bits = wcodec_load_u16(got);
    const double off = fabs((double)wanted - number);
    assert_int_equal(signbit(number) != 0, signbit(wanted) != 0);
    if (isinf(number)) {
        const double limit = dtype == WCODEC_DTYPE_F16 ? 65520 : 0x1.FFp127;
        assert_true(fabs((double)wanted) >= limit);
        return;
    }
    for (int step = -1; step <= 1; step += 2) {
        uint8_t other[2];
        wcodec_store_u16(other, (uint16_t)(bits + step));
        const float beside = element(dtype, other, 0);
        if ((bits & 0x7FFF) == 0 && step < 0)
            continue;
        const double there = fabs((double)wanted - beside);
        assert_true(off < there || (off == there && (bits & 1) == 0));
    }
}

/* Of sums without infinities: within the bound that the header gives. */
static void check_bound(const struct support_model *m, const wcodec_linear *l,
                        const struct expected *e, size_t count)
{
    const double terms = l->transposed ? (double)m->shape[0] : (double)m->shape[1] / 16 + 5;
    for (size_t i = 0; i < count; i++)
        if (isfinite(e->exact[i]) && e->magnitude[i] < 1e30)
            assert_true(fabs(e->values[i] - e->exact[i]) <=
                        (terms + 3) * 0x1p-24 * 1.01 * e->magnitude[i] + 1e-38);
}

struct operands {
    wcodec_linear l;
    uint8_t *x, *bias, *scales, *y;
    size_t y_size;
};

static void make_operands(uint64_t *seed, const struct support_model *m, uint64_t rows,
                          struct operands *o)
{
    const uint64_t n = m->shape[0], k = m->shape[1];
    const bool odd = support_random(seed) % 4 == 0, transposed = support_random(seed) % 3 == 0;
    wcodec_linear *l = &o->l;
    wcodec_linear_init(l);
    l->transposed = transposed;
    l->rows = rows;
    l->x_dtype = operands[support_random(seed) % 3];
    l->y_dtype = operands[support_random(seed) % 3];
    l->bias_dtype = operands[support_random(seed) % 3];
    l->scales_dtype = operands[support_random(seed) % 3];
    const size_t in = (size_t)(transposed ? n : k), out = (size_t)(transposed ? k : n),
                 x_more = support_random(seed) % 3, y_more = support_random(seed) % 3;
    const size_t x_bytes = wcodec_dtype_bits(l->x_dtype) / 8,
                 y_bytes = wcodec_dtype_bits(l->y_dtype) / 8;
    l->x_stride = (in + x_more) * x_bytes;
    l->y_stride = (out + y_more) * y_bytes;
    o->y_size = (size_t)rows * l->y_stride;
    o->x = make_numbers(seed, l->x_dtype, (size_t)rows * (in + x_more), odd);
    o->bias = make_numbers(seed, l->bias_dtype, (size_t)n, odd);
    o->scales = make_numbers(seed, l->scales_dtype, (size_t)n, false);
    o->y = malloc(o->y_size + 1);
    l->x = o->x;
    l->y = o->y;
    l->bias = !transposed && support_random(seed) % 2 ? o->bias : NULL;
    l->scales = support_random(seed) % 2 ? o->scales : NULL;
}

static void free_operands(struct operands *o)
{
    free(o->x);
    free(o->y);
    free(o->bias);
    free(o->scales);
}

/* Between the rows nothing is written. */
static void check_result(const wcodec_linear *l, const struct expected *e, size_t width)
{
    const size_t bytes = wcodec_dtype_bits(l->y_dtype) / 8;
    for (uint64_t v = 0; v < l->rows; v++) {
        const uint8_t *row = (const uint8_t *)l->y + v * l->y_stride;
        for (size_t i = 0; i < width; i++)
            check_rounded(l->y_dtype, row + bytes * i, e->values[v * width + i]);
        for (size_t i = width * bytes; i < l->y_stride; i++)
            assert_int_equal(row[i], 0x5a);
    }
}

struct residents {
    wcodec_context *contexts[3];
    wcodec_resident *forms[3];
};

static void check_matrix(const struct residents *r, uint64_t *seed, unsigned tensor,
                         const uint8_t *w, uint64_t rows)
{
    const struct support_model *m = &support_models[tensor];
    struct operands o;
    make_operands(seed, m, rows, &o);
    const size_t width = (size_t)m->shape[o.l.transposed ? 1 : 0], count = (size_t)rows * width;
    struct expected e = {.values = malloc(count * sizeof *e.values + 1),
                         .exact = malloc(count * sizeof *e.exact + 1),
                         .magnitude = malloc(count * sizeof *e.magnitude + 1)};
    (o.l.transposed ? expect_transposed : expect_linear)(m, w, &o.l, &e);
    check_bound(m, &o.l, &e, count);
    for (unsigned i = 0; i < 3; i++) {
        uint64_t number;
        wcodec_error err;
        memset(o.y, 0x5a, o.y_size);
        assert_int_equal(wcodec_resident_find(r->forms[i], m->name, &number, NULL), WCODEC_OK);
        if (wcodec_resident_linear(r->forms[i], number, &o.l, &err) != WCODEC_OK)
            fail_msg("%s", err.text);
        check_result(&o.l, &e, width);
    }
    free(e.values);
    free(e.exact);
    free(e.magnitude);
    free_operands(&o);
}

static void make_residents(const struct support_resident_file *file, struct residents *r)
{
    static const wcodec_resident_form forms[] = {WCODEC_RESIDENT_CODED, WCODEC_RESIDENT_FIXED,
                                                 WCODEC_RESIDENT_PLAIN};
    for (unsigned i = 0; i < 3; i++) {
        wcodec_resident_options options;
        wcodec_error err;
        r->contexts[i] = support_context(1 + i, NULL);
        wcodec_reader *reader = support_resident_open(r->contexts[i], file);
        wcodec_resident_options_init(&options);
        options.form = forms[i];
        if (wcodec_resident_create(reader, NULL, 0, &options, &r->forms[i], &err) != WCODEC_OK)
            fail_msg("%s", err.text);
        wcodec_reader_close(reader);
    }
}

static void free_residents(struct residents *r)
{
    for (unsigned i = 0; i < 3; i++) {
        wcodec_resident_destroy(r->forms[i]);
        wcodec_context_destroy(r->contexts[i]);
    }
}

static void test_products(void **state)
{
    static const uint64_t rows[] = {1, 2, 3, 5, 8, 130, 0};
    uint64_t seed = support_seed();
    struct support_resident_file file;
    struct residents r;
    wcodec_context *context = support_context(2, NULL);
    (void)state;
    support_resident_make(context, &seed, WCODEC_TUNE_SIZE, &file);
    make_residents(&file, &r);
    for (unsigned i = 0; i < COUNT; i++) {
        const struct support_model *m = &support_models[i];
        if (m->rank != 2 || m->dtype == WCODEC_DTYPE_I64)
            continue;
        for (unsigned k = 0; k < 7; k++)
            if (rows[k] < 100 || m->shape[0] * m->shape[1] < 1 << 16)
                check_matrix(&r, &seed, i, file.data[i], rows[k]);
    }
    free_residents(&r);
    support_resident_free(&file);
    wcodec_context_destroy(context);
}

static void refuse(const struct residents *r, const char *name, const wcodec_linear *l,
                   wcodec_status expected, const char *text)
{
    for (unsigned i = 0; i < 3; i++) {
        uint64_t number;
        wcodec_error err = {0};
        assert_int_equal(wcodec_resident_find(r->forms[i], name, &number, NULL), WCODEC_OK);
        assert_int_equal(wcodec_resident_linear(r->forms[i], number, l, &err), expected);
        if (strstr(err.text, text) == NULL || strstr(err.text, name) == NULL)
            fail_msg("'%s', expected '%s'", err.text, text);
    }
}

static void test_refused(void **state)
{
    uint64_t seed = support_seed();
    struct support_resident_file file;
    struct residents r;
    wcodec_context *context = support_context(2, NULL);
    static float x[512], y[512];
    wcodec_linear l, bad;
    wcodec_error err;
    (void)state;
    support_resident_make(context, &seed, WCODEC_TUNE_SIZE, &file);
    make_residents(&file, &r);
    wcodec_linear_init(&l);
    l.rows = 1;
    l.x = x;
    l.x_dtype = l.y_dtype = WCODEC_DTYPE_F32;
    l.y = y;
    refuse(&r, "bias", &l, WCODEC_ERROR_USAGE, "2 dimensions, there are 1");
    refuse(&r, "stack", &l, WCODEC_ERROR_USAGE, "2 dimensions, there are 3");
    refuse(&r, "numbers", &l, WCODEC_ERROR_UNSUPPORTED, "I64");
    bad = l;
    bad.x = NULL;
    refuse(&r, "half", &bad, WCODEC_ERROR_USAGE, "x is NULL");
    bad = l;
    bad.y = NULL;
    refuse(&r, "half", &bad, WCODEC_ERROR_USAGE, "y is NULL");
    bad = l;
    bad.x_dtype = WCODEC_DTYPE_I8;
    refuse(&r, "half", &bad, WCODEC_ERROR_USAGE, "x is no BF16, F16 or F32");
    bad = l;
    bad.x_stride = 1199;
    refuse(&r, "half", &bad, WCODEC_ERROR_USAGE, "1199 bytes from a row to the next");
    bad = l;
    bad.bias = y;
    refuse(&r, "half", &bad, WCODEC_ERROR_USAGE, "bias is no BF16, F16 or F32");
    bad.bias_dtype = WCODEC_DTYPE_F32;
    bad.transposed = 1;
    refuse(&r, "half", &bad, WCODEC_ERROR_USAGE, "no bias");
    bad = l;
    bad.scales = y;
    refuse(&r, "half", &bad, WCODEC_ERROR_USAGE, "scales is no BF16, F16 or F32");
    assert_int_equal(wcodec_resident_linear(r.forms[0], 0, NULL, &err), WCODEC_ERROR_USAGE);
    assert_int_equal(wcodec_resident_linear(r.forms[0], COUNT, &l, &err), WCODEC_ERROR_USAGE);
    assert_int_equal(wcodec_resident_linear(NULL, 0, &l, &err), WCODEC_ERROR_USAGE);
    free_residents(&r);
    support_resident_free(&file);
    wcodec_context_destroy(context);
}

/* What a product takes beside what is resident counts against the limit of memory. */
static void test_limits(void **state)
{
    uint64_t seed = support_seed();
    struct support_resident_file file;
    wcodec_context *whole = support_context(1, NULL);
    static float x[64 * 384], y[64 * 384];
    (void)state;
    support_resident_make(whole, &seed, WCODEC_TUNE_SIZE, &file);
    wcodec_context_destroy(whole);
    for (int form = WCODEC_RESIDENT_CODED; form <= WCODEC_RESIDENT_PLAIN; form++) {
        const uint64_t tensor = 0;
        wcodec_context *context = support_context_limited(1, 450000);
        wcodec_resident_options options;
        wcodec_resident *resident;
        wcodec_linear l;
        wcodec_error err;
        wcodec_reader *reader = support_resident_open(context, &file);
        wcodec_resident_options_init(&options);
        options.form = (wcodec_resident_form)form;
        if (wcodec_resident_create(reader, &tensor, 1, &options, &resident, &err) != WCODEC_OK)
            fail_msg("%s", err.text);
        wcodec_linear_init(&l);
        l.rows = 64;
        l.x = x;
        l.y = y;
        l.x_dtype = l.y_dtype = WCODEC_DTYPE_F32;
        const wcodec_status status = wcodec_resident_linear(resident, 0, &l, &err);
        assert_int_equal(status, form == WCODEC_RESIDENT_CODED ? WCODEC_ERROR_LIMIT : WCODEC_OK);
        if (status != WCODEC_OK)
            assert_non_null(strstr(err.text, "the limit is 450000"));
        wcodec_resident_destroy(resident);
        wcodec_reader_close(reader);
        wcodec_context_destroy(context);
    }
    support_resident_free(&file);
}

/* Each allocation of a product fails once. */
static void test_memory(void **state)
{
    uint64_t seed = support_seed();
    struct support_resident_file file;
    struct support_allocator a;
    static float x[2 * 384], y[2 * 384];
    (void)state;
    support_allocator_init(&a, SUPPORT_NEVER);
    wcodec_context *context = support_context(1, &a.allocator);
    support_resident_make(context, &seed, WCODEC_TUNE_SIZE, &file);
    wcodec_reader *reader = support_resident_open(context, &file);
    for (unsigned i = 0; i < 6; i++) {
        wcodec_resident_options options;
        wcodec_resident *resident;
        wcodec_linear l;
        bool done = false;
        wcodec_resident_options_init(&options);
        options.form = (wcodec_resident_form)(1 + i % 3);
        assert_int_equal(wcodec_resident_create(reader, NULL, 0, &options, &resident, NULL),
                         WCODEC_OK);
        wcodec_linear_init(&l);
        l.transposed = i / 3 != 0;
        l.rows = 2;
        l.x = x;
        l.y = y;
        l.x_dtype = l.y_dtype = l.bias_dtype = l.scales_dtype = WCODEC_DTYPE_F32;
        l.bias = l.transposed ? NULL : x;
        l.scales = x;
        const long before = a.balance;
        for (long left = 0; !done; left++) {
            a.left = left;
            a.once = true;
            const wcodec_status status = wcodec_resident_linear(resident, 0, &l, NULL);
            done = a.left > 0;
            a.left = SUPPORT_NEVER;
            assert_true(status == WCODEC_OK || (status == WCODEC_ERROR_MEMORY && !done));
            assert_int_equal(a.balance, before);
        }
        wcodec_resident_destroy(resident);
    }
    wcodec_reader_close(reader);
    support_resident_free(&file);
    wcodec_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_products), cmocka_unit_test(test_refused),
        cmocka_unit_test(test_limits), cmocka_unit_test(test_memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
