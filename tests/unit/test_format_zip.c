/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Zip archives: where members lie; whatever is not in its place is refused. */

#include "support_memory.h"
#include "support_zip.h"
#include "format/zip.h"
#include "core/bytes.h"
#include "core/memory.h"

static const char data[] = "0123456789abcdefghij";

static wcodec_status read_zip(const struct support_bytes *b, size_t size, struct wcodec_zip *zip,
                              wcodec_error *err)
{
    struct wcodec_source source;
    uint8_t *copy = support_source(b, size, &source);
    const wcodec_status status =
        wcodec_zip_read(&source, &wcodec_default_allocator, NULL, zip, err);
    free(copy);
    return status;
}

static void refuses(const struct support_bytes *b, const char *expected)
{
    struct wcodec_zip zip;
    wcodec_error err = {0};
    assert_int_equal(read_zip(b, b->size, &zip, &err), WCODEC_ERROR_CORRUPT);
    wcodec_zip_free(&zip);
    if (strstr(err.text, expected) == NULL)
        fail_msg("'%s' is not said, but '%s'", expected, err.text);
}

/* "a" of 5 bytes, "dir/b" of 20. */
static struct support_zip two_members(bool zip64)
{
    struct support_zip z = {.zip64 = zip64, .padding = 12};
    support_zip_add(&z, "a", data, 5);
    support_zip_add(&z, "dir/b", data, 20);
    support_zip_end(&z);
    return z;
}

static void test_members(void **state)
{
    (void)state;
    for (unsigned zip64 = 0; zip64 < 2; zip64++) {
        struct support_zip z = two_members(zip64);
        struct wcodec_zip zip;
        assert_int_equal(read_zip(&z.file, z.file.size, &zip, NULL), WCODEC_OK);
        assert_int_equal(zip.count, 2);
        assert_string_equal(zip.members[0].name, "a");
        assert_string_equal(zip.members[1].name, "dir/b");
        assert_int_equal(zip.members[0].size, 5);
        assert_int_equal(zip.members[1].size, 20);
        for (unsigned i = 0; i < 2; i++) {
            assert_true(zip.members[i].is_stored);
            assert_memory_equal(z.file.data + zip.members[i].begin, data, zip.members[i].size);
        }
        wcodec_zip_free(&zip);
        support_zip_free(&z);
    }
}

static void test_empty_and_comment(void **state)
{
    (void)state;
    struct support_zip z = {0};
    struct wcodec_zip zip;
    support_zip_end(&z);
    assert_int_equal(read_zip(&z.file, z.file.size, &zip, NULL), WCODEC_OK);
    assert_int_equal(zip.count, 0);
    wcodec_zip_free(&zip);
    /* A comment that looks like an end record, and the true one before it. */
    wcodec_store_u16(z.file.data + z.file.size - 2, 22);
    support_put(&z.file, "PK\5\6..................", 22);
    assert_int_equal(read_zip(&z.file, z.file.size, &zip, NULL), WCODEC_OK);
    wcodec_zip_free(&zip);
    support_put(&z.file, "x", 1);
    refuses(&z.file, "no directory is at its end");
    support_zip_free(&z);
}

static void test_not_stored(void **state)
{
    (void)state;
    static const struct {
        unsigned method, flags;
        bool is_stored;
    } cases[] = {{0, 0, true},       {0, 8, true},  {0, 0x808, true}, {8, 0, false},
                 {0, 0x2000, false}, {0, 1, false}, {93, 0, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct support_zip z = {.method = cases[i].method, .flags = cases[i].flags};
        struct wcodec_zip zip;
        support_zip_add(&z, "a", data, 5);
        support_zip_end(&z);
        assert_int_equal(read_zip(&z.file, z.file.size, &zip, NULL), WCODEC_OK);
        assert_int_equal(zip.members[0].is_stored, cases[i].is_stored);
        wcodec_zip_free(&zip);
        support_zip_free(&z);
    }
}

static void test_names(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        size_t size;
        const char *expected; /* NULL: good */
    } cases[] = {{"../../etc/passwd", 16, NULL}, {"", 0, NULL},
                 {"a\0b", 3, "no UTF-8"},        {"\xff", 1, "no UTF-8"},
                 {"first", 5, "there twice"},    {"\xc0\x80", 2, "no UTF-8"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct support_zip z = {0};
        struct wcodec_zip zip;
        support_zip_add(&z, "first", data, 5);
        support_zip_member(&z, cases[i].name, cases[i].size, data, 5);
        support_zip_end(&z);
        if (cases[i].expected == NULL) {
            assert_int_equal(read_zip(&z.file, z.file.size, &zip, NULL), WCODEC_OK);
            assert_string_equal(zip.members[1].name, cases[i].name);
            wcodec_zip_free(&zip);
        } else {
            refuses(&z.file, cases[i].expected);
        }
        support_zip_free(&z);
    }
}

/* Offsets from the end of an archive of two members without zip64: its end record has 22 bytes,
 * directory records 46 and the name. */
enum { END = 22, SECOND = END + 51, FIRST = SECOND + 47 };

static void poked(size_t from_end, unsigned size, uint64_t value, const char *expected)
{
    struct support_zip z = two_members(false);
    wcodec_store_uint(z.file.data + z.file.size - from_end, value, size);
    refuses(&z.file, expected);
    support_zip_free(&z);
}

static void test_fields(void **state)
{
    (void)state;
    poked(END - 4, 2, 1, "one part of several");
    poked(END - 8, 2, 1, "one part of several");
    poked(END - 16, 4, 0, "does not end at");
    poked(END - 16, 4, UINT32_MAX, "does not end at");
    poked(END - 12, 4, 97, "does not end at");
    poked(FIRST, 4, 0, "record 0 of its directory is none");
    poked(SECOND, 4, 0, "record 1 of its directory is none");
    poked(FIRST - 28, 2, 60000, "cut short");
    poked(FIRST - 30, 2, 60000, "cut short");
    poked(FIRST - 24, 4, 6, "is stored, but has");
    poked(FIRST - 20, 4, UINT32_MAX, "64 bits is missing");
    poked(FIRST - 42, 4, UINT32_MAX, "64 bits is missing");
    poked(FIRST - 42, 4, 1000, "not before the directory");
    poked(FIRST - 42, 4, 1, "no header is at byte 1");
    poked(SECOND - 42, 4, 0, "overlaps");
    poked(FIRST - 46, 1, 'b', "another name in its header");
}

/* The sizes of the first member, in both places. */
static void test_overlap(void **state)
{
    (void)state;
    struct support_zip z = two_members(false);
    wcodec_store_u32(z.file.data + z.file.size - FIRST + 20, 6);
    wcodec_store_u32(z.file.data + z.file.size - FIRST + 24, 6);
    refuses(&z.file, "overlaps");
    support_zip_free(&z);
}

static void test_counts(void **state)
{
    (void)state;
    struct support_zip z = two_members(false);
    uint8_t *end = z.file.data + z.file.size - END;
    wcodec_store_u16(end + 8, 1);
    wcodec_store_u16(end + 10, 1);
    refuses(&z.file, "more than 1 members");
    wcodec_store_u16(end + 8, 60000);
    wcodec_store_u16(end + 10, 60000);
    refuses(&z.file, "do not fit");
    support_zip_free(&z);
    z = two_members(true);
    uint8_t *end64 = z.file.data + z.file.size - END - 20 - 56;
    const uint64_t huge[] = {UINT64_MAX, (uint64_t)1 << 63, (uint64_t)1 << 32};
    for (unsigned i = 0; i < 3; i++) {
        wcodec_store_u64(end64 + 24, huge[i]);
        wcodec_store_u64(end64 + 32, huge[i]);
        refuses(&z.file, "expected at most");
        wcodec_store_u64(end64 + 24, 2);
        wcodec_store_u64(end64 + 32, 2);
        wcodec_store_u64(end64 + 48, huge[i]);
        refuses(&z.file, "does not end at");
        wcodec_store_u64(end64 + 48, 0);
        wcodec_store_u64(end64 + 56 + 8, huge[i]);
        refuses(&z.file, "is not in it");
        wcodec_store_u64(end64 + 56 + 8, 0);
        refuses(&z.file, "no zip64 end record");
        support_zip_free(&z);
        z = two_members(true);
        end64 = z.file.data + z.file.size - END - 20 - 56;
    }
    support_zip_free(&z);
}

static void test_cut_anywhere(void **state)
{
    (void)state;
    for (unsigned zip64 = 0; zip64 < 2; zip64++) {
        struct support_zip z = two_members(zip64);
        for (size_t size = 0; size < z.file.size; size++) {
            struct wcodec_zip zip;
            assert_int_equal(read_zip(&z.file, size, &zip, NULL), WCODEC_ERROR_CORRUPT);
            wcodec_zip_free(&zip);
        }
        support_zip_free(&z);
    }
}

/* Any byte is any of some: members that are found lie apart, in order, inside. */
static void test_mutations(void **state)
{
    (void)state;
    static const uint8_t bytes[] = {0, 1, 2, 0x2e, 0x7f, 0x80, 0xff};
    for (unsigned zip64 = 0; zip64 < 2; zip64++) {
        struct support_zip z = two_members(zip64);
        for (size_t i = 0; i < z.file.size; i++)
            for (size_t b = 0; b < sizeof bytes; b++) {
                const uint8_t before = z.file.data[i];
                struct wcodec_zip zip;
                z.file.data[i] = bytes[b];
                if (read_zip(&z.file, z.file.size, &zip, NULL) == WCODEC_OK) {
                    uint64_t at = 0;
                    for (uint64_t m = 0; m < zip.count; m++) {
                        assert_true(zip.members[m].header >= at);
                        assert_true(zip.members[m].begin >= zip.members[m].header + 30);
                        at = zip.members[m].begin + zip.members[m].size;
                    }
                    assert_true(at <= z.file.size);
                }
                wcodec_zip_free(&zip);
                z.file.data[i] = before;
            }
        support_zip_free(&z);
    }
}

static void test_memory(void **state)
{
    (void)state;
    struct support_zip z = two_members(true);
    struct wcodec_source source;
    wcodec_source_memory(z.file.data, z.file.size, &source);
    for (int n = 0;; n++) {
        struct support_allocator failing;
        struct wcodec_zip zip;
        support_allocator_init(&failing, n);
        const wcodec_status status = wcodec_zip_read(&source, &failing.allocator, NULL, &zip, NULL);
        wcodec_zip_free(&zip);
        assert_int_equal(failing.balance, 0);
        if (status == WCODEC_OK) {
            assert_true(n > 3);
            break;
        }
        assert_int_equal(status, WCODEC_ERROR_MEMORY);
    }
    support_zip_free(&z);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_members),    cmocka_unit_test(test_empty_and_comment),
        cmocka_unit_test(test_not_stored), cmocka_unit_test(test_names),
        cmocka_unit_test(test_fields),     cmocka_unit_test(test_overlap),
        cmocka_unit_test(test_counts),     cmocka_unit_test(test_cut_anywhere),
        cmocka_unit_test(test_mutations),  cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
