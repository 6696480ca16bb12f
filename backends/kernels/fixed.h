/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Tiles at a fixed rate (doc/format.md 6): a warp a tile, a lane 64 elements of two rows, as a
 * record has them. They become elements in a *stage* that the lanes share, where outliers and
 * spilled elements are put in, and go from there to their rows, side by side.
 *
 * Shifts are validated by the host. A record may hold anything: of it only positions, of 11 bits,
 * are addresses, in the stage, and what a list names is in the list or among the job's spilled
 * elements when it is read. */
#ifndef WCODEC_KERNELS_FIXED_H
#define WCODEC_KERNELS_FIXED_H

#include "backends/kernels/launch.h"
#include "backends/kernels/rans.h"

/* Where jobs are. A program whose jobs are among the arguments of the launch (OpenCL: an address
 * space of their own) says so before. */
#ifndef WCODEC_FIXED_JOB
#define WCODEC_FIXED_JOB WCODEC_GLOBAL
#define WCODEC_FIXED_BATCHES
#endif

/* Where a stage has the lanes' sums of the check before it has elements: lower halves, upper ones,
 * each of 4 x 32, so that lanes that store and lanes that read find them in different banks; and
 * index words that come by halves. */
enum { WCODEC_RECORD_SUMS = 40, WCODEC_RECORD_HIGH = 160, WCODEC_RECORD_INDEX = 512 };

struct WCODEC_ALIGNED_16 wcodec_record_stage {
    uint32_t word[WCODEC_FIXED_TILE / 2]; /* two elements each: wcodec_record_chunk() */
    uint32_t list[WCODEC_FIXED_LIST_MAX * WCODEC_FIXED_LIST_UNIT / 4];
    uint8_t shift[WCODEC_FIXED_ROWS];
};
WCODEC_STRUCT_SIZE(wcodec_record_stage, WCODEC_RECORD_STAGE);

/* What a list says of itself. */
struct wcodec_record_list {
    uint32_t shorts, longs;
    uint32_t end;     /* of the long outliers */
    uint32_t spilled; /* 0 if they are none of the job's */
    bool sound;
    uint64_t address; /* of the first spilled element */
};

/* What all lanes share. */
struct wcodec_record_work {
    WCODEC_WARP_MEMBER
    WCODEC_LOCAL struct wcodec_record_stage *stage;
    const WCODEC_FIXED_JOB struct wcodec_fixed_job *job;
    struct wcodec_record_list list;
};

struct wcodec_record_lane {
    uint32_t lower[16];
    uint32_t index[8];
    uint32_t share; /* of the check */
    bool bad;
};

/* Where a record has its list of outliers, and how long the record is with a list of `units` times
 * 16 bytes. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_record_list_at(const uint32_t bits)
{
    return 2048 + 256 * (bits + 1);
}

WCODEC_DEVICE_FUNCTION uint32_t wcodec_record_size(const uint32_t bits, uint32_t units)
{
    return wcodec_record_list_at(bits) + WCODEC_FIXED_LIST_UNIT * units;
}

/* The row and the column in its tile of the element at a position of a record. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_record_row(uint32_t position)
{
    return (position >> 6 & 7) | (position << 1 & 8);
}

WCODEC_DEVICE_FUNCTION uint32_t wcodec_record_column(uint32_t position)
{
    return (position & 3) | (position >> 1 & 4) | (position >> 1 & 24) | (position >> 4 & 96);
}

/* Chunk c of row r is 8 elements. Odd rows have their halves exchanged, so that lanes that store
 * two rows at a time find them in different banks. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_record_chunk(uint32_t row, uint32_t chunk)
{
    return row * 64 + (chunk ^ (row & 1) * 4) * 4;
}

/* Sums of the check of 16 bytes from word 4 * lane of a group on. */
WCODEC_DEVICE_FUNCTION void wcodec_record_sum(uint64_t *sums, const uint32_t *words,
                                              uint32_t factor)
{
    WCODEC_UNROLL_ALL
    for (uint32_t i = 0; i < 4; i++)
        sums[i] += (uint64_t)words[i] * factor;
}

/* All of a record; what the check takes of it goes to the stage, with its list. A lane has words
 * 4 * (lane % 8) and up of every fourth group: four lanes share their sums. */
WCODEC_DEVICE_FUNCTION void wcodec_record_load(const uint32_t bits, struct wcodec_record_work *w,
                                               uint64_t record, struct wcodec_record_lane *lanes)
{
    const WCODEC_GLOBAL uint8_t *from = WCODEC_AT(w, raw, uint8_t, record);
    const uint32_t units = w->job->list, list_at = wcodec_record_list_at(bits);
    WCODEC_EACH_LANE
    {
        struct wcodec_record_lane *own = &lanes[WCODEC_SELF];
        uint64_t sums[4] = {0, 0, 0, 0};
        uint32_t more[4] = {0, 0, 0, 0}, list[4] = {0, 0, 0, 0}, factor;
        WCODEC_UNROLL_ALL
        for (uint32_t i = 0; i < 4; i++)
            WCODEC_LOAD_16(own->lower + 4 * i, from + 512 * i + 16 * lane);
        WCODEC_LOAD_16(own->index, from + 2048 + 16 * lane);
        if (bits == 3 || lane < 16)
            WCODEC_LOAD_16(more, from + 2560 + 16 * lane);
        if (lane < units)
            WCODEC_LOAD_16(list, from + list_at + 16 * lane);
        factor = wcodec_check_factor(lane / 8);
        WCODEC_UNROLL_ALL
        for (uint32_t i = 0; i < 4; i++)
            wcodec_record_sum(sums, own->lower + 4 * i, factor + 4 * i * WCODEC_CHECK_STEP);
        wcodec_record_sum(sums, own->index, factor + 16 * WCODEC_CHECK_STEP);
        wcodec_record_sum(sums, more, factor + 20 * WCODEC_CHECK_STEP);
        wcodec_record_sum(sums, list, factor + list_at / 128 * WCODEC_CHECK_STEP);
        WCODEC_UNROLL_ALL
        for (uint32_t i = 0; i < 4; i++) {
            if (bits == 3)
                own->index[4 + i] = more[i];
            w->stage->word[i * WCODEC_RECORD_SUMS + lane] = (uint32_t)sums[i];
            w->stage->word[WCODEC_RECORD_HIGH + i * WCODEC_RECORD_SUMS + lane] =
                (uint32_t)(sums[i] >> 32);
        }
        if (bits == 2 && lane < 16)
            WCODEC_KEEP_16(w->stage->word + WCODEC_RECORD_INDEX + 4 * lane, more);
        if (lane < units)
            WCODEC_KEEP_16(w->stage->list + 4 * lane, list);
    }
}

/* What the list in the stage says of itself, the same for all lanes. */
WCODEC_DEVICE_FUNCTION void wcodec_record_find(struct wcodec_record_work *w)
{
    const WCODEC_FIXED_JOB struct wcodec_fixed_job *job = w->job;
    const uint32_t head = w->stage->list[0], size = 16 * job->list;
    const bool spills = (head & 0x8000) != 0;
    struct wcodec_record_list l;
    l.shorts = head & 0xff;
    l.longs = head >> 8 & 0x7f;
    l.end = size - (spills ? 8 : 0);
    l.sound = 2 + l.shorts + (l.shorts + 1) / 2 + 2 * l.longs <= l.end;
    l.spilled = 0;
    l.address = job->spilled;
    if (spills) {
        const uint64_t first = w->stage->list[size / 4 - 2];
        const uint32_t count = w->stage->list[size / 4 - 1];
        if (count < 1 || count > WCODEC_FIXED_TILE || first < job->spilled_first ||
            first + count > job->spilled_end)
            l.sound = false;
        else
            l.spilled = count;
        l.address += 4 * (first - job->spilled_first);
    }
    w->list = l;
}

/* Short outlier i: its position, and bit 11 its kind. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_record_short(const struct wcodec_record_work *w, uint32_t i)
{
    const WCODEC_LOCAL uint8_t *list = (const WCODEC_LOCAL uint8_t *)w->stage->list + 2;
    return list[i] | ((uint32_t)list[w->list.shorts + i / 2] >> i % 2 * 4 & 15) << 8;
}

/* Long outlier i: its position, and above bit 11 what is xored. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_record_long(const struct wcodec_record_work *w, uint32_t i)
{
    const WCODEC_LOCAL uint8_t *at =
        (const WCODEC_LOCAL uint8_t *)w->stage->list + (w->list.end - 2 * (i + 1));
    return at[0] | (uint32_t)at[1] << 8;
}

WCODEC_DEVICE_FUNCTION uint32_t wcodec_record_spilled(const struct wcodec_record_work *w,
                                                      uint32_t i)
{
    return WCODEC_AT(w, values, uint32_t, w->list.address)[i];
}

/* Is there a short outlier at the position? They are in order. */
WCODEC_DEVICE_FUNCTION bool wcodec_record_has_short(const struct wcodec_record_work *w,
                                                    uint32_t position)
{
    uint32_t low = 0, high = w->list.shorts;
    while (low < high) {
        const uint32_t middle = (low + high) / 2;
        if ((wcodec_record_short(w, middle) & 0x7ff) < position)
            low = middle + 1;
        else
            high = middle;
    }
    return low < w->list.shorts && (wcodec_record_short(w, low) & 0x7ff) == position;
}

/* A lane's part of what is to be asked of a list that was found: is anything wrong? */
WCODEC_DEVICE_FUNCTION bool wcodec_record_is_bad(const struct wcodec_record_work *w, uint32_t lane)
{
    bool bad = false;
    for (uint32_t i = lane; i < w->list.shorts; i += 32)
        if (i > 0 && (wcodec_record_short(w, i) & 0x7ff) <= (wcodec_record_short(w, i - 1) & 0x7ff))
            bad = true;
    for (uint32_t i = lane; i < w->list.longs; i += 32) {
        const uint32_t position = wcodec_record_long(w, i) & 0x7ff;
        if ((i > 0 && position <= (wcodec_record_long(w, i - 1) & 0x7ff)) ||
            wcodec_record_has_short(w, position))
            bad = true;
    }
    for (uint32_t i = lane; i < w->list.spilled; i += 32) {
        const uint32_t word = wcodec_record_spilled(w, i);
        if ((word & 0xf800) != 0 ||
            (i > 0 && (word & 0x7ff) <= (wcodec_record_spilled(w, i - 1) & 0x7ff)))
            bad = true;
    }
    return bad;
}

/* A lane's share of the check, from the sums in the stage. groups: of the record. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_record_share(const struct wcodec_record_work *w,
                                                    uint32_t groups, uint32_t lane)
{
    const WCODEC_LOCAL uint32_t *low = w->stage->word + lane % 4 * WCODEC_RECORD_SUMS + lane / 4;
    uint64_t sum = 0;
    WCODEC_UNROLL_ALL
    for (uint32_t i = 0; i < 4; i++)
        sum += (uint64_t)low[WCODEC_RECORD_HIGH + 8 * i] << 32 | low[8 * i];
    for (uint32_t i = lane; i < w->list.spilled; i += 32)
        sum += (uint64_t)wcodec_record_spilled(w, i) * wcodec_check_factor(groups + i / 32);
    return wcodec_check_share(sum, lane);
}

/* Upper bytes of the four elements whose nibbles are the lower half of `nibbles`. sign: of three
 * bits, bit 7 of each byte. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_record_upper(const uint32_t bits, uint32_t nibbles,
                                                    uint32_t sign)
{
    if (bits == 2)
        return wcodec_bytes(0x3f3e3d3c, 0xbfbebdbc, nibbles);
    return wcodec_bytes(0x3b3a3938, 0x3f3e3d3c, nibbles) | (sign & 0x80808080u);
}

/* What an element of a row takes: two at once, since with an exponent of a window it neither
 * carries nor borrows. */
struct wcodec_record_row {
    uint32_t add, keep;
};

WCODEC_DEVICE_FUNCTION void wcodec_record_row_of(uint32_t shift, struct wcodec_record_row *row)
{
    const int32_t s = (int32_t)WCODEC_SIGNED_BYTE(shift, 0);
    row->add = s == WCODEC_FIXED_ZERO_ROW ? 0 : (uint32_t)(128 * s) * 0x10001u;
    row->keep = s == WCODEC_FIXED_ZERO_ROW ? 0x80008000u : ~0u;
}

WCODEC_DEVICE_FUNCTION void wcodec_record_quad(uint32_t lower, uint32_t upper,
                                               const struct wcodec_record_row *row, uint32_t *out)
{
    out[0] = (wcodec_bytes(lower, upper, 0x5140) + row->add) & row->keep;
    out[1] = (wcodec_bytes(lower, upper, 0x7362) + row->add) & row->keep;
}

/* Nibbles of a pair of quads, number `two` of four in the half of a record. words: of the half. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_record_nibbles(const uint32_t bits, const uint32_t *words,
                                                      const uint32_t two)
{
    if (two > bits)
        return (words[0] >> 3 & 0x11111111) | (words[1] >> 2 & 0x22222222) |
               (words[2] >> 1 & 0x44444444);
    return words[two];
}

/* A lane's elements, as their indices say, to the stage. */
WCODEC_DEVICE_FUNCTION void wcodec_record_expand(const uint32_t bits, struct wcodec_record_work *w,
                                                 const struct wcodec_record_lane *own,
                                                 uint32_t lane)
{
    const uint32_t row = lane / 4;
    struct wcodec_record_row first, second;
    wcodec_record_row_of(w->stage->shift[row], &first);
    wcodec_record_row_of(w->stage->shift[row + 8], &second);
    WCODEC_UNROLL_ALL
    for (uint32_t quarter = 0; quarter < 4; quarter++) {
        uint32_t out[2][4];
        WCODEC_UNROLL_ALL
        for (uint32_t i = 0; i < 2; i++) {
            const uint32_t all = wcodec_record_nibbles(bits, own->index + quarter / 2 * (bits + 1),
                                                       quarter % 2 * 2 + i),
                           nibbles = all & 0x77777777u;
            const uint32_t *lower = own->lower + 4 * quarter + 2 * i;
            wcodec_record_quad(lower[0], wcodec_record_upper(bits, nibbles, all), &first,
                               out[0] + 2 * i);
            wcodec_record_quad(lower[1], wcodec_record_upper(bits, nibbles >> 16, all << 4),
                               &second, out[1] + 2 * i);
        }
        WCODEC_KEEP_16(w->stage->word + wcodec_record_chunk(row, 4 * quarter + lane % 4), out[0]);
        WCODEC_KEEP_16(w->stage->word + wcodec_record_chunk(row + 8, 4 * quarter + lane % 4),
                       out[1]);
    }
}

/* The element at a position of the tile; *row: its row. */
WCODEC_DEVICE_FUNCTION WCODEC_LOCAL uint8_t *wcodec_record_place(struct wcodec_record_work *w,
                                                                 uint32_t position, uint32_t *row)
{
    const uint32_t column = wcodec_record_column(position);
    *row = wcodec_record_row(position);
    return (WCODEC_LOCAL uint8_t *)(w->stage->word + wcodec_record_chunk(*row, column / 8)) +
           2 * (column & 7);
}

/* An outlier, in whose place its element stands as its index says. flip: of the upper byte. */
WCODEC_DEVICE_FUNCTION void wcodec_record_patch(struct wcodec_record_work *w, uint32_t position,
                                                uint32_t flip)
{
    uint32_t row;
    WCODEC_LOCAL uint8_t *at = wcodec_record_place(w, position, &row);
    const int32_t shift = (int32_t)WCODEC_SIGNED_BYTE((uint32_t)w->stage->shift[row], 0);
    if (shift == WCODEC_FIXED_ZERO_ROW)
        return;
    const uint32_t add = (uint32_t)(128 * shift),
                   r = ((at[0] | (uint32_t)at[1] << 8) - add) ^ flip << 8, exponent = r >> 7 & 0xff,
                   element = exponent == 0 || exponent == 0xff ? r : r + add;
    at[0] = (uint8_t)element;
    at[1] = (uint8_t)(element >> 8);
}

/* Outliers, whose positions differ, and then spilled elements. */
WCODEC_DEVICE_FUNCTION void wcodec_record_patches(const uint32_t bits, struct wcodec_record_work *w)
{
    const uint32_t zero = 1u << bits, one = 128 - zero;
    WCODEC_EACH_LANE
    {
        for (uint32_t i = lane; i < w->list.shorts; i += 32) {
            const uint32_t outlier = wcodec_record_short(w, i);
            wcodec_record_patch(w, outlier & 0x7ff, outlier >> 11 ? one : zero);
        }
        for (uint32_t i = lane; i < w->list.longs; i += 32) {
            const uint32_t outlier = wcodec_record_long(w, i);
            wcodec_record_patch(w, outlier & 0x7ff, outlier >> 11 << 2);
        }
    }
    if (w->list.spilled == 0)
        return;
    WCODEC_LOCAL_ORDER();
    WCODEC_EACH_LANE
    {
        for (uint32_t i = lane; i < w->list.spilled; i += 32) {
            uint32_t row;
            const uint32_t word = wcodec_record_spilled(w, i);
            WCODEC_LOCAL uint8_t *at = wcodec_record_place(w, word & 0x7ff, &row);
            at[0] = (uint8_t)(word >> 16);
            at[1] = (uint8_t)(word >> 24);
        }
    }
}

/* Rows that are wanted as a whole and begin at multiples of 16 bytes: of those [first, end) of the
 * tile `chunks` times 16 bytes, to `out`, where row 0 would be. */
WCODEC_DEVICE_FUNCTION void wcodec_record_store_rows(struct wcodec_record_work *w, uint64_t out,
                                                     uint32_t chunks, uint32_t first, uint32_t end)
{
    const uint64_t stride = 2 * (uint64_t)w->job->columns;
    WCODEC_EACH_LANE
    {
        const uint32_t chunk = lane % 16;
        WCODEC_UNROLL_ALL
        for (uint32_t i = 0; i < 8; i++) {
            const uint32_t row = 2 * i + lane / 16;
            uint32_t v[4];
            WCODEC_TAKE_16(v, w->stage->word + wcodec_record_chunk(row, chunk));
            if (chunk < chunks && row >= first && row < end)
                WCODEC_STORE_16(w, out + row * stride + 16 * chunk, v[0], v[1], v[2], v[3]);
        }
    }
}

/* Any others, element by element. at: number of the tile's first element in the tensor. */
WCODEC_DEVICE_FUNCTION void wcodec_record_store_any(struct wcodec_record_work *w, uint64_t at,
                                                    uint32_t width, uint32_t height)
{
    const WCODEC_FIXED_JOB struct wcodec_fixed_job *job = w->job;
    WCODEC_EACH_LANE
    {
        WCODEC_UNROLL_NONE
        for (uint32_t row = 0; row < height; row++) {
            const uint64_t first = at + row * (uint64_t)job->columns;
            WCODEC_UNROLL_NONE
            for (uint32_t column = lane; column < width; column += 32) {
                const uint32_t word =
                    w->stage->word[wcodec_record_chunk(row, column / 8) + column % 8 / 2];
                if (first + column >= job->begin && first + column < job->end)
                    *WCODEC_AT_OUT(w, uint16_t, job->out + 2 * (first + column - job->begin)) =
                        (uint16_t)(word >> column % 2 * 16);
            }
        }
    }
}

/* Of tile `column` of band `band`, which are counted from the tensor's first. */
WCODEC_DEVICE_FUNCTION void wcodec_record_store(struct wcodec_record_work *w, uint64_t band,
                                                uint32_t column)
{
    const WCODEC_FIXED_JOB struct wcodec_fixed_job *job = w->job;
    const uint64_t row = 16 * band, rows = job->rows - row, at = row * job->columns + 128 * column;
    const uint32_t left = job->columns - 128 * column, width = left < 128 ? left : 128,
                   height = rows < 16 ? (uint32_t)rows : 16;
    if (!job->regular) {
        wcodec_record_store_any(w, at, width, height);
        return;
    }
    /* Rows of the tile before those that are wanted, and after them. */
    const uint64_t out = job->out + 2 * (at - job->begin),
                   before = job->first_row > row ? job->first_row - row : 0,
                   until = job->end_row > row ? job->end_row - row : 0;
    wcodec_record_store_rows(w, out, width / 8, before < height ? (uint32_t)before : height,
                             until < height ? (uint32_t)until : height);
}

/* Tile `tile` of the job's. Returns its fault; elements are stored whatever it is. */
WCODEC_DEVICE_FUNCTION uint32_t wcodec_record_decode(const uint32_t bits,
                                                     struct wcodec_record_work *w, uint32_t tile,
                                                     bool verify)
{
    const WCODEC_FIXED_JOB struct wcodec_fixed_job *job = w->job;
    struct wcodec_record_lane lanes[WCODEC_LANES_OF];
    const uint32_t band = tile / job->across, size = wcodec_record_size(bits, job->list);
    const WCODEC_GLOBAL uint8_t *shifts =
        WCODEC_AT(w, block, uint8_t, job->shifts) + 16 * (uint64_t)band;
    uint32_t bad = 0, check = 0;
    wcodec_record_load(bits, w, job->records + (uint64_t)tile * size, lanes);
    WCODEC_EACH_LANE
    {
        if (lane < WCODEC_FIXED_ROWS)
            w->stage->shift[lane] = shifts[lane];
    }
    WCODEC_LOCAL_ORDER();
    wcodec_record_find(w);
    WCODEC_EACH_LANE
    {
        struct wcodec_record_lane *own = &lanes[WCODEC_SELF];
        own->share = wcodec_record_share(w, (size + 127) / 128, lane);
        own->bad = !w->list.sound || wcodec_record_is_bad(w, lane);
        WCODEC_UNROLL_ALL
        for (uint32_t i = 0; i < 2 && bits == 2; i++)
            own->index[4 + i] = w->stage->word[WCODEC_RECORD_INDEX + 2 * lane + i];
    }
    WCODEC_BALLOT(bad, lanes[WCODEC_SELF].bad);
    WCODEC_ADD_LANES(check, lanes[WCODEC_SELF].share);
    WCODEC_LOCAL_ORDER(); /* sums and index words have been read */
    WCODEC_EACH_LANE
    {
        wcodec_record_expand(bits, w, &lanes[WCODEC_SELF], lane);
    }
    WCODEC_LOCAL_ORDER();
    if (!bad) {
        wcodec_record_patches(bits, w);
        WCODEC_LOCAL_ORDER();
    }
    wcodec_record_store(w, job->first_band + band, tile - band * job->across);
    WCODEC_LOCAL_ORDER(); /* the stage has been read */
    if (bad)
        return WCODEC_TILE_OUTLIER;
    return verify && check != WCODEC_AT(w, block, uint32_t, job->checks)[tile] ? WCODEC_TILE_CHECK
                                                                               : WCODEC_TILE_OK;
}

#ifdef WCODEC_FIXED_BATCHES
/* Tiles first, first + step, ... before `end`, by number among all of the launch's kernel. */
WCODEC_DEVICE_FUNCTION void wcodec_record_run(const uint32_t bits, struct wcodec_record_work *w,
                                              const struct wcodec_launch *launch, uint64_t tables,
                                              uint32_t first, uint32_t end, uint32_t step)
{
    const WCODEC_FIXED_JOB struct wcodec_fixed_job *job =
        WCODEC_BLOCK(&w->warp, struct wcodec_fixed_job, tables);
    const uint32_t slot = job->slot, base = job->first;
    w->job = job;
    WCODEC_BIND(w, raw, job->records);
    WCODEC_BIND(w, values, job->spilled);
    WCODEC_BIND(w, out, job->out);
    for (uint32_t number = first; number < end; number += step) {
        const uint32_t fault = wcodec_record_decode(bits, w, number - base, slot >> 31);
        if (fault && wcodec_is_first(&w->warp))
            wcodec_report_fault(&w->warp, launch, slot + (number - base), fault);
    }
}

/* Of one job the warps of all work-groups take tiles side by side; else those of a work-group take
 * its parts'. */
WCODEC_DEVICE_FUNCTION void wcodec_fixed_kernel(const uint32_t bits, struct wcodec_warp *warp,
                                                const struct wcodec_launch *launch)
{
    struct wcodec_record_work work;
    const uint32_t group = wcodec_group(warp), warps = wcodec_warps(warp),
                   number = wcodec_warp_number(warp);
    WCODEC_WARP_COPY(&work, warp);
    work.stage =
        WCODEC_SHARED(warp, struct wcodec_record_stage,
                      wcodec_shared_base(warp) + WCODEC_SHARED_HEAD + number * WCODEC_RECORD_STAGE);
    uint32_t i = group, end = group + 1;
    if (launch->first_part) {
        const WCODEC_GLOBAL uint32_t *parts =
            WCODEC_BLOCK(warp, uint32_t, launch->first_part) + group;
        i = parts[0];
        end = parts[1];
    }
    for (; i < end; i++) {
        struct wcodec_part part;
        uint32_t first = number, step = warps;
        part.tables = launch->tables;
        part.first = launch->first;
        part.count = launch->count;
        if (launch->parts) {
            part = WCODEC_BLOCK(warp, struct wcodec_part, launch->parts)[i];
        } else {
            first += group * warps;
            step *= launch->groups;
        }
        wcodec_record_run(bits, &work, launch, part.tables, part.first + first,
                          part.first + part.count, step);
    }
}
#endif

#endif
