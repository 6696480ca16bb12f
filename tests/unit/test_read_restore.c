/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Whole files: restored byte for byte; every flip of a small file found; hashes, padding, newer
 * entries; many pieces; cancelling and failed writes; failure of every allocation. */

#include "support_area.h"
#include "support_container.h"
#include "support_memory.h"
#include "core/context.h"
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>
#include <wcodec/reader.h>
#include "support_tree.h"

static int refuse(void *opaque, const void *data, size_t size)
{
    (void)data, (void)size;
    return --*(int *)opaque < 0 ? ENOSPC : 0;
}

static wcodec_status test_file(wcodec_context *context, const struct support_bytes *file, int quick,
                               wcodec_error *err)
{
    wcodec_reader *reader;
    wcodec_status status = wcodec_reader_open_memory(context, file->data, file->size, &reader, err);
    if (status == WCODEC_OK) {
        status = wcodec_reader_test(reader, 0, quick, NULL, err);
        wcodec_reader_close(reader);
    }
    return status;
}

static int file_of(const struct support_bytes *bytes)
{
    char path[] = "wcodec-restore-XXXXXX";
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(unlink(path), 0);
    for (size_t at = 0; at < bytes->size;) {
        const ssize_t n = write(fd, bytes->data + at, bytes->size - at);
        assert_true(n > 0);
        at += (size_t)n;
    }
    return fd;
}

/* From a descriptor, in any order. */
static void check_any_order(wcodec_context *context, const struct support_bytes *file,
                            const struct support_bytes *original)
{
    struct support_area area = {.size = original->size, .left = 1000000};
    wcodec_reader *reader;
    wcodec_error err;
    wcodec_decode_options options;
    const int fd = file_of(file);
    area.data = calloc(1, original->size + 1);
    assert_non_null(area.data);
    wcodec_decode_options_init(&options);
    wcodec_times times = {0};
    options.write_at = support_area_put;
    options.times = &times;
    assert_int_equal(wcodec_reader_open_fd(context, fd, &reader, &err), WCODEC_OK);
    if (wcodec_reader_restore(reader, 0, NULL, &area, &options, &err) != WCODEC_OK)
        fail_msg("%s", err.text);
    assert_true(times.total > 0);
    assert_int_equal(times.reading + times.coding + times.verifying + times.hashing +
                         times.writing + times.waiting,
                     times.total);
    options.times = NULL;
    assert_int_equal(area.written, original->size);
    assert_memory_equal(area.data, original->data, original->size);
    /* Testing writes nothing. */
    area.left = 0;
    assert_int_equal(wcodec_reader_test(reader, 0, 0, &options, &err), WCODEC_OK);
    for (long calls = 0; calls < 3 && original->size > 3000000; calls++) {
        area.left = calls;
        assert_int_equal(wcodec_reader_restore(reader, 0, NULL, &area, &options, &err),
                         WCODEC_ERROR_IO);
        assert_non_null(strstr(err.text, strerror(EDQUOT)));
    }
    wcodec_reader_close(reader);
    close(fd);
    free(area.data);
}

static void check_restore(wcodec_context *context, const struct support_recipe *r)
{
    struct support_bytes file, original, got = {0};
    wcodec_reader *reader;
    wcodec_error err;
    support_recipe_build(r, &file);
    support_recipe_original(r, &original);
    if (wcodec_reader_open_memory(context, file.data, file.size, &reader, &err) != WCODEC_OK ||
        wcodec_reader_restore(reader, 0, support_append, &got, NULL, &err) != WCODEC_OK ||
        wcodec_reader_test(reader, 0, 0, NULL, &err) != WCODEC_OK ||
        wcodec_reader_test(reader, 0, 1, NULL, &err) != WCODEC_OK)
        fail_msg("%s", err.text);
    assert_int_equal(got.size, original.size);
    assert_memory_equal(got.data, original.data, got.size);
    wcodec_reader_close(reader);
    check_any_order(context, &file, &original);
    free(got.data);
    free(original.data);
    free(file.data);
}

static void restores(void **state)
{
    (void)state;
    uint64_t seed = support_seed();
    for (unsigned round = 0; round < 60; round++) {
        struct support_recipe r;
        wcodec_context *context = support_context(1 + round % 2, NULL);
        support_recipe_init(&r, support_random(&seed));
        check_restore(context, &r);
        support_recipe_free(&r);
        wcodec_context_destroy(context);
    }
}

static void restores_nothing(void **state)
{
    (void)state;
    wcodec_context *context = support_context(1, NULL);
    struct support_recipe r;
    struct support_bytes file, got = {0};
    wcodec_reader *reader;
    support_recipe_init(&r, 1);
    r.entry_count = r.entries_used = 0;
    support_recipe_finish(&r);
    support_recipe_build(&r, &file);
    assert_int_equal(wcodec_reader_open_memory(context, file.data, file.size, &reader, NULL),
                     WCODEC_OK);
    assert_int_equal(wcodec_reader_restore(reader, 0, support_append, &got, NULL, NULL), WCODEC_OK);
    assert_int_equal(got.size, 0);
    assert_int_equal(wcodec_reader_restore(reader, 1, support_append, &got, NULL, NULL),
                     WCODEC_ERROR_USAGE);
    assert_int_equal(wcodec_reader_restore(reader, 0, NULL, &got, NULL, NULL), WCODEC_ERROR_USAGE);
    wcodec_reader_close(reader);
    free(file.data);
    support_recipe_free(&r);
    wcodec_context_destroy(context);
}

/* Larger than a piece. */
static void large_make(struct support_large *l)
{
    static const uint64_t chunks[] = {300000, 5000000, 1 << 24};
    support_large_make(l, 20000000, 12000000, chunks, 3, 500000);
}

static void own_run(void *opaque, void (*task)(void *argument, size_t i), void *argument,
                    size_t count)
{
    (void)opaque;
    while (count-- > 0)
        task(argument, count);
}

static void restores_in_many_pieces(void **state)
{
    (void)state;
    struct support_large l;
    large_make(&l);
    for (unsigned threads = support_threads_only() ? 3 : 1; threads <= 3; threads++) {
        wcodec_context *context = support_context(threads, NULL);
        check_restore(context, &l.recipe);
        wcodec_context_destroy(context);
    }
    wcodec_options options;
    wcodec_context *context;
    wcodec_options_init(&options);
    options.executor = (wcodec_executor){.run = own_run, .concurrency = 4};
    assert_int_equal(wcodec_context_create(&options, &context, NULL), WCODEC_OK);
    check_restore(context, &l.recipe);
    wcodec_context_destroy(context);
    /* The largest chunk takes 12 MB, coded and decoded. */
    context = support_context_limited(2, 80000000);
    check_restore(context, &l.recipe);
    wcodec_context_destroy(context);
    support_large_free(&l);
}

struct cancel {
    uint64_t calls, answer_at, done, total;
    pthread_t thread;
};

static int count_progress(void *opaque, uint64_t done, uint64_t total)
{
    struct cancel *c = opaque;
    assert_true(pthread_equal(c->thread, pthread_self()));
    assert_true(done >= c->done && done <= total);
    c->done = done;
    c->total = total;
    return ++c->calls == c->answer_at;
}

static void stops_when_told(void **state)
{
    (void)state;
    struct support_large l;
    struct support_bytes file;
    large_make(&l);
    support_recipe_build(&l.recipe, &file);
    for (unsigned threads = 1; threads <= 2; threads++) {
        wcodec_context *context = support_context(threads, NULL);
        wcodec_reader *reader;
        wcodec_error err;
        struct cancel cancel = {.answer_at = 0, .thread = pthread_self()};
        wcodec_decode_options options;
        wcodec_decode_options_init(&options);
        options.progress = (wcodec_progress){.fn = count_progress, .opaque = &cancel};
        assert_int_equal(wcodec_reader_open_memory(context, file.data, file.size, &reader, NULL),
                         WCODEC_OK);
        assert_int_equal(wcodec_reader_test(reader, 0, 0, &options, NULL), WCODEC_OK);
        assert_int_equal(cancel.done, l.recipe.size);
        assert_int_equal(cancel.total, l.recipe.size);
        cancel = (struct cancel){.answer_at = 1, .thread = pthread_self()};
        assert_int_equal(wcodec_reader_test(reader, 0, 0, &options, &err), WCODEC_ERROR_CANCELLED);
        for (int writes = 0; writes < 3; writes++) {
            int left = writes;
            assert_int_equal(wcodec_reader_restore(reader, 0, refuse, &left, NULL, &err),
                             WCODEC_ERROR_IO);
            assert_non_null(strstr(err.text, strerror(ENOSPC)));
        }
        wcodec_reader_close(reader);
        wcodec_context_destroy(context);
    }
    /* Damage in a late piece is found, after earlier ones were written. */
    uint8_t *payload = l.recipe.entries[l.recipe.entries_used - 1].payload.data,
            *at = file.data + file.size - 64;
    while (memcmp(--at, payload, 64) != 0)
        continue;
    at[50] ^= 1;
    for (unsigned threads = 1; threads <= 2; threads++) {
        wcodec_context *context = support_context(threads, NULL);
        wcodec_error err;
        assert_int_equal(test_file(context, &file, 0, &err), WCODEC_ERROR_CORRUPT);
        assert_non_null(strstr(err.text, "tensor 'tiles'"));
        assert_int_equal(test_file(context, &file, 1, &err), WCODEC_OK);
        wcodec_context_destroy(context);
    }
    free(file.data);
    support_large_free(&l);
}

/* A recipe whose tensor "b" is small, so that all flips can be tried. */
static void make_small(struct support_recipe *r, uint64_t *seed)
{
    support_recipe_init(r, support_random(seed));
    struct support_entry *e = &r->entries[2];
    support_tensor_free(&r->tensor);
    free(e->payload.data);
    memset(&e->payload, 0, sizeof(e->payload));
    e->parameters.size = 0;
    support_tensor_make(seed, 100 + support_random(seed) % 200, &r->tensor);
    support_entry_tiles(e, &r->tensor);
    r->entries[3].size = e->size;
    r->entries[3].dtype = e->dtype;
    r->entries[3].shape[0] = e->shape[0];
    r->entries[3].data = e->data;
    support_recipe_finish(r);
}

static void finds_every_flip(void **state)
{
    if (support_threads_only())
        skip();
    (void)state;
    uint64_t seed = support_seed();
    wcodec_context *context = support_context(1, NULL);
    struct support_recipe r;
    struct support_bytes file;
    wcodec_error err;
    make_small(&r, &seed);
    support_recipe_build(&r, &file);
    assert_int_equal(test_file(context, &file, 0, &err), WCODEC_OK);
    for (size_t bit = 0; bit < 8 * file.size; bit++) {
        file.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
        if (test_file(context, &file, 0, &err) != WCODEC_ERROR_CORRUPT)
            fail_msg("bit %zu of %zu: %s", bit, 8 * file.size, err.text);
        file.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    for (struct support_bytes cut = file; cut.size-- > 0;)
        assert_int_equal(test_file(context, &cut, 0, &err), WCODEC_ERROR_CORRUPT);
    free(file.data);
    support_recipe_free(&r);
    wcodec_context_destroy(context);
}

/* Where its states begin; 0: it has none. */
static uint64_t find_states(const struct support_tensor *x)
{
    struct wcodec_tiles *tiles;
    assert_int_equal(wcodec_tiles_read(&x->tiling, x->payload, x->payload_size,
                                       &wcodec_default_allocator, &tiles, NULL),
                     WCODEC_OK);
    const uint64_t begin = tiles->area_begin[WCODEC_AREA_STATES],
                   end = tiles->area_end[WCODEC_AREA_STATES];
    wcodec_tiles_free(tiles);
    return end > begin ? begin : 0;
}

static void make_with_states(uint64_t *seed, struct support_tensor *x)
{
    for (;;) {
        support_tensor_common(seed, 0, WCODEC_P8, 1 + support_random(seed) % 600, x);
        if (find_states(x) > 0)
            return;
        support_tensor_free(x);
    }
}

/* A state is another, which the hash does not say. */
static void damage_state(struct support_entry *e, const struct support_tensor *x)
{
    e->payload.data[find_states(x)] ^= 1;
    e->payload_hash = support_tree_hash(e->payload.data, e->payload.size).low64;
}

/* Small tensors are decoded together: of those that are damaged the first one is named, though the
 * hash of a later one is compared before. */
static void names_the_first_damaged(void **state)
{
    if (support_threads_only())
        skip();
    (void)state;
    enum { SMALL = 6 };
    static const char *const names[SMALL] = {"s0", "s1", "s2", "s3", "s4", "s5"};
    uint64_t seed = support_seed();
    wcodec_context *context = support_context(1, NULL);
    for (unsigned first = 0; first <= SMALL; first++) {
        struct support_tensor tensors[SMALL];
        struct support_recipe r;
        struct support_bytes file;
        wcodec_error err;
        char expected[32];
        support_recipe_init(&r, 21);
        for (unsigned i = 0; i < SMALL; i++) {
            struct support_entry *e = support_recipe_add(&r, names[i]);
            make_with_states(&seed, &tensors[i]);
            support_entry_tiles(e, &tensors[i]);
        }
        support_recipe_finish(&r);
        struct support_entry *entries = &r.entries[r.entries_used - SMALL];
        for (unsigned i = first; i < SMALL; i += 2)
            damage_state(&entries[i], &tensors[i]);
        if (first + 1 < SMALL)
            entries[first + 1].payload_hash ^= 1;
        support_recipe_build(&r, &file);
        const wcodec_status status = test_file(context, &file, 0, &err);
        snprintf(expected, sizeof expected, "tensor 's%u'", first);
        if (first == SMALL ? status != WCODEC_OK
                           : status != WCODEC_ERROR_CORRUPT || strstr(err.text, expected) == NULL)
            fail_msg("%u: status %d, '%s'", first, (int)status, err.text);
        free(file.data);
        support_recipe_free(&r);
        for (unsigned i = 0; i < SMALL; i++)
            support_tensor_free(&tensors[i]);
    }
    wcodec_context_destroy(context);
}

static void tells_what_differs(void **state)
{
    if (support_threads_only())
        skip();
    (void)state;
    wcodec_context *context = support_context(1, NULL);
    for (unsigned which = 0; which < 6; which++) {
        static const char *const texts[] = {"hash of the restored file",
                                            "tensor 'd': the hash of its payload",
                                            "tensor 'b': the hash of its payload",
                                            "coding 99",
                                            "is padding and not zero",
                                            "between two areas"};
        struct support_recipe r;
        struct support_bytes file;
        wcodec_error err;
        support_recipe_init(&r, 21);
        struct support_entry *tiles = &r.entries[2];
        if (which == 0)
            r.hash[1] ^= 1;
        else if (which == 1)
            r.entries[4].payload_hash ^= 1;
        else if (which == 2)
            tiles->payload_hash ^= 1;
        else if (which == 3)
            r.entries[4].coding = 99;
        else if (which == 5) {
            /* Of the areas, only that of the words need not end at a multiple of 16. */
            uint64_t seed = 0;
            struct wcodec_tiles *parsed = NULL;
            for (;;) {
                support_recipe_free(&r);
                support_recipe_init(&r, ++seed);
                assert_int_equal(wcodec_tiles_read(&r.tensor.tiling, r.tensor.payload,
                                                   r.tensor.payload_size, &wcodec_default_allocator,
                                                   &parsed, NULL),
                                 WCODEC_OK);
                uint64_t end = parsed->area_end[WCODEC_AREA_WORDS],
                         next = parsed->area_begin[WCODEC_AREA_RAW];
                wcodec_tiles_free(parsed);
                if (end == next)
                    continue;
                tiles->payload.data[end] = 1;
                tiles->payload_hash =
                    support_tree_hash(tiles->payload.data, tiles->payload.size).low64;
                break;
            }
        }
        support_recipe_build(&r, &file);
        if (which == 4) {
            const size_t gap =
                support_recipe_find(&file, &r.entries[0]) + r.entries[0].payload.size;
            assert_true(gap % 16 != 0);
            file.data[gap] = 1;
            assert_int_equal(test_file(context, &file, 1, &err), WCODEC_ERROR_CORRUPT);
            assert_non_null(strstr(err.text, texts[which]));
        } else {
            assert_int_equal(test_file(context, &file, 1, &err), WCODEC_OK);
        }
        wcodec_status status = test_file(context, &file, 0, &err);
        if (status != (which == 3 ? WCODEC_ERROR_NEWER : WCODEC_ERROR_CORRUPT) ||
            strstr(err.text, texts[which]) == NULL)
            fail_msg("%u: status %d, '%s'", which, (int)status, err.text);
        /* Without checks, hashes may differ. */
        wcodec_reader *reader;
        wcodec_decode_options options;
        wcodec_decode_options_init(&options);
        options.skip_checks = 1;
        assert_int_equal(wcodec_reader_open_memory(context, file.data, file.size, &reader, NULL),
                         WCODEC_OK);
        assert_int_equal(wcodec_reader_test(reader, 0, 0, &options, NULL),
                         which == 3   ? WCODEC_ERROR_NEWER
                         : which == 4 ? WCODEC_ERROR_CORRUPT
                                      : WCODEC_OK);
        wcodec_reader_close(reader);
        free(file.data);
        support_recipe_free(&r);
    }
    wcodec_context_destroy(context);
}

static void respects_limits(void **state)
{
    if (support_threads_only())
        skip();
    (void)state;
    struct support_recipe r;
    struct support_bytes file;
    wcodec_error err;
    support_recipe_init(&r, 22);
    support_recipe_build(&r, &file);
    wcodec_status before = WCODEC_ERROR_LIMIT;
    unsigned changes = 0;
    for (uint64_t memory = 10000; memory < 3000000; memory = memory * 5 / 4) {
        wcodec_context *context = support_context_limited(1, memory);
        wcodec_status status = test_file(context, &file, 0, &err);
        assert_true(status == WCODEC_OK || status == WCODEC_ERROR_LIMIT);
        changes += status != before;
        before = status;
        wcodec_context_destroy(context);
    }
    assert_int_equal(before, WCODEC_OK);
    assert_int_equal(changes, 1);
    wcodec_options options;
    wcodec_context *context;
    wcodec_options_init(&options);
    options.limits.max_tensor_bytes = r.tensor.tiling.size - 1;
    assert_int_equal(wcodec_context_create(&options, &context, NULL), WCODEC_OK);
    assert_int_equal(test_file(context, &file, 0, &err), WCODEC_ERROR_LIMIT);
    assert_non_null(strstr(err.text, "tensor 'b'"));
    wcodec_context_destroy(context);
    free(file.data);
    support_recipe_free(&r);
}

static void survives_every_failed_allocation(void **state)
{
    if (support_threads_only())
        skip();
    (void)state;
    struct support_recipe r;
    struct support_bytes file;
    struct support_allocator failing;
    support_recipe_init(&r, 23);
    support_recipe_build(&r, &file);
    support_allocator_init(&failing, SUPPORT_NEVER);
    failing.once = true;
    wcodec_context *context = support_context(1, &failing.allocator);
    assert_int_equal(test_file(context, &file, 0, NULL), WCODEC_OK);
    long before = failing.balance, failures = 0;
    wcodec_status status = WCODEC_ERROR_MEMORY;
    for (long n = 0; status != WCODEC_OK || failing.calls > n; n++) {
        failing.calls = 0;
        failing.left = n;
        status = test_file(context, &file, 0, NULL);
        assert_true(status == WCODEC_OK || status == WCODEC_ERROR_MEMORY);
        assert_int_equal(failing.balance, before);
        failures += status != WCODEC_OK;
    }
    assert_true(failures > 20);
    wcodec_context_destroy(context);
    assert_int_equal(failing.balance, 0);
    free(file.data);
    support_recipe_free(&r);
}

struct thread_work {
    const wcodec_reader *reader;
    const struct support_bytes *original;
};

static void *restore_in_thread(void *argument)
{
    const struct thread_work *work = argument;
    struct support_bytes got = {0};
    assert_int_equal(wcodec_reader_restore(work->reader, 0, support_append, &got, NULL, NULL),
                     WCODEC_OK);
    assert_int_equal(got.size, work->original->size);
    assert_memory_equal(got.data, work->original->data, got.size);
    free(got.data);
    return NULL;
}

static void two_threads_share_a_reader(void **state)
{
    (void)state;
    struct support_large l;
    struct support_bytes file, original;
    wcodec_context *context = support_context(2, NULL);
    wcodec_reader *reader;
    pthread_t threads[2];
    large_make(&l);
    support_recipe_build(&l.recipe, &file);
    support_recipe_original(&l.recipe, &original);
    assert_int_equal(wcodec_reader_open_memory(context, file.data, file.size, &reader, NULL),
                     WCODEC_OK);
    struct thread_work work = {reader, &original};
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, restore_in_thread, &work), 0);
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    wcodec_reader_close(reader);
    wcodec_context_destroy(context);
    free(file.data);
    free(original.data);
    support_large_free(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(restores),
        cmocka_unit_test(restores_nothing),
        cmocka_unit_test(restores_in_many_pieces),
        cmocka_unit_test(stops_when_told),
        cmocka_unit_test(finds_every_flip),
        cmocka_unit_test(tells_what_differs),
        cmocka_unit_test(names_the_first_damaged),
        cmocka_unit_test(respects_limits),
        cmocka_unit_test(survives_every_failed_allocation),
        cmocka_unit_test(two_threads_share_a_reader),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
