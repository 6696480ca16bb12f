/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Gated recurrent units in the memory of devices: what the CPU says, of all sizes, layouts and
 * directions; the same again, and alone; a device without them, without room, without memory, and
 * one that is lost. */
#include "support_memory.h"
#include "support_caller.h"
#include "support_gru.h"
#include "support_load.h"
#include "support_plugins.h"
#include "backends/emulate/fibers.h"
#include "registry/registry.h"

#include <math.h>
#include <string.h>

enum { PARTS = 12 };

/* Weights at random, of a unit that does not run away. */
struct unit {
    wcodec_gru_options o;
    float *memory;
    wcodec_gru_arrays arrays;
};

static float *numbers(uint64_t *seed, size_t count, double scale)
{
    float *p = malloc((count + 1) * sizeof *p);
    assert_non_null(p);
    for (size_t i = 0; i < count; i++)
        p[i] = (float)(((double)(support_random(seed) % 2001) / 1000 - 1) * scale);
    return p;
}

static void make(struct unit *u, uint64_t *seed, wcodec_gru_form form, size_t h, size_t in)
{
    const size_t arrays = form == WCODEC_GRU_RESET_BEFORE ? 9 : PARTS;
    memset(u, 0, sizeof *u);
    wcodec_gru_options_init(&u->o);
    u->o.hidden = h;
    u->o.inputs = in;
    u->o.form = form;
    u->memory = numbers(seed, 3 * h * (in + h + 2), 1 / sqrt((double)(h + in)));
    float *at = u->memory;
    for (unsigned i = 0; i < arrays; i++) {
        (&u->arrays.w_z)[i] = (wcodec_gru_array){.data = at, .dtype = WCODEC_DTYPE_F32};
        at += h * (i < 3 ? in : i < 6 ? h : 1);
    }
    if (h % 3 == 0)
        u->arrays.b_r.data = NULL;
}

static wcodec_gru *create(wcodec_context *context, const struct unit *u, const char *memory)
{
    wcodec_gru_options o = u->o;
    wcodec_gru *gru;
    wcodec_error err;
    o.memory = memory;
    if (wcodec_gru_create(context, &o, &u->arrays, &gru, &err) != WCODEC_OK)
        fail_msg("%s", err.text);
    return gru;
}

/* A device, and a caller's queue and memory of it. */
struct device {
    const char *name;
    wcodec_context *context;
    struct wcodec_opened *opened;
    struct support_caller caller;
};

/* False: there is none. */
static bool begin(struct device *d, const char *name, const wcodec_allocator *allocator)
{
    wcodec_options options;
    wcodec_error err;
    wcodec_options_init(&options);
    options.backend = name;
    options.threads = 2;
    options.allocator = *allocator;
    *d = (struct device){.name = name};
    if (wcodec_context_create(&options, &d->context, &err) != WCODEC_OK) {
        print_message("%s: not tried: %s\n", name, err.text);
        return false;
    }
    if (wcodec_backends_device(d->context, &d->opened, &err) != WCODEC_OK)
        fail_msg("%s", err.text);
    support_caller_begin(d->opened->backend, d->opened->device, &d->caller);
    return true;
}

static void end(struct device *d)
{
    support_caller_end(d->opened->backend, &d->caller);
    wcodec_context_destroy(d->context);
}

static struct wcodec_memory *put(const struct device *d, const float *data, size_t count)
{
    const struct wcodec_backend *b = d->opened->backend;
    const uint64_t size = (count + 1) * sizeof *data;
    struct wcodec_memory *memory;
    wcodec_error err;
    if (b->memory_allocate(d->opened->device, WCODEC_MEMORY_DEVICE, size, &memory, &err) !=
            WCODEC_OK ||
        b->copy_in(d->caller.queue, memory, 0, data, size, &err) != WCODEC_OK ||
        b->queue_wait(d->caller.queue, &err) != WCODEC_OK)
        fail_msg("%s", err.text);
    return memory;
}

static void get(const struct device *d, struct wcodec_memory *memory, float *data, size_t count)
{
    const struct wcodec_backend *b = d->opened->backend;
    wcodec_error err;
    if (b->copy_out(d->caller.queue, data, memory, 0, (count + 1) * sizeof *data, &err) !=
            WCODEC_OK ||
        b->queue_wait(d->caller.queue, &err) != WCODEC_OK)
        fail_msg("%s", err.text);
}

static float *native(const struct device *d, struct wcodec_memory *memory)
{
    return (float *)(uintptr_t)d->opened->backend->memory_native(memory);
}

/* What goes through a unit, with gaps between steps and sequences; hidden values end where they
 * began. */
struct course {
    size_t steps, sequences, in_step, in_sequence, out_step, out_sequence, inputs, outputs, hiddens;
    float *x, *hidden, *out;
    bool reverse, given;
};

static size_t up(size_t v, size_t unit)
{
    return (v + unit - 1) / unit * unit;
}

/* Strides are multiples of `unit`. */
static void make_course(struct course *c, uint64_t *seed, const struct unit *u, size_t unit,
                        size_t steps, size_t sequences, bool reverse)
{
    const size_t h = (size_t)u->o.hidden, in = (size_t)u->o.inputs;
    *c = (struct course){.steps = steps,
                         .sequences = sequences,
                         .in_step = up(sequences * up(in + 1, unit) + 2, unit),
                         .in_sequence = up(in + 1, unit),
                         .out_step = up(h + 1, unit),
                         .out_sequence = up(steps * up(h + 1, unit) + 3, unit),
                         .hiddens = sequences * h,
                         .reverse = reverse,
                         .given = !reverse};
    c->inputs = steps * c->in_step;
    c->outputs = sequences * c->out_sequence;
    c->x = numbers(seed, c->inputs, 2);
    c->hidden = numbers(seed, c->hiddens, 1);
    c->out = calloc(c->outputs + 1, sizeof *c->out);
    assert_non_null(c->out);
}

static void drop_course(struct course *c)
{
    free(c->x);
    free(c->hidden);
    free(c->out);
}

static wcodec_gru_input input_of(const struct course *c, const float *x, const float *hidden)
{
    return (wcodec_gru_input){.values = x,
                              .steps = c->steps,
                              .sequences = c->sequences,
                              .step_stride = c->in_step,
                              .sequence_stride = c->in_sequence,
                              .hidden = c->given ? hidden : NULL,
                              .reverse = c->reverse};
}

static wcodec_gru_output output_of(const struct course *c, float *out, float *last)
{
    return (wcodec_gru_output){.values = out,
                               .step_stride = c->out_step,
                               .sequence_stride = c->out_sequence,
                               .hidden = last};
}

/* To out and last, which has the hidden values that it begins with. */
static void run_on(const struct device *d, const wcodec_gru *gru, const struct course *c,
                   float *out, float *last)
{
    const struct wcodec_backend *b = d->opened->backend;
    struct wcodec_memory *xs = put(d, c->x, c->inputs), *hs = put(d, last, c->hiddens),
                         *os = put(d, out, c->outputs);
    wcodec_gru_input input = input_of(c, native(d, xs), native(d, hs));
    const wcodec_gru_output output = output_of(c, native(d, os), native(d, hs));
    wcodec_error err;
    input.queue = d->caller.native;
    if (wcodec_gru_run(gru, &input, &output, &err) != WCODEC_OK)
        fail_msg("%s", err.text);
    get(d, os, out, c->outputs);
    get(d, hs, last, c->hiddens);
    b->memory_free(xs);
    b->memory_free(hs);
    b->memory_free(os);
}

static void expect_near(const char *what, const float *got, const float *want, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!(fabs((double)got[i] - (double)want[i]) <= 1e-5) && !(isnan(got[i]) && isnan(want[i])))
            fail_msg("%s %zu is %.9g, and not %.9g", what, i, (double)got[i], (double)want[i]);
}

static float *copy(const float *from, size_t count)
{
    float *to = malloc((count + 1) * sizeof *to);
    assert_non_null(to);
    memcpy(to, from, count * sizeof *to);
    to[count] = 0;
    return to;
}

/* The last sequence by itself: the same bits. */
static void expect_alone(const struct device *d, const wcodec_gru *gru, const struct course *c,
                         size_t h, const float *out, const float *last)
{
    const size_t s = c->sequences - 1;
    struct course one = *c;
    one.sequences = 1;
    one.hiddens = h;
    one.outputs = c->out_sequence;
    one.x = c->x + (c->steps > 0 ? s * c->in_sequence : 0);
    one.inputs = c->inputs - (c->steps > 0 ? s * c->in_sequence : 0);
    float *o = copy(c->out, one.outputs), *l = copy(c->hidden + s * h, h);
    run_on(d, gru, &one, o, l);
    assert_memory_equal(l, last + s * h, h * sizeof *l);
    if (c->steps > 0)
        assert_memory_equal(o, out + s * c->out_sequence, c->steps * c->out_step * sizeof *o);
    free(o);
    free(l);
}

static void compare(const struct device *d, const wcodec_gru *cpu, const wcodec_gru *gru,
                    const struct course *c, size_t h)
{
    float *out = copy(c->out, c->outputs), *last = copy(c->hidden, c->hiddens),
          *wanted = copy(c->out, c->outputs), *wanted_last = copy(c->hidden, c->hiddens),
          *again = copy(c->out, c->outputs), *again_last = copy(c->hidden, c->hiddens);
    const wcodec_gru_input input = input_of(c, c->x, wanted_last);
    const wcodec_gru_output output = output_of(c, wanted, wanted_last);
    assert_int_equal(wcodec_gru_run(cpu, &input, &output, NULL), WCODEC_OK);
    run_on(d, gru, c, out, last);
    expect_near("value", out, wanted, c->outputs);
    expect_near("hidden value", last, wanted_last, c->hiddens);
    run_on(d, gru, c, again, again_last);
    assert_memory_equal(again, out, c->outputs * sizeof *out);
    assert_memory_equal(again_last, last, c->hiddens * sizeof *last);
    expect_alone(d, gru, c, h, out, last);
    free(out);
    free(last);
    free(wanted);
    free(wanted_last);
    free(again);
    free(again_last);
}

static void try_shape(const struct device *d, uint64_t *seed, size_t h, size_t in,
                      const size_t runs[][2], unsigned count)
{
    for (unsigned form = 0; form < 2; form++) {
        struct unit u;
        wcodec_gru_options sizes;
        make(&u, seed, (wcodec_gru_form)form, h, in);
        wcodec_gru *cpu = create(d->context, &u, NULL), *gru = create(d->context, &u, d->name);
        wcodec_gru_options_init(&sizes);
        wcodec_gru_sizes(gru, &sizes);
        assert_string_equal(sizes.memory, d->name);
        assert_int_equal(sizes.hidden, h);
        wcodec_gru_sizes(cpu, &sizes);
        assert_null(sizes.memory);
        for (unsigned k = 0; k < 2 * count; k++) {
            struct course c;
            make_course(&c, seed, &u, 1, runs[k / 2][0], runs[k / 2][1], k % 2 == 1);
            /* What is no number stays in its sequence. */
            if (k == 2 && c.inputs > 0)
                c.x[0] = NAN;
            compare(d, cpu, gru, &c, h);
            drop_course(&c);
        }
        wcodec_gru_destroy(gru);
        wcodec_gru_destroy(cpu);
        free(u.memory);
    }
}

/* Of many sequences the first, those in the middle and the last are compared, which takes long. */
static void expect_bound(const struct unit *u, const struct course *c, float *out, float *last)
{
    enum { WINDOW = 40, WINDOWS = 3 };
    const size_t h = (size_t)u->o.hidden, windows = c->sequences > WINDOW * WINDOWS ? WINDOWS : 1;
    for (size_t i = 0; i < windows; i++) {
        const size_t first = windows == 1 ? 0 : (c->sequences - WINDOW) * i / (WINDOWS - 1);
        struct course some = *c;
        some.sequences = windows == 1 ? c->sequences : WINDOW;
        const wcodec_gru_input input =
            input_of(&some, c->x + first * c->in_sequence, c->hidden + first * h);
        const wcodec_gru_output output =
            output_of(&some, out + first * c->out_sequence, last + first * h);
        support_gru_expect(&u->o, &u->arrays, 0, &input, &output);
    }
}

/* Products of bfloat16 are within their bound, or where there are none all is as without. */
static void compare_rounded(const struct device *d, const wcodec_gru *cpu, const struct unit *u,
                            const wcodec_gru *gru, const struct course *c)
{
    const size_t h = (size_t)u->o.hidden;
    wcodec_gru_options sizes;
    wcodec_gru_options_init(&sizes);
    wcodec_gru_sizes(gru, &sizes);
    if (sizes.products == WCODEC_GRU_PRODUCTS_F32) {
        assert_string_not_equal(d->name, "fake"); /* which has room for all that is tried */
        compare(d, cpu, gru, c, h);
        return;
    }
    float *out = copy(c->out, c->outputs), *last = copy(c->hidden, c->hiddens),
          *again = copy(c->out, c->outputs), *again_last = copy(c->hidden, c->hiddens);
    run_on(d, gru, c, out, last);
    expect_bound(u, c, out, last);
    run_on(d, gru, c, again, again_last);
    assert_memory_equal(again, out, c->outputs * sizeof *out);
    assert_memory_equal(again_last, last, c->hiddens * sizeof *last);
    expect_alone(d, gru, c, h, out, last);
    free(out);
    free(last);
    free(again);
    free(again_last);
}

/* Both forms, one of them backwards. */
static void try_rounded(const struct device *d, uint64_t *seed, size_t h, size_t in,
                        const size_t runs[][2], unsigned count)
{
    for (unsigned k = 0; k < 2 * count; k++) {
        struct unit u;
        struct course c;
        make(&u, seed, (wcodec_gru_form)(k % 2), h, in);
        u.o.products = WCODEC_GRU_PRODUCTS_BF16;
        wcodec_gru *cpu = create(d->context, &u, NULL), *gru = create(d->context, &u, d->name);
        make_course(&c, seed, &u, k < 2 ? 1 : 4, runs[k / 2][0], runs[k / 2][1],
                    (k + k / 2) % 2 == 1);
        if (c.inputs > 0 && k == 0)
            c.x[in - 1] = NAN;
        if (c.inputs > 0 && k == 1)
            c.x[0] = -INFINITY;
        compare_rounded(d, cpu, &u, gru, &c);
        drop_course(&c);
        wcodec_gru_destroy(gru);
        wcodec_gru_destroy(cpu);
        free(u.memory);
    }
}

/* A large hidden value that z lets go leaves nothing behind: h' = tanh(1/2) of 1e7. */
static void try_large(const struct device *d, uint64_t *seed)
{
    struct unit u;
    struct course c;
    make(&u, seed, WCODEC_GRU_RESET_BEFORE, 1, 1);
    memset(u.memory, 0, 12 * sizeof *u.memory);
    u.o.products = WCODEC_GRU_PRODUCTS_BF16;
    *(float *)(uintptr_t)u.arrays.u_z.data = 1;
    *(float *)(uintptr_t)u.arrays.b_h.data = 0.5f;
    wcodec_gru *gru = create(d->context, &u, d->name);
    make_course(&c, seed, &u, 1, 1, 1, false);
    c.hidden[0] = 1e7f;
    float *out = copy(c.out, c.outputs), *last = copy(c.hidden, c.hiddens);
    run_on(d, gru, &c, out, last);
    assert_float_equal(out[0], 0.46211716f, 1e-6);
    free(out);
    free(last);
    drop_course(&c);
    wcodec_gru_destroy(gru);
    free(u.memory);
}

/* From a file it is what it is from memory; PyTorch stacks r, z and h. */
static void try_file(const struct device *d, uint64_t *seed)
{
    enum { H = 6, IN = 5, WIDTH = IN + H };
    static const char header[] =
        "{\"weight_ih_l0\":{\"dtype\":\"F32\",\"shape\":[18,5],\"data_offsets\":[0,360]},"
        "\"weight_hh_l0\":{\"dtype\":\"F32\",\"shape\":[18,6],\"data_offsets\":[360,792]}}    ";
    const size_t length = sizeof header - 1, size = 3 * H * WIDTH * sizeof(float);
    uint8_t file[1200] = {(uint8_t)length};
    float *weights = numbers(seed, 3 * H * WIDTH, 0.3);
    struct support_sink sink;
    wcodec_error err;
    wcodec_gru *gru;
    struct unit u = {.memory = weights};
    struct course c;
    assert_true(length < 256 && 8 + length + size <= sizeof file);
    memcpy(file + 8, header, length);
    memcpy(file + 8 + length, weights, size);
    support_sink_init(&sink);
    if (wcodec_compress_memory(d->context, file, 8 + length + size, support_sink_write, &sink, NULL,
                               NULL, &err) != WCODEC_OK)
        fail_msg("%s", err.text);
    wcodec_reader *reader = support_open_sink(d->context, &sink);
    wcodec_gru_options_init(&u.o);
    u.o.memory = d->name;
    if (wcodec_gru_open(reader, &u.o, NULL, &gru, &err) != WCODEC_OK)
        fail_msg("%s", err.text);
    wcodec_gru_sizes(gru, &u.o);
    assert_string_equal(u.o.memory, d->name);
    assert_true(u.o.hidden == H && u.o.inputs == IN);
    static const unsigned order[] = {1, 0, 2};
    for (unsigned i = 0; i < 6; i++)
        (&u.arrays.w_z)[i] = (wcodec_gru_array){
            .data = weights + (i < 3 ? order[i] * H * IN : 3 * H * IN + order[i - 3] * H * H),
            .dtype = WCODEC_DTYPE_F32};
    wcodec_gru *cpu = create(d->context, &u, NULL);
    make_course(&c, seed, &u, 1, 4, 2, false);
    compare(d, cpu, gru, &c, H);
    drop_course(&c);
    wcodec_gru_destroy(cpu);
    wcodec_gru_destroy(gru);
    wcodec_reader_close(reader);
    support_sink_free(&sink);
    free(weights);
}

/* What is no queue, or a buffer that is too small, is told. */
static void try_opencl(const struct device *d, uint64_t *seed)
{
    struct unit u;
    wcodec_error err;
    make(&u, seed, WCODEC_GRU_RESET_AFTER, 20, 4);
    wcodec_gru *gru = create(d->context, &u, d->name);
    struct wcodec_memory *x = put(d, u.memory, 3), *out = put(d, u.memory, 18);
    wcodec_gru_input input = {.values = native(d, x), .steps = 1, .sequences = 1};
    const wcodec_gru_output output = {.values = native(d, out)};
    assert_int_equal(wcodec_gru_run(gru, &input, &output, &err), WCODEC_ERROR_USAGE);
    assert_non_null(strstr(err.text, "the queue is no cl_command_queue"));
    input.queue = d->caller.native;
    assert_int_equal(wcodec_gru_run(gru, &input, &output, &err), WCODEC_ERROR_USAGE);
    assert_non_null(strstr(err.text, "the output's values is a buffer of 76 bytes: 80 are needed"));
    input.steps = 2;
    assert_int_equal(wcodec_gru_run(gru, &input, &output, &err), WCODEC_ERROR_USAGE);
    assert_non_null(strstr(err.text, "values is a buffer of 16 bytes: 32 are needed"));
    wcodec_gru_destroy(gru);
    d->opened->backend->memory_free(x);
    d->opened->backend->memory_free(out);
    free(u.memory);
}

static void test_devices(void **state)
{
    static const char *const names[] = {"fake", "opencl", "cuda"};
    static const size_t small[][2] = {{1, 1}, {7, 1}, {64, 16}, {33, 300}, {100, 5}, {256, 64}},
                        large[][2] = {{64, 64},   {128, 64},   {200, 4096}, {256, 1024}, {512, 64},
                                      {1000, 64}, {1024, 256}, {2048, 64},  {4096, 8}};
    static const size_t runs[][2] = {{1, 1}, {3, 5}, {0, 2}}, more[][2] = {{50, 1}, {9, 300}};
    static const size_t odd[][2] = {{20, 70}, {132, 5}, {20, 8}, {200, 60}},
                        wide[][2] = {{256, 60}, {64, 64},   {128, 64},
                                     {250, 64}, {512, 256}, {1024, 64}},
                        some[][2] = {{2, 5}, {1, 20}}, step[][2] = {{1, 2}, {1, 1}},
                        many[][2] = {{2, 3}, {2, 34}, {0, 20}}, most[][2] = {{2, 1300}},
                        few[][2] = {{2, 40}};
    uint64_t seed = support_seed();
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct support_allocator allocator;
        struct device d;
        setenv("WCODEC_FAKE", "", 1);
        if (i > 0 ? !support_load_plugin(names[i]) : !wcodec_fibers_supported())
            continue;
        support_allocator_init(&allocator, SUPPORT_NEVER);
        if (!begin(&d, names[i], &allocator.allocator)) {
            assert_true(i > 0);
            continue;
        }
        for (size_t k = 0; k < sizeof small / sizeof small[0]; k++)
            try_shape(&d, &seed, small[k][0], small[k][1], runs, 3);
        for (size_t k = 0; k < sizeof large / sizeof large[0] && i == 2; k++)
            try_shape(&d, &seed, large[k][0], large[k][1], k < 6 ? more : runs, 2);
        try_rounded(&d, &seed, 7, 3, many, 3);
        for (size_t k = 0; k < sizeof odd / sizeof odd[0]; k++)
            try_rounded(&d, &seed, odd[k][0], odd[k][1], k == 0 ? some : step, k % 3 == 0 ? 2 : 1);
        for (size_t k = 0; k < sizeof wide / sizeof wide[0] && i == 2; k++)
            try_rounded(&d, &seed, wide[k][0], wide[k][1], k == 0 ? most : few, 1);
        try_large(&d, &seed);
        try_file(&d, &seed);
        if (i == 1)
            try_opencl(&d, &seed);
        print_message("%s: went through\n", names[i]);
        end(&d);
        assert_int_equal(allocator.balance, 0);
    }
    support_load_plugin(NULL);
}

static void refused(wcodec_context *context, const struct unit *u, const char *memory,
                    wcodec_status expected, const char *text)
{
    wcodec_gru_options o = u->o;
    wcodec_gru *gru = NULL;
    wcodec_error err = {0};
    o.memory = memory;
    assert_int_equal(wcodec_gru_create(context, &o, &u->arrays, &gru, &err), expected);
    assert_null(gru);
    if (strstr(err.text, text) == NULL)
        fail_msg("\"%s\" has no \"%s\"", err.text, text);
}

/* Memory of another device, weights that are no numbers, sizes that have no room, a backend without
 * units. */
static void test_refused(void **state)
{
    uint64_t seed = support_seed();
    struct support_allocator allocator;
    struct unit u, wide;
    struct device d;
    (void)state;
    if (!wcodec_fibers_supported())
        skip();
    make(&u, &seed, WCODEC_GRU_RESET_AFTER, 20, 4);
    make(&wide, &seed, WCODEC_GRU_RESET_AFTER, 1, 65536);
    support_load_plugin(NULL);
    wcodec_context *context = support_context(1, NULL);
    refused(context, &u, "fake", WCODEC_ERROR_BACKEND, "memory of fake was asked for");
    refused(context, &u, "cpu", WCODEC_ERROR_UNSUPPORTED, "the CPU does them");
    wcodec_context_destroy(context);
    support_allocator_init(&allocator, SUPPORT_NEVER);
    setenv("WCODEC_FAKE", "", 1);
    assert_true(begin(&d, "fake", &allocator.allocator));
    refused(d.context, &wide, "fake", WCODEC_ERROR_UNSUPPORTED,
            "no room in a work-group's memory for a unit of 65536 inputs and 1 hidden values");
    u.o.products = (wcodec_gru_products)7;
    refused(d.context, &u, "fake", WCODEC_ERROR_USAGE, "there are no products 7");
    u.o.products = WCODEC_GRU_PRODUCTS_BF16;
    u.memory[5] = NAN;
    refused(d.context, &u, "fake", WCODEC_ERROR_USAGE, "W_z[1, 1] is NaN");
    end(&d);
    assert_int_equal(allocator.balance, 0);
    free(u.memory);
    free(wide.memory);
}

/* Addresses that are missing or not aligned; a compiler that takes no kernel. */
static void test_runs_refused(void **state)
{
    static float x[8], out[41];
    uint64_t seed = support_seed();
    struct support_allocator allocator;
    struct unit u;
    struct device d;
    wcodec_error err = {0};
    (void)state;
    if (!wcodec_fibers_supported())
        skip();
    make(&u, &seed, WCODEC_GRU_RESET_AFTER, 20, 4);
    support_load_plugin(NULL);
    support_allocator_init(&allocator, SUPPORT_NEVER);
    setenv("WCODEC_FAKE", "", 1);
    assert_true(begin(&d, "fake", &allocator.allocator));
    wcodec_gru *gru = create(d.context, &u, "fake");
    wcodec_gru_input input = {.values = NULL, .steps = 1, .sequences = 1};
    wcodec_gru_output output = {.values = out};
    assert_int_equal(wcodec_gru_run(gru, &input, &output, &err), WCODEC_ERROR_USAGE);
    assert_non_null(strstr(err.text, "values is missing"));
    input.values = x;
    output.hidden = (float *)(void *)((char *)out + 2);
    assert_int_equal(wcodec_gru_run(gru, &input, &output, &err), WCODEC_ERROR_USAGE);
    assert_non_null(strstr(err.text, "the output's hidden is not aligned"));
    output.hidden = NULL;
    assert_int_equal(wcodec_gru_run(gru, &input, &output, &err), WCODEC_OK);
    wcodec_gru_destroy(gru);
    end(&d);
    setenv("WCODEC_FAKE", "late-nocoders", 1);
    assert_true(begin(&d, "fake", &allocator.allocator));
    gru = create(d.context, &u, "fake");
    assert_int_equal(wcodec_gru_run(gru, &input, &output, &err), WCODEC_ERROR_UNSUPPORTED);
    wcodec_gru_destroy(gru);
    end(&d);
    assert_int_equal(allocator.balance, 0);
    setenv("WCODEC_FAKE", "", 1);
    free(u.memory);
}

/* Made, and run for a step by a device that may fail; its memory is host memory. */
static wcodec_status try_once(wcodec_context *context, const struct unit *u, float *out,
                              wcodec_error *err)
{
    static const float x[16];
    wcodec_gru_options o = u->o;
    wcodec_gru *gru = NULL;
    o.memory = "fake";
    wcodec_status status = wcodec_gru_create(context, &o, &u->arrays, &gru, err);
    if (status == WCODEC_OK) {
        const wcodec_gru_input input = {.values = x, .steps = 1, .sequences = 1};
        const wcodec_gru_output output = {.values = out};
        status = wcodec_gru_run(gru, &input, &output, err);
        /* Once lost it stays so. */
        if (status == WCODEC_ERROR_DEVICE)
            assert_int_equal(wcodec_gru_run(gru, &input, &output, err), WCODEC_ERROR_DEVICE);
    }
    wcodec_gru_destroy(gru);
    return status;
}

/* A device that is lost at each call in turn, and each allocation fails once. */
static void test_failures(void **state)
{
    uint64_t seed = support_seed();
    struct unit u;
    float out[20];
    (void)state;
    if (!wcodec_fibers_supported())
        skip();
    make(&u, &seed, WCODEC_GRU_RESET_BEFORE, 20, 4);
    support_load_plugin(NULL);
    for (unsigned lost = 0; lost < 2; lost++) {
        long at = 1;
        for (wcodec_status status = WCODEC_ERROR_DEVICE; status != WCODEC_OK; at++) {
            struct support_allocator allocator;
            wcodec_options options;
            wcodec_context *context = NULL;
            wcodec_error err = {0};
            char mode[32] = "";
            if (lost)
                snprintf(mode, sizeof mode, "lost-%ld", at);
            setenv("WCODEC_FAKE", mode, 1);
            support_allocator_init(&allocator, lost ? SUPPORT_NEVER : at - 1);
            wcodec_options_init(&options);
            options.backend = "fake";
            options.threads = 1;
            options.allocator = allocator.allocator;
            status = wcodec_context_create(&options, &context, &err);
            if (status == WCODEC_OK)
                status = try_once(context, &u, out, &err);
            if (status != WCODEC_OK && status != WCODEC_ERROR_BACKEND &&
                status != (lost ? WCODEC_ERROR_DEVICE : WCODEC_ERROR_MEMORY))
                fail_msg("%ld: %s", at, err.text);
            if (context != NULL)
                wcodec_context_destroy(context);
            assert_int_equal(allocator.balance, 0);
        }
        print_message("%ld %s\n", at - 2, lost ? "calls" : "allocations");
        assert_true(at > 8);
    }
    setenv("WCODEC_FAKE", "", 1);
    free(u.memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_devices), cmocka_unit_test(test_refused),
        cmocka_unit_test(test_runs_refused), cmocka_unit_test(test_failures)};
    return cmocka_run_group_tests(tests, support_find_plugins, NULL);
}
