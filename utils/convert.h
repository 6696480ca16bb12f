/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Safetensors files of any files of tensors. */
#ifndef WCODEC_UTILS_CONVERT_H
#define WCODEC_UTILS_CONVERT_H

#include "utils/app.h"

/* Convert a file; target NULL: to standard output. False: reported. */
bool convert_file(struct app *app, const char *path, const char *target);

/* The name of a file with .safetensors in place of what says its kind. NULL: reported. The caller
 * frees it. */
char *convert_target(struct app *app, const char *path);

/* Mirror a folder: its files of tensors are converted, its other files copied. */
void convert_folder(struct app *app, const char *in, const char *out);

#endif
