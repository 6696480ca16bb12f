/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "encode/payload.h"

#include "core/error.h"
#include "encode/tile_plan.h"
#include <stdatomic.h>

/* Tiles are coded in batches: each into a slot of its own, in any order; then the slots are copied to their places. */
enum { SLOT_MEMORY = 2 << 20, SLOTS_MIN = 4, SLOTS_MAX = 16, SLOTS_ALONE = 2, WORKERS_MAX = 1024 };

struct coder {
    struct wcodec_plan *plan;
    const struct wcodec_tiling *tiling;
    const uint8_t *data;
    struct wcodec_payload *payload;
    uint64_t directory; /* offsets in the prefix */
    uint64_t runs[WCODEC_MAX_CODED];
    size_t worker_count, slot_count;
    struct wcodec_tile_scratch *workers;
    struct wcodec_tile_slot *slots;
    uint64_t (*places)[WCODEC_PARTS]; /* by slot: where it goes in each part */
    uint8_t *memory;
    /* The batch. */
    uint64_t first;
    size_t count;
    atomic_size_t next;
};

static uint64_t max_raw_size(const struct wcodec_tiling *t, uint32_t elements)
{
    uint64_t most = 0;
    for (unsigned mode = WCODEC_STREAM_RANS; mode <= WCODEC_STREAM_STORED; mode++) {
        uint64_t size = wcodec_tile_raw_size(t, elements, mode);
        most = size > most ? size : most;
    }
    return most;
}

static uint32_t largest_tile(const struct wcodec_tiling *t)
{
    return wcodec_tile_elements(t, 0);
}

/* Give each pointer of a slot its part of memory; returns the bytes. NULL: only count them. */
static size_t slot_layout(const struct wcodec_tiling *t, struct wcodec_tile_slot *slot, uint8_t *memory)
{
    uint32_t elements = largest_tile(t);
    size_t at = 0;
    struct wcodec_tile_output dummy, *o = slot ? &slot->output : &dummy;
    for (unsigned c = 0; c < t->coded_count; c++) {
        o->states[c] = memory ? memory + at : NULL;
        at += WCODEC_LANES * 4;
        o->words[c] = memory ? memory + at : NULL;
        at += (size_t)wcodec_align_u64(wcodec_tile_words_max(elements), 64);
        o->positions[c] = memory ? (uint16_t *)(void *)(memory + at) : NULL;
        at += (size_t)wcodec_align_u64(2 * (uint64_t)elements, 64);
        o->values[c] = memory ? memory + at : NULL;
        at += (size_t)wcodec_align_u64(elements, 64);
    }
    o->raw = memory ? memory + at : NULL;
    return at + (size_t)wcodec_align_u64(max_raw_size(t, elements), 64);
}

static size_t scratch_layout(const struct wcodec_tiling *t, struct wcodec_tile_scratch *scratch, uint8_t *memory)
{
    uint32_t elements = largest_tile(t);
    size_t at = (size_t)wcodec_align_u64(wcodec_cpu_encode_scratch_size(elements), 64);
    struct wcodec_tile_scratch dummy, *s = scratch ? scratch : &dummy;
    s->coder = memory;
    s->symbols = memory ? memory + at : NULL;
    at += (size_t)wcodec_align_u64(elements, 64);
    for (unsigned c = 0; c < t->coded_count; c++) {
        const struct wcodec_field *f = &t->fields[t->coded[c]];
        s->run_tables[c] = memory ? memory + at : NULL;
        at += f->run_log2 ? (size_t)wcodec_align_u64(wcodec_runs_of_tile(t, f), 64) : 0;
    }
    return at;
}

static wcodec_status coder_allocate(struct coder *k, wcodec_context *context, wcodec_error *err)
{
    const wcodec_allocator *allocator = &context->allocator;
    const struct wcodec_tiling *t = k->tiling;
    size_t threads = wcodec_context_threads(context), slot_size = slot_layout(t, NULL, NULL), scratch_size = scratch_layout(t, NULL, NULL);
    size_t each = SLOT_MEMORY / slot_size;
    threads = threads < 1 ? 1 : threads > WORKERS_MAX ? WORKERS_MAX : threads;
    each = threads == 1 ? SLOTS_ALONE : each < SLOTS_MIN ? SLOTS_MIN : each > SLOTS_MAX ? SLOTS_MAX : each;
    k->worker_count = threads < t->tiles ? threads : (size_t)t->tiles;
    k->slot_count = k->worker_count * each < t->tiles ? k->worker_count * each : (size_t)t->tiles;
    k->workers = wcodec_alloc_array(allocator, k->worker_count, sizeof *k->workers);
    k->slots = wcodec_alloc_array(allocator, k->slot_count, sizeof *k->slots);
    k->places = wcodec_alloc_array(allocator, k->slot_count, sizeof *k->places);
    k->memory = wcodec_alloc(allocator, k->worker_count * scratch_size + k->slot_count * slot_size);
    if (!k->workers || !k->slots || !k->places || !k->memory)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for the buffers of %zu tiles", k->slot_count);
    for (size_t i = 0; i < k->worker_count; i++)
        scratch_layout(t, &k->workers[i], k->memory + i * scratch_size);
    for (size_t i = 0; i < k->slot_count; i++)
        slot_layout(t, &k->slots[i], k->memory + k->worker_count * scratch_size + i * slot_size);
    return WCODEC_OK;
}

static void coder_release(struct coder *k, const wcodec_allocator *allocator)
{
    wcodec_free(allocator, k->workers);
    wcodec_free(allocator, k->slots);
    wcodec_free(allocator, k->places);
    wcodec_free(allocator, k->memory);
}

/* Room for `size` bytes; what is there is kept. */
static wcodec_status part_reserve(const wcodec_allocator *allocator, struct wcodec_part *part, uint64_t size, wcodec_error *err)
{
    if (size <= part->room)
        return WCODEC_OK;
    uint64_t room = part->room + part->room / 8 > size ? part->room + part->room / 8 : size;
    uint8_t *data = wcodec_realloc_array(allocator, part->data, room, 1);
    if (!data)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for %llu bytes of a payload", (unsigned long long)room);
    part->data = data;
    part->room = room;
    return WCODEC_OK;
}

/* Zeros up to a multiple of 16. */
static wcodec_status part_pad(const wcodec_allocator *allocator, struct wcodec_part *part, wcodec_error *err)
{
    uint64_t size = wcodec_align_u64(part->size, 16);
    wcodec_status status = part_reserve(allocator, part, size, err);
    if (status)
        return status;
    if (size > part->size)
        memset(part->data + part->size, 0, (size_t)(size - part->size));
    part->size = size;
    return WCODEC_OK;
}

/* Tables, and room for the directory and the runs, all zero: what the tiles are about to say. */
static wcodec_status begin_prefix(struct coder *k, wcodec_error *err)
{
    const struct wcodec_tiling *t = k->tiling;
    struct wcodec_part *prefix = &k->payload->parts[WCODEC_PART_PREFIX];
    const wcodec_allocator *allocator = k->payload->allocator;
    uint64_t most = (uint64_t)t->table_count * WCODEC_TABLE_MAX_BYTES + 64 + t->tiles * (4 + 8 * (uint64_t)t->coded_count);
    for (unsigned c = 0; c < t->coded_count; c++)
        if (t->fields[t->coded[c]].run_log2)
            most += t->tiles * wcodec_run_bytes_of_tile(t, &t->fields[t->coded[c]]);
    wcodec_status status = part_reserve(allocator, prefix, most, err);
    if (status)
        return status;
    memset(prefix->data, 0, (size_t)most);
    uint64_t at = 0;
    for (unsigned c = 0; c < t->coded_count; c++)
        for (unsigned i = 0; i < t->fields[t->coded[c]].tables; i++)
            at += wcodec_table_write(&k->plan->tables[c][i].table, prefix->data + at);
    at = wcodec_align_u64(at, 16);
    k->directory = at;
    at = wcodec_align_u64(at + t->tiles * (4 + 8 * (uint64_t)t->coded_count), 16);
    for (unsigned c = 0; c < t->coded_count; c++) {
        k->runs[c] = at;
        if (t->fields[t->coded[c]].run_log2)
            at += t->tiles * wcodec_run_bytes_of_tile(t, &t->fields[t->coded[c]]);
    }
    prefix->size = wcodec_align_u64(at, 16);
    return WCODEC_OK;
}

static void write_runs(const struct coder *k, const struct wcodec_tile_slot *slot, unsigned c)
{
    const struct wcodec_field *f = &k->tiling->fields[k->tiling->coded[c]];
    unsigned bits = wcodec_run_index_bits(f->tables), bit = 0;
    uint8_t *p = k->payload->parts[WCODEC_PART_PREFIX].data + k->runs[c] + slot->tile * wcodec_run_bytes_of_tile(k->tiling, f);
    for (uint32_t i = 0, run = 0; i < slot->elements; i += (uint32_t)1 << f->run_log2, run++, bit += bits)
        p[bit / 8] = (uint8_t)(p[bit / 8] | slot->streams[c].run_tables[run] << (bit % 8));
}

/* What the prefix says of a tile; no two tiles share a byte of it. */
static void describe_tile(const struct coder *k, const struct wcodec_tile_slot *slot)
{
    const struct wcodec_tiling *t = k->tiling;
    uint8_t *directory = k->payload->parts[WCODEC_PART_PREFIX].data + k->directory;
    wcodec_store_u32(directory + 4 * slot->tile, slot->output.check);
    uint8_t *descriptor = directory + 4 * t->tiles + 8 * t->coded_count * slot->tile;
    for (unsigned c = 0; c < t->coded_count; c++, descriptor += 8) {
        const struct wcodec_stream_plan *stream = &slot->streams[c];
        if (slot->stored) {
            wcodec_store_u32(descriptor, (uint32_t)WCODEC_STREAM_STORED << 24);
            continue;
        }
        wcodec_store_u32(descriptor, slot->output.word_count[c] | (uint32_t)stream->table << 20 | (uint32_t)stream->mode << 24);
        wcodec_store_u32(descriptor + 4, slot->output.outlier_count[c] | (uint32_t)stream->symbol << 24);
        if (stream->run_tables)
            write_runs(k, slot, c);
    }
}

/* One worker: tiles of the batch until none is left. */
static void code_task(void *argument, size_t worker)
{
    struct coder *k = argument;
    for (size_t i; (i = atomic_fetch_add(&k->next, 1)) < k->count;) {
        k->slots[i].tile = k->first + i;
        wcodec_tile_code(k->plan, k->data, &k->slots[i], &k->workers[worker]);
        describe_tile(k, &k->slots[i]);
    }
}

/* Where each slot of the batch goes, and room for it. */
static wcodec_status place_batch(struct coder *k, wcodec_error *err)
{
    struct wcodec_part *parts = k->payload->parts;
    uint64_t at[WCODEC_PARTS];
    for (unsigned p = 0; p < WCODEC_PARTS; p++)
        at[p] = parts[p].size;
    for (size_t i = 0; i < k->count; i++) {
        const struct wcodec_tile_slot *slot = &k->slots[i];
        memcpy(k->places[i], at, sizeof at);
        at[WCODEC_PART_RAW] += slot->raw_size;
        for (unsigned c = 0; c < k->tiling->coded_count && !slot->stored; c++) {
            at[WCODEC_PART_STATES] += slot->streams[c].mode == WCODEC_STREAM_RANS ? WCODEC_LANES * 4 : 0;
            at[WCODEC_PART_WORDS] += 2 * (uint64_t)slot->output.word_count[c];
            at[WCODEC_PART_POSITIONS] += 2 * (uint64_t)slot->output.outlier_count[c];
            at[WCODEC_PART_VALUES] += slot->output.outlier_count[c];
        }
    }
    for (unsigned p = 0; p < WCODEC_PARTS; p++) {
        wcodec_status status = part_reserve(k->payload->allocator, &parts[p], at[p], err);
        if (status)
            return status;
        parts[p].size = at[p];
    }
    return WCODEC_OK;
}

static void place_task(void *argument, size_t i)
{
    const struct coder *k = argument;
    const struct wcodec_tile_slot *slot = &k->slots[i];
    const struct wcodec_part *parts = k->payload->parts;
    uint64_t *at = k->places[i];
    memcpy(parts[WCODEC_PART_RAW].data + at[WCODEC_PART_RAW], slot->output.raw, (size_t)slot->raw_size);
    for (unsigned c = 0; c < k->tiling->coded_count && !slot->stored; c++) {
        const struct wcodec_tile_output *o = &slot->output;
        if (slot->streams[c].mode == WCODEC_STREAM_RANS) {
            memcpy(parts[WCODEC_PART_STATES].data + at[WCODEC_PART_STATES], o->states[c], WCODEC_LANES * 4);
            at[WCODEC_PART_STATES] += WCODEC_LANES * 4;
        }
        memcpy(parts[WCODEC_PART_WORDS].data + at[WCODEC_PART_WORDS], o->words[c] + o->word_offset[c], 2 * (size_t)o->word_count[c]);
        at[WCODEC_PART_WORDS] += 2 * (uint64_t)o->word_count[c];
        for (uint32_t j = 0; j < o->outlier_count[c]; j++)
            wcodec_store_u16(parts[WCODEC_PART_POSITIONS].data + at[WCODEC_PART_POSITIONS] + 2 * (size_t)j, o->positions[c][j]);
        at[WCODEC_PART_POSITIONS] += 2 * (uint64_t)o->outlier_count[c];
        memcpy(parts[WCODEC_PART_VALUES].data + at[WCODEC_PART_VALUES], o->values[c], o->outlier_count[c]);
        at[WCODEC_PART_VALUES] += o->outlier_count[c];
    }
}

static wcodec_status code_batches(struct coder *k, wcodec_context *context, struct wcodec_cancel *cancel, wcodec_error *err)
{
    const struct wcodec_tiling *t = k->tiling;
    for (k->first = 0; k->first < t->tiles; k->first += k->count) {
        if (wcodec_cancel_poll(cancel))
            return wcodec_fail(err, WCODEC_ERROR_CANCELLED, "cancelled by the caller");
        k->count = t->tiles - k->first < k->slot_count ? (size_t)(t->tiles - k->first) : k->slot_count;
        atomic_store(&k->next, 0);
        wcodec_run(context, code_task, k, k->worker_count);
        wcodec_status status = place_batch(k, err);
        if (status)
            return status;
        wcodec_run(context, place_task, k, k->count);
    }
    return WCODEC_OK;
}

wcodec_status wcodec_payload_code(wcodec_context *context, struct wcodec_plan *plan, const uint8_t *data, struct wcodec_cancel *cancel, struct wcodec_payload *payload, wcodec_error *err)
{
    struct wcodec_tiling *t = plan->tiling;
    struct wcodec_payload result = {.allocator = &context->allocator};
    struct coder k = {.plan = plan, .tiling = t, .data = data, .payload = &result};
    wcodec_status status = begin_prefix(&k, err);
    if (status)
        goto free_payload;
    status = coder_allocate(&k, context, err);
    if (status)
        goto release_coder;
    for (unsigned p = 0; p < WCODEC_PARTS && !status; p++)
        status = part_reserve(result.allocator, &result.parts[p], 16, err);
    /* Estimates, so that parts seldom grow: growing may copy. */
    if (!status)
        status = part_reserve(result.allocator, &result.parts[WCODEC_PART_STATES], t->tiles * t->coded_count * WCODEC_LANES * 4, err);
    if (!status)
        status = part_reserve(result.allocator, &result.parts[WCODEC_PART_WORDS], plan->word_bits / 8 + plan->word_bits / 512 + 64, err);
    if (!status)
        status = part_reserve(result.allocator, &result.parts[WCODEC_PART_RAW], t->tiles * wcodec_tile_raw_size(t, largest_tile(t), WCODEC_STREAM_RANS), err);
    if (status)
        goto release_coder;
    status = code_batches(&k, context, cancel, err);
    if (!status)
        status = part_pad(result.allocator, &result.parts[WCODEC_PART_WORDS], err);
    if (status)
        goto release_coder;
    coder_release(&k, &context->allocator);
    t->prefix_size = result.parts[WCODEC_PART_PREFIX].size;
    for (unsigned p = 0; p < WCODEC_PARTS; p++)
        result.size += result.parts[p].size;
    *payload = result;
    return WCODEC_OK;

release_coder:
    coder_release(&k, &context->allocator);
free_payload:
    wcodec_payload_free(&result);
    return status;
}

void wcodec_payload_free(struct wcodec_payload *payload)
{
    for (unsigned p = 0; p < WCODEC_PARTS; p++)
        wcodec_free(payload->allocator, payload->parts[p].data);
    memset(payload->parts, 0, sizeof payload->parts);
}
