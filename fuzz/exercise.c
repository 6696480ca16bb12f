/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "fuzz/exercise.h"
#include "fuzz/fuzz.h"
#include <wcodec/writer.h>

enum { SIZE_LIMIT = 16 << 20, TENSOR_LIMIT = 1 << 20 };

static void check_error(wcodec_status status, const wcodec_error *err)
{
    if (status == WCODEC_OK)
        return;
    FUZZ_REQUIRE(status == WCODEC_ERROR_CORRUPT || status == WCODEC_ERROR_NEWER ||
                 status == WCODEC_ERROR_LIMIT || status == WCODEC_ERROR_MEMORY ||
                 status == WCODEC_ERROR_NOT_FOUND); /* the base of a delta */
    FUZZ_REQUIRE(err->status == status && err->text[0] != 0 &&
                 memchr(err->text, 0, sizeof err->text));
    for (const char *p = err->text; *p; p++)
        FUZZ_REQUIRE((unsigned char)*p >= 0x20 && *p != 0x7f);
}

struct growing {
    uint8_t *data;
    size_t size;
    size_t limit;
};

static int append(void *opaque, const void *data, size_t size)
{
    struct growing *g = opaque;
    FUZZ_REQUIRE(size <= g->limit - g->size);
    memcpy(g->data + g->size, data, size);
    g->size += size;
    return 0;
}

static void list(const wcodec_reader *reader, uint64_t *total)
{
    wcodec_file_info file;
    wcodec_tensor_info info;
    FUZZ_REQUIRE(wcodec_reader_file_count(reader) == 1 &&
                 wcodec_reader_file(reader, 0, &file, NULL) == WCODEC_OK);
    FUZZ_REQUIRE(file.tensors == wcodec_reader_tensor_count(reader) &&
                 file.entries == wcodec_reader_entry_count(reader) && file.tensors <= file.entries);
    uint64_t at = 0;
    for (uint64_t i = 0; i < file.entries; i++) {
        FUZZ_REQUIRE(wcodec_reader_entry(reader, i, &info, NULL) == WCODEC_OK);
        FUZZ_REQUIRE(info.file_offset == at && info.coding_name && info.split &&
                     info.coded_size <= file.coded_size);
        at += info.size;
    }
    FUZZ_REQUIRE(at == file.size);
    FUZZ_REQUIRE(wcodec_reader_entry(reader, file.entries, &info, NULL) == WCODEC_ERROR_USAGE);
    for (uint64_t i = 0; i < file.tensors; i++) {
        uint64_t found = UINT64_MAX;
        FUZZ_REQUIRE(wcodec_reader_tensor(reader, i, &info, NULL) == WCODEC_OK && info.name &&
                     info.dtype_name && strlen(info.dtype_name) < SIZE_MAX);
        FUZZ_REQUIRE(wcodec_reader_find(reader, info.name, &found, NULL) == WCODEC_OK &&
                     found == i);
    }
    for (uint64_t i = 0; i < wcodec_reader_metadata_count(reader, 0); i++) {
        const char *key, *value;
        FUZZ_REQUIRE(wcodec_reader_metadata(reader, 0, i, &key, &value, NULL) == WCODEC_OK && key &&
                     value);
    }
    *total = file.size;
}

static void decode_rows(const wcodec_reader *reader, uint64_t i, const wcodec_tensor_info *info,
                        const uint8_t *whole)
{
    wcodec_error err = {0};
    const uint64_t rows = info->rank ? info->shape[0] : 1;
    if (rows == 0 || info->size % rows != 0)
        return;
    const uint64_t first = rows / 3, count = rows - first < 3 ? rows - first : (rows - first) / 2,
                   row = info->size / rows;
    uint8_t *out = fuzz_guarded((size_t)(count * row));
    const wcodec_status status =
        wcodec_reader_decode_rows(reader, i, first, count, out, (size_t)(count * row), NULL, &err);
    if (status !=
        WCODEC_ERROR_USAGE) /* rows of a type that is no whole number of bytes, or not known */
        check_error(status, &err);
    if (whole)
        FUZZ_REQUIRE(status == WCODEC_ERROR_USAGE
                         ? info->dtype == WCODEC_DTYPE_OTHER || wcodec_dtype_bits(info->dtype) < 8
                         : status == WCODEC_OK &&
                               memcmp(out, whole + first * row, (size_t)(count * row)) == 0);
    fuzz_guarded_free(out, (size_t)(count * row));
    FUZZ_REQUIRE(wcodec_reader_decode_rows(reader, i, rows, 1, NULL, 0, NULL, NULL) ==
                 WCODEC_ERROR_USAGE);
}

/* The first and the last row of a tensor that is too large to decode whole. */
static wcodec_status decode_ends(const wcodec_reader *reader, uint64_t i,
                                 const wcodec_tensor_info *info, wcodec_error *err)
{
    const uint64_t rows = info->rank ? info->shape[0] : 1, row = rows ? info->size / rows : 0;
    wcodec_status status = WCODEC_OK;
    if (row == 0 || row > TENSOR_LIMIT || info->size % rows != 0)
        return status;
    uint8_t *out = fuzz_guarded((size_t)row);
    for (int last = 0; last < 2 && status == WCODEC_OK; last++) {
        status = wcodec_reader_decode_rows(reader, i, last ? rows - 1 : 0, 1, out, (size_t)row,
                                           NULL, err);
        if (status == WCODEC_ERROR_USAGE)
            status = WCODEC_OK;
        check_error(status, err);
    }
    fuzz_guarded_free(out, (size_t)row);
    return status;
}

static void decode_tensors(const wcodec_reader *reader, const uint8_t *restored,
                           struct exercise_result *result)
{
    for (uint64_t i = 0; i < wcodec_reader_tensor_count(reader); i++) {
        wcodec_tensor_info info;
        wcodec_error err = {0};
        FUZZ_REQUIRE(wcodec_reader_tensor(reader, i, &info, NULL) == WCODEC_OK);
        if (info.size > TENSOR_LIMIT) {
            const wcodec_status ends = decode_ends(reader, i, &info, &err);
            if (ends != WCODEC_OK && result->status == WCODEC_ERROR_LIMIT) {
                result->status = ends;
                result->err = err;
            }
            FUZZ_REQUIRE(!restored || ends == WCODEC_OK);
            continue;
        }
        const size_t size = (size_t)info.size;
        uint8_t *a = fuzz_guarded(size), *b = fuzz_guarded(size);
        const wcodec_status status = wcodec_reader_decode(reader, i, a, size, NULL, &err);
        check_error(status, &err);
        FUZZ_REQUIRE(status == wcodec_reader_decode(reader, i, b, size, NULL, NULL));
        if (status == WCODEC_OK)
            FUZZ_REQUIRE(memcmp(a, b, size) == 0);
        if (restored)
            FUZZ_REQUIRE(status == WCODEC_OK && memcmp(a, restored + info.file_offset, size) == 0);
        if (size)
            FUZZ_REQUIRE(wcodec_reader_decode(reader, i, b, size - 1, NULL, NULL) ==
                         WCODEC_ERROR_USAGE);
        decode_rows(reader, i, &info, status == WCODEC_OK ? a : NULL);
        fuzz_guarded_free(a, size);
        fuzz_guarded_free(b, size);
    }
}

static int discard(void *opaque, const void *data, size_t size)
{
    *(uint64_t *)opaque += size;
    (void)data;
    return 0;
}

/* What can be restored can be copied: all of it, and its tensors. */
static void copy(const wcodec_reader *reader, bool good)
{
    uint64_t written = 0;
    wcodec_encode_report report;
    wcodec_error err = {0};
    const wcodec_status status =
        wcodec_copy(reader, NULL, 0, discard, &written, NULL, &report, &err);
    check_error(status, &err);
    FUZZ_REQUIRE(status == WCODEC_OK || !good);
    FUZZ_REQUIRE(status != WCODEC_OK || written == report.coded_size);
    const uint64_t count = wcodec_reader_tensor_count(reader);
    uint64_t *tensors = malloc((size_t)(count + 1) * sizeof *tensors);
    for (uint64_t i = 0; i < count; i++)
        tensors[i] = i;
    err = (wcodec_error){0};
    const wcodec_status some =
        wcodec_copy(reader, tensors, (size_t)count, discard, &written, NULL, NULL, &err);
    check_error(some, &err);
    FUZZ_REQUIRE(some == WCODEC_OK || !good || some == WCODEC_ERROR_LIMIT);
    free(tensors);
}

/* The same bytes where they are written in any order. */
static int put_at(void *opaque, uint64_t offset, const void *data, size_t size)
{
    struct growing *g = opaque;
    FUZZ_REQUIRE(offset <= g->limit && size <= g->limit - offset);
    memcpy(g->data + offset, data, size);
    g->size += size;
    return 0;
}

static void restore_freely(const wcodec_reader *reader, const struct growing *expected)
{
    struct growing out = {fuzz_guarded(expected->limit), 0, expected->limit};
    wcodec_decode_options options;
    wcodec_decode_options_init(&options);
    options.write_at = put_at;
    FUZZ_REQUIRE(wcodec_reader_restore(reader, 0, NULL, &out, &options, NULL) == WCODEC_OK);
    FUZZ_REQUIRE(out.size == expected->size && memcmp(out.data, expected->data, out.size) == 0);
    fuzz_guarded_free(out.data, out.limit);
}

void exercise_reader(const wcodec_reader *reader, struct exercise_result *result)
{
    memset(result, 0, sizeof *result);
    uint64_t total;
    list(reader, &total);
    result->stage = "restore";
    result->status = WCODEC_ERROR_LIMIT;
    struct growing out = {NULL, 0, 0};
    if (total <= SIZE_LIMIT) {
        out.data = fuzz_guarded((size_t)total);
        out.limit = (size_t)total;
        result->status = wcodec_reader_restore(reader, 0, append, &out, NULL, &result->err);
        check_error(result->status, &result->err);
        FUZZ_REQUIRE(result->status != WCODEC_OK || out.size == total);
        if (result->status == WCODEC_OK)
            restore_freely(reader, &out);
        wcodec_error err = {0};
        const wcodec_status tested = wcodec_reader_test(reader, 0, 0, NULL, &err);
        check_error(tested, &err);
        FUZZ_REQUIRE(result->status == WCODEC_OK ||
                     tested != WCODEC_OK); /* the test is stricter: padding */
    }
    decode_tensors(reader, result->status == WCODEC_OK ? out.data : NULL, result);
    if (total <= SIZE_LIMIT)
        copy(reader, result->status == WCODEC_OK);
    if (result->status == WCODEC_OK) {
        result->stage = "ok";
        result->restored = fuzz_copy(out.data, out.size);
        result->size = out.size;
    }
    if (out.data)
        fuzz_guarded_free(out.data, out.limit);
}

void exercise_file(wcodec_context *context, const uint8_t *data, size_t size,
                   struct exercise_result *result)
{
    wcodec_reader *reader = NULL;
    memset(result, 0, sizeof *result);
    result->stage = "open";
    result->status = wcodec_reader_open_memory(context, data, size, &reader, &result->err);
    check_error(result->status, &result->err);
    FUZZ_REQUIRE((result->status == WCODEC_OK) == (reader != NULL));
    if (reader)
        exercise_reader(reader, result);
    wcodec_reader_close(reader);
}
