/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Which tensors are tables of vectors that the options ask to be coded by anchors. */
#ifndef WCODEC_WRITE_TABLES_H
#define WCODEC_WRITE_TABLES_H

#include "encode/encode.h"
#include "format/index.h"
#include <wcodec/writer.h>

/* Do the options ask for any? */
static inline bool wcodec_tables_wanted(const wcodec_encode_options *o)
{
    return o->vectors != NULL || o->vectors_bits != 0 || o->vectors_recall != 0;
}

/* Is this tensor one of them, by its name, type and shape? */
bool wcodec_tables_has(const wcodec_encode_options *options, const struct wcodec_entry *what);

/* Each pattern must match at least one of `count` tensors, by its number: WCODEC_ERROR_USAGE. */
typedef struct wcodec_entry (*wcodec_tables_tensor_fn)(const void *opaque, uint64_t i);
wcodec_status wcodec_tables_check(const wcodec_encode_options *options,
                                  wcodec_tables_tensor_fn tensor, const void *opaque,
                                  uint64_t count, wcodec_error *err);

/* Settings of a file to those of such a table in it. */
void wcodec_tables_settings(struct wcodec_encode_settings *settings);

#endif
