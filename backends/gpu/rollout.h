/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Launches of the kernels of backends/kernels/rollout.h and recurrence.h. */
#ifndef WCODEC_GPU_ROLLOUT_H
#define WCODEC_GPU_ROLLOUT_H

#include "backends/backend.h"
#include "backends/kernels/recurrence_launch.h"

enum wcodec_rollout_form {
#define WCODEC_ROLLOUT_KERNEL(name, unit, inputs, gates, reset) WCODEC_ROLLOUT_##name,
#include "backends/kernels/rollouts.def"
#undef WCODEC_ROLLOUT_KERNEL
    WCODEC_ROLLOUT_FORMS
};

/* By tensor cores, after those forms: of units by themselves, and (BEFORE) of many starts. Then
 * those of rollout_warps.h, of ensembles. */
enum {
    WCODEC_RECURRENCE_BEFORE = WCODEC_ROLLOUT_FORMS,
    WCODEC_RECURRENCE_AFTER,
    WCODEC_RECURRENCE_BEFORE_256, /* all of 64 inputs and 256 hidden values is held */
    WCODEC_RECURRENCE_AFTER_256,
#define WCODEC_ROLLOUT_WARPS(name, columns, lanes, warps) WCODEC_ROLLOUT_##name,
#include "backends/kernels/rollouts_warps.def"
#undef WCODEC_ROLLOUT_WARPS
    WCODEC_RECURRENCE_FORMS
};

enum { WCODEC_ROLLOUT_WARPS_FIRST = WCODEC_RECURRENCE_AFTER_256 + 1 };

enum wcodec_rollout_kind {
    WCODEC_ROLLOUT_OF_ENSEMBLES,
    WCODEC_ROLLOUT_OF_UNITS,
    WCODEC_ROLLOUT_THAT_MEET, /* ensembles whose parts meet in memory, where others have clusters */
    WCODEC_ROLLOUT_KINDS
};

/* "rollout_32", and "recurrence_32" of a unit by itself; by tensor cores "rollouts_256" of many
 * starts, and "recurrence_before_256"; NULL: there is none. */
extern const char *const wcodec_rollout_names[WCODEC_ROLLOUT_KINDS][WCODEC_RECURRENCE_FORMS];

struct wcodec_gpu_rollout_limits {
    uint32_t items;    /* of a work-group: none has room with less than WCODEC_ROLLOUT_LOSS_ITEMS */
    uint32_t parts;    /* most of a member; where they do not exchange a power of two */
    uint64_t shared;   /* bytes of a work-group */
    bool registers;    /* has it those that hold weights? */
    bool exchanges;    /* parts of an ensemble's members meet in memory; units have one part then */
    bool takes_pinned; /* kernels read and write the host's memory, those that do so once */
    /* Of a work-group by tensor cores, a multiple of 256; 0: there are none. */
    uint32_t tensor_items;
    uint64_t cache; /* bytes of the first cache for weights; 0: all pass it by, or none */
};

/* False: not even the form that holds nothing has room. */
bool wcodec_gpu_plan_rollout(const struct wcodec_rollout_sizes *sizes,
                             const struct wcodec_gpu_rollout_limits *limits,
                             struct wcodec_rollout_plan *plan);

/* Are weights of U read from memory in each step? */
bool wcodec_gpu_rollout_reads(const struct wcodec_rollout_plan *plan);

/* Bytes of shared memory that a work-group takes. */
uint32_t wcodec_gpu_rollout_shared(const struct wcodec_rollout_plan *plan);

/* Of plan->parts work-groups for each member, of plan->items. weights, work: addresses of the
 * memory. */
void wcodec_gpu_launch_rollout(const struct wcodec_ensemble_rollout *rollout, uint64_t weights,
                               uint64_t work, struct wcodec_rollout_launch *launch);

/* Likewise, for each of launch->members. members: most sequences at a time. */
void wcodec_gpu_launch_sequences(const struct wcodec_sequences *sequences, uint32_t members,
                                 uint64_t weights, struct wcodec_recurrence_launch *launch);

/* Likewise, for a member's rollouts from all starts. */
void wcodec_gpu_launch_many(const struct wcodec_many_rollouts *rollouts, uint32_t member,
                            uint32_t members, uint64_t weights, uint64_t work,
                            struct wcodec_recurrence_launch *launch);

/* The form that takes them, which may be a quicker one than the plan's. */
unsigned wcodec_gpu_sequences_form(const struct wcodec_rollout_plan *plan,
                                   const struct wcodec_recurrence_launch *launch);

/* Bytes of shared memory of work-groups of WCODEC_GROUPS_ITEMS that take them by products of four
 * warps (recurrence_groups.h), of which members have a cluster; 0: that kernel is not for them. */
uint32_t wcodec_gpu_groups_shared(const struct wcodec_rollout_plan *plan,
                                  const struct wcodec_recurrence_launch *launch);

#endif
