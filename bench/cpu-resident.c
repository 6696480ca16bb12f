/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Products y = x W^T with a resident matrix of 8192 x 8192, in every form, beside reading a plain
 * one: microseconds, and GB/s of elements as they would be decoded. bf16 is Gaussian; int8 is
 * scaled to the largest of its row. cpu-resident [THREADS]: 1 by default, by its own time; several
 * by the clock. Medians. */
#include "coding/lossy.h"
#define PROGRAM "cpu-resident"
#include "bench/program.h"
#include "bench/random.h"
#include "bench/timing.h"

#include <stdbool.h>

/* One thread by its process's time, since others use the machine. */
static bool alone;

static double seconds(void)
{
    return alone ? process_time() : wall();
}

enum { SIDE = 8192, ROUNDS = 7, VECTORS = 64 };

static void fill(wcodec_dtype dtype, uint8_t *data)
{
    for (size_t i = 0; i < (size_t)SIDE * SIDE; i++) {
        const double number = gaussian();
        if (dtype == WCODEC_DTYPE_BF16)
            wcodec_store_u16(data + 2 * i, wcodec_bf16_from_f32((float)(0.02 * number)));
        else
            data[i] = (uint8_t)(int8_t)(number * 33 > 127    ? 127
                                        : number * 33 < -127 ? -127
                                                             : number * 33);
    }
}

static void write_file(wcodec_context *context, wcodec_dtype dtype, const uint8_t *data,
                       struct sink *f)
{
    const uint64_t shape[] = {SIDE, SIDE};
    wcodec_writer *writer;
    wcodec_error err;
    f->size = 0;
    check(wcodec_writer_create(context, append, f, NULL, &writer, &err), &err);
    check(wcodec_writer_declare(writer, "w", dtype, shape, 2, &err), &err);
    check(
        wcodec_writer_data(writer, data, (size_t)SIDE * SIDE * wcodec_dtype_bits(dtype) / 8, &err),
        &err);
    check(wcodec_writer_finish(writer, NULL, &err), &err);
    wcodec_writer_destroy(writer);
}

/* Seconds of a product of `rows` vectors. */
static double multiply(const wcodec_resident *resident, uint64_t rows, int transposed,
                       const float *x, float *y)
{
    double taken[ROUNDS];
    wcodec_linear l;
    wcodec_error err;
    wcodec_linear_init(&l);
    l.rows = rows;
    l.transposed = transposed;
    l.x = x;
    l.x_dtype = WCODEC_DTYPE_F32;
    l.y = y;
    l.y_dtype = WCODEC_DTYPE_F32;
    for (unsigned i = 0; i < ROUNDS; i++) {
        const double start = seconds();
        check(wcodec_resident_linear(resident, 0, &l, &err), &err);
        taken[i] = seconds() - start;
    }
    return median(taken, ROUNDS);
}

/* Seconds of reading `size` bytes: their sum, eight words at a time. */
static double read_all(const uint8_t *data, size_t size)
{
    double taken[ROUNDS];
    uint64_t sums[8] = {0};
    for (unsigned i = 0; i < ROUNDS; i++) {
        const double start = seconds();
        for (size_t at = 0; at < size; at += 64)
            for (unsigned k = 0; k < 8; k++)
                sums[k] += wcodec_load_u64(data + at + 8 * (size_t)k);
        taken[i] = seconds() - start;
    }
    volatile uint64_t sum = sums[0] ^ sums[1] ^ sums[2] ^ sums[3] ^ sums[4] ^ sums[5] ^ sums[6] ^
                            sums[7]; /* is not left out */
    (void)sum;
    return median(taken, ROUNDS);
}

static void measure_form(const wcodec_reader *reader, wcodec_resident_form form, size_t size,
                         const float *x, float *y)
{
    static const char *const names[] = {"auto", "coded", "fixed", "plain"};
    static const uint64_t rows[] = {1, 2, 4, 8, 16, VECTORS};
    wcodec_resident_options options;
    wcodec_resident *resident;
    wcodec_resident_tensor info;
    wcodec_error err;
    wcodec_resident_options_init(&options);
    options.form = form;
    const double start = seconds();
    check(wcodec_resident_create(reader, NULL, 0, &options, &resident, &err), &err);
    const double created = seconds() - start;
    check(wcodec_resident_info(resident, 0, &info, &err), &err);
    printf("| %s %s | %.3f | %.2f |", wcodec_dtype_name(info.dtype), names[info.form],
           (double)info.held * 8 / SIDE / SIDE, 1e-9 * (double)size / created);
    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
        const double taken = multiply(resident, rows[i], 0, x, y);
        printf(" %.0f (%.2f) |", taken * 1e6, 1e-9 * (double)size / taken);
    }
    printf(" %.0f |\n", multiply(resident, 1, 1, x, y) * 1e6);
    fflush(stdout);
    wcodec_resident_destroy(resident);
}

static void measure(wcodec_context *context, wcodec_dtype dtype, struct sink *f, const float *x,
                    float *y)
{
    const size_t size = (size_t)SIDE * SIDE * wcodec_dtype_bits(dtype) / 8;
    uint8_t *data = take_pages(size);
    wcodec_reader *reader;
    wcodec_error err;
    fill(dtype, data);
    write_file(context, dtype, data, f);
    printf("one thread reads the plain matrix of %s at %.2f GB/s\n", wcodec_dtype_name(dtype),
           1e-9 * (double)size / read_all(data, size));
    free(data);
    check(wcodec_reader_open_memory(context, f->data, f->size, &reader, &err), &err);
    if (dtype == WCODEC_DTYPE_BF16)
        measure_form(reader, WCODEC_RESIDENT_FIXED, size, x, y);
    measure_form(reader, WCODEC_RESIDENT_PLAIN, size, x, y);
    measure_form(reader, WCODEC_RESIDENT_CODED, size, x, y);
    wcodec_reader_close(reader);
}

int main(int argc, char **argv)
{
    const unsigned threads = argc > 1 ? (unsigned)atoi(argv[1]) : 1;
    wcodec_context *context = open_context(threads);
    alone = threads == 1;
    const size_t capacity = (size_t)SIDE * SIDE * 2;
    struct sink f = {.data = take_pages(capacity), .capacity = capacity};
    float *x = (float *)(void *)take_pages((size_t)VECTORS * SIDE * sizeof *x),
          *y = (float *)(void *)take_pages((size_t)VECTORS * SIDE * sizeof *y);
    for (size_t i = 0; i < (size_t)VECTORS * SIDE; i++)
        x[i] = (float)gaussian();
    printf(
        "%u threads\n| form | bits | resident at GB/s | M 1 | 2 | 4 | 8 | 16 | %d | x W, M 1 |\n",
        threads, VECTORS);
    measure(context, WCODEC_DTYPE_BF16, &f, x, y);
    measure(context, WCODEC_DTYPE_I8, &f, x, y);
    free(x);
    free(y);
    free(f.data);
    wcodec_context_destroy(context);
    return 0;
}
