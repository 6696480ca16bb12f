/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "backends/gpu/launches.h"
#include "backends/gpu/latency.h"

#include <string.h>

enum {
    WARPS_MIN = 8,   /* fewer load tables too slowly */
    WARPS_COPY = 8,  /* so many at least copy and look up in latency kernels */
    UNITS_WARPS = 4, /* of the kernels of units: a tile has eight at least to share */
    QUEUE_BYTES = 16
};

/* Where launches are written, and what they need. */
struct launches {
    const struct wcodec_gpu_limits *limits;
    const struct wcodec_gpu_plan *plan;
    uint64_t block;
    uint8_t *at;
    uint64_t address; /* of `at` on the device */
    uint64_t faults;
    struct wcodec_gpu_launch *next;
};

/* Tiles [first, first + count) of a kernel, which begin in `segments`. */
struct run {
    unsigned kernel;
    uint32_t first, count;
    const struct wcodec_segment *segments;
    bool one; /* segment for all */
};

enum { TILE_GROUPS_MOST = 512, RAW_BITS_MOST = 8 };

static uint32_t warp_size(const struct wcodec_kind k, const struct wcodec_gpu_needs *needs)
{
    return k.family == WCODEC_FAMILY_LOSSY
               ? wcodec_lossy_warp_size(k, needs->tile_groups, needs->raw_bits)
               : wcodec_warp_size(k);
}

struct wcodec_gpu_needs wcodec_gpu_most_needs(unsigned kernel, uint32_t copies)
{
    return (struct wcodec_gpu_needs){wcodec_tables_size(wcodec_kernel_kind(kernel, copies)),
                                     TILE_GROUPS_MOST, RAW_BITS_MOST};
}

uint32_t wcodec_gpu_shared_size(unsigned kernel, uint32_t copies, unsigned warps,
                                const struct wcodec_gpu_needs *needs)
{
    return WCODEC_SHARED_HEAD + needs->table_bytes +
           warps * warp_size(wcodec_kernel_kind(kernel, copies), needs);
}

void wcodec_gpu_fit(const struct wcodec_gpu_limits *limits, unsigned kernel,
                    const struct wcodec_gpu_needs *needs, struct wcodec_gpu_kernel *fit)
{
    const struct wcodec_kernel_row *row = &wcodec_kernel_rows[kernel];
    const unsigned all = row->threads / 32u * row->groups;
    *fit = (struct wcodec_gpu_kernel){.there = true};
    for (unsigned groups = 1; groups <= limits->groups; groups++) {
        unsigned warps = all / groups < row->threads / 32u ? all / groups : row->threads / 32u;
        for (; warps > 0; warps--) {
            const uint32_t size = wcodec_gpu_shared_size(kernel, limits->copies, warps, needs);
            if (size <= limits->shared &&
                (limits->unit_shared == 0 ||
                 groups * (size + limits->group_shared) <= limits->unit_shared))
                break;
        }
        if (warps * groups > fit->warps * fit->groups) {
            fit->warps = warps;
            fit->groups = groups;
        }
    }
}

/* Warps of a work-group: with `tiles` of them to a work-group, no more rounds than the most warps
 * would need, all of them full. */
static unsigned even_warps(uint64_t tiles, unsigned most)
{
    const uint64_t rounds = (tiles + most - 1) / most, warps = (tiles + rounds - 1) / rounds;
    const unsigned least = most < WARPS_MIN ? most : (unsigned)WARPS_MIN;
    return warps < least ? least : (unsigned)warps;
}

static unsigned most_groups(const struct wcodec_gpu_limits *limits, unsigned kernel)
{
    return limits->refit ? limits->groups : limits->kernels[kernel].groups;
}

unsigned wcodec_gpu_launches_max(const struct wcodec_gpu_limits *limits,
                                 const struct wcodec_gpu_plan *plan)
{
    return WCODEC_KERNELS + 3 * (unsigned)(plan->tiles / limits->launch_tiles);
}

uint64_t wcodec_gpu_launches_size(const struct wcodec_gpu_limits *limits,
                                  const struct wcodec_gpu_plan *plan, uint64_t segments)
{
    const uint64_t pieces = plan->tiles / limits->launch_tiles + 1;
    uint64_t size = 0;
    for (unsigned k = 0; k < WCODEC_KERNELS; k++) {
        const uint64_t all = (uint64_t)limits->units * most_groups(limits, k),
                       groups = all < plan->tiles ? all : plan->tiles;
        if (!(plan->kernels >> k & 1) || !wcodec_kernel_takes_tiles(k))
            continue;
        size += pieces * (groups * sizeof(struct wcodec_part) +
                          wcodec_align_u64(4 * (groups + 1), 16) + QUEUE_BYTES);
        if (wcodec_kernel_rows[k].coding == WCODEC_CODING_PAIRS)
            size += pieces * WCODEC_LATENCY_TABLE;
    }
    return size + pieces * segments * sizeof(struct wcodec_part) + 256;
}

static void *reserve(struct launches *l, uint64_t size)
{
    uint8_t *at = l->at;
    l->at += wcodec_align_u64(size, 16);
    l->address += wcodec_align_u64(size, 16);
    return at;
}

static struct wcodec_gpu_launch *add_launch(struct launches *l, unsigned kernel)
{
    struct wcodec_gpu_launch *launch = l->next++;
    *launch = (struct wcodec_gpu_launch){.kernel = kernel};
    launch->arguments.block = l->block;
    launch->arguments.jobs = l->block;
    launch->arguments.faults = l->faults;
    launch->arguments.ones = ~0u;
    return launch;
}

/* The set that a segment names, in the host's memory. */
static const struct wcodec_table_set *set_of(const struct launches *l,
                                             const struct wcodec_segment *segment)
{
    return (const void *)(l->plan->block + (segment->tables - l->block));
}

static const struct wcodec_tile_job *jobs_of(const struct launches *l, const struct run *run)
{
    return (const struct wcodec_tile_job *)(const void *)l->plan->block + run->first;
}

/* Let a latency kernel take them, if there is one, all have the same size, and they are few
 * enough for it to be faster. */
static bool plan_latency(struct launches *l, const struct run *run)
{
    const struct wcodec_kernel_row *row = &wcodec_kernel_rows[run->kernel];
    const unsigned kernel =
        wcodec_kernel_find(WCODEC_FAMILY_LATENCY, row->shape, row->coding, row->add, 0, false);
    const struct wcodec_kind k = wcodec_kernel_kind(kernel, l->limits->copies);
    const struct wcodec_tile_job *jobs = jobs_of(l, run);
    const struct wcodec_gpu_kernel *there = &l->limits->kernels[kernel];
    if (row->family != WCODEC_FAMILY_FAST || kernel == WCODEC_KERNEL_GENERIC || !run->one ||
        !there->there)
        return false;
    const uint32_t units = l->limits->units * there->groups,
                   tiles = (run->count + units - 1) / units, elements = jobs[0].elements;
    uint32_t words = 0;
    if (tiles > WCODEC_LATENCY_TILES || elements % (128 * k.groups))
        return false;
    for (uint32_t i = 0; i < run->count; i++) {
        if (jobs[i].elements != elements || jobs[i].out % (4 * k.bytes))
            return false;
        words = jobs[i].word_count > words ? jobs[i].word_count : words;
    }
    words = (words + 7) & ~7u;
    const uint64_t shared = WCODEC_SHARED_HEAD + wcodec_latency_tables_size(k) +
                            (uint64_t)tiles * wcodec_latency_tile_size(k, words, elements / 128);
    if (shared > l->limits->shared || (l->limits->fixed_threads && tiles > there->warps))
        return false;
    const uint64_t table = l->address;
    if (k.pairs) {
        if (!wcodec_latency_write_table(set_of(l, run->segments), l->at))
            return false;
        reserve(l, WCODEC_LATENCY_TABLE);
    }
    struct wcodec_gpu_launch *launch = add_launch(l, kernel);
    struct wcodec_launch *a = &launch->arguments;
    a->tables = run->segments->tables;
    a->parts = table;
    a->count = run->count;
    a->first = run->first;
    a->units = l->limits->units;
    a->tiles = tiles;
    a->inverse = 65535 / tiles + 1;
    a->helpers = l->limits->fixed_threads ? there->warps / tiles : (WARPS_COPY + tiles - 1) / tiles;
    a->words = words;
    a->groups = elements / 128;
    launch->groups = (run->count + tiles - 1) / tiles;
    launch->threads = l->limits->lanes * tiles * a->helpers;
    launch->shared = (uint32_t)shared;
    return true;
}

/* One table for all: the kernel cuts. More than all warps can take at once are taken from a queue.
 * Returns the most tiles of a work-group. */
static uint32_t share_tiles(struct launches *l, const struct run *run, unsigned most, uint32_t full,
                            struct wcodec_gpu_launch *launch)
{
    launch->arguments.tables = run->segments->tables;
    launch->arguments.first = run->first;
    launch->groups = full;
    const uint32_t tiles = (run->count + launch->groups - 1) / launch->groups;
    if (tiles <= most || !l->limits->queue)
        return tiles;
    launch->arguments.queue = l->address;
    memset(reserve(l, QUEUE_BYTES), 0, QUEUE_BYTES);
    return most;
}

static uint32_t cut_tiles(struct launches *l, const struct run *run, uint32_t full,
                          struct wcodec_gpu_launch *launch)
{
    const uint64_t numbers_address = l->address;
    uint32_t *numbers = reserve(l, 4 * (uint64_t)(full + 1)), tiles;
    const uint64_t parts_address = l->address;
    launch->groups = wcodec_gpu_plan_cut(run->segments, run->first, run->count, full, (void *)l->at,
                                         numbers, &tiles);
    const uint32_t parts = numbers[launch->groups];
    reserve(l, parts * sizeof(struct wcodec_part));
    launch->arguments.first_part = parts > launch->groups ? numbers_address : 0;
    launch->arguments.parts = parts_address;
    return tiles;
}

/* With runs a work-group has all tables of a tensor at a time, and those of a second stream. */
static uint32_t set_bytes(const struct wcodec_table_set *set, const struct wcodec_kind k)
{
    uint32_t entries = set->entries;
    if (k.lossy.wide && set->streams > 1)
        entries += ((const struct wcodec_table_set *)((const uint32_t *)(set + 1) + set->entries))
                       ->entries;
    return 4 * entries;
}

static uint32_t largest(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

static struct wcodec_gpu_needs needs_of(const struct launches *l, const struct run *run,
                                        const struct wcodec_kind k)
{
    const struct wcodec_tile_job *jobs = jobs_of(l, run);
    struct wcodec_gpu_needs needs = {k.runs ? 0 : wcodec_tables_size(k), 0, 0};
    uint32_t elements = 0;
    for (const struct wcodec_segment *s = run->segments;
         (k.runs || k.lossy.raw) && s < l->plan->segments + l->plan->segment_count &&
         s->first < run->first + run->count;
         s++) {
        const struct wcodec_table_set *set = set_of(l, s);
        if (k.runs)
            needs.table_bytes = largest(needs.table_bytes, set_bytes(set, k));
        needs.raw_bits = largest(needs.raw_bits, set->shift);
    }
    for (uint32_t i = 0; k.family == WCODEC_FAMILY_LOSSY && i < run->count; i++)
        elements = largest(elements, jobs[i].elements);
    needs.tile_groups = ((elements + 127) / 128 + 15) & ~15u;
    return needs;
}

/* A kernel that gives a tile to each warp. Where a launch may have other work-groups than the
 * kernel was fitted to, tiles that need less than the most leave space for more warps. */
static void plan_tiles(struct launches *l, const struct run *run)
{
    const struct wcodec_kind k = wcodec_kernel_kind(run->kernel, l->limits->copies);
    const struct wcodec_gpu_needs needs = needs_of(l, run, k);
    struct wcodec_gpu_kernel kernel = l->limits->kernels[run->kernel];
    if (l->limits->refit && (k.runs || k.lossy.raw))
        wcodec_gpu_fit(l->limits, run->kernel, &needs, &kernel);
    const uint32_t all = l->limits->units * kernel.groups,
                   full = all < run->count ? all : run->count;
    struct wcodec_gpu_launch *launch = add_launch(l, run->kernel);
    const uint32_t tiles = run->one ? share_tiles(l, run, kernel.warps, full, launch)
                                    : cut_tiles(l, run, full, launch);
    const unsigned warps =
        l->limits->fixed_threads ? kernel.warps : even_warps(tiles, kernel.warps);
    launch->arguments.count = run->count;
    launch->arguments.table_bytes = needs.table_bytes;
    launch->arguments.warp_bytes = warp_size(k, &needs);
    if (k.family == WCODEC_FAMILY_LOSSY)
        launch->arguments.groups = needs.tile_groups;
    launch->threads = 32 * warps;
    launch->shared = wcodec_gpu_shared_size(run->kernel, l->limits->copies, warps, &needs);
}

/* Of one job all warps take tiles side by side; those of several are cut into parts. */
static void plan_fixed(struct launches *l, const struct run *run)
{
    const struct wcodec_gpu_kernel *kernel = &l->limits->kernels[run->kernel];
    const struct wcodec_gpu_needs needs = wcodec_gpu_most_needs(run->kernel, l->limits->copies);
    const uint32_t all = l->limits->units * kernel->groups,
                   wanted = (run->count + kernel->warps - 1) / kernel->warps,
                   full = all < wanted ? all : wanted;
    struct wcodec_gpu_launch *launch = add_launch(l, run->kernel);
    launch->groups = full;
    if (run->one) {
        launch->arguments.tables = run->segments->tables;
        launch->arguments.first = run->first;
        launch->arguments.count = run->count;
    } else {
        cut_tiles(l, run, full, launch);
    }
    launch->arguments.groups = launch->groups;
    launch->threads = l->limits->lanes * kernel->warps;
    launch->shared = wcodec_gpu_shared_size(run->kernel, l->limits->copies, kernel->warps, &needs);
}

static void plan_generic(struct launches *l, const struct run *run)
{
    const unsigned warps = l->limits->kernels[WCODEC_KERNEL_GENERIC].warps;
    struct wcodec_gpu_launch *launch = add_launch(l, WCODEC_KERNEL_GENERIC);
    launch->arguments.first = run->first;
    launch->arguments.count = run->count;
    launch->groups = (run->count + warps - 1) / warps;
    launch->threads = l->limits->lanes * warps;
}

/* All tiles of one kernel, which begin in *segments; returns the segment after them. */
static const struct wcodec_segment *plan_run(struct launches *l, unsigned kernel,
                                             const struct wcodec_segment *segments)
{
    const struct wcodec_kernel_run *all = &l->plan->runs[kernel];
    const uint32_t end = all->first + all->count;
    for (uint32_t first = all->first; first < end;) {
        const uint32_t left = end - first;
        struct run run = {kernel, first,
                          left < l->limits->launch_tiles ? left : l->limits->launch_tiles, segments,
                          false};
        first += run.count;
        if (kernel == WCODEC_KERNEL_GENERIC) {
            plan_generic(l, &run);
            continue;
        }
        run.one = segments->first + segments->count >= first;
        if (wcodec_kernel_rows[kernel].family == WCODEC_FAMILY_FIXED)
            plan_fixed(l, &run);
        else if (!plan_latency(l, &run))
            plan_tiles(l, &run);
        while (first < end && segments->first + segments->count <= first)
            segments++;
    }
    const struct wcodec_segment *last = l->plan->segments + l->plan->segment_count;
    while (kernel != WCODEC_KERNEL_GENERIC && segments < last && segments->first < end)
        segments++;
    return segments;
}

void wcodec_gpu_plan_some(const struct wcodec_gpu_limits *limits, unsigned kernel,
                          const struct wcodec_segment *jobs, uint64_t block, uint64_t faults,
                          struct wcodec_gpu_launch *launch)
{
    struct launches l = {.limits = limits, .block = block, .faults = faults, .next = launch};
    const struct run run = {kernel, jobs->first, jobs->count, jobs, true};
    if (kernel == WCODEC_KERNEL_GENERIC) {
        plan_generic(&l, &run);
        return;
    }
    const struct wcodec_gpu_needs needs = wcodec_gpu_most_needs(kernel, limits->copies);
    const struct wcodec_gpu_kernel *k = &limits->kernels[kernel];
    const uint32_t all = limits->units * k->groups, groups = all < run.count ? all : run.count,
                   tiles = (run.count + groups - 1) / groups;
    const unsigned warps = limits->fixed_threads ? k->warps : even_warps(tiles, k->warps);
    add_launch(&l, kernel);
    launch->arguments.tables = jobs->tables;
    launch->arguments.first = jobs->first;
    launch->arguments.count = jobs->count;
    launch->arguments.table_bytes = needs.table_bytes;
    launch->arguments.warp_bytes = warp_size(wcodec_kernel_kind(kernel, limits->copies), &needs);
    launch->groups = groups;
    launch->threads = 32 * warps;
    launch->shared = wcodec_gpu_shared_size(kernel, limits->copies, warps, &needs);
}

/* Elements of what the generic kernel has left. */
static void plan_units(struct launches *l, unsigned kernel, uint64_t jobs, uint32_t count)
{
    for (uint32_t first = 0; first < count;) {
        struct wcodec_gpu_launch *launch = add_launch(l, kernel);
        const uint32_t left = count - first;
        launch->groups = left < l->limits->launch_tiles ? left : l->limits->launch_tiles;
        launch->arguments.jobs = l->block + jobs;
        launch->arguments.first = first;
        launch->arguments.count = launch->groups;
        const unsigned warps =
            l->limits->fixed_threads ? l->limits->kernels[kernel].warps : UNITS_WARPS;
        launch->threads = l->limits->lanes * warps;
        launch->shared = WCODEC_SHARED_HEAD + warps * WCODEC_STAGE_SIZE;
        first += launch->groups;
    }
}

unsigned wcodec_gpu_plan_launches(const struct wcodec_gpu_limits *limits,
                                  const struct wcodec_gpu_plan *plan, uint64_t block, uint8_t *at,
                                  uint64_t address, uint64_t faults,
                                  struct wcodec_gpu_launch *launches, const uint8_t **end)
{
    struct launches l = {limits, plan, block, at, address, faults, launches};
    const struct wcodec_segment *segments = plan->segments;
    for (unsigned k = 0; k < WCODEC_KERNELS; k++)
        if (plan->runs[k].count > 0)
            segments = plan_run(&l, k, segments);
    uint64_t blocks = plan->blocks;
    for (unsigned i = 0; i < WCODEC_GPU_VIEWS; i++) {
        plan_units(&l, wcodec_gpu_plan_units[i], blocks, plan->blocks_count[i]);
        blocks += plan->blocks_capacity[i] * sizeof(struct wcodec_blocks_job);
    }
    *end = l.at;
    return (unsigned)(l.next - launches);
}
