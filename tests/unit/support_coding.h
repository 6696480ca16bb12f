/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* What every device that codes tensors in tiles must do alike. */
#ifndef WCODEC_TESTS_UNIT_CODING_SUPPORT_H
#define WCODEC_TESTS_UNIT_CODING_SUPPORT_H

#include "backends/backend.h"

/* Random tensors of all types, coded by the device and by the CPU's encoder from the same plan: the
 * same bytes, of which at least some come of each mode; fails the running cmocka test. must: the
 * device does code tensors. */
void support_coding(const struct wcodec_backend *backend, struct wcodec_device *device,
                    unsigned tensors, bool must);

#endif
