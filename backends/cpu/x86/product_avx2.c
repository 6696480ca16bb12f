/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The AVX2 level: products. */
#include "backends/cpu/x86/vec256.h"

#include "backends/cpu/multiply.h"

void wcodec_cpu_product_dsp_init_avx2(struct wcodec_cpu_product_dsp *dsp)
{
    *dsp = (struct wcodec_cpu_product_dsp){.level = 2, PRODUCT_FUNCTIONS};
}
