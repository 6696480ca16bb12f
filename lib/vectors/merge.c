/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Anchors of the same numbers and scale become one; others stay beside each other. So every row
 * decodes to what it did, and is as near to any query. */
#include "coding/lossy.h"
#include "core/bytes.h"
#include "core/error.h"
#include "core/memory.h"
#include "core/options.h"
#include "io/safefile.h"
#include "vectors/compact.h"

#include <inttypes.h>
#include <string.h>
#include <xxhash.h>

enum { PIECE = 8 << 20 };

struct merging {
    const struct wcodec_segment_merge *merge;
    const wcodec_allocator *allocator;
    size_t d;
    size_t n, m;   /* rows and anchors so far */
    uint64_t room; /* anchors of sources that are still to come */
    uint16_t *anchors;
    float *scales;
    uint32_t *indices;
    uint64_t *ids; /* and in the end gaps */
    int8_t *residuals;
    size_t slots;   /* of the table, a power of two, more than anchors */
    uint32_t *slot; /* 1 + number of an anchor, where its hash leads to */
};

/* A segment that is being copied. */
struct source {
    const struct wcodec_manifest_entry *entry;
    struct wcodec_segment_file file;
    float *wide; /* anchors */
    float *scales;
    uint16_t *anchors;
    uint32_t *map; /* number of each anchor among the merged ones; UINT32_MAX: none yet */
    uint32_t *indices;
    uint64_t *ids;
    uint8_t *removed; /* NULL: none is */
    int8_t *piece;
    size_t room; /* rows of a piece */
};

/* The number of an anchor, which is added if it is new. */
static uint32_t find_anchor(struct merging *g, const uint16_t *anchor, float scale)
{
    const size_t size = g->d * sizeof *anchor;
    size_t at = (size_t)XXH3_64bits_withSeed(anchor, size, wcodec_f32_bits(scale)) & (g->slots - 1);
    for (; g->slot[at] != 0; at = (at + 1) & (g->slots - 1)) {
        const size_t k = g->slot[at] - 1;
        if (g->scales[k] == scale && memcmp(g->anchors + k * g->d, anchor, size) == 0)
            return (uint32_t)k;
    }
    memcpy(g->anchors + g->m * g->d, anchor, size);
    g->scales[g->m] = scale;
    g->slot[at] = (uint32_t)++g->m;
    return g->slot[at] - 1;
}

static bool is_removed(const struct source *s, uint64_t row)
{
    return s->removed != NULL && (s->removed[row / 8] >> row % 8 & 1) != 0;
}

static void take_row(struct merging *g, const struct source *s, uint64_t row, const int8_t *code)
{
    const uint32_t k = s->indices[row];
    if (s->map[k] == UINT32_MAX)
        s->map[k] = find_anchor(g, s->anchors + k * g->d, s->scales[k]);
    g->indices[g->n] = s->map[k];
    g->ids[g->n] = s->ids[row];
    memcpy(g->residuals + g->n * g->d, code, g->d);
    g->n++;
}

static wcodec_status copy_rows(struct merging *g, const struct source *s, wcodec_error *err)
{
    wcodec_status status = WCODEC_OK;
    for (uint64_t at = 0, some; status == WCODEC_OK && at < s->file.n; at += some) {
        const size_t before = g->n;
        some = s->file.n - at < s->room ? s->file.n - at : s->room;
        status = wcodec_reader_decode_rows(s->file.reader, s->file.residuals, at, some, s->piece,
                                           (size_t)some * g->d, NULL, err);
        wcodec_segment_name(g->merge->change, s->entry, status, err);
        for (uint64_t i = 0; status == WCODEC_OK && i < some; i++)
            if (!is_removed(s, at + i))
                take_row(g, s, at + i, s->piece + i * g->d);
        if (status == WCODEC_OK)
            status = wcodec_reporter_add(g->merge->reporter, (g->n - before) * g->d, err);
    }
    return status;
}

static wcodec_status read_source(struct merging *g, struct source *s, wcodec_error *err)
{
    const uint64_t elements = s->file.m * s->file.d;
    wcodec_status status =
        wcodec_segment_read_anchors(&s->file, g->allocator, g->d, s->wide, s->scales, err);
    for (uint64_t i = 0; status == WCODEC_OK && i < elements; i++)
        s->anchors[i] = wcodec_f16_from_f32(s->wide[i]);
    for (uint64_t k = 0; k < s->file.m; k++)
        s->map[k] = UINT32_MAX;
    if (status == WCODEC_OK)
        status = wcodec_segment_read_indices(&s->file, g->allocator, 0, s->file.n, s->indices, err);
    if (status == WCODEC_OK)
        status = wcodec_segment_entry_ids(&s->file, g->allocator, s->entry, s->ids, err);
    wcodec_segment_name(g->merge->change, s->entry, status, err);
    if (status == WCODEC_OK && s->entry->removed != 0)
        status = wcodec_removed_read(g->merge->change->context, g->merge->change->folder, s->entry,
                                     &s->removed, err);
    return status;
}

static wcodec_status take_source(struct merging *g, struct source *s, wcodec_error *err)
{
    const wcodec_allocator *allocator = g->allocator;
    const uint64_t n = s->file.n, m = s->file.m, most = g->d < PIECE ? PIECE / g->d : 1;
    wcodec_status status;
    if (m > g->room)
        return wcodec_segment_name(
            g->merge->change, s->entry,
            wcodec_fail(err, WCODEC_ERROR_CORRUPT, "has changed while it was read"), err);
    g->room -= m;
    s->room = (size_t)(most < n ? most : n);
    s->wide = wcodec_alloc_array(allocator, m, g->d * sizeof *s->wide);
    s->scales = wcodec_alloc_array(allocator, m, sizeof *s->scales);
    s->anchors = wcodec_alloc_array(allocator, m, g->d * sizeof *s->anchors);
    s->map = wcodec_alloc_array(allocator, m, sizeof *s->map);
    s->indices = wcodec_alloc_array(allocator, n, sizeof *s->indices);
    s->ids = wcodec_alloc_array(allocator, n, sizeof *s->ids);
    s->piece = wcodec_alloc_array(allocator, s->room, g->d);
    if (s->wide == NULL || s->scales == NULL || s->anchors == NULL || s->map == NULL ||
        s->indices == NULL || s->ids == NULL || s->piece == NULL)
        status = wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for %" PRIu64 " vectors", n);
    else
        status = read_source(g, s, err);
    if (status == WCODEC_OK)
        status = copy_rows(g, s, err);
    wcodec_free(allocator, s->wide);
    wcodec_free(allocator, s->scales);
    wcodec_free(allocator, s->anchors);
    wcodec_free(allocator, s->map);
    wcodec_free(allocator, s->indices);
    wcodec_free(allocator, s->ids);
    wcodec_free(allocator, s->removed);
    wcodec_free(allocator, s->piece);
    return status;
}

static wcodec_status take_all(struct merging *g, wcodec_error *err)
{
    const struct wcodec_segment_merge *merge = g->merge;
    wcodec_status status = WCODEC_OK;
    for (size_t i = 0; status == WCODEC_OK && i < merge->count; i++) {
        struct source source = {.entry = &merge->entries[i]};
        wcodec_reader *reader;
        if (source.entry->removed == source.entry->rows)
            continue;
        status = wcodec_segment_of_entry(merge->change, source.entry, &reader, &source.file, err);
        if (status != WCODEC_OK)
            return status;
        status = take_source(g, &source, err);
        wcodec_reader_close(reader);
    }
    return status;
}

/* What a writer says of its work is said of the whole. */
struct relay {
    struct wcodec_reporter *reporter;
    uint64_t begin, size;
};

static int relay(void *opaque, uint64_t done, uint64_t total)
{
    const struct relay *r = opaque;
    (void)total;
    return wcodec_reporter_reach(r->reporter, r->begin + (done < r->size ? done : r->size), NULL) !=
           WCODEC_OK;
}

static wcodec_status write_file(const struct merging *g,
                                const struct wcodec_segment_content *content, const char *path,
                                uint64_t *coded_size, wcodec_error *err)
{
    const struct wcodec_segment_merge *merge = g->merge;
    const struct wcodec_safefile_attributes attributes =
        wcodec_store_attributes(&merge->change->manifest);
    struct relay r = {merge->reporter, merge->reporter->done, (uint64_t)g->n * g->d};
    struct wcodec_safefile file;
    wcodec_encode_options options;
    wcodec_encode_options_init(&options);
    options.level = merge->level;
    options.progress = (wcodec_progress){.fn = relay, .opaque = &r};
    wcodec_status status = wcodec_safefile_open(g->allocator, path, &file, err);
    if (status == WCODEC_OK)
        status = wcodec_segment_write(merge->change->context, content, &options,
                                      wcodec_safefile_write, &file, coded_size, err);
    if (status == WCODEC_OK)
        status = wcodec_safefile_commit(&file, &attributes, err);
    wcodec_safefile_close(&file);
    return status == WCODEC_OK ? wcodec_reporter_add(merge->reporter, r.size, err) : status;
}

/* ids become the gaps before them. Are there any? */
static bool make_gaps(struct merging *g)
{
    bool any = false;
    for (size_t i = g->n; i-- > 0;) {
        g->ids[i] = i != 0 ? g->ids[i] - g->ids[i - 1] - 1 : 0;
        any |= g->ids[i] != 0;
    }
    return any;
}

static wcodec_status write_merged(struct merging *g, uint64_t file,
                                  struct wcodec_manifest_entry *entry, uint64_t *coded_size,
                                  wcodec_error *err)
{
    struct wcodec_segment_content content = {.n = g->n,
                                             .m = g->m,
                                             .d = g->d,
                                             .scale_count = 1,
                                             .anchors = g->anchors,
                                             .scales = g->scales,
                                             .indices = g->indices,
                                             .residuals = g->residuals};
    char name[WCODEC_STORE_NAME_SIZE];
    for (size_t k = 1; k < g->m; k++)
        if (g->scales[k] != g->scales[0])
            content.scale_count = g->m;
    *entry = (struct wcodec_manifest_entry){
        .file = file, .first_id = g->ids[0], .last_id = g->ids[g->n - 1], .rows = g->n};
    content.gaps = make_gaps(g) ? g->ids : NULL;
    wcodec_store_segment_name(file, name);
    char *path = wcodec_store_path(g->allocator, g->merge->change->folder, name);
    if (path == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for a path");
    const wcodec_status status = write_file(g, &content, path, coded_size, err);
    wcodec_free(g->allocator, path);
    return status;
}

static wcodec_status allocate(struct merging *g, wcodec_error *err)
{
    const wcodec_allocator *allocator = g->allocator;
    const uint64_t n = g->merge->rows, m = g->merge->room < n ? g->merge->room : n;
    g->slots = 2;
    while (g->slots < 2 * m)
        g->slots *= 2;
    g->anchors = wcodec_alloc_array(allocator, m, g->d * sizeof *g->anchors);
    g->scales = wcodec_alloc_array(allocator, m, sizeof *g->scales);
    g->slot = wcodec_alloc_zeroed(allocator, g->slots * sizeof *g->slot);
    g->indices = wcodec_alloc_array(allocator, n, sizeof *g->indices);
    g->ids = wcodec_alloc_array(allocator, n, sizeof *g->ids);
    g->residuals = wcodec_alloc_array(allocator, n, g->d);
    if (g->anchors == NULL || g->scales == NULL || g->slot == NULL || g->indices == NULL ||
        g->ids == NULL || g->residuals == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for %" PRIu64 " vectors", n);
    return WCODEC_OK;
}

wcodec_status wcodec_segment_merge(const struct wcodec_segment_merge *merge, uint64_t file,
                                   struct wcodec_manifest_entry *entry, uint64_t *coded_size,
                                   wcodec_error *err)
{
    struct merging g = {.merge = merge,
                        .allocator = &merge->change->context->allocator,
                        .room = merge->room,
                        .d = (size_t)merge->change->manifest.d};
    wcodec_status status = allocate(&g, err);
    if (status == WCODEC_OK)
        status = take_all(&g, err);
    if (status == WCODEC_OK)
        status = write_merged(&g, file, entry, coded_size, err);
    wcodec_free(g.allocator, g.anchors);
    wcodec_free(g.allocator, g.scales);
    wcodec_free(g.allocator, g.slot);
    wcodec_free(g.allocator, g.indices);
    wcodec_free(g.allocator, g.ids);
    wcodec_free(g.allocator, g.residuals);
    return status;
}
