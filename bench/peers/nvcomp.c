/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* wcodec's CUDA kernels and nvCOMP's ANS (C batched interface) on the same bytes, in one run, by
 * the device's events: memory is allocated before, every result is compared. Built by
 * bench/peers/Makefile where the Python package nvidia-libnvcomp-cu13 is found.
 *
 *   WCODEC_BACKEND_PATH=FOLDER-OF-PLUGINS nvcomp [ROW...] */
#include "core/context.h"

#include <cuda_runtime_api.h>
#include <math.h>
#include <nvcomp/ans.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wcodec.h>

enum kind { BF16, E4M3, INT8 };

enum { RUNS = 9, TASK = 1 << 20 };

static const struct row {
    const char *name;
    enum kind kind;
    unsigned log2;
    wcodec_tune tune;
    nvcompType_t type;
} rows[] = {
    {"bf16-2^29", BF16, 29, WCODEC_TUNE_SIZE, NVCOMP_TYPE_FLOAT16},
    {"bf16-2^24", BF16, 24, WCODEC_TUNE_LATENCY, NVCOMP_TYPE_FLOAT16},
    {"bf16-2^23", BF16, 23, WCODEC_TUNE_LATENCY, NVCOMP_TYPE_FLOAT16},
    {"bf16-2^20", BF16, 20, WCODEC_TUNE_LATENCY, NVCOMP_TYPE_FLOAT16},
    {"e4m3-2^29", E4M3, 29, WCODEC_TUNE_SIZE, NVCOMP_TYPE_FLOAT8_E4M3},
    {"int8-2^29", INT8, 29, WCODEC_TUNE_SIZE, NVCOMP_TYPE_UCHAR},
};

static void fail(const char *what, const char *why)
{
    fprintf(stderr, "nvcomp: %s: %s\n", what, why);
    exit(1);
}

static void check(wcodec_status status, const wcodec_error *err)
{
    if (status != WCODEC_OK)
        fail("wcodec", err->text);
}

#define CUDA(call) \
    do { \
        cudaError_t e_ = (call); \
        if (e_ != cudaSuccess) \
            fail(#call, cudaGetErrorString(e_)); \
    } while (0)

#define NVCOMP(call) \
    do { \
        nvcompStatus_t s_ = (call); \
        if (s_ != nvcompSuccess) { \
            char n_[32]; \
            snprintf(n_, sizeof n_, "status %d", (int)s_); \
            fail(#call, n_); \
        } \
    } while (0)

struct fill {
    enum kind kind;
    uint8_t *data;
};

static uint64_t next_random(uint64_t *s)
{
    uint64_t z = *s += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static uint8_t to_e4m3(float v)
{
    const uint8_t sign = v < 0 ? 0x80 : 0;
    const float a = fabsf(v);
    int e;
    if (a >= 448)
        return (uint8_t)(sign | 0x7e);
    frexpf(a, &e);
    e = e - 1 < -6 ? -6 : e - 1;
    const int q = (int)lrintf(ldexpf(a, 3 - e));
    return (uint8_t)(sign | (q < 8 ? q : ((e + 7) << 3) + (q - 8)));
}

static void put(enum kind kind, uint8_t *p, float v)
{
    if (kind == E4M3) {
        *p = to_e4m3(v * 64);
    } else if (kind == INT8) {
        *p = (uint8_t)(int8_t)lrintf(fmaxf(-127, fminf(127, v * (127 / 4.5f))));
    } else {
        const float w = 0.02f * v;
        uint32_t b;
        memcpy(&b, &w, 4);
        const uint16_t h = (uint16_t)((b + 0x7fff + (b >> 16 & 1)) >> 16);
        memcpy(p, &h, 2);
    }
}

static void fill_task(void *argument, size_t i)
{
    const struct fill *f = argument;
    const size_t width = f->kind == BF16 ? 2 : 1;
    uint64_t s = i * 0x1000003 + 1;
    for (uint8_t *p = f->data + i * TASK, *end = p + TASK; p < end; p += 2 * width) {
        const float u = ((float)(next_random(&s) >> 40) + 1) * 0x1p-24f,
                    a = (float)(next_random(&s) >> 40) * 0x1p-24f * 6.2831853f,
                    r = sqrtf(-2 * logf(u));
        put(f->kind, p, r * cosf(a));
        put(f->kind, p + width, r * sinf(a));
    }
}

static int compare_floats(const void *x, const void *y)
{
    const float a = *(const float *)x, b = *(const float *)y;
    return (a > b) - (a < b);
}

/* wcodec. */
struct coded {
    uint8_t *data;
    size_t size, room;
};

static int keep(void *opaque, const void *data, size_t size)
{
    struct coded *c = opaque;
    if (size > c->room - c->size)
        return 28;
    memcpy(c->data + c->size, data, size);
    c->size += size;
    return 0;
}

static void run_wcodec(wcodec_context *context, const struct row *row, const uint8_t *data,
                       size_t size)
{
    static const wcodec_dtype dtypes[] = {WCODEC_DTYPE_BF16, WCODEC_DTYPE_F8_E4M3, WCODEC_DTYPE_I8};
    const uint64_t elements = (uint64_t)1 << row->log2, shape = elements, zero = 0;
    struct coded c = {.room = size + (1 << 20)};
    wcodec_encode_options options;
    wcodec_device_rates rates;
    wcodec_writer *writer;
    wcodec_reader *reader;
    wcodec_buffer *buffer;
    wcodec_error err;
    c.data = malloc(c.room);
    wcodec_encode_options_init(&options);
    options.tune = row->tune;
    options.no_verify = 1;
    check(wcodec_writer_create(context, keep, &c, &options, &writer, &err), &err);
    check(wcodec_writer_declare(writer, "w", dtypes[row->kind], &shape, 1, &err), &err);
    check(wcodec_writer_data(writer, data, size, &err), &err);
    check(wcodec_writer_finish(writer, NULL, &err), &err);
    wcodec_writer_destroy(writer);
    check(wcodec_reader_open_memory(context, c.data, c.size, &reader, &err), &err);
    check(wcodec_reader_measure(reader, &zero, 1, RUNS, &rates, &err), &err);
    check(wcodec_buffer_create(context, size, &buffer, &err), &err);
    const wcodec_load_item item = {.destination = wcodec_buffer_native(buffer), .size = size};
    wcodec_load_options load;
    wcodec_load_options_init(&load);
    load.memory = "cuda";
    uint8_t *got = malloc(size);
    check(wcodec_load(reader, &item, 1, &load, NULL, &err), &err);
    check(wcodec_buffer_read(buffer, 0, got, size, &err), &err);
    if (memcmp(got, data, size) != 0)
        fail(row->name, "wcodec decodes wrongly");
    wcodec_tensor_info info;
    check(wcodec_reader_tensor(reader, 0, &info, &err), &err);
    const double rate = (double)size / (double)rates.decode_nanoseconds;
    printf("%-10s wcodec %-22s %7.3f bits   decode %7.1f GB/s   %4.1f %% of the copy's %.0f GB/s\n",
           row->name, info.coding_name, 8.0 * (double)info.coded_size / (double)elements, rate,
           1e11 * rate * (1 + (double)info.coded_size / (double)size) / rates.copy_bandwidth,
           rates.copy_bandwidth / 1e9);
    fflush(stdout);
    free(got);
    wcodec_buffer_destroy(buffer);
    wcodec_reader_close(reader);
    free(c.data);
}

/* nvCOMP. */
struct batch {
    size_t count, chunk, room;
    char *in, *coded, *out, *temp;
    void **in_pointers, **coded_pointers, **out_pointers;
    size_t *in_sizes, *coded_sizes, *out_sizes, temp_size;
    nvcompStatus_t *statuses;
};

static void *device(size_t size)
{
    void *p;
    CUDA(cudaMalloc(&p, size));
    return p;
}

static void **pointers(char *base, size_t stride, size_t count)
{
    void **host = malloc(count * sizeof *host), **there = device(count * sizeof *there);
    for (size_t i = 0; i < count; i++)
        host[i] = base + i * stride;
    CUDA(cudaMemcpy(there, host, count * sizeof *host, cudaMemcpyHostToDevice));
    free(host);
    return there;
}

static float median(float *times)
{
    qsort(times, RUNS, sizeof *times, compare_floats);
    return times[RUNS / 2];
}

static void make_batch(struct batch *b, const uint8_t *data, size_t size,
                       nvcompBatchedANSCompressOpts_t c, nvcompBatchedANSDecompressOpts_t d)
{
    size_t temp;
    b->count = size / b->chunk;
    NVCOMP(nvcompBatchedANSCompressGetTempSize(b->count, b->chunk, c, &b->temp_size, size, 0));
    NVCOMP(nvcompBatchedANSDecompressGetTempSize(b->count, b->chunk, d, &temp, size, 0));
    NVCOMP(nvcompBatchedANSCompressGetMaxOutputChunkSize(b->chunk, c, &b->room));
    b->room = (b->room + 255) / 256 * 256;
    if (temp > b->temp_size)
        b->temp_size = temp;
    b->in = device(size);
    b->out = device(size);
    b->coded = device(b->count * b->room);
    b->temp = device(b->temp_size + 1);
    CUDA(cudaMemcpy(b->in, data, size, cudaMemcpyHostToDevice));
    b->in_pointers = pointers(b->in, b->chunk, b->count);
    b->out_pointers = pointers(b->out, b->chunk, b->count);
    b->coded_pointers = pointers(b->coded, b->room, b->count);
    size_t *sizes = malloc(b->count * sizeof *sizes);
    for (size_t i = 0; i < b->count; i++)
        sizes[i] = b->chunk;
    b->in_sizes = device(b->count * sizeof *sizes);
    b->coded_sizes = device(b->count * sizeof *sizes);
    b->out_sizes = device(b->count * sizeof *sizes);
    b->statuses = device(b->count * sizeof *b->statuses);
    CUDA(cudaMemcpy(b->in_sizes, sizes, b->count * sizeof *sizes, cudaMemcpyHostToDevice));
    free(sizes);
}

static void run_nvcomp(const struct row *row, const uint8_t *data, size_t size, size_t chunk)
{
    struct batch b = {.chunk = chunk};
    nvcompBatchedANSCompressOpts_t c = nvcompBatchedANSCompressDefaultOpts;
    nvcompBatchedANSDecompressOpts_t d = nvcompBatchedANSDecompressDefaultOpts;
    cudaEvent_t before, after;
    float times[RUNS], coding[RUNS];
    c.data_type = d.data_type = row->type;
    make_batch(&b, data, size, c, d);
    CUDA(cudaEventCreate(&before));
    CUDA(cudaEventCreate(&after));
    for (int k = -2; k < RUNS; k++) {
        CUDA(cudaEventRecord(before, 0));
        NVCOMP(nvcompBatchedANSCompressAsync((const void *const *)b.in_pointers, b.in_sizes, chunk,
                                             b.count, b.temp, b.temp_size, b.coded_pointers,
                                             b.coded_sizes, c, b.statuses, 0));
        CUDA(cudaEventRecord(after, 0));
        CUDA(cudaEventSynchronize(after));
        CUDA(cudaEventElapsedTime(&coding[k < 0 ? 0 : k], before, after));
    }
    for (int k = -2; k < RUNS; k++) {
        CUDA(cudaEventRecord(before, 0));
        NVCOMP(nvcompBatchedANSDecompressAsync((const void *const *)b.coded_pointers, b.coded_sizes,
                                               b.in_sizes, b.out_sizes, b.count, b.temp,
                                               b.temp_size, b.out_pointers, d, b.statuses, 0));
        CUDA(cudaEventRecord(after, 0));
        CUDA(cudaEventSynchronize(after));
        CUDA(cudaEventElapsedTime(&times[k < 0 ? 0 : k], before, after));
    }
    uint8_t *got = malloc(size);
    size_t *sizes = malloc(b.count * sizeof *sizes), total = 0;
    CUDA(cudaMemcpy(got, b.out, size, cudaMemcpyDeviceToHost));
    CUDA(cudaMemcpy(sizes, b.coded_sizes, b.count * sizeof *sizes, cudaMemcpyDeviceToHost));
    for (size_t i = 0; i < b.count; i++)
        total += sizes[i];
    if (memcmp(got, data, size) != 0)
        fail(row->name, "nvCOMP decodes wrongly");
    printf("%-10s nvCOMP, chunks of %4zu KiB       %7.3f bits   decode %7.1f GB/s   encode %7.1f\n",
           row->name, chunk >> 10, 8.0 * (double)total / (double)((uint64_t)1 << row->log2),
           (double)size / (double)median(times) / 1e6, (double)size / (double)median(coding) / 1e6);
    fflush(stdout);
    free(sizes);
    free(got);
    void *const all[] = {b.in,          b.out,          b.coded,          b.temp,
                         b.in_pointers, b.out_pointers, b.coded_pointers, b.in_sizes,
                         b.coded_sizes, b.out_sizes,    b.statuses};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        CUDA(cudaFree(all[i]));
    CUDA(cudaEventDestroy(before));
    CUDA(cudaEventDestroy(after));
}

static int is_wanted(int argc, char **argv, const char *name)
{
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], name) == 0)
            return 1;
    return argc == 1;
}

int main(int argc, char **argv)
{
    wcodec_options options;
    wcodec_context *context;
    wcodec_error err;
    wcodec_options_init(&options);
    options.backend = "cuda";
    check(wcodec_context_create(&options, &context, &err), &err);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct row *row = &rows[i];
        const size_t size = ((size_t)1 << row->log2) * (row->kind == BF16 ? 2 : 1);
        if (!is_wanted(argc, argv, row->name))
            continue;
        struct fill f = {row->kind, malloc(size)};
        wcodec_run(context, fill_task, &f, size / TASK);
        run_wcodec(context, row, f.data, size);
        for (size_t chunk = row->log2 < 29 ? 32768 : 65536; chunk <= 1 << 20 && chunk * 4 <= size;
             chunk *= 4)
            run_nvcomp(row, f.data, size, chunk);
        free(f.data);
    }
    wcodec_context_destroy(context);
    return 0;
}
