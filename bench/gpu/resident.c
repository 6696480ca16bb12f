/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* How long a model takes to become resident in a device's memory, its matrices at a fixed rate,
 * beside loading it decoded: to memory that is there before, and to memory made for it.
 *
 *   gpu-resident BACKEND LAYERS FILE [ROUNDS]
 *
 * The matrices of so many layers of a decoder of 8 billion parameters, Gaussian bf16, in a file
 * that is made if it is not there, and stays; the three in turn, medians and least of ROUNDS
 * (default 7, odd) after a first one. Behind that what the thread that makes them resident did, as
 * the library logs it. */
#define PROGRAM "gpu-resident"
#include "bench/gpu/weights.h"
#include "bench/program.h"
#include "bench/timing.h"

#include <fcntl.h>
#include <unistd.h>

enum { ROUNDS_MAX = 101 };

static const struct {
    const char *name;
    uint64_t shape[2];
} matrices[] = {{"q", {4096, 4096}},    {"k", {1024, 4096}},     {"v", {1024, 4096}},
                {"o", {4096, 4096}},    {"gate", {14336, 4096}}, {"up", {14336, 4096}},
                {"down", {4096, 14336}}};
enum { MATRICES = sizeof matrices / sizeof matrices[0] };

static uint64_t size_of(unsigned i)
{
    return 2 * matrices[i].shape[0] * matrices[i].shape[1];
}

static int write_coded(void *opaque, const void *data, size_t size)
{
    for (const uint8_t *p = data; size > 0;) {
        const ssize_t n = write(*(const int *)opaque, p, size);
        if (n < 0)
            fail("cannot write the model");
        p += n;
        size -= (size_t)n;
    }
    return 0;
}

static void make_model(wcodec_context *context, unsigned layers, const char *path)
{
    wcodec_encode_options options;
    wcodec_writer *writer;
    wcodec_error err;
    const uint64_t most = size_of(MATRICES - 1);
    uint8_t *data = take_pages(2 * most);
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (file < 0)
        fail("cannot create the model");
    wcodec_encode_options_init(&options);
    options.level = 1;
    options.no_verify = 1;
    check(wcodec_writer_create(context, write_coded, &file, &options, &writer, &err), &err);
    for (unsigned i = 0; i < layers * MATRICES; i++) {
        char name[32];
        snprintf(name, sizeof name, "layers.%u.%s", i / MATRICES, matrices[i % MATRICES].name);
        check(wcodec_writer_declare(writer, name, WCODEC_DTYPE_BF16, matrices[i % MATRICES].shape,
                                    2, &err),
              &err);
    }
    for (size_t i = 0; i < most / TASK; i++)
        fill_task(&(struct tensor){data, 1}, i);
    memcpy(data + most, data, most);
    /* The same weights, beginning elsewhere. */
    for (unsigned i = 0; i < layers * MATRICES; i++)
        check(wcodec_writer_data(writer, data + (uint64_t)i * 60000 % most, size_of(i % MATRICES),
                                 &err),
              &err);
    wcodec_encode_report report;
    check(wcodec_writer_finish(writer, &report, &err), &err);
    wcodec_writer_destroy(writer);
    close(file);
    free(data);
    printf("%.2f GB in %u matrices, compressed %.4f\n", (double)report.size / 1e9,
           layers * MATRICES, (double)report.coded_size / (double)report.size);
}

static void print_line(void *opaque, wcodec_log_level level, const char *text)
{
    (void)opaque;
    (void)level;
    if (strncmp(text, "resident:", 9) == 0)
        puts(text);
}

static double load(const wcodec_reader *reader, wcodec_load_item *items, size_t count,
                   const wcodec_buffer *buffer, const char *backend)
{
    wcodec_load_options options;
    wcodec_error err;
    wcodec_load_options_init(&options);
    options.memory = backend;
    for (size_t i = 0; i < count; i++)
        items[i].destination = wcodec_buffer_native(buffer);
    const double begin = wall();
    check(wcodec_load(reader, items, count, &options, NULL, &err), &err);
    return wall() - begin;
}

static double make_resident(const wcodec_reader *reader, const char *backend,
                            wcodec_resident **resident)
{
    wcodec_resident_options options;
    wcodec_error err;
    wcodec_resident_options_init(&options);
    options.memory = backend;
    options.form = WCODEC_RESIDENT_FIXED;
    const double begin = wall();
    check(wcodec_resident_create(reader, NULL, 0, &options, resident, &err), &err);
    return wall() - begin;
}

static void print(const char *what, double *times, unsigned rounds, uint64_t size, double load)
{
    const double t = median(times, rounds);
    printf("%-10s %7.1f ms (%.1f to %.1f) %6.1f GB/s %6.3f\n", what, 1e3 * t, 1e3 * times[0],
           1e3 * times[rounds - 1], (double)size / t / 1e9, t / load);
}

int main(int argc, char **argv)
{
    static double kept[ROUNDS_MAX], made[ROUNDS_MAX], resident_in[ROUNDS_MAX];
    wcodec_options options;
    wcodec_context *context;
    wcodec_reader *reader;
    wcodec_buffer *buffer, *fresh;
    wcodec_error err;
    if (argc < 4)
        fail("usage: gpu-resident BACKEND LAYERS FILE [ROUNDS]");
    const char *path = argv[3];
    const unsigned layers = (unsigned)strtoul(argv[2], NULL, 10),
                   rounds = argc > 4 ? (unsigned)strtoul(argv[4], NULL, 10) : 7;
    if (layers == 0 || rounds == 0 || rounds > ROUNDS_MAX)
        fail("LAYERS or ROUNDS is out of range");
    wcodec_options_init(&options);
    options.backend = argv[1];
    options.log = print_line;
    options.log_level = WCODEC_LOG_DEBUG;
    check(wcodec_context_create(&options, &context, &err), &err);
    if (access(path, F_OK) != 0)
        make_model(context, layers, path);
    check(wcodec_reader_open_path(context, path, &reader, &err), &err);
    const size_t count = layers * MATRICES;
    wcodec_load_item *items = calloc(count, sizeof *items);
    uint64_t needed;
    if (items == NULL)
        fail("out of memory");
    check(wcodec_load_layout(reader, 0, items, &needed, &err), &err);
    check(wcodec_buffer_create(context, needed, &buffer, &err), &err);
    for (unsigned i = 0; i <= rounds; i++) {
        wcodec_resident *resident;
        const unsigned n = i > 0 ? i - 1 : 0;
        kept[n] = load(reader, items, count, buffer, argv[1]);
        const double begin = wall();
        check(wcodec_buffer_create(context, needed, &fresh, &err), &err);
        load(reader, items, count, fresh, argv[1]);
        made[n] = wall() - begin;
        wcodec_buffer_destroy(fresh);
        load(reader, items, count, buffer, argv[1]);
        resident_in[n] = make_resident(reader, argv[1], &resident);
        wcodec_resident_destroy(resident);
    }
    const double least = median(kept, rounds);
    print("kept", kept, rounds, needed, least);
    print("allocated", made, rounds, needed, least);
    print("resident", resident_in, rounds, needed, least);
    wcodec_buffer_destroy(buffer);
    wcodec_reader_close(reader);
    wcodec_context_destroy(context);
    free(items);
    return 0;
}
