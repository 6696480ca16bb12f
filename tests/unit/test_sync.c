/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Messages between two snapshots of weights in host memory: they bring the receiver's to the new
 * one, and are files that decode as such. */
#include "support_sync.h"

#include <limits.h>
#include <unistd.h>

static const wcodec_delta_verify verifies[] = {
    WCODEC_DELTA_VERIFY_BEFORE, WCODEC_DELTA_VERIFY_TRIAL, WCODEC_DELTA_VERIFY_AFTER};
enum { VERIFIES = sizeof verifies / sizeof *verifies };

static const struct support_shape all[] = {
    {WCODEC_DTYPE_BOOL, 70001},      {WCODEC_DTYPE_U8, 1},          {WCODEC_DTYPE_I8, 4194305},
    {WCODEC_DTYPE_F8_E5M2, 33333},   {WCODEC_DTYPE_F8_E4M3, 257},   {WCODEC_DTYPE_F8_E8M0, 16385},
    {WCODEC_DTYPE_F8_E4M3FNUZ, 256}, {WCODEC_DTYPE_F8_E5M2FNUZ, 0}, {WCODEC_DTYPE_U16, 65537},
    {WCODEC_DTYPE_I16, 129},         {WCODEC_DTYPE_F16, 40001},     {WCODEC_DTYPE_BF16, 700003},
    {WCODEC_DTYPE_U32, 3},           {WCODEC_DTYPE_I32, 20011},     {WCODEC_DTYPE_F32, 300007},
    {WCODEC_DTYPE_U64, 1},           {WCODEC_DTYPE_I64, 17},        {WCODEC_DTYPE_F64, 34567},
    {WCODEC_DTYPE_C64, 4099},        {WCODEC_DTYPE_F4, 66666},      {WCODEC_DTYPE_F6_E2M3, 4444},
    {WCODEC_DTYPE_F6_E3M2, 40000},   {WCODEC_DTYPE_F32, 0},         {WCODEC_DTYPE_BF16, 65536},
};
enum { ALL = sizeof all / sizeof *all };

static void apply(wcodec_context *context, const void *message, size_t size,
                  const struct support_snapshot *weights, wcodec_delta_verify verify,
                  wcodec_delta_report *report)
{
    wcodec_delta_apply_options options;
    wcodec_error err = {0};
    uint8_t *states = calloc(weights->count + 1, 1);
    wcodec_delta_apply_options_init(&options);
    options.verify = verify;
    options.states = states;
    if (wcodec_delta_apply(context, message, size, weights->items, weights->count, &options, report,
                           &err) != WCODEC_OK)
        fail_msg("%s", err.text);
    for (unsigned i = 0; i < weights->count; i++)
        assert_int_equal(states[i], WCODEC_DELTA_STATE_AFTER);
    free(states);
}

/* Steps of all densities, one after the other. */
static void test_steps(void **state)
{
    (void)state;
    static const uint64_t every[] = {50, 1000, 0, 100000, 3, 1};
    struct support_snapshot before, after, weights;
    wcodec_delta_report report;
    size_t size;
    support_snapshot_make(&before, all, ALL, support_seed());
    support_snapshot_copy(&before, &after);
    support_snapshot_copy(&before, &weights);
    for (unsigned i = 0; i < sizeof every / sizeof *every; i++) {
        wcodec_context *context = support_context(1 + i % 3, NULL);
        support_snapshot_change(&after, every[i], i);
        void *message = support_message(context, &before, &after, &size);
        print_message("one of %llu: %zu of %llu bytes\n", (unsigned long long)every[i], size,
                      (unsigned long long)after.size);
        for (unsigned v = 0; v < VERIFIES; v++) {
            memcpy(weights.data, before.data, before.size);
            apply(context, message, size, &weights, verifies[v], &report);
            support_snapshot_expect(&weights, &after);
            assert_int_equal(report.tensors, ALL);
            if (every[i] == 0)
                assert_true(size < 4096 && report.equal > ALL / 2);
        }
        memcpy(before.data, after.data, after.size);
        wcodec_delta_free(context, message);
        wcodec_context_destroy(context);
    }
    support_snapshot_free(&weights);
    support_snapshot_free(&after);
    support_snapshot_free(&before);
}

/* The receiver has its tensors in another order, and more of them. */
static void test_order(void **state)
{
    (void)state;
    struct support_snapshot before, after, weights;
    size_t size;
    support_snapshot_make(&before, all, ALL, 7);
    support_snapshot_copy(&before, &after);
    support_snapshot_copy(&before, &weights);
    support_snapshot_change(&after, 20, 8);
    wcodec_context *context = support_context(2, NULL);
    wcodec_error err = {0};
    uint8_t states[ALL];
    wcodec_delta_apply_options options;
    void *message = support_message(context, &before, &after, &size);
    wcodec_delta_free(context, message);
    /* Half of them change; of these the last one is new to the trainer. */
    void *half;
    assert_int_equal(wcodec_delta_encode(context, before.items, ALL / 2 - 1, after.items, ALL / 2,
                                         NULL, &half, &size, NULL, &err),
                     WCODEC_OK);
    for (unsigned i = 0; i < ALL / 2; i++) {
        const wcodec_save_item item = weights.items[i];
        weights.items[i] = weights.items[ALL - 1 - i];
        weights.items[ALL - 1 - i] = item;
    }
    wcodec_delta_apply_options_init(&options);
    options.states = states;
    if (wcodec_delta_apply(context, half, size, weights.items, ALL, &options, NULL, &err) !=
        WCODEC_OK)
        fail_msg("%s", err.text);
    for (unsigned i = 0; i < ALL; i++) {
        const bool changed = i < ALL / 2;
        const uint64_t at = before.items[i].offset;
        assert_memory_equal(weights.data + at, (changed ? after.data : before.data) + at,
                            before.items[i].size);
        assert_int_equal(states[ALL - 1 - i],
                         changed ? WCODEC_DELTA_STATE_AFTER : WCODEC_DELTA_STATE_BEFORE);
    }
    wcodec_delta_free(context, half);
    wcodec_context_destroy(context);
    support_snapshot_free(&weights);
    support_snapshot_free(&after);
    support_snapshot_free(&before);
}

/* Thousands of tensors, most of them small. */
static void test_many(void **state)
{
    (void)state;
    enum { MANY = 3000 };
    static struct support_shape shapes[MANY];
    struct support_snapshot before, after, weights;
    wcodec_delta_report report;
    size_t size;
    for (unsigned i = 0; i < MANY; i++)
        shapes[i] = (struct support_shape){i % 2 != 0 ? WCODEC_DTYPE_BF16 : WCODEC_DTYPE_F32,
                                           i % 100 != 0 ? i % 37 : 5000};
    support_snapshot_make(&before, shapes, MANY, 3);
    support_snapshot_copy(&before, &after);
    support_snapshot_copy(&before, &weights);
    support_snapshot_change(&after, 100, 4);
    wcodec_context *context = support_context(3, NULL);
    void *message = support_message(context, &before, &after, &size);
    print_message("%u tensors: %zu of %llu bytes\n", MANY, size, (unsigned long long)after.size);
    apply(context, message, size, &weights, WCODEC_DELTA_VERIFY_BEFORE, &report);
    support_snapshot_expect(&weights, &after);
    assert_int_equal(report.tensors, MANY);
    wcodec_delta_free(context, message);
    wcodec_context_destroy(context);
    support_snapshot_free(&weights);
    support_snapshot_free(&after);
    support_snapshot_free(&before);
}

static void save(wcodec_context *context, const struct support_snapshot *s,
                 struct support_sink *sink)
{
    wcodec_save_options options;
    wcodec_error err = {0};
    wcodec_save_options_init(&options);
    support_sink_init(sink);
    options.write = support_sink_write;
    options.opaque = sink;
    if (wcodec_save(context, s->items, s->count, &options, NULL, &err) != WCODEC_OK)
        fail_msg("%s", err.text);
}

static void restore(wcodec_reader *reader, struct support_sink *sink)
{
    wcodec_error err = {0};
    support_sink_init(sink);
    if (wcodec_reader_restore(reader, 0, support_sink_write, sink, NULL, &err) != WCODEC_OK)
        fail_msg("%s", err.text);
}

/* A message may be a file, whose base is what saving the old snapshot makes. */
static void test_file(void **state)
{
    (void)state;
    struct support_snapshot before, after;
    struct support_sink old, saved, wanted, got;
    wcodec_bases *bases;
    wcodec_reader *reader;
    wcodec_error err = {0};
    size_t size;
    support_snapshot_make(&before, all, ALL, 11);
    support_snapshot_copy(&before, &after);
    support_snapshot_change(&after, 30, 12);
    wcodec_context *context = support_context(2, NULL);
    void *message = NULL;
    wcodec_delta_encode_options options;
    wcodec_delta_encode_options_init(&options);
    options.as_file = 1;
    assert_int_equal(wcodec_delta_encode(context, before.items, ALL, after.items, ALL, &options,
                                         &message, &size, NULL, &err),
                     WCODEC_OK);
    save(context, &before, &old);
    save(context, &after, &saved);
    support_put_file("old.wcodec", old.data, old.size);
    assert_int_equal(wcodec_bases_create(context, 0, &bases, &err), WCODEC_OK);
    assert_int_equal(wcodec_bases_add_path(bases, "old.wcodec", &err), WCODEC_OK);
    assert_int_equal(wcodec_reader_open_memory(context, saved.data, saved.size, &reader, &err),
                     WCODEC_OK);
    restore(reader, &wanted);
    wcodec_reader_close(reader);
    assert_int_equal(wcodec_reader_open_memory(context, message, size, &reader, &err), WCODEC_OK);
    if (wcodec_reader_set_bases(reader, bases, &err) != WCODEC_OK)
        fail_msg("%s", err.text);
    restore(reader, &got);
    wcodec_reader_close(reader);
    assert_int_equal(got.size, wanted.size);
    assert_memory_equal(got.data, wanted.data, got.size);
    wcodec_bases_destroy(bases);
    wcodec_delta_free(context, message);
    wcodec_context_destroy(context);
    unlink("old.wcodec");
    support_sink_free(&old);
    support_sink_free(&saved);
    support_sink_free(&wanted);
    support_sink_free(&got);
    support_snapshot_free(&after);
    support_snapshot_free(&before);
}

/* Through a function, and its failure; and of nothing. */
static void test_sink(void **state)
{
    (void)state;
    struct support_snapshot before, after, weights;
    struct support_sink sink;
    wcodec_delta_encode_options options;
    wcodec_encode_report report;
    wcodec_error err = {0};
    size_t size, written = 0;
    void *message, *none = &size;
    support_snapshot_make(&before, all, ALL, 21);
    support_snapshot_copy(&before, &after);
    support_snapshot_copy(&before, &weights);
    support_snapshot_change(&after, 300, 22);
    wcodec_context *context = support_context(2, NULL);
    message = support_message(context, &before, &after, &size);
    support_sink_init(&sink);
    wcodec_delta_encode_options_init(&options);
    options.write = support_sink_write;
    options.opaque = &sink;
    assert_int_equal(wcodec_delta_encode(context, before.items, ALL, after.items, ALL, &options,
                                         &none, &written, &report, &err),
                     WCODEC_OK);
    assert_null(none);
    assert_int_equal(written, size);
    assert_int_equal(report.coded_size, size);
    assert_int_equal(report.tensors, ALL);
    assert_int_equal(sink.size, size);
    assert_memory_equal(sink.data, message, size);
    const unsigned calls = sink.calls;
    for (unsigned i = 0; i < calls; i++) {
        support_sink_free(&sink);
        support_sink_init(&sink);
        sink.fail_at = i;
        assert_int_equal(wcodec_delta_encode(context, before.items, ALL, after.items, ALL, &options,
                                             NULL, NULL, NULL, &err),
                         WCODEC_ERROR_IO);
    }
    support_sink_free(&sink);
    wcodec_delta_free(context, message);
    assert_int_equal(
        wcodec_delta_encode(context, NULL, 0, NULL, 0, NULL, &message, &size, NULL, &err),
        WCODEC_OK);
    apply(context, message, size, &(struct support_snapshot){.count = 0},
          WCODEC_DELTA_VERIFY_BEFORE, NULL);
    assert_int_equal(
        wcodec_delta_apply(context, message, size, weights.items, ALL, NULL, NULL, &err),
        WCODEC_OK);
    support_snapshot_expect(&weights, &before);
    wcodec_delta_free(context, message);
    wcodec_delta_free(context, NULL);
    wcodec_context_destroy(context);
    support_snapshot_free(&weights);
    support_snapshot_free(&after);
    support_snapshot_free(&before);
}

/* Two names of the same memory change once. */
static void test_tied(void **state)
{
    (void)state;
    static const struct support_shape shapes[] = {
        {WCODEC_DTYPE_BF16, 50000}, {WCODEC_DTYPE_F32, 100}, {WCODEC_DTYPE_BF16, 50000}};
    struct support_snapshot before, after, weights;
    wcodec_error err = {0};
    size_t size;
    support_snapshot_make(&before, shapes, 3, 31);
    memcpy(support_snapshot_tensor(&before, 2), support_snapshot_tensor(&before, 0),
           before.items[0].size);
    support_snapshot_copy(&before, &after);
    support_snapshot_copy(&before, &weights);
    support_snapshot_change(&after, 9, 32);
    memcpy(support_snapshot_tensor(&after, 2), support_snapshot_tensor(&after, 0),
           after.items[0].size);
    wcodec_context *context = support_context(2, NULL);
    void *message = support_message(context, &before, &after, &size);
    weights.items[2].offset = weights.items[0].offset;
    for (unsigned v = 0; v < VERIFIES; v++) {
        memcpy(weights.data, before.data, before.size);
        apply(context, message, size, &weights, verifies[v], NULL);
        assert_memory_equal(weights.data + weights.items[0].offset,
                            support_snapshot_tensor(&after, 0), after.items[0].size);
        assert_memory_equal(weights.data + after.items[2].offset,
                            support_snapshot_tensor(&before, 2), after.items[2].size);
    }
    /* Not where they are not the same as a whole, or do not become the same. */
    memcpy(weights.data, before.data, before.size);
    weights.items[2].offset += 2;
    assert_int_equal(wcodec_delta_apply(context, message, size, weights.items, 3, NULL, NULL, &err),
                     WCODEC_ERROR_USAGE);
    assert_non_null(strstr(err.text, "overlap"));
    wcodec_delta_free(context, message);
    support_snapshot_tensor(&after, 2)[5]++;
    message = support_message(context, &before, &after, &size);
    weights.items[2].offset -= 2;
    assert_int_equal(wcodec_delta_apply(context, message, size, weights.items, 3, NULL, NULL, &err),
                     WCODEC_ERROR_MISMATCH);
    support_snapshot_expect(&weights, &before);
    wcodec_delta_free(context, message);
    wcodec_context_destroy(context);
    support_snapshot_free(&weights);
    support_snapshot_free(&after);
    support_snapshot_free(&before);
}

struct watch {
    uint64_t done, total;
    int calls, stop;
};

static int note_progress(void *opaque, uint64_t done, uint64_t total)
{
    struct watch *w = opaque;
    assert_true(done >= w->done && done <= total);
    w->done = done;
    w->total = total;
    w->calls++;
    return w->stop;
}

static void test_progress(void **state)
{
    (void)state;
    struct support_snapshot before, after, weights;
    wcodec_delta_encode_options options;
    wcodec_encode_options encode;
    wcodec_delta_apply_options how;
    struct watch watch = {.stop = 0};
    wcodec_error err = {0};
    size_t size;
    void *message;
    support_snapshot_make(&before, all, ALL, 41);
    support_snapshot_copy(&before, &after);
    support_snapshot_copy(&before, &weights);
    support_snapshot_change(&after, 50, 42);
    wcodec_context *context = support_context(2, NULL);
    wcodec_delta_encode_options_init(&options);
    wcodec_encode_options_init(&encode);
    encode.progress = (wcodec_progress){.fn = note_progress, .opaque = &watch};
    options.encode = &encode;
    assert_int_equal(wcodec_delta_encode(context, before.items, ALL, after.items, ALL, &options,
                                         &message, &size, NULL, &err),
                     WCODEC_OK);
    assert_true(watch.calls > 0 && watch.done == watch.total);
    wcodec_delta_apply_options_init(&how);
    how.progress = encode.progress;
    for (int stop = 1; stop >= 0; stop--) {
        for (unsigned v = 0; v < VERIFIES; v++) {
            how.verify = verifies[v];
            watch = (struct watch){.stop = stop};
            memcpy(weights.data, before.data, before.size);
            const wcodec_status status =
                wcodec_delta_apply(context, message, size, weights.items, ALL, &how, NULL, &err);
            assert_int_equal(status, stop ? WCODEC_ERROR_CANCELLED : WCODEC_OK);
            support_snapshot_expect(&weights, stop ? &before : &after);
            assert_true(stop || watch.done == watch.total);
        }
    }
    wcodec_delta_free(context, message);
    watch = (struct watch){.stop = 1};
    assert_int_equal(wcodec_delta_encode(context, before.items, ALL, after.items, ALL, &options,
                                         &message, &size, NULL, &err),
                     WCODEC_ERROR_CANCELLED);
    wcodec_context_destroy(context);
    support_snapshot_free(&weights);
    support_snapshot_free(&after);
    support_snapshot_free(&before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_steps),    cmocka_unit_test(test_order), cmocka_unit_test(test_many),
        cmocka_unit_test(test_file),     cmocka_unit_test(test_sink),  cmocka_unit_test(test_tied),
        cmocka_unit_test(test_progress),
    };
    return cmocka_run_group_tests(tests, support_enter_folder, support_leave_folder);
}
