/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* From the page cache to a device's memory: wcodec_load() of a model beside a raw copy of the
 * uncompressed file, which is read, staged in pinned memory and copied over several streams in just
 * the same way.
 *
 *   gpu-load BACKEND GIB FOLDER [REPEATS]
 *
 * Makes a model of bf16 tensors of 2^26 Gaussian weights in the folder, compresses it, and prints
 * for each setting the best of REPEATS (default 3), since the file must have been read once, and
 * the processor's time of one, which is what bounds it where cores are few. To two devices:
 * gpu-two.
 */
#include "bench/gpu/raw.h"
#include "bench/gpu/weights.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wcodec.h>

enum { TENSOR = 1 << 27 };

static void write_all(int fd, const void *data, size_t size)
{
    for (const uint8_t *p = data; size > 0;) {
        ssize_t n = write(fd, p, size < 1 << 30 ? size : 1 << 30);
        if (n < 0) {
            perror("gpu-load: write");
            exit(1);
        }
        p += n;
        size -= (size_t)n;
    }
}

static int write_coded(void *opaque, const void *data, size_t size)
{
    write_all(*(const int *)opaque, data, size);
    return 0;
}

static int open_file(const char *folder, const char *name, int flags, char path[4096])
{
    snprintf(path, 4096, "%s/%s", folder, name);
    int fd = open(path, flags | O_CLOEXEC, 0600);
    if (fd < 0) {
        perror(path);
        exit(1);
    }
    return fd;
}

static void make_files(wcodec_context *context, const char *folder, uint64_t tensors, int *raw,
                       char path[4096])
{
    wcodec_encode_options options;
    wcodec_writer *writer;
    wcodec_error err;
    const uint64_t shape[2] = {TENSOR / 2 / 4096, 4096};
    int coded = open_file(folder, "model.wcodec", O_RDWR | O_CREAT | O_TRUNC, path);
    *raw = open_file(folder, "model.raw", O_RDWR | O_CREAT | O_TRUNC, (char[4096]){0});
    uint8_t *data = malloc(TENSOR);
    wcodec_encode_options_init(&options);
    options.no_verify = 1;
    check(wcodec_writer_create(context, write_coded, &coded, &options, &writer, &err), &err);
    for (uint64_t i = 0; i < tensors; i++) {
        char name[32];
        snprintf(name, sizeof name, "layer.%u.weight", (unsigned)i);
        check(wcodec_writer_declare(writer, name, WCODEC_DTYPE_BF16, shape, 2, &err), &err);
    }
    for (uint64_t i = 0; i < tensors; i++) {
        struct tensor t = {data, i};
        wcodec_run(context, fill_task, &t, TENSOR / TASK);
        write_all(*raw, data, TENSOR);
        check(wcodec_writer_data(writer, data, TENSOR, &err), &err);
    }
    wcodec_encode_report report;
    check(wcodec_writer_finish(writer, &report, &err), &err);
    printf("model: %.2f GB in %u tensors, compressed %.4f\n", (double)report.size / 1e9,
           (unsigned)tensors, (double)report.coded_size / (double)report.size);
    wcodec_writer_destroy(writer);
    free(data);
    close(coded);
}

static double copy_raw(struct raw *r, unsigned streams, uint64_t piece)
{
    raw_allocate(r, streams, piece);
    const double begin = wall(), before = process_time();
    raw_start(r);
    raw_join(r);
    const double time = wall() - begin;
    r->processor += process_time() - before;
    raw_free(r);
    return time;
}

static double best_raw(struct raw *r, unsigned repeats)
{
    static const struct {
        unsigned streams, mib;
        bool alone;
    } settings[] = {{2, 32, false}, {4, 16, false}, {4, 32, false}, {8, 8, false},
                    {8, 16, false}, {16, 8, true},  {16, 16, true}};
    double best = 1e9;
    for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++) {
        double time = 1e9;
        r->alone = settings[i].alone;
        r->processor = 0;
        for (unsigned k = 0; k < repeats; k++)
            time = fmin(time, copy_raw(r, settings[i].streams, (uint64_t)settings[i].mib << 20));
        printf("raw%s: %2u streams of %2u MiB%s   %7.1f ms   %5.1f GB/s, processor %5.0f ms\n",
               r->fd < 0 ? " copy alone" : "", settings[i].streams, settings[i].mib,
               settings[i].alone ? ", each reads" : "", time * 1e3, (double)r->size / time / 1e9,
               r->processor / repeats * 1e3);
        best = fmin(best, time);
    }
    return best;
}

static void compare(const wcodec_buffer *buffer, int raw, uint64_t tensors, uint64_t at)
{
    uint8_t *a = malloc(TENSOR), *b = malloc(TENSOR);
    wcodec_error err;
    for (uint64_t i = 0; i < tensors; i += at) {
        check(wcodec_buffer_read(buffer, i * TENSOR, a, TENSOR, &err), &err);
        for (size_t done = 0; done < TENSOR;) {
            ssize_t n = pread(raw, b + done, TENSOR - done, (off_t)(i * TENSOR + done));
            if (n <= 0)
                exit(1);
            done += (size_t)n;
        }
        if (memcmp(a, b, TENSOR) != 0) {
            fprintf(stderr, "gpu-load: tensor %u differs\n", (unsigned)i);
            exit(1);
        }
    }
    free(a);
    free(b);
}

static double best_load(const wcodec_reader *reader, const wcodec_load_item *items, size_t count,
                        const char *backend, uint64_t size, double raw, unsigned repeats)
{
    static const struct {
        unsigned streams, mib;
        int skip_checks;
    } settings[] = {{0, 0, 0},   {2, 128, 0}, {4, 64, 0}, {4, 256, 0},
                    {8, 128, 0}, {3, 96, 0},  {4, 96, 0}, {4, 128, 1}};
    double best = 1e9;
    wcodec_error err;
    for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++) {
        double time = 1e9, first = 0;
        const double before = process_time();
        wcodec_load_options options;
        wcodec_load_report report;
        wcodec_load_options_init(&options);
        options.memory = backend;
        options.streams = settings[i].streams;
        options.host_memory = (uint64_t)settings[i].mib << 20;
        options.skip_checks = settings[i].skip_checks;
        for (unsigned k = 0; k < repeats; k++) {
            const double begin = wall();
            check(wcodec_load(reader, items, count, &options, &report, &err), &err);
            const double taken = wall() - begin;
            if (k == 0)
                first = taken;
            time = fmin(time, taken);
        }
        printf(
            "load: %2u streams, %3u MiB%s   %7.1f ms   %5.1f GB/s of output, %5.1f GB/s read, %u batches   processor %.0f ms, %.3f x raw (the first %.1f ms)\n",
            settings[i].streams, settings[i].mib, settings[i].skip_checks ? ", no checks" : "",
            time * 1e3, (double)size / time / 1e9, (double)report.coded_bytes / time / 1e9,
            (unsigned)report.batches, (process_time() - before) / repeats * 1e3, raw / time,
            first * 1e3);
        fflush(stdout);
        best = fmin(best, time);
    }
    return best;
}

int main(int argc, char **argv)
{
    wcodec_options options;
    wcodec_context *context;
    wcodec_reader *reader;
    wcodec_buffer *buffer;
    wcodec_error err;
    char path[4096];
    if (argc < 4) {
        fprintf(stderr, "usage: gpu-load BACKEND GIB FOLDER [REPEATS]\n");
        return 2;
    }
    const uint64_t tensors = strtoull(argv[2], NULL, 10) << 3, size = tensors * TENSOR;
    const unsigned repeats = argc > 4 ? (unsigned)strtoul(argv[4], NULL, 10) : 3;
    struct raw raw = {.size = size};
    wcodec_options_init(&options);
    options.backend = argv[1];
    check(wcodec_context_create(&options, &context, &err), &err);
    make_files(context, argv[3], tensors, &raw.fd, path);
    check(wcodec_reader_open_path(context, path, &reader, &err), &err);
    check(wcodec_buffer_create(context, size, &buffer, &err), &err);
    check(wcodec_backends_device(context, &raw.device, &err), &err);
    printf("%s, %u threads\n", raw.device->listing.name, wcodec_context_threads(context));
    raw.context = context;
    check(raw.device->backend->memory_adopt(raw.device->device, wcodec_buffer_native(buffer), size,
                                            &raw.to, &err),
          &err);
    const int fd = raw.fd;
    raw.fd = -1;
    best_raw(&raw, 1);
    raw.fd = fd;
    const double raw_time = best_raw(&raw, repeats);
    wcodec_load_item *items = calloc(tensors, sizeof *items);
    uint64_t needed;
    check(wcodec_load_layout(reader, 0, items, &needed, &err), &err);
    for (uint64_t i = 0; i < tensors; i++)
        items[i].destination = wcodec_buffer_native(buffer);
    const double load_time = best_load(reader, items, tensors, argv[1], size, raw_time, repeats);
    compare(buffer, fd, tensors, tensors > 8 ? tensors / 8 : 1);
    printf("best: raw %.1f ms, load %.1f ms: %.3f times the raw copy\n", raw_time * 1e3,
           load_time * 1e3, raw_time / load_time);
    raw.device->backend->memory_free(raw.to);
    wcodec_buffer_destroy(buffer);
    wcodec_reader_close(reader);
    wcodec_context_destroy(context);
    free(items);
    close(fd);
    return 0;
}
