/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Assertions on contracts between functions of the library and its backends. Never on input: what a
 * file, a caller of the public interface or a device says is checked, and answered by a status. */
#ifndef WCODEC_CORE_ASSERT_H
#define WCODEC_CORE_ASSERT_H

/* WCODEC_ASSERT(condition): in builds by "configure --enable-debug" a false condition is printed
 * and the process aborts. In others nothing is evaluated, but the condition still compiles and its
 * variables count as used. It has no side effects. */
#ifdef WCODEC_DEBUG

#include <stdio.h>
#include <stdlib.h>

/* Inline, since a plugin may not need any symbol of the library. */
static inline _Noreturn void wcodec_assertion_failed(const char *file, int line,
                                                     const char *condition)
{
    fprintf(stderr, "wcodec: %s:%d: assertion failed: %s\n", file, line, condition);
    abort();
}

#define WCODEC_ASSERT(condition) \
    ((condition) ? (void)0 : wcodec_assertion_failed(__FILE__, __LINE__, #condition))

#else

#define WCODEC_ASSERT(condition) ((void)sizeof((condition) ? 1 : 0))

#endif

#endif
