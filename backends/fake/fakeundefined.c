/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* A check-only plugin that cannot be opened: it needs a function that nobody has. */
#include "backends/backend.h"

WCODEC_API extern const struct wcodec_backend wcodec_backend_fakeundefined;
extern void wcodec_fake_function_of_nobody(struct wcodec_backend_state *state);

const struct wcodec_backend wcodec_backend_fakeundefined = {
    WCODEC_BACKEND_HEAD, .name = "fakeundefined", .close = wcodec_fake_function_of_nobody};
