/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "core/memory.h"
#include "sched/pool.h"

enum { TASKS = 5000 };

struct job {
    struct wcodec_pool *pool;
    atomic_uint times[TASKS];
    unsigned plain[TASKS]; /* not atomic: the pool orders it */
    unsigned depth;
};

static unsigned
    linger; /* all tests run with threads that sleep at once, and with threads that stay awake */

static struct wcodec_pool *start(unsigned workers)
{
    struct wcodec_pool_settings settings = {
        .allocator = &wcodec_default_allocator, .workers = workers, .linger = linger};
    struct wcodec_pool *pool = wcodec_pool_create(&settings);
    assert_non_null(pool);
    return pool;
}

static void mark(void *argument, size_t i)
{
    struct job *job = argument;
    atomic_fetch_add(&job->times[i], 1);
    job->plain[i] += (unsigned)i;
}

static void check_once(struct job *job, size_t count)
{
    for (size_t i = 0; i < TASKS; i++) {
        assert_int_equal(atomic_load(&job->times[i]), i < count ? 1 : 0);
        assert_int_equal(job->plain[i], i < count ? i : 0);
    }
}

static void test_counts(void **state)
{
    (void)state;
    static const size_t counts[] = {0, 1, 2, 3, 7, 64, TASKS};
    for (unsigned workers = 0; workers < 6; workers++) {
        struct wcodec_pool *pool = start(workers);
        assert_int_equal(wcodec_pool_workers(pool), workers);
        for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
            struct job *job = calloc(1, sizeof *job);
            wcodec_pool_run(pool, mark, job, counts[c]);
            check_once(job, counts[c]);
            free(job);
        }
        wcodec_pool_destroy(pool);
    }
}

struct nested {
    struct wcodec_pool *pool;
    unsigned depth;
    atomic_uint leaves;
};

struct level {
    struct nested *nested;
    unsigned depth;
};

static void descend(void *argument, size_t i)
{
    (void)i;
    struct level *level = argument, below = {level->nested, level->depth + 1};
    if (level->depth == level->nested->depth)
        atomic_fetch_add(&level->nested->leaves, 1);
    else
        wcodec_pool_run(level->nested->pool, descend, &below, 5);
}

/* Tasks that run batches themselves, deeper than there are workers. */
static void test_nested(void **state)
{
    (void)state;
    for (unsigned workers = 1; workers < 4; workers++) {
        struct nested nested = {.pool = start(workers), .depth = 4};
        struct level top = {&nested, 0};
        wcodec_pool_run(nested.pool, descend, &top, 5);
        assert_int_equal(atomic_load(&nested.leaves), 5 * 5 * 5 * 5 * 5);
        wcodec_pool_destroy(nested.pool);
    }
}

struct help {
    struct wcodec_pool *pool;
    pthread_t caller;
    pthread_barrier_t outer, inner;
    atomic_uint inner_by_caller;
};

static void helped(void *argument, size_t i)
{
    (void)i;
    struct help *h = argument;
    pthread_barrier_wait(&h->inner);
    if (pthread_equal(pthread_self(), h->caller))
        atomic_fetch_add(&h->inner_by_caller, 1);
}

static void need_help(void *argument, size_t i)
{
    (void)i;
    struct help *h = argument;
    pthread_barrier_wait(&h->outer); /* each of two threads has one task */
    if (!pthread_equal(pthread_self(), h->caller))
        wcodec_pool_run(h->pool, helped, h, 2);
}

/* The caller waits for a task that runs two more, which end only together: without his help they
 * never would. */
static void test_help(void **state)
{
    (void)state;
    alarm(60);
    for (int round = 0; round < 100; round++) {
        struct help h = {.pool = start(1), .caller = pthread_self()};
        assert_int_equal(pthread_barrier_init(&h.outer, NULL, 2), 0);
        assert_int_equal(pthread_barrier_init(&h.inner, NULL, 2), 0);
        wcodec_pool_run(h.pool, need_help, &h, 2);
        assert_int_equal(atomic_load(&h.inner_by_caller), 1);
        pthread_barrier_destroy(&h.outer);
        pthread_barrier_destroy(&h.inner);
        wcodec_pool_destroy(h.pool);
    }
    alarm(0);
}

static void *call_many(void *argument)
{
    struct wcodec_pool *pool = argument;
    for (int round = 0; round < 200; round++) {
        struct nested nested = {.pool = pool, .depth = 2};
        struct level top = {&nested, 0};
        wcodec_pool_run(pool, descend, &top, 3);
        if (atomic_load(&nested.leaves) != 3 * 5 * 5)
            return "a batch returned before its tasks had ended";
    }
    return NULL;
}

static void test_concurrent_callers(void **state)
{
    (void)state;
    struct wcodec_pool *pool = start(3);
    pthread_t threads[6];
    for (int i = 0; i < 6; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, call_many, pool), 0);
    for (int i = 0; i < 6; i++) {
        void *complaint = "";
        pthread_join(threads[i], &complaint);
        assert_null(complaint);
    }
    wcodec_pool_destroy(pool);
}

static _Thread_local unsigned creations_left;

static int create_some(pthread_t *thread, const pthread_attr_t *attributes, void *(*entry)(void *),
                       void *argument)
{
    if (creations_left == 0)
        return EAGAIN;
    creations_left--;
    return pthread_create(thread, attributes, entry, argument);
}

static void test_creation_failure(void **state)
{
    (void)state;
    for (unsigned possible = 0; possible <= 4; possible++) {
        struct wcodec_pool_settings settings = {.allocator = &wcodec_default_allocator,
                                                .workers = 4,
                                                .linger = linger,
                                                .create = create_some};
        creations_left = possible;
        struct wcodec_pool *pool = wcodec_pool_create(&settings);
        assert_non_null(pool);
        assert_int_equal(wcodec_pool_workers(pool), possible);
        struct job *job = calloc(1, sizeof *job);
        wcodec_pool_run(pool, mark, job, 100);
        check_once(job, 100);
        free(job);
        wcodec_pool_destroy(pool);
    }
}

static void *no_memory(void *opaque, size_t size)
{
    (void)opaque, (void)size;
    return NULL;
}

static void test_no_memory(void **state)
{
    (void)state;
    wcodec_allocator none = wcodec_default_allocator;
    none.allocate = no_memory;
    struct wcodec_pool_settings settings = {.allocator = &none, .workers = 2};
    assert_null(wcodec_pool_create(&settings));
    wcodec_pool_destroy(NULL);
}

static void bind(void *opaque, unsigned worker)
{
    atomic_uint *seen = opaque;
    atomic_fetch_or(seen, 1u << worker);
    sigset_t set;
    pthread_sigmask(SIG_SETMASK, NULL, &set);
    if (sigismember(&set, SIGINT) != 1 || sigismember(&set, SIGTERM) != 1)
        atomic_fetch_or(seen, 1u << 31);
}

/* Each worker is placed once, before it works, and takes no signals. */
static void test_placement(void **state)
{
    (void)state;
    atomic_uint seen;
    atomic_init(&seen, 0);
    struct wcodec_pool_settings settings = {.allocator = &wcodec_default_allocator,
                                            .workers = 3,
                                            .linger = linger,
                                            .bind = bind,
                                            .opaque = &seen};
    struct wcodec_pool *pool = wcodec_pool_create(&settings);
    assert_non_null(pool);
    wcodec_pool_destroy(pool);
    assert_int_equal(atomic_load(&seen), 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counts),
        cmocka_unit_test(test_nested),
        cmocka_unit_test(test_help),
        cmocka_unit_test(test_concurrent_callers),
        cmocka_unit_test(test_creation_failure),
        cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_placement),
    };
    int failed = cmocka_run_group_tests_name("sleep at once", tests, NULL, NULL);
    linger = 1000;
    return failed + cmocka_run_group_tests_name("stay awake", tests, NULL, NULL);
}
