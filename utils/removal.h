/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* --rm: each input goes when its output is safe; where there are deltas among several, when all
 * are, since one may be the base of another. */
#ifndef WCODEC_UTILS_REMOVAL_H
#define WCODEC_UTILS_REMOVAL_H

#include "utils/input.h"

/* Before the first of these inputs is read. */
void removal_begin(struct app *app, const char *const *inputs, size_t count);
/* The output of an input is on the disk; its names must stay until removal_end(). */
void removal_add(struct app *app, const struct input *input);
/* After the last one. */
void removal_end(struct app *app);

#endif
