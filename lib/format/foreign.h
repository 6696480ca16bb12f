/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Files of other kinds, by their first bytes: what a user who gave the wrong one wants to know. */
#ifndef WCODEC_FORMAT_FOREIGN_H
#define WCODEC_FORMAT_FOREIGN_H

#include "io/source.h"
#include <stdbool.h>

/* "a GGUF file", perhaps with what to do, or NULL: nothing known, or it cannot be read. */
const char *wcodec_foreign_kind(const struct wcodec_source *source);

/* Does it look like the beginning of a safetensors file? */
bool wcodec_foreign_safetensors(const struct wcodec_source *source);

#endif
