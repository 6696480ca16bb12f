/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Single tensors, whole or some rows. */

#include "read/decode.h"
#include "read/reader.h"
#include "core/error.h"
#include "core/options.h"
#include <inttypes.h>

struct request {
    const struct wcodec_shard *shard;
    const struct wcodec_entry *entry; /* as named; may be an alias */
    uint64_t begin, end;              /* bytes of it */
    uint8_t *dst;
    wcodec_decode_options options;
};

void wcodec_decode_options_init_size(wcodec_decode_options *options, size_t size)
{
    const wcodec_decode_options defaults = {0};
    wcodec_options_set(options, size, &defaults, sizeof defaults);
}

wcodec_status wcodec_decode_options_read(const wcodec_decode_options *from,
                                         wcodec_decode_options *options, wcodec_error *err)
{
    wcodec_decode_options o = {0};
    wcodec_status status =
        wcodec_options_take(from, &o, sizeof o, "wcodec_decode_options_init", err);
    if (status == WCODEC_OK)
        status = wcodec_progress_check(&o.progress, err);
    if (status == WCODEC_OK && o.part_begin != 0 && o.part_begin >= o.part_end)
        status = wcodec_fail(err, WCODEC_ERROR_USAGE,
                             "part_begin is %" PRIu64 " and part_end %" PRIu64
                             ": expected a part that begins before it ends",
                             o.part_begin, o.part_end);
    if (status == WCODEC_OK)
        *options = o;
    return status;
}

const struct wcodec_entry *wcodec_shard_resolve(const struct wcodec_shard *shard,
                                                const struct wcodec_entry *e)
{
    return !e->newer && e->coding == WCODEC_CODING_ALIAS ? &shard->index->entries[e->u.alias] : e;
}

static wcodec_status decode(wcodec_context *context, const struct request *r,
                            const struct wcodec_source *source, wcodec_error *err)
{
    struct wcodec_reporter reporter;
    struct wcodec_decoder decoder;
    const struct wcodec_decoder_input input = {
        .context = context,
        .source = source,
        .entry = wcodec_shard_resolve(r->shard, r->entry),
        .bases = r->shard->bases,
        .verify = !r->options.skip_checks,
        .whole = r->end - r->begin == r->entry->size,
    };
    wcodec_reporter_init(&reporter, &r->options.progress, r->end - r->begin);
    wcodec_status status = wcodec_decoder_open(&input, &decoder, err);
    if (status != WCODEC_OK)
        return status;
    status = wcodec_decoder_range(&decoder, r->begin, r->end, r->dst, &reporter, err);
    wcodec_decoder_close(&decoder);
    return status == WCODEC_OK ? wcodec_reporter_end(&reporter, err) : status;
}

static wcodec_status decode_request(wcodec_context *context, const struct request *r,
                                    wcodec_error *err)
{
    struct wcodec_source source;
    if (r->end - r->begin > context->limits.max_tensor_bytes)
        return wcodec_fail(err, WCODEC_ERROR_LIMIT,
                           "%" PRIu64 " bytes are more than the limit of %" PRIu64,
                           r->end - r->begin, context->limits.max_tensor_bytes);
    wcodec_status status = wcodec_shard_acquire(r->shard, &source, err);
    if (status != WCODEC_OK)
        return status;
    status = decode(context, r, &source, err);
    wcodec_shard_release(r->shard, &source);
    return status;
}

/* Find tensor i. */
static wcodec_status begin_request(const wcodec_reader *reader, uint64_t i, void *dst,
                                   const wcodec_decode_options *options, struct request *r,
                                   wcodec_error *err)
{
    wcodec_decode_options own;
    wcodec_status status = wcodec_context_usable(reader->context, err);
    if (status == WCODEC_OK)
        status = wcodec_decode_options_read(options, &own, err);
    if (status == WCODEC_OK && own.part_end != 0)
        status =
            wcodec_fail(err, WCODEC_ERROR_USAGE, "part_end is for restoring and testing files");
    if (status == WCODEC_OK)
        status = wcodec_check_number(i, reader->tensor_count, "tensor", err);
    if (status != WCODEC_OK)
        return status;
    *r = (struct request){.dst = dst, .options = own};
    r->entry = wcodec_reader_entry_of_tensor(reader, i, &r->shard);
    return WCODEC_OK;
}

wcodec_status wcodec_check_room(uint64_t size, const void *dst, size_t dst_size, wcodec_error *err)
{
    if (dst_size < size)
        return wcodec_fail(err, WCODEC_ERROR_USAGE,
                           "the destination has room for %zu bytes, %" PRIu64 " are needed",
                           dst_size, size);
    if (dst == NULL && size > 0)
        return wcodec_fail(err, WCODEC_ERROR_USAGE, "the destination is NULL");
    return WCODEC_OK;
}

wcodec_status wcodec_reader_decode(const wcodec_reader *reader, uint64_t i, void *dst,
                                   size_t dst_size, const wcodec_decode_options *options,
                                   wcodec_error *err)
{
    struct request r;
    wcodec_status status = begin_request(reader, i, dst, options, &r, err);
    if (status != WCODEC_OK)
        return status;
    r.end = r.entry->size;
    status = wcodec_check_room(r.end, dst, dst_size, err);
    if (status == WCODEC_OK)
        status = decode_request(reader->context, &r, err);
    if (status != WCODEC_OK)
        wcodec_shard_prefix(r.shard, r.entry, err);
    return status;
}

/* Sizes are at most 2^48, so bits do not overflow. */
wcodec_status wcodec_entry_rows(const struct wcodec_entry *e, uint64_t first, uint64_t count,
                                uint64_t *begin, uint64_t *end, wcodec_error *err)
{
    uint64_t rows = e->rank > 0 ? e->shape[0] : 1, bits = e->size * 8;
    if (first > rows || count > rows - first)
        return wcodec_fail(err, WCODEC_ERROR_USAGE, "rows %" PRIu64 " to %" PRIu64 " of %" PRIu64,
                           first, count > UINT64_MAX - first ? UINT64_MAX : first + count, rows);
    *begin = *end = 0;
    if (rows == 0)
        return WCODEC_OK;
    if (bits % rows != 0 || first * (bits / rows) % 8 != 0 || count * (bits / rows) % 8 != 0)
        return wcodec_fail(err, WCODEC_ERROR_USAGE,
                           "rows %" PRIu64 " to %" PRIu64 " do not lie on whole bytes", first,
                           first + count);
    *begin = first * (bits / rows) / 8;
    *end = *begin + count * (bits / rows) / 8;
    return WCODEC_OK;
}

wcodec_status wcodec_reader_decode_rows(const wcodec_reader *reader, uint64_t i, uint64_t first,
                                        uint64_t count, void *dst, size_t dst_size,
                                        const wcodec_decode_options *options, wcodec_error *err)
{
    struct request r;
    wcodec_status status = begin_request(reader, i, dst, options, &r, err);
    if (status != WCODEC_OK)
        return status;
    status = wcodec_entry_rows(r.entry, first, count, &r.begin, &r.end, err);
    if (status == WCODEC_OK)
        status = wcodec_check_room(r.end - r.begin, dst, dst_size, err);
    if (status == WCODEC_OK)
        status = decode_request(reader->context, &r, err);
    if (status != WCODEC_OK)
        wcodec_shard_prefix(r.shard, r.entry, err);
    return status;
}
