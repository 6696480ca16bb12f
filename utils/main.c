/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The wcodec command: parses the command line, runs one subcommand and ends with its exit code. */
#include "utils/app.h"
#include "utils/process.h"
#include "utils/sandbox.h"
#include "utils/signals.h"

static void (*const run_command[COMMAND_COUNT])(struct app *) = {
    [COMMAND_COMPRESS] = command_compress, [COMMAND_DECOMPRESS] = command_decompress,
    [COMMAND_LIST] = command_list,         [COMMAND_INFO] = command_info,
    [COMMAND_TEST] = command_test,         [COMMAND_VERIFY] = command_verify,
    [COMMAND_CAT] = command_cat,           [COMMAND_CONVERT] = command_convert,
    [COMMAND_REBASE] = command_rebase,     [COMMAND_VECTORS] = command_vectors,
    [COMMAND_BENCH] = command_bench,       [COMMAND_DEVICES] = command_devices,
    [COMMAND_REPORT] = command_report,     [COMMAND_HELP] = command_help,
    [COMMAND_VERSION] = command_version,
};

static bool takes_files(enum command command)
{
    return command != COMMAND_DEVICES && command != COMMAND_REPORT && command != COMMAND_HELP &&
           command != COMMAND_VERSION;
}

int main(int argc, char **argv)
{
    struct app app = {.exit_code = EXIT_DONE};
    if (!process_begin())
        return EXIT_FAILED;
    if (!options_parse(argc, argv, &app.options)) {
        options_free(&app.options);
        signals_raise(); /* a list of files may be waited for */
        return EXIT_USAGE;
    }
    if (takes_files(app.options.command))
        sandbox_enter(&app);
    run_command[app.options.command](&app);
    return process_end(&app);
}
