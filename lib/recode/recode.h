/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* What the files of this room share. */
#ifndef WCODEC_RECODE_RECODE_H
#define WCODEC_RECODE_RECODE_H

#include "read/reader.h"
#include "write/compress.h"

/* Set *payload to the payload of an entry of a source, whose hash is right; the caller frees it by
 * the context's allocator. WCODEC_ERROR_LIMIT, _MEMORY, _IO, _CORRUPT. */
wcodec_status wcodec_payload_read(wcodec_context *context, const struct wcodec_source *source,
                                  const struct wcodec_entry *e, uint8_t **payload,
                                  wcodec_error *err);

/* As wcodec_recompress(); supply: NULL, or who has the entries of the result. */
wcodec_status wcodec_recompress_supplied(const wcodec_reader *reader, uint64_t file,
                                         const struct wcodec_write_supply *supply,
                                         wcodec_write_fn write, void *opaque,
                                         const wcodec_encode_options *options,
                                         wcodec_encode_report *report, wcodec_error *err);

#endif
