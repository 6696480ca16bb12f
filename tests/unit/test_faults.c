/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Public operations in which each allocation, each read and each write fails once, and which are
 * cancelled at each call of their progress: the status that is meant, a text, nothing leaked, and
 * the same operation succeeds afterwards on the same objects. tests/unit/FAULTS says which test has
 * the others. */
#include "support_model.h"
#include <errno.h>
#include <stdatomic.h>
#include <wcodec/learn.h>
#include <wcodec/recurrent.h>
#include <wcodec/resident.h>
#include <wcodec/save.h>
#include <wcodec/state.h>
#include <wcodec/vectors.h>

/* The number of the matrix in the file, after a unit of that many hidden values: more
 * than is kept of what is read ahead. */
enum { LAST = 4, UNIT = 128 };

enum fault { ALLOCATION = 1, READ = 2, WRITE = 4, CANCEL = 8 };

static const wcodec_status expected[] = {[ALLOCATION] = WCODEC_ERROR_MEMORY,
                                         [READ] = WCODEC_ERROR_IO,
                                         [WRITE] = WCODEC_ERROR_IO,
                                         [CANCEL] = WCODEC_ERROR_CANCELLED};

/* Faults are counted down; the one at 0 happens, alone but for reads: what was read ahead in vain
 * is read again. */
struct world {
    struct support_model model;
    struct support_sink coded;
    struct support_allocator allocator;
    wcodec_context *context;
    wcodec_reader *reader;
    _Atomic long read_left, write_left, cancel_left;
};

static int64_t read_at(void *opaque, uint64_t offset, size_t size, void *dst, wcodec_error *err)
{
    struct world *w = opaque;
    if (atomic_fetch_sub(&w->read_left, 1) <= 0) {
        snprintf(err->text, sizeof err->text, "the line is cut");
        return -1;
    }
    memcpy(dst, w->coded.data + offset, size);
    return (int64_t)size;
}

static int write_nowhere(void *opaque, const void *data, size_t size)
{
    struct world *w = opaque;
    (void)data;
    (void)size;
    return atomic_fetch_sub(&w->write_left, 1) == 0 ? ENOSPC : 0;
}

static int stop(void *opaque, uint64_t done, uint64_t total)
{
    struct world *w = opaque;
    (void)done;
    (void)total;
    return atomic_fetch_sub(&w->cancel_left, 1) == 0;
}

static wcodec_status open_io(struct world *w, wcodec_reader **reader, wcodec_error *err)
{
    const wcodec_io io = {.read_at = read_at,
                          .opaque = w,
                          .size = w->coded.size,
                          .request_bytes = 64 << 10,
                          .cache_bytes = 128 << 10,
                          .requests = 1};
    return wcodec_reader_open_io(w->context, &io, 1, reader, err);
}

static wcodec_status open_file(struct world *w, wcodec_error *err)
{
    wcodec_reader *reader = NULL;
    const wcodec_status status = open_io(w, &reader, err);
    wcodec_reader_close(reader);
    return status;
}

static wcodec_status salvage(struct world *w, wcodec_error *err)
{
    wcodec_reader *reader = NULL;
    const wcodec_status status =
        wcodec_reader_salvage_memory(w->context, w->coded.data, w->coded.size / 2, &reader, err);
    wcodec_reader_close(reader);
    return status;
}

static void decode_options(struct world *w, wcodec_decode_options *options)
{
    wcodec_decode_options_init(options);
    options->progress = (wcodec_progress){.fn = stop, .opaque = w};
}

static wcodec_status decode(struct world *w, wcodec_error *err)
{
    wcodec_decode_options options;
    static uint8_t bytes[600000];
    decode_options(w, &options);
    return wcodec_reader_decode(w->reader, LAST, bytes, sizeof bytes, &options, err);
}

static wcodec_status restore(struct world *w, wcodec_error *err)
{
    wcodec_decode_options options;
    decode_options(w, &options);
    return wcodec_reader_restore(w->reader, 0, write_nowhere, w, &options, err);
}

static wcodec_status test_file(struct world *w, wcodec_error *err)
{
    wcodec_decode_options options;
    decode_options(w, &options);
    return wcodec_reader_test(w->reader, 0, 0, &options, err);
}

static wcodec_status hash(struct world *w, wcodec_error *err)
{
    uint8_t digest[16];
    return wcodec_hash_memory(w->context, w->model.file, w->model.file_size, digest, err);
}

static wcodec_status original(struct world *w, wcodec_error *err)
{
    FILE *file = tmpfile();
    assert_non_null(file);
    assert_int_equal(fwrite(w->model.file, 1, w->model.file_size, file), w->model.file_size);
    assert_int_equal(fflush(file), 0);
    wcodec_original *opened = NULL;
    const wcodec_status status =
        wcodec_original_open_fd(w->context, fileno(file), NULL, NULL, &opened, err);
    wcodec_original_close(opened);
    fclose(file);
    return status;
}

static void encode_options(struct world *w, wcodec_encode_options *options)
{
    wcodec_encode_options_init(options);
    options->progress = (wcodec_progress){.fn = stop, .opaque = w};
}

static wcodec_status compress(struct world *w, wcodec_error *err)
{
    wcodec_encode_options options;
    encode_options(w, &options);
    return wcodec_compress_memory(w->context, w->model.file, w->model.file_size, write_nowhere, w,
                                  &options, NULL, err);
}

static wcodec_status copy(struct world *w, wcodec_error *err)
{
    wcodec_encode_options options;
    encode_options(w, &options);
    return wcodec_copy(w->reader, NULL, 0, write_nowhere, w, &options, NULL, err);
}

static wcodec_status recompress(struct world *w, wcodec_error *err)
{
    wcodec_encode_options options;
    encode_options(w, &options);
    options.level = 1;
    return wcodec_recompress(w->reader, 0, write_nowhere, w, &options, NULL, err);
}

/* A part that is all of the file, and what it is joined to. */
static wcodec_status join(struct world *w, wcodec_error *err)
{
    wcodec_encode_options options;
    struct support_sink part;
    wcodec_reader *reader = NULL;
    encode_options(w, &options);
    options.level = 1;
    options.part_end = UINT64_MAX;
    support_sink_init(&part);
    wcodec_status status =
        wcodec_recompress(w->reader, 0, support_sink_write, &part, &options, NULL, err);
    if (status == WCODEC_OK)
        status = wcodec_reader_open_memory(w->context, part.data, part.size, &reader, err);
    const wcodec_reader *const parts[] = {reader};
    if (status == WCODEC_OK)
        status =
            wcodec_join(w->context, parts, 1, -1, w->reader, write_nowhere, w, &options, NULL, err);
    wcodec_reader_close(reader);
    support_sink_free(&part);
    return status;
}

static wcodec_status save(struct world *w, wcodec_error *err)
{
    static const uint8_t bytes[50000];
    static const uint64_t shape[] = {250, 100};
    const wcodec_save_item item = {.name = "w",
                                   .dtype = WCODEC_DTYPE_BF16,
                                   .rank = 2,
                                   .shape = shape,
                                   .source = (uintptr_t)bytes,
                                   .size = sizeof bytes};
    wcodec_encode_options encode;
    wcodec_save_options options;
    encode_options(w, &encode);
    wcodec_save_options_init(&options);
    options.encode = &encode;
    options.write = write_nowhere;
    options.opaque = w;
    return wcodec_save(w->context, &item, 1, &options, NULL, err);
}

static wcodec_status load(struct world *w, wcodec_error *err)
{
    static uint8_t bytes[600000];
    const wcodec_load_item item = {
        .tensor = LAST, .destination = (uintptr_t)bytes, .size = sizeof bytes};
    wcodec_load_options options;
    wcodec_load_options_init(&options);
    options.progress = (wcodec_progress){.fn = stop, .opaque = w};
    return wcodec_load(w->reader, &item, 1, &options, NULL, err);
}

static wcodec_status resident(struct world *w, wcodec_error *err)
{
    wcodec_resident *made = NULL;
    wcodec_resident_options options;
    wcodec_resident_options_init(&options);
    options.progress = (wcodec_progress){.fn = stop, .opaque = w};
    const wcodec_status status = wcodec_resident_create(w->reader, NULL, 0, &options, &made, err);
    wcodec_resident_destroy(made);
    return status;
}

static wcodec_status training_state(struct world *w, wcodec_error *err)
{
    wcodec_training_state *made = NULL;
    float features[WCODEC_STATE_FEATURES];
    wcodec_status status = wcodec_training_state_create(w->context, &made, err);
    if (status == WCODEC_OK)
        status = wcodec_training_states_features(w->context,
                                                 (const wcodec_training_state *const[]){made}, 1,
                                                 WCODEC_STATE_FEATURES, features, err);
    wcodec_training_state_destroy(made);
    return status;
}

enum { HIDDEN = 8, INPUTS = 4, MEMBERS = 2 };
static const float zeros[HIDDEN * HIDDEN];

static wcodec_status rollout(struct world *w, wcodec_error *err)
{
    const wcodec_gru_weights unit = {.w_z = zeros,
                                     .w_r = zeros,
                                     .w_h = zeros,
                                     .u_z = zeros,
                                     .u_r = zeros,
                                     .u_h = zeros},
                             members[MEMBERS] = {unit, unit};
    wcodec_rssm_options options;
    wcodec_rssm *rssm = NULL;
    wcodec_rssm_summary summary;
    float losses[MEMBERS * 6];
    wcodec_rssm_options_init(&options);
    options.ensemble = MEMBERS;
    options.hidden = HIDDEN;
    options.stochastic = INPUTS;
    options.inputs = INPUTS;
    wcodec_status status =
        wcodec_rssm_create(w->context, &options, members, zeros, NULL, &rssm, err);
    if (status == WCODEC_OK)
        status = wcodec_rssm_rollout(rssm, &(wcodec_rssm_input){.features = zeros, .loss = 1}, 5,
                                     &(wcodec_rssm_output){.trajectories = losses}, &summary, err);
    if (status == WCODEC_OK)
        status = wcodec_rssm_learn(rssm, NULL,
                                   &(wcodec_rssm_lesson){.features = zeros, .steps = 1, .loss = 1},
                                   &(wcodec_rssm_learned){0}, err);
    wcodec_rssm_destroy(rssm);
    return status;
}

static wcodec_status unit(struct world *w, wcodec_error *err)
{
    const wcodec_gru_array a = {.data = zeros, .dtype = WCODEC_DTYPE_F32};
    const wcodec_gru_arrays arrays = {.w_z = a, .w_r = a, .w_h = a, .u_z = a, .u_r = a, .u_h = a};
    wcodec_gru_options options;
    wcodec_gru *gru = NULL;
    float hidden[3 * HIDDEN];
    wcodec_gru_options_init(&options);
    options.hidden = HIDDEN;
    options.inputs = INPUTS;
    wcodec_status status = wcodec_gru_create(w->context, &options, &arrays, &gru, err);
    if (status == WCODEC_OK)
        status =
            wcodec_gru_run(gru, &(wcodec_gru_input){.values = zeros, .steps = 2, .sequences = 3},
                           &(wcodec_gru_output){.hidden = hidden}, err);
    wcodec_gru_destroy(gru);
    return status;
}

static wcodec_status open_unit(struct world *w, wcodec_error *err)
{
    wcodec_gru *gru = NULL;
    const wcodec_status status = wcodec_gru_open(w->reader, NULL, NULL, &gru, err);
    wcodec_gru_destroy(gru);
    return status;
}

static wcodec_status vectors(struct world *w, wcodec_error *err)
{
    static uint16_t data[200];
    for (unsigned i = 0; i < 200; i++)
        data[i] = (uint16_t)(0x3C00 + i * 7);
    const wcodec_vector_rows rows = {
        .dtype = WCODEC_DTYPE_F16, .count = 100, .dimensions = 2, .data = data};
    wcodec_vectors_options options;
    wcodec_vectors *made = NULL;
    wcodec_vectors_options_init(&options);
    options.anchors = 10;
    wcodec_status status = wcodec_vectors_train(w->context, &rows, &options, &made, err);
    for (int part = 0; part < 3 && status == WCODEC_OK; part++)
        status = wcodec_vectors_export(made, (wcodec_vectors_part)part, write_nowhere, w, err);
    wcodec_vectors_destroy(made);
    return status;
}

/* Arm one fault, or none. */
static void arm(struct world *w, enum fault fault, long left)
{
    w->allocator.once = true;
    w->allocator.left = fault == ALLOCATION ? left : SUPPORT_NEVER;
    w->read_left = fault == READ ? left : SUPPORT_NEVER;
    w->write_left = fault == WRITE ? left : SUPPORT_NEVER;
    w->cancel_left = fault == CANCEL ? left : SUPPORT_NEVER;
}

static bool fired(const struct world *w)
{
    return w->allocator.left < 0 || w->read_left < 0 || w->write_left < 0 || w->cancel_left < 0;
}

static const struct operation {
    const char *name;
    wcodec_status (*run)(struct world *w, wcodec_error *err);
    unsigned faults;
} operations[] = {{"open", open_file, ALLOCATION | READ},
                  {"salvage", salvage, ALLOCATION},
                  {"decode", decode, ALLOCATION | READ | CANCEL},
                  {"restore", restore, ALLOCATION | READ | WRITE | CANCEL},
                  {"test", test_file, ALLOCATION | READ | CANCEL},
                  {"hash", hash, ALLOCATION},
                  {"original", original, ALLOCATION},
                  {"compress", compress, ALLOCATION | WRITE | CANCEL},
                  {"copy", copy, ALLOCATION | READ | WRITE | CANCEL},
                  {"recompress", recompress, ALLOCATION | READ | WRITE | CANCEL},
                  {"join", join, ALLOCATION | READ | WRITE | CANCEL},
                  {"save", save, ALLOCATION | WRITE | CANCEL},
                  {"load", load, ALLOCATION | READ | CANCEL},
                  {"resident", resident, ALLOCATION | READ | CANCEL},
                  {"training state", training_state, ALLOCATION},
                  {"rollout", rollout, ALLOCATION},
                  {"unit", unit, ALLOCATION},
                  {"unit of a file", open_unit, ALLOCATION | READ},
                  {"vectors", vectors, ALLOCATION | WRITE}};

/* In a new context each time, so that nothing is kept from the time before. */
static bool run_once(struct world *w, const struct operation *o, enum fault fault, long n,
                     unsigned *failures)
{
    wcodec_error err = {0};
    support_allocator_init(&w->allocator, SUPPORT_NEVER);
    arm(w, 0, 0);
    w->context = support_context(1 + (unsigned)n % 2, &w->allocator.allocator);
    assert_int_equal(open_io(w, &w->reader, NULL), WCODEC_OK);
    arm(w, fault, n);
    const wcodec_status status = o->run(w, &err);
    const bool struck = fired(w);
    arm(w, 0, 0);
    if (status != WCODEC_OK && (!struck || status != expected[fault] || err.text[0] == 0))
        fail_msg("%s, fault %d, number %ld: status %d: %s", o->name, (int)fault, n, (int)status,
                 err.text);
    *failures += status != WCODEC_OK;
    /* A request made ahead may still fail now: a reader whose line was cut is opened again. */
    if (fault == READ) {
        wcodec_reader_close(w->reader);
        assert_int_equal(open_io(w, &w->reader, NULL), WCODEC_OK);
    }
    if (o->run(w, &err) != WCODEC_OK)
        fail_msg("%s after fault %d, number %ld: %s", o->name, (int)fault, n, err.text);
    wcodec_reader_close(w->reader);
    wcodec_context_destroy(w->context);
    assert_int_equal(w->allocator.balance, 0);
    return struck;
}

/* At each of the first times, then ever fewer. */
static void fail_each(struct world *w, unsigned fault)
{
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++) {
        unsigned failures = 0;
        if ((operations[i].faults & fault) == 0)
            continue;
        for (long n = 0; run_once(w, &operations[i], fault, n, &failures);
             n += 1 + n / (SUPPORT_TSAN ? 4 : 64))
            assert_true(n < 100000);
        print_message("%s: %u failures\n", operations[i].name, failures);
        if (failures == 0)
            fail_msg("%s: fault %u was never met", operations[i].name, fault);
    }
}

/* The weights of a unit as PyTorch names them, and the model's bytes as a matrix. */
static void make_file(struct world *w)
{
    static const struct {
        const char *name;
        uint64_t shape[2];
    } weights[] = {{"weight_ih_l0", {3 * UNIT, INPUTS}},
                   {"weight_hh_l0", {3 * UNIT, UNIT}},
                   {"bias_ih_l0", {3 * UNIT, 0}},
                   {"bias_hh_l0", {3 * UNIT, 0}}};
    static const uint64_t shape[] = {2000, 100};
    wcodec_save_item items[LAST + 1] = {[LAST] = {.name = "w",
                                                  .dtype = WCODEC_DTYPE_BF16,
                                                  .rank = 2,
                                                  .shape = shape,
                                                  .source = (uintptr_t)w->model.data,
                                                  .size = 2000 * 100 * 2}};
    uint64_t seed = support_seed();
    float *noise = malloc(sizeof(float) * 3 * UNIT * UNIT);
    assert_non_null(noise);
    for (unsigned i = 0; i < 3 * UNIT * UNIT; i++)
        noise[i] = (float)(support_random(&seed) >> 40) / 16777216;
    for (unsigned i = 0; i < LAST; i++) {
        const uint64_t *s = weights[i].shape;
        items[i] = (wcodec_save_item){.name = weights[i].name,
                                      .dtype = WCODEC_DTYPE_F32,
                                      .rank = s[1] != 0 ? 2 : 1,
                                      .shape = s,
                                      .source = (uintptr_t)noise,
                                      .size = s[0] * (s[1] != 0 ? s[1] : 1) * 4};
    }
    wcodec_save_options options;
    wcodec_save_options_init(&options);
    options.write = support_sink_write;
    options.opaque = &w->coded;
    wcodec_context *context = support_context(2, NULL);
    assert_int_equal(wcodec_save(context, items, LAST + 1, &options, NULL, NULL), WCODEC_OK);
    wcodec_context_destroy(context);
    free(noise);
}

static void with_world(enum fault fault)
{
    struct world w = {0};
    uint64_t seed = support_seed();
    support_model_init(&w.model);
    support_model_add(&w.model, "w", "BF16", 16, 200000, SUPPORT_WEIGHTS, &seed);
    support_model_add(&w.model, "v", "F32", 32, 3000, SUPPORT_WEIGHTS, &seed);
    support_model_add(&w.model, "z", "U8", 8, 1000, SUPPORT_ZEROS, &seed);
    support_model_finish(&w.model, "", 0);
    support_sink_init(&w.coded);
    make_file(&w);
    fail_each(&w, fault);
    support_sink_free(&w.coded);
    support_model_free(&w.model);
}

static void allocations(void **state)
{
    (void)state;
    with_world(ALLOCATION);
}

static void reads(void **state)
{
    (void)state;
    with_world(READ);
}

static void writes(void **state)
{
    (void)state;
    with_world(WRITE);
}

static void cancels(void **state)
{
    (void)state;
    with_world(CANCEL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(allocations), cmocka_unit_test(reads),
                                       cmocka_unit_test(writes), cmocka_unit_test(cancels)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
