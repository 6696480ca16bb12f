/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* wcodec list: one line a tensor. */
#include "utils/app.h"
#include "utils/describe.h"
#include "utils/input.h"
#include "utils/signals.h"
#include "utils/table.h"
#include "utils/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
static bool each_tensor(struct app *app, const char *name, const wcodec_reader *reader, struct table *table, row_fn row)
{
    wcodec_error err = {0};
    uint64_t count = wcodec_reader_tensor_count(reader);
    for (uint64_t i = 0; i < count && !signals_pending() && app_stdout_good(app); i++) {
        wcodec_tensor_info info;
        char size[TABLE_CELL], coded[TABLE_CELL], ratio[TABLE_CELL], hash[TABLE_CELL];
        if (wcodec_reader_tensor(reader, i, &info, &err) != WCODEC_OK)
            return app_fail_status(app, name, &err);
        char *tensor = text_escape(info.name), *dtype = text_escape(info.dtype_name), *shape = text_shape(info.shape, info.rank);
        snprintf(size, sizeof size, "%" PRIu64, info.size);
        snprintf(coded, sizeof coded, "%" PRIu64, info.coded_size);
        snprintf(ratio, sizeof ratio, "%.4f", describe_ratio(info.coded_size, info.size));
        snprintf(hash, sizeof hash, "%016" PRIx64, info.payload_hash);
        bool good = tensor && dtype && shape;
        const char *cells[] = {tensor, dtype, shape, size, coded, ratio, info.coding_name, hash};
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

static void list_table(struct app *app, const char *name, const wcodec_reader *reader)
{
    static const char *const heads[] = {"NAME", "DTYPE", "SHAPE", "BYTES", "CODED", "RATIO", "CODING", "XXH3", NULL};
    struct table table;
    table_init(&table, app, heads, "lllrrrll");
    if (!each_tensor(app, name, reader, &table, measure_row))
        return;
    table_print_heads(&table);
    each_tensor(app, name, reader, &table, print_row);
}

/* A model folder is several files; each gets its own object. The list of tensors may be long: it is printed as it goes. */
static void list_json(struct app *app, const char *path, const wcodec_reader *reader, bool *any)
{
    wcodec_error err = {0};
    uint64_t files = wcodec_reader_file_count(reader);
    for (uint64_t f = 0; f < files && !signals_pending(); f++) {
        wcodec_file_info file;
        wcodec_tensor_info info;
        if (wcodec_reader_file(reader, f, &file, &err) != WCODEC_OK) {
            app_fail_status(app, path, &err);
            return;
        }
        json_t *head = describe_file_json(file.path[0] ? file.path : path, &file);
        char *text = head ? json_dumps(head, JSON_COMPACT | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(12)) : NULL;
        json_decref(head);
        if (!text) {
            app_fail(app, EXIT_FAILED, "%s: out of memory", path);
            return;
        }
        text[strlen(text) - 1] = 0; /* the closing brace comes after the tensors */
        printf("%s\n%s,\"tensors\":[", *any ? "," : "", text);
        free(text);
        *any = true;
        bool tensors = false;
        for (uint64_t i = file.first_tensor; i < file.first_tensor + file.tensors && !signals_pending() && app_stdout_good(app); i++) {
            if (wcodec_reader_tensor(reader, i, &info, &err) == WCODEC_OK)
                json_print(app, describe_tensor_json(reader, &info), &tensors);
            else
                app_fail_status(app, path, &err);
        }
        fputs("]}", stdout);
    }
}

void command_list(struct app *app)
{
    const struct options *o = &app->options;
    bool any = false;
    if (o->files.count == 0) {
        app_fail(app, EXIT_USAGE, "list what? Give .wcodec files, a model folder, or - for standard input");
        return;
    }
    if (o->json)
        fputs("{\"schema\":\"wcodec/1\",\"files\":[", stdout);
    for (size_t i = 0; i < o->files.count && !signals_pending(); i++) {
        struct input input;
        wcodec_reader *reader;
        if (!input_open_reader(app, o->files.items[i], &input, &reader))
            continue;
        if (o->json) {
            list_json(app, input.name, reader, &any);
        } else {
            char *name = o->files.count > 1 ? text_escape(input.name) : NULL;
            if (name)
                printf("%s%s:\n", i ? "\n" : "", name);
            free(name);
            list_table(app, input.name, reader);
        }
        wcodec_reader_close(reader);
        input_close(&input);
    }
    if (o->json)
        fputs(any ? "\n]}\n" : "]}\n", stdout);
}
