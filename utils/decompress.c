/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* wcodec decompress: FILE.wcodec to FILE, byte for byte as it was; directories; chosen tensors;
 * what is left of damaged files. */
#include "utils/app.h"
#include "utils/bases.h"
#include "utils/decode_parts.h"
#include "utils/directory.h"
#include "utils/input.h"
#include "utils/json.h"
#include "utils/model_index.h"
#include "utils/output.h"
#include "utils/partial.h"
#include "utils/parts.h"
#include "utils/removal.h"
#include "utils/results.h"
#include "utils/signals.h"
#include "utils/text.h"
#include "utils/times.h"
#include "utils/walk.h"
#include "utils/work.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SUFFIX ".wcodec"

/* Has `path` the bytes that would be restored: same size and hash? A link to them is as good, since
 * folders of links are common (Hugging Face's cache); but not where the input will be gone. */
static bool is_current(struct app *app, const char *path, const struct input *input,
                       const wcodec_file_info *info)
{
    uint8_t hash[16];
    struct stat stat;
    bool current = false;
    const int follow = app->options.remove ? O_NOFOLLOW : 0;
    int fd = open(path, O_RDONLY | follow | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return false;
    if (fstat(fd, &stat) == 0 && S_ISREG(stat.st_mode) && (uint64_t)stat.st_size == info->size &&
        !same_file(&stat, &input->stat))
        current = file_hash(app, fd, path, hash) && memcmp(hash, info->xxh128, 16) == 0;
    close(fd);
    return current;
}

/* The mode is the .wcodec file's own, not what its contents claim, unless it came through a pipe;
 * the time is the original's where that was noted. */
static struct output_attributes attributes_of(const struct input *input,
                                              const wcodec_file_info *info)
{
    struct output_attributes a = {0};
    if (input->path && !input->spooled)
        a = output_attributes_of(&input->stat);
    else if (info->mode)
        a = (struct output_attributes){
            .set_mode = true, .mode = info->mode & 0777, .apply_umask = true};
    if (info->mtime >= 0 && !(a.set_mtime && a.mtime.tv_sec == info->mtime)) {
        a.set_mtime = true;
        a.mtime = (struct timespec){.tv_sec = (time_t)info->mtime};
    }
    return a;
}

/* What came of the tensors of one file. */
struct part {
    bool partial; /* not the file itself is written, but one of tensors */
    bool damaged; /* which has been reported */
    size_t tensors;
};

/* Drop from `tensors` those that do not decode, each reported. */
static void drop_damaged(struct app *app, const char *name, const wcodec_reader *reader,
                         uint64_t *tensors, size_t *count)
{
    size_t kept = 0;
    for (size_t i = 0; i < *count && !signals_pending(); i++) {
        wcodec_tensor_info info;
        uint64_t size;
        void *data = partial_decode(app, name, reader, tensors[i], NULL, &size);
        free(data);
        if (data)
            tensors[kept++] = tensors[i];
        else if (wcodec_reader_tensor(reader, tensors[i], &info, NULL) == WCODEC_OK)
            app_warn(app, "%s: tensor '%s' is left out", name, info.name);
    }
    *count = kept;
}

static bool write_partial(struct app *app, const struct input *input, const wcodec_reader *reader,
                          const wcodec_file_info *info, struct output *output, struct part *part)
{
    size_t count;
    uint64_t *tensors = partial_select(app, input->name, reader, &count);
    if (!tensors)
        return false;
    bool good = true;
    if (app->options.keep_going) {
        const size_t chosen = count;
        drop_damaged(app, input->name, reader, tensors, &count);
        part->damaged |= count < chosen;
        good = count > 0 || app_fail(app, EXIT_CORRUPT, "%s: no tensor is left", input->name);
    }
    part->tensors = count;
    good = good && partial_write(app, input->name, reader, tensors, count, NULL, output);
    free(tensors);
    if (good)
        app_note(app, "%s: %zu of %" PRIu64 " tensors written to %s", input->name, count,
                 wcodec_reader_tensor_count(reader) + info->lost_tensors, output->name);
    return good;
}

/* Can all of the original be had? What is damaged is reported. */
static bool is_whole(struct app *app, const struct input *input, const wcodec_reader *reader,
                     const wcodec_file_info *info, struct part *part)
{
    wcodec_error err = {0};
    wcodec_decode_options decode = app_decode_options(app);
    if (wcodec_reader_test(reader, 0, 0, &decode, &err) != WCODEC_OK) {
        part->damaged = true;
        return app_fail_status(app, input->name, &err);
    }
    if (info->rebuilt) {
        part->damaged = true;
        app_fail(app, EXIT_CORRUPT,
                 "%s: the index is damaged; nothing of the original is missing, but its hash is "
                 "not known",
                 input->name);
    }
    return true;
}

/* Say so, and count it. */
static void add_restored(struct app *app, const struct input *input, const wcodec_file_info *info,
                         double seconds)
{
    char size[32], rate[32];
    if (info->size == 0)
        app_note(app, "%s: empty, restored", input->name);
    else
        app_note(app, "%s: %s restored, %s", input->name, text_size(info->size, size),
                 text_rate(info->size, seconds, rate));
    app->sums.coded++;
    app->sums.from += info->coded_size;
    app->sums.to += info->size;
}

static bool write_whole(struct app *app, const struct input *input, const wcodec_reader *reader,
                        const wcodec_file_info *info, struct output *output)
{
    wcodec_error err = {0};
    wcodec_decode_options decode = app_decode_options(app);
    wcodec_times times = {0};
    decode.times = times_wanted(app, &times);
    decode.write_at = output->in_any_order ? output_write_at : NULL;
    wcodec_status status = wcodec_reader_restore(reader, 0, output_write, output, &decode, &err);
    if (status != WCODEC_OK)
        return output_fail(app, output, input->name, &err);
    if (!output_pass(app, output, info->size))
        return false;
    add_restored(app, input, info, progress_seconds(&app->progress));
    times_print(app, input->name, &times);
    return true;
}

static void add_result(struct app *app, const struct input *input, const wcodec_file_info *info,
                       const struct output *output, const struct part *part)
{
    const uint64_t bytes = part->partial ? atomic_load(&output->written) : info->size;
    const uint64_t tensors = part->partial ? part->tensors : info->tensors;
    json_t *members = json_pack("{s:o, s:o, s:o}", "bytes", json_size(bytes), "coded_bytes",
                                json_size(info->coded_size), "tensors", json_size(tensors));
    (part->damaged ? results_add_damaged : results_add)(
        app, input->name, output->name, part->partial ? "restored in part" : "restored", members);
}

/* Is the file there already? Then that is reported. */
static bool is_settled(struct app *app, const struct input *input, const wcodec_file_info *info,
                       const char *target)
{
    const struct options *o = &app->options;
    const bool partial = o->tensors.count || o->only.count;
    if (!target || o->force || partial || o->keep_going || !is_current(app, target, input, info))
        return false;
    app_note(app, "%s: up to date", target);
    app->sums.current++;
    results_add(app, input->name, target, "up to date", NULL);
    return true;
}

static bool commit(struct app *app, const struct input *input, const wcodec_reader *reader,
                   const wcodec_file_info *info, struct output *output, const struct part *part)
{
    struct output_attributes attributes = attributes_of(input, info);
    bases_narrow(app, reader, -1, &attributes);
    if (!bases_spared(app, output->name) || !output_commit(app, output, &attributes))
        return false;
    add_result(app, input, info, output, part);
    return true;
}

static bool restore(struct app *app, const struct input *input, const wcodec_reader *reader,
                    const wcodec_file_info *info, const char *target)
{
    const struct options *o = &app->options;
    struct output output;
    struct part part = {.partial = o->tensors.count || o->only.count};
    if (is_settled(app, input, info, target))
        return true;
    if (signals_pending() || !(target ? output_open(app, target, &input->stat, &output)
                                      : output_open_stdout(app, &input->stat, &output)))
        return false;
    if (part.partial && info->rebuilt) {
        part.damaged = true;
        app_fail(app, EXIT_CORRUPT,
                 "%s: the file is cut short, or damaged: %" PRIu64
                 " bytes of the original's %" PRIu64 " are missing",
                 input->name, info->missing, info->size);
    }
    progress_start(&app->progress, input->name, !o->quiet && !o->no_progress);
    if (o->keep_going && !part.partial)
        part.partial = !is_whole(app, input, reader, info, &part);
    bool good = !signals_pending() &&
                (part.partial ? write_partial(app, input, reader, info, &output, &part)
                              : output_prepare(app, &output, info->size) &&
                                    write_whole(app, input, reader, info, &output));
    progress_end(&app->progress);
    good = good && commit(app, input, reader, info, &output, &part);
    output_close(&output);
    return good;
}

/* In parts: can the output be made, and in how many? */
static bool look(struct app *app, const struct input *input, const wcodec_reader *reader,
                 const wcodec_file_info *info, const char *target)
{
    const bool named = target && parts_are_named(target);
    const size_t parts = named ? decode_parts_count(app, input, info) : 0;
    struct output output;
    if (parts == 0)
        return restore(app, input, reader, info, target);
    if (is_settled(app, input, info, target))
        return true;
    if (signals_pending() || !output_open(app, target, &input->stat, &output))
        return false;
    const bool in_place = !output.temporary; /* a device, or a pipe */
    output_close(&output);
    if (in_place)
        return restore(app, input, reader, info, target);
    if (!decode_parts_begin(app, target, info->size))
        return false;
    app->parts = parts;
    return true;
}

static bool make_part(struct app *app, const struct input *input, const wcodec_reader *reader,
                      const wcodec_file_info *info, const char *target)
{
    wcodec_error err = {0};
    if (decode_parts_same(app, input, &err) != WCODEC_OK)
        return app_fail_status(app, input->name, &err);
    return decode_parts_write(app, input->name, reader, info, target);
}

static bool commit_parts(struct app *app, const struct input *input, const wcodec_reader *reader,
                         const wcodec_file_info *info, const char *target)
{
    const struct part whole = {0};
    struct output output;
    struct stat file;
    wcodec_error err = {0};
    char *name = decode_parts_name(app, target);
    bool good = name && ((decode_parts_same(app, input, &err) == WCODEC_OK &&
                          decode_parts_check(app, reader, &err) == WCODEC_OK) ||
                         app_fail_status(app, input->name, &err));
    good = good && output_adopt(app, target, &input->stat, name, &output);
    free(name);
    if (!good)
        return false;
    good = (fstat(output.fd, &file) == 0 && (uint64_t)file.st_size == info->size) ||
           app_fail(app, EXIT_FAILED, "%s: has not the bytes that were written", target);
    good = good && commit(app, input, reader, info, &output, &whole);
    output_close(&output);
    if (good) {
        parts_remove(app, target); /* of runs that were killed */
        add_restored(app, input, info, app->seconds);
    }
    return good;
}

/* One of these, with the file open. */
static void with_file(struct app *app, const char *source, const char *target,
                      bool (*step)(struct app *app, const struct input *input,
                                   const wcodec_reader *reader, const wcodec_file_info *info,
                                   const char *target))
{
    struct input input;
    wcodec_reader *reader;
    wcodec_file_info info;
    wcodec_error err = {0};
    bool good = false;
    if (!input_open_reader(app, source, &input, &reader)) {
        results_add_failure(app, source);
        return;
    }
    if (wcodec_reader_file(reader, 0, &info, &err) != WCODEC_OK)
        app_fail_status(app, input.name, &err);
    else
        good = (!app->options.remove || input_check_removable(app, &input)) &&
               step(app, &input, reader, &info, target);
    if (!good)
        results_add_failure(app, source);
    else if (app->options.remove)
        removal_add(app, &input);
    wcodec_reader_close(reader);
    input_close(&input);
}

void decompress_file(struct app *app, const char *source, const char *target)
{
    with_file(app, source, target, restore);
}

void decompress_look(struct app *app, const char *source, const char *target)
{
    app->parts = 0;
    with_file(app, source, target, look);
}

void decompress_part(struct app *app, const char *source, const char *target)
{
    with_file(app, source, target, make_part);
}

void decompress_commit(struct app *app, const char *source, const char *target)
{
    with_file(app, source, target, commit_parts);
}

static void mirror_file(struct app *app, void *opaque, const char *source, const char *target)
{
    (void)opaque;
    if (!path_has_suffix(path_base(source), SUFFIX)) {
        wcodec_error err = {0};
        work_do(app, WORK_COPY, source, target);
        if (model_index_is(source) && model_index_check(app, source, &err) != WCODEC_OK) {
            app_fail_status(app, source, &err);
            results_add_failure(app, source);
        }
        return;
    }
    char *name = strndup(target, strlen(target) - (sizeof SUFFIX - 1));
    if (name) {
        work_do(app, WORK_DECOMPRESS, source, name);
    } else {
        app_fail(app, EXIT_FAILED, "%s: out of memory", source);
        results_add_failure(app, source);
    }
    free(name);
}

/* What is no .wcodec file has no name without the suffix, either: that is said first. */
static void fail_suffix(struct app *app, const char *source)
{
    struct input input;
    wcodec_reader *reader;
    if (!path_is_directory(source)) {
        if (!input_open_reader(app, source, &input, &reader))
            return;
        wcodec_reader_close(reader);
        input_close(&input);
    }
    app_fail(app, EXIT_USAGE, "%s: does not end in " SUFFIX "; use -o", source);
}

/* Where the output of `source` goes: -o, or its name without the suffix, in -O if given. NULL:
 * reported. */
static char *target_of(struct app *app, const char *source)
{
    const struct options *o = &app->options;
    char *target = strdup(o->output ? o->output : source);
    if (!target) {
        app_fail(app, EXIT_FAILED, "%s: out of memory", source);
        return NULL;
    }
    if (o->output)
        return target;
    size_t n = strlen(target);
    while (n > 1 && target[n - 1] == '/')
        target[--n] = 0;
    if (!path_has_suffix(path_base(target), SUFFIX)) {
        fail_suffix(app, source);
        free(target);
        return NULL;
    }
    target[n - (sizeof SUFFIX - 1)] = 0;
    if (!o->output_dir)
        return target;
    char *joined = directory_make(app, o->output_dir)
                       ? path_join(app, o->output_dir, path_base(target))
                       : NULL;
    free(target);
    return joined;
}

static void decompress_operand(struct app *app, const char *source)
{
    const struct options *o = &app->options;
    bool standard = strcmp(source, "-") == 0;
    bool directory = !standard && path_is_directory(source);
    bool partial = o->tensors.count || o->only.count, good = true;
    if (directory && (o->remove || o->to_stdout || partial)) {
        good = app_fail(app, EXIT_USAGE, "%s: is a directory; %s takes files", source,
                        o->remove      ? "--rm"
                        : o->to_stdout ? "-c"
                                       : "a choice of tensors");
    } else if (partial && !o->output && !o->to_stdout) {
        /* A part under the name of the whole would be taken for the whole. */
        good = app_fail(app, EXIT_USAGE, "--tensor and --only need -o FILE or -c");
    } else if (standard && o->output_dir) {
        good = app_fail(app, EXIT_USAGE, "standard input has no name for -O; use -o");
    } else if (o->to_stdout || (standard && !o->output)) {
        work_do(app, WORK_DECOMPRESS, source, NULL);
    } else {
        char *target = target_of(app, source);
        good = target != NULL;
        if (target && directory)
            walk_mirror(app, source, target, mirror_file, NULL);
        else if (target)
            work_do(app, WORK_DECOMPRESS, source, target);
        free(target);
    }
    if (!good)
        results_add_failure(app, source);
}

void command_decompress(struct app *app)
{
    static const char *const standard[] = {"-"};
    const struct strings *files = &app->options.files;
    const char *const *inputs = files->count > 0 ? files->items : standard;
    const size_t count = files->count > 0 ? files->count : 1;
    if (files->count == 0 && isatty(STDIN_FILENO)) {
        app_fail(app, EXIT_USAGE,
                 "decompress what? Give .wcodec files, directories, or - for standard input");
        return;
    }
    if (!results_begin(app))
        return;
    removal_begin(app, inputs, count);
    for (size_t i = 0; i < count && !signals_pending(); i++)
        decompress_operand(app, inputs[i]);
    work_finish(app);
    removal_end(app);
    results_end(app);
    app_note_sums(app, "restored");
}
