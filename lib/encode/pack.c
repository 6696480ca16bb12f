/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Small payloads are packed where that saves enough: readers unpack them first. */
#include "encode/assemble.h"

#include "coding/packed.h"
#include "core/error.h"

enum {
    /* What packing must save below levels for size, one part in so many. Unpacking takes as long as
     * a quarter of decoding where payloads have 2 KiB, and little where they are larger. */
    WORTH_TINY = 40,
    WORTH = 500,
    TINY = 1 << 12, /* bytes of a payload */
    RECORD = 3      /* bytes that the entry's record takes more */
};

static uint64_t least_saving(int level, uint64_t size)
{
    return level >= WCODEC_LEVEL_SIZE ? 0 : size / (size < TINY ? WORTH_TINY : WORTH);
}

static bool pays(int level, uint64_t size, uint64_t packed)
{
    const uint64_t saved = size > packed + RECORD ? size - packed - RECORD : 0;
    return saved > least_saving(level, size);
}

/* Packing takes a tenth of the time of coding: not where it can hardly pay. */
static bool is_tried(int level, const struct wcodec_coded *coded)
{
    const uint64_t about = wcodec_packed_saving(coded->tiling);
    return level >= WCODEC_LEVEL_SIZE ||
           about + about / 4 > least_saving(level, coded->payload_size);
}

/* One part in place of all, where those were if there is room: so that what is freed does not lie
 * between what stays, and is lost to a batch of many. */
static void take(struct wcodec_coded *coded, uint8_t *packed, size_t size)
{
    for (size_t i = 0; i < coded->part_count; i++)
        wcodec_free(coded->allocator, coded->parts[i].data);
    uint8_t *fitting = wcodec_alloc(coded->allocator, size);
    if (fitting != NULL) {
        memcpy(fitting, packed, size);
        wcodec_free(coded->allocator, packed);
        packed = fitting;
    }
    coded->unpacked_size = (uint32_t)coded->payload_size;
    coded->payload_size = size;
    coded->part_count = 1;
    coded->parts[0] = (struct wcodec_coded_part){packed, size};
    coded->range_count = 0;
}

wcodec_status wcodec_coded_pack(const struct wcodec_encode_settings *settings,
                                struct wcodec_coded *coded, wcodec_error *err)
{
    const size_t size = (size_t)coded->payload_size;
    const bool check = !settings->verify_parts; /* else that comes with the rest */
    if (coded->coding != WCODEC_CODING_TILES || settings->latency ||
        !wcodec_packed_applies(coded->tiling, coded->payload_size) ||
        !is_tried(settings->level, coded))
        return WCODEC_OK;
    uint8_t *payload = wcodec_alloc(coded->allocator, check ? 2 * size : size), *packed;
    if (payload == NULL || (packed = wcodec_alloc(coded->allocator, size)) == NULL) {
        wcodec_free(coded->allocator, payload);
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for a packed payload");
    }
    wcodec_coded_join(coded, payload);
    const size_t made = wcodec_packed_write(coded->tiling, payload, size, packed, size);
    wcodec_status status = WCODEC_OK;
    const bool pack = made != 0 && pays(settings->level, size, made);
    if (pack && check &&
        (wcodec_packed_read(coded->tiling, packed, made, payload + size, size, NULL) != WCODEC_OK ||
         memcmp(payload, payload + size, size) != 0))
        status = wcodec_fail(err, WCODEC_ERROR_DEVICE,
                             "a packed payload is not what was packed: this machine computes "
                             "wrongly");
    wcodec_free(coded->allocator, payload);
    if (status == WCODEC_OK && pack)
        take(coded, packed, made);
    else
        wcodec_free(coded->allocator, packed);
    return status;
}

wcodec_status wcodec_coded_verify_packed(wcodec_context *context,
                                         const struct wcodec_encode_settings *settings,
                                         const struct wcodec_coded *coded, const void *data,
                                         wcodec_error *err)
{
    const wcodec_allocator *allocator = &context->allocator;
    const struct wcodec_tiling *t = coded->tiling;
    struct wcodec_coded_part parts[1 + WCODEC_AREAS];
    struct wcodec_coded own = *coded;
    struct wcodec_tiles *tiles;
    uint8_t *payload = wcodec_alloc(allocator, coded->unpacked_size);
    if (payload == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for a packed payload");
    wcodec_status status = wcodec_packed_read(t, coded->parts[0].data, (size_t)coded->parts[0].size,
                                              payload, coded->unpacked_size, err);
    if (status == WCODEC_OK)
        status = wcodec_tiles_read(t, payload, coded->unpacked_size, allocator, &tiles, err);
    if (status == WCODEC_OK) {
        parts[0] = (struct wcodec_coded_part){payload, t->prefix_size};
        for (unsigned a = 0; a < WCODEC_AREAS; a++)
            parts[1 + a] = (struct wcodec_coded_part){payload + tiles->area_begin[a],
                                                      tiles->area_end[a] - tiles->area_begin[a]};
        wcodec_tiles_free(tiles);
        own.parts = parts;
        own.part_count = 1 + WCODEC_AREAS;
        own.payload_size = own.unpacked_size;
        own.unpacked_size = 0;
        own.range_tiles = t->tiles;
        own.range_count = 1;
        status = wcodec_coded_verify(context, settings, &own, data, NULL, err);
    }
    wcodec_free(allocator, payload);
    return status == WCODEC_ERROR_CORRUPT ? WCODEC_ERROR_DEVICE : status;
}
