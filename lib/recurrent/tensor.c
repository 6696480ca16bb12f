/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Rollouts of many starts by a device's tensor cores: as many at a time as fit a work area. What
 * they begin with goes there, losses, entropies and the last values come back. */
#include "recurrent/many.h"

#include "core/context.h"
#include "core/error.h"
#include "core/log.h"
#include "core/memory.h"
#include "recurrent/upload.h"

#include <math.h>
#include <pthread.h>
#include <string.h>

/* Most floats of a work area, which is many starts; starts that are one task; fewest at once. */
enum { WORK_FLOATS = 64 << 20, STARTS_OF_TASK = 64, STARTS_LEAST = 16 };

struct wcodec_rssm_tensor {
    const wcodec_rssm *rssm;
    struct wcodec_rollout_plan plan;
    struct wcodec_staging_owner owner;
    struct wcodec_memory *weights;
    pthread_mutex_t lock; /* of what follows */
    struct wcodec_queue *queue;
    struct wcodec_staging work; /* there */
    struct wcodec_staging host; /* what comes from there, and goes to it */
};

/* Is there a form for it? The log says why not. */
static bool plan(struct wcodec_opened *o, const wcodec_rssm *r, struct wcodec_rollout_plan *p)
{
    const struct wcodec_rollout_sizes sizes = {
        .members = (uint32_t)r->members,
        .hidden = (uint32_t)r->hidden,
        .stochastic = (uint32_t)r->stochastic,
        .inputs = (uint32_t)r->inputs,
        .mode = (uint32_t)r->mode,
        .rounded = true,
    };
    if (r->mode != WCODEC_RSSM_SAMPLED && o->backend->rollouts->plan(o->device, &sizes, p) &&
        p->tiles > 0)
        return true;
    wcodec_log(r->context, WCODEC_LOG_WARNING,
               "%s has no tensor cores, or not enough room, for %s rollouts of %zu inputs and %zu "
               "hidden values: they go one by one, and products are of binary32",
               o->name, r->mode == WCODEC_RSSM_SAMPLED ? "sampled" : "many", r->inputs, r->hidden);
    return false;
}

static bool no_room(wcodec_status status)
{
    return status == WCODEC_ERROR_MEMORY || status == WCODEC_ERROR_LIMIT;
}

wcodec_status wcodec_rssm_tensor_create(const wcodec_rssm *r, const wcodec_rssm_options *options,
                                        const wcodec_gru_weights *members,
                                        struct wcodec_rssm_tensor **tensor, wcodec_error *err)
{
    struct wcodec_rollout_plan p;
    struct wcodec_opened *o;
    wcodec_error reason = {0};
    *tensor = NULL;
    if (options->products != WCODEC_GRU_PRODUCTS_BF16 || r->device == NULL)
        return WCODEC_OK;
    wcodec_status status = wcodec_recurrent_device_of(r->context, options->memory, &o, err);
    if (status != WCODEC_OK || !plan(o, r, &p))
        return status;
    struct wcodec_rssm_tensor *c = wcodec_alloc_zeroed(&r->allocator, sizeof *c);
    if (c == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for an ensemble");
    c->rssm = r;
    c->plan = p;
    c->owner = (struct wcodec_staging_owner){.context = r->context,
                                             .device = o,
                                             .purpose = "a rollout of many starts",
                                             .limit = r->context->limits.max_memory};
    pthread_mutex_init(&c->lock, NULL);
    status = wcodec_opened_allocate(o, WCODEC_MEMORY_DEVICE,
                                    sizeof(float) * r->members * p.parts * p.part_floats,
                                    &c->weights, &reason);
    if (status == WCODEC_OK)
        status = o->backend->queue_create(o->device, &c->queue, &reason);
    if (status == WCODEC_OK)
        status = wcodec_recurrent_upload_members(
            &(struct wcodec_recurrent_upload){&c->owner, &c->host, c->queue, c->weights, &c->plan},
            members, r->members, r->head, &reason);
    if (status == WCODEC_OK) {
        *tensor = c;
        return status;
    }
    if (no_room(status)) {
        wcodec_log(r->context, WCODEC_LOG_WARNING,
                   "%s has no room for weights of tensor cores (%s): rollouts go one by one, and "
                   "products are of binary32",
                   o->name, reason.text);
        status = WCODEC_OK;
    } else {
        status = wcodec_backends_failed(r->context, o, status, &reason, err);
    }
    wcodec_rssm_tensor_destroy(c);
    return status;
}

void wcodec_rssm_tensor_destroy(struct wcodec_rssm_tensor *c)
{
    if (c == NULL)
        return;
    const struct wcodec_backend *b = c->owner.device->backend;
    if (c->queue != NULL) {
        b->queue_wait(c->queue, NULL);
        b->queue_destroy(c->queue);
    }
    wcodec_staging_release(&c->owner, &c->work);
    wcodec_staging_release(&c->owner, &c->host);
    if (c->weights != NULL)
        b->memory_free(c->weights);
    pthread_mutex_destroy(&c->lock);
    wcodec_free(&c->rssm->allocator, c);
}

/* Starts from `first` on that are taken together, and what came of them, from losses on. */
struct batch {
    const struct wcodec_rssm_many *many;
    size_t first, count;
    struct wcodec_many_work work;
    struct wcodec_staging host; /* taken from where others would find it */
    const float *from;
};

static void put_begin(const struct batch *b, float *to)
{
    const wcodec_rssm *r = b->many->rssm;
    const float *hidden = b->many->starts->hidden;
    memcpy(to + b->work.features, b->many->starts->features + b->first * r->inputs,
           b->count * r->inputs * sizeof *to);
    for (size_t i = 0; i < b->count && hidden != NULL; i++)
        for (size_t member = 0; member < r->members; member++) {
            float *own = to + b->work.hidden + (member * b->count + i) * r->hidden;
            if (b->many->alone[b->first + i] == 0)
                memcpy(own, hidden + ((b->first + i) * r->members + member) * r->hidden,
                       r->hidden * sizeof *to);
            else
                memset(own, 0, r->hidden * sizeof *to);
        }
}

static void take_start(const struct batch *b, size_t i)
{
    const struct wcodec_rssm_many *m = b->many;
    const wcodec_rssm *r = m->rssm;
    struct wcodec_rssm_start s;
    wcodec_rssm_start_at(m, b->first + i, NULL, &s);
    for (size_t member = 0; member < r->members; member++) {
        const size_t of = member * b->count + i, at = of * m->steps;
        const float *entropy = b->from + (b->work.entropy - b->work.loss) + at;
        double sum = 0;
        for (size_t t = 0; t < m->steps; t++)
            sum += r->mode == WCODEC_RSSM_REFERENCE ? 0.01 : (double)entropy[t];
        s.entropy[member] = sum;
        wcodec_rssm_put_losses(&s.tasks.run, member, b->from + at, sum);
        if (s.output.hidden != NULL)
            memcpy(s.output.hidden + member * r->hidden,
                   b->from + (b->work.last - b->work.loss) + of * r->hidden,
                   r->hidden * sizeof *b->from);
    }
    wcodec_rssm_start_end(m, b->first + i, &s);
}

static size_t tasks_of(size_t starts)
{
    return starts / STARTS_OF_TASK + (starts % STARTS_OF_TASK != 0);
}

static void take_share(void *argument, size_t task)
{
    const struct batch *b = argument;
    const size_t begin = task * STARTS_OF_TASK;
    for (size_t i = begin; i < b->count && i - begin < STARTS_OF_TASK; i++)
        if (b->many->alone[b->first + i] == 0)
            take_start(b, i);
}

static wcodec_status run_batch(struct wcodec_rssm_tensor *c, struct batch *b, wcodec_error *err)
{
    const struct wcodec_backend *backend = c->owner.device->backend;
    const bool wants_last = b->many->courses->hidden != NULL;
    const bool alike = b->many->starts->hidden == NULL;
    const uint32_t steps = (uint32_t)b->many->steps;
    b->work = wcodec_many_work(&c->plan, b->count, steps, alike);
    const uint64_t unit = sizeof(float), in = b->work.loss * unit,
                   out = ((wants_last ? b->work.size : b->work.last) - b->work.loss) * unit;
    wcodec_status status =
        wcodec_staging_reserve(&c->owner, &c->work, WCODEC_MEMORY_DEVICE, b->work.size * unit, err);
    if (status == WCODEC_OK)
        status = wcodec_staging_reserve(&c->owner, &c->host, WCODEC_MEMORY_PINNED,
                                        in > out ? in : out, err);
    if (status != WCODEC_OK)
        return status;
    const struct wcodec_many_rollouts rollouts = {.plan = &c->plan,
                                                  .weights = c->weights,
                                                  .work = c->work.memory,
                                                  .starts = b->count,
                                                  .steps = steps,
                                                  .alike = alike};
    put_begin(b, (float *)c->host.data);
    status = backend->copy_in(c->queue, c->work.memory, 0, c->host.data, in, err);
    if (status == WCODEC_OK)
        status = backend->rollouts->run_many(c->queue, &rollouts, err);
    if (status == WCODEC_OK && out > 0)
        status = backend->copy_out(c->queue, c->host.data, c->work.memory, b->work.loss * unit, out,
                                   err);
    /* What was given reads and writes the host's memory. */
    const wcodec_status waited = backend->queue_wait(c->queue, status == WCODEC_OK ? err : NULL);
    if (status == WCODEC_OK)
        status = waited;
    if (status != WCODEC_OK)
        return status;
    b->host = c->host;
    c->host = (struct wcodec_staging){0};
    return status;
}

/* Tasks of the caller's threads may roll out by the same device, so that they hold no lock; the
 * larger of the buffers is kept. */
static void take_batch(struct wcodec_rssm_tensor *c, struct batch *b)
{
    struct wcodec_staging other = b->host;
    b->from = (const float *)b->host.data;
    wcodec_run(c->rssm->context, take_share, b, tasks_of(b->count));
    pthread_mutex_lock(&c->lock);
    if (c->host.size < b->host.size) {
        other = c->host;
        c->host = b->host;
    }
    wcodec_staging_release(&c->owner, &other);
    pthread_mutex_unlock(&c->lock);
}

/* Mark starts of hidden values that are larger than the device likes them. */
static void mark_share(void *argument, size_t task)
{
    const struct wcodec_rssm_many *m = argument;
    const size_t count = (size_t)m->starts->count, of_start = m->rssm->members * m->rssm->hidden,
                 begin = task * STARTS_OF_TASK;
    for (size_t i = begin; i < count && i - begin < STARTS_OF_TASK; i++) {
        uint8_t large = 0;
        for (size_t k = 0; m->starts->hidden != NULL && k < of_start; k++)
            large |= !(fabsf(m->starts->hidden[i * of_start + k]) <= 4);
        m->alone[i] = large;
    }
}

/* Where there is no room, by fewer at a time. */
static wcodec_status run_batches(struct wcodec_rssm_tensor *c, const struct wcodec_rssm_many *m,
                                 wcodec_error *err)
{
    const size_t count = (size_t)m->starts->count,
                 of_start = m->rssm->inputs + 2 * m->rssm->members * (m->rssm->hidden + m->steps);
    size_t most = WORK_FLOATS / of_start, first = 0;
    while (first < count) {
        struct batch b = {
            .many = m, .first = first, .count = count - first < most ? count - first : most};
        pthread_mutex_lock(&c->lock);
        const wcodec_status status = run_batch(c, &b, err);
        if (no_room(status)) {
            wcodec_staging_release(&c->owner, &c->work);
            wcodec_staging_release(&c->owner, &c->host);
        }
        pthread_mutex_unlock(&c->lock);
        if (no_room(status) && b.count > STARTS_LEAST) {
            most = b.count / 2;
            continue;
        }
        if (status != WCODEC_OK)
            return status;
        take_batch(c, &b);
        first += b.count;
    }
    return WCODEC_OK;
}

wcodec_status wcodec_rssm_tensor_run(struct wcodec_rssm_tensor *c, const struct wcodec_rssm_many *m,
                                     wcodec_error *err)
{
    struct wcodec_opened *o = c->owner.device;
    struct wcodec_rssm_many marked = *m;
    wcodec_error reason = {0};
    if (atomic_load(&o->lost))
        return WCODEC_ERROR_UNSUPPORTED;
    wcodec_run(c->rssm->context, mark_share, &marked, tasks_of((size_t)m->starts->count));
    const wcodec_status status = run_batches(c, m, &reason);
    if (status == WCODEC_OK)
        return status;
    if (no_room(status)) {
        wcodec_log(c->rssm->context, WCODEC_LOG_INFO,
                   "%s has no room for rollouts by tensor cores (%s): they go one by one", o->name,
                   reason.text);
        return WCODEC_ERROR_UNSUPPORTED;
    }
    const wcodec_status failed = wcodec_backends_failed(c->rssm->context, o, status, &reason, err);
    /* Then who rolls out one by one says what comes of it. */
    return atomic_load(&o->lost) ? WCODEC_ERROR_UNSUPPORTED : failed;
}
