/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#ifndef WCODEC_FUZZ_DEVICE_H
#define WCODEC_FUZZ_DEVICE_H

#include <wcodec/context.h>

/* A context whose device is the fake plugin's, which computes by the GPUs' kernels as C: memory of
 * the backend "fake". NULL where there is none: a static build, or a machine without fibers. The
 * plugin is looked for in WCODEC_BACKEND_PATH, or else in the build tree (top_builddir). */
wcodec_context *fuzz_device_context(void);

#endif
