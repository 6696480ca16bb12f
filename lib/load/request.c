/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* From the caller's items to ranges of entries with places. */
#include "core/error.h"
#include "core/memory.h"
#include "core/options.h"
#include "load/load.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* More is less: what was read is on its way to the device while caches still have it. Of 32 to 256
 * MiB for four streams this was the fastest (bench/README.md). */
#define HOST_MEMORY ((uint64_t)96 << 20)
#define SLOT_MIN ((uint64_t)64 << 10)
#define SLOT_MAX ((uint64_t)64 << 20)

void wcodec_load_options_init_size(wcodec_load_options *options, size_t size)
{
    const wcodec_load_options defaults = {0};
    wcodec_options_set(options, size, &defaults, sizeof defaults);
}

static wcodec_status read_options(const wcodec_load_options *from, wcodec_load_options *options,
                                  wcodec_error *err)
{
    *options = (wcodec_load_options){0};
    wcodec_status status =
        wcodec_options_take(from, options, sizeof *options, "wcodec_load_options_init", err);
    if (status == WCODEC_OK)
        status = wcodec_progress_check(&options->progress, err);
    if (status != WCODEC_OK)
        return status;
    if (options->streams > WCODEC_LOAD_STREAMS_MAX)
        return wcodec_fail(err, WCODEC_ERROR_USAGE, "%u streams, expected at most %d",
                           options->streams, WCODEC_LOAD_STREAMS_MAX);
    return WCODEC_OK;
}

static void set_sizes(struct wcodec_load_request *r, const wcodec_load_options *o, bool to_host)
{
    uint64_t host = o->host_memory != 0 ? o->host_memory : HOST_MEMORY,
             limit = r->context->limits.max_memory;
    if (host > limit / 2)
        host = limit / 2;
    r->streams = o->streams != 0 ? o->streams : WCODEC_LOAD_STREAMS;
    /* What comes back from the device is staged too, and is larger. */
    r->slot_bytes = host / r->streams / (to_host ? 3 : 1);
    if (r->slot_bytes > SLOT_MAX)
        r->slot_bytes = SLOT_MAX;
    if (r->slot_bytes < SLOT_MIN)
        r->slot_bytes = SLOT_MIN;
    r->slot_bytes &= ~(uint64_t)255;
    r->scratch_bytes = 2 * r->slot_bytes;
}

/* The CPU makes tables of all of a piece's tensors, some 10 KiB each, before it decodes the first:
 * they are to be in the second-level caches then. */
static void set_parts(struct wcodec_load_request *r)
{
    enum { PARTS_OF_THREAD = 64 };
    const size_t most = (size_t)wcodec_context_threads(r->context) * PARTS_OF_THREAD;
    r->parts = WCODEC_LOAD_PARTS;
    if (strcmp(r->device->backend->name, "cpu") == 0 && most < WCODEC_LOAD_PARTS)
        r->parts = most;
}

static wcodec_status find_range(const wcodec_reader *reader, const wcodec_load_item *item,
                                bool placed_later, struct wcodec_load_range *range,
                                wcodec_error *err)
{
    wcodec_status status =
        wcodec_reserved_check(item->reserved, sizeof item->reserved, "load item", err);
    if (status == WCODEC_OK)
        status = wcodec_check_number(item->tensor, reader->tensor_count, "tensor", err);
    if (status != WCODEC_OK)
        return status;
    const struct wcodec_shard *shard;
    const struct wcodec_entry *e = wcodec_reader_entry_of_tensor(reader, item->tensor, &shard);
    uint64_t rows = e->rank > 0 ? e->shape[0] : 1, begin = 0, end = e->size;
    *range = (struct wcodec_load_range){
        .shard = shard, .named = e, .entry = wcodec_shard_resolve(shard, e)};
    if (item->first_row != 0 || item->rows != 0)
        status = wcodec_entry_rows(
            e, item->first_row,
            item->rows != 0 ? item->rows : rows - (item->first_row < rows ? item->first_row : rows),
            &begin, &end, err);
    range->begin = begin;
    range->end = end;
    if (status == WCODEC_OK && end - begin > reader->context->limits.max_tensor_bytes)
        status = wcodec_fail(err, WCODEC_ERROR_LIMIT,
                             "%" PRIu64 " bytes are more than the limit of %" PRIu64, end - begin,
                             reader->context->limits.max_tensor_bytes);
    if (status == WCODEC_OK && item->size < end - begin)
        status =
            wcodec_fail(err, WCODEC_ERROR_USAGE,
                        "the destination has room for %" PRIu64 " bytes, %" PRIu64 " are needed",
                        item->size, end - begin);
    if (status == WCODEC_OK && item->destination == 0 && end > begin && !placed_later)
        status = wcodec_fail(err, WCODEC_ERROR_USAGE, "the destination is NULL");
    if (status == WCODEC_OK && item->offset > UINT64_MAX - (end - begin))
        status = wcodec_fail(err, WCODEC_ERROR_USAGE, "the destination's offset is %" PRIu64,
                             item->offset);
    if (status != WCODEC_OK)
        wcodec_shard_prefix(shard, e, err);
    return status;
}

/* Items of one destination share a handle: bytes that it must have, and how many items they are. */
static size_t same_destination(const wcodec_load_item *items,
                               const struct wcodec_load_range *ranges, size_t count, uint64_t *size)
{
    size_t n = 0;
    *size = 0;
    for (; n < count && items[n].destination == items[0].destination; n++)
        if (items[n].offset + (ranges[n].end - ranges[n].begin) > *size)
            *size = items[n].offset + (ranges[n].end - ranges[n].begin);
    return n;
}

static wcodec_status adopt(struct wcodec_load_request *r, const wcodec_load_item *items,
                           struct wcodec_load_range *ranges, size_t count, uint64_t size,
                           wcodec_error *err)
{
    struct wcodec_memory *memory;
    uint64_t off = 0;
    const wcodec_status status =
        wcodec_opened_adopt(r->device, items[0].destination, size, &memory, &off, err);
    if (status != WCODEC_OK) {
        wcodec_shard_prefix(ranges[0].shard, ranges[0].named, err);
        return status;
    }
    r->adopted[r->adopted_count++] = memory;
    uint8_t *pointer = r->device->backend->memory_pointer(memory);
    for (size_t i = 0; i < count; i++) {
        ranges[i].memory = memory;
        ranges[i].offset = off + items[i].offset;
        ranges[i].host = pointer != NULL ? pointer + ranges[i].offset : NULL;
    }
    return WCODEC_OK;
}

static wcodec_status set_destinations(struct wcodec_load_request *r, const wcodec_load_item *items,
                                      bool device_memory, wcodec_error *err)
{
    const uint32_t direct = WCODEC_DEVICE_HOST_MEMORY | WCODEC_DEVICE_ADOPT_MEMORY;
    bool adopts = device_memory || (r->device->listing.capabilities & direct) == direct;
    wcodec_status status = WCODEC_OK;
    for (size_t i = 0, n; i < r->count && status == WCODEC_OK; i += n) {
        uint64_t size;
        n = same_destination(items + i, r->ranges + i, r->count - i, &size);
        if (size == 0)
            continue;
        if (adopts)
            status = adopt(r, items + i, r->ranges + i, n, size, err);
        else
            for (size_t k = i; k < i + n; k++)
                r->ranges[k].host = (uint8_t *)(uintptr_t)items[k].destination + items[k].offset;
    }
    return status;
}

/* Elements of the coding, not of the shape. */
static bool is_aligned(const struct wcodec_load_request *r, const struct wcodec_load_range *range)
{
    const struct wcodec_entry *e = range->entry;
    struct wcodec_layout layout;
    if (range->memory == NULL || e->newer || range->begin == range->end)
        return false;
    if (r->device->listing.capabilities & WCODEC_DEVICE_HOST_MEMORY)
        return true;
    if (e->coding == WCODEC_CODING_CONSTANT)
        return ((range->offset | range->begin | range->end) &
                (((uint64_t)1 << e->u.constant.element_log2) - 1)) == 0;
    if (!wcodec_entry_has_layout(e))
        return true;
    wcodec_layout_derive(e, &layout);
    return (range->offset - range->begin) % ((uint64_t)1 << layout.element_log2) == 0;
}

int wcodec_load_range_compare(const void *x, const void *y)
{
    const struct wcodec_load_range *a = x, *b = y;
    if (a->shard != b->shard)
        return a->shard < b->shard ? -1 : 1;
    if (a->entry->payload_offset != b->entry->payload_offset)
        return a->entry->payload_offset < b->entry->payload_offset ? -1 : 1;
    if (a->begin != b->begin)
        return a->begin < b->begin ? -1 : 1;
    if (a->end != b->end)
        return a->end < b->end ? -1 : 1;
    return b->aligned - a->aligned; /* which of equal ones is decoded */
}

/* Mostly they are asked for in the order of the file. */
static void sort_ranges(struct wcodec_load_request *r)
{
    size_t i = 1;
    while (i < r->count && wcodec_load_range_compare(&r->ranges[i - 1], &r->ranges[i]) <= 0)
        i++;
    if (i < r->count)
        qsort(r->ranges, r->count, sizeof *r->ranges, wcodec_load_range_compare);
}

bool wcodec_load_range_equal(const struct wcodec_load_range *a, const struct wcodec_load_range *b)
{
    return a->shard == b->shard && a->entry == b->entry && a->begin == b->begin &&
           a->end == b->end && a->begin < a->end && a->entry->coding != WCODEC_CODING_CONSTANT;
}

/* Of equal ranges, which are neighbours, the first is decoded; the others go after all. */
static wcodec_status set_copies_apart(struct wcodec_load_request *r, wcodec_error *err)
{
    size_t copies = 0, kept = 0;
    for (size_t i = 1; i < r->count; i++)
        copies += wcodec_load_range_equal(&r->ranges[i - 1], &r->ranges[i]);
    if (copies == 0)
        return WCODEC_OK;
    struct wcodec_load_range *apart =
        wcodec_alloc_array(&r->context->allocator, copies, sizeof *apart);
    if (apart == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for a load of %zu tensors",
                           r->count);
    for (size_t i = 0; i < r->count; i++) {
        struct wcodec_load_range range = r->ranges[i];
        if (i > 0 && wcodec_load_range_equal(&r->ranges[kept - 1], &range)) {
            range.original = &r->ranges[kept - 1];
            apart[r->copies++] = range;
        } else {
            r->ranges[kept++] = range;
        }
    }
    memcpy(r->ranges + kept, apart, copies * sizeof *apart);
    r->count = kept;
    wcodec_free(&r->context->allocator, apart);
    return WCODEC_OK;
}

void wcodec_load_request_place(const struct wcodec_load_request *r, struct wcodec_load_range *range,
                               struct wcodec_memory *memory, uint64_t offset)
{
    uint8_t *pointer = r->device->backend->memory_pointer(memory);
    range->memory = memory;
    range->offset = offset;
    range->host = pointer != NULL ? pointer + offset : NULL;
    range->aligned = is_aligned(r, range);
}

static wcodec_status fill_in(const wcodec_reader *reader, const wcodec_load_item *items,
                             const wcodec_load_options *options, bool placed_later,
                             struct wcodec_load_request *r, wcodec_error *err)
{
    for (size_t i = 0; i < r->count; i++) {
        wcodec_status status = find_range(reader, &items[i], placed_later, &r->ranges[i], err);
        if (status != WCODEC_OK)
            return status;
        r->bytes += r->ranges[i].end - r->ranges[i].begin;
    }
    if (placed_later)
        return WCODEC_OK;
    wcodec_status status = set_destinations(r, items, options->memory != NULL, err);
    if (status != WCODEC_OK)
        return status;
    for (size_t i = 0; i < r->count; i++)
        r->ranges[i].aligned = is_aligned(r, &r->ranges[i]);
    sort_ranges(r);
    return set_copies_apart(r, err);
}

wcodec_status wcodec_load_request_create(const wcodec_reader *reader, wcodec_context *context,
                                         const wcodec_load_item *items, size_t count,
                                         const wcodec_load_options *options, bool placed_later,
                                         struct wcodec_load_request *request, wcodec_error *err)
{
    wcodec_load_options o;
    struct wcodec_load_request r = {.context = context, .count = count};
    wcodec_status status = wcodec_context_usable(context, err);
    if (status == WCODEC_OK)
        status = read_options(options, &o, err);
    if (status == WCODEC_OK)
        status = wcodec_backends_device(r.context, &r.device, err);
    if (status == WCODEC_OK && o.memory != NULL)
        status = wcodec_opened_check_memory(r.device, o.memory, "destinations", err);
    if (status != WCODEC_OK)
        return status;
    r.options = o;
    r.options.memory = NULL; /* the caller's, and looked at already */
    r.verify = !o.skip_checks;
    set_sizes(&r, &o,
              o.memory == NULL && !(r.device->listing.capabilities & WCODEC_DEVICE_HOST_MEMORY));
    set_parts(&r);
    r.ranges = wcodec_alloc_array(&r.context->allocator, count, sizeof *r.ranges);
    r.adopted = wcodec_alloc_array(&r.context->allocator, count, sizeof *r.adopted);
    if (r.ranges == NULL || r.adopted == NULL)
        status =
            wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for a load of %zu tensors", count);
    else
        status = fill_in(reader, items, &o, placed_later, &r, err);
    if (status != WCODEC_OK)
        wcodec_load_request_free(&r);
    else
        *request = r;
    return status;
}

wcodec_status wcodec_load_request_to_cpu(struct wcodec_load_request *r, wcodec_error *err)
{
    struct wcodec_opened *cpu;
    wcodec_status status = wcodec_backends_cpu(r->context, &cpu, err);
    if (status != WCODEC_OK)
        return status;
    r->device = cpu;
    set_parts(r);
    for (size_t i = 0; i < r->count; i++) {
        struct wcodec_load_range *range = &r->ranges[i];
        if (range->begin == range->end)
            continue;
        status = cpu->backend->memory_adopt(cpu->device, (uint64_t)(uintptr_t)range->host,
                                            range->end - range->begin, &range->memory, err);
        if (status != WCODEC_OK)
            return status;
        r->adopted[r->adopted_count++] = range->memory;
        range->offset = 0;
        range->aligned = true;
    }
    return WCODEC_OK;
}

/* Which bytes of the file a range begins with, without anything of it having been read; none: that
 * is not known. */
static struct wcodec_source_range known_bytes(const struct wcodec_load_range *r)
{
    const struct wcodec_entry *e = r->entry;
    struct wcodec_layout layout;
    uint64_t size = 0;
    if (r->begin == 0 && r->end == e->size) {
        size = e->payload_size;
    } else if (!e->newer && r->begin != r->end && wcodec_entry_has_layout(e)) {
        wcodec_layout_derive(e, &layout);
        size = layout.tiles_begin + layout.tiling.prefix_size;
        size = wcodec_entry_is_packed(e) || size > e->payload_size ? e->payload_size : size;
    }
    return (struct wcodec_source_range){e->payload_offset, size};
}

void wcodec_load_announce(const struct wcodec_load_request *r)
{
    struct wcodec_source_range *ranges = NULL;
    size_t next;
    for (size_t i = 0; i < r->count; i = next) {
        const struct wcodec_source *source = &r->ranges[i].shard->source;
        size_t count = 0;
        for (next = i; next < r->count && r->ranges[next].shard == r->ranges[i].shard; next++)
            continue;
        if (source->announce == NULL)
            continue;
        if (ranges == NULL)
            ranges = wcodec_alloc_array(&r->context->allocator, r->count, sizeof *ranges);
        if (ranges == NULL) /* then each is asked for as it is read */
            return;
        for (size_t k = i; k < next; k++) {
            ranges[count] = known_bytes(&r->ranges[k]);
            count += ranges[count].size != 0;
        }
        wcodec_source_announce(source, r, ranges, count);
    }
    wcodec_free(&r->context->allocator, ranges);
}

void wcodec_load_withdraw(const struct wcodec_load_request *r)
{
    for (size_t i = 0; i < r->count; i++)
        if (i == 0 || r->ranges[i].shard != r->ranges[i - 1].shard)
            wcodec_source_withdraw(&r->ranges[i].shard->source, r);
}

void wcodec_load_request_free(struct wcodec_load_request *r)
{
    for (size_t i = 0; i < r->adopted_count; i++)
        r->device->backend->memory_free(r->adopted[i]);
    wcodec_free(&r->context->allocator, r->adopted);
    wcodec_free(&r->context->allocator, r->passes);
    wcodec_free(&r->context->allocator, r->placed);
    wcodec_free(&r->context->allocator, r->ranges);
}

wcodec_status wcodec_load_layout(const wcodec_reader *reader, uint64_t alignment,
                                 wcodec_load_item *items, uint64_t *size, wcodec_error *err)
{
    if (reader == NULL || size == NULL)
        return wcodec_fail(err, WCODEC_ERROR_USAGE, "wcodec_load_layout: an argument is NULL");
    if (alignment == 0)
        alignment = 256;
    if ((alignment & (alignment - 1)) != 0)
        return wcodec_fail(err, WCODEC_ERROR_USAGE,
                           "an alignment of %" PRIu64 ", expected a power of two", alignment);
    uint64_t at = 0;
    for (uint64_t i = 0; i < reader->tensor_count; i++) {
        const struct wcodec_shard *shard;
        const struct wcodec_entry *e = wcodec_reader_entry_of_tensor(reader, i, &shard);
        if (at > UINT64_MAX - alignment || e->size > UINT64_MAX - wcodec_align_u64(at, alignment))
            return wcodec_fail(err, WCODEC_ERROR_LIMIT,
                               "the tensors together have more than 2^64 bytes");
        at = wcodec_align_u64(at, alignment);
        if (items != NULL)
            items[i] = (wcodec_load_item){.tensor = i, .offset = at, .size = e->size};
        at += e->size;
    }
    *size = at;
    return WCODEC_OK;
}
