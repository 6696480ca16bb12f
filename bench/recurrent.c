/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* A training's course on the CPU: recurrent [STATES]. Features of one state with full histories and
 * of STATES (10000) at once, on one thread: microseconds a state, of the thread's own time.
 * Rollouts of five members over 50 steps on one thread, by the process's own time, and on two, by
 * the wall's: milliseconds. Medians. */
#define PROGRAM "recurrent"
#include "bench/program.h"
#include "bench/random.h"
#include "bench/timing.h"

enum { CALLS = 20000, RUNS = 21, STEPS = 300, MEMBERS = 5, INPUTS = 64, HEAD = 4096 + 32 };

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

static void measure_states(size_t count)
{
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
}

static float *make_weights(size_t count)
{
    float *weights = malloc(count * sizeof *weights);
    if (weights == NULL)
        fail("out of memory");
    for (size_t i = 0; i < count; i++)
        weights[i] = (float)(0.02 * uniform() - 0.01);
    return weights;
}

static double measure_rollout(const wcodec_rssm *rssm, double (*seconds)(void))
{
    float features[INPUTS] = {1}, trajectories[MEMBERS * 51];
    double times[RUNS];
    const wcodec_rssm_input input = {.features = features, .loss = 2.5f};
    const wcodec_rssm_output output = {.trajectories = trajectories};
    wcodec_rssm_summary summary;
    wcodec_error err;
    for (unsigned r = 0; r < RUNS; r++) {
        const double begun = seconds();
        check(wcodec_rssm_rollout(rssm, &input, 50, &output, &summary, &err), &err);
        times[r] = seconds() - begun;
    }
    return 1e3 * median(times, RUNS);
}

static void measure_rollouts(size_t hidden)
{
    wcodec_gru_weights members[MEMBERS] = {{0}};
    float *head = make_weights(HEAD), *kept[MEMBERS][6];
    double times[2];
    wcodec_error err;
    for (unsigned i = 0; i < MEMBERS; i++) {
        for (unsigned k = 0; k < 6; k++)
            kept[i][k] = make_weights(hidden * (k < 3 ? INPUTS : hidden));
        members[i] = (wcodec_gru_weights){.w_z = kept[i][0],
                                          .w_r = kept[i][1],
                                          .w_h = kept[i][2],
                                          .u_z = kept[i][3],
                                          .u_r = kept[i][4],
                                          .u_h = kept[i][5]};
    }
    for (unsigned threads = 1; threads <= 2; threads++) {
        wcodec_rssm *rssm;
        wcodec_rssm_options options;
        wcodec_context *context = open_context(threads);
        wcodec_rssm_options_init(&options);
        options.hidden = hidden;
        check(wcodec_rssm_create(context, &options, members, head, NULL, &rssm, &err), &err);
        times[threads - 1] = measure_rollout(rssm, threads == 1 ? process_time : wall);
        wcodec_rssm_destroy(rssm);
        wcodec_context_destroy(context);
    }
    printf("%u members, 50 steps, %4zu hidden: %8.3f ms; two threads: %8.3f ms\n", MEMBERS, hidden,
           times[0], times[1]);
    for (unsigned i = 0; i < MEMBERS; i++)
        for (unsigned k = 0; k < 6; k++)
            free(kept[i][k]);
    free(head);
}

int main(int argc, char **argv)
{
    static const size_t sizes[] = {64, 128, 256, 512, 1024};
    measure_states(argc > 1 ? strtoul(argv[1], NULL, 10) : 10000);
    for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        measure_rollouts(sizes[i]);
    return 0;
}
