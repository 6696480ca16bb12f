/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Training of anchors on a device, from a call to its results.
 *
 *   gpu-vectors BACKEND [THREADS [ROWS [MEBIBYTES]]]
 *
 * Milliseconds of an iteration (assignment, means, energy; the median of those after the second) of
 * rows of normal random numbers, of shapes up to ROWS (10^6) rows, by the schedule best and by
 * compat with trimmed means, whose farthest rows leave most rows to few anchors, and of what comes
 * before the first one; of one shape also off the origin, by 10 in all dimensions or by 100 in one,
 * and with a row that is 50 times as long; then of the published run of 10,000 rows and of a small
 * one, whole, the least of three. BACKEND cpu: by THREADS (2).
 * MEBIBYTES: of the device's memory no more is left free, and two shapes of ROWS rows alone are
 * tried: those that do not fit go there part by part, which the log says. */
#define PROGRAM "gpu-vectors"
#include "bench/floats.h"
#include "bench/gpu/ballast.h"
#include "bench/program.h"
#include "bench/random.h"
#include "bench/timing.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wcodec/vectors.h>

enum { ITERATIONS = 14, RUNS = 3 };

static void say(void *opaque, wcodec_log_level level, const char *text)
{
    (void)opaque, (void)level;
    fprintf(stderr, "%s\n", text);
}

static uint16_t f16_of(double v)
{
    return v == 0 ? 0 : (uint16_t)small_float(v, 5, 10);
}

static wcodec_context *open_device(const char *backend, unsigned threads)
{
    wcodec_options options;
    wcodec_context *context;
    wcodec_error err;
    wcodec_options_init(&options);
    options.backend = backend;
    options.threads = threads;
    options.log = say;
    options.log_level = WCODEC_LOG_INFO;
    check(wcodec_context_create(&options, &context, &err), &err);
    return context;
}

/* When iterations end. */
struct course {
    double at[64];
    unsigned count;
};

static int note(void *opaque, const wcodec_vectors_iteration *iteration)
{
    struct course *course = opaque;
    (void)iteration;
    if (course->count < sizeof course->at / sizeof course->at[0])
        course->at[course->count++] = wall();
    return 0;
}

static void train(wcodec_context *context, const wcodec_vector_rows *rows,
                  const wcodec_vectors_options *options)
{
    wcodec_vectors *vectors;
    wcodec_error err;
    check(wcodec_vectors_train(context, rows, options, &vectors, &err), &err);
    wcodec_vectors_destroy(vectors);
}

/* Iterations of a schedule, which moves anchors to plain means or towards trimmed ones; `start` is
 * what comes before the first. */
static double measure(wcodec_context *context, const wcodec_vector_rows *rows, uint64_t anchors,
                      wcodec_vectors_schedule schedule, double *start)
{
    struct course course = {.count = 0};
    double times[ITERATIONS];
    wcodec_vectors_options o;
    wcodec_vectors_options_init(&o);
    o.anchors = anchors;
    o.schedule = schedule;
    o.max_iterations = ITERATIONS;
    o.tolerance = 0;
    o.maintenance = 0;
    o.iteration = note;
    o.opaque = &course;
    const double begin = wall();
    train(context, rows, &o);
    for (unsigned i = 2; i < course.count; i++)
        times[i - 2] = course.at[i] - course.at[i - 1];
    const double each = median(times, course.count - 2);
    *start = (course.at[0] - begin - each) * 1e3;
    return each * 1e3;
}

/* Normal numbers, and what is done to them. */
struct numbers {
    const char *name;
    double all, one; /* added to all dimensions, to the first */
    double longest;  /* times the row in the middle */
};

static void shape(wcodec_context *context, uint64_t n, uint64_t d, uint64_t anchors,
                  const struct numbers *of)
{
    uint16_t *data = malloc(n * d * sizeof *data);
    double start[2];
    if (data == NULL)
        fail("out of memory");
    for (uint64_t i = 0; i < n * d; i++) {
        const double x = (uniform() + uniform() + uniform() + uniform() - 2) * sqrt(3);
        data[i] =
            f16_of(x * (i / d == n / 2 ? of->longest : 1) + of->all + (i % d == 0 ? of->one : 0));
    }
    const wcodec_vector_rows rows = {
        .dtype = WCODEC_DTYPE_F16, .count = n, .dimensions = d, .data = data};
    const double best = measure(context, &rows, anchors, WCODEC_VECTORS_BEST, &start[0]),
                 compat = measure(context, &rows, anchors, WCODEC_VECTORS_COMPAT, &start[1]);
    printf("| %u x %u x %u%s | %.3f | %.1f | %.3f | %.1f |\n", (unsigned)n, (unsigned)d,
           (unsigned)anchors, of->name, best, start[0], compat, start[1]);
    fflush(stdout);
    free(data);
}

/* The published run: its data and options. */
static void published(wcodec_context *context, uint64_t n, uint64_t d, uint64_t anchors,
                      wcodec_vectors_reduce reduce)
{
    uint16_t *data = malloc(n * d * sizeof *data);
    struct course course;
    wcodec_vectors_options o;
    double least = INFINITY;
    if (data == NULL)
        fail("out of memory");
    for (uint64_t i = 0; i < n * d; i++)
        data[i] = f16_of((double)(5 * (float)(i / d % 3) + 0.5f * sinf((float)i * 0.1f)));
    const wcodec_vector_rows rows = {
        .dtype = WCODEC_DTYPE_F16, .count = n, .dimensions = d, .data = data};
    wcodec_vectors_options_init(&o);
    o.anchors = anchors;
    o.schedule = WCODEC_VECTORS_COMPAT;
    o.reduce = reduce;
    o.cooling = 0.05;
    o.step = 0.2;
    o.max_iterations = 50;
    o.tolerance = 1e-3;
    o.min_changes = 1;
    o.maintenance = 20;
    o.iteration = note;
    o.opaque = &course;
    for (unsigned i = 0; i < RUNS; i++) {
        course.count = 0;
        const double begin = wall();
        train(context, &rows, &o);
        const double seconds = wall() - begin;
        least = seconds < least ? seconds : least;
    }
    printf("%u x %u x %u, %s: %u iterations, %.2f ms\n", (unsigned)n, (unsigned)d,
           (unsigned)anchors, reduce == WCODEC_VECTORS_PLAIN ? "plain" : "trimmed", course.count,
           least * 1e3);
    fflush(stdout);
    free(data);
}

int main(int argc, char **argv)
{
    static const uint64_t shapes[][3] = {{10000, 128, 256},
                                         {100000, 128, 1024},
                                         {100000, 384, 1024},
                                         {1000000, 64, 4096},
                                         {1000000, 128, 2048}};
    static const uint64_t parted[][3] = {{1000000, 128, 256}, {1000000, 128, 1024}};
    static const struct numbers plain = {"", 0, 0, 1}, others[] = {{", all + 10", 10, 0, 1},
                                                                   {", one + 100", 0, 100, 1},
                                                                   {", a row x 50", 0, 0, 50}};
    const unsigned long threads = argc > 2 ? strtoul(argv[2], NULL, 10) : 2;
    const uint64_t most = argc > 3 ? strtoull(argv[3], NULL, 10) : 1000000;
    const uint64_t leave = argc > 4 ? strtoull(argv[4], NULL, 10) << 20 : 0;
    struct ballast ballast = {.count = 0};
    if (argc < 2 || threads < 1 || threads > 1024 || most < 64) {
        fprintf(stderr, "usage: gpu-vectors BACKEND [THREADS [ROWS [MEBIBYTES]]]\n");
        return 2;
    }
    wcodec_context *context = open_device(argv[1], (unsigned)threads);
    if (leave != 0 && !ballast_take(&ballast, leave))
        fail("there is no CUDA device whose memory could be taken");
    printf("| F16, %s | best | before | compat | before |\n| --- | --- | --- | --- | --- |\n",
           argv[1]);
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
        if (shapes[i][0] <= most && leave == 0)
            shape(context, shapes[i][0], shapes[i][1], shapes[i][2], &plain);
    for (size_t i = 0; i < sizeof parted / sizeof parted[0] && leave != 0; i++)
        shape(context, parted[i][0] < most ? parted[i][0] : most, parted[i][1], parted[i][2],
              &plain);
    const bool few = most < 100000;
    for (size_t i = 0; i < sizeof others / sizeof others[0] && leave == 0; i++)
        shape(context, few ? most : 100000, 128, few ? 64 : 1024, &others[i]);
    if (leave == 0) {
        published(context, 10000, 128, 256, WCODEC_VECTORS_PLAIN);
        published(context, 10000, 128, 256, WCODEC_VECTORS_TRIMMED);
        published(context, 1000, 64, 32, WCODEC_VECTORS_TRIMMED);
    }
    ballast_drop(&ballast);
    wcodec_context_destroy(context);
    return 0;
}
