/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "format/zip.h"
#include "format/names.h"
#include "core/bytes.h"
#include "core/error.h"
#include "core/memory.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    LOCAL = 0x04034B50,
    CENTRAL = 0x02014B50,
    END = 0x06054B50,
    END64 = 0x06064B50,
    LOCATOR64 = 0x07064B50,
    LOCAL_SIZE = 30,
    CENTRAL_SIZE = 46,
    END_SIZE = 22,
    END64_SIZE = 56,
    LOCATOR64_SIZE = 20,
    COMMENT_MAX = 0xFFFF,
    /* Bits of a member's flags: encrypted; the same, and the directory too. */
    FLAG_ENCRYPTED = 1,
    FLAG_HIDDEN = 1 << 13,
    /* Of an extra field: sizes and places of 64 bits. */
    EXTRA_ZIP64 = 1,
};

struct directory {
    uint64_t count, offset, size;
    uint64_t end; /* where what follows it begins: it must end there at the latest */
};

#define CORRUPT(err, ...) wcodec_fail(err, WCODEC_ERROR_CORRUPT, __VA_ARGS__)

/* The end record is the last of the file, with a comment after it that ends the file. */
static wcodec_status find_end(const struct wcodec_source *source, const wcodec_allocator *allocator,
                              uint8_t record[END_SIZE], uint64_t *place, wcodec_error *err)
{
    const uint64_t most = END_SIZE + COMMENT_MAX, size = source->size < most ? source->size : most;
    if (size < END_SIZE)
        return CORRUPT(err, "%" PRIu64 " bytes are too few for an archive's end record", size);
    uint8_t *tail = wcodec_alloc(allocator, (size_t)size);
    if (tail == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory");
    wcodec_status status = wcodec_source_read(source, source->size - size, tail, (size_t)size, err);
    bool found = false;
    for (uint64_t at = size - END_SIZE + 1; at-- > 0 && status == WCODEC_OK && !found;)
        if (wcodec_load_u32(tail + at) == END &&
            wcodec_load_u16(tail + at + 20) == size - END_SIZE - at) {
            memcpy(record, tail + at, END_SIZE);
            *place = source->size - size + at;
            found = true;
        }
    wcodec_free(allocator, tail);
    if (status == WCODEC_OK && !found)
        status = CORRUPT(err, "no directory is at its end (it may be cut short)");
    return status;
}

static wcodec_status read_end64(const struct wcodec_source *source, uint64_t end,
                                struct directory *d, bool *is_there, wcodec_error *err)
{
    uint8_t locator[LOCATOR64_SIZE], record[END64_SIZE];
    *is_there = false;
    if (end < LOCATOR64_SIZE)
        return WCODEC_OK;
    wcodec_status status =
        wcodec_source_read(source, end - sizeof locator, locator, sizeof locator, err);
    if (status != WCODEC_OK || wcodec_load_u32(locator) != LOCATOR64)
        return status;
    const uint64_t place = wcodec_load_u64(locator + 8);
    if (end < LOCATOR64_SIZE + END64_SIZE || place > end - LOCATOR64_SIZE - END64_SIZE)
        return CORRUPT(err, "the zip64 end record at byte %" PRIu64 " is not in it", place);
    status = wcodec_source_read(source, place, record, sizeof record, err);
    if (status != WCODEC_OK)
        return status;
    if (wcodec_load_u32(record) != END64)
        return CORRUPT(err, "no zip64 end record is at byte %" PRIu64, place);
    if (wcodec_load_u32(locator + 4) != 0 || wcodec_load_u32(locator + 16) > 1 ||
        wcodec_load_u32(record + 16) != 0 || wcodec_load_u32(record + 20) != 0 ||
        wcodec_load_u64(record + 24) != wcodec_load_u64(record + 32))
        return CORRUPT(err, "it is one part of several");
    *d = (struct directory){.count = wcodec_load_u64(record + 32),
                            .size = wcodec_load_u64(record + 40),
                            .offset = wcodec_load_u64(record + 48),
                            .end = place};
    *is_there = true;
    return WCODEC_OK;
}

static wcodec_status read_end(const struct wcodec_source *source, const wcodec_allocator *allocator,
                              struct directory *d, wcodec_error *err)
{
    uint8_t record[END_SIZE] = {0};
    uint64_t end = 0;
    bool has_end64 = false;
    wcodec_status status = find_end(source, allocator, record, &end, err);
    if (status == WCODEC_OK)
        status = read_end64(source, end, d, &has_end64, err);
    if (status != WCODEC_OK)
        return status;
    if (!has_end64) {
        *d = (struct directory){.count = wcodec_load_u16(record + 10),
                                .size = wcodec_load_u32(record + 12),
                                .offset = wcodec_load_u32(record + 16),
                                .end = end};
        if (wcodec_load_u16(record + 4) != 0 || wcodec_load_u16(record + 6) != 0 ||
            wcodec_load_u16(record + 8) != d->count)
            return CORRUPT(err, "it is one part of several");
    }
    if (d->offset > d->end || d->size != d->end - d->offset)
        return CORRUPT(err,
                       "its directory of %" PRIu64 " bytes at byte %" PRIu64
                       " does not end at byte %" PRIu64,
                       d->size, d->offset, d->end);
    if (d->size > WCODEC_ZIP_DIRECTORY_MAX || d->count > WCODEC_ZIP_MEMBERS_MAX)
        return CORRUPT(
            err,
            "its directory has %" PRIu64 " members in %" PRIu64 " bytes, expected at most %d in %d",
            d->count, d->size, (int)WCODEC_ZIP_MEMBERS_MAX, (int)WCODEC_ZIP_DIRECTORY_MAX);
    if (d->count > d->size / CENTRAL_SIZE)
        return CORRUPT(err, "%" PRIu64 " members do not fit into a directory of %" PRIu64 " bytes",
                       d->count, d->size);
    return WCODEC_OK;
}

/* Sizes and places that do not fit into 32 bits are in a field of their own, in this order, those
 * that need it. */
static bool read_extra(struct wcodec_cursor extra, uint64_t *values[3])
{
    static const uint64_t full = UINT32_MAX;
    bool wanted = false;
    for (unsigned i = 0; i < 3; i++)
        wanted = wanted || *values[i] == full;
    while (wcodec_cursor_left(&extra) >= 4) {
        const uint8_t *head, *body;
        wcodec_take_bytes(&extra, 4, &head);
        if (!wcodec_take_bytes(&extra, wcodec_load_u16(head + 2), &body))
            return !wanted;
        struct wcodec_cursor c = {body, extra.at};
        for (unsigned i = 0; i < 3 && wcodec_load_u16(head) == EXTRA_ZIP64; i++) {
            const uint8_t *value;
            if (*values[i] != full)
                continue;
            if (!wcodec_take_bytes(&c, 8, &value))
                return false;
            *values[i] = wcodec_load_u64(value);
        }
        if (wcodec_load_u16(head) == EXTRA_ZIP64)
            return true;
    }
    return !wanted;
}

static wcodec_status take_name(struct wcodec_zip *zip, const uint8_t *bytes, size_t size,
                               const char **name, wcodec_error *err)
{
    if (!wcodec_utf8_valid(bytes, size))
        return CORRUPT(err, "a member's name is no UTF-8 without NUL");
    *name = wcodec_arena_text(&zip->arena, bytes, size);
    return *name != NULL ? WCODEC_OK : wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory");
}

/* The next record of the directory. */
static wcodec_status take_member(struct wcodec_zip *zip, struct wcodec_cursor *c,
                                 const struct directory *d, wcodec_error *err)
{
    struct wcodec_zip_member *m = &zip->members[zip->count];
    const uint8_t *record, *name, *extra, *comment;
    if (!wcodec_take_bytes(c, CENTRAL_SIZE, &record) || wcodec_load_u32(record) != CENTRAL)
        return CORRUPT(err, "record %" PRIu64 " of its directory is none", zip->count);
    const size_t name_size = wcodec_load_u16(record + 28),
                 extra_size = wcodec_load_u16(record + 30);
    if (!wcodec_take_bytes(c, name_size, &name) || !wcodec_take_bytes(c, extra_size, &extra) ||
        !wcodec_take_bytes(c, wcodec_load_u16(record + 32), &comment))
        return CORRUPT(err, "record %" PRIu64 " of its directory is cut short", zip->count);
    uint64_t coded = wcodec_load_u32(record + 20), size = wcodec_load_u32(record + 24);
    m->header = wcodec_load_u32(record + 42);
    wcodec_status status = take_name(zip, name, name_size, &m->name, err);
    if (status != WCODEC_OK)
        return status;
    const unsigned flags = wcodec_load_u16(record + 8), method = wcodec_load_u16(record + 10);
    if (!read_extra((struct wcodec_cursor){extra, extra + extra_size},
                    (uint64_t *[]){&size, &coded, &m->header}))
        return CORRUPT(err, "member \"%.200s\": its size of 64 bits is missing", m->name);
    m->is_stored = method == 0 && (flags & (FLAG_ENCRYPTED | FLAG_HIDDEN)) == 0;
    m->size = coded;
    if (m->is_stored && coded != size)
        return CORRUPT(err,
                       "member \"%.200s\" is stored, but has %" PRIu64 " bytes and %" PRIu64
                       " in the archive",
                       m->name, size, coded);
    if (m->header > d->offset || coded > d->offset - m->header)
        return CORRUPT(err, "member \"%.200s\" is not before the directory", m->name);
    zip->count++;
    return WCODEC_OK;
}

static int compare_members(const void *a, const void *b)
{
    const struct wcodec_zip_member *x = a, *y = b;
    return x->header < y->header ? -1 : x->header > y->header;
}

/* What the local header says, by which alone the place of the data is known. */
static wcodec_status locate(const struct wcodec_source *source, struct wcodec_zip_member *m,
                            uint64_t end, wcodec_error *err)
{
    uint8_t record[LOCAL_SIZE], name[256];
    const size_t expected = strlen(m->name);
    if (m->header > end || end - m->header < LOCAL_SIZE)
        return CORRUPT(err, "member \"%.200s\" overlaps what follows", m->name);
    wcodec_status status = wcodec_source_read(source, m->header, record, sizeof record, err);
    if (status != WCODEC_OK)
        return status;
    if (wcodec_load_u32(record) != LOCAL)
        return CORRUPT(err, "member \"%.200s\": no header is at byte %" PRIu64, m->name, m->header);
    const uint64_t name_size = wcodec_load_u16(record + 26),
                   begin = LOCAL_SIZE + name_size + wcodec_load_u16(record + 28);
    if (begin > end - m->header || m->size > end - m->header - begin)
        return CORRUPT(err, "member \"%.200s\" overlaps what follows", m->name);
    m->begin = m->header + begin;
    bool same = name_size == expected;
    for (size_t at = 0; at < expected && same && status == WCODEC_OK; at += sizeof name) {
        const size_t part = expected - at < sizeof name ? expected - at : sizeof name;
        status = wcodec_source_read(source, m->header + LOCAL_SIZE + at, name, part, err);
        same = status != WCODEC_OK || memcmp(name, m->name + at, part) == 0;
    }
    return same ? status
                : CORRUPT(err, "member \"%.200s\" has another name in its header", m->name);
}

static wcodec_status check_names(const struct wcodec_zip *zip, wcodec_error *err)
{
    struct wcodec_names names;
    wcodec_status status = WCODEC_OK;
    if (zip->count < 2)
        return status;
    if (!wcodec_names_init(&names, zip->allocator, zip->count))
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for %" PRIu64 " names",
                           zip->count);
    for (uint64_t i = 0; i < zip->count && status == WCODEC_OK; i++) {
        uint64_t number = i;
        if (!wcodec_names_add(&names, zip->members[i].name, &number))
            status = CORRUPT(err, "member \"%.200s\" is there twice", zip->members[i].name);
    }
    wcodec_names_free(&names);
    return status;
}

static wcodec_status read_directory(const struct wcodec_source *source, struct wcodec_zip *zip,
                                    const struct directory *d, wcodec_error *err)
{
    uint8_t *bytes = wcodec_alloc(zip->allocator, (size_t)d->size);
    zip->members = wcodec_alloc_array(zip->allocator, d->count, sizeof *zip->members);
    wcodec_status status = bytes != NULL && zip->members != NULL
                               ? wcodec_source_read(source, d->offset, bytes, (size_t)d->size, err)
                               : wcodec_fail(err, WCODEC_ERROR_MEMORY,
                                             "out of memory for %" PRIu64 " members", d->count);
    if (status == WCODEC_OK) {
        struct wcodec_cursor c = {bytes, bytes + d->size};
        while (zip->count < d->count && status == WCODEC_OK)
            status = take_member(zip, &c, d, err);
        if (status == WCODEC_OK && wcodec_cursor_left(&c) != 0)
            status = CORRUPT(err, "its directory has more than %" PRIu64 " members", d->count);
    }
    wcodec_free(zip->allocator, bytes);
    return status;
}

/* Member number i, before what follows it. */
static wcodec_status locate_next(const struct wcodec_source *source, struct wcodec_zip *zip,
                                 uint64_t i, uint64_t directory, struct wcodec_cancel *cancel,
                                 wcodec_error *err)
{
    enum { POLLED = 64 };
    wcodec_status status = i % POLLED == 0 ? wcodec_cancel_check(cancel, err) : WCODEC_OK;
    return status == WCODEC_OK
               ? locate(source, &zip->members[i],
                        i + 1 < zip->count ? zip->members[i + 1].header : directory, err)
               : status;
}

wcodec_status wcodec_zip_read(const struct wcodec_source *source, const wcodec_allocator *allocator,
                              struct wcodec_cancel *cancel, struct wcodec_zip *zip,
                              wcodec_error *err)
{
    struct directory d;
    *zip = (struct wcodec_zip){.allocator = allocator};
    wcodec_arena_init(&zip->arena, allocator);
    wcodec_status status = read_end(source, allocator, &d, err);
    if (status == WCODEC_OK)
        status = read_directory(source, zip, &d, err);
    if (status == WCODEC_OK)
        status = check_names(zip, err);
    if (status != WCODEC_OK)
        return status;
    if (zip->count != 0)
        qsort(zip->members, (size_t)zip->count, sizeof *zip->members, compare_members);
    for (uint64_t i = 0; i < zip->count && status == WCODEC_OK; i++)
        status = locate_next(source, zip, i, d.offset, cancel, err);
    return status;
}

void wcodec_zip_free(struct wcodec_zip *zip)
{
    if (zip->allocator == NULL)
        return;
    wcodec_free(zip->allocator, zip->members);
    wcodec_arena_free(&zip->arena);
    zip->members = NULL;
    zip->count = 0;
}
