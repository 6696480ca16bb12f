/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The kernels of the common field lists: whole tiles of one coded field, one warp a tile. */
#ifndef WCODEC_CUDA_FAST_CUH
#define WCODEC_CUDA_FAST_CUH

#include "backends/cuda/device.cuh"

enum { PAIRS = 1, P12 = 2, P8 = 3 }; /* the format's codes */

struct fast_launch {
    uint64_t block; /* all descriptors */
    const wcodec_tile_job *jobs;
    const wcodec_part *parts;
    const uint32_t *first_part; /* of each block, and one more; NULL: one a block */
    uint32_t *faults;
    uint32_t *queue;            /* NULL, or with one part a block: tiles taken, and blocks that have ended */
    uint32_t ones; /* all bits set. From here the compiler cannot see it, and takes it as an operand instead of making it again and again */
    uint32_t count; /* generic, and with a queue: tiles */
    uint32_t first; /* with a queue: their first job */
};

/* Bytes of an element; in four groups: rows of the first plane, raw words of a lane. */
template <int SHAPE> struct shape;
template <> struct shape<WCODEC_SHAPE_16_8> { static constexpr int rows = 4, bytes = 2, raw = 4; static constexpr uint32_t mask = 0x807f807fu, field = 7; static constexpr bool payload = true; };
template <> struct shape<WCODEC_SHAPE_8_4> { static constexpr int rows = 2, bytes = 1, raw = 2; static constexpr uint32_t mask = 0x0f0f0f0fu, field = 4; static constexpr bool payload = true; };
template <> struct shape<WCODEC_SHAPE_8_31> { static constexpr int rows = 2, bytes = 1, raw = 2; static constexpr uint32_t mask = 0x87878787u, field = 3; static constexpr bool payload = true; };
template <> struct shape<WCODEC_SHAPE_8_0> { static constexpr int rows = 1, bytes = 1, raw = 0; static constexpr uint32_t mask = 0, field = 0; static constexpr bool payload = false; };
template <> struct shape<WCODEC_SHAPE_32_24> { static constexpr int rows = 8, bytes = 4, raw = 12; static constexpr uint32_t mask = 0, field = 23; static constexpr bool payload = true; };
template <> struct shape<WCODEC_SHAPE_16_11> { static constexpr int rows = 4, bytes = 2, raw = 6; static constexpr uint32_t mask = 0x807f807fu, field = 10; static constexpr bool payload = true; };

/* Shared memory: rings of the warps, and the tables, aligned to their size so that an index is or-ed to their address; rings go below them as far as there is room. At last the part that the work-group is at:
 * read again when needed, rather than held in registers through a tile. */
extern __shared__ __align__(1024) uint32_t shared[];

template <uint32_t TABLES> struct places {
    static __device__ __forceinline__ uint32_t base()
    {
        return (uint32_t)__cvta_generic_to_shared(shared);
    }
    static __device__ __forceinline__ uint32_t tables()
    {
        return (base() + 16 + TABLES - 1) & ~(TABLES - 1);
    }
    static __device__ __forceinline__ uint32_t ring(uint32_t warp)
    {
        const uint32_t below = (tables() - base() - 16) / WCODEC_RING_ROOM;
        return warp < below ? base() + 16 + warp * WCODEC_RING_ROOM : tables() + TABLES + (warp - below) * WCODEC_RING_ROOM;
    }
};

WCODEC_INLINE wcodec_part *current_part()
{
    return (wcodec_part *)shared;
}

WCODEC_INLINE uint32_t launch_end()
{
    volatile wcodec_part *part = current_part();
    return part->first + part->count;
}

WCODEC_INLINE const wcodec_table_set *current_set()
{
    return (const wcodec_table_set *)*(volatile uint64_t *)&current_part()->tables;
}

WCODEC_INLINE uint32_t thread()
{
    uint32_t t;
    asm volatile("mov.u32 %0, %%tid.x;" : "=r"(t));
    return t;
}

WCODEC_INLINE uint32_t rotate_right(uint32_t v, uint32_t n)
{
    return __funnelshift_r(v, v, n);
}

/* Raw words of four groups; `row` is the lane's first word of them. The last row of the first plane is stored as its lower halves, one behind the other. */
template <int SHAPE, bool LAST> WCODEC_INLINE void load_raw(uint32_t *r, const char *row, const char *raw, uint32_t g, uint32_t groups)
{
    if constexpr (shape<SHAPE>::raw > 0) {
        constexpr int rows = shape<SHAPE>::rows;
#pragma unroll
        for (int i = 0; i < rows - 1; i++)
            r[i] = __ldcs((const uint32_t *)(row + 128 * i));
        if (LAST)
            r[rows - 1] = __ldcs((const uint16_t *)(row + 128 * (rows - 1) - 2 * (thread() & 31)));
        else
            r[rows - 1] = __ldcs((const uint32_t *)(row + 128 * (rows - 1)));
        if constexpr (SHAPE == WCODEC_SHAPE_32_24) {
            const char *second = raw + groups * 256 - 64 + g * 128 + (thread() & 31) * 4;
#pragma unroll
            for (int i = 0; i < 4; i++)
                r[8 + i] = __ldcs((const uint32_t *)(second + 128 * i));
        }
        if constexpr (SHAPE == WCODEC_SHAPE_16_11) {
            const char *second = raw + groups * 128 - 64 + (thread() & 31) * 4;
            r[4] = __ldcs((const uint32_t *)(second + g * 32));
            r[5] = rotate_right(__ldg((const uint32_t *)(second + groups * 32 + g / 8 * 128)), 2 * (g & 4)); /* eight slot words to four groups */
        }
    }
}

/* Where a tile's words are copied from: never the place behind a payload that ends with no words. */
WCODEC_INLINE uint64_t word_address(const wcodec_tile_job *job)
{
    return job->word_count ? job->words : job->states;
}

/* Call into L2 what a tile begins with. */
template <bool RAW> WCODEC_INLINE void prefetch_tile(const wcodec_tile_job *job)
{
    const uint32_t lane = thread() & 31;
    const uint64_t words = job->words, raw = job->raw;
    if (lane < 8) {
        if (lane * 128 < 2 * job->word_count)
            prefetch_l2((const char *)words + lane * 128);
    } else if (lane < 31) {
        if (RAW)
            prefetch_l2((const char *)raw + (lane - 8) % 8 * 128);
    } else {
        prefetch_l2((const char *)job->states);
    }
}

/* Payload and stored half of a plane of four bits: 16 bits, four values of neighbouring elements. Put each where it stands in its byte: its lowest bit just above the coded field. */
template <uint32_t MASK> WCODEC_INLINE uint32_t spread_nibbles(uint32_t v)
{
    v = (v | v << 8) & 0x00ff00ffu;
    v = (v | v << 4) & 0x0f0f0f0fu;
    return MASK == 0x0f0f0f0fu ? v : (v >> 1 & 0x07070707u) | (v << 7 & 0x80808080u);
}

/* What a symbol, or a pair of them, puts into elements: one word of the ready table. For 32-bit elements the second of a pair waits 16 bits lower. */
template <int SHAPE> WCODEC_INLINE uint32_t ready_pattern(const wcodec_table_set *set, uint32_t symbol)
{
    const uint32_t v0 = (set->base + symbol % 16) << set->shift, v1 = (set->base + symbol / 16) << set->shift;
    return SHAPE == WCODEC_SHAPE_32_24 ? v0 | v1 >> 16 : v0 | v1 << (8 * shape<SHAPE>::bytes % 32);
}

/* Mismatches are rare: the lane that has the element changes it, and its part of the check. Returns false if positions or values are out of range or order. */
template <int SHAPE> __device__ __forceinline__ bool patch_outliers(const wcodec_tile_job *job, const wcodec_table_set *set, uint64_t *sum)
{
    const uint32_t lane = threadIdx.x & 31, count = job->outliers, elements = job->elements, shift = set->shift, width = set->width;
    const uint16_t *positions = (const uint16_t *)job->positions;
    const uint8_t *values = (const uint8_t *)job->values;
    constexpr uint32_t bytes = shape<SHAPE>::bytes;
    const uint32_t mask = ((1u << width) - 1) << shift;
    char *out = (char *)job->out;
    uint32_t least = 0;
    for (uint32_t first = 0; first < count; first += 32) {
        const bool mine = first + lane < count;
        const uint32_t position = mine ? positions[first + lane] : 0xffffffffu, value = mine ? values[first + lane] : 0;
        uint32_t before = __shfl_up_sync(~0u, position, 1) + 1;
        before = lane == 0 ? least : before;
        if (__any_sync(~0u, mine && (position < before || position >= elements || value >> width)))
            return false;
        const uint32_t n = min(32u, count - first);
        least = __shfl_sync(~0u, position, n - 1) + 1;
        for (uint32_t i = 0; i < n; i++) {
            const uint32_t p = __shfl_sync(~0u, position, i) & 0xffffu, v = __shfl_sync(~0u, value, i);
            if (p % 128 / 4 != lane)
                continue;
            char *at = out + p * bytes;
            const uint32_t old = bytes == 1 ? *(volatile uint8_t *)at : bytes == 2 ? *(volatile uint16_t *)at : *(volatile uint32_t *)at;
            uint32_t now = (((old + set->add) & ~mask) | v << shift) - set->add;
            if (bytes == 1)
                *(volatile uint8_t *)at = (uint8_t)now;
            else if (bytes == 2)
                *(volatile uint16_t *)at = (uint16_t)now;
            else
                *(volatile uint32_t *)at = now;
            now &= bytes == 1 ? 0xffu : bytes == 2 ? 0xffffu : ~0u;
            const uint32_t offset = p % 4 * bytes;
            *sum += (((uint64_t)now - (uint64_t)old) << (offset % 4 * 8)) * wcodec_check_factor(p / 128 * bytes + offset / 4);
        }
    }
    return true;
}

/* PREFETCH: bytes of raw bits that are called into L2 ahead. */
template <int SHAPE, int PROFILE, bool RUNS, bool WIDE, bool ADD, bool CHECK, int PREFETCH> struct fast_tile {
    static constexpr int bytes = shape<SHAPE>::bytes, raw_words = shape<SHAPE>::raw;
    static constexpr int groups_a_row = SHAPE == WCODEC_SHAPE_8_4 ? 2 : 1;

    /* One symbol, or pair. `table` is where the lane's entries begin. */
    static __device__ __forceinline__ uint32_t symbol(uint32_t &x, uint32_t table, uint32_t ones)
    {
        if constexpr (PROFILE == P8 && WIDE) {
            const uint2 e = shared_u64((x << 7 & 0x7f80u) | table);
            x = (e.y >> 24) * __funnelshift_r(x, ones, 8) + e.y;
            return e.x;
        } else if constexpr (PROFILE == P8) {
            const uint32_t e = shared_u32(RUNS ? (x << 2 & 0x3fcu) | table : (x << 7 & 0x7f80u) | table);
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

    static __device__ __forceinline__ uint32_t subtract(uint32_t v, uint32_t add)
    {
        if constexpr (ADD)
            return ((v | 0x80808080u) - (add & 0x7f7f7f7fu)) ^ ((v ^ ~add) & 0x80808080u);
        return v;
    }

    /* Four groups. The last of a tile take the payload; raw bits are loaded ahead for those behind. */
    template <bool LAST, bool BEFORE_LAST> static __device__ __forceinline__ void four_groups(const fast_launch &launch, uint32_t &x, word_ring &words, uint32_t lanes_below, uint32_t table, uint32_t run_tables,
                                                                            uint32_t *next_raw, const char *&row, const char *raw, uint32_t g, uint32_t groups, uint32_t mask, uint32_t add,
                                                                            uint32_t window, char *&out, uint64_t &sum, uint32_t &factor)
    {
        uint32_t r[raw_words ? raw_words : 1];
#pragma unroll
        for (int i = 0; i < raw_words; i++)
            r[i] = next_raw[i];
        if constexpr (!LAST) {
            row += shape<SHAPE>::rows * 128;
            load_raw<SHAPE, BEFORE_LAST>(next_raw, row, raw, g + 4, groups);
        }
        uint2 tables;
        if constexpr (RUNS)
            tables = shared_u64(run_tables + 2 * g);
#pragma unroll
        for (int k = 0; k < 4; k++) {
            uint32_t s[4];
            uint32_t t = table;
            if constexpr (RUNS)
                t = table + __byte_perm(k < 2 ? tables.x : tables.y, 0, k % 2 ? 0x4432 : 0x4410);
            if constexpr (PROFILE == PAIRS) {
                s[0] = symbol(x, t, launch.ones);
                renormalise(x, words.at, lanes_below);
                s[2] = symbol(x, t, launch.ones);
                renormalise(x, words.at, lanes_below);
            } else {
#pragma unroll
                for (int i = 0; i < 4; i++) {
                    s[i] = symbol(x, t, launch.ones);
                    if (PROFILE == P12 || i % 2)
                        renormalise(x, words.at, lanes_below);
                }
            }
            output<LAST>(k, s, r, x, mask, add, window, out, sum, factor);
            if (PROFILE == P12 || k % 2)
                words.look();
        }
        out += 4 * 128 * bytes;
        if constexpr (CHECK)
            factor += 4 * bytes * WCODEC_CHECK_STEP;
    }

    static __device__ __forceinline__ void run(const fast_launch &launch, uint32_t number, uint32_t next, uint32_t table, uint32_t ring, uint32_t run_tables)
    {
        const wcodec_tile_job *job = launch.jobs + number;
        const uint32_t lane = thread() & 31, groups = job->elements / 128;
        uint32_t lanes_below;
        asm volatile("mov.u32 %0, %%lanemask_lt;" : "=r"(lanes_below));
        word_ring words;
        words.open(ring, lane, word_address(job), job->word_count);
        uint32_t x = ((const uint32_t *)job->states)[lane];
        const char *raw = (const char *)job->raw, *row = raw + 4 * lane;
        const uint32_t mask = shape<SHAPE>::mask, add = ADD ? current_set()->add : 0;
        const uint32_t window = !WIDE && PROFILE == PAIRS && bytes > 1 ? current_set()->base * ((1u << shape<SHAPE>::field) | (bytes == 2 ? 0x10000u << shape<SHAPE>::field : 0)) : 0;
        uint32_t next_raw[raw_words ? raw_words : 1];
        load_raw<SHAPE, false>(next_raw, row, raw, 0, groups);
        if constexpr (RUNS) {
            /* Table of each group as a shared address less `table`. */
            const uint8_t *runs = (const uint8_t *)job->runs;
            const uint32_t bits = current_set()->run_bits, log2 = current_set()->run_log2 - 7;
            for (uint32_t g = lane; g < groups; g += 32) {
                const uint32_t bit = (g >> log2) * bits, index = runs[bit / 8] >> bit % 8 & ((1u << bits) - 1);
                asm volatile("st.shared.u16 [%0], %1;" ::"r"(run_tables + 2 * g), "h"((uint16_t)(index * 1024)) : "memory");
            }
            __syncwarp();
        }
        if constexpr (PROFILE == P8 && !RUNS) {
            /* A copy of the table for each bank. An addition in assembly stays one operand; an or would be taken apart, and cost an instruction for every symbol. */
            const uint32_t copy = WIDE ? lane % 16 * 2 : lane;
            asm volatile("mad.lo.u32 %0, %1, 4, %0;" : "+r"(table) : "r"(copy));
        }
        char *out = (char *)job->out + lane * (4 * bytes);
        uint64_t sum = 0;
        uint32_t factor = WCODEC_CHECK_FIRST;
        const bool low_start = x < WCODEC_STATE_LOW;
        words.ready();
#pragma unroll 1
        for (uint32_t g = 0; g < groups - 8; g += 4)
            four_groups<false, false>(launch, x, words, lanes_below, table, run_tables, next_raw, row, raw, g, groups, mask, add, window, out, sum, factor);
        if (PREFETCH && next < launch_end())
            prefetch_tile<(raw_words > 0)>(launch.jobs + next);
        four_groups<false, true>(launch, x, words, lanes_below, table, run_tables, next_raw, row, raw, groups - 8, groups, mask, add, window, out, sum, factor);
        four_groups<true, false>(launch, x, words, lanes_below, table, run_tables, next_raw, row, raw, groups - 4, groups, mask, add, window, out, sum, factor);
        finish(launch, number, words, x, low_start, sum);
    }

    /* Elements of group k of four: bits of symbols s and raw words r put together, stored, counted. */
    template <bool LAST>
    static __device__ __forceinline__ void output(int k, const uint32_t *s, uint32_t *r, uint32_t x, uint32_t mask, uint32_t add, uint32_t window, char *out, uint64_t &sum, uint32_t factor)
    {
        if constexpr (SHAPE == WCODEC_SHAPE_16_8 || SHAPE == WCODEC_SHAPE_16_11) {
            uint32_t p0, p1;
            if constexpr (PROFILE == PAIRS && WIDE) {
                p0 = s[0];
                p1 = s[2];
            } else if constexpr (PROFILE == PAIRS) {
                constexpr uint32_t f = shape<SHAPE>::field, low = 15u << f, high = 0xf0000u << f;
                p0 = (s[0] >> (12 - f) & low) | (s[0] << f & high);
                p1 = (s[2] >> (12 - f) & low) | (s[2] << f & high);
            } else if constexpr (PROFILE == P8 && WIDE) {
                p0 = __byte_perm(s[0], s[1], 0x5410);
                p1 = __byte_perm(s[2], s[3], 0x5410);
            } else {
                p0 = __byte_perm(s[0], s[1], 0x6420) << shape<SHAPE>::field;
                p1 = __byte_perm(s[2], s[3], 0x6420) << shape<SHAPE>::field;
            }
            if (k == 3 && LAST)
                r[3] |= x << 16;
            uint2 o;
            o.x = ((r[k] & mask) | p0) + window;
            o.y = ((rotate_right(r[k], 8) & mask) | p1) + window;
            if constexpr (SHAPE == WCODEC_SHAPE_16_11) {
                /* Planes of two bits and of one: slot words 2k and 2k + 1 of the four groups, eight of the second plane's word, half of the third's. */
                o.x |= rotate_right(r[4], 4 * k) & 0x01800180u;
                o.y |= rotate_right(r[4], 4 * k + 2) & 0x01800180u;
                o.x |= rotate_right(r[5], 2 * k) & 0x02000200u;
                o.y |= rotate_right(r[5], 2 * k + 1) & 0x02000200u;
            }
            store_u64(out + k * 256, o);
            if constexpr (CHECK) {
                sum += (uint64_t)o.x * (factor + (2 * k) * WCODEC_CHECK_STEP);
                sum += (uint64_t)o.y * (factor + (2 * k + 1) * WCODEC_CHECK_STEP);
            }
        } else if constexpr (SHAPE == WCODEC_SHAPE_32_24) {
            uint32_t o[4];
            if constexpr (PROFILE == PAIRS && !WIDE) {
                o[0] = (s[0] << 11 & 0x07800000u) + window;
                o[1] = (s[0] << 7 & 0x07800000u) + window;
                o[2] = (s[2] << 11 & 0x07800000u) + window;
                o[3] = (s[2] << 7 & 0x07800000u) + window;
            } else if constexpr (PROFILE == PAIRS) {
                const uint32_t field = 0x7f800000u;
                o[0] = s[0] & field;
                o[1] = s[0] << 16 & field;
                o[2] = s[2] & field;
                o[3] = s[2] << 16 & field;
            } else {
#pragma unroll
                for (int i = 0; i < 4; i++)
                    o[i] = WIDE ? s[i] : __byte_perm(s[i], 0, 0x0444) >> 1;
            }
            if (k == 3 && LAST)
                r[7] |= x << 16;
#pragma unroll
            for (int i = 0; i < 4; i++)
                o[i] |= (rotate_right(r[2 * k + i / 2], 16 * (i % 2)) & 0x80007fffu) | (rotate_right(r[8 + k], 8 * i) & 0x007f8000u);
            __stcs((uint4 *)(out + k * 512), make_uint4(o[0], o[1], o[2], o[3]));
            if constexpr (CHECK)
#pragma unroll
                for (int i = 0; i < 4; i++)
                    sum += (uint64_t)o[i] * (factor + (4 * k + i) * WCODEC_CHECK_STEP);
        } else {
            uint32_t o;
            if constexpr (PROFILE == PAIRS && WIDE)
                o = __byte_perm(s[0], s[2], 0x5410);
            else if constexpr (PROFILE == PAIRS) {
                /* Both values of a pair in each of its bytes: even bytes take the low one, odd bytes the high one. */
                constexpr int f = shape<SHAPE>::field;
                const uint32_t m = __byte_perm(s[0] >> 12, s[2] >> 12, 0x4400), even = 0x000f000fu << f, odd = 0x0f000f00u << f;
                o = ((m << f) & even) | ((f == 4 ? m : m >> (4 - f)) & odd);
            } else if constexpr (PROFILE == P8)
                o = __byte_perm(__byte_perm(s[0], s[1], 0x0040), __byte_perm(s[2], s[3], 0x0040), 0x5410);
            else
                o = (s[0] >> 12 & 0xffu) | (s[1] >> 4 & 0xff00u) | (s[2] << 4 & 0xff0000u) | (s[3] << 12 & 0xff000000u);
            if constexpr (raw_words == 2) {
                /* Two groups a word. The last word: the half stored is the group before the last, the payload the last one. */
                if (k == 2 && LAST)
                    r[1] = spread_nibbles<shape<SHAPE>::mask>(r[1] & 0xffffu);
                if (k == 3 && LAST)
                    r[1] = rotate_right(spread_nibbles<shape<SHAPE>::mask>(x & 0xffffu), 28);
                o |= (k % 2 ? rotate_right(r[k / 2], 4) : r[k / 2]) & mask;
            }
            o = subtract(o, add);
            store_u32(out + k * 128, o);
            if constexpr (CHECK)
                sum += (uint64_t)o * (factor + k * WCODEC_CHECK_STEP);
        }
    }

    static __device__ __forceinline__ void finish(const fast_launch &launch, uint32_t number, const word_ring &words, uint32_t x, bool low_start, uint64_t sum)
    {
        const wcodec_tile_job *job = launch.jobs + number;
        const wcodec_table_set *set = current_set();
        const uint32_t lane = thread() & 31;
        const bool bad_end = shape<SHAPE>::payload ? x >> 16 != 1 : x != WCODEC_STATE_LOW;
        uint32_t fault = 0;
        copy_async_wait<0>(); /* what is still on its way to the ring must not arrive in the next tile */
        if (__any_sync(~0u, low_start))
            fault = 1;
        else if (words.taken(lane, word_address(job)) != 2 * job->word_count)
            fault = 2;
        else if (__any_sync(~0u, bad_end))
            fault = 3;
        else if (job->outliers && !patch_outliers<SHAPE>(job, set, &sum))
            fault = 4;
        else if (CHECK && job->slot >> 31) {
            uint32_t check = wcodec_check_share(sum, lane);
#pragma unroll
            for (int i = 16; i; i /= 2)
                check += __shfl_xor_sync(~0u, check, i);
            fault = check == job->check ? 0 : 5;
        }
        if (lane == 0 && fault)
            launch.faults[job->slot & 0x7fffffffu] = fault;
    }
};

/* Entries as they are stored, four a thread at a time, made ready. `meanwhile` runs while they are on their way. */
template <int SHAPE, int PROFILE, bool RUNS, bool WIDE, class function> WCODEC_INLINE void load_tables(const wcodec_table_set *set, uint32_t *to, function meanwhile)
{
    const uint4 *entries = (const uint4 *)(set + 1);
    const uint32_t shift = set->shift;
    if constexpr (PROFILE == P8 && !RUNS) {
        /* A copy for each bank, or with wide entries for each pair of banks. */
        const uint32_t step = blockDim.x, byte_shift = shape<SHAPE>::bytes == 1 ? shift : 0;
        uint32_t k = thread(), stored = __ldg((const uint32_t *)(set + 1) + k % 2048 / 8);
        meanwhile();
        for (; k < 2048; k += step) {
            const uint32_t e = wcodec_p8_entry(stored, byte_shift), pattern = WCODEC_ENTRY_SYMBOL(stored) << shift, word = stored >> 20 << 24 | (stored & 0xfffu);
            stored = __ldg((const uint32_t *)(set + 1) + (k + step) % 2048 / 8);
            ((uint4 *)to)[k] = WIDE ? make_uint4(pattern, word, pattern, word) : make_uint4(e, e, e, e);
        }
    } else {
        const uint32_t count = RUNS ? set->entries / 4 : 1024;
        constexpr int ahead = 4;
        uint4 e[ahead];
#pragma unroll
        for (int i = 0; i < ahead; i++)
            e[i] = __ldg(entries + min(thread() + i * blockDim.x, count - 1));
        meanwhile();
#pragma unroll
        for (int i = 0; i < ahead; i++) {
            const uint32_t k = thread() + i * blockDim.x;
            if (k >= count)
                break;
            if constexpr (PROFILE == P8) {
                const uint32_t byte_shift = shape<SHAPE>::bytes == 1 ? shift : 0;
                ((uint4 *)to)[k] = make_uint4(wcodec_p8_entry(e[i].x, byte_shift), wcodec_p8_entry(e[i].y, byte_shift), wcodec_p8_entry(e[i].z, byte_shift), wcodec_p8_entry(e[i].w, byte_shift));
            } else if constexpr (WIDE) {
                ((uint4 *)to)[2 * k] = make_uint4(ready_pattern<SHAPE>(set, WCODEC_ENTRY_SYMBOL(e[i].x)), wcodec_ready_word(e[i].x), ready_pattern<SHAPE>(set, WCODEC_ENTRY_SYMBOL(e[i].y)), wcodec_ready_word(e[i].y));
                ((uint4 *)to)[2 * k + 1] = make_uint4(ready_pattern<SHAPE>(set, WCODEC_ENTRY_SYMBOL(e[i].z)), wcodec_ready_word(e[i].z), ready_pattern<SHAPE>(set, WCODEC_ENTRY_SYMBOL(e[i].w)), wcodec_ready_word(e[i].w));
            } else {
                ((uint4 *)to)[k] = e[i];
            }
        }
    }
}

/* The tiles of a part. With a queue, all blocks have the same tables, every warp has a first tile and takes the next of all of them; the last block to end makes the queue ready for the next launch. */
template <class tile, class place> WCODEC_INLINE void take_tiles(const fast_launch &launch)
{
    uint32_t j = *(volatile uint32_t *)&current_part()->first + thread() / 32;
    while (j < launch_end()) {
        uint32_t next = j + blockDim.x / 32;
        if (launch.queue != nullptr) {
            if ((thread() & 31) == 0)
                next = atomicAdd(launch.queue, 1) + launch.first + gridDim.x * (blockDim.x / 32);
            next = __shfl_sync(~0u, next, 0);
        }
        tile::run(launch, j, next, place::tables(), place::ring(thread() / 32), place::ring(blockDim.x / 32) + thread() / 32 * 1024);
        j = next;
    }
    if (launch.queue == nullptr)
        return;
    __syncthreads();
    if (thread() == 0 && atomicInc(launch.queue + 1, gridDim.x - 1) == gridDim.x - 1)
        atomicExch(launch.queue, 0);
}

template <int SHAPE, int PROFILE, bool RUNS, bool WIDE, bool ADD, bool CHECK, int PREFETCH> __device__ __forceinline__ void fast_kernel(const fast_launch &launch)
{
    typedef fast_tile<SHAPE, PROFILE, RUNS, WIDE, ADD, CHECK, PREFETCH> tile;
    typedef places<PROFILE == P8 && !RUNS ? 32768 : WIDE && PROFILE != P8 ? 32768 : 16384> place;
    const bool one = launch.first_part == nullptr;
    const uint32_t end = one ? blockIdx.x + 1 : launch.first_part[blockIdx.x + 1];
    uint64_t loaded = 0;
    for (uint32_t i = one ? blockIdx.x : launch.first_part[blockIdx.x]; i < end; i++) {
        const wcodec_part part = launch.parts[i];
        const wcodec_tile_job *job = launch.jobs + part.first + thread() / 32;
        const bool busy = thread() / 32 < part.count;
        __syncthreads();
        if (thread() == 0)
            *current_part() = part;
        const auto first_tile = [&] {
            if (busy)
                prefetch_tile<(shape<SHAPE>::raw > 0)>(job);
        };
        if (part.tables != loaded)
            load_tables<SHAPE, PROFILE, RUNS, WIDE>((const wcodec_table_set *)part.tables, shared + (place::tables() - place::base()) / 4, first_tile);
        else
            first_tile();
        loaded = part.tables;
        __syncthreads();
        take_tiles<tile, place>(launch);
    }
}

#endif
