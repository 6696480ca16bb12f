/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Resident tensors in the memory of the first OpenCL device, with a command queue and buffers that
 * are the caller's. */
#include "support_resident.h"

#include "backends/opencl/driver.h"
#include <math.h>
#include <wcodec/load.h>
#include <wcodec/resident.h>

enum { VECTORS = 35 };

static struct wcodec_opencl_driver cl;

struct caller {
    wcodec_context *context;
    struct support_resident_file file;
    wcodec_reader *reader;
    cl_context device_context;
    cl_device_id device;
    cl_command_queue queue;
};

static bool begin(struct caller *c, wcodec_tune tune)
{
    uint64_t seed = support_seed();
    wcodec_context *cpu = support_context(2, NULL);
    wcodec_device_handles handles;
    wcodec_options options;
    wcodec_error err;
    cl_int result;
    support_resident_make(cpu, &seed, tune, &c->file);
    wcodec_context_destroy(cpu);
    wcodec_options_init(&options);
    options.backend = "opencl";
    options.threads = 2;
    if (wcodec_context_create(&options, &c->context, &err) != WCODEC_OK) {
        print_message("%s\n", err.text);
        support_resident_free(&c->file);
        return false;
    }
    c->reader = support_resident_open(c->context, &c->file);
    assert_int_equal(wcodec_context_device(c->context, &handles, &err), WCODEC_OK);
    c->device_context = (cl_context)(uintptr_t)handles.native_context;
    c->device = (cl_device_id)(uintptr_t)handles.native_device;
    c->queue = cl.clCreateCommandQueue(c->device_context, c->device, 0, &result);
    assert_int_equal(result, CL_SUCCESS);
    return true;
}

static void end(struct caller *c)
{
    cl.clReleaseCommandQueue(c->queue);
    wcodec_reader_close(c->reader);
    wcodec_context_destroy(c->context);
    support_resident_free(&c->file);
}

static uint64_t handle(const void *object)
{
    return (uint64_t)(uintptr_t)object;
}

static cl_mem put(const struct caller *c, const void *data, size_t size)
{
    cl_int result;
    cl_mem buffer = cl.clCreateBuffer(c->device_context, CL_MEM_READ_WRITE, size, NULL, &result);
    assert_int_equal(result, CL_SUCCESS);
    assert_int_equal(
        cl.clEnqueueWriteBuffer(c->queue, buffer, CL_TRUE, 0, size, data, 0, NULL, NULL),
        CL_SUCCESS);
    return buffer;
}

static void get(const struct caller *c, cl_mem buffer, void *data, size_t size)
{
    assert_int_equal(
        cl.clEnqueueReadBuffer(c->queue, buffer, CL_TRUE, 0, size, data, 0, NULL, NULL),
        CL_SUCCESS);
}

static wcodec_status make(const struct caller *c, const char *memory, wcodec_resident_form form,
                          wcodec_resident **resident, wcodec_error *err)
{
    return support_resident_create(c->reader, memory, form, resident, err);
}

/* What no device is to be asked for. */
static void check_refused(const struct caller *c, const wcodec_resident *r, uint64_t i,
                          const wcodec_resident_tensor *t, cl_mem out)
{
    const uint64_t rows = t->shape[0], queue = handle(c->queue);
    cl_int result;
    wcodec_error err;
    cl_context other = cl.clCreateContext(NULL, 1, &c->device, NULL, NULL, &result);
    assert_int_equal(result, CL_SUCCESS);
    cl_command_queue foreign = cl.clCreateCommandQueue(other, c->device, 0, &result);
    assert_int_equal(result, CL_SUCCESS);
    cl_mem theirs = cl.clCreateBuffer(other, CL_MEM_READ_WRITE, (size_t)t->size, NULL, &result);
    assert_int_equal(result, CL_SUCCESS);
    assert_int_equal(wcodec_resident_decode_queued(r, i, 0, rows, handle(out), t->size, 0, &err),
                     WCODEC_ERROR_USAGE);
    assert_non_null(strstr(err.text, "cl_command_queue"));
    assert_int_equal(
        wcodec_resident_decode_queued(r, i, 0, rows, handle(out), t->size, handle(foreign), &err),
        WCODEC_ERROR_USAGE);
    assert_int_equal(
        wcodec_resident_decode_queued(r, i, 0, rows, handle(theirs), t->size, queue, &err),
        WCODEC_ERROR_USAGE);
    assert_non_null(strstr(err.text, "OpenCL context"));
    assert_non_null(strstr(err.text, t->name));
    assert_int_equal(
        wcodec_resident_decode_queued(r, i, 0, rows, handle(out), t->size - 1, queue, &err),
        WCODEC_ERROR_USAGE);
    cl.clReleaseMemObject(theirs);
    cl.clReleaseCommandQueue(foreign);
    cl.clReleaseContext(other);
}

static void check_rows(const struct caller *c, wcodec_resident *r, uint64_t i,
                       const wcodec_resident_tensor *t, const uint8_t *data)
{
    const uint64_t rows = t->shape[0], row_size = t->size / rows, queue = handle(c->queue);
    const int64_t numbers[] = {2, (int64_t)rows - 1, 0, 2, -1, (int64_t)rows};
    uint8_t *got = malloc((size_t)t->size), zeros[10002] = {0};
    wcodec_error err;
    assert_non_null(got);
    memset(got, 0xee, (size_t)t->size);
    cl_mem out = put(c, got, (size_t)t->size), index = put(c, numbers, sizeof numbers);
    assert_int_equal(wcodec_resident_decode_queued(r, i, 1, 2, handle(out), t->size, queue, &err),
                     WCODEC_OK);
    get(c, out, got, (size_t)t->size);
    assert_memory_equal(got, data + row_size, (size_t)(2 * row_size));
    assert_int_equal(got[2 * row_size], 0xee);
    assert_int_equal(
        wcodec_resident_decode_queued(r, i, 0, rows, handle(out), t->size, queue, &err), WCODEC_OK);
    get(c, out, got, (size_t)t->size);
    assert_memory_equal(got, data, (size_t)t->size);
    if (t->rank == 2) {
        assert_int_equal(wcodec_resident_gather_queued(r, i, handle(index), 6, handle(out), t->size,
                                                       queue, &err),
                         WCODEC_OK);
        get(c, out, got, (size_t)t->size);
        assert_int_equal(wcodec_resident_check(r, &err), WCODEC_ERROR_USAGE);
        assert_int_equal(strncmp(err.text, "2 of the rows", 13), 0);
        assert_non_null(strstr(err.text, t->name));
        assert_int_equal(wcodec_resident_check(r, &err), WCODEC_OK);
        for (unsigned k = 0; k < 6; k++)
            assert_memory_equal(got + k * row_size,
                                k < 4 ? data + (uint64_t)numbers[k] * row_size : zeros,
                                (size_t)row_size);
        /* More bytes are told than the buffer has; the index is too short. */
        assert_int_equal(wcodec_resident_gather_queued(r, i, handle(index), rows + 1, handle(out),
                                                       2 * t->size, queue, &err),
                         WCODEC_ERROR_USAGE);
        assert_int_equal(wcodec_resident_gather_queued(r, i, handle(index), 7, handle(out), t->size,
                                                       queue, &err),
                         WCODEC_ERROR_USAGE);
        assert_non_null(strstr(err.text, "the index is a buffer of 48 bytes: 56 are needed"));
        check_refused(c, r, i, t, out);
    }
    cl.clReleaseMemObject(index);
    cl.clReleaseMemObject(out);
    free(got);
}

/* y = x W, as the CPU has it. */
static void check_transposed(const struct caller *c, const wcodec_resident *r,
                             const wcodec_resident *host, uint64_t i, uint64_t n, uint64_t k)
{
    const size_t size = (size_t)(VECTORS * k) * sizeof(float);
    uint16_t *x = malloc((size_t)(VECTORS * n) * sizeof *x);
    float *y = malloc(size), *expected = malloc(size);
    wcodec_linear l;
    wcodec_error err;
    uint64_t seed = support_seed();
    assert_true(x != NULL && y != NULL && expected != NULL);
    for (uint64_t j = 0; j < VECTORS * n; j++)
        x[j] = (uint16_t)(0x3f00 | (support_random(&seed) & 0x80ff));
    wcodec_linear_init(&l);
    l.transposed = 1;
    l.rows = VECTORS;
    l.x = x;
    l.x_dtype = WCODEC_DTYPE_BF16;
    l.y = expected;
    l.y_dtype = WCODEC_DTYPE_F32;
    assert_int_equal(wcodec_resident_linear(host, i, &l, &err), WCODEC_OK);
    cl_mem xs = put(c, x, (size_t)(VECTORS * n) * sizeof *x), ys = put(c, expected, size);
    l.x = xs;
    l.y = ys;
    l.queue = handle(c->queue);
    if (wcodec_resident_linear(r, i, &l, &err) != WCODEC_OK)
        fail_msg("%s", err.text);
    get(c, ys, y, size);
    for (uint64_t j = 0; j < VECTORS * k; j++)
        assert_true(fabsf(y[j] - expected[j]) <= 1e-4F * (float)n);
    l.rows = VECTORS + 1;
    assert_int_equal(wcodec_resident_linear(r, i, &l, &err), WCODEC_ERROR_USAGE);
    assert_non_null(strstr(err.text, "x is a buffer of "));
    cl.clReleaseMemObject(ys);
    cl.clReleaseMemObject(xs);
    free(expected);
    free(y);
    free(x);
}

/* The same numbers by the CPU, whose order of sums is another. */
static void check_product(const struct caller *c, const wcodec_resident *r,
                          const wcodec_resident *host, uint64_t i, const wcodec_resident_tensor *t)
{
    const uint64_t n = t->shape[0], k = t->shape[1];
    const size_t size = (size_t)(VECTORS * n) * sizeof(float);
    uint16_t *x = malloc((size_t)(VECTORS * k) * sizeof *x);
    float *y = malloc(size), *again = malloc(size), *expected = malloc(size),
          *bias = malloc((size_t)n * sizeof *bias);
    wcodec_linear l;
    wcodec_error err;
    uint64_t seed = support_seed();
    assert_true(x != NULL && y != NULL && again != NULL && expected != NULL && bias != NULL);
    for (uint64_t j = 0; j < VECTORS * k; j++)
        x[j] = (uint16_t)(0x3f00 | (support_random(&seed) & 0x80ff));
    for (uint64_t j = 0; j < n; j++)
        bias[j] = (float)(support_random(&seed) % 64) / 64;
    wcodec_linear_init(&l);
    l.rows = VECTORS;
    l.x = x;
    l.x_dtype = WCODEC_DTYPE_BF16;
    l.y = expected;
    l.y_dtype = l.bias_dtype = WCODEC_DTYPE_F32;
    l.bias = bias;
    assert_int_equal(wcodec_resident_linear(host, i, &l, &err), WCODEC_OK);
    cl_mem xs = put(c, x, (size_t)(VECTORS * k) * sizeof *x), ys = put(c, expected, size),
           biases = put(c, bias, (size_t)n * sizeof *bias);
    l.x = xs;
    l.y = ys;
    l.bias = biases;
    l.queue = handle(c->queue);
    for (unsigned turn = 0; turn < 2; turn++) {
        if (wcodec_resident_linear(r, i, &l, &err) != WCODEC_OK)
            fail_msg("%s", err.text);
        get(c, ys, turn == 0 ? y : again, size);
    }
    assert_memory_equal(y, again, size);
    for (uint64_t j = 0; j < VECTORS * n; j++)
        assert_true(fabsf(y[j] - expected[j]) <= 1e-4F * (float)k);
    check_transposed(c, r, host, i, n, k);
    l.rows = VECTORS + 1;
    assert_int_equal(wcodec_resident_linear(r, i, &l, &err), WCODEC_ERROR_USAGE);
    assert_non_null(strstr(err.text, "x is a buffer of "));
    cl.clReleaseMemObject(biases);
    cl.clReleaseMemObject(ys);
    cl.clReleaseMemObject(xs);
    free(bias);
    free(expected);
    free(again);
    free(y);
    free(x);
}

static void check_plain(const struct caller *c, const wcodec_resident_tensor *t,
                        const uint8_t *data)
{
    uint8_t *got = malloc((size_t)t->size + 1);
    assert_non_null(got);
    if (t->size != 0) {
        assert_true(t->native != 0);
        get(c, (cl_mem)(uintptr_t)t->native, got, (size_t)t->size);
        assert_memory_equal(got, data, (size_t)t->size);
    }
    free(got);
}

/* Is it one of the matrices that are multiplied by, whose numbers are near zero? Those of F16 have
 * infinities. */
static bool is_product(uint64_t i, const wcodec_resident_tensor *t)
{
    return t->rank == 2 && t->size != 0 && support_models[i].numbers != SUPPORT_ANY_BITS &&
           (t->dtype == WCODEC_DTYPE_BF16 || t->dtype == WCODEC_DTYPE_F32 ||
            t->dtype == WCODEC_DTYPE_I8);
}

static void test_all(void **state)
{
    struct caller c;
    wcodec_resident *r, *host;
    wcodec_error err;
    unsigned fixed = 0;
    (void)state;
    if (!begin(&c, WCODEC_TUNE_SIZE))
        skip();
    assert_int_equal(make(&c, "cuda", WCODEC_RESIDENT_AUTO, &r, &err), WCODEC_ERROR_BACKEND);
    if (make(&c, "opencl", WCODEC_RESIDENT_AUTO, &r, &err) != WCODEC_OK)
        fail_msg("%s", err.text);
    assert_int_equal(make(&c, NULL, WCODEC_RESIDENT_PLAIN, &host, &err), WCODEC_OK);
    for (uint64_t i = 0; i < SUPPORT_RESIDENT_TENSORS; i++) {
        wcodec_resident_tensor t;
        assert_int_equal(wcodec_resident_info(r, i, &t, &err), WCODEC_OK);
        if (t.form == WCODEC_RESIDENT_FIXED && t.dtype == WCODEC_DTYPE_BF16) {
            fixed++;
            check_rows(&c, r, i, &t, c.file.data[i]);
            if (t.rank == 2)
                check_product(&c, r, host, i, &t);
        } else if (t.form == WCODEC_RESIDENT_PLAIN) {
            check_plain(&c, &t, c.file.data[i]);
            if (is_product(i, &t))
                check_product(&c, r, host, i, &t);
        }
    }
    assert_true(fixed >= 3);
    wcodec_resident_destroy(host);
    wcodec_resident_destroy(r);
    end(&c);
}

/* Rows by an index, where its tiles are some from which they are gathered. */
static void check_gathered(const struct caller *c, const wcodec_resident *r, uint64_t i,
                           const wcodec_resident_tensor *t, const uint8_t *data)
{
    const uint64_t rows = t->rank > 0 ? t->shape[0] : 1, row_size = t->size / rows;
    const int64_t numbers[] = {(int64_t)rows - 1, 0, (int64_t)rows / 2, 0};
    uint8_t *got = malloc((size_t)(4 * row_size));
    wcodec_error err;
    assert_non_null(got);
    memset(got, 0xee, (size_t)(4 * row_size));
    cl_mem index = put(c, numbers, sizeof numbers), out = put(c, got, (size_t)(4 * row_size));
    const wcodec_status status = wcodec_resident_gather_queued(
        r, i, handle(index), 4, handle(out), 4 * row_size, handle(c->queue), &err);
    get(c, out, got, (size_t)(4 * row_size));
    for (unsigned k = 0; k < 4 && status == WCODEC_OK; k++)
        assert_memory_equal(got + k * row_size, data + (uint64_t)numbers[k] * row_size,
                            (size_t)row_size);
    if (status != WCODEC_OK)
        assert_int_equal(status, WCODEC_ERROR_UNSUPPORTED);
    cl.clReleaseMemObject(out);
    cl.clReleaseMemObject(index);
    free(got);
}

/* As in the file: decoded whole, and where tiles allow it by rows. */
static void check_coded(const struct caller *c, const wcodec_resident *r, uint64_t i,
                        const wcodec_resident_tensor *t, const uint8_t *data)
{
    const uint64_t rows = t->rank > 0 ? t->shape[0] : 1, row_size = t->size / rows,
                   queue = handle(c->queue);
    uint8_t *got = malloc((size_t)t->size + 16);
    wcodec_error err;
    assert_non_null(got);
    memset(got, 0xee, (size_t)t->size + 16);
    cl_mem out = put(c, got, (size_t)t->size + 16);
    for (unsigned k = 0; k < 3; k++) {
        const uint64_t first = k == 1 && rows > 16 ? 16 : 0, end = k == 2 ? (rows + 1) / 2 : rows;
        const wcodec_status status = wcodec_resident_decode_queued(
            r, i, first, end - first, handle(out), t->size + 16, queue, &err);
        if (first == 0 && end == rows && status != WCODEC_OK)
            fail_msg("%s", err.text);
        get(c, out, got, (size_t)t->size + 16);
        if (status == WCODEC_OK)
            assert_memory_equal(got, data + first * row_size, (size_t)((end - first) * row_size));
        else
            assert_int_equal(status, WCODEC_ERROR_UNSUPPORTED);
        for (unsigned j = 0; j < 16; j++)
            assert_int_equal(got[t->size + j], 0xee);
    }
    cl.clReleaseMemObject(out);
    check_gathered(c, r, i, t, data);
    out = put(c, got, (size_t)t->size);
    check_refused(c, r, i, t, out);
    cl.clReleaseMemObject(out);
    free(got);
}

static void test_coded(void **state)
{
    static const wcodec_tune tunes[] = {WCODEC_TUNE_SIZE, WCODEC_TUNE_COMPUTE};
    (void)state;
    for (unsigned k = 0; k < 2; k++) {
        struct caller c;
        wcodec_resident *r, *host;
        wcodec_error err;
        unsigned coded = 0, products = 0;
        if (!begin(&c, tunes[k]))
            skip();
        if (make(&c, "opencl", WCODEC_RESIDENT_CODED, &r, &err) != WCODEC_OK)
            fail_msg("%s", err.text);
        assert_int_equal(make(&c, NULL, WCODEC_RESIDENT_PLAIN, &host, &err), WCODEC_OK);
        for (uint64_t i = 0; i < SUPPORT_RESIDENT_TENSORS; i++) {
            wcodec_resident_tensor t;
            assert_int_equal(wcodec_resident_info(r, i, &t, &err), WCODEC_OK);
            if (is_product(i, &t)) {
                check_product(&c, r, host, i, &t);
                products++;
            }
            if (t.form != WCODEC_RESIDENT_CODED)
                continue;
            coded++;
            assert_true(t.alias_of != UINT64_MAX || (t.held != 0 && t.native == 0));
            check_coded(&c, r, i, &t, c.file.data[i]);
        }
        assert_true(coded >= 8 && products >= 8);
        wcodec_resident_destroy(host);
        wcodec_resident_destroy(r);
        end(&c);
    }
}

/* What is damaged is found when it becomes resident. */
static void test_damaged(void **state)
{
    struct caller c;
    wcodec_resident *r;
    wcodec_error err;
    unsigned found = 0;
    (void)state;
    if (!begin(&c, WCODEC_TUNE_SIZE))
        skip();
    for (size_t at = 4096; at < c.file.size / 2; at += c.file.size / 16) {
        c.file.bytes[at] ^= 0x10;
        const wcodec_status status = make(&c, "opencl", WCODEC_RESIDENT_CODED, &r, &err);
        if (status == WCODEC_OK) {
            wcodec_resident_destroy(r);
        } else {
            assert_int_equal(status, WCODEC_ERROR_CORRUPT);
            assert_non_null(strstr(err.text, "tensor '"));
            found++;
        }
        c.file.bytes[at] ^= 0x10;
    }
    assert_true(found >= 4);
    end(&c);
}

int main(void)
{
    const char *build = getenv("top_builddir");
    char folder[4096], text[128];
    /* PoCL asks hwloc, whose OpenCL component asks PoCL. */
    setenv("HWLOC_COMPONENTS", "-opencl,-cuda,-nvml,-gl", 1);
    snprintf(folder, sizeof folder, "%s/backends/opencl/.libs", build != NULL ? build : ".");
    char *absolute = realpath(folder, NULL);
    const char *missing = wcodec_opencl_driver_open(&cl, text, sizeof text);
    if (absolute == NULL || missing != NULL) {
        print_message("skipped: %s\n", absolute == NULL ? "no plugin" : missing);
        return 77;
    }
    setenv("WCODEC_BACKEND_PATH", absolute, 1);
    free(absolute);
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_all), cmocka_unit_test(test_coded),
                                       cmocka_unit_test(test_damaged)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
