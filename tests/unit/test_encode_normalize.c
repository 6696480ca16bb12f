/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "support.h"

#include "encode/tables.h"
#include <string.h>

static const struct wcodec_table_kind kinds[] = {
    {WCODEC_P8, 8, 0, false},    {WCODEC_P8, 5, 0, false},  {WCODEC_P8, 1, 0, false},
    {WCODEC_P12, 8, 0, false},   {WCODEC_P12, 3, 0, false}, {WCODEC_PAIRS, 8, 100, false},
    {WCODEC_PAIRS, 4, 0, false}, {WCODEC_P8, 8, 0, true}};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* Symbols that a kind can have: both halves of a pair must be in the field. */
static bool possible(const struct wcodec_table_kind *kind, unsigned s)
{
    if (kind->profile == WCODEC_PAIRS)
        return kind->width >= 4 || (s % 16 < 1u << kind->width && s / 16 < 1u << kind->width);
    return s < 1u << kind->width;
}

/* The writer and the reader of tables agree that it is one; it comes back the same. */
static void check_valid(const struct wcodec_table *table)
{
    uint8_t bytes[WCODEC_TABLE_MAX_BYTES];
    struct wcodec_table back;
    struct wcodec_cursor cursor = {bytes, bytes + wcodec_table_write(table, bytes)};
    wcodec_error err;
    if (wcodec_table_read(&cursor, table->profile, table->width, true, &back, &err))
        fail_msg("%s", err.text);
    assert_int_equal(wcodec_cursor_left(&cursor), 0);
    assert_memory_equal(back.freq, table->freq, sizeof back.freq);
    assert_int_equal(back.count, table->count);
    assert_memory_equal(back.order, table->order, table->count);
}

static void random_counts(uint64_t *seed, const struct wcodec_table_kind *kind,
                          uint64_t counts[256])
{
    unsigned shape = (unsigned)(support_random(seed) % 6),
             top = (unsigned)(support_random(seed) % 40);
    memset(counts, 0, 256 * sizeof *counts);
    for (unsigned s = 0; s < 256; s++) {
        uint64_t r = support_random(seed);
        if (!possible(kind, s))
            continue;
        counts[s] = shape == 0   ? r % 1000
                    : shape == 1 ? (r >> (r & 63)) >> 24
                    : shape == 2 ? (r % 50 == 0) * (r >> 32)
                    : shape == 3 ? 1
                    : shape == 4 ? ((uint64_t)1 << top) >> (s % 64)
                                 : 0;
    }
    if (shape == 5)
        counts[support_random(seed) % 2] = support_random(seed) >> 20;
}

static void test_valid(void **state)
{
    (void)state;
    uint64_t seed = support_seed(), counts[256];
    for (unsigned round = 0; round < 3000; round++) {
        const struct wcodec_table_kind *kind = &kinds[round % KINDS];
        struct wcodec_table table;
        random_counts(&seed, kind, counts);
        wcodec_table_fit(kind, counts, round / KINDS % 2, &table);
        check_valid(&table);
        assert_true(table.count > 1 || (kind->runs && table.freq[table.order[0]] == 256));
        assert_int_equal(table.base, kind->profile == WCODEC_PAIRS ? kind->base : 0);
    }
}

/* Coded bits of the symbols that the table holds. */
static double held_bits(const struct wcodec_table *table, const uint64_t counts[256])
{
    double bits = 0;
    for (unsigned s = 0; s < 256; s++)
        if (table->freq[s])
            bits -= (double)counts[s] * (double)wcodec_log2(table->freq[s]);
    return bits;
}

/* No move of one slot from one symbol to another makes it better: with a convex cost that is the
 * optimum. */
static void test_optimal(void **state)
{
    (void)state;
    uint64_t seed = support_seed(), counts[256];
    for (unsigned round = 0; round < 200; round++) {
        struct wcodec_table table;
        random_counts(&seed, &kinds[round % KINDS], counts);
        for (unsigned s = 0; s < 256; s++)
            counts[s] &= 0x3ffffff; /* larger ones are rounded first */
        wcodec_table_fit(&kinds[round % KINDS], counts, false, &table);
        double bits = held_bits(&table, counts);
        for (unsigned i = 0; i < table.count; i++)
            for (unsigned j = 0; j < table.count; j++) {
                unsigned from = table.order[i], to = table.order[j];
                if (from == to || table.freq[from] == 1)
                    continue;
                table.freq[from]--;
                table.freq[to]++;
                /* The logarithm is rounded to units of 2^-24: a few of them a symbol are no gain.
                 */
                assert_true(held_bits(&table, counts) >=
                            bits - 4.0 * (double)(counts[from] + counts[to]) - 1);
                table.freq[from]++;
                table.freq[to]--;
            }
    }
}

/* A symbol is an outlier only where a slot would cost more, and the search for that never does
 * worse than the estimate. */
static void test_outliers(void **state)
{
    (void)state;
    uint64_t counts[256] = {0};
    struct wcodec_table table;
    counts[10] = counts[11] = 1000000;
    counts[200] = 3;
    wcodec_table_fit(&kinds[0], counts, true, &table);
    assert_int_equal(table.freq[200], 0);
    assert_int_equal(table.freq[10], 128);
    counts[200] = 3000;
    wcodec_table_fit(&kinds[0], counts, true, &table);
    assert_int_equal(table.freq[200], 1);
    uint64_t seed = support_seed();
    for (unsigned round = 0; round < 300; round++) {
        const struct wcodec_table_kind *kind = &kinds[round % KINDS];
        struct wcodec_table other;
        uint32_t costs[256];
        random_counts(&seed, kind, counts);
        for (unsigned s = 0; s < 256; s++)
            counts[s] &= 0xffffffff;
        wcodec_table_fit(kind, counts, false, &table);
        wcodec_table_fit(kind, counts, true, &other);
        unsigned slot = kind->profile == WCODEC_P8 ? 16 : 8;
        wcodec_table_costs(&table, costs);
        uint64_t plain = wcodec_counts_cost(counts, costs) + table.count * slot * WCODEC_BIT;
        wcodec_table_costs(&other, costs);
        assert_true(wcodec_counts_cost(counts, costs) + other.count * slot * WCODEC_BIT <= plain);
    }
}

/* Costs are what the frequencies say. */
static void test_costs(void **state)
{
    (void)state;
    uint64_t counts[256] = {0};
    struct wcodec_table table;
    uint32_t costs[256];
    counts[0x00] = 3;
    counts[0x21] = 1;
    wcodec_table_fit(&kinds[6], counts, false, &table);
    table.freq[0x00] = 2048;
    table.freq[0x21] = 2048;
    wcodec_table_costs(&table, costs);
    assert_int_equal(costs[0x00], WCODEC_BIT);
    assert_int_equal(costs[0x20], WCODEC_BIT * (1 + WCODEC_OUTLIER_BITS));
    assert_int_equal(costs[0x33], WCODEC_BIT * (1 + 2 * WCODEC_OUTLIER_BITS));
}

/* The order stays a permutation, is never worse than the one before, and reaches the least possible
 * number for distributions of weights. */
static void test_order(void **state)
{
    (void)state;
    uint64_t seed = support_seed(), counts[256];
    for (unsigned round = 0; round < 600; round++) {
        struct wcodec_table table, ordered;
        random_counts(&seed, &kinds[0], counts);
        wcodec_table_fit(&kinds[0], counts, false, &table);
        ordered = table;
        unsigned most = wcodec_table_order_slots(&ordered, 0);
        assert_int_equal(most, wcodec_table_boundaries(&ordered));
        assert_true(most <= wcodec_table_boundaries(&table));
        assert_true(16 * most + 16 >= table.count);
        check_valid(&ordered);
        assert_memory_equal(ordered.freq, table.freq, sizeof table.freq);
        /* The first that will do: as it is, if that does. */
        ordered = table;
        most = wcodec_table_order_slots(&ordered, 3);
        assert_int_equal(most, wcodec_table_boundaries(&ordered));
        check_valid(&ordered);
        if (wcodec_table_boundaries(&table) <= 3)
            assert_memory_equal(&ordered, &table, sizeof table);
    }
    /* Exponents: halving downwards, as in a normal distribution. */
    memset(counts, 0, sizeof counts);
    for (unsigned i = 0; i < 14; i++)
        counts[120 - i] = 1000000 >> i;
    struct wcodec_table table;
    wcodec_table_fit(&kinds[0], counts, true, &table);
    assert_in_range(wcodec_table_order_slots(&table, 0), 0, 2);
    assert_true(wcodec_table_boundaries(&table) < 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_valid),    cmocka_unit_test(test_optimal),
        cmocka_unit_test(test_outliers), cmocka_unit_test(test_costs),
        cmocka_unit_test(test_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
