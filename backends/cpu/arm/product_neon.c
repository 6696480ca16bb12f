/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The NEON level: products. */
#include "backends/cpu/arm/vec_neon.h"

#include "backends/cpu/multiply.h"

void wcodec_cpu_product_dsp_init_neon(struct wcodec_cpu_product_dsp *dsp)
{
    *dsp = (struct wcodec_cpu_product_dsp){.level = 4, PRODUCT_FUNCTIONS};
}
