/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "backends/cpu/streams.h"

#include "coding/check_key.h"
#include "core/assert.h"

static void note(struct lane_tile *t, enum wcodec_tile_fault fault)
{
    if (t->fault == WCODEC_TILE_OK || fault < t->fault)
        t->fault = fault;
}

/* The table of group `group`, as wcodec_run_table() finds it. */
static const struct wcodec_cpu_table *table_of(const struct track *k, uint32_t group)
{
    if (k->runs == NULL)
        return &k->tables[k->stream->table];
    const uint32_t bit = (group >> (k->field->run_log2 - WCODEC_GROUP_LOG2)) * k->run_bits;
    return &k->tables[(unsigned)k->runs[bit / 8] >> (bit % 8) & ((1u << k->run_bits) - 1)];
}

void wcodec_cpu_stream_begin(struct lane_tile *t, unsigned coded, struct track *k,
                             struct wcodec_cpu_stream *s)
{
    const struct wcodec_cpu_decoder *d = decoder_of(t);
    const struct wcodec_view *view = t->request->view;
    const struct wcodec_tiles *tiles = d->tiles;
    k->tile = t;
    k->coded = coded;
    k->field = &tiles->tiling->fields[tiles->tiling->coded[coded]];
    k->stream = &tiles->streams[t->number * tiles->tiling->coded_count + coded];
    k->positions =
        wcodec_view_at(view, WCODEC_AREA_POSITIONS,
                       tiles->area_begin[WCODEC_AREA_POSITIONS] + 2 * k->stream->outlier);
    k->values = wcodec_view_at(view, WCODEC_AREA_VALUES,
                               tiles->area_begin[WCODEC_AREA_VALUES] + k->stream->outlier);
    k->used = k->outlier = k->least = 0;
    if (k->stream->mode != WCODEC_STREAM_RANS)
        return;
    k->tables = &d->tables[tiles->table_base[coded]];
    k->runs = k->field->run_log2 ? tiles->runs[coded] +
                                       t->number * wcodec_run_bytes_of_tile(tiles->tiling, k->field)
                                 : NULL;
    k->run_bits = wcodec_run_index_bits(k->field->tables);
    k->words = wcodec_view_at(view, WCODEC_AREA_WORDS, k->stream->word);
    s->table = table_of(k, 0);
    s->rows = t->raw[0];
    s->row_bytes = coded == 0 ? row_bytes(tiles->tiling) : 0;
    s->out = t->out;
    s->out_bytes = coded == 0 && !t->stream ? out_bytes(tiles->tiling) : 0;
    const uint8_t *states = wcodec_view_at(view, WCODEC_AREA_STATES, k->stream->state);
    unsigned low = 0;
    for (unsigned lane = 0; lane < WCODEC_LANES; lane++) {
        s->x[lane] = wcodec_load_u32(states + 4 * lane);
        low |= s->x[lane] < 1u << 16;
    }
    if (low)
        note(t, WCODEC_TILE_STATE);
}

const uint8_t *wcodec_cpu_stream_words(const struct track *k, unsigned groups)
{
    const uint8_t *const words_end = k->tile->request->words_end;
    const uint32_t most = groups * WCODEC_GROUP / (k->field->profile == WCODEC_P12 ? 1 : 2);
    const uint32_t left = k->used < k->stream->words ? k->stream->words - k->used : 0,
                   copied = left < most ? left : most;
    const uint8_t *next = k->words + 2 * (size_t)(k->stream->words - left);
    if ((size_t)(words_end - next) >= 2 * (size_t)most + WCODEC_CPU_WORDS_OVERREAD)
        return next;
    memcpy(k->end, next, 2 * (size_t)copied);
    memset(k->end + 2 * (size_t)copied, 0, 2 * (size_t)(most - copied) + WCODEC_CPU_WORDS_OVERREAD);
    return k->end;
}

/* The symbol of an element that stands there, in its tile at `position`; the check's sums follow.
 */
static void patch_element(const struct wcodec_cpu_assembly *a, struct lane_tile *t,
                          uint32_t position, uint8_t value, uint8_t *element)
{
    const unsigned log2 = a->element_log2, bits = 8u << log2;
    const uint32_t all = (1u << bits) - 1, mask = a->plane_mask[0] & all,
                   old = (uint32_t)wcodec_load_uint(element, bits / 8),
                   new =
                       ((((old + a->add) & mask) | (uint32_t)value << a->shift[0]) - a->add) & all,
                   lane = position % WCODEC_GROUP / 4, bit = position % 4 * bits,
                   word = (position / WCODEC_GROUP << log2) + bit / 32;
    wcodec_store_uint(element, new, bits / 8);
    t->sums[lane] += (uint64_t)WCODEC_CHECK_KEY(word) *
                     (((uint64_t) new << bit % 32) - ((uint64_t)old << bit % 32));
}

void wcodec_cpu_stream_patch(struct track *k, uint32_t chunk_first, uint32_t chunk_end,
                             uint8_t *elements)
{
    const struct wcodec_cpu_assembly *a = &decoder_of(k->tile)->assembly;
    for (; k->outlier < k->stream->outliers; k->outlier++) {
        const uint32_t position = wcodec_load_u16(k->positions + 2 * (size_t)k->outlier);
        const uint8_t value = k->values[k->outlier];
        if (position < k->least || position >= k->tile->elements || value >> k->field->width) {
            note(k->tile, WCODEC_TILE_OUTLIER);
            k->outlier = k->stream->outliers;
            return;
        }
        if (position >= chunk_end)
            return;
        if (elements)
            patch_element(a, k->tile, position, value,
                          elements + ((size_t)(position - chunk_first) << a->element_log2));
        else
            k->symbols[position - chunk_first] = value;
        k->least = position + 1;
    }
}

static void fill_groups(uint8_t *symbols, uint8_t symbol, unsigned groups)
{
    for (; groups > 0; groups--, symbols += WCODEC_GROUP)
        memset(symbols, symbol, WCODEC_GROUP);
}

/* Runs of one symbol take no words and leave states as they are. The other streams, between those,
 * go side by side. */
static void decode_runs(const struct wcodec_cpu_dsp *dsp, struct wcodec_cpu_stream *streams,
                        unsigned count, unsigned profile, unsigned groups)
{
    unsigned i = 0;
    while (i < count) {
        if (streams[i].table->constant) {
            fill_groups(streams[i].symbols, streams[i].table->symbol[0], groups);
            streams[i].symbols += (size_t)groups * WCODEC_GROUP;
            i++;
            continue;
        }
        unsigned end = i + 1;
        while (end < count && !streams[end].table->constant)
            end++;
        dsp->symbols[profile](streams + i, end - i, groups);
        i = end;
    }
}

/* What waited is stored, up to there. */
static void passed_on(struct lane_tile *t, const uint8_t *up_to)
{
    t->waiting -= (size_t)(up_to - t->next);
    t->next = up_to;
}

/* The first stage for one chunk of `count` rANS streams of one profile and run length. */
static void decode_rans(struct track *tracks, struct wcodec_cpu_stream *streams, unsigned count,
                        uint32_t group, unsigned groups)
{
    const struct wcodec_tiling *tiling = tiling_of(tracks[0].tile);
    const struct wcodec_field *f = tracks[0].field;
    const unsigned run_groups = f->run_log2 ? 1u << (f->run_log2 - WCODEC_GROUP_LOG2) : groups,
                   step = run_groups < groups ? run_groups : groups;
    const unsigned row_size = row_bytes(tiling), out_size = out_bytes(tiling);
    const uint8_t *base[STREAMS];
    for (unsigned i = 0; i < count; i++) {
        const struct lane_tile *t = tracks[i].tile;
        base[i] = streams[i].words = wcodec_cpu_stream_words(&tracks[i], groups);
        streams[i].symbols = tracks[i].symbols;
        streams[i].ready_bytes = tracks[i].coded == 0 && t->waiting > 0 ? out_size : 0;
        if (streams[i].ready_bytes > 0) {
            streams[i].ready = t->next;
            streams[i].pass_to = t->out + (size_t)group * out_size - t->waiting;
        }
    }
    for (unsigned g = 0; g < groups; g += step) {
        for (unsigned i = 0; i < count && f->run_log2; i++)
            streams[i].table = table_of(&tracks[i], group + g);
        decode_runs(decoder_of(tracks[0].tile)->dsp, streams, count, f->profile,
                    groups - g < step ? groups - g : step);
        for (unsigned i = 0; i < count; i++) {
            streams[i].rows += (size_t)step * row_size;
            streams[i].out += (size_t)step * out_size;
        }
    }
    for (unsigned i = 0; i < count; i++) {
        tracks[i].used += (uint32_t)((streams[i].words - base[i]) / 2);
        if (streams[i].ready_bytes > 0)
            passed_on(tracks[i].tile, streams[i].ready);
    }
}

/* How many of the streams from the first on go side by side. */
static unsigned count_alike(const struct track *tracks, unsigned count)
{
    const struct wcodec_cpu_decoder *d = decoder_of(tracks[0].tile);
    const struct wcodec_field *f = tracks[0].field;
    unsigned alike = 1;
    WCODEC_ASSERT(d->dsp->tiles[f->profile] >= 1 && d->dsp->tiles[f->profile] <= WCODEC_CPU_TILES);
    while (alike < count && alike < d->dsp->tiles[f->profile] &&
           tracks[alike].stream->mode == WCODEC_STREAM_RANS &&
           tracks[alike].field->profile == f->profile &&
           tracks[alike].field->run_log2 == f->run_log2)
        alike++;
    return alike;
}

void wcodec_cpu_streams_decode(struct track *tracks, struct wcodec_cpu_stream *streams,
                               unsigned count, uint32_t group, unsigned groups)
{
    unsigned i = 0;
    while (i < count) {
        if (tracks[i].stream->mode != WCODEC_STREAM_RANS) {
            memset(tracks[i].symbols, tracks[i].stream->symbol, WCODEC_CPU_CHUNK);
            i++;
            continue;
        }
        const unsigned alike = count_alike(tracks + i, count - i);
        decode_rans(tracks + i, streams + i, alike, group, groups);
        i += alike;
    }
    for (i = 0; i < count; i++)
        wcodec_cpu_stream_patch(&tracks[i], group * WCODEC_GROUP, (group + groups) * WCODEC_GROUP,
                                NULL);
}

void wcodec_cpu_stream_end(const struct track *k, const struct wcodec_cpu_stream *s)
{
    struct lane_tile *t = k->tile;
    if (k->stream->mode != WCODEC_STREAM_RANS)
        return;
    const bool payload = k->coded == 0 && wcodec_tile_has_payload(tiling_of(t), WCODEC_STREAM_RANS);
    if (k->used != k->stream->words)
        note(t, WCODEC_TILE_WORDS);
    const uint32_t fixed = payload ? 0xffff0000u : 0xffffffffu;
    uint32_t differ = 0;
    for (unsigned lane = 0; lane < WCODEC_LANES; lane++)
        differ |= (s->x[lane] ^ 1u << 16) & fixed;
    if (differ)
        note(t, WCODEC_TILE_FINAL);
    for (unsigned lane = 0; payload && lane < WCODEC_LANES; lane++)
        t->payload[lane] = (uint16_t)s->x[lane];
}
