/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Files restored and tested in parts: all bytes once, wherever they are cut; the hash of the whole
 * from those of the parts; every flip found by one of them; hashes that do not belong together;
 * failure of every allocation. */

#include "support_area.h"
#include "support_container.h"
#include "support_memory.h"
#include "core/context.h"
#include "io/span.h"
#include "support_tree.h"
#include <wcodec/reader.h>

enum { PARTS = 9 };

/* Of several leaves, with each kind of entry that a part may begin with. */
static void medium_make(struct support_large *m, unsigned group_entries)
{
    static const uint64_t chunk = 100000;
    support_large_make(m, 900000, 700000, &chunk, 1, 150000);
    m->recipe.group_entries = group_entries;
}

/* Places where a file is cut. */
struct cuts {
    unsigned parts;
    uint64_t at[PARTS + 1];
};

static int compare(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Anywhere: more than once at one place, too. */
static struct cuts random_cuts(uint64_t *seed, uint64_t size)
{
    struct cuts c = {.parts = 1 + (unsigned)(support_random(seed) % PARTS)};
    for (unsigned i = 1; i < c.parts; i++)
        c.at[i] = 1 + support_random(seed) % (size + 2);
    c.at[c.parts] = support_random(seed) % 2 ? UINT64_MAX : size + 2;
    qsort(c.at, c.parts + 1, sizeof *c.at, compare);
    return c;
}

/* Part i; false: it is empty, which is none that can be asked for. */
static bool ask(const struct cuts *c, unsigned i, wcodec_decode_options *options,
                struct support_bytes *hashes)
{
    wcodec_decode_options_init(options);
    options->part_begin = c->at[i];
    options->part_end = c->at[i + 1];
    options->write_hashes = support_append;
    options->hashes = hashes;
    return c->at[i] < c->at[i + 1];
}

static wcodec_status check(const wcodec_reader *reader, const struct support_bytes *hashes,
                           unsigned count, wcodec_error *err)
{
    wcodec_part_hashes parts[PARTS] = {0};
    unsigned used = 0;
    for (unsigned i = 0; i < count; i++)
        if (hashes[i].size != 0)
            parts[used++] = (wcodec_part_hashes){.data = hashes[i].data, .size = hashes[i].size};
    return wcodec_reader_check_parts(reader, 0, parts, used, err);
}

static void free_all(struct support_bytes *hashes)
{
    for (unsigned i = 0; i < PARTS; i++)
        free(hashes[i].data);
}

/* Each way to restore it, and tests. */
static void check_restore(const wcodec_reader *reader, const struct support_bytes *original,
                          const struct cuts *c)
{
    struct support_area area = {.size = original->size, .left = 1000000};
    struct support_bytes hashes[3][PARTS] = {{{0}}}, got = {0};
    wcodec_decode_options options;
    wcodec_error err;
    area.data = calloc(1, original->size + 1);
    for (unsigned k = c->parts; k-- > 0;) { /* in any order */
        if (!ask(c, k, &options, &hashes[0][k]))
            continue;
        options.write_at = support_area_put;
        if (wcodec_reader_restore(reader, 0, NULL, &area, &options, &err) != WCODEC_OK)
            fail_msg("%s", err.text);
    }
    assert_int_equal(area.written, original->size);
    assert_memory_equal(area.data, original->data, original->size);
    for (unsigned k = 0; k < c->parts; k++) {
        if (!ask(c, k, &options, &hashes[1][k]))
            continue;
        assert_int_equal(wcodec_reader_restore(reader, 0, support_append, &got, &options, &err),
                         WCODEC_OK);
        ask(c, k, &options, &hashes[2][k]);
        assert_int_equal(wcodec_reader_test(reader, 0, 0, &options, &err), WCODEC_OK);
    }
    assert_int_equal(got.size, original->size);
    assert_memory_equal(got.data, original->data, original->size);
    for (unsigned way = 0; way < 3; way++) {
        if (check(reader, hashes[way], c->parts, &err) != WCODEC_OK)
            fail_msg("%s", err.text);
        free_all(hashes[way]);
    }
    free(area.data);
    free(got.data);
}

static void restores(void **state)
{
    (void)state;
    uint64_t seed = support_seed();
    for (unsigned groups = 0; groups < 4; groups++) {
        struct support_large m;
        struct support_bytes file, original;
        medium_make(&m, groups);
        support_recipe_build(&m.recipe, &file);
        support_recipe_original(&m.recipe, &original);
        for (unsigned threads = 1; threads <= 3; threads += 2) {
            wcodec_context *context = support_context(threads, NULL);
            wcodec_reader *reader = support_open_bytes(context, &file);
            for (unsigned round = 0; round < 12; round++) {
                const struct cuts c = random_cuts(&seed, original.size);
                check_restore(reader, &original, &c);
            }
            wcodec_reader_close(reader);
            wcodec_context_destroy(context);
        }
        free(original.data);
        free(file.data);
        support_large_free(&m);
    }
}

/* Each part by itself, and the hash of all. */
static wcodec_status test_parts(wcodec_context *context, const struct support_bytes *file,
                                const struct cuts *c)
{
    struct support_bytes hashes[PARTS] = {{0}};
    wcodec_decode_options options;
    wcodec_reader *reader;
    wcodec_status status =
        wcodec_reader_open_memory(context, file->data, file->size, &reader, NULL);
    if (status != WCODEC_OK)
        return status;
    for (unsigned k = 0; k < c->parts && status == WCODEC_OK; k++)
        if (ask(c, k, &options, &hashes[k]))
            status = wcodec_reader_test(reader, 0, 0, &options, NULL);
    if (status == WCODEC_OK)
        status = check(reader, hashes, c->parts, NULL);
    free_all(hashes);
    wcodec_reader_close(reader);
    return status;
}

static void finds_every_damaged_byte(void **state)
{
    if (support_threads_only())
        skip();
    (void)state;
    uint64_t seed = support_seed();
    wcodec_context *context = support_context(1, NULL);
    for (unsigned groups = 0; groups < 3; groups++) {
        struct support_recipe r;
        struct support_bytes file;
        support_recipe_init(&r, 5);
        r.group_entries = groups;
        support_recipe_build(&r, &file);
        for (size_t at = 0; at < file.size; at += 1 + (size_t)support_random(&seed) % 7) {
            const struct cuts c = random_cuts(&seed, r.size);
            const uint8_t was = file.data[at];
            file.data[at] ^= (uint8_t)(1 + support_random(&seed) % 255);
            if (test_parts(context, &file, &c) == WCODEC_OK)
                fail_msg("byte %zu of %zu", at, file.size);
            file.data[at] = was;
        }
        const struct cuts c = random_cuts(&seed, r.size);
        assert_int_equal(test_parts(context, &file, &c), WCODEC_OK);
        free(file.data);
        support_recipe_free(&r);
    }
    wcodec_context_destroy(context);
}

static void refused(const wcodec_reader *reader, const struct support_bytes *hashes, unsigned count,
                    const char *why)
{
    wcodec_error err;
    assert_int_equal(check(reader, hashes, count, &err), WCODEC_ERROR_USAGE);
    if (strstr(err.text, why) == NULL)
        fail_msg("%s, not %s", err.text, why);
}

/* Hashes of parts that are another's, missing, twice, damaged, none. */
static void refuses_hashes(void **state)
{
    (void)state;
    struct support_large m;
    struct support_bytes file, hashes[PARTS] = {{0}};
    struct cuts c = {.parts = 3, .at = {0, 300000, 1200000, UINT64_MAX}};
    wcodec_context *context = support_context(1, NULL);
    wcodec_decode_options options;
    medium_make(&m, 0);
    support_recipe_build(&m.recipe, &file);
    wcodec_reader *reader = support_open_bytes(context, &file);
    for (unsigned k = 0; k < 3; k++) {
        ask(&c, k, &options, &hashes[k]);
        assert_int_equal(wcodec_reader_test(reader, 0, 0, &options, NULL), WCODEC_OK);
    }
    assert_int_equal(check(reader, hashes, 3, NULL), WCODEC_OK);
    refused(reader, hashes, 2, "a part is missing, from byte");
    refused(reader, hashes, 0, "a part is missing, from byte 0");
    refused(reader, hashes + 1, 2, "part 1 of 2: it begins at byte");
    const struct support_bytes twice[] = {hashes[0], hashes[0]};
    refused(reader, twice, 2, "part 2 of 2: it begins at byte 0 of the original");
    for (size_t size = 1; size < hashes[1].size; size += 1 + size / 3) {
        struct support_bytes cut[3] = {hashes[0], hashes[1], hashes[2]};
        cut[1].size = size;
        refused(reader, cut, 3, "part 2 of 3: these are no hashes");
    }
    /* All of its numbers, and the hashes. */
    for (size_t at = 0; at < 48 + 64; at++) {
        wcodec_error err;
        hashes[1].data[at] ^= 1;
        const wcodec_status status = check(reader, hashes, 3, &err);
        assert_true(status == WCODEC_ERROR_USAGE || (at >= 48 && status == WCODEC_ERROR_CORRUPT));
        hashes[1].data[at] ^= 1;
    }
    struct support_recipe other;
    struct support_bytes other_file;
    support_recipe_init(&other, 3);
    support_recipe_build(&other, &other_file);
    wcodec_reader *another = support_open_bytes(context, &other_file);
    refused(another, hashes, 3, "part 1 of 3: it is of a file of");
    const wcodec_part_hashes none = {0}, reserved = {hashes[0].data, hashes[0].size, {0, 1}};
    wcodec_error err;
    assert_int_equal(wcodec_reader_check_parts(reader, 0, &none, 1, &err), WCODEC_ERROR_USAGE);
    assert_int_equal(wcodec_reader_check_parts(reader, 0, &reserved, 1, &err), WCODEC_ERROR_USAGE);
    assert_int_equal(wcodec_reader_check_parts(reader, 1, &none, 1, &err), WCODEC_ERROR_USAGE);
    assert_int_equal(wcodec_reader_check_parts(NULL, 0, &none, 1, &err), WCODEC_ERROR_USAGE);
    assert_int_equal(wcodec_reader_check_parts(reader, 0, NULL, 1, &err), WCODEC_ERROR_USAGE);
    wcodec_reader_close(another);
    wcodec_reader_close(reader);
    wcodec_context_destroy(context);
    free_all(hashes);
    free(other_file.data);
    free(file.data);
    support_recipe_free(&other);
    support_large_free(&m);
}

/* The least memory with which a part is tested. */
static uint64_t least_memory(const struct support_bytes *file, bool with_hashes)
{
    const struct cuts whole = {.parts = 1, .at = {0, UINT64_MAX}};
    wcodec_status status = WCODEC_ERROR_LIMIT;
    uint64_t memory = 100000;
    for (; status != WCODEC_OK; memory += 20000) {
        struct support_bytes hashes = {0};
        wcodec_decode_options options;
        wcodec_context *context = support_context_limited(1, memory);
        wcodec_reader *reader = support_open_bytes(context, file);
        ask(&whole, 0, &options, &hashes);
        if (!with_hashes)
            options.write_hashes = NULL;
        status = wcodec_reader_test(reader, 0, 0, &options, NULL);
        assert_true(status == WCODEC_OK || status == WCODEC_ERROR_LIMIT);
        assert_int_equal(hashes.size != 0, with_hashes && status == WCODEC_OK);
        free(hashes.data);
        wcodec_reader_close(reader);
        wcodec_context_destroy(context);
    }
    return memory;
}

/* Hashes count, where they are wanted. */
static void respects_limits(void **state)
{
    (void)state;
    struct support_large m;
    struct support_bytes file;
    medium_make(&m, 0);
    support_recipe_build(&m.recipe, &file);
    assert_true(least_memory(&file, true) >= least_memory(&file, false) + 180000);
    free(file.data);
    support_large_free(&m);
}

static int no_room(void *opaque, const void *data, size_t size)
{
    (void)opaque, (void)data, (void)size;
    return ENOSPC;
}

/* Options that say nothing, or where parts have no meaning. */
static void refuses_options(void **state)
{
    (void)state;
    struct support_recipe r;
    struct support_bytes file, hashes = {0};
    wcodec_context *context = support_context(1, NULL);
    wcodec_error err;
    uint8_t room[64];
    const struct cuts whole = {.parts = 1, .at = {0, UINT64_MAX}};
    wcodec_decode_options options;
    support_recipe_init(&r, 6);
    support_recipe_build(&r, &file);
    wcodec_reader *reader = support_open_bytes(context, &file);
    ask(&whole, 0, &options, &hashes);
    assert_int_equal(wcodec_reader_test(reader, 0, 1, &options, &err), WCODEC_ERROR_USAGE);
    assert_int_equal(wcodec_reader_decode(reader, 0, room, sizeof room, &options, &err),
                     WCODEC_ERROR_USAGE);
    assert_non_null(strstr(err.text, "part_end"));
    options.write_hashes = no_room;
    assert_int_equal(wcodec_reader_test(reader, 0, 0, &options, &err), WCODEC_ERROR_IO);
    assert_non_null(strstr(err.text, strerror(ENOSPC)));
    options.skip_checks = 1;
    assert_int_equal(wcodec_reader_test(reader, 0, 0, &options, &err), WCODEC_OK);
    options.part_begin = options.part_end = 7;
    assert_int_equal(wcodec_reader_test(reader, 0, 0, &options, &err), WCODEC_ERROR_USAGE);
    assert_non_null(strstr(err.text, "part_begin is 7"));
    options.part_end = 0;
    assert_int_equal(wcodec_reader_test(reader, 0, 0, &options, &err), WCODEC_ERROR_USAGE);
    wcodec_reader_close(reader);
    wcodec_context_destroy(context);
    free(hashes.data);
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
    const struct cuts c = {.parts = 3, .at = {0, 100, r.size / 2, UINT64_MAX}};
    support_allocator_init(&failing, SUPPORT_NEVER);
    failing.once = true;
    wcodec_context *context = support_context(1, &failing.allocator);
    assert_int_equal(test_parts(context, &file, &c), WCODEC_OK);
    const long before = failing.balance;
    long failures = 0;
    wcodec_status status = WCODEC_ERROR_MEMORY;
    for (long n = 0; status != WCODEC_OK || failing.calls > n; n++) {
        failing.calls = 0;
        failing.left = n;
        status = test_parts(context, &file, &c);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(restores),        cmocka_unit_test(finds_every_damaged_byte),
        cmocka_unit_test(respects_limits), cmocka_unit_test(refuses_hashes),
        cmocka_unit_test(refuses_options), cmocka_unit_test(survives_every_failed_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
