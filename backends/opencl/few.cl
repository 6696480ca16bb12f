/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* With WCODEC_FEW a fast kernel of pairs or P8 is one for few tiles, each of which has a work-group: backends/cuda/few.cuh says why and how. All of a tile's
 * words are in local memory, all work-items look up what each does to the lane that takes it, and 32 of them decode. Of P8, a word says both symbols that come
 * before the next one: the first one's slot is its lower byte, and the second one's depends on no more than the word. */
#if defined(WCODEC_SHAPE) && defined(WCODEC_FEW)

/* Parts of local memory. Behind a tile's last word stand as many that hold nothing as lanes can miss at a time. */
enum { FEW_TABLE = 1024, FEW_WORDS = FEW_TABLE + 4 * TABLE_WORDS, FEW_SPARE = 40 };

/* What a step does, and the entry, for each word. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_few_steps(uint32_t words)
{
    return FEW_WORDS + 2 * (words + FEW_SPARE);
}

WCODEC_DEVICE_FUNCTION uint32_t wcodec_few_entries(uint32_t words)
{
    return FEW_WORDS + 10 * (words + FEW_SPARE);
}

WCODEC_DEVICE_FUNCTION uint32_t wcodec_few_output(uint32_t words)
{
    return FEW_WORDS + 14 * (words + FEW_SPARE);
}

/* The symbols of two entries of P8: bytes 0 and 1. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_few_both(uint32_t first, uint32_t second)
{
    return wcodec_bytes(first, second, 0x2240); /* an entry's byte 2 is zero */
}

/* Ask for all words: 16 bytes at a time from a multiple of them on; those behind the last are zero, and not read. */
WCODEC_DEVICE_FUNCTION void wcodec_few_copy(__local uint8_t *to, const __global uint8_t *from, uint32_t size)
{
    for (uint32_t i = 16 * (uint32_t)get_local_id(0); i < size; i += 16 * WCODEC_OPENCL_ITEMS) {
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
WCODEC_DEVICE_FUNCTION void wcodec_few_table(const __global struct wcodec_table_set *set, __local uint8_t *local_memory)
{
    const uint32_t byte_shift = BYTES == 1 ? set->shift : 0, flip = wcodec_fast_flip(set);
    for (uint32_t i = (uint32_t)get_local_id(0); i < TABLE_WORDS; i += WCODEC_OPENCL_ITEMS)
        ((__local uint32_t *)(local_memory + FEW_TABLE))[i] = wcodec_p8_entry(((const __global uint32_t *)(set + 1))[i] ^ flip, byte_shift);
}
#else
/* The table, from a symbol for each slot, and for each symbol what an entry is less its slot. slots: the work-item's first ones. */
WCODEC_DEVICE_FUNCTION void wcodec_few_table(uint4 slots, const __global uint4 *stored, __local uint8_t *local_memory, uint32_t flip)
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
            ((__local uint4 *)(local_memory + FEW_TABLE))[4 * i + k] = (uint4)(e[0], e[1], e[2], e[3]);
        }
    }
}
#endif

/* Of each word: what the next state is multiplied with and what is added, and the table entry. */
WCODEC_DEVICE_FUNCTION void wcodec_few_expand(__local uint8_t *local_memory, uint32_t skip, uint32_t count, uint32_t room)
{
    const __local ushort *words = (const __local ushort *)(local_memory + FEW_WORDS + skip);
    const __local uint32_t *table = (const __local uint32_t *)(local_memory + FEW_TABLE);
    __local uint2 *steps = (__local uint2 *)(local_memory + wcodec_few_steps(room));
    __local uint32_t *entries = (__local uint32_t *)(local_memory + wcodec_few_entries(room));
#pragma unroll 4
    for (uint32_t i = (uint32_t)get_local_id(0); i < count; i += WCODEC_OPENCL_ITEMS) {
#if WCODEC_P8_CODING
        const uint32_t w = words[i], first = table[w & 0xffu], x = (first >> 24) * (w >> 8) + (first >> 8 & 0xffu), second = table[x & 0xffu];
        steps[i] = (uint2)((first >> 24) * (second >> 24), (second >> 24) * (x >> 8) + (second >> 8 & 0xffu));
        entries[i] = wcodec_few_both(first, second);
#else
        const uint32_t w = words[i], e = table[w & 0xfffu], frequency = e >> 20;
        steps[i] = (uint2)(frequency << 4, frequency * (w >> 12) + (e & 0xfffu));
        entries[i] = e;
#endif
    }
}

/* What a lane decodes of which nothing is known before. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_few_look_up(struct wcodec_fast *f)
{
    const uint32_t e = wcodec_fast_symbol(f, f->table);
    return WCODEC_P8_CODING ? wcodec_few_both(e, wcodec_fast_symbol(f, f->table)) : e;
}

#if WCODEC_P8_CODING
#define WCODEC_FEW_SLOT "0xff"
#define WCODEC_FEW_NEXT             \
    " shr.u32 f, %2, 24;\n"         \
    " shr.u32 q, %0, 8;\n"          \
    " prmt.b32 b, %2, 0, 0x4441;\n" \
    " mad.lo.u32 next, f, q, b;\n"  \
    " and.b32 slot, next, 0xff;\n"  \
    " mad.lo.u32 slot, slot, 4, %5;\n" \
    " ld.shared.u32 second, [slot];\n" \
    " prmt.b32 %2, %2, second, 0x2240;\n" \
    " shr.u32 f, second, 24;\n"     \
    " shr.u32 q, next, 8;\n"        \
    " prmt.b32 b, second, 0, 0x4441;\n" \
    " mad.lo.u32 next, f, q, b;\n"
#else
#define WCODEC_FEW_SLOT "0xfff"
#define WCODEC_FEW_NEXT             \
    " shr.u32 f, %2, 20;\n"         \
    " shr.u32 q, %0, 12;\n"         \
    " and.b32 b, %2, 0xfff;\n"      \
    " mad.lo.u32 next, f, q, b;\n"
#endif

/* Lanes whose state is low take words; all go on with the next pair, whose entry is returned, or with two symbols. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_few_step(struct wcodec_fast *f)
{
    uint32_t x = f->x, at = f->at, e;
#ifdef WCODEC_OPENCL_NVIDIA
    /* Lanes that take none look at the table while the others wait for their vote. The bits of a vote are counted in this order: a lane's own rank first,
     * since the sum of all is not waited for. */
    asm volatile("{\n"
                 " .reg .pred low;\n"
                 " .reg .b32 mask, rank, place, slot, f, b, q, next, factor, plus, other, second;\n"
                 " setp.lo.u32 low, %0, 0x10000;\n"
                 " and.b32 slot, %0, " WCODEC_FEW_SLOT ";\n"
                 " mad.lo.u32 slot, slot, 4, %5;\n"
                 " ld.shared.u32 %2, [slot];\n"
                 " vote.sync.ballot.b32 mask, low, 0xffffffff;\n"
                 " and.b32 rank, mask, %3;\n"
                 " popc.b32 rank, rank;\n"
                 " mad.lo.u32 place, rank, 8, %1;\n"
                 " ld.shared.v2.u32 {factor, plus}, [place];\n"
                 " shr.u32 place, place, 1;\n"
                 " add.u32 place, place, %4;\n"
                 " ld.shared.u32 other, [place];\n"
                 WCODEC_FEW_NEXT
                 " selp.b32 %2, other, %2, low;\n"
                 " @low mad.lo.u32 next, factor, %0, plus;\n"
                 " mov.b32 %0, next;\n"
                 " and.b32 rank, rank, %7;\n"
                 " or.b32 mask, mask, rank;\n"
                 " popc.b32 mask, mask;\n"
                 " mad.lo.u32 %1, mask, 8, %1;\n"
                 " min.u32 %1, %1, %6;\n"
                 "}"
                 : "+r"(x), "+r"(at), "=&r"(e)
                 : "r"(f->lanes_below), "r"(f->entries), "r"(f->table), "r"(f->limit), "r"(f->zero)
                 : "memory");
#else
    const bool low = x < WCODEC_STATE_LOW;
    const uint32_t mask = wcodec_ballot(&f->w->binding, low), place = at + 8 * WCODEC_POPCOUNT(mask & f->lanes_below);
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

/* What is stored stays at hand: outliers change it, and wait for no other memory then. Group k of four. */
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
WCODEC_DEVICE_FUNCTION uint32_t wcodec_few_kept(const struct wcodec_fast *f, const __global struct wcodec_tile_job *job, uint32_t position)
{
    const __local uint8_t *first = f->local_memory + wcodec_few_output((job->word_count + 7) & ~7u);
    return ((const __local wcodec_fast_element *)first)[position];
}

/* Entries of all words are there: the tile's fault. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_few_decode(struct wcodec_fast *f, const __global struct wcodec_tile_job *job, const __global struct wcodec_table_set *set, __global uint8_t *__local *places,
                                                  uint32_t skip, uint32_t room)
{
    const uint32_t base = WCODEC_LOCAL_BASE(f->local_memory), low_start = wcodec_ballot(&f->w->binding, f->x < WCODEC_STATE_LOW);
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

/* Tile `first` + g of the jobs is work-group g's; their tables are at `set_at`, and at `table` what those of pairs are made from. */
WCODEC_OPENCL_KERNEL void wcodec_kernel(const __global uint8_t *block, __global uint32_t *faults, ulong jobs, ulong table, ulong set_at, uint slots, uint first, uint active, uint zero, uint serial WCODEC_PLACE_PARAMETERS)
{
    struct wcodec_tile_work work;
    struct wcodec_fast f;
    __local uint4 local_words[WCODEC_FEW / 16];
    WCODEC_OPENCL_PLACES
    WCODEC_OPENCL_LANES(work)
    __local uint8_t *local_memory = (__local uint8_t *)local_words;
    const __global struct wcodec_tile_job *job = (const __global struct wcodec_tile_job *)(block + jobs) + first + get_group_id(0);
    const __global struct wcodec_table_set *set = (const __global struct wcodec_table_set *)(block + set_at);
    const __global uint8_t *stored = block + table;
    const uint32_t count = job->word_count, room = (count + 7) & ~7u, lane = WCODEC_THREAD_LANE(&work);
#if !WCODEC_P8_CODING
    const uint4 own = ((const __global uint4 *)stored)[min((uint32_t)get_local_id(0), 255u)];
#endif
    (void)active;
    barrier(CLK_LOCAL_MEM_FENCE);
    const uint64_t words = WCODEC_PLACE_OFFSET(job->words);
    const uint32_t skip = (uint32_t)words & 15;
    if (count > 0)
        wcodec_few_copy(local_memory + FEW_WORDS, WCODEC_PLACE(job->words) + (words - skip), skip + 2 * count);
    if (number == 0) {
        wcodec_fast_begin(&f, &work, job, set, places, local_memory);
        f.position = lane < job->outliers ? ((const __global uint16_t *)(WCODEC_PLACE(job->positions) + WCODEC_PLACE_OFFSET(job->positions)))[lane] : 0;
        f.value = lane < job->outliers ? (WCODEC_PLACE(job->values) + WCODEC_PLACE_OFFSET(job->values))[lane] : 0;
    }
    f.zero = zero;
#if WCODEC_P8_CODING
    wcodec_few_table(set, local_memory);
#else
    for (uint32_t i = (uint32_t)get_local_id(0); i < 256; i += WCODEC_OPENCL_ITEMS)
        ((__local uint32_t *)local_memory)[i] = ((const __global uint32_t *)(stored + 4096))[i];
    barrier(CLK_LOCAL_MEM_FENCE);
    wcodec_few_table(own, (const __global uint4 *)stored, local_memory, wcodec_fast_flip(set));
#endif
    wcodec_ring_close();
    barrier(CLK_LOCAL_MEM_FENCE);
    wcodec_few_expand(local_memory, skip, count, room);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (number != 0)
        return;
    const uint32_t fault = wcodec_few_decode(&f, job, set, places, skip, room);
    if (fault && lane == 0)
        wcodec_tell(faults, slots + (job->slot & 0x7fffffffu), fault, serial);
}
#endif
