/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "read/decode.h"
#include "core/error.h"
#include "core/memory.h"
#include <inttypes.h>
#include <stdatomic.h>

enum { FILL_PIECE = 1 << 20, FILL_PATTERN = 512, READ_PIECE = 1 << 20, HASH_PIECE = 2 << 20 };

wcodec_status wcodec_decoder_take(struct wcodec_decoder *d, uint64_t size, uint8_t **memory,
                                  wcodec_error *err)
{
    const uint64_t most = d->input.context->limits.max_memory,
                   held = d->held + atomic_load(&d->session.owner.held);
    if (size > most || held > most - size)
        return wcodec_fail(err, WCODEC_ERROR_LIMIT,
                           "decoding takes at least %" PRIu64
                           " bytes of memory, the limit is %" PRIu64,
                           held + size, most);
    uint8_t *got = wcodec_alloc_array(&d->input.context->allocator, size, 1);
    if (got == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory: %" PRIu64 " bytes", size);
    d->held += size;
    *memory = got;
    return WCODEC_OK;
}

uint64_t wcodec_decoder_left(const struct wcodec_decoder *d)
{
    const uint64_t most = d->input.context->limits.max_memory, held = d->held - d->buffer_size;
    return held < most ? most - held : 0;
}

uint64_t wcodec_decoder_budget(const struct wcodec_decoder *d)
{
    const uint64_t left = wcodec_decoder_left(d);
    return left < WCODEC_DECODE_BATCH ? left : WCODEC_DECODE_BATCH;
}

wcodec_status wcodec_decoder_reserve(struct wcodec_decoder *d, uint64_t size, wcodec_error *err)
{
    if (size <= d->buffer_size)
        return WCODEC_OK;
    wcodec_free(&d->input.context->allocator, d->buffer);
    d->buffer = NULL;
    d->held -= d->buffer_size;
    d->buffer_size = 0;
    wcodec_status status = wcodec_decoder_take(d, size, &d->buffer, err);
    if (status == WCODEC_OK)
        d->buffer_size = size;
    return status;
}

wcodec_status wcodec_decoder_choose(struct wcodec_decoder *d, const struct wcodec_tiling *tiling,
                                    uint32_t needed, bool whole_elements, bool *by_device,
                                    wcodec_error *err)
{
    wcodec_status status = WCODEC_OK;
    if (!d->input.on_cpu)
        status = wcodec_session_choose(&d->session, tiling, needed, err);
    if (status == WCODEC_OK)
        *by_device = !d->input.on_cpu && !d->session.on_cpu && whole_elements;
    return status;
}

struct parallel_read {
    const struct wcodec_source *source;
    uint64_t offset;
    uint64_t size;
    uint8_t *dst;             /* NULL: the source is memory, and stays there */
    struct wcodec_tree *hash; /* NULL: not hashed */
    uint64_t hash_at;         /* of the first byte, in what is hashed */
    atomic_flag failed;
    wcodec_status status; /* of the first that failed; error likewise */
    wcodec_error error;
};

static void read_piece(void *argument, size_t i)
{
    struct parallel_read *r = argument;
    uint64_t at = (uint64_t)i * READ_PIECE,
             size = r->size - at < READ_PIECE ? r->size - at : READ_PIECE;
    const uint8_t *bytes = r->dst != NULL ? r->dst + at : r->source->data + r->offset + at;
    wcodec_error error;
    wcodec_status status = WCODEC_OK;
    if (r->dst != NULL)
        status = wcodec_source_read(r->source, r->offset + at, r->dst + at, (size_t)size, &error);
    if (status == WCODEC_OK && r->hash != NULL)
        status = wcodec_tree_put(r->hash, r->hash_at + at, bytes, size, &error);
    if (status == WCODEC_OK || atomic_flag_test_and_set(&r->failed))
        return;
    r->error = error;
    r->status = status;
}

static wcodec_status run_read(const struct wcodec_decoder *d, struct parallel_read *r,
                              wcodec_error *err)
{
    wcodec_run(d->input.context, read_piece, r, (size_t)wcodec_div_up_u64(r->size, READ_PIECE));
    if (r->status != WCODEC_OK && err != NULL)
        *err = r->error;
    return r->status;
}

/* Copying from the system's cache and touching new memory take as long as decoding does on a few
 * cores. */
wcodec_status wcodec_decoder_read(const struct wcodec_decoder *d, uint64_t offset, uint8_t *dst,
                                  uint64_t size, wcodec_error *err)
{
    struct parallel_read r = {.source = d->input.source,
                              .offset = offset,
                              .size = size,
                              .dst = dst,
                              .failed = ATOMIC_FLAG_INIT};
    return run_read(d, &r, err);
}

/* A packed payload takes the place of its packed form. */
static wcodec_status unpack(struct wcodec_decoder *d, wcodec_error *err)
{
    const struct wcodec_entry *e = d->input.entry;
    uint8_t *unpacked;
    wcodec_status status = wcodec_decoder_take(d, wcodec_entry_unpacked_size(e), &unpacked, err);
    if (status != WCODEC_OK)
        return status;
    status = wcodec_entry_unpack(e, d->payload, unpacked, err);
    wcodec_free(&d->input.context->allocator, d->loaded);
    d->payload = d->loaded = unpacked;
    return status;
}

/* Hash a payload of records that is not small: fields are then read once more as they are decoded,
 * each from places of its own, which takes less time than memory for all of them. */
static wcodec_status hash_payload(struct wcodec_decoder *d, wcodec_error *err)
{
    const struct wcodec_entry *e = d->input.entry;
    const uint64_t budget = wcodec_decoder_budget(d) / 4 + 1,
                   most = budget < HASH_PIECE ? budget : HASH_PIECE;
    uint8_t *bytes;
    wcodec_status status = wcodec_decoder_take(d, most, &bytes, err);
    if (status != WCODEC_OK)
        return status;
    for (uint64_t at = 0; at < e->payload_size && status == WCODEC_OK; at += most) {
        struct parallel_read r = {.source = d->input.source,
                                  .offset = e->payload_offset + at,
                                  .size = e->payload_size - at < most ? e->payload_size - at : most,
                                  .dst = bytes,
                                  .hash = d->input.hash,
                                  .hash_at = at,
                                  .failed = ATOMIC_FLAG_INIT};
        status = run_read(d, &r, err);
    }
    wcodec_free(&d->input.context->allocator, bytes);
    d->held -= most;
    return status;
}

/* Bring the whole payload into memory where that is wanted, or see where it is; hash it. */
static wcodec_status load_payload(struct wcodec_decoder *d, wcodec_error *err)
{
    const struct wcodec_entry *e = d->input.entry;
    const bool in_memory = d->input.source->fd < 0;
    const bool parts = e->coding == WCODEC_CODING_RECORDS || e->coding == WCODEC_CODING_MASKED ||
                       e->coding == WCODEC_CODING_DELTA || e->coding == WCODEC_CODING_ANCHORED;
    const bool must = (d->input.hash != NULL && e->coding != WCODEC_CODING_CHUNKS && !parts) ||
                      wcodec_entry_is_packed(e);
    const bool apart = parts && d->input.hash != NULL;
    const uint64_t most = apart ? HASH_PIECE : wcodec_decoder_budget(d) / 2;
    if (!in_memory && !must && !wcodec_read_whole(e, d->input.whole, most))
        return apart ? hash_payload(d, err) : WCODEC_OK;
    wcodec_status status = WCODEC_OK;
    if (!in_memory)
        status = wcodec_decoder_take(d, e->payload_size, &d->loaded, err);
    struct parallel_read r = {.source = d->input.source,
                              .offset = e->payload_offset,
                              .size = e->payload_size,
                              .dst = d->loaded,
                              .hash = d->input.hash,
                              .failed = ATOMIC_FLAG_INIT};
    if (status == WCODEC_OK && (!in_memory || r.hash != NULL))
        status = run_read(d, &r, err);
    d->payload = in_memory ? d->input.source->data + e->payload_offset : d->loaded;
    return status == WCODEC_OK && wcodec_entry_is_packed(e) ? unpack(d, err) : status;
}

wcodec_status wcodec_decoder_open(const struct wcodec_decoder_input *input,
                                  struct wcodec_decoder *d, wcodec_error *err)
{
    const struct wcodec_entry *e = input->entry;
    const struct wcodec_source_range payload = {e->payload_offset, e->payload_size};
    *d = (struct wcodec_decoder){.input = *input, .held = input->held};
    wcodec_session_init(input->context, &d->session);
    if (e->newer)
        return wcodec_entry_refuse(e, err);
    if (e->coding == WCODEC_CODING_CONSTANT || e->coding == WCODEC_CODING_INLINE)
        return WCODEC_OK;
    if (d->input.whole && !d->input.announced) {
        wcodec_source_announce(d->input.source, d, &payload, 1);
        d->input.announced = true;
    }
    wcodec_status status = load_payload(d, err);
    if (status == WCODEC_OK)
        status = wcodec_entry_has_tiles(e)             ? wcodec_decoder_open_tiles(d, err)
                 : e->coding == WCODEC_CODING_FIXED    ? wcodec_decoder_open_fixed(d, err)
                 : e->coding == WCODEC_CODING_RECORDS  ? wcodec_decoder_open_records(d, err)
                 : e->coding == WCODEC_CODING_DELTA    ? wcodec_decoder_open_delta(d, err)
                 : e->coding == WCODEC_CODING_MASKED   ? wcodec_decoder_open_masked(d, err)
                 : e->coding == WCODEC_CODING_ANCHORED ? wcodec_decoder_open_anchored(d, err)
                                                       : wcodec_decoder_open_chunks(d, err);
    if (status != WCODEC_OK)
        wcodec_decoder_close(d);
    return status;
}

wcodec_status wcodec_decoder_open_part(struct wcodec_decoder *d, const struct wcodec_source *source,
                                       const struct wcodec_entry *entry,
                                       struct wcodec_decoder *part, wcodec_error *err)
{
    const struct wcodec_decoder_input input = {.context = d->input.context,
                                               .source = source,
                                               .entry = entry,
                                               .held = d->held,
                                               .verify = d->input.verify,
                                               .on_cpu = true,
                                               .announced = d->input.announced,
                                               .whole = d->input.whole};
    const wcodec_status status = wcodec_decoder_open(&input, part, err);
    if (status == WCODEC_OK)
        d->held = part->held;
    return status;
}

wcodec_status wcodec_decoder_range_part(struct wcodec_decoder *d, struct wcodec_decoder *part,
                                        uint64_t begin, uint64_t end, uint8_t *dst,
                                        wcodec_error *err)
{
    struct wcodec_reporter silent = {0};
    part->held = d->held;
    const wcodec_status status = wcodec_decoder_range(part, begin, end, dst, &silent, err);
    d->held = part->held;
    return status;
}

wcodec_status wcodec_decoder_enlarge(struct wcodec_decoder *d, uint64_t size, uint8_t **memory,
                                     uint64_t *held, wcodec_error *err)
{
    if (size <= *held)
        return WCODEC_OK;
    wcodec_free(&d->input.context->allocator, *memory);
    *memory = NULL;
    d->held -= *held;
    *held = 0;
    const wcodec_status status = wcodec_decoder_take(d, size, memory, err);
    if (status == WCODEC_OK)
        *held = size;
    return status;
}

uint64_t wcodec_decoder_unit(const struct wcodec_decoder *d)
{
    const struct wcodec_entry *e = d->input.entry;
    if (wcodec_entry_has_tiles(e))
        return d->layout.bands.size;
    if (e->coding == WCODEC_CODING_FIXED)
        return wcodec_fixed_band_size(&d->fixed);
    if (e->coding == WCODEC_CODING_RECORDS)
        return wcodec_records_unit(e);
    if (e->coding == WCODEC_CODING_DELTA)
        return wcodec_delta_unit(e);
    if (e->coding == WCODEC_CODING_MASKED)
        return wcodec_masked_unit(e);
    if (e->coding == WCODEC_CODING_ANCHORED)
        return wcodec_anchored_unit(e);
    return e->coding == WCODEC_CODING_CHUNKS ? e->u.chunk : 1;
}

void wcodec_decoder_close(struct wcodec_decoder *d)
{
    const wcodec_allocator *allocator = &d->input.context->allocator;
    wcodec_source_withdraw(d->input.source, d);
    wcodec_decoder_close_delta(d);
    wcodec_decoder_close_masked(d);
    wcodec_decoder_close_anchored(d);
    wcodec_free(allocator, d->bounce[1]);
    wcodec_free(allocator, d->bounce[0]);
    wcodec_session_end(&d->session);
    wcodec_decoder_close_records(d);
    wcodec_free(allocator, d->buffer);
    wcodec_free(allocator, d->spilled.bytes);
    wcodec_chunks_free(d->chunks);
    wcodec_tiles_free(d->tiles);
    wcodec_free(allocator, d->loaded_side);
    wcodec_free(allocator, d->loaded);
    *d = (struct wcodec_decoder){.input = d->input};
}

struct fill {
    uint8_t pattern[FILL_PATTERN];
    uint8_t *dst;
    uint64_t size;
};

static void fill_piece(void *argument, size_t i)
{
    const struct fill *f = argument;
    uint64_t at = (uint64_t)i * FILL_PIECE,
             end = f->size - at < FILL_PIECE ? f->size : at + FILL_PIECE;
    for (; at < end; at += FILL_PATTERN)
        memcpy(f->dst + at, f->pattern,
               (size_t)(end - at < FILL_PATTERN ? end - at : FILL_PATTERN));
}

/* Pieces and the pattern are multiples of the element, so each begins with the same byte of it. */
static wcodec_status range_constant(struct wcodec_decoder *d, uint64_t begin, uint64_t end,
                                    uint8_t *dst, struct wcodec_reporter *reporter,
                                    wcodec_error *err)
{
    const struct wcodec_entry *e = d->input.entry;
    struct fill f = {.dst = dst, .size = end - begin};
    uint64_t mask = ((uint64_t)1 << e->u.constant.element_log2) - 1;
    for (unsigned i = 0; i < FILL_PATTERN; i++)
        f.pattern[i] = e->u.constant.element[(begin + i) & mask];
    wcodec_run(d->input.context, fill_piece, &f, (size_t)wcodec_div_up_u64(f.size, FILL_PIECE));
    return wcodec_reporter_add(reporter, f.size, err);
}

wcodec_status wcodec_decoder_range(struct wcodec_decoder *d, uint64_t begin, uint64_t end,
                                   uint8_t *dst, struct wcodec_reporter *reporter,
                                   wcodec_error *err)
{
    if (begin == end)
        return WCODEC_OK;
    switch (d->input.entry->coding) {
    case WCODEC_CODING_CONSTANT:
        return range_constant(d, begin, end, dst, reporter, err);
    case WCODEC_CODING_INLINE:
        memcpy(dst, d->input.entry->parameters + begin, (size_t)(end - begin));
        return wcodec_reporter_add(reporter, end - begin, err);
    case WCODEC_CODING_TILES:
    case WCODEC_CODING_BLOCKS:
    case WCODEC_CODING_LOSSY:
    case WCODEC_CODING_FRAGMENTS:
        return wcodec_decoder_range_tiles(d, begin, end, dst, reporter, err);
    case WCODEC_CODING_FIXED:
        return wcodec_decoder_range_fixed(d, begin, end, dst, reporter, err);
    case WCODEC_CODING_RECORDS:
        return wcodec_decoder_range_records(d, begin, end, dst, reporter, err);
    case WCODEC_CODING_DELTA:
        return wcodec_decoder_range_delta(d, begin, end, dst, reporter, err);
    case WCODEC_CODING_MASKED:
        return wcodec_decoder_range_masked(d, begin, end, dst, reporter, err);
    case WCODEC_CODING_ANCHORED:
        return wcodec_decoder_range_anchored(d, begin, end, dst, reporter, err);
    default:
        return wcodec_decoder_range_chunks(d, begin, end, dst, reporter, err);
    }
}
