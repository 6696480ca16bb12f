/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Features of a training's state: state [STATES]. One state with full histories, again and again,
 * and STATES (10000) of them at once on one thread: microseconds a state, medians. */
#define PROGRAM "state"
#include "bench/program.h"
#include "bench/timing.h"

enum { CALLS = 20000, RUNS = 9, STEPS = 300 };

static wcodec_training_state *make_state(wcodec_context *context, unsigned k)
{
    wcodec_training_state *state;
    wcodec_error err;
    check(wcodec_training_state_create(context, &state, &err), &err);
    for (unsigned n = 0; n < STEPS; n++) {
        const wcodec_training_step step = {.step = n,
                                           .loss = 2 + (float)((n + k) % 7) / 10,
                                           .gradient_norm = 1 + (float)((n * k) % 5) / 5,
                                           .learning_rate = 1e-3f};
        check(wcodec_training_state_step(state, &step, &err), &err);
    }
    return state;
}

int main(int argc, char **argv)
{
    const size_t count = argc > 1 ? strtoul(argv[1], NULL, 10) : 10000;
    double one[RUNS], many[RUNS];
    wcodec_error err;
    wcodec_context *context = open_context(1);
    wcodec_training_state **states = calloc(count + 1, sizeof *states);
    float *features = calloc(count + 1, WCODEC_STATE_FEATURES * sizeof *features);
    if (states == NULL || features == NULL || count == 0)
        fail("expected a number of states for which there is memory");
    for (size_t i = 0; i < count; i++)
        states[i] = make_state(context, (unsigned)i);
    for (unsigned r = 0; r < RUNS; r++) {
        double begun = now();
        for (unsigned i = 0; i < CALLS; i++)
            check(wcodec_training_state_features(states[0], WCODEC_STATE_FEATURES, features, &err),
                  &err);
        one[r] = (now() - begun) / CALLS;
        begun = now();
        check(wcodec_training_states_features(context, (const wcodec_training_state *const *)states,
                                              count, WCODEC_STATE_FEATURES, features, &err),
              &err);
        many[r] = (now() - begun) / (double)count;
    }
    printf("one state: %.3f us; %zu states: %.3f us each\n", 1e6 * median(one, RUNS), count,
           1e6 * median(many, RUNS));
    for (size_t i = 0; i < count; i++)
        wcodec_training_state_destroy(states[i]);
    free(states);
    free(features);
    wcodec_context_destroy(context);
    return 0;
}
