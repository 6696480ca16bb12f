/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Choosing profile, tables and runs of one coded field, by counted cost on a sample. */
#ifndef WCODEC_ENCODE_FIELD_CHOICE_H
#define WCODEC_ENCODE_FIELD_CHOICE_H

#include "encode/cluster.h"
#include "encode/tensor.h"

/* What is known of a field and its tensor. */
struct wcodec_field_facts {
    uint8_t width;
    uint8_t raw_bits;             /* of an element */
    bool by_value;                /* see wcodec_cluster_options */
    struct wcodec_symbols values; /* the sample; pieces are tiles */
    const uint64_t *counts;       /* of the sample's values */
    uint8_t *pairs;               /* room for half as many symbols */
    uint64_t elements;            /* of the tensor */
    uint64_t tiles;
    uint64_t other_bits; /* of the tensor, beside this field */
};

struct wcodec_field_choice {
    uint8_t profile;
    uint8_t run_log2;
    unsigned count;
    struct wcodec_table tables[WCODEC_POOL_MAX];
    uint64_t
        bits; /* of the whole tensor: words, outliers, tables and run indices (times WCODEC_BIT) */
};

/* The least costly, with the preferences that decoding speed asks for: P8 if it is within 0.3 % of
 * the tensor's size and 8 or more raw bits go with the symbol (not for latency), else pairs if they
 * are; several tables or runs only where they save enough. Of coefficients in bands, P8 with runs
 * of 128 if it is within 2 %; of those in their order, P12, or pairs of up to four bits, within 1
 * %; of whole bytes of residuals P8 if it is within 1.5 %. WCODEC_ERROR_MEMORY. */
wcodec_status wcodec_field_choose(const wcodec_allocator *allocator,
                                  const struct wcodec_encode_settings *settings,
                                  const struct wcodec_field_facts *facts,
                                  struct wcodec_field_choice *choice, wcodec_error *err);

/* The window of 16 values that holds most of the counted ones: its base, and where each value is
 * coded: values outside at the most frequent one's place. Returns how many are outside. */
uint64_t wcodec_pairs_window(const uint64_t counts[256], unsigned width, uint8_t *base,
                             uint8_t nibble[256]);

/* Values, in place, as the pairs that a table with this base codes, values outside of its window at
 * the nearest end; the last of an odd number is paired with itself. Returns the number of pairs. */
uint32_t wcodec_pairs_symbols(uint8_t *values, uint32_t count, unsigned base);

#endif
