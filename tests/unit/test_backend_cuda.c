/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The CUDA plugin of the build tree on every device there is; without one the test is skipped, and
 * says why. "test_backend_cuda small" does little, for checkers that make kernels slow, "products"
 * those of matrices at a fixed rate, "wide" some of many vectors. */
#include "support.h"
#include "support_conform.h"
#include "support_hostile.h"
#include "support_products.h"

#include "registry/host.h"
#include "registry/known_answer.h"
#include "core/memory.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

static const struct wcodec_backend *backend;
static bool small, only_products, only_wide;

/* A build that has warpgroups' kernels takes them on a device that they are for. */
static void check_warpgroups(struct wcodec_device *device,
                             const struct wcodec_device_listing *listing)
{
#ifdef HAVE_CUDA_WARPGROUPS
    struct wcodec_fixed f = {.columns = 4096, .bits = 2, .list = 4};
    assert_int_equal(wcodec_fixed_derive(&f, 4096 * 8192, NULL), WCODEC_OK);
    if (strstr(listing->driver, "compute capability 9.0") != NULL)
        assert_true(backend->products->wide_room(device, &f, 64) != 0);
#else
    (void)device;
    (void)listing;
#endif
}

static void test_conform(void **state)
{
    wcodec_context *context;
    struct wcodec_host host;
    struct wcodec_backend_state *cuda;
    struct wcodec_device *device;
    struct wcodec_device_listing listing;
    wcodec_options options;
    wcodec_error err;
    (void)state;
    wcodec_options_init(&options);
    options.backend = "cpu";
    assert_int_equal(wcodec_context_create(&options, &context, &err), WCODEC_OK);
    wcodec_host_init(&host, context);
    if (backend->open(&host, &cuda, &err) != WCODEC_OK) {
        print_message("skipped: %s\n", err.text);
        wcodec_context_destroy(context);
        skip();
    }
    for (unsigned i = 0; i < backend->device_count(cuda); i++) {
        backend->device_list(cuda, i, &listing);
        print_message("%s, %s\n", listing.name, listing.driver);
        if (listing.reason[0] != '\0') {
            print_message("skipped: %s\n", listing.reason);
            continue;
        }
        assert_int_equal(backend->device_open(cuda, i, &device, &err), WCODEC_OK);
        if (wcodec_known_answer_check(backend, device, &wcodec_default_allocator, &err))
            fail_msg("%s", err.text);
        check_warpgroups(device, &listing);
        if (only_products || only_wide) {
            if (only_products)
                support_products(backend, device, 40);
            support_products_wide(backend, device, only_products ? 42 : 10, only_products);
            backend->device_close(device);
            continue;
        }
        support_hostile(backend, device, small);
        support_flips(backend, device, small ? 1009 : 1);
        if (!small) {
            support_far(backend, device, &listing);
            support_products_wide(backend, device, 0, true);
        }
        backend->device_close(device);
        for (unsigned k = 0; k < (small ? 1 : 8); k++)
            support_conform(backend, cuda, i);
    }
    backend->close(cuda);
    wcodec_context_destroy(context);
}

int main(int argc, char **argv)
{
    const char *build = getenv("top_builddir");
    char path[4096];
    small = argc > 1 && strcmp(argv[1], "small") == 0;
    only_products = argc > 1 && strcmp(argv[1], "products") == 0;
    only_wide = argc > 1 && strcmp(argv[1], "wide") == 0;
    unsetenv("WCODEC_CUDA_WARPGROUPS");
    snprintf(path, sizeof path, "%s/backends/cuda/.libs/wcodec_cuda.so",
             build != NULL ? build : ".");
    void *plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (plugin == NULL) {
        print_message("skipped: %s\n", dlerror());
        return 77;
    }
    backend = dlsym(plugin, "wcodec_backend_cuda");
    if (backend == NULL)
        return 1;
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_conform)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
