/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* A large file that is compressed in parts, which processes make apart and put together: the same
 * bytes as at once. What is done lies in hidden files beside the output, .NAME.part-KEY-NUMBER,
 * where whoever begins again finds it; KEY is of the input, the options and the version. */
#ifndef WCODEC_UTILS_PARTS_H
#define WCODEC_UTILS_PARTS_H

#include "utils/encode.h"
#include <stdio.h>
#include <sys/stat.h>

/* Files from here on are worth it. */
#define PARTS_WORTH ((uint64_t)32 << 20)

/* Can hidden files beside it be named after it? */
bool parts_are_named(const char *target);
/* What each part has of `size` bytes of the original, but for the last. */
uint64_t parts_bytes(uint64_t size);
/* Which state of a file it is, as text that is the same on all hosts; written to `text`. */
void parts_describe(FILE *text, const struct stat *file);
/* The hidden name of part `number` of an output, or of all of them: SIZE_MAX. NULL: reported. */
char *parts_name(struct app *app, const char *target, const char *key, size_t number);
/* A file of such a name beside the output, which is ours alone. -1 and errno: there is none. */
int parts_open(int dir_fd, const char *name, int flags);
/* Write into it: 0, or an errno value. */
int parts_write(int fd, uint64_t offset, const void *data, size_t size);

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
