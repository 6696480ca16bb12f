/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Units, ensembles and states of training made of numbers in memory, whatever these are: u8
 * members, hidden, inputs, stochastic, steps, mode; then bytes that binary32 numbers are made of,
 * over and over. What is accepted is finite afterwards, what is refused says why and changes
 * nothing. */
#include "fuzz/fuzz.h"
#include <math.h>
#include <wcodec/learn.h>
#include <wcodec/recurrent.h>
#include <wcodec/state.h>

const char fuzz_target[] = "learn";
const bool fuzz_takes_files = false;

enum { MEMBERS_MAX = 3, SIZE_MOST = 40, STEPS_MAX = 6, ROOM = 1 << 16 };

static float numbers[ROOM];
static size_t taken;

/* Bytes are numbers around 0, or with `odd` any bits. */
static void make_numbers(struct wcodec_cursor *c, bool odd)
{
    const size_t left = wcodec_cursor_left(c);
    for (size_t i = 0; i < ROOM; i++) {
        const uint8_t *at = c->at;
        uint32_t bits = 0;
        for (unsigned k = 0; k < 4 && left != 0; k++)
            bits |= (uint32_t)at[(4 * i + k) % left] << 8 * k;
        numbers[i] = (float)(int8_t)(bits >> 24) / 64;
        if (odd)
            memcpy(&numbers[i], &bits, sizeof bits);
    }
    taken = 0;
}

static const float *take(size_t count)
{
    if (taken + count > ROOM)
        taken = 0;
    const float *at = numbers + taken;
    taken += count;
    return at;
}

static void check(wcodec_status status, const wcodec_error *err)
{
    FUZZ_REQUIRE(status == WCODEC_OK || (status == WCODEC_ERROR_USAGE && err->text[0] != 0));
}

static void require_finite(const float *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        FUZZ_REQUIRE(isfinite(values[i]));
}

struct sizes {
    uint64_t members, hidden, inputs, stochastic, steps;
};

static void learn(wcodec_rssm *rssm, const struct sizes *s)
{
    static float before[SIZE_MOST * 2], after[SIZE_MOST * 2], hidden[MEMBERS_MAX * SIZE_MOST];
    wcodec_rssm_learn_options options;
    wcodec_error err = {0};
    const wcodec_rssm_lesson lesson = {.features = take(3 * s->inputs),
                                       .steps = 1 + s->steps % WCODEC_RSSM_DEPTH,
                                       .loss = *take(1)};
    wcodec_rssm_learned learned = {.hidden = hidden};
    wcodec_rssm_learn_options_init(&options);
    options.rate = *take(1);
    FUZZ_REQUIRE(wcodec_rssm_weights(rssm, NULL, before, NULL, NULL) == WCODEC_OK);
    check(wcodec_rssm_gradients(rssm, &lesson, NULL, after, &learned, &err), &err);
    const wcodec_status status = wcodec_rssm_learn(rssm, &options, &lesson, &learned, &err);
    check(status, &err);
    FUZZ_REQUIRE(wcodec_rssm_weights(rssm, NULL, after, NULL, NULL) == WCODEC_OK);
    const size_t count = (size_t)(s->hidden + s->stochastic);
    if (status == WCODEC_OK) {
        require_finite(&learned.norm, 1);
        require_finite(hidden, (size_t)(s->members * s->hidden));
    } else {
        FUZZ_REQUIRE(memcmp(before, after, count * sizeof *after) == 0);
    }
}

static void ensemble(const struct sizes *s, wcodec_rssm_mode mode)
{
    static float trajectories[MEMBERS_MAX * (STEPS_MAX + 1)], deltas[WCODEC_RSSM_PARTS];
    wcodec_rssm_options options;
    wcodec_rssm_memory_info memory;
    wcodec_rssm *rssm = NULL;
    wcodec_gru_weights members[MEMBERS_MAX] = {{0}};
    wcodec_rssm_summary summary;
    wcodec_error err = {0};
    const size_t square = (size_t)(s->hidden * s->hidden), wide = (size_t)(s->hidden * s->inputs),
                 head = (size_t)(s->hidden + s->stochastic);
    for (unsigned i = 0; i < s->members; i++)
        members[i] = (wcodec_gru_weights){.w_z = take(wide),
                                          .w_r = take(wide),
                                          .w_h = take(wide),
                                          .u_z = take(square),
                                          .u_r = take(square),
                                          .u_h = take(square),
                                          .b_z = i % 2 ? take((size_t)s->hidden) : NULL};
    wcodec_rssm_options_init(&options);
    options.ensemble = s->members;
    options.hidden = s->hidden;
    options.inputs = s->inputs;
    options.stochastic = s->stochastic;
    options.mode = mode;
    check(wcodec_rssm_memory(&options, &memory, &err), &err);
    const wcodec_status status = wcodec_rssm_create(fuzz_context(), &options, members, take(head),
                                                    take(10 * head), &rssm, &err);
    check(status, &err);
    FUZZ_REQUIRE((status == WCODEC_OK) == (rssm != NULL));
    if (rssm == NULL)
        return;
    const wcodec_rssm_input input = {.features = take((size_t)s->inputs),
                                     .loss = *take(1),
                                     .gradient_norm = *take(1),
                                     .learning_rate = *take(1),
                                     .seed = s->steps};
    const wcodec_rssm_output output = {.trajectories = trajectories, .weight_deltas = deltas};
    check(wcodec_rssm_rollout(rssm, &input, s->steps, &output, &summary, &err), &err);
    learn(rssm, s);
    fuzz_deep++;
    wcodec_rssm_destroy(rssm);
}

static wcodec_gru_array array_of(unsigned kind, const struct sizes *s, size_t count)
{
    static const wcodec_dtype dtypes[] = {WCODEC_DTYPE_F32, WCODEC_DTYPE_BF16,    WCODEC_DTYPE_I8,
                                          WCODEC_DTYPE_F16, WCODEC_DTYPE_F8_E4M3, WCODEC_DTYPE_U8};
    const wcodec_dtype dtype = dtypes[kind % 6];
    return (wcodec_gru_array){take(count),
                              dtype == WCODEC_DTYPE_I8 ? take((size_t)s->hidden) : NULL, dtype, 0};
}

static void unit(const struct sizes *s, bool before, unsigned kind)
{
    static float values[STEPS_MAX * 2 * SIZE_MOST], hidden[2 * SIZE_MOST];
    const size_t square = (size_t)(s->hidden * s->hidden), wide = (size_t)(s->hidden * s->inputs);
    const wcodec_gru_arrays arrays = {.w_z = array_of(kind, s, wide),
                                      .w_r = array_of(kind / 6, s, wide),
                                      .w_h = array_of(0, s, wide),
                                      .u_z = array_of(kind, s, square),
                                      .u_r = array_of(1, s, square),
                                      .u_h = array_of(2, s, square),
                                      .b_r = array_of(kind / 2, s, (size_t)s->hidden)};
    wcodec_gru_options options;
    wcodec_gru *gru = NULL;
    wcodec_error err = {0};
    wcodec_gru_options_init(&options);
    options.hidden = s->hidden;
    options.inputs = s->inputs;
    options.form = before ? WCODEC_GRU_RESET_BEFORE : WCODEC_GRU_RESET_AFTER;
    check(wcodec_gru_create(fuzz_context(), &options, &arrays, &gru, &err), &err);
    if (gru == NULL)
        return;
    const wcodec_gru_input input = {.values = take((size_t)(2 * s->steps * s->inputs)),
                                    .steps = s->steps,
                                    .sequences = 2,
                                    .reverse = kind & 1};
    const wcodec_gru_output output = {.values = values, .hidden = hidden};
    check(wcodec_gru_run(gru, &input, &output, &err), &err);
    fuzz_deep++;
    wcodec_gru_destroy(gru);
}

/* Steps of a training, with any numbers. */
static void train(uint64_t steps)
{
    float features[2 * WCODEC_STATE_FEATURES];
    wcodec_training_state *state;
    wcodec_training_averages averages;
    wcodec_error err = {0};
    FUZZ_REQUIRE(wcodec_training_state_create(fuzz_context(), &state, NULL) == WCODEC_OK);
    for (uint64_t i = 0; i < 8 * steps; i++) {
        const wcodec_training_step step = {
            .step = i,
            .loss = *take(1),
            .gradient_norm = *take(1),
            .learning_rate = *take(1),
            .momentum_mean = *take(1),
            .phase = (wcodec_training_phase)(i % 4),
            .phase_step = i / 4,
        };
        check(wcodec_training_state_step(state, &step, &err), &err);
    }
    const wcodec_training_state *const twice[2] = {state, state};
    FUZZ_REQUIRE(wcodec_training_states_features(fuzz_context(), twice, 2, WCODEC_STATE_FEATURES,
                                                 features, NULL) == WCODEC_OK);
    FUZZ_REQUIRE(memcmp(features, features + WCODEC_STATE_FEATURES, sizeof features / 2) == 0);
    FUZZ_REQUIRE(wcodec_training_state_features(state, WCODEC_STATE_FEATURES,
                                                features + WCODEC_STATE_FEATURES,
                                                NULL) == WCODEC_OK);
    FUZZ_REQUIRE(memcmp(features, features + WCODEC_STATE_FEATURES, sizeof features / 2) == 0);
    wcodec_training_state_averages(state, &averages);
    float errors[12];
    for (unsigned i = 0; i < 12; i++)
        errors[i] = fabsf(*take(1));
    const float trust =
        wcodec_rssm_confidence(fabsf(*take(1)), errors, 12, averages.fast, averages.slow);
    FUZZ_REQUIRE(isnan(trust) || (trust >= 0 && trust <= 1.0001F));
    wcodec_training_state_destroy(state);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct wcodec_cursor c = {data, data + size};
    struct sizes s = {.members = 1 + fuzz_take(&c) % MEMBERS_MAX};
    s.hidden = 1 + fuzz_take(&c) % SIZE_MOST;
    s.inputs = 1 + fuzz_take(&c) % SIZE_MOST;
    s.stochastic = 1 + fuzz_take(&c) % s.hidden;
    s.steps = fuzz_take(&c) % (STEPS_MAX + 1);
    const uint8_t mode = fuzz_take(&c);
    if (mode % 3 == WCODEC_RSSM_REFERENCE)
        s.stochastic = s.hidden;
    make_numbers(&c, mode & 128);
    ensemble(&s, (wcodec_rssm_mode)(mode % 3));
    unit(&s, mode & 4, mode >> 3);
    train(s.steps);
    return 0;
}
