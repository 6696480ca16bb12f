/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "core/log.h"
#include "core/assert.h"
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

void wcodec_log(wcodec_context *context, wcodec_log_level level, const char *format, ...)
{
    WCODEC_ASSERT(level >= WCODEC_LOG_ERROR && level <= WCODEC_LOG_DEBUG);
    if (!wcodec_log_wants(context, level))
        return;
    int saved = errno;
    char text[sizeof(((wcodec_error *)0)->text)];
    va_list arguments;
    va_start(arguments, format);
    if (vsnprintf(text, sizeof text, format, arguments) < 0)
        text[0] = '\0';
    va_end(arguments);
    /* An error's text is made of a log line's rules: one line, escaped, cut to fit. */
    wcodec_error line;
    wcodec_fail(&line, WCODEC_OK, "%s", text);
    pthread_mutex_lock(&context->log_lock);
    context->log(context->log_opaque, level, line.text);
    pthread_mutex_unlock(&context->log_lock);
    errno = saved;
}

void wcodec_log_stderr(void *opaque, wcodec_log_level level, const char *text)
{
    static const char *const names[] = {"", "error", "warning", "info", "debug"};
    (void)opaque;
    WCODEC_ASSERT(level >= WCODEC_LOG_ERROR && level <= WCODEC_LOG_DEBUG);
    char line[1100];
    int length = snprintf(line, sizeof line, "wcodec: %s: %s\n", names[level], text);
    if (length <= 0)
        return;
    if ((size_t)length >= sizeof line)
        length = (int)sizeof line - 1;
    /* One write, so that lines of several processes do not mix; when standard error is gone there
     * is nobody to tell. */
    ssize_t written = write(STDERR_FILENO, line, (size_t)length);
    (void)written;
}
