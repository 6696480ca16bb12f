/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Products, and rows, of matrices that stay coded in the device's memory: launches on the caller's
 * queue, of kernels that are made when they are needed first. Native memory is a cl_mem: x, y and
 * all else begin with it. */
#include "backends/opencl/opencl.h"

#include <stdio.h>

enum {
    /* By tensor cores. A work-group's local memory, 48 KiB, has no room for CUDA's 16 warps: two
     * groups share a unit, whose registers are enough for just so many. */
    PRODUCT_GROUPS = 2,
    PRODUCT_WARPS = 8,
    PRODUCT_REGISTERS = 65536 / (PRODUCT_GROUPS * PRODUCT_WARPS * 32),
    ROWS_REGISTERS = 64,
    PLAIN_PARTS = 4,  /* of a work-group, on GPUs */
    PLAIN_ITEMS = 64, /* of a part */
    DENSE_ITEMS = 64
};

/* Number of an argument of every kernel of product.cl. */
enum { ARG_MATRIX = 0 };

static unsigned plain_parts(const struct wcodec_device *d)
{
    size_t most = 0;
    if (d->id->type == CL_DEVICE_TYPE_CPU ||
        d->cl->clGetDeviceInfo(d->id->device, CL_DEVICE_MAX_WORK_GROUP_SIZE, sizeof most, &most,
                               NULL) != CL_SUCCESS ||
        most < (size_t)PLAIN_PARTS * PLAIN_ITEMS)
        return 1;
    return PLAIN_PARTS;
}

static wcodec_status make(const struct wcodec_device *d, struct wcodec_opencl_product *p,
                          enum wcodec_opencl_product_kind kind,
                          const struct wcodec_product_row *row, wcodec_error *err)
{
    const bool plain = kind >= WCODEC_OPENCL_PLAIN_PRODUCT;
    char more[200];
    const int n = snprintf(more, sizeof more,
                           " -DWCODEC_PRODUCT=%d -DWCODEC_PRODUCT_BITS=%u"
                           " -DWCODEC_PRODUCT_EIGHTS=%u -DWCODEC_PRODUCT_WAY=%u",
                           (int)kind, row->bits, row->eights, row->way);
    if (!plain)
        snprintf(more + n, sizeof more - (size_t)n, " -cl-nv-maxrregcount=%d",
                 kind == WCODEC_OPENCL_PRODUCT ? PRODUCT_REGISTERS : ROWS_REGISTERS);
    p->program.buffers = WCODEC_OPENCL_BUFFERS_2;
    p->program.items = kind == WCODEC_OPENCL_PLAIN_PRODUCT ? PLAIN_ITEMS * plain_parts(d)
                       : plain                             ? (unsigned)PLAIN_ITEMS
                                                           : 32u * PRODUCT_WARPS;
    wcodec_status status = wcodec_opencl_program_build(
        d, plain ? WCODEC_VARIANT_LOOPS : WCODEC_VARIANT_NVIDIA, more, &p->program, err);
    if (status != WCODEC_OK)
        return status;
    return wcodec_opencl_product_open(d, "wcodec_product", p, err);
}

wcodec_status wcodec_opencl_product_open(const struct wcodec_device *d, const char *name,
                                         struct wcodec_opencl_product *p, wcodec_error *err)
{
    cl_int result;
    p->kernel = d->cl->clCreateKernel(p->program.program, name, &result);
    if (result == CL_SUCCESS)
        return WCODEC_OK;
    p->kernel = NULL;
    wcodec_opencl_product_close(d, p);
    return wcodec_opencl_fail(d, result, "clCreateKernel", err);
}

void wcodec_opencl_product_close(const struct wcodec_device *d, struct wcodec_opencl_product *p)
{
    if (p->kernel != NULL)
        d->cl->clReleaseKernel(p->kernel);
    if (p->program.program != NULL)
        d->cl->clReleaseProgram(p->program.program);
    *p = (struct wcodec_opencl_product){.kernel = NULL};
}

void wcodec_opencl_products_close(struct wcodec_device *d)
{
    for (unsigned k = 0; k < WCODEC_PRODUCTS; k++)
        wcodec_opencl_product_close(d, &d->products[k]);
    for (unsigned k = 0; k < WCODEC_ROWS_KERNELS; k++)
        wcodec_opencl_product_close(d, &d->rows[k]);
    for (unsigned k = 0; k < 2; k++)
        wcodec_opencl_product_close(d, &d->dense[k]);
}

bool wcodec_opencl_by_tensor_cores(const struct wcodec_device *d)
{
    return d->variant == WCODEC_VARIANT_NVIDIA && d->capability >= 80 && !d->plain_products;
}

/* A driver's compiler that does not take the instructions leaves plain work-items. */
static void do_without(struct wcodec_device *d, const wcodec_error *err)
{
    d->host->log(d->host->opaque, WCODEC_LOG_INFO,
                 "OpenCL products by tensor cores are not used: %s", err->text);
    wcodec_opencl_products_close(d);
    d->plain_products = true;
}

wcodec_status wcodec_opencl_check_buffer(const struct wcodec_device *d, const char *what,
                                         uint64_t native, uint64_t bytes, wcodec_error *err)
{
    size_t size = 0;
    if (!wcodec_opencl_owns_buffer(d, native, &size))
        return d->host->fail(err, WCODEC_ERROR_USAGE,
                             "%s is no buffer of the device's OpenCL context", what);
    return bytes <= size ? WCODEC_OK
                         : d->host->fail(err, WCODEC_ERROR_USAGE,
                                         "%s is a buffer of %zu bytes: %llu are needed", what, size,
                                         (unsigned long long)bytes);
}

wcodec_status wcodec_opencl_check_queue(const struct wcodec_device *d, uint64_t native,
                                        wcodec_error *err)
{
    cl_command_queue_properties properties = 0;
    if (!wcodec_opencl_owns_queue(d, native, &properties))
        return d->host->fail(err, WCODEC_ERROR_USAGE,
                             "the queue is no cl_command_queue of the device's OpenCL context");
    return properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE
               ? d->host->fail(err, WCODEC_ERROR_USAGE, "the queue is not in order")
               : WCODEC_OK;
}

wcodec_status wcodec_opencl_check_product(const struct wcodec_device *d, uint64_t queue,
                                          const struct wcodec_product *p, uint64_t rows,
                                          uint64_t columns, wcodec_error *err)
{
    const uint64_t length = p->transposed ? rows : columns, width = p->transposed ? columns : rows;
    wcodec_status status = wcodec_opencl_check_queue(d, queue, err);
    if (status == WCODEC_OK)
        status = wcodec_opencl_check_buffer(d, "x", p->x,
                                            (p->vectors - 1) * p->x_stride + 2 * length, err);
    if (status == WCODEC_OK)
        status = wcodec_opencl_check_buffer(
            d, "y", p->y,
            (p->vectors - 1) * p->y_stride + wcodec_gpu_operand_bytes(p->y_dtype) * width, err);
    if (status == WCODEC_OK && p->bias != 0)
        status = wcodec_opencl_check_buffer(d, "bias", p->bias,
                                            wcodec_gpu_operand_bytes(p->bias_dtype) * rows, err);
    return status;
}

wcodec_status wcodec_opencl_launch_failed(const struct wcodec_device *d, cl_int result,
                                          const char *call, wcodec_error *err)
{
    return result == CL_INVALID_COMMAND_QUEUE || result == CL_INVALID_CONTEXT
               ? d->host->fail(err, WCODEC_ERROR_USAGE, "the queue does not take the launch: %s",
                               wcodec_opencl_result_name(result))
               : wcodec_opencl_fail(d, result, call, err);
}

/* Buffers, then what the launch is given, then its local memory. */
struct launch {
    const struct wcodec_opencl_product *product;
    cl_mem buffers[5];
    unsigned buffer_count;
    const void *arguments;
    size_t arguments_size;
    uint32_t groups, threads, shared;
};

/* The device's lock is held. */
static wcodec_status launch(const struct wcodec_device *d, const struct launch *l, uint64_t queue,
                            wcodec_error *err)
{
    const char *call = "clSetKernelArg";
    cl_kernel kernel = l->product->kernel;
    cl_int result = CL_SUCCESS;
    for (unsigned i = 0; i < l->buffer_count && result == CL_SUCCESS; i++)
        result = d->cl->clSetKernelArg(kernel, ARG_MATRIX + i, sizeof(cl_mem), &l->buffers[i]);
    if (result == CL_SUCCESS)
        result = d->cl->clSetKernelArg(kernel, l->buffer_count, l->arguments_size, l->arguments);
    if (result == CL_SUCCESS)
        result = d->cl->clSetKernelArg(kernel, l->buffer_count + 1, l->shared > 16 ? l->shared : 16,
                                       NULL);
    if (result == CL_SUCCESS)
        result = wcodec_opencl_enqueue(d, (cl_command_queue)(uintptr_t)queue, kernel, l->groups,
                                       l->threads, NULL, &call);
    return result == CL_SUCCESS ? WCODEC_OK : wcodec_opencl_launch_failed(d, result, call, err);
}

static unsigned most_shared(const struct wcodec_device *d)
{
    return (unsigned)(d->local_memory > UINT32_MAX ? UINT32_MAX : d->local_memory);
}

/* The launch for vectors [first, first + *taken), and its kernel. */
static wcodec_status find_product(struct wcodec_device *d, const struct wcodec_product *p,
                                  uint64_t first, struct wcodec_gpu_product *l,
                                  struct wcodec_opencl_product **product, uint64_t *taken,
                                  wcodec_error *err)
{
    const bool cores = wcodec_opencl_by_tensor_cores(d);
    wcodec_error own = {0};
    const struct wcodec_gpu_product_limits limits = {PRODUCT_GROUPS * d->units, PRODUCT_WARPS,
                                                     most_shared(d), WCODEC_PRODUCT_DIRECT_VECTORS,
                                                     NULL};
    *taken = cores ? wcodec_gpu_plan_product(p, p->offset, &limits, first, l)
                   : wcodec_gpu_plan_product_plain(p, p->offset, plain_parts(d), first, l);
    const struct wcodec_product_row *row = &wcodec_product_rows[l->kernel];
    unsigned k = l->kernel;
    for (unsigned i = 0; !cores && !p->transposed && i < WCODEC_PRODUCTS; i++)
        if (wcodec_product_rows[i].bits == row->bits) {
            k = i;
            break;
        }
    *product = &d->products[k];
    if ((*product)->kernel != NULL)
        return WCODEC_OK;
    const wcodec_status status =
        make(d, *product, cores ? WCODEC_OPENCL_PRODUCT : WCODEC_OPENCL_PLAIN_PRODUCT, row, &own);
    if (status != WCODEC_ERROR_BACKEND)
        return status == WCODEC_OK ? status : d->host->fail(err, status, "%s", own.text);
    if (!cores)
        return d->host->fail(err, WCODEC_ERROR_UNSUPPORTED, "%s", own.text);
    do_without(d, &own);
    return find_product(d, p, first, l, product, taken, err);
}

static uint64_t transposed_most(struct wcodec_device *d, const struct wcodec_fixed *fixed)
{
    (void)d;
    return wcodec_gpu_transposed_most(fixed, false);
}

static wcodec_status multiply(struct wcodec_device *d, uint64_t queue,
                              const struct wcodec_product *given, wcodec_error *err)
{
    if (given->fixed == NULL)
        return wcodec_opencl_kept_multiply(d, queue, given, err);
    wcodec_status status = wcodec_opencl_check_product(d, queue, given, given->fixed->rows,
                                                       given->fixed->columns, err);
    struct wcodec_product p = *given;
    const cl_mem matrix = given->memory->buffer;
    const cl_mem bias = given->bias != 0 ? (cl_mem)(uintptr_t)given->bias : matrix;
    p.x = p.y = 0;
    p.bias = given->bias != 0;
    if (status != WCODEC_OK)
        return status;
    pthread_mutex_lock(&d->lock);
    for (uint64_t first = 0, taken; first < p.vectors && status == WCODEC_OK; first += taken) {
        struct wcodec_gpu_product plan;
        struct wcodec_opencl_product *product;
        status = find_product(d, &p, first, &plan, &product, &taken, err);
        if (status != WCODEC_OK)
            break;
        const struct launch l = {
            product,
            {matrix, (cl_mem)(uintptr_t)given->x, (cl_mem)(uintptr_t)given->y, bias},
            4,
            &plan.arguments,
            sizeof plan.arguments,
            plan.groups,
            plan.threads,
            plan.shared};
        status = launch(d, &l, queue, err);
    }
    pthread_mutex_unlock(&d->lock);
    return status;
}

static wcodec_status check_dense(const struct wcodec_device *d, uint64_t queue,
                                 const struct wcodec_dense_product *p, wcodec_error *err)
{
    const uint64_t end = p->first + p->rows, length = p->transposed ? end : p->columns,
                   width = p->transposed ? p->columns : end;
    const struct {
        const char *what;
        uint64_t native, size;
    } operands[] = {
        {"x", p->x, (p->vectors - 1) * p->x_stride + length * wcodec_gpu_operand_bytes(p->x_dtype)},
        {"y", p->y, (p->vectors - 1) * p->y_stride + width * wcodec_gpu_operand_bytes(p->y_dtype)},
        {"bias", p->bias, end * wcodec_gpu_operand_bytes(p->bias_dtype)},
        {"scales", p->scales, end * wcodec_gpu_operand_bytes(p->scales_dtype)}};
    wcodec_status status = wcodec_opencl_check_queue(d, queue, err);
    for (unsigned i = 0; i < 4 && status == WCODEC_OK; i++)
        if (operands[i].native != 0)
            status = wcodec_opencl_check_buffer(d, operands[i].what, operands[i].native,
                                                operands[i].size, err);
    return status;
}

static wcodec_status find_dense(struct wcodec_device *d, bool transposed, wcodec_error *err)
{
    const struct wcodec_product_row row = {
        "dense", 2, 1, transposed ? WCODEC_PRODUCT_TRANSPOSED : WCODEC_PRODUCT_DIRECT};
    wcodec_error own = {0};
    if (d->dense[transposed].kernel != NULL)
        return WCODEC_OK;
    const wcodec_status status = make(d, &d->dense[transposed], WCODEC_OPENCL_DENSE, &row, &own);
    return status == WCODEC_OK
               ? status
               : d->host->fail(err,
                               status == WCODEC_ERROR_BACKEND ? WCODEC_ERROR_UNSUPPORTED : status,
                               "%s", own.text);
}

/* A buffer that there is none of is any other one. */
static wcodec_status multiply_dense(struct wcodec_device *d, uint64_t queue,
                                    const struct wcodec_dense_product *given, wcodec_error *err)
{
    const cl_mem x = (cl_mem)(uintptr_t)given->x, y = (cl_mem)(uintptr_t)given->y,
                 any = given->memory != NULL ? given->memory->buffer : y,
                 bias = given->bias != 0 ? (cl_mem)(uintptr_t)given->bias : any,
                 scales = given->scales != 0 ? (cl_mem)(uintptr_t)given->scales : any;
    struct wcodec_gpu_dense plan;
    struct wcodec_dense_product p = *given;
    wcodec_status status = check_dense(d, queue, given, err);
    if (status != WCODEC_OK)
        return status;
    p.x = p.y = 0;
    pthread_mutex_lock(&d->lock);
    status = find_dense(d, p.transposed, err);
    for (uint64_t first = 0; first < p.vectors && status == WCODEC_OK;) {
        first += wcodec_gpu_plan_dense(&p, p.offset, DENSE_ITEMS, first, &plan);
        plan.arguments.bias -= p.bias; /* offsets in buffers */
        plan.arguments.scales -= p.scales;
        const struct launch l = {&d->dense[p.transposed],
                                 {any, x != NULL ? x : any, y, bias, scales},
                                 5,
                                 &plan.arguments,
                                 sizeof plan.arguments,
                                 plan.groups,
                                 plan.threads,
                                 plan.shared};
        status = launch(d, &l, queue, err);
    }
    pthread_mutex_unlock(&d->lock);
    return status;
}

/* No library is looked for. */
static uint64_t dense_work(struct wcodec_device *d)
{
    (void)d;
    return 0;
}

static wcodec_status find_rows(struct wcodec_device *d, const struct wcodec_rows *r,
                               struct wcodec_gpu_rows *l, struct wcodec_opencl_product **product,
                               wcodec_error *err)
{
    const bool cores = wcodec_opencl_by_tensor_cores(d);
    wcodec_error own = {0};
    if (cores)
        wcodec_gpu_plan_rows(r, r->offset, d->units, most_shared(d), l);
    else
        wcodec_gpu_plan_rows_plain(r, r->offset, d->units, l);
    const struct wcodec_rows_row *row = &wcodec_rows_rows[l->kernel];
    *product = &d->rows[l->kernel];
    if ((*product)->kernel != NULL)
        return WCODEC_OK;
    const struct wcodec_product_row any = {row->name, row->bits, 1, WCODEC_PRODUCT_DIRECT};
    const enum wcodec_opencl_product_kind kind = !cores            ? WCODEC_OPENCL_PLAIN_ROWS
                                                 : row->neighbours ? WCODEC_OPENCL_ROWS
                                                                   : WCODEC_OPENCL_GATHER;
    const wcodec_status status = make(d, *product, kind, &any, &own);
    if (status != WCODEC_ERROR_BACKEND)
        return status == WCODEC_OK ? status : d->host->fail(err, status, "%s", own.text);
    if (!cores)
        return d->host->fail(err, WCODEC_ERROR_UNSUPPORTED, "%s", own.text);
    do_without(d, &own);
    return find_rows(d, r, l, product, err);
}

static wcodec_status decode_rows(struct wcodec_device *d, uint64_t queue,
                                 const struct wcodec_rows *given, wcodec_error *err)
{
    if (given->kept != NULL)
        return wcodec_opencl_kept_gather(d, queue, given, err);
    wcodec_status status = wcodec_opencl_check_queue(d, queue, err);
    struct wcodec_gpu_rows plan;
    struct wcodec_opencl_product *product;
    struct wcodec_rows r = *given;
    const cl_mem matrix = given->memory->buffer;
    if (status == WCODEC_OK)
        status = wcodec_opencl_check_buffer(d, "the destination", given->out,
                                            2 * given->fixed->columns * given->count, err);
    if (status == WCODEC_OK && given->indices != 0)
        status = wcodec_opencl_check_buffer(d, "the index", given->indices, 8 * given->count, err);
    if (status != WCODEC_OK)
        return status;
    const cl_mem outside = given->outside != 0 ? (cl_mem)(uintptr_t)given->outside : matrix;
    r.out = 0;
    r.indices = given->indices != 0;
    r.outside = given->outside != 0;
    pthread_mutex_lock(&d->lock);
    status = find_rows(d, &r, &plan, &product, err);
    if (status == WCODEC_OK) {
        const struct launch l = {product,
                                 {matrix,
                                  given->indices != 0 ? (cl_mem)(uintptr_t)given->indices : matrix,
                                  (cl_mem)(uintptr_t)given->out, outside},
                                 4,
                                 &plan.arguments,
                                 sizeof plan.arguments,
                                 plan.groups,
                                 plan.threads,
                                 plan.shared};
        status = launch(d, &l, queue, err);
    }
    pthread_mutex_unlock(&d->lock);
    return status;
}

const struct wcodec_backend_products wcodec_opencl_products = {
    .multiply = multiply,
    .transposed_most = transposed_most,
    .decode_rows = decode_rows,
    .multiply_dense = multiply_dense,
    .dense_work = dense_work,
    .keep = wcodec_opencl_keep,
    .kept_size = wcodec_opencl_kept_size,
    .kept_decode = wcodec_opencl_kept_decode,
    .kept_unit = wcodec_opencl_kept_unit,
    .kept_work = wcodec_opencl_kept_work,
    .kept_free = wcodec_opencl_kept_free,
};
