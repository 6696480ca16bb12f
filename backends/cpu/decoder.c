/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Which functions serve a tensor, and its tables in the forms that they want. */
#include "backends/cpu/decode.h"

#include "backends/cpu/cpu_level.h"
#include "core/assert.h"
#include "core/error.h"

void wcodec_cpu_dsp_init(struct wcodec_cpu_dsp *dsp, uint32_t levels)
{
    WCODEC_CPU_CLIMB(wcodec_cpu_dsp_init_, struct wcodec_cpu_dsp, dsp, levels);
    if (dsp->level == 0)
        wcodec_cpu_dsp_init_scalar_straight(dsp);
#ifdef HAVE_AVX2
    if (dsp->level == 2) {
        wcodec_cpu_dsp_init_avx2_abreast(dsp, levels);
        wcodec_cpu_dsp_init_avx2_gathered(dsp, levels);
        wcodec_cpu_dsp_init_avx2_straight(dsp, levels);
    }
#endif
#ifdef HAVE_AVX512
    if (dsp->level == 3) {
        wcodec_cpu_dsp_init_avx512_direct(dsp, levels);
        wcodec_cpu_dsp_init_avx512_staggered(dsp, levels);
    }
#endif
}

/* The table by ranks. A block's first slot has the rank of the last symbol that begins there or
 * before. */
static void prepare_ranks(const struct wcodec_table *t, struct wcodec_cpu_table *c)
{
    unsigned start = 0, bounds = 0, block = 0;
    c->ranks_bounds = UINT8_MAX;
    if (t->count > 16)
        return;
    c->ranks_bounds = 0;
    memset(c->rank_bounds, 15, sizeof c->rank_bounds);
    for (unsigned rank = 0; rank < t->count; rank++) {
        const unsigned symbol = t->order[rank];
        if (start / 16 != block)
            bounds = 0;
        block = start / 16;
        if (start % 16 && bounds < WCODEC_CPU_BOUNDS)
            c->rank_bounds[bounds][block] = (uint8_t)(start % 16 - 1);
        bounds += start % 16 != 0;
        c->ranks_bounds = (uint8_t)(bounds > c->ranks_bounds ? bounds : c->ranks_bounds);
        c->rank_freq[rank] = (uint8_t)t->freq[symbol];
        c->rank_start[rank] = (uint8_t)start;
        c->rank_symbol[rank] = (uint8_t)symbol;
        for (unsigned k = (start + 15) / 16; k < 16; k++)
            c->rank_first[k] = (uint8_t)rank;
        start += t->freq[symbol];
    }
    WCODEC_ASSERT(start == 256);
}

/* The string for blocks of 2^log2 slots. Returns false if it is too long. Where a block begins with
 * the last slots of a symbol, its window begins with as many of the symbol's last copies, so that
 * the next symbols follow. */
static bool prepare_windows(const struct wcodec_table *t, struct wcodec_cpu_table *c, unsigned log2)
{
    const unsigned most = 1u << log2;
    for (unsigned i = 0, start = 0, length = 0, slot = 0; i < t->count; i++) {
        const unsigned symbol = t->order[i], freq = t->freq[symbol],
                       copies = freq < most ? freq : most;
        if (length + copies > sizeof c->window_symbol)
            return false;
        for (unsigned k = length; k < length + copies; k++) {
            c->window_symbol[k] = (uint8_t)symbol;
            c->window_freq[k] = (uint8_t)freq;
            c->window_start[k] = (uint8_t)start;
        }
        length += copies;
        start += freq;
        /* Blocks that begin with this symbol. */
        for (; slot < start; slot += most) {
            const unsigned last = start - slot < copies ? start - slot : copies;
            c->window_of[slot >> log2] = (uint8_t)(length - last - slot);
        }
    }
    return true;
}

/* Loops over memory of their own, which compilers make vectors of. */
static void prepare_slots(const uint32_t *restrict entries, uint32_t *restrict slots)
{
    for (unsigned slot = 0; slot < 256; slot++) {
        const uint32_t e = entries[slot];
        slots[slot] = e >> 20 << 16 | (e & 0xff) << 8 | (e >> 12 & 0xff);
    }
}

static void prepare_slot_bytes(const uint32_t *restrict entries, uint8_t *restrict symbol,
                               uint8_t *restrict freq, uint8_t *restrict bias)
{
    for (unsigned slot = 0; slot < 256; slot++) {
        const uint32_t e = entries[slot];
        symbol[slot] = (uint8_t)(e >> 12);
        freq[slot] = (uint8_t)(e >> 20);
        bias[slot] = (uint8_t)e;
    }
}

/* By slots and by the low 6 bits of symbols. */
static void prepare_bytes(const struct wcodec_table *t, const uint32_t *entries,
                          struct wcodec_cpu_table *c)
{
    uint64_t seen = 0;
    prepare_slot_bytes(entries, c->symbol, c->freq, c->bias);
    c->low6 = true;
    for (unsigned i = 0, start = 0; i < t->count; i++) {
        const unsigned s = t->order[i];
        c->low6 = c->low6 && !(seen >> s % 64 & 1);
        seen |= 1ull << s % 64;
        c->freq_low6[s % 64] = (uint8_t)t->freq[s];
        c->start_low6[s % 64] = (uint8_t)start;
        start += t->freq[s];
    }
}

/* Of many tensors a few thousand elements are decoded: a form that no function asks for would take
 * as long as some of them. */
static void prepare_table(const struct wcodec_table *t, const uint32_t *entries, unsigned lookup,
                          struct wcodec_cpu_table *c)
{
    c->entries = entries;
    c->base = t->base;
    if (t->profile == WCODEC_PAIRS && lookup & WCODEC_CPU_BY_SLOT)
        for (unsigned pair = 0; pair < 256; pair++)
            c->pairs[pair] = (uint16_t)((pair % 16 + t->base) | (pair / 16 + t->base) << 8);
    if (t->profile != WCODEC_P8)
        return;
    c->constant = wcodec_table_is_constant(t);
    c->symbol[0] = t->order[0]; /* all that is asked of a constant one */
    if (lookup & WCODEC_CPU_BY_SLOT)
        prepare_slots(entries, c->slots);
    if (lookup & WCODEC_CPU_BY_RANK)
        prepare_ranks(t, c);
    if (lookup & WCODEC_CPU_BY_WINDOW) {
        c->window_log2 = prepare_windows(t, c, 2) ? 2 : prepare_windows(t, c, 1) ? 1 : 0;
        if (c->window_log2 == 0)
            prepare_bytes(t, entries, c);
    }
}

static void prepare_tables(struct wcodec_cpu_decoder *d)
{
    const struct wcodec_tiles *s = d->tiles;
    bool ranks_serve = true;
    for (unsigned i = 0; i < s->tiling->table_count; i++) {
        prepare_table(&s->tables[i], s->entries + s->entry_offset[i], d->dsp->lookup,
                      &d->tables[i]);
        ranks_serve = ranks_serve && (s->tables[i].profile != WCODEC_P8 ||
                                      d->tables[i].ranks_bounds <= WCODEC_CPU_BOUNDS);
    }
    /* Streams that are decoded side by side go the same way. */
    d->ranks_serve = ranks_serve;
    for (unsigned i = 0; i < s->tiling->table_count && !ranks_serve; i++)
        if (s->tables[i].profile == WCODEC_P8)
            prepare_slots(s->entries + s->entry_offset[i], d->tables[i].slots);
}

static void set_bit(uint32_t *mask, uint32_t *mask_high, unsigned position)
{
    uint32_t *const word = position < 32 ? mask : mask_high;
    *word |= 1u << position % 32;
}

/* The bit at `position` of the element is in a plane's slot words rotated by `rotate`. Returns
 * false if there is no entry left for it. */
static bool move_bit(struct wcodec_cpu_assembly *a, unsigned plane, unsigned rotate,
                     unsigned position)
{
    unsigned i = 0;
    while (i < a->moved_count && (a->moved[i].plane != plane || a->moved[i].rotate != rotate))
        i++;
    if (i == WCODEC_CPU_MOVED || a->element_log2 < 2)
        return false;
    if (i == a->moved_count)
        a->moved_count++;
    a->moved[i].plane = (uint8_t)plane;
    a->moved[i].rotate = (uint8_t)rotate;
    set_bit(&a->moved[i].mask, &a->moved[i].mask_high, position);
    return true;
}

bool wcodec_cpu_derive_assembly(const struct wcodec_tiling *t, struct wcodec_cpu_assembly *a)
{
    const unsigned width = 8u << t->element_log2, slot_bits = width < 32 ? width : 32;
    *a = (struct wcodec_cpu_assembly){.element_log2 = t->element_log2,
                                      .coded_count = t->coded_count,
                                      .plane_count = t->plane_count};
    for (unsigned c = 0; c < t->coded_count; c++)
        a->shift[c] = t->fields[t->coded[c]].shift;
    for (unsigned p = 0; p < t->plane_count; p++) {
        const struct wcodec_plane *plane = &t->planes[p];
        a->plane_bits[p] = plane->bits;
        for (unsigned i = 0; i < plane->bits; i++) {
            const unsigned position = t->raw_position[plane->first + i],
                           rotate = (position + 2 * width - plane->position - i) % slot_bits;
            if (rotate == 0)
                set_bit(&a->plane_mask[p], &a->plane_mask_high[p], position);
            else if (!move_bit(a, p, rotate, position))
                return false;
        }
    }
    a->constant = (uint32_t)t->constant_bits;
    a->constant_high = (uint32_t)(t->constant_bits >> 32);
    a->add = (uint32_t)t->add;
    a->add_high = (uint32_t)(t->add >> 32);
    for (unsigned shift = width; shift < 32; shift *= 2) {
        a->constant |= a->constant << shift;
        a->add |= a->add << shift;
        for (unsigned p = 0; p < t->plane_count; p++)
            a->plane_mask[p] |= a->plane_mask[p] << shift;
    }
    return true;
}

enum wcodec_cpu_shape wcodec_cpu_assembly_shape(const struct wcodec_cpu_assembly *a)
{
    if (a->coded_count > 1 || a->moved_count > 0)
        return WCODEC_CPU_ANY;
    static const struct {
        uint8_t element_log2, plane_count, plane_bits[3];
    } shapes[WCODEC_CPU_SHAPES] = {[WCODEC_CPU_BF16] = {1, 1, {8}},
                                   [WCODEC_CPU_NIBBLE] = {0, 1, {4}},
                                   [WCODEC_CPU_BYTE] = {0, 0, {0}},
                                   [WCODEC_CPU_F32] = {2, 2, {16, 8}},
                                   [WCODEC_CPU_F16] = {1, 3, {8, 2, 1}}};
    for (unsigned i = WCODEC_CPU_ANY + 1; i < WCODEC_CPU_SHAPES; i++)
        if (a->element_log2 == shapes[i].element_log2 && a->plane_count == shapes[i].plane_count &&
            memcmp(a->plane_bits, shapes[i].plane_bits, a->plane_count) == 0)
            return (enum wcodec_cpu_shape)i;
    return WCODEC_CPU_ANY;
}

/* The function that makes elements at once, if there is one and it serves. */
static wcodec_cpu_direct_fn find_straight(const struct wcodec_cpu_decoder *d)
{
    const struct wcodec_tiling *t = d->tiles->tiling;
    const struct wcodec_field *f = &t->fields[t->coded[0]];
    const struct wcodec_cpu_assembly *a = &d->assembly;
    if (!d->direct || t->coded_count != 1 || f->run_log2 > 0 || a->constant != 0 ||
        (a->add != 0 && t->element_log2 > 0) ||
        f->width + t->planes[0].bits != 8u << t->element_log2)
        return NULL;
    for (unsigned i = 0; i < t->table_count && f->profile == WCODEC_P8; i++)
        if (d->tables[i].constant ||
            (d->dsp->lookup & WCODEC_CPU_BY_WINDOW && d->tables[i].window_log2 == 0) ||
            (d->dsp->lookup & WCODEC_CPU_BY_RANK && d->tables[i].ranks_bounds > WCODEC_CPU_BOUNDS))
            return NULL;
    return d->dsp->direct[f->profile][d->shape];
}

wcodec_status wcodec_cpu_decoder_create(const struct wcodec_cpu_dsp *dsp,
                                        const struct wcodec_tiles *tiles,
                                        const wcodec_allocator *allocator,
                                        struct wcodec_cpu_decoder **decoder, wcodec_error *err)
{
    /* The tables follow, aligned. */
    struct wcodec_cpu_decoder *d = wcodec_alloc_zeroed(
        allocator, sizeof *d + tiles->tiling->table_count * sizeof *d->tables + 64);
    if (d == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "no memory for a decoder of %u tables",
                           tiles->tiling->table_count);
    d->dsp = dsp;
    d->tiles = tiles;
    d->allocator = allocator;
    d->tables = (struct wcodec_cpu_table *)(((uintptr_t)(d + 1) + 63) & ~(uintptr_t)63);
    prepare_tables(d);
    for (unsigned profile = WCODEC_PAIRS; profile <= WCODEC_P8; profile++)
        WCODEC_ASSERT(dsp->symbols[profile] != NULL && dsp->tiles[profile] >= 1 &&
                      dsp->tiles[profile] <= WCODEC_CPU_TILES);
    d->direct = wcodec_cpu_derive_assembly(tiles->tiling, &d->assembly);
    d->shape = wcodec_cpu_assembly_shape(&d->assembly);
    d->straight = find_straight(d);
    d->whole = dsp->whole[tiles->tiling->fields[tiles->tiling->coded[0]].profile];
    *decoder = d;
    return WCODEC_OK;
}

void wcodec_cpu_decoder_free(struct wcodec_cpu_decoder *decoder)
{
    if (decoder != NULL)
        wcodec_free(decoder->allocator, decoder);
}
