/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* With WCODEC_FEW a fast kernel of pairs or P8 is one for few tiles, each of which has a
 * work-group: backends/cuda/few.cuh says why and how. All of a tile's words are in local memory,
 * all work-items look up what each does to the lane that takes it, and 32 of them decode. Of P8, a
 * word says both symbols that come before the next one: the first one's slot is its lower byte, and
 * the second one's depends on no more than the word. */
#if defined(WCODEC_SHAPE) && defined(WCODEC_FEW)

/* Parts of local memory. */
enum {
    FEW_TABLE = 1024,
    FEW_WORDS = FEW_TABLE + 4 * TABLE_WORDS,
    FEW_SLOTS = WCODEC_P8_CODING ? 256 : 4096
};

/* What a step does, and the entry, for each word. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_few_steps(uint32_t words)
{
    return FEW_WORDS + 2 * (words + WCODEC_FEW_SPARE);
}

WCODEC_DEVICE_FUNCTION uint32_t wcodec_few_entries(uint32_t words)
{
    return FEW_WORDS + 10 * (words + WCODEC_FEW_SPARE);
}

WCODEC_DEVICE_FUNCTION uint32_t wcodec_few_output(uint32_t words)
{
    return FEW_WORDS + 14 * (words + WCODEC_FEW_SPARE);
}

/* Raw bits stand at the end of the output's part: half as large, they are read before elements
 * reach them. Begins at a multiple of 16. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_few_raw(uint32_t words, uint32_t groups)
{
    return wcodec_few_output(words) + groups * (64 * BYTES) + 48;
}

/* Ask for words or raw bits: 16 bytes at a time from a multiple of them on; those behind the last
 * are zero, and not read. step: what all work-items take at a time, which the compiler must not
 * see, since it would unroll a loop that has hardly two turns. */
WCODEC_DEVICE_FUNCTION void wcodec_few_copy(__local uint8_t *to, const __global uint8_t *from,
                                            uint32_t size, uint32_t step)
{
    for (uint32_t i = 16 * (uint32_t)get_local_id(0); i < size; i += step) {
#ifdef WCODEC_OPENCL_ASYNC
        wcodec_ring_copy(WCODEC_LOCAL_BASE(to) + i, from + i, min(size - i, 16u));
#else
        for (uint32_t k = 0; k < 16 && i + k < size; k += 2)
            *(__local ushort *)(to + i + k) = *(const __global ushort *)(from + i + k);
#endif
    }
#ifdef WCODEC_OPENCL_ASYNC
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

#if WCODEC_P8_CODING
/* own: the work-item's first entry as it is stored. */
WCODEC_DEVICE_FUNCTION void wcodec_few_table(uint32_t own,
                                             const __global struct wcodec_table_set *set,
                                             __local uint8_t *local_memory)
{
    const uint32_t byte_shift = BYTES == 1 ? set->shift : 0, flip = wcodec_fast_flip(set);
    for (uint32_t i = (uint32_t)get_local_id(0); i < TABLE_WORDS; i += WCODEC_OPENCL_ITEMS) {
        if (i >= WCODEC_OPENCL_ITEMS)
            own = ((const __global uint32_t *)(set + 1))[i];
        ((__local uint32_t *)(local_memory + FEW_TABLE))[i] =
            wcodec_p8_entry(own ^ flip, byte_shift);
    }
}
#else
/* The table, from a symbol for each slot, and for each symbol what an entry is less its slot.
 * slots: the work-item's first ones. */
WCODEC_DEVICE_FUNCTION void wcodec_few_table(uint4 slots, const __global uint4 *stored,
                                             __local uint8_t *local_memory, uint32_t flip)
{
    const __local uint32_t *symbols = (const __local uint32_t *)local_memory;
    for (uint32_t i = (uint32_t)get_local_id(0); i < 256; i += WCODEC_OPENCL_ITEMS) {
        if (i >= WCODEC_OPENCL_ITEMS)
            slots = stored[i];
        const uint32_t four[4] = {slots.x, slots.y, slots.z, slots.w};
#pragma unroll
        for (uint32_t k = 0; k < 4; k++) {
            uint32_t e[4];
#pragma unroll
            for (uint32_t j = 0; j < 4; j++)
                e[j] = (symbols[four[k] >> 8 * j & 0xffu] + 16 * i + 4 * k + j) ^ flip;
            ((__local uint4 *)(local_memory + FEW_TABLE))[4 * i + k] =
                (uint4)(e[0], e[1], e[2], e[3]);
        }
    }
}
#endif

/* Of each word: what the next state is multiplied with and what is added, and the table entry. */
WCODEC_DEVICE_FUNCTION void wcodec_few_expand(__local uint8_t *local_memory, uint32_t skip,
                                              uint32_t count, uint32_t room)
{
    const __local ushort *words = (const __local ushort *)(local_memory + FEW_WORDS + skip);
    const __local uint32_t *table = (const __local uint32_t *)(local_memory + FEW_TABLE);
    __local uint2 *steps = (__local uint2 *)(local_memory + wcodec_few_steps(room));
    __local uint32_t *entries = (__local uint32_t *)(local_memory + wcodec_few_entries(room));
    enum { BATCH = 3 }; /* on their way at a time */
    for (uint32_t i = (uint32_t)get_local_id(0); i < count; i += BATCH * WCODEC_OPENCL_ITEMS) {
        uint32_t word[BATCH];
        struct wcodec_few_step step[BATCH];
#pragma unroll
        for (uint32_t k = 0; k < BATCH; k++)
            word[k] = words[min(i + k * WCODEC_OPENCL_ITEMS, count - 1)];
#pragma unroll
        for (uint32_t k = 0; k < BATCH; k++) {
            const uint32_t e = table[word[k] % FEW_SLOTS];
            step[k] = WCODEC_P8_CODING ? wcodec_few_first(word[k], e) : wcodec_few_pair(word[k], e);
        }
#if WCODEC_P8_CODING
#pragma unroll
        for (uint32_t k = 0; k < BATCH; k++)
            step[k] = wcodec_few_second(step[k], table[step[k].plus % FEW_SLOTS]);
#endif
#pragma unroll
        for (uint32_t k = 0; k < BATCH; k++) { /* the last word's by several, all the same */
            const uint32_t at = min(i + k * WCODEC_OPENCL_ITEMS, count - 1);
            steps[at] = (uint2)(step[k].factor, step[k].plus);
            entries[at] = step[k].entry;
        }
    }
}

/* What a lane decodes of which nothing is known before. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_few_look_up(struct wcodec_fast *f)
{
    const uint32_t e = wcodec_fast_symbol(f, f->table);
    return WCODEC_P8_CODING ? wcodec_few_symbols(e, wcodec_fast_symbol(f, f->table)) : e;
}

/* Lanes whose state is low take words; all go on with the next pair, whose entry is returned, or
 * with two symbols. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_few_step(struct wcodec_fast *f)
{
    uint32_t x = f->x, at = f->at, e;
#ifdef WCODEC_OPENCL_NVIDIA
#if WCODEC_P8_CODING
    WCODEC_FEW_STEP(WCODEC_FEW_P8, x, at, e, f->lanes_below, f->entries, f->table, f->limit,
                    f->zero);
#else
    WCODEC_FEW_STEP(WCODEC_FEW_PAIRS, x, at, e, f->lanes_below, f->entries, f->table, f->limit,
                    f->zero);
#endif
#else
    const bool low = x < WCODEC_STATE_LOW;
    const uint32_t mask = wcodec_ballot(&f->w->warp, low),
                   place = at + 8 * WCODEC_POPCOUNT(mask & f->lanes_below);
    const uint2 step = *(const __local uint2 *)(f->local_memory + place);
    const uint32_t taken = step.x * x + step.y;
    e = *(const __local uint32_t *)(f->local_memory + place / 2 + f->entries);
    if (!low)
        e = wcodec_few_look_up(f);
    x = low ? taken : f->x;
    at = min(at + 8 * WCODEC_POPCOUNT(mask), f->limit);
#endif
    f->x = x;
    f->at = at;
    return e;
}

/* Behind the last pair there is nothing to decode: the state itself is wanted. */
WCODEC_DEVICE_FUNCTION void wcodec_few_last(struct wcodec_fast *f)
{
    f->ring.at = f->words + (f->at - f->steps) / 4;
    f->ring.local_memory = f->local_memory;
    wcodec_renormalise(f->w, &f->ring, &f->x, f->lanes_below);
}

/* What is stored stays at hand: outliers change it, and wait for no other memory then. Group k of
 * four. */
WCODEC_DEVICE_FUNCTION void wcodec_few_keep(const struct wcodec_fast *f, int k, const uint32_t *o)
{
#ifdef WCODEC_OPENCL_NVIDIA
    const uint32_t to = f->kept + (uint32_t)k * 128 * BYTES;
#pragma unroll
    for (int i = 0; i < BYTES; i++)
        asm volatile("st.shared.u32 [%0], %1;" ::"r"(to + 4 * i), "r"(o[i]) : "memory");
#else
    (void)f, (void)k, (void)o;
#endif
}

/* After the last group. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_few_kept(const struct wcodec_fast *f, uint32_t words,
                                                uint32_t position)
{
    const __local uint8_t *first = f->local_memory + wcodec_few_output((words + 7) & ~7u);
    return ((const __local wcodec_fast_element *)first)[position];
}

/* Entries of all words are there: the tile's fault. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_few_decode(struct wcodec_fast *f, wcodec_fast_job job,
                                                  wcodec_fast_set set, wcodec_places places,
                                                  uint32_t skip, uint32_t room)
{
    const uint32_t base = WCODEC_LOCAL_BASE(f->local_memory),
                   low_start = wcodec_ballot(&f->w->warp, f->x < WCODEC_STATE_LOW);
    f->table = base + FEW_TABLE;
    f->words = base + FEW_WORDS + skip;
    f->steps = base + wcodec_few_steps(room);
    f->entries = base + wcodec_few_entries(room) - f->steps / 2;
    f->at = f->steps;
    f->limit = f->steps + 8 * (job->word_count + 1);
    f->kept = base + wcodec_few_output(room) + WCODEC_THREAD_LANE(f->w) * (4 * BYTES);
    f->pair = wcodec_few_look_up(f);
    const uint32_t groups = f->groups;
#pragma unroll 1
    for (uint32_t g = 0; g < groups - 8; g += 4)
        wcodec_fast_groups(f, g, false, false);
    wcodec_fast_groups(f, groups - 8, false, true);
    wcodec_fast_groups(f, groups - 4, true, false);
    return wcodec_fast_finish(f, job, set, places, low_start, f->ring.at - f->words);
}

/* Tile `first` + g of the jobs is work-group g's; their tables are at `numbers`, and at `parts`
 * what those of pairs are made from. */
WCODEC_OPENCL_KERNEL void wcodec_kernel(WCODEC_OPENCL_PARAMETERS)
{
    struct wcodec_tile_work work;
    struct wcodec_fast f;
    __local uint4 local_words[WCODEC_FEW / 16];
    WCODEC_OPENCL_PLACES
    WCODEC_OPENCL_LANES(work)
    __local uint8_t *local_memory = (__local uint8_t *)local_words;
    const __global struct wcodec_tile_job *stored_job =
        (const __global struct wcodec_tile_job *)(block + launch.jobs) + launch.first +
        get_group_id(0);
    const __global struct wcodec_table_set *stored_set =
        (const __global struct wcodec_table_set *)(block + launch.numbers);
    const __global uint8_t *stored = block + launch.parts;
#ifdef WCODEC_FEW_COPIES
    const struct wcodec_tile_job own_job = *stored_job, *job = &own_job;
    const struct wcodec_table_set own_set = *stored_set, *set = &own_set;
#else
    const __global struct wcodec_tile_job *job = stored_job;
    const __global struct wcodec_table_set *set = stored_set;
#endif
    const uint32_t count = job->word_count, room = (count + 7) & ~7u,
                   lane = WCODEC_THREAD_LANE(&work), step = 16 * WCODEC_OPENCL_ITEMS + launch.zero;
    /* Work-groups on one unit decode by different ones of its schedulers: every `active`th is on
     * the same. */
    const uint32_t decodes = (uint32_t)get_group_id(0) / launch.active % WCODEC_TILES_A_GROUP;
#if WCODEC_P8_CODING
    const uint32_t own =
        ((const __global uint32_t *)(stored_set + 1))[min((uint32_t)get_local_id(0), 255u)];
#else
    const uint4 own = ((const __global uint4 *)stored)[min((uint32_t)get_local_id(0), 255u)];
    uint32_t symbol =
        ((const __global uint32_t *)(stored + 4096))[min((uint32_t)get_local_id(0), 255u)];
#endif
#ifndef WCODEC_PLACES_APART
    barrier(CLK_LOCAL_MEM_FENCE);
#endif
    const uint64_t words = WCODEC_PLACE_OFFSET(job->words);
    const uint32_t skip = (uint32_t)words & 15;
    if (count > 0)
        wcodec_few_copy(local_memory + FEW_WORDS, WCODEC_PLACE(job->words) + (words - skip),
                        skip + 2 * count, step);
#ifdef WCODEC_FEW_RAW
    const uint64_t raw = WCODEC_PLACE_OFFSET(job->raw);
    const uint32_t raw_skip = (uint32_t)raw & 15,
                   raw_at = wcodec_few_raw(room, job->elements / 128);
    wcodec_few_copy(local_memory + raw_at, WCODEC_PLACE(job->raw) + (raw - raw_skip),
                    raw_skip + job->elements / 128 * (32 * ROWS) - 64, step);
#endif
    if (number == decodes) {
        wcodec_fast_begin(&f, &work, job, set, places, local_memory);
        f.position = lane < job->outliers
                         ? ((const __global uint16_t *)(WCODEC_PLACE(job->positions) +
                                                        WCODEC_PLACE_OFFSET(job->positions)))[lane]
                         : 0;
        f.value = lane < job->outliers
                      ? (WCODEC_PLACE(job->values) + WCODEC_PLACE_OFFSET(job->values))[lane]
                      : 0;
    }
    f.zero = launch.zero;
#if WCODEC_P8_CODING
    wcodec_few_table(own, stored_set, local_memory);
#else
    for (uint32_t i = (uint32_t)get_local_id(0); i < 256; i += WCODEC_OPENCL_ITEMS) {
        if (i >= WCODEC_OPENCL_ITEMS)
            symbol = ((const __global uint32_t *)(stored + 4096))[i];
        ((__local uint32_t *)local_memory)[i] = symbol;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    wcodec_few_table(own, (const __global uint4 *)stored, local_memory,
                     wcodec_fast_flip(stored_set));
#endif
    wcodec_ring_close();
    barrier(CLK_LOCAL_MEM_FENCE);
    wcodec_few_expand(local_memory, skip, count, room);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (number != decodes)
        return;
#ifdef WCODEC_FEW_RAW
    f.row = local_memory + raw_at + raw_skip + 4 * lane;
    wcodec_fast_raw(&f, 0, false);
#endif
    const uint32_t fault = wcodec_few_decode(&f, job, set, places, skip, room);
    if (fault && lane == 0)
        wcodec_tell(block, told, launch.faults + (job->slot & 0x7fffffffu), fault, launch.serial);
}
#endif
