/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Files by their kind, chosen by content, to the places of their tensors. */

#include "support_memory.h"
#include "support_zip.h"
#include "format/layout.h"
#include "core/memory.h"

#define ARRAY "{'descr': '<f2', 'fortran_order': False, 'shape': (2, 3), }\n"
enum { ARRAY_SIZE = 12 };

static struct wcodec_file_layout *expect_good(const struct support_bytes *b)
{
    struct wcodec_file_layout *layout = NULL;
    struct wcodec_source source;
    wcodec_error err = {0};
    wcodec_source_memory(b->data, b->size, &source);
    if (wcodec_layout_read(&source, &wcodec_default_allocator, NULL, &layout, &err) != WCODEC_OK)
        fail_msg("refused: %s", err.text);
    return layout;
}

static void refuses(const struct support_bytes *b, const char *expected)
{
    struct wcodec_file_layout *layout = NULL;
    struct wcodec_source source;
    wcodec_error err = {0};
    wcodec_source_memory(b->data, b->size, &source);
    assert_int_equal(wcodec_layout_read(&source, &wcodec_default_allocator, NULL, &layout, &err),
                     WCODEC_ERROR_CORRUPT);
    assert_null(layout);
    if (strstr(err.text, expected) == NULL)
        fail_msg("'%s' is not said, but '%s'", expected, err.text);
}

static struct support_bytes array(void)
{
    struct support_bytes b = {0};
    support_put_array(&b, ARRAY, ARRAY_SIZE);
    return b;
}

static void test_npy(void **state)
{
    (void)state;
    struct support_bytes b = array();
    struct wcodec_file_layout *layout = expect_good(&b);
    assert_string_equal(layout->kind, "npy");
    assert_int_equal(layout->count, 1);
    assert_string_equal(layout->tensors[0].name, "arr_0");
    assert_string_equal(layout->tensors[0].dtype_name, "F16");
    assert_int_equal(layout->tensors[0].offset, b.size - ARRAY_SIZE);
    assert_int_equal(layout->metadata_count, 1);
    assert_string_equal(layout->metadata[0], WCODEC_LAYOUT_KIND);
    assert_string_equal(layout->metadata[1], "npy");
    wcodec_layout_free(layout);
    b.size--;
    refuses(&b, "is a NumPy array (.npy), but: it is cut short");
    support_bytes_free(&b);
}

static void test_npz(void **state)
{
    (void)state;
    struct support_bytes b = array();
    struct support_zip z = {.padding = 9};
    support_zip_add(&z, "second/w.npy", b.data, b.size);
    support_zip_add(&z, "note.txt", "text", 4);
    support_zip_add(&z, "first.npy", b.data, b.size);
    support_zip_end(&z);
    struct wcodec_file_layout *layout = expect_good(&z.file);
    assert_string_equal(layout->kind, "npz");
    assert_int_equal(layout->count, 2);
    assert_string_equal(layout->tensors[0].name, "second/w");
    assert_string_equal(layout->tensors[1].name, "first");
    assert_int_equal(layout->remark.text[0], 0);
    for (unsigned i = 0; i < 2; i++)
        assert_memory_equal(z.file.data + layout->tensors[i].offset, b.data + b.size - ARRAY_SIZE,
                            ARRAY_SIZE);
    wcodec_layout_free(layout);
    support_zip_free(&z);
    support_bytes_free(&b);
}

/* Members that are no tensors stay, with a remark; with none that is one the archive is opaque. */
static void test_npz_partly(void **state)
{
    (void)state;
    struct support_bytes b = array();
    struct support_zip z = {0};
    support_zip_add(&z, "good.npy", b.data, b.size);
    z.method = 8;
    support_zip_add(&z, "packed\033.npy", b.data, b.size);
    z.method = 0;
    support_zip_add(&z, "short.npy", b.data, b.size - 1);
    support_zip_end(&z);
    struct wcodec_file_layout *layout = expect_good(&z.file);
    assert_int_equal(layout->count, 1);
    assert_non_null(strstr(layout->remark.text, "2 of 3 arrays"));
    assert_non_null(strstr(layout->remark.text, "it is compressed"));
    assert_null(strchr(layout->remark.text, '\033'));
    wcodec_layout_free(layout);
    support_zip_free(&z);
    z.method = 8;
    support_zip_add(&z, "packed.npy", b.data, b.size);
    support_zip_end(&z);
    refuses(&z.file, "is a NumPy archive (.npz), but: none of its arrays is taken");
    support_zip_free(&z);
    support_zip_add(&z, "a.txt", "text", 4);
    support_zip_end(&z);
    refuses(&z.file, "neither arrays nor");
    support_zip_free(&z);
    support_bytes_free(&b);
}

static void test_transposed(void **state)
{
    (void)state;
    struct support_bytes b = {0};
    support_put_array(&b, "{'descr': '<f2', 'fortran_order': True, 'shape': (2, 3), }", 12);
    struct wcodec_file_layout *layout = expect_good(&b);
    assert_int_equal(layout->tensors[0].shape[0], 3);
    assert_int_equal(layout->tensors[0].shape[1], 2);
    assert_int_equal(layout->metadata_count, 2);
    assert_string_equal(layout->metadata[0], "npy.transposed.arr_0");
    wcodec_layout_free(layout);
    support_bytes_free(&b);
}

static void test_safetensors(void **state)
{
    (void)state;
    const char *header = "{\"b\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]}}";
    struct support_bytes b = {0};
    support_put_u64(&b, strlen(header));
    support_put(&b, header, strlen(header));
    support_put(&b, "data", 4);
    struct wcodec_file_layout *layout = expect_good(&b);
    assert_string_equal(layout->kind, "safetensors");
    assert_non_null(layout->safetensors);
    assert_int_equal(layout->count, 1);
    assert_int_equal(layout->tensors[0].offset, b.size - 4);
    assert_true(wcodec_layout_memory(layout) >= b.size);
    wcodec_layout_free(layout);
    support_put(&b, "x", 1);
    refuses(&b, "the tensors end at byte 4 of 5");
    support_bytes_free(&b);
    support_put(&b, "no tensors", 10);
    refuses(&b, "a header of ");
    support_bytes_free(&b);
    support_put(&b, "\x1f\x8b\x08.......", 10);
    refuses(&b, "is compressed by gzip");
    support_bytes_free(&b);
}

/* What a reader of a kind may hand in, and what not. */
static void test_add(void **state)
{
    (void)state;
    struct wcodec_file_layout l = {.allocator = &wcodec_default_allocator};
    uint64_t shape[WCODEC_LAYOUT_RANK_MAX + 1] = {2, 3};
    char *name = malloc(WCODEC_LAYOUT_NAME_MAX + 2);
    assert_non_null(name);
    memset(name, 'n', WCODEC_LAYOUT_NAME_MAX + 1);
    name[WCODEC_LAYOUT_NAME_MAX + 1] = 0;
    wcodec_arena_init(&l.arena, l.allocator);
    struct wcodec_layout_tensor t = {
        .name = name, .dtype = WCODEC_DTYPE_F32, .shape = shape, .rank = 2, .size = 24};
    assert_int_equal(wcodec_layout_add(&l, &t, NULL), WCODEC_ERROR_CORRUPT);
    t.name = name + 1;
    assert_int_equal(wcodec_layout_add(&l, &t, NULL), WCODEC_OK);
    t.name = "\xff";
    assert_int_equal(wcodec_layout_add(&l, &t, NULL), WCODEC_ERROR_CORRUPT);
    t.name = "n";
    t.size = 23;
    assert_int_equal(wcodec_layout_add(&l, &t, NULL), WCODEC_ERROR_CORRUPT);
    t.dtype = WCODEC_DTYPE_OTHER;
    t.dtype_name = "Q9";
    assert_int_equal(wcodec_layout_add(&l, &t, NULL), WCODEC_OK);
    shape[1] = (uint64_t)1 << 48;
    assert_int_equal(wcodec_layout_add(&l, &t, NULL), WCODEC_ERROR_CORRUPT);
    shape[1] = 3;
    t.rank = WCODEC_LAYOUT_RANK_MAX + 1;
    assert_int_equal(wcodec_layout_add(&l, &t, NULL), WCODEC_ERROR_CORRUPT);
    assert_int_equal(wcodec_layout_note(&l, "k", "\xff", NULL), WCODEC_ERROR_CORRUPT);
    l.text = WCODEC_LAYOUT_NAMES_MAX;
    assert_int_equal(wcodec_layout_note(&l, "k", "v", NULL), WCODEC_ERROR_CORRUPT);
    assert_int_equal(l.count, 2);
    wcodec_arena_free(&l.arena);
    wcodec_free(l.allocator, l.tensors);
    wcodec_free(l.allocator, l.metadata);
    free(name);
}

/* The kind of a .wcodec file's original comes from its metadata, which is whatever the file says.
 */
static void test_kind(void **state)
{
    (void)state;
    static const char *const cases[][2] = {{"npz", "npz"},
                                           {"", "opaque"},
                                           {"fifteen00000000", "fifteen00000000"},
                                           {"sixteen000000000", "opaque"},
                                           {"a\033b", "opaque"},
                                           {"Upper", "opaque"}};
    char kind[16];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *metadata[] = {"other", "x", WCODEC_LAYOUT_KIND, cases[i][0]};
        struct wcodec_index index = {.metadata = metadata, .metadata_count = 2};
        wcodec_layout_kind(&index, kind);
        assert_string_equal(kind, cases[i][1]);
        index.safetensors = true;
        wcodec_layout_kind(&index, kind);
        assert_string_equal(kind, "safetensors");
    }
}

static void test_memory(void **state)
{
    (void)state;
    struct support_bytes b = array();
    struct support_zip z = {0};
    char name[20];
    for (int i = 0; i < 20; i++) {
        snprintf(name, sizeof name, "%d.npy", i);
        support_zip_add(&z, name, b.data, b.size);
    }
    support_zip_end(&z);
    struct wcodec_source source;
    wcodec_source_memory(z.file.data, z.file.size, &source);
    for (int n = 0;; n++) {
        struct support_allocator failing;
        struct wcodec_file_layout *layout = NULL;
        support_allocator_init(&failing, n);
        const wcodec_status status =
            wcodec_layout_read(&source, &failing.allocator, NULL, &layout, NULL);
        if (status == WCODEC_OK) {
            assert_int_equal(layout->count, 20);
            wcodec_layout_free(layout);
            assert_true(n > 8);
            break;
        }
        assert_int_equal(status, WCODEC_ERROR_MEMORY);
        assert_int_equal(failing.balance, 0);
    }
    support_zip_free(&z);
    support_bytes_free(&b);
}

/* A callback that says so ends the reading, whatever kind of file it is. */
static int stop(void *opaque, uint64_t done, uint64_t total)
{
    (void)done, (void)total;
    (*(unsigned *)opaque)++;
    return 1;
}

static void is_cancelled(const struct support_bytes *b)
{
    unsigned calls = 0;
    const wcodec_progress progress = {.fn = stop, .opaque = &calls};
    struct wcodec_reporter reporter;
    struct wcodec_cancel cancel;
    struct wcodec_file_layout *layout = NULL;
    struct wcodec_source source;
    wcodec_error err = {0};
    wcodec_source_memory(b->data, b->size, &source);
    wcodec_reporter_init(&reporter, &progress, b->size);
    reporter.last = 0; /* the last report is long ago */
    wcodec_cancel_init(&cancel, &reporter);
    assert_int_equal(wcodec_layout_read(&source, &wcodec_default_allocator, &cancel, &layout, &err),
                     WCODEC_ERROR_CANCELLED);
    assert_null(layout);
    assert_int_equal(calls, 1);
}

static void test_cancel(void **state)
{
    (void)state;
    struct support_bytes b = array(), gguf = {0};
    struct support_zip z = {0};
    is_cancelled(&b);
    support_zip_add(&z, "a.npy", b.data, b.size);
    support_zip_end(&z);
    is_cancelled(&z.file);
    support_put(&gguf, "GGUF\3\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 24);
    is_cancelled(&gguf);
    support_bytes_free(&gguf);
    support_zip_free(&z);
    support_bytes_free(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_npy),         cmocka_unit_test(test_npz),
        cmocka_unit_test(test_npz_partly),  cmocka_unit_test(test_transposed),
        cmocka_unit_test(test_safetensors), cmocka_unit_test(test_add),
        cmocka_unit_test(test_kind),        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_cancel),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
