/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The kernels of the common field lists: tiles of one coded field, one warp a tile. */
#ifndef WCODEC_CUDA_FAST_CUH
#define WCODEC_CUDA_FAST_CUH

#include "backends/cuda/launch.cuh"
#include "backends/cuda/patch.cuh"
#include "backends/cuda/streams.cuh"

/* What a tile's end is compared with. */
struct tile_end {
    uint32_t words, outliers, slot, check;
};

/* STAGED: bytes go to shared memory in place of the tile's destination, two groups to 272 bytes
 * (backends/kernels/stage.h). */
template <int SHAPE, int PROFILE, bool RUNS, bool WIDE, bool ADD, bool STAGED = false>
struct fast_tile {
    typedef shape<SHAPE> s;
    static constexpr int bytes = s::bytes, unroll = s::unroll, rows = s::rows;

    const fast_launch &launch;
    streams<SHAPE> in;
    uint32_t number, x, lanes_below, groups,
        middle; /* groups in blocks, but for the last block of a whole tile */
    bool whole, low_start, bad_outliers;
    /* What stays as it is through a tile, and what counts. */
    uint32_t table, run_tables, add, window;
    char *out;
    uint64_t sum;
    uint32_t factor;
    uint32_t staged; /* STAGED: shared address of the lane's word of a block's first group */
    outliers patches;

    __device__ __forceinline__ fast_tile(const fast_launch &l) : launch(l)
    {
    }

    /* One symbol, or pair. `table` is where the lane's entries begin. */
    static __device__ __forceinline__ uint32_t symbol(uint32_t &x, uint32_t table, uint32_t ones)
    {
        if constexpr (PROFILE == P8 && WIDE) {
            const uint2 e = shared_u64((x << 7 & 0x7f80u) | table);
            x = (e.y >> 24) * __funnelshift_r(x, ones, 8) + e.y;
            return e.x;
        } else if constexpr (PROFILE == P8) {
            const uint32_t e =
                shared_u32(RUNS ? (x << 2 & 0x3fcu) | table : (x << 7 & 0x7f80u) | table);
            x = (e >> 24) * (x >> 8) + __byte_perm(e, 0, 0x4441);
            return e;
        } else if constexpr (WIDE) {
            const uint2 e = shared_u64((x << 3 & 0x7ff8u) | table);
            x = (e.y >> 20) * __funnelshift_r(x, ones, 12) + e.y;
            return e.x;
        } else {
            const uint32_t e = shared_u32((x << 2 & 0x3ffcu) | table);
            x = (e >> 20) * (x >> 12) + (e & 0xfffu);
            return e;
        }
    }

    __device__ __forceinline__ uint32_t subtract(uint32_t v) const
    {
        if constexpr (ADD && PROFILE == PAIRS && is_low<SHAPE>())
            return ((v & (16u << s::field) * 0x01010101u - 0x01010101u) + window) ^
                   add; /* and so no byte carries over */
        else if constexpr (ADD && PROFILE == PAIRS)
            return ((v & 0x7f7f7f7fu) + window) ^ (v & 0x80808080u);
        if constexpr (ADD)
            return ((v | 0x80808080u) - (add & 0x7f7f7f7fu)) ^ ((v ^ ~add) & 0x80808080u);
        return v;
    }

    /* The symbols of a group, or pairs of them; t: its table. */
    __device__ __forceinline__ void decode_group(uint32_t *v, uint32_t t)
    {
        if constexpr (PROFILE == PAIRS) {
            v[0] = symbol(x, t, launch.ones);
            renormalise(x, in.at, lanes_below);
            v[2] = symbol(x, t, launch.ones);
            renormalise(x, in.at, lanes_below);
        } else {
#pragma unroll
            for (int i = 0; i < 4; i++) {
                v[i] = symbol(x, t, launch.ones);
                if (PROFILE == P12 || i % 2)
                    renormalise(x, in.at, lanes_below);
            }
        }
    }

    /* A block of groups, of which g is the first. LAST: of a whole tile. PATCH: outliers are put in
     * before elements are stored. */
    template <bool LAST, bool PATCH = false> __device__ __forceinline__ void block(uint32_t g)
    {
        uint32_t r[rows ? rows : 1];
        uint2 tables;
        if constexpr (rows > 0)
            in.begin_block(g, groups);
        else
            in.begin_words();
#pragma unroll
        for (int i = 0; i < rows; i++)
            r[i] = LAST && s::payload && i == s::first - 1
                       ? shared_u16(in.row + i * 128 - 2 * (thread() & 31))
                       : shared_u32(in.row + i * 128);
        if constexpr (is_low<SHAPE>() && SHAPE != WCODEC_SHAPE_8_2_FUSED) /* the plane of one bit */
            r[rows - 1] = rotate_right(r[rows - 1], g & 4);
        uint2 more;
        if constexpr (RUNS && unroll >= 4)
            tables = shared_u64(run_tables + 2 * g);
        if constexpr (RUNS && unroll == 8)
            more = shared_u64(run_tables + 2 * g + 8);
        if constexpr (RUNS && unroll == 2)
            tables.x = shared_u32(run_tables + 2 * g);
#pragma unroll
        for (int k = 0; k < unroll; k++) {
            uint32_t v[4], o[4], t = table;
            if constexpr (RUNS)
                t = table + __byte_perm(k < 2   ? tables.x
                                        : k < 4 ? tables.y
                                        : k < 6 ? more.x
                                                : more.y,
                                        0, k % 2 ? 0x4432 : 0x4410);
            decode_group(v, t);
            if constexpr (LAST && s::payload)
                take_payload(k, r);
            assemble(k, SHAPE == WCODEC_SHAPE_16_11 ? g % 8 + k : 0, v, r, o);
            if constexpr (PATCH)
                replace((g + k + 1) * 128, o);
            put(k, o);
        }
        in.end_block();
        if constexpr (STAGED)
            staged += unroll * 136;
        else
            out += unroll * 128 * bytes;
        factor += unroll * bytes * WCODEC_CHECK_STEP;
    }

    __device__ __forceinline__ void put_staged(uint32_t k, uint32_t o) const
    {
        asm volatile("st.shared.u32 [%0], %1;" ::"r"(staged + k / 2 * 272 + k % 2 * 128), "r"(o)
                     : "memory");
    }

    /* Outliers of elements before `end`, which are all stored. g: groups before `out`. */
    __device__ __forceinline__ void patch(uint32_t end, uint32_t g)
    {
        for (;;) {
            if (patches.left && !__any_sync(~0u, patches.own != outliers::none) &&
                !(patches.load_next(tile()) && patches.check<s::width>()))
                drop_outliers();
            if (!patches.before(end))
                return;
            patches.patch<bytes, s::field, s::width>(end,
                                                     out - (g * 128 + (thread() & 31) * 4) * bytes,
                                                     ADD ? current_set()->add : 0, &sum);
        }
    }

    /* Outliers of a group whose elements are in o. end: of the group. */
    __device__ __forceinline__ void replace(uint32_t end, uint32_t *o)
    {
        for (uint32_t here = __ballot_sync(~0u, patches.own < end << 8); here; here &= here - 1) {
            const uint32_t outlier = __shfl_sync(~0u, patches.own, __ffs(here) - 1);
            replace_field<bytes, s::field, s::width>(outlier, ADD ? current_set()->add : 0, o);
        }
        patches.own = patches.own < end << 8 ? outliers::none : patches.own;
    }

    __device__ __forceinline__ void drop_outliers()
    {
        patches.drop();
        bad_outliers = true;
    }

    /* Group k of a block. */
    __device__ __forceinline__ void put(int k, const uint32_t *o)
    {
        if constexpr (STAGED) { /* the check is of what is there when outliers are, too */
            put_staged(k, o[0]);
            return;
        }
        store(out + k * 128 * bytes, o);
#pragma unroll
        for (int i = 0; i < bytes; i++)
            sum += (uint64_t)o[i] * (factor + (bytes * k + i) * WCODEC_CHECK_STEP);
    }

    /* In the last block of a whole tile, group k. Of four bits an element, the stored half is the
     * group before the last, the payload the last one. */
    __device__ __forceinline__ void take_payload(int k, uint32_t *r) const
    {
        if constexpr (s::first < unroll) {
            if (k == unroll - 2)
                r[s::first - 1] = spread_nibbles<s::mask>(r[s::first - 1] & 0xffffu);
            if (k == unroll - 1)
                r[s::first - 1] = rotate_right(spread_nibbles<s::mask>(x & 0xffffu), 28);
        } else if (k == unroll - 1) {
            r[s::first - 1] |= x << 16;
        }
    }

    /* The raw words of one group of a tile that is not whole, as those of the first group of a
     * block; x: after the group. From where they are: nothing ahead.
     * */
    __device__ __forceinline__ void load_group(uint32_t g, uint32_t *r) const
    {
        const bool last = g + 1 == groups;
        const uint32_t lane = thread() & 31;
        const char *raw = in.raw + 4 * lane;
        if constexpr (rows == 0) {
            return;
        } else if constexpr (is_low<SHAPE>()) {
            if (SHAPE != WCODEC_SHAPE_8_1_FUSED)
                r[0] = rotate_right(load_u32(raw + g / 4 * 128), g % 4 * 2);
            if (SHAPE != WCODEC_SHAPE_8_2_FUSED)
                r[rows - 1] = rotate_right(
                    load_u32(raw + (rows > 1 ? plane_offset<SHAPE, 1>(groups) : 0) + g / 8 * 128),
                    g % 8);
        } else if constexpr (s::first < unroll) {
            const char *row = raw + g / 2 * 128;
            if (last)
                r[0] = spread_nibbles<s::mask>(x & 0xffffu);
            else if (g / 2 == (groups - 1) / 2)
                r[0] = spread_nibbles<s::mask>(load_u16(row - 2 * lane));
            else
                r[0] = rotate_right(load_u32(row), g % 2 * 4);
        } else {
#pragma unroll
            for (int i = 0; i < s::first / unroll; i++) {
                const char *row = raw + g * s::group + i * 128;
                r[i] = last && i == s::first / unroll - 1 ? load_u16(row - 2 * lane) | x << 16
                                                          : load_u32(row);
            }
            if constexpr (SHAPE == WCODEC_SHAPE_32_24)
                r[s::first] = load_u32(raw + plane_offset<SHAPE, 1>(groups) + g * 128);
            if constexpr (SHAPE == WCODEC_SHAPE_16_11) {
                r[s::first] = rotate_right(
                    load_u32(raw + plane_offset<SHAPE, 1>(groups) + g / 4 * 128), g % 4 * 4);
                r[s::first + 1] = load_u32(raw + plane_offset<SHAPE, 2>(groups) + g / 8 * 128);
            }
        }
    }

    /* The groups from g on of a tile that ends within a block, or lies where wide stores cannot go:
     * one by one. */
    __device__ __forceinline__ void remaining(uint32_t g)
    {
#pragma unroll 1
        for (; g < groups; g++) {
            uint32_t v[4], o[4], r[rows ? rows : 1], t = table;
            in.begin_group();
            if constexpr (RUNS)
                t = table + shared_u16(run_tables + 2 * g);
            decode_group(v, t);
            load_group(g, r);
            assemble(0, g % 8, v, r, o);
            const uint32_t first = g * 128 + (thread() & 31) * 4, elements = tile()->elements,
                           left = first < elements ? min(elements - first, 4u) : 0;
#pragma unroll
            for (int i = 0; i < bytes; i++) {
                const uint32_t inside = left * bytes <= 4u * i ? 0 : min(left * bytes - 4 * i, 4u);
                o[i] = inside == 4 ? o[i] : o[i] & ((1u << 8 * inside) - 1);
                sum += STAGED ? 0 : (uint64_t)o[i] * (factor + i * WCODEC_CHECK_STEP);
            }
            if constexpr (STAGED) {
                put_staged(g % 2, o[0]);
                staged += g % 2 * 272;
            } else {
                store_elements<bytes>(out, o, left);
                out += 128 * bytes;
            }
            factor += bytes * WCODEC_CHECK_STEP;
        }
    }

    __device__ __forceinline__ const wcodec_tile_job *tile() const
    {
        return launch.jobs + number;
    }

    /* Ask for what a tile needs first; waits for its descriptor only. */
    __device__ __forceinline__ void begin(uint32_t tile_number, uint32_t room)
    {
        number = tile_number;
        const wcodec_tile_job *job = tile();
        const uint32_t elements = job->elements;
        groups = (elements + 127) / 128;
        in.open(room, word_address(job), job->word_count, job->raw, groups);
        x = ((const uint32_t *)job->states)[thread() & 31];
        if constexpr (!STAGED)
            patches.load(job, job->outliers, 0);
        out = (char *)job->out + (thread() & 31) * (4 * bytes);
        const bool aligned = job->out % (4 * bytes) == 0;
        whole = aligned && elements % (128 * unroll) == 0;
        middle = !aligned ? 0 : (whole ? groups - unroll : (groups - 1) / unroll * unroll);
    }

    __device__ __forceinline__ void load_runs()
    {
        /* Table of each group as a shared address less `table`. */
        const uint8_t *runs = (const uint8_t *)tile()->runs;
        const uint32_t bits = current_set()->run_bits, log2 = current_set()->run_log2 - 7;
        for (uint32_t g = thread() & 31; g < groups; g += 32) {
            const uint32_t bit = (g >> log2) * bits,
                           index = runs[bit / 8] >> bit % 8 & ((1u << bits) - 1);
            asm volatile("st.shared.u16 [%0], %1;" ::"r"(run_tables + 2 * g),
                         "h"((uint16_t)(index * 1024))
                         : "memory");
        }
        __syncwarp();
    }

    /* After begin(), and when the tables are there. */
    __device__ __forceinline__ void prepare(uint32_t next, uint32_t tables, uint32_t runs)
    {
        const uint32_t lane = thread() & 31;
        table = tables;
        run_tables = runs;
        lanes_below = (launch.ones << lane) ^ launch.ones;
        add = ADD ? current_set()->add : 0;
        if constexpr (ADD && PROFILE == PAIRS && is_low<SHAPE>()) {
            const uint32_t offset =
                (current_set()->base << s::field) - (current_set()->add & 0xffu);
            window = (offset & 0x7fu) * 0x01010101u;
            add = (offset & 0x80u) * 0x01010101u;
        } else if constexpr (ADD && PROFILE == PAIRS)
            window = ((0u - current_set()->add) & 15u) *
                     0x01010101u; /* the upper half is in the table */
        else
            window = !WIDE && PROFILE == PAIRS && bytes > 1
                         ? current_set()->base *
                               ((1u << s::field) | (bytes == 2 ? 0x10000u << s::field : 0))
                         : 0;
        if constexpr (SHAPE == WCODEC_SHAPE_32_8)
            window += current_set()->constants;
        if constexpr (RUNS)
            load_runs();
        if constexpr (PROFILE == P8 && !RUNS) {
            /* A copy of the table for each bank. An addition in assembly stays one operand; an or
             * would be taken apart, and cost an instruction for every symbol. */
            const uint32_t copy = WIDE ? lane % 16 * 2 : lane;
            asm volatile("mad.lo.u32 %0, %1, 4, %0;" : "+r"(table) : "r"(copy));
        }
        if (next < launch_end() && lane < 2)
            prefetch_l2((const char *)(launch.jobs + next) + lane * (sizeof(wcodec_tile_job) - 1));
        sum = 0;
        factor = WCODEC_CHECK_FIRST;
        low_start = x < WCODEC_STATE_LOW;
        if constexpr (!STAGED)
            check_outliers();
        if constexpr (rows == 0)
            in.wait();
    }

    __device__ __forceinline__ void decode(uint32_t next, uint32_t tables, uint32_t runs)
    {
        uint32_t g = 0;
        prepare(next, tables, runs);
        do {
            const uint32_t stop = min(middle, g + WCODEC_CUDA_PATCH);
#pragma unroll 1
            for (; g < stop; g += unroll) {
                /* Large tiles: a second copy of the code, for which small ones would wait longer
                 * than for the cache. */
                if ((bytes > 1 || rows == 0) && !RUNS && groups > WCODEC_CUDA_PATCH &&
                    patches.before((g + unroll) * 128))
                    block<false, true>(g);
                else
                    block<false>(g);
            }
            uint32_t end = g * 128;
            if (g == middle) {
                if (next < launch_end())
                    prefetch_tile<(rows > 0)>(launch.jobs + next);
                if (whole)
                    block<true>(g);
                else
                    remaining(g);
                g = groups;
                end = whole ? groups * 128 : tile()->elements;
            }
            patch(end, g);
        } while (g < groups);
        copy_async_wait<0>(); /* what is still on its way must not arrive in the next tile */
        __syncwarp();
        const wcodec_tile_job *job = tile();
        finish(tile_end{job->word_count, job->outliers, job->slot, job->check},
               in.taken(word_address(job)));
    }

    /* The first ones, as soon as they are there. */
    __device__ __forceinline__ void check_outliers()
    {
        bad_outliers = false;
        patches.join();
        if (!patches.check<s::width>())
            drop_outliers();
    }

    /* What states and words say of the tile. taken: bytes of words. */
    __device__ __forceinline__ uint32_t stream_fault(const tile_end &end, uint32_t taken) const
    {
        const bool bad_end = s::payload ? x >> 16 != 1 : x != WCODEC_STATE_LOW;
        if (__any_sync(~0u, low_start))
            return 1;
        if (taken != 2 * end.words)
            return 2;
        return __any_sync(~0u, bad_end) ? 3 : 0;
    }

    __device__ __forceinline__ void finish(const tile_end &end, uint32_t taken)
    {
        const uint32_t fault = stream_fault(end, taken);
        tell(end, fault ? fault : bad_outliers || !patches.all() ? 4 : 0);
    }

    __device__ __forceinline__ void tell(const tile_end &end, uint32_t fault) const
    {
        const uint32_t lane = thread() & 31;
        if (!fault && end.slot >> 31)
            fault = add_lanes(wcodec_check_share(sum, lane)) == end.check ? 0 : 5;
        if (lane == 0 && fault)
            launch.faults[end.slot & 0x7fffffffu] = fault;
    }

    __device__ __forceinline__ static void store(char *to, const uint32_t *o)
    {
        if constexpr (bytes == 1)
            store_u32(to, o[0]);
        else if constexpr (bytes == 2)
            store_u64(to, make_uint2(o[0], o[1]));
        else
            store_u128(to, make_uint4(o[0], o[1], o[2], o[3]));
    }

    /* The four elements of a lane in group k of a block: bits of symbols v and raw words w put
     * together, in o[0] to o[bytes - 1]. turn: the group's number of eight. */
    __device__ __forceinline__ void assemble(int k, uint32_t turn, const uint32_t *v,
                                             const uint32_t *w, uint32_t *o) const
    {
        if constexpr (SHAPE == WCODEC_SHAPE_16_8 || SHAPE == WCODEC_SHAPE_16_11) {
            uint32_t p0, p1;
            if constexpr (PROFILE == PAIRS && WIDE) {
                p0 = v[0];
                p1 = v[2];
            } else if constexpr (PROFILE == PAIRS) {
                constexpr uint32_t f = s::field, low = 15u << f, high = 0xf0000u << f;
                p0 = (v[0] >> (12 - f) & low) | (v[0] << f & high);
                p1 = (v[2] >> (12 - f) & low) | (v[2] << f & high);
            } else if constexpr (PROFILE == P8 && WIDE) {
                p0 = __byte_perm(v[0], v[1], 0x5410);
                p1 = __byte_perm(v[2], v[3], 0x5410);
            } else {
                p0 = __byte_perm(v[0], v[1], 0x6420) << s::field;
                p1 = __byte_perm(v[2], v[3], 0x6420) << s::field;
            }
            o[0] = ((w[k] & s::mask) | p0) + window;
            o[1] = ((rotate_right(w[k], 8) & s::mask) | p1) + window;
            if constexpr (SHAPE == WCODEC_SHAPE_16_11) {
                /* Planes of two bits and of one: four groups to a word, and eight. */
                const uint32_t two = rotate_right(w[s::first], 4 * k),
                               one = rotate_right(w[s::first + 1], 2 * turn);
                o[0] |= (two & 0x01800180u) | (one & 0x02000200u);
                o[1] |= (rotate_right(two, 2) & 0x01800180u) | (rotate_right(one, 1) & 0x02000200u);
            }
        } else if constexpr (bytes == 4) {
            if constexpr (PROFILE == PAIRS && !WIDE) {
                o[0] = (v[0] << 11 & 0x07800000u) + window;
                o[1] = (v[0] << 7 & 0x07800000u) + window;
                o[2] = (v[2] << 11 & 0x07800000u) + window;
                o[3] = (v[2] << 7 & 0x07800000u) + window;
            } else if constexpr (PROFILE == PAIRS) {
                const uint32_t field = 0x7f800000u;
                o[0] = v[0] & field;
                o[1] = v[0] << 16 & field;
                o[2] = v[2] & field;
                o[3] = v[2] << 16 & field;
            } else {
#pragma unroll
                for (int i = 0; i < 4; i++)
                    o[i] = WIDE ? v[i] : __byte_perm(v[i], 0, 0x0444) >> 1;
            }
#pragma unroll
            for (int i = 0; i < 4 && SHAPE == WCODEC_SHAPE_32_8;
                 i++) /* seven bits in byte i, the sign above the byte before */
                o[i] =
                    (o[i] | (__byte_perm(w[k], 0, (i + 3) % 4 << 12 | i << 8 | 0x44) & s::mask)) +
                    (PROFILE == P8 ? window : 0);
#pragma unroll
            for (int i = 0; i < 4 && SHAPE == WCODEC_SHAPE_32_24; i++)
                o[i] |= (rotate_right(w[2 * k + i / 2], 16 * (i % 2)) & 0x80007fffu) |
                        (rotate_right(w[s::first + k], 8 * i) & 0x007f8000u);
        } else {
            uint32_t e;
            if constexpr (PROFILE == PAIRS && WIDE)
                e = __byte_perm(v[0], v[2], 0x5410);
            else if constexpr (PROFILE == PAIRS) {
                /* The bytes in which a pair's values stand: even ones have the low value in their
                 * upper half, odd ones the high value in their lower half. */
                constexpr int f = s::field;
                const uint32_t m = __byte_perm(v[0], v[2], 0x6521);
                e = select_bits<0x00ff00ffu>(m >> (4 - f),
                                             m << f); /* and what the raw bits replace */
            } else if constexpr (PROFILE == P8)
                e = __byte_perm(__byte_perm(v[0], v[1], 0x0040), __byte_perm(v[2], v[3], 0x0040),
                                0x5410);
            else
                e = select_bits<0x00ff00ffu>(__byte_perm(v[0], v[2], 0x6521) >> 4,
                                             __byte_perm(v[1], v[3], 0x6521) << 4);
            if constexpr (is_low<SHAPE>()) {
                e = select_bits<s::mask>(SHAPE == WCODEC_SHAPE_8_1_FUSED
                                             ? rotate_right(w[0], k)
                                             : rotate_right(w[0], 2 * k),
                                         e);
                if constexpr (SHAPE == WCODEC_SHAPE_8_3_FUSED)
                    e = select_bits<0x04040404u>(rotate_right(w[1], k), e);
            } else if constexpr (rows > 0) /* two groups a word */
                e = select_bits<s::mask>(k % 2 ? rotate_right(w[k / 2], 4) : w[k / 2], e);
            o[0] = subtract(e);
        }
    }
};

template <int SHAPE, int PROFILE, bool RUNS, bool WIDE, bool ADD>
__device__ __forceinline__ void fast_kernel(const fast_launch &launch)
{
    typedef places<PROFILE == P8 && !RUNS  ? 32768
                   : WIDE && PROFILE != P8 ? 32768
                                           : 16384,
                   WCODEC_CUDA_ROOM(SHAPE)>
        place;
    take_parts<fast_tile<SHAPE, PROFILE, RUNS, WIDE, ADD>, place>(
        launch, [](const wcodec_table_set *set, uint32_t *to, auto meanwhile) {
            load_tables<SHAPE, PROFILE, RUNS, WIDE>(set, to, meanwhile);
        });
}

#endif
