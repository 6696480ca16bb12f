/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* A large file in parts, which processes make apart and put together: the same bytes as at once.
 * What is done lies in hidden files beside the output, .NAME.part-KEY-NUMBER, where whoever begins
 * again finds it; KEY is of the input, the options and the version. */
#ifndef WCODEC_UTILS_PARTS_H
#define WCODEC_UTILS_PARTS_H

#include "utils/encode.h"

/* Files from here on are worth it. */
#define PARTS_WORTH ((uint64_t)32 << 20)

/* Of how many parts the output is to be made; 0: it cannot be. */
size_t parts_count(const struct app *app, const struct source *source, const char *target);

/* Part number app->part, unless it is there. What goes wrong is in app->exit_code, here and
 * below. */
void parts_make(struct app *app, const char *name, const char *target);
/* All are made: its payloads, and with those of part 0 all else, to their places in the output. */
void parts_place(struct app *app, const char *name, const char *target);
/* All are there: give the output its name. */
void parts_commit(struct app *app, const char *name, const char *target);

/* Remove the files of all parts of an output, as far as there are any. */
void parts_remove(struct app *app, const char *target);

#endif
