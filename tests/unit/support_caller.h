/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* A queue as a caller of the library has it, to whose native handle launches are given. */
#ifndef WCODEC_TESTS_UNIT_CALLER_SUPPORT_H
#define WCODEC_TESTS_UNIT_CALLER_SUPPORT_H

#include "backends/backend.h"

struct support_caller {
    struct wcodec_queue *queue;
    uint64_t
        native;  /* CUDA has one of number 0; others, for tests, do at once what they are told */
    bool opencl; /* native memory is a buffer, and no address */
    void *library;
};

/* Of a device; fails the running cmocka test. */
void support_caller_begin(const struct wcodec_backend *backend, struct wcodec_device *device,
                          struct support_caller *caller);
void support_caller_end(const struct wcodec_backend *backend, struct support_caller *caller);

#endif
