/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The AVX2 level: tiles at a fixed rate. */
#include "backends/cpu/x86/vec256.h"

#include "backends/cpu/expand_fixed.h"

void wcodec_cpu_fixed_dsp_init_avx2(struct wcodec_cpu_fixed_dsp *dsp)
{
    *dsp = (struct wcodec_cpu_fixed_dsp){.level = 2, EXPAND_FUNCTIONS};
}
