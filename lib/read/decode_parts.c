/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "read/decode_parts.h"
#include "core/memory.h"

#include <string.h>

void wcodec_decoder_parts_begin(struct wcodec_decoder *d, struct wcodec_decoder_parts *parts)
{
    parts->payload = *d->input.source;
    if (d->payload != NULL)
        wcodec_source_memory(d->payload, d->input.entry->payload_size, &parts->payload);
}

wcodec_status wcodec_decoder_parts_open(struct wcodec_decoder *d,
                                        struct wcodec_decoder_parts *parts, unsigned i,
                                        const struct wcodec_entry *entry, wcodec_error *err)
{
    parts->entries[i] = *entry;
    if (d->payload == NULL)
        parts->entries[i].payload_offset += d->input.entry->payload_offset;
    const wcodec_status status =
        wcodec_decoder_open_part(d, &parts->payload, &parts->entries[i], &parts->decoders[i], err);
    parts->open[i] = status == WCODEC_OK;
    return status;
}

wcodec_status wcodec_decoder_parts_range(struct wcodec_decoder *d,
                                         struct wcodec_decoder_parts *parts, unsigned i,
                                         uint64_t begin, uint64_t end, uint64_t zeros,
                                         wcodec_error *err)
{
    const wcodec_status status =
        wcodec_decoder_enlarge(d, end - begin + zeros, &parts->buffers[i], &parts->sizes[i], err);
    if (status != WCODEC_OK)
        return status;
    if (zeros != 0)
        memset(parts->buffers[i] + (end - begin), 0, (size_t)zeros);
    return wcodec_decoder_range_part(d, &parts->decoders[i], begin, end, parts->buffers[i], err);
}

void wcodec_decoder_parts_close(struct wcodec_decoder *d, struct wcodec_decoder_parts *parts)
{
    for (unsigned i = 0; i < WCODEC_DECODER_PARTS_MAX; i++) {
        if (parts->open[i])
            wcodec_decoder_close(&parts->decoders[i]);
        wcodec_free(&d->input.context->allocator, parts->buffers[i]);
    }
}
