/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* A bf16 matrix of 4096 x 4096 Gaussian elements at a fixed rate by one thread, at every level that
 * the machine has, beside memcpy and zstd -1 in the same run, and beside rANS (--tune=size): GB/s
 * of elements, decoded from file bytes in memory with and without checks, and compressed with and
 * without verification. Medians of the thread's own time. */
#include "coding/lossy.h"
#define PROGRAM "cpu-fixed"
#include "bench/baseline.h"
#include "bench/level.h"
#include "bench/random.h"

enum { SIDE = 4096, ROUNDS = 7 };

static const size_t bytes = (size_t)SIDE * SIDE * 2;

/* GB/s of compressing. */
static double encode(unsigned level, const uint8_t *data, wcodec_tune tune, int no_verify,
                     struct sink *f)
{
    const uint64_t shape[] = {SIDE, SIDE};
    wcodec_context *context = open_context_of(level);
    double taken[ROUNDS];
    for (unsigned r = 0; r < ROUNDS; r++) {
        wcodec_encode_options options;
        wcodec_writer *writer;
        wcodec_error err;
        wcodec_encode_options_init(&options);
        options.tune = tune;
        options.no_verify = no_verify;
        f->size = 0;
        const double start = now();
        check(wcodec_writer_create(context, append, f, &options, &writer, &err), &err);
        check(wcodec_writer_declare(writer, "t", WCODEC_DTYPE_BF16, shape, 2, &err), &err);
        check(wcodec_writer_data(writer, data, bytes, &err), &err);
        check(wcodec_writer_finish(writer, NULL, &err), &err);
        taken[r] = now() - start;
        wcodec_writer_destroy(writer);
    }
    wcodec_context_destroy(context);
    return 1e-9 * (double)bytes / median(taken, ROUNDS);
}

/* GB/s of decoding the file's tensor; `info` is filled in. */
static double decode(unsigned level, const struct sink *f, int skip_checks, uint8_t *out,
                     wcodec_tensor_info *info)
{
    wcodec_context *context = open_context_of(level);
    wcodec_decode_options options;
    wcodec_reader *reader;
    wcodec_error err;
    double taken[ROUNDS];
    wcodec_decode_options_init(&options);
    options.skip_checks = skip_checks;
    check(wcodec_reader_open_memory(context, f->data, f->size, &reader, &err), &err);
    check(wcodec_reader_tensor(reader, 0, info, &err), &err);
    for (unsigned r = 0; r < ROUNDS; r++) {
        const double start = now();
        check(wcodec_reader_decode(reader, 0, out, bytes, &options, &err), &err);
        taken[r] = now() - start;
    }
    wcodec_reader_close(reader);
    wcodec_context_destroy(context);
    return 1e-9 * (double)bytes / median(taken, ROUNDS);
}

int main(void)
{
    struct sink f = {.data = take_pages(2 * bytes), .capacity = 2 * bytes};
    uint8_t *data = take_pages(bytes), *out = take_pages(bytes);
    for (size_t i = 0; i < bytes / 2; i++)
        wcodec_store_u16(data + 2 * i, wcodec_bf16_from_f32((float)(0.02 * gaussian())));
    const struct baseline base = measure_baseline(data, bytes, out);
    printf("memcpy %.2f GB/s, zstd -1 %.2f\n", 1e-9 * (double)bytes / base.copy,
           1e-9 * (double)bytes / base.zstd);
    printf(
        "| level | coding | bits | decode | without checks | compress | without verification |\n");
    for (unsigned level = 0; wcodec_cpu_level_name(level); level++) {
        if (!(wcodec_cpu_levels() >> level & 1))
            continue;
        for (unsigned tune = WCODEC_TUNE_SIZE; tune <= WCODEC_TUNE_COMPUTE_FIXED; tune += 2) {
            wcodec_tensor_info info;
            const double quick = encode(level, data, (wcodec_tune)tune, 1, &f),
                         verified = encode(level, data, (wcodec_tune)tune, 0, &f),
                         checked = decode(level, &f, 0, out, &info),
                         unchecked = decode(level, &f, 1, out, &info);
            if (memcmp(out, data, bytes) != 0)
                fail("other bytes come back");
            printf("| %s | %s | %.3f | %.2f | %.2f | %.2f | %.2f |\n", wcodec_cpu_level_name(level),
                   info.coding_name, (double)info.coded_size * 8 / SIDE / SIDE, checked, unchecked,
                   verified, quick);
        }
    }
    free(f.data);
    free(out);
    free(data);
    return 0;
}
