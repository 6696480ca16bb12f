/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Lossy tensors without scratch memory: a warp decodes a unit of 16 groups of a tile (half a
 * superblock; eight groups of plain tensors with raw bits) into its shared memory, replaces
 * outliers there, and makes elements of them (backends/kernels/lossy.h). */
#ifndef WCODEC_CUDA_LOSSY_CUH
#define WCODEC_CUDA_LOSSY_CUH

#include "backends/kernels/bytes.h"
#include "backends/kernels/lossy.h"
#include "backends/cuda/lossy_streams.cuh"

WCODEC_INLINE uint32_t subtract_bytes(uint32_t v, uint32_t add)
{
    return ((v | 0x80808080u) - (add & 0x7f7f7f7fu)) ^ ((v ^ ~add) & 0x80808080u);
}

/* Of one row, and of the next. */
struct lossy_scales {
    float first, then;
};

/* Elements of a plain tensor. */
struct lossy_plain {
    /* A lane's words of the unit that begins with element `first` of the tile, as they count for
     * the check. */
    template <class tile>
    static __device__ __forceinline__ void take(const tile &t, uint32_t first, uint32_t *v)
    {
        const uint32_t from = t.low.staged + 4 * (thread() & 31);
        if constexpr (!tile::raw) {
#pragma unroll
            for (uint32_t i = 0; i < tile::unit_groups; i++)
                v[i] = shared_u32(from + 128 * i);
        } else {
            const uint4 with =
                shared_u128(t.parked + tile::WITH); /* offset, raw bits, constant ones */
#pragma unroll
            for (uint32_t i = 0; i < tile::unit_groups; i++) {
                const uint32_t symbols = shared_u32(from + 128 * i);
                if constexpr (tile::bytes == 2) {
                    v[2 * i] = __byte_perm(symbols, 0, 0x4140) << with.y | with.z;
                    v[2 * i + 1] = __byte_perm(symbols, 0, 0x4342) << with.y | with.z;
                } else {
                    v[i] = symbols;
                }
            }
            tile::raw_bits_of::put(t.raw_rows(), with.y, v);
            if constexpr (tile::bytes == 2)
                t.patch_upper(first, 8 + with.y, v);
#pragma unroll
            for (uint32_t i = 0; i < tile::unit_groups * tile::bytes; i++)
                v[i] = tile::bytes == 2 ? wcodec_subtract_halves(v[i], with.x)
                                        : subtract_bytes(v[i], with.x);
        }
    }

    /* row: number in the unit at which with ROWS the second of `scales` begins. */
    template <int FORMAT, bool ROWS, class tile>
    static __device__ __forceinline__ void put_all(tile &t, uint32_t first, uint64_t out,
                                                   const lossy_scales &scales, uint32_t row)
    {
        constexpr uint32_t bytes = tile::bytes;
        const uint32_t factor = WCODEC_CHECK_FIRST + first / 128 * bytes * WCODEC_CHECK_STEP;
        uint32_t words[tile::unit_groups * bytes];
        uint64_t sum = 0;
        take(t, first, words);
#pragma unroll
        for (uint32_t k = 0; k < tile::unit_groups; k++) {
            const float scale =
                ROWS && 128 * k + 4 * (thread() & 31) >= row ? scales.then : scales.first;
            uint32_t v[4];
            if constexpr (bytes == 2) {
                wcodec_lossy_two(words[2 * k], v, v + 1);
                wcodec_lossy_two(words[2 * k + 1], v + 2, v + 3);
            } else {
                wcodec_lossy_four(words[k], v, v + 1, v + 2, v + 3);
            }
#pragma unroll
            for (uint32_t i = 0; i < bytes; i++)
                sum +=
                    (uint64_t)words[bytes * k + i] * (factor + (bytes * k + i) * WCODEC_CHECK_STEP);
            if constexpr (FORMAT == WCODEC_TO_F32)
                store_u128((char *)out + 512 * k, make_uint4(wcodec_lossy_product(v[0], scale),
                                                             wcodec_lossy_product(v[1], scale),
                                                             wcodec_lossy_product(v[2], scale),
                                                             wcodec_lossy_product(v[3], scale)));
            else
                store_u64((char *)out + 256 * k,
                          make_uint2(wcodec_lossy_pair(FORMAT, v[0], v[1], scale),
                                     wcodec_lossy_pair(FORMAT, v[2], v[3], scale)));
        }
        t.add_sum(sum);
    }

    template <bool ROWS, class tile>
    static __device__ __forceinline__ void put_rows(tile &t, uint32_t format, uint32_t first,
                                                    uint64_t out, const lossy_scales &scales,
                                                    uint32_t row)
    {
        if (format == WCODEC_TO_BF16)
            put_all<WCODEC_TO_BF16, ROWS>(t, first, out, scales, row);
        else if (format == WCODEC_TO_F16)
            put_all<WCODEC_TO_F16, ROWS>(t, first, out, scales, row);
        else
            put_all<WCODEC_TO_F32, ROWS>(t, first, out, scales, row);
    }

    /* n groups. */
    template <class tile>
    static __device__ __forceinline__ void
    put(tile &t, wcodec_lossy_work *w, const wcodec_blocks_job *job, uint32_t unit, uint32_t n)
    {
        const wcodec_view_job *view = w->view;
        const uint32_t lane = thread() & 31, format = view->format,
                       log2 = format == WCODEC_TO_F32 ? 2 : 1, elements = 128 * tile::unit_groups,
                       first = unit * elements;
        const uint64_t at = job->first + first, out = view->out + ((at - view->begin) << log2);
        const bool rows =
            !view->row_scales ||
            (view->columns >= elements &&
             view->columns % 4 == 0); /* at most two, and none ends within a lane's four */
        if (first + elements <= job->blocks && at >= view->begin && at + elements <= view->end &&
            rows && out % (4u << log2) == 0) {
            const float *scale = (const float *)view->scales;
            lossy_scales scales = {scale[0] * 64, 0};
            uint32_t row = elements;
            if (view->row_scales) {
                const uint64_t number = at / view->columns;
                row = (uint32_t)min((number + 1) * view->columns - at, (uint64_t)elements);
                scale += number - view->first_row;
                scales = {scale[0] * 64, row < elements ? scale[1] * 64 : 0};
            }
            const uint64_t mine = out + (lane * 4 << log2);
            if (row < elements)
                put_rows<true>(t, format, first, mine, scales, row);
            else
                put_rows<false>(t, format, first, mine, scales, row);
        } else {
            w->format = format;
            put_each(t, w, job, first, n);
        }
        __syncwarp();
    }

    /* With raw bits the lane's words go where their parts were. */
    template <class tile>
    static __device__ __forceinline__ void put_each(tile &t, wcodec_lossy_work *w,
                                                    const wcodec_blocks_job *job, uint32_t first,
                                                    uint32_t n)
    {
        const wcodec_view_job *view = w->view;
        const uint32_t lane = thread() & 31;
        uint64_t sum = 0;
        if constexpr (tile::raw) {
            uint32_t words[tile::unit_groups * tile::bytes];
            take(t, first, words);
            __syncwarp();
#pragma unroll
            for (uint32_t i = 0; i < tile::unit_groups * tile::bytes; i++)
                shared_store_u32(t.low.staged + 128 * i + 4 * lane, words[i]);
            __syncwarp();
        }
#pragma unroll 1
        for (uint32_t i = 0; i < 4 * n; i++) {
            /* Element i % 4 of the lane's in group i / 4; those behind the last are zero, for the
             * check. */
            const uint32_t number = first + i / 4 * 128 + 4 * lane + i % 4,
                           offset = i % 4 * tile::bytes, word = i / 4 * tile::bytes + offset / 4,
                           shift = offset % 4 * 8;
            const bool inside = number < job->blocks;
            const uint32_t value = inside
                                       ? shared_u32(t.low.staged + 128 * word + 4 * lane) >> shift &
                                             (tile::bytes == 2 ? 0xffffu : 0xffu)
                                       : 0;
            const uint64_t element = job->first + number;
            sum += (uint64_t)(value << shift) *
                   (WCODEC_CHECK_FIRST + (first / 128 * tile::bytes + word) * WCODEC_CHECK_STEP);
            if (inside && element >= view->begin && element < view->end)
                wcodec_put_one(
                    w,
                    view->out + ((element - view->begin) << (w->format == WCODEC_TO_F32 ? 2 : 1)),
                    (tile::bytes == 2 ? (uint32_t)((int32_t)(value << 16) >> 16)
                                      : (uint32_t)((int32_t)(value << 24) >> 24)) *
                        64,
                    wcodec_row_scale(w, view->row_scales ? element / view->columns : 0));
        }
        t.add_sum(sum);
    }
};

/* Elements from coefficients in blocks. */
struct lossy_blocks {
    /* Words of four coefficients, or of two; for the check they count. */
    template <class tile>
    static __device__ __forceinline__ void take(tile &t, uint32_t g, uint32_t *words)
    {
        const uint32_t lane = thread() & 31,
                       factor = WCODEC_CHECK_FIRST + g * tile::bytes * WCODEC_CHECK_STEP;
        const uint32_t low = t.low.staged + 4 * lane, high = t.high.staged + 4 * lane;
        const uint32_t add = tile::wide ? shared_u32(t.parked + tile::WITH) : 0,
                       raw = tile::raw ? shared_u32(t.parked + tile::WITH + 4) : 0;
        uint64_t sum = 0;
#pragma unroll
        for (uint32_t k = 0; k < tile::unit_groups; k++) {
            const uint32_t l = shared_u32(low + 128 * k);
            if constexpr (tile::wide) {
                const uint32_t h = shared_u32(high + 128 * k);
                words[2 * k] = __byte_perm(l, h, 0x5140) << raw;
                words[2 * k + 1] = __byte_perm(l, h, 0x7362) << raw;
            } else {
                words[k] = l;
            }
        }
        if constexpr (tile::raw)
            tile::raw_bits_of::put(t.raw_rows(), raw, words);
#pragma unroll
        for (uint32_t i = 0; i < tile::unit_groups * tile::bytes; i++) {
            if constexpr (tile::wide)
                words[i] = wcodec_subtract_halves(words[i], add);
            sum += (uint64_t)words[i] * (factor + i * WCODEC_CHECK_STEP);
        }
        t.add_sum(sum);
    }
};

/* A tile: with RUNS of coefficients in blocks, else of a plain tensor. BYTES: of a coefficient.
 * RAW: there may be raw bits below what is coded, at `residuals` of the tile's wcodec_blocks_job.
 * In blocks 16-bit coefficients have two streams, of lower and upper symbols; the tile's job has
 * the upper one's wcodec_stream_job at `raw`. */
template <int PROFILE, bool RUNS, uint32_t BYTES, bool RAW> struct lossy_tile {
    typedef lossy_stream<PROFILE, RUNS> stream;
    static constexpr uint32_t
        unit_groups = RUNS || !RAW ? 16 : 8,
        bytes = BYTES; /* eight: shared memory for as many warps as registers allow */
    static constexpr bool wide = RUNS && BYTES == 2, raw = RAW;
    static constexpr uint32_t extra =
        WCODEC_CUDA_LOSSY_EXTRA(wide, RUNS, unit_groups, RAW ? BYTES : 0);
    typedef lossy_raw<BYTES, unit_groups> raw_bits_of;

    const fast_launch &launch;
    stream low, high;
    uint32_t number, parked;

    __device__ __forceinline__ lossy_tile(const fast_launch &l) : launch(l), low(l), high(l)
    {
    }

    /* What is in shared memory before tables and coefficients: streams that are parked; what
     * coefficients are made with (the offset, how many raw bits, constant bits); whether a state
     * was too low, and whether outliers have changed the last upper bytes, or where the next ones
     * are; descriptors; the lanes' sums of the check. */
    enum : uint32_t {
        WITH = 96,
        LOW_START = WITH + 16,
        UPPER_CHANGED = WITH + 20,
        UPPER_NEXT = WITH + 24, /* position, and before it in UPPER_CHANGED how many are done */
        BLOCKS = WITH + 32,
        VIEW = BLOCKS + sizeof(wcodec_blocks_job),
        TILE = VIEW + sizeof(wcodec_view_job),
        UPPER = TILE + sizeof(wcodec_tile_job),
        SUM = WCODEC_CUDA_LOSSY_HEAD - 256
    };
    static_assert(UPPER + sizeof(wcodec_stream_job) <= SUM && VIEW % 8 == 0 && TILE % 8 == 0 &&
                      UPPER % 8 == 0,
                  "geometry.h");

    __device__ __forceinline__ const wcodec_tile_job *tile() const
    {
        return shared_pointer<wcodec_tile_job>(parked + TILE);
    }

    __device__ __forceinline__ const wcodec_stream_job *upper() const
    {
        return shared_pointer<wcodec_stream_job>(parked + UPPER);
    }

    __device__ __forceinline__ uint32_t groups() const
    {
        return (tile()->elements + 127) / 128;
    }

    __device__ __forceinline__ bool upper_coded() const
    {
        return wide && (upper()->mode_symbol & 0xff) == 0;
    }

    __device__ __forceinline__ uint32_t raw_bits() const
    {
        return RAW ? shared_u32(parked + WITH + 4) : 0;
    }

    /* Those of a unit are the last of what a warp has. */
    __device__ __forceinline__ uint32_t raw_rows() const
    {
        return parked + extra - BYTES * unit_groups * 64;
    }

    __device__ __forceinline__ uint32_t sum_address() const
    {
        return parked + SUM + 8 * (thread() & 31);
    }

    __device__ __forceinline__ void add_sum(uint64_t v) const
    {
        const uint2 old = shared_u64(sum_address());
        v += (uint64_t)old.y << 32 | old.x;
        asm volatile("st.shared.v2.u32 [%0], {%1, %2};" ::"r"(sum_address()), "r"((uint32_t)v),
                     "r"((uint32_t)(v >> 32))
                     : "memory");
    }

    __device__ __forceinline__ void begin(uint32_t n, uint32_t room)
    {
        number = n;
        const wcodec_tile_job *job = launch.jobs + n;
        low.begin(job, room);
        if constexpr (wide) {
            const wcodec_stream_job *more = (const wcodec_stream_job *)job->raw;
            if ((more->mode_symbol & 0xff) == 0)
                high.begin(more, room + WCODEC_CUDA_LOSSY_ROOM);
            else
                high.begin_nothing();
        }
    }

    /* Upper bytes that are all the same. */
    __device__ __forceinline__ void fill_upper() const
    {
        const uint32_t symbol = (upper()->mode_symbol >> 8 & 0xffu) * 0x01010101u;
        for (uint32_t g = 0; g < unit_groups; g++)
            shared_store_u32(high.staged + 128 * g + 4 * (thread() & 31), symbol);
    }

    __device__ __forceinline__ void copy_words(uint32_t to, const void *from, uint32_t size) const
    {
        const uint32_t lane = thread() & 31;
        if (4 * lane < size)
            shared_store_u32(to + 4 * lane, ((const uint32_t *)from)[lane]);
    }

    template <class type>
    __device__ __forceinline__ const type *shared_pointer(uint32_t address) const
    {
        return (const type *)((const char *)shared +
                              (address - (uint32_t)__cvta_generic_to_shared(shared)));
    }

    /* After begin(), and when the tables are there. room: `extra` bytes of the warp's: descriptors,
     * what is parked, tables of groups, coefficients, raw bits. */
    __device__ __forceinline__ void decode(uint32_t next, uint32_t tables, uint32_t room)
    {
        const uint32_t lane = thread() & 31, runs = room + WCODEC_CUDA_LOSSY_HEAD;
        const wcodec_tile_job *given = launch.jobs + number;
        const wcodec_blocks_job *blocks = (const wcodec_blocks_job *)given->out,
                                *job = shared_pointer<wcodec_blocks_job>(room + BLOCKS);
        wcodec_lossy_work work;
        parked = room;
        copy_words(room + TILE, given, sizeof *given);
        copy_words(room + BLOCKS, blocks, sizeof *blocks);
        copy_words(room + VIEW, (const void *)blocks->view, sizeof *work.view);
        const bool two = wide || (BYTES == 2 && current_set()->streams > 1);
        if (two)
            copy_words(room + UPPER, (const void *)given->raw, sizeof(wcodec_stream_job));
        if constexpr (BYTES == 2 || RAW) {
            const wcodec_table_set *set = current_set();
            uint32_t next = ~0u, constants = set->constants;
            if (two && !wide) {
                const wcodec_stream_job *more = (const wcodec_stream_job *)given->raw;
                constants |= (more->mode_symbol >> 8 & 0xffu) << (8 + set->shift);
                next = more->outliers ? *(const uint16_t *)more->positions : ~0u;
            }
            asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(room + WITH),
                         "r"(set->add), "r"(set->shift), "r"(constants * 0x10001u), "r"(0)
                         : "memory");
            shared_store_u32(room + UPPER_CHANGED, wide ? 1 : 0);
            shared_store_u32(room + UPPER_NEXT, next);
        }
        __syncwarp();
        const uint32_t groups = this->groups();
        work.view = shared_pointer<wcodec_view_job>(room + VIEW);
        low.prepare(tables, runs, RUNS ? runs + 512 * (wide + 1) : runs);
        if constexpr (RUNS)
            low.load_runs((const uint8_t *)tile()->runs, current_set(), groups);
        if constexpr (wide) {
            high.prepare(tables + 16384, runs + 512, runs + 1024 + 2048);
            if (upper_coded())
                high.load_runs((const uint8_t *)upper()->runs, second_set(current_set()), groups);
            else
                fill_upper();
        }
        __syncwarp();
        if (next < launch_end() && lane < 2)
            prefetch_l2((const char *)(launch.jobs + next) + lane * (sizeof(wcodec_tile_job) - 1));
        work.format = work.view->format;
        work.wide = BYTES - 1;
        shared_store_u32(room + LOW_START,
                         __any_sync(~0u, low.x < WCODEC_STATE_LOW ||
                                             (upper_coded() && high.x < WCODEC_STATE_LOW)));
        asm volatile("st.shared.v2.u32 [%0], {%1, %1};" ::"r"(sum_address()), "r"(0) : "memory");
        __syncwarp();
#pragma unroll 1
        for (uint32_t g = 0; g < this->groups(); g += unit_groups) {
            if constexpr (RUNS)
                blocks_unit(&work, job, g);
            else
                plain_unit(&work, job, g);
        }
        if (next < launch_end())
            prefetch_tile<false>(launch.jobs + next);
        copy_async_wait<0>();
        __syncwarp();
        finish();
    }

    __device__ __forceinline__ void ask_raw(const wcodec_blocks_job *job, uint32_t g)
    {
        if constexpr (RAW)
            raw_bits_of::ask(raw_rows(), job->residuals, raw_bits(), g, groups());
    }

    /* After the unit's groups were decoded. */
    __device__ __forceinline__ void await_raw(uint32_t g)
    {
        if constexpr (RAW) {
            copy_async_commit();
            copy_async_wait<0>();
            __syncwarp();
            if (g + unit_groups >= groups())
                raw_bits_of::complete(raw_rows(), raw_bits(), g, groups(), low.x);
        }
    }

    /* Upper symbols of a plain tensor are constant but for outliers, which a lane's words of the
     * unit from element `first` on get here. */
    __device__ __forceinline__ void patch_upper(uint32_t first, uint32_t shift, uint32_t *v) const
    {
        while (shared_u32(parked + UPPER_NEXT) - first < 128 * unit_groups) {
            const uint32_t lane = thread() & 31, done = shared_u32(parked + UPPER_CHANGED),
                           i = done + lane;
            uint32_t position = ~0u, value = 0;
            if (i < upper()->outliers) {
                position = ((const uint16_t *)upper()->positions)[i];
                value = ((const uint8_t *)upper()->values)[i];
            }
            const uint32_t here = __ballot_sync(~0u, position - first < 128 * unit_groups);
            for (uint32_t left = here; left; left &= left - 1) {
                const uint32_t from = __ffs(left) - 1,
                               at = __shfl_sync(~0u, position, from) - first,
                               bits = __shfl_sync(~0u, value, from) << shift;
                const uint32_t word = at / 4 % 32 == lane ? at / 128 * 2 + at % 4 / 2 : ~0u,
                               half = at % 2 * 16;
#pragma unroll
                for (uint32_t k = 0; k < 2 * unit_groups; k++)
                    v[k] = k == word ? (v[k] & ~((0xffffu << shift & 0xffffu) << half)) |
                                           (bits & 0xffffu) << half
                                     : v[k];
            }
            /* Where they are in order, those that are done are the first. */
            const uint32_t count = __popc(here), next = done + count;
            __syncwarp();
            if (lane == 0) {
                shared_store_u32(parked + UPPER_CHANGED, next);
                shared_store_u32(parked + UPPER_NEXT,
                                 next < upper()->outliers && count
                                     ? ((const uint16_t *)upper()->positions)[next]
                                     : ~0u);
            }
            __syncwarp();
        }
    }

    __device__ __forceinline__ void blocks_unit(wcodec_lossy_work *w, const wcodec_blocks_job *job,
                                                uint32_t g)
    {
        const wcodec_lossy_where place = wcodec_lossy_place(w, job, g / unit_groups, thread() & 31);
        uint32_t words[unit_groups * BYTES];
        ask_raw(job, g);
        low.ask_outliers(tile());
        if constexpr (wide)
            high.ask_outliers(upper());
        low.decode_groups(g, unit_groups);
        low.patch(tile(), g * 128, unit_groups * 128);
        low.park(parked);
        bool changed = false;
        if constexpr (wide) {
            if (upper_coded())
                high.decode_few(g, shared_u32(parked + UPPER_CHANGED));
            changed = high.patch(upper(), g * 128, unit_groups * 128);
            high.park(parked + 48);
        }
        await_raw(g);
        lossy_blocks::take(*this, g, words);
        if constexpr (wide) {
            if (changed && !upper_coded())
                fill_upper();
            shared_store_u32(parked + UPPER_CHANGED, changed);
        }
        wcodec_lossy_block(w, &place, words);
        __syncwarp();
        low.take_back(parked);
        if constexpr (wide)
            high.take_back(parked + 48);
    }

    __device__ __forceinline__ void plain_unit(wcodec_lossy_work *w, const wcodec_blocks_job *job,
                                               uint32_t g)
    {
        const uint32_t n = min(unit_groups, groups() - g);
        ask_raw(job, g);
        low.ask_outliers(tile());
        low.decode_groups(g, n);
        low.patch(tile(), g * 128, unit_groups * 128, BYTES == 1 ? raw_bits() : 0);
        await_raw(g);
        lossy_plain::put(*this, w, job, g / unit_groups, n);
    }

    __device__ __forceinline__ void finish() const
    {
        const wcodec_tile_job *job = tile();
        const bool coded = upper_coded();
        const uint2 counted = shared_u64(sum_address());
        const uint64_t sum = (uint64_t)counted.y << 32 | counted.x;
        uint32_t fault = 0;
        if (shared_u32(parked + LOW_START))
            fault = 1;
        else if (!low.all_taken(job) || (coded && !high.all_taken(upper())))
            fault = 2;
        else if (__any_sync(~0u, (raw_bits() >= 4 ? low.x >> 16 != 1 : low.x != WCODEC_STATE_LOW) ||
                                     (coded && high.x != WCODEC_STATE_LOW)))
            fault = 3;
        else if ((job->outliers &&
                  !stream::outliers_good(job, job->elements, BYTES == 1 ? 8 - raw_bits() : 8)) ||
                 (BYTES == 2 && (wide || current_set()->streams > 1) && upper()->outliers &&
                  !stream::outliers_good(upper(), job->elements, 8 - raw_bits())))
            fault = 4;
        else if (job->slot >> 31)
            fault = add_lanes(wcodec_check_share(sum, thread() & 31)) == job->check ? 0 : 5;
        if ((thread() & 31) == 0 && fault)
            launch.faults[job->slot & 0x7fffffffu] = fault;
    }
};

template <int PROFILE, bool RUNS, uint32_t BYTES, bool RAW = false>
WCODEC_INLINE void lossy_tiles_kernel(const fast_launch &launch)
{
    typedef lossy_tile<PROFILE, RUNS, BYTES, RAW> tile;
    typedef places<tile::wide || PROFILE == PAIRS ? 32768 : 16384,
                   WCODEC_CUDA_LOSSY_ROOM *(tile::wide + 1), tile::extra>
        place;
    take_parts<tile, place>(launch, [](const wcodec_table_set *set, uint32_t *to, auto meanwhile) {
        load_tables<WCODEC_SHAPE_8_0_FUSED, PROFILE, RUNS, PROFILE == PAIRS, BYTES == 1>(set, to,
                                                                                         meanwhile);
        if constexpr (tile::wide)
            if (!RAW || set->streams > 1)
                load_tables<WCODEC_SHAPE_8_0_FUSED, PROFILE, RUNS, false>(second_set(set),
                                                                          to + 4096, [] {});
    });
}

#endif
