/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Masks of tiles, their counts, and what the record says: right ones come back, wrong ones are
 * refused, and nothing is written or read outside of what there is. */
#include "support.h"

#include "coding/masked.h"
#include <stdbool.h>

enum { COUNT = 5000 };

struct masked_tile {
    uint8_t data[COUNT << 3], out[(COUNT << 3) + 1];
    uint8_t mask[COUNT / 8 + 1];
    uint64_t elements, count;
};

/* One element in `every` is not zero; 0: none. */
static void fill(struct masked_tile *t, uint64_t *seed, unsigned w, uint64_t elements,
                 unsigned every)
{
    const size_t size = (size_t)elements << w;
    memset(t, 0, sizeof *t);
    t->elements = elements;
    for (uint64_t i = 0; i < elements; i++) {
        if (every == 0 || support_random(seed) % every != 0)
            continue;
        /* Of an element one byte may be all that is not zero. */
        t->data[(i << w) + support_random(seed) % ((size_t)1 << w)] =
            (uint8_t)(1 + support_random(seed) % 255);
        t->count++;
    }
    memset(t->out, 0xEE, size);
}

static void test_tiles(void **state)
{
    static const uint64_t sizes[] = {1, 7, 8, 9, 63, 64, 65, 1000, COUNT};
    static const unsigned shares[] = {0, 1, 2, 10, 1000};
    static struct masked_tile t;
    uint64_t seed = support_seed();
    (void)state;
    for (unsigned round = 0; round < 4 * 9 * 5; round++) {
        const unsigned w = round % 4;
        fill(&t, &seed, w, sizes[round / 4 % 9], shares[round / 36]);
        /* Exactly so many bytes, so that tools see what is outside. */
        uint8_t *values = malloc((size_t)(t.count << w) + WCODEC_MASKED_AFTER);
        assert_non_null(values);
        assert_int_equal(wcodec_masked_count(w, t.data, t.elements), t.count);
        assert_int_equal(wcodec_masked_gather(w, t.data, t.elements, t.mask, values), t.count);
        assert_int_equal(wcodec_masked_ones(t.mask, t.elements), t.count);
        memset(values + (t.count << w), 0xAA, WCODEC_MASKED_AFTER);
        assert_true(wcodec_masked_spread(w, t.mask, values, t.count, t.elements, t.out));
        assert_memory_equal(t.out, t.data, (size_t)t.elements << w);
        assert_int_equal(t.out[t.elements << w], 0);
        free(values);
    }
}

static void test_wrong_masks(void **state)
{
    static struct masked_tile t;
    static uint8_t values[(COUNT << 3) + WCODEC_MASKED_AFTER];
    uint64_t seed = support_seed() + 1;
    (void)state;
    for (unsigned w = 0; w < 4; w++) {
        fill(&t, &seed, w, 1003, 3);
        (void)wcodec_masked_gather(w, t.data, t.elements, t.mask, values);
        assert_false(wcodec_masked_spread(w, t.mask, values, t.count + 1, t.elements, t.out));
        assert_false(wcodec_masked_spread(w, t.mask, values, t.count - 1, t.elements, t.out));
        t.mask[1003 / 8] |= 0x80;
        assert_false(wcodec_masked_spread(w, t.mask, values, t.count, t.elements, t.out));
        assert_int_equal(t.out[0], 0xEE);
        t.mask[1003 / 8] &= 0x7F;
        t.mask[40] ^= 16;
        assert_false(wcodec_masked_spread(w, t.mask, values, t.count, t.elements, t.out));
        assert_int_equal(t.out[0], 0xEE);
    }
}

static struct wcodec_masked make_head(void)
{
    return (struct wcodec_masked){.element_log2 = 2,
                                  .tile_log2 = 12,
                                  .size = 40000,
                                  .elements = 10000,
                                  .tiles = 3,
                                  .values = 5000};
}

static void put_counts(struct wcodec_masked *m, uint8_t *bytes, uint32_t a, uint32_t b, uint32_t c)
{
    wcodec_store_u32(bytes, a);
    wcodec_store_u32(bytes + 4, b);
    wcodec_store_u32(bytes + 8, c);
    m->check = wcodec_masked_check(bytes, 12);
}

static void test_counts(void **state)
{
    static const uint32_t wrong[][3] = {
        {4097, 903, 0}, {0, 4096, 905},     {0, 3191, 1809},
        {4096, 903, 0}, {4096, 905, 0},     {UINT32_MAX, 1, 5000},
        {0, 0, 0},      {4096, 4096, 1808}, {2500, UINT32_MAX, 2501}};
    struct wcodec_masked m = make_head();
    uint64_t firsts[4];
    uint8_t bytes[12];
    (void)state;
    put_counts(&m, bytes, 4096, 0, 904);
    assert_int_equal(wcodec_masked_counts_read(&m, bytes, firsts, NULL), WCODEC_OK);
    assert_int_equal(firsts[0], 0);
    assert_int_equal(firsts[1], 4096);
    assert_int_equal(firsts[2], 4096);
    assert_int_equal(firsts[3], 5000);
    bytes[5] ^= 1;
    assert_int_equal(wcodec_masked_counts_read(&m, bytes, firsts, NULL), WCODEC_ERROR_CORRUPT);
    for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        put_counts(&m, bytes, wrong[i][0], wrong[i][1], wrong[i][2]);
        assert_int_equal(wcodec_masked_counts_read(&m, bytes, firsts, NULL), WCODEC_ERROR_CORRUPT);
    }
}

static wcodec_status parse(const uint8_t *bytes, size_t size, uint64_t tensor,
                           struct wcodec_masked *back, bool *newer)
{
    struct wcodec_cursor c = {bytes, bytes + size};
    return wcodec_masked_read(&c, tensor, back, newer, NULL);
}

static void test_record(void **state)
{
    struct wcodec_masked m = make_head(), back;
    uint8_t bytes[WCODEC_MASKED_HEAD_MAX];
    bool newer;
    (void)state;
    m.check = 77;
    const size_t size = wcodec_masked_write(&m, bytes);
    assert_int_equal(parse(bytes, size, m.size, &back, &newer), WCODEC_OK);
    assert_false(newer);
    assert_int_equal(back.elements, 10000);
    assert_int_equal(back.tiles, 3);
    assert_int_equal(back.values, 5000);
    assert_int_equal(back.check, 77);
    assert_int_equal(wcodec_masked_part_size(&back, WCODEC_MASKED_MASK), 1250);
    assert_int_equal(wcodec_masked_part_size(&back, WCODEC_MASKED_VALUES), 20000);
    for (size_t n = 0; n < size; n++)
        assert_int_equal(parse(bytes, n, m.size, &back, &newer), WCODEC_ERROR_CORRUPT);
    assert_int_equal(parse(bytes, size, 40001, &back, &newer), WCODEC_ERROR_CORRUPT);
    assert_int_equal(parse(bytes, size, 19996, &back, &newer), WCODEC_ERROR_CORRUPT);
    for (unsigned i = 1; i < 3; i++) {
        const uint8_t right = bytes[i];
        bytes[i] = i == 1 ? 4 : 11;
        assert_int_equal(parse(bytes, size, m.size, &back, &newer), WCODEC_ERROR_CORRUPT);
        bytes[i] = i == 1 ? 255 : 17;
        assert_int_equal(parse(bytes, size, m.size, &back, &newer), WCODEC_ERROR_CORRUPT);
        bytes[i] = right;
    }
    bytes[0] = 2;
    assert_int_equal(parse(bytes, size, m.size, &back, &newer), WCODEC_OK);
    assert_true(newer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tiles),
        cmocka_unit_test(test_wrong_masks),
        cmocka_unit_test(test_counts),
        cmocka_unit_test(test_record),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
