/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* All memory of the library goes through the context's allocator. Sizes of 0 give a valid pointer.
 * NULL means out of memory. */
#ifndef WCODEC_CORE_MEMORY_H
#define WCODEC_CORE_MEMORY_H

#include <wcodec/context.h>

void *wcodec_alloc(const wcodec_allocator *allocator, size_t size);
void *wcodec_alloc_zeroed(const wcodec_allocator *allocator, size_t size);
/* count * size, checked. */
void *wcodec_alloc_array(const wcodec_allocator *allocator, uint64_t count, size_t size);
/* Grow or shrink to count * size, checked; on failure NULL, and memory is unchanged. memory may be
 * NULL. */
void *wcodec_realloc_array(const wcodec_allocator *allocator, void *memory, uint64_t count,
                           size_t size);
/* Memory of several MiB that is gone through again and again: let the system use large pages for
 * it, where it has them and the allocator is the default one. */
void wcodec_prefer_large_pages(const wcodec_allocator *allocator, void *memory, size_t size);
char *wcodec_strdup(const wcodec_allocator *allocator, const char *text);
void wcodec_free(const wcodec_allocator *allocator, void *memory);

/* The default: malloc, realloc, free. */
extern const wcodec_allocator wcodec_default_allocator;

#endif
