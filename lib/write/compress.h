/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Compressing whatever bytes come from. */
#ifndef WCODEC_WRITE_COMPRESS_H
#define WCODEC_WRITE_COMPRESS_H

#include "format/index.h"
#include "io/source.h"
#include "write/coder.h"
#include "write/dedup.h"
#include "write/output.h"
#include <wcodec/writer.h>

/* Who has a file's entries coded already, part by part: in place of coding them. Each call says in
 * err what failed. */
struct wcodec_write_supply {
    void *opaque;
    /* Before the first entry: settings of the output are known. */
    wcodec_status (*begin)(void *opaque, struct wcodec_output *output, uint64_t size,
                           wcodec_error *err);
    /* Put the next entry into the output, which `what` describes, and which begins at `offset`. */
    wcodec_status (*put)(void *opaque, struct wcodec_output *output, struct wcodec_dedup *dedup,
                         const struct wcodec_entry *what, uint64_t offset, wcodec_error *err);
    /* All entries have come. */
    wcodec_status (*end)(void *opaque, wcodec_error *err);
};

struct wcodec_compress_input {
    const struct wcodec_source *source;
    int fd; /* the source's own, of which it is checked that it did not change, or -1 */
    /* What is known of tensors in it that are approximations: their member `loss` is set. */
    const struct wcodec_entry *lossy;
    uint64_t lossy_count;
    const struct wcodec_index *index; /* NULL, or of a container that restores to the source */
    size_t writers; /* threads that call write_at at once, at most; 0: a share of all */
    /* NULL, or who codes some of its tensors where they are. */
    const struct wcodec_write_coder *coder;
    const struct wcodec_write_supply *supply; /* NULL: entries are coded */
};

/* As wcodec_compress_fd(). */
wcodec_status wcodec_compress_source(wcodec_context *context,
                                     const struct wcodec_compress_input *input,
                                     wcodec_write_fn write, void *opaque,
                                     const wcodec_encode_options *options,
                                     wcodec_encode_report *report, wcodec_error *err);

#endif
