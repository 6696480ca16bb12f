/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* One source for CUDA, OpenCL C and C11. In C, the 32 lanes of a tile are loops over arrays, so that sanitizers and fuzzers see what a GPU would do; on a GPU a lane is a thread.
 *
 *   WCODEC_EACH_LANE { ... }     a block that every lane runs; `lane` is its number
 *   struct s of[WCODEC_LANE_ROOM]; of[WCODEC_SELF]  what a lane has for itself
 *   WCODEC_BALLOT(mask, condition)  bit l of mask is lane l's condition
 *   WCODEC_ADD_LANES(sum, value)    adds all lanes' values to sum
 *   WCODEC_ORDER()               what lanes stored before, all lanes read after
 *
 * Code outside of WCODEC_EACH_LANE is the same for all lanes. Little-endian machines only. */
#ifndef WCODEC_COMMON_DIALECT_H
#define WCODEC_COMMON_DIALECT_H

#if defined(__OPENCL_VERSION__)
typedef uchar uint8_t;
typedef ushort uint16_t;
typedef uint uint32_t;
typedef int int32_t;
typedef ulong uint64_t;
typedef uintptr_t wcodec_address;
#define WCODEC_DEVICE_FUNCTION static inline
#define WCODEC_GLOBAL __global
#elif defined(__CUDACC__)
#include <stdint.h>
#define WCODEC_DEVICE_FUNCTION static __device__ __forceinline__
#define WCODEC_GLOBAL
#define WCODEC_LANE_ROOM 1
#define WCODEC_SELF 0
#define WCODEC_EACH_LANE for (uint32_t lane = threadIdx.x & 31, next_ = lane + 1; next_ > lane; next_ = lane)
#define WCODEC_BALLOT(mask, condition) (mask) = __ballot_sync(0xffffffffu, (condition))
#define WCODEC_ADD_LANES(sum, value)                                                \
    do {                                                                            \
        const uint32_t lane = threadIdx.x & 31;                                     \
        uint32_t share_ = (value);                                                  \
        for (int i_ = 16; i_; i_ /= 2)                                              \
            share_ += __shfl_xor_sync(0xffffffffu, share_, i_);                     \
        (sum) += share_;                                                            \
    } while (0)
#define WCODEC_POPCOUNT(x) ((uint32_t)__popc(x))
#define WCODEC_ORDER() __syncwarp()
#else
#include <stdbool.h>
#include <stdint.h>
#define WCODEC_DEVICE_FUNCTION static inline
#define WCODEC_GLOBAL
#define WCODEC_LANE_ROOM 32
#define WCODEC_SELF lane
#define WCODEC_EACH_LANE for (uint32_t lane = 0; lane < 32; lane++)
#define WCODEC_BALLOT(mask, condition)                     \
    do {                                                   \
        (mask) = 0;                                        \
        for (uint32_t lane = 0; lane < 32; lane++)         \
            (mask) |= (uint32_t)((condition) != 0) << lane; \
    } while (0)
#define WCODEC_ADD_LANES(sum, value)                       \
    do {                                                   \
        for (uint32_t lane = 0; lane < 32; lane++)         \
            (sum) += (value);                              \
    } while (0)
#define WCODEC_POPCOUNT(x) ((uint32_t)__builtin_popcount(x))
#define WCODEC_ORDER() ((void)0)
#endif

#endif
