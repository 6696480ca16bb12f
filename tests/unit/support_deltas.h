/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* What every device that changes weights by deltas must do alike. */
#ifndef WCODEC_TESTS_UNIT_DELTAS_SUPPORT_H
#define WCODEC_TESTS_UNIT_DELTAS_SUPPORT_H

#include "backends/backend.h"

/* Random leaves and deltas, good and damaged, against the reference; fails the running cmocka
 * test. */
void support_deltas(const struct wcodec_backend *backend, struct wcodec_device *device,
                    unsigned tensors);

#endif
