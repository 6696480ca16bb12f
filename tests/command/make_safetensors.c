/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* usage: make_safetensors [-s SEED] [-m KEY=VALUE]... OUT NAME:DTYPE:SHAPE:KIND...
 *        make_safetensors [-s SEED] OUT all
 * Writes a safetensors file for the command's tests. SHAPE is 3x4 (empty: rank 0); KIND is gauss,
 * random, zero, text, or same (the data of the tensor before). In NAME, %XX is the byte XX. "all"
 * is one tensor of each dtype, and odd sizes. The same seed gives the same file on every machine.
 */

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_TENSORS = 256, MAX_RANK = 16 };

struct tensor {
    char name[512];
    char dtype[32];
    char kind[16];
    uint64_t shape[MAX_RANK];
    unsigned rank;
    uint64_t size;
};

static uint64_t state;

static uint64_t next_random(void)
{
    /* splitmix64 */
    uint64_t z = (state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* Nearly Gaussian, of standard deviation 1, without the mathematics library's last bits. */
static double next_gauss(void)
{
    uint64_t r = next_random(), sum = 0;
    for (int i = 0; i < 4; i++)
        sum += r >> (16 * i) & 0xffff;
    return ((double)sum - 131070.0) / 37837.0;
}

static unsigned dtype_bits(const char *dtype)
{
    static const struct {
        const char *name;
        unsigned bits;
    } types[] = {
        {"BOOL", 8},    {"U8", 8},          {"I8", 8},          {"F8_E5M2", 8}, {"F8_E4M3", 8},
        {"F8_E8M0", 8}, {"F8_E4M3FNUZ", 8}, {"F8_E5M2FNUZ", 8}, {"U16", 16},    {"I16", 16},
        {"F16", 16},    {"BF16", 16},       {"U32", 32},        {"I32", 32},    {"F32", 32},
        {"U64", 64},    {"I64", 64},        {"F64", 64},        {"C64", 64},    {"F4", 4},
        {"F6_E2M3", 6}, {"F6_E3M2", 6},
    };
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        if (strcmp(types[i].name, dtype) == 0)
            return types[i].bits;
    }
    return 8;
}

static void fail(const char *text, const char *detail)
{
    fprintf(stderr, "make_safetensors: %s %s\n", text, detail);
    exit(99);
}

static void parse_name(const char *from, size_t size, char *to)
{
    size_t n = 0;
    for (size_t i = 0; i < size && n < 500; i++) {
        unsigned byte;
        if (from[i] == '%' && i + 2 < size && sscanf(from + i + 1, "%2x", &byte) == 1) {
            to[n++] = (char)byte;
            i += 2;
        } else {
            to[n++] = from[i];
        }
    }
    to[n] = 0;
}

static void parse_tensor(const char *spec, struct tensor *t)
{
    const char *dtype = strchr(spec, ':'), *shape = dtype ? strchr(dtype + 1, ':') : NULL,
               *kind = shape ? strchr(shape + 1, ':') : NULL;
    if (!kind || kind - shape > 200)
        fail("not NAME:DTYPE:SHAPE:KIND:", spec);
    parse_name(spec, (size_t)(dtype - spec), t->name);
    snprintf(t->dtype, sizeof t->dtype, "%.*s", (int)(shape - dtype - 1), dtype + 1);
    snprintf(t->kind, sizeof t->kind, "%s", kind + 1);
    uint64_t elements = 1;
    t->rank = 0;
    for (const char *p = shape + 1; p < kind && t->rank < MAX_RANK; p++) {
        char *end;
        t->shape[t->rank] = strtoull(p, &end, 10);
        elements *= t->shape[t->rank++];
        p = end;
    }
    t->size = elements * dtype_bits(t->dtype) / 8;
}

static void put_name(FILE *f, const char *name)
{
    for (const unsigned char *p = (const unsigned char *)name; *p; p++) {
        if (*p < 0x20 || *p == '"' || *p == '\\')
            fprintf(f, "\\u%04x", *p);
        else
            fputc(*p, f);
    }
}

static void put_header(FILE *f, const struct tensor *tensors, size_t count, char **metadata,
                       size_t metadata_count)
{
    uint64_t at = 0;
    fputc('{', f);
    if (metadata_count) {
        fputs("\"__metadata__\":{", f);
        for (size_t i = 0; i < metadata_count; i++)
            fprintf(f, "%s\"%.*s\":\"%s\"", i ? "," : "", (int)strcspn(metadata[i], "="),
                    metadata[i], strchr(metadata[i], '=') ? strchr(metadata[i], '=') + 1 : "");
        fprintf(f, "}%s", count ? "," : "");
    }
    for (size_t i = 0; i < count; i++) {
        const struct tensor *t = &tensors[i];
        fputs(i ? ",\"" : "\"", f);
        put_name(f, t->name);
        fprintf(f, "\":{\"dtype\":\"%s\",\"shape\":[", t->dtype);
        for (unsigned d = 0; d < t->rank; d++)
            fprintf(f, "%s%llu", d ? "," : "", (unsigned long long)t->shape[d]);
        fprintf(f, "],\"data_offsets\":[%llu,%llu]}", (unsigned long long)at,
                (unsigned long long)(at + t->size));
        at += t->size;
    }
    fputc('}', f);
}

/* The bits of one element of `bytes` bytes. */
static uint64_t next_element(const struct tensor *t, unsigned bytes)
{
    double g = next_gauss() * 0.02;
    float single = (float)g;
    uint32_t bits;
    uint64_t wide;
    memcpy(&bits, &single, sizeof bits);
    if (strcmp(t->dtype, "BF16") == 0)
        return bits >> 16;
    if (strcmp(t->dtype, "F32") == 0)
        return bits;
    if (strcmp(t->dtype, "F64") == 0) {
        memcpy(&wide, &g, sizeof wide);
        return wide;
    }
    if (strcmp(t->dtype, "C64") == 0)
        return bits | (uint64_t)(bits ^ 0x80000000u) << 32;
    if (strcmp(t->dtype, "F16") == 0) {
        int exponent = (int)(bits >> 23 & 0xff) - 112;
        return (bits >> 16 & 0x8000) |
               (exponent > 0 ? (uint32_t)exponent << 10 | (bits >> 13 & 0x3ff) : 0);
    }
    if (strcmp(t->dtype, "BOOL") == 0)
        return g > 0.01;
    /* Integers and 8-bit floats: a bell around zero. */
    long long v = llround(g * (bytes == 1 ? 1500 : 100000));
    return (uint64_t)v;
}

static void put_data(FILE *f, const struct tensor *t)
{
    unsigned bits = dtype_bits(t->dtype), bytes = bits >= 8 ? bits / 8 : 1;
    static const char text[] = "the quick brown fox jumps over the lazy dog; ";
    for (uint64_t i = 0; i < t->size / bytes; i++) {
        uint64_t v = strcmp(t->kind, "random") == 0 ? next_random()
                     : strcmp(t->kind, "zero") == 0 ? 0
                     : strcmp(t->kind, "text") == 0 ? (uint64_t)text[i % (sizeof text - 1)]
                                                    : next_element(t, bytes);
        for (unsigned b = 0; b < bytes; b++)
            fputc((int)(v >> (8 * b) & 0xff), f);
    }
}

static size_t parse_all(struct tensor *tensors)
{
    static const char *const specs[] = {
        "blocks.0.bf16:BF16:100x257:gauss",
        "blocks.0.f16:F16:33x1000:gauss",
        "blocks.0.f32:F32:129x129:gauss",
        "blocks.0.f64:F64:3x5000:gauss",
        "c64:C64:7000:gauss",
        "i8:I8:200x200:gauss",
        "u8:U8:200x200:gauss",
        "bool:BOOL:9000:gauss",
        "f8.e5m2:F8_E5M2:20000:gauss",
        "f8.e4m3:F8_E4M3:20000:gauss",
        "f8.e8m0:F8_E8M0:20000:gauss",
        "f8.e4m3fnuz:F8_E4M3FNUZ:20000:random",
        "f8.e5m2fnuz:F8_E5M2FNUZ:20000:gauss",
        "u16:U16:9001:gauss",
        "i16:I16:9001:gauss",
        "u32:U32:9001:gauss",
        "i32:I32:9001:gauss",
        "u64:U64:9001:gauss",
        "i64:I64:9001:gauss",
        "f4:F4:64x200:random",
        "f6a:F6_E2M3:64x200:gauss",
        "f6b:F6_E3M2:64x200:random",
        "empty:F32:0x7:gauss",
        "scalar:F32::gauss",
        "one:I64:1:gauss",
        "constant:BF16:50000:zero",
        "twin.a:BF16:40x1024:gauss",
        "twin.b:BF16:40x1024:same",
        "tile:BF16:4096:gauss",
        "tile.less:BF16:4095:gauss",
        "tile.more:BF16:4097:gauss",
        "words:U8:100000:text",
        "noise:BF16:70000:random",
        "odd:U8:3:random",
        "misaligned:F32:3001:gauss",
    };
    size_t count = sizeof specs / sizeof specs[0];
    for (size_t i = 0; i < count; i++)
        parse_tensor(specs[i], &tensors[i]);
    return count;
}

int main(int argc, char **argv)
{
    static struct tensor tensors[MAX_TENSORS];
    char *metadata[16];
    size_t metadata_count = 0, count = 0;
    int i = 1;
    state = 1;
    for (; i + 1 < argc && argv[i][0] == '-'; i += 2) {
        if (strcmp(argv[i], "-s") == 0)
            state = strtoull(argv[i + 1], NULL, 10);
        else if (strcmp(argv[i], "-m") == 0 && metadata_count < 16)
            metadata[metadata_count++] = argv[i + 1];
        else
            fail("unknown option", argv[i]);
    }
    if (i >= argc)
        fail("no output", "");
    const char *path = argv[i++];
    for (; i < argc && count < MAX_TENSORS; i++) {
        if (strcmp(argv[i], "all") == 0)
            count = parse_all(tensors);
        else
            parse_tensor(argv[i], &tensors[count++]);
    }
    FILE *header = tmpfile(), *f = fopen(path, "wb");
    if (!header || !f)
        fail("cannot open", path);
    put_header(header, tensors, count, metadata, metadata_count);
    uint64_t length = (uint64_t)ftell(header);
    for (unsigned b = 0; b < 8; b++)
        fputc((int)(length >> (8 * b) & 0xff), f);
    rewind(header);
    for (int c; (c = getc(header)) != EOF;)
        fputc(c, f);
    uint64_t before = state;
    for (size_t k = 0; k < count; k++) {
        if (k > 0 && strcmp(tensors[k].kind, "same") == 0)
            state = before;
        before = state;
        put_data(f, &tensors[k]);
    }
    fclose(header);
    if (ferror(f) || fclose(f) != 0)
        fail("cannot write", path);
    return 0;
}
