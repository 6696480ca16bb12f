/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* A segment in memory, coded, as search takes it. */
#include "core/bytes.h"
#include "core/error.h"
#include "core/memory.h"
#include "vectors/segment.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { BLOCK = WCODEC_VECTORS_BLOCK, LANES = WCODEC_NEAREST_LANES, PIECE = 8 << 20 };

static size_t lanes_of(const struct wcodec_vectors_segment *s)
{
    return (s->m + LANES - 1) / LANES * LANES;
}

uint64_t wcodec_segment_memory(const struct wcodec_vectors_segment *s)
{
    const uint64_t anchors = (uint64_t)(s->m + lanes_of(s)) * s->width * sizeof(float) +
                             (uint64_t)s->m * (2 * sizeof(float) + sizeof(size_t)),
                   row = s->stride + sizeof(uint32_t) + 2 * sizeof(float) +
                         (s->is_sparse ? sizeof(uint64_t) : 0),
                   rows = s->n * row;
    return anchors + rows;
}

void wcodec_segment_free(const wcodec_allocator *allocator, struct wcodec_vectors_segment *segment)
{
    wcodec_free(allocator, segment->anchors);
    wcodec_free(allocator, segment->anchor_lengths);
    wcodec_free(allocator, segment->panels);
    wcodec_free(allocator, segment->scales);
    wcodec_free(allocator, segment->begin);
    wcodec_free(allocator, segment->row);
    wcodec_free(allocator, segment->ids);
    wcodec_free(allocator, segment->codes);
    wcodec_free(allocator, segment->squares);
    wcodec_free(allocator, segment->lengths);
    wcodec_free(allocator, segment->removed);
}

static wcodec_status allocate(wcodec_context *context, uint64_t held,
                              struct wcodec_vectors_segment *s, wcodec_error *err)
{
    const wcodec_allocator *allocator = &context->allocator;
    const uint64_t limit = context->limits.max_memory;
    if (held > limit || wcodec_segment_memory(s) > limit - held)
        return wcodec_fail(err, WCODEC_ERROR_LIMIT,
                           "%zu vectors of %zu dimensions take %" PRIu64 " bytes beside %" PRIu64
                           " of others: more than the limit of memory",
                           s->n, s->d, wcodec_segment_memory(s), held);
    s->anchors = wcodec_alloc_array(allocator, s->m, s->width * sizeof *s->anchors);
    s->anchor_lengths = wcodec_alloc_array(allocator, s->m, sizeof *s->anchor_lengths);
    s->panels = wcodec_alloc_array(allocator, lanes_of(s), s->width * sizeof *s->panels);
    s->scales = wcodec_alloc_array(allocator, s->m, sizeof *s->scales);
    s->begin = wcodec_alloc_array(allocator, s->m + 1, sizeof *s->begin);
    s->row = wcodec_alloc_array(allocator, s->n, sizeof *s->row);
    s->ids = s->is_sparse ? wcodec_alloc_array(allocator, s->n, sizeof *s->ids) : NULL;
    s->codes = wcodec_alloc_array(allocator, s->n, s->stride);
    s->squares = wcodec_alloc_array(allocator, s->n, sizeof *s->squares);
    s->lengths = wcodec_alloc_array(allocator, s->n, sizeof *s->lengths);
    if (s->anchors == NULL || s->anchor_lengths == NULL || s->panels == NULL || s->scales == NULL ||
        s->begin == NULL || s->row == NULL || (s->is_sparse && s->ids == NULL) ||
        s->codes == NULL || s->squares == NULL || s->lengths == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for %zu vectors", s->n);
    return WCODEC_OK;
}

static void put_panels(struct wcodec_vectors_segment *s)
{
    for (size_t k = 0; k < lanes_of(s); k++)
        wcodec_vectors_put_lane(s->panels, k, k < s->m ? s->anchors + k * s->width : NULL, s->width,
                                INFINITY);
}

/* Where rows stand in the order of their anchors; place: of each row. */
static void order_rows(struct wcodec_vectors_segment *s, const uint32_t *index, uint32_t *place)
{
    size_t at = 0;
    memset(s->begin, 0, (s->m + 1) * sizeof *s->begin);
    for (size_t i = 0; i < s->n; i++)
        s->begin[index[i]]++;
    for (size_t k = 0; k <= s->m; k++) {
        const size_t count = s->begin[k];
        s->begin[k] = at;
        at += count;
    }
    for (size_t i = 0; i < s->n; i++) {
        place[i] = (uint32_t)s->begin[index[i]]++;
        s->row[place[i]] = (uint32_t)i;
    }
    memmove(s->begin + 1, s->begin, s->m * sizeof *s->begin);
    s->begin[0] = 0;
}

static wcodec_status read_codes(const struct wcodec_segment_file *file,
                                struct wcodec_vectors_segment *s, const wcodec_allocator *allocator,
                                const uint32_t *place, wcodec_error *err)
{
    const uint64_t most = s->d < PIECE ? PIECE / s->d : 1, room = most < s->n ? most : s->n;
    int8_t *piece = wcodec_alloc_array(allocator, room, s->d);
    wcodec_status status = WCODEC_OK;
    if (piece == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for %zu vectors", s->n);
    for (uint64_t at = 0, some; status == WCODEC_OK && at < s->n; at += some) {
        some = s->n - at < room ? s->n - at : room;
        status = wcodec_reader_decode_rows(file->reader, file->residuals, at, some, piece,
                                           (size_t)some * s->d, NULL, err);
        for (uint64_t i = 0; status == WCODEC_OK && i < some; i++) {
            int8_t *code = s->codes + place[at + i] * s->stride;
            memcpy(code, piece + i * s->d, s->d);
            memset(code + s->d, 0, s->stride - s->d);
        }
    }
    wcodec_free(allocator, piece);
    return status;
}

static void measure_anchor(void *opaque, size_t k)
{
    const struct wcodec_vectors_segment *s = opaque;
    const float *anchor = s->anchors + k * s->width;
    double anchor_length = 0;
    for (size_t j = 0; j < s->d; j++)
        anchor_length += (double)anchor[j] * (double)anchor[j];
    s->anchor_lengths[k] = (float)sqrt(anchor_length);
    for (size_t i = s->begin[k]; i < s->begin[k + 1]; i++) {
        const int8_t *code = s->codes + i * s->stride;
        double square = 0, length = 0;
        for (size_t j = 0; j < s->d; j++) {
            const double part = (double)(s->scales[k] * (float)code[j]),
                         whole = (double)wcodec_vectors_restore(anchor[j], s->scales[k], code[j]);
            square += part * part;
            length += whole * whole;
        }
        s->squares[i] = (float)square;
        s->lengths[i] = (float)sqrt(length);
    }
}

static wcodec_status read_rows(wcodec_context *context, const struct wcodec_segment_file *file,
                               const struct wcodec_manifest_entry *entry,
                               struct wcodec_vectors_segment *s, wcodec_error *err)
{
    const wcodec_allocator *allocator = &context->allocator;
    uint32_t *index = wcodec_alloc_array(allocator, s->n, sizeof *index),
             *place = wcodec_alloc_array(allocator, s->n, sizeof *place);
    wcodec_status status = WCODEC_OK;
    if (index == NULL || place == NULL)
        status = wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for %zu vectors", s->n);
    if (status == WCODEC_OK)
        status = wcodec_segment_read_indices(file, allocator, 0, s->n, index, err);
    if (status == WCODEC_OK && s->is_sparse)
        status = entry != NULL ? wcodec_segment_entry_ids(file, allocator, entry, s->ids, err)
                               : wcodec_segment_read_ids(file, allocator, 0, s->ids, err);
    if (status == WCODEC_OK) {
        order_rows(s, index, place);
        status = read_codes(file, s, allocator, place, err);
    }
    if (status == WCODEC_OK)
        wcodec_run(context, measure_anchor, s, s->m);
    wcodec_free(allocator, index);
    wcodec_free(allocator, place);
    return status;
}

wcodec_status wcodec_segment_load(wcodec_context *context, const wcodec_reader *reader,
                                  const struct wcodec_manifest_entry *entry, uint64_t d,
                                  uint64_t held, struct wcodec_vectors_segment *segment,
                                  wcodec_error *err)
{
    struct wcodec_segment_file file;
    wcodec_status status = wcodec_segment_find(reader, &file, err);
    if (status == WCODEC_OK && entry != NULL)
        status = wcodec_segment_check(&file, entry, d, err);
    if (status != WCODEC_OK)
        return status;
    struct wcodec_vectors_segment s = {
        .n = (size_t)file.n,
        .to = (size_t)file.n,
        .m = (size_t)file.m,
        .d = (size_t)file.d,
        .width = (size_t)wcodec_align_u64(file.d, WCODEC_NEAREST_GROUP),
        .stride = (size_t)wcodec_align_u64(file.d, WCODEC_CODES_GROUP),
        .first_id = entry != NULL ? entry->first_id : 0,
        .is_sparse = file.gap_size != 0,
        .coded_size = file.coded_size};
    status = allocate(context, held, &s, err);
    if (status == WCODEC_OK)
        status = wcodec_segment_read_anchors(&file, &context->allocator, s.width, s.anchors,
                                             s.scales, err);
    if (status == WCODEC_OK) {
        put_panels(&s);
        status = read_rows(context, &file, entry, &s, err);
    }
    if (status == WCODEC_OK)
        *segment = s;
    else
        wcodec_segment_free(&context->allocator, &s);
    return status;
}
