/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The emulated device's rollouts of recurrent models. */
#ifndef WCODEC_EMULATE_ROLLOUT_H
#define WCODEC_EMULATE_ROLLOUT_H

#include "backends/backend.h"

extern const struct wcodec_backend_rollouts wcodec_emulated_rollouts;

/* For tests: parts of a member run one after the other, and wait in vain. */
extern bool wcodec_emulated_rollouts_apart;

#endif
