/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Messages of weight synchronisation inside. Each side's tensors are a *request* of lib/save: a
 * safetensors file that is read from their memory. A message is a delta of one against another. */
#ifndef WCODEC_SYNC_SYNC_H
#define WCODEC_SYNC_SYNC_H

#include "core/cancel.h"
#include "encode/delta.h"
#include "io/tree.h"
#include "save/save.h"
#include "write/looked.h"
#include <wcodec/delta.h>

/* Metadata of a message's index: hashes of its tensors in their order, 16 hexadecimal digits each,
 * before (of the base's; zeros where it has none) and after. */
#define WCODEC_SYNC_BEFORE "wcodec.delta.before"
#define WCODEC_SYNC_AFTER "wcodec.delta.after"
enum { WCODEC_SYNC_DIGITS = 16 };

/* What both sides declare: tensors, and where they are. */
struct wcodec_sync_side {
    const wcodec_save_item *items;
    size_t count;
    const char *memory;
    int use_queue;
    uint64_t queue;
    uint64_t host_memory;
};

/* A request of them, for wcodec_sync_request_free(). As wcodec_save(). */
wcodec_status wcodec_sync_request_create(wcodec_context *context,
                                         const struct wcodec_sync_side *side,
                                         struct wcodec_save_request **request, wcodec_error *err);
/* NULL is ignored. */
void wcodec_sync_request_free(struct wcodec_save_request *request);

/* Where the host sees a tensor; NULL: it does not. */
static inline const uint8_t *wcodec_sync_host(const struct wcodec_save_request *r, uint64_t tensor)
{
    return r->places[tensor].host;
}

/* Number of a tensor by name, dtype and shape: *same says whether both latter are those. */
bool wcodec_sync_find(const struct wcodec_save_request *request, const struct wcodec_entry *what,
                      uint64_t *tensor, bool *same);

/* Bytes of a tensor that the host does not see, to dst: by all threads. */
wcodec_status wcodec_sync_bring(struct wcodec_save_request *request, uint64_t tensor, uint8_t *dst,
                                wcodec_error *err);

/* The linear hash (doc/format.md 10) of each tensor that `wanted` has a 1 for, to hashes[]. Errors
 * name the tensor. */
wcodec_status wcodec_sync_hash(struct wcodec_save_request *request, const uint8_t *wanted,
                               uint64_t *hashes, struct wcodec_cancel *cancel, wcodec_error *err);
/* The tree hash of the request as a file. Likewise. */
wcodec_status wcodec_sync_hash_file(struct wcodec_save_request *request, uint8_t hash[16],
                                    struct wcodec_cancel *cancel, wcodec_error *err);

static inline const struct wcodec_backend_deltas *
wcodec_sync_functions(const struct wcodec_save_request *r)
{
    return r->device->backend->deltas;
}
/* What a call of its device came to: `reason`, and what the caller is told of it. */
static inline wcodec_status wcodec_sync_report(struct wcodec_save_request *r, wcodec_status status,
                                               const wcodec_error *reason, wcodec_error *err)
{
    return status == WCODEC_OK ? status
                               : wcodec_backends_failed(r->context, r->device, status, reason, err);
}

/* Is this tensor in the memory of a device that hashes it there? */
bool wcodec_sync_on_device(const struct wcodec_save_request *request, uint64_t tensor);
/* The sum of its linear hash then. Errors do not name the tensor. */
wcodec_status wcodec_sync_sum_on_device(struct wcodec_save_request *request, uint64_t tensor,
                                        uint64_t *sum, wcodec_error *err);

/* The leaf's function of a context. */
wcodec_leaf_fn wcodec_sync_leaf(const wcodec_context *context);

/* The first failure of several threads, by the number of what failed. */
struct wcodec_sync_failure {
    pthread_mutex_t lock;
    atomic_bool failed;
    uint64_t place;
    wcodec_status status;
    wcodec_error error;
};

wcodec_status wcodec_sync_failure_init(struct wcodec_sync_failure *failure, wcodec_error *err);
void wcodec_sync_failure_note(struct wcodec_sync_failure *failure, uint64_t place,
                              wcodec_status status, const wcodec_error *error);
/* Its status and text, if there was one; free. */
wcodec_status wcodec_sync_failure_end(struct wcodec_sync_failure *failure, wcodec_error *err);

#endif
