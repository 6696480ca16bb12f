/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* wcodec vectors: its subcommands, and train. */
#include "utils/vectors.h"
#include "utils/json.h"
#include "utils/signals.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct course {
    struct app *app;
    const struct vectors_rows *rows;
    const char *name;
    bool lines; /* of JSON */
    wcodec_vectors_iteration last;
};

static int note_iteration(void *opaque, const wcodec_vectors_iteration *now)
{
    struct course *course = opaque;
    struct app *app = course->app;
    course->last = *now;
    if (course->lines) {
        char *line =
            json_render(app, json_pack("{s:o, s:f, s:f, s:o, s:o, s:o, s:o}", "iteration",
                                       json_size(now->iteration), "temperature", now->temperature,
                                       "energy", now->energy, "changes", json_size(now->changes),
                                       "anchors", json_size(now->anchors), "merged",
                                       json_size(now->merged), "split", json_size(now->split)));
        if (line) {
            puts(line);
            fflush(stdout);
        }
        free(line);
        if (!line || !app_stdout_good(app))
            return 1;
    }
    app_detail(app,
               "%s: iteration %" PRIu64 ": energy %.6g, temperature %.4f, %" PRIu64
               " changes, %" PRIu64 " anchors",
               course->name, now->iteration, now->energy, now->temperature, now->changes,
               now->anchors);
    return signals_pending() || vectors_rows_lost(course->rows);
}

/* After the library's error or without one: are the vectors good? */
static bool check_training(struct app *app, const struct vectors_rows *rows,
                           const struct course *course)
{
    return vectors_rows_check(app, rows) &&
           (isfinite(course->last.energy) ||
            app_fail(app, EXIT_FAILED, "%s: the energy of its anchors is not finite", rows->name));
}

/* NULL: reported. */
static wcodec_vectors *train(struct app *app, const struct vectors_rows *rows,
                             struct course *course)
{
    const struct options *o = &app->options;
    wcodec_vectors_options options = o->train;
    wcodec_vectors *vectors = NULL;
    wcodec_error err = {0};
    options.iteration = note_iteration;
    options.opaque = course;
    progress_start(&app->progress, rows->name, !o->quiet && !o->no_progress);
    options.progress = progress_callback(&app->progress);
    const wcodec_status status =
        wcodec_vectors_train(app->context, &rows->rows, &options, &vectors, &err);
    progress_end(&app->progress);
    if (status == WCODEC_ERROR_CANCELLED && app->stdout_error)
        app_keep_exit_code(app, EXIT_FAILED); /* said where the program ends */
    else if (!(status == WCODEC_ERROR_CANCELLED && signals_pending()) &&
             !check_training(app, rows, course)) {
        wcodec_vectors_destroy(vectors);
        vectors = NULL;
    } else if (status != WCODEC_OK)
        app_fail_status(app, rows->name, &err);
    return vectors;
}

static void note_result(struct app *app, const struct vectors_rows *rows,
                        const wcodec_vectors *vectors, const struct course *course)
{
    wcodec_vectors_info info;
    wcodec_vectors_describe(vectors, &info);
    const double size = (double)vectors_files_size(&info);
    app_note(app,
             "%s: %" PRIu64 " vectors of %" PRIu64 " dimensions, %" PRIu64 " anchors, %" PRIu64
             " iterations, energy %.6g, %.2f %% of F32",
             rows->name, info.rows, info.dimensions, info.anchors, course->last.iteration,
             course->last.energy, 25.0 * size / ((double)info.rows * (double)info.dimensions));
}

wcodec_vectors *vectors_find_anchors(struct app *app, const struct vectors_rows *rows)
{
    enum { MANY = 39 }; /* vectors an anchor */
    struct course course = {.app = app, .rows = rows, .name = rows->name};
    wcodec_vectors_options *o = &app->options.train;
    if (!app->options.anchors_given && o->anchors > rows->rows.count / MANY)
        o->anchors = rows->rows.count < MANY ? 1 : rows->rows.count / MANY;
    return train(app, rows, &course);
}

void vectors_train(struct app *app)
{
    const struct options *o = &app->options;
    struct vectors_rows rows;
    struct vectors_files files;
    struct output_attributes attributes = {0};
    if (o->files.count != 1) {
        app_fail(app, EXIT_USAGE, "vectors train takes one file of tensors");
        return;
    }
    if (!o->output) {
        app_fail(app, EXIT_USAGE, "vectors train needs -o NAME, for three files");
        return;
    }
    if (!vectors_rows_open(app, o->files.items[0], &rows))
        return;
    const struct input *input = &rows.file.input;
    if (vectors_files_open(app, o->output, input->fd >= 0 ? &input->stat : NULL, &files)) {
        struct course course = {.app = app, .rows = &rows, .name = rows.name, .lines = o->json};
        wcodec_vectors *vectors = train(app, &rows, &course);
        output_attributes_narrow_by(&attributes, input, rows.file.reader);
        if (vectors && vectors_files_write(app, vectors, &attributes, &files))
            note_result(app, &rows, vectors, &course);
        wcodec_vectors_destroy(vectors);
        vectors_files_close(&files);
    }
    vectors_rows_close(&rows);
}

/* What it takes: options, and groups of them. */
enum takes {
    OUTPUT = 1,
    JSON = 2,
    TENSOR = 4,
    TRAIN = 8,
    EVALUATE = 16,
    COMPRESS = 32,
    ADD = 64,
    SEARCH = 128,
    NEAREST = 256,
    STORES = 512
};

static const struct {
    const char *name;
    void (*run)(struct app *app);
    unsigned takes;
} subcommands[] = {
    {"train", vectors_train, OUTPUT | JSON | TENSOR | TRAIN},
    {"info", vectors_info, JSON},
    {"evaluate", vectors_evaluate, JSON | TENSOR | EVALUATE | NEAREST | ADD | STORES},
    {"export", vectors_export, OUTPUT},
    {"compress", vectors_compress, OUTPUT | JSON | TENSOR | TRAIN | COMPRESS},
    {"add", vectors_add, JSON | TENSOR | TRAIN | COMPRESS | ADD},
    {"remove", vectors_remove, 0},
    {"compact", vectors_compact, JSON},
    {"search", vectors_search, JSON | TENSOR | SEARCH | NEAREST | STORES},
};

#define SUBCOMMANDS "train, info, evaluate, export, compress, add, remove, compact or search"

/* Options of other subcommands. NULL: there are none. */
static const char *find_alien(const struct options *o, size_t i)
{
    const struct {
        unsigned takes;
        const char *given;
    } options[] = {{OUTPUT, o->output ? "output" : NULL},
                   {JSON, o->json ? "json" : NULL},
                   {TENSOR, o->tensors.count ? "tensor" : NULL},
                   {TRAIN, o->for_train},
                   {EVALUATE, o->for_evaluate},
                   {COMPRESS, o->for_compress},
                   {ADD, o->for_add},
                   {SEARCH, o->for_search},
                   {NEAREST, o->for_nearest},
                   {STORES, o->for_stores}};
    for (size_t k = 0; k < sizeof options / sizeof *options; k++)
        if (options[k].given && !(subcommands[i].takes & options[k].takes))
            return options[k].given;
    return NULL;
}

void command_vectors(struct app *app)
{
    const struct options *o = &app->options;
    const char *alien;
    size_t i = 0;
    while (o->subcommand && i < sizeof subcommands / sizeof *subcommands &&
           strcmp(subcommands[i].name, o->subcommand) != 0)
        i++;
    if (!o->subcommand)
        app_fail(app, EXIT_USAGE, "vectors what? Say " SUBCOMMANDS);
    else if (i == sizeof subcommands / sizeof *subcommands)
        app_fail(app, EXIT_USAGE, "vectors does not '%s', but " SUBCOMMANDS, o->subcommand);
    else if ((alien = find_alien(o, i)) != NULL)
        app_fail(app, EXIT_USAGE, "'vectors %s' takes no option --%s", o->subcommand, alien);
    else if (o->to_stdout)
        app_fail(app, EXIT_USAGE, "'vectors %s' writes to files, not to standard output",
                 o->subcommand);
    else
        subcommands[i].run(app);
}
