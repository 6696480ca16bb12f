/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "utils/options.h"
#include "utils/option_table.h"
#include "utils/text.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define DIGITS "0123456789"

static const struct {
    const char *name;
    enum command command;
} commands[] = {
    {"compress", COMMAND_COMPRESS}, {"decompress", COMMAND_DECOMPRESS},
    {"list", COMMAND_LIST},         {"info", COMMAND_INFO},
    {"test", COMMAND_TEST},         {"verify", COMMAND_VERIFY},
    {"cat", COMMAND_CAT},           {"convert", COMMAND_CONVERT},
    {"extract", COMMAND_CAT},       {"rebase", COMMAND_REBASE},
    {"vectors", COMMAND_VECTORS},   {"bench", COMMAND_BENCH},
    {"devices", COMMAND_DEVICES},   {"report", COMMAND_REPORT},
    {"help", COMMAND_HELP},         {"version", COMMAND_VERSION},
};

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

/* What getopt_long() returns for row i; letters are found in the table. */
enum { ROW = 256 };

/* bench's -n takes a number, and compress's none. */
static bool letter_applies(const struct option_row *row, bool bench)
{
    return row->letter != 'n' || ((row->commands & 1u << COMMAND_BENCH) != 0) == bench;
}

/* The table as getopt_long() wants it. */
struct getopt_lists {
    struct option longs[OPTION_ROWS_MAX + 1];
    char shorts[2 * OPTION_ROWS_MAX + 24];
};

static void make_lists(struct getopt_lists *lists, bool bench)
{
    struct option *next = lists->longs;
    /* '-' first: operands come in their order, so that a command may stand before, between or after
     * options, POSIXLY_CORRECT or not. ':': errors are ours to print. */
    char *s = lists->shorts + sprintf(lists->shorts, "-:02345678");
    for (size_t i = 0; i < option_count; i++) {
        const struct option_row *row = &option_table[i];
        if (!row->name)
            continue;
        const int kind = !row->argument            ? no_argument
                         : row->argument[0] == '[' ? optional_argument
                                                   : required_argument;
        *next++ = (struct option){row->name, kind, NULL, ROW + (int)i};
        if (row->letter && letter_applies(row, bench))
            s += sprintf(s, "%c%s", row->letter, kind == no_argument ? "" : ":");
    }
    *next = (struct option){NULL, 0, NULL, 0};
}

/* The row of what getopt_long() returned; of a level the one for the fastest. */
static const struct option_row *find_row(int code, bool bench)
{
    if (code >= ROW)
        return &option_table[code - ROW];
    size_t i = 0;
    while (!letter_applies(&option_table[i], bench) ||
           option_table[i].letter != (code >= '0' && code <= '8' ? '1' : code))
        i++;
    return &option_table[i];
}

static bool check_allowed(const bool *seen, enum command command)
{
    for (size_t i = 0; i < option_count; i++) {
        const struct option_row *row = &option_table[i];
        if (!seen[i] || (row->commands & 1u << command))
            continue;
        fprintf(stderr, "wcodec: '%s' takes no %s%s\nTry 'wcodec help %s'.\n",
                command_name(command), option_is_level(row) ? "level" : "option --",
                option_is_level(row) ? "" : row->name, command_name(command));
        return false;
    }
    return true;
}

bool options_are_lossy(const struct options *o)
{
    return o->lossy != WCODEC_LOSSY_NONE || o->tables;
}

static bool check_tables(const struct options *o)
{
    if (!o->tables && (o->table_anchors != 0 || o->table_bits != 0 || o->table_recall != 0))
        return usage_error("--vectors-anchors, --vectors-bits and --vectors-recall need --vectors",
                           NULL);
    if (o->table_bits != 0 && o->table_recall != 0)
        return usage_error("--vectors-bits and --vectors-recall exclude each other", NULL);
    if (o->tables && o->bases.count)
        return usage_error("--vectors and --base exclude each other: deltas are exact", NULL);
    return true;
}

/* What excludes what. Of a report's options the Python package judges. */
static bool check_together(const struct options *o)
{
    if (o->command == COMMAND_REPORT)
        return true;
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
        return usage_error(o->command == COMMAND_COMPRESS || o->command == COMMAND_DECOMPRESS
                               ? "-o takes one input; use -O for several"
                               : "-o takes one input",
                           NULL);
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
    if (o->remove && options_are_lossy(o) && !o->force)
        return usage_error(
            o->tables ? "--rm after --vectors leaves no exact copy: add -f if that is meant"
                      : "--rm after --lossy leaves no exact copy: add -f if that is meant",
            NULL);
    if (o->lossy == WCODEC_LOSSY_NONE && o->lossy_scale != WCODEC_LOSSY_SCALE_TENSOR)
        return usage_error("--lossy-scale needs --lossy", NULL);
    if (o->lossy == WCODEC_LOSSY_ERROR && o->lossy_scale == WCODEC_LOSSY_SCALE_ROW)
        return usage_error(
            "--lossy-scale=row goes with snr and bits: one largest error needs one scale", NULL);
    if (o->raw && options_are_lossy(o))
        return usage_error(o->tables ? "--raw and --vectors exclude each other"
                                     : "--raw and --lossy exclude each other",
                           NULL);
    if (!check_tables(o))
        return false;
    if (o->command == COMMAND_COMPRESS && o->coding && (o->only.count || o->tensors.count))
        return usage_error("--tensor and --only take tensors over as they are coded: no option "
                           "that says how to code goes with them",
                           NULL);
    if (o->raw && o->bases.count)
        return usage_error("--raw and --base exclude each other: deltas are of tensors", NULL);
    if (o->raw && o->strict)
        return usage_error("--raw and --strict exclude each other", NULL);
    return true;
}

/* A file in the place of a command is what zstd and its like take. */
static bool unknown_command(const char *word)
{
    if (access(word, F_OK) != 0)
        return usage_error("no such command:", word);
    const size_t n = strlen(word), end = strlen(".wcodec");
    const bool coded = n > end && strcmp(word + n - end, ".wcodec") == 0;
    char *escaped = text_escape(word);
    fprintf(stderr,
            "wcodec: no such command, but a file: did you mean 'wcodec %s' with '%s'?\n"
            "Try 'wcodec help'.\n",
            coded ? "decompress" : "compress", escaped ? escaped : "");
    free(escaped);
    return false;
}

/* Operands: the command, unless a letter gave it, and files. */
static bool take_operands(struct options *o)
{
    if (o->command == COMMAND_NONE && o->files.count > 0) {
        o->command = command_find(o->files.items[0]);
        if (o->command == COMMAND_NONE)
            return unknown_command(o->files.items[0]);
        o->files.count--;
        memmove(o->files.items, o->files.items + 1, (o->files.count + 1) * sizeof *o->files.items);
    }
    if (o->command == COMMAND_VECTORS && o->files.count > 0) {
        o->subcommand = o->files.items[0];
        o->files.count--;
        memmove(o->files.items, o->files.items + 1, (o->files.count + 1) * sizeof *o->files.items);
    }
    if (o->help && !(o->command == COMMAND_HELP && o->files.count > 0)) {
        o->files.count = 0;
        if (o->command != COMMAND_NONE && !strings_add(&o->files, command_name(o->command)))
            return false;
        o->command = COMMAND_HELP;
    } else if (o->version && o->command != COMMAND_HELP) {
        o->command = COMMAND_VERSION;
        o->files.count = 0;
    }
    return o->command != COMMAND_NONE ||
           usage_error(
               "a command is missing: compress, decompress, list, info, test, verify, cat, convert, rebase, vectors, bench, devices or report",
               NULL);
}

/* What a list of files may have: more is no list of names, and may have no end. */
enum { LIST_BYTES_MAX = 64 << 20, LIST_LINE_MAX = 64 << 10 };

/* What is wrong with a list, of which the bytes from `from` on are new; NULL: nothing. *line is
 * where its last line begins. */
static const char *check_list(const char *text, size_t from, size_t size, size_t *line)
{
    if (memchr(text + from, 0, size - from))
        return "a list of files holds a NUL:";
    for (size_t i = from; i < size; i++) {
        if (text[i] == '\n')
            *line = i + 1;
        else if (i - *line >= LIST_LINE_MAX)
            return "a line of a list of files has more than 64 KiB:";
    }
    return size > LIST_BYTES_MAX ? "a list of files has more than 64 MiB:" : NULL;
}

/* The lines of a file, in memory of the caller's; NULL: *why says it. */
static char *read_lines(FILE *file, const char **why)
{
    size_t size = 0, room = 0, line = 0;
    char *text = NULL;
    *why = NULL;
    do {
        if (room - size < 2) {
            char *larger = realloc(text, room = 2 * room + 4096);
            if (!larger)
                break;
            text = larger;
        }
        const size_t got = fread(text + size, 1, room - size - 1, file);
        *why = check_list(text, size, size + got, &line);
        size += got;
    } while (!*why && !feof(file) && !ferror(file));
    if (!*why && text && feof(file) && !ferror(file)) {
        text[size] = 0;
        return text;
    }
    if (!*why)
        *why = errno ? strerror(errno) : "cannot read a list of files:";
    free(text);
    return NULL;
}

static char *open_lines(const char *path, const char **why)
{
    const bool standard = strcmp(path, "-") == 0;
    errno = 0;
    FILE *file = standard ? stdin : fopen(path, "re");
    if (!file) {
        *why = strerror(errno);
        return NULL;
    }
    char *text = read_lines(file, why);
    if (!standard)
        fclose(file);
    return text;
}

/* More operands, in the order of the lines; empty ones are nothing. */
static bool take_filelist(struct options *o)
{
    const char *why;
    if (!o->filelist)
        return true;
    o->filelist_text = open_lines(o->filelist, &why);
    if (!o->filelist_text)
        return usage_error(why, o->filelist);
    for (char *line = o->filelist_text, *next; line; line = next) {
        next = strchr(line, '\n');
        if (next)
            *next++ = 0;
        const size_t length = strlen(line);
        if (length > 0 && line[length - 1] == '\r')
            line[length - 1] = 0;
        if (*line && !strings_add(&o->files, line))
            return false;
    }
    for (size_t i = 0; i < o->files.count && strcmp(o->filelist, "-") == 0; i++) {
        if (strcmp(o->files.items[i], "-") == 0)
            return usage_error("standard input is the list of files, and cannot be an input too",
                               NULL);
    }
    return o->files.count > 0 || usage_error("there is no name in the list of files", o->filelist);
}

/* How many long options begin as `word` does, and their names, as many as have room. */
static unsigned find_candidates(const char *word, char *names, size_t room)
{
    const size_t length = strcspn(word + 2, "=");
    size_t used = 0;
    unsigned count = 0;
    names[0] = 0;
    for (size_t i = 0; i < option_count; i++) {
        const char *name = option_table[i].name;
        if (!name || strncmp(name, word + 2, length) != 0)
            continue;
        count++;
        if (used + strlen(name) + sizeof ", --" <= room)
            used += (size_t)snprintf(names + used, room - used, "%s--%s", used ? ", " : "", name);
    }
    return count;
}

/* getopt_long() failed at `word`: a long option stands there whole, a letter is in optopt. */
static bool option_error(int code, const char *word)
{
    char names[160], text[256];
    char letter[3] = {'-', (char)optopt, 0};
    bool is_long = strncmp(word, "--", 2) == 0;
    const char *what = code == ':'         ? "a value is missing after"
                       : is_long && optopt ? "no value goes with"
                                           : "there is no such option:";
    if (is_long && code != ':' && !optopt && find_candidates(word, names, sizeof names) > 1) {
        snprintf(text, sizeof text, "several options begin so (%s):", names);
        what = text;
    }
    return usage_error(what, is_long ? word : letter);
}

/* Letters may be bundled, but 19 is meant as one level. */
static bool level_error(const char *word)
{
    char digits[16] = "";
    /* The run that is no level: of more than one digit, or a 0. */
    for (const char *at = word; (at = strpbrk(at, DIGITS)) != NULL; at += strspn(at, DIGITS)) {
        if (strspn(at, DIGITS) == 1 && *at != '0')
            continue;
        snprintf(digits, sizeof digits, "%.*s", (int)strspn(at, DIGITS), at);
        break;
    }
    return usage_error("levels are 1 to 9, not", digits);
}

static bool is_digit(int code)
{
    return code >= '0' && code <= '9';
}

/* Is the first operand bench, where -n takes a number? */
static bool is_bench(int argc, char **argv)
{
    struct getopt_lists lists;
    int code;
    make_lists(&lists, true);
    while ((code = getopt_long(argc, argv, lists.shorts, lists.longs, NULL)) != -1) {
        if (code == 1) {
            const bool bench = command_find(optarg) == COMMAND_BENCH;
            optind = 0; /* begin anew */
            return bench;
        }
    }
    const bool bench = optind < argc && command_find(argv[optind]) == COMMAND_BENCH;
    optind = 0;
    return bench;
}

bool options_parse(int argc, char **argv, struct options *options)
{
    struct getopt_lists lists;
    bool seen[OPTION_ROWS_MAX] = {false};
    const bool bench = is_bench(argc, argv);
    int code, at = 1, level_at = 0; /* the word that the option before, a level, stood in */

    make_lists(&lists, bench);
    *options = (struct options){.command = COMMAND_NONE,
                                .level = 3,
                                .iterations = 5,
                                .queries = UINT64_MAX,
                                .first_id = UINT64_MAX};
    wcodec_vectors_options_init(&options->train);
    for (; (code = getopt_long(argc, argv, lists.shorts, lists.longs, NULL)) != -1; at = optind) {
        if (code == '?' || code == ':')
            return option_error(code, argv[at]);
        if (code == 1) {
            if (!strings_add(&options->files, optarg))
                return false;
            continue;
        }
        if (code == '0' || (is_digit(code) && level_at == at))
            return level_error(argv[at]);
        level_at = is_digit(code) ? at : 0;
        const struct option_row *row = find_row(code, bench);
        if (!row->set(row, optarg, options))
            return row->wrong && usage_error(row->wrong, optarg);
        if (is_digit(code))
            options->level = code - '0';
        seen[row - option_table] = true;
        options->coding |= option_is_coding(row);
    }
    for (int i = optind; i < argc; i++) {
        if (!strings_add(&options->files, argv[i]))
            return false;
    }
    if (!take_operands(options))
        return false;
    if (options->output && strcmp(options->output, "-") == 0) {
        options->output = NULL;
        options->to_stdout = true;
    }
    return options->help || options->version ||
           (check_allowed(seen, options->command) && take_filelist(options) &&
            check_together(options));
}

void options_free(struct options *options)
{
    free(options->bases.items);
    free(options->from.items);
    free(options->files.items);
    free(options->table_names.items);
    free(options->include.items);
    free(options->exclude.items);
    free(options->tensors.items);
    free(options->only.items);
    free(options->filelist_text);
}
