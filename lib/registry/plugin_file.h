/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* What dlopen() would hang or die of: a plugin's file that is no regular one, or was cut off. */
#ifndef WCODEC_REGISTRY_PLUGIN_FILE_H
#define WCODEC_REGISTRY_PLUGIN_FILE_H

#include <wcodec/base.h>

/* May dlopen() have it? WCODEC_ERROR_BACKEND with the reason if not; what else is wrong with it
 * dlopen() says itself. */
wcodec_status wcodec_plugin_file_check(const char *path, wcodec_error *err);

#endif
