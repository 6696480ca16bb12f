/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "registry/host.h"
#include "core/log.h"
#include "core/system.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static bool host_log_wants(void *opaque, wcodec_log_level level)
{
    return wcodec_log_wants(opaque, level);
}

static void host_log(void *opaque, wcodec_log_level level, const char *format, ...)
{
    char text[sizeof(((wcodec_error *)0)->text)];
    va_list arguments;
    va_start(arguments, format);
    if (vsnprintf(text, sizeof text, format, arguments) < 0)
        text[0] = '\0';
    va_end(arguments);
    wcodec_log(opaque, level, "%s", text);
}

static void host_run(void *opaque, void (*task)(void *argument, size_t i), void *argument,
                     size_t count)
{
    wcodec_run(opaque, task, argument, count);
}

static unsigned host_threads(void *opaque)
{
    return wcodec_context_threads(opaque);
}

static const char *host_setting(void *opaque, const char *name)
{
    (void)opaque;
    if (strncmp(name, "WCODEC_", 7) != 0)
        return NULL;
    const char *value = wcodec_getenv(name);
    return value != NULL && value[0] != '\0' ? value : NULL;
}

void wcodec_host_init(struct wcodec_host *host, wcodec_context *context)
{
    *host = (struct wcodec_host){
        .opaque = context,
        .fail = wcodec_fail,
        .log_wants = host_log_wants,
        .log = host_log,
        .allocator = &context->allocator,
        .run = host_run,
        .threads = host_threads,
        .setting = host_setting,
        .cpu_mask = context->cpu_mask,
    };
}
