/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* What deltas take: bf16 weights of which some were changed as by an optimizer, beside their
 * entropy, and f32 weights that were fine-tuned, beside coding them alone and zstd --patch-from.
 *
 *     deltas [BINARY LOGARITHM OF ELEMENTS [messages]]
 *
 * With "messages", messages between two snapshots in memory: their bits, and the rates of making
 * and applying them.
 * A file of as many bytes is made in TMPDIR, or /tmp, and removed again. Times are of one thread of
 * the processor, the least of three. */
#define PROGRAM "deltas"
#define ZSTD_STATIC_LINKING_ONLY
#include "bench/floats.h"
#include "bench/program.h"
#include "bench/random.h"
#include "bench/timing.h"
#include <stdbool.h>
#include <unistd.h>
#include <zstd.h>

enum { ROUNDS = 3, ZSTD_LEVEL = 19 };

/* A safetensors file of one tensor. */
struct model {
    uint8_t *file;
    size_t size, header, elements;
};

static struct model make_model(const char *dtype, unsigned width, size_t elements)
{
    char text[160];
    const int n = snprintf(text + 8, sizeof text - 8,
                           "{\"w\":{\"dtype\":\"%s\",\"shape\":[%zu],\"data_offsets\":[0,%zu]}}",
                           dtype, elements, elements * width);
    const uint64_t length = (uint64_t)n;
    memcpy(text, &length, 8);
    struct model m = {NULL, 8 + (size_t)n + elements * width, 8 + (size_t)n, elements};
    m.file = malloc(m.size);
    if (m.file == NULL)
        fail("out of memory");
    memcpy(m.file, text, m.header);
    return m;
}

static struct model copy_model(const struct model *m)
{
    struct model copy = *m;
    copy.file = malloc(m->size);
    if (copy.file == NULL)
        fail("out of memory");
    memcpy(copy.file, m->file, m->size);
    return copy;
}

static void write_file(const char *path, const struct model *m)
{
    FILE *f = fopen(path, "wb");
    if (f == NULL || fwrite(m->file, 1, m->size, f) != m->size || fclose(f) != 0)
        fail("cannot write a file");
}

/* +-1 to 3 units in the last place, halving in frequency. */
static void step(struct model *m, double rate)
{
    for (size_t i = 0; i < m->elements; i++) {
        uint16_t v;
        if (uniform() >= rate)
            continue;
        const double u = 7 * uniform();
        const int units = u < 4 ? 1 : u < 6 ? 2 : 3;
        memcpy(&v, m->file + m->header + 2 * i, 2);
        v = (uint16_t)(random_next() & 1 ? v + units : v - units);
        memcpy(m->file + m->header + 2 * i, &v, 2);
    }
}

/* Bits an element of that. */
static double entropy(double rate)
{
    const double value = 1 - (4 * log2(4. / 7) + 2 * log2(2. / 7) + log2(1. / 7)) / 7;
    return -rate * log2(rate) - (rate < 1 ? (1 - rate) * log2(1 - rate) : 0) + rate * value;
}

static size_t compress(wcodec_context *context, const struct model *m, const wcodec_bases *bases,
                       struct sink *out, double *seconds)
{
    wcodec_encode_options options;
    wcodec_error err;
    wcodec_encode_options_init(&options);
    options.bases = bases;
    options.no_verify = 1;
    *seconds = 1e9;
    for (unsigned i = 0; i < ROUNDS; i++) {
        out->size = 0;
        const double begin = process_time();
        check(wcodec_compress_memory(context, m->file, m->size, append, out, &options, NULL, &err),
              &err);
        const double time = process_time() - begin;
        *seconds = time < *seconds ? time : *seconds;
    }
    return out->size;
}

static double decode(wcodec_context *context, const struct model *m, const wcodec_bases *bases,
                     const struct sink *coded)
{
    wcodec_reader *reader;
    wcodec_error err;
    double seconds = 1e9;
    uint8_t *out = malloc(m->size);
    check(wcodec_reader_open_memory(context, coded->data, coded->size, &reader, &err), &err);
    check(wcodec_reader_set_bases(reader, bases, &err), &err);
    for (unsigned i = 0; i < ROUNDS; i++) {
        const double begin = process_time();
        check(wcodec_reader_decode(reader, 0, out, m->size, NULL, &err), &err);
        const double time = process_time() - begin;
        seconds = time < seconds ? time : seconds;
    }
    if (memcmp(out, m->file + m->header, m->size - m->header) != 0)
        fail("other bytes come back");
    wcodec_reader_close(reader);
    free(out);
    return seconds;
}

static size_t patch(const struct model *m, const struct model *base)
{
    const size_t room = ZSTD_compressBound(m->size);
    void *out = malloc(room);
    ZSTD_CCtx *c = ZSTD_createCCtx();
    ZSTD_CCtx_setParameter(c, ZSTD_c_compressionLevel, ZSTD_LEVEL);
    ZSTD_CCtx_setParameter(c, ZSTD_c_enableLongDistanceMatching, 1);
    ZSTD_CCtx_setParameter(c, ZSTD_c_windowLog, 27);
    ZSTD_CCtx_refPrefix(c, base->file, base->size);
    const size_t size = ZSTD_compress2(c, out, room, m->file, m->size);
    if (ZSTD_isError(size))
        fail(ZSTD_getErrorName(size));
    ZSTD_freeCCtx(c);
    free(out);
    return size;
}

static void row(wcodec_context *context, const char *what, const struct model *m,
                const struct model *base, const wcodec_bases *bases, double bound, bool with_patch)
{
    struct sink alone = {NULL, 0, 0}, delta = {NULL, 0, 0};
    double seconds, alone_seconds;
    const double bits = 8 / (double)m->elements, bytes = (double)(m->size - m->header);
    compress(context, m, NULL, &alone, &alone_seconds);
    compress(context, m, bases, &delta, &seconds);
    const double decoding = decode(context, m, bases, &delta);
    printf("| %s | %.4f | ", what, (double)delta.size * bits);
    if (bound > 0)
        printf("%.4f | ", bound);
    else
        printf("- | ");
    printf("%.3f | ", (double)alone.size * bits);
    if (with_patch)
        printf("%.3f | ", (double)patch(m, base) * bits);
    else
        printf("- | ");
    printf("%.2f | %.2f |\n", bytes / seconds * 1e-9, bytes / decoding * 1e-9);
    free(alone.data);
    free(delta.data);
}

static wcodec_bases *bases_of(wcodec_context *context, const char *path, const struct model *base)
{
    wcodec_bases *bases;
    wcodec_error err;
    write_file(path, base);
    check(wcodec_bases_create(context, 0, &bases, &err), &err);
    check(wcodec_bases_add_path(bases, path, &err), &err);
    return bases;
}

static void optimizer_steps(wcodec_context *context, const char *path, size_t elements)
{
    static const double rates[] = {0.0001, 0.001, 0.005, 0.02, 0.05, 0.1, 0.3, 1};
    struct model base = make_model("BF16", 2, elements);
    for (size_t i = 0; i < elements; i++) {
        const uint16_t v = (uint16_t)bf16_bits(0.02 * gaussian());
        memcpy(base.file + base.header + 2 * i, &v, 2);
    }
    wcodec_bases *bases = bases_of(context, path, &base);
    for (unsigned i = 0; i < sizeof rates / sizeof *rates; i++) {
        char what[40];
        struct model m = copy_model(&base);
        step(&m, rates[i]);
        snprintf(what, sizeof what, "bf16, %g %% changed", 100 * rates[i]);
        row(context, what, &m, &base, bases, entropy(rates[i]), false);
        free(m.file);
    }
    wcodec_bases_destroy(bases);
    free(base.file);
}

/* f32 after a fine-tuning: all elements moved by a little, or by a product of two narrow matrices
 * in half of the rows. */
static void fine_tuned(wcodec_context *context, const char *path, size_t elements)
{
    enum { RANK = 8, COLUMNS = 1024 };
    struct model base = make_model("F32", 4, elements), all = copy_model(&base),
                 half = copy_model(&base);
    double narrow[RANK][COLUMNS], left[RANK] = {0};
    for (unsigned r = 0; r < RANK; r++)
        for (unsigned c = 0; c < COLUMNS; c++)
            narrow[r][c] = 0.02 * gaussian();
    for (size_t i = 0; i < elements; i++) {
        const double v = (float)(0.03 * gaussian());
        double moved = 0;
        for (unsigned r = 0; r < RANK; r++) {
            left[r] = i % COLUMNS == 0 ? 0.01 * gaussian() : left[r];
            moved += left[r] * narrow[r][i % COLUMNS];
        }
        const uint32_t bits[3] = {f32_bits(v), f32_bits(v + 2e-4 * gaussian()),
                                  f32_bits(i < elements / 2 ? v : v + moved)};
        memcpy(base.file + base.header + 4 * i, &bits[0], 4);
        memcpy(all.file + all.header + 4 * i, &bits[1], 4);
        memcpy(half.file + half.header + 4 * i, &bits[2], 4);
    }
    wcodec_bases *bases = bases_of(context, path, &base);
    row(context, "f32, all fine-tuned", &all, &base, bases, 0, true);
    row(context, "f32, LoRA merged into half", &half, &base, bases, 0, true);
    wcodec_bases_destroy(bases);
    free(base.file);
    free(all.file);
    free(half.file);
}

static wcodec_save_item item_of(const struct model *m, const uint64_t *shape)
{
    return (wcodec_save_item){.name = "w",
                              .dtype = WCODEC_DTYPE_BF16,
                              .rank = 1,
                              .shape = shape,
                              .source = (uint64_t)(uintptr_t)(m->file + m->header),
                              .size = m->size - m->header};
}

static double make_message(wcodec_context *context, const wcodec_save_item *before,
                           const wcodec_save_item *after, int no_verify, void **message,
                           size_t *size)
{
    wcodec_delta_encode_options options;
    wcodec_encode_options encode;
    wcodec_error err;
    double least = 1e9;
    wcodec_delta_encode_options_init(&options);
    wcodec_encode_options_init(&encode);
    encode.no_verify = no_verify;
    options.encode = &encode;
    *message = NULL;
    for (unsigned i = 0; i < ROUNDS; i++) {
        wcodec_delta_free(context, *message);
        const double begin = process_time();
        check(
            wcodec_delta_encode(context, before, 1, after, 1, &options, message, size, NULL, &err),
            &err);
        const double time = process_time() - begin;
        least = time < least ? time : least;
    }
    return least;
}

static double apply_message(wcodec_context *context, const struct model *base,
                            const struct model *m, const void *message, size_t size,
                            wcodec_delta_verify verify)
{
    struct model weights = copy_model(base);
    const uint64_t shape = m->elements;
    const wcodec_save_item item = item_of(&weights, &shape);
    wcodec_delta_apply_options options;
    wcodec_error err;
    double least = 1e9;
    wcodec_delta_apply_options_init(&options);
    options.verify = verify;
    for (unsigned i = 0; i < ROUNDS; i++) {
        memcpy(weights.file, base->file, base->size);
        const double begin = process_time();
        check(wcodec_delta_apply(context, message, size, &item, 1, &options, NULL, &err), &err);
        const double time = process_time() - begin;
        least = time < least ? time : least;
    }
    if (memcmp(weights.file, m->file, m->size) != 0)
        fail("the message gives other weights");
    free(weights.file);
    return least;
}

static void messages(wcodec_context *context, size_t elements)
{
    static const double rates[] = {0, 0.0001, 0.001, 0.02, 0.1};
    struct model base = make_model("BF16", 2, elements);
    const uint64_t shape = elements;
    for (size_t i = 0; i < elements; i++) {
        const uint16_t v = (uint16_t)bf16_bits(0.02 * gaussian());
        memcpy(base.file + base.header + 2 * i, &v, 2);
    }
    printf("| %zu elements | bytes | bits an element | encode GB/s | unverified | apply GB/s | by "
           "trial | results only |\n| --- | --- | --- | --- | --- | --- | --- | --- |\n",
           elements);
    for (unsigned i = 0; i < sizeof rates / sizeof *rates; i++) {
        struct model m = copy_model(&base);
        const double bytes = 2e-9 * (double)elements;
        void *message;
        size_t size;
        step(&m, rates[i]);
        const wcodec_save_item before = item_of(&base, &shape), after = item_of(&m, &shape);
        const double unverified = make_message(context, &before, &after, 1, &message, &size);
        wcodec_delta_free(context, message);
        const double encoding = make_message(context, &before, &after, 0, &message, &size);
        printf("| bf16, %g %% changed | %zu | %.4f | %.2f | %.2f |", 100 * rates[i], size,
               8 * (double)size / (double)elements, bytes / encoding, bytes / unverified);
        for (unsigned v = WCODEC_DELTA_VERIFY_BEFORE; v <= WCODEC_DELTA_VERIFY_AFTER; v++)
            printf(" %.2f |", bytes / apply_message(context, &base, &m, message, size,
                                                    (wcodec_delta_verify)v));
        printf("\n");
        wcodec_delta_free(context, message);
        free(m.file);
    }
    free(base.file);
}

int main(int argc, char **argv)
{
    const size_t elements = (size_t)1 << (argc > 1 ? atoi(argv[1]) : 24);
    const char *folder = getenv("TMPDIR");
    char path[4096];
    wcodec_context *context = open_context(1);
    if (argc > 2 && strcmp(argv[2], "messages") == 0) {
        messages(context, elements);
        wcodec_context_destroy(context);
        return 0;
    }
    snprintf(path, sizeof path, "%s/wcodec-deltas-XXXXXX", folder != NULL ? folder : "/tmp");
    const int fd = mkstemp(path);
    if (fd < 0)
        fail("cannot make a file");
    close(fd);
    printf("| %zu elements | bits an element | entropy | alone | zstd --patch-from | encode GB/s | "
           "decode GB/s |\n| --- | --- | --- | --- | --- | --- | --- |\n",
           elements);
    optimizer_steps(context, path, elements);
    fine_tuned(context, path, elements / 4);
    unlink(path);
    wcodec_context_destroy(context);
    return 0;
}
