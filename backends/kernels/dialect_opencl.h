/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* OpenCL C 1.2 (dialect.h). A device takes one of four forms: one work-item with loops as in C
 * (WCODEC_OPENCL_LOOPS), or 32 that vote through local memory, each a work-group of its own
 * (WCODEC_OPENCL_LOCAL), by sub-groups (WCODEC_OPENCL_SUBGROUP), or by NVIDIA's instructions
 * (WCODEC_OPENCL_NVIDIA), which its compiler takes as assembly. */
#ifndef WCODEC_KERNELS_DIALECT_OPENCL_H
#define WCODEC_KERNELS_DIALECT_OPENCL_H

typedef uchar uint8_t;
typedef ushort uint16_t;
typedef uint uint32_t;
typedef int int32_t;
typedef ulong uint64_t;
typedef uint2 wcodec_u2;
typedef uint4 wcodec_u4;
#define wcodec_make_u2(a, b) ((uint2)(a, b))
#define wcodec_make_u4(a, b, c, d) ((uint4)(a, b, c, d))

#define WCODEC_ALIGNED_16 __attribute__((aligned(16)))
#define WCODEC_DEVICE_FUNCTION static inline __attribute__((always_inline))
#define WCODEC_GLOBAL __global
#define WCODEC_GROUP_LOCAL __local /* whatever a lane is */
#define WCODEC_POPCOUNT(x) popcount((uint32_t)(x))
#define WCODEC_SIGNED(wide, v) ((wide) ? (int32_t)(short)(v) : (int32_t)(char)(v))
#define WCODEC_FLOAT_BITS(f) as_uint(f)
#define WCODEC_FMA(a, b, c) fma(a, b, c)
#ifdef WCODEC_OPENCL_NVIDIA
#define WCODEC_EXP2(x) wcodec_exp2(x)
#define WCODEC_RECIPROCAL(x) wcodec_reciprocal(x)
#else
#define WCODEC_EXP2(x) exp2(x)
#define WCODEC_RECIPROCAL(x) (1.0f / (x))
#endif
#define WCODEC_READ_16(v, from) vstore4(*(const __global uint4 *)(from), 0, (v))
#define WCODEC_LOAD_FLOATS(v, from) vstore4(*(const __global float4 *)(from), 0, (v))
#ifdef WCODEC_OPENCL_NVIDIA
#define WCODEC_PASS_FLOATS(v, from) wcodec_pass_floats(v, from)
#else
#define WCODEC_PASS_FLOATS(v, from) WCODEC_LOAD_FLOATS(v, from)
#endif
#define WCODEC_TAKE_FLOATS(v, from) vstore4(*(const __local float4 *)(from), 0, (v))
#define WCODEC_TAKE_WORDS(v, from) vstore4(*(const __local uint4 *)(from), 0, (v))
#define wcodec_local_add(at, v) atomic_add(at, v)
#define WCODEC_SYNC_ITEMS(warp) barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)
#ifdef WCODEC_OPENCL_LOOPS
#define WCODEC_LOCAL
#else
#define WCODEC_SIMT
#define WCODEC_LOCAL __local
#endif
#ifdef WCODEC_OPENCL_NVIDIA
#define WCODEC_PTX
#endif
/* Processors' compilers take long over large code, and have few registers. */
#if defined(WCODEC_OPENCL_LOOPS) || defined(WCODEC_OPENCL_LOCAL)
#define WCODEC_UNROLL_ALL
#define WCODEC_UNROLL_SOME
#define WCODEC_UNROLL_MANY
#define WCODEC_UNROLL_NONE
#else
#define WCODEC_UNROLL_ALL _Pragma("unroll")
#define WCODEC_UNROLL_SOME _Pragma("unroll 4")
#define WCODEC_UNROLL_MANY _Pragma("unroll 8")
#define WCODEC_UNROLL_NONE _Pragma("unroll 1")
#endif

#define WCODEC_BUFFER_SHIFT 48 /* an address is an offset in a buffer, whose number is above it */
#define WCODEC_BUFFER_OFFSET(address) ((address) & (((uint64_t)1 << WCODEC_BUFFER_SHIFT) - 1))

/* What a kernel was given. */
struct wcodec_warp {
    __global uint8_t *__local *buffers; /* of the launch, by number */
    __global uint8_t *descriptors;
    __global uint32_t *fault_flag; /* in the host's memory */
    const __global uint8_t *block; /* as bound by code for every form, with those that follow */
    const __global uint8_t *states;
    const __global uint8_t *words;
    const __global uint8_t *raw;
    const __global uint8_t *positions;
    const __global uint8_t *values;
    __global uint8_t *out;
#ifdef WCODEC_SIMT
    __local uint8_t *shared; /* the work-group's */
#else
    uint8_t *shared; /* the work-item's */
#endif
#if defined(WCODEC_OPENCL_LOCAL) || defined(WCODEC_OPENCL_SUBGROUP)
    uint32_t lane;
    volatile __local uint32_t *cells; /* WCODEC_OPENCL_LOCAL: three, for votes by turns */
    uint32_t turn;
    volatile __local uint32_t *exchange; /* the warp's: two times 32, for shuffles by turns */
    uint32_t other;
#endif
};
#define WCODEC_WARP_MEMBER struct wcodec_warp warp;
#define WCODEC_WARP_COPY(w, from) ((w)->warp = *(from))

#define WCODEC_AT(w, buffer, type, address) \
    ((const __global type *)((w)->warp.buffer + WCODEC_BUFFER_OFFSET(address)))
#define WCODEC_AT_OUT(w, type, address) \
    ((__global type *)((w)->warp.out + WCODEC_BUFFER_OFFSET(address)))
#define WCODEC_BIND(w, buffer, address) \
    ((w)->warp.buffer = (w)->warp.buffers[(address) >> WCODEC_BUFFER_SHIFT])
#define WCODEC_BUFFER_OUT(warp, type, address) \
    ((__global type *)((warp)->buffers[(address) >> WCODEC_BUFFER_SHIFT] + \
                       WCODEC_BUFFER_OFFSET(address)))
#define WCODEC_BUFFER(warp, type, address) \
    ((const __global type *)WCODEC_BUFFER_OUT(warp, type, address))
#define WCODEC_BLOCK(warp, type, address) ((const __global type *)((warp)->descriptors + (address)))
#define WCODEC_BLOCK_OUT(warp, type, address) ((__global type *)((warp)->descriptors + (address)))

#ifdef WCODEC_OPENCL_LOOPS
#include "backends/kernels/dialect_loops.h"
#else
#define WCODEC_LANES_OF 1
#define WCODEC_SELF 0
#define WCODEC_EACH_LANE \
    for (uint32_t lane = wcodec_lane(&w->warp), next_ = lane + 1; next_ > lane; next_ = lane)
#define WCODEC_BALLOT(mask, condition) \
    do { \
        const uint32_t lane = wcodec_lane(&w->warp); \
        (void)lane; \
        (mask) = wcodec_ballot(&w->warp, (condition)); \
    } while (0)
#define WCODEC_ADD_LANES(sum, value) \
    do { \
        const uint32_t lane = wcodec_lane(&w->warp); \
        (void)lane; \
        (sum) += wcodec_add_lanes(&w->warp, (value)); \
    } while (0)
#endif

/* One word says whether there is any fault of this decoding. */
#define WCODEC_RAISE_FLAG(warp, serial) atomic_xchg((warp)->fault_flag, serial)

WCODEC_DEVICE_FUNCTION uint32_t wcodec_rotate_right(uint32_t v, uint32_t n)
{
    return rotate(v, (32 - n) & 31);
}

WCODEC_DEVICE_FUNCTION uint32_t wcodec_first_bit(uint32_t v)
{
    return popcount((v & (0u - v)) - 1);
}

WCODEC_DEVICE_FUNCTION float wcodec_bits_float(uint32_t bits)
{
    return as_float(bits);
}

#ifndef WCODEC_OPENCL_NVIDIA
WCODEC_DEVICE_FUNCTION float wcodec_multiply(float a, float b)
{
#pragma OPENCL FP_CONTRACT OFF
    return a * b;
}

WCODEC_DEVICE_FUNCTION float wcodec_half_float(uint32_t bits)
{
    const ushort half_bits = (ushort)bits;
    return vload_half(0, (const half *)&half_bits);
}

#define wcodec_divide(a, b) ((float)((double)(a) / (double)(b)))
#define wcodec_load_once_u32(from) (*(const __global uint32_t *)(from))
#define wcodec_load_once_u16(from) ((uint32_t) * (const __global ushort *)(from))
#define wcodec_load_once_u2(from) (*(const __global uint2 *)(from))
#define wcodec_load_once_u4(from) (*(const __global uint4 *)(from))
#define wcodec_load_u32(from) (*(const __global uint32_t *)(from))
#define wcodec_load_u4(from) (*(const __global uint4 *)(from))
#define wcodec_store_u32(to, v) (*(__global uint32_t *)(to) = (v))
#define wcodec_store_u2(to, a, b) (*(__global uint2 *)(to) = (uint2)(a, b))
#define wcodec_store_u4(to, a, b, c, d) (*(__global uint4 *)(to) = (uint4)(a, b, c, d))
#define wcodec_store_once_u4(to, a, b, c, d) wcodec_store_u4(to, a, b, c, d)
#endif

WCODEC_DEVICE_FUNCTION uint32_t wcodec_atomic_add(__global uint32_t *at, uint32_t v)
{
    return atomic_add(at, v);
}

WCODEC_DEVICE_FUNCTION void wcodec_atomic_store(__global uint32_t *at, uint32_t v)
{
    atomic_xchg(at, v);
}

/* Others than NVIDIA's have them if the host says so, which knows the extension. */
#if !defined(WCODEC_OPENCL_NVIDIA) && defined(WCODEC_EXCHANGES)
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
#define wcodec_exchange_put(at, v) ((void)atom_xchg(at, v))
#define wcodec_exchange_get(at) atom_add(at, (uint64_t)0)
#define wcodec_exchange_fail(at) ((void)atomic_xchg(at, 1u))
#define wcodec_exchange_look(at) atomic_add(at, 0u)
#define wcodec_exchange_pause() ((void)0)
#endif

#ifdef WCODEC_SIMT
#ifdef WCODEC_OPENCL_NVIDIA
#include "backends/kernels/dialect_ptx.h"

#define WCODEC_ORDER() wcodec_sync_warp(&w->warp)
#define WCODEC_LOCAL_ORDER() wcodec_sync_warp(&w->warp)

/* By a vote's own instruction, so that the compiler knows that it is the same for all. */
WCODEC_DEVICE_FUNCTION bool wcodec_any(struct wcodec_warp *warp, bool condition)
{
    uint32_t any;
    (void)warp;
    asm volatile("{ .reg .pred p; setp.ne.u32 p, %1, 0; vote.sync.any.pred p, p, 0xffffffff;"
                 " selp.u32 %0, 1, 0, p; }"
                 : "=r"(any)
                 : "r"((uint32_t)condition)
                 : "memory");
    return any != 0;
}

WCODEC_DEVICE_FUNCTION bool wcodec_all(struct wcodec_warp *warp, bool condition)
{
    return !wcodec_any(warp, !condition);
}

WCODEC_DEVICE_FUNCTION uint32_t wcodec_shared_base(const struct wcodec_warp *warp)
{
    return (uint32_t)(ulong)warp->shared;
}

WCODEC_DEVICE_FUNCTION uint32_t wcodec_warp_number(const struct wcodec_warp *warp)
{
    return wcodec_thread(warp) / 32;
}

/* A launch begins when those before it have ended. */
#define wcodec_allow_next_launch(warp) ((void)(warp))
#define wcodec_wait_for_launch(warp) ((void)(warp))
#else
#include "backends/kernels/dialect_portable.h"
#endif

#define WCODEC_SHARED(warp, type, address) \
    ((__local type *)((warp)->shared + ((address)-wcodec_shared_base(warp))))

/* A copy of the warp was used: what it counts is the warp's. */
WCODEC_DEVICE_FUNCTION void wcodec_warp_return(struct wcodec_warp *warp,
                                               const struct wcodec_warp *copy)
{
#ifndef WCODEC_OPENCL_NVIDIA
    warp->turn = copy->turn;
    warp->other = copy->other;
#endif
}

WCODEC_DEVICE_FUNCTION uint32_t wcodec_threads(const struct wcodec_warp *warp)
{
    return (uint32_t)get_local_size(0);
}

WCODEC_DEVICE_FUNCTION uint32_t wcodec_warps(const struct wcodec_warp *warp)
{
    return wcodec_threads(warp) / 32;
}

WCODEC_DEVICE_FUNCTION bool wcodec_is_first(const struct wcodec_warp *warp)
{
    return wcodec_lane(warp) == 0;
}

WCODEC_DEVICE_FUNCTION uint32_t wcodec_group(const struct wcodec_warp *warp)
{
    return (uint32_t)get_group_id(0);
}

WCODEC_DEVICE_FUNCTION uint32_t wcodec_groups(const struct wcodec_warp *warp)
{
    return (uint32_t)get_num_groups(0);
}

WCODEC_DEVICE_FUNCTION void wcodec_sync_group(struct wcodec_warp *warp)
{
    barrier(CLK_LOCAL_MEM_FENCE);
}

/* Barriers of a work-group are costly to compile, each where it stands again: groups are decoded
 * one by one. */
#ifdef WCODEC_OPENCL_LOCAL
#define WCODEC_BLOCKWISE 0
#else
#define WCODEC_BLOCKWISE 1
#endif

/* A buffer may end anywhere: nothing is read after the limit. */
#define WCODEC_COPY_LIMIT(bytes) (bytes)

WCODEC_DEVICE_FUNCTION void wcodec_copy_16(struct wcodec_warp *warp, uint32_t to,
                                           const __global uint8_t *from, uint32_t offset,
                                           uint32_t limit)
{
    wcodec_copy_part(warp, to, from + offset, (uint32_t)clamp((int)(limit - offset), 0, 16));
}
#else
                     /* A work-item is a warp. */
#define WCODEC_SHARED(warp, type, address) ((type *)(warp)->shared)
#define wcodec_shared_base(warp) 0u
#define wcodec_warp_number(warp) 0u
#define wcodec_warps(warp) 1u
#define wcodec_is_first(warp) true
#define wcodec_group(warp) ((uint32_t)get_global_id(0))
#endif

#define WCODEC_FROM_16(v, from) \
    do { \
        const uint4 v_ = (from); \
        (v)[0] = v_.x, (v)[1] = v_.y, (v)[2] = v_.z, (v)[3] = v_.w; \
    } while (0)
#define WCODEC_LOAD_16(v, from) WCODEC_FROM_16(v, *(const __global uint4 *)(from))
#define WCODEC_TAKE_16(v, from) WCODEC_FROM_16(v, *(const WCODEC_LOCAL uint4 *)(from))
#define WCODEC_KEEP_16(to, v) \
    (*(WCODEC_LOCAL uint4 *)(to) = (uint4)((v)[0], (v)[1], (v)[2], (v)[3]))
#ifdef WCODEC_OPENCL_NVIDIA
#define WCODEC_PUT_16(to, a, b, c, d) wcodec_store_u4((__global uint8_t *)(to), a, b, c, d)
#define WCODEC_PUT_4(to, a) wcodec_store_u32((__global uint8_t *)(to), a)
#else
#define WCODEC_PUT_16(to, a, b, c, d) (*(__global uint4 *)(to) = (uint4)(a, b, c, d))
#define WCODEC_PUT_4(to, a) (*(__global uint32_t *)(to) = (a))
#endif

#endif
