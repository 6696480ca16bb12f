/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Levels of the CPU's instruction set for which there may be code. */
#ifndef WCODEC_CPU_LEVEL_H
#define WCODEC_CPU_LEVEL_H

#include <stddef.h>
#include <stdint.h>

/* Bits of a mask; a higher level of one architecture implies the lower ones. */
enum wcodec_cpu_level {
    WCODEC_CPU_SCALAR = 1 << 0,
    WCODEC_CPU_SSE41 = 1 << 1,  /* with SSSE3 and POPCNT */
    WCODEC_CPU_AVX2 = 1 << 2,   /* with BMI1 and BMI2 */
    WCODEC_CPU_AVX512 = 1 << 3, /* F, BW, DQ, VL, CD, VBMI, VBMI2: Ice Lake, Zen 4 and newer */
    WCODEC_CPU_NEON = 1 << 4,   /* AArch64's */
    WCODEC_CPU_ALL = (1 << 5) - 1
};

enum { WCODEC_CPU_LEVELS = 5 };

/* Name of level number i (bit 1 << i), NULL at WCODEC_CPU_LEVELS and above. */
const char *wcodec_cpu_level_name(unsigned i);

/* Levels that this machine's CPU and operating system run, SCALAR always among them. */
uint32_t wcodec_cpu_levels(void);

/* Number of the highest level in a mask (SCALAR if it is empty). */
unsigned wcodec_cpu_level_highest(uint32_t mask);

#endif
