/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Coefficients of lossy tensors, as a tile's elements are made of them at once (lossy.cl).
 * WCODEC_LOSSY_FUSED is the number of streams. With runs 16 groups of a tile, half a superblock,
 * are decoded into local memory, outliers are replaced there, and elements are made of them. While
 * transforms want the registers, what lanes share stays in local memory too (struct
 * wcodec_lossy_room, elements.cl). */
#ifdef WCODEC_LOSSY_FUSED
enum { UNIT_GROUPS = 16, UNIT_ELEMENTS = 128 * UNIT_GROUPS };

/* What is the same for all of a tile's lanes: said by a vote, so that the compiler knows. */
WCODEC_DEVICE_FUNCTION bool wcodec_lossy_any(uint32_t condition)
{
#ifdef WCODEC_OPENCL_NVIDIA
    uint32_t any;
    asm volatile(
        "{ .reg .pred p; setp.ne.u32 p, %1, 0; vote.sync.any.pred p, p, 0xffffffff; selp.u32 %0, 1, 0, p; }"
        : "=r"(any)
        : "r"(condition));
    return any;
#else
    return condition;
#endif
}

/* Four symbols of a lane, a byte each. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_lossy_symbols(const uint32_t *s)
{
    if (WCODEC_P8_CODING)
        return wcodec_bytes(wcodec_bytes(s[0], s[1], 0x0040), wcodec_bytes(s[2], s[3], 0x0040),
                            0x5410);
    return (s[0] >> 12 & 0xffu) | (s[1] >> 4 & 0xff00u) | (s[2] << 4 & 0xff0000u) |
           (s[3] << 12 & 0xff000000u);
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
        if (WCODEC_LOSSY_RAW)
            return bitselect(m << 4, m, 0x00ff00ffu) & 0xf0f0f0f0u;
        return (bitselect(m, m >> 4, 0x00ff00ffu) & 0x0f0f0f0fu) + f->window;
    }
    return wcodec_lossy_symbols(s);
}

/* Outliers: each lane has one of the 32 behind those that are in their place, asked for before it
 * is wanted. */
struct wcodec_lossy_outlier {
    uint32_t position, value;
};

WCODEC_DEVICE_FUNCTION struct wcodec_lossy_outlier
wcodec_lossy_ask(const __local struct wcodec_lossy_list *list, uint32_t lane)
{
    struct wcodec_lossy_outlier o = {~0u, 0};
    const uint32_t i = list->done + lane;
    if (i < list->count) {
        o.position = list->positions[i];
        o.value = list->values[i];
    }
    return o;
}

/* Those of the `elements` from `first` on whose bytes are at `to`; returns whether there are any.
 * Their order is looked at later. */
WCODEC_DEVICE_FUNCTION bool wcodec_lossy_patch(struct wcodec_tile_work *w,
                                               __local struct wcodec_lossy_list *list,
                                               struct wcodec_lossy_outlier *o, uint32_t first,
                                               uint32_t elements, __local uint8_t *to)
{
    uint32_t lanes = wcodec_ballot(&w->warp, o->position - first < elements);
    if (lanes == 0)
        return false;
    const uint32_t lane = WCODEC_THREAD_LANE(w);
    do {
        const uint32_t done = list->done + WCODEC_POPCOUNT(lanes);
        wcodec_local_order();
        if (o->position - first < elements)
            to[o->position - first] =
                (uint8_t)(o->value << (WCODEC_LOSSY_RAW && WCODEC_PAIRS_CODING ? 4 : 0));
        list->done = done;
        wcodec_local_order();
        *o = wcodec_lossy_ask(list, lane);
        lanes = wcodec_ballot(&w->warp, o->position - first < elements);
    } while (lanes != 0);
    return true;
}

#if WCODEC_LOSSY_RAW && !WCODEC_RUNS
/* What is above symbols of a plain tensor is constant but for outliers: those of the `elements`
 * from `first` on, whose coefficients of 16 bits are at `to`, get theirs from bit `shift` on. */
WCODEC_DEVICE_FUNCTION void wcodec_lossy_patch_upper(struct wcodec_tile_work *w,
                                                     __local struct wcodec_lossy_list *list,
                                                     struct wcodec_lossy_outlier *o, uint32_t first,
                                                     uint32_t elements, uint32_t shift,
                                                     __local uint16_t *to)
{
    const uint32_t lane = WCODEC_THREAD_LANE(w);
    uint32_t lanes = wcodec_ballot(&w->warp, o->position - first < elements);
    while (lanes != 0) {
        const uint32_t done = list->done + WCODEC_POPCOUNT(lanes);
        wcodec_local_order();
        if (o->position - first < elements)
            to[o->position - first] =
                (uint16_t)((to[o->position - first] & ((1u << shift) - 1)) | o->value << shift);
        list->done = done;
        wcodec_local_order();
        *o = wcodec_lossy_ask(list, lane);
        lanes = wcodec_ballot(&w->warp, o->position - first < elements);
    }
}
#endif

/* Are positions in order, and of elements that there are, and values of `width` bits? */
WCODEC_DEVICE_FUNCTION bool wcodec_lossy_list_good(struct wcodec_tile_work *w,
                                                   const __local struct wcodec_lossy_list *list,
                                                   uint32_t elements, uint32_t width)
{
    bool good = true;
    for (uint32_t i = WCODEC_THREAD_LANE(w); i < list->count; i += 32)
        good = good && list->positions[i] < elements && list->values[i] >> width == 0 &&
               (i == 0 || list->positions[i - 1] < list->positions[i]);
    return wcodec_ballot(&w->warp, !good) == 0;
}

WCODEC_DEVICE_FUNCTION void wcodec_lossy_copy(const __global uint8_t *from, uint32_t size,
                                              uint32_t lane, __local uint8_t *to)
{
    for (uint32_t i = 4 * lane; i < size; i += 128)
        *(__local uint32_t *)(to + i) = *(const __global uint32_t *)(from + i);
}

#if WCODEC_RUNS
/* The number of a group's table among those of runs. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_lossy_number(const __global uint8_t *runs,
                                                    const __global struct wcodec_table_set *set,
                                                    uint32_t g)
{
    const uint32_t bits = set->run_bits, bit = (g >> (set->run_log2 - 7)) * bits;
    return (uint32_t)runs[bit / 8] >> bit % 8 & ((1u << bits) - 1);
}

/* The tables of a tile's groups: a byte for each, four times its number, and 1 if it has one symbol
 * only. */
WCODEC_DEVICE_FUNCTION void wcodec_lossy_runs(struct wcodec_fast *f, const __global uint8_t *runs,
                                              const __global struct wcodec_table_set *set,
                                              uint32_t groups, uint32_t lane, __local uint8_t *to)
{
    for (uint32_t g = lane; g < groups; g += 32) {
        const uint32_t number = wcodec_lossy_number(runs, set, g);
        to[g] =
            (uint8_t)(number * 4 |
                      (wcodec_local_entry(f->local_memory, f->table, number * 256, 4) >> 24 == 0));
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
WCODEC_DEVICE_FUNCTION void wcodec_lossy_groups(struct wcodec_fast *f, const __local uint8_t *runs,
                                                __local uint32_t *to)
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
WCODEC_DEVICE_FUNCTION void wcodec_lossy_park(const struct wcodec_ring *r, uint32_t lane,
                                              __local struct wcodec_lossy_room *room)
{
    room->from = r->from;
    room->at = r->at;
    room->next = r->next;
    room->slot = r->slot - 16 * lane;
    room->load = r->load - 16 * lane;
    room->end = r->end;
}

WCODEC_DEVICE_FUNCTION void wcodec_lossy_take_back(const __local struct wcodec_lossy_room *room,
                                                   uint32_t lane, struct wcodec_ring *r)
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
/* The stream of upper bytes, of which mostly runs have one symbol: its words pass through a window
 * of 128, of which half is filled again at a time, and its tables are behind the first stream's, or
 * where they have no room there read from memory. */
struct wcodec_upper {
    uint32_t x;
    uint32_t table;  /* local address of the first table; 0: none */
    uint32_t words;  /* two of those behind the window */
    uint32_t number; /* of the table of the lane's group in the next sixteen */
    uint32_t run; /* of the last sixteen: four times the number, and 1 if it has one symbol only */
};

/* Words 64 * i + lane, and 32 behind that one. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_upper_words(const __local struct wcodec_lossy_room *room,
                                                   uint32_t i, uint32_t lane)
{
    const uint32_t at = 64 * i + lane, count = room->upper_count;
    return (at < count ? room->upper_words[at] : 0u) |
           (at + 32 < count ? (uint32_t)room->upper_words[at + 32] << 16 : 0u);
}

WCODEC_DEVICE_FUNCTION void wcodec_upper_fill_half(struct wcodec_upper *u,
                                                   __local struct wcodec_lossy_room *room,
                                                   uint32_t i, uint32_t lane)
{
    room->window[i % 2 * 64 + lane] = (uint16_t)u->words;
    room->window[i % 2 * 64 + lane + 32] = (uint16_t)(u->words >> 16);
    u->words = wcodec_upper_words(room, i + 1, lane);
}

/* An entry as kernels have them. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_upper_entry(struct wcodec_fast *f,
                                                   const struct wcodec_upper *u,
                                                   const __local struct wcodec_lossy_room *room,
                                                   uint32_t i)
{
    return u->table ? wcodec_local_entry(f->local_memory, u->table, i, 4)
                    : wcodec_p8_entry(room->upper_entries[i], 0);
}

WCODEC_DEVICE_FUNCTION uint32_t wcodec_upper_group(struct wcodec_fast *f, struct wcodec_upper *u,
                                                   __local struct wcodec_lossy_room *room,
                                                   uint32_t table, uint32_t *used)
{
    uint32_t s[4];
    WCODEC_UNROLL
    for (uint32_t i = 0; i < 4; i++) {
        s[i] = wcodec_upper_entry(f, u, room, table * 256 + (u->x & 0xffu));
        u->x = wcodec_p8_step(u->x, s[i]);
        if (i % 2) {
            const bool low = u->x < WCODEC_STATE_LOW;
            const uint32_t mask = wcodec_ballot(&f->w->warp, low),
                           word =
                               room->window[(*used + WCODEC_POPCOUNT(mask & f->lanes_below)) & 127];
            u->x = low ? u->x << 16 | word : u->x;
            *used += WCODEC_POPCOUNT(mask);
        }
    }
    return wcodec_lossy_symbols(s);
}

/* Sixteen groups from g on. What the tables of one symbol say is there from the sixteen before, if
 * they have the same tables and nothing was changed. */
WCODEC_DEVICE_FUNCTION void wcodec_upper_groups(struct wcodec_fast *f, struct wcodec_upper *u,
                                                __local struct wcodec_lossy_room *room,
                                                bool changed, uint32_t lane, __local uint32_t *to)
{
    const uint32_t entry = wcodec_upper_entry(f, u, room, u->number * 256),
                   run = u->number * 4 | (entry >> 24 == 0);
    const bool fill = wcodec_ballot(&f->w->warp, changed || run != u->run) != 0;
    uint32_t coded = wcodec_ballot(&f->w->warp, !(run & 1)) & 0xffffu, used = room->upper_used;
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
WCODEC_DEVICE_FUNCTION bool wcodec_upper_open(struct wcodec_upper *u,
                                              const __global struct wcodec_stream_job *job,
                                              const __global struct wcodec_table_set *set,
                                              const __global uint8_t *block,
                                              __global uint8_t *__local *places, uint32_t tables,
                                              uint32_t lane, __local struct wcodec_lossy_room *room)
{
    const __global struct wcodec_table_set *upper = wcodec_upper_set(set);
    const bool coded = (job->mode_symbol & 0xff) == 0;
    u->x = WCODEC_STATE_LOW;
    u->table =
        coded && set->entries + upper->entries <= TABLE_WORDS ? tables + 4 * set->entries : 0;
    u->number = 0;
    u->run = 2;
    u->words = 0;
    room->upper_symbol = job->mode_symbol >> 8 & 0xffu;
    room->upper_used = 0;
    if (!coded)
        return false;
    u->x = ((const __global uint32_t *)(WCODEC_PLACE(job->states) +
                                        WCODEC_PLACE_OFFSET(job->states)))[lane];
    u->number = wcodec_lossy_number(block + job->runs, upper, lane % 16);
    room->upper_runs = block + job->runs;
    room->upper_set = upper;
    room->upper_entries = (const __global uint32_t *)(upper + 1);
    room->upper_words =
        (const __global uint16_t *)(WCODEC_PLACE(job->words) + WCODEC_PLACE_OFFSET(job->words));
    room->upper_count = job->word_count;
    wcodec_local_order();
    const uint32_t first = wcodec_upper_words(room, 0, lane),
                   second = wcodec_upper_words(room, 1, lane);
    u->words = first;
    wcodec_upper_fill_half(u, room, 0, lane);
    u->words = second;
    wcodec_upper_fill_half(u, room, 1, lane);
    return true;
}
#endif

#if WCODEC_LOSSY_RAW
/* Raw bits below what is coded: planes of powers of two, the widest first (doc/format.md 2.4). A
 * plane of n bits has n rows of 128 bytes for eight groups, of which a lane has a word; of slot
 * words, two a group where coefficients have 16 bits, the first one's bits are where the
 * coefficient has them, and those of the others are found by turning the word. */
#if WCODEC_PAIRS_CODING
#define COEFFICIENT 1
#else
#define COEFFICIENT 2
#endif
enum { SLOT = 8 * COEFFICIENT };

/* A plane's bits below those of the planes before it. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_raw_position(uint32_t bits, const uint32_t plane)
{
    return bits & ~(2 * plane - 1);
}

/* Is half of the last row of a plane in the start states? Of four bits it is all of it, if the
 * number of groups is odd. */
WCODEC_DEVICE_FUNCTION bool wcodec_raw_payload(uint32_t bits, const uint32_t plane)
{
    return plane >= 4 && wcodec_raw_position(bits, plane) == 0;
}

WCODEC_DEVICE_FUNCTION uint32_t wcodec_raw_size(uint32_t bits, const uint32_t plane,
                                                uint32_t groups)
{
    if (!(bits & plane))
        return 0;
    return (groups * plane + 7) / 8 * 128 - (!wcodec_raw_payload(bits, plane) ? 0
                                             : plane == 4 && groups % 2       ? 128
                                                                              : 64);
}

/* Four values of four bits, each where its coefficient has them in the first of a row's slot words.
 */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_raw_spread(uint32_t v)
{
    return COEFFICIENT == 1
               ? (v & 0xfu) | (v << 4 & 0xf00u) | (v << 8 & 0xf0000u) | (v << 12 & 0xf000000u)
               : (v & 0xfu) | (v << 12 & 0xf0000u) | (v >> 4 & 0xf0u) | (v << 8 & 0xf00000u);
}

/* A lane's word of a row of a plane that begins at `from`; state: after the last group, if that has
 * been decoded. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_raw_word(const __global uint8_t *from, uint32_t bits,
                                                const uint32_t plane, uint32_t row, uint32_t groups,
                                                uint32_t state, uint32_t lane)
{
    from += row * 128;
    if (!wcodec_raw_payload(bits, plane) || row + 1 != (groups * plane + 7) / 8)
        return *(const __global uint32_t *)(from + 4 * lane);
    const uint32_t payload = state & 0xffffu;
    if (plane == 4 && groups % 2)
        return wcodec_raw_spread(payload);
    const uint32_t stored = *(const __global uint16_t *)(from + 2 * lane);
    return plane == 8 ? stored | payload << 16
                      : wcodec_raw_spread(stored) | wcodec_raw_spread(payload) << 4 * COEFFICIENT;
}

/* COUNT slot words from group g on get a plane's bits. */
WCODEC_DEVICE_FUNCTION void wcodec_raw_plane(const __global uint8_t *from, uint32_t bits,
                                             const uint32_t plane, uint32_t g, uint32_t groups,
                                             uint32_t state, uint32_t lane, const uint32_t count,
                                             uint32_t *v)
{
    const uint32_t mask = ((COEFFICIENT == 2 ? 0x00010001u : 0x01010101u) * ((1u << plane) - 1))
                          << wcodec_raw_position(bits, plane),
                   first = g * plane % 8 * COEFFICIENT;
    uint32_t word = 0;
    if (!(bits & plane))
        return;
    WCODEC_UNROLL
    for (uint32_t n = 0; n < count; n++) {
        if (n * plane % SLOT == 0)
            word = wcodec_raw_word(from, bits, plane, g * plane / 8 + n * plane / SLOT, groups,
                                   state, lane);
        v[n] |= rotate(word, (32 - first - n * plane % SLOT) & 31) & mask;
    }
}

/* All planes. g: any where `count` is a group's, else a multiple of four groups, or of as many as
 * count stands for. */
WCODEC_DEVICE_FUNCTION void wcodec_raw_put(const __local struct wcodec_lossy_room *room, uint32_t g,
                                           uint32_t groups, uint32_t state, uint32_t lane,
                                           const uint32_t count, uint32_t *v)
{
    const uint32_t bits = room->raw_bits;
    const __global uint8_t *from = room->raw;
#if WCODEC_PAIRS_CODING
    wcodec_raw_plane(from, bits, 4, g, groups, state, lane, count, v);
#else
    wcodec_raw_plane(from, bits, 8, g, groups, state, lane, count, v);
    from += wcodec_raw_size(bits, 8, groups);
    wcodec_raw_plane(from, bits, 4, g, groups, state, lane, count, v);
    from += wcodec_raw_size(bits, 4, groups);
    wcodec_raw_plane(from, bits, 2, g, groups, state, lane, count, v);
    from += wcodec_raw_size(bits, 2, groups);
    wcodec_raw_plane(from, bits, 1, g, groups, state, lane, count, v);
#endif
}

/* The rows of `count` groups from group g on are on their way. */
WCODEC_DEVICE_FUNCTION void wcodec_raw_ahead(const __local struct wcodec_lossy_room *room,
                                             uint32_t g, uint32_t groups, const uint32_t count,
                                             uint32_t lane)
{
    const __global uint8_t *from = room->raw;
    WCODEC_UNROLL
    for (uint32_t plane = 8; plane > 0; plane /= 2) {
        if (room->raw_bits & plane && lane * 8 < count * plane &&
            g * plane / 8 + lane < (groups * plane + 7) / 8)
            wcodec_prefetch(from + (g * plane / 8 + lane) * 128);
        from += wcodec_raw_size(room->raw_bits, plane, groups);
    }
}
#endif
#endif
