/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Time of a GPU's kernels by its events: tensors of random weights are coded, decoded on the
 * device, compared with the original byte for byte, and timed; rates stand beside the copy
 * bandwidth of the same run.
 *
 *   gpu-kernels PLUGIN.so... [-r REPEATS] [-s LOG2] [-a 0] [-t LOG2] [ROW...]
 *
 * Several plugins, of CUDA or OpenCL, decode the same data in turn. Kernel time is that between the
 * ends of decodings which are queued behind each other, so that the host's time to launch is not in
 * it; where a decoding takes less than a millisecond, as many as fit into one, 64 at most, go
 * between two events, since drivers have work with an event that lasts longer than a small tensor.
 * "queued" is that of 64 decodings without events, over 64, by the host's clock; "wall" is one
 * alone, from the call to its results. -t: elements of a tile. -s: make every row smaller by
 * 2^LOG2. -a 0: payloads begin at a multiple of 256 bytes, so that rows of raw bits are aligned to
 * 16 only. Rows by the beginnings of their names. */
#include "registry/host.h"
#include "coding/tile.h"
#include "core/context.h"
#include "encode/encode.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* BF16_SPIKES: one of 4096 is a hundred times as large. BF16_ROWS: lossy with a scale for each row.
 * FIXED11 and FIXED12: bf16 at a fixed rate, normal deviates, and twelve exponents as often. */
enum kind {
    BF16,
    F16,
    F32,
    E4M3,
    INT8,
    BYTES,
    E4M3_UNIFORM,
    BF16_AS_F32,
    BF16_SPIKES,
    BF16_ROWS,
    FIXED11,
    FIXED12,
    FIELD8,
    FIELD16,
    ROWS8
};

static const struct row {
    const char *name;
    enum kind kind;
    unsigned log2;    /* elements of a tensor */
    unsigned tensors; /* in one batch */
    uint8_t profile;  /* preferred */
    bool latency;
    unsigned target, aim; /* GB/s of output */
    uint8_t predict;
    double lossy; /* bits an element, 0: lossless */
} rows[] = {
    {"bf16-2^29", BF16, 29, 1, 0, false, 2100, 2300, 0, 0},
    {"bf16-2^29-pairs", BF16, 29, 1, WCODEC_PAIRS, false, 2100, 2300, 0, 0},
    {"bf16-2^27-p12", BF16, 27, 1, WCODEC_P12, false, 0, 0, 0, 0},
    {"bf16-2^24-latency", BF16, 24, 1, WCODEC_PAIRS, true, 1500, 1900, 0, 0},
    {"bf16-2^23-latency", BF16, 23, 1, WCODEC_PAIRS, true, 1050, 1400, 0, 0},
    {"bf16-2^20-latency", BF16, 20, 1, WCODEC_PAIRS, true, 250, 400, 0, 0},
    {"bf16-512x2^20", BF16, 20, 512, 0, false, 0, 0, 0, 0},
    {"bf16-512x2^20-pairs", BF16, 20, 512, WCODEC_PAIRS, false, 0, 0, 0, 0},
    {"e4m3-2^29", E4M3, 29, 1, 0, false, 0, 0, 0, 0},
    {"e4m3-2^29-pairs", E4M3, 29, 1, WCODEC_PAIRS, false, 1650, 1900, 0, 0},
    {"e4m3u-2^29-pairs", E4M3_UNIFORM, 29, 1, WCODEC_PAIRS, false, 1650, 1900, 0, 0},
    {"e4m3-2^29-p8", E4M3, 29, 1, WCODEC_P8, false, 1650, 1900, 0, 0},
    {"int8-2^29", INT8, 29, 1, 0, false, 1600, 1850, 0, 0},
    {"int8-2^29-p8", INT8, 29, 1, WCODEC_P8, false, 1600, 1850, 0, 0},
    {"f32-2^28", F32, 28, 1, 0, false, 0, 0, 0, 0},
    {"f32-2^28-pairs", F32, 28, 1, WCODEC_PAIRS, false, 0, 0, 0, 0},
    {"f16-2^28", F16, 28, 1, 0, false, 0, 0, 0, 0},
    {"f16-2^28-pairs", F16, 28, 1, WCODEC_PAIRS, false, 0, 0, 0, 0},
    {"f32-of-bf16-2^28", BF16_AS_F32, 28, 1, 0, false, 0, 0, 0, 0},
    {"f32-of-bf16-2^28-pairs", BF16_AS_F32, 28, 1, WCODEC_PAIRS, false, 0, 0, 0, 0},
    {"bytes-2^29-p12", BYTES, 29, 1, WCODEC_P12, false, 950, 1150, 0, 0},
    {"bf16-256x256", BF16, 16, 1, 0, false, 0, 0, 0, 0},
    {"fixed11-2^26", FIXED11, 26, 1, 0, false, 2000, 2200, 0, 0},
    {"fixed12-2^26", FIXED12, 26, 1, 0, false, 2000, 2200, 0, 0},
    {"fixed11-8x2^26", FIXED11, 26, 8, 0, false, 2000, 2200, 0, 0},
    {"fixed12-8x2^26", FIXED12, 26, 8, 0, false, 2000, 2200, 0, 0},
    {"fixed11-512x2^20", FIXED11, 20, 512, 0, false, 0, 0, 0, 0},
    {"left-2^28", FIELD8, 28, 1, 0, false, 900, 1300, WCODEC_PREDICT_LEFT, 0},
    {"left-rows-2^28", ROWS8, 28, 1, 0, false, 900, 1300, WCODEC_PREDICT_LEFT, 0},
    {"top-2^28", FIELD8, 28, 1, 0, false, 900, 1300, WCODEC_PREDICT_TOP, 0},
    {"planar-2^28", FIELD8, 28, 1, 0, false, 900, 1300, WCODEC_PREDICT_PLANAR, 0},
    {"average-2^28", FIELD8, 28, 1, 0, false, 350, 700, WCODEC_PREDICT_AVERAGE, 0},
    {"paeth-2^28", FIELD8, 28, 1, 0, false, 350, 700, WCODEC_PREDICT_PAETH, 0},
    {"wht-2^28", FIELD8, 28, 1, 0, false, 0, 0, WCODEC_PREDICT_WHT, 0},
    {"auto-2^28", FIELD8, 28, 1, 0, false, 0, 0, WCODEC_PREDICT_AUTO, 0},
    {"left16-2^27", FIELD16, 27, 1, 0, false, 0, 0, WCODEC_PREDICT_LEFT, 0},
    {"lossy-dct-2^27", FIELD16, 27, 1, 0, false, 900, 1500, WCODEC_PREDICT_NONE, 4.5},
    {"lossy-dct-2.5-2^27", FIELD16, 27, 1, 0, false, 900, 1500, WCODEC_PREDICT_NONE, 2.5},
    {"lossy-dct-1-2^27", FIELD16, 27, 1, 0, false, 900, 1500, WCODEC_PREDICT_NONE, 1},
    {"lossy-plain-2^27", BF16, 27, 1, 0, false, 900, 1500, WCODEC_PREDICT_NONE, 4.5},
    {"lossy-plain-6.5-2^27", BF16, 27, 1, 0, false, 900, 1500, WCODEC_PREDICT_NONE, 6.5},
    {"lossy-plain-7.5-2^27", BF16, 27, 1, 0, false, 900, 1500, WCODEC_PREDICT_NONE, 7.5},
    {"lossy-plain-8.5-2^27", BF16, 27, 1, 0, false, 900, 1500, WCODEC_PREDICT_NONE, 8.5},
    {"lossy-plain-9-2^27", BF16, 27, 1, 0, false, 900, 1500, WCODEC_PREDICT_NONE, 9},
    {"lossy-plain-10-2^27", BF16, 27, 1, 0, false, 900, 1500, WCODEC_PREDICT_NONE, 10},
    {"lossy-spikes-4.5-2^27", BF16_SPIKES, 27, 1, 0, false, 900, 1500, WCODEC_PREDICT_NONE, 4.5},
    {"lossy-spikes-6.5-2^27", BF16_SPIKES, 27, 1, 0, false, 900, 1500, WCODEC_PREDICT_NONE, 6.5},
    {"lossy-rows-4.5-2^27", BF16_ROWS, 27, 1, 0, false, 900, 1500, WCODEC_PREDICT_NONE, 4.5},
    {"lossy-rows-7.5-2^27", BF16_ROWS, 27, 1, 0, false, 900, 1500, WCODEC_PREDICT_NONE, 7.5},
    {"lossy-f32-7.5-2^27", F32, 27, 1, 0, false, 900, 1500, WCODEC_PREDICT_NONE, 7.5},
    {"lossy-plain-2^27-p8", BF16, 27, 1, WCODEC_P8, false, 0, 0, WCODEC_PREDICT_NONE, 4.5},
    {"lossy-dct-2^27-p12", FIELD16, 27, 1, WCODEC_P12, false, 0, 0, WCODEC_PREDICT_NONE, 4.5},
    {"lossy-plain-8.5-2^27-p8", BF16, 27, 1, WCODEC_P8, false, 0, 0, WCODEC_PREDICT_NONE, 8.5},
    {"lossy-dct-6.5-2^27", FIELD16, 27, 1, 0, false, 900, 1500, WCODEC_PREDICT_NONE, 6.5},
    {"lossy-dct-7.5-2^27", FIELD16, 27, 1, 0, false, 900, 1500, WCODEC_PREDICT_NONE, 7.5},
    {"lossy-dct-8-2^27", FIELD16, 27, 1, 0, false, 900, 1500, WCODEC_PREDICT_NONE, 8},
    {"lossy-dct-8.5-2^27", FIELD16, 27, 1, 0, false, 900, 1500, WCODEC_PREDICT_NONE, 8.5},
    {"lossy-dct-10-2^27", FIELD16, 27, 1, 0, false, 900, 1500, WCODEC_PREDICT_NONE, 10},
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
    return kind == F32 || kind == BF16_AS_F32 ? 4
           : kind == BF16 || kind == F16 || kind == BF16_SPIKES || kind == BF16_ROWS ||
                   kind == FIXED11 || kind == FIXED12 || kind == FIELD16
               ? 2
               : 1;
}

/* Rows of COLUMNS elements, of which neighbours in both directions are alike. */
enum { COLUMNS = 4096, ROW = 2048 };

enum { FIXED_COLUMNS = 8192, FIXED_COLUMNS_SMALL = 1024 };

static bool is_fixed(const struct row *row)
{
    return row->kind == FIXED11 || row->kind == FIXED12;
}

static float next_normal(uint64_t *s)
{
    float noise = 0;
    for (unsigned k = 0; k < 4; k++) /* nearly Gaussian, of variance 1 */
        noise += ((float)(next_random(s) >> 40) * 0x1p-24f - 0.5f) * 1.7320508f;
    return noise;
}

/* Rows of ROW elements, each with a scale of its own, of which neighbours are alike. */
static void fill_rows(const struct fill *f, size_t piece)
{
    const float rho = 0.9f;
    uint64_t s = f->seed * 0x1000003 + piece;
    float row[ROW], v = 0;
    for (uint64_t i = piece * PIECE; i < (piece + 1) * PIECE && i < f->elements; i += ROW) {
        float most = 0;
        for (unsigned x = 0; x < ROW; x++) {
            v = x ? rho * v + sqrtf(1 - rho * rho) * next_normal(&s) : next_normal(&s);
            row[x] = v;
            most = fabsf(v) > most ? fabsf(v) : most;
        }
        for (unsigned x = 0; x < ROW; x++)
            f->data[i + x] = (uint8_t)lrintf(row[x] * (127 / most));
    }
}

static void fill_field(const struct fill *f, size_t piece)
{
    const float rho = 0.95f;
    uint64_t s = f->seed * 0x1000003 + piece;
    float above[COLUMNS + 1] = {0};
    for (uint64_t i = piece * PIECE; i < (piece + 1) * PIECE && i < f->elements; i += COLUMNS) {
        float left = 0, corner = 0;
        for (unsigned x = 0; x < COLUMNS; x++) {
            const float v = rho * (left + above[x]) - rho * rho * corner +
                            next_normal(&s) * (1 - rho * rho),
                        scaled = v * 0.02f;
            uint32_t b;
            memcpy(&b, &scaled, 4);
            const uint16_t h = (uint16_t)((b + 0x7fff + (b >> 16 & 1)) >> 16);
            int q = (int)lrintf(v * (127 / 4.5f));
            q = q > 127 ? 127 : q < -127 ? -127 : q;
            if (f->kind == FIELD16)
                memcpy(f->data + 2 * (i + x), &h, 2);
            else
                f->data[i + x] = (uint8_t)q;
            corner = above[x];
            above[x] = left = v;
        }
    }
}

static void fill_piece(void *argument, size_t piece)
{
    const struct fill *f = argument;
    if (f->kind >= FIELD8) {
        (f->kind == ROWS8 ? fill_rows : fill_field)(f, piece);
        return;
    }
    uint64_t s = f->seed * 0x1000003 + piece;
    const uint64_t end = (piece + 1) * PIECE < f->elements ? (piece + 1) * PIECE : f->elements;
    for (uint64_t i = piece * PIECE; i < end; i += 2) {
        const float u = ((float)(next_random(&s) >> 40) + 1) * 0x1p-24f,
                    a = (float)(next_random(&s) >> 40) * 0x1p-24f * 6.2831853f,
                    r = sqrtf(-2 * logf(u));
        const float pair[2] = {r * cosf(a), r * sinf(a)};
        for (unsigned k = 0; k < 2 && i + k < end; k++) {
            const float v = f->kind == BF16_SPIKES && next_random(&s) % 4096 == 0 ? 100 * pair[k]
                                                                                  : pair[k],
                        w = 0.02f * v;
            uint32_t b;
            memcpy(&b, &w, 4);
            uint8_t *p = f->data + (i + k) * element_bytes(f->kind);
            const uint16_t h =
                f->kind == F16 ? to_f16(w) : (uint16_t)((b + 0x7fff + (b >> 16 & 1)) >> 16);
            int q = (int)lrintf(v * (127 / 4.5f));
            q = q > 127 ? 127 : q < -127 ? -127 : q;
            switch (f->kind) {
            case BF16:
            case F16:
            case BF16_SPIKES:
            case BF16_ROWS:
            case FIXED11:
                memcpy(p, &h, 2);
                break;
            case FIXED12: {
                const uint64_t any = next_random(&s);
                const uint16_t wide = (uint16_t)((any & 0x807f) | (110 + (any >> 32) % 12) << 7);
                memcpy(p, &wide, 2);
                break;
            }
            case F32:
                memcpy(p, &b, 4);
                break;
            case BF16_AS_F32:
                b = (uint32_t)h << 16;
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
            default: /* fields */
                break;
            }
        }
    }
}

static void check(wcodec_status status, const wcodec_error *err)
{
    if (status != WCODEC_OK) {
        fprintf(stderr, "error: %s\n", err->text);
        exit(1);
    }
}

static int compare_doubles(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

enum { PLUGINS = 16, REPEATS = 101, QUEUED = 64, ALONE = 20 };

struct plugin {
    const char *name;
    const struct wcodec_backend *backend;
    struct wcodec_backend_state *state;
    struct wcodec_device *device;
    struct wcodec_queue *queue, *timed;
    double copy; /* GB/s, read and written */
};

struct bench {
    wcodec_context *context;
    struct wcodec_host host;
    struct plugin plugins[PLUGINS];
    unsigned plugin_count;
    unsigned repeats;
    bool align;
    uint8_t tile_log2;
};

struct tensor {
    struct wcodec_coded coded;
    struct wcodec_tiles *tiles;
    uint8_t *data;
    uint64_t size;
    uint8_t *payload;
    uint64_t begin;  /* of the tiles in the payload */
    uint64_t offset; /* of the payload in its memory: rows of raw bits begin at a multiple of 128
                        bytes */
};

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void make_tensor(struct bench *b, const struct row *row, uint64_t elements, uint64_t seed,
                        struct tensor *t)
{
    wcodec_error err;
    static const wcodec_dtype dtypes[] = {
        WCODEC_DTYPE_BF16, WCODEC_DTYPE_F16,  WCODEC_DTYPE_F32,     WCODEC_DTYPE_F8_E4M3,
        WCODEC_DTYPE_I8,   WCODEC_DTYPE_U8,   WCODEC_DTYPE_F8_E4M3, WCODEC_DTYPE_F32,
        WCODEC_DTYPE_BF16, WCODEC_DTYPE_BF16, WCODEC_DTYPE_BF16,    WCODEC_DTYPE_BF16,
        WCODEC_DTYPE_I8,   WCODEC_DTYPE_BF16, WCODEC_DTYPE_I8};
    const struct wcodec_encode_settings settings = {
        .level = 4,
        .latency = row->latency,
        .tile_log2 = b->tile_log2,
        .profile = row->profile,
        .weights = true,
        .fixed = is_fixed(row),
        .predict = row->lossy > 0 || row->kind >= FIELD8 ? row->predict : WCODEC_PREDICT_NONE,
        .columns = is_fixed(row) ? (row->log2 > 20 ? FIXED_COLUMNS : FIXED_COLUMNS_SMALL)
                   : row->lossy > 0 || row->kind >= FIELD8 ? (row->kind == ROWS8 ? ROW : COLUMNS)
                                                           : 0,
        .lossy = row->lossy > 0 ? WCODEC_LOSSY_BITS : 0,
        .lossy_rows = row->kind == BF16_ROWS,
        .lossy_value = row->lossy};
    t->size = elements * element_bytes(row->kind);
    t->data = malloc(t->size);
    struct fill fill = {row->kind, t->data, elements, seed};
    b->host.run(b->host.opaque, fill_piece, &fill, (size_t)((elements + PIECE - 1) / PIECE));
    check(wcodec_encode_tensor(b->context, &settings, dtypes[row->kind], t->data, t->size,
                               &t->coded, &err),
          &err);
    if (t->coded.coding != (is_fixed(row) ? 6 : row->lossy > 0 ? 5 : row->kind >= FIELD8 ? 4 : 1)) {
        fprintf(stderr, "%s: the encoder chose coding %u\n", row->name, t->coded.coding);
        exit(1);
    }
    uint8_t *payload = malloc(t->coded.payload_size);
    wcodec_coded_join(&t->coded, payload);
    t->payload = payload;
    if (is_fixed(row))
        return;
    t->begin = t->coded.blocks  ? wcodec_blocks_tiles_begin(t->coded.blocks)
               : t->coded.lossy ? wcodec_lossy_tiles_begin(t->coded.lossy)
                                : 0;
    check(wcodec_tiles_read(t->coded.tiling, payload + t->begin, t->coded.payload_size - t->begin,
                            b->host.allocator, &t->tiles, &err),
          &err);
    t->offset =
        b->align ? (128 - (t->begin + t->tiles->area_begin[WCODEC_AREA_RAW]) % 128) % 128 : 0;
}

static void describe(const struct wcodec_tiling *t, char *text, size_t size)
{
    size_t n = 0;
    text[0] = '\0';
    for (unsigned i = 0; i < t->field_count; i++) {
        const struct wcodec_field *f = &t->fields[i];
        n += (size_t)snprintf(text + n, size - n, "%s%c%u", i ? "+" : "",
                              "kr c"[f->kind == 2 ? 3 : f->kind], f -> width);
        if (f->kind == WCODEC_FIELD_CODED)
            n += (size_t)snprintf(text + n, size - n, "%s%s%u%s",
                                  f->profile == WCODEC_PAIRS ? "p"
                                  : f->profile == WCODEC_P8  ? "(P8)"
                                                             : "(P12)",
                                  "x", f->tables, f->run_log2 ? "r" : "");
    }
}

/* Milliseconds of a decoding, `count` times the mean of `many`, one behind the other, after two. */
static void time_decodings(const struct plugin *p, struct wcodec_batch *batch, double *ms,
                           unsigned count, unsigned many)
{
    struct wcodec_event *events[REPEATS + 2];
    wcodec_error err;
    uint64_t nanoseconds;
    for (unsigned i = 0; i < count + 2; i++) {
        for (unsigned k = 0; k < many; k++)
            check(p->backend->batch_decode(p->timed, batch, &err), &err);
        check(p->backend->event_record(p->timed, &events[i], &err), &err);
    }
    check(p->backend->queue_wait(p->timed, &err), &err);
    for (unsigned i = 0; i < count; i++) {
        check(p->backend->event_elapsed(events[i + 1], events[i + 2], &nanoseconds, &err), &err);
        ms[i] = 1e-6 * (double)nanoseconds / many;
    }
    for (unsigned i = 0; i < count + 2; i++)
        p->backend->event_destroy(events[i]);
    qsort(ms, count, sizeof *ms, compare_doubles);
}

/* The same without events, as the host sees it. */
static double time_queued(const struct plugin *p, struct wcodec_batch *batch, unsigned count)
{
    double ms[5];
    wcodec_error err;
    for (unsigned k = 0; k < 5; k++) {
        const double before = seconds();
        for (unsigned i = 0; i < count; i++)
            check(p->backend->batch_decode(p->queue, batch, &err), &err);
        check(p->backend->queue_wait(p->queue, &err), &err);
        ms[k] = 1e3 * (seconds() - before) / count;
    }
    qsort(ms, 5, sizeof *ms, compare_doubles);
    return ms[2];
}

/* Milliseconds of one alone. */
static double time_alone(const struct plugin *p, struct wcodec_batch *batch,
                         struct wcodec_job_result *results)
{
    double ms[ALONE];
    wcodec_error err;
    for (unsigned i = 0; i < ALONE; i++) {
        const double before = seconds();
        check(p->backend->batch_decode(p->queue, batch, &err), &err);
        check(p->backend->batch_results(p->queue, batch, results, &err), &err);
        ms[i] = 1e3 * (seconds() - before);
    }
    qsort(ms, ALONE, sizeof *ms, compare_doubles);
    return ms[ALONE / 2];
}

struct comparison {
    const uint8_t *a, *b;
    uint64_t size;
    uint64_t *different;
};

static void compare_piece(void *argument, size_t i)
{
    const struct comparison *c = argument;
    const uint64_t at = i * 4096 * 1024,
                   n = c->size - at < 4096 * 1024 ? c->size - at : 4096 * 1024;
    if (memcmp(c->a + at, c->b + at, n))
        __atomic_add_fetch(c->different, 1, __ATOMIC_RELAXED);
}

/* The tensors of a row, coded. */
struct row_data {
    struct tensor *tensors;
    struct wcodec_job *jobs;
    struct wcodec_job_result *results;
    uint64_t payload, size;
    double coded_seconds;
};

static bool is_same(struct bench *b, const struct row *row, const struct plugin *p,
                    struct wcodec_memory *out, const struct row_data *data)
{
    uint64_t different = 0;
    wcodec_error err;
    uint8_t *copy = malloc(data->size);
    check(p->backend->copy_out(p->queue, copy, out, 0, data->size, &err), &err);
    check(p->backend->queue_wait(p->queue, &err), &err);
    for (unsigned i = 0; i < row->tensors; i++) {
        const struct tensor *t = &data->tensors[i];
        struct comparison c = {copy + i * t->size,
                               t->coded.approximation ? t->coded.approximation : t->data, t->size,
                               &different};
        b->host.run(b->host.opaque, compare_piece, &c,
                    (size_t)((c.size + 4096 * 1024 - 1) / (4096 * 1024)));
    }
    free(copy);
    return different == 0;
}

static void make_jobs(const struct row *row, const struct plugin *p, const struct row_data *data,
                      struct wcodec_memory *out)
{
    wcodec_error err;
    for (unsigned i = 0; i < row->tensors; i++) {
        const struct tensor *t = &data->tensors[i];
        struct wcodec_memory *payload;
        check(p->backend->memory_allocate(p->device, WCODEC_MEMORY_DEVICE,
                                          t->coded.payload_size + 512, &payload, &err),
              &err);
        check(p->backend->copy_in(p->queue, payload, t->offset, t->payload, t->coded.payload_size,
                                  &err),
              &err);
        data->jobs[i] = (struct wcodec_job){
            .tiles = t->tiles,
            .first = 0,
            .count = t->coded.fixed != NULL ? t->coded.fixed->tiles : t->coded.tiling->tiles,
            .memory = out,
            .destination = i * t->size,
            .verify = true};
        for (unsigned a = 0; a < WCODEC_AREAS; a++)
            data->jobs[i].places[a] = (struct wcodec_area_place){payload, t->offset + t->begin, 0,
                                                                 t->coded.payload_size - t->begin};
        const struct wcodec_fixed *fixed = t->coded.fixed;
        if (fixed != NULL)
            data->jobs[i].places[WCODEC_AREA_VALUES] =
                (struct wcodec_area_place){payload, t->offset + fixed->spilled_begin,
                                           fixed->spilled_begin, 4 * fixed->spilled};
        data->jobs[i].fixed = fixed;
        data->jobs[i].blocks = t->coded.blocks;
        data->jobs[i].lossy = t->coded.lossy;
        data->jobs[i].modes = t->payload;
        data->jobs[i].end = t->size;
    }
    check(p->backend->queue_wait(p->queue, &err), &err);
}

/* The batch, after it was made and ended twice; *ms is the least time. */
static struct wcodec_batch *make_batch(const struct plugin *p, const struct row *row,
                                       const struct row_data *data, double *ms)
{
    wcodec_error err;
    struct wcodec_batch *batch;
    *ms = 1e9;
    for (unsigned i = 0; i < 3; i++) {
        const double before = seconds();
        check(p->backend->batch_create(p->queue, data->jobs, row->tensors, &batch, &err), &err);
        const double took = 1e3 * (seconds() - before);
        *ms = took < *ms ? took : *ms;
        check(p->backend->queue_wait(p->queue, &err), &err);
        if (i < 2)
            p->backend->batch_destroy(batch);
    }
    return batch;
}

static void run_plugin(struct bench *b, const struct row *row, const struct plugin *p,
                       uint64_t elements, struct row_data *data)
{
    static const uint8_t poison[8] = {0xa5};
    wcodec_error err;
    struct wcodec_memory *out;
    double ms[REPEATS], create;
    char text[128];
    check(p->backend->memory_allocate(p->device, WCODEC_MEMORY_DEVICE, data->size, &out, &err),
          &err);
    check(p->backend->fill(p->queue, out, 0, poison, 0, data->size, &err), &err);
    make_jobs(row, p, data, out);
    struct wcodec_batch *batch = make_batch(p, row, data, &create);
    check(p->backend->batch_decode(p->queue, batch, &err), &err);
    check(p->backend->batch_results(p->queue, batch, data->results, &err), &err);
    for (unsigned i = 0; i < row->tensors; i++)
        if (data->results[i].fault)
            printf("%s: tensor %u tile %llu: %s\n", row->name, i,
                   (unsigned long long)data->results[i].tile,
                   wcodec_tile_fault_string(data->results[i].fault));
    const bool same = is_same(b, row, p, out, data);
    const double alone = time_alone(p, batch, data->results),
                 queued = time_queued(p, batch, alone < 1 ? QUEUED : QUEUED / 8);
    time_decodings(p, batch, ms, b->repeats,
                   queued < 1.0 / QUEUED ? QUEUED
                   : queued < 1          ? (unsigned)(1 / queued)
                                         : 1);
    const double s = 1e-3 * ms[b->repeats / 2], rate = 1e-9 * (double)data->size / s,
                 moved = 1e-9 * (double)(data->size + data->payload) / s;
    const struct wcodec_coded *first = &data->tensors[0].coded;
    if (first->fixed != NULL)
        snprintf(text, sizeof text, "fixed1%d", first->fixed->bits - 1);
    else
        describe(first->tiling, text, sizeof text);
    printf(
        "%-20s %-8s %-19s t%-2u %7.4f bits %8.4f ms (%.4f-%.4f) queued %.4f wall %.4f out %5.0f GB/s (queued %.0f) moved %4.0f = %3.0f %%",
        row->name, p->name, text, first->fixed != NULL ? 11 : first->tiling->tile_log2,
        8 * (double)data->payload / (double)(row->tensors * elements), ms[b->repeats / 2], ms[0],
        ms[b->repeats - 1], queued, alone, rate, 1e-6 * (double)data->size / queued, moved,
        100 * moved / p->copy);
    printf(" target %4u aim %4u %s [coded %.1f s, batch %.3f ms]\n", row->target, row->aim,
           same ? "same" : "DIFFERENT", data->coded_seconds, create);
    fflush(stdout);
    p->backend->batch_destroy(batch);
    for (unsigned i = 0; i < row->tensors; i++)
        p->backend->memory_free(data->jobs[i].places[0].memory);
    p->backend->memory_free(out);
}

static void run_row(struct bench *b, const struct row *row, unsigned smaller)
{
    const uint64_t elements = (uint64_t)1 << (row->log2 - smaller);
    struct row_data data = {.tensors = calloc(row->tensors, sizeof *data.tensors),
                            .jobs = calloc(row->tensors, sizeof *data.jobs),
                            .results = calloc(row->tensors, sizeof *data.results)};
    const double start = seconds();
    for (unsigned i = 0; i < row->tensors; i++) {
        make_tensor(b, row, elements, i + 1, &data.tensors[i]);
        data.payload += data.tensors[i].coded.payload_size;
        data.size += data.tensors[i].size;
    }
    data.coded_seconds = seconds() - start;
    for (unsigned i = 0; i < b->plugin_count; i++)
        run_plugin(b, row, &b->plugins[i], elements, &data);
    for (unsigned i = 0; i < row->tensors; i++) {
        wcodec_tiles_free(data.tensors[i].tiles);
        wcodec_coded_free(&data.tensors[i].coded);
        free(data.tensors[i].payload);
        free(data.tensors[i].data);
    }
    free(data.tensors);
    free(data.jobs);
    free(data.results);
}

static double copy_bandwidth(const struct plugin *p, uint64_t size)
{
    enum { COPIES = 11 };
    struct wcodec_memory *from, *to;
    struct wcodec_event *events[COPIES];
    double ms[COPIES - 1];
    uint64_t nanoseconds;
    wcodec_error err;
    check(p->backend->memory_allocate(p->device, WCODEC_MEMORY_DEVICE, size, &from, &err), &err);
    check(p->backend->memory_allocate(p->device, WCODEC_MEMORY_DEVICE, size, &to, &err), &err);
    for (unsigned i = 0; i < COPIES; i++) {
        check(p->backend->copy(p->timed, to, 0, from, 0, size, &err), &err);
        check(p->backend->event_record(p->timed, &events[i], &err), &err);
    }
    check(p->backend->queue_wait(p->timed, &err), &err);
    for (unsigned i = 0; i < COPIES - 1; i++) {
        check(p->backend->event_elapsed(events[i], events[i + 1], &nanoseconds, &err), &err);
        ms[i] = 1e-6 * (double)nanoseconds;
    }
    for (unsigned i = 0; i < COPIES; i++)
        p->backend->event_destroy(events[i]);
    p->backend->memory_free(from);
    p->backend->memory_free(to);
    qsort(ms, COPIES - 1, sizeof *ms, compare_doubles);
    return 2e-6 * (double)size / ms[COPIES / 2];
}

static void open_plugin(struct bench *b, const char *path, uint64_t copy_size)
{
    static const char *const symbols[] = {"wcodec_backend_cuda", "wcodec_backend_opencl"};
    struct wcodec_device_listing listing;
    wcodec_error err;
    struct plugin *p = &b->plugins[b->plugin_count++];
    const char *slash = strrchr(path, '/');
    p->name = slash ? slash + 1 : path;
    void *plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    for (unsigned i = 0; i < 2 && plugin != NULL && p->backend == NULL; i++)
        p->backend = dlsym(plugin, symbols[i]);
    if (p->backend == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
    check(p->backend->open(&b->host, &p->state, &err), &err);
    check(p->backend->device_open(p->state, 0, &p->device, &err), &err);
    check(p->backend->queue_create(p->device, &p->queue, &err), &err);
    check(p->backend->queue_create_timed(p->device, &p->timed, &err), &err);
    p->backend->device_list(p->state, 0, &listing);
    p->copy = copy_bandwidth(p, copy_size);
    printf("%s: %s, %s: copy %.0f GB/s read and written\n", p->name, listing.name, listing.driver,
           p->copy);
}

static bool is_plugin(const char *argument)
{
    const size_t n = strlen(argument);
    return n > 3 && strcmp(argument + n - 3, ".so") == 0;
}

int main(int argc, char **argv)
{
    static struct bench b = {.repeats = 11, .align = true};
    wcodec_options options;
    wcodec_error err;
    unsigned smaller = 0;
    int first = 1;
    while (first < argc && first <= PLUGINS && is_plugin(argv[first]))
        first++;
    const int plugins = first;
    if (argc == 2 && strcmp(argv[1], "-l") == 0) {
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
            puts(rows[i].name);
        return 0;
    }
    if (plugins == 1) {
        fprintf(stderr,
                "usage: %s PLUGIN.so... [-r REPEATS] [-s LOG2] [-a 0] [-t LOG2] [ROW...]\n"
                "       %s -l: the rows' names\n",
                argv[0], argv[0]);
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
    for (int i = 1; i < plugins; i++)
        open_plugin(&b, argv[i], ((uint64_t)2 << 30) >> smaller);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        bool wanted = first >= argc;
        for (int k = first; k < argc; k++)
            wanted = wanted || strncmp(rows[i].name, argv[k], strlen(argv[k])) == 0;
        if (wanted)
            run_row(&b, &rows[i], rows[i].log2 > smaller + 12 ? smaller : 0);
    }
    for (unsigned i = 0; i < b.plugin_count; i++) {
        b.plugins[i].backend->queue_destroy(b.plugins[i].queue);
        b.plugins[i].backend->queue_destroy(b.plugins[i].timed);
        b.plugins[i].backend->device_close(b.plugins[i].device);
        b.plugins[i].backend->close(b.plugins[i].state);
    }
    wcodec_context_destroy(b.context);
    return 0;
}
