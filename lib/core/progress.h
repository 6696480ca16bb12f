/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Reports to the caller's progress callback: seldom, and at the end. */
#ifndef WCODEC_CORE_PROGRESS_H
#define WCODEC_CORE_PROGRESS_H

#include <wcodec/base.h>

struct wcodec_reporter {
    wcodec_progress progress;
    uint64_t done;
    uint64_t reached; /* further than `done`, by an estimate; what was reported stays so */
    uint64_t total;
    uint64_t last; /* time of the last report in nanoseconds */
};

/* progress may be NULL. */
void wcodec_reporter_init(struct wcodec_reporter *reporter, const wcodec_progress *progress,
                          uint64_t total);

/* `bytes` more are done: report, if a while has passed since the last report.
 * WCODEC_ERROR_CANCELLED if the callback says so. */
wcodec_status wcodec_reporter_add(struct wcodec_reporter *reporter, uint64_t bytes,
                                  wcodec_error *err);

/* The work is so far, perhaps: reported as long as less is done for certain. */
wcodec_status wcodec_reporter_reach(struct wcodec_reporter *reporter, uint64_t position,
                                    wcodec_error *err);

/* The last report. */
wcodec_status wcodec_reporter_end(struct wcodec_reporter *reporter, wcodec_error *err);

#endif
