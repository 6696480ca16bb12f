/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Checkpoints to try wcodec on, for scripts/quickstart:
 *
 *   make-checkpoint bf16 IN OUT         F32 tensors rounded to BF16
 *   make-checkpoint int8 IN OUT         F32 matrices as I8, each row scaled by its largest value,
 *                                       beside their scales; the rest as it is
 *   make-checkpoint synthetic OUT       F32 layers of Gaussian weights, the same each time
 *
 * Trusts its input and takes a little-endian machine for granted: it is a tool for examples, not
 * part of wcodec. */
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct tensor {
    char *name;
    const char *dtype;
    uint64_t shape[8];
    unsigned rank;
    void *data;
    uint64_t size;
};

struct checkpoint {
    struct tensor *tensors;
    size_t count;
    json_t *header; /* of a file that was read: owns the names of dtypes */
};

static _Noreturn void fail(const char *what, const char *name)
{
    fprintf(stderr, "make-checkpoint: %s: %s\n", what, name);
    exit(1);
}

static void *need(void *memory)
{
    if (memory == NULL)
        fail("out of memory", "");
    return memory;
}

static uint64_t elements(const struct tensor *t)
{
    uint64_t n = 1;
    for (unsigned d = 0; d < t->rank; d++)
        n *= t->shape[d];
    return n;
}

static struct tensor *add(struct checkpoint *c, const char *name, const char *suffix,
                          const char *dtype, const uint64_t *shape, unsigned rank, uint64_t size)
{
    c->tensors = need(realloc(c->tensors, (c->count + 1) * sizeof *c->tensors));
    struct tensor *t = &c->tensors[c->count++];
    memset(t, 0, sizeof *t);
    const size_t length = strlen(name) + strlen(suffix) + 1;
    t->name = need(malloc(length));
    snprintf(t->name, length, "%s%s", name, suffix);
    t->dtype = dtype;
    t->rank = rank;
    if (rank > 0)
        memcpy(t->shape, shape, rank * sizeof *shape);
    t->size = size;
    t->data = need(calloc(1, size + 1));
    return t;
}

static void read_file(const char *path, struct checkpoint *c)
{
    FILE *file = fopen(path, "rb");
    uint64_t length = 0;
    if (file == NULL || fread(&length, 8, 1, file) != 1 || length > 100000000)
        fail("cannot read", path);
    char *text = need(malloc(length + 1));
    if (fread(text, 1, length, file) != length)
        fail("cannot read", path);
    json_error_t error;
    json_t *header = json_loadb(text, length, 0, &error);
    if (header == NULL)
        fail(error.text, path);
    free(text);
    c->header = header;

    const char *name;
    json_t *entry;
    json_object_foreach(header, name, entry)
    {
        if (strcmp(name, "__metadata__") == 0)
            continue;
        const json_t *shape = json_object_get(entry, "shape");
        const json_t *offsets = json_object_get(entry, "data_offsets");
        const uint64_t begin = (uint64_t)json_integer_value(json_array_get(offsets, 0));
        const uint64_t end = (uint64_t)json_integer_value(json_array_get(offsets, 1));
        const size_t rank = json_array_size(shape);
        uint64_t dims[8];
        if (rank > 8 || end < begin)
            fail("unexpected shape", name);
        for (size_t d = 0; d < rank; d++)
            dims[d] = (uint64_t)json_integer_value(json_array_get(shape, d));
        struct tensor *t = add(c, name, "", json_string_value(json_object_get(entry, "dtype")),
                               dims, (unsigned)rank, end - begin);
        if (fseeko(file, (off_t)(8 + length + begin), SEEK_SET) != 0 ||
            fread(t->data, 1, t->size, file) != t->size)
            fail("cannot read", name);
    }
    fclose(file);
}

static void write_file(const char *path, const struct checkpoint *c)
{
    json_t *header = need(json_object());
    uint64_t offset = 0;
    for (size_t i = 0; i < c->count; i++) {
        const struct tensor *t = &c->tensors[i];
        json_t *shape = need(json_array());
        for (unsigned d = 0; d < t->rank; d++)
            json_array_append_new(shape, json_integer((json_int_t)t->shape[d]));
        json_object_set_new(header, t->name,
                            json_pack("{s:s, s:o, s:[I, I]}", "dtype", t->dtype, "shape", shape,
                                      "data_offsets", (json_int_t)offset,
                                      (json_int_t)(offset + t->size)));
        offset += t->size;
    }
    char *text = need(json_dumps(header, JSON_COMPACT));
    /* The data starts at a multiple of 8. */
    const uint64_t length = (strlen(text) + 7) / 8 * 8;
    FILE *file = fopen(path, "wb");
    if (file == NULL || fwrite(&length, 8, 1, file) != 1 ||
        fprintf(file, "%-*s", (int)length, text) < 0)
        fail("cannot write", path);
    for (size_t i = 0; i < c->count; i++) {
        if (fwrite(c->tensors[i].data, 1, c->tensors[i].size, file) != c->tensors[i].size)
            fail("cannot write", path);
    }
    if (fclose(file) != 0)
        fail("cannot write", path);
    free(text);
    json_decref(header);
}

/* To the nearest, ties to even; a NaN stays one. */
static uint16_t to_bf16(uint32_t bits)
{
    if ((bits & 0x7fffffff) > 0x7f800000)
        return (uint16_t)(bits >> 16 | 0x40);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static void cast_bf16(const struct tensor *t, struct checkpoint *out)
{
    const uint64_t n = elements(t);
    uint16_t *to = add(out, t->name, "", "BF16", t->shape, t->rank, 2 * n)->data;
    const uint32_t *from = t->data;
    for (uint64_t i = 0; i < n; i++)
        to[i] = to_bf16(from[i]);
}

static void cast_int8(const struct tensor *t, struct checkpoint *out)
{
    const uint64_t rows = t->shape[0], columns = t->shape[1];
    float *scales = add(out, t->name, ".scale", "F32", t->shape, 1, 4 * rows)->data;
    int8_t *to = add(out, t->name, "", "I8", t->shape, 2, rows * columns)->data;
    for (uint64_t r = 0; r < rows; r++) {
        const float *row = (const float *)t->data + r * columns;
        float largest = 0;
        for (uint64_t i = 0; i < columns; i++)
            largest = fmaxf(largest, fabsf(row[i]));
        scales[r] = largest / 127;
        const float factor = largest > 0 ? 127 / largest : 0;
        for (uint64_t i = 0; i < columns; i++)
            to[r * columns + i] = (int8_t)lrintf(fmaxf(-127, fminf(127, row[i] * factor)));
    }
}

static void cast(const struct checkpoint *in, struct checkpoint *out, int int8)
{
    for (size_t i = 0; i < in->count; i++) {
        const struct tensor *t = &in->tensors[i];
        const int f32 = strcmp(t->dtype, "F32") == 0 && t->size == 4 * elements(t);
        if (f32 && !int8)
            cast_bf16(t, out);
        else if (f32 && t->rank == 2)
            cast_int8(t, out);
        else
            memcpy(add(out, t->name, "", t->dtype, t->shape, t->rank, t->size)->data, t->data,
                   t->size);
    }
}

/* splitmix64 (Vigna), as a uniform number in (0, 1]. */
static double uniform(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return (double)((z ^ z >> 31) >> 11) * 0x1p-53 + 0x1p-53;
}

static void fill_gaussian(struct tensor *t, uint64_t *state, double deviation)
{
    const double turn = 6.283185307179586;
    float *to = t->data;
    for (uint64_t i = 0; i < elements(t); i++) {
        const double radius = sqrt(-2 * log(uniform(state)));
        to[i] = (float)(deviation * radius * cos(turn * uniform(state)));
    }
}

static void synthesise(struct checkpoint *c)
{
    static const uint64_t embedding[] = {16384, 512}, matrix[] = {1024, 512}, vector[] = {1024};
    uint64_t state = 1;
    char name[64];
    fill_gaussian(add(c, "embed.weight", "", "F32", embedding, 2, 4 * embedding[0] * embedding[1]),
                  &state, 0.05);
    for (unsigned layer = 0; layer < 12; layer++) {
        for (unsigned m = 0; m < 2; m++) {
            snprintf(name, sizeof name, "layer.%u.%s.weight", layer, m ? "out" : "in");
            fill_gaussian(add(c, name, "", "F32", matrix, 2, 4 * matrix[0] * matrix[1]), &state,
                          0.02 + 0.004 * layer);
            snprintf(name, sizeof name, "layer.%u.%s.bias", layer, m ? "out" : "in");
            fill_gaussian(add(c, name, "", "F32", vector, 1, 4 * vector[0]), &state, 0.1);
        }
    }
}

static void release(struct checkpoint *c)
{
    for (size_t i = 0; i < c->count; i++) {
        free(c->tensors[i].name);
        free(c->tensors[i].data);
    }
    free(c->tensors);
    json_decref(c->header);
}

int main(int argc, char **argv)
{
    struct checkpoint in = {NULL, 0, NULL}, out = {NULL, 0, NULL};
    if (argc == 3 && strcmp(argv[1], "synthetic") == 0) {
        synthesise(&out);
        write_file(argv[2], &out);
    } else if (argc == 4 && (strcmp(argv[1], "bf16") == 0 || strcmp(argv[1], "int8") == 0)) {
        read_file(argv[2], &in);
        cast(&in, &out, strcmp(argv[1], "int8") == 0);
        write_file(argv[3], &out);
    } else {
        fprintf(stderr, "usage: make-checkpoint bf16|int8 IN OUT | synthetic OUT\n");
        return 2;
    }
    release(&in);
    release(&out);
    return 0;
}
