/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* A context one of whose allocations fails, and calls of the caller's functions that fail, as a
 * fuzz input says. One at a time. */
#ifndef WCODEC_FUZZ_FAILING_H
#define WCODEC_FUZZ_FAILING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <wcodec/context.h>

/* One thread, 256 MiB of memory, the CPU. No allocation fails at first. */
wcodec_context *fuzz_failing_context(void);

/* From now on the nth allocation fails; 0: none. */
void fuzz_fail_allocation(uint64_t nth);

/* Ends it; nothing of it is allocated any more. */
void fuzz_failing_destroy(wcodec_context *context);

/* Calls until one fails; below zero: none does. From the nth on, or that alone. */
struct fuzz_fault {
    _Atomic int64_t left;
    bool on;
};

/* nth 0: none fails. */
void fuzz_fault_init(struct fuzz_fault *fault, uint64_t nth, bool on);

/* A call: does it fail? */
bool fuzz_fails(struct fuzz_fault *fault);

#endif
