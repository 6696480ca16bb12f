/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "write/output.h"
#include "format/layout.h"
#include "backends/cpu/cpu_level.h"
#include "backends/cpu/leaf.h"
#include "core/assert.h"
#include "core/error.h"
#include "format/groups.h"
#include "core/memory.h"
#include "encode/records.h"

#include <inttypes.h>
#include <stdatomic.h>

enum {
    HASH_BYTES = 1 << 20,                 /* of the original, in one task */
    HASH_PAYLOAD = 4 * WCODEC_LEAF_BYTES, /* the same of a payload, which may be little */
    GATHERED_BYTES = 1 << 16,
    GATHERED_PART = 1 << 14, /* larger parts are written as they are */
    PIECE_BYTES = 1 << 20,   /* by one thread */
    ORDER0_UNIT = 128,       /* at levels for size order-0 bounds are rounded up to so many bits */
    GROUP_ENTRIES = 256
};

/* A group ends with a payload of `large` bytes and more, before its payloads would have more than
 * `bytes`, and with GROUP_ENTRIES: which depends on nothing else, so that the same entries make the
 * same bytes. */
struct group_limits {
    size_t large, bytes;
};

static bool is_for_size(const struct wcodec_output *output)
{
    return output->index.head.settings.level >= WCODEC_LEVEL_SIZE;
}

static struct group_limits group_limits(const struct wcodec_output *output)
{
    return is_for_size(output) ? (struct group_limits){1 << 18, 1 << 22}
                               : (struct group_limits){1 << 16, 1 << 20};
}

wcodec_status wcodec_output_init(wcodec_context *context, wcodec_write_fn write,
                                 wcodec_write_at_fn write_at, void *opaque,
                                 struct wcodec_output *output, wcodec_error *err)
{
    const wcodec_allocator *allocator = &context->allocator;
    const wcodec_leaf_fn leaf = wcodec_cpu_leaf(wcodec_cpu_levels() & context->cpu_mask);
    *output = (struct wcodec_output){
        .allocator = allocator,
        .write = write,
        .write_at = write_at,
        .opaque = opaque,
        .index = {.allocator = allocator, .head = {.size = UINT64_MAX}, .mtime = -1}};
    wcodec_arena_init(&output->arena, allocator);
    output->gathered = wcodec_alloc(allocator, GATHERED_BYTES);
    if (output->gathered == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for what is to be written");
    return wcodec_tree_init(&output->original, allocator, leaf, WCODEC_OUTPUT_LEAVES, err);
}

void wcodec_output_free(struct wcodec_output *output)
{
    wcodec_tree_free(&output->original);
    wcodec_arena_free(&output->arena);
    wcodec_free(output->allocator, output->index.entries);
    wcodec_free(output->allocator, output->index.groups);
    wcodec_free(output->allocator, output->group_bytes);
    wcodec_free(output->allocator, output->gathered);
    wcodec_free(output->allocator, output->pieces);
    output->index.entries = NULL;
    output->index.groups = NULL;
    output->group_bytes = NULL;
    output->pieces = NULL;
    output->gathered = NULL;
}

/* Bytes that several threads put into a tree. */
struct hashing {
    struct wcodec_tree *tree;
    uint64_t offset, size;
    const uint8_t *data;
    const struct wcodec_coded *coded; /* or the parts of a payload, one a task */
    uint64_t *part_offsets;
    atomic_bool failed;
};

static void hash_task(void *argument, size_t i)
{
    struct hashing *h = argument;
    const uint64_t at = (uint64_t)i * HASH_BYTES, left = h->size - at;
    if (wcodec_tree_put(h->tree, h->offset + at, h->data + at,
                        left < HASH_BYTES ? left : HASH_BYTES, NULL) != WCODEC_OK)
        atomic_store(&h->failed, true);
}

static wcodec_status run_hashing(wcodec_context *context, struct hashing *h,
                                 void (*task)(void *argument, size_t i), uint64_t count,
                                 wcodec_error *err)
{
    wcodec_run(context, task, h, (size_t)count);
    return atomic_load(&h->failed)
               ? wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for a hash")
               : WCODEC_OK;
}

wcodec_status wcodec_output_hash(wcodec_context *context, struct wcodec_output *output,
                                 const void *data, uint64_t size, wcodec_error *err)
{
    const uint64_t most = wcodec_tree_span(&output->original);
    wcodec_status status = WCODEC_OK;
    for (uint64_t at = 0, count; at < size && status == WCODEC_OK; at += count) {
        count = size - at < most ? size - at : most;
        struct hashing h = {.tree = &output->original,
                            .offset = output->hashed,
                            .size = count,
                            .data = (const uint8_t *)data + at};
        status = run_hashing(context, &h, hash_task, wcodec_div_up_u64(count, HASH_BYTES), err);
        output->hashed += count;
        wcodec_tree_advance(&output->original);
    }
    return status;
}

static wcodec_status fail_writing(int reason, uint64_t at, wcodec_error *err)
{
    return wcodec_fail(err, WCODEC_ERROR_IO, "writing at byte %" PRIu64 ": %s", at,
                       strerror(reason));
}

static wcodec_status write_bytes(struct wcodec_output *output, const void *data, uint64_t size,
                                 uint64_t at, wcodec_error *err)
{
    if (size == 0)
        return WCODEC_OK;
    const int reason = output->write_at ? output->write_at(output->opaque, at, data, (size_t)size)
                                        : output->write(output->opaque, data, (size_t)size);
    return reason == 0 ? WCODEC_OK : fail_writing(reason, at, err);
}

static wcodec_status write_gathered(struct wcodec_output *output, wcodec_error *err)
{
    const size_t size = output->gathered_size;
    output->gathered_size = 0;
    return write_bytes(output, output->gathered, size, output->position - size, err);
}

/* Bytes at the output's position, which are written later. */
static wcodec_status defer(struct wcodec_output *output, const uint8_t *data, uint64_t size,
                           wcodec_error *err)
{
    const uint64_t count = wcodec_div_up_u64(size, PIECE_BYTES);
    if (count > output->piece_room - output->piece_count) {
        const uint64_t room = 2 * output->piece_room + count + 64;
        struct wcodec_output_piece *pieces =
            wcodec_realloc_array(output->allocator, output->pieces, room, sizeof *pieces);
        if (pieces == NULL)
            return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for what is to be written");
        output->pieces = pieces;
        output->piece_room = room;
    }
    for (uint64_t at = 0; at < size; at += PIECE_BYTES)
        output->pieces[output->piece_count++] =
            (struct wcodec_output_piece){.data = data + at,
                                         .size = size - at < PIECE_BYTES ? size - at : PIECE_BYTES,
                                         .offset = output->position + at};
    return WCODEC_OK;
}

/* A small tensor has half a dozen parts: each written by itself, they would take longer than its
 * coding. */
static wcodec_status put(struct wcodec_output *output, const void *data, uint64_t size,
                         wcodec_error *err)
{
    wcodec_status status = WCODEC_OK;
    if (size == 0)
        return WCODEC_OK;
    if (output->gathered_size + size > GATHERED_BYTES || size >= GATHERED_PART)
        status = write_gathered(output, err);
    if (status == WCODEC_OK && size >= GATHERED_PART)
        status = output->write_at ? defer(output, data, size, err)
                                  : write_bytes(output, data, size, output->position, err);
    if (status != WCODEC_OK)
        return status;
    if (size < GATHERED_PART) {
        memcpy(output->gathered + output->gathered_size, data, (size_t)size);
        output->gathered_size += (size_t)size;
    }
    output->position += size;
    return WCODEC_OK;
}

/* Bytes that need not live until they are written. */
static wcodec_status put_gathered(struct wcodec_output *output, const uint8_t *data, uint64_t size,
                                  wcodec_error *err)
{
    wcodec_status status = WCODEC_OK;
    for (uint64_t at = 0, part; at < size && status == WCODEC_OK; at += part) {
        part = size - at < GATHERED_PART ? size - at : GATHERED_PART - 1;
        status = put(output, data + at, part, err);
    }
    return status;
}

/* Write the head before the first byte that follows it; then zeros up to a multiple of `alignment`.
 */
static wcodec_status align(struct wcodec_output *output, uint64_t alignment, wcodec_error *err)
{
    static const uint8_t zeros[256];
    if (output->position == 0) {
        wcodec_head_write(&output->index.head, output->head);
        wcodec_status status = put(output, output->head, sizeof output->head, err);
        if (status != WCODEC_OK)
            return status;
    }
    return put(output, zeros, wcodec_align_u64(output->position, alignment) - output->position,
               err);
}

wcodec_status wcodec_output_reserve(struct wcodec_output *output, uint64_t count, wcodec_error *err)
{
    struct wcodec_index *index = &output->index;
    uint64_t wanted;
    if (count <= output->entry_room - index->entry_count)
        return WCODEC_OK;
    if (!wcodec_add_u64(index->entry_count, count, &wanted))
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "too many entries");
    struct wcodec_entry *entries =
        wcodec_realloc_array(output->allocator, index->entries, wanted, sizeof *entries);
    if (!entries)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for %" PRIu64 " entries",
                           wanted);
    index->entries = entries;
    output->entry_room = wanted;
    return WCODEC_OK;
}

/* Append an entry; what it decodes to follows what was there. */
static wcodec_status add_entry(struct wcodec_output *output, const struct wcodec_entry *entry,
                               wcodec_error *err)
{
    struct wcodec_index *index = &output->index;
    if (index->entry_count == output->entry_room) {
        wcodec_status status = wcodec_output_reserve(output, output->entry_room / 2 + 16, err);
        if (status != WCODEC_OK)
            return status;
    }
    struct wcodec_entry *e = &index->entries[index->entry_count++];
    *e = *entry;
    e->file_offset = index->size;
    index->size += e->size;
    index->tensor_count += e->is_tensor;
    return WCODEC_OK;
}

static size_t write_parameters(const struct wcodec_coded *coded, uint8_t *bytes)
{
    if (coded->records)
        return wcodec_coded_records_write(coded, bytes);
    if (coded->fixed)
        return wcodec_fixed_write(coded->fixed, bytes);
    if (coded->lossy)
        return wcodec_lossy_write(coded->lossy, coded->tiling, bytes);
    if (coded->blocks)
        return wcodec_blocks_write(coded->blocks, coded->tiling, bytes);
    if (coded->fragments)
        return wcodec_fragments_write(coded->fragments, coded->tiling, bytes);
    return wcodec_tiling_write(coded->tiling, bytes);
}

/* Tilings are kept as the bytes that the index will hold: they are some twenty times larger than
 * that. */
static wcodec_status set_coding(struct wcodec_output *output, const struct wcodec_coded *coded,
                                struct wcodec_entry *e, wcodec_error *err)
{
    e->coding = coded->coding;
    e->order0_bits = is_for_size(output) ? wcodec_align_u64(coded->order0_bits, ORDER0_UNIT)
                                         : coded->order0_bits;
    e->payload_size = coded->payload_size;
    e->unpacked_size = coded->unpacked_size;
    const uint8_t *parameters =
        coded->parameters != NULL ? coded->parameters : coded->tiling_parameters;
    if (parameters != NULL) {
        uint8_t *copy = wcodec_arena_alloc(&output->arena, coded->parameters_size);
        if (!copy)
            return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory");
        memcpy(copy, parameters, coded->parameters_size);
        e->parameters = copy;
        e->parameters_size = coded->parameters_size;
        e->u.delta = NULL;
    } else if (coded->tiling || coded->fixed || coded->records) {
        uint8_t bytes[WCODEC_RECORDS_MAX_BYTES]; /* the most of all codings */
        e->parameters_size = write_parameters(coded, bytes);
        uint8_t *copy = wcodec_arena_alloc(&output->arena, e->parameters_size);
        if (!copy)
            return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory");
        memcpy(copy, bytes, e->parameters_size);
        e->parameters = copy;
        e->u.tiling = NULL;
    } else if (coded->coding == WCODEC_CODING_CHUNKS) {
        e->u.chunk = coded->chunk;
    } else {
        e->u.constant.element_log2 = coded->constant_element_log2;
        memcpy(e->u.constant.element, coded->constant_element, sizeof e->u.constant.element);
    }
    return WCODEC_OK;
}

/* Of a payload of one leaf at most. */
static uint64_t hash_small(wcodec_leaf_fn leaf, const struct wcodec_coded *coded)
{
    uint8_t bytes[WCODEC_LEAF_BYTES];
    if (coded->part_count == 1)
        return wcodec_tree_of(leaf, coded->parts[0].data, coded->parts[0].size).low;
    return wcodec_tree_of(leaf, bytes, wcodec_coded_join(coded, bytes)).low;
}

static void hash_part(void *argument, size_t i)
{
    struct hashing *h = argument;
    const struct wcodec_coded_part *part = &h->coded->parts[i];
    if (wcodec_tree_put(h->tree, h->part_offsets[i], part->data, part->size, NULL) != WCODEC_OK)
        atomic_store(&h->failed, true);
}

/* Bytes of the payload, whatever its parts. */
static void hash_range(void *argument, size_t i)
{
    struct hashing *h = argument;
    const uint64_t begin = (uint64_t)i * HASH_PAYLOAD, end = begin + HASH_PAYLOAD;
    size_t low = 0, high = h->coded->part_count; /* the last part that begins there or before */
    while (high - low > 1) {
        const size_t middle = low + (high - low) / 2;
        if (h->part_offsets[middle] <= begin)
            low = middle;
        else
            high = middle;
    }
    for (; low < h->coded->part_count && h->part_offsets[low] < end; low++) {
        const struct wcodec_coded_part *part = &h->coded->parts[low];
        const uint64_t at = h->part_offsets[low], from = at < begin ? begin : at,
                       to = at + part->size < end ? at + part->size : end;
        if (from < to &&
            wcodec_tree_put(h->tree, from, part->data + (from - at), to - from, NULL) != WCODEC_OK)
            atomic_store(&h->failed, true);
    }
}

/* A payload of several leaves. Ends by end_hashing(), also after a failure. */
static wcodec_status begin_hashing(const struct wcodec_coded *coded, wcodec_leaf_fn leaf,
                                   struct wcodec_tree *tree, struct hashing *h, wcodec_error *err)
{
    uint64_t at = 0;
    *tree = (struct wcodec_tree){.leaves = NULL};
    *h = (struct hashing){.tree = tree, .coded = coded};
    h->part_offsets = wcodec_alloc_array(coded->allocator, coded->part_count, sizeof(uint64_t));
    if (h->part_offsets == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for a hash");
    for (size_t i = 0; i < coded->part_count; at += coded->parts[i++].size)
        h->part_offsets[i] = at;
    return wcodec_tree_init(tree, coded->allocator, leaf,
                            coded->payload_size / WCODEC_LEAF_BYTES + 1, err);
}

static void end_hashing(struct hashing *h)
{
    wcodec_tree_free(h->tree);
    wcodec_free(h->coded->allocator, h->part_offsets);
}

wcodec_status wcodec_coded_hash(wcodec_context *context, wcodec_leaf_fn leaf,
                                const struct wcodec_coded *coded, uint64_t *hash, wcodec_error *err)
{
    struct wcodec_tree tree;
    struct hashing h;
    if (coded->payload_size <= WCODEC_LEAF_BYTES) {
        *hash = coded->payload_size != 0 ? hash_small(leaf, coded) : 0;
        return WCODEC_OK;
    }
    wcodec_status status = begin_hashing(coded, leaf, &tree, &h, err);
    if (status == WCODEC_OK)
        status = run_hashing(context, &h, hash_range,
                             wcodec_div_up_u64(coded->payload_size, HASH_PAYLOAD), err);
    if (status == WCODEC_OK)
        *hash = wcodec_tree_end(&tree, coded->payload_size).low;
    end_hashing(&h);
    return status;
}

static void hash_verified(void *opaque, size_t first, size_t step, size_t count)
{
    for (size_t i = 0; i < count; i++)
        hash_part(opaque, first + i * step);
}

/* Parts before those of ranges, which are not handed on. */
static size_t count_front(const struct wcodec_coded *coded)
{
    return coded->part_count - WCODEC_AREAS * coded->range_count;
}

wcodec_status wcodec_coded_settle(wcodec_context *context,
                                  const struct wcodec_encode_settings *settings,
                                  wcodec_leaf_fn leaf, const struct wcodec_coded *coded,
                                  const void *data, uint64_t *hash, wcodec_error *err)
{
    struct wcodec_tree tree;
    struct hashing h;
    if (coded->tiling == NULL) {
        const wcodec_status status = wcodec_coded_verify(context, settings, coded, data, NULL, err);
        return status == WCODEC_OK ? wcodec_coded_hash(context, leaf, coded, hash, err) : status;
    }
    wcodec_status status = begin_hashing(coded, leaf, &tree, &h, err);
    const struct wcodec_verified verified = {hash_verified, &h};
    if (status == WCODEC_OK)
        status = wcodec_coded_verify(context, settings, coded, data, &verified, err);
    if (status == WCODEC_OK)
        status = run_hashing(context, &h, hash_part, count_front(coded), err);
    if (status == WCODEC_OK)
        *hash = wcodec_tree_end(&tree, coded->payload_size).low;
    end_hashing(&h);
    return status;
}

/* Remember the header of the entries that are not written yet. */
static wcodec_status add_group(struct wcodec_output *output, size_t header_size, wcodec_error *err)
{
    struct wcodec_index *index = &output->index;
    if (index->group_count == output->group_room) {
        const uint64_t room = 2 * output->group_room + 16;
        struct wcodec_group *groups =
            wcodec_realloc_array(output->allocator, index->groups, room, sizeof *groups);
        if (groups == NULL)
            return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for what is to be written");
        index->groups = groups;
        output->group_room = room;
    }
    index->groups[index->group_count++] =
        (struct wcodec_group){.first = output->group_first,
                              .count = index->entry_count - output->group_first,
                              .header_size = header_size};
    return WCODEC_OK;
}

/* Its bytes are gone afterwards, so all of them are copied. */
static wcodec_status put_header(struct wcodec_output *output, wcodec_error *err)
{
    const struct wcodec_index *index = &output->index;
    uint8_t *header;
    size_t size;
    wcodec_status status =
        wcodec_group_write(index, output->group_first, index->entry_count - output->group_first,
                           output->allocator, &header, &size, err);
    if (status != WCODEC_OK)
        return status;
    status = align(output, 16, err);
    if (status == WCODEC_OK)
        status = put_gathered(output, header, size, err);
    wcodec_free(output->allocator, header);
    return status == WCODEC_OK ? add_group(output, size, err) : status;
}

/* Write the entries of a group: its header, the payloads that were kept, and that of the last one
 * if it is `coded`. */
static wcodec_status put_group(struct wcodec_output *output, const struct wcodec_coded *coded,
                               wcodec_error *err)
{
    struct wcodec_index *index = &output->index;
    const uint64_t end = index->entry_count - (coded != NULL);
    size_t at = 0;
    if (output->group_first == index->entry_count)
        return WCODEC_OK;
    wcodec_status status = put_header(output, err);
    for (uint64_t i = output->group_first; i < end && status == WCODEC_OK; i++) {
        const struct wcodec_entry *e = &index->entries[i];
        const uint64_t size = e->payload_size;
        if (size == 0)
            continue;
        status = align(output, wcodec_payload_alignment(size, wcodec_entry_coding(e)), err);
        if (status == WCODEC_OK)
            status = put_gathered(output, output->group_bytes + at, size, err);
        at += (size_t)size;
    }
    if (status == WCODEC_OK && coded != NULL)
        status = align(output,
                       wcodec_payload_alignment(coded->payload_size,
                                                wcodec_entry_coding(&index->entries[end])),
                       err);
    for (size_t i = 0; coded != NULL && i < coded->part_count && status == WCODEC_OK; i++)
        status = put(output, coded->parts[i].data, coded->parts[i].size, err);
    output->group_first = index->entry_count;
    output->group_size = 0;
    return status;
}

/* Is there no room in the group for another payload of that size? */
static bool is_group_full(const struct wcodec_output *output, uint64_t payload_size)
{
    const struct group_limits limits = group_limits(output);
    return output->index.entry_count - output->group_first >= GROUP_ENTRIES ||
           (payload_size < limits.large && payload_size > limits.bytes - output->group_size);
}

/* Keep a payload until its group is written. */
static wcodec_status keep_payload(struct wcodec_output *output, const struct wcodec_coded *coded,
                                  wcodec_error *err)
{
    const size_t needed = output->group_size + (size_t)coded->payload_size;
    if (coded->payload_size == 0)
        return WCODEC_OK; /* there may be no memory yet */
    if (needed > output->group_bytes_room) {
        const size_t most = group_limits(output).bytes, twice = 2 * needed + (1 << 16),
                     room = twice < most ? twice : most;
        uint8_t *bytes = wcodec_realloc_array(output->allocator, output->group_bytes, room, 1);
        if (bytes == NULL)
            return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for what is to be written");
        output->group_bytes = bytes;
        output->group_bytes_room = room;
    }
    output->group_size += wcodec_coded_join(coded, output->group_bytes + output->group_size);
    return WCODEC_OK;
}

static wcodec_status put_entry(struct wcodec_output *output, const struct wcodec_entry *entry,
                               const struct wcodec_coded *coded, wcodec_error *err)
{
    wcodec_status status = WCODEC_OK;
    if (is_group_full(output, entry->payload_size))
        status = put_group(output, NULL, err);
    if (status == WCODEC_OK)
        status = add_entry(output, entry, err);
    if (status != WCODEC_OK)
        return status;
    if (entry->payload_size >= group_limits(output).large)
        return put_group(output, coded, err);
    return coded != NULL ? keep_payload(output, coded, err) : WCODEC_OK;
}

wcodec_status wcodec_output_coded(struct wcodec_output *output, const struct wcodec_entry *what,
                                  const struct wcodec_coded *coded, wcodec_error *err)
{
    struct wcodec_entry entry = *what;
    wcodec_status status = set_coding(output, coded, &entry, err);
    output->lossy += wcodec_coding_is_lossy(entry.coding);
    return status == WCODEC_OK ? put_entry(output, &entry, coded, err) : status;
}

wcodec_status wcodec_output_copy(struct wcodec_output *output, const struct wcodec_entry *entry,
                                 uint8_t *payload, wcodec_error *err)
{
    struct wcodec_coded_part part = {payload, entry->payload_size};
    const struct wcodec_coded coded = {.payload_size = entry->payload_size,
                                       .part_count = entry->payload_size != 0,
                                       .parts = &part};
    output->lossy += wcodec_coding_is_lossy(entry->coding);
    return put_entry(output, entry, &coded, err);
}

bool wcodec_output_is_large(const struct wcodec_output *output, uint64_t payload_size)
{
    return payload_size >= group_limits(output).large;
}

wcodec_status wcodec_output_leave(struct wcodec_output *output, const struct wcodec_entry *entry,
                                  uint64_t *position, wcodec_error *err)
{
    const struct wcodec_coded coded = {.payload_size = entry->payload_size};
    WCODEC_ASSERT(output->write_at != NULL && wcodec_output_is_large(output, entry->payload_size));
    output->lossy += wcodec_coding_is_lossy(entry->coding);
    wcodec_status status = put_entry(output, entry, &coded, err);
    if (status == WCODEC_OK)
        status = write_gathered(output, err);
    if (status != WCODEC_OK)
        return status;
    *position = output->position;
    output->position += entry->payload_size;
    return WCODEC_OK;
}

wcodec_status wcodec_output_alias(struct wcodec_output *output, const struct wcodec_entry *what,
                                  uint64_t alias, wcodec_error *err)
{
    struct wcodec_entry entry = *what;
    entry.coding = WCODEC_CODING_ALIAS;
    entry.order0_bits = output->index.entries[alias].order0_bits;
    entry.u.alias = alias;
    wcodec_status status = put_entry(output, &entry, NULL, err);
    if (status == WCODEC_OK)
        output->aliases++;
    if (status == WCODEC_OK && wcodec_coding_is_lossy(output->index.entries[alias].coding))
        output->lossy++;
    return status;
}

/* What several threads write. */
struct writing {
    struct wcodec_output *output;
    struct wcodec_phases *phases;
};

/* Tasks take pieces until none is left. */
static void write_task(void *argument, size_t i)
{
    const struct writing *w = argument;
    struct wcodec_output *output = w->output;
    const size_t end = atomic_load(&output->piece_end);
    const uint64_t begin = w->phases ? wcodec_phase_begin(w->phases) : 0;
    (void)i;
    for (size_t p;
         !atomic_load(&output->failed) && (p = atomic_fetch_add(&output->piece_next, 1)) < end;) {
        struct wcodec_output_piece *piece = &output->pieces[p];
        const int error =
            output->write_at(output->opaque, piece->offset, piece->data, (size_t)piece->size);
        atomic_store(&piece->error, error);
        if (error != 0)
            atomic_store(&output->failed, true);
        else
            atomic_fetch_add(&output->pieces_written, 1);
    }
    if (w->phases)
        (void)wcodec_phase_end(w->phases, WCODEC_PHASE_WRITE, begin);
}

void wcodec_output_begin(struct wcodec_output *output)
{
    atomic_store(&output->piece_end, output->piece_count);
}

void wcodec_output_write_more(wcodec_context *context, struct wcodec_output *output, size_t threads,
                              struct wcodec_phases *phases)
{
    struct writing w = {output, phases};
    const size_t end = atomic_load(&output->piece_end), next = atomic_load(&output->piece_next),
                 left = next < end ? end - next : 0;
    wcodec_run(context, write_task, &w, threads < left ? threads : left);
}

bool wcodec_output_is_written(const struct wcodec_output *output)
{
    return atomic_load(&output->pieces_written) == atomic_load(&output->piece_end);
}

wcodec_status wcodec_output_check(const struct wcodec_output *output, wcodec_error *err)
{
    const size_t end = atomic_load(&output->piece_end);
    if (!atomic_load(&output->failed))
        return WCODEC_OK;
    for (size_t i = 0; i < end; i++) {
        const int error = atomic_load(&output->pieces[i].error);
        if (error != 0)
            return fail_writing(error, output->pieces[i].offset, err);
    }
    return wcodec_fail(err, WCODEC_ERROR_IO, "writing has failed before");
}

wcodec_status wcodec_output_end(struct wcodec_output *output, wcodec_error *err)
{
    const wcodec_status status = wcodec_output_check(output, err);
    WCODEC_ASSERT(status != WCODEC_OK || wcodec_output_is_written(output));
    output->piece_count = 0;
    atomic_store(&output->piece_end, 0);
    atomic_store(&output->piece_next, 0);
    atomic_store(&output->pieces_written, 0);
    return status;
}

wcodec_status wcodec_output_write(wcodec_context *context, struct wcodec_output *output,
                                  size_t threads, struct wcodec_phases *phases, wcodec_error *err)
{
    wcodec_output_begin(output);
    wcodec_output_write_more(context, output, threads, phases);
    return wcodec_output_end(output, err);
}

/* A file whose base is itself, or needs it, could not be had from anything. */
static wcodec_status check_bases(const struct wcodec_output *output, wcodec_error *err)
{
    uint8_t hash[16], last[16]; /* most tensors have the same base */
    bool any = false;
    for (uint64_t i = 0; output->bases != NULL && i < output->index.entry_count; i++) {
        const struct wcodec_entry *e = &output->index.entries[i];
        if (e->coding != WCODEC_CODING_DELTA ||
            !wcodec_delta_base_of(e->parameters, e->parameters_size, hash) ||
            (any && memcmp(hash, last, sizeof last) == 0))
            continue;
        if (wcodec_base_fetch_of(output->bases)->needs(output->bases, hash, output->index.hash))
            return wcodec_fail(
                err, WCODEC_ERROR_USAGE,
                "one of the bases is what is to be compressed, or a delta of that: a "
                "delta of itself could not be decoded");
        memcpy(last, hash, sizeof last);
        any = true;
    }
    return WCODEC_OK;
}

wcodec_status wcodec_output_finish(wcodec_context *context, struct wcodec_output *output,
                                   wcodec_error *err)
{
    if (!output->hash_known)
        wcodec_tree_canonical(wcodec_tree_end(&output->original, output->hashed),
                              output->index.hash);
    wcodec_status status = check_bases(output, err);
    if (status == WCODEC_OK)
        status = put_group(output, NULL, err);
    if (status != WCODEC_OK)
        return status;
    uint8_t *bytes, tail[WCODEC_TAIL_SIZE];
    size_t size;
    uint64_t decoded_size;
    status =
        wcodec_index_write(&output->index, output->allocator, &bytes, &size, &decoded_size, err);
    if (status != WCODEC_OK)
        return status;
    status = align(output, 16, err);
    uint64_t offset = output->position;
    if (status == WCODEC_OK)
        status = put(output, bytes, size, err);
    if (status == WCODEC_OK) {
        wcodec_tail_write(output->head, offset, bytes, size, decoded_size,
                          offset + size + WCODEC_TAIL_SIZE, tail);
        status = put(output, tail, sizeof tail, err);
    }
    if (status == WCODEC_OK)
        status = write_gathered(output, err);
    if (status == WCODEC_OK)
        status = wcodec_output_write(context, output, 1, NULL, err);
    wcodec_free(output->allocator, bytes);
    return status;
}

void wcodec_output_report(const struct wcodec_output *output, wcodec_encode_report *report)
{
    report->size = output->index.size;
    report->coded_size = output->position;
    report->tensors = output->index.tensor_count;
    report->aliases = output->aliases;
    report->lossy = output->lossy;
    report->safetensors = output->index.safetensors;
    wcodec_layout_kind(&output->index, report->kind);
    memcpy(report->xxh128, output->index.hash, sizeof report->xxh128);
}
