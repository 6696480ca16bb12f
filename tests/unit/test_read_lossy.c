/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Lossy tensors in files put together here, through the public interface: described, decoded whole
 * and by rows from memory and from a file, restored, loaded, and within little memory. What they
 * must give is the scalar reference's. */
#include "support_container.h"
#include "support_encode.h"
#include "support_memory.h"

#include "coding/lossy.h"
#include "coding/packed.h"
#include <math.h>
#include <string.h>
#include <wcodec/load.h>
#include "support_tree.h"

struct model {
    wcodec_dtype dtype;
    uint64_t rows, columns; /* of the view; the tensor has rows x columns, but for the one with the
                               odd number of columns */
    unsigned modes;         /* bit set of enum wcodec_transform */
    unsigned w;
    bool row_scales;
    unsigned tile_log2;
};

static const struct model models[] = {
    {WCODEC_DTYPE_BF16, 600, 257, 7, 0, true, 13}, {WCODEC_DTYPE_F16, 333, 1000, 2, 1, false, 12},
    {WCODEC_DTYPE_F32, 100, 300, 5, 0, true, 16},  {WCODEC_DTYPE_BF16, 2500, 7, 4, 1, true, 14},
    {WCODEC_DTYPE_BF16, 1, 5000, 6, 0, false, 12}, {WCODEC_DTYPE_F32, 4000, 1, 3, 0, true, 12},
    {WCODEC_DTYPE_BF16, 900, 500, 1, 0, true, 13}, {WCODEC_DTYPE_F16, 90, 301, 1, 1, false, 12},
    {WCODEC_DTYPE_F32, 50000, 4, 1, 0, false, 0},  {WCODEC_DTYPE_BF16, 35, 40000, 2, 0, true, 0},
};

/* Small numbers, so that they are coded in tiles. */
static uint8_t *make_coefficients(uint64_t *seed, const struct wcodec_lossy *l)
{
    const uint64_t count = wcodec_lossy_coefficients(l);
    uint8_t *coefficients = malloc((size_t)(count << l->coefficient_log2));
    for (uint64_t i = 0; i < count; i++) {
        const uint64_t r = support_random(seed);
        const int small = (int)((r & 7) + (r >> 4 & 7)) - 7,
                  q = l->coefficient_log2 ? 64 * small + (int)(r >> 16 & 63) : small;
        if (l->coefficient_log2)
            wcodec_store_u16(coefficients + 2 * i, (uint16_t)q);
        else
            coefficients[i] = (uint8_t)q;
    }
    return coefficients;
}

static uint8_t *make_side(uint64_t *seed, struct wcodec_lossy *l)
{
    uint8_t *side = calloc(1, (size_t)wcodec_lossy_tiles_begin(l));
    const unsigned bits = wcodec_lossy_index_bits(l);
    for (uint64_t i = 0; i < l->blocks; i++) {
        const unsigned number =
            (unsigned)(i < l->mode_count ? i : support_random(seed) % l->mode_count);
        l->counts[number]++;
        if (bits)
            side[i * bits / 8] |= (uint8_t)(number << (i * bits % 8));
    }
    for (uint64_t i = 0; i < wcodec_lossy_scale_count(l); i++) {
        const float scale = ldexpf((float)(1 + support_random(seed) % 1000), -16);
        uint32_t word;
        memcpy(&word, &scale, sizeof word);
        wcodec_store_u32(side + wcodec_lossy_modes_size(l) + 4 * i, word);
    }
    l->check = wcodec_lossy_side_check(l, side);
    return side;
}

static uint8_t *reconstruct(const struct wcodec_lossy *l, const uint8_t *side,
                            const uint8_t *coefficients)
{
    uint8_t *data = malloc((size_t)l->size);
    if (l->plain)
        wcodec_plain_reconstruct(l, side, 0, l->elements, coefficients, data);
    for (uint64_t i = 0; i < l->superblocks; i++)
        wcodec_superblock_reconstruct(l, side, i,
                                      coefficients + (i * WCODEC_SUPERBLOCK << l->coefficient_log2),
                                      0, l->size, data);
    return data;
}

/* The entry of a lossy tensor; its decoded bytes are the caller's to free. */
static uint8_t *add_lossy(wcodec_context *context, uint64_t *seed, const struct model *m,
                          struct support_recipe *recipe)
{
    const struct wcodec_encode_settings settings = {.level = 3,
                                                    .weights = true,
                                                    .predict = WCODEC_PREDICT_NONE,
                                                    .tile_log2 = (uint8_t)m->tile_log2};
    struct support_entry *e = support_recipe_add(recipe, "t");
    struct wcodec_lossy l = {.columns = m->columns,
                             .row_scales = m->row_scales,
                             .largest_error = 0.5,
                             .mean_squared_error = 0.0625,
                             .mean_square = 4};
    struct wcodec_coded coded;
    uint8_t parameters[WCODEC_LOSSY_MAX_BYTES];
    for (unsigned i = 0; i < WCODEC_TRANSFORMS; i++)
        if (m->modes >> i & 1)
            l.modes[l.mode_count++] = (uint8_t)i;
    e->size = m->rows * m->columns * wcodec_dtype_bits(m->dtype) / 8;
    assert_int_equal(wcodec_lossy_derive(&l, e->size, m->dtype, m->w, NULL), WCODEC_OK);
    l.order = (uint8_t)(l.plain ? 0 : support_random(seed) % WCODEC_ORDERS);
    uint8_t *coefficients = make_coefficients(seed, &l), *side = make_side(seed, &l),
            *data = reconstruct(&l, side, coefficients);
    assert_int_equal(wcodec_encode_tensor(context, &settings,
                                          m->w ? WCODEC_DTYPE_I16 : WCODEC_DTYPE_I8, coefficients,
                                          wcodec_lossy_coefficients(&l) << m->w, &coded, NULL),
                     WCODEC_OK);
    assert_int_equal(coded.coding, WCODEC_CODING_TILES);
    uint64_t size = coded.payload_size;
    uint8_t *payload = support_coded_payload(&coded);
    if (coded.unpacked_size != 0) {
        /* That of coefficients is not packed. */
        uint8_t *unpacked = malloc(coded.unpacked_size);
        assert_non_null(unpacked);
        assert_int_equal(wcodec_packed_read(coded.tiling, payload, (size_t)size, unpacked,
                                            coded.unpacked_size, NULL),
                         WCODEC_OK);
        free(payload);
        payload = unpacked;
        size = coded.unpacked_size;
    }
    support_put(&e->payload, side, (size_t)wcodec_lossy_tiles_begin(&l));
    support_put(&e->payload, payload, (size_t)size);
    support_put(&e->parameters, parameters, wcodec_lossy_write(&l, coded.tiling, parameters));
    e->dtype = (uint8_t)m->dtype;
    e->rank = 2;
    e->shape[0] = m->rows;
    e->shape[1] = m->columns;
    e->coding = WCODEC_CODING_LOSSY;
    e->payload_size = e->payload.size;
    e->payload_hash = support_tree_hash(e->payload.data, e->payload.size).low64;
    e->data = data;
    free(payload);
    wcodec_coded_free(&coded);
    free(side);
    free(coefficients);
    return data;
}

static void add_alias(struct support_recipe *recipe, unsigned of)
{
    const struct support_entry *original = &recipe->entries[of];
    struct support_entry *e = support_recipe_add(recipe, "u");
    e->dtype = original->dtype;
    e->rank = original->rank;
    memcpy(e->shape, original->shape, sizeof e->shape);
    e->size = original->size;
    e->data = original->data;
    e->coding = WCODEC_CODING_ALIAS;
    support_put_varint(&e->parameters, of);
}

static void check_description(const wcodec_reader *reader, uint64_t tensor, const struct model *m)
{
    static const char *const names[] = {"none", "dct", "adst"};
    wcodec_tensor_info info;
    wcodec_file_info file;
    unsigned k = 0;
    for (unsigned i = 0; i < 2; i++) { /* it, and its alias */
        assert_int_equal(wcodec_reader_tensor(reader, tensor + i, &info, NULL), WCODEC_OK);
        assert_int_equal(info.coding, i ? WCODEC_CODING_ALIAS : WCODEC_CODING_LOSSY);
        assert_true(info.lossy && info.largest_error == 0.5 && info.mean_squared_error == 0.0625 &&
                    info.mean_square == 4);
        assert_int_equal(info.scales, m->row_scales ? m->rows : 1);
        assert_true((info.order != NULL) == (m->modes != 1)); /* plain ones have none */
        assert_int_equal(info.columns, i ? 0 : m->columns);
    }
    assert_int_equal(wcodec_reader_tensor(reader, tensor, &info, NULL), WCODEC_OK);
    for (unsigned i = 0; i < 3; i++)
        if (m->modes >> i & 1)
            assert_string_equal(info.modes[k++].predictor, names[i]);
    assert_int_equal(k, info.mode_count);
    assert_int_equal(wcodec_reader_tensor(reader, tensor - 1, &info, NULL), WCODEC_OK);
    assert_true(!info.lossy && info.largest_error == 0 && info.scales == 0);
    assert_int_equal(wcodec_reader_file(reader, 0, &file, NULL), WCODEC_OK);
    assert_int_equal(file.lossy, 2);
}

/* One bit anywhere in the payload: testing finds it. */
static void check_damage(wcodec_context *context, uint64_t *seed,
                         const struct support_recipe *recipe, unsigned entry,
                         struct support_bytes *file)
{
    const size_t at = support_recipe_find(file, &recipe->entries[entry]);
    const unsigned flips = SUPPORT_TSAN ? 4 : 20;
    for (unsigned i = 0; i < flips; i++) {
        wcodec_reader *reader;
        const size_t offset = at + support_random(seed) %
                                       (i < flips / 2 ? 64 : recipe->entries[entry].payload.size),
                     bit = support_random(seed) % 8;
        file->data[offset] ^= (uint8_t)(1u << bit);
        assert_int_equal(wcodec_reader_open_memory(context, file->data, file->size, &reader, NULL),
                         WCODEC_OK);
        assert_int_equal(wcodec_reader_test(reader, 0, 0, NULL, NULL), WCODEC_ERROR_CORRUPT);
        wcodec_reader_close(reader);
        file->data[offset] ^= (uint8_t)(1u << bit);
    }
}

static void check_model(wcodec_context *context, uint64_t *seed, const struct model *m)
{
    struct support_recipe recipe;
    struct support_bytes file;
    wcodec_reader *reader;
    support_recipe_init(&recipe, *seed);
    const unsigned entry = recipe.entries_used;
    uint8_t *data = add_lossy(context, seed, m, &recipe);
    const size_t size = recipe.entries[entry].size;
    add_alias(&recipe, entry);
    support_recipe_finish(&recipe);
    support_recipe_build(&recipe, &file);
    const uint64_t tensor = entry - 1; /* one blob before */
    assert_int_equal(wcodec_reader_open_memory(context, file.data, file.size, &reader, NULL),
                     WCODEC_OK);
    check_description(reader, tensor, m);
    wcodec_reader_close(reader);
    support_recipe_expect(context, &recipe, &file, tensor, seed, m->rows, data, size, 3 << 20);
    check_damage(context, seed, &recipe, entry, &file);
    free(file.data);
    free(data);
    support_recipe_free(&recipe);
}

static void test_models(void **state)
{
    uint64_t seed = support_seed();
    wcodec_context *context = support_context(2, NULL);
    (void)state;
    for (unsigned i = 0; i < sizeof models / sizeof *models; i++)
        check_model(context, &seed, &models[i]);
    wcodec_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_models)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
