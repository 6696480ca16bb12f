/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* How a program of ours begins and ends. */
#ifndef WCODEC_UTILS_PROCESS_H
#define WCODEC_UTILS_PROCESS_H

#include "utils/app.h"

/* Descriptors, limits and signals. False: standard input and outputs cannot be had. */
bool process_begin(void);

/* All that `app` owns, except its options, is freed. */
void process_free(struct app *app);

/* What was printed goes out, and all is freed. Returns the exit code, or ends by a signal that has
 * come. */
int process_end(struct app *app);

#endif
