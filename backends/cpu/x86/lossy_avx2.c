/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The AVX2 level: lossy tensors. */
#include "backends/cpu/x86/vec256.h"

#include "backends/cpu/inverse.h"
#include "backends/cpu/quantise.h"

void wcodec_cpu_lossy_dsp_init_avx2(struct wcodec_cpu_lossy_dsp *dsp)
{
    *dsp = (struct wcodec_cpu_lossy_dsp){.level = 2, INVERSE_FUNCTIONS, QUANTISE_FUNCTIONS};
}
