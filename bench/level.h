/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Contexts of a CPU level, for programs that measure them one by one. */
#ifndef WCODEC_BENCH_LEVEL_H
#define WCODEC_BENCH_LEVEL_H

#include "backends/cpu/cpu_level.h"
#include "bench/program.h"

/* One thread, the levels up to `level`. */
static inline wcodec_context *open_context_of(unsigned level)
{
    char mask[64] = "";
    for (unsigned i = 0; i <= level && wcodec_cpu_level_name(i); i++)
        strcat(strcat(mask, i ? "," : ""), wcodec_cpu_level_name(i));
    setenv("WCODEC_CPU_MASK", mask, 1);
    return open_context(1);
}

#endif
