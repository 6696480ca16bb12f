/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* One source for CUDA, OpenCL C and C11. In C, the 32 lanes of a tile are loops over arrays, so
 * that sanitizers and fuzzers see what a GPU would do; on a GPU
 * a lane is a thread.
 *
 *   WCODEC_EACH_LANE { ... }     a block that every lane runs; `lane` is its number
 *   struct s of[WCODEC_LANE_ROOM]; of[WCODEC_SELF]  what a lane has for itself
 *   WCODEC_BALLOT(mask, condition)  bit l of mask is lane l's condition
 *   WCODEC_ADD_LANES(sum, value)    adds all lanes' values to sum
 *   WCODEC_ORDER()               what lanes stored before, all lanes read after
 *   WCODEC_LOCAL_ORDER()         the same for memory that the lanes share (WCODEC_LOCAL), and no
 *                                other
 *   WCODEC_PUT_16(to, a, b, c, d)  four words, at a multiple of 16 bytes of output;
 *                                  WCODEC_PUT_4(to, a) one; WCODEC_STORE_16(w, address, a, b, c, d)
 *   WCODEC_LOAD_16(v, from)      v[0] to v[3] from a multiple of 16 bytes; WCODEC_TAKE_16(v, from)
 *                                and WCODEC_KEEP_16(to, v): from and to memory that lanes share
 *   WCODEC_BYTES(a, b, choice)   byte i is the one that nibble i of `choice` names: 0 to 3 of a, 4
 *                                to 7 of b
 *   WCODEC_SIGNED(wide, v)       the lower 8 bits of v, or 16, as a signed number;
 *                                WCODEC_SIGNED_BYTE(word, i), WCODEC_SIGNED_HALF(word, i): byte or
 *                                half i
 *   WCODEC_FLOAT_BITS(f)         a float's bits; WCODEC_FLOAT_PAIRS: wcodec_pair_bf16() and _f16()
 *                                round two floats and put them into a word
 *   WCODEC_UNROLL_ALL            before a loop: its arrays are for registers; WCODEC_UNROLL_SOME: a
 *                                few rounds at a time; WCODEC_UNROLL_NONE: none
 *   WCODEC_AT(w, buffer, type, address), WCODEC_AT_OUT(w, type, address)  places in the buffers
 *                                                                         block, states, words,
 *                                                                         raw, positions, values
 *                                                                         and out
 *   WCODEC_BIND(w, buffer, address)  before the first of those in code that needs it rarely
 *
 * Addresses are the device's; OpenCL has none, there they are numbers and offsets of buffers, of
 * which w, a struct wcodec_tile_work, is bound to those of its
 * tile. An OpenCL device takes one of two forms: the lanes of a work-group (which vote as
 * WCODEC_OPENCL_LOCAL, _NVIDIA or _SUBGROUP says), or one work-item
 * with loops as in C (WCODEC_OPENCL_LOOPS).
 *
 * Code outside of WCODEC_EACH_LANE is the same for all lanes. Little-endian machines only. */
#ifndef WCODEC_KERNELS_DIALECT_H
#define WCODEC_KERNELS_DIALECT_H

#if defined(__OPENCL_VERSION__)
typedef uchar uint8_t;
typedef ushort uint16_t;
typedef uint uint32_t;
typedef int int32_t;
typedef ulong uint64_t;
#define WCODEC_ALIGNED_16 __attribute__((aligned(16)))
#define WCODEC_DEVICE_FUNCTION static inline __attribute__((always_inline))
#define WCODEC_GLOBAL __global
#ifdef WCODEC_OPENCL_LOOPS
#define WCODEC_LOCAL
#else
#define WCODEC_LOCAL __local
#endif
#define WCODEC_POPCOUNT(x) popcount((uint32_t)(x))
#define WCODEC_SIGNED(wide, v) ((wide) ? (int32_t)(short)(v) : (int32_t)(char)(v))
#define WCODEC_FLOAT_BITS(f) as_uint(f)
#define WCODEC_LOAD_16(v, from) WCODEC_FROM_16(v, *(const __global uint4 *)(from))
#define WCODEC_TAKE_16(v, from) WCODEC_FROM_16(v, *(const WCODEC_LOCAL uint4 *)(from))
#define WCODEC_KEEP_16(to, v) \
    (*(WCODEC_LOCAL uint4 *)(to) = (uint4)((v)[0], (v)[1], (v)[2], (v)[3]))
#ifdef WCODEC_OPENCL_NVIDIA
#define WCODEC_PUT_16(to, a, b, c, d) \
    asm volatile("st.global.L1::no_allocate.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"((ulong)(to)), \
                 "r"(a), "r"(b), "r"(c), "r"(d) \
                 : "memory")
#define WCODEC_PUT_4(to, a) \
    asm volatile("st.global.L1::no_allocate.u32 [%0], %1;" ::"l"((ulong)(to)), "r"(a) : "memory")
#else
#define WCODEC_PUT_16(to, a, b, c, d) (*(__global uint4 *)(to) = (uint4)(a, b, c, d))
#define WCODEC_PUT_4(to, a) (*(__global uint32_t *)(to) = (a))
#endif
/* Processors' compilers take long over large code, and have few registers. */
#if defined(WCODEC_OPENCL_LOOPS) || defined(WCODEC_OPENCL_LOCAL)
#define WCODEC_UNROLL_ALL
#define WCODEC_UNROLL_SOME
#define WCODEC_UNROLL_NONE
#else
#define WCODEC_UNROLL_ALL _Pragma("unroll")
#define WCODEC_UNROLL_SOME _Pragma("unroll 4")
#define WCODEC_UNROLL_NONE _Pragma("unroll 1")
#endif
#define WCODEC_PLACE_SHIFT \
    48 /* an address is an offset in a buffer, whose number stands above it */
#define WCODEC_PLACE_OFFSET(address) ((address) & (((uint64_t)1 << WCODEC_PLACE_SHIFT) - 1))
#define WCODEC_AT(w, buffer, type, address) \
    ((const __global type *)((w)->warp.buffer + WCODEC_PLACE_OFFSET(address)))
#define WCODEC_AT_OUT(w, type, address) \
    ((__global type *)((w)->warp.out + WCODEC_PLACE_OFFSET(address)))
#define WCODEC_BIND(w, buffer, address) \
    ((w)->warp.buffer = (w)->warp.places[(address) >> WCODEC_PLACE_SHIFT])
#define WCODEC_WARP_MEMBER struct wcodec_warp warp;

/* What a kernel was given. */
struct wcodec_warp {
    __global uint8_t *__local *places; /* all buffers, where WCODEC_BIND() is used */
    const __global uint8_t *block;
    const __global uint8_t *states;
    const __global uint8_t *words;
    const __global uint8_t *raw;
    const __global uint8_t *positions;
    const __global uint8_t *values;
    __global uint8_t *out;
#ifndef WCODEC_OPENCL_LOOPS
    uint32_t lane;
#endif
#ifdef WCODEC_OPENCL_LOCAL
    volatile __local uint32_t *cells; /* three, for votes by turns */
    uint32_t turn;
#endif
};
#elif defined(__CUDACC__)
#include <stdint.h>
#define WCODEC_ALIGNED_16 __align__(16)
#define WCODEC_DEVICE_FUNCTION static __device__ __forceinline__
#define WCODEC_GLOBAL
#define WCODEC_LOCAL
#define WCODEC_LANE_ROOM 1
#define WCODEC_SELF 0
#define WCODEC_EACH_LANE \
    for (uint32_t lane = threadIdx.x & 31, next_ = lane + 1; next_ > lane; next_ = lane)
#define WCODEC_BALLOT(mask, condition) \
    do { \
        const uint32_t lane = threadIdx.x & 31; \
        (void)lane; \
        (mask) = __ballot_sync(0xffffffffu, (condition)); \
    } while (0)
#define WCODEC_ADD_LANES(sum, value) \
    do { \
        const uint32_t lane = threadIdx.x & 31; \
        uint32_t share_ = (value); \
        for (int i_ = 16; i_; i_ /= 2) \
            share_ += __shfl_xor_sync(0xffffffffu, share_, i_); \
        (sum) += share_; \
    } while (0)
#define WCODEC_POPCOUNT(x) ((uint32_t)__popc(x))
#define WCODEC_SIGNED(wide, v) ((wide) ? (int32_t)(int16_t)(v) : (int32_t)(int8_t)(v))
#define WCODEC_BYTES(a, b, choice) __byte_perm(a, b, choice)
#define WCODEC_FLOAT_BITS(f) __float_as_uint(f)
#define WCODEC_LOAD_16(v, from) WCODEC_FROM_16(v, __ldcs((const uint4 *)(from)))
#define WCODEC_TAKE_16(v, from) WCODEC_FROM_16(v, *(const uint4 *)(from))
#define WCODEC_KEEP_16(to, v) (*(uint4 *)(to) = make_uint4((v)[0], (v)[1], (v)[2], (v)[3]))
/* Output is not read again: it is kept out of the first cache. */
#define WCODEC_PUT_16(to, a, b, c, d) \
    asm volatile("st.global.L1::no_allocate.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"((uint64_t)(to)), \
                 "r"(a), "r"(b), "r"(c), "r"(d) \
                 : "memory")
#define WCODEC_PUT_4(to, a) \
    asm volatile("st.global.L1::no_allocate.u32 [%0], %1;" ::"l"((uint64_t)(to)), "r"(a) : "memory")
#define WCODEC_UNROLL_ALL _Pragma("unroll")
#define WCODEC_UNROLL_SOME _Pragma("unroll 4")
#define WCODEC_UNROLL_NONE _Pragma("unroll 1")
#define WCODEC_ORDER() __syncwarp()
#define WCODEC_LOCAL_ORDER() __syncwarp()
#define WCODEC_AT(w, buffer, type, address) ((const type *)(uintptr_t)(address))
#define WCODEC_AT_OUT(w, type, address) ((type *)(uintptr_t)(address))
#define WCODEC_BIND(w, buffer, address) ((void)(w))
#define WCODEC_WARP_MEMBER
#else
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#define WCODEC_ALIGNED_16
#define WCODEC_DEVICE_FUNCTION static inline
#define WCODEC_GLOBAL
#define WCODEC_LOCAL
#define WCODEC_POPCOUNT(x) ((uint32_t)__builtin_popcount(x))
#define WCODEC_SIGNED(wide, v) ((wide) ? (int32_t)(int16_t)(v) : (int32_t)(int8_t)(v))
#define WCODEC_FLOAT_BITS(f) wcodec_float_bits(f)
#define WCODEC_LOAD_16(v, from) memcpy((v), (from), 16)
#define WCODEC_TAKE_16(v, from) memcpy((v), (from), 16)
#define WCODEC_KEEP_16(to, v) memcpy((to), (v), 16)
#define WCODEC_PUT_4(to, a) (*(uint32_t *)(to) = (a))
#define WCODEC_PUT_16(to, a, b, c, d) wcodec_put_16((uint32_t *)(to), (uint32_t[4]){a, b, c, d})
#define WCODEC_UNROLL_ALL
#define WCODEC_UNROLL_SOME
#define WCODEC_UNROLL_NONE
#define WCODEC_AT(w, buffer, type, address) ((const type *)(uintptr_t)(address))
#define WCODEC_AT_OUT(w, type, address) ((type *)(uintptr_t)(address))
#define WCODEC_BIND(w, buffer, address) ((void)(w))
#define WCODEC_WARP_MEMBER

static inline uint32_t wcodec_float_bits(float f)
{
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return bits;
}

static inline void wcodec_put_16(uint32_t *to, const uint32_t words[4])
{
    for (unsigned i = 0; i < 4; i++)
        to[i] = words[i];
}
#endif

/* Byte i of a word, or half, as a signed number. On NVIDIA's GPUs one instruction, which compilers
 * do not move out of branches to share it. */
#if defined(WCODEC_OPENCL_NVIDIA) || defined(__CUDACC__)
WCODEC_DEVICE_FUNCTION uint32_t wcodec_signed_part(uint32_t word, const uint32_t choice)
{
    uint32_t v;
    asm("prmt.b32 %0, %1, 0, %2;" : "=r"(v) : "r"(word), "r"(choice));
    return v;
}
#define WCODEC_SIGNED_BYTE(word, i) wcodec_signed_part(word, 0x8880 + 0x1111 * (i))
#define WCODEC_SIGNED_HALF(word, i) wcodec_signed_part(word, 0x9910 + 0x2222 * (i))
#else
#define WCODEC_SIGNED_BYTE(word, i) ((uint32_t)((int32_t)((word) << (24 - 8 * (i))) >> 24))
#define WCODEC_SIGNED_HALF(word, i) ((uint32_t)((int32_t)((word) << (16 - 16 * (i))) >> 16))
#endif
#define WCODEC_STORE_16(w, address, a, b, c, d) \
    WCODEC_PUT_16(WCODEC_AT_OUT(w, uint8_t, address), a, b, c, d)

#ifdef WCODEC_OPENCL_NVIDIA
#define WCODEC_BYTES(a, b, choice) wcodec_choose_bytes(a, b, choice)
WCODEC_DEVICE_FUNCTION uint32_t wcodec_choose_bytes(uint32_t a, uint32_t b, const uint32_t choice)
{
    uint32_t v;
    asm("prmt.b32 %0, %1, %2, %3;" : "=r"(v) : "r"(a), "r"(b), "r"(choice));
    return v;
}
#elif !defined(__CUDACC__)
#define WCODEC_BYTES(a, b, choice) wcodec_choose_bytes(a, b, choice)
WCODEC_DEVICE_FUNCTION uint32_t wcodec_choose_byte(uint32_t a, uint32_t b, const uint32_t choice)
{
    return (choice & 4 ? b : a) >> 8 * (choice & 3) & 0xffu;
}

WCODEC_DEVICE_FUNCTION uint32_t wcodec_choose_bytes(uint32_t a, uint32_t b, const uint32_t choice)
{
    return wcodec_choose_byte(a, b, choice) | wcodec_choose_byte(a, b, choice >> 4) << 8 |
           wcodec_choose_byte(a, b, choice >> 8) << 16 |
           wcodec_choose_byte(a, b, choice >> 12) << 24;
}
#endif

#define WCODEC_FROM_16(v, from) \
    do { \
        const uint4 v_ = (from); \
        (v)[0] = v_.x, (v)[1] = v_.y, (v)[2] = v_.z, (v)[3] = v_.w; \
    } while (0)

#if defined(WCODEC_OPENCL_LOOPS) || !defined(__OPENCL_VERSION__) && !defined(__CUDACC__)
#define WCODEC_LANE_ROOM 32
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
#elif defined(__OPENCL_VERSION__)
#define WCODEC_LANE_ROOM 1
#define WCODEC_SELF 0
#define WCODEC_EACH_LANE \
    for (uint32_t lane = w->warp.lane, next_ = lane + 1; next_ > lane; next_ = lane)
#define WCODEC_BALLOT(mask, condition) \
    do { \
        const uint32_t lane = w->warp.lane; \
        (void)lane; \
        (mask) = wcodec_ballot(&w->warp, (condition)); \
    } while (0)
#define WCODEC_ADD_LANES(sum, value) \
    do { \
        const uint32_t lane = w->warp.lane; \
        (sum) += wcodec_add_lanes(&w->warp, (value)); \
    } while (0)
#define WCODEC_ORDER() wcodec_order()
#define WCODEC_LOCAL_ORDER() wcodec_local_order()

#if defined(WCODEC_OPENCL_LOCAL)
/* Three cells by turns: one is voted in, the next one is cleared, the one before may still be read.
 * So one barrier a vote is enough. The group is one tile, since all must come to each barrier. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_next_cell(struct wcodec_warp *b)
{
    const uint32_t cell = b->turn;
    b->turn = cell == 2 ? 0 : cell + 1;
    if (b->lane == 0)
        b->cells[b->turn] = 0;
    return cell;
}

WCODEC_DEVICE_FUNCTION uint32_t wcodec_ballot(struct wcodec_warp *b, bool condition)
{
    const uint32_t cell = wcodec_next_cell(b);
    if (condition)
        atomic_or(&b->cells[cell], 1u << b->lane);
    barrier(CLK_LOCAL_MEM_FENCE);
    return b->cells[cell];
}

WCODEC_DEVICE_FUNCTION uint32_t wcodec_add_lanes(struct wcodec_warp *b, uint32_t value)
{
    const uint32_t cell = wcodec_next_cell(b);
    atomic_add(&b->cells[cell], value);
    barrier(CLK_LOCAL_MEM_FENCE);
    return b->cells[cell];
}

WCODEC_DEVICE_FUNCTION void wcodec_order(void)
{
    barrier(CLK_GLOBAL_MEM_FENCE);
}

WCODEC_DEVICE_FUNCTION void wcodec_local_order(void)
{
    barrier(CLK_LOCAL_MEM_FENCE);
}
#elif defined(WCODEC_OPENCL_NVIDIA)
WCODEC_DEVICE_FUNCTION uint32_t wcodec_ballot(struct wcodec_warp *b, bool condition)
{
    uint32_t mask;
    (void)b;
    asm volatile("{ .reg .pred p; setp.ne.u32 p, %1, 0; vote.sync.ballot.b32 %0, p, 0xffffffff; }"
                 : "=r"(mask)
                 : "r"((uint32_t)condition)
                 : "memory");
    return mask;
}

WCODEC_DEVICE_FUNCTION uint32_t wcodec_add_lanes(struct wcodec_warp *b, uint32_t value)
{
    (void)b;
    for (uint32_t i = 16; i; i /= 2) {
        uint32_t other;
        asm volatile("shfl.sync.bfly.b32 %0, %1, %2, 0x1f, 0xffffffff;"
                     : "=r"(other)
                     : "r"(value), "r"(i));
        value += other;
    }
    return value;
}

WCODEC_DEVICE_FUNCTION void wcodec_order(void)
{
    asm volatile("bar.warp.sync 0xffffffff;" ::: "memory");
}

WCODEC_DEVICE_FUNCTION void wcodec_local_order(void)
{
    wcodec_order();
}
#else
#pragma OPENCL EXTENSION cl_khr_subgroups : enable
#pragma OPENCL EXTENSION cl_khr_subgroup_ballot : enable
WCODEC_DEVICE_FUNCTION uint32_t wcodec_ballot(struct wcodec_warp *b, bool condition)
{
    (void)b;
    return sub_group_ballot(condition).x;
}

WCODEC_DEVICE_FUNCTION uint32_t wcodec_add_lanes(struct wcodec_warp *b, uint32_t value)
{
    (void)b;
    return sub_group_reduce_add(value);
}

WCODEC_DEVICE_FUNCTION void wcodec_order(void)
{
    sub_group_barrier(CLK_GLOBAL_MEM_FENCE);
}

WCODEC_DEVICE_FUNCTION void wcodec_local_order(void)
{
    sub_group_barrier(CLK_LOCAL_MEM_FENCE);
}
#endif
#endif

#if defined(WCODEC_OPENCL_FLOAT_PAIRS) || __CUDA_ARCH__ >= 800
#define WCODEC_FLOAT_PAIRS
WCODEC_DEVICE_FUNCTION uint32_t wcodec_pair_bf16(float low, float high)
{
    uint32_t v;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(v) : "f"(high), "f"(low));
    return v;
}

WCODEC_DEVICE_FUNCTION uint32_t wcodec_pair_f16(float low, float high)
{
    uint32_t v;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(v) : "f"(high), "f"(low));
    return v;
}
#endif

#endif
