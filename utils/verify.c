/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* wcodec verify: is what would be restored bit for bit the original? */
#include "utils/app.h"
#include "core/system.h"
#include "utils/bases.h"
#include "utils/input.h"
#include "utils/json.h"
#include "utils/lossy.h"
#include "utils/signals.h"
#include "utils/text.h"
#include "utils/walk.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SUFFIX ".wcodec"

enum { BUFFER = 1 << 16 };

/* An original that is read along with what is restored. */
struct comparison {
    int fd; /* read in sequence, so a pipe will do; -1: nothing to compare with */
    const char *name;
    uint64_t at;
    bool differs; /* at `at` */
    int restored; /* the bytes there; -1: the end */
    int original;
    int error;                /* errno of a failed read */
    struct lossy_meter meter; /* of a file with approximated tensors: its reader is set */
    uint8_t buffer[BUFFER];
};

/* Result of one pair. */
struct result {
    const char *name;
    const char *original; /* NULL: compared with a hash */
    bool same;            /* but for what is approximated */
    struct lossy_figures lossy;
    char text[1400];  /* the difference */
    wcodec_error err; /* why nothing could be compared, if the library knows */
};

static ssize_t read_fully(int fd, uint8_t *data, size_t size)
{
    size_t done = 0;
    while (done < size) {
        ssize_t n = signals_pending() ? -1 : read(fd, data + done, wcodec_call_bytes(size - done));
        if (n < 0 && errno == EINTR && !signals_pending())
            continue;
        if (n < 0)
            return -1;
        if (n == 0)
            break;
        done += (size_t)n;
    }
    return (ssize_t)done;
}

/* A wcodec_write_fn that compares; it stops the restoring at the first difference. */
static int compare_bytes(void *opaque, const void *data, size_t size)
{
    struct comparison *c = opaque;
    const uint8_t *restored = data;
    if (c->fd < 0)
        return signals_pending() ? EINTR : 0;
    while (size > 0) {
        size_t part = size < BUFFER ? size : BUFFER, i = 0;
        ssize_t n = read_fully(c->fd, c->buffer, part);
        if (n < 0)
            return c->error = errno;
        size_t have = (size_t)n;
        if (c->meter.reader)
            i = lossy_compare(&c->meter, restored, c->buffer, have);
        else if (memcmp(restored, c->buffer, have) == 0)
            i = have;
        else
            while (restored[i] == c->buffer[i])
                i++;
        if (i < part) {
            c->at += i;
            c->differs = true;
            c->restored = restored[i];
            c->original = i < have ? c->buffer[i] : -1;
            return ECANCELED;
        }
        c->at += part;
        restored += part;
        size -= part;
    }
    return 0;
}

/* "tensor 'x' at byte 12 of it" for a place in the original. */
static void name_position(const wcodec_reader *reader, uint64_t at, char *text, size_t size)
{
    uint64_t count = wcodec_reader_entry_count(reader);
    snprintf(text, size, "after the last byte");
    for (uint64_t i = 0; i < count; i++) {
        wcodec_tensor_info info;
        if (wcodec_reader_entry(reader, i, &info, NULL) != WCODEC_OK || at < info.file_offset ||
            at - info.file_offset >= info.size)
            continue;
        if (info.name)
            snprintf(text, size, "in tensor '%.500s' at byte %" PRIu64 " of it", info.name,
                     at - info.file_offset);
        else
            snprintf(text, size, "in no tensor");
        return;
    }
}

static void describe_difference(const wcodec_reader *reader, const struct comparison *c,
                                struct result *result)
{
    char position[600], restored[16] = "the end", original[16] = "the end";
    name_position(reader, c->at, position, sizeof position);
    if (c->meter.reader && c->original >= 0 && c->meter.left && c->meter.info.lossy) {
        snprintf(result->text, sizeof result->text,
                 "is further from '%.500s' at byte %" PRIu64
                 ", %s, than the file says: an error of %.4g, not %.4g",
                 c->name, c->at, position, c->meter.now.largest, c->meter.info.largest_error);
        return;
    }
    if (c->restored >= 0)
        snprintf(restored, sizeof restored, "0x%02x", (unsigned)c->restored);
    if (c->original >= 0)
        snprintf(original, sizeof original, "0x%02x", (unsigned)c->original);
    snprintf(result->text, sizeof result->text,
             "differs from '%.500s' first at byte %" PRIu64 ", %s: %s here, %s there", c->name,
             c->at, position, restored, original);
}

static bool compare(struct app *app, const struct input *input, const wcodec_reader *reader,
                    struct comparison *c, struct result *result)
{
    progress_start(&app->progress, input->name, !app->options.quiet && !app->options.no_progress);
    wcodec_decode_options decode = app_decode_options(app);
    wcodec_status status =
        wcodec_reader_restore(reader, 0, compare_bytes, c, &decode, &result->err);
    progress_end(&app->progress);
    if (c->error)
        return app_fail_errno(app, c->name, "cannot read", c->error);
    if (!c->differs && status != WCODEC_OK)
        return app_fail_status(app, input->name, &result->err);
    if (!c->differs && c->fd >= 0) {
        ssize_t n = read_fully(c->fd, c->buffer, 1);
        if (n < 0)
            return app_fail_errno(app, c->name, "cannot read", errno);
        if (n > 0) {
            c->differs = true;
            c->restored = -1;
            c->original = c->buffer[0];
        }
    }
    if (c->differs)
        describe_difference(reader, c, result);
    result->same = !c->differs;
    result->lossy = c->meter.figures;
    return true;
}

static void report(struct app *app, struct json_list *list, const struct result *result)
{
    char text[LOSSY_TEXT];
    if (signals_pending())
        return;
    if (!result->same && result->text[0])
        app_fail(app, EXIT_CORRUPT, "%s: %s", result->name, result->text);
    else if (result->same && !app->options.json && result->lossy.tensors)
        app_note(app, "%s: approximates %s: %s in %" PRIu64 " lossy tensor%s; all else is the same",
                 result->name, result->original, lossy_text(&result->lossy, text),
                 result->lossy.tensors, result->lossy.tensors == 1 ? "" : "s");
    else if (result->same && !app->options.json)
        app_note(app, "%s: the same as %s", result->name,
                 result->original ? result->original : "the hash");
    if (!app->options.json)
        return;
    json_t *item =
        json_pack("{s:o, s:o, s:b, s:o, s:o}", "path", json_text(result->name), "original",
                  result->original ? json_text(result->original) : json_null(), "same",
                  result->same && result->lossy.errors == 0, "difference",
                  result->text[0] ? json_text(result->text) : json_null(), "lossy",
                  result->same && result->lossy.tensors ? lossy_json(&result->lossy) : json_null());
    if (item && !result->same && !result->text[0])
        json_object_set_new(item, "error",
                            json_text(result->err.text[0] ? result->err.text : "cannot be read"));
    json_list_item(app, list, item);
}

static int open_original(struct app *app, const char *path)
{
    bool standard = strcmp(path, "-") == 0;
    int fd = standard ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)
                      : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        app_fail_errno(app, path, "cannot open", errno);
    return fd;
}

static void verify_pair(struct app *app, struct json_list *list, const char *path,
                        const char *original)
{
    struct input input;
    wcodec_reader *reader;
    wcodec_file_info info;
    struct result result = {.name = path, .original = original};
    struct comparison *c;
    int fd = open_original(app, original);
    if (fd < 0)
        goto done;
    c = app_alloc(app, path, sizeof *c);
    if (c && app_context(app) && input_open(app, path, &input)) {
        result.name = input.name;
        c->fd = fd;
        c->name = original;
        c->at = 0;
        c->differs = false;
        c->error = 0;
        c->meter = (struct lossy_meter){0};
        if (bases_open_reader(app, app->context, &input, &reader, &result.err) == WCODEC_OK) {
            if (wcodec_reader_file(reader, 0, &info, NULL) == WCODEC_OK && info.lossy)
                c->meter.reader = reader;
            compare(app, &input, reader, c, &result);
            wcodec_reader_close(reader);
        } else {
            app_fail_status(app, input.name, &result.err);
        }
        input_close(&input);
    }
    free(c);
    close(fd);
done:
    report(app, list, &result);
}

static bool parse_hash(const char *text, uint8_t hash[16])
{
    for (size_t i = 0; i < 32; i++) {
        char c = text[i];
        int v = c >= '0' && c <= '9'   ? c - '0'
                : c >= 'a' && c <= 'f' ? c - 'a' + 10
                : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                       : -1;
        if (v < 0)
            return false;
        hash[i / 2] = (uint8_t)(i % 2 ? hash[i / 2] | v : v << 4);
    }
    return text[32] == 0;
}

/* Restoring checks the bytes against the hash in the file; that must be the hash asked for. */
static void verify_hash(struct app *app, struct json_list *list, const char *path,
                        const uint8_t hash[16])
{
    struct input input;
    wcodec_reader *reader;
    wcodec_file_info info;
    struct result result = {.name = path};
    struct comparison *c = app_alloc(app, path, sizeof *c);
    if (c && app_context(app) && input_open(app, path, &input)) {
        result.name = input.name;
        *c = (struct comparison){.fd = -1};
        if (bases_open_reader(app, app->context, &input, &reader, &result.err) != WCODEC_OK) {
            app_fail_status(app, input.name, &result.err);
        } else {
            if (compare(app, &input, reader, c, &result) &&
                wcodec_reader_file(reader, 0, &info, NULL) == WCODEC_OK &&
                memcmp(info.xxh128, hash, 16) != 0) {
                char hex[33];
                text_hex(info.xxh128, 16, hex);
                result.same = false;
                snprintf(result.text, sizeof result.text,
                         "differs from the hash that was given: the original's is %s", hex);
            }
            wcodec_reader_close(reader);
        }
        input_close(&input);
    }
    free(c);
    report(app, list, &result);
}

struct verify_walk {
    struct json_list *list;
    const char *coded;
    const char *original;
    size_t count;
};

/* A file of the mirror that was only copied. */
static void verify_copy(struct app *app, struct json_list *list, const char *path,
                        const char *original)
{
    struct result result = {.name = path, .original = original};
    struct input a, b;
    uint8_t ha[16], hb[16];
    if (input_open(app, path, &a)) {
        if (input_open(app, original, &b)) {
            bool equal_sizes = a.stat.st_size == b.stat.st_size;
            bool compared = !equal_sizes ||
                            (file_hash(app, a.fd, a.name, ha) && file_hash(app, b.fd, b.name, hb));
            result.same = compared && equal_sizes && memcmp(ha, hb, 16) == 0;
            if (compared && !result.same)
                snprintf(result.text, sizeof result.text, "differs from '%.500s'", original);
            input_close(&b);
        }
        input_close(&a);
    }
    report(app, list, &result);
}

static bool verify_visit(struct app *app, void *opaque, const char *relative, bool is_directory)
{
    struct verify_walk *walk = opaque;
    if (is_directory)
        return true;
    char *path = path_join(app, walk->coded, relative);
    char *original = path_join(app, walk->original, relative);
    walk->count++;
    if (path && original && path_has_suffix(path_base(original), SUFFIX) &&
        access(original, F_OK) != 0) {
        original[strlen(original) - (sizeof SUFFIX - 1)] = 0;
        verify_pair(app, walk->list, path, original);
    } else if (path && original) {
        verify_copy(app, walk->list, path, original);
    }
    free(original);
    free(path);
    return true;
}

/* Every file of the original must be in the mirror. */
static bool missing_visit(struct app *app, void *opaque, const char *relative, bool is_directory)
{
    struct verify_walk *walk = opaque;
    char *plain = path_join(app, walk->coded, relative);
    char *coded = plain ? app_alloc(app, plain, strlen(plain) + sizeof SUFFIX) : NULL;
    if (coded && !is_directory && access(plain, F_OK) != 0 &&
        access(strcat(strcpy(coded, plain), SUFFIX), F_OK) != 0)
        app_fail(app, EXIT_CORRUPT, "%s: is not in '%s'", relative, walk->coded);
    free(coded);
    free(plain);
    return true;
}

static void verify_directories(struct app *app, struct json_list *list, const char *coded,
                               const char *original)
{
    struct verify_walk walk = {.list = list, .coded = coded, .original = original};
    if (!path_is_directory(coded) || !path_is_directory(original))
        app_fail(app, EXIT_USAGE,
                 "verify compares a file with a file, or a directory with a directory");
    else if (walk_directory(app, coded, verify_visit, &walk) &&
             walk_directory(app, original, missing_visit, &walk) && walk.count == 0)
        app_fail(app, EXIT_FAILED, "%s: is empty", coded);
}

void command_verify(struct app *app)
{
    const struct options *o = &app->options;
    const char *const *files = o->files.items;
    struct json_list list;
    uint8_t hash[16];
    if (o->xxh128 && !parse_hash(o->xxh128, hash)) {
        app_fail(app, EXIT_USAGE, "--xxh128 takes 32 hexadecimal digits, not '%s'", o->xxh128);
        return;
    }
    if (o->files.count != (o->xxh128 ? 1 : 2)) {
        app_fail(
            app, EXIT_USAGE,
            "verify takes FILE.wcodec and ORIGINAL, two directories, or --xxh128 HEX and FILE.wcodec");
        return;
    }
    if (o->json)
        json_list_begin(&list, "results");
    if (o->xxh128)
        verify_hash(app, &list, files[0], hash);
    else if (strcmp(files[0], "-") == 0 && strcmp(files[1], "-") == 0)
        app_fail(app, EXIT_USAGE, "only one of the two can be standard input");
    else if ((strcmp(files[0], "-") != 0 && path_is_directory(files[0])) ||
             (strcmp(files[1], "-") != 0 && path_is_directory(files[1])))
        verify_directories(app, &list, files[0], files[1]);
    else
        verify_pair(app, &list, files[0], files[1]);
    if (o->json)
        json_list_end(&list);
}
