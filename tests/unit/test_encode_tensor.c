/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "support.h"

#include "core/dtype.h"
#include "core/memory.h"
#include "encode/tables.h"
#include "encode/encode.h"
#include "support_encode.h"
#include <malloc.h>
#include <stdatomic.h>
#include <wcodec.h>

struct sample {
    wcodec_context *context;
    uint64_t seed;
};

static int setup(void **state)
{
    struct sample *s = calloc(1, sizeof *s);
    wcodec_options options;
    wcodec_options_init(&options);
    options.threads = 2;
    s->seed = support_seed();
    if (wcodec_context_create(&options, &s->context, NULL))
        return -1;
    *state = s;
    return 0;
}

static int teardown(void **state)
{
    struct sample *s = *state;
    wcodec_context_destroy(s->context);
    free(s);
    return 0;
}

static const struct wcodec_encode_settings level3 = {.level = 3, .verify = true, .weights = true};

/* Sum of eight uniform numbers: near enough to normal, without a library. Standard deviation 0.82 *
 * 2^-b. */
static float weight(uint64_t *seed)
{
    uint64_t r = support_random(seed), q = support_random(seed);
    int64_t sum = 0;
    for (unsigned i = 0; i < 4; i++)
        sum += (int64_t)(r >> (16 * i) & 0xffff) + (int64_t)(q >> (16 * i) & 0xffff);
    return (float)(sum - 4 * 0xffff) / 65536.0f * 0.04f;
}

static uint32_t float_bits(float f)
{
    uint32_t u;
    memcpy(&u, &f, sizeof u);
    return u;
}

enum pattern {
    WEIGHTS,
    UNIFORM,
    CONSTANT,
    TWO_VALUES,
    ONE_OUTLIER,
    ALTERNATING,
    SORTED,
    NANS,
    SPARSE,
    PATTERNS
};

static uint64_t element(enum pattern pattern, wcodec_dtype dtype, uint64_t i, uint64_t n,
                        uint64_t *seed)
{
    uint32_t f = float_bits(weight(seed));
    uint64_t natural;
    switch (dtype) {
    case WCODEC_DTYPE_F32:
    case WCODEC_DTYPE_C64:
        natural = f;
        break;
    case WCODEC_DTYPE_BF16:
        natural = f >> 16;
        break;
    case WCODEC_DTYPE_F64: {
        double d = weight(seed);
        memcpy(&natural, &d, sizeof natural);
        natural |= support_random(seed) & 0x1fffffff;
        break;
    }
    default:
        natural = (uint64_t)(int64_t)(weight(seed) * 800.0f);
    }
    switch (pattern) {
    case WEIGHTS:
        return natural;
    case UNIFORM:
        return support_random(seed);
    case CONSTANT:
        return 0x8123456789abcdef;
    case TWO_VALUES:
        return support_random(seed) & 1 ? 0x3ff03f803c003880 : 0xbff0bf80bc00b888;
    case ONE_OUTLIER:
        return i == n / 2 ? UINT64_MAX : 0x0101010101010101;
    case ALTERNATING:
        return i & 1 ? 0xaaaaaaaaaaaaaaaa : 0x5555555555555555;
    case SORTED:
        return i * 3;
    case NANS:
        return support_random(seed) % 3 ? natural : UINT64_MAX << 7 | (support_random(seed) & 0x7f);
    default:
        return support_random(seed) % 8 ? 0 : natural;
    }
}

static uint8_t *make(enum pattern pattern, wcodec_dtype dtype, uint64_t elements, uint64_t *seed)
{
    unsigned bytes = 1u << wcodec_dtype_element_log2(dtype);
    uint8_t *data = malloc(elements * bytes + 1);
    assert_non_null(data);
    for (uint64_t i = 0; i < elements; i++)
        wcodec_store_uint(data + i * bytes, element(pattern, dtype, i, elements, seed), bytes);
    return data;
}

/* Code, decode by the stored form, compare; the coded size must be in bounds. Returns it. Masks
 * have a test of their own, test_read_masked. */
static uint64_t round_trip(wcodec_context *context, const struct wcodec_encode_settings *settings,
                           wcodec_dtype dtype, const uint8_t *data, uint64_t size)
{
    struct wcodec_encode_settings own = *settings;
    struct wcodec_coded coded;
    wcodec_error err;
    own.part = true;
    wcodec_status status = wcodec_encode_tensor(context, &own, dtype, data, size, &coded, &err);
    if (status != WCODEC_OK)
        fail_msg("%s", err.text);
    uint8_t *out = malloc(size + 1);
    assert_non_null(out);
    out[size] = 0xa5;
    status = support_coded_decode(&coded, size, out, &err);
    if (status != WCODEC_OK)
        fail_msg("%s", err.text);
    assert_int_equal(out[size], 0xa5);
    if (size)
        assert_memory_equal(out, data, size);
    /* Never larger than stored chunks: 8 bytes a chunk of 4 MiB, aligned to 16. */
    assert_true(coded.payload_size <= size + 16 + (size >> 19));
    uint64_t coded_size = coded.payload_size;
    wcodec_coded_free(&coded);
    free(out);
    return coded_size;
}

static void test_round_trip(void **state)
{
    struct sample *s = *state;
    static const uint64_t sizes[] = {1, 2, 127, 128, 129, 4095, 4096, 4097, 8193, 20001};
    for (unsigned dtype = 0; dtype < WCODEC_DTYPE_COUNT; dtype++)
        for (unsigned pattern = 0; pattern < PATTERNS; pattern++)
            for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
                uint8_t *data = make(pattern, dtype, sizes[i], &s->seed);
                round_trip(s->context, &level3, dtype, data,
                           sizes[i] << wcodec_dtype_element_log2(dtype));
                free(data);
            }
}

/* A small tensor of f16 has rows of raw bits that are not full: packed at every level but for
 * latency. What is changed then is found. */
static void test_packed(void **state)
{
    struct sample *s = *state;
    enum { SIZE = 2560 };
    uint8_t *data = make(WEIGHTS, WCODEC_DTYPE_F16, SIZE / 2, &s->seed);
    struct wcodec_encode_settings settings = {.level = 3, .weights = true, .latency = true};
    struct wcodec_coded coded;
    wcodec_error err;
    assert_int_equal(
        wcodec_encode_tensor(s->context, &settings, WCODEC_DTYPE_F16, data, SIZE, &coded, NULL),
        WCODEC_OK);
    assert_int_equal(coded.unpacked_size, 0);
    const uint64_t plain = coded.payload_size;
    wcodec_coded_free(&coded);
    settings.latency = false;
    for (settings.level = 1; settings.level <= 9; settings.level++) {
        assert_int_equal(
            wcodec_encode_tensor(s->context, &settings, WCODEC_DTYPE_F16, data, SIZE, &coded, NULL),
            WCODEC_OK);
        assert_int_not_equal(coded.unpacked_size, 0);
        assert_true(coded.payload_size < plain - plain / 40);
        assert_int_equal(wcodec_coded_verify(s->context, &settings, &coded, data, NULL, &err),
                         WCODEC_OK);
        for (uint64_t i = 0; i < coded.payload_size; i += 37) {
            coded.parts[0].data[i] ^= (uint8_t)(1u << i % 8);
            assert_int_equal(wcodec_coded_verify(s->context, &settings, &coded, data, NULL, &err),
                             WCODEC_ERROR_DEVICE);
            coded.parts[0].data[i] ^= (uint8_t)(1u << i % 8);
        }
        wcodec_coded_free(&coded);
    }
    free(data);
    /* One of bf16 has full rows: not worth it. */
    data = make(WEIGHTS, WCODEC_DTYPE_BF16, 2048, &s->seed);
    settings.level = 3;
    assert_int_equal(
        wcodec_encode_tensor(s->context, &settings, WCODEC_DTYPE_BF16, data, 4096, &coded, NULL),
        WCODEC_OK);
    assert_int_equal(coded.unpacked_size, 0);
    wcodec_coded_free(&coded);
    free(data);
}

/* Of a small tensor a few values of each mantissa byte are looked at: one that is worth coding is
 * coded for all that, with few values throughout as well as in a part. */
static void test_small_mantissas(void **state)
{
    enum { COUNT = 4096 };
    struct sample *s = *state;
    for (unsigned part = 1; part <= 2; part++)
        for (unsigned byte = 0; byte < 2; byte++) {
            uint8_t *data = make(WEIGHTS, WCODEC_DTYPE_F32, COUNT, &s->seed);
            /* Sums of 16-bit numbers leave low bits of a float zero. */
            for (size_t i = 0; i < COUNT; i++)
                wcodec_store_u16(data + 4 * i, (uint16_t)support_random(&s->seed));
            const uint64_t plain =
                round_trip(s->context, &level3, WCODEC_DTYPE_F32, data, 4 * COUNT);
            for (size_t i = 0; i < COUNT / part; i++)
                data[4 * i + byte] &= 1;
            const uint64_t size =
                round_trip(s->context, &level3, WCODEC_DTYPE_F32, data, 4 * COUNT);
            assert_true(size + COUNT / (part == 1 ? 2u : 16u) < plain);
            free(data);
        }
}

/* What stays of a small payload is the same bytes and parameters. */
static void test_gather(void **state)
{
    struct sample *s = *state;
    static const wcodec_dtype dtypes[] = {WCODEC_DTYPE_BF16, WCODEC_DTYPE_F16, WCODEC_DTYPE_U8};
    for (unsigned d = 0; d < sizeof dtypes / sizeof *dtypes; d++)
        for (unsigned pattern = 0; pattern < PATTERNS; pattern++) {
            uint8_t *data = make(pattern, dtypes[d], 3000, &s->seed),
                    expected[WCODEC_TILING_MAX_BYTES];
            struct wcodec_coded coded;
            size_t size = 0;
            assert_int_equal(
                wcodec_encode_tensor(s->context, &level3, dtypes[d], data,
                                     (uint64_t)3000 << wcodec_dtype_element_log2(dtypes[d]), &coded,
                                     NULL),
                WCODEC_OK);
            const bool tiles = coded.coding == WCODEC_CODING_TILES;
            uint8_t *payload = support_coded_payload(&coded);
            if (tiles)
                size = wcodec_tiling_write(coded.tiling, expected);
            assert_int_equal(wcodec_coded_gather(&coded, NULL), WCODEC_OK);
            if (tiles) {
                assert_int_equal(coded.part_count, 1);
                assert_null(coded.tiling);
                assert_int_equal(coded.parameters_size, size);
                assert_memory_equal(coded.tiling_parameters, expected, size);
            } else {
                assert_null(coded.tiling_parameters);
            }
            uint8_t *after = support_coded_payload(&coded);
            assert_memory_equal(after, payload, (size_t)coded.payload_size);
            wcodec_coded_free(&coded);
            free(after);
            free(payload);
            free(data);
        }
}

static void test_empty(void **state)
{
    struct sample *s = *state;
    struct wcodec_coded coded;
    for (unsigned dtype = 0; dtype < WCODEC_DTYPE_COUNT; dtype++) {
        assert_int_equal(wcodec_encode_tensor(s->context, &level3, dtype, "", 0, &coded, NULL),
                         WCODEC_OK);
        assert_int_equal(coded.coding, 0);
        assert_int_equal(coded.constant_element_log2, 0);
        assert_int_equal(coded.constant_element[0], 0);
        assert_int_equal(coded.payload_size, 0);
        wcodec_coded_free(&coded);
    }
}

static void test_constant(void **state)
{
    struct sample *s = *state;
    for (unsigned dtype = 0; dtype < WCODEC_DTYPE_COUNT; dtype++) {
        uint8_t *data = make(CONSTANT, dtype, 5000, &s->seed);
        assert_int_equal(
            round_trip(s->context, &level3, dtype, data, 5000u << wcodec_dtype_element_log2(dtype)),
            0);
        free(data);
    }
}

/* Levels, tile sizes, profiles: all decode. Of the sizes one by turns, all where there is time. */
static void test_settings(void **state)
{
    struct sample *s = *state;
    const bool all = support_full();
    static const wcodec_dtype dtypes[] = {WCODEC_DTYPE_BF16, WCODEC_DTYPE_F16,     WCODEC_DTYPE_F32,
                                          WCODEC_DTYPE_I8,   WCODEC_DTYPE_F8_E4M3, WCODEC_DTYPE_I32,
                                          WCODEC_DTYPE_F64};
    for (unsigned d = 0; d < sizeof dtypes / sizeof *dtypes; d++)
        for (unsigned pattern = 0; pattern < PATTERNS; pattern++) {
            uint8_t *data = make(pattern, dtypes[d], 70001, &s->seed);
            for (unsigned profile = 0; profile <= WCODEC_P8; profile++)
                for (unsigned tile_log2 = 12; tile_log2 <= 16; tile_log2 += 2) {
                    if (!all && (d + pattern + profile + tile_log2 / 2) % 3 != 0)
                        continue;
                    struct wcodec_encode_settings settings = {
                        .level = (int)(1 + support_random(&s->seed) % 6),
                        .profile = (uint8_t)profile,
                        .tile_log2 = (uint8_t)tile_log2,
                        .weights = true};
                    /* Some tiles and a part of one. */
                    const uint64_t elements = tile_log2 == 12 ? 20001 : 70001;
                    round_trip(s->context, &settings, dtypes[d], data,
                               elements << wcodec_dtype_element_log2(dtypes[d]));
                }
            free(data);
        }
}

/* The whole path with data at every misalignment. */
/* Small integers of 16 bits take no bit for their sign beside what their values take. */
static void test_small_integers(void **state)
{
    enum { COUNT = 100000 };
    struct sample *s = *state;
    uint64_t counts[64] = {0};
    uint8_t *data = malloc(2 * COUNT);
    assert_non_null(data);
    for (unsigned i = 0; i < COUNT; i++) {
        const uint64_t r = support_random(&s->seed);
        const int v = (int)(r % 8 + r / 8 % 8 + r / 64 % 8 + r / 512 % 8) - 14;
        wcodec_store_u16(data + 2 * i, (uint16_t)v);
        counts[v + 14]++;
    }
    const uint64_t bits = wcodec_entropy(counts, 64) / WCODEC_BIT,
                   size = round_trip(s->context, &level3, WCODEC_DTYPE_I16, data, 2 * COUNT);
    assert_true(8 * size < bits + bits / 32);
    free(data);
}

static void test_misaligned(void **state)
{
    struct sample *s = *state;
    for (unsigned offset = 1; offset < 8; offset++) {
        uint8_t *data = make(WEIGHTS, WCODEC_DTYPE_F32, 9000, &s->seed);
        uint8_t *moved = malloc(9000 * 4 + 8);
        assert_non_null(moved);
        memcpy(moved + offset, data, 9000 * 4);
        round_trip(s->context, &level3, WCODEC_DTYPE_F32, moved + offset, 9000 * 4);
        free(moved);
        free(data);
    }
}

static void compare_threads(wcodec_dtype dtype, const uint8_t *data, uint64_t size, int level)
{
    static const unsigned threads[] = {1, 2, 5};
    uint8_t *first = NULL, parameters[2][WCODEC_TILING_MAX_BYTES];
    uint64_t first_size = 0;
    size_t first_parameters = 0;
    for (unsigned i = 0; i < 3; i++) {
        struct wcodec_encode_settings settings = {.level = level, .verify = false, .weights = true};
        struct wcodec_coded coded;
        wcodec_context *context;
        wcodec_options options;
        wcodec_options_init(&options);
        options.threads = threads[i];
        assert_int_equal(wcodec_context_create(&options, &context, NULL), WCODEC_OK);
        assert_int_equal(wcodec_encode_tensor(context, &settings, dtype, data, size, &coded, NULL),
                         WCODEC_OK);
        uint8_t *payload = support_coded_payload(&coded);
        size_t n = coded.tiling ? wcodec_tiling_write(coded.tiling, parameters[i > 0]) : 0;
        if (i == 0) {
            first = payload;
            first_size = coded.payload_size;
            first_parameters = n;
        } else {
            assert_int_equal(coded.payload_size, first_size);
            assert_int_equal(n, first_parameters);
            assert_memory_equal(parameters[0], parameters[1], n);
            assert_memory_equal(payload, first, first_size);
            free(payload);
        }
        wcodec_coded_free(&coded);
        wcodec_context_destroy(context);
    }
    free(first);
}

static void test_threads(void **state)
{
    struct sample *s = *state;
    static const wcodec_dtype dtypes[] = {WCODEC_DTYPE_BF16, WCODEC_DTYPE_I8, WCODEC_DTYPE_F64};
    static const uint64_t few[] = {140001, 280001, 40001};
    for (unsigned d = 0; d < 3; d++)
        for (int level = 1; level <= 6; level++) {
            /* Two ranges; more of them once. */
            const uint64_t elements = level == 3 ? 300001 : few[d];
            uint8_t *data = make(level % 2 ? WEIGHTS : SPARSE, dtypes[d], elements, &s->seed);
            compare_threads(dtypes[d], data, elements << wcodec_dtype_element_log2(dtypes[d]),
                            level);
            free(data);
        }
}

/* An allocator that fails at the n-th call. */
struct failing {
    size_t calls, fail_at, held;
    bool kept; /* what failed was asked for in place of memory that stays */
};

static void *failing_allocate(void *opaque, size_t size)
{
    struct failing *f = opaque;
    if (++f->calls == f->fail_at)
        return NULL;
    f->held++;
    return malloc(size ? size : 1);
}

static void *failing_reallocate(void *opaque, void *memory, size_t size)
{
    struct failing *f = opaque;
    if (++f->calls == f->fail_at) {
        f->kept = memory != NULL;
        return NULL;
    }
    f->held += memory == NULL;
    return realloc(memory, size ? size : 1);
}

static void failing_release(void *opaque, void *memory)
{
    struct failing *f = opaque;
    f->held -= memory != NULL;
    free(memory);
}

/* In two steps, where there is a plan. */
static wcodec_status encode_ahead(wcodec_context *context,
                                  const struct wcodec_encode_settings *settings, wcodec_dtype dtype,
                                  const void *data, uint64_t size, struct wcodec_coded *coded,
                                  wcodec_error *err)
{
    struct wcodec_planned *planned = NULL;
    const wcodec_status status =
        wcodec_plan_ahead(context, settings, dtype, data, size, &planned, err);
    if (status != WCODEC_OK) {
        assert_null(planned);
        return status;
    }
    return planned != NULL ? wcodec_encode_planned(planned, settings->scratch, coded, err)
                           : wcodec_encode_tensor(context, settings, dtype, data, size, coded, err);
}

typedef wcodec_status (*encode_fn)(wcodec_context *, const struct wcodec_encode_settings *,
                                   wcodec_dtype, const void *, uint64_t, struct wcodec_coded *,
                                   wcodec_error *);

static void fail_everywhere(encode_fn encode, wcodec_dtype dtype, const uint8_t *data,
                            uint64_t size, const struct wcodec_encode_settings *settings)
{
    unsigned unmoved = 0;
    for (size_t n = 1;; n++) {
        struct failing failing = {0};
        struct wcodec_coded coded;
        wcodec_context *context;
        wcodec_options options;
        wcodec_options_init(&options);
        options.threads = 1;
        options.allocator = (wcodec_allocator){.allocate = failing_allocate,
                                               .reallocate = failing_reallocate,
                                               .release = failing_release,
                                               .opaque = &failing};
        assert_int_equal(wcodec_context_create(&options, &context, NULL), WCODEC_OK);
        size_t before = failing.held;
        failing.fail_at = failing.calls + n;
        wcodec_status status = encode(context, settings, dtype, data, size, &coded, NULL);
        if (status == WCODEC_OK) {
            status = wcodec_coded_gather(&coded, NULL);
            wcodec_coded_free(&coded);
        }
        bool failed = failing.calls >= failing.fail_at;
        failing.fail_at = 0;
        assert_int_equal(failing.held, before);
        wcodec_context_destroy(context);
        assert_int_equal(failing.held, 0);
        if (!failed) {
            assert_int_equal(status, WCODEC_OK);
            assert_true(n > 3);
            assert_true(unmoved <= 1);
            return;
        }
        /* What cannot be made smaller stays as large as it is; a packed payload that cannot be
         * moved, the last that is asked for, stays where it was made. */
        if (status == WCODEC_OK)
            unmoved += !failing.kept;
        else
            assert_int_equal(status, WCODEC_ERROR_MEMORY);
    }
}

static void test_allocation_failures(void **state)
{
    struct sample *s = *state;
    static const wcodec_dtype dtypes[] = {WCODEC_DTYPE_BF16, WCODEC_DTYPE_I8};
    for (unsigned d = 0; d < 2; d++)
        for (unsigned pattern = 0; pattern < PATTERNS; pattern++) {
            if (pattern == CONSTANT)
                continue;
            uint8_t *data = make(pattern, dtypes[d], 20000, &s->seed);
            const uint64_t size = (uint64_t)20000 << wcodec_dtype_element_log2(dtypes[d]);
            fail_everywhere(wcodec_encode_tensor, dtypes[d], data, size, &level3);
            if (pattern == WEIGHTS) {
                struct wcodec_planned *planned;
                assert_int_equal(
                    wcodec_plan_ahead(s->context, &level3, dtypes[d], data, size, &planned, NULL),
                    WCODEC_OK);
                assert_non_null(planned);
                wcodec_planned_free(planned);
                fail_everywhere(encode_ahead, dtypes[d], data, size, &level3);
            }
            free(data);
        }
}

/* Blobs are chunks. */
static void test_chunks(void **state)
{
    struct sample *s = *state;
    struct wcodec_encode_settings settings = {.level = 3};
    struct wcodec_coded coded;
    uint64_t size = 9 << 20;
    uint8_t *data = make(SPARSE, WCODEC_DTYPE_U8, size, &s->seed);
    assert_int_equal(
        wcodec_encode_tensor(s->context, &settings, WCODEC_DTYPE_OTHER, data, size, &coded, NULL),
        WCODEC_OK);
    assert_int_equal(coded.coding, 2);
    wcodec_coded_free(&coded);
    uint64_t coded_size = round_trip(s->context, &settings, WCODEC_DTYPE_OTHER, data, size);
    assert_true(coded_size < size / 2);
    free(data);
}

struct counted {
    atomic_size_t live, peak;
};

static void *count_reallocate(void *opaque, void *memory, size_t size)
{
    struct counted *c = opaque;
    size_t before = memory ? malloc_usable_size(memory) : 0;
    void *p = realloc(memory, size);
    if (!p)
        return NULL;
    size_t live = atomic_fetch_add(&c->live, malloc_usable_size(p) - before) +
                  malloc_usable_size(p) - before,
           peak = atomic_load(&c->peak);
    while (live > peak && !atomic_compare_exchange_weak(&c->peak, &peak, live))
        ;
    return p;
}

static void *count_allocate(void *opaque, size_t size)
{
    return count_reallocate(opaque, NULL, size);
}

static void count_release(void *opaque, void *memory)
{
    if (memory)
        atomic_fetch_sub(&((struct counted *)opaque)->live, malloc_usable_size(memory));
    free(memory);
}

/* Tiles cannot shrink this, zstd can by a third: it wins, and both payloads are never held at once.
 */
static void test_large_rival(void **state)
{
    struct sample *s = *state;
    enum { SIZE = 32 << 20, PERIOD = 1500, FRESH = 1000 };
    struct counted counted = {0};
    wcodec_options options;
    wcodec_context *context;
    struct wcodec_coded coded;
    wcodec_options_init(&options);
    options.threads = 1;
    options.allocator = (wcodec_allocator){.allocate = count_allocate,
                                           .reallocate = count_reallocate,
                                           .release = count_release,
                                           .opaque = &counted};
    assert_int_equal(wcodec_context_create(&options, &context, NULL), WCODEC_OK);
    uint8_t *data = malloc(SIZE);
    for (size_t i = 0; i < SIZE; i++)
        data[i] = i % PERIOD < FRESH ? (uint8_t)support_random(&s->seed) : data[i - FRESH];
    assert_int_equal(
        wcodec_encode_tensor(context, &level3, WCODEC_DTYPE_U8, data, SIZE, &coded, NULL),
        WCODEC_OK);
    assert_int_equal(coded.coding, 2);
    assert_true(coded.payload_size < SIZE / 4 * 3);
    assert_in_range(counted.peak, SIZE,
                    SIZE / 4 * 7); /* one payload with room to grow, and chunks at work */
    wcodec_coded_free(&coded);
    wcodec_context_destroy(context);
    assert_int_equal(counted.live, 0);
    free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_empty),          cmocka_unit_test(test_constant),
        cmocka_unit_test(test_round_trip),     cmocka_unit_test(test_settings),
        cmocka_unit_test(test_small_integers), cmocka_unit_test(test_misaligned),
        cmocka_unit_test(test_threads),        cmocka_unit_test(test_allocation_failures),
        cmocka_unit_test(test_chunks),         cmocka_unit_test(test_large_rival),
        cmocka_unit_test(test_packed),         cmocka_unit_test(test_small_mantissas),
        cmocka_unit_test(test_gather),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
