/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Interruption: the handler only sets a flag; the work ends by itself, removes its temporary file,
 * and then the signal is raised again. */
#ifndef WCODEC_UTILS_SIGNALS_H
#define WCODEC_UTILS_SIGNALS_H

#include <stdbool.h>

/* Catch SIGINT, SIGTERM and SIGHUP, unless they were ignored when the program started. Ignore
 * SIGPIPE and SIGXFSZ: writing then fails with EPIPE and EFBIG. */
void signals_catch(void);

/* Has one come? */
bool signals_pending(void);

/* Writing to standard output failed with this errno value: with EPIPE, the program will end as by
 * SIGPIPE, unless it was started with SIGPIPE ignored. True if so. */
bool signals_note_pipe(int error);

/* If one has come, end by it: does not return then. */
void signals_raise(void);

#endif
