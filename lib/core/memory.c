/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "core/memory.h"
#include "core/assert.h"
#include "core/bytes.h"
#include <stdlib.h>
#include <sys/mman.h>

static void *default_allocate(void *opaque, size_t size)
{
    (void)opaque;
    return malloc(size);
}

static void *default_reallocate(void *opaque, void *memory, size_t size)
{
    (void)opaque;
    return realloc(memory, size);
}

static void default_release(void *opaque, void *memory)
{
    (void)opaque;
    free(memory);
}

const wcodec_allocator wcodec_default_allocator = {
    .allocate = default_allocate, .reallocate = default_reallocate, .release = default_release};

/* Pointer differences within a larger object would overflow: such a request is as good as out of
 * memory. */
static bool fits(uint64_t size)
{
    return size <= PTRDIFF_MAX;
}

void *wcodec_alloc(const wcodec_allocator *allocator, size_t size)
{
    WCODEC_ASSERT(allocator != NULL && allocator->allocate != NULL);
    if (!fits(size))
        return NULL;
    return allocator->allocate(allocator->opaque, size ? size : 1);
}

void *wcodec_alloc_zeroed(const wcodec_allocator *allocator, size_t size)
{
    if (!fits(size))
        return NULL;
    /* calloc() leaves fresh pages of the system untouched. */
    if (allocator->allocate == default_allocate)
        return calloc(1, size ? size : 1);
    void *memory = wcodec_alloc(allocator, size);
    if (memory != NULL)
        memset(memory, 0, size);
    return memory;
}

void *wcodec_alloc_array(const wcodec_allocator *allocator, uint64_t count, size_t size)
{
    uint64_t bytes;
    if (!wcodec_mul_u64(count, size, &bytes) || !fits(bytes))
        return NULL;
    return wcodec_alloc(allocator, (size_t)bytes);
}

void *wcodec_realloc_array(const wcodec_allocator *allocator, void *memory, uint64_t count,
                           size_t size)
{
    uint64_t bytes;
    if (!wcodec_mul_u64(count, size, &bytes) || !fits(bytes))
        return NULL;
    if (bytes == 0)
        bytes = 1;
    if (memory == NULL)
        return allocator->allocate(allocator->opaque, (size_t)bytes);
    return allocator->reallocate(allocator->opaque, memory, (size_t)bytes);
}

void wcodec_prefer_large_pages(const wcodec_allocator *allocator, void *memory, size_t size)
{
#ifdef MADV_HUGEPAGE
    /* Whole ones only: memory beside it is another's. The usual size is a multiple of those of
     * systems with smaller ones. */
    const uintptr_t page = (uintptr_t)2 << 20, begin = ((uintptr_t)memory + page - 1) & ~(page - 1),
                    end = ((uintptr_t)memory + size) & ~(page - 1);
    if (allocator->allocate == default_allocate && begin < end)
        (void)madvise((void *)begin, end - begin, MADV_HUGEPAGE);
#else
    (void)allocator, (void)memory, (void)size;
#endif
}

char *wcodec_strdup(const wcodec_allocator *allocator, const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = wcodec_alloc(allocator, size);
    if (copy != NULL)
        memcpy(copy, text, size);
    return copy;
}

void wcodec_free(const wcodec_allocator *allocator, void *memory)
{
    if (memory != NULL)
        allocator->release(allocator->opaque, memory);
}
