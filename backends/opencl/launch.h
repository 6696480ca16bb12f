/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* What a launch is told beside its buffers, for the host and for kernels: one argument, since
 * NVIDIA's driver takes 0.13 us for each. */
#ifndef WCODEC_OPENCL_LAUNCH_H
#define WCODEC_OPENCL_LAUNCH_H

#ifndef __OPENCL_VERSION__
#include <stdint.h>
#endif

struct wcodec_opencl_arguments {
    uint64_t jobs, parts, numbers; /* offsets in the block; kernels say of what */
    uint32_t faults;               /* words in front of the set's first fault in the block */
    uint32_t first, active, queue;
    uint32_t serial; /* of the decoding */
    uint32_t zero;   /* which the compiler cannot see */
};

#endif
