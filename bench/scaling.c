/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* How rates grow with threads: scaling [-w NAME] THREADS[,THREADS...] REPETITIONS FOLDER FILE...
 * For each file, from memory to memory: compressing without and with verification, decoding all its
 * tensors with the checks, a call for each and by one request; and from file to file in FOLDER (a
 * tmpfs, say): compressing and restoring as the command does. Medians of wall time, as GB/s of the
 * original's bytes, and ratios to the first number of threads. memcpy by as many threads is what
 * memory allows. -w: only what begins with NAME, and memcpy. */
#define PROGRAM "scaling"
#include "bench/program.h"
#include "bench/timing.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

enum { COUNTS_MAX = 16, WORKS = 7 };

struct bench {
    wcodec_context *context;
    unsigned threads;
    const char *path;
    char coded_path[4096], restored_path[4096];
    uint8_t *data, *decoded;
    size_t size;
    struct sink coded;
    wcodec_reader *reader;
};

static wcodec_error err;

static bool encode(struct bench *b, int no_verify)
{
    wcodec_encode_options options;
    wcodec_encode_options_init(&options);
    options.no_verify = no_verify;
    b->coded.size = 0;
    return wcodec_compress_memory(b->context, b->data, b->size, append, &b->coded, &options, NULL,
                                  &err) == WCODEC_OK;
}

static bool encode_only(struct bench *b)
{
    return encode(b, 1);
}

static bool encode_verify(struct bench *b)
{
    return encode(b, 0);
}

static bool decode(struct bench *b)
{
    size_t at = 0;
    for (uint64_t i = 0; i < wcodec_reader_tensor_count(b->reader); i++) {
        wcodec_tensor_info info;
        if (wcodec_reader_tensor(b->reader, i, &info, &err) != WCODEC_OK ||
            wcodec_reader_decode(b->reader, i, b->decoded + at, (size_t)info.size, NULL, &err) !=
                WCODEC_OK)
            return false;
        at += (size_t)info.size;
    }
    return true;
}

static bool load_all(struct bench *b)
{
    uint64_t size, count = wcodec_reader_tensor_count(b->reader);
    wcodec_load_item *items = calloc((size_t)count + 1, sizeof *items);
    bool ok = items != NULL && wcodec_load_layout(b->reader, 1, items, &size, &err) == WCODEC_OK;
    for (uint64_t i = 0; ok && i < count; i++)
        items[i].destination = (uint64_t)(uintptr_t)b->decoded;
    ok = ok && wcodec_load(b->reader, items, (size_t)count, NULL, NULL, &err) == WCODEC_OK;
    free(items);
    return ok;
}

static bool compress_file(struct bench *b)
{
    return wcodec_compress_path(b->context, b->path, b->coded_path, NULL, NULL, &err) == WCODEC_OK;
}

static int put(void *opaque, const void *data, size_t size)
{
    const uint8_t *at = data;
    for (ssize_t n; size > 0; at += n, size -= (size_t)n)
        if ((n = write(*(int *)opaque, at, size)) <= 0)
            return EIO;
    return 0;
}

static bool restore_file(struct bench *b)
{
    wcodec_reader *reader;
    if (wcodec_reader_open_path(b->context, b->coded_path, &reader, &err) != WCODEC_OK)
        return false;
    unlink(b->restored_path);
    int fd = open(b->restored_path, O_WRONLY | O_CREAT | O_EXCL, 0600);
    wcodec_status status =
        fd >= 0 ? wcodec_reader_restore(reader, 0, put, &fd, NULL, &err) : WCODEC_ERROR_IO;
    wcodec_reader_close(reader);
    return close(fd) == 0 && status == WCODEC_OK;
}

struct copy {
    struct bench *b;
    unsigned part;
};

static void *copy_part(void *argument)
{
    const struct copy *c = argument;
    size_t begin = c->b->size / c->b->threads * c->part,
           end = c->part + 1 == c->b->threads ? c->b->size : begin + c->b->size / c->b->threads;
    memcpy(c->b->decoded + begin, c->b->data + begin, end - begin);
    return NULL;
}

static bool copy(struct bench *b)
{
    pthread_t threads[1024];
    struct copy copies[1024];
    for (unsigned i = 0; i < b->threads; i++) {
        copies[i] = (struct copy){b, i};
        if (pthread_create(&threads[i], NULL, copy_part, &copies[i]) != 0)
            return false;
    }
    for (unsigned i = 0; i < b->threads; i++)
        pthread_join(threads[i], NULL);
    return true;
}

static const struct {
    const char *name;
    bool (*work)(struct bench *b);
} works[WORKS] = {{"encode", encode_only},
                  {"encode, verify", encode_verify},
                  {"decode", decode},
                  {"decode, one load", load_all},
                  {"file: compress", compress_file},
                  {"file: restore", restore_file},
                  {"memcpy", copy}};

static double rate(struct bench *b, bool (*work)(struct bench *b), unsigned repetitions)
{
    double times[1000];
    for (unsigned i = 0; i <= repetitions; i++) { /* the first brings memory into shape */
        double begin = wall();
        if (!work(b)) {
            fprintf(stderr, "%s: %s\n", b->path, err.text);
            exit(1);
        }
        times[i ? i - 1 : 0] = wall() - begin;
    }
    return (double)b->size / median(times, repetitions) / 1e9;
}

static void read_file(struct bench *b)
{
    struct stat st;
    int fd = open(b->path, O_RDONLY);
    if (fd < 0 || fstat(fd, &st) != 0)
        exit(1);
    b->size = (size_t)st.st_size;
    b->coded.capacity = b->size + b->size / 100 + 65536;
    b->data = malloc(b->size);
    b->decoded = malloc(b->size);
    b->coded.data = malloc(b->coded.capacity);
    if (b->data == NULL || b->decoded == NULL || b->coded.data == NULL ||
        read(fd, b->data, b->size) != (ssize_t)b->size)
        exit(1);
    close(fd);
}

static bool wanted(unsigned work, const char *name)
{
    return work == WORKS - 1 || strncmp(works[work].name, name, strlen(name)) == 0;
}

/* The works wanted with one number of threads. */
static void measure(struct bench *b, unsigned repetitions, const char *name, double rates[WORKS])
{
    wcodec_options options;
    wcodec_options_init(&options);
    options.threads = b->threads;
    options.bind_threads = 1;
    options.backend = "cpu";
    if (wcodec_context_create(&options, &b->context, &err) != WCODEC_OK)
        exit(1);
    for (unsigned w = 0; w < WORKS; w++) {
        if (w == 2 && wcodec_reader_open_memory(b->context, b->coded.data, b->coded.size,
                                                &b->reader, &err) != WCODEC_OK)
            exit(1);
        if (wanted(w, name))
            rates[w] = rate(b, works[w].work, repetitions);
        else if (w == 0 && !encode_only(b)) /* what is decoded */
            exit(1);
    }
    wcodec_reader_close(b->reader);
    wcodec_context_destroy(b->context);
}

int main(int argc, char **argv)
{
    unsigned counts[COUNTS_MAX], n = 0;
    const char *name = "";
    if (argc > 2 && strcmp(argv[1], "-w") == 0) {
        name = argv[2];
        argv += 2;
        argc -= 2;
    }
    for (char *t = argc > 4 ? strtok(argv[1], ",") : NULL; t && n < COUNTS_MAX;
         t = strtok(NULL, ","))
        counts[n++] = (unsigned)strtoul(t, NULL, 10);
    unsigned repetitions = argc > 4 ? (unsigned)strtoul(argv[2], NULL, 10) : 0;
    if (n == 0 || repetitions < 1 || repetitions > 999) {
        fprintf(stderr,
                "usage: scaling [-w NAME] THREADS[,THREADS...] REPETITIONS FOLDER FILE...\n");
        return 2;
    }
    for (int f = 4; f < argc; f++) {
        struct bench b = {.path = argv[f]};
        double rates[COUNTS_MAX][WORKS];
        snprintf(b.coded_path, sizeof b.coded_path, "%s/scaling.wcodec", argv[3]);
        snprintf(b.restored_path, sizeof b.restored_path, "%s/scaling.restored", argv[3]);
        read_file(&b);
        for (unsigned i = 0; i < n; i++) {
            b.threads = counts[i];
            measure(&b, repetitions, name, rates[i]);
        }
        printf("%s\n%-18s", b.path, "GB/s (x)");
        for (unsigned i = 0; i < n; i++)
            printf("%12u", counts[i]);
        for (unsigned w = 0; w < WORKS; w++) {
            if (wanted(w, name))
                printf("\n%-18s", works[w].name);
            for (unsigned i = 0; i < n && wanted(w, name); i++)
                printf("%6.2f (%4.2f)", rates[i][w], rates[i][w] / rates[0][w]);
        }
        printf("\n");
        fflush(stdout);
        unlink(b.coded_path);
        unlink(b.restored_path);
        free(b.data);
        free(b.decoded);
        free(b.coded.data);
    }
    return 0;
}
