/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The tree hash: parts of any size in any order and from several threads give what the format says
 * of the whole. */

#include "support.h"
#include "support_memory.h"
#include "support_tree.h"
#include "backends/cpu/cpu_level.h"
#include "backends/cpu/leaf.h"
#include "io/tree.h"
#include "core/memory.h"
#include <stdlib.h>
#include <string.h>

enum { LEAF = WCODEC_LEAF_BYTES, PARTS = 400, THREADS = 4, MOST = 40 * LEAF };

static void expect_same(struct wcodec_tree_hash hash, const void *data, size_t size)
{
    const XXH128_hash_t expected = support_tree_hash(data, size);
    assert_true(hash.low == expected.low64 && hash.high == expected.high64);
}

static uint8_t *random_bytes(uint64_t *seed, size_t size)
{
    uint8_t *data = malloc(size + 1);
    assert_non_null(data);
    for (size_t i = 0; i < size; i++)
        data[i] = (uint8_t)support_random(seed);
    return data;
}

/* Known values, computed by tests/oracle/xxh3.py. */
static void has_known_values(void **state)
{
    (void)state;
    uint8_t bytes[16], data[3] = {1, 2, 3};
    static const uint8_t none[] = {0x2c, 0x0a, 0x8a, 0x99, 0xdc, 0x14, 0x7d, 0x54,
                                   0x45, 0xc3, 0xb4, 0x9d, 0x03, 0x56, 0x65, 0xb2},
                         three[] = {0x6e, 0x10, 0x41, 0xb1, 0xdc, 0xb1, 0x65, 0x26,
                                    0x19, 0xc3, 0x8b, 0x98, 0x50, 0x91, 0x51, 0x6d};
    wcodec_tree_canonical(wcodec_tree_of(wcodec_leaf_plain, NULL, 0), bytes);
    assert_memory_equal(bytes, none, 16);
    wcodec_tree_canonical(wcodec_tree_of(wcodec_leaf_plain, data, 3), bytes);
    assert_memory_equal(bytes, three, 16);
}

static void hashes_small_data(void **state)
{
    (void)state;
    uint64_t seed = support_seed();
    uint8_t *data = random_bytes(&seed, WCODEC_TREE_SMALL * LEAF);
    static const size_t sizes[] = {0,        1,    240,      241,
                                   LEAF - 1, LEAF, LEAF + 1, WCODEC_TREE_SMALL * LEAF};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        expect_same(wcodec_tree_of(wcodec_leaf_plain, data, sizes[i]), data, sizes[i]);
    free(data);
}

static void levels_agree(void **state)
{
    (void)state;
    uint64_t seed = support_seed();
    uint8_t *data = random_bytes(&seed, LEAF + 64);
    for (uint32_t mask = 1; mask <= WCODEC_CPU_ALL; mask = 2 * mask + 1) {
        const wcodec_leaf_fn leaf = wcodec_cpu_leaf(wcodec_cpu_levels() & mask);
        for (size_t size = LEAF; size > 0; size = size > 300 ? size * 2 / 3 : size - 1)
            for (size_t at = 0; at < 64; at += 1 + size / 16) {
                const struct wcodec_tree_hash h = leaf(data + at, size);
                const XXH128_hash_t expected = XXH3_128bits(data + at, size);
                assert_true(h.low == expected.low64 && h.high == expected.high64);
            }
    }
    free(data);
}

struct parts {
    struct wcodec_tree *tree;
    const uint8_t *data;
    size_t begin[PARTS + 1], order[PARTS];
    size_t count;
    atomic_size_t next;
};

static void cut(struct parts *p, uint64_t *seed, size_t size)
{
    p->count = 1 + support_random(seed) % PARTS;
    for (size_t i = 1; i < p->count; i++)
        p->begin[i] = size == 0 ? 0 : support_random(seed) % size;
    p->begin[0] = 0;
    p->begin[p->count] = size;
    for (size_t i = 1; i < p->count; i++)
        for (size_t k = i; k > 0 && p->begin[k] < p->begin[k - 1]; k--) {
            const size_t t = p->begin[k];
            p->begin[k] = p->begin[k - 1];
            p->begin[k - 1] = t;
        }
    for (size_t i = 0; i < p->count; i++) {
        const size_t k = support_random(seed) % (i + 1);
        p->order[i] = p->order[k];
        p->order[k] = i;
    }
}

static void *put_parts(void *argument)
{
    struct parts *p = argument;
    for (size_t i; (i = atomic_fetch_add(&p->next, 1)) < p->count;) {
        const size_t n = p->order[i];
        if (wcodec_tree_put(p->tree, p->begin[n], p->data + p->begin[n],
                            p->begin[n + 1] - p->begin[n], NULL) != WCODEC_OK)
            abort();
    }
    return NULL;
}

static void takes_parts_in_any_order(void **state)
{
    (void)state;
    uint64_t seed = support_seed();
    uint8_t *data = random_bytes(&seed, MOST);
    struct parts *p = malloc(sizeof *p);
    assert_non_null(p);
    for (unsigned round = 0; round < 30; round++) {
        struct wcodec_tree tree;
        pthread_t threads[THREADS];
        const size_t size =
            round % 3 == 0 ? round / 3 * (size_t)LEAF : support_random(&seed) % MOST;
        assert_int_equal(wcodec_tree_init(&tree, &wcodec_default_allocator, wcodec_leaf_plain,
                                          size / LEAF + 1, NULL),
                         WCODEC_OK);
        memset(p, 0, sizeof *p);
        p->tree = &tree;
        p->data = data;
        cut(p, &seed, size);
        for (unsigned i = 0; i < THREADS; i++)
            assert_int_equal(pthread_create(&threads[i], NULL, put_parts, p), 0);
        for (unsigned i = 0; i < THREADS; i++)
            pthread_join(threads[i], NULL);
        expect_same(wcodec_tree_end(&tree, size), data, size);
        wcodec_tree_free(&tree);
    }
    free(p);
    free(data);
}

/* A window of few leaves passes over all of the data. */
/* Hashes of leaves that come at once, after bytes and before some. */
static void takes_leaves_at_once(void **state)
{
    (void)state;
    uint64_t seed = support_seed();
    uint8_t *data = random_bytes(&seed, MOST);
    for (size_t before = 0; before < 3; before++)
        for (size_t count = 0; before * LEAF + count * LEAF + 100 <= MOST; count++) {
            const size_t at = before * LEAF, size = at + count * LEAF + 100;
            struct wcodec_tree_hash *hashes = calloc(count + 1, sizeof *hashes);
            struct wcodec_tree tree;
            assert_non_null(hashes);
            assert_int_equal(
                wcodec_tree_init(&tree, &wcodec_default_allocator, wcodec_leaf_plain, 4, NULL),
                WCODEC_OK);
            for (size_t i = 0; i < count; i++)
                hashes[i] = wcodec_leaf_plain(data + at + i * LEAF, LEAF);
            assert_int_equal(wcodec_tree_put(&tree, 0, data, at, NULL), WCODEC_OK);
            wcodec_tree_put_leaves(&tree, before, hashes, count);
            assert_int_equal(wcodec_tree_put(&tree, size - 100, data + size - 100, 100, NULL),
                             WCODEC_OK);
            expect_same(wcodec_tree_end(&tree, size), data, size);
            wcodec_tree_free(&tree);
            free(hashes);
        }
    free(data);
}

static void advances(void **state)
{
    (void)state;
    uint64_t seed = support_seed();
    const size_t size = MOST - 7;
    uint8_t *data = random_bytes(&seed, size);
    struct wcodec_tree tree;
    assert_int_equal(wcodec_tree_init(&tree, &wcodec_default_allocator, wcodec_leaf_plain, 4, NULL),
                     WCODEC_OK);
    for (size_t at = 0, count; at < size; at += count) {
        count = 1 + support_random(&seed) % wcodec_tree_span(&tree);
        count = count < size - at ? count : size - at;
        /* The later half first. */
        const size_t half = count / 2;
        assert_int_equal(wcodec_tree_put(&tree, at + half, data + at + half, count - half, NULL),
                         WCODEC_OK);
        assert_int_equal(wcodec_tree_put(&tree, at, data + at, half, NULL), WCODEC_OK);
        wcodec_tree_advance(&tree);
    }
    expect_same(wcodec_tree_end(&tree, size), data, size);
    wcodec_tree_free(&tree);
    wcodec_tree_free(&tree);
    free(data);
}

static void reports_no_memory(void **state)
{
    (void)state;
    struct support_allocator a;
    struct wcodec_tree tree;
    wcodec_error err;
    static const uint8_t data[LEAF];
    support_allocator_init(&a, 0);
    assert_int_equal(wcodec_tree_init(&tree, &a.allocator, wcodec_leaf_plain, 2, &err),
                     WCODEC_ERROR_MEMORY);
    wcodec_tree_free(&tree);
    support_allocator_init(&a, 1);
    assert_int_equal(wcodec_tree_init(&tree, &a.allocator, wcodec_leaf_plain, UINT64_MAX, &err),
                     WCODEC_ERROR_MEMORY);
    assert_int_equal(wcodec_tree_init(&tree, &a.allocator, wcodec_leaf_plain, 2, &err), WCODEC_OK);
    assert_int_equal(wcodec_tree_put(&tree, 0, data, LEAF, &err), WCODEC_OK);
    assert_int_equal(wcodec_tree_put(&tree, LEAF, data, 1, &err), WCODEC_ERROR_MEMORY);
    assert_int_equal(err.status, WCODEC_ERROR_MEMORY);
    wcodec_tree_free(&tree);
    assert_int_equal(a.balance, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(has_known_values),  cmocka_unit_test(hashes_small_data),
        cmocka_unit_test(levels_agree),      cmocka_unit_test(takes_parts_in_any_order),
        cmocka_unit_test(advances),          cmocka_unit_test(takes_leaves_at_once),
        cmocka_unit_test(reports_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
