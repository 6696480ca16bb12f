/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The members of a zip archive and where their bytes lie. Nothing is unpacked, and names are names
 * only: nothing is ever written by them. */
#ifndef WCODEC_FORMAT_ZIP_H
#define WCODEC_FORMAT_ZIP_H

#include "core/arena.h"
#include "core/cancel.h"
#include "io/source.h"

#include <stdbool.h>

enum { WCODEC_ZIP_MEMBERS_MAX = 1 << 20, WCODEC_ZIP_DIRECTORY_MAX = 256 << 20 };

struct wcodec_zip_member {
    const char *name;
    uint64_t header; /* where its local header is */
    uint64_t begin;  /* and its data */
    uint64_t size;   /* of the data as it is in the archive */
    bool is_stored;  /* neither compressed nor encrypted */
};

struct wcodec_zip {
    const wcodec_allocator *allocator;
    uint64_t count;
    struct wcodec_zip_member *members; /* in the order of the file; names all differ */
    struct wcodec_arena arena;
};

/* Read and check the directory, zip64 included, and each member's local header. Members must not
 * overlap, lie before the directory and be called the same there; archives in several parts, and
 * with something in front, are refused. Checksums of members are not looked at: their bytes are
 * kept, whatever they are. WCODEC_ERROR_CORRUPT with the reason, WCODEC_ERROR_IO,
 * WCODEC_ERROR_MEMORY, WCODEC_ERROR_CANCELLED (cancel may be NULL). Free with wcodec_zip_free()
 * whether this fails or not. */
wcodec_status wcodec_zip_read(const struct wcodec_source *source, const wcodec_allocator *allocator,
                              struct wcodec_cancel *cancel, struct wcodec_zip *zip,
                              wcodec_error *err);
void wcodec_zip_free(struct wcodec_zip *zip);

#endif
