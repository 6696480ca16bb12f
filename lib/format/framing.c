/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Head and tail of a container (doc/format.md 1.1 and 1.2). */

#include "format/foreign.h"
#include "format/index.h"
#include "core/error.h"
#include "io/source.h"
#include <inttypes.h>
#include <xxhash.h>

static const uint8_t head_magic[8] = {0x89, 'W', 'C', 'D', '\r', '\n', 0x1a, '\n'};
static const uint8_t tail_magic[8] = {'\n', 0x1a, '\n', '\r', 'D', 'C', 'W', 0x89};

enum {
    HEAD_VERSION = 8,
    HEAD_CRITICAL = 12,
    HEAD_SIZE = 20,
    HEAD_PLACE = 28,
    HEAD_LEVEL = 29,
    HEAD_TUNE = 30,
    HEAD_PROFILE = 31,
    HEAD_TILE = 32,
    HEAD_PREDICT = 33,
    HEAD_CHOICES = 34,
    HEAD_ZERO = 35,
    HEAD_HASH = 56
};
enum { CHOICE_PATTERNS = 1, CHOICE_LOSSY = 2 };
enum {
    TAIL_OFFSET = 0,
    TAIL_SIZE = 8,
    TAIL_DECODED = 16,
    TAIL_INDEX_HASH = 24,
    TAIL_FILE_SIZE = 32,
    TAIL_HEAD_HASH = 40,
    TAIL_HASH = 48,
    TAIL_MAGIC = 56
};

void wcodec_head_write(const struct wcodec_head *values, uint8_t head[WCODEC_HEAD_SIZE])
{
    const struct wcodec_settings *s = &values->settings;
    memset(head, 0, WCODEC_HEAD_SIZE);
    memcpy(head, head_magic, sizeof(head_magic));
    wcodec_store_u16(head + HEAD_VERSION, WCODEC_FORMAT_VERSION);
    wcodec_store_u64(head + HEAD_SIZE, values->size + 1); /* 0: not noted */
    head[HEAD_PLACE] = values->index_first;
    head[HEAD_LEVEL] = s->level;
    head[HEAD_TUNE] = s->tune;
    head[HEAD_PROFILE] = s->profile;
    head[HEAD_TILE] = s->tile_log2;
    head[HEAD_PREDICT] = s->predict;
    head[HEAD_CHOICES] =
        (uint8_t)((s->patterns ? CHOICE_PATTERNS : 0) | (s->lossy ? CHOICE_LOSSY : 0));
    wcodec_store_u64(head + HEAD_HASH, XXH3_64bits(head, HEAD_HASH));
}

void wcodec_tail_write(const uint8_t head[WCODEC_HEAD_SIZE], uint64_t index_offset,
                       const uint8_t *coded_index, uint64_t coded_size, uint64_t decoded_size,
                       uint64_t file_size, uint8_t tail[WCODEC_TAIL_SIZE])
{
    wcodec_store_u64(tail + TAIL_OFFSET, index_offset);
    wcodec_store_u64(tail + TAIL_SIZE, coded_size);
    wcodec_store_u64(tail + TAIL_DECODED, decoded_size);
    wcodec_store_u64(tail + TAIL_INDEX_HASH, XXH3_64bits(coded_index, (size_t)coded_size));
    wcodec_store_u64(tail + TAIL_FILE_SIZE, file_size);
    wcodec_store_u64(tail + TAIL_HEAD_HASH, wcodec_load_u64(head + HEAD_HASH));
    wcodec_store_u64(tail + TAIL_HASH, XXH3_64bits(tail, TAIL_HASH));
    memcpy(tail + TAIL_MAGIC, tail_magic, sizeof(tail_magic));
}

static wcodec_status no_container(const struct wcodec_source *source, wcodec_error *err)
{
    const char *kind = wcodec_foreign_safetensors(source)
                           ? "a safetensors file ('wcodec compress' makes one of it)"
                           : wcodec_foreign_kind(source);
    return wcodec_fail(err, WCODEC_ERROR_CORRUPT, "is no .wcodec file%s%s",
                       kind != NULL ? " but " : ": it starts with other bytes",
                       kind != NULL ? kind : "");
}

/* The checksum comes before the version: every version has both in the same place, so that a
 * damaged version is not taken for a newer one. */
static wcodec_status check_head(const struct wcodec_source *source,
                                const uint8_t head[WCODEC_HEAD_SIZE], wcodec_error *err)
{
    if (memcmp(head, head_magic, sizeof(head_magic)) != 0) {
        if (memcmp(head + 1, head_magic + 1, 3) == 0)
            return wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                               "the magic is damaged, as by a transfer in text mode");
        return no_container(source, err);
    }
    if (wcodec_load_u64(head + HEAD_HASH) != XXH3_64bits(head, HEAD_HASH))
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT, "the head's checksum differs");
    unsigned version = wcodec_load_u16(head + HEAD_VERSION);
    if (version > WCODEC_FORMAT_VERSION)
        return wcodec_fail(err, WCODEC_ERROR_NEWER,
                           "made by a newer version: format %u, this library reads up to %d",
                           version, WCODEC_FORMAT_VERSION);
    if (version == 0)
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT, "format version 0");
    uint32_t critical = wcodec_load_u32(head + HEAD_CRITICAL);
    if (critical != 0)
        return wcodec_fail(err, WCODEC_ERROR_NEWER,
                           "made by a newer version: critical flags 0x%" PRIx32 " are not known",
                           critical);
    for (unsigned i = HEAD_ZERO; i < HEAD_HASH; i++)
        if (head[i] != 0)
            return wcodec_fail(err, WCODEC_ERROR_CORRUPT, "byte %u of the head is not zero", i);
    if (head[HEAD_PLACE] > 1)
        return wcodec_fail(err, WCODEC_ERROR_NEWER,
                           "made by a newer version: place %u of the index", head[HEAD_PLACE]);
    return WCODEC_OK;
}

static void take_head(const uint8_t head[WCODEC_HEAD_SIZE], struct wcodec_head *values)
{
    *values = (struct wcodec_head){
        .version = wcodec_load_u16(head + HEAD_VERSION),
        .size = wcodec_load_u64(head + HEAD_SIZE) - 1,
        .index_first = head[HEAD_PLACE] == 1,
        .settings = {.level = head[HEAD_LEVEL],
                     .tune = head[HEAD_TUNE],
                     .profile = head[HEAD_PROFILE],
                     .tile_log2 = head[HEAD_TILE],
                     .predict = head[HEAD_PREDICT],
                     .patterns = (head[HEAD_CHOICES] & CHOICE_PATTERNS) != 0,
                     .lossy = (head[HEAD_CHOICES] & CHOICE_LOSSY) != 0},
    };
}

static wcodec_status check_tail(const uint8_t tail[WCODEC_TAIL_SIZE],
                                const uint8_t head[WCODEC_HEAD_SIZE], uint64_t file_size,
                                wcodec_error *err)
{
    if (memcmp(tail + TAIL_MAGIC, tail_magic, sizeof(tail_magic)) != 0)
        return wcodec_fail(
            err, WCODEC_ERROR_CORRUPT,
            "the file does not end with a tail: it is cut short, or something was appended");
    if (wcodec_load_u64(tail + TAIL_HASH) != XXH3_64bits(tail, TAIL_HASH))
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT, "the tail's checksum differs");
    if (wcodec_load_u64(tail + TAIL_FILE_SIZE) != file_size)
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                           "the tail says that the file has %" PRIu64 " bytes, it has %" PRIu64,
                           wcodec_load_u64(tail + TAIL_FILE_SIZE), file_size);
    if (wcodec_load_u64(tail + TAIL_HEAD_HASH) != wcodec_load_u64(head + HEAD_HASH))
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT, "head and tail are not of the same file");
    return WCODEC_OK;
}

static wcodec_status check_index_position(struct wcodec_framing *framing, uint64_t file_size,
                                          wcodec_error *err)
{
    const uint64_t tail = file_size - WCODEC_TAIL_SIZE, size = framing->index_size;
    const bool first = framing->head.index_first;
    if (first && (framing->index_offset != WCODEC_HEAD_SIZE + WCODEC_TAIL_SIZE ||
                  size > tail - framing->index_offset))
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                           "index at byte %" PRIu64 " with %" PRIu64
                           " bytes, which is not in front of all else",
                           framing->index_offset, size);
    if (!first && (framing->index_offset < WCODEC_HEAD_SIZE || framing->index_offset > tail ||
                   size != tail - framing->index_offset))
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                           "index at byte %" PRIu64 " with %" PRIu64
                           " bytes does not end at the tail (byte %" PRIu64 ")",
                           framing->index_offset, size, tail);
    framing->body_begin = wcodec_body_begin(first, size);
    framing->body_stop = first ? tail : framing->index_offset;
    if (framing->body_stop % 16 != 0)
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                           "%s at byte %" PRIu64 ", which is no multiple of 16",
                           first ? "tail" : "index", framing->body_stop);
    if (framing->body_begin > framing->body_stop)
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT, "the index reaches into the tail");
    if (framing->index_decoded_size > wcodec_index_decoded_max(size))
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                           "index of %" PRIu64 " bytes claims to decode to %" PRIu64
                           ", at most %" PRIu64 " are allowed",
                           size, framing->index_decoded_size, wcodec_index_decoded_max(size));
    return WCODEC_OK;
}

/* A file that is too short for head and tail; it may be none of ours. */
static wcodec_status refuse_short(const struct wcodec_source *source, uint64_t least,
                                  wcodec_error *err)
{
    uint8_t first[sizeof(head_magic)];
    if (source->size >= sizeof(first)) {
        wcodec_status status = wcodec_source_read(source, 0, first, sizeof(first), err);
        if (status != WCODEC_OK)
            return status;
        if (memcmp(first, head_magic, sizeof(first)) != 0)
            return no_container(source, err);
    }
    return wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                       "has %" PRIu64 " bytes, a .wcodec file has at least %" PRIu64, source->size,
                       least);
}

/* The index in front has a copy of the tail before it, and zeros after it. */
static wcodec_status check_front(const struct wcodec_source *source, const uint8_t *tail,
                                 const struct wcodec_framing *framing, wcodec_error *err)
{
    uint8_t copy[WCODEC_TAIL_SIZE], gap[256];
    const uint64_t end = framing->index_offset + framing->index_size;
    const size_t left = (size_t)(framing->body_begin - end);
    wcodec_status status = wcodec_source_read(source, WCODEC_HEAD_SIZE, copy, sizeof(copy), err);
    if (status == WCODEC_OK)
        status = wcodec_source_read(source, end, gap, left, err);
    if (status != WCODEC_OK)
        return status;
    if (memcmp(copy, tail, sizeof(copy)) != 0)
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                           "the tail and its copy after the head differ");
    for (size_t i = 0; i < left; i++)
        if (gap[i] != 0)
            return wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                               "byte %" PRIu64 " of the file is padding and not zero", end + i);
    return WCODEC_OK;
}

wcodec_status wcodec_framing_read(const struct wcodec_source *source,
                                  struct wcodec_framing *framing, wcodec_error *err)
{
    uint8_t head[WCODEC_HEAD_SIZE], tail[WCODEC_TAIL_SIZE];
    if (source->size < WCODEC_HEAD_SIZE + WCODEC_TAIL_SIZE)
        return refuse_short(source, WCODEC_HEAD_SIZE + WCODEC_TAIL_SIZE, err);
    wcodec_status status = wcodec_source_read(source, 0, head, sizeof(head), err);
    if (status == WCODEC_OK)
        status = check_head(source, head, err);
    if (status == WCODEC_OK)
        status =
            wcodec_source_read(source, source->size - WCODEC_TAIL_SIZE, tail, sizeof(tail), err);
    if (status == WCODEC_OK)
        status = check_tail(tail, head, source->size, err);
    if (status != WCODEC_OK)
        return status;
    struct wcodec_framing found = {
        .index_offset = wcodec_load_u64(tail + TAIL_OFFSET),
        .index_size = wcodec_load_u64(tail + TAIL_SIZE),
        .index_decoded_size = wcodec_load_u64(tail + TAIL_DECODED),
        .index_hash = wcodec_load_u64(tail + TAIL_INDEX_HASH),
    };
    take_head(head, &found.head);
    status = check_index_position(&found, source->size, err);
    if (status == WCODEC_OK && found.head.index_first)
        status = check_front(source, tail, &found, err);
    if (status == WCODEC_OK)
        *framing = found;
    return status;
}

wcodec_status wcodec_head_read(const struct wcodec_source *source, struct wcodec_head *values,
                               uint64_t *body_begin, wcodec_error *err)
{
    uint8_t head[WCODEC_HEAD_SIZE], copy[WCODEC_TAIL_SIZE];
    uint64_t size = 0;
    if (source->size < WCODEC_HEAD_SIZE)
        return refuse_short(source, WCODEC_HEAD_SIZE, err);
    wcodec_status status = wcodec_source_read(source, 0, head, sizeof(head), err);
    if (status == WCODEC_OK)
        status = check_head(source, head, err);
    if (status != WCODEC_OK)
        return status;
    take_head(head, values);
    if (values->index_first) {
        if (source->size < WCODEC_HEAD_SIZE + WCODEC_TAIL_SIZE)
            return refuse_short(source, WCODEC_HEAD_SIZE + WCODEC_TAIL_SIZE, err);
        status = wcodec_source_read(source, WCODEC_HEAD_SIZE, copy, sizeof(copy), err);
        if (status == WCODEC_OK)
            status = check_tail(copy, head, wcodec_load_u64(copy + TAIL_FILE_SIZE), err);
        size = wcodec_load_u64(copy + TAIL_SIZE);
        if (status == WCODEC_OK && size > (uint64_t)1 << 62)
            status = wcodec_fail(err, WCODEC_ERROR_CORRUPT, "an index of %" PRIu64 " bytes", size);
    }
    if (status == WCODEC_OK)
        *body_begin = wcodec_body_begin(values->index_first, size);
    return status;
}
