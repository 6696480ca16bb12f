/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* A save inside. The caller's tensors are a *request*: a safetensors file that stands nowhere as a
 * whole, but is read from their memory as it is compressed. What is in a device's memory comes
 * through *lanes*, each a queue with pinned memory, which threads take for one read. */
#ifndef WCODEC_SAVE_SAVE_H
#define WCODEC_SAVE_SAVE_H

#include "registry/staging.h"
#include "write/compress.h"
#include "write/declared.h"
#include <pthread.h>
#include <wcodec/save.h>

/* Bytes that a lane brings at once: what compressing reads at once. */
enum { WCODEC_SAVE_LANE_BYTES = 1 << 20, WCODEC_SAVE_LANES_MAX = 64 };

/* Where a tensor is. */
struct wcodec_save_place {
    uint64_t at; /* in the file */
    const uint8_t *host;
    struct wcodec_memory *memory; /* where host is NULL */
    uint64_t offset;
};

struct wcodec_save_lane {
    struct wcodec_queue *queue;    /* NULL: not made yet */
    struct wcodec_staging staging; /* WCODEC_SAVE_LANE_BYTES, pinned */
    struct wcodec_staging work;    /* of the device, for who has the lane */
    bool busy;
};

struct wcodec_save_request {
    wcodec_context *context;
    bool started;                 /* the call that made it has returned before it is done */
    wcodec_save_options options;  /* strings are the arena's */
    wcodec_encode_options encode; /* likewise */
    struct wcodec_arena arena;
    struct wcodec_declared declared;
    uint8_t *header;
    uint64_t header_size;
    uint64_t size;                    /* of the file */
    struct wcodec_save_place *places; /* of the declared tensors */
    struct wcodec_opened *device;     /* NULL: all are in host memory */
    struct wcodec_memory **adopted;
    size_t adopted_count;
    struct wcodec_event *after; /* NULL, or what the caller's queue has done by then */
    struct wcodec_staging_owner owner;
    pthread_mutex_t lock; /* guards the lanes */
    pthread_cond_t freed;
    unsigned lane_count;
    struct wcodec_save_lane lanes[WCODEC_SAVE_LANES_MAX];
};

/* Make a request of the caller's items: each is found to be right, and its memory is taken over.
 * It must stay where it is. started: the call that makes it returns before it is done. */
wcodec_status wcodec_save_request_create(wcodec_context *context, const wcodec_save_item *items,
                                         size_t count, const wcodec_save_options *options,
                                         bool started, struct wcodec_save_request *request,
                                         wcodec_error *err);
/* No read may be running. */
void wcodec_save_request_free(struct wcodec_save_request *request);

/* The file as a source; of the request (a wcodec_source_fn). Errors name the tensor. */
wcodec_status wcodec_save_read(void *request, uint64_t offset, void *dst, size_t size,
                               wcodec_error *err);

/* The last tensor that begins at `at` or before it: of several there, all but that are empty. */
size_t wcodec_save_find(const struct wcodec_save_request *request, uint64_t at);

/* Who codes the request's tensors in the device's memory; false: nobody, and a line in the log says
 * why if there are any there. `coder` must not outlive the request, nor `request` move. */
bool wcodec_save_coder(struct wcodec_save_request *request, struct wcodec_write_coder *coder);

/* A lane that is free, with its queue and pinned memory: waits for one. */
wcodec_status wcodec_save_lane_take(struct wcodec_save_request *request,
                                    struct wcodec_save_lane **lane, wcodec_error *err);
/* Give it back when what its queue has is done, whatever the status of that, which is returned; if
 * it is WCODEC_OK, that of waiting. */
wcodec_status wcodec_save_lane_end(struct wcodec_save_request *request,
                                   struct wcodec_save_lane *lane, wcodec_status status,
                                   wcodec_error *err);

/* Is what a device failed with, if it did, no reason to fail, since the host can do it? */
bool wcodec_save_is_left(wcodec_status status);
/* A tensor that a device did not code, for the reason in `reason`: WCODEC_OK if it is left to the
 * CPU, which the log is told; else the error. */
wcodec_status wcodec_save_leave(struct wcodec_save_request *request, const char *tensor,
                                wcodec_status status, const wcodec_error *reason,
                                wcodec_error *err);

/* XXH3's own secret, as backends want it. */
enum { WCODEC_SAVE_SECRET = 24 };
void wcodec_save_secret(uint64_t secret[WCODEC_SAVE_SECRET]);

/* Give the hashing of `count` leaves (not 0) of 2^leaf_log2 bytes of `elements`, from `at` on, to
 * the lane's queue: XXH3-128s to `to` of its work memory, a multiple of 256, as backends' deltas
 * have them. */
enum { WCODEC_SAVE_LEAF_LOG2 = 16 };
wcodec_status wcodec_save_hash(const struct wcodec_save_request *request,
                               struct wcodec_save_lane *lane, struct wcodec_memory *elements,
                               uint64_t at, uint64_t count, unsigned leaf_log2, uint64_t to,
                               wcodec_error *err);

/* What `look` asks for of the tensor at `offset` of the file, which is in the device's memory: a
 * function of struct wcodec_write_coder, whose `opaque` is the request. */
wcodec_status wcodec_save_look(void *request, uint64_t offset, const struct wcodec_write_look *look,
                               wcodec_error *err);

/* The other way, for weights that change where they are: bytes of a tensor in a device's memory,
 * which the host does not see. Errors do not name it. */
wcodec_status wcodec_save_write(struct wcodec_save_request *request, size_t tensor, uint64_t offset,
                                const void *src, size_t size, wcodec_error *err);

#endif
