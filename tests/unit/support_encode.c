/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "support_encode.h"

#include "coding/chunks.h"
#include "coding/packed.h"
#include "coding/tile.h"
#include "core/error.h"
#include "core/memory.h"
#include "support.h"

uint8_t *support_coded_payload(const struct wcodec_coded *coded)
{
    uint8_t *payload = malloc(coded->payload_size + 1);
    uint64_t at = 0;
    assert_non_null(payload);
    for (unsigned i = 0; i < coded->part_count; i++) {
        assert_true(at + coded->parts[i].size <= coded->payload_size);
        if (coded->parts[i].size)
            memcpy(payload + at, coded->parts[i].data, coded->parts[i].size);
        at += coded->parts[i].size;
    }
    assert_int_equal(at, coded->payload_size);
    return payload;
}

static wcodec_status decode_payload(const struct wcodec_tiling *tiling, const uint8_t *payload,
                                    uint64_t payload_size, uint8_t *out, wcodec_error *err)
{
    struct wcodec_tiles *tiles;
    struct wcodec_view view;
    wcodec_status status =
        wcodec_tiles_read(tiling, payload, payload_size, &wcodec_default_allocator, &tiles, err);
    if (status != WCODEC_OK)
        return status;
    wcodec_view_whole(payload, &view);
    for (uint64_t tile = 0; tile < tiling->tiles && !status; tile++) {
        enum wcodec_tile_fault fault = wcodec_tile_decode(
            tiles, &view, tile, out + (tile << (tiling->tile_log2 + tiling->element_log2)), true);
        if (fault)
            status = wcodec_fail(err, WCODEC_ERROR_CORRUPT, "tile %u: %s", (unsigned)tile,
                                 wcodec_tile_fault_string(fault));
    }
    wcodec_tiles_free(tiles);
    return status;
}

static wcodec_status decode_tiles(const struct wcodec_coded *coded, const uint8_t *payload,
                                  uint64_t size, uint8_t *out, wcodec_error *err)
{
    uint8_t parameters[WCODEC_TILING_MAX_BYTES];
    struct wcodec_tiling tiling;
    struct wcodec_cursor cursor = {parameters,
                                   parameters + wcodec_tiling_write(coded->tiling, parameters)};
    wcodec_status status = wcodec_tiling_read(&cursor, size, &tiling, err);
    if (status != WCODEC_OK)
        return status;
    if (coded->unpacked_size == 0)
        return decode_payload(&tiling, payload, coded->payload_size, out, err);
    uint8_t *unpacked = malloc(coded->unpacked_size);
    assert_non_null(unpacked);
    status = wcodec_packed_read(&tiling, payload, (size_t)coded->payload_size, unpacked,
                                coded->unpacked_size, err);
    if (status == WCODEC_OK)
        status = decode_payload(&tiling, unpacked, coded->unpacked_size, out, err);
    free(unpacked);
    return status;
}

static wcodec_status decode_chunks(const struct wcodec_coded *coded, const uint8_t *payload,
                                   uint64_t size, uint8_t *out, wcodec_error *err)
{
    struct wcodec_chunks *chunks;
    wcodec_status status = wcodec_chunks_read(size, coded->chunk, payload, coded->payload_size,
                                              &wcodec_default_allocator, &chunks, err);
    if (status != WCODEC_OK)
        return status;
    for (uint64_t i = 0; i < chunks->count && !status; i++)
        status = wcodec_chunk_decode(chunks, i, payload + chunks->offsets[i],
                                     out + i * coded->chunk, true, NULL, err);
    wcodec_chunks_free(chunks);
    return status;
}

wcodec_status support_coded_decode(const struct wcodec_coded *coded, uint64_t size, uint8_t *out,
                                   wcodec_error *err)
{
    if (coded->coding == 0) {
        uint64_t width = (uint64_t)1 << coded->constant_element_log2;
        assert_int_equal(size % width, 0);
        for (uint64_t i = 0; i < size; i++)
            out[i] = coded->constant_element[i % width];
        return WCODEC_OK;
    }
    uint8_t *payload = support_coded_payload(coded);
    wcodec_status status = coded->coding == 1 ? decode_tiles(coded, payload, size, out, err)
                                              : decode_chunks(coded, payload, size, out, err);
    free(payload);
    return status;
}
