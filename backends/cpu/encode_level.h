/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The functions of an encoder's level in the form of the table, over rans_p12() and, of levels that
 * have vectors, the other stages. */
#ifndef WCODEC_CPU_ENCODE_LEVEL_H
#define WCODEC_CPU_ENCODE_LEVEL_H

#include "backends/cpu/encode.h"

static void rans_bytes(const struct wcodec_cpu_encode_table *table, const uint8_t *symbols,
                       unsigned groups, struct wcodec_cpu_encode_stream *stream)
{
    rans_p12(table, symbols, groups, 4, stream);
}

static void rans_pairs(const struct wcodec_cpu_encode_table *table, const uint8_t *symbols,
                       unsigned groups, struct wcodec_cpu_encode_stream *stream)
{
    rans_p12(table, symbols, groups, 2, stream);
}

#ifdef VEC_BYTES
INLINE void use_vectors(struct wcodec_cpu_encode_dsp *dsp)
{
    dsp->compresses = true;
    dsp->extract = extract;
    dsp->choose[WCODEC_P8] = choose_values;
    dsp->choose[WCODEC_PAIRS] = choose_pairs;
    dsp->rans[WCODEC_P8] = rans_p8;
    dsp->rans[WCODEC_P12] = rans_bytes;
    dsp->rans[WCODEC_PAIRS] = rans_pairs;
    dsp->pack = pack;
}
#endif

#endif
