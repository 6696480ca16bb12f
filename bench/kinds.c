/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* What prediction gives for kinds of tensors: kinds [LEVEL] Bits an element of generated tensors,
 * payloads only: tiles or zstd without prediction, the best single predictor and its name, the
 * encoder's own choice, zstd -19, and the order-0 bound. Exit status 1 if the choice is more than
 * 0.02 % above none, or AR(1) rows above their target. The same tensors each time. */
#include "bench/floats.h"
#include "bench/random.h"
#include "write/batch.h"
#include "core/error.h"
#include <stdio.h>
#include <stdlib.h>
#include <zstd.h>

enum { SIDE = 2048 };

static bool failed;

/* Gaussian fields, each element correlated with its left and its upper neighbour. */
static void make_field(double left, double top, size_t rows, size_t columns, double *x)
{
    for (size_t i = 0; i < rows * columns; i++) {
        const bool first_row = i < columns, first_column = i % columns == 0;
        const double a = first_column ? 0 : left, b = first_row ? 0 : top;
        x[i] = (first_column ? 0 : a * x[i - 1]) + (first_row ? 0 : b * x[i - columns]) -
               (first_row || first_column ? 0 : a * b * x[i - columns - 1]) +
               sqrt((1 - a * a) * (1 - b * b)) * gaussian();
    }
}

/* Each row scaled to 127. */
static void to_int8(const double *x, size_t rows, size_t columns, uint8_t *out)
{
    for (size_t r = 0; r < rows; r++) {
        double most = 0;
        for (size_t c = 0; c < columns; c++)
            most = fmax(most, fabs(x[r * columns + c]));
        for (size_t c = 0; c < columns; c++)
            out[r * columns + c] =
                (uint8_t)(int)nearbyint(most > 0 ? x[r * columns + c] / most * 127 : 0);
    }
}

static void to_bf16(const double *x, size_t count, uint8_t *out)
{
    for (size_t i = 0; i < count; i++)
        wcodec_store_u16(out + 2 * i, (uint16_t)bf16_bits(x[i]));
}

/* 7 x 7 kernels: orientated waves under a bell, with noise; a row is an output channel. */
static void make_kernels(size_t rows, size_t columns, double *x)
{
    for (size_t r = 0; r < rows; r++)
        for (size_t k = 0; k < columns / 49; k++) {
            const double angle = 6.28 * uniform(), frequency = 0.3 + uniform(),
                         phase = 6.28 * uniform(), strength = fabs(gaussian());
            for (int i = 0; i < 49; i++) {
                const double u = i % 7 - 3, v = i / 7 - 3, along = u * cos(angle) + v * sin(angle);
                x[r * columns + k * 49 + (size_t)i] =
                    strength * exp(-(u * u + v * v) / 8) * cos(frequency * along + phase) +
                    0.05 * gaussian();
            }
        }
}

static void make_positions(size_t rows, size_t columns, double *x)
{
    for (size_t i = 0; i < rows * columns; i++) {
        const double angle =
            (double)(i / columns) / pow(10000, (double)(i % columns / 2 * 2) / (double)columns);
        x[i] = i % 2 ? cos(angle) : sin(angle);
    }
}

/* Differences of the bf16 patterns of a LoRA's product (rank 4) before and after a small step:
 * integers. */
static void make_differences(size_t rows, size_t columns, uint8_t *out)
{
    double *a = malloc(rows * 4 * sizeof *a), *b = malloc(columns * 4 * sizeof *b),
           *step = malloc(columns * 4 * sizeof *step);
    for (size_t i = 0; i < rows * 4; i++)
        a[i] = gaussian();
    for (size_t i = 0; i < columns * 4; i++) {
        b[i] = 0.02 * gaussian();
        step[i] = 0.0002 * gaussian();
    }
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0; c < columns; c++) {
            double before = 0, after = 0;
            for (size_t k = 0; k < 4; k++) {
                before += a[4 * r + k] * b[4 * c + k];
                after += a[4 * r + k] * (b[4 * c + k] + step[4 * c + k]);
            }
            wcodec_store_u16(out + 2 * (r * columns + c),
                             (uint16_t)(bf16_bits(after) - bf16_bits(before)));
        }
    free(a);
    free(b);
    free(step);
}

static uint64_t coded_size(wcodec_context *context, int level, wcodec_predict predict,
                           const struct wcodec_entry *what, const void *data,
                           struct wcodec_coded *coded)
{
    const struct wcodec_encode_settings settings = {
        .level = level, .weights = true, .verify = true, .predict = (uint8_t)predict};
    wcodec_error err = {0};
    if (wcodec_code_bytes(context, &settings, true, what, data, coded, &err) != WCODEC_OK) {
        fprintf(stderr, "kinds: %s\n", err.text);
        exit(2);
    }
    const uint64_t size = coded->payload_size;
    return size;
}

static void measure(wcodec_context *context, int level, const char *name, wcodec_dtype dtype,
                    size_t rows, size_t columns, const uint8_t *data, double target)
{
    static const char *const names[] = {"", "", "left", "top", "average", "planar", "paeth", "wht"};
    static const char *const codings[] = {"constant", "tiles", "zstd", "", "blocks"};
    const uint64_t shape[] = {rows, columns}, elements = rows * columns;
    const size_t size = (size_t)elements * wcodec_dtype_bits(dtype) / 8,
                 room = ZSTD_compressBound(size);
    const struct wcodec_entry what = {
        .is_tensor = true, .dtype = (uint8_t)dtype, .rank = 2, .shape = shape, .size = size};
    struct wcodec_coded coded;
    uint64_t best = UINT64_MAX, wht = 0;
    unsigned single = 0;
    const uint64_t none = coded_size(context, level, WCODEC_PREDICT_NONE, &what, data, &coded);
    const uint64_t bound = coded.order0_bits;
    wcodec_coded_free(&coded);
    for (unsigned p = WCODEC_PREDICT_LEFT; p <= WCODEC_PREDICT_WHT; p++) {
        const uint64_t own = coded_size(context, level, (wcodec_predict)p, &what, data, &coded);
        if (p == WCODEC_PREDICT_WHT && coded.coding == 4)
            wht = own;
        else if (coded.coding == 4 && own < best) {
            best = own;
            single = p;
        }
        wcodec_coded_free(&coded);
    }
    const uint64_t chosen = coded_size(context, level, WCODEC_PREDICT_AUTO, &what, data, &coded);
    const unsigned coding = coded.coding;
    wcodec_coded_free(&coded);
    void *buffer = malloc(room);
    const size_t zstd = ZSTD_compress(buffer, room, data, size, 19);
    free(buffer);
    const double each = 8.0 / (double)elements;
    printf("| %-37s | %7.3f | %7.3f %-7s | %7.3f | %7.3f %-6s | %7.3f | %7.3f |\n", name,
           (double)none * each, single ? (double)best * each : 0, names[single], (double)wht * each,
           (double)chosen * each, codings[coding], (double)zstd * each,
           (double)bound / (double)elements);
    fflush(stdout);
    failed = failed || (double)chosen > (double)none * 1.0002 ||
             (target > 0 && (double)chosen * each > target);
}

int main(int argc, char **argv)
{
    const int level = argc > 1 ? atoi(argv[1]) : 3;
    const size_t n = (size_t)SIDE * SIDE;
    double *x = malloc(n * sizeof *x);
    uint8_t *data = malloc(2 * n);
    wcodec_context *context;
    if (!x || !data || level < 1 || level > 9 ||
        wcodec_context_create(NULL, &context, NULL) != WCODEC_OK)
        return 2;
    printf(
        "| %-37s | %7s | %-15s | %7s | %-14s | %7s | %7s |\n| --- | --- | --- | --- | --- | --- | --- |\n",
        "kind", "none", "best predictor", "wht", "auto", "zstd 19", "bound");
    make_field(0, 0, SIDE, SIDE, x);
    to_int8(x, SIDE, SIDE, data);
    measure(context, level, "independent, int8 by rows", WCODEC_DTYPE_I8, SIDE, SIDE, data, 0);
    to_bf16(x, n, data);
    measure(context, level, "independent, bf16", WCODEC_DTYPE_BF16, SIDE, SIDE, data, 0);
    make_field(0.9, 0, SIDE, SIDE, x);
    to_int8(x, SIDE, SIDE, data);
    measure(context, level, "AR(1) rows, 0.9, int8 by rows", WCODEC_DTYPE_I8, SIDE, SIDE, data,
            6.36);
    to_bf16(x, n, data);
    measure(context, level, "AR(1) rows, 0.9, bf16", WCODEC_DTYPE_BF16, SIDE, SIDE, data, 0);
    make_field(0.95, 0.95, SIDE, SIDE, x);
    to_int8(x, SIDE, SIDE, data);
    measure(context, level, "AR(1) both ways, 0.95, int8 by rows", WCODEC_DTYPE_I8, SIDE, SIDE,
            data, 0);
    make_field(0.98, 0.98, SIDE, SIDE, x);
    for (size_t i = 0; i < n; i++)
        x[i] += 0.3 * gaussian();
    to_int8(x, SIDE, SIDE, data);
    measure(context, level, "both ways, 0.98, and noise, int8", WCODEC_DTYPE_I8, SIDE, SIDE, data,
            0);
    make_field(0.1, 0.98, SIDE, 512, x);
    to_bf16(x, (size_t)SIDE * 512, data);
    measure(context, level, "learnt positions, bf16", WCODEC_DTYPE_BF16, SIDE, 512, data, 0);
    make_positions(SIDE, 512, x);
    to_bf16(x, (size_t)SIDE * 512, data);
    measure(context, level, "sine positions, bf16", WCODEC_DTYPE_BF16, SIDE, 512, data, 0);
    to_int8(x, SIDE, 512, data);
    measure(context, level, "sine positions, int8", WCODEC_DTYPE_I8, SIDE, 512, data, 0);
    make_kernels(512, 49 * 64, x);
    to_int8(x, 512, 49 * 64, data);
    measure(context, level, "convolution kernels 7 x 7, int8", WCODEC_DTYPE_I8, 512, 49 * 64, data,
            0);
    make_differences(1024, 1024, data);
    measure(context, level, "difference of two LoRA, bf16 patterns", WCODEC_DTYPE_I16, 1024, 1024,
            data, 0);
    for (size_t i = 0; i < (size_t)SIDE * SIDE; i++)
        data[i] = i % SIDE <= i / SIDE;
    measure(context, level, "causal mask, bool", WCODEC_DTYPE_BOOL, SIDE, SIDE, data, 0);
    wcodec_context_destroy(context);
    free(data);
    free(x);
    return failed;
}
