/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "utils/work.h"
#include "utils/parts.h"
#include "utils/walk.h"

/* A step of a file in parts, of which compressing and rebasing have one more. */
static void run_step(struct app *app, enum work work, const char *source, const char *target)
{
    switch (app->options.command) {
    case COMMAND_DECOMPRESS:
        (work == WORK_LOOK   ? decompress_look
         : work == WORK_PART ? decompress_part
                             : decompress_commit)(app, source, target);
        break;
    case COMMAND_TEST:
        (work == WORK_LOOK ? test_look : work == WORK_PART ? test_part : test_commit)(app, source);
        break;
    default:
        (work == WORK_LOOK   ? compress_look
         : work == WORK_PART ? parts_make
                             : parts_commit)(app, source, target);
    }
}

void work_run(struct app *app, enum work work, const char *source, const char *target)
{
    switch (work) {
    case WORK_COMPRESS:
        compress_file(app, source, target);
        break;
    case WORK_DECOMPRESS:
        decompress_file(app, source, target);
        break;
    case WORK_TEST:
        test_file(app, source);
        break;
    case WORK_COPY:
        copy_file(app, source, target);
        break;
    case WORK_PLACE:
        parts_place(app, source, target);
        break;
    case WORK_LOOK:
    case WORK_PART:
    case WORK_COMMIT:
        run_step(app, work, source, target);
        break;
    }
}

void work_do(struct app *app, enum work work, const char *source, const char *target)
{
    if (app->share)
        app->share->take(app->share, app, work, source, target);
    else
        work_run(app, work, source, target);
}

void work_finish(struct app *app)
{
    if (app->share)
        app->share->finish(app->share, app);
}
