/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* A check-only plugin whose jobs have a member more, though its ABI number is ours. */
#include "backends/backend.h"

#define OTHER_SIZE(name) \
    (sizeof(struct name) == sizeof(struct wcodec_job) ? 8 : 0) + sizeof(struct name),

WCODEC_API extern const struct wcodec_backend wcodec_backend_fakesize;
const struct wcodec_backend wcodec_backend_fakesize = {
    .abi = WCODEC_BACKEND_ABI,
    .sizes = {WCODEC_BACKEND_STRUCTURES(OTHER_SIZE)},
    .name = "fakesize"};
