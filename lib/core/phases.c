/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "core/phases.h"
#include <time.h>

uint64_t wcodec_clock_ns(void)
{
    struct timespec t;
    return clock_gettime(CLOCK_MONOTONIC, &t) == 0
               ? (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec
               : 0;
}

void wcodec_phases_begin(struct wcodec_phases *phases, const wcodec_times *times)
{
    *phases = (struct wcodec_phases){.on = times != NULL};
    phases->begin = wcodec_phase_begin(phases);
}

void wcodec_phases_divide(struct wcodec_phases *phases, uint64_t wall, enum wcodec_phase phase)
{
    uint64_t sum = 0;
    if (!phases->on)
        return;
    for (unsigned i = 0; i < WCODEC_PHASES; i++)
        sum += phases->ns[i];
    if (sum == 0)
        phases->shares[phase] += wall;
    for (unsigned i = 0; i < WCODEC_PHASES; i++) {
        const double part = sum != 0 ? (double)phases->ns[i] / (double)sum : 0;
        phases->shares[i] += (uint64_t)(part * (double)wall);
        phases->ns[i] = 0;
    }
}

void wcodec_phases_end(const struct wcodec_phases *phases, wcodec_times *times)
{
    if (!phases->on)
        return;
    const uint64_t total = wcodec_clock_ns() - phases->begin, *s = phases->shares;
    uint64_t sum = 0;
    for (unsigned i = 0; i < WCODEC_PHASES; i++)
        sum += s[i];
    /* Clocks are read at different times: the parts may make a little more. */
    *times = (wcodec_times){.total = sum < total ? total : sum,
                            .reading = s[WCODEC_PHASE_READ],
                            .coding = s[WCODEC_PHASE_CODE],
                            .verifying = s[WCODEC_PHASE_VERIFY],
                            .hashing = s[WCODEC_PHASE_HASH],
                            .writing = s[WCODEC_PHASE_WRITE],
                            .waiting = sum < total ? total - sum : 0};
}
