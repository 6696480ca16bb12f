/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* wcodec vectors compress, add, remove, compact and search, and what info says of stores. */
#include "utils/directory.h"
#include "utils/json.h"
#include "utils/signals.h"
#include "utils/text.h"
#include "utils/vectors.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Compressing rows that may be left in their file. */
struct compressing {
    wcodec_progress progress;
    const struct vectors_rows *rows;
};

/* Its last call comes before the output gets its name. */
static int note_progress(void *opaque, uint64_t done, uint64_t total)
{
    const struct compressing *now = opaque;
    return now->progress.fn(now->progress.opaque, done, total) || vectors_rows_changed(now->rows);
}

static void take_options(struct app *app, const struct vectors_rows *rows, struct compressing *now,
                         wcodec_vectors_compress_options *options)
{
    wcodec_vectors_compress_options_init(options);
    options->bits = app->options.bits;
    options->recall = app->options.recall;
    progress_start(&app->progress, rows->name, !app->options.quiet && !app->options.no_progress);
    *now = (struct compressing){.progress = progress_callback(&app->progress), .rows = rows};
    options->progress = (wcodec_progress){.fn = note_progress, .opaque = now};
}

static void note_report(struct app *app, const char *name, const wcodec_vectors_report *r,
                        const uint64_t *first_id)
{
    const double ratio = (double)r->coded_size / (4.0 * (double)r->rows * (double)r->dimensions);
    if (app->options.json)
        vectors_print_json(
            app,
            json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:f, s:f, s:o, s:o, s:o}", "schema",
                      "wcodec/1", "path", json_text(name), "rows", json_size(r->rows), "dimensions",
                      json_size(r->dimensions), "anchors", json_size(r->anchors), "bytes",
                      json_size(r->coded_size), "ratio", json_decimal(ratio, 6), "bits",
                      json_decimal(r->bits, 6), "scale", r->scale, "energy", r->energy, "recall",
                      r->recall < 0 ? json_null() : json_real(r->recall), "clipped",
                      json_size(r->clipped), "first_id",
                      first_id ? json_size(*first_id) : json_null()));
    app_note(app,
             "%s: %" PRIu64 " vectors of %" PRIu64 " dimensions, %" PRIu64
             " anchors, %.2f bits a dimension, energy %.4g, %.2f %% of F32",
             name, r->rows, r->dimensions, r->anchors, r->bits, r->energy, 100 * ratio);
    if (r->clipped)
        app_warn(app, "%s: %" PRIu64 " elements are beyond what residuals hold at these bits", name,
                 r->clipped);
}

static void compress(struct app *app, const struct vectors_rows *rows, struct output *output)
{
    struct compressing now;
    wcodec_vectors_compress_options options;
    wcodec_vectors_report report;
    struct output_attributes attributes = {0};
    wcodec_error err = {0};
    wcodec_vectors *vectors = vectors_find_anchors(app, rows);
    if (!vectors)
        return;
    take_options(app, rows, &now, &options);
    const wcodec_status status = wcodec_vectors_compress(
        app->context, vectors, &rows->rows, &options, output_write, output, &report, &err);
    progress_end(&app->progress);
    wcodec_vectors_destroy(vectors);
    output_attributes_narrow_by(&attributes, &rows->file.input, rows->file.reader);
    if (!signals_pending() && !vectors_rows_check(app, rows))
        return;
    if (status != WCODEC_OK)
        output_fail(app, output, rows->name, &err);
    else if (!signals_pending() && output_commit(app, output, &attributes))
        note_report(app, output->name, &report, NULL);
}

void vectors_compress(struct app *app)
{
    const struct options *o = &app->options;
    struct vectors_rows rows;
    struct output output;
    if (o->files.count != 1) {
        app_fail(app, EXIT_USAGE, "vectors compress takes one file of tensors");
        return;
    }
    if (!o->output || !path_has_suffix(o->output, ".wcodec")) {
        app_fail(app, EXIT_USAGE, "vectors compress needs -o OUT.wcodec");
        return;
    }
    if (!vectors_rows_open(app, o->files.items[0], &rows))
        return;
    const struct input *input = &rows.file.input;
    if (output_open(app, o->output, input->fd >= 0 ? &input->stat : NULL, &output)) {
        compress(app, &rows, &output);
        output_close(&output);
    }
    vectors_rows_close(&rows);
}

/* Are there vectors whose anchors serve? */
static bool has_manifest(struct app *app, const char *store)
{
    static const char name[] = "/vectors.manifest";
    struct stat st;
    char *path = app_alloc(app, store, strlen(store) + sizeof name);
    if (!path)
        return false;
    strcpy(path, store);
    strcat(path, name);
    const bool found = stat(path, &st) == 0;
    free(path);
    return found;
}

/* Keep who may not read rows from what is made of them. Returns the umask before. */
static mode_t narrow_umask(const struct vectors_rows *rows)
{
    struct output_attributes attributes = {.set_mode = true, .mode = 0666};
    output_attributes_narrow_by(&attributes, &rows->file.input, rows->file.reader);
    mode_t mode = attributes.mode;
    if (attributes.mixed || (attributes.narrowed && attributes.group != getegid()))
        mode = mode_without_group(mode);
    const mode_t before = umask(077);
    umask(before | ((mode & 040) ? 0 : 070) | ((mode & 04) ? 0 : 07));
    return before;
}

static void add(struct app *app, const char *store, const struct vectors_rows *rows)
{
    struct compressing now;
    wcodec_vectors_compress_options options;
    wcodec_vectors_report report;
    wcodec_error err = {0};
    wcodec_vectors *vectors = NULL;
    uint64_t first_id = app->options.first_id;
    if ((app->options.for_train || !has_manifest(app, store)) &&
        !(vectors = vectors_find_anchors(app, rows)))
        return;
    take_options(app, rows, &now, &options);
    const mode_t mask = narrow_umask(rows);
    const wcodec_status status = wcodec_vectors_store_add(app->context, store, vectors, &rows->rows,
                                                          &options, &first_id, &report, &err);
    umask(mask);
    progress_end(&app->progress);
    wcodec_vectors_destroy(vectors);
    if (status != WCODEC_OK && !signals_pending() && !vectors_rows_check(app, rows))
        return;
    if (status == WCODEC_OK)
        note_report(app, store, &report, &first_id);
    else
        app_fail_status(app, status == WCODEC_ERROR_USAGE ? rows->name : store, &err);
}

void vectors_add(struct app *app)
{
    const struct options *o = &app->options;
    struct vectors_rows rows;
    if (o->files.count != 2) {
        app_fail(app, EXIT_USAGE, "vectors add takes a store, and one file of tensors");
        return;
    }
    if (!vectors_rows_open(app, o->files.items[1], &rows))
        return;
    add(app, o->files.items[0], &rows);
    vectors_rows_close(&rows);
}

void vectors_remove(struct app *app)
{
    const struct options *o = &app->options;
    wcodec_error err = {0};
    if (o->files.count < 2) {
        app_fail(app, EXIT_USAGE, "vectors remove takes a store, and ids");
        return;
    }
    const char *store = o->files.items[0];
    const size_t count = o->files.count - 1;
    uint64_t *ids = app_alloc(app, store, count * sizeof *ids);
    bool good = ids && app_context(app);
    for (size_t i = 0; good && i < count; i++)
        if (!number_parse(o->files.items[i + 1], INT64_MAX, &ids[i]))
            good = app_fail(app, EXIT_USAGE, "an id is a number from 0 to 2^63 - 1, not '%s'",
                            o->files.items[i + 1]);
    if (good && wcodec_vectors_store_remove(app->context, store, ids, count, &err) != WCODEC_OK)
        app_fail_status(app, store, &err);
    free(ids);
}

void vectors_compact(struct app *app)
{
    wcodec_vectors_compact_options options;
    wcodec_vectors_compact_report r;
    wcodec_error err = {0};
    if (app->options.files.count != 1) {
        app_fail(app, EXIT_USAGE, "vectors compact takes a store");
        return;
    }
    const char *store = app->options.files.items[0];
    if (!app_context(app))
        return;
    wcodec_vectors_compact_options_init(&options);
    progress_start(&app->progress, store, !app->options.quiet && !app->options.no_progress);
    options.progress = progress_callback(&app->progress);
    const wcodec_status status =
        wcodec_vectors_store_compact(app->context, store, &options, &r, &err);
    progress_end(&app->progress);
    if (status != WCODEC_OK) {
        app_fail_status(app, store, &err);
        return;
    }
    if (app->options.json)
        vectors_print_json(
            app, json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "schema", "wcodec/1", "path",
                           json_text(store), "segments_before", json_size(r.segments_before),
                           "segments", json_size(r.segments_after), "rows", json_size(r.rows),
                           "dropped", json_size(r.dropped), "bytes_before",
                           json_size(r.size_before), "bytes", json_size(r.size_after)));
    app_note(app,
             "%s: %" PRIu64 " vectors in %" PRIu64 " segments, before in %" PRIu64 ", %" PRIu64
             " removed ones dropped, %" PRIu64 " bytes, before %" PRIu64,
             store, r.rows, r.segments_after, r.segments_before, r.dropped, r.size_after,
             r.size_before);
}

wcodec_vectors_store *vectors_store_open(struct app *app, const char *path)
{
    wcodec_vectors_store *store = NULL;
    wcodec_error err = {0};
    if (app_context(app) && wcodec_vectors_open(app->context, path, &store, &err) != WCODEC_OK)
        app_fail_status(app, path, &err);
    return store;
}

static bool print_hits(struct app *app, uint64_t query, const uint64_t *ids, const float *scores,
                       uint64_t k)
{
    if (app->options.json) {
        json_t *hits = json_array();
        for (uint64_t i = 0; i < k && ids[i] != UINT64_MAX; i++)
            json_array_append_new(
                hits, json_pack("{s:o, s:f}", "id", json_size(ids[i]), "score", (double)scores[i]));
        char *line =
            json_render(app, json_pack("{s:o, s:o}", "query", json_size(query), "nearest", hits));
        if (line)
            puts(line);
        free(line);
        return line && app_stdout_good(app);
    }
    printf("%" PRIu64 ":", query);
    for (uint64_t i = 0; i < k && ids[i] != UINT64_MAX; i++)
        printf(" %" PRIu64 " (%.6g)", ids[i], (double)scores[i]);
    putchar('\n');
    return app_stdout_good(app);
}

/* Where queries are, and the originals of --rerank, or NULL. */
struct searched {
    const struct vectors_rows *rows, *original;
};

/* After a search: did it, and was it of rows that are what they were? False: reported. */
static bool check_search(struct app *app, const struct searched *s, wcodec_status status,
                         wcodec_error *err)
{
    if (signals_pending())
        return false;
    if (!vectors_rows_check(app, s->rows) || (s->original && !vectors_rows_check(app, s->original)))
        return false;
    const bool original = strncmp(err->text, "the original", 12) == 0;
    return status == WCODEC_OK ||
           app_fail_status(app, original ? app->options.rerank : s->rows->name, err);
}

/* Some queries at a time, whose results are in memory. */
static void search(struct app *app, const wcodec_vectors_store *store, const struct searched *s,
                   const wcodec_vectors_search_options *options, uint64_t *ids, float *scores,
                   uint64_t together)
{
    const struct vectors_rows *rows = s->rows;
    const uint64_t row = rows->rows.dimensions * wcodec_dtype_bits(rows->rows.dtype) / 8;
    for (uint64_t at = 0, some; at < rows->rows.count && !signals_pending(); at += some) {
        wcodec_vector_rows queries = rows->rows;
        wcodec_error err = {0};
        some = rows->rows.count - at < together ? rows->rows.count - at : together;
        queries.count = some;
        queries.data = (const uint8_t *)rows->data + at * row;
        const wcodec_status status =
            wcodec_vectors_search(store, &queries, options, ids, scores, &err);
        if (!check_search(app, s, status, &err))
            return;
        for (uint64_t q = 0; q < some; q++)
            if (!print_hits(app, at + q, ids + q * options->k, scores + q * options->k, options->k))
                return;
    }
}

/* The originals of --rerank: FILE, or FILE:TENSOR where there is no file of that name. */
static bool open_original(struct app *app, struct vectors_rows *rows)
{
    const char *text = app->options.rerank, *colon = strrchr(text, ':');
    struct stat st;
    if (strcmp(text, "-") == 0)
        return app_fail(app, EXIT_USAGE, "--rerank takes a file, and not standard input");
    if (!colon || stat(text, &st) == 0)
        return vectors_rows_open_original(app, text, NULL, rows);
    char *path = app_alloc(app, text, strlen(text) + 1);
    if (!path)
        return false;
    strcpy(path, text);
    path[colon - text] = 0;
    const bool good = vectors_rows_open_original(app, path, colon + 1, rows);
    free(path);
    return good;
}

static bool search_options(struct app *app, wcodec_vectors_search_options *options)
{
    enum { NEAREST = 10, NEAREST_MAX = 4096 };
    const struct options *o = &app->options;
    if (o->nearest > NEAREST_MAX)
        return app_fail(app, EXIT_USAGE, "at most %d neighbours, and not %" PRIu64, NEAREST_MAX,
                        o->nearest);
    if (o->probes && o->probes_recall > 0)
        return app_fail(app, EXIT_USAGE, "--probes and --probes-recall exclude each other");
    if (!o->rerank && (o->rerank_factor || o->rerank_first_id))
        return app_fail(app, EXIT_USAGE, "--rerank-factor and --rerank-first-id need --rerank");
    wcodec_vectors_search_options_init(options);
    options->k = o->nearest ? o->nearest : NEAREST;
    options->metric = o->metric;
    options->probes = o->probes;
    options->original_first_id = o->rerank_first_id;
    if (o->rerank_factor)
        options->rerank_factor = o->rerank_factor;
    return true;
}

/* Probes for the recall that was asked for, by the first of the queries. */
static bool tune(struct app *app, const wcodec_vectors_store *store, const struct searched *s,
                 wcodec_vectors_search_options *options)
{
    enum { SAMPLE = 200 };
    const char *name = s->rows->name;
    wcodec_vector_rows sample = s->rows->rows;
    wcodec_error err = {0};
    if (app->options.probes_recall == 0)
        return true;
    sample.count = sample.count < SAMPLE ? sample.count : SAMPLE;
    const wcodec_status status = wcodec_vectors_tune(
        store, &sample, options, app->options.probes_recall, &options->probes, &err);
    if (!check_search(app, s, status, &err))
        return false;
    if (options->probes)
        app_detail(app, "%s: %" PRIu64 " probes", name, options->probes);
    else
        app_detail(app, "%s: all anchors are probed", name);
    return true;
}

/* The bits of --filter, which the caller frees. False: reported. */
static bool read_filter(struct app *app, wcodec_vectors_search_options *options, uint8_t **bits)
{
    struct input input;
    *bits = NULL;
    if (!app->options.filter)
        return true;
    if (strcmp(app->options.filter, "-") == 0)
        return app_fail(app, EXIT_USAGE, "--filter takes a file, and not standard input");
    if (!input_open(app, app->options.filter, &input))
        return false;
    const size_t size = (size_t)input.stat.st_size;
    uint8_t *read = app_alloc(app, input.name, size + 1);
    const bool good = read && input_read(app, &input, 0, read, size);
    input_close(&input);
    if (!good) {
        free(read);
        return false;
    }
    options->allowed = *bits = read;
    options->allowed_count = 8 * (uint64_t)size;
    return true;
}

void vectors_search(struct app *app)
{
    enum { TOGETHER = 1024 };
    const struct options *o = &app->options;
    struct vectors_rows rows, original;
    wcodec_vectors_search_options options;
    uint8_t *bits = NULL;
    if (o->files.count != 2) {
        app_fail(app, EXIT_USAGE, "vectors search takes a store, and a file of queries");
        return;
    }
    if (!search_options(app, &options) || !read_filter(app, &options, &bits))
        return;
    if (o->rerank && !open_original(app, &original)) {
        free(bits);
        return;
    }
    if (o->rerank)
        options.original = &original.rows;
    wcodec_vectors_store *store = vectors_store_open(app, o->files.items[0]);
    if (store && vectors_rows_open(app, o->files.items[1], &rows)) {
        uint64_t *ids = app_alloc(app, rows.name, TOGETHER * options.k * sizeof *ids);
        float *scores = app_alloc(app, rows.name, TOGETHER * options.k * sizeof *scores);
        const struct searched searched = {.rows = &rows, .original = o->rerank ? &original : NULL};
        if (ids && scores && vectors_rows_check_numbers(app, &rows) &&
            tune(app, store, &searched, &options))
            search(app, store, &searched, &options, ids, scores, TOGETHER);
        free(ids);
        free(scores);
        vectors_rows_close(&rows);
    }
    wcodec_vectors_close(store);
    free(bits);
    if (o->rerank)
        vectors_rows_close(&original);
}

bool vectors_is_store(const char *path)
{
    struct stat st;
    return path_has_suffix(path, ".wcodec") || (stat(path, &st) == 0 && S_ISDIR(st.st_mode));
}

void vectors_store_info(struct app *app)
{
    const char *path = app->options.files.items[0];
    wcodec_vectors_store_info info;
    wcodec_vectors_store *store = vectors_store_open(app, path);
    if (!store)
        return;
    wcodec_vectors_store_describe(store, &info);
    wcodec_vectors_close(store);
    const uint64_t all = info.rows + info.removed;
    const double ratio =
        all ? (double)info.coded_size / (4.0 * (double)all * (double)info.dimensions) : 0;
    if (app->options.json) {
        vectors_print_json(
            app,
            json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "schema",
                      "wcodec/1", "path", json_text(path), "rows", json_size(info.rows), "removed",
                      json_size(info.removed), "dimensions", json_size(info.dimensions), "segments",
                      json_size(info.segments), "anchors", json_size(info.anchors), "next_id",
                      json_size(info.next_id), "bytes", json_size(info.coded_size), "ratio",
                      json_decimal(ratio, 6), "memory", json_size(info.memory)));
        return;
    }
    char *escaped = text_escape(path);
    printf("%s: %" PRIu64 " vectors of %" PRIu64 " dimensions, %" PRIu64 " anchors\n",
           escaped ? escaped : "", info.rows, info.dimensions, info.anchors);
    printf("segments: %" PRIu64 ", %" PRIu64 " vectors removed, next id %" PRIu64 "\n",
           info.segments, info.removed, info.next_id);
    printf("bytes: %" PRIu64 ", %.2f %% of F32; in memory %" PRIu64 "\n", info.coded_size,
           100 * ratio, info.memory);
    app_stdout_good(app);
    free(escaped);
}
