/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* How a device runs the lanes of a tile, and the programs for it: one a kernel, made when it is
 * needed first, with what suits it. */
#include "backends/opencl/opencl.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of OpenCL 2.1 and of cl_nv_device_attribute_query. */
#define KERNEL_MAX_SUB_GROUP_SIZE 0x2033
#define DEVICE_MAX_NUM_SUB_GROUPS 0x105C
#define DEVICE_COMPUTE_CAPABILITY_MAJOR_NV 0x4000
#define DEVICE_COMPUTE_CAPABILITY_MINOR_NV 0x4001
#define DEVICE_WARP_SIZE_NV 0x4003

enum {
    BUFFERS_MOST = 520,
    ITEMS_OF_PROCESSORS = 64,
    FAST_EXTRA = 64,   /* what else is in local memory, besides pointers to buffers */
    GROUPS_MOST = 8,   /* work-groups that a unit is given at a time */
    UNITS_ITEMS = 128, /* of the kernels of units: a tile has eight at least to share */
    COPIES_NVIDIA = 16 /* of tables of P8: as fit into the local memory of a work-group */
};

typedef cl_int(CL_API_CALL *sub_group_info_function)(cl_kernel, cl_device_id, cl_uint, size_t,
                                                     const void *, size_t, void *, size_t *);

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

bool wcodec_opencl_has(const struct wcodec_device *d, const char *name)
{
    char list[8192] = "";
    const size_t length = strlen(name);
    if (d->cl->clGetDeviceInfo(d->id->device, CL_DEVICE_EXTENSIONS, sizeof list - 1, list, NULL) !=
        CL_SUCCESS)
        return false;
    for (const char *p = list; (p = strstr(p, name)) != NULL; p += length)
        if ((p == list || p[-1] == ' ') && (p[length] == ' ' || p[length] == '\0'))
            return true;
    return false;
}

/* From OpenCL 2.1 on they may be there without being called an extension. */
static bool has_sub_groups(const struct wcodec_device *d)
{
    cl_uint count = 0;
    const bool core = d->cl->clGetDeviceInfo(d->id->device, DEVICE_MAX_NUM_SUB_GROUPS, sizeof count,
                                             &count, NULL) == CL_SUCCESS &&
                      count > 0;
    return (core || wcodec_opencl_has(d, "cl_khr_subgroups")) &&
           wcodec_opencl_has(d, "cl_khr_subgroup_ballot");
}

static enum wcodec_opencl_variant choose_variant(const struct wcodec_device *d)
{
    cl_uint warp = 0;
    if (d->id->type == CL_DEVICE_TYPE_CPU)
        return WCODEC_VARIANT_LOOPS;
    if (wcodec_opencl_has(d, "cl_nv_device_attribute_query") &&
        d->cl->clGetDeviceInfo(d->id->device, DEVICE_WARP_SIZE_NV, sizeof warp, &warp, NULL) ==
            CL_SUCCESS &&
        warp == 32)
        return WCODEC_VARIANT_NVIDIA;
    if (has_sub_groups(d))
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
    if (d->cl->clGetDeviceInfo(d->id->device, CL_DEVICE_OPENCL_C_VERSION, sizeof version - 1,
                               version, NULL) == CL_SUCCESS &&
        sscanf(version, "OpenCL C %u.%u", &major, &minor) == 2 && major >= 3)
        return "-cl-std=CL3.0";
    return "-cl-std=CL2.0";
}

/* Buffers of a kernel. Where compilers are slow and launches are not, one kind is enough. */
static unsigned buffers_of(const struct wcodec_device *d, enum wcodec_opencl_form form)
{
    if (form == WCODEC_OPENCL_FORM_MOST || d->variant != WCODEC_VARIANT_NVIDIA)
        return d->buffers;
    return form == WCODEC_OPENCL_FORM_72  ? WCODEC_OPENCL_BUFFERS_72
           : form == WCODEC_OPENCL_FORM_8 ? WCODEC_OPENCL_BUFFERS_8
                                          : WCODEC_OPENCL_BUFFERS_2;
}

/* A line of an error text, whatever the compiler wrote. */
static void join_lines(char *text)
{
    for (char *p = text; (p = strchr(p, '\n')) != NULL;)
        *p = p[1] != '\0' ? '|' : '\0';
}

/* Of sub-groups, where the compiler takes it. */
static unsigned width_of(const struct wcodec_device *d)
{
    const char *wanted = d->host->setting(d->host->opaque, "WCODEC_OPENCL_WIDTH");
    const unsigned long width = wanted != NULL ? strtoul(wanted, NULL, 10) : 0;
    return width > 0 && width <= 1024 ? (unsigned)width : 32;
}

wcodec_status wcodec_opencl_program_build(const struct wcodec_device *d,
                                          enum wcodec_opencl_variant variant, const char *more,
                                          struct wcodec_opencl_program *p, wcodec_error *err)
{
    const char *source = wcodec_opencl_source;
    const char *own = d->host->setting(
        d->host->opaque, "WCODEC_OPENCL_OPTIONS"); /* for tests: -cl-opt-disable, say */
    char options[1000], log[8192] = "";
    cl_int result;
    cl_program program = d->cl->clCreateProgramWithSource(d->context, 1, &source,
                                                          &wcodec_opencl_source_size, &result);
    if (result != CL_SUCCESS)
        return wcodec_opencl_fail(d, result, "clCreateProgramWithSource", err);
    const int length = snprintf(options, sizeof options,
                                "%s %s -DWCODEC_OPENCL_ITEMS=%u -DWCODEC_BUFFERS=%u%s %.200s",
                                language(d, variant), variants[variant].options, p->items,
                                p->buffers, more, own != NULL ? own : "");
    if (variant == WCODEC_VARIANT_NVIDIA && d->capability >= 80)
        snprintf(options + length, sizeof options - (size_t)length, " -DWCODEC_PTX_80%s",
                 d->capability >= 90 ? " -DWCODEC_PTX_HALVES" : "");
    if (variant == WCODEC_VARIANT_SUBGROUP &&
        wcodec_opencl_has(d, "cl_intel_required_subgroup_size"))
        snprintf(options + length, sizeof options - (size_t)length, " -DWCODEC_OPENCL_WIDTH=%u",
                 width_of(d));
    result = d->cl->clBuildProgram(program, 1, &d->id->device, options, NULL, NULL);
    if (result != CL_SUCCESS) {
        const char *name = wcodec_opencl_result_name(result);
        if (d->cl->clGetProgramBuildInfo(program, d->id->device, CL_PROGRAM_BUILD_LOG,
                                         sizeof log - 1, log, NULL) != CL_SUCCESS)
            snprintf(log, sizeof log, "no build log");
        join_lines(log);
        d->cl->clReleaseProgram(program);
        return d->host->fail(err, WCODEC_ERROR_BACKEND, "the kernels (%s) do not compile: %s: %s",
                             variants[variant].name, name != NULL ? name : "unknown error", log);
    }
    p->program = program;
    p->tiles = variant == WCODEC_VARIANT_LOOPS ? p->items : p->items / 32;
    return WCODEC_OK;
}

size_t wcodec_opencl_sub_group_size(const struct wcodec_device *d, cl_program program,
                                    const char *name, size_t items)
{
    size_t size = 0;
    cl_int result;
    sub_group_info_function info;
    void *found = d->cl->clGetExtensionFunctionAddressForPlatform(d->id->platform,
                                                                  "clGetKernelSubGroupInfoKHR");
    if (found == NULL)
        found = dlsym(d->cl->library, "clGetKernelSubGroupInfo");
    memcpy(&info, &found, sizeof info);
    cl_kernel kernel = info != NULL ? d->cl->clCreateKernel(program, name, &result) : NULL;
    if (kernel == NULL)
        return 0;
    result = info(kernel, d->id->device, KERNEL_MAX_SUB_GROUP_SIZE, sizeof items, &items,
                  sizeof size, &size, NULL);
    d->cl->clReleaseKernel(kernel);
    return result == CL_SUCCESS ? size : 0;
}

/* Sub-groups must hold a tile's lanes: several of 32 in a work-group, or a wider one of which 32
 * are used. */
static wcodec_status build_sub_groups(const struct wcodec_device *d,
                                      struct wcodec_opencl_program *p, wcodec_error *err)
{
    wcodec_status status = wcodec_opencl_program_build(d, WCODEC_VARIANT_SUBGROUP, "", p, err);
    if (status != WCODEC_OK ||
        wcodec_opencl_sub_group_size(d, p->program, "wcodec_kernel", p->items) == 32)
        return status;
    d->cl->clReleaseProgram(p->program);
    p->program = NULL;
    p->items = 32;
    status = wcodec_opencl_program_build(d, WCODEC_VARIANT_SUBGROUP, "", p, err);
    if (status != WCODEC_OK ||
        wcodec_opencl_sub_group_size(d, p->program, "wcodec_kernel", 32) >= 32)
        return status;
    d->cl->clReleaseProgram(p->program);
    p->program = NULL;
    return d->host->fail(err, WCODEC_ERROR_BACKEND, "its sub-groups have less than 32 work-items");
}

unsigned wcodec_opencl_items(const struct wcodec_device *d, unsigned wanted)
{
    size_t most = 0;
    if (d->id->type == CL_DEVICE_TYPE_CPU)
        wanted = ITEMS_OF_PROCESSORS;
    if (d->cl->clGetDeviceInfo(d->id->device, CL_DEVICE_MAX_WORK_GROUP_SIZE, sizeof most, &most,
                               NULL) != CL_SUCCESS)
        return ITEMS_OF_PROCESSORS;
    return most < wanted ? (unsigned)most : wanted;
}

uint32_t wcodec_opencl_local_memory(const struct wcodec_device *d, unsigned buffers, unsigned items)
{
    const uint64_t own = 8 * (uint64_t)buffers + FAST_EXTRA +
                         (d->variant == WCODEC_VARIANT_NVIDIA ? 0 : 8 * (uint64_t)items);
    return d->local_memory > own ? (uint32_t)(d->local_memory - own) : 0;
}

/* Bytes of a multiprocessor's shared memory. */
static uint32_t unit_memory(const struct wcodec_device *d)
{
    const unsigned c = d->capability;
    return (c == 90 || c == 100 || c == 103 ? 227u
            : c == 80 || c == 87            ? 163u
            : c >= 86                       ? 99u
                                            : 64u)
           << 10;
}

static uint32_t copies_of(const struct wcodec_device *d)
{
    return d->variant == WCODEC_VARIANT_NVIDIA ? COPIES_NVIDIA : 1;
}

static void set_limits(const struct wcodec_device *d, const struct wcodec_opencl_program *p,
                       struct wcodec_gpu_limits *limits)
{
    const bool nvidia = d->variant == WCODEC_VARIANT_NVIDIA;
    limits->units = d->units;
    limits->copies = copies_of(d);
    limits->shared = wcodec_opencl_local_memory(d, p->buffers, p->items);
    limits->unit_shared = nvidia ? unit_memory(d) : 0;
    limits->group_shared = 8 * p->buffers + FAST_EXTRA + 1024;
    limits->groups = GROUPS_MOST;
    limits->launch_tiles = d->launch_tiles;
    limits->lanes = d->variant == WCODEC_VARIANT_LOOPS ? 1 : 32;
    limits->queue = limits->refit = nvidia;
    limits->fixed_threads = !nvidia;
}

/* Work-groups and their warps on NVIDIA. Returns the registers of a thread. */
static unsigned fit_nvidia(const struct wcodec_device *d, unsigned kernel,
                           struct wcodec_opencl_program *p)
{
    const struct wcodec_kernel_row *row = &wcodec_kernel_rows[kernel];
    const struct wcodec_gpu_needs needs = wcodec_gpu_most_needs(kernel, copies_of(d));
    struct wcodec_gpu_limits limits = {0};
    struct wcodec_gpu_kernel fit;
    set_limits(d, p, &limits);
    wcodec_gpu_fit(&limits, kernel, &needs, &fit);
    p->items = fit.warps > 0 ? 32 * fit.warps : 32;
    p->groups = fit.groups;
    return 65536u / (row->threads * row->groups) & ~7u;
}

/* Elsewhere as many warps as fit, of those that suit the device. */
static void fit_portable(const struct wcodec_device *d, unsigned kernel,
                         struct wcodec_opencl_program *p)
{
    const struct wcodec_gpu_needs needs = wcodec_gpu_most_needs(kernel, copies_of(d));
    p->items = d->programs[WCODEC_KERNEL_GENERIC][WCODEC_OPENCL_FORM_8].items;
    p->groups = 16;
    while (p->items > 32 && wcodec_gpu_shared_size(kernel, copies_of(d), p->items / 32, &needs) >
                                wcodec_opencl_local_memory(d, p->buffers, p->items))
        p->items -= 32;
}

/* The row, its work-groups, and further options of the compiler. */
static void describe(const struct wcodec_device *d, unsigned kernel,
                     struct wcodec_opencl_program *p, char *more, size_t size)
{
    const struct wcodec_kernel_row *row = &wcodec_kernel_rows[kernel];
    const bool nvidia = d->variant == WCODEC_VARIANT_NVIDIA;
    const struct wcodec_opencl_program *general =
        &d->programs[WCODEC_KERNEL_GENERIC][WCODEC_OPENCL_FORM_8];
    unsigned registers = 0;
    p->items = general->items;
    p->groups = general->groups;
    if (wcodec_kernel_takes_tiles(kernel) && nvidia)
        registers = fit_nvidia(d, kernel, p);
    else if (wcodec_kernel_takes_tiles(kernel))
        fit_portable(d, kernel, p);
    else if (row->family == WCODEC_FAMILY_LATENCY) {
        p->groups = WCODEC_OPENCL_LATENCY_GROUPS;
        registers = 64;
    } else if (row->family == WCODEC_FAMILY_UNITS && p->items > UNITS_ITEMS)
        p->items = UNITS_ITEMS;
    const int n = snprintf(more, size,
                           " -DWCODEC_ROW_FAMILY=%u -DWCODEC_ROW_SHAPE=%u -DWCODEC_ROW_CODING=%u"
                           " -DWCODEC_ROW_ADD=%u -DWCODEC_ROW_BYTES=%u -DWCODEC_ROW_RAW=%u"
                           " -DWCODEC_ROW_UNITS=%u -DWCODEC_OPENCL_COPIES=%u",
                           row->family, row->shape, row->coding, row->add, row->bytes, row->raw,
                           kernel == WCODEC_KERNEL_lossy_units       ? 1u
                           : kernel == WCODEC_KERNEL_fragments_units ? 2u
                                                                     : 0u,
                           copies_of(d));
    if (nvidia && n > 0 && registers > 0)
        snprintf(more + n, size - (size_t)n, " -cl-nv-maxrregcount=%u", registers);
}

wcodec_status wcodec_opencl_coded_build(const struct wcodec_device *d, unsigned decoder,
                                        const char *define, struct wcodec_opencl_program *p,
                                        wcodec_error *err)
{
    char more[440] = "";
    p->buffers = buffers_of(d, WCODEC_OPENCL_FORM_8);
    describe(d, decoder, p, more, sizeof more);
    const size_t length = strlen(more);
    snprintf(more + length, sizeof more - length, " -D%s", define);
    return wcodec_opencl_program_build(d, d->variant, more, p, err);
}

bool wcodec_opencl_takes_long_kernels(const struct wcodec_device *d)
{
    const char *wanted = d->host->setting(d->host->opaque, "WCODEC_OPENCL_FAST");
    return wanted != NULL ? strcmp(wanted, "0") != 0 : d->id->type != CL_DEVICE_TYPE_CPU;
}

static bool is_possible(const struct wcodec_device *d, unsigned kernel,
                        enum wcodec_opencl_form form)
{
    const unsigned family = wcodec_kernel_rows[kernel].family, buffers = buffers_of(d, form);
    if (family == WCODEC_FAMILY_GENERIC || family == WCODEC_FAMILY_UNITS)
        return true;
    if (d->variant == WCODEC_VARIANT_LOOPS)
        return family == WCODEC_FAMILY_FIXED;
    if (d->variant == WCODEC_VARIANT_LOCAL && family != WCODEC_FAMILY_FIXED &&
        (family != WCODEC_FAMILY_FAST || !wcodec_opencl_takes_long_kernels(d)))
        return false;
    if (family == WCODEC_FAMILY_LATENCY)
        return true;
    const struct wcodec_gpu_needs needs = wcodec_gpu_most_needs(kernel, copies_of(d));
    return wcodec_gpu_shared_size(kernel, copies_of(d), 1, &needs) <=
           wcodec_opencl_local_memory(d, buffers, 32);
}

static void build_again(struct wcodec_device *d, unsigned kernel, enum wcodec_opencl_form form,
                        struct wcodec_opencl_program *p)
{
    wcodec_error err = {0};
    char more[400] = "";
    p->buffers = buffers_of(d, form);
    describe(d, kernel, p, more, sizeof more);
    if (wcodec_opencl_program_build(d, d->variant, more, p, &err) != WCODEC_OK)
        d->host->log(d->host->opaque, WCODEC_LOG_INFO,
                     "OpenCL kernel %s for %u buffers is not used: %s",
                     wcodec_kernel_rows[kernel].name, p->buffers, err.text);
}

const struct wcodec_opencl_program *
wcodec_opencl_program_get(struct wcodec_device *d, unsigned kernel, enum wcodec_opencl_form form)
{
    const bool latency = wcodec_kernel_rows[kernel].family == WCODEC_FAMILY_LATENCY;
    if (latency && form != WCODEC_OPENCL_FORM_2)
        return NULL;
    if (d->variant != WCODEC_VARIANT_NVIDIA)
        form = WCODEC_OPENCL_FORM_8;
    if (form == WCODEC_OPENCL_FORM_2 && !latency &&
        wcodec_kernel_rows[kernel].family != WCODEC_FAMILY_FAST)
        form = WCODEC_OPENCL_FORM_8;
    struct wcodec_opencl_program *p = &d->programs[kernel][form];
    pthread_mutex_lock(&d->lock);
    if (!p->tried && is_possible(d, kernel, form))
        build_again(d, kernel, form, p);
    p->tried = true;
    pthread_mutex_unlock(&d->lock);
    return p->program != NULL ? p : NULL;
}

bool wcodec_opencl_find_kernel(struct wcodec_device *d, unsigned kernel,
                               enum wcodec_opencl_form form, struct wcodec_gpu_limits *limits)
{
    const struct wcodec_opencl_program *p = wcodec_opencl_program_get(d, kernel, form);
    if (p == NULL)
        return false;
    set_limits(d, p, limits);
    limits->kernels[kernel] = (struct wcodec_gpu_kernel){true, p->tiles, p->groups};
    return true;
}

static void get_limits(struct wcodec_device *d)
{
    const struct wcodec_opencl_driver *cl = d->cl;
    cl_uint units = 1, major = 0, minor = 0;
    cl_ulong local = 0;
    size_t parameters = 0;
    const char *tiles = d->host->setting(d->host->opaque, "WCODEC_OPENCL_TILES");
    cl->clGetDeviceInfo(d->id->device, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof units, &units, NULL);
    cl->clGetDeviceInfo(d->id->device, CL_DEVICE_LOCAL_MEM_SIZE, sizeof local, &local, NULL);
    cl->clGetDeviceInfo(d->id->device, CL_DEVICE_MAX_PARAMETER_SIZE, sizeof parameters, &parameters,
                        NULL);
    if (cl->clGetDeviceInfo(d->id->device, DEVICE_COMPUTE_CAPABILITY_MAJOR_NV, sizeof major, &major,
                            NULL) == CL_SUCCESS &&
        cl->clGetDeviceInfo(d->id->device, DEVICE_COMPUTE_CAPABILITY_MINOR_NV, sizeof minor, &minor,
                            NULL) == CL_SUCCESS)
        d->capability = 10 * major + minor;
    d->units = units > 0 ? units : 1;
    d->local_memory = local;
    wcodec_opencl_rollouts_open(d);
    if (wcodec_opencl_has(
            d, "cl_nv_create_buffer")) { /* an address alone does not say that the device has it */
        void *found =
            cl->clGetExtensionFunctionAddressForPlatform(d->id->platform, "clCreateBufferNV");
        memcpy(&d->create_nv, &found, sizeof found);
    }
    if (d->variant == WCODEC_VARIANT_NVIDIA && parameters >= sizeof(cl_mem) * BUFFERS_MOST + 128)
        d->buffers = BUFFERS_MOST;
    /* Some gigabytes of output: what slow devices do in a part of a second, after which a display
     * that hangs on them gets its turn. */
    d->launch_tiles = tiles != NULL ? (unsigned)strtoul(tiles, NULL, 10) : 0;
    if (d->launch_tiles == 0 || d->launch_tiles > 1 << 24)
        d->launch_tiles = 1 << 17;
}

static wcodec_status open_variant(struct wcodec_device *d, enum wcodec_opencl_variant variant,
                                  wcodec_error *err)
{
    struct wcodec_opencl_program *p = &d->programs[WCODEC_KERNEL_GENERIC][WCODEC_OPENCL_FORM_8];
    d->variant = variant;
    d->buffers = WCODEC_OPENCL_BUFFERS_72;
    *p = (struct wcodec_opencl_program){.tried = true,
                                        .items = variants[variant].items,
                                        .buffers = buffers_of(d, WCODEC_OPENCL_FORM_8),
                                        .groups = 1};
    return variant == WCODEC_VARIANT_SUBGROUP ? build_sub_groups(d, p, err)
                                              : wcodec_opencl_program_build(d, variant, "", p, err);
}

wcodec_status wcodec_opencl_program_open(struct wcodec_device *d, wcodec_error *err)
{
    enum wcodec_opencl_variant variant = choose_variant(d);
    const char *wanted = d->host->setting(d->host->opaque, "WCODEC_OPENCL_VARIANT");
    if (wanted != NULL) {
        unsigned i = 0;
        while (i < WCODEC_VARIANTS && strcmp(variants[i].name, wanted) != 0)
            i++;
        if (i == WCODEC_VARIANTS)
            return d->host->fail(
                err, WCODEC_ERROR_BACKEND,
                "WCODEC_OPENCL_VARIANT is \"%s\", expected loops, local, subgroup or nvidia",
                wanted);
        variant = (enum wcodec_opencl_variant)i;
    }
    wcodec_status status = open_variant(d, variant, err);
    if (status == WCODEC_ERROR_BACKEND && wanted == NULL && variant != WCODEC_VARIANT_LOOPS &&
        variant != WCODEC_VARIANT_LOCAL) {
        d->host->log(d->host->opaque, WCODEC_LOG_INFO,
                     "OpenCL kernels of the kind \"%s\" are not used: %s", variants[variant].name,
                     err != NULL ? err->text : "they do not compile");
        status = open_variant(d, WCODEC_VARIANT_LOCAL, err);
    }
    if (status == WCODEC_OK)
        get_limits(d);
    return status;
}

void wcodec_opencl_program_close(struct wcodec_device *d)
{
    for (unsigned k = 0; k < WCODEC_KERNELS; k++)
        for (unsigned form = 0; form < WCODEC_OPENCL_FORMS; form++)
            if (d->programs[k][form].program != NULL)
                d->cl->clReleaseProgram(d->programs[k][form].program);
}
