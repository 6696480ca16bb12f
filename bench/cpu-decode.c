/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The CPU decoder, one thread, every level that the machine has and every profile, beside memcpy
 * and zstd -1 in the same run: from and to memory, with ordinary and with streaming stores, within
 * the third-level cache where it has room, and within the second. cpu-decode [BITS [TYPE [LEVEL]]]:
 * 2^BITS Gaussian values (25) of one type or all, one level or all. Medians of the thread's own
 * time, so that other processes weigh less.
 *
 * "Memory alone" is what reading the coded bytes and writing the decoded ones past the caches would
 * give, one after the other, each measured alone: what a decoder that took no time itself would
 * reach if it overlapped nothing. */
#include "backends/cpu/cpu_level.h"
#include "backends/cpu/decode.h"
#define PROGRAM "cpu-decode"
#include "bench/baseline.h"
#include "bench/random.h"
#include "core/error.h"
#include "encode/encode.h"

#include <unistd.h>

enum { ROUNDS = 7, BATCH = 64, CACHED = 1 << 18, CACHED_3 = 8 << 20 };

/* Seconds that moving takes, for so many bytes. */
struct memory {
    size_t size;
    struct baseline base;
    double read, write, copy_stream; /* the last two past the caches; 0 without such stores */
};

static uint64_t bits_of(double value, wcodec_dtype dtype)
{
    const float v = (float)value;
    uint64_t wide;
    uint32_t b;
    memcpy(&b, &v, 4);
    memcpy(&wide, &value, 8);
    switch (dtype) {
    case WCODEC_DTYPE_BF16:
        return (b + 0x7fff + (b >> 16 & 1)) >> 16;
    case WCODEC_DTYPE_F16: /* normal numbers only, the rest is zero */
        return (b >> 23 & 0xff) < 113 ? b >> 31 << 15
                                      : (b >> 31 << 15) | ((b >> 13 & 0x3ffff) - (112 << 10));
    case WCODEC_DTYPE_I8:
        return (uint8_t)(int8_t)fmaxf(fminf(roundf(v / 0.02f * 127 / 4.5f), 127), -127);
    case WCODEC_DTYPE_I16:
        return (uint16_t)(int16_t)(v / 0.02f * 500);
    case WCODEC_DTYPE_I32:
        return (uint32_t)(int32_t)(v / 0.02f * 100000);
    case WCODEC_DTYPE_I64:
        return (uint64_t)(int64_t)(value / 0.02 * 100000);
    case WCODEC_DTYPE_F64:
        return wide;
    default:
        return b;
    }
}

struct decoding {
    struct wcodec_cpu_decoder *decoder;
    const struct wcodec_tiles *tiles;
    struct wcodec_view view;
    uint8_t *out;
};

/* Seconds to decode the first `count` tiles `times` times. */
static double decode(const struct decoding *d, uint64_t count, unsigned times, bool stream)
{
    const struct wcodec_tiling *t = d->tiles->tiling;
    double taken[ROUNDS];
    for (unsigned round = 0; round < ROUNDS; round++) {
        const double start = now();
        for (unsigned k = 0; k < times; k++)
            for (uint64_t first = 0; first < count; first += BATCH) {
                enum wcodec_tile_fault faults[BATCH];
                const unsigned n = (unsigned)(count - first < BATCH ? count - first : BATCH);
                wcodec_cpu_decode_tiles(d->decoder, &d->view, first, n,
                                        d->out + (first << t->tile_log2 << t->element_log2), true,
                                        stream, faults);
                for (unsigned i = 0; i < n; i++)
                    if (faults[i])
                        fail("a tile is damaged");
            }
        taken[round] = (now() - start) / times;
    }
    return median(taken, ROUNDS);
}

/* Bytes of output that stay in the third-level cache together with what they are decoded from; 0:
 * there is no room. */
static size_t third_level(void)
{
#ifdef _SC_LEVEL3_CACHE_SIZE
    return sysconf(_SC_LEVEL3_CACHE_SIZE) >= 3L * CACHED_3 ? CACHED_3 : 0;
#else
    return 0;
#endif
}

/* One row: what a level's functions, with the choices that they are given, do. */
static void run_level(struct decoding *d, const char *name, const uint8_t *data,
                      const struct memory *m)
{
    const struct wcodec_tiling *t = d->tiles->tiling;
    const uint64_t all = t->tiles, tile_bytes = (uint64_t)1 << t->tile_log2 << t->element_log2,
                   cached = CACHED / tile_bytes < all ? CACHED / tile_bytes : all,
                   cached_3 = third_level() / tile_bytes;
    const size_t size = m->size;
    const double plain = decode(d, all, 1, false), stream = decode(d, all, 1, true);
    if (memcmp(d->out, data, size))
        fail("decoded wrongly");
    const double rate = 1e-9 * (double)size, per_byte = m->base.zstd / (double)size;
    printf("  %-7s %6.2f GB/s %5.2f of memcpy %5.1f x zstd | streaming %6.2f %5.2f %5.1f x", name,
           rate / plain, m->base.copy / plain, m->base.zstd / plain, rate / stream,
           m->base.copy / stream, m->base.zstd / stream);
    for (unsigned i = 0; i < 2; i++) {
        const uint64_t tiles_here = i ? cached : cached_3;
        if (tiles_here > 0 && tiles_here < all) {
            const double bytes = (double)(tiles_here * tile_bytes),
                         taken = decode(d, tiles_here, i ? 20 : 2, false);
            printf(" | %s %6.2f %5.1f x", i ? "256 KiB" : "8 MiB", 1e-9 * bytes / taken,
                   per_byte * bytes / taken);
        }
    }
    printf("\n");
}

static void run_levels(const struct wcodec_coded *coded, const char *only, const uint8_t *data,
                       const struct memory *m, uint8_t *out)
{
    const size_t size = m->size;
    struct decoding d = {.out = out};
    struct wcodec_tiles *tiles;
    wcodec_error err;
    uint8_t *payload = take_pages(coded->payload_size);
    wcodec_coded_join(coded, payload);
    if (wcodec_tiles_read(coded->tiling, payload, coded->payload_size, &wcodec_default_allocator,
                          &tiles, &err))
        fail(err.text);
    d.tiles = tiles;
    wcodec_view_whole(payload, &d.view);
    if (m->write > 0)
        printf(", memory alone: %.2f GB/s",
               1e-9 * (double)size /
                   (m->read * (double)coded->payload_size / (double)size + m->write));
    printf("\n");
    for (unsigned level = 0; wcodec_cpu_level_name(level); level++) {
        if (only && strcmp(only, wcodec_cpu_level_name(level)))
            continue;
        /* With the choices that the library makes on this machine, and with the others. */
        const uint32_t levels = wcodec_cpu_levels() & ((2u << level) - 1),
                       tuning = wcodec_cpu_tuning();
        struct wcodec_cpu_dsp dsp[2];
        wcodec_cpu_dsp_init(&dsp[0], levels | tuning);
        wcodec_cpu_dsp_init(&dsp[1], levels | (tuning ^ WCODEC_CPU_TUNINGS));
        const bool chosen = memcmp(&dsp[0], &dsp[1], sizeof dsp[0]) != 0;
        for (unsigned i = 0; i < (chosen ? 2 : 1) && dsp[i].level == level; i++) {
            char name[32];
            snprintf(name, sizeof name, "%s%s", wcodec_cpu_level_name(level), i ? ":other" : "");
            check(wcodec_cpu_decoder_create(&dsp[i], tiles, &wcodec_default_allocator, &d.decoder,
                                            &err),
                  &err);
            run_level(&d, name, data, m);
            wcodec_cpu_decoder_free(d.decoder);
        }
    }
    wcodec_tiles_free(tiles);
    free(payload);
}

/* A word of every line. */
static double read_lines(const uint8_t *data, size_t size)
{
    volatile uint64_t sink; /* so that compilers leave it in */
    uint64_t sum = 0;
    const double start = now();
    for (size_t at = 0; at + 64 <= size; at += 64)
        sum += wcodec_load_u64(data + at);
    sink = sum;
    (void)sink;
    return now() - start;
}

/* All of `size` bytes past the caches by the decoder's last stage, a chunk of 64-bit elements at a
 * time; again: always the same, so that only writing takes time. */
static double write_stream(wcodec_cpu_finish_fn finish, const uint8_t *data, size_t size,
                           bool again, uint8_t *out)
{
    const size_t step = 8 * WCODEC_CPU_CHUNK;
    const double start = now();
    for (size_t at = 0; at + step <= size; at += step)
        finish(3, again ? data : data + at, WCODEC_CPU_CHUNK_GROUPS, 0, out + at, NULL);
    return now() - start;
}

static void measure_memory(const uint8_t *data, size_t size, uint8_t *out, struct memory *m)
{
    double times[3][ROUNDS] = {{0}};
    struct wcodec_cpu_dsp dsp;
    wcodec_cpu_dsp_init(&dsp, wcodec_cpu_levels());
    for (unsigned i = 0; i < ROUNDS; i++) {
        times[0][i] = read_lines(data, size);
        if (dsp.finish_stream != NULL) {
            times[1][i] = write_stream(dsp.finish_stream, data, size, true, out);
            times[2][i] = write_stream(dsp.finish_stream, data, size, false, out);
        }
    }
    *m = (struct memory){size, measure_baseline(data, size, out), median(times[0], ROUNDS),
                         median(times[1], ROUNDS), median(times[2], ROUNDS)};
}

static void run_type(wcodec_context *context, const char *name, wcodec_dtype dtype,
                     unsigned element, size_t count, const char *level)
{
    static const char *const profiles[] = {
        [WCODEC_PAIRS] = "pairs", [WCODEC_P12] = "P12", [WCODEC_P8] = "P8"};
    const size_t size = count * element;
    uint8_t *data = take_pages(size), *out = take_pages(size);
    for (size_t i = 0; i < count; i++) {
        const uint64_t b = bits_of(0.02 * gaussian(), dtype);
        memcpy(data + i * element, &b, element);
    }
    const double rate = 1e-9 * (double)size;
    struct memory m;
    measure_memory(data, size, out, &m);
    printf("%s: memcpy %.2f GB/s, zstd -1 %.2f, reading %.2f", name, rate / m.base.copy,
           rate / m.base.zstd, rate / m.read);
    if (m.write > 0)
        printf(", writing past the caches %.2f, copying so %.2f", rate / m.write,
               rate / m.copy_stream);
    printf("\n");
    for (unsigned profile = WCODEC_PAIRS; profile <= WCODEC_P8; profile++) {
        const struct wcodec_encode_settings settings = {
            .level = 3, .profile = (uint8_t)profile, .weights = true};
        struct wcodec_coded coded;
        wcodec_error err;
        if (wcodec_encode_tensor(context, &settings, dtype, data, size, &coded, &err))
            fail(err.text);
        if (coded.coding == WCODEC_CODING_TILES && coded.unpacked_size == 0) {
            printf(" %s, %.3f bits an element", profiles[profile],
                   8 * (double)coded.payload_size / (double)count);
            run_levels(&coded, level, data, &m, out);
        }
        wcodec_coded_free(&coded);
    }
    free(out);
    free(data);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        wcodec_dtype dtype;
        unsigned element;
    } types[] = {{"bf16", WCODEC_DTYPE_BF16, 2}, {"int8", WCODEC_DTYPE_I8, 1},
                 {"f16", WCODEC_DTYPE_F16, 2},   {"f32", WCODEC_DTYPE_F32, 4},
                 {"i16", WCODEC_DTYPE_I16, 2},   {"i32", WCODEC_DTYPE_I32, 4},
                 {"i64", WCODEC_DTYPE_I64, 8},   {"f64", WCODEC_DTYPE_F64, 8}};
    const int bits = argc > 1 ? atoi(argv[1]) : 25;
    if (bits < 12 || bits > 30)
        fail("2^12 to 2^30 values");
    wcodec_context *context = open_context(1);
    for (unsigned i = 0; i < sizeof types / sizeof types[0]; i++)
        if (argc < 3 || !strcmp(argv[2], types[i].name))
            run_type(context, types[i].name, types[i].dtype, types[i].element, (size_t)1 << bits,
                     argc > 3 ? argv[3] : NULL);
    wcodec_context_destroy(context);
    return 0;
}
