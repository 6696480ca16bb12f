/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* A change of a store, with its lock held. Files are written first, and count when the manifest
 * that names them is there. */
#ifndef WCODEC_VECTORS_STORE_CHANGE_H
#define WCODEC_VECTORS_STORE_CHANGE_H

#include "vectors/manifest.h"
#include "vectors/segment.h"

struct wcodec_store_change {
    wcodec_context *context;
    const char *folder;
    int dir, lock;               /* descriptors */
    bool made_folder, made_lock; /* by this change */
    bool is_new;                 /* there was no manifest */
    struct wcodec_manifest manifest;
};

/* Take the lock and read the manifest. d: of a store that is to be made if there is none; 0: there
 * must be one. Always followed by wcodec_store_end(). WCODEC_ERROR_BUSY: another has the lock. */
wcodec_status wcodec_store_begin(struct wcodec_store_change *change, wcodec_context *context,
                                 const char *folder, uint64_t d, wcodec_error *err);
/* Replace the manifest by the changed one, and remove the files that only the old one names. */
wcodec_status wcodec_store_commit(struct wcodec_store_change *change, wcodec_error *err);
/* Remove the files that the manifest does not name. */
void wcodec_store_sweep(const struct wcodec_store_change *change);
/* Let the lock go. Of a store that is not there in the end, nothing is left that was made. */
void wcodec_store_end(struct wcodec_store_change *change);

/* Open the segment of an entry. The caller closes the reader. */
wcodec_status wcodec_segment_of_entry(const struct wcodec_store_change *change,
                                      const struct wcodec_manifest_entry *entry,
                                      wcodec_reader **reader, struct wcodec_segment_file *file,
                                      wcodec_error *err);

/* Put a segment in front of an error. */
wcodec_status wcodec_segment_name(const struct wcodec_store_change *change,
                                  const struct wcodec_manifest_entry *entry, wcodec_status status,
                                  wcodec_error *err);

#endif
