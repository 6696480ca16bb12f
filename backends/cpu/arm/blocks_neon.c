/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The NEON level: reconstruction of blocks. */
#include "backends/cpu/arm/vec_neon.h"

#include "backends/cpu/restore.h"

void wcodec_cpu_blocks_dsp_init_neon(struct wcodec_cpu_blocks_dsp *dsp)
{
    *dsp = (struct wcodec_cpu_blocks_dsp){.level = 4, .restore = {restore_8, restore_16}};
}
