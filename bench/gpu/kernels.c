/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Time of a GPU's kernels by its events: tensors of random weights are coded, decoded on the device, compared with the original byte for byte, and timed; rates stand beside the copy bandwidth of the same run.
 *
 *   gpu-kernels PLUGIN.so [-r REPEATS] [-s LOG2] [-a 0] [-t LOG2] [ROW...]
 *
 * -t: elements of a tile. -s: make every row smaller by 2^LOG2. -a 0: payloads begin at a multiple of 256 bytes, so that rows of raw bits are aligned to 16 only. Rows by the beginnings of their names. */
#include "backend/host.h"
#include "backends/cuda/driver.h"
#include "coding/tile.h"
#include "core/context.h"
#include "encode/tensor.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum kind { BF16, F16, F32, E4M3, INT8, BYTES, E4M3_UNIFORM };

static const struct row {
    const char *name;
    enum kind kind;
    unsigned log2;    /* elements of a tensor */
    unsigned tensors; /* in one batch */
    uint8_t profile;  /* preferred */
    bool latency;
    unsigned target, aim; /* GB/s of output */
} rows[] = {
    {"bf16-2^29", BF16, 29, 1, 0, false, 2100, 2300},
    {"bf16-2^29-pairs", BF16, 29, 1, WCODEC_PAIRS, false, 2100, 2300},
    {"bf16-2^24-latency", BF16, 24, 1, WCODEC_PAIRS, true, 1500, 1900},
    {"bf16-2^23-latency", BF16, 23, 1, WCODEC_PAIRS, true, 1050, 1400},
    {"bf16-2^20-latency", BF16, 20, 1, WCODEC_PAIRS, true, 250, 400},
    {"bf16-512x2^20", BF16, 20, 512, 0, false, 0, 0},
    {"bf16-512x2^20-pairs", BF16, 20, 512, WCODEC_PAIRS, false, 0, 0},
    {"e4m3-2^29", E4M3, 29, 1, 0, false, 0, 0},
    {"e4m3-2^29-pairs", E4M3, 29, 1, WCODEC_PAIRS, false, 1650, 1900},
    {"e4m3u-2^29-pairs", E4M3_UNIFORM, 29, 1, WCODEC_PAIRS, false, 1650, 1900},
    {"e4m3-2^29-p8", E4M3, 29, 1, WCODEC_P8, false, 1650, 1900},
    {"int8-2^29", INT8, 29, 1, 0, false, 1600, 1850},
    {"int8-2^29-p8", INT8, 29, 1, WCODEC_P8, false, 1600, 1850},
    {"f32-2^28", F32, 28, 1, 0, false, 0, 0},
    {"f32-2^28-pairs", F32, 28, 1, WCODEC_PAIRS, false, 0, 0},
    {"f16-2^28", F16, 28, 1, 0, false, 0, 0},
    {"f16-2^28-pairs", F16, 28, 1, WCODEC_PAIRS, false, 0, 0},
    {"bytes-2^29-p12", BYTES, 29, 1, WCODEC_P12, false, 950, 1150},
    {"bf16-256x256", BF16, 16, 1, 0, false, 0, 0},
};

static uint64_t next_random(uint64_t *s)
{
    uint64_t z = *s += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static uint8_t to_e4m3(float v)
{
    const uint8_t sign = v < 0 ? 0x80 : 0;
    float a = fabsf(v);
    int e;
    if (a >= 448)
        return (uint8_t)(sign | 0x7e);
    frexpf(a, &e); /* a = m 2^e, m in [1/2, 1) */
    e = e - 1 < -6 ? -6 : e - 1;
    const int q = (int)lrintf(ldexpf(a, 3 - e)); /* 8 to 16, below 8 for subnormals */
    return (uint8_t)(sign | (q < 8 ? q : ((e + 7) << 3) + (q - 8)));
}

static uint16_t to_f16(float v)
{
    uint32_t b;
    memcpy(&b, &v, 4);
    const int e = (int)(b >> 23 & 0xff) - 112;
    if (e <= 0)
        return (uint16_t)(b >> 16 & 0x8000);
    return (uint16_t)((b >> 16 & 0x8000) | (unsigned)e << 10 | (b >> 13 & 0x3ff));
}

struct fill {
    enum kind kind;
    uint8_t *data;
    uint64_t elements, seed;
};

enum { PIECE = 1 << 18 };

static unsigned element_bytes(enum kind kind)
{
    return kind == F32 ? 4 : kind == BF16 || kind == F16 ? 2 : 1;
}

static void fill_piece(void *argument, size_t piece)
{
    const struct fill *f = argument;
    uint64_t s = f->seed * 0x1000003 + piece;
    const uint64_t end = (piece + 1) * PIECE < f->elements ? (piece + 1) * PIECE : f->elements;
    for (uint64_t i = piece * PIECE; i < end; i += 2) {
        const float u = ((float)(next_random(&s) >> 40) + 1) * 0x1p-24f, a = (float)(next_random(&s) >> 40) * 0x1p-24f * 6.2831853f, r = sqrtf(-2 * logf(u));
        const float pair[2] = {r * cosf(a), r * sinf(a)};
        for (unsigned k = 0; k < 2 && i + k < end; k++) {
            const float v = pair[k], w = 0.02f * v;
            uint32_t b;
            memcpy(&b, &w, 4);
            uint8_t *p = f->data + (i + k) * element_bytes(f->kind);
            const uint16_t h = f->kind == F16 ? to_f16(w) : (uint16_t)((b + 0x7fff + (b >> 16 & 1)) >> 16);
            int q = (int)lrintf(v * (127 / 4.5f));
            q = q > 127 ? 127 : q < -127 ? -127 : q;
            switch (f->kind) {
            case BF16:
            case F16:
                memcpy(p, &h, 2);
                break;
            case F32:
                memcpy(p, &b, 4);
                break;
            case E4M3:
                *p = to_e4m3(v * 100);
                break;
            case E4M3_UNIFORM: /* nothing to gain from the mantissa: coded 4+4 */
                *p = (uint8_t)((to_e4m3(v * 100) & 0x78) | (next_random(&s) & 0x87));
                break;
            case INT8:
                *p = (uint8_t)q;
                break;
            case BYTES: /* skewed, and not by top bits: what makes an encoder code all eight */
                *p = (uint8_t)(q * 37 + 11);
                break;
            }
        }
    }
}

static void check(wcodec_status status, const wcodec_error *err)
{
    if (status) {
        fprintf(stderr, "error: %s\n", err->text);
        exit(1);
    }
}

static void check_cu(cu_result result, const char *what)
{
    if (result) {
        fprintf(stderr, "%s: CUDA error %d\n", what, result);
        exit(1);
    }
}

static int compare_floats(const void *a, const void *b)
{
    const float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

struct bench {
    wcodec_context *context;
    struct wcodec_host host;
    const struct wcodec_backend *backend;
    struct wcodec_device *device;
    struct wcodec_queue *queue;
    struct wcodec_cuda_driver cu;
    cu_stream stream;
    cu_event begin, end;
    unsigned repeats;
    bool align;
    uint8_t tile_log2;
    double copy; /* GB/s, read and written */
};

struct tensor {
    struct wcodec_coded coded;
    struct wcodec_tiles *tiles;
    uint8_t *data;
    uint64_t size;
    struct wcodec_memory *payload;
    uint64_t offset; /* of the payload in its memory: rows of raw bits begin at a multiple of 128 bytes */
    double pack_seconds;
};

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void make_tensor(struct bench *b, const struct row *row, uint64_t elements, uint64_t seed, struct tensor *t)
{
    wcodec_error err;
    static const wcodec_dtype dtypes[] = {WCODEC_DTYPE_BF16, WCODEC_DTYPE_F16, WCODEC_DTYPE_F32, WCODEC_DTYPE_F8_E4M3, WCODEC_DTYPE_I8, WCODEC_DTYPE_U8, WCODEC_DTYPE_F8_E4M3};
    const struct wcodec_encode_settings settings = {.level = 4, .latency = row->latency, .tile_log2 = b->tile_log2, .profile = row->profile, .weights = true};
    t->size = elements * element_bytes(row->kind);
    t->data = malloc(t->size);
    struct fill fill = {row->kind, t->data, elements, seed};
    b->host.run(b->host.opaque, fill_piece, &fill, (size_t)((elements + PIECE - 1) / PIECE));
    check(wcodec_encode_tensor(b->context, &settings, dtypes[row->kind], t->data, t->size, &t->coded, &err), &err);
    if (t->coded.coding != 1) {
        fprintf(stderr, "%s: the encoder chose coding %u\n", row->name, t->coded.coding);
        exit(1);
    }
    uint8_t *payload = malloc(t->coded.payload_size), *p = payload;
    for (unsigned i = 0; i < t->coded.part_count; i++) {
        memcpy(p, t->coded.parts[i].data, t->coded.parts[i].size);
        p += t->coded.parts[i].size;
    }
    check(wcodec_tiles_read(t->coded.tiling, payload, t->coded.payload_size, b->host.allocator, &t->tiles, &err), &err);
    t->offset = b->align ? (128 - t->tiles->area_begin[WCODEC_AREA_RAW] % 128) % 128 : 0;
    check(b->backend->memory_allocate(b->device, WCODEC_MEMORY_DEVICE, t->coded.payload_size + 128, &t->payload, &err), &err);
    check(b->backend->copy_in(b->queue, t->payload, t->offset, payload, t->coded.payload_size, &err), &err);
    check(b->backend->queue_wait(b->queue, &err), &err);
    free(payload);
}

static void describe(const struct wcodec_tiling *t, char *text, size_t size)
{
    size_t n = 0;
    for (unsigned i = 0; i < t->field_count; i++) {
        const struct wcodec_field *f = &t->fields[i];
        n += (size_t)snprintf(text + n, size - n, "%s%c%u", i ? "+" : "", "kr c"[f->kind == 2 ? 3 : f->kind], f->width);
        if (f->kind == WCODEC_FIELD_CODED)
            n += (size_t)snprintf(text + n, size - n, "%s%s%u%s", f->profile == WCODEC_PAIRS ? "p" : f->profile == WCODEC_P8 ? "(P8)" : "(P12)", "x", f->tables, f->run_log2 ? "r" : "");
    }
}

static float time_once(struct bench *b, struct wcodec_batch *batch)
{
    wcodec_error err;
    float ms;
    check_cu(b->cu.event_record(b->begin, b->stream), "cuEventRecord");
    check(b->backend->batch_decode(b->queue, batch, &err), &err);
    check_cu(b->cu.event_record(b->end, b->stream), "cuEventRecord");
    check_cu(b->cu.event_wait(b->end), "cuEventSynchronize");
    check_cu(b->cu.event_elapsed(&ms, b->begin, b->end), "cuEventElapsedTime");
    return ms;
}

struct comparison {
    const uint8_t *a, *b;
    uint64_t size;
    uint64_t *different;
};

static void compare_piece(void *argument, size_t i)
{
    const struct comparison *c = argument;
    const uint64_t at = i * 4096 * 1024, n = c->size - at < 4096 * 1024 ? c->size - at : 4096 * 1024;
    if (memcmp(c->a + at, c->b + at, n))
        __atomic_add_fetch(c->different, 1, __ATOMIC_RELAXED);
}

static void run_row(struct bench *b, const struct row *row, unsigned smaller)
{
    wcodec_error err;
    const uint64_t elements = (uint64_t)1 << (row->log2 - smaller);
    struct tensor *tensors = calloc(row->tensors, sizeof *tensors);
    struct wcodec_job *jobs = calloc(row->tensors, sizeof *jobs);
    struct wcodec_job_result *results = calloc(row->tensors, sizeof *results);
    struct wcodec_memory *out;
    struct wcodec_batch *batch;
    uint64_t payload = 0, size = 0, different = 0;
    float ms[101];
    char text[128];
    const double start = seconds();
    for (unsigned i = 0; i < row->tensors; i++) {
        make_tensor(b, row, elements, i + 1, &tensors[i]);
        payload += tensors[i].coded.payload_size;
        size += tensors[i].size;
    }
    const double coded = seconds();
    check(b->backend->memory_allocate(b->device, WCODEC_MEMORY_DEVICE, size, &out, &err), &err);
    for (unsigned i = 0; i < row->tensors; i++) {
        jobs[i] = (struct wcodec_job){.tiles = tensors[i].tiles, .first = 0, .count = tensors[i].coded.tiling->tiles, .memory = out, .destination = i * tensors[i].size, .verify = true};
        for (unsigned a = 0; a < WCODEC_AREAS; a++)
            jobs[i].places[a] = (struct wcodec_area_place){tensors[i].payload, tensors[i].offset, 0, tensors[i].coded.payload_size};
    }
    check_cu(b->cu.set_8(b->backend->memory_native(out), 0xa5, size, b->stream), "cuMemsetD8Async");
    const double before = seconds();
    check(b->backend->batch_create(b->queue, jobs, row->tensors, &batch, &err), &err);
    const double created = seconds();
    time_once(b, batch);
    check(b->backend->batch_results(b->queue, batch, results, &err), &err);
    const double finished = seconds();
    for (unsigned i = 0; i < row->tensors; i++)
        if (results[i].fault)
            printf("%s: tensor %u tile %llu: %s\n", row->name, i, (unsigned long long)results[i].tile, wcodec_tile_fault_string(results[i].fault));
    uint8_t *copy = malloc(size);
    check(b->backend->copy_out(b->queue, copy, out, 0, size, &err), &err);
    check(b->backend->queue_wait(b->queue, &err), &err);
    for (unsigned i = 0; i < row->tensors; i++) {
        struct comparison c = {copy + i * tensors[i].size, tensors[i].data, tensors[i].size, &different};
        b->host.run(b->host.opaque, compare_piece, &c, (size_t)((c.size + 4096 * 1024 - 1) / (4096 * 1024)));
    }
    free(copy);
    for (unsigned i = 0; i < b->repeats + 2; i++) {
        const float once = time_once(b, batch);
        ms[i < 2 ? 0 : i - 2] = once;
        check(b->backend->batch_results(b->queue, batch, results, &err), &err);
    }
    qsort(ms, b->repeats, sizeof *ms, compare_floats);
    double least_wall = 1e9;
    for (unsigned i = 0; i < 20; i++) {
        const double t0 = seconds();
        check(b->backend->batch_decode(b->queue, batch, &err), &err);
        check(b->backend->batch_results(b->queue, batch, results, &err), &err);
        const double t1 = seconds();
        least_wall = t1 - t0 < least_wall ? t1 - t0 : least_wall;
    }
    const double s = 1e-3 * ms[b->repeats / 2], rate = 1e-9 * (double)size / s, moved = 1e-9 * (double)(size + payload) / s;
    describe(tensors[0].coded.tiling, text, sizeof text);
    printf("%-22s %-20s t%-2u %7.4f bits  %8.4f ms (%.4f-%.4f) wall %.4f  out %6.0f GB/s  moved %6.0f = %3.0f %% of copy  target %4u aim %4u  %s  [coded in %.1f s, plan %.2f ms, first %.2f ms]\n",
           row->name, text, tensors[0].coded.tiling->tile_log2, 8 * (double)payload / (double)(row->tensors * elements), ms[b->repeats / 2], ms[0], ms[b->repeats - 1], 1e3 * least_wall, rate, moved,
           100 * moved / b->copy, row->target, row->aim, different ? "DIFFERENT" : "same", coded - start, 1e3 * (created - before), 1e3 * (finished - created));
    fflush(stdout);
    b->backend->batch_destroy(batch);
    b->backend->memory_free(out);
    for (unsigned i = 0; i < row->tensors; i++) {
        wcodec_tiles_free(tensors[i].tiles);
        wcodec_coded_free(&tensors[i].coded);
        b->backend->memory_free(tensors[i].payload);
        free(tensors[i].data);
    }
    free(tensors);
    free(jobs);
    free(results);
}

static double copy_bandwidth(struct bench *b)
{
    wcodec_error err;
    struct wcodec_memory *from, *to;
    const uint64_t size = (uint64_t)2 << 30;
    float ms[9];
    check(b->backend->memory_allocate(b->device, WCODEC_MEMORY_DEVICE, size, &from, &err), &err);
    check(b->backend->memory_allocate(b->device, WCODEC_MEMORY_DEVICE, size, &to, &err), &err);
    for (unsigned i = 0; i < 11; i++) {
        b->cu.event_record(b->begin, b->stream);
        check(b->backend->copy(b->queue, to, 0, from, 0, size, &err), &err);
        b->cu.event_record(b->end, b->stream);
        check_cu(b->cu.event_wait(b->end), "copy");
        b->cu.event_elapsed(&ms[i < 2 ? 0 : i - 2], b->begin, b->end);
    }
    b->backend->memory_free(from);
    b->backend->memory_free(to);
    qsort(ms, 9, sizeof *ms, compare_floats);
    return 2e-6 * (double)size / ms[4];
}

int main(int argc, char **argv)
{
    struct bench b = {.repeats = 11, .align = true};
    struct wcodec_backend_state *state;
    struct wcodec_device_listing listing;
    wcodec_options options;
    wcodec_error err;
    char text[128];
    cu_context context;
    unsigned smaller = 0;
    int first = 2;
    if (argc < 2) {
        fprintf(stderr, "usage: %s PLUGIN.so [-r REPEATS] [-s LOG2] [-a 0] [-t LOG2] [ROW...]\n", argv[0]);
        return 2;
    }
    for (; first + 1 < argc && argv[first][0] == '-'; first += 2) {
        if (argv[first][1] == 'r')
            b.repeats = (unsigned)strtoul(argv[first + 1], NULL, 10) % 100 | 1;
        else if (argv[first][1] == 't')
            b.tile_log2 = (uint8_t)strtoul(argv[first + 1], NULL, 10);
        else if (argv[first][1] == 'a')
            b.align = argv[first + 1][0] != '0';
        else
            smaller = (unsigned)strtoul(argv[first + 1], NULL, 10);
    }
    wcodec_options_init(&options);
    options.backend = "cpu";
    check(wcodec_context_create(&options, &b.context, &err), &err);
    wcodec_host_init(&b.host, b.context);
    void *plugin = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    b.backend = plugin ? dlsym(plugin, "wcodec_backend_cuda") : NULL;
    if (b.backend == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    check(b.backend->open(&b.host, &state, &err), &err);
    check(b.backend->device_open(state, 0, &b.device, &err), &err);
    b.backend->device_list(state, 0, &listing);
    const char *missing = wcodec_cuda_driver_open(&b.cu, text, sizeof text);
    if (missing != NULL) {
        fprintf(stderr, "%s\n", missing);
        return 1;
    }
    check_cu(b.cu.context_retain(&context, 0), "cuDevicePrimaryCtxRetain");
    check_cu(b.cu.context_push(context), "cuCtxPushCurrent");
    check_cu(b.cu.stream_create(&b.stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
    check_cu(b.cu.event_create(&b.begin, 0), "cuEventCreate");
    check_cu(b.cu.event_create(&b.end, 0), "cuEventCreate");
    check(b.backend->queue_adopt(b.device, (uint64_t)(uintptr_t)b.stream, &b.queue, &err), &err);
    b.copy = copy_bandwidth(&b);
    printf("%s, %s: copy %.0f GB/s read and written\n", listing.name, listing.driver, b.copy);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        bool wanted = first >= argc;
        for (int k = first; k < argc; k++)
            wanted = wanted || strncmp(rows[i].name, argv[k], strlen(argv[k])) == 0;
        if (wanted)
            run_row(&b, &rows[i], rows[i].log2 > smaller + 12 ? smaller : 0);
    }
    b.backend->queue_destroy(b.queue);
    b.backend->device_close(b.device);
    b.backend->close(state);
    wcodec_context_destroy(b.context);
    return 0;
}
