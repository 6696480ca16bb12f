/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The CPU's own decoder of tiles at a fixed rate: vectors for what all elements have in common, the
 * reference for outliers. lib/coding/fixed.c says what the result is, and tests/checkdsp proves
 * each level against it. */
#ifndef WCODEC_CPU_FIXED_H
#define WCODEC_CPU_FIXED_H

#include "backends/cpu/decode.h"
#include "coding/fixed.h"

/* All elements of a tile as their indices say: 16 rows of 128, `stride` bytes from one to the next.
 * add: 128 times each row's shift; mask: bits that are kept of the sum. */
typedef void (*wcodec_cpu_fixed_expand_fn)(const uint8_t *record, const uint16_t *add,
                                           const uint16_t *mask, uint8_t *out, size_t stride);

struct wcodec_cpu_fixed_dsp {
    unsigned level;                       /* number of the level */
    wcodec_cpu_fixed_expand_fn expand[2]; /* by bits of an index, less 2 */
    wcodec_cpu_finish_fn finish;          /* of the tiles' decoder: for the check's sums */
};

/* The best functions among the levels in mask (bits of enum wcodec_cpu_level, already masked by
 * what the machine has). */
void wcodec_cpu_fixed_dsp_init(struct wcodec_cpu_fixed_dsp *dsp, uint32_t levels);

/* The levels. */
void wcodec_cpu_fixed_dsp_init_scalar(struct wcodec_cpu_fixed_dsp *dsp);
void wcodec_cpu_fixed_dsp_init_sse41(struct wcodec_cpu_fixed_dsp *dsp);
void wcodec_cpu_fixed_dsp_init_avx2(struct wcodec_cpu_fixed_dsp *dsp);
void wcodec_cpu_fixed_dsp_init_avx512(struct wcodec_cpu_fixed_dsp *dsp);
void wcodec_cpu_fixed_dsp_init_neon(struct wcodec_cpu_fixed_dsp *dsp);

/* What tiles are decoded from, and to: bytes [begin, end) of the tensor, at dst. */
struct wcodec_cpu_fixed_job {
    const struct wcodec_cpu_fixed_dsp *dsp;
    const struct wcodec_fixed *fixed;
    const uint8_t *shifts;  /* of all rows */
    const uint8_t *spilled; /* those of these numbers are there */
    uint64_t spilled_first, spilled_end;
    bool verify;
    uint64_t begin, end;
    uint8_t *dst;
};

/* Decode one tile, as far as it has wanted bytes. What it is decoded from is in bounds, whatever it
 * is. */
enum wcodec_tile_fault wcodec_cpu_fixed_decode(const struct wcodec_cpu_fixed_job *job,
                                               uint64_t tile, const uint8_t *record,
                                               uint32_t check);

/* Decode one tile as if it were the tensor, whatever bytes the job wants and where: its elements
 * that are no padding go to `out`, row after row without those beside it. */
enum wcodec_tile_fault wcodec_cpu_fixed_decode_alone(const struct wcodec_cpu_fixed_job *job,
                                                     uint64_t tile, const uint8_t *record,
                                                     uint32_t check, uint8_t *out);

#endif
