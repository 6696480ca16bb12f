/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The encoder, one thread, every CPU level that the machine has, verification off (on after the
 * word verify), beside zstd -1 in the same run, from memory to memory: cpu-encode [-LEVEL |
 * CPU-LEVEL | verify | FILE.wcodec]... (the tensors of the dtype with the most bytes are coded
 * anew; levels 1 and 3 and all CPU levels unless some are named first). Medians of the thread's own
 * time, so that other processes weigh less; the coded bytes are compared between the levels. */
#include "backends/cpu/cpu_level.h"
#define PROGRAM "cpu-encode"
#include "bench/program.h"
#include "bench/timing.h"
#include "core/context.h"
#include "encode/encode.h"

#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <xxhash.h>
#include <zstd.h>

enum { ROUNDS = 5 };

static unsigned levels = 1 << 1 | 1 << 3, cpus;
static bool verify;

struct set {
    uint8_t *data;
    size_t size, largest;
    wcodec_tensor_info *tensors;
    size_t count;
    uint8_t *packed;
    size_t packed_capacity;
};

static void load(wcodec_context *context, const char *path, struct set *set)
{
    wcodec_reader *reader;
    wcodec_error err;
    uint64_t sizes[256] = {0};
    unsigned best = 0;
    check(wcodec_reader_open_path(context, path, &reader, &err), &err);
    const uint64_t count = wcodec_reader_tensor_count(reader);
    set->tensors = malloc(count * sizeof *set->tensors);
    if (!set->tensors)
        fail("out of memory");
    for (uint64_t i = 0; i < count; i++) {
        wcodec_tensor_info info;
        check(wcodec_reader_tensor(reader, i, &info, &err), &err);
        sizes[info.dtype] += info.size;
    }
    for (unsigned d = 1; d < 256; d++)
        best = sizes[d] > sizes[best] ? d : best;
    set->data = malloc(sizes[best] + 1);
    set->packed_capacity = ZSTD_compressBound(sizes[best]);
    set->packed = malloc(set->packed_capacity);
    if (!set->data || !set->packed)
        fail("out of memory");
    for (uint64_t i = 0; i < count; i++) {
        wcodec_tensor_info *info = &set->tensors[set->count];
        check(wcodec_reader_tensor(reader, i, info, &err), &err);
        if ((unsigned)info->dtype != best || info->size == 0)
            continue;
        check(
            wcodec_reader_decode(reader, i, set->data + set->size, (size_t)info->size, NULL, &err),
            &err);
        set->size += (size_t)info->size;
        set->count++;
    }
    memset(set->packed, 1, set->packed_capacity);
    wcodec_reader_close(reader);
}

static double time_zstd(const struct set *set)
{
    double taken[ROUNDS];
    for (unsigned round = 0; round < ROUNDS; round++) {
        const double start = now();
        for (size_t i = 0, at = 0; i < set->count; at += (size_t)set->tensors[i++].size)
            if (ZSTD_isError(ZSTD_compress(set->packed, set->packed_capacity, set->data + at,
                                           (size_t)set->tensors[i].size, 1)))
                fail("zstd failed");
        taken[round] = now() - start;
    }
    return median(taken, ROUNDS);
}

static double time_encode(wcodec_context *context, const struct set *set, int level,
                          uint64_t *coded_size, uint64_t *hash)
{
    const struct wcodec_encode_settings settings = {
        .level = level, .weights = true, .verify = verify};
    double taken[ROUNDS];
    for (unsigned round = 0; round < ROUNDS; round++) {
        double sum = 0;
        *coded_size = *hash = 0;
        for (size_t i = 0, at = 0; i < set->count; at += (size_t)set->tensors[i++].size) {
            struct wcodec_coded coded;
            wcodec_error err;
            const double start = now();
            check(wcodec_encode_tensor(context, &settings, set->tensors[i].dtype, set->data + at,
                                       set->tensors[i].size, &coded, &err),
                  &err);
            sum += now() - start;
            for (unsigned p = 0; p < coded.part_count; p++)
                *hash = *hash * 31 + XXH3_64bits(coded.parts[p].data, (size_t)coded.parts[p].size);
            *coded_size += coded.payload_size;
            const double again = now();
            wcodec_coded_free(&coded);
            sum += now() - again;
        }
        taken[round] = sum;
    }
    return median(taken, ROUNDS);
}

static void run(wcodec_context *context, const char *path)
{
    struct set set = {0};
    load(context, path, &set);
    const double zstd = time_zstd(&set), rate = 1e-9 * (double)set.size;
    printf("%s: %s, %zu tensors of %zu bytes; zstd -1 %.2f GB/s\n", path,
           wcodec_dtype_name(set.tensors[0].dtype), set.count, set.size, rate / zstd);
    for (int level = 1; level <= 9; level++) {
        if (!(levels >> level & 1))
            continue;
        uint64_t hash, coded, first = 0;
        for (unsigned cpu = 0; wcodec_cpu_level_name(cpu); cpu++) {
            if (!(wcodec_cpu_levels() >> cpu & 1) || (cpus && !(cpus >> cpu & 1)))
                continue;
            context->cpu_mask = (2u << cpu) - 1;
            const double taken = time_encode(context, &set, level, &coded, &hash);
            printf("  -%d %-7s %6.3f GB/s %5.2f x zstd -1  (%.4f of the size)\n", level,
                   wcodec_cpu_level_name(cpu), rate / taken, zstd / taken,
                   (double)coded / (double)set.size);
            if (first && hash != first)
                fail("CPU levels differ");
            first = hash;
        }
    }
    free(set.packed);
    free(set.tensors);
    free(set.data);
}

int main(int argc, char **argv)
{
#ifdef __GLIBC__
    /* What is freed is kept: the output lies in memory that was used before, as zstd's does. */
    mallopt(M_MMAP_THRESHOLD, 1 << 30);
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
#endif
    if (argc < 2)
        fail("encode what? Give .wcodec files");
    wcodec_context *context = open_context(1);
    for (int i = 1; i < argc; i++) {
        unsigned cpu = 0;
        while (wcodec_cpu_level_name(cpu) && strcmp(argv[i], wcodec_cpu_level_name(cpu)))
            cpu++;
        if (wcodec_cpu_level_name(cpu))
            cpus |= 1u << cpu;
        else if (strcmp(argv[i], "verify") == 0)
            verify = true;
        else if (argv[i][0] == '-' && argv[i][1] >= '1' && argv[i][1] <= '9')
            levels = 1u << (argv[i][1] - '0') | (i == 1 ? 0 : levels);
        else
            run(context, argv[i]);
    }
    wcodec_context_destroy(context);
    return 0;
}
