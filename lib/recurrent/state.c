/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The state of a training: its histories and what they are as features. */
#include "core/context.h"
#include "core/error.h"
#include "core/memory.h"
#include "core/options.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <wcodec/state.h>

enum { LOSSES = 256, NORMS = 64, TREND = 16, LANES = 8, STATES_A_TASK = 256 };

struct wcodec_training_state {
    wcodec_allocator allocator;
    wcodec_training_step latest;
    wcodec_training_averages averages;
    uint64_t steps; /* that were added; of the n-th, from 0 on, the values are at n % LOSSES and */
    float loss[LOSSES]; /* n % NORMS: since both are multiples of LANES, in the lane n % LANES */
    float norm[NORMS];
};

struct statistics {
    float mean, deviation, least, greatest;
};

wcodec_status wcodec_training_state_create(wcodec_context *context, wcodec_training_state **state,
                                           wcodec_error *err)
{
    wcodec_status status = wcodec_context_usable(context, err);
    if (status != WCODEC_OK)
        return status;
    wcodec_training_state *made = wcodec_alloc_zeroed(&context->allocator, sizeof *made);
    if (made == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for a training state");
    made->allocator = context->allocator;
    made->latest.loss = made->latest.gradient_norm = NAN;
    made->latest.beta1_power = made->latest.beta2_power = 1;
    made->averages.fast = made->averages.medium = made->averages.slow = NAN;
    *state = made;
    return WCODEC_OK;
}

void wcodec_training_state_destroy(wcodec_training_state *state)
{
    if (state == NULL)
        return;
    const wcodec_allocator allocator = state->allocator;
    wcodec_free(&allocator, state);
}

wcodec_status wcodec_training_state_step(wcodec_training_state *state,
                                         const wcodec_training_step *step, wcodec_error *err)
{
    wcodec_status status =
        wcodec_reserved_check(step->reserved, sizeof step->reserved, "training step", err);
    if (status != WCODEC_OK)
        return status;
    const int phase = (int)step->phase;
    if (phase < WCODEC_PHASE_WARM_UP || phase > WCODEC_PHASE_CORRECT)
        return wcodec_fail(err, WCODEC_ERROR_USAGE,
                           "the phase of step %" PRIu64 " is %d: expected 0 (warm-up), 1 (full), "
                           "2 (predict) or 3 (correct)",
                           step->step, phase);
    wcodec_training_averages *a = &state->averages;
    const float loss = step->loss;
    if (state->steps == 0) {
        a->fast = a->medium = a->slow = loss;
    } else {
        a->fast = 0.75f * a->fast + 0.25f * loss;
        a->medium = 0.9375f * a->medium + 0.0625f * loss;
        a->slow = 0.984375f * a->slow + 0.015625f * loss;
    }
    state->latest = *step;
    state->loss[state->steps % LOSSES] = loss;
    state->norm[state->steps % NORMS] = step->gradient_norm;
    state->steps++;
    return WCODEC_OK;
}

void wcodec_training_state_averages(const wcodec_training_state *state,
                                    wcodec_training_averages *averages)
{
    *averages = state->averages;
}

static float add_lanes(const float lane[LANES])
{
    float half[LANES / 2];
    for (unsigned i = 0; i < LANES / 2; i++)
        half[i] = lane[i] + lane[i + LANES / 2];
    return (half[0] + half[2]) + (half[1] + half[3]);
}

/* Of `count` values from the first place on. */
static struct statistics measure(const float *value, unsigned count)
{
    float sum[LANES] = {0}, squares[LANES] = {0}, low[LANES], high[LANES];
    struct statistics s = {0, 0, 0, 0};
    const unsigned whole = count - count % LANES;
    if (count == 0)
        return s;
    for (unsigned i = 0; i < LANES; i++) {
        low[i] = INFINITY;
        high[i] = -INFINITY;
    }
    for (unsigned at = 0; at < whole; at += LANES)
        for (unsigned i = 0; i < LANES; i++) {
            const float v = value[at + i];
            sum[i] += v;
            low[i] = v < low[i] ? v : low[i];
            high[i] = v > high[i] ? v : high[i];
        }
    for (unsigned at = whole; at < count; at++) {
        const float v = value[at];
        sum[at % LANES] += v;
        low[at % LANES] = v < low[at % LANES] ? v : low[at % LANES];
        high[at % LANES] = v > high[at % LANES] ? v : high[at % LANES];
    }
    s.mean = add_lanes(sum) / (float)count;
    for (unsigned at = 0; at < whole; at += LANES)
        for (unsigned i = 0; i < LANES; i++)
            squares[i] += (value[at + i] - s.mean) * (value[at + i] - s.mean);
    for (unsigned at = whole; at < count; at++)
        squares[at % LANES] += (value[at] - s.mean) * (value[at] - s.mean);
    s.deviation = sqrtf(add_lanes(squares) / (float)count);
    s.least = low[0];
    s.greatest = high[0];
    for (unsigned i = 1; i < LANES; i++) {
        s.least = low[i] < s.least ? low[i] : s.least;
        s.greatest = high[i] > s.greatest ? high[i] : s.greatest;
    }
    if (s.least > s.greatest)
        s.least = s.greatest = NAN; /* none was a number */
    return s;
}

/* The mean of TREND losses, `age` steps and more ago. */
static float recent_mean(const wcodec_training_state *s, unsigned age)
{
    float sum = 0;
    for (unsigned i = 0; i < TREND; i++)
        sum += s->loss[(s->steps - 1 - age - i) % LOSSES];
    return sum / TREND;
}

static float decades(float v)
{
    return fmaxf((float)log10((double)v), -10);
}

static void put_statistics(struct statistics s, float *f)
{
    f[0] = s.mean;
    f[1] = s.deviation;
    f[2] = s.least;
    f[3] = s.greatest;
}

static void encode(const wcodec_training_state *state, float *f)
{
    const wcodec_training_step *now = &state->latest;
    const uint64_t steps = state->steps;
    const struct statistics loss =
        measure(state->loss, steps < LOSSES ? (unsigned)steps : (unsigned)LOSSES);
    const struct statistics norm =
        measure(state->norm, steps < NORMS ? (unsigned)steps : (unsigned)NORMS);
    const float norm_mean = fmaxf(norm.mean, 1e-8f);
    memset(f, 0, WCODEC_STATE_FEATURES * sizeof *f);
    f[0] = now->loss;
    put_statistics(loss, f + 1);
    f[6] = 1;
    if (steps >= 2 * TREND) {
        const float last = recent_mean(state, 0), before = recent_mean(state, TREND);
        f[5] = last - before;
        f[6] = last / fmaxf(before, 1e-8f);
    }
    f[7] = (float)now->step / 10000;
    f[8] = now->gradient_norm;
    put_statistics(norm, f + 9);
    f[13] = decades(now->gradient_norm);
    f[14] = fminf(now->gradient_norm / norm_mean, 10);
    f[15] = norm.deviation / norm_mean;
    f[16] = now->momentum_mean;
    f[17] = now->momentum_deviation;
    f[18] = now->variance_mean;
    f[19] = now->variance_deviation;
    f[20] = decades(now->learning_rate);
    f[21] = now->beta1_power;
    f[22] = now->beta2_power;
    f[24] = (float)now->phase;
    f[25] = (float)now->phase_step / 100;
}

static wcodec_status check_count(uint64_t count, wcodec_error *err)
{
    if (count == WCODEC_STATE_FEATURES)
        return WCODEC_OK;
    return wcodec_fail(err, WCODEC_ERROR_USAGE,
                       "a training state has %d features, and %" PRIu64 " were asked for",
                       WCODEC_STATE_FEATURES, count);
}

wcodec_status wcodec_training_state_features(const wcodec_training_state *state, uint64_t count,
                                             float *features, wcodec_error *err)
{
    wcodec_status status = check_count(count, err);
    if (status == WCODEC_OK)
        encode(state, features);
    return status;
}

struct batch {
    const wcodec_training_state *const *states;
    size_t count;
    float *features;
};

static void encode_some(void *argument, size_t task)
{
    const struct batch *b = argument;
    const size_t first = task * STATES_A_TASK,
                 end = b->count - first < STATES_A_TASK ? b->count : first + STATES_A_TASK;
    for (size_t i = first; i < end; i++)
        encode(b->states[i], b->features + i * WCODEC_STATE_FEATURES);
}

wcodec_status wcodec_training_states_features(wcodec_context *context,
                                              const wcodec_training_state *const *states,
                                              uint64_t state_count, uint64_t count, float *features,
                                              wcodec_error *err)
{
    struct batch batch = {states, (size_t)state_count, features};
    wcodec_status status = check_count(count, err);
    if (status == WCODEC_OK)
        status = wcodec_context_usable(context, err);
    if (status == WCODEC_OK && batch.count > 0)
        wcodec_run(context, encode_some, &batch, (batch.count - 1) / STATES_A_TASK + 1);
    return status;
}
