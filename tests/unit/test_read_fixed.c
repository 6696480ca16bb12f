/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Matrices at a fixed rate: coded by the encoder, in files put together here, described, decoded
 * whole and by rows from memory and from a file, restored, loaded, within little memory, and
 * damaged. */
#include "support_container.h"
#include "support_encode.h"
#include "support_memory.h"
#include "support_tree.h"

#include "coding/fixed.h"
#include <string.h>
#include <wcodec/load.h>

/* What its elements are. */
enum kind {
    BELL,    /* a few exponents of each row, seldom any other */
    WIDE,    /* twelve exponents, all as often */
    ZEROS,   /* one of twenty is zero, some rows all */
    FOREIGN, /* subnormal numbers and others far from their rows */
    ODD      /* infinities and NaNs too */
};

struct model {
    uint64_t rows, columns;
    enum kind kind;
    unsigned bits; /* of an index, that suit it best */
};

static const struct model models[] = {
    {16, 128, BELL, 2},     {31, 255, BELL, 2},   {100, 1000, BELL, 2},
    {2500, 250, ODD, 2},    {47, 40000, BELL, 2}, {64, 256, ZEROS, 2},
    {300, 380, FOREIGN, 2}, {80, 384, WIDE, 3},   {1000, 1025, FOREIGN, 2},
};

static uint16_t make_element(uint64_t *seed, enum kind kind, uint64_t row)
{
    const uint64_t any = support_random(seed);
    const unsigned rest = (unsigned)(any & 0x807F), level = (unsigned)(any >> 16 & 1023);
    const unsigned exponent = 40 + (unsigned)(row * 37 % 150);
    unsigned down = 0;
    if (kind == ZEROS && (row % 9 == 8 || level % 20 == 0))
        return (uint16_t)(rest & 0x8000);
    if ((kind == FOREIGN && level < 2) || (kind == ODD && level < 1))
        return (uint16_t)(any >> 32);
    for (uint64_t bits = any >> 32; (bits & 1) != 0 && down < 30; bits >>= 1)
        down++;
    if (kind == WIDE)
        down = (unsigned)(any >> 32) % 12;
    return (uint16_t)(rest | (exponent - down) << 7);
}

static uint8_t *make_data(uint64_t *seed, const struct model *m)
{
    uint8_t *data = malloc((size_t)(2 * m->rows * m->columns));
    for (uint64_t row = 0; row < m->rows; row++)
        for (uint64_t i = 0; i < m->columns; i++)
            wcodec_store_u16(data + 2 * (row * m->columns + i), make_element(seed, m->kind, row));
    return data;
}

/* The entry of a tensor at a fixed rate, and an alias of it. */
static struct wcodec_fixed add_fixed(wcodec_context *context, const struct model *m,
                                     const uint8_t *data, struct support_recipe *recipe)
{
    const struct wcodec_encode_settings settings = {
        .level = 3, .weights = true, .fixed = true, .verify = true, .columns = m->columns};
    const unsigned number = recipe->entries_used;
    struct support_entry *e = support_recipe_add(recipe, "t");
    struct wcodec_coded coded;
    uint8_t parameters[WCODEC_FIXED_MAX_BYTES];
    wcodec_error err = {0};
    e->size = 2 * m->rows * m->columns;
    if (wcodec_encode_tensor(context, &settings, WCODEC_DTYPE_BF16, data, e->size, &coded, &err) !=
        WCODEC_OK)
        fail_msg("%s", err.text);
    assert_int_equal(coded.coding, WCODEC_CODING_FIXED);
    assert_int_equal(coded.fixed->bits, m->bits);
    assert_true(coded.order0_bits != 0);
    const struct wcodec_fixed fixed = *coded.fixed;
    uint8_t *payload = support_coded_payload(&coded);
    support_put(&e->payload, payload, (size_t)coded.payload_size);
    support_put(&e->parameters, parameters, wcodec_fixed_write(coded.fixed, parameters));
    e->dtype = WCODEC_DTYPE_BF16;
    e->rank = 2;
    e->shape[0] = m->rows;
    e->shape[1] = m->columns;
    e->coding = WCODEC_CODING_FIXED;
    e->payload_size = e->payload.size;
    e->payload_hash = support_tree_hash(e->payload.data, e->payload.size).low64;
    e->data = data;
    struct support_entry *alias = support_recipe_add(recipe, "u");
    alias->dtype = WCODEC_DTYPE_BF16;
    alias->rank = 2;
    memcpy(alias->shape, e->shape, sizeof e->shape);
    alias->size = e->size;
    alias->data = data;
    alias->coding = WCODEC_CODING_ALIAS;
    support_put_varint(&alias->parameters, number);
    free(payload);
    wcodec_coded_free(&coded);
    return fixed;
}

static void check_description(const wcodec_reader *reader, uint64_t tensor,
                              const struct wcodec_fixed *f)
{
    wcodec_tensor_info info;
    assert_int_equal(wcodec_reader_tensor(reader, tensor, &info, NULL), WCODEC_OK);
    assert_int_equal(info.coding, WCODEC_CODING_FIXED);
    assert_string_equal(info.coding_name, f->bits == 2 ? "fixed11" : "fixed12");
    assert_string_equal(info.split, "");
    assert_int_equal(info.columns, f->columns);
    assert_int_equal(info.element_bits, 16);
    assert_int_equal(info.tile_elements, 2048);
    assert_int_equal(info.coded_size, f->payload_size);
    assert_int_equal(wcodec_reader_tensor(reader, tensor + 1, &info, NULL), WCODEC_OK);
    assert_int_equal(info.coding, WCODEC_CODING_ALIAS);
}

/* Decode one tensor of a file in memory. */
static wcodec_status decode(wcodec_context *context, const struct support_bytes *file,
                            uint64_t tensor, size_t size, wcodec_error *err)
{
    wcodec_reader *reader;
    uint8_t *out = malloc(size);
    assert_int_equal(wcodec_reader_open_memory(context, file->data, file->size, &reader, NULL),
                     WCODEC_OK);
    const wcodec_status status = wcodec_reader_decode(reader, tensor, out, size, NULL, err);
    const wcodec_status tested = wcodec_reader_test(reader, 0, 0, NULL, NULL);
    assert_true(status == WCODEC_OK || tested == WCODEC_ERROR_CORRUPT);
    wcodec_reader_close(reader);
    free(out);
    return status == WCODEC_OK ? tested : status;
}

/* One bit anywhere in the payload: what decodes the tensor finds it by its own checks. */
static void check_damage(wcodec_context *context, uint64_t *seed, struct support_bytes *file,
                         const struct support_entry *e, uint64_t tensor)
{
    const size_t at = support_recipe_find(file, e);
    for (unsigned i = 0; i < 30; i++) {
        const size_t offset = at + support_random(seed) % (i < 10 ? 64 : (size_t)e->payload.size);
        const uint8_t bit = (uint8_t)(1u << support_random(seed) % 8);
        wcodec_error err = {0};
        file->data[offset] ^= bit;
        assert_int_equal(decode(context, file, tensor, (size_t)e->size, &err),
                         WCODEC_ERROR_CORRUPT);
        assert_non_null(strstr(err.text, "'t'"));
        file->data[offset] ^= bit;
    }
}

static void check_model(wcodec_context *context, uint64_t *seed, const struct model *m)
{
    struct support_recipe recipe;
    struct support_bytes file;
    wcodec_reader *reader;
    support_recipe_init(&recipe, *seed);
    const unsigned entry = recipe.entries_used;
    const uint64_t tensor = entry - 1; /* one blob before */
    uint8_t *data = make_data(seed, m);
    const struct wcodec_fixed fixed = add_fixed(context, m, data, &recipe);
    assert_true((fixed.foreign != 0) == (m->kind == FOREIGN || m->kind == ODD));
    support_recipe_finish(&recipe);
    support_recipe_build(&recipe, &file);
    assert_int_equal(wcodec_reader_open_memory(context, file.data, file.size, &reader, NULL),
                     WCODEC_OK);
    check_description(reader, tensor, &fixed);
    wcodec_reader_close(reader);
    support_recipe_expect(context, &recipe, &file, tensor, seed, m->rows, data,
                          (size_t)(2 * m->rows * m->columns), 2 << 20);
    check_damage(context, seed, &file, &recipe.entries[entry], tensor);
    free(file.data);
    free(data);
    support_recipe_free(&recipe);
}

static void test_models(void **state)
{
    uint64_t seed = support_seed();
    wcodec_context *context = support_context(2, NULL);
    (void)state;
    const unsigned step = support_threads_only() ? 6 : 1;
    for (unsigned i = 0; i < sizeof models / sizeof *models; i += step)
        check_model(context, &seed, &models[i]);
    wcodec_context_destroy(context);
}

/* All hashes and checks are right, but not what they are of. */
static void refuse(wcodec_context *context, struct support_recipe *recipe, unsigned entry,
                   const struct wcodec_fixed *f, const char *text)
{
    struct support_entry *e = &recipe->entries[entry];
    struct support_bytes file;
    struct wcodec_fixed now = *f;
    struct wcodec_fixed_list list;
    uint8_t parameters[WCODEC_FIXED_MAX_BYTES];
    wcodec_error err = {0};
    const uint8_t *all = e->payload.data + f->spilled_begin;
    for (uint64_t tile = 0; tile < f->tiles; tile++) {
        const uint8_t *record = e->payload.data + f->tiles_begin + tile * f->record_size;
        if (wcodec_fixed_list_find(f, record, &list) == WCODEC_TILE_OK)
            wcodec_store_u32(e->payload.data + f->checks_begin + 4 * tile,
                             wcodec_fixed_tile_check(f, record, all + 4 * list.spilled_first,
                                                     list.spilled_count));
    }
    now.check = wcodec_fixed_shifts_check(f, e->payload.data);
    e->payload_hash = support_tree_hash(e->payload.data, e->payload.size).low64;
    e->parameters.size = 0;
    support_put(&e->parameters, parameters, wcodec_fixed_write(&now, parameters));
    support_recipe_build(recipe, &file);
    const wcodec_status status = decode(context, &file, entry - 1, (size_t)e->size, &err);
    if (text == NULL)
        assert_int_equal(status, WCODEC_OK);
    else
        assert_int_equal(status, WCODEC_ERROR_CORRUPT);
    if (text != NULL && strstr(err.text, text) == NULL)
        fail_msg("'%s', expected '%s'", err.text, text);
    free(file.data);
}

static void test_refused(void **state)
{
    if (support_threads_only())
        skip();
    uint64_t seed = support_seed();
    const struct model m = {100, 1000, FOREIGN, 2};
    wcodec_context *context = support_context(2, NULL);
    struct support_recipe recipe;
    struct wcodec_fixed_list list;
    (void)state;
    support_recipe_init(&recipe, seed);
    const unsigned entry = recipe.entries_used;
    uint8_t *data = make_data(&seed, &m);
    const struct wcodec_fixed f = add_fixed(context, &m, data, &recipe);
    support_recipe_finish(&recipe);
    refuse(context, &recipe, entry, &f, NULL);
    uint8_t *payload = recipe.entries[entry].payload.data, *tiles = payload + f.tiles_begin,
            *found = NULL;
    payload[100] = 1; /* the shift of a row of padding: as any other */
    refuse(context, &recipe, entry, &f, NULL);
    payload[100] = (uint8_t)-120;
    refuse(context, &recipe, entry, &f, "row 100 has a shift of -120");
    payload[100] = 0;
    for (uint64_t tile = f.tiles; tile-- > f.tiles / 2 && found == NULL;) {
        uint8_t *record = tiles + tile * f.record_size;
        assert_int_equal(wcodec_fixed_list_find(&f, record, &list), WCODEC_TILE_OK);
        if (list.spilled_count > 1)
            found = record + f.record_size - 8;
    }
    assert_non_null(found);
    const uint32_t first = wcodec_load_u32(found), count = wcodec_load_u32(found + 4);
    uint8_t *spilled = payload + f.spilled_begin + 4 * (size_t)first;
    wcodec_store_u32(found, first - 1);
    refuse(context, &recipe, entry, &f, "outlier");
    wcodec_store_u32(found, first);
    wcodec_store_u32(found + 4, count - 1);
    refuse(context, &recipe, entry, &f, "");
    wcodec_store_u32(found + 4, count);
    const uint32_t word = wcodec_load_u32(spilled);
    wcodec_store_u32(spilled, word | 1 << 11);
    refuse(context, &recipe, entry, &f, "outlier");
    wcodec_store_u32(spilled, wcodec_load_u32(spilled + 4));
    refuse(context, &recipe, entry, &f, "outlier");
    wcodec_store_u32(spilled, word);
    refuse(context, &recipe, entry, &f, NULL);
    const uint8_t shorts = tiles[wcodec_fixed_list_begin(&f)];
    tiles[wcodec_fixed_list_begin(&f)] = 255;
    refuse(context, &recipe, entry, &f, "tile 0 of");
    tiles[wcodec_fixed_list_begin(&f)] = shorts;
    free(data);
    support_recipe_free(&recipe);
    wcodec_context_destroy(context);
}

/* What is not for this form is coded as any other tensor. */
static void test_others(void **state)
{
    if (support_threads_only())
        skip();
    static const struct {
        wcodec_dtype dtype;
        uint64_t size, columns;
    } cases[] = {{WCODEC_DTYPE_F16, 1 << 17, 256},       {WCODEC_DTYPE_BF16, 1 << 17, 64},
                 {WCODEC_DTYPE_BF16, 15 * 2048, 1024},   {WCODEC_DTYPE_BF16, 1 << 17, 0},
                 {WCODEC_DTYPE_BF16, 17 * 2 * 129, 129}, {WCODEC_DTYPE_BF16, 1 << 17, 256}};
    uint64_t seed = support_seed();
    wcodec_context *context = support_context(2, NULL);
    const struct model m = {256, 256, BELL, 2};
    uint8_t *data = make_data(&seed, &m);
    (void)state;
    for (unsigned i = 0; i < 6; i++) {
        const struct wcodec_encode_settings settings = {
            .level = 3, .weights = true, .fixed = true, .columns = cases[i].columns};
        struct wcodec_coded coded;
        if (i == 5) /* any bits */
            for (unsigned k = 0; k < cases[i].size; k++)
                data[k] = (uint8_t)support_random(&seed);
        assert_int_equal(wcodec_encode_tensor(context, &settings, cases[i].dtype, data,
                                              cases[i].size, &coded, NULL),
                         WCODEC_OK);
        assert_int_not_equal(coded.coding, WCODEC_CODING_FIXED);
        wcodec_coded_free(&coded);
    }
    free(data);
    wcodec_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_models),
                                       cmocka_unit_test(test_refused),
                                       cmocka_unit_test(test_others)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
