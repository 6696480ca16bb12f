/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Host memory from which the device copies fastest. The driver's own allocation brings pages of 4
 * KiB in one by one, for one thread at a time; so large memory is large pages of our own, brought
 * in by the thread that wants it, and only registered with the driver (times: bench/gpu/README.md).
 */
#include "backends/cuda/cuda.h"

#include <stdint.h>
#include <sys/mman.h>

enum { PAGE = 4096, LARGE_PAGE = 2 << 20 };

/* At a multiple of large pages, and of them, if the system has them; NULL: no memory. */
static uint8_t *map(size_t size)
{
    uint8_t *all =
        mmap(NULL, size + LARGE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (all == MAP_FAILED)
        return NULL;
    const size_t before = (LARGE_PAGE - (uintptr_t)all % LARGE_PAGE) % LARGE_PAGE;
    if (before > 0)
        munmap(all, before);
    if (before < LARGE_PAGE)
        munmap(all + before + size, LARGE_PAGE - before);
    uint8_t *memory = all + before;
    madvise(memory, size, MADV_HUGEPAGE);
    madvise(
        memory, size,
        MADV_DONTFORK); /* else a write after fork() would go to other pages than the device has */
    for (size_t at = 0; at < size; at += PAGE)
        ((volatile uint8_t *)memory)[at] = 0;
    return memory;
}

cu_result wcodec_cuda_pinned_allocate(const struct wcodec_device *d, size_t size,
                                      struct wcodec_memory *memory)
{
    if (size >= LARGE_PAGE && size <= SIZE_MAX / 2) {
        const size_t mapped = (size + LARGE_PAGE - 1) / LARGE_PAGE * LARGE_PAGE;
        uint8_t *p = map(mapped);
        if (p != NULL && d->cu->host_register(p, mapped, CU_HOST_PORTABLE_MAPPED) == 0) {
            memory->pointer = p;
            memory->mapped = mapped;
            return 0;
        }
        if (p != NULL)
            munmap(p, mapped);
    }
    return d->cu->host_allocate(&memory->pointer, size, CU_HOST_PORTABLE_MAPPED);
}

void wcodec_cuda_pinned_free(const struct wcodec_device *d, struct wcodec_memory *memory)
{
    if (memory->mapped == 0) {
        d->cu->host_release(memory->pointer);
        return;
    }
    /* What the driver still holds must not become other memory. */
    if (d->cu->host_unregister(memory->pointer) == 0)
        munmap(memory->pointer, memory->mapped);
}
