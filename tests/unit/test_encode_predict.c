/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* What the encoder decides about prediction: for rows that are alike, for weights that are not, and
 * where it cannot. */
#include "support_memory.h"

#include "core/error.h"
#include "encode/assemble.h"
#include "encode/choice.h"
#include <string.h>

enum { ROWS = 512, COLUMNS = 300, SIZE = ROWS * COLUMNS, LARGE = 1 << 20 };

static wcodec_context *context;

static int setup(void **state)
{
    (void)state;
    context = support_context(2, NULL);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    wcodec_context_destroy(context);
    return 0;
}

/* A sum of uniform numbers: near enough to Gaussian, standard deviation about 209. */
static int fine_noise(uint64_t *seed)
{
    const uint64_t r = support_random(seed);
    int sum = 0;
    for (unsigned i = 0; i < 8; i++)
        sum += (int)(r >> (8 * i) & 0xff) - 128;
    return sum;
}

static int noise(uint64_t *seed)
{
    return fine_noise(seed) / 10;
}

/* keep: how much of its left neighbour an element takes, of 256. */
static void make_rows(uint64_t *seed, int keep, uint8_t *data)
{
    for (int i = 0, x = 0; i < SIZE; i++) {
        x = i % COLUMNS ? x * keep / 256 + noise(seed) * (256 - keep) / 160 : noise(seed);
        data[i] = (uint8_t)(x < -128 ? -128 : x > 127 ? 127 : x);
    }
}

static struct wcodec_encode_settings settings_of(unsigned predict)
{
    return (struct wcodec_encode_settings){.level = 3,
                                           .verify = true,
                                           .weights = true,
                                           .predict = (uint8_t)predict,
                                           .columns = COLUMNS};
}

static unsigned coding_of(const struct wcodec_encode_settings *settings, wcodec_dtype dtype,
                          const uint8_t *data, uint64_t size, uint64_t *payload)
{
    struct wcodec_coded coded;
    assert_int_equal(wcodec_encode_tensor(context, settings, dtype, data, size, &coded, NULL),
                     WCODEC_OK);
    const unsigned coding = coded.coding;
    *payload = coded.payload_size;
    assert_int_equal(coding == 4, coded.blocks != NULL);
    wcodec_coded_free(&coded);
    return coding;
}

static void test_decision(void **state)
{
    uint64_t seed = support_seed(), plain, predicted, payload;
    uint8_t *data = malloc(SIZE);
    struct wcodec_encode_settings none = settings_of(WCODEC_PREDICT_NONE),
                                  best = settings_of(WCODEC_PREDICT_AUTO);
    (void)state;
    make_rows(&seed, 230, data);
    assert_int_not_equal(coding_of(&none, WCODEC_DTYPE_I8, data, SIZE, &plain), 4);
    assert_int_equal(coding_of(&best, WCODEC_DTYPE_I8, data, SIZE, &predicted), 4);
    assert_true(predicted < plain - plain / 50);
    assert_int_equal(coding_of(&best, WCODEC_DTYPE_F8_E4M3, data, SIZE, &predicted), 4);
    best.columns = 0;
    assert_int_not_equal(coding_of(&best, WCODEC_DTYPE_I8, data, SIZE, &payload), 4);
    best.columns = COLUMNS - 1; /* no whole number of rows */
    assert_int_not_equal(coding_of(&best, WCODEC_DTYPE_I8, data, SIZE, &payload), 4);
    best.columns = COLUMNS;
    assert_int_not_equal(coding_of(&best, WCODEC_DTYPE_I8, data, COLUMNS * 16, &payload),
                         4); /* too little to gain */
    assert_int_not_equal(coding_of(&best, WCODEC_DTYPE_I32, data, SIZE, &payload), 4);
    best.level = 1;
    assert_int_not_equal(coding_of(&best, WCODEC_DTYPE_I8, data, SIZE, &payload), 4);
    make_rows(&seed, 0, data);
    best.level = 9;
    assert_int_not_equal(coding_of(&best, WCODEC_DTYPE_I8, data, SIZE, &predicted), 4);
    none.level = 9;
    coding_of(&none, WCODEC_DTYPE_I8, data, SIZE, &plain);
    assert_int_equal(predicted, plain);
    free(data);
}

/* From rows that are hardly alike on, past where prediction begins to pay: never larger than
 * without it, and where it pays, it is what is taken. */
static void test_threshold(void **state)
{
    uint64_t seed = support_seed() + 3, plain, free_choice;
    uint8_t *data = malloc(2 * SIZE);
    unsigned predicted = 0, rounds = 0;
    (void)state;
    for (int keep = 40; keep < 256; keep += 9)
        for (unsigned w = 0; w < 2; w++, rounds++) {
            struct wcodec_encode_settings none = settings_of(WCODEC_PREDICT_NONE),
                                          best = settings_of(WCODEC_PREDICT_AUTO);
            const wcodec_dtype dtype = w ? WCODEC_DTYPE_I16 : WCODEC_DTYPE_I8;
            none.level = best.level = 3 + keep % 2 * 2;
            none.verify = best.verify = false;
            make_rows(&seed, keep, data);
            for (size_t i = SIZE; w && i-- > 0;)
                wcodec_store_u16(data + 2 * i, (uint16_t)(11 * (int8_t)data[i] +
                                                          (int)(support_random(&seed) % 11)));
            coding_of(&none, dtype, data, (uint64_t)SIZE << w, &plain);
            predicted += coding_of(&best, dtype, data, (uint64_t)SIZE << w, &free_choice) == 4;
            assert_true(free_choice <= plain + plain / 5000);
        }
    assert_in_range(predicted, rounds / 8, rounds - rounds / 8);
    free(data);
}

/* By name: whatever it gives, but not where there is nothing left to code. */
static void test_forced(void **state)
{
    uint64_t seed = support_seed() + 1, payload;
    uint8_t *data = malloc(SIZE);
    (void)state;
    make_rows(&seed, 100, data);
    for (unsigned predict = WCODEC_PREDICT_LEFT; predict <= WCODEC_PREDICT_WHT; predict++)
        for (int level = 1; level <= 9; level += 4) {
            struct wcodec_encode_settings settings = settings_of(predict);
            struct wcodec_coded coded;
            settings.level = level;
            assert_int_equal(
                wcodec_encode_tensor(context, &settings, WCODEC_DTYPE_I8, data, SIZE, &coded, NULL),
                WCODEC_OK);
            assert_int_equal(coded.coding, 4);
            assert_int_equal(coded.blocks->mode_count, 1);
            assert_int_equal(coded.blocks->modes[0], predict - WCODEC_PREDICT_NONE);
            wcodec_coded_free(&coded);
        }
    memset(data, 0, SIZE);
    struct wcodec_encode_settings settings = settings_of(WCODEC_PREDICT_LEFT);
    assert_int_equal(coding_of(&settings, WCODEC_DTYPE_I8, data, SIZE, &payload), 0);
    free(data);
}

/* Rows that want left and rows that want nothing: blocks choose for themselves. */
static void test_mixture(void **state)
{
    uint64_t seed = support_seed() + 2;
    uint8_t *data = malloc(SIZE);
    (void)state;
    make_rows(&seed, 0, data);
    for (int i = 0, x = 0; i < SIZE / 2; i++) {
        x += (int)(support_random(&seed) % 3) - 1;
        data[i] = (uint8_t)(i % COLUMNS ? x : (x = noise(&seed)));
    }
    struct wcodec_predicted p;
    struct wcodec_encode_settings settings = settings_of(WCODEC_PREDICT_AUTO);
    struct wcodec_prediction look;
    assert_int_equal(wcodec_predict_look(context, &settings, 0, data, SIZE, &look, NULL),
                     WCODEC_OK);
    assert_true(look.pays);
    assert_int_equal(wcodec_predict_tensor(context, &settings, &look, data, &p, NULL), WCODEC_OK);
    assert_true(p.blocks.mode_count >= 2);
    assert_int_equal(wcodec_blocks_check_modes(&p.blocks, p.modes, NULL), WCODEC_OK);
    uint64_t none[2] = {0, 0}; /* of the upper and of the lower half */
    for (uint64_t i = 0; i < p.blocks.count; i++)
        none[i >= p.blocks.count / 2] +=
            wcodec_blocks_mode(&p.blocks, p.modes, i) == WCODEC_PREDICTOR_NONE;
    assert_true(none[0] < p.blocks.count / 20);
    assert_true(none[1] > p.blocks.count * 9 / 20);
    wcodec_predicted_free(&p);
    free(data);
}

/* Gaussian residuals, coded as such or as a tensor of their own. */
static uint64_t code_residuals(const uint8_t *data, int level, bool residuals,
                               struct wcodec_tiling *tiling)
{
    const struct wcodec_encode_settings settings = {
        .level = level, .weights = true, .residuals = residuals};
    struct wcodec_statistics statistics = {0};
    struct wcodec_coded coded;
    assert_int_equal(
        wcodec_statistics_gather(context, WCODEC_DTYPE_I8, data, LARGE, 3, &statistics, NULL),
        WCODEC_OK);
    assert_int_equal(wcodec_code_tiles(context, &settings, WCODEC_DTYPE_I8, data, LARGE,
                                       &statistics, &coded, NULL),
                     WCODEC_OK);
    *tiling = *coded.tiling;
    const uint64_t size = coded.payload_size;
    wcodec_coded_free(&coded);
    return size;
}

/* Raw bits by the residuals' width, and pairs above them, at little cost. */
static void test_residuals(void **state)
{
    uint64_t seed = support_seed();
    uint8_t *data = malloc(LARGE);
    struct wcodec_tiling t;
    static const int widths[] = {2, 4, 7};
    (void)state;
    for (unsigned low = 1; low <= 3; low++) {
        for (size_t i = 0; i < LARGE; i++)
            data[i] = (uint8_t)((fine_noise(&seed) * widths[low - 1] + 125062) / 125 - 1000);
        const uint64_t fast = code_residuals(data, 4, true, &t);
        assert_int_equal(t.field_count, 2);
        assert_int_equal(t.fields[0].kind, WCODEC_FIELD_RAW);
        assert_int_equal(t.fields[0].width, low);
        assert_int_equal(t.fields[1].profile, WCODEC_PAIRS);
        const uint64_t least = code_residuals(data, 8, true, &t);
        assert_true(fast <= least + least / 100);
        code_residuals(data, 4, false, &t);
        assert_true(t.fields[0].kind == WCODEC_FIELD_CODED || t.fields[0].width >= 3);
    }
    /* What has no raw bits is never coded in pairs. */
    for (size_t i = 0; i < LARGE; i++)
        data[i] = (uint8_t)(fine_noise(&seed) / 100 & 15);
    code_residuals(data, 4, true, &t);
    assert_true(t.fields[0].width < 8 || t.fields[0].profile != WCODEC_PAIRS);
    free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_decision), cmocka_unit_test(test_threshold),
        cmocka_unit_test(test_forced), cmocka_unit_test(test_mixture),
        cmocka_unit_test(test_residuals)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
