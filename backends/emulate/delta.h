/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The emulated device's hashes of tensors, and deltas that change them. */
#ifndef WCODEC_EMULATE_DELTA_H
#define WCODEC_EMULATE_DELTA_H

#include "backends/backend.h"

extern const struct wcodec_backend_deltas wcodec_emulated_deltas;

#endif
