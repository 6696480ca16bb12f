/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* wcodec report: says where it is. The Python package makes reports, of files of the same format;
 * its options are in our table so that help and completions have them. */
#include "utils/app.h"

void command_report(struct app *app)
{
    app_fail(
        app, EXIT_FAILED,
        "report is made by wcodec's Python package (its extra \"report\"): install that, then run "
        "python3 -m wcodec report MODEL... -o REPORT.html");
}
