/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Products with decoded elements by a backend, beside sums in double precision. */
#ifndef WCODEC_TESTS_UNIT_SUPPORT_DENSE_H
#define WCODEC_TESTS_UNIT_SUPPORT_DENSE_H

#include "backends/backend.h"

void support_dense(const struct wcodec_backend *backend, struct wcodec_device *device,
                   unsigned products);

#endif
