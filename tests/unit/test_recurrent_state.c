/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The state of a training: each feature beside what its definition says of all steps there were,
 * in binary64; states without a step and with values that are no numbers; many at once; what is
 * refused. */
#include "support_memory.h"

#include <math.h>

enum { STEPS = 600, FEATURES = WCODEC_STATE_FEATURES };

static wcodec_training_state *make(wcodec_context *context)
{
    wcodec_training_state *state;
    wcodec_error err;
    if (wcodec_training_state_create(context, &state, &err) != WCODEC_OK)
        fail_msg("%s", err.text);
    return state;
}

static void features_of(const wcodec_training_state *state, float *f)
{
    assert_int_equal(wcodec_training_state_features(state, FEATURES, f, NULL), WCODEC_OK);
}

/* The n-th step of a training that goes on as most do. */
static wcodec_training_step make_step(uint64_t n, uint64_t *seed)
{
    const double noise = (double)(support_random(seed) >> 11) / 9007199254740992.0 - 0.5;
    return (wcodec_training_step){.step = n + 1,
                                  .loss = (float)(2 + 8 * exp(-(double)n / 90) + noise),
                                  .gradient_norm = (float)(1.5 + noise * noise * 7),
                                  .learning_rate = (float)(3e-4 * (1 + noise)),
                                  .momentum_mean = 1e-5f,
                                  .momentum_deviation = 2e-3f,
                                  .variance_mean = 4e-7f,
                                  .variance_deviation = 5e-6f,
                                  .beta1_power = (float)pow(0.9, (double)n + 1),
                                  .beta2_power = (float)pow(0.999, (double)n + 1),
                                  .phase = (wcodec_training_phase)(n % 4),
                                  .phase_step = n / 3};
}

/* Mean, deviation, least, greatest of the `most` latest of n values. */
static void measure(const float *value, size_t n, size_t most, double s[4])
{
    const size_t first = n > most ? n - most : 0;
    double sum = 0, squares = 0;
    s[2] = INFINITY;
    s[3] = -INFINITY;
    for (size_t i = first; i < n; i++) {
        sum += value[i];
        s[2] = fmin(s[2], value[i]);
        s[3] = fmax(s[3], value[i]);
    }
    s[0] = sum / (double)(n - first);
    for (size_t i = first; i < n; i++)
        squares += (value[i] - s[0]) * (value[i] - s[0]);
    s[1] = sqrt(squares / (double)(n - first));
}

static double mean_of(const float *value)
{
    double sum = 0;
    for (size_t i = 0; i < 16; i++)
        sum += value[i];
    return sum / 16;
}

static void expect(size_t n, const wcodec_training_step *now, const float *loss, const float *norm,
                   const float *f)
{
    double want[FEATURES] = {0};
    measure(loss, n, 256, want + 1);
    measure(norm, n, 64, want + 9);
    want[0] = now->loss;
    want[6] = 1;
    if (n >= 32) {
        want[5] = mean_of(loss + n - 16) - mean_of(loss + n - 32);
        want[6] = mean_of(loss + n - 16) / mean_of(loss + n - 32);
    }
    want[7] = (double)now->step / 10000;
    want[8] = now->gradient_norm;
    want[13] = log10(now->gradient_norm);
    want[14] = fmin(now->gradient_norm / want[9], 10);
    want[15] = want[10] / want[9];
    want[16] = now->momentum_mean;
    want[17] = now->momentum_deviation;
    want[18] = now->variance_mean;
    want[19] = now->variance_deviation;
    want[20] = log10(now->learning_rate);
    want[21] = now->beta1_power;
    want[22] = now->beta2_power;
    want[24] = now->phase;
    want[25] = (double)now->phase_step / 100;
    for (unsigned i = 0; i < FEATURES; i++)
        if (!(fabs(f[i] - want[i]) <= 2e-6 * fmax(fabs(want[i]), 1)))
            fail_msg("after %zu steps feature %u is %.9g, and not %.9g", n, i, f[i], want[i]);
    /* What is no sum is exact. */
    static const unsigned exact[] = {0, 3, 4, 8, 11, 12, 16, 17, 18, 19, 21, 22, 24};
    for (unsigned i = 0; i < sizeof exact / sizeof exact[0]; i++)
        assert_true(f[exact[i]] == (float)want[exact[i]]);
}

static void test_definition(void **unused)
{
    (void)unused;
    static float loss[STEPS], norm[STEPS];
    uint64_t seed = support_seed();
    float f[FEATURES];
    double fast = 0, medium = 0, slow = 0;
    wcodec_training_averages averages;
    wcodec_context *context = support_context(1, NULL);
    wcodec_training_state *state = make(context);
    for (size_t n = 0; n < STEPS; n++) {
        const wcodec_training_step step = make_step(n, &seed);
        assert_int_equal(wcodec_training_state_step(state, &step, NULL), WCODEC_OK);
        loss[n] = step.loss;
        norm[n] = step.gradient_norm;
        features_of(state, f);
        expect(n + 1, &step, loss, norm, f);
        fast = n == 0 ? loss[0] : 0.75 * fast + 0.25 * loss[n];
        medium = n == 0 ? loss[0] : 0.9375 * medium + 0.0625 * loss[n];
        slow = n == 0 ? loss[0] : 0.984375 * slow + 0.015625 * loss[n];
        wcodec_training_state_averages(state, &averages);
        assert_true(fabs(averages.fast - fast) < 1e-5 && fabs(averages.medium - medium) < 1e-5 &&
                    fabs(averages.slow - slow) < 1e-5);
    }
    wcodec_training_state_destroy(state);
    wcodec_context_destroy(context);
}

static void test_no_numbers(void **unused)
{
    (void)unused;
    float f[FEATURES];
    wcodec_training_averages averages;
    wcodec_context *context = support_context(1, NULL);
    wcodec_training_state *state = make(context);
    features_of(state, f);
    for (unsigned i = 0; i < FEATURES; i++) {
        const float want = i == 6 || i == 21 || i == 22 ? 1
                           : i == 13 || i == 20         ? -10
                           : i == 14                    ? 10
                                                        : 0;
        assert_true(i == 0 || i == 8 ? isnan(f[i]) : f[i] == want);
    }
    wcodec_training_state_averages(state, &averages);
    assert_true(isnan(averages.fast) && isnan(averages.medium) && isnan(averages.slow));

    /* NaN among numbers: no least, no greatest, and the mean tells. */
    wcodec_training_step step = {.loss = NAN, .gradient_norm = NAN};
    assert_int_equal(wcodec_training_state_step(state, &step, NULL), WCODEC_OK);
    features_of(state, f);
    assert_true(isnan(f[0]) && isnan(f[1]) && isnan(f[2]) && isnan(f[3]) && isnan(f[4]));
    step = (wcodec_training_step){.loss = 3, .gradient_norm = 0};
    assert_int_equal(wcodec_training_state_step(state, &step, NULL), WCODEC_OK);
    features_of(state, f);
    assert_true(f[0] == 3 && isnan(f[1]) && isnan(f[2]) && f[3] == 3 && f[4] == 3);
    assert_true(isnan(f[9]) && f[11] == 0 && f[12] == 0 && f[13] == -10 && f[20] == -10);

    /* It drops out of the shorter history first. */
    step = (wcodec_training_step){.loss = 2, .gradient_norm = 1, .learning_rate = 1};
    for (unsigned i = 0; i < 64; i++)
        assert_int_equal(wcodec_training_state_step(state, &step, NULL), WCODEC_OK);
    features_of(state, f);
    assert_true(isnan(f[1]) && f[5] == 0 && f[6] == 1);
    assert_true(f[9] == 1 && f[10] == 0 && f[11] == 1 && f[12] == 1 && f[13] == 0 && f[14] == 1 &&
                f[15] == 0 && f[20] == 0);
    for (unsigned i = 0; i < 192; i++)
        assert_int_equal(wcodec_training_state_step(state, &step, NULL), WCODEC_OK);
    features_of(state, f);
    assert_true(f[1] == 2 && f[2] == 0 && f[3] == 2 && f[4] == 2);

    step.loss = INFINITY;
    assert_int_equal(wcodec_training_state_step(state, &step, NULL), WCODEC_OK);
    features_of(state, f);
    assert_true(isinf(f[0]) && isinf(f[1]) && isnan(f[2]) && f[3] == 2 && isinf(f[4]));
    wcodec_training_state_destroy(state);
    wcodec_context_destroy(context);
}

static void test_many(void **unused)
{
    (void)unused;
    enum { DIFFERENT = 40, MANY = 1000 };
    static float one[MANY][FEATURES], all[MANY][FEATURES];
    const wcodec_training_state *states[MANY];
    wcodec_training_state *made[DIFFERENT];
    uint64_t seed = support_seed();
    wcodec_context *context = support_context(3, NULL);
    for (unsigned i = 0; i < DIFFERENT; i++) {
        made[i] = make(context);
        for (uint64_t n = 0; n < 11 * i; n++) {
            const wcodec_training_step step = make_step(n, &seed);
            assert_int_equal(wcodec_training_state_step(made[i], &step, NULL), WCODEC_OK);
        }
    }
    for (unsigned i = 0; i < MANY; i++) {
        states[i] = made[support_random(&seed) % DIFFERENT];
        features_of(states[i], one[i]);
    }
    uint8_t untouched[sizeof *all];
    memset(untouched, 0x55, sizeof untouched);
    static const size_t counts[] = {0, 1, 255, 256, 257, MANY};
    for (unsigned k = 0; k < sizeof counts / sizeof counts[0]; k++) {
        memset(all, 0x55, sizeof all);
        assert_int_equal(
            wcodec_training_states_features(context, states, counts[k], FEATURES, *all, NULL),
            WCODEC_OK);
        assert_memory_equal(all, one, counts[k] * sizeof *all);
        if (counts[k] < MANY)
            assert_memory_equal(all[counts[k]], untouched, sizeof untouched);
    }
    for (unsigned i = 0; i < DIFFERENT; i++)
        wcodec_training_state_destroy(made[i]);
    wcodec_context_destroy(context);
}

static void test_refused(void **unused)
{
    (void)unused;
    float f[FEATURES] = {7};
    wcodec_error err;
    struct support_allocator allocator;
    support_allocator_init(&allocator, SUPPORT_NEVER);
    wcodec_context *context = support_context(1, &allocator.allocator);
    wcodec_training_state *state = make(context);
    assert_int_equal(wcodec_training_state_features(state, 32, f, &err), WCODEC_ERROR_USAGE);
    assert_string_equal(err.text, "a training state has 64 features, and 32 were asked for");
    const wcodec_training_state *states[] = {state};
    assert_int_equal(wcodec_training_states_features(context, states, 1, 65, f, &err),
                     WCODEC_ERROR_USAGE);
    assert_true(f[0] == 7);

    wcodec_training_step step = {.step = 5, .loss = 1, .phase = (wcodec_training_phase)4};
    assert_int_equal(wcodec_training_state_step(state, &step, &err), WCODEC_ERROR_USAGE);
    assert_non_null(strstr(err.text, "the phase of step 5 is 4"));
    step.phase = WCODEC_PHASE_FULL;
    step.reserved[3] = 1;
    assert_int_equal(wcodec_training_state_step(state, &step, &err), WCODEC_ERROR_USAGE);
    features_of(state, f);
    assert_true(isnan(f[0]) && f[4] == 0); /* nothing was added */
    wcodec_training_state_destroy(state);
    wcodec_training_state_destroy(NULL);

    allocator.left = 0;
    assert_int_equal(wcodec_training_state_create(context, &state, &err), WCODEC_ERROR_MEMORY);
    allocator.left = SUPPORT_NEVER;
    wcodec_context_destroy(context);
    assert_int_equal(allocator.balance, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_definition),
        cmocka_unit_test(test_no_numbers),
        cmocka_unit_test(test_many),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
