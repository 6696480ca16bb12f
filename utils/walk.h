/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Directories: every file below one, in the order of their names. */
#ifndef WCODEC_UTILS_WALK_H
#define WCODEC_UTILS_WALK_H

#include "utils/app.h"

/* `relative` is the path below the directory; a directory comes before what is in it, which is left
 * out if this returns false. */
typedef bool (*walk_fn)(struct app *app, void *opaque, const char *relative, bool is_directory);

/* Visit files (links to files too) in `dir`, and with --recursive in the directories below; links
 * to directories, devices and pipes are left out with a warning. False: reported. */
bool walk_directory(struct app *app, const char *dir, walk_fn visit, void *opaque);

/* Is one path the other, or inside it? Paths that do not exist yet are judged by the part that
 * does. */
bool paths_overlap(const char *a, const char *b);

/* For each file of the directory `in`, make(app, opaque, source path, target path without a changed
 * suffix) with the same relative path below `out`, which is made if it is not there. Refuses
 * directories that lie in each other; warns of one in which there is nothing. */
typedef void (*mirror_fn)(struct app *app, void *opaque, const char *source, const char *target);
void walk_mirror(struct app *app, const char *in, const char *out, mirror_fn make, void *opaque);

/* Copy a file, unless the target has the same contents already. */
bool copy_file(struct app *app, const char *source, const char *target);

#endif
