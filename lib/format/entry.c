/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* What the parameters of an entry say, parsed again from bytes that were validated. */

#include "format/index.h"
#include "core/error.h"
#include "core/memory.h"
#include "io/source.h"
#include <inttypes.h>

void wcodec_entry_tiling(const struct wcodec_entry *entry, struct wcodec_tiling *tiling)
{
    struct wcodec_cursor c = {entry->parameters, entry->parameters + entry->parameters_size};
    (void)wcodec_tiling_read(&c, entry->size, tiling, NULL);
}

wcodec_status wcodec_entry_unpack(const struct wcodec_entry *entry, const uint8_t *stored,
                                  uint8_t *payload, wcodec_error *err)
{
    struct wcodec_tiling tiling;
    wcodec_entry_tiling(entry, &tiling);
    return wcodec_packed_read(&tiling, stored, (size_t)entry->payload_size, payload,
                              entry->unpacked_size, err);
}

wcodec_status wcodec_entry_read_packed(const struct wcodec_entry *e,
                                       const struct wcodec_source *source,
                                       const wcodec_allocator *allocator, uint8_t *payload,
                                       wcodec_error *err)
{
    uint8_t *stored = wcodec_alloc_array(allocator, e->payload_size, 1);
    if (stored == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory: %" PRIu64 " bytes",
                           e->payload_size);
    wcodec_status status =
        wcodec_source_read(source, e->payload_offset, stored, (size_t)e->payload_size, err);
    if (status == WCODEC_OK)
        status = wcodec_entry_unpack(e, stored, payload, err);
    wcodec_free(allocator, stored);
    return status;
}

void wcodec_entry_blocks(const struct wcodec_entry *entry, struct wcodec_blocks *blocks,
                         struct wcodec_tiling *tiling)
{
    struct wcodec_cursor c = {entry->parameters, entry->parameters + entry->parameters_size};
    bool newer;
    (void)wcodec_blocks_read(&c, entry->size, blocks, tiling, &newer, NULL);
}

void wcodec_entry_lossy(const struct wcodec_entry *entry, struct wcodec_lossy *lossy,
                        struct wcodec_tiling *tiling)
{
    struct wcodec_cursor c = {entry->parameters, entry->parameters + entry->parameters_size};
    bool newer;
    (void)wcodec_lossy_read(&c, entry->size, (wcodec_dtype)entry->dtype, lossy, tiling, &newer,
                            NULL);
}

void wcodec_entry_fixed(const struct wcodec_entry *entry, struct wcodec_fixed *fixed)
{
    struct wcodec_cursor c = {entry->parameters, entry->parameters + entry->parameters_size};
    bool newer;
    (void)wcodec_fixed_read(&c, entry->size, (wcodec_dtype)entry->dtype, fixed, &newer, NULL);
}

void wcodec_entry_fragments(const struct wcodec_entry *entry, struct wcodec_fragments *fragments,
                            struct wcodec_tiling *tiling)
{
    struct wcodec_cursor c = {entry->parameters, entry->parameters + entry->parameters_size};
    bool newer;
    (void)wcodec_fragments_read(&c, entry->size, fragments, tiling, &newer, NULL);
}

void wcodec_entry_records(const struct wcodec_entry *entry, struct wcodec_records *records)
{
    struct wcodec_cursor c = {entry->parameters, entry->parameters + entry->parameters_size};
    bool newer;
    (void)wcodec_records_read(&c, entry->size, entry->payload_size, records, &newer, NULL);
}

void wcodec_records_entry(const struct wcodec_records *records, unsigned i, uint64_t offset,
                          struct wcodec_entry *entry)
{
    const struct wcodec_record_field *f = &records->fields[i];
    *entry = (struct wcodec_entry){.coding = f->coding == WCODEC_CODING_PACKED ? WCODEC_CODING_TILES
                                                                               : f->coding,
                                   .size = f->size,
                                   .payload_size = f->payload_size,
                                   .payload_offset = offset + f->payload_begin,
                                   .unpacked_size = f->unpacked_size,
                                   .parameters = f->parameters,
                                   .parameters_size = f->parameters_size};
    if (f->coding == WCODEC_CODING_CHUNKS) {
        entry->u.chunk = f->u.chunk;
    } else if (f->coding == WCODEC_CODING_CONSTANT) {
        entry->u.constant.element_log2 = f->u.constant.element_log2;
        memcpy(entry->u.constant.element, f->u.constant.element, sizeof f->u.constant.element);
    }
}

wcodec_status wcodec_entry_refuse(const struct wcodec_entry *e, wcodec_error *err)
{
    if (e->cut)
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                           "the file is cut short before the end of its payload");
    if (!wcodec_coding_is_known(e->coding))
        return wcodec_fail(err, WCODEC_ERROR_NEWER, "made by a newer version: coding %u",
                           e->coding);
    if (e->dtype >= WCODEC_DTYPE_COUNT)
        return wcodec_fail(err, WCODEC_ERROR_NEWER, "made by a newer version: dtype %u", e->dtype);
    return wcodec_fail(err, WCODEC_ERROR_NEWER, "made by a newer version: %s of another form",
                       e->coding == WCODEC_CODING_LOSSY       ? "a lossy tensor"
                       : e->coding == WCODEC_CODING_FIXED     ? "a tensor at a fixed rate"
                       : e->coding == WCODEC_CODING_FRAGMENTS ? "a tensor in fragments"
                       : e->coding == WCODEC_CODING_RECORDS   ? "a tensor in records"
                       : e->coding == WCODEC_CODING_DELTA     ? "a delta"
                       : e->coding == WCODEC_CODING_MASKED    ? "a masked tensor"
                       : e->coding == WCODEC_CODING_ANCHORED  ? "a tensor by anchors"
                                                              : "blocks");
}
