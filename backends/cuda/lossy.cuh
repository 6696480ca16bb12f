/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Lossy tensors without scratch memory: a warp decodes 16 groups of a tile into its shared memory, place a superblock, replaces outliers there, and makes
 * elements of them (backends/common/lossy.h). */
#ifndef WCODEC_CUDA_LOSSY_CUH
#define WCODEC_CUDA_LOSSY_CUH

#include "backends/common/bytes.h"
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

WCODEC_INLINE uint4 shared_u128(uint32_t address)
{
    uint4 v;
    asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "r"(address));
    return v;
}

/* The tables of a second stream stand behind those of the first. */
WCODEC_INLINE const wcodec_table_set *second_set(const wcodec_table_set *set)
{
    return (const wcodec_table_set *)((const char *)(set + 1) + 4 * set->entries);
}

WCODEC_INLINE uint32_t shared_u8(uint32_t address)
{
    uint32_t v;
    asm volatile("ld.shared.u8 %0, [%1];" : "=r"(v) : "r"(address));
    return v;
}

/* A stream of coefficients, or of their lower or upper bytes. With runs `run_tables` has a byte for each group: four times its table, and 1 if that has one symbol
 * only. */
template <int PROFILE, bool RUNS> struct lossy_stream : fast_tile<WCODEC_SHAPE_8_0_FUSED, PROFILE, RUNS, PROFILE == PAIRS, false> {
    typedef fast_tile<WCODEC_SHAPE_8_0_FUSED, PROFILE, RUNS, PROFILE == PAIRS, false> fast;
    static constexpr uint32_t step = PROFILE == P12 ? 2 : 4; /* groups whose words are no more than a slot of the ring */

    uint32_t staged;  /* shared address of the warp's bytes */
    uint32_t patched; /* outliers that are in their place */
    uint32_t position, value; /* each lane's of the 32 behind them, asked for before they are wanted */

    __device__ __forceinline__ lossy_stream(const fast_launch &l) : fast(l)
    {
    }

    /* job: of a tile, or of a further stream. */
    template <class descriptor> __device__ __forceinline__ void begin(const descriptor *job, uint32_t room)
    {
        this->in.open(room, job->word_count ? job->words : job->states, job->word_count, 0, 0);
        this->x = ((const uint32_t *)job->states)[thread() & 31];
    }

    /* Nothing is decoded, but what is parked is to be the same for all lanes. */
    __device__ __forceinline__ void begin_nothing()
    {
        this->in = {};
        this->in.load = 16 * (thread() & 31);
    }

    __device__ __forceinline__ void prepare(uint32_t tables, uint32_t runs, uint32_t bytes)
    {
        this->table = tables;
        this->run_tables = runs;
        this->lanes_below = (this->launch.ones << (thread() & 31)) ^ this->launch.ones;
        this->window = 0;
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

    /* Sixteen groups from g on, of which most have tables of one symbol: what these are is there from the sixteen before, if they have the same tables and
     * nothing was changed. */
    __device__ __forceinline__ void decode_few(uint32_t g, bool changed)
    {
        const uint32_t lane = thread() & 31, runs = this->run_tables + g, own = shared_u8(runs + lane % 16);
        const uint32_t before = g ? shared_u8(runs - 16 + lane % 16) : ~own;
        uint32_t left = __ballot_sync(~0u, lane < 16 && !(own & 1));
        if (changed || __any_sync(~0u, own != before)) {
#pragma unroll
            for (uint32_t i = 0; i < 16; i++) {
                const uint32_t symbol = shared_u32(this->table + ((shared_u8(runs + i) & 0x3cu) << 8)) & 0xffu;
                shared_store_u32(staged + 128 * i + 4 * lane, symbol * 0x01010101u);
            }
        }
        while (left) {
            const uint32_t i = __ffs(left) - 1;
            left &= left - 1;
            this->in.begin_block(0, 0);
            decode_word(staged + 128 * i + 4 * lane, this->table + (shared_u8(runs + i) << 8));
        }
    }

    /* Groups [g, g + n); with runs g and n are multiples of four. */
    __device__ __forceinline__ void decode_groups(uint32_t g, uint32_t n)
    {
        const uint32_t end = g + n, whole = g + n / step * step;
        uint32_t to = staged + 4 * (thread() & 31);
#pragma unroll 1
        for (; g < whole; g += step) {
            this->in.begin_block(0, 0);
            if constexpr (RUNS) {
                const uint32_t tables = shared_u32(this->run_tables + g);
                if (__any_sync(~0u, tables & 0x01010101u)) {
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

    template <class descriptor> __device__ __forceinline__ void ask_outliers(const descriptor *job)
    {
        const uint32_t i = patched + (thread() & 31);
        position = ~0u;
        if (i < job->outliers) {
            position = ((const uint16_t *)job->positions)[i];
            value = ((const uint8_t *)job->values)[i];
        }
    }

    /* Outliers of `elements` from `first` on, after ask_outliers(), to their place; returns whether there are any. Whether they are in order is seen later.
     * shift: of a symbol in its byte. */
    template <class descriptor> __device__ __forceinline__ bool patch(const descriptor *job, uint32_t first, uint32_t elements, uint32_t shift = 0)
    {
        uint32_t lanes = __ballot_sync(~0u, position - first < elements);
        if (lanes == 0)
            return false;
        __syncwarp();
        for (;;) {
            if (position - first < elements)
                shared_store_u8(staged + (position - first), value << shift);
            patched += __popc(lanes);
            if (lanes != ~0u)
                break;
            ask_outliers(job);
            lanes = __ballot_sync(~0u, position - first < elements);
        }
        __syncwarp();
        return true;
    }

    template <class descriptor> __device__ __forceinline__ static bool outliers_good(const descriptor *job, uint32_t elements, uint32_t width)
    {
        const uint32_t lane = thread() & 31, count = job->outliers;
        uint32_t least = 0;
        for (uint32_t first = 0; first < count; first += 32) {
            const uint32_t n = min(32u, count - first), at = lane < n ? ((const uint16_t *)job->positions)[first + lane] : 0;
            const uint32_t wrong = lane < n ? (uint32_t)((const uint8_t *)job->values)[first + lane] >> width : 0;
            uint32_t before = __shfl_up_sync(~0u, at, 1) + 1;
            before = lane == 0 ? least : before;
            if (__any_sync(~0u, lane < n && (at < before || at >= elements || wrong)))
                return false;
            least = __shfl_sync(~0u, at, n - 1) + 1;
        }
        return true;
    }

    /* What is the same for all lanes waits in shared memory, while registers are wanted for something else. */
    __device__ __forceinline__ void park(uint32_t to) const
    {
        const uint64_t from = (uint64_t)this->in.from;
        asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(this->in.at), "r"(this->in.next), "r"(this->in.load - 16 * (thread() & 31)), "r"(patched) : "memory");
        asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(to + 16), "r"((uint32_t)from), "r"((uint32_t)(from >> 32)), "r"(this->in.limit), "r"(this->in.ring) : "memory");
        asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(to + 32), "r"(this->table), "r"(this->run_tables), "r"(staged), "r"(0) : "memory");
        __syncwarp();
    }

    __device__ __forceinline__ void take_back(uint32_t from)
    {
        const uint4 a = shared_u128(from), b = shared_u128(from + 16), c = shared_u128(from + 32);
        this->in.part = 16 * (thread() & 31);
        this->in.at = a.x;
        this->in.next = a.y;
        this->in.load = a.z + this->in.part;
        patched = a.w;
        this->in.from = (const char *)((uint64_t)b.y << 32 | b.x);
        this->in.limit = b.z;
        this->in.ring = b.w;
        this->table = c.x;
        this->run_tables = c.y;
        staged = c.z;
        this->lanes_below = (this->launch.ones << (thread() & 31)) ^ this->launch.ones;
    }

    template <class descriptor> __device__ __forceinline__ bool all_taken(const descriptor *job) const
    {
        return this->in.taken(job->word_count ? job->words : job->states) == 2 * job->word_count;
    }
};

/* Raw bits below what is coded, of elements of BYTES: `bits` of them, in planes of powers of two, the widest first (doc/format.md 2.4). A plane of n bits has n rows
 * of 128 bytes for eight groups; those of a unit of GROUPS stand behind each other in shared memory. */
template <uint32_t BYTES, uint32_t GROUPS> struct lossy_raw {
    static constexpr uint32_t most = BYTES == 2 ? 8 : 4, words = BYTES * GROUPS /* of a lane */, row = 16 * GROUPS /* bytes for each bit */;

    /* A plane's bits below those of the planes before it. */
    static __device__ __forceinline__ uint32_t below(uint32_t bits, uint32_t plane)
    {
        return bits & ~(2 * plane - 1);
    }

    /* Half of the last row of the first plane is in the start states, or of four bits all of an odd group. */
    static __device__ __forceinline__ uint32_t plane_size(uint32_t plane, uint32_t bits, uint32_t groups)
    {
        const bool payload = plane >= 4 && below(bits, plane) == 0;
        return (groups * plane + 7) / 8 * 128 - (!payload ? 0 : plane == 4 && groups % 2 ? 128 : 64);
    }

    /* Those of the unit from group g on, of which the tile has `groups`, on their way. */
    static __device__ __forceinline__ void ask(uint32_t to, uint64_t raw, uint32_t bits, uint32_t g, uint32_t groups)
    {
        const char *from = (const char *)raw;
        const uint32_t part = 16 * (thread() & 31);
        to += part;
#pragma unroll
        for (uint32_t plane = most; plane > 0; plane /= 2) {
            if (!(bits & plane))
                continue;
            const uint32_t size = plane_size(plane, bits, groups), first = g * 16 * plane + part;
#pragma unroll
            for (uint32_t i = 0; i < row * plane; i += 512)
                if (size && (row * plane - i >= 512 || part < row * plane - i))
                    copy_async_16(to + i, from + min(first + i, size - 16));
            from += size;
            to += row * plane;
        }
    }

    /* Four values of four bits, each where its element has them in the first of a row's words. */
    static __device__ __forceinline__ uint32_t spread(uint32_t v)
    {
        return BYTES == 1 ? spread_nibbles<0x0f0f0f0fu>(v) : (v & 0xfu) | (v << 12 & 0xf0000u) | (v >> 4 & 0xf0u) | (v << 8 & 0xf00000u);
    }

    /* The last row of the first plane as the others are, when the tile's last group is decoded: it is in the unit that begins with group g. */
    static __device__ __forceinline__ void complete(uint32_t rows, uint32_t bits, uint32_t g, uint32_t groups, uint32_t state)
    {
        const uint32_t lane = thread() & 31, plane = BYTES == 2 && bits >= 8 ? 8 : 4, payload = state & 0xffffu;
        if (bits < 4)
            return;
        const uint32_t last = rows + ((groups * plane + 7) / 8 - 1 - g * plane / 8) * 128, stored = shared_u16(last + 2 * lane);
        uint32_t word;
        if (plane == 8)
            word = stored | payload << 16;
        else if (groups % 2)
            word = spread(payload);
        else
            word = spread(stored) | spread(payload) << 4 * BYTES;
        __syncwarp();
        shared_store_u32(last + 4 * lane, word);
        __syncwarp();
    }

    template <uint32_t PLANE> static __device__ __forceinline__ void put_plane(uint32_t from, uint32_t position, uint32_t *v)
    {
        const uint32_t mask = (BYTES == 2 ? 0x00010001u : 0x01010101u) * ((1u << PLANE) - 1) << position;
        uint32_t word = 0;
#pragma unroll
        for (uint32_t n = 0; n < words; n++) {
            const uint32_t turn = n * PLANE % (8 * BYTES);
            if (turn == 0)
                word = shared_u32(from + n * PLANE / (8 * BYTES) * 128);
            v[n] |= rotate_right(word, turn) & mask;
        }
    }

    /* A lane's words of a unit get their raw bits. */
    static __device__ __forceinline__ void put(uint32_t rows, uint32_t bits, uint32_t *v)
    {
        uint32_t from = rows + 4 * (thread() & 31);
        if (BYTES == 2 && bits & 8) {
            put_plane<8>(from, 0, v);
            from += 8 * row;
        }
        if (bits & 4) {
            put_plane<4>(from, below(bits, 4), v);
            from += 4 * row;
        }
        if (BYTES == 2 && bits & 2) {
            put_plane<2>(from, below(bits, 2), v);
            from += 2 * row;
        }
        if (BYTES == 2 && bits & 1)
            put_plane<1>(from, below(bits, 1), v);
    }
};

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
    /* A lane's words of the unit that begins with element `first` of the tile, as they count for the check. */
    template <class tile> static __device__ __forceinline__ void take(const tile &t, uint32_t first, uint32_t *v)
    {
        const uint32_t from = t.low.staged + 4 * (thread() & 31);
        if constexpr (!tile::raw) {
#pragma unroll
            for (uint32_t i = 0; i < tile::unit_groups; i++)
                v[i] = shared_u32(from + 128 * i);
        } else {
            const uint4 with = shared_u128(t.parked + tile::WITH); /* offset, raw bits, constant ones */
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
                v[i] = tile::bytes == 2 ? wcodec_subtract_halves(v[i], with.x) : subtract_bytes(v[i], with.x);
        }
    }

    /* row: number in the unit at which with ROWS the second of `scales` begins. */
    template <int FORMAT, bool ROWS, class tile> static __device__ __forceinline__ void put_all(tile &t, uint32_t first, uint64_t out, const lossy_scales &scales, uint32_t row)
    {
        constexpr uint32_t bytes = tile::bytes;
        const uint32_t factor = WCODEC_CHECK_FIRST + first / 128 * bytes * WCODEC_CHECK_STEP;
        uint32_t words[tile::unit_groups * bytes];
        uint64_t sum = 0;
        take(t, first, words);
#pragma unroll
        for (uint32_t k = 0; k < tile::unit_groups; k++) {
            const float scale = ROWS && 128 * k + 4 * (thread() & 31) >= row ? scales.then : scales.first;
            uint32_t v[4];
            if constexpr (bytes == 2) {
                wcodec_lossy_two(words[2 * k], v, v + 1);
                wcodec_lossy_two(words[2 * k + 1], v + 2, v + 3);
            } else {
                wcodec_lossy_four(words[k], v, v + 1, v + 2, v + 3);
            }
#pragma unroll
            for (uint32_t i = 0; i < bytes; i++)
                sum += (uint64_t)words[bytes * k + i] * (factor + (bytes * k + i) * WCODEC_CHECK_STEP);
            if constexpr (FORMAT == WCODEC_TO_F32)
                store_u128((char *)out + 512 * k, make_uint4(wcodec_lossy_product(v[0], scale), wcodec_lossy_product(v[1], scale), wcodec_lossy_product(v[2], scale), wcodec_lossy_product(v[3], scale)));
            else
                store_u64((char *)out + 256 * k, make_uint2(wcodec_lossy_pair(FORMAT, v[0], v[1], scale), wcodec_lossy_pair(FORMAT, v[2], v[3], scale)));
        }
        t.add_sum(sum);
    }

    template <bool ROWS, class tile> static __device__ __forceinline__ void put_rows(tile &t, uint32_t format, uint32_t first, uint64_t out, const lossy_scales &scales, uint32_t row)
    {
        if (format == WCODEC_TO_BF16)
            put_all<WCODEC_TO_BF16, ROWS>(t, first, out, scales, row);
        else if (format == WCODEC_TO_F16)
            put_all<WCODEC_TO_F16, ROWS>(t, first, out, scales, row);
        else
            put_all<WCODEC_TO_F32, ROWS>(t, first, out, scales, row);
    }

    /* n groups. */
    template <class tile> static __device__ __forceinline__ void put(tile &t, wcodec_lossy_work *w, const wcodec_blocks_job *job, uint32_t unit, uint32_t n)
    {
        const wcodec_view_job *view = w->view;
        const uint32_t lane = thread() & 31, format = view->format, log2 = format == WCODEC_TO_F32 ? 2 : 1, elements = 128 * tile::unit_groups, first = unit * elements;
        const uint64_t at = job->first + first, out = view->out + ((at - view->begin) << log2);
        const bool rows = !view->row_scales || (view->columns >= elements && view->columns % 4 == 0); /* at most two, and none ends within a lane's four */
        if (first + elements <= job->blocks && at >= view->begin && at + elements <= view->end && rows && out % (4u << log2) == 0) {
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
    template <class tile> static __device__ __forceinline__ void put_each(tile &t, wcodec_lossy_work *w, const wcodec_blocks_job *job, uint32_t first, uint32_t n)
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
            /* Element i % 4 of the lane's in group i / 4; those behind the last are zero, for the check. */
            const uint32_t number = first + i / 4 * 128 + 4 * lane + i % 4, offset = i % 4 * tile::bytes, word = i / 4 * tile::bytes + offset / 4, shift = offset % 4 * 8;
            const bool inside = number < job->blocks;
            const uint32_t value = inside ? shared_u32(t.low.staged + 128 * word + 4 * lane) >> shift & (tile::bytes == 2 ? 0xffffu : 0xffu) : 0;
            const uint64_t element = job->first + number;
            sum += (uint64_t)(value << shift) * (WCODEC_CHECK_FIRST + (first / 128 * tile::bytes + word) * WCODEC_CHECK_STEP);
            if (inside && element >= view->begin && element < view->end)
                wcodec_put_one(w, view->out + ((element - view->begin) << (w->format == WCODEC_TO_F32 ? 2 : 1)),
                               (tile::bytes == 2 ? (uint32_t)((int32_t)(value << 16) >> 16) : (uint32_t)((int32_t)(value << 24) >> 24)) * 64,
                               wcodec_row_scale(w, view->row_scales ? element / view->columns : 0));
        }
        t.add_sum(sum);
    }
};

/* Elements from coefficients in blocks. */
struct lossy_blocks {
    /* Words of four coefficients, or of two; for the check they count. */
    template <class tile> static __device__ __forceinline__ void take(tile &t, uint32_t g, uint32_t *words)
    {
        const uint32_t lane = thread() & 31, factor = WCODEC_CHECK_FIRST + g * tile::bytes * WCODEC_CHECK_STEP;
        const uint32_t low = t.low.staged + 4 * lane, high = t.high.staged + 4 * lane;
        const uint32_t add = tile::wide ? shared_u32(t.parked + tile::WITH) : 0, raw = tile::raw ? shared_u32(t.parked + tile::WITH + 4) : 0;
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

/* A tile: with RUNS of coefficients in blocks, else of a plain tensor. BYTES: of a coefficient. RAW: there may be raw bits below what is coded, at `residuals` of the
 * tile's wcodec_blocks_job. In blocks 16-bit coefficients have two streams, of lower and upper symbols; the tile's job has the upper one's wcodec_stream_job at `raw`. */
template <int PROFILE, bool RUNS, uint32_t BYTES, bool RAW> struct lossy_tile {
    typedef lossy_stream<PROFILE, RUNS> stream;
    static constexpr uint32_t unit_groups = RUNS || !RAW ? 16 : 8, bytes = BYTES; /* eight: shared memory for as many warps as registers allow */
    static constexpr bool wide = RUNS && BYTES == 2, raw = RAW;
    static constexpr uint32_t extra = WCODEC_CUDA_LOSSY_EXTRA(wide, RUNS, unit_groups, RAW ? BYTES : 0);
    typedef lossy_raw<BYTES, unit_groups> raw_bits_of;

    const fast_launch &launch;
    stream low, high;
    uint32_t number, parked;

    __device__ __forceinline__ lossy_tile(const fast_launch &l) : launch(l), low(l), high(l)
    {
    }

    /* What is in shared memory before tables and coefficients: streams that are parked; what coefficients are made with (the offset, how many raw bits, constant bits);
     * whether a state was too low, and whether outliers have changed the last upper bytes, or where the next ones are; descriptors; the lanes' sums of the check. */
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
    static_assert(UPPER + sizeof(wcodec_stream_job) <= SUM && VIEW % 8 == 0 && TILE % 8 == 0 && UPPER % 8 == 0, "geometry.h");

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
        asm volatile("st.shared.v2.u32 [%0], {%1, %2};" ::"r"(sum_address()), "r"((uint32_t)v), "r"((uint32_t)(v >> 32)) : "memory");
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

    template <class type> __device__ __forceinline__ const type *shared_pointer(uint32_t address) const
    {
        return (const type *)((const char *)shared + (address - (uint32_t)__cvta_generic_to_shared(shared)));
    }

    /* After begin(), and when the tables are there. room: `extra` bytes of the warp's: descriptors, what is parked, tables of groups, coefficients, raw bits. */
    __device__ __forceinline__ void decode(uint32_t next, uint32_t tables, uint32_t room)
    {
        const uint32_t lane = thread() & 31, runs = room + WCODEC_CUDA_LOSSY_HEAD;
        const wcodec_tile_job *given = launch.jobs + number;
        const wcodec_blocks_job *blocks = (const wcodec_blocks_job *)given->out, *job = shared_pointer<wcodec_blocks_job>(room + BLOCKS);
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
            asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(room + WITH), "r"(set->add), "r"(set->shift), "r"(constants * 0x10001u), "r"(0) : "memory");
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
        shared_store_u32(room + LOW_START, __any_sync(~0u, low.x < WCODEC_STATE_LOW || (upper_coded() && high.x < WCODEC_STATE_LOW)));
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

    /* Upper symbols of a plain tensor are constant but for outliers, which a lane's words of the unit from element `first` on get here. */
    __device__ __forceinline__ void patch_upper(uint32_t first, uint32_t shift, uint32_t *v) const
    {
        while (shared_u32(parked + UPPER_NEXT) - first < 128 * unit_groups) {
            const uint32_t lane = thread() & 31, done = shared_u32(parked + UPPER_CHANGED), i = done + lane;
            uint32_t position = ~0u, value = 0;
            if (i < upper()->outliers) {
                position = ((const uint16_t *)upper()->positions)[i];
                value = ((const uint8_t *)upper()->values)[i];
            }
            const uint32_t here = __ballot_sync(~0u, position - first < 128 * unit_groups);
            for (uint32_t left = here; left; left &= left - 1) {
                const uint32_t from = __ffs(left) - 1, at = __shfl_sync(~0u, position, from) - first, bits = __shfl_sync(~0u, value, from) << shift;
                const uint32_t word = at / 4 % 32 == lane ? at / 128 * 2 + at % 4 / 2 : ~0u, half = at % 2 * 16;
#pragma unroll
                for (uint32_t k = 0; k < 2 * unit_groups; k++)
                    v[k] = k == word ? (v[k] & ~((0xffffu << shift & 0xffffu) << half)) | (bits & 0xffffu) << half : v[k];
            }
            /* Where they are in order, those that are done are the first. */
            const uint32_t count = __popc(here), next = done + count;
            __syncwarp();
            if (lane == 0) {
                shared_store_u32(parked + UPPER_CHANGED, next);
                shared_store_u32(parked + UPPER_NEXT, next < upper()->outliers && count ? ((const uint16_t *)upper()->positions)[next] : ~0u);
            }
            __syncwarp();
        }
    }

    __device__ __forceinline__ void blocks_unit(wcodec_lossy_work *w, const wcodec_blocks_job *job, uint32_t g)
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

    __device__ __forceinline__ void plain_unit(wcodec_lossy_work *w, const wcodec_blocks_job *job, uint32_t g)
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
        else if (__any_sync(~0u, (raw_bits() >= 4 ? low.x >> 16 != 1 : low.x != WCODEC_STATE_LOW) || (coded && high.x != WCODEC_STATE_LOW)))
            fault = 3;
        else if ((job->outliers && !stream::outliers_good(job, job->elements, BYTES == 1 ? 8 - raw_bits() : 8)) ||
                 (BYTES == 2 && (wide || current_set()->streams > 1) && upper()->outliers && !stream::outliers_good(upper(), job->elements, 8 - raw_bits())))
            fault = 4;
        else if (job->slot >> 31)
            fault = add_lanes(wcodec_check_share(sum, thread() & 31)) == job->check ? 0 : 5;
        if ((thread() & 31) == 0 && fault)
            launch.faults[job->slot & 0x7fffffffu] = fault;
    }
};

template <int PROFILE, bool RUNS, uint32_t BYTES, bool RAW = false> WCODEC_INLINE void lossy_tiles_kernel(const fast_launch &launch)
{
    typedef lossy_tile<PROFILE, RUNS, BYTES, RAW> tile;
    typedef places<tile::wide || PROFILE == PAIRS ? 32768 : 16384, WCODEC_CUDA_LOSSY_ROOM * (tile::wide + 1), tile::extra> place;
    take_parts<tile, place>(launch, [](const wcodec_table_set *set, uint32_t *to, auto meanwhile) {
        load_tables<WCODEC_SHAPE_8_0_FUSED, PROFILE, RUNS, PROFILE == PAIRS, BYTES == 1>(set, to, meanwhile);
        if constexpr (tile::wide)
            if (!RAW || set->streams > 1)
                load_tables<WCODEC_SHAPE_8_0_FUSED, PROFILE, RUNS, false>(second_set(set), to + 4096, [] {});
    });
}

#endif
