/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* What the core hands to backends. */
#ifndef WCODEC_REGISTRY_HOST_H
#define WCODEC_REGISTRY_HOST_H

#include "backends/backend.h"
#include "core/context.h"

/* The services of a context. */
void wcodec_host_init(struct wcodec_host *host, wcodec_context *context);

#endif
