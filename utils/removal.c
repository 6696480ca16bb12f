/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "utils/removal.h"
#include "utils/bases.h"
#include "utils/signals.h"

#include <stdlib.h>

/* Does any of the inputs hold deltas? */
static bool hold_deltas(struct app *app, const char *const *inputs, size_t count)
{
    bool found = false;
    for (size_t i = 0; i < count && !found && app_context(app); i++) {
        wcodec_reader *reader;
        if (wcodec_reader_open_path(app->context, inputs[i], &reader, NULL) != WCODEC_OK)
            continue; /* which is said when it is read */
        found = bases_needed(reader);
        wcodec_reader_close(reader);
    }
    return found;
}

void removal_begin(struct app *app, const char *const *inputs, size_t count)
{
    app->removes_later = app->options.remove && count > 1 && hold_deltas(app, inputs, count);
}

void removal_add(struct app *app, const struct input *input)
{
    if (!app->removes_later) {
        input_remove(app, input);
        return;
    }
    for (size_t i = 0; i < app->done_count; i++)
        if (same_file(&app->done[i].stat, &input->stat))
            return;
    struct input *done = realloc(app->done, (app->done_count + 1) * sizeof *done);
    if (!done) {
        app_fail(app, EXIT_FAILED, "%s: out of memory, so it is not removed", input->name);
        return;
    }
    app->done = done;
    done[app->done_count] = *input;
    done[app->done_count++].fd = -1;
}

void removal_end(struct app *app)
{
    for (size_t i = 0; i < app->done_count && !signals_pending(); i++)
        input_remove(app, &app->done[i]);
    free(app->done);
    app->done = NULL;
    app->done_count = 0;
}
