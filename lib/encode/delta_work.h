/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Coding of a delta inside: what delta.c and delta_side.c share. */
#ifndef WCODEC_ENCODE_DELTA_WORK_H
#define WCODEC_ENCODE_DELTA_WORK_H

#include "core/error.h"
#include "encode/delta.h"
#include <pthread.h>
#include <stdatomic.h>

enum { WCODEC_DELTA_GROUP = 16 /* tiles whose streams are one piece of memory */ };

struct wcodec_delta_work_tile {
    uint32_t changed; /* elements */
    uint32_t size, check;
    uint32_t result; /* check of the elements */
    uint8_t mode;
};

struct wcodec_delta_work {
    wcodec_context *context;
    const struct wcodec_encode_settings *settings;
    const uint8_t *data, *base;
    const struct wcodec_delta_found *found; /* NULL, or in their place */
    struct wcodec_delta d;
    struct wcodec_delta_work_tile *tiles;
    struct wcodec_delta_streams lent; /* by who found what differs */
    uint8_t **streams;                /* of each group; where they are lent there is none */
    uint64_t *stream_sizes;
    size_t groups;
    _Atomic uint64_t zigzag_bits, xor_bits; /* of the values that differ */
    pthread_mutex_t lock;                   /* of `counts` */
    struct wcodec_delta_counts counts;
    struct wcodec_delta_code gaps, values;
    const struct wcodec_delta_side *side;
    atomic_bool failed, wrong;
};

static inline size_t wcodec_delta_group_end(const struct wcodec_delta_work *w, size_t group)
{
    const uint64_t end = (uint64_t)(group + 1) * WCODEC_DELTA_GROUP;
    return (size_t)(end < w->d.tiles ? end : w->d.tiles);
}

static inline wcodec_status wcodec_delta_out_of_memory(wcodec_error *err)
{
    return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for a delta");
}

/* What the payload begins with, and zeros up to the streams: *room bytes, the caller's. */
wcodec_status wcodec_delta_make_side(struct wcodec_delta_work *work, uint8_t **side, uint64_t *room,
                                     wcodec_error *err);
/* Decode what is sparse, from the side as it is written. WCODEC_ERROR_DEVICE. */
wcodec_status wcodec_delta_prove(struct wcodec_delta_work *work, const uint8_t *side,
                                 wcodec_error *err);

#endif
