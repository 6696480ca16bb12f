/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* What the man page says of levels: sizes by level, beside other profiles and tiles, and beside
 * zstd for FP8 and packed 4-bit weights. */
#include "support.h"

#include "coding/chunks.h"
#include "core/bytes.h"
#include "core/memory.h"
#include "encode/assemble.h"
#include <wcodec.h>

enum { SIZE = 1 << 18, SMALL = 1 << 15, ZSTD_LEVEL = 3 };

static uint8_t data[SIZE];

/* Near Gaussian, of deviation 65536. */
static int gaussian(uint64_t *seed)
{
    int sum = 0;
    for (unsigned i = 0; i < 12; i++)
        sum += (int)(support_random(seed) & 0xffff);
    return sum - 6 * 0xffff;
}

/* A float of so many bits of mantissa, whose exponent is 0 for |x| < 2^least. */
static unsigned small_float(int x, unsigned exponent, unsigned mantissa, unsigned least)
{
    const unsigned sign = x < 0, size = (unsigned)(x < 0 ? -x : x);
    unsigned e = 0;
    while (size >> e > 1)
        e++;
    const uint64_t fraction = ((uint64_t)size << mantissa >> e) & ((1u << mantissa) - 1);
    const unsigned field = size == 0 || e < least ? 0 : e - least;
    return sign << (exponent + mantissa) | field << mantissa | (unsigned)fraction;
}

static unsigned nibble(uint64_t *seed)
{
    const int step = gaussian(seed) / 28672 + 8;
    return (unsigned)(step < 0 ? 0 : step > 15 ? 15 : step);
}

static void fill_e4m3(uint64_t *seed, uint64_t i)
{
    data[i] = (uint8_t)small_float(gaussian(seed), 4, 3, 4);
}

static void fill_e5m2(uint64_t *seed, uint64_t i)
{
    data[i] = (uint8_t)small_float(gaussian(seed), 5, 2, 0);
}

static void fill_packed(uint64_t *seed, uint64_t i)
{
    const unsigned low = nibble(seed);
    data[i] = (uint8_t)(low | nibble(seed) << 4);
}

static void fill_pruned(uint64_t *seed, uint64_t i)
{
    if (i % 2 == 0)
        wcodec_store_u16(data + i, support_random(seed) & 1
                                       ? 0
                                       : (uint16_t)small_float(gaussian(seed), 5, 10, 0));
}

/* Two halves of different spread: more than one table pays. */
static void fill_bf16(uint64_t *seed, uint64_t i)
{
    if (i % 2 == 0)
        wcodec_store_u16(data + i, (uint16_t)(small_float(gaussian(seed), 8, 7, 0) +
                                              (i < SIZE / 2 ? 100u << 7 : 60u << 7)));
}

static void fill_int8(uint64_t *seed, uint64_t i)
{
    const int x = gaussian(seed) / 2048;
    data[i] = (uint8_t)(x < -127 ? -127 : x > 127 ? 127 : x);
}

static const struct kind {
    const char *name;
    wcodec_dtype dtype;
    void (*fill)(uint64_t *seed, uint64_t i);
    bool beside_zstd;
} kinds[] = {{"e4m3", WCODEC_DTYPE_F8_E4M3, fill_e4m3, true},
             {"e5m2", WCODEC_DTYPE_F8_E5M2, fill_e5m2, true},
             {"packed in U8", WCODEC_DTYPE_U8, fill_packed, true},
             {"packed in I32", WCODEC_DTYPE_I32, fill_packed, true},
             {"pruned f16", WCODEC_DTYPE_F16, fill_pruned, false},
             {"bf16", WCODEC_DTYPE_BF16, fill_bf16, false},
             {"int8", WCODEC_DTYPE_I8, fill_int8, false}};

enum { KINDS = sizeof kinds / sizeof *kinds };

static void fill(const struct kind *kind)
{
    uint64_t seed = support_seed();
    for (uint64_t i = 0; i < SIZE; i++)
        kind->fill(&seed, i);
}

static uint64_t size_of(wcodec_context *context, const struct kind *kind, uint64_t size, int level,
                        unsigned profile, unsigned tile_log2)
{
    const struct wcodec_encode_settings settings = {.level = level,
                                                    .weights = true,
                                                    .verify = true,
                                                    .profile = (uint8_t)profile,
                                                    .tile_log2 = (uint8_t)tile_log2};
    struct wcodec_coded coded;
    assert_int_equal(
        wcodec_encode_tensor(context, &settings, kind->dtype, data, size, &coded, NULL), WCODEC_OK);
    const uint64_t result = coded.payload_size;
    wcodec_coded_free(&coded);
    return result;
}

static wcodec_context *open_context(void)
{
    wcodec_context *context;
    assert_int_equal(wcodec_context_create(NULL, &context, NULL), WCODEC_OK);
    return context;
}

/* No level makes a tensor larger than the one below, but 2 and 3 may prefer what devices decode
 * faster. */
static void test_monotonic(void **state)
{
    (void)state;
    wcodec_context *context = open_context();
    for (unsigned i = 0; i < KINDS; i++) {
        fill(&kinds[i]);
        for (uint64_t size = SMALL; size <= SIZE; size *= SIZE / SMALL) {
            uint64_t last = UINT64_MAX;
            for (int level = 1; level <= 9; level++) {
                const uint64_t own = size_of(context, &kinds[i], size, level, 0, 0);
                if (own > last + (level <= 3 ? last / 200 : 0))
                    fail_msg("%s, %d bytes: %d at level %d, %d below", kinds[i].name, (int)size,
                             (int)own, level, (int)last);
                last = own;
            }
        }
    }
    wcodec_context_destroy(context);
}

/* From level 7 on nothing is to be won by asking for a profile or a tile, below no more than the
 * man page says. */
static void test_auto(void **state)
{
    (void)state;
    static const unsigned tiles[] = {0, 14, 16};
    static const struct {
        int level;
        double most; /* of the size that was asked for */
    } limits[] = {{3, 1.015}, {7, 1.0005}};
    wcodec_context *context = open_context();
    for (unsigned i = 0; i < KINDS; i++) {
        fill(&kinds[i]);
        for (unsigned l = 0; l < sizeof limits / sizeof *limits; l++) {
            const uint64_t chosen = size_of(context, &kinds[i], SIZE, limits[l].level, 0, 0);
            for (unsigned profile = 0; profile <= WCODEC_P8; profile++)
                for (unsigned t = 0; t < sizeof tiles / sizeof *tiles; t++) {
                    const uint64_t asked =
                        size_of(context, &kinds[i], SIZE, limits[l].level, profile, tiles[t]);
                    if ((double)chosen > (double)asked * limits[l].most)
                        fail_msg("%s at level %d: %d, with profile %u and tile %u %d",
                                 kinds[i].name, limits[l].level, (int)chosen, profile, tiles[t],
                                 (int)asked);
                }
        }
    }
    wcodec_context_destroy(context);
}

/* What is measured is what is coded, byte for byte. */
static void test_measure(void **state)
{
    (void)state;
    static struct wcodec_statistics statistics;
    const struct wcodec_encode_settings settings = {.level = 5, .weights = true};
    wcodec_context *context = open_context();
    for (unsigned i = 0; i < KINDS; i++) {
        struct wcodec_plan *plan;
        struct wcodec_coded coded;
        uint64_t measured = 0;
        fill(&kinds[i]);
        assert_int_equal(
            wcodec_statistics_gather(context, kinds[i].dtype, data, SIZE, 5, &statistics, NULL),
            WCODEC_OK);
        assert_int_equal(wcodec_plan_search(context, &settings, kinds[i].dtype, data, SIZE,
                                            &statistics, &plan, NULL),
                         WCODEC_OK);
        assert_int_equal(wcodec_payload_measure(context, &settings, plan, data, &measured, NULL),
                         WCODEC_OK);
        assert_int_equal(wcodec_payload_code(context, &settings, plan, data, &coded, NULL),
                         WCODEC_OK);
        assert_int_equal(measured, coded.payload_size);
        wcodec_plan_free(plan);
        wcodec_coded_free(&coded);
    }
    wcodec_context_destroy(context);
}

/* FP8 and packed 4-bit weights are not larger than zstd -3 makes them at the default level. */
static void test_beside_zstd(void **state)
{
    (void)state;
    wcodec_context *context = open_context();
    uint8_t *out = malloc(SIZE);
    assert_non_null(out);
    for (unsigned i = 0; i < KINDS; i++) {
        uint32_t coded, check;
        if (!kinds[i].beside_zstd)
            continue;
        fill(&kinds[i]);
        assert_int_equal(
            wcodec_chunk_encode(NULL, data, SIZE, ZSTD_LEVEL, NULL, out, &coded, &check, NULL),
            WCODEC_OK);
        const uint64_t own = size_of(context, &kinds[i], SIZE, 3, 0, 0);
        if (own > coded)
            fail_msg("%s: %d, zstd -3 %d", kinds[i].name, (int)own, (int)coded);
    }
    free(out);
    wcodec_context_destroy(context);
}

/* Who asks for pairs gets FP8 in them, since they decode three times as fast. */
static void test_pairs(void **state)
{
    (void)state;
    wcodec_context *context = open_context();
    const struct wcodec_encode_settings settings = {
        .level = 3, .weights = true, .profile = WCODEC_PAIRS, .tile_log2 = 16};
    struct wcodec_coded coded;
    fill(&kinds[0]);
    assert_int_equal(
        wcodec_encode_tensor(context, &settings, kinds[0].dtype, data, SIZE, &coded, NULL),
        WCODEC_OK);
    assert_int_equal(coded.coding, WCODEC_CODING_TILES);
    assert_int_equal(coded.tiling->fields[coded.tiling->coded[0]].profile, WCODEC_PAIRS);
    wcodec_coded_free(&coded);
    wcodec_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_monotonic),
                                       cmocka_unit_test(test_auto), cmocka_unit_test(test_measure),
                                       cmocka_unit_test(test_beside_zstd),
                                       cmocka_unit_test(test_pairs)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
