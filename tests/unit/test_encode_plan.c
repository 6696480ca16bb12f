/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "support.h"

#include "core/bytes.h"
#include "core/memory.h"
#include "encode/tables.h"
#include "encode/choice.h"
#include <string.h>
#include <wcodec.h>

static const struct wcodec_table_kind p8 = {WCODEC_P8, 8, 0, false};

/* A symbol whose probability halves with each step from `from` on. */
static uint8_t geometric(uint64_t *seed, unsigned from)
{
    unsigned n = 0;
    for (uint64_t r = support_random(seed); r & 1 && n < 30; r >>= 1)
        n++;
    return (uint8_t)(from + n);
}

/* Two sources that take turns every `period` symbols. */
static uint8_t *mixture(uint64_t *seed, size_t count, size_t period)
{
    uint8_t *symbols = malloc(count);
    assert_non_null(symbols);
    for (size_t i = 0; i < count; i++)
        symbols[i] = geometric(seed, i / period % 2 ? 60 : 100);
    return symbols;
}

static uint64_t single_cost(const uint8_t *symbols, size_t count)
{
    uint64_t counts[256] = {0}, sum = 0;
    uint32_t costs[256];
    struct wcodec_table table;
    for (size_t i = 0; i < count; i++)
        counts[symbols[i]]++;
    wcodec_table_fit(&p8, counts, true, &table);
    wcodec_table_costs(&table, costs);
    sum = wcodec_counts_cost(counts, costs);
    return sum;
}

/* Two sources are told apart, whichever way units are first sorted, and runs no longer than the
 * period save the bit that one table pays. */
static void test_two_sources(void **state)
{
    (void)state;
    uint64_t seed = support_seed();
    size_t count = 65536 + 77;
    uint8_t *symbols = mixture(&seed, count, 512);
    struct wcodec_symbols s = {symbols, count, 8192};
    for (unsigned by_value = 0; by_value < 2; by_value++) {
        struct wcodec_cluster_options options = {
            .unit = 128, .tables = 4, .rounds = 8, .by_value = by_value};
        struct wcodec_table tables[WCODEC_POOL_MAX];
        const struct wcodec_table *pointers[WCODEC_POOL_MAX];
        struct wcodec_costs *costs = malloc(sizeof *costs);
        unsigned found = 0;
        uint64_t bits[WCODEC_RUN_LOG2_MAX + 1], one = single_cost(symbols, count);
        assert_non_null(costs);
        assert_int_equal(
            wcodec_cluster(&wcodec_default_allocator, &p8, &s, &options, tables, &found, NULL),
            WCODEC_OK);
        assert_in_range(found, 2, 4);
        for (unsigned i = 0; i < found; i++)
            pointers[i] = &tables[i];
        wcodec_costs_init(costs, pointers, found);
        wcodec_cluster_run_costs(costs, &s, bits);
        for (unsigned r = 7; r <= 9; r++)
            assert_true(bits[r] + count * (uint64_t)60000 < one);
        assert_true(bits[12] > bits[9] + count * (uint64_t)30000);
        assert_true(wcodec_cluster_piece_cost(costs, &s) >= bits[12]);
        free(costs);
    }
    /* What tables by unit could save is seen before they are made. */
    uint64_t potential = wcodec_cluster_potential(&s, 256, 64, wcodec_count_symbols),
             one = single_cost(symbols, count);
    assert_true(potential < one - count * (uint64_t)50000);
    free(symbols);
    symbols = mixture(&seed, count, SIZE_MAX);
    s.at = symbols;
    one = single_cost(symbols, count);
    potential = wcodec_cluster_potential(&s, 256, 64, wcodec_count_symbols);
    assert_true(potential > one - count * (uint64_t)3000);
    free(symbols);
}

static wcodec_status choose(const uint8_t *symbols, size_t count, unsigned raw_bits,
                            uint8_t profile, int level, struct wcodec_field_choice *choice)
{
    uint8_t *pairs = malloc(count);
    uint64_t counts[256] = {0};
    assert_non_null(pairs);
    for (size_t i = 0; i < count; i++)
        counts[symbols[i]]++;
    struct wcodec_encode_settings settings = {.level = level, .profile = profile, .weights = true};
    struct wcodec_field_facts facts = {.width = 8,
                                       .count = wcodec_count_symbols,
                                       .raw_bits = (uint8_t)raw_bits,
                                       .by_value = true,
                                       .values = {symbols, count, 8192},
                                       .counts = counts,
                                       .entropy = wcodec_entropy(counts, 256),
                                       .pairs = pairs,
                                       .elements = count,
                                       .tiles = count / 8192,
                                       .other_bits = count * raw_bits * (uint64_t)65536};
    wcodec_status status =
        wcodec_field_choose(&wcodec_default_allocator, &settings, &facts, choice, NULL);
    free(pairs);
    return status;
}

/* The rule of 0.3 %: P8 with 8 raw bits and more, pairs below; runs where they pay; a profile asked
 * for is taken. */
static void test_profiles(void **state)
{
    (void)state;
    uint64_t seed = support_seed();
    size_t count = 65536;
    struct wcodec_field_choice *choice =
        wcodec_field_choices_alloc(&wcodec_default_allocator, 1, WCODEC_POOL_MAX);
    assert_non_null(choice);
    uint8_t *symbols = mixture(&seed, count, SIZE_MAX);
    assert_int_equal(choose(symbols, count, 8, 0, 3, choice), WCODEC_OK);
    assert_int_equal(choice->profile, WCODEC_P8);
    assert_int_equal(choice->count, 1);
    assert_int_equal(choose(symbols, count, 4, 0, 3, choice), WCODEC_OK);
    assert_int_equal(choice->profile, WCODEC_PAIRS);
    for (uint8_t profile = WCODEC_PAIRS; profile <= WCODEC_P8; profile++) {
        assert_int_equal(choose(symbols, count, 8, profile, 3, choice), WCODEC_OK);
        assert_int_equal(choice->profile, profile);
    }
    free(symbols);
    symbols = mixture(&seed, count, 512);
    assert_int_equal(choose(symbols, count, 8, 0, 3, choice), WCODEC_OK);
    assert_int_equal(choice->profile, WCODEC_P8);
    assert_true(choice->count >= 2);
    assert_int_equal(choice->run_log2, 9);
    /* Too wide for a window of pairs. */
    assert_int_equal(choose(symbols, count, 8, WCODEC_PAIRS, 3, choice), WCODEC_OK);
    assert_int_equal(choice->profile, WCODEC_P12);
    free(symbols);
    free(choice);
}

static void split_of(wcodec_dtype dtype, const void *data, uint64_t size,
                     struct wcodec_split splits[WCODEC_MAX_SPLITS], unsigned *count,
                     uint64_t *order0)
{
    static struct wcodec_statistics statistics;
    wcodec_context *context;
    assert_int_equal(wcodec_context_create(NULL, &context, NULL), WCODEC_OK);
    assert_int_equal(wcodec_statistics_gather(context, dtype, data, size, 3, &statistics, NULL),
                     WCODEC_OK);
    *count = wcodec_split_candidates(&statistics, dtype, false, 3, splits, order0);
    wcodec_context_destroy(context);
}

static void check_list(const struct wcodec_field *fields, unsigned count, const char *expected)
{
    char text[512] = "";
    for (unsigned i = 0; i < count; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%c%u", i ? "+" : "",
                 fields[i].kind == WCODEC_FIELD_CODED ? 'c'
                 : fields[i].kind == WCODEC_FIELD_RAW ? 'r'
                                                      : 'k',
                 fields[i].width);
    assert_string_equal(text, expected);
}

static void check_fields(const struct wcodec_split *split, const char *expected)
{
    check_list(split->fields, split->field_count, expected);
}

/* Field lists of the dtypes' usual data. */
static void test_splits(void **state)
{
    (void)state;
    enum { N = 20000 };
    static uint8_t data[8 * N];
    static struct wcodec_split splits[WCODEC_MAX_SPLITS];
    uint64_t seed = support_seed(), order0;
    unsigned count;
    for (unsigned i = 0; i < N; i++)
        wcodec_store_u32(data + 4 * i, (uint32_t)geometric(&seed, 100) << 23 |
                                           (support_random(&seed) & 0x807fffff));
    split_of(WCODEC_DTYPE_F32, data, 4 * N, splits, &count, &order0);
    check_fields(&splits[0], "r23+c8+r1");
    assert_in_range(order0, N * 25.9, N * 26.1);
    for (unsigned i = 0; i < N; i++)
        wcodec_store_u32(data + 4 * i, wcodec_load_u32(data + 4 * i) & 0xffff0000);
    split_of(WCODEC_DTYPE_F32, data, 4 * N, splits, &count, &order0);
    check_fields(&splits[0], "k16+r7+c8+r1");
    assert_in_range(order0, N * 9.9, N * 10.1);
    for (unsigned i = 0; i < N; i++)
        wcodec_store_u16(data + 2 * i, (uint16_t)((geometric(&seed, 10) & 31u) << 10 |
                                                  (support_random(&seed) & 0x83ff)));
    split_of(WCODEC_DTYPE_F16, data, 2 * N, splits, &count, &order0);
    check_fields(&splits[0], "r10+c5+r1");
    /* Token numbers below 2^17. */
    for (unsigned i = 0; i < N; i++)
        wcodec_store_u64(data + 8 * i, support_random(&seed) % 100000);
    split_of(WCODEC_DTYPE_I64, data, 8 * N, splits, &count, &order0);
    assert_int_equal(splits[0].fields[splits[0].field_count - 1].kind, WCODEC_FIELD_CONSTANT);
    assert_int_equal(splits[0].fields[splits[0].field_count - 1].width, 47);
    /* Only the sign varies: it must be coded, since something must. */
    for (unsigned i = 0; i < N; i++)
        wcodec_store_u16(data + 2 * i, (uint16_t)(0x3f80 | (support_random(&seed) & 0x8000)));
    split_of(WCODEC_DTYPE_BF16, data, 2 * N, splits, &count, &order0);
    check_fields(&splits[0], "k15+c1");
    for (unsigned i = 0; i < N; i++)
        data[i] = (uint8_t)support_random(&seed) & 0x87;
    split_of(WCODEC_DTYPE_F8_E4M3, data, N, splits, &count, &order0);
    check_fields(&splits[0], "r3+c4+r1");
    split_of(WCODEC_DTYPE_BOOL, data, N, splits, &count, &order0);
    check_fields(&splits[0], "c8");
    split_of(WCODEC_DTYPE_I8, data, N, splits, &count, &order0);
    assert_int_equal(count, 3);
}

/* Pruned floats are cut at bytes, which are all coded, in larger tiles; others are not. */
static void test_pruned(void **state)
{
    (void)state;
    enum { N = 1 << 18 };
    static uint8_t data[2 * N];
    const struct wcodec_encode_settings settings = {.level = 3, .weights = true};
    uint64_t seed = support_seed();
    wcodec_context *context;
    assert_int_equal(wcodec_context_create(NULL, &context, NULL), WCODEC_OK);
    for (unsigned zeros = 0; zeros <= 8; zeros += 2) {
        struct wcodec_coded coded;
        uint64_t counts[2][256] = {{0}};
        for (unsigned i = 0; i < N; i++) {
            const uint64_t e = (uint64_t)geometric(&seed, 110) << 7;
            const bool zero = support_random(&seed) % 10 < zeros;
            wcodec_store_u16(data + 2 * i,
                             zero ? 0 : (uint16_t)(e | (support_random(&seed) & 0x807f)));
            const unsigned v = wcodec_load_u16(data + 2 * i);
            counts[0][v >> 7 & 0xff]++;
            counts[1][(v & 0x7f) | (v >> 15 << 7)]++;
        }
        assert_int_equal(
            wcodec_encode_tensor(context, &settings, WCODEC_DTYPE_BF16, data, 2 * N, &coded, NULL),
            WCODEC_OK);
        assert_int_equal(coded.coding, WCODEC_CODING_TILES);
        check_list(coded.tiling->fields, coded.tiling->field_count, zeros ? "c8+c8" : "r7+c8+r1");
        if (zeros) {
            assert_true(coded.tiling->tile_log2 > 13);
            assert_true(8 * coded.payload_size <
                        (wcodec_entropy(counts[0], 256) + wcodec_entropy(counts[1], 256)) /
                            WCODEC_BIT * 102 / 100);
        } else {
            assert_int_equal(coded.tiling->tile_log2, 13);
        }
        wcodec_coded_free(&coded);
    }
    wcodec_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_two_sources), cmocka_unit_test(test_profiles),
        cmocka_unit_test(test_splits), cmocka_unit_test(test_pruned)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
