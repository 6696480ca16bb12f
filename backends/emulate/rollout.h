/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The emulated device's rollouts of recurrent models. */
#ifndef WCODEC_EMULATE_ROLLOUT_H
#define WCODEC_EMULATE_ROLLOUT_H

#include "backends/backend.h"

extern const struct wcodec_backend_rollouts wcodec_emulated_rollouts;

/* For tests: parts of a member run one after the other, and wait in vain. */
extern bool wcodec_emulated_rollouts_apart;

/* For tests: parts of a member are a cluster, as on CUDA devices, and do not meet in memory. */
extern bool wcodec_emulated_rollouts_clusters;

/* A launch of clusters. */
struct wcodec_rollout_launch;
wcodec_status wcodec_emulated_rollout_clusters(const struct wcodec_host *host,
                                               const struct wcodec_rollout_plan *plan,
                                               const struct wcodec_rollout_launch *launch,
                                               uint64_t seed, wcodec_error *err);

/* A launch of those of many starts, of two parts. */
struct wcodec_recurrence_launch;
wcodec_status wcodec_emulated_rollout_groups(const struct wcodec_host *host,
                                             const struct wcodec_rollout_plan *plan,
                                             const struct wcodec_recurrence_launch *launch,
                                             uint32_t shared, uint64_t seed, wcodec_error *err);

#endif
