/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* wcodec info: what a file is, how each tensor is coded, and how near that comes to the order-0
 * bound. */
#include "utils/app.h"
#include "utils/bases.h"
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
#include <time.h>

/* Sums over the tensors of a file. */
struct totals {
    uint64_t tensors;
    uint64_t aliases;
    uint64_t elements;
    uint64_t size;
    uint64_t coded;
    uint64_t bounded;       /* decoded bytes of those whose bound was counted */
    uint64_t bounded_coded; /* their coded bytes */
    uint64_t bound_bits;
};

static void add_tensor(struct totals *t, const wcodec_tensor_info *info)
{
    t->tensors++;
    t->aliases += info->coding == WCODEC_CODING_ALIAS;
    t->elements += describe_elements(info);
    t->size += info->size;
    t->coded += info->coded_size;
    if (info->order0_bits && info->coding != WCODEC_CODING_ALIAS) {
        t->bounded += info->size;
        t->bounded_coded += info->coded_size;
        t->bound_bits += info->order0_bits;
    }
}

/* Coded size over the bound, less one, in percent. */
static double excess(const struct totals *t)
{
    return t->bound_bits ? ((double)t->bounded_coded * 8 / (double)t->bound_bits - 1) * 100 : 0;
}

static bool tensor_row(struct app *app, const char *name, const wcodec_tensor_info *info,
                       struct table *table, bool print)
{
    char coding[TABLE_CELL], tables[TABLE_CELL], tile[TABLE_CELL], bits[TABLE_CELL],
        bound[TABLE_CELL] = "-", ratio[TABLE_CELL];
    char *tensor = text_escape(info->name), *dtype = text_escape(info->dtype_name);
    bool good = tensor && dtype;
    const char *split = info->split[0] ? info->split : "-";
    if (info->run_elements)
        snprintf(tables, sizeof tables, "%u/%u", info->tables, info->run_elements);
    else
        snprintf(tables, sizeof tables, "%u", info->tables);
    snprintf(tile, sizeof tile, "%" PRIu64, info->tile_elements);
    snprintf(bits, sizeof bits, "%.3f", describe_bits(info, info->coded_size * 8));
    if (info->order0_bits)
        snprintf(bound, sizeof bound, "%.3f", describe_bits(info, info->order0_bits));
    describe_ratio_text(info->coded_size, info->size, ratio);
    const char *cells[] = {tensor, dtype, describe_coding(info, coding, sizeof coding),
                           split,  tile,  tables,
                           bits,   bound, ratio};
    if (good && print)
        table_print(table, cells);
    else if (good)
        table_measure(table, cells);
    free(dtype);
    free(tensor);
    return good || app_fail(app, EXIT_FAILED, "%s: out of memory", name);
}

static void print_tensors(struct app *app, const char *name, const wcodec_reader *reader,
                          const wcodec_file_info *file)
{
    static const char *const heads[] = {"NAME",   "DTYPE", "CODING", "SPLIT", "TILE",
                                        "TABLES", "BITS",  "BOUND",  "RATIO", NULL};
    struct table table;
    wcodec_tensor_info info;
    table_init(&table, app, heads, "llllrrrrr");
    for (int print = 0; print <= 1; print++) {
        if (print)
            table_print_heads(&table);
        for (uint64_t i = file->first_tensor;
             i < file->first_tensor + file->tensors && !signals_pending() && app_stdout_good(app);
             i++) {
            if (wcodec_reader_tensor(reader, i, &info, NULL) != WCODEC_OK ||
                !tensor_row(app, name, &info, &table, print))
                return;
        }
    }
}

/* How blocks were predicted, and what that gained over the order-0 bound of the tensor as it is. */
static void print_predicted(struct app *app, const wcodec_reader *reader,
                            const wcodec_file_info *file)
{
    wcodec_tensor_info info;
    for (uint64_t i = file->first_tensor;
         i < file->first_tensor + file->tensors && !signals_pending() && app_stdout_good(app);
         i++) {
        if (wcodec_reader_tensor(reader, i, &info, NULL) != WCODEC_OK)
            return;
        char *name =
            info.mode_count && info.coding != WCODEC_CODING_LOSSY ? text_escape(info.name) : NULL;
        if (!name)
            continue;
        printf("predicted:  %s, rows of %" PRIu64 ":", name, info.columns);
        for (unsigned m = 0; m < info.mode_count; m++)
            printf("%s %s%s %.1f %%", m ? "," : "", info.modes[m].predictor,
                   info.modes[m].differential ? "+d" : "", describe_share(&info, m) * 100);
        if (info.order0_bits)
            printf("; %+.2f %% to the bound without",
                   ((double)info.coded_size * 8 / (double)info.order0_bits - 1) * 100);
        printf("\n");
        free(name);
    }
}

/* Of what modes the blocks of approximated tensors are, and how far they are from the original. */
static void print_lossy(struct app *app, const wcodec_reader *reader, const wcodec_file_info *file)
{
    wcodec_tensor_info info;
    char text[LOSSY_TEXT];
    for (uint64_t i = file->first_tensor; file->lossy && i < file->first_tensor + file->tensors &&
                                          !signals_pending() && app_stdout_good(app);
         i++) {
        struct lossy_figures figures = {0};
        if (wcodec_reader_tensor(reader, i, &info, NULL) != WCODEC_OK)
            return;
        const bool before = info.lossy && info.scales == 0,
                   in_blocks = info.coding == WCODEC_CODING_LOSSY && info.mode_count,
                   anchored = info.coding == WCODEC_CODING_ANCHORED;
        char *name = before || in_blocks || anchored ? text_escape(info.name) : NULL;
        if (!name)
            continue;
        lossy_add(&figures, &info);
        if (before) {
            printf("lossy:      %s, approximated before it was compressed anew: %s\n", name,
                   lossy_text(&figures, text));
            free(name);
            continue;
        }
        printf("lossy:      %s, rows of %" PRIu64 ":", name, info.columns);
        if (anchored)
            printf(" by %" PRIu64 " anchors", info.anchors);
        for (unsigned m = 0; m < info.mode_count; m++)
            printf("%s %s %.1f %%", m ? "," : "", info.modes[m].predictor,
                   describe_share(&info, m) * 100);
        if (info.order)
            printf("; order %s", info.order);
        printf("; %" PRIu64 " scale%s; %s\n", info.scales, info.scales == 1 ? "" : "s",
               lossy_text(&figures, text));
        free(name);
    }
}

/* Which file deltas are made of. */
static void print_base(void *opaque, const struct base_link *link)
{
    char hash[33], size[32];
    char *path = link->path ? text_escape(link->path) : NULL;
    char *of = link->of ? text_escape(link->of) : NULL;
    (void)opaque;
    text_hex(link->hash, 16, hash);
    printf("base:       %s, %" PRIu64 " (%s)", hash, link->size, text_size(link->size, size));
    if (link->path)
        printf(": %s", path ? path : "?");
    if (link->of)
        printf(", which %s is made of", of ? of : "?");
    printf("\n");
    free(of);
    free(path);
}

/* What deltas are made of, and how. */
static void print_deltas(struct app *app, const char *name, const wcodec_reader *reader,
                         const wcodec_file_info *file)
{
    if (!bases_each(app, app->bases, reader, file->first_tensor, file->first_tensor + file->tensors,
                    print_base, NULL)) {
        app_fail(app, EXIT_FAILED, "%s: out of memory", name);
        return;
    }
    for (uint64_t i = file->first_tensor;
         i < file->first_tensor + file->tensors && !signals_pending() && app_stdout_good(app);
         i++) {
        struct delta_share shares[5];
        wcodec_tensor_info info;
        wcodec_delta_info delta;
        if (wcodec_reader_tensor(reader, i, &info, NULL) != WCODEC_OK ||
            info.coding != WCODEC_CODING_DELTA ||
            wcodec_reader_delta(reader, i, &delta, NULL) != WCODEC_OK)
            continue;
        char *tensor = text_escape(info.name);
        const unsigned count = describe_delta_shares(&delta, shares);
        printf("delta:      %s:", tensor ? tensor : "?");
        for (unsigned s = 0; s < count; s++)
            printf("%s %s %.1f %%", s ? "," : "", shares[s].name, shares[s].share * 100);
        if (delta.depth > 1)
            printf("; %u deltas deep", delta.depth);
        printf("\n");
        free(tensor);
    }
}

static void print_escaped(const char *label, const char *text)
{
    char *escaped = text_escape(text);
    printf("%s%s\n", label, escaped ? escaped : "?");
    free(escaped);
}

static void print_metadata(const wcodec_reader *reader, uint64_t file)
{
    uint64_t count = wcodec_reader_metadata_count(reader, file);
    for (uint64_t i = 0; i < count; i++) {
        const char *key, *value;
        if (wcodec_reader_metadata(reader, file, i, &key, &value, NULL) != WCODEC_OK)
            return;
        char *k = text_escape(key), *v = text_escape(value);
        printf("metadata:   %s = %s\n", k ? k : "?", v ? v : "?");
        free(v);
        free(k);
    }
}

static void print_file(const char *path, const wcodec_reader *reader, const wcodec_file_info *file)
{
    const struct lossy_figures figures = lossy_of_file(reader, file);
    char size[32], coded[32], ratio[TABLE_CELL], hash[33], date[64], text[LOSSY_TEXT];
    char settings[DESCRIBE_SETTINGS];
    struct tm tm;
    time_t time = (time_t)file->mtime;
    print_escaped("file:       ", path);
    if (file->name[0])
        print_escaped("original:   ", file->name);
    printf("kind:       %s\n", file->kind);
    printf("format:     version %u (a reader must know this version)\n", file->version);
    if (file->level)
        printf("options:    %s\n", describe_settings(file, settings));
    printf("tensors:    %" PRIu64 "\n", file->tensors);
    printf("size:       %" PRIu64 " (%s)\n", file->size, text_size(file->size, size));
    printf("coded size: %" PRIu64 " (%s), ratio %s\n", file->coded_size,
           text_size(file->coded_size, coded),
           describe_ratio_text(file->coded_size, file->size, ratio));
    if (file->lossy)
        printf("lossy:      %" PRIu64 " of %" PRIu64 " tensors are approximated: %s\n", file->lossy,
               file->tensors, lossy_text(&figures, text));
    text_hex(file->xxh128, 16, hash);
    printf("hash:       %s%s\n", hash, file->lossy ? " (of the approximated file)" : "");
    if (file->mode)
        printf("mode:       %04o\n", (unsigned)file->mode);
    if (file->mtime >= 0 && gmtime_r(&time, &tm) &&
        strftime(date, sizeof date, "%Y-%m-%d %H:%M:%S UTC", &tm))
        printf("modified:   %s\n", date);
}

static void print_totals(const wcodec_file_info *file, const struct totals *t)
{
    char ratio[TABLE_CELL];
    printf("total:      %" PRIu64 " tensors (%" PRIu64 " stored once for equal ones), %" PRIu64
           " elements, %" PRIu64 " to %" PRIu64 " bytes, ratio %s, %.4f bits an element\n",
           t->tensors, t->aliases, t->elements, t->size, t->coded,
           describe_ratio_text(t->coded, t->size, ratio),
           t->elements ? (double)t->coded * 8 / (double)t->elements : 0);
    if (t->bound_bits)
        printf("bound:      %" PRIu64 " bytes (order-0, for tensors of %" PRIu64
               " bytes); they take %" PRIu64 " (%+.2f %%)\n",
               t->bound_bits / 8 + (t->bound_bits % 8 != 0), t->bounded, t->bounded_coded,
               excess(t));
    printf("the rest:   %" PRIu64 " bytes (header, other data, index, padding)\n",
           file->coded_size - t->coded);
}

static json_t *totals_json(const wcodec_file_info *file, const struct totals *t)
{
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "tensors",
                     json_size(t->tensors), "aliases", json_size(t->aliases), "elements",
                     json_size(t->elements), "bytes", json_size(t->size), "coded_bytes",
                     json_size(t->coded), "ratio",
                     json_decimal(describe_ratio(t->coded, t->size), 6), "bits_per_element",
                     json_decimal(t->elements ? (double)t->coded * 8 / (double)t->elements : 0, 4),
                     "order0_bits", json_size(t->bound_bits), "order0_coded_bytes",
                     json_size(t->bounded_coded), "over_order0_percent", json_decimal(excess(t), 4),
                     "other_coded_bytes", json_size(file->coded_size - t->coded));
}

static json_t *metadata_json(const wcodec_reader *reader, uint64_t file)
{
    uint64_t count = wcodec_reader_metadata_count(reader, file);
    json_t *metadata = json_object();
    for (uint64_t i = 0; metadata && i < count; i++) {
        const char *key, *value;
        if (wcodec_reader_metadata(reader, file, i, &key, &value, NULL) == WCODEC_OK)
            json_object_set_new(metadata, key, json_text(value));
    }
    return metadata;
}

static void add_base_json(void *opaque, const struct base_link *link)
{
    char hash[33];
    text_hex(link->hash, 16, hash);
    json_array_append_new(opaque, json_pack("{s:s, s:o, s:o, s:o}", "hash", hash, "bytes",
                                            json_size(link->size), "path",
                                            link->path ? json_text(link->path) : json_null(), "of",
                                            link->of ? json_text(link->of) : json_null()));
}

static json_t *bases_json(const struct app *app, const struct described_file *f)
{
    const uint64_t begin = f->info.first_tensor;
    json_t *bases = json_array();
    if (bases && bases_each(app, app->bases, f->reader, begin, begin + f->info.tensors,
                            add_base_json, bases))
        return bases;
    json_decref(bases);
    return NULL;
}

static void info_json(struct app *app, struct json_list *list, const struct described_file *f,
                      const struct totals *totals)
{
    const wcodec_file_info *info = &f->info;
    json_t *head = describe_file_json(f);
    char mode[16];
    snprintf(mode, sizeof mode, "%04o", (unsigned)info->mode);
    if (head) {
        json_object_set_new(head, "mode", info->mode ? json_string(mode) : json_null());
        json_object_set_new(head, "mtime",
                            info->mtime >= 0 ? json_integer(info->mtime) : json_null());
        json_object_set_new(head, "options", describe_settings_json(info));
        json_object_set_new(head, "index", json_string(info->index_first ? "front" : "end"));
        json_object_set_new(head, "metadata", metadata_json(f->reader, f->number));
        json_object_set_new(head, "bases", bases_json(app, f));
        json_object_set_new(head, "totals", totals_json(info, totals));
    }
    describe_print_json(app, list, f, head);
}

static void info_file(struct app *app, void *opaque, const struct described_file *f)
{
    struct json_list *list = opaque;
    const wcodec_file_info *file = &f->info;
    wcodec_error err = {0};
    wcodec_tensor_info info;
    struct totals totals = {0};
    for (uint64_t i = file->first_tensor; i < file->first_tensor + file->tensors; i++) {
        if (wcodec_reader_tensor(f->reader, i, &info, &err) != WCODEC_OK) {
            app_fail_status(app, f->path, &err);
            return;
        }
        add_tensor(&totals, &info);
    }
    if (app->options.json) {
        info_json(app, list, f, &totals);
        return;
    }
    if (list->any)
        putchar('\n');
    list->any = true;
    print_file(f->path, f->reader, file);
    print_metadata(f->reader, f->number);
    if (file->tensors) {
        putchar('\n');
        print_tensors(app, f->path, f->reader, file);
        putchar('\n');
        print_predicted(app, f->reader, file);
        print_deltas(app, f->path, f->reader, file);
        print_lossy(app, f->reader, file);
        print_totals(file, &totals);
    }
}

static void info_input(struct app *app, void *opaque, const char *name, const wcodec_reader *reader)
{
    if (reader)
        describe_each_file(app, name, reader, info_file, opaque);
    else
        json_list_failure(app, opaque, name);
}

void command_info(struct app *app)
{
    const struct options *o = &app->options;
    struct json_list list = {0};
    if (o->files.count == 0) {
        app_fail(app, EXIT_USAGE,
                 "info on what? Give .wcodec files, a model folder, or - for standard input");
        return;
    }
    if (o->json)
        json_list_begin(&list, "files");
    input_each_reader(app, info_input, &list);
    if (o->json)
        json_list_end(&list);
}
