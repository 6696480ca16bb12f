/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* From the page cache to two devices of one backend by one process: wcodec_load_many() beside one
 * device's load, and beside two loads that know nothing of each other.
 *
 *   gpu-two BACKEND FILE.wcodec [ROUNDS]
 *
 * Medians of ROUNDS (default 7) in turns, by several sizes of staging memory; tensors are compared
 * with what the CPU decodes. First what bounds them all: how fast the file's bytes come into pinned
 * memory of some sizes, how fast they go from there to one device and to both, and both at once
 * without decoding. */
#include "bench/gpu/raw.h"

#include <fcntl.h>
#include <string.h>

enum { ONE, EACH_ALL, COPIES, HALVES, WAYS, ROUNDS_MAX = 25 };

static const char *const ways[] = {"one device, all", "two, each all by itself",
                                   "two, a copy for each", "two, half of the rows for each"};

/* Of each device; 0: the library's. */
static const struct setting {
    unsigned streams, mib;
} settings[] = {{0, 0}, {4, 96}, {4, 64}, {4, 48}, {8, 64}};

enum { SETTINGS = sizeof settings / sizeof settings[0] };

struct both {
    const char *backend, *path;
    uint64_t tensors, size, coded_size;
    wcodec_context *contexts[2];
    struct wcodec_opened *devices[2];
    wcodec_reader *readers[2]; /* of each context */
    wcodec_buffer *buffers[2];
    wcodec_load_item *whole[2], *halves[2];
};

struct alone {
    const struct both *both;
    unsigned device;
    wcodec_load_options options;
};

static void *load_alone(void *argument)
{
    const struct alone *a = argument;
    wcodec_load_options options = a->options;
    wcodec_error err;
    options.memory = a->both->backend;
    check(wcodec_load(a->both->readers[a->device], a->both->whole[a->device], a->both->tensors,
                      &options, NULL, &err),
          &err);
    return NULL;
}

static void load_both(const struct both *b, wcodec_load_item *const items[2],
                      const wcodec_load_options *options, wcodec_load_report reports[2])
{
    wcodec_load_target targets[2];
    wcodec_error err;
    for (unsigned i = 0; i < 2; i++)
        targets[i] = (wcodec_load_target){.context = b->contexts[i],
                                          .memory = b->backend,
                                          .items = items[i],
                                          .count = b->tensors};
    check(wcodec_load_many(b->readers[0], targets, 2, options, reports, &err), &err);
}

static double time_way(const struct both *b, unsigned way, const struct setting *setting,
                       wcodec_load_report reports[2])
{
    wcodec_load_options options;
    pthread_t second;
    wcodec_load_options_init(&options);
    options.streams = setting->streams;
    options.host_memory = (uint64_t)setting->mib << 20;
    struct alone alone[2] = {{b, 0, options}, {b, 1, options}};
    const double begin = wall();
    if (way == EACH_ALL && pthread_create(&second, NULL, load_alone, &alone[1]) != 0)
        exit(1);
    if (way == ONE || way == EACH_ALL)
        load_alone(&alone[0]);
    else
        load_both(b, way == COPIES ? b->whole : b->halves, &options, reports);
    if (way == EACH_ALL)
        pthread_join(second, NULL);
    return wall() - begin;
}

static void open_both(struct both *b)
{
    wcodec_error err;
    for (unsigned i = 0; i < 2; i++) {
        char name[32];
        wcodec_options options;
        snprintf(name, sizeof name, "%s:%u", b->backend, i);
        wcodec_options_init(&options);
        options.backend = name;
        check(wcodec_context_create(&options, &b->contexts[i], &err), &err);
        check(wcodec_backends_device(b->contexts[i], &b->devices[i], &err), &err);
        check(wcodec_reader_open_path(b->contexts[i], b->path, &b->readers[i], &err), &err);
        b->tensors = wcodec_reader_tensor_count(b->readers[i]);
        b->whole[i] = calloc(b->tensors, sizeof *b->whole[i]);
        b->halves[i] = calloc(b->tensors, sizeof *b->halves[i]);
        check(wcodec_load_layout(b->readers[i], 0, b->whole[i], &b->size, &err), &err);
        check(wcodec_buffer_create(b->contexts[i], b->size, &b->buffers[i], &err), &err);
        b->coded_size = 0;
        for (uint64_t k = 0; k < b->tensors; k++) {
            wcodec_tensor_info info;
            check(wcodec_reader_tensor(b->readers[i], k, &info, &err), &err);
            b->whole[i][k].destination = wcodec_buffer_native(b->buffers[i]);
            b->halves[i][k] = b->whole[i][k];
            b->halves[i][k].rows = info.shape[0] / 2;
            b->halves[i][k].first_row = i * b->halves[i][k].rows;
            b->coded_size += info.coded_size;
        }
    }
    printf("%.2f GB in %u tensors, coded %.3f GB; %s and %s, %u threads each\n",
           (double)b->size / 1e9, (unsigned)b->tensors, (double)b->coded_size / 1e9,
           b->devices[0]->listing.name, b->devices[1]->listing.name,
           wcodec_context_threads(b->contexts[0]));
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

/* Coded bytes without decoding: of `devices` each an equal part, by four streams with `mib` MiB of
 * pinned memory for each device. GB/s of all together, median. */
static double rate(const struct both *b, unsigned devices, bool reads, bool copies, unsigned mib,
                   unsigned rounds)
{
    struct raw raw[2] = {{0}};
    double times[ROUNDS_MAX];
    wcodec_error err;
    const uint64_t part = b->coded_size / devices;
    const int fd = open(b->path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        exit(1);
    for (unsigned i = 0; i < devices; i++) {
        raw[i].context = b->contexts[i];
        raw[i].device = b->devices[i];
        raw[i].fd = reads ? fd : -1;
        raw[i].from = i * part;
        raw[i].size = part;
        if (copies)
            check(b->devices[i]->backend->memory_adopt(b->devices[i]->device,
                                                       wcodec_buffer_native(b->buffers[i]), b->size,
                                                       &raw[i].to, &err),
                  &err);
        raw_allocate(&raw[i], 4, (uint64_t)mib << 18);
    }
    for (unsigned k = 0; k <= rounds; k++) { /* the first is not counted */
        const double begin = wall();
        for (unsigned i = 0; i < devices; i++)
            raw_start(&raw[i]);
        for (unsigned i = 0; i < devices; i++)
            raw_join(&raw[i]);
        times[k > 0 ? k - 1 : 0] = wall() - begin;
    }
    for (unsigned i = 0; i < devices; i++) {
        raw_free(&raw[i]);
        if (raw[i].to != NULL)
            b->devices[i]->backend->memory_free(raw[i].to);
    }
    close(fd);
    return (double)b->coded_size / median(times, rounds) / 1e9;
}

static void print_bounds(const struct both *b, unsigned rounds)
{
    static const unsigned sizes[] = {32, 64, 96, 128, 256};
    printf("copies alone: one device %.1f GB/s, two %.1f\n", rate(b, 1, false, true, 96, rounds),
           rate(b, 2, false, true, 96, rounds));
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        printf("coded bytes, GB/s, %3u MiB of pinned memory for each device: read for one %.1f, "
               "for two %.1f; read and copied to one %.1f, to two %.1f\n",
               sizes[i], rate(b, 1, true, false, sizes[i], rounds),
               rate(b, 2, true, false, sizes[i], rounds), rate(b, 1, true, true, sizes[i], rounds),
               rate(b, 2, true, true, sizes[i], rounds));
    fflush(stdout);
}

static void compare(const struct both *b, unsigned device, const wcodec_load_item *items)
{
    wcodec_context *context;
    wcodec_reader *reader;
    wcodec_options options;
    wcodec_error err;
    wcodec_options_init(&options);
    options.backend = "cpu";
    check(wcodec_context_create(&options, &context, &err), &err);
    check(wcodec_reader_open_path(context, b->path, &reader, &err), &err);
    for (uint64_t k = 0; k < b->tensors; k += b->tensors / 16 + 1) {
        wcodec_load_item item = items[k];
        uint8_t *mine = malloc(item.size), *expected = malloc(item.size);
        if (mine == NULL || expected == NULL)
            exit(1);
        item.destination = (uintptr_t)expected;
        item.offset = 0;
        wcodec_tensor_info info;
        check(wcodec_reader_tensor(reader, k, &info, &err), &err);
        const uint64_t size = item.rows != 0 ? item.size / info.shape[0] * item.rows : item.size;
        check(wcodec_load(reader, &item, 1, NULL, NULL, &err), &err);
        check(wcodec_buffer_read(b->buffers[device], items[k].offset, mine, size, &err), &err);
        if (memcmp(mine, expected, size) != 0) {
            fprintf(stderr, "device %u: tensor %u differs\n", device, (unsigned)k);
            exit(1);
        }
        free(mine);
        free(expected);
    }
    wcodec_reader_close(reader);
    wcodec_context_destroy(context);
}

static void compare_both(const struct both *b)
{
    wcodec_load_report reports[2] = {{0}};
    for (unsigned way = COPIES; way <= HALVES; way++) {
        time_way(b, way, &settings[0], reports);
        for (unsigned i = 0; i < 2; i++) {
            printf("%s: %s:%u: %.3f GB, %.3f of them passed on to it, %.3f GB read\n", ways[way],
                   b->backend, i, (double)reports[i].bytes / 1e9,
                   (double)reports[i].received_bytes / 1e9, (double)reports[i].coded_bytes / 1e9);
            compare(b, i, way == COPIES ? b->whole[i] : b->halves[i]);
        }
    }
}

static bool is_timed(size_t setting, unsigned way)
{
    return setting == 0 || way != EACH_ALL;
}

static void time_all(const struct both *b, unsigned rounds)
{
    static double times[SETTINGS][WAYS][ROUNDS_MAX];
    wcodec_load_report reports[2];
    for (unsigned k = 0; k <= rounds; k++) /* the first is not counted */
        for (size_t i = 0; i < SETTINGS; i++)
            for (unsigned way = 0; way < WAYS; way++)
                if (is_timed(i, way))
                    times[i][way][k > 0 ? k - 1 : 0] = time_way(b, way, &settings[i], reports);
    for (size_t i = 0; i < SETTINGS; i++)
        for (unsigned way = 0; way < WAYS; way++)
            qsort(times[i][way], rounds, sizeof(double), compare_times);
    for (size_t i = 0; i < SETTINGS; i++)
        for (unsigned way = 0; way < WAYS; way++)
            if (is_timed(i, way))
                printf(
                    "%u streams, %2u MiB: %-31s %7.1f ms (%.1f to %.1f), %.3f of one device's, %.3f "
                    "of it by default\n",
                    settings[i].streams, settings[i].mib, ways[way],
                    times[i][way][rounds / 2] * 1e3, times[i][way][0] * 1e3,
                    times[i][way][rounds - 1] * 1e3,
                    times[i][way][rounds / 2] / times[i][ONE][rounds / 2],
                    times[i][way][rounds / 2] / times[0][ONE][rounds / 2]);
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        fprintf(stderr, "usage: gpu-two BACKEND FILE.wcodec [ROUNDS]\n");
        return 2;
    }
    struct both b = {.backend = argv[1], .path = argv[2]};
    unsigned rounds = argc > 3 ? (unsigned)strtoul(argv[3], NULL, 10) : 7;
    rounds = rounds < 1 ? 1 : rounds > ROUNDS_MAX ? ROUNDS_MAX : rounds;
    open_both(&b);
    compare_both(&b);
    print_bounds(&b, rounds);
    time_all(&b, rounds);
    close_both(&b);
    return 0;
}
