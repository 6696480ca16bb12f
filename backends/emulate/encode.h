/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The emulated device's coding of tensors in tiles. */
#ifndef WCODEC_EMULATE_ENCODE_H
#define WCODEC_EMULATE_ENCODE_H

#include "backends/backend.h"

extern const struct wcodec_backend_encoders wcodec_emulated_encoders;

#endif
