/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Lossy tensors without scratch memory: a warp decodes 16 groups of a tile into its shared memory, half a superblock, replaces outliers there, and makes
 * elements of them (backends/common/lossy.h). */
#ifndef WCODEC_CUDA_LOSSY_CUH
#define WCODEC_CUDA_LOSSY_CUH

#include "backends/common/lossy.h"
#include "backends/cuda/fast.cuh"

WCODEC_INLINE void shared_store_u32(uint32_t address, uint32_t v)
{
    asm volatile("st.shared.u32 [%0], %1;" ::"r"(address), "r"(v) : "memory");
}

WCODEC_INLINE void shared_store_u8(uint32_t address, uint32_t v)
{
    asm volatile("st.shared.u8 [%0], %1;" ::"r"(address), "r"(v) : "memory");
}

/* PROFILE with RUNS: of blocks; without: of plain tensors. */
template <int PROFILE, bool RUNS> struct lossy_tile : fast_tile<WCODEC_SHAPE_8_0, PROFILE, RUNS, PROFILE == PAIRS, false> {
    typedef fast_tile<WCODEC_SHAPE_8_0, PROFILE, RUNS, PROFILE == PAIRS, false> fast;
    static constexpr uint32_t step = PROFILE == P12 ? 2 : 4; /* groups whose words are no more than a slot of the ring */
    static constexpr uint32_t unit_groups = 16;

    uint32_t staged; /* shared address of the warp's coefficients */
    uint32_t patched; /* outliers that are in their place */

    __device__ __forceinline__ lossy_tile(const fast_launch &l) : fast(l)
    {
    }

    __device__ __forceinline__ void begin(uint32_t number, uint32_t room)
    {
        this->number = number;
        const wcodec_tile_job *job = this->tile();
        this->groups = (job->elements + 127) / 128;
        this->in.open(room, word_address(job), job->word_count, 0, 0);
        this->x = ((const uint32_t *)job->states)[thread() & 31];
    }

    /* Table of each group as a shared address less `table`; the lowest bit is set if it has one symbol only. */
    __device__ __forceinline__ void load_runs()
    {
        const uint8_t *runs = (const uint8_t *)this->tile()->runs;
        const uint32_t bits = current_set()->run_bits, log2 = current_set()->run_log2 - 7;
        for (uint32_t g = thread() & 31; g < this->groups; g += 32) {
            const uint32_t bit = (g >> log2) * bits, offset = (runs[bit / 8] >> bit % 8 & ((1u << bits) - 1)) * 1024;
            const uint32_t one = shared_u32(this->table + offset) >> 24 == 0;
            asm volatile("st.shared.u16 [%0], %1;" ::"r"(this->run_tables + 2 * g), "h"((uint16_t)(offset | one)) : "memory");
        }
        __syncwarp();
    }

    __device__ __forceinline__ void decode_word(uint32_t to, uint32_t t)
    {
        uint32_t v[4], o[4], none[1];
        this->decode_group(v, t);
        this->assemble(0, 0, v, none, o);
        shared_store_u32(to, o[0]);
    }

    /* Groups [g, g + n) to the shared address `to`. */
    __device__ __forceinline__ void decode_groups(uint32_t g, uint32_t n, uint32_t to)
    {
        const uint32_t whole = n / step * step, end = g + n;
        uint32_t k = g;
#pragma unroll 1
        for (; k < g + whole; k += step) {
            this->in.begin_block(0, 0);
            if constexpr (RUNS) {
                const uint2 tables = shared_u64(this->run_tables + 2 * k);
                if (__any_sync(~0u, (tables.x | tables.y) & 0x00010001u)) {
#pragma unroll 1
                    for (uint32_t i = 0; i < step; i++)
                        decode_run_group(shared_u16(this->run_tables + 2 * (k + i)), to + 128 * i);
                } else {
#pragma unroll
                    for (uint32_t i = 0; i < step; i++)
                        decode_word(to + 128 * i, this->table + __byte_perm(i < 2 ? tables.x : tables.y, 0, i % 2 ? 0x4432 : 0x4410));
                }
            } else {
#pragma unroll
                for (uint32_t i = 0; i < step; i++)
                    decode_word(to + 128 * i, this->table);
            }
            to += 128 * step;
        }
        if constexpr (!RUNS) {
#pragma unroll 1
            for (; k < end; k++) {
                this->in.begin_group();
                decode_word(to, this->table);
                to += 128;
            }
        }
    }

    /* A group whose table may have one symbol only: then nothing is read. */
    __device__ __forceinline__ void decode_run_group(uint32_t offset, uint32_t to)
    {
        if (__any_sync(~0u, offset & 1))
            shared_store_u32(to, (shared_u32(this->table + (offset & ~1u)) & 0xffu) * 0x01010101u);
        else
            decode_word(to, this->table + offset);
    }

    /* Outliers of elements from `first` on, to their place. Whether they are in order is seen later. */
    __device__ __forceinline__ void patch(uint32_t first, uint32_t base)
    {
        const wcodec_tile_job *job = this->tile();
        const uint32_t count = job->outliers;
        uint32_t n;
        if (patched >= count)
            return;
        __syncwarp();
        do {
            const outlier o = load_outlier(job, count, patched);
            const bool mine = o.position - first < 128 * unit_groups;
            if (mine)
                shared_store_u8(base + (o.position - first), o.value);
            n = __popc(__ballot_sync(~0u, mine));
            patched += n;
        } while (n == 32);
        __syncwarp();
    }

    __device__ __forceinline__ bool outliers_good(const wcodec_tile_job *job) const
    {
        const uint32_t lane = thread() & 31, count = job->outliers, elements = job->elements;
        uint32_t least = 0;
        for (uint32_t first = 0; first < count; first += 32) {
            const uint32_t n = min(32u, count - first), position = load_outlier(job, count, first).position;
            uint32_t before = __shfl_up_sync(~0u, position, 1) + 1;
            before = lane == 0 ? least : before;
            if (__any_sync(~0u, lane < n && (position < before || position >= elements)))
                return false;
            least = __shfl_sync(~0u, position, n - 1) + 1;
        }
        return true;
    }

    /* After begin(), and when the tables are there. `runs`: where the warp's run tables are, and behind them the coefficients. */
    template <class putter> __device__ __forceinline__ void decode(uint32_t next, uint32_t tables, uint32_t runs)
    {
        const uint32_t lane = thread() & 31;
        this->table = tables;
        this->run_tables = runs;
        staged = runs + (RUNS ? 1024 : 0);
        this->lanes_below = (this->launch.ones << lane) ^ this->launch.ones;
        this->window = 0;
        if constexpr (RUNS)
            load_runs();
        if (next < launch_end() && lane < 2)
            prefetch_l2((const char *)(this->launch.jobs + next) + lane * (sizeof(wcodec_tile_job) - 1));
        this->sum = 0;
        this->factor = WCODEC_CHECK_FIRST;
        this->low_start = this->x < WCODEC_STATE_LOW;
        patched = 0;
        const wcodec_blocks_job *blocks = (const wcodec_blocks_job *)this->tile()->out;
        wcodec_lossy_work work;
        wcodec_lossy_open(&work, blocks);
#pragma unroll 1
        for (uint32_t g = 0; g < this->groups; g += unit_groups) {
            const uint32_t n = RUNS ? unit_groups : min(unit_groups, this->groups - g);
            decode_groups(g, n, staged + 4 * lane);
            patch(g * 128, staged);
            putter::put(*this, &work, blocks, g / unit_groups, n);
            this->factor += unit_groups * WCODEC_CHECK_STEP;
        }
        if (next < launch_end())
            prefetch_tile<false>(this->launch.jobs + next);
        copy_async_wait<0>();
        __syncwarp();
        finish();
    }

    __device__ __forceinline__ void finish()
    {
        const wcodec_tile_job *job = this->tile();
        uint32_t fault = 0;
        if (__any_sync(~0u, this->low_start))
            fault = 1;
        else if (this->in.taken(word_address(job)) != 2 * job->word_count)
            fault = 2;
        else if (__any_sync(~0u, this->x != WCODEC_STATE_LOW))
            fault = 3;
        else if (job->outliers && !outliers_good(job))
            fault = 4;
        else if (job->slot >> 31)
            fault = add_lanes(wcodec_check_share(this->sum, thread() & 31)) == job->check ? 0 : 5;
        if ((thread() & 31) == 0 && fault)
            this->launch.faults[job->slot & 0x7fffffffu] = fault;
    }
};

/* Half a superblock. */
struct lossy_half {
    template <class tile> static __device__ __forceinline__ void put(tile &t, wcodec_lossy_work *w, const wcodec_blocks_job *job, uint32_t unit, uint32_t)
    {
        const uint32_t lane = thread() & 31, from = t.staged + 4 * lane;
        const wcodec_half_place place = wcodec_lossy_place(w, job, unit);
        const uint32_t column = place.column + 8 * lane;
        uint32_t v[64];
#define X(k, a, b, c, d)                                              \
    {                                                                 \
        const uint32_t word = shared_u32(from + 128 * k);             \
        t.sum += (uint64_t)word * (t.factor + k * WCODEC_CHECK_STEP); \
        wcodec_lossy_four(word, v + a, v + b, v + c, v + d);          \
    }
        WCODEC_ZIGZAG(X)
#undef X
        if (place.row < w->view->rows && column < w->view->columns) {
            const uint32_t format = w->view->format;
            wcodec_lossy_transform(wcodec_lossy_mode(w, job, unit, lane), v);
            /* Each with its format known when this is compiled. */
            if (format == WCODEC_TO_BF16) {
                w->format = WCODEC_TO_BF16;
                wcodec_put_block(w, place.row, column, v);
            } else if (format == WCODEC_TO_F16) {
                w->format = WCODEC_TO_F16;
                wcodec_put_block(w, place.row, column, v);
            } else {
                w->format = WCODEC_TO_F32;
                wcodec_put_block(w, place.row, column, v);
            }
        }
        __syncwarp();
    }
};

/* Elements of a plain tensor. */
struct lossy_plain {
    template <int FORMAT, class tile> static __device__ __forceinline__ void put_all(tile &t, uint64_t out, float scale)
    {
        const uint32_t from = t.staged + 4 * (thread() & 31);
#pragma unroll
        for (uint32_t k = 0; k < tile::unit_groups; k++) {
            const uint32_t word = shared_u32(from + 128 * k);
            uint32_t v[4];
            t.sum += (uint64_t)word * (t.factor + k * WCODEC_CHECK_STEP);
            wcodec_lossy_four(word, v, v + 1, v + 2, v + 3);
            if constexpr (FORMAT == WCODEC_TO_F32)
                store_u128((char *)out + 512 * k, make_uint4(wcodec_lossy_product(v[0], scale), wcodec_lossy_product(v[1], scale), wcodec_lossy_product(v[2], scale), wcodec_lossy_product(v[3], scale)));
            else
                store_u64((char *)out + 256 * k, make_uint2(wcodec_lossy_pair(FORMAT, v[0], v[1], scale), wcodec_lossy_pair(FORMAT, v[2], v[3], scale)));
        }
    }

    /* n groups. */
    template <class tile> static __device__ __forceinline__ void put(tile &t, wcodec_lossy_work *w, const wcodec_blocks_job *job, uint32_t unit, uint32_t n)
    {
        const wcodec_view_job *view = w->view;
        const uint32_t lane = thread() & 31, format = view->format, log2 = format == WCODEC_TO_F32 ? 2 : 1, first = unit * 128 * tile::unit_groups;
        const uint64_t at = job->first + first, out = view->out + ((at - view->begin) << log2);
        if (first + 128 * tile::unit_groups <= job->blocks && at >= view->begin && at + 128 * tile::unit_groups <= view->end && !view->row_scales && out % (4u << log2) == 0) {
            const float scale = *(const float *)view->scales * 64;
            const uint64_t mine = out + (lane * 4 << log2);
            if (format == WCODEC_TO_BF16)
                put_all<WCODEC_TO_BF16>(t, mine, scale);
            else if (format == WCODEC_TO_F16)
                put_all<WCODEC_TO_F16>(t, mine, scale);
            else
                put_all<WCODEC_TO_F32>(t, mine, scale);
        } else {
            w->format = format;
            put_each(t, w, job, first, n);
        }
        __syncwarp();
    }

    template <class tile> static __device__ __forceinline__ void put_each(tile &t, wcodec_lossy_work *w, const wcodec_blocks_job *job, uint32_t first, uint32_t n)
    {
        const wcodec_view_job *view = w->view;
        const uint32_t lane = thread() & 31;
#pragma unroll 1
        for (uint32_t i = 0; i < 4 * n; i++) {
            /* Element i % 4 of the lane's in group i / 4; those behind the last are zero, for the check. */
            const uint32_t number = first + i / 4 * 128 + 4 * lane + i % 4, shift = i % 4 * 8;
            const bool inside = number < job->blocks;
            const uint32_t symbol = inside ? shared_u32(t.staged + (number - first) / 4 * 4) >> shift & 0xffu : 0;
            const uint64_t element = job->first + number;
            t.sum += (uint64_t)(symbol << shift) * (t.factor + i / 4 * WCODEC_CHECK_STEP);
            if (inside && element >= view->begin && element < view->end)
                wcodec_put_one(w, view->out + ((element - view->begin) << (w->format == WCODEC_TO_F32 ? 2 : 1)), (uint32_t)((int32_t)(symbol << 24) >> 24) * 64,
                               wcodec_row_scale(w, view->row_scales ? element / view->columns : 0));
        }
    }
};

template <int PROFILE, bool RUNS, class PUTTER> struct lossy_kernel_tile : lossy_tile<PROFILE, RUNS> {
    __device__ __forceinline__ lossy_kernel_tile(const fast_launch &l) : lossy_tile<PROFILE, RUNS>(l)
    {
    }
    __device__ __forceinline__ void decode(uint32_t next, uint32_t tables, uint32_t runs)
    {
        lossy_tile<PROFILE, RUNS>::template decode<PUTTER>(next, tables, runs);
    }
};

template <int PROFILE, bool RUNS, class PUTTER> WCODEC_INLINE void fused_lossy_kernel(const fast_launch &launch)
{
    typedef places<PROFILE == PAIRS ? 32768 : 16384, WCODEC_CUDA_ROOM(WCODEC_SHAPE_8_0), WCODEC_CUDA_LOSSY_EXTRA> place;
    take_parts<lossy_kernel_tile<PROFILE, RUNS, PUTTER>, place>(
        launch, [](const wcodec_table_set *set, uint32_t *to, auto meanwhile) { load_tables<WCODEC_SHAPE_8_0, PROFILE, RUNS, PROFILE == PAIRS>(set, to, meanwhile); });
}

#endif
