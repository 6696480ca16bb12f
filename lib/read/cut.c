/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "read/cut.h"
#include <string.h>

#define SMALL_PAYLOAD ((uint64_t)64 << 10)

/* Elements of a band where a lossy tensor has no blocks. */
enum { PLAIN_BAND = 4096 };

static void derive_blocks(const struct wcodec_entry *e, struct wcodec_layout *s)
{
    wcodec_entry_blocks(e, &s->blocks, &s->tiling);
    s->in_blocks = true;
    s->element_log2 = s->blocks.element_log2;
    s->tiles_begin = wcodec_blocks_tiles_begin(&s->blocks);
    s->bands = (struct wcodec_bands){WCODEC_BLOCK_LOG2, s->blocks.across,
                                     wcodec_blocks_band_size(&s->blocks)};
}

static void derive_lossy(const struct wcodec_entry *e, struct wcodec_layout *s)
{
    wcodec_entry_lossy(e, &s->lossy, &s->tiling);
    s->is_lossy = true;
    s->element_log2 = s->lossy.element_log2;
    s->tiles_begin = wcodec_lossy_tiles_begin(&s->lossy);
    if (s->lossy.plain)
        s->bands = (struct wcodec_bands){0, PLAIN_BAND, (uint64_t)PLAIN_BAND << s->element_log2};
    else
        s->bands = (struct wcodec_bands){WCODEC_SUPERBLOCK_LOG2, s->lossy.across,
                                         wcodec_lossy_band_size(&s->lossy)};
}

static void derive_fixed(const struct wcodec_entry *e, struct wcodec_layout *s)
{
    struct wcodec_fixed *f = &s->fixed;
    wcodec_entry_fixed(e, f);
    s->is_fixed = true;
    s->element_log2 = 1;
    s->tiling = (struct wcodec_tiling){
        .element_log2 = 1, .prefix_size = f->tiles_begin, .size = f->size, .tiles = f->tiles};
    s->bands = (struct wcodec_bands){0, f->across, wcodec_fixed_band_size(f)};
}

/* Bands have the same bytes in the sequence as in the tensor. */
static void derive_fragments(const struct wcodec_entry *e, struct wcodec_layout *s)
{
    wcodec_entry_fragments(e, &s->fragments, &s->tiling);
    s->in_fragments = true;
    s->element_log2 = s->fragments.element_log2;
    s->bands = (struct wcodec_bands){0, wcodec_fragments_band(&s->fragments),
                                     wcodec_fragments_band_size(&s->fragments)};
}

void wcodec_layout_derive(const struct wcodec_entry *e, struct wcodec_layout *s)
{
    *s = (struct wcodec_layout){0};
    if (e->coding == WCODEC_CODING_BLOCKS) {
        derive_blocks(e, s);
    } else if (e->coding == WCODEC_CODING_LOSSY) {
        derive_lossy(e, s);
    } else if (e->coding == WCODEC_CODING_FIXED) {
        derive_fixed(e, s);
    } else if (e->coding == WCODEC_CODING_FRAGMENTS) {
        derive_fragments(e, s);
    } else {
        wcodec_entry_tiling(e, &s->tiling);
        s->element_log2 = s->tiling.element_log2;
        s->bands = (struct wcodec_bands){
            s->tiling.tile_log2, 1, (uint64_t)1 << (s->tiling.tile_log2 + s->tiling.element_log2)};
    }
}

uint32_t wcodec_layout_needs(const struct wcodec_layout *s)
{
    return s->in_blocks      ? WCODEC_DEVICE_BLOCKS
           : s->is_lossy     ? WCODEC_DEVICE_LOSSY
           : s->is_fixed     ? WCODEC_DEVICE_FIXED
           : s->in_fragments ? WCODEC_DEVICE_FRAGMENTS
                             : 0;
}

wcodec_status wcodec_layout_check_side(const struct wcodec_layout *s, const uint8_t *side,
                                       wcodec_error *err)
{
    if (s->in_blocks)
        return wcodec_blocks_check_modes(&s->blocks, side, err);
    if (s->is_fixed)
        return wcodec_fixed_check_front(&s->fixed, side, err);
    return s->is_lossy ? wcodec_lossy_check_side(&s->lossy, side, err) : WCODEC_OK;
}

wcodec_status wcodec_layout_parse(const struct wcodec_layout *s, const uint8_t *front,
                                  uint64_t payload_size, const wcodec_allocator *allocator,
                                  struct wcodec_tiles **tiles, wcodec_error *err)
{
    wcodec_status status = wcodec_layout_check_side(s, front, err);
    if (status != WCODEC_OK)
        return status;
    if (!s->is_fixed)
        return wcodec_tiles_read(&s->tiling, front + s->tiles_begin, payload_size - s->tiles_begin,
                                 allocator, tiles, err);
    *tiles = NULL;
    return WCODEC_OK;
}

uint64_t wcodec_layout_place(const struct wcodec_layout *s, const struct wcodec_tiles *tiles,
                             uint64_t first, uint64_t count, uint64_t at,
                             struct wcodec_area_place places[WCODEC_AREAS])
{
    struct wcodec_job job = {.fixed = &s->fixed, .first = first, .count = count};
    if (!s->is_fixed)
        return wcodec_lay_out_areas(tiles, first, count, at, places);
    wcodec_fixed_place_records(&job);
    memcpy(places, job.places, sizeof job.places);
    places[WCODEC_AREA_VALUES].begin = s->fixed.spilled_begin;
    places[WCODEC_AREA_VALUES].size = 4 * s->fixed.spilled;
    return wcodec_lay_out_places(at, places);
}

void wcodec_bands_find(const struct wcodec_bands *b, uint64_t begin, uint64_t end, uint64_t *first,
                       uint64_t *stop)
{
    *first = begin / b->size;
    *stop = (end - 1) / b->size + 1;
}

void wcodec_bands_tiles(const struct wcodec_bands *b, const struct wcodec_tiling *tiling,
                        uint64_t first, uint64_t stop, uint64_t *tile, uint64_t *end)
{
    const unsigned log2 = tiling->tile_log2 - b->unit_log2;
    *tile = first * b->units >> log2;
    *end = wcodec_div_up_u64(stop * b->units, (uint64_t)1 << log2);
    if (*end > tiling->tiles)
        *end = tiling->tiles;
}

struct wcodec_job wcodec_layout_job(const struct wcodec_layout *s, const struct wcodec_tiles *tiles,
                                    const uint8_t *side, uint64_t first, uint64_t stop,
                                    uint64_t begin, uint64_t end)
{
    return (struct wcodec_job){.tiles = tiles,
                               .blocks = s->in_blocks ? &s->blocks : NULL,
                               .lossy = s->is_lossy ? &s->lossy : NULL,
                               .fixed = s->is_fixed ? &s->fixed : NULL,
                               .fragments = s->in_fragments ? &s->fragments : NULL,
                               .modes = side,
                               .begin = begin,
                               .end = end,
                               .first = first,
                               .count = stop - first};
}

bool wcodec_read_whole(const struct wcodec_entry *e, bool whole, uint64_t most)
{
    return e->payload_size <= SMALL_PAYLOAD || (whole && e->payload_size <= most);
}

static bool fits(const struct wcodec_bands *bands, const struct wcodec_tiles *tiles,
                 const struct wcodec_cut *limits, uint64_t first, uint64_t stop)
{
    struct wcodec_area_place places[WCODEC_AREAS];
    uint64_t tile, end;
    wcodec_bands_tiles(bands, tiles->tiling, first, stop, &tile, &end);
    return (stop - first) * bands->size <= limits->decoded &&
           wcodec_lay_out_areas(tiles, tile, end - tile, 0, places) <= limits->coded;
}

uint64_t wcodec_cut_end(const struct wcodec_bands *bands, const struct wcodec_tiles *tiles,
                        const struct wcodec_cut *limits, uint64_t first, uint64_t stop)
{
    uint64_t low = first + 1, high = stop;
    while (low < high) {
        const uint64_t middle = high - (high - low) / 2;
        if (fits(bands, tiles, limits, first, middle))
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

uint64_t wcodec_layout_cut_end(const struct wcodec_layout *s, const struct wcodec_tiles *tiles,
                               const struct wcodec_cut *limits, uint64_t first, uint64_t stop)
{
    if (!s->is_fixed)
        return wcodec_cut_end(&s->bands, tiles, limits, first, stop);
    /* Areas begin at multiples of 256 bytes. */
    const uint64_t spilled = 4 * s->fixed.spilled + 512,
                   coded = limits->coded > spilled ? limits->coded - spilled : 0,
                   by_coded = coded / (s->fixed.across * s->fixed.record_size),
                   by_decoded = limits->decoded / s->bands.size,
                   most = by_coded < by_decoded ? by_coded : by_decoded;
    return most >= stop - first ? stop : first + (most > 0 ? most : 1);
}
