/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "utils/bench.h"
#include "utils/signals.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>
#ifdef HAVE_LZ4
#include <lz4.h>
#endif

struct peer {
    struct app *app;
    const struct bench_class *class;
    uint8_t *coded;
    size_t capacity;
    size_t coded_size;
    uint8_t *decoded;
    int level;
    ZSTD_CCtx *compressor;
    ZSTD_DCtx *decompressor;
};

static bool run_memcpy(void *opaque)
{
    struct peer *p = opaque;
    memcpy(p->decoded, p->class->data, (size_t)p->class->size);
    return true;
}

static bool run_zstd_encode(void *opaque)
{
    struct peer *p = opaque;
    size_t n = ZSTD_compressCCtx(p->compressor, p->coded, p->capacity, p->class->data,
                                 (size_t)p->class->size, p->level);
    if (ZSTD_isError(n))
        return app_fail(p->app, EXIT_FAILED, "zstd: %s", ZSTD_getErrorName(n));
    p->coded_size = n;
    return true;
}

static bool run_zstd_decode(void *opaque)
{
    struct peer *p = opaque;
    size_t n = ZSTD_decompressDCtx(p->decompressor, p->decoded, (size_t)p->class->size, p->coded,
                                   p->coded_size);
    return n == p->class->size ||
           app_fail(p->app, EXIT_FAILED, "zstd: cannot decode its own output");
}

#ifdef HAVE_LZ4
/* lz4's sizes are ints: large data goes in pieces, each after its coded size. */
enum { LZ4_PIECE = 64 << 20 };

static bool run_lz4_encode(void *opaque)
{
    struct peer *p = opaque;
    size_t at = 0;
    for (uint64_t from = 0; from < p->class->size; from += LZ4_PIECE) {
        int size = p->class->size - from < LZ4_PIECE ? (int)(p->class->size - from) : LZ4_PIECE;
        size_t left = p->capacity - at - sizeof(int);
        int n = LZ4_compress_default((const char *)p->class->data + from,
                                     (char *)p->coded + at + sizeof n, size,
                                     left < INT32_MAX ? (int)left : INT32_MAX);
        if (n <= 0)
            return app_fail(p->app, EXIT_FAILED, "lz4: cannot encode");
        memcpy(p->coded + at, &n, sizeof n);
        at += sizeof n + (size_t)n;
    }
    p->coded_size = at;
    return true;
}

static bool run_lz4_decode(void *opaque)
{
    struct peer *p = opaque;
    size_t at = 0;
    for (uint64_t from = 0; from < p->class->size; from += LZ4_PIECE) {
        int size = p->class->size - from < LZ4_PIECE ? (int)(p->class->size - from) : LZ4_PIECE, n;
        memcpy(&n, p->coded + at, sizeof n);
        if (LZ4_decompress_safe((const char *)p->coded + at + sizeof n, (char *)p->decoded + from,
                                n, size) != size)
            return app_fail(p->app, EXIT_FAILED, "lz4: cannot decode its own output");
        at += sizeof n + (size_t)n;
    }
    return true;
}

static size_t lz4_capacity(uint64_t size)
{
    return (size_t)size + (size_t)size / 200 + (size_t)(size / LZ4_PIECE + 1) * 64;
}
#endif

static bool time_both(struct peer *p, struct bench *bench, const char *name, bool (*encode)(void *),
                      bool (*decode)(void *))
{
    struct bench_result r = {
        .coder = name, .backend = "cpu", .operation = "encode", .level = p->level, .threads = 1};
    if (!bench_time(p->app, encode, p, &r.seconds, &r.runs))
        return false;
    r.coded = p->coded_size;
    bench_report(bench, p->class, &r);
    memset(p->decoded, 0, (size_t)p->class->size);
    r.operation = "decode";
    if (!bench_time(p->app, decode, p, &r.seconds, &r.runs))
        return false;
    if (memcmp(p->decoded, p->class->data, (size_t)p->class->size) != 0)
        return app_fail(p->app, EXIT_CORRUPT, "%s: what it decodes is not what it encoded", name);
    bench_report(bench, p->class, &r);
    return true;
}

bool bench_peers(struct app *app, struct bench *bench, const struct bench_class *class)
{
    static const struct {
        const char *name;
        int level;
    } levels[] = {{"zstd-1", 1}, {"zstd-3", 3}, {"zstd-19", 19}};
    struct peer p = {.app = app,
                     .class = class,
                     .compressor = ZSTD_createCCtx(),
                     .decompressor = ZSTD_createDCtx()};
    struct bench_result copy = {
        .coder = "memcpy", .backend = "cpu", .operation = "copy", .threads = 1};
    bool good = false;
    p.capacity = ZSTD_compressBound((size_t) class->size);
#ifdef HAVE_LZ4
    if (p.capacity < lz4_capacity(class->size))
        p.capacity = lz4_capacity(class->size);
#endif
    p.decoded = app_alloc(app, class->dtype_name, class->size);
    p.coded = app_alloc(app, class->dtype_name, p.capacity);
    if (!p.compressor || !p.decompressor)
        app_fail(app, EXIT_FAILED, "zstd: out of memory");
    else if (p.decoded && p.coded && bench_time(app, run_memcpy, &p, &copy.seconds, &copy.runs)) {
        bench_report(bench, class, &copy);
        good = true;
    }
    for (size_t i = 0; i < sizeof levels / sizeof levels[0] && good; i++) {
        p.level = levels[i].level;
        good = time_both(&p, bench, levels[i].name, run_zstd_encode, run_zstd_decode);
    }
#ifdef HAVE_LZ4
    p.level = 1;
    good = good && time_both(&p, bench, "lz4", run_lz4_encode, run_lz4_decode);
#endif
    free(p.coded);
    free(p.decoded);
    ZSTD_freeDCtx(p.decompressor);
    ZSTD_freeCCtx(p.compressor);
    return good;
}
