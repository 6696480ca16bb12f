/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The emulated device's products, and rows of what is resident. */
#ifndef WCODEC_EMULATE_PRODUCT_H
#define WCODEC_EMULATE_PRODUCT_H

#include "backends/backend.h"

extern const struct wcodec_backend_products wcodec_emulated_products;

#endif
