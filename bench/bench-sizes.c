/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Sizes against their bounds: bench-sizes [-l LEVEL] [-v] FILE...
 * Each file is compressed in memory. For each dtype of a safetensors file: bits an element beside
 * the order-0 bound (counted by order0.c) and zstd -3; for the file, all overheads counted, how
 * much it lies above the sum of its tensors' bounds. Limits that must hold for every file are
 * checked: never larger than the input + 0.1 % + 4 KiB, and no tensor above 64 KiB more than 1 %
 * larger than zstd -3 makes it. -v: a line a tensor. Exit status 1 if a limit does not hold. */
#include "bench/order0.h"
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wcodec/writer.h>
#include <zstd.h>

struct class
{
    const char *dtype;
    uint64_t tensors, elements, bytes, coded, zstd;
    double bound;
};

struct totals {
    struct class classes[64];
    size_t count;
    double bound;
    uint64_t coded, elements;
    bool failed;
};

struct growing {
    uint8_t *data;
    size_t size, capacity;
};

static _Noreturn void fail(const char *what, const char *why)
{
    fprintf(stderr, "bench-sizes: %s: %s\n", what, why);
    exit(2);
}

static void *need(void *memory)
{
    if (!memory)
        fail("memory", "none left");
    return memory;
}

static int append(void *opaque, const void *data, size_t size)
{
    struct growing *g = opaque;
    if (size > g->capacity - g->size) {
        g->capacity = 2 * g->capacity + size;
        g->data = need(realloc(g->data, g->capacity));
    }
    if (size)
        memcpy(g->data + g->size, data, size);
    g->size += size;
    return 0;
}

static uint8_t *read_file(const char *path, size_t *size)
{
    FILE *f = fopen(path, "rb");
    if (!f || fseek(f, 0, SEEK_END) != 0)
        fail(path, strerror(errno));
    *size = (size_t)ftell(f);
    rewind(f);
    uint8_t *data = need(malloc(*size + 1));
    if (fread(data, 1, *size, f) != *size)
        fail(path, "short read");
    fclose(f);
    return data;
}

static uint64_t zstd_size(const void *data, size_t size)
{
    const size_t bound = ZSTD_compressBound(size);
    void *out = need(malloc(bound));
    const size_t n = ZSTD_compress(out, bound, data, size, 3);
    free(out);
    if (ZSTD_isError(n))
        fail("zstd", ZSTD_getErrorName(n));
    return n < size ? n : size;
}

static struct class *class_of(struct totals *t, const char *dtype)
{
    for (size_t i = 0; i < t->count; i++)
        if (strcmp(t->classes[i].dtype, dtype) == 0)
            return &t->classes[i];
    struct class *c = &t->classes[t->count < 63 ? t->count++ : 63];
    c->dtype = dtype;
    return c;
}

static double percent_above(double a, double b)
{
    return b > 0 ? 100 * (a / b - 1) : 0;
}

static void count_tensor(struct totals *t, const wcodec_tensor_info *info, const uint8_t *data,
                         bool verbose)
{
    const unsigned bits = wcodec_dtype_bits(info->dtype) ? wcodec_dtype_bits(info->dtype) : 8;
    const uint64_t elements = info->size * 8 / bits, zstd = zstd_size(data, (size_t)info->size);
    const double bound = order0_bits(info->dtype_name, data, (size_t)info->size);
    struct class *c = class_of(t, info->dtype_name);
    c->tensors++;
    c->elements += elements;
    c->bytes += info->size;
    c->coded += info->coded_size;
    c->zstd += zstd;
    c->bound += bound;
    if (verbose)
        printf("    %-40s %-8s %10" PRIu64 " -> %10" PRIu64
               "  %7.3f bits, bound %7.3f (%+.2f %%), zstd -3 %7.3f  %s %s\n",
               info->name, info->dtype_name, info->size, info->coded_size,
               (double)info->coded_size * 8 / (double)(elements ? elements : 1),
               bound / (double)(elements ? elements : 1),
               percent_above((double)info->coded_size * 8, bound),
               (double)zstd * 8 / (double)(elements ? elements : 1), info->coding_name,
               info->split);
    if (info->size > 65536 && (double)info->coded_size > 1.01 * (double)zstd &&
        info->coding != WCODEC_CODING_ALIAS) {
        printf("    tensor %s: %.2f %% larger than zstd -3\n", info->name,
               percent_above((double)info->coded_size, (double)zstd));
        t->failed = true;
    }
}

static void print_classes(const struct totals *t)
{
    printf(
        "    dtype     tensors      elements         bytes         coded   ratio  bits/elem     bound   above  zstd -3\n");
    for (size_t i = 0; i < t->count; i++) {
        const struct class *c = &t->classes[i];
        const double n = (double)(c->elements ? c->elements : 1);
        printf("    %-8s %8" PRIu64 " %13" PRIu64 " %13" PRIu64 " %13" PRIu64
               "  %6.3f  %9.4f %9.4f  %+5.2f%%  %7.4f\n",
               c->dtype, c->tensors, c->elements, c->bytes, c->coded,
               (double)c->bytes / (double)(c->coded ? c->coded : 1), (double)c->coded * 8 / n,
               c->bound / n, percent_above((double)c->coded * 8, c->bound),
               (double)c->zstd * 8 / n);
    }
}

static bool measure(wcodec_context *context, const char *path, int level, bool verbose)
{
    size_t size;
    uint8_t *data = read_file(path, &size);
    struct growing coded = {NULL, 0, 0};
    wcodec_encode_options options;
    wcodec_encode_report report;
    wcodec_error err;
    wcodec_encode_options_init(&options);
    options.level = level;
    if (wcodec_compress_memory(context, data, size, append, &coded, &options, &report, &err) !=
        WCODEC_OK)
        fail(path, err.text);
    wcodec_reader *reader;
    if (wcodec_reader_open_memory(context, coded.data, coded.size, &reader, &err) != WCODEC_OK)
        fail(path, err.text);
    struct totals t = {.failed = false};
    printf("%s\n", path);
    for (uint64_t i = 0; i < wcodec_reader_tensor_count(reader); i++) {
        wcodec_tensor_info info;
        if (wcodec_reader_tensor(reader, i, &info, &err) != WCODEC_OK)
            fail(path, err.text);
        count_tensor(&t, &info, data + info.file_offset, verbose);
    }
    print_classes(&t);
    double bound = 0;
    for (size_t i = 0; i < t.count; i++)
        bound += t.classes[i].bound;
    printf("    file %zu -> %zu, ratio %.4f", size, coded.size,
           (double)size / (double)(coded.size ? coded.size : 1));
    if (bound > 0)
        printf(", whole file %+.3f %% above the sum of bounds",
               percent_above((double)coded.size * 8, bound));
    printf("\n");
    if ((double)coded.size > (double)size * 1.001 + 4096) {
        printf("    larger than the input + 0.1 %% + 4 KiB\n");
        t.failed = true;
    }
    wcodec_reader_close(reader);
    free(coded.data);
    free(data);
    return !t.failed;
}

int main(int argc, char **argv)
{
    int level = 3;
    bool verbose = false, right = true;
    for (int option; (option = getopt(argc, argv, "l:v")) != -1;) {
        if (option == 'l')
            level = atoi(optarg);
        else if (option == 'v')
            verbose = true;
        else
            return 2;
    }
    if (optind == argc) {
        fprintf(stderr, "usage: bench-sizes [-l LEVEL] [-v] FILE...\n");
        return 2;
    }
    wcodec_context *context;
    wcodec_error err;
    if (wcodec_context_create(NULL, &context, &err) != WCODEC_OK)
        fail("context", err.text);
    for (int i = optind; i < argc; i++)
        right = measure(context, argv[i], level, verbose) && right;
    wcodec_context_destroy(context);
    return right ? 0 : 1;
}
