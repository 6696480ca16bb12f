/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The CPU's own reconstruction of tensors in blocks: blocks of one mode are taken side by side.
 * lib/coding/predict.c says what the result is, and tests/checkdsp proves each level against it. */
#ifndef WCODEC_CPU_BLOCKS_H
#define WCODEC_CPU_BLOCKS_H

#include "coding/blocks.h"

enum {
    WCODEC_CPU_BLOCKS = 256, /* most blocks of a call */
    WCODEC_CPU_BLOCKS_STEP = 64
};

/* Reconstruct `count` blocks (1 to WCODEC_CPU_BLOCKS) of one mode: the 256 residuals of block i are
 * at residuals[i], its 16 rows go to out[i], `stride` bytes from one to the next. Up to the next
 * multiple of WCODEC_CPU_BLOCKS_STEP the last block comes again, to be done more than once. No
 * alignment is needed. */
typedef void (*wcodec_cpu_restore_fn)(unsigned mode, const uint8_t *const *residuals,
                                      uint8_t *const *out, size_t stride, unsigned count);

struct wcodec_cpu_blocks_dsp {
    unsigned level;                   /* number of the level: wcodec_cpu_level_name() */
    wcodec_cpu_restore_fn restore[2]; /* by element_log2 */
};

/* Fill in the best functions among the levels in mask (bits of enum wcodec_cpu_level, already
 * masked by what the machine has). */
void wcodec_cpu_blocks_dsp_init(struct wcodec_cpu_blocks_dsp *dsp, uint32_t levels);

/* The levels' own. */
void wcodec_cpu_blocks_dsp_init_scalar(struct wcodec_cpu_blocks_dsp *dsp);
void wcodec_cpu_blocks_dsp_init_sse41(struct wcodec_cpu_blocks_dsp *dsp);
void wcodec_cpu_blocks_dsp_init_avx2(struct wcodec_cpu_blocks_dsp *dsp);
void wcodec_cpu_blocks_dsp_init_avx512(struct wcodec_cpu_blocks_dsp *dsp);
void wcodec_cpu_blocks_dsp_init_neon(struct wcodec_cpu_blocks_dsp *dsp);

/* Reconstruct blocks [first, end), any number, from their residuals, and put those of their
 * elements that are bytes [begin, end_byte) of the tensor where they belong in dst, which starts
 * with byte `begin`. packed: the modes, checked. Uses about 24 KiB of stack. */
void wcodec_cpu_restore_blocks(const struct wcodec_cpu_blocks_dsp *dsp,
                               const struct wcodec_blocks *blocks, const uint8_t *packed,
                               uint64_t first, uint64_t end, const uint8_t *residuals,
                               uint64_t begin, uint64_t end_byte, uint8_t *dst);

#endif
