/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* wcodec bench --recurrent: rollouts by ensembles that are opened from coded weights, units over
 * sequences, features of training states. Weights are Gaussian numbers of bf16. */
#include "utils/bench.h"
#include "utils/json.h"
#include "utils/signals.h"
#include "utils/table.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MEMBERS = 5,
    STEPS = 50,
    INPUTS = 64,
    STOCHASTIC = 32,
    UNIT_HIDDEN = 256,
    SEQUENCES = 4096,
    STATES = 10000,
    HISTORY = 300, /* steps: all of a state's histories are full */
    NAME_BYTES = 32,
    CALLS = 100, /* of what takes less than a clock can tell */
};

struct recurrent_bench {
    struct app *app;
    struct table table;
    struct json_list list;
};

/* What is measured; of these what the work needs. */
struct recurrent_work {
    struct app *app;
    wcodec_context *context;
    const char *memory; /* as in wcodec_rssm_options */
    struct bench_bytes file;
    const wcodec_reader *reader;
    wcodec_rssm *rssm;
    wcodec_gru *gru;
    wcodec_gru_input sequences;
    wcodec_training_state **states;
    size_t count;
    float *values;
};

static bool fail(const struct recurrent_work *w, const wcodec_error *err)
{
    return app_fail_status(w->app, NULL, err);
}

static json_t *recurrent_json(const struct recurrent_result *r)
{
    return json_pack("{s:s, s:s, s:i, s:o, s:o, s:o, s:o, s:o, s:i, s:o, s:o, s:o, s:o}",
                     "operation", r->operation, "backend", r->backend, "threads", (int)r->threads,
                     "ensemble", r->ensemble ? json_size(r->ensemble) : json_null(), "hidden",
                     r->hidden ? json_size(r->hidden) : json_null(), "steps",
                     r->steps ? json_size(r->steps) : json_null(), "count", json_size(r->count),
                     "seconds", r->seconds > 0 ? json_real(r->seconds) : json_null(), "iterations",
                     (int)r->runs, "gflop_per_s",
                     r->flop > 0 ? json_decimal(r->flop / r->seconds / 1e9, 6) : json_null(),
                     "share", r->share > 0 ? json_decimal(r->share, 6) : json_null(),
                     "estimated_bytes", r->measured ? json_size(r->estimated) : json_null(),
                     "measured_bytes", r->measured ? json_size(r->measured) : json_null());
}

static void put_number(char *cell, uint64_t number)
{
    if (number)
        snprintf(cell, TABLE_CELL, "%" PRIu64, number);
}

static void print_row(const struct recurrent_bench *bench, const struct recurrent_result *r)
{
    enum { THREADS, ENSEMBLE, HIDDEN, STEPS_OF, COUNT, TIME, GFLOP, SHARE, ESTIMATED, CELLS };
    char cell[CELLS + 1][TABLE_CELL];
    for (unsigned i = 0; i <= CELLS; i++)
        strcpy(cell[i], "-");
    put_number(cell[THREADS], r->threads);
    put_number(cell[ENSEMBLE], r->ensemble);
    put_number(cell[HIDDEN], r->hidden);
    put_number(cell[STEPS_OF], r->steps);
    put_number(cell[COUNT], r->count);
    put_number(cell[ESTIMATED], r->estimated);
    put_number(cell[CELLS], r->measured);
    if (r->seconds > 0)
        snprintf(cell[TIME], TABLE_CELL, "%.3f", 1e6 * r->seconds / (double)r->count);
    if (r->flop > 0)
        snprintf(cell[GFLOP], TABLE_CELL, "%.2f", r->flop / r->seconds / 1e9);
    if (r->share > 0)
        snprintf(cell[SHARE], TABLE_CELL, "%.1f %%", 100 * r->share);
    const char *cells[CELLS + 4] = {r->operation, r->backend};
    for (unsigned i = 0; i <= CELLS; i++)
        cells[i + 2] = cell[i];
    table_print(&bench->table, cells);
    fflush(stdout);
}

void bench_recurrent_report(struct recurrent_bench *bench, const struct recurrent_result *result)
{
    if (bench->app->options.json)
        json_list_item(bench->app, &bench->list, recurrent_json(result));
    else
        print_row(bench, result);
}

/* A Gaussian number, near enough: the sum of twelve uniform ones; xorshift64 (Marsaglia 2003). */
static double gaussian(uint64_t *seed)
{
    double sum = -6;
    for (unsigned i = 0; i < 12; i++) {
        *seed ^= *seed << 13;
        *seed ^= *seed >> 7;
        *seed ^= *seed << 17;
        sum += (double)(*seed >> 11) * 0x1p-53;
    }
    return sum;
}

/* What is written to a container. */
struct weights_file {
    struct app *app;
    wcodec_writer *writer;
    uint64_t seed;
    double deviation;
};

/* Declare a tensor, or write it. */
static wcodec_status put_tensor(struct weights_file *f, const char *name, uint64_t rows,
                                uint64_t columns, bool declare, wcodec_error *err)
{
    const uint64_t shape[] = {rows, columns};
    if (declare)
        return wcodec_writer_declare(f->writer, name, WCODEC_DTYPE_BF16, shape, columns ? 2 : 1,
                                     err);
    const size_t count = (size_t)(rows * (columns ? columns : 1));
    uint16_t *data = malloc(count * sizeof *data);
    if (!data) {
        app_fail(f->app, EXIT_FAILED, "out of memory for weights");
        return WCODEC_ERROR_MEMORY;
    }
    for (size_t i = 0; i < count; i++) {
        const float value = (float)(gaussian(&f->seed) * f->deviation);
        uint32_t bits;
        memcpy(&bits, &value, sizeof bits);
        data[i] = (uint16_t)(bits >> 16);
    }
    const wcodec_status status = wcodec_writer_data(f->writer, data, count * sizeof *data, err);
    free(data);
    return status;
}

static wcodec_status put_ensemble(struct weights_file *f, uint64_t hidden, bool declare,
                                  wcodec_error *err)
{
    static const char names[] = "WU", gates[] = "zrh";
    wcodec_status status = WCODEC_OK;
    for (unsigned i = 0; i < MEMBERS * 6 && status == WCODEC_OK; i++) {
        char name[NAME_BYTES];
        snprintf(name, sizeof name, "members.%u.%c_%c", i / 6, names[i / 3 % 2], gates[i % 3]);
        status = put_tensor(f, name, hidden, i / 3 % 2 ? hidden : INPUTS, declare, err);
    }
    return status == WCODEC_OK ? put_tensor(f, "head", hidden + STOCHASTIC, 0, declare, err)
                               : status;
}

static wcodec_status put_unit(struct weights_file *f, uint64_t hidden, bool declare,
                              wcodec_error *err)
{
    const wcodec_status status = put_tensor(f, "weight_ih_l0", 3 * hidden, INPUTS, declare, err);
    return status == WCODEC_OK ? put_tensor(f, "weight_hh_l0", 3 * hidden, hidden, declare, err)
                               : status;
}

/* Code the weights of an ensemble or a unit, and open them. */
static bool make_file(struct recurrent_work *w, uint64_t hidden,
                      wcodec_status (*put)(struct weights_file *, uint64_t, bool, wcodec_error *))
{
    struct weights_file f = {
        .app = w->app, .seed = UINT64_C(88172645463325252), .deviation = 1 / sqrt((double)hidden)};
    wcodec_encode_options encode;
    wcodec_reader *reader;
    wcodec_error err = {0};
    wcodec_encode_options_init(&encode);
    encode.level = w->app->options.level;
    encode.tune = w->app->options.tune;
    encode.tile_log2 = w->app->options.tile_log2;
    encode.profile = w->app->options.profile;
    encode.predict = w->app->options.predict;
    w->file.size = 0;
    if (wcodec_writer_create(w->context, bench_keep, &w->file, &encode, &f.writer, &err) !=
        WCODEC_OK)
        return fail(w, &err);
    wcodec_status status = put(&f, hidden, true, &err);
    if (status == WCODEC_OK)
        status = put(&f, hidden, false, &err);
    if (status == WCODEC_OK)
        status = wcodec_writer_finish(f.writer, NULL, &err);
    wcodec_writer_destroy(f.writer);
    if (status != WCODEC_OK || wcodec_reader_open_memory(w->context, w->file.data, w->file.size,
                                                         &reader, &err) != WCODEC_OK)
        return fail(w, &err);
    w->reader = reader;
    return true;
}

static bool run_open(void *opaque)
{
    struct recurrent_work *w = opaque;
    wcodec_rssm_options options;
    wcodec_error err = {0};
    wcodec_rssm_options_init(&options);
    options.memory = w->memory;
    wcodec_rssm_destroy(w->rssm);
    w->rssm = NULL;
    return wcodec_rssm_open(w->reader, &options, NULL, &w->rssm, &err) == WCODEC_OK ||
           fail(w, &err);
}

static bool run_rollout(void *opaque)
{
    struct recurrent_work *w = opaque;
    float trajectories[MEMBERS * (STEPS + 1)], features[INPUTS] = {1};
    const wcodec_rssm_input input = {.features = features, .loss = 2.5f};
    const wcodec_rssm_output output = {.trajectories = trajectories};
    wcodec_error err = {0};
    return wcodec_rssm_rollout(w->rssm, &input, STEPS, &output, NULL, &err) == WCODEC_OK ||
           fail(w, &err);
}

static bool measure_ensemble(struct recurrent_bench *bench, struct recurrent_work *w,
                             const char *backend, uint64_t hidden)
{
    const double h = (double)hidden;
    struct recurrent_result open = {.operation = "open",
                                    .backend = backend,
                                    .threads = wcodec_context_threads(w->context),
                                    .ensemble = MEMBERS,
                                    .hidden = hidden,
                                    .count = 1},
                            rollout = open;
    wcodec_rssm_options sizes;
    wcodec_rssm_options_init(&sizes);
    rollout.operation = "rollout";
    rollout.steps = STEPS;
    rollout.flop = 6.0 * MEMBERS * h * (STEPS * h + INPUTS);
    bool good = bench_time(w->app, run_open, w, &open.seconds, &open.runs);
    if (good)
        wcodec_rssm_sizes(w->rssm, &sizes);
    if (good && w->memory && !sizes.memory) {
        app_note(w->app, "%s has no room for members of %" PRIu64 " hidden values", backend,
                 hidden);
        return true;
    }
    good = good && bench_time(w->app, run_rollout, w, &rollout.seconds, &rollout.runs);
    if (!good)
        return false;
    open.share = open.seconds / (open.seconds + rollout.seconds);
    bench_recurrent_report(bench, &open);
    bench_recurrent_report(bench, &rollout);
    return true;
}

static bool measure_ensembles(struct recurrent_bench *bench, struct recurrent_work *w,
                              const char *backend)
{
    static const uint64_t hidden[] = {64, 128, 256, 512, 1024};
    bool good = true;
    for (size_t i = 0; i < sizeof hidden / sizeof hidden[0] && good; i++) {
        good =
            make_file(w, hidden[i], put_ensemble) && measure_ensemble(bench, w, backend, hidden[i]);
        wcodec_rssm_destroy(w->rssm);
        w->rssm = NULL;
        wcodec_reader_close((wcodec_reader *)w->reader);
        w->reader = NULL;
    }
    return good;
}

static bool run_sequences(void *opaque)
{
    struct recurrent_work *w = opaque;
    const wcodec_gru_output output = {.hidden = w->values + w->count};
    wcodec_error err = {0};
    return wcodec_gru_run(w->gru, &w->sequences, &output, &err) == WCODEC_OK || fail(w, &err);
}

static bool run_steps(void *opaque)
{
    for (unsigned i = 0; i < CALLS; i++)
        if (!run_sequences(opaque))
            return false;
    return true;
}

/* Weights decoded, and the step made. */
static bool run_open_step(void *opaque)
{
    struct recurrent_work *w = opaque;
    wcodec_error err = {0};
    wcodec_gru_destroy(w->gru);
    w->gru = NULL;
    return (wcodec_gru_open(w->reader, NULL, NULL, &w->gru, &err) == WCODEC_OK || fail(w, &err)) &&
           run_sequences(w);
}

static bool measure_unit(struct recurrent_bench *bench, struct recurrent_work *w)
{
    struct recurrent_result r = {.backend = "cpu",
                                 .threads = wcodec_context_threads(w->context),
                                 .hidden = UNIT_HIDDEN,
                                 .steps = 1,
                                 .count = 1,
                                 .operation = "open-step"};
    if (!make_file(w, UNIT_HIDDEN, put_unit))
        return false;
    w->count = (size_t)SEQUENCES * INPUTS + STEPS;
    w->values = app_alloc(w->app, "sequences",
                          (w->count + (uint64_t)SEQUENCES * UNIT_HIDDEN) * sizeof *w->values);
    if (!w->values)
        return false;
    for (size_t i = 0; i < w->count; i++)
        w->values[i] = (float)(i % 17) / 17;
    w->sequences = (wcodec_gru_input){.values = w->values, .steps = 1, .sequences = 1};
    if (!bench_time(w->app, run_open_step, w, &r.seconds, &r.runs))
        return false;
    bench_recurrent_report(bench, &r);
    r.operation = "step";
    r.count = CALLS;
    if (!bench_time(w->app, run_steps, w, &r.seconds, &r.runs))
        return false;
    bench_recurrent_report(bench, &r);
    w->sequences.sequences = r.count = SEQUENCES;
    w->sequences.steps = r.steps = STEPS;
    w->sequences.step_stride = 1; /* inputs of steps overlap: they need no memory of their own */
    r.operation = "sequences";
    r.flop = 6.0 * SEQUENCES * STEPS * UNIT_HIDDEN * (UNIT_HIDDEN + INPUTS);
    if (!bench_time(w->app, run_sequences, w, &r.seconds, &r.runs))
        return false;
    bench_recurrent_report(bench, &r);
    return true;
}

static bool run_features(void *opaque)
{
    struct recurrent_work *w = opaque;
    wcodec_error err = {0};
    return wcodec_training_states_features(
               w->context, (const wcodec_training_state *const *)w->states, w->count,
               WCODEC_STATE_FEATURES, w->values, &err) == WCODEC_OK ||
           fail(w, &err);
}

static bool run_one_state(void *opaque)
{
    struct recurrent_work *w = opaque;
    wcodec_error err = {0};
    for (unsigned i = 0; i < CALLS; i++)
        if (wcodec_training_state_features(w->states[0], WCODEC_STATE_FEATURES, w->values, &err) !=
            WCODEC_OK)
            return fail(w, &err);
    return true;
}

/* One more state, whose histories are full. */
static bool add_state(struct recurrent_work *w)
{
    wcodec_training_state *state;
    wcodec_error err = {0};
    if (wcodec_training_state_create(w->context, &state, &err) != WCODEC_OK)
        return fail(w, &err);
    w->states[w->count++] = state;
    for (unsigned n = 0; n < HISTORY; n++) {
        const wcodec_training_step step = {.step = n,
                                           .loss = 2 + (float)((n + w->count) % 7) / 10,
                                           .gradient_norm = 1 + (float)((n * w->count) % 5) / 5,
                                           .learning_rate = 1e-3f};
        if (wcodec_training_state_step(state, &step, &err) != WCODEC_OK)
            return fail(w, &err);
    }
    return true;
}

static bool measure_states(struct recurrent_bench *bench, struct recurrent_work *w)
{
    struct recurrent_result r = {.operation = "features",
                                 .backend = "cpu",
                                 .threads = wcodec_context_threads(w->context),
                                 .count = CALLS};
    free(w->values);
    w->values =
        app_alloc(w->app, "features", (uint64_t)STATES * WCODEC_STATE_FEATURES * sizeof *w->values);
    w->states = app_alloc(w->app, "states", STATES * sizeof(void *));
    w->count = 0;
    if (!w->values || !w->states)
        return false;
    for (unsigned i = 0; i < STATES; i++)
        if (!add_state(w))
            return false;
    if (!bench_time(w->app, run_one_state, w, &r.seconds, &r.runs))
        return false;
    r.threads = 1;
    bench_recurrent_report(bench, &r);
    r.operation = "features-batch";
    r.threads = wcodec_context_threads(w->context);
    r.count = STATES;
    if (!bench_time(w->app, run_features, w, &r.seconds, &r.runs))
        return false;
    bench_recurrent_report(bench, &r);
    return true;
}

/* All rows of a backend. What only the CPU has are units and states. */
static bool measure_on(struct recurrent_bench *bench, unsigned threads, const char *backend)
{
    const bool cpu = strcmp(backend, "cpu") == 0;
    struct recurrent_work w = {.app = bench->app, .memory = cpu ? NULL : backend};
    if (!(w.context = app_make_context(bench->app, threads, backend)))
        return false;
    bool good = measure_ensembles(bench, &w, backend) &&
                (!cpu || (measure_unit(bench, &w) && measure_states(bench, &w)));
    for (size_t i = 0; w.states && i < w.count; i++)
        wcodec_training_state_destroy(w.states[i]);
    free(w.states);
    free(w.values);
    wcodec_gru_destroy(w.gru);
    wcodec_reader_close((wcodec_reader *)w.reader);
    free(w.file.data);
    wcodec_context_destroy(w.context);
    return good;
}

static bool measure_devices(struct recurrent_bench *bench)
{
    struct app *app = bench->app;
    const wcodec_device_info *devices;
    size_t count;
    wcodec_error err = {0};
    const char *last = "cpu";
    bool all = app_all_backends(app), good = true;
    if (wcodec_context_devices(app->context, &devices, &count, &err) != WCODEC_OK)
        return app_fail_status(app, NULL, &err);
    for (size_t i = 0; i < count && good; i++) {
        if (!devices[i].available || strcmp(devices[i].backend, "cpu") == 0 ||
            strcmp(devices[i].backend, last) == 0 || !(all || devices[i].chosen))
            continue;
        last = devices[i].backend;
        good = measure_on(bench, app->options.threads, last);
    }
    return good;
}

void bench_recurrent(struct app *app)
{
    static const char *const heads[] = {"OPERATION", "BACKEND",  "THREADS", "MEMBERS", "HIDDEN",
                                        "STEPS",     "COUNT",    "US EACH", "GFLOP/S", "SHARE",
                                        "ESTIMATED", "MEASURED", NULL};
    static const char *const widest[] = {"features-batch", "opencl",  "1024",       "10",
                                         "1024",           "50",      "10000",      "1234567.123",
                                         "12345.12",       "100.0 %", "1234567890", "1234567890"};
    struct recurrent_bench bench = {.app = app};
    if (app->options.files.count != 0) {
        app_fail(app, EXIT_USAGE, "bench --recurrent measures no files");
        return;
    }
    if (!app_context(app))
        return;
    table_init(&bench.table, app, heads, "llrrrrrrrrrr");
    table_measure(&bench.table, widest);
    if (app->options.json)
        json_list_begin(&bench.list, "results");
    else
        table_print_heads(&bench.table);
    const unsigned threads = wcodec_context_threads(app->context);
    if (measure_on(&bench, 1, "cpu") && (threads <= 1 || measure_on(&bench, threads, "cpu")) &&
        measure_devices(&bench) && !signals_pending())
        bench_recurrent_memory(app, &bench);
    if (app->options.json)
        json_list_end(&bench.list);
}
