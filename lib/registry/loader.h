/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Opening plugins. */
#ifndef WCODEC_REGISTRY_LOADER_H
#define WCODEC_REGISTRY_LOADER_H

#include "backends/backend.h"

enum { WCODEC_PLUGIN_PATH_MAX = 4096 };

/* Open wcodec_NAME.so in `folder` (an absolute path) and find its structure. It is never closed:
 * drivers leave threads and exit handlers behind. A plugin must be what its name says: ABI, name
 * and all functions are checked. privileged: this program has raised privileges, then no plugin is
 * opened, since drivers take paths from the environment. path is set to the file's path in any
 * case. Every refusal is WCODEC_ERROR_BACKEND with its reason. Thread-safe. */
wcodec_status wcodec_plugin_open(const char *folder, const char *name, bool privileged,
                                 char path[WCODEC_PLUGIN_PATH_MAX],
                                 const struct wcodec_backend **backend, wcodec_error *err);

/* The part of it that looks at a structure: ABI, name, functions. `path` is for the text. */
wcodec_status wcodec_plugin_check(const struct wcodec_backend *backend, const char *name,
                                  const char *path, wcodec_error *err);

/* The process that first opened a plugin's backend: this one, unless it was forked from that.
 * Drivers' threads and locks do not come along, so that calls would fail or hang. */
long wcodec_plugin_process(const struct wcodec_backend *backend);

#endif
