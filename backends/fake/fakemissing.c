/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* A check-only plugin that has the first function only. */
#include "backends/backend.h"

WCODEC_API extern const struct wcodec_backend wcodec_backend_fakemissing;

static wcodec_status missing_open(const struct wcodec_host *host,
                                  struct wcodec_backend_state **state, wcodec_error *err)
{
    (void)state;
    return host->fail(err, WCODEC_ERROR_BACKEND, "never called");
}

const struct wcodec_backend wcodec_backend_fakemissing = {
    WCODEC_BACKEND_HEAD, .name = "fakemissing", .open = missing_open};
