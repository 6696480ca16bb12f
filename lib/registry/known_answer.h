/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* A small tensor whose decoded bytes are known: what every device must decode before it is trusted.
 */
#ifndef WCODEC_REGISTRY_KNOWN_ANSWER_H
#define WCODEC_REGISTRY_KNOWN_ANSWER_H

#include "backends/backend.h"

/* Decode the known tensors on a device and compare. Those that it does not support are left out.
 * WCODEC_ERROR_DEVICE: something differs; other errors are the device's own. */
wcodec_status wcodec_known_answer_check(const struct wcodec_backend *backend,
                                        struct wcodec_device *device,
                                        const wcodec_allocator *allocator, wcodec_error *err);

#endif
