/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Decoding one tile, step by step as doc/format.md 2.3 to 2.6 says it. */
#include "coding/planes.h"

#include "core/assert.h"
#include "coding/tile.h"

const char *wcodec_tile_fault_string(enum wcodec_tile_fault fault)
{
    switch (fault) {
    case WCODEC_TILE_OK:
        return "no fault";
    case WCODEC_TILE_STATE:
        return "a start state is below 2^16";
    case WCODEC_TILE_WORDS:
        return "words are missing or left over";
    case WCODEC_TILE_FINAL:
        return "a final state is not what the coder started with";
    case WCODEC_TILE_OUTLIER:
        return "an outlier's position or value is out of range or order";
    case WCODEC_TILE_CHECK:
        return "the check of the decoded bytes differs";
    }
    return "unknown fault";
}

/* A tile that is being decoded: elements stand in `out` at their full size, as e' until the end. */
struct tile {
    const struct wcodec_tiles *tiles;
    const struct wcodec_view *view;
    uint64_t number;
    uint32_t elements;
    unsigned size; /* bytes of an element */
    uint8_t *out;
    uint16_t payload[WCODEC_LANES];
};

static void or_bits(const struct tile *t, uint32_t element, uint64_t bits)
{
    if (element < t->elements) {
        uint8_t *p = t->out + (size_t)element * t->size;
        wcodec_store_uint(p, wcodec_load_uint(p, t->size) | bits, t->size);
    }
}

/* The smaller code counts: what goes wrong first. */
static void note(enum wcodec_tile_fault *fault, enum wcodec_tile_fault seen)
{
    if (*fault == WCODEC_TILE_OK || seen < *fault)
        *fault = seen;
}

static void put_symbol(const struct tile *t, const struct wcodec_field *f,
                       const struct wcodec_table *table, uint32_t element, unsigned symbol)
{
    if (f->profile != WCODEC_PAIRS) {
        or_bits(t, element, (uint64_t)symbol << f->shift);
        return;
    }
    or_bits(t, element, (uint64_t)(table->base + symbol % 16) << f->shift);
    or_bits(t, element + 1, (uint64_t)(table->base + symbol / 16) << f->shift);
}

/* One rANS stream; final states go to x. */
static void decode_rans(const struct tile *t, unsigned coded, uint32_t x[WCODEC_LANES],
                        enum wcodec_tile_fault *fault)
{
    const struct wcodec_tiles *s = t->tiles;
    const struct wcodec_field *f = &s->tiling->fields[s->tiling->coded[coded]];
    const struct wcodec_stream *stream = &s->streams[t->number * s->tiling->coded_count + coded];
    const uint8_t *states = wcodec_view_at(t->view, WCODEC_AREA_STATES, stream->state);
    const uint8_t *words = wcodec_view_at(t->view, WCODEC_AREA_WORDS, stream->word);
    const unsigned p = wcodec_profile_bits(f->profile), symbols = f->profile == WCODEC_P8 ? 2 : 1,
                   span = wcodec_profile_span(f->profile);
    uint32_t used = 0;
    for (unsigned lane = 0; lane < WCODEC_LANES; lane++) {
        x[lane] = wcodec_load_u32(states + 4 * lane);
        if (x[lane] < 1u << 16)
            note(fault, WCODEC_TILE_STATE);
    }
    for (uint32_t group = 0; group * WCODEC_GROUP < t->elements; group++) {
        const unsigned number =
            s->table_base[coded] +
            (f->run_log2 ? wcodec_run_table(s, coded, t->number, group) : stream->table);
        const uint32_t *entries = s->entries + s->entry_offset[number];
        for (unsigned position = 0; position < 4; position += symbols * span) {
            for (unsigned lane = 0; lane < WCODEC_LANES; lane++)
                for (unsigned i = 0; i < symbols; i++) {
                    const uint32_t e = entries[x[lane] & ((1u << p) - 1)];
                    x[lane] = (e >> 20) * (x[lane] >> p) + (e & 0xfff);
                    put_symbol(t, f, &s->tables[number],
                               group * WCODEC_GROUP + 4 * lane + position + i, e >> 12 & 0xff);
                }
            for (unsigned lane = 0; lane < WCODEC_LANES; lane++)
                if (x[lane] < 1u << 16) {
                    x[lane] =
                        x[lane] << 16 |
                        (used < stream->words ? wcodec_load_u16(words + 2 * (size_t)used) : 0);
                    used++;
                }
        }
    }
    if (used != stream->words)
        note(fault, WCODEC_TILE_WORDS);
}

static void decode_stream(struct tile *t, unsigned coded, enum wcodec_tile_fault *fault)
{
    const struct wcodec_tiling *tiling = t->tiles->tiling;
    const struct wcodec_stream *stream =
        &t->tiles->streams[t->number * tiling->coded_count + coded];
    if (stream->mode == WCODEC_STREAM_CONSTANT) {
        for (uint32_t i = 0; i < t->elements; i++)
            or_bits(t, i, (uint64_t)stream->symbol << tiling->fields[tiling->coded[coded]].shift);
        return;
    }
    const bool payload = coded == 0 && wcodec_tile_has_payload(tiling, stream->mode);
    uint32_t x[WCODEC_LANES];
    decode_rans(t, coded, x, fault);
    for (unsigned lane = 0; lane < WCODEC_LANES; lane++) {
        if (x[lane] >> 16 != 1 || (!payload && (x[lane] & 0xffff)))
            note(fault, WCODEC_TILE_FINAL);
        if (coded == 0)
            t->payload[lane] = (uint16_t)x[lane];
    }
}

/* The word of a last row that is not stored whole. half: the stored half, 0 where there is none. */
static uint32_t join_payload(const struct tile *t, const struct wcodec_plane *plane, uint16_t half,
                             uint16_t payload)
{
    if (plane->bits >= 8)
        return half | (uint32_t)payload << 16;
    const unsigned slot_bits = wcodec_slot_bits(t->tiles->tiling);
    const uint32_t groups = (t->elements + WCODEC_GROUP - 1) / WCODEC_GROUP;
    uint32_t word = 0;
    for (unsigned position = 0; position < 4; position++) {
        struct wcodec_placing at =
            wcodec_place_element(t->tiles->tiling, plane, (groups - 1) * WCODEC_GROUP + position);
        word |= wcodec_place_value(plane, slot_bits, &at, (unsigned)payload >> (4 * position) & 15);
        if (groups % 2 == 0) {
            at = wcodec_place_element(t->tiles->tiling, plane,
                                      (groups - 2) * WCODEC_GROUP + position);
            word |=
                wcodec_place_value(plane, slot_bits, &at, (unsigned)half >> (4 * position) & 15);
        }
    }
    return word;
}

static void decode_raw(const struct tile *t, bool payload)
{
    const struct wcodec_tiling *tiling = t->tiles->tiling;
    const unsigned slot_bits = wcodec_slot_bits(tiling);
    const uint8_t *raw = wcodec_view_at(t->view, WCODEC_AREA_RAW, t->tiles->raw[t->number]);
    for (unsigned p = 0; p < tiling->plane_count; p++) {
        const struct wcodec_plane *plane = &tiling->planes[p];
        const uint32_t rows = wcodec_plane_rows(plane, t->elements),
                       groups = (t->elements + WCODEC_GROUP - 1) / WCODEC_GROUP;
        const bool cut = p == 0 && payload, absent = cut && plane->bits == 4 && groups % 2;
        for (uint32_t i = 0; i < t->elements; i++) {
            const struct wcodec_placing at = wcodec_place_element(tiling, plane, i);
            const uint8_t *row = raw + (size_t)at.row * 4 * WCODEC_LANES;
            uint32_t word;
            if (cut && at.row == rows - 1)
                word = join_payload(t, plane, absent ? 0 : wcodec_load_u16(row + 2 * at.lane),
                                    t->payload[at.lane]);
            else
                word = wcodec_load_u32(row + 4 * at.lane);
            or_bits(t, i,
                    wcodec_scatter_plane(tiling, plane,
                                         wcodec_placed_value(plane, slot_bits, &at, word)));
        }
        raw += (size_t)rows * 4 * WCODEC_LANES - (cut ? (absent ? 4u : 2u) * WCODEC_LANES : 0);
    }
}

static void patch_outliers(const struct tile *t, unsigned coded, enum wcodec_tile_fault *fault)
{
    const struct wcodec_tiles *s = t->tiles;
    const struct wcodec_field *f = &s->tiling->fields[s->tiling->coded[coded]];
    const struct wcodec_stream *stream = &s->streams[t->number * s->tiling->coded_count + coded];
    const uint8_t *positions = wcodec_view_at(
        t->view, WCODEC_AREA_POSITIONS, s->area_begin[WCODEC_AREA_POSITIONS] + 2 * stream->outlier);
    const uint8_t *values = wcodec_view_at(t->view, WCODEC_AREA_VALUES,
                                           s->area_begin[WCODEC_AREA_VALUES] + stream->outlier);
    const uint64_t mask = ((1ull << f->width) - 1) << f->shift;
    uint32_t least = 0;
    for (uint32_t i = 0; i < stream->outliers; i++) {
        const uint32_t position = wcodec_load_u16(positions + 2 * (size_t)i);
        if (position < least || position >= t->elements || values[i] >> f->width) {
            note(fault, WCODEC_TILE_OUTLIER);
            return;
        }
        uint8_t *p = t->out + (size_t)position * t->size;
        wcodec_store_uint(
            p, (wcodec_load_uint(p, t->size) & ~mask) | (uint64_t)values[i] << f->shift, t->size);
        least = position + 1;
    }
}

enum wcodec_tile_fault wcodec_tile_decode(const struct wcodec_tiles *tiles,
                                          const struct wcodec_view *view, uint64_t tile, void *out,
                                          bool verify)
{
    WCODEC_ASSERT(tile < tiles->tiling->tiles);
    WCODEC_ASSERT(out != NULL);
    const struct wcodec_tiling *tiling = tiles->tiling;
    struct tile t = {
        tiles, view, tile, wcodec_tile_elements(tiling, tile), 1u << tiling->element_log2,
        out,   {0}};
    const unsigned mode = tiles->streams[tile * tiling->coded_count].mode;
    enum wcodec_tile_fault fault = WCODEC_TILE_OK;
    if (mode == WCODEC_STREAM_STORED) {
        memcpy(out, wcodec_view_at(view, WCODEC_AREA_RAW, tiles->raw[tile]),
               (size_t)t.elements * t.size);
    } else {
        for (uint32_t i = 0; i < t.elements; i++)
            wcodec_store_uint(t.out + (size_t)i * t.size, tiling->constant_bits, t.size);
        for (unsigned c = 0; c < tiling->coded_count; c++)
            decode_stream(&t, c, &fault);
        if (fault)
            return fault;
        decode_raw(&t, wcodec_tile_has_payload(tiling, mode));
        for (unsigned c = 0; c < tiling->coded_count; c++)
            patch_outliers(&t, c, &fault);
        if (fault)
            return fault;
        for (uint32_t i = 0; i < t.elements; i++) {
            uint8_t *p = t.out + (size_t)i * t.size;
            wcodec_store_uint(p, wcodec_load_uint(p, t.size) - tiling->add, t.size);
        }
    }
    if (verify && wcodec_tile_check(out, t.elements, tiling->element_log2) != tiles->checks[tile])
        return WCODEC_TILE_CHECK;
    return WCODEC_TILE_OK;
}
