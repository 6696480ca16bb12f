/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* A matrix at a fixed rate: u16 bytes of parameters, u32 size of the tensor, the parameters, the
 * payload. The check of its shifts is made right, those of its tiles are not looked at. What every
 * CPU level gives must be the reference's, whichever bytes are asked for, and the encoder must give
 * it back. */
#include "backends/cpu/cpu_level.h"
#include "backends/cpu/fixed.h"
#include "core/error.h"
#include "fuzz/fuzz.h"
#include "tests/unit/support_fixed.h"

const char fuzz_target[] = "fixed";
const bool fuzz_takes_files = false;

enum { SIZE_LIMIT = 1 << 15, HEAD = 6, ROWS = WCODEC_FIXED_ROWS, COLUMNS = WCODEC_FIXED_COLUMNS };

/* The reference's elements of a tile; a fault: none. */
static enum wcodec_tile_fault reference(const struct wcodec_fixed *f, const uint8_t *payload,
                                        uint64_t tile, uint8_t *out)
{
    const uint8_t *record = payload + f->tiles_begin + tile * f->record_size, *spilled;
    struct wcodec_fixed_list list;
    enum wcodec_tile_fault fault = wcodec_fixed_list_find(f, record, &list);
    if (fault != WCODEC_TILE_OK)
        return fault;
    spilled = payload + f->spilled_begin + 4 * list.spilled_first;
    fault = wcodec_fixed_list_check(&list, spilled);
    if (fault == WCODEC_TILE_OK)
        wcodec_fixed_tile_decode(f, record, &list, payload + tile / f->across * ROWS, spilled, out,
                                 2 * COLUMNS);
    return fault;
}

/* Any elements under any shifts come back. */
static void code_again(const struct wcodec_fixed *f, const uint8_t *shifts, const uint8_t *elements)
{
    struct wcodec_fixed own = *f;
    struct wcodec_fixed_list list;
    uint8_t *record = fuzz_guarded(f->record_size), *spilled = fuzz_guarded(4 * WCODEC_FIXED_TILE),
            *out = fuzz_guarded(WCODEC_FIXED_TILE_BYTES);
    own.spilled = support_fixed_code_tile(&own, elements, 2 * COLUMNS, ROWS, COLUMNS, shifts, 0,
                                          record, spilled);
    FUZZ_REQUIRE(wcodec_fixed_list_find(&own, record, &list) == WCODEC_TILE_OK &&
                 list.spilled_count == own.spilled &&
                 wcodec_fixed_list_check(&list, spilled) == WCODEC_TILE_OK);
    wcodec_fixed_tile_decode(&own, record, &list, shifts, spilled, out, 2 * COLUMNS);
    FUZZ_REQUIRE(memcmp(out, elements, WCODEC_FIXED_TILE_BYTES) == 0);
    fuzz_guarded_free(out, WCODEC_FIXED_TILE_BYTES);
    fuzz_guarded_free(spilled, 4 * WCODEC_FIXED_TILE);
    fuzz_guarded_free(record, f->record_size);
}

/* All tiles by one level, as far as they have bytes [begin, end). */
static void decode(const struct wcodec_fixed *f, const uint8_t *payload, unsigned level,
                   uint64_t begin, uint64_t end, const enum wcodec_tile_fault *faults, uint8_t *out)
{
    struct wcodec_cpu_fixed_dsp dsp;
    wcodec_cpu_fixed_dsp_init(&dsp, wcodec_cpu_levels() & ((2u << level) - 1));
    const struct wcodec_cpu_fixed_job job = {.dsp = &dsp,
                                             .fixed = f,
                                             .shifts = payload,
                                             .spilled = payload + f->spilled_begin,
                                             .spilled_end = f->spilled,
                                             .begin = begin,
                                             .end = end,
                                             .dst = out};
    for (uint64_t tile = 0; tile < f->tiles; tile++)
        FUZZ_REQUIRE(wcodec_cpu_fixed_decode(&job, tile,
                                             payload + f->tiles_begin + tile * f->record_size,
                                             0) == faults[tile]);
}

static void check_payload(const struct wcodec_fixed *f, const uint8_t *payload)
{
    const size_t size = (size_t)f->size;
    const uint64_t cut = payload[f->tiles_begin] * f->size / 256;
    enum wcodec_tile_fault *faults = calloc((size_t)f->tiles, sizeof *faults);
    uint8_t *expected = calloc(1, size), *out = fuzz_guarded(size),
            *tail = fuzz_guarded(size - (size_t)cut), *tile = fuzz_guarded(WCODEC_FIXED_TILE_BYTES);
    for (uint64_t i = 0; i < f->tiles; i++) {
        const uint64_t row = i / f->across * ROWS, column = i % f->across * COLUMNS;
        faults[i] = reference(f, payload, i, tile);
        if (faults[i] != WCODEC_TILE_OK)
            continue;
        code_again(f, payload + row, tile);
        fuzz_deep++;
        for (uint64_t y = row; y < row + ROWS && y < f->rows; y++)
            memcpy(expected + 2 * (y * f->columns + column), tile + 2 * COLUMNS * (y - row),
                   (size_t)(2 * (f->columns - column < COLUMNS ? f->columns - column : COLUMNS)));
    }
    for (unsigned level = 0; level < WCODEC_CPU_LEVELS; level++) {
        memset(out, 0, size);
        memset(tail, 0, size - (size_t)cut);
        decode(f, payload, level, 0, f->size, faults, out);
        decode(f, payload, level, cut, f->size, faults, tail);
        FUZZ_REQUIRE(memcmp(out, expected, size) == 0 &&
                     memcmp(tail, expected + cut, size - (size_t)cut) == 0);
    }
    fuzz_guarded_free(tile, WCODEC_FIXED_TILE_BYTES);
    fuzz_guarded_free(tail, size - (size_t)cut);
    fuzz_guarded_free(out, size);
    free(expected);
    free(faults);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < HEAD)
        return 0;
    const size_t parameters = wcodec_load_u16(data);
    const uint32_t tensor = wcodec_load_u32(data + 2);
    if (parameters > size - HEAD || tensor == 0 || tensor > SIZE_LIMIT)
        return 0;
    struct wcodec_cursor cursor = {data + HEAD, data + HEAD + parameters};
    struct wcodec_fixed fixed;
    wcodec_error err = {0};
    bool newer;
    const wcodec_status status =
        wcodec_fixed_read(&cursor, tensor, WCODEC_DTYPE_BF16, &fixed, &newer, &err);
    FUZZ_REQUIRE(status == WCODEC_OK || (status == WCODEC_ERROR_CORRUPT && err.text[0] != 0));
    if (status != WCODEC_OK || newer)
        return 0;
    uint8_t again[WCODEC_FIXED_MAX_BYTES];
    const size_t read = (size_t)(cursor.at - (data + HEAD));
    FUZZ_REQUIRE(wcodec_fixed_write(&fixed, again) == read &&
                 memcmp(again, data + HEAD, read) == 0);
    FUZZ_REQUIRE(2 * fixed.rows * fixed.columns == tensor);
    if (fixed.payload_size > size - HEAD - parameters) /* as a reader of the index refuses it */
        return 0;
    uint8_t *payload = fuzz_copy(data + HEAD + parameters, (size_t)fixed.payload_size);
    fixed.check = wcodec_fixed_shifts_check(&fixed, payload);
    const wcodec_status front = wcodec_fixed_check_front(&fixed, payload, &err);
    FUZZ_REQUIRE(front == WCODEC_OK || front == WCODEC_ERROR_CORRUPT);
    if (front == WCODEC_OK)
        check_payload(&fixed, payload);
    free(payload);
    return 0;
}
