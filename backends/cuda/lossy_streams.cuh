/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* What a tile of a lossy tensor is read from, in shared memory: its one or two streams of coded
 * bytes, a unit of groups at a time, and raw bits below them. */
#ifndef WCODEC_CUDA_LOSSY_STREAMS_CUH
#define WCODEC_CUDA_LOSSY_STREAMS_CUH

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
    asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "r"(address));
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

/* A stream of coefficients, or of their lower or upper bytes. With runs `run_tables` has a byte for
 * each group: four times its table, and 1 if that has one symbol only. */
template <int PROFILE, bool RUNS>
struct lossy_stream : fast_tile<WCODEC_SHAPE_8_0_FUSED, PROFILE, RUNS, PROFILE == PAIRS, false> {
    typedef fast_tile<WCODEC_SHAPE_8_0_FUSED, PROFILE, RUNS, PROFILE == PAIRS, false> fast;
    static constexpr uint32_t step =
        PROFILE == P12 ? 2 : 4; /* groups whose words are no more than a slot of the ring */

    uint32_t staged;  /* shared address of the warp's bytes */
    uint32_t patched; /* outliers that are in their place */
    uint32_t position,
        value; /* each lane's of the 32 behind them, asked for before they are wanted */

    __device__ __forceinline__ lossy_stream(const fast_launch &l) : fast(l)
    {
    }

    /* job: of a tile, or of a further stream. */
    template <class descriptor>
    __device__ __forceinline__ void begin(const descriptor *job, uint32_t room)
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

    __device__ __forceinline__ void load_runs(const uint8_t *runs, const wcodec_table_set *set,
                                              uint32_t groups)
    {
        const uint32_t bits = set->run_bits, log2 = set->run_log2 - 7;
        for (uint32_t g = thread() & 31; g < groups; g += 32) {
            const uint32_t bit = (g >> log2) * bits,
                           number = runs[bit / 8] >> bit % 8 & ((1u << bits) - 1);
            shared_store_u8(this->run_tables + g,
                            number * 4 | (shared_u32(this->table + number * 1024) >> 24 == 0));
        }
    }

    __device__ __forceinline__ void decode_word(uint32_t to, uint32_t t)
    {
        uint32_t v[4], o[4], none[1];
        this->decode_group(v, t);
        this->assemble(0, 0, v, none, o);
        shared_store_u32(to, o[0]);
    }

    /* A group whose table may have one symbol only: then nothing is read. tables: its byte stands
     * at bits 8 to 15. */
    __device__ __forceinline__ void decode_run_group(uint32_t tables, uint32_t to)
    {
        if (__any_sync(~0u, tables & 0x100))
            shared_store_u32(to,
                             (shared_u32(this->table + (tables & 0x3c00)) & 0xffu) * 0x01010101u);
        else
            decode_word(to, this->table + tables);
    }

    /* Sixteen groups from g on, of which most have tables of one symbol: what these are is there
     * from the sixteen before, if they have the same tables and nothing was changed. */
    __device__ __forceinline__ void decode_few(uint32_t g, bool changed)
    {
        const uint32_t lane = thread() & 31, runs = this->run_tables + g,
                       own = shared_u8(runs + lane % 16);
        const uint32_t before = g ? shared_u8(runs - 16 + lane % 16) : ~own;
        uint32_t left = __ballot_sync(~0u, lane < 16 && !(own & 1));
        if (changed || __any_sync(~0u, own != before)) {
#pragma unroll
            for (uint32_t i = 0; i < 16; i++) {
                const uint32_t symbol =
                    shared_u32(this->table + ((shared_u8(runs + i) & 0x3cu) << 8)) & 0xffu;
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
                        decode_word(to + 128 * i,
                                    this->table + __byte_perm(tables, 0, 0x4404 | i << 4));
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

    /* Outliers of `elements` from `first` on, after ask_outliers(), to their place; returns whether
     * there are any. Whether they are in order is seen later. shift: of a symbol in its byte. */
    template <class descriptor>
    __device__ __forceinline__ bool patch(const descriptor *job, uint32_t first, uint32_t elements,
                                          uint32_t shift = 0)
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

    template <class descriptor>
    __device__ __forceinline__ static bool outliers_good(const descriptor *job, uint32_t elements,
                                                         uint32_t width)
    {
        const uint32_t lane = thread() & 31, count = job->outliers;
        uint32_t least = 0;
        for (uint32_t first = 0; first < count; first += 32) {
            const uint32_t n = min(32u, count - first),
                           at = lane < n ? ((const uint16_t *)job->positions)[first + lane] : 0;
            const uint32_t wrong =
                lane < n ? (uint32_t)((const uint8_t *)job->values)[first + lane] >> width : 0;
            uint32_t before = __shfl_up_sync(~0u, at, 1) + 1;
            before = lane == 0 ? least : before;
            if (__any_sync(~0u, lane < n && (at < before || at >= elements || wrong)))
                return false;
            least = __shfl_sync(~0u, at, n - 1) + 1;
        }
        return true;
    }

    /* What is the same for all lanes waits in shared memory, while registers are wanted for
     * something else. */
    __device__ __forceinline__ void park(uint32_t to) const
    {
        const uint64_t from = (uint64_t)this->in.from;
        asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(this->in.at),
                     "r"(this->in.next), "r"(this->in.load - 16 * (thread() & 31)), "r"(patched)
                     : "memory");
        asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(to + 16), "r"((uint32_t)from),
                     "r"((uint32_t)(from >> 32)), "r"(this->in.limit), "r"(this->in.ring)
                     : "memory");
        asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(to + 32), "r"(this->table),
                     "r"(this->run_tables), "r"(staged), "r"(0)
                     : "memory");
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

    template <class descriptor>
    __device__ __forceinline__ bool all_taken(const descriptor *job) const
    {
        return this->in.taken(job->word_count ? job->words : job->states) == 2 * job->word_count;
    }
};

/* Raw bits below what is coded, of elements of BYTES: `bits` of them, in planes of powers of two,
 * the widest first (doc/format.md 2.4). A plane of n bits has n rows of 128 bytes for eight groups;
 * those of a unit of GROUPS stand behind each other in shared memory. */
template <uint32_t BYTES, uint32_t GROUPS> struct lossy_raw {
    static constexpr uint32_t most = BYTES == 2 ? 8 : 4, words = BYTES * GROUPS /* of a lane */,
                              row = 16 * GROUPS /* bytes for each bit */;

    /* A plane's bits below those of the planes before it. */
    static __device__ __forceinline__ uint32_t below(uint32_t bits, uint32_t plane)
    {
        return bits & ~(2 * plane - 1);
    }

    /* Half of the last row of the first plane is in the start states, or of four bits all of an odd
     * group. */
    static __device__ __forceinline__ uint32_t plane_size(uint32_t plane, uint32_t bits,
                                                          uint32_t groups)
    {
        const bool payload = plane >= 4 && below(bits, plane) == 0;
        return (groups * plane + 7) / 8 * 128 - (!payload                   ? 0
                                                 : plane == 4 && groups % 2 ? 128
                                                                            : 64);
    }

    /* Those of the unit from group g on, of which the tile has `groups`, on their way. */
    static __device__ __forceinline__ void ask(uint32_t to, uint64_t raw, uint32_t bits, uint32_t g,
                                               uint32_t groups)
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
        return BYTES == 1
                   ? spread_nibbles<0x0f0f0f0fu>(v)
                   : (v & 0xfu) | (v << 12 & 0xf0000u) | (v >> 4 & 0xf0u) | (v << 8 & 0xf00000u);
    }

    /* The last row of the first plane as the others are, when the tile's last group is decoded: it
     * is in the unit that begins with group g. */
    static __device__ __forceinline__ void complete(uint32_t rows, uint32_t bits, uint32_t g,
                                                    uint32_t groups, uint32_t state)
    {
        const uint32_t lane = thread() & 31, plane = BYTES == 2 && bits >= 8 ? 8 : 4,
                       payload = state & 0xffffu;
        if (bits < 4)
            return;
        const uint32_t last = rows + ((groups * plane + 7) / 8 - 1 - g * plane / 8) * 128,
                       stored = shared_u16(last + 2 * lane);
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

    template <uint32_t PLANE>
    static __device__ __forceinline__ void put_plane(uint32_t from, uint32_t position, uint32_t *v)
    {
        const uint32_t mask = (BYTES == 2 ? 0x00010001u : 0x01010101u) * ((1u << PLANE) - 1)
                              << position;
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

#endif
