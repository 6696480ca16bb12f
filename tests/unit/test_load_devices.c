/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Two devices of a backend at once, each by a context of its own: loads to both by threads, what
 * belongs to one given to the other, and CUDA's current context, streams and addresses of the
 * caller. The fake backend has two devices; others are skipped, and it is said, where there are
 * fewer. */
#include "support_load.h"
#include "support_plugins.h"

#include "backends/cuda/driver.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

static struct support_loaded model;

/* A context, and the whole model in memory of its device. */
struct on {
    const char *backend;
    unsigned index;
    wcodec_context *context;
    wcodec_reader *reader;
    wcodec_buffer *buffer;
    wcodec_load_item *items;
    size_t count;
    uint64_t size;
    const char *failed; /* by a thread: what went wrong */
    wcodec_error err;
};

static void open_on(struct on *o, const char *backend, unsigned index)
{
    char name[64];
    wcodec_device_handles handles;
    snprintf(name, sizeof name, "%s:%u", backend, index);
    *o = (struct on){
        .backend = backend, .index = index, .context = support_load_context(name, 2, NULL, NULL)};
    assert_int_equal(wcodec_context_device(o->context, &handles, &o->err), WCODEC_OK);
    assert_string_equal(handles.backend, backend);
    assert_int_equal(handles.index, index);
    o->reader = support_load_open(o->context, &model);
    o->count = wcodec_reader_tensor_count(o->reader);
    o->items = calloc(o->count, sizeof *o->items);
    assert_int_equal(wcodec_load_layout(o->reader, 0, o->items, &o->size, &o->err), WCODEC_OK);
    if (wcodec_buffer_create(o->context, o->size, &o->buffer, &o->err) != WCODEC_OK)
        fail_msg("%s", o->err.text);
}

static void close_on(struct on *o)
{
    wcodec_buffer_destroy(o->buffer);
    wcodec_reader_close(o->reader);
    wcodec_context_destroy(o->context);
    free(o->items);
}

/* Load all to `native`, by the options. */
static wcodec_status load(struct on *o, uint64_t native, wcodec_load_options *options)
{
    for (size_t i = 0; i < o->count; i++)
        o->items[i].destination = native;
    options->memory = o->backend;
    return wcodec_load(o->reader, o->items, o->count, options, NULL, &o->err);
}

/* Is it in these bytes? NULL, or what is wrong. */
static const char *compare(const struct on *o, const uint8_t *got)
{
    for (size_t i = 0; i < o->count; i++) {
        uint64_t size;
        const uint8_t *original = support_loaded_bytes(&model, o->reader, i, &size);
        if (memcmp(got + o->items[i].offset, original, size) != 0)
            return "a tensor differs";
    }
    return NULL;
}

static const char *load_and_compare(struct on *o)
{
    wcodec_load_options options;
    wcodec_load_options_init(&options);
    options.host_memory = 4 << 20;
    if (load(o, wcodec_buffer_native(o->buffer), &options) != WCODEC_OK)
        return o->err.text;
    uint8_t *got = malloc(o->size);
    const char *wrong = wcodec_buffer_read(o->buffer, 0, got, o->size, &o->err) == WCODEC_OK
                            ? compare(o, got)
                            : o->err.text;
    free(got);
    return wrong;
}

static void *load_often(void *argument)
{
    struct on *o = argument;
    for (unsigned i = 0; i < 5 && o->failed == NULL; i++)
        o->failed = load_and_compare(o);
    return NULL;
}

/* Each byte is decoded by one of them, and is then on both. */
static void load_many(struct on *on)
{
    wcodec_load_target targets[2];
    wcodec_load_report reports[2];
    wcodec_load_options options;
    wcodec_load_options_init(&options);
    options.host_memory = 4 << 20;
    for (unsigned i = 0; i < 2; i++) {
        for (size_t k = 0; k < on[i].count; k++)
            on[i].items[k].destination = wcodec_buffer_native(on[i].buffer);
        targets[i] = (wcodec_load_target){.context = on[i].context,
                                          .memory = on[i].backend,
                                          .items = on[i].items,
                                          .count = on[i].count};
    }
    for (unsigned k = 0; k < 5; k++)
        if (wcodec_load_many(on[0].reader, targets, 2, &options, reports, &on[0].err) != WCODEC_OK)
            fail_msg("%s", on[0].err.text);
    for (unsigned i = 0; i < 2; i++) {
        uint8_t *got = malloc(on[i].size);
        assert_true(reports[i].received_bytes > reports[i].bytes / 4);
        assert_int_equal(wcodec_buffer_read(on[i].buffer, 0, got, on[i].size, &on[i].err),
                         WCODEC_OK);
        const char *wrong = compare(&on[i], got);
        if (wrong != NULL)
            fail_msg("%s:%u: %s", on[i].backend, on[i].index, wrong);
        free(got);
    }
}

static void both(const char *backend)
{
    struct on on[2];
    pthread_t threads[2];
    wcodec_load_options options;
    const wcodec_device_info *devices;
    size_t count, usable = 0;
    for (unsigned i = 0; i < 2; i++)
        open_on(&on[i], backend, i);
    assert_int_equal(wcodec_context_devices(on[1].context, &devices, &count, &on[1].err),
                     WCODEC_OK);
    for (size_t i = 0; i < count; i++) {
        usable += strcmp(devices[i].backend, backend) == 0 && devices[i].available;
        assert_int_equal(devices[i].chosen != 0,
                         strcmp(devices[i].backend, backend) == 0 && devices[i].index == 1);
    }
    assert_true(usable >= 2);
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, load_often, &on[i]), 0);
    for (unsigned i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    for (unsigned i = 0; i < 2; i++)
        if (on[i].failed != NULL)
            fail_msg("%s:%u: %s", backend, i, on[i].failed);
    load_many(on);
    /* Memory of the other device is the caller's error, and nothing is lost by it. */
    wcodec_load_options_init(&options);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(load(&on[i], wcodec_buffer_native(on[1 - i].buffer), &options),
                         WCODEC_ERROR_USAGE);
        print_message("%s\n", on[i].err.text);
        const char *wrong = load_and_compare(&on[i]);
        if (wrong != NULL)
            fail_msg("%s:%u: %s", backend, i, wrong);
    }
    close_on(&on[0]);
    assert_null(load_and_compare(&on[1]));
    close_on(&on[1]);
}

static void test_fake(void **state)
{
    (void)state;
    setenv("WCODEC_FAKE", "", 1);
    both("fake");
}

/* Usable devices of a plugin of the build tree, which it is left to find. */
static unsigned find_devices(const char *backend)
{
    wcodec_options options;
    wcodec_context *context;
    const wcodec_device_info *devices;
    size_t count;
    unsigned usable = 0;
    wcodec_error err;
    if (!support_load_plugin(backend))
        return 0;
    wcodec_options_init(&options);
    options.backend = backend;
    if (wcodec_context_create(&options, &context, &err) != WCODEC_OK) {
        print_message("skipped: %s\n", err.text);
        return 0;
    }
    assert_int_equal(wcodec_context_devices(context, &devices, &count, &err), WCODEC_OK);
    for (size_t i = 0; i < count; i++)
        usable += strcmp(devices[i].backend, backend) == 0 && devices[i].available;
    wcodec_context_destroy(context);
    return usable;
}

static void both_of_plugin(const char *backend)
{
    const unsigned usable = find_devices(backend);
    if (usable >= 2)
        both(backend);
    else
        print_message("skipped: %u devices of %s\n", usable, backend);
    support_load_plugin(NULL);
    if (usable < 2)
        skip();
}

static void test_opencl(void **state)
{
    (void)state;
    both_of_plugin("opencl");
}

/* Of two backends, through host memory. */
static void test_opencl_and_cpu(void **state)
{
    (void)state;
    struct on on[2];
    if (find_devices("opencl") == 0) {
        support_load_plugin(NULL);
        skip();
    }
    open_on(&on[0], "opencl", 0);
    open_on(&on[1], "cpu", 0);
    load_many(on);
    close_on(&on[0]);
    close_on(&on[1]);
    support_load_plugin(NULL);
}

static void test_cuda(void **state)
{
    (void)state;
    both_of_plugin("cuda");
}

/* The driver as a caller has it: what the plugin does not need is found by name. */
struct caller {
    struct wcodec_cuda_driver cu;
    cu_result (*current)(cu_context *);
    cu_result (*create)(cu_context *, unsigned, cu_device);
    cu_result (*destroy)(cu_context);
    cu_context own, primary; /* of device 0 */
};

static void good(cu_result result)
{
    assert_int_equal(result, 0);
}

static void find(const struct caller *c, const char *symbol, void *function)
{
    void *found = dlsym(c->cu.library, symbol);
    assert_non_null(found);
    memcpy(function, &found, sizeof found);
}

static void expect_current(const struct caller *c, cu_context wanted)
{
    cu_context now = NULL;
    good(c->current(&now));
    assert_ptr_equal(now, wanted);
}

/* Everything is given by the caller, with `wanted` current: an address and a stream of device 0's
 * primary context, and a stream of another context. */
static void load_for(const struct caller *c, struct on *o, cu_context wanted, cu_stream stream,
                     cu_stream other)
{
    cu_pointer address;
    cu_context popped;
    wcodec_load_options options;
    uint8_t *got = calloc(1, o->size);
    expect_current(c, wanted);
    good(c->cu.context_push(c->primary));
    good(c->cu.allocate(&address, o->size));
    good(c->cu.context_pop(&popped));
    wcodec_load_options_init(&options);
    options.use_queue = 1;
    options.queue = (uint64_t)(uintptr_t)other;
    assert_int_equal(load(o, address, &options), WCODEC_ERROR_USAGE);
    print_message("%s\n", o->err.text);
    expect_current(c, wanted);
    options.queue = (uint64_t)(uintptr_t)stream;
    if (load(o, address, &options) != WCODEC_OK)
        fail_msg("%s", o->err.text);
    expect_current(c, wanted);
    good(c->cu.context_push(c->primary));
    good(c->cu.copy_out(got, address, o->size, stream));
    good(c->cu.stream_wait(stream));
    good(c->cu.release(address));
    good(c->cu.context_pop(&popped));
    assert_null(compare(o, got));
    expect_current(c, wanted);
    free(got);
}

static void test_cuda_callers(void **state)
{
    (void)state;
    struct caller c = {.own = NULL};
    struct on on;
    char text[128];
    cu_context popped;
    cu_stream stream, other;
    cu_device device;
    if (find_devices("cuda") == 0) {
        support_load_plugin(NULL);
        skip();
    }
    assert_null(wcodec_cuda_driver_open(&c.cu, text, sizeof text));
    find(&c, "cuCtxGetCurrent", &c.current);
    find(&c, "cuCtxCreate_v2", &c.create);
    find(&c, "cuCtxDestroy_v2", &c.destroy);
    good(c.cu.init(0));
    expect_current(&c, NULL);
    open_on(&on, "cuda", 0);
    expect_current(&c, NULL);
    good(c.cu.device_get(&device, 0));
    good(c.cu.context_retain(&c.primary, device));
    good(c.cu.context_push(c.primary));
    good(c.cu.stream_create(&stream, CU_STREAM_NON_BLOCKING));
    good(c.cu.context_pop(&popped));
    /* The last device: the only one, or another than that of the load. */
    int count;
    good(c.cu.device_count(&count));
    good(c.cu.device_get(&device, count - 1));
    good(c.create(&c.own, 0, device)); /* current from now on */
    good(c.cu.stream_create(&other, CU_STREAM_NON_BLOCKING));
    load_for(&c, &on, c.own, stream, other);
    good(c.cu.context_pop(&popped));
    load_for(&c, &on, NULL, stream, other);
    good(c.cu.context_push(c.primary));
    load_for(&c, &on, c.primary, stream, other);
    good(c.cu.stream_destroy(stream));
    good(c.cu.context_pop(&popped));
    close_on(&on);
    expect_current(&c, NULL);
    good(c.destroy(c.own));
    good(c.cu.device_get(&device, 0));
    good(c.cu.context_release(device));
    support_load_plugin(NULL);
}

static int set_up(void **state)
{
    (void)state;
    setenv("HWLOC_COMPONENTS", "-opencl,-cuda,-nvml,-gl",
           1); /* PoCL asks hwloc, whose OpenCL component asks PoCL */
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
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_fake), cmocka_unit_test(test_opencl),
                                       cmocka_unit_test(test_opencl_and_cpu),
                                       cmocka_unit_test(test_cuda),
                                       cmocka_unit_test(test_cuda_callers)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
