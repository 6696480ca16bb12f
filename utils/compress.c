/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* wcodec compress: FILE to FILE.wcodec, DIR to a mirror DIR.wcodec/, standard input to standard
 * output; and rebase, which makes one .wcodec file of another. */
#include "utils/app.h"
#include "utils/bases.h"
#include "utils/compress.h"
#include "utils/current.h"
#include "utils/describe.h"
#include "utils/directory.h"
#include "utils/encode.h"
#include "utils/external.h"
#include "utils/input.h"
#include "utils/json.h"
#include "utils/model_index.h"
#include "utils/output.h"
#include "utils/parts.h"
#include "utils/removal.h"
#include "utils/results.h"
#include "utils/signals.h"
#include "utils/text.h"
#include "utils/times.h"
#include "utils/walk.h"
#include "utils/work.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SUFFIX ".wcodec"
#define DEFAULT_RECALL 0.95 /* of --vectors */

/* Those by which the file was made that is rebased. */
static wcodec_encode_options options_of_file(struct app *app, const wcodec_file_info *info)
{
    wcodec_encode_options encode;
    wcodec_encode_options_init(&encode);
    encode.level = info->level;
    encode.tune = (wcodec_tune)info->tune;
    encode.tile_log2 = info->tile_log2;
    encode.profile = (wcodec_profile)info->profile;
    encode.predict = (wcodec_predict)info->predict;
    if (info->name[0]) {
        encode.name = info->name;
        encode.mode = info->mode;
        encode.mtime = info->mtime;
    }
    encode.progress = progress_callback(&app->progress);
    return encode;
}

/* Files of which one may lack what others have. */
static bool are_several(const struct options *o)
{
    return o->files.count > 1 || (o->files.count == 1 && path_is_directory(o->files.items[0]));
}

static wcodec_encode_options encode_options(struct app *app, const struct input *input)
{
    const struct options *o = &app->options;
    wcodec_encode_options encode;
    wcodec_encode_options_init(&encode);
    encode.level = o->level;
    encode.tune = o->tune;
    encode.tile_log2 = o->tile_log2;
    encode.profile = o->profile;
    encode.predict = o->predict;
    encode.lossy = o->lossy;
    encode.lossy_scale = o->lossy_scale;
    encode.lossy_value = o->lossy_value;
    encode.vectors = o->table_names.items;
    encode.vectors_anchors = o->table_anchors;
    encode.vectors_bits = o->table_bits;
    encode.vectors_recall =
        o->tables && o->table_bits == 0 && o->table_recall == 0 ? DEFAULT_RECALL : o->table_recall;
    encode.vectors_optional = are_several(o);
    encode.raw = o->raw;
    encode.strict = o->strict;
    encode.no_verify = o->no_verify;
    encode.include = o->include.items;
    encode.exclude = o->exclude.items;
    if (o->keep_name && input->path && !input->spooled) {
        const char *base = path_base(input->path);
        const int64_t time = input->stat.st_mtim.tv_sec;
        encode.name = text_is_utf8(base) ? base : NULL;
        encode.mode = input->stat.st_mode & 0777;
        encode.mtime = time < 0 ? -1 : time < o->latest ? time : o->latest;
    }
    if (input->path && !input->spooled && !o->raw) {
        encode.onnx_model = external_model(app, input->path);
        encode.onnx_location = path_base(input->path);
    }
    encode.progress = progress_callback(&app->progress);
    return encode;
}

/* A damaged checkpoint deserves a warning, and so does a pointer to one; of a file whose kind is
 * known it is said why its tensors are not. For others, to be stored as they are is all that can be
 * asked. */
static void print_opaque(struct app *app, const struct input *input,
                         const wcodec_encode_report *report)
{
    if (report->tensors)
        app_detail(app, "%s: %s", input->name, report->note);
    else if (input->path && path_has_suffix(input->path, ".safetensors"))
        app_warn(app, "%s: no valid safetensors file, stored as opaque bytes: %s", input->name,
                 report->note);
    else if (strstr(report->note, "git-lfs"))
        app_warn(app, "%s: %s", input->name, report->note);
    else if (strncmp(report->note, "is ", 3) == 0)
        app_note(app, "%s: %s: stored as opaque bytes", input->name, report->note);
    else
        app_detail(app, "%s: no file of tensors: %s", input->name, report->note);
}

static void print_summary(struct app *app, const struct input *input,
                          const wcodec_encode_report *report, double seconds)
{
    char from[32], to[32], rate[32], what[64] = "stored as opaque bytes";
    if (report->note[0] && !app->options.raw)
        print_opaque(app, input, report);
    const bool has_tensors = report->safetensors || report->tensors != 0;
    if (!has_tensors && options_are_lossy(&app->options))
        snprintf(what, sizeof what, "stored as opaque bytes, nothing approximated");
    if (has_tensors)
        snprintf(what, sizeof what, "%" PRIu64 " tensor%s", report->tensors,
                 report->tensors == 1 ? "" : "s");
    if (has_tensors && options_are_lossy(&app->options))
        snprintf(what, sizeof what, "%" PRIu64 " tensor%s, %" PRIu64 " approximated",
                 report->tensors, report->tensors == 1 ? "" : "s", report->lossy);
    if (report->size == 0) {
        app_note(app, "%s: empty, stored in %s", input->name, text_size(report->coded_size, to));
        return;
    }
    app_note(app, "%s: %s, %s to %s (%.2f %%), %s", input->name, what,
             text_size(report->size, from), text_size(report->coded_size, to),
             100.0 * (double)report->coded_size / (double)report->size,
             text_rate(report->size, seconds, rate));
}

/* What the container takes at most, as a rule: 0.1 % and 4 KiB more than the original. Names that
 * the original does not hold, as of ONNX's external data, can make it more. */
static uint64_t most_bytes(const struct source *source)
{
    const uint64_t size =
        source->reader ? source->info.size : (uint64_t)source->input->stat.st_size;
    return size + size / 1000 + 4096;
}

static json_t *report_json(const wcodec_encode_report *report, double seconds)
{
    char hash[33];
    text_hex(report->xxh128, 16, hash);
    return json_pack(
        "{s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:s, s:o}", "kind", report->kind, "note",
        report->note, "bytes", json_size(report->size), "coded_bytes",
        json_size(report->coded_size), "ratio",
        json_decimal(report->size ? (double)report->coded_size / (double)report->size : 0, 6),
        "tensors", json_size(report->tensors), "aliases", json_size(report->aliases), "lossy",
        json_size(report->lossy), "xxh128", hash, "seconds", json_decimal(seconds, 6));
}

bool compression_options(struct app *app, const struct source *source, const char *output,
                         wcodec_encode_options *encode)
{
    wcodec_error err = {0};
    wcodec_bases *bases = NULL;
    *encode = app->options.command == COMMAND_REBASE ? options_of_file(app, &source->info)
                                                     : encode_options(app, source->input);
    if (current_is_delta_wanted(&app->options) && bases_given(app, &bases, &err) != WCODEC_OK)
        return app_fail_status(app, NULL, &err);
    encode->bases = bases;
    return bases_spared(app, output);
}

bool compression_commit(struct app *app, const struct source *source,
                        const wcodec_encode_report *report, double seconds, struct output *output)
{
    const struct input *input = source->input;
    struct output_attributes attributes = {0};
    if (input->path && !input->spooled)
        attributes = output_attributes_of(&input->stat);
    if (!output_cut(app, output))
        return false;
    bases_narrow(app, source->reader, current_is_delta_wanted(&app->options) ? output->fd : -1,
                 &attributes);
    if (!output_commit(app, output, &attributes))
        return false;
    app->sums.coded++;
    app->sums.from += report->size;
    app->sums.to += report->coded_size;
    app->sums.lossy += report->lossy;
    print_summary(app, input, report, seconds);
    results_add(app, input->name, output->name, "compressed", report_json(report, seconds));
    return true;
}

static bool write_container(struct app *app, const struct source *source, struct output *output)
{
    const struct input *input = source->input;
    wcodec_encode_report report;
    wcodec_error err = {0};
    wcodec_encode_options encode;
    wcodec_times times = {0};
    if (!compression_options(app, source, output->name, &encode))
        return false;
    encode.times = times_wanted(app, &times);
    if (output->in_any_order) {
        encode.write_at = output_write_at;
        output_map(output, most_bytes(source));
    }
    progress_start(&app->progress, input->name, !app->options.quiet && !app->options.no_progress);
    app->subject = input->name;
    wcodec_status status = source_encode(app, source, output, &encode, &report, &err);
    app->subject = NULL;
    double seconds = progress_seconds(&app->progress);
    progress_end(&app->progress);
    if (status != WCODEC_OK)
        return err.status != WCODEC_OK && output_fail(app, output, input->name, &err);
    if ((encode.write_at && !output_pass(app, output, report.coded_size)) ||
        !compression_commit(app, source, &report, seconds, output))
        return false;
    times_print(app, input->name, &times);
    return true;
}

/* A file without deltas that is to have none. */
static bool stays_as_it_is(const struct app *app, const struct source *source)
{
    return app->options.command == COMMAND_REBASE && app->options.bases.count == 0 &&
           source->reader && !bases_needed(source->reader);
}

/* Is there anything to rebase? And where the index is, it stays. */
static bool check_rebase(struct app *app, const struct source *source)
{
    const char *name = source->input->name;
    if (!source->reader)
        return app_fail(app, EXIT_USAGE, "%s: is no .wcodec file", name);
    if (stays_as_it_is(app, source) && !are_several(&app->options))
        return app_fail(app, EXIT_USAGE, "%s: holds no deltas; --base=NEW would make some", name);
    app->options.index = source->info.index_first;
    if (source->info.patterns)
        app_warn(app,
                 "%s: was made with --include or --exclude, which it does not hold: all of its "
                 "tensors are coded as weights",
                 name);
    return true;
}

bool compression_open(struct app *app, const char *name, struct compression *c)
{
    if (!app_context(app) || !input_open(app, name, &c->input))
        return false;
    if ((!app->options.remove || input_check_removable(app, &c->input)) &&
        source_open(app, &c->input, &c->source)) {
        if (app->options.command != COMMAND_REBASE || check_rebase(app, &c->source))
            return true;
        source_close(&c->source);
    }
    input_close(&c->input);
    return false;
}

void compression_close(struct compression *c)
{
    source_close(&c->source);
    input_close(&c->input);
}

/* Is it there already, or damaged there? Then *done says which, and it is reported. With loss asked
 * for, what is exact is not what is asked for. */
static bool is_settled(struct app *app, const struct source *source, const char *target, bool *done)
{
    wcodec_error damage = {0};
    struct current current;
    const bool mirrors = app->options.command == COMMAND_COMPRESS || are_several(&app->options);
    *done = target && !app->options.force && mirrors && !options_are_lossy(&app->options) &&
            !source_is_copied(app, source) && current_is(app, target, source, &current, &damage);
    if (*done) {
        current_print(app, target, &current);
        app->sums.current++;
        results_add(app, source->input->name, target, "up to date", NULL);
    } else if (exit_code_of(damage.status) == EXIT_CORRUPT) {
        app_fail(app, EXIT_FAILED, "%s: exists already, but is damaged (%s)%s; -f makes it anew",
                 target, damage.text, app->options.remove ? ": the input is kept" : "");
    }
    return *done || exit_code_of(damage.status) == EXIT_CORRUPT || signals_pending();
}

/* In parts, if `parts` is not NULL and the file is one for that: it then says how many. */
static bool compress_open_file(struct app *app, struct compression *c, const char *target,
                               size_t *parts)
{
    struct output output;
    bool done;
    if (is_settled(app, &c->source, target, &done))
        return done;
    if (!(target ? output_open(app, target, &c->input.stat, &output)
                 : output_open_stdout(app, &c->input.stat, &output)))
        return false;
    if (parts && output.temporary)
        *parts = parts_count(app, &c->source, target);
    done = (parts && *parts) || write_container(app, &c->source, &output);
    output_close(&output);
    return done;
}

static void compress(struct app *app, const char *name, const char *target, size_t *parts)
{
    struct compression c;
    bool done = false;
    if (compression_open(app, name, &c)) {
        if (stays_as_it_is(app, &c.source)) {
            compression_close(&c);
            copy_file(app, name, target);
            return;
        }
        done = compress_open_file(app, &c, target, parts);
        source_close(&c.source);
        if (done && app->options.remove)
            removal_add(app, &c.input);
        if (!done)
            results_add_failure(app, name);
        input_close(&c.input);
    } else {
        results_add_failure(app, name);
    }
}

void compress_file(struct app *app, const char *source, const char *target)
{
    compress(app, source, target, NULL);
}

void compress_look(struct app *app, const char *source, const char *target)
{
    app->parts = 0;
    compress(app, source, target, &app->parts);
}

static char *with_suffix(struct app *app, const char *path)
{
    char *target = app_alloc(app, path, strlen(path) + sizeof SUFFIX);
    if (target)
        strcat(strcpy(target, path), SUFFIX);
    return target;
}

/* Files of a model folder that are compressed. */
static bool holds_weights(struct app *app, const char *path)
{
    static const char *const suffixes[] = {".gguf", ".npy", ".npz", ".onnx"};
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++)
        if (path_has_suffix(path, suffixes[i]))
            return true;
    return model_weights_are(path) || external_model(app, path);
}

/* In a directory, weights are compressed and the rest is copied, so that the mirror is a complete
 * model folder. */
static void mirror_file(struct app *app, void *opaque, const char *source, const char *target)
{
    (void)opaque;
    if (!holds_weights(app, source)) {
        /* "a.safetensors.wcodec" beside "a.safetensors" would be two inputs for one output. */
        size_t n = strlen(source) - (sizeof SUFFIX - 1);
        char *plain = path_has_suffix(source, SUFFIX) ? strndup(source, n) : NULL;
        if (plain && holds_weights(app, plain) && access(plain, F_OK) == 0) {
            app_fail(app, EXIT_FAILED, "%s: left out: its name is taken by the compressed '%s'",
                     source, path_base(plain));
            results_add_failure(app, source);
        } else {
            work_do(app, WORK_COPY, source, target);
        }
        free(plain);
        /* The mirror is as whole as the folder was. */
        wcodec_error err = {0};
        if (model_index_is(source) && model_index_check(app, source, &err) != WCODEC_OK)
            app_warn(app, "%s", err.text);
        return;
    }
    char *name = with_suffix(app, target);
    if (name)
        work_do(app, WORK_COMPRESS, source, name);
    else
        results_add_failure(app, source);
    free(name);
}

/* Where the output of `source` goes: -o, or its name with the suffix, in -O if given. NULL:
 * reported. */
static char *target_of(struct app *app, const char *source)
{
    const struct options *o = &app->options;
    if (o->output) {
        char *copy = app_alloc(app, o->output, strlen(o->output) + 1);
        return copy ? strcpy(copy, o->output) : NULL;
    }
    char *plain = strdup(source);
    if (!plain) {
        app_fail(app, EXIT_FAILED, "%s: out of memory", source);
        return NULL;
    }
    for (size_t n = strlen(plain); n > 1 && plain[n - 1] == '/';)
        plain[--n] = 0;
    const char *base = path_base(plain);
    /* Of a container another is made, of the same name. */
    const bool coded = path_has_suffix(base, SUFFIX) && !o->raw;
    char *target = NULL, *joined = NULL;
    if (!*base || strcmp(base, ".") == 0 || strcmp(base, "..") == 0)
        app_fail(app, EXIT_USAGE, "%s: there is no name to make an output's from; use -o", source);
    else if (coded && !o->output_dir)
        app_fail(app, EXIT_FAILED,
                 "%s: ends in " SUFFIX " already; use -o, or -O for another folder", source);
    else if (!coded && path_has_suffix(base, SUFFIX) && !o->force)
        app_fail(app, EXIT_FAILED, "%s: ends in " SUFFIX " already; use -o, or -f to insist",
                 source);
    else if (coded)
        target = directory_make(app, o->output_dir) ? path_join(app, o->output_dir, base) : NULL;
    else if (!o->output_dir)
        target = with_suffix(app, plain);
    else if (directory_make(app, o->output_dir) && (joined = path_join(app, o->output_dir, base)))
        target = with_suffix(app, joined);
    free(joined);
    free(plain);
    return target;
}

static void compress_operand(struct app *app, const char *source)
{
    const struct options *o = &app->options;
    bool standard = strcmp(source, "-") == 0;
    bool directory = !standard && path_is_directory(source);
    if (directory && (o->remove || o->to_stdout)) {
        app_fail(app, EXIT_USAGE, "%s: is a directory; %s takes files", source,
                 o->remove ? "--rm" : "-c");
        results_add_failure(app, source);
        return;
    }
    if (standard && o->output_dir) {
        app_fail(app, EXIT_USAGE, "standard input has no name for -O; use -o");
        results_add_failure(app, source);
        return;
    }
    if (o->to_stdout || (standard && !o->output)) {
        work_do(app, WORK_COMPRESS, source, NULL);
        return;
    }
    char *target = target_of(app, source);
    if (target && directory)
        walk_mirror(app, source, target, mirror_file, NULL);
    else if (target)
        work_do(app, WORK_COMPRESS, source, target);
    else
        results_add_failure(app, source);
    free(target);
}

/* By SOURCE_DATE_EPOCH builds are made reproducible: no time that is noted is later. */
bool compress_read_epoch(struct app *app)
{
    const char *text = getenv("SOURCE_DATE_EPOCH");
    app->options.latest = INT64_MAX;
    if (!app->options.keep_name || !text || !*text)
        return true;
    const size_t digits = strspn(text, "0123456789");
    if (text[digits] || digits > 18)
        return app_fail(app, EXIT_USAGE, "SOURCE_DATE_EPOCH is '%s', expected seconds since 1970",
                        text);
    app->options.latest = strtoll(text, NULL, 10);
    return true;
}

/* Names that match nothing are an error of one file, and may be right for each of several. */
static void warn_of_names(struct app *app)
{
    const struct options *o = &app->options;
    if (o->table_names.count > 0 && are_several(o) && o->lossy == WCODEC_LOSSY_NONE &&
        app->sums.coded > 0 && app->sums.lossy == 0 && app->exit_code == EXIT_DONE)
        app_warn(app,
                 "nothing was approximated: no table of these files matches --vectors=%s, or "
                 "none is smaller so",
                 o->table_names.items[0]);
}

void command_compress(struct app *app)
{
    static const char *const standard[] = {"-"};
    const struct strings *files = &app->options.files;
    const char *const *inputs = files->count > 0 ? files->items : standard;
    const size_t count = files->count > 0 ? files->count : 1;
    if (!compress_read_epoch(app))
        return;
    if (files->count == 0 && isatty(STDIN_FILENO)) {
        app_fail(app, EXIT_USAGE,
                 "compress what? Give files, directories, or - for standard input");
        return;
    }
    if (app->options.to_stdout && count > 1) {
        app_fail(app, EXIT_USAGE, "-c takes one input: .wcodec files cannot be joined");
        return;
    }
    if (!results_begin(app))
        return;
    removal_begin(app, inputs, count);
    for (size_t i = 0; i < count && !signals_pending(); i++)
        compress_operand(app, inputs[i]);
    work_finish(app);
    removal_end(app);
    results_end(app);
    app_note_sums(app, "compressed");
    warn_of_names(app);
}

/* Of a folder, all that is no delta is copied. */
static void mirror_rebased(struct app *app, void *opaque, const char *source, const char *target)
{
    (void)opaque;
    work_do(app, path_has_suffix(source, SUFFIX) ? WORK_COMPRESS : WORK_COPY, source, target);
}

void command_rebase(struct app *app)
{
    const struct options *o = &app->options;
    if (o->files.count != 1) {
        app_fail(app, EXIT_USAGE,
                 "rebase takes one .wcodec file, one folder, or - for standard input");
        return;
    }
    const char *source = o->files.items[0];
    const bool directory = are_several(o);
    if (!o->output && !o->to_stdout)
        app_fail(app, EXIT_USAGE, "rebase needs -o FILE or -c");
    else if (directory && !o->output)
        app_fail(app, EXIT_USAGE, "%s: is a directory; -c takes files", source);
    else if (results_begin(app)) {
        if (directory)
            walk_mirror(app, source, o->output, mirror_rebased, NULL);
        else
            work_do(app, WORK_COMPRESS, source, o->output);
        work_finish(app);
        results_end(app);
        app_note_sums(app, "rebased");
    }
}
