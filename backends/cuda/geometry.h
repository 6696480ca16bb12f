/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* How the fast kernels use shared memory: known to them and to the host. */
#ifndef WCODEC_CUDA_GEOMETRY_H
#define WCODEC_CUDA_GEOMETRY_H

#include "backends/kernels/few_step.h"
#include "backends/kernels/jobs.h"

/* Most work-groups of a kernel that a multiprocessor is given. */
#define WCODEC_CUDA_BLOCKS 2

/* Bytes before everything else: the part that the work-group is at. */
#define WCODEC_CUDA_HEAD 32
/* Of kernels that make elements of blocks of the residuals (fused.cuh): 8_4 in smaller blocks of
 * groups, 8_0, bytes of which the lowest one to three bits are raw, and 8_0 by P8 in larger ones,
 * since that takes half as many words. Each warp has a stage. */
#define WCODEC_SHAPE_8_4_FUSED 7
#define WCODEC_SHAPE_8_0_FUSED 8
#define WCODEC_SHAPE_8_1_FUSED 9
#define WCODEC_SHAPE_8_2_FUSED 10
#define WCODEC_SHAPE_8_3_FUSED 11
#define WCODEC_SHAPE_8_0_P8_FUSED 12
#define WCODEC_CUDA_STAGE(shape) ((shape) >= WCODEC_SHAPE_8_4_FUSED ? 2256u : 0u)

/* Bytes of which four bits are coded. */
#define WCODEC_CUDA_NIBBLES(shape) ((shape) == WCODEC_SHAPE_8_4 || (shape) == WCODEC_SHAPE_8_31)

/* Tiles are decoded in blocks of groups, in which a lane takes at most 8 words, or 16 of bytes:
 * what a block costs besides is dear for those. */
#define WCODEC_CUDA_GROUPS(shape) \
    ((shape) == WCODEC_SHAPE_8_0_FUSED ? 2u : WCODEC_CUDA_NIBBLES(shape) ? 8u : 4u)

/* Groups behind which outliers are patched: their elements must still be in the cache, but each
 * time is waited for. */
#ifndef WCODEC_CUDA_PATCH
#define WCODEC_CUDA_PATCH 32u
#endif

/* Rows of 128 bytes of raw bits that a block has, of all planes. */
#define WCODEC_CUDA_ROWS(shape) \
    ((shape) == WCODEC_SHAPE_8_0 || (shape) == WCODEC_SHAPE_8_0_FUSED || \
             (shape) == WCODEC_SHAPE_8_0_P8_FUSED \
         ? 0u \
     : (shape) == WCODEC_SHAPE_8_1_FUSED || (shape) == WCODEC_SHAPE_8_2_FUSED ? 1u \
     : (shape) == WCODEC_SHAPE_8_3_FUSED                                      ? 2u \
     : WCODEC_CUDA_NIBBLES(shape) || (shape) == WCODEC_SHAPE_8_4_FUSED \
         ? WCODEC_CUDA_GROUPS(shape) / 2 \
     : (shape) == WCODEC_SHAPE_32_24 ? 12u \
     : (shape) == WCODEC_SHAPE_16_11 ? 6u \
                                     : WCODEC_CUDA_GROUPS(shape))

/* Whether tables of pairs hold output bits ready, in entries of eight bytes: fewer instructions,
 * but more of the shared memory's time. What is faster was measured for each shape
 * (bench/gpu/README.md). */
#define WCODEC_CUDA_WIDE(shape) ((shape) == WCODEC_SHAPE_16_11 || (shape) == WCODEC_SHAPE_32_24)

/* What a warp of the fused kernels of lossy tensors has besides: descriptors; of blocks tables of a
 * tile's groups; coefficients of some groups, in blocks of half a superblock; and their raw bits,
 * of so many bytes of an element. Of 16-bit coefficients in blocks it has two rooms, and both bytes
 * of these. */
#define WCODEC_CUDA_LOSSY_HEAD 672u
#define WCODEC_CUDA_LOSSY_EXTRA(wide, blocks, groups, raw) \
    (WCODEC_CUDA_LOSSY_HEAD + ((wide) + 1) * (((blocks) ? 512u : 0u) + (groups)*128u) + \
     (raw) * (groups)*64u)

/* A warp's room: a ring of words, in slots of what a block can take, and the first slot again
 * behind the last, so that a lane's address needs no mask; two slots for raw bits. */
#define WCODEC_CUDA_SLOT(shape) \
    (WCODEC_CUDA_GROUPS(shape) == 8u || (shape) == WCODEC_SHAPE_8_0 ? 1024u : 512u)
#define WCODEC_CUDA_SLOTS 3
#define WCODEC_CUDA_STREAMS(shape) \
    ((WCODEC_CUDA_SLOTS + 1) * WCODEC_CUDA_SLOT(shape) + 2 * WCODEC_CUDA_ROWS(shape) * 128)
#define WCODEC_CUDA_ROOM(shape) (WCODEC_CUDA_STREAMS(shape) + WCODEC_CUDA_STAGE(shape))
#define WCODEC_CUDA_LOSSY_ROOM WCODEC_CUDA_STREAMS(WCODEC_SHAPE_8_0_FUSED) /* of each stream */

/* Kernels for few tiles keep of a tile all words, what each does to a state, and its raw bits (so
 * many bytes a group, at most). */
#define WCODEC_CUDA_FEW_RAW(shape) (WCODEC_CUDA_ROWS(shape) * 128u / WCODEC_CUDA_GROUPS(shape))
#define WCODEC_CUDA_FEW_TILES 8
#define WCODEC_CUDA_FEW_TABLES(p8) \
    ((p8) ? 1024u : 1024u + 16384u) /* of pairs: symbols, and entries */
#define WCODEC_CUDA_FEW_ROOM(shape, words, groups) \
    (14 * ((words) + WCODEC_FEW_SPARE) + (groups)*WCODEC_CUDA_FEW_RAW(shape))

#endif
