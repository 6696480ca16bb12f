/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* A check-only plugin that is none: a shared object with another symbol. */
#include <wcodec/base.h>

WCODEC_API extern const int wcodec_backend_other;
const int wcodec_backend_other = 1;
