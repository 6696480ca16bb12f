/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Tensors are measured, and coded in tiles, in the device's memory (backends/kernels/measure.h,
 * encode_tiles.h), by programs that are made when they are needed first. */
#include "backends/opencl/opencl.h"

#include <stdio.h>

enum {
    /* log2 of the table's copies. Work-groups have 48 KiB of local memory on NVIDIA's GPUs; what
     * others have at least, 32 KiB, takes several of them at a time so. */
    COPIES_NVIDIA_LOG2 = 2,
    COPIES_OTHER_LOG2 = 0,
    MEASURE_GROUPS = 4, /* of a multiprocessor, for which registers are to be enough */
    LEAVES_GROUPS = 3,
    DELTA_GROUPS = 4, /* of fewer warps */
    CODED = WCODEC_TILE_ENCODER_code_any,
    MEASURED = WCODEC_OPENCL_MEASURING,
    DELTAS = WCODEC_OPENCL_DELTAS
};

/* As coder.cl numbers the steps. */
static unsigned step_of(unsigned kernel)
{
    if (kernel >= DELTAS)
        return 6 + kernel - DELTAS;
    if (kernel >= MEASURED)
        return kernel == MEASURED + WCODEC_MEASURE_measure_sums ? 5 : 4;
    return kernel < CODED ? 0 : 1 + kernel - CODED;
}

/* A row; of a kernel that does not code what the compiler is told. */
static struct wcodec_tile_encoder_row row_of(unsigned kernel)
{
    if (kernel < MEASURED)
        return wcodec_tile_encoder_rows[kernel];
    if (kernel >= DELTAS)
        return (struct wcodec_tile_encoder_row){
            .name = wcodec_delta_kernel_names[kernel - DELTAS],
            .groups = kernel > DELTAS + WCODEC_DELTA_LEAVES ? DELTA_GROUPS : LEAVES_GROUPS};
    return (struct wcodec_tile_encoder_row){.name = wcodec_measure_names[kernel - MEASURED],
                                            .element_log2 = (uint8_t)((kernel - MEASURED) & 3),
                                            .groups = MEASURE_GROUPS};
}

/* Work-groups of the general kernel, or smaller ones. Where all lanes come to barriers, compilers
 * take long: one kernel is for all tensors. */
static struct wcodec_gpu_tiles_form form_of(const struct wcodec_device *d)
{
    const bool nvidia = d->variant == WCODEC_VARIANT_NVIDIA;
    const unsigned items = d->programs[WCODEC_KERNEL_GENERIC][WCODEC_OPENCL_FORM_8].items;
    struct wcodec_gpu_tiles_form f = {.warps = items / 32,
                                      .copies_log2 =
                                          nvidia ? COPIES_NVIDIA_LOG2 : COPIES_OTHER_LOG2,
                                      .any = d->variant == WCODEC_VARIANT_LOCAL};
    while (f.warps > 0 && WCODEC_GPU_TILES_SHARED_OF(f.warps, f.copies_log2) >
                              wcodec_opencl_local_memory(d, 0, 32 * f.warps))
        f.warps--;
    f.many = f.warps;
    return f;
}

unsigned wcodec_opencl_coder_warps(const struct wcodec_device *d, unsigned kernel)
{
    unsigned warps = form_of(d).warps;
    if (kernel > DELTAS + WCODEC_DELTA_LEAVES && warps > WCODEC_GPU_CHANGES_WARPS)
        warps = WCODEC_GPU_CHANGES_WARPS;
    while (kernel >= MEASURED && kernel < DELTAS && warps > 0 &&
           warps * WCODEC_MEASURE_STAGE > wcodec_opencl_local_memory(d, 0, 32 * warps))
        warps--;
    return warps;
}

static bool can_code(const struct wcodec_device *d)
{
    return d->variant != WCODEC_VARIANT_LOOPS && wcodec_opencl_takes_long_kernels(d) &&
           wcodec_opencl_coder_warps(d, MEASURED) > 0;
}

bool wcodec_opencl_has_coders(struct wcodec_device *d)
{
    pthread_mutex_lock(&d->lock);
    const bool failed = d->coders_failed;
    pthread_mutex_unlock(&d->lock);
    return can_code(d) && !failed;
}

static bool supports(struct wcodec_device *d, const struct wcodec_tiling *tiling)
{
    return wcodec_opencl_has_coders(d) && wcodec_gpu_codes_tiles(tiling);
}

/* A compiler may give a kernel sub-groups of one work-item where it finds it too long. */
static bool has_warps(const struct wcodec_device *d, const struct wcodec_opencl_program *p)
{
    if (d->variant != WCODEC_VARIANT_SUBGROUP)
        return true;
    const size_t size = wcodec_opencl_sub_group_size(d, p->program, "wcodec_coder", p->items);
    return p->items == 32 ? size >= 32 : size == 32;
}

static wcodec_status make(const struct wcodec_device *d, unsigned kernel,
                          struct wcodec_opencl_coder *c, wcodec_error *err)
{
    const struct wcodec_tile_encoder_row row = row_of(kernel);
    const struct wcodec_gpu_tiles_form form = form_of(d);
    char more[250];
    cl_int result = CL_SUCCESS;
    const int n =
        snprintf(more, sizeof more,
                 " -DWCODEC_CODER=%u -DWCODEC_CODER_ELEMENT_LOG2=%u"
                 " -DWCODEC_CODER_RAW=%u -DWCODEC_CODER_PROFILE=%u"
                 " -DWCODEC_CODER_COPIES_LOG2=%u",
                 step_of(kernel), row.element_log2, row.raw, row.profile, form.copies_log2);
    if (d->variant == WCODEC_VARIANT_NVIDIA)
        snprintf(more + n, sizeof more - (size_t)n, " -cl-nv-maxrregcount=%u",
                 65536u / (32 * wcodec_opencl_coder_warps(d, kernel) * row.groups) & ~7u);
    c->program.buffers = WCODEC_OPENCL_BUFFERS_2;
    c->program.items = 32 * wcodec_opencl_coder_warps(d, kernel);
    const wcodec_status status = wcodec_opencl_program_build(d, d->variant, more, &c->program, err);
    if (status != WCODEC_OK)
        return status;
    const bool warps = has_warps(d, &c->program);
    if (warps)
        c->kernels[0] = d->cl->clCreateKernel(c->program.program, "wcodec_coder", &result);
    c->kernel_count = warps && result == CL_SUCCESS;
    if (c->kernel_count != 0)
        return WCODEC_OK;
    d->cl->clReleaseProgram(c->program.program);
    *c = (struct wcodec_opencl_coder){.kernel_count = 0};
    return warps ? wcodec_opencl_fail(d, result, "clCreateKernel", err)
                 : d->host->fail(err, WCODEC_ERROR_BACKEND,
                                 "its sub-groups have less than 32 work-items");
}

void wcodec_opencl_encoders_close(struct wcodec_device *d)
{
    for (unsigned k = 0; k < WCODEC_OPENCL_CODERS; k++) {
        struct wcodec_opencl_coder *c = &d->coders[k];
        while (c->kernel_count > 0)
            d->cl->clReleaseKernel(c->kernels[--c->kernel_count]);
        if (c->program.program != NULL)
            d->cl->clReleaseProgram(c->program.program);
        *c = (struct wcodec_opencl_coder){.kernel_count = 0};
    }
}

/* The device's lock is held. What a compiler does not take the CPU does. */
static wcodec_status find(struct wcodec_device *d, unsigned kernel, wcodec_error *err)
{
    wcodec_error own = {0};
    if (d->coders_failed)
        return d->host->fail(err, WCODEC_ERROR_UNSUPPORTED,
                             "the device's compiler does not take the kernels that code");
    if (d->coders[kernel].program.program != NULL)
        return WCODEC_OK;
    const wcodec_status status = make(d, kernel, &d->coders[kernel], &own);
    if (status == WCODEC_OK)
        return status;
    if (status != WCODEC_ERROR_BACKEND)
        return d->host->fail(err, status, "%s", own.text);
    d->coders_failed = true;
    d->host->log(d->host->opaque, WCODEC_LOG_INFO,
                 "OpenCL kernel %s is not used, tensors are coded on the CPU: %s",
                 row_of(kernel).name, own.text);
    return d->host->fail(err, WCODEC_ERROR_UNSUPPORTED, "%s", own.text);
}

static cl_int enqueue(struct wcodec_queue *q, cl_kernel kernel,
                      const struct wcodec_opencl_coder_launch *l, const char **call)
{
    const struct wcodec_device *d = q->device;
    cl_int result = CL_SUCCESS;
    *call = "clSetKernelArg";
    for (unsigned i = 0; i < l->buffer_count && result == CL_SUCCESS; i++)
        result = d->cl->clSetKernelArg(kernel, i, sizeof(cl_mem), &l->buffers[i]);
    if (result == CL_SUCCESS)
        result = d->cl->clSetKernelArg(kernel, l->buffer_count, l->arguments_size, l->arguments);
    if (result == CL_SUCCESS)
        result = d->cl->clSetKernelArg(kernel, l->buffer_count + 1, l->shared > 16 ? l->shared : 16,
                                       NULL);
    if (result != CL_SUCCESS)
        return result;
    wcodec_opencl_enter(q->device);
    result =
        wcodec_opencl_enqueue(d, wcodec_opencl_use(q), kernel, l->groups, l->threads, NULL, call);
    wcodec_opencl_leave(q->device);
    return result;
}

/* A kernel for this thread alone. */
static wcodec_status take_kernel(struct wcodec_device *d, unsigned number, cl_kernel *kernel,
                                 wcodec_error *err)
{
    struct wcodec_opencl_coder *c = &d->coders[number];
    cl_int result = CL_SUCCESS;
    wcodec_opencl_lock(&d->lock);
    wcodec_status status = find(d, number, err);
    if (status == WCODEC_OK && c->kernel_count > 0)
        *kernel = c->kernels[--c->kernel_count];
    else if (status == WCODEC_OK)
        *kernel = d->cl->clCreateKernel(c->program.program, "wcodec_coder", &result);
    pthread_mutex_unlock(&d->lock);
    return result == CL_SUCCESS ? status : wcodec_opencl_fail(d, result, "clCreateKernel", err);
}

static void give_kernel(struct wcodec_device *d, unsigned number, cl_kernel kernel)
{
    struct wcodec_opencl_coder *c = &d->coders[number];
    wcodec_opencl_lock(&d->lock);
    const bool kept = c->kernel_count < WCODEC_OPENCL_CODER_KERNELS;
    if (kept)
        c->kernels[c->kernel_count++] = kernel;
    pthread_mutex_unlock(&d->lock);
    if (!kept)
        d->cl->clReleaseKernel(kernel);
}

wcodec_status wcodec_opencl_coder_enqueue(struct wcodec_queue *q,
                                          const struct wcodec_opencl_coder_launch *l,
                                          wcodec_error *err)
{
    cl_kernel kernel = NULL;
    const char *call;
    const wcodec_status status = take_kernel(q->device, l->kernel, &kernel, err);
    if (status != WCODEC_OK)
        return status;
    const cl_int result = enqueue(q, kernel, l, &call);
    give_kernel(q->device, l->kernel, kernel);
    return result == CL_SUCCESS ? WCODEC_OK : wcodec_opencl_fail(q->device, result, call, err);
}

/* Launches of one tensor, which have the same buffers. */
struct launching {
    struct wcodec_queue *queue;
    struct wcodec_opencl_coder_launch launch;
    wcodec_status status;
    wcodec_error *err;
};

static int launch(struct launching *w, unsigned kernel, const void *arguments, size_t size,
                  const uint32_t grid[3])
{
    w->launch.kernel = kernel;
    w->launch.arguments = arguments;
    w->launch.arguments_size = size;
    w->launch.groups = grid[0];
    w->launch.threads = grid[1];
    w->launch.shared = grid[2];
    w->status = wcodec_opencl_coder_enqueue(w->queue, &w->launch, w->err);
    return w->status != WCODEC_OK;
}

static int launch_coding(void *opaque, struct wcodec_gpu_tiles *l)
{
    const uint32_t grid[3] = {l->groups, l->threads, l->shared};
    return launch(opaque, l->kernel, &l->arguments, sizeof l->arguments, grid);
}

static int launch_measuring(void *opaque, struct wcodec_gpu_measuring *l)
{
    const uint32_t grid[3] = {l->groups, l->threads, l->shared};
    return launch(opaque, MEASURED + l->kernel, &l->arguments, sizeof l->arguments, grid);
}

static wcodec_status check_device(const struct wcodec_device *d, wcodec_error *err)
{
    return can_code(d) ? WCODEC_OK
                       : d->host->fail(err, WCODEC_ERROR_UNSUPPORTED,
                                       "this OpenCL device has no kernels that code tensors in "
                                       "tiles");
}

wcodec_status wcodec_opencl_coders_flush(const struct wcodec_queue *q, wcodec_error *err)
{
    wcodec_opencl_enter(q->device);
    const cl_int result = q->device->cl->clFlush(q->queue);
    wcodec_opencl_leave(q->device);
    return result == CL_SUCCESS ? WCODEC_OK : wcodec_opencl_fail(q->device, result, "clFlush", err);
}

/* A launch's addresses are offsets in its buffers. */
static uint64_t address_of(const struct wcodec_memory *memory)
{
    (void)memory;
    return 0;
}

static wcodec_status code(struct wcodec_queue *q, const struct wcodec_tensor_coding *coding,
                          wcodec_error *err)
{
    struct launching w = {
        .queue = q, .launch = {.buffer_count = WCODEC_OPENCL_CODER_BUFFERS}, .err = err};
    const wcodec_status status = check_device(q->device, err);
    if (status != WCODEC_OK)
        return status;
    const struct wcodec_gpu_tiles_form form = form_of(q->device);
    w.launch.buffers[0] = coding->elements->buffer;
    w.launch.buffers[1] = coding->work->buffer;
    w.launch.buffers[2] = coding->directory.memory->buffer;
    for (unsigned a = 0; a < WCODEC_AREAS; a++) {
        const struct wcodec_memory *memory = coding->areas[a].memory;
        w.launch.buffers[3 + a] = memory != NULL ? memory->buffer : coding->work->buffer;
    }
    return wcodec_gpu_code_tiles(coding, &form, address_of, launch_coding, &w) != 0
               ? w.status
               : wcodec_opencl_coders_flush(q, err);
}

/* Programs have the work-groups of those that code, or smaller ones: a warp's counts need more
 * local memory. */
static wcodec_status measure(struct wcodec_queue *q, const struct wcodec_tensor_measure *m,
                             wcodec_error *err)
{
    struct launching w = {
        .queue = q,
        .launch = {.buffers = {m->elements->buffer, m->work->buffer}, .buffer_count = 2},
        .err = err,
    };
    const wcodec_status status = check_device(q->device, err);
    if (status != WCODEC_OK)
        return status;
    return wcodec_gpu_measure_tensor(m, wcodec_opencl_coder_warps(q->device, MEASURED), address_of,
                                     launch_measuring, &w) != 0
               ? w.status
               : wcodec_opencl_coders_flush(q, err);
}

const struct wcodec_backend_encoders wcodec_opencl_encoders = {supports, code, measure};
