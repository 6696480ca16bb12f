/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The NEON level: tiles at a fixed rate. */
#include "backends/cpu/arm/vec_neon.h"

#include "backends/cpu/expand_fixed.h"

void wcodec_cpu_fixed_dsp_init_neon(struct wcodec_cpu_fixed_dsp *dsp)
{
    *dsp = (struct wcodec_cpu_fixed_dsp){.level = 4, EXPAND_FUNCTIONS};
}
