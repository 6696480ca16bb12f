/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Loads to several devices at once: what they share is decoded once and passed on, by copies
 * between devices or through the host; and failures at every step. */
#include "load/load.h"
#include "support_load.h"
#include "support_plugins.h"

#include <string.h>

enum { MOST = 3 };
static struct support_loaded model;

/* Contexts, and memory of each for all tensors; what a device is to get is chosen by the test. */
struct set {
    size_t count;
    wcodec_context *contexts[MOST];
    wcodec_buffer *buffers[MOST];
    wcodec_load_item *items[MOST];
    wcodec_load_target targets[MOST];
    wcodec_load_report reports[MOST];
    wcodec_reader *reader;
    size_t tensors;
    uint64_t size;
    wcodec_error err;
};

static void open_set(struct set *s, const char *mode, const char *const *names, size_t count,
                     const wcodec_allocator *allocator, struct support_lines *lines)
{
    wcodec_device_handles handles;
    *s = (struct set){.count = count};
    setenv("WCODEC_FAKE", mode, 1);
    for (size_t i = 0; i < count; i++) {
        s->contexts[i] = support_load_context(names[i], 2, allocator, lines);
        assert_int_equal(wcodec_context_device(s->contexts[i], &handles, &s->err), WCODEC_OK);
        s->targets[i].context = s->contexts[i];
        s->targets[i].memory = handles.backend;
    }
    s->reader = support_load_open(s->contexts[0], &model);
    s->tensors = wcodec_reader_tensor_count(s->reader);
    for (size_t i = 0; i < count; i++) {
        s->items[i] = calloc(s->tensors, sizeof *s->items[i]);
        assert_int_equal(wcodec_load_layout(s->reader, 0, s->items[i], &s->size, &s->err),
                         WCODEC_OK);
        s->targets[i].items = s->items[i];
        s->targets[i].count = s->tensors;
    }
}

static wcodec_status make_buffers(struct set *s)
{
    for (size_t i = 0; i < s->count; i++) {
        const wcodec_status status =
            wcodec_buffer_create(s->contexts[i], s->size, &s->buffers[i], &s->err);
        if (status != WCODEC_OK)
            return status;
        for (size_t k = 0; k < s->tensors; k++)
            s->items[i][k].destination = wcodec_buffer_native(s->buffers[i]);
    }
    return WCODEC_OK;
}

static wcodec_status load(struct set *s, const wcodec_progress *progress)
{
    wcodec_load_options options;
    wcodec_load_options_init(&options);
    options.host_memory = 2 << 20;
    if (progress != NULL)
        options.progress = *progress;
    return wcodec_load_many(s->reader, s->targets, s->count, &options, s->reports, &s->err);
}

static void close_set(struct set *s)
{
    wcodec_reader_close(s->reader);
    for (size_t i = 0; i < s->count; i++) {
        wcodec_buffer_destroy(s->buffers[i]);
        wcodec_context_destroy(s->contexts[i]);
        free(s->items[i]);
    }
}

/* Rows of an item, in bytes of its tensor. */
static void check_item(const struct set *s, const wcodec_load_item *item, const uint8_t *got)
{
    uint64_t size, begin = 0, end;
    wcodec_tensor_info info;
    const uint8_t *original = support_loaded_bytes(&model, s->reader, item->tensor, &size);
    end = size;
    assert_int_equal(wcodec_reader_tensor(s->reader, item->tensor, &info, NULL), WCODEC_OK);
    if (item->rows != 0) {
        begin = size / info.shape[0] * item->first_row;
        end = begin + size / info.shape[0] * item->rows;
    }
    assert_memory_equal(got + item->offset, original + begin, end - begin);
}

static void check_all(struct set *s)
{
    uint8_t *got = malloc(s->size);
    for (size_t i = 0; i < s->count; i++) {
        if (wcodec_buffer_read(s->buffers[i], 0, got, s->size, &s->err) != WCODEC_OK)
            fail_msg("%s", s->err.text);
        for (size_t k = 0; k < s->targets[i].count; k++)
            check_item(s, &s->items[i][k], got);
    }
    free(got);
}

static uint64_t coded_alone(void)
{
    static const char *const cpu[] = {"cpu"};
    struct set s;
    open_set(&s, "", cpu, 1, NULL, NULL);
    assert_int_equal(make_buffers(&s), WCODEC_OK);
    assert_int_equal(load(&s, NULL), WCODEC_OK);
    check_all(&s);
    assert_int_equal(s.reports[0].received_bytes, 0);
    close_set(&s);
    return s.reports[0].coded_bytes;
}

/* Copies of all: coded bytes are read once, and each device decodes about as much. */
static void copies_of_all(const char *mode, const char *const *names, size_t count)
{
    struct set s;
    uint64_t coded = 0, decoded = 0;
    const uint64_t alone = coded_alone();
    open_set(&s, mode, names, count, NULL, NULL);
    assert_int_equal(make_buffers(&s), WCODEC_OK);
    if (load(&s, NULL) != WCODEC_OK)
        fail_msg("%s", s.err.text);
    check_all(&s);
    for (size_t i = 0; i < count; i++) {
        coded += s.reports[i].coded_bytes;
        decoded += s.reports[i].bytes - s.reports[i].received_bytes;
        print_message("%s: %llu bytes, %llu received, %llu coded\n", names[i],
                      (unsigned long long)s.reports[i].bytes,
                      (unsigned long long)s.reports[i].received_bytes,
                      (unsigned long long)s.reports[i].coded_bytes);
    }
    assert_true(coded < alone + alone / 20); /* what a tensor that is cut begins with comes twice */
    for (size_t i = 0; i < count; i++) {
        const uint64_t own = s.reports[i].bytes - s.reports[i].received_bytes;
        assert_true(own > decoded / count / 2 && own < decoded / count * 3 / 2);
    }
    close_set(&s);
}

static const char *const two[] = {"fake:0", "fake:1"}, *const three[] = {"fake:0", "cpu", "fake:1"},
                         *const cpus[] = {"cpu", "cpu"}, *const same[] = {"fake:1", "fake:1"};

static void test_copies(void **state)
{
    (void)state;
    copies_of_all("", two, 2);
    copies_of_all("nopeers", two, 2);
    copies_of_all("", three, 3);
    copies_of_all("", cpus, 2);
    copies_of_all("", same, 2);
    copies_of_all("nofixed", two, 2);
}

/* Some tensors for both, some for one, rows of the large one for each, and the same ones again. */
static void test_parts(void **state)
{
    (void)state;
    static const char *const modes[] = {"", "nopeers", "unsupported", "nopinned"};
    for (size_t m = 0; m < sizeof modes / sizeof modes[0]; m++) {
        struct set s;
        open_set(&s, modes[m], three, 3, NULL, NULL);
        assert_int_equal(make_buffers(&s), WCODEC_OK);
        for (size_t i = 0; i < 3; i++) {
            size_t kept = 0;
            for (size_t k = 0; k < s.tensors; k++) {
                wcodec_tensor_info info;
                wcodec_load_item item = s.items[i][k];
                assert_int_equal(wcodec_reader_tensor(s.reader, k, &info, NULL), WCODEC_OK);
                if (k % 3 == i && k % 2 != 0)
                    continue;
                if (info.shape[0] > 1000) {
                    item.first_row = k % 4 == 0 ? info.shape[0] / 3 * i : 7;
                    item.rows = info.shape[0] / 3;
                }
                s.items[i][kept++] = item;
            }
            s.targets[i].count = kept;
        }
        if (load(&s, NULL) != WCODEC_OK)
            fail_msg("%s: %s", modes[m], s.err.text);
        check_all(&s);
        close_set(&s);
    }
}

static void test_nothing(void **state)
{
    (void)state;
    struct set s;
    open_set(&s, "", two, 2, NULL, NULL);
    assert_int_equal(make_buffers(&s), WCODEC_OK);
    s.targets[1].count = 0;
    assert_int_equal(load(&s, NULL), WCODEC_OK);
    check_all(&s);
    assert_int_equal(s.reports[1].bytes, 0);
    s.targets[0].count = 0;
    assert_int_equal(load(&s, NULL), WCODEC_OK);
    close_set(&s);
}

static void check_staging(const struct set *s, size_t count, uint64_t asked, uint64_t expected)
{
    struct wcodec_load_request requests[MOST];
    wcodec_load_options options;
    wcodec_error err;
    wcodec_load_options_init(&options);
    options.host_memory = asked;
    assert_int_equal(
        wcodec_load_requests_create(s->reader, s->targets, count, &options, requests, &err),
        WCODEC_OK);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(requests[i].slot_bytes * requests[i].streams, expected);
        wcodec_load_request_free(&requests[i]);
    }
}

/* Of each device, as include/wcodec/load.h says; less where there are several. */
static void test_staging(void **state)
{
    (void)state;
    struct set s;
    open_set(&s, "", two, 2, NULL, NULL);
    assert_int_equal(make_buffers(&s), WCODEC_OK);
    check_staging(&s, 1, 0, 96 << 20);
    check_staging(&s, 2, 0, 64 << 20);
    check_staging(&s, 1, 8 << 20, 8 << 20);
    check_staging(&s, 2, 8 << 20, 8 << 20);
    close_set(&s);
}

static void refuse(struct set *s, const wcodec_load_options *options, size_t count,
                   const char *expected)
{
    assert_int_equal(wcodec_load_many(s->reader, s->targets, count, options, s->reports, &s->err),
                     WCODEC_ERROR_USAGE);
    if (strstr(s->err.text, expected) == NULL)
        fail_msg("%s", s->err.text);
}

static void test_usage(void **state)
{
    (void)state;
    struct set s;
    wcodec_load_options options;
    open_set(&s, "", two, 2, NULL, NULL);
    assert_int_equal(make_buffers(&s), WCODEC_OK);
    refuse(&s, NULL, 0, "0 load targets");
    refuse(&s, NULL, 257, "257 load targets");
    wcodec_load_options_init(&options);
    options.memory = "fake";
    refuse(&s, &options, 2, "the options have memory");
    wcodec_load_options_init(&options);
    options.use_queue = 1;
    refuse(&s, &options, 2, "the options have a queue");
    const wcodec_load_target good = s.targets[1];
    s.targets[1].context = NULL;
    refuse(&s, NULL, 2, "load target 1: the context is NULL");
    s.targets[1] = good;
    s.targets[1].memory = NULL;
    refuse(&s, NULL, 2, "load target 1: the name of its memory's backend is NULL");
    s.targets[1] = good;
    s.targets[1].items = NULL;
    refuse(&s, NULL, 2, "load target 1: the list of items is NULL");
    s.targets[1] = good;
    s.targets[1].reserved[2] = 1;
    refuse(&s, NULL, 2, "load target");
    s.targets[1] = good;
    s.items[1][0].destination = s.items[0][0].destination;
    refuse(&s, NULL, 2, "memory of device 0 was given to device 1");
    s.targets[1].memory = "cuda";
    assert_int_equal(load(&s, NULL), WCODEC_ERROR_BACKEND);
    close_set(&s);
}

/* A caller's queue of each. */
static void test_queues(void **state)
{
    (void)state;
    struct set s;
    open_set(&s, "", two, 2, NULL, NULL);
    assert_int_equal(make_buffers(&s), WCODEC_OK);
    s.targets[0].use_queue = s.targets[1].use_queue = 1;
    s.targets[0].queue = s.targets[1].queue = 7;
    if (load(&s, NULL) != WCODEC_OK)
        fail_msg("%s", s.err.text);
    check_all(&s);
    s.targets[1].queue = 0;
    assert_int_equal(load(&s, NULL), WCODEC_ERROR_USAGE);
    close_set(&s);
}

struct watched {
    uint64_t done, total;
    unsigned calls, stop_at;
};

static int watch(void *opaque, uint64_t done, uint64_t total)
{
    struct watched *w = opaque;
    assert_true(done >= w->done && done <= total);
    w->done = done;
    w->total = total;
    return ++w->calls == w->stop_at;
}

static void test_progress(void **state)
{
    (void)state;
    static const char *const modes[] = {"", "nopeers"};
    for (unsigned i = 0; i < 4; i++) {
        struct set s;
        struct watched w = {.stop_at = i < 2 ? 0 : 1};
        const wcodec_progress progress = {.fn = watch, .opaque = &w};
        open_set(&s, modes[i % 2], two, 2, NULL, NULL);
        assert_int_equal(make_buffers(&s), WCODEC_OK);
        const wcodec_status status = load(&s, &progress);
        if (w.stop_at == 0) {
            assert_int_equal(status, WCODEC_OK);
            assert_int_equal(w.done, w.total);
            assert_int_equal(w.total, s.reports[0].bytes + s.reports[1].bytes);
        } else {
            assert_int_equal(status, WCODEC_ERROR_CANCELLED);
        }
        assert_int_equal(load(&s, NULL), WCODEC_OK);
        check_all(&s);
        close_set(&s);
    }
}

static void test_beside(void **state)
{
    (void)state;
    struct set s;
    wcodec_loading *loading;
    wcodec_load_report sum;
    uint64_t done, total;
    open_set(&s, "", two, 2, NULL, NULL);
    assert_int_equal(make_buffers(&s), WCODEC_OK);
    assert_int_equal(wcodec_load_many_start(s.reader, s.targets, 2, NULL, &loading, &s.err),
                     WCODEC_OK);
    assert_int_equal(wcodec_loading_wait(loading, &sum, &s.err), WCODEC_OK);
    wcodec_loading_progress(loading, &done, &total);
    assert_int_equal(done, total);
    assert_int_equal(sum.bytes, total);
    assert_int_equal(sum.received_bytes * 2 > total / 3, 1);
    wcodec_loading_destroy(loading);
    check_all(&s);
    assert_int_equal(wcodec_load_many_start(s.reader, s.targets, 2, NULL, &loading, &s.err),
                     WCODEC_OK);
    wcodec_loading_cancel(loading);
    const wcodec_status status = wcodec_loading_wait(loading, NULL, &s.err);
    assert_true(status == WCODEC_OK || status == WCODEC_ERROR_CANCELLED);
    wcodec_loading_destroy(loading);
    s.targets[0].memory = NULL;
    assert_int_equal(wcodec_load_many_start(s.reader, s.targets, 2, NULL, &loading, &s.err),
                     WCODEC_ERROR_USAGE);
    close_set(&s);
}

/* A device that fails is named, whoever notices it, and so is a tensor where there is one. */
static void test_failures(void **state)
{
    (void)state;
    static const char *const modes[] = {"late-peer",  "late-decode", "late-results", "late-wait",
                                        "late-event", "late-fault",  "nopeers-copy", "late-copy"};
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        struct set s;
        struct support_allocator counted;
        support_allocator_init(&counted, 1L << 40);
        open_set(&s, modes[i], two, 2, &counted.allocator, NULL);
        assert_int_equal(make_buffers(&s), WCODEC_OK);
        const wcodec_status status = load(&s, NULL);
        if (strcmp(modes[i], "nopeers-copy") == 0 || strcmp(modes[i], "late-copy") == 0) {
            assert_int_equal(status, WCODEC_OK); /* nothing goes back to the host */
        } else {
            print_message("%s: %s\n", modes[i], s.err.text);
            assert_int_equal(status, WCODEC_ERROR_DEVICE);
            assert_non_null(strstr(s.err.text, "fake:"));
            assert_non_null(strstr(s.err.text, "tensor '"));
            if (i == 0)
                assert_non_null(strstr(s.err.text, "a copy to fake:"));
        }
        close_set(&s);
        assert_int_equal(counted.balance, 0);
    }
}

/* At call n, of either device. */
static void fails_at(const char *kind, const char *const *names, size_t count, unsigned step,
                     wcodec_status expected)
{
    unsigned failed = 0, n;
    for (n = 1; n < 4000; n += 1 + n / step) {
        char mode[32];
        struct set s;
        struct support_allocator counted;
        support_allocator_init(&counted, 1L << 40);
        snprintf(mode, sizeof mode, "%s-%u", kind, n);
        open_set(&s, mode, names, count, &counted.allocator, NULL);
        wcodec_status status = make_buffers(&s);
        if (status == WCODEC_OK)
            status = load(&s, NULL);
        if (status == WCODEC_OK && expected == WCODEC_ERROR_DEVICE) {
            check_all(&s);
        } else if (status != WCODEC_OK) {
            assert_int_equal(status, expected);
            failed++;
        }
        close_set(&s);
        assert_int_equal(counted.balance, 0);
        if (status == WCODEC_OK && expected == WCODEC_ERROR_DEVICE)
            break;
        if (status == WCODEC_OK && n > 400)
            break;
    }
    print_message("%s: %u failed, up to %u\n", kind, failed, n);
    assert_true(failed > 0);
}

static void test_lost(void **state)
{
    (void)state;
    fails_at("lost", two, 2, 6, WCODEC_ERROR_DEVICE);
    fails_at("silent", two, 2, 5, WCODEC_ERROR_DEVICE);
}

static void test_memory(void **state)
{
    (void)state;
    fails_at("memory", two, 2, 6, WCODEC_ERROR_MEMORY);
}

/* Out of host memory at the n-th allocation of a load. */
static void test_host_memory(void **state)
{
    (void)state;
    unsigned failed = 0;
    for (long n = 1; n < 400; n += 1 + n / 8) {
        struct set s;
        struct support_allocator counted;
        support_allocator_init(&counted, 1L << 40);
        open_set(&s, n % 2 != 0 ? "" : "nopeers", two, 2, &counted.allocator, NULL);
        assert_int_equal(make_buffers(&s), WCODEC_OK);
        counted.left = n;
        const wcodec_status status = load(&s, NULL);
        counted.left = 1L << 40;
        assert_true(status == WCODEC_OK || status == WCODEC_ERROR_MEMORY);
        failed += status != WCODEC_OK;
        if (load(&s, NULL) != WCODEC_OK)
            fail_msg("after %ld: %s", n, s.err.text);
        check_all(&s);
        close_set(&s);
        assert_int_equal(counted.balance, 0);
    }
    assert_true(failed > 0);
}

static int set_up(void **state)
{
    (void)state;
    support_load_plugin(NULL);
    support_loaded_make(&model, support_seed());
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    support_loaded_free(&model);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_copies),      cmocka_unit_test(test_parts),
        cmocka_unit_test(test_nothing),     cmocka_unit_test(test_usage),
        cmocka_unit_test(test_queues),      cmocka_unit_test(test_progress),
        cmocka_unit_test(test_beside),      cmocka_unit_test(test_failures),
        cmocka_unit_test(test_lost),        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_host_memory), cmocka_unit_test(test_staging)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
