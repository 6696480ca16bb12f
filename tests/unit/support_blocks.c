/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "support.h"

#include "support_blocks.h"

#include <stdlib.h>

static uint64_t below(uint64_t *seed, uint64_t n)
{
    return support_random(seed) % n;
}

/* Rows and columns: less than a block, a little more, whole ones, wide and flat, long and narrow. */
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
    for (unsigned mode = 0; mode < 16; mode++)
        if (wcodec_mode_valid(mode))
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
        const uint64_t number = i < count ? numbers[i] : stripes && below(seed, 20) ? last : below(seed, count);
        b->counts[number]++;
        (*packed)[i * bits / 8] |= (uint8_t)(number << (i * bits % 8));
        last = number;
    }
    b->check = wcodec_blocks_modes_check(b, *packed);
    assert_int_equal(wcodec_blocks_check_modes(b, *packed, NULL), WCODEC_OK);
}

void support_blocks_make(uint64_t *seed, struct support_tensor *x, struct support_blocks *b)
{
    uint64_t rows, columns, count;
    random_view(seed, &rows, &columns);
    count = wcodec_div_up_u64(rows, WCODEC_BLOCK_SIDE) * wcodec_div_up_u64(columns, WCODEC_BLOCK_SIDE);
    for (;;) {
        if (below(seed, 2))
            support_tensor_common(seed, (unsigned)below(seed, SUPPORT_SHAPES), 1 + (unsigned)below(seed, 3), count * WCODEC_BLOCK, x);
        else
            support_tensor_make(seed, count * WCODEC_BLOCK, x);
        if (x->tiling.element_log2 <= WCODEC_BLOCKS_ELEMENT_LOG2_MAX)
            break;
        support_tensor_free(x);
    }
    b->blocks = (struct wcodec_blocks){.columns = columns};
    assert_int_equal(wcodec_blocks_derive(&b->blocks, rows * columns << x->tiling.element_log2, x->tiling.element_log2, NULL), WCODEC_OK);
    assert_int_equal(wcodec_blocks_residual_size(&b->blocks), x->tiling.size);
    random_modes(seed, &b->blocks, &b->modes);
    b->data = malloc((size_t)b->blocks.size);
    for (uint64_t i = 0; i < count; i++)
        wcodec_block_reconstruct(&b->blocks, i, wcodec_blocks_mode(&b->blocks, b->modes, i), x->data + (i * WCODEC_BLOCK << x->tiling.element_log2), 0, b->blocks.size, b->data);
}

void support_blocks_free(struct support_blocks *b)
{
    free(b->data);
    free(b->modes);
}

void support_blocks_part(uint64_t *seed, const struct support_tensor *x, const struct support_blocks *b, uint64_t *begin, uint64_t *end, uint64_t *first, uint64_t *count)
{
    const struct wcodec_blocks *v = &b->blocks;
    const uint64_t elements = v->size >> v->element_log2, band = wcodec_blocks_band_size(v);
    uint64_t from = below(seed, 2) ? 0 : below(seed, elements), to = below(seed, 2) ? elements : from + 1 + below(seed, elements - from);
    if (below(seed, 3) == 0) { /* whole rows of blocks */
        from = from / (16 * v->columns) * (16 * v->columns);
        to = wcodec_div_up_u64(to, 16 * v->columns) * (16 * v->columns);
        to = to < elements ? to : elements;
    }
    *begin = from << v->element_log2;
    *end = to << v->element_log2;
    const unsigned log2 = x->tiling.tile_log2 - WCODEC_BLOCK_LOG2;
    const uint64_t block = *begin / band * v->across, stop = ((*end - 1) / band + 1) * v->across;
    *first = block >> log2;
    *count = wcodec_div_up_u64(stop, (uint64_t)1 << log2) - *first;
}
