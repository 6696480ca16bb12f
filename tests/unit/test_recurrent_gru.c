/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Gated recurrent units: both forms beside their definition in binary64, by weights of every dtype,
 * over sequences in any layout and direction, the same beside others and by any number of threads,
 * and what is refused. */
#include "support_memory.h"

#include <math.h>

enum { MOST = 80, PARTS = 12 };

/* A unit's weights as they were made, in the order of wcodec_gru_arrays. */
struct unit {
    wcodec_gru_options o;
    size_t h, in;
    float *part[PARTS]; /* NULL: none */
    wcodec_gru_arrays arrays;
};

static float number(uint64_t *seed)
{
    return (float)(support_random(seed) % 2001) / 1000 - 1;
}

static float *numbers(uint64_t *seed, size_t count, float scale)
{
    float *p = malloc((count + 1) * sizeof *p);
    assert_non_null(p);
    for (size_t i = 0; i < count; i++)
        p[i] = scale * number(seed);
    return p;
}

static size_t columns_of(const struct unit *u, unsigned part)
{
    return part < 3 ? u->in : part < 6 ? u->h : 1;
}

static wcodec_gru_array *array_of(struct unit *u, unsigned part)
{
    return &u->arrays.w_z + part;
}

/* biases: 0 none, 1 of the inputs, 2 of both. */
static void make(struct unit *u, uint64_t *seed, wcodec_gru_form form, size_t h, size_t in,
                 unsigned biases)
{
    memset(u, 0, sizeof *u);
    wcodec_gru_options_init(&u->o);
    u->o.hidden = u->h = h;
    u->o.inputs = u->in = in;
    u->o.form = form;
    for (unsigned i = 0; i < 6 + 3 * biases; i++) {
        u->part[i] = numbers(seed, h * columns_of(u, i), i < 6 ? 0.3f : 0.5f);
        *array_of(u, i) = (wcodec_gru_array){.data = u->part[i], .dtype = WCODEC_DTYPE_F32};
    }
}

static void drop(struct unit *u)
{
    for (unsigned i = 0; i < PARTS; i++)
        free(u->part[i]);
}

static wcodec_gru *create(wcodec_context *context, const struct unit *u)
{
    wcodec_gru *gru;
    wcodec_error err;
    if (wcodec_gru_create(context, &u->o, &u->arrays, &gru, &err) != WCODEC_OK)
        fail_msg("%s", err.text);
    return gru;
}

static double row(const struct unit *u, unsigned part, size_t i, const double *x)
{
    const size_t columns = columns_of(u, part);
    double sum = 0;
    for (size_t k = 0; k < columns && u->part[part] != NULL; k++)
        sum += (double)u->part[part][i * columns + k] * (x == NULL ? 1 : x[k]);
    return sum;
}

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

/* One step by the definition. */
static void define_step(const struct unit *u, const double *x, double *h)
{
    double z[MOST], r[MOST], reset[MOST], next[MOST];
    for (size_t i = 0; i < u->h; i++) {
        z[i] = sigmoid(row(u, 0, i, x) + row(u, 3, i, h) + row(u, 6, i, NULL) + row(u, 9, i, NULL));
        r[i] =
            sigmoid(row(u, 1, i, x) + row(u, 4, i, h) + row(u, 7, i, NULL) + row(u, 10, i, NULL));
        reset[i] = r[i] * h[i];
    }
    for (size_t i = 0; i < u->h; i++) {
        const double input = row(u, 2, i, x) + row(u, 8, i, NULL);
        if (u->o.form == WCODEC_GRU_RESET_BEFORE)
            next[i] = (1 - z[i]) * h[i] + z[i] * tanh(input + row(u, 5, i, reset));
        else
            next[i] = (1 - z[i]) * tanh(input + r[i] * (row(u, 5, i, h) + row(u, 11, i, NULL))) +
                      z[i] * h[i];
    }
    memcpy(h, next, u->h * sizeof *h);
}

/* Sequences in a layout with gaps, in either direction, beside the definition. */
static void compare(const wcodec_gru *gru, const struct unit *u, uint64_t *seed, size_t steps,
                    size_t sequences, bool reverse)
{
    const size_t step = 3 + sequences * (u->in + 2), out_step = u->h + 1,
                 out_sequence = steps * (u->h + 1) + 5;
    float *x = numbers(seed, steps * step, 2), *begin = numbers(seed, sequences * u->h, 1),
          *out = numbers(seed, sequences * out_sequence, 0),
          *last = numbers(seed, sequences * u->h, 0);
    const bool given = sequences % 2 == 0;
    wcodec_error err;
    const wcodec_gru_input input = {.values = x,
                                    .steps = steps,
                                    .sequences = sequences,
                                    .step_stride = step,
                                    .sequence_stride = u->in + 2,
                                    .hidden = given ? begin : NULL,
                                    .reverse = reverse};
    const wcodec_gru_output output = {
        .values = out, .step_stride = out_step, .sequence_stride = out_sequence, .hidden = last};
    assert_int_equal(wcodec_gru_run(gru, &input, &output, &err), WCODEC_OK);
    for (size_t s = 0; s < sequences; s++) {
        double h[MOST], in[MOST];
        for (size_t i = 0; i < u->h; i++)
            h[i] = given ? begin[s * u->h + i] : 0;
        for (size_t t = 0; t < steps; t++) {
            const size_t at = reverse ? steps - 1 - t : t;
            for (size_t i = 0; i < u->in; i++)
                in[i] = x[at * step + s * (u->in + 2) + i];
            define_step(u, in, h);
            for (size_t i = 0; i < u->h; i++)
                if (!(fabs(out[at * out_step + s * out_sequence + i] - h[i]) <= 3e-6))
                    fail_msg("hidden %zu of sequence %zu, step %zu", i, s, at);
            assert_true(out[at * out_step + s * out_sequence + u->h] == 0);
        }
        for (size_t i = 0; i < u->h; i++)
            assert_true(fabs(last[s * u->h + i] - h[i]) <= 3e-6);
    }
    free(x);
    free(begin);
    free(out);
    free(last);
}

static void test_definition(void **unused)
{
    (void)unused;
    static const size_t sizes[][2] = {{1, 1}, {31, 7}, {32, 64}, {33, 1}, {80, 80}};
    static const size_t runs[][2] = {{1, 1}, {5, 4}, {3, 9}, {20, 2}, {0, 2}};
    uint64_t seed = support_seed();
    wcodec_context *context = support_context(2, NULL);
    for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        for (unsigned form = 0; form < 2; form++) {
            struct unit u;
            make(&u, &seed, (wcodec_gru_form)form, sizes[i][0], sizes[i][1],
                 (unsigned)(support_random(&seed) % (2 + form)));
            wcodec_gru *gru = create(context, &u);
            for (unsigned k = 0; k < sizeof runs / sizeof runs[0]; k++)
                compare(gru, &u, &seed, runs[k][0], runs[k][1], k % 2 == 1);
            wcodec_gru_destroy(gru);
            drop(&u);
        }
    wcodec_context_destroy(context);
}

/* The same step by step, beside other sequences and not, and by any number of threads; hidden
 * values may go where they came from. */
static void test_beside_others(void **unused)
{
    (void)unused;
    enum { STEPS = 6, SEQUENCES = 13, H = 50, IN = 9 };
    float out[STEPS][SEQUENCES][H], again[STEPS][SEQUENCES][H], hidden[SEQUENCES][H] = {{0}};
    uint64_t seed = support_seed();
    struct unit u;
    float *x = numbers(&seed, (size_t)STEPS * SEQUENCES * IN, 1);
    for (unsigned form = 0; form < 2; form++) {
        make(&u, &seed, (wcodec_gru_form)form, H, IN, 1);
        for (unsigned threads = 1; threads <= 3; threads++) {
            wcodec_context *context = support_context(threads, NULL);
            wcodec_gru *gru = create(context, &u);
            wcodec_gru_input input = {.values = x, .steps = STEPS, .sequences = SEQUENCES};
            wcodec_gru_output output = {.values = threads == 1 ? out[0][0] : again[0][0]};
            assert_int_equal(wcodec_gru_run(gru, &input, &output, NULL), WCODEC_OK);
            if (threads > 1)
                assert_memory_equal(again, out, sizeof out);
            wcodec_gru_destroy(gru);
            wcodec_context_destroy(context);
        }
        wcodec_context *context = support_context(1, NULL);
        wcodec_gru *gru = create(context, &u);
        memset(hidden, 0, sizeof hidden);
        for (unsigned s = 0; s < SEQUENCES; s++)
            for (unsigned t = 0; t < STEPS; t++) {
                const wcodec_gru_input input = {.values = x + (t * SEQUENCES + s) * IN,
                                                .steps = 1,
                                                .sequences = 1,
                                                .hidden = hidden[s]};
                const wcodec_gru_output output = {.hidden = hidden[s]};
                assert_int_equal(wcodec_gru_run(gru, &input, &output, NULL), WCODEC_OK);
                assert_memory_equal(hidden[s], out[t][s], sizeof hidden[s]);
            }
        wcodec_gru_destroy(gru);
        wcodec_context_destroy(context);
        drop(&u);
    }
    free(x);
}

/* Weights of a dtype give what the same numbers in F32 give, to the last bit. */
static void test_dtypes(void **unused)
{
    (void)unused;
    enum { H = 40, IN = 12, BYTES = 8 };
    /* Each encodes k / 8, k in -7 .. 7, exactly; in E5M2 and E4M3 too, but for 5 and 7. */
    static const wcodec_dtype dtypes[] = {WCODEC_DTYPE_F64,     WCODEC_DTYPE_F16,
                                          WCODEC_DTYPE_BF16,    WCODEC_DTYPE_F8_E5M2,
                                          WCODEC_DTYPE_F8_E4M3, WCODEC_DTYPE_I8};
    static const uint16_t halves[] = {0, 0x3000, 0x3400, 0x3600, 0x3800, 0x3900, 0x3A00, 0x3B00};
    static const uint8_t e4m3[] = {0, 0x20, 0x28, 0x2C, 0x30, 0x32, 0x34, 0x36};
    uint64_t seed = support_seed();
    wcodec_context *context = support_context(1, NULL);
    float x[3 * IN], want[3 * H], got[3 * H], scales[H];
    for (unsigned i = 0; i < 3 * IN; i++)
        x[i] = number(&seed);
    for (unsigned i = 0; i < H; i++)
        scales[i] = (float)(1 + i % 5) / 8;
    for (unsigned d = 0; d < sizeof dtypes / sizeof dtypes[0]; d++) {
        struct unit u;
        uint8_t *data[PARTS];
        make(&u, &seed, WCODEC_GRU_RESET_AFTER, H, IN, 2);
        wcodec_gru_arrays coded = u.arrays;
        for (unsigned part = 0; part < PARTS; part++) {
            const size_t count = H * columns_of(&u, part);
            data[part] = malloc(count * BYTES + 1);
            assert_non_null(data[part]);
            uint8_t *to = data[part] + 1; /* of no alignment */
            for (size_t i = 0; i < count; i++) {
                int k = (int)(support_random(&seed) % 15) - 7;
                if (dtypes[d] == WCODEC_DTYPE_F8_E5M2 && (abs(k) == 5 || abs(k) == 7))
                    k = 6;
                const unsigned sign = k < 0, n = (unsigned)abs(k);
                const float value = (float)k / 8;
                const double wide = value;
                const uint16_t half = (uint16_t)(sign << 15 | halves[n]);
                uint32_t bits;
                memcpy(&bits, &value, sizeof bits);
                const uint16_t brain = (uint16_t)(bits >> 16);
                u.part[part][i] = value;
                if (dtypes[d] == WCODEC_DTYPE_F64) {
                    memcpy(to + 8 * i, &wide, 8);
                } else if (dtypes[d] == WCODEC_DTYPE_F16) {
                    memcpy(to + 2 * i, &half, 2);
                } else if (dtypes[d] == WCODEC_DTYPE_BF16) {
                    memcpy(to + 2 * i, &brain, 2);
                } else if (dtypes[d] == WCODEC_DTYPE_F8_E5M2) {
                    to[i] = (uint8_t)(half >> 8);
                } else if (dtypes[d] == WCODEC_DTYPE_F8_E4M3) {
                    to[i] = (uint8_t)(sign << 7 | e4m3[n]);
                } else {
                    to[i] = (uint8_t)k;
                    u.part[part][i] = (float)k * scales[i / columns_of(&u, part)];
                }
            }
            (&coded.w_z)[part] =
                (wcodec_gru_array){.data = to,
                                   .dtype = dtypes[d],
                                   .scales = dtypes[d] == WCODEC_DTYPE_I8 ? scales : NULL};
        }
        const wcodec_gru_input input = {.values = x, .steps = 3, .sequences = 1};
        wcodec_gru_output output = {.values = want};
        wcodec_gru *gru = create(context, &u);
        assert_int_equal(wcodec_gru_run(gru, &input, &output, NULL), WCODEC_OK);
        wcodec_gru_destroy(gru);
        u.arrays = coded;
        gru = create(context, &u);
        output.values = got;
        assert_int_equal(wcodec_gru_run(gru, &input, &output, NULL), WCODEC_OK);
        assert_memory_equal(got, want, sizeof want);
        wcodec_gru_destroy(gru);
        for (unsigned part = 0; part < PARTS; part++)
            free(data[part]);
        drop(&u);
    }
    wcodec_context_destroy(context);
}

static wcodec_status try_make(wcodec_context *context, const struct unit *u, wcodec_error *err)
{
    wcodec_gru *gru = NULL;
    const wcodec_status status = wcodec_gru_create(context, &u->o, &u->arrays, &gru, err);
    if (status != WCODEC_OK)
        assert_null(gru);
    wcodec_gru_destroy(gru);
    return status;
}

static void refused(wcodec_context *context, const struct unit *u, const char *text)
{
    wcodec_error err;
    assert_int_equal(try_make(context, u, &err), WCODEC_ERROR_USAGE);
    if (strstr(err.text, text) == NULL)
        fail_msg("\"%s\" has no \"%s\"", err.text, text);
}

static void test_refused(void **unused)
{
    (void)unused;
    uint64_t seed = support_seed();
    struct unit u;
    struct support_allocator allocator;
    support_allocator_init(&allocator, SUPPORT_NEVER);
    wcodec_context *context = support_context(1, &allocator.allocator);
    wcodec_error err;
    make(&u, &seed, WCODEC_GRU_RESET_AFTER, 40, 6, 2);
    const struct unit good = u;

    u.o.inputs = 0;
    refused(context, &u, "inputs is 0: expected 1 to 65536");
    u.o.inputs = 65537;
    refused(context, &u, "inputs is 65537");
    u = good;
    u.o.hidden = 4097;
    refused(context, &u, "hidden is 4097: expected 1 to 4096");
    u.o.hidden = 0;
    refused(context, &u, "hidden is 0");
    u = good;
    u.o.form = (wcodec_gru_form)2;
    refused(context, &u, "there is no form 2");
    u = good;
    u.o.form = WCODEC_GRU_RESET_BEFORE;
    refused(context, &u, "c_z is given, which the form RESET_BEFORE has not");
    u = good;
    u.arrays.u_r.data = NULL;
    refused(context, &u, "U_r is missing");
    u = good;
    u.arrays.u_h.dtype = WCODEC_DTYPE_I32;
    refused(context, &u, "U_h is of I32: expected F64, F32");
    u.arrays.u_h.dtype = (wcodec_dtype)99;
    refused(context, &u, "U_h is of no dtype");
    u.arrays.u_h.dtype = WCODEC_DTYPE_I8;
    refused(context, &u, "U_h is of I8 without scales");
    u = good;
    u.arrays.b_z.scales = u.part[6];
    refused(context, &u, "b_z is of F32 and has scales");
    u = good;
    u.arrays.w_r.reserved = 1;
    refused(context, &u, "W_r has a reserved member");
    u = good;
    u.arrays.reserved[3] = 1;
    refused(context, &u, "arrays");
    u = good;
    u.part[1][5 * 6 + 4] = NAN;
    refused(context, &u, "W_r[5, 4] is NaN");
    u.part[1][5 * 6 + 4] = 0;
    u.part[11][39] = INFINITY;
    refused(context, &u, "c_h[39, 0] is infinite");
    u.part[11][39] = 0;

    const long calls = allocator.calls;
    assert_int_equal(try_make(context, &u, &err), WCODEC_OK);
    for (long i = allocator.calls - calls; i-- > 0;) {
        allocator.left = i;
        assert_int_equal(try_make(context, &u, &err), WCODEC_ERROR_MEMORY);
    }
    allocator.left = SUPPORT_NEVER;
    wcodec_context *limited = support_context_limited(1, 5000);
    assert_int_equal(try_make(limited, &u, &err), WCODEC_ERROR_LIMIT);
    wcodec_context_destroy(limited);

    wcodec_gru *gru = create(context, &u);
    float hidden[2 * 40] = {0}, x[2 * 6] = {0};
    wcodec_gru_input input = {.values = x, .steps = 1, .sequences = 2};
    wcodec_gru_output output = {.hidden = hidden};
    input.reserved[2] = 1;
    assert_int_equal(wcodec_gru_run(gru, &input, &output, &err), WCODEC_ERROR_USAGE);
    input.reserved[2] = 0;
    output.reserved[0] = 1;
    assert_int_equal(wcodec_gru_run(gru, &input, &output, &err), WCODEC_ERROR_USAGE);
    output.reserved[0] = 0;
    allocator.left = 0;
    assert_int_equal(wcodec_gru_run(gru, &input, &output, &err), WCODEC_ERROR_MEMORY);
    allocator.left = SUPPORT_NEVER;
    /* What is no number stays so, in its own sequence. */
    x[6] = NAN;
    assert_int_equal(wcodec_gru_run(gru, &input, &output, &err), WCODEC_OK);
    assert_true(isnan(hidden[40]) && !isnan(hidden[39]));
    input.sequences = 0;
    assert_int_equal(wcodec_gru_run(gru, &input, &output, &err), WCODEC_OK);
    wcodec_gru_destroy(gru);
    wcodec_gru_destroy(NULL);
    wcodec_context_destroy(context);
    assert_int_equal(allocator.balance, 0);
    drop(&u);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_definition),
        cmocka_unit_test(test_beside_others),
        cmocka_unit_test(test_dtypes),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
