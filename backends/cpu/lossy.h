/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The CPU's own reconstruction of lossy tensors, and what takes their encoder's time: neighbouring
 * blocks are transformed side by side, one in each 32-bit lane of a register.
 * lib/coding/transform.c and lossy.c say what the result is, and tests/checkdsp proves each level
 * against them. */
#ifndef WCODEC_CPU_LOSSY_H
#define WCODEC_CPU_LOSSY_H

#include "coding/lossy.h"

#include <string.h>

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

/* The encoder's side. Coefficients are in units of the quantiser's step here, and have a class
 * each; tables say for every class what depends on a magnitude: 16 entries of one, then four an
 * octave. */
enum { WCODEC_CPU_SINGLE = 16, WCODEC_CPU_ENTRIES = 64, WCODEC_CPU_COEFFICIENT_MAX = 32767 };

struct wcodec_cpu_rounding {
    const float *margin; /* what a value must have beyond the middle between a magnitude and the one
                            below, or it gets that; -1: it never does, as of magnitude 0 */
    const float *bits;   /* of a magnitude and its sign */
    uint32_t rows[WCODEC_TRANSFORM_BLOCK]; /* the first entry of each coefficient's class */
};

/* The entries of magnitudes. Octave and quarter are the exponent and the first bits of binary32;
 * each step by itself, so that compilers make vectors of it. */
static inline void wcodec_cpu_entries(const struct wcodec_cpu_rounding *rounding,
                                      const int32_t magnitudes[WCODEC_TRANSFORM_BLOCK],
                                      uint32_t entries[WCODEC_TRANSFORM_BLOCK])
{
    float numbers[WCODEC_TRANSFORM_BLOCK];
    uint32_t bits[WCODEC_TRANSFORM_BLOCK];
    for (unsigned k = 0; k < WCODEC_TRANSFORM_BLOCK; k++)
        numbers[k] = (float)magnitudes[k];
    memcpy(bits, numbers, sizeof bits);
    for (unsigned k = 0; k < WCODEC_TRANSFORM_BLOCK; k++)
        entries[k] =
            rounding->rows[k] + (magnitudes[k] < WCODEC_CPU_SINGLE ? (uint32_t)magnitudes[k]
                                                                   : (bits[k] >> 21) - 4 * 127);
}

struct wcodec_cpu_quantised {
    int16_t coefficients[WCODEC_TRANSFORM_BLOCK];
    float bits;       /* 0 where they were not to be counted */
    float distortion; /* in squared steps */
    float energy;     /* of the coefficients, squared; 0 where all are small */
};

/* Forward transforms, orthonormal, to the inverses of coding/transform.h: row by row, the row of a
 * coefficient being its vertical frequency. The inverses are exact by definition; these need only
 * be near. */
typedef void (*wcodec_cpu_forward_fn)(const float values[WCODEC_TRANSFORM_BLOCK],
                                      float coefficients[WCODEC_TRANSFORM_BLOCK]);

/* Values times `inverse`, which makes them steps, rounded to the nearest magnitude or the one
 * below. */
typedef void (*wcodec_cpu_quantise_fn)(const struct wcodec_cpu_rounding *rounding, bool count,
                                       const float values[WCODEC_TRANSFORM_BLOCK], float inverse,
                                       struct wcodec_cpu_quantised *q);

struct wcodec_cpu_lossy_dsp {
    unsigned level; /* number of the level: wcodec_cpu_level_name() */
    wcodec_cpu_inverse_fn inverse[WCODEC_CPU_NUMBERS];
    /* Stores past the caches, dst and stride being multiples of 64, and what makes such stores
     * visible as ordinary ones are. All NULL where a level has none. */
    wcodec_cpu_inverse_fn inverse_stream[WCODEC_CPU_NUMBERS];
    void (*stream_end)(void);
    wcodec_cpu_dequantise_fn dequantise[WCODEC_CPU_NUMBERS];
    wcodec_cpu_forward_fn forward[WCODEC_TRANSFORMS]; /* of mode none: NULL */
    wcodec_cpu_quantise_fn quantise;
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
