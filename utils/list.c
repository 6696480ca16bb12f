/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* wcodec list: one line a tensor. */
#include "utils/app.h"
#include "utils/describe.h"
#include "utils/input.h"
#include "utils/lossy.h"
#include "utils/signals.h"
#include "utils/table.h"
#include "utils/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LOSSY_COLUMN = 7 };

typedef void (*row_fn)(struct table *table, const char *const *cells);

static void measure_row(struct table *table, const char *const *cells)
{
    table_measure(table, cells);
}

static void print_row(struct table *table, const char *const *cells)
{
    table_print(table, cells);
}

/* Hand every tensor's cells to `row`. */
static bool each_tensor(struct app *app, const char *name, const wcodec_reader *reader, bool lossy,
                        struct table *table, row_fn row)
{
    wcodec_error err = {0};
    uint64_t count = wcodec_reader_tensor_count(reader);
    for (uint64_t i = 0; i < count && !signals_pending() && app_stdout_good(app); i++) {
        wcodec_tensor_info info;
        char size[TABLE_CELL], coded[TABLE_CELL], ratio[TABLE_CELL], coding[TABLE_CELL],
            hash[TABLE_CELL], snr[LOSSY_TEXT] = "-";
        struct lossy_figures figures = {0};
        if (wcodec_reader_tensor(reader, i, &info, &err) != WCODEC_OK)
            return app_fail_status(app, name, &err);
        char *tensor = text_escape(info.name), *dtype = text_escape(info.dtype_name),
             *shape = text_shape(info.shape, info.rank);
        snprintf(size, sizeof size, "%" PRIu64, info.size);
        snprintf(coded, sizeof coded, "%" PRIu64, info.coded_size);
        describe_ratio_text(info.coded_size, info.size, ratio);
        snprintf(hash, sizeof hash, "%016" PRIx64, info.payload_hash);
        lossy_add(&figures, &info);
        bool good = tensor && dtype && shape;
        const char *cells[] = {
            tensor, dtype, shape, size, coded, ratio, describe_coding(&info, coding, sizeof coding),
            hash,   hash};
        if (lossy)
            cells[LOSSY_COLUMN] = info.lossy ? lossy_snr_text(&figures, snr) : snr;
        if (good)
            row(table, cells);
        free(shape);
        free(dtype);
        free(tensor);
        if (!good)
            return app_fail(app, EXIT_FAILED, "%s: out of memory", name);
    }
    return true;
}

static bool is_lossy(const wcodec_reader *reader)
{
    wcodec_file_info file;
    bool lossy = false;
    for (uint64_t f = 0; f < wcodec_reader_file_count(reader); f++)
        lossy = lossy || (wcodec_reader_file(reader, f, &file, NULL) == WCODEC_OK && file.lossy);
    return lossy;
}

/* Of the whole file, or all files of a model. */
static void print_sums(const wcodec_reader *reader)
{
    wcodec_file_info file;
    uint64_t size = 0, coded = 0;
    const uint64_t files = wcodec_reader_file_count(reader),
                   tensors = wcodec_reader_tensor_count(reader);
    char from[32], to[32], ratio[TABLE_CELL], what[64] = "no tensors, opaque bytes";
    for (uint64_t f = 0; f < files; f++) {
        if (wcodec_reader_file(reader, f, &file, NULL) != WCODEC_OK)
            return;
        size += file.size;
        coded += file.coded_size;
        if (tensors == 0 && strcmp(file.kind, "opaque") != 0)
            snprintf(what, sizeof what, "no tensors");
    }
    if (tensors)
        snprintf(what, sizeof what, "%" PRIu64 " tensor%s", tensors, tensors == 1 ? "" : "s");
    printf("total: %s, %" PRIu64 " file%s, %s to %s, ratio %s\n", what, files,
           files == 1 ? "" : "s", text_size(size, from), text_size(coded, to),
           describe_ratio_text(coded, size, ratio));
}

/* With the signal-to-noise ratio in dB where tensors are approximated. */
static void list_table(struct app *app, const char *name, const wcodec_reader *reader)
{
    static const char *const heads[] = {"NAME",  "DTYPE",  "SHAPE", "BYTES", "CODED",
                                        "RATIO", "CODING", "XXH3",  NULL};
    static const char *const lossy_heads[] = {"NAME",  "DTYPE",  "SHAPE", "BYTES", "CODED",
                                              "RATIO", "CODING", "SNR",   "XXH3",  NULL};
    const bool lossy = is_lossy(reader);
    struct table table;
    if (wcodec_reader_tensor_count(reader) == 0) {
        print_sums(reader);
        return;
    }
    table_init(&table, app, lossy ? lossy_heads : heads, lossy ? "lllrrrlrl" : "lllrrrll");
    if (!each_tensor(app, name, reader, lossy, &table, measure_row))
        return;
    table_print_heads(&table);
    if (each_tensor(app, name, reader, lossy, &table, print_row))
        print_sums(reader);
}

static void list_file_json(struct app *app, void *opaque, const struct described_file *file)
{
    describe_print_json(app, opaque, file, describe_file_json(file));
}

static void list_input(struct app *app, void *opaque, const char *name, const wcodec_reader *reader)
{
    struct json_list *list = opaque;
    if (!reader) {
        json_list_failure(app, list, name);
        return;
    }
    if (app->options.json) {
        describe_each_file(app, name, reader, list_file_json, list);
        return;
    }
    char *escaped = app->options.files.count > 1 ? text_escape(name) : NULL;
    if (escaped)
        printf("%s%s:\n", list->any ? "\n" : "", escaped);
    free(escaped);
    list->any = true;
    list_table(app, name, reader);
}

void command_list(struct app *app)
{
    const struct options *o = &app->options;
    struct json_list list = {0};
    if (o->files.count == 0) {
        app_fail(app, EXIT_USAGE,
                 "list what? Give .wcodec files, a model folder, or - for standard input");
        return;
    }
    if (o->json)
        json_list_begin(&list, "files");
    input_each_reader(app, list_input, &list);
    if (o->json)
        json_list_end(&list);
}
