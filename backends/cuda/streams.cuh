/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* A tile's words and raw bits on their way through shared memory, by asynchronous copies: loads
 * into registers end in moves by the compiler, which wait for them long before the value is needed.
 */
#ifndef WCODEC_CUDA_STREAMS_CUH
#define WCODEC_CUDA_STREAMS_CUH

#include "backends/cuda/shapes.cuh"

/* What is asked for before one block is there for the next. */
template <int SHAPE> struct streams {
    typedef shape<SHAPE> s;
    static constexpr uint32_t slots = WCODEC_CUDA_SLOTS, slot = WCODEC_CUDA_SLOT(SHAPE),
                              size = slots * slot, rows = s::rows, raw_slot = rows * 128;
    static constexpr uint32_t raw_begin = size + slot; /* in the warp's room */

    uint32_t part; /* 16 * lane */
    uint32_t ring; /* shared address of the warp's room */
    uint32_t at;   /* shared address of the next word */
    uint32_t next; /* where `at` enters the slot after its own */
    uint32_t load; /* offset from `from` of what the next slot takes: 16 * lane, and a slot's size a
                      slot */
    uint32_t limit; /* the last offset that may be read */
    const char *from;
    uint32_t row;       /* shared address of the lane's words of the block's raw bits */
    uint32_t other;     /* less `row`: where the lane's copies to the other slot of raw bits go */
    uint32_t raw_limit; /* the last offset that may be read */
    const char *raw;

    /* All lanes' copies of the tile before must be over, and its words read. words: address of the
     * first one; with none, of anything that may be read. */
    __device__ __forceinline__ void open(uint32_t room, uint64_t words, uint32_t count,
                                         uint64_t raw_bits, uint32_t groups)
    {
        const uint32_t lane = thread() & 31, skip = (uint32_t)words & 31,
                       bytes = (skip + 2 * count + 15) & ~15u; /* whole sectors */
        part = lane * 16;
        ring = room;
        from = (const char *)(words - skip);
        limit = (bytes ? bytes : 16) - 16;
        load = part;
        at = ring + skip;
        next = ring + slot;
        raw = (const char *)raw_bits;
        raw_limit = raw_size<SHAPE>(groups) - 16;
        row = ring + raw_begin + 4 * lane;
        other = 2 * (ring + raw_begin) + raw_slot + 20 * lane;
        __syncwarp(); /* all have read their words of the tile before */
#pragma unroll
        for (uint32_t i = 0; i < slots; i++)
            fill(ring + i * slot + part, i == 0);
        if (groups >= s::unroll) /* else there is no block */
            fill_raw(ring + raw_begin + part, 0, groups);
        copy_async_commit();
    }

    __device__ __forceinline__ void fill(uint32_t to, bool first)
    {
#pragma unroll
        for (uint32_t i = 0; i < slot; i += 512) {
            const char *source = from + min(load + i, limit);
            copy_async_16(to + i, source);
            if (first)
                copy_async_16(to + i + size, source);
        }
        load += slot;
    }

    __device__ __forceinline__ void copy_raw(uint32_t to, uint32_t offset) const
    {
        copy_async_16(to, raw + min(offset, raw_limit));
    }

    /* Rows of the block that begins with group g; behind the last one, whatever is there. */
    __device__ __forceinline__ void fill_raw(uint32_t to, uint32_t g, uint32_t groups) const
    {
        if constexpr (is_low<SHAPE>()) {
            if (part < 128)
                copy_raw(to, g / (SHAPE == WCODEC_SHAPE_8_1_FUSED ? 8 : 4) * 128 + part);
            else if (rows == 2 && part < 256)
                copy_raw(to, plane_offset<SHAPE, 1>(groups) + g / 8 * 128 + part - 128);
        } else if constexpr (rows == 2) {
            if (part < 256)
                copy_raw(to, g * s::group + part);
        } else if constexpr (rows > 0) {
#pragma unroll
            for (uint32_t i = 0; i < s::first / 4; i++)
                copy_raw(to + i * 512, g * s::group + i * 512 + part);
            if constexpr (SHAPE == WCODEC_SHAPE_32_24)
                copy_raw(to + 1024, plane_offset<SHAPE, 1>(groups) + g * 128 + part);
            if constexpr (SHAPE == WCODEC_SHAPE_16_11)
                if (part < 256)
                    copy_raw(to + 512,
                             (part < 128 ? plane_offset<SHAPE, 1>(groups) + g / 4 * 128
                                         : plane_offset<SHAPE, 2>(groups) + g / 8 * 128 - 128) +
                                 part);
        }
    }

    /* Before every block, of which g is the first group. `at` has moved by a slot's size at most
     * since the last time: the slot before its own is free. */
    __device__ __forceinline__ void begin_block(uint32_t g, uint32_t groups)
    {
        wait(); /* everybody's copies have come, and all have read what is overwritten now */
        enter_slot();
        if constexpr (rows > 0)
            fill_raw(other - row, g + s::unroll, groups);
        copy_async_commit();
    }

    /* The same of a block without raw bits, when wait() was called once: what was asked for when
     * `at` entered its slot is two slots ahead, and is waited for when it enters the next one only.
     */
    __device__ __forceinline__ void begin_words()
    {
        if (__all_sync(~0u, at < next))
            return;
        wait();
        next_slot();
        copy_async_commit();
    }

    __device__ __forceinline__ void wait() const
    {
        copy_async_wait<0>();
        __syncwarp();
    }

    __device__ __forceinline__ void end_block()
    {
        if constexpr (rows > 0)
            row = other - row - part / 4 * 3;
    }

    __device__ __forceinline__ void enter_slot()
    {
        if (!__all_sync(
                ~0u, at < next)) /* the same for all; said by a vote, so that the compiler knows */
            next_slot();
    }

    __device__ __forceinline__ void next_slot()
    {
        const uint32_t left = next - slot;
        fill(left + part, left == ring);
        const bool last = next == ring + size;
        at -= last ? size : 0;
        next = last ? ring + slot : next + slot;
    }

    /* Before a group that is taken alone: words only. */
    __device__ __forceinline__ void begin_group()
    {
        wait();
        enter_slot();
        copy_async_commit();
    }

    /* Bytes taken since open(), which was at `words`. */
    __device__ __forceinline__ uint32_t taken(uint64_t words) const
    {
        return load - part - slots * slot + at - (next - slot) - ((uint32_t)words & 31);
    }
};

#endif
