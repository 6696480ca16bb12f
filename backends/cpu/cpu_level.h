/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Levels of the CPU's instruction set for which there may be code. */
#ifndef WCODEC_CPU_LEVEL_H
#define WCODEC_CPU_LEVEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bits of a mask; a higher level of one architecture implies the lower ones. */
enum wcodec_cpu_level {
    WCODEC_CPU_SCALAR = 1 << 0,
    WCODEC_CPU_SSE41 = 1 << 1,  /* with SSSE3 and POPCNT */
    WCODEC_CPU_AVX2 = 1 << 2,   /* with FMA, BMI1 and BMI2 */
    WCODEC_CPU_AVX512 = 1 << 3, /* F, BW, DQ, VL, CD, VBMI, VBMI2: Ice Lake, Zen 4 and newer */
    WCODEC_CPU_NEON = 1 << 4,   /* AArch64's */
    WCODEC_CPU_ALL = (1 << 5) - 1
};

enum { WCODEC_CPU_LEVELS = 5 };

/* Choices among the kernels of a level: what is best depends on more than the instructions that
 * there are. Bits of the same masks. */
enum wcodec_cpu_tuning {
    /* AVX-512: elements straight from words (direct_avx512.c), by profiles */
    WCODEC_CPU_STRAIGHT = 1 << 16, /* P8 */
    WCODEC_CPU_STRAIGHT_PAIRS = 1 << 17,
    /* AVX2: more tiles side by side */
    WCODEC_CPU_ABREAST = 1 << 18, /* P8 */
    WCODEC_CPU_ABREAST_PAIRS = 1 << 19,
    /* AVX-512: pairs straight from words, streams a quarter of a step apart (pairs_avx512.c) */
    WCODEC_CPU_STAGGERED_PAIRS = 1 << 20,
    /* AVX2: pairs straight from words, by gathers (pairs_avx2.c) */
    WCODEC_CPU_GATHERED_PAIRS = 1 << 21,
    /* AVX2: P8 straight from words, by ranks (straight_avx2.h) */
    WCODEC_CPU_STRAIGHT_RANKED = 1 << 22,
    WCODEC_CPU_TUNINGS = 127 << 16
};

/* Name of the choice of bit 1 << (16 + i), NULL if there is none. */
const char *wcodec_cpu_tuning_name(unsigned i);

/* The choices that were measured to be the best on this machine's processor; none if none was. */
uint32_t wcodec_cpu_tuning(void);

/* "common" (none) or a list of choices. Returns false if it is something else. */
bool wcodec_cpu_parse_tuning(const char *text, uint32_t *tuning);

/* Name of level number i (bit 1 << i), NULL at WCODEC_CPU_LEVELS and above. */
const char *wcodec_cpu_level_name(unsigned i);

/* Levels that were built and that this machine's CPU and operating system run, SCALAR always among
 * them. */
uint32_t wcodec_cpu_levels(void);

/* The functions of one kind that this library was built with, by the number of the level:
 * begin_scalar, begin_sse41 and so on, for an array of pointers. */
#define WCODEC_CPU_LADDER(begin) \
    { \
        begin##scalar, WCODEC_CPU_IF_SSE41(begin##sse41), WCODEC_CPU_IF_AVX2(begin##avx2), \
            WCODEC_CPU_IF_AVX512(begin##avx512), WCODEC_CPU_IF_NEON(begin##neon) \
    }
#ifdef HAVE_SSE41
#define WCODEC_CPU_IF_SSE41(f) f
#else
#define WCODEC_CPU_IF_SSE41(f) NULL
#endif
#ifdef HAVE_AVX2
#define WCODEC_CPU_IF_AVX2(f) f
#else
#define WCODEC_CPU_IF_AVX2(f) NULL
#endif
#ifdef HAVE_AVX512
#define WCODEC_CPU_IF_AVX512(f) f
#else
#define WCODEC_CPU_IF_AVX512(f) NULL
#endif
#ifdef HAVE_NEON
#define WCODEC_CPU_IF_NEON(f) f
#else
#define WCODEC_CPU_IF_NEON(f) NULL
#endif

/* Let the scalar level and those in a mask fill in a table of functions of that type, each
 * overriding what it does better. */
#define WCODEC_CPU_CLIMB(begin, type, dsp, levels) \
    do { \
        static void (*const init_[WCODEC_CPU_LEVELS])(type *) = WCODEC_CPU_LADDER(begin); \
        for (unsigned level_ = 0; level_ < WCODEC_CPU_LEVELS; level_++) \
            if (((levels) >> level_ & 1 || level_ == 0) && init_[level_] != NULL) \
                init_[level_](dsp); \
    } while (0)

/* Number of the highest level in a mask (SCALAR if it is empty). */
unsigned wcodec_cpu_level_highest(uint32_t mask);

#endif
