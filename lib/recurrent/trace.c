/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* A rollout as lines of the log: each member's steps, and its metrics. They are made of what came
 * of it, by the thread that asked, so that neither threads nor the processor's level change them.
 */
#include "recurrent/trace.h"

#include "core/log.h"

#include <math.h>

bool wcodec_rssm_traces(const wcodec_rssm *rssm)
{
    return wcodec_log_wants(rssm->context, WCODEC_LOG_DEBUG);
}

size_t wcodec_rssm_trace_floats(const wcodec_rssm *rssm, size_t steps)
{
    return 2 * rssm->members * steps;
}

void wcodec_rssm_trace_begin(struct wcodec_rssm_run *run, float *memory,
                             struct wcodec_rssm_trace *trace)
{
    trace->output = *run->output;
    if (trace->output.hidden_norms == NULL)
        trace->output.hidden_norms = memory;
    if (trace->output.metrics == NULL)
        trace->output.metrics = trace->metrics;
    run->step_entropy = memory + run->rssm->members * run->steps;
    run->output = &trace->output;
}

static void trace_member(const struct wcodec_rssm_run *run, size_t member)
{
    wcodec_context *context = run->rssm->context;
    const float *loss = run->output->trajectories + member * (run->steps + 1),
                *norm = run->output->hidden_norms + member * run->steps,
                *entropy = run->step_entropy + member * run->steps;
    for (size_t t = 0; t < run->steps; t++)
        wcodec_log(context, WCODEC_LOG_DEBUG,
                   "rollout: member %zu, step %zu: loss %.9g, step delta %.9g, hidden norm %.9g, "
                   "entropy %.9g",
                   member, t + 1, (double)loss[t + 1], fabs((double)(loss[t + 1] - loss[t])),
                   (double)norm[t], (double)entropy[t]);
    const wcodec_rssm_metrics *m = &run->output->metrics[member];
    wcodec_log(context, WCODEC_LOG_DEBUG,
               "rollout: member %zu: loss variance %.9g, smoothness %.9g, entropy %.9g", member,
               (double)m->loss_variance, (double)m->smoothness, (double)m->entropy);
}

void wcodec_rssm_trace(const struct wcodec_rssm_run *run, const wcodec_rssm_summary *summary,
                       const char *who)
{
    const wcodec_rssm *r = run->rssm;
    static const char *const modes[] = {[WCODEC_RSSM_PRODUCTION] = "production",
                                        [WCODEC_RSSM_REFERENCE] = "reference",
                                        [WCODEC_RSSM_SAMPLED] = "sampled"};
    wcodec_log(r->context, WCODEC_LOG_DEBUG,
               "rollout by %s: %zu members, %zu hidden values, %zu stochastic, %zu inputs, %s, %zu "
               "steps from the loss %.9g",
               who, r->members, r->hidden, r->stochastic, r->inputs, modes[r->mode], run->steps,
               (double)run->input->loss);
    for (size_t i = 0; i < r->members; i++)
        trace_member(run, i);
    wcodec_log(r->context, WCODEC_LOG_DEBUG,
               "rollout: loss %.9g, variance %.9g, deviation %.9g, confidence %.9g, entropy %.9g",
               (double)summary->loss, (double)summary->variance, (double)summary->deviation,
               (double)summary->confidence, (double)summary->entropy);
}
