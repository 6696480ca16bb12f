/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* What compress, decompress and test do with one file. The command does it at once; wcodec-mpi
 * lists all of it first, and then has its ranks do it. */
#ifndef WCODEC_UTILS_WORK_H
#define WCODEC_UTILS_WORK_H

#include "utils/app.h"

enum work {
    WORK_COMPRESS,
    WORK_DECOMPRESS,
    WORK_TEST,
    WORK_COPY,
    /* A large file in parts (utils/parts.h, utils/decode_parts.h): is it to be done, and of how
     * many; part number app->part of it; to compress, the same to its place; all of it is there. */
    WORK_LOOK,
    WORK_PART,
    WORK_PLACE,
    WORK_COMMIT
};

/* Who has others do the work. */
struct work_share {
    /* The strings are the caller's; `target` is NULL where nothing is written. */
    void (*take)(struct work_share *share, struct app *app, enum work work, const char *source,
                 const char *target);
    /* Returns when all that was taken is done, and its results are in `app`. */
    void (*finish)(struct work_share *share, struct app *app);
};

/* Do it, or give it to app->share. */
void work_do(struct app *app, enum work work, const char *source, const char *target);
/* Do it here and now. */
void work_run(struct app *app, enum work work, const char *source, const char *target);
/* All that a subcommand does with files has come. */
void work_finish(struct app *app);

/* The parts of it. target NULL: standard output. What they find wrong is in app->exit_code. */
void compress_file(struct app *app, const char *source, const char *target);
/* The same, but where app->parts is set afterwards nothing is done yet. */
void compress_look(struct app *app, const char *source, const char *target);
void decompress_file(struct app *app, const char *source, const char *target);
void decompress_look(struct app *app, const char *source, const char *target);
void decompress_part(struct app *app, const char *source, const char *target);
void decompress_commit(struct app *app, const char *source, const char *target);
void test_file(struct app *app, const char *path);
void test_look(struct app *app, const char *path);
void test_part(struct app *app, const char *path);
void test_commit(struct app *app, const char *path);

/* SOURCE_DATE_EPOCH, which compress_file() keeps to. False: reported. */
bool compress_read_epoch(struct app *app);

#endif
