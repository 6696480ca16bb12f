/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* GGUF files: values of every type, tensors of every type. */

#include "support_memory.h"
#include "support_zip.h"
#include "format/layout.h"
#include "core/bytes.h"
#include "core/memory.h"

static void put_text(struct support_bytes *b, const char *text)
{
    support_put_u64(b, strlen(text));
    support_put(b, text, strlen(text));
}

static struct support_bytes begin(uint64_t tensors, uint64_t values)
{
    struct support_bytes b = {0};
    support_put(&b, "GGUF\3\0\0\0", 8);
    support_put_u64(&b, tensors);
    support_put_u64(&b, values);
    return b;
}

static void put_tensor(struct support_bytes *b, const char *name, unsigned rank,
                       const uint64_t *shape, uint32_t type, uint64_t offset)
{
    put_text(b, name);
    support_put_u32(b, rank);
    for (unsigned i = 0; i < rank; i++)
        support_put_u64(b, shape[i]);
    support_put_u32(b, type);
    support_put_u64(b, offset);
}

static void put_data(struct support_bytes *b, size_t alignment, size_t size)
{
    while (b->size % alignment != 0)
        support_put(b, "\0", 1);
    uint8_t *bytes = malloc(size);
    assert_non_null(bytes);
    for (size_t i = 0; i < size; i++)
        bytes[i] = (uint8_t)i;
    support_put(b, bytes, size);
    free(bytes);
}

static const char *note(const struct wcodec_file_layout *l, const char *key)
{
    for (uint64_t i = 0; i < l->metadata_count; i++)
        if (strcmp(l->metadata[2 * i], key) == 0)
            return l->metadata[2 * i + 1];
    return "none";
}

static struct wcodec_file_layout *good(const struct support_bytes *b)
{
    return support_layout_of(b, "gguf");
}

static void refuses(struct support_bytes b, const char *expected)
{
    support_layout_refused(&b, "is a GGUF file, but: ", expected);
    support_bytes_free(&b);
}

static void test_tensors(void **state)
{
    (void)state;
    struct support_bytes b = begin(3, 0);
    put_tensor(&b, "last", 2, (uint64_t[]){64, 3}, 8, 64);
    put_tensor(&b, "first", 3, (uint64_t[]){2, 3, 4}, 1, 0);
    put_tensor(&b, "number", 0, NULL, 0, 288);
    put_data(&b, 32, 288 + 4);
    struct wcodec_file_layout *l = good(&b);
    const uint64_t data = b.size - 292;
    assert_int_equal(l->count, 3);
    assert_string_equal(l->tensors[0].name, "first");
    assert_string_equal(l->tensors[0].dtype_name, "F16");
    assert_int_equal(l->tensors[0].offset, data);
    assert_memory_equal(l->tensors[0].shape, ((uint64_t[]){4, 3, 2}), 24);
    assert_string_equal(l->tensors[1].name, "last");
    assert_string_equal(l->tensors[1].dtype_name, "U8");
    assert_memory_equal(l->tensors[1].shape, ((uint64_t[]){3, 68}), 16);
    assert_int_equal(l->tensors[1].size, 204);
    assert_int_equal(l->tensors[2].rank, 0);
    assert_string_equal(note(l, "gguf.type.last"), "Q8_0");
    assert_string_equal(note(l, "gguf.type.first"), "none");
    wcodec_layout_free(l);
    support_bytes_free(&b);
}

static void test_values(void **state)
{
    (void)state;
    static const struct {
        const char *key, *bytes;
        unsigned type, size;
        const char *value;
    } cases[] = {
        {"u8", "\xff", 0, 1, "255"},
        {"i8", "\xff", 1, 1, "-1"},
        {"u16", "\1\2", 2, 2, "513"},
        {"i16", "\0\x80", 3, 2, "-32768"},
        {"u32", "\xff\xff\xff\xff", 4, 4, "4294967295"},
        {"i32", "\xfe\xff\xff\xff", 5, 4, "-2"},
        {"f32", "\0\0\0\0", 6, 4, "none"},
        {"bool", "\1", 7, 1, "true"},
        {"text", "\3\0\0\0\0\0\0\0abc", 8, 11, "abc"},
        {"bad text", "\1\0\0\0\0\0\0\0\xff", 8, 9, "none"},
        {"u64", "\xff\xff\xff\xff\xff\xff\xff\xff", 10, 8, "18446744073709551615"},
        {"i64", "\0\0\0\0\0\0\0\x80", 11, 8, "-9223372036854775808"},
        {"f64", "\0\0\0\0\0\0\0\0", 12, 8, "none"},
        {"bytes", "\0\0\0\0\2\0\0\0\0\0\0\0xy", 9, 14, "none"},
        {"texts", "\x08\0\0\0\2\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0x\0\0\0\0\0\0\0\0", 9, 29, "none"},
        {"arrays", "\x09\0\0\0\1\0\0\0\0\0\0\0\1\0\0\0\1\0\0\0\0\0\0\0x", 9, 25, "none"},
        {"general.alignment", "\x40\0\0\0", 4, 4, "64"},
    };
    enum { COUNT = sizeof cases / sizeof *cases };
    struct support_bytes b = begin(1, COUNT);
    for (size_t i = 0; i < COUNT; i++) {
        put_text(&b, cases[i].key);
        support_put_u32(&b, cases[i].type);
        support_put(&b, cases[i].bytes, cases[i].size);
    }
    put_tensor(&b, "t", 1, (uint64_t[]){4}, 24, 0);
    put_data(&b, 64, 4);
    struct wcodec_file_layout *l = good(&b);
    for (size_t i = 0; i < COUNT; i++)
        assert_string_equal(note(l, cases[i].key), cases[i].value);
    assert_int_equal(l->tensors[0].offset, b.size - 4);
    wcodec_layout_free(l);
    support_bytes_free(&b);
}

static void test_unknown_type(void **state)
{
    (void)state;
    struct support_bytes b = begin(2, 0);
    put_tensor(&b, "new", 1, (uint64_t[]){4}, 9999, 0);
    put_tensor(&b, "t", 1, (uint64_t[]){4}, 24, 32);
    put_data(&b, 32, 36);
    struct wcodec_file_layout *l = good(&b);
    assert_int_equal(l->count, 1);
    assert_non_null(strstr(l->remark.text, "1 of 2 tensors are of types that are not known"));
    wcodec_layout_free(l);
    support_bytes_free(&b);
}

/* A file of one tensor and its data, after one value. */
static struct support_bytes one(const char *name, unsigned rank, uint64_t a, uint64_t c,
                                uint32_t type, uint64_t offset)
{
    struct support_bytes b = begin(1, 0);
    put_tensor(&b, name, rank, (uint64_t[]){a, c, 1, 1, 1, 1, 1, 1, 1}, type, offset);
    put_data(&b, 32, 64);
    return b;
}

static void test_refused_tensors(void **state)
{
    (void)state;
    refuses(one("t", 1, 65, 0, 24, 0), "past the end");
    refuses(one("t", 1, 1, 0, 24, 64), "past the end");
    refuses(one("t", 1, 1, 0, 24, UINT64_MAX), "past the end");
    refuses(one("t", 1, 33, 0, 8, 0), "no whole number of Q8_0's blocks");
    refuses(one("t", 0, 0, 0, 8, 0), "no whole number of Q8_0's blocks");
    refuses(one("t", 1, (uint64_t)1 << 63, 0, 8, 0), "no whole number of Q8_0's blocks");
    refuses(one("t", 2, (uint64_t)1 << 40, (uint64_t)1 << 24, 0, 0), "too large");
    refuses(one("t", 2, ((uint64_t)1 << 42) + 1, (uint64_t)1 << 22, 0, 0), "too large");
    refuses(one("t", 9, 1, 1, 0, 0), "has 9 dimensions");
    refuses(one("", 1, 4, 0, 24, 0), "name is empty");
    refuses(one("\xff", 1, 4, 0, 24, 0), "name is empty");
    refuses(one("t", 1, 4, 0, 999, 0), "no tensors of known types");
    struct support_bytes b = begin(2, 0);
    put_tensor(&b, "t", 1, (uint64_t[]){4}, 24, 0);
    put_tensor(&b, "t", 1, (uint64_t[]){4}, 24, 32);
    put_data(&b, 32, 64);
    refuses(b, "there twice");
    b = begin(2, 0);
    put_tensor(&b, "t", 1, (uint64_t[]){33}, 24, 0);
    put_tensor(&b, "u", 1, (uint64_t[]){4}, 24, 32);
    put_data(&b, 32, 64);
    refuses(b, "overlaps");
    refuses(begin(0, 0), "no tensors of known types");
}

static void test_refused_header(void **state)
{
    (void)state;
    struct support_bytes b = begin(0, 0);
    b.data[4] = 1;
    refuses(b, "of version 1");
    b = begin(0, 0);
    memcpy(b.data + 4, "\0\0\0\3", 4);
    refuses(b, "big-endian");
    refuses(begin(UINT64_MAX, 0), "do not fit");
    refuses(begin(0, (uint64_t)1 << 63), "do not fit");
    static const struct {
        const char *bytes;
        unsigned size;
        const char *expected;
    } values[] = {
        {"\x0d\0\0\0", 4, "type 13"},
        {"\x08\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff", 12, "cut short"},
        {"\x09\0\0\0\x0a\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff", 16, "an array of "},
        {"\x09\0\0\0\0\0\0\0\xff\xff\xff\xff\xff\xff\xff\x7f", 16, "cut short"},
        {"\x09\0\0\0\x08\0\0\0\xff\xff\xff\xff\xff\xff\xff\x7f", 16, "cut short"},
        {"\x09\0\0\0\x0d\0\0\0\1\0\0\0\0\0\0\0", 16, "array of type 13"},
    };
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        b = begin(0, 1);
        put_text(&b, "k");
        support_put(&b, values[i].bytes, values[i].size);
        refuses(b, values[i].expected);
    }
    b = begin(0, 1);
    put_text(&b, "k");
    support_put_u32(&b, 9);
    for (int i = 0; i < 1000; i++) {
        support_put_u32(&b, 9);
        support_put_u64(&b, 1);
    }
    refuses(b, "array of type 9");
    b = begin(1, 1);
    put_text(&b, "general.alignment");
    support_put_u32(&b, 4);
    support_put_u32(&b, 0);
    put_tensor(&b, "t", 1, (uint64_t[]){4}, 24, 0);
    put_data(&b, 32, 4);
    refuses(b, "alignment is 0");
}

/* Headers longer than the buffer, with texts across its end. */
static void test_long_header(void **state)
{
    (void)state;
    enum { COUNT = 3000, TOKENS = 20000, TOKEN = 8 + 5 };
    struct support_bytes b = begin(COUNT, 1);
    uint8_t *tokens = calloc(TOKENS, TOKEN);
    char name[100];
    assert_non_null(tokens);
    for (int i = 0; i < TOKENS; i++) {
        tokens[i * TOKEN] = 5;
        memcpy(tokens + i * TOKEN + 8, "token", 5);
    }
    put_text(&b, "tokens");
    support_put_u32(&b, 9);
    support_put_u32(&b, 8);
    support_put_u64(&b, TOKENS);
    support_put(&b, tokens, TOKENS * TOKEN);
    free(tokens);
    for (int i = 0; i < COUNT; i++) {
        snprintf(name, sizeof name, "a.rather.long.name.of.a.tensor.%d", i);
        put_tensor(&b, name, 1, (uint64_t[]){8}, 24, (uint64_t)i * 32);
    }
    put_data(&b, 32, COUNT * 32);
    struct wcodec_file_layout *l = good(&b);
    assert_int_equal(l->count, COUNT);
    assert_string_equal(l->tensors[2999].name, name);
    wcodec_layout_free(l);
    support_bytes_free(&b);
}

static struct support_bytes sample(void)
{
    struct support_bytes b = begin(2, 2);
    put_text(&b, "general.name");
    support_put_u32(&b, 8);
    put_text(&b, "x");
    put_text(&b, "list");
    support_put_u32(&b, 9);
    support_put_u32(&b, 0);
    support_put_u64(&b, 3);
    support_put(&b, "abc", 3);
    put_tensor(&b, "t", 2, (uint64_t[]){32, 2}, 2, 0);
    put_tensor(&b, "u", 1, (uint64_t[]){4}, 30, 64);
    put_data(&b, 32, 72);
    return b;
}

static void test_cut_and_flipped(void **state)
{
    (void)state;
    struct support_bytes b = sample();
    wcodec_layout_free(good(&b));
    support_layout_cut_and_flipped(&b);
    support_bytes_free(&b);
}

static void test_memory(void **state)
{
    (void)state;
    struct support_bytes b = sample();
    support_layout_memory(&b, 4);
    support_bytes_free(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tensors),         cmocka_unit_test(test_values),
        cmocka_unit_test(test_unknown_type),    cmocka_unit_test(test_refused_tensors),
        cmocka_unit_test(test_refused_header),  cmocka_unit_test(test_long_header),
        cmocka_unit_test(test_cut_and_flipped), cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
