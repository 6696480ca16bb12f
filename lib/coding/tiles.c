/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The prefix of a payload: tables, directory and runs, and from them the place of everything else
 * (doc/format.md 2.1). */
#include "coding/tiling.h"

#include "core/error.h"

#include <inttypes.h>

void wcodec_tiles_free(struct wcodec_tiles *s)
{
    if (s == NULL)
        return;
    const wcodec_allocator *a = s->allocator;
    wcodec_free(a, s->streams); /* the block of all but the runs */
    for (unsigned c = 0; c < WCODEC_MAX_CODED; c++)
        wcodec_free(a, s->runs[c]);
    wcodec_free(a, s);
}

static wcodec_status read_tables(struct wcodec_tiles *s, struct wcodec_cursor *cursor,
                                 wcodec_error *err)
{
    const struct wcodec_tiling *t = s->tiling;
    uint32_t number = 0, entries = 0;
    for (unsigned c = 0; c < t->coded_count; c++) {
        const struct wcodec_field *f = &t->fields[t->coded[c]];
        s->table_base[c] = (uint8_t)number;
        for (unsigned i = 0; i < f->tables; i++, number++) {
            wcodec_status status = wcodec_table_read(cursor, f->profile, f->width, f->run_log2 > 0,
                                                     &s->tables[number], err);
            if (status != WCODEC_OK) {
                wcodec_error_prefix(err, "table %u of field %u", i, t->coded[c]);
                return status;
            }
            s->entry_offset[number] = entries;
            entries += 1u << wcodec_profile_bits(f->profile);
        }
    }
    for (uint32_t i = 0; i < number; i++)
        wcodec_table_entries(&s->tables[i], s->entries + s->entry_offset[i]);
    return WCODEC_OK;
}

/* Most words that a stream can take: one a symbol; with P8 one for two. */
static uint32_t max_words(const struct wcodec_field *f, uint32_t elements)
{
    uint32_t padded = (uint32_t)wcodec_align_u64(elements, WCODEC_GROUP);
    return f->profile == WCODEC_P12 ? padded : padded / 2;
}

static wcodec_status check_stream(const struct wcodec_tiling *t, unsigned coded, uint32_t elements,
                                  uint32_t a, uint32_t b, struct wcodec_stream *out,
                                  wcodec_error *err)
{
    const struct wcodec_field *f = &t->fields[t->coded[coded]];
    struct wcodec_stream s = {.words = a & 0xfffff,
                              .table = a >> 20 & 15,
                              .mode = a >> 24 & 15,
                              .outliers = b & 0x1ffff,
                              .symbol = (uint8_t)(b >> 24)};
    if (a >> 28 || b >> 17 & 0x7f)
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                           "reserved bits of a stream descriptor are not zero");
    if (s.mode > WCODEC_STREAM_STORED)
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT, "stream mode %u, known are 0 to 2", s.mode);
    if (s.mode == WCODEC_STREAM_RANS ? s.symbol != 0 : s.words != 0 || s.table != 0)
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                           "a stream descriptor of mode %u has parts that the mode does not have",
                           s.mode);
    if (s.mode == WCODEC_STREAM_STORED && b != 0)
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT, "a stored tile has outliers or a symbol");
    if (s.table >= f->tables || (f->run_log2 && s.table != 0))
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT, "table %u of a pool of %u%s", s.table,
                           f->tables, f->run_log2 ? " with runs" : "");
    if (s.symbol >> f->width)
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT, "constant symbol %u does not fit %u bits",
                           s.symbol, f->width);
    if (s.words > max_words(f, elements))
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT, "%" PRIu32 " words for %" PRIu32 " elements",
                           s.words, elements);
    if (s.outliers > elements)
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                           "%" PRIu32 " outliers in %" PRIu32 " elements", s.outliers, elements);
    *out = s;
    return WCODEC_OK;
}

static wcodec_status read_directory(struct wcodec_tiles *s, const uint8_t *directory,
                                    wcodec_error *err)
{
    const struct wcodec_tiling *t = s->tiling;
    const uint8_t *p = directory + 4 * t->tiles;
    for (uint64_t tile = 0; tile < t->tiles; tile++) {
        struct wcodec_stream *streams = &s->streams[tile * t->coded_count];
        unsigned stored = 0;
        s->checks[tile] = wcodec_load_u32(directory + 4 * tile);
        for (unsigned c = 0; c < t->coded_count; c++, p += 8) {
            wcodec_status status =
                check_stream(t, c, wcodec_tile_elements(t, tile), wcodec_load_u32(p),
                             wcodec_load_u32(p + 4), &streams[c], err);
            if (status != WCODEC_OK) {
                wcodec_error_prefix(err, "tile %" PRIu64 ", field %u", tile, t->coded[c]);
                return status;
            }
            stored += streams[c].mode == WCODEC_STREAM_STORED;
        }
        if (stored != 0 && stored != t->coded_count)
            return wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                               "tile %" PRIu64 ": only some of its fields are stored", tile);
    }
    return WCODEC_OK;
}

/* Indices must be below the pool's size; zero where no element uses them. */
static wcodec_status check_runs(const struct wcodec_tiles *s, unsigned c, wcodec_error *err)
{
    const struct wcodec_tiling *t = s->tiling;
    const struct wcodec_field *f = &t->fields[t->coded[c]];
    unsigned bits = wcodec_run_index_bits(f->tables);
    uint32_t bytes = wcodec_run_bytes_of_tile(t, f);
    for (uint64_t tile = 0; tile < t->tiles; tile++) {
        const uint8_t *p = s->runs[c] + tile * bytes;
        bool used = s->streams[tile * t->coded_count + c].mode == WCODEC_STREAM_RANS;
        uint32_t runs = used ? (uint32_t)wcodec_div_up_u64(wcodec_tile_elements(t, tile),
                                                           (uint64_t)1 << f->run_log2)
                             : 0;
        for (uint32_t i = 0; i < bytes * 8 / bits; i++) {
            unsigned index = (unsigned)p[i * bits / 8] >> (i * bits % 8) & ((1u << bits) - 1);
            if (index >= f->tables || (i >= runs && index != 0))
                return wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                                   "tile %" PRIu64 ", field %u: run %" PRIu32
                                   " names table %u of a pool of %u",
                                   tile, t->coded[c], i, index, i < runs ? f->tables : 0);
        }
    }
    return WCODEC_OK;
}

static wcodec_status read_runs(struct wcodec_tiles *s, struct wcodec_cursor *cursor,
                               wcodec_error *err)
{
    const struct wcodec_tiling *t = s->tiling;
    for (unsigned c = 0; c < t->coded_count; c++) {
        const struct wcodec_field *f = &t->fields[t->coded[c]];
        const uint8_t *bytes;
        uint64_t size;
        if (!f->run_log2)
            continue;
        if (!wcodec_mul_u64(t->tiles, wcodec_run_bytes_of_tile(t, f), &size) ||
            !wcodec_take_bytes(cursor, size, &bytes))
            return wcodec_fail(err, WCODEC_ERROR_CORRUPT, "run indices of field %u are cut off",
                               t->coded[c]);
        s->runs[c] = wcodec_alloc_array(s->allocator, size, 1);
        if (s->runs[c] == NULL)
            return wcodec_fail(err, WCODEC_ERROR_MEMORY, "no memory for run indices");
        memcpy(s->runs[c], bytes, size);
        wcodec_status status = check_runs(s, c, err);
        if (status != WCODEC_OK)
            return status;
    }
    return WCODEC_OK;
}

/* Sizes of raw parts into s->raw, and their sum. All tiles but the last have the same elements. */
static uint64_t size_raw(struct wcodec_tiles *s)
{
    const struct wcodec_tiling *t = s->tiling;
    uint64_t full[WCODEC_STREAM_STORED + 1], sum = 0;
    if (t->tiles == 0)
        return 0;
    for (unsigned mode = 0; mode <= WCODEC_STREAM_STORED; mode++)
        full[mode] = wcodec_tile_raw_size(t, wcodec_tile_elements(t, 0), mode);
    const uint64_t last = t->tiles - 1;
    for (uint64_t tile = 0; tile < last; tile++)
        sum += s->raw[tile] = full[s->streams[tile * t->coded_count].mode];
    s->raw[last] = wcodec_tile_raw_size(t, wcodec_tile_elements(t, last),
                                        s->streams[last * t->coded_count].mode);
    return sum + s->raw[last];
}

/* Give every stream and tile its place; areas must fill the payload. Sums cannot wrap: each tile
 * adds less than 2^21, and there are fewer than 2^36 of them. */
static wcodec_status lay_out(struct wcodec_tiles *s, uint64_t prefix_size, wcodec_error *err)
{
    const struct wcodec_tiling *t = s->tiling;
    uint64_t states = 0, words = 0, raw = size_raw(s), outliers = 0, at = prefix_size;
    for (uint64_t i = 0; i < t->tiles * t->coded_count; i++) {
        states += s->streams[i].mode == WCODEC_STREAM_RANS ? 4 * WCODEC_LANES : 0;
        words += 2 * (uint64_t)s->streams[i].words;
        outliers += s->streams[i].outliers;
    }
    const uint64_t sizes[WCODEC_AREAS] = {states, words, raw, 2 * outliers, outliers};
    for (unsigned a = 0; a < WCODEC_AREAS; a++) {
        /* Positions and values are one area: values follow without a gap. */
        s->area_begin[a] = a == WCODEC_AREA_VALUES ? at : wcodec_align_u64(at, 16);
        at = s->area_end[a] = s->area_begin[a] + sizes[a];
    }
    if (at != s->payload_size)
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                           "the parts of a payload take %" PRIu64 " bytes, it has %" PRIu64, at,
                           s->payload_size);
    uint64_t state = s->area_begin[WCODEC_AREA_STATES], word = s->area_begin[WCODEC_AREA_WORDS],
             place_raw = s->area_begin[WCODEC_AREA_RAW], outlier = 0;
    for (uint64_t tile = 0; tile < t->tiles; tile++) {
        struct wcodec_stream *streams = &s->streams[tile * t->coded_count];
        const uint64_t raw_size = s->raw[tile];
        s->raw[tile] = place_raw;
        place_raw += raw_size;
        for (unsigned c = 0; c < t->coded_count; c++) {
            streams[c].state = state;
            streams[c].word = word;
            streams[c].outlier = outlier;
            state += streams[c].mode == WCODEC_STREAM_RANS ? 4 * WCODEC_LANES : 0;
            word += 2 * (uint64_t)streams[c].words;
            outlier += streams[c].outliers;
        }
    }
    return WCODEC_OK;
}

/* Zero bytes up to the next multiple of 16 from the payload's start. */
static bool skip_padding(struct wcodec_cursor *cursor, const uint8_t *start)
{
    while ((cursor->at - start) % 16) {
        uint8_t zero;
        if (!wcodec_take_u8(cursor, &zero) || zero)
            return false;
    }
    return true;
}

/* One block for all that is known to be needed: of a small tensor, to allocate five would take as
 * long as some hundred elements. */
static bool allocate(struct wcodec_tiles *s)
{
    const struct wcodec_tiling *t = s->tiling;
    const uint64_t streams = t->tiles * t->coded_count;
    uint64_t entries = 0, size = t->table_count * sizeof *s->tables;
    for (unsigned c = 0; c < t->coded_count; c++)
        entries += (uint64_t)t->fields[t->coded[c]].tables
                   << wcodec_profile_bits(t->fields[t->coded[c]].profile);
    size += entries * sizeof *s->entries;
    if (t->tiles > (UINT64_MAX - size) /
                       (t->coded_count * sizeof *s->streams + sizeof *s->raw + sizeof *s->checks))
        return false;
    size += streams * sizeof *s->streams + t->tiles * (sizeof *s->raw + sizeof *s->checks);
    s->streams = wcodec_alloc_array(s->allocator, size, 1);
    if (s->streams == NULL)
        return false;
    /* Those of the strictest alignment first. */
    s->raw = (uint64_t *)(void *)(s->streams + streams);
    s->entries = (uint32_t *)(void *)(s->raw + t->tiles);
    s->checks = s->entries + entries;
    s->tables = (struct wcodec_table *)(void *)(s->checks + t->tiles);
    return true;
}

static wcodec_status read_prefix(struct wcodec_tiles *s, const uint8_t *prefix, wcodec_error *err)
{
    const struct wcodec_tiling *t = s->tiling;
    struct wcodec_cursor cursor = {prefix, prefix + t->prefix_size};
    const uint8_t *directory;
    /* Before memory is taken in proportion to the tiles: their directory must be there. */
    uint64_t directory_size = t->tiles * (4 + 8 * (uint64_t)t->coded_count);
    if (directory_size > t->prefix_size)
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                           "%" PRIu64 " tiles cannot be described in %" PRIu64 " bytes", t->tiles,
                           t->prefix_size);
    if (!allocate(s))
        return wcodec_fail(err, WCODEC_ERROR_MEMORY,
                           "no memory for the directory of %" PRIu64 " tiles", t->tiles);
    wcodec_status status = read_tables(s, &cursor, err);
    if (status != WCODEC_OK)
        return status;
    if (!skip_padding(&cursor, prefix) || !wcodec_take_bytes(&cursor, directory_size, &directory))
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                           "the tile directory is cut off, or bytes before it are not zero");
    status = read_directory(s, directory, err);
    if (status != WCODEC_OK)
        return status;
    if (!skip_padding(&cursor, prefix))
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                           "bytes after the tile directory are missing or not zero");
    status = read_runs(s, &cursor, err);
    if (status != WCODEC_OK)
        return status;
    if (!skip_padding(&cursor, prefix) || cursor.at != cursor.end)
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                           "the prefix of a payload does not end where it should");
    return lay_out(s, t->prefix_size, err);
}

wcodec_status wcodec_tiles_read(const struct wcodec_tiling *tiling, const uint8_t *prefix,
                                uint64_t payload_size, const wcodec_allocator *allocator,
                                struct wcodec_tiles **tiles, wcodec_error *err)
{
    if (tiling->prefix_size > payload_size)
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                           "a prefix of %" PRIu64 " bytes in a payload of %" PRIu64,
                           tiling->prefix_size, payload_size);
    struct wcodec_tiles *s = wcodec_alloc_zeroed(allocator, sizeof *s);
    if (s == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "no memory for a tensor's tiles");
    s->tiling = tiling;
    s->allocator = allocator;
    s->payload_size = payload_size;
    wcodec_status status = read_prefix(s, prefix, err);
    if (status != WCODEC_OK) {
        wcodec_tiles_free(s);
        return status;
    }
    *tiles = s;
    return WCODEC_OK;
}

void wcodec_view_whole(const uint8_t *payload, struct wcodec_view *view)
{
    for (unsigned a = 0; a < WCODEC_AREAS; a++) {
        view->data[a] = payload;
        view->begin[a] = 0;
    }
}

/* Where tile `tile` begins in each area; the areas' ends for one past the last. */
static void tile_begin(const struct wcodec_tiles *s, uint64_t tile, uint64_t at[WCODEC_AREAS])
{
    if (tile == s->tiling->tiles) {
        memcpy(at, s->area_end, WCODEC_AREAS * sizeof *at);
        return;
    }
    const struct wcodec_stream *stream = &s->streams[tile * s->tiling->coded_count];
    at[WCODEC_AREA_STATES] = stream->state;
    at[WCODEC_AREA_WORDS] = stream->word;
    at[WCODEC_AREA_RAW] = s->raw[tile];
    at[WCODEC_AREA_POSITIONS] = s->area_begin[WCODEC_AREA_POSITIONS] + 2 * stream->outlier;
    at[WCODEC_AREA_VALUES] = s->area_begin[WCODEC_AREA_VALUES] + stream->outlier;
}

void wcodec_tiles_extent(const struct wcodec_tiles *tiles, uint64_t first, uint64_t end,
                         uint64_t begin[WCODEC_AREAS], uint64_t stop[WCODEC_AREAS])
{
    tile_begin(tiles, first, begin);
    tile_begin(tiles, end, stop);
}
