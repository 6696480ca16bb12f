/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "support_memory.h"
#include <xxhash.h>
#include <zstd.h>

#include "coding/chunks.h"
#include "core/memory.h"

static const wcodec_allocator *const memory = &wcodec_default_allocator;

/* Half of the bytes repeat, so that some chunks shrink and some do not. */
static void fill(uint8_t *data, size_t size, uint64_t seed)
{
    for (size_t i = 0; i < size; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        data[i] = i / 4096 % 2 ? (uint8_t)(seed >> 56) : (uint8_t)(i % 7);
    }
}

/* A whole payload, as a writer makes it. */
static uint8_t *encode(const uint8_t *data, uint64_t size, uint64_t chunk, uint64_t *payload_size)
{
    uint64_t directory = wcodec_chunks_directory_size(size, chunk),
             count = wcodec_div_up_u64(size, chunk), at = directory;
    uint8_t *payload = calloc(1, (size_t)(directory + size));
    assert_non_null(payload);
    for (uint64_t i = 0; i < count; i++) {
        uint64_t left = size - i * chunk, n = left < chunk ? left : chunk;
        uint32_t coded, check;
        assert_int_equal(wcodec_chunk_encode(NULL, data + i * chunk, (size_t)n, 3, NULL,
                                             payload + at, &coded, &check, NULL),
                         WCODEC_OK);
        assert_true(coded <= n && coded > 0);
        wcodec_store_u32(payload + 8 * i, coded);
        wcodec_store_u32(payload + 8 * i + 4, check);
        at += coded;
    }
    *payload_size = at;
    return payload;
}

/* Decode a payload whole; out has room for size bytes. */
static wcodec_status decode(const uint8_t *payload, uint64_t payload_size, uint64_t size,
                            uint64_t chunk, uint8_t *out, bool verify, wcodec_error *err)
{
    struct wcodec_chunks *chunks = NULL;
    wcodec_status status =
        wcodec_chunks_read(size, chunk, payload, payload_size, memory, &chunks, err);
    if (status != WCODEC_OK) {
        assert_null(chunks);
        return status;
    }
    for (uint64_t i = 0; status == WCODEC_OK && i < chunks->count; i++)
        status = wcodec_chunk_decode(chunks, i, payload + chunks->offsets[i], out + i * chunk,
                                     verify, NULL, err);
    wcodec_chunks_free(chunks);
    return status;
}

static void test_round_trip(void **state)
{
    (void)state;
    static const uint64_t sizes[] = {1, 2, 7, 23, 24, 25, 100, 4095, 4096, 4097, 65536, 100001};
    static const uint64_t chunks[] = {1, 3, 64, 4096, 5000, WCODEC_CHUNK_MAX};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (size_t c = 0; c < sizeof chunks / sizeof *chunks; c++) {
            uint64_t payload_size;
            uint8_t *data = malloc(sizes[s]), *out = malloc(sizes[s]);
            assert_true(data && out);
            fill(data, sizes[s], s);
            uint8_t *payload = encode(data, sizes[s], chunks[c], &payload_size);
            assert_true(payload_size <=
                        wcodec_chunks_directory_size(sizes[s], chunks[c]) + sizes[s]);
            assert_int_equal(decode(payload, payload_size, sizes[s], chunks[c], out, true, NULL),
                             WCODEC_OK);
            assert_memory_equal(data, out, sizes[s]);
            free(payload);
            free(data);
            free(out);
        }
}

static void test_compresses(void **state)
{
    (void)state;
    enum { SIZE = 100000 };
    uint8_t *data = calloc(1, SIZE), *out = malloc(SIZE);
    assert_true(data && out);
    uint32_t coded, check;
    assert_int_equal(wcodec_chunk_encode(NULL, data, SIZE, 3, NULL, out, &coded, &check, NULL),
                     WCODEC_OK);
    assert_true(coded < 100);
    assert_int_equal(ZSTD_getFrameContentSize(out, coded), SIZE);
    assert_int_equal(check, (uint32_t)XXH3_64bits(data, SIZE));
    free(data);
    free(out);
}

/* Levels that take their time code in slices: the frames are as good. */
static void test_slow_levels(void **state)
{
    (void)state;
    enum { SIZE = 700001 };
    uint8_t *data = malloc(SIZE), *payload = malloc(16 + SIZE), *out = malloc(SIZE);
    assert_true(data && payload && out);
    for (int level = 1; level <= 19; level += 6)
        for (unsigned random = 0; random < 2; random++) {
            uint32_t coded, check;
            uint64_t r = 1;
            for (size_t i = 0; i < SIZE; i++) {
                r = r * 6364136223846793005u + 1442695040888963407u;
                data[i] = random ? (uint8_t)(r >> 33) : (uint8_t)(i / 4096 % 2 ? i : r >> 40 & 3);
            }
            memset(payload, 0, 16);
            assert_int_equal(wcodec_chunk_encode(NULL, data, SIZE, level, NULL, payload + 16,
                                                 &coded, &check, NULL),
                             WCODEC_OK);
            assert_int_equal(coded == SIZE, random);
            wcodec_store_u32(payload, coded);
            wcodec_store_u32(payload + 4, check);
            assert_int_equal(decode(payload, 16 + (uint64_t)coded, SIZE, SIZE, out, true, NULL),
                             WCODEC_OK);
            assert_memory_equal(data, out, SIZE);
        }
    free(data);
    free(payload);
    free(out);
}

static int stop(void *opaque, uint64_t done, uint64_t total)
{
    (void)opaque, (void)done, (void)total;
    return 1;
}

static void test_cancel(void **state)
{
    (void)state;
    enum { SIZE = 3 << 20 };
    uint8_t *data = calloc(1, SIZE), *out = malloc(SIZE);
    struct wcodec_reporter reporter;
    struct wcodec_cancel cancel;
    wcodec_progress progress = {.fn = stop};
    uint32_t coded = 7, check = 7;
    assert_true(data && out);
    wcodec_reporter_init(&reporter, &progress, SIZE);
    reporter.last = 0; /* long ago */
    wcodec_cancel_init(&cancel, &reporter);
    assert_int_equal(wcodec_chunk_encode(NULL, data, SIZE, 19, &cancel, out, &coded, &check, NULL),
                     WCODEC_ERROR_CANCELLED);
    assert_int_equal(coded, 7);
    assert_int_equal(check, 7);
    free(data);
    free(out);
}

static void test_encode_limits(void **state)
{
    (void)state;
    uint8_t byte = 5, out = 0;
    uint32_t coded, check;
    wcodec_error err = {0};
    assert_int_equal(wcodec_chunk_encode(NULL, &byte, (size_t)WCODEC_CHUNK_MAX + 1, 3, NULL, &out,
                                         &coded, &check, &err),
                     WCODEC_ERROR_USAGE);
    assert_int_equal(wcodec_chunk_encode(NULL, &byte, 1, 3, NULL, &out, &coded, &check, NULL),
                     WCODEC_OK);
    assert_int_equal(coded, 1);
    assert_int_equal(out, 5);
    assert_int_equal(wcodec_chunk_encode(NULL, &byte, 0, 3, NULL, &out, &coded, &check, NULL),
                     WCODEC_OK);
    assert_int_equal(coded, 0);
}

static void test_directory_size(void **state)
{
    (void)state;
    assert_int_equal(wcodec_chunks_directory_size(0, 1), 0);
    assert_int_equal(wcodec_chunks_directory_size(1, 1), 16);
    assert_int_equal(wcodec_chunks_directory_size(2, 1), 16);
    assert_int_equal(wcodec_chunks_directory_size(3, 1), 32);
    assert_int_equal(wcodec_chunks_directory_size(3, 3), 16);
    assert_int_equal(wcodec_chunks_directory_size(5, 0), 0);
    assert_true(wcodec_chunks_directory_size((uint64_t)1 << 48, 1) == (uint64_t)1 << 51);
}

/* One directory of three chunks of 40, 40 and 20 bytes, all stored. */
enum { DIR_SIZE = 100, DIR_CHUNK = 40, DIR_BYTES = 32, DIR_PAYLOAD = DIR_BYTES + DIR_SIZE };

static void make_stored(uint8_t payload[DIR_PAYLOAD])
{
    uint8_t *data = payload + DIR_BYTES;
    memset(payload, 0, DIR_BYTES);
    for (unsigned i = 0; i < DIR_SIZE; i++)
        data[i] = (uint8_t)(i * 37);
    for (unsigned i = 0; i < 3; i++) {
        unsigned n = i < 2 ? 40 : 20;
        wcodec_store_u32(payload + 8 * i, n);
        wcodec_store_u32(payload + 8 * i + 4, (uint32_t)XXH3_64bits(data + i * 40, n));
    }
}

static void expect_corrupt(const uint8_t *payload, uint64_t payload_size, uint64_t size,
                           uint64_t chunk)
{
    uint8_t out[DIR_SIZE];
    wcodec_error err = {0};
    assert_int_equal(decode(payload, payload_size, size, chunk, out, true, &err),
                     WCODEC_ERROR_CORRUPT);
    assert_int_equal(err.status, WCODEC_ERROR_CORRUPT);
    assert_true(err.text[0] != 0);
}

static void test_bad_directory(void **state)
{
    (void)state;
    uint8_t payload[DIR_PAYLOAD + 1] = {0}, out[DIR_SIZE];
    make_stored(payload);
    assert_int_equal(decode(payload, DIR_PAYLOAD, DIR_SIZE, DIR_CHUNK, out, true, NULL), WCODEC_OK);
    expect_corrupt(payload, DIR_PAYLOAD, DIR_SIZE, 0);
    expect_corrupt(payload, DIR_PAYLOAD, DIR_SIZE, (uint64_t)WCODEC_CHUNK_MAX + 1);
    expect_corrupt(payload, DIR_PAYLOAD, DIR_SIZE, UINT64_MAX);
    expect_corrupt(payload, DIR_PAYLOAD, 0, DIR_CHUNK);
    expect_corrupt(payload, DIR_PAYLOAD, UINT64_MAX, DIR_CHUNK);
    /* A directory that could not be in so few bytes: refused before memory is taken for it. */
    expect_corrupt(payload, DIR_PAYLOAD, (uint64_t)1 << 48, 1);
    expect_corrupt(payload, DIR_PAYLOAD - 1, DIR_SIZE, DIR_CHUNK);
    expect_corrupt(payload, DIR_PAYLOAD + 1, DIR_SIZE, DIR_CHUNK);
    expect_corrupt(payload, DIR_BYTES, DIR_SIZE, DIR_CHUNK);
    expect_corrupt(payload, DIR_BYTES - 1, DIR_SIZE, DIR_CHUNK);
    expect_corrupt(payload, 0, DIR_SIZE, DIR_CHUNK);
    payload[31] = 1; /* padding */
    expect_corrupt(payload, DIR_PAYLOAD, DIR_SIZE, DIR_CHUNK);
    static const uint32_t lies[] = {0, 39, 41, UINT32_MAX};
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        make_stored(payload);
        wcodec_store_u32(payload, lies[i]);
        expect_corrupt(payload, DIR_PAYLOAD, DIR_SIZE, DIR_CHUNK);
    }
    /* The sum is right but a chunk is larger than what it decodes to. */
    make_stored(payload);
    wcodec_store_u32(payload + 8, 30);
    wcodec_store_u32(payload + 16, 30);
    expect_corrupt(payload, DIR_PAYLOAD, DIR_SIZE, DIR_CHUNK);
}

/* A payload of one chunk made of the given bytes. */
static void expect_bad_frame(const void *frame, size_t frame_size, uint64_t size, const void *right)
{
    uint8_t *payload = calloc(1, 16 + frame_size), *out = malloc(size);
    assert_true(payload && out);
    wcodec_store_u32(payload, (uint32_t)frame_size);
    wcodec_store_u32(payload + 4, (uint32_t)XXH3_64bits(right, size));
    memcpy(payload + 16, frame, frame_size);
    wcodec_error err = {0};
    assert_int_equal(decode(payload, 16 + frame_size, size, size, out, false, &err),
                     WCODEC_ERROR_CORRUPT);
    free(payload);
    free(out);
}

static size_t compress(ZSTD_CCtx *c, int content_size, const void *data, size_t size,
                       uint8_t *frame, size_t capacity)
{
    ZSTD_CCtx_reset(c, ZSTD_reset_session_and_parameters);
    ZSTD_CCtx_setParameter(c, ZSTD_c_contentSizeFlag, content_size);
    size_t n = ZSTD_compress2(c, frame, capacity, data, size);
    assert_false(ZSTD_isError(n));
    return n;
}

static void test_frames_that_lie(void **state)
{
    (void)state;
    enum { SIZE = 5000 };
    uint8_t data[SIZE] = {0}, frame[SIZE];
    ZSTD_CCtx *c = ZSTD_createCCtx();
    assert_non_null(c);
    size_t n = compress(c, 0, data, SIZE, frame, sizeof frame);
    expect_bad_frame(frame, n, SIZE, data); /* no size declared */
    n = compress(c, 1, data, SIZE - 1, frame, sizeof frame);
    expect_bad_frame(frame, n, SIZE, data); /* too short */
    n = compress(c, 1, data, SIZE + 0, frame, sizeof frame);
    expect_bad_frame(frame, n, SIZE + 1, data); /* too long */
    frame[n] = 0;
    expect_bad_frame(frame, n + 1, SIZE, data); /* a byte after the frame */
    expect_bad_frame(frame, n - 1, SIZE, data); /* cut */
    /* A frame that may be skipped, before and after the right one; two frames that together have
     * the size. */
    uint8_t joined[2 * SIZE] = {0x50, 0x2a, 0x4d, 0x18, 0, 0, 0, 0};
    memcpy(joined + 8, frame, n);
    expect_bad_frame(joined, n + 8, SIZE, data);
    memcpy(joined + n, joined, 8);
    memcpy(joined, frame, n);
    expect_bad_frame(joined, n + 8, SIZE, data);
    size_t half = compress(c, 1, data, SIZE / 2, joined, sizeof joined);
    memcpy(joined + half, joined, half);
    expect_bad_frame(joined, 2 * half, SIZE, data);
    memset(joined, 0, sizeof joined);
    expect_bad_frame(joined, 100, SIZE, data); /* no frame at all */
    ZSTD_freeCCtx(c);
}

static void test_check_is_compared(void **state)
{
    (void)state;
    uint8_t payload[DIR_PAYLOAD], out[DIR_SIZE];
    for (unsigned i = DIR_BYTES; i < DIR_PAYLOAD; i++) {
        make_stored(payload);
        payload[i] ^= 0x10;
        assert_int_equal(decode(payload, DIR_PAYLOAD, DIR_SIZE, DIR_CHUNK, out, true, NULL),
                         WCODEC_ERROR_CORRUPT);
        assert_int_equal(decode(payload, DIR_PAYLOAD, DIR_SIZE, DIR_CHUNK, out, false, NULL),
                         WCODEC_OK);
    }
}

/* Every flip and every cut of a payload with compressed and stored chunks is found. */
static void test_damage(void **state)
{
    (void)state;
    enum { SIZE = 6000, CHUNK = 2500 };
    uint8_t data[SIZE], out[SIZE];
    fill(data, SIZE, 3);
    uint64_t payload_size;
    uint8_t *payload = encode(data, SIZE, CHUNK, &payload_size);
    for (size_t bit = 0; bit < 8 * payload_size; bit++) {
        payload[bit / 8] ^= (uint8_t)(1u << bit % 8);
        /* A zstd frame has bits without a meaning (its unused bit, its window's size): then the
         * bytes must be right. */
        if (decode(payload, payload_size, SIZE, CHUNK, out, true, NULL) == WCODEC_OK)
            assert_memory_equal(data, out, SIZE);
        payload[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    for (uint64_t cut = 0; cut < payload_size; cut++) {
        uint8_t *copy = malloc(cut ? cut : 1); /* so that a checker sees a read beyond it */
        assert_non_null(copy);
        memcpy(copy, payload, cut);
        assert_int_equal(decode(copy, cut, SIZE, CHUNK, out, true, NULL), WCODEC_ERROR_CORRUPT);
        free(copy);
    }
    free(payload);
}

static void test_out_of_memory(void **state)
{
    (void)state;
    uint8_t payload[DIR_PAYLOAD];
    make_stored(payload);
    for (int n = 0;; n++) {
        struct support_allocator failing;
        support_allocator_init(&failing, n);
        struct wcodec_chunks *chunks = NULL;
        wcodec_status status = wcodec_chunks_read(DIR_SIZE, DIR_CHUNK, payload, DIR_PAYLOAD,
                                                  &failing.allocator, &chunks, NULL);
        if (status == WCODEC_OK) {
            assert_true(n > 0);
            wcodec_chunks_free(chunks);
            break;
        }
        assert_int_equal(status, WCODEC_ERROR_MEMORY);
        assert_null(chunks);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_compresses),
        cmocka_unit_test(test_encode_limits),
        cmocka_unit_test(test_slow_levels),
        cmocka_unit_test(test_cancel),
        cmocka_unit_test(test_directory_size),
        cmocka_unit_test(test_bad_directory),
        cmocka_unit_test(test_frames_that_lie),
        cmocka_unit_test(test_check_is_compared),
        cmocka_unit_test(test_damage),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
