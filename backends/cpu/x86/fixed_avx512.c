/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The AVX-512 level: tiles at a fixed rate. */
#include "backends/cpu/x86/vec512.h"

#include "backends/cpu/expand_fixed.h"

void wcodec_cpu_fixed_dsp_init_avx512(struct wcodec_cpu_fixed_dsp *dsp)
{
    *dsp = (struct wcodec_cpu_fixed_dsp){.level = 3, EXPAND_FUNCTIONS};
}
