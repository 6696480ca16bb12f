/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The AVX-512 level: products. */
#include "backends/cpu/x86/vec512.h"

#include "backends/cpu/multiply.h"

void wcodec_cpu_product_dsp_init_avx512(struct wcodec_cpu_product_dsp *dsp)
{
    *dsp = (struct wcodec_cpu_product_dsp){.level = 3, PRODUCT_FUNCTIONS};
}
