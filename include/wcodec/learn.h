/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/**
 * Online training of the ensembles of wcodec/recurrent.h: after each step of training that was
 * computed, the loss that came of it is what the members should have said.
 *
 *     wcodec_rssm_lesson lesson = {.hidden = hidden, .features = features, .steps = 1};
 *     wcodec_rssm_learned learned = {.hidden = hidden};
 *     lesson.loss = loss;
 *     status = wcodec_rssm_learn(rssm, NULL, &lesson, &learned, &err);
 *
 * A lesson has 1 to 3 steps, with the features of each as they were; members take hidden values
 * through them, and the loss y follows the last. With the members' losses L_e of the last step, the
 * error is
 *
 *     1/2 sum over members of (L_e - y)^2
 *
 * and its gradients are those of all weights of the units and of the head, which the members have
 * in common; delta_head does not learn. They go back through time over the steps of the lesson;
 * what goes from a step to the one before it is multiplied by 0.7, so that a step k steps before
 * the last counts 0.7^k. Inputs are given and have no gradients. In PRODUCTION a logit that is
 * clamped gives none; SAMPLED learns by the softmax, as PRODUCTION does, and not by a draw.
 *
 * Learning is a step of plain gradient descent: gradients whose Euclidean norm, over all weights of
 * all members and the head, is above `clip` are scaled to it, and each weight loses `rate` times
 * its own.
 *
 * Numbers are binary32, and norms sums in binary64, in an order that depends neither on threads nor
 * on the processor's level: the same lessons give the same weights.
 */
#ifndef WCODEC_LEARN_H
#define WCODEC_LEARN_H

#include <wcodec/recurrent.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Most steps of a lesson. */
#define WCODEC_RSSM_DEPTH 3

/** How much is learnt: fill with wcodec_rssm_learn_options_init(), then change what matters. It
 * grows at its end (wcodec/base.h). */
typedef struct wcodec_rssm_learn_options {
    /** Set by wcodec_rssm_learn_options_init(). */
    size_t struct_size;
    /** Above 0, at most 1. Default: 0.001. */
    float rate;
    /** Most that the gradients' norm may be, above 0, at most 1e6. Default: 5. */
    float clip;
} wcodec_rssm_learn_options;

/** What wcodec_rssm_learn_options_init() calls: as wcodec_options_init_size(). */
WCODEC_API void wcodec_rssm_learn_options_init_size(wcodec_rssm_learn_options *options,
                                                    size_t size);

/** Set all members to their defaults. */
static inline void wcodec_rssm_learn_options_init(wcodec_rssm_learn_options *options)
{
    wcodec_rssm_learn_options_init_size(options, sizeof *options);
}

/** What is learnt from; all numbers finite. Zero it before setting members. */
typedef struct wcodec_rssm_lesson {
    /** [E, H] before the first step; NULL: in each member the hyperbolic tangents of the first
     * step's features, and zeros after them. */
    const float *hidden;
    /** [steps, I], as wcodec/state.h has them. */
    const float *features;
    /** 1 to WCODEC_RSSM_DEPTH. */
    uint64_t steps;
    /** y, of the step after the last. */
    float loss;
    /** 0. */
    uint32_t reserved32;
    /** 0. */
    uint64_t reserved[4];
} wcodec_rssm_lesson;

/** What came of a lesson. Zero it before setting members. On failure all of it is undefined. */
typedef struct wcodec_rssm_learned {
    /** [E]: what the members said before they learnt. NULL: not wanted. */
    float *losses;
    /** [E, H] after the first step, where a lesson that begins one step later begins; may be that
     * of the lesson. NULL: not wanted. */
    float *first;
    /** [E, H] after the last step, where a rollout begins; may be that of the lesson. NULL: not
     * wanted. */
    float *hidden;
    /** Set: the error, before. */
    float error;
    /** Set: the Euclidean norm of all gradients, before they were clipped. */
    float norm;
    /** 0. */
    uint64_t reserved[4];
} wcodec_rssm_learned;

/** Where weights of a unit, or their gradients, are written; row by row. NULL: not wanted. Zero it
 * before setting members. */
typedef struct wcodec_gru_values {
    /** [H, I]. */
    float *w_z;
    float *w_r;
    float *w_h;
    /** [H, H]. */
    float *u_z;
    float *u_r;
    float *u_h;
    /** [H]. */
    float *b_z;
    float *b_r;
    float *b_h;
    /** 0. */
    uint64_t reserved[7];
} wcodec_gru_values;

/** Learn from a lesson, a member on a thread of the context. options may be NULL: defaults. No
 * other call may use the ensemble at the same time. Takes 4 E ((8 steps + 7) W + S) bytes of memory
 * while it runs, where W is H rounded up to a multiple of 32. On failure the weights are as they
 * were.
 *
 * Returns WCODEC_OK, WCODEC_ERROR_USAGE (steps, rate or clip out of range; a number of the lesson
 * that is NaN or infinite, by its name and place; numbers so large that a gradient is infinite;
 * after fork()), WCODEC_ERROR_UNSUPPORTED (an ensemble whose weights are in a device's memory),
 * WCODEC_ERROR_MEMORY. */
WCODEC_API wcodec_status wcodec_rssm_learn(wcodec_rssm *rssm,
                                           const wcodec_rssm_learn_options *options,
                                           const wcodec_rssm_lesson *lesson,
                                           wcodec_rssm_learned *learned, wcodec_error *err);

/** The gradients of a lesson's error, not clipped; weights stay. `members` has E of them, and head
 * H + S; both may be NULL. By the CPU, wherever the ensemble rolls out. Memory and what is returned
 * are as of wcodec_rssm_learn(), but for WCODEC_ERROR_UNSUPPORTED. */
WCODEC_API wcodec_status wcodec_rssm_gradients(const wcodec_rssm *rssm,
                                               const wcodec_rssm_lesson *lesson,
                                               const wcodec_gru_values *members, float *head,
                                               wcodec_rssm_learned *learned, wcodec_error *err);

/** The weights as they are now, as wcodec_rssm_create() takes them: of E members, the head [H + S]
 * and delta_head [10, H + S]. Each may be NULL.
 *
 * Returns WCODEC_OK, WCODEC_ERROR_USAGE (delta_head of an ensemble without one; a member of
 * `reserved` that is not 0). */
WCODEC_API wcodec_status wcodec_rssm_weights(const wcodec_rssm *rssm,
                                             const wcodec_gru_values *members, float *head,
                                             float *delta_head, wcodec_error *err);

#ifdef __cplusplus
}
#endif
#endif
