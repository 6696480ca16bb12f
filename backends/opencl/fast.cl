/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Whole tiles of one coded field and up to one plane of raw bits, of elements of one or two bytes: a work-group has the field's tables in local memory, 32 work-items decode a tile, and their words pass through a
 * ring in local memory, the next ones waiting in registers. A word's place in the ring is masked, and the ring is filled from inside of the tile's words only. */
#ifndef WCODEC_OPENCL_LOOPS
#include "backends/common/tile.h"

#define WCODEC_LANE_GROUPS (WCODEC_OPENCL_ITEMS / 32)
#define WCODEC_RING 512u  /* words */
#define WCODEC_CHUNK 256u /* words that come at once: 8 a lane */

/* Local memory between the 32 lanes of a tile. */
WCODEC_DEVICE_FUNCTION void wcodec_local_order(void)
{
#if defined(WCODEC_OPENCL_LOCAL)
    barrier(CLK_LOCAL_MEM_FENCE);
#elif defined(WCODEC_OPENCL_NVIDIA)
    asm volatile("bar.warp.sync 0xffffffff;" ::: "memory");
#else
    sub_group_barrier(CLK_LOCAL_MEM_FENCE);
#endif
}

struct wcodec_ring {
    __local ushort *words;
    const __global uint8_t *from; /* aligned to 16 */
    uint32_t bytes;               /* that may be read */
    uint32_t at;                  /* of the next word */
    uint32_t come;                /* words that are in the ring, or were */
    uint4 next;                   /* the lane's share of the chunk after them */
};

/* Sixteen bytes; those behind the end are zero. */
WCODEC_DEVICE_FUNCTION uint4 wcodec_ring_load(const struct wcodec_ring *r, uint32_t offset)
{
    if (offset + 16 <= r->bytes)
        return *(const __global uint4 *)(r->from + offset);
    uint32_t part[4] = {0, 0, 0, 0};
    for (uint32_t i = 0; i < 8; i++)
        if (offset + 2 * i + 2 <= r->bytes)
            part[i / 2] |= (uint32_t)*(const __global ushort *)(r->from + offset + 2 * i) << i % 2 * 16;
    return (uint4)(part[0], part[1], part[2], part[3]);
}

/* The chunk that waits goes into the ring, the one after it is asked for. */
WCODEC_DEVICE_FUNCTION void wcodec_ring_fill(struct wcodec_ring *r, uint32_t lane)
{
    wcodec_local_order(); /* all have read what is overwritten now */
    *(__local uint4 *)(r->words + (r->come & (WCODEC_RING - 1)) + lane * 8) = r->next;
    r->come += WCODEC_CHUNK;
    r->next = wcodec_ring_load(r, r->come * 2 + lane * 16);
    wcodec_local_order();
}

WCODEC_DEVICE_FUNCTION void wcodec_ring_open(struct wcodec_ring *r, const __global uint8_t *words, uint64_t offset, uint32_t count, uint32_t lane)
{
    const uint32_t skip = (uint32_t)offset & 15;
    r->from = words + (offset - skip);
    r->bytes = skip + 2 * count;
    r->at = skip / 2;
    r->come = 0;
    r->next = wcodec_ring_load(r, lane * 16);
    wcodec_ring_fill(r, lane);
}

#define WCODEC_FAST_TAKE                                                                                       \
    {                                                                                                          \
        const uint32_t low_ = wcodec_ballot(&w->binding, x < WCODEC_STATE_LOW);                                \
        const uint32_t word_ = ring.words[(ring.at + WCODEC_POPCOUNT(low_ & below)) & (WCODEC_RING - 1)];      \
        x = x < WCODEC_STATE_LOW ? x << 16 | word_ : x;                                                        \
        ring.at += WCODEC_POPCOUNT(low_);                                                                      \
    }

/* Four symbols of a lane in the bytes of *symbols. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_fast_entry(const __local uint32_t *table, uint32_t *x, uint32_t bits)
{
    const uint32_t e = table[*x & ((1u << bits) - 1)];
    *x = wcodec_entry_step(*x, e, bits);
    return WCODEC_ENTRY_SYMBOL(e);
}

/* Bytes a - b, each by itself. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_subtract_bytes(uint32_t a, uint32_t b)
{
    return ((a | 0x80808080u) - (b & 0x7f7f7f7fu)) ^ ((a ^ ~b) & 0x80808080u);
}

/* One tile. profile, run, size (bytes of an element) and planes are constants where this is used. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_fast_tile(struct wcodec_tile_work *w, const __global struct wcodec_tile_job *job, const __global struct wcodec_table_set *set, __local uint32_t *tables, __local ushort *ring_words,
                                        const uint32_t profile, const bool runs, const uint32_t size, const uint32_t plane_bits)
{
    const uint32_t lane = w->binding.lane, below = (1u << lane) - 1, groups = job->elements / 128, shift = set->shift, base = set->base * 0x01010101u, raw_mask = set->raw_mask, add = set->add;
    const uint32_t position = set->position, verify = job->slot >> 31;
    const __global uint32_t *raw = WCODEC_AT(w, raw, uint32_t, job->raw);
    const __global uint8_t *run_indices = WCODEC_AT(w, block, uint8_t, job->runs);
    __global uint32_t *out = WCODEC_AT_OUT(w, uint32_t, job->out) + lane * size;
    const __local uint32_t *table = tables;
    struct wcodec_lane lanes[1];
    struct wcodec_ring ring;
    uint32_t x = WCODEC_AT(w, states, uint32_t, job->states)[lane], factor = WCODEC_CHECK_FIRST;
    uint64_t sum = 0;
    const uint32_t state_bad = wcodec_ballot(&w->binding, x < WCODEC_STATE_LOW);
    ring.words = ring_words;
    wcodec_ring_open(&ring, w->binding.words, job->words, job->word_count, lane);
    const uint32_t first_word = ring.at;
    const uint32_t rows = groups * plane_bits / 8;
    uint32_t next_row = plane_bits && rows > 1 ? raw[lane] : 0, row = 0;
    for (uint32_t group = 0; group < groups; group++) {
        uint32_t symbols = 0, word = 0;
        if (ring.come - ring.at < 128)
            wcodec_ring_fill(&ring, lane);
        if (runs) {
            const uint32_t bit = (group * 128 >> set->run_log2) * set->run_bits;
            table = tables + ((run_indices[bit / 8] >> bit % 8 & ((1u << set->run_bits) - 1)) << 8);
        }
        if (profile == 1) {
            for (uint32_t i = 0; i < 2; i++) {
                const uint32_t v = wcodec_fast_entry(table, &x, 12);
                symbols |= (v & 15u | (v & 0xf0u) << 4) << 16 * i;
                WCODEC_FAST_TAKE
            }
            symbols += base;
        } else if (profile == 2) {
            for (uint32_t i = 0; i < 4; i++) {
                symbols |= wcodec_fast_entry(table, &x, 12) << 8 * i;
                WCODEC_FAST_TAKE
            }
        } else {
            for (uint32_t i = 0; i < 2; i++) {
                symbols |= wcodec_fast_entry(table, &x, 8) << 16 * i;
                symbols |= wcodec_fast_entry(table, &x, 8) << (16 * i + 8);
                WCODEC_FAST_TAKE
            }
        }
        /* Raw bits: a row is eight bits a slot; the last one has its upper half in the states. */
        if (plane_bits == 8) {
            row = next_row;
            if (group + 1 == groups)
                row = ((const __global ushort *)(raw + 32 * group))[lane] | x << 16;
            else if (group + 2 < groups)
                next_row = raw[32 * (group + 1) + lane];
            word = row;
        } else if (plane_bits == 4) {
            if (group + 2 >= groups) {
                const uint32_t nibbles = group + 1 == groups ? x & 0xffffu : ((const __global ushort *)(raw + 32 * (rows - 1)))[lane];
                for (uint32_t i = 0; i < 4; i++) {
                    const uint32_t v = (nibbles >> 4 * i & 15) << position % 8;
                    word |= ((v | v >> 8) & 0xffu) << 8 * i;
                }
            } else if (group % 2 == 0) {
                row = next_row;
                if (group / 2 + 2 < rows)
                    next_row = raw[32 * (group / 2 + 1) + lane];
                word = row;
            } else {
                word = row >> 4 | row << 28;
            }
        }
        if (size == 2) {
            const uint32_t a = word & raw_mask | (symbols & 0xffu) << shift | (symbols >> 8 & 0xffu) << (16 + shift);
            const uint32_t b = (word >> 8 | word << 24) & raw_mask | (symbols >> 16 & 0xffu) << shift | symbols >> 24 << (16 + shift);
            *(__global uint2 *)out = (uint2)(a, b);
            sum += (uint64_t)a * factor;
            sum += (uint64_t)b * (factor + WCODEC_CHECK_STEP);
            factor += 2 * WCODEC_CHECK_STEP;
        } else {
            const uint32_t a = wcodec_subtract_bytes(word & raw_mask | symbols << shift, add);
            *out = a;
            sum += (uint64_t)a * factor;
            factor += WCODEC_CHECK_STEP;
        }
        out += 32 * size;
    }
    uint32_t final_bad = wcodec_ballot(&w->binding, x >> 16 != 1 || (plane_bits == 0 && (x & 0xffffu) != 0));
    if (state_bad)
        return 1;
    if (ring.at - first_word != job->word_count)
        return 2;
    if (final_bad)
        return 3;
    lanes[0].sum = sum;
    if (job->outliers) {
        w->job = job;
        w->size = size;
        WCODEC_ORDER();
        const struct wcodec_outlier_list list = {job->positions, job->values, size == 1 ? add & 0xffu : 0, job->outliers, shift, set->width};
        if (!wcodec_patch(w, lanes, &list))
            return 4;
    }
    if (!verify)
        return 0;
    return wcodec_add_lanes(&w->binding, wcodec_check_share(lanes[0].sum, lane)) == job->check ? 0 : 5;
}

/* Parts [first, end) of those at `parts` of the block, a work-group each. */
#define WCODEC_FAST(name, profile, runs, size, plane_bits, table_size)                                                                                                          \
    WCODEC_OPENCL_KERNEL void wcodec_fast_##name(const __global uint8_t *block, const __global uint8_t *states, const __global uint8_t *words, const __global uint8_t *raw,      \
                                                 const __global uint8_t *positions, const __global uint8_t *values, __global uint8_t *out, __global uint32_t *faults, ulong jobs, \
                                                 ulong parts, uint slots, uint first, uint end)                                                                                  \
    {                                                                                                                                                                            \
        __local uint32_t tables[table_size];                                                                                                                                     \
        __local uint4 rings[WCODEC_LANE_GROUPS * WCODEC_RING / 8];                                                                                                               \
        struct wcodec_tile_work work;                                                                                                                                            \
        WCODEC_OPENCL_BIND(work)                                                                                                                                                 \
        (void)end;                                                                                                                                                               \
        const __global struct wcodec_part *part = (const __global struct wcodec_part *)(block + parts) + first + get_group_id(0);                                                \
        const __global struct wcodec_table_set *set = (const __global struct wcodec_table_set *)(block + part->tables);                                                          \
        const __global uint32_t *entries = (const __global uint32_t *)(set + 1);                                                                                                 \
        for (uint32_t i = (uint32_t)get_local_id(0); i < min(set->entries, (uint32_t)(table_size)); i += WCODEC_OPENCL_ITEMS)                                                     \
            tables[i] = entries[i];                                                                                                                                              \
        barrier(CLK_LOCAL_MEM_FENCE);                                                                                                                                            \
        for (uint32_t i = number; i < part->count; i += WCODEC_LANE_GROUPS) {                                                                                                    \
            const __global struct wcodec_tile_job *job = (const __global struct wcodec_tile_job *)(block + jobs) + part->first + i;                                              \
            const uint32_t fault = wcodec_fast_tile(&work, job, set, tables, (__local ushort *)(rings + number * (WCODEC_RING / 8)), profile, runs, size, plane_bits);            \
            if (work.binding.lane == 0)                                                                                                                                          \
                faults[slots + (job->slot & 0x7fffffffu)] = fault;                                                                                                               \
        }                                                                                                                                                                        \
    }

WCODEC_FAST(16_8_pairs, 1, false, 2, 8, 4096)
WCODEC_FAST(16_8_p8, 3, false, 2, 8, 256)
WCODEC_FAST(16_8_p8_runs, 3, true, 2, 8, 4096)
WCODEC_FAST(8_4_pairs, 1, false, 1, 4, 4096)
WCODEC_FAST(8_4_p8, 3, false, 1, 4, 256)
WCODEC_FAST(8_4_p8_runs, 3, true, 1, 4, 4096)
WCODEC_FAST(8_0_p12, 2, false, 1, 0, 4096)
WCODEC_FAST(8_0_p8, 3, false, 1, 0, 256)
WCODEC_FAST(8_0_p8_runs, 3, true, 1, 0, 4096)
#endif
