/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* A writer's coder for a message between two snapshots in one device's memory: the device finds
 * what differs, hashes tiles and writes streams, by the codes that the host makes. */
#ifndef WCODEC_SYNC_CODER_H
#define WCODEC_SYNC_CODER_H

#include "sched/background.h"
#include "sync/sync.h"

struct wcodec_sync_coder {
    struct wcodec_write_coder write; /* what the writer gets; its `opaque` is this structure */
    struct wcodec_save_request *before, *after;
    struct wcodec_delta_base base;     /* without bytes, and without a hash until set_base() */
    struct wcodec_background *hashing; /* NULL, or who has `hash` ready when it has ended */
    const uint8_t *hash;               /* of the base */
    /* Of all tensors: linear hashes, and which are not known yet, where they can be had. */
    struct wcodec_sync_hashes {
        uint64_t *hashes;
        uint8_t *wanted;
    } before_hashes, after_hashes;
};

/* False: both are not in one device's memory, or it cannot do that. The rest is set by then. It
 * must stay where it is. */
bool wcodec_sync_coder_init(struct wcodec_sync_coder *coder, struct wcodec_save_request *before,
                            struct wcodec_save_request *after);

#endif
