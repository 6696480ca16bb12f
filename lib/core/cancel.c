/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "core/cancel.h"
#include "core/error.h"

void wcodec_cancel_init(struct wcodec_cancel *cancel, struct wcodec_reporter *reporter)
{
    cancel->caller = pthread_self();
    cancel->reporter = reporter;
    atomic_init(&cancel->cancelled, false);
    cancel->begin = cancel->size = cancel->expected = 0;
    atomic_init(&cancel->work, 0);
}

void wcodec_cancel_span(struct wcodec_cancel *cancel, uint64_t begin, uint64_t size,
                        unsigned passes)
{
    if (!cancel)
        return;
    cancel->begin = begin;
    cancel->size = size;
    cancel->expected = size * passes;
    atomic_store_explicit(&cancel->work, 0, memory_order_relaxed);
}

void wcodec_cancel_count(struct wcodec_cancel *cancel, uint64_t bytes)
{
    if (cancel)
        atomic_fetch_add_explicit(&cancel->work, bytes, memory_order_relaxed);
}

/* A tenth is left until all is done: passes are estimated. */
static uint64_t position(struct wcodec_cancel *cancel)
{
    const double work = (double)atomic_load_explicit(&cancel->work, memory_order_relaxed),
                 most = 0.9 * (double)cancel->expected;
    if (cancel->expected == 0)
        return cancel->begin;
    return cancel->begin + (uint64_t)((double)cancel->size * (work < most ? work : most) /
                                      (double)cancel->expected);
}

bool wcodec_cancel_poll(struct wcodec_cancel *cancel)
{
    if (!cancel)
        return false;
    if (atomic_load_explicit(&cancel->cancelled, memory_order_relaxed))
        return true;
    if (!pthread_equal(pthread_self(), cancel->caller) ||
        wcodec_reporter_reach(cancel->reporter, position(cancel), NULL) != WCODEC_ERROR_CANCELLED)
        return false;
    atomic_store_explicit(&cancel->cancelled, true, memory_order_relaxed);
    return true;
}

wcodec_status wcodec_cancel_check(struct wcodec_cancel *cancel, wcodec_error *err)
{
    return wcodec_cancel_poll(cancel)
               ? wcodec_fail(err, WCODEC_ERROR_CANCELLED, "cancelled by the caller")
               : WCODEC_OK;
}
