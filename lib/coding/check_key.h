/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Constants of the tile check (doc/format.md 2.6): for C, CUDA and OpenCL C. */
#ifndef WCODEC_CODING_CHECK_KEY_H
#define WCODEC_CODING_CHECK_KEY_H

/* Word j of a lane counts k(j) times. */
#define WCODEC_CHECK_FIRST 0x4CF5AD43u
#define WCODEC_CHECK_STEP 81006u
#define WCODEC_CHECK_KEY(j) (WCODEC_CHECK_FIRST + WCODEC_CHECK_STEP * (uint32_t)(j))

/* The halves of a lane's sum and its number, before they are mixed. */
#define WCODEC_CHECK_LOW 0x9E3779B1u
#define WCODEC_CHECK_HIGH 0x85EBCA77u
#define WCODEC_CHECK_LANE 0xC2B2AE3Du
#define WCODEC_CHECK_MIX1 0x7FEB352Du
#define WCODEC_CHECK_MIX2 0x846CA68Bu

#endif
