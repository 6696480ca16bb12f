/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Coding a tensor by its difference from one of another file. */
#ifndef WCODEC_ENCODE_DELTA_H
#define WCODEC_ENCODE_DELTA_H

#include "coding/delta.h"
#include "coding/patch.h"
#include "encode/encode.h"

/* What a tensor is a delta of. */
struct wcodec_delta_base {
    uint8_t hash[16]; /* canonical, of the original of the file that has it */
    uint64_t size;    /* of that original */
    const uint8_t *bytes;
};

/* Code `size` bytes at data, of which the base has as many: as a delta, or alone where that takes
 * no more bytes. Takes at most about four times `size` beside data and base. As
 * wcodec_encode_tensor() otherwise; what is coded as a delta has been verified where the settings
 * ask for that. */
wcodec_status wcodec_delta_code(wcodec_context *context,
                                const struct wcodec_encode_settings *settings, wcodec_dtype dtype,
                                const void *data, uint64_t size,
                                const struct wcodec_delta_base *base, struct wcodec_coded *coded,
                                wcodec_error *err);

/* Streams of sparse tiles, one after the other, and sizes and checks of each tile's: a tile that is
 * as before has a size of 0. */
struct wcodec_delta_streams {
    struct wcodec_coded_tile *tiles; /* zeros; of each tile of the tensor */
    uint64_t size;
    const uint8_t *bytes;
    struct wcodec_coded_loan loan; /* of the bytes */
};

/* The same where somebody else has compared it with the base, which has no bytes here, by tiles of
 * wcodec_delta_tile_log2(), and codes what differs. */
struct wcodec_delta_found {
    struct wcodec_delta_counts counts[2]; /* by zigzag numbers, and by XOR; zeros: all is equal */
    /* Of each tile: elements that differ, few enough and none if `counts` has none, and
     * wcodec_delta_result(). Where anything does they are there when code() has been called. */
    const uint32_t *changed;
    const uint32_t *results;
    void *opaque;
    /* By these codes, `bits` in all, to which each tile may add up to 7; what decoders make of it
     * is proven if `verify`. On failure there is no loan. */
    wcodec_status (*code)(void *opaque, const struct wcodec_delta_code *gaps,
                          const struct wcodec_delta_code *values, bool xor_values, uint64_t bits,
                          bool verify, struct wcodec_delta_streams *streams, wcodec_error *err);
};

/* What tiles a tensor of so many elements has; is one of `count` sparse in any case where so many
 * differ; and how many may differ in a whole one, then. */
unsigned wcodec_delta_tile_log2(const struct wcodec_encode_settings *settings, uint64_t elements);
bool wcodec_delta_is_sparse(uint64_t count, uint64_t changed);
uint32_t wcodec_delta_most_changed(unsigned tile_log2);

/* *done: `coded` is set; false: it may be smaller without the base, which takes its elements. */
wcodec_status wcodec_delta_code_found(wcodec_context *context,
                                      const struct wcodec_encode_settings *settings,
                                      wcodec_dtype dtype, uint64_t size,
                                      const struct wcodec_delta_base *base,
                                      const struct wcodec_delta_found *found,
                                      struct wcodec_coded *coded, bool *done, wcodec_error *err);

#endif
