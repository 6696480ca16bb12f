/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Decoding lossy bf16 tensors of 4096 x 4096 elements by one thread, at every level that the
 * machine has, beside memcpy and zstd -1 on the same tensor in the same run: GB/s of elements from
 * file bytes in memory, and of the reconstruction alone from coefficients in the cache. cpu-lossy
 * [BITS...]. Medians of the thread's own time. */
#include "backends/cpu/lossy.h"
#define PROGRAM "cpu-lossy"
#include "bench/baseline.h"
#include "bench/level.h"
#include "bench/random.h"

enum { SIDE = 4096, ROUNDS = 7 };

static const size_t bytes = (size_t)SIDE * SIDE * 2;

/* Neighbours to the left and above correlated by rho; 0: weights as they are. */
static void make_field(double rho, uint8_t *out)
{
    float *above = calloc(SIDE + 1, sizeof *above);
    if (above == NULL)
        fail("out of memory");
    for (unsigned y = 0; y < SIDE; y++) {
        float left = 0, corner = 0;
        for (unsigned x = 0; x < SIDE; x++) {
            const float v = (float)(rho * (left + above[x]) - rho * rho * corner +
                                    0.02 * (1 - rho * rho) * gaussian());
            corner = above[x];
            above[x] = left = v;
            wcodec_store_u16(out + 2 * ((size_t)y * SIDE + x), wcodec_bf16_from_f32(v));
        }
    }
    free(above);
}

static void encode(const uint8_t *data, double bits, struct sink *f)
{
    const uint64_t shape[] = {SIDE, SIDE};
    wcodec_context *context = open_context_of(4);
    wcodec_encode_options options;
    wcodec_writer *writer;
    wcodec_error err;
    wcodec_encode_options_init(&options);
    options.lossy = WCODEC_LOSSY_BITS;
    options.lossy_value = bits;
    f->size = 0;
    check(wcodec_writer_create(context, append, f, &options, &writer, &err), &err);
    check(wcodec_writer_declare(writer, "t", WCODEC_DTYPE_BF16, shape, 2, &err), &err);
    check(wcodec_writer_data(writer, data, bytes, &err), &err);
    check(wcodec_writer_finish(writer, NULL, &err), &err);
    wcodec_writer_destroy(writer);
    wcodec_context_destroy(context);
}

/* GB/s of decoding the file's tensor; `info` is filled in. */
static double decode(unsigned level, const struct sink *f, uint8_t *out, wcodec_tensor_info *info)
{
    wcodec_context *context = open_context_of(level);
    wcodec_reader *reader;
    wcodec_error err;
    double taken[ROUNDS];
    check(wcodec_reader_open_memory(context, f->data, f->size, &reader, &err), &err);
    check(wcodec_reader_tensor(reader, 0, info, &err), &err);
    for (unsigned r = 0; r < ROUNDS; r++) {
        const double start = now();
        check(wcodec_reader_decode(reader, 0, out, bytes, NULL, &err), &err);
        taken[r] = now() - start;
    }
    wcodec_reader_close(reader);
    wcodec_context_destroy(context);
    return 1e-9 * (double)bytes / median(taken, ROUNDS);
}

/* The whole way for one tensor at several sizes. */
static void run_tensor(const char *name, const uint8_t *data, const double *bits, int count,
                       struct sink *f, uint8_t *out)
{
    const struct baseline base = measure_baseline(data, bytes, out);
    const double zstd = 1e-9 * (double)bytes / base.zstd;
    printf("%s: memcpy %.2f GB/s, zstd -1 %.2f\n", name, 1e-9 * (double)bytes / base.copy, zstd);
    for (int i = 0; i < count; i++) {
        encode(data, bits[i], f);
        for (unsigned level = 0; wcodec_cpu_level_name(level); level++) {
            wcodec_tensor_info info;
            if (!(wcodec_cpu_levels() >> level & 1))
                continue;
            const double rate = decode(level, f, out, &info);
            printf("  %.2f bits, %-7s %6.2f GB/s %5.1f x zstd |",
                   (double)info.coded_size * 8 / SIDE / SIDE, wcodec_cpu_level_name(level), rate,
                   rate / zstd);
            for (unsigned m = 0; m < info.mode_count; m++)
                printf(" %s %.0f %%", info.modes[m].predictor,
                       100.0 * (double)info.modes[m].blocks /
                           (info.mode_count == 1 && info.modes[0].blocks == (uint64_t)SIDE * SIDE
                                ? SIDE * SIDE
                                : (double)(SIDE / 8 * (SIDE / 8))));
            printf(", %s, %u bits, %.1f dB\n", info.coding_name, info.element_bits,
                   10 * log10(info.mean_square / info.mean_squared_error));
        }
    }
}

/* Reconstruction alone: one mode for all blocks, coefficients of some size. */
static void run_level(unsigned level)
{
    enum { ROWS = 32, COLUMNS = 2048, TIMES = 20 };
    static uint8_t coefficients[2 * ROWS * COLUMNS], out[4 * ROWS * COLUMNS];
    static const wcodec_dtype dtypes[] = {WCODEC_DTYPE_BF16, WCODEC_DTYPE_F16, WCODEC_DTYPE_F32};
    const uint8_t scale[4] = {0, 0, 0x80, 0x3f};
    struct wcodec_cpu_lossy_dsp dsp;
    wcodec_cpu_lossy_dsp_init(&dsp, wcodec_cpu_levels() & ((2u << level) - 1));
    /* Small ones of 8 bits; small and large ones of 16. */
    for (unsigned kind = 0; kind < 3 && dsp.level == level; kind++) {
        for (size_t i = 0; i < (size_t)ROWS * COLUMNS; i++) {
            const int v = (int)(i * 0x9E3779B1u >> 28 & 15) - 8;
            if (kind)
                wcodec_store_u16(coefficients + 2 * i, (uint16_t)(kind == 2 ? 100 * v : v));
            else
                coefficients[i] = (uint8_t)v;
        }
        printf("| %s, %s |", wcodec_cpu_level_name(level),
               kind == 0   ? "8 bits"
               : kind == 1 ? "16 bits"
                           : "16 bits, large");
        for (unsigned d = 0; d < 3; d++)
            for (unsigned mode = 0; mode < WCODEC_TRANSFORMS; mode++) {
                struct wcodec_lossy l = {
                    .columns = COLUMNS, .mode_count = 1, .modes = {(uint8_t)mode}};
                double taken[ROUNDS];
                if (wcodec_lossy_derive(&l,
                                        (uint64_t)ROWS * COLUMNS * wcodec_dtype_bits(dtypes[d]) / 8,
                                        dtypes[d], kind != 0, NULL))
                    fail("no view");
                for (unsigned r = 0; r < ROUNDS; r++) {
                    const double start = now();
                    for (unsigned i = 0; i < TIMES; i++)
                        wcodec_cpu_restore_lossy(&dsp, &l, scale, 0,
                                                 l.plain ? l.elements : l.superblocks, coefficients,
                                                 0, l.size, out, false);
                    taken[r] = now() - start;
                }
                printf(" %.2f |", 1e-9 * (double)l.size * TIMES / median(taken, ROUNDS));
            }
        printf("\n");
    }
}

int main(int argc, char **argv)
{
    double bits[16] = {2.5, 4.5, 6.5};
    int count = 3;
    struct sink f = {.data = take_pages(2 * bytes), .capacity = 2 * bytes};
    uint8_t *data = take_pages(bytes), *out = take_pages(bytes);
    if (argc > 1)
        for (count = 0; count < argc - 1 && count < 16; count++)
            bits[count] = strtod(argv[count + 1], NULL);
    printf(
        "| level, coefficients | bf16 none | DCT | ADST | f16 none | DCT | ADST | f32 none | DCT | ADST |\n");
    for (unsigned level = 0; wcodec_cpu_level_name(level); level++)
        run_level(level);
    make_field(0, data);
    run_tensor("independent", data, bits, count, &f, out);
    make_field(0.95, data);
    run_tensor("field of rho 0.95", data, bits, count, &f, out);
    free(f.data);
    free(out);
    free(data);
    return 0;
}
