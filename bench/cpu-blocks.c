/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Tensors in blocks on the CPU, one thread, GB/s of elements. First reconstruction alone, every
 * level that the machine has: from residuals in the cache to rows of 2048 elements, one mode for
 * all blocks. Then whole tensors of 2^24 elements whose rows are AR(1), from memory to memory, by
 * each predictor, beside memcpy as the encoder chooses its tables and by tables of P8, beside
 * memcpy and zstd -1. Medians of the thread's own time. */
#include "backends/cpu/blocks.h"
#include "backends/cpu/cpu_level.h"
#define PROGRAM "cpu-blocks"
#include "bench/baseline.h"
#include "bench/random.h"

enum { ROUNDS = 9, TIMES = 20, ROWS = 32, COLUMNS = 2048, SIDE = 4096 };

static double rate(const struct wcodec_cpu_blocks_dsp *dsp, unsigned element_log2, unsigned mode,
                   const uint8_t *residuals, uint8_t *out)
{
    struct wcodec_blocks b = {.columns = COLUMNS, .mode_count = 1, .modes = {(uint8_t)mode}};
    double taken[ROUNDS];
    if (wcodec_blocks_derive(&b, (uint64_t)ROWS * COLUMNS << element_log2, element_log2, NULL))
        fail("no view");
    for (unsigned r = 0; r < ROUNDS; r++) {
        const double start = now();
        for (unsigned i = 0; i < TIMES; i++)
            wcodec_cpu_restore_blocks(dsp, &b, NULL, 0, b.count, residuals, 0, b.size, out);
        taken[r] = now() - start;
    }
    return 1e-9 * (double)b.size * TIMES / median(taken, ROUNDS);
}

/* int8: each row scaled to 127; or 16 bits. */
static void make_rows(unsigned element_log2, uint8_t *data)
{
    static double x[SIDE];
    for (size_t r = 0; r < SIDE; r++) {
        double most = 0;
        for (size_t c = 0; c < SIDE; c++) {
            x[c] = c > 0 ? 0.9 * x[c - 1] + sqrt(1 - 0.81) * gaussian() : gaussian();
            most = fmax(most, fabs(x[c]));
        }
        for (size_t c = 0; c < SIDE; c++)
            if (element_log2)
                wcodec_store_u16(data + 2 * (SIDE * r + c), (uint16_t)(int16_t)(1000 * x[c]));
            else
                data[SIDE * r + c] = (uint8_t)(int8_t)nearbyint(x[c] / most * 127);
    }
}

static void compress(wcodec_context *context, wcodec_predict predict, wcodec_profile profile,
                     wcodec_dtype dtype, const uint8_t *data, size_t size, struct sink *sink)
{
    const uint64_t shape[] = {SIDE, SIDE};
    wcodec_encode_options options;
    wcodec_writer *writer;
    wcodec_error err = {0};
    wcodec_encode_options_init(&options);
    options.predict = predict;
    options.profile = profile;
    sink->size = 0;
    check(wcodec_writer_create(context, append, sink, &options, &writer, &err), &err);
    check(wcodec_writer_declare(writer, "t", dtype, shape, 2, &err), &err);
    check(wcodec_writer_data(writer, data, size, &err), &err);
    check(wcodec_writer_finish(writer, NULL, &err), &err);
    wcodec_writer_destroy(writer);
}

static double decompress(wcodec_context *context, const struct sink *sink, const uint8_t *data,
                         uint8_t *out, size_t size)
{
    double taken[ROUNDS];
    wcodec_reader *reader;
    wcodec_error err = {0};
    check(wcodec_reader_open_memory(context, sink->data, sink->size, &reader, &err), &err);
    for (unsigned r = 0; r < ROUNDS; r++) {
        const double start = now();
        check(wcodec_reader_decode(reader, 0, out, size, NULL, &err), &err);
        taken[r] = now() - start;
    }
    wcodec_reader_close(reader);
    if (memcmp(out, data, size) != 0)
        fail("decoded wrongly");
    return median(taken, ROUNDS);
}

static void run_tensor(wcodec_context *context, const char *name, wcodec_dtype dtype,
                       unsigned element_log2)
{
    static const char *const names[] = {"auto",    "none",   "left",  "top",
                                        "average", "planar", "paeth", "wht"};
    const size_t size = (size_t)SIDE * SIDE << element_log2;
    uint8_t *data = take_pages(size), *out = take_pages(size);
    struct sink sink = {.data = take_pages(2 * size), .capacity = 2 * size};
    make_rows(element_log2, data);
    const struct baseline base = measure_baseline(data, size, out);
    const double rate = 1e-9 * (double)size, zstd = base.zstd;
    printf("\n%s: memcpy %.2f GB/s, zstd -1 %.2f (%.3f bits)\n", name, rate / base.copy,
           rate / zstd, 8 * (double)base.packed / (SIDE * SIDE));
    for (unsigned predict = WCODEC_PREDICT_AUTO; predict <= WCODEC_PREDICT_WHT; predict++) {
        printf("  %-8s", names[predict]);
        for (unsigned profile = WCODEC_PROFILE_AUTO; profile <= WCODEC_PROFILE_P8;
             profile += WCODEC_PROFILE_P8) {
            compress(context, (wcodec_predict)predict, (wcodec_profile)profile, dtype, data, size,
                     &sink);
            const double t = decompress(context, &sink, data, out, size);
            printf("%s %.3f bits, %5.2f GB/s, %4.1f x zstd", profile ? " | P8" : "",
                   8 * (double)sink.size / (SIDE * SIDE), rate / t, zstd / t);
        }
        printf("\n");
    }
    free(sink.data);
    free(out);
    free(data);
}

static void run_tensors(void)
{
    wcodec_context *context = open_context(1);
    run_tensor(context, "int8", WCODEC_DTYPE_I8, 0);
    run_tensor(context, "int16", WCODEC_DTYPE_I16, 1);
    wcodec_context_destroy(context);
}

int main(void)
{
    static const unsigned modes[] = {0, 1, 2, 4, 3, 5, 6, 8, 9, 11, 13};
    uint8_t *residuals = take_pages(2 * ROWS * COLUMNS), *out = take_pages(2 * ROWS * COLUMNS);
    for (size_t i = 0; i < 2 * ROWS * COLUMNS; i++)
        residuals[i] = (uint8_t)(i * 0x9E3779B1u >> 24);
    printf("| level, bits |");
    for (unsigned m = 0; m < sizeof modes / sizeof *modes; m++)
        printf(" %s%s |", wcodec_predictor_name(modes[m]),
               modes[m] & WCODEC_MODE_DIFFERENTIAL ? "+d" : "");
    printf("\n");
    for (unsigned level = 0; wcodec_cpu_level_name(level); level++) {
        struct wcodec_cpu_blocks_dsp dsp;
        wcodec_cpu_blocks_dsp_init(&dsp, wcodec_cpu_levels() & ((2u << level) - 1));
        for (unsigned w = 0; w < 2 && dsp.level == level; w++) {
            printf("| %s, %u |", wcodec_cpu_level_name(level), 8u << w);
            for (unsigned m = 0; m < sizeof modes / sizeof *modes; m++)
                printf(" %.2f |", rate(&dsp, w, modes[m], residuals, out));
            printf("\n");
        }
    }
    free(out);
    free(residuals);
    run_tensors();
    return 0;
}
