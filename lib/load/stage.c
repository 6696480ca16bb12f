/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Reading a piece into staging memory, by all threads. */
#include "core/error.h"
#include "core/memory.h"
#include "load/load.h"
#include <inttypes.h>

enum { READ_BYTES = 1 << 20 };

/* Bytes of the file that go to one place of the staging memory, and the part that they are of. */
struct segment {
    const struct wcodec_load_part *part;
    uint64_t offset; /* in the file */
    uint64_t staged;
    uint64_t size;
};

struct reading {
    struct wcodec_load_slot *slot;
    struct segment *segments;
    size_t count;
    struct wcodec_load_tensor **whole; /* to be parsed */
    size_t whole_count;
    atomic_flag failed;
    wcodec_status status; /* of the first that failed; error likewise */
    wcodec_error error;
};

static void fail(struct reading *r, const struct wcodec_load_range *range, wcodec_status status,
                 wcodec_error *error)
{
    if (status == WCODEC_OK || atomic_flag_test_and_set(&r->failed))
        return;
    wcodec_shard_prefix(range->shard, range->named, error);
    r->error = *error;
    r->status = status;
}

static void read_task(void *argument, size_t i)
{
    struct reading *r = argument;
    const struct segment *s = &r->segments[i];
    uint8_t *staged = r->slot->stage.data + s->staged;
    wcodec_error error = {0};
    const wcodec_status status =
        wcodec_entry_is_packed(s->part->range->entry)
            ? wcodec_entry_read_packed(s->part->range->entry, &s->part->tensor->source,
                                       s->part->tensor->allocator, staged, &error)
            : wcodec_source_read(&s->part->tensor->source, s->offset, staged, (size_t)s->size,
                                 &error);
    fail(r, s->part->range, status, &error);
}

static void parse_task(void *argument, size_t i)
{
    struct reading *r = argument;
    struct wcodec_load_tensor *t = r->whole[i];
    wcodec_error error = {0};
    const struct wcodec_layout *s = &t->layout;
    t->side = r->slot->stage.data + t->whole;
    wcodec_status status = wcodec_layout_parse(
        s, t->side, wcodec_entry_unpacked_size(t->range->entry), t->allocator, &t->tiles, &error);
    fail(r, t->range, status, &error);
}

/* In pieces that threads share. Without a place to write only counts. */
static size_t cut(struct segment *segments, const struct wcodec_load_part *part, uint64_t offset,
                  uint64_t staged, uint64_t size)
{
    size_t n = 0;
    for (uint64_t at = 0; at < size; at += READ_BYTES, n++)
        if (segments != NULL)
            segments[n] = (struct segment){part, offset + at, staged + at,
                                           size - at < READ_BYTES ? size - at : READ_BYTES};
    return n;
}

/* All segments of the piece; a tensor that is staged whole is read with its first part. */
static void list_segments(struct reading *r)
{
    const struct wcodec_load_piece *piece = &r->slot->piece;
    const struct wcodec_load_tensor *last = NULL;
    r->count = r->whole_count = 0;
    for (size_t i = 0; i < piece->count; i++) {
        const struct wcodec_load_part *p = &piece->parts[i];
        if (p->kind != WCODEC_LOAD_TILES || p->tensor == last)
            continue;
        const uint64_t begin = p->range->entry->payload_offset;
        struct segment *to = r->segments != NULL ? r->segments + r->count : NULL;
        if (p->tensor->whole != UINT64_MAX) {
            last = p->tensor;
            if (r->whole != NULL)
                r->whole[r->whole_count] = p->tensor;
            r->whole_count++;
            r->count += cut(to, p, begin, p->tensor->whole, p->range->entry->payload_size);
            continue;
        }
        for (unsigned a = 0; a < WCODEC_AREAS; a++)
            r->count += cut(r->segments != NULL ? r->segments + r->count : NULL, p,
                            begin + p->tensor->layout.tiles_begin + p->areas[a].begin,
                            p->areas[a].offset, p->areas[a].size);
    }
}

/* Where areas are that came with their whole payload. */
static void place_areas(struct wcodec_load_piece *piece)
{
    for (size_t i = 0; i < piece->count; i++) {
        struct wcodec_load_part *p = &piece->parts[i];
        if (p->kind != WCODEC_LOAD_TILES || p->tensor->whole == UINT64_MAX)
            continue;
        wcodec_layout_place(&p->tensor->layout, p->tensor->tiles, p->first, p->end - p->first, 0,
                            p->areas);
        for (unsigned a = 0; a < WCODEC_AREAS; a++)
            p->areas[a].offset =
                p->tensor->whole + p->tensor->layout.tiles_begin + p->areas[a].begin;
    }
}

/* At a fixed rate: of the spilled elements, those that a part's tiles have. */
static wcodec_status place_spilled(const struct wcodec_load_slot *slot,
                                   struct wcodec_load_part *part, wcodec_error *err)
{
    struct wcodec_area_place *values = &part->areas[WCODEC_AREA_VALUES];
    struct wcodec_job job = {.fixed = &part->tensor->layout.fixed,
                             .first = part->first,
                             .count = part->end - part->first};
    uint64_t next = part->first == 0 ? 0 : UINT64_MAX;
    const wcodec_status status = wcodec_fixed_place_spilled(
        &job, slot->stage.data + part->areas[WCODEC_AREA_RAW].offset, &next, err);
    if (status != WCODEC_OK) {
        wcodec_shard_prefix(part->range->shard, part->range->named, err);
        return status;
    }
    const struct wcodec_area_place *found = &job.places[WCODEC_AREA_VALUES];
    if (found->size != 0)
        values->offset += found->begin - values->begin;
    values->begin = found->begin;
    values->size = found->size;
    return WCODEC_OK;
}

/* What of tensors that are not wanted whole was not known before their tiles were. */
static void announce(const struct wcodec_load_slot *slot)
{
    for (size_t i = 0; i < slot->piece.count; i++) {
        const struct wcodec_load_part *p = &slot->piece.parts[i];
        struct wcodec_source_range ranges[WCODEC_AREAS];
        if (p->kind != WCODEC_LOAD_TILES || p->tensor->whole != UINT64_MAX ||
            (p->range->begin == 0 && p->range->end == p->range->entry->size))
            continue;
        const uint64_t begin = p->range->entry->payload_offset + p->tensor->layout.tiles_begin;
        for (unsigned a = 0; a < WCODEC_AREAS; a++)
            ranges[a] = (struct wcodec_source_range){begin + p->areas[a].begin, p->areas[a].size};
        wcodec_source_announce(&p->tensor->source, slot->work->request, ranges, WCODEC_AREAS);
    }
}

wcodec_status wcodec_load_stage(struct wcodec_load_slot *slot, wcodec_error *err)
{
    wcodec_context *context = slot->work->request->context;
    struct reading r = {.slot = slot, .failed = ATOMIC_FLAG_INIT};
    uint64_t bytes = 0;
    list_segments(&r);
    r.segments = wcodec_alloc_array(&context->allocator, r.count, sizeof *r.segments);
    r.whole = wcodec_alloc_array(&context->allocator, r.whole_count, sizeof *r.whole);
    if (r.segments != NULL && r.whole != NULL) {
        list_segments(&r);
        announce(slot);
        wcodec_run(context, read_task, &r, r.count);
        if (r.status == WCODEC_OK)
            wcodec_run(context, parse_task, &r, r.whole_count);
        for (size_t i = 0; i < r.count; i++)
            bytes += r.segments[i].size;
        atomic_fetch_add(&slot->work->coded, bytes);
    } else {
        r.status = wcodec_fail(&r.error, WCODEC_ERROR_MEMORY,
                               "out of memory for a piece of %zu parts", slot->piece.count);
    }
    wcodec_free(&context->allocator, r.whole);
    wcodec_free(&context->allocator, r.segments);
    if (r.status != WCODEC_OK) {
        if (err != NULL)
            *err = r.error;
        return r.status;
    }
    place_areas(&slot->piece);
    wcodec_status status = WCODEC_OK;
    for (size_t i = 0; i < slot->piece.count && status == WCODEC_OK; i++) {
        struct wcodec_load_part *p = &slot->piece.parts[i];
        if (p->kind == WCODEC_LOAD_TILES && p->tensor->layout.is_fixed)
            status = place_spilled(slot, p, err);
    }
    return status;
}
