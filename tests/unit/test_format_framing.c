/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Head and tail: written and read, every single-bit flip and truncation, every refusal by name. */

#include "support.h"
#include "format/index.h"
#include "io/source.h"
#include <string.h>
#include <xxhash.h>

enum { INDEX_AT = 96, INDEX_SIZE = 21, SIZE = INDEX_AT + INDEX_SIZE + 64 };

static void make(uint8_t file[SIZE])
{
    memset(file, 7, SIZE);
    const struct wcodec_head head = {
        .size = 12345,
        .settings = {.level = 7, .tune = 1, .profile = 3, .tile_log2 = 14, .predict = 2}};
    wcodec_head_write(&head, file);
    wcodec_tail_write(file, INDEX_AT, file + INDEX_AT, INDEX_SIZE, 1000, SIZE, file + SIZE - 64);
}

static wcodec_status read_framing(const uint8_t *file, uint64_t size, wcodec_error *err)
{
    struct wcodec_source source;
    struct wcodec_framing framing;
    wcodec_source_memory(file, size, &source);
    memset(err, 0, sizeof(*err));
    wcodec_status status = wcodec_framing_read(&source, &framing, err);
    assert_int_equal(err->status, status);
    return status;
}

static void reads_what_it_wrote(void **state)
{
    (void)state;
    uint8_t file[SIZE];
    struct wcodec_source source;
    struct wcodec_framing framing;
    make(file);
    wcodec_source_memory(file, SIZE, &source);
    assert_int_equal(wcodec_framing_read(&source, &framing, NULL), WCODEC_OK);
    assert_int_equal(framing.head.version, 1);
    assert_int_equal(framing.head.size, 12345);
    assert_int_equal(framing.head.settings.level, 7);
    assert_int_equal(framing.head.settings.tune, 1);
    assert_int_equal(framing.head.settings.profile, 3);
    assert_int_equal(framing.head.settings.tile_log2, 14);
    assert_int_equal(framing.head.settings.predict, 2);
    assert_false(framing.head.settings.patterns || framing.head.settings.lossy);
    assert_false(framing.head.index_first);
    assert_int_equal(framing.body_begin, 64);
    assert_int_equal(framing.body_stop, INDEX_AT);
    assert_int_equal(framing.index_offset, INDEX_AT);
    assert_int_equal(framing.index_size, INDEX_SIZE);
    assert_int_equal(framing.index_decoded_size, 1000);
    assert_true(framing.index_hash == XXH3_64bits(file + INDEX_AT, INDEX_SIZE));
    assert_int_equal(sizeof(file), wcodec_load_u64(file + SIZE - 64 + 32));
}

static void refuses_every_flip(void **state)
{
    (void)state;
    uint8_t file[SIZE];
    wcodec_error err;
    make(file);
    for (unsigned bit = 0; bit < 8 * SIZE; bit++) {
        if (bit / 8 >= 64 && bit / 8 < SIZE - 64)
            continue;
        file[bit / 8] ^= (uint8_t)(1 << bit % 8);
        assert_int_equal(read_framing(file, SIZE, &err), WCODEC_ERROR_CORRUPT);
        file[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    assert_int_equal(read_framing(file, SIZE, &err), WCODEC_OK);
}

static void refuses_every_truncation(void **state)
{
    (void)state;
    uint8_t file[SIZE + 1] = {0};
    wcodec_error err;
    make(file);
    for (unsigned size = 0; size <= SIZE + 1; size++)
        assert_int_equal(read_framing(file, size, &err),
                         size == SIZE ? WCODEC_OK : WCODEC_ERROR_CORRUPT);
}

static void head_version(uint8_t *head)
{
    head[8] = 2;
}

static void head_version_zero(uint8_t *head)
{
    head[8] = 0;
}

static void head_minor(uint8_t *head)
{
    head[10] = 9;
}

static void head_critical(uint8_t *head)
{
    head[15] = 0x80;
}

static void head_optional(uint8_t *head)
{
    head[16] = 1;
    head[19] = 0x80;
}

static void head_reserved(uint8_t *head)
{
    head[55] = 1;
}

static void head_place(uint8_t *head)
{
    head[28] = 2;
}

static void head_index_first(uint8_t *head)
{
    head[28] = 1;
}

static void head_text_mode(uint8_t *head)
{
    memmove(head + 4, head + 5, 4);
}

static void head_swapped(uint8_t *head)
{
    for (unsigned i = 0; i < 4; i++) {
        uint8_t byte = head[i];
        head[i] = head[7 - i];
        head[7 - i] = byte;
    }
}

static void tail_offset_early(uint8_t *tail)
{
    wcodec_store_u64(tail, 48);
    wcodec_store_u64(tail + 8, SIZE - 64 - 48);
}

static void tail_offset_far(uint8_t *tail)
{
    wcodec_store_u64(tail, SIZE);
}

static void tail_offset_wraps(uint8_t *tail)
{
    wcodec_store_u64(tail, UINT64_MAX - 63);
    wcodec_store_u64(tail + 8, SIZE - 64 + 64);
}

static void tail_offset_odd(uint8_t *tail)
{
    wcodec_store_u64(tail, INDEX_AT + 1);
    wcodec_store_u64(tail + 8, INDEX_SIZE - 1);
}

static void tail_size_short(uint8_t *tail)
{
    wcodec_store_u64(tail + 8, INDEX_SIZE - 1);
}

static void tail_size_huge(uint8_t *tail)
{
    wcodec_store_u64(tail + 8, UINT64_MAX);
}

static void tail_decoded_bomb(uint8_t *tail)
{
    wcodec_store_u64(tail + 16, 256 * INDEX_SIZE + (1 << 20) + 1);
}

static void tail_decoded_largest(uint8_t *tail)
{
    wcodec_store_u64(tail + 16, 256 * INDEX_SIZE + (1 << 20));
}

static void tail_file_size(uint8_t *tail)
{
    wcodec_store_u64(tail + 32, SIZE + 1);
}

static void tail_other_head(uint8_t *tail)
{
    tail[40] ^= 1;
}

/* Each with its checksum made right again. */
static const struct {
    const char *name;
    void (*head)(uint8_t *head);
    void (*tail)(uint8_t *tail);
    wcodec_status status;
    const char *text;
} cases[] = {
    {"newer version", head_version, NULL, WCODEC_ERROR_NEWER, "format 2"},
    {"version 0", head_version_zero, NULL, WCODEC_ERROR_CORRUPT, "version 0"},
    {"minor version", head_minor, NULL, WCODEC_OK, ""},
    {"critical flag", head_critical, NULL, WCODEC_ERROR_NEWER, "critical flags 0x80000000"},
    {"optional flags", head_optional, NULL, WCODEC_OK, ""},
    {"reserved byte", head_reserved, NULL, WCODEC_ERROR_CORRUPT, "byte 55"},
    {"place of the index", head_place, NULL, WCODEC_ERROR_NEWER, "place 2 of the index"},
    {"index not in front", head_index_first, NULL, WCODEC_ERROR_CORRUPT,
     "not in front of all else"},
    {"text mode", head_text_mode, NULL, WCODEC_ERROR_CORRUPT, "text mode"},
    {"swapped bytes", head_swapped, NULL, WCODEC_ERROR_CORRUPT, "is no .wcodec file"},
    {"index in the head", NULL, tail_offset_early, WCODEC_ERROR_CORRUPT,
     "does not end at the tail"},
    {"index past the end", NULL, tail_offset_far, WCODEC_ERROR_CORRUPT, "does not end at the tail"},
    {"index offset wraps", NULL, tail_offset_wraps, WCODEC_ERROR_CORRUPT,
     "does not end at the tail"},
    {"index not aligned", NULL, tail_offset_odd, WCODEC_ERROR_CORRUPT, "no multiple of 16"},
    {"index too short", NULL, tail_size_short, WCODEC_ERROR_CORRUPT, "does not end at the tail"},
    {"index huge", NULL, tail_size_huge, WCODEC_ERROR_CORRUPT, "does not end at the tail"},
    {"decoded size a bomb", NULL, tail_decoded_bomb, WCODEC_ERROR_CORRUPT, "claims to decode to"},
    {"decoded size at its most", NULL, tail_decoded_largest, WCODEC_OK, ""},
    {"file size", NULL, tail_file_size, WCODEC_ERROR_CORRUPT, "the tail says that the file has"},
    {"tail of another file", NULL, tail_other_head, WCODEC_ERROR_CORRUPT, "not of the same file"},
};

static void refuses_by_name(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        uint8_t file[SIZE], *tail = file + SIZE - 64;
        wcodec_error err;
        make(file);
        if (cases[i].head != NULL) {
            cases[i].head(file);
            wcodec_store_u64(file + 56, XXH3_64bits(file, 56));
            memcpy(tail + 40, file + 56, 8);
        }
        if (cases[i].tail != NULL)
            cases[i].tail(tail);
        wcodec_store_u64(tail + 48, XXH3_64bits(tail, 48));
        wcodec_status status = read_framing(file, SIZE, &err);
        if (status != cases[i].status || strstr(err.text, cases[i].text) == NULL)
            fail_msg("%s: status %d, text '%s'", cases[i].name, (int)status, err.text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_what_it_wrote),
        cmocka_unit_test(refuses_every_flip),
        cmocka_unit_test(refuses_every_truncation),
        cmocka_unit_test(refuses_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
