/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Contexts for the CPU alone, and an allocator that fails. */
#ifndef WCODEC_TESTS_UNIT_SUPPORT_MEMORY_H
#define WCODEC_TESTS_UNIT_SUPPORT_MEMORY_H

#include "support.h"
#include <stdbool.h>
#include <wcodec.h>

/* Counts its calls; when `left` has come down to 0 each fails, or with `once` that one alone. Safe from several threads. `balance` is allocations less
 * releases. */
struct support_allocator {
    wcodec_allocator allocator;
    bool once;
    _Atomic long left;
    _Atomic long calls;
    _Atomic long balance;
};

enum { SUPPORT_NEVER = 1000000000 };

/* `left` may be SUPPORT_NEVER. */
void support_allocator_init(struct support_allocator *allocator, long left);

/* A context with the CPU backend. `allocator` may be NULL, max_memory 0. Fails the test if it cannot be made. */
wcodec_context *support_context(unsigned threads, const wcodec_allocator *allocator);
wcodec_context *support_context_limited(unsigned threads, uint64_t max_memory);

#endif
