/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Applying a message: what is known of it, and of whom it changes. */
#ifndef WCODEC_SYNC_APPLY_H
#define WCODEC_SYNC_APPLY_H

#include "core/cancel.h"
#include "read/bases.h"
#include "sync/sync.h"

/* A tensor of the message. */
struct wcodec_sync_tensor {
    const struct wcodec_entry *entry;
    uint64_t weight;        /* number of the receiver's */
    uint64_t before, after; /* hashes */
    bool equal;             /* no element differs */
    bool tied;              /* it shares the memory of another, which is applied */
    bool summed;            /* by the device that has it: */
    uint64_t sum;           /* of its linear hash, before it changes */
    /* Of one that a device changes, known when the message is checked: */
    struct wcodec_delta_side *side;
    struct wcodec_sync_range *ranges;
    size_t range_count;
    bool fits; /* each of its tiles is in one, or equal */
};

struct wcodec_sync_apply {
    wcodec_context *context;
    wcodec_delta_apply_options options;
    const wcodec_save_item *items;
    struct wcodec_save_request *weights;
    struct wcodec_shard message; /* index NULL: not open */
    uint64_t count;
    struct wcodec_sync_tensor *tensors;
    uint64_t *tensor_of; /* of the receiver's: that which is applied to its memory; UINT64_MAX */
    uint8_t *states;     /* of the receiver's tensors */
    /* The receiver's tensors as the file that deltas name. */
    struct wcodec_file_layout layout;
    struct wcodec_base_file file, *files[1];
    uint64_t order[1];
    struct wcodec_bases bases;
    struct wcodec_reporter reporter;
    struct wcodec_cancel cancel;
    bool trial;  /* decode, and keep nothing */
    bool proven; /* what is equal needs no work */
    struct wcodec_sync_failure failure;
};

/* Open the message, and find its tensors among the weights. */
wcodec_status wcodec_sync_open(struct wcodec_sync_apply *apply, const void *message, size_t size,
                               wcodec_error *err);
/* Check all that can be checked of it without elements. */
wcodec_status wcodec_sync_check(struct wcodec_sync_apply *apply, wcodec_error *err);
/* Of what was opened, as far as it was. */
void wcodec_sync_close(struct wcodec_sync_apply *apply);

/* How a tensor is decoded. */
struct wcodec_decoder_input wcodec_sync_input(const struct wcodec_sync_apply *apply,
                                              const struct wcodec_sync_tensor *tensor);

/* Put a tensor's name in front of an error that has none. */
void wcodec_sync_prefix(const struct wcodec_entry *entry, wcodec_error *err);

/* Is this tensor in the memory of a device that can change it there, as far as its record says? */
bool wcodec_sync_patches(const struct wcodec_sync_apply *apply,
                         const struct wcodec_sync_tensor *tensor);
/* By which ranges of tiles, from its side. */
wcodec_status wcodec_sync_divide(const struct wcodec_sync_apply *apply,
                                 struct wcodec_sync_tensor *tensor, wcodec_error *err);
/* Change it so, where ranges fit, and wait for that. *sum changes with the tensor. Its state is
 * BROKEN then, if it may have changed. Errors do not name the tensor. */
wcodec_status wcodec_sync_patch_on_device(struct wcodec_sync_apply *apply,
                                          const struct wcodec_sync_tensor *tensor, uint64_t *sum,
                                          wcodec_error *err);

#endif
