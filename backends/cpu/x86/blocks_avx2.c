/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The AVX2 level: reconstruction of blocks. */
#include "backends/cpu/x86/vec256.h"

#include "backends/cpu/restore.h"

void wcodec_cpu_blocks_dsp_init_avx2(struct wcodec_cpu_blocks_dsp *dsp)
{
    *dsp = (struct wcodec_cpu_blocks_dsp){.level = 2, .restore = {restore_8, restore_16}};
}
