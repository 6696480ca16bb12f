/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The cores that this process may use: one worker for each, not for each hardware thread. Found by
 * hwloc where the build has it, else by sched_getaffinity() and sysfs. */
#ifndef WCODEC_SCHED_TOPOLOGY_H
#define WCODEC_SCHED_TOPOLOGY_H

#include <stdbool.h>
#include <wcodec/context.h>

struct wcodec_topology;

/* Where to look: zeroed for this machine. The rest is for tests. */
struct wcodec_topology_probe {
    const char *synthetic; /* a synthetic topology of hwloc ("pack:2 [numa] core:4 pu:2"), or NULL;
                              ignored without hwloc */
    bool no_hwloc;         /* take the way without hwloc */
    const char *root;      /* in front of /sys; NULL: nothing */
    const unsigned *allowed; /* the CPUs that may be used, or NULL: those of the calling thread's
                                affinity (all of a synthetic topology) */
    size_t allowed_count;
    int current_cpu; /* with allowed or synthetic: CPU number + 1 that the caller runs on; 0:
                        unknown */
};

/* Look. hwloc is asked without I/O and GPU components and let go at once. Fails only with
 * WCODEC_ERROR_MEMORY. */
wcodec_status wcodec_topology_load(const wcodec_allocator *allocator,
                                   const struct wcodec_topology_probe *probe,
                                   struct wcodec_topology **topology, wcodec_error *err);
void wcodec_topology_free(struct wcodec_topology *topology);

/* Usable cores, at least 1. They are numbered in the order in which workers should take them: the
 * NUMA node of the loading thread first, then the other nodes by number; within a node dealt round
 * its last-level caches. So few workers share the caller's memory, and do not crowd one cache. */
unsigned wcodec_topology_cores(const struct wcodec_topology *topology);

/* NUMA nodes that hold usable cores, at least 1. */
unsigned wcodec_topology_nodes(const struct wcodec_topology *topology);

/* NUMA node (the system's number) of core i. */
unsigned wcodec_topology_node(const struct wcodec_topology *topology, unsigned i);

/* The usable hardware threads of core i; returns their number. */
size_t wcodec_topology_cpus(const struct wcodec_topology *topology, unsigned i,
                            const unsigned **cpus);

/* "hwloc" or "affinity". */
const char *wcodec_topology_source(const struct wcodec_topology *topology);

/* Bind the calling thread to core i. False if the system refuses: then it runs where it did,
 * as it does on a system that binds no threads. */
bool wcodec_topology_bind(const struct wcodec_topology *topology, unsigned i);

#endif
