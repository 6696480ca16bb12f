/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Ensembles and units by the tensors of a file, of every dtype and by other names, give what the
 * same weights in memory give, on a device too; what is refused is named; memory is what was said
 * before. */
#include "support_model.h"

#include <math.h>

enum { E = 3, H = 40, S = 7, I = 6, STEPS = 5, TENSORS = E * 9 + 2 };

/* A tensor of the file that is made: values are exact in all dtypes. */
struct tensor {
    char name[40];
    const char *dtype;
    unsigned rank;
    uint64_t shape[2];
    float values[3 * H * H];
};

static size_t count_of(const struct tensor *t)
{
    return (size_t)(t->shape[0] * (t->rank < 2 ? 1 : t->shape[1]));
}

static struct tensor *add(struct tensor *t, const char *name, const char *dtype, uint64_t rows,
                          uint64_t columns, uint64_t *seed)
{
    snprintf(t->name, sizeof t->name, "%s", name);
    t->dtype = dtype;
    t->rank = columns == 0 ? 1 : 2;
    t->shape[0] = rows;
    t->shape[1] = columns;
    for (size_t i = 0; i < count_of(t); i++)
        t->values[i] = (float)((int)(support_random(seed) % 9) - 4) / 16;
    return t + 1;
}

/* Little-endian bytes of an element; returns how many. */
static size_t put(uint8_t *to, const char *dtype, float value)
{
    static const uint8_t e4m3[] = {0, 0x18, 0x20, 0x24, 0x28};
    uint32_t bits;
    uint64_t wide;
    const double number = value;
    const int k = isnan(value) ? 0 : (int)(value * 16);
    const unsigned n = (unsigned)abs(k);
    memcpy(&bits, &value, 4);
    memcpy(&wide, &number, 8);
    const uint32_t half = (bits & 0x80000000) >> 16 |
                          (n == 0 ? 0 : (((bits >> 23 & 0xFF) - 112) << 10 | (bits >> 13 & 0x3FF)));
    size_t size = 4;
    uint64_t all = bits;
    if (strcmp(dtype, "F64") == 0) {
        all = wide;
        size = 8;
    } else if (strcmp(dtype, "BF16") == 0) {
        all = bits >> 16;
        size = 2;
    } else if (strcmp(dtype, "F16") == 0) {
        all = half;
        size = 2;
    } else if (strcmp(dtype, "F8_E5M2") == 0) {
        all = half >> 8;
        size = 1;
    } else if (strcmp(dtype, "F8_E4M3") == 0) {
        all = (k < 0 ? 0x80u : 0) | e4m3[n];
        size = 1;
    }
    for (size_t i = 0; i < size; i++)
        to[i] = (uint8_t)(all >> 8 * i);
    return size;
}

/* A reader of a compressed safetensors file with these tensors. */
static wcodec_reader *open_file(wcodec_context *context, const struct tensor *tensors,
                                unsigned count, struct support_sink *sink)
{
    static uint8_t file[1 << 20];
    static char json[1 << 14];
    size_t used = 1, at = 0, size = 0;
    wcodec_error err;
    snprintf(json, sizeof json, "{");
    for (unsigned i = 0; i < count; i++) {
        const struct tensor *t = &tensors[i];
        uint8_t element[8];
        const size_t bytes = count_of(t) * put(element, t->dtype, 0);
        used += (size_t)snprintf(json + used, sizeof json - used,
                                 "%s\"%s\":{\"dtype\":\"%s\",\"shape\":[%u", i == 0 ? "" : ",",
                                 t->name, t->dtype, (unsigned)t->shape[0]);
        if (t->rank == 2)
            used += (size_t)snprintf(json + used, sizeof json - used, ",%u", (unsigned)t->shape[1]);
        used += (size_t)snprintf(json + used, sizeof json - used, "],\"data_offsets\":[%zu,%zu]}",
                                 at, at + bytes);
        at += bytes;
    }
    used += (size_t)snprintf(json + used, sizeof json - used, "}");
    assert_true(used < sizeof json && 8 + used + at < sizeof file);
    for (unsigned i = 0; i < 8; i++)
        file[size++] = (uint8_t)((uint64_t)used >> 8 * i);
    memcpy(file + size, json, used);
    size += used;
    for (unsigned i = 0; i < count; i++)
        for (size_t k = 0; k < count_of(&tensors[i]); k++)
            size += put(file + size, tensors[i].dtype, tensors[i].values[k]);
    support_sink_init(sink);
    if (wcodec_compress_memory(context, file, size, support_sink_write, sink, NULL, NULL, &err) !=
        WCODEC_OK)
        fail_msg("%s", err.text);
    return support_open_sink(context, sink);
}

static const char *const parts[] = {"W_z", "W_r", "W_h", "U_z", "U_r", "U_h", "b_z", "b_r", "b_h"};
static struct tensor tensors[TENSORS];

/* An ensemble, each member of another dtype. */
static void make_ensemble(uint64_t *seed)
{
    static const char *const dtypes[] = {"F32", "BF16", "F64", "F16", "F8_E5M2", "F8_E4M3"};
    struct tensor *t = tensors;
    for (unsigned e = 0; e < E; e++)
        for (unsigned k = 0; k < 9; k++) {
            char name[40];
            snprintf(name, sizeof name, "members.%u.%s", e, parts[k]);
            t = add(t, name, dtypes[(e + k) % 6], H, k < 3 ? I : k < 6 ? H : 0, seed);
        }
    t = add(t, "head", "F32", H + S, 0, seed);
    add(t, "delta_head", "BF16", 10, H + S, seed);
}

static wcodec_status roll(const wcodec_rssm *rssm, float *trajectories, float *deltas)
{
    float features[I];
    wcodec_rssm_summary summary;
    for (unsigned i = 0; i < I; i++)
        features[i] = 0.2f * (float)i;
    const wcodec_rssm_input input = {
        .features = features, .loss = 2, .gradient_norm = 1, .learning_rate = 1, .seed = 3};
    const wcodec_rssm_output output = {.trajectories = trajectories, .weight_deltas = deltas};
    return wcodec_rssm_rollout(rssm, &input, STEPS, &output, &summary, NULL);
}

static wcodec_rssm *create_ensemble(wcodec_context *context, const wcodec_rssm_options *of,
                                    bool biases)
{
    wcodec_rssm_options o = *of;
    wcodec_gru_weights members[E];
    wcodec_rssm *rssm;
    wcodec_error err;
    o.ensemble = E;
    o.hidden = H;
    o.stochastic = S;
    o.inputs = I;
    for (unsigned e = 0; e < E; e++) {
        const struct tensor *t = tensors + 9 * e;
        members[e] = (wcodec_gru_weights){.w_z = t[0].values,
                                          .w_r = t[1].values,
                                          .w_h = t[2].values,
                                          .u_z = t[3].values,
                                          .u_r = t[4].values,
                                          .u_h = t[5].values,
                                          .b_z = biases ? t[6].values : NULL,
                                          .b_r = biases ? t[7].values : NULL,
                                          .b_h = biases ? t[8].values : NULL};
    }
    if (wcodec_rssm_create(context, &o, members, tensors[9 * E].values,
                           biases ? tensors[9 * E + 1].values : NULL, &rssm, &err) != WCODEC_OK)
        fail_msg("%s", err.text);
    return rssm;
}

static void expect_same(const wcodec_rssm *got, const wcodec_rssm *want, bool deltas)
{
    float found[E][STEPS + 1], wanted[E][STEPS + 1], change[2][WCODEC_RSSM_PARTS];
    assert_int_equal(roll(got, found[0], deltas ? change[0] : NULL), WCODEC_OK);
    assert_int_equal(roll(want, wanted[0], deltas ? change[1] : NULL), WCODEC_OK);
    assert_memory_equal(found, wanted, sizeof found);
    if (deltas)
        assert_memory_equal(change[0], change[1], sizeof change[0]);
}

static void test_ensemble(void **unused)
{
    (void)unused;
    uint64_t seed = support_seed();
    struct support_sink sink;
    wcodec_error err;
    wcodec_rssm *got, *want;
    wcodec_rssm_options options;
    wcodec_context *context = support_context(2, NULL);
    make_ensemble(&seed);
    wcodec_reader *reader = open_file(context, tensors, TENSORS, &sink);
    wcodec_rssm_options_init(&options);
    options.mode = WCODEC_RSSM_SAMPLED; /* its sizes, which are the defaults, do not count */
    if (wcodec_rssm_open(reader, &options, NULL, &got, &err) != WCODEC_OK)
        fail_msg("%s", err.text);
    wcodec_rssm_sizes(got, &options);
    assert_true(options.ensemble == E && options.hidden == H && options.stochastic == S &&
                options.inputs == I && options.mode == WCODEC_RSSM_SAMPLED &&
                options.struct_size == sizeof options);
    want = create_ensemble(context, &options, true);
    expect_same(got, want, true);
    wcodec_rssm_destroy(got);
    wcodec_rssm_destroy(want);
    wcodec_reader_close(reader);
    support_sink_free(&sink);

    /* Other names, and no biases or delta head. */
    struct tensor *renamed = calloc(TENSORS, sizeof *renamed);
    assert_non_null(renamed);
    unsigned count = 0;
    for (unsigned i = 0; i < 9 * E + 1; i++)
        if (i % 9 < 6 || i == 9 * E) {
            renamed[count] = tensors[i];
            if (i == 9 * E)
                snprintf(renamed[count].name, sizeof renamed[count].name, "loss");
            else
                snprintf(renamed[count].name, sizeof renamed[count].name, "%s/%u", parts[i % 9],
                         i / 9);
            count++;
        }
    const wcodec_rssm_names names = {.w_z = "W_z/{}",
                                     .w_r = "W_r/{}",
                                     .w_h = "W_h/{}",
                                     .u_z = "U_z/{}",
                                     .u_r = "U_r/{}",
                                     .u_h = "U_h/{}",
                                     .head = "loss"};
    reader = open_file(context, renamed, count, &sink);
    if (wcodec_rssm_open(reader, NULL, &names, &got, &err) != WCODEC_OK)
        fail_msg("%s", err.text);
    wcodec_rssm_options_init(&options);
    want = create_ensemble(context, &options, false);
    expect_same(got, want, false);
    wcodec_rssm_destroy(got);
    wcodec_rssm_destroy(want);
    wcodec_reader_close(reader);
    support_sink_free(&sink);
    free(renamed);
    wcodec_context_destroy(context);
}

enum { STARTS = 9 };

static void roll_many(const wcodec_rssm *rssm, float *trajectories)
{
    float features[STARTS * I], loss[STARTS];
    wcodec_error err;
    for (unsigned i = 0; i < STARTS * I; i++)
        features[i] = 0.037f * (float)i - 1;
    for (unsigned i = 0; i < STARTS; i++)
        loss[i] = (float)i;
    const wcodec_rssm_starts starts = {.count = STARTS, .features = features, .loss = loss};
    const wcodec_rssm_courses courses = {.trajectories = trajectories};
    if (wcodec_rssm_rollout_many(rssm, &starts, STEPS, &courses, &err) != WCODEC_OK)
        fail_msg("%s", err.text);
}

/* The ensemble of a file in a device's memory, with products of BF16: what that of weights in
 * memory gives there, by tensor cores where starts are many. The device is the fake one. */
static void test_device(void **unused)
{
    (void)unused;
    float found[STARTS * E * (STEPS + 1)], wanted[STARTS * E * (STEPS + 1)];
    uint64_t seed = support_seed();
    char relative[4096];
    struct support_sink sink;
    wcodec_error err;
    wcodec_rssm *got, *want, *plain;
    wcodec_rssm_options options, sizes;
    wcodec_options of_context;
    wcodec_context *context;
    const char *build = getenv("top_builddir");
    snprintf(relative, sizeof relative, "%s/backends/fake/.libs", build != NULL ? build : ".");
    char *const folder = realpath(relative, NULL);
    if (folder == NULL)
        skip(); /* a library without plugins */
    setenv("WCODEC_BACKEND_PATH", folder, 1);
    free(folder);
    wcodec_options_init(&of_context);
    of_context.backend = "fake";
    if (wcodec_context_create(&of_context, &context, &err) != WCODEC_OK)
        fail_msg("%s", err.text);
    make_ensemble(&seed);
    wcodec_reader *reader = open_file(context, tensors, TENSORS, &sink);
    wcodec_rssm_options_init(&options);
    options.memory = "fake";
    options.products = WCODEC_GRU_PRODUCTS_BF16;
    if (wcodec_rssm_open(reader, &options, NULL, &got, &err) != WCODEC_OK)
        fail_msg("%s", err.text);
    want = create_ensemble(context, &options, true);
    options.products = WCODEC_GRU_PRODUCTS_F32;
    plain = create_ensemble(context, &options, true);
    wcodec_rssm_options_init(&sizes);
    wcodec_rssm_sizes(got, &sizes);
    /* NULL: no fibers, which the device emulates its lanes by. */
    if (sizes.memory != NULL) {
        assert_string_equal(sizes.memory, "fake");
        assert_int_equal(sizes.products, WCODEC_GRU_PRODUCTS_BF16);
        roll_many(got, found);
        roll_many(want, wanted);
        assert_memory_equal(found, wanted, sizeof found);
        roll_many(plain, wanted);
        assert_memory_not_equal(found, wanted, sizeof found);
    }
    expect_same(got, want, true);
    expect_same(got, plain, true);
    wcodec_rssm_destroy(got);
    wcodec_rssm_destroy(want);
    wcodec_rssm_destroy(plain);
    wcodec_reader_close(reader);
    wcodec_context_destroy(context);
    support_sink_free(&sink);
}

/* Opens a file in which one tensor is another, and expects that to be said. */
static void refused(wcodec_context *context, const struct tensor *all, unsigned count,
                    wcodec_status expected, const char *text)
{
    struct support_sink sink;
    wcodec_error err;
    wcodec_rssm *rssm = NULL;
    wcodec_reader *reader = open_file(context, all, count, &sink);
    assert_int_equal(wcodec_rssm_open(reader, NULL, NULL, &rssm, &err), expected);
    assert_null(rssm);
    if (strstr(err.text, text) == NULL)
        fail_msg("\"%s\" has no \"%s\"", err.text, text);
    wcodec_reader_close(reader);
    support_sink_free(&sink);
}

static void test_refused(void **unused)
{
    (void)unused;
    static struct tensor wrong[TENSORS];
    uint64_t seed = support_seed();
    struct support_allocator allocator;
    support_allocator_init(&allocator, SUPPORT_NEVER);
    wcodec_context *context = support_context(1, &allocator.allocator);
    make_ensemble(&seed);
#define WRONG(i, change, status, text) \
    do { \
        memcpy(wrong, tensors, sizeof wrong); \
        struct tensor *t = &wrong[i]; \
        change; \
        refused(context, wrong, TENSORS, status, text); \
    } while (0)
    WRONG(9 + 4, snprintf(t->name, sizeof t->name, "other"), WCODEC_ERROR_NOT_FOUND,
          "there is no tensor 'members.1.U_r'");
    WRONG(0, snprintf(t->name, sizeof t->name, "other"), WCODEC_ERROR_NOT_FOUND,
          "there is no tensor 'members.0.W_z'");
    WRONG(9 * E, snprintf(t->name, sizeof t->name, "other"), WCODEC_ERROR_NOT_FOUND,
          "there is no tensor 'head'");
    WRONG(0, t->rank = 1, WCODEC_ERROR_MISMATCH,
          "tensor 'members.0.W_z' of F32 has the shape [40]: expected [hidden, inputs]");
    WRONG(9 + 4, t->shape[1] = H - 1, WCODEC_ERROR_MISMATCH,
          "tensor 'members.1.U_r' of F8_E4M3 has the shape [40, 39]: expected [40, 40]");
    WRONG(8, t->shape[0] = 3, WCODEC_ERROR_MISMATCH,
          "tensor 'members.0.b_h' of F64 has the shape [3]: expected [40]");
    WRONG(9 * E, t->shape[0] = H, WCODEC_ERROR_MISMATCH,
          "tensor 'head' of F32 has the shape [40]: expected [40 + stochastic]");
    WRONG(9 * E + 1, t->shape[0] = 9, WCODEC_ERROR_MISMATCH,
          "tensor 'delta_head' of BF16 has the shape [9, 47]: expected [10, 47]");
    WRONG(5, t->dtype = "I32", WCODEC_ERROR_MISMATCH,
          "tensor 'members.0.U_h' is of I32: expected F64, F32");
    WRONG(9, t->values[13] = NAN;
          t->dtype = "F32", WCODEC_ERROR_USAGE, "member 1: W_z[2, 1] is NaN");

    /* Each allocation of it fails in turn, and nothing is left. */
    struct support_sink sink;
    wcodec_error err;
    wcodec_rssm *rssm;
    wcodec_reader *reader = open_file(context, tensors, TENSORS, &sink);
    wcodec_rssm_names names = {.reserved = {&err}};
    assert_int_equal(wcodec_rssm_open(reader, NULL, &names, &rssm, &err), WCODEC_ERROR_USAGE);
    char *const long_name = calloc(2000, 1);
    assert_non_null(long_name);
    memset(long_name, 'x', 1999);
    names = (wcodec_rssm_names){.u_r = long_name};
    assert_int_equal(wcodec_rssm_open(reader, NULL, &names, &rssm, &err), WCODEC_ERROR_USAGE);
    free(long_name);
    wcodec_rssm_options elsewhere;
    wcodec_rssm_options_init(&elsewhere);
    elsewhere.memory = "nowhere";
    assert_int_equal(wcodec_rssm_open(reader, &elsewhere, NULL, &rssm, &err), WCODEC_ERROR_BACKEND);
    assert_non_null(strstr(err.text, "memory of nowhere was asked for"));
    elsewhere.products = (wcodec_gru_products)7;
    assert_int_equal(wcodec_rssm_open(reader, &elsewhere, NULL, &rssm, &err), WCODEC_ERROR_USAGE);
    assert_non_null(strstr(err.text, "there are no products 7"));
    names = (wcodec_rssm_names){.delta_head = "missing"};
    assert_int_equal(wcodec_rssm_open(reader, NULL, &names, &rssm, &err), WCODEC_ERROR_NOT_FOUND);
    const long calls = allocator.calls, balance = allocator.balance;
    assert_int_equal(wcodec_rssm_open(reader, NULL, NULL, &rssm, &err), WCODEC_OK);
    wcodec_rssm_destroy(rssm);
    for (long i = allocator.calls - calls; i-- > 0;) {
        allocator.left = i;
        assert_int_equal(wcodec_rssm_open(reader, NULL, NULL, &rssm, &err), WCODEC_ERROR_MEMORY);
        allocator.left = SUPPORT_NEVER;
        assert_int_equal(allocator.balance, balance);
    }
    wcodec_reader_close(reader);
    wcodec_context *limited = support_context_limited(1, 50000);
    reader = support_open_sink(limited, &sink);
    assert_int_equal(wcodec_rssm_open(reader, NULL, NULL, &rssm, &err), WCODEC_ERROR_LIMIT);
    wcodec_reader_close(reader);
    wcodec_context_destroy(limited);
    support_sink_free(&sink);
    wcodec_context_destroy(context);
}

static wcodec_gru_array stacked(const struct tensor *t, unsigned gate)
{
    const size_t columns = t->rank < 2 ? 1 : (size_t)t->shape[1];
    return (wcodec_gru_array){.data = t->values + gate * H * columns, .dtype = WCODEC_DTYPE_F32};
}

static void test_unit(void **unused)
{
    (void)unused;
    static struct tensor t[4];
    float x[STEPS * I], got[STEPS * H], want[STEPS * H];
    uint64_t seed = support_seed();
    struct support_sink sink;
    wcodec_error err;
    wcodec_gru *gru;
    wcodec_gru_options options;
    struct support_allocator allocator;
    support_allocator_init(&allocator, SUPPORT_NEVER);
    wcodec_context *context = support_context(1, &allocator.allocator);
    add(t, "encoder.weight_ih_l1", "BF16", (uint64_t)3 * H, I, &seed);
    add(t + 1, "weight_hh_l0", "F32", (uint64_t)3 * H, H, &seed);
    add(t + 2, "bias_ih_l0", "F16", (uint64_t)3 * H, 0, &seed);
    add(t + 3, "bias_hh_l0", "F64", (uint64_t)3 * H, 0, &seed);
    for (unsigned i = 0; i < STEPS * I; i++)
        x[i] = (float)(support_random(&seed) % 100) / 50 - 1;
    wcodec_reader *reader = open_file(context, t, 4, &sink);
    wcodec_gru_names names = {.weight_ih = "encoder.weight_ih_l1"};
    const wcodec_gru_input input = {.values = x, .steps = STEPS, .sequences = 1};
    wcodec_gru_output output = {.values = got};
    if (wcodec_gru_open(reader, NULL, &names, &gru, &err) != WCODEC_OK)
        fail_msg("%s", err.text);
    assert_int_equal(wcodec_gru_run(gru, &input, &output, &err), WCODEC_OK);
    wcodec_gru_options_init(&options);
    wcodec_gru_sizes(gru, &options);
    wcodec_gru_destroy(gru);
    assert_true(options.hidden == H && options.inputs == I &&
                options.form == WCODEC_GRU_RESET_AFTER);
    const wcodec_gru_arrays arrays = {.w_r = stacked(t, 0),
                                      .w_z = stacked(t, 1),
                                      .w_h = stacked(t, 2),
                                      .u_r = stacked(t + 1, 0),
                                      .u_z = stacked(t + 1, 1),
                                      .u_h = stacked(t + 1, 2),
                                      .b_r = stacked(t + 2, 0),
                                      .b_z = stacked(t + 2, 1),
                                      .b_h = stacked(t + 2, 2),
                                      .c_r = stacked(t + 3, 0),
                                      .c_z = stacked(t + 3, 1),
                                      .c_h = stacked(t + 3, 2)};
    assert_int_equal(wcodec_gru_create(context, &options, &arrays, &gru, &err), WCODEC_OK);
    output.values = want;
    assert_int_equal(wcodec_gru_run(gru, &input, &output, &err), WCODEC_OK);
    wcodec_gru_destroy(gru);
    assert_memory_equal(got, want, sizeof got);

    assert_int_equal(wcodec_gru_open(reader, NULL, NULL, &gru, &err), WCODEC_ERROR_NOT_FOUND);
    assert_non_null(strstr(err.text, "there is no tensor 'weight_ih_l0'"));
    names.weight_hh = "bias_hh_l0";
    assert_int_equal(wcodec_gru_open(reader, NULL, &names, &gru, &err), WCODEC_ERROR_MISMATCH);
    assert_non_null(
        strstr(err.text, "tensor 'bias_hh_l0' of F64 has the shape [120]: expected [120, 40]"));
    names.weight_ih = "bias_ih_l0";
    assert_int_equal(wcodec_gru_open(reader, NULL, &names, &gru, &err), WCODEC_ERROR_MISMATCH);
    assert_non_null(strstr(err.text, "expected [3 * hidden, inputs]"));
    names = (wcodec_gru_names){.weight_ih = "encoder.weight_ih_l1", .reserved = {&err}};
    assert_int_equal(wcodec_gru_open(reader, NULL, &names, &gru, &err), WCODEC_ERROR_USAGE);
    names.reserved[0] = NULL;
    const long calls = allocator.calls, balance = allocator.balance;
    assert_int_equal(wcodec_gru_open(reader, NULL, &names, &gru, &err), WCODEC_OK);
    wcodec_gru_destroy(gru);
    for (long i = allocator.calls - calls; i-- > 0;) {
        allocator.left = i;
        assert_int_equal(wcodec_gru_open(reader, NULL, &names, &gru, &err), WCODEC_ERROR_MEMORY);
        allocator.left = SUPPORT_NEVER;
        assert_int_equal(allocator.balance, balance);
    }
    options.form = WCODEC_GRU_RESET_BEFORE;
    assert_int_equal(wcodec_gru_open(reader, &options, &names, &gru, &err), WCODEC_ERROR_USAGE);
    assert_non_null(strstr(err.text, "c_z is given"));
    wcodec_reader_close(reader);
    support_sink_free(&sink);
    wcodec_context_destroy(context);
}

/* Bytes that are there now, and the most there were. */
struct counting {
    size_t now, most;
};

static void *count_alloc(void *opaque, size_t size)
{
    struct counting *c = opaque;
    size_t *memory = malloc(size + 16);
    if (memory == NULL)
        return NULL;
    *memory = size;
    c->now += size;
    c->most = c->now > c->most ? c->now : c->most;
    return (char *)memory + 16;
}

static void count_free(void *opaque, void *memory)
{
    if (memory == NULL)
        return;
    size_t *begin = (size_t *)(void *)((char *)memory - 16);
    ((struct counting *)opaque)->now -= *begin;
    free(begin);
}

static void *count_realloc(void *opaque, void *memory, size_t size)
{
    void *moved = count_alloc(opaque, size);
    if (moved != NULL && memory != NULL) {
        const size_t before = *(size_t *)(void *)((char *)memory - 16);
        memcpy(moved, memory, before < size ? before : size);
        count_free(opaque, memory);
    }
    return moved;
}

static void test_memory(void **unused)
{
    (void)unused;
    static const uint64_t sizes[][4] = {
        {1, 1, 1, 1}, {3, 40, 7, 6}, {5, 256, 32, 64}, {10, 64, 64, 3}, {64, 33, 2, 1}};
    float *zeros = calloc((size_t)256 * 256, sizeof *zeros), *loss = calloc((size_t)64 * 51, 4);
    assert_true(zeros != NULL && loss != NULL);
    for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct counting counts = {0, 0};
        const wcodec_allocator allocator = {.allocate = count_alloc,
                                            .reallocate = count_realloc,
                                            .release = count_free,
                                            .opaque = &counts};
        wcodec_context *context = support_context(1, &allocator);
        wcodec_rssm_options o;
        wcodec_rssm_memory_info memory;
        wcodec_rssm_summary summary;
        wcodec_gru_weights members[64];
        wcodec_rssm *rssm;
        wcodec_error err;
        wcodec_rssm_options_init(&o);
        o.ensemble = sizes[i][0];
        o.hidden = sizes[i][1];
        o.stochastic = sizes[i][2];
        o.inputs = sizes[i][3];
        for (unsigned e = 0; e < 64; e++)
            members[e] = (wcodec_gru_weights){
                .w_z = zeros, .w_r = zeros, .w_h = zeros, .u_z = zeros, .u_r = zeros, .u_h = zeros};
        size_t before = counts.now;
        assert_int_equal(wcodec_rssm_memory(&o, &memory, &err), WCODEC_OK);
        assert_int_equal(counts.now, before);
        assert_int_equal(wcodec_rssm_create(context, &o, members, zeros, NULL, &rssm, &err),
                         WCODEC_OK);
        assert_int_equal(counts.now - before, memory.ensemble);
        before = counts.now;
        counts.most = 0;
        const wcodec_rssm_input input = {.features = zeros, .loss = 1};
        const wcodec_rssm_output output = {.trajectories = loss};
        assert_int_equal(wcodec_rssm_rollout(rssm, &input, 50, &output, &summary, &err), WCODEC_OK);
        assert_int_equal(counts.most - before, memory.rollout);
        assert_int_equal(counts.now, before);
        wcodec_rssm_destroy(rssm);
        o.hidden = 5000;
        assert_int_equal(wcodec_rssm_memory(&o, &memory, &err), WCODEC_ERROR_USAGE);
        assert_string_equal(err.text, "hidden is 5000: expected 1 to 4096");
        wcodec_context_destroy(context);
        assert_int_equal(counts.now, 0);
    }
    free(zeros);
    free(loss);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ensemble), cmocka_unit_test(test_device),
        cmocka_unit_test(test_refused),  cmocka_unit_test(test_unit),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
