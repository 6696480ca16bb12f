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

/* What is the same for all of a tile's lanes: said by a vote, so that the compiler knows. */
WCODEC_DEVICE_FUNCTION bool wcodec_lossy_any(uint32_t condition)
{
#ifdef WCODEC_OPENCL_NVIDIA
    uint32_t any;
    asm volatile("{ .reg .pred p; setp.ne.u32 p, %1, 0; vote.sync.any.pred p, p, 0xffffffff; selp.u32 %0, 1, 0, p; }" : "=r"(any) : "r"(condition));
    return any;
#else
    return condition;
#endif
}

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

#if WCODEC_RUNS
/* The tables of a tile's groups: a byte for each, four times its number, and 1 if it has one symbol only. */
WCODEC_DEVICE_FUNCTION void wcodec_lossy_runs(const __global uint8_t *runs, const __global struct wcodec_table_set *set, uint32_t groups, uint32_t lane, __local uint8_t *to)
{
    const __global uint32_t *entries = (const __global uint32_t *)(set + 1);
    const uint32_t bits = set->run_bits, log2 = set->run_log2 - 7;
    for (uint32_t g = lane; g < groups; g += 32) {
        const uint32_t bit = (g >> log2) * bits, number = (uint32_t)runs[bit / 8] >> bit % 8 & ((1u << bits) - 1);
        to[g] = (uint8_t)(number * 4 | (entries[number * 256] >> 20 == 256));
    }
}

/* A group: nothing is read where its table has one symbol. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_lossy_run(struct wcodec_fast *f, uint32_t run)
{
    const uint32_t table = f->table + (run & 0x3cu) * 256;
    if (wcodec_lossy_any(run & 1))
        return (wcodec_local_entry(f->local_memory, table, 0, 4) & 0xffu) * 0x01010101u;
    return wcodec_lossy_group(f, table);
}
#endif

/* Groups [g, end) of the first stream, sixteen at most, to local memory. */
WCODEC_DEVICE_FUNCTION void wcodec_lossy_groups(struct wcodec_fast *f, const __local uint8_t *runs, uint32_t g, uint32_t end, __local uint32_t *to)
{
#if WCODEC_RUNS
#pragma unroll 1
    for (uint32_t k = 0; k < UNIT_GROUPS; k += 4, to += 128) {
        const uint32_t four = *(const __local uint32_t *)(runs + g + k);
        if (wcodec_lossy_any(four & 0x01010101u)) {
#pragma unroll 1
            for (uint32_t i = 0; i < 4; i++) {
                to[32 * i] = wcodec_lossy_run(f, four >> 8 * i & 0xffu);
                wcodec_ring_look(&f->ring);
            }
        } else {
            WCODEC_UNROLL
            for (uint32_t i = 0; i < 4; i++) {
                to[32 * i] = wcodec_lossy_group(f, f->table + (four >> 8 * i & 0xffu) * 256);
                if (WCODEC_ROLLED || i % 2)
                    wcodec_ring_look(&f->ring);
            }
        }
    }
#else
    if (end - g >= UNIT_GROUPS) {
#pragma unroll 1
        for (uint32_t k = 0; k < UNIT_GROUPS; k += 4, to += 128) {
            WCODEC_UNROLL
            for (uint32_t i = 0; i < 4; i++) {
                to[32 * i] = wcodec_lossy_group(f, f->table);
                if (WCODEC_P12_CODING || WCODEC_ROLLED || i % 2)
                    wcodec_ring_look(&f->ring);
            }
        }
    } else {
#pragma unroll 1
        for (uint32_t k = 0; g + k < end; k++) {
            to[32 * k] = wcodec_lossy_group(f, f->table);
            wcodec_ring_look(&f->ring);
        }
    }
#endif
}

#if WCODEC_LOSSY_FUSED == 2
/* The stream of upper bytes: mostly runs of one symbol, so that its entries and words stay where they are. */
struct wcodec_upper {
    const __global struct wcodec_table_set *set;
    const __global uint16_t *words;
    uint32_t mode_symbol;
    uint32_t word_count;
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
                u->x = u->x << 16 | (at < u->word_count ? u->words[at] : 0);
            u->used += WCODEC_POPCOUNT(mask);
        }
    }
    return word;
}

/* Sixteen groups from g on. What the tables of one symbol say is there from the sixteen before, if they have the same tables and nothing was changed. */
WCODEC_DEVICE_FUNCTION void wcodec_upper_groups(struct wcodec_tile_work *w, struct wcodec_upper *u, const __local uint8_t *runs, uint32_t g, uint32_t lanes_below, bool changed, __local uint32_t *to)
{
    const uint32_t at = g + WCODEC_THREAD_LANE(w) % 16, own = runs[at], before = g ? runs[at - 16] : ~own;
    const bool fill = wcodec_ballot(&w->binding, changed || own != before) != 0;
    uint32_t coded = wcodec_ballot(&w->binding, !(own & 1)) & 0xffffu;
    if (fill) {
        for (uint32_t k = 0; k < UNIT_GROUPS; k++)
            to[32 * k] = WCODEC_ENTRY_SYMBOL(((const __global uint32_t *)(u->set + 1))[(runs[g + k] & 0x3cu) * 64]) * 0x01010101u;
    }
#pragma unroll 1
    for (uint32_t k = 0; coded != 0; k++, coded >>= 1)
        if (wcodec_lossy_any(coded & 1))
            to[32 * k] = wcodec_upper_group(w, u, (const __global uint32_t *)(u->set + 1) + (runs[g + k] & 0x3cu) * 64, lanes_below);
}

WCODEC_DEVICE_FUNCTION void wcodec_upper_fill(const struct wcodec_upper *u, __local uint32_t *to)
{
    for (uint32_t k = 0; k < UNIT_GROUPS; k++)
        to[32 * k] = (u->mode_symbol >> 8 & 0xffu) * 0x01010101u;
}
#endif

/* A list of outliers, of which `done` are in their place; each lane's of the 32 behind them, asked for before they are wanted. */
struct wcodec_lossy_outliers {
    const __global uint16_t *positions;
    const __global uint8_t *values;
    uint32_t count;
    uint32_t done;
    uint32_t position;
    uint32_t value;
};

WCODEC_DEVICE_FUNCTION void wcodec_lossy_ask(struct wcodec_lossy_outliers *o, uint32_t lane)
{
    const uint32_t i = o->done + lane;
    o->position = ~0u;
    if (i < o->count) {
        o->position = o->positions[i];
        o->value = o->values[i];
    }
}

/* Those of the elements from `first` on whose bytes are at `to`; returns whether there are any. Their order is looked at later. */
WCODEC_DEVICE_FUNCTION bool wcodec_lossy_patch(struct wcodec_tile_work *w, struct wcodec_lossy_outliers *o, uint32_t first, __local uint8_t *to)
{
    uint32_t lanes = wcodec_ballot(&w->binding, o->position - first < UNIT_ELEMENTS);
    if (lanes == 0)
        return false;
    wcodec_local_order();
    for (;;) {
        if (o->position - first < UNIT_ELEMENTS)
            to[o->position - first] = (uint8_t)o->value;
        o->done += WCODEC_POPCOUNT(lanes);
        if (lanes != ~0u)
            break;
        wcodec_lossy_ask(o, WCODEC_THREAD_LANE(w));
        lanes = wcodec_ballot(&w->binding, o->position - first < UNIT_ELEMENTS);
    }
    wcodec_local_order();
    return true;
}

/* Are positions in order, and of elements that there are? */
WCODEC_DEVICE_FUNCTION bool wcodec_lossy_outliers_good(struct wcodec_tile_work *w, const struct wcodec_lossy_outliers *o, uint32_t elements)
{
    bool good = true;
    for (uint32_t i = WCODEC_THREAD_LANE(w); i < o->count; i += 32)
        good = good && o->positions[i] < elements && (i == 0 || o->positions[i - 1] < o->positions[i]);
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

WCODEC_DEVICE_FUNCTION void wcodec_lossy_plain_unit(const struct wcodec_lossy_work *w, const __local struct wcodec_blocks_job *job, uint32_t g, uint32_t lane, __local const uint32_t *words, uint64_t *sum)
{
    const __local struct wcodec_view_job *view = w->view;
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

WCODEC_DEVICE_FUNCTION void wcodec_lossy_copy(const __global uint8_t *from, uint32_t size, uint32_t lane, __local uint8_t *to)
{
    for (uint32_t i = 4 * lane; i < size; i += 128)
        *(__local uint32_t *)(to + i) = *(const __global uint32_t *)(from + i);
}

/* As wcodec_fast_tile. Of two streams the upper one's job is at `raw`. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_lossy_tile(struct wcodec_tile_work *w, uint32_t i, uint32_t next, uint32_t number, volatile __local struct wcodec_fast_part *current, __global uint8_t *__local *places,
                                                  __local uint8_t *local_memory)
{
    const __global struct wcodec_tile_job *job = WCODEC_CURRENT_JOB(current, i);
    const __global struct wcodec_table_set *set = WCODEC_CURRENT_SET(current);
    const __global struct wcodec_blocks_job *given = (const __global struct wcodec_blocks_job *)(current->block + job->out);
    const uint32_t lane = WCODEC_THREAD_LANE(w), elements = job->elements, groups = (elements + 127) / 128;
    __local uint8_t *staged = local_memory + STAGED + number * STAGED_ROOM, *runs = staged + WCODEC_LOSSY_FUSED * 2048, *descriptors = staged + STAGED_ROOM - DESCRIPTORS;
    __local uint32_t *mine = (__local uint32_t *)staged + lane;
    const __local struct wcodec_blocks_job *blocks = (const __local struct wcodec_blocks_job *)descriptors;
    struct wcodec_lossy_outliers outliers;
    struct wcodec_lossy_work work;
    struct wcodec_fast f;
    f.w = w;
    f.local_memory = local_memory;
    f.lanes_below = (1u << lane) - 1;
    f.table = WCODEC_LOCAL_BASE(local_memory) + TABLES;
    f.window = set->base * 0x01010101u;
    f.sum = 0;
    wcodec_ring_open(&f.ring, local_memory, number, lane, WCODEC_PLACE(job->words), WCODEC_PLACE_OFFSET(job->words), job->word_count);
    f.x = ((const __global uint32_t *)(WCODEC_PLACE(job->states) + WCODEC_PLACE_OFFSET(job->states)))[lane];
    outliers.positions = (const __global uint16_t *)(WCODEC_PLACE(job->positions) + WCODEC_PLACE_OFFSET(job->positions));
    outliers.values = WCODEC_PLACE(job->values) + WCODEC_PLACE_OFFSET(job->values);
    outliers.count = job->outliers;
    outliers.done = 0;
    wcodec_lossy_copy((const __global uint8_t *)given, sizeof(struct wcodec_blocks_job), lane, descriptors);
    wcodec_lossy_copy(current->block + given->view, sizeof(struct wcodec_view_job), lane, descriptors + sizeof(struct wcodec_blocks_job));
    work.binding.block = current->block;
    work.view = (const __local struct wcodec_view_job *)(descriptors + sizeof(struct wcodec_blocks_job));
    work.wide = WCODEC_LOSSY_FUSED - 1;
#if WCODEC_RUNS
    wcodec_lossy_runs(current->block + job->runs, set, groups, lane, runs);
#endif
#if WCODEC_LOSSY_FUSED == 2
    const __global struct wcodec_stream_job *upper = (const __global struct wcodec_stream_job *)(current->block + job->raw);
    const uint32_t add = set->add;
    struct wcodec_lossy_outliers upper_outliers;
    struct wcodec_upper u;
    bool changed = true;
    u.mode_symbol = upper->mode_symbol;
    const bool coded = (u.mode_symbol & 0xff) == 0;
    u.word_count = upper->word_count;
    u.set = (const __global struct wcodec_table_set *)((const __global uint8_t *)(set + 1) + 4 * set->entries);
    u.words = (const __global uint16_t *)(WCODEC_PLACE(upper->words) + WCODEC_PLACE_OFFSET(upper->words));
    u.x = coded ? ((const __global uint32_t *)(WCODEC_PLACE(upper->states) + WCODEC_PLACE_OFFSET(upper->states)))[lane] : WCODEC_STATE_LOW;
    u.used = 0;
    upper_outliers.positions = (const __global uint16_t *)(WCODEC_PLACE(upper->positions) + WCODEC_PLACE_OFFSET(upper->positions));
    upper_outliers.values = WCODEC_PLACE(upper->values) + WCODEC_PLACE_OFFSET(upper->values);
    upper_outliers.count = upper->outliers;
    upper_outliers.done = 0;
    if (coded)
        wcodec_lossy_runs(current->block + upper->runs, u.set, groups, lane, runs + 512);
    const uint32_t low_start = wcodec_ballot(&w->binding, f.x < WCODEC_STATE_LOW || u.x < WCODEC_STATE_LOW);
#else
    const uint32_t low_start = wcodec_ballot(&w->binding, f.x < WCODEC_STATE_LOW);
#endif
    wcodec_ring_wait();
    wcodec_local_order();
    work.format = work.view->format;
    work.binding.out = WCODEC_PLACE(work.view->out);
#pragma unroll 1
    for (uint32_t g = 0; g < groups; g += UNIT_GROUPS) {
        wcodec_lossy_ask(&outliers, lane);
#if WCODEC_LOSSY_FUSED == 2
        wcodec_lossy_ask(&upper_outliers, lane);
#endif
#if WCODEC_RUNS
        const struct wcodec_lossy_where place = wcodec_lossy_place(&work, blocks, g / UNIT_GROUPS, lane);
        uint32_t words[UNIT_GROUPS * WCODEC_LOSSY_FUSED];
#endif
        wcodec_lossy_groups(&f, runs, g, groups, mine);
        wcodec_lossy_patch(w, &outliers, g * 128, staged);
#if WCODEC_LOSSY_FUSED == 2
        if (coded)
            wcodec_upper_groups(w, &u, runs + 512, g, f.lanes_below, changed, mine + 512);
        else if (changed)
            wcodec_upper_fill(&u, mine + 512);
        changed = wcodec_lossy_patch(w, &upper_outliers, g * 128, staged + 2048);
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
    bool good = outliers.count == 0 || wcodec_lossy_outliers_good(w, &outliers, elements);
#if WCODEC_LOSSY_FUSED == 2
    bad_end = bad_end || u.x != WCODEC_STATE_LOW;
    words_bad = words_bad || (coded && u.used != u.word_count);
    good = (upper_outliers.count == 0 || wcodec_lossy_outliers_good(w, &upper_outliers, elements)) && good;
#endif
    const uint32_t end_bad = wcodec_ballot(&w->binding, bad_end);
    const uint32_t check = wcodec_add_lanes(&w->binding, wcodec_check_share(f.sum, lane));
    return low_start ? 1 : words_bad ? 2 : end_bad ? 3 : !good ? 4 : job->slot >> 31 && check != job->check ? 5 : 0;
}
#endif
