/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "support_zip.h"
#include "support_memory.h"
#include "core/bytes.h"
#include "format/layout.h"

void support_put(struct support_bytes *b, const void *data, size_t size)
{
    b->data = realloc(b->data, b->size + size + 1);
    assert_non_null(b->data);
    if (size != 0)
        memcpy(b->data + b->size, data, size);
    b->size += size;
}

static void put_uint(struct support_bytes *b, uint64_t v, unsigned size)
{
    uint8_t bytes[8];
    wcodec_store_uint(bytes, v, size);
    support_put(b, bytes, size);
}

void support_put_u16(struct support_bytes *b, uint64_t v)
{
    put_uint(b, v, 2);
}

void support_put_u32(struct support_bytes *b, uint64_t v)
{
    put_uint(b, v, 4);
}

void support_put_u64(struct support_bytes *b, uint64_t v)
{
    put_uint(b, v, 8);
}

void support_bytes_free(struct support_bytes *b)
{
    free(b->data);
    *b = (struct support_bytes){0};
}

void support_put_array(struct support_bytes *b, const char *header, size_t data_size)
{
    support_put(b, "\x93NUMPY\1\0", 8);
    support_put_u16(b, strlen(header));
    support_put(b, header, strlen(header));
    for (size_t i = 0; i < data_size; i++)
        support_put(b, &(uint8_t){(uint8_t)(i + 1)}, 1);
}

/* Version, flags, method, time, date, checksum, sizes, and the length of the name. */
static void put_common(struct support_bytes *b, const struct support_zip *zip, size_t name_size,
                       uint64_t size)
{
    support_put_u16(b, 20);
    support_put_u16(b, zip->flags);
    support_put_u16(b, zip->method);
    support_put_u32(b, 0);
    support_put_u32(b, 0);
    support_put_u32(b, zip->zip64 ? UINT32_MAX : size);
    support_put_u32(b, zip->zip64 ? UINT32_MAX : size);
    support_put_u16(b, name_size);
}

void support_zip_member(struct support_zip *zip, const char *name, size_t name_size,
                        const void *data, size_t size)
{
    const size_t place = zip->file.size;
    struct support_bytes *f = &zip->file, *d = &zip->directory;
    support_put(f, "PK\3\4", 4);
    put_common(f, zip, name_size, size);
    support_put_u16(f, zip->padding);
    support_put(f, name, name_size);
    if (zip->padding >= 4) {
        support_put_u16(f, 0x4246);
        support_put_u16(f, zip->padding - 4);
        for (size_t i = 4; i < zip->padding; i++)
            support_put(f, "Z", 1);
    }
    support_put(f, data, size);
    support_put(d, "PK\1\2\0\0", 6);
    put_common(d, zip, name_size, size);
    support_put_u16(d, zip->zip64 ? 28 : 0);
    support_put(d, "\0\0\0\0\0\0\0\0\0\0", 10);
    support_put_u32(d, zip->zip64 ? UINT32_MAX : place);
    support_put(d, name, name_size);
    if (zip->zip64) {
        support_put_u16(d, 1);
        support_put_u16(d, 24);
        support_put_u64(d, size);
        support_put_u64(d, size);
        support_put_u64(d, place);
    }
    zip->count++;
}

void support_zip_add(struct support_zip *zip, const char *name, const void *data, size_t size)
{
    support_zip_member(zip, name, strlen(name), data, size);
}

void support_zip_end(struct support_zip *zip)
{
    struct support_bytes *f = &zip->file;
    const size_t offset = f->size, size = zip->directory.size;
    support_put(f, zip->directory.data, size);
    if (zip->zip64) {
        const size_t place = f->size;
        support_put(f, "PK\6\6", 4);
        support_put_u64(f, 44);
        support_put_u32(f, 0);
        support_put_u64(f, 0);
        support_put_u64(f, zip->count);
        support_put_u64(f, zip->count);
        support_put_u64(f, size);
        support_put_u64(f, offset);
        support_put(f, "PK\6\7", 4);
        support_put_u32(f, 0);
        support_put_u64(f, place);
        support_put_u32(f, 1);
    }
    support_put(f, "PK\5\6\0\0\0\0", 8);
    support_put_u16(f, zip->zip64 ? UINT16_MAX : zip->count);
    support_put_u16(f, zip->zip64 ? UINT16_MAX : zip->count);
    support_put_u32(f, zip->zip64 ? UINT32_MAX : size);
    support_put_u32(f, zip->zip64 ? UINT32_MAX : offset);
    support_put_u16(f, 0);
}

void support_zip_free(struct support_zip *zip)
{
    support_bytes_free(&zip->file);
    support_bytes_free(&zip->directory);
    *zip = (struct support_zip){0};
}

uint8_t *support_source(const struct support_bytes *b, size_t size, struct wcodec_source *source)
{
    uint8_t *copy = malloc(size != 0 ? size : 1);
    assert_non_null(copy);
    memcpy(copy, b->data, size);
    wcodec_source_memory(copy, size, source);
    return copy;
}

struct wcodec_file_layout *support_layout(const struct support_bytes *file, wcodec_error *err)
{
    struct wcodec_file_layout *layout = NULL;
    struct wcodec_source source;
    uint8_t *copy = support_source(file, file->size, &source);
    const wcodec_status status =
        wcodec_layout_read(&source, &wcodec_default_allocator, NULL, &layout, err);
    assert_true(status == WCODEC_OK || status == WCODEC_ERROR_CORRUPT);
    free(copy);
    return layout;
}

struct wcodec_file_layout *support_layout_of(const struct support_bytes *file, const char *kind)
{
    wcodec_error err = {0};
    struct wcodec_file_layout *layout = support_layout(file, &err);
    if (layout == NULL)
        fail_msg("refused: %s", err.text);
    assert_string_equal(layout->kind, kind);
    return layout;
}

void support_layout_refused(const struct support_bytes *file, const char *begin,
                            const char *expected)
{
    wcodec_error err = {0};
    assert_null(support_layout(file, &err));
    if (strstr(err.text, begin) != err.text || strstr(err.text, expected) == NULL)
        fail_msg("'%s' is not said, but '%s'", expected, err.text);
}

void support_layout_cut_and_flipped(struct support_bytes *file)
{
    const size_t size = file->size;
    for (file->size = 0; file->size < size; file->size++)
        assert_null(support_layout(file, NULL));
    for (size_t bit = 0; bit < size * 8; bit++) {
        file->data[bit / 8] ^= (uint8_t)(1u << bit % 8);
        wcodec_layout_free(support_layout(file, NULL));
        file->data[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
}

void support_layout_memory(const struct support_bytes *file, int least)
{
    struct wcodec_source source;
    wcodec_source_memory(file->data, file->size, &source);
    for (int n = 0;; n++) {
        struct support_allocator failing;
        struct wcodec_file_layout *layout = NULL;
        support_allocator_init(&failing, n);
        const wcodec_status status =
            wcodec_layout_read(&source, &failing.allocator, NULL, &layout, NULL);
        wcodec_layout_free(layout);
        assert_int_equal(failing.balance, 0);
        if (status == WCODEC_OK) {
            assert_true(n > least);
            return;
        }
        assert_int_equal(status, WCODEC_ERROR_MEMORY);
    }
}
