/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* What safetensors files begin with. */
#ifndef WCODEC_UTILS_SAFETENSORS_H
#define WCODEC_UTILS_SAFETENSORS_H

#include <jansson.h>
#include <stddef.h>

/* The length of a header and its text, padded so that data after it begins at a multiple of 8;
 * frees `header`, which may be NULL. The caller frees it. NULL: no memory. */
char *safetensors_begin(json_t *header, size_t *size);

#endif
