/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The OpenCL plugin of the build tree on every device that is there, in every form that the device
 * can run: conformance, hostile payloads, buffers by turns. "test_backend_opencl small" does
 * little, for slow simulators; "test_backend_opencl coding" codes tensors and nothing else.
 * "local", which PoCL compiles for minutes, is left out but in scripts/check --full; oclgrind.sh
 * runs a little of it in --ci. */
#include "support.h"

#include "support_coding.h"
#include "support_deltas.h"
#include "support_conform.h"
#include "support_hostile.h"
#include "support_dense.h"
#include "support_products.h"

#include "registry/host.h"
#include "registry/known_answer.h"

#include <dlfcn.h>
#include <string.h>

static const struct wcodec_backend *backend;
static bool small, coding_only;

struct opened {
    wcodec_context *context;
    struct wcodec_host host;
    struct wcodec_backend_state *state;
};

static wcodec_status open_backend(struct opened *o, wcodec_error *err)
{
    assert_int_equal(wcodec_context_create(NULL, &o->context, err), WCODEC_OK);
    wcodec_host_init(&o->host, o->context);
    const wcodec_status status = backend->open(&o->host, &o->state, err);
    if (status != WCODEC_OK)
        wcodec_context_destroy(o->context);
    return status;
}

static void close_backend(struct opened *o)
{
    backend->close(o->state);
    wcodec_context_destroy(o->context);
}

/* A tile has 32 lanes: no narrower sub-groups, and those that are wider go half empty. */
static void check_narrow(struct opened *o, unsigned i)
{
    static const char *const widths[] = {"8", "16"};
    struct wcodec_device *device;
    wcodec_error err = {0};
    for (unsigned k = 0; k < 2; k++) {
        setenv("WCODEC_OPENCL_WIDTH", widths[k], 1);
        assert_int_equal(backend->device_open(o->state, i, &device, &err), WCODEC_ERROR_BACKEND);
        print_message("    %s wide: %.200s\n", widths[k], err.text);
        assert_non_null(strstr(err.text, "less than 32 work-items"));
    }
    unsetenv("WCODEC_OPENCL_WIDTH");
}

/* Loops code nothing: the answer is that the CPU is to do it. Other forms do on all devices but
 * processors, and on these where that is asked for. */
static void check_coding(struct wcodec_device *device, const char *variant)
{
    const char *fast = getenv("WCODEC_OPENCL_FAST");
    const struct wcodec_tensor_coding coding = {0};
    struct wcodec_queue *queue;
    wcodec_error err = {0};
    if (strcmp(variant, "loops") != 0) {
        support_coding(backend, device, small && !coding_only ? 8 : 60,
                       variant[0] != '\0' && fast != NULL && strcmp(fast, "1") == 0);
        if (backend->deltas->supports(device))
            support_deltas(backend, device, small ? 12 : 60);
        return;
    }
    assert_int_equal(backend->queue_create(device, &queue, &err), WCODEC_OK);
    assert_int_equal(backend->encoders->code(queue, &coding, &err), WCODEC_ERROR_UNSUPPORTED);
    backend->queue_destroy(queue);
}

static void run_variant(struct opened *o, unsigned i, const char *variant)
{
    struct wcodec_device *device;
    const char *width = getenv("WCODEC_OPENCL_WIDTH");
    wcodec_error err = {0};
    print_message("  %s%s%s\n", variant[0] != '\0' ? variant : "chosen by the plugin",
                  width != NULL ? ", sub-groups of " : "", width != NULL ? width : "");
    setenv("WCODEC_OPENCL_VARIANT", variant, 1);
    const wcodec_status status = backend->device_open(o->state, i, &device, &err);
    if (status != WCODEC_OK && variant[0] != '\0' && strcmp(variant, "loops") != 0 &&
        strcmp(variant, "local") != 0) {
        assert_int_equal(status, WCODEC_ERROR_BACKEND);
        print_message("    not here: %.200s\n", err.text);
        return;
    }
    if (status != WCODEC_OK)
        fail_msg("%s", err.text);
    if (coding_only) {
        check_coding(device, variant);
        backend->device_close(device);
        return;
    }
    if (wcodec_known_answer_check(backend, device, &wcodec_default_allocator, &err) != WCODEC_OK)
        fail_msg("%s", err.text);
    support_hostile(backend, device, small);
    /* All of them where the device itself is; simulators and kernels that are compiled for a GPU
     * take some. */
    const uint64_t one_in = support_full() ? 4001 : 12007; /* of the bits, by simulators */
    support_flips(backend, device, small ? one_in : variant[0] == '\0' ? 1 : 61);
    if (!small && variant[0] == '\0') {
        struct wcodec_device_listing listing;
        backend->device_list(o->state, i, &listing);
        support_far(backend, device, &listing);
    }
    /* Kernels of products are the same in all forms but one (support_conform.h). */
    if (small && strcmp(variant, "loops") == 0) {
        support_products(backend, device, 2);
        support_dense(backend, device, 24);
    }
    check_coding(device, variant);
    backend->device_close(device);
    if (!small)
        support_conform(backend, o->state, i);
    if (strcmp(variant, "subgroup") == 0 && getenv("WCODEC_TEST_WIDTHS") != NULL) {
        check_narrow(o, i);
        setenv("WCODEC_OPENCL_WIDTH", "64", 1);
        unsetenv("WCODEC_TEST_WIDTHS");
        run_variant(o, i, variant);
        unsetenv("WCODEC_OPENCL_WIDTH");
    }
}

static void test_devices(void **state)
{
    (void)state;
    static const char *const variants[] = {"", "loops", "local", "subgroup", "nvidia"};
    const char *only = getenv("WCODEC_TEST_VARIANT");
    struct opened o;
    wcodec_error err;
    assert_int_equal(open_backend(&o, &err), WCODEC_OK);
    for (unsigned i = 0; i < backend->device_count(o.state); i++) {
        struct wcodec_device_listing listing;
        backend->device_list(o.state, i, &listing);
        print_message("opencl:%u: %s, %s\n", i, listing.name, listing.driver);
        if (listing.reason[0] != '\0') {
            print_message("skipped: %s\n", listing.reason);
            continue;
        }
        for (size_t k = 0; k < sizeof variants / sizeof variants[0]; k++)
            if (only != NULL ? strcmp(only, variants[k]) == 0
                             : support_full() || strcmp(variants[k], "local") != 0)
                run_variant(&o, i, variants[k]);
    }
    unsetenv("WCODEC_OPENCL_VARIANT");
    close_backend(&o);
}

static void test_refusals(void **state)
{
    (void)state;
    struct opened o;
    struct wcodec_device *device, *other;
    struct wcodec_memory *memory, *adopted;
    struct wcodec_queue *queue;
    wcodec_error err = {0};
    assert_int_equal(open_backend(&o, &err), WCODEC_OK);
    assert_int_equal(backend->device_open(o.state, 1000, &device, &err), WCODEC_ERROR_BACKEND);
    setenv("WCODEC_OPENCL_VARIANT", "nonesuch", 1);
    assert_int_equal(backend->device_open(o.state, 0, &device, &err), WCODEC_ERROR_BACKEND);
    assert_non_null(strstr(err.text, "nonesuch"));
    setenv("WCODEC_OPENCL_VARIANT", "nvidia",
           1); /* where that is no NVIDIA device, the compiler's words are in the text */
    if (backend->device_open(o.state, 0, &device, &err) == WCODEC_OK)
        backend->device_close(device);
    else
        assert_non_null(
            strstr(err.text, "the kernels (nvidia) do not compile: BUILD_PROGRAM_FAILURE: "));
    unsetenv("WCODEC_OPENCL_VARIANT");
    /* Another member for the device: structures that it shares with the host differ in size. */
    const char *options = getenv("WCODEC_OPENCL_OPTIONS");
    char *kept = options != NULL ? strdup(options) : NULL;
    setenv("WCODEC_OPENCL_OPTIONS", "-Dpad=pad,other", 1);
    assert_int_equal(backend->device_open(o.state, 0, &device, &err), WCODEC_ERROR_BACKEND);
    assert_non_null(strstr(err.text, "wcodec_table_set_has_64_bytes"));
    unsetenv("WCODEC_OPENCL_OPTIONS");
    if (kept != NULL)
        setenv("WCODEC_OPENCL_OPTIONS", kept, 1);
    free(kept);
    assert_int_equal(backend->device_open(o.state, 0, &device, &err), WCODEC_OK);
    assert_int_equal(backend->device_open(o.state, 0, &other, &err), WCODEC_OK);
    assert_int_equal(backend->memory_allocate(device, WCODEC_MEMORY_DEVICE, 100, &memory, &err),
                     WCODEC_OK);
    assert_int_equal(
        backend->memory_adopt(other, backend->memory_native(memory), 100, &adopted, &err),
        WCODEC_ERROR_USAGE);
    assert_int_equal(
        backend->memory_adopt(device, backend->memory_native(memory), 101, &adopted, &err),
        WCODEC_ERROR_USAGE);
    assert_int_equal(backend->queue_adopt(device, 0, &queue, &err), WCODEC_ERROR_USAGE);
    backend->memory_free(memory);
    assert_int_equal(
        backend->memory_allocate(device, WCODEC_MEMORY_DEVICE, UINT64_MAX / 2, &memory, &err),
        WCODEC_ERROR_MEMORY);
    assert_int_equal(
        backend->memory_allocate(device, WCODEC_MEMORY_PINNED, UINT64_MAX - 5, &memory, &err),
        WCODEC_ERROR_MEMORY);
    if (wcodec_known_answer_check(backend, device, &wcodec_default_allocator, &err) != WCODEC_OK)
        fail_msg("%s", err.text);
    backend->device_close(other);
    backend->device_close(device);
    close_backend(&o);
}

int main(int argc, char **argv)
{
    const char *build = getenv("top_builddir");
    char path[4096];
    struct opened o;
    wcodec_error err;
    coding_only = argc > 1 && strcmp(argv[1], "coding") == 0;
    const bool devices_only = coding_only || (argc > 1 && strcmp(argv[1], "small") == 0);
    small = devices_only || support_quick();
    setenv("HWLOC_COMPONENTS", "-opencl,-cuda,-nvml,-gl",
           1); /* PoCL asks hwloc, whose OpenCL component asks PoCL */
    snprintf(path, sizeof path, "%s/backends/opencl/.libs/wcodec_opencl.so",
             build != NULL ? build : ".");
    void *plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (plugin == NULL) {
        print_message("%s\n", dlerror());
        return 1;
    }
    backend = dlsym(plugin, "wcodec_backend_opencl");
    if (backend == NULL)
        return 1;
    if (open_backend(&o, &err) != WCODEC_OK) {
        print_message("skipped: %s\n", err.text);
        return 77;
    }
    close_backend(&o);
    const struct CMUnitTest quick[] = {cmocka_unit_test(test_devices)},
                            tests[] = {cmocka_unit_test(test_devices),
                                       cmocka_unit_test(test_refusals)};
    return devices_only ? cmocka_run_group_tests(quick, NULL, NULL)
                        : cmocka_run_group_tests(tests, NULL, NULL);
}
