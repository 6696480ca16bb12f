/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* What every device with WCODEC_DEVICE_PRODUCTS must do alike. */
#ifndef WCODEC_TESTS_UNIT_PRODUCTS_SUPPORT_H
#define WCODEC_TESTS_UNIT_PRODUCTS_SUPPORT_H

#include "backends/backend.h"

/* Products with random matrices against sums in double precision, and rows of them against the
 * elements; fails the running cmocka test. */
void support_products(const struct wcodec_backend *backend, struct wcodec_device *device,
                      unsigned matrices);

/* The same of many vectors at once by several work-groups that share vectors and columns (struct
 * wcodec_backend_products, wide_room()): matrices of some bands of 128 rows, and more tiles than
 * parts. large: also such as have more tiles for a work-group than it has stages, and more rows
 * than all work-groups at a time; some seconds. */
void support_products_wide(const struct wcodec_backend *backend, struct wcodec_device *device,
                           unsigned matrices, bool large);

/* A number of BF16, F16, F32, I8, U8, F8_E4M3 or F8_E5M2. */
double support_number(wcodec_dtype dtype, const uint8_t *at);

#endif
