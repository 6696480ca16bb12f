/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The manifest of a store: a small text that says which segments there are (doc/format.md 13.2). */
#ifndef WCODEC_VECTORS_MANIFEST_H
#define WCODEC_VECTORS_MANIFEST_H

#include "core/context.h"
#include "io/safefile.h"
#include <stdbool.h>
#include <sys/stat.h>

#define WCODEC_MANIFEST_NAME "vectors.manifest"
#define WCODEC_STORE_LOCK_NAME "lock"

enum { WCODEC_STORE_NAME_SIZE = 32 };

/* All ids are below it: signed numbers hold them. */
#define WCODEC_STORE_IDS (UINT64_C(1) << 63)

struct wcodec_manifest_entry {
    uint64_t file; /* number of the segment's file */
    uint64_t first_id, last_id;
    uint64_t rows;
    uint64_t removed;      /* rows */
    uint64_t removed_file; /* number of the bitmap's file; of no meaning where removed is 0 */
};

struct wcodec_manifest {
    uint64_t d, next_id;
    uint64_t next_file;
    /* Of its file, if it was read from one: what a change writes is nobody's who may not read it.
     */
    bool has_owner;
    mode_t closed; /* permissions that it does not give */
    uid_t uid;
    gid_t gid;
    size_t count;
    struct wcodec_manifest_entry *entries;
};

/* "folder/name"; NULL: out of memory. */
char *wcodec_store_path(const wcodec_allocator *allocator, const char *folder, const char *name);
/* Names of files: 16 hexadecimal digits, and what they are. */
void wcodec_store_segment_name(uint64_t file, char name[WCODEC_STORE_NAME_SIZE]);
void wcodec_store_removed_name(uint64_t file, char name[WCODEC_STORE_NAME_SIZE]);

/* WCODEC_ERROR_USAGE: there is none. */
wcodec_status wcodec_manifest_read(wcodec_context *context, const char *folder,
                                   struct wcodec_manifest *manifest, wcodec_error *err);
/* From its text, `size` bytes. */
wcodec_status wcodec_manifest_parse(const wcodec_allocator *allocator, const char *text,
                                    size_t size, struct wcodec_manifest *manifest,
                                    wcodec_error *err);
wcodec_status wcodec_manifest_write(wcodec_context *context, const char *folder,
                                    const struct wcodec_manifest *manifest, wcodec_error *err);
/* What opening a segment gave: what the manifest names and is not there is damage. */
wcodec_status wcodec_manifest_missing(wcodec_status status, const char *folder, uint64_t file,
                                      wcodec_error *err);
/* Room for one more entry. */
wcodec_status wcodec_manifest_grow(const wcodec_allocator *allocator,
                                   struct wcodec_manifest *manifest, wcodec_error *err);
void wcodec_manifest_free(const wcodec_allocator *allocator, struct wcodec_manifest *manifest);

/* The bits of rows that were removed, a byte for eight. The caller frees them. */
wcodec_status wcodec_removed_read(wcodec_context *context, const char *folder,
                                  const struct wcodec_manifest_entry *entry, uint8_t **bits,
                                  wcodec_error *err);
wcodec_status wcodec_removed_write(wcodec_context *context, const char *folder,
                                   const struct wcodec_manifest *manifest, uint64_t file,
                                   const uint8_t *bits, uint64_t rows, wcodec_error *err);
/* With which files of the store are written. */
struct wcodec_safefile_attributes wcodec_store_attributes(const struct wcodec_manifest *manifest);

#endif
