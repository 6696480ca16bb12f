/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The backends of a context: which there are, which one it decodes with, and why not with the
 * others. */
#ifndef WCODEC_REGISTRY_REGISTRY_H
#define WCODEC_REGISTRY_REGISTRY_H

#include "registry/keep.h"
#include "backends/backend.h"
#include "core/context.h"
#include <stdatomic.h>

/* An open device. */
struct wcodec_opened {
    const struct wcodec_backend *backend;
    struct wcodec_device *device;
    unsigned index;
    char name[48]; /* "cuda:0" */
    struct wcodec_device_listing listing;
    bool cpu_allowed; /* should the device fail, the CPU may go on: chosen by "auto", or a list that
                         has "cpu" */
    atomic_bool lost; /* it has failed and is used no more */
    char loss[200];   /* why; set before `lost` */
    struct wcodec_keep keep;
};

/* Parse the context's choice. Only backends asked for by name are opened. WCODEC_ERROR_USAGE,
 * WCODEC_ERROR_MEMORY, WCODEC_ERROR_BACKEND. Sets context->backends. */
wcodec_status wcodec_backends_create(wcodec_context *context, wcodec_error *err);

/* Close all devices and backends. In a forked process (abandon) only memory is freed that is the
 * registry's own. NULL is ignored. */
void wcodec_backends_destroy(struct wcodec_backends *backends, bool abandon);

/* The device that the context decodes with: opened and tried on first use, the CPU's in place of
 * one that was lost (if the choice allows it, else WCODEC_ERROR_DEVICE). Thread-safe. */
wcodec_status wcodec_backends_device(wcodec_context *context, struct wcodec_opened **opened,
                                     wcodec_error *err);

/* Was none of them asked for by name, so that the CPU is right wherever it is faster? */
bool wcodec_backends_are_automatic(const wcodec_context *context);

/* The CPU's device, opened on first use. Thread-safe. */
wcodec_status wcodec_backends_cpu(wcodec_context *context, struct wcodec_opened **opened,
                                  wcodec_error *err);

/* Take a device out of use, with a warning that says why. */
void wcodec_backends_lose(wcodec_context *context, struct wcodec_opened *opened,
                          const char *reason);

/* Memory of the device; what is kept of it for later uses is freed for it. */
wcodec_status wcodec_opened_allocate(struct wcodec_opened *opened, enum wcodec_memory_kind kind,
                                     uint64_t size, struct wcodec_memory **memory,
                                     wcodec_error *err);

/* The context's device, if it is one of the backend `memory`, which is not NULL: what is to stay in
 * its memory is not put elsewhere. WCODEC_ERROR_BACKEND, and what wcodec_backends_device()
 * returns. */
wcodec_status wcodec_backends_device_of(wcodec_context *context, const char *memory,
                                        struct wcodec_opened **opened, wcodec_error *err);

/* Callers' memory must not be mistaken for this device's: `memory`, which is not NULL, names the
 * backend whose it is, and `what` what it holds ("destinations"). WCODEC_ERROR_BACKEND,
 * WCODEC_ERROR_UNSUPPORTED. */
wcodec_status wcodec_opened_check_memory(const struct wcodec_opened *opened, const char *memory,
                                         const char *what, wcodec_error *err);

/* A handle for `size` bytes of a caller's memory from `native` on, which begin at *offset of it:
 * handles are of addresses at multiples of 16 bytes. As backends' memory_adopt(). */
wcodec_status wcodec_opened_adopt(struct wcodec_opened *opened, uint64_t native, uint64_t size,
                                  struct wcodec_memory **memory, uint64_t *offset,
                                  wcodec_error *err);

/* A mark after what a caller's queue was given until now. */
wcodec_status wcodec_opened_mark(struct wcodec_opened *opened, uint64_t native_queue,
                                 struct wcodec_event **event, wcodec_error *err);

/* A call of the device failed, for the reason in `reason`: the error that the caller is told. A
 * device that is at fault is taken out of use. */
wcodec_status wcodec_backends_failed(wcodec_context *context, struct wcodec_opened *opened,
                                     wcodec_status status, const wcodec_error *reason,
                                     wcodec_error *err);

#endif
