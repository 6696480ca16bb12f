/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "utils/option_table.h"
#include "utils/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

bool usage_error(const char *text, const char *detail)
{
    char *escaped = detail ? text_escape(detail) : NULL;
    fprintf(stderr, "wcodec: %s%s%s%s\nTry 'wcodec help'.\n", text, detail ? " '" : "",
            escaped ? escaped : "", detail ? "'" : "");
    free(escaped);
    return false;
}

bool strings_add(struct strings *list, const char *item)
{
    const char **items = realloc(list->items, (list->count + 2) * sizeof *items);
    if (!items) {
        fputs("wcodec: out of memory\n", stderr);
        return false;
    }
    items[list->count++] = item;
    items[list->count] = NULL;
    list->items = items;
    return true;
}

/* A decimal number without sign, space or anything after it. */
bool number_parse(const char *text, uint64_t max, uint64_t *number)
{
    if (*text < '0' || *text > '9')
        return false;
    char *end;
    errno = 0;
    unsigned long long v = strtoull(text, &end, 10);
    if (errno || *end || v > max)
        return false;
    *number = v;
    return true;
}

bool size_parse(const char *text, uint64_t *size)
{
    static const struct {
        const char *name;
        double factor;
    } units[] = {
        {"", 1},         {"B", 1},      {"K", 0x1p10},   {"KiB", 0x1p10},
        {"k", 0x1p10},   {"M", 0x1p20}, {"MiB", 0x1p20}, {"G", 0x1p30},
        {"GiB", 0x1p30}, {"T", 0x1p40}, {"TiB", 0x1p40}, {"kB", 1e3},
        {"KB", 1e3},     {"MB", 1e6},   {"GB", 1e9},     {"TB", 1e12},
    };
    /* By hand: strtod() takes hexadecimal and infinity, and the decimal point of the locale. */
    const char *p = text;
    double value = 0, weight = 1;
    bool digits = false;
    for (; *p >= '0' && *p <= '9'; p++, digits = true)
        value = value * 10 + (*p - '0');
    if (*p == '.') {
        for (p++; *p >= '0' && *p <= '9'; p++, digits = true) {
            weight /= 10;
            value += weight * (*p - '0');
        }
    }
    if (!digits)
        return false;
    for (size_t i = 0; i < COUNT(units); i++) {
        if (strcmp(p, units[i].name) == 0) {
            value *= units[i].factor;
            if (value >= 0x1p63)
                return false;
            *size = (uint64_t)value;
            return true;
        }
    }
    return false;
}

/* A decimal number, with or without a point and an exponent. */
static bool decimal_parse(const char *text, double *number)
{
    char *end;
    if (!*text || strspn(text, "0123456789.eE+-") != strlen(text))
        return false;
    *number = strtod(text, &end); /* the command keeps to the C locale */
    return !*end;
}

/* The member that a row is about. */
static void *member(const struct option_row *row, struct options *o)
{
    return (char *)o + row->offset;
}

static bool set_flag(const struct option_row *row, const char *text, struct options *o)
{
    (void)text;
    *(bool *)member(row, o) = true;
    return true;
}

static bool set_count(const struct option_row *row, const char *text, struct options *o)
{
    (void)text;
    ++*(int *)member(row, o);
    return true;
}

static bool set_keep(const struct option_row *row, const char *text, struct options *o)
{
    (void)row, (void)text;
    o->remove = false;
    return true;
}

static bool set_no_name(const struct option_row *row, const char *text, struct options *o)
{
    (void)row, (void)text;
    o->keep_name = false;
    return true;
}

static bool set_level(const struct option_row *row, const char *text, struct options *o)
{
    (void)text;
    o->level = row->letter - '0';
    return true;
}

static bool set_level_number(const struct option_row *row, const char *text, struct options *o)
{
    uint64_t n;
    (void)row;
    if (!number_parse(text, 9, &n) || n == 0)
        return false;
    o->level = (int)n;
    return true;
}

bool option_is_level(const struct option_row *row)
{
    return row->set == set_level;
}

/* A letter or long option that stands for a command. */
static bool set_command(const struct option_row *row, const char *text, struct options *o)
{
    const enum command command = command_find(row->name);
    (void)text;
    if (o->command != COMMAND_NONE && o->command != command)
        return usage_error("-z, -d, -l and -t exclude each other", NULL);
    o->command = command;
    return true;
}

static bool set_text(const struct option_row *row, const char *text, struct options *o)
{
    *(const char **)member(row, o) = text;
    return true;
}

/* For another program: only its form is checked. */
static bool set_nothing(const struct option_row *row, const char *text, struct options *o)
{
    (void)row, (void)text, (void)o;
    return true;
}

static bool set_list(const struct option_row *row, const char *text, struct options *o)
{
    return strings_add(member(row, o), text);
}

static bool set_tables(const struct option_row *row, const char *text, struct options *o)
{
    o->tables = true;
    return !text || strings_add(member(row, o), text);
}

static bool set_table_anchors(const struct option_row *row, const char *text, struct options *o)
{
    (void)row;
    return number_parse(text, 1 << 21, &o->table_anchors) && o->table_anchors != 0;
}

static bool set_table_bits(const struct option_row *row, const char *text, struct options *o)
{
    (void)row;
    return decimal_parse(text, &o->table_bits) && o->table_bits >= 0.01 && o->table_bits <= 32;
}

static bool set_table_recall(const struct option_row *row, const char *text, struct options *o)
{
    (void)row;
    return decimal_parse(text, &o->table_recall) && o->table_recall > 0 && o->table_recall < 1;
}

static bool set_size(const struct option_row *row, const char *text, struct options *o)
{
    return size_parse(text, member(row, o));
}

static bool set_threads(const struct option_row *row, const char *text, struct options *o)
{
    uint64_t n;
    (void)row;
    if (!number_parse(text, 4096, &n))
        return false;
    o->threads = (unsigned)n;
    return true;
}

static bool set_depth(const struct option_row *row, const char *text, struct options *o)
{
    uint64_t n;
    (void)row;
    if (!number_parse(text, 64, &n) || n == 0)
        return false;
    o->base_depth = (unsigned)n;
    return true;
}

static bool set_iterations(const struct option_row *row, const char *text, struct options *o)
{
    uint64_t n;
    (void)row;
    if (!number_parse(text, 1000000, &n) || n == 0)
        return false;
    o->iterations = (unsigned)n;
    return true;
}

/* Which subcommands of vectors it is of. */
static void note_subcommand(const struct option_row *row, struct options *o)
{
    if (row->offset >= offsetof(struct options, train) &&
        row->offset < offsetof(struct options, train) + sizeof o->train)
        o->for_train = row->name;
    else if (row->offset == offsetof(struct options, queries))
        o->for_evaluate = row->name;
    else if (row->offset == offsetof(struct options, nearest))
        o->for_nearest = row->name;
    else if (row->offset == offsetof(struct options, first_id))
        o->for_add = row->name;
    else if (row->offset == offsetof(struct options, metric) ||
             row->offset == offsetof(struct options, probes))
        o->for_stores = row->name;
    else if (row->offset == offsetof(struct options, bits) ||
             row->offset == offsetof(struct options, recall))
        o->for_compress = row->name;
    else
        o->for_search = row->name;
    o->anchors_given |= row->offset == offsetof(struct options, train.anchors);
}

static bool set_number(const struct option_row *row, const char *text, struct options *o)
{
    note_subcommand(row, o);
    return number_parse(text, INT64_MAX, member(row, o));
}

static bool set_count_of(const struct option_row *row, const char *text, struct options *o)
{
    uint64_t n;
    note_subcommand(row, o);
    if (!number_parse(text, UINT32_MAX - 1, &n) || n == 0)
        return false;
    *(uint64_t *)member(row, o) = n;
    return true;
}

static bool set_most(const struct option_row *row, const char *text, struct options *o)
{
    note_subcommand(row, o);
    return number_parse(text, 1000000, member(row, o)) && *(uint64_t *)member(row, o) != 0;
}

static bool set_part(const struct option_row *row, const char *text, struct options *o)
{
    double *value = member(row, o);
    note_subcommand(row, o);
    return decimal_parse(text, value) && *value >= 0 && *value <= 1;
}

static bool set_bits(const struct option_row *row, const char *text, struct options *o)
{
    note_subcommand(row, o);
    return decimal_parse(text, &o->bits) && o->bits >= 0.5 && o->bits <= 7;
}

static bool set_recall(const struct option_row *row, const char *text, struct options *o)
{
    note_subcommand(row, o);
    return decimal_parse(text, &o->recall) && o->recall > 0 && o->recall < 1;
}

static bool set_probes_recall(const struct option_row *row, const char *text, struct options *o)
{
    note_subcommand(row, o);
    return decimal_parse(text, &o->probes_recall) && o->probes_recall > 0 && o->probes_recall < 1;
}

static bool set_rerank(const struct option_row *row, const char *text, struct options *o)
{
    note_subcommand(row, o);
    o->rerank = text;
    return *text != 0;
}

static bool set_filter(const struct option_row *row, const char *text, struct options *o)
{
    note_subcommand(row, o);
    o->filter = text;
    return *text != 0;
}

static bool set_rerank_factor(const struct option_row *row, const char *text, struct options *o)
{
    note_subcommand(row, o);
    return number_parse(text, 1000, &o->rerank_factor) && o->rerank_factor != 0;
}

static bool set_tile(const struct option_row *row, const char *text, struct options *o)
{
    uint64_t n;
    (void)row;
    if (!size_parse(text, &n))
        return false;
    for (unsigned t = 12; t <= 16; t++) {
        if (n == UINT64_C(1) << t) {
            o->tile_log2 = t;
            return true;
        }
    }
    return false;
}

static bool set_slice(const struct option_row *row, const char *text, struct options *o)
{
    (void)row;
    char copy[64];
    const char *colon = strchr(text, ':');
    if (!colon || strlen(text) >= sizeof copy)
        return false;
    size_t first = (size_t)(colon - text);
    memcpy(copy, text, first);
    copy[first] = 0;
    o->slice = true;
    o->slice_first = 0;
    o->slice_end = UINT64_MAX;
    if (first && !number_parse(copy, INT64_MAX, &o->slice_first))
        return false;
    if (colon[1] && !number_parse(colon + 1, INT64_MAX, &o->slice_end))
        return false;
    return o->slice_first <= o->slice_end;
}

static bool set_lossy(const struct option_row *row, const char *text, struct options *o)
{
    static const struct {
        const char *name;
        wcodec_lossy_target target;
        double least, most;
    } targets[] = {{"snr:", WCODEC_LOSSY_SNR, 0, 200},
                   {"error:", WCODEC_LOSSY_ERROR, 0x1p-126, 0x1p126},
                   {"bits:", WCODEC_LOSSY_BITS, 0.01, 32}};
    (void)row;
    if (strcmp(text, "none") == 0) {
        o->lossy = WCODEC_LOSSY_NONE;
        return true;
    }
    for (size_t i = 0; i < COUNT(targets); i++) {
        const size_t n = strlen(targets[i].name);
        if (strncmp(text, targets[i].name, n) == 0) {
            o->lossy = targets[i].target;
            return decimal_parse(text + n, &o->lossy_value) && o->lossy_value >= targets[i].least &&
                   o->lossy_value <= targets[i].most;
        }
    }
    return false;
}

/* Values separated by |, which are those of an enumeration from 0 on. Says itself what is wrong,
 * since it knows all of them. */
static bool choose(const struct option_row *row, const char *values, const char *text,
                   struct options *o)
{
    const size_t length = strlen(text);
    char expected[128];
    size_t used = (size_t)snprintf(expected, sizeof expected, "--%s is ", row->name);
    int number = 0;
    for (const char *value = values; value; number++) {
        const char *end = strchr(value, '|');
        const size_t size = end ? (size_t)(end - value) : strlen(value);
        if (size == length && memcmp(value, text, size) == 0) {
            memcpy(member(row, o), &number, sizeof number);
            return true;
        }
        const char *after = !end ? ", not" : strchr(end + 1, '|') ? ", " : " or ";
        used += (size_t)snprintf(expected + used, sizeof expected - used, "%.*s%s", (int)size,
                                 value, after);
        value = end ? end + 1 : NULL;
    }
    return usage_error(expected, text);
}

static bool set_choice(const struct option_row *row, const char *text, struct options *o)
{
    return choose(row, row->argument, text, o);
}

static bool set_training(const struct option_row *row, const char *text, struct options *o)
{
    note_subcommand(row, o);
    return choose(row, row->argument, text, o);
}

static bool set_index(const struct option_row *row, const char *text, struct options *o)
{
    o->placed = true;
    return set_choice(row, text, o);
}

static bool set_color(const struct option_row *row, const char *text, struct options *o)
{
    return choose(row, "auto|always|never", text ? text : "always", o);
}

_Static_assert(sizeof(wcodec_tune) == sizeof(int) && sizeof(wcodec_predict) == sizeof(int) &&
                   sizeof(enum color) == sizeof(int) && sizeof(enum dequantize) == sizeof(int) &&
                   sizeof(wcodec_vectors_schedule) == sizeof(int) &&
                   sizeof(wcodec_vectors_reduce) == sizeof(int) &&
                   sizeof(wcodec_vectors_metric) == sizeof(int),
               "choices are stored as int");

#define TO(name) offsetof(struct options, name)
#define BIT(c) (1u << COMMAND_##c)
#define WRITES (BIT(COMPRESS) | BIT(DECOMPRESS) | BIT(CAT) | BIT(CONVERT) | BIT(REBASE))
#define PLACES (BIT(REPORT) | BIT(VECTORS)) /* no standard output */
#define FILES (BIT(COMPRESS) | BIT(DECOMPRESS))
#define WALKS (FILES | BIT(TEST) | BIT(VERIFY))
#define REPORTS \
    (BIT(LIST) | BIT(INFO) | BIT(TEST) | BIT(VERIFY) | BIT(BENCH) | BIT(DEVICES) | BIT(VERSION))
#define LISTED (FILES | BIT(LIST) | BIT(INFO) | BIT(TEST))
#define CODES (BIT(COMPRESS) | BIT(BENCH))
#define DELTAS (WALKS | BIT(LIST) | BIT(INFO) | BIT(CAT) | BIT(CONVERT) | BIT(REBASE))
#define ALL COMMAND_ALL
#define LOSSY_IS \
    "--lossy is none, snr:DB (0 to 200), error:E (the largest, 1.2e-38 to 8.5e37) or bits:B (an " \
    "element, 0.01 to 32), not"
#define NOT_A_SIZE "not a size (such as 512MiB or 2GiB):"

/* Name, letter, argument, commands that take it and that list it, how it is set and where, what is
 * said of a wrong argument, help. */
const struct option_row option_table[] = {
    {"compress", 'z', NULL, ALL, 0, set_command, 0, NULL, NULL},
    {"decompress", 'd', NULL, ALL, 0, set_command, 0, NULL, NULL},
    {"list", 'l', NULL, ALL, 0, set_command, 0, NULL, NULL},
    {"test", 't', NULL, ALL, 0, set_command, 0, NULL, NULL},
    {"threads", 'T', "N", ALL, 0, set_threads, 0,
     "threads must be a number from 0 (all cores) to 4096, not", "worker threads (0: one a core)"},
    {"backend", 0, "NAME", ALL, 0, set_text, TO(backend), NULL,
     "auto, cpu, cuda, opencl, or one of these with :DEVICE"},
    {"memory-limit", 0, "SIZE", ALL, 0, set_size, TO(memory_limit), NOT_A_SIZE,
     "refuse what takes more memory (512MiB, 2GiB)"},
    {"quiet", 'q', NULL, ALL, 0, set_count, TO(quiet), NULL,
     "no notes and no progress; -qq: no warnings either"},
    {"verbose", 'v', NULL, ALL, 0, set_count, TO(verbose), NULL, "say more; -vv: even more"},
    {"no-progress", 0, NULL, ALL, 0, set_flag, TO(no_progress), NULL,
     "no progress bar (there is one only on a terminal)"},
    {"no-sandbox", 0, NULL, ALL, 0, set_flag, TO(no_sandbox), NULL,
     "keep what decoding does not need: writing elsewhere, connections, programs"},
    {"color", 0, "[=WHEN]", ALL, 0, set_color, TO(color), NULL, "auto, always or never"},
    {"help", 'h', NULL, ALL, 0, set_flag, TO(help), NULL, "help, also after a command"},
    {"version", 'V', NULL, ALL, 0, set_flag, TO(version), NULL, "the version"},
    {"slice", 0, "A:B", BIT(CAT), BIT(CAT), set_slice, 0,
     "a slice is FIRST:END, rows counted from 0 and END not included, not",
     "rows A to B - 1 of the first dimension; either may be left out"},
    {"xxh128", 0, "HEX", BIT(VERIFY), BIT(VERIFY), set_text, TO(xxh128), NULL,
     "with the hash of the original that info prints, in its place"},
    {"quick", 0, NULL, BIT(TEST), BIT(TEST), set_flag, TO(quick), NULL, "structure and index only"},
    {"iterations", 'n', "N", BIT(BENCH), BIT(BENCH), set_iterations, 0,
     "iterations must be a number from 1 to 1000000, not",
     "runs of each, of which the median counts (default 5)"},
    {"sample", 0, "SIZE", BIT(BENCH), BIT(BENCH), set_size, TO(sample), NOT_A_SIZE,
     "at most that much of each dtype"},
    {"recurrent", 0, NULL, BIT(BENCH), BIT(BENCH), set_flag, TO(recurrent), NULL,
     "measure recurrent models of a training's course, and no files"},
    {.listed = BIT(TEST), .help = "      --backend=all     on every device, one after the other"},
    {.listed = BIT(BENCH), .help = "      --backend=all     decode on every backend"},
    {"output", 'o', "FILE", WRITES | PLACES, WRITES | PLACES, set_text, TO(output), NULL,
     "the output, a directory for a directory; - is as -c"},
    {"output-dir", 'O', "DIR", FILES, FILES, set_text, TO(output_dir), NULL, "put outputs there"},
    {"stdout", 'c', NULL, WRITES, WRITES, set_flag, TO(to_stdout), NULL,
     "write to standard output"},
    {"recursive", 'r', NULL, WALKS | BIT(CONVERT) | BIT(REBASE), WALKS | BIT(CONVERT) | BIT(REBASE),
     set_flag, TO(recursive), NULL, "go into directories below a directory"},
    {"force", 'f', NULL, WRITES | PLACES, WRITES | PLACES, set_flag, TO(force), NULL,
     "replace outputs; write to devices and terminals"},
    {"filelist", 0, "FILE", LISTED, LISTED, set_text, TO(filelist), NULL,
     "more inputs, whose names are the lines of FILE (- is standard input)"},
    {"keep", 'k', NULL, FILES, FILES, set_keep, 0, NULL, "keep the input (the default)"},
    {"rm", 0, NULL, FILES, FILES, set_flag, TO(remove), NULL,
     "remove the input after the output is on the disk"},
    {"no-sync", 0, NULL, WRITES | BIT(VECTORS), WRITES | BIT(VECTORS), set_flag, TO(no_sync), NULL,
     "do not wait for the disk"},
    {"fast", '1', NULL, CODES, 0, set_level, 0, NULL, NULL},
    {"best", '9', NULL, CODES, 0, set_level, 0, NULL, NULL},
    {.listed = BIT(COMPRESS),
     .help = "  -1 ... -9             fast to small (default 3); --fast is -1, --best is -9"},
    {.listed = BIT(BENCH),
     .help = "  -1 ... -9, --fast, --best, --tune, --tile, --profile, --predict   as for compress"},
    {"level", 0, "N", CODES, CODES, set_level_number, 0, "levels are 1 to 9, not",
     "1 (fast) to 9 (small), as -1 to -9"},
    {"tune", 0, "size|latency|compute-fixed|compute", CODES, BIT(COMPRESS), set_choice, TO(tune),
     NULL, "tiles for size, small ones for one tensor, or bf16 to multiply by"},
    {"tile", 0, "N", CODES, BIT(COMPRESS), set_tile, 0,
     "a tile has 4096, 8192, 16384, 32768 or 65536 elements, not",
     "elements of a tile: 4096 to 65536, a power of two"},
    {"profile", 0, "auto|pairs|p12|p8", CODES, BIT(COMPRESS), set_choice, TO(profile), NULL,
     "prefer one"},
    {"predict", 0, "auto|none|left|top|average|planar|paeth|wht", CODES, BIT(COMPRESS), set_choice,
     TO(predict), NULL, "from neighbours"},
    {"lossy", 0, "none|snr:DB|error:E|bits:B", BIT(COMPRESS), BIT(COMPRESS), set_lossy, 0, LOSSY_IS,
     "approximate bf16, f16 and f32 tensors"},
    {"lossy-scale", 0, "tensor|row", BIT(COMPRESS), BIT(COMPRESS), set_choice, TO(lossy_scale),
     NULL, "one step for a tensor, or one for each row"},
    {"vectors", 0, "[GLOB]", BIT(COMPRESS), BIT(COMPRESS), set_tables, TO(table_names), NULL,
     "approximate tables of vectors that match, or all, by anchors"},
    {"vectors-anchors", 0, "M", BIT(COMPRESS), BIT(COMPRESS), set_table_anchors, 0,
     "anchors of a table are a number from 1 to 2097152, not",
     "so many for each table (default: by its rows, 16 to 256)"},
    {"vectors-bits", 0, "B", BIT(COMPRESS), BIT(COMPRESS), set_table_bits, 0,
     "bits an element are 0.01 to 32, not", "at most so many an element of a table"},
    {"vectors-recall", 0, "R", BIT(COMPRESS), BIT(COMPRESS), set_table_recall, 0,
     "a recall is above 0 and below 1, not",
     "recall@10 of a table's rows that is reached (default 0.95)"},
    {"include", 0, "GLOB", BIT(COMPRESS), BIT(COMPRESS), set_list, TO(include), NULL,
     "only tensors that match are coded as weights"},
    {"exclude", 0, "GLOB", BIT(COMPRESS), BIT(COMPRESS), set_list, TO(exclude), NULL,
     "tensors that match are coded by zstd; with --lossy, exactly"},
    {"raw", 0, NULL, BIT(COMPRESS), BIT(COMPRESS), set_flag, TO(raw), NULL,
     "take the input as opaque bytes"},
    {"strict", 0, NULL, BIT(COMPRESS), BIT(COMPRESS), set_flag, TO(strict), NULL,
     "an input in which no tensors are found is an error"},
    {"no-verify", 0, NULL, BIT(COMPRESS), BIT(COMPRESS), set_flag, TO(no_verify), NULL,
     "do not decode and compare what was coded"},
    {"name", 'N', NULL, BIT(COMPRESS), BIT(COMPRESS), set_flag, TO(keep_name), NULL,
     "note name, mode and time of the original in the file"},
    {"no-name", 'n', NULL, BIT(COMPRESS), BIT(COMPRESS), set_no_name, 0, NULL,
     "do not (the default): the same tensors make the same bytes"},
    {"base", 0, "BASE", DELTAS, DELTAS, set_list, TO(bases), NULL,
     "a file, or a folder of them, that deltas are made of (may be repeated)"},
    {"base-depth", 0, "N", DELTAS, DELTAS, set_depth, 0, "a depth is a number from 1 to 64, not",
     "deltas that may stand on each other (default 8)"},
    {"from", 0, "FILE", BIT(REBASE), BIT(REBASE), set_list, TO(from), NULL,
     "a base that the deltas have now (may be repeated)"},
    {"index", 0, "end|front", BIT(COMPRESS), BIT(COMPRESS), set_index, TO(index), NULL,
     "in front: for readers of streams and over a network"},
    {"tensor", 0, "NAME", FILES | BIT(CAT) | BIT(VECTORS), FILES | BIT(VECTORS), set_list,
     TO(tensors), NULL, "only this tensor (may be repeated); compress: of a .wcodec file"},
    {"only", 0, "GLOB", FILES, FILES, set_list, TO(only), NULL,
     "only tensors that match (may be repeated)"},
    {"keep-going", 0, NULL, BIT(DECOMPRESS), BIT(DECOMPRESS), set_flag, TO(keep_going), NULL,
     "of a damaged file, write the tensors that are whole"},
    {"no-checksum", 0, NULL, BIT(DECOMPRESS) | BIT(CAT), BIT(DECOMPRESS) | BIT(CAT), set_flag,
     TO(no_checksum), NULL, "do not check tiles and chunks"},
    {"dequantize", 0, "none|f16|bf16|f32", BIT(CONVERT), BIT(CONVERT), set_choice, TO(dequantize),
     NULL, "GGUF's types in blocks as numbers"},
    {"png", 0, "FILE", BIT(REPORT), BIT(REPORT), set_nothing, 0, NULL, "the plots as a picture"},
    {"original", 0, "FILE", BIT(REPORT), BIT(REPORT), set_nothing, 0, NULL,
     "measure lossy tensors on it (once for each MODEL)"},
    {"no-exponents", 0, NULL, BIT(REPORT), BIT(REPORT), set_nothing, 0, NULL,
     "read the index only, decode nothing"},
    {"anchors", 0, "M", BIT(VECTORS), BIT(VECTORS), set_count_of, TO(train.anchors),
     "anchors must be a number from 1 to 4294967294, not",
     "train, compress, add: so many (default 1024; compress, add: fewer for few vectors)"},
    {"schedule", 0, "best|compat", BIT(VECTORS), BIT(VECTORS), set_training, TO(train.schedule),
     NULL, "train: lower energies, or the published steps"},
    {"max-iterations", 0, "N", BIT(VECTORS), BIT(VECTORS), set_most, TO(train.max_iterations),
     "iterations must be a number from 1 to 1000000, not",
     "train: at most (default 100; compat: 1000)"},
    {"seed", 0, "S", BIT(VECTORS), BIT(VECTORS), set_number, TO(train.seed),
     "a seed is a number from 0 to 2^63 - 1, not", "train: of best's random numbers (default 0)"},
    {"reduce", 0, "trimmed|plain", BIT(VECTORS), BIT(VECTORS), set_training, TO(train.reduce), NULL,
     "train, compat: what anchors move to: means without the tenths at both ends, or of all"},
    {"cooling", 0, "C", BIT(VECTORS), BIT(VECTORS), set_part, TO(train.cooling),
     "a part is a number from 0 to 1, not",
     "train, compat: part of the temperature that an iteration takes (default 0.01)"},
    {"step", 0, "E", BIT(VECTORS), BIT(VECTORS), set_part, TO(train.step),
     "a part is a number from 0 to 1, not", "train, compat: part of the way (default 0.1)"},
    {"tolerance", 0, "D", BIT(VECTORS), BIT(VECTORS), set_part, TO(train.tolerance),
     "a tolerance is a number from 0 to 1, not",
     "train, compat: ends when energies differ by less (default 1e-4)"},
    {"min-changes", 0, "N", BIT(VECTORS), BIT(VECTORS), set_number, TO(train.min_changes),
     "changes are a number from 0 on, not",
     "train, compat: and when fewer vectors change their anchors (default 10)"},
    {"maintenance", 0, "N", BIT(VECTORS), BIT(VECTORS), set_number, TO(train.maintenance),
     "iterations are a number from 0 on, not",
     "train, compat: merge and split after so many (default 50; 0: never)"},
    {"queries", 0, "N", BIT(VECTORS), BIT(VECTORS), set_number, TO(queries),
     "queries are a number from 0 on, not",
     "evaluate: vectors to search by (default 100; 0: no recall)"},
    {"nearest", 0, "K", BIT(VECTORS), BIT(VECTORS), set_count_of, TO(nearest),
     "neighbours are a number from 1 on, not",
     "evaluate: K of recall@K; search: so many for each query (default 10)"},
    {"bits", 0, "B", BIT(VECTORS), BIT(VECTORS), set_bits, TO(bits), "bits are 0.5 to 7, not",
     "compress, add: so many a dimension, in place of a recall"},
    {"recall", 0, "R", BIT(VECTORS), BIT(VECTORS), set_recall, TO(recall),
     "a recall is above 0 and below 1, not",
     "compress, add: recall@10 of the vectors that is reached (default 0.95)"},
    {"first-id", 0, "ID", BIT(VECTORS), BIT(VECTORS), set_number, TO(first_id),
     "an id is a number from 0 to 2^63 - 1, not",
     "add: of the first vector (default: the first that was never used); evaluate: of the first row"},
    {"metric", 0, "l2|inner-product|cosine", BIT(VECTORS), BIT(VECTORS), set_training, TO(metric),
     NULL, "search, evaluate: what is near"},
    {"probes", 0, "P", BIT(VECTORS), BIT(VECTORS), set_number, TO(probes),
     "probes are a number from 0 on, not",
     "search, evaluate: anchors of a segment whose vectors are looked at (default 0: all)"},
    {"probes-recall", 0, "R", BIT(VECTORS), BIT(VECTORS), set_probes_recall, TO(probes_recall),
     "a recall is above 0 and below 1, not",
     "search: as few probes as find this part of what all find"},
    {"filter", 0, "FILE", BIT(VECTORS), BIT(VECTORS), set_filter, TO(filter),
     "--filter needs a file with a bit for each id, not",
     "search: only vectors whose bits are set in it, the lowest of a byte first"},
    {"rerank", 0, "FILE[:TENSOR]", BIT(VECTORS), BIT(VECTORS), set_rerank, TO(rerank),
     "--rerank needs a file of the vectors as they were, not",
     "search: of what is found, the nearest by these originals"},
    {"rerank-factor", 0, "N", BIT(VECTORS), BIT(VECTORS), set_rerank_factor, TO(rerank_factor),
     "candidates for each vector that is found are a number from 1 to 1000, not",
     "search: so many candidates for each that is found (default 4)"},
    {"rerank-first-id", 0, "ID", BIT(VECTORS), BIT(VECTORS), set_number, TO(rerank_first_id),
     "an id is a number from 0 to 2^63 - 1, not",
     "search: of the vector whose original is the first row (default 0)"},
    {"json", 0, NULL, REPORTS | FILES | BIT(CONVERT) | BIT(REBASE) | BIT(VECTORS),
     FILES | BIT(BENCH) | BIT(CONVERT) | BIT(REBASE) | BIT(VECTORS), set_flag, TO(json), NULL,
     "as JSON"},
};

bool option_is_coding(const struct option_row *row)
{
    return row->commands == (CODES) || row->set == set_lossy || row->set == set_tables ||
           row->set == set_no_name || (row->set == set_list && row->commands == BIT(COMPRESS)) ||
           (row->set == set_flag && (row->offset == TO(keep_name) || row->offset == TO(raw)));
}

_Static_assert(COUNT(option_table) <= OPTION_ROWS_MAX, "raise OPTION_ROWS_MAX");
const size_t option_count = COUNT(option_table);
