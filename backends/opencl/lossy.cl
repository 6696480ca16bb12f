/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Elements of lossy tensors from coefficients: those that the kernels of tiles have left in scratch
 * memory, shared out as in blocks.cl, or those that are being decoded (lossy_streams.cl). */
#if defined(WCODEC_LOSSY) || defined(WCODEC_LOSSY_FUSED)
#include "backends/kernels/lossy.h"
#endif

#ifdef WCODEC_LOSSY

/* With the coefficients' size known when this is compiled. */
WCODEC_DEVICE_FUNCTION void wcodec_lossy_of_tile(struct wcodec_lossy_work *w,
                                                 const __global struct wcodec_blocks_job *job,
                                                 uint32_t first, const uint32_t wide)
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
    const __global struct wcodec_blocks_job *job =
        (const __global struct wcodec_blocks_job *)(block + launch.jobs) + tile;
    const __global struct wcodec_view_job *view =
        (const __global struct wcodec_view_job *)(block + job->view);
    work.warp.block = block;
    work.warp.raw = WCODEC_PLACE(job->residuals);
    work.warp.out = WCODEC_PLACE(view->out);
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
#if WCODEC_RUNS
/* Words of coefficients from local memory to registers; for the check they count. */
WCODEC_DEVICE_FUNCTION void wcodec_lossy_take(struct wcodec_fast *f, const __local uint32_t *from,
                                              uint32_t g, uint32_t groups,
                                              const __local struct wcodec_lossy_room *room,
                                              uint32_t *words)
{
    const uint32_t factor = wcodec_check_factor(g * WCODEC_LOSSY_FUSED);
    WCODEC_UNROLL
    for (uint32_t k = 0; k < UNIT_GROUPS; k++) {
#if WCODEC_LOSSY_FUSED == 2
        const uint32_t low = from[32 * k], high = from[512 + 32 * k];
        words[2 * k] = wcodec_bytes(low, high, 0x5140);
        words[2 * k + 1] = wcodec_bytes(low, high, 0x7362);
#else
        words[k] = from[32 * k];
#endif
    }
#if WCODEC_LOSSY_RAW
    WCODEC_UNROLL
    for (uint32_t i = 0; i < 2 * UNIT_GROUPS; i++)
        words[i] <<= room->raw_bits;
    wcodec_raw_put(room, g, groups, f->x, WCODEC_THREAD_LANE(f->w), 2 * UNIT_GROUPS, words);
#else
    (void)groups;
#endif
    WCODEC_UNROLL
    for (uint32_t i = 0; i < WCODEC_LOSSY_FUSED * UNIT_GROUPS; i++) {
#if WCODEC_LOSSY_FUSED == 2
        words[i] = wcodec_subtract_halves(words[i], room->add);
#endif
        f->sum += (uint64_t)words[i] * (factor + i * WCODEC_CHECK_STEP);
    }
}
#else
#if WCODEC_LOSSY_RAW
#define WORDS COEFFICIENT /* of a group */
#else
#define WORDS 1
#endif

/* What a word of coefficients says, as four numbers or, of 16 bits, two words. */
WCODEC_DEVICE_FUNCTION void wcodec_lossy_plain_numbers(const uint32_t *o, uint32_t *v)
{
#if WORDS == 2
    wcodec_lossy_two(o[0], v, v + 1);
    wcodec_lossy_two(o[1], v + 2, v + 3);
#else
    wcodec_lossy_four(o[0], v, v + 1, v + 2, v + 3);
#endif
}

#if WCODEC_LOSSY_RAW
/* The coefficients of `count` groups from group g on, of their symbols. */
WCODEC_DEVICE_FUNCTION void
wcodec_lossy_plain_words(struct wcodec_fast *f, __local struct wcodec_lossy_room *room,
                         struct wcodec_lossy_outlier *upper, uint32_t g, uint32_t groups,
                         const uint32_t count, uint32_t lane, const uint32_t *symbols, uint32_t *o)
{
    const uint32_t bits = room->raw_bits, constants = room->constants, add = room->add;
    WCODEC_UNROLL
    for (uint32_t i = 0; i < WORDS * count; i++)
        o[i] = WORDS == 2
                   ? wcodec_bytes(symbols[i / 2], 0, i % 2 ? 0x4342 : 0x4140) << bits | constants
                   : symbols[i] | constants;
    wcodec_raw_put(room, g, groups, f->x, lane, WORDS * count, o);
#if WORDS == 2
    if (wcodec_ballot(&f->w->warp, upper->position - g * 128 < 128 * count)) {
        __local uint32_t *words = room->words + 2 * lane;
        wcodec_local_order();
        WCODEC_UNROLL
        for (uint32_t i = 0; i < 2 * count; i++)
            words[i / 2 * 64 + i % 2] = o[i];
        wcodec_lossy_patch_upper(f->w, room->lists + 1, upper, g * 128, 128 * count, bits + 8,
                                 (__local uint16_t *)room->words);
        WCODEC_UNROLL
        for (uint32_t i = 0; i < 2 * count; i++)
            o[i] = words[i / 2 * 64 + i % 2];
        wcodec_local_order();
    }
#else
    (void)upper;
#endif
    WCODEC_UNROLL
    for (uint32_t i = 0; i < WORDS * count; i++)
        o[i] = WORDS == 2
                   ? wcodec_subtract_halves(o[i], add)
                   : ((o[i] | 0x80808080u) - (add & 0x7f7f7f7fu)) ^ ((o[i] ^ ~add) & 0x80808080u);
}
#endif

/* Four neighbouring elements. */
WCODEC_DEVICE_FUNCTION void wcodec_lossy_plain_four(const uint32_t format, __global uint8_t *to,
                                                    const uint32_t *word, float scale)
{
    uint32_t v[4];
    wcodec_lossy_plain_numbers(word, v);
    if (format == WCODEC_TO_F32) {
        const uint32_t o[4] = {wcodec_lossy_product(v[0], scale), wcodec_lossy_product(v[1], scale),
                               wcodec_lossy_product(v[2], scale),
                               wcodec_lossy_product(v[3], scale)};
        wcodec_store_4(to, o);
    } else {
        wcodec_store_2(to, wcodec_lossy_pair(format, v[0], v[1], scale),
                       wcodec_lossy_pair(format, v[2], v[3], scale));
    }
}

/* Four groups; what is behind each in memory follows from the format. */
WCODEC_DEVICE_FUNCTION void wcodec_lossy_plain_groups(const uint32_t format, __global uint8_t *to,
                                                      const uint32_t *o, float scale)
{
    WCODEC_UNROLL
    for (uint32_t k = 0; k < 4; k++)
        wcodec_lossy_plain_four(format, to + k * (format == WCODEC_TO_F32 ? 512 : 256),
                                o + WORDS * k, scale);
}

/* The elements of a group that are wanted; those behind the last count as zero. */
WCODEC_DEVICE_FUNCTION void wcodec_lossy_plain_each(struct wcodec_fast *f,
                                                    const struct wcodec_lossy_work *w,
                                                    const __local struct wcodec_blocks_job *job,
                                                    uint32_t g, uint32_t lane, const uint32_t *word)
{
    const __local struct wcodec_view_job *view = w->view;
    const uint32_t bits = 8 * WORDS;
    uint32_t v[4];
    wcodec_lossy_plain_numbers(word, v);
    for (uint32_t i = 0; i < 4; i++) {
        const uint32_t number = g * 128 + 4 * lane + i, offset = i * bits;
        const uint64_t element = job->first + number;
        if (number < job->blocks)
            f->sum += (uint64_t)((v[i] & ((1u << bits) - 1)) << offset % 32) *
                      wcodec_check_factor(g * WORDS + offset / 32);
        if (number < job->blocks && element >= view->begin && element < view->end)
            wcodec_put_one(
                w, view->out + ((element - view->begin) << (w->format == WCODEC_TO_F32 ? 2 : 1)),
                v[i] * 64, wcodec_row_scale(w, view->row_scales ? element / view->columns : 0));
    }
}

/* All groups of a plain tensor's tile: by four where they are wanted as they are. */
WCODEC_DEVICE_FUNCTION void wcodec_lossy_plain(struct wcodec_fast *f,
                                               const struct wcodec_lossy_work *w,
                                               __local struct wcodec_lossy_room *room,
                                               struct wcodec_lossy_outlier *outlier,
                                               uint32_t groups)
{
    const __local struct wcodec_view_job *view = &room->view;
    const __local struct wcodec_blocks_job *job = &room->blocks;
    const uint32_t lane = WCODEC_THREAD_LANE(f->w), format = w->format,
                   log2 = format == WCODEC_TO_F32 ? 2 : 1;
    const uint64_t out = view->out + ((job->first - view->begin) << log2);
    const bool whole = job->first >= view->begin && job->first + job->blocks <= view->end &&
                       !view->row_scales && out % 16 == 0;
    const uint32_t fours = whole ? job->blocks / 512 * 4 : 0;
    __global uint8_t *to = WCODEC_AT_OUT(w, uint8_t, out) + (4 * lane << log2);
    __local uint32_t *words = room->words + lane;
    const float scale = whole ? wcodec_row_scale(w, 0) * 64 : 0;
    uint32_t factor = WCODEC_CHECK_FIRST, g = 0;
#if WCODEC_LOSSY_RAW
    struct wcodec_lossy_outlier upper = wcodec_lossy_ask(room->lists + 1, lane);
#endif
#pragma unroll 1
    for (; g < fours; g += 4, to += 512 << log2) {
        uint32_t s[4];
#if WCODEC_LOSSY_RAW
        if (g % 16 == 0)
            wcodec_raw_ahead(room, g + 16, groups, 16, lane);
#endif
        WCODEC_UNROLL
        for (uint32_t k = 0; k < 4; k++) {
            if (k == 0 || (WCODEC_P12_CODING && k == 2))
                wcodec_ring_look(&f->ring);
            s[k] = wcodec_lossy_group(f, f->table);
        }
        if (wcodec_ballot(&f->w->warp, outlier->position - g * 128 < 512)) {
            WCODEC_UNROLL
            for (uint32_t k = 0; k < 4; k++)
                words[32 * k] = s[k];
            wcodec_lossy_patch(f->w, room->lists, outlier, g * 128, 512,
                               (__local uint8_t *)room->words);
            WCODEC_UNROLL
            for (uint32_t k = 0; k < 4; k++)
                s[k] = words[32 * k];
        }
#if WCODEC_LOSSY_RAW
        uint32_t o[4 * WORDS];
        wcodec_lossy_plain_words(f, room, &upper, g, groups, 4, lane, s, o);
#else
        const uint32_t *o = s;
#endif
        WCODEC_UNROLL
        for (uint32_t k = 0; k < 4 * WORDS; k++)
            f->sum += (uint64_t)o[k] * (factor + k * WCODEC_CHECK_STEP);
        factor += 4 * WORDS * WCODEC_CHECK_STEP;
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
        wcodec_lossy_patch(f->w, room->lists, outlier, g * 128, 128,
                           (__local uint8_t *)room->words);
        uint32_t o[WORDS];
#if WCODEC_LOSSY_RAW
        const uint32_t s = words[0];
        wcodec_lossy_plain_words(f, room, &upper, g, groups, 1, lane, &s, o);
#else
        o[0] = words[0];
#endif
        wcodec_lossy_plain_each(f, w, job, g, lane, o);
    }
}
#endif

WCODEC_DEVICE_FUNCTION void wcodec_lossy_list_open(__local struct wcodec_lossy_list *list,
                                                   const __global uint8_t *positions,
                                                   const __global uint8_t *values, uint32_t count)
{
    list->positions = (const __global uint16_t *)positions;
    list->values = values;
    list->count = count;
    list->done = 0;
}

/* As wcodec_fast_tile. Of two streams the upper one's job is at `raw`. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_lossy_tile(struct wcodec_tile_work *w, uint32_t i,
                                                  uint32_t next, uint32_t number,
                                                  volatile __local struct wcodec_fast_part *current,
                                                  __global uint8_t *__local *places,
                                                  __local uint8_t *local_memory)
{
    const __global struct wcodec_tile_job *job = WCODEC_CURRENT_JOB(current, i);
    const __global struct wcodec_table_set *set = WCODEC_CURRENT_SET(current);
    const __global struct wcodec_blocks_job *given =
        (const __global struct wcodec_blocks_job *)(current->block + job->out);
    const uint32_t lane = WCODEC_THREAD_LANE(w), groups = (job->elements + 127) / 128;
    __local struct wcodec_lossy_room *room =
        (__local struct wcodec_lossy_room *)(local_memory + STAGED) + number;
    struct wcodec_lossy_outlier outlier;
    struct wcodec_lossy_work work;
    struct wcodec_fast f;
    f.w = w;
    f.local_memory = local_memory;
    f.lanes_below = (1u << lane) - 1;
    f.table = WCODEC_LOCAL_BASE(local_memory) + TABLES;
    f.window = set->base * 0x01010101u;
    f.sum = 0;
    wcodec_ring_open(&f.ring, local_memory, number, lane, WCODEC_PLACE(job->words),
                     WCODEC_PLACE_OFFSET(job->words), job->word_count);
    f.x = ((const __global uint32_t *)(WCODEC_PLACE(job->states) +
                                       WCODEC_PLACE_OFFSET(job->states)))[lane];
    wcodec_lossy_copy((const __global uint8_t *)given, sizeof(struct wcodec_blocks_job), lane,
                      (__local uint8_t *)&room->blocks);
    wcodec_lossy_copy(current->block + given->view, sizeof(struct wcodec_view_job), lane,
                      (__local uint8_t *)&room->view);
    wcodec_lossy_list_open(
        room->lists, WCODEC_PLACE(job->positions) + WCODEC_PLACE_OFFSET(job->positions),
        WCODEC_PLACE(job->values) + WCODEC_PLACE_OFFSET(job->values), job->outliers);
    work.warp.block = current->block;
    work.view = &room->view;
    work.wide = WCODEC_LOSSY_FUSED - 1;
#if WCODEC_LOSSY_RAW || WCODEC_LOSSY_FUSED == 2
    room->add = set->add;
    room->raw_bits = set->shift;
    room->constants = set->constants * 0x00010001u;
#if !WCODEC_RUNS
    room->lists[1].count = 0;
    if (set->streams > 1) { /* what is above is constant, but for outliers */
        const __global struct wcodec_stream_job *above =
            (const __global struct wcodec_stream_job *)(current->block + job->raw);
        room->constants = (above->mode_symbol >> 8 & 0xffu) * 0x00010001u << (set->shift + 8);
        wcodec_lossy_list_open(
            room->lists + 1, WCODEC_PLACE(above->positions) + WCODEC_PLACE_OFFSET(above->positions),
            WCODEC_PLACE(above->values) + WCODEC_PLACE_OFFSET(above->values), above->outliers);
    }
#endif
    room->raw = WCODEC_PLACE(given->residuals) + WCODEC_PLACE_OFFSET(given->residuals);
#endif
#if WCODEC_RUNS
    wcodec_lossy_runs(&f, current->block + job->runs, set, groups, lane, room->runs);
#endif
#if WCODEC_LOSSY_FUSED == 2
    const __global struct wcodec_stream_job *upper =
        (const __global struct wcodec_stream_job *)(current->block + job->raw);
    struct wcodec_lossy_outlier upper_outlier;
    struct wcodec_upper u;
    wcodec_lossy_list_open(
        room->lists + 1, WCODEC_PLACE(upper->positions) + WCODEC_PLACE_OFFSET(upper->positions),
        WCODEC_PLACE(upper->values) + WCODEC_PLACE_OFFSET(upper->values), upper->outliers);
    const bool coded =
        wcodec_upper_open(&u, upper, set, current->block, places, f.table, lane, room);
    const uint32_t low_start =
        wcodec_ballot(&w->warp, f.x < WCODEC_STATE_LOW || u.x < WCODEC_STATE_LOW);
    bool changed = true;
#else
    const uint32_t low_start = wcodec_ballot(&w->warp, f.x < WCODEC_STATE_LOW);
#endif
    wcodec_ring_wait();
    wcodec_local_order();
    outlier = wcodec_lossy_ask(room->lists, lane);
    work.format = work.view->format;
    work.warp.out = WCODEC_PLACE(work.view->out);
#if WCODEC_LOSSY_FUSED == 2
    upper_outlier = wcodec_lossy_ask(room->lists + 1, lane);
#endif
#if WCODEC_RUNS
#pragma unroll 1
    for (uint32_t g = 0; g < groups; g += UNIT_GROUPS) {
        __local uint32_t *mine = room->words + lane;
        const struct wcodec_lossy_where place =
            wcodec_lossy_place(&work, &room->blocks, g / UNIT_GROUPS, lane);
        uint32_t words[UNIT_GROUPS * WCODEC_LOSSY_FUSED];
        wcodec_lossy_groups(&f, room->runs + g, mine);
#if WCODEC_LOSSY_RAW
        wcodec_raw_ahead(room, g, groups, UNIT_GROUPS, lane);
#endif
        wcodec_lossy_patch(w, room->lists, &outlier, g * 128, UNIT_ELEMENTS,
                           (__local uint8_t *)room->words);
        wcodec_lossy_park(&f.ring, lane, room);
#if WCODEC_LOSSY_FUSED == 2
        if (coded) {
            wcodec_upper_groups(&f, &u, room, changed, lane, mine + 512);
            u.number = wcodec_lossy_number(room->upper_runs, room->upper_set,
                                           min(g + UNIT_GROUPS, groups - UNIT_GROUPS) + lane % 16);
        } else if (changed) {
            for (uint32_t k = 0; k < UNIT_GROUPS; k++)
                mine[512 + 32 * k] = room->upper_symbol * 0x01010101u;
        }
        changed = wcodec_lossy_patch(w, room->lists + 1, &upper_outlier, g * 128, UNIT_ELEMENTS,
                                     (__local uint8_t *)(room->words + 512));
#endif
        wcodec_lossy_take(&f, mine, g, groups, room, words);
        wcodec_lossy_block(&work, &place, words);
        wcodec_local_order();
        wcodec_lossy_take_back(room, lane, &f.ring);
    }
#else
    wcodec_lossy_plain(&f, &work, room, &outlier, groups);
#endif
    if (next < current->part.count)
        wcodec_fast_ahead(WCODEC_CURRENT_JOB(current, next), places, WCODEC_THREAD_LANE(w));
    wcodec_ring_close();
    job = WCODEC_CURRENT_JOB(current, i);
#if WCODEC_LOSSY_RAW
    const uint32_t raw = room->raw_bits;
#else
    const uint32_t raw = 0;
#endif
    bool bad_end = raw >= 4 ? f.x >> 16 != 1 : f.x != WCODEC_STATE_LOW,
         words_bad = wcodec_ring_taken(&f.ring, lane, job->words) != 2 * job->word_count;
    bool good = wcodec_lossy_list_good(w, room->lists, job->elements,
                                       WCODEC_LOSSY_RAW && WCODEC_PAIRS_CODING ? 4 : 8);
#if WCODEC_LOSSY_RAW && !WCODEC_RUNS
    good = wcodec_lossy_list_good(w, room->lists + 1, job->elements, 8 - raw) && good;
#endif
#if WCODEC_LOSSY_FUSED == 2
    bad_end = bad_end || u.x != WCODEC_STATE_LOW;
    words_bad = words_bad || (coded && room->upper_used != room->upper_count);
    good = wcodec_lossy_list_good(w, room->lists + 1, job->elements, 8 - raw) && good;
#endif
    const uint32_t end_bad = wcodec_ballot(&w->warp, bad_end);
    const uint32_t check = wcodec_add_lanes(&w->warp, wcodec_check_share(f.sum, lane));
    return low_start                                ? 1
           : words_bad                              ? 2
           : end_bad                                ? 3
           : !good                                  ? 4
           : job->slot >> 31 && check != job->check ? 5
                                                    : 0;
}
#endif
