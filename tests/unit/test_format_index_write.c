/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* What is read and written again is the same; an index that shrinks too well can still be read;
 * failure of every allocation. */

#include "support_container.h"
#include "support_memory.h"
#include "format/index.h"
#include "core/memory.h"
#include "io/source.h"
#include <string.h>
#include <zstd.h>

static const wcodec_limits no_limits = {.max_memory = UINT64_MAX,
                                        .max_tensor_bytes = (uint64_t)1 << 48,
                                        .max_index_bytes = (uint64_t)4 << 30,
                                        .max_tensors = (uint64_t)1 << 24};

static struct wcodec_index *read_index(const struct support_bytes *file)
{
    struct wcodec_source source;
    struct wcodec_index *index = NULL;
    wcodec_error err;
    wcodec_source_memory(file->data, file->size, &source);
    if (wcodec_index_read(&source, &wcodec_default_allocator, &no_limits, &index, &err) !=
        WCODEC_OK)
        fail_msg("%s", err.text);
    return index;
}

static void decompress(const uint8_t *coded, size_t coded_size, struct support_bytes *out)
{
    out->size = (size_t)ZSTD_getFrameContentSize(coded, coded_size);
    out->data = malloc(out->size);
    assert_int_equal(ZSTD_decompress(out->data, out->size, coded, coded_size), out->size);
}

/* The decoded bytes of a file's index, and what writing it gives. */
static void writes_what_it_read(void **state)
{
    (void)state;
    uint64_t seed = support_seed();
    for (unsigned round = 0; round < 200; round++) {
        struct support_recipe r;
        struct support_bytes file, expected, got;
        support_recipe_init(&r, seed + round);
        support_recipe_build(&r, &file);
        struct wcodec_index *index = read_index(&file);
        uint8_t *coded;
        size_t coded_size;
        uint64_t decoded_size;
        struct wcodec_tiling tiling;
        if (round % 2 == 0) {
            wcodec_entry_tiling(&index->entries[2], &tiling);
            index->entries[2].u.tiling = &tiling;
        }
        assert_int_equal(wcodec_index_write(index, &wcodec_default_allocator, &coded, &coded_size,
                                            &decoded_size, NULL),
                         WCODEC_OK);
        decompress(coded, coded_size, &got);
        assert_int_equal(got.size, decoded_size);
        decompress(file.data + index->body_stop, file.size - 64 - (size_t)index->body_stop,
                   &expected);
        assert_int_equal(got.size, expected.size);
        assert_memory_equal(got.data, expected.data, got.size);
        wcodec_index_free(index);
        free(coded);
        free(got.data);
        free(expected.data);
        free(file.data);
        support_recipe_free(&r);
    }
}

/* A name of 4 MiB of which but the beginning is one letter shrinks by more than readers allow: it
 * is coded by as much as they do. */
static void writes_what_shrinks_too_well(void **state)
{
    (void)state;
    const size_t name_size = (size_t)4 << 20;
    char *name = malloc(name_size + 1);
    memset(name, 'x', name_size);
    for (size_t i = 0; i < 5000; i++)
        name[i] = (char)('a' + i * i % 23);
    name[name_size] = 0;
    struct wcodec_index index = {.safetensors = false, .name = name, .mtime = -1};
    struct support_bytes file = {0};
    uint8_t head[64], tail[64], *coded;
    size_t coded_size;
    uint64_t decoded_size;
    assert_int_equal(wcodec_index_write(&index, &wcodec_default_allocator, &coded, &coded_size,
                                        &decoded_size, NULL),
                     WCODEC_OK);
    assert_true(wcodec_index_decoded_max(coded_size) >= decoded_size);
    assert_true(coded_size < name_size / 200);
    wcodec_head_write(&(struct wcodec_head){.size = UINT64_MAX}, head);
    wcodec_tail_write(head, 64, coded, coded_size, decoded_size, 128 + coded_size, tail);
    support_put(&file, head, 64);
    support_put(&file, coded, coded_size);
    support_put(&file, tail, 64);
    struct wcodec_index *got = read_index(&file);
    assert_string_equal(got->name, name);
    assert_int_equal(got->mtime, -1);
    wcodec_index_free(got);
    free(coded);
    free(file.data);
    struct support_allocator failing;
    wcodec_status status = WCODEC_ERROR_MEMORY;
    for (long n = 0; status != WCODEC_OK; n++) {
        support_allocator_init(&failing, n);
        failing.once = true;
        status = wcodec_index_write(&index, &failing.allocator, &coded, &coded_size, &decoded_size,
                                    NULL);
        assert_int_equal(status, failing.calls <= n ? WCODEC_OK : WCODEC_ERROR_MEMORY);
        if (status == WCODEC_OK)
            wcodec_free(&failing.allocator, coded);
        assert_int_equal(failing.balance, 0);
    }
    free(name);
}

/* More entries than a coded index may have that shrinks as well as these: it is coded by as many
 * bytes as readers ask for; and with fewer it is refused. */
static void writes_many_entries(void **state)
{
    (void)state;
    uint64_t seed = 7;
    const uint64_t count = wcodec_index_entries_max(0) + 60000;
    struct wcodec_entry *entries = calloc((size_t)count, sizeof *entries);
    struct wcodec_index index = {
        .entries = entries, .entry_count = count, .size = count, .name = "", .mtime = -1};
    struct support_bytes file = {0}, decoded = {0};
    uint8_t head[64], tail[64], *coded;
    size_t coded_size;
    uint64_t decoded_size;
    struct wcodec_index *got = NULL;
    struct wcodec_source source;
    wcodec_error err;
    assert_non_null(entries);
    for (uint64_t i = 0; i < count; i++)
        entries[i] = (struct wcodec_entry){
            .size = 1, .u.constant.element[0] = support_random(&seed) % 20 == 0};
    assert_int_equal(wcodec_index_write(&index, &wcodec_default_allocator, &coded, &coded_size,
                                        &decoded_size, NULL),
                     WCODEC_OK);
    assert_in_range(coded_size, 60000, 120000);
    wcodec_head_write(&(struct wcodec_head){.size = count}, head);
    wcodec_tail_write(head, 64, coded, coded_size, decoded_size, 128 + coded_size, tail);
    support_put(&file, head, 64);
    support_put(&file, coded, coded_size);
    support_put(&file, tail, 64);
    got = read_index(&file);
    assert_int_equal(got->entry_count, count);
    wcodec_index_free(got);
    decompress(coded, coded_size, &decoded);
    uint8_t *small = malloc(ZSTD_compressBound(decoded.size));
    const size_t small_size =
        ZSTD_compress(small, ZSTD_compressBound(decoded.size), decoded.data, decoded.size, 3);
    assert_in_range(small_size, (decoded_size - wcodec_index_decoded_max(0)) / 256 + 1, 59999);
    wcodec_tail_write(head, 64, small, small_size, decoded_size, 128 + small_size, tail);
    file.size = 64;
    support_put(&file, small, small_size);
    support_put(&file, tail, 64);
    wcodec_source_memory(file.data, file.size, &source);
    assert_int_equal(wcodec_index_read(&source, &wcodec_default_allocator, &no_limits, &got, &err),
                     WCODEC_ERROR_CORRUPT);
    assert_non_null(strstr(err.text, "322144 entries"));
    free(small);
    free(coded);
    free(entries);
    free(file.data);
    free(decoded.data);
}

static void survives_every_failed_allocation(void **state)
{
    (void)state;
    struct support_allocator failing;
    long n;
    struct support_recipe r;
    struct support_bytes file;
    support_recipe_init(&r, 5);
    support_recipe_build(&r, &file);
    struct wcodec_index *index = read_index(&file);
    wcodec_status status = WCODEC_ERROR_MEMORY;
    for (n = 0; status != WCODEC_OK; n++) {
        uint8_t *coded = NULL;
        size_t coded_size;
        uint64_t decoded_size;
        support_allocator_init(&failing, n);
        failing.once = true;
        status =
            wcodec_index_write(index, &failing.allocator, &coded, &coded_size, &decoded_size, NULL);
        assert_int_equal(status, failing.calls <= n ? WCODEC_OK : WCODEC_ERROR_MEMORY);
        if (status == WCODEC_OK)
            wcodec_free(&failing.allocator, coded);
        assert_int_equal(failing.balance, 0);
    }
    assert_true(n > 3);
    wcodec_index_free(index);
    free(file.data);
    support_recipe_free(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writes_what_it_read),
        cmocka_unit_test(writes_what_shrinks_too_well),
        cmocka_unit_test(writes_many_entries),
        cmocka_unit_test(survives_every_failed_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
