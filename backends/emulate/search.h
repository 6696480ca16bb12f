/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The emulated device's search in coded vectors. */
#ifndef WCODEC_EMULATE_SEARCH_H
#define WCODEC_EMULATE_SEARCH_H

#include "backends/backend.h"

extern const struct wcodec_backend_searches wcodec_emulated_searches;

#endif
