/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* What "wcodec bench" measures, and how: data by class, a clock, the others' coders. */
#ifndef WCODEC_UTILS_BENCH_H
#define WCODEC_UTILS_BENCH_H

#include "utils/app.h"
#include <wcodec.h>

struct bench_tensor {
    char *name;
    uint64_t *shape; /* rank dimensions */
    unsigned rank;
    uint64_t offset; /* in the class's data */
    uint64_t size;
};

/* All tensors of one dtype, one after the other; or an opaque file. */
struct bench_class {
    char *dtype_name;
    wcodec_dtype dtype; /* OTHER: opaque or unknown, taken as bytes */
    bool opaque;
    uint8_t *data;
    uint64_t size;
    uint64_t elements;
    struct bench_tensor *tensors;
    size_t count;
};

struct bench_data {
    struct bench_class *classes;
    size_t count;
};

/* Load a .wcodec, safetensors or any other file. False: reported. */
bool bench_load(struct app *app, const char *path, struct bench_data *data);
void bench_unload(struct bench_data *data);

/* The order-0 bound of a class in bits: its tensors' bounds together, each with one table for its
 * coded field (bf16 8+8 bits, f16 5+11, f32 8+24, f8 exponent and the rest, 8-bit integers the best
 * of 8+0, 5+3, 4+4, anything else byte by byte), raw bits counted in full. Counted here, apart from
 * the library. */
double bench_bound(const struct bench_class *class);

/* One line of results. */
struct bench_result {
    const char *coder;
    const char *backend;
    const char *operation;
    int level;
    unsigned threads;
    uint64_t coded; /* 0: nothing is coded */
    bool verification;
    double seconds;
    unsigned runs;
    uint64_t bytes; /* decoded; 0: all of the class */
    /* GB/s of the device's copies in the same run: of its own memory (read and written together)
     * beside kernels, from the host beside loads; 0: not measured */
    double copy_rate;
    double of_copy; /* share of it that the bytes moved make; 0: not measured */
};

struct bench;
void bench_report(struct bench *bench, const struct bench_class *class,
                  const struct bench_result *result);

/* Run `work` until there are `iterations` runs, or ten seconds have passed; the median. False: it
 * failed (and reported), or a signal came. */
bool bench_time(struct app *app, bool (*work)(void *opaque), void *opaque, double *seconds,
                unsigned *runs);

/* What a writer writes, in memory; the caller frees the data. bench_keep() is a wcodec_write_fn
 * whose argument is a struct bench_bytes. */
struct bench_bytes {
    uint8_t *data;
    size_t size;
    size_t capacity;
};
int bench_keep(void *opaque, const void *data, size_t size);

/* A container of the class, open with a context of the backend. */
struct bench_device {
    const char *backend;
    wcodec_context *context;
    const wcodec_reader *reader;
    uint64_t coded;
};

/* Kernels by the device's own clock, and loads to its memory. */
bool bench_device(struct app *app, struct bench *bench, const struct bench_class *class,
                  const struct bench_device *on);

/* --recurrent: rollouts, units and features of training states, in place of files. */
void bench_recurrent(struct app *app);

/* One line of its results; what is 0 or NULL is not said. */
struct recurrent_result {
    const char *operation, *backend;
    unsigned threads, runs;
    uint64_t ensemble, hidden, steps;
    uint64_t count;               /* of what is done at once: rollouts, sequences, states */
    double seconds;               /* for all of them */
    double flop;                  /* of them, in products of matrices */
    double share;                 /* of this and the rollout after it */
    uint64_t estimated, measured; /* bytes */
};

struct recurrent_bench;
void bench_recurrent_report(struct recurrent_bench *bench, const struct recurrent_result *result);

/* Memory of ensembles by hidden size and members: what the library says beforehand, and what it
 * takes. */
bool bench_recurrent_memory(struct app *app, struct recurrent_bench *bench);

/* memcpy, zstd -1, -3 and -19, and lz4 if it is built in, each on one thread. */
bool bench_peers(struct app *app, struct bench *bench, const struct bench_class *class);

#endif
