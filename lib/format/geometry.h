/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Types of tensors that are quantised in blocks of one size, and the fields of these: what GGUF
 * files hold, and safetensors files that were made of them, with the types in their metadata
 * (doc/format.md 1.7). */
#ifndef WCODEC_FORMAT_GEOMETRY_H
#define WCODEC_FORMAT_GEOMETRY_H

#include "format/layout.h"

/* What the metadata has before the name of a tensor whose type in blocks is the value. */
#define WCODEC_GEOMETRY_KEY "gguf.type."

/* The fields of the blocks of a type; NULL: it is not known. */
const struct wcodec_record_geometry *wcodec_geometry_find(const char *type);

/* Say how the tensors of a layout may be cut into fields, as far as its metadata has their types.
 * *count is the number of those. WCODEC_ERROR_MEMORY. */
wcodec_status wcodec_geometry_propose(struct wcodec_file_layout *layout, uint64_t *count,
                                      wcodec_error *err);

#endif
