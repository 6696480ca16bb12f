/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Any bytes as tensors of any dtype, or as a file, compressed with any options: what comes back
 * must be the same, and not much larger. With loss, it must be as large, and the same where no
 * tensor is said to be approximated. */
#include "format/index.h"
#include "fuzz/exercise.h"
#include "fuzz/fuzz.h"
#include <wcodec/writer.h>

const char fuzz_target[] = "round_trip";
const bool fuzz_takes_files = true;

struct growing {
    uint8_t *data;
    size_t size;
    size_t room;
};

static int append(void *opaque, const void *data, size_t size)
{
    struct growing *g = opaque;
    if (size > g->room - g->size) {
        g->room = 2 * (g->size + size);
        g->data = realloc(g->data, g->room);
        FUZZ_REQUIRE(g->data);
    }
    if (size)
        memcpy(g->data + g->size, data, size);
    g->size += size;
    return 0;
}

static void take_options(struct wcodec_cursor *c, wcodec_encode_options *options)
{
    const uint8_t bits = fuzz_take(c);
    wcodec_encode_options_init(options);
    const uint8_t more = fuzz_take(c);
    options->level = 1 + more % 9;
    options->predict = (wcodec_predict)(more / 9 % 8);
    options->lossy = (wcodec_lossy_target)(more / 72); /* 0 to 3 */
    options->lossy_value = options->lossy == WCODEC_LOSSY_SNR     ? bits % 100
                           : options->lossy == WCODEC_LOSSY_ERROR ? 1.0 / (1 + bits)
                                                                  : (1 + bits % 100) / 8.0;
    options->lossy_scale = options->lossy != WCODEC_LOSSY_ERROR && more % 2
                               ? WCODEC_LOSSY_SCALE_ROW
                               : WCODEC_LOSSY_SCALE_TENSOR;
    options->profile = (wcodec_profile)(bits & 3);
    options->tile_log2 = bits & 4 ? 12 + (bits >> 3) % 5u : 0;
    options->tune = bits & 0x40 ? WCODEC_TUNE_LATENCY : WCODEC_TUNE_SIZE;
    options->raw = bits & 0x80 ? 1 : 0;
}

static void round_trip(const uint8_t *data, size_t size, const wcodec_encode_options *options)
{
    struct growing coded = {NULL, 0, 0};
    wcodec_error err = {0};
    wcodec_encode_report report;
    const wcodec_status status =
        wcodec_compress_memory(fuzz_context(), data, size, append, &coded, options, &report, &err);
    if (status != WCODEC_OK)
        fprintf(stderr, "%s\n", err.text);
    FUZZ_REQUIRE(status == WCODEC_OK && report.size == size && report.coded_size == coded.size);
    FUZZ_REQUIRE(coded.size <= size + size / 1000 + 4096);
    struct exercise_result result;
    exercise_file(fuzz_context(), coded.data, coded.size, &result);
    FUZZ_REQUIRE(result.status == WCODEC_OK && result.size == size &&
                 (report.lossy || memcmp(result.restored, data, size) == 0));
    FUZZ_REQUIRE(!report.lossy || options->lossy != WCODEC_LOSSY_NONE);
    fuzz_deep++;
    free(result.restored);
    free(coded.data);
}

/* A safetensors file of one tensor, so that the coder sees the bytes as this dtype; its size is cut
 * to whole rows of `columns` elements. */
static uint8_t *as_tensor(wcodec_dtype dtype, size_t columns, const uint8_t *data, size_t size,
                          size_t *total)
{
    const unsigned bits = wcodec_dtype_bits(dtype), bytes = bits % 8 ? 3 : bits / 8;
    const size_t count = size / bytes / columns * columns, used = count * bytes;
    char text[200];
    const int n =
        snprintf(text, sizeof text,
                 "{\"t\":{\"dtype\":\"%s\",\"shape\":[%zu,%zu],\"data_offsets\":[0,%zu]}}",
                 wcodec_dtype_name(dtype), used * 8 / bits / columns, columns, used);
    uint8_t *file = malloc(8 + (size_t)n + used);
    FUZZ_REQUIRE(file);
    wcodec_store_u64(file, (uint64_t)n);
    memcpy(file + 8, text, (size_t)n);
    if (used)
        memcpy(file + 8 + n, data, used);
    *total = 8 + (size_t)n + used;
    return file;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct wcodec_cursor c = {data, data + size};
    wcodec_encode_options options;
    take_options(&c, &options);
    static const uint8_t widths[] = {1, 16, 17, 100, 1, 48, 255, 1, 64, 3, 1, 16};
    const uint8_t kind = fuzz_take(&c);
    const wcodec_dtype dtype = (wcodec_dtype)(1 + kind % 22);
    /* Each byte may stand for many, so that small inputs fill tiles. */
    const uint8_t repeat = fuzz_take(&c), noise = fuzz_take(&c);
    const size_t left = wcodec_cursor_left(&c), times = repeat & 1 ? 1 + repeat : 1;
    uint8_t *bytes = malloc(left * times + 1);
    FUZZ_REQUIRE(bytes);
    for (size_t i = 0; i < left * times; i++)
        bytes[i] = (uint8_t)(c.at[i % left] ^ (i * 2654435761u >> 13 & noise));
    size_t total;
    uint8_t *file = as_tensor(dtype, widths[kind / 22], bytes,
                              left * times < 200000 ? left * times : 200000, &total);
    round_trip(file, total, &options);
    free(file);
    if (repeat % 8 == 0)
        round_trip(bytes, left * times, &options);
    free(bytes);
    return 0;
}
