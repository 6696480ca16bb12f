/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "utils/work.h"
#include "utils/parts.h"
#include "utils/walk.h"

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
    case WORK_LOOK:
        compress_look(app, source, target);
        break;
    case WORK_PART:
        parts_make(app, source, target);
        break;
    case WORK_PLACE:
        parts_place(app, source, target);
        break;
    case WORK_COMMIT:
        parts_commit(app, source, target);
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
