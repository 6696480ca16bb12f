/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "support.h"

#include "support_caller.h"

#include <dlfcn.h>

/* A command queue of OpenCL's own, as a caller has it. */
static uint64_t opencl_queue(const struct wcodec_backend *b, struct wcodec_device *device,
                             void **library)
{
    void *(*create)(void *, void *, uint64_t, int32_t *);
    uint64_t context, number;
    int32_t result;
    *library = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
    assert_non_null(*library);
    void *found = dlsym(*library, "clCreateCommandQueue");
    assert_non_null(found);
    memcpy(&create, &found, sizeof found);
    b->device_native(device, &context, &number);
    void *queue = create((void *)(uintptr_t)context, (void *)(uintptr_t)number, 0, &result);
    assert_non_null(queue);
    return (uint64_t)(uintptr_t)queue;
}

static void release_opencl_queue(uint64_t queue, void *library)
{
    int32_t (*release)(void *);
    void *found = dlsym(library, "clReleaseCommandQueue");
    assert_non_null(found);
    memcpy(&release, &found, sizeof found);
    assert_int_equal(release((void *)(uintptr_t)queue), 0);
    dlclose(library);
}

void support_caller_begin(const struct wcodec_backend *backend, struct wcodec_device *device,
                          struct support_caller *caller)
{
    struct support_caller c = {.opencl = strcmp(backend->name, "opencl") == 0};
    wcodec_error err = {0};
    if (c.opencl)
        c.native = opencl_queue(backend, device, &c.library);
    const wcodec_status status = c.opencl || strcmp(backend->name, "cuda") == 0
                                     ? backend->queue_adopt(device, c.native, &c.queue, &err)
                                     : backend->queue_create(device, &c.queue, &err);
    if (status != WCODEC_OK)
        fail_msg("%s", err.text);
    *caller = c;
}

void support_caller_end(const struct wcodec_backend *backend, struct support_caller *caller)
{
    backend->queue_destroy(caller->queue);
    if (caller->library != NULL)
        release_opencl_queue(caller->native, caller->library);
}
