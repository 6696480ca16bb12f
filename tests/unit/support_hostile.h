/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Damaged payloads, as every backend must take them: tile for tile the reference's fault, zeros in
 * place of the tensor, nothing written beside it, and the device decodes the known tensors
 * afterwards. */
#ifndef WCODEC_TESTS_UNIT_HOSTILE_SUPPORT_H
#define WCODEC_TESTS_UNIT_HOSTILE_SUPPORT_H

#include "backends/backend.h"

/* Batches of good and damaged tensors, by one thread after the other three at once, each with a
 * queue of its own. small: little and by one thread, for slow simulators. Fails the running cmocka
 * test. */
void support_hostile(const struct wcodec_backend *backend, struct wcodec_device *device,
                     bool small);

/* Small tensors of each profile with one bit flipped, in structures, streams, raw bits, outliers:
 * every stride-th bit (of all profiles but P12 every 7 * stride-th). With WCODEC_TEST_EXHAUSTIVE
 * set every one. */
void support_flips(const struct wcodec_backend *backend, struct wcodec_device *device,
                   uint64_t stride);

/* Payload and output beyond the first 4 GiB of memories of the device, and on a GPU one tensor of
 * more. Skipped, and said, where there is no such memory. */
void support_far(const struct wcodec_backend *backend, struct wcodec_device *device,
                 const struct wcodec_device_listing *listing);

#endif
