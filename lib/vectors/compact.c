/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Compaction: which segments of a store become one. Only neighbours do, so that ids of segments
 * still do not overlap, and only those of one family: an anchor in common, directly or by way of
 * others. Anchors that were trained apart would come to stand among each other, and of as many
 * probes each would get a part. */
#include "vectors/compact.h"
#include "core/bytes.h"
#include "core/error.h"
#include "core/log.h"
#include "core/memory.h"
#include "core/options.h"

#include <inttypes.h>
#include <stdlib.h>
#include <xxhash.h>

enum {
    MAX_ROWS = 1 << 20,
    LEVEL = 3,
    /* Bytes, beside elements. */
    ROW = 12, /* of a merged row: its index and id */
    GAP = 8,
    ANCHOR = 20,     /* of a merged anchor: its scale, and at most four slots of a table */
    READ_ROW = 20,   /* of a row that is read: its index, its id and the gap before it */
    READ_ANCHOR = 8, /* of an anchor that is read: its scale and number */
};

static const wcodec_vectors_compact_options defaults = {.struct_size = sizeof defaults,
                                                        .max_rows = MAX_ROWS};

void wcodec_vectors_compact_options_init_size(wcodec_vectors_compact_options *options, size_t size)
{
    wcodec_options_set(options, size, &defaults, sizeof defaults);
}

/* An anchor of some segment. */
struct seen {
    uint64_t hash;
    size_t segment;
};

struct segment {
    size_t family; /* number of another of the same, or its own */
    uint64_t anchors, coded_size;
};

struct plan {
    struct wcodec_store_change *change;
    wcodec_vectors_compact_options options;
    wcodec_vectors_compact_report report;
    struct wcodec_reporter reporter;
    struct segment *segments;
    struct seen *seen;
    size_t seen_count;
    struct wcodec_manifest_entry *entries; /* of the new manifest */
    size_t count;
    bool is_replaced; /* the manifest, in memory */
};

static uint64_t left_of(const struct wcodec_manifest_entry *entry)
{
    return entry->rows - entry->removed;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* Segments that become one, or none, from `begin` on. */
struct run {
    size_t begin, end;
    size_t some; /* that have rows left */
    uint64_t rows, removed, anchors;
    uint64_t most_rows, most_anchors; /* of one segment */
    bool is_kept;                     /* one that stays as it is */
    bool is_large;                    /* for there is no room for a copy */
};

/* And segment i, which has rows left. */
static struct run with(const struct plan *plan, const struct run *run, size_t i)
{
    const struct wcodec_manifest_entry *entry = &plan->change->manifest.entries[i];
    const uint64_t anchors = plan->segments[i].anchors;
    struct run more = *run;
    more.end = i + 1;
    more.some++;
    more.rows += left_of(entry);
    more.removed += entry->removed;
    more.anchors += anchors;
    more.most_rows = larger(entry->rows, run->most_rows);
    more.most_anchors = larger(anchors, run->most_anchors);
    return more;
}

/* Is there memory for what is merged, and beside it for a segment that is read, or a tensor that is
 * written? */
static bool fits(const struct plan *plan, const struct run *run)
{
    const uint64_t d = plan->change->manifest.d,
                   anchors = run->anchors < run->rows ? run->anchors : run->rows,
                   merged = run->rows * (d + ROW) + anchors * (2 * d + ANCHOR),
                   read = run->most_rows * READ_ROW + run->most_anchors * (8 * d + READ_ANCHOR),
                   written = larger(run->rows * GAP, anchors * 2 * d);
    return merged + larger(read, written) <= plan->change->context->limits.max_memory;
}

static size_t family_of(const struct plan *plan, size_t i)
{
    while (plan->segments[i].family != i)
        i = plan->segments[i].family;
    return i;
}

static int compare_seen(const void *a, const void *b)
{
    const struct seen *x = a, *y = b;
    return x->hash != y->hash ? (x->hash > y->hash) - (x->hash < y->hash)
                              : (x->segment > y->segment) - (x->segment < y->segment);
}

static wcodec_status note_anchors(struct plan *plan, size_t i,
                                  const struct wcodec_segment_file *file, wcodec_error *err)
{
    const wcodec_allocator *allocator = &plan->change->context->allocator;
    const uint64_t limit = plan->change->context->limits.max_memory;
    const size_t d = (size_t)file->d, count = plan->seen_count + (size_t)file->m;
    if (count > limit / sizeof *plan->seen)
        return wcodec_fail(err, WCODEC_ERROR_LIMIT, "%zu anchors are more than the limit of memory",
                           count);
    struct seen *seen = wcodec_realloc_array(allocator, plan->seen, count, sizeof *seen);
    float *anchors = wcodec_alloc_array(allocator, file->m, d * sizeof *anchors),
          *scales = wcodec_alloc_array(allocator, file->m, sizeof *scales);
    wcodec_status status = WCODEC_OK;
    plan->seen = seen != NULL ? seen : plan->seen;
    if (seen == NULL || anchors == NULL || scales == NULL)
        status =
            wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for %" PRIu64 " anchors", file->m);
    else
        status = wcodec_segment_read_anchors(file, allocator, d, anchors, scales, err);
    for (size_t k = 0; status == WCODEC_OK && k < file->m; k++)
        plan->seen[plan->seen_count++] =
            (struct seen){XXH3_64bits(anchors + k * d, d * sizeof *anchors), i};
    wcodec_free(allocator, anchors);
    wcodec_free(allocator, scales);
    return status;
}

/* Read the anchors of all segments that can be copied, and find the families. */
static wcodec_status survey(struct plan *plan, wcodec_error *err)
{
    const struct wcodec_manifest *m = &plan->change->manifest;
    wcodec_status status = WCODEC_OK;
    for (size_t i = 0; status == WCODEC_OK && i < m->count; i++) {
        struct wcodec_segment_file file;
        wcodec_reader *reader;
        status = wcodec_segment_of_entry(plan->change, &m->entries[i], &reader, &file, err);
        if (status != WCODEC_OK)
            return status;
        plan->segments[i] =
            (struct segment){.family = i, .anchors = file.m, .coded_size = file.coded_size};
        plan->report.size_before += file.coded_size;
        const struct run alone = with(plan, &(struct run){.begin = i}, i);
        if (fits(plan, &alone))
            status = note_anchors(plan, i, &file, err);
        wcodec_segment_name(plan->change, &m->entries[i], status, err);
        wcodec_reader_close(reader);
    }
    if (status != WCODEC_OK)
        return status;
    /* Of a store without segments there is no array. */
    if (plan->seen_count != 0)
        qsort(plan->seen, plan->seen_count, sizeof *plan->seen, compare_seen);
    for (size_t i = 1; i < plan->seen_count; i++)
        if (plan->seen[i].hash == plan->seen[i - 1].hash)
            plan->segments[family_of(plan, plan->seen[i].segment)].family =
                family_of(plan, plan->seen[i - 1].segment);
    wcodec_free(&plan->change->context->allocator, plan->seen);
    plan->seen = NULL;
    return WCODEC_OK;
}

static struct run find_run(const struct plan *plan, size_t begin)
{
    const struct wcodec_manifest *m = &plan->change->manifest;
    struct run run = {.begin = begin, .end = begin};
    size_t family = 0;
    for (size_t i = begin; i < m->count; i++) {
        if (left_of(&m->entries[i]) == 0) {
            run.end = i + 1;
            continue;
        }
        const struct run more = with(plan, &run, i);
        const bool is_large = !fits(plan, &more);
        if (run.some != 0 &&
            (family_of(plan, i) != family || more.rows > plan->options.max_rows || is_large))
            break;
        family = family_of(plan, i);
        run = more;
        run.is_large = is_large;
        if (run.rows >= plan->options.max_rows || is_large)
            break;
    }
    run.is_kept = run.some == 1 && (run.removed == 0 || run.is_large);
    return run;
}

static void keep(struct plan *plan, const struct run *run)
{
    const struct wcodec_manifest_entry *entries = plan->change->manifest.entries;
    size_t i = run->begin;
    while (left_of(&entries[i]) == 0)
        i++;
    if (entries[i].removed != 0)
        wcodec_log(plan->change->context, WCODEC_LOG_WARNING,
                   "segment %" PRIu64 " of %" PRIu64
                   " vectors is too large to be copied within the "
                   "limit of memory: %" PRIu64 " that were removed stay in it",
                   entries[i].file, entries[i].rows, entries[i].removed);
    plan->report.dropped -= entries[i].removed;
    plan->entries[plan->count++] = entries[i];
    plan->report.size_after += plan->segments[i].coded_size;
}

static wcodec_status merge_run(struct plan *plan, const struct run *run, wcodec_error *err)
{
    struct wcodec_manifest *m = &plan->change->manifest;
    const struct wcodec_segment_merge merge = {.change = plan->change,
                                               .entries = m->entries + run->begin,
                                               .count = run->end - run->begin,
                                               .rows = run->rows,
                                               .room = run->anchors,
                                               .level = plan->options.level,
                                               .reporter = &plan->reporter};
    uint64_t size = 0;
    const wcodec_status status =
        wcodec_segment_merge(&merge, m->next_file, &plan->entries[plan->count], &size, err);
    if (status != WCODEC_OK)
        return status;
    m->next_file++;
    plan->count++;
    plan->report.size_after += size;
    return WCODEC_OK;
}

/* Bytes that all runs read and write. */
static uint64_t work_of(const struct plan *plan)
{
    uint64_t rows = 0;
    for (size_t i = 0; i < plan->change->manifest.count;) {
        const struct run run = find_run(plan, i);
        rows += run.is_kept ? 0 : run.rows;
        i = run.end;
    }
    return 2 * rows * plan->change->manifest.d;
}

static wcodec_status run_all(struct plan *plan, wcodec_error *err)
{
    const struct wcodec_manifest *m = &plan->change->manifest;
    wcodec_status status = WCODEC_OK;
    for (size_t i = 0; status == WCODEC_OK && i < m->count;) {
        const struct run run = find_run(plan, i);
        if (run.is_kept)
            keep(plan, &run);
        else if (run.some != 0)
            status = merge_run(plan, &run, err);
        i = run.end;
    }
    return status;
}

/* The new manifest in place of the old one, if it is another. */
static wcodec_status replace(struct plan *plan, wcodec_error *err)
{
    struct wcodec_manifest *m = &plan->change->manifest;
    struct wcodec_manifest_entry *old = m->entries;
    const bool is_same = plan->count == m->count && plan->reporter.total == 0;
    const wcodec_status status = wcodec_reporter_end(&plan->reporter, err);
    if (status != WCODEC_OK || is_same)
        return status;
    m->entries = plan->entries;
    m->count = plan->count;
    plan->entries = old;
    plan->is_replaced = true;
    return wcodec_store_commit(plan->change, err);
}

static wcodec_status compact(struct plan *plan, wcodec_error *err)
{
    const struct wcodec_manifest *m = &plan->change->manifest;
    const wcodec_allocator *allocator = &plan->change->context->allocator;
    plan->segments = wcodec_alloc_array(allocator, m->count, sizeof *plan->segments);
    plan->entries = wcodec_alloc_array(allocator, m->count, sizeof *plan->entries);
    if (plan->segments == NULL || plan->entries == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for %zu segments", m->count);
    plan->report.segments_before = m->count;
    for (size_t i = 0; i < m->count; i++) {
        plan->report.rows += left_of(&m->entries[i]);
        plan->report.dropped += m->entries[i].removed;
    }
    wcodec_status status = survey(plan, err);
    if (status != WCODEC_OK)
        return status;
    wcodec_reporter_init(&plan->reporter, &plan->options.progress, work_of(plan));
    status = run_all(plan, err);
    if (status == WCODEC_OK)
        status = replace(plan, err);
    /* Of a manifest that did not come to be. */
    if (status != WCODEC_OK && !plan->is_replaced)
        wcodec_store_sweep(plan->change);
    plan->report.segments_after = plan->count;
    return status;
}

static wcodec_status take_options(const wcodec_vectors_compact_options *from,
                                  wcodec_vectors_compact_options *o, wcodec_error *err)
{
    *o = defaults;
    wcodec_status status =
        wcodec_options_take(from, o, sizeof *o, "wcodec_vectors_compact_options_init", err);
    if (status == WCODEC_OK)
        status = wcodec_progress_check(&o->progress, err);
    if (status != WCODEC_OK)
        return status;
    if (o->level < 0 || o->level > 9)
        return wcodec_fail(err, WCODEC_ERROR_USAGE, "level %d: there are 1 to 9", o->level);
    if (o->max_rows == 0 || o->max_rows >= UINT32_MAX)
        return wcodec_fail(err, WCODEC_ERROR_USAGE,
                           "a segment has 1 to 2^32 - 2 vectors, and not %" PRIu64, o->max_rows);
    if (o->level == 0)
        o->level = LEVEL;
    return WCODEC_OK;
}

wcodec_status wcodec_vectors_store_compact(wcodec_context *context, const char *path,
                                           const wcodec_vectors_compact_options *options,
                                           wcodec_vectors_compact_report *report, wcodec_error *err)
{
    struct wcodec_store_change change;
    struct plan plan = {.change = &change};
    if (context == NULL)
        return wcodec_context_usable(context, err);
    wcodec_status status = take_options(options, &plan.options, err);
    if (status != WCODEC_OK)
        return status;
    status = wcodec_store_begin(&change, context, path, 0, err);
    if (status == WCODEC_OK)
        status = compact(&plan, err);
    if (status == WCODEC_OK && report != NULL)
        *report = plan.report;
    wcodec_free(&context->allocator, plan.segments);
    wcodec_free(&context->allocator, plan.seen);
    wcodec_free(&context->allocator, plan.entries);
    wcodec_store_end(&change);
    return status;
}
