/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "utils/options.h"
#include "utils/text.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Codes of options without a letter. */
enum {
    OPT_RM = 256,
    OPT_NO_PROGRESS,
    OPT_JSON,
    OPT_BACKEND,
    OPT_MEMORY_LIMIT,
    OPT_NO_SYNC,
    OPT_COLOR,
    OPT_TUNE,
    OPT_TILE,
    OPT_PROFILE,
    OPT_PREDICT,
    OPT_LOSSY,
    OPT_LOSSY_SCALE,
    OPT_INCLUDE,
    OPT_EXCLUDE,
    OPT_RAW,
    OPT_STRICT,
    OPT_NO_VERIFY,
    OPT_TENSOR,
    OPT_ONLY,
    OPT_KEEP_GOING,
    OPT_NO_CHECKSUM,
    OPT_XXH128,
    OPT_SLICE,
    OPT_QUICK,
    OPT_SAMPLE
};

#define BIT(c) (1u << COMMAND_##c)
#define ALL ((1u << COMMAND_COUNT) - 1)
#define WRITES (BIT(COMPRESS) | BIT(DECOMPRESS) | BIT(CAT))
#define REPORTS \
    (BIT(LIST) | BIT(INFO) | BIT(TEST) | BIT(VERIFY) | BIT(BENCH) | BIT(DEVICES) | BIT(VERSION))

/* Which commands take which option. */
static const struct {
    int code;
    unsigned commands;
} allowed[] = {
    {'o', WRITES},
    {'O', BIT(COMPRESS) | BIT(DECOMPRESS)},
    {'c', WRITES},
    {'r', BIT(COMPRESS) | BIT(DECOMPRESS) | BIT(TEST) | BIT(VERIFY)},
    {'f', WRITES},
    {'k', BIT(COMPRESS) | BIT(DECOMPRESS)},
    {OPT_RM, BIT(COMPRESS) | BIT(DECOMPRESS)},
    {OPT_NO_SYNC, WRITES},
    {OPT_JSON, REPORTS},
    {'1', BIT(COMPRESS) | BIT(BENCH)},
    {OPT_TUNE, BIT(COMPRESS) | BIT(BENCH)},
    {OPT_TILE, BIT(COMPRESS) | BIT(BENCH)},
    {OPT_PROFILE, BIT(COMPRESS) | BIT(BENCH)},
    {OPT_PREDICT, BIT(COMPRESS) | BIT(BENCH)},
    {OPT_LOSSY, BIT(COMPRESS)},
    {OPT_LOSSY_SCALE, BIT(COMPRESS)},
    {OPT_INCLUDE, BIT(COMPRESS)},
    {OPT_EXCLUDE, BIT(COMPRESS)},
    {OPT_RAW, BIT(COMPRESS)},
    {OPT_STRICT, BIT(COMPRESS)},
    {OPT_NO_VERIFY, BIT(COMPRESS)},
    {OPT_TENSOR, BIT(DECOMPRESS) | BIT(CAT)},
    {OPT_ONLY, BIT(DECOMPRESS)},
    {OPT_KEEP_GOING, BIT(DECOMPRESS)},
    {OPT_NO_CHECKSUM, BIT(DECOMPRESS) | BIT(CAT)},
    {OPT_XXH128, BIT(VERIFY)},
    {OPT_SLICE, BIT(CAT)},
    {OPT_QUICK, BIT(TEST)},
    {'n', BIT(BENCH)},
    {OPT_SAMPLE, BIT(BENCH)},
};

static const struct option long_options[] = {
    {"compress", no_argument, NULL, 'z'},
    {"decompress", no_argument, NULL, 'd'},
    {"list", no_argument, NULL, 'l'},
    {"test", no_argument, NULL, 't'},
    {"output", required_argument, NULL, 'o'},
    {"output-dir", required_argument, NULL, 'O'},
    {"stdout", no_argument, NULL, 'c'},
    {"recursive", no_argument, NULL, 'r'},
    {"force", no_argument, NULL, 'f'},
    {"keep", no_argument, NULL, 'k'},
    {"rm", no_argument, NULL, OPT_RM},
    {"quiet", no_argument, NULL, 'q'},
    {"verbose", no_argument, NULL, 'v'},
    {"no-progress", no_argument, NULL, OPT_NO_PROGRESS},
    {"json", no_argument, NULL, OPT_JSON},
    {"threads", required_argument, NULL, 'T'},
    {"backend", required_argument, NULL, OPT_BACKEND},
    {"memory-limit", required_argument, NULL, OPT_MEMORY_LIMIT},
    {"no-sync", no_argument, NULL, OPT_NO_SYNC},
    {"color", optional_argument, NULL, OPT_COLOR},
    {"version", no_argument, NULL, 'V'},
    {"help", no_argument, NULL, 'h'},
    {"fast", no_argument, NULL, '1'},
    {"best", no_argument, NULL, '9'},
    {"tune", required_argument, NULL, OPT_TUNE},
    {"tile", required_argument, NULL, OPT_TILE},
    {"profile", required_argument, NULL, OPT_PROFILE},
    {"predict", required_argument, NULL, OPT_PREDICT},
    {"lossy", required_argument, NULL, OPT_LOSSY},
    {"lossy-scale", required_argument, NULL, OPT_LOSSY_SCALE},
    {"include", required_argument, NULL, OPT_INCLUDE},
    {"exclude", required_argument, NULL, OPT_EXCLUDE},
    {"raw", no_argument, NULL, OPT_RAW},
    {"strict", no_argument, NULL, OPT_STRICT},
    {"no-verify", no_argument, NULL, OPT_NO_VERIFY},
    {"tensor", required_argument, NULL, OPT_TENSOR},
    {"only", required_argument, NULL, OPT_ONLY},
    {"keep-going", no_argument, NULL, OPT_KEEP_GOING},
    {"no-checksum", no_argument, NULL, OPT_NO_CHECKSUM},
    {"xxh128", required_argument, NULL, OPT_XXH128},
    {"slice", required_argument, NULL, OPT_SLICE},
    {"quick", no_argument, NULL, OPT_QUICK},
    {"iterations", required_argument, NULL, 'n'},
    {"sample", required_argument, NULL, OPT_SAMPLE},
    {NULL, 0, NULL, 0},
};

/* '-' first: operands come in their order, so that a command may stand before, between or after
 * options, POSIXLY_CORRECT or not. ':': errors are ours to print.
 */
static const char short_options[] = "-:zdlto:O:crfkqvT:Vh123456789n:";

static const struct {
    const char *name;
    enum command command;
} commands[] = {
    {"compress", COMMAND_COMPRESS}, {"decompress", COMMAND_DECOMPRESS},
    {"list", COMMAND_LIST},         {"info", COMMAND_INFO},
    {"test", COMMAND_TEST},         {"verify", COMMAND_VERIFY},
    {"cat", COMMAND_CAT},           {"extract", COMMAND_CAT},
    {"bench", COMMAND_BENCH},       {"devices", COMMAND_DEVICES},
    {"help", COMMAND_HELP},         {"version", COMMAND_VERSION},
};

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

const char *command_name(enum command command)
{
    for (size_t i = 0; i < COUNT(commands); i++) {
        if (commands[i].command == command)
            return commands[i].name;
    }
    return "wcodec";
}

enum command command_find(const char *name)
{
    for (size_t i = 0; i < COUNT(commands); i++) {
        if (strcmp(commands[i].name, name) == 0)
            return commands[i].command;
    }
    return COMMAND_NONE;
}

static bool usage_error(const char *text, const char *detail)
{
    char *escaped = detail ? text_escape(detail) : NULL;
    fprintf(stderr, "wcodec: %s%s%s%s\nTry 'wcodec help'.\n", text, detail ? " '" : "",
            escaped ? escaped : "", detail ? "'" : "");
    free(escaped);
    return false;
}

static bool strings_add(struct strings *list, const char *item)
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

/* A decimal number without sign, space or anything behind it. */
static bool number_parse(const char *text, uint64_t max, uint64_t *number)
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

static bool slice_parse(const char *text, struct options *o)
{
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

static bool tile_parse(const char *text, unsigned *tile_log2)
{
    uint64_t n;
    if (!size_parse(text, &n))
        return false;
    for (unsigned t = 12; t <= 16; t++) {
        if (n == UINT64_C(1) << t) {
            *tile_log2 = t;
            return true;
        }
    }
    return false;
}

/* The index of `text` in a list of names that ends with NULL; -1 if it is none. */
static int choice_parse(const char *text, const char *const *names)
{
    for (int i = 0; names[i]; i++) {
        if (strcmp(text, names[i]) == 0)
            return i;
    }
    return -1;
}

static bool set_choice(int code, const char *text, struct options *o)
{
    static const char *const tunes[] = {"size", "latency", NULL};
    static const char *const profiles[] = {"auto", "pairs", "p12", "p8", NULL};
    static const char *const predictors[] = {"auto",   "none",  "left", "top", "average",
                                             "planar", "paeth", "wht",  NULL};
    static const char *const scales[] = {"tensor", "row", NULL};
    static const char *const colors[] = {"auto", "always", "never", NULL};
    int i = choice_parse(text, code == OPT_TUNE          ? tunes
                               : code == OPT_PROFILE     ? profiles
                               : code == OPT_PREDICT     ? predictors
                               : code == OPT_LOSSY_SCALE ? scales
                                                         : colors);
    if (i < 0)
        return false;
    if (code == OPT_TUNE)
        o->tune = (wcodec_tune)i;
    else if (code == OPT_PROFILE)
        o->profile = (wcodec_profile)i;
    else if (code == OPT_PREDICT)
        o->predict = (wcodec_predict)i;
    else if (code == OPT_LOSSY_SCALE)
        o->lossy_scale = (wcodec_lossy_scaling)i;
    else
        o->color = (enum color)i;
    return true;
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

static bool lossy_parse(const char *text, struct options *o)
{
    static const struct {
        const char *name;
        wcodec_lossy_target target;
        double least, most;
    } targets[] = {{"snr:", WCODEC_LOSSY_SNR, 0, 200},
                   {"error:", WCODEC_LOSSY_ERROR, 0x1p-126, 0x1p126},
                   {"bits:", WCODEC_LOSSY_BITS, 0.01, 32}};
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

/* Options whose argument must be understood. */
static bool set_value(int code, const char *text, struct options *o)
{
    uint64_t n;
    bool good;
    const char *what;
    switch (code) {
    case 'T':
        what = "threads must be a number from 0 (all cores) to 4096, not";
        good = number_parse(text, 4096, &n);
        if (good)
            o->threads = (unsigned)n;
        break;
    case 'n':
        what = "iterations must be a number from 1 to 1000000, not";
        good = number_parse(text, 1000000, &n) && n > 0;
        if (good)
            o->iterations = (unsigned)n;
        break;
    case OPT_MEMORY_LIMIT:
        what = "not a size (such as 512MiB or 2GiB):";
        good = size_parse(text, &o->memory_limit);
        break;
    case OPT_SAMPLE:
        what = "not a size (such as 512MiB or 2GiB):";
        good = size_parse(text, &o->sample);
        break;
    case OPT_TILE:
        what = "a tile has 4096, 8192, 16384, 32768 or 65536 elements, not";
        good = tile_parse(text, &o->tile_log2);
        break;
    case OPT_SLICE:
        what = "a slice is FIRST:END, rows counted from 0 and END not included, not";
        good = slice_parse(text, o);
        break;
    case OPT_TUNE:
        what = "--tune is size or latency, not";
        good = set_choice(code, text, o);
        break;
    case OPT_PROFILE:
        what = "--profile is auto, pairs, p12 or p8, not";
        good = set_choice(code, text, o);
        break;
    case OPT_PREDICT:
        what = "--predict is auto, none, left, top, average, planar, paeth or wht, not";
        good = set_choice(code, text, o);
        break;
    case OPT_LOSSY:
        what =
            "--lossy is none, snr:DB (0 to 200), error:E (the largest, 1.2e-38 to 8.5e37) or bits:B (an element, 0.01 to 32), not";
        good = lossy_parse(text, o);
        break;
    case OPT_LOSSY_SCALE:
        what = "--lossy-scale is tensor or row, not";
        good = set_choice(code, text, o);
        break;
    default:
        what = "--color is auto, always or never, not";
        good = set_choice(code, text, o);
        break;
    }
    return good || usage_error(what, text);
}

static bool set_flag(int code, struct options *o)
{
    switch (code) {
    case 'c':
        o->to_stdout = true;
        break;
    case 'r':
        o->recursive = true;
        break;
    case 'f':
        o->force = true;
        break;
    case 'k':
        o->remove = false;
        break;
    case 'q':
        o->quiet++;
        break;
    case 'v':
        o->verbose++;
        break;
    case OPT_RM:
        o->remove = true;
        break;
    case OPT_NO_PROGRESS:
        o->no_progress = true;
        break;
    case OPT_JSON:
        o->json = true;
        break;
    case OPT_NO_SYNC:
        o->no_sync = true;
        break;
    case OPT_RAW:
        o->raw = true;
        break;
    case OPT_STRICT:
        o->strict = true;
        break;
    case OPT_NO_VERIFY:
        o->no_verify = true;
        break;
    case OPT_KEEP_GOING:
        o->keep_going = true;
        break;
    case OPT_NO_CHECKSUM:
        o->no_checksum = true;
        break;
    case OPT_QUICK:
        o->quick = true;
        break;
    default:
        return false;
    }
    return true;
}

static bool set_option(int code, const char *text, struct options *o)
{
    switch (code) {
    case 'o':
        o->output = text;
        return true;
    case 'O':
        o->output_dir = text;
        return true;
    case OPT_BACKEND:
        o->backend = text;
        return true;
    case OPT_XXH128:
        o->xxh128 = text;
        return true;
    case OPT_INCLUDE:
        return strings_add(&o->include, text);
    case OPT_EXCLUDE:
        return strings_add(&o->exclude, text);
    case OPT_TENSOR:
        return strings_add(&o->tensors, text);
    case OPT_ONLY:
        return strings_add(&o->only, text);
    case OPT_COLOR:
        return set_value(code, text ? text : "always", o);
    default:
        if (code >= '1' && code <= '9') {
            o->level = code - '0';
            return true;
        }
        return set_flag(code, o) || set_value(code, text, o);
    }
}

/* The command that a letter stands for. */
static enum command command_of_letter(int code)
{
    switch (code) {
    case 'z':
        return COMMAND_COMPRESS;
    case 'd':
        return COMMAND_DECOMPRESS;
    case 'l':
        return COMMAND_LIST;
    case 't':
        return COMMAND_TEST;
    default:
        return COMMAND_NONE;
    }
}

static bool check_allowed(const unsigned char *seen, enum command command)
{
    for (size_t i = 0; i < COUNT(allowed); i++) {
        int code = allowed[i].code;
        if (!seen[code] || (allowed[i].commands & 1u << command))
            continue;
        fprintf(stderr, "wcodec: '%s' takes no ", command_name(command));
        const char *name = NULL;
        for (const struct option *o = long_options; o->name && !name; o++)
            name = o->val == code ? o->name : NULL;
        if (code == '1')
            fputs("level\n", stderr);
        else
            fprintf(stderr, "option --%s\n", name ? name : "?");
        fprintf(stderr, "Try 'wcodec help %s'.\n", command_name(command));
        return false;
    }
    return true;
}

/* What excludes what. */
static bool check_together(const struct options *o)
{
    for (size_t i = 0; i < o->files.count; i++) {
        if (!*o->files.items[i])
            return usage_error("a file's name is empty", NULL);
    }
    if ((o->output && !*o->output) || (o->output_dir && !*o->output_dir))
        return usage_error("the output's name is empty", NULL);
    if (o->output && o->output_dir)
        return usage_error("-o and -O exclude each other", NULL);
    if (o->to_stdout && (o->output || o->output_dir))
        return usage_error("-c and -o or -O exclude each other", NULL);
    if (o->output && o->files.count > 1)
        return usage_error("-o takes one input; use -O for several", NULL);
    if (o->remove && o->to_stdout)
        return usage_error("--rm removes nothing after output to standard output", NULL);
    if (o->remove && o->no_checksum)
        return usage_error("--rm needs the checks that --no-checksum leaves out", NULL);
    if (o->remove && o->no_verify)
        return usage_error("--rm needs the verification that --no-verify leaves out", NULL);
    if (o->remove && o->no_sync)
        return usage_error("--rm needs the output on the disk, which --no-sync leaves out", NULL);
    if (o->remove && (o->tensors.count || o->only.count || o->keep_going))
        return usage_error("--rm is for whole files, not with --tensor, --only or --keep-going",
                           NULL);
    if (o->remove && o->lossy != WCODEC_LOSSY_NONE && !o->force)
        return usage_error("--rm after --lossy leaves no exact copy: add -f if that is meant",
                           NULL);
    if (o->lossy == WCODEC_LOSSY_NONE && o->lossy_scale != WCODEC_LOSSY_SCALE_TENSOR)
        return usage_error("--lossy-scale needs --lossy", NULL);
    if (o->lossy == WCODEC_LOSSY_ERROR && o->lossy_scale == WCODEC_LOSSY_SCALE_ROW)
        return usage_error(
            "--lossy-scale=row goes with snr and bits: one largest error needs one scale", NULL);
    if (o->raw && o->lossy != WCODEC_LOSSY_NONE)
        return usage_error("--raw and --lossy exclude each other", NULL);
    if (o->raw && o->strict)
        return usage_error("--raw and --strict exclude each other", NULL);
    return true;
}

/* Operands: the command, unless a letter gave it, and files. */
static bool take_operands(struct options *o, enum command by_letter, bool help, bool version)
{
    if (by_letter == COMMAND_NONE && o->files.count > 0) {
        o->command = command_find(o->files.items[0]);
        if (o->command == COMMAND_NONE)
            return usage_error("no such command:", o->files.items[0]);
        o->files.count--;
        memmove(o->files.items, o->files.items + 1, (o->files.count + 1) * sizeof *o->files.items);
    } else {
        o->command = by_letter;
    }
    if (help && !(o->command == COMMAND_HELP && o->files.count > 0)) {
        o->files.count = 0;
        if (o->command != COMMAND_NONE && !strings_add(&o->files, command_name(o->command)))
            return false;
        o->command = COMMAND_HELP;
    } else if (version && o->command != COMMAND_HELP) {
        o->command = COMMAND_VERSION;
        o->files.count = 0;
    }
    return o->command != COMMAND_NONE ||
           usage_error(
               "a command is missing: compress, decompress, list, info, test, verify, cat, bench or devices",
               NULL);
}

/* getopt_long() failed at `word`: a long option stands there whole, a letter is in optopt. */
static bool option_error(int code, const char *word)
{
    char letter[3] = {'-', (char)optopt, 0};
    bool is_long = strncmp(word, "--", 2) == 0;
    const char *what = code == ':'         ? "a value is missing behind"
                       : is_long && optopt ? "no value goes with"
                       : is_long           ? "there is no such option, or several begin so:"
                                           : "there is no such option:";
    return usage_error(what, is_long ? word : letter);
}

bool options_parse(int argc, char **argv, struct options *options)
{
    unsigned char seen[512] = {0};
    enum command by_letter = COMMAND_NONE;
    bool help = false, version = false;
    int code, at = optind;

    *options = (struct options){.command = COMMAND_NONE, .level = 3, .iterations = 5};
    for (; (code = getopt_long(argc, argv, short_options, long_options, NULL)) != -1; at = optind) {
        enum command letter = command_of_letter(code);
        if (code == '?' || code == ':')
            return option_error(code, argv[at]);
        if (letter != COMMAND_NONE && by_letter != COMMAND_NONE && by_letter != letter)
            return usage_error("-z, -d, -l and -t exclude each other", NULL);
        if (letter != COMMAND_NONE)
            by_letter = letter;
        else if (code == 1 ? !strings_add(&options->files, optarg)
                           : code != 'h' && code != 'V' && !set_option(code, optarg, options))
            return false;
        help |= code == 'h';
        version |= code == 'V';
        seen[code >= '1' && code <= '9' ? '1' : code] = 1;
    }
    for (int i = optind; i < argc; i++) {
        if (!strings_add(&options->files, argv[i]))
            return false;
    }
    if (!take_operands(options, by_letter, help, version))
        return false;
    if (options->output && strcmp(options->output, "-") == 0) {
        options->output = NULL;
        options->to_stdout = true;
    }
    return help || version || (check_allowed(seen, options->command) && check_together(options));
}

void options_free(struct options *options)
{
    free(options->files.items);
    free(options->include.items);
    free(options->exclude.items);
    free(options->tensors.items);
    free(options->only.items);
}
