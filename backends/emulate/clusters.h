/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Clusters of work-groups that run at once on fibers (WCODEC_CLUSTERS of dialect.h), as far as
 * rollouts of ensembles have need of them. Barriers count as the device's do: one lane arrives and
 * says how many bytes it waits for, stores take theirs off, and who waits sees no more of the turn
 * than whether it is odd. */
#ifndef WCODEC_EMULATE_CLUSTERS_H
#define WCODEC_EMULATE_CLUSTERS_H

#include "backends/emulate/lanes.h"

enum {
    WCODEC_CLUSTER_MOST = 16,
    WCODEC_CLUSTER_PAUSES = 1 << 20,
    WCODEC_CLUSTER_LATE = 100,
    WCODEC_CLUSTER_PARTS = 3
};

struct wcodec_cluster_barrier {
    int32_t bytes; /* that are still to come */
    uint16_t turn;
    uint16_t arrived;
};

/* Of the cluster that runs on this thread. */
struct wcodec_fibers_cluster {
    uint8_t *shared[WCODEC_CLUSTER_MOST]; /* the work-groups' */
    uint32_t size, lanes;
    uint32_t here, meetings; /* lanes at the cluster's barrier, and how often all were */
    struct {
        uint32_t here, meetings;
    } part[WCODEC_CLUSTER_MOST][WCODEC_CLUSTER_PARTS]; /* likewise, of parts of a work-group */
};

extern _Thread_local struct wcodec_fibers_cluster wcodec_fibers_cluster;

/* A lane's first call, before the cluster's barrier. */
static inline void wcodec_cluster_enter(const struct wcodec_warp *warp)
{
    wcodec_fibers_cluster.shared[warp->group % wcodec_fibers_cluster.size] = warp->shared;
}

static inline struct wcodec_cluster_barrier *wcodec_cluster_at(const struct wcodec_warp *warp,
                                                               uint32_t number, uint32_t barrier)
{
    return (void *)(wcodec_fibers_cluster.shared[number] + (barrier - warp->base));
}

static inline void wcodec_cluster_pause(uint32_t *pauses)
{
    if (++*pauses == WCODEC_CLUSTER_PAUSES)
        wcodec_fibers_fail(__FILE__, __LINE__, "a lane of a cluster waits in vain");
    wcodec_fibers_pause();
}

static inline void wcodec_cluster_sync(const struct wcodec_warp *warp)
{
    struct wcodec_fibers_cluster *c = &wcodec_fibers_cluster;
    const uint32_t meeting = c->meetings;
    (void)warp;
    if (++c->here == c->lanes) {
        c->here = 0;
        c->meetings++;
    }
    for (uint32_t pauses = 0; c->meetings == meeting;)
        wcodec_cluster_pause(&pauses);
}

static inline void wcodec_cluster_open(const struct wcodec_warp *warp, uint32_t barriers,
                                       uint32_t count)
{
    for (uint32_t i = 0; i < count && warp->thread == 0; i++)
        *wcodec_cluster_at(warp, warp->group % wcodec_fibers_cluster.size, barriers + 8 * i) =
            (struct wcodec_cluster_barrier){0, 0, 0};
}

static inline void wcodec_cluster_count(struct wcodec_cluster_barrier *b, int32_t bytes)
{
    b->bytes += bytes;
    if (b->arrived && b->bytes == 0) {
        b->arrived = 0;
        b->turn++;
    }
}

static inline void wcodec_cluster_put(const struct wcodec_warp *warp, const float *at,
                                      uint32_t number, float v, uint32_t barrier)
{
    memcpy(wcodec_fibers_cluster.shared[number] + ((const uint8_t *)at - warp->shared), &v,
           sizeof v);
    wcodec_cluster_count(wcodec_cluster_at(warp, number, barrier), -(int32_t)sizeof v);
}

static inline void wcodec_cluster_put_4(const struct wcodec_warp *warp, uint32_t at,
                                        uint32_t number, const float *v, uint32_t barrier)
{
    memcpy(wcodec_fibers_cluster.shared[number] + (at - warp->base), v, 4 * sizeof *v);
    wcodec_cluster_count(wcodec_cluster_at(warp, number, barrier), -(int32_t)(4 * sizeof *v));
}

static inline void wcodec_cluster_ready(const struct wcodec_warp *warp)
{
    (void)warp;
}

static inline void wcodec_cluster_send(const struct wcodec_warp *warp, uint32_t at, uint32_t number,
                                       uint32_t bytes, uint32_t barrier)
{
    memcpy(wcodec_fibers_cluster.shared[number] + (at - warp->base),
           warp->shared + (at - warp->base), bytes);
    wcodec_cluster_count(wcodec_cluster_at(warp, number, barrier), -(int32_t)bytes);
}

static inline void wcodec_cluster_arrive(const struct wcodec_warp *warp, uint32_t barrier,
                                         uint32_t bytes)
{
    struct wcodec_cluster_barrier *b =
        wcodec_cluster_at(warp, warp->group % wcodec_fibers_cluster.size, barrier);
    if (b->arrived)
        wcodec_fibers_fail(__FILE__, __LINE__, "a turn of a cluster's barrier begins twice");
    b->arrived = 1;
    wcodec_cluster_count(b, (int32_t)bytes);
}

/* The last warp of the last work-group is a late one. */
static inline void wcodec_cluster_pass(const struct wcodec_warp *warp, uint32_t barrier,
                                       uint32_t turn)
{
    const uint32_t number = warp->group % wcodec_fibers_cluster.size;
    const bool late = number == wcodec_fibers_cluster.size - 1 &&
                      warp->thread / WCODEC_FIBERS_WARP == warp->threads / 32 - 1;
    const struct wcodec_cluster_barrier *b = wcodec_cluster_at(warp, number, barrier);
    uint32_t pauses = 0;
    while ((late && pauses < WCODEC_CLUSTER_LATE) || b->turn % 2 == turn % 2)
        wcodec_cluster_pause(&pauses);
}

static inline void wcodec_cluster_wait(const struct wcodec_warp *warp, uint32_t barrier,
                                       uint32_t bytes, uint32_t turn)
{
    if (warp->thread == 0)
        wcodec_cluster_arrive(warp, barrier, bytes);
    wcodec_cluster_pass(warp, barrier, turn);
}

static inline void wcodec_sync_part(const struct wcodec_warp *warp, uint32_t part, uint32_t threads)
{
    struct wcodec_fibers_cluster *c = &wcodec_fibers_cluster;
    const uint32_t number = warp->group % c->size, meeting = c->part[number][part].meetings;
    if (++c->part[number][part].here == threads) {
        c->part[number][part].here = 0;
        c->part[number][part].meetings++;
    }
    for (uint32_t pauses = 0; c->part[number][part].meetings == meeting;)
        wcodec_cluster_pause(&pauses);
}

#endif
