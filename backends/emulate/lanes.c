/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "backends/emulate/lanes.h"

#include "backends/backend.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    POISON = 0xdb,
    BASE_UNIT = 1024, /* what kernels align shared memory to */
    BASES = 31
};

struct copy {
    uint8_t *to;
    const uint8_t *from;
    uint32_t size; /* what lies within the limit */
};

/* Copies that have begun; the first `committed` arrive at the next wait. */
struct wcodec_lanes_copies {
    struct copy *copies;
    size_t count;
    size_t committed;
    size_t capacity;
};

/* A work-group. */
struct group {
    const struct wcodec_lanes_launch *launch;
    uint32_t number;
    uint32_t base;
    uint8_t *shared;
    struct wcodec_lanes_copies copies[WCODEC_FIBERS_MAX];
};

static _Noreturn void no_memory(void)
{
    fputs("no memory for a work-group\n", stderr);
    abort();
}

void wcodec_lanes_bad_shared(const struct wcodec_warp *warp, uint32_t address, size_t size,
                             size_t alignment, const char *file, int line)
{
    wcodec_fibers_fail(file, line,
                       "%zu bytes at offset %lld of %u bytes of shared memory, of which the offset "
                       "must be a multiple of %zu",
                       size, (long long)address - (long long)warp->base, warp->size, alignment);
}

void wcodec_lanes_copy(const struct wcodec_warp *warp, uint32_t to, const void *from,
                       uint32_t offset, uint32_t limit, const char *file, int line)
{
    struct wcodec_lanes_copies *c = warp->copies;
    uint8_t *at = wcodec_lanes_shared(warp, to, 16, 16, file, line);
    const uint32_t left = offset < limit ? limit - offset : 0, size = left < 16 ? left : 16;
    if (((uintptr_t)from + offset) % 16 != 0)
        wcodec_fibers_fail(file, line, "a copy from %p + %u", from, offset);
    memset(at, POISON, 16);
    if (c->count == c->capacity) {
        c->capacity = c->capacity == 0 ? 16 : 2 * c->capacity;
        c->copies = realloc(c->copies, c->capacity * sizeof *c->copies);
        if (c->copies == NULL)
            no_memory();
    }
    if (size > 0)
        c->copies[c->count++] = (struct copy){at, (const uint8_t *)from + offset, size};
}

void wcodec_lanes_copy_commit(const struct wcodec_warp *warp)
{
    warp->copies->committed = warp->copies->count;
}

void wcodec_lanes_copy_wait(const struct wcodec_warp *warp)
{
    struct wcodec_lanes_copies *c = warp->copies;
    for (size_t i = 0; i < c->committed; i++)
        memcpy(c->copies[i].to, c->copies[i].from, c->copies[i].size);
    if (c->committed == 0)
        return;
    c->count -= c->committed;
    memmove(c->copies, c->copies + c->committed, c->count * sizeof *c->copies);
    c->committed = 0;
}

static void run_lane(void *argument, uint32_t thread)
{
    struct group *g = argument;
    const struct wcodec_lanes_launch *launch = g->launch;
    struct wcodec_warp warp = {
        .lane = thread % WCODEC_FIBERS_WARP,
        .thread = thread,
        .threads = launch->threads,
        .group = g->number,
        .groups = launch->groups,
        .base = g->base,
        .size = launch->shared,
        .shared = g->shared,
        .copies = &g->copies[thread],
    };
    launch->kernel(&warp, launch->argument);
    if (warp.copies->count != 0)
        wcodec_fibers_fail(__FILE__, __LINE__, "copies have not been waited for");
}

static struct group *group_create(const struct wcodec_lanes_launch *launch)
{
    struct group *g = calloc(1, sizeof *g);
    if (g == NULL)
        no_memory();
    g->launch = launch;
    return g;
}

static void group_destroy(struct group *g)
{
    for (uint32_t i = 0; i < g->launch->threads; i++)
        free(g->copies[i].copies);
    free(g);
}

/* Ready for a work-group. */
static void group_begin(struct group *g, uint32_t number)
{
    const struct wcodec_lanes_launch *launch = g->launch;
    void *shared;
    /* A block for each group, since AddressSanitizer sees its end. */
    if (posix_memalign(&shared, BASE_UNIT, launch->shared > 0 ? launch->shared : 1) != 0)
        no_memory();
    memset(shared, POISON, launch->shared);
    g->shared = shared;
    g->number = number;
    g->base = BASE_UNIT * (1 + (uint32_t)((launch->seed + number) % BASES));
}

void wcodec_lanes_run(struct wcodec_fibers *fibers, const struct wcodec_lanes_launch *launch)
{
    struct group *g = group_create(launch);
    const uint32_t first = (uint32_t)(launch->seed % launch->groups);
    const bool forward = launch->seed / launch->groups % 2;
    for (uint32_t i = 0; i < launch->groups; i++) {
        const uint32_t turn = (first + i) % launch->groups;
        group_begin(g, forward ? turn : launch->groups - 1 - turn);
        wcodec_fibers_run(fibers, launch->threads, launch->seed + g->number, run_lane, g);
        free(g->shared);
    }
    group_destroy(g);
}

/* Groups that run at once. */
struct together {
    struct group **groups;
    uint32_t threads; /* of each */
};

static void run_lane_of(void *argument, uint32_t thread)
{
    const struct together *all = argument;
    run_lane(all->groups[thread / all->threads], thread % all->threads);
}

wcodec_status wcodec_lanes_launch_together(const struct wcodec_host *host,
                                           const struct wcodec_lanes_launch *launch, uint32_t count,
                                           wcodec_error *err)
{
    struct wcodec_fibers *fibers = wcodec_fibers_create();
    if (fibers == NULL)
        return host->fail(err, WCODEC_ERROR_MEMORY, "no memory for lanes");
    struct together all = {calloc(count, sizeof(struct group *)), launch->threads};
    if (all.groups == NULL)
        no_memory();
    for (uint32_t i = 0; i < count; i++)
        all.groups[i] = group_create(launch);
    for (uint32_t begin = 0; begin < launch->groups; begin += count) {
        for (uint32_t i = 0; i < count; i++)
            group_begin(all.groups[i], begin + i);
        wcodec_fibers_run_groups(fibers, count, launch->threads, launch->seed + begin, run_lane_of,
                                 &all);
        for (uint32_t i = 0; i < count; i++)
            free(all.groups[i]->shared);
    }
    for (uint32_t i = 0; i < count; i++)
        group_destroy(all.groups[i]);
    free(all.groups);
    wcodec_fibers_destroy(fibers);
    return WCODEC_OK;
}

wcodec_status wcodec_lanes_launch(const struct wcodec_host *host,
                                  const struct wcodec_lanes_launch *launch, wcodec_error *err)
{
    struct wcodec_fibers *fibers = wcodec_fibers_create();
    if (fibers == NULL)
        return host->fail(err, WCODEC_ERROR_MEMORY, "no memory for lanes");
    wcodec_lanes_run(fibers, launch);
    wcodec_fibers_destroy(fibers);
    return WCODEC_OK;
}
