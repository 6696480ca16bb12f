/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "support.h"

#include "support_blocks.h"

#include <stdlib.h>

static uint64_t below(uint64_t *seed, uint64_t n)
{
    return support_random(seed) % n;
}

/* Rows and columns: less than a block, a little more, whole ones, wide and flat, long and narrow.
 */
static void random_view(uint64_t *seed, uint64_t *rows, uint64_t *columns)
{
    switch (below(seed, 6)) {
    case 0:
        *rows = 1 + below(seed, 20);
        *columns = 1 + below(seed, 20);
        break;
    case 1:
        *rows = 16 * (1 + below(seed, 4));
        *columns = 16 * (1 + below(seed, 12));
        break;
    case 2:
        *rows = 1 + below(seed, 40);
        *columns = 1 + below(seed, 1500);
        break;
    case 3:
        *rows = 1 + below(seed, 1500);
        *columns = 1 + below(seed, 33);
        break;
    case 4:
        *rows = 1 + below(seed, 100);
        *columns = 4 * (1 + below(seed, 60));
        break;
    default:
        *rows = 1 + below(seed, 100);
        *columns = 1 + below(seed, 100);
        break;
    }
}

static void random_modes(uint64_t *seed, struct wcodec_blocks *b, uint8_t **packed)
{
    uint8_t modes[WCODEC_MODES], numbers[WCODEC_MODES];
    unsigned all = 0;
    const bool transforms = below(seed, 3) == 0; /* GPUs have other kernels for blocks with some */
    for (unsigned mode = 0; mode < 16; mode++)
        if (wcodec_mode_valid(mode) && (transforms || mode != WCODEC_PREDICTOR_WHT))
            modes[all++] = (uint8_t)mode;
    /* Some of them, ascending; as many as there are blocks at most. */
    const uint64_t most = b->count < all ? b->count : all;
    const unsigned count = 1 + (unsigned)below(seed, below(seed, 3) ? most : 1);
    for (unsigned i = 0; i < all && b->mode_count < count; i++)
        if (below(seed, all - i) < count - b->mode_count)
            b->modes[b->mode_count++] = modes[i];
    for (unsigned i = 0; i < count; i++)
        numbers[i] = (uint8_t)i;
    const unsigned bits = wcodec_blocks_index_bits(b);
    const bool stripes = below(seed, 3) == 0; /* the same mode for a while */
    *packed = calloc((size_t)wcodec_blocks_tiles_begin(b) + 1, 1);
    uint64_t last = 0;
    for (uint64_t i = 0; i < b->count; i++) {
        const uint64_t number = i < count                    ? numbers[i]
                                : stripes && below(seed, 20) ? last
                                                             : below(seed, count);
        b->counts[number]++;
        (*packed)[i * bits / 8] |= (uint8_t)(number << (i * bits % 8));
        last = number;
    }
    b->check = wcodec_blocks_modes_check(b, *packed);
    assert_int_equal(wcodec_blocks_check_modes(b, *packed, NULL), WCODEC_OK);
}

/* Of 16 bits: eight of them coded, those below raw, those above constant or coded too. */
static void make_raw_wide(uint64_t *seed, uint64_t elements, struct support_tensor *x)
{
    const unsigned low = (unsigned)below(seed, 9),
                   kind = below(seed, 2) ? WCODEC_FIELD_CODED : WCODEC_FIELD_CONSTANT;
    const bool runs = below(seed, 3);
    memset(x, 0, sizeof *x);
    struct wcodec_tiling *t = &x->tiling;
    *t = (struct wcodec_tiling){
        .element_log2 = 1, .tile_log2 = 12, .add = support_random(seed) & 0xffff};
    if (low)
        t->fields[t->field_count++] =
            (struct wcodec_field){.kind = WCODEC_FIELD_RAW, .width = (uint8_t)low};
    t->fields[t->field_count++] = (struct wcodec_field){.kind = WCODEC_FIELD_CODED, .width = 8};
    if (low < 8)
        t->fields[t->field_count++] =
            (struct wcodec_field){.kind = (uint8_t)kind, .width = (uint8_t)(8 - low)};
    for (unsigned i = 0; i < t->field_count; i++) {
        struct wcodec_field *f = &t->fields[i];
        if (f->kind == WCODEC_FIELD_CONSTANT)
            f->value = below(seed, 1u << f->width);
        if (f->kind != WCODEC_FIELD_CODED)
            continue;
        f->profile = runs ? WCODEC_P8 : WCODEC_P12;
        f->tables = (uint8_t)(runs ? 2 + below(seed, 15) : 1 + below(seed, 4));
        f->run_log2 = runs ? (uint8_t)(7 + below(seed, 2)) : 0;
    }
    support_tensor_code(seed, elements, x);
}

/* Of numbers of 8 or 16 bits; often of those of which GPUs make elements at once. likely: the field
 * lists of coefficients. */
static void make_narrow(uint64_t *seed, uint64_t elements, bool likely, struct support_tensor *x)
{
    static const uint8_t bytes[] = {1, 3, 3, 6, 10, 11, 10};
    for (;;) {
        if (likely && below(seed, 3) == 0)
            make_raw_wide(seed, elements, x);
        else if (likely && below(seed, 6) == 0)
            support_tensor_common(seed, 1, WCODEC_PAIRS, elements, x);
        else if (likely && below(seed, 3))
            support_tensor_common(seed, below(seed, 2) ? 3 : 8,
                                  below(seed, 2) ? WCODEC_P8 : 1 + (unsigned)below(seed, 3),
                                  elements, x);
        else if (below(seed, 3))
            support_tensor_common(
                seed,
                (unsigned)(below(seed, 2) ? below(seed, SUPPORT_SHAPES) : bytes[below(seed, 7)]),
                below(seed, 2) ? WCODEC_PAIRS : 1 + (unsigned)below(seed, 3), elements, x);
        else
            support_tensor_make(seed, elements, x);
        if (x->tiling.element_log2 <= 1)
            break;
        support_tensor_free(x);
    }
}

void support_blocks_make(uint64_t *seed, struct support_tensor *x, struct support_blocks *b)
{
    uint64_t rows, columns, count;
    random_view(seed, &rows, &columns);
    count =
        wcodec_div_up_u64(rows, WCODEC_BLOCK_SIDE) * wcodec_div_up_u64(columns, WCODEC_BLOCK_SIDE);
    make_narrow(seed, count * WCODEC_BLOCK, false, x);
    *b = (struct support_blocks){.blocks = {.columns = columns}};
    assert_int_equal(wcodec_blocks_derive(&b->blocks, rows * columns << x->tiling.element_log2,
                                          x->tiling.element_log2, NULL),
                     WCODEC_OK);
    assert_int_equal(wcodec_blocks_residual_size(&b->blocks), x->tiling.size);
    random_modes(seed, &b->blocks, &b->modes);
    b->size = b->blocks.size;
    b->data = malloc((size_t)b->size);
    for (uint64_t i = 0; i < count; i++)
        wcodec_block_reconstruct(&b->blocks, i, wcodec_blocks_mode(&b->blocks, b->modes, i),
                                 x->data + (i * WCODEC_BLOCK << x->tiling.element_log2), 0,
                                 b->blocks.size, b->data);
}

/* What a scale may be: mostly such that products of all kinds come about in all dtypes. */
static uint32_t random_scale(uint64_t *seed)
{
    static const uint32_t ends[] = {0, 0x0D800000, 0x5D800000};
    if (below(seed, 20) == 0)
        return ends[below(seed, 3)];
    const uint32_t least = below(seed, 4) ? 0x2f000000 : 0x0D800000,
                   most = below(seed, 4) ? 0x45000000 : 0x5D800000;
    return least + (uint32_t)below(seed, most - least);
}

static void random_side(uint64_t *seed, struct wcodec_lossy *l, uint8_t **side)
{
    *side = calloc((size_t)wcodec_lossy_tiles_begin(l) + 1, 1);
    const unsigned bits = wcodec_lossy_index_bits(l);
    memset(l->counts, 0, sizeof l->counts);
    for (uint64_t i = 0; i < l->blocks && !l->plain; i++) {
        const uint64_t number = i < l->mode_count ? i : below(seed, l->mode_count);
        l->counts[number]++;
        (*side)[i * bits / 8] |= (uint8_t)(number << (i * bits % 8));
    }
    if (l->plain)
        l->counts[0] = l->blocks;
    for (uint64_t i = 0; i < wcodec_lossy_scale_count(l); i++)
        wcodec_store_u32(*side + wcodec_lossy_modes_size(l) + 4 * i, random_scale(seed));
    l->check = wcodec_lossy_side_check(l, *side);
    assert_int_equal(wcodec_lossy_check_side(l, *side, NULL), WCODEC_OK);
}

void support_lossy_make(uint64_t *seed, struct support_tensor *x, struct support_blocks *b)
{
    static const wcodec_dtype dtypes[] = {WCODEC_DTYPE_BF16, WCODEC_DTYPE_BF16, WCODEC_DTYPE_F16,
                                          WCODEC_DTYPE_F32};
    static const uint8_t lists[7][4] = {
        {1, 0},    {1, 1},    {1, 2},      {2, 0, 1},
        {2, 0, 2}, {2, 1, 2}, {3, 0, 1, 2}}; /* how many, and which */
    const uint8_t *list = lists[below(seed, 7)];
    const wcodec_dtype dtype = dtypes[below(seed, 4)];
    uint64_t rows, columns;
    struct wcodec_lossy l = {.row_scales = (uint8_t)below(seed, 2), .mode_count = list[0]};
    memcpy(l.modes, list + 1, sizeof l.modes);
    random_view(seed, &rows, &columns);
    if (list[0] == 1 && list[1] == 0) {
        make_narrow(seed, rows * columns, true, x);
    } else {
        make_narrow(seed,
                    wcodec_div_up_u64(rows, WCODEC_SUPERBLOCK_ROWS) *
                        wcodec_div_up_u64(columns, WCODEC_SUPERBLOCK_COLUMNS) * WCODEC_SUPERBLOCK,
                    true, x);
    }
    l.columns = columns;
    l.order = list[0] == 1 && list[1] == 0 ? 0 : (uint8_t)(support_random(seed) % WCODEC_ORDERS);
    l.counts[0] = l.counts[1] = l.counts[2] = 1;
    assert_int_equal(wcodec_lossy_derive(&l, rows * columns << (dtype == WCODEC_DTYPE_F32 ? 2 : 1),
                                         dtype, x->tiling.element_log2, NULL),
                     WCODEC_OK);
    assert_int_equal(wcodec_lossy_coefficients(&l), x->tiling.elements);
    *b = (struct support_blocks){.is_lossy = true, .size = l.size};
    random_side(seed, &l, &b->modes);
    b->lossy = l;
    b->data = malloc((size_t)b->size);
    if (l.plain)
        wcodec_plain_reconstruct(&l, b->modes, 0, l.elements, x->data, b->data);
    for (uint64_t i = 0; i < l.superblocks; i++)
        wcodec_superblock_reconstruct(
            &l, b->modes, i, x->data + (i << WCODEC_SUPERBLOCK_LOG2 << x->tiling.element_log2), 0,
            l.size, b->data);
}

/* Most often of whole sections, but for the last rows. */
static void random_sections(uint64_t *seed, uint64_t *rows, uint64_t *columns)
{
    random_view(seed, rows, columns);
    if (below(seed, 4) == 0)
        return;
    *rows = below(seed, 2) ? 16 * (1 + below(seed, 6)) : 1 + below(seed, 90);
    *columns = WCODEC_SECTION_COLUMNS * (1 + below(seed, 6));
}

void support_fragments_make(uint64_t *seed, struct support_tensor *x, struct support_blocks *b)
{
    uint64_t rows, columns;
    random_sections(seed, &rows, &columns);
    make_narrow(seed, rows * columns, false, x);
    *b = (struct support_blocks){
        .in_fragments = true, .fragments = {.columns = columns}, .size = x->tiling.size};
    assert_int_equal(wcodec_fragments_derive(&b->fragments, b->size, x->tiling.element_log2, NULL),
                     WCODEC_OK);
    b->data = malloc((size_t)b->size);
    wcodec_fragments_put(&b->fragments, 0, rows * columns, x->data, 0, b->size, b->data);
}

void support_blocks_free(struct support_blocks *b)
{
    free(b->data);
    free(b->modes);
}

void support_blocks_part(uint64_t *seed, const struct support_tensor *x,
                         const struct support_blocks *b, struct wcodec_job *job)
{
    const struct wcodec_lossy *l = &b->lossy;
    const struct wcodec_blocks *v = &b->blocks;
    const struct wcodec_fragments *f = &b->fragments;
    /* Units of 2^unit coded numbers, `across` of them in a band of 16 rows. */
    const unsigned wide = b->is_lossy ? l->element_log2 : x->tiling.element_log2,
                   unit = b->in_fragments ? 0
                          : !b->is_lossy  ? WCODEC_BLOCK_LOG2
                          : l->plain      ? 0
                                          : WCODEC_SUPERBLOCK_LOG2;
    const uint64_t columns = b->in_fragments ? f->columns : b->is_lossy ? l->columns : v->columns;
    const uint64_t elements = b->size >> wide, band = unit || b->in_fragments ? 16 * columns : 1;
    const uint64_t across = b->in_fragments ? band
                            : !b->is_lossy  ? v->across
                            : l->plain      ? 1
                                            : l->across;
    uint64_t from = below(seed, 2) ? 0 : below(seed, elements),
             to = below(seed, 2) ? elements : from + 1 + below(seed, elements - from);
    if (below(seed, 3) == 0) { /* whole bands */
        from = from / band * band;
        to = wcodec_div_up_u64(to, band) * band;
        to = to < elements ? to : elements;
    }
    job->begin = from << wide;
    job->end = to << wide;
    job->first = from / band * across >> (x->tiling.tile_log2 - unit);
    job->count = wcodec_div_up_u64(((to - 1) / band + 1) * across,
                                   (uint64_t)1 << (x->tiling.tile_log2 - unit)) -
                 job->first;
    if (job->count > x->tiling.tiles - job->first) /* the last band in fragments may have less */
        job->count = x->tiling.tiles - job->first;
    job->blocks = b->is_lossy || b->in_fragments ? NULL : v;
    job->lossy = b->is_lossy ? l : NULL;
    job->fragments = b->in_fragments ? f : NULL;
    job->modes = b->modes;
}
