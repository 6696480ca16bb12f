/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "support_memory.h"

#include "format/safetensors.h"
#include "core/bytes.h"
#include "core/memory.h"

static const wcodec_allocator *const memory = &wcodec_default_allocator;

/* A file of a header and `data_size` bytes of data, in memory that is exactly as large. */
static uint8_t *make_file(const void *header, size_t header_size, size_t data_size,
                          struct wcodec_source *source)
{
    uint8_t *file = calloc(1, 8 + header_size + data_size);
    assert_non_null(file);
    wcodec_store_u64(file, header_size);
    memcpy(file + 8, header, header_size);
    wcodec_source_memory(file, 8 + header_size + data_size, source);
    return file;
}

static wcodec_status read_bytes(const void *header, size_t header_size, size_t data_size,
                                struct wcodec_safetensors **s, wcodec_error *err)
{
    struct wcodec_source source;
    uint8_t *file = make_file(header, header_size, data_size, &source);
    wcodec_status status = wcodec_safetensors_read(&source, memory, s, err);
    if (status == WCODEC_OK) {
        assert_int_equal((*s)->header_size, 8 + header_size);
        assert_memory_equal((*s)->header, file, 8 + header_size);
    }
    free(file);
    return status;
}

static struct wcodec_safetensors *expect_good(const char *header, size_t data_size)
{
    struct wcodec_safetensors *s = NULL;
    wcodec_error err = {0};
    wcodec_status status = read_bytes(header, strlen(header), data_size, &s, &err);
    if (status != WCODEC_OK)
        fail_msg("%s: %s", header, err.text);
    return s;
}

static void accept(const char *header, size_t data_size)
{
    wcodec_safetensors_free(expect_good(header, data_size));
}

/* The text must hold `part`: it is what a user reads as the reason. */
static void refuse_bytes(const void *header, size_t header_size, size_t data_size, const char *part)
{
    struct wcodec_safetensors *s = NULL;
    wcodec_error err = {0};
    if (read_bytes(header, header_size, data_size, &s, &err) != WCODEC_ERROR_CORRUPT)
        fail_msg("accepted, or another status: %.*s", (int)header_size, (const char *)header);
    assert_null(s);
    if (!strstr(err.text, part))
        fail_msg("%.*s: \"%s\" does not say \"%s\"", (int)header_size, (const char *)header,
                 err.text, part);
}

static void refuse(const char *header, size_t data_size, const char *part)
{
    refuse_bytes(header, strlen(header), data_size, part);
}

#define F32_1(offsets) "{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":" offsets "}"

static void test_fields(void **state)
{
    (void)state;
    struct wcodec_safetensors *s =
        expect_good("{\"__metadata__\":{\"format\":\"pt\",\"\\u00e4\":\"\\\"\"},"
                    "\"b\":{\"dtype\":\"BF16\",\"shape\":[2,3],\"data_offsets\":[8,20]},"
                    "\"a\":{\"data_offsets\":[0,8],\"shape\":[],\"dtype\":\"F64\"},"
                    "\"z\":{\"dtype\":\"I8\",\"shape\":[3,0],\"data_offsets\":[8,8]}}    ",
                    20);
    assert_int_equal(s->count, 3);
    assert_string_equal(s->tensors[0].name, "a");
    assert_int_equal(s->tensors[0].dtype, WCODEC_DTYPE_F64);
    assert_string_equal(s->tensors[0].dtype_name, "F64");
    assert_int_equal(s->tensors[0].rank, 0);
    assert_int_equal(s->tensors[0].size, 8);
    assert_string_equal(s->tensors[1].name, "z");
    assert_int_equal(s->tensors[1].size, 0);
    assert_int_equal(s->tensors[1].offset, 8);
    assert_string_equal(s->tensors[2].name, "b");
    assert_int_equal(s->tensors[2].rank, 2);
    assert_int_equal(s->tensors[2].shape[0], 2);
    assert_int_equal(s->tensors[2].shape[1], 3);
    assert_int_equal(s->tensors[2].offset, 8);
    assert_int_equal(s->tensors[2].size, 12);
    assert_int_equal(s->metadata_count, 2);
    assert_string_equal(s->metadata[0], "format");
    assert_string_equal(s->metadata[1], "pt");
    assert_string_equal(s->metadata[2], "\xC3\xA4");
    assert_string_equal(s->metadata[3], "\"");
    wcodec_safetensors_free(s);
}

static void test_every_dtype(void **state)
{
    (void)state;
    for (int d = WCODEC_DTYPE_BOOL; d <= WCODEC_DTYPE_F6_E3M2; d++) {
        char header[128];
        unsigned bytes = wcodec_dtype_bits((wcodec_dtype)d) * 4 / 8;
        snprintf(header, sizeof header,
                 "{\"t\":{\"dtype\":\"%s\",\"shape\":[2,2],\"data_offsets\":[0,%u]}}",
                 wcodec_dtype_name((wcodec_dtype)d), bytes);
        struct wcodec_safetensors *s = expect_good(header, bytes);
        assert_int_equal(s->tensors[0].dtype, d);
        wcodec_safetensors_free(s);
        snprintf(header, sizeof header,
                 "{\"t\":{\"dtype\":\"%s\",\"shape\":[2,2],\"data_offsets\":[0,%u]}}",
                 wcodec_dtype_name((wcodec_dtype)d), bytes + 1);
        refuse(header, bytes + 1, "shape make");
    }
}

static void test_unknown_dtype(void **state)
{
    (void)state;
    struct wcodec_safetensors *s =
        expect_good("{\"t\":{\"dtype\":\"F5_E2M2\",\"shape\":[7],\"data_offsets\":[0,5]}}", 5);
    assert_int_equal(s->tensors[0].dtype, WCODEC_DTYPE_OTHER);
    assert_string_equal(s->tensors[0].dtype_name, "F5_E2M2");
    assert_int_equal(s->tensors[0].size, 5);
    wcodec_safetensors_free(s);
    accept(
        "{\"t\":{\"dtype\":\"f32\",\"shape\":[281474976710655,281474976710655],\"data_offsets\":[0,5]}}",
        5);
    accept("{\"t\":{\"dtype\":\"OTHER\",\"shape\":[],\"data_offsets\":[0,5]}}", 5);
    accept("{\"t\":{\"dtype\":\"\",\"shape\":[],\"data_offsets\":[0,0]}}", 0);
}

static void test_length(void **state)
{
    (void)state;
    static const uint64_t lengths[] = {100000001,      UINT64_MAX,        UINT64_MAX - 7,
                                       UINT64_MAX - 8, (uint64_t)1 << 63, 3};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        uint8_t file[10] = {0, 0, 0, 0, 0, 0, 0, 0, '{', '}'};
        wcodec_store_u64(file, lengths[i]);
        struct wcodec_source source;
        struct wcodec_safetensors *s = NULL;
        wcodec_source_memory(file, sizeof file, &source);
        assert_int_equal(wcodec_safetensors_read(&source, memory, &s, NULL), WCODEC_ERROR_CORRUPT);
        wcodec_store_u64(file, 2);
        assert_int_equal(wcodec_safetensors_read(&source, memory, &s, NULL), WCODEC_OK);
        assert_int_equal(s->count, 0);
        wcodec_safetensors_free(s);
        s = NULL;
        for (uint64_t cut = 0; cut < sizeof file; cut++) {
            wcodec_source_memory(file, cut, &source);
            assert_int_equal(wcodec_safetensors_read(&source, memory, &s, NULL),
                             WCODEC_ERROR_CORRUPT);
        }
        assert_null(s);
    }
    refuse("", 0, "expected \"{\"");
}

static void test_text(void **state)
{
    (void)state;
    accept("{}", 0);
    accept(" \t\r\n{ } \n", 0);
    accept("\n\n{\"a\" : " F32_1("[0 , 4]") " }", 4);
    refuse_bytes("{}\0\0", 4, 0, "nothing more");
    refuse("{}x", 0, "nothing more");
    refuse("{}{}", 0, "nothing more");
    refuse("[]", 0, "expected \"{\"");
    refuse("\xEF\xBB\xBF{}", 0, "expected \"{\"");
    refuse("{\"a\":" F32_1("[0,4]") ",}", 4, "a key");
    refuse("{\"a\":" F32_1("[0,4]"), 4, "expected \",\"");
    refuse("{,}", 0, "a key");
    refuse("{\"a\"}", 0, "\":\"");
    refuse("{\"a\":}", 0, "a value");
    refuse("{\"a", 0, "a key");
    refuse("{a:1}", 0, "a key");
    refuse("{\"a\":" F32_1("[0,4]") " \"b\":" F32_1("[4,8]") "}", 8, "\",\"");
    refuse("{\"a\":{\"dtype\":\"F32\",\"shape\":[1},\"data_offsets\":[0,4]]}", 4, "JSON");
    refuse("{\"a\":1}", 0, "tensor \"a\"");
    refuse("{\"a\":null}", 0, "tensor \"a\"");
    refuse("{\"a\":[\"F32\",[1],[0,4]]}", 4, "tensor \"a\"");
}

static void test_cut_anywhere(void **state)
{
    (void)state;
    const char *header =
        "{\"__metadata__\":{\"k\\n\":\"v\"},\"a\\u0062\":{\"dtype\":\"F32\",\"shape\":[1],\"x\":{\"y\":[1.5]},\"data_offsets\":[0,4]}}";
    accept(header, 4);
    for (size_t n = 0; n < strlen(header); n++)
        refuse_bytes(header, n, 4, "");
}

static void test_strings(void **state)
{
    (void)state;
    struct wcodec_safetensors *s =
        expect_good("{\"\":" F32_1("[0,4]") ",\"\\ud83d\\ude00/..\":" F32_1(
                        "[4,8]") ",\"\\u0001\\n\":" F32_1("[8,12]") "}",
                    12);
    assert_string_equal(s->tensors[0].name, "");
    assert_string_equal(s->tensors[1].name, "\xF0\x9F\x98\x80/..");
    assert_string_equal(s->tensors[2].name, "\x01\n");
    wcodec_safetensors_free(s);
    /* Two forms of one letter are two names. */
    accept("{\"\xC3\xA9\":" F32_1("[0,4]") ",\"e\xCC\x81\":" F32_1("[4,8]") "}", 8);
    refuse("{\"a\\u0000b\":" F32_1("[0,4]") "}", 4, "NUL");
    refuse("{\"__metadata__\":{\"a\\u0000\":\"\"}}", 0, "NUL");
    refuse("{\"__metadata__\":{\"a\":\"\\u0000\"}}", 0, "NUL");
    refuse_bytes("{\"a\0b\":" F32_1("[0,4]") "}", strlen("{\"a_b\":" F32_1("[0,4]") "}"), 4,
                 "JSON");
    static const char *const names[] = {"\xFF",     "\xC0\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80",
                                        "\xE2\x82", "\\ud800",  "\\udc00x",     "\\x41",
                                        "\\u12",    "a\nb",     "\x01"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char header[128];
        snprintf(header, sizeof header, "{\"%s\":%s}", names[i], F32_1("[0,4]"));
        refuse(header, 4, "no valid JSON");
        snprintf(header, sizeof header, "{\"__metadata__\":{\"k\":\"%s\"}}", names[i]);
        refuse(header, 0, "no valid JSON");
    }
}

static void test_long_name(void **state)
{
    (void)state;
    const char *rest = "\":" F32_1("[0,4]") "}";
    size_t name = 3 << 20, size = 2 + name + strlen(rest);
    char *header = malloc(size);
    assert_non_null(header);
    memset(header, 'n', size);
    memcpy(header, "{\"", 2);
    memcpy(header + 4, "\\t", 2);
    memcpy(header + 2 + name, rest, strlen(rest));
    struct wcodec_safetensors *s = NULL;
    assert_int_equal(read_bytes(header, size, 4, &s, NULL), WCODEC_OK);
    assert_int_equal(strlen(s->tensors[0].name), name - 1);
    wcodec_safetensors_free(s);
    free(header);
}

static void test_duplicates(void **state)
{
    (void)state;
    refuse("{\"a\":" F32_1("[0,4]") ",\"a\":" F32_1("[4,8]") "}", 8, "twice");
    refuse("{\"a\":" F32_1("[0,4]") ",\"a\":" F32_1("[0,4]") "}", 4, "twice");
    refuse("{\"a\":" F32_1("[0,4]") ",\"\\u0061\":" F32_1("[4,8]") "}", 8, "twice");
    refuse("{\"__metadata__\":{},\"__metadata__\":{}}", 0, "twice");
    refuse("{\"__metadata__\":{},\"__metadata\\u005f_\":{}}", 0, "twice");
    refuse("{\"__metadata__\":{\"k\":\"1\",\"\\u006b\":\"2\"}}", 0, "twice");
    refuse("{\"a\":{\"dtype\":\"F32\",\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", 4,
           "twice");
    refuse("{\"a\":{\"dtype\":\"F32\",\"sh\\u0061pe\":[1],\"shape\":[1],\"data_offsets\":[0,4]}}",
           4, "twice");
}

static void test_metadata(void **state)
{
    (void)state;
    accept("{\"__metadata__\":{}}", 0);
    accept("{\"__metadata__\":null}", 0);
    accept("{\"__metadata__\":{\"\":\"\"}}", 0);
    static const char *const bad[] = {
        "1",   "[]",   "\"x\"",       "{\"k\":1}", "{\"k\":null}", "{\"k\":{}}", "{\"k\":[\"v\"]}",
        "nul", "true", F32_1("[0,4]")};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char header[128];
        snprintf(header, sizeof header, "{\"__metadata__\":%s}", bad[i]);
        refuse(header, 0, "__metadata__");
    }
}

static void test_entry(void **state)
{
    (void)state;
    accept("{\"a\":{\"d\\u0074ype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", 4);
    accept("{\"a\":{\"dtype\":\"\\u0046\\u00332\",\"shape\":[1],\"data_offsets\":[0,4]}}", 4);
    accept(
        "{\"a\":{\"x\":{\"y\":[-1.5e3,null]},\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}",
        4);
    refuse("{\"a\":{\"shape\":[1],\"data_offsets\":[0,4]}}", 4, "\"dtype\" is missing");
    refuse("{\"a\":{\"dtype\":\"F32\",\"data_offsets\":[0,4]}}", 4, "\"shape\" is missing");
    refuse("{\"a\":{\"dtype\":\"F32\",\"shape\":[1]}}", 4, "\"data_offsets\" is missing");
    refuse("{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"offsets\":[0,4]}}", 4,
           "\"data_offsets\" is missing");
    refuse("{\"a\":{\"dtype\":15,\"shape\":[1],\"data_offsets\":[0,4]}}", 4, "dtype is no string");
    refuse("{\"a\":{\"dtype\":\"F32\",\"shape\":1,\"data_offsets\":[0,4]}}", 4,
           "shape is no array");
    refuse("{\"a\":{\"dtype\":\"F32\",\"shape\":{},\"data_offsets\":[0,4]}}", 4,
           "shape is no array");
    refuse("{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4]}}", 4, "expected 2");
    refuse("{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4,4]}}", 4, "expected 2");
    refuse("{\"a\":{\"x\":[1,},\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", 4,
           "JSON");
    refuse(
        "{\"a\":{\"x\":{\"y\":1,\"y\":2},\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}",
        4, "JSON");
}

static void test_numbers(void **state)
{
    (void)state;
    static const char *const bad[] = {"1.0",
                                      "1e0",
                                      "-1",
                                      "01",
                                      "+1",
                                      "0x1",
                                      "\"1\"",
                                      "true",
                                      "null",
                                      "[1]",
                                      "1 1",
                                      "",
                                      "18446744073709551616",
                                      "18446744073709551617",
                                      "9223372036854775808",
                                      "9223372036854775807",
                                      "281474976710657",
                                      "NaN",
                                      "1_0"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char header[160];
        snprintf(header, sizeof header,
                 "{\"a\":{\"dtype\":\"F32\",\"shape\":[1,%s],\"data_offsets\":[0,4]}}", bad[i]);
        refuse(header, 4, "shape");
        snprintf(header, sizeof header,
                 "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,%s]}}", bad[i]);
        refuse(header, 4, "data_offsets");
    }
}

static void test_shapes(void **state)
{
    (void)state;
    accept("{\"a\":{\"dtype\":\"F32\",\"shape\":[ 1 ,\t2\n],\"data_offsets\":[ 0,8 ]}}", 8);
    accept("{\"a\":{\"dtype\":\"F32\",\"shape\":[ ],\"data_offsets\":[-0,4]}}", 4);
    refuse("{\"a\":{\"dtype\":\"F32\",\"shape\":[1,],\"data_offsets\":[0,4]}}", 4, "shape");
    refuse("{\"a\":{\"dtype\":\"F32\",\"shape\":[1]],\"data_offsets\":[0,4]}}", 4, "");
    accept("{\"a\":{\"dtype\":\"F32\",\"shape\":[0,281474976710655],\"data_offsets\":[0,0]}}", 0);
    refuse("{\"a\":{\"dtype\":\"F32\",\"shape\":[0,281474976710656],\"data_offsets\":[0,0]}}", 0,
           "dimension");
    /* The product wraps to 4 bytes, or is an overflow before it is 0. */
    refuse(
        "{\"a\":{\"dtype\":\"U8\",\"shape\":[4398046511105,4194304],\"data_offsets\":[0,4194304]}}",
        4194304, "too large");
    refuse("{\"a\":{\"dtype\":\"F32\",\"shape\":[4294967296,4294967296],\"data_offsets\":[0,0]}}",
           0, "too large");
    refuse("{\"a\":{\"dtype\":\"F32\",\"shape\":[4294967296,4294967296,0],\"data_offsets\":[0,0]}}",
           0, "too large");
    refuse("{\"a\":{\"dtype\":\"U8\",\"shape\":[281474976710655,2],\"data_offsets\":[0,2]}}", 2,
           "too large");
    refuse("{\"a\":{\"dtype\":\"F4\",\"shape\":[3],\"data_offsets\":[0,2]}}", 2,
           "whole number of bytes");
    refuse("{\"a\":{\"dtype\":\"F6_E2M3\",\"shape\":[3],\"data_offsets\":[0,3]}}", 3,
           "whole number of bytes");
    accept("{\"a\":{\"dtype\":\"F4\",\"shape\":[4],\"data_offsets\":[0,2]}}", 2);
    char header[700], dims[600] = "1";
    for (unsigned i = 1; i < 255; i++)
        strcat(dims, ",1");
    snprintf(header, sizeof header,
             "{\"a\":{\"dtype\":\"U8\",\"shape\":[%s],\"data_offsets\":[0,1]}}", dims);
    accept(header, 1);
    snprintf(header, sizeof header,
             "{\"a\":{\"dtype\":\"U8\",\"shape\":[%s,1],\"data_offsets\":[0,1]}}", dims);
    refuse(header, 1, "256 dimensions");
}

static void test_places(void **state)
{
    (void)state;
    accept("{\"b\":" F32_1("[4,8]") ",\"a\":" F32_1("[0,4]") "}", 8);
    refuse("{\"a\":" F32_1("[1,5]") "}", 5, "expected 0");
    refuse("{\"a\":" F32_1("[0,4]") ",\"b\":" F32_1("[5,9]") "}", 9, "no hole");
    refuse("{\"a\":" F32_1("[0,4]") ",\"b\":" F32_1("[3,7]") "}", 7, "no overlap");
    refuse("{\"a\":" F32_1("[0,4]") ",\"b\":" F32_1("[0,4]") "}", 4, "no overlap");
    refuse("{\"a\":" F32_1("[4,0]") "}", 4, "before they begin");
    refuse("{\"a\":" F32_1("[0,8]") "}", 8, "shape make 4");
    refuse("{\"a\":" F32_1("[0,4]") "}", 3, "end at byte 4");
    refuse("{\"a\":" F32_1("[0,4]") "}", 5, "end at byte 4");
    refuse("{}", 1, "end at byte 0");
    /* Empty ones, before and after others at the same place. */
    accept(
        "{\"a\":" F32_1(
            "[0,4]") ",\"e\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[0,0]},\"f\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[4,4]}}",
        4);
    refuse(
        "{\"a\":" F32_1("[0,4]") ",\"e\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[2,2]}}",
        4, "no overlap");
}

static void test_depth(void **state)
{
    (void)state;
    enum { BOMB = 5000000 };
    char *text = malloc(BOMB + 200);
    assert_non_null(text);
    for (int depth = 120; depth < 130; depth++) { /* lists within the entry within the object */
        char *p = text + sprintf(text, "{\"a\":{\"x\":");
        memset(p, '[', (size_t)depth);
        memset(p + depth, ']', (size_t)depth);
        strcpy(p + 2 * depth, ",\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}");
        if (depth + 2 <= 127)
            accept(text, 4);
        else
            refuse(text, 4, "nested too deeply");
    }
    memset(text, '[', BOMB);
    refuse_bytes(text, BOMB, 0, "expected \"{\"");
    memcpy(text, "{\"a\":", 5);
    refuse_bytes(text, BOMB, 0, "nested too deeply");
    for (unsigned i = 0; i < 1000000; i++)
        memcpy(text + 5 * i, "{\"a\":", 5);
    refuse_bytes(text, BOMB, 0, "nested too deeply");
    free(text);
}

/* A value that would become a tree of forty times its size. */
static void test_bounded_tree(void **state)
{
    (void)state;
    enum { LISTS = 400000 };
    char *text = malloc(3 * LISTS + 200);
    assert_non_null(text);
    char *p = text + sprintf(text, "{\"a\":{\"x\":[[]");
    for (unsigned i = 1; i < LISTS; i++, p += 3)
        memcpy(p, ",[]", 3);
    strcpy(p, "],\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}");
    refuse(text, 4, "expected at most 1048576");
    free(text);
}

static void test_out_of_memory(void **state)
{
    (void)state;
    char header[4000] = "{\"__metadata__\":{\"a\":\"b\",\"c\":\"d\"}";
    for (unsigned i = 0; i < 40; i++) {
        char entry[100];
        snprintf(entry, sizeof entry,
                 ",\"t%u\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[%u,%u]}", i, 4 * i,
                 4 * i + 4);
        strcat(header, entry);
    }
    strcat(header, "}");
    struct wcodec_source source;
    uint8_t *file = make_file(header, strlen(header), 160, &source);
    for (int n = 0;; n++) {
        struct support_allocator failing;
        support_allocator_init(&failing, n);
        struct wcodec_safetensors *s = NULL;
        wcodec_status status = wcodec_safetensors_read(&source, &failing.allocator, &s, NULL);
        if (status == WCODEC_OK) {
            assert_true(n > 8);
            assert_int_equal(s->count, 40);
            wcodec_safetensors_free(s);
            break;
        }
        assert_int_equal(status, WCODEC_ERROR_MEMORY);
        assert_null(s);
    }
    free(file);
}

/* Any byte changed to any of some: no crash, and what is accepted fills the file exactly. */
static void test_mutations(void **state)
{
    (void)state;
    const char *good =
        "{\"__metadata__\":{\"k\":\"v\"},\"b\":{\"dtype\":\"BF16\",\"shape\":[2,3],\"data_offsets\":[8,20]},\"a\":{\"dtype\":\"F64\",\"shape\":[],\"data_offsets\":[0,8]}}";
    static const char bytes[] = "\"{}[],:0129.-\\ eunlx\x80\xFF";
    size_t size = strlen(good);
    for (size_t i = 0; i < size; i++)
        for (size_t b = 0; b < sizeof bytes; b++) { /* with the NUL */
            char header[300];
            memcpy(header, good, size);
            header[i] = bytes[b];
            struct wcodec_safetensors *s = NULL;
            if (read_bytes(header, size, 20, &s, NULL) == WCODEC_OK) {
                uint64_t at = 0;
                for (uint64_t t = 0; t < s->count; at += s->tensors[t++].size)
                    assert_int_equal(s->tensors[t].offset, at);
                assert_int_equal(at, 20);
                wcodec_safetensors_free(s);
            }
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fields),        cmocka_unit_test(test_every_dtype),
        cmocka_unit_test(test_unknown_dtype), cmocka_unit_test(test_length),
        cmocka_unit_test(test_text),          cmocka_unit_test(test_cut_anywhere),
        cmocka_unit_test(test_strings),       cmocka_unit_test(test_long_name),
        cmocka_unit_test(test_duplicates),    cmocka_unit_test(test_metadata),
        cmocka_unit_test(test_entry),         cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_shapes),        cmocka_unit_test(test_places),
        cmocka_unit_test(test_depth),         cmocka_unit_test(test_bounded_tree),
        cmocka_unit_test(test_out_of_memory), cmocka_unit_test(test_mutations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
