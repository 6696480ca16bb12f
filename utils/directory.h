/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The directories of outputs. Below a mirror's folder (app->mirror_length) no symbolic link is
 * followed, not even one that comes while we look: each level is opened by the one above it. */
#ifndef WCODEC_UTILS_DIRECTORY_H
#define WCODEC_UTILS_DIRECTORY_H

#include "utils/app.h"

/* Open the directory that `path` is in, which the caller closes. -1: reported. */
int directory_open_above(struct app *app, const char *path);

/* What was named or made in the directory `fd` is on the disk, unless --no-sync is given. False:
 * reported, as of `path`. */
bool directory_sync(struct app *app, int fd, const char *path);

/* Make a directory unless it is there, and bring it to the disk before what will be in it may be
 * all that there is. False: reported. */
bool directory_make(struct app *app, const char *path);

/* The same for the mirror of the directory `source`: what is made has its mode, so that nobody may
 * do more there, but for its owner, who may do all. */
bool directory_make_like(struct app *app, const char *path, const char *source);

/* The permissions of a file whose group others are in: what everybody has, at most. */
mode_t mode_without_group(mode_t mode);

#endif
