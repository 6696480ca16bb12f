/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Compressing whatever bytes come from. */
#ifndef WCODEC_WRITE_COMPRESS_H
#define WCODEC_WRITE_COMPRESS_H

#include "io/source.h"
#include <wcodec/writer.h>

struct wcodec_index;

/* As wcodec_compress_fd(). fd: the source's own, of which it is checked that it did not change, or
 * -1. index: NULL, or that of a container which restores to the source. */
wcodec_status wcodec_compress_source(wcodec_context *context, const struct wcodec_source *source,
                                     int fd, const struct wcodec_index *index,
                                     wcodec_write_fn write, void *opaque,
                                     const wcodec_encode_options *options,
                                     wcodec_encode_report *report, wcodec_error *err);

#endif
