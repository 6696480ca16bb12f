/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The emulated device's anchors of vectors. */
#ifndef WCODEC_EMULATE_VECTORS_H
#define WCODEC_EMULATE_VECTORS_H

#include "backends/backend.h"

extern const struct wcodec_backend_vectors wcodec_emulated_vectors;

#endif
