/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* A first look at a tensor: which bits vary, and how often each value of its natural fields occurs.
 */
#ifndef WCODEC_ENCODE_SURVEY_H
#define WCODEC_ENCODE_SURVEY_H

#include "core/context.h"

enum { WCODEC_MAX_ATOMS = 10 };

enum wcodec_atom_use {
    WCODEC_ATOM_RAW,     /* not worth counting */
    WCODEC_ATOM_SAMPLED, /* as a rule raw: counted on some blocks, to see the exceptions */
    WCODEC_ATOM_COUNTED  /* as a rule coded */
};

/* A natural field of a dtype: an exponent, a byte of an integer. */
struct wcodec_atom {
    uint8_t shift;
    uint8_t width;
    uint8_t use;
};

struct wcodec_survey {
    unsigned element_log2;
    uint64_t elements;
    uint64_t any; /* bits set in at least one element */
    uint64_t all; /* bits set in every one */
    unsigned atom_count;
    struct wcodec_atom atoms[WCODEC_MAX_ATOMS]; /* low bits first, all bits of the element */
    uint64_t counts[WCODEC_MAX_ATOMS][256];
};

/* Look at `size` bytes at data (size a multiple of the element's bytes, not 0). With `sampled`, all
 * atoms are counted on some blocks only. WCODEC_ERROR_MEMORY. */
wcodec_status wcodec_survey_tensor(wcodec_context *context, wcodec_dtype dtype, const uint8_t *data,
                                   uint64_t size, bool sampled, struct wcodec_survey *survey,
                                   wcodec_error *err);

#endif
