/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Headers of groups (doc/format.md 1.6): read and compared with the index, or taken as they are. */

#include "format/groups.h"
#include "core/error.h"
#include "core/memory.h"
#include "io/source.h"
#include <inttypes.h>
#include <xxhash.h>
#include <zstd.h>

wcodec_status wcodec_group_load(const struct wcodec_source *source,
                                const wcodec_allocator *allocator, uint64_t offset, uint64_t most,
                                uint8_t **header, size_t *size, wcodec_error *err)
{
    uint8_t front[WCODEC_GROUP_MIN];
    if (offset > source->size || source->size - offset < sizeof(front))
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT, "the file ends at byte %" PRIu64,
                           source->size);
    wcodec_status status = wcodec_source_read(source, offset, front, sizeof(front), err);
    if (status != WCODEC_OK)
        return status;
    const uint32_t own = wcodec_load_u32(front + 8) & ~WCODEC_GROUP_PACKED;
    if (own <= WCODEC_GROUP_MIN || own > WCODEC_GROUP_MAX || own > source->size - offset)
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT, "there is no header at byte %" PRIu64,
                           offset);
    if (own > most)
        return wcodec_fail(err, WCODEC_ERROR_LIMIT,
                           "a header of %" PRIu32 " bytes, the limit is %" PRIu64, own, most);
    uint8_t *bytes = wcodec_alloc(allocator, own);
    if (bytes == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for a header");
    status = wcodec_source_read(source, offset, bytes, own, err);
    if (status == WCODEC_OK && XXH3_64bits(bytes + 8, own - 8) != wcodec_load_u64(bytes))
        status = wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                             "the checksum of the header at byte %" PRIu64 " differs", offset);
    if (status != WCODEC_OK) {
        wcodec_free(allocator, bytes);
        return status;
    }
    *header = bytes;
    *size = own;
    return WCODEC_OK;
}

static wcodec_status unpack(const uint8_t *coded, size_t coded_size, uint64_t most,
                            const wcodec_allocator *allocator, struct wcodec_zstd *zstd,
                            uint8_t **body, size_t *body_size, wcodec_error *err)
{
    if (coded_size < 4 || wcodec_load_u32(coded) != ZSTD_MAGICNUMBER ||
        ZSTD_findFrameCompressedSize(coded, coded_size) != coded_size)
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT, "a header is not one zstd frame");
    const unsigned long long content = ZSTD_getFrameContentSize(coded, coded_size);
    if (content == ZSTD_CONTENTSIZE_ERROR || content == ZSTD_CONTENTSIZE_UNKNOWN ||
        content > wcodec_group_decoded_max(coded_size))
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                           "a header of %zu bytes claims to decode to %llu", coded_size, content);
    if (content > most)
        return wcodec_fail(err, WCODEC_ERROR_LIMIT,
                           "a header that decodes to %llu bytes, the limit is %" PRIu64, content,
                           most);
    uint8_t *bytes = wcodec_alloc(allocator, content != 0 ? (size_t)content : 1);
    if (bytes == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for a header");
    const size_t got = wcodec_zstd_decompress(zstd, bytes, (size_t)content, coded, coded_size);
    if (ZSTD_isError(got) || got != content) {
        wcodec_free(allocator, bytes);
        return wcodec_fail(err, WCODEC_ERROR_CORRUPT, "decompressing a header: %s",
                           ZSTD_isError(got) ? ZSTD_getErrorName(got) : "it is shorter");
    }
    *body = bytes;
    *body_size = got;
    return WCODEC_OK;
}

wcodec_status wcodec_group_decode(const uint8_t *header, size_t size, uint64_t most,
                                  const wcodec_allocator *allocator, struct wcodec_zstd *zstd,
                                  uint8_t **body, size_t *body_size, wcodec_error *err)
{
    const uint8_t *coded = header + WCODEC_GROUP_MIN;
    const size_t coded_size = size - WCODEC_GROUP_MIN;
    if ((wcodec_load_u32(header + 8) & WCODEC_GROUP_PACKED) != 0)
        return unpack(coded, coded_size, most, allocator, zstd, body, body_size, err);
    uint8_t *bytes = wcodec_alloc(allocator, coded_size);
    if (bytes == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for a header");
    memcpy(bytes, coded, coded_size);
    *body = bytes;
    *body_size = coded_size;
    return WCODEC_OK;
}

wcodec_status wcodec_group_check(const struct wcodec_source *source,
                                 const wcodec_allocator *allocator, uint64_t most,
                                 const struct wcodec_group *group, struct wcodec_zstd *zstd,
                                 wcodec_error *err)
{
    uint8_t *header, *body = NULL;
    size_t size, body_size = 0;
    wcodec_status status =
        wcodec_group_load(source, allocator, group->offset, most, &header, &size, err);
    if (status != WCODEC_OK)
        return status;
    status = wcodec_group_decode(header, size, most, allocator, zstd, &body, &body_size, err);
    if (status == WCODEC_OK && (size != group->header_size || body_size != group->body_size ||
                                XXH3_64bits(body, body_size) != group->body_hash))
        status =
            wcodec_fail(err, WCODEC_ERROR_CORRUPT,
                        "the header at byte %" PRIu64 " is not what the index says", group->offset);
    wcodec_free(allocator, body);
    wcodec_free(allocator, header);
    return status;
}
