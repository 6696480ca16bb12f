/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* A progress bar on standard error, only on a terminal: name, percent, amount, rate, time left. */
#ifndef WCODEC_UTILS_PROGRESS_H
#define WCODEC_UTILS_PROGRESS_H

#include <stdbool.h>
#include <wcodec/base.h>

struct progress {
    char *name;   /* escaped; NULL: nothing runs */
    double start; /* seconds */
    double last;  /* when the bar was drawn last */
    bool enabled;
    bool shown; /* the bar is on the screen */
};

/* Seconds of a clock that never jumps. */
double clock_seconds(void);

/* Start a bar. `name` is copied. */
void progress_start(struct progress *progress, const char *name, bool enabled);
/* For the library's calls. It also ends them when a signal has come. */
wcodec_progress progress_callback(struct progress *progress);
/* Take the bar off the screen, so that a message can be printed; it comes back by itself. */
void progress_hide(struct progress *progress);
void progress_end(struct progress *progress);
/* Seconds since the start. */
double progress_seconds(const struct progress *progress);

#endif
