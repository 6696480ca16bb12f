/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Recurrent units with products of bfloat16, against sums in binary64. */
#ifndef WCODEC_TESTS_UNIT_SUPPORT_GRU_H
#define WCODEC_TESTS_UNIT_SUPPORT_GRU_H

#include "support.h"
#include <wcodec.h>

/* Each step of all sequences, from the hidden values that the step before has given, is within the
 * bound of WCODEC_GRU_PRODUCTS_BF16 of the unit's true one, and near that with factors rounded.
 * The first `plain` inputs and their weights are not rounded. Arrays are F32; output->values are
 * given. */
void support_gru_expect(const wcodec_gru_options *sizes, const wcodec_gru_arrays *arrays,
                        size_t plain, const wcodec_gru_input *input,
                        const wcodec_gru_output *output);

#endif
