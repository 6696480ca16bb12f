/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "backends/cpu/batch.h"
#include "core/memory.h"
#include <stdatomic.h>

/* One job and where its pieces begin in the batch's count of pieces. */
struct batch_job {
    struct wcodec_job job;
    unsigned unit_log2;  /* in blocks: coded elements of a block, 0 of a plain tensor */
    uint64_t first_unit; /* of those that are wanted */
    uint64_t end_unit;
    struct wcodec_view view;
    struct wcodec_cpu_decoder *decoder;
    uint64_t first_piece;
    uint64_t piece_tiles; /* tiles of a piece: a multiple of what the decoder likes side by side */
    _Atomic uint64_t failed; /* wcodec_cpu_note_faults() */
};

struct wcodec_batch {
    const struct wcodec_host *host;
    const struct wcodec_cpu_blocks_dsp *blocks_dsp;
    size_t count; /* of jobs with a decoder */
    uint64_t pieces;
    bool stream; /* the output is larger than caches */
    _Atomic bool out_of_memory;
    struct batch_job jobs[];
};

enum {
    PIECE_BYTES =
        1 << 18, /* output of a piece, about: large enough that taking one costs nothing */
    PIECE_BYTES_SMALL = 1 << 16, /* of a batch below SMALL_BYTES, so that threads end together */
    SMALL_BYTES = 1 << 22,
    PIECE_TILES_MAX = (PIECE_BYTES >> WCODEC_TILE_LOG2_MIN) + WCODEC_CPU_TILES
};

/* Bytes that a job writes. */
static uint64_t job_bytes(const struct wcodec_job *job)
{
    if (job->blocks != NULL || job->lossy != NULL)
        return job->end - job->begin;
    const struct wcodec_tiling *t = job->tiles->tiling;
    uint64_t begin = job->first << t->tile_log2, end = (job->first + job->count) << t->tile_log2;
    return ((end < t->elements ? end : t->elements) - begin) << t->element_log2;
}

/* Stands for areas without bytes: no null pointer gets into arithmetic or memcpy(). */
static const uint8_t nothing[1];

static wcodec_status prepare_job(const struct wcodec_device *device, const struct wcodec_job *job,
                                 uint64_t piece_bytes, struct batch_job *b, wcodec_error *err)
{
    b->job = *job;
    if (job->blocks != NULL || (job->lossy != NULL && !job->lossy->plain)) {
        const uint64_t band = job->blocks != NULL ? wcodec_blocks_band_size(job->blocks)
                                                  : wcodec_lossy_band_size(job->lossy);
        const uint64_t across = job->blocks != NULL ? job->blocks->across : job->lossy->across;
        b->unit_log2 = job->blocks != NULL ? WCODEC_BLOCK_LOG2 : WCODEC_SUPERBLOCK_LOG2;
        b->first_unit = job->begin / band * across;
        b->end_unit = ((job->end - 1) / band + 1) * across;
    } else if (job->lossy != NULL) {
        b->unit_log2 = 0;
        b->first_unit = job->begin >> job->lossy->element_log2;
        b->end_unit = job->end >> job->lossy->element_log2;
    }
    for (unsigned a = 0; a < WCODEC_AREAS; a++) {
        const struct wcodec_area_place *place = &job->places[a];
        b->view.data[a] = place->size != 0 ? place->memory->data + place->offset : nothing;
        b->view.begin[a] = place->begin;
    }
    const struct wcodec_tiling *t = job->tiles->tiling;
    uint64_t tile_bytes = (uint64_t)1 << (t->tile_log2 + t->element_log2);
    unsigned together = device->dsp->tiles[t->fields[t->coded[0]].profile];
    b->piece_tiles =
        wcodec_div_up_u64(wcodec_div_up_u64(piece_bytes, tile_bytes), together) * together;
    atomic_init(&b->failed, UINT64_MAX);
    return wcodec_cpu_decoder_create(device->dsp, job->tiles, device->host->allocator, &b->decoder,
                                     err);
}

wcodec_status wcodec_cpu_batch_create(struct wcodec_queue *queue, const struct wcodec_job *jobs,
                                      size_t count, struct wcodec_batch **batch, wcodec_error *err)
{
    const struct wcodec_host *host = queue->device->host;
    struct wcodec_batch *b = NULL;
    if (count <= (SIZE_MAX - sizeof *b) / sizeof b->jobs[0])
        b = wcodec_alloc(host->allocator, sizeof *b + count * sizeof b->jobs[0]);
    if (b == NULL)
        return host->fail(err, WCODEC_ERROR_MEMORY, "out of memory for %zu decoding jobs", count);
    b->host = host;
    b->blocks_dsp = queue->device->blocks_dsp;
    b->pieces = 0;
    uint64_t bytes = 0;
    for (size_t i = 0; i < count; i++)
        bytes += job_bytes(&jobs[i]);
    b->stream = bytes >= WCODEC_CPU_STREAM;
    for (b->count = 0; b->count < count; b->count++) {
        struct batch_job *job = &b->jobs[b->count];
        wcodec_status status =
            prepare_job(queue->device, &jobs[b->count],
                        bytes < SMALL_BYTES ? PIECE_BYTES_SMALL : PIECE_BYTES, job, err);
        if (status != WCODEC_OK) {
            wcodec_cpu_batch_destroy(b);
            return status;
        }
        job->first_piece = b->pieces;
        b->pieces += wcodec_div_up_u64(job->job.count, job->piece_tiles);
    }
    *batch = b;
    return WCODEC_OK;
}

/* The job that a piece belongs to: the last one that begins at or before it. */
static struct batch_job *job_of_piece(struct wcodec_batch *batch, uint64_t piece)
{
    size_t low = 0, high = batch->count;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (batch->jobs[middle].first_piece <= piece)
            low = middle;
        else
            high = middle;
    }
    return &batch->jobs[low];
}

static void decode_tiles(struct wcodec_batch *batch, struct batch_job *b, uint64_t at,
                         unsigned count, uint8_t *out, bool stream)
{
    enum wcodec_tile_fault faults[PIECE_TILES_MAX];
    wcodec_cpu_decode_tiles(b->decoder, &b->view, b->job.first + at, count, out, b->job.verify,
                            stream && batch->stream, faults);
    wcodec_cpu_note_faults(&b->failed, b->job.first + at, count, faults);
}

/* Blocks, superblocks or elements [first, end) from what is coded of them. */
static void reconstruct(const struct wcodec_batch *batch, const struct wcodec_job *job,
                        uint64_t first, uint64_t end, const uint8_t *coded)
{
    const struct wcodec_lossy *l = job->lossy;
    uint8_t *out = job->memory->data + job->destination;
    if (job->blocks != NULL)
        wcodec_cpu_restore_blocks(batch->blocks_dsp, job->blocks, job->modes, first, end, coded,
                                  job->begin, job->end, out);
    else if (l->plain)
        wcodec_plain_reconstruct(l, job->modes, first, end - first, coded,
                                 out + ((first << l->element_log2) - job->begin));
    else
        for (uint64_t i = first; i < end; i++)
            wcodec_superblock_reconstruct(
                l, job->modes, i,
                coded + ((i - first) << WCODEC_SUPERBLOCK_LOG2 << l->coefficient_log2), job->begin,
                job->end, out);
}

/* Residuals stay in the thread's cache on their way to elements. */
static void decode_blocks(struct wcodec_batch *batch, struct batch_job *b, uint64_t at,
                          unsigned count)
{
    const struct wcodec_tiling *t = b->job.tiles->tiling;
    const unsigned log2 = t->tile_log2 - b->unit_log2;
    const uint64_t begin = (b->job.first + at) << log2, end = begin + ((uint64_t)count << log2);
    const uint64_t first = begin > b->first_unit ? begin : b->first_unit,
                   stop = end < b->end_unit ? end : b->end_unit;
    uint8_t *coded = wcodec_alloc_array(batch->host->allocator, count,
                                        (uint64_t)1 << (t->tile_log2 + t->element_log2));
    if (coded == NULL) {
        atomic_store(&batch->out_of_memory, true);
        return;
    }
    decode_tiles(batch, b, at, count, coded, false);
    if (first < stop)
        reconstruct(batch, &b->job, first, stop,
                    coded + ((first - begin) << (b->unit_log2 + t->element_log2)));
    wcodec_free(batch->host->allocator, coded);
}

static void decode_piece(void *argument, size_t piece)
{
    struct wcodec_batch *batch = argument;
    struct batch_job *b = job_of_piece(batch, piece);
    const struct wcodec_tiling *t = b->job.tiles->tiling;
    uint64_t at = (piece - b->first_piece) * b->piece_tiles, left = b->job.count - at;
    unsigned count = (unsigned)(left < b->piece_tiles ? left : b->piece_tiles);
    if (b->job.blocks != NULL || b->job.lossy != NULL)
        decode_blocks(batch, b, at, count);
    else
        decode_tiles(batch, b, at, count,
                     b->job.memory->data + b->job.destination +
                         (at << t->tile_log2 << t->element_log2),
                     true);
}

wcodec_status wcodec_cpu_batch_decode(struct wcodec_queue *queue, struct wcodec_batch *batch,
                                      wcodec_error *err)
{
    (void)queue;
    for (size_t i = 0; i < batch->count; i++)
        atomic_store(&batch->jobs[i].failed, UINT64_MAX);
    atomic_store(&batch->out_of_memory, false);
    /* A piece has 256 KiB of output, so their number fits a size_t wherever the output does. */
    batch->host->run(batch->host->opaque, decode_piece, batch, (size_t)batch->pieces);
    if (atomic_load(&batch->out_of_memory))
        return batch->host->fail(err, WCODEC_ERROR_MEMORY, "out of memory for residuals");
    return WCODEC_OK;
}

wcodec_status wcodec_cpu_batch_results(struct wcodec_queue *queue, struct wcodec_batch *batch,
                                       struct wcodec_job_result *results, wcodec_error *err)
{
    (void)queue, (void)err;
    for (size_t i = 0; i < batch->count; i++) {
        struct batch_job *b = &batch->jobs[i];
        uint64_t failed = atomic_load(&b->failed);
        if (failed == UINT64_MAX) {
            results[i] = (struct wcodec_job_result){0, WCODEC_TILE_OK};
            continue;
        }
        results[i] = (struct wcodec_job_result){failed >> 3, (enum wcodec_tile_fault)(failed & 7)};
        memset(b->job.memory->data + b->job.destination, 0, (size_t)job_bytes(&b->job));
    }
    return WCODEC_OK;
}

void wcodec_cpu_batch_destroy(struct wcodec_batch *batch)
{
    for (size_t i = 0; i < batch->count; i++)
        wcodec_cpu_decoder_free(batch->jobs[i].decoder);
    wcodec_free(batch->host->allocator, batch);
}
