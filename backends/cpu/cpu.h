/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The CPU backend, which is part of the library. */
#ifndef WCODEC_CPU_H
#define WCODEC_CPU_H

#include "backends/backend.h"

/* One device. Memory is host memory, queues work at once in the calling thread and the host's
 * threads, events have always passed. It decodes every tiling. */
extern const struct wcodec_backend wcodec_backend_cpu;

#endif
