/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "support_plugins.h"

#include "support_conform.h"
#include "support_hostile.h"

#include "registry/host.h"
#include "registry/loader.h"
#include "backends/cpu/cpu.h"
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void refused(const char *folder, const char *name, bool privileged, const char *reason)
{
    char path[WCODEC_PLUGIN_PATH_MAX];
    const struct wcodec_backend *backend = NULL;
    wcodec_error err = {0};
    assert_int_equal(wcodec_plugin_open(folder, name, privileged, path, &backend, &err),
                     WCODEC_ERROR_BACKEND);
    assert_null(backend);
    print_message("%s\n", err.text);
    assert_non_null(strstr(err.text, reason));
    assert_int_equal(err.status, WCODEC_ERROR_BACKEND);
}

static void test_refusals(void **state)
{
    (void)state;
    char *folder = support_plugin_folder();
    refused(folder, "nonesuch", false,
            "there is no such backend (wcodec's own are cpu, cuda and opencl); as");
    refused("/nonexistent", "cuda", false, "/nonexistent/wcodec_cuda.so: not installed");
    refused(folder, "fakeundefined", false, "cannot be opened: ");
    refused(folder, "fakeundefined", false, "wcodec_fake_function_of_nobody");
    refused(folder, "fakesymbol", false, "it has no symbol wcodec_backend_fakesymbol");
    char abi[80];
    snprintf(abi, sizeof abi, "made for ABI %u, this library has %u", WCODEC_BACKEND_ABI + 1,
             WCODEC_BACKEND_ABI);
    refused(folder, "fakeabi", false, abi);
    refused(folder, "fakeabi", false, "built for another version of wcodec");
    refused(folder, "fakesize", false,
            "built from other sources of wcodec: struct wcodec_job has ");
    refused(folder, "fakename", false, "calls itself \"cuda\", expected \"fakename\"");
    refused(folder, "fakemissing", false, "has no function close");
    refused(folder, "fake", true, "raised privileges");
    refused("relative/path", "fake", false, "expected an absolute path");
    refused("", "fake", false, "expected an absolute path");
    char *deep = calloc(1, WCODEC_PLUGIN_PATH_MAX + 10);
    memset(deep, '/', WCODEC_PLUGIN_PATH_MAX + 1);
    refused(deep, "fake", false, "too long");
    free(deep);
    free(folder);
}

static void test_no_shared_object(void **state)
{
    (void)state;
    char folder[] = "/tmp/wcodec-loader.XXXXXX", path[200];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/wcodec_text.so", folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs("not a shared object\n", file);
    fclose(file);
    refused(folder, "text", false, "cannot be opened: ");
    unlink(path);
    mkdir(path, 0700);
    refused(folder, "text", false, "cannot be opened: ");
    rmdir(path);
    /* Nobody writes to it: who opens it would wait. */
    assert_int_equal(mkfifo(path, 0600), 0);
    refused(folder, "text", false, "it is not a regular file");
    unlink(path);
    rmdir(folder);
}

/* As an upgrade leaves it that was interrupted: at each of these sizes dlopen() died of it, or says
 * itself what is wrong. */
static void test_cut_off(void **state)
{
    (void)state;
    char folder[] = "/tmp/wcodec-loader.XXXXXX", path[200], whole[4096];
    char *plugins = support_plugin_folder();
    assert_non_null(mkdtemp(folder));
    snprintf(whole, sizeof whole, "%s/wcodec_fake.so", plugins);
    snprintf(path, sizeof path, "%s/wcodec_fake.so", folder);
    FILE *from = fopen(whole, "rb"), *to = fopen(path, "wb");
    assert_non_null(from);
    assert_non_null(to);
    for (int byte; (byte = getc(from)) != EOF;)
        putc(byte, to);
    fclose(from);
    fclose(to);
    static const off_t sizes[] = {12000, 5000, 4096, 2000, 200, 100, 64, 20, 0};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        assert_int_equal(truncate(path, sizes[i]), 0);
        refused(folder, "fake", false, "cannot be opened: ");
    }
    unlink(path);
    rmdir(folder);
    free(plugins);
}

/* Each function that is missing is named. */
static void test_each_function(void **state)
{
    (void)state;
    wcodec_error err;
    unsigned functions = 0;
    assert_int_equal(wcodec_plugin_check(&wcodec_backend_cpu, "cpu", "x.so", &err), WCODEC_OK);
    char seen[64][1024];
    for (size_t offset = offsetof(struct wcodec_backend, open);
         offset < sizeof(struct wcodec_backend); offset += sizeof(void (*)(void))) {
        struct wcodec_backend copy = wcodec_backend_cpu;
        memset((char *)&copy + offset, 0, sizeof(void (*)(void)));
        assert_int_equal(wcodec_plugin_check(&copy, "cpu", "x.so", &err), WCODEC_ERROR_BACKEND);
        assert_non_null(strstr(err.text, "x.so has no function "));
        for (unsigned i = 0; i < functions; i++)
            assert_string_not_equal(seen[i], err.text);
        snprintf(seen[functions++], sizeof seen[0], "%s", err.text);
    }
    assert_int_equal(functions, 32);
    struct wcodec_backend copy = wcodec_backend_cpu;
    copy.name = NULL;
    assert_int_equal(wcodec_plugin_check(&copy, "cpu", "x.so", &err), WCODEC_ERROR_BACKEND);
    copy = wcodec_backend_cpu;
    copy.abi++;
    assert_int_equal(wcodec_plugin_check(&copy, "cpu", "x.so", &err), WCODEC_ERROR_BACKEND);
}

/* Each structure of another size is named, with both. */
static void test_each_size(void **state)
{
    (void)state;
    wcodec_error err;
    char expected[100], seen[WCODEC_BACKEND_STRUCTURE_COUNT][sizeof err.text];
    for (unsigned i = 0; i < WCODEC_BACKEND_STRUCTURE_COUNT; i++) {
        struct wcodec_backend copy = wcodec_backend_cpu;
        const unsigned size = copy.sizes[i];
        copy.sizes[i] = size + 8;
        assert_int_equal(wcodec_plugin_check(&copy, "cpu", "x.so", &err), WCODEC_ERROR_BACKEND);
        snprintf(expected, sizeof expected, " has %u bytes there, %u here", size + 8, size);
        assert_non_null(strstr(err.text, "x.so was built from other sources of wcodec: struct "));
        assert_non_null(strstr(err.text, expected));
        for (unsigned k = 0; k < i; k++)
            assert_string_not_equal(seen[k], err.text);
        snprintf(seen[i], sizeof seen[i], "%s", err.text);
    }
}

/* The good fake is opened, and passes the suite that GPUs must pass. */
static void test_conform(void **state)
{
    (void)state;
    char *folder = support_plugin_folder(), path[WCODEC_PLUGIN_PATH_MAX];
    const struct wcodec_backend *backend, *again;
    struct wcodec_backend_state *fake;
    struct wcodec_device *device;
    struct wcodec_host host;
    wcodec_context *context;
    wcodec_error err = {0};
    unsetenv("WCODEC_FAKE");
    if (wcodec_plugin_open(folder, "fake", false, path, &backend, &err) != WCODEC_OK)
        fail_msg("%s", err.text);
    assert_string_equal(backend->name, "fake");
    assert_int_equal(strncmp(path, folder, strlen(folder)), 0);
    assert_int_equal(wcodec_plugin_open(folder, "fake", false, path, &again, &err), WCODEC_OK);
    assert_ptr_equal(backend, again);
    assert_int_equal(wcodec_context_create(NULL, &context, &err), WCODEC_OK);
    wcodec_host_init(&host, context);
    assert_int_equal(backend->open(&host, &fake, &err), WCODEC_OK);
    support_conform(backend, fake, 0);
    assert_int_equal(backend->device_open(fake, 0, &device, &err), WCODEC_OK);
    support_hostile(backend, device, support_quick());
    support_flips(backend, device, 61);
    backend->device_close(device);
    backend->close(fake);
    wcodec_context_destroy(context);
    free(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refusals),  cmocka_unit_test(test_no_shared_object),
        cmocka_unit_test(test_cut_off),   cmocka_unit_test(test_each_function),
        cmocka_unit_test(test_each_size), cmocka_unit_test(test_conform)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
