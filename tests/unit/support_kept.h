/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Tests of tensors that a device keeps coded. */
#ifndef WCODEC_TESTS_UNIT_KEPT_SUPPORT_H
#define WCODEC_TESTS_UNIT_KEPT_SUPPORT_H

#include "backends/backend.h"

/* Random tensors of all codings in tiles, whole and by parts, to several places; and damaged ones.
 */
void support_kept(const struct wcodec_backend *backend, struct wcodec_device *device,
                  unsigned tensors);

#endif
