/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* A context of zstd that was used before writes what a new one writes, whatever it was used for,
 * and reads what there is. */

#include "support.h"
#include "core/zstd.h"
#include <pthread.h>
#include <stdbool.h>
#include <zstd_errors.h>

enum { MOST = 2 * WCODEC_ZSTD_KEPT_SIZE, CAPACITY = MOST + MOST / 4 + 1024, ROUNDS = 300 };

struct buffers {
    uint8_t data[MOST], coded[CAPACITY], expected[CAPACITY], decoded[MOST];
};

/* Bytes of which some repeat. */
static void fill(uint64_t *seed, uint8_t *data, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        const uint64_t x = support_random(seed);
        data[i] = i > 64 && x % 8 != 0 ? data[i - 1 - x / 8 % 64] : (uint8_t)(x >> 32);
    }
}

/* Of one input, at a level; every seventh does not fit, every eleventh is damaged. */
static bool try_one(struct wcodec_zstd *zstd, struct buffers *b, unsigned i, uint64_t *seed)
{
    const size_t size = (size_t)(support_random(seed) % MOST),
                 capacity = i % 7 ? CAPACITY : size / 16 + 1;
    const int level = 1 + (int)(i % 6);
    fill(seed, b->data, size);
    const size_t expected = ZSTD_compress(b->expected, capacity, b->data, size, level),
                 got = wcodec_zstd_compress(zstd, b->coded, capacity, b->data, size, level);
    if (got != expected || (!ZSTD_isError(got) && memcmp(b->coded, b->expected, got) != 0))
        return false;
    if (ZSTD_isError(got))
        return ZSTD_getErrorCode(got) == ZSTD_error_dstSize_tooSmall;
    if (i % 11 == 0) {
        b->coded[0] ^= 1;
        return ZSTD_isError(wcodec_zstd_decompress(zstd, b->decoded, size, b->coded, got));
    }
    return wcodec_zstd_decompress(zstd, b->decoded, size, b->coded, got) == size &&
           memcmp(b->decoded, b->data, size) == 0;
}

struct worker {
    pthread_t thread;
    struct wcodec_zstd *zstd;
    uint64_t seed;
    unsigned rounds;
    bool equal;
};

static void *work(void *argument)
{
    struct worker *w = argument;
    struct buffers *b = malloc(sizeof *b);
    w->equal = b != NULL;
    for (unsigned i = 0; i < w->rounds && w->equal; i++)
        w->equal = try_one(w->zstd, b, i, &w->seed);
    free(b);
    return NULL;
}

static unsigned kept(const struct wcodec_zstd *zstd)
{
    unsigned count = 0;
    for (unsigned i = 0; i < WCODEC_ZSTD_KEPT; i++)
        if (zstd->compressors[i] != NULL)
            count++;
    for (unsigned i = 0; i < WCODEC_ZSTD_KEPT; i++)
        if (zstd->decompressors[i] != NULL)
            count++;
    return count;
}

static void test_equal(void **state)
{
    (void)state;
    struct wcodec_zstd zstd;
    memset(&zstd, 0, sizeof zstd);
    struct worker w = {.zstd = &zstd, .seed = support_seed(), .rounds = ROUNDS};
    work(&w);
    assert_true(w.equal);
    assert_int_equal(kept(&zstd), 2);
    wcodec_zstd_free(&zstd);
    assert_int_equal(kept(&zstd), 0);
}

static void test_none(void **state)
{
    (void)state;
    struct worker w = {.seed = 2, .rounds = 30};
    work(&w);
    assert_true(w.equal);
}

/* More threads than contexts are kept. */
static void test_threads(void **state)
{
    (void)state;
    enum { THREADS = WCODEC_ZSTD_KEPT + 4 };
    struct wcodec_zstd zstd;
    memset(&zstd, 0, sizeof zstd);
    struct worker workers[THREADS] = {{0}};
    for (unsigned i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){.zstd = &zstd, .seed = 3 + i, .rounds = 40};
        assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(workers[i].thread, NULL), 0);
        assert_true(workers[i].equal);
    }
    assert_true(kept(&zstd) >= 2 && kept(&zstd) <= 2 * WCODEC_ZSTD_KEPT);
    wcodec_zstd_free(&zstd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_equal), cmocka_unit_test(test_none),
                                       cmocka_unit_test(test_threads)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
