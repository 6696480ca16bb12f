/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "utils/app.h"
#include "utils/signals.h"
#include "utils/text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ERROR "error: "

static void print_message(struct app *app, const char *kind, const char *format, va_list arguments)
    APP_PRINTF(3, 0);

static void print_message(struct app *app, const char *kind, const char *format, va_list arguments)
{
    char *text;
    if (vasprintf(&text, format, arguments) < 0)
        text = NULL;
    char *escaped = text ? text_escape(text) : NULL;
    progress_hide(&app->progress);
    if (strcmp(kind, ERROR) == 0) {
        free(app->failure);
        app->failure = text;
        text = NULL;
    }
    fprintf(stderr, "%s: %s%s\n", app->program ? app->program : "wcodec", kind,
            escaped ? escaped : "out of memory");
    free(escaped);
    free(text);
}

void app_note(struct app *app, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (app->options.quiet == 0)
        print_message(app, "", format, arguments);
    va_end(arguments);
}

void app_detail(struct app *app, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (app->options.quiet == 0 && app->options.verbose > 0)
        print_message(app, "", format, arguments);
    va_end(arguments);
}

void app_warn(struct app *app, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (app->options.quiet < 2)
        print_message(app, "warning: ", format, arguments);
    va_end(arguments);
}

/* Of the codes the larger is the graver; only that with --keep-going, 3 says that all that is whole
 * has been saved, which is not so after another failure. */
static bool is_graver(const struct app *app, int code, int than)
{
    const bool saving = app->options.keep_going;
    if (saving && code == EXIT_FAILED && than == EXIT_CORRUPT)
        return true;
    return code > than && !(saving && code == EXIT_CORRUPT && than == EXIT_FAILED);
}

void app_keep_exit_code(struct app *app, int exit_code)
{
    if (is_graver(app, exit_code, app->exit_code))
        app->exit_code = exit_code;
}

bool app_fail(struct app *app, int exit_code, const char *format, ...)
{
    app_keep_exit_code(app, exit_code);
    if (signals_pending())
        return false;
    va_list arguments;
    va_start(arguments, format);
    print_message(app, ERROR, format, arguments);
    va_end(arguments);
    return false;
}

int exit_code_of(wcodec_status status)
{
    switch (status) {
    case WCODEC_OK:
        return EXIT_DONE;
    case WCODEC_ERROR_USAGE:
        return EXIT_USAGE;
    case WCODEC_ERROR_CORRUPT:
    case WCODEC_ERROR_NEWER:
    case WCODEC_ERROR_MISMATCH:
    case WCODEC_ERROR_UNSUPPORTED:
        return EXIT_CORRUPT;
    case WCODEC_ERROR_BACKEND:
        return EXIT_BACKEND;
    case WCODEC_ERROR_BUSY:
        return EXIT_BUSY;
    case WCODEC_ERROR_MEMORY:
    case WCODEC_ERROR_IO:
    case WCODEC_ERROR_LIMIT:
    case WCODEC_ERROR_CANCELLED:
    case WCODEC_ERROR_DEVICE:
    case WCODEC_ERROR_NOT_FOUND:
    default:
        return EXIT_FAILED;
    }
}

bool app_stdout_good(struct app *app)
{
    int error = errno;
    if (ferror(stdout) && !app->stdout_error)
        app->stdout_error = error ? error : EIO;
    return !app->stdout_error;
}

/* Of a model folder the library names the file that is wrong, which begins with the folder's name.
 */
static bool begins_with_name(const char *text, const char *name)
{
    size_t n = strlen(name);
    return strncmp(text, name, n) == 0 &&
           (text[n] == ':' || text[n] == '/' || (n > 0 && name[n - 1] == '/'));
}

bool app_fail_status(struct app *app, const char *name, const wcodec_error *err)
{
    const char *text = err->text[0] ? err->text : wcodec_status_string(err->status);
    bool named = !name || begins_with_name(text, name);
    return app_fail(app, exit_code_of(err->status), "%s%s%s", named ? "" : name, named ? "" : ": ",
                    text);
}

bool app_fail_errno(struct app *app, const char *name, const char *what, int error)
{
    return app_fail(app, EXIT_FAILED, "%s: %s: %s", name, what, strerror(error));
}

void app_note_sums(struct app *app, const char *done)
{
    const struct sums *s = &app->sums;
    char from[32], to[32];
    if (s->coded + s->copied + s->current < 2 || signals_pending())
        return;
    if (s->coded == 0)
        app_note(app, "total: %zu copied, %zu up to date", s->copied, s->current);
    else
        app_note(app, "total: %zu %s, %s to %s (%.2f %%), %zu copied, %zu up to date", s->coded,
                 done, text_size(s->from, from), text_size(s->to, to),
                 s->from ? 100.0 * (double)s->to / (double)s->from : 100.0, s->copied, s->current);
}

void *app_alloc(struct app *app, const char *name, uint64_t size)
{
    if (app->options.memory_limit && size > app->options.memory_limit) {
        app_fail(app, EXIT_FAILED,
                 "%s: %" PRIu64 " bytes of memory are needed, more than --memory-limit allows",
                 name, size);
        return NULL;
    }
    void *memory = size < SIZE_MAX ? malloc(size ? (size_t)size : 1) : NULL;
    if (!memory)
        app_fail(app, EXIT_FAILED, "%s: out of memory (%" PRIu64 " bytes)", name, size);
    return memory;
}

static void print_log(void *opaque, wcodec_log_level level, const char *text)
{
    struct app *app = opaque;
    const char *subject = app->subject ? app->subject : "", *colon = app->subject ? ": " : "";
    if (level <= WCODEC_LOG_WARNING)
        app_warn(app, "%s%s%s", subject, colon, text);
    else
        app_note(app, "%s%s%s", subject, colon, text);
}

bool app_context(struct app *app)
{
    if (app->context)
        return true;
    app->context = app_make_context(app, app->options.threads,
                                    app_all_backends(app) ? NULL : app->options.backend);
    return app->context != NULL;
}

wcodec_decode_options app_decode_options(struct app *app)
{
    wcodec_decode_options decode;
    wcodec_decode_options_init(&decode);
    decode.progress = progress_callback(&app->progress);
    decode.skip_checks = app->options.no_checksum;
    return decode;
}

bool app_all_backends(const struct app *app)
{
    const struct options *o = &app->options;
    return (o->command == COMMAND_BENCH || o->command == COMMAND_TEST) && o->backend &&
           strcmp(o->backend, "all") == 0;
}

wcodec_context *app_make_context(struct app *app, unsigned threads, const char *backend)
{
    const struct options *o = &app->options;
    wcodec_options options;
    wcodec_context *context;
    wcodec_error err = {0};
    wcodec_options_init(&options);
    options.threads = threads;
    options.bind_threads = !app->shares_cores;
    options.backend = backend;
    options.limits.max_memory = o->memory_limit;
    /* What devices -v would log stands in its table. */
    if (o->verbose > (o->command == COMMAND_DEVICES)) {
        options.log = print_log;
        options.log_opaque = app;
        options.log_level = o->verbose > 1 ? WCODEC_LOG_DEBUG : WCODEC_LOG_INFO;
    }
    if (wcodec_context_create(&options, &context, &err) == WCODEC_OK)
        return context;
    app_fail_status(app, NULL, &err);
    return NULL;
}
