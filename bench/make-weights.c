/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Synthetic checkpoints: make-weights KIND ELEMENTS OUT [SEED] KIND: bf16, f16, f32, f32-of-bf16
 * (Gaussian, sigma 0.02), i8 (Gaussian rows of 4096, each scaled to 127), f8 (e4m3, Gaussian, sigma
 * 20), zeros (bf16, half of them 0), noise (u8). ELEMENTS: a number, or 2^N. The same seed gives
 * the same file. Takes a little-endian machine for granted. */
#include "bench/floats.h"
#include "bench/random.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROW = 4096 };

/* Two numbers of a standard normal distribution (Box and Muller). */
static void gaussian_pair(double out[2])
{
    const double u = ((double)(random_next() >> 11) + 1) * 0x1p-53,
                 v = (double)(random_next() >> 11) * 0x1p-53;
    const double radius = sqrt(-2 * log(u)), angle = 6.283185307179586 * v;
    out[0] = radius * cos(angle);
    out[1] = radius * sin(angle);
}

static void fill_row_i8(uint8_t *out, size_t count)
{
    static double row[ROW];
    double most = 1e-9;
    for (size_t i = 0; i < count; i += 2)
        gaussian_pair(row + i);
    for (size_t i = 0; i < count; i++)
        most = fmax(most, fabs(row[i]));
    for (size_t i = 0; i < count; i++)
        out[i] = (uint8_t)(int8_t)nearbyint(row[i] * 127 / most);
}

static void store(const char *kind, uint8_t *out, size_t i, double v)
{
    uint32_t bits = 0;
    unsigned bytes = 2;
    if (strcmp(kind, "bf16") == 0) {
        bits = bf16_bits(0.02 * v);
    } else if (strcmp(kind, "zeros") == 0) {
        bits = random_next() & 1 ? bf16_bits(0.02 * v) : 0;
    } else if (strcmp(kind, "f16") == 0) {
        bits = small_float(0.02 * v, 5, 10);
    } else if (strcmp(kind, "f8") == 0) {
        bits = small_float(20 * v, 4, 3);
        bytes = 1;
    } else {
        bits = strcmp(kind, "f32") == 0 ? f32_bits(0.02 * v) : bf16_bits(0.02 * v) << 16;
        bytes = 4;
    }
    memcpy(out + i * bytes, &bits, bytes);
}

static void fill(const char *kind, uint8_t *out, size_t count)
{
    double pair[2];
    if (strcmp(kind, "i8") == 0)
        for (size_t i = 0; i < count; i += ROW)
            fill_row_i8(out + i, count - i < ROW ? count - i : ROW);
    else if (strcmp(kind, "noise") == 0)
        for (size_t i = 0; i < count; i++)
            out[i] = (uint8_t)random_next();
    else
        for (size_t i = 0; i < count; i++) {
            if (i % 2 == 0)
                gaussian_pair(pair);
            store(kind, out, i, pair[i % 2]);
        }
}

int main(int argc, char **argv)
{
    static const struct {
        const char *kind, *dtype;
        unsigned bytes;
    } kinds[] = {{"bf16", "BF16", 2},       {"f16", "F16", 2}, {"f32", "F32", 4},
                 {"f32-of-bf16", "F32", 4}, {"i8", "I8", 1},   {"f8", "F8_E4M3", 1},
                 {"zeros", "BF16", 2},      {"noise", "U8", 1}};
    size_t k = 0;
    while (argc >= 4 && k < sizeof kinds / sizeof *kinds && strcmp(kinds[k].kind, argv[1]) != 0)
        k++;
    if (argc < 4 || argc > 5 || k == sizeof kinds / sizeof *kinds) {
        fprintf(
            stderr,
            "usage: make-weights bf16|f16|f32|f32-of-bf16|i8|f8|zeros|noise ELEMENTS OUT [SEED]\n");
        return 2;
    }
    const uint64_t count = strncmp(argv[2], "2^", 2) == 0
                               ? UINT64_C(1) << strtoul(argv[2] + 2, NULL, 10)
                               : strtoull(argv[2], NULL, 10);
    random_state = argc == 5 ? strtoull(argv[4], NULL, 0) : 1;
    const uint64_t size = count * kinds[k].bytes;
    uint8_t *data = malloc((size_t)size + 1);
    char header[256];
    const int length = snprintf(header, sizeof header,
                                "{\"weight\":{\"dtype\":\"%s\",\"shape\":[%" PRIu64
                                "],\"data_offsets\":[0,%" PRIu64 "]}}",
                                kinds[k].dtype, count, size);
    const uint64_t word = (uint64_t)length;
    FILE *f = fopen(argv[3], "wb");
    if (!data || !f) {
        perror(argv[3]);
        return 1;
    }
    fill(argv[1], data, (size_t)count);
    if (fwrite(&word, 8, 1, f) != 1 || fwrite(header, (size_t)word, 1, f) != 1 ||
        fwrite(data, 1, (size_t)size, f) != size || fclose(f) != 0) {
        perror(argv[3]);
        return 1;
    }
    free(data);
    return 0;
}
