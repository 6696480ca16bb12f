/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Tables: what is written is read again, and everything that is no table is refused (BADINPUT class
 * C). */
#include "support.h"

#include "coding/table.h"
#include "core/error.h"

static void read_ok(const uint8_t *bytes, size_t size, unsigned profile, unsigned width,
                    struct wcodec_table *table)
{
    struct wcodec_cursor cursor = {bytes, bytes + size};
    wcodec_error err;
    if (wcodec_table_read(&cursor, profile, width, false, table, &err))
        fail_msg("%s", err.text);
    assert_ptr_equal(cursor.at, bytes + size);
}

static void refused(const uint8_t *bytes, size_t size, unsigned profile, unsigned width,
                    const char *text)
{
    struct wcodec_cursor cursor = {bytes, bytes + size};
    struct wcodec_table table;
    wcodec_error err;
    assert_int_equal(wcodec_table_read(&cursor, profile, width, false, &table, &err),
                     WCODEC_ERROR_CORRUPT);
    if (!strstr(err.text, text))
        fail_msg("'%s' does not say '%s'", err.text, text);
    assert_ptr_equal(cursor.at, bytes);
}

/* A valid table of `count` symbols with random frequencies. */
static void random_table(uint64_t *seed, unsigned profile, unsigned width, struct wcodec_table *t)
{
    const unsigned total = 1u << wcodec_profile_bits(profile),
                   symbols = profile == WCODEC_PAIRS ? 256 : 1u << width,
                   count = 2 + (unsigned)(support_random(seed) % (symbols - 1));
    memset(t, 0, sizeof *t);
    t->profile = (uint8_t)profile;
    t->width = (uint8_t)width;
    t->base =
        (uint8_t)(profile == WCODEC_PAIRS && width > 4 ? support_random(seed) % ((1u << width) - 15)
                                                       : 0);
    for (unsigned left = count; left;) {
        const unsigned s = (unsigned)(support_random(seed) % symbols);
        if (!t->freq[s]) {
            t->freq[s] = 1;
            left--;
            if (profile == WCODEC_P8)
                t->order[t->count++] = (uint8_t)s;
        }
    }
    for (unsigned left = total - count; left;) {
        const unsigned s = (unsigned)(support_random(seed) % symbols),
                       more = 1 + (unsigned)(support_random(seed) % (left < 300 ? left : 300));
        if (t->freq[s]) {
            t->freq[s] = (uint16_t)(t->freq[s] + more);
            left -= more;
        }
    }
    for (unsigned s = 0; profile != WCODEC_P8 && s < symbols; s++)
        if (t->freq[s])
            t->order[t->count++] = (uint8_t)s;
}

static void test_round_trip(void **state)
{
    uint64_t seed = support_seed();
    (void)state;
    for (unsigned i = 0; i < 3000; i++) {
        const unsigned profile = 1 + i % 3, width = profile == WCODEC_PAIRS
                                                        ? 4 + (unsigned)(support_random(&seed) % 5)
                                                        : 1 + (unsigned)(support_random(&seed) % 8);
        struct wcodec_table table, again;
        uint8_t bytes[WCODEC_TABLE_MAX_BYTES];
        random_table(&seed, profile, width, &table);
        const size_t size = wcodec_table_write(&table, bytes);
        assert_true(size <= sizeof bytes);
        read_ok(bytes, size, profile, width, &again);
        assert_memory_equal(&table, &again, sizeof table);
        for (size_t cut = 0; cut < size; cut++) {
            struct wcodec_cursor cursor = {bytes, bytes + cut};
            assert_int_equal(wcodec_table_read(&cursor, profile, width, false, &again, NULL),
                             WCODEC_ERROR_CORRUPT);
        }
    }
}

/* Each slot's entry is the inverse of pushing the symbol: it names symbol and frequency, and biases
 * count up from 0. */
static void test_entries(void **state)
{
    uint64_t seed = support_seed() + 1;
    (void)state;
    for (unsigned i = 0; i < 300; i++) {
        const unsigned profile = 1 + i % 3;
        struct wcodec_table table;
        uint32_t entries[4096];
        uint16_t starts[256];
        random_table(&seed, profile, 8, &table);
        wcodec_table_entries(&table, entries);
        wcodec_table_starts(&table, starts);
        for (unsigned slot = 0; slot < 1u << wcodec_profile_bits(profile); slot++) {
            const unsigned symbol = entries[slot] >> 12 & 255;
            assert_int_equal(entries[slot] >> 20, table.freq[symbol]);
            assert_int_equal(entries[slot] & 0xfff, slot - starts[symbol]);
            assert_true(slot - starts[symbol] < table.freq[symbol]);
        }
    }
}

static void test_p8_refusals(void **state)
{
    (void)state;
    refused((const uint8_t[]){1, 3, 128, 4, 127}, 5, WCODEC_P8, 8, "add up to 255");
    refused((const uint8_t[]){1, 3, 128, 4, 129}, 5, WCODEC_P8, 8, "add up to 257");
    refused((const uint8_t[]){2, 3, 128, 4, 0, 5, 128}, 7, WCODEC_P8, 8, "frequency 0");
    refused((const uint8_t[]){1, 3, 128, 3, 128}, 5, WCODEC_P8, 8, "held twice");
    refused((const uint8_t[]){1, 3, 128, 16, 128}, 5, WCODEC_P8, 4, "does not fit");
    refused((const uint8_t[]){0, 3, 255}, 3, WCODEC_P8, 8, "stored with frequency 255");
    refused((const uint8_t[]){0, 3, 0}, 3, WCODEC_P8, 8, "needs two");
    refused((const uint8_t[]){1, 3, 128, 4}, 4, WCODEC_P8, 8, "cut off");
    refused((const uint8_t *)"", 0, WCODEC_P8, 8, "cut off");
}

static void test_one_symbol(void **state)
{
    static const uint8_t one[] = {0, 77, 0}, other[] = {0, 77, 1}, beyond[] = {0, 16, 0};
    struct wcodec_table table;
    uint8_t bytes[WCODEC_TABLE_MAX_BYTES];
    uint32_t entries[256];
    struct wcodec_cursor cursor = {one, one + 3}, cut = {one, one + 2}, bad = {other, other + 3},
                         wide = {beyond, beyond + 3};
    (void)state;
    assert_int_equal(wcodec_table_read(&cursor, WCODEC_P8, 8, true, &table, NULL), WCODEC_OK);
    assert_int_equal(table.count, 1);
    assert_int_equal(table.freq[77], 256);
    assert_true(wcodec_table_is_constant(&table));
    assert_int_equal(wcodec_table_write(&table, bytes), 3);
    assert_memory_equal(bytes, one, 3);
    assert_int_equal(wcodec_table_read(&cut, WCODEC_P8, 8, true, &table, NULL),
                     WCODEC_ERROR_CORRUPT);
    assert_int_equal(wcodec_table_read(&bad, WCODEC_P8, 8, true, &table, NULL),
                     WCODEC_ERROR_CORRUPT);
    assert_int_equal(wcodec_table_read(&wide, WCODEC_P8, 4, true, &table, NULL),
                     WCODEC_ERROR_CORRUPT);
    /* A step leaves any state as it is. */
    wcodec_table_entries(&table, entries);
    for (uint32_t x = 1u << 16; x >= 1u << 16; x += 0x10abcd) {
        const uint32_t e = entries[x & 255];
        assert_int_equal(e >> 12 & 255, 77);
        assert_true((e >> 20) * (x >> 8) + (e & 0xfff) == x);
    }
}

/* Nibbles, low half first: 0xC 0xF 0xF 0x7 is 4 + 7*8 + 7*64 + 7*512 = 4092. */
static void test_p12_refusals(void **state)
{
    struct wcodec_table table;
    (void)state;
    read_ok((const uint8_t[]){0xfc, 0x7f, 0x04}, 3, WCODEC_P12, 1, &table);
    assert_int_equal(table.freq[0], 4092);
    assert_int_equal(table.freq[1], 4);
    refused((const uint8_t[]){0xfc, 0x7f, 0x14}, 3, WCODEC_P12, 1, "half byte");
    refused((const uint8_t[]){0xfc, 0x7f, 0x05}, 3, WCODEC_P12, 1, "4097");
    refused((const uint8_t[]){0xfc, 0x7f, 0x03}, 3, WCODEC_P12, 1, "4095");
    refused((const uint8_t[]){0xfc, 0x7f, 0x00}, 3, WCODEC_P12, 1, "4092");
    refused((const uint8_t[]){0xfc, 0x7f, 0x10}, 3, WCODEC_P12, 1, "passes the last symbol");
    refused((const uint8_t[]){0xfc, 0x7f}, 2, WCODEC_P12, 1, "cut off");
    refused((const uint8_t[]){0xfc, 0x7f, 0x0c}, 3, WCODEC_P12, 1, "not minimal");
    refused((const uint8_t[]){0xfc, 0xff, 0x04}, 3, WCODEC_P12, 1, "not minimal");
    /* One symbol with all 4096 cannot be said: five units. */
    refused((const uint8_t[]){0x88, 0x88, 0x01, 0x00}, 4, WCODEC_P12, 1, "not minimal");
}

static void test_pair_refusals(void **state)
{
    uint8_t bytes[WCODEC_TABLE_MAX_BYTES];
    struct wcodec_table table = {
        .profile = WCODEC_PAIRS, .width = 8, .base = 240, .count = 2, .order = {0, 255}};
    (void)state;
    table.freq[0] = 1;
    table.freq[255] = 4095;
    const size_t size = wcodec_table_write(&table, bytes);
    read_ok(bytes, size, WCODEC_PAIRS, 8, &table);
    bytes[0] = 241;
    refused(bytes, size, WCODEC_PAIRS, 8, "window");
    bytes[0] = 1;
    refused(bytes, size, WCODEC_PAIRS, 4, "window");
    bytes[0] = 0;
    read_ok(bytes, size, WCODEC_PAIRS, 4, &table);
    refused(bytes, size, WCODEC_PAIRS, 3, "does not fit");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),   cmocka_unit_test(test_entries),
        cmocka_unit_test(test_p8_refusals),  cmocka_unit_test(test_one_symbol),
        cmocka_unit_test(test_p12_refusals), cmocka_unit_test(test_pair_refusals),
    };
    return cmocka_run_group_tests_name("coding/table", tests, NULL, NULL);
}
