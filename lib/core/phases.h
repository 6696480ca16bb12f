/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* What a long call's time goes into: sums over threads, which become shares of the clock. */
#ifndef WCODEC_CORE_PHASES_H
#define WCODEC_CORE_PHASES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <wcodec/base.h>

enum wcodec_phase {
    WCODEC_PHASE_READ,
    WCODEC_PHASE_CODE,
    WCODEC_PHASE_VERIFY,
    WCODEC_PHASE_HASH,
    WCODEC_PHASE_WRITE,
    WCODEC_PHASES
};

struct wcodec_phases {
    bool on;                            /* else no clock is read */
    _Atomic uint64_t ns[WCODEC_PHASES]; /* of threads */
    uint64_t shares[WCODEC_PHASES];     /* of the clock */
    uint64_t begin;                     /* of the call */
};

/* Nanoseconds of a clock that never jumps. */
uint64_t wcodec_clock_ns(void);

/* A call begins. times: NULL, nothing is measured. */
void wcodec_phases_begin(struct wcodec_phases *phases, const wcodec_times *times);

static inline uint64_t wcodec_phase_begin(const struct wcodec_phases *phases)
{
    return phases->on ? wcodec_clock_ns() : 0;
}

/* What a thread has done since `begin` was of that phase. Returns the time, for the next one. */
static inline uint64_t wcodec_phase_end(struct wcodec_phases *phases, enum wcodec_phase phase,
                                        uint64_t begin)
{
    if (!phases->on)
        return 0;
    const uint64_t now = wcodec_clock_ns();
    atomic_fetch_add_explicit(&phases->ns[phase], now - begin, memory_order_relaxed);
    return now;
}

/* A stage of `wall` nanoseconds has ended: the sums of its threads say how it divides. Without any
 * it is all of `phase`. */
void wcodec_phases_divide(struct wcodec_phases *phases, uint64_t wall, enum wcodec_phase phase);

/* The call ends. */
void wcodec_phases_end(const struct wcodec_phases *phases, wcodec_times *times);

#endif
