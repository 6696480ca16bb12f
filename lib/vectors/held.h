/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* A store's coded vectors in the memory of a device. */
#ifndef WCODEC_VECTORS_HELD_H
#define WCODEC_VECTORS_HELD_H

#include "registry/staging.h"
#include "vectors/segment.h"

#include <pthread.h>

struct wcodec_held_vectors {
    atomic_uint_fast64_t memory; /* bytes of the device's; 0: the CPU searches */
    pthread_mutex_t lock;        /* guards all below */
    bool tried;                  /* to bring them there */
    bool there;
    atomic_size_t parts; /* where there is no memory for all: so many are brought there for each
                            search that pays, one after the other; read without the lock, too */
    struct wcodec_staging_owner owner;
    struct wcodec_search_shape shape;
    struct wcodec_search_places places;
    struct wcodec_memory *codes, *vectors, *work;
    uint64_t work_size;
    struct wcodec_queue *queue;
    struct wcodec_staging host; /* what goes there, and comes from there */
    uint64_t *first_rank;       /* of each segment */
    uint64_t *most_rows;        /* that the first, the first two ... largest anchors of a segment
                                   have; of all segments */
};

/* Bring the vectors of a store, some of which are there, to owner.device, beside `memory` bytes
 * that the host has for them. wcodec_held_free() also after a failure. WCODEC_ERROR_UNSUPPORTED: it
 * does not search them; _MEMORY, _LIMIT, _DEVICE. */
wcodec_status wcodec_held_upload(struct wcodec_held_vectors *r,
                                 const struct wcodec_vectors_store *store, uint64_t memory,
                                 wcodec_error *err);
/* What is there is no more. */
void wcodec_held_free(struct wcodec_held_vectors *r);

/* At least so many bytes of work. WCODEC_ERROR_MEMORY, _LIMIT, _DEVICE. */
wcodec_status wcodec_held_reserve(struct wcodec_held_vectors *r, uint64_t size, wcodec_error *err);

/* Bytes one after the other to the device's memory, by r->host. What fails is told by the end. */
struct wcodec_held_writer {
    struct wcodec_held_vectors *held;
    struct wcodec_memory *memory;
    uint64_t at;
    size_t filled;
    wcodec_status status;
};

void wcodec_held_begin(struct wcodec_held_writer *w, struct wcodec_held_vectors *r,
                       struct wcodec_memory *memory, uint64_t at);
/* Room for the next bytes, which the caller fills in. */
uint8_t *wcodec_held_room(struct wcodec_held_writer *w, size_t size, wcodec_error *err);
void wcodec_held_put_u32(struct wcodec_held_writer *w, uint32_t value, wcodec_error *err);
wcodec_status wcodec_held_end(struct wcodec_held_writer *w, wcodec_error *err);

#endif
