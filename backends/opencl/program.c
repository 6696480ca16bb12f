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
    PLACES_MOST = 520,
    RING_ROOM = 1792, /* of a tile: backends/opencl/ring.cl */
    TABLES = 16384,
    STAGE = 2256,      /* of a tile, in fused kernels: backends/kernels/stage.h */
    FAST_EXTRA = 256,  /* what else is in local memory */
    BLOCKS_ITEMS = 128 /* of the kernels of blocks: a tile has eight units at least to share */
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

static bool device_has(const struct wcodec_device *d, const char *name)
{
    char list[8192] = "";
    const size_t length = strlen(name);
    if (d->cl->clGetDeviceInfo(d->place->device, CL_DEVICE_EXTENSIONS, sizeof list - 1, list,
                               NULL) != CL_SUCCESS)
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
    const bool core = d->cl->clGetDeviceInfo(d->place->device, DEVICE_MAX_NUM_SUB_GROUPS,
                                             sizeof count, &count, NULL) == CL_SUCCESS &&
                      count > 0;
    return (core || device_has(d, "cl_khr_subgroups")) && device_has(d, "cl_khr_subgroup_ballot");
}

static enum wcodec_opencl_variant choose_variant(const struct wcodec_device *d)
{
    cl_uint warp = 0;
    if (d->place->type == CL_DEVICE_TYPE_CPU)
        return WCODEC_VARIANT_LOOPS;
    if (device_has(d, "cl_nv_device_attribute_query") &&
        d->cl->clGetDeviceInfo(d->place->device, DEVICE_WARP_SIZE_NV, sizeof warp, &warp, NULL) ==
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
    if (d->cl->clGetDeviceInfo(d->place->device, CL_DEVICE_OPENCL_C_VERSION, sizeof version - 1,
                               version, NULL) == CL_SUCCESS &&
        sscanf(version, "OpenCL C %u.%u", &major, &minor) == 2 && major >= 3)
        return "-cl-std=CL3.0";
    return "-cl-std=CL2.0";
}

/* Buffers of a kernel. Where compilers are slow and launches are not, one kind is enough. */
static unsigned places_of(const struct wcodec_device *d, enum wcodec_opencl_form form)
{
    if (form == WCODEC_OPENCL_MANY || d->variant != WCODEC_VARIANT_NVIDIA)
        return d->places;
    return form == WCODEC_OPENCL_SOME  ? WCODEC_OPENCL_PLACES_LEAST
           : form == WCODEC_OPENCL_FEW ? WCODEC_OPENCL_PLACES_FEW
                                       : WCODEC_OPENCL_PLACES_TWO;
}

/* A line of an error text, whatever the compiler wrote. */
static void join_lines(char *text)
{
    for (char *p = text; (p = strchr(p, '\n')) != NULL;)
        *p = p[1] != '\0' ? '|' : '\0';
}

/* Of sub-groups, where the compiler can be told. */
static unsigned width_of(const struct wcodec_device *d)
{
    const char *wanted = d->host->setting(d->host->opaque, "WCODEC_OPENCL_WIDTH");
    const unsigned long width = wanted != NULL ? strtoul(wanted, NULL, 10) : 0;
    return width > 0 && width <= 1024 ? (unsigned)width : 32;
}

/* Build a program with further options; on failure the compiler's words are in the error text. */
static wcodec_status build(const struct wcodec_device *d, enum wcodec_opencl_variant variant,
                           const char *more, struct wcodec_opencl_program *p, wcodec_error *err)
{
    const char *source = wcodec_opencl_source;
    const char *own = d->host->setting(
        d->host->opaque, "WCODEC_OPENCL_OPTIONS"); /* for tests: -cl-opt-disable, say */
    char options[800], log[8192] = "";
    cl_int result;
    cl_program program = d->cl->clCreateProgramWithSource(d->context, 1, &source,
                                                          &wcodec_opencl_source_size, &result);
    if (result != CL_SUCCESS)
        return wcodec_opencl_fail(d, result, "clCreateProgramWithSource", err);
    const int length =
        snprintf(options, sizeof options,
                 "%s %s -DWCODEC_OPENCL_ITEMS=%u -DWCODEC_PLACES=%u%s %.300s", language(d, variant),
                 variants[variant].options, p->items, p->places, more, own != NULL ? own : "");
    if (variant == WCODEC_VARIANT_SUBGROUP && device_has(d, "cl_intel_required_subgroup_size"))
        snprintf(options + length, sizeof options - (size_t)length, " -DWCODEC_OPENCL_WIDTH=%u",
                 width_of(d));
    result = d->cl->clBuildProgram(program, 1, &d->place->device, options, NULL, NULL);
    if (result != CL_SUCCESS) {
        const char *name = wcodec_opencl_result_name(result);
        if (d->cl->clGetProgramBuildInfo(program, d->place->device, CL_PROGRAM_BUILD_LOG,
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

/* The size of sub-groups in work-groups of `items`; 0 if the driver does not tell. */
static size_t sub_group_size(const struct wcodec_device *d, cl_program program, size_t items)
{
    size_t size = 0;
    cl_int result;
    sub_group_info_function info;
    void *found = d->cl->clGetExtensionFunctionAddressForPlatform(d->place->platform,
                                                                  "clGetKernelSubGroupInfoKHR");
    if (found == NULL)
        found = dlsym(d->cl->library, "clGetKernelSubGroupInfo");
    memcpy(&info, &found, sizeof info);
    cl_kernel kernel =
        info != NULL ? d->cl->clCreateKernel(program, "wcodec_kernel", &result) : NULL;
    if (kernel == NULL)
        return 0;
    result = info(kernel, d->place->device, KERNEL_MAX_SUB_GROUP_SIZE, sizeof items, &items,
                  sizeof size, &size, NULL);
    d->cl->clReleaseKernel(kernel);
    return result == CL_SUCCESS ? size : 0;
}

/* Sub-groups must hold a tile's lanes: several of 32 in a work-group, or a wider one of which 32
 * are used. */
static wcodec_status build_sub_groups(const struct wcodec_device *d,
                                      struct wcodec_opencl_program *p, wcodec_error *err)
{
    wcodec_status status = build(d, WCODEC_VARIANT_SUBGROUP, "", p, err);
    if (status || sub_group_size(d, p->program, p->items) == 32)
        return status;
    d->cl->clReleaseProgram(p->program);
    p->program = NULL;
    p->items = 32;
    status = build(d, WCODEC_VARIANT_SUBGROUP, "", p, err);
    if (status || sub_group_size(d, p->program, 32) >= 32)
        return status;
    d->cl->clReleaseProgram(p->program);
    p->program = NULL;
    return d->host->fail(err, WCODEC_ERROR_BACKEND, "its sub-groups have less than 32 work-items");
}

/* Work-groups of a fast kernel on NVIDIA, and registers: measured (bench/gpu/README.md). With many
 * buffers some warps make room for their pointers. */
static unsigned shape_nvidia(const struct wcodec_device *d, unsigned shape, bool fused,
                             struct wcodec_opencl_program *p)
{
    const bool large =
        d->capability == 80 || (d->capability >= 90 && d->capability < 120); /* much local memory */
    if (fused) { /* a work-group has 48 KB */
        const bool few = p->places <= WCODEC_OPENCL_PLACES_FEW;
        p->items = few ? 256 : 192;
        p->groups = large ? 4 : 2;
        return few ? 64 : 80;
    }
    const bool bytes =
        shape == WCODEC_SHAPE_8_4 || shape == WCODEC_SHAPE_8_31 || shape == WCODEC_SHAPE_8_0;
    const bool many = p->places > WCODEC_OPENCL_PLACES_LEAST,
               three = many && large && shape != WCODEC_SHAPE_32_24;
    const bool more = bytes && p->places <= WCODEC_OPENCL_PLACES_FEW;
    p->items = many ? 416 : more ? 576 : 512;
    p->groups = three ? 3 : 2;
    return three ? 48 : more ? 56 : 64;
}

/* Those of the kernels that make elements of lossy tensors: what their transforms want of registers
 * leaves room for few warps. */
static void lossy_groups(const struct wcodec_device *d, unsigned kernel,
                         struct wcodec_opencl_program *p, char *more, size_t size)
{
    const bool nvidia = d->variant == WCODEC_VARIANT_NVIDIA,
               raw = kernel >= WCODEC_FUSED_LOSSY_RAW_WIDE,
               wide = kernel == WCODEC_FUSED_LOSSY_WIDE || kernel == WCODEC_FUSED_LOSSY_RAW_WIDE;
    const bool pairs = kernel == WCODEC_FUSED_LOSSY_PAIRS || kernel == WCODEC_FUSED_LOSSY_RAW_PAIRS,
               plain = pairs || kernel == WCODEC_FUSED_LOSSY_P12 ||
                       kernel == WCODEC_FUSED_LOSSY_RAW_P12;
    const unsigned coding = pairs   ? WCODEC_CODING_PAIRS
                            : plain ? WCODEC_CODING_P12
                                    : WCODEC_CODING_P8_RUNS;
    const unsigned tables = TABLES + (wide ? 2048 : 0),
                   room = 2048 + (plain  ? 1248
                                  : wide ? 5232
                                         : 2816); /* struct wcodec_lossy_room, behind a ring */
    p->groups = nvidia ? 4 : 16;
    p->items =
        nvidia ? (plain ? 256 : 128) : d->programs[WCODEC_KERNEL_GENERIC][WCODEC_OPENCL_FEW].items;
    while (p->items > 32 &&
           tables + p->items / 32 * room + 8 * p->places + FAST_EXTRA > d->local_memory)
        p->items -= 32;
    const int n = snprintf(
        more, size,
        " -DWCODEC_SHAPE=%u -DWCODEC_CODING=%u -DWCODEC_ADD=0 -DWCODEC_OPENCL_COPIES=1 -DWCODEC_LOSSY_FUSED=%u -DWCODEC_LOSSY_RAW=%d",
        (unsigned)WCODEC_SHAPE_8_0, coding, wide ? 2u : 1u, raw);
    if (nvidia)
        snprintf(more + n, size - (size_t)n, " -cl-nv-maxrregcount=%u%s%s", plain ? 64u : 128u,
                 d->capability >= 80 ? " -DWCODEC_OPENCL_ASYNC -DWCODEC_OPENCL_FLOAT_PAIRS" : "",
                 d->capability >= 90 ? " -DWCODEC_OPENCL_HALVES" : "");
}

/* The residuals that the fused kernels of blocks decode: shapes as in backends/opencl/elements.cl,
 * from 9 on bytes with one to three raw bits below. */
static const struct {
    unsigned shape, coding;
} residuals[] = {{WCODEC_SHAPE_8_4, WCODEC_CODING_PAIRS},
                 {9, WCODEC_CODING_PAIRS},
                 {10, WCODEC_CODING_PAIRS},
                 {11, WCODEC_CODING_PAIRS},
                 {WCODEC_SHAPE_8_0, WCODEC_CODING_P12},
                 {WCODEC_SHAPE_8_0, WCODEC_CODING_P8},
                 {WCODEC_SHAPE_8_0, WCODEC_CODING_P8_RUNS}};

/* Work-groups of a fast kernel, and what else its compiler is told. */
static void shape_groups(const struct wcodec_device *d, unsigned number,
                         enum wcodec_opencl_form form, struct wcodec_opencl_program *p, char *more,
                         size_t size)
{
    const bool nvidia = d->variant == WCODEC_VARIANT_NVIDIA, fused = number > WCODEC_KERNEL_GENERIC,
               few = form == WCODEC_OPENCL_FEW_TILES;
    const unsigned shape = fused ? residuals[number - WCODEC_FUSED_8_4_PAIRS].shape
                                 : wcodec_kernel_shape(number),
                   room = RING_ROOM + (fused ? STAGE : 0);
    const unsigned coding =
        fused ? residuals[number - WCODEC_FUSED_8_4_PAIRS].coding : number / 2 % WCODEC_CODINGS;
    int n = snprintf(
        more, size,
        " -DWCODEC_SHAPE=%u -DWCODEC_CODING=%u -DWCODEC_ADD=%u -DWCODEC_OPENCL_COPIES=%u%s", shape,
        coding, fused || (number % 2 && shape != WCODEC_SHAPE_32_8), nvidia && !few ? 16u : 1u,
        fused ? " -DWCODEC_FUSED" : "");
    if (nvidia && d->capability >= 80)
        n += snprintf(more + n, size - (size_t)n, " -DWCODEC_OPENCL_ASYNC");
    if (few) {
        p->items = d->programs[WCODEC_KERNEL_GENERIC][WCODEC_OPENCL_FEW].items;
        p->groups = WCODEC_OPENCL_FEW_GROUPS;
        snprintf(more + n, size - (size_t)n, " -DWCODEC_FEW=%u%s", WCODEC_OPENCL_FEW_ROOM,
                 nvidia ? " -cl-nv-maxrregcount=64" : "");
    } else if (nvidia) {
        snprintf(more + n, size - (size_t)n, " -cl-nv-maxrregcount=%u",
                 shape_nvidia(d, shape, fused, p));
    } else {
        p->items = d->programs[WCODEC_KERNEL_GENERIC][WCODEC_OPENCL_FEW].items;
        p->groups = 16;
        while (p->items > 32 &&
               TABLES + p->items / 32 * room + 8 * p->places + FAST_EXTRA > d->local_memory)
            p->items -= 32;
    }
}

/* The field lists and codings of which fast.cl makes something. */
static bool is_possible(const struct wcodec_device *d, unsigned kernel,
                        enum wcodec_opencl_form form)
{
    const unsigned shape = kernel / 2 / WCODEC_CODINGS, coding = kernel / 2 % WCODEC_CODINGS;
    if (form == WCODEC_OPENCL_FEW_TILES &&
        ((coding != WCODEC_CODING_PAIRS && coding != WCODEC_CODING_P8) ||
         d->variant < WCODEC_VARIANT_SUBGROUP ||
         WCODEC_OPENCL_FEW_ROOM + 8 * places_of(d, form) + FAST_EXTRA > d->local_memory))
        return false;
    if (d->variant == WCODEC_VARIANT_LOOPS ||
        TABLES + RING_ROOM + 8 * WCODEC_OPENCL_PLACES_LEAST + FAST_EXTRA > d->local_memory)
        return false;
    if (kernel > WCODEC_KERNEL_GENERIC) /* votes by barriers in branches are more than processors'
                                           compilers bear */
        return d->variant != WCODEC_VARIANT_LOCAL &&
               TABLES + RING_ROOM + 7536 + 8 * WCODEC_OPENCL_PLACES_LEAST + FAST_EXTRA <=
                   d->local_memory;
    return coding == WCODEC_CODING_PAIRS ? shape != WCODEC_SHAPE_8_0
           : coding == WCODEC_CODING_P12 ? shape == WCODEC_SHAPE_8_0
                                         : true;
}

static void build_again(struct wcodec_device *d, unsigned kernel, enum wcodec_opencl_form form,
                        struct wcodec_opencl_program *p)
{
    wcodec_error err = {0};
    char more[320] = "";
    p->places = places_of(d, form);
    if (kernel > WCODEC_KERNEL_GENERIC && kernel < WCODEC_FUSED_8_4_PAIRS) {
        lossy_groups(d, kernel, p, more, sizeof more);
    } else if (kernel == WCODEC_KERNEL_GENERIC || kernel >= WCODEC_KERNELS) {
        const struct wcodec_opencl_program *general =
            &d->programs[WCODEC_KERNEL_GENERIC][WCODEC_OPENCL_FEW];
        const bool pairs = d->variant == WCODEC_VARIANT_NVIDIA && d->capability >= 80;
        p->items = kernel != WCODEC_KERNEL_GENERIC && general->items > BLOCKS_ITEMS
                       ? BLOCKS_ITEMS
                       : general->items;
        p->groups = general->groups;
        snprintf(more, sizeof more, "%s",
                 kernel == WCODEC_KERNEL_GENERIC  ? ""
                 : kernel == WCODEC_KERNEL_BLOCKS ? " -DWCODEC_BLOCKS"
                 : pairs                          ? " -DWCODEC_LOSSY -DWCODEC_OPENCL_FLOAT_PAIRS"
                                                  : " -DWCODEC_LOSSY");
    } else {
        shape_groups(d, kernel, form, p, more, sizeof more);
    }
    if (build(d, d->variant, more, p, &err) != WCODEC_OK)
        d->host->log(d->host->opaque, WCODEC_LOG_INFO,
                     "OpenCL kernel %u for %u buffers is not used: %s", kernel, p->places,
                     err.text);
}

const struct wcodec_opencl_program *
wcodec_opencl_program_get(struct wcodec_device *d, unsigned kernel, enum wcodec_opencl_form form)
{
    if (form != WCODEC_OPENCL_FEW_TILES && d->variant != WCODEC_VARIANT_NVIDIA)
        form = WCODEC_OPENCL_FEW;
    if (form == WCODEC_OPENCL_TWO && kernel >= WCODEC_KERNEL_GENERIC)
        form = WCODEC_OPENCL_FEW;
    struct wcodec_opencl_program *p = &d->programs[kernel][form];
    pthread_mutex_lock(&d->lock);
    if (!p->tried && (kernel >= WCODEC_KERNELS || kernel == WCODEC_KERNEL_GENERIC ||
                      is_possible(d, kernel, form)))
        build_again(d, kernel, form, p);
    p->tried = true;
    pthread_mutex_unlock(&d->lock);
    return p->program != NULL ? p : NULL;
}

static void get_limits(struct wcodec_device *d)
{
    const struct wcodec_opencl_driver *cl = d->cl;
    cl_uint units = 1, major = 0, minor = 0;
    cl_ulong local = 0;
    size_t parameters = 0;
    const char *tiles = d->host->setting(d->host->opaque, "WCODEC_OPENCL_TILES");
    cl->clGetDeviceInfo(d->place->device, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof units, &units, NULL);
    cl->clGetDeviceInfo(d->place->device, CL_DEVICE_LOCAL_MEM_SIZE, sizeof local, &local, NULL);
    cl->clGetDeviceInfo(d->place->device, CL_DEVICE_MAX_PARAMETER_SIZE, sizeof parameters,
                        &parameters, NULL);
    if (cl->clGetDeviceInfo(d->place->device, DEVICE_COMPUTE_CAPABILITY_MAJOR_NV, sizeof major,
                            &major, NULL) == CL_SUCCESS &&
        cl->clGetDeviceInfo(d->place->device, DEVICE_COMPUTE_CAPABILITY_MINOR_NV, sizeof minor,
                            &minor, NULL) == CL_SUCCESS)
        d->capability = 10 * major + minor;
    d->units = units > 0 ? units : 1;
    d->local_memory = local;
    if (device_has(
            d, "cl_nv_create_buffer")) { /* an address alone does not say that the device has it */
        void *found =
            cl->clGetExtensionFunctionAddressForPlatform(d->place->platform, "clCreateBufferNV");
        memcpy(&d->create_nv, &found, sizeof found);
    }
    if (d->variant == WCODEC_VARIANT_NVIDIA && parameters >= sizeof(cl_mem) * PLACES_MOST + 128)
        d->places = PLACES_MOST;
    /* Some gigabytes of output: what slow devices do in a part of a second, after which a display
     * that hangs on them gets its turn. */
    d->launch_tiles = tiles != NULL ? (unsigned)strtoul(tiles, NULL, 10) : 0;
    if (d->launch_tiles == 0 || d->launch_tiles > 1 << 24)
        d->launch_tiles = 1 << 17;
}

static wcodec_status open_variant(struct wcodec_device *d, enum wcodec_opencl_variant variant,
                                  wcodec_error *err)
{
    struct wcodec_opencl_program *p = &d->programs[WCODEC_KERNEL_GENERIC][WCODEC_OPENCL_FEW];
    d->variant = variant;
    d->places = WCODEC_OPENCL_PLACES_LEAST;
    *p = (struct wcodec_opencl_program){.tried = true,
                                        .items = variants[variant].items,
                                        .places = places_of(d, WCODEC_OPENCL_FEW),
                                        .groups = 1};
    return variant == WCODEC_VARIANT_SUBGROUP ? build_sub_groups(d, p, err)
                                              : build(d, variant, "", p, err);
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
    for (unsigned k = 0; k < WCODEC_KERNELS_ALL; k++)
        for (unsigned form = 0; form < WCODEC_OPENCL_FORMS; form++)
            if (d->programs[k][form].program != NULL)
                d->cl->clReleaseProgram(d->programs[k][form].program);
}
