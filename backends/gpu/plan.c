/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "backends/gpu/plan.h"

#include <inttypes.h>

static uint32_t field_entries(const struct wcodec_field *f)
{
    return (uint32_t)f->tables << wcodec_profile_bits(f->profile);
}

static uint32_t pool_entries(const struct wcodec_tiling *t)
{
    uint32_t n = 0;
    for (unsigned c = 0; c < t->coded_count; c++)
        n += field_entries(&t->fields[t->coded[c]]);
    return n;
}

static uint64_t run_bytes(const struct wcodec_tiling *t, unsigned c)
{
    const struct wcodec_field *f = &t->fields[t->coded[c]];
    return f->run_log2 ? wcodec_run_bytes_of_tile(t, f) : 0;
}

/* Tables that stay in a work-group at a time: one, or with runs all. */
static unsigned table_sets(const struct wcodec_tiling *t)
{
    const struct wcodec_field *f = &t->fields[t->coded[0]];
    return f->run_log2 ? 1 : f->tables;
}

uint64_t wcodec_gpu_plan_tables(const struct wcodec_job *job)
{
    return job->fixed ? 1 : job->tiles->tiling->table_count;
}

static uint64_t tile_bytes(const struct wcodec_tiling *t)
{
    return (uint64_t)1 << (t->tile_log2 + t->element_log2);
}

const unsigned wcodec_gpu_plan_units[WCODEC_GPU_VIEWS] = {
    WCODEC_KERNEL_blocks_units, WCODEC_KERNEL_lossy_units, WCODEC_KERNEL_fragments_units};

/* What tiles hold goes through scratch memory: its number there; -1 for others. */
static int blocks_kind(const struct wcodec_job *job)
{
    return job->blocks ? 0 : job->lossy ? 1 : job->fragments ? 2 : -1;
}

/* What kernels read of a job's modes and scales: bytes [modes, modes_end) and [scales, scales_end)
 * of them. */
struct side {
    uint64_t modes, modes_end, scales, scales_end;
    uint64_t first_row; /* of the first scale */
};

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* A tile has a multiple of sixteen blocks, but for the last: no byte of modes is shared by two. */
static struct side side_of_blocks(const struct wcodec_job *job)
{
    const unsigned log2 = job->tiles->tiling->tile_log2 - WCODEC_BLOCK_LOG2,
                   bits = wcodec_blocks_index_bits(job->blocks);
    return (struct side){.modes = (job->first << log2) * bits / 8,
                         .modes_end = least(((job->first + job->count) << log2) * bits / 8,
                                            wcodec_blocks_modes_size(job->blocks))};
}

static struct side side_of_lossy(const struct wcodec_job *job)
{
    const struct wcodec_lossy *l = job->lossy;
    const struct wcodec_tiling *t = job->tiles->tiling;
    const uint64_t first = job->first << t->tile_log2,
                   end = least((job->first + job->count) << t->tile_log2, t->elements);
    const uint64_t superblock = first >> WCODEC_SUPERBLOCK_LOG2,
                   stop = end >> WCODEC_SUPERBLOCK_LOG2;
    const uint64_t size = WCODEC_SUPERBLOCK_BLOCKS / 8 * wcodec_lossy_index_bits(l),
                   scales = wcodec_lossy_modes_size(l);
    struct side s = {.scales = scales, .scales_end = scales + 4};
    if (!l->plain) {
        s.modes = superblock * size;
        s.modes_end = stop * size;
    }
    if (l->row_scales) {
        s.first_row =
            l->plain ? first / l->columns : superblock / l->across * WCODEC_SUPERBLOCK_ROWS;
        const uint64_t last = l->plain ? (end - 1) / l->columns + 1
                                       : ((stop - 1) / l->across + 1) * WCODEC_SUPERBLOCK_ROWS;
        s.scales = scales + 4 * s.first_row;
        s.scales_end = scales + 4 * least(last, l->rows);
    }
    return s;
}

static struct side side_of(const struct wcodec_job *job)
{
    if (job->fragments)
        return (struct side){0};
    return job->blocks ? side_of_blocks(job) : side_of_lossy(job);
}

/* Bytes in the block that come of a job besides its tile jobs; every part a multiple of 16. */
static uint64_t job_extra(const struct wcodec_job *job)
{
    if (job->fixed)
        return wcodec_gpu_plan_fixed_size(job);
    const struct wcodec_tiling *t = job->tiles->tiling;
    uint64_t size = wcodec_align_u64(sizeof(struct wcodec_tensor_job), 16) +
                    4 * (uint64_t)pool_entries(t) + wcodec_align_u64(pool_entries(t) / 256, 16);
    size += job->count * wcodec_align_u64(t->coded_count * sizeof(struct wcodec_stream_job), 16);
    for (unsigned c = 0; c < t->coded_count; c++)
        size += wcodec_align_u64(job->count * run_bytes(t, c), 16);
    if (t->coded_count <= 2)
        size += (table_sets(t) + t->coded_count) * sizeof(struct wcodec_table_set) +
                4 * (uint64_t)pool_entries(t);
    if (blocks_kind(job) >= 0) {
        const struct side s = side_of(job);
        size += wcodec_align_u64(sizeof(struct wcodec_stream_job), 16);
        size += wcodec_align_u64(sizeof(struct wcodec_view_job), 16) +
                wcodec_align_u64(s.modes_end - s.modes, 16) +
                wcodec_align_u64(s.scales_end - s.scales, 16);
    }
    return wcodec_align_u64(size, 16);
}

/* Bytes of a job's tiles that go through scratch memory. */
static uint64_t scratch_bytes(const struct wcodec_job *job, uint64_t kernels)
{
    const unsigned kernel = wcodec_gpu_plan_job_kernel(job, kernels);
    uint64_t count = 0;
    for (uint64_t tile = job->first; tile < job->first + job->count; tile++)
        count += !wcodec_gpu_plan_is_fused(job, kernel, kernels, tile);
    return count * tile_bytes(job->tiles->tiling);
}

wcodec_status wcodec_gpu_plan_measure(const struct wcodec_host *host, const struct wcodec_job *jobs,
                                      size_t count, uint64_t kernels, struct wcodec_gpu_plan *plan,
                                      wcodec_error *err)
{
    uint64_t tiles = 0, tile_jobs = 0, size = 0, scratch = 0, blocks[WCODEC_GPU_VIEWS] = {0};
    for (size_t i = 0; i < count; i++) {
        tiles += jobs[i].count;
        tile_jobs += jobs[i].fixed ? 0 : jobs[i].count;
        size += job_extra(&jobs[i]);
        if (jobs[i].fixed && !(kernels >> wcodec_gpu_plan_fixed_kernel(jobs[i].fixed) & 1))
            return host->fail(err, WCODEC_ERROR_UNSUPPORTED,
                              "there is no kernel for matrices at a fixed rate");
        if (blocks_kind(&jobs[i]) < 0)
            continue;
        blocks[blocks_kind(&jobs[i])] += jobs[i].count;
        scratch += scratch_bytes(&jobs[i], kernels);
    }
    if (tiles >> 31)
        return host->fail(err, WCODEC_ERROR_UNSUPPORTED, "%" PRIu64 " tiles in one batch", tiles);
    size += tile_jobs * sizeof(struct wcodec_tile_job) +
            (blocks[0] + blocks[1] + blocks[2]) * sizeof(struct wcodec_blocks_job);
    *plan = (struct wcodec_gpu_plan){
        .host = host,
        .tiles = tiles,
        .tile_jobs = tile_jobs,
        .size = size,
        .scratch_size = scratch,
        .blocks_capacity = {(uint32_t)blocks[0], (uint32_t)blocks[1], (uint32_t)blocks[2]},
        .kernels = kernels};
    return WCODEC_OK;
}

void wcodec_gpu_plan_free(struct wcodec_gpu_plan *plan)
{
    const wcodec_allocator *a = plan->host->allocator;
    if (plan->block && !plan->lent)
        a->release(a->opaque, plan->block);
    if (plan->segments)
        a->release(a->opaque, plan->segments);
    plan->block = NULL;
    plan->segments = NULL;
}

/* Where a job's destination is; of one that is to be decoded to several places, from these on. */
static uint64_t out_of(wcodec_address_function *place, const struct wcodec_job *job)
{
    return (job->memory != NULL ? place(job->memory) : 0) + job->destination;
}

struct builder {
    struct wcodec_gpu_plan *plan;
    uint64_t address; /* of the block */
    uint64_t at;      /* end of what is written */
    wcodec_address_function *place;
    uint64_t scratch;                 /* bytes of the scratch memory that tiles have */
    uint64_t fused[WCODEC_GPU_VIEWS]; /* of each kind: number of the last wcodec_blocks_job that was
                                         given to a fused tile */
};

static uint64_t reserve(struct builder *b, uint64_t size, void **p)
{
    const uint64_t offset = b->at;
    *p = b->plan->block + offset;
    b->at += wcodec_align_u64(size, 16);
    return offset;
}

static uint64_t area(const struct builder *b, const struct wcodec_job *job, enum wcodec_area a,
                     uint64_t payload_offset)
{
    const struct wcodec_area_place *p = &job->places[a];
    return p->memory ? b->place(p->memory) + p->offset + (payload_offset - p->begin) : 0;
}

static uint32_t repeat(uint64_t v, unsigned element_log2)
{
    const uint32_t u = (uint32_t)v;
    return element_log2 == 0   ? (u & 0xff) * 0x01010101u
           : element_log2 == 1 ? (u & 0xffff) * 0x00010001u
                               : u;
}

/* The sets of a job of fast tiles, one behind the other, and behind them those of further fields,
 * which have runs; returns the offset of the first, and in *step how far the next is. */
static uint64_t write_sets(struct builder *b, const struct wcodec_tiles *tiles, uint64_t *step)
{
    const struct wcodec_tiling *t = tiles->tiling;
    const unsigned sets = table_sets(t) + t->coded_count - 1;
    uint64_t first = b->at;
    for (unsigned i = 0; i < sets; i++) {
        const unsigned c = i < table_sets(t) ? 0 : i + 1 - table_sets(t);
        const struct wcodec_field *f = &t->fields[t->coded[c]];
        const uint32_t count = field_entries(f) / (c ? 1 : table_sets(t));
        const unsigned table = c ? tiles->table_base[c] : i;
        void *p;
        reserve(b, sizeof(struct wcodec_table_set) + 4 * (uint64_t)count, &p);
        *step = i ? *step : b->at - first;
        struct wcodec_table_set *set = p;
        *set = (struct wcodec_table_set){.entries = count,
                                         .shift = c ? 0 : f->shift,
                                         .width = f->width,
                                         .base = tiles->tables[table].base,
                                         .add = repeat(t->add, t->element_log2),
                                         .run_log2 = f->run_log2,
                                         .run_bits = wcodec_run_index_bits(f->tables),
                                         .constants = (uint32_t)t->constant_bits,
                                         .streams = t->coded_count};
        memcpy(set + 1, tiles->entries + tiles->entry_offset[table], 4 * (size_t)count);
    }
    return first;
}

/* Raw bits that are neighbours in a slot and in the element go in one piece. */
static uint32_t write_pieces(const struct wcodec_tiling *t, struct wcodec_piece_job *pieces)
{
    const unsigned slot_bits = t->element_log2 < 2 ? 8u << t->element_log2 : 32;
    uint32_t count = 0;
    for (unsigned p = 0; p < t->plane_count; p++)
        for (unsigned i = 0; i < t->planes[p].bits; i++) {
            const uint8_t slot = (uint8_t)((t->planes[p].position + i) % slot_bits),
                          element = t->raw_position[t->planes[p].first + i];
            struct wcodec_piece_job *last = count ? &pieces[count - 1] : NULL;
            if (i > 0 && last->slot + last->bits == slot && last->element + last->bits == element)
                last->bits++;
            else
                pieces[count++] = (struct wcodec_piece_job){(uint8_t)p, slot, element, 1};
        }
    return count;
}

/* 16 bits of which one or two fields are coded, with raw bits that stand in slots as in elements.
 */
static bool is_bytes(const struct wcodec_tiling *t, const struct wcodec_tensor_job *tensor)
{
    if (t->element_log2 != 1 || t->coded_count > 2)
        return false;
    for (uint32_t i = 0; i < tensor->pieces; i++)
        if (tensor->piece[i].slot != tensor->piece[i].element)
            return false;
    return true;
}

static uint32_t write_tensor(struct builder *b, const struct wcodec_job *job)
{
    const struct wcodec_tiling *t = job->tiles->tiling;
    const uint32_t entries = pool_entries(t);
    void *p, *q, *r;
    const uint64_t at = reserve(b, sizeof(struct wcodec_tensor_job), &p),
                   entry_at = reserve(b, 4 * (uint64_t)entries, &q),
                   base_at = reserve(b, entries / 256, &r);
    struct wcodec_tensor_job *tensor = p;
    memset(tensor, 0, sizeof *tensor);
    memcpy(q, job->tiles->entries, 4 * (size_t)entries);
    for (unsigned i = 0; i < t->table_count;
         i++) /* a base for every 256 entries, so that a table is found from its first entry */
        ((uint8_t *)r)[job->tiles->entry_offset[i] / 256] = job->tiles->tables[i].base;
    tensor->entries = b->address + entry_at;
    tensor->bases = b->address + base_at;
    tensor->add = t->add;
    tensor->constants = t->constant_bits;
    tensor->element_log2 = t->element_log2;
    tensor->coded = t->coded_count;
    tensor->planes = t->plane_count;
    for (unsigned c = 0; c < t->coded_count; c++) {
        const struct wcodec_field *f = &t->fields[t->coded[c]];
        tensor->field[c] = (struct wcodec_field_job){f->shift, f->width, f->profile, f->run_log2,
                                                     wcodec_run_index_bits(f->tables)};
    }
    for (unsigned i = 0; i < t->plane_count; i++)
        tensor->plane[i] = (struct wcodec_plane_job){t->planes[i].bits, t->planes[i].position, 0};
    tensor->pieces = write_pieces(t, tensor->piece);
    tensor->bytes = is_bytes(t, tensor);
    for (uint32_t i = 0; i < tensor->pieces && tensor->bytes; i++)
        tensor->plane[tensor->piece[i].plane].mask |= ((1u << tensor->piece[i].bits) - 1) * 0x10001u
                                                      << tensor->piece[i].element;
    return (uint32_t)(at / 16);
}

struct job_state {
    unsigned kernel; /* of whole tiles */
    uint32_t
        first_class; /* fast: number of its first table set among all; generic tiles are class 0 */
    uint64_t sets, step;
    uint32_t tensor;
    uint64_t runs[WCODEC_MAX_CODED]; /* offsets */
    uint64_t slot;
    uint64_t view;  /* offset of its wcodec_view_job, or wcodec_fixed_job */
    uint64_t upper; /* of a wcodec_stream_job of upper bits that are constant, for a fused kernel
                       that takes two streams */
};

/* The kernel of one tile. */
static unsigned tile_kernel(const struct builder *b, const struct wcodec_job *job,
                            const struct job_state *s, uint64_t tile)
{
    const struct wcodec_tiling *t = job->tiles->tiling;
    const uint64_t out = blocks_kind(job) >= 0 ? 0 : out_of(b->place, job),
                   kernels = b->plan->kernels; /* scratch memory is aligned */
    const unsigned kernel = s->kernel;
    if (wcodec_kernel_is_fused(kernel))
        return wcodec_gpu_plan_is_fused(job, kernel, kernels, tile) ? kernel
                                                                    : WCODEC_KERNEL_GENERIC;
    if (kernel == WCODEC_KERNEL_GENERIC || !(kernels >> kernel & 1) ||
        job->tiles->streams[tile * t->coded_count].mode != WCODEC_STREAM_RANS)
        return WCODEC_KERNEL_GENERIC;
    if (!(kernels & WCODEC_GPU_PLAN_ANY_TILE) &&
        (wcodec_tile_elements(t, tile) != 1u << t->tile_log2 || out % (4u << t->element_log2)))
        return WCODEC_KERNEL_GENERIC;
    return kernel;
}

static uint32_t tile_class(const struct builder *b, const struct wcodec_job *job,
                           const struct job_state *s, uint64_t tile, unsigned *kernel)
{
    const struct wcodec_tiling *t = job->tiles->tiling;
    *kernel = tile_kernel(b, job, s, tile);
    if (*kernel == WCODEC_KERNEL_GENERIC)
        return 0;
    return s->first_class +
           (table_sets(t) > 1 ? job->tiles->streams[tile * t->coded_count].table : 0);
}

/* Returns the address. */
static uint64_t write_streams(struct builder *b, const struct wcodec_job *job,
                              const struct job_state *s, uint64_t tile)
{
    const struct wcodec_tiles *tiles = job->tiles;
    const struct wcodec_tiling *t = tiles->tiling;
    void *p;
    const uint64_t at = reserve(b, t->coded_count * sizeof(struct wcodec_stream_job), &p);
    struct wcodec_stream_job *streams = p;
    for (unsigned c = 0; c < t->coded_count; c++) {
        const struct wcodec_stream *from = &tiles->streams[tile * t->coded_count + c];
        streams[c] = (struct wcodec_stream_job){
            .states = area(b, job, WCODEC_AREA_STATES, from->state),
            .words = area(b, job, WCODEC_AREA_WORDS, from->word),
            .positions = area(b, job, WCODEC_AREA_POSITIONS,
                              tiles->area_begin[WCODEC_AREA_POSITIONS] + 2 * from->outlier),
            .values = area(b, job, WCODEC_AREA_VALUES,
                           tiles->area_begin[WCODEC_AREA_VALUES] + from->outlier),
            .runs =
                s->runs[c] ? b->address + s->runs[c] + (tile - job->first) * run_bytes(t, c) : 0,
            .word_count = from->words,
            .outliers = from->outliers,
            .entries = tiles->entry_offset[tiles->table_base[c] + from->table],
            .mode_symbol = from->mode | (uint32_t)from->symbol << 8,
        };
    }
    return b->address + at;
}

/* What becomes of a tile of residuals or coefficients; returns its offset. */
static uint64_t write_blocks_job(struct builder *b, const struct wcodec_job *job,
                                 const struct job_state *s, uint64_t tile, bool fused)
{
    const struct wcodec_tiling *t = job->tiles->tiling;
    const int kind = blocks_kind(job);
    const bool plain = job->fragments || (job->lossy && job->lossy->plain);
    const unsigned unit = job->blocks ? WCODEC_BLOCK_LOG2
                          : plain     ? 0
                                      : WCODEC_SUPERBLOCK_LOG2,
                   log2 = t->tile_log2 - unit;
    const uint64_t across = job->blocks ? job->blocks->across
                            : plain     ? 1
                                        : job->lossy->across,
                   block = tile << log2;
    uint64_t number = 0;
    for (int i = 0; i < kind; i++)
        number += b->plan->blocks_capacity[i];
    number = fused ? --b->fused[kind] : number + b->plan->blocks_count[kind]++;
    const uint64_t at = b->plan->blocks + number * sizeof(struct wcodec_blocks_job);
    *(struct wcodec_blocks_job *)(void *)(b->plan->block + at) = (struct wcodec_blocks_job){
        .residuals = fused ? area(b, job, WCODEC_AREA_RAW, job->tiles->raw[tile])
                           : b->plan->scratch + b->scratch,
        .view = b->address + s->view,
        .row = block / across,
        .first = plain ? block : (tile - job->first) << log2,
        .column = (uint32_t)(block % across),
        .blocks = wcodec_tile_elements(t, tile) >> unit,
    };
    b->scratch += fused ? 0 : tile_bytes(t);
    return at;
}

/* Where the first element of a tile in fragments goes, which is the first of a section. */
static uint64_t fragments_out(const struct builder *b, const struct wcodec_job *job, uint64_t tile)
{
    const struct wcodec_fragments *f = job->fragments;
    const uint64_t element = tile << job->tiles->tiling->tile_log2,
                   in_band = element % wcodec_fragments_band(f),
                   at = element - in_band + in_band / WCODEC_SECTION_ROWS;
    return out_of(b->place, job) + (at << f->element_log2) - job->begin;
}

static void write_tile(struct builder *b, const struct wcodec_job *job, const struct job_state *s,
                       uint64_t tile, unsigned kernel, struct wcodec_tile_job *out)
{
    const struct wcodec_tiles *tiles = job->tiles;
    const struct wcodec_tiling *t = tiles->tiling;
    const struct wcodec_stream *stream = &tiles->streams[tile * t->coded_count];
    *out = (struct wcodec_tile_job){
        .raw = area(b, job, WCODEC_AREA_RAW, tiles->raw[tile]),
        .check = tiles->checks[tile],
        .elements = wcodec_tile_elements(t, tile),
        .slot = (uint32_t)(s->slot + tile - job->first) | (uint32_t)job->verify << 31,
    };
    if (job->fragments && wcodec_kernel_is_fused(kernel)) {
        out->out = fragments_out(b, job, tile);
        out->table = (uint32_t)(job->fragments->columns << job->fragments->element_log2);
    } else if (blocks_kind(job) >= 0) {
        const bool fused = wcodec_kernel_is_fused(kernel);
        const uint64_t scratch = b->plan->scratch + b->scratch,
                       at = write_blocks_job(b, job, s, tile, fused);
        out->out = fused ? b->address + at : scratch;
    } else {
        out->out = out_of(b->place, job) + (tile - job->first) * tile_bytes(t);
    }
    if (kernel == WCODEC_KERNEL_GENERIC) {
        out->runs = write_streams(b, job, s, tile);
        out->table = s->tensor;
        return;
    }
    out->states = area(b, job, WCODEC_AREA_STATES, stream->state);
    out->words = area(b, job, WCODEC_AREA_WORDS, stream->word);
    out->positions = area(b, job, WCODEC_AREA_POSITIONS,
                          tiles->area_begin[WCODEC_AREA_POSITIONS] + 2 * stream->outlier);
    out->values =
        area(b, job, WCODEC_AREA_VALUES, tiles->area_begin[WCODEC_AREA_VALUES] + stream->outlier);
    out->runs = s->runs[0] ? b->address + s->runs[0] + (tile - job->first) * run_bytes(t, 0) : 0;
    out->word_count = stream->words;
    out->outliers = stream->outliers;
    if (t->coded_count > 1)
        out->raw = write_streams(b, job, s, tile) + sizeof(struct wcodec_stream_job);
    else if (s->upper)
        out->raw = b->address + s->upper;
}

static struct wcodec_view_job view_of_blocks(const struct wcodec_job *job)
{
    const struct wcodec_blocks *blocks = job->blocks;
    struct wcodec_view_job view = {
        .begin = job->begin >> blocks->element_log2,
        .end = job->end >> blocks->element_log2,
        .rows = blocks->rows,
        .columns = (uint32_t)blocks->columns,
        .across = (uint32_t)blocks->across,
        .index_bits = wcodec_blocks_index_bits(blocks),
        .wide = blocks->element_log2,
    };
    for (unsigned i = 0; i < sizeof view.mode; i++)
        view.mode[i] = blocks->modes[i < blocks->mode_count ? i : 0];
    return view;
}

static struct wcodec_view_job view_of_lossy(const struct wcodec_job *job)
{
    const struct wcodec_lossy *l = job->lossy;
    struct wcodec_view_job view = {
        .begin = job->begin >> l->element_log2,
        .end = job->end >> l->element_log2,
        .rows = l->rows,
        .columns = (uint32_t)l->columns,
        .across = (uint32_t)l->across,
        .index_bits = wcodec_lossy_index_bits(l),
        .wide = l->coefficient_log2,
        .row_scales = l->row_scales,
        .format = l->dtype == WCODEC_DTYPE_BF16  ? 0
                  : l->dtype == WCODEC_DTYPE_F16 ? 1
                                                 : 2,
        .plain = l->plain,
        .order = l->order,
    };
    for (unsigned i = 0; i < sizeof view.mode; i++)
        view.mode[i] = l->modes[i < l->mode_count ? i : 0];
    return view;
}

static struct wcodec_view_job view_of_fragments(const struct wcodec_job *job)
{
    const struct wcodec_fragments *f = job->fragments;
    return (struct wcodec_view_job){.begin = job->begin >> f->element_log2,
                                    .end = job->end >> f->element_log2,
                                    .rows = f->rows,
                                    .columns = (uint32_t)f->columns,
                                    .wide = f->element_log2};
}

/* What the blocks of a job are made of; returns the offset of its wcodec_view_job. */
static uint64_t write_view(struct builder *b, const struct wcodec_job *job)
{
    const struct side side = side_of(job);
    void *p, *modes, *scales;
    const uint64_t at = reserve(b, sizeof(struct wcodec_view_job), &p),
                   modes_at = reserve(b, side.modes_end - side.modes, &modes),
                   scales_at = reserve(b, side.scales_end - side.scales, &scales);
    struct wcodec_view_job *view = p;
    *view = job->blocks  ? view_of_blocks(job)
            : job->lossy ? view_of_lossy(job)
                         : view_of_fragments(job);
    view->out = out_of(b->place, job);
    view->modes = b->address + modes_at;
    view->scales = b->address + scales_at;
    view->first_row = side.first_row;
    if (side.modes_end > side.modes)
        memcpy(modes, job->modes + side.modes, (size_t)(side.modes_end - side.modes));
    if (side.scales_end > side.scales)
        memcpy(scales, job->modes + side.scales, (size_t)(side.scales_end - side.scales));
    return at;
}

static void write_fixed(struct builder *b, const struct wcodec_job *job, struct job_state *s)
{
    const struct wcodec_fixed *f = job->fixed;
    const struct wcodec_area_place *values = &job->places[WCODEC_AREA_VALUES];
    void *p;
    s->view = reserve(b, wcodec_gpu_plan_fixed_size(job), &p);
    wcodec_gpu_plan_write_fixed(
        job, area(b, job, WCODEC_AREA_RAW, f->tiles_begin + job->first * f->record_size),
        area(b, job, WCODEC_AREA_VALUES, values->begin), out_of(b->place, job),
        (uint32_t)s->slot | (uint32_t)job->verify << 31, b->address + s->view, p);
}

/* Everything of a job that does not depend on its tiles' order. */
static void write_job(struct builder *b, const struct wcodec_job *job, struct job_state *s)
{
    if (job->fixed) {
        write_fixed(b, job, s);
        return;
    }
    const struct wcodec_tiling *t = job->tiles->tiling;
    s->tensor = write_tensor(b, job);
    for (unsigned c = 0; c < t->coded_count; c++) {
        const uint64_t bytes = run_bytes(t, c);
        void *p;
        if (!bytes)
            continue;
        s->runs[c] = reserve(b, job->count * bytes, &p);
        memcpy(p, job->tiles->runs[c] + job->first * bytes, job->count * bytes);
    }
    if (s->kernel != WCODEC_KERNEL_GENERIC)
        s->sets = write_sets(b, job->tiles, &s->step);
    if (blocks_kind(job) >= 0) {
        s->view = write_view(b, job);
        b->plan->view = s->view;
    }
    if (s->kernel == WCODEC_KERNEL_lossy_p8_runs_wide_raw && t->coded_count == 1) {
        const struct wcodec_field *f = &t->fields[t->coded[0]];
        void *p;
        s->upper = reserve(b, sizeof(struct wcodec_stream_job), &p);
        *(struct wcodec_stream_job *)p = (struct wcodec_stream_job){
            .mode_symbol = WCODEC_STREAM_CONSTANT |
                           (uint32_t)(t->constant_bits >> (f->shift + f->width)) << 8};
    }
}

/* Jobs by kernel, then in the given order, then by table: classes in the order of their number are
 * numbered again in that of their kernels. */
static void place_classes(struct wcodec_gpu_plan *plan, const struct wcodec_job *jobs,
                          const struct job_state *states, size_t count, uint32_t *counts,
                          uint32_t *starts, uint64_t address)
{
    uint32_t at = 0;
    for (unsigned k = 0; k < WCODEC_KERNELS; k++) {
        plan->runs[k].first = at;
        if (k == WCODEC_KERNEL_GENERIC) {
            starts[0] = at;
            at += counts[0];
        }
        for (size_t i = 0; i < count && k != WCODEC_KERNEL_GENERIC; i++) {
            if (states[i].kernel != k)
                continue;
            if (jobs[i].fixed) {
                ((struct wcodec_fixed_job *)(void *)(plan->block + states[i].view))->first = at;
                plan->segments[plan->segment_count++] =
                    (struct wcodec_segment){address + states[i].view, at, (uint32_t)jobs[i].count};
                at += (uint32_t)jobs[i].count;
                continue;
            }
            for (unsigned c = 0; c < table_sets(jobs[i].tiles->tiling); c++) {
                const uint32_t class = states[i].first_class + c;
                if (!counts[class])
                    continue;
                starts[class] = at;
                plan->segments[plan->segment_count++] = (struct wcodec_segment){
                    address + states[i].sets + c * states[i].step, at, counts[class]};
                at += counts[class];
            }
        }
        plan->runs[k].count = at - plan->runs[k].first;
    }
}

wcodec_status wcodec_gpu_plan_build(struct wcodec_gpu_plan *plan, const struct wcodec_job *jobs,
                                    size_t count, uint64_t address, wcodec_address_function *place,
                                    wcodec_error *err)
{
    const wcodec_allocator *a = plan->host->allocator;
    struct builder b = {plan,  address, plan->tile_jobs * sizeof(struct wcodec_tile_job),
                        place, 0,       {0}};
    for (unsigned i = 0; i < WCODEC_GPU_VIEWS; i++) {
        b.fused[i] = (i ? b.fused[i - 1] : 0) + plan->blocks_capacity[i];
        b.at += plan->blocks_capacity[i] * sizeof(struct wcodec_blocks_job);
    }
    uint32_t classes = 1;
    uint64_t slot = 0;
    plan->lent = plan->block != NULL;
    struct job_state *states = a->allocate(a->opaque, count * sizeof *states);
    if (!states)
        return plan->host->fail(err, WCODEC_ERROR_MEMORY, "no memory for the plan of %zu jobs",
                                count);
    memset(states, 0, count * sizeof *states);
    for (size_t i = 0; i < count; i++) {
        states[i].kernel = wcodec_gpu_plan_job_kernel(&jobs[i], plan->kernels);
        states[i].first_class = classes;
        states[i].slot = slot;
        slot += jobs[i].count;
        classes += jobs[i].fixed                               ? 1
                   : states[i].kernel == WCODEC_KERNEL_GENERIC ? 0
                                                               : table_sets(jobs[i].tiles->tiling);
    }
    uint32_t *counts = a->allocate(a->opaque, 2 * (size_t)classes * sizeof *counts),
             *starts = counts ? counts + classes : NULL;
    plan->blocks = plan->tile_jobs * sizeof(struct wcodec_tile_job);
    if (!plan->lent)
        plan->block = a->allocate(a->opaque, plan->size);
    plan->segments = a->allocate(a->opaque, classes * sizeof *plan->segments);
    plan->segment_count = 0;
    if (!counts || !plan->block || !plan->segments) {
        if (counts)
            a->release(a->opaque, counts);
        a->release(a->opaque, states);
        wcodec_gpu_plan_free(plan);
        return plan->host->fail(err, WCODEC_ERROR_MEMORY,
                                "no memory for the descriptors of %" PRIu64 " tiles", plan->tiles);
    }
    memset(counts, 0, 2 * (size_t)classes * sizeof *counts);
    for (size_t i = 0; i < count; i++) {
        unsigned kernel;
        write_job(&b, &jobs[i], &states[i]);
        if (jobs[i].fixed)
            continue;
        for (uint64_t tile = jobs[i].first; tile < jobs[i].first + jobs[i].count; tile++)
            counts[tile_class(&b, &jobs[i], &states[i], tile, &kernel)]++;
    }
    place_classes(plan, jobs, states, count, counts, starts, address);
    struct wcodec_tile_job *tiles = (void *)plan->block;
    for (size_t i = 0; i < count; i++)
        for (uint64_t tile = jobs[i].first;
             tile < jobs[i].first + jobs[i].count && jobs[i].fixed == NULL; tile++) {
            unsigned kernel;
            const uint32_t class = tile_class(&b, &jobs[i], &states[i], tile, &kernel);
            write_tile(&b, &jobs[i], &states[i], tile, kernel, &tiles[starts[class]++]);
        }
    a->release(a->opaque, counts);
    a->release(a->opaque, states);
    return WCODEC_OK;
}

struct wcodec_job_result wcodec_gpu_plan_result(const struct wcodec_job *job,
                                                const volatile uint32_t *faults)
{
    for (uint64_t i = 0; i < job->count; i++) {
        const uint32_t fault = faults[i];
        if (fault != WCODEC_TILE_OK)
            return (struct wcodec_job_result){job->first + i, (enum wcodec_tile_fault)fault};
    }
    return (struct wcodec_job_result){0, WCODEC_TILE_OK};
}
