/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Entries that all threads together decode, or a device, into one buffer. */

#include "read/restore.h"
#include "core/error.h"
#include <inttypes.h>

/* A chunk always fits. Where memory is limited, parts take an eighth of it. */
#define PART_BYTES ((uint64_t)WCODEC_CHUNK_MAX)

/* Of records, at once. */
#define RECORDS_BYTES ((uint64_t)2 << 20)

/* Is its payload hashed while it is decoded? */
static bool is_hashed_on_the_way(const struct wcodec_entry *e)
{
    return e->coding == WCODEC_CODING_CHUNKS || e->payload_size == 0;
}

static wcodec_status check_payload_hash(struct wcodec_restore_part *part, wcodec_error *err)
{
    const struct wcodec_entry *e = part->entry;
    return part->hash.leaves == NULL
               ? WCODEC_OK
               : wcodec_check_payload_hash(e, wcodec_tree_end(&part->hash, e->payload_size), err);
}

static wcodec_status open_entry(struct wcodec_restore *r, struct wcodec_restore_part *part,
                                wcodec_error *err)
{
    const struct wcodec_entry *e = part->entry;
    wcodec_status status = WCODEC_OK;
    status = wcodec_check_headers(r->context, &r->headers, r->entry + 1, err);
    if (status == WCODEC_OK && e->payload_size > 0)
        status =
            wcodec_check_gap(r->source, wcodec_gap_begin(e, r->position), e->payload_offset, err);
    if (status == WCODEC_OK && e->is_tensor && e->size > r->context->limits.max_tensor_bytes)
        status = wcodec_fail(err, WCODEC_ERROR_LIMIT,
                             "%" PRIu64 " bytes are more than the limit of %" PRIu64, e->size,
                             r->context->limits.max_tensor_bytes);
    const bool hashed = r->checks && e->payload_size > 0;
    if (status == WCODEC_OK && hashed)
        status = wcodec_tree_init(&part->hash, &r->context->allocator, r->leaf,
                                  e->payload_size / WCODEC_LEAF_BYTES + 1, err);
    if (status != WCODEC_OK)
        return status;
    const struct wcodec_decoder_input input = {.context = r->context,
                                               .source = r->source,
                                               .entry = wcodec_shard_resolve(r->shard, e),
                                               .bases = r->shard->bases,
                                               .held = r->base + r->held,
                                               .verify = r->checks,
                                               .announced = true,
                                               .whole = true,
                                               .hash = hashed ? &part->hash : NULL};
    status = wcodec_decoder_open(&input, &part->decoder, err);
    /* All else is in memory already: damage is found before anything is decoded. */
    if (status == WCODEC_OK && !is_hashed_on_the_way(e)) {
        status = check_payload_hash(part, err);
        if (status != WCODEC_OK)
            wcodec_decoder_close(&part->decoder);
    }
    return status;
}

void wcodec_restore_part_close(struct wcodec_restore_part *part)
{
    if (part->entry != NULL)
        wcodec_decoder_close(&part->decoder);
    wcodec_tree_free(&part->hash);
    part->entry = NULL;
}

/* Bytes of the open entry that go next into a buffer with `capacity` left: whole tiles, chunks or
 * rows of blocks, so that none is decoded twice. Records take a few at a time: memory that was not
 * touched before takes longer than to decode it. */
static uint64_t next_size(const struct wcodec_restore_part *part, uint64_t capacity)
{
    const uint64_t left = part->entry->size - part->at, unit = wcodec_decoder_unit(&part->decoder);
    const uint64_t few = unit > RECORDS_BYTES ? unit : RECORDS_BYTES;
    if (part->decoder.records != NULL && capacity > few)
        capacity = few;
    return left <= capacity ? left : capacity - capacity % unit;
}

static wcodec_status decode(struct wcodec_restore_part *part, uint8_t *dst, uint64_t capacity,
                            uint64_t *size, wcodec_error *err)
{
    struct wcodec_reporter silent = {0};
    const uint64_t count = next_size(part, capacity);
    wcodec_status status =
        wcodec_decoder_range(&part->decoder, part->at, part->at + count, dst, &silent, err);
    part->at += count;
    *size = count;
    if (status == WCODEC_OK && part->at == part->entry->size && is_hashed_on_the_way(part->entry))
        status = check_payload_hash(part, err);
    return status;
}

wcodec_status wcodec_restore_part(struct wcodec_restore *r, struct wcodec_restore_part *part,
                                  uint8_t *dst, uint64_t capacity, uint64_t *size,
                                  wcodec_error *err)
{
    wcodec_status status = WCODEC_OK;
    const struct wcodec_entry *e =
        part->entry != NULL ? part->entry : &r->shard->index->entries[r->entry];
    if (part->entry == NULL) {
        *part = (struct wcodec_restore_part){.entry = e};
        status = open_entry(r, part, err);
        if (status != WCODEC_OK)
            wcodec_tree_free(&part->hash);
        part->entry = status == WCODEC_OK ? e : NULL;
    }
    if (status == WCODEC_OK)
        status = decode(part, dst, capacity, size, err);
    if (status != WCODEC_OK) {
        wcodec_shard_prefix(r->shard, e, err);
        return status;
    }
    r->offset += *size;
    if (part->at == e->size) {
        wcodec_restore_part_close(part);
        r->position = wcodec_position_after(e, r->position);
        r->entry++;
        r->at_part = false;
    }
    return WCODEC_OK;
}

/* Of what is decoded together in an entry. */
static uint64_t unit_of(const struct wcodec_entry *e)
{
    struct wcodec_layout layout;
    if (e->newer)
        return 1;
    if (e->coding == WCODEC_CODING_CHUNKS)
        return e->u.chunk;
    if (e->coding == WCODEC_CODING_FIXED) {
        struct wcodec_fixed fixed;
        wcodec_entry_fixed(e, &fixed);
        return wcodec_fixed_band_size(&fixed);
    }
    if (e->coding == WCODEC_CODING_RECORDS)
        return wcodec_records_unit(e);
    if (e->coding == WCODEC_CODING_DELTA)
        return wcodec_delta_unit(e);
    if (e->coding == WCODEC_CODING_MASKED)
        return wcodec_masked_unit(e);
    if (e->coding == WCODEC_CODING_ANCHORED)
        return wcodec_anchored_unit(e);
    if (e->coding == WCODEC_CODING_TILES || !wcodec_entry_has_tiles(e))
        return 1;
    wcodec_layout_derive(e, &layout);
    return layout.bands.size;
}

uint64_t wcodec_restore_part_bytes(const struct wcodec_restore *r)
{
    const struct wcodec_index *index = r->shard->index;
    uint64_t most = r->context->limits.max_memory / 8,
             largest = (uint64_t)1 << (WCODEC_TILE_LOG2_MAX + 3);
    for (uint64_t i = 0; i < index->entry_count; i++) {
        const uint64_t unit = unit_of(&index->entries[i]);
        largest = unit > largest ? unit : largest;
    }
    if (most > PART_BYTES)
        most = PART_BYTES;
    if (most < largest)
        most = largest;
    /* A file of no bytes has entries to look at too. */
    return index->size == 0 ? 1 : index->size < most ? index->size : most;
}
