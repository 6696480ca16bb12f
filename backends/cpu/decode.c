/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The driver of the three stages: takes tiles side by side through their chunks, and looks after
 * what is not the same for all of their elements: the payload in the final states, the last group,
 * stores past the caches. */
#include "backends/cpu/streams.h"

#include "backends/cpu/last_row.h"
#include "core/assert.h"

enum {
    /* Bytes of elements that wait to be stored past the caches: a chunk of each of four tiles, but
     * not of 64-bit elements, or a stretch of 16-bit elements of each. */
    READY = 4 * STRETCH * 256
};

/* In place of rows that are known from the final states only. */
static const uint8_t no_row[4 * WCODEC_LANES];

static void begin_tile(const struct request *r, uint64_t number, uint8_t *out, struct lane_tile *t)
{
    const struct wcodec_cpu_decoder *d = r->decoder;
    const struct wcodec_tiling *tiling = d->tiles->tiling;
    t->request = r;
    t->number = number;
    t->elements = wcodec_tile_elements(tiling, number);
    t->groups = (t->elements + WCODEC_GROUP - 1) / WCODEC_GROUP;
    t->out = out;
    t->stream = r->stream && d->dsp->finish_stream && ((uintptr_t)out & 63) == 0;
    t->ready = NULL;
    t->waiting = 0;
    t->fault = WCODEC_TILE_OK;
    memset(t->sums, 0, sizeof t->sums);
    const unsigned mode = d->tiles->streams[number * tiling->coded_count].mode;
    const uint8_t *raw = wcodec_view_at(r->view, WCODEC_AREA_RAW, d->tiles->raw[number]);
    t->raw[0] = raw;
    for (unsigned p = 0; p < tiling->plane_count; p++) {
        t->raw[p] = raw;
        size_t size = (size_t)wcodec_plane_rows(&tiling->planes[p], t->elements) * 4 * WCODEC_LANES;
        if (p == 0 && wcodec_tile_has_payload(tiling, mode))
            size -= (size_t)(tiling->planes[0].bits == 4 && t->groups % 2 ? 4u : 2u) * WCODEC_LANES;
        raw += size;
    }
}

/* Rows of the last chunk in one piece, completed by the payload and by zeros. buffer: 64 rows. */
static void last_rows(const struct wcodec_tiling *tiling, const struct lane_tile *t, uint32_t group,
                      const uint8_t *rows[WCODEC_MAX_PLANES], uint8_t *buffer)
{
    const size_t row_size = 4 * WCODEC_LANES;
    for (unsigned p = 0; p < tiling->plane_count; p++) {
        const struct wcodec_plane *plane = &tiling->planes[p];
        const uint32_t first = group * plane->bits / 8, end = wcodec_plane_rows(plane, t->elements),
                       whole = end - (p == 0);
        if (whole > first)
            memcpy(buffer, rows[p], (whole - first) * row_size);
        memset(buffer + (whole - first) * row_size, 0, (plane->bits - (whole - first)) * row_size);
        if (p == 0)
            wcodec_join_last_row(tiling, t->groups, t->payload,
                                 rows[p] + (whole - first) * row_size,
                                 buffer + (whole - first) * row_size);
        rows[p] = buffer;
        buffer += plane->bits * row_size;
    }
}

/* Rows of a last chunk that is not whole, completed by zeros. buffer: 64 rows. */
static void pad_rows(const struct wcodec_tiling *tiling, const struct lane_tile *t, uint32_t group,
                     const uint8_t *rows[WCODEC_MAX_PLANES], uint8_t *buffer)
{
    const size_t row_size = 4 * WCODEC_LANES;
    for (unsigned p = 0; p < tiling->plane_count; p++) {
        const struct wcodec_plane *plane = &tiling->planes[p];
        const size_t stored = wcodec_plane_rows(plane, t->elements) - group * plane->bits / 8;
        memset(buffer, 0, plane->bits * row_size);
        memcpy(buffer, rows[p], stored * row_size);
        rows[p] = buffer;
        buffer += plane->bits * row_size;
    }
}

static void rows_of_chunk(const struct wcodec_tiling *tiling, const struct lane_tile *t,
                          uint32_t group, const uint8_t *rows[WCODEC_MAX_PLANES])
{
    for (unsigned p = 0; p < tiling->plane_count; p++)
        rows[p] = t->raw[p] + (size_t)(group * tiling->planes[p].bits / 8) * 4 * WCODEC_LANES;
}

/* A plane's part of one element of each of a group's lanes. */
static void add_plane(const struct wcodec_tiling *tiling, unsigned p, const uint8_t *rows,
                      uint32_t element, uint64_t e[WCODEC_LANES])
{
    const struct wcodec_plane *plane = &tiling->planes[p];
    const struct wcodec_placing at = wcodec_place_element(tiling, plane, element);
    const uint8_t *row = rows + 4 * (size_t)at.row * WCODEC_LANES;
    for (unsigned lane = 0; lane < WCODEC_LANES; lane++)
        e[lane] |= wcodec_scatter_plane(tiling, plane,
                                        wcodec_placed_value(plane, wcodec_slot_bits(tiling), &at,
                                                            wcodec_load_u32(row + 4 * lane)));
}

/* One chunk's elements where planes are not in position. */
static void assemble_slowly(const struct wcodec_cpu_decoder *d, const uint8_t *values,
                            const uint8_t *const rows[WCODEC_MAX_PLANES], unsigned groups,
                            uint8_t *elements)
{
    const struct wcodec_tiling *tiling = d->tiles->tiling;
    const unsigned size = 1u << tiling->element_log2;
    for (uint32_t first = 0; first < groups * WCODEC_GROUP; first += WCODEC_GROUP)
        for (unsigned position = 0; position < 4; position++) {
            uint64_t e[WCODEC_LANES];
            for (unsigned lane = 0; lane < WCODEC_LANES; lane++)
                e[lane] = tiling->constant_bits;
            for (unsigned c = 0; c < tiling->coded_count; c++) {
                const uint8_t *symbols = values + (size_t)c * WCODEC_CPU_CHUNK + first + position;
                for (unsigned lane = 0, shift = tiling->fields[tiling->coded[c]].shift;
                     lane < WCODEC_LANES; lane++)
                    e[lane] |= (uint64_t)symbols[4 * lane] << shift;
            }
            for (unsigned p = 0; p < tiling->plane_count; p++)
                add_plane(tiling, p, rows[p], first + position, e);
            uint8_t *out = elements + (size_t)(first + position) * size;
            for (unsigned lane = 0; lane < WCODEC_LANES; lane++)
                if (size == 8)
                    wcodec_store_u64(out + 32 * lane, e[lane] - tiling->add);
                else
                    wcodec_store_uint(out + 4 * (size_t)lane * size, e[lane] - tiling->add, size);
        }
}

/* Of what waits and ends before `group`, all but the first `keep` bytes. */
static void store_waiting(struct lane_tile *t, uint32_t group, size_t keep)
{
    const unsigned log2 = tiling_of(t)->element_log2;
    if (t->waiting <= keep)
        return;
    const size_t end = ((size_t)group * WCODEC_GROUP) << log2, more = t->waiting - keep;
    decoder_of(t)->dsp->finish_stream(log2, t->next + keep, (unsigned)(more / WCODEC_GROUP >> log2),
                                      0, t->out + end - more, NULL);
    t->waiting = keep;
}

/* Stages two and three for one chunk of one tile, whose first stream is `first`. */
static void put_chunk(struct lane_tile *t, const struct track *first, uint32_t group,
                      unsigned groups)
{
    const struct wcodec_cpu_decoder *d = decoder_of(t);
    const struct wcodec_tiling *tiling = d->tiles->tiling;
    const bool verify = t->request->verify;
    const unsigned size = 1u << tiling->element_log2;
    const size_t at = (size_t)group * WCODEC_GROUP * size, left = (size_t)t->elements * size - at,
                 whole = (size_t)groups * WCODEC_GROUP * size;
    _Alignas(64) uint8_t elements[8 * WCODEC_CPU_CHUNK], buffer[64 * 4 * WCODEC_LANES];
    const uint8_t *rows[WCODEC_MAX_PLANES];
    rows_of_chunk(tiling, t, group, rows);
    if (group + groups == t->groups && tiling->plane_count > 0) {
        if (wcodec_tile_has_payload(tiling, first->stream->mode))
            last_rows(tiling, t, group, rows, buffer);
        else if (groups < WCODEC_CPU_CHUNK_GROUPS)
            pad_rows(tiling, t, group, rows, buffer);
    }
    /* Elements go to their destination at once, except those that bypass the caches and the last
     * ones that are no whole groups. */
    const bool direct = !t->stream && left >= whole && groups == WCODEC_CPU_CHUNK_GROUPS,
               wait = t->ready && group + groups < t->groups;
    uint8_t *const to = direct ? t->out + at : wait ? t->ready : elements;
    store_waiting(t, group, 0);
    if (d->direct)
        d->dsp->assemble[d->shape](&d->assembly, first->symbols, rows, to);
    else
        assemble_slowly(d, first->symbols, rows, groups, to);
    if (left >= whole) {
        const wcodec_cpu_finish_fn finish = t->stream ? d->dsp->finish_stream : d->dsp->finish;
        finish(tiling->element_log2, to, groups, group, direct || wait ? NULL : t->out + at,
               verify ? t->sums : NULL);
        t->waiting = wait ? whole : 0;
        t->next = to;
        return;
    }
    memset(elements + left, 0, whole - left);
    if (verify)
        d->dsp->finish(tiling->element_log2, elements, groups, group, NULL, t->sums);
    memcpy(t->out + at, elements, left);
}

/* Where a tile's stream goes on is prefetched as far ahead as the tile that comes after those side
 * by side, if there is one. */
static void look_ahead(const struct lane_tile *t, unsigned count, struct wcodec_cpu_stream *s)
{
    const struct wcodec_tiles *tiles = decoder_of(t)->tiles;
    const uint64_t next = t->number + count;
    s->raw_ahead = s->words_ahead = WCODEC_CPU_PREFETCH;
    if (next >= t->request->end || tiles->streams[next].mode != WCODEC_STREAM_RANS)
        return;
    s->raw_ahead = (size_t)(tiles->raw[next] - tiles->raw[t->number]);
    s->words_ahead = (size_t)(tiles->streams[next].word - tiles->streams[t->number].word);
}

/* Groups before the last row of the first plane, whose bits are not all in the row. */
static uint32_t rows_end(const struct wcodec_tiling *tiling, const struct lane_tile *t)
{
    return tiling->planes[0].bits == 4 ? (t->groups - 1) / 2 * 2 : t->groups - 1;
}

/* All stages at once for a stretch of the one stream of each of `count` tiles. */
static void decode_stretch(struct track *tracks, struct wcodec_cpu_stream *streams, unsigned count,
                           uint32_t group, unsigned groups)
{
    const struct wcodec_tiling *tiling = tiling_of(tracks[0].tile);
    const unsigned row_size = row_bytes(tiling), out_size = out_bytes(tiling);
    const uint8_t *base[WCODEC_CPU_TILES];
    uint8_t *elements[WCODEC_CPU_TILES];
    for (unsigned i = 0; i < count; i++) {
        struct lane_tile *t = tracks[i].tile;
        struct wcodec_cpu_stream *s = &streams[i];
        s->ready_bytes = t->waiting > 0 ? out_size : 0;
        s->ready = t->next;
        s->pass_to = t->out + (size_t)group * out_size - t->waiting;
        s->past = t->stream && !t->ready;
        s->positions = tracks[i].positions + 2 * (size_t)tracks[i].outlier;
        s->outliers = tracks[i].stream->outliers - tracks[i].outlier;
        s->rows_end = rows_end(tiling, t) - group;
        s->raw_last = no_row;
        store_waiting(t, group, (size_t)groups * out_size);
        base[i] = s->words = wcodec_cpu_stream_words(&tracks[i], groups);
        s->raw = t->raw[0] + (size_t)group * row_size;
        s->elements = elements[i] = t->ready ? t->ready : t->out + (size_t)group * out_size;
        s->sums = t->sums;
        s->group = group;
        s->assembly = &decoder_of(t)->assembly;
        look_ahead(t, count, s);
    }
    decoder_of(tracks[0].tile)->straight(streams, count, groups);
    for (unsigned i = 0; i < count; i++) {
        struct lane_tile *t = tracks[i].tile;
        tracks[i].used += (uint32_t)((streams[i].words - base[i]) / 2);
        wcodec_cpu_stream_patch(&tracks[i], group * WCODEC_GROUP, (group + groups) * WCODEC_GROUP,
                                elements[i]);
        t->waiting = t->ready ? (size_t)groups * out_size : 0;
        t->next = t->ready;
        streams[i].rows = streams[i].raw + (size_t)groups * row_size;
        streams[i].out = t->out + (size_t)(group + groups) * out_size;
    }
}

/* Whether stretches make all elements of these tiles. */
static bool makes_all(const struct wcodec_cpu_decoder *d, const struct lane_tile *tiles,
                      const struct track *tracks, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        if (tracks[i].stream->mode != WCODEC_STREAM_RANS || tiles[i].elements % WCODEC_GROUP != 0)
            return false;
    return d->straight != NULL && d->whole;
}

/* Groups from the first on that stretches take, if not all: those that have their rows. */
static uint32_t stretched(const struct wcodec_cpu_decoder *d, const struct lane_tile *tiles,
                          const struct track *tracks, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        if (tracks[i].stream->mode != WCODEC_STREAM_RANS ||
            (tiles[i].stream && (tiles[i].ready == NULL || d->whole)))
            return 0;
    return d->straight ? rows_end(d->tiles->tiling, tiles) : 0;
}

/* How many of `left` groups go at once: all where nothing waits and no words are copied. */
static unsigned stretch(const struct lane_tile *tiles, const struct track *tracks, unsigned count,
                        uint32_t left)
{
    const size_t most = (size_t)left * WCODEC_GROUP + WCODEC_CPU_WORDS_OVERREAD;
    for (unsigned i = 0; i < count && left > STRETCH; i++)
        if (tiles[i].ready || (size_t)(tiles[i].request->words_end - tracks[i].words) <
                                  2 * (size_t)tracks[i].used + most)
            return STRETCH;
    return left;
}

/* What only the final states say of elements that stretches made. */
static void add_last_row(struct lane_tile *t)
{
    const struct wcodec_tiling *tiling = tiling_of(t);
    const uint32_t mask = decoder_of(t)->assembly.plane_mask[0], first = rows_end(tiling, t);
    const size_t size = out_bytes(tiling);
    uint8_t row[4 * WCODEC_LANES];
    wcodec_join_last_row(tiling, t->groups, t->payload,
                         t->raw[0] + (size_t)first * row_bytes(tiling), row);
    for (uint32_t g = first; g < t->groups; g++)
        if (tiling->element_log2 == 1)
            wcodec_add_last_halves(mask, g, row, t->out + g * size, t->sums);
        else
            wcodec_add_last_bytes(mask, g, row, t->out + g * size, t->sums);
}

/* `count` tiles that are alike side by side: STREAMS streams at most. */
static void decode_together(struct lane_tile *tiles, unsigned count)
{
    const struct wcodec_cpu_decoder *d = decoder_of(&tiles[0]);
    const unsigned streams_per_tile = d->tiles->tiling->coded_count,
                   stream_count = count * streams_per_tile;
    WCODEC_ASSERT(count > 0 && count <= WCODEC_CPU_TILES && stream_count <= STREAMS);
    struct track tracks[STREAMS];
    struct wcodec_cpu_stream streams[STREAMS];
    _Alignas(64) uint8_t symbols[STREAMS][WCODEC_CPU_CHUNK];
    uint8_t ends[STREAMS][WORDS_CAPACITY];
    _Alignas(64) uint8_t ready[READY];
    const size_t chunk = (size_t)(d->straight ? STRETCH * WCODEC_GROUP : WCODEC_CPU_CHUNK)
                         << d->tiles->tiling->element_log2;
    /* Field by field, so that streams with the same tables go side by side. */
    for (unsigned i = 0; i < stream_count; i++) {
        const unsigned tile = i % count, coded = i / count;
        tracks[i].symbols = symbols[tile * streams_per_tile + coded];
        tracks[i].end = ends[i];
        wcodec_cpu_stream_begin(&tiles[tile], coded, &tracks[i], &streams[i]);
    }
    const bool all = makes_all(d, tiles, tracks, count);
    for (unsigned i = 0; !all && i < count && count * chunk <= READY; i++)
        tiles[i].ready = tiles[i].stream ? ready + i * chunk : NULL;
    uint32_t group = 0;
    for (const uint32_t end = all ? tiles->groups : stretched(d, tiles, tracks, count);
         group < end;) {
        const unsigned groups = stretch(tiles, tracks, count, end - group);
        decode_stretch(tracks, streams, count, group, groups);
        group += groups;
    }
    for (unsigned i = 0; all && i < count; i++) {
        wcodec_cpu_stream_end(&tracks[i], &streams[i]);
        add_last_row(&tiles[i]);
    }
    for (; group < tiles->groups; group += WCODEC_CPU_CHUNK_GROUPS) {
        const uint32_t left = tiles->groups - group;
        const unsigned groups = left < WCODEC_CPU_CHUNK_GROUPS ? left : WCODEC_CPU_CHUNK_GROUPS;
        wcodec_cpu_streams_decode(tracks, streams, stream_count, group, groups);
        if (left == groups)
            for (unsigned i = 0; i < stream_count; i++)
                wcodec_cpu_stream_end(&tracks[i], &streams[i]);
        for (unsigned i = 0; i < count; i++)
            put_chunk(&tiles[i], &tracks[i], group, groups);
    }
    for (unsigned i = 0; i < count; i++)
        if (tiles[i].request->verify && tiles[i].fault == WCODEC_TILE_OK &&
            d->dsp->check(tiles[i].sums) != decoder_of(&tiles[i])->tiles->checks[tiles[i].number])
            tiles[i].fault = WCODEC_TILE_CHECK;
}

static bool is_whole(const struct wcodec_tiles *tiles, uint64_t tile)
{
    const struct wcodec_tiling *tiling = tiles->tiling;
    return tiles->streams[tile * tiling->coded_count].mode != WCODEC_STREAM_STORED &&
           wcodec_tile_elements(tiling, tile) == 1u << tiling->tile_log2;
}

static struct request request_of(const struct wcodec_cpu_decoder *d, const struct wcodec_view *view,
                                 uint64_t first, unsigned count)
{
    uint64_t begin[WCODEC_AREAS], stop[WCODEC_AREAS];
    wcodec_tiles_extent(d->tiles, first, first + count, begin, stop);
    return (struct request){.decoder = d,
                            .view = view,
                            .words_end =
                                wcodec_view_at(view, WCODEC_AREA_WORDS, stop[WCODEC_AREA_WORDS]),
                            .end = first + count};
}

/* How many tiles of this form go side by side. */
static unsigned most_together(const struct wcodec_cpu_decoder *d)
{
    const struct wcodec_tiling *tiling = d->tiles->tiling;
    const unsigned best = d->dsp->tiles[tiling->fields[tiling->coded[0]].profile],
                   limit = STREAMS / tiling->coded_count;
    return best < limit ? best : limit;
}

void wcodec_cpu_decode_tiles(const struct wcodec_cpu_decoder *d, const struct wcodec_view *view,
                             uint64_t first, unsigned count, uint8_t *out, bool verify, bool stream,
                             enum wcodec_tile_fault *faults)
{
    const struct wcodec_tiling *tiling = d->tiles->tiling;
    const size_t tile_size = (size_t)1 << tiling->tile_log2 << tiling->element_log2;
    WCODEC_ASSERT(first + count <= tiling->tiles);
    const unsigned most = most_together(d);
    struct request request = request_of(d, view, first, count);
    request.verify = verify;
    request.stream = stream;
    for (unsigned i = 0; i < count;) {
        struct lane_tile tiles[WCODEC_CPU_TILES];
        unsigned together = 0;
        while (i + together < count && together < most &&
               is_whole(d->tiles, first + i + together)) {
            begin_tile(&request, first + i + together, out + (i + together) * tile_size,
                       &tiles[together]);
            together++;
        }
        if (together == 0) {
            if (d->tiles->streams[(first + i) * tiling->coded_count].mode == WCODEC_STREAM_STORED) {
                faults[i] =
                    wcodec_tile_decode(d->tiles, view, first + i, out + i * tile_size, verify);
                i++;
                continue;
            }
            begin_tile(&request, first + i, out + i * tile_size, &tiles[0]);
            together = 1;
        }
        decode_together(tiles, together);
        for (unsigned k = 0; k < together; k++)
            faults[i + k] = tiles[k].fault;
        i += together;
    }
    if (stream && d->dsp->stream_end)
        d->dsp->stream_end();
}

static bool is_stored(const struct wcodec_cpu_tile *t)
{
    const struct wcodec_tiles *s = t->decoder->tiles;
    return s->streams[t->number * s->tiling->coded_count].mode == WCODEC_STREAM_STORED;
}

/* Equal for tiles whose streams can go side by side: the same steps lead to as many groups. */
static uint64_t kind_of(const struct wcodec_cpu_tile *t)
{
    const struct wcodec_tiling *s = t->decoder->tiles->tiling;
    const uint64_t groups = wcodec_div_up_u64(wcodec_tile_elements(s, t->number), WCODEC_GROUP);
    return groups << 32 | row_bytes(s) << 12 | (uint64_t)s->element_log2 << 8 |
           (uint64_t)s->coded_count << 4 | s->fields[s->coded[0]].profile;
}

/* What makes elements takes the places of all streams' bits from the first one. */
static bool same_functions(const struct wcodec_cpu_decoder *d, const struct wcodec_cpu_decoder *e)
{
    const struct wcodec_cpu_assembly *a = &d->assembly, *b = &e->assembly;
    return d->straight == e->straight && d->ranks_serve == e->ranks_serve &&
           (d->straight == NULL || (a->plane_mask[0] == b->plane_mask[0] &&
                                    a->shift[0] == b->shift[0] && a->add == b->add));
}

/* Of tiles [first, count), the first one and those that can go beside it, as many as go together.
 * Their kinds become 0. */
static void decode_alike(struct wcodec_cpu_tile *tiles, uint64_t *kinds, unsigned first,
                         unsigned count)
{
    const struct wcodec_cpu_decoder *d = tiles[first].decoder;
    const struct wcodec_tiling *tiling = d->tiles->tiling;
    const unsigned most = most_together(d);
    struct request requests[WCODEC_CPU_TILES];
    struct lane_tile lanes[WCODEC_CPU_TILES];
    unsigned together = 0, numbers[WCODEC_CPU_TILES];
    const uint64_t kind = kinds[first];
    for (unsigned i = first; i < count && together < most; i++) {
        const struct wcodec_cpu_tile *t = &tiles[i];
        if (kinds[i] != kind || !same_functions(t->decoder, d))
            continue;
        WCODEC_ASSERT(t->decoder->dsp == d->dsp);
        WCODEC_ASSERT(t->decoder->tiles->tiling->element_log2 == tiling->element_log2);
        requests[together] = request_of(t->decoder, t->view, t->number, 1);
        requests[together].verify = t->verify;
        begin_tile(&requests[together], t->number, t->out, &lanes[together]);
        kinds[i] = 0;
        numbers[together++] = i;
    }
    decode_together(lanes, together);
    for (unsigned i = 0; i < together; i++)
        tiles[numbers[i]].fault = lanes[i].fault;
}

void wcodec_cpu_decode_each(struct wcodec_cpu_tile *tiles, unsigned count)
{
    uint64_t kinds[WCODEC_CPU_EACH];
    WCODEC_ASSERT(count <= WCODEC_CPU_EACH);
    for (unsigned i = 0; i < count; i++)
        kinds[i] = is_stored(&tiles[i]) ? 0 : kind_of(&tiles[i]);
    for (unsigned i = 0; i < count; i++) {
        struct wcodec_cpu_tile *t = &tiles[i];
        if (is_stored(t))
            t->fault = wcodec_tile_decode(t->decoder->tiles, t->view, t->number, t->out, t->verify);
        else if (kinds[i] != 0)
            decode_alike(tiles, kinds, i, count);
    }
}

bool wcodec_cpu_note_faults(_Atomic uint64_t *failed, uint64_t first, unsigned count,
                            const enum wcodec_tile_fault *faults)
{
    unsigned i = 0;
    while (i < count && faults[i] == WCODEC_TILE_OK)
        i++;
    if (i == count)
        return false;
    uint64_t mine = (first + i) << 3 | (uint64_t)faults[i], least = atomic_load(failed);
    while (mine < least && !atomic_compare_exchange_weak(failed, &least, mine))
        continue;
    return true;
}
