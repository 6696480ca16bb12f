/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Several segments of a store as one: rows that were not removed, as they are coded. */
#ifndef WCODEC_VECTORS_COMPACT_H
#define WCODEC_VECTORS_COMPACT_H

#include "vectors/store_change.h"

struct wcodec_segment_merge {
    const struct wcodec_store_change *change;
    const struct wcodec_manifest_entry *entries; /* those that become one */
    size_t count;
    uint64_t rows; /* that stay */
    uint64_t room; /* for anchors: as many as they have */
    int level;
    struct wcodec_reporter *reporter; /* rows * d bytes are read, and as many written */
};

/* Write the file of number `file`. entry: what the manifest says of it. */
wcodec_status wcodec_segment_merge(const struct wcodec_segment_merge *merge, uint64_t file,
                                   struct wcodec_manifest_entry *entry, uint64_t *coded_size,
                                   wcodec_error *err);

#endif
