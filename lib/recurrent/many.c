/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Rollouts of many starts: by tensor cores, or one by one on the device, or by the CPU's threads,
 * which share them. */
#include "recurrent/many.h"

#include "core/context.h"
#include "core/error.h"
#include "core/log.h"
#include "core/memory.h"
#include "core/options.h"
#include "recurrent/device.h"

#include <inttypes.h>

void wcodec_rssm_start_at(const struct wcodec_rssm_many *m, size_t start, float *memory,
                          struct wcodec_rssm_start *s)
{
    const wcodec_rssm *r = m->rssm;
    const size_t hidden = start * r->members * r->hidden;
    s->input = (wcodec_rssm_input){
        .hidden = m->starts->hidden != NULL ? m->starts->hidden + hidden : NULL,
        .features = m->starts->features + start * r->inputs,
        .loss = m->starts->loss[start],
        .seed = m->starts->seed + start,
    };
    s->output = (wcodec_rssm_output){
        .trajectories = m->courses->trajectories + start * r->members * (m->steps + 1),
        .hidden = m->courses->hidden != NULL ? m->courses->hidden + hidden : NULL,
        .metrics = m->courses->metrics != NULL ? m->courses->metrics + start * r->members : NULL,
    };
    s->tasks = (struct wcodec_rssm_tasks){.run = {.rssm = r,
                                                  .input = &s->input,
                                                  .output = &s->output,
                                                  .steps = m->steps,
                                                  .memory = memory},
                                          .entropy = s->entropy};
}

void wcodec_rssm_start_end(const struct wcodec_rssm_many *m, size_t start,
                           const struct wcodec_rssm_start *s)
{
    if (m->courses->summaries != NULL)
        wcodec_rssm_summarise(&s->tasks.run, s->entropy, &m->courses->summaries[start]);
}

/* The starts from `first` on, which so many tasks share. */
struct share {
    const struct wcodec_rssm_many *many;
    size_t first, tasks;
    float *memory;
};

static void run_share(void *argument, size_t task)
{
    const struct share *h = argument;
    const wcodec_rssm *r = h->many->rssm;
    const uint64_t left = h->many->starts->count - h->first;
    const size_t begin = h->first + (size_t)(left * task / h->tasks),
                 end = h->first + (size_t)(left * (task + 1) / h->tasks);
    float *memory = h->memory + task * r->members * wcodec_rssm_run_floats(r);
    for (size_t i = begin; i < end; i++) {
        struct wcodec_rssm_start s;
        wcodec_rssm_start_at(h->many, i, memory, &s);
        for (size_t member = 0; member < r->members; member++)
            wcodec_rssm_run_member(&s.tasks, member);
        wcodec_rssm_start_end(h->many, i, &s);
    }
}

/* By the device, one by one: all, or those that tensor cores left; *done: those before it are. */
static wcodec_status run_each(const struct wcodec_rssm_many *m, bool left, float *memory,
                              size_t *done, wcodec_error *err)
{
    wcodec_status status = WCODEC_OK;
    for (*done = 0; *done < m->starts->count && status == WCODEC_OK; *done += status == WCODEC_OK) {
        struct wcodec_rssm_start s;
        if (left && m->alone[*done] == 0)
            continue;
        wcodec_rssm_start_at(m, *done, memory, &s);
        status = wcodec_rssm_device_run(m->rssm->device, &s.tasks, err);
        if (status == WCODEC_OK)
            wcodec_rssm_start_end(m, *done, &s);
    }
    return status;
}

/* *who: "tensor cores", or a backend's name, or "the CPU". */
static wcodec_status run_all(const struct wcodec_rssm_many *m, struct share *share,
                             const char **who, wcodec_error *err)
{
    const wcodec_rssm *r = m->rssm;
    wcodec_error reason = {0};
    wcodec_status status = WCODEC_ERROR_UNSUPPORTED;
    if (r->tensor != NULL) {
        *who = "tensor cores";
        status = wcodec_rssm_tensor_run(r->tensor, m, &reason);
    }
    const bool by_tensor = status == WCODEC_OK;
    if (status == WCODEC_ERROR_UNSUPPORTED && r->device != NULL)
        *who = wcodec_rssm_device_name(r->device);
    if (by_tensor || (status == WCODEC_ERROR_UNSUPPORTED && r->device != NULL))
        status = run_each(m, by_tensor, share->memory, &share->first, &reason);
    if (status != WCODEC_ERROR_UNSUPPORTED)
        return status == WCODEC_OK ? WCODEC_OK : wcodec_fail(err, status, "%s", reason.text);
    *who = "the CPU";
    wcodec_run(r->context, run_share, share, share->tasks);
    return WCODEC_OK;
}

static wcodec_status check(const wcodec_rssm *r, const wcodec_rssm_starts *starts, uint64_t steps,
                           const wcodec_rssm_courses *courses, wcodec_error *err)
{
    wcodec_status status = wcodec_context_usable(r->context, err);
    if (status == WCODEC_OK)
        status = wcodec_reserved_check(starts->reserved, sizeof starts->reserved, "starts", err);
    if (status == WCODEC_OK)
        status = wcodec_reserved_check(courses->reserved, sizeof courses->reserved, "courses", err);
    return status == WCODEC_OK ? wcodec_rssm_steps_check(steps, err) : status;
}

wcodec_status wcodec_rssm_rollout_many(const wcodec_rssm *rssm, const wcodec_rssm_starts *starts,
                                       uint64_t steps, const wcodec_rssm_courses *courses,
                                       wcodec_error *err)
{
    wcodec_status status = check(rssm, starts, steps, courses, err);
    const char *who;
    if (status != WCODEC_OK || starts->count == 0)
        return status;
    const size_t threads = wcodec_context_threads(rssm->context),
                 tasks = starts->count < threads ? (size_t)starts->count : threads;
    const bool by_tensor = rssm->tensor != NULL;
    const struct wcodec_rssm_many m = {
        .rssm = rssm,
        .starts = starts,
        .courses = courses,
        .steps = (size_t)steps,
        .alone = by_tensor ? wcodec_alloc_array(&rssm->allocator, (size_t)starts->count, 1) : NULL};
    struct share share = {.many = &m, .tasks = tasks};
    share.memory =
        wcodec_alloc_array(&rssm->allocator, tasks * rssm->members * wcodec_rssm_run_floats(rssm),
                           sizeof *share.memory);
    if (share.memory == NULL || (by_tensor && m.alone == NULL))
        status = wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for rollouts");
    else
        status = run_all(&m, &share, &who, err);
    if (status == WCODEC_OK)
        wcodec_log(rssm->context, WCODEC_LOG_DEBUG,
                   "rollouts by %s: %" PRIu64 " starts, %zu members, %zu hidden values, %zu steps",
                   who, starts->count, rssm->members, rssm->hidden, m.steps);
    wcodec_free(&rssm->allocator, share.memory);
    wcodec_free(&rssm->allocator, m.alone);
    return status;
}
