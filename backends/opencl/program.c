/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* How a device runs the lanes of a tile, and the program for it. */
#include "backends/opencl/opencl.h"

#include <stdio.h>
#include <string.h>

/* Of cl_khr_subgroups and of cl_nv_device_attribute_query. */
#define KERNEL_MAX_SUB_GROUP_SIZE 0x2033
#define DEVICE_WARP_SIZE_NV 0x4003

typedef cl_int(CL_API_CALL *sub_group_info_function)(cl_kernel, cl_device_id, cl_uint, size_t, const void *, size_t, void *, size_t *);

static const struct {
    const char *name; /* as in WCODEC_OPENCL_VARIANT */
    const char *options;
    unsigned items;
} variants[WCODEC_VARIANTS] = {
    [WCODEC_VARIANT_LOOPS] = {"loops", "-DWCODEC_OPENCL_LOOPS", 1},
    [WCODEC_VARIANT_LOCAL] = {"local", "-DWCODEC_OPENCL_LOCAL", 32},
    [WCODEC_VARIANT_SUBGROUP] = {"subgroup", "-DWCODEC_OPENCL_SUBGROUP", 256},
    [WCODEC_VARIANT_NVIDIA] = {"nvidia", "-DWCODEC_OPENCL_NVIDIA", 256},
};

static bool device_has(const struct wcodec_device *d, const char *name)
{
    char list[8192] = "";
    const size_t length = strlen(name);
    if (d->cl->clGetDeviceInfo(d->place->device, CL_DEVICE_EXTENSIONS, sizeof list - 1, list, NULL) != CL_SUCCESS)
        return false;
    for (const char *p = list; (p = strstr(p, name)) != NULL; p += length)
        if ((p == list || p[-1] == ' ') && (p[length] == ' ' || p[length] == '\0'))
            return true;
    return false;
}

static enum wcodec_opencl_variant choose_variant(const struct wcodec_device *d)
{
    cl_uint warp = 0;
    if (d->place->type == CL_DEVICE_TYPE_CPU)
        return WCODEC_VARIANT_LOOPS;
    if (device_has(d, "cl_nv_device_attribute_query") && d->cl->clGetDeviceInfo(d->place->device, DEVICE_WARP_SIZE_NV, sizeof warp, &warp, NULL) == CL_SUCCESS && warp == 32)
        return WCODEC_VARIANT_NVIDIA;
    if (device_has(d, "cl_khr_subgroups") && device_has(d, "cl_khr_subgroup_ballot"))
        return WCODEC_VARIANT_SUBGROUP;
    return WCODEC_VARIANT_LOCAL;
}

/* Sub-group functions need a version of the language that has them. */
static const char *language(const struct wcodec_device *d, enum wcodec_opencl_variant variant)
{
    char version[64] = "";
    unsigned major = 0, minor = 0;
    if (variant != WCODEC_VARIANT_SUBGROUP)
        return "-cl-std=CL1.2";
    if (d->cl->clGetDeviceInfo(d->place->device, CL_DEVICE_OPENCL_C_VERSION, sizeof version - 1, version, NULL) == CL_SUCCESS && sscanf(version, "OpenCL C %u.%u", &major, &minor) == 2 && major >= 3)
        return "-cl-std=CL3.0";
    return "-cl-std=CL2.0";
}

/* Build the program for a variant; on failure the compiler's words are in the error text. */
static wcodec_status build(struct wcodec_device *d, enum wcodec_opencl_variant variant, unsigned items, wcodec_error *err)
{
    const char *source = wcodec_opencl_source;
    char options[160], log[8192] = "";
    cl_int result;
    cl_program program = d->cl->clCreateProgramWithSource(d->context, 1, &source, &wcodec_opencl_source_size, &result);
    if (result != CL_SUCCESS)
        return wcodec_opencl_fail(d, result, "clCreateProgramWithSource", err);
    const bool intel = variant == WCODEC_VARIANT_SUBGROUP && device_has(d, "cl_intel_required_subgroup_size");
    snprintf(options, sizeof options, "%s %s -DWCODEC_OPENCL_ITEMS=%u%s", language(d, variant), variants[variant].options, items, intel ? " -DWCODEC_OPENCL_INTEL" : "");
    result = d->cl->clBuildProgram(program, 1, &d->place->device, options, NULL, NULL);
    if (result != CL_SUCCESS) {
        const char *name = wcodec_opencl_result_name(result);
        if (d->cl->clGetProgramBuildInfo(program, d->place->device, CL_PROGRAM_BUILD_LOG, sizeof log - 1, log, NULL) != CL_SUCCESS)
            snprintf(log, sizeof log, "no build log");
        for (char *p = log; (p = strchr(p, '\n')) != NULL;) /* an error text is one line */
            *p = p[1] != '\0' ? '|' : '\0';
        d->cl->clReleaseProgram(program);
        return d->host->fail(err, WCODEC_ERROR_BACKEND, "the kernels (%s) do not compile: %s: %s", variants[variant].name, name != NULL ? name : "unknown error", log);
    }
    d->program = program;
    d->variant = variant;
    d->items = items;
    d->tiles = variant == WCODEC_VARIANT_LOOPS ? items : items / 32;
    return WCODEC_OK;
}

/* The size of sub-groups in work-groups of `items`; 0 if the driver does not tell. */
static size_t sub_group_size(const struct wcodec_device *d, size_t items)
{
    size_t size = 0;
    cl_int result;
    sub_group_info_function info;
    void *found = d->cl->clGetExtensionFunctionAddressForPlatform(d->place->platform, "clGetKernelSubGroupInfoKHR");
    memcpy(&info, &found, sizeof info);
    cl_kernel kernel = info != NULL ? d->cl->clCreateKernel(d->program, "wcodec_generic", &result) : NULL;
    if (kernel == NULL)
        return 0;
    result = info(kernel, d->place->device, KERNEL_MAX_SUB_GROUP_SIZE, sizeof items, &items, sizeof size, &size, NULL);
    d->cl->clReleaseKernel(kernel);
    return result == CL_SUCCESS ? size : 0;
}

/* Sub-groups must hold a tile's lanes: several of 32 in a work-group, or a wider one of which 32 are used. */
static wcodec_status build_sub_groups(struct wcodec_device *d, wcodec_error *err)
{
    unsigned items = variants[WCODEC_VARIANT_SUBGROUP].items;
    wcodec_status status = build(d, WCODEC_VARIANT_SUBGROUP, items, err);
    if (status || sub_group_size(d, items) == 32)
        return status;
    d->cl->clReleaseProgram(d->program);
    status = build(d, WCODEC_VARIANT_SUBGROUP, 32, err);
    if (status || sub_group_size(d, 32) >= 32)
        return status;
    d->cl->clReleaseProgram(d->program);
    return d->host->fail(err, WCODEC_ERROR_BACKEND, "its sub-groups have less than 32 work-items");
}

const char *wcodec_opencl_kernel_name(unsigned kernel)
{
    static const char *const names[WCODEC_SHAPES][WCODEC_CODINGS] = {
        [WCODEC_SHAPE_16_8] = {"wcodec_fast_16_8_pairs", NULL, "wcodec_fast_16_8_p8", "wcodec_fast_16_8_p8_runs"},
        [WCODEC_SHAPE_8_4] = {"wcodec_fast_8_4_pairs", NULL, "wcodec_fast_8_4_p8", "wcodec_fast_8_4_p8_runs"},
        [WCODEC_SHAPE_8_31] = {"wcodec_fast_8_4_pairs", NULL, "wcodec_fast_8_4_p8", "wcodec_fast_8_4_p8_runs"},
        [WCODEC_SHAPE_8_0] = {NULL, "wcodec_fast_8_0_p12", "wcodec_fast_8_0_p8", "wcodec_fast_8_0_p8_runs"},
    };
    return kernel == WCODEC_KERNEL_GENERIC ? "wcodec_generic" : names[kernel / 2 / WCODEC_CODINGS][kernel / 2 % WCODEC_CODINGS];
}

wcodec_status wcodec_opencl_program_build(struct wcodec_device *d, wcodec_error *err)
{
    enum wcodec_opencl_variant variant = choose_variant(d);
    const char *wanted = d->host->setting(d->host->opaque, "WCODEC_OPENCL_VARIANT");
    if (wanted != NULL) {
        unsigned i = 0;
        while (i < WCODEC_VARIANTS && strcmp(variants[i].name, wanted) != 0)
            i++;
        if (i == WCODEC_VARIANTS)
            return d->host->fail(err, WCODEC_ERROR_BACKEND, "WCODEC_OPENCL_VARIANT is \"%s\", expected loops, local, subgroup or nvidia", wanted);
        variant = (enum wcodec_opencl_variant)i;
    }
    wcodec_status status = variant == WCODEC_VARIANT_SUBGROUP ? build_sub_groups(d, err) : build(d, variant, variants[variant].items, err);
    if (status == WCODEC_ERROR_BACKEND && wanted == NULL && variant != WCODEC_VARIANT_LOOPS && variant != WCODEC_VARIANT_LOCAL) {
        d->host->log(d->host->opaque, WCODEC_LOG_INFO, "OpenCL kernels of the kind \"%s\" are not used: %s", variants[variant].name, err != NULL ? err->text : "they do not compile");
        status = build(d, WCODEC_VARIANT_LOCAL, variants[WCODEC_VARIANT_LOCAL].items, err);
    }
    /* About a gigabyte of output: a display that hangs on the device gets its turn in between. */
    if (status)
        return status;
    d->piece = 16384 / d->tiles;
    cl_uint units = 1;
    d->cl->clGetDeviceInfo(d->place->device, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof units, &units, NULL);
    d->units = units > 0 ? units : 1;
    for (unsigned k = 0; k < WCODEC_KERNEL_GENERIC && d->variant != WCODEC_VARIANT_LOOPS; k++)
        d->fast |= (uint64_t)(wcodec_opencl_kernel_name(k) != NULL) << k;
    return WCODEC_OK;
}
