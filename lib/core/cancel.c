/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "core/cancel.h"

void wcodec_cancel_init(struct wcodec_cancel *cancel, struct wcodec_reporter *reporter)
{
    cancel->caller = pthread_self();
    cancel->reporter = reporter;
    atomic_init(&cancel->cancelled, false);
}

bool wcodec_cancel_poll(struct wcodec_cancel *cancel)
{
    if (!cancel)
        return false;
    if (atomic_load_explicit(&cancel->cancelled, memory_order_relaxed))
        return true;
    if (!pthread_equal(pthread_self(), cancel->caller) ||
        wcodec_reporter_add(cancel->reporter, 0, NULL) != WCODEC_ERROR_CANCELLED)
        return false;
    atomic_store_explicit(&cancel->cancelled, true, memory_order_relaxed);
    return true;
}
