/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* A file that is compressed whole, by its path, and in parts that are put together: u8 options, u8
 * parts and whether it is opaque, u8 for each of three cuts between them in 256ths, u8 where the
 * coded file is cut off; then up to four tensors, u8 dtype, u8 elements in 64s and a u8 that says
 * how they change, and their bytes, over and over. Joined parts are the file that was coded whole,
 * and all of them give the original back. */
#include "fuzz/folder.h"
#include "fuzz/fuzz.h"
#include <fcntl.h>
#include <unistd.h>
#include <wcodec.h>

const char fuzz_target[] = "parts";
const bool fuzz_takes_files = false;

enum { PARTS_MAX = 4, TENSORS_MAX = 4, ROOM = 1 << 18 };

static uint8_t original[ROOM];
static size_t original_size;

static int open_file(const char *name)
{
    const int fd = open(fuzz_path(name), O_RDONLY | O_CLOEXEC);
    FUZZ_REQUIRE(fd >= 0);
    return fd;
}

static wcodec_reader *open_bytes(const struct fuzz_bytes *b)
{
    wcodec_reader *reader;
    FUZZ_REQUIRE(wcodec_reader_open_memory(fuzz_context(), b->data, b->size, &reader, NULL) ==
                 WCODEC_OK);
    return reader;
}

static void make_original(struct wcodec_cursor *c)
{
    static uint8_t data[ROOM];
    char text[1000];
    size_t length = 0, at = 0;
    const wcodec_dtype dtypes[] = {WCODEC_DTYPE_BF16, WCODEC_DTYPE_I8, WCODEC_DTYPE_F32,
                                   WCODEC_DTYPE_F16};
    text[length++] = '{';
    for (unsigned i = 0; i < TENSORS_MAX && wcodec_cursor_left(c) > 3; i++) {
        const wcodec_dtype dtype = dtypes[fuzz_take(c) % 4];
        const size_t rows = fuzz_take(c), size = rows * 64 * wcodec_dtype_bits(dtype) / 8;
        const uint8_t noise = fuzz_take(c);
        length += (size_t)snprintf(
            text + length, sizeof text - length,
            "%s\"t%u\":{\"dtype\":\"%s\",\"shape\":[%zu,64],\"data_offsets\":[%zu,%zu]}",
            i == 0 ? "" : ",", i, wcodec_dtype_name(dtype), rows, at, at + size);
        const size_t left = wcodec_cursor_left(c), period = left < 40 ? left : 40;
        for (size_t k = 0; k < size; k++)
            data[at + k] = (uint8_t)((period != 0 ? c->at[k % period] : 0) ^
                                     ((uint32_t)k * 2654435761u >> 20 & noise));
        at += size;
    }
    text[length++] = '}';
    wcodec_store_u64(original, length);
    memcpy(original + 8, text, length);
    memcpy(original + 8 + length, data, at);
    original_size = 8 + length + at;
}

static void set_options(wcodec_encode_options *options, uint8_t choice, bool raw)
{
    wcodec_encode_options_init(options);
    options->level = 1 + choice % 4;
    options->tune = (wcodec_tune)(choice / 4 % 4);
    options->profile = (wcodec_profile)(choice / 16 % 4);
    options->predict = choice & 64 ? WCODEC_PREDICT_NONE : WCODEC_PREDICT_AUTO;
    options->raw = raw;
}

static void check_restored(const wcodec_reader *reader)
{
    struct fuzz_bytes out = {NULL, 0};
    FUZZ_REQUIRE(wcodec_reader_restore(reader, 0, fuzz_append, &out, NULL, NULL) == WCODEC_OK);
    FUZZ_REQUIRE(out.size == original_size && memcmp(out.data, original, out.size) == 0);
    free(out.data);
}

/* Parts by a descriptor, or by a reader of the file that was coded whole. */
static void join(const wcodec_encode_options *options, const struct fuzz_bytes *whole,
                 unsigned count, const uint8_t *cuts)
{
    wcodec_reader *parts[PARTS_MAX], *reader = open_bytes(whole);
    struct fuzz_bytes coded[PARTS_MAX] = {{NULL, 0}}, joined = {NULL, 0};
    const int fd = open_file("original");
    uint64_t at = 0;
    unsigned made = 0;
    for (unsigned i = 0; i < count && at < original_size; i++) {
        wcodec_encode_options part = *options;
        const uint64_t end = i + 1 == count ? original_size : cuts[i] * original_size / 256;
        part.part_begin = at;
        part.part_end = end > at ? end : at + 1;
        at = part.part_end;
        if (i % 2 == 0)
            FUZZ_REQUIRE(wcodec_compress_fd(fuzz_context(), fd, fuzz_append, &coded[i], &part, NULL,
                                            NULL) == WCODEC_OK);
        else
            FUZZ_REQUIRE(wcodec_recompress(reader, 0, fuzz_append, &coded[i], &part, NULL, NULL) ==
                         WCODEC_OK);
        parts[i] = open_bytes(&coded[i]);
        made++;
    }
    wcodec_error err = {0};
    const wcodec_status status =
        wcodec_join(fuzz_context(), (const wcodec_reader *const *)parts, made, count % 2 ? fd : -1,
                    count % 2 ? NULL : reader, fuzz_append, &joined, options, NULL, &err);
    if (status != WCODEC_OK)
        fprintf(stderr, "%s\n", err.text);
    FUZZ_REQUIRE(status == WCODEC_OK);
    FUZZ_REQUIRE(joined.size == whole->size && memcmp(joined.data, whole->data, whole->size) == 0);
    for (unsigned i = 0; i < made; i++) {
        wcodec_reader_close(parts[i]);
        free(coded[i].data);
    }
    free(joined.data);
    wcodec_reader_close(reader);
    close(fd);
}

/* Parts decoded apart are the original, and their hashes say so, unless a bit of them is another.
 */
static void restore_parts(const struct fuzz_bytes *whole, unsigned count, const uint8_t *cuts)
{
    wcodec_reader *reader = open_bytes(whole);
    struct fuzz_bytes out = {NULL, 0}, hashes[PARTS_MAX] = {{NULL, 0}};
    wcodec_part_hashes parts[PARTS_MAX] = {{0}};
    uint64_t at = 0;
    unsigned made = 0;
    for (unsigned i = 0; i < count && at < original_size; i++, made++) {
        wcodec_decode_options part;
        const uint64_t end = i + 1 == count ? original_size : cuts[i] * original_size / 256;
        wcodec_decode_options_init(&part);
        part.part_begin = at;
        part.part_end = end > at ? end : at + 1;
        part.write_hashes = fuzz_append;
        part.hashes = &hashes[i];
        at = part.part_end;
        FUZZ_REQUIRE(wcodec_reader_restore(reader, 0, fuzz_append, &out, &part, NULL) == WCODEC_OK);
        parts[i] = (wcodec_part_hashes){.data = hashes[i].data, .size = hashes[i].size};
    }
    FUZZ_REQUIRE(out.size == original_size && memcmp(out.data, original, out.size) == 0);
    FUZZ_REQUIRE(wcodec_reader_check_parts(reader, 0, parts, made, NULL) == WCODEC_OK);
    struct fuzz_bytes *changed = &hashes[cuts[0] % made];
    changed->data[cuts[1] * changed->size / 256] ^= (uint8_t)(1 << cuts[2] % 8);
    FUZZ_REQUIRE(wcodec_reader_check_parts(reader, 0, parts, made, NULL) != WCODEC_OK);
    for (unsigned i = 0; i < PARTS_MAX; i++)
        free(hashes[i].data);
    free(out.data);
    wcodec_reader_close(reader);
}

/* To a file, and what salvaging finds of it when it is cut off. */
static void by_path(const wcodec_encode_options *options, uint8_t cut)
{
    wcodec_reader *reader;
    wcodec_file_info info;
    struct fuzz_bytes coded = {NULL, 0};
    char from[300];
    snprintf(from, sizeof from, "%s/original", fuzz_folder());
    FUZZ_REQUIRE(wcodec_compress_path(fuzz_context(), from, fuzz_path("coded"), options, NULL,
                                      NULL) == WCODEC_OK);
    int fd = open_file("coded");
    FUZZ_REQUIRE(wcodec_reader_open_fd(fuzz_context(), fd, &reader, NULL) == WCODEC_OK);
    check_restored(reader);
    FUZZ_REQUIRE(wcodec_reader_file(reader, 0, &info, NULL) == WCODEC_OK &&
                 info.size == original_size);
    FUZZ_REQUIRE(wcodec_copy(reader, NULL, 0, fuzz_append, &coded, NULL, NULL, NULL) == WCODEC_OK);
    wcodec_reader_close(reader);
    close(fd);
    fuzz_file("cut", coded.data, coded.size * cut / 256);
    free(coded.data);
    fd = open_file("cut");
    if (wcodec_reader_salvage_fd(fuzz_context(), fd, &reader, NULL) == WCODEC_OK) {
        (void)wcodec_reader_test(reader, 0, 0, NULL, NULL);
        wcodec_reader_close(reader);
    }
    close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct wcodec_cursor c = {data, data + size};
    wcodec_encode_options options;
    struct fuzz_bytes whole = {NULL, 0};
    const uint8_t choice = fuzz_take(&c), more = fuzz_take(&c);
    uint8_t cuts[PARTS_MAX];
    for (unsigned i = 0; i < PARTS_MAX; i++)
        cuts[i] = fuzz_take(&c);
    make_original(&c);
    fuzz_file("original", original, original_size);
    set_options(&options, choice, more >> 7);
    FUZZ_REQUIRE(wcodec_compress_memory(fuzz_context(), original, original_size, fuzz_append,
                                        &whole, &options, NULL, NULL) == WCODEC_OK);
    join(&options, &whole, 1 + more % PARTS_MAX, cuts);
    restore_parts(&whole, 1 + more % PARTS_MAX, cuts);
    by_path(&options, cuts[PARTS_MAX - 1]);
    fuzz_deep++;
    free(whole.data);
    return 0;
}
