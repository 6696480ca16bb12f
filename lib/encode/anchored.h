/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Tables of vectors, as embeddings are, that are coded with loss: by anchors, where that is
 * smaller at the same error. */
#ifndef WCODEC_ENCODE_ANCHORED_H
#define WCODEC_ENCODE_ANCHORED_H

#include "encode/encode.h"

/* Anchors for the rows of a matrix of whole numbers. */
struct wcodec_anchors {
    const wcodec_allocator *allocator;
    size_t rows, columns;
    size_t width;    /* of an anchor: columns up to a multiple of WCODEC_NEAREST_GROUP */
    size_t count;    /* of anchors */
    float *anchors;  /* count x width: whole numbers, each between those of some rows */
    uint32_t *index; /* of each row: its nearest anchor */
};

/* `count` anchors, at most `rows`, of rows of `columns` numbers of 2^log2 bytes: means of rows, by
 * some iterations over a sample. They depend on the numbers alone. WCODEC_ERROR_MEMORY,
 * _CANCELLED. */
wcodec_status wcodec_anchors_find(wcodec_context *context, struct wcodec_cancel *cancel,
                                  const uint8_t *numbers, unsigned log2, size_t rows,
                                  size_t columns, size_t count, struct wcodec_anchors *anchors,
                                  wcodec_error *err);
void wcodec_anchors_free(struct wcodec_anchors *anchors);

/* Why a tensor cannot be coded by so many anchors (0: by as many as suit its rows), as far as type
 * and shape tell: "it ..."; NULL: it can. */
const char *wcodec_anchored_refuses(wcodec_dtype dtype, const uint64_t *shape, unsigned rank,
                                    uint64_t anchors);

/* Has a tensor of that shape, which is not refused, many more rows than columns, as tables have and
 * weights have not? */
bool wcodec_anchored_suits(const uint64_t *shape);

/* Anchors in place of what wcodec_lossy_code() has made, where they are smaller by enough, or where
 * settings->anchored asks for them. *saved: so many bytes, which may be negative then; 0: they are
 * not. *reason is set where they are asked for and cannot be; `coded` is then as it was.
 * WCODEC_ERROR_MEMORY, _CANCELLED, _DEVICE. */
wcodec_status wcodec_anchored_replace(wcodec_context *context,
                                      const struct wcodec_encode_settings *settings,
                                      struct wcodec_coded *coded, int64_t *saved,
                                      const char **reason, wcodec_error *err);

/* wcodec_lossy_code(), and then by anchors where that is smaller by one part in 64 at least; a
 * table that was asked for (settings->anchored) in any case, by as many as settings->tables say, in
 * the bits that are the target, or else with the lowest SNR that reaches their recall. Where the
 * target is bits, what is saved goes into less error. */
wcodec_status wcodec_anchored_code(wcodec_context *context,
                                   const struct wcodec_encode_settings *settings,
                                   wcodec_dtype dtype, const uint8_t *data, uint64_t size,
                                   struct wcodec_coded *coded, const char **reason,
                                   wcodec_error *err);

#endif
