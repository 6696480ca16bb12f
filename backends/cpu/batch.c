/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "backends/cpu/batch.h"
#include "core/memory.h"
#include <stdatomic.h>

/* One job and where its pieces begin in the batch's count of pieces. */
struct batch_job {
    struct wcodec_job job;
    bool in_units;       /* in blocks, lossy, in fragments: units of coded elements ... */
    unsigned unit_log2;  /* ... of which elements are reconstructed: a block, superblock, or 1 */
    uint64_t first_unit; /* of those that are wanted */
    uint64_t end_unit;
    struct wcodec_view view;
    struct wcodec_cpu_decoder *decoder; /* NULL at a fixed rate */
    struct wcodec_cpu_fixed_job fixed;
    uint64_t first_piece;
    uint64_t piece_tiles;    /* at most: a multiple of what the decoder likes side by side */
    _Atomic uint64_t failed; /* wcodec_cpu_note_faults() */
};

struct wcodec_batch {
    const struct wcodec_device *device;
    size_t count; /* of jobs with a decoder */
    uint64_t pieces;
    bool stream; /* the output is larger than caches */
    /* Where jobs are in units: what each worker decodes tiles to, to reconstruct elements from. */
    size_t workers;
    uint64_t coded_each;
    uint8_t *coded;
    _Atomic uint64_t next; /* piece that no worker has taken */
    struct batch_job jobs[];
};

enum {
    PIECE_BYTES =
        1 << 18, /* output of a piece, about: large enough that taking one costs nothing */
    PIECE_BYTES_SMALL = 1 << 16, /* of a batch below SMALL_BYTES, so that threads end together */
    SMALL_BYTES = 1 << 22,
    SHARED_TILES = 4,      /* a job of fewer shares a piece with others */
    UNITS_BYTES = 3 << 16, /* coded bytes of a piece in units: in the second-level cache */
    PIECE_TILES_MAX = (PIECE_BYTES >> WCODEC_TILE_LOG2_MIN) + WCODEC_CPU_TILES
};

/* Stands for areas without bytes: no null pointer gets into arithmetic or memcpy(). */
static const uint8_t nothing[1];

static uint64_t tile_bytes(const struct batch_job *b)
{
    const struct wcodec_tiling *t = b->job.tiles->tiling;
    return (uint64_t)1 << (t->tile_log2 + t->element_log2);
}

static void find_units(struct batch_job *b)
{
    const struct wcodec_job *job = &b->job;
    b->in_units = job->blocks != NULL || job->lossy != NULL || job->fragments != NULL;
    if (!b->in_units)
        return;
    if (job->fragments != NULL) {
        const uint64_t size = wcodec_fragments_band_size(job->fragments),
                       elements = wcodec_fragments_band(job->fragments),
                       end = ((job->end - 1) / size + 1) * elements,
                       all = job->tiles->tiling->elements;
        b->unit_log2 = 0;
        b->first_unit = job->begin / size * elements;
        b->end_unit = end < all ? end : all;
        return;
    }
    if (job->lossy != NULL && job->lossy->plain) {
        b->unit_log2 = 0;
        b->first_unit = job->begin >> job->lossy->element_log2;
        b->end_unit = wcodec_div_up_u64(job->end, (uint64_t)1 << job->lossy->element_log2);
        return;
    }
    const uint64_t band = job->blocks != NULL ? wcodec_blocks_band_size(job->blocks)
                                              : wcodec_lossy_band_size(job->lossy);
    const uint64_t across = job->blocks != NULL ? job->blocks->across : job->lossy->across;
    b->unit_log2 = job->blocks != NULL ? WCODEC_BLOCK_LOG2 : WCODEC_SUPERBLOCK_LOG2;
    b->first_unit = job->begin / band * across;
    b->end_unit = ((job->end - 1) / band + 1) * across;
}

/* Whole tiles, several side by side; with little to do, so many that all threads have some. */
static uint64_t unit_piece_tiles(const struct batch_job *b, unsigned together, unsigned threads)
{
    const uint64_t side = together * tile_bytes(b), most = b->job.host_memory / tile_bytes(b);
    uint64_t tiles = UNITS_BYTES > side ? UNITS_BYTES / side * together : together;
    if (tiles > b->job.count / threads)
        tiles = b->job.count / threads;
    if (b->job.host_memory != 0 && tiles > most)
        tiles = most;
    return tiles > 0 ? tiles : 1;
}

static void prepare_fixed(const struct wcodec_device *device, uint64_t piece_bytes,
                          struct batch_job *b)
{
    const struct wcodec_job *job = &b->job;
    const struct wcodec_fixed *f = job->fixed;
    const struct wcodec_area_place *values = &job->places[WCODEC_AREA_VALUES];
    const uint64_t first = values->size == 0 ? 0 : (values->begin - f->spilled_begin) / 4;
    b->fixed = (struct wcodec_cpu_fixed_job){.dsp = device->fixed_dsp,
                                             .fixed = f,
                                             .shifts = job->modes,
                                             .spilled = b->view.data[WCODEC_AREA_VALUES],
                                             .spilled_first = first,
                                             .spilled_end = first + values->size / 4,
                                             .verify = job->verify,
                                             .begin = job->begin,
                                             .end = job->end,
                                             .dst = job->memory->data + job->destination};
    b->piece_tiles = piece_bytes / WCODEC_FIXED_TILE_BYTES;
}

static wcodec_status prepare_job(const struct wcodec_device *device, const struct wcodec_job *job,
                                 uint64_t piece_bytes, struct batch_job *b, wcodec_error *err)
{
    const struct wcodec_host *host = device->host;
    *b = (struct batch_job){.job = *job};
    find_units(b);
    for (unsigned a = 0; a < WCODEC_AREAS; a++) {
        const struct wcodec_area_place *area = &job->places[a];
        b->view.data[a] = area->size != 0 ? area->memory->data + area->offset : nothing;
        b->view.begin[a] = area->begin;
    }
    atomic_init(&b->failed, UINT64_MAX);
    if (job->fixed != NULL) {
        prepare_fixed(device, piece_bytes, b);
        return WCODEC_OK;
    }
    const struct wcodec_tiling *t = job->tiles->tiling;
    const unsigned together = device->dsp->tiles[t->fields[t->coded[0]].profile];
    const uint64_t tiles = wcodec_div_up_u64(piece_bytes, tile_bytes(b));
    b->piece_tiles = b->in_units ? unit_piece_tiles(b, together, host->threads(host->opaque))
                                 : wcodec_div_up_u64(tiles, together) * together;
    return wcodec_cpu_decoder_create(device->dsp, job->tiles, host->allocator, &b->decoder, err);
}

/* Memory for as many workers as have something to do and the jobs' limit allows, one at least. */
static wcodec_status reserve_coded(struct wcodec_batch *b, wcodec_error *err)
{
    const struct wcodec_host *host = b->device->host;
    uint64_t each = 0, limit = UINT64_MAX, workers = host->threads(host->opaque);
    for (size_t i = 0; i < b->count; i++) {
        const struct batch_job *job = &b->jobs[i];
        const uint64_t bytes = job->in_units ? job->piece_tiles * tile_bytes(job) : 0;
        each = bytes > each ? bytes : each;
        if (job->job.host_memory != 0 && job->job.host_memory < limit)
            limit = job->job.host_memory;
    }
    if (each == 0)
        return WCODEC_OK;
    if (workers > b->pieces)
        workers = b->pieces;
    if (workers > limit / each)
        workers = limit / each > 0 ? limit / each : 1;
    b->workers = (size_t)workers;
    b->coded_each = each;
    b->coded = wcodec_alloc_array(host->allocator, workers, each);
    return b->coded != NULL
               ? WCODEC_OK
               : host->fail(err, WCODEC_ERROR_MEMORY, "out of memory for coded elements");
}

/* A small tensor has fewer tiles than go side by side: it shares a piece with others. */
static bool may_share(const struct wcodec_batch *batch, const struct batch_job *b)
{
    return b->decoder != NULL && !b->in_units && b->job.count < SHARED_TILES && !batch->stream;
}

/* The jobs that share the last piece so far. */
struct bundle {
    uint64_t tiles; /* 0: none can join it */
    uint64_t bytes;
};

static void add_pieces(struct wcodec_batch *batch, struct batch_job *job, uint64_t piece_bytes,
                       struct bundle *bundle)
{
    const struct wcodec_host *host = batch->device->host;
    const uint64_t bytes = wcodec_job_bytes(&job->job),
                   most = host->threads(host->opaque) > 1 ? piece_bytes : PIECE_BYTES;
    if (!may_share(batch, job)) {
        *bundle = (struct bundle){0};
    } else if (bundle->tiles > 0 && bundle->tiles + job->job.count <= WCODEC_CPU_EACH &&
               bundle->bytes + bytes <= most) {
        job->first_piece = batch->pieces - 1;
        bundle->tiles += job->job.count;
        bundle->bytes += bytes;
        return;
    } else {
        *bundle = (struct bundle){job->job.count, bytes};
    }
    job->first_piece = batch->pieces;
    /* What may share a piece is one, whatever its tiles take: it is decoded as a whole. */
    batch->pieces +=
        may_share(batch, job) ? 1 : wcodec_div_up_u64(job->job.count, job->piece_tiles);
}

static wcodec_status prepare(struct wcodec_batch *b, const struct wcodec_job *jobs, size_t count,
                             wcodec_error *err)
{
    struct bundle bundle = {0};
    uint64_t bytes = 0;
    wcodec_status status = WCODEC_OK;
    for (size_t i = 0; i < count; i++)
        bytes += wcodec_job_bytes(&jobs[i]);
    b->stream = bytes >= WCODEC_CPU_STREAM;
    const uint64_t piece_bytes = bytes < SMALL_BYTES ? PIECE_BYTES_SMALL : PIECE_BYTES;
    while (b->count < count && status == WCODEC_OK) {
        struct batch_job *job = &b->jobs[b->count];
        status = prepare_job(b->device, &jobs[b->count], piece_bytes, job, err);
        if (status != WCODEC_OK)
            break;
        add_pieces(b, job, piece_bytes, &bundle);
        b->count++;
    }
    return status == WCODEC_OK ? reserve_coded(b, err) : status;
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
    *b = (struct wcodec_batch){.device = queue->device};
    wcodec_status status = prepare(b, jobs, count, err);
    if (status == WCODEC_OK)
        *batch = b;
    else
        wcodec_cpu_batch_destroy(b);
    return status;
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
    uint8_t *out = job->memory->data + job->destination;
    if (job->fragments != NULL)
        wcodec_cpu_fragments_put(job->fragments, first, end - first, coded, job->begin, job->end,
                                 out);
    else if (job->blocks != NULL)
        wcodec_cpu_restore_blocks(batch->device->blocks_dsp, job->blocks, job->modes, first, end,
                                  coded, job->begin, job->end, out);
    else
        wcodec_cpu_restore_lossy(batch->device->lossy_dsp, job->lossy, job->modes, first, end,
                                 coded, job->begin, job->end, out, batch->stream);
}

static void decode_units(struct wcodec_batch *batch, struct batch_job *b, uint64_t at,
                         unsigned count, uint8_t *coded)
{
    const struct wcodec_tiling *t = b->job.tiles->tiling;
    const unsigned log2 = t->tile_log2 - b->unit_log2;
    const uint64_t begin = (b->job.first + at) << log2, end = begin + ((uint64_t)count << log2);
    const uint64_t first = begin > b->first_unit ? begin : b->first_unit;
    const uint64_t stop = end < b->end_unit ? end : b->end_unit;
    decode_tiles(batch, b, at, count, coded, false);
    if (first < stop)
        reconstruct(batch, &b->job, first, stop,
                    coded + ((first - begin) << (b->unit_log2 + t->element_log2)));
}

static void decode_fixed(struct batch_job *b, uint64_t at, unsigned count)
{
    const struct wcodec_fixed *f = b->job.fixed;
    for (uint64_t tile = b->job.first + at; tile < b->job.first + at + count; tile++) {
        const uint8_t *record =
            wcodec_view_at(&b->view, WCODEC_AREA_RAW, f->tiles_begin + tile * f->record_size);
        const enum wcodec_tile_fault fault = wcodec_cpu_fixed_decode(
            &b->fixed, tile, record, wcodec_load_u32(b->job.modes + f->checks_begin + 4 * tile));
        wcodec_cpu_note_faults(&b->failed, tile, 1, &fault);
    }
}

/* The small jobs up to the last one of their piece. */
static void decode_bundle(struct wcodec_batch *batch, struct batch_job *last)
{
    struct wcodec_cpu_tile tiles[WCODEC_CPU_EACH];
    struct batch_job *jobs[WCODEC_CPU_EACH], *b = last;
    unsigned count = 0;
    while (b > batch->jobs && b[-1].first_piece == last->first_piece && may_share(batch, b - 1))
        b--;
    for (; b <= last; b++)
        for (uint64_t i = 0; i < b->job.count; i++) {
            uint8_t *out = b->job.memory->data + b->job.destination + i * tile_bytes(b);
            jobs[count] = b;
            tiles[count++] = (struct wcodec_cpu_tile){.decoder = b->decoder,
                                                      .view = &b->view,
                                                      .number = b->job.first + i,
                                                      .out = out,
                                                      .verify = b->job.verify};
        }
    wcodec_cpu_decode_each(tiles, count);
    for (unsigned i = 0; i < count; i++)
        wcodec_cpu_note_faults(&jobs[i]->failed, tiles[i].number, 1, &tiles[i].fault);
}

static void decode_piece(struct wcodec_batch *batch, uint64_t piece, uint8_t *coded)
{
    struct batch_job *b = job_of_piece(batch, piece);
    const uint64_t at = (piece - b->first_piece) * b->piece_tiles, left = b->job.count - at;
    const unsigned count = (unsigned)(left < b->piece_tiles ? left : b->piece_tiles);
    if (b->job.fixed != NULL)
        decode_fixed(b, at, count);
    else if (may_share(batch, b))
        decode_bundle(batch, b);
    else if (b->in_units)
        decode_units(batch, b, at, count, coded);
    else
        decode_tiles(batch, b, at, count,
                     b->job.memory->data + b->job.destination + at * tile_bytes(b), true);
}

static void piece_task(void *argument, size_t piece)
{
    decode_piece(argument, piece, NULL);
}

/* Residuals and coefficients stay in the thread's cache on their way to elements. */
static void worker_task(void *argument, size_t worker)
{
    struct wcodec_batch *batch = argument;
    uint8_t *coded = batch->coded + worker * batch->coded_each;
    for (uint64_t piece; (piece = atomic_fetch_add(&batch->next, 1)) < batch->pieces;)
        decode_piece(batch, piece, coded);
}

wcodec_status wcodec_cpu_batch_decode(struct wcodec_queue *queue, struct wcodec_batch *batch,
                                      wcodec_error *err)
{
    const struct wcodec_host *host = batch->device->host;
    (void)queue, (void)err;
    for (size_t i = 0; i < batch->count; i++)
        atomic_store(&batch->jobs[i].failed, UINT64_MAX);
    atomic_store(&batch->next, 0);
    /* A piece has 64 KiB of output, so their number fits a size_t wherever the output does. */
    if (batch->coded != NULL)
        host->run(host->opaque, worker_task, batch, batch->workers);
    else
        host->run(host->opaque, piece_task, batch, (size_t)batch->pieces);
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
        memset(b->job.memory->data + b->job.destination, 0, (size_t)wcodec_job_bytes(&b->job));
    }
    return WCODEC_OK;
}

void wcodec_cpu_batch_destroy(struct wcodec_batch *batch)
{
    for (size_t i = 0; i < batch->count; i++)
        wcodec_cpu_decoder_free(batch->jobs[i].decoder);
    wcodec_free(batch->device->host->allocator, batch->coded);
    wcodec_free(batch->device->host->allocator, batch);
}
