/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* A check-only plugin that calls itself otherwise than its file. */
#include "backends/backend.h"

WCODEC_API extern const struct wcodec_backend wcodec_backend_fakename;
const struct wcodec_backend wcodec_backend_fakename = {WCODEC_BACKEND_HEAD, .name = "cuda"};
