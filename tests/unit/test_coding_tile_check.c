/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The tile check: every single-bit flip is seen, for certain; pairs of flips and other damage as
 * far as 2^-32 lets a test see. */
#include "support.h"

#include "coding/tile.h"

static void fill(uint64_t *seed, uint8_t *data, size_t size)
{
    for (size_t i = 0; i < size; i++)
        data[i] = (uint8_t)support_random(seed);
}

/* A flip of bit b in the lane's word j changes the low and high half of A by a known amount, with
 * or without a carry; mixed they must not vanish, whatever the data: for all j that a tile can
 * have. */
static void test_single_flips_by_arithmetic(void **state)
{
    (void)state;
    for (uint64_t j = 0; j < 4096; j++)
        for (unsigned b = 0; b < 32; b++) {
            const uint64_t d = (uint64_t)(0x4CF5AD43u + 81006u * (uint32_t)j) << b;
            assert_true(((0x4CF5AD43u + 81006u * (uint32_t)j) & 1) &&
                        0x4CF5AD43u + 81006 * j < 1ull << 31);
            const uint32_t low = (uint32_t)d * 0x9E3779B1u, high = (uint32_t)(d >> 32);
            assert_true(low + high * 0x85EBCA77u != 0);
            assert_true(low + (high + 1) * 0x85EBCA77u != 0);
        }
}

static void test_single_flips(void **state)
{
    uint64_t seed = support_seed();
    uint8_t data[3001 * 2];
    (void)state;
    for (unsigned log2 = 0; log2 < 4; log2++) {
        const uint32_t elements = (uint32_t)((sizeof data >> log2) - 3);
        const size_t size = (size_t)elements << log2;
        fill(&seed, data, size);
        const uint32_t check = wcodec_tile_check(data, elements, log2);
        for (size_t bit = 0; bit < 8 * size; bit++) {
            data[bit / 8] ^= (uint8_t)(1u << bit % 8);
            assert_int_not_equal(wcodec_tile_check(data, elements, log2), check);
            data[bit / 8] ^= (uint8_t)(1u << bit % 8);
        }
    }
}

/* All pairs of flips within one lane change A: checked on the sums, where no luck is involved.
 * Random pairs, swapped words and bytes change the check. */
static void test_pairs(void **state)
{
    uint64_t seed = support_seed() + 1;
    uint8_t data[8192];
    (void)state;
    for (unsigned round = 0; round < 3; round++) {
        uint64_t sums[WCODEC_LANES], bent[WCODEC_LANES];
        fill(&seed, data, sizeof data);
        if (round == 2)
            memset(data, 0, sizeof data);
        wcodec_tile_check_sums(data, sizeof data / 2, 1, sums);
        /* Lane 5 owns bytes 40 to 47 of each 256. */
        for (unsigned a = 0; a < 32 * 64; a++)
            for (unsigned b = a + 1; b < 32 * 64; b += 1 + (unsigned)(support_random(&seed) % 97)) {
                const size_t at = a / 64 * 256 + 40 + a % 64 / 8,
                             bt = b / 64 * 256 + 40 + b % 64 / 8;
                data[at] ^= (uint8_t)(1u << a % 8);
                data[bt] ^= (uint8_t)(1u << b % 8);
                /* Only this lane can change. */
                uint64_t sum = 0;
                for (unsigned g = 0; g < 32; g++)
                    for (unsigned i = 0; i < 2; i++)
                        sum += (uint64_t)wcodec_load_u32(data + 256 * g + 40 + 4 * i) *
                               (0x4CF5AD43u + 81006u * (2 * g + i));
                assert_true(sum != sums[5]);
                data[at] ^= (uint8_t)(1u << a % 8);
                data[bt] ^= (uint8_t)(1u << b % 8);
            }
        wcodec_tile_check_sums(data, sizeof data / 2, 1, bent);
        assert_memory_equal(sums, bent, sizeof sums);
        const uint32_t check = wcodec_tile_check_finish(sums);
        for (unsigned i = 0; i < 20000 && round < 2; i++) {
            const size_t a = support_random(&seed) % sizeof data,
                         b = support_random(&seed) % sizeof data;
            const uint8_t old = data[a], other = data[b];
            data[a] = other;
            data[b] = old;
            if (old != other)
                assert_int_not_equal(wcodec_tile_check(data, sizeof data / 2, 1), check);
            data[b] = other;
            data[a] = old;
        }
    }
}

/* The text's formula on a known input. */
static void test_known_answer(void **state)
{
    uint8_t data[1000];
    (void)state;
    for (unsigned i = 0; i < sizeof data; i++)
        data[i] = (uint8_t)(i * 7 + 1);
    assert_int_equal(wcodec_tile_check(data, 1000, 0), 0x7409C503);
    assert_int_equal(wcodec_tile_check(data, 500, 1), 0x8248DC58);
    assert_int_equal(wcodec_tile_check(data, 125, 3), 0xBE5D1782);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_single_flips_by_arithmetic),
        cmocka_unit_test(test_single_flips),
        cmocka_unit_test(test_pairs),
        cmocka_unit_test(test_known_answer),
    };
    return cmocka_run_group_tests_name("coding/tile_check", tests, NULL, NULL);
}
