/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* OpenCL C for lanes of devices without instructions of their own here (dialect_opencl.h): votes
 * through local memory, or by sub-groups. */
#ifndef WCODEC_KERNELS_DIALECT_PORTABLE_H
#define WCODEC_KERNELS_DIALECT_PORTABLE_H

WCODEC_DEVICE_FUNCTION uint32_t wcodec_lane(const struct wcodec_warp *warp)
{
    return warp->lane;
}

#ifdef WCODEC_OPENCL_SUBGROUP
WCODEC_DEVICE_FUNCTION uint32_t wcodec_warp_number(const struct wcodec_warp *warp)
{
    return get_sub_group_id();
}
#else
WCODEC_DEVICE_FUNCTION uint32_t wcodec_warp_number(const struct wcodec_warp *warp)
{
    return 0;
}
#endif

WCODEC_DEVICE_FUNCTION uint32_t wcodec_thread(const struct wcodec_warp *warp)
{
    return wcodec_warp_number(warp) * 32 + warp->lane;
}

#ifdef WCODEC_OPENCL_LOCAL
/* Three cells by turns: one is voted in, the next one is cleared, the one before may still be read.
 * So one barrier a vote is enough. The group is one tile, since all must come to each barrier. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_next_cell(struct wcodec_warp *warp)
{
    const uint32_t cell = warp->turn;
    warp->turn = cell == 2 ? 0 : cell + 1;
    if (warp->lane == 0)
        warp->cells[warp->turn] = 0;
    return cell;
}

WCODEC_DEVICE_FUNCTION uint32_t wcodec_ballot(struct wcodec_warp *warp, bool condition)
{
    const uint32_t cell = wcodec_next_cell(warp);
    if (condition)
        atomic_or(&warp->cells[cell], 1u << warp->lane);
    barrier(CLK_LOCAL_MEM_FENCE);
    return warp->cells[cell];
}

WCODEC_DEVICE_FUNCTION uint32_t wcodec_add_lanes(struct wcodec_warp *warp, uint32_t value)
{
    const uint32_t cell = wcodec_next_cell(warp);
    atomic_add(&warp->cells[cell], value);
    barrier(CLK_LOCAL_MEM_FENCE);
    return warp->cells[cell];
}

#define WCODEC_ORDER() barrier(CLK_GLOBAL_MEM_FENCE)
#define WCODEC_LOCAL_ORDER() barrier(CLK_LOCAL_MEM_FENCE)
#define WCODEC_SYNC_BOTH() barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)
#else
#pragma OPENCL EXTENSION cl_khr_subgroups : enable
#pragma OPENCL EXTENSION cl_khr_subgroup_ballot : enable
WCODEC_DEVICE_FUNCTION uint32_t wcodec_ballot(struct wcodec_warp *warp, bool condition)
{
    return sub_group_ballot(condition).x;
}

WCODEC_DEVICE_FUNCTION uint32_t wcodec_add_lanes(struct wcodec_warp *warp, uint32_t value)
{
    return sub_group_reduce_add(value);
}

#define WCODEC_ORDER() sub_group_barrier(CLK_GLOBAL_MEM_FENCE)
#define WCODEC_LOCAL_ORDER() sub_group_barrier(CLK_LOCAL_MEM_FENCE)
#define WCODEC_SYNC_BOTH() sub_group_barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)
#endif

WCODEC_DEVICE_FUNCTION void wcodec_sync_warp(struct wcodec_warp *warp)
{
    WCODEC_SYNC_BOTH();
}

WCODEC_DEVICE_FUNCTION bool wcodec_any(struct wcodec_warp *warp, bool condition)
{
    return wcodec_ballot(warp, condition) != 0;
}

WCODEC_DEVICE_FUNCTION bool wcodec_all(struct wcodec_warp *warp, bool condition)
{
    return wcodec_ballot(warp, !condition) == 0;
}

/* Two halves by turns: the one before may still be read. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_shuffle(struct wcodec_warp *warp, uint32_t v, uint32_t from)
{
    warp->other ^= 32;
    warp->exchange[warp->other + warp->lane] = v;
    WCODEC_LOCAL_ORDER();
    return warp->exchange[warp->other + from % 32];
}

WCODEC_DEVICE_FUNCTION uint32_t wcodec_swap(struct wcodec_warp *warp, uint32_t v, uint32_t mask)
{
    return wcodec_shuffle(warp, v, warp->lane ^ mask);
}

/* Addresses of shared memory are offsets. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_shared_base(const struct wcodec_warp *warp)
{
    return 0;
}

#define WCODEC_PORTABLE_SHARED(suffix, element, type) \
    WCODEC_DEVICE_FUNCTION type wcodec_shared_##suffix(const struct wcodec_warp *warp, \
                                                       uint32_t address) \
    { \
        return *(const __local element *)(warp->shared + address); \
    } \
    WCODEC_DEVICE_FUNCTION void wcodec_put_##suffix(const struct wcodec_warp *warp, \
                                                    uint32_t address, type v) \
    { \
        *(__local element *)(warp->shared + address) = (element)(v); \
    }

WCODEC_PORTABLE_SHARED(u8, uchar, uint32_t)
WCODEC_PORTABLE_SHARED(u16, ushort, uint32_t)
WCODEC_PORTABLE_SHARED(u32, uint, uint32_t)
WCODEC_PORTABLE_SHARED(u2, uint2, wcodec_u2)
WCODEC_PORTABLE_SHARED(u4, uint4, wcodec_u4)

WCODEC_DEVICE_FUNCTION void wcodec_shared_add(const struct wcodec_warp *warp, uint32_t address,
                                              uint32_t v)
{
    atomic_add((volatile __local uint *)(warp->shared + address), v);
}

#define wcodec_entry_at(first, index, step) ((first) + (index) * (step))

WCODEC_DEVICE_FUNCTION uint32_t wcodec_table_copy(uint32_t table, uint32_t copy)
{
    return table + 4 * copy;
}

#define wcodec_prefetch(from) ((void)(from))

/* Copies have arrived when they are asked for. */
#define wcodec_copy_commit(warp) ((void)(warp))
#define wcodec_copy_wait(warp) ((void)(warp))

WCODEC_DEVICE_FUNCTION void wcodec_copy_part(struct wcodec_warp *warp, uint32_t to,
                                             const __global uint8_t *from, uint32_t size)
{
    if (size == 16)
        wcodec_put_u4(warp, to, *(const __global uint4 *)from);
    else
        for (uint32_t i = 0; i < size; i++)
            wcodec_put_u8(warp, to + i, from[i]);
}

#endif
