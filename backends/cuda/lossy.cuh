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

/* The tables of a second stream stand behind those of the first. */
WCODEC_INLINE const wcodec_table_set *second_set(const wcodec_table_set *set)
{
    return (const wcodec_table_set *)((const char *)(set + 1) + 4 * set->entries);
}

/* A stream of coefficients, or of their lower or upper bytes. With runs `run_tables` has a byte for each group: four times its table, and 1 if that has one symbol
 * only. */
template <int PROFILE, bool RUNS> struct lossy_stream : fast_tile<WCODEC_SHAPE_8_0, PROFILE, RUNS, PROFILE == PAIRS, false> {
    typedef fast_tile<WCODEC_SHAPE_8_0, PROFILE, RUNS, PROFILE == PAIRS, false> fast;
    static constexpr uint32_t step = PROFILE == P12 ? 2 : 4; /* groups whose words are no more than a slot of the ring */

    uint32_t staged;  /* shared address of the warp's bytes */
    uint32_t patched; /* outliers that are in their place */

    __device__ __forceinline__ lossy_stream(const fast_launch &l) : fast(l)
    {
    }

    /* job: of a tile, or of a further stream. */
    template <class descriptor> __device__ __forceinline__ void begin(const descriptor *job, uint32_t room)
    {
        this->in.open(room, job->word_count ? job->words : job->states, job->word_count, 0, 0);
        this->x = ((const uint32_t *)job->states)[thread() & 31];
    }

    __device__ __forceinline__ void prepare(uint32_t tables, uint32_t runs, uint32_t bytes)
    {
        this->table = tables;
        this->run_tables = runs;
        this->lanes_below = (this->launch.ones << (thread() & 31)) ^ this->launch.ones;
        this->window = 0;
        this->low_start = this->x < WCODEC_STATE_LOW;
        staged = bytes;
        patched = 0;
    }

    __device__ __forceinline__ void load_runs(const uint8_t *runs, const wcodec_table_set *set, uint32_t groups)
    {
        const uint32_t bits = set->run_bits, log2 = set->run_log2 - 7;
        for (uint32_t g = thread() & 31; g < groups; g += 32) {
            const uint32_t bit = (g >> log2) * bits, number = runs[bit / 8] >> bit % 8 & ((1u << bits) - 1);
            shared_store_u8(this->run_tables + g, number * 4 | (shared_u32(this->table + number * 1024) >> 24 == 0));
        }
    }

    __device__ __forceinline__ void decode_word(uint32_t to, uint32_t t)
    {
        uint32_t v[4], o[4], none[1];
        this->decode_group(v, t);
        this->assemble(0, 0, v, none, o);
        shared_store_u32(to, o[0]);
    }

    /* A group whose table may have one symbol only: then nothing is read. tables: its byte stands at bits 8 to 15. */
    __device__ __forceinline__ void decode_run_group(uint32_t tables, uint32_t to)
    {
        if (__any_sync(~0u, tables & 0x100))
            shared_store_u32(to, (shared_u32(this->table + (tables & 0x3c00)) & 0xffu) * 0x01010101u);
        else
            decode_word(to, this->table + tables);
    }

    /* Groups [g, g + n); with runs g and n are multiples of four. ROLLED: most tables have one symbol. */
    template <bool ROLLED> __device__ __forceinline__ void decode_groups(uint32_t g, uint32_t n)
    {
        const uint32_t end = g + n, whole = g + n / step * step;
        uint32_t to = staged + 4 * (thread() & 31);
#pragma unroll 1
        for (; g < whole; g += step) {
            this->in.begin_block(0, 0);
            if constexpr (RUNS) {
                const uint32_t tables = shared_u32(this->run_tables + g);
                if (ROLLED || __any_sync(~0u, tables & 0x01010101u)) {
#pragma unroll 1
                    for (uint32_t i = 0; i < 4; i++)
                        decode_run_group((tables >> 8 * i & 0xffu) << 8, to + 128 * i);
                } else {
#pragma unroll
                    for (uint32_t i = 0; i < 4; i++)
                        decode_word(to + 128 * i, this->table + __byte_perm(tables, 0, 0x4404 | i << 4));
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
            for (; g < end; g++) {
                this->in.begin_group();
                decode_word(to, this->table);
                to += 128;
            }
        }
    }

    template <class descriptor> static __device__ __forceinline__ uint32_t position(const descriptor *job, uint32_t i)
    {
        return ((const uint16_t *)job->positions)[i];
    }

    /* Outliers of `n` groups, the elements from `first` on, to their place. Whether they are in order is seen later. */
    template <class descriptor> __device__ __forceinline__ void patch(const descriptor *job, uint32_t first, uint32_t elements)
    {
        const uint32_t count = job->outliers;
        uint32_t n;
        if (patched >= count)
            return;
        __syncwarp();
        do {
            const uint32_t i = patched + (thread() & 31), at = i < count ? position(job, i) - first : elements;
            const bool mine = at < elements;
            if (mine)
                shared_store_u8(staged + at, ((const uint8_t *)job->values)[i]);
            n = __popc(__ballot_sync(~0u, mine));
            patched += n;
        } while (n == 32);
        __syncwarp();
    }

    template <class descriptor> __device__ __forceinline__ static bool outliers_good(const descriptor *job, uint32_t elements)
    {
        const uint32_t lane = thread() & 31, count = job->outliers;
        uint32_t least = 0;
        for (uint32_t first = 0; first < count; first += 32) {
            const uint32_t n = min(32u, count - first), at = lane < n ? position(job, first + lane) : 0;
            uint32_t before = __shfl_up_sync(~0u, at, 1) + 1;
            before = lane == 0 ? least : before;
            if (__any_sync(~0u, lane < n && (at < before || at >= elements)))
                return false;
            least = __shfl_sync(~0u, at, n - 1) + 1;
        }
        return true;
    }

    template <class descriptor> __device__ __forceinline__ bool all_taken(const descriptor *job) const
    {
        return this->in.taken(job->word_count ? job->words : job->states) == 2 * job->word_count;
    }
};

/* Half a superblock. */
struct lossy_half {
    template <class tile> static __device__ __forceinline__ void put(tile &t, wcodec_lossy_work *w, const wcodec_blocks_job *job, uint32_t unit, uint32_t)
    {
        const uint32_t from = t.low.staged + 4 * (thread() & 31);
        uint32_t words[16];
#pragma unroll
        for (uint32_t k = 0; k < 16; k++) {
            words[k] = shared_u32(from + 128 * k);
            t.sum += (uint64_t)words[k] * (t.factor + k * WCODEC_CHECK_STEP);
        }
        w->wide = 0;
        wcodec_lossy_block(w, job, unit, thread() & 31, words);
        __syncwarp();
    }

    template <class tile> static __device__ __forceinline__ void put_wide(tile &t, wcodec_lossy_work *w, const wcodec_blocks_job *job, uint32_t unit)
    {
        const uint32_t lane = thread() & 31, low = t.low.staged + 4 * lane, high = t.high.staged + 4 * lane, add = current_set()->add;
        uint32_t words[32];
#pragma unroll
        for (uint32_t k = 0; k < 16; k++) {
            const uint32_t l = shared_u32(low + 128 * k), h = shared_u32(high + 128 * k);
            words[2 * k] = subtract_halves(__byte_perm(l, h, 0x5140), add);
            words[2 * k + 1] = subtract_halves(__byte_perm(l, h, 0x7362), add);
            t.sum += (uint64_t)words[2 * k] * (t.factor + 2 * k * WCODEC_CHECK_STEP) + (uint64_t)words[2 * k + 1] * (t.factor + (2 * k + 1) * WCODEC_CHECK_STEP);
        }
        w->wide = 1;
        wcodec_lossy_block(w, job, unit, lane, words);
        __syncwarp();
    }

    static __device__ __forceinline__ uint32_t subtract_halves(uint32_t v, uint32_t add)
    {
        return ((v | 0x80008000u) - (add & 0x7fff7fffu)) ^ ((v ^ ~add) & 0x80008000u);
    }
};

/* Elements of a plain tensor. */
struct lossy_plain {
    template <int FORMAT, class tile> static __device__ __forceinline__ void put_all(tile &t, uint64_t out, float scale)
    {
        const uint32_t from = t.staged() + 4 * (thread() & 31);
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
            const uint32_t symbol = inside ? shared_u32(t.staged() + (number - first) / 4 * 4) >> shift & 0xffu : 0;
            const uint64_t element = job->first + number;
            t.sum += (uint64_t)(symbol << shift) * (t.factor + i / 4 * WCODEC_CHECK_STEP);
            if (inside && element >= view->begin && element < view->end)
                wcodec_put_one(w, view->out + ((element - view->begin) << (w->format == WCODEC_TO_F32 ? 2 : 1)), (uint32_t)((int32_t)(symbol << 24) >> 24) * 64,
                               wcodec_row_scale(w, view->row_scales ? element / view->columns : 0));
        }
    }
};

/* PUTTER makes elements of half a superblock, or as many groups of a plain tensor; it counts for the check. */
template <int PROFILE, bool RUNS, class PUTTER> struct lossy_tile {
    typedef lossy_stream<PROFILE, RUNS> stream;
    static constexpr uint32_t unit_groups = 16;

    const fast_launch &launch;
    stream low;
    uint32_t number, groups;
    uint64_t sum;
    uint32_t factor;

    __device__ __forceinline__ lossy_tile(const fast_launch &l) : launch(l), low(l)
    {
    }

    __device__ __forceinline__ const wcodec_tile_job *tile() const
    {
        return launch.jobs + number;
    }

    __device__ __forceinline__ void begin(uint32_t n, uint32_t room)
    {
        number = n;
        groups = (tile()->elements + 127) / 128;
        low.begin(tile(), room);
    }

    /* After begin(), and when the tables are there. extra: WCODEC_CUDA_LOSSY_EXTRA bytes of the warp's. */
    __device__ __forceinline__ void decode(uint32_t next, uint32_t tables, uint32_t extra)
    {
        const uint32_t lane = thread() & 31;
        low.prepare(tables, extra, extra + (RUNS ? 512 : 0));
        if constexpr (RUNS) {
            low.load_runs((const uint8_t *)tile()->runs, current_set(), groups);
            __syncwarp();
        }
        if (next < launch_end() && lane < 2)
            prefetch_l2((const char *)(launch.jobs + next) + lane * (sizeof(wcodec_tile_job) - 1));
        sum = 0;
        factor = WCODEC_CHECK_FIRST;
        const wcodec_blocks_job *blocks = (const wcodec_blocks_job *)tile()->out;
        wcodec_lossy_work work;
        wcodec_lossy_open(&work, blocks);
#pragma unroll 1
        for (uint32_t g = 0; g < groups; g += unit_groups) {
            const uint32_t n = RUNS ? unit_groups : min(unit_groups, groups - g);
            low.template decode_groups<false>(g, n);
            low.patch(tile(), g * 128, unit_groups * 128);
            PUTTER::put(*this, &work, blocks, g / unit_groups, n);
            factor += unit_groups * WCODEC_CHECK_STEP;
        }
        if (next < launch_end())
            prefetch_tile<false>(launch.jobs + next);
        copy_async_wait<0>();
        __syncwarp();
        const wcodec_tile_job *job = tile();
        tell(job, __any_sync(~0u, low.low_start), !low.all_taken(job), __any_sync(~0u, low.x != WCODEC_STATE_LOW), job->outliers && !stream::outliers_good(job, job->elements));
    }

    __device__ __forceinline__ void tell(const wcodec_tile_job *job, bool start, bool words, bool end, bool outliers) const
    {
        uint32_t fault = start ? 1 : words ? 2 : end ? 3 : outliers ? 4 : 0;
        if (!fault && job->slot >> 31)
            fault = add_lanes(wcodec_check_share(sum, thread() & 31)) == job->check ? 0 : 5;
        if ((thread() & 31) == 0 && fault)
            launch.faults[job->slot & 0x7fffffffu] = fault;
    }

    __device__ __forceinline__ uint32_t staged() const
    {
        return low.staged;
    }
};

/* 16-bit coefficients in blocks: streams of lower and of upper bytes. A tile's job has the upper one's wcodec_stream_job at `raw`. */
struct lossy_wide_tile {
    typedef lossy_stream<P8, true> stream;
    static constexpr uint32_t unit_groups = 16;

    const fast_launch &launch;
    stream low, high;
    uint32_t number, groups;
    uint64_t sum;
    uint32_t factor;

    __device__ __forceinline__ lossy_wide_tile(const fast_launch &l) : launch(l), low(l), high(l)
    {
    }

    __device__ __forceinline__ const wcodec_tile_job *tile() const
    {
        return launch.jobs + number;
    }

    __device__ __forceinline__ const wcodec_stream_job *upper() const
    {
        return (const wcodec_stream_job *)tile()->raw;
    }

    __device__ __forceinline__ bool upper_coded() const
    {
        return (upper()->mode_symbol & 0xff) == 0;
    }

    __device__ __forceinline__ void begin(uint32_t n, uint32_t room)
    {
        number = n;
        groups = (tile()->elements + 127) / 128;
        low.begin(tile(), room);
        if (upper_coded())
            high.begin(upper(), room + WCODEC_CUDA_ROOM(WCODEC_SHAPE_8_0));
    }

    __device__ __forceinline__ void decode(uint32_t next, uint32_t tables, uint32_t extra)
    {
        const uint32_t lane = thread() & 31;
        const bool coded = upper_coded();
        low.prepare(tables, extra, extra + 1024);
        high.prepare(tables + 16384, extra + 512, extra + 1024 + 2048);
        low.load_runs((const uint8_t *)tile()->runs, current_set(), groups);
        if (coded) {
            high.load_runs((const uint8_t *)upper()->runs, second_set(current_set()), groups);
        } else {
            const uint32_t symbol = (upper()->mode_symbol >> 8 & 0xffu) * 0x01010101u;
            for (uint32_t g = 0; g < unit_groups; g++)
                shared_store_u32(high.staged + 128 * g + 4 * lane, symbol);
        }
        __syncwarp();
        if (next < launch_end() && lane < 2)
            prefetch_l2((const char *)(launch.jobs + next) + lane * (sizeof(wcodec_tile_job) - 1));
        sum = 0;
        factor = WCODEC_CHECK_FIRST;
        const wcodec_blocks_job *blocks = (const wcodec_blocks_job *)tile()->out;
        wcodec_lossy_work work;
        wcodec_lossy_open(&work, blocks);
#pragma unroll 1
        for (uint32_t g = 0; g < groups; g += unit_groups) {
            low.decode_groups<false>(g, unit_groups);
            low.patch(tile(), g * 128, unit_groups * 128);
            if (coded)
                high.decode_groups<true>(g, unit_groups);
            high.patch(upper(), g * 128, unit_groups * 128);
            lossy_half::put_wide(*this, &work, blocks, g / unit_groups);
            if (!coded && upper()->outliers)
                for (uint32_t k = 0; k < unit_groups; k++)
                    shared_store_u32(high.staged + 128 * k + 4 * lane, (upper()->mode_symbol >> 8 & 0xffu) * 0x01010101u);
            factor += 2 * unit_groups * WCODEC_CHECK_STEP;
        }
        if (next < launch_end())
            prefetch_tile<false>(launch.jobs + next);
        copy_async_wait<0>();
        __syncwarp();
        const wcodec_tile_job *job = tile();
        uint32_t fault = 0;
        if (__any_sync(~0u, low.low_start || (coded && high.low_start)))
            fault = 1;
        else if (!low.all_taken(job) || (coded && !high.all_taken(upper())))
            fault = 2;
        else if (__any_sync(~0u, low.x != WCODEC_STATE_LOW || (coded && high.x != WCODEC_STATE_LOW)))
            fault = 3;
        else if ((job->outliers && !stream::outliers_good(job, job->elements)) || (upper()->outliers && !stream::outliers_good(upper(), job->elements)))
            fault = 4;
        else if (job->slot >> 31)
            fault = add_lanes(wcodec_check_share(sum, lane)) == job->check ? 0 : 5;
        if (lane == 0 && fault)
            launch.faults[job->slot & 0x7fffffffu] = fault;
    }
};

template <int PROFILE, bool RUNS, class PUTTER> WCODEC_INLINE void fused_lossy_kernel(const fast_launch &launch)
{
    typedef places<PROFILE == PAIRS ? 32768 : 16384, WCODEC_CUDA_ROOM(WCODEC_SHAPE_8_0), WCODEC_CUDA_LOSSY_EXTRA> place;
    take_parts<lossy_tile<PROFILE, RUNS, PUTTER>, place>(
        launch, [](const wcodec_table_set *set, uint32_t *to, auto meanwhile) { load_tables<WCODEC_SHAPE_8_0, PROFILE, RUNS, PROFILE == PAIRS>(set, to, meanwhile); });
}

WCODEC_INLINE void fused_lossy_wide_kernel(const fast_launch &launch)
{
    typedef places<32768, 2 * WCODEC_CUDA_ROOM(WCODEC_SHAPE_8_0), WCODEC_CUDA_LOSSY_WIDE_EXTRA> place;
    take_parts<lossy_wide_tile, place>(launch, [](const wcodec_table_set *set, uint32_t *to, auto meanwhile) {
        load_tables<WCODEC_SHAPE_8_0, P8, true, false>(set, to, meanwhile);
        load_tables<WCODEC_SHAPE_8_0, P8, true, false>(second_set(set), to + 4096, [] {});
    });
}

#endif
