/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* One member, step by step. */
#include "recurrent/philox.h"
#include "recurrent/rssm.h"

#include <math.h>
#include <string.h>

float wcodec_rssm_sigmoid(float x)
{
    return wcodec_gates_sigmoid(x);
}

static struct wcodec_rssm_values values_of(const struct wcodec_rssm_run *run, size_t member)
{
    const size_t width = run->rssm->width;
    float *memory = run->memory + member * wcodec_rssm_run_floats(run->rssm);
    return (struct wcodec_rssm_values){.hidden = memory,
                                       .stay = memory + width,
                                       .gate = memory + 4 * width,
                                       .reset = memory + 7 * width,
                                       .stochastic = memory + 8 * width};
}

void wcodec_rssm_begin(const wcodec_rssm *r, const float *hidden, const float *features,
                       size_t member, float *to)
{
    memset(to, 0, r->width * sizeof *to);
    if (hidden != NULL)
        memcpy(to, hidden + member * r->hidden, r->hidden * sizeof *to);
    else
        for (size_t i = 0; i < r->hidden && i < r->inputs; i++)
            to[i] = wcodec_gates_tanh(features[i]);
}

void wcodec_rssm_stay(const wcodec_rssm *r, const struct wcodec_rssm_member *m,
                      const float *features, float *stay)
{
    const size_t gates = WCODEC_RSSM_GATES * r->width;
    memcpy(stay, m->bias, gates * sizeof *stay);
    r->dsp.products(stay, 0, gates, m->inputs, features + 1, 0, r->inputs - 1, 1);
}

void wcodec_rssm_step(const wcodec_rssm *r, const struct wcodec_rssm_member *m, float x0,
                      struct wcodec_rssm_values *v)
{
    const size_t width = r->width, gates = WCODEC_RSSM_GATES * width;
    float *z = v->gate, *reset = v->gate + width, *candidate = v->gate + 2 * width;
    for (size_t i = 0; i < gates; i++)
        v->gate[i] = wcodec_gates_term(m->first[i], x0, v->stay[i]);
    r->dsp.products(v->gate, 0, 2 * width, m->gates, v->hidden, 0, r->hidden, 1);
    r->dsp.sigmoids(v->gate, 2 * width);
    for (size_t i = 0; i < width; i++)
        v->reset[i] = reset[i] * v->hidden[i];
    r->dsp.products(candidate, 0, width, m->reset, v->reset, 0, r->hidden, 1);
    r->dsp.tangents(candidate, width);
    for (size_t i = 0; i < width; i++) {
        const float stays = (1 - z[i]) * v->hidden[i];
        v->hidden[i] = wcodec_gates_term(z[i], candidate[i], stays);
    }
}

/* p becomes 1 for the class drawn, and 0 for the others. */
static void draw(uint64_t seed, size_t member, size_t step, float *p, size_t classes)
{
    const uint32_t counter[4] = {(uint32_t)member, (uint32_t)step, 0, 0};
    uint32_t words[4];
    size_t drawn = classes - 1;
    float sum = 0;
    wcodec_philox4x32(seed, counter, words);
    const float u = (float)(words[0] >> 8) * 0x1p-24f;
    for (size_t i = 0; i < classes; i++) {
        sum += p[i];
        if (u < sum) {
            drawn = i;
            break;
        }
    }
    memset(p, 0, classes * sizeof *p);
    p[drawn] = 1;
}

double wcodec_rssm_stochastic(const wcodec_rssm *r, struct wcodec_rssm_values *v)
{
    float *p = v->stochastic;
    float most = -INFINITY, sum = 0;
    double entropy = 0;
    if (r->mode == WCODEC_RSSM_REFERENCE) {
        memcpy(p, v->hidden, r->hidden * sizeof *p);
        return 0.01;
    }
    for (size_t i = 0; i < r->stochastic; i++) {
        p[i] = v->hidden[i * r->hidden / r->stochastic];
        most = fmaxf(most, p[i]);
    }
    for (size_t i = 0; i < r->stochastic; i++)
        sum += p[i] = wcodec_gates_exp(p[i] - most);
    for (size_t i = 0; i < r->stochastic; i++) {
        p[i] /= sum;
        if (p[i] > 1e-8f)
            entropy -= p[i] * (double)logf(p[i]);
    }
    return entropy;
}

/* p of h after `step` steps, or a class of it; returns the entropy. */
static double make_stochastic(const struct wcodec_rssm_run *run, size_t member, size_t step,
                              struct wcodec_rssm_values *v)
{
    const wcodec_rssm *r = run->rssm;
    const double entropy = wcodec_rssm_stochastic(r, v);
    if (r->mode == WCODEC_RSSM_SAMPLED)
        draw(run->input->seed, member, step, v->stochastic, r->stochastic);
    return entropy;
}

float wcodec_rssm_logit(const wcodec_rssm *r, const struct wcodec_rssm_values *v)
{
    float logit = 0;
    for (size_t i = 0; i < r->hidden; i++)
        logit += r->head[i] * v->hidden[i];
    for (size_t i = 0; i < r->stochastic; i++)
        logit += r->head[r->hidden + i] * v->stochastic[i];
    return logit;
}

float wcodec_rssm_loss(const wcodec_rssm *r, float logit)
{
    if (r->mode == WCODEC_RSSM_REFERENCE)
        return logit;
    /* NaN stays, as comparisons with it are false. */
    logit = logit < -WCODEC_RSSM_LOGIT_MOST  ? -WCODEC_RSSM_LOGIT_MOST
            : logit > WCODEC_RSSM_LOGIT_MOST ? WCODEC_RSSM_LOGIT_MOST
                                             : logit;
    const float loss = logit > 0 ? 1 / wcodec_gates_exp(-logit) : wcodec_gates_exp(logit);
    return loss < 1e-6f ? 1e-6f : loss;
}

static float norm_of(const float *value, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += (double)value[i] * value[i];
    return (float)sqrt(sum);
}

static void measure(const float *loss, size_t count, double entropy, wcodec_rssm_metrics *metrics)
{
    double sum = 0, squares = 0, second = 0;
    for (size_t t = 0; t < count; t++)
        sum += loss[t];
    for (size_t t = 0; t < count; t++)
        squares += (loss[t] - sum / (double)count) * (loss[t] - sum / (double)count);
    for (size_t t = 2; t < count; t++)
        second += fabs((double)loss[t] - 2 * (double)loss[t - 1] + loss[t - 2]);
    *metrics = (wcodec_rssm_metrics){
        .loss_variance = (float)(squares / (double)count),
        .smoothness = count > 2 ? (float)(second / (double)(count - 2)) : 0,
        .entropy = (float)entropy,
    };
}

void wcodec_rssm_put_losses(const struct wcodec_rssm_run *run, size_t member, const float *loss,
                            double entropy)
{
    const wcodec_rssm_output *output = run->output;
    float *to = output->trajectories + member * (run->steps + 1);
    to[0] = run->input->loss;
    for (size_t t = 0; t < run->steps; t++) {
        to[t + 1] = loss[t];
        if (output->step_deltas != NULL)
            output->step_deltas[member * run->steps + t] = fabsf(to[t + 1] - to[t]);
    }
    if (output->metrics != NULL)
        measure(to, run->steps + 1, entropy, &output->metrics[member]);
}

void wcodec_rssm_put_last(const struct wcodec_rssm_run *run, size_t member, const float *hidden,
                          const float *stochastic)
{
    const wcodec_rssm *r = run->rssm;
    const struct wcodec_rssm_values v = values_of(run, member);
    memcpy(v.hidden, hidden, r->hidden * sizeof *hidden);
    memcpy(v.stochastic, stochastic, r->stochastic * sizeof *stochastic);
    if (run->output->hidden != NULL)
        memcpy(run->output->hidden + member * r->hidden, hidden, r->hidden * sizeof *hidden);
}

void wcodec_rssm_run_member(void *argument, size_t member)
{
    const struct wcodec_rssm_tasks *tasks = argument;
    const struct wcodec_rssm_run *run = &tasks->run;
    const wcodec_rssm *r = run->rssm;
    const wcodec_rssm_output *output = run->output;
    float *loss = output->trajectories + member * (run->steps + 1) + 1,
          x0 = run->input->features[0];
    double entropy = 0;
    struct wcodec_rssm_values v = values_of(run, member);
    wcodec_rssm_begin(r, run->input->hidden, run->input->features, member, v.hidden);
    wcodec_rssm_stay(r, &r->member[member], run->input->features, v.stay);
    if (run->steps == 0)
        make_stochastic(run, member, 0, &v);
    for (size_t t = 0; t < run->steps; t++) {
        wcodec_rssm_step(r, &r->member[member], x0, &v);
        const double of_step = make_stochastic(run, member, t + 1, &v);
        entropy += of_step;
        if (run->step_entropy != NULL)
            run->step_entropy[member * run->steps + t] = (float)of_step;
        x0 = loss[t] = wcodec_rssm_loss(r, wcodec_rssm_logit(r, &v));
        if (output->hidden_norms != NULL)
            output->hidden_norms[member * run->steps + t] = norm_of(v.hidden, r->hidden);
    }
    if (output->hidden != NULL)
        memcpy(output->hidden + member * r->hidden, v.hidden, r->hidden * sizeof *v.hidden);
    wcodec_rssm_put_losses(run, member, loss, entropy);
    tasks->entropy[member] = entropy;
}
