/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* How elements may be cut into fields. */
#ifndef WCODEC_ENCODE_SPLIT_H
#define WCODEC_ENCODE_SPLIT_H

#include "coding/tiling.h"
#include "encode/survey.h"

/* A field list with what order-0 coding of it would take. Profiles, pools and runs of its fields
 * are not chosen yet. */
struct wcodec_split {
    uint64_t add;
    uint8_t field_count;
    struct wcodec_field fields[WCODEC_MAX_FIELDS];
    uint64_t order0_bits; /* entropies of the coded fields and all raw bits, whole tensor */
    uint64_t estimate;    /* the same with tables and states */
    bool constant_above;  /* the second coded field is zero in every tile, but for outliers */
};

enum {
    WCODEC_MAX_SPLITS = 8,
    /* What a coded field costs a tile beside its words: a descriptor, and the bits that 32 states
       are wide of the mark. */
    WCODEC_STREAM_BITS = 64 + 8 * 32,
    /* What more it costs where nothing rides in the start states: all fields but the lowest, and
       that with less than four raw bits. */
    WCODEC_NO_PAYLOAD_BITS = 16 * 32
};

/* Candidates for a surveyed tensor whose elements are not all equal, the dtype's natural one first;
 * returns their number, at least 1. `level` 1 and 2 give one. residuals: with one to three raw bits
 * below what is coded, zero in its middle. *order0_bits: least bits of an order-0 coder over the
 * candidates and the dtype's natural split. */
unsigned wcodec_split_candidates(const struct wcodec_survey *survey, wcodec_dtype dtype,
                                 bool residuals, int level,
                                 struct wcodec_split splits[WCODEC_MAX_SPLITS],
                                 uint64_t *order0_bits);

#endif
