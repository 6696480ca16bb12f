/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Elements stored one by one: of tiles that end within a group or lie off the grid, and outliers.
 */
#ifndef WCODEC_CUDA_PATCH_CUH
#define WCODEC_CUDA_PATCH_CUH

#include "backends/cuda/device.cuh"

template <int BYTES> WCODEC_INLINE uint32_t load_element(const char *at)
{
    return BYTES == 1   ? *(const volatile uint8_t *)at
           : BYTES == 2 ? *(const volatile uint16_t *)at
                        : *(const volatile uint32_t *)at;
}

template <int BYTES> WCODEC_INLINE void store_element(char *at, uint32_t v)
{
    if (BYTES == 1)
        *(volatile uint8_t *)at = (uint8_t)v;
    else if (BYTES == 2)
        *(volatile uint16_t *)at = (uint16_t)v;
    else
        *(volatile uint32_t *)at = v;
}

/* The first `count` of a lane's four elements in o[0] to o[BYTES - 1]. */
template <int BYTES> WCODEC_INLINE void store_elements(char *to, const uint32_t *o, uint32_t count)
{
#pragma unroll
    for (uint32_t i = 0; i < 4; i++)
        if (i < count)
            store_element<BYTES>(to + i * BYTES, o[i * BYTES / 4] >> i * BYTES % 4 * 8);
}

/* A tile's outliers, 32 at a time: one for each lane, position << 8 | value. They are put in place
 * as long as their elements are in the cache: at the end of a large tile these have left it, and a
 * patch moves as much memory as 64 elements. */
struct outliers {
    static constexpr uint32_t none = 0xffffffffu; /* or done */
    uint32_t own, value;                          /* apart until join() waits for them */
    uint32_t left;                                /* of those that are not loaded */

    __device__ __forceinline__ void load(const wcodec_tile_job *job, uint32_t count, uint32_t first)
    {
        const uint32_t i = first + (thread() & 31);
        own = none;
        if (i < count) {
            own = ((const uint16_t *)job->positions)[i];
            value = ((const uint8_t *)job->values)[i];
        }
        left = count - min(count, first + 32);
    }

    __device__ __forceinline__ void join()
    {
        own = own == none ? none : own << 8 | value;
    }

    /* The next 32, when all are done and some are left. Returns whether the first of them is behind
     * the last one. */
    __device__ __forceinline__ bool load_next(const wcodec_tile_job *job)
    {
        const uint32_t first = job->outliers - left,
                       last = ((const uint16_t *)job->positions)[first - 1];
        load(job, job->outliers, first);
        join();
        return __all_sync(~0u, (thread() & 31) != 0 || own >> 8 > last);
    }

    /* In order, and values below 2^WIDTH? What is out of range stays: all(). */
    template <int WIDTH> __device__ __forceinline__ bool check() const
    {
        const uint32_t before = __shfl_up_sync(~0u, own, 1);
        return __all_sync(~0u, own == none || (((thread() & 31) == 0 || own >> 8 > before >> 8) &&
                                               (own & 0xffu) >> WIDTH == 0));
    }

    /* Are there any before this position? */
    __device__ __forceinline__ bool before(uint32_t position) const
    {
        return __any_sync(~0u, own < position << 8);
    }

    /* None but those that were done? */
    __device__ __forceinline__ bool all() const
    {
        return left == 0 && __all_sync(~0u, own == none);
    }

    __device__ __forceinline__ void drop()
    {
        own = none;
        left = 0;
    }

    /* Those before `end`, of which all elements are stored: each lane changes one, and the lane
     * that decoded it learns by how much its part of the check does. out: the tile. add: of an
     * element. */
    template <int BYTES, int FIELD, int WIDTH>
    __device__ __forceinline__ void patch(uint32_t end, char *out, uint32_t add, uint64_t *sum)
    {
        constexpr uint32_t field = ((1u << WIDTH) - 1) << FIELD;
        const bool mine = own < end << 8;
        uint64_t change = 0;
        __syncwarp(); /* elements that other lanes have stored are read */
        if (mine) {
            const uint32_t position = own >> 8, offset = position % 4 * BYTES;
            char *at = out + position * BYTES;
            const uint32_t old = load_element<BYTES>(at);
            uint32_t now = (((old + add) & ~field) | (own & 0xffu) << FIELD) - add;
            now &= BYTES == 1 ? 0xffu : BYTES == 2 ? 0xffffu : ~0u;
            store_element<BYTES>(at, now);
            change = (((uint64_t)now - (uint64_t)old) << (offset % 4 * 8)) *
                     wcodec_check_factor(position / 128 * BYTES + offset / 4);
        }
        for (uint32_t left_here = __ballot_sync(~0u, mine); left_here; left_here &= left_here - 1) {
            const int i = __ffs(left_here) - 1;
            const uint64_t c = __shfl_sync(~0u, change, i);
            if ((__shfl_sync(~0u, own, i) >> 10 & 31u) == (thread() & 31))
                *sum += c;
        }
        own = mine ? none : own;
    }
};

/* Put the value of an outlier into the field of its element, if it is one of the lane's four in
 * o[0] to o[BYTES - 1]. add: of one element. */
template <int BYTES, int FIELD, int WIDTH>
WCODEC_INLINE void replace_field(uint32_t outlier, uint32_t add, uint32_t *o)
{
    constexpr uint32_t element = BYTES == 4 ? ~0u : (1u << 8 * BYTES % 32) - 1,
                       field = ((1u << WIDTH) - 1) << FIELD;
    const bool own = (outlier >> 10 & 31u) == (thread() & 31);
    const uint32_t bit = (outlier >> 8 & 3u) * 8 * BYTES;
#pragma unroll
    for (uint32_t i = 0; i < BYTES; i++) {
        const uint32_t old = o[i] >> bit % 32,
                       now = (((old + add) & ~field) | (outlier & 0xffu) << FIELD) - add;
        o[i] = own && bit / 32 == i ? (o[i] & ~(element << bit % 32)) | (now & element) << bit % 32
                                    : o[i];
    }
}

#endif
