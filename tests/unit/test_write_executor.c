/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The caller's own executor, in every way that it may behave: what is compressed is the same, and
 * the caller's callbacks come from his thread alone. */
#include "support_model.h"

#include <pthread.h>
#include <string.h>

typedef void (*task_fn)(void *argument, size_t i);

static void run_backwards(void *opaque, task_fn task, void *argument, size_t count)
{
    (void)opaque;
    while (count-- > 0)
        task(argument, count);
}

/* A permutation: a step without a divisor in common with the count. */
static void run_scattered(void *opaque, task_fn task, void *argument, size_t count)
{
    (void)opaque;
    for (size_t i = 0, at = count / 2, step = count % 7919 ? 7919 : 7907; i < count;
         i++, at = (at + step) % count)
        task(argument, at);
}

struct piece {
    pthread_t thread;
    task_fn task;
    void *argument;
    size_t begin, end;
};

static void *run_piece(void *argument)
{
    struct piece *p = argument;
    while (p->end-- > p->begin)
        p->task(p->argument, p->end);
    return NULL;
}

/* New threads for everything, and nothing on the caller's: one after the other, or all at the same
 * time. */
static void run_elsewhere(task_fn task, void *argument, size_t count, size_t threads, bool together)
{
    struct piece pieces[8];
    for (size_t i = 0; i < threads; i++) {
        pieces[i] = (struct piece){.task = task,
                                   .argument = argument,
                                   .begin = count * i / threads,
                                   .end = count * (i + 1) / threads};
        if (pthread_create(&pieces[i].thread, NULL, run_piece, &pieces[i]) != 0)
            abort();
        if (!together)
            pthread_join(pieces[i].thread, NULL);
    }
    for (size_t i = 0; i < threads && together; i++)
        pthread_join(pieces[i].thread, NULL);
}

static void run_one_by_one(void *opaque, task_fn task, void *argument, size_t count)
{
    (void)opaque;
    run_elsewhere(task, argument, count, 3, false);
}

static void run_together(void *opaque, task_fn task, void *argument, size_t count)
{
    (void)opaque;
    run_elsewhere(task, argument, count, 8, true);
}

struct caller {
    struct support_sink sink;
    pthread_t thread;
    unsigned reports;
};

static int put(void *opaque, const void *data, size_t size)
{
    struct caller *c = opaque;
    if (!pthread_equal(pthread_self(), c->thread))
        abort();
    return support_sink_write(&c->sink, data, size);
}

static int report(void *opaque, uint64_t done, uint64_t total)
{
    struct caller *c = opaque;
    if (!pthread_equal(pthread_self(), c->thread) || done > total)
        abort();
    c->reports++;
    return 0;
}

static void compress(const struct support_model *m, const wcodec_executor *executor,
                     struct caller *c)
{
    wcodec_options options;
    wcodec_encode_options encode;
    wcodec_context *context;
    wcodec_error err = {0};
    wcodec_options_init(&options);
    options.threads = 1;
    options.backend = "cpu";
    if (executor)
        options.executor = *executor;
    assert_int_equal(wcodec_context_create(&options, &context, NULL), WCODEC_OK);
    *c = (struct caller){.thread = pthread_self()};
    support_sink_init(&c->sink);
    wcodec_encode_options_init(&encode);
    encode.progress = (wcodec_progress){.fn = report, .opaque = c};
    if (wcodec_compress_memory(context, m->file, m->file_size, put, c, &encode, NULL, &err) !=
        WCODEC_OK)
        fail_msg("%s", err.text);
    assert_true(c->reports > 0);
    support_expect_restores(context, &c->sink, m->file, m->file_size);
    wcodec_context_destroy(context);
}

static void test_executors(void **state)
{
    (void)state;
    enum { COUNT = 5 };
    static const wcodec_executor executors[COUNT] = {{.run = run_backwards, .concurrency = 1},
                                                     {.run = run_backwards, .concurrency = 64},
                                                     {.run = run_scattered, .concurrency = 5},
                                                     {.run = run_one_by_one, .concurrency = 3},
                                                     {.run = run_together, .concurrency = 8}};
    static const unsigned sizes[] = {3000000, 50,     40000,   2000000,  12 << 20, 700000,
                                     9,       300000, 1500000, 12 << 20, 5000,     900000};
    uint64_t seed = support_seed();
    struct support_model m;
    struct caller first, other;
    support_model_init(&m);
    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes;
         i++) { /* several batches, of large and small tensors */
        char name[16];
        snprintf(name, sizeof name, "%u", i);
        support_model_add(&m, name, i % 3 ? "BF16" : "F32", i % 3 ? 16 : 32, sizes[i],
                          sizes[i] < 12 << 20 ? SUPPORT_WEIGHTS : SUPPORT_ZEROS, &seed);
    }
    support_model_finish(&m, "", 0);
    compress(&m, NULL, &first);
    /* The last one alone has several threads at a time. */
    for (size_t e = support_threads_only() ? COUNT - 1 : 0; e < COUNT; e++) {
        compress(&m, &executors[e], &other);
        assert_int_equal(other.sink.size, first.sink.size);
        assert_memory_equal(other.sink.data, first.sink.data, first.sink.size);
        support_sink_free(&other.sink);
    }
    support_sink_free(&first.sink);
    support_model_free(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_executors)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
