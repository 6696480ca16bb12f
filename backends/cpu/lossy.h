/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The CPU's own reconstruction of lossy tensors: neighbouring blocks are transformed side by side,
 * one in each 32-bit lane of a register. lib/coding/transform.c and lossy.c say what the result is,
 * and tests/checkdsp proves each level against them. */
#ifndef WCODEC_CPU_LOSSY_H
#define WCODEC_CPU_LOSSY_H

#include "coding/lossy.h"

/* Half a superblock: blocks, which are side by side, and coefficients. */
enum { WCODEC_CPU_HALF_BLOCKS = 32, WCODEC_CPU_HALF = WCODEC_SUPERBLOCK / 2 };

/* The elements that functions make. */
enum wcodec_cpu_number {
    WCODEC_CPU_TO_BF16,
    WCODEC_CPU_TO_F16,
    WCODEC_CPU_TO_F32,
    WCODEC_CPU_NUMBERS
};

/* Reconstruct the blocks of half a superblock from its 2048 coefficients, which are 8 rows of 256
 * elements: at least the first `count` of its 32 blocks, and at most all. order: enum wcodec_order;
 * modes: of each block; scales: of each row. The rows go to dst, `stride` bytes from one to the
 * next. */
typedef void (*wcodec_cpu_inverse_fn)(unsigned order, unsigned coefficient_log2,
                                      const uint8_t *coefficients, unsigned count,
                                      const uint8_t modes[WCODEC_CPU_HALF_BLOCKS],
                                      const float scales[WCODEC_TRANSFORM_SIDE], uint8_t *dst,
                                      size_t stride);

/* Elements of one scale in the order of their coefficients. */
typedef void (*wcodec_cpu_dequantise_fn)(unsigned coefficient_log2, const uint8_t *coefficients,
                                         size_t count, float scale, uint8_t *dst);

struct wcodec_cpu_lossy_dsp {
    unsigned level; /* number of the level: wcodec_cpu_level_name() */
    wcodec_cpu_inverse_fn inverse[WCODEC_CPU_NUMBERS];
    /* Stores past the caches, dst and stride being multiples of 64, and what makes such stores
     * visible as ordinary ones are. All NULL where a level has none. */
    wcodec_cpu_inverse_fn inverse_stream[WCODEC_CPU_NUMBERS];
    void (*stream_end)(void);
    wcodec_cpu_dequantise_fn dequantise[WCODEC_CPU_NUMBERS];
};

/* Fill in the best functions among the levels in mask (bits of enum wcodec_cpu_level, already
 * masked by what the machine has). */
void wcodec_cpu_lossy_dsp_init(struct wcodec_cpu_lossy_dsp *dsp, uint32_t levels);

/* The levels' own. */
void wcodec_cpu_lossy_dsp_init_scalar(struct wcodec_cpu_lossy_dsp *dsp);
void wcodec_cpu_lossy_dsp_init_sse41(struct wcodec_cpu_lossy_dsp *dsp);
void wcodec_cpu_lossy_dsp_init_avx2(struct wcodec_cpu_lossy_dsp *dsp);
void wcodec_cpu_lossy_dsp_init_avx512(struct wcodec_cpu_lossy_dsp *dsp);
void wcodec_cpu_lossy_dsp_init_neon(struct wcodec_cpu_lossy_dsp *dsp);

/* Reconstruct superblocks [first, end), or elements of a plain tensor, from their coefficients, and
 * put those of their bytes that are bytes [begin, end_byte) of the tensor where they belong in dst,
 * which starts with byte `begin`. side: modes and scales, checked. `stream`: the destination is
 * larger than the caches. Uses about 12 KiB of stack. */
void wcodec_cpu_restore_lossy(const struct wcodec_cpu_lossy_dsp *dsp,
                              const struct wcodec_lossy *lossy, const uint8_t *side, uint64_t first,
                              uint64_t end, const uint8_t *coefficients, uint64_t begin,
                              uint64_t end_byte, uint8_t *dst, bool stream);

#endif
