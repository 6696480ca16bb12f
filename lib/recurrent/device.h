/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* An ensemble whose weights are in a device's memory. */
#ifndef WCODEC_RECURRENT_DEVICE_H
#define WCODEC_RECURRENT_DEVICE_H

#include "recurrent/rssm.h"

struct wcodec_rssm_device;

/* Bring an ensemble's weights, which are good, to where `memory` (wcodec_rssm_options) says;
 * *device is NULL where that is the CPU's, or the device has no room for these sizes. */
wcodec_status wcodec_rssm_device_create(const wcodec_rssm *rssm, const char *memory,
                                        const wcodec_gru_weights *members,
                                        struct wcodec_rssm_device **device, wcodec_error *err);
void wcodec_rssm_device_destroy(struct wcodec_rssm_device *device);

/* Roll out all members, as wcodec_rssm_run_member() does: outputs, entropies, and what
 * wcodec_rssm_run_hidden() and _stochastic() are. From any thread, one at a time.
 * WCODEC_ERROR_UNSUPPORTED: the CPU is to do it. */
wcodec_status wcodec_rssm_device_run(struct wcodec_rssm_device *device,
                                     struct wcodec_rssm_tasks *tasks, wcodec_error *err);

/* Name of its backend. */
const char *wcodec_rssm_device_name(const struct wcodec_rssm_device *device);

/* Has the CPU taken its place? From any thread. */
bool wcodec_rssm_device_is_left(struct wcodec_rssm_device *device);

#endif
