/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "utils/times.h"
#include <stdio.h>

wcodec_times *times_wanted(const struct app *app, wcodec_times *times)
{
    return app->options.verbose ? times : NULL;
}

void times_print(struct app *app, const char *name, const wcodec_times *times)
{
    const struct {
        const char *what;
        uint64_t ns;
    } parts[] = {{"reading", times->reading},     {"coding", times->coding},
                 {"verifying", times->verifying}, {"hashing", times->hashing},
                 {"writing", times->writing},     {"waiting", times->waiting}};
    char text[200] = "";
    size_t used = 0;
    if (!app->options.verbose)
        return;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        const double percent =
            times->total ? 100.0 * (double)parts[i].ns / (double)times->total : 0;
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s %.1f %%", i ? ", " : "",
                                 parts[i].what, percent);
    }
    app_detail(app, "%s: %.3f s: %s", name, (double)times->total * 1e-9, text);
}
