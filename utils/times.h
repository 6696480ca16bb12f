/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* What -v says at the end of where the time went. */
#ifndef WCODEC_UTILS_TIMES_H
#define WCODEC_UTILS_TIMES_H

#include "utils/app.h"

/* What the library is asked to measure into; NULL without -v. */
wcodec_times *times_wanted(const struct app *app, wcodec_times *times);

/* "NAME: 1.52 s: reading 12 %, coding 60 %, ..." with -v. */
void times_print(struct app *app, const char *name, const wcodec_times *times);

#endif
