/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "backends/cpu/cpu_level.h"
#include "backends/cpu/decode.h"
#include "backends/cpu/fragments.h"
#include "core/error.h"
#include "core/memory.h"
#include "encode/assemble.h"
#include "encode/fixed.h"
#include "encode/records.h"
#include <inttypes.h>
#include <stdatomic.h>

enum {
    WORKERS_MAX = 1024,
    BATCH = 4,             /* tiles that a worker decodes at once, ... */
    BATCH_BYTES = 1 << 18, /* ... of at most so many bytes */
    PLAIN_EVERY = 64,      /* tiles, one of which the plain C decoder decodes */
    FEW_TILES = 4
};

size_t wcodec_encode_workers(wcodec_context *context, uint64_t scratch, uint64_t each,
                             uint64_t work)
{
    uint64_t workers = wcodec_context_threads(context), most = scratch == 0 ? WORKERS_MAX
                                                               : scratch / each < 1
                                                                   ? 1
                                                                   : scratch / each;
    workers = workers < most ? workers : most;
    return (size_t)(workers < work ? workers : work);
}

size_t wcodec_coded_join(const struct wcodec_coded *coded, uint8_t *to)
{
    size_t size = 0;
    for (size_t i = 0; i < coded->part_count; i++) {
        const struct wcodec_coded_part *part = &coded->parts[i];
        if (part->size != 0)
            memcpy(to + size, part->data, (size_t)part->size);
        size += (size_t)part->size;
    }
    return size;
}

wcodec_status wcodec_coded_gather(struct wcodec_coded *coded, wcodec_error *err)
{
    uint8_t parameters[WCODEC_TILING_MAX_BYTES];
    if (coded->coding != WCODEC_CODING_TILES || coded->loan.end != NULL)
        return WCODEC_OK;
    const size_t size = wcodec_tiling_write(coded->tiling, parameters);
    uint8_t *payload = wcodec_alloc(coded->allocator, (size_t)coded->payload_size + size);
    if (payload == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for a payload");
    wcodec_coded_join(coded, payload);
    for (size_t i = 0; i < coded->part_count; i++)
        wcodec_free(coded->allocator, coded->parts[i].data);
    coded->part_count = 1;
    coded->parts[0] = (struct wcodec_coded_part){payload, coded->payload_size};
    coded->range_count = 0;
    coded->tiling_parameters = payload + coded->payload_size;
    memcpy(coded->tiling_parameters, parameters, size);
    coded->parameters_size = size;
    wcodec_free(coded->allocator, coded->tiling);
    coded->tiling = NULL;
    return WCODEC_OK;
}

void wcodec_coded_free(struct wcodec_coded *coded)
{
    const size_t own = coded->loan.end != NULL ? 1 : coded->part_count;
    for (size_t i = 0; i < own && i < coded->part_count && coded->records == NULL; i++)
        wcodec_free(coded->allocator, coded->parts[i].data);
    if (coded->loan.end != NULL)
        coded->loan.end(coded->loan.lender);
    coded->loan.end = NULL;
    wcodec_coded_records_free(coded->records);
    wcodec_free(coded->allocator, coded->parts);
    wcodec_free(coded->allocator, coded->tiling);
    wcodec_free(coded->allocator, coded->blocks);
    wcodec_free(coded->allocator, coded->lossy);
    wcodec_free(coded->allocator, coded->fixed);
    wcodec_free(coded->allocator, coded->fragments);
    wcodec_free(coded->allocator, coded->coefficients);
    wcodec_free(coded->allocator, coded->approximation);
    wcodec_free(coded->allocator, coded->parameters);
    coded->parameters = coded->tiling_parameters = NULL;
    coded->tiling = NULL;
    coded->lossy = NULL;
    coded->fixed = NULL;
    coded->fragments = NULL;
    coded->coefficients = coded->approximation = NULL;
    coded->blocks = NULL;
    coded->records = NULL;
    coded->parts = NULL;
    coded->part_count = 0;
}

wcodec_status wcodec_coded_prepend(struct wcodec_coded *coded, uint8_t *bytes, uint64_t size,
                                   wcodec_error *err)
{
    struct wcodec_coded_part *parts =
        wcodec_realloc_array(coded->allocator, coded->parts, coded->part_count + 1, sizeof *parts);
    if (parts == NULL) {
        wcodec_free(coded->allocator, bytes);
        return wcodec_fail(err, WCODEC_ERROR_MEMORY,
                           "out of memory for what describes a tensor's blocks");
    }
    memmove(parts + 1, parts, coded->part_count++ * sizeof *parts);
    parts[0] = (struct wcodec_coded_part){bytes, size};
    coded->parts = parts;
    coded->payload_size += size;
    return WCODEC_OK;
}

struct verifier {
    const struct wcodec_coded *coded;
    const struct wcodec_coded_part *tile_parts; /* after the modes of blocks */
    const struct wcodec_tiles *tiles;
    /* What the plain C decoder gives does not depend on what this machine can do, but it takes ten
     * times as long: it decodes some tiles, the first one among them, and this machine's best
     * one the others. Of tensors of a few tiles only some have one for it, by chance. */
    const struct wcodec_cpu_decoder *plain, *best;
    uint64_t phase; /* the plain one has tile PLAIN_EVERY - phase, or if that is 0 the first */
    const wcodec_allocator *allocator;
    const uint8_t *data;
    uint64_t batch;
    size_t buffer_size;
    struct wcodec_cancel *cancel;
    const struct wcodec_verified *verified; /* NULL: nothing to do */
    _Atomic size_t next;                    /* range */
    _Atomic uint64_t bad;                   /* the first tile that differs */
    atomic_bool failed;                     /* no memory */
};

static void note_bad(struct verifier *v, uint64_t tile)
{
    uint64_t bad = atomic_load(&v->bad);
    while (tile < bad && !atomic_compare_exchange_weak(&v->bad, &bad, tile))
        ;
}

/* Some tiles by the reference, as they were decoded. */
static bool are_fragments_right(const struct verifier *v, uint64_t tile, const uint8_t *out,
                                size_t size)
{
    const struct wcodec_fragments *f = v->coded->fragments;
    const unsigned tile_log2 = v->tiles->tiling->tile_log2;
    const uint64_t first = tile << tile_log2, end = first + (size >> f->element_log2);
    uint8_t expected[WCODEC_SECTION << WCODEC_FRAGMENTS_ELEMENT_LOG2_MAX];
    bool right = true;
    for (uint64_t i = first, n; i < end; i += n) {
        n = end - i < WCODEC_SECTION ? end - i : WCODEC_SECTION;
        if ((tile + v->phase) % PLAIN_EVERY == 0)
            wcodec_fragments_gather(f, v->data, i, n, expected);
        else
            wcodec_cpu_fragments_gather(f, v->data, i, n, expected);
        right = right && memcmp(out + ((i - first) << f->element_log2), expected,
                                (size_t)(n << f->element_log2)) == 0;
    }
    return right;
}

/* Is a tile what was coded? */
static bool is_right(const struct verifier *v, uint64_t tile, const uint8_t *out, size_t size)
{
    const struct wcodec_tiling *t = v->tiles->tiling;
    const struct wcodec_blocks *b = v->coded->blocks;
    bool right = true;
    if (v->coded->fragments != NULL)
        return are_fragments_right(v, tile, out, size);
    if (b == NULL)
        return memcmp(out, v->data + (tile << (t->tile_log2 + t->element_log2)), size) == 0;
    const size_t block_size = (size_t)WCODEC_BLOCK << t->element_log2;
    const uint64_t first = tile << (t->tile_log2 - WCODEC_BLOCK_LOG2);
    for (size_t i = 0; i < size / block_size; i++)
        right = right &&
                wcodec_block_is_right(b, first + i,
                                      wcodec_blocks_mode(b, v->coded->parts[0].data, first + i),
                                      out + i * block_size, v->data);
    return right;
}

/* Each area of a range of tiles is a part of the payload. */
static void verify_range(struct verifier *v, size_t range, uint8_t *out)
{
    const struct wcodec_tiling *t = v->tiles->tiling;
    uint64_t begin = range * v->coded->range_tiles,
             end = t->tiles - begin < v->coded->range_tiles ? t->tiles
                                                            : begin + v->coded->range_tiles,
             stop[WCODEC_AREAS];
    struct wcodec_view view;
    wcodec_tiles_extent(v->tiles, begin, end, view.begin, stop);
    for (unsigned a = 0; a < WCODEC_AREAS; a++) {
        static const uint8_t nothing[1];
        const uint8_t *part = v->tile_parts[1 + a * v->coded->range_count + range].data;
        view.data[a] = part ? part : nothing;
    }
    for (uint64_t first = begin, count; first < end; first += count) {
        enum wcodec_tile_fault faults[BATCH];
        if (wcodec_cancel_poll(v->cancel))
            return;
        const uint64_t place = (first + v->phase) % PLAIN_EVERY;
        const bool plain = place == 0;
        count = PLAIN_EVERY - place;
        count = count < end - first ? count : end - first;
        if (plain || count > v->batch)
            count = plain ? 1 : v->batch;
        wcodec_cpu_decode_tiles(plain ? v->plain : v->best, &view, first, (unsigned)count, out,
                                true, false, faults);
        wcodec_cancel_count(v->cancel, count << (t->tile_log2 + t->element_log2));
        for (uint64_t i = 0; i < count; i++) {
            uint64_t offset = i << (t->tile_log2 + t->element_log2),
                     size = (uint64_t)wcodec_tile_elements(t, first + i) << t->element_log2;
            if (faults[i] != WCODEC_TILE_OK || !is_right(v, first + i, out + offset, (size_t)size))
                note_bad(v, first + i);
        }
    }
}

static void verify_task(void *argument, size_t i)
{
    struct verifier *v = argument;
    uint8_t *out = NULL;
    (void)i;
    for (size_t range; !atomic_load(&v->failed) &&
                       (range = atomic_fetch_add(&v->next, 1)) < v->coded->range_count;) {
        if (out == NULL)
            out = wcodec_alloc(v->allocator, v->buffer_size);
        if (out == NULL) {
            atomic_store(&v->failed, true);
            break;
        }
        verify_range(v, range, out);
        if (v->verified)
            v->verified->parts(v->verified->opaque,
                               (size_t)(v->tile_parts - v->coded->parts) + 1 + range,
                               v->coded->range_count, WCODEC_AREAS);
    }
    wcodec_free(v->allocator, out);
}

wcodec_status wcodec_coded_verify(wcodec_context *context,
                                  const struct wcodec_encode_settings *settings,
                                  const struct wcodec_coded *coded, const void *data,
                                  const struct wcodec_verified *verified, wcodec_error *err)
{
    struct wcodec_tiles *tiles;
    const bool blocks = coded->coding == WCODEC_CODING_BLOCKS,
               lossy = coded->coding == WCODEC_CODING_LOSSY;
    if (coded->coding == WCODEC_CODING_FIXED)
        return wcodec_fixed_verify(context, settings, coded, data, err);
    if (coded->coding == WCODEC_CODING_RECORDS)
        return wcodec_coded_verify_records(context, settings, coded, data, err);
    if (coded->tiling == NULL)
        return WCODEC_OK;
    if (coded->unpacked_size != 0)
        return wcodec_coded_verify_packed(context, settings, coded, data, err);
    const struct wcodec_coded_part *parts = coded->parts + (blocks || lossy);
    const uint64_t payload_size =
        coded->payload_size - (blocks || lossy ? coded->parts[0].size : 0);
    const struct wcodec_tiling *t = coded->tiling;
    wcodec_status status =
        wcodec_tiles_read(t, parts[0].data, payload_size, &context->allocator, &tiles, err);
    if (status == WCODEC_ERROR_CORRUPT)
        status = WCODEC_ERROR_DEVICE;
    if (status != WCODEC_OK)
        return status;
    struct wcodec_cpu_dsp plain = {0}, best = {0};
    struct wcodec_cpu_decoder *plain_decoder = NULL, *best_decoder = NULL;
    struct verifier v = {.coded = coded,
                         .tile_parts = parts,
                         .tiles = tiles,
                         .allocator = &context->allocator,
                         .data = coded->coefficients ? coded->coefficients : data,
                         .cancel = settings->cancel,
                         .verified = verified,
                         .batch = BATCH,
                         .bad = UINT64_MAX};
    while (v.batch > 1 && v.batch << (t->tile_log2 + t->element_log2) > BATCH_BYTES)
        v.batch /= 2;
    v.buffer_size = (size_t)v.batch * (size_t)wcodec_tile_elements(t, 0) << t->element_log2;
    /* Checks are as good as random. */
    v.phase = t->tiles < FEW_TILES ? tiles->checks[0] % PLAIN_EVERY : 0;
    wcodec_cpu_dsp_init_scalar(&plain);
    wcodec_cpu_dsp_init(&best, (wcodec_cpu_levels() & context->cpu_mask) | wcodec_cpu_tuning());
    if (v.phase == 0 || t->tiles > PLAIN_EVERY - v.phase)
        status = wcodec_cpu_decoder_create(&plain, tiles, &context->allocator, &plain_decoder, err);
    if (status == WCODEC_OK)
        status = wcodec_cpu_decoder_create(&best, tiles, &context->allocator, &best_decoder, err);
    if (status != WCODEC_OK)
        goto free_decoders;
    v.plain = plain_decoder;
    v.best = best_decoder;
    wcodec_run(
        context, verify_task, &v,
        wcodec_encode_workers(context, settings->scratch, v.buffer_size, coded->range_count));
    if (atomic_load(&v.failed))
        status = wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for tiles to verify");
    else if (wcodec_cancel_poll(settings->cancel))
        status = wcodec_fail(err, WCODEC_ERROR_CANCELLED, "cancelled by the caller");
    else if (v.bad != UINT64_MAX)
        status = wcodec_fail(err, WCODEC_ERROR_DEVICE,
                             "tile %" PRIu64
                             " does not decode to what was coded: this machine computes wrongly",
                             (uint64_t)v.bad);
free_decoders:
    wcodec_cpu_decoder_free(plain_decoder);
    wcodec_cpu_decoder_free(best_decoder);
    wcodec_tiles_free(tiles);
    return status;
}
