/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* A check-only plugin of another version: after the number nothing is what this version expects. */
#include "backends/backend.h"

struct other_backend {
    uint32_t abi;
    uint32_t rest[3];
};

WCODEC_API extern const struct other_backend wcodec_backend_fakeabi;
const struct other_backend wcodec_backend_fakeabi = {WCODEC_BACKEND_ABI + 1, {~0u, ~0u, ~0u}};
