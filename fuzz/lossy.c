/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* A lossy tensor: u16 bytes of parameters, u8 dtype, u32 size of the tensor, the parameters, packed
 * modes, scales and the zeros behind them, then bytes that are taken for coefficients, over and
 * over. What they give must not depend on which bytes of the tensor are asked for, and must be no
 * NaN. */
#include "coding/lossy.h"
#include "core/error.h"
#include "fuzz/fuzz.h"

const char fuzz_target[] = "lossy";
const bool fuzz_takes_files = false;

enum { SIZE_LIMIT = 1 << 16, COEFFICIENTS_LIMIT = 1 << 18, HEAD = 7 };

static void reconstruct(const struct wcodec_lossy *l, const uint8_t *side,
                        const uint8_t *coefficients, uint64_t begin, uint64_t end, uint8_t *out)
{
    const unsigned element = l->element_log2;
    if (l->plain)
        wcodec_plain_reconstruct(l, side, begin >> element, (end - begin) >> element,
                                 coefficients + (begin >> element << l->coefficient_log2), out);
    for (uint64_t i = 0; i < l->superblocks; i++)
        wcodec_superblock_reconstruct(l, side, i,
                                      coefficients + (i * WCODEC_SUPERBLOCK << l->coefficient_log2),
                                      begin, end, out);
}

static void check_elements(const struct wcodec_lossy *l, const uint8_t *elements)
{
    for (uint64_t i = 0; i < l->elements; i++) {
        const uint8_t *at = elements + (i << l->element_log2);
        const uint32_t magnitude = l->dtype == WCODEC_DTYPE_F32 ? wcodec_load_u32(at) & 0x7fffffff
                                                                : wcodec_load_u16(at) & 0x7fffu;
        FUZZ_REQUIRE(magnitude < (l->dtype == WCODEC_DTYPE_F32    ? 0x7f800000
                                  : l->dtype == WCODEC_DTYPE_BF16 ? 0x7f80
                                                                  : 0x7c01));
    }
}

static void check_lossy(const struct wcodec_lossy *l, const uint8_t *side,
                        const uint8_t *coefficients, uint64_t cut)
{
    uint8_t *whole = fuzz_guarded((size_t)l->size), *head = fuzz_guarded((size_t)cut),
            *tail = fuzz_guarded((size_t)(l->size - cut));
    reconstruct(l, side, coefficients, 0, l->size, whole);
    reconstruct(l, side, coefficients, 0, cut, head);
    reconstruct(l, side, coefficients, cut, l->size, tail);
    FUZZ_REQUIRE(memcmp(whole, head, (size_t)cut) == 0 &&
                 memcmp(whole + cut, tail, (size_t)(l->size - cut)) == 0);
    check_elements(l, whole);
    fuzz_guarded_free(whole, (size_t)l->size);
    fuzz_guarded_free(head, (size_t)cut);
    fuzz_guarded_free(tail, (size_t)(l->size - cut));
}

/* Modes and scales, whose check is made right so that they are looked at; then coefficients of what
 * is left. */
static void try_side(struct wcodec_lossy *l, const uint8_t *rest, size_t left)
{
    const size_t side_size = (size_t)wcodec_lossy_tiles_begin(l),
                 count = (size_t)wcodec_lossy_coefficients(l) << l->coefficient_log2;
    wcodec_error err = {0};
    uint8_t *side = fuzz_copy(rest, side_size);
    l->check = wcodec_lossy_side_check(l, side);
    wcodec_status status = wcodec_lossy_check_side(l, side, &err);
    FUZZ_REQUIRE(status == WCODEC_OK || (status == WCODEC_ERROR_CORRUPT && err.text[0] != 0));
    if (status == WCODEC_OK) {
        uint8_t *coefficients = fuzz_guarded(count);
        for (size_t i = 0; i < count; i++)
            coefficients[i] =
                left > side_size ? rest[side_size + i % (left - side_size)] : (uint8_t)i;
        fuzz_deep++;
        check_lossy(l, side, coefficients,
                    (coefficients[0] * l->size / 256) >> l->element_log2 << l->element_log2);
        fuzz_guarded_free(coefficients, count);
    }
    free(side);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < HEAD)
        return 0;
    const size_t parameters = wcodec_load_u16(data);
    const uint32_t tensor = wcodec_load_u32(data + 3);
    if (parameters > size - HEAD || tensor == 0 || tensor > SIZE_LIMIT)
        return 0;
    struct wcodec_cursor cursor = {data + HEAD, data + HEAD + parameters};
    struct wcodec_lossy lossy;
    struct wcodec_tiling tiling;
    wcodec_error err = {0};
    bool newer;
    wcodec_status status =
        wcodec_lossy_read(&cursor, tensor, (wcodec_dtype)data[2], &lossy, &tiling, &newer, &err);
    FUZZ_REQUIRE(status == WCODEC_OK || (status == WCODEC_ERROR_CORRUPT && err.text[0] != 0));
    if (status != WCODEC_OK || newer)
        return 0;
    uint8_t again[WCODEC_LOSSY_MAX_BYTES];
    const size_t read = (size_t)(cursor.at - (data + HEAD));
    FUZZ_REQUIRE(wcodec_lossy_write(&lossy, &tiling, again) == read &&
                 memcmp(again, data + HEAD, read) == 0);
    FUZZ_REQUIRE(tiling.size == wcodec_lossy_coefficients(&lossy) << lossy.coefficient_log2 &&
                 lossy.rows * lossy.columns << lossy.element_log2 == tensor);
    const size_t left = size - HEAD - parameters;
    /* What a reader of the index has refused already, or a limit of this target. */
    if (wcodec_lossy_tiles_begin(&lossy) > left ||
        wcodec_lossy_coefficients(&lossy) > COEFFICIENTS_LIMIT)
        return 0;
    try_side(&lossy, data + HEAD + parameters, left);
    return 0;
}
