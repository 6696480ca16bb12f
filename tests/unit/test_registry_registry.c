/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "support_plugins.h"

#include "registry/registry.h"
#include "core/context.h"
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static char lines[16][1024];
static unsigned line_count;

static void keep_line(void *opaque, wcodec_log_level level, const char *text)
{
    (void)opaque, (void)level;
    if (line_count < 16)
        snprintf(lines[line_count++], sizeof lines[0], "%s", text);
}

static bool was_logged(const char *part)
{
    for (unsigned i = 0; i < line_count; i++)
        if (strstr(lines[i], part) != NULL)
            return true;
    return false;
}

static wcodec_status create(const char *backend, wcodec_context **context, wcodec_error *err)
{
    wcodec_options options;
    wcodec_options_init(&options);
    options.backend = backend;
    options.threads = 2;
    options.log = keep_line;
    options.log_level = WCODEC_LOG_INFO;
    line_count = 0;
    *context = NULL;
    memset(err, 0, sizeof *err);
    return wcodec_context_create(&options, context, err);
}

static void chooses(const char *backend, const char *device)
{
    wcodec_context *context;
    wcodec_error err;
    struct wcodec_opened *opened;
    if (create(backend, &context, &err) != WCODEC_OK)
        fail_msg("%s: %s", backend, err.text);
    if (wcodec_backends_device(context, &opened, &err) != WCODEC_OK)
        fail_msg("%s: %s", backend, err.text);
    assert_string_equal(opened->name, device);
    struct wcodec_opened *again;
    assert_int_equal(wcodec_backends_device(context, &again, &err), WCODEC_OK);
    assert_ptr_equal(opened, again);
    wcodec_context_destroy(context);
}

static void refuses(const char *backend, wcodec_status status, const char *reason)
{
    wcodec_context *context;
    wcodec_error err;
    assert_int_equal(create(backend, &context, &err), status);
    assert_null(context);
    print_message("%s\n", err.text);
    if (strstr(err.text, reason) == NULL)
        fail_msg("%s: %s", backend, err.text);
}

static void set_mode(const char *mode)
{
    setenv("WCODEC_FAKE", mode, 1);
}

static void test_choice(void **state)
{
    (void)state;
    set_mode("");
    chooses(NULL, "cpu:0");
    chooses("auto", "cpu:0");
    chooses("cpu", "cpu:0");
    chooses("cpu:0", "cpu:0");
    chooses("fake", "fake:0");
    chooses("fake:1", "fake:1");
    chooses("fake:2,cpu", "cpu:0");
    chooses("nonesuch,fake:1,cpu", "fake:1");
    chooses("fakeabi,auto", "cpu:0");
    set_mode("unlisted");
    chooses("fake", "fake:1");
    refuses("fake:0", WCODEC_ERROR_BACKEND, "fake:0 cannot be used: architecture 1.0 is too old");
}

static void test_refusals(void **state)
{
    (void)state;
    set_mode("");
    refuses("cpu:1", WCODEC_ERROR_BACKEND, "cpu:1 cannot be used: there is no such device");
    refuses("fake:2", WCODEC_ERROR_BACKEND, "fake:2 cannot be used: there is no such device");
    refuses("cuda", WCODEC_ERROR_BACKEND, "wcodec_cuda.so: not installed");
    refuses("nonesuch,fakename", WCODEC_ERROR_BACKEND, "; fakename cannot be used: ");
    refuses("fakemissing", WCODEC_ERROR_BACKEND, "has no function close");
    refuses("fakeundefined", WCODEC_ERROR_BACKEND, "cannot be opened");
    refuses("fakesymbol", WCODEC_ERROR_BACKEND, "no symbol");
    refuses("fakeabi", WCODEC_ERROR_BACKEND, "another version");
    refuses("b ad", WCODEC_ERROR_USAGE, "the backend is \"b ad\"");
    set_mode("nodriver");
    refuses("fake", WCODEC_ERROR_BACKEND, "fake cannot be used: libfake.so.1 not found");
    set_mode("nodevices");
    refuses("fake", WCODEC_ERROR_BACKEND, "no device found");
    set_mode("noopen");
    refuses("fake", WCODEC_ERROR_BACKEND, "in use by another process");
    set_mode("wrong");
    refuses("fake", WCODEC_ERROR_BACKEND, "it decodes wrongly");
    chooses("fake,cpu", "cpu:0");
    assert_true(was_logged("fake:0 cannot be used: it decodes wrongly"));
    set_mode("");
}

/* What the parent has used is refused in a child, and "auto" goes on without it. */
static void test_fork(void **state)
{
    (void)state;
    set_mode("");
    chooses("fake", "fake:0");
    fflush(NULL);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        alarm(60);
        wcodec_context *context = NULL;
        wcodec_error err;
        char reason[64];
        snprintf(reason, sizeof reason, "process %ld used it before fork()", (long)getppid());
        bool right = create("fake", &context, &err) == WCODEC_ERROR_BACKEND &&
                     strstr(err.text, reason) != NULL;
        struct wcodec_opened *opened;
        right = right && create("fake,cpu", &context, &err) == WCODEC_OK &&
                wcodec_backends_device(context, &opened, &err) == WCODEC_OK &&
                strcmp(opened->name, "cpu:0") == 0;
        wcodec_context_destroy(context);
        _exit(right ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    chooses("fake", "fake:0");
}

static void test_environment(void **state)
{
    (void)state;
    set_mode("");
    setenv("WCODEC_BACKEND", "fake:1", 1);
    chooses(NULL, "fake:1");
    chooses("cpu", "cpu:0"); /* the option goes before the variable */
    setenv("WCODEC_BACKEND", "nonesuch", 1);
    refuses(NULL, WCODEC_ERROR_BACKEND, "wcodec_nonesuch.so: not installed");
    setenv("WCODEC_BACKEND", "cpu;cuda", 1);
    refuses(NULL, WCODEC_ERROR_USAGE, "WCODEC_BACKEND is \"cpu;cuda\"");
    setenv("WCODEC_BACKEND", "", 1);
    chooses(NULL, "cpu:0");
    unsetenv("WCODEC_BACKEND");
}

static const wcodec_device_info *find(const wcodec_device_info *infos, size_t count,
                                      const char *backend, unsigned index)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(infos[i].backend, backend) == 0 && infos[i].index == index)
            return &infos[i];
    fail_msg("%s:%u is not listed", backend, index);
    return NULL;
}

static void test_devices(void **state)
{
    (void)state;
    wcodec_context *context;
    wcodec_error err;
    const wcodec_device_info *infos;
    size_t count;
    set_mode("unlisted");
    assert_int_equal(create("fakeabi,fake,auto", &context, &err), WCODEC_OK);
    for (int round = 0; round < 2; round++) {
        assert_int_equal(wcodec_context_devices(context, &infos, &count, &err), WCODEC_OK);
        assert_int_equal(count, 6);
        const wcodec_device_info *cpu = find(infos, count, "cpu", 0),
                                 *one = find(infos, count, "fake", 1),
                                 *zero = find(infos, count, "fake", 0);
        assert_true(cpu->available && !cpu->chosen && cpu->memory > 0);
        assert_string_equal(cpu->plugin_path, "");
        assert_true(cpu->driver[0] != '\0');
        assert_true(one->available && one->chosen);
        assert_string_equal(one->name, "Fake 1");
        assert_string_equal(one->driver, "fake 1.0");
        assert_non_null(strstr(one->plugin_path, "/wcodec_fake.so"));
        assert_true(!zero->available && !zero->chosen);
        assert_string_equal(zero->name, "architecture 1.0 is too old");
        assert_false(find(infos, count, "cuda", 0)->available);
        assert_non_null(strstr(find(infos, count, "opencl", 0)->name, "not installed"));
        assert_non_null(strstr(find(infos, count, "fakeabi", 0)->name, "another version"));
    }
    assert_int_equal(wcodec_context_devices(context, NULL, &count, &err), WCODEC_ERROR_USAGE);
    wcodec_context_destroy(context);
    set_mode("");
    assert_int_equal(create(NULL, &context, &err), WCODEC_OK);
    assert_int_equal(line_count, 0); /* nothing is opened before it is needed */
    assert_int_equal(wcodec_context_devices(context, &infos, &count, &err), WCODEC_OK);
    assert_int_equal(count, 3);
    assert_true(find(infos, count, "cpu", 0)->chosen);
    assert_true(was_logged("cuda cannot be used") && was_logged("opencl cannot be used"));
    wcodec_context_destroy(context);
}

static void test_lost(void **state)
{
    (void)state;
    wcodec_context *context;
    wcodec_error err;
    struct wcodec_opened *opened, *after;
    const wcodec_device_info *infos;
    size_t count;
    set_mode("");
    assert_int_equal(create("fake,cpu", &context, &err), WCODEC_OK);
    assert_int_equal(wcodec_backends_device(context, &opened, &err), WCODEC_OK);
    assert_true(opened->cpu_allowed);
    wcodec_backends_lose(context, opened, "it smokes");
    wcodec_backends_lose(context, opened, "it still smokes");
    assert_true(was_logged("fake:0 is used no more: it smokes") && !was_logged("still"));
    assert_int_equal(wcodec_backends_device(context, &after, &err), WCODEC_OK);
    assert_string_equal(after->name, "cpu:0");
    assert_int_equal(wcodec_context_devices(context, &infos, &count, &err), WCODEC_OK);
    assert_false(find(infos, count, "fake", 0)->available);
    wcodec_context_destroy(context);
    assert_int_equal(create("fake", &context, &err), WCODEC_OK);
    assert_int_equal(wcodec_backends_device(context, &opened, &err), WCODEC_OK);
    wcodec_backends_lose(context, opened, "it smokes");
    assert_int_equal(wcodec_backends_device(context, &after, &err), WCODEC_ERROR_DEVICE);
    wcodec_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_choice),  cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_fork),    cmocka_unit_test(test_environment),
        cmocka_unit_test(test_devices), cmocka_unit_test(test_lost)};
    return cmocka_run_group_tests(tests, support_find_plugins, NULL);
}
