/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* A tensor in blocks: u16 bytes of parameters, u32 size of the tensor, the parameters, the packed
 * modes and the zeros behind them, then bytes that are taken for residuals, over and over. What
 * they give must not depend on which bytes of the tensor are asked for, and must give the residuals
 * back. */
#include "coding/blocks.h"
#include "core/error.h"
#include "fuzz/fuzz.h"

const char fuzz_target[] = "blocks";
const bool fuzz_takes_files = false;

enum { SIZE_LIMIT = 1 << 16, BLOCKS_LIMIT = 1 << 10 };

static void reconstruct(const struct wcodec_blocks *b, const uint8_t *modes,
                        const uint8_t *residuals, uint64_t begin, uint64_t end, uint8_t *out)
{
    for (uint64_t i = 0; i < b->count; i++)
        wcodec_block_reconstruct(b, i, wcodec_blocks_mode(b, modes, i),
                                 residuals + (i * WCODEC_BLOCK << b->element_log2), begin, end,
                                 out);
}

static void check_blocks(const struct wcodec_blocks *b, const uint8_t *modes,
                         const uint8_t *residuals, uint64_t cut)
{
    uint8_t *whole = fuzz_guarded((size_t)b->size), *head = fuzz_guarded((size_t)cut),
            *tail = fuzz_guarded((size_t)(b->size - cut));
    reconstruct(b, modes, residuals, 0, b->size, whole);
    reconstruct(b, modes, residuals, 0, cut, head);
    reconstruct(b, modes, residuals, cut, b->size, tail);
    FUZZ_REQUIRE(memcmp(whole, head, (size_t)cut) == 0 &&
                 memcmp(whole + cut, tail, (size_t)(b->size - cut)) == 0);
    for (uint64_t i = 0; i < b->count; i++) {
        uint16_t elements[WCODEC_BLOCK], again[WCODEC_BLOCK];
        uint8_t bytes[2 * WCODEC_BLOCK];
        const unsigned mode = wcodec_blocks_mode(b, modes, i);
        wcodec_block_load(b, whole, i, elements);
        wcodec_block_residuals(mode, b->element_log2, elements, again);
        wcodec_residuals_store(b, again, bytes);
        FUZZ_REQUIRE(wcodec_block_is_right(b, i, mode, bytes, whole));
        /* Without padding there is one way only. */
        if (b->rows % WCODEC_BLOCK_SIDE == 0 && b->columns % WCODEC_BLOCK_SIDE == 0)
            FUZZ_REQUIRE(memcmp(bytes, residuals + (i * WCODEC_BLOCK << b->element_log2),
                                (size_t)WCODEC_BLOCK << b->element_log2) == 0);
    }
    fuzz_guarded_free(whole, (size_t)b->size);
    fuzz_guarded_free(head, (size_t)cut);
    fuzz_guarded_free(tail, (size_t)(b->size - cut));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 6)
        return 0;
    const size_t parameters = wcodec_load_u16(data);
    const uint32_t tensor = wcodec_load_u32(data + 2);
    if (parameters > size - 6 || tensor == 0 || tensor > SIZE_LIMIT)
        return 0;
    struct wcodec_cursor cursor = {data + 6, data + 6 + parameters};
    struct wcodec_blocks blocks;
    struct wcodec_tiling tiling;
    wcodec_error err = {0};
    bool newer;
    wcodec_status status = wcodec_blocks_read(&cursor, tensor, &blocks, &tiling, &newer, &err);
    FUZZ_REQUIRE(status == WCODEC_OK || (status == WCODEC_ERROR_CORRUPT && err.text[0] != 0));
    if (status != WCODEC_OK || newer)
        return 0;
    uint8_t again[WCODEC_BLOCKS_MAX_BYTES];
    FUZZ_REQUIRE(wcodec_blocks_write(&blocks, &tiling, again) == parameters &&
                 memcmp(again, data + 6, parameters) == 0);
    FUZZ_REQUIRE(tiling.size == wcodec_blocks_residual_size(&blocks) &&
                 blocks.rows * blocks.columns << blocks.element_log2 == tensor);
    const uint8_t *rest = data + 6 + parameters;
    const size_t left = size - 6 - parameters,
                 modes_size = (size_t)wcodec_blocks_tiles_begin(&blocks);
    if (modes_size > left || blocks.count > BLOCKS_LIMIT)
        return 0; /* what a reader of the index has refused already, or a limit of this target */
    uint8_t *modes = fuzz_copy(rest, modes_size);
    status = wcodec_blocks_check_modes(&blocks, modes, &err);
    FUZZ_REQUIRE(status == WCODEC_OK || (status == WCODEC_ERROR_CORRUPT && err.text[0] != 0));
    if (status == WCODEC_OK) {
        const size_t count = (size_t)wcodec_blocks_residual_size(&blocks);
        uint8_t *residuals = malloc(count);
        FUZZ_REQUIRE(residuals);
        for (size_t i = 0; i < count; i++)
            residuals[i] =
                left > modes_size ? rest[modes_size + i % (left - modes_size)] : (uint8_t)i;
        fuzz_deep++;
        check_blocks(&blocks, modes, residuals, residuals[0] * tensor / 256);
        free(residuals);
    }
    free(modes);
    return 0;
}
