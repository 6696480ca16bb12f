/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Forward transforms of 8 x 8 blocks, orthonormal, to the inverses of coding/transform.h. Those are
 * exact by definition; these need only be near, so they are floating point, in an order of
 * operations that is the same on every machine. */
#ifndef WCODEC_ENCODE_LOSSY_TRANSFORM_H
#define WCODEC_ENCODE_LOSSY_TRANSFORM_H

#include "coding/transform.h"

/* Values to coefficients, both row by row; row of a coefficient: its vertical frequency. Values in
 * units of the quantiser's step give coefficients in those units. WCODEC_TRANSFORM_NONE copies. */
void wcodec_transform_forward(unsigned transform, const float values[WCODEC_TRANSFORM_BLOCK],
                              float coefficients[WCODEC_TRANSFORM_BLOCK]);

#endif
