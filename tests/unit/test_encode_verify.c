/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* An encoder that computed wrongly is found: whatever part of a payload in several ranges of tiles
 * has a bit that is another, or whatever element is not what was coded. */
#include "support.h"

#include "core/bytes.h"
#include "encode/encode.h"

enum { ELEMENTS = 5 << 16 }; /* bf16 in tiles of 2^16 or fewer, in ranges of 2^17 */

/* Exponents as weights have them, sign and mantissa any. */
static uint8_t *make(uint64_t *seed)
{
    uint8_t *data = malloc(2 * (size_t)ELEMENTS);
    assert_non_null(data);
    for (size_t i = 0; i < ELEMENTS; i++) {
        const uint64_t r = support_random(seed);
        const unsigned below = (unsigned)__builtin_ctzll(r >> 20 | 1 << 20);
        wcodec_store_u16(data + 2 * i, (uint16_t)((r & 0x807f) | (120 - below) << 7));
    }
    return data;
}

static void test_changes(void **state)
{
    uint64_t seed = support_seed(), looked = 0;
    wcodec_options options;
    wcodec_context *context;
    uint8_t *data = make(&seed);
    const struct wcodec_encode_settings settings = {.level = 3, .verify = true, .weights = true};
    struct wcodec_coded coded;
    wcodec_error err;
    (void)state;
    wcodec_options_init(&options);
    options.threads = 2;
    assert_int_equal(wcodec_context_create(&options, &context, NULL), WCODEC_OK);
    assert_int_equal(wcodec_encode_tensor(context, &settings, WCODEC_DTYPE_BF16, data,
                                          2 * (uint64_t)ELEMENTS, &coded, &err),
                     WCODEC_OK);
    assert_int_equal(coded.coding, WCODEC_CODING_TILES);
    assert_true(coded.range_count > 1);
    assert_int_equal(wcodec_coded_verify(context, &settings, &coded, data, NULL, &err), WCODEC_OK);
    for (size_t i = 0; i < coded.part_count; i++) {
        const struct wcodec_coded_part *part = &coded.parts[i];
        for (unsigned k = 0; k < 2 && part->size != 0; k++, looked++) {
            uint8_t *byte = part->data + part->size * k / 2;
            const uint8_t bit = (uint8_t)(1u << support_random(&seed) % 8);
            *byte ^= bit;
            assert_int_equal(wcodec_coded_verify(context, &settings, &coded, data, NULL, &err),
                             WCODEC_ERROR_DEVICE);
            *byte ^= bit;
        }
    }
    assert_true(looked >= 2 * (1 + 3 * coded.range_count)); /* states, words and raw bits */
    for (unsigned i = 0; i < 20; i++) {
        uint8_t *byte = data + (i == 0 ? 2 * (size_t)ELEMENTS - 1
                                       : support_random(&seed) % (2 * (size_t)ELEMENTS));
        *byte ^= 1;
        assert_int_equal(wcodec_coded_verify(context, &settings, &coded, data, NULL, &err),
                         WCODEC_ERROR_DEVICE);
        *byte ^= 1;
    }
    assert_int_equal(wcodec_coded_verify(context, &settings, &coded, data, NULL, &err), WCODEC_OK);
    wcodec_coded_free(&coded);
    free(data);
    wcodec_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_changes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
