/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Settings from the environment. All are read by wcodec_getenv(), so a program with raised
 * privileges has none; an empty variable counts as unset. */
#ifndef WCODEC_CORE_CONF_H
#define WCODEC_CORE_CONF_H

#include <stdbool.h>
#include <wcodec/context.h>

enum { WCODEC_THREADS_MAX = 4096 };

struct wcodec_conf {
    const char *backend;      /* WCODEC_BACKEND, or NULL; in the environment's memory */
    const char *backend_path; /* WCODEC_BACKEND_PATH: an absolute path, or NULL; in the
                                 environment's memory */
    unsigned threads;         /* WCODEC_THREADS: 1 to WCODEC_THREADS_MAX; 0: unset or "auto" */
    uint32_t cpu_mask;        /* WCODEC_CPU_MASK: enum wcodec_cpu_level bits; all if unset */
    bool log;                 /* WCODEC_LOG is set, and not "off" */
    wcodec_log_level log_level;
};

/* Has the program raised privileges, as of setuid? */
bool wcodec_conf_is_privileged(void);

/* Read all variables. WCODEC_ERROR_USAGE names the variable, its value and what is accepted. */
wcodec_status wcodec_conf_read(struct wcodec_conf *conf, wcodec_error *err);

/* The parsers, for tests and for options of the same form. */
bool wcodec_conf_parse_threads(const char *text, unsigned *threads);
bool wcodec_conf_parse_cpu_mask(const char *text, uint32_t *mask);
bool wcodec_conf_parse_log(const char *text, bool *log, wcodec_log_level *level);

#endif
