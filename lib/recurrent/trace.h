/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The trace of a rollout, which the log gets at the level debug. */
#ifndef WCODEC_RECURRENT_TRACE_H
#define WCODEC_RECURRENT_TRACE_H

#include "recurrent/rssm.h"

/* Outputs that the trace needs, where the caller wants none of them. */
struct wcodec_rssm_trace {
    wcodec_rssm_output output;
    wcodec_rssm_metrics metrics[WCODEC_RSSM_MEMBERS_MOST];
};

/* Does the log want it? */
bool wcodec_rssm_traces(const wcodec_rssm *rssm);

/* Floats of memory that it needs while a rollout runs. */
size_t wcodec_rssm_trace_floats(const wcodec_rssm *rssm, size_t steps);

/* Before the rollout: all that is traced becomes an output of it. */
void wcodec_rssm_trace_begin(struct wcodec_rssm_run *run, float *memory,
                             struct wcodec_rssm_trace *trace);

/* After it; `who` rolled out. */
void wcodec_rssm_trace(const struct wcodec_rssm_run *run, const wcodec_rssm_summary *summary,
                       const char *who);

#endif
