/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Loads whose items get places while they run, the same ones again and again; such that are
 * cancelled, find damage or lose their device while somebody waits for items. */
#include "load/gate.h"
#include "read/reader.h"
#include "registry/registry.h"
#include "support_load.h"
#include "support_plugins.h"

#include <string.h>
#include <unistd.h>

enum { PLACES = 3 };

static struct support_loaded model;

struct gated {
    wcodec_reader *reader;
    struct wcodec_opened *device;
    const struct wcodec_backend *b;
    struct wcodec_queue *queue;
    size_t count;
    wcodec_load_item *items;
    uint64_t most, all; /* bytes of an item, and of all together, each a multiple of 256 */
    struct wcodec_memory *places;
    struct wcodec_load_gate *gate;
    wcodec_loading *loading;
};

static void start(wcodec_context *context, const char *path, struct gated *g)
{
    wcodec_load_options options;
    *g = (struct gated){0};
    assert_int_equal(wcodec_reader_open_path(context, path, &g->reader, NULL), WCODEC_OK);
    g->count = wcodec_reader_tensor_count(g->reader);
    g->items = calloc(g->count, sizeof *g->items);
    for (size_t i = 0; i < g->count; i++) {
        wcodec_tensor_info info;
        assert_int_equal(wcodec_reader_tensor(g->reader, i, &info, NULL), WCODEC_OK);
        g->items[i] = (wcodec_load_item){.tensor = i, .size = info.size};
        const uint64_t size = (info.size + 255) & ~(uint64_t)255;
        g->most = g->most > size ? g->most : size;
        g->all += size;
    }
    const uint64_t some = PLACES * g->most;
    assert_int_equal(wcodec_backends_device(context, &g->device, NULL), WCODEC_OK);
    g->b = g->device->backend;
    assert_int_equal(wcodec_opened_allocate(g->device, WCODEC_MEMORY_DEVICE,
                                            some > g->all ? some : g->all, &g->places, NULL),
                     WCODEC_OK);
    wcodec_load_options_init(&options);
    options.memory = "fake";
    options.host_memory = 1 << 20;
    assert_int_equal(wcodec_load_start_gated(g->reader, g->items, g->count, &options, &g->gate,
                                             &g->loading, NULL),
                     WCODEC_OK);
}

static void end(struct gated *g)
{
    wcodec_loading_destroy(g->loading);
    if (g->queue != NULL)
        g->b->queue_destroy(g->queue);
    g->b->memory_free(g->places);
    free(g->items);
    wcodec_reader_close(g->reader);
}

static void admit(const struct gated *g, size_t i)
{
    const struct wcodec_load_place place = {g->places, i % PLACES * g->most};
    if (i < g->count)
        wcodec_load_gate_admit(g->gate, &place, 1);
}

/* What lies where item i was to go. */
static void check_place(struct gated *g, size_t i)
{
    uint64_t size;
    const uint8_t *expected = support_loaded_bytes(&model, g->reader, i, &size);
    uint8_t *found = malloc(size + 1);
    if (g->queue == NULL)
        assert_int_equal(g->b->queue_create(g->device->device, &g->queue, NULL), WCODEC_OK);
    if (size != 0)
        assert_int_equal(
            g->b->copy_out(g->queue, found, g->places, i % PLACES * g->most, size, NULL),
            WCODEC_OK);
    assert_int_equal(g->b->queue_wait(g->queue, NULL), WCODEC_OK);
    if (memcmp(found, expected, size) != 0)
        fail_msg("item %zu differs", i);
    free(found);
}

/* No item is written before it is admitted: the one that has been in its place for longest is still
 * whole when two more have arrived. */
static void test_places(void **state)
{
    (void)state;
    for (unsigned threads = 1; threads <= 4; threads += 3) {
        struct support_lines lines = {0};
        struct support_allocator counted;
        struct gated g;
        support_allocator_init(&counted, 1L << 40);
        wcodec_context *context = support_load_context("fake", threads, &counted.allocator, &lines);
        start(context, model.path, &g);
        for (size_t i = 0; i < PLACES; i++)
            admit(&g, i);
        for (size_t i = 0; i < g.count; i++) {
            const size_t last = i + PLACES <= g.count ? i + PLACES : g.count;
            assert_true(wcodec_load_gate_wait(g.gate, last));
            check_place(&g, i);
            admit(&g, i + PLACES);
        }
        assert_int_equal(wcodec_loading_wait(g.loading, NULL, NULL), WCODEC_OK);
        end(&g);
        wcodec_context_destroy(context);
        assert_int_equal(counted.balance, 0);
    }
}

static void test_cancelled(void **state)
{
    (void)state;
    for (size_t admitted = 0; admitted < 3; admitted++) {
        struct support_lines lines = {0};
        struct gated g;
        wcodec_context *context = support_load_context("fake", 2, NULL, &lines);
        start(context, model.path, &g);
        for (size_t i = 0; i < admitted; i++)
            admit(&g, i);
        assert_true(wcodec_load_gate_wait(g.gate, admitted));
        wcodec_loading_cancel(g.loading);
        assert_false(wcodec_load_gate_wait(g.gate, admitted + 1));
        assert_int_equal(wcodec_loading_wait(g.loading, NULL, NULL), WCODEC_ERROR_CANCELLED);
        end(&g);
        wcodec_context_destroy(context);
    }
}

/* All items, each to a place of its own. */
static wcodec_status run(wcodec_context *context, const char *path, wcodec_error *err)
{
    struct gated g;
    start(context, path, &g);
    struct wcodec_load_place place = {g.places, 0};
    for (size_t i = 0; i < g.count; i++) {
        wcodec_load_gate_admit(g.gate, &place, 1);
        place.offset += (g.items[i].size + 255) & ~(uint64_t)255;
    }
    const bool there = wcodec_load_gate_wait(g.gate, g.count);
    const wcodec_status status = wcodec_loading_wait(g.loading, NULL, err);
    assert_int_equal(there, status == WCODEC_OK);
    end(&g);
    return status;
}

static void test_damaged(void **state)
{
    char path[] = "/tmp/wcodec-gate-XXXXXX";
    struct support_lines lines = {0};
    wcodec_error err;
    (void)state;
    const int file = mkstemp(path);
    uint8_t *bytes = malloc(model.sink.size);
    memcpy(bytes, model.sink.data, model.sink.size);
    bytes[model.sink.size / 2] ^= 1;
    assert_int_equal(write(file, bytes, model.sink.size), model.sink.size);
    wcodec_context *context = support_load_context("fake", 2, NULL, &lines);
    assert_int_equal(run(context, path, &err), WCODEC_ERROR_CORRUPT);
    assert_non_null(strstr(err.text, "tensor"));
    wcodec_context_destroy(context);
    free(bytes);
    close(file);
    unlink(path);
}

static void test_lost(void **state)
{
    (void)state;
    for (unsigned n = 1; n < 200; n += 1 + n / 4) {
        char mode[32];
        struct support_lines lines = {0};
        wcodec_error err;
        snprintf(mode, sizeof mode, "late-decode-%u", n);
        setenv("WCODEC_FAKE", mode, 1);
        wcodec_context *context = support_load_context("fake,cpu", 2, NULL, &lines);
        const wcodec_status status = run(context, model.path, &err);
        wcodec_context_destroy(context);
        unsetenv("WCODEC_FAKE");
        if (status == WCODEC_OK && n > 1)
            return;
        assert_int_equal(status, WCODEC_ERROR_DEVICE);
    }
}

static int begin(void **state)
{
    support_loaded_make(&model, support_seed());
    return support_find_plugins(state);
}

static int finish(void **state)
{
    (void)state;
    support_loaded_free(&model);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_places),
                                       cmocka_unit_test(test_cancelled),
                                       cmocka_unit_test(test_damaged), cmocka_unit_test(test_lost)};
    return cmocka_run_group_tests(tests, begin, finish);
}
