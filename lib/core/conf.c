/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "core/conf.h"
#include "backends/cpu/cpu_level.h"
#include "core/error.h"
#include "core/system.h"
#include <stdlib.h>
#include <string.h>
#ifdef __linux__
#include <sys/auxv.h>
#else
#include <unistd.h>
#endif

bool wcodec_conf_is_privileged(void)
{
#ifdef __linux__
    return getauxval(AT_SECURE) != 0;
#else
    return issetugid() != 0;
#endif
}

static const char *get(const char *name)
{
    const char *value = wcodec_getenv(name);
    return value != NULL && value[0] != '\0' ? value : NULL;
}

bool wcodec_conf_parse_threads(const char *text, unsigned *threads)
{
    if (strcmp(text, "auto") == 0) {
        *threads = 0;
        return true;
    }
    unsigned value = 0;
    for (const char *s = text; *s; s++) {
        if (*s < '0' || *s > '9')
            return false;
        value = value * 10 + (unsigned)(*s - '0');
        if (value > WCODEC_THREADS_MAX)
            return false;
    }
    if (value == 0)
        return false;
    *threads = value;
    return true;
}

/* The bit of the level with that name, 0 if there is none. */
static uint32_t level_bit(const char *name, size_t length)
{
    for (unsigned i = 0; i < WCODEC_CPU_LEVELS; i++) {
        const char *known = wcodec_cpu_level_name(i);
        if (strlen(known) == length && memcmp(known, name, length) == 0)
            return (uint32_t)1 << i;
    }
    return length == 3 && memcmp(name, "all", 3) == 0 ? (uint32_t)WCODEC_CPU_ALL : 0;
}

bool wcodec_conf_parse_cpu_mask(const char *text, uint32_t *mask)
{
    uint32_t bits = WCODEC_CPU_SCALAR;
    for (;;) {
        size_t length = strcspn(text, ",");
        uint32_t bit = level_bit(text, length);
        if (bit == 0)
            return false;
        bits |= bit;
        if (text[length] == '\0')
            break;
        text += length + 1;
    }
    *mask = bits;
    return true;
}

bool wcodec_conf_parse_log(const char *text, bool *log, wcodec_log_level *level)
{
    static const char *const names[] = {"off", "error", "warning", "info", "debug"};
    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(text, names[i]) == 0) {
            *log = i != 0;
            *level = (wcodec_log_level)i;
            return true;
        }
    }
    return false;
}

wcodec_status wcodec_conf_read(struct wcodec_conf *conf, wcodec_error *err)
{
    struct wcodec_conf c = {.cpu_mask = WCODEC_CPU_ALL};
    const char *text;
    c.backend = get(
        "WCODEC_BACKEND"); /* parsed with the option of the same form, where backends are chosen */
    c.backend_path = get("WCODEC_BACKEND_PATH");
    if (c.backend_path != NULL && c.backend_path[0] != '/')
        return wcodec_fail(err, WCODEC_ERROR_USAGE,
                           "WCODEC_BACKEND_PATH is \"%s\": expected an absolute path of a folder",
                           c.backend_path);
    if ((text = get("WCODEC_THREADS")) != NULL && !wcodec_conf_parse_threads(text, &c.threads))
        return wcodec_fail(err, WCODEC_ERROR_USAGE,
                           "WCODEC_THREADS is \"%s\": expected 1 to %d, or auto", text,
                           WCODEC_THREADS_MAX);
    if ((text = get("WCODEC_CPU_MASK")) != NULL && !wcodec_conf_parse_cpu_mask(text, &c.cpu_mask))
        return wcodec_fail(
            err, WCODEC_ERROR_USAGE,
            "WCODEC_CPU_MASK is \"%s\": expected a list of scalar, sse41, avx2, avx512, neon, all",
            text);
    if ((text = get("WCODEC_LOG")) != NULL && !wcodec_conf_parse_log(text, &c.log, &c.log_level))
        return wcodec_fail(err, WCODEC_ERROR_USAGE,
                           "WCODEC_LOG is \"%s\": expected off, error, warning, info or debug",
                           text);
    *conf = c;
    return WCODEC_OK;
}
