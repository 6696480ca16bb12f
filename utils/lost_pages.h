/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Mapped files that are read, and that another process may cut short meanwhile. The signal of the
 * first page that is gone puts zeros in place of it and of all after it, and is remembered: whoever
 * reads goes on, to an end that is then an error. */
#ifndef WCODEC_UTILS_LOST_PAGES_H
#define WCODEC_UTILS_LOST_PAGES_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

/* Watch a mapping, from the start of a page on, that is private and read only. False: too many are
 * watched, or the signal cannot be caught. By one thread at a time, as the end is. */
bool lost_pages_watch(void *at, size_t size);
/* Have pages of it been lost so far? By any thread. */
bool lost_pages_any(const void *at);
/* Before it is unmapped. */
void lost_pages_end(const void *at);

/* Of a handler that takes this one's place: is it in what is watched? Then zeros are there now. */
bool lost_pages_replace(void *address);
/* Of any handler: was the signal sent by a process, and caused by no instruction? */
bool lost_pages_is_sent(const siginfo_t *info);

#endif
