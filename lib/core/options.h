/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Structures of callers who were built with this version's headers or another's
 * (include/wcodec/base.h says how they grow). */
#ifndef WCODEC_CORE_OPTIONS_H
#define WCODEC_CORE_OPTIONS_H

#include <wcodec/base.h>

/* Set the `size` bytes that the caller has of options to `defaults`, this version's whole structure
 * of known bytes, and struct_size, its first member, to `size`. */
void wcodec_options_set(void *options, size_t size, const void *defaults, size_t known);

/* Take over what the caller's structure has; *options holds the defaults, `known` bytes, and
 * gets that as struct_size. from may be NULL. What this version does not know must be 0. init: the
 * function that the caller ought to have used. */
wcodec_status wcodec_options_take(const void *from, void *options, size_t known, const char *init,
                                  wcodec_error *err);

/* Members of `what` that this version does not know must be 0. */
wcodec_status wcodec_reserved_check(const void *reserved, size_t size, const char *what,
                                    wcodec_error *err);

static inline wcodec_status wcodec_progress_check(const wcodec_progress *progress,
                                                  wcodec_error *err)
{
    return wcodec_reserved_check(progress->reserved, sizeof progress->reserved, "progress", err);
}

#endif
