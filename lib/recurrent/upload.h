/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Weights on their way to a device, in the order in which it reads them (wcodec_rollout_plan). */
#ifndef WCODEC_RECURRENT_UPLOAD_H
#define WCODEC_RECURRENT_UPLOAD_H

#include "registry/staging.h"

#include <wcodec/recurrent.h>

enum { WCODEC_UPLOAD_GATES = 3 };

/* Of a member, gates z, r, h. Matrices are in blocks of rows: [H / block, columns, block]; a block
 * of 1 is row by row. */
struct wcodec_recurrent_weights {
    const float *w[WCODEC_UPLOAD_GATES], *u[WCODEC_UPLOAD_GATES];
    const float *b[WCODEC_UPLOAD_GATES]; /* NULL: zeros */
    const float *c;                      /* of a unit by itself: c_h */
    const float *head;                   /* of an ensemble by tensor cores: [H + S] */
    size_t block;
};

/* Where they go, by way of `host`. */
struct wcodec_recurrent_upload {
    struct wcodec_staging_owner *owner;
    struct wcodec_staging *host;
    struct wcodec_queue *queue;
    struct wcodec_memory *memory;
    const struct wcodec_rollout_plan *plan;
};

/* The context's device, which has rollouts, as wcodec_backends_device_of().
 * WCODEC_ERROR_UNSUPPORTED.
 */
wcodec_status wcodec_recurrent_device_of(wcodec_context *context, const char *memory,
                                         struct wcodec_opened **opened, wcodec_error *err);

/* All parts of a member, one by one; the queue has done it then. */
wcodec_status wcodec_recurrent_upload(const struct wcodec_recurrent_upload *upload, uint64_t member,
                                      const struct wcodec_recurrent_weights *weights,
                                      wcodec_error *err);

/* Of all members of an ensemble; a plan by tiles has the head, too. */
wcodec_status wcodec_recurrent_upload_members(const struct wcodec_recurrent_upload *upload,
                                              const wcodec_gru_weights *members, size_t count,
                                              const float *head, wcodec_error *err);

#endif
