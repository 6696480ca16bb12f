/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Where parts of a member meet in global memory: a place for each number of r h and of h', which
 * the part that makes it writes and all others read until it is there. A place is 64 bits, the
 * number's and above them the turn's, written and read as one: whoever sees the turn has the
 * number, so that no order of other memory matters, and no counter. Turns count from 1; the host
 * puts zeros there.
 *
 * A place is written again two meetings later. Nobody comes so far before all parts have sent at
 * the meeting between, which each does after a barrier behind its last read of the place.
 *
 * It goes on because all parts of the launch run at once, which the host sees to: work-groups are
 * no more than the device has units, each of which has room for one, and no other launch that
 * waits like that is on the device. Whoever waits is waited for by nobody before it has sent. If
 * the host was wrong, patience ends: that is a fault, all go on with what is there, and wait no
 * more than a little at each place. */
#ifndef WCODEC_KERNELS_ROLLOUT_EXCHANGE_H
#define WCODEC_KERNELS_ROLLOUT_EXCHANGE_H

#include "backends/kernels/dialect.h"
#include "backends/kernels/rollout_launch.h"

#ifdef WCODEC_EXCHANGES
/* Reads after which it is looked whether others have lost patience: more than a meeting takes, and
 * few, as all that comes after a fault waits for so many at each place. */
#define WCODEC_ROLLOUT_LOOK 64u

/* The first place of a member's vector, by the number of its counter. */
WCODEC_DEVICE_FUNCTION uint64_t wcodec_rollout_place(const struct wcodec_rollout_launch *l,
                                                     uint64_t member, uint32_t counter)
{
    return l->exchange + 8 * (2 * member + (counter != 0)) * l->hidden_count;
}

WCODEC_DEVICE_FUNCTION void wcodec_rollout_send(uint64_t place, uint32_t at, float v, uint32_t turn)
{
    wcodec_exchange_put((WCODEC_GLOBAL uint64_t *)(place + 8 * (uint64_t)at),
                        (uint64_t)(turn + 1) << 32 | WCODEC_FLOAT_BITS(v));
}

/* Number `at`, when it is there. */
WCODEC_DEVICE_FUNCTION float wcodec_rollout_await(const struct wcodec_rollout_launch *l,
                                                  uint64_t place, uint32_t at, uint32_t turn)
{
    WCODEC_GLOBAL uint64_t *from = (WCODEC_GLOBAL uint64_t *)(place + 8 * (uint64_t)at);
    WCODEC_GLOBAL uint32_t *fault = (WCODEC_GLOBAL uint32_t *)l->fault;
    uint64_t found = wcodec_exchange_get(from);
    for (uint32_t reads = 1; (uint32_t)(found >> 32) != turn + 1; reads++) {
        if (reads >= l->patience)
            wcodec_exchange_fail(fault);
        if (reads % WCODEC_ROLLOUT_LOOK == 0 && wcodec_exchange_look(fault) != 0)
            break;
        wcodec_exchange_pause();
        found = wcodec_exchange_get(from);
    }
    return wcodec_bits_float((uint32_t)found);
}

/* A vector's numbers that other parts make than the one whose rows begin at `own`; those of this
 * item. */
WCODEC_DEVICE_FUNCTION void wcodec_rollout_receive(const struct wcodec_rollout_launch *l,
                                                   uint64_t place, uint32_t own, uint32_t turn,
                                                   WCODEC_GROUP_LOCAL float *vector, uint32_t item,
                                                   uint32_t items)
{
    WCODEC_UNROLL_NONE
    for (uint32_t at = item; at < l->hidden_count; at += items)
        if (at - own >= l->rows)
            vector[at] = wcodec_rollout_await(l, place, at, turn);
}
#endif

#endif
