/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Weights go to the device once, in the order in which it reads them; each rollout sends what it
 * begins with, and brings losses, norms, entropies and the last values. */
#include "recurrent/device.h"

#include "core/context.h"
#include "core/error.h"
#include "core/log.h"
#include "core/memory.h"
#include "recurrent/upload.h"

#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <string.h>

struct wcodec_rssm_device {
    const wcodec_rssm *rssm;
    struct wcodec_rollout_plan plan;
    struct wcodec_staging_owner owner;
    struct wcodec_memory *weights;
    pthread_mutex_t lock; /* of what follows */
    struct wcodec_queue *queue;
    struct wcodec_staging work; /* there */
    struct wcodec_staging host; /* what comes from there, and goes to it */
    bool left;                  /* it rolls out nothing, and is not tried again */
};

static wcodec_status failed(const struct wcodec_rssm_device *d, wcodec_status status,
                            const wcodec_error *reason, wcodec_error *err)
{
    return status == WCODEC_OK
               ? status
               : wcodec_backends_failed(d->rssm->context, d->owner.device, status, reason, err);
}

static wcodec_status upload(struct wcodec_rssm_device *d, const wcodec_gru_weights *members,
                            wcodec_error *err)
{
    const struct wcodec_backend *b = d->owner.device->backend;
    const struct wcodec_rssm *r = d->rssm;
    const struct wcodec_recurrent_upload to = {&d->owner, &d->host, d->queue, d->weights, &d->plan};
    const uint64_t weights = r->members * d->plan.parts * d->plan.part_floats * sizeof(float),
                   head = (r->hidden + r->stochastic) * sizeof(float);
    wcodec_status status = wcodec_recurrent_upload_members(&to, members, r->members, NULL, err);
    if (status == WCODEC_OK)
        status = wcodec_staging_reserve(&d->owner, &d->host, WCODEC_MEMORY_PINNED, head, err);
    if (status != WCODEC_OK)
        return status;
    memcpy(d->host.data, r->head, (size_t)head);
    status = b->copy_in(d->queue, d->weights, weights, d->host.data, head, err);
    return status == WCODEC_OK ? b->queue_wait(d->queue, err) : status;
}

wcodec_status wcodec_rssm_device_create(const wcodec_rssm *r, const char *memory,
                                        const wcodec_gru_weights *members,
                                        struct wcodec_rssm_device **device, wcodec_error *err)
{
    const struct wcodec_rollout_sizes sizes = {
        .members = (uint32_t)r->members,
        .hidden = (uint32_t)r->hidden,
        .stochastic = (uint32_t)r->stochastic,
        .inputs = (uint32_t)r->inputs,
        .mode = (uint32_t)r->mode,
    };
    struct wcodec_opened *o = NULL;
    wcodec_error reason = {0};
    *device = NULL;
    if (memory == NULL)
        return WCODEC_OK;
    wcodec_status status = wcodec_recurrent_device_of(r->context, memory, &o, err);
    if (status != WCODEC_OK)
        return status;
    struct wcodec_rssm_device *d = wcodec_alloc_zeroed(&r->allocator, sizeof *d);
    if (d == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for an ensemble");
    d->rssm = r;
    d->owner = (struct wcodec_staging_owner){.context = r->context,
                                             .device = o,
                                             .purpose = "a rollout",
                                             .limit = r->context->limits.max_memory};
    if (!o->backend->rollouts->plan(o->device, &sizes, &d->plan)) {
        wcodec_log(r->context, WCODEC_LOG_INFO,
                   "%s has no room for members of %zu hidden values: the CPU rolls them out",
                   o->name, r->hidden);
        wcodec_free(&r->allocator, d);
        return WCODEC_OK;
    }
    pthread_mutex_init(&d->lock, NULL);
    status =
        wcodec_opened_allocate(o, WCODEC_MEMORY_DEVICE,
                               sizeof(float) * (r->members * d->plan.parts * d->plan.part_floats +
                                                r->hidden + r->stochastic),
                               &d->weights, &reason);
    if (status == WCODEC_OK)
        status = o->backend->queue_create(o->device, &d->queue, &reason);
    if (status == WCODEC_OK)
        status = upload(d, members, &reason);
    if (status == WCODEC_OK) {
        /* A part is larger than what rollouts send. */
        wcodec_staging_release(&d->owner, &d->host);
        *device = d;
    } else {
        failed(d, status, &reason, err);
        wcodec_rssm_device_destroy(d);
    }
    return status;
}

void wcodec_rssm_device_destroy(struct wcodec_rssm_device *d)
{
    if (d == NULL)
        return;
    const struct wcodec_backend *b = d->owner.device->backend;
    if (d->queue != NULL) {
        b->queue_wait(d->queue, NULL);
        b->queue_destroy(d->queue);
    }
    wcodec_staging_release(&d->owner, &d->work);
    wcodec_staging_release(&d->owner, &d->host);
    if (d->weights != NULL)
        b->memory_free(d->weights);
    pthread_mutex_destroy(&d->lock);
    wcodec_free(&d->rssm->allocator, d);
}

/* Are hidden values as small as the device likes them? */
static bool bounded(const wcodec_rssm *r, const float *hidden)
{
    bool all = true;
    for (size_t i = 0; hidden != NULL && i < r->members * r->hidden; i++)
        all = all && fabsf(hidden[i]) <= 4;
    return all;
}

static void put_input(const wcodec_rssm *r, const wcodec_rssm_input *input,
                      const struct wcodec_rollout_work *w, float *to)
{
    memcpy(to + w->features, input->features, r->inputs * sizeof *to);
    if (input->hidden != NULL)
        memcpy(to + w->hidden, input->hidden, r->members * r->hidden * sizeof *to);
    else
        for (size_t i = 0; i < r->hidden; i++)
            to[w->hidden + i] = i < r->inputs ? tanhf(input->features[i]) : 0;
}

/* from: what the device has from the fault on. */
static void take_output(const struct wcodec_rssm_tasks *t, const struct wcodec_rollout_work *w,
                        const float *from)
{
    const struct wcodec_rssm_run *run = &t->run;
    const wcodec_rssm *r = run->rssm;
    const float *losses = from + (w->loss - w->fault), *squares = from + (w->squares - w->fault),
                *entropy = from + (w->entropy - w->fault), *last = from + (w->last - w->fault);
    for (size_t i = 0; i < r->members; i++) {
        const size_t at = i * run->steps;
        const float *of = last + i * (r->hidden + r->stochastic);
        double sum = 0;
        for (size_t k = 0; k < run->steps; k++) {
            const double of_step =
                r->mode == WCODEC_RSSM_REFERENCE ? 0.01 : (double)entropy[at + k];
            sum += of_step;
            if (run->step_entropy != NULL)
                run->step_entropy[at + k] = (float)of_step;
        }
        t->entropy[i] = sum;
        wcodec_rssm_put_losses(run, i, losses + at, sum);
        for (size_t k = 0; k < run->steps && run->output->hidden_norms != NULL; k++)
            run->output->hidden_norms[at + k] = sqrtf(squares[at + k]);
        wcodec_rssm_put_last(run, i, of, of + r->hidden);
    }
}

/* Memory that the rollout works in, the host's own where the device takes that, else its own. */
static wcodec_status reserve(struct wcodec_rssm_device *d, const struct wcodec_rollout_work *w,
                             struct wcodec_memory **work, wcodec_error *err)
{
    const uint64_t in = w->loss, out = w->stay - w->fault, most = in > out ? in : out;
    wcodec_status status =
        wcodec_staging_reserve(&d->owner, &d->host, WCODEC_MEMORY_PINNED,
                               sizeof(float) * (d->plan.takes_pinned ? w->size : most), err);
    *work = d->host.memory;
    if (status != WCODEC_OK || (d->plan.takes_pinned && d->host.memory != NULL))
        return status;
    status = wcodec_staging_reserve(&d->owner, &d->work, WCODEC_MEMORY_DEVICE,
                                    w->size * sizeof(float), err);
    *work = d->work.memory;
    return status;
}

/* *from: where the host has what came out, from the fault on. */
static wcodec_status run(struct wcodec_rssm_device *d, const struct wcodec_rollout_work *w,
                         const struct wcodec_ensemble_rollout *rollout, const float **from,
                         wcodec_error *err)
{
    const struct wcodec_backend *b = d->owner.device->backend;
    const bool copied = rollout->work != d->host.memory;
    wcodec_status status = WCODEC_OK;
    *from = (const float *)d->host.data + (copied ? 0 : w->fault);
    if (copied)
        status = b->copy_in(d->queue, rollout->work, 0, d->host.data, w->loss * sizeof(float), err);
    if (status == WCODEC_OK)
        status = b->rollouts->run(d->queue, rollout, err);
    if (status == WCODEC_OK && copied)
        status = b->copy_out(d->queue, d->host.data, rollout->work, w->fault * sizeof(float),
                             (w->stay - w->fault) * sizeof(float), err);
    /* What was given reads and writes the host's memory. */
    const wcodec_status waited = b->queue_wait(d->queue, status == WCODEC_OK ? err : NULL);
    return status == WCODEC_OK ? waited : status;
}

static wcodec_status roll_out(struct wcodec_rssm_device *d, struct wcodec_rssm_tasks *t,
                              wcodec_error *err)
{
    const bool alike = t->run.input->hidden == NULL;
    const uint32_t steps = (uint32_t)t->run.steps;
    const struct wcodec_rollout_work w = wcodec_rollout_work(&d->plan, steps, alike);
    struct wcodec_memory *work;
    const float *from;
    wcodec_status status = reserve(d, &w, &work, err);
    if (status != WCODEC_OK)
        return status;
    const struct wcodec_ensemble_rollout rollout = {.plan = &d->plan,
                                                    .weights = d->weights,
                                                    .work = work,
                                                    .seed = t->run.input->seed,
                                                    .steps = steps,
                                                    .alike = alike,
                                                    .bounded =
                                                        bounded(d->rssm, t->run.input->hidden)};
    memset(d->host.data, 0, w.loss * sizeof(float));
    put_input(d->rssm, t->run.input, &w, (float *)d->host.data);
    status = run(d, &w, &rollout, &from, err);
    if (status != WCODEC_OK)
        return status;
    uint32_t fault;
    memcpy(&fault, from, sizeof fault);
    if (fault != 0)
        return wcodec_fail(err, WCODEC_ERROR_UNSUPPORTED,
                           "work-groups of a member waited for each other in vain");
    take_output(t, &w, from);
    return WCODEC_OK;
}

wcodec_status wcodec_rssm_device_run(struct wcodec_rssm_device *d, struct wcodec_rssm_tasks *tasks,
                                     wcodec_error *err)
{
    wcodec_context *context = d->rssm->context;
    wcodec_error reason = {0};
    if (atomic_load(&d->owner.device->lost))
        return d->owner.device->cpu_allowed
                   ? wcodec_fail(err, WCODEC_ERROR_UNSUPPORTED, "%s was lost",
                                 d->owner.device->name)
                   : wcodec_fail(err, WCODEC_ERROR_DEVICE, "%s: %s", d->owner.device->name,
                                 d->owner.device->loss);
    pthread_mutex_lock(&d->lock);
    const bool left = d->left;
    const wcodec_status status = left ? WCODEC_ERROR_UNSUPPORTED : roll_out(d, tasks, &reason);
    d->left = status == WCODEC_ERROR_UNSUPPORTED;
    pthread_mutex_unlock(&d->lock);
    if (left)
        return wcodec_fail(err, status, "%s rolls out nothing", d->owner.device->name);
    if (status == WCODEC_OK)
        return status;
    failed(d, status, &reason, err);
    if (status == WCODEC_ERROR_DEVICE && d->owner.device->cpu_allowed)
        return WCODEC_ERROR_UNSUPPORTED;
    if (status == WCODEC_ERROR_UNSUPPORTED)
        wcodec_log(context, WCODEC_LOG_INFO, "%s rolls out nothing, the CPU does: %s",
                   d->owner.device->name, reason.text);
    return status;
}

const char *wcodec_rssm_device_name(const struct wcodec_rssm_device *d)
{
    return d->owner.device->backend->name;
}

bool wcodec_rssm_device_is_left(struct wcodec_rssm_device *d)
{
    pthread_mutex_lock(&d->lock);
    const bool is_left = d->left || atomic_load(&d->owner.device->lost);
    pthread_mutex_unlock(&d->lock);
    return is_left;
}
