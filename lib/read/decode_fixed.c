/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Matrices at a fixed rate: bands of tiles, whose places are known beforehand. */

#include "backends/cpu/cpu_level.h"
#include "backends/cpu/fixed.h"
#include "core/error.h"
#include "core/memory.h"
#include "read/decode.h"
#include <inttypes.h>
#include <stdatomic.h>

enum { TASK_TILES = 32 };

/* Shifts and checks, checked. */
wcodec_status wcodec_decoder_open_fixed(struct wcodec_decoder *d, wcodec_error *err)
{
    struct wcodec_fixed *f = &d->fixed;
    wcodec_status status = WCODEC_OK;
    wcodec_entry_fixed(d->input.entry, f);
    d->side = d->payload;
    if (d->payload == NULL) {
        status = wcodec_decoder_take(d, f->tiles_begin, &d->loaded_side, err);
        if (status == WCODEC_OK)
            status = wcodec_decoder_read(d, d->input.entry->payload_offset, d->loaded_side,
                                         f->tiles_begin, err);
        d->side = d->loaded_side;
    }
    return status == WCODEC_OK ? wcodec_fixed_check_front(f, d->side, err) : status;
}

/* Tiles [first, end), whose records are in memory, decoded in parallel. */
struct batch {
    struct wcodec_cpu_fixed_job job;
    const uint8_t *records;
    uint64_t first, end;
    _Atomic uint64_t failed;
};

static uint32_t check_of(const struct wcodec_cpu_fixed_job *job, uint64_t tile)
{
    return wcodec_load_u32(job->shifts + job->fixed->checks_begin + 4 * tile);
}

static void decode_task(void *argument, size_t i)
{
    struct batch *b = argument;
    const uint64_t first = b->first + (uint64_t)i * TASK_TILES,
                   end = b->end - first < TASK_TILES ? b->end : first + TASK_TILES;
    for (uint64_t tile = first; tile < end; tile++) {
        const uint8_t *record = b->records + (tile - b->first) * b->job.fixed->record_size;
        const enum wcodec_tile_fault fault =
            wcodec_cpu_fixed_decode(&b->job, tile, record, check_of(&b->job, tile));
        wcodec_cpu_note_faults(&b->failed, tile, 1, &fault);
    }
}

static wcodec_status tile_failed(const struct wcodec_fixed *f, uint64_t tile,
                                 enum wcodec_tile_fault fault, wcodec_error *err)
{
    return wcodec_fail(err, WCODEC_ERROR_CORRUPT, "tile %" PRIu64 " of %" PRIu64 ": %s", tile,
                       f->tiles, wcodec_tile_fault_string(fault));
}

/* Which spilled elements the tiles have: each tile's follow those of the tile before. *next: number
 * of the first that is to come, UINT64_MAX if that is not known. */
static wcodec_status find_spilled(struct batch *b, uint64_t *next, wcodec_error *err)
{
    const struct wcodec_fixed *f = b->job.fixed;
    struct wcodec_fixed_list list;
    if (f->spilled == 0) /* decoders refuse any list that names some */
        *next = 0;
    b->job.spilled_first = b->job.spilled_end = *next;
    for (uint64_t tile = b->first; tile < b->end && f->spilled != 0; tile++) {
        const uint8_t *record = b->records + (tile - b->first) * f->record_size;
        const enum wcodec_tile_fault fault = wcodec_fixed_list_find(f, record, &list);
        if (fault != WCODEC_TILE_OK)
            return tile_failed(f, tile, fault, err);
        if (list.spilled_count == 0)
            continue;
        if (b->job.spilled_end == UINT64_MAX)
            b->job.spilled_first = b->job.spilled_end = list.spilled_first;
        if (list.spilled_first != b->job.spilled_end)
            return tile_failed(f, tile, WCODEC_TILE_OUTLIER, err);
        b->job.spilled_end += list.spilled_count;
    }
    *next = b->job.spilled_end;
    if (b->end == f->tiles && *next != UINT64_MAX && *next != f->spilled)
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                           "tiles have %" PRIu64 " spilled elements, there are %" PRIu64, *next,
                           f->spilled);
    return WCODEC_OK;
}

static wcodec_status reserve_spilled(struct wcodec_decoder *d, uint64_t size, wcodec_error *err)
{
    wcodec_free(&d->input.context->allocator, d->spilled.bytes);
    d->spilled.bytes = NULL;
    d->held -= d->spilled.size;
    d->spilled.size = 0;
    wcodec_status status = wcodec_decoder_take(d, size, &d->spilled.bytes, err);
    if (status == WCODEC_OK)
        d->spilled.size = size;
    return status;
}

/* Bring the batch's records into memory, then its spilled elements. */
static wcodec_status load(struct wcodec_decoder *d, struct batch *b, uint64_t *next,
                          wcodec_error *err)
{
    const struct wcodec_fixed *f = &d->fixed;
    const uint64_t offset = d->input.entry->payload_offset,
                   begin = f->tiles_begin + b->first * f->record_size,
                   size = (b->end - b->first) * f->record_size;
    wcodec_status status = WCODEC_OK;
    if (d->payload == NULL) {
        status = wcodec_decoder_reserve(d, size, err);
        if (status == WCODEC_OK)
            status = wcodec_decoder_read(d, offset + begin, d->buffer, size, err);
    }
    b->records = d->payload != NULL ? d->payload + begin : d->buffer;
    if (status == WCODEC_OK)
        status = find_spilled(b, next, err);
    if (status != WCODEC_OK)
        return status;
    const uint64_t from = f->spilled_begin + 4 * b->job.spilled_first,
                   spilled = 4 * (b->job.spilled_end - b->job.spilled_first);
    if (spilled == 0)
        return WCODEC_OK;
    if (d->payload != NULL) {
        b->job.spilled = d->payload + from;
        return WCODEC_OK;
    }
    if (spilled > d->spilled.size)
        status = reserve_spilled(d, spilled, err);
    if (status == WCODEC_OK)
        status = wcodec_decoder_read(d, offset + from, d->spilled.bytes, spilled, err);
    b->job.spilled = d->spilled.bytes;
    return status;
}

static wcodec_status decode_batch(struct wcodec_decoder *d, struct batch *b, wcodec_error *err)
{
    atomic_init(&b->failed, UINT64_MAX);
    wcodec_run(d->input.context, decode_task, b,
               (size_t)wcodec_div_up_u64(b->end - b->first, TASK_TILES));
    const uint64_t failed = atomic_load(&b->failed);
    return failed == UINT64_MAX
               ? WCODEC_OK
               : tile_failed(&d->fixed, failed >> 3, (enum wcodec_tile_fault)(failed & 7), err);
}

wcodec_status wcodec_decoder_range_fixed(struct wcodec_decoder *d, uint64_t begin, uint64_t end,
                                         uint8_t *dst, struct wcodec_reporter *reporter,
                                         wcodec_error *err)
{
    const struct wcodec_fixed *f = &d->fixed;
    const uint64_t band = wcodec_fixed_band_size(f), stop = (end - 1) / band + 1,
                   coded = f->across * f->record_size,
                   budget = d->payload != NULL ? WCODEC_DECODE_BATCH : wcodec_decoder_budget(d),
                   most = budget / coded > 0 ? budget / coded : 1;
    struct wcodec_cpu_fixed_dsp dsp;
    wcodec_status status = WCODEC_OK;
    uint64_t done = begin, next = begin / band == d->spilled.band ? d->spilled.next : UINT64_MAX;
    wcodec_cpu_fixed_dsp_init(&dsp, wcodec_cpu_levels() & d->input.context->cpu_mask);
    for (uint64_t first = begin / band; first < stop && status == WCODEC_OK;) {
        const uint64_t last = stop - first < most ? stop : first + most;
        struct batch b = {.job = {.dsp = &dsp,
                                  .fixed = f,
                                  .shifts = d->side,
                                  .verify = d->input.verify,
                                  .begin = begin,
                                  .end = end,
                                  .dst = dst},
                          .first = first * f->across,
                          .end = last * f->across};
        status = load(d, &b, &next, err);
        if (status == WCODEC_OK)
            status = decode_batch(d, &b, err);
        if (status != WCODEC_OK)
            break;
        const uint64_t reached = last < stop ? last * band : end;
        status = wcodec_reporter_add(reporter, reached - done, err);
        done = reached;
        first = last;
        d->spilled.band = last;
        d->spilled.next = next;
    }
    return status;
}
