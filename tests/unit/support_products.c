/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "support.h"

#include "support_caller.h"
#include "support_matrix.h"
#include "support_products.h"

#include "coding/lossy.h"
#include <float.h>
#include <math.h>

enum { VECTORS = 72, GUARD = 64 };

struct products {
    const struct wcodec_backend *b;
    struct wcodec_device *device;
    uint64_t native;            /* the caller's queue */
    struct wcodec_queue *queue; /* over it */
    uint64_t skew;              /* most bytes from native memory to where something begins */
    uint64_t seed;
    struct support_matrix m;
    struct wcodec_memory *matrix;
    uint64_t compared, passed_over; /* sums */
};

static void ok(wcodec_status status, const wcodec_error *err)
{
    if (status != WCODEC_OK)
        fail_msg("%s", err->text);
}

static struct wcodec_memory *put(const struct products *p, const void *data, uint64_t size)
{
    wcodec_error err = {0};
    struct wcodec_memory *memory;
    ok(p->b->memory_allocate(p->device, WCODEC_MEMORY_DEVICE, size, &memory, &err), &err);
    ok(p->b->copy_in(p->queue, memory, 0, data, size, &err), &err);
    ok(p->b->queue_wait(p->queue, &err), &err);
    return memory;
}

static void get(const struct products *p, struct wcodec_memory *memory, void *data, uint64_t size)
{
    wcodec_error err = {0};
    ok(p->b->copy_out(p->queue, data, memory, 0, size, &err), &err);
    ok(p->b->queue_wait(p->queue, &err), &err);
}

double support_number(wcodec_dtype dtype, const uint8_t *at)
{
    float f;
    uint32_t bits;
    if (dtype == WCODEC_DTYPE_F16) {
        const uint32_t h = wcodec_load_u16(at);
        const double magnitude = (h >> 10 & 31) == 0
                                     ? ldexp(h & 1023, -24)
                                     : ldexp(1024 + (h & 1023), (int)(h >> 10 & 31) - 25);
        return (h >> 10 & 31) == 31 ? (h & 1023  ? NAN
                                       : h >> 15 ? -INFINITY
                                                 : INFINITY)
                                    : (h >> 15 ? -magnitude : magnitude);
    }
    if (dtype == WCODEC_DTYPE_I8 || dtype == WCODEC_DTYPE_U8)
        return dtype == WCODEC_DTYPE_I8 ? (int8_t)*at : *at;
    if (dtype == WCODEC_DTYPE_F8_E5M2)
        return support_number(WCODEC_DTYPE_F16, (const uint8_t[2]){0, *at});
    if (dtype == WCODEC_DTYPE_F8_E4M3) {
        const double magnitude =
            (*at & 0x7f) < 8 ? ldexp(*at & 7, -9) : ldexp(8 + (*at & 7), (*at >> 3 & 15) - 10);
        return (*at & 0x7f) == 0x7f ? NAN : *at >> 7 ? -magnitude : magnitude;
    }
    bits = dtype == WCODEC_DTYPE_BF16 ? (uint32_t)wcodec_load_u16(at) << 16 : wcodec_load_u32(at);
    memcpy(&f, &bits, sizeof f);
    return f;
}

static unsigned bytes_of(wcodec_dtype dtype)
{
    return dtype == WCODEC_DTYPE_F32 ? 4 : 2;
}

static wcodec_dtype any_dtype(uint64_t *seed)
{
    static const wcodec_dtype dtypes[] = {WCODEC_DTYPE_BF16, WCODEC_DTYPE_F16, WCODEC_DTYPE_F32};
    return dtypes[support_random(seed) % 3];
}

/* What a sum may differ by from the exact one. Nothing is said of what comes near to overflowing,
 * as the sum does or one in units of the row, of which `relative` is the magnitude. */
static void check_sum(struct products *p, double sum, double magnitude, double relative,
                      wcodec_dtype dtype, uint64_t k, const uint8_t *at)
{
    const double got = support_number(dtype, at),
                 most = dtype == WCODEC_DTYPE_F16 ? 65504 : (double)FLT_MAX,
                 rounding = dtype == WCODEC_DTYPE_BF16  ? ldexp(1, -8)
                            : dtype == WCODEC_DTYPE_F16 ? ldexp(1, -11)
                                                        : ldexp(1, -23),
                 least = dtype == WCODEC_DTYPE_F16 ? ldexp(1, -24) : ldexp(1, -125);
    p->passed_over++;
    if (isnan(sum) || isinf(sum)) {
        /* An infinity may meet another on its way. */
        assert_true(isnan(got) || isinf(got));
        if (isnan(sum))
            assert_true(isnan(got));
        return;
    }
    if (magnitude > most / 4 || relative > (double)FLT_MAX / 4)
        return;
    p->passed_over--;
    p->compared++;
    const double bound = (double)(k + 8) * ldexp(magnitude, -22) + fabs(sum) * rounding + least;
    if (!(fabs(got - sum) <= bound))
        fail_msg("%g for %g, %g allowed", got, sum, bound);
}

/* Of large products every how manieth sum is compared: in all rows or columns and vectors some are,
 * in a second or so. */
static uint64_t step_of(const struct products *p, uint64_t vectors)
{
    enum { LARGE = 1 << 26 /* elements by vectors */, STEP = 61 };
    return p->m.fixed.rows * p->m.fixed.columns * vectors < LARGE ? 1
           : vectors < STEP                                       ? vectors
                                                                  : STEP;
}

/* y = x W, whose sums are of rows: elements are multiplied by as they are. */
static void check_transposed(struct products *p, const uint8_t *x,
                             const struct wcodec_product *product, const uint8_t *y)
{
    const uint64_t n = p->m.fixed.rows, k = p->m.fixed.columns, step = step_of(p, product->vectors);
    for (uint64_t v = 0; v < product->vectors; v++)
        for (uint64_t column = v % step; column < k; column += step) {
            double sum = 0, magnitude = 0;
            for (uint64_t i = 0; i < n; i++) {
                const double t =
                    support_number(WCODEC_DTYPE_BF16, x + v * product->x_stride + 2 * i) *
                    support_number(WCODEC_DTYPE_BF16, p->m.data + 2 * (i * k + column));
                sum += t;
                magnitude += fabs(t);
            }
            check_sum(p, sum, magnitude, magnitude, product->y_dtype, n,
                      y + v * product->y_stride + column * bytes_of(product->y_dtype));
        }
}

static void check_product(struct products *p, const uint8_t *x, size_t x_stride,
                          const uint8_t *bias, const struct wcodec_product *product,
                          const uint8_t *y)
{
    const uint64_t n = p->m.fixed.rows, k = p->m.fixed.columns, step = step_of(p, product->vectors);
    for (uint64_t v = 0; v < product->vectors; v++)
        for (uint64_t row = v % step; row < n; row += step) {
            double sum = 0, magnitude = 0, relative;
            const int shift = (int8_t)p->m.payload[row];
            for (uint64_t i = 0; i < k; i++) {
                const double t = support_number(WCODEC_DTYPE_BF16, x + v * x_stride + 2 * i) *
                                 support_number(WCODEC_DTYPE_BF16, p->m.data + 2 * (row * k + i));
                sum += t;
                magnitude += fabs(t);
            }
            relative = shift == WCODEC_FIXED_ZERO_ROW ? 0 : ldexp(magnitude, -shift);
            if (product->bias != 0) {
                const double b =
                    support_number(product->bias_dtype, bias + row * bytes_of(product->bias_dtype));
                sum += b;
                magnitude += fabs(b);
            }
            check_sum(p, sum, magnitude, relative, product->y_dtype, k,
                      y + v * product->y_stride + row * bytes_of(product->y_dtype));
        }
}

static void fill(uint64_t *seed, wcodec_dtype dtype, uint64_t count, uint8_t *to)
{
    for (uint64_t i = 0; i < count; i++) {
        const uint64_t any = support_random(seed);
        const uint32_t sign = (uint32_t)any & 0x80000000u, f = sign |
                                                               (uint32_t)(120 + any % 10) << 23 |
                                                               (uint32_t)(any >> 40 & 0x7f) << 16;
        float value;
        memcpy(&value, &f, sizeof value);
        if (dtype == WCODEC_DTYPE_F32)
            wcodec_store_u32(to + 4 * i, f);
        else
            wcodec_store_u16(to + 2 * i, dtype == WCODEC_DTYPE_BF16 ? (uint16_t)(f >> 16)
                                                                    : wcodec_f16_from_f32(value));
    }
}

/* Memory to work in for products of many vectors: none, some, or enough. */
static struct wcodec_memory *make_work(struct products *p, uint64_t *size)
{
    const uint64_t any = support_random(&p->seed), tile = 256 * p->m.fixed.across;
    struct wcodec_memory *work = NULL;
    wcodec_error err = {0};
    *size = any % 4 == 0 ? 0 : tile * (any % 4 == 1 ? 32 + (any >> 8) % 300 : 1024);
    if (*size != 0)
        ok(p->b->memory_allocate(p->device, WCODEC_MEMORY_DEVICE, *size, &work, &err), &err);
    return work;
}

static void multiply(struct products *p, uint64_t vectors, bool transposed)
{
    const struct wcodec_fixed *f = &p->m.fixed;
    const uint64_t length = transposed ? f->rows : f->columns,
                   width = transposed ? f->columns : f->rows;
    const wcodec_dtype y_dtype = any_dtype(&p->seed), bias_dtype = any_dtype(&p->seed);
    const uint64_t any = support_random(&p->seed), x_stride = 2 * length + (any & 1 ? 2 : 16),
                   y_stride = bytes_of(y_dtype) * (width + (any >> 1) % 3),
                   x_size = vectors * x_stride + 16, y_size = vectors * y_stride + GUARD,
                   bias_size = f->rows * bytes_of(bias_dtype);
    uint8_t *x = malloc((size_t)x_size), *y = malloc((size_t)y_size),
            *bias = malloc((size_t)bias_size);
    wcodec_error err = {0};
    assert_true(x != NULL && y != NULL && bias != NULL);
    memset(x, 0x7f, (size_t)x_size); /* NaNs between vectors */
    memset(y, 0xee, (size_t)y_size);
    const uint64_t skew = any >> 8 & 1 ? p->skew : 0;
    for (uint64_t v = 0; v < vectors; v++)
        fill(&p->seed, WCODEC_DTYPE_BF16, length, x + skew + v * x_stride);
    fill(&p->seed, bias_dtype, f->rows, bias);
    struct wcodec_memory *xs = put(p, x, x_size), *ys = put(p, y, y_size),
                         *biases = put(p, bias, bias_size);
    uint64_t work_size;
    struct wcodec_memory *work = make_work(p, &work_size);
    const struct wcodec_product product = {
        .fixed = f,
        .memory = p->matrix,
        .x = p->b->memory_native(xs) + skew,
        .y = p->b->memory_native(ys),
        .bias = !transposed && any >> 16 & 1 ? p->b->memory_native(biases) : 0,
        .x_stride = x_stride,
        .y_stride = y_stride,
        .vectors = vectors,
        .y_dtype = y_dtype,
        .bias_dtype = bias_dtype,
        .room = work != NULL ? p->b->memory_native(work) : 0,
        .room_size = work_size,
        .transposed = transposed};
    ok(p->b->products->multiply(p->device, p->native, &product, &err), &err);
    ok(p->b->queue_wait(p->queue, &err), &err);
    get(p, ys, y, y_size);
    if (transposed)
        check_transposed(p, x + skew, &product, y);
    else
        check_product(p, x + skew, (size_t)x_stride, bias, &product, y);
    for (uint64_t v = 0; v < vectors; v++)
        for (uint64_t i = width * bytes_of(y_dtype); i < y_stride; i++)
            assert_int_equal(y[v * y_stride + i], 0xee);
    for (uint64_t i = vectors * y_stride; i < y_size; i++)
        assert_int_equal(y[i], 0xee);
    if (work != NULL)
        p->b->memory_free(work);
    p->b->memory_free(biases);
    p->b->memory_free(ys);
    p->b->memory_free(xs);
    free(bias);
    free(y);
    free(x);
}

/* Indices that are no row's were counted, and `number` says of which launch. */
static void check_outside(const struct products *p, struct wcodec_memory *words,
                          const struct wcodec_rows *rows, const int64_t *numbers)
{
    uint32_t found[2], outside = 0;
    for (uint64_t i = 0; rows->indices != 0 && i < rows->count; i++)
        outside += (uint64_t)numbers[i] >= rows->fixed->rows;
    get(p, words, found, sizeof found);
    assert_int_equal(found[0], 5 + (rows->outside != 0 ? outside : 0));
    assert_int_equal(found[1], rows->outside != 0 && outside != 0 ? rows->number : 77);
}

static void decode_rows(struct products *p, bool by_numbers)
{
    static const uint32_t before[2] = {5, 77};
    const struct wcodec_fixed *f = &p->m.fixed;
    const uint64_t any = support_random(&p->seed), skew = any & 1 ? p->skew : 0,
                   first = (any >> 8) % f->rows,
                   count = by_numbers ? 1 + (any >> 32) % 50 : 1 + (any >> 32) % (f->rows - first),
                   row_size = 2 * f->columns, size = count * row_size + skew + GUARD;
    uint8_t *out = malloc((size_t)size);
    int64_t *numbers = malloc((size_t)count * sizeof *numbers);
    wcodec_error err = {0};
    assert_true(out != NULL && numbers != NULL);
    memset(out, 0xee, (size_t)size);
    for (uint64_t i = 0; i < count; i++) {
        const uint64_t which = support_random(&p->seed);
        numbers[i] = which % 8 == 0   ? -(int64_t)(which >> 40) - 1
                     : which % 8 == 1 ? (int64_t)(f->rows + (which >> 40))
                                      : (int64_t)((which >> 8) % f->rows);
    }
    struct wcodec_memory *outs = put(p, out, size),
                         *indices = put(p, numbers, count * sizeof *numbers),
                         *words = put(p, before, sizeof before);
    const struct wcodec_rows rows = {.fixed = f,
                                     .memory = p->matrix,
                                     .indices = by_numbers ? p->b->memory_native(indices) : 0,
                                     .first = by_numbers ? 0 : first,
                                     .count = count,
                                     .out = p->b->memory_native(outs) + skew,
                                     .outside = any >> 2 & 3 ? p->b->memory_native(words) : 0,
                                     .number = (uint32_t)(any >> 33)};
    ok(p->b->products->decode_rows(p->device, p->native, &rows, &err), &err);
    ok(p->b->queue_wait(p->queue, &err), &err);
    get(p, outs, out, size);
    for (uint64_t i = 0; i < count; i++) {
        const uint64_t row = by_numbers ? (uint64_t)numbers[i] : first + i;
        const uint8_t *got = out + skew + i * row_size;
        if (row < f->rows)
            assert_memory_equal(got, p->m.data + row * row_size, (size_t)row_size);
        for (uint64_t b = 0; row >= f->rows && b < row_size; b++)
            assert_int_equal(got[b], 0);
    }
    for (uint64_t i = skew + count * row_size; i < size; i++)
        assert_int_equal(out[i], 0xee);
    check_outside(p, words, &rows, numbers);
    p->b->memory_free(words);
    p->b->memory_free(indices);
    p->b->memory_free(outs);
    free(numbers);
    free(out);
}

static void begin(struct products *p, struct support_caller *caller)
{
    support_caller_begin(p->b, p->device, caller);
    p->skew = caller->opencl ? 0 : 2;
    p->native = caller->native;
    p->queue = caller->queue;
}

/* By a matrix of so many rows and columns: vectors at once, if the device has `wide` products; and
 * y = x W, whose rows several work-groups divide. Most sums must be such as can be compared. */
static void multiply_wide(struct products *p, uint64_t rows, uint64_t columns, uint64_t vectors,
                          bool wide)
{
    p->compared = p->passed_over = 0;
    support_matrix_make_relative(&p->seed, rows, columns, &p->m);
    p->matrix = put(p, p->m.payload, p->m.fixed.payload_size);
    if (wide)
        multiply(p, vectors, false);
    multiply(p, 1 + vectors % 17, true);
    assert_true(p->compared > p->passed_over);
    p->b->memory_free(p->matrix);
    support_matrix_free(&p->m);
}

void support_products_wide(const struct wcodec_backend *backend, struct wcodec_device *device,
                           unsigned matrices, bool large)
{
    static const uint64_t vectors[] = {33, 64, 65, 128, 250, 300, 520},
                          shapes[][3] = {{17000, 1300, 40},
                                         {2048, 16384, 20}, /* large: so few are for them, too */

                                         {17000, 1296, 100},
                                         {17000, 1300, 250},
                                         {300, 7000, 250}};
    struct products p = {.b = backend, .device = device, .seed = support_seed()};
    struct wcodec_fixed fixed = {.columns = 1000, .bits = 2, .list = 4};
    struct support_caller caller;
    if (backend->products->wide_room == NULL)
        return;
    assert_int_equal(wcodec_fixed_derive(&fixed, (uint64_t)2 * 1000 * 1000, NULL), WCODEC_OK);
    const bool wide = backend->products->wide_room(device, &fixed, 64) != 0;
    if (!wide)
        print_message("skipped: the device has no products of many vectors at once\n");
    begin(&p, &caller);
    for (unsigned i = 0; i < matrices; i++) {
        const uint64_t any = support_random(&p.seed);
        const uint64_t columns = 300 + (any >> 16) % 1500;
        /* Every second one has rows, and vectors may be, at multiples of 16 bytes. */
        multiply_wide(&p, 100 + any % 300, i % 2 ? columns : columns / 8 * 8, vectors[i % 7], wide);
    }
    for (unsigned i = 0; large && i < sizeof shapes / sizeof *shapes; i++)
        multiply_wide(&p, shapes[i][0], shapes[i][1], shapes[i][2], wide);
    support_caller_end(backend, &caller);
}

void support_products(const struct wcodec_backend *backend, struct wcodec_device *device,
                      unsigned matrices)
{
    static const uint64_t vectors[] = {1, 8, 9, 16, 17, 32, 33, 64, VECTORS};
    struct products p = {.b = backend, .device = device, .seed = support_seed()};
    struct support_caller caller;
    unsigned multiplied = 0;
    begin(&p, &caller);
    for (unsigned i = 0; i < matrices || multiplied < matrices / 2; i++) {
        support_matrix_make(&p.seed, 0, 0, &p.m);
        /* Few matrices without foreign elements have spilled ones: here one must. */
        while (i % 8 == 3 && (p.m.fixed.spilled == 0 || support_matrix_has_foreign(&p.m))) {
            support_matrix_free(&p.m);
            support_matrix_make(&p.seed, 0, 0, &p.m);
        }
        p.matrix = put(&p, p.m.payload, p.m.fixed.payload_size);
        decode_rows(&p, false);
        decode_rows(&p, true);
        if (!support_matrix_has_foreign(&p.m)) {
            const uint64_t count =
                i % 2 ? vectors[i / 2 % 9] : 1 + support_random(&p.seed) % VECTORS;
            multiply(&p, count, false);
            multiply(&p, count, true);
            multiplied++;
        }
        backend->memory_free(p.matrix);
        support_matrix_free(&p.m);
    }
    support_caller_end(backend, &caller);
}
