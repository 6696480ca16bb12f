/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Packed payloads (doc/format.md 2.7): every payload without runs and stored tiles comes back, cut
 * ones are refused, damaged ones stay inside their memory. */
#include "support.h"
#include "support_tiles.h"

#include "coding/packed.h"
#include "core/error.h"

#include <stdlib.h>

static bool has_stored(const struct support_tensor *x)
{
    struct wcodec_tiles *tiles;
    bool stored = false;
    assert_int_equal(wcodec_tiles_read(&x->tiling, x->payload, x->payload_size,
                                       &wcodec_default_allocator, &tiles, NULL),
                     WCODEC_OK);
    for (uint64_t i = 0; i < x->tiling.tiles; i++)
        stored = stored || tiles->streams[i * x->tiling.coded_count].mode == WCODEC_STREAM_STORED;
    wcodec_tiles_free(tiles);
    return stored;
}

/* Blocks of their own size, so that an access outside of them is seen. */
static uint8_t *pack(const struct support_tensor *x, size_t *size)
{
    uint8_t *room = malloc(x->payload_size + 1000);
    *size =
        wcodec_packed_write(&x->tiling, x->payload, x->payload_size, room, x->payload_size + 1000);
    assert_int_not_equal(*size, 0);
    uint8_t *packed = malloc(*size);
    memcpy(packed, room, *size);
    assert_int_equal(wcodec_packed_write(&x->tiling, x->payload, x->payload_size, room, *size),
                     *size);
    assert_memory_equal(room, packed, *size);
    assert_int_equal(wcodec_packed_write(&x->tiling, x->payload, x->payload_size, room, *size - 1),
                     0);
    free(room);
    return packed;
}

static wcodec_status unpack(const struct support_tensor *x, const uint8_t *packed, size_t size,
                            uint8_t *payload)
{
    wcodec_error err = {0};
    const wcodec_status status =
        wcodec_packed_read(&x->tiling, packed, size, payload, x->payload_size, &err);
    if (status != WCODEC_OK) {
        assert_int_equal(status, WCODEC_ERROR_CORRUPT);
        assert_non_null(strstr(err.text, "packed payload"));
    }
    return status;
}

static void check_cuts(const struct support_tensor *x, const uint8_t *packed, size_t size,
                       uint8_t *payload, uint64_t *seed)
{
    for (unsigned i = 0; i < 20; i++) {
        const size_t cut = i < 5 ? size - 1 - i % size : support_random(seed) % size;
        uint8_t *some = malloc(cut + 1);
        memcpy(some, packed, cut);
        assert_int_equal(unpack(x, some, cut, payload), WCODEC_ERROR_CORRUPT);
        free(some);
    }
    uint8_t *more = malloc(size + 1);
    memcpy(more, packed, size);
    more[size] = 0;
    assert_int_equal(unpack(x, more, size + 1, payload), WCODEC_ERROR_CORRUPT);
    free(more);
}

/* What comes of damage may be another payload; sanitizers see what it may not do. */
static void check_flips(const struct support_tensor *x, uint8_t *packed, size_t size,
                        uint8_t *payload, uint64_t *seed)
{
    for (unsigned i = 0; i < 100; i++) {
        const size_t at = support_random(seed) % (i < 50 && size > 64 ? 64 : size);
        const uint8_t flip = (uint8_t)(1u << support_random(seed) % 8);
        packed[at] ^= flip;
        if (unpack(x, packed, size, payload) == WCODEC_OK)
            assert_memory_not_equal(payload, x->payload, x->payload_size);
        packed[at] ^= flip;
    }
}

static void test_round_trip(void **state)
{
    uint64_t seed = support_seed();
    unsigned packed_count = 0;
    (void)state;
    for (unsigned i = 0; i < 600; i++) {
        struct support_tensor x;
        size_t size;
        support_tensor_make(&seed, i % 3 == 0 ? 0 : 1 + support_random(&seed) % 3000, &x);
        if (!wcodec_packed_applies(&x.tiling, x.payload_size)) {
            support_tensor_free(&x);
            continue;
        }
        if (has_stored(&x)) {
            uint8_t room[64];
            assert_int_equal(
                wcodec_packed_write(&x.tiling, x.payload, x.payload_size, room, sizeof room), 0);
            support_tensor_free(&x);
            continue;
        }
        uint8_t *packed = pack(&x, &size), *payload = malloc(x.payload_size);
        packed_count++;
        assert_int_equal(unpack(&x, packed, size, payload), WCODEC_OK);
        assert_memory_equal(payload, x.payload, x.payload_size);
        check_cuts(&x, packed, size, payload, &seed);
        check_flips(&x, packed, size, payload, &seed);
        free(payload);
        free(packed);
        support_tensor_free(&x);
    }
    if (packed_count < 100)
        fail_msg("only %u payloads were packed", packed_count);
}

/* Payloads that are too large, and fields with runs, are not for it. */
static void test_applies(void **state)
{
    uint64_t seed = support_seed() + 1;
    struct support_tensor x = {0};
    (void)state;
    do {
        support_tensor_free(&x);
        support_tensor_make(&seed, 500, &x);
    } while (!wcodec_packed_applies(&x.tiling, x.payload_size));
    assert_true(wcodec_packed_applies(&x.tiling, WCODEC_PACKED_MOST));
    assert_false(wcodec_packed_applies(&x.tiling, WCODEC_PACKED_MOST + 1));
    assert_false(wcodec_packed_applies(&x.tiling, x.tiling.prefix_size - 1));
    x.tiling.size = WCODEC_PACKED_MOST + 1;
    assert_false(wcodec_packed_applies(&x.tiling, x.payload_size));
    x.tiling.size = WCODEC_PACKED_MOST;
    x.tiling.fields[x.tiling.coded[0]].run_log2 = 7;
    assert_false(wcodec_packed_applies(&x.tiling, x.payload_size));
    support_tensor_free(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_applies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
