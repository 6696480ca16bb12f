/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Queues of the fake device: what they are given is done only when somebody waits, as late as a
 * device may. So memory that is let go or used again too early is found, and errors come late. */
#ifndef WCODEC_FAKE_QUEUE_H
#define WCODEC_FAKE_QUEUE_H

#include "backends/cpu/batch.h"
#include "core/memory.h"

struct fake_operation {
    struct fake_operation *next;
    uint64_t number;
    struct wcodec_batch *batch; /* to decode; NULL: bytes to move, or to fill */
    uint8_t *wrong;             /* a byte that is to be spoilt; may be NULL */
    uint8_t *to;
    const uint8_t *from;
    uint64_t size;
    uint8_t element[8];
    unsigned element_log2;
    /* To measure or code; NULL: none of these. */
    wcodec_status (*step)(struct wcodec_queue *queue, const struct wcodec_matrix *matrix,
                          wcodec_error *err);
    struct wcodec_matrix matrix;
    struct wcodec_fixed fixed;
};

struct fake_queue {
    struct wcodec_queue cpu;
    const struct wcodec_host *host;
    uint64_t given; /* number of the last operation */
    struct fake_operation *first, **last;
};

void fake_queue_init(struct fake_queue *queue, struct wcodec_device *device,
                     const struct wcodec_host *host);

/* Copied. False: out of memory. */
bool fake_queue_give(struct fake_queue *queue, const struct fake_operation *operation);

/* Do what was given up to operation number `number`; what follows a failure is dropped. */
wcodec_status fake_queue_run(struct fake_queue *queue, uint64_t number, wcodec_error *err);

/* Drop what was given. */
void fake_queue_drop(struct fake_queue *queue);

#endif
