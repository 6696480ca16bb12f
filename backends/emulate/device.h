/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* A GPU for tests: the CPU backend's memory and queues, and batches by the GPUs' kernels as C
 * (kernels.h), planned as for a GPU. What the device is like depends on the batch, so that launches
 * of all kinds are seen. It needs fibers (wcodec_fibers_supported()). */
#ifndef WCODEC_EMULATE_DEVICE_H
#define WCODEC_EMULATE_DEVICE_H

#include "backends/backend.h"

struct wcodec_backend wcodec_emulated_backend(void);

/* The kernels that this process has launched so far: bit k is enum wcodec_kernel k's. */
uint64_t wcodec_emulated_kernels(void);

#endif
