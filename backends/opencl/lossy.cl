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
WCODEC_OPENCL_KERNEL void wcodec_kernel(WCODEC_OPENCL_PARAMETERS)
{
    struct wcodec_lossy_work work;
    WCODEC_OPENCL_PLACES
    WCODEC_OPENCL_LANES(work)
    (void)told;
    barrier(CLK_LOCAL_MEM_FENCE);
    const uint32_t tile = launch.first + (uint32_t)WCODEC_BLOCKS_TILE;
    if (tile >= launch.active)
        return;
    const __global struct wcodec_blocks_job *job = (const __global struct wcodec_blocks_job *)(block + launch.jobs) + tile;
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
/* WCODEC_LOSSY_FUSED is the number of streams. With runs 16 groups of a tile, half a superblock, are decoded into local memory, outliers are replaced there, and
 * elements are made of them. While transforms want the registers, what lanes share stays in local memory too (struct wcodec_lossy_room, fast.cl). */
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

/* Four symbols of a lane, a byte each. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_lossy_symbols(const uint32_t *s)
{
    if (WCODEC_P8_CODING)
        return wcodec_bytes(wcodec_bytes(s[0], s[1], 0x0040), wcodec_bytes(s[2], s[3], 0x0040), 0x5410);
    return (s[0] >> 12 & 0xffu) | (s[1] >> 4 & 0xff00u) | (s[2] << 4 & 0xff0000u) | (s[3] << 12 & 0xff000000u);
}

/* A group. */
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
    return wcodec_lossy_symbols(s);
}

/* Outliers: each lane has one of the 32 behind those that are in their place, asked for before it is wanted. */
struct wcodec_lossy_outlier {
    uint32_t position, value;
};

WCODEC_DEVICE_FUNCTION struct wcodec_lossy_outlier wcodec_lossy_ask(const __local struct wcodec_lossy_list *list, uint32_t lane)
{
    struct wcodec_lossy_outlier o = {~0u, 0};
    const uint32_t i = list->done + lane;
    if (i < list->count) {
        o.position = list->positions[i];
        o.value = list->values[i];
    }
    return o;
}

/* Those of the `elements` from `first` on whose bytes are at `to`; returns whether there are any. Their order is looked at later. */
WCODEC_DEVICE_FUNCTION bool wcodec_lossy_patch(struct wcodec_tile_work *w, __local struct wcodec_lossy_list *list, struct wcodec_lossy_outlier *o, uint32_t first, uint32_t elements, __local uint8_t *to)
{
    uint32_t lanes = wcodec_ballot(&w->binding, o->position - first < elements);
    if (lanes == 0)
        return false;
    const uint32_t lane = WCODEC_THREAD_LANE(w);
    do {
        const uint32_t done = list->done + WCODEC_POPCOUNT(lanes);
        wcodec_local_order();
        if (o->position - first < elements)
            to[o->position - first] = (uint8_t)o->value;
        list->done = done;
        wcodec_local_order();
        *o = wcodec_lossy_ask(list, lane);
        lanes = wcodec_ballot(&w->binding, o->position - first < elements);
    } while (lanes != 0);
    return true;
}

/* Are positions in order, and of elements that there are? */
WCODEC_DEVICE_FUNCTION bool wcodec_lossy_list_good(struct wcodec_tile_work *w, const __local struct wcodec_lossy_list *list, uint32_t elements)
{
    bool good = true;
    for (uint32_t i = WCODEC_THREAD_LANE(w); i < list->count; i += 32)
        good = good && list->positions[i] < elements && (i == 0 || list->positions[i - 1] < list->positions[i]);
    return wcodec_ballot(&w->binding, !good) == 0;
}

WCODEC_DEVICE_FUNCTION void wcodec_lossy_copy(const __global uint8_t *from, uint32_t size, uint32_t lane, __local uint8_t *to)
{
    for (uint32_t i = 4 * lane; i < size; i += 128)
        *(__local uint32_t *)(to + i) = *(const __global uint32_t *)(from + i);
}

#if WCODEC_RUNS
/* The number of a group's table among those of runs. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_lossy_number(const __global uint8_t *runs, const __global struct wcodec_table_set *set, uint32_t g)
{
    const uint32_t bits = set->run_bits, bit = (g >> (set->run_log2 - 7)) * bits;
    return (uint32_t)runs[bit / 8] >> bit % 8 & ((1u << bits) - 1);
}

/* The tables of a tile's groups: a byte for each, four times its number, and 1 if it has one symbol only. */
WCODEC_DEVICE_FUNCTION void wcodec_lossy_runs(struct wcodec_fast *f, const __global uint8_t *runs, const __global struct wcodec_table_set *set, uint32_t groups, uint32_t lane, __local uint8_t *to)
{
    for (uint32_t g = lane; g < groups; g += 32) {
        const uint32_t number = wcodec_lossy_number(runs, set, g);
        to[g] = (uint8_t)(number * 4 | (wcodec_local_entry(f->local_memory, f->table, number * 256, 4) >> 24 == 0));
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

/* Sixteen groups of the first stream to local memory. */
WCODEC_DEVICE_FUNCTION void wcodec_lossy_groups(struct wcodec_fast *f, const __local uint8_t *runs, __local uint32_t *to)
{
#pragma unroll 1
    for (uint32_t k = 0; k < UNIT_GROUPS; k += 4, to += 128) {
        const uint32_t four = *(const __local uint32_t *)(runs + k);
        wcodec_ring_look(&f->ring);
        if (wcodec_lossy_any(four & 0x01010101u)) {
#pragma unroll 1
            for (uint32_t i = 0; i < 4; i++)
                to[32 * i] = wcodec_lossy_run(f, four >> 8 * i & 0xffu);
        } else {
            WCODEC_UNROLL
            for (uint32_t i = 0; i < 4; i++)
                to[32 * i] = wcodec_lossy_group(f, f->table + (four >> 8 * i & 0xffu) * 256);
        }
    }
}

/* While a block is transformed the ring is in local memory. */
WCODEC_DEVICE_FUNCTION void wcodec_lossy_park(const struct wcodec_ring *r, uint32_t lane, __local struct wcodec_lossy_room *room)
{
    room->from = r->from;
    room->at = r->at;
    room->next = r->next;
    room->slot = r->slot - 16 * lane;
    room->load = r->load - 16 * lane;
    room->end = r->end;
}

WCODEC_DEVICE_FUNCTION void wcodec_lossy_take_back(const __local struct wcodec_lossy_room *room, uint32_t lane, struct wcodec_ring *r)
{
    r->from = room->from;
    r->at = room->at;
    r->next = room->next;
    r->slot = room->slot + 16 * lane;
    r->load = room->load + 16 * lane;
    r->end = room->end;
}
#endif

#if WCODEC_LOSSY_FUSED == 2
/* The stream of upper bytes, of which mostly runs have one symbol: its words pass through a window of 128, of which half is filled again at a time, and its
 * tables are behind the first stream's, or where they have no room there read from memory. */
struct wcodec_upper {
    uint32_t x;
    uint32_t table;   /* local address of the first table; 0: none */
    uint32_t words;   /* two of those behind the window */
    uint32_t number;  /* of the table of the lane's group in the next sixteen */
    uint32_t run;     /* of the last sixteen: four times the number, and 1 if it has one symbol only */
};

/* Words 64 * i + lane, and 32 behind that one. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_upper_words(const __local struct wcodec_lossy_room *room, uint32_t i, uint32_t lane)
{
    const uint32_t at = 64 * i + lane, count = room->upper_count;
    return (at < count ? room->upper_words[at] : 0u) | (at + 32 < count ? (uint32_t)room->upper_words[at + 32] << 16 : 0u);
}

WCODEC_DEVICE_FUNCTION void wcodec_upper_fill_half(struct wcodec_upper *u, __local struct wcodec_lossy_room *room, uint32_t i, uint32_t lane)
{
    room->window[i % 2 * 64 + lane] = (uint16_t)u->words;
    room->window[i % 2 * 64 + lane + 32] = (uint16_t)(u->words >> 16);
    u->words = wcodec_upper_words(room, i + 1, lane);
}

/* An entry as kernels have them. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_upper_entry(struct wcodec_fast *f, const struct wcodec_upper *u, const __local struct wcodec_lossy_room *room, uint32_t i)
{
    return u->table ? wcodec_local_entry(f->local_memory, u->table, i, 4) : wcodec_p8_entry(room->upper_entries[i], 0);
}

WCODEC_DEVICE_FUNCTION uint32_t wcodec_upper_group(struct wcodec_fast *f, struct wcodec_upper *u, __local struct wcodec_lossy_room *room, uint32_t table, uint32_t *used)
{
    uint32_t s[4];
    WCODEC_UNROLL
    for (uint32_t i = 0; i < 4; i++) {
        s[i] = wcodec_upper_entry(f, u, room, table * 256 + (u->x & 0xffu));
        u->x = wcodec_p8_step(u->x, s[i]);
        if (i % 2) {
            const bool low = u->x < WCODEC_STATE_LOW;
            const uint32_t mask = wcodec_ballot(&f->w->binding, low), word = room->window[(*used + WCODEC_POPCOUNT(mask & f->lanes_below)) & 127];
            u->x = low ? u->x << 16 | word : u->x;
            *used += WCODEC_POPCOUNT(mask);
        }
    }
    return wcodec_lossy_symbols(s);
}

/* Sixteen groups from g on. What the tables of one symbol say is there from the sixteen before, if they have the same tables and nothing was changed. */
WCODEC_DEVICE_FUNCTION void wcodec_upper_groups(struct wcodec_fast *f, struct wcodec_upper *u, __local struct wcodec_lossy_room *room, bool changed, uint32_t lane, __local uint32_t *to)
{
    const uint32_t entry = wcodec_upper_entry(f, u, room, u->number * 256), run = u->number * 4 | (entry >> 24 == 0);
    const bool fill = wcodec_ballot(&f->w->binding, changed || run != u->run) != 0;
    uint32_t coded = wcodec_ballot(&f->w->binding, !(run & 1)) & 0xffffu, used = room->upper_used;
    u->run = run;
    room->upper_run[lane % 16] = run | entry << 24;
    wcodec_local_order();
    if (fill)
        for (uint32_t k = 0; k < UNIT_GROUPS; k++)
            to[32 * k] = (room->upper_run[k] >> 24) * 0x01010101u;
#pragma unroll 1
    for (uint32_t k = 0; coded != 0; k++, coded >>= 1) {
        if (!wcodec_lossy_any(coded & 1))
            continue;
        const uint32_t before = used / 64;
        to[32 * k] = wcodec_upper_group(f, u, room, room->upper_run[k] >> 2 & 15, &used);
        if (wcodec_lossy_any(used / 64 != before)) {
            wcodec_local_order();
            wcodec_upper_fill_half(u, room, before + 2, lane);
            wcodec_local_order();
        }
    }
    room->upper_used = used;
}

/* Where the tile's upper bytes begin. Returns whether they are coded, not all the same. */
WCODEC_DEVICE_FUNCTION bool wcodec_upper_open(struct wcodec_upper *u, const __global struct wcodec_stream_job *job, const __global struct wcodec_table_set *set, const __global uint8_t *block, __global uint8_t *__local *places,
                                              uint32_t tables, uint32_t lane, __local struct wcodec_lossy_room *room)
{
    const __global struct wcodec_table_set *upper = wcodec_upper_set(set);
    const bool coded = (job->mode_symbol & 0xff) == 0;
    u->x = WCODEC_STATE_LOW;
    u->table = set->entries + upper->entries <= TABLE_WORDS ? tables + 4 * set->entries : 0;
    u->number = 0;
    u->run = 2;
    u->words = 0;
    room->upper_symbol = job->mode_symbol >> 8 & 0xffu;
    room->upper_used = 0;
    if (!coded)
        return false;
    u->x = ((const __global uint32_t *)(WCODEC_PLACE(job->states) + WCODEC_PLACE_OFFSET(job->states)))[lane];
    u->number = wcodec_lossy_number(block + job->runs, upper, lane % 16);
    room->upper_runs = block + job->runs;
    room->upper_set = upper;
    room->upper_entries = (const __global uint32_t *)(upper + 1);
    room->upper_words = (const __global uint16_t *)(WCODEC_PLACE(job->words) + WCODEC_PLACE_OFFSET(job->words));
    room->upper_count = job->word_count;
    wcodec_local_order();
    const uint32_t first = wcodec_upper_words(room, 0, lane), second = wcodec_upper_words(room, 1, lane);
    u->words = first;
    wcodec_upper_fill_half(u, room, 0, lane);
    u->words = second;
    wcodec_upper_fill_half(u, room, 1, lane);
    return true;
}
#endif

#if WCODEC_RUNS
/* Words of coefficients from local memory to registers; for the check they count. */
WCODEC_DEVICE_FUNCTION void wcodec_lossy_take(struct wcodec_fast *f, const __local uint32_t *from, uint32_t g, uint32_t add, uint32_t *words)
{
    const uint32_t factor = wcodec_check_factor(g * WCODEC_LOSSY_FUSED);
    WCODEC_UNROLL
    for (uint32_t k = 0; k < UNIT_GROUPS; k++) {
#if WCODEC_LOSSY_FUSED == 2
        const uint32_t low = from[32 * k], high = from[512 + 32 * k];
        words[2 * k] = wcodec_subtract_halves(wcodec_bytes(low, high, 0x5140), add);
        words[2 * k + 1] = wcodec_subtract_halves(wcodec_bytes(low, high, 0x7362), add);
        f->sum += (uint64_t)words[2 * k] * (factor + 2 * k * WCODEC_CHECK_STEP) + (uint64_t)words[2 * k + 1] * (factor + (2 * k + 1) * WCODEC_CHECK_STEP);
#else
        words[k] = from[32 * k];
        f->sum += (uint64_t)words[k] * (factor + k * WCODEC_CHECK_STEP);
#endif
    }
}
#else
/* Four neighbouring elements of a plain tensor. */
WCODEC_DEVICE_FUNCTION void wcodec_lossy_plain_four(const uint32_t format, __global uint8_t *to, uint32_t word, float scale)
{
    uint32_t v[4];
    wcodec_lossy_four(word, v, v + 1, v + 2, v + 3);
    if (format == WCODEC_TO_F32) {
        const uint32_t o[4] = {wcodec_lossy_product(v[0], scale), wcodec_lossy_product(v[1], scale), wcodec_lossy_product(v[2], scale), wcodec_lossy_product(v[3], scale)};
        wcodec_store_4(to, o);
    } else {
        wcodec_store_2(to, wcodec_lossy_pair(format, v[0], v[1], scale), wcodec_lossy_pair(format, v[2], v[3], scale));
    }
}

/* Four groups; what is behind each in memory follows from the format. */
WCODEC_DEVICE_FUNCTION void wcodec_lossy_plain_groups(const uint32_t format, __global uint8_t *to, const uint32_t *o, float scale)
{
    WCODEC_UNROLL
    for (uint32_t k = 0; k < 4; k++)
        wcodec_lossy_plain_four(format, to + k * (format == WCODEC_TO_F32 ? 512 : 256), o[k], scale);
}

/* The elements of a group that are wanted; those behind the last count as zero. */
WCODEC_DEVICE_FUNCTION void wcodec_lossy_plain_each(struct wcodec_fast *f, const struct wcodec_lossy_work *w, const __local struct wcodec_blocks_job *job, uint32_t g, uint32_t lane, uint32_t word)
{
    const __local struct wcodec_view_job *view = w->view;
    for (uint32_t i = 0; i < 4; i++) {
        const uint32_t number = g * 128 + 4 * lane + i, symbol = number < job->blocks ? word >> 8 * i & 0xffu : 0;
        const uint64_t element = job->first + number;
        f->sum += (uint64_t)(symbol << 8 * i) * wcodec_check_factor(g);
        if (number < job->blocks && element >= view->begin && element < view->end)
            wcodec_put_one(w, view->out + ((element - view->begin) << (w->format == WCODEC_TO_F32 ? 2 : 1)), (uint32_t)((int32_t)(symbol << 24) >> 24) * 64,
                           wcodec_row_scale(w, view->row_scales ? element / view->columns : 0));
    }
}

/* All groups of a plain tensor's tile: by four where they are wanted as they are. */
WCODEC_DEVICE_FUNCTION void wcodec_lossy_plain(struct wcodec_fast *f, const struct wcodec_lossy_work *w, __local struct wcodec_lossy_room *room, struct wcodec_lossy_outlier *outlier, uint32_t groups)
{
    const __local struct wcodec_view_job *view = &room->view;
    const __local struct wcodec_blocks_job *job = &room->blocks;
    const uint32_t lane = WCODEC_THREAD_LANE(f->w), format = w->format, log2 = format == WCODEC_TO_F32 ? 2 : 1;
    const uint64_t out = view->out + ((job->first - view->begin) << log2);
    const bool whole = job->first >= view->begin && job->first + job->blocks <= view->end && !view->row_scales && out % 16 == 0;
    const uint32_t fours = whole ? job->blocks / 512 * 4 : 0;
    __global uint8_t *to = WCODEC_AT_OUT(w, uint8_t, out) + (4 * lane << log2);
    __local uint32_t *words = room->words + lane;
    const float scale = whole ? wcodec_row_scale(w, 0) * 64 : 0;
    uint32_t factor = WCODEC_CHECK_FIRST, g = 0;
#pragma unroll 1
    for (; g < fours; g += 4, to += 512 << log2) {
        uint32_t o[4];
        WCODEC_UNROLL
        for (uint32_t k = 0; k < 4; k++) {
            if (k == 0 || (WCODEC_P12_CODING && k == 2))
                wcodec_ring_look(&f->ring);
            o[k] = wcodec_lossy_group(f, f->table);
        }
        if (wcodec_ballot(&f->w->binding, outlier->position - g * 128 < 512)) {
            for (uint32_t k = 0; k < 4; k++)
                words[32 * k] = o[k];
            wcodec_lossy_patch(f->w, room->lists, outlier, g * 128, 512, (__local uint8_t *)room->words);
            for (uint32_t k = 0; k < 4; k++)
                o[k] = words[32 * k];
        }
        WCODEC_UNROLL
        for (uint32_t k = 0; k < 4; k++)
            f->sum += (uint64_t)o[k] * (factor + k * WCODEC_CHECK_STEP);
        factor += 4 * WCODEC_CHECK_STEP;
        if (format == WCODEC_TO_BF16)
            wcodec_lossy_plain_groups(WCODEC_TO_BF16, to, o, scale);
        else if (format == WCODEC_TO_F16)
            wcodec_lossy_plain_groups(WCODEC_TO_F16, to, o, scale);
        else
            wcodec_lossy_plain_groups(WCODEC_TO_F32, to, o, scale);
    }
#pragma unroll 1
    for (; g < groups; g++) {
        wcodec_ring_look(&f->ring);
        words[0] = wcodec_lossy_group(f, f->table);
        wcodec_lossy_patch(f->w, room->lists, outlier, g * 128, 128, (__local uint8_t *)room->words);
        wcodec_lossy_plain_each(f, w, job, g, lane, words[0]);
    }
}
#endif

WCODEC_DEVICE_FUNCTION void wcodec_lossy_list_open(__local struct wcodec_lossy_list *list, const __global uint8_t *positions, const __global uint8_t *values, uint32_t count)
{
    list->positions = (const __global uint16_t *)positions;
    list->values = values;
    list->count = count;
    list->done = 0;
}

/* As wcodec_fast_tile. Of two streams the upper one's job is at `raw`. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_lossy_tile(struct wcodec_tile_work *w, uint32_t i, uint32_t next, uint32_t number, volatile __local struct wcodec_fast_part *current, __global uint8_t *__local *places,
                                                  __local uint8_t *local_memory)
{
    const __global struct wcodec_tile_job *job = WCODEC_CURRENT_JOB(current, i);
    const __global struct wcodec_table_set *set = WCODEC_CURRENT_SET(current);
    const __global struct wcodec_blocks_job *given = (const __global struct wcodec_blocks_job *)(current->block + job->out);
    const uint32_t lane = WCODEC_THREAD_LANE(w), groups = (job->elements + 127) / 128;
    __local struct wcodec_lossy_room *room = (__local struct wcodec_lossy_room *)(local_memory + STAGED) + number;
    struct wcodec_lossy_outlier outlier;
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
    wcodec_lossy_copy((const __global uint8_t *)given, sizeof(struct wcodec_blocks_job), lane, (__local uint8_t *)&room->blocks);
    wcodec_lossy_copy(current->block + given->view, sizeof(struct wcodec_view_job), lane, (__local uint8_t *)&room->view);
    wcodec_lossy_list_open(room->lists, WCODEC_PLACE(job->positions) + WCODEC_PLACE_OFFSET(job->positions), WCODEC_PLACE(job->values) + WCODEC_PLACE_OFFSET(job->values), job->outliers);
    work.binding.block = current->block;
    work.view = &room->view;
    work.wide = WCODEC_LOSSY_FUSED - 1;
#if WCODEC_RUNS
    wcodec_lossy_runs(&f, current->block + job->runs, set, groups, lane, room->runs);
#endif
#if WCODEC_LOSSY_FUSED == 2
    const __global struct wcodec_stream_job *upper = (const __global struct wcodec_stream_job *)(current->block + job->raw);
    struct wcodec_lossy_outlier upper_outlier;
    struct wcodec_upper u;
    wcodec_lossy_list_open(room->lists + 1, WCODEC_PLACE(upper->positions) + WCODEC_PLACE_OFFSET(upper->positions), WCODEC_PLACE(upper->values) + WCODEC_PLACE_OFFSET(upper->values), upper->outliers);
    const bool coded = wcodec_upper_open(&u, upper, set, current->block, places, f.table, lane, room);
    const uint32_t low_start = wcodec_ballot(&w->binding, f.x < WCODEC_STATE_LOW || u.x < WCODEC_STATE_LOW), add = set->add;
    bool changed = true;
#else
    const uint32_t low_start = wcodec_ballot(&w->binding, f.x < WCODEC_STATE_LOW), add = 0;
#endif
    wcodec_ring_wait();
    wcodec_local_order();
    outlier = wcodec_lossy_ask(room->lists, lane);
    work.format = work.view->format;
    work.binding.out = WCODEC_PLACE(work.view->out);
#if WCODEC_LOSSY_FUSED == 2
    upper_outlier = wcodec_lossy_ask(room->lists + 1, lane);
#endif
#if WCODEC_RUNS
#pragma unroll 1
    for (uint32_t g = 0; g < groups; g += UNIT_GROUPS) {
        __local uint32_t *mine = room->words + lane;
        const struct wcodec_lossy_where place = wcodec_lossy_place(&work, &room->blocks, g / UNIT_GROUPS, lane);
        uint32_t words[UNIT_GROUPS * WCODEC_LOSSY_FUSED];
        wcodec_lossy_groups(&f, room->runs + g, mine);
        wcodec_lossy_patch(w, room->lists, &outlier, g * 128, UNIT_ELEMENTS, (__local uint8_t *)room->words);
        wcodec_lossy_park(&f.ring, lane, room);
#if WCODEC_LOSSY_FUSED == 2
        if (coded) {
            wcodec_upper_groups(&f, &u, room, changed, lane, mine + 512);
            u.number = wcodec_lossy_number(room->upper_runs, room->upper_set, min(g + UNIT_GROUPS, groups - UNIT_GROUPS) + lane % 16);
        } else if (changed) {
            for (uint32_t k = 0; k < UNIT_GROUPS; k++)
                mine[512 + 32 * k] = room->upper_symbol * 0x01010101u;
        }
        changed = wcodec_lossy_patch(w, room->lists + 1, &upper_outlier, g * 128, UNIT_ELEMENTS, (__local uint8_t *)(room->words + 512));
#endif
        wcodec_lossy_take(&f, mine, g, add, words);
        wcodec_lossy_block(&work, &place, words);
        wcodec_local_order();
        wcodec_lossy_take_back(room, lane, &f.ring);
    }
#else
    (void)add;
    wcodec_lossy_plain(&f, &work, room, &outlier, groups);
#endif
    if (next < current->part.count)
        wcodec_fast_ahead(WCODEC_CURRENT_JOB(current, next), places, WCODEC_THREAD_LANE(w));
    wcodec_ring_close();
    job = WCODEC_CURRENT_JOB(current, i);
    bool bad_end = f.x != WCODEC_STATE_LOW, words_bad = wcodec_ring_taken(&f.ring, lane, job->words) != 2 * job->word_count;
    bool good = wcodec_lossy_list_good(w, room->lists, job->elements);
#if WCODEC_LOSSY_FUSED == 2
    bad_end = bad_end || u.x != WCODEC_STATE_LOW;
    words_bad = words_bad || (coded && room->upper_used != room->upper_count);
    good = wcodec_lossy_list_good(w, room->lists + 1, job->elements) && good;
#endif
    const uint32_t end_bad = wcodec_ballot(&w->binding, bad_end);
    const uint32_t check = wcodec_add_lanes(&w->binding, wcodec_check_share(f.sum, lane));
    return low_start ? 1 : words_bad ? 2 : end_bad ? 3 : !good ? 4 : job->slot >> 31 && check != job->check ? 5 : 0;
}
#endif
