/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "encode/assemble.h"

#include "core/assert.h"
#include "core/error.h"
#include <stdatomic.h>

/* Tiles are coded in ranges, each of which has parts of its own for each area: no range waits for
 * another, nothing is copied when the payload is put together, and an area is the ranges' parts in
 * their order. */
enum {
    RANGE_BYTES = 1 << 18,
    RANGES_MAX = 512,
    SPARE_BYTES = 128,
    LENT_PART = 1 << 20 /* bytes that one thread hashes */
};

/* A range's part of an area as it grows. */
struct grower {
    const wcodec_allocator *allocator;
    uint8_t *data;
    uint64_t size, capacity;
};

struct coder {
    const struct wcodec_plan *plan;
    const struct wcodec_tiling *tiling;
    const uint8_t *data;
    const wcodec_allocator *allocator;
    struct wcodec_cancel *cancel;
    struct wcodec_payload_prefix prefix;
    struct wcodec_coded_part *parts; /* all of the payload's; NULL: its size is only counted */
    _Atomic uint64_t measured;       /* bytes of tiles, ... */
    _Atomic uint64_t measured_words; /* ... and of words, which are not among them */
    uint64_t range_tiles;
    size_t range_count;
    atomic_size_t next; /* range */
    _Atomic int status;
};

/* One worker's memory. */
struct worker {
    uint8_t *memory;
    struct wcodec_tile_scratch scratches[2];
    struct wcodec_tile_slot slots[2];
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

/* Give each pointer of a slot its part of memory, except raw bits, which are coded where they
 * stay; returns the bytes. NULL: only count them. */
static size_t slot_layout(const struct wcodec_tiling *t, struct wcodec_tile_slot *slot,
                          uint8_t *memory)
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
    return at;
}

static size_t scratch_layout(const struct wcodec_tiling *t, struct wcodec_tile_scratch *scratch,
                             uint8_t *memory)
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

static size_t worker_size(const struct wcodec_tiling *t)
{
    return 2 * (scratch_layout(t, NULL, NULL) + slot_layout(t, NULL, NULL));
}

/* Grow to `size` bytes, and to `later` more that are expected. */
static bool grow(struct grower *g, uint64_t size, uint64_t later)
{
    if (size <= g->capacity)
        return true;
    uint8_t *data = wcodec_realloc_array(g->allocator, g->data, size + later, 1);
    if (data == NULL)
        return false;
    g->data = data;
    g->capacity = size + later;
    return true;
}

/* Append `size` bytes; *to: where they go. `done` and `all`: how many of the
 * range's tiles these bytes end with, by which the rest is guessed. */
static bool extend(struct grower *g, uint64_t size, uint64_t done, uint64_t all, uint8_t **to)
{
    uint64_t need = g->size + size;
    if (!grow(g, need, need / done * (all - done) + need / 64))
        return false;
    *to = g->data + g->size;
    g->size = need;
    return true;
}

wcodec_status wcodec_payload_prefix_init(const struct wcodec_plan *plan,
                                         struct wcodec_payload_prefix *prefix, wcodec_error *err)
{
    const struct wcodec_tiling *t = plan->tiling;
    uint64_t most = (uint64_t)t->table_count * WCODEC_TABLE_MAX_BYTES + 64 +
                    t->tiles * (4 + 8 * (uint64_t)t->coded_count);
    for (unsigned c = 0; c < t->coded_count; c++)
        if (t->fields[t->coded[c]].run_log2)
            most += t->tiles * wcodec_run_bytes_of_tile(t, &t->fields[t->coded[c]]);
    uint8_t *bytes = wcodec_alloc_zeroed(plan->allocator, (size_t)most);
    if (bytes == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for a directory of %llu tiles",
                           (unsigned long long)t->tiles);
    uint64_t at = 0;
    for (unsigned c = 0; c < t->coded_count; c++)
        for (unsigned i = 0; i < t->fields[t->coded[c]].tables; i++)
            at += wcodec_table_write(&plan->tables[c][i].table, bytes + at);
    *prefix = (struct wcodec_payload_prefix){.bytes = bytes};
    prefix->directory = wcodec_align_u64(at, 16);
    at = wcodec_align_u64(prefix->directory + t->tiles * (4 + 8 * (uint64_t)t->coded_count), 16);
    for (unsigned c = 0; c < t->coded_count; c++) {
        prefix->runs[c] = at;
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
    uint8_t *p =
        k->prefix.bytes + k->prefix.runs[c] + slot->tile * wcodec_run_bytes_of_tile(k->tiling, f);
    for (uint32_t i = 0, run = 0; i < slot->elements;
         i += (uint32_t)1 << f->run_log2, run++, bit += bits)
        p[bit / 8] = (uint8_t)(p[bit / 8] | slot->streams[c].run_tables[run] << (bit % 8));
}

/* What the prefix says of a tile; no two tiles share a byte of it. */
static void describe_tile(const struct coder *k, const struct wcodec_tile_slot *slot)
{
    const struct wcodec_tiling *t = k->tiling;
    uint8_t *directory = k->prefix.bytes + k->prefix.directory;
    wcodec_store_u32(directory + 4 * slot->tile, slot->output.check);
    uint8_t *descriptor = directory + 4 * t->tiles + 8 * t->coded_count * slot->tile;
    for (unsigned c = 0; c < t->coded_count; c++, descriptor += 8) {
        const struct wcodec_stream_plan *stream = &slot->streams[c];
        if (slot->stored) {
            wcodec_store_u32(descriptor, (uint32_t)WCODEC_STREAM_STORED << 24);
            continue;
        }
        wcodec_store_u32(descriptor, slot->output.word_count[c] | (uint32_t)stream->table << 20 |
                                         (uint32_t)stream->mode << 24);
        wcodec_store_u32(descriptor + 4,
                         slot->output.outlier_count[c] | (uint32_t)stream->symbol << 24);
        if (stream->run_tables)
            write_runs(k, slot, c);
    }
}

/* A coded tile's bytes to its range's parts. `done` and `all` as in extend(). */
static bool append_tile(const struct coder *k, const struct wcodec_tile_slot *slot,
                        struct grower parts[WCODEC_AREAS], uint64_t done, uint64_t all)
{
    uint8_t *to;
    parts[WCODEC_AREA_RAW].size += slot->raw_size;
    for (unsigned c = 0; c < k->tiling->coded_count && !slot->stored; c++) {
        const struct wcodec_tile_output *o = &slot->output;
        if (slot->streams[c].mode == WCODEC_STREAM_RANS) {
            if (!extend(&parts[WCODEC_AREA_STATES], WCODEC_LANES * 4, done, all, &to))
                return false;
            memcpy(to, o->states[c], WCODEC_LANES * 4);
        }
        if (o->word_count[c] != 0) {
            if (!extend(&parts[WCODEC_AREA_WORDS], 2 * (uint64_t)o->word_count[c], done, all, &to))
                return false;
            memcpy(to, o->words[c] + o->word_offset[c], 2 * (size_t)o->word_count[c]);
        }
        if (o->outlier_count[c] != 0) {
            if (!extend(&parts[WCODEC_AREA_POSITIONS], 2 * (uint64_t)o->outlier_count[c], done, all,
                        &to))
                return false;
            for (uint32_t j = 0; j < o->outlier_count[c]; j++)
                wcodec_store_u16(to + 2 * (size_t)j, o->positions[c][j]);
            if (!extend(&parts[WCODEC_AREA_VALUES], o->outlier_count[c], done, all, &to))
                return false;
            memcpy(to, o->values[c], o->outlier_count[c]);
        }
    }
    return true;
}

/* Give back what was guessed too much, unless that is as little as what an allocator takes. */
static void shrink(struct grower *g)
{
    if (g->capacity - g->size <= g->size / 64 || g->capacity - g->size <= SPARE_BYTES)
        return;
    uint8_t *data = wcodec_realloc_array(g->allocator, g->data, g->size, 1);
    if (data) {
        g->data = data;
        g->capacity = g->size;
    }
}

static bool code_tiles(const struct coder *k, struct worker *w, uint64_t first, uint64_t end,
                       struct grower parts[WCODEC_AREAS])
{
    const struct wcodec_tiling *t = k->tiling;
    uint64_t count = end - first,
             usual = wcodec_tile_raw_size(t, largest_tile(t), WCODEC_STREAM_RANS),
             most = max_raw_size(t, largest_tile(t));
    uint64_t words = (k->plan->word_bits / t->tiles + 1) * count / 8;
    if (!grow(&parts[WCODEC_AREA_STATES], count * t->coded_count * WCODEC_LANES * 4, 0) ||
        !grow(&parts[WCODEC_AREA_WORDS], words + words / 64 + 64, 0))
        return false;
    for (uint64_t tile = first, together; tile < end; tile += together) {
        struct grower *raw = &parts[WCODEC_AREA_RAW];
        /* The last tile's share is what those before had. */
        uint64_t each =
            tile > first && raw->size / (tile - first) > usual ? raw->size / (tile - first) : usual;
        together = end - tile > 1 ? 2 : 1;
        if (!grow(raw, raw->size + together * most, (end - tile - together) * each))
            return false;
        w->slots[0].tile = tile;
        w->slots[1].tile = tile + 1;
        w->slots[0].output.raw = raw->data + raw->size;
        if (together == 2)
            wcodec_tile_code_two(k->plan, k->data, w->slots, w->scratches);
        else
            wcodec_tile_code(k->plan, k->data, &w->slots[0], &w->scratches[0]);
        for (unsigned i = 0; i < together; i++) {
            describe_tile(k, &w->slots[i]);
            if (!append_tile(k, &w->slots[i], parts, tile + i - first + 1, count))
                return false;
        }
    }
    return true;
}

static wcodec_status measure_tiles(struct coder *k, struct worker *w, uint64_t first, uint64_t end)
{
    uint64_t sum = 0, words = 0;
    struct wcodec_tile_slot *slot = &w->slots[0];
    slot->output.raw =
        wcodec_alloc(k->allocator, (size_t)max_raw_size(k->tiling, largest_tile(k->tiling)));
    if (slot->output.raw == NULL)
        return WCODEC_ERROR_MEMORY;
    for (uint64_t tile = first; tile < end; tile++) {
        slot->tile = tile;
        wcodec_tile_code(k->plan, k->data, slot, &w->scratches[0]);
        sum += slot->size;
        for (unsigned c = 0; c < k->tiling->coded_count && !slot->stored; c++)
            words += 2 * (uint64_t)slot->output.word_count[c];
    }
    wcodec_free(k->allocator, slot->output.raw);
    atomic_fetch_add(&k->measured, sum - words);
    atomic_fetch_add(&k->measured_words, words);
    return WCODEC_OK;
}

static wcodec_status code_range(struct coder *k, struct worker *w, size_t range)
{
    struct grower parts[WCODEC_AREAS];
    uint64_t first = range * k->range_tiles,
             end = range + 1 < k->range_count ? first + k->range_tiles : k->tiling->tiles;
    if (k->parts == NULL)
        return measure_tiles(k, w, first, end);
    for (unsigned a = 0; a < WCODEC_AREAS; a++)
        parts[a] = (struct grower){.allocator = k->allocator};
    bool good = code_tiles(k, w, first, end, parts);
    wcodec_cancel_count(k->cancel, (end - first)
                                       << (k->tiling->tile_log2 + k->tiling->element_log2));
    if (good && k->range_count == 1) {
        struct grower *words = &parts[WCODEC_AREA_WORDS];
        const uint64_t zeros = wcodec_align_u64(words->size, 16) - words->size;
        uint8_t *to;
        good = extend(words, zeros, 1, 1, &to);
        if (good)
            memset(to, 0, (size_t)zeros);
    }
    for (unsigned a = 0; a < WCODEC_AREAS; a++) {
        if (good && parts[a].size != 0) {
            shrink(&parts[a]);
            k->parts[1 + a * k->range_count + range] =
                (struct wcodec_coded_part){parts[a].data, parts[a].size};
        } else {
            wcodec_free(k->allocator, parts[a].data);
        }
    }
    return good ? WCODEC_OK : WCODEC_ERROR_MEMORY;
}

/* One worker: ranges until none is left. */
static void code_task(void *argument, size_t i)
{
    struct coder *k = argument;
    struct worker w = {.memory = NULL};
    (void)i;
    for (size_t range; !atomic_load_explicit(&k->status, memory_order_relaxed) &&
                       (range = atomic_fetch_add(&k->next, 1)) < k->range_count;) {
        if (w.memory == NULL)
            w.memory = wcodec_alloc(k->allocator, worker_size(k->tiling));
        wcodec_status status = w.memory != NULL ? WCODEC_OK : WCODEC_ERROR_MEMORY;
        if (wcodec_cancel_poll(k->cancel))
            status = WCODEC_ERROR_CANCELLED;
        if (status == WCODEC_OK) {
            uint8_t *at = w.memory;
            for (unsigned s = 0; s < 2; s++) {
                at += scratch_layout(k->tiling, &w.scratches[s], at);
                at += slot_layout(k->tiling, &w.slots[s], at);
            }
            status = code_range(k, &w, range);
        }
        if (status != WCODEC_OK)
            atomic_store(&k->status, (int)status);
    }
    wcodec_free(k->allocator, w.memory);
}

/* Zeros after the words, up to a multiple of 16 in the payload. A single range has them already. */
static wcodec_status pad_words(struct coder *k, wcodec_error *err)
{
    struct wcodec_coded_part *last =
        &k->parts[1 + WCODEC_AREA_WORDS * k->range_count + k->range_count - 1];
    uint64_t size = 0;
    for (size_t r = 0; r < k->range_count; r++)
        size += k->parts[1 + WCODEC_AREA_WORDS * k->range_count + r].size;
    uint64_t zeros = wcodec_align_u64(size, 16) - size;
    if (zeros == 0)
        return WCODEC_OK;
    uint8_t *data = wcodec_realloc_array(k->allocator, last->data, last->size + zeros, 1);
    if (data == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory");
    memset(data + last->size, 0, (size_t)zeros);
    last->data = data;
    last->size += zeros;
    return WCODEC_OK;
}

static wcodec_status code_ranges(struct coder *k, wcodec_context *context,
                                 const struct wcodec_encode_settings *settings, wcodec_error *err)
{
    wcodec_run(
        context, code_task, k,
        wcodec_encode_workers(context, settings->scratch, worker_size(k->tiling), k->range_count));
    if (k->status == WCODEC_ERROR_CANCELLED)
        return wcodec_fail(err, WCODEC_ERROR_CANCELLED, "cancelled by the caller");
    if (k->status != WCODEC_OK)
        return wcodec_fail(err, (wcodec_status)k->status, "out of memory for a payload");
    return WCODEC_OK;
}

static void begin_coder(struct coder *k, wcodec_context *context,
                        const struct wcodec_encode_settings *settings,
                        const struct wcodec_plan *plan, const uint8_t *data)
{
    const struct wcodec_tiling *t = plan->tiling;
    memset(k, 0, sizeof *k);
    k->plan = plan;
    k->tiling = t;
    k->data = data;
    k->allocator = &context->allocator;
    k->cancel = settings->cancel;
    k->range_tiles = 1;
    while (k->range_tiles << (t->tile_log2 + t->element_log2) < RANGE_BYTES ||
           t->tiles / k->range_tiles >= RANGES_MAX)
        k->range_tiles *= 2;
    k->range_count = (size_t)wcodec_div_up_u64(t->tiles, k->range_tiles);
}

wcodec_status wcodec_payload_measure(wcodec_context *context,
                                     const struct wcodec_encode_settings *settings,
                                     const struct wcodec_plan *plan, const uint8_t *data,
                                     uint64_t *size, wcodec_error *err)
{
    struct coder k;
    begin_coder(&k, context, settings, plan, data);
    wcodec_status status = wcodec_payload_prefix_init(plan, &k.prefix, err);
    if (status != WCODEC_OK)
        return status;
    wcodec_free(plan->allocator, k.prefix.bytes);
    status = code_ranges(&k, context, settings, err);
    if (status == WCODEC_OK)
        *size = k.prefix.size + atomic_load(&k.measured) +
                wcodec_align_u64(atomic_load(&k.measured_words), 16);
    return status;
}

wcodec_status wcodec_payload_code(wcodec_context *context,
                                  const struct wcodec_encode_settings *settings,
                                  struct wcodec_plan *plan, const uint8_t *data,
                                  struct wcodec_coded *coded, wcodec_error *err)
{
    WCODEC_ASSERT(plan->tiling != NULL);
    struct wcodec_tiling *t = plan->tiling;
    struct coder k;
    begin_coder(&k, context, settings, plan, data);
    struct wcodec_coded result = {.coding = WCODEC_CODING_TILES,
                                  .range_tiles = k.range_tiles,
                                  .range_count = k.range_count,
                                  .part_count = 1 + WCODEC_AREAS * k.range_count,
                                  .allocator = k.allocator};
    result.parts = wcodec_alloc_zeroed(k.allocator, result.part_count * sizeof *result.parts);
    if (result.parts == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for %zu parts of a payload",
                           result.part_count);
    k.parts = result.parts;
    wcodec_status status = wcodec_payload_prefix_init(plan, &k.prefix, err);
    if (status == WCODEC_OK) {
        result.parts[0] = (struct wcodec_coded_part){k.prefix.bytes, k.prefix.size};
        status = code_ranges(&k, context, settings, err);
    }
    if (status == WCODEC_OK)
        status = pad_words(&k, err);
    if (status != WCODEC_OK) {
        wcodec_coded_free(&result);
        return status;
    }
    t->prefix_size = k.prefix.size;
    for (size_t i = 0; i < result.part_count; i++)
        result.payload_size += result.parts[i].size;
    result.order0_bits = plan->order0_bits;
    result.tiling = t;
    plan->tiling = NULL;
    *coded = result;
    return WCODEC_OK;
}

wcodec_status wcodec_payload_lend(struct wcodec_plan *plan,
                                  const struct wcodec_payload_prefix *prefix, uint8_t *data,
                                  uint64_t size, struct wcodec_coded_loan loan,
                                  struct wcodec_coded *coded, wcodec_error *err)
{
    const size_t lent = (size_t)wcodec_div_up_u64(size, LENT_PART);
    struct wcodec_coded result = {.coding = WCODEC_CODING_TILES,
                                  .part_count = 1 + lent,
                                  .payload_size = prefix->size + size,
                                  .order0_bits = plan->order0_bits,
                                  .loan = loan,
                                  .allocator = plan->allocator};
    result.parts = wcodec_alloc_array(plan->allocator, 1 + lent, sizeof *result.parts);
    if (result.parts == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for %zu parts of a payload",
                           1 + lent);
    result.parts[0] = (struct wcodec_coded_part){prefix->bytes, prefix->size};
    for (size_t i = 0; i < lent; i++) {
        const uint64_t at = (uint64_t)i * LENT_PART;
        result.parts[1 + i] = (struct wcodec_coded_part){
            data + at, size - at < LENT_PART ? size - at : (uint64_t)LENT_PART};
    }
    plan->tiling->prefix_size = prefix->size;
    result.tiling = plan->tiling;
    plan->tiling = NULL;
    *coded = result;
    return WCODEC_OK;
}

wcodec_status wcodec_code_tiles(wcodec_context *context,
                                const struct wcodec_encode_settings *settings, wcodec_dtype dtype,
                                const uint8_t *data, uint64_t size,
                                const struct wcodec_statistics *statistics,
                                struct wcodec_coded *coded, wcodec_error *err)
{
    struct wcodec_plan *plan;
    wcodec_status status =
        wcodec_plan_tensor(context, settings, dtype, data, size, statistics, &plan, err);
    if (status != WCODEC_OK)
        return status;
    status = wcodec_payload_code(context, settings, plan, data, coded, err);
    wcodec_plan_free(plan);
    return status;
}
