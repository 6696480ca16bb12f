/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/**
 * The state of a training as 64 features, which models of its course take as input: what the
 * published predictor of training steps computes from its history of losses and gradient norms.
 *
 *     wcodec_training_state *state;
 *     float features[WCODEC_STATE_FEATURES];
 *     status = wcodec_training_state_create(context, &state, &err);
 *     ... after each step of training:
 *     wcodec_training_step step = {.step = n, .loss = loss, .gradient_norm = norm, ...};
 *     status = wcodec_training_state_step(state, &step, &err);
 *     ...
 *     status = wcodec_training_state_features(state, WCODEC_STATE_FEATURES, features, &err);
 *
 * With loss and gradient norm (gn) of the latest step, a history of the 256 latest losses and one
 * of the 64 latest norms, all in binary32:
 *
 *      0      loss                        13     max(log10(gn), -10)
 *      1..4   mean, standard deviation,   14     min(gn / max(mean of gn, 1e-8), 10)
 *             least, greatest loss        15     deviation of gn / max(mean of gn, 1e-8)
 *      5      mean of the 16 latest       16..19 momentum's mean and deviation, variance's
 *             losses less the mean of     20     max(log10(learning rate), -10)
 *             the 16 before; 0 of fewer   21, 22 beta1 and beta2 to the power of the step
 *             than 32                     23     0
 *      6      the former / max(the        24     phase
 *             latter, 1e-8); 1 likewise   25     step of the phase / 100
 *      7      step / 10000                26..63 0
 *      8      gn
 *      9..12  as 1..4, of gn
 *
 * Deviations are those of the population. The four statistics of an empty history are 0. Before the
 * first step loss and norm are NaN, so that features 0 and 8 are; max and min drop a NaN, which
 * makes feature 13 -10 and feature 14 10. A NaN in a history makes its mean and deviation NaN, and
 * is no least or greatest value. The sum of 16 losses goes from the newest to the oldest. Those of
 * a whole history are eight, of the values whose number, counted from the first step's on, has the
 * same remainder by 8; these are added by halves: 0 and 4, 1 and 5, ..., then 0 and 2, 1 and 3,
 * then 0 and 1. Logarithms are rounded from binary64. So features depend on the steps alone, not on
 * threads.
 */
#ifndef WCODEC_STATE_H
#define WCODEC_STATE_H

#include <wcodec/context.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Features of a state. */
#define WCODEC_STATE_FEATURES 64

/** What a training does between its predictions. */
typedef enum wcodec_training_phase {
    /** Learning rates rise; nothing is predicted yet. */
    WCODEC_PHASE_WARM_UP = 0,
    /** All is computed. */
    WCODEC_PHASE_FULL = 1,
    /** Steps are predicted and left out. */
    WCODEC_PHASE_PREDICT = 2,
    /** What a prediction left is corrected. */
    WCODEC_PHASE_CORRECT = 3
} wcodec_training_phase;

/** One step of training, when it is over. */
typedef struct wcodec_training_step {
    /** Its number. */
    uint64_t step;
    /** May be NaN or infinite, which features show. */
    float loss;
    /** Euclidean norm of all gradients; likewise. */
    float gradient_norm;
    /** The one that took effect, with schedule and warm-up; 0: none. */
    float learning_rate;
    /** Of the optimizer's first moments, over all weights; 0 where it has none. */
    float momentum_mean;
    float momentum_deviation;
    /** Of its second moments. */
    float variance_mean;
    float variance_deviation;
    /** Adam's beta1 and beta2 to the power of the step. */
    float beta1_power;
    float beta2_power;
    wcodec_training_phase phase;
    /** Steps since the phase began. */
    uint64_t phase_step;
    /** 0. */
    uint64_t reserved[4];
} wcodec_training_step;

/** The latest step, the two histories, averages: 1.5 KiB. It must not be stepped, or ended, while
 * another thread uses it; several threads may take features of it at once. */
typedef struct wcodec_training_state wcodec_training_state;

/** Make a state without a step: loss and gradient norm NaN, beta1_power and beta2_power 1, all else
 * 0.
 *
 * *state belongs to the caller, who ends it by wcodec_training_state_destroy() before the context.
 *
 * Returns WCODEC_OK, WCODEC_ERROR_MEMORY, WCODEC_ERROR_USAGE (after fork()). */
WCODEC_API wcodec_status wcodec_training_state_create(wcodec_context *context,
                                                      wcodec_training_state **state,
                                                      wcodec_error *err);

/** Add a step: it takes the place of the latest one, loss and gradient norm go to their histories,
 * the oldest values drop out of these, and the averages move. On failure nothing has changed.
 *
 * Returns WCODEC_OK, WCODEC_ERROR_USAGE (no such phase; a member of `reserved` that is not 0). */
WCODEC_API wcodec_status wcodec_training_state_step(wcodec_training_state *state,
                                                    const wcodec_training_step *step,
                                                    wcodec_error *err);

/** Write the features. `count` is what the caller has room for and must be
 * WCODEC_STATE_FEATURES.
 *
 * Returns WCODEC_OK, WCODEC_ERROR_USAGE (another count). */
WCODEC_API wcodec_status wcodec_training_state_features(const wcodec_training_state *state,
                                                        uint64_t count, float *features,
                                                        wcodec_error *err);

/** Write the features of many states, [states, count], on the context's threads. The same state may
 * be there more than once.
 *
 * Returns WCODEC_OK, WCODEC_ERROR_USAGE (another count; after fork()). */
WCODEC_API wcodec_status wcodec_training_states_features(wcodec_context *context,
                                                         const wcodec_training_state *const *states,
                                                         uint64_t state_count, uint64_t count,
                                                         float *features, wcodec_error *err);

/** Moving averages of the loss, which are no features: NaN before the first step, the loss after
 * it, then each the part that it keeps of itself and the rest of the loss. */
typedef struct wcodec_training_averages {
    /** Keeps 3/4. */
    float fast;
    /** Keeps 15/16. */
    float medium;
    /** Keeps 63/64. */
    float slow;
    /** 0. */
    uint32_t reserved[5];
} wcodec_training_averages;

/** The averages after the latest step. Never fails. */
WCODEC_API void wcodec_training_state_averages(const wcodec_training_state *state,
                                               wcodec_training_averages *averages);

/** Free. NULL is ignored. Never fails. */
WCODEC_API void wcodec_training_state_destroy(wcodec_training_state *state);

#ifdef __cplusplus
}
#endif
#endif
