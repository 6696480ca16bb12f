/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Elements of lossy tensors from coefficients: those that the kernels of tiles have left in scratch memory, shared out as in blocks.cl, or as part of a fast
 * kernel. */
#if defined(WCODEC_LOSSY) || defined(WCODEC_LOSSY_FUSED)
#include "backends/common/lossy.h"
#endif

#ifdef WCODEC_LOSSY

/* With the coefficients' size known when this is compiled. */
WCODEC_DEVICE_FUNCTION void wcodec_lossy_of_tile(struct wcodec_lossy_work *w, const __global struct wcodec_blocks_job *job, uint32_t first, const uint32_t wide)
{
    w->wide = wide;
    const uint32_t units = wcodec_lossy_units(w, job);
    for (uint32_t unit = first; unit < units; unit += WCODEC_BLOCKS_STEP)
        wcodec_lossy_unit(w, job, unit);
}

/* Arguments as in blocks.cl. */
WCODEC_OPENCL_KERNEL void wcodec_kernel(const __global uint8_t *block, __global uint32_t *faults, ulong jobs, ulong tensors, ulong none, uint slots, uint first, uint end, uint queue, uint serial WCODEC_PLACE_PARAMETERS)
{
    struct wcodec_lossy_work work;
    WCODEC_OPENCL_PLACES
    WCODEC_OPENCL_LANES(work)
    (void)faults, (void)tensors, (void)none, (void)slots, (void)queue, (void)serial;
    barrier(CLK_LOCAL_MEM_FENCE);
    const uint32_t tile = first + (uint32_t)WCODEC_BLOCKS_TILE;
    if (tile >= end)
        return;
    const __global struct wcodec_blocks_job *job = (const __global struct wcodec_blocks_job *)(block + jobs) + tile;
    const __global struct wcodec_view_job *view = (const __global struct wcodec_view_job *)(block + job->view);
    work.binding.block = block;
    work.binding.raw = WCODEC_PLACE(job->residuals);
    work.binding.out = WCODEC_PLACE(view->out);
    wcodec_lossy_open(&work, job);
#ifdef WCODEC_OPENCL_LOOPS
    wcodec_lossy_of_tile(&work, job, WCODEC_BLOCKS_FIRST, work.wide);
#else
    if (view->wide)
        wcodec_lossy_of_tile(&work, job, WCODEC_BLOCKS_FIRST, 1);
    else
        wcodec_lossy_of_tile(&work, job, WCODEC_BLOCKS_FIRST, 0);
#endif
}
#endif

#ifdef WCODEC_LOSSY_FUSED
/* WCODEC_LOSSY_FUSED is the number of streams. 16 groups of a tile are decoded into local memory, outliers are replaced there, and elements are made of them:
 * with runs half a superblock. */
enum { UNIT_GROUPS = 16, UNIT_ELEMENTS = 128 * UNIT_GROUPS };

/* A symbol, or pair of them, of each step, put together. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_lossy_group(struct wcodec_fast *f, uint32_t table)
{
    uint32_t s[4];
    WCODEC_UNROLL
    for (int i = 0; i < 4; i += WCODEC_PAIRS_CODING ? 2 : 1) {
        s[i] = wcodec_fast_symbol(f, table);
        if (!WCODEC_P8_CODING || i % 2)
            wcodec_renormalise(f->w, &f->ring, &f->x, f->lanes_below);
    }
    if (WCODEC_PAIRS_CODING) {
        const uint32_t m = wcodec_bytes(s[0], s[2], 0x6521);
        return (bitselect(m, m >> 4, 0x00ff00ffu) & 0x0f0f0f0fu) + f->window;
    }
    if (WCODEC_P8_CODING)
        return wcodec_bytes(wcodec_bytes(s[0], s[1], 0x0040), wcodec_bytes(s[2], s[3], 0x0040), 0x5410);
    return (s[0] >> 12 & 0xffu) | (s[1] >> 4 & 0xff00u) | (s[2] << 4 & 0xff0000u) | (s[3] << 12 & 0xff000000u);
}

/* Table of a group, as an index of the pool's entries. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_lossy_run(const __global uint8_t *runs, const __global struct wcodec_table_set *set, uint32_t g)
{
    const uint32_t bits = set->run_bits, bit = (g >> (set->run_log2 - 7)) * bits;
    return ((uint32_t)runs[bit / 8] >> bit % 8 & ((1u << bits) - 1)) * 256;
}

/* Groups [g, end) of the first stream to local memory. Nothing is read where a table has one symbol. */
WCODEC_DEVICE_FUNCTION void wcodec_lossy_groups(struct wcodec_fast *f, const __global struct wcodec_table_set *set, uint32_t g, uint32_t end, __local uint32_t *to)
{
    WCODEC_UNROLL
    for (uint32_t k = 0; k < UNIT_GROUPS; k++) {
        if (g + k >= end)
            break;
        uint32_t table = f->table, one = 0;
        if (WCODEC_RUNS) {
            table += 4 * wcodec_lossy_run(f->runs, set, g + k);
            one = wcodec_local_entry(f->local_memory, table, 0, 4);
        }
        to[32 * k] = WCODEC_RUNS && one >> 24 == 0 ? (one & 0xffu) * 0x01010101u : wcodec_lossy_group(f, table);
        if (WCODEC_P12_CODING || WCODEC_ROLLED || k % 2)
            wcodec_ring_look(&f->ring);
    }
}

#if WCODEC_LOSSY_FUSED == 2
/* The stream of upper bytes: mostly runs of one symbol, so that its entries and words stay where they are. */
struct wcodec_upper {
    const __global struct wcodec_stream_job *job;
    const __global struct wcodec_table_set *set;
    const __global uint16_t *words;
    const __global uint8_t *runs;
    uint32_t x;
    uint32_t used;
};

WCODEC_DEVICE_FUNCTION uint32_t wcodec_upper_group(struct wcodec_tile_work *w, struct wcodec_upper *u, const __global uint32_t *entries, uint32_t lanes_below)
{
    uint32_t word = 0;
#pragma unroll 1
    for (uint32_t i = 0; i < 4; i++) {
        const uint32_t e = entries[u->x & 0xffu];
        word |= WCODEC_ENTRY_SYMBOL(e) << 8 * i;
        u->x = wcodec_entry_step(u->x, e, 8);
        if (i % 2) {
            const bool low = u->x < WCODEC_STATE_LOW;
            const uint32_t mask = wcodec_ballot(&w->binding, low), at = u->used + WCODEC_POPCOUNT(mask & lanes_below);
            if (low)
                u->x = u->x << 16 | (at < u->job->word_count ? u->words[at] : 0);
            u->used += WCODEC_POPCOUNT(mask);
        }
    }
    return word;
}

WCODEC_DEVICE_FUNCTION void wcodec_upper_groups(struct wcodec_tile_work *w, struct wcodec_upper *u, uint32_t g, uint32_t lanes_below, __local uint32_t *to)
{
#pragma unroll 1
    for (uint32_t k = 0; k < UNIT_GROUPS; k++) {
        if ((u->job->mode_symbol & 0xff) != 0) {
            to[32 * k] = (u->job->mode_symbol >> 8 & 0xffu) * 0x01010101u;
            continue;
        }
        const __global uint32_t *entries = (const __global uint32_t *)(u->set + 1) + wcodec_lossy_run(u->runs, u->set, g + k);
        to[32 * k] = entries[0] >> 20 == 256 ? WCODEC_ENTRY_SYMBOL(entries[0]) * 0x01010101u : wcodec_upper_group(w, u, entries, lanes_below);
    }
}
#endif

/* Outliers of `n` elements from `first` on, whose bytes are at `to`; returns how many there are before those that come after. Their order is looked at later. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_lossy_patch(struct wcodec_tile_work *w, const __global uint16_t *positions, const __global uint8_t *values, uint32_t count, uint32_t done, uint32_t first,
                                                   __local uint8_t *to)
{
    uint32_t n = 32;
    if (done >= count)
        return done;
    wcodec_local_order();
    while (n == 32) {
        const uint32_t i = done + WCODEC_THREAD_LANE(w), at = i < count ? positions[i] - first : UNIT_ELEMENTS;
        if (at < UNIT_ELEMENTS)
            to[at] = values[i];
        n = WCODEC_POPCOUNT(wcodec_ballot(&w->binding, at < UNIT_ELEMENTS));
        done += n;
    }
    wcodec_local_order();
    return done;
}

/* Are positions in order, and of elements that there are? */
WCODEC_DEVICE_FUNCTION bool wcodec_lossy_outliers_good(struct wcodec_tile_work *w, const __global uint16_t *positions, uint32_t count, uint32_t elements)
{
    bool good = true;
    for (uint32_t i = WCODEC_THREAD_LANE(w); i < count; i += 32)
        good = good && positions[i] < elements && (i == 0 || positions[i - 1] < positions[i]);
    return wcodec_ballot(&w->binding, !good) == 0;
}

/* Four neighbouring elements of a plain tensor, of which the first is number `at`. */
WCODEC_DEVICE_FUNCTION void wcodec_lossy_plain_four(const struct wcodec_lossy_work *w, const uint32_t format, uint64_t at, uint32_t word, float scale)
{
    const uint64_t out = w->view->out + ((at - w->view->begin) << (format == WCODEC_TO_F32 ? 2 : 1));
    __global uint32_t *to = WCODEC_AT_OUT(w, uint32_t, out);
    uint32_t v[4];
    wcodec_lossy_four(word, v, v + 1, v + 2, v + 3);
    if (format == WCODEC_TO_F32) {
        const uint32_t o[4] = {wcodec_lossy_product(v[0], scale), wcodec_lossy_product(v[1], scale), wcodec_lossy_product(v[2], scale), wcodec_lossy_product(v[3], scale)};
        wcodec_store_4((__global uint8_t *)to, o);
    } else {
        wcodec_store_2((__global uint8_t *)to, wcodec_lossy_pair(format, v[0], v[1], scale), wcodec_lossy_pair(format, v[2], v[3], scale));
    }
}

WCODEC_DEVICE_FUNCTION void wcodec_lossy_plain_unit(const struct wcodec_lossy_work *w, const __global struct wcodec_blocks_job *job, uint32_t g, uint32_t lane, __local const uint32_t *words, uint64_t *sum)
{
    const __global struct wcodec_view_job *view = w->view;
    const uint64_t first = job->first + g * 128, out = view->out + ((first - view->begin) << (w->format == WCODEC_TO_F32 ? 2 : 1));
    if (g * 128 + UNIT_ELEMENTS <= job->blocks && first >= view->begin && first + UNIT_ELEMENTS <= view->end && !view->row_scales && out % 16 == 0) {
        const float scale = wcodec_row_scale(w, 0) * 64;
        WCODEC_UNROLL
        for (uint32_t k = 0; k < UNIT_GROUPS; k++) {
            const uint32_t word = words[32 * k];
            const uint64_t at = first + 128 * k + 4 * lane;
            *sum += (uint64_t)word * wcodec_check_factor(g + k);
            if (w->format == WCODEC_TO_BF16)
                wcodec_lossy_plain_four(w, WCODEC_TO_BF16, at, word, scale);
            else if (w->format == WCODEC_TO_F16)
                wcodec_lossy_plain_four(w, WCODEC_TO_F16, at, word, scale);
            else
                wcodec_lossy_plain_four(w, WCODEC_TO_F32, at, word, scale);
        }
        return;
    }
    /* What is behind the last element counts as zero. */
    for (uint32_t i = 0; i < 4 * UNIT_GROUPS; i++) {
        const uint32_t number = (g + i / 4) * 128 + 4 * lane + i % 4, shift = i % 4 * 8, symbol = number < job->blocks ? words[i / 4 * 32] >> shift & 0xffu : 0;
        const uint64_t element = job->first + number;
        *sum += (uint64_t)(symbol << shift) * wcodec_check_factor(g + i / 4);
        if (number < job->blocks && element >= view->begin && element < view->end)
            wcodec_put_one(w, view->out + ((element - view->begin) << (w->format == WCODEC_TO_F32 ? 2 : 1)), (uint32_t)((int32_t)(symbol << 24) >> 24) * 64,
                           wcodec_row_scale(w, view->row_scales ? element / view->columns : 0));
    }
}

/* As wcodec_fast_tile. Of two streams the upper one's job is at `raw`. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_lossy_tile(struct wcodec_tile_work *w, uint32_t i, uint32_t next, uint32_t number, volatile __local struct wcodec_fast_part *current, __global uint8_t *__local *places,
                                                  __local uint8_t *local_memory)
{
    const __global struct wcodec_tile_job *job = WCODEC_CURRENT_JOB(current, i);
    const __global struct wcodec_table_set *set = WCODEC_CURRENT_SET(current);
    const __global struct wcodec_blocks_job *blocks = (const __global struct wcodec_blocks_job *)(current->block + job->out);
    const __global uint16_t *positions = (const __global uint16_t *)(WCODEC_PLACE(job->positions) + WCODEC_PLACE_OFFSET(job->positions));
    const __global uint8_t *values = WCODEC_PLACE(job->values) + WCODEC_PLACE_OFFSET(job->values);
    const uint32_t lane = WCODEC_THREAD_LANE(w), groups = (job->elements + 127) / 128;
    __local uint8_t *staged = local_memory + STAGED + number * STAGED_ROOM;
    __local uint32_t *mine = (__local uint32_t *)staged + lane;
    uint32_t patched = 0;
    struct wcodec_lossy_work work;
    struct wcodec_fast f;
    f.w = w;
    f.local_memory = local_memory;
    f.lanes_below = (1u << lane) - 1;
    f.table = WCODEC_LOCAL_BASE(local_memory) + TABLES;
    f.window = set->base * 0x01010101u;
    f.sum = 0;
    f.runs = current->block + job->runs;
    wcodec_ring_open(&f.ring, local_memory, number, lane, WCODEC_PLACE(job->words), WCODEC_PLACE_OFFSET(job->words), job->word_count);
    f.x = ((const __global uint32_t *)(WCODEC_PLACE(job->states) + WCODEC_PLACE_OFFSET(job->states)))[lane];
    work.binding.block = current->block;
    wcodec_lossy_open(&work, blocks);
    work.binding.out = WCODEC_PLACE(work.view->out);
    work.wide = WCODEC_LOSSY_FUSED - 1;
#if WCODEC_LOSSY_FUSED == 2
    const __global struct wcodec_stream_job *upper = (const __global struct wcodec_stream_job *)(current->block + job->raw);
    const __global uint16_t *upper_positions = (const __global uint16_t *)(WCODEC_PLACE(upper->positions) + WCODEC_PLACE_OFFSET(upper->positions));
    const __global uint8_t *upper_values = WCODEC_PLACE(upper->values) + WCODEC_PLACE_OFFSET(upper->values);
    const bool coded = (upper->mode_symbol & 0xff) == 0;
    uint32_t upper_patched = 0;
    struct wcodec_upper u;
    u.job = upper;
    u.set = (const __global struct wcodec_table_set *)((const __global uint8_t *)(set + 1) + 4 * set->entries);
    u.words = (const __global uint16_t *)(WCODEC_PLACE(upper->words) + WCODEC_PLACE_OFFSET(upper->words));
    u.runs = current->block + upper->runs;
    u.x = coded ? ((const __global uint32_t *)(WCODEC_PLACE(upper->states) + WCODEC_PLACE_OFFSET(upper->states)))[lane] : WCODEC_STATE_LOW;
    u.used = 0;
    const uint32_t low_start = wcodec_ballot(&w->binding, f.x < WCODEC_STATE_LOW || u.x < WCODEC_STATE_LOW);
#else
    const uint32_t low_start = wcodec_ballot(&w->binding, f.x < WCODEC_STATE_LOW);
#endif
    wcodec_ring_wait();
    wcodec_local_order();
#pragma unroll 1
    for (uint32_t g = 0; g < groups; g += UNIT_GROUPS) {
#if WCODEC_RUNS
        const struct wcodec_lossy_where place = wcodec_lossy_place(&work, blocks, g / UNIT_GROUPS, lane);
        uint32_t words[UNIT_GROUPS * WCODEC_LOSSY_FUSED];
#endif
        wcodec_lossy_groups(&f, set, g, groups, mine);
        patched = wcodec_lossy_patch(w, positions, values, job->outliers, patched, g * 128, staged);
#if WCODEC_LOSSY_FUSED == 2
        wcodec_upper_groups(w, &u, g, f.lanes_below, mine + 512);
        upper_patched = wcodec_lossy_patch(w, upper_positions, upper_values, upper->outliers, upper_patched, g * 128, staged + 2048);
        const uint32_t add = set->add;
#pragma unroll
        for (uint32_t k = 0; k < UNIT_GROUPS; k++) {
            const uint32_t low = mine[32 * k], high = mine[512 + 32 * k], a = wcodec_bytes(low, high, 0x5140), b = wcodec_bytes(low, high, 0x7362);
            words[2 * k] = ((a | 0x80008000u) - (add & 0x7fff7fffu)) ^ ((a ^ ~add) & 0x80008000u);
            words[2 * k + 1] = ((b | 0x80008000u) - (add & 0x7fff7fffu)) ^ ((b ^ ~add) & 0x80008000u);
            f.sum += (uint64_t)words[2 * k] * wcodec_check_factor(2 * (g + k)) + (uint64_t)words[2 * k + 1] * wcodec_check_factor(2 * (g + k) + 1);
        }
        wcodec_lossy_block(&work, &place, words);
#elif WCODEC_RUNS
#pragma unroll
        for (uint32_t k = 0; k < UNIT_GROUPS; k++) {
            words[k] = mine[32 * k];
            f.sum += (uint64_t)words[k] * wcodec_check_factor(g + k);
        }
        wcodec_lossy_block(&work, &place, words);
#else
        wcodec_lossy_plain_unit(&work, blocks, g, lane, mine, &f.sum);
#endif
        wcodec_local_order();
    }
    if (next < current->part.count)
        wcodec_fast_ahead(WCODEC_CURRENT_JOB(current, next), places, WCODEC_THREAD_LANE(w));
    wcodec_ring_close();
    bool bad_end = f.x != WCODEC_STATE_LOW, words_bad = wcodec_ring_taken(&f.ring, lane, job->words) != 2 * job->word_count;
    bool good = job->outliers == 0 || wcodec_lossy_outliers_good(w, positions, job->outliers, job->elements);
#if WCODEC_LOSSY_FUSED == 2
    bad_end = bad_end || u.x != WCODEC_STATE_LOW;
    words_bad = words_bad || (coded && u.used != upper->word_count);
    good = (upper->outliers == 0 || wcodec_lossy_outliers_good(w, upper_positions, upper->outliers, job->elements)) && good;
#endif
    const uint32_t end_bad = wcodec_ballot(&w->binding, bad_end);
    const uint32_t check = wcodec_add_lanes(&w->binding, wcodec_check_share(f.sum, lane));
    return low_start ? 1 : words_bad ? 2 : end_bad ? 3 : !good ? 4 : job->slot >> 31 && check != job->check ? 5 : 0;
}
#endif
