/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Tensors in device memory that are coded in tiles there (backends/kernels/encode_tiles.h), by
 * plugins that are timed in turns, beside a copy of the same bytes:
 *
 *   gpu-encode wcodec_cuda.so wcodec_opencl.so... [-r REPEATS] [-n LOG2] [-p PROFILE] [-l LEVEL]
 * [TYPE...]
 *
 * Normal numbers, 2^24 of them again and again; the plan is the encoder's for these. What comes of
 * the first 2^24 and of the last is compared with what the CPU makes of them, and the totals of
 * all. What the encoder decides by is counted too, of the same tensor, and compared likewise. Rates
 * are of original bytes. */
#include "backends/backend.h"
#include "bench/floats.h"
#include "bench/random.h"
#include "bench/timing.h"
#include "core/dtype.h"
#include "encode/assemble.h"
#include "encode/tables.h"
#include "registry/host.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

enum { PLUGINS = 6, REPEATS = 64, POOL_LOG2 = 24, ROW = 4096 };

/* What is timed. MEASURE: counts of the fields that the encoder decides by, and which bits vary. */
enum { CODE, COPY, MEASURE, TIMED };

struct plugin {
    const struct wcodec_backend *backend;
    struct wcodec_backend_state *state;
    struct wcodec_device *device;
    struct wcodec_queue *queue;
    const char *name;
    struct wcodec_memory *elements, *work, *payload, *copy;
    struct wcodec_tensor_coding coding;
    struct wcodec_tensor_measure measure;
    double times[TIMED][REPEATS];
};

struct bench {
    wcodec_context *context;
    struct wcodec_host host;
    struct plugin plugins[PLUGINS];
    unsigned plugin_count, repeats, elements_log2, level;
    uint8_t profile;
    double *pool;
    /* The tensor. */
    uint8_t *data; /* of the pool */
    uint64_t data_size;
    struct wcodec_tiling tiling;
    struct wcodec_plan *plan;
};

static const struct {
    const char *name;
    wcodec_dtype dtype;
} types[] = {{"bf16", WCODEC_DTYPE_BF16},
             {"f16", WCODEC_DTYPE_F16},
             {"f32", WCODEC_DTYPE_F32},
             {"int8", WCODEC_DTYPE_I8},
             {"e4m3", WCODEC_DTYPE_F8_E4M3}};

static void check(wcodec_status status, const wcodec_error *err)
{
    if (status == WCODEC_OK)
        return;
    fprintf(stderr, "%s\n", err->text);
    exit(1);
}

static void open_plugin(struct bench *b, const char *path)
{
    struct plugin *p = &b->plugins[b->plugin_count++];
    wcodec_error err;
    const char *slash = strrchr(path, '/');
    char symbol[64] = "wcodec_backend_cuda";
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library != NULL && strstr(slash != NULL ? slash : path, "opencl") != NULL)
        snprintf(symbol, sizeof symbol, "wcodec_backend_opencl");
    p->backend = library != NULL ? dlsym(library, symbol) : NULL;
    p->name = slash != NULL ? slash + 1 : path;
    if (p->backend == NULL || p->backend->abi != WCODEC_BACKEND_ABI ||
        p->backend->encoders == NULL) {
        fprintf(stderr, "%s: %s\n", path, library == NULL ? dlerror() : "it does not encode");
        exit(1);
    }
    check(p->backend->open(&b->host, &p->state, &err), &err);
    check(p->backend->device_open(p->state, 0, &p->device, &err), &err);
    check(p->backend->queue_create_timed(p->device, &p->queue, &err), &err);
}

static void store(uint8_t *data, wcodec_dtype dtype, const double *row, double most)
{
    for (unsigned i = 0; i < ROW; i++)
        switch (dtype) {
        case WCODEC_DTYPE_BF16:
            wcodec_store_u16(data + 2 * i, (uint16_t)bf16_bits(0.02 * row[i]));
            break;
        case WCODEC_DTYPE_F16:
            wcodec_store_u16(data + 2 * i, (uint16_t)small_float(0.02 * row[i], 5, 10));
            break;
        case WCODEC_DTYPE_F32:
            wcodec_store_u32(data + 4 * i, f32_bits(0.02 * row[i]));
            break;
        case WCODEC_DTYPE_I8:
            data[i] = (uint8_t)(int8_t)nearbyint(127 * row[i] / most);
            break;
        default:
            data[i] = (uint8_t)small_float(448 * row[i] / most, 4, 3);
            break;
        }
}

static void make_data(struct bench *b, wcodec_dtype dtype)
{
    const unsigned log2 = wcodec_dtype_element_log2(dtype);
    b->data_size = (uint64_t)1 << (POOL_LOG2 + log2);
    b->data = malloc(b->data_size);
    for (uint64_t first = 0; first < 1u << POOL_LOG2; first += ROW) {
        double most = 0;
        for (unsigned i = 0; i < ROW; i++)
            most = fmax(most, fabs(b->pool[first + i]));
        store(b->data + (first << log2), dtype, b->pool + first, most);
    }
}

static void make_plan(struct bench *b, wcodec_dtype dtype)
{
    const struct wcodec_encode_settings settings = {
        .level = (int)b->level, .weights = true, .profile = b->profile};
    struct wcodec_statistics statistics;
    wcodec_error err;
    check(wcodec_statistics_gather(b->context, dtype, b->data, b->data_size, settings.level,
                                   &statistics, &err),
          &err);
    check(wcodec_plan_tensor(b->context, &settings, dtype, b->data, b->data_size, &statistics,
                             &b->plan, &err),
          &err);
    b->tiling = *b->plan->tiling;
    check(wcodec_tiling_derive(&b->tiling,
                               (uint64_t)1 << (b->elements_log2 + b->tiling.element_log2), &err),
          &err);
}

static struct wcodec_memory *allocate(const struct plugin *p, uint64_t size)
{
    struct wcodec_memory *memory;
    wcodec_error err;
    check(p->backend->memory_allocate(p->device, WCODEC_MEMORY_DEVICE, size, &memory, &err), &err);
    return memory;
}

/* Areas one after the other, each with all the room that it may need; words as many as elements. */
static void make_places(const struct bench *b, struct plugin *p)
{
    const struct wcodec_tiling *t = &b->tiling;
    const uint64_t sizes[WCODEC_AREAS] = {
        128 * t->tiles, t->size / 2 + t->elements / 2,
        t->tiles * wcodec_tile_raw_size(t, 1u << t->tile_log2, WCODEC_STREAM_RANS), t->elements / 8,
        t->elements / 16};
    uint64_t at = wcodec_align_u64(12 * t->tiles, 256);
    p->coding = (struct wcodec_tensor_coding){.tiling = t,
                                              .base = b->plan->tables[0][0].table.base,
                                              .common = b->plan->tables[0][0].most_frequent};
    p->coding.directory.size = 12 * t->tiles;
    for (unsigned a = 0; a < WCODEC_AREAS; a++) {
        p->coding.areas[a].offset = at;
        p->coding.areas[a].size = sizes[a];
        at = wcodec_align_u64(at + sizes[a], 256);
    }
    p->payload = allocate(p, at);
    p->coding.directory.memory = p->payload;
    for (unsigned a = 0; a < WCODEC_AREAS; a++)
        p->coding.areas[a].memory = p->payload;
}

/* In the memory of the copy, which is larger. */
static void put_measure(const struct bench *b, struct plugin *p, wcodec_dtype dtype)
{
    p->measure = (struct wcodec_tensor_measure){.elements = p->elements,
                                                .work = p->copy,
                                                .count = b->tiling.elements,
                                                .element_log2 = b->tiling.element_log2};
    wcodec_statistics_measure(dtype, b->tiling.size, (int)b->level, p->measure.fields,
                              &p->measure.field_count);
}

/* Counts of one run, against the CPU's of the pool: as many times as it is there, where every block
 * is counted alike. */
static bool is_measured(const struct bench *b, const struct plugin *p, wcodec_dtype dtype)
{
    const struct wcodec_measure_work w = wcodec_measure_work(b->tiling.elements);
    const uint64_t times = b->tiling.size / b->data_size;
    static struct wcodec_measured found;
    struct wcodec_statistics own, device;
    bool same = true;
    wcodec_error err;
    check(p->backend->copy_in(p->queue, p->copy, 0, wcodec_log2_table, sizeof wcodec_log2_table,
                              &err),
          &err);
    check(p->backend->encoders->measure(p->queue, &p->measure, &err), &err);
    check(p->backend->copy_out(p->queue, &found, p->copy, w.result, sizeof found, &err), &err);
    check(p->backend->queue_wait(p->queue, &err), &err);
    check(wcodec_statistics_gather(b->context, dtype, b->data, b->data_size, (int)b->level, &own,
                                   &err),
          &err);
    wcodec_statistics_measured(dtype, b->tiling.size, &found, &device);
    for (unsigned a = 0; a < own.atom_count; a++)
        for (unsigned v = 0; v < 256 && own.atoms[a].use != WCODEC_ATOM_RAW; v++)
            same &= device.counts[a][v] == times * own.counts[a][v];
    return same;
}

static void put_tensor(const struct bench *b, struct plugin *p)
{
    const struct wcodec_encode_table *table = &b->plan->tables[0][0];
    struct wcodec_device_table device;
    wcodec_error err;
    wcodec_table_for_device(table, &device);
    p->elements = allocate(p, b->tiling.size);
    p->copy = allocate(p, b->tiling.size);
    p->work = allocate(p, wcodec_tensor_work(&b->tiling).size);
    make_places(b, p);
    p->coding.elements = p->elements;
    p->coding.work = p->work;
    check(p->backend->copy_in(p->queue, p->work, 0, &device, sizeof device, &err), &err);
    check(p->backend->copy_in(p->queue, p->elements, 0, b->data, b->data_size, &err), &err);
    for (uint64_t done = b->data_size; done < b->tiling.size; done += b->data_size)
        check(p->backend->copy(p->queue, p->elements, done, p->elements, 0, b->data_size, &err),
              &err);
    check(p->backend->queue_wait(p->queue, &err), &err);
}

static void free_tensor(struct plugin *p)
{
    p->backend->memory_free(p->payload);
    p->backend->memory_free(p->work);
    p->backend->memory_free(p->copy);
    p->backend->memory_free(p->elements);
}

static bool is_same(const struct plugin *p, uint64_t at, const uint8_t *expected, uint64_t size)
{
    uint8_t *bytes = malloc(size + 1);
    wcodec_error err;
    check(p->backend->copy_out(p->queue, bytes, p->payload, at, size, &err), &err);
    check(p->backend->queue_wait(p->queue, &err), &err);
    const bool same = memcmp(bytes, expected, size) == 0;
    free(bytes);
    return same;
}

/* The first tiles and the last against the CPU's of the pool alone, and all totals. Returns bits an
 * element. */
static double prove(struct bench *b)
{
    const struct wcodec_encode_settings settings = {.level = (int)b->level, .weights = true};
    const uint64_t times = b->tiling.size / b->data_size;
    struct wcodec_coded coded;
    struct wcodec_tiles *tiles;
    struct wcodec_tensor_totals sum = {0}, found;
    wcodec_error err;
    check(wcodec_payload_code(b->context, &settings, b->plan, b->data, &coded, &err), &err);
    uint8_t *payload = malloc(coded.payload_size);
    wcodec_coded_join(&coded, payload);
    check(wcodec_tiles_read(coded.tiling, payload, coded.payload_size, b->host.allocator, &tiles,
                            &err),
          &err);
    for (uint64_t i = 0; i < coded.tiling->tiles; i++) {
        sum.words += tiles->streams[i].words;
        sum.streams += tiles->streams[i].mode == WCODEC_STREAM_RANS;
        sum.raw += wcodec_tile_raw_size(coded.tiling, 1u << coded.tiling->tile_log2,
                                        tiles->streams[i].mode);
        sum.outliers += tiles->streams[i].outliers;
    }
    const uint64_t sizes[WCODEC_AREAS] = {128 * sum.streams, 2 * sum.words, sum.raw,
                                          2 * sum.outliers, sum.outliers};
    for (unsigned k = 0; k < b->plugin_count; k++) {
        struct plugin *p = &b->plugins[k];
        bool same = true;
        check(p->backend->encoders->code(p->queue, &p->coding, &err), &err);
        for (unsigned a = 0; a < WCODEC_AREAS; a++)
            for (uint64_t i = 0; i<times; i += times> 1 ? times - 1 : 1)
                same &= is_same(p, p->coding.areas[a].offset + i * sizes[a],
                                payload + tiles->area_begin[a], sizes[a]);
        check(p->backend->copy_out(p->queue, &found, p->work, wcodec_tensor_work(&b->tiling).totals,
                                   sizeof found, &err),
              &err);
        check(p->backend->queue_wait(p->queue, &err), &err);
        if (!same || found.words != times * sum.words || found.outliers != times * sum.outliers)
            printf("%s: THE PAYLOAD DIFFERS\n", p->name);
    }
    const double bits = 8 * (double)coded.payload_size / (double)coded.tiling->elements;
    wcodec_tiles_free(tiles);
    wcodec_coded_free(&coded);
    free(payload);
    return bits;
}

/* Microseconds. */
static double time_once(const struct bench *b, const struct plugin *p, unsigned what)
{
    struct wcodec_event *from, *to;
    uint64_t ns;
    wcodec_error err;
    check(p->backend->event_record(p->queue, &from, &err), &err);
    if (what == COPY)
        check(p->backend->copy(p->queue, p->copy, 0, p->elements, 0, b->tiling.size, &err), &err);
    else if (what == MEASURE)
        check(p->backend->encoders->measure(p->queue, &p->measure, &err), &err);
    else
        check(p->backend->encoders->code(p->queue, &p->coding, &err), &err);
    check(p->backend->event_record(p->queue, &to, &err), &err);
    check(p->backend->event_wait(to, &err), &err);
    check(p->backend->event_elapsed(from, to, &ns, &err), &err);
    p->backend->event_destroy(to);
    p->backend->event_destroy(from);
    return (double)ns / 1000;
}

static void run(struct bench *b, unsigned type)
{
    static const char *const profiles[] = {"", "pairs", "p12", "p8"};
    make_data(b, types[type].dtype);
    make_plan(b, types[type].dtype);
    for (unsigned k = 0; k < b->plugin_count; k++)
        if (!b->plugins[k].backend->encoders->supports(b->plugins[k].device, &b->tiling)) {
            printf("%s: the plan is of a kind that %s does not code\n", types[type].name,
                   b->plugins[k].name);
            wcodec_plan_free(b->plan);
            free(b->data);
            return;
        }
    for (unsigned k = 0; k < b->plugin_count; k++)
        put_tensor(b, &b->plugins[k]);
    const double bits = prove(b);
    for (unsigned k = 0; k < b->plugin_count; k++) {
        put_measure(b, &b->plugins[k], types[type].dtype);
        if (!is_measured(b, &b->plugins[k], types[type].dtype))
            printf("%s: THE COUNTS DIFFER\n", b->plugins[k].name);
    }
    for (unsigned i = 0; i <= b->repeats; i++)
        for (unsigned k = 0; k < b->plugin_count; k++)
            for (unsigned what = 0; what < TIMED; what++) {
                const double us = time_once(b, &b->plugins[k], what);
                if (i > 0)
                    b->plugins[k].times[what][i - 1] = us;
            }
    printf("%s 2^%u, %u raw bits, %s, tiles of %u: %.3f bits\n", types[type].name, b->elements_log2,
           b->tiling.raw_bits, profiles[b->tiling.fields[b->tiling.coded[0]].profile],
           1u << b->tiling.tile_log2, bits);
    for (unsigned k = 0; k < b->plugin_count; k++) {
        struct plugin *p = &b->plugins[k];
        const double us = median(p->times[CODE], b->repeats),
                     copy = median(p->times[COPY], b->repeats),
                     measured = median(p->times[MEASURE], b->repeats),
                     size = (double)b->tiling.size;
        printf("  %-24s %9.1f us (least %.1f) %7.1f GB/s; copy %7.1f GB/s, ratio %.3f; measuring "
               "%.1f us, %.1f GB/s\n",
               p->name, us, p->times[CODE][0], size / us / 1000, size / copy / 1000, copy / us,
               measured, size / measured / 1000);
        free_tensor(p);
    }
    fflush(stdout);
    wcodec_plan_free(b->plan);
    free(b->data);
}

static uint8_t profile_of(const char *name)
{
    return strcmp(name, "pairs") == 0 ? WCODEC_PAIRS
           : strcmp(name, "p12") == 0 ? WCODEC_P12
           : strcmp(name, "p8") == 0  ? WCODEC_P8
                                      : 0;
}

static void take_option(struct bench *b, const char *option, const char *value)
{
    const unsigned number = (unsigned)strtoul(value, NULL, 10);
    if (option[1] == 'r')
        b->repeats = number % REPEATS | 1;
    else if (option[1] == 'n')
        b->elements_log2 = number < POOL_LOG2 ? POOL_LOG2 : number;
    else if (option[1] == 'l')
        b->level = number;
    else
        b->profile = profile_of(value);
}

int main(int argc, char **argv)
{
    static struct bench b = {.repeats = 11, .elements_log2 = 29, .level = 3};
    wcodec_options options;
    wcodec_error err;
    int first = 1;
    wcodec_options_init(&options);
    options.backend = "cpu";
    check(wcodec_context_create(&options, &b.context, &err), &err);
    wcodec_host_init(&b.host, b.context);
    for (; first < argc && b.plugin_count < PLUGINS && strstr(argv[first], ".so") != NULL; first++)
        open_plugin(&b, argv[first]);
    for (; first + 1 < argc && argv[first][0] == '-'; first += 2)
        take_option(&b, argv[first], argv[first + 1]);
    if (b.plugin_count == 0) {
        fprintf(stderr,
                "usage: %s PLUGIN.so... [-r REPEATS] [-n LOG2] [-p PROFILE] [-l LEVEL] [TYPE...]\n",
                argv[0]);
        return 2;
    }
    b.pool = malloc(sizeof *b.pool << POOL_LOG2);
    for (uint64_t i = 0; i < 1u << POOL_LOG2; i++)
        b.pool[i] = gaussian();
    for (unsigned t = 0; t < sizeof types / sizeof *types; t++) {
        bool wanted = first == argc;
        for (int i = first; i < argc; i++)
            wanted |= strcmp(argv[i], types[t].name) == 0;
        if (wanted)
            run(&b, t);
    }
    free(b.pool);
    wcodec_context_destroy(b.context);
    return 0;
}
