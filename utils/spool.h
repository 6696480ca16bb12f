/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* A pipe cannot be read twice or from its end: its bytes are kept in a temporary file that has no
 * name. */
#ifndef WCODEC_UTILS_SPOOL_H
#define WCODEC_UTILS_SPOOL_H

#include "utils/app.h"

/* A new, empty, unlinked file in $TMPDIR (/var/tmp, /tmp); -1: reported. The caller closes it. */
int spool_create(struct app *app);

/* Copy all that `fd` gives until its end into a spool; -1: reported. `name` is what messages call
 * it. */
int spool_copy(struct app *app, int fd, const char *name);

#endif
