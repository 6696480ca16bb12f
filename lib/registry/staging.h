/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Buffers of a device, or in host memory beside it, that grow, and whose memory the device keeps
 * from one use to the next. */
#ifndef WCODEC_REGISTRY_STAGING_H
#define WCODEC_REGISTRY_STAGING_H

#include "registry/registry.h"

/* Whose buffers they are. */
struct wcodec_staging_owner {
    wcodec_context *context;
    struct wcodec_opened *device;
    const char *purpose;       /* "loading", for error texts */
    uint64_t limit;            /* most bytes of host memory */
    atomic_uint_fast64_t held; /* bytes of host memory */
};

struct wcodec_staging {
    struct wcodec_memory *memory;
    uint8_t *plain; /* in place of pinned memory that there is none of */
    uint8_t *data;  /* where the host sees it; NULL: it does not */
    uint64_t size;
    enum wcodec_memory_kind kind;
};

/* At least `size` bytes; contents are lost when it grows. PINNED: plain memory where there is no
 * pinned. From any thread. WCODEC_ERROR_MEMORY, _LIMIT, _DEVICE. */
wcodec_status wcodec_staging_reserve(struct wcodec_staging_owner *owner,
                                     struct wcodec_staging *staging, enum wcodec_memory_kind kind,
                                     uint64_t size, wcodec_error *err);

/* Count host memory of another kind, which the owner takes off `held` when it is freed.
 * WCODEC_ERROR_LIMIT: there would be more than its limit; nothing is counted. */
wcodec_status wcodec_staging_hold(struct wcodec_staging_owner *owner, uint64_t size,
                                  wcodec_error *err);

/* Memory of kind DEVICE, which counts where it is the host's; *memory NULL: nothing is freed.
 * WCODEC_ERROR_MEMORY, _LIMIT, _DEVICE. */
wcodec_status wcodec_staging_allocate(struct wcodec_staging_owner *owner, uint64_t size,
                                      struct wcodec_memory **memory, wcodec_error *err);
void wcodec_staging_free(struct wcodec_staging_owner *owner, uint64_t size,
                         struct wcodec_memory **memory);

/* No queue may work on it any more. */
void wcodec_staging_release(struct wcodec_staging_owner *owner, struct wcodec_staging *staging);

#endif
