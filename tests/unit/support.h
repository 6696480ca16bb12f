/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* What several unit tests share: cmocka with its prerequisites, a seeded generator, and payloads
 * put together from coded tiles. */
#ifndef WCODEC_TESTS_UNIT_SUPPORT_H
#define WCODEC_TESTS_UNIT_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* splitmix64. */
static inline uint64_t support_random(uint64_t *seed)
{
    uint64_t z = (*seed += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* Whether to leave out what takes minutes: scripts/check --ci and --full set WCODEC_TEST_LEVEL. */
static inline int support_quick(void)
{
    const char *level = getenv("WCODEC_TEST_LEVEL");
    return level == NULL || strcmp(level, "quick") == 0;
}

/* Whether to do what takes many minutes. */
static inline int support_full(void)
{
    const char *level = getenv("WCODEC_TEST_LEVEL");
    return level != NULL && strcmp(level, "full") == 0;
}

/* ThreadSanitizer makes coding forty times slower: there tests leave out repetitions that say
 * nothing more about threads. All other builds run them. */
#if defined(__SANITIZE_THREAD__)
enum { SUPPORT_TSAN = 1 };
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
enum { SUPPORT_TSAN = 1 };
#else
enum { SUPPORT_TSAN = 0 };
#endif
#else
enum { SUPPORT_TSAN = 0 };
#endif

/* WCODEC_TEST_SEED or a fixed one; printed, so that a failure can be had again. */
static inline uint64_t support_seed(void)
{
    const char *text = getenv("WCODEC_TEST_SEED");
    const uint64_t seed = text ? strtoull(text, NULL, 0) : 20261121;
    print_message("seed %llu\n", (unsigned long long)seed);
    return seed;
}

#endif
