/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "write/part.h"
#include "write/batch.h"
#include "core/error.h"
#include "core/memory.h"

enum { LEAF = WCODEC_LEAF_BYTES };

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
    const wcodec_allocator *allocator = &context->allocator;
    const uint64_t leaves = (part->last - part->first) / LEAF + 2;
    part->pad = part->first % LEAF;
    part->leaves = wcodec_alloc_array(allocator, leaves, sizeof *part->leaves);
    part->front = wcodec_alloc_zeroed(allocator, LEAF);
    if (part->leaves == NULL || part->front == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for a part's hashes");
    output->original.kept = part->leaves;
    output->original.kept_first = part->front;
    return part->pad != 0 ? put_blob(context, settings, output, part->front, part->pad, err)
                          : WCODEC_OK;
}

static uint8_t *put_u64(uint8_t *to, uint64_t value)
{
    wcodec_store_u64(to, value);
    return to + 8;
}

static uint8_t *put_bytes(uint8_t *to, const uint8_t *bytes, uint64_t size)
{
    if (size != 0)
        memcpy(to, bytes, (size_t)size);
    return to + size;
}

static uint64_t record_size(const struct wcodec_part_record *r)
{
    return WCODEC_PART_RECORD_SIZE + r->front_size + r->back_size +
           r->leaf_count * WCODEC_PART_LEAF_SIZE + r->item_count * WCODEC_PART_ITEM_SIZE;
}

static void write_record(const struct wcodec_file_part *part, const struct wcodec_part_record *r,
                         const struct wcodec_dedup *dedup, uint8_t *to)
{
    const bool shared = part->pad != 0; /* the first leaf */
    to = put_bytes(to, (const uint8_t *)WCODEC_PART_MAGIC, WCODEC_PART_MAGIC_SIZE);
    to = put_u64(to, r->begin);
    to = put_u64(to, r->end);
    to = put_u64(to, r->source_size);
    to = put_u64(to, r->front_size);
    to = put_u64(to, r->back_size);
    to = put_u64(to, r->leaf_count);
    to = put_u64(to, r->item_count);
    to = put_bytes(to, r->front, r->front_size);
    to = put_bytes(to, r->back, r->back_size);
    for (uint64_t i = 0; i < r->leaf_count; i++) {
        to = put_u64(to, part->leaves[i + shared].low);
        to = put_u64(to, part->leaves[i + shared].high);
    }
    for (uint64_t i = 0; i < r->item_count; i++) {
        to = put_u64(to, dedup->items[i].hash.low);
        to = put_u64(to, dedup->items[i].hash.high);
        to = put_u64(to, dedup->items[i].entry);
    }
}

wcodec_status wcodec_part_end(struct wcodec_file_part *part, wcodec_context *context,
                              const struct wcodec_encode_settings *settings,
                              const struct wcodec_dedup *dedup, uint64_t source_size,
                              struct wcodec_output *output, wcodec_error *err)
{
    const wcodec_allocator *allocator = &context->allocator;
    struct wcodec_tree *tree = &output->original;
    struct wcodec_part_record r = {.begin = part->first,
                                   .end = part->last,
                                   .source_size = source_size,
                                   .item_count = dedup->count};
    wcodec_tree_advance(tree);
    const uint64_t whole = output->hashed / LEAF;
    if (whole == 0) { /* all of it is in one leaf */
        r.back_size = part->last - part->first;
        r.back = r.back_size != 0 ? wcodec_tree_rest(tree) + part->pad : NULL;
    } else {
        r.front_size = part->pad != 0 ? LEAF - part->pad : 0;
        r.front = part->front + part->pad;
        r.back_size = output->hashed % LEAF;
        r.back = r.back_size != 0 ? wcodec_tree_rest(tree) : NULL;
        r.leaf_count = whole - (part->pad != 0);
    }
    const uint64_t size = record_size(&r);
    uint8_t *record = wcodec_alloc_array(allocator, size, 1);
    if (record == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for a part's hashes");
    write_record(part, &r, dedup, record);
    tree->kept = NULL; /* what follows is no part of the original */
    tree->kept_first = NULL;
    const wcodec_status status = put_blob(context, settings, output, record, size, err);
    wcodec_free(allocator, record);
    return status;
}

void wcodec_part_free(struct wcodec_file_part *part, const wcodec_allocator *allocator)
{
    wcodec_free(allocator, part->leaves);
    wcodec_free(allocator, part->front);
    part->leaves = NULL;
    part->front = NULL;
}

/* Do `count` things of `each` bytes fit into what is left? */
static bool take(uint64_t *left, uint64_t count, uint64_t each)
{
    if (count > *left / each)
        return false;
    *left -= count * each;
    return true;
}

/* Do the pieces lie where leaves of the original say? */
static bool is_consistent(const struct wcodec_part_record *r)
{
    if (r->begin > r->end || r->end > r->source_size || r->front_size >= LEAF ||
        r->back_size >= LEAF || r->leaf_count > r->source_size / LEAF ||
        r->end - r->begin != r->front_size + r->leaf_count * LEAF + r->back_size)
        return false;
    const uint64_t at = r->begin + r->front_size;
    return at % LEAF == 0 ||
           (r->front_size == 0 && r->leaf_count == 0 && at % LEAF + r->back_size < LEAF);
}

bool wcodec_part_read(const uint8_t *bytes, uint64_t size, struct wcodec_part_record *record)
{
    struct wcodec_part_record r;
    if (size < WCODEC_PART_RECORD_SIZE ||
        memcmp(bytes, WCODEC_PART_MAGIC, WCODEC_PART_MAGIC_SIZE) != 0)
        return false;
    const uint8_t *at = bytes + WCODEC_PART_MAGIC_SIZE;
    uint64_t *const numbers[] = {&r.begin,     &r.end,        &r.source_size, &r.front_size,
                                 &r.back_size, &r.leaf_count, &r.item_count};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++, at += 8)
        *numbers[i] = wcodec_load_u64(at);
    uint64_t left = size - WCODEC_PART_RECORD_SIZE;
    if (!is_consistent(&r) || !take(&left, r.front_size, 1) || !take(&left, r.back_size, 1) ||
        !take(&left, r.leaf_count, WCODEC_PART_LEAF_SIZE) ||
        !take(&left, r.item_count, WCODEC_PART_ITEM_SIZE) || left != 0)
        return false;
    r.front = at;
    r.back = r.front + r.front_size;
    r.leaves = r.back + r.back_size;
    r.items = r.leaves + r.leaf_count * WCODEC_PART_LEAF_SIZE;
    *record = r;
    return true;
}
