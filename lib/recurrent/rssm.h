/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* An ensemble of recurrent state-space models, as its files see it. */
#ifndef WCODEC_RECURRENT_RSSM_H
#define WCODEC_RECURRENT_RSSM_H

#include "backends/cpu/gates.h"

#include <stdbool.h>
#include <wcodec/recurrent.h>

/* Hidden values are padded by zeros to whole blocks: with weights of 0 they stay 0. */
enum { WCODEC_RSSM_BLOCK = WCODEC_GATES_BLOCK, WCODEC_RSSM_GATES = 3, WCODEC_RSSM_DELTA_ROWS = 10 };

enum { WCODEC_RSSM_MEMBERS_MOST = 64, WCODEC_RSSM_LOGIT_MOST = 10 };

/* Weights in the order in which they are read, so that sums go on in the hidden values of a block
 * at once: the matrix [H, n] of a gate as [width / block, n, block]. Gates z, r, h. */
struct wcodec_rssm_member {
    float *bias;   /* [3, width] */
    float *first;  /* [3, width]: input 0 */
    float *inputs; /* three, of n = I - 1 */
    float *gates;  /* two of n = H: U_z, U_r */
    float *reset;  /* one: U_h */
};

struct wcodec_rssm {
    wcodec_context *context;
    wcodec_allocator allocator;
    size_t members, hidden, stochastic, inputs, width;
    wcodec_rssm_mode mode;
    float *weights;    /* of all members, and the heads */
    float *head;       /* [H + S] */
    float *delta_head; /* [10, H + S], NULL: none */
    struct wcodec_cpu_gates_dsp dsp;
    struct wcodec_rssm_device *device; /* NULL: none */
    struct wcodec_rssm_tensor *tensor; /* of many starts; NULL: none */
    struct wcodec_rssm_member member[];
};

/* Take over the caller's options, or the defaults for NULL, and check them. */
wcodec_status wcodec_rssm_options_check(const wcodec_rssm_options *from, wcodec_rssm_options *o,
                                        wcodec_error *err);

/* Are there so many steps? */
wcodec_status wcodec_rssm_steps_check(uint64_t steps, wcodec_error *err);

/* Do its weights fit the limit of memory? */
wcodec_status wcodec_rssm_limit(const wcodec_context *context, const wcodec_rssm_options *o,
                                wcodec_error *err);

/* What one member's rollout needs and gives. */
struct wcodec_rssm_run {
    const wcodec_rssm *rssm;
    const wcodec_rssm_input *input;
    const wcodec_rssm_output *output;
    size_t steps;
    float *memory;       /* wcodec_rssm_run_floats() of each member */
    float *step_entropy; /* [E, Y], NULL: not wanted */
};

/* Of a member: gates' inputs that stay, gates, hidden values, reset ones, stochastic ones. */
static inline size_t wcodec_rssm_run_floats(const wcodec_rssm *rssm)
{
    return 8 * rssm->width + rssm->stochastic;
}

/* Where a member's hidden values are after its rollout, and its stochastic ones. */
static inline const float *wcodec_rssm_run_hidden(const struct wcodec_rssm_run *run, size_t member)
{
    return run->memory + member * wcodec_rssm_run_floats(run->rssm);
}

static inline const float *wcodec_rssm_run_stochastic(const struct wcodec_rssm_run *run,
                                                      size_t member)
{
    return wcodec_rssm_run_hidden(run, member) + 8 * run->rssm->width;
}

float wcodec_rssm_sigmoid(float x);

/* Of a member in a step: hidden values; what its gates have of the bias and inputs but 0, [3,
 * width]; gates z, r and the candidate; r h; stochastic values. */
struct wcodec_rssm_values {
    float *hidden, *stay, *gate, *reset, *stochastic;
};

/* Where a member begins: all hidden values given, [E, H], or none. */
void wcodec_rssm_begin(const wcodec_rssm *r, const float *hidden, const float *features,
                       size_t member, float *to);

/* What a step's gates have of the bias, and of all inputs but 0. */
void wcodec_rssm_stay(const wcodec_rssm *r, const struct wcodec_rssm_member *m,
                      const float *features, float *stay);

/* h to h', with input 0. */
void wcodec_rssm_step(const wcodec_rssm *r, const struct wcodec_rssm_member *m, float x0,
                      struct wcodec_rssm_values *v);

/* p of h, without a draw; returns its entropy. */
double wcodec_rssm_stochastic(const wcodec_rssm *r, struct wcodec_rssm_values *v);

/* head [h; p], and the loss that follows from it. */
float wcodec_rssm_logit(const wcodec_rssm *r, const struct wcodec_rssm_values *v);
float wcodec_rssm_loss(const wcodec_rssm *r, float logit);

/* Outputs of a member: what follows from its losses, of all steps, and from its entropy; its last
 * hidden and stochastic values, also where wcodec_rssm_run_hidden() and _stochastic() look. */
void wcodec_rssm_put_losses(const struct wcodec_rssm_run *run, size_t member, const float *loss,
                            double entropy);
void wcodec_rssm_put_last(const struct wcodec_rssm_run *run, size_t member, const float *hidden,
                          const float *stochastic);

/* Task: the member's trajectory, and what else the output asks for of it; its entropy, summed, goes
 * to entropy[member]. */
struct wcodec_rssm_tasks {
    struct wcodec_rssm_run run;
    double *entropy;
};
void wcodec_rssm_run_member(void *tasks, size_t member);

/* What all members, which are done, say together; mean and weight_deltas, if they are wanted. */
void wcodec_rssm_summarise(const struct wcodec_rssm_run *run, const double *entropy,
                           wcodec_rssm_summary *summary);

#endif
