/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* What compressing files and writing tensors share: options, and what is noted of the original. */
#ifndef WCODEC_WRITE_ENCODE_OPTIONS_H
#define WCODEC_WRITE_ENCODE_OPTIONS_H

#include "write/output.h"
#include "encode/encode.h"
#include <wcodec/writer.h>

/* Take over what the caller's version of the structure has (NULL: the defaults), and check it.
 * WCODEC_ERROR_USAGE. */
wcodec_status wcodec_encode_options_read(const wcodec_encode_options *from,
                                         wcodec_encode_options *options, wcodec_error *err);

/* What is made is no part of a file, and none are joined. WCODEC_ERROR_USAGE. */
wcodec_status wcodec_encode_options_whole(const wcodec_encode_options *options, wcodec_error *err);

/* Copy name and patterns to the arena: the caller may then free his. WCODEC_ERROR_MEMORY. */
wcodec_status wcodec_encode_options_keep(wcodec_encode_options *options, struct wcodec_arena *arena,
                                         wcodec_error *err);

void wcodec_encode_options_settings(const wcodec_encode_options *options,
                                    struct wcodec_encode_settings *settings);

/* Is a tensor of this name coded as a weight, by the include and exclude patterns? */
bool wcodec_encode_options_weights(const wcodec_encode_options *options, const char *name);

/* Name, mode and mtime for the index. WCODEC_ERROR_MEMORY. */
wcodec_status wcodec_encode_options_note(const wcodec_encode_options *options,
                                         struct wcodec_output *output, wcodec_error *err);

#endif
