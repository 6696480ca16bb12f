/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Files from which ensembles and recurrent units are opened: tensors by the names that these have,
 * of any sizes, types and values, one of which may be missing or of another shape. u8 what (bit 0:
 * ensemble; 1: form or mode; 2: on a device where there is one; 3: products of bfloat16; 4 to 6:
 * sequences or starts, 1 to 8); u8 members, hidden, inputs, stochastic; u8 tensor that is spoilt,
 * u8 how; the rest are values, over and over. What opens has the sizes of the tensors and runs,
 * each sequence and start as it does without others; what does not says why. */
#include "fuzz/device.h"
#include "fuzz/fuzz.h"
#include <wcodec.h>
#include <wcodec/recurrent.h>

const char fuzz_target[] = "recurrent";
const bool fuzz_takes_files = false;

enum { MEMBERS_MAX = 3, SIZE_MAX_HIDDEN = 40, STEPS = 3, MANY_MAX = 8, OUTPUT = 1 << 20 };

struct subject {
    bool ensemble, other;
    wcodec_gru_products products;
    unsigned many; /* sequences or starts */
    unsigned members, hidden, inputs, stochastic;
    unsigned spoilt, how; /* number of the tensor; SHAPE and so on */
    const uint8_t *values;
    size_t length, at;
    wcodec_writer *writer;
    unsigned declared, written;
    uint64_t sizes[MEMBERS_MAX * 9 + 2];
};

enum { SHAPE, RANK, TYPE, NAME, MISSING, WAYS };

static struct {
    uint8_t data[OUTPUT];
    size_t size;
} file;

static int append(void *opaque, const void *data, size_t size)
{
    (void)opaque;
    FUZZ_REQUIRE(size <= sizeof file.data - file.size);
    memcpy(file.data + file.size, data, size);
    file.size += size;
    return 0;
}

/* columns: 0 for a vector. */
static void declare(struct subject *s, const char *name, unsigned rows, unsigned columns)
{
    static const wcodec_dtype dtypes[] = {WCODEC_DTYPE_F32,     WCODEC_DTYPE_BF16,
                                          WCODEC_DTYPE_F16,     WCODEC_DTYPE_F64,
                                          WCODEC_DTYPE_F8_E5M2, WCODEC_DTYPE_F8_E4M3};
    const unsigned number = s->declared;
    const bool bad = number == s->spoilt;
    wcodec_dtype dtype = dtypes[(s->hidden + number) % (sizeof dtypes / sizeof *dtypes)];
    uint64_t shape[2] = {rows, columns};
    unsigned rank = columns != 0 ? 2 : 1;
    if (bad && s->how == SHAPE)
        shape[0]++;
    if (bad && s->how == RANK)
        rank = 3 - rank, shape[1] = 1;
    if (bad && s->how == TYPE)
        dtype = WCODEC_DTYPE_I32;
    if (bad && s->how == NAME)
        name = "other";
    s->declared++;
    s->sizes[number] = 0;
    if (bad && s->how == MISSING)
        return;
    s->sizes[number] = shape[0] * (rank == 2 ? shape[1] : 1) * wcodec_dtype_bits(dtype) / 8;
    FUZZ_REQUIRE(wcodec_writer_declare(s->writer, name, dtype, shape, rank, NULL) == WCODEC_OK);
}

static void declare_ensemble(struct subject *s)
{
    static const char *const parts[] = {"W_z", "W_r", "W_h", "U_z", "U_r",
                                        "U_h", "b_z", "b_r", "b_h"};
    for (unsigned m = 0; m < s->members; m++)
        for (unsigned p = 0; p < 9; p++) {
            char name[32];
            snprintf(name, sizeof name, "members.%u.%s", m, parts[p]);
            declare(s, name, s->hidden, p < 3 ? s->inputs : p < 6 ? s->hidden : 0);
        }
    declare(s, "head", s->hidden + s->stochastic, 0);
    declare(s, "delta_head", WCODEC_RSSM_PARTS + 2, s->hidden + s->stochastic);
}

static void declare_unit(struct subject *s)
{
    declare(s, "weight_ih_l0", 3 * s->hidden, s->inputs);
    declare(s, "weight_hh_l0", 3 * s->hidden, s->hidden);
    declare(s, "bias_ih_l0", 3 * s->hidden, 0);
    declare(s, "bias_hh_l0", 3 * s->hidden, 0);
}

static void make_file(struct subject *s)
{
    file.size = 0;
    FUZZ_REQUIRE(wcodec_writer_create(fuzz_context(), append, NULL, NULL, &s->writer, NULL) ==
                 WCODEC_OK);
    if (s->ensemble)
        declare_ensemble(s);
    else
        declare_unit(s);
    for (unsigned i = 0; i < s->declared; i++) {
        if (i == s->spoilt && s->how == MISSING)
            continue;
        uint8_t *data = malloc((size_t)s->sizes[i] + 1);
        FUZZ_REQUIRE(data != NULL);
        for (size_t k = 0; k < s->sizes[i]; k++)
            data[k] = s->length != 0 ? s->values[s->at++ % s->length] : 0;
        FUZZ_REQUIRE(wcodec_writer_data(s->writer, data, (size_t)s->sizes[i], NULL) == WCODEC_OK);
        free(data);
    }
    FUZZ_REQUIRE(wcodec_writer_finish(s->writer, NULL, NULL) == WCODEC_OK);
    wcodec_writer_destroy(s->writer);
}

static void check_refused(wcodec_status status, const wcodec_error *err)
{
    FUZZ_REQUIRE(status == WCODEC_ERROR_USAGE || status == WCODEC_ERROR_NOT_FOUND ||
                 status == WCODEC_ERROR_MISMATCH || status == WCODEC_ERROR_LIMIT);
    FUZZ_REQUIRE(err->status == status && err->text[0] != 0);
}

/* Numbers between -1 and 1. */
static void make_numbers(const struct subject *s, float *numbers, size_t count)
{
    for (size_t i = 0; i < count; i++)
        numbers[i] =
            (float)(int8_t)(s->length != 0 ? s->values[i * 5 % s->length] ^ i : i * 7) / 128;
}

/* The last of several starts gives what it gives by itself. */
static void check_many(const struct subject *s, const wcodec_rssm *rssm)
{
    static float features[MANY_MAX * SIZE_MAX_HIDDEN], losses[MANY_MAX];
    static float all[MANY_MAX * MEMBERS_MAX * (STEPS + 1)], one[MEMBERS_MAX * (STEPS + 1)];
    const unsigned last = s->many - 1;
    wcodec_rssm_options sizes;
    wcodec_error err = {0};
    wcodec_rssm_options_init(&sizes);
    wcodec_rssm_sizes(rssm, &sizes);
    make_numbers(s, features, s->many * s->inputs);
    make_numbers(s, losses, s->many);
    const wcodec_rssm_starts starts = {
        .count = s->many, .features = features, .loss = losses, .seed = 5};
    const wcodec_rssm_starts alone = {.count = 1,
                                      .features = features + (size_t)last * s->inputs,
                                      .loss = losses + last,
                                      .seed = 5 + last};
    const wcodec_rssm_courses courses = {.trajectories = all}, course = {.trajectories = one};
    const size_t size = (size_t)sizes.ensemble * (STEPS + 1);
    FUZZ_REQUIRE(wcodec_rssm_rollout_many(rssm, &starts, STEPS, &courses, &err) == WCODEC_OK);
    FUZZ_REQUIRE(wcodec_rssm_rollout_many(rssm, &alone, STEPS, &course, &err) == WCODEC_OK);
    FUZZ_REQUIRE(memcmp(all + last * size, one, size * sizeof *one) == 0);
}

static void run_ensemble(const struct subject *s, const wcodec_reader *reader, const char *memory)
{
    wcodec_rssm_options options;
    wcodec_rssm *rssm = NULL;
    wcodec_error err = {0};
    float features[SIZE_MAX_HIDDEN] = {0.5F}, trajectories[MEMBERS_MAX * (STEPS + 1)];
    const wcodec_rssm_input input = {
        .features = features, .loss = 2, .gradient_norm = 1, .learning_rate = 1e-3F};
    const wcodec_rssm_output output = {.trajectories = trajectories};
    wcodec_rssm_options_init(&options);
    options.mode = s->other ? WCODEC_RSSM_SAMPLED : WCODEC_RSSM_PRODUCTION;
    options.memory = memory;
    options.products = s->products;
    const wcodec_status status = wcodec_rssm_open(reader, &options, NULL, &rssm, &err);
    FUZZ_REQUIRE((status == WCODEC_OK) == (rssm != NULL));
    if (rssm == NULL) {
        check_refused(status, &err);
        return;
    }
    fuzz_deep++;
    wcodec_rssm_sizes(rssm, &options);
    FUZZ_REQUIRE(options.hidden == s->hidden && options.inputs == s->inputs &&
                 options.ensemble <= s->members && options.ensemble != 0);
    FUZZ_REQUIRE(wcodec_rssm_rollout(rssm, &input, STEPS, &output, NULL, NULL) == WCODEC_OK);
    check_many(s, rssm);
    wcodec_rssm_destroy(rssm);
}

/* Floats where the unit has them: memory of the fake device is the host's. */
static float *floats_of(size_t count, const char *memory, wcodec_buffer **buffer)
{
    const uint64_t size = count * sizeof(float);
    *buffer = NULL;
    if (memory == NULL)
        return (float *)(void *)fuzz_guarded((size_t)size);
    FUZZ_REQUIRE(wcodec_buffer_create(fuzz_device_context(), size, buffer, NULL) == WCODEC_OK);
    return (float *)(uintptr_t)wcodec_buffer_native(*buffer);
}

static void release_floats(float *floats, size_t count, wcodec_buffer *buffer)
{
    if (buffer != NULL)
        wcodec_buffer_destroy(buffer);
    else
        fuzz_guarded_free((uint8_t *)floats, count * sizeof *floats);
}

/* The last of several sequences gives what it gives by itself. */
static void check_sequences(const struct subject *s, const wcodec_gru *gru, const char *memory)
{
    const size_t last = s->many - 1, wide = (size_t)s->many * s->hidden,
                 taken = (size_t)STEPS * s->many * s->inputs, made = STEPS * wide;
    wcodec_buffer *buffers[3];
    float *values = floats_of(taken, memory, &buffers[0]),
          *all = floats_of(made, memory, &buffers[1]), *one = floats_of(made, memory, &buffers[2]);
    wcodec_gru_input input = {.values = values,
                              .steps = STEPS,
                              .sequences = s->many,
                              .step_stride = (uint64_t)s->many * s->inputs,
                              .queue = memory != NULL};
    wcodec_gru_output output = {.values = all, .step_stride = wide};
    make_numbers(s, values, taken);
    memset(all, 0, made * sizeof *all);
    memset(one, 0, made * sizeof *one);
    FUZZ_REQUIRE(wcodec_gru_run(gru, &input, &output, NULL) == WCODEC_OK);
    input.values = values + last * s->inputs;
    input.sequences = 1;
    output.values = one + last * s->hidden;
    FUZZ_REQUIRE(wcodec_gru_run(gru, &input, &output, NULL) == WCODEC_OK);
    for (size_t i = 0; i < STEPS; i++)
        FUZZ_REQUIRE(memcmp(all + i * wide + last * s->hidden, one + i * wide + last * s->hidden,
                            s->hidden * sizeof *one) == 0);
    release_floats(values, taken, buffers[0]);
    release_floats(all, made, buffers[1]);
    release_floats(one, made, buffers[2]);
}

static void run_unit(const struct subject *s, const wcodec_reader *reader, const char *memory)
{
    wcodec_gru_options options;
    wcodec_gru *gru = NULL;
    wcodec_error err = {0};
    wcodec_gru_options_init(&options);
    options.memory = memory;
    options.products = s->products;
    options.form = s->other ? WCODEC_GRU_RESET_BEFORE : WCODEC_GRU_RESET_AFTER;
    const wcodec_status status = wcodec_gru_open(reader, &options, NULL, &gru, &err);
    FUZZ_REQUIRE((status == WCODEC_OK) == (gru != NULL));
    if (gru == NULL) {
        check_refused(status, &err);
        return;
    }
    fuzz_deep++;
    wcodec_gru_sizes(gru, &options);
    FUZZ_REQUIRE(options.hidden == s->hidden && options.inputs == s->inputs);
    check_sequences(s, gru, memory);
    wcodec_gru_destroy(gru);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct wcodec_cursor c = {data, data + size};
    const uint8_t what = fuzz_take(&c);
    struct subject s = {.ensemble = what & 1,
                        .other = what >> 1 & 1,
                        .products = what & 8 ? WCODEC_GRU_PRODUCTS_BF16 : WCODEC_GRU_PRODUCTS_F32,
                        .many = 1 + (what >> 4) % MANY_MAX};
    wcodec_context *context = what & 4 ? fuzz_device_context() : NULL;
    const char *memory = context != NULL ? "fake" : NULL;
    wcodec_reader *reader;
    s.members = 1 + fuzz_take(&c) % MEMBERS_MAX;
    s.hidden = 1 + fuzz_take(&c) % SIZE_MAX_HIDDEN;
    s.inputs = 1 + fuzz_take(&c) % SIZE_MAX_HIDDEN;
    s.stochastic = 1 + fuzz_take(&c) % s.hidden;
    s.spoilt = fuzz_take(&c);
    s.how = fuzz_take(&c) % WAYS;
    s.values = c.at;
    s.length = wcodec_cursor_left(&c);
    make_file(&s);
    FUZZ_REQUIRE(wcodec_reader_open_memory(context != NULL ? context : fuzz_context(), file.data,
                                           file.size, &reader, NULL) == WCODEC_OK);
    if (s.ensemble)
        run_ensemble(&s, reader, memory);
    else
        run_unit(&s, reader, memory);
    wcodec_reader_close(reader);
    return 0;
}
