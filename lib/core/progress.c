/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "core/progress.h"
#include "core/assert.h"
#include "core/error.h"
#include "core/phases.h"

#define INTERVAL UINT64_C(200000000)

void wcodec_reporter_init(struct wcodec_reporter *reporter, const wcodec_progress *progress,
                          uint64_t total)
{
    *reporter = (struct wcodec_reporter){.total = total};
    if (progress != NULL && progress->fn != NULL) {
        reporter->progress = *progress;
        reporter->last = wcodec_clock_ns();
    }
}

static wcodec_status report(struct wcodec_reporter *reporter, wcodec_error *err)
{
    uint64_t position = reporter->done > reporter->reached ? reporter->done : reporter->reached;
    if (reporter->total != 0 && position > reporter->total)
        position = reporter->total;
    reporter->reached = position;
    if (reporter->progress.fn(reporter->progress.opaque, position, reporter->total) != 0)
        return wcodec_fail(err, WCODEC_ERROR_CANCELLED, "cancelled by the caller");
    return WCODEC_OK;
}

wcodec_status wcodec_reporter_add(struct wcodec_reporter *reporter, uint64_t bytes,
                                  wcodec_error *err)
{
    WCODEC_ASSERT(reporter->total == 0 || bytes <= reporter->total - reporter->done);
    reporter->done += bytes;
    if (reporter->progress.fn == NULL)
        return WCODEC_OK;
    uint64_t time = wcodec_clock_ns();
    if (time - reporter->last < INTERVAL)
        return WCODEC_OK;
    reporter->last = time;
    return report(reporter, err);
}

wcodec_status wcodec_reporter_reach(struct wcodec_reporter *reporter, uint64_t position,
                                    wcodec_error *err)
{
    if (position > reporter->reached)
        reporter->reached = position;
    return wcodec_reporter_add(reporter, 0, err);
}

wcodec_status wcodec_reporter_end(struct wcodec_reporter *reporter, wcodec_error *err)
{
    return reporter->progress.fn == NULL ? WCODEC_OK : report(reporter, err);
}
