/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Log lines of a context. */
#ifndef WCODEC_CORE_LOG_H
#define WCODEC_CORE_LOG_H

#include "core/context.h"
#include "core/error.h"

/* Cheap test, to spare the work of a line that nobody gets. */
static inline bool wcodec_log_wants(const wcodec_context *context, wcodec_log_level level)
{
    return context->log != NULL && level <= context->log_level;
}

/* One line, without a newline; control characters are escaped. From any thread. Keeps errno. */
void wcodec_log(wcodec_context *context, wcodec_log_level level, const char *format, ...)
    WCODEC_PRINTF(3, 4);

/* The wcodec_log_fn that WCODEC_LOG stands for: "wcodec: warning: text" to standard error in one
 * write. */
void wcodec_log_stderr(void *opaque, wcodec_log_level level, const char *text);

#endif
