/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* What many small tensors cost: small [-l LEVEL] [-n TENSORS] [-r REPETITIONS] [-w WORK] [-k KIND]
 * [-o FOLDER] [FILE...]. Checkpoints of TENSORS (2000) tensors of 4 KiB of bf16 and of f32, one of
 * tensors of several types and of 64 bytes to 16 KiB, and one of ten times as many of 100 bytes,
 * each beside the same numbers as one tensor of a type. One thread, from memory to memory, by
 * turns; medians of the process's own time as GB/s of the checkpoint, and the ratio, which shall be
 * a third. Then what the index takes for a tensor beyond its name, as it is decoded and in the
 * file. A FILE is measured as it is. -w: one of the works alone; -k: one of the checkpoints. -o:
 * the checkpoints made are kept there. */
#define PROGRAM "small"
#include "bench/program.h"
#include "bench/floats.h"
#include "bench/random.h"
#include "bench/timing.h"

#include <stdbool.h>
#include <unistd.h>

enum { WORKS = 4, REPETITIONS_MAX = 1000, HEADER_OF_TENSOR = 128 };

static const struct {
    const char *dtype;
    unsigned bytes;
} types[] = {{"BF16", 2}, {"F32", 4}, {"F16", 2}, {"I8", 1}};
enum { TYPES = sizeof types / sizeof *types };

/* Sizes in elements of the tensors of a mixed checkpoint: norms, biases, LoRA's and small layers'.
 */
static const unsigned rows[] = {1, 64, 4, 1, 31, 48, 1, 16, 8, 100, 1, 3},
                      columns[] = {128, 64, 320, 768, 33, 96, 32, 77, 1, 27, 1000, 768};
enum { SHAPES = sizeof rows / sizeof *rows };

struct checkpoint {
    uint8_t *data, *decoded;
    size_t size;
    struct sink coded;
    wcodec_reader *reader;
};

enum { KINDS = 4, MIXED = TYPES };

/* Each has so many times the tensors asked for. */
static const struct {
    const char *name;
    unsigned type, rows, columns, times;
} kinds[KINDS] = {{"bf16", 0, 32, 64, 1},
                  {"f32", 1, 16, 64, 1},
                  {"mixed", MIXED, 0, 0, 1},
                  {"tiny", 0, 2, 25, 10}};

static wcodec_context *context;
static const char *wanted, *wanted_kind;
static int level = 3;

static void encode(struct checkpoint *c, int no_verify)
{
    wcodec_encode_options options;
    wcodec_error err;
    wcodec_encode_options_init(&options);
    options.no_verify = no_verify;
    options.level = level;
    c->coded.size = 0;
    check(
        wcodec_compress_memory(context, c->data, c->size, append, &c->coded, &options, NULL, &err),
        &err);
}

static void encode_only(struct checkpoint *c)
{
    encode(c, 1);
}

static void encode_verify(struct checkpoint *c)
{
    encode(c, 0);
}

/* Opened anew: to read the index is part of it. */
static void open_again(struct checkpoint *c)
{
    wcodec_error err;
    wcodec_reader_close(c->reader);
    check(wcodec_reader_open_memory(context, c->coded.data, c->coded.size, &c->reader, &err), &err);
}

static void test(struct checkpoint *c)
{
    wcodec_error err;
    open_again(c);
    check(wcodec_reader_test(c->reader, 0, 0, NULL, &err), &err);
}

static void load(struct checkpoint *c)
{
    wcodec_error err;
    uint64_t size;
    open_again(c);
    const uint64_t count = wcodec_reader_tensor_count(c->reader);
    wcodec_load_item *items = calloc((size_t)count + 1, sizeof *items);
    if (items == NULL)
        fail("out of memory");
    check(wcodec_load_layout(c->reader, 1, items, &size, &err), &err);
    for (uint64_t i = 0; i < count; i++)
        items[i].destination = (uint64_t)(uintptr_t)c->decoded;
    check(wcodec_load(c->reader, items, (size_t)count, NULL, NULL, &err), &err);
    free(items);
}

static const struct {
    const char *name;
    void (*work)(struct checkpoint *c);
} works[WORKS] = {{"compress, not verified", encode_only},
                  {"compress", encode_verify},
                  {"test", test},
                  {"load", load}};

/* Median seconds of each checkpoint. */
static void measure(struct checkpoint *c, unsigned count, void (*work)(struct checkpoint *c),
                    unsigned repetitions, double *seconds)
{
    static double times[2][REPETITIONS_MAX];
    for (unsigned r = 0; r <= repetitions; r++) /* the first brings memory into shape */
        for (unsigned i = 0; i < count; i++) {
            const double begin = process_time();
            work(&c[i]);
            times[i][r ? r - 1 : 0] = process_time() - begin;
        }
    for (unsigned i = 0; i < count; i++)
        seconds[i] = median(times[i], repetitions);
}

/* The second checkpoint is what the first is compared with. */
static void compare(const char *name, struct checkpoint *c, unsigned count, unsigned repetitions)
{
    for (unsigned w = 0; w < WORKS; w++) {
        double seconds[2];
        if (wanted && strcmp(wanted, works[w].name) != 0)
            continue;
        measure(c, count, works[w].work, repetitions, seconds);
        printf("| %s, %s | %.3f |", name, works[w].name, 1e-9 * (double)c[0].size / seconds[0]);
        if (count == 2)
            printf(" %.3f | %.2f |", 1e-9 * (double)c[1].size / seconds[1],
                   (double)c[0].size / seconds[0] / ((double)c[1].size / seconds[1]));
        printf("\n");
        fflush(stdout);
    }
    for (unsigned i = 0; i < count; i++) {
        wcodec_reader_close(c[i].reader);
        free(c[i].coded.data);
        free(c[i].decoded);
    }
}

static void prepare(struct checkpoint *c)
{
    c->coded.capacity = c->size + c->size / 4 + 65536;
    c->coded.data = malloc(c->coded.capacity);
    c->decoded = malloc(c->size + 1);
    if (!c->coded.data || !c->decoded)
        fail("out of memory");
    memset(c->coded.data, 1, c->coded.capacity);
    memset(c->decoded, 1, c->size + 1);
}

struct tensor {
    unsigned type, rows, columns;
};

static size_t tensor_size(const struct tensor *t)
{
    return (size_t)t->rows * t->columns * types[t->type].bytes;
}

static void fill(uint8_t *out, const struct tensor *t)
{
    const double scale = 0.01 + 0.05 * uniform();
    for (size_t i = 0; i < (size_t)t->rows * t->columns; i++) {
        const double v = scale * gaussian();
        const uint32_t bits = t->type == 0   ? bf16_bits(v)
                              : t->type == 1 ? f32_bits(v)
                              : t->type == 2 ? small_float(v, 5, 10)
                                             : (uint32_t)(int32_t)nearbyint(800 * v);
        memcpy(out + i * types[t->type].bytes, &bits, types[t->type].bytes);
    }
}

/* A checkpoint of these tensors whose bytes are `body`. */
static void make(struct checkpoint *c, const struct tensor *tensors, size_t count,
                 const uint8_t *body, size_t body_size)
{
    char *header = malloc(HEADER_OF_TENSOR * count + 64), *end = header;
    size_t at = 0;
    if (header == NULL)
        fail("out of memory");
    for (size_t i = 0; i < count; i++) {
        const struct tensor *t = &tensors[i];
        end += sprintf(end,
                       "%c\"layers.%zu.weight\":{\"dtype\":\"%s\",\"shape\":[%u,%u],"
                       "\"data_offsets\":[%zu,%zu]}",
                       i ? ',' : '{', i, types[t->type].dtype, t->rows, t->columns, at,
                       at + tensor_size(t));
        at += tensor_size(t);
    }
    end += sprintf(end, "}%*s", (int)(8 - (end + 1 - header) % 8) % 8, "");
    const uint64_t length = (uint64_t)(end - header);
    c->size = 8 + (size_t)length + body_size;
    c->data = malloc(c->size);
    if (c->data == NULL)
        fail("out of memory");
    memcpy(c->data, &length, 8);
    memcpy(c->data + 8, header, (size_t)length);
    memcpy(c->data + 8 + length, body, body_size);
    free(header);
}

static void keep(const struct checkpoint *c, const char *folder, const char *name,
                 const char *which)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s-%s.safetensors", folder, name, which);
    FILE *f = fopen(path, "wb");
    if (f == NULL || fwrite(c->data, 1, c->size, f) != c->size || fclose(f) != 0) {
        perror(path);
        exit(1);
    }
}

/* What the index takes for each tensor, decoded and in the file, without the names and their
 * lengths. The tail says how many bytes it has (doc/format.md 1.2). */
static void print_index(const char *name, const struct checkpoint *c, size_t names, size_t count)
{
    uint64_t sizes[2]; /* coded, decoded */
    memcpy(sizes, c->coded.data + c->coded.size - 56, sizeof sizes);
    printf(
        "| %s, index of a tensor: bytes beyond its name, with it in the file | %.1f | %.1f | |\n",
        name, (double)(sizes[1] - names) / (double)count, (double)sizes[0] / (double)count);
}

/* Bytes of the names that make() gives, with their lengths. */
static size_t size_of_names(size_t count)
{
    size_t size = 0;
    for (size_t i = 0; i < count; i++)
        size += (size_t)snprintf(NULL, 0, "layers.%zu.weight", i) + 1;
    return size;
}

/* `count` tensors, by types, beside one of each type. */
static void made(unsigned kind, size_t count, unsigned repetitions, const char *folder)
{
    const char *name = kinds[kind].name;
    const bool mixed = kinds[kind].type == MIXED;
    struct tensor *tensors = malloc(count * sizeof *tensors), whole[TYPES];
    struct checkpoint c[2] = {0};
    size_t size = 0, of_type[TYPES] = {0}, n = 0;
    unsigned wholes = 0;
    if (tensors == NULL)
        fail("out of memory");
    for (unsigned type = 0; type < TYPES; type++) {
        if (!mixed && type != kinds[kind].type)
            continue;
        for (size_t i = mixed ? type : 0; i < count; i += mixed ? TYPES : 1) {
            const size_t shape = i / TYPES % SHAPES;
            tensors[n] = mixed ? (struct tensor){type, rows[shape], columns[shape]}
                               : (struct tensor){type, kinds[kind].rows, kinds[kind].columns};
            of_type[type] += tensor_size(&tensors[n]);
            size += tensor_size(&tensors[n++]);
        }
        if (of_type[type] > 0)
            whole[wholes++] =
                (struct tensor){type, 1, (unsigned)(of_type[type] / types[type].bytes)};
    }
    uint8_t *body = malloc(size + 4);
    if (body == NULL)
        fail("out of memory");
    for (size_t i = 0, at = 0; i < n; at += tensor_size(&tensors[i++]))
        fill(body + at, &tensors[i]);
    make(&c[0], tensors, n, body, size);
    make(&c[1], whole, wholes, body, size);
    for (unsigned i = 0; i < 2; i++) {
        if (folder)
            keep(&c[i], folder, name, i ? "whole" : "small");
        prepare(&c[i]);
        encode_verify(&c[i]);
    }
    print_index(name, &c[0], size_of_names(n), n);
    compare(name, c, 2, repetitions);
    for (unsigned i = 0; i < 2; i++)
        free(c[i].data);
    free(body);
    free(tensors);
}

static void file(const char *path, unsigned repetitions)
{
    struct checkpoint c = {0};
    const char *slash = strrchr(path, '/');
    FILE *f = fopen(path, "rb");
    if (f == NULL || fseek(f, 0, SEEK_END) != 0) {
        perror(path);
        exit(1);
    }
    c.size = (size_t)ftell(f);
    rewind(f);
    c.data = malloc(c.size + 1);
    if (c.data == NULL || fread(c.data, 1, c.size, f) != c.size) {
        perror(path);
        exit(1);
    }
    fclose(f);
    prepare(&c);
    encode_verify(&c);
    compare(slash ? slash + 1 : path, &c, 1, repetitions);
    free(c.data);
}

int main(int argc, char **argv)
{
    size_t count = 2000;
    unsigned repetitions = 21;
    const char *folder = NULL;
    for (int option; (option = getopt(argc, argv, "l:n:r:w:k:o:")) != -1;) {
        if (option == 'n')
            count = strtoul(optarg, NULL, 10);
        else if (option == 'r')
            repetitions = (unsigned)strtoul(optarg, NULL, 10);
        else if (option == 'l')
            level = (int)strtol(optarg, NULL, 10);
        else if (option == 'w')
            wanted = optarg;
        else if (option == 'k')
            wanted_kind = optarg;
        else if (option == 'o')
            folder = optarg;
        else
            return 2;
    }
    if (count < TYPES || count > 1000000 || repetitions < 1 || repetitions >= REPETITIONS_MAX)
        fail("at least 4 tensors and one repetition");
    context = open_context(1);
    printf("| one thread, GB/s | small tensors | one of a type | ratio |\n| --- | --- | --- | --- "
           "|\n");
    for (unsigned k = 0; k < KINDS; k++)
        if (wanted_kind == NULL || strcmp(wanted_kind, kinds[k].name) == 0)
            made(k, count * kinds[k].times, repetitions, folder);
    for (int i = optind; i < argc; i++)
        file(argv[i], repetitions);
    wcodec_context_destroy(context);
    return 0;
}
