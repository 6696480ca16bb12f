/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Messages between two snapshots of weights in a device's memory: made there, and applied in place.
 *
 *   gpu-deltas BACKEND [LOG2 [TENSORS]]
 *
 * bf16 weights, in one tensor or in TENSORS of equal size, some of which were changed as by an
 * optimizer. Times are of whole calls by the wall clock, medians; rates are of original bytes. To
 * apply one message and then the one that goes back leaves weights as they were. */
#define PROGRAM "gpu-deltas"
#include "bench/floats.h"
#include "bench/program.h"
#include "bench/random.h"
#include "bench/timing.h"
#include <wcodec.h>

enum { ROUNDS = 11, ENCODINGS = 5, TENSORS_MOST = 4096, BLOCK_LOG2 = 22 };

struct snapshot {
    uint16_t *data;
    wcodec_buffer *buffer;
    wcodec_save_item host[TENSORS_MOST], device[TENSORS_MOST];
};

static uint64_t shape[1];
static char names[TENSORS_MOST][8];

static void declare(struct snapshot *s, size_t tensors)
{
    for (size_t i = 0; i < tensors; i++) {
        const uint64_t size = 2 * shape[0];
        snprintf(names[i], sizeof names[i], "%zu", i);
        s->host[i] =
            (wcodec_save_item){.name = names[i],
                               .dtype = WCODEC_DTYPE_BF16,
                               .rank = 1,
                               .shape = shape,
                               .source = (uint64_t)(uintptr_t)((uint8_t *)s->data + i * size),
                               .size = size};
        s->device[i] = s->host[i];
        s->device[i].source = wcodec_buffer_native(s->buffer);
        s->device[i].offset = i * size;
    }
}

/* To the device's memory, by way of a file in memory. */
static void load(wcodec_context *context, struct snapshot *s, size_t tensors, const char *backend)
{
    static wcodec_load_item items[TENSORS_MOST];
    struct sink file = {NULL, 0, 0};
    wcodec_save_options save;
    wcodec_load_options options;
    wcodec_reader *reader;
    wcodec_error err;
    wcodec_save_options_init(&save);
    wcodec_load_options_init(&options);
    save.write = append;
    save.opaque = &file;
    options.memory = backend;
    check(wcodec_save(context, s->host, tensors, &save, NULL, &err), &err);
    check(wcodec_reader_open_memory(context, file.data, file.size, &reader, &err), &err);
    for (size_t i = 0; i < tensors; i++)
        check(wcodec_reader_find(reader, names[i], &items[i].tensor, &err), &err);
    for (size_t i = 0; i < tensors; i++) {
        items[i].destination = s->device[i].source;
        items[i].offset = s->device[i].offset;
        items[i].size = s->device[i].size;
    }
    check(wcodec_load(reader, items, tensors, &options, NULL, &err), &err);
    wcodec_reader_close(reader);
    free(file.data);
}

/* +-1 to 3 units in the last place, halving in frequency. */
static void change(uint16_t *data, size_t elements, double rate)
{
    for (size_t i = 0; i < elements; i++) {
        if (uniform() >= rate)
            continue;
        const double u = 7 * uniform();
        const int units = u < 4 ? 1 : u < 6 ? 2 : 3;
        data[i] = (uint16_t)(random_next() & 1 ? data[i] + units : data[i] - units);
    }
}

struct message {
    void *bytes;
    size_t size;
};

static double encode(wcodec_context *context, const struct snapshot *from,
                     const struct snapshot *to, size_t tensors, const char *backend,
                     struct message *m)
{
    wcodec_delta_encode_options options;
    wcodec_error err;
    wcodec_delta_encode_options_init(&options);
    options.before_memory = options.after_memory = backend;
    const double begin = wall();
    check(wcodec_delta_encode(context, from->device, tensors, to->device, tensors, &options,
                              &m->bytes, &m->size, NULL, &err),
          &err);
    return wall() - begin;
}

static double apply(wcodec_context *context, const struct message *m, const struct snapshot *s,
                    size_t tensors, const char *backend, wcodec_delta_verify verify)
{
    wcodec_delta_apply_options options;
    wcodec_error err;
    wcodec_delta_apply_options_init(&options);
    options.memory = backend;
    options.verify = verify;
    const double begin = wall();
    check(wcodec_delta_apply(context, m->bytes, m->size, s->device, tensors, &options, NULL, &err),
          &err);
    return wall() - begin;
}

static void expect(const struct snapshot *s, const uint16_t *data, size_t size)
{
    void *got = malloc(size);
    wcodec_error err;
    if (got == NULL)
        fail("out of memory");
    check(wcodec_buffer_read(s->buffer, 0, got, size, &err), &err);
    if (memcmp(got, data, size) != 0)
        fail("the message gives other weights");
    free(got);
}

static void run(wcodec_context *context, const char *backend, size_t elements, size_t tensors,
                double rate)
{
    static struct snapshot before, after;
    const size_t size = 2 * elements;
    struct message forth, back;
    double times[2][ROUNDS];
    wcodec_error err;
    const double bytes = 1e-9 * (double)size;
    before.data = malloc(size);
    after.data = malloc(size);
    if (before.data == NULL || after.data == NULL)
        fail("out of memory");
    for (size_t i = 0; i < elements; i++)
        before.data[i] = i >> BLOCK_LOG2 != 0 ? before.data[i & (((size_t)1 << BLOCK_LOG2) - 1)]
                                              : (uint16_t)bf16_bits(0.02 * gaussian());
    memcpy(after.data, before.data, size);
    change(after.data, elements, rate);
    shape[0] = elements / tensors;
    check(wcodec_buffer_create(context, size, &before.buffer, &err), &err);
    check(wcodec_buffer_create(context, size, &after.buffer, &err), &err);
    declare(&before, tensors);
    declare(&after, tensors);
    load(context, &before, tensors, backend);
    load(context, &after, tensors, backend);
    double encoding[ENCODINGS];
    for (unsigned i = 0; i < ENCODINGS; i++) {
        if (i > 0)
            wcodec_delta_free(context, forth.bytes);
        encoding[i] = encode(context, &before, &after, tensors, backend, &forth);
    }
    encode(context, &after, &before, tensors, backend, &back);
    printf("| %zu of %zu bf16, %g %% changed | %.4f | %.1f |", tensors, elements / tensors,
           100 * rate, 8 * (double)forth.size / (double)elements,
           bytes / median(encoding, ENCODINGS));
    static const wcodec_delta_verify verify[] = {WCODEC_DELTA_VERIFY_BEFORE,
                                                 WCODEC_DELTA_VERIFY_AFTER};
    for (unsigned v = 0; v < 2; v++) {
        for (unsigned i = 0; i < ROUNDS; i++) {
            times[v][i] = apply(context, &forth, &before, tensors, backend, verify[v]);
            if (i == 0)
                expect(&before, after.data, size);
            apply(context, &back, &before, tensors, backend, verify[v]);
        }
        expect(&before, before.data, size);
        printf(" %.0f |", bytes / median(times[v], ROUNDS));
    }
    printf("\n");
    fflush(stdout);
    wcodec_delta_free(context, forth.bytes);
    wcodec_delta_free(context, back.bytes);
    wcodec_buffer_destroy(before.buffer);
    wcodec_buffer_destroy(after.buffer);
    free(before.data);
    free(after.data);
}

int main(int argc, char **argv)
{
    const size_t elements = (size_t)1 << (argc > 2 ? atoi(argv[2]) : 24);
    const size_t tensors = argc > 3 ? (size_t)atoi(argv[3]) : 1;
    wcodec_options options;
    wcodec_context *context;
    wcodec_error err;
    if (argc < 2 || tensors < 1 || tensors > TENSORS_MOST || elements % tensors != 0)
        fail("usage: gpu-deltas BACKEND [LOG2 [TENSORS]]");
    wcodec_options_init(&options);
    options.backend = argv[1];
    check(wcodec_context_create(&options, &context, &err), &err);
    printf("| %s | bits an element | encode GB/s | apply GB/s | results only |\n"
           "| --- | --- | --- | --- | --- |\n",
           argv[1]);
    static const double rates[] = {0.001, 0.02};
    for (unsigned i = 0; i < 2; i++)
        run(context, argv[1], elements, tensors, rates[i]);
    wcodec_context_destroy(context);
    return 0;
}
