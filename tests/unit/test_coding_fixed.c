/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Tiles at a fixed rate: every bit pattern under any shift comes back, lists of every size hold
 * what the plan said, and whatever a record holds is refused or decoded within bounds. The bits
 * that files decode to are compared with the oracle's. */
#include "support.h"

#include "support_fixed.h"

#include "coding/fixed.h"
#include "core/error.h"

enum { ROWS = WCODEC_FIXED_ROWS, COLUMNS = WCODEC_FIXED_COLUMNS, TILE = WCODEC_FIXED_TILE };

static struct wcodec_fixed derive(unsigned bits, unsigned list, uint64_t rows, uint64_t columns,
                                  uint64_t spilled)
{
    struct wcodec_fixed f = {
        .columns = columns, .bits = (uint8_t)bits, .list = (uint8_t)list, .spilled = spilled};
    assert_int_equal(wcodec_fixed_derive(&f, 2 * rows * columns, NULL), WCODEC_OK);
    return f;
}

/* Code a tile and decode it again, with poison about what is written. */
static void round_trip(unsigned bits, unsigned list, const uint16_t *elements, unsigned rows,
                       unsigned columns, const uint8_t *shifts)
{
    const size_t stride = 2 * (size_t)columns;
    struct wcodec_fixed f = derive(bits, list, ROWS, COLUMNS, 0);
    struct wcodec_fixed_list found;
    uint8_t bytes[2 * TILE], record[WCODEC_FIXED_RECORD_MAX + 1], spilled[4 * TILE + 1],
        out[ROWS * (2 * COLUMNS + 2)];
    for (unsigned i = 0; i < rows * columns; i++)
        wcodec_store_u16(bytes + 2 * (size_t)i, elements[i]);
    memset(record, 0xa5, sizeof record);
    memset(spilled, 0xa5, sizeof spilled);
    memset(out, 0xa5, sizeof out);
    struct wcodec_fixed_band band;
    wcodec_fixed_band_init(&band, bits, shifts);
    const struct wcodec_fixed_counts counts =
        wcodec_fixed_count(&band, bytes, stride, rows, columns);
    const uint32_t expected = wcodec_fixed_spilled(counts, list);
    assert_int_equal(
        support_fixed_code_tile(&f, bytes, stride, rows, columns, shifts, 7, record, spilled),
        expected);
    assert_int_equal(record[f.record_size], 0xa5);
    assert_int_equal(spilled[4 * expected], 0xa5);
    f.spilled = 7 + expected;
    assert_int_equal(wcodec_fixed_list_find(&f, record, &found), WCODEC_TILE_OK);
    assert_int_equal(found.spilled_count, expected);
    assert_int_equal(found.spilled_first, expected ? 7 : 0);
    assert_true(found.short_count + found.long_count + expected ==
                (uint32_t)counts.short_count + counts.long_count + counts.foreign);
    assert_int_equal(wcodec_fixed_list_check(&found, spilled), WCODEC_TILE_OK);
    wcodec_fixed_tile_decode(&f, record, &found, shifts, spilled, out, 2 * COLUMNS + 2);
    for (unsigned row = 0; row < ROWS; row++) {
        const uint8_t *at = out + (size_t)row * (2 * COLUMNS + 2);
        if (row < rows)
            assert_memory_equal(at, bytes + row * stride, stride);
        assert_int_equal(at[2 * COLUMNS], 0xa5);
        assert_int_equal(at[2 * COLUMNS + 1], 0xa5);
    }
}

/* Elements that another thread has changed after they were counted: no byte too much is written,
 * and what is written is not taken for the tile. */
static void test_changed(void **state)
{
    (void)state;
    enum { COUNTED = 3 };
    const struct wcodec_fixed_counts counts[] = {{0}, {.short_count = 1}, {.foreign = COUNTED}};
    static const uint8_t shifts[ROWS];
    uint64_t seed = support_seed();
    uint8_t elements[2 * TILE], record[WCODEC_FIXED_RECORD_MAX + 1], spilled[4 * COUNTED + 1];
    for (size_t i = 0; i < sizeof elements; i++)
        elements[i] = (uint8_t)support_random(&seed);
    for (unsigned bits = 2; bits <= 3; bits++) {
        for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
            struct wcodec_fixed_band band;
            struct wcodec_fixed_list found;
            struct wcodec_fixed f = derive(bits, 2, ROWS, COLUMNS, COUNTED);
            const uint32_t expected = wcodec_fixed_spilled(counts[i], 2);
            memset(record, 0xa5, sizeof record);
            memset(spilled, 0xa5, sizeof spilled);
            wcodec_fixed_band_init(&band, bits, shifts);
            assert_int_equal(wcodec_fixed_tile_encode(&f, &band, elements, (size_t)2 * COLUMNS,
                                                      ROWS, COLUMNS, counts[i], 0, record, spilled),
                             expected);
            assert_int_equal(record[f.record_size], 0xa5);
            for (size_t k = (size_t)4 * expected; k < sizeof spilled; k++)
                assert_int_equal(spilled[k], 0xa5);
            assert_int_equal(wcodec_fixed_list_find(&f, record, &found), WCODEC_TILE_OK);
            assert_int_equal(found.spilled_count, expected);
        }
    }
}

static uint8_t random_shift(uint64_t *seed, unsigned bits)
{
    const int least = (2 << bits) - 127;
    if (support_random(seed) % 8 == 0)
        return (uint8_t)WCODEC_FIXED_ZERO_ROW;
    if (support_random(seed) % 8 == 0)
        return 0;
    return (uint8_t)(least + (int)(support_random(seed) % (unsigned)(128 - least)));
}

/* All 65,536 in order, then mixed. */
static void test_every_pattern(void **state)
{
    uint64_t seed = support_seed();
    uint16_t *all = malloc(65536 * sizeof *all);
    (void)state;
    for (unsigned i = 0; i < 65536; i++)
        all[i] = (uint16_t)i;
    for (unsigned pass = 0; pass < 6; pass++) {
        const unsigned bits = 2 + pass % 2;
        for (unsigned first = 0; first < 65536; first += TILE) {
            uint8_t shifts[ROWS];
            for (unsigned i = 0; i < ROWS; i++)
                shifts[i] = random_shift(&seed, bits);
            round_trip(bits, 1 + (unsigned)(support_random(&seed) % 16), all + first, ROWS, COLUMNS,
                       shifts);
        }
        for (unsigned i = 65535; i > 0; i--) {
            const unsigned k = (unsigned)(support_random(&seed) % (i + 1));
            const uint16_t other = all[k];
            all[k] = all[i];
            all[i] = other;
        }
    }
    free(all);
}

/* Rows of one exponent with some others among them: lists of all lengths. */
static void test_lists(void **state)
{
    uint64_t seed = support_seed();
    (void)state;
    for (unsigned turn = 0; turn < 600; turn++) {
        const unsigned bits = 2 + turn % 2, list = 1 + turn / 2 % 16,
                       rows = turn % 3 ? ROWS : 1 + turn % ROWS,
                       columns = turn % 5 ? COLUMNS : 1 + turn % COLUMNS,
                       share = (unsigned)(support_random(&seed) % 200);
        uint8_t shifts[ROWS];
        uint16_t elements[TILE];
        for (unsigned i = 0; i < ROWS; i++)
            shifts[i] = (uint8_t)(turn % 7);
        for (unsigned i = 0; i < TILE; i++) {
            const uint64_t any = support_random(&seed);
            const uint64_t exponent = any % 4096 < share       ? (any >> 12) % 256
                                      : any % 4096 < 4 * share ? 108 + (any >> 12) % 24
                                                               : 124 + turn % 7 + (any >> 12) % 4;
            elements[i] = (uint16_t)((any >> 32 & 0x807f) | exponent << 7);
        }
        round_trip(bits, list, elements, rows, columns, shifts);
    }
}

/* Where the bits of one element are. */
static void test_places(void **state)
{
    const struct wcodec_fixed eleven = derive(2, 1, ROWS, COLUMNS, 0),
                              twelve = derive(3, 1, ROWS, COLUMNS, 0);
    const uint8_t shifts[ROWS] = {0};
    uint8_t elements[2 * TILE], record[WCODEC_FIXED_RECORD_MAX], none[4];
    (void)state;
    for (unsigned position = 0; position < TILE; position++) {
        const unsigned row = wcodec_fixed_row(position), column = wcodec_fixed_column(position);
        assert_true(row < ROWS && column < COLUMNS);
        assert_int_equal(wcodec_fixed_position(row, column), position);
    }
    assert_int_equal(wcodec_fixed_position(9, 46), 512 + 64 + 16 + 8 + 4 + 2);
    for (unsigned i = 0; i < TILE; i++)
        wcodec_store_u16(elements + 2 * (size_t)i, 0x3C00);
    /* Row 9, column 46: lane 5, quad 7, element 2. */
    wcodec_store_u16(elements + 2 * (size_t)(9 * COLUMNS + 46), 0xBFA7);
    assert_int_equal(support_fixed_code_tile(&eleven, elements, 2 * COLUMNS, ROWS, COLUMNS, shifts,
                                             0, record, none),
                     0);
    assert_int_equal(record[606], 0xA7);
    for (unsigned word = 0; word < 3; word++) /* nibble 6, bit 3 */
        assert_int_equal(wcodec_load_u32(record + 2048 + 80 + 4 * (size_t)word), 1u << 27);
    assert_int_equal(wcodec_load_u32(record + 2048 + 80 + 12), 0);
    for (unsigned i = 0; i < TILE; i++)
        wcodec_store_u16(elements + 2 * (size_t)i, 0x3800);
    wcodec_store_u16(elements + 2 * (size_t)(9 * COLUMNS + 46), 0xBFA7);
    assert_int_equal(support_fixed_code_tile(&twelve, elements, 2 * COLUMNS, ROWS, COLUMNS, shifts,
                                             0, record, none),
                     0);
    /* Word 3: nibble 6 has the index; the sign is bit 3 of nibble 4. */
    assert_int_equal(wcodec_load_u32(record + 2048 + 80 + 12), 7u << 24 | 1u << 19);
}

static void test_shift(void **state)
{
    uint64_t seed = support_seed();
    (void)state;
    for (unsigned turn = 0; turn < 2000; turn++) {
        const unsigned bits = 2 + turn % 2, window = 2u << bits;
        uint32_t exponents[256] = {0}, best = 0, within;
        int shift = 0;
        for (unsigned i = 0; i < 30; i++)
            exponents[support_random(&seed) % (turn % 256 + 1)] +=
                (uint32_t)(support_random(&seed) % 5);
        const uint32_t zeros = turn % 3 ? exponents[0] : exponents[0] / 2;
        for (unsigned top = window; top < 255; top++) {
            uint32_t inside = 0;
            for (unsigned e = top - window + 1; e <= top; e++)
                inside += exponents[e];
            if (inside > 0 && inside >= best) {
                best = inside;
                shift = (int)top - 127;
            }
        }
        if (best == 0 && zeros == exponents[0] && exponents[255] == 0) {
            best = zeros;
            shift = WCODEC_FIXED_ZERO_ROW;
        }
        assert_int_equal(wcodec_fixed_choose_shift(bits, exponents, zeros, &within), shift);
        assert_int_equal(within, best);
    }
}

static void test_choose_list(void **state)
{
    struct wcodec_fixed_counts counts[1000];
    uint64_t spilled, cost;
    (void)state;
    memset(counts, 0, sizeof counts);
    assert_int_equal(wcodec_fixed_choose_list(counts, 1000, &spilled, &cost), 1);
    assert_int_equal(spilled, 0);
    assert_int_equal(cost, 16000);
    for (unsigned i = 0; i < 1000; i++)
        counts[i] = (struct wcodec_fixed_counts){30, 2, 0, 0};
    /* 2 + 45 + 4 bytes */
    assert_int_equal(wcodec_fixed_choose_list(counts, 1000, &spilled, &cost), 4);
    assert_int_equal(spilled, 0);
    counts[5].short_count = 200;
    counts[6].foreign = 3;
    assert_int_equal(wcodec_fixed_choose_list(counts, 1000, &spilled, &cost), 4);
    /* Of 200 shorts 36 fit beside the place of the spilled ones, and no long one then. */
    assert_int_equal(wcodec_fixed_spilled(counts[5], 4), 164 + 2);
    assert_int_equal(wcodec_fixed_spilled(counts[6], 4), 3);
    assert_int_equal(spilled, 169);
    assert_int_equal(cost, 64000 + 4 * 169 + 2 * 1024);
}

static wcodec_status read_parameters(const uint8_t *bytes, size_t size, uint64_t tensor,
                                     wcodec_dtype dtype, struct wcodec_fixed *f, bool *newer)
{
    struct wcodec_cursor cursor = {bytes, bytes + size};
    wcodec_error err = {0};
    const wcodec_status status = wcodec_fixed_read(&cursor, tensor, dtype, f, newer, &err);
    assert_true(status == WCODEC_OK || (status == WCODEC_ERROR_CORRUPT && err.text[0] != 0));
    if (status == WCODEC_OK && !*newer)
        assert_true(cursor.at == cursor.end);
    return status;
}

static void test_parameters(void **state)
{
    static const struct {
        uint64_t columns;
        uint8_t bits, list;
        uint64_t spilled, foreign;
    } wrong[] = {{0, 2, 5, 0, 0},         {301, 2, 5, 0, 0},     {1 << 20, 2, 5, 0, 0},
                 {300, 1, 5, 0, 0},       {300, 4, 5, 0, 0},     {300, 2, 0, 0, 0},
                 {300, 2, 17, 0, 0},      {300, 2, 5, 12289, 0}, {300, 2, 5, 3, 4},
                 {UINT64_MAX, 2, 5, 0, 0}};
    struct wcodec_fixed f = derive(2, 5, 20, 300, 9), got;
    uint8_t bytes[WCODEC_FIXED_MAX_BYTES];
    bool newer;
    (void)state;
    assert_int_equal(f.tiles, 2 * 3);
    assert_int_equal(f.record_size, 2816 + 80);
    assert_int_equal(f.tiles_begin, 32 + 32);
    assert_int_equal(f.payload_size, 64 + 6 * 2896 + 36);
    f.foreign = 9;
    f.check = 0x12345678;
    const size_t size = wcodec_fixed_write(&f, bytes);
    assert_int_equal(read_parameters(bytes, size, 12000, WCODEC_DTYPE_BF16, &got, &newer),
                     WCODEC_OK);
    assert_false(newer);
    assert_memory_equal(&got, &f, sizeof f);
    for (size_t cut = 0; cut < size; cut++)
        assert_int_equal(read_parameters(bytes, cut, 12000, WCODEC_DTYPE_BF16, &got, &newer),
                         WCODEC_ERROR_CORRUPT);
    assert_int_equal(read_parameters(bytes, size, 12000, WCODEC_DTYPE_F16, &got, &newer),
                     WCODEC_ERROR_CORRUPT);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        const struct wcodec_fixed bad = {.columns = wrong[i].columns,
                                         .bits = wrong[i].bits,
                                         .list = wrong[i].list,
                                         .spilled = wrong[i].spilled,
                                         .foreign = wrong[i].foreign};
        const size_t bad_size = wcodec_fixed_write(&bad, bytes);
        assert_int_equal(read_parameters(bytes, bad_size, 12000, WCODEC_DTYPE_BF16, &got, &newer),
                         WCODEC_ERROR_CORRUPT);
    }
    bytes[0] = 2;
    assert_int_equal(read_parameters(bytes, 1, 12000, WCODEC_DTYPE_BF16, &got, &newer), WCODEC_OK);
    assert_true(newer);
}

static void test_front(void **state)
{
    struct wcodec_fixed f = derive(2, 5, 20, 300, 0);
    uint8_t front[64] = {0};
    (void)state;
    front[3] = (uint8_t)-119;
    front[4] = 127;
    front[5] = (uint8_t)WCODEC_FIXED_ZERO_ROW;
    f.check = wcodec_fixed_shifts_check(&f, front);
    assert_int_equal(wcodec_fixed_check_front(&f, front, NULL), WCODEC_OK);
    front[63] = 1; /* after six checks */
    assert_int_equal(wcodec_fixed_check_front(&f, front, NULL), WCODEC_ERROR_CORRUPT);
    front[63] = 0;
    front[6] ^= 4;
    assert_int_equal(wcodec_fixed_check_front(&f, front, NULL), WCODEC_ERROR_CORRUPT);
    front[6] = (uint8_t)-120;
    f.check = wcodec_fixed_shifts_check(&f, front);
    assert_int_equal(wcodec_fixed_check_front(&f, front, NULL), WCODEC_ERROR_CORRUPT);
    f.bits = 3;
    front[6] = (uint8_t)-112;
    front[3] = 0;
    f.check = wcodec_fixed_shifts_check(&f, front);
    assert_int_equal(wcodec_fixed_check_front(&f, front, NULL), WCODEC_ERROR_CORRUPT);
    front[6] = (uint8_t)-111;
    f.check = wcodec_fixed_shifts_check(&f, front);
    assert_int_equal(wcodec_fixed_check_front(&f, front, NULL), WCODEC_OK);
}

/* A tile with two outliers of each sort, whose list is then made wrong. */
static void test_lists_refused(void **state)
{
    struct wcodec_fixed f = derive(2, 2, ROWS, COLUMNS, 0);
    const uint8_t shifts[ROWS] = {0};
    uint8_t elements[2 * TILE], record[WCODEC_FIXED_RECORD_MAX], spilled[8];
    struct wcodec_fixed_list l;
    (void)state;
    for (unsigned position = 0; position < TILE; position++)
        wcodec_store_u16(elements + 2 * (size_t)(wcodec_fixed_row(position) * COLUMNS +
                                                 wcodec_fixed_column(position)),
                         position == 9 || position == 1500    ? 0x3A00
                         : position == 400 || position == 401 ? 0
                                                              : 0x3F00);
    assert_int_equal(support_fixed_code_tile(&f, elements, 2 * COLUMNS, ROWS, COLUMNS, shifts, 0,
                                             record, spilled),
                     0);
    uint8_t *list = record + wcodec_fixed_list_begin(&f);
    assert_int_equal(list[0], 2);
    assert_int_equal(list[1], 2);
    assert_int_equal(list[4], 5 << 4); /* the upper bits of 9 and 1500, both of kind 0 */
    assert_int_equal(wcodec_load_u16(list + 30), 400 | 15 << 11);
    assert_int_equal(wcodec_fixed_list_find(&f, record, &l), WCODEC_TILE_OK);
    assert_int_equal(wcodec_fixed_list_check(&l, spilled), WCODEC_TILE_OK);
    list[4] = 0; /* 9, then 220 */
    assert_int_equal(wcodec_fixed_list_check(&l, spilled), WCODEC_TILE_OK);
    list[3] = 9;
    assert_int_equal(wcodec_fixed_list_check(&l, spilled), WCODEC_TILE_OUTLIER);
    list[3] = 8;
    assert_int_equal(wcodec_fixed_list_check(&l, spilled), WCODEC_TILE_OUTLIER);
    list[3] = 401 % 256; /* also a long one */
    list[4] = 1 << 4;
    assert_int_equal(wcodec_fixed_list_check(&l, spilled), WCODEC_TILE_OUTLIER);
    list[3]++;
    assert_int_equal(wcodec_fixed_list_check(&l, spilled), WCODEC_TILE_OK);
    wcodec_store_u16(list + 28, 400);
    assert_int_equal(wcodec_fixed_list_check(&l, spilled), WCODEC_TILE_OUTLIER);
    list[0] = 18; /* 2 + 18 + 9 + 4 bytes of 32 */
    assert_int_equal(wcodec_fixed_list_find(&f, record, &l), WCODEC_TILE_OUTLIER);
    list[0] = 17;
    assert_int_equal(wcodec_fixed_list_find(&f, record, &l), WCODEC_TILE_OK);
    list[0] = 0;
    list[1] = 128;
    f.spilled = 5;
    for (unsigned i = 0; i < 5; i++) {
        static const uint32_t tries[5][3] = {
            {3, 2, 1}, {3, 3, 0}, {3, 0, 0}, {6, 1, 0}, {UINT32_MAX, UINT32_MAX, 0}};
        wcodec_store_u32(list + 24, tries[i][0]);
        wcodec_store_u32(list + 28, tries[i][1]);
        assert_int_equal(wcodec_fixed_list_find(&f, record, &l),
                         tries[i][2] ? WCODEC_TILE_OK : WCODEC_TILE_OUTLIER);
    }
    f.spilled = 10000;
    wcodec_store_u32(list + 24, 0);
    wcodec_store_u32(list + 28, 2049);
    assert_int_equal(wcodec_fixed_list_find(&f, record, &l), WCODEC_TILE_OUTLIER);
    wcodec_store_u32(list + 28, 2);
    assert_int_equal(wcodec_fixed_list_find(&f, record, &l), WCODEC_TILE_OK);
    for (unsigned i = 0; i < 4; i++) {
        static const uint32_t tries[4][3] = {{5, 6, 1}, {6, 6, 0}, {7, 6, 0}, {5, 6 | 1 << 13, 0}};
        wcodec_store_u32(spilled, tries[i][0]);
        wcodec_store_u32(spilled + 4, tries[i][1]);
        assert_int_equal(wcodec_fixed_list_check(&l, spilled),
                         tries[i][2] ? WCODEC_TILE_OK : WCODEC_TILE_OUTLIER);
    }
}

/* Any bytes: in memory of their own, so that a sanitizer sees what is read beside them. */
static void test_any_record(void **state)
{
    uint64_t seed = support_seed();
    (void)state;
    for (unsigned turn = 0; turn < 3000; turn++) {
        const struct wcodec_fixed f =
            derive(2 + turn % 2, 1 + turn / 2 % 16, 100, COLUMNS, turn % 2000);
        uint8_t *record = malloc(f.record_size), *shifts = malloc(ROWS), *out = malloc(2 * TILE),
                *again = malloc(2 * TILE), *all = malloc(4 * (size_t)f.spilled + 1);
        struct wcodec_fixed_list l;
        for (unsigned i = 0; i < f.record_size; i++)
            record[i] = (uint8_t)support_random(&seed);
        for (unsigned i = 0; i < ROWS; i++)
            shifts[i] = (uint8_t)support_random(&seed);
        for (size_t i = 0; i < 4 * (size_t)f.spilled; i++)
            all[i] = (uint8_t)support_random(&seed);
        uint8_t *list = record + wcodec_fixed_list_begin(&f);
        list[0] = (uint8_t)(list[0] % (16 * f.list));
        list[1] = (uint8_t)(list[1] % (turn % 3 ? 128 : 255));
        if (turn % 5 == 0) {
            const uint32_t first = (uint32_t)(support_random(&seed) % 2100);
            wcodec_store_u32(list + 16 * (size_t)f.list - 8, first);
            wcodec_store_u32(list + 16 * (size_t)f.list - 4,
                             (uint32_t)(support_random(&seed) % 300));
        }
        if (wcodec_fixed_list_find(&f, record, &l) == WCODEC_TILE_OK) {
            const uint8_t *spilled = all + 4 * l.spilled_first;
            memset(out, 1, 2 * TILE);
            memset(again, 2, 2 * TILE);
            (void)wcodec_fixed_list_check(&l, spilled);
            (void)wcodec_fixed_tile_check(&f, record, spilled, l.spilled_count);
            wcodec_fixed_tile_decode(&f, record, &l, shifts, spilled, out, 2 * COLUMNS);
            wcodec_fixed_tile_decode(&f, record, &l, shifts, spilled, again, 2 * COLUMNS);
            assert_memory_equal(out, again, 2 * TILE);
        }
        free(all);
        free(again);
        free(out);
        free(shifts);
        free(record);
    }
}

/* Every bit of a record and of its spilled elements counts in the check. */
static void test_check(void **state)
{
    uint64_t seed = support_seed();
    const struct wcodec_fixed f = derive(2, 5, ROWS, COLUMNS, 50);
    uint8_t record[WCODEC_FIXED_RECORD_MAX], spilled[200];
    (void)state;
    for (unsigned i = 0; i < sizeof record; i++)
        record[i] = (uint8_t)support_random(&seed);
    for (unsigned i = 0; i < sizeof spilled; i++)
        spilled[i] = (uint8_t)support_random(&seed);
    const uint32_t check = wcodec_fixed_tile_check(&f, record, spilled, 50);
    assert_int_not_equal(check, wcodec_fixed_tile_check(&f, record, spilled, 49));
    assert_int_not_equal(check, wcodec_fixed_tile_check(&f, record, NULL, 0));
    for (unsigned bit = 0; bit < 8 * f.record_size; bit++) {
        record[bit / 8] ^= (uint8_t)(1 << bit % 8);
        assert_int_not_equal(check, wcodec_fixed_tile_check(&f, record, spilled, 50));
        record[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    for (unsigned bit = 0; bit < 8 * sizeof spilled; bit++) {
        spilled[bit / 8] ^= (uint8_t)(1 << bit % 8);
        assert_int_not_equal(check, wcodec_fixed_tile_check(&f, record, spilled, 50));
        spilled[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    record[f.record_size] ^= 1;
    assert_int_equal(check, wcodec_fixed_tile_check(&f, record, spilled, 50));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_pattern), cmocka_unit_test(test_lists),
        cmocka_unit_test(test_places),        cmocka_unit_test(test_shift),
        cmocka_unit_test(test_choose_list),   cmocka_unit_test(test_parameters),
        cmocka_unit_test(test_front),         cmocka_unit_test(test_lists_refused),
        cmocka_unit_test(test_any_record),    cmocka_unit_test(test_check),
        cmocka_unit_test(test_changed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
