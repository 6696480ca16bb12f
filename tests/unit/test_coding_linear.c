/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Linear hashes: of bytes whose hashes another program made by doc/format.md, of parts in any
 * order, and of elements that change. */
#include "support.h"

#include "coding/linear.h"

enum { SIZE = 10000 };

static void fill(uint8_t bytes[SIZE])
{
    for (uint32_t i = 0; i < SIZE; i++)
        bytes[i] = (uint8_t)(7 * i * i + i / 256);
}

static uint64_t hash_of(const uint8_t *bytes, uint64_t size)
{
    return wcodec_linear_hash(wcodec_linear_sum(bytes, size, 0), size);
}

static void test_known(void **state)
{
    (void)state;
    static const struct {
        uint64_t size, hash;
    } known[] = {{0, 0},
                 {1, 0xfdb64330e89c69cau},
                 {2, 0x69f4a05d6f6bfd01u},
                 {3, 0x0a93157caa8fe424u},
                 {4, 0x92e10d0da195327fu},
                 {5, 0xf8d7aab614c3cc65u},
                 {2047, 0xb8a46bd86e5a4e10u},
                 {2048, 0xff2a55cdb78152afu},
                 {2049, 0x3363a61703b4d9c3u},
                 {4096, 0x8533cdf0e104461bu},
                 {SIZE, 0x7a773290ced28045u}};
    uint8_t bytes[SIZE];
    fill(bytes);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        assert_true(hash_of(bytes, known[i].size) == known[i].hash);
}

/* Also far on, where sections have numbers of more than 32 bits. */
static void test_parts(void **state)
{
    (void)state;
    uint64_t seed = support_seed();
    uint8_t bytes[SIZE];
    fill(bytes);
    for (unsigned i = 0; i < 300; i++) {
        const uint64_t begin = support_random(&seed) >> (i % 2 ? 60 : 17);
        uint64_t sum = 0;
        for (uint64_t at = 0; at < SIZE;) {
            const uint64_t left = SIZE - at, most = support_random(&seed) % 5000,
                           size = most < left ? most : left;
            sum += wcodec_linear_sum(bytes + at, size, begin + at);
            at += size;
        }
        assert_true(sum == wcodec_linear_sum(bytes, SIZE, begin));
    }
    assert_true(wcodec_linear_sum(bytes, SIZE, 0) !=
                wcodec_linear_sum(bytes, SIZE, (uint64_t)WCODEC_LINEAR_SECTION << 32));
}

/* No bit that changes, no two words that change places, and no byte that is left out go unseen. */
static void test_changes(void **state)
{
    (void)state;
    uint8_t bytes[SIZE];
    fill(bytes);
    const uint64_t hash = hash_of(bytes, SIZE);
    for (uint32_t i = 0; i < 8 * SIZE; i += 7) {
        bytes[i / 8] ^= (uint8_t)(1u << i % 8);
        assert_true(hash_of(bytes, SIZE) != hash);
        bytes[i / 8] ^= (uint8_t)(1u << i % 8);
    }
    for (uint32_t i = 0; i + 2048 < SIZE - 4; i += 4) {
        for (uint32_t b = 0; b < 4; b++) {
            const uint8_t v = bytes[i + b];
            bytes[i + b] = bytes[i + b + 2048];
            bytes[i + b + 2048] = v;
        }
        if (memcmp(bytes + i, bytes + i + 2048, 4) != 0)
            assert_true(hash_of(bytes, SIZE) != hash);
        fill(bytes);
    }
    for (uint32_t size = SIZE - 100; size < SIZE; size++)
        assert_true(hash_of(bytes, size) != hash);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known),
        cmocka_unit_test(test_parts),
        cmocka_unit_test(test_changes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
