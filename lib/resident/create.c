/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Tensors of a reader become resident, one after the other: read, verified, and brought into the
 * form in which they stay. */

#include "core/error.h"
#include "core/memory.h"
#include "core/options.h"
#include "encode/fixed.h"
#include "read/reader.h"
#include "resident/resident.h"
#include <inttypes.h>
#include <string.h>

/* Bytes that are decoded at a time to verify what stays coded. */
#define VERIFY_PIECE ((uint64_t)8 << 20)

struct maker {
    const wcodec_reader *reader;
    const struct wcodec_bases *bases; /* of the deltas of the file that is at work */
    struct wcodec_resident *resident;
    wcodec_resident_form form;
    struct wcodec_reporter reporter;
    struct wcodec_cancel cancel;
    uint64_t held;  /* bytes of memory, for the limit */
    uint64_t *kept; /* by entries of the reader: 1 + the number of the item that has its elements */
    struct wcodec_resident_wanted *wanted; /* what a device that can code is to load, ... */
    size_t wanted_count;                   /* ... once all are described */
    struct wcodec_resident_keeper keeper;
};

static const wcodec_resident_options defaults = {.decoded = (size_t)128 << 20};

void wcodec_resident_options_init_size(wcodec_resident_options *options, size_t size)
{
    wcodec_options_set(options, size, &defaults, sizeof defaults);
}

/* `size` bytes more, counted against the limit of memory. */
static wcodec_status hold(struct maker *m, uint64_t size, wcodec_error *err)
{
    const uint64_t most = m->resident->context->limits.max_memory;
    if (size > most || m->held > most - size)
        return wcodec_fail(err, WCODEC_ERROR_LIMIT,
                           "resident tensors take at least %" PRIu64
                           " bytes of memory, the limit is %" PRIu64,
                           m->held + size, most);
    m->held += size;
    return WCODEC_OK;
}

static wcodec_status reserve(struct maker *m, uint64_t size, uint8_t **memory, wcodec_error *err)
{
    wcodec_status status = hold(m, size, err);
    if (status != WCODEC_OK)
        return status;
    *memory = wcodec_alloc_array(&m->resident->context->allocator, size, 1);
    if (*memory == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory: %" PRIu64 " bytes", size);
    return WCODEC_OK;
}

static void release(struct maker *m, uint64_t size, uint8_t *memory)
{
    wcodec_free(&m->resident->context->allocator, memory);
    m->held -= size;
}

/* Decode all of an entry piece by piece, and keep nothing. */
static wcodec_status decode_pieces(struct maker *m, struct wcodec_decoder *decoder,
                                   wcodec_error *err)
{
    const uint64_t size = decoder->input.entry->size, unit = wcodec_decoder_unit(decoder),
                   whole = unit < VERIFY_PIECE ? VERIFY_PIECE / unit * unit : unit,
                   piece = whole < size ? whole : size;
    uint8_t *scratch;
    wcodec_status status = wcodec_decoder_take(decoder, piece, &scratch, err);
    if (status != WCODEC_OK)
        return status;
    for (uint64_t at = 0; at < size && status == WCODEC_OK; at += piece)
        status = wcodec_decoder_range(decoder, at, size - at < piece ? size : at + piece, scratch,
                                      &m->reporter, err);
    wcodec_free(&m->resident->context->allocator, scratch);
    return status;
}

/* Decode all of an entry, verifying it: to dst, or, where that is NULL, only to verify it. */
static wcodec_status decode(struct maker *m, const struct wcodec_source *source,
                            const struct wcodec_entry *entry, uint8_t *dst, wcodec_error *err)
{
    const struct wcodec_decoder_input input = {.context = m->resident->context,
                                               .source = source,
                                               .entry = entry,
                                               .bases = m->bases,
                                               .held = m->held,
                                               .verify = true,
                                               .on_cpu = true,
                                               .whole = true};
    struct wcodec_decoder decoder;
    wcodec_status status = wcodec_decoder_open(&input, &decoder, err);
    if (status != WCODEC_OK)
        return status;
    status = dst != NULL ? wcodec_decoder_range(&decoder, 0, entry->size, dst, &m->reporter, err)
                         : decode_pieces(m, &decoder, err);
    wcodec_decoder_close(&decoder);
    return status;
}

static wcodec_status make_plain(struct maker *m, const struct wcodec_source *source,
                                const struct wcodec_entry *entry, struct wcodec_resident_item *item,
                                wcodec_error *err)
{
    wcodec_status status = reserve(m, entry->size, &item->bytes, err);
    if (status != WCODEC_OK)
        return status;
    item->form = WCODEC_RESIDENT_PLAIN;
    item->held = entry->size;
    return decode(m, source, entry, item->bytes, err);
}

static wcodec_status verify(struct maker *m, const struct wcodec_resident_item *item,
                            wcodec_error *err)
{
    struct wcodec_source source;
    wcodec_source_memory(item->bytes, item->entry.payload_size, &source);
    return decode(m, &source, &item->entry, NULL, err);
}

/* The entry as it is in the file, its payload copied. */
static wcodec_status make_coded(struct maker *m, const struct wcodec_source *source,
                                const struct wcodec_entry *entry, struct wcodec_resident_item *item,
                                wcodec_error *err)
{
    if (entry->newer)
        return wcodec_entry_refuse(entry, err);
    uint8_t *parameters = wcodec_arena_alloc(&m->resident->arena, entry->parameters_size);
    if (parameters == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for parameters");
    wcodec_status status = reserve(m, entry->payload_size, &item->bytes, err);
    if (status != WCODEC_OK)
        return status;
    if (entry->parameters_size != 0)
        memcpy(parameters, entry->parameters, entry->parameters_size);
    item->form = WCODEC_RESIDENT_CODED;
    item->held = entry->payload_size;
    item->entry = *entry;
    item->entry.parameters = parameters;
    item->entry.payload_offset = 0;
    item->entry.name = item->entry.dtype_name = item->entry.split = NULL; /* the reader's */
    item->entry.shape = NULL;
    if (entry->coding == WCODEC_CODING_CONSTANT)
        return wcodec_reporter_add(&m->reporter, entry->size, err);
    status = wcodec_source_read(source, entry->payload_offset, item->bytes,
                                (size_t)entry->payload_size, err);
    return status == WCODEC_OK ? verify(m, item, err) : status;
}

/* A tensor that the file has at a fixed rate. */
static wcodec_status keep_fixed(struct maker *m, const struct wcodec_source *source,
                                const struct wcodec_entry *entry, struct wcodec_resident_item *item,
                                wcodec_error *err)
{
    wcodec_status status = make_coded(m, source, entry, item, err);
    if (status != WCODEC_OK)
        return status;
    struct wcodec_fixed *f = &item->fixed.plan;
    wcodec_entry_fixed(&item->entry, f);
    item->form = WCODEC_RESIDENT_FIXED;
    item->fixed.front = item->bytes;
    item->fixed.tiles = item->bytes + f->tiles_begin;
    item->fixed.spilled = item->bytes + f->spilled_begin;
    return WCODEC_OK;
}

/* A plain tensor at a fixed rate, if that is for it. */
static wcodec_status transcode(struct maker *m, const struct wcodec_entry *entry, uint64_t columns,
                               struct wcodec_resident_item *item, wcodec_error *err)
{
    wcodec_context *context = m->resident->context;
    const struct wcodec_encode_settings settings = {.columns = columns, .cancel = &m->cancel};
    struct wcodec_coded *coded = &item->fixed.coded;
    bool done = false;
    wcodec_status status = hold(m, entry->size, err); /* of the payload, which is no larger */
    if (status == WCODEC_OK)
        status = wcodec_fixed_code(context, &settings, item->bytes, entry->size, coded, &done, err);
    if (status == WCODEC_OK)
        m->held -= entry->size;
    if (status != WCODEC_OK || !done)
        return status;
    if (m->resident->device != NULL && coded->fixed->foreign != 0) {
        wcodec_coded_free(coded);
        coded->allocator = NULL;
        return WCODEC_OK;
    }
    item->form = WCODEC_RESIDENT_FIXED;
    item->held = coded->payload_size;
    item->fixed.plan = *coded->fixed;
    item->fixed.front = coded->parts[0].data;
    item->fixed.tiles = coded->parts[1].data;
    item->fixed.spilled = coded->parts[2].data;
    status = wcodec_fixed_verify(context, &settings, coded, item->bytes, err);
    release(m, entry->size, item->bytes);
    item->bytes = NULL;
    m->held += item->held;
    return status;
}

/* In the forms AUTO and FIXED, by what products take on a CPU (bench/README.md): those of floats of
 * 16 bits no more than from the fixed rate. */
static bool stays_coded(wcodec_resident_form form, const struct wcodec_entry *named,
                        const struct wcodec_entry *entry)
{
    if (entry->coding == WCODEC_CODING_CONSTANT)
        return true;
    return form == WCODEC_RESIDENT_AUTO && named->rank >= 2 &&
           (named->dtype == WCODEC_DTYPE_BF16 || named->dtype == WCODEC_DTYPE_F16) &&
           entry->payload_size <= entry->size / 8 * 7;
}

/* As the entry is coded in the file, in the device's memory. A fault is the data's or the device's:
 * the CPU knows. */
static wcodec_status keep_coded(struct maker *m, const struct wcodec_source *source,
                                const struct wcodec_entry *entry, struct wcodec_resident_item *item,
                                wcodec_error *err)
{
    wcodec_error e = {0}, found = {0};
    wcodec_status status = wcodec_resident_keep(&m->keeper, source, entry, m->held, item, &e);
    if (status == WCODEC_OK)
        return wcodec_reporter_add(&m->reporter, entry->size, err);
    if (status == WCODEC_ERROR_CORRUPT) {
        status = decode(m, source, entry, NULL, &found);
        if (status == WCODEC_OK)
            return wcodec_resident_failed(m->resident, WCODEC_ERROR_DEVICE, &e, err);
        e = found;
    }
    if (err != NULL)
        *err = e;
    return status;
}

/* In the device's memory: bf16 matrices at a fixed rate, coded anew also where the file has them
 * so, so that padding is as the kernels of products want it; the rest plain. */
static bool suits_device(const struct maker *m, const struct wcodec_entry *named,
                         const struct wcodec_entry *entry, uint64_t columns)
{
    return m->form != WCODEC_RESIDENT_PLAIN && columns != 0 &&
           (m->form != WCODEC_RESIDENT_CODED || entry->coding == WCODEC_CODING_FIXED) &&
           entry->size / (2 * columns) <= INT32_MAX && !entry->newer &&
           wcodec_fixed_applies((wcodec_dtype)named->dtype, entry->size, columns);
}

static wcodec_status make_for_device(struct maker *m, const struct wcodec_source *source,
                                     const struct wcodec_entry *named,
                                     const struct wcodec_entry *entry, uint64_t columns,
                                     struct wcodec_resident_item *item, wcodec_error *err)
{
    wcodec_status status = make_plain(m, source, entry, item, err);
    if (status == WCODEC_OK && suits_device(m, named, entry, columns))
        status = transcode(m, entry, columns, item, err);
    return status;
}

static uint64_t columns_of(const struct wcodec_entry *named)
{
    return named->rank >= 2 ? named->shape[named->rank - 1] : 0;
}

static wcodec_status make_item(struct maker *m, const struct wcodec_source *source,
                               const struct wcodec_entry *named, const struct wcodec_entry *entry,
                               struct wcodec_resident_item *item, wcodec_error *err)
{
    const wcodec_dtype dtype = (wcodec_dtype)named->dtype; /* equal tensors may have another */
    const uint64_t columns = columns_of(named);
    const bool on_device = m->resident->device != NULL,
               parted = !entry->newer && (entry->coding == WCODEC_CODING_DELTA ||
                                          entry->coding == WCODEC_CODING_MASKED ||
                                          entry->coding == WCODEC_CODING_ANCHORED),
               coded = m->form == WCODEC_RESIDENT_CODED && !parted,
               plain = m->form == WCODEC_RESIDENT_PLAIN || entry->newer || parted;
    if (on_device)
        return make_for_device(m, source, named, entry, columns, item, err);
    if (!plain && !coded && entry->coding == WCODEC_CODING_FIXED && dtype == WCODEC_DTYPE_BF16)
        return keep_fixed(m, source, entry, item, err);
    if (coded || (!plain && stays_coded(m->form, named, entry)))
        return make_coded(m, source, entry, item, err);
    wcodec_status status = make_plain(m, source, entry, item, err);
    if (status == WCODEC_OK && m->form == WCODEC_RESIDENT_FIXED && columns != 0 &&
        wcodec_fixed_applies(dtype, entry->size, columns))
        status = transcode(m, entry, columns, item, err);
    return status;
}

static wcodec_status describe(struct maker *m, const struct wcodec_entry *named,
                              struct wcodec_resident_item *item, wcodec_error *err)
{
    struct wcodec_arena *arena = &m->resident->arena;
    uint64_t *shape = wcodec_arena_alloc(arena, named->rank * sizeof *shape);
    item->name = wcodec_arena_text(arena, named->name, strlen(named->name));
    if (item->name == NULL || shape == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for a name");
    if (named->rank != 0)
        memcpy(shape, named->shape, named->rank * sizeof *shape);
    item->shape = shape;
    item->rank = named->rank;
    item->dtype = (wcodec_dtype)named->dtype;
    item->entry.size = named->size;
    return WCODEC_OK;
}

static wcodec_status move_to_device(struct maker *m, struct wcodec_resident_item *item,
                                    wcodec_error *err)
{
    wcodec_status status = wcodec_resident_upload(m->resident, item, err);
    wcodec_resident_drop(item, &m->resident->context->allocator);
    m->held -= item->held;
    return status;
}

static wcodec_status add_elements(struct maker *m, uint64_t tensor,
                                  const struct wcodec_shard *shard,
                                  const struct wcodec_entry *named,
                                  struct wcodec_resident_item *item, wcodec_error *err)
{
    const struct wcodec_entry *entry = wcodec_shard_resolve(shard, named);
    const uint64_t most = m->resident->context->limits.max_tensor_bytes;
    uint64_t *kept = &m->kept[shard->first_entry + (uint64_t)(entry - shard->index->entries)];
    struct wcodec_source source;
    if (*kept != 0) {
        item->alias_of = *kept - 1;
        item->form = m->resident->items[item->alias_of].form;
        return wcodec_reporter_add(&m->reporter, named->size, err);
    }
    *kept = 1 + (uint64_t)(item - m->resident->items);
    if (named->size > most)
        return wcodec_fail(err, WCODEC_ERROR_LIMIT,
                           "%" PRIu64 " bytes are more than the limit of %" PRIu64, named->size,
                           most);
    const bool coded = m->resident->device != NULL && m->form == WCODEC_RESIDENT_CODED &&
                       wcodec_resident_can_keep(m->resident, entry);
    if (m->wanted != NULL && !coded) {
        const uint64_t columns = columns_of(named);
        item->form = WCODEC_RESIDENT_PLAIN;
        if (named->size != 0)
            m->wanted[m->wanted_count++] = (struct wcodec_resident_wanted){
                tensor, item, suits_device(m, named, entry, columns) ? columns : 0, shard,
                entry->payload_offset};
        return WCODEC_OK;
    }
    m->bases = shard->bases;
    wcodec_status status = wcodec_shard_acquire(shard, &source, err);
    if (status != WCODEC_OK)
        return status;
    status = coded ? keep_coded(m, &source, entry, item, err)
                   : make_item(m, &source, named, entry, item, err);
    wcodec_shard_release(shard, &source);
    if (status == WCODEC_OK && m->wanted == NULL)
        m->resident->size += item->held;
    if (status == WCODEC_OK && m->resident->device != NULL && !coded)
        status = move_to_device(m, item, err);
    return status;
}

static wcodec_status add(struct maker *m, uint64_t tensor, wcodec_error *err)
{
    struct wcodec_resident *r = m->resident;
    const struct wcodec_shard *shard;
    const struct wcodec_entry *named = wcodec_reader_entry_of_tensor(m->reader, tensor, &shard);
    struct wcodec_resident_item *item = &r->items[r->count];
    uint64_t number = r->count;
    *item = (struct wcodec_resident_item){.alias_of = UINT64_MAX};
    r->count++;
    wcodec_status status = describe(m, named, item, err);
    if (status == WCODEC_OK && !wcodec_names_add(&r->names, item->name, &number))
        status = wcodec_fail(err, WCODEC_ERROR_USAGE, "number %" PRIu64 " is given twice", tensor);
    if (status == WCODEC_OK)
        status = add_elements(m, tensor, shard, named, item, err);
    if (status != WCODEC_OK)
        wcodec_shard_prefix(shard, named, err);
    return status;
}

/* Then the equal tensors are of the same form. */
static wcodec_status load_wanted(struct maker *m, wcodec_error *err)
{
    struct wcodec_resident *r = m->resident;
    wcodec_status status =
        wcodec_resident_load(m->reader, r, m->wanted, m->wanted_count, &m->reporter, err);
    for (uint64_t i = 0; i < r->count; i++) {
        struct wcodec_resident_item *item = &r->items[i];
        if (item->alias_of != UINT64_MAX)
            item->form = r->items[item->alias_of].form;
        else
            r->size += item->held;
    }
    return status;
}

static wcodec_status add_all(struct maker *m, const uint64_t *tensors, size_t count,
                             wcodec_error *err)
{
    wcodec_status status = WCODEC_OK;
    for (size_t i = 0; i < count && status == WCODEC_OK; i++)
        status = add(m, tensors != NULL ? tensors[i] : i, err);
    if (status == WCODEC_OK && m->wanted != NULL)
        status = load_wanted(m, err);
    return status == WCODEC_OK ? wcodec_reporter_end(&m->reporter, err) : status;
}

/* Decoded bytes of all. */
static wcodec_status sum_sizes(const wcodec_reader *reader, const uint64_t *tensors, size_t count,
                               uint64_t *total, wcodec_error *err)
{
    wcodec_tensor_info info;
    *total = 0;
    for (size_t i = 0; i < count; i++) {
        wcodec_status status =
            wcodec_reader_tensor(reader, tensors != NULL ? tensors[i] : i, &info, err);
        if (status != WCODEC_OK)
            return status;
        *total += info.size < UINT64_MAX - *total ? info.size : UINT64_MAX - *total;
    }
    return WCODEC_OK;
}

static wcodec_status begin(struct maker *m, size_t count, wcodec_error *err)
{
    wcodec_context *context = m->reader->context;
    const wcodec_allocator *allocator = &context->allocator;
    struct wcodec_resident *r = wcodec_alloc_zeroed(allocator, sizeof *r);
    if (r == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for resident tensors");
    if (pthread_mutex_init(&r->launches, NULL) != 0) {
        wcodec_free(allocator, r);
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for a lock");
    }
    r->context = context;
    wcodec_arena_init(&r->arena, allocator);
    r->items = wcodec_alloc_array(allocator, count, sizeof *r->items);
    m->kept = wcodec_alloc_array(allocator, m->reader->entry_count, sizeof *m->kept);
    if (r->items == NULL || m->kept == NULL || !wcodec_names_init(&r->names, allocator, count)) {
        wcodec_free(allocator, m->kept);
        wcodec_resident_destroy(r);
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for %zu tensors", count);
    }
    memset(m->kept, 0, (size_t)m->reader->entry_count * sizeof *m->kept);
    m->resident = r;
    m->held = count * sizeof *r->items + m->reader->entry_count * sizeof *m->kept +
              wcodec_names_memory(count);
    return WCODEC_OK;
}

static wcodec_status read_options(const wcodec_resident_options *from,
                                  wcodec_resident_options *options, wcodec_error *err)
{
    wcodec_status status =
        wcodec_options_take(from, options, sizeof *options, "wcodec_resident_options_init", err);
    if (status == WCODEC_OK)
        status = wcodec_progress_check(&options->progress, err);
    if (status == WCODEC_OK && (unsigned)options->form > WCODEC_RESIDENT_PLAIN)
        status =
            wcodec_fail(err, WCODEC_ERROR_USAGE, "there is no form number %d", (int)options->form);
    return status;
}

/* Devices that can code load all tensors together. */
static wcodec_status choose_way(struct maker *m, size_t count, wcodec_error *err)
{
    const struct wcodec_opened *device = m->resident->device;
    m->keeper.resident = m->resident;
    if (device != NULL && m->form == WCODEC_RESIDENT_CODED &&
        device->backend->products->keep == NULL)
        return wcodec_fail(err, WCODEC_ERROR_UNSUPPORTED,
                           "%s (%s) keeps no tensors of form coded: fixed, plain or auto",
                           device->name, device->listing.name);
    if (device == NULL || device->backend->products->measure == NULL)
        return WCODEC_OK;
    m->wanted = wcodec_alloc_array(&m->resident->context->allocator, count + 1, sizeof *m->wanted);
    return m->wanted != NULL
               ? WCODEC_OK
               : wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for %zu tensors", count);
}

wcodec_status wcodec_resident_create(const wcodec_reader *reader, const uint64_t *tensors,
                                     size_t count, const wcodec_resident_options *options,
                                     wcodec_resident **resident, wcodec_error *err)
{
    struct maker m = {.reader = reader};
    wcodec_resident_options own = defaults;
    uint64_t total;
    if (reader == NULL || resident == NULL || (tensors == NULL && count != 0))
        return wcodec_fail(err, WCODEC_ERROR_USAGE, "wcodec_resident_create: an argument is NULL");
    wcodec_status status = wcodec_context_usable(reader->context, err);
    if (status == WCODEC_OK)
        status = read_options(options, &own, err);
    if (tensors == NULL)
        count = (size_t)reader->tensor_count;
    if (status == WCODEC_OK)
        status = sum_sizes(reader, tensors, count, &total, err);
    if (status == WCODEC_OK)
        status = begin(&m, count, err);
    if (status != WCODEC_OK)
        return status;
    m.form = own.form;
    wcodec_reporter_init(&m.reporter, &own.progress, total);
    wcodec_cancel_init(&m.cancel, &m.reporter);
    status = wcodec_resident_on_device(m.resident, own.memory, err);
    if (status == WCODEC_OK)
        status = wcodec_resident_count_outside(m.resident, err);
    if (status == WCODEC_OK)
        status = choose_way(&m, count, err);
    if (status == WCODEC_OK)
        status = add_all(&m, tensors, count, err);
    wcodec_resident_keeper_end(&m.keeper);
    if (status == WCODEC_OK)
        status = wcodec_resident_make_work(m.resident, err);
    if (status == WCODEC_OK)
        status = wcodec_resident_make_dense(m.resident, own.decoded, err);
    wcodec_free(&reader->context->allocator, m.wanted);
    wcodec_free(&reader->context->allocator, m.kept);
    if (status != WCODEC_OK)
        wcodec_resident_destroy(m.resident);
    else
        *resident = m.resident;
    return status;
}
