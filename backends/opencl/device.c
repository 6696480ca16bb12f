/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Platforms and their devices: found, listed, opened. */
#include "backends/opencl/opencl.h"

#include <stdio.h>
#include <string.h>

enum { PLATFORMS_MAX = 32 };

static void add_devices(struct wcodec_backend_state *s, cl_platform_id platform,
                        cl_device_type type)
{
    cl_device_id ids[WCODEC_OPENCL_DEVICES_MAX];
    cl_uint count = 0;
    if (s->driver.clGetDeviceIDs(platform, type, WCODEC_OPENCL_DEVICES_MAX, ids, &count) !=
        CL_SUCCESS)
        return;
    for (cl_uint i = 0;
         i < count && i < WCODEC_OPENCL_DEVICES_MAX && s->count < WCODEC_OPENCL_DEVICES_MAX; i++) {
        bool known = false; /* oclgrind's is of all types */
        for (unsigned k = 0; k < s->count; k++)
            known = known || s->ids[k].device == ids[i];
        if (!known)
            s->ids[s->count++] = (struct wcodec_opencl_id){platform, ids[i], type};
    }
}

wcodec_status wcodec_opencl_open(const struct wcodec_host *host,
                                 struct wcodec_backend_state **state, wcodec_error *err)
{
    static const cl_device_type types[] = {CL_DEVICE_TYPE_GPU, CL_DEVICE_TYPE_ACCELERATOR,
                                           CL_DEVICE_TYPE_CPU};
    cl_platform_id platforms[PLATFORMS_MAX];
    cl_uint count = 0;
    char text[128];
    struct wcodec_backend_state *s = wcodec_opencl_allocate(host, sizeof *s);
    if (s == NULL)
        return host->fail(err, WCODEC_ERROR_MEMORY, "out of memory for the OpenCL backend");
    s->host = host;
    wcodec_status status;
    const char *reason = wcodec_opencl_driver_open(&s->driver, text, sizeof text);
    if (reason != NULL) {
        status = host->fail(err, WCODEC_ERROR_BACKEND, "%s", reason);
        goto free_state;
    }
    /* Without any driver the loader's answer is an error (PLATFORM_NOT_FOUND_KHR). */
    if (s->driver.clGetPlatformIDs(PLATFORMS_MAX, platforms, &count) != CL_SUCCESS || count == 0) {
        status = host->fail(err, WCODEC_ERROR_BACKEND, "no OpenCL driver is installed");
        goto free_state;
    }
    if (count > PLATFORMS_MAX)
        count = PLATFORMS_MAX;
    for (size_t t = 0; t < sizeof types / sizeof types[0]; t++)
        for (cl_uint i = 0; i < count; i++)
            add_devices(s, platforms[i], types[t]);
    if (s->count == 0) {
        status = host->fail(err, WCODEC_ERROR_BACKEND, "no OpenCL driver has a device");
        goto free_state;
    }
    *state = s;
    return WCODEC_OK;
free_state:
    wcodec_opencl_release(host, s);
    return status;
}

void wcodec_opencl_close(struct wcodec_backend_state *state)
{
    wcodec_opencl_release(state->host, state);
}

unsigned wcodec_opencl_device_count(struct wcodec_backend_state *state)
{
    return state->count;
}

static void get_text(const struct wcodec_backend_state *s, unsigned i, cl_device_info what,
                     char *text, size_t size)
{
    char whole[1024] = "";
    if (s->driver.clGetDeviceInfo(s->ids[i].device, what, sizeof whole - 1, whole, NULL) !=
        CL_SUCCESS)
        whole[0] = '\0';
    const char *from = whole + strspn(whole, " ");
    size_t length = strlen(from);
    while (length > 0 && from[length - 1] == ' ')
        length--;
    snprintf(text, size, "%.*s", (int)length, from);
}

static cl_uint get_uint(const struct wcodec_backend_state *s, unsigned i, cl_device_info what)
{
    cl_uint value = 0;
    return s->driver.clGetDeviceInfo(s->ids[i].device, what, sizeof value, &value, NULL) ==
                   CL_SUCCESS
               ? value
               : 0;
}

void wcodec_opencl_device_list(struct wcodec_backend_state *s, unsigned i,
                               struct wcodec_device_listing *listing)
{
    char version[64], driver[64];
    unsigned major = 0, minor = 0;
    cl_ulong memory = 0;
    *listing = (struct wcodec_device_listing){
        .kind = WCODEC_DEVICE_OTHER,
        .capabilities = WCODEC_DEVICE_ADOPT_MEMORY | WCODEC_DEVICE_ADOPT_QUEUE |
                        WCODEC_DEVICE_BLOCKS | WCODEC_DEVICE_LOSSY | WCODEC_DEVICE_FIXED |
                        WCODEC_DEVICE_FRAGMENTS | WCODEC_DEVICE_PRODUCTS};
    if (i >= s->count) {
        snprintf(listing->reason, sizeof listing->reason, "there is no such device");
        return;
    }
    if (s->ids[i].type == CL_DEVICE_TYPE_GPU)
        listing->kind = WCODEC_DEVICE_GPU;
    else if (s->ids[i].type == CL_DEVICE_TYPE_CPU)
        listing->kind = WCODEC_DEVICE_CPU;
    get_text(s, i, CL_DEVICE_NAME, listing->name, sizeof listing->name);
    if (listing->name[0] == '\0')
        snprintf(listing->name, sizeof listing->name, "OpenCL device");
    get_text(s, i, CL_DEVICE_VERSION, version, sizeof version);
    get_text(s, i, CL_DRIVER_VERSION, driver, sizeof driver);
    snprintf(listing->driver, sizeof listing->driver, "%.45s, driver %.40s", version, driver);
    if (s->driver.clGetDeviceInfo(s->ids[i].device, CL_DEVICE_GLOBAL_MEM_SIZE, sizeof memory,
                                  &memory, NULL) == CL_SUCCESS)
        listing->memory = memory;
    if (sscanf(version, "OpenCL %u.%u", &major, &minor) != 2 || major * 10 + minor < 12)
        snprintf(listing->reason, sizeof listing->reason, "it has %s, OpenCL 1.2 is needed",
                 version);
    else if (!get_uint(s, i, CL_DEVICE_AVAILABLE))
        snprintf(listing->reason, sizeof listing->reason,
                 "its driver says that it is not available");
    else if (!get_uint(s, i, CL_DEVICE_COMPILER_AVAILABLE))
        snprintf(listing->reason, sizeof listing->reason, "its driver has no compiler");
    else if (!get_uint(s, i, CL_DEVICE_ENDIAN_LITTLE))
        snprintf(listing->reason, sizeof listing->reason, "it is big-endian");
}

/* PoCL before 6 finds the code of a kernel by the sizes of a work-group and of the whole range, but
 * lets go of it by the former alone. Of two launches in two queues that differ in the latter, one
 * lets go of the other's, and the second to end stops the process: "Assertion `found->ref_count >
 * 0' failed". 3.1 counts each launch twice, which makes it rare, not impossible; in newer ones a
 * launch keeps what it has found. */
static bool fails_with_two_launches(const struct wcodec_backend_state *s, unsigned i)
{
    char version[64], driver[64];
    unsigned major;
    get_text(s, i, CL_DEVICE_VERSION, version, sizeof version);
    get_text(s, i, CL_DRIVER_VERSION, driver, sizeof driver);
    return strstr(version, "PoCL") != NULL && sscanf(driver, "%u.", &major) == 1 && major < 6;
}

wcodec_status wcodec_opencl_device_open(struct wcodec_backend_state *s, unsigned i,
                                        struct wcodec_device **device, wcodec_error *err)
{
    struct wcodec_device_listing listing;
    cl_int result;
    wcodec_opencl_device_list(s, i, &listing);
    if (listing.reason[0] != '\0')
        return s->host->fail(err, WCODEC_ERROR_BACKEND, "%s", listing.reason);
    struct wcodec_device *d = wcodec_opencl_allocate(s->host, sizeof *d);
    if (d == NULL)
        return s->host->fail(err, WCODEC_ERROR_MEMORY, "out of memory for an OpenCL device");
    d->state = s;
    d->host = s->host;
    d->cl = &s->driver;
    d->id = &s->ids[i];
    d->memory = listing.memory > 0 ? listing.memory : UINT64_MAX;
    d->alone = fails_with_two_launches(s, i);
    pthread_mutex_init(&d->lock, NULL);
    pthread_mutex_init(&d->gate, NULL);
    const cl_context_properties properties[] = {CL_CONTEXT_PLATFORM,
                                                (cl_context_properties)d->id->platform, 0};
    wcodec_status status;
    d->context = d->cl->clCreateContext(properties, 1, &d->id->device, NULL, NULL, &result);
    if (result != CL_SUCCESS) {
        status = wcodec_opencl_fail(d, result, "clCreateContext", err);
        goto free_device;
    }
    d->queue = d->cl->clCreateCommandQueue(d->context, d->id->device, 0, &result);
    if (result != CL_SUCCESS) {
        status = wcodec_opencl_fail(d, result, "clCreateCommandQueue", err);
        goto release_context;
    }
    status = wcodec_opencl_program_open(d, err);
    if (status != WCODEC_OK)
        goto release_queue;
    d->gated = d->variant == WCODEC_VARIANT_NVIDIA;
    *device = d;
    return WCODEC_OK;
release_queue:
    d->cl->clReleaseCommandQueue(d->queue);
release_context:
    d->cl->clReleaseContext(d->context);
free_device:
    pthread_mutex_destroy(&d->gate);
    pthread_mutex_destroy(&d->lock);
    wcodec_opencl_release(s->host, d);
    if (status == WCODEC_ERROR_DEVICE) { /* never opened: another may be taken */
        if (err != NULL)
            err->status = WCODEC_ERROR_BACKEND;
        status = WCODEC_ERROR_BACKEND;
    }
    return status;
}

void wcodec_opencl_device_close(struct wcodec_device *d)
{
    wcodec_opencl_buffers_close(d);
    wcodec_opencl_products_close(d);
    wcodec_opencl_rollouts_close(d);
    wcodec_opencl_set_close(d, &d->vectors);
    wcodec_opencl_set_close(d, &d->search);
    wcodec_opencl_kept_close(d);
    wcodec_opencl_encoders_close(d);
    wcodec_opencl_program_close(d);
    d->cl->clReleaseCommandQueue(d->queue);
    d->cl->clReleaseContext(d->context);
    pthread_mutex_destroy(&d->gate);
    pthread_mutex_destroy(&d->lock);
    wcodec_opencl_release(d->host, d);
}
