/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* wcodec help and version. */
#include "utils/app.h"
#include "utils/json.h"
#include "utils/option_table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char general[] =
    "Usage: wcodec COMMAND [OPTIONS] [--] FILE|DIR...\n"
    "Lossless compression of neural-network weights (safetensors).\n"
    "\n"
    "Commands:\n"
    "  compress   (-z)  FILE|DIR|-       to FILE.wcodec, or a mirror DIR.wcodec/\n"
    "  decompress (-d)  FILE.wcodec|DIR|-  to the original, byte for byte\n"
    "  list       (-l)  FILE...          one line a tensor\n"
    "  info             FILE...          how each tensor is coded, and totals\n"
    "  test       (-t)  FILE|DIR...      decode all, check all sums\n"
    "  verify           FILE.wcodec ORIGINAL   compare bit for bit\n"
    "  cat, extract     FILE --tensor NAME     one tensor\n"
    "  convert          FILE             any file of tensors to FILE.safetensors\n"
    "  rebase           DELTA -o OUT     a file of deltas without, or onto another --base\n"
    "  vectors          train|compress|search|...    rows as anchors, indices and residuals\n"
    "  bench            FILE...          rates and ratios beside zstd and lz4\n"
    "  devices                           backends and devices\n"
    "  report           MODEL...         a page of charts, by the Python package\n"
    "  help [COMMAND], version           a command's own options; the version\n"
    "\n"
    "Common options:\n";

static const char general_end[] =
    "\n"
    "Exit codes: 0 done, 1 failed, 2 wrong usage, 3 damaged input or a difference,\n"
    "4 the backend asked for cannot be used.\n";

/* What a command's help begins with; its options follow, from the table. */
static const char *const texts[COMMAND_COUNT] = {
    [COMMAND_COMPRESS] =
        ("Usage: wcodec compress [OPTIONS] [--] FILE|DIR|-...\n"
         "FILE becomes FILE.wcodec; a directory DIR becomes DIR.wcodec/ with its\n"
         ".safetensors files and weights of PyTorch (*model*.bin) compressed and its\n"
         "other files copied; standard input goes to standard output. What is up to date is left as it is (not with --lossy).\n"),
    [COMMAND_DECOMPRESS] = ("Usage: wcodec decompress [OPTIONS] [--] FILE.wcodec|DIR|-...\n"
                            "FILE.wcodec becomes FILE, as it was; DIR.wcodec/ becomes DIR/.\n"),
    [COMMAND_LIST] = ("Usage: wcodec list [--json] [--] FILE|DIR|-...\n"
                      "One line a tensor: name, dtype, shape, bytes, coded bytes, ratio (coded to\n"
                      "original), coding, XXH3-64 of the coded bytes.\n"),
    [COMMAND_INFO] =
        ("Usage: wcodec info [--json] [--] FILE|DIR|-...\n"
         "What a file is; for each tensor its coding, split of the bits, tile, tables (and\n"
         "run), bits an element, order-0 bound, ratio; totals.\n"),
    [COMMAND_TEST] = ("Usage: wcodec test [--quick] [-r] [--json] [--] FILE|DIR|-...\n"
                      "Decodes everything and checks every sum.\n"),
    [COMMAND_VERIFY] = ("Usage: wcodec verify [--json] [--] FILE.wcodec ORIGINAL\n"
                        "       wcodec verify [--json] [-r] [--] DIR.wcodec DIR\n"
                        "       wcodec verify [--json] --xxh128=HEX [--] FILE.wcodec\n"
                        "Compares bit for bit and names the first difference.\n"),
    [COMMAND_CAT] =
        ("Usage: wcodec cat --tensor=NAME [--slice=FIRST:END] [-o OUT] [--] FILE|DIR|-\n"
         "One tensor as raw little-endian bytes, or as a .safetensors file if OUT ends so.\n"),
    [COMMAND_CONVERT] =
        ("Usage: wcodec convert [OPTIONS] [--] FILE|-...\n"
         "       wcodec convert [OPTIONS] -o OUT [--] DIR\n"
         "A safetensors file of the tensors of a NumPy, PyTorch, GGUF or ONNX file, or of a\n"
         ".wcodec file of one: NAME.safetensors beside it. A folder is mirrored: its other\n"
         "files are copied.\n"),
    [COMMAND_REBASE] =
        ("Usage: wcodec rebase [--from=OLD] -o OUT [--] DELTA.wcodec|DIR\n"
         "       wcodec rebase --base=NEW [--from=OLD] -o OUT [--] FILE.wcodec|DIR\n"
         "The same file without deltas, or as deltas of NEW; the original is not needed. It is\n"
         "decoded by OLD, or by what is in its folder, and coded by the options it was made with.\n"
         "A folder is mirrored: what is no .wcodec file, or holds no deltas, is copied.\n"),
    [COMMAND_VECTORS] =
        ("Usage: wcodec vectors train [OPTIONS] -o NAME [--] FILE|-\n"
         "       wcodec vectors info [--json] [--] NAME\n"
         "       wcodec vectors evaluate [OPTIONS] [--] NAME|STORE FILE|-\n"
         "       wcodec vectors export -o OUT.safetensors [--] NAME|FILE.wcodec\n"
         "       wcodec vectors compress [OPTIONS] -o OUT.wcodec [--] FILE|-\n"
         "       wcodec vectors add [OPTIONS] [--] STORE FILE|-\n"
         "       wcodec vectors remove [--] STORE ID...\n"
         "       wcodec vectors search [OPTIONS] [--] STORE|FILE.wcodec QUERIES|-\n"
         "Clusters the rows of a tensor [n, d] and keeps, as NAME.idx, NAME.anchors.bin and\n"
         "NAME.assign.bin, the anchors and the number of one for each row; says what such a\n"
         "set has, and how well it stands for the rows; copies it to a safetensors file.\n"
         "Compresses rows with residuals, to a file or to a store, which is a folder, removes\n"
         "them from it, and searches the nearest in what is compressed.\n"),
    [COMMAND_BENCH] =
        ("Usage: wcodec bench [OPTIONS] [--] FILE...\n"
         "       wcodec bench --recurrent [OPTIONS]\n"
         "Rates (GB of tensor bytes a second) and ratios for each dtype in the files, beside\n"
         "memcpy, zstd and lz4, from memory to memory. Others run on one thread, wcodec on one\n"
         "and on all. encode-verify also decodes and compares, as compress does; decode-nocheck\n"
         "leaves out the checks of tiles. BITS is what an element takes, BOUND what it would by\n"
         "the entropy of its fields alone. With --recurrent: microseconds that ensembles take to\n"
         "be opened from coded weights and rolled out, units to be run over sequences, training\n"
         "states to become features; and the memory of ensembles, said beforehand and measured.\n"),
    [COMMAND_DEVICES] =
        ("Usage: wcodec devices [-v] [--json]\n"
         "Backends and devices, and why one cannot be used; -v adds the plugins' files.\n"),
    [COMMAND_REPORT] =
        ("Usage: python3 -m wcodec report [OPTIONS] [--] MODEL... -o REPORT.html\n"
         "A page that shows how each tensor is coded; two models are compared. wcodec's Python\n"
         "package makes it, installed with its extra \"report\".\n"),
    [COMMAND_HELP] = ("Usage: wcodec help [COMMAND]\n"),
    [COMMAND_VERSION] = ("Usage: wcodec version [--json]\n"),
};

/* Options that the help of a command describes in other words. */
static const struct {
    enum command command;
    const char *name, *argument, *help;
} in_other_words[] = {
    {COMMAND_CAT, "output", "OUT", "instead of standard output"},
    {COMMAND_CAT, "stdout", NULL, "to standard output, as without -o"},
    {COMMAND_CAT, "force", NULL, "replace OUT; write to a terminal"},
    {COMMAND_CONVERT, "output", "OUT", "the safetensors file; - is as -c"},
    {COMMAND_REBASE, "output", "OUT", "the output; - is as -c"},
    {COMMAND_REBASE, "base", "NEW",
     "the file, or folder of them, to make deltas of (may be repeated)"},
    {COMMAND_VECTORS, "output", "NAME", "of the three files, the safetensors file or the segment"},
    {COMMAND_VECTORS, "force", NULL, "replace outputs"},
    {COMMAND_VECTORS, "tensor", "NAME", "the tensor of the vectors, where there are several"},
    {COMMAND_VECTORS, "json", NULL, "train: a line of JSON an iteration; search: a query"},
    {COMMAND_REPORT, "output", "FILE", "the page; - stands for standard output"},
    {COMMAND_REPORT, "force", NULL, "replace outputs"},
};

static void print_option(const struct option_row *row, enum command command)
{
    const char *argument = row->argument, *help = row->help;
    for (size_t i = 0; row->name && i < sizeof in_other_words / sizeof *in_other_words; i++) {
        if (in_other_words[i].command == command &&
            strcmp(in_other_words[i].name, row->name) == 0) {
            argument = in_other_words[i].argument;
            help = in_other_words[i].help;
        }
    }
    if (!row->name) {
        puts(help);
        return;
    }
    const char letter[] = {'-', row->letter, ',', '\0'};
    const int width = printf("  %3s --%s%s%s", row->letter ? letter : "", row->name,
                             argument && argument[0] != '[' ? "=" : "", argument ? argument : "");
    printf("%*s%s\n", width <= 22 ? 24 - width : 3, "", help);
}

void command_help(struct app *app)
{
    const struct options *o = &app->options;
    if (o->files.count == 0) {
        fputs(general, stdout);
        for (size_t i = 0; i < option_count; i++)
            if (option_table[i].commands == COMMAND_ALL && option_table[i].help)
                print_option(&option_table[i], COMMAND_NONE);
        fputs(general_end, stdout);
        return;
    }
    const enum command command = command_find(o->files.items[0]);
    if (command == COMMAND_NONE) {
        app_fail(app, EXIT_USAGE, "no such command: '%s'", o->files.items[0]);
        return;
    }
    fputs(texts[command], stdout);
    bool first = true;
    for (size_t i = 0; i < option_count; i++) {
        if (!(option_table[i].listed & 1u << command))
            continue;
        fputs(first ? "\n" : "", stdout);
        print_option(&option_table[i], command);
        first = false;
    }
    puts("\nFor the options that all commands take: wcodec help");
}

void command_version(struct app *app)
{
    if (!app->options.json) {
        printf("wcodec %s\n", wcodec_version_string());
        return;
    }
    json_t *version =
        json_pack("{s:s, s:s, s:i}", "schema", "wcodec/1", "version", wcodec_version_string(),
                  "version_number", (int)wcodec_version_number());
    char *text = json_render(app, version);
    if (text)
        puts(text);
    free(text);
}
