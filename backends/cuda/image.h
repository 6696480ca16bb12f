/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The built kernels are one of two things: a fatbin, in which the driver finds what fits, or PTX of
 * several architectures, the least first, one text after the other, each ended by a zero byte, and
 * a zero byte behind them all. */
#ifndef WCODEC_CUDA_IMAGE_H
#define WCODEC_CUDA_IMAGE_H

/* What is to be given to the driver for a device of compute capability `capability` (86 is 8.6):
 * the fatbin, or the text of the greatest architecture that is not above it. NULL if there is none.
 */
const void *wcodec_cuda_image(const void *kernels, int capability);

#endif
