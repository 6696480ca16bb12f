/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "support.h"

#include "encode/tables.h"
#include "coding/histogram.h"
#include <string.h>

/* log2 against facts that need no floating point: powers of two are exact, log2(a b) = log2(a) +
 * log2(b), and it rises. */
static void test_log2(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 64; i++)
        assert_int_equal(wcodec_log2((uint64_t)1 << i), i << 24);
    uint64_t seed = support_seed();
    for (unsigned i = 0; i < 10000; i++) {
        uint64_t a = 1 + support_random(&seed) % 0xffffffff,
                 b = 1 + support_random(&seed) % 0xffffffff;
        int64_t difference = (int64_t)wcodec_log2(a * b) - wcodec_log2(a) - wcodec_log2(b);
        assert_in_range(difference + 200, 0, 400);
    }
    for (uint64_t x = 1; x < 70000; x++)
        assert_true(wcodec_log2(x + 1) >= wcodec_log2(x));
}

static void test_entropy(void **state)
{
    (void)state;
    uint64_t counts[256] = {0};
    assert_int_equal(wcodec_entropy(counts, 256), 0);
    counts[7] = 1000;
    assert_int_equal(wcodec_entropy(counts, 256), 0);
    for (unsigned s = 0; s < 256; s++)
        counts[s] = 100;
    assert_int_equal(wcodec_entropy(counts, 256), 25600 * 8 * WCODEC_BIT);
    /* Counts of a tensor of 2^47 elements. */
    for (unsigned s = 0; s < 256; s++)
        counts[s] = (uint64_t)1 << (s < 2 ? 46 : 0);
    assert_in_range(wcodec_entropy(counts, 256) >> 47, WCODEC_BIT - 8, WCODEC_BIT + 8);
}

/* Every element size, field and misalignment, against single bits. */
static void test_extract(void **state)
{
    (void)state;
    uint64_t seed = support_seed();
    uint8_t data[8 * 70 + 8], symbols[80];
    for (unsigned round = 0; round < 4000; round++) {
        unsigned element_log2 = support_random(&seed) % 4, bits = 8u << element_log2,
                 width = 1 + (unsigned)(support_random(&seed) % 8);
        unsigned shift = (unsigned)(support_random(&seed) % (bits - width + 1)),
                 offset = support_random(&seed) % 8;
        uint64_t add = support_random(&seed) % 3 ? 0 : support_random(&seed);
        size_t n = 1 + support_random(&seed) % 70;
        for (size_t i = 0; i < sizeof data; i++)
            data[i] = (uint8_t)support_random(&seed);
        memset(symbols, 0xee, sizeof symbols);
        wcodec_extract_field(data + offset, n, element_log2, add, shift, width, symbols);
        for (size_t i = 0; i < n; i++) {
            uint64_t e = 0;
            for (unsigned b = bits / 8; b-- > 0;)
                e = e << 8 | data[offset + i * bits / 8 + b];
            e += add;
            if (bits < 64)
                e &= ((uint64_t)1 << bits) - 1;
            assert_int_equal(symbols[i], e >> shift & ((1u << width) - 1));
        }
        assert_int_equal(symbols[n], 0xee);
        uint64_t counts[256] = {0}, expected[256] = {0};
        for (size_t i = 0; i < n; i++)
            expected[symbols[i]]++;
        wcodec_count_symbols(symbols, n, counts);
        assert_memory_equal(counts, expected, sizeof counts);
        uint64_t any = 0, all = UINT64_MAX, expected_any = 0, expected_all = UINT64_MAX;
        wcodec_fold_bits(data + offset, n, element_log2, &any, &all);
        for (size_t i = 0; i < n; i++) {
            uint64_t e = 0;
            for (unsigned b = bits / 8; b-- > 0;)
                e = e << 8 | data[offset + i * bits / 8 + b];
            expected_any |= e;
            expected_all &= e;
        }
        assert_true(any == expected_any && all == expected_all);
    }
}

/* Values inside, outside and on the edges of a window that fits, does not, or is at either end of
 * all values. */
static void test_counter(void **state)
{
    uint64_t seed = support_seed() + 3;
    (void)state;
    for (unsigned round = 0; round < 300; round++) {
        struct wcodec_counter counter;
        uint8_t symbols[999];
        uint64_t known[256] = {0}, counts[256], expected[256];
        const unsigned low = (unsigned)(support_random(&seed) % 256),
                       span = 1 + (unsigned)(support_random(&seed) % (round % 3 ? 40 : 256)),
                       wild = (unsigned)(support_random(&seed) % 3);
        for (unsigned i = 0; i < 50; i++)
            known[(low + support_random(&seed) % span) & 255]++;
        memcpy(counts, known, sizeof counts);
        memcpy(expected, known, sizeof expected);
        wcodec_counter_begin(&counter, known);
        for (unsigned part = 0; part < 3; part++) {
            const size_t n = support_random(&seed) % sizeof symbols;
            for (size_t i = 0; i < n; i++) {
                symbols[i] = (uint8_t)(support_random(&seed) % 50 < wild
                                           ? support_random(&seed)
                                           : low + support_random(&seed) % span);
                expected[symbols[i]]++;
            }
            wcodec_counter_add(&counter, symbols, n);
        }
        wcodec_counter_end(&counter, counts);
        assert_memory_equal(counts, expected, sizeof counts);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_log2), cmocka_unit_test(test_entropy),
                                       cmocka_unit_test(test_extract),
                                       cmocka_unit_test(test_counter)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
