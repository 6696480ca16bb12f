/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "support_plugins.h"

#include "support_tiles.h"

#include "registry/decode.h"
#include "core/error.h"
#include <string.h>

static unsigned warnings;

static void count_warning(void *opaque, wcodec_log_level level, const char *text)
{
    (void)opaque;
    if (level == WCODEC_LOG_WARNING) {
        warnings++;
        print_message("%s\n", text);
    }
}

static wcodec_context *make_context(const char *backend, unsigned threads)
{
    wcodec_options options;
    wcodec_context *context;
    wcodec_error err;
    wcodec_options_init(&options);
    options.backend = backend;
    options.threads = threads;
    options.log = count_warning;
    warnings = 0;
    if (wcodec_context_create(&options, &context, &err) != WCODEC_OK)
        fail_msg("%s", err.text);
    return context;
}

/* Tiles [first, first + count) in a session of their own. */
static wcodec_status decode_tiles(wcodec_context *context, const struct wcodec_tiles *tiles,
                                  const struct wcodec_view *view, uint64_t first, uint64_t count,
                                  void *out, bool verify, wcodec_error *err)
{
    const struct wcodec_job job = {
        .tiles = tiles, .first = first, .count = count, .verify = verify};
    struct wcodec_session session;
    wcodec_session_init(context, &session);
    wcodec_status status = wcodec_session_choose(&session, tiles->tiling, 0, err);
    if (status == WCODEC_OK)
        status = wcodec_session_decode(&session, &job, view, UINT64_MAX, out, err);
    wcodec_session_end(&session);
    return status;
}

struct made {
    struct support_tensor x;
    struct wcodec_tiles *tiles;
    struct wcodec_view view;
    uint8_t *out;
};

static void make(uint64_t *seed, struct made *m)
{
    support_tensor_make(seed, 0, &m->x);
    assert_int_equal(wcodec_tiles_read(&m->x.tiling, m->x.payload, m->x.payload_size,
                                       &wcodec_default_allocator, &m->tiles, NULL),
                     WCODEC_OK);
    wcodec_view_whole(m->x.payload, &m->view);
    m->out = malloc(m->x.tiling.size + 9);
    memset(m->out, 0xa5, m->x.tiling.size + 9);
}

static void done(struct made *m)
{
    free(m->out);
    wcodec_tiles_free(m->tiles);
    support_tensor_free(&m->x);
}

static bool is_zero(const uint8_t *p, size_t size)
{
    size_t i = 0;
    while (i < size && p[i] == 0)
        i++;
    return i == size;
}

/* Only the bytes of a view's extent, each area in memory of its own, so that sanitizers see a step
 * outside. */
static void narrow_view(const struct made *m, uint64_t first, uint64_t count,
                        struct wcodec_view *view, uint8_t *memory[WCODEC_AREAS])
{
    uint64_t begin[WCODEC_AREAS], stop[WCODEC_AREAS];
    wcodec_tiles_extent(m->tiles, first, first + count, begin, stop);
    for (unsigned a = 0; a < WCODEC_AREAS; a++) {
        memory[a] = malloc(stop[a] - begin[a] + 1);
        memcpy(memory[a], m->x.payload + begin[a], stop[a] - begin[a]);
        view->data[a] = memory[a];
        view->begin[a] = begin[a];
    }
}

static void decode_ranges(const char *backend, unsigned threads)
{
    uint64_t seed = support_seed();
    wcodec_context *context = make_context(backend, threads);
    wcodec_error err;
    for (unsigned i = 0; i < 120; i++) {
        struct made m;
        make(&seed, &m);
        const struct wcodec_tiling *t = &m.x.tiling;
        const uint64_t first = support_random(&seed) % t->tiles,
                       count = 1 + support_random(&seed) % (t->tiles - first);
        const uint64_t from = first << t->tile_log2 << t->element_log2,
                       full = (first + count) << t->tile_log2 << t->element_log2,
                       to = full < t->size ? full : t->size;
        struct wcodec_view view;
        uint8_t *memory[WCODEC_AREAS];
        narrow_view(&m, first, count, &view, memory);
        const unsigned shift = i % 9; /* any alignment */
        if (decode_tiles(context, m.tiles, &view, first, count, m.out + shift, true, &err) !=
            WCODEC_OK)
            fail_msg("%s", err.text);
        assert_memory_equal(m.out + shift, m.x.data + from, to - from);
        for (unsigned k = 0; k < shift; k++)
            assert_int_equal(m.out[k], 0xa5);
        for (uint64_t k = shift + to - from; k < t->size + 9; k++)
            assert_int_equal(m.out[k], 0xa5);
        for (unsigned a = 0; a < WCODEC_AREAS; a++)
            free(memory[a]);
        done(&m);
    }
    assert_int_equal(warnings, 0);
    wcodec_context_destroy(context);
}

static void test_ranges(void **state)
{
    (void)state;
    setenv("WCODEC_FAKE", "", 1);
    decode_ranges("cpu", 1);
    decode_ranges("cpu", 3);
    decode_ranges("fake", 2);
    setenv("WCODEC_FAKE", "unsupported", 1); /* the CPU takes what the device has no code for */
    decode_ranges("fake", 2);
    setenv("WCODEC_FAKE", "late-memory", 1); /* ... and no memory for */
    decode_ranges("fake", 2);
}

/* Damage is found alike by all, also by a device that is in doubt; what was decoded is not given
 * out. */
static void test_corrupt(void **state)
{
    (void)state;
    static const char *const backends[] = {"cpu", "fake", "fake,cpu"};
    setenv("WCODEC_FAKE", "", 1);
    for (unsigned b = 0; b < 3; b++) {
        uint64_t seed = support_seed() + 7;
        unsigned found = 0;
        wcodec_context *context = make_context(backends[b], 2);
        for (unsigned i = 0; i < 60; i++) {
            struct made m;
            wcodec_error err;
            make(&seed, &m);
            m.tiles->checks[m.x.tiling.tiles - 1] ^= 1u << i % 32;
            assert_int_equal(
                decode_tiles(context, m.tiles, &m.view, 0, m.x.tiling.tiles, m.out, true, &err),
                WCODEC_ERROR_CORRUPT);
            char expected[100];
            snprintf(expected, sizeof expected,
                     "tile %u of %u: the check of the decoded bytes differs",
                     (unsigned)m.x.tiling.tiles - 1, (unsigned)m.x.tiling.tiles);
            assert_string_equal(err.text, expected);
            assert_true(is_zero(m.out, m.x.tiling.size));
            assert_int_equal(
                decode_tiles(context, m.tiles, &m.view, 0, m.x.tiling.tiles, m.out, false, &err),
                WCODEC_OK);
            assert_memory_equal(m.out, m.x.data, m.x.tiling.size);
            found++;
            done(&m);
        }
        assert_int_equal(found, 60);
        assert_int_equal(warnings, 0);
        wcodec_context_destroy(context);
    }
}

/* A device that fails after it was trusted: with the CPU in the choice it goes on and says so once,
 * else it is an error and there are no half results. */
static void fails_late(const char *mode, const char *reason)
{
    uint64_t seed = support_seed();
    wcodec_error err;
    setenv("WCODEC_FAKE", mode, 1);
    wcodec_context *alone = make_context("fake", 2);
    for (unsigned i = 0; i < 3; i++) {
        struct made m;
        make(&seed, &m);
        assert_int_equal(
            decode_tiles(alone, m.tiles, &m.view, 0, m.x.tiling.tiles, m.out, true, &err),
            WCODEC_ERROR_DEVICE);
        if (i == 0) {
            print_message("%s: %s\n", mode, err.text);
            assert_non_null(strstr(err.text, reason));
            assert_true(is_zero(m.out, m.x.tiling.size));
        } else {
            assert_non_null(strstr(err.text, "used no more"));
        }
        done(&m);
    }
    assert_int_equal(warnings, 1);
    wcodec_context_destroy(alone);
    wcodec_context *both = make_context("fake,cpu", 2);
    for (unsigned i = 0; i < 3; i++) {
        struct made m;
        make(&seed, &m);
        assert_int_equal(
            decode_tiles(both, m.tiles, &m.view, 0, m.x.tiling.tiles, m.out, true, &err),
            WCODEC_OK);
        assert_memory_equal(m.out, m.x.data, m.x.tiling.size);
        done(&m);
    }
    assert_int_equal(warnings, 1);
    wcodec_context_destroy(both);
}

static void test_late_failures(void **state)
{
    (void)state;
    fails_late("late-decode", "fake:0 failed: an illegal fake instruction");
    fails_late("late-results", "fake:0 failed: fake memory has an error");
    fails_late("late-copy", "fake:0 failed: the fake bus went away");
    fails_late("late-wait", "fake:0 failed: the fake device was reset");
    fails_late("late-fault", "fake:0 decodes wrongly: it found a fault in tile 0 that is none");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_ranges),
                                       cmocka_unit_test(test_corrupt),
                                       cmocka_unit_test(test_late_failures)};
    return cmocka_run_group_tests(tests, support_find_plugins, NULL);
}
