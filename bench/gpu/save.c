/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* From a device's memory to a file: wcodec_save() of bf16 tensors of 2^25 Gaussian weights, beside
 * writing as many bytes as come of it, by one thread and nothing else.
 *
 *   gpu-save BACKEND GIB FOLDER [REPEATS]
 *
 * For each level, with and without verification, the median of REPEATS (default 3, odd): to the
 * folder, and to a function that drops all. Behind it what the time went into, and the processor's
 * seconds of one. */
#include "bench/gpu/weights.h"
#include "bench/timing.h"
#include "core/context.h"
#include "registry/registry.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include <wcodec.h>

enum { TENSOR = 1 << 26, REPEATS_MAX = 31, PIECE = 1 << 20 };

static void check(wcodec_status status, const wcodec_error *err)
{
    if (status == WCODEC_OK)
        return;
    fprintf(stderr, "gpu-save: %s\n", err->text);
    exit(1);
}

struct model {
    wcodec_context *context;
    struct wcodec_opened *device;
    struct wcodec_memory *memory;
    wcodec_save_item *items;
    char (*names)[32];
    uint64_t count, shape[2];
};

static void make_model(struct model *m)
{
    const struct wcodec_backend *b = m->device->backend;
    struct wcodec_queue *queue;
    wcodec_error err;
    uint8_t *data = malloc(TENSOR);
    m->items = calloc(m->count, sizeof *m->items);
    m->names = calloc(m->count, sizeof *m->names);
    if (data == NULL || m->items == NULL || m->names == NULL)
        check(WCODEC_ERROR_MEMORY, &(wcodec_error){.text = "out of memory"});
    check(b->memory_allocate(m->device->device, WCODEC_MEMORY_DEVICE, m->count * TENSOR, &m->memory,
                             &err),
          &err);
    check(b->queue_create(m->device->device, &queue, &err), &err);
    m->shape[0] = TENSOR / 2 / 4096;
    m->shape[1] = 4096;
    for (uint64_t i = 0; i < m->count; i++) {
        struct tensor t = {data, i};
        snprintf(m->names[i], sizeof m->names[i], "layer.%u.weight", (unsigned)i);
        m->items[i] = (wcodec_save_item){.name = m->names[i],
                                         .dtype = WCODEC_DTYPE_BF16,
                                         .rank = 2,
                                         .shape = m->shape,
                                         .source = b->memory_native(m->memory),
                                         .offset = i * TENSOR,
                                         .size = TENSOR};
        wcodec_run(m->context, fill_task, &t, TENSOR / TASK);
        check(b->copy_in(queue, m->memory, i * TENSOR, data, TENSOR, &err), &err);
        check(b->queue_wait(queue, &err), &err);
    }
    b->queue_destroy(queue);
    free(data);
}

static int drop(void *opaque, const void *data, size_t size)
{
    (void)opaque, (void)data, (void)size;
    return 0;
}

/* So many bytes to a file; seconds. */
static double write_alone(const char *path, uint64_t size)
{
    uint8_t *piece = malloc(PIECE);
    const double begin = wall();
    const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || piece == NULL)
        check(WCODEC_ERROR_IO, &(wcodec_error){.text = "cannot make a file"});
    memset(piece, 1, PIECE);
    for (uint64_t at = 0; at < size; at += PIECE)
        if (write(fd, piece, PIECE) != PIECE)
            check(WCODEC_ERROR_IO, &(wcodec_error){.text = "cannot write"});
    close(fd);
    free(piece);
    return wall() - begin;
}

struct way {
    int level;
    int no_verify;
    bool to_file;
};

static double save_once(const struct model *m, const struct way *way, const char *path,
                        wcodec_times *times, uint64_t *size)
{
    wcodec_encode_options encode;
    wcodec_encode_report report;
    wcodec_save_options options;
    wcodec_error err;
    wcodec_encode_options_init(&encode);
    encode.level = way->level;
    encode.no_verify = way->no_verify;
    encode.times = times;
    wcodec_save_options_init(&options);
    options.encode = &encode;
    options.memory = m->device->backend->name;
    options.no_sync = 1;
    if (way->to_file)
        options.path = path;
    else
        options.write = drop;
    unlink(path);
    const double begin = wall();
    check(wcodec_save(m->context, m->items, m->count, &options, &report, &err), &err);
    const double seconds = wall() - begin;
    *size = report.coded_size;
    return seconds;
}

static void measure(const struct model *m, const struct way *way, const char *path,
                    unsigned repeats)
{
    const double bytes = (double)m->count * TENSOR;
    double seconds[REPEATS_MAX], alone[REPEATS_MAX], cpu = 0;
    wcodec_times times = {0};
    uint64_t size = 0;
    for (unsigned i = 0; i < repeats; i++) {
        const double begin = process_time();
        seconds[i] = save_once(m, way, path, &times, &size);
        cpu = process_time() - begin;
        unlink(path);
        alone[i] = way->to_file ? write_alone(path, size) : 0;
        unlink(path);
    }
    const double middle = median(seconds, repeats);
    printf("| %d%s | %s | %.2f | ", way->level, way->no_verify ? ", not verified" : "",
           way->to_file ? "file" : "nowhere", bytes / middle / 1e9);
    if (way->to_file)
        printf("%.2f", bytes / median(alone, repeats) / 1e9);
    printf(" | %.2f | read %.0f, code %.0f, verify %.0f, hash %.0f, write %.0f of %.0f ms |\n", cpu,
           (double)times.reading / 1e6, (double)times.coding / 1e6, (double)times.verifying / 1e6,
           (double)times.hashing / 1e6, (double)times.writing / 1e6, seconds[repeats - 1] * 1e3);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    static const struct way ways[] = {{1, 0, true}, {1, 0, false}, {1, 1, true}, {1, 1, false},
                                      {2, 0, true}, {2, 0, false}, {3, 0, true}, {3, 0, false}};
    struct model m = {0};
    struct rusage before, after;
    wcodec_options options;
    wcodec_error err;
    char path[4096];
    if (argc < 4 || argc > 5) {
        fprintf(stderr, "usage: gpu-save BACKEND GIB FOLDER [REPEATS]\n");
        return 2;
    }
    const unsigned long asked = argc > 4 ? strtoul(argv[4], NULL, 0) : 3;
    const unsigned repeats = asked < 1 || asked > REPEATS_MAX ? 3 : (unsigned)asked | 1;
    snprintf(path, sizeof path, "%s/gpu-save.wcodec", argv[3]);
    wcodec_options_init(&options);
    options.backend = argv[1];
    check(wcodec_context_create(&options, &m.context, &err), &err);
    check(wcodec_backends_device(m.context, &m.device, &err), &err);
    m.count = (strtoull(argv[2], NULL, 0) << 30) / TENSOR;
    m.count = m.count < 1 ? 1 : m.count;
    make_model(&m);
    getrusage(RUSAGE_SELF, &before);
    printf("%s, %.2f GB in %u tensors\n\n| level | to | GB/s | file alone | CPU s | where |\n"
           "| --- | --- | --- | --- | --- | --- |\n",
           m.device->listing.name, (double)m.count * TENSOR / 1e9, (unsigned)m.count);
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        measure(&m, &ways[i], path, repeats);
        if (i == 0) {
            getrusage(RUSAGE_SELF, &after);
            printf("(host memory: %ld MiB more)\n", (after.ru_maxrss - before.ru_maxrss) / 1024);
        }
    }
    m.device->backend->memory_free(m.memory);
    wcodec_context_destroy(m.context);
    free(m.items);
    free(m.names);
    return 0;
}
