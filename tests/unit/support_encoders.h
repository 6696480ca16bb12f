/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* What every device that codes matrices must do alike. */
#ifndef WCODEC_TESTS_UNIT_ENCODERS_SUPPORT_H
#define WCODEC_TESTS_UNIT_ENCODERS_SUPPORT_H

#include "backends/backend.h"

/* Random matrices: what is measured and what is written, against the reference; fails the running
 * cmocka test. */
void support_encoders(const struct wcodec_backend *backend, struct wcodec_device *device,
                      unsigned matrices);

#endif
