/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The encoder's SSE4.1 level. */
#include "backends/cpu/x86/vec128.h"

#include "backends/cpu/x86/encode_x86.h"

#include "backends/cpu/encode_one_part.h"
#include "backends/cpu/encode_vectors.h"

void wcodec_cpu_encode_dsp_init_sse41(struct wcodec_cpu_encode_dsp *dsp)
{
    dsp->level = 1;
    use_vectors(dsp);
}
