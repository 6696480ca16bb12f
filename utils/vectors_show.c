/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* wcodec vectors info, evaluate and export. */
#include "utils/json.h"
#include "utils/safetensors.h"
#include "utils/signals.h"
#include "utils/text.h"
#include "utils/vectors.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Rows of the anchors. */
struct cells {
    uint64_t smallest, largest, empty;
    double index_bits; /* by their entropy */
};

static bool count_cells(struct app *app, const char *name, const wcodec_vectors_info *info,
                        struct cells *cells)
{
    uint64_t *count = app_alloc(app, name, info->anchors * sizeof *count);
    if (!count)
        return false;
    memset(count, 0, (size_t)info->anchors * sizeof *count);
    for (uint64_t i = 0; i < info->rows; i++)
        count[info->index[i]]++;
    *cells = (struct cells){.smallest = info->rows};
    for (uint64_t k = 0; k < info->anchors; k++) {
        const double part = (double)count[k] / (double)info->rows;
        cells->smallest = count[k] < cells->smallest ? count[k] : cells->smallest;
        cells->largest = count[k] > cells->largest ? count[k] : cells->largest;
        cells->empty += count[k] == 0;
        cells->index_bits -= count[k] ? part * log2(part) : 0;
    }
    free(count);
    return true;
}

void vectors_print_json(struct app *app, json_t *item)
{
    char *text = json_render(app, item);
    if (text)
        puts(text);
    app_stdout_good(app);
    free(text);
}

static void print_info(struct app *app, const char *name, const wcodec_vectors_info *info)
{
    const uint64_t size = vectors_files_size(info);
    const double ratio = (double)size / (4.0 * (double)info->rows * (double)info->dimensions);
    struct cells cells;
    if (!count_cells(app, name, info, &cells))
        return;
    if (app->options.json) {
        vectors_print_json(
            app,
            json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:b, s:b}",
                      "schema", "wcodec/1", "path", json_text(name), "rows", json_size(info->rows),
                      "dimensions", json_size(info->dimensions), "anchors",
                      json_size(info->anchors), "bytes", json_size(size), "ratio",
                      json_decimal(ratio, 6), "index_bits", json_decimal(cells.index_bits, 6),
                      "smallest", json_size(cells.smallest), "largest", json_size(cells.largest),
                      "empty", json_size(cells.empty), "flags", json_size(info->flags), "jacobians",
                      (int)(info->flags & 1), "residuals", (int)(info->flags >> 1 & 1)));
        return;
    }
    char *escaped = text_escape(name);
    printf("%s: %" PRIu64 " vectors of %" PRIu64 " dimensions, %" PRIu64 " anchors\n",
           escaped ? escaped : "", info->rows, info->dimensions, info->anchors);
    printf("bytes: %" PRIu64 ", %.2f %% of F32\n", size, 100 * ratio);
    printf("index: %.3f bits by its entropy, of 32\n", cells.index_bits);
    printf("vectors an anchor: %" PRIu64 " to %" PRIu64 ", %" PRIu64 " without\n", cells.smallest,
           cells.largest, cells.empty);
    if (info->flags)
        printf("in files of their own, not read:%s%s\n", info->flags & 1 ? " Jacobians" : "",
               info->flags & 2 ? " residuals" : "");
    app_stdout_good(app);
    free(escaped);
}

void vectors_info(struct app *app)
{
    const struct options *o = &app->options;
    struct output_attributes attributes = {0};
    wcodec_vectors_info info;
    if (o->files.count != 1) {
        app_fail(app, EXIT_USAGE,
                 "vectors info takes one set, NAME or NAME.idx, store or .wcodec file");
        return;
    }
    if (vectors_is_store(o->files.items[0])) {
        vectors_store_info(app);
        return;
    }
    wcodec_vectors *vectors = vectors_files_read(app, o->files.items[0], &attributes);
    if (!vectors)
        return;
    wcodec_vectors_describe(vectors, &info);
    print_info(app, o->files.items[0], &info);
    wcodec_vectors_destroy(vectors);
}

static void print_quality(struct app *app, const char *name, const wcodec_vectors_quality *q,
                          uint64_t nearest)
{
    if (app->options.json) {
        vectors_print_json(
            app, json_pack("{s:s, s:o, s:f, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "schema",
                           "wcodec/1", "path", json_text(name), "energy", q->energy, "recall",
                           q->queries ? json_real(q->recall) : json_null(), "nearest",
                           json_size(nearest), "queries", json_size(q->queries), "index_bits",
                           json_decimal(q->index_bits, 6), "smallest", json_size(q->smallest),
                           "largest", json_size(q->largest), "empty", json_size(q->empty)));
        return;
    }
    printf("energy: %.6g\n", q->energy);
    if (q->queries)
        printf("recall@%" PRIu64 ": %.4f, of %" PRIu64 " queries\n", nearest, q->recall,
               q->queries);
    printf("index: %.3f bits by its entropy\n", q->index_bits);
    printf("vectors an anchor: %" PRIu64 " to %" PRIu64 ", %" PRIu64 " without\n", q->smallest,
           q->largest, q->empty);
    app_stdout_good(app);
}

static void evaluate(struct app *app, const char *name, const wcodec_vectors *vectors,
                     const struct vectors_rows *rows)
{
    enum { QUERIES = 100, NEAREST = 10 };
    const struct options *o = &app->options;
    const uint64_t n = rows->rows.count, nearest = o->nearest ? o->nearest : NEAREST;
    /* As many as there can be, unless so many were asked for. */
    const uint64_t few = n <= nearest && !o->nearest ? 0 : (n < QUERIES ? n : QUERIES),
                   queries = o->queries == UINT64_MAX ? few : o->queries;
    wcodec_vectors_quality quality;
    wcodec_error err = {0};
    progress_start(&app->progress, rows->name, !o->quiet && !o->no_progress);
    const wcodec_progress progress = progress_callback(&app->progress);
    const wcodec_status status = wcodec_vectors_evaluate(
        app->context, vectors, &rows->rows, queries, nearest, &progress, &quality, &err);
    progress_end(&app->progress);
    if (!signals_pending() && !vectors_rows_check(app, rows))
        return;
    if (status == WCODEC_OK)
        print_quality(app, name, &quality, nearest);
    else
        app_fail_status(app, rows->name, &err);
}

void vectors_evaluate(struct app *app)
{
    const struct options *o = &app->options;
    struct vectors_rows rows;
    struct output_attributes attributes = {0};
    if (o->files.count != 2) {
        app_fail(app, EXIT_USAGE,
                 "vectors evaluate takes a set or store, and the file of its vectors");
        return;
    }
    if (vectors_is_store(o->files.items[0])) {
        vectors_store_evaluate(app);
        return;
    }
    wcodec_vectors *vectors = vectors_files_read(app, o->files.items[0], &attributes);
    if (vectors && (o->for_stores || o->for_add)) {
        app_fail(app, EXIT_USAGE, "%s: is a set that train made, but --%s is for stores",
                 o->files.items[0], o->for_stores ? o->for_stores : o->for_add);
    } else if (vectors && vectors_rows_open(app, o->files.items[1], &rows)) {
        evaluate(app, o->files.items[0], vectors, &rows);
        vectors_rows_close(&rows);
    }
    wcodec_vectors_destroy(vectors);
}

/* The header of a safetensors file: the larger elements first, so that all are aligned. */
static bool write_header(struct app *app, const wcodec_vectors_info *info, struct output *output)
{
    const uint64_t index = 4 * info->rows, end = index + 2 * info->anchors * info->dimensions;
    json_t *header = json_pack(
        "{s:{s:s}, s:{s:s, s:[o], s:[i, o]}, s:{s:s, s:[o, o], s:[o, o]}}", "__metadata__",
        "format", "pt", "index", "dtype", "U32", "shape", json_size(info->rows), "data_offsets", 0,
        json_size(index), "anchors", "dtype", "F16", "shape", json_size(info->anchors),
        json_size(info->dimensions), "data_offsets", json_size(index), json_size(end));
    size_t size;
    char *begin = safetensors_begin(header, &size);
    if (!begin)
        return app_fail(app, EXIT_FAILED, "%s: out of memory for a header", output->name);
    const bool good = output_write(output, begin, size) == 0;
    free(begin);
    return good || app_fail_errno(app, output->name, "cannot write", output->error);
}

static bool write_parts(struct app *app, const wcodec_vectors *vectors, struct output *output)
{
    static const wcodec_vectors_part parts[] = {WCODEC_VECTORS_PART_INDEX,
                                                WCODEC_VECTORS_PART_ANCHORS};
    wcodec_vectors_info info;
    wcodec_error err = {0};
    wcodec_vectors_describe(vectors, &info);
    if (!write_header(app, &info, output))
        return false;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (wcodec_vectors_export(vectors, parts[i], output_write, output, &err) != WCODEC_OK)
            return output_fail(app, output, output->name, &err);
    return true;
}

static bool write_vectors(struct app *app, const wcodec_reader *reader, uint64_t n, uint64_t d,
                          struct output *output)
{
    enum { ROWS = 1024 };
    json_t *header = json_pack("{s:{s:s}, s:{s:s, s:[o, o], s:[i, o]}}", "__metadata__", "format",
                               "pt", "vectors", "dtype", "F32", "shape", json_size(n), json_size(d),
                               "data_offsets", 0, json_size(4 * n * d));
    size_t size;
    char *begin = safetensors_begin(header, &size);
    float *rows = app_alloc(app, output->name, 4 * ROWS * d);
    wcodec_error err = {0};
    bool good = begin && rows && output_write(output, begin, size) == 0;
    for (uint64_t at = 0, some; good && at < n && !signals_pending(); at += some) {
        some = n - at < ROWS ? n - at : ROWS;
        good = wcodec_vectors_decode(reader, at, some, rows, (size_t)(4 * ROWS * d), &err) ==
               WCODEC_OK;
        for (uint64_t i = 0; good && i < some * d; i++) {
            uint32_t bits;
            memcpy(&bits, &rows[i], sizeof bits);
            uint8_t *to = (uint8_t *)&rows[i];
            for (unsigned b = 0; b < 4; b++)
                to[b] = (uint8_t)(bits >> 8 * b);
        }
        good = good && output_write(output, rows, (size_t)(4 * some * d)) == 0;
    }
    if (!good && begin && rows)
        output_fail(app, output, app->options.files.items[0], &err);
    free(begin);
    free(rows);
    return good && !signals_pending();
}

static void export_segment(struct app *app)
{
    const char *path = app->options.files.items[0];
    struct output_attributes attributes = {0};
    struct output output;
    wcodec_reader *reader = NULL;
    wcodec_tensor_info info;
    struct stat st;
    wcodec_error err = {0};
    uint64_t i;
    if (!app_context(app))
        return;
    wcodec_status status = wcodec_reader_open_path(app->context, path, &reader, &err);
    /* Is it a segment? */
    if (status == WCODEC_OK)
        status = wcodec_vectors_decode(reader, 0, 0, NULL, 0, &err);
    if (status == WCODEC_OK)
        status = wcodec_reader_find(reader, "vectors.residuals", &i, &err);
    if (status == WCODEC_OK)
        status = wcodec_reader_tensor(reader, i, &info, &err);
    if (status != WCODEC_OK)
        app_fail_status(app, path, &err);
    else if (stat(path, &st) != 0)
        app_fail(app, EXIT_FAILED, "%s: is gone", path);
    else if (output_open(app, app->options.output, &st, &output)) {
        output_attributes_narrow(&attributes, &st);
        if (write_vectors(app, reader, info.shape[0], info.shape[1], &output))
            output_commit(app, &output, &attributes);
        output_close(&output);
    }
    wcodec_reader_close(reader);
}

void vectors_export(struct app *app)
{
    const struct options *o = &app->options;
    struct output output;
    struct output_attributes attributes = {0};
    if (o->files.count != 1) {
        app_fail(app, EXIT_USAGE, "vectors export takes the name of one set: NAME or NAME.idx");
        return;
    }
    if (!o->output || !path_has_suffix(o->output, ".safetensors")) {
        app_fail(app, EXIT_USAGE, "vectors export needs -o OUT.safetensors");
        return;
    }
    if (path_has_suffix(o->files.items[0], ".wcodec")) {
        export_segment(app);
        return;
    }
    wcodec_vectors *vectors = vectors_files_read(app, o->files.items[0], &attributes);
    if (vectors && output_open(app, o->output, NULL, &output)) {
        if (write_parts(app, vectors, &output))
            output_commit(app, &output, &attributes);
        output_close(&output);
    }
    wcodec_vectors_destroy(vectors);
}
