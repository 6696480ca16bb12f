/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* wcodec help and version. */
#include "utils/app.h"
#include "utils/json.h"

#include <stdio.h>
#include <stdlib.h>

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
    "  bench            FILE...          rates and ratios beside zstd and lz4\n"
    "  devices                           backends and devices\n"
    "  help [COMMAND], version           a command's own options; the version\n"
    "\n"
    "Common options:\n"
    "  -T, --threads=N       worker threads (0: one a core)\n"
    "      --backend=NAME    auto, cpu, cuda, opencl, or one of these with :DEVICE\n"
    "      --memory-limit=SIZE  refuse what takes more memory (512MiB, 2GiB)\n"
    "  -q, --quiet           no notes and no progress; -qq: no warnings either\n"
    "  -v, --verbose         say more; -vv: even more\n"
    "      --no-progress     no progress bar (there is one only on a terminal)\n"
    "      --color[=WHEN]    auto, always or never\n"
    "  -h, --help            help, also after a command\n"
    "  -V, --version         the version\n"
    "\n"
    "Exit codes: 0 done, 1 failed, 2 wrong usage, 3 damaged input or a difference,\n"
    "4 the backend asked for cannot be used.\n";

#define OUTPUT_OPTIONS \
    "  -o, --output=FILE     the output, a directory for a directory; - is as -c\n" \
    "  -O, --output-dir=DIR  put outputs there\n" \
    "  -c, --stdout          write to standard output\n" \
    "  -r, --recursive       go into directories below a directory\n" \
    "  -f, --force           replace outputs; write to devices and terminals\n" \
    "  -k, --keep            keep the input (the default)\n" \
    "      --rm              remove the input after the output is on the disk\n" \
    "      --no-sync         do not wait for the disk\n"

static const char *const texts[COMMAND_COUNT] = {
    [COMMAND_COMPRESS] =
        ("Usage: wcodec compress [OPTIONS] [--] FILE|DIR|-...\n"
         "FILE becomes FILE.wcodec; a directory DIR becomes DIR.wcodec/ with its\n"
         ".safetensors files compressed and its other files copied; standard input goes\n"
         "to standard output. What is up to date is left as it is (not with --lossy).\n"
         "\n" OUTPUT_OPTIONS
         "  -1 ... -9             fast to small (default 3); --fast is -1, --best is -9\n"
         "      --tune=size|latency   tiles for size, or small ones for a single tensor\n"
         "      --tile=N          elements of a tile: 4096 to 65536, a power of two\n"
         "      --profile=auto|pairs|p12|p8   prefer one\n"
         "      --predict=auto|none|left|top|average|planar|paeth|wht   from neighbours\n"
         "      --lossy=none|snr:DB|error:E|bits:B   approximate bf16, f16 and f32 tensors\n"
         "      --lossy-scale=tensor|row   one step for a tensor, or one for each row\n"
         "      --include=GLOB    only tensors that match are coded as weights\n"
         "      --exclude=GLOB    tensors that match are coded by zstd; with --lossy, exactly\n"
         "      --raw             take the input as opaque bytes\n"
         "      --strict          an input that is no valid safetensors file is an error\n"
         "      --no-verify       do not decode and compare what was coded\n"),
    [COMMAND_DECOMPRESS] =
        ("Usage: wcodec decompress [OPTIONS] [--] FILE.wcodec|DIR|-...\n"
         "FILE.wcodec becomes FILE, as it was; DIR.wcodec/ becomes DIR/.\n"
         "\n" OUTPUT_OPTIONS
         "      --tensor=NAME     only this tensor (may be repeated), as .safetensors\n"
         "      --only=GLOB       only tensors that match (may be repeated)\n"
         "      --keep-going      of a damaged file, write the tensors that are whole\n"
         "      --no-checksum     do not check tiles and chunks\n"),
    [COMMAND_LIST] = ("Usage: wcodec list [--json] [--] FILE|DIR|-...\n"
                      "One line a tensor: name, dtype, shape, bytes, coded bytes, ratio (coded to\n"
                      "original), coding, XXH3-64 of the coded bytes.\n"),
    [COMMAND_INFO] =
        ("Usage: wcodec info [--json] [--] FILE|DIR|-...\n"
         "What a file is; for each tensor its coding, split of the bits, tile, tables (and\n"
         "run), bits an element, order-0 bound, ratio; totals.\n"),
    [COMMAND_TEST] = ("Usage: wcodec test [--quick] [-r] [--json] [--] FILE|DIR|-...\n"
                      "Decodes everything and checks every sum.\n"
                      "\n"
                      "      --quick           structure and index only\n"
                      "      --backend=all     on every device, one after the other\n"
                      "  -r, --recursive       go into directories below a directory\n"),
    [COMMAND_VERIFY] = ("Usage: wcodec verify [--json] [--] FILE.wcodec ORIGINAL\n"
                        "       wcodec verify [--json] [-r] [--] DIR.wcodec DIR\n"
                        "       wcodec verify [--json] --xxh128=HEX [--] FILE.wcodec\n"
                        "Compares bit for bit and names the first difference.\n"
                        "\n"
                        "      --xxh128=HEX      with the XXH3-128 of the original, in its place\n"
                        "  -r, --recursive       go into directories below a directory\n"),
    [COMMAND_CAT] =
        ("Usage: wcodec cat --tensor=NAME [--slice=FIRST:END] [-o OUT] [--] FILE|DIR|-\n"
         "One tensor as raw little-endian bytes, or as a .safetensors file if OUT ends so.\n"
         "\n"
         "      --slice=A:B       rows A to B - 1 of the first dimension; either may be left out\n"
         "  -o, --output=OUT      instead of standard output\n"
         "  -c, --stdout          to standard output, as without -o\n"
         "  -f, --force           replace OUT; write to a terminal\n"
         "      --no-checksum     do not check tiles and chunks\n"
         "      --no-sync         do not wait for the disk\n"),
    [COMMAND_BENCH] =
        ("Usage: wcodec bench [OPTIONS] [--] FILE...\n"
         "Rates (GB of tensor bytes a second) and ratios for each dtype in the files, beside\n"
         "memcpy, zstd and lz4, from memory to memory. Others run on one thread, wcodec on one\n"
         "and on all.\n"
         "\n"
         "  -n, --iterations=N    runs of each, of which the median counts (default 5)\n"
         "      --sample=SIZE     at most that much of each dtype\n"
         "      --backend=all     decode on every backend\n"
         "  -1 ... -9, --fast, --best, --tune, --tile, --profile, --predict   as for compress\n"
         "      --json            as JSON\n"),
    [COMMAND_DEVICES] =
        ("Usage: wcodec devices [-v] [--json]\n"
         "Backends and devices, and why one cannot be used; -v adds the plugins' files.\n"),
    [COMMAND_HELP] = ("Usage: wcodec help [COMMAND]\n"),
    [COMMAND_VERSION] = ("Usage: wcodec version [--json]\n"),
};

void command_help(struct app *app)
{
    const struct options *o = &app->options;
    if (o->files.count == 0) {
        fputs(general, stdout);
        return;
    }
    enum command command = command_find(o->files.items[0]);
    if (command == COMMAND_NONE)
        app_fail(app, EXIT_USAGE, "no such command: '%s'", o->files.items[0]);
    else
        printf("%s\nFor the options that all commands take: wcodec help\n", texts[command]);
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
