/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* huf0, and ZipNN's published design on top of it, decoding beside memcpy and zstd -1 in the same
 * run, one thread: Gaussian bf16, its exponent bytes coded by huf0 in blocks and the bytes of sign
 * and mantissa kept, joined after decoding in the first-level cache; and Gaussian int8, all of it
 * coded. bench/cpu-decode prints the same ratios of wcodec's decoder. Built by bench/peers/Makefile
 * where the sources of FiniteStateEntropy are (ZipNN's Python package has them). */
#include "../timing.h"

#include <huf.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

enum { ROUNDS = 7, COUNT = 1 << 24, BLOCK = HUF_BLOCKSIZE_MAX, SMALL = 1 << 15 };

static void *take(size_t size)
{
    void *p = malloc(size);
    if (!p)
        exit(1);
    return memset(p, 1, size);
}

static double deviate(uint64_t *seed)
{
    double sum = -6;
    for (unsigned i = 0; i < 12; i++) {
        *seed = *seed * 6364136223846793005u + 1442695040888963407u;
        sum += (double)(*seed >> 11) * 0x1p-53;
    }
    return sum;
}

/* Blocks of bytes coded by huf0; one that does not shrink is kept. */
struct coded {
    uint8_t *bytes;
    size_t sizes[COUNT / SMALL], total, block;
};

static void encode(const uint8_t *data, size_t block, struct coded *c)
{
    c->bytes = take(2 * COUNT);
    c->total = 0;
    c->block = block;
    for (size_t i = 0; i < COUNT / block; i++) {
        size_t size =
            HUF_compress(c->bytes + c->total, HUF_compressBound(block), data + i * block, block);
        if (HUF_isError(size) || size <= 1 || size >= block) {
            memcpy(c->bytes + c->total, data + i * block, block);
            size = block;
        }
        c->sizes[i] = size;
        c->total += size;
    }
}

static size_t decode(const struct coded *c, size_t i, const uint8_t *from, uint8_t *to)
{
    if (c->sizes[i] == c->block)
        memcpy(to, from, c->block);
    else if (HUF_decompress(to, c->block, from, c->sizes[i]) != c->block)
        exit(1);
    return c->sizes[i];
}

/* rest: the other byte of each element (sign in its top bit), NULL: there is none. */
static void decode_all(const struct coded *c, const uint8_t *rest, uint8_t *out)
{
    static uint8_t part[BLOCK];
    const uint8_t *from = c->bytes;
    for (size_t i = 0; i < COUNT / c->block; i++) {
        from += decode(c, i, from, rest ? part : out + i * c->block);
        for (size_t k = 0; rest && k < c->block; k++) {
            const uint16_t r = rest[i * c->block + k],
                           e = (uint16_t)((r & 0x80) << 8 | part[k] << 7 | (r & 0x7f));
            memcpy(out + 2 * (i * c->block + k), &e, 2);
        }
    }
}

static void run(const char *name, const uint8_t *data, size_t size, const uint8_t *field,
                const uint8_t *rest)
{
    uint8_t *out = take(size), *packed = take(ZSTD_compressBound(size));
    const size_t packed_size = ZSTD_compress(packed, ZSTD_compressBound(size), data, size, 1);
    double copies[ROUNDS], unpacks[ROUNDS], times[ROUNDS];
    for (unsigned i = 0; i < ROUNDS; i++) {
        const double start = now();
        memcpy(out, data, size);
        const double between = now();
        if (ZSTD_decompress(out, size, packed, packed_size) != size)
            exit(1);
        copies[i] = between - start;
        unpacks[i] = now() - between;
    }
    const double copy = median(copies, ROUNDS), zstd = median(unpacks, ROUNDS);
    printf("%s: memcpy %.2f GB/s, zstd -1 %.2f\n", name, 1e-9 * (double)size / copy,
           1e-9 * (double)size / zstd);
    for (size_t block = SMALL; block <= BLOCK; block *= 2) {
        static struct coded c;
        encode(field, block, &c);
        for (unsigned i = 0; i < ROUNDS; i++) {
            const double start = now();
            decode_all(&c, rest, out);
            times[i] = now() - start;
        }
        const double t = median(times, ROUNDS);
        if (memcmp(out, data, size))
            exit(1);
        printf(
            "  blocks of %3zu KiB, %.3f bits an element: %.2f GB/s, %.2f of memcpy, %.1f x zstd\n",
            block >> 10, 8 * ((double)c.total + (rest ? COUNT : 0)) / COUNT,
            1e-9 * (double)size / t, copy / t, zstd / t);
        free(c.bytes);
    }
    free(packed);
    free(out);
}

int main(void)
{
    uint8_t *bf16 = take(2 * COUNT), *exponents = take(COUNT), *rest = take(COUNT),
            *int8 = take(COUNT);
    uint64_t seed = 7;
    for (size_t i = 0; i < COUNT; i++) {
        const double v = deviate(&seed);
        const float f = (float)(0.02 * v);
        uint32_t b;
        memcpy(&b, &f, 4);
        const uint16_t e = (uint16_t)((b + 0x7fff + (b >> 16 & 1)) >> 16);
        memcpy(bf16 + 2 * i, &e, 2);
        exponents[i] = (uint8_t)(e >> 7);
        rest[i] = (uint8_t)((e >> 8 & 0x80) | (e & 0x7f));
        int8[i] = (uint8_t)(int8_t)fmax(fmin(round(v * 127 / 4.5), 127), -127);
    }
    run("bf16, exponents by huf0 (ZipNN's design)", bf16, 2 * COUNT, exponents, rest);
    run("int8, all bytes by huf0", int8, COUNT, int8, NULL);
    return 0;
}
