/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Launches of kernels as C, in which each lane is a fiber: work-groups one after the other, each
 * with shared memory of exactly the size that the launch gives it. What kernels see of it is
 * backends/kernels/dialect_lanes.h. */
#ifndef WCODEC_EMULATE_LANES_H
#define WCODEC_EMULATE_LANES_H

#include "backends/emulate/fibers.h"

#include <stddef.h>
#include <string.h>

struct wcodec_host;
struct wcodec_lanes_copies;

/* What a lane knows. Copies of it are good for the same lane. */
struct wcodec_warp {
    uint32_t lane;
    uint32_t thread; /* number in the work-group */
    uint32_t threads;
    uint32_t group;
    uint32_t groups;
    uint32_t base; /* address of shared memory */
    uint32_t size;
    uint8_t *shared;
    struct wcodec_lanes_copies *copies; /* the lane's */
};

struct wcodec_lanes_launch {
    void (*kernel)(struct wcodec_warp *warp, const void *argument);
    const void *argument;
    uint32_t groups;
    uint32_t threads; /* of a group */
    uint32_t shared;  /* bytes of a group */
    uint64_t seed;
};

/* Run all groups, in a pseudo-random order. Without memory the process aborts. */
void wcodec_lanes_run(struct wcodec_fibers *fibers, const struct wcodec_lanes_launch *launch);
/* The same by fibers of its own. WCODEC_ERROR_MEMORY: there are none. */
wcodec_status wcodec_lanes_launch(const struct wcodec_host *host,
                                  const struct wcodec_lanes_launch *launch, wcodec_error *err);

/* Likewise, but `count` groups run at once, and then the next ones: a divisor of all, of no more
 * than WCODEC_FIBERS_MAX threads. */
wcodec_status wcodec_lanes_launch_together(const struct wcodec_host *host,
                                           const struct wcodec_lanes_launch *launch, uint32_t count,
                                           wcodec_error *err);

_Noreturn void wcodec_lanes_bad_shared(const struct wcodec_warp *warp, uint32_t address,
                                       size_t size, size_t alignment, const char *file, int line);

/* Where `size` bytes of shared memory are. */
static inline void *wcodec_lanes_shared(const struct wcodec_warp *warp, uint32_t address,
                                        size_t size, size_t alignment, const char *file, int line)
{
    const uint32_t at = address - warp->base;
    if (address < warp->base || at > warp->size || size > warp->size - at || at % alignment != 0)
        wcodec_lanes_bad_shared(warp, address, size, alignment, file, line);
    return warp->shared + at;
}

/* Address 0 is that of an area without bytes: a pointer to which an offset may be added. */
static inline const void *wcodec_lanes_buffer(uintptr_t address)
{
    static const uint8_t nothing[32];
    return address != 0 ? (const void *)address : nothing + sizeof nothing;
}

/* `address` as it is, if it is aligned. */
static inline const void *wcodec_lanes_aligned(const void *address, size_t alignment,
                                               const char *file, int line)
{
    if ((uintptr_t)address % alignment != 0)
        wcodec_fibers_fail(file, line, "%p is no multiple of %zu", address, alignment);
    return address;
}

/* Begin to copy 16 bytes from from + offset to shared address `to`, those beyond from + limit left
 * out. It ends with the wait after the commit after it. */
void wcodec_lanes_copy(const struct wcodec_warp *warp, uint32_t to, const void *from,
                       uint32_t offset, uint32_t limit, const char *file, int line);
void wcodec_lanes_copy_commit(const struct wcodec_warp *warp);
void wcodec_lanes_copy_wait(const struct wcodec_warp *warp);

#endif
