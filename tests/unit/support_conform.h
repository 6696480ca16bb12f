/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* What every backend must do alike: the same checks for the CPU's and for each plugin. */
#ifndef WCODEC_TESTS_UNIT_CONFORM_SUPPORT_H
#define WCODEC_TESTS_UNIT_CONFORM_SUPPORT_H

#include "backends/backend.h"

/* Run all checks on device number `device` of an open backend; fails the running cmocka test. */
void support_conform(const struct wcodec_backend *backend, struct wcodec_backend_state *state,
                     unsigned device);

#endif
