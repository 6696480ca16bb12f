/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Field lists and codings of the fast kernels, of which WCODEC_SHAPE, WCODEC_CODING
 * (backends/gpu/plan.h) and WCODEC_ADD say one: what a kernel has in local memory, what a lane
 * holds, and how elements are made of symbols and raw bits. */
#ifdef WCODEC_SHAPE
#define WCODEC_PAIRS_CODING (WCODEC_CODING == 0)
#define WCODEC_P12_CODING (WCODEC_CODING == 1)
#define WCODEC_P8_CODING (WCODEC_CODING >= 2)
#define WCODEC_RUNS (WCODEC_CODING == 3)
#ifdef WCODEC_FUSED
#define WCODEC_RUNS_AHEAD 0
#else
#define WCODEC_RUNS_AHEAD WCODEC_RUNS
#endif

/* Bytes of an element; in four groups: rows of the first plane, raw words of a lane. The bits of a
 * word that are the first plane's; the lowest bit of the coded field. */
#if WCODEC_SHAPE == 0 /* 16_8 */
enum { ROWS = 4, BYTES = 2, RAW = 4, FIELD = 7 };
#define MASK 0x807f807fu
#elif WCODEC_SHAPE == 1 /* 8_4 */
enum { ROWS = 2, BYTES = 1, RAW = 2, FIELD = 4 };
#define MASK 0x0f0f0f0fu
#elif WCODEC_SHAPE == 2 /* 8_0 */
enum { ROWS = 1, BYTES = 1, RAW = 0, FIELD = 0 };
#define MASK 0u
#elif WCODEC_SHAPE == 3 /* 32_24 */
enum { ROWS = 8, BYTES = 4, RAW = 12, FIELD = 23 };
#define MASK 0u
#elif WCODEC_SHAPE == 4 /* 16_11 */
enum { ROWS = 4, BYTES = 2, RAW = 6, FIELD = 10 };
#define MASK 0x807f807fu
#elif WCODEC_SHAPE == 6 /* 32_8 */
enum { ROWS = 4, BYTES = 4, RAW = 4, FIELD = 23 };
#define MASK 0x807f0000u
#elif WCODEC_SHAPE == 5 /* 8_31 */
enum { ROWS = 2, BYTES = 1, RAW = 2, FIELD = 3 };
#define MASK 0x87878787u
#else /* 8_1, 8_2, 8_3: residuals of which the lowest bits are raw, two in the first plane if \
         there are as many */
enum { ROWS = 0, BYTES = 1, RAW = WCODEC_SHAPE == 11 ? 2 : 1, FIELD = WCODEC_SHAPE - 8 };
#define MASK (WCODEC_SHAPE == 9 ? 0x01010101u : 0x03030303u)
#endif
enum {
    LOW = WCODEC_SHAPE >= 9,
    PAYLOAD = RAW > 0 && !LOW
}; /* PAYLOAD: start states carry raw bits */

/* P8's table can be there several times, for lanes that would wait for each other's bank. */
#if WCODEC_CODING == 2
enum { COPIES = WCODEC_OPENCL_COPIES, TABLE_WORDS = 256 * COPIES, ENTRY = 4 * COPIES };
#elif defined(WCODEC_LOSSY_FUSED) && WCODEC_LOSSY_FUSED == 2
enum {
    COPIES = 1,
    TABLE_WORDS = 4608,
    ENTRY = 4
}; /* those of the second stream are there too, if they have room */
#else
enum { COPIES = 1, TABLE_WORDS = 4096, ENTRY = 4 };
#endif

enum {
    TABLES = WCODEC_TILES_A_GROUP * WCODEC_RING_ROOM
}; /* where they begin in local memory, behind the rings */

#ifdef WCODEC_LOSSY_FUSED
struct wcodec_lossy_list {
    const __global uint16_t *positions;
    const __global uint8_t *values;
    uint32_t count;
    uint32_t done; /* that are in their place */
};

/* Where lossy tensors' tiles become elements at once (lossy.cl), each 32 work-items have this
 * behind the tables: what a tile's lanes share. */
struct WCODEC_ALIGNED_16 wcodec_lossy_room {
#if WCODEC_RUNS
    uint32_t words[512 * WCODEC_LOSSY_FUSED]; /* coefficients of sixteen groups, of 16 bits lower
                                                 bytes and upper ones */
    uint8_t runs[512];                        /* tables of a tile's groups */
    const __global uint8_t *from;             /* the ring */
    uint32_t at, next, slot, load, end;
#else
    uint32_t words[WCODEC_LOSSY_RAW ? 256 : 128]; /* of four groups: symbols, then coefficients of
                                                     16 bits */
#endif
    struct wcodec_blocks_job blocks;
    struct wcodec_view_job view;
    struct wcodec_lossy_list lists[2]; /* of symbols, and of those above them */
#if WCODEC_LOSSY_RAW || WCODEC_LOSSY_FUSED == 2
    uint32_t add, raw_bits, constants;
    const __global uint8_t *raw;
#endif
#if WCODEC_LOSSY_FUSED == 2
    uint16_t window[128]; /* words of upper bytes */
    uint32_t upper_run[16];
    const __global struct wcodec_table_set *upper_set;
    const __global uint8_t *upper_runs;
    const __global uint32_t *upper_entries;
    const __global uint16_t *upper_words;
    uint32_t upper_symbol, upper_count, upper_used;
#endif
};

enum {
    STAGED = TABLES + 4 * TABLE_WORDS,
    LOCAL_SIZE = STAGED + WCODEC_TILES_A_GROUP * sizeof(struct wcodec_lossy_room)
};
#define wcodec_any_tile wcodec_lossy_tile
#else
#ifdef WCODEC_FUSED
enum {
    STAGES = TABLES + 4 * TABLE_WORDS,
    LOCAL_SIZE = STAGES + WCODEC_TILES_A_GROUP * sizeof(struct wcodec_stage)
};
#else
enum { LOCAL_SIZE = TABLES + 4 * TABLE_WORDS };
#endif
#define wcodec_any_tile wcodec_fast_tile
#endif

/* Barriers of a work-group are costly to compile for processors, each in each place again. */
#ifdef WCODEC_OPENCL_LOCAL
#define WCODEC_ROLLED 1
#define WCODEC_UNROLL _Pragma("unroll 1")
#else
#define WCODEC_ROLLED 0
#define WCODEC_UNROLL _Pragma("unroll")
#endif

/* Where raw bits are while a tile is decoded. */
#if defined(WCODEC_FEW) && (WCODEC_SHAPE == 0 || WCODEC_SHAPE == 1 || WCODEC_SHAPE == 5)
#define WCODEC_FEW_RAW
#define WCODEC_RAW_MEMORY __local
#define wcodec_load_raw(from) (*(const __local uint32_t *)(from))
#else
#define WCODEC_RAW_MEMORY __global
#define wcodec_load_raw(from) wcodec_load_stream(from)
#endif

/* What a lane holds through a tile. */
struct wcodec_fast {
    struct wcodec_tile_work *w;
    __local uint8_t *local_memory;
    struct wcodec_ring ring;
    uint32_t x;
    uint32_t lanes_below;
    uint32_t table; /* local address of the lane's entries */
    uint32_t next_raw[RAW ? RAW : 1];
    const WCODEC_RAW_MEMORY uint8_t *row;    /* the lane's first word of four groups' raw bits */
    const WCODEC_RAW_MEMORY uint8_t *second; /* of the planes behind the first one */
    const __global uint8_t *runs;
    uint32_t next_runs; /* table numbers of four groups */
    uint32_t run_log2;  /* groups of a run */
    uint32_t run_bits;
    uint32_t groups;
    uint32_t add;    /* what is added to each byte, without its top bit */
    uint32_t window; /* with raw bits below: the top bit */
    __global uint8_t *out;
    uint64_t sum;
    uint32_t factor;
#ifdef WCODEC_FUSED
    struct wcodec_fused fused;
    uint32_t asked[2]; /* where the table of one of the next unit's groups is said */
#endif
#ifdef WCODEC_FEW
    uint32_t pair;  /* the entry of the next pair */
    uint32_t at;    /* local address of what the next word does */
    uint32_t limit; /* the same of the second behind the last */
    uint32_t words, steps;
    uint32_t entries;         /* less half of `steps` */
    uint32_t zero;            /* which the compiler cannot see */
    uint32_t kept;            /* local address of the lane's elements, of which outliers are made */
    uint32_t position, value; /* of the lane's outlier among the first 32 */
#endif
};

#ifdef WCODEC_FEW
WCODEC_DEVICE_FUNCTION uint32_t wcodec_few_step(struct wcodec_fast *f);
WCODEC_DEVICE_FUNCTION void wcodec_few_last(struct wcodec_fast *f);
WCODEC_DEVICE_FUNCTION void wcodec_few_keep(const struct wcodec_fast *f, int k, const uint32_t *o);
WCODEC_DEVICE_FUNCTION uint32_t wcodec_few_kept(const struct wcodec_fast *f, uint32_t words,
                                                uint32_t position);
#endif

WCODEC_DEVICE_FUNCTION uint32_t wcodec_rotate_right(uint32_t v, uint32_t n)
{
    return rotate(v, (32 - n) & 31);
}

/* Raw words of four groups from group g on. The last row of the first plane is stored as its lower
 * halves, one behind the other. */
#if WCODEC_SHAPE >= 9
/* Planes of two bits, and of one: four groups to a row, and eight. */
WCODEC_DEVICE_FUNCTION void wcodec_fast_raw(struct wcodec_fast *f, uint32_t g, const bool last)
{
    (void)last;
    if (WCODEC_SHAPE != 9)
        f->next_raw[0] = wcodec_load_stream(f->row + g / 4 * 128);
    if (WCODEC_SHAPE != 10)
        f->next_raw[RAW - 1] = wcodec_rotate_right(
            wcodec_load_stream((WCODEC_SHAPE == 9 ? f->row : f->second) + g / 8 * 128), g & 4);
}
#else
WCODEC_DEVICE_FUNCTION void wcodec_fast_raw(struct wcodec_fast *f, uint32_t g, const bool last)
{
    if (RAW == 0)
        return;
#pragma unroll
    for (int i = 0; i < ROWS - 1; i++)
        f->next_raw[i] = wcodec_load_raw(f->row + 128 * i);
    if (last)
        f->next_raw[ROWS - 1] = *(const WCODEC_RAW_MEMORY ushort *)(f->row + 128 * (ROWS - 1) -
                                                                    2 * WCODEC_THREAD_LANE(f->w));
    else
        f->next_raw[ROWS - 1] = wcodec_load_raw(f->row + 128 * (ROWS - 1));
#if WCODEC_SHAPE == 3
#pragma unroll
    for (int i = 0; i < 4; i++)
        f->next_raw[8 + i] = wcodec_load_stream(f->second + g * 128 + 128 * i);
#elif WCODEC_SHAPE == 4
    f->next_raw[4] = wcodec_load_stream(f->second + g * 32);
    /* eight slot words to four groups */
    f->next_raw[5] = rotate(*(const __global uint32_t *)(f->second + f->groups * 32 + g / 8 * 128),
                            (32 - 2 * (g & 4)) & 31);
#endif
}
#endif

/* Tables of four groups: at most sixteen bits, which begin in one byte and end in the next one. */
WCODEC_DEVICE_FUNCTION void wcodec_fast_runs(struct wcodec_fast *f, uint32_t g)
{
    const uint32_t bit = (g >> f->run_log2) * f->run_bits;
    f->next_runs = (f->runs[bit / 8] | (uint32_t)f->runs[bit / 8 + 1] << 8) >> bit % 8;
}

#ifdef WCODEC_FUSED
/* The same of a unit: a lane asks for the table of one of its groups, before the unit ahead of it
 * is reconstructed, and keeps where it is in f->table. */
WCODEC_DEVICE_FUNCTION void wcodec_unit_ask(struct wcodec_fast *f,
                                            const __global struct wcodec_table_set *set,
                                            const __global uint8_t *runs, uint32_t g)
{
    const uint32_t bit = (g >> (set->run_log2 - 7)) * set->run_bits;
    f->asked[0] = runs[bit / 8];
    f->asked[1] = runs[bit / 8 + 1];
}

WCODEC_DEVICE_FUNCTION void wcodec_unit_tables(struct wcodec_fast *f,
                                               const __global struct wcodec_table_set *set,
                                               uint32_t first, uint32_t g)
{
    const uint32_t bits = set->run_bits, bit = (g >> (set->run_log2 - 7)) * bits;
    f->table = first + ((f->asked[0] | f->asked[1] << 8) >> bit % 8 & ((1u << bits) - 1)) * 1024;
}
#endif

/* One symbol, or pair: its entry. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_fast_symbol(struct wcodec_fast *f, uint32_t table)
{
    const uint32_t x = f->x;
    if (WCODEC_P8_CODING) {
        const uint32_t e = wcodec_local_entry(f->local_memory, table, x & 0xffu, ENTRY);
        f->x = (e >> 24) * (x >> 8) + wcodec_bytes(e, 0, 0x4441);
        return e;
    }
    const uint32_t e = wcodec_local_entry(f->local_memory, table, x & 0xfffu, ENTRY);
    f->x = wcodec_entry_step(x, e, 12);
    return e;
}

/* Payload and stored half of a plane of four bits: 16 bits, four values of neighbouring elements.
 * Put each where it stands in its byte: its lowest bit just above the coded field. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_fast_spread(uint32_t v)
{
    v = (v | v << 8) & 0x00ff00ffu;
    v = (v | v << 4) & 0x0f0f0f0fu;
    return FIELD == 4 ? v : (v >> 1 & 0x07070707u) | (v << 7 & 0x80808080u);
}

/* Bytes a + b, each by itself. The top bits of b are in the tables' symbols, those of `low` are
 * zero. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_add_bytes(uint32_t a, uint32_t low)
{
    return ((a & 0x7f7f7f7fu) + low) ^ (a & 0x80808080u);
}

/* Word i of those from r[from] on, of which there are n; no index but constants, so that they stay
 * in registers. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_pick(const uint32_t *r, const int from, const int step,
                                            const int n, int i)
{
    uint32_t v = r[from];
#pragma unroll
    for (int j = 1; j < n; j++)
        v = i == j ? r[from + step * j] : v;
    return v;
}

/* Two symbols of P8, the second in the upper half: kernels for few tiles have them so. */
#ifdef WCODEC_FEW
#define WCODEC_TWO(s, i) (s)[i]
#else
#define WCODEC_TWO(s, i) wcodec_bytes((s)[i], (s)[(i) + 1], 0x6420)
#endif

/* Words of group k of four that the lane stores: entries s and raw words r put together. */
WCODEC_DEVICE_FUNCTION void wcodec_fast_words(const struct wcodec_fast *f, int k, const uint32_t *s,
                                              const uint32_t *r, uint32_t *o, const bool last)
{
#if WCODEC_SHAPE == 0 || WCODEC_SHAPE == 4
    uint32_t p0, p1;
    if (WCODEC_PAIRS_CODING) {
        const uint32_t low = 15u << FIELD, high = 0xf0000u << FIELD;
        p0 = (s[0] >> (12 - FIELD) & low) | (s[0] << FIELD & high);
        p1 = (s[2] >> (12 - FIELD) & low) | (s[2] << FIELD & high);
    } else {
        p0 = WCODEC_TWO(s, 0) << FIELD;
        p1 = WCODEC_TWO(s, 2) << FIELD;
    }
    uint32_t raw = wcodec_pick(r, 0, 1, 4, k);
    if (k == 3 && last)
        raw |= f->x << 16;
    o[0] = ((raw & MASK) | p0) + f->window;
    o[1] = ((wcodec_rotate_right(raw, 8) & MASK) | p1) + f->window;
#if WCODEC_SHAPE == 4
    /* Planes of two bits and of one: slot words 2k and 2k + 1 of the four groups, eight of the
     * second plane's word, half of the third's. */
    o[0] |= wcodec_rotate_right(r[4], 4 * k) & 0x01800180u;
    o[1] |= wcodec_rotate_right(r[4], 4 * k + 2) & 0x01800180u;
    o[0] |= wcodec_rotate_right(r[5], 2 * k) & 0x02000200u;
    o[1] |= wcodec_rotate_right(r[5], 2 * k + 1) & 0x02000200u;
#endif
#elif WCODEC_SHAPE == 3 || WCODEC_SHAPE == 6
    if (WCODEC_PAIRS_CODING) {
        o[0] = (s[0] << 11 & 0x07800000u) + f->window;
        o[1] = (s[0] << 7 & 0x07800000u) + f->window;
        o[2] = (s[2] << 11 & 0x07800000u) + f->window;
        o[3] = (s[2] << 7 & 0x07800000u) + f->window;
    } else {
#pragma unroll
        for (int i = 0; i < 4; i++)
            o[i] = (s[i] << 23 & 0x7f800000u) + f->window;
    }
#if WCODEC_SHAPE == 6
    uint32_t raw = wcodec_pick(r, 0, 1, 4, k);
    if (k == 3 && last)
        raw |= f->x << 16;
#pragma unroll
    for (int i = 0; i < 4; i++) /* seven bits in byte i, the sign above the byte before */
        o[i] |= wcodec_bytes(raw, 0, (uint32_t)((i + 3) % 4 << 12 | i << 8 | 0x44)) & MASK;
#else
    uint32_t raw[2] = {wcodec_pick(r, 0, 2, 4, k), wcodec_pick(r, 1, 2, 4, k)};
    const uint32_t middle = wcodec_pick(r, 8, 1, 4, k);
    if (k == 3 && last)
        raw[1] |= f->x << 16;
#pragma unroll
    for (int i = 0; i < 4; i++)
        o[i] |= (wcodec_rotate_right(raw[i / 2], 16 * (i % 2)) & 0x80007fffu) |
                (wcodec_rotate_right(middle, 8 * i) & 0x007f8000u);
#endif
#else
    if (WCODEC_PAIRS_CODING) {
        /* The bytes in which a pair's values stand: even ones have the low value in their upper
         * half, odd ones the high value in their lower half. The raw bits replace what else is in
         * them. */
        const uint32_t m = wcodec_bytes(s[0], s[2], 0x6521);
        o[0] = bitselect(m << FIELD, FIELD == 4 ? m : m >> (4 - FIELD), 0x00ff00ffu);
    } else if (WCODEC_P8_CODING) {
        o[0] = wcodec_bytes(WCODEC_TWO(s, 0), WCODEC_TWO(s, 2), 0x6420);
    } else {
        o[0] = (s[0] >> 12 & 0xffu) | (s[1] >> 4 & 0xff00u) | (s[2] << 4 & 0xff0000u) |
               (s[3] << 12 & 0xff000000u);
    }
#if WCODEC_SHAPE >= 9
    o[0] = bitselect(o[0], wcodec_rotate_right(r[0], (WCODEC_SHAPE == 9 ? 1 : 2) * k), MASK);
    if (WCODEC_SHAPE == 11)
        o[0] = bitselect(o[0], wcodec_rotate_right(r[RAW - 1], k), 0x04040404u);
    o[0] = ((o[0] & ((16u << FIELD) - 1) * 0x01010101u) + f->add) ^
           f->window; /* no byte carries over */
#elif WCODEC_SHAPE != 2
    {
        /* Two groups a word. The last word: the half stored is the group before the last, the
         * payload the last one. */
        uint32_t raw = wcodec_pick(r, 0, 1, 2, k / 2);
        if (k >= 2 && last)
            raw = wcodec_fast_spread(k == 2 ? raw & 0xffffu : f->x & 0xffffu);
        else if (k % 2)
            raw = wcodec_rotate_right(raw, 4);
        o[0] = bitselect(o[0], raw, MASK);
    }
#endif
#if WCODEC_SHAPE < 9
    if (WCODEC_ADD)
        o[0] = wcodec_add_bytes(o[0], f->add);
#endif
#endif
}
#endif
