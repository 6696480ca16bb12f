/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The few things that CUDA C++ does not say: shared memory by 32-bit addresses, asynchronous
 * copies, and a renormalisation whose predicate serves ballot and fetch. */
#ifndef WCODEC_CUDA_DEVICE_CUH
#define WCODEC_CUDA_DEVICE_CUH

#include "backends/cuda/geometry.h"

#include "backends/kernels/jobs.h"
#include "backends/kernels/rans.h"

#define WCODEC_INLINE static __device__ __forceinline__

WCODEC_INLINE uint32_t thread()
{
    uint32_t t;
    asm volatile("mov.u32 %0, %%tid.x;" : "=r"(t));
    return t;
}

WCODEC_INLINE uint32_t add_lanes(uint32_t v)
{
#if __CUDA_ARCH__ >= 800
    asm volatile("redux.sync.add.u32 %0, %0, 0xffffffff;" : "+r"(v));
    return v;
#else
#pragma unroll
    for (int i = 16; i; i /= 2)
        v += __shfl_xor_sync(~0u, v, i);
    return v;
#endif
}

WCODEC_INLINE uint32_t rotate_right(uint32_t v, uint32_t n)
{
    return __funnelshift_r(v, v, n);
}

/* Bits of a where the mask has ones, of b elsewhere: one instruction, if the compiler does not see
 * what it is. */
template <uint32_t MASK> WCODEC_INLINE uint32_t select_bits(uint32_t a, uint32_t b)
{
    uint32_t v;
    asm("lop3.b32 %0, %1, %2, %3, 0xe4;" : "=r"(v) : "r"(a), "r"(b), "n"(MASK));
    return v;
}

/* Raw bits are read once. */
WCODEC_INLINE uint32_t load_u32(const char *from)
{
    uint32_t v;
    asm volatile("ld.global.cs.u32 %0, [%1];" : "=r"(v) : "l"(from));
    return v;
}

WCODEC_INLINE uint32_t load_u16(const char *from)
{
    uint32_t v;
    asm volatile("ld.global.cs.u16 %0, [%1];" : "=r"(v) : "l"(from));
    return v;
}

WCODEC_INLINE uint32_t shared_u16(uint32_t address)
{
    uint32_t v;
    asm volatile("ld.shared.u16 %0, [%1];" : "=r"(v) : "r"(address));
    return v;
}

WCODEC_INLINE uint32_t shared_u32(uint32_t address)
{
    uint32_t v;
    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(v) : "r"(address));
    return v;
}

WCODEC_INLINE uint2 shared_u64(uint32_t address)
{
    uint2 v;
    asm volatile("ld.shared.v2.u32 {%0, %1}, [%2];" : "=r"(v.x), "=r"(v.y) : "r"(address));
    return v;
}

WCODEC_INLINE void copy_async_16(uint32_t to, const char *from)
{
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.cg.shared.global.L2::256B [%0], [%1], 16;" ::"r"(to), "l"(from)
                 : "memory");
#else
    const uint4 v = *(const uint4 *)from;
    asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(v.x), "r"(v.y), "r"(v.z),
                 "r"(v.w)
                 : "memory");
#endif
}

WCODEC_INLINE void copy_async_commit()
{
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

template <int PENDING> WCODEC_INLINE void copy_async_wait()
{
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_group %0;" ::"n"(PENDING) : "memory");
#endif
}

/* In this place of the program. */
WCODEC_INLINE uint4 load_u128(const uint4 *from)
{
    uint4 v;
    asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "l"(from));
    return v;
}

/* Output is not read again here: it is kept out of L1. */
WCODEC_INLINE void store_u32(char *to, uint32_t v)
{
    asm volatile("st.global.L1::no_allocate.u32 [%0], %1;" ::"l"(to), "r"(v) : "memory");
}

WCODEC_INLINE void store_u64(char *to, uint2 v)
{
    asm volatile("st.global.L1::no_allocate.v2.u32 [%0], {%1, %2};" ::"l"(to), "r"(v.x), "r"(v.y)
                 : "memory");
}

WCODEC_INLINE void store_u128(char *to, uint4 v)
{
    asm volatile("st.global.cs.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(to), "r"(v.x), "r"(v.y),
                 "r"(v.z), "r"(v.w)
                 : "memory");
}

WCODEC_INLINE void prefetch_l2(const char *address)
{
    asm volatile("prefetch.global.L2 [%0];" ::"l"(address));
}

/* Lanes whose state is low take the next words, in lane order: `at` is the shared address of the
 * first word not taken. */
WCODEC_INLINE void renormalise(uint32_t &state, uint32_t &at, uint32_t lanes_below)
{
    asm volatile("{\n"
                 " .reg .pred low;\n"
                 " .reg .b32 mask, rank, total;\n"
                 " setp.lo.u32 low, %0, 0x10000;\n"
                 " vote.sync.ballot.b32 mask, low, 0xffffffff;\n"
                 " and.b32 rank, mask, %2;\n"
                 " popc.b32 rank, rank;\n"
                 " popc.b32 total, mask;\n"
                 " mad.lo.u32 rank, rank, 2, %1;\n"
                 " mad.lo.u32 %1, total, 2, %1;\n"
                 " ld.shared.u16 rank, [rank];\n"
                 " @low mad.lo.u32 %0, %0, 0x10000, rank;\n"
                 "}"
                 : "+r"(state), "+r"(at)
                 : "r"(lanes_below)
                 : "memory");
}

#endif
