/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Kernels for so few tiles that each has a warp and most of a scheduler for itself: then the time
 * is that of the chain from one step to the next. A tile's words are all there from the begin, and
 * what a word does to the lane that takes it is known but for the lane's state: the table entry is
 * that of the word's lowest bits, and with P8 the second entry is that of bits which come from the
 * word alone. So entries are looked up for all words at once, by several warps, and in the chain
 * there is no table for lanes that take a word; others look at it while these wait for their vote.
 */
#ifndef WCODEC_CUDA_FEW_CUH
#define WCODEC_CUDA_FEW_CUH

#include "backends/kernels/few_step.h"
#include "backends/cuda/fast.cuh"

/* Shared addresses. */
template <int PROFILE> struct few_room {
    uint32_t symbols, table, words, steps, entries, raw;

    /* Parts of a room, by the most that a tile of the launch has. The host knows the sum:
     * WCODEC_CUDA_FEW_ROOM(). */
    template <int SHAPE>
    __device__ __forceinline__ few_room(const fast_launch &launch, uint32_t tile, shape<SHAPE>)
    {
        const uint32_t many = launch.words + WCODEC_FEW_SPARE;
        const uint32_t raw_bytes = launch.groups * WCODEC_CUDA_FEW_RAW(SHAPE);
        const uint32_t begin = (uint32_t)__cvta_generic_to_shared(shared) + WCODEC_CUDA_HEAD;
        symbols = begin;
        table = PROFILE == P8 ? begin : begin + 1024;
        words = begin + WCODEC_CUDA_FEW_TABLES(PROFILE == P8) + tile * (14 * many + raw_bytes);
        steps = words + 2 * many;
        entries = steps + 8 * many;
        raw = entries + 4 * many;
    }
};

template <int SHAPE, int PROFILE> struct few_tile : fast_tile<SHAPE, PROFILE, false, false, false> {
    typedef fast_tile<SHAPE, PROFILE, false, false, false> fast;
    typedef shape<SHAPE> s;
    using fast::x, fast::groups, fast::window, fast::sum, fast::factor, fast::out,
        fast::lanes_below, fast::patches, fast::bytes, fast::rows;

    few_room<PROFILE> room;
    uint32_t skip;  /* bytes that are copied before the first word */
    uint32_t at;    /* shared address of what the next word does */
    uint32_t limit; /* the same of the second behind the last */
    uint32_t taken; /* bytes of words, at the end */
    tile_end end;

    __device__ __forceinline__ few_tile(const fast_launch &launch, const few_room<PROFILE> &r)
        : fast(launch), room(r)
    {
    }

    /* All of a descriptor, so that nothing of it is waited for twice. */
    static __device__ __forceinline__ wcodec_tile_job load_job(const wcodec_tile_job *from)
    {
        union {
            wcodec_tile_job job;
            uint4 v[sizeof(wcodec_tile_job) / 16];
        } u;
#pragma unroll
        for (uint32_t i = 0; i < sizeof(wcodec_tile_job) / 16; i++)
            u.v[i] = load_u128((const uint4 *)from + i);
        return u.job;
    }

    /* Ask for all that the tile needs: `part` of the `parts` threads that copy. */
    __device__ __forceinline__ void begin(const wcodec_tile_job &j, uint32_t index, uint32_t part,
                                          uint32_t parts)
    {
        const wcodec_tile_job *job = &j;
        fast::number = index;
        const uint64_t words = word_address(job), raw = job->raw;
        end = tile_end{job->word_count, job->outliers, job->slot, job->check};
        groups = this->launch.groups;
        out = (char *)job->out + (thread() & 31) * (4 * bytes);
        skip = (uint32_t)words & 15;
        asm volatile("ld.global.u32 %0, [%1];"
                     : "=r"(x)
                     : "l"((const uint32_t *)job->states + (thread() & 31)));
        for (uint32_t i = 16 * part; i < skip + 2 * end.words; i += 16 * parts)
            copy_async_16(room.words + i, (const char *)(words - skip) + i);
        if constexpr (rows > 0)
            for (uint32_t i = 16 * part; i < raw_size<SHAPE>(groups); i += 16 * parts)
                copy_async_16(room.raw + i, (const char *)raw + i);
        patches.load(job, job->outliers, 0);
    }

    /* Of each word: what the next state is multiplied with and what is added, and what is decoded.
     */
    __device__ __forceinline__ void expand(uint32_t part, uint32_t parts)
    {
        constexpr int batch = 6;
        for (uint32_t first = part; first < end.words; first += batch * parts) {
            uint32_t w[batch], e[batch];
#pragma unroll
            for (int k = 0; k < batch; k++)
                w[k] = shared_u16(room.words + skip + 2 * min(first + k * parts, end.words));
#pragma unroll
            for (int k = 0; k < batch; k++)
                e[k] = shared_u32(room.table + (w[k] & (PROFILE == P8 ? 0xffu : 0xfffu)) * 4);
            wcodec_few_step step[batch];
#pragma unroll
            for (int k = 0; k < batch; k++)
                step[k] =
                    PROFILE == P8 ? wcodec_few_first(w[k], e[k]) : wcodec_few_pair(w[k], e[k]);
            if constexpr (PROFILE == P8) {
                uint32_t second[batch];
#pragma unroll
                for (int k = 0; k < batch; k++)
                    second[k] = shared_u32(room.table + (step[k].plus & 0xffu) * 4);
#pragma unroll
                for (int k = 0; k < batch; k++)
                    step[k] = wcodec_few_second(step[k], second[k]);
            }
#pragma unroll
            for (int k = 0; k < batch; k++) {
                const uint32_t i = min(first + k * parts, end.words);
                asm volatile("st.shared.v2.u32 [%0], {%1, %2};" ::"r"(room.steps + 8 * i),
                             "r"(step[k].factor), "r"(step[k].plus)
                             : "memory");
                asm volatile("st.shared.u32 [%0], %1;" ::"r"(room.entries + 4 * i),
                             "r"(step[k].entry)
                             : "memory");
            }
        }
    }

    /* Decode what comes first, of which nothing is known before. */
    __device__ __forceinline__ uint32_t first_entry()
    {
        const uint32_t e = shared_u32(room.table + (x & (PROFILE == P8 ? 0xffu : 0xfffu)) * 4);
        if constexpr (PROFILE == P8) {
            x = wcodec_p8_step(x, e);
            const uint32_t second = shared_u32(room.table + (x & 0xffu) * 4);
            x = wcodec_p8_step(x, second);
            return wcodec_few_symbols(e, second);
        }
        x = wcodec_entry_step(x, e, 12);
        return e;
    }

    /* The next entry, or two symbols. */
    __device__ __forceinline__ uint32_t step()
    {
        uint32_t e;
        if constexpr (PROFILE == P8)
            WCODEC_FEW_STEP(WCODEC_FEW_P8, x, at, e, lanes_below, room.entries - room.steps / 2,
                            room.table, limit, ~this->launch.ones);
        else
            WCODEC_FEW_STEP(WCODEC_FEW_PAIRS, x, at, e, lanes_below, room.entries - room.steps / 2,
                            room.table, limit, ~this->launch.ones);
        return e;
    }

    /* An entry as fast_tile::assemble() takes it: of two symbols, the second stands in the upper
     * half. */
    static __device__ __forceinline__ void take_entry(uint32_t e, uint32_t *v)
    {
        v[0] = PROFILE == P8 ? e & 0xffu : e;
        v[1] = e >> 16;
    }

    /* Behind the last pair there is nothing to decode: the state itself is wanted. */
    __device__ __forceinline__ void last_words()
    {
        uint32_t word = room.words + skip + (at - room.steps) / 4;
        renormalise(x, word, lanes_below);
        taken = word - room.words - skip;
    }

    /* The block's raw words, as fast_tile has them. */
    template <bool LAST> __device__ __forceinline__ void load_rows(uint32_t g, uint32_t *r) const
    {
        const uint32_t lane = thread() & 31, first = room.raw + 4 * lane + g * s::group;
#pragma unroll
        for (int i = 0; i < rows; i++) {
            if (i < s::first)
                r[i] = LAST && i == s::first - 1 ? shared_u16(first + i * 128 - 2 * lane)
                                                 : shared_u32(first + i * 128);
            else if (SHAPE == WCODEC_SHAPE_32_24)
                r[i] = shared_u32(room.raw + 4 * lane + plane_offset<SHAPE, 1>(groups) +
                                  (g + i - s::first) * 128);
            else
                r[i] = shared_u32(room.raw + 4 * lane +
                                  (i == s::first ? plane_offset<SHAPE, 1>(groups) + g / 4 * 128
                                                 : plane_offset<SHAPE, 2>(groups) + g / 8 * 128));
        }
    }

    /* A block of groups, of which g is the first; e: its first entry, then that of the next block.
     */
    template <bool LAST> __device__ __forceinline__ void block(uint32_t g, uint32_t &e)
    {
        uint32_t r[rows ? rows : 1];
        load_rows<LAST>(g, r);
#pragma unroll
        for (int k = 0; k < s::unroll; k++) {
            uint32_t v[4], o[4];
            take_entry(e, v);
            take_entry(step(), v + 2);
            if (LAST && k == s::unroll - 1)
                last_words();
            else
                e = step();
            if constexpr (LAST && rows > 0)
                fast::take_payload(k, r);
            fast::assemble(k, SHAPE == WCODEC_SHAPE_16_11 ? g % 8 + k : 0, v, r, o);
            fast::put(k, o);
        }
        out += s::unroll * 128 * bytes;
        factor += s::unroll * bytes * WCODEC_CHECK_STEP;
    }

    __device__ __forceinline__ void decode(uint4 head)
    {
        const uint32_t lane = thread() & 31, base = head.w;
        lanes_below = (1u << lane) - 1;
        window = PROFILE == PAIRS && bytes > 1
                     ? base * ((1u << s::field) | (bytes == 2 ? 0x10000u << s::field : 0))
                     : 0;
        fast::low_start = x < WCODEC_STATE_LOW;
        sum = 0;
        factor = WCODEC_CHECK_FIRST;
        at = room.steps;
        limit = room.steps + 8 * (end.words + 1);
        fast::check_outliers();
        uint32_t e = first_entry(), g = 0;
#pragma unroll 1
        for (; g + s::unroll < this->launch.groups; g += s::unroll)
            block<false>(g, e);
        block<true>(g, e);
        fast::patch(this->launch.groups * 128, this->launch.groups);
        fast::finish(end, taken);
    }
};

/* 16 entries of the table: of symbols, and for each symbol what an entry is less its slot. The
 * table itself would be the same 16 KB read by all multiprocessors at once. */
WCODEC_INLINE void make_entries(const few_room<PAIRS> &room, uint4 slots)
{
    const uint32_t four[4] = {slots.x, slots.y, slots.z, slots.w}, slot = 16 * thread();
#pragma unroll
    for (uint32_t i = 0; i < 4; i++) {
        uint32_t e[4];
#pragma unroll
        for (uint32_t k = 0; k < 4; k++)
            e[k] = shared_u32(room.symbols + 4 * __byte_perm(four[i], 0, 0x4440 + k)) + slot +
                   4 * i + k;
        asm volatile(
            "st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(room.table + 4 * slot + 16 * i),
            "r"(e[0]), "r"(e[1]), "r"(e[2]), "r"(e[3])
            : "memory");
    }
}

template <int SHAPE, int PROFILE>
__device__ __forceinline__ void few_kernel(const fast_launch &launch)
{
    const uint32_t warp = thread() / 32, tiles = launch.tiles, helper = warp * launch.inverse >> 16,
                   own = warp - helper * tiles, parts = launch.helpers * 32;
    const uint32_t index = blockIdx.x * tiles + own, part = helper * 32 + (thread() & 31);
    const wcodec_table_set *set = (const wcodec_table_set *)launch.tables;
    const bool is_there = index < launch.count;
    few_tile<SHAPE, PROFILE> tile(launch, few_room<PROFILE>(launch, own, shape<SHAPE>()));
    const wcodec_tile_job job = tile.load_job(launch.jobs + launch.first + (is_there ? index : 0));
    const uint4 head = load_u128((const uint4 *)set); /* its entries, shift, width, base */
    uint4 slots;
    uint32_t symbol;
    if (thread() < 256) {
        if constexpr (PROFILE == PAIRS)
            slots = load_u128((const uint4 *)launch.parts + thread());
        const uint32_t *from =
            PROFILE == PAIRS ? (const uint32_t *)launch.parts + 1024 : (const uint32_t *)(set + 1);
        asm volatile("ld.global.u32 %0, [%1];" : "=r"(symbol) : "l"(from + thread()));
    }
    if (is_there)
        tile.begin(job, launch.first + index, part, parts);
    copy_async_commit();
    if (thread() < 256)
        asm volatile("st.shared.u32 [%0], %1;" ::"r"(tile.room.symbols + 4 * thread()),
                     "r"(PROFILE == PAIRS
                             ? symbol
                             : wcodec_p8_entry(symbol, shape<SHAPE>::bytes == 1 ? head.y : 0))
                     : "memory");
    if constexpr (PROFILE == PAIRS) {
        __syncthreads();
        if (thread() < 256)
            make_entries(tile.room, slots);
    }
    copy_async_wait<0>();
    __syncthreads();
    if (is_there)
        tile.expand(part, parts);
    __syncthreads();
    if (__any_sync(~0u, helper == 0 && is_there))
        tile.decode(head);
}

#endif
