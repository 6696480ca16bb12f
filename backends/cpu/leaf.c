/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "backends/cpu/leaf.h"
#include "backends/cpu/cpu_level.h"

wcodec_leaf_fn wcodec_cpu_leaf(uint32_t levels)
{
#ifdef HAVE_AVX512
    if ((levels & WCODEC_CPU_AVX512) != 0)
        return wcodec_cpu_leaf_avx512;
#endif
#ifdef HAVE_AVX2
    if ((levels & WCODEC_CPU_AVX2) != 0)
        return wcodec_cpu_leaf_avx2;
#endif
    (void)levels;
    return wcodec_leaf_plain;
}
