/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The SSE4.1 level: lossy tensors. */
#include "backends/cpu/x86/vec128.h"

#include "backends/cpu/inverse.h"
#include "backends/cpu/quantise.h"

void wcodec_cpu_lossy_dsp_init_sse41(struct wcodec_cpu_lossy_dsp *dsp)
{
    *dsp = (struct wcodec_cpu_lossy_dsp){.level = 1, INVERSE_FUNCTIONS, QUANTISE_FUNCTIONS};
}
