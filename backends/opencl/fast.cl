/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* One kernel of the common field lists (elements.cl): whole tiles of one coded field. A work-group
 * has the field's tables in local memory, 32 work-items decode a tile, four groups at a time, and
 * its words pass through a ring in local memory. */
#ifdef WCODEC_SHAPE
/* Four groups. The last of a tile take the payload; raw bits are loaded ahead for those behind. */
WCODEC_DEVICE_FUNCTION void wcodec_fast_groups(struct wcodec_fast *f, uint32_t g, const bool last,
                                               const bool before_last)
{
    uint32_t r[RAW ? RAW : 1], runs = f->next_runs;
#pragma unroll
    for (int i = 0; i < RAW; i++)
        r[i] = f->next_raw[i];
    if (!last) {
        f->row += ROWS * 128;
        wcodec_fast_raw(f, g + 4, before_last);
        if (WCODEC_RUNS_AHEAD)
            wcodec_fast_runs(f, g + 4);
    }
    WCODEC_UNROLL
    for (int k = 0; k < 4; k++) {
        uint32_t s[4], o[4], table = f->table;
#ifdef WCODEC_FEW
        (void)table;
        s[0] = f->pair;
        s[1] = s[0] >> 16;
        s[2] = wcodec_few_step(f);
        s[3] = s[2] >> 16;
        if (last && k == 3)
            wcodec_few_last(f);
        else
            f->pair = wcodec_few_step(f);
#else
#if defined(WCODEC_FUSED) && WCODEC_RUNS
        table = wcodec_shuffle(table, (g + (uint32_t)k) % WCODEC_UNIT_GROUPS);
#endif
        if (WCODEC_RUNS_AHEAD)
            table +=
                (runs >> (((g + (uint32_t)k) >> f->run_log2) - (g >> f->run_log2)) * f->run_bits &
                 ((1u << f->run_bits) - 1)) *
                1024;
#pragma unroll
        for (int i = 0; i < 4; i += WCODEC_PAIRS_CODING ? 2 : 1) {
            s[i] = wcodec_fast_symbol(f, table);
            if (!WCODEC_P8_CODING || i % 2)
                wcodec_renormalise(f->w, &f->ring, &f->x, f->lanes_below);
        }
#endif
        wcodec_fast_words(f, k, s, r, o, last);
#ifdef WCODEC_FUSED
        f->fused.staged[k * 32 + k / 2 * 4] = o[0];
#else
        if (BYTES == 1)
            wcodec_store_1(f->out + k * 128, o[0]);
        else if (BYTES == 2)
            wcodec_store_2(f->out + k * 256, o[0], o[1]);
        else
            wcodec_store_4(f->out + k * 512, o);
#endif
#ifndef WCODEC_FUSED /* else it is of what is there when outliers are, too */
#pragma unroll
        for (int i = 0; i < BYTES; i++)
            f->sum += (uint64_t)o[i] * (f->factor + (uint32_t)(BYTES * k + i) * WCODEC_CHECK_STEP);
#endif
#ifdef WCODEC_FEW
        wcodec_few_keep(f, k, o);
#else
        if (WCODEC_P12_CODING || WCODEC_ROLLED || k % 2)
            wcodec_ring_look(&f->ring);
#endif
    }
#ifdef WCODEC_FEW
    f->kept += 4 * 128 * BYTES;
#endif
#ifdef WCODEC_FUSED
    f->fused.staged += 4 * 32 + 8;
#else
    f->out += 4 * 128 * BYTES;
#endif
    f->factor += 4 * BYTES * WCODEC_CHECK_STEP;
}

/* Call into the cache what a tile begins with. */
WCODEC_DEVICE_FUNCTION void wcodec_fast_ahead(const __global struct wcodec_tile_job *job,
                                              wcodec_places places, uint32_t lane)
{
    if (lane < 8) {
        if (lane * 128 < 2 * job->word_count)
            wcodec_prefetch(WCODEC_PLACE(job->words) + WCODEC_PLACE_OFFSET(job->words) +
                            lane * 128);
    } else if (lane < 31) {
        if (RAW > 0)
            wcodec_prefetch(WCODEC_PLACE(job->raw) + WCODEC_PLACE_OFFSET(job->raw) +
                            (lane - 8) % 8 * 128);
    } else {
        wcodec_prefetch(WCODEC_PLACE(job->states) + WCODEC_PLACE_OFFSET(job->states));
    }
}

/* What a work-group is at: read again when needed, rather than held in registers through a tile. */
struct wcodec_fast_part {
    struct wcodec_part part;
    const __global uint8_t *block;
    const __global struct wcodec_tile_job *jobs;
};

#define WCODEC_CURRENT_JOB(current, i) ((current)->jobs + (current)->part.first + (i))
#define WCODEC_CURRENT_SET(current) \
    ((const __global struct wcodec_table_set *)((current)->block + (current)->part.tables))

#if WCODEC_SHAPE == 1 || WCODEC_SHAPE == 2 || WCODEC_SHAPE == 5 || WCODEC_SHAPE >= 9
typedef uint8_t wcodec_fast_element;
#elif WCODEC_SHAPE != 3 && WCODEC_SHAPE != 6
typedef uint16_t wcodec_fast_element;
#else
typedef uint32_t wcodec_fast_element;
#endif

/* Descriptors of a tile and of its tables. Kernels for few tiles have copies in registers, so that
 * the end of a tile waits for none of them. */
#if defined(WCODEC_FEW) && defined(WCODEC_OPENCL_NVIDIA)
#define WCODEC_FEW_COPIES
typedef const struct wcodec_tile_job *wcodec_fast_job;
typedef const struct wcodec_table_set *wcodec_fast_set;
#else
typedef const __global struct wcodec_tile_job *wcodec_fast_job;
typedef const __global struct wcodec_table_set *wcodec_fast_set;
#endif

#ifdef WCODEC_OPENCL_NVIDIA
/* Outliers, 32 at a time: each lane changes one element, and the lane that decoded it learns by how
 * much its part of the check does. False if positions or values are out of range or order. */
WCODEC_DEVICE_FUNCTION bool wcodec_fast_patch(struct wcodec_fast *f, wcodec_fast_job job,
                                              wcodec_fast_set set, wcodec_places places)
{
    struct wcodec_tile_work *w = f->w;
    const uint32_t lane = WCODEC_THREAD_LANE(w), count = job->outliers, elements = job->elements,
                   width = set->width, shift = set->shift;
    const uint32_t add = BYTES == 1 ? set->add & 0xffu : 0, mask = ((1u << width) - 1) << shift;
    const __global uint16_t *positions =
        (const __global uint16_t *)(WCODEC_PLACE(job->positions) +
                                    WCODEC_PLACE_OFFSET(job->positions));
    const __global uint8_t *values = WCODEC_PLACE(job->values) + WCODEC_PLACE_OFFSET(job->values);
    volatile __global wcodec_fast_element *out =
        (volatile __global wcodec_fast_element *)(WCODEC_PLACE(job->out) +
                                                  WCODEC_PLACE_OFFSET(job->out));
    uint32_t least = 0;
    for (uint32_t first = 0; first < count; first += 32) {
        const uint32_t n = min(32u, count - first);
        const bool mine = lane < n;
#ifdef WCODEC_FEW
        const uint32_t position = !mine   ? 0
                                  : first ? positions[first + lane]
                                          : f->position,
                       value = !mine   ? 0
                               : first ? values[first + lane]
                                       : f->value;
#else
        const uint32_t position = mine ? positions[first + lane] : 0,
                       value = mine ? values[first + lane] : 0;
#endif
        const uint32_t before = wcodec_shuffle(position, lane - 1) + 1;
        if (wcodec_ballot(&w->warp, mine && (position < (lane == 0 ? least : before) ||
                                             position >= elements || value >> width)))
            return false;
        least = wcodec_shuffle(position, n - 1) + 1;
        uint64_t change = 0;
        WCODEC_ORDER(); /* elements that other lanes have stored are read */
        if (mine) {
#ifdef WCODEC_FEW
            const uint32_t old = wcodec_few_kept(f, job->word_count, position);
#else
            const uint32_t old = out[position];
#endif
            const uint32_t now = (wcodec_fast_element)((((old + add) & ~mask) | value << shift) -
                                                       add),
                           offset = position % 4 * BYTES;
            out[position] = (wcodec_fast_element)now;
            change = (((uint64_t)now - (uint64_t)old) << offset % 4 * 8) *
                     wcodec_check_factor(position / 128 * BYTES + offset / 4);
        }
        for (uint32_t i = 0; i < n; i++) {
            const uint64_t c = (uint64_t)wcodec_shuffle((uint32_t)(change >> 32), i) << 32 |
                               wcodec_shuffle((uint32_t)change, i);
            if (wcodec_shuffle(position, i) % 128 / 4 == lane)
                f->sum += c;
        }
    }
    return true;
}
#else
WCODEC_DEVICE_FUNCTION bool wcodec_fast_patch(struct wcodec_fast *f, wcodec_fast_job job,
                                              wcodec_fast_set set, wcodec_places places)
{
    struct wcodec_tile_work *w = f->w;
    struct wcodec_tile_lane lanes[1];
    const struct wcodec_outlier_list list = {
        job->positions, job->values, BYTES == 1 ? set->add & 0xffu : 0,
        job->outliers,  set->shift,  set->width};
    w->job = job;
    w->size = BYTES;
    w->warp.positions = WCODEC_PLACE(job->positions);
    w->warp.values = WCODEC_PLACE(job->values);
    w->warp.out = WCODEC_PLACE(job->out);
    lanes[0].sum = f->sum;
    WCODEC_ORDER();
    const bool good = wcodec_patch(w, lanes, &list);
    f->sum = lanes[0].sum;
    return good;
}
#endif

/* What came of a tile, which took `taken` bytes of words: its fault. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_fast_finish(struct wcodec_fast *f, wcodec_fast_job job,
                                                   wcodec_fast_set set, wcodec_places places,
                                                   uint32_t low_start, uint32_t taken)
{
    struct wcodec_tile_work *w = f->w;
    const uint32_t lane = WCODEC_THREAD_LANE(w),
                   bad_end = wcodec_ballot(&w->warp,
                                           PAYLOAD ? f->x >> 16 != 1 : f->x != WCODEC_STATE_LOW);
    if (low_start)
        return 1;
    if (taken != 2 * job->word_count)
        return 2;
    if (bad_end)
        return 3;
#ifdef WCODEC_FUSED
    if (f->fused.outliers.done != job->outliers)
        return 4;
#else
    if (job->outliers && !wcodec_fast_patch(f, job, set, places))
        return 4;
#endif
    if (!(job->slot >> 31))
        return 0;
    return wcodec_add_lanes(&w->warp, wcodec_check_share(f->sum, lane)) == job->check ? 0 : 5;
}

#ifdef WCODEC_LOSSY_FUSED
/* The second stream's tables stand behind those of the first. */
WCODEC_DEVICE_FUNCTION const __global struct wcodec_table_set *
wcodec_upper_set(const __global struct wcodec_table_set *set)
{
    return (const __global struct wcodec_table_set *)((const __global uint8_t *)(set + 1) +
                                                      4 * set->entries);
}

WCODEC_DEVICE_FUNCTION uint32_t wcodec_lossy_tile(struct wcodec_tile_work *w, uint32_t i,
                                                  uint32_t next, uint32_t number,
                                                  volatile __local struct wcodec_fast_part *current,
                                                  wcodec_places places,
                                                  __local uint8_t *local_memory);
#endif

/* Ask for what a tile needs first, but for its words. */
WCODEC_DEVICE_FUNCTION void wcodec_fast_begin(struct wcodec_fast *f, struct wcodec_tile_work *w,
                                              wcodec_fast_job job, wcodec_fast_set set,
                                              wcodec_places places, __local uint8_t *local_memory)
{
    const uint32_t lane = WCODEC_THREAD_LANE(w), groups = job->elements / 128,
                   window = WCODEC_PAIRS_CODING ? set->base << FIELD : 0;
    const uint32_t offset = (LOW ? window : 0) - (set->add & 0xffu);
    f->w = w;
    f->local_memory = local_memory;
    f->lanes_below = (1u << lane) - 1;
    f->groups = groups;
    f->add = WCODEC_ADD ? (offset & 0x7fu) * 0x01010101u : 0;
    f->window = LOW                 ? (offset & 0x80u) * 0x01010101u
                : WCODEC_SHAPE == 6 ? window + set->constants
                : BYTES == 4        ? window
                : BYTES == 2        ? window << 16 | window
                                    : 0;
    f->sum = 0;
    f->factor = WCODEC_CHECK_FIRST;
    f->x = ((const __global uint32_t *)(WCODEC_PLACE(job->states) +
                                        WCODEC_PLACE_OFFSET(job->states)))[lane];
#ifndef WCODEC_FEW_RAW
    f->row = WCODEC_PLACE(job->raw) + WCODEC_PLACE_OFFSET(job->raw) + 4 * lane;
    f->second = f->row + (LOW ? groups * 32 : groups * (WCODEC_SHAPE == 3 ? 256 : 128) - 64);
#endif
#ifndef WCODEC_FUSED
    f->out = WCODEC_PLACE(job->out) + WCODEC_PLACE_OFFSET(job->out) + lane * (4 * BYTES);
#endif
    f->next_runs = 0;
#ifndef WCODEC_FEW_RAW
    wcodec_fast_raw(f, 0, false);
#endif
}

#ifndef WCODEC_FEW
/* Tile i of the part, after which comes tile `next`. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_fast_tile(struct wcodec_tile_work *w, uint32_t i,
                                                 uint32_t next, uint32_t number,
                                                 volatile __local struct wcodec_fast_part *current,
                                                 wcodec_places places,
                                                 __local uint8_t *local_memory)
{
    const __global struct wcodec_tile_job *job = WCODEC_CURRENT_JOB(current, i);
    const __global struct wcodec_table_set *set = WCODEC_CURRENT_SET(current);
    const uint32_t lane = WCODEC_THREAD_LANE(w);
    struct wcodec_fast f;
    wcodec_ring_open(&f.ring, local_memory, number, lane, WCODEC_PLACE(job->words),
                     WCODEC_PLACE_OFFSET(job->words), job->word_count);
    wcodec_fast_begin(&f, w, job, set, places, local_memory);
    f.table = WCODEC_LOCAL_BASE(local_memory) + TABLES + (COPIES > 1 ? lane % COPIES * 4 : 0);
    if (WCODEC_RUNS_AHEAD) {
        f.runs = current->block + job->runs;
        f.run_bits = set->run_bits;
        f.run_log2 = set->run_log2 - 7;
        wcodec_fast_runs(&f, 0);
    }
#ifdef WCODEC_FUSED
    __local struct wcodec_stage *stage =
        (__local struct wcodec_stage *)(local_memory + STAGES) + number;
    if (WCODEC_RUNS)
        wcodec_unit_ask(&f, set, current->block + job->runs, lane % WCODEC_UNIT_GROUPS);
    wcodec_fused_open(&f.fused, stage, w, job, WCODEC_CURRENT_SET(current), current->block, places);
#endif
    const uint32_t groups = f.groups;
    const uint32_t low_start = wcodec_ballot(&w->warp, f.x < WCODEC_STATE_LOW);
    wcodec_ring_wait();
    wcodec_local_order();
#ifdef WCODEC_FUSED
#pragma unroll 1
    for (uint32_t first = 0; first < groups; first += WCODEC_UNIT_GROUPS) {
        const uint32_t end = first + WCODEC_UNIT_GROUPS;
        f.fused.staged = stage->word + WCODEC_THREAD_LANE(w);
        if (WCODEC_RUNS)
            wcodec_unit_tables(&f, WCODEC_CURRENT_SET(current),
                               WCODEC_LOCAL_BASE(local_memory) + TABLES,
                               first + WCODEC_THREAD_LANE(w) % WCODEC_UNIT_GROUPS);
#if WCODEC_RUNS /* the last groups are as the others */
        if (end == groups && next < current->part.count)
            wcodec_fast_ahead(WCODEC_CURRENT_JOB(current, next), places, WCODEC_THREAD_LANE(w));
#pragma unroll 1
        for (uint32_t g = first; g < end; g += 4)
            wcodec_fast_groups(&f, g, false, false);
#else
#pragma unroll 1
        for (uint32_t g = first; g < min(end, groups - (PAYLOAD ? 8 : 4)); g += 4)
            wcodec_fast_groups(&f, g, false, false);
        if (end == groups) {
            if (next < current->part.count)
                wcodec_fast_ahead(WCODEC_CURRENT_JOB(current, next), places, WCODEC_THREAD_LANE(w));
            if (PAYLOAD)
                wcodec_fast_groups(&f, groups - 8, false, true);
            wcodec_fast_groups(&f, groups - 4, true, false);
        }
#endif
        if (WCODEC_RUNS && end < groups)
            wcodec_unit_ask(&f, WCODEC_CURRENT_SET(current),
                            current->block + WCODEC_CURRENT_JOB(current, i)->runs,
                            end + WCODEC_THREAD_LANE(w) % WCODEC_UNIT_GROUPS);
        wcodec_fused_groups(&f.fused, w, WCODEC_CURRENT_JOB(current, i),
                            WCODEC_CURRENT_SET(current), current->block, places, first, end,
                            &f.sum);
    }
#elif WCODEC_ROLLED
    for (uint32_t g = 0; g < groups; g += 4)
        wcodec_fast_groups(&f, g, g + 4 == groups, g + 8 == groups);
#else
#pragma unroll 1
    for (uint32_t g = 0; g < groups - 8; g += 4)
        wcodec_fast_groups(&f, g, false, false);
    if (next < current->part.count)
        wcodec_fast_ahead(WCODEC_CURRENT_JOB(current, next), places, WCODEC_THREAD_LANE(w));
    wcodec_fast_groups(&f, groups - 8, false, true);
    wcodec_fast_groups(&f, groups - 4, true, false);
#endif
    wcodec_ring_close();
    job = WCODEC_CURRENT_JOB(current, i);
    return wcodec_fast_finish(&f, job, WCODEC_CURRENT_SET(current), places, low_start,
                              wcodec_ring_taken(&f.ring, WCODEC_THREAD_LANE(w), job->words));
}
#endif

/* The top bit of what is added to a byte, in entries' symbols where the field's top bit is. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_fast_flip(const __global struct wcodec_table_set *set)
{
    return WCODEC_ADD && !LOW && 0u - set->add & 0x80u
               ? (WCODEC_PAIRS_CODING ? 0x88u : 1u << (set->width - 1)) << 12
               : 0;
}

#ifndef WCODEC_FEW
/* So many loads of a work-item for the tables are on their way while the first tile's descriptor is
 * read. Others have no registers for it. */
enum { AHEAD = BYTES == 1 ? 0 : WCODEC_PLACES > 72 ? 0 : 2 };

/* Four entries of the ready table as they are stored: of a table that is there several times, the
 * same. */
WCODEC_DEVICE_FUNCTION uint4 wcodec_fast_stored(const __global struct wcodec_table_set *set,
                                                uint32_t i)
{
    const __global uint4 *entries = (const __global uint4 *)(set + 1);
    return COPIES > 1 ? (uint4)(((const __global uint32_t *)entries)[i / ((COPIES + 3) / 4)])
                      : entries[i];
}

WCODEC_DEVICE_FUNCTION void wcodec_fast_make_ready(const __global struct wcodec_table_set *set,
                                                   __local uint4 *to, uint32_t i, uint4 e)
{
#ifdef WCODEC_LOSSY_FUSED
    const uint32_t byte_shift = 0;
#else
    const uint32_t byte_shift = BYTES == 1 ? set->shift : 0;
#endif
    e ^= wcodec_fast_flip(set);
    if (WCODEC_P8_CODING)
        e = (uint4)(wcodec_p8_entry(e.x, byte_shift), wcodec_p8_entry(e.y, byte_shift),
                    wcodec_p8_entry(e.z, byte_shift), wcodec_p8_entry(e.w, byte_shift));
    to[i] = e;
}

#ifdef WCODEC_OPENCL_NVIDIA
/* The next tile of a queue: from the first lane to all. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_fast_take(struct wcodec_tile_work *w,
                                                 volatile __global uint32_t *taken)
{
    return wcodec_add_lanes(&w->warp, WCODEC_THREAD_LANE(w) == 0 ? atomic_inc(taken) : 0);
}
#define WCODEC_QUEUE(queue) (queue)
#else
#define wcodec_fast_take(w, taken) 0
#define WCODEC_QUEUE(queue) 0
#endif

/* In place of a queue: each group has an even share of `parts` jobs from `first` on, with the
 * tables at `numbers`. */
#define WCODEC_SHARES 0xffffffffu

WCODEC_DEVICE_FUNCTION void wcodec_fast_share(struct wcodec_part *part)
{
    const uint32_t group = (uint32_t)get_group_id(0), groups = (uint32_t)get_num_groups(0),
                   least = part->count / groups, more = part->count % groups;
    part->first += group * least + min(group, more);
    part->count = least + (group < more ? 1 : 0);
}

/* Work-group g takes parts [n[g], n[g + 1]) of those at `parts` of the block, `active` tiles at a
 * time; n is at `numbers`, without which a group has one part. With a queue all groups have one
 * part together, of `parts` jobs from `first` on with the tables at `numbers`, and each 32
 * work-items take the next tile of it; it stands in two words of the block: tiles taken, and groups
 * that have ended, of which the last one makes the queue ready for the next launch. */
WCODEC_OPENCL_KERNEL void wcodec_kernel(WCODEC_OPENCL_PARAMETERS)
{
    struct wcodec_tile_work work;
    __local uint4 local_memory[LOCAL_SIZE / 16];
    __local struct wcodec_fast_part current;
    WCODEC_OPENCL_PLACES
    WCODEC_OPENCL_LANES(work)
    const bool shares = launch.queue == WCODEC_SHARES;
    const uint32_t group = (uint32_t)get_group_id(0),
                   queue = shares ? 0 : WCODEC_QUEUE(launch.queue);
    const __global uint32_t *my_parts = (const __global uint32_t *)(block + launch.numbers) + group;
    const uint32_t first_part = queue || shares  ? 0
                                : launch.numbers ? my_parts[0]
                                                 : group,
                   end_part = queue || shares  ? 1
                              : launch.numbers ? my_parts[1]
                                               : group + 1;
    if (get_local_id(0) == 0) {
        current.block = block;
        current.jobs = (const __global struct wcodec_tile_job *)(block + launch.jobs);
    }
    for (uint32_t p = first_part; p < end_part; p++) {
        const __global struct wcodec_part *stored =
            (const __global struct wcodec_part *)(block + launch.parts) + p;
        struct wcodec_part part = {launch.numbers, launch.first, (uint32_t)launch.parts};
        if (shares)
            wcodec_fast_share(&part);
        else if (!queue)
            part = *stored;
        const __global struct wcodec_tile_job *job =
            (const __global struct wcodec_tile_job *)(block + launch.jobs) + part.first;
        uint32_t i = queue                    ? group * WCODEC_TILES_A_GROUP + number
                     : number < launch.active ? number
                                              : part.count;
        const bool begins = p == first_part && i < part.count,
                   other = p == first_part || stored[-1].tables != part.tables;
        const __global struct wcodec_table_set *set =
            (const __global struct wcodec_table_set *)(block + part.tables);
        __local uint4 *tables = local_memory + TABLES / 16;
        const uint32_t fours =
            (WCODEC_RUNS ? min(set->entries, (uint32_t)TABLE_WORDS) : TABLE_WORDS) / 4;
        uint4 ahead[AHEAD ? AHEAD : 1];
        barrier(CLK_LOCAL_MEM_FENCE);
        if (get_local_id(0) == 0)
            current.part = part;
        if (other)
#pragma unroll
            for (uint32_t k = 0; k < AHEAD; k++)
                ahead[k] = wcodec_fast_stored(
                    set, min((uint32_t)get_local_id(0) + k * WCODEC_OPENCL_ITEMS, fours - 1));
        if (begins)
            wcodec_fast_ahead(job + i, places, WCODEC_THREAD_LANE(&work));
        if (other) {
#pragma unroll
            for (uint32_t k = 0; k < AHEAD; k++)
                if ((uint32_t)get_local_id(0) + k * WCODEC_OPENCL_ITEMS < fours)
                    wcodec_fast_make_ready(
                        set, tables, (uint32_t)get_local_id(0) + k * WCODEC_OPENCL_ITEMS, ahead[k]);
            for (uint32_t k = (uint32_t)get_local_id(0) + AHEAD * WCODEC_OPENCL_ITEMS; k < fours;
                 k += WCODEC_OPENCL_ITEMS)
                wcodec_fast_make_ready(set, tables, k, wcodec_fast_stored(set, k));
#if defined(WCODEC_LOSSY_FUSED) && WCODEC_LOSSY_FUSED == 2
            const __global struct wcodec_table_set *upper = wcodec_upper_set(set);
            if (set->streams > 1 && set->entries + upper->entries <= TABLE_WORDS)
                for (uint32_t k = (uint32_t)get_local_id(0); k < upper->entries / 4;
                     k += WCODEC_OPENCL_ITEMS)
                    wcodec_fast_make_ready(upper, tables + fours, k, wcodec_fast_stored(upper, k));
#endif
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        while (i < current.part.count) {
            const uint32_t next =
                queue ? wcodec_fast_take(&work, (volatile __global uint32_t *)block + queue) +
                            (uint32_t)get_num_groups(0) * WCODEC_TILES_A_GROUP
                      : i + launch.active;
            const uint32_t fault = wcodec_any_tile(&work, i, next, number, &current, places,
                                                   (__local uint8_t *)local_memory);
            if (fault && WCODEC_THREAD_LANE(&work) == 0)
                wcodec_tell(block, told,
                            launch.faults + (WCODEC_CURRENT_JOB(&current, i)->slot & 0x7fffffffu),
                            fault, launch.serial);
            i = next;
        }
    }
#ifdef WCODEC_OPENCL_NVIDIA
    if (!queue)
        return;
    barrier(CLK_GLOBAL_MEM_FENCE);
    if (get_local_id(0) == 0 &&
        atomic_inc((volatile __global uint32_t *)block + queue + 1) == get_num_groups(0) - 1) {
        atomic_xchg((volatile __global uint32_t *)block + queue + 1, 0);
        atomic_xchg((volatile __global uint32_t *)block + queue, 0);
    }
#endif
}
#endif
#endif
