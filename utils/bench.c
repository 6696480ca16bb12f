/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* wcodec bench: rates and ratios for each dtype, beside memcpy, zstd and lz4, in one process and
 * run. */
#include "utils/bench.h"
#include "utils/json.h"
#include "utils/signals.h"
#include "utils/table.h"
#include "utils/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct bench {
    struct app *app;
    const char *name; /* the file */
    double bound;     /* of the class at work, in bits */
    struct table table;
    struct json_list list;
};

/* wcodec at work: a container in memory, and what is decoded from it. */
struct coder {
    struct app *app;
    wcodec_context *context;
    const struct bench_class *class;
    wcodec_encode_options encode;
    struct bench_bytes coded;
    const wcodec_reader *reader;
    uint8_t *decoded;
    uint64_t decoded_size;
    bool skip_checks;
};

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

bool bench_time(struct app *app, bool (*work)(void *opaque), void *opaque, double *seconds,
                unsigned *runs)
{
    unsigned wanted = app->options.iterations, n = 0;
    double *times = app_alloc(app, "bench", wanted * sizeof *times);
    double begin = clock_seconds();
    bool warm = false, good = times != NULL;
    while (good && n < wanted) {
        double start = clock_seconds();
        good = work(opaque) && !signals_pending();
        double now = clock_seconds();
        /* The first run brings memory and caches into shape; it counts only where runs are so long
         * that this is lost in them, and then one is enough. */
        if (!warm && now - start < 1) {
            warm = true;
            continue;
        }
        warm = true;
        times[n++] = now - start;
        if (now - start >= 1 || now - begin > 10)
            break;
    }
    if (good) {
        qsort(times, n, sizeof *times, compare_doubles);
        *seconds = n % 2 ? times[n / 2] : (times[n / 2 - 1] + times[n / 2]) / 2;
        *runs = n;
    }
    free(times);
    return good;
}

static json_t *result_json(const struct bench *bench, const struct bench_class *class,
                           const struct bench_result *r, double rate)
{
    return json_pack(
        "{s:s, s:s, s:s, s:i, s:i, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:b, s:i, s:o, s:o, s:o}",
        "coder", r->coder, "backend", r->backend, "operation", r->operation, "level", r->level,
        "threads", (int)r->threads, "name", json_text(bench->name), "dtype",
        json_text(class->dtype_name), "elements", json_size(class->elements), "bytes",
        json_size(r->bytes ? r->bytes : class->size), "coded_bytes",
        r->coded ? json_size(r->coded) : json_null(), "seconds", json_real(r->seconds), "gb_per_s",
        json_decimal(rate, 6), "verification", r->verification, "iterations", (int)r->runs,
        "order0_bits", json_decimal(bench->bound, 0), "copy_gb_per_s",
        r->copy_rate > 0 ? json_decimal(r->copy_rate, 6) : json_null(), "of_copy",
        r->of_copy > 0 ? json_decimal(r->of_copy, 6) : json_null());
}

static void print_result(const struct bench *bench, const struct bench_class *class,
                         const struct bench_result *r, double rate)
{
    char threads[TABLE_CELL], ratio[TABLE_CELL] = "-", bits[TABLE_CELL] = "-", bound[TABLE_CELL],
                              gb[TABLE_CELL], copy[TABLE_CELL] = "-";
    double elements = (double)class->elements;
    snprintf(threads, sizeof threads, "%u", r->threads);
    if (r->coded) {
        snprintf(ratio, sizeof ratio, "%.4f", (double)r->coded / (double)class->size);
        snprintf(bits, sizeof bits, "%.4f", (double)r->coded * 8 / elements);
    }
    snprintf(bound, sizeof bound, "%.4f", bench->bound / elements);
    snprintf(gb, sizeof gb, "%.3f", rate);
    if (r->of_copy > 0)
        snprintf(copy, sizeof copy, "%.1f %%", 100 * r->of_copy);
    char *dtype = text_escape(class->dtype_name);
    const char *cells[] = {dtype ? dtype : "?",
                           r->coder,
                           r->backend,
                           r->operation,
                           threads,
                           ratio,
                           bits,
                           bound,
                           gb,
                           copy};
    table_print(&bench->table, cells);
    fflush(stdout);
    free(dtype);
}

void bench_report(struct bench *bench, const struct bench_class *class,
                  const struct bench_result *result)
{
    double rate = result->seconds > 0 ? (double)(result->bytes ? result->bytes : class->size) /
                                            result->seconds / 1e9
                                      : 0;
    if (bench->app->options.json)
        json_list_item(bench->app, &bench->list, result_json(bench, class, result, rate));
    else
        print_result(bench, class, result, rate);
}

int bench_keep(void *opaque, const void *data, size_t size)
{
    struct bench_bytes *b = opaque;
    if (size > b->capacity - b->size) {
        size_t capacity = (b->size + size) * 2;
        uint8_t *more = realloc(b->data, capacity);
        if (!more)
            return ENOMEM;
        b->data = more;
        b->capacity = capacity;
    }
    memcpy(b->data + b->size, data, size);
    b->size += size;
    return 0;
}

static bool fail(struct coder *c, const wcodec_error *err)
{
    return app_fail_status(c->app, c->class->dtype_name, err);
}

static bool run_encode(void *opaque)
{
    struct coder *c = opaque;
    const struct bench_class *class = c->class;
    wcodec_writer *writer;
    wcodec_error err = {0};
    c->coded.size = 0;
    if (class->opaque)
        return wcodec_compress_memory(c->context, class->data, (size_t) class->size, bench_keep,
                                      &c->coded, &c->encode, NULL, &err) == WCODEC_OK ||
               fail(c, &err);
    if (wcodec_writer_create(c->context, bench_keep, &c->coded, &c->encode, &writer, &err) !=
        WCODEC_OK)
        return fail(c, &err);
    wcodec_status status = WCODEC_OK;
    wcodec_dtype dtype = class->dtype == WCODEC_DTYPE_OTHER ? WCODEC_DTYPE_U8 : class->dtype;
    for (size_t i = 0; i < class->count && status == WCODEC_OK; i++)
        status = wcodec_writer_declare(writer, class->tensors[i].name, dtype,
                                       class->tensors[i].shape, class->tensors[i].rank, &err);
    for (size_t i = 0; i < class->count && status == WCODEC_OK; i++)
        status = wcodec_writer_data(writer, class->data + class->tensors[i].offset,
                                    (size_t) class->tensors[i].size, &err);
    if (status == WCODEC_OK)
        status = wcodec_writer_finish(writer, NULL, &err);
    wcodec_writer_destroy(writer);
    return status == WCODEC_OK || fail(c, &err);
}

static int keep_decoded(void *opaque, const void *data, size_t size)
{
    struct coder *c = opaque;
    if (size > c->class->size - c->decoded_size)
        return EFBIG;
    memcpy(c->decoded + c->decoded_size, data, size);
    c->decoded_size += size;
    return 0;
}

static bool run_decode(void *opaque)
{
    struct coder *c = opaque;
    const struct bench_class *class = c->class;
    wcodec_decode_options decode = app_decode_options(c->app);
    wcodec_error err = {0};
    decode.skip_checks = c->skip_checks;
    c->decoded_size = 0;
    if (class->opaque)
        return wcodec_reader_restore(c->reader, 0, keep_decoded, c, &decode, &err) == WCODEC_OK ||
               fail(c, &err);
    for (size_t i = 0; i < class->count; i++) {
        if (wcodec_reader_decode(c->reader, i, c->decoded + class->tensors[i].offset,
                                 (size_t) class->tensors[i].size, &decode, &err) != WCODEC_OK)
            return fail(c, &err);
    }
    return true;
}

static bool time_decode(struct coder *c, struct bench *bench, struct bench_result *r)
{
    wcodec_reader *reader;
    wcodec_error err = {0};
    if (wcodec_reader_open_memory(c->context, c->coded.data, c->coded.size, &reader, &err) !=
        WCODEC_OK)
        return fail(c, &err);
    c->reader = reader;
    bool good = true;
    for (int skip = 0; skip <= 1 && good; skip++) {
        c->skip_checks = skip;
        r->operation = skip ? "decode-nocheck" : "decode";
        r->verification = !skip;
        memset(c->decoded, 0, (size_t)c->class->size);
        good = bench_time(c->app, run_decode, c, &r->seconds, &r->runs);
        if (good && memcmp(c->decoded, c->class->data, (size_t)c->class->size) != 0)
            good = app_fail(c->app, EXIT_CORRUPT, "%s: what is decoded is not what was encoded",
                            c->class->dtype_name);
        if (good)
            bench_report(bench, c->class, r);
    }
    wcodec_reader_close(reader);
    return good;
}

static bool time_encode(struct coder *c, struct bench *bench, struct bench_result *r)
{
    bool good = true;
    for (int verify = 0; verify <= 1 && good; verify++) {
        c->encode.no_verify = !verify;
        r->operation = verify ? "encode-verify" : "encode";
        r->verification = verify;
        good = bench_time(c->app, run_encode, c, &r->seconds, &r->runs);
        r->coded = c->coded.size;
        if (good)
            bench_report(bench, c->class, r);
    }
    return good;
}

/* Encode and decode with `threads` threads of a backend; encoding is the CPU's. */
static bool time_wcodec(struct app *app, struct bench *bench, struct coder *c, unsigned threads,
                        const char *backend, bool encode)
{
    if (!(c->context = app_make_context(app, threads, backend)))
        return false;
    struct bench_result r = {.coder = "wcodec",
                             .backend = backend,
                             .level = app->options.level,
                             .threads = wcodec_context_threads(c->context),
                             .coded = c->coded.size};
    bool good = (!encode || time_encode(c, bench, &r)) && time_decode(c, bench, &r);
    wcodec_context_destroy(c->context);
    return good;
}

static bool time_device(struct app *app, struct bench *bench, struct coder *c, const char *backend)
{
    struct bench_device on = {.backend = backend, .coded = c->coded.size};
    wcodec_reader *reader;
    wcodec_error err = {0};
    if (!(on.context = app_make_context(app, app->options.threads, backend)))
        return false;
    bool good = wcodec_reader_open_memory(on.context, c->coded.data, c->coded.size, &reader,
                                          &err) == WCODEC_OK ||
                fail(c, &err);
    if (good) {
        on.reader = reader;
        good = bench_device(app, bench, c->class, &on);
        wcodec_reader_close(reader);
    }
    wcodec_context_destroy(on.context);
    return good;
}

/* Each usable backend once (--backend=all), or the one that was chosen; the CPU's decoding was
 * timed before, and the rest of it only if it was asked for. */
static bool time_backends(struct app *app, struct bench *bench, struct coder *c)
{
    const wcodec_device_info *devices;
    size_t count;
    wcodec_error err = {0};
    bool all = app_all_backends(app), good = true;
    if (wcodec_context_devices(app->context, &devices, &count, &err) != WCODEC_OK)
        return app_fail_status(app, NULL, &err);
    const char *last = "";
    for (size_t i = 0; i < count && good; i++) {
        bool cpu = strcmp(devices[i].backend, "cpu") == 0;
        if (!devices[i].available || strcmp(devices[i].backend, last) == 0 ||
            !(all || devices[i].chosen) || (cpu && !app->options.backend))
            continue;
        last = devices[i].backend;
        good = (cpu || time_wcodec(app, bench, c, app->options.threads, last, false)) &&
               time_device(app, bench, c, last);
    }
    return good;
}

static bool bench_class(struct app *app, struct bench *bench, const struct bench_class *class)
{
    const struct options *o = &app->options;
    struct coder c = {.app = app, .class = class};
    wcodec_encode_options_init(&c.encode);
    c.encode.level = o->level;
    c.encode.tune = o->tune;
    c.encode.tile_log2 = o->tile_log2;
    c.encode.profile = o->profile;
    c.encode.predict = o->predict;
    c.encode.raw = class->opaque;
    c.encode.progress = progress_callback(&app->progress);
    c.decoded = app_alloc(app, bench->name, class->size);
    bench->bound = bench_bound(class);
    unsigned threads = wcodec_context_threads(app->context);
    bool good = c.decoded && time_wcodec(app, bench, &c, 1, "cpu", true) &&
                (threads <= 1 || time_wcodec(app, bench, &c, threads, "cpu", true)) &&
                time_backends(app, bench, &c);
    free(c.coded.data);
    free(c.decoded);
    return good && bench_peers(app, bench, class);
}

static void bench_file(struct app *app, struct bench *bench, const char *path)
{
    struct bench_data data;
    if (!bench_load(app, path, &data))
        return;
    bench->name = path;
    char *name = text_escape(path);
    if (!app->options.json) {
        printf("%s\n", name ? name : "?");
        table_print_heads(&bench->table);
    }
    free(name);
    for (size_t i = 0; i < data.count && !signals_pending(); i++) {
        if (data.classes[i].size && !bench_class(app, bench, &data.classes[i]))
            break;
    }
    bench_unload(&data);
}

void command_bench(struct app *app)
{
    static const char *const heads[] = {"DTYPE",   "CODER",   "BACKEND", "OPERATION",
                                        "THREADS", "RATIO",   "BITS",    "BOUND",
                                        "GB/S",    "OF COPY", NULL};
    static const char *const widest[] = {"F8_E4M3FNUZ", "zstd-19", "opencl",  "decode-nocheck",
                                         "1024",        "0.1234",  "64.1234", "64.1234",
                                         "1234.123",    "100.0 %"};
    const struct options *o = &app->options;
    struct bench bench = {.app = app};
    if (o->recurrent) {
        bench_recurrent(app);
        return;
    }
    if (o->files.count == 0) {
        app_fail(app, EXIT_USAGE, "bench what? Give .wcodec, safetensors or other files");
        return;
    }
    /* Rows come as they are measured, so their widths are fixed. */
    table_init(&bench.table, app, heads, "llllrrrrrr");
    table_measure(&bench.table, widest);
    if (o->json)
        json_list_begin(&bench.list, "results");
    for (size_t i = 0; i < o->files.count && !signals_pending(); i++)
        bench_file(app, &bench, o->files.items[i]);
    if (o->json)
        json_list_end(&bench.list);
}
