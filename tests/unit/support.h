/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* What several unit tests share: cmocka with its prerequisites, a seeded generator, and payloads
 * put together from coded tiles. */
#ifndef WCODEC_TESTS_UNIT_SUPPORT_H
#define WCODEC_TESTS_UNIT_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
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

/* Which sanitizers a test is built with. */
#if defined(__has_feature)
#define SUPPORT_HAS_FEATURE(name) __has_feature(name)
#else
#define SUPPORT_HAS_FEATURE(name) 0
#endif
#if defined(__SANITIZE_THREAD__) || SUPPORT_HAS_FEATURE(thread_sanitizer)
enum { SUPPORT_TSAN = 1 };
#else
enum { SUPPORT_TSAN = 0 };
#endif
#if defined(__SANITIZE_ADDRESS__) || SUPPORT_HAS_FEATURE(address_sanitizer)
enum { SUPPORT_ASAN = 1 };
#else
enum { SUPPORT_ASAN = 0 };
#endif

/* ThreadSanitizer makes coding forty times slower, AddressSanitizer ten times: there, and in the
 * quick form, tests leave out repetitions that say little more. One of so many is left; all in
 * other builds, and with WCODEC_TEST_EXHAUSTIVE. */
static inline unsigned support_one_in(unsigned count)
{
    const bool some = SUPPORT_TSAN || SUPPORT_ASAN || support_quick();
    return some && getenv("WCODEC_TEST_EXHAUSTIVE") == NULL ? count : 1;
}

/* Whether a case is left out that has one thread, or threads that meet as in others:
 * ThreadSanitizer has nothing new to see of it, and looks at it in --full alone. */
static inline bool support_threads_only(void)
{
    return SUPPORT_TSAN && !support_full();
}

/* WCODEC_TEST_SEED or a fixed one; printed, so that a failure can be had again. */
static inline uint64_t support_seed(void)
{
    const char *text = getenv("WCODEC_TEST_SEED");
    const uint64_t seed = text ? strtoull(text, NULL, 0) : 20261121;
    print_message("seed %llu\n", (unsigned long long)seed);
    return seed;
}

#endif
