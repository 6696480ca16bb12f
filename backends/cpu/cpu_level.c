/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "backends/cpu/cpu_level.h"

#include <string.h>

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#include <stdatomic.h>
#define WCODEC_X86 1
#endif

static const char *const names[WCODEC_CPU_LEVELS] = {"scalar", "sse41", "avx2", "avx512", "neon"};

const char *wcodec_cpu_level_name(unsigned i)
{
    return i < WCODEC_CPU_LEVELS ? names[i] : NULL;
}

unsigned wcodec_cpu_level_highest(uint32_t mask)
{
    unsigned highest = 0;
    for (unsigned i = 0; i < WCODEC_CPU_LEVELS; i++)
        if (mask >> i & 1)
            highest = i;
    return highest;
}

static const char *const tunings[] = {
    "straight",        "straight-pairs", "abreast",         "abreast-pairs",
    "staggered-pairs", "gathered-pairs", "straight-ranked", NULL};

const char *wcodec_cpu_tuning_name(unsigned i)
{
    return i < sizeof tunings / sizeof tunings[0] ? tunings[i] : NULL;
}

bool wcodec_cpu_parse_tuning(const char *text, uint32_t *tuning)
{
    uint32_t bits = 0;
    if (strcmp(text, "common") == 0) {
        *tuning = 0;
        return true;
    }
    for (;; text++) {
        const size_t length = strcspn(text, ",");
        unsigned i = 0;
        while (tunings[i] != NULL &&
               (strlen(tunings[i]) != length || memcmp(tunings[i], text, length) != 0))
            i++;
        if (tunings[i] == NULL)
            return false;
        bits |= (uint32_t)WCODEC_CPU_STRAIGHT << i;
        text += length;
        if (*text == '\0')
            break;
    }
    *tuning = bits;
    return true;
}

#ifdef WCODEC_X86
enum {
    ANY_MODEL = 256,
    RAPIDS = WCODEC_CPU_STRAIGHT | WCODEC_CPU_STAGGERED_PAIRS | WCODEC_CPU_ABREAST_PAIRS |
             WCODEC_CPU_GATHERED_PAIRS | WCODEC_CPU_STRAIGHT_RANKED,
    ZEN_5 = WCODEC_CPU_STRAIGHT | WCODEC_CPU_STRAIGHT_PAIRS | WCODEC_CPU_ABREAST |
            WCODEC_CPU_ABREAST_PAIRS /* the others were not measured */
};

/* What bench/cpu-targets measured; bench/README.md has the figures. Processors that are not here
 * have the levels' own kernels. */
static const struct {
    char vendor[13];
    unsigned family, model; /* as cpuid has them, base and extended; ANY_MODEL */
    uint32_t tuning;
} processors[] = {
    {"AuthenticAMD", 0x1a, ANY_MODEL, ZEN_5}, /* by model 2 */
    {"GenuineIntel", 6, 0x8f, RAPIDS},        /* Sapphire Rapids, by the next */
    {"GenuineIntel", 6, 0xcf, RAPIDS},        /* Emerald Rapids */
};

static uint32_t find_tuning(void)
{
    uint32_t a, b, c, d;
    char vendor[13] = "";
    if (!__get_cpuid(0, &a, &b, &c, &d))
        return 0;
    memcpy(vendor, &b, 4);
    memcpy(vendor + 4, &d, 4);
    memcpy(vendor + 8, &c, 4);
    if (!__get_cpuid(1, &a, &b, &c, &d))
        return 0;
    const unsigned family = (a >> 8 & 15) + (a >> 20 & 255),
                   model = (a >> 4 & 15) | (a >> 12 & 0xf0);
    for (unsigned i = 0; i < sizeof processors / sizeof processors[0]; i++)
        if (processors[i].family == family && strcmp(processors[i].vendor, vendor) == 0 &&
            (processors[i].model == model || processors[i].model == ANY_MODEL))
            return processors[i].tuning;
    return 0;
}

uint32_t wcodec_cpu_tuning(void)
{
    /* As wcodec_cpu_levels(). No choice has bit 0. */
    static _Atomic uint32_t known;
    uint32_t tuning = atomic_load_explicit(&known, memory_order_relaxed);
    if (tuning == 0) {
        tuning = find_tuning() | 1;
        atomic_store_explicit(&known, tuning, memory_order_relaxed);
    }
    return tuning & ~1u;
}

/* XCR0: the register files that the operating system saves. Call only where OSXSAVE is set. */
static uint64_t read_xcr0(void)
{
    uint32_t low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (uint64_t)high << 32 | low;
}

static uint32_t all_set(uint32_t value, uint32_t bits)
{
    return (value & bits) == bits;
}

/* Levels whose kernels were built: all, but for --with-cpu-levels. */
static uint32_t built_levels(void)
{
    uint32_t levels = WCODEC_CPU_SCALAR;
#ifdef HAVE_SSE41
    levels |= WCODEC_CPU_SSE41;
#endif
#ifdef HAVE_AVX2
    levels |= WCODEC_CPU_AVX2;
#endif
#ifdef HAVE_AVX512
    levels |= WCODEC_CPU_AVX512;
#endif
    return levels;
}

static uint32_t detect_levels(void)
{
    uint32_t levels = WCODEC_CPU_SCALAR;
    uint32_t a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d))
        return levels;
    if (!all_set(c, bit_SSSE3 | bit_SSE4_1 | bit_POPCNT))
        return levels;
    levels |= WCODEC_CPU_SSE41;
    if (!all_set(c, bit_OSXSAVE | bit_AVX | bit_FMA))
        return levels;
    uint64_t xcr0 = read_xcr0();
    if ((xcr0 & 0x6) != 0x6) /* XMM, YMM */
        return levels;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || !all_set(b, bit_AVX2 | bit_BMI | bit_BMI2))
        return levels;
    levels |= WCODEC_CPU_AVX2;
    if ((xcr0 & 0xE0) != 0xE0) /* opmask, upper halves of ZMM0-15, ZMM16-31 */
        return levels;
    const uint32_t vbmi = 1u << 1, vbmi2 = 1u << 6;
    if (all_set(b, bit_AVX512F | bit_AVX512BW | bit_AVX512DQ | bit_AVX512VL | bit_AVX512CD) &&
        all_set(c, vbmi | vbmi2))
        levels |= WCODEC_CPU_AVX512;
    return levels;
}

uint32_t wcodec_cpu_levels(void)
{
    /* Asked for every tensor, and under a hypervisor each cpuid takes microseconds. Threads that
     * come here at once find the same. */
    static _Atomic uint32_t known;
    uint32_t levels = atomic_load_explicit(&known, memory_order_relaxed);
    if (levels == 0) {
        levels = detect_levels() & built_levels();
        atomic_store_explicit(&known, levels, memory_order_relaxed);
    }
    return levels;
}
#else
uint32_t wcodec_cpu_tuning(void)
{
    return 0;
}

#if defined(__aarch64__)
uint32_t wcodec_cpu_levels(void)
{
#ifdef HAVE_NEON
    /* Advanced SIMD is part of the AArch64 Linux ABI. */
    return WCODEC_CPU_SCALAR | WCODEC_CPU_NEON;
#else
    return WCODEC_CPU_SCALAR;
#endif
}
#else
uint32_t wcodec_cpu_levels(void)
{
    return WCODEC_CPU_SCALAR;
}
#endif
#endif
