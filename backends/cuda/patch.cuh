/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Elements stored one by one: of tiles that end within a group or lie off the grid, and outliers. */
#ifndef WCODEC_CUDA_PATCH_CUH
#define WCODEC_CUDA_PATCH_CUH

#include "backends/cuda/device.cuh"

template <int BYTES> WCODEC_INLINE uint32_t load_element(const char *at)
{
    return BYTES == 1 ? *(const volatile uint8_t *)at : BYTES == 2 ? *(const volatile uint16_t *)at : *(const volatile uint32_t *)at;
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

/* One of 32 outliers for each lane; no position where there is none. */
struct outlier {
    uint32_t position, value;
};

WCODEC_INLINE outlier load_outlier(const wcodec_tile_job *job, uint32_t count, uint32_t first)
{
    const uint32_t i = first + (thread() & 31);
    return i < count ? outlier{((const uint16_t *)job->positions)[i], ((const uint8_t *)job->values)[i]} : outlier{0xffffffffu, 0};
}

/* What patching needs of a tile and its tables: read when there are outliers. */
struct patch_place {
    const wcodec_tile_job *job;
    const wcodec_table_set *set;

    __device__ __forceinline__ char *out() const
    {
        return (char *)job->out;
    }
    __device__ __forceinline__ const char *done() const
    {
        return (const char *)job->out;
    }
    __device__ __forceinline__ uint32_t elements() const
    {
        return job->elements;
    }
    __device__ __forceinline__ uint4 set_head() const
    {
        return *(const uint4 *)set;
    }
    __device__ __forceinline__ uint32_t add() const
    {
        return set->add;
    }
};

/* Each lane changes one element, and the lane that decoded it learns by how much its part of the check does. o: the lane's of the first 32. Returns false if positions or values are out of range or order. */
template <int BYTES, class place> WCODEC_INLINE bool patch_outliers(const wcodec_tile_job *job, const place &at, uint32_t count, outlier o, uint64_t *sum)
{
    const uint4 head = at.set_head(); /* its entries, shift, width, base */
    const uint32_t lane = thread() & 31, elements = at.elements(), width = head.z, shift = head.y, add = at.add(), mask = ((1u << width) - 1) << shift;
    char *out = at.out();
    const char *done = at.done();
    uint32_t least = 0;
    for (uint32_t first = 0; first < count; first += 32) {
        const uint32_t n = min(32u, count - first);
        const bool mine = lane < n;
        o = first ? load_outlier(job, count, first) : o;
        const uint32_t position = o.position, value = o.value;
        uint32_t before = __shfl_up_sync(~0u, position, 1) + 1;
        before = lane == 0 ? least : before;
        if (__any_sync(~0u, mine && (position < before || position >= elements || value >> width)))
            return false;
        least = __shfl_sync(~0u, position, n - 1) + 1;
        uint64_t change = 0;
        __syncwarp(); /* elements that other lanes have stored are read */
        if (mine) {
            const uint32_t old = load_element<BYTES>(done + position * BYTES);
            uint32_t now = (((old + add) & ~mask) | value << shift) - add;
            now &= BYTES == 1 ? 0xffu : BYTES == 2 ? 0xffffu : ~0u;
            store_element<BYTES>(out + position * BYTES, now);
            const uint32_t offset = position % 4 * BYTES;
            change = (((uint64_t)now - (uint64_t)old) << (offset % 4 * 8)) * wcodec_check_factor(position / 128 * BYTES + offset / 4);
        }
        for (uint32_t i = 0; i < n; i++) {
            const uint64_t c = __shfl_sync(~0u, change, i);
            if (__shfl_sync(~0u, position, i) % 128 / 4 == lane)
                *sum += c;
        }
    }
    return true;
}

#endif
