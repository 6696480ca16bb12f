/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* What device.c and device_parts.c share: the device's memory, and calls of it. */
#ifndef WCODEC_VECTORS_DEVICE_STEPS_H
#define WCODEC_VECTORS_DEVICE_STEPS_H

#include "registry/staging.h"
#include "vectors/device.h"

/* Rows that are on their way there, or at work, and what comes back. */
struct wcodec_training_part {
    struct wcodec_memory *rows, *state;
    struct wcodec_queue *queue;
    struct wcodec_staging host;
    size_t first, count; /* count 0: none */
};

struct wcodec_vectors_device {
    struct wcodec_staging_owner owner;
    struct wcodec_vectors_shape shape; /* of all rows, or of a part */
    struct wcodec_vectors_places places;
    struct wcodec_memory *rows, *state, *anchors;
    struct wcodec_queue *queue;
    struct wcodec_staging host;  /* what goes there, and comes from there */
    uint32_t room;               /* anchors that there is memory for */
    bool any_order;              /* are sums of rows exact? */
    bool failed;                 /* the last error is the device's */
    uint64_t before, starting;   /* bytes of the host's: those of the work, and those that it takes
                                    while it looks for anchors to begin with; both are in
                                    owner.held */
    uint64_t assigned, compared; /* rows so far; of them those compared with all anchors */

    const wcodec_vector_rows *from;
    size_t used; /* rows that are a sample, the first there; 0: all are what they are */

    /* Rows go there part by part: rows and state are NULL. */
    size_t most;                         /* rows of a part; 0: all are there */
    struct wcodec_training_part part[2]; /* in turns */
    bool ahead;                          /* have rows the anchors that are nearest now? */
    uint64_t changes;                    /* of these, by the last pass */
};

/* Of a call of the device. */
wcodec_status wcodec_vectors_device_failed(struct wcodec_vectors_device *d, wcodec_status status,
                                           const wcodec_error *reason, wcodec_error *err);

/* Bytes of its memory to the host's, by d->host, which may be smaller. */
wcodec_status wcodec_vectors_device_bring(struct wcodec_vectors_device *d, void *to,
                                          struct wcodec_memory *from, uint64_t at, uint64_t size,
                                          wcodec_error *err);

/* Of indices that came from there: do these rows have anchors that there are? And have some of all
 * rows, when each has its index, the nearest? WCODEC_ERROR_DEVICE. */
wcodec_status wcodec_vectors_device_check(const struct wcodec_vectors_work *work, size_t first,
                                          size_t count, wcodec_error *err);
wcodec_status wcodec_vectors_device_check_some(const struct wcodec_vectors_work *work,
                                               wcodec_error *err);

/* Fill words of 32 bits. */
wcodec_status wcodec_vectors_device_fill(struct wcodec_vectors_device *d,
                                         struct wcodec_queue *queue, struct wcodec_memory *memory,
                                         uint64_t at, uint64_t words, uint8_t byte,
                                         wcodec_error *err);

/* A row as the device has it, of wcodec_vectors_row_size() bytes. */
void wcodec_vectors_device_put_row(const struct wcodec_vectors_device *d,
                                   const wcodec_vector_rows *rows, uint64_t i, uint8_t *to);
uint64_t wcodec_vectors_row_size(const struct wcodec_vectors_shape *s);

/* Memory for so many anchors, of which there are none then. */
wcodec_status wcodec_vectors_device_make_room(struct wcodec_vectors_device *d, size_t anchors,
                                              wcodec_error *err);

/* All of its memory and its queues. */
void wcodec_vectors_device_free(struct wcodec_vectors_device *d);

/* Can less of the rows have room? */
static inline bool wcodec_vectors_is_too_large(wcodec_status status)
{
    return status == WCODEC_ERROR_MEMORY || status == WCODEC_ERROR_LIMIT;
}

/* The shape of parts, the smallest that there are. */
struct wcodec_vectors_shape wcodec_vectors_parts_shape(const struct wcodec_vectors_shape *all);
/* Memory and queues for parts. The CPU finds what anchors begin with. */
wcodec_status wcodec_vectors_parts_begin(struct wcodec_vectors_work *work, wcodec_error *err);
void wcodec_vectors_parts_end(struct wcodec_vectors_device *d);
/* As the functions of device.h. */
wcodec_status wcodec_vectors_parts_iterate(struct wcodec_vectors_work *work,
                                           const struct wcodec_vectors_move *move,
                                           wcodec_vectors_iteration *now, wcodec_error *err);
wcodec_status wcodec_vectors_parts_assign(struct wcodec_vectors_work *work, wcodec_error *err);

#endif
