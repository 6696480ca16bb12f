/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "support_memory.h"

#include "core/context.h"
#include "core/log.h"
#include "core/memory.h"
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static wcodec_status create(const wcodec_options *options, const char *reason)
{
    wcodec_context *context = NULL;
    wcodec_error err = {0};
    wcodec_status status = wcodec_context_create(options, &context, &err);
    assert_true((context != NULL) == (status == WCODEC_OK));
    if (status != WCODEC_OK && strstr(err.text, reason) == NULL)
        fail_msg("%s", err.text);
    /* Success leaves it untouched. */
    assert_true(status != WCODEC_OK || (err.status == WCODEC_OK && err.text[0] == '\0'));
    wcodec_context_destroy(context);
    return status;
}

static void test_options(void **state)
{
    (void)state;
    struct support_allocator counts;
    wcodec_options o;
    support_allocator_init(&counts, SUPPORT_NEVER);
    wcodec_options_init(&o);
    assert_int_equal(o.struct_size, sizeof o);
    assert_int_equal(create(NULL, ""), WCODEC_OK);
    assert_int_equal(create(&o, ""), WCODEC_OK);
    o.threads = 5000;
    assert_int_equal(create(&o, "options.threads is 5000"), WCODEC_ERROR_USAGE);
    wcodec_options_init(&o);
    o.log_level = (wcodec_log_level)5;
    assert_int_equal(create(&o, "options.log_level is 5"), WCODEC_ERROR_USAGE);
    wcodec_options_init(&o);
    o.allocator.allocate = counts.allocator.allocate;
    assert_int_equal(create(&o, "1 of its 3 functions"), WCODEC_ERROR_USAGE);
    assert_int_equal(wcodec_context_create(NULL, NULL, NULL), WCODEC_ERROR_USAGE);
    wcodec_context_destroy(NULL);
    assert_int_equal(wcodec_context_threads(NULL), 1);
}

/* A caller built with other headers: smaller, larger, or not initialised at all. */
static void test_sizes(void **state)
{
    (void)state;
    struct {
        wcodec_options known;
        unsigned char later[64];
    } large;
    wcodec_options_init_size(&large.known, sizeof large);
    assert_int_equal(large.known.struct_size, sizeof large);
    for (size_t i = 0; i < sizeof large.later; i++)
        assert_int_equal(large.later[i], 0);
    assert_int_equal(create(&large.known, ""), WCODEC_OK);
    large.later[63] = 1;
    assert_int_equal(create(&large.known, "a setting that wcodec 0.1.0 does not know"),
                     WCODEC_ERROR_USAGE);
    wcodec_options o;
    memset(&o, 0, sizeof o);
    assert_int_equal(create(&o, "struct_size is 0"), WCODEC_ERROR_USAGE);
    o.struct_size = sizeof(size_t);
    assert_int_equal(create(&o, "use wcodec_options_init()"), WCODEC_ERROR_USAGE);
    /* Nothing after the caller's size is touched. */
    unsigned char bytes[sizeof(wcodec_options)];
    memset(bytes, 0x5a, sizeof bytes);
    wcodec_options *small = malloc(sizeof *small);
    memcpy(small, bytes, sizeof bytes);
    wcodec_options_init_size(small, 24);
    assert_int_equal(small->struct_size, 24);
    assert_memory_equal((unsigned char *)small + 24, bytes + 24, sizeof bytes - 24);
    free(small);
}

static void test_defaults(void **state)
{
    (void)state;
    wcodec_context *context;
    assert_int_equal(wcodec_context_create(NULL, &context, NULL), WCODEC_OK);
    assert_true(context->limits.max_memory == UINT64_MAX &&
                context->limits.max_tensor_bytes == (uint64_t)1 << 48);
    assert_true(context->limits.max_index_bytes == (uint64_t)4 << 30 &&
                context->limits.max_tensors == 1 << 24);
    assert_null(context->log);
    assert_null(context->pool);
    assert_null(context->topology);
    const unsigned threads = wcodec_context_threads(context);
    assert_true(threads >= 1 && threads <= 4096);
    assert_true(threads <= (unsigned)sysconf(_SC_NPROCESSORS_CONF));
    assert_int_equal(wcodec_context_threads(context), threads);
    wcodec_context_destroy(context);
    setenv("WCODEC_THREADS", "3", 1);
    assert_int_equal(wcodec_context_create(NULL, &context, NULL), WCODEC_OK);
    assert_int_equal(wcodec_context_threads(context), 3);
    wcodec_context_destroy(context);
    wcodec_options o;
    wcodec_options_init(&o);
    o.threads = 2;
    o.limits.max_tensors = 5;
    assert_int_equal(wcodec_context_create(&o, &context, NULL), WCODEC_OK);
    assert_int_equal(wcodec_context_threads(context), 2);
    assert_int_equal(context->limits.max_tensors, 5);
    wcodec_context_destroy(context);
    setenv("WCODEC_THREADS", "x", 1);
    assert_int_equal(create(NULL, "WCODEC_THREADS"), WCODEC_ERROR_USAGE);
    unsetenv("WCODEC_THREADS");
}

enum { TASKS = 1000 };

static void count_task(void *argument, size_t i)
{
    atomic_uint *times = argument;
    atomic_fetch_add(&times[i], 1);
}

static void run_all(wcodec_context *context)
{
    static atomic_uint times[TASKS];
    memset(times, 0, sizeof times);
    wcodec_run(context, count_task, times, TASKS);
    for (unsigned i = 0; i < TASKS; i++)
        assert_int_equal(atomic_load(&times[i]), 1);
}

static void *own_executor_calls[2];

static void own_run(void *opaque, void (*task)(void *argument, size_t i), void *argument,
                    size_t count)
{
    own_executor_calls[0] = opaque;
    for (size_t i = count; i-- > 0;)
        task(argument, i);
}

static void test_run(void **state)
{
    (void)state;
    wcodec_context *context;
    wcodec_options o;
    for (int bind = 0; bind < 2; bind++) {
        for (unsigned threads = 0; threads < 5; threads++) {
            wcodec_options_init(&o);
            o.threads = threads;
            o.bind_threads = bind;
            assert_int_equal(wcodec_context_create(&o, &context, NULL), WCODEC_OK);
            run_all(context);
            run_all(context);
            wcodec_context_destroy(context);
        }
    }
    wcodec_options_init(&o);
    int mark;
    o.executor = (wcodec_executor){.run = own_run, .concurrency = 7, .opaque = &mark};
    assert_int_equal(wcodec_context_create(&o, &context, NULL), WCODEC_OK);
    assert_int_equal(wcodec_context_threads(context), 7);
    run_all(context);
    assert_ptr_equal(own_executor_calls[0], &mark);
    assert_null(context->pool);
    wcodec_context_destroy(context);
    o.executor.concurrency = 0;
    assert_int_equal(create(&o, "options.executor.concurrency is 0"), WCODEC_ERROR_USAGE);
}

static void *use_context(void *argument)
{
    static const char wrong[] = "a task was left out";
    for (int i = 0; i < 50; i++) {
        atomic_uint times[100];
        memset(times, 0, sizeof times);
        if (wcodec_context_threads(argument) < 1)
            return (void *)(uintptr_t)wrong;
        wcodec_run(argument, count_task, times, 100);
        for (unsigned k = 0; k < 100; k++)
            if (atomic_load(&times[k]) != 1)
                return (void *)(uintptr_t)wrong;
    }
    return NULL;
}

/* Several threads at the first use of everything that is lazy. */
static void test_shared(void **state)
{
    (void)state;
    for (int round = 0; round < 20; round++) {
        wcodec_context *context;
        wcodec_options o;
        pthread_t threads[4];
        wcodec_options_init(&o);
        o.threads = round % 2 ? 3 : 0;
        assert_int_equal(wcodec_context_create(&o, &context, NULL), WCODEC_OK);
        for (int i = 0; i < 4; i++)
            assert_int_equal(pthread_create(&threads[i], NULL, use_context, context), 0);
        for (int i = 0; i < 4; i++) {
            void *wrong;
            pthread_join(threads[i], &wrong);
            assert_null(wrong);
        }
        wcodec_context_destroy(context);
    }
}

/* In a forked child the context is refused, but nothing hangs. */
static void test_fork(void **state)
{
    (void)state;
    wcodec_context *context;
    wcodec_options o;
    wcodec_options_init(&o);
    o.threads = 4;
    assert_int_equal(wcodec_context_create(&o, &context, NULL), WCODEC_OK);
    run_all(context);
    assert_int_equal(wcodec_context_usable(context, NULL), WCODEC_OK);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        alarm(20);
        wcodec_error err;
        const wcodec_device_info *infos;
        size_t count;
        atomic_uint times[10] = {0};
        int right = wcodec_context_usable(context, &err) == WCODEC_ERROR_USAGE &&
                    strstr(err.text, "fork()") != NULL;
        right &= wcodec_context_devices(context, &infos, &count, &err) == WCODEC_ERROR_USAGE;
        wcodec_run(context, count_task, times, 10);
        for (int i = 0; i < 10; i++)
            right &= atomic_load(&times[i]) == 1;
        right &= wcodec_context_threads(context) == 4;
        wcodec_context_destroy(context);
        _exit(right ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    run_all(context);
    wcodec_context_destroy(context);
    assert_int_equal(wcodec_context_usable(NULL, NULL), WCODEC_ERROR_USAGE);
}

/* Every allocation fails once: an error, or less speed, and nothing is left behind. */
static void test_failing_allocations(void **state)
{
    (void)state;
    unsigned failures = 0;
    for (long n = 0;; n++) {
        struct support_allocator counts;
        wcodec_context *context;
        wcodec_options o;
        wcodec_error err = {0};
        support_allocator_init(&counts, n);
        counts.once = true;
        wcodec_options_init(&o);
        o.allocator = counts.allocator;
        o.backend = n % 2 ? "cpu" : "auto";
        wcodec_status status = wcodec_context_create(&o, &context, &err);
        if (status == WCODEC_OK) {
            const wcodec_device_info *infos;
            size_t count;
            assert_true(wcodec_context_threads(context) >= 1);
            run_all(context);
            status = wcodec_context_devices(context, &infos, &count, &err);
            wcodec_context_destroy(context);
        }
        assert_int_equal(counts.balance, 0);
        assert_true(status == WCODEC_OK || (status == WCODEC_ERROR_MEMORY && err.status == status));
        failures += status != WCODEC_OK;
        if (counts.calls + 8 < n)
            break;
    }
    print_message("%u failures\n", failures);
    assert_true(failures > 10);
}

static char last_line[1024];
static unsigned log_calls;

static void keep_line(void *opaque, wcodec_log_level level, const char *text)
{
    assert_ptr_equal(opaque, last_line);
    assert_true(level >= WCODEC_LOG_ERROR && level <= WCODEC_LOG_DEBUG);
    snprintf(last_line, sizeof last_line, "%s", text);
    log_calls++;
}

static void test_log(void **state)
{
    (void)state;
    wcodec_context *context;
    wcodec_options o;
    wcodec_options_init(&o);
    o.log = keep_line;
    o.log_opaque = last_line;
    assert_int_equal(wcodec_context_create(&o, &context, NULL), WCODEC_OK);
    log_calls = 0;
    wcodec_log(context, WCODEC_LOG_INFO, "not at this level");
    assert_int_equal(log_calls, 0);
    wcodec_log(context, WCODEC_LOG_WARNING, "bad\nname %d", 5);
    assert_int_equal(log_calls, 1);
    assert_string_equal(last_line, "bad\\x0Aname 5");
    wcodec_context_destroy(context);
    /* To standard error where WCODEC_LOG asks for it. */
    int ends[2], saved = dup(STDERR_FILENO);
    assert_int_equal(pipe(ends), 0);
    setenv("WCODEC_LOG", "info", 1);
    assert_int_equal(wcodec_context_create(NULL, &context, NULL), WCODEC_OK);
    dup2(ends[1], STDERR_FILENO);
    wcodec_log(context, WCODEC_LOG_INFO, "hello");
    wcodec_log(context, WCODEC_LOG_DEBUG, "more");
    dup2(saved, STDERR_FILENO);
    close(ends[1]);
    char text[100] = {0};
    ssize_t n = read(ends[0], text, sizeof text - 1);
    assert_true(n > 0);
    assert_string_equal(text, "wcodec: info: hello\n");
    close(ends[0]);
    close(saved);
    wcodec_context_destroy(context);
    unsetenv("WCODEC_LOG");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_options),
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_run),
        cmocka_unit_test(test_shared),
        cmocka_unit_test(test_fork),
        cmocka_unit_test(test_failing_allocations),
        cmocka_unit_test(test_log),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
