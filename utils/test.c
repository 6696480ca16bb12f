/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* wcodec test: read and decode everything, and check every sum. */
#include "utils/app.h"
#include "utils/bases.h"
#include "utils/decode_parts.h"
#include "utils/input.h"
#include "utils/json.h"
#include "utils/lossy.h"
#include "utils/model_index.h"
#include "utils/results.h"
#include "utils/signals.h"
#include "utils/text.h"
#include "utils/times.h"
#include "utils/walk.h"
#include "utils/work.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* device NULL: the one that was chosen, which is not said. */
static void report(struct app *app, const char *name, const char *device,
                   const struct lossy_figures *lossy, const wcodec_error *err)
{
    bool good = err->status == WCODEC_OK;
    char text[LOSSY_TEXT];
    if (!good && device)
        app_fail(app, exit_code_of(err->status), "%s: on %s: %s", name, device, err->text);
    else if (!good)
        app_fail_status(app, name, err);
    else if (!app->options.json)
        app_note(app, "%s: ok%s%s%s%s", name, device ? " on " : "", device ? device : "",
                 lossy->tensors ? ", lossy: " : "", lossy->tensors ? lossy_text(lossy, text) : "");
    if (!app->options.json || signals_pending())
        return;
    json_t *item = json_pack("{s:o, s:b, s:s}", "path", json_text(name), "ok", good, "status",
                             good ? "ok" : wcodec_status_string(err->status));
    if (item && device)
        json_object_set_new(item, "device", json_text(device));
    if (item)
        json_object_set_new(item, "lossy",
                            good && lossy->tensors ? lossy_json(lossy) : json_null());
    if (item && !good)
        json_object_set_new(item, "error", json_text(err->text));
    results_item(app, item);
}

/* What is done of a test: all at once, or a step of a file in parts (utils/work.h). */
enum step { ALL, LOOK, PART, COMMIT };

static wcodec_status decode_all(struct app *app, const struct input *input,
                                const wcodec_reader *reader, wcodec_error *err)
{
    wcodec_times times = {0};
    wcodec_decode_options decode = app_decode_options(app);
    progress_start(&app->progress, input->name, !app->options.quiet && !app->options.no_progress);
    decode.times = times_wanted(app, &times);
    const wcodec_status status = wcodec_reader_test(reader, 0, app->options.quick, &decode, err);
    progress_end(&app->progress);
    if (status == WCODEC_OK && !app->options.quick)
        times_print(app, input->name, &times);
    return status;
}

/* *settled: there is nothing more to do than to report it. */
static wcodec_status test_reader(struct app *app, const struct input *input,
                                 const wcodec_reader *reader, const wcodec_file_info *file,
                                 enum step step, bool *settled, wcodec_error *err)
{
    wcodec_decode_options decode;
    wcodec_status status;
    switch (step) {
    case LOOK:
        app->parts = decode_parts_count(app, input, file);
        *settled = app->parts == 0;
        return *settled ? decode_all(app, input, reader, err) : WCODEC_OK;
    case PART:
        *settled = false;
        status = decode_parts_same(app, input, err);
        if (status != WCODEC_OK)
            return status;
        decode = decode_parts_options(app, file);
        return wcodec_reader_test(reader, 0, 0, &decode, err);
    case COMMIT:
        status = decode_parts_same(app, input, err);
        return status == WCODEC_OK ? decode_parts_check(app, reader, err) : status;
    default:
        return decode_all(app, input, reader, err);
    }
}

static void test_on(struct app *app, const struct input *input, wcodec_context *context,
                    const char *device, enum step step)
{
    wcodec_reader *reader;
    wcodec_file_info file;
    struct lossy_figures lossy = {0};
    wcodec_error err = {0};
    bool settled = true;
    wcodec_status status = app->options.quick
                               ? wcodec_reader_open_fd(context, input->fd, &reader, &err)
                               : bases_open_reader(app, context, input, &reader, &err);
    if (status == WCODEC_OK) {
        status = wcodec_reader_file(reader, 0, &file, &err);
        if (status == WCODEC_OK)
            status = test_reader(app, input, reader, &file, step, &settled, &err);
        if (status == WCODEC_OK)
            lossy = lossy_of_file(reader, &file);
        wcodec_reader_close(reader);
    }
    err.status = status;
    if (settled || status != WCODEC_OK)
        report(app, input->name, device, &lossy, &err);
}

/* Each device that can be used decodes everything, and must come to the same sums. */
static void test_everywhere(struct app *app, const struct input *input)
{
    const wcodec_device_info *devices;
    size_t count;
    wcodec_error err = {0};
    if (wcodec_context_devices(app->context, &devices, &count, &err) != WCODEC_OK) {
        app_fail_status(app, NULL, &err);
        return;
    }
    size_t tested = 0;
    for (size_t i = 0; i < count && !signals_pending(); i++) {
        char name[64];
        if (!devices[i].available) {
            app_note(app, "%s: not tested on %s: %s", input->name, devices[i].backend,
                     devices[i].name);
            continue;
        }
        tested++;
        snprintf(name, sizeof name, "%.40s:%u", devices[i].backend, devices[i].index);
        wcodec_context *context = app_make_context(app, app->options.threads, name);
        if (context)
            test_on(app, input, context, name, ALL);
        wcodec_context_destroy(context);
    }
    if (tested == 0 && !signals_pending())
        app_fail(app, EXIT_BACKEND, "%s: no backend can be used", input->name);
}

static void test_step(struct app *app, const char *path, enum step step)
{
    struct input input;
    int before = app->exit_code;
    app->exit_code = EXIT_DONE;
    if (!app_context(app) || !input_open(app, path, &input)) {
        if (app->options.json && !signals_pending())
            results_item(app, json_pack("{s:o, s:b, s:s, s:n, s:o}", "path", json_text(path), "ok",
                                        0, "status", "cannot open", "lossy", "error",
                                        json_text(app->failure ? app->failure : "")));
    } else {
        if (app_all_backends(app) && !app->options.quick)
            test_everywhere(app, &input);
        else
            test_on(app, &input, app->context, NULL, step);
        input_close(&input);
    }
    if (before > app->exit_code)
        app->exit_code = before;
}

void test_file(struct app *app, const char *path)
{
    test_step(app, path, ALL);
}

void test_look(struct app *app, const char *path)
{
    app->parts = 0;
    test_step(app, path, LOOK);
}

void test_part(struct app *app, const char *path)
{
    test_step(app, path, PART);
}

void test_commit(struct app *app, const char *path)
{
    test_step(app, path, COMMIT);
}

/* Are all files there that a model's index names? Said only if they are not. */
static void test_model(struct app *app, const char *path)
{
    const struct lossy_figures none = {0};
    wcodec_error err = {0};
    if (!app_context(app) || model_index_test(app, path, &err) == WCODEC_OK)
        return;
    report(app, path, NULL, &none, &err);
}

struct test_walk {
    const char *dir;
    size_t count;
};

static bool test_visit(struct app *app, void *opaque, const char *relative, bool is_directory)
{
    struct test_walk *walk = opaque;
    const bool is_file = !is_directory && path_has_suffix(path_base(relative), ".wcodec");
    if (!is_file && (is_directory || !model_index_is(relative)))
        return true;
    char *path = path_join(app, walk->dir, relative);
    if (path && is_file)
        work_do(app, WORK_TEST, path, NULL);
    else if (path)
        test_model(app, path);
    free(path);
    walk->count += is_file;
    return true;
}

void command_test(struct app *app)
{
    const struct options *o = &app->options;
    struct json_list list;
    const bool standard = o->files.count == 0 && !isatty(STDIN_FILENO);
    if (o->files.count == 0 && !standard) {
        app_fail(app, EXIT_USAGE,
                 "test what? Give .wcodec files, directories, or - for standard input");
        return;
    }
    if (o->json)
        json_list_begin(&list, "results");
    if (standard)
        work_do(app, WORK_TEST, "-", NULL);
    for (size_t i = 0; i < o->files.count && !signals_pending(); i++) {
        const char *path = o->files.items[i];
        if (strcmp(path, "-") != 0 && path_is_directory(path)) {
            struct test_walk walk = {.dir = path};
            if (walk_directory(app, path, test_visit, &walk) && walk.count == 0)
                app_fail(app, EXIT_FAILED, "%s: holds no .wcodec files", path);
        } else {
            work_do(app, WORK_TEST, path, NULL);
        }
    }
    work_finish(app);
    results_end(app);
}
