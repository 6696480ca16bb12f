/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "write/part.h"
#include "write/batch.h"
#include "core/error.h"
#include "core/memory.h"

/* Bytes that are no tensor, as the next entry. */
static wcodec_status put_blob(wcodec_context *context,
                              const struct wcodec_encode_settings *settings,
                              struct wcodec_output *output, const uint8_t *bytes, uint64_t size,
                              wcodec_error *err)
{
    struct wcodec_encode_settings own = *settings;
    struct wcodec_entry what = {.size = size};
    struct wcodec_coded coded;
    own.quick = true;
    own.inline_most = 0;
    wcodec_status status = wcodec_output_hash(context, output, bytes, size, err);
    if (status == WCODEC_OK)
        status = wcodec_code_bytes(context, &own, false, &what, bytes, &coded, err);
    if (status != WCODEC_OK)
        return status;
    status = wcodec_coded_hash(context, output->original.leaf, &coded, &what.payload_hash, err);
    if (status == WCODEC_OK)
        status = wcodec_output_coded(output, &what, &coded, err);
    if (status == WCODEC_OK)
        status = wcodec_output_write(context, output, 1, NULL, err);
    wcodec_coded_free(&coded);
    return status;
}

wcodec_status wcodec_part_begin(struct wcodec_file_part *part, wcodec_context *context,
                                const struct wcodec_encode_settings *settings,
                                struct wcodec_output *output, wcodec_error *err)
{
    struct wcodec_span_maker *span = &part->span;
    const wcodec_status status =
        wcodec_span_begin(span, &output->original, &context->allocator, err);
    if (status != WCODEC_OK || span->pad == 0)
        return status;
    return put_blob(context, settings, output, span->front, span->pad, err);
}

static void write_head(const struct wcodec_dedup *dedup, uint8_t *to)
{
    memcpy(to, WCODEC_PART_MAGIC, WCODEC_PART_MAGIC_SIZE);
    wcodec_store_u64(to + WCODEC_PART_MAGIC_SIZE, dedup->count);
    to += WCODEC_PART_HEAD_SIZE;
    for (uint64_t i = 0; i < dedup->count; i++, to += WCODEC_PART_ITEM_SIZE) {
        wcodec_store_u64(to, dedup->items[i].hash.low);
        wcodec_store_u64(to + 8, dedup->items[i].hash.high);
        wcodec_store_u64(to + 16, dedup->items[i].entry);
    }
}

wcodec_status wcodec_part_end(struct wcodec_file_part *part, wcodec_context *context,
                              const struct wcodec_encode_settings *settings,
                              const struct wcodec_dedup *dedup, uint64_t source_size,
                              struct wcodec_output *output, wcodec_error *err)
{
    const wcodec_allocator *allocator = &context->allocator;
    const uint64_t head = WCODEC_PART_HEAD_SIZE + dedup->count * WCODEC_PART_ITEM_SIZE;
    uint8_t *span = NULL, *record = NULL;
    uint64_t size;
    wcodec_status status =
        wcodec_span_end(&part->span, &output->original, source_size, allocator, &span, &size, err);
    if (status == WCODEC_OK && (record = wcodec_alloc_array(allocator, head + size, 1)) == NULL)
        status = wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for a part's hashes");
    if (status == WCODEC_OK) {
        write_head(dedup, record);
        memcpy(record + head, span, (size_t)size);
        status = put_blob(context, settings, output, record, head + size, err);
    }
    wcodec_free(allocator, span);
    wcodec_free(allocator, record);
    return status;
}

void wcodec_part_free(struct wcodec_file_part *part, const wcodec_allocator *allocator)
{
    wcodec_span_free(&part->span, allocator);
}

bool wcodec_part_read(const uint8_t *bytes, uint64_t size, struct wcodec_part_record *record)
{
    struct wcodec_part_record r;
    if (size < WCODEC_PART_HEAD_SIZE ||
        memcmp(bytes, WCODEC_PART_MAGIC, WCODEC_PART_MAGIC_SIZE) != 0)
        return false;
    r.item_count = wcodec_load_u64(bytes + WCODEC_PART_MAGIC_SIZE);
    r.items = bytes + WCODEC_PART_HEAD_SIZE;
    size -= WCODEC_PART_HEAD_SIZE;
    if (r.item_count > size / WCODEC_PART_ITEM_SIZE)
        return false;
    const uint64_t items = r.item_count * WCODEC_PART_ITEM_SIZE;
    if (!wcodec_span_read(r.items + items, size - items, &r.span))
        return false;
    *record = r;
    return true;
}
