/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The SSE4.1 level: tiles at a fixed rate. */
#include "backends/cpu/x86/vec128.h"

#include "backends/cpu/expand_fixed.h"

void wcodec_cpu_fixed_dsp_init_sse41(struct wcodec_cpu_fixed_dsp *dsp)
{
    *dsp = (struct wcodec_cpu_fixed_dsp){.level = 1, EXPAND_FUNCTIONS};
}
