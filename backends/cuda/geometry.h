/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* How the fast kernels use shared memory: known to them and to the host. */
#ifndef WCODEC_CUDA_GEOMETRY_H
#define WCODEC_CUDA_GEOMETRY_H

#include "backends/common/jobs.h"

/* Most work-groups of a kernel that a multiprocessor is given. */
#define WCODEC_CUDA_BLOCKS 2

/* Tiles are decoded in blocks of groups, in which a lane takes at most eight words. */
#define WCODEC_CUDA_GROUPS(shape) ((shape) == WCODEC_SHAPE_8_0 ? 2 : 4)

/* Rows of 128 bytes of raw bits that a block has, of all planes. */
#define WCODEC_CUDA_ROWS(shape) \
    ((shape) == WCODEC_SHAPE_8_0 ? 0 : (shape) == WCODEC_SHAPE_8_4 || (shape) == WCODEC_SHAPE_8_31 ? 2 : (shape) == WCODEC_SHAPE_32_24 ? 12 : (shape) == WCODEC_SHAPE_16_11 ? 6 : 4)

/* Whether tables of pairs hold output bits ready, in entries of eight bytes: fewer instructions, but more of the shared memory's time. What is faster was
 * measured for each shape (bench/gpu/README.md). */
#define WCODEC_CUDA_WIDE(shape) ((shape) != WCODEC_SHAPE_16_8 && (shape) != WCODEC_SHAPE_8_0)

/* A warp's room: a ring of words, in slots of what a block can take, and the first slot again behind the last, so that a lane's address needs no mask; two
 * slots for raw bits. */
#define WCODEC_CUDA_SLOT 512
#define WCODEC_CUDA_SLOTS 3
#define WCODEC_CUDA_ROOM(shape) ((WCODEC_CUDA_SLOTS + 1) * WCODEC_CUDA_SLOT + 2 * WCODEC_CUDA_ROWS(shape) * 128)

#endif
