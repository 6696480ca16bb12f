/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Which kernel a tile gets. */
#include "backends/gpu/plan.h"

static int shape_of(const struct wcodec_tiling *t)
{
    const struct wcodec_field *f = &t->fields[t->coded[0]];
    const struct wcodec_plane *p = t->planes;
    for (unsigned i = 0; i < t->field_count; i++)
        if (t->fields[i].kind == WCODEC_FIELD_CONSTANT)
            return t->element_log2 == 2 && i == 0 && t->fields[0].width == 16 && t->raw_bits == 8 &&
                           f->width == 8 && p[0].position == 31 && t->add == 0
                       ? WCODEC_SHAPE_32_8
                       : -1;
    if (t->element_log2 == 0 && t->raw_bits == 0 && f->width == 8)
        return WCODEC_SHAPE_8_0;
    if (t->element_log2 == 0 && t->raw_bits == 4 && f->width == 4 && f->shift == 4)
        return WCODEC_SHAPE_8_4;
    if (t->add != 0)
        return -1;
    if (t->element_log2 == 0 && t->raw_bits == 4 && f->width == 4 && f->shift == 3)
        return WCODEC_SHAPE_8_31;
    if (t->element_log2 == 1 && t->raw_bits == 8 && f->width == 8 && p[0].position == 15)
        return WCODEC_SHAPE_16_8;
    if (t->element_log2 == 1 && t->raw_bits == 11 && f->width == 5 && p[0].position == 15)
        return WCODEC_SHAPE_16_11;
    if (t->element_log2 == 2 && t->raw_bits == 24 && f->width == 8 && p[0].position == 31)
        return WCODEC_SHAPE_32_24;
    return -1;
}

static unsigned coding_of(const struct wcodec_field *f)
{
    return f->profile == WCODEC_PAIRS ? WCODEC_CODING_PAIRS
           : f->profile == WCODEC_P12 ? WCODEC_CODING_P12
           : f->run_log2              ? WCODEC_CODING_P8_RUNS
                                      : WCODEC_CODING_P8;
}

unsigned wcodec_gpu_plan_kernel(const struct wcodec_tiling *t)
{
    if (t->coded_count != 1)
        return WCODEC_KERNEL_GENERIC;
    const int shape = shape_of(t);
    if (shape < 0)
        return WCODEC_KERNEL_GENERIC;
    const struct wcodec_field *f = &t->fields[t->coded[0]];
    return wcodec_kernel_find(WCODEC_FAMILY_FAST, (unsigned)shape, coding_of(f), t->add != 0, 0,
                              false);
}

/* Blocks of 8-bit elements: whatever is added to them. Those that were transformed would take too
 * many registers. */
static unsigned fused_bytes(const struct wcodec_tiling *t, const struct wcodec_blocks *blocks)
{
    for (unsigned i = 0; i < blocks->mode_count; i++)
        if (blocks->modes[i] % WCODEC_MODE_DIFFERENTIAL == WCODEC_PREDICTOR_WHT)
            return WCODEC_KERNEL_GENERIC;
    const struct wcodec_field *f = &t->fields[t->coded[0]];
    if (t->element_log2 != 0 || t->coded_count != 1)
        return WCODEC_KERNEL_GENERIC;
    int shape = shape_of(t);
    if (t->field_count == 2 && t->raw_bits > 0 && t->raw_bits < 4 && f->shift == t->raw_bits)
        shape = WCODEC_SHAPE_8_1 + t->raw_bits - 1;
    return shape < 0 ? (unsigned)WCODEC_KERNEL_GENERIC
                     : wcodec_kernel_find(WCODEC_FAMILY_BLOCKS, (unsigned)shape, coding_of(f), true,
                                          0, false);
}

/* 16-bit coefficients of which eight bits are coded, those below raw, and those above coded too or
 * constant? */
static bool is_raw_wide(const struct wcodec_tiling *t)
{
    const struct wcodec_field *f = &t->fields[t->coded[0]], *last = &t->fields[t->field_count - 1];
    if (t->element_log2 != 1 || t->coded_count > 2 || f->width != 8 || f->shift != t->raw_bits)
        return false;
    return f->shift + 8 + (last == f ? 0 : last->width) == 16 &&
           (last == f || last->kind != WCODEC_FIELD_RAW);
}

static unsigned lossy_kernel(unsigned coding, unsigned bytes, bool raw)
{
    return wcodec_kernel_find(WCODEC_FAMILY_LOSSY, WCODEC_SHAPE_8_0, coding, false, bytes, raw);
}

static unsigned fused_lossy_blocks(const struct wcodec_tiling *t)
{
    const struct wcodec_field *f = &t->fields[t->coded[0]];
    if (f->profile != WCODEC_P8 || !f->run_log2)
        return WCODEC_KERNEL_GENERIC;
    if (!t->add && t->coded_count == 1 && shape_of(t) == WCODEC_SHAPE_8_0)
        return lossy_kernel(WCODEC_CODING_P8_RUNS, 1, false);
    if (!is_raw_wide(t) || (t->coded_count == 2 && !t->fields[t->coded[1]].run_log2))
        return WCODEC_KERNEL_GENERIC;
    return lossy_kernel(WCODEC_CODING_P8_RUNS, 2, t->coded_count == 1 || t->raw_bits > 0);
}

static unsigned fused_lossy_plain(const struct wcodec_tiling *t)
{
    const struct wcodec_field *f = &t->fields[t->coded[0]];
    if (f->profile == WCODEC_P12 && is_raw_wide(t))
        return lossy_kernel(WCODEC_CODING_P12, 2, true);
    if (t->coded_count != 1)
        return WCODEC_KERNEL_GENERIC;
    if (f->profile == WCODEC_PAIRS && shape_of(t) == WCODEC_SHAPE_8_4)
        return lossy_kernel(WCODEC_CODING_PAIRS, 1, true);
    if (t->add || shape_of(t) != WCODEC_SHAPE_8_0)
        return WCODEC_KERNEL_GENERIC;
    return f->profile == WCODEC_P8 ? (unsigned)WCODEC_KERNEL_GENERIC
                                   : lossy_kernel(coding_of(f), 1, false);
}

/* Tiles of some columns of a band. */
static unsigned fused_fragments(const struct wcodec_tiling *t, const struct wcodec_fragments *f)
{
    const uint64_t columns = ((uint64_t)1 << t->tile_log2) / WCODEC_SECTION_ROWS;
    const int shape = t->coded_count == 1 ? shape_of(t) : -1;
    if (shape < 0 || f->columns % columns != 0)
        return WCODEC_KERNEL_GENERIC;
    return wcodec_kernel_find(WCODEC_FAMILY_FRAGMENTS, (unsigned)shape,
                              coding_of(&t->fields[t->coded[0]]), t->add != 0, 0, false);
}

unsigned wcodec_gpu_plan_fused(const struct wcodec_job *job)
{
    if (job->fixed)
        return wcodec_gpu_plan_fixed_kernel(job->fixed);
    const struct wcodec_tiling *t = job->tiles->tiling;
    if (job->blocks)
        return fused_bytes(t, job->blocks);
    if (job->fragments)
        return fused_fragments(t, job->fragments);
    if (!job->lossy)
        return WCODEC_KERNEL_GENERIC;
    return job->lossy->plain ? fused_lossy_plain(t) : fused_lossy_blocks(t);
}

/* Fast kernels keep frequencies in a byte. */
static bool has_constant_table(const struct wcodec_tiles *tiles)
{
    for (unsigned i = 0; i < tiles->tiling->table_count; i++)
        if (wcodec_table_is_constant(&tiles->tables[i]))
            return true;
    return false;
}

unsigned wcodec_gpu_plan_job_kernel(const struct wcodec_job *job, uint64_t kernels)
{
    const unsigned fused = wcodec_gpu_plan_fused(job);
    if (job->fixed)
        return fused;
    const bool constant = has_constant_table(job->tiles);
    if (fused != WCODEC_KERNEL_GENERIC && kernels >> fused & 1 && (job->lossy || !constant))
        return fused;
    return constant ? WCODEC_KERNEL_GENERIC : wcodec_gpu_plan_kernel(job->tiles->tiling);
}

/* Is all of the tile's band wanted, and do rows go to multiples of 16 bytes? */
static bool is_band_whole(const struct wcodec_job *job, uint64_t tile)
{
    const struct wcodec_tiling *t = job->tiles->tiling;
    const uint64_t size = wcodec_fragments_band_size(job->fragments),
                   band = (tile << (t->tile_log2 + t->element_log2)) / size * size;
    return band >= job->begin && band + size <= job->end &&
           (job->destination - job->begin) % 16 == 0;
}

/* Of plain tensors what is above the first coded field must be constant, but for outliers. */
bool wcodec_gpu_plan_is_fused(const struct wcodec_job *job, unsigned kernel, uint64_t kernels,
                              uint64_t tile)
{
    const struct wcodec_tiling *t = job->tiles->tiling;
    if (kernel == WCODEC_KERNEL_lossy_p12_wide_raw && t->coded_count == 2 &&
        job->tiles->streams[2 * tile + 1].mode != WCODEC_STREAM_CONSTANT)
        return false;
    if (job->fragments && !is_band_whole(job, tile))
        return false;
    const bool any = kernels & WCODEC_GPU_PLAN_ANY_TILE ||
                     wcodec_kernel_rows[kernel].family == WCODEC_FAMILY_LOSSY;
    return wcodec_kernel_is_fused(kernel) &&
           job->tiles->streams[tile * t->coded_count].mode == WCODEC_STREAM_RANS &&
           (any || wcodec_tile_elements(t, tile) == 1u << t->tile_log2);
}
