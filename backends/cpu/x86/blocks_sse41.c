/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The SSE4.1 level: reconstruction of blocks. */
#include "backends/cpu/x86/vec128.h"

#include "backends/cpu/restore.h"

void wcodec_cpu_blocks_dsp_init_sse41(struct wcodec_cpu_blocks_dsp *dsp)
{
    *dsp = (struct wcodec_cpu_blocks_dsp){.level = 1, .restore = {restore_8, restore_16}};
}
