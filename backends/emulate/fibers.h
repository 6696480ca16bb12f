/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* A work-group of a GPU on one thread of the system: each of its lanes is a fiber with a stack of
 * its own. A lane runs until it comes to a collective, where it waits for the other lanes of its
 * warp, or of the group; which of those that can run is next is pseudo-random, so that a missing
 * synchronisation shows as a wrong result. A collective that some lanes do not reach, or that lanes
 * of a warp reach at different places of the program, is an error of the program: it is reported
 * with where each lane is, and the process aborts.
 *
 * A struct wcodec_fibers is used by one thread at a time, different ones by different threads. */
#ifndef WCODEC_EMULATE_FIBERS_H
#define WCODEC_EMULATE_FIBERS_H

#include "core/error.h"

#include <stdbool.h>
#include <stdint.h>

enum { WCODEC_FIBERS_MAX = 1024, WCODEC_FIBERS_WARP = 32 };

enum wcodec_collective {
    WCODEC_COLLECTIVE_BALLOT,
    WCODEC_COLLECTIVE_SHUFFLE,
    WCODEC_COLLECTIVE_ADD,
    WCODEC_COLLECTIVE_SYNC_WARP,
    WCODEC_COLLECTIVE_SYNC_GROUP
};

struct wcodec_fibers;

/* Whether there are fibers here: a system with makecontext(), no ThreadSanitizer. */
bool wcodec_fibers_supported(void);

/* For groups of up to WCODEC_FIBERS_MAX lanes. NULL without memory. Stacks are made when they are
 * first needed, and kept, some of them for who creates the next ones. */
struct wcodec_fibers *wcodec_fibers_create(void);
void wcodec_fibers_destroy(struct wcodec_fibers *fibers);

/* Run function(argument, thread) for each thread of [0, threads), a multiple of
 * WCODEC_FIBERS_WARP, until all have returned. Without memory for the stacks the process aborts. */
void wcodec_fibers_run(struct wcodec_fibers *fibers, uint32_t threads, uint64_t seed,
                       void (*function)(void *argument, uint32_t thread), void *argument);

/* The same for groups of so many threads that run at once, by numbers one after the other; up to
 * WCODEC_FIBERS_MAX of all. */
void wcodec_fibers_run_groups(struct wcodec_fibers *fibers, uint32_t groups, uint32_t threads,
                              uint64_t seed, void (*function)(void *argument, uint32_t thread),
                              void *argument);

/* The functions below are for lanes, while they run. */

/* Let others run, for who waits for what no collective is for. */
void wcodec_fibers_pause(void);

/* A collective; file and line say where. Returns for a ballot the mask of lanes with value != 0,
 * for a shuffle the value of lane `from`, for an addition the sum, else 0. */
uint32_t wcodec_fibers_meet(enum wcodec_collective kind, uint32_t value, uint32_t from,
                            const char *file, int line);

/* An error of the running lane's program: report it and abort. */
_Noreturn void wcodec_fibers_fail(const char *file, int line, const char *format, ...)
    WCODEC_PRINTF(3, 4);

#endif
