/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "support.h"

#include "support_caller.h"
#include "support_dense.h"
#include "support_products.h"

#include <float.h>
#include <math.h>

enum { GUARD = 32 };

/* An array, in host memory and in the device's. */
struct operand {
    wcodec_dtype dtype;
    uint64_t size;
    uint8_t *bytes;
    struct wcodec_memory *memory;
};

struct dense {
    const struct wcodec_backend *b;
    struct wcodec_device *device;
    struct support_caller caller;
    uint64_t seed;
    uint64_t rows; /* of the matrix that the elements are a part of */
    struct operand elements, x, y, bias, scales;
    struct wcodec_memory *work;
};

static void ok(wcodec_status status, const wcodec_error *err)
{
    if (status != WCODEC_OK)
        fail_msg("%s", err->text);
}

static uint64_t any(struct dense *d, uint64_t below)
{
    return support_random(&d->seed) % below;
}

static unsigned bytes_of(wcodec_dtype dtype)
{
    return dtype == WCODEC_DTYPE_F32                                 ? 4
           : dtype == WCODEC_DTYPE_BF16 || dtype == WCODEC_DTYPE_F16 ? 2
                                                                     : 1;
}

static wcodec_dtype any_operand(struct dense *d)
{
    static const wcodec_dtype dtypes[] = {WCODEC_DTYPE_BF16, WCODEC_DTYPE_F16, WCODEC_DTYPE_F32};
    return dtypes[any(d, 3)];
}

/* Numbers about 1, of either sign; some elements are infinities or NaNs. */
static void fill(struct dense *d, struct operand *o, bool extreme)
{
    const unsigned bytes = bytes_of(o->dtype);
    for (uint64_t at = 0; at + bytes <= o->size; at += bytes) {
        const uint64_t bits = support_random(&d->seed);
        const bool whole = bytes == 1 || (extreme && bits >> 32 % 50 == 0);
        const uint32_t wide = ((uint32_t)bits & 0x807fffffu) | (120 + (uint32_t)(bits >> 40) % 10)
                                                                   << 23;
        if (whole)
            memcpy(o->bytes + at, &bits, bytes);
        else if (o->dtype == WCODEC_DTYPE_F32)
            wcodec_store_u32(o->bytes + at, wide);
        else if (o->dtype == WCODEC_DTYPE_BF16)
            wcodec_store_u16(o->bytes + at, (uint16_t)(wide >> 16));
        else
            wcodec_store_u16(o->bytes + at,
                             (uint16_t)((bits & 0x83ff) | (10 + (bits >> 40) % 8) << 10));
    }
}

static struct operand make(struct dense *d, wcodec_dtype dtype, uint64_t size, bool extreme)
{
    struct operand o = {.dtype = dtype, .size = size, .bytes = malloc((size_t)size + GUARD)};
    wcodec_error err = {0};
    assert_non_null(o.bytes);
    memset(o.bytes, 0xee, (size_t)size + GUARD);
    fill(d, &o, extreme);
    ok(d->b->memory_allocate(d->device, WCODEC_MEMORY_DEVICE, size + GUARD, &o.memory, &err), &err);
    ok(d->b->copy_in(d->caller.queue, o.memory, 0, o.bytes, size + GUARD, &err), &err);
    ok(d->b->queue_wait(d->caller.queue, &err), &err);
    return o;
}

static void drop(const struct dense *d, struct operand *o)
{
    d->b->memory_free(o->memory);
    free(o->bytes);
}

/* The sum of element (vector, i) of y, and of the magnitudes of what it is of. */
static double exact(const struct dense *d, const struct wcodec_dense_product *p, uint64_t vector,
                    uint64_t i, double *magnitude)
{
    const unsigned size = bytes_of(p->dtype), x_size = bytes_of(p->x_dtype);
    const uint8_t *x = d->x.bytes + vector * p->x_stride,
                  *bias = d->bias.bytes + (p->first + i) * bytes_of(p->bias_dtype);
    double sum = 0;
    *magnitude = 0;
    for (uint64_t j = 0; j < (p->transposed ? p->rows : p->columns); j++) {
        const uint64_t row = p->transposed ? j : i, column = p->transposed ? i : j;
        const double w = support_number(p->dtype, d->elements.bytes + p->offset +
                                                      (row * p->columns + column) * size),
                     by = support_number(p->x_dtype,
                                         x + ((p->transposed ? p->first : 0) + j) * x_size),
                     scale = p->scales != 0
                                 ? support_number(p->scales_dtype,
                                                  d->scales.bytes +
                                                      (p->first + row) * bytes_of(p->scales_dtype))
                                 : 1;
        sum += w * by * scale;
        *magnitude += fabs(w * by * scale);
    }
    if (p->bias != 0) {
        sum += support_number(p->bias_dtype, bias);
        *magnitude += fabs(support_number(p->bias_dtype, bias));
    }
    return sum;
}

static void check_sum(double sum, double magnitude, uint64_t k, wcodec_dtype dtype, double got)
{
    const double rounding = dtype == WCODEC_DTYPE_BF16  ? ldexp(1, -8)
                            : dtype == WCODEC_DTYPE_F16 ? ldexp(1, -11)
                                                        : ldexp(1, -23),
                 most = dtype == WCODEC_DTYPE_F16 ? 65504 : (double)FLT_MAX,
                 least = dtype == WCODEC_DTYPE_F16 ? ldexp(1, -24) : ldexp(1, -125);
    if (isnan(sum) || isinf(sum)) {
        assert_true(isnan(got) || isinf(got));
        return;
    }
    if (magnitude > most / 4)
        return;
    /* Twice where a bias is added to what was rounded. */
    const double bound = (double)(k + 8) * ldexp(magnitude, -22) + 2 * magnitude * rounding + least;
    if (!(fabs(got - sum) <= bound))
        fail_msg("%g for %g, %g allowed", got, sum, bound);
}

static void check(const struct dense *d, const struct wcodec_dense_product *p)
{
    const uint64_t width = p->transposed ? p->columns : p->rows,
                   begin = p->transposed ? 0 : p->first, element = bytes_of(p->y_dtype);
    uint8_t *y = malloc((size_t)d->y.size + GUARD);
    wcodec_error err = {0};
    assert_non_null(y);
    ok(d->b->copy_out(d->caller.queue, y, d->y.memory, 0, d->y.size + GUARD, &err), &err);
    ok(d->b->queue_wait(d->caller.queue, &err), &err);
    for (uint64_t v = 0; v < p->vectors; v++)
        for (uint64_t i = 0; i < width; i++) {
            const uint64_t at = v * p->y_stride + (begin + i) * element;
            double magnitude, sum = exact(d, p, v, i, &magnitude);
            if (p->add) {
                sum += support_number(p->y_dtype, d->y.bytes + at);
                magnitude += fabs(support_number(p->y_dtype, d->y.bytes + at));
            }
            check_sum(sum, magnitude, p->transposed ? p->rows : p->columns, p->y_dtype,
                      support_number(p->y_dtype, y + at));
            memcpy(y + at, d->y.bytes + at, element);
        }
    assert_memory_equal(y, d->y.bytes, (size_t)d->y.size + GUARD);
    free(y);
}

/* A product, or a part of one. */
static void multiply(struct dense *d, wcodec_dtype dtype)
{
    const bool transposed = any(d, 2), alike = any(d, 2) && bytes_of(dtype) != 1,
               extreme = any(d, 4) == 0, plain = any(d, 2);
    const uint64_t whole = any(d, 3), eight = whole == 0 ? 1 : 8,
                   first = any(d, 3) == 0 ? any(d, 40) : 0, rows = 1 + any(d, 70),
                   columns = whole == 2 ? 64 * any(d, 7) : any(d, 30) * eight,
                   vectors = 1 + (any(d, 4) ? any(d, 20) : any(d, 90)), n = first + rows;
    const wcodec_dtype x_dtype = alike ? dtype : any_operand(d),
                       y_dtype = alike && any(d, 2) ? dtype : any_operand(d),
                       bias_dtype = any(d, 2) ? y_dtype : any_operand(d),
                       scales_dtype = any_operand(d);
    const uint64_t offset = 64 * any(d, 3),
                   x_stride = ((transposed ? n : columns) + any(d, 2) * eight) * bytes_of(x_dtype),
                   y_stride = ((transposed ? columns : n) + any(d, 2) * eight) * bytes_of(y_dtype);
    wcodec_error err = {0};
    if (transposed && columns == 0)
        return;
    d->elements = make(d, dtype, offset + rows * columns * bytes_of(dtype), extreme);
    d->x = make(d, x_dtype, vectors * x_stride, extreme);
    d->y = make(d, y_dtype, vectors * y_stride, false);
    d->bias = make(d, bias_dtype, n * bytes_of(bias_dtype), false);
    d->scales = make(d, scales_dtype, n * bytes_of(scales_dtype), false);
    const struct wcodec_dense_product p = {
        .memory = d->elements.memory,
        .offset = offset,
        .rows = rows,
        .columns = columns,
        .first = first,
        .x = d->b->memory_native(d->x.memory),
        .y = d->b->memory_native(d->y.memory),
        .bias = !transposed && any(d, 2) ? d->b->memory_native(d->bias.memory) : 0,
        .scales = !plain ? d->b->memory_native(d->scales.memory) : 0,
        .x_stride = x_stride,
        .y_stride = y_stride,
        .vectors = vectors,
        .dtype = dtype,
        .x_dtype = x_dtype,
        .y_dtype = y_dtype,
        .bias_dtype = bias_dtype,
        .scales_dtype = scales_dtype,
        .transposed = transposed,
        .add = any(d, 3) == 0,
        .work = d->work};
    ok(d->b->products->multiply_dense(d->device, d->caller.native, &p, &err), &err);
    ok(d->b->queue_wait(d->caller.queue, &err), &err);
    check(d, &p);
    drop(d, &d->elements);
    drop(d, &d->x);
    drop(d, &d->y);
    drop(d, &d->bias);
    drop(d, &d->scales);
}

void support_dense(const struct wcodec_backend *backend, struct wcodec_device *device,
                   unsigned products)
{
    static const wcodec_dtype dtypes[] = {
        WCODEC_DTYPE_BF16, WCODEC_DTYPE_F16,     WCODEC_DTYPE_F32,     WCODEC_DTYPE_I8,
        WCODEC_DTYPE_U8,   WCODEC_DTYPE_F8_E4M3, WCODEC_DTYPE_F8_E5M2, WCODEC_DTYPE_BF16};
    struct dense d = {.b = backend, .device = device, .seed = support_seed()};
    const uint64_t work = backend->products->dense_work(device);
    wcodec_error err = {0};
    support_caller_begin(backend, device, &d.caller);
    if (work != 0)
        ok(backend->memory_allocate(device, WCODEC_MEMORY_DEVICE, work, &d.work, &err), &err);
    print_message("dense products %s a library\n", work != 0 ? "by" : "without");
    for (unsigned i = 0; i < products; i++)
        multiply(&d, dtypes[i % 8]);
    if (d.work != NULL)
        backend->memory_free(d.work);
    support_caller_end(backend, &d.caller);
}
