/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Lanes that are loops (dialect.h): of C, and of an OpenCL work-item. */
#ifndef WCODEC_KERNELS_DIALECT_LOOPS_H
#define WCODEC_KERNELS_DIALECT_LOOPS_H

#define WCODEC_LANES_OF 32
#define WCODEC_SELF lane
#define WCODEC_EACH_LANE for (uint32_t lane = 0; lane < 32; lane++)
#define WCODEC_BALLOT(mask, condition) \
    do { \
        (mask) = 0; \
        for (uint32_t lane = 0; lane < 32; lane++) \
            (mask) |= (uint32_t)((condition) != 0) << lane; \
    } while (0)
#define WCODEC_ADD_LANES(sum, value) \
    do { \
        for (uint32_t lane = 0; lane < 32; lane++) \
            (sum) += (value); \
    } while (0)
#define WCODEC_ORDER() ((void)0)
#define WCODEC_LOCAL_ORDER() ((void)0)

#endif
