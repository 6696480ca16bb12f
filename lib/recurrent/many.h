/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Rollouts of many starts: each by itself, or thousands at once by a device's tensor cores. */
#ifndef WCODEC_RECURRENT_MANY_H
#define WCODEC_RECURRENT_MANY_H

#include "recurrent/rssm.h"

/* What a call is about. */
struct wcodec_rssm_many {
    const wcodec_rssm *rssm;
    const wcodec_rssm_starts *starts;
    const wcodec_rssm_courses *courses;
    size_t steps;
    uint8_t *alone; /* [count]: tensor cores do not take it; NULL: they are not asked */
};

/* One of the starts, as a rollout by itself. */
struct wcodec_rssm_start {
    wcodec_rssm_input input;
    wcodec_rssm_output output;
    double entropy[WCODEC_RSSM_MEMBERS_MOST];
    struct wcodec_rssm_tasks tasks;
};

/* memory: as wcodec_rssm_run has it. */
void wcodec_rssm_start_at(const struct wcodec_rssm_many *many, size_t start, float *memory,
                          struct wcodec_rssm_start *to);

/* Its members are done, with their entropies. */
void wcodec_rssm_start_end(const struct wcodec_rssm_many *many, size_t start,
                           const struct wcodec_rssm_start *of);

/* Weights for tensor cores, and what works with them. */
struct wcodec_rssm_tensor;

/* Bring an ensemble's weights to its device once more, as its tensor cores take them; *tensor is
 * NULL where the options do not ask for it, or the device has no such form. */
wcodec_status wcodec_rssm_tensor_create(const wcodec_rssm *rssm, const wcodec_rssm_options *options,
                                        const wcodec_gru_weights *members,
                                        struct wcodec_rssm_tensor **tensor, wcodec_error *err);
void wcodec_rssm_tensor_destroy(struct wcodec_rssm_tensor *tensor);

/* Roll out all starts but those that it marks in `alone`. From any thread, one at a time.
 * WCODEC_ERROR_UNSUPPORTED: all are to be rolled out one by one. */
wcodec_status wcodec_rssm_tensor_run(struct wcodec_rssm_tensor *tensor,
                                     const struct wcodec_rssm_many *many, wcodec_error *err);

#endif
