/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The encoder's AVX2 level. */
#include "backends/cpu/encode.h"

#include <immintrin.h>

void wcodec_cpu_encode_dsp_init_avx2(struct wcodec_cpu_encode_dsp *dsp)
{
    dsp->level = 2;
}
