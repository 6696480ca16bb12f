/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Contexts for the CPU alone, an allocator that fails, and what a reader must give whatever memory
 * it has. */
#ifndef WCODEC_TESTS_UNIT_SUPPORT_MEMORY_H
#define WCODEC_TESTS_UNIT_SUPPORT_MEMORY_H

#include "support.h"
#include <stdbool.h>
#include <wcodec.h>

/* Memory that is not zeros. Counts its calls; when `left` has come down to 0 each fails, or with
 * `once` that one alone. Safe from several threads. `balance` is allocations less releases. */
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

/* A context with the CPU backend. `allocator` may be NULL, max_memory 0. Fails the test if it
 * cannot be made. */
wcodec_context *support_context(unsigned threads, const wcodec_allocator *allocator);
wcodec_context *support_context_limited(unsigned threads, uint64_t max_memory);

/* Random ranges of a tensor's rows, all of them first, are as in `data`, and nothing around them is
 * written. Tensors tensor to tensor + count - 1 are equal. */
void support_expect_rows(const wcodec_reader *reader, uint64_t tensor, unsigned count,
                         uint64_t *seed, uint64_t rows, const uint8_t *data, size_t size);

/* The same of a load of the rows from a random one on. */
void support_expect_load(const wcodec_reader *reader, uint64_t tensor, uint64_t *seed,
                         uint64_t rows, const uint8_t *data, size_t size);

/* The first file is restored as it was, and testing the reader finds nothing. */
void support_expect_restored(const wcodec_reader *reader, const uint8_t *original, size_t size);

#endif
