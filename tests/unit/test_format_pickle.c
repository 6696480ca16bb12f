/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Pickles become values, and nothing is done that they say. */

#include "support_memory.h"
#include "format/pickle.h"
#include "core/memory.h"

static wcodec_status read_pickle(const void *bytes, size_t size, struct wcodec_arena *arena,
                                 struct wcodec_pickle_value **value, wcodec_error *err)
{
    uint8_t *copy = malloc(size != 0 ? size : 1);
    assert_non_null(copy);
    memcpy(copy, bytes, size);
    wcodec_arena_init(arena, &wcodec_default_allocator);
    const wcodec_status status = wcodec_pickle_read(copy, size, arena, NULL, value, err);
    free(copy);
    return status;
}

static void refuses_bytes(const void *bytes, size_t size, const char *expected)
{
    struct wcodec_arena arena;
    struct wcodec_pickle_value *value = NULL;
    wcodec_error err = {0};
    assert_int_equal(read_pickle(bytes, size, &arena, &value, &err), WCODEC_ERROR_CORRUPT);
    assert_null(value);
    if (strstr(err.text, expected) == NULL)
        fail_msg("'%s' is not said, but '%s'", expected, err.text);
    wcodec_arena_free(&arena);
}

#define REFUSES(bytes, expected) refuses_bytes("\x80\2" bytes, sizeof("\x80\2" bytes) - 1, expected)

/* The value of a pickle; the arena is the caller's to free. */
static struct wcodec_pickle_value *good(const void *bytes, size_t size, struct wcodec_arena *arena)
{
    struct wcodec_pickle_value *value = NULL;
    wcodec_error err = {0};
    if (read_pickle(bytes, size, arena, &value, &err) != WCODEC_OK)
        fail_msg("refused: %s", err.text);
    return value;
}

#define GOOD(bytes, arena) good("\x80\2" bytes, sizeof("\x80\2" bytes) - 1, arena)

static void test_numbers(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t size;
        int64_t number;
    } cases[] = {
        {"K\xff.", 3, 255},
        {"M\xff\xff.", 4, 65535},
        {"J\xff\xff\xff\xff.", 6, -1},
        {"J\xff\xff\xff\x7f.", 6, INT32_MAX},
        {"\x8a\0.", 3, 0},
        {"\x8a\2\0\x80.", 5, -32768},
        {"\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f.", 11, INT64_MAX},
        {"\x8a\x08\0\0\0\0\0\0\0\x80.", 11, INT64_MIN},
        {"\x8b\2\0\0\0\5\1.", 8, 261},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char bytes[32] = "\x80\2";
        struct wcodec_arena arena;
        memcpy(bytes + 2, cases[i].bytes, cases[i].size);
        const struct wcodec_pickle_value *v = good(bytes, cases[i].size + 2, &arena);
        assert_int_equal(v->kind, WCODEC_PICKLE_NUMBER);
        assert_true(v->number == cases[i].number);
        wcodec_arena_free(&arena);
    }
    struct wcodec_arena arena;
    assert_int_equal(GOOD("\x8a\x09\0\0\0\0\0\0\0\0\1.", &arena)->kind, WCODEC_PICKLE_OTHER);
    wcodec_arena_free(&arena);
}

static void test_texts(void **state)
{
    (void)state;
    struct wcodec_arena arena;
    assert_string_equal(GOOD("X\3\0\0\0abc.", &arena)->text, "abc");
    wcodec_arena_free(&arena);
    assert_string_equal(GOOD("\x8c\2\xc3\xa9.", &arena)->text, "\xc3\xa9");
    wcodec_arena_free(&arena);
    assert_string_equal(GOOD("\x8d\1\0\0\0\0\0\0\0x.", &arena)->text, "x");
    wcodec_arena_free(&arena);
    /* With a NUL, or a lone surrogate, it is no text for us. */
    assert_int_equal(GOOD("X\3\0\0\0a\0c.", &arena)->kind, WCODEC_PICKLE_OTHER);
    wcodec_arena_free(&arena);
    assert_int_equal(GOOD("X\3\0\0\0\xed\xa0\x80.", &arena)->kind, WCODEC_PICKLE_OTHER);
    wcodec_arena_free(&arena);
    assert_string_equal(GOOD("cos\nsystem\n.", &arena)->text, "os system");
    wcodec_arena_free(&arena);
    assert_string_equal(GOOD("\x8c\2os\x8c\6system\x93.", &arena)->text, "os system");
    wcodec_arena_free(&arena);
    REFUSES("X\xff\xff\xff\xff.", "the end");
    REFUSES("\x8d\xff\xff\xff\xff\xff\xff\xff\xff.", "the end");
    REFUSES("cos\nsystem", "the end");
    REFUSES("c\xff\nx\n.", "no UTF-8");
    REFUSES("K\1K\2\x93.", "no text");
}

static void test_containers(void **state)
{
    (void)state;
    struct wcodec_arena arena;
    struct wcodec_pickle_value *v = GOOD("}(X\1\0\0\0aK\1X\1\0\0\0b(K\2K\3tu.", &arena);
    assert_int_equal(v->kind, WCODEC_PICKLE_DICT);
    assert_string_equal(wcodec_pickle_item(v, 0)->text, "a");
    assert_int_equal(wcodec_pickle_item(v, 1)->number, 1);
    assert_int_equal(wcodec_pickle_item(v, 3)->kind, WCODEC_PICKLE_TUPLE);
    assert_int_equal(wcodec_pickle_item(wcodec_pickle_item(v, 3), 1)->number, 3);
    assert_null(wcodec_pickle_item(v, 4));
    wcodec_arena_free(&arena);
    v = GOOD("](K\1K\2eK\3a.", &arena);
    assert_int_equal(v->kind, WCODEC_PICKLE_LIST);
    assert_int_equal(wcodec_pickle_item(v, 2)->number, 3);
    wcodec_arena_free(&arena);
    /* A call is a value; what is put into it makes it a container. */
    v = GOOD("cos\nsystem\nX\4\0\0\0true\x85R.", &arena);
    assert_int_equal(v->kind, WCODEC_PICKLE_OBJECT);
    assert_string_equal(wcodec_pickle_item(v, 0)->text, "os system");
    wcodec_arena_free(&arena);
    v = GOOD("cc\nOrderedDict\n)RX\1\0\0\0kK\7s}b.", &arena);
    assert_int_equal(v->kind, WCODEC_PICKLE_DICT);
    assert_int_equal(wcodec_pickle_item(v, 1)->number, 7);
    wcodec_arena_free(&arena);
    v = GOOD("cm\nC\n)\x81}X\1\0\0\0kK\7sb.", &arena);
    assert_int_equal(v->kind, WCODEC_PICKLE_OBJECT);
    assert_int_equal(wcodec_pickle_item(v, 2)->kind, WCODEC_PICKLE_DICT);
    wcodec_arena_free(&arena);
    v = GOOD("(X\1\0\0\0aK\5tQ.", &arena);
    assert_int_equal(v->kind, WCODEC_PICKLE_PERSISTENT);
    assert_int_equal(wcodec_pickle_item(wcodec_pickle_item(v, 0), 1)->number, 5);
    wcodec_arena_free(&arena);
    /* A list that holds itself. */
    v = GOOD("]q\0h\0a.", &arena);
    assert_ptr_equal(wcodec_pickle_item(v, 0), v);
    wcodec_arena_free(&arena);
    v = GOOD("\x8f(K\1K\2\x90(K\3\x91\x86.", &arena);
    assert_int_equal(wcodec_pickle_item(v, 0)->kind, WCODEC_PICKLE_OTHER);
    assert_int_equal(wcodec_pickle_item(v, 1)->kind, WCODEC_PICKLE_OTHER);
    wcodec_arena_free(&arena);
}

static void test_stack(void **state)
{
    (void)state;
    refuses_bytes("", 0, "not of protocol");
    refuses_bytes("\x80\1N.", 4, "not of protocol");
    refuses_bytes("\x80\6N.", 4, "not of protocol");
    refuses_bytes("(lp0\n.", 6, "not of protocol");
    REFUSES("", "the end");
    REFUSES(".", "no value");
    REFUSES("(.", "no value");
    REFUSES("0.", "no value");
    REFUSES("(0.", "no value");
    REFUSES("2.", "no value");
    REFUSES("t.", "no mark");
    REFUSES("1.", "no mark");
    REFUSES("K\1e.", "no mark");
    REFUSES("K\1\x86.", "too few values");
    REFUSES("(K\1\x86.", "too few values");
    REFUSES("R.", "too few values");
    REFUSES("Q.", "too few values");
    REFUSES("(Q.", "too few values");
    REFUSES("K\1a.", "no container");
    REFUSES("(K\1e.", "no container");
    REFUSES("((K\1e.", "no container");
    REFUSES("}(K\1u.", "without a value");
    REFUSES("Nb.", "no object");
    REFUSES("(Nb.", "no object");
    REFUSES("q\0.", "nothing to remember");
    REFUSES("(q\0.", "nothing to remember");
    REFUSES("(\x94.", "nothing to remember");
    REFUSES("h\0.", "never remembered");
    REFUSES("Nr\5\0\0\0h\4.", "never remembered");
    REFUSES("Nr\xff\xff\xff\xff.", "too many values to remember");
    REFUSES("I5\n.", "not known");
    REFUSES("cos\nsystem\n\x82\1.", "not known");
    REFUSES("\x97.", "not known");
}

/* Bounds: of values, of names that are repeated by a few bytes. */
static void test_bounds(void **state)
{
    (void)state;
    const size_t size = WCODEC_PICKLE_VALUES_MAX + 100;
    char *bytes = malloc(size);
    assert_non_null(bytes);
    memset(bytes, ')', size);
    memcpy(bytes, "\x80\2", 2);
    refuses_bytes(bytes, size, "too many values");
    memset(bytes + 2, 'N', size - 2);
    refuses_bytes(bytes, size, "too many values");
    memset(bytes + 2, '(', size - 2);
    refuses_bytes(bytes, size, "too many values");
    memset(bytes + 2, 'n', size - 2);
    bytes[2] = 'c';
    bytes[100] = '\n';
    bytes[300] = '\n';
    refuses_bytes(bytes, size, "too long");
    free(bytes);
}

static const char sample[] =
    "\x80\4\x95\x10\0\0\0\0\0\0\0}\x94(\x8c\1a\x94K\1\x8c\1k\x8c\1m\x8c\1C\x93)\x81}b\x8c\1b](M\1\1"
    "G\0\0\0\0\0\0\0\0N\x88X\2\0\0\0xyh\1eu.";

static void test_cut_anywhere(void **state)
{
    (void)state;
    struct wcodec_arena arena;
    good(sample, sizeof sample - 1, &arena);
    wcodec_arena_free(&arena);
    for (size_t size = 0; size < sizeof sample - 1; size++)
        refuses_bytes(sample, size, "");
}

static void test_mutations(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof sample - 1; i++)
        for (int b = 0; b < 256; b++) {
            char bytes[sizeof sample];
            struct wcodec_arena arena;
            struct wcodec_pickle_value *value = NULL;
            memcpy(bytes, sample, sizeof sample);
            bytes[i] = (char)b;
            if (read_pickle(bytes, sizeof sample - 1, &arena, &value, NULL) == WCODEC_OK)
                assert_non_null(value);
            wcodec_arena_free(&arena);
        }
}

static void test_memory(void **state)
{
    (void)state;
    for (int n = 0;; n++) {
        struct support_allocator failing;
        struct wcodec_arena arena;
        struct wcodec_pickle_value *value = NULL;
        support_allocator_init(&failing, n);
        wcodec_arena_init(&arena, &failing.allocator);
        const wcodec_status status = wcodec_pickle_read((const uint8_t *)sample, sizeof sample - 1,
                                                        &arena, NULL, &value, NULL);
        wcodec_arena_free(&arena);
        assert_int_equal(failing.balance, 0);
        if (status == WCODEC_OK) {
            assert_true(n > 2);
            break;
        }
        assert_int_equal(status, WCODEC_ERROR_MEMORY);
    }
}

static int stop(void *opaque, uint64_t done, uint64_t total)
{
    (void)done, (void)total;
    return ++*(unsigned *)opaque == 2;
}

/* The callback is asked in the middle of a long one, too. */
static void test_cancel(void **state)
{
    (void)state;
    enum { PAIRS = 40000 };
    static char bytes[2 + 2 * PAIRS + 2] = "\x80\2";
    unsigned calls = 0;
    const wcodec_progress progress = {.fn = stop, .opaque = &calls};
    struct wcodec_reporter reporter;
    struct wcodec_cancel cancel;
    struct wcodec_arena arena;
    struct wcodec_pickle_value *value = NULL;
    for (size_t i = 0; i < PAIRS; i++)
        memcpy(bytes + 2 + 2 * i, "N0", 2);
    memcpy(bytes + 2 + 2 * PAIRS, "N.", 2);
    wcodec_reporter_init(&reporter, &progress, 1);
    wcodec_cancel_init(&cancel, &reporter);
    wcodec_status status = WCODEC_OK;
    /* Reports come at intervals: time must pass. */
    for (unsigned round = 0; round < 1000 && status == WCODEC_OK; round++) {
        wcodec_arena_init(&arena, &wcodec_default_allocator);
        reporter.last = 0;
        status =
            wcodec_pickle_read((const uint8_t *)bytes, sizeof bytes, &arena, &cancel, &value, NULL);
        wcodec_arena_free(&arena);
    }
    assert_int_equal(status, WCODEC_ERROR_CANCELLED);
    assert_int_equal(calls, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers),    cmocka_unit_test(test_texts),
        cmocka_unit_test(test_containers), cmocka_unit_test(test_stack),
        cmocka_unit_test(test_bounds),     cmocka_unit_test(test_cut_anywhere),
        cmocka_unit_test(test_mutations),  cmocka_unit_test(test_memory),
        cmocka_unit_test(test_cancel),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
