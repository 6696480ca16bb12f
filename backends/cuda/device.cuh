/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The few things that CUDA C++ does not say: shared memory by 32-bit addresses, asynchronous copies, and a renormalisation whose predicate serves ballot and fetch. */
#ifndef WCODEC_CUDA_DEVICE_CUH
#define WCODEC_CUDA_DEVICE_CUH

#include "backends/common/jobs.h"
#include "backends/common/rans.h"

#define WCODEC_INLINE static __device__ __forceinline__

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
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
#else
    const uint4 v = *(const uint4 *)from;
    asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w) : "memory");
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

/* Output is not read again here: it is kept out of L1. */
WCODEC_INLINE void store_u32(char *to, uint32_t v)
{
    asm volatile("st.global.L1::no_allocate.u32 [%0], %1;" ::"l"(to), "r"(v) : "memory");
}

WCODEC_INLINE void store_u64(char *to, uint2 v)
{
    asm volatile("st.global.L1::no_allocate.v2.u32 [%0], {%1, %2};" ::"l"(to), "r"(v.x), "r"(v.y) : "memory");
}

WCODEC_INLINE void prefetch_l2(const char *address)
{
    asm volatile("prefetch.global.L2 [%0];" ::"l"(address));
}

/* Lanes whose state is low take the next words, in lane order: `at` is the shared address of the first word not taken. */
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
                 " @low prmt.b32 %0, rank, %0, 0x5410;\n"
                 "}"
                 : "+r"(state), "+r"(at)
                 : "r"(lanes_below)
                 : "memory");
}

/* The words of a tile pass through a ring in shared memory: three slots of 512 bytes, and the first half of the first one again behind the last, so that a lane's address needs no mask. A look at the ring must come
 * at least every 256 bytes of words (four renormalisations). */
#define WCODEC_RING_SLOT 512u
#define WCODEC_RING_SIZE 1536u
#define WCODEC_RING_ROOM 1792u

/* Few registers: what a look needs, and no more. */
struct word_ring {
    uint32_t at;    /* shared address of the next word */
    uint32_t next;  /* where `at` enters the slot after its own */
    uint32_t ring;  /* shared address */
    uint32_t slot;  /* shared address of the lane's part of the slot to fill next */
    uint32_t load;  /* offset from `from` of what goes there: 16 * lane, and 512 a slot */
    uint32_t limit; /* the last offset that may be read */
    const char *from;

    /* words: address of the first one; with none, of anything that may be read. All lanes' copies of the tile before must be over. */
    __device__ __forceinline__ void open(uint32_t ring_, uint32_t lane, uint64_t words, uint32_t count)
    {
        const uint32_t skip = (uint32_t)words & 31, bytes = (skip + 2 * count + 15) & ~15u; /* whole sectors */
        __syncwarp(); /* all have read their words of the tile before */
        ring = ring_;
        from = (const char *)(words - skip);
        limit = (bytes ? bytes : 16) - 16;
        load = lane * 16;
        slot = ring + lane * 16;
        at = ring + skip;
        next = ring + WCODEC_RING_SLOT;
#pragma unroll
        for (int i = 0; i < 3; i++)
            fill(i == 0);
    }

    /* Before the first word is taken: two slots must have come. */
    __device__ __forceinline__ void ready() const
    {
        copy_async_wait<1>();
        __syncwarp();
    }

    __device__ __forceinline__ void fill(bool first)
    {
        const char *source = from + min(load, limit);
        copy_async_16(slot, source);
        if (first && slot < ring + WCODEC_RING_ROOM - WCODEC_RING_SIZE)
            copy_async_16(slot + WCODEC_RING_SIZE, source);
        copy_async_commit();
        load += WCODEC_RING_SLOT;
        slot += WCODEC_RING_SLOT;
    }

    /* `at` has moved by 256 bytes at most since the last look: the slot before its own is free, the one behind it must have come. */
    __device__ __forceinline__ void look()
    {
        if (__all_sync(~0u, at < next)) /* the same for all; said by a vote, so that the compiler knows */
            return;
        __syncwarp(); /* all have read what is overwritten now */
        const bool wrap = slot >= ring + WCODEC_RING_SIZE;
        slot -= wrap ? WCODEC_RING_SIZE : 0;
        fill(wrap);
        copy_async_wait<1>();
        __syncwarp();
        const bool last = next == ring + WCODEC_RING_SIZE;
        at -= last ? WCODEC_RING_SIZE : 0;
        next = last ? ring + WCODEC_RING_SLOT : next + WCODEC_RING_SLOT;
    }

    /* Bytes taken since open(), which was at `words`. */
    __device__ __forceinline__ uint32_t taken(uint32_t lane, uint64_t words) const
    {
        return load - lane * 16 - 3 * WCODEC_RING_SLOT + at - (next - WCODEC_RING_SLOT) - ((uint32_t)words & 31);
    }
};

#endif
