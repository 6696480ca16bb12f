/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The trace of rollouts: what is in it is what the rollout gives, it is the same by all threads and
 * levels, only the level debug gets it, and it changes no result. */
#include "support_memory.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { E = 3, H = 40, S = 8, I = 6, Y = 4, TEXT = 16384 };

struct lines {
    char text[TEXT];
    size_t size, count;
};

static void keep_line(void *opaque, wcodec_log_level level, const char *text)
{
    struct lines *l = opaque;
    if (level != WCODEC_LOG_DEBUG || strncmp(text, "rollout", 7) != 0)
        return;
    l->size += (size_t)snprintf(l->text + l->size, sizeof l->text - l->size, "%s\n", text);
    l->count++;
    assert_true(l->size < sizeof l->text);
}

struct said {
    float trajectories[E * (Y + 1)], deltas[E * Y], norms[E * Y];
    wcodec_rssm_metrics metrics[E];
    wcodec_rssm_summary summary;
};

/* A rollout by `threads`, with all outputs or only those that must be. */
static wcodec_status roll(unsigned threads, wcodec_log_level level, uint64_t steps, bool all,
                          const wcodec_allocator *allocator, struct said *said, struct lines *lines)
{
    static float weights[H * (H + I)], head[H + S], features[I];
    wcodec_gru_weights members[E];
    wcodec_options options;
    wcodec_rssm_options sizes;
    wcodec_context *context;
    wcodec_rssm *rssm = NULL;
    wcodec_options_init(&options);
    options.backend = "cpu";
    options.threads = threads;
    options.log = keep_line;
    options.log_opaque = lines;
    options.log_level = level;
    if (allocator != NULL)
        options.allocator = *allocator;
    *lines = (struct lines){.count = 0};
    memset(said, 0, sizeof *said);
    for (size_t i = 0; i < H * (H + I); i++)
        weights[i] = 0.2f * sinf((float)i);
    for (size_t i = 0; i < H + S; i++)
        head[i] = 0.1f * cosf((float)i);
    for (size_t i = 0; i < I; i++)
        features[i] = 0.3f * (float)(i + 1);
    for (size_t i = 0; i < E; i++)
        members[i] = (wcodec_gru_weights){.w_z = weights + i,
                                          .w_r = weights + 5 * i,
                                          .w_h = weights + 7 * i,
                                          .u_z = weights + i,
                                          .u_r = weights + 2 * i,
                                          .u_h = weights + 3 * i};
    wcodec_rssm_options_init(&sizes);
    sizes.ensemble = E;
    sizes.hidden = H;
    sizes.stochastic = S;
    sizes.inputs = I;
    wcodec_status status = wcodec_context_create(&options, &context, NULL);
    if (status != WCODEC_OK)
        return status;
    const wcodec_rssm_input input = {.features = features, .loss = 2.5f};
    wcodec_rssm_output output = {.trajectories = said->trajectories};
    if (all) {
        output.step_deltas = said->deltas;
        output.hidden_norms = said->norms;
        output.metrics = said->metrics;
    }
    status = wcodec_rssm_create(context, &sizes, members, head, NULL, &rssm, NULL);
    if (status == WCODEC_OK)
        status =
            wcodec_rssm_rollout(rssm, &input, steps, &output, all ? &said->summary : NULL, NULL);
    wcodec_rssm_destroy(rssm);
    wcodec_context_destroy(context);
    return status;
}

static struct said said, again;
static struct lines lines, other;

/* The line that begins so. */
static const char *line_of(const char *format, unsigned member, unsigned step)
{
    char begin[64];
    snprintf(begin, sizeof begin, format, member, step);
    const char *found = strstr(lines.text, begin);
    if (found == NULL)
        fail_msg("no line '%s' in\n%s", begin, lines.text);
    return found + strlen(begin);
}

static void test_what_it_says(void **unused)
{
    (void)unused;
    assert_int_equal(roll(2, WCODEC_LOG_DEBUG, Y, true, NULL, &said, &lines), WCODEC_OK);
    assert_int_equal(lines.count, E * (Y + 1) + 2);
    assert_non_null(strstr(lines.text, "rollout by the CPU: 3 members, 40 hidden values, 8 "
                                       "stochastic, 6 inputs, production, 4 steps from the loss "
                                       "2.5\n"));
    for (unsigned i = 0; i < E; i++) {
        double loss, delta, norm, entropy, sum = 0;
        for (unsigned t = 0; t < Y; t++) {
            assert_int_equal(sscanf(line_of("rollout: member %u, step %u: ", i, t + 1),
                                    "loss %lf, step delta %lf, hidden norm %lf, entropy %lf", &loss,
                                    &delta, &norm, &entropy),
                             4);
            assert_true((float)loss == said.trajectories[i * (Y + 1) + t + 1]);
            assert_true((float)delta == said.deltas[i * Y + t]);
            assert_true((float)norm == said.norms[i * Y + t]);
            sum += entropy;
        }
        assert_int_equal(sscanf(line_of("rollout: member %u: ", i, 0),
                                "loss variance %lf, smoothness %lf, entropy %lf", &loss, &delta,
                                &entropy),
                         3);
        assert_true((float)loss == said.metrics[i].loss_variance);
        assert_true((float)delta == said.metrics[i].smoothness);
        assert_true((float)entropy == said.metrics[i].entropy);
        assert_true(fabs(sum - entropy) < 1e-5 && entropy > 1);
    }
    double loss, variance, deviation, confidence;
    assert_int_equal(sscanf(line_of("rollout: loss ", 0, 0),
                            "%lf, variance %lf, deviation %lf, confidence %lf", &loss, &variance,
                            &deviation, &confidence),
                     4);
    assert_true((float)loss == said.summary.loss && (float)variance == said.summary.variance);
    assert_true((float)deviation == said.summary.deviation);
    assert_true((float)confidence == said.summary.confidence && variance > 0);
}

/* By other threads, by plain C, and where the caller wants less: the same lines. */
static void test_same_everywhere(void **unused)
{
    static const char *const masks[] = {"scalar", NULL};
    (void)unused;
    assert_int_equal(roll(1, WCODEC_LOG_DEBUG, Y, true, NULL, &said, &lines), WCODEC_OK);
    for (unsigned i = 0; i < 2; i++) {
        if (masks[i] != NULL)
            setenv("WCODEC_CPU_MASK", masks[i], 1);
        else
            unsetenv("WCODEC_CPU_MASK");
        for (unsigned threads = 1; threads <= 3; threads++) {
            assert_int_equal(roll(threads, WCODEC_LOG_DEBUG, Y, threads == 2, NULL, &again, &other),
                             WCODEC_OK);
            assert_string_equal(other.text, lines.text);
        }
    }
}

static void test_only_if_wanted(void **unused)
{
    (void)unused;
    assert_int_equal(roll(1, WCODEC_LOG_DEBUG, Y, true, NULL, &said, &lines), WCODEC_OK);
    assert_int_equal(roll(1, WCODEC_LOG_INFO, Y, true, NULL, &again, &other), WCODEC_OK);
    assert_int_equal(other.count, 0);
    assert_memory_equal(&said, &again, sizeof said);
    assert_int_equal(roll(1, WCODEC_LOG_DEBUG, 0, false, NULL, &again, &other), WCODEC_OK);
    assert_int_equal(other.count, E + 2);
    assert_non_null(strstr(other.text, "rollout: member 1: loss variance 0, smoothness 0"));
}

static void test_memory(void **unused)
{
    (void)unused;
    long fails = 0;
    for (bool through = false; !through; fails++) {
        struct support_allocator allocator;
        support_allocator_init(&allocator, fails);
        const wcodec_status status =
            roll(1, WCODEC_LOG_DEBUG, Y, false, &allocator.allocator, &again, &other);
        through = status == WCODEC_OK;
        assert_true(through || status == WCODEC_ERROR_MEMORY);
        assert_int_equal(other.count, through ? E * (Y + 1) + 2 : 0);
        assert_int_equal(allocator.balance, 0);
    }
    assert_true(fails > 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_it_says),
        cmocka_unit_test(test_same_everywhere),
        cmocka_unit_test(test_only_if_wanted),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
