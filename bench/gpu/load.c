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
 * the processor's time of one, which is what bounds it where cores are few. Where there is a second
 * device, loads to both follow: medians, in turns, of wcodec_load_many() beside one device's load,
 * and beside two loads that know nothing of each other. */
#include "bench/gpu/weights.h"
#include "bench/timing.h"
#include "registry/registry.h"
#include "core/bytes.h"
#include "core/context.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wcodec.h>

enum { TENSOR = 1 << 27, STREAMS = 16 };

static void check(wcodec_status status, const wcodec_error *err)
{
    if (status == WCODEC_OK)
        return;
    fprintf(stderr, "gpu-load: %s\n", err->text);
    exit(1);
}

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

/* The raw copy. */
struct raw {
    wcodec_context *context;
    struct wcodec_opened *device;
    struct wcodec_memory *to;
    int fd; /* -1: nothing is read, copies alone */
    uint64_t size, piece;
    bool alone;       /* each stream's thread reads by itself, else all threads of the context */
    double processor; /* seconds of all copies */
    _Atomic uint64_t next;
    _Atomic unsigned stream;
    struct wcodec_memory *pinned[STREAMS];
};

struct read {
    const struct raw *raw;
    uint64_t at, size;
    uint8_t *to;
};

static void read_task(void *argument, size_t i)
{
    const struct read *r = argument;
    const uint64_t at = i * (uint64_t)TASK, left = r->size - at;
    uint64_t size = left < TASK ? left : TASK;
    for (uint64_t done = 0; done < size;) {
        ssize_t n = pread(r->raw->fd, r->to + at + done, size - done, (off_t)(r->at + at + done));
        if (n <= 0)
            exit(1);
        done += (uint64_t)n;
    }
}

static void *copy_stream(void *argument)
{
    struct raw *r = argument;
    const struct wcodec_backend *b = r->device->backend;
    struct wcodec_memory *pinned = r->pinned[atomic_fetch_add(&r->stream, 1)];
    struct wcodec_queue *queue;
    wcodec_error err;
    check(b->queue_create(r->device->device, &queue, &err), &err);
    for (;;) {
        const uint64_t at = atomic_fetch_add(&r->next, r->piece);
        struct wcodec_event *event;
        if (at >= r->size)
            break;
        struct read read = {r, at, r->size - at < r->piece ? r->size - at : r->piece,
                            b->memory_pointer(pinned)};
        const size_t tasks = r->fd >= 0 ? (size_t)wcodec_div_up_u64(read.size, TASK) : 0;
        for (size_t i = 0; i < tasks && r->alone; i++)
            read_task(&read, i);
        if (!r->alone)
            wcodec_run(r->context, read_task, &read, tasks);
        check(b->copy_in(queue, r->to, at, read.to, read.size, &err), &err);
        check(b->event_record(queue, &event, &err), &err);
        check(b->event_wait(event, &err), &err);
        b->event_destroy(event);
    }
    check(b->queue_wait(queue, &err), &err);
    b->queue_destroy(queue);
    return NULL;
}

static double copy_raw(struct raw *r, unsigned streams, uint64_t piece)
{
    pthread_t threads[STREAMS];
    wcodec_error err;
    for (unsigned i = 0; i < streams; i++)
        check(r->device->backend->memory_allocate(r->device->device, WCODEC_MEMORY_PINNED, piece,
                                                  &r->pinned[i], &err),
              &err);
    r->piece = piece;
    atomic_store(&r->next, 0);
    atomic_store(&r->stream, 0);
    const double begin = wall(), before = process_time();
    for (unsigned i = 0; i < streams; i++)
        if (pthread_create(&threads[i], NULL, copy_stream, r) != 0)
            exit(1);
    for (unsigned i = 0; i < streams; i++)
        pthread_join(threads[i], NULL);
    const double time = wall() - begin;
    r->processor += process_time() - before;
    for (unsigned i = 0; i < streams; i++)
        r->device->backend->memory_free(r->pinned[i]);
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

/* Loads to two devices, and what they are compared with. */
enum { ONE, EACH_ALL, COPIES, HALVES, WAYS, MANY_MAX = 25 };
static const char *const ways[] = {"one device, all", "two, each all by itself",
                                   "two, a copy for each", "two, half of the rows for each"};

struct both {
    const char *backend;
    uint64_t tensors;
    wcodec_context *contexts[2];
    wcodec_reader *readers[2]; /* of each context */
    wcodec_buffer *buffers[2];
    wcodec_load_item *whole[2], *halves[2];
};

struct alone {
    const struct both *both;
    unsigned device;
};

static void *load_alone(void *argument)
{
    const struct alone *a = argument;
    wcodec_load_options options;
    wcodec_error err;
    wcodec_load_options_init(&options);
    options.memory = a->both->backend;
    check(wcodec_load(a->both->readers[a->device], a->both->whole[a->device], a->both->tensors,
                      &options, NULL, &err),
          &err);
    return NULL;
}

static void load_both(const struct both *b, wcodec_load_item *const items[2],
                      wcodec_load_report reports[2])
{
    wcodec_load_target targets[2];
    wcodec_error err;
    for (unsigned i = 0; i < 2; i++)
        targets[i] = (wcodec_load_target){.context = b->contexts[i],
                                          .memory = b->backend,
                                          .items = items[i],
                                          .count = b->tensors};
    check(wcodec_load_many(b->readers[0], targets, 2, NULL, reports, &err), &err);
}

static double time_way(const struct both *b, unsigned way, wcodec_load_report reports[2])
{
    struct alone alone[2] = {{b, 0}, {b, 1}};
    pthread_t second;
    const double begin = wall();
    if (way == EACH_ALL && pthread_create(&second, NULL, load_alone, &alone[1]) != 0)
        exit(1);
    if (way == ONE || way == EACH_ALL)
        load_alone(&alone[0]);
    else
        load_both(b, way == COPIES ? b->whole : b->halves, reports);
    if (way == EACH_ALL)
        pthread_join(second, NULL);
    return wall() - begin;
}

static void open_both(struct both *b, const char *path, uint64_t size)
{
    wcodec_error err;
    uint64_t needed;
    for (unsigned i = 0; i < 2; i++) {
        check(wcodec_reader_open_path(b->contexts[i], path, &b->readers[i], &err), &err);
        check(wcodec_buffer_create(b->contexts[i], size, &b->buffers[i], &err), &err);
        b->whole[i] = calloc(b->tensors, sizeof *b->whole[i]);
        b->halves[i] = calloc(b->tensors, sizeof *b->halves[i]);
        check(wcodec_load_layout(b->readers[i], 0, b->whole[i], &needed, &err), &err);
        for (uint64_t k = 0; k < b->tensors; k++) {
            wcodec_tensor_info info;
            check(wcodec_reader_tensor(b->readers[i], k, &info, &err), &err);
            b->whole[i][k].destination = wcodec_buffer_native(b->buffers[i]);
            b->halves[i][k] = b->whole[i][k];
            b->halves[i][k].rows = info.shape[0] / 2;
            b->halves[i][k].first_row = i * b->halves[i][k].rows;
        }
    }
}

static void close_both(struct both *b)
{
    for (unsigned i = 0; i < 2; i++) {
        wcodec_buffer_destroy(b->buffers[i]);
        wcodec_reader_close(b->readers[i]);
        wcodec_context_destroy(b->contexts[i]);
        free(b->whole[i]);
        free(b->halves[i]);
    }
}

static void log_line(void *opaque, wcodec_log_level level, const char *text)
{
    (void)level;
    fprintf(opaque, "%s\n", text);
}

static void load_to_two(const char *backend, const char *path, int raw, uint64_t tensors,
                        unsigned repeats)
{
    struct both b = {.backend = backend, .tensors = tensors};
    double times[WAYS][MANY_MAX] = {{0}};
    wcodec_load_report reports[2] = {{0}};
    wcodec_error err;
    for (unsigned i = 0; i < 2; i++) {
        char name[32];
        wcodec_device_handles handles;
        wcodec_options options;
        snprintf(name, sizeof name, "%s:%u", backend, i);
        wcodec_options_init(&options);
        options.backend = name;
        options.log = log_line;
        options.log_opaque = stdout;
        options.log_level = WCODEC_LOG_INFO;
        if (wcodec_context_create(&options, &b.contexts[i], &err) != WCODEC_OK ||
            wcodec_context_device(b.contexts[i], &handles, &err) != WCODEC_OK) {
            printf("%s\n", err.text);
            wcodec_context_destroy(b.contexts[0]);
            wcodec_context_destroy(b.contexts[1]);
            return;
        }
    }
    open_both(&b, path, tensors * TENSOR);
    if (repeats > MANY_MAX)
        repeats = MANY_MAX;
    for (unsigned k = 0; k <= repeats; k++) /* the first round is not counted */
        for (unsigned way = 0; way < WAYS; way++)
            times[way][k > 0 ? k - 1 : 0] = time_way(&b, way, reports);
    for (unsigned way = 0; way < WAYS; way++)
        qsort(times[way], repeats, sizeof(double), compare_times);
    for (unsigned way = 0; way < WAYS; way++)
        printf("%-31s %7.1f ms (%.1f to %.1f), %.3f of one device's\n", ways[way],
               times[way][repeats / 2] * 1e3, times[way][0] * 1e3, times[way][repeats - 1] * 1e3,
               times[way][repeats / 2] / times[ONE][repeats / 2]);
    time_way(&b, COPIES, reports);
    for (unsigned i = 0; i < 2; i++) {
        printf("%s:%u: %.3f GB, %.3f of them passed on to it, %.3f GB read\n", backend, i,
               (double)reports[i].bytes / 1e9, (double)reports[i].received_bytes / 1e9,
               (double)reports[i].coded_bytes / 1e9);
        compare(b.buffers[i], raw, tensors, tensors > 16 ? tensors / 16 : 1);
    }
    close_both(&b);
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
    load_to_two(argv[1], path, fd, tensors, repeats);
    close(fd);
    return 0;
}
