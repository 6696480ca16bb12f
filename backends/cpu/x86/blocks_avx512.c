/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The AVX-512 level: reconstruction of blocks. */
#include "backends/cpu/x86/vec512.h"

#include "backends/cpu/restore.h"

void wcodec_cpu_blocks_dsp_init_avx512(struct wcodec_cpu_blocks_dsp *dsp)
{
    *dsp = (struct wcodec_cpu_blocks_dsp){.level = 3, .restore = {restore_8, restore_16}};
}
