/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Error text: the place that first sees an error records it, callers pass it on or put context in
 * front. */
#ifndef WCODEC_CORE_ERROR_H
#define WCODEC_CORE_ERROR_H

#include <wcodec/base.h>

#if defined(__GNUC__)
#define WCODEC_PRINTF(text, first) __attribute__((format(printf, text, first)))
#define WCODEC_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define WCODEC_LIKELY(x) __builtin_expect(!!(x), 1)
#else
#define WCODEC_PRINTF(text, first)
#define WCODEC_UNLIKELY(x) (x)
#define WCODEC_LIKELY(x) (x)
#endif

/* Record status and text at err (may be NULL) and return status: `return wcodec_fail(err,
 * WCODEC_ERROR_CORRUPT, "...")`. Control characters are escaped. */
wcodec_status wcodec_fail(wcodec_error *err, wcodec_status status, const char *format, ...)
    WCODEC_PRINTF(3, 4);

/* Put "text: " in front of what err says, as a caller that knows the file or the tensor does. err
 * may be NULL. */
void wcodec_error_prefix(wcodec_error *err, const char *format, ...) WCODEC_PRINTF(2, 3);

#endif
