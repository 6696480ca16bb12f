/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* One member, forth and back through a lesson. */
#include "recurrent/learn.h"

#include <string.h>

enum { BLOCK = WCODEC_RSSM_BLOCK };

static const float decay = 0.7f;

/* to[k] += sum over rows of weights[row][k] delta[row], in a fixed order: lanes of blocks first. */
static void add_transposed(float *to, const float *weights, const float *delta, size_t columns,
                           size_t width)
{
    for (size_t k = 0; k < columns; k++) {
        float lanes[BLOCK] = {0}, sum = 0;
        for (size_t block = 0; block < width / BLOCK; block++) {
            const float *w = weights + (block * columns + k) * BLOCK, *d = delta + block * BLOCK;
            for (unsigned i = 0; i < BLOCK; i++)
                lanes[i] = wcodec_gates_term(w[i], d[i], lanes[i]);
        }
        for (unsigned i = 0; i < BLOCK; i++)
            sum += lanes[i];
        to[k] += sum;
    }
}

/* From the error to the hidden values after the last step. */
static void begin_back(const wcodec_rssm *r, float target, struct wcodec_rssm_pupil *p)
{
    const float *stochastic = p->values.stochastic, *head = r->head + r->hidden;
    const float logit = wcodec_rssm_logit(r, &p->values);
    float slope = 1, mean = 0;
    p->loss = wcodec_rssm_loss(r, logit);
    if (r->mode != WCODEC_RSSM_REFERENCE)
        slope = logit > -WCODEC_RSSM_LOGIT_MOST && logit < WCODEC_RSSM_LOGIT_MOST ? p->loss : 0;
    p->head = (p->loss - target) * slope;
    memset(p->change, 0, r->width * sizeof *p->change);
    for (size_t i = 0; i < r->hidden; i++)
        p->change[i] = p->head * r->head[i];
    for (size_t i = 0; i < r->stochastic; i++)
        mean += stochastic[i] * head[i];
    for (size_t i = 0; i < r->stochastic; i++)
        if (r->mode == WCODEC_RSSM_REFERENCE)
            p->change[i] += p->head * head[i];
        else
            p->change[i * r->hidden / r->stochastic] +=
                p->head * (stochastic[i] * (head[i] - mean));
}

/* Deltas of a step, and, for a step before it, the gradients of its hidden values. */
static void step_back(const wcodec_rssm *r, const struct wcodec_rssm_member *m, bool is_first,
                      const struct wcodec_rssm_back *s, struct wcodec_rssm_pupil *p)
{
    const size_t width = r->width;
    const float *z = s->gate, *reset = s->gate + width, *c = s->gate + 2 * width, *h = s->before;
    float *of_z = s->delta, *of_r = s->delta + width, *of_c = s->delta + 2 * width,
          *product = p->older;
    for (size_t i = 0; i < width; i++) {
        of_c[i] = p->change[i] * z[i] * (1 - c[i] * c[i]);
        of_z[i] = p->change[i] * (c[i] - h[i]) * (z[i] * (1 - z[i]));
    }
    memset(product, 0, width * sizeof *product);
    add_transposed(product, m->reset, of_c, r->hidden, width);
    for (size_t i = 0; i < width; i++)
        of_r[i] = product[i] * h[i] * (reset[i] * (1 - reset[i]));
    if (is_first)
        return;
    for (size_t i = 0; i < width; i++)
        p->change[i] = p->change[i] * (1 - z[i]) + product[i] * reset[i];
    add_transposed(p->change, m->gates, of_z, r->hidden, width);
    add_transposed(p->change, m->gates + r->hidden * width, of_r, r->hidden, width);
    for (size_t i = 0; i < width; i++)
        p->change[i] *= decay;
}

static double dot(const float *a, const float *b, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += (double)a[i] * b[i];
    return sum;
}

/* The squares of all elements of sums over steps of delta times what was multiplied are sums over
 * pairs of steps. */
static double squares_of(const wcodec_rssm *r, size_t steps, const struct wcodec_rssm_back *all)
{
    const size_t h = r->hidden, width = r->width;
    double sum = 0;
    for (size_t k = 0; k < steps; k++)
        for (size_t l = 0; l < steps; l++) {
            const struct wcodec_rssm_back *a = &all[k], *b = &all[l];
            const double gates = dot(a->delta, b->delta, 2 * width),
                         candidate = dot(a->delta + 2 * width, b->delta + 2 * width, width),
                         inputs = dot(a->inputs, b->inputs, r->inputs) + 1;
            sum += gates * (inputs + dot(a->before, b->before, h)) +
                   candidate * (inputs + dot(a->reset, b->reset, h));
        }
    return sum;
}

void wcodec_rssm_back_member(void *argument, size_t member)
{
    struct wcodec_rssm_learning *l = argument;
    const wcodec_rssm *r = l->rssm;
    const struct wcodec_rssm_member *m = &r->member[member];
    const size_t steps = (size_t)l->lesson->steps, bytes = r->width * sizeof(float);
    struct wcodec_rssm_pupil *p = &l->pupils[member];
    struct wcodec_rssm_values v = p->values;
    wcodec_rssm_begin(r, l->lesson->hidden, l->lesson->features, member, v.hidden);
    for (size_t k = 0; k < steps; k++) {
        struct wcodec_rssm_back *s = &p->steps[k];
        s->inputs = l->lesson->features + k * r->inputs;
        memcpy(s->before, v.hidden, bytes);
        v.gate = s->gate;
        v.reset = s->reset;
        wcodec_rssm_stay(r, m, s->inputs, v.stay);
        wcodec_rssm_step(r, m, s->inputs[0], &v);
        if (k == 0)
            memcpy(p->first, v.hidden, bytes);
    }
    wcodec_rssm_stochastic(r, &v);
    begin_back(r, l->lesson->loss, p);
    for (size_t k = steps; k-- > 0;)
        step_back(r, m, k == 0, &p->steps[k], p);
    p->squares = squares_of(r, steps, p->steps);
}
