/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The NEON level: lossy tensors. */
#include "backends/cpu/arm/vec_neon.h"

#include "backends/cpu/inverse.h"
#include "backends/cpu/quantise.h"

void wcodec_cpu_lossy_dsp_init_neon(struct wcodec_cpu_lossy_dsp *dsp)
{
    *dsp = (struct wcodec_cpu_lossy_dsp){.level = 4, INVERSE_FUNCTIONS, QUANTISE_FUNCTIONS};
}
