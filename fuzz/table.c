/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Profile and width, then the bytes of a table. What is accepted is a valid table, whose entries
 * and bytes say the same again. */
#include "coding/table.h"
#include "fuzz/fuzz.h"

const char fuzz_target[] = "table";
const bool fuzz_takes_files = false;

static void check_entries(const struct wcodec_table *table)
{
    const uint32_t slots = 1u << wcodec_profile_bits(table->profile);
    uint32_t *entries = malloc(slots * sizeof *entries);
    uint16_t starts[256];
    FUZZ_REQUIRE(entries);
    wcodec_table_entries(table, entries);
    wcodec_table_starts(table, starts);
    for (uint32_t slot = 0; slot < slots; slot++) {
        const unsigned symbol = entries[slot] >> 12 & 0xff, freq = entries[slot] >> 20,
                       bias = entries[slot] & 0xfff;
        FUZZ_REQUIRE(freq != 0 && freq == table->freq[symbol] && bias < freq &&
                     starts[symbol] + bias == slot);
        if (table->profile == WCODEC_PAIRS)
            FUZZ_REQUIRE((table->base + symbol % 16) >> table->width == 0 &&
                         (table->base + symbol / 16) >> table->width == 0);
        else
            FUZZ_REQUIRE(symbol >> table->width == 0);
    }
    free(entries);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct wcodec_cursor cursor = {data, data + size};
    const unsigned kind = fuzz_take(&cursor), profile = 1 + kind % 3u,
                   width = 1 + fuzz_take(&cursor) % 8u;
    const bool runs = kind / 3 % 2 == 1;
    const uint8_t *begin = cursor.at;
    struct wcodec_table table, again;
    wcodec_error err = {0};
    const wcodec_status status = wcodec_table_read(&cursor, profile, width, runs, &table, &err);
    if (status != WCODEC_OK) {
        FUZZ_REQUIRE(status == WCODEC_ERROR_CORRUPT && err.status == status && err.text[0] != 0);
        return 0;
    }
    FUZZ_REQUIRE(cursor.at > begin && cursor.at <= data + size &&
                 table.count >= (runs && profile == WCODEC_P8 ? 1 : 2) &&
                 table.profile == profile && table.width == width);
    check_entries(&table);
    fuzz_deep++;
    uint8_t bytes[WCODEC_TABLE_MAX_BYTES];
    const size_t written = wcodec_table_write(&table, bytes);
    FUZZ_REQUIRE(written <=
                 (size_t)(cursor.at - begin)); /* the writer takes the longest runs of zeros */
    struct wcodec_cursor second = {bytes, bytes + written};
    FUZZ_REQUIRE(wcodec_table_read(&second, profile, width, runs, &again, NULL) == WCODEC_OK &&
                 second.at == bytes + written);
    FUZZ_REQUIRE(again.count == table.count && again.base == table.base &&
                 memcmp(again.freq, table.freq, sizeof table.freq) == 0 &&
                 memcmp(again.order, table.order, table.count) == 0);
    return 0;
}
