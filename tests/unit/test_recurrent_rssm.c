/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Ensembles of recurrent models: the published golden values, what a rollout says beside its
 * definition in binary64, the same by any number of threads, and what is refused. */
#include "recurrent/philox.h"
#include "support_memory.h"

#include <math.h>

enum { GATES = 3, PARTS = WCODEC_RSSM_PARTS };

/* Weights of an ensemble, and what is rolled out of it. */
struct model {
    wcodec_rssm_options o;
    size_t e, h, s, in;
    float *w, *u; /* [E, 3, H, I], [E, 3, H, H] */
    float *head, *delta_head, *hidden, *features;
    wcodec_gru_weights *members;
    float bias[64]; /* of all gates; the first H of it */
    uint64_t seed;
};

static float *floats(size_t count)
{
    float *p = calloc(count, sizeof *p);
    assert_non_null(p);
    return p;
}

static void make(struct model *m, wcodec_rssm_mode mode, size_t e, size_t h, size_t s, size_t in)
{
    static const float frequency[GATES] = {0.1f, 0.2f, 0.3f};
    wcodec_rssm_options_init(&m->o);
    m->o.ensemble = m->e = e;
    m->o.hidden = m->h = h;
    m->o.stochastic = m->s = s;
    m->o.inputs = m->in = in;
    m->o.mode = mode;
    m->w = floats(e * GATES * h * in);
    m->u = floats(e * GATES * h * h);
    m->head = floats(h + s);
    m->delta_head = floats(10 * (h + s));
    m->hidden = floats(e * h);
    m->features = floats(in);
    m->members = calloc(e, sizeof *m->members);
    assert_non_null(m->members);
    for (size_t i = 0; i < e; i++) {
        float *w = m->w + i * GATES * h * in, *u = m->u + i * GATES * h * h;
        const float scale = 0.01f * (float)(i + 1);
        for (size_t g = 0; g < GATES; g++) {
            for (size_t j = 0; j < h * in; j++)
                w[g * h * in + j] = scale * sinf(frequency[g] * (float)j);
            for (size_t j = 0; j < h * h; j++)
                u[g * h * h + j] = scale * cosf(frequency[g] * (float)j);
        }
        m->members[i] = (wcodec_gru_weights){.w_z = w,
                                             .w_r = w + h * in,
                                             .w_h = w + 2 * h * in,
                                             .u_z = u,
                                             .u_r = u + h * h,
                                             .u_h = u + 2 * h * h};
    }
    for (size_t i = 0; i < h + s; i++)
        m->head[i] = 0.01f;
    for (size_t i = 0; i < 10 * (h + s); i++)
        m->delta_head[i] = 0.03f * sinf((float)i);
    for (size_t i = 0; i < e * h; i++)
        m->hidden[i] = 0.5f;
    for (size_t i = 0; i < in; i++)
        m->features[i] = 1;
}

static void drop(struct model *m)
{
    free(m->w);
    free(m->u);
    free(m->head);
    free(m->delta_head);
    free(m->hidden);
    free(m->features);
    free(m->members);
}

static wcodec_rssm *create(wcodec_context *context, const struct model *m)
{
    wcodec_rssm *rssm;
    wcodec_error err;
    if (wcodec_rssm_create(context, &m->o, m->members, m->head, m->delta_head, &rssm, &err) !=
        WCODEC_OK)
        fail_msg("%s", err.text);
    return rssm;
}

struct golden {
    unsigned member;
    double first, second, last, norm, variance, smoothness, entropy; /* entropy 0: not known */
};

static void expect_near(const char *what, unsigned member, double got, double want, double scale)
{
    if (!(fabs(got - want) <= 1e-5 * scale))
        fail_msg("member %u: %s is %.9g, and not %.9g", member, what, got, want);
}

static void expect_golden(wcodec_rssm_mode mode, size_t e, size_t h, size_t s, size_t in,
                          size_t steps, const struct golden *golden, size_t count)
{
    struct model m;
    make(&m, mode, e, h, s, in);
    wcodec_context *context = support_context(2, NULL);
    wcodec_rssm *rssm = create(context, &m);
    float *loss = floats(e * (steps + 1)), *norms = floats(e * steps);
    wcodec_rssm_metrics metrics[8];
    wcodec_rssm_summary summary;
    const wcodec_rssm_input input = {.hidden = m.hidden, .features = m.features, .loss = 2.5f};
    const wcodec_rssm_output output = {
        .trajectories = loss, .hidden_norms = norms, .metrics = metrics};
    assert_int_equal(wcodec_rssm_rollout(rssm, &input, steps, &output, &summary, NULL), WCODEC_OK);
    for (size_t i = 0; i < count; i++) {
        const struct golden *g = &golden[i];
        const float *of = loss + g->member * (steps + 1);
        assert_true(of[0] == 2.5f);
        expect_near("loss 1", g->member, of[1], g->first, 1);
        expect_near("loss 2", g->member, of[2], g->second, 1);
        expect_near("the last loss", g->member, of[steps], g->last, 1);
        expect_near("the norm", g->member, norms[g->member * steps + steps - 1], g->norm, 1);
        expect_near("the variance", g->member, metrics[g->member].loss_variance, g->variance, 1);
        expect_near("smoothness", g->member, metrics[g->member].smoothness, g->smoothness, 1);
        if (g->entropy != 0)
            expect_near("entropy", g->member, metrics[g->member].entropy, g->entropy, g->entropy);
        else
            expect_near("entropy", g->member, metrics[g->member].entropy, 0.01 * (double)steps, 1);
    }
    free(loss);
    free(norms);
    wcodec_rssm_destroy(rssm);
    wcodec_context_destroy(context);
    drop(&m);
}

static void test_golden(void **unused)
{
    (void)unused;
    static const struct golden small_reference[] = {
        {0, 0.3197998, 0.1602783, 0.0008640, 0.292464, 0.4989667, 0.2421708, 0},
        {2, 0.3202564, 0.1639904, 0.0018502, 0.872117, 0.4977600, 0.2420836, 0}};
    static const struct golden small[] = {
        {0, 1.1851863, 1.0943440, 1.0105089, 0.253962, 0.1776896, 0.1460530, 34.652762}};
    static const struct golden large_reference[] = {
        {0, 1.2801160, 0.6403788, 0.0001144, 0.019130, 0.1555364, 0.0248956, 0},
        {4, 1.2804910, 0.6425021, 0.0005796, 0.096408, 0.1555380, 0.0248879, 0}};
    static const struct golden large[] = {
        {0, 1.9156520, 1.3913131, 1.0103979, 0.133093, 0.0594713, 0.0119255, 173.285087},
        {4, 1.9160111, 1.3932004, 1.0118102, 0.668716, 0.0593653, 0.0119181, 173.285087}};
    expect_golden(WCODEC_RSSM_REFERENCE, 3, 64, 64, 16, 10, small_reference, 2);
    expect_golden(WCODEC_RSSM_PRODUCTION, 3, 64, 32, 16, 10, small, 1);
    expect_golden(WCODEC_RSSM_REFERENCE, 5, 256, 256, 64, 50, large_reference, 2);
    expect_golden(WCODEC_RSSM_PRODUCTION, 5, 256, 32, 64, 50, large, 1);
}

/* By the definition, in binary64. */
static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

struct results {
    double *loss; /* [E, Y + 1] */
    double *h;    /* [E, H] */
    double *p;    /* [E, S] */
    double entropy;
};

static void define_step(const struct model *m, size_t member, const double *x, double *h)
{
    double next[64], r[64], z[64];
    const wcodec_gru_weights *w = &m->members[member];
    for (size_t i = 0; i < m->h; i++) {
        const double bias = w->b_z == NULL ? 0 : w->b_z[i];
        z[i] = r[i] = bias;
        for (size_t k = 0; k < m->in; k++) {
            z[i] += w->w_z[i * m->in + k] * x[k];
            r[i] += w->w_r[i * m->in + k] * x[k];
        }
        for (size_t k = 0; k < m->h; k++) {
            z[i] += w->u_z[i * m->h + k] * h[k];
            r[i] += w->u_r[i * m->h + k] * h[k];
        }
        z[i] = sigmoid(z[i]);
        r[i] = sigmoid(r[i]);
    }
    for (size_t i = 0; i < m->h; i++) {
        next[i] = w->b_h == NULL ? 0 : w->b_h[i];
        for (size_t k = 0; k < m->in; k++)
            next[i] += w->w_h[i * m->in + k] * x[k];
        for (size_t k = 0; k < m->h; k++)
            next[i] += w->u_h[i * m->h + k] * r[k] * h[k];
    }
    for (size_t i = 0; i < m->h; i++)
        h[i] = (1 - z[i]) * h[i] + z[i] * tanh(next[i]);
}

static double define_stochastic(const struct model *m, const double *h, double *p)
{
    double sum = 0, entropy = 0;
    for (size_t i = 0; i < m->s; i++)
        sum += p[i] = exp(h[i * m->h / m->s]);
    for (size_t i = 0; i < m->s; i++) {
        p[i] /= sum;
        entropy -= p[i] * log(p[i]);
    }
    return entropy;
}

/* One of the classes, by the seed; false if it is too near to another for what binary32 says. */
static bool define_draw(const struct model *m, size_t member, size_t step, double *p)
{
    const uint32_t counter[4] = {(uint32_t)member, (uint32_t)step, 0, 0};
    uint32_t words[4];
    double sum = 0;
    size_t drawn = m->s - 1;
    bool far = true;
    wcodec_philox4x32(m->seed, counter, words);
    const double u = (words[0] >> 8) / 16777216.0;
    for (size_t k = 0; k < m->s - 1; k++) {
        sum += p[k];
        far = far && fabs(u - sum) > 3e-6;
        if (u < sum && k < drawn)
            drawn = k;
    }
    for (size_t k = 0; k < m->s; k++)
        p[k] = k == drawn;
    return far;
}

/* False if a draw says nothing. */
static bool define(const struct model *m, bool given, double loss, size_t steps, struct results *r)
{
    double x[64];
    bool told = true;
    r->entropy = 0;
    for (size_t e = 0; e < m->e; e++) {
        double *h = r->h + e * m->h, *p = r->p + e * m->s, *out = r->loss + e * (steps + 1);
        for (size_t i = 0; i < m->in; i++)
            x[i] = m->features[i];
        for (size_t i = 0; i < m->h; i++)
            h[i] = given ? m->hidden[e * m->h + i] : i < m->in ? tanh(m->features[i]) : 0;
        define_stochastic(m, h, p);
        out[0] = loss;
        for (size_t t = 0; t < steps; t++) {
            double logit = 0;
            define_step(m, e, x, h);
            r->entropy += define_stochastic(m, h, p);
            if (m->o.mode == WCODEC_RSSM_SAMPLED)
                told = define_draw(m, e, t + 1, p) && told;
            for (size_t i = 0; i < m->h; i++)
                logit += m->head[i] * h[i];
            for (size_t i = 0; i < m->s; i++)
                logit += m->head[m->h + i] * p[i];
            x[0] = out[t + 1] = fmax(exp(fmin(fmax(logit, -10), 10)), 1e-6);
        }
    }
    return told;
}

static void near(const char *what, double got, double want)
{
    if (!(fabs(got - want) <= 1e-5 * fmax(1, fabs(want))))
        fail_msg("%s is %.9g, and not %.9g", what, got, want);
}

static double delta_output(const struct model *m, const struct results *r, size_t row)
{
    double sum = 0;
    for (size_t e = 0; e < m->e; e++) {
        for (size_t i = 0; i < m->h; i++)
            sum += m->delta_head[row * (m->h + m->s) + i] * r->h[e * m->h + i];
        for (size_t i = 0; i < m->s; i++)
            sum += m->delta_head[row * (m->h + m->s) + m->h + i] * r->p[e * m->s + i];
    }
    return sum / (double)m->e;
}

static void expect_summary(const struct model *m, const struct results *r, size_t steps,
                           const wcodec_rssm_input *input, const wcodec_rssm_output *output,
                           const wcodec_rssm_summary *summary)
{
    double variance = 0, last = 0;
    for (size_t t = 0; t <= steps; t++) {
        double sum = 0;
        for (size_t e = 0; e < m->e; e++)
            sum += r->loss[e * (steps + 1) + t];
        last = sum / (double)m->e;
        near("a mean loss", output->mean[t], last);
    }
    for (size_t e = 0; e < m->e; e++)
        variance += pow(r->loss[e * (steps + 1) + steps] - last, 2) / (double)m->e;
    const double deviation = sqrt(variance) * (1 + 0.1 * sqrt((double)steps));
    near("the loss", summary->loss, last);
    near("the variance", summary->variance, variance);
    near("the deviation", summary->deviation, deviation);
    near("aleatoric", summary->aleatoric, deviation / 2);
    near("epistemic", summary->epistemic, deviation / 2);
    near("the confidence", summary->confidence, 1 / (1 + deviation));
    near("the lower bound", summary->lower, last - 2 * deviation);
    near("the upper bound", summary->upper, last + 2 * deviation);
    near("entropy", summary->entropy, steps == 0 ? 0 : r->entropy / (double)m->e / (double)steps);
    const double before = input->loss, scale = (double)input->learning_rate * input->gradient_norm *
                                               (1 + tanh(delta_output(m, r, 0))) *
                                               (1 + fmax(0, (before - last) / before)) *
                                               (double)steps * sigmoid(delta_output(m, r, 1));
    for (size_t i = 0; i < PARTS; i++)
        near("a weight delta", output->weight_deltas[i],
             scale * sigmoid(delta_output(m, r, 2 + i)));
}

static void compare(wcodec_context *context, struct model *m, bool given, size_t steps)
{
    const size_t e = m->e;
    struct results want = {.loss = calloc(e * (steps + 1), sizeof(double)),
                           .h = calloc(e * m->h, sizeof(double)),
                           .p = calloc(e * m->s, sizeof(double))};
    float *loss = floats(e * (steps + 1)), *mean = floats(steps + 1),
          *deltas = floats(e * steps + 1), *norms = floats(e * steps + 1),
          *hidden = floats(e * m->h), parts[PARTS];
    wcodec_rssm_metrics metrics[64];
    wcodec_rssm_summary summary;
    wcodec_rssm *rssm = create(context, m);
    while (!define(m, given, 3, steps, &want))
        m->seed++;
    const wcodec_rssm_input input = {.hidden = given ? m->hidden : NULL,
                                     .features = m->features,
                                     .loss = 3,
                                     .seed = m->seed,
                                     .gradient_norm = 1.5f,
                                     .learning_rate = 0.01f};
    const wcodec_rssm_output output = {.trajectories = loss,
                                       .mean = mean,
                                       .step_deltas = deltas,
                                       .hidden_norms = norms,
                                       .hidden = hidden,
                                       .metrics = metrics,
                                       .weight_deltas = parts};
    assert_int_equal(wcodec_rssm_rollout(rssm, &input, steps, &output, &summary, NULL), WCODEC_OK);
    for (size_t i = 0; i < e * (steps + 1); i++)
        near("a loss", loss[i], want.loss[i]);
    for (size_t i = 0; i < e * m->h; i++)
        near("a hidden value", hidden[i], want.h[i]);
    for (size_t i = 0; i < e; i++) {
        double norm = 0;
        for (size_t k = 0; k < m->h; k++)
            norm += want.h[i * m->h + k] * want.h[i * m->h + k];
        if (steps > 0)
            near("a norm", norms[i * steps + steps - 1], sqrt(norm));
        for (size_t t = 0; t < steps; t++)
            assert_true(deltas[i * steps + t] ==
                        fabsf(loss[i * (steps + 1) + t + 1] - loss[i * (steps + 1) + t]));
        if (steps < 2)
            assert_true(metrics[i].smoothness == 0);
    }
    expect_summary(m, &want, steps, &input, &output, &summary);
    if (steps == 0)
        assert_true(summary.loss == 3 && summary.confidence == 1 && parts[0] == 0);
    wcodec_rssm_destroy(rssm);
    free(want.loss);
    free(want.h);
    free(want.p);
    free(loss);
    free(mean);
    free(deltas);
    free(norms);
    free(hidden);
}

static void test_definition(void **unused)
{
    (void)unused;
    static const size_t sizes[][4] = {{1, 1, 1, 1},   {2, 37, 5, 1},   {5, 32, 32, 7},
                                      {3, 33, 3, 40}, {64, 31, 30, 2}, {4, 64, 17, 64}};
    static const size_t steps[] = {0, 1, 2, 30};
    uint64_t seed = support_seed();
    wcodec_context *context = support_context(2, NULL);
    for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct model m;
        make(&m, i % 2 == 0 ? WCODEC_RSSM_PRODUCTION : WCODEC_RSSM_SAMPLED, sizes[i][0],
             sizes[i][1], sizes[i][2], sizes[i][3]);
        m.seed = support_random(&seed);
        for (size_t k = 0; k < m.h; k++)
            m.bias[k] = (float)(support_random(&seed) % 100) / 100 - 0.5f;
        for (size_t k = 0; k < m.in; k++)
            m.features[k] = (float)(support_random(&seed) % 300) / 100 - 1.5f;
        for (size_t k = 0; k < m.h + m.s; k++)
            m.head[k] = (float)(support_random(&seed) % 100) / 500 - 0.1f;
        for (size_t e = 0; e < m.e; e += 2) /* the same for z and r, which the definition shares */
            m.members[e].b_z = m.members[e].b_r = m.members[e].b_h = m.bias;
        for (unsigned k = 0; k < sizeof steps / sizeof steps[0]; k++)
            compare(context, &m, k % 2 == 0, steps[k]);
        drop(&m);
    }
    wcodec_context_destroy(context);
}

/* The known answers of Random123's kat_vectors. */
static void test_philox(void **unused)
{
    (void)unused;
    static const struct {
        uint32_t counter[4];
        uint64_t seed;
        uint32_t words[4];
    } known[] = {
        {{0, 0, 0, 0}, 0, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX},
         UINT64_MAX,
         {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         0x299f31d0a4093822,
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    for (unsigned i = 0; i < sizeof known / sizeof known[0]; i++) {
        uint32_t words[4];
        wcodec_philox4x32(known[i].seed, known[i].counter, words);
        assert_memory_equal(words, known[i].words, sizeof words);
    }
}

/* Classes are drawn as often as p has it: with hidden values that stay at 0 but one, by a head that
 * tells the class by the loss. */
static void test_drawn_as_often(void **unused)
{
    (void)unused;
    enum { CLASSES = 4, STEPS = 1000, MEMBERS = 64 };
    static float loss[MEMBERS][STEPS + 1], again[MEMBERS][STEPS + 1];
    const double logit[CLASSES] = {0, 1, -1, 0.5};
    double p[CLASSES], sum = 0;
    unsigned count[CLASSES] = {0}, same = 0;
    wcodec_rssm_summary summary;
    struct model m;
    make(&m, WCODEC_RSSM_SAMPLED, MEMBERS, CLASSES, CLASSES, 1);
    /* z is 0 to the last bit, so that h stays: sigmoid(-200). */
    for (size_t i = 0; i < MEMBERS; i++) {
        memset(m.w + i * GATES * CLASSES, 0, GATES * CLASSES * sizeof(float));
        memset(m.u + i * GATES * CLASSES * CLASSES, 0, GATES * CLASSES * CLASSES * sizeof(float));
        m.members[i].b_z = m.bias;
        for (unsigned k = 0; k < CLASSES; k++)
            m.hidden[i * CLASSES + k] = (float)logit[k];
    }
    for (unsigned k = 0; k < CLASSES; k++) {
        m.bias[k] = -200;
        m.head[k] = 0;
        m.head[CLASSES + k] = (float)k;
        sum += p[k] = exp(logit[k]);
    }
    wcodec_context *context = support_context(2, NULL);
    wcodec_rssm *rssm = create(context, &m);
    wcodec_rssm_input input = {.hidden = m.hidden, .features = m.features, .loss = 1, .seed = 1};
    wcodec_rssm_output output = {.trajectories = loss[0]};
    assert_int_equal(wcodec_rssm_rollout(rssm, &input, STEPS, &output, &summary, NULL), WCODEC_OK);
    for (size_t i = 0; i < MEMBERS; i++)
        for (size_t t = 1; t <= STEPS; t++) {
            const long k = lround(log((double)loss[i][t]));
            assert_in_range(k, 0, CLASSES - 1);
            count[k]++;
        }
    for (unsigned k = 0; k < CLASSES; k++) {
        const double share = p[k] / sum, draws = MEMBERS * STEPS,
                     deviation = sqrt(share * (1 - share) * draws);
        if (!(fabs(count[k] - share * draws) < 5 * deviation))
            fail_msg("class %u was drawn %u times, and not %g", k, count[k], share * draws);
    }
    /* Another seed, in its upper half, draws others; the first one the same again. */
    output.trajectories = again[0];
    assert_int_equal(wcodec_rssm_rollout(rssm, &input, STEPS, &output, &summary, NULL), WCODEC_OK);
    assert_memory_equal(again, loss, sizeof loss);
    input.seed |= UINT64_C(1) << 32;
    assert_int_equal(wcodec_rssm_rollout(rssm, &input, STEPS, &output, &summary, NULL), WCODEC_OK);
    for (size_t i = 0; i < MEMBERS; i++)
        for (size_t t = 1; t <= STEPS; t++)
            same += again[i][t] == loss[i][t];
    assert_in_range(same, 1, MEMBERS * STEPS / 2);
    wcodec_rssm_destroy(rssm);
    wcodec_context_destroy(context);
    drop(&m);
}

static void test_threads(void **unused)
{
    (void)unused;
    enum { MEMBERS = 7, STEPS = 1000 };
    float loss[3][MEMBERS * (STEPS + 1)];
    wcodec_rssm_summary summary[3];
    struct model m;
    make(&m, WCODEC_RSSM_PRODUCTION, MEMBERS, 50, 8, 20);
    for (unsigned i = 0; i < 3; i++) {
        wcodec_context *context = support_context(i + 1, NULL);
        wcodec_rssm *rssm = create(context, &m);
        const wcodec_rssm_input input = {.features = m.features, .loss = 1};
        const wcodec_rssm_output output = {.trajectories = loss[i]};
        assert_int_equal(wcodec_rssm_rollout(rssm, &input, STEPS, &output, &summary[i], NULL),
                         WCODEC_OK);
        assert_memory_equal(loss[i], loss[0], sizeof loss[0]);
        assert_memory_equal(&summary[i], &summary[0], sizeof summary[0]);
        wcodec_rssm_destroy(rssm);
        wcodec_context_destroy(context);
    }
    drop(&m);
}

static wcodec_status try_make(wcodec_context *context, const struct model *m, wcodec_error *err)
{
    wcodec_rssm *rssm = NULL;
    wcodec_status status =
        wcodec_rssm_create(context, &m->o, m->members, m->head, m->delta_head, &rssm, err);
    if (status != WCODEC_OK)
        assert_null(rssm);
    wcodec_rssm_destroy(rssm);
    return status;
}

static void refused(wcodec_context *context, const struct model *m, const char *text)
{
    wcodec_error err;
    assert_int_equal(try_make(context, m, &err), WCODEC_ERROR_USAGE);
    if (strstr(err.text, text) == NULL)
        fail_msg("\"%s\" has no \"%s\"", err.text, text);
}

static void test_refused(void **unused)
{
    (void)unused;
    struct model m;
    wcodec_error err;
    struct support_allocator allocator;
    support_allocator_init(&allocator, SUPPORT_NEVER);
    wcodec_context *context = support_context(1, &allocator.allocator);
    make(&m, WCODEC_RSSM_PRODUCTION, 3, 20, 4, 6);
    const wcodec_rssm_options good = m.o;
    static const struct {
        size_t offset;
        uint64_t value;
        const char *text;
    } wrong[] = {
        {offsetof(wcodec_rssm_options, ensemble), 0, "ensemble is 0: expected 1 to 64"},
        {offsetof(wcodec_rssm_options, ensemble), 65, "ensemble is 65"},
        {offsetof(wcodec_rssm_options, hidden), 0, "hidden is 0: expected 1 to 4096"},
        {offsetof(wcodec_rssm_options, hidden), 4097, "hidden is 4097"},
        {offsetof(wcodec_rssm_options, stochastic), 0, "stochastic is 0: expected 1 to 20"},
        {offsetof(wcodec_rssm_options, stochastic), 21, "stochastic is 21"},
        {offsetof(wcodec_rssm_options, inputs), 0, "inputs is 0: expected 1 to 4096"},
        {offsetof(wcodec_rssm_options, inputs), UINT64_MAX, "inputs is 18446744073709551615"},
    };
    for (unsigned i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        memcpy((char *)&m.o + wrong[i].offset, &wrong[i].value, sizeof wrong[i].value);
        refused(context, &m, wrong[i].text);
        m.o = good;
    }
    m.o.mode = (wcodec_rssm_mode)3;
    refused(context, &m, "there is no mode 3");
    m.o.mode = WCODEC_RSSM_REFERENCE;
    refused(context, &m, "stochastic is 4: in the mode \"reference\" it is hidden, 20");
    m.o = good;
    m.members[1].reserved[6] = 1;
    refused(context, &m, "member 1: ");
    m.members[1].reserved[6] = 0;

    const float *const w_h = m.members[0].w_h;
    m.members[0].w_h = NULL;
    refused(context, &m, "member 0: W_h is missing");
    m.members[0].w_h = w_h;

    /* Weights that are no numbers are told by their place. */
    float *const u_r = m.u + (2 * GATES + 1) * m.h * m.h;
    const float kept = u_r[5 * m.h + 7];
    u_r[5 * m.h + 7] = NAN;
    refused(context, &m, "member 2: U_r[5, 7] is NaN");
    u_r[5 * m.h + 7] = kept;
    m.head[23] = -INFINITY;
    refused(context, &m, "head[0, 23] is infinite");
    m.head[23] = 0;

    /* Each allocation fails in turn. */
    const long calls = allocator.calls;
    assert_int_equal(try_make(context, &m, &err), WCODEC_OK);
    for (long i = allocator.calls - calls; i-- > 0;) {
        allocator.left = i;
        assert_int_equal(try_make(context, &m, &err), WCODEC_ERROR_MEMORY);
    }
    allocator.left = SUPPORT_NEVER;
    wcodec_context *limited = support_context_limited(1, 5000);
    assert_int_equal(try_make(limited, &m, &err), WCODEC_ERROR_LIMIT);
    wcodec_context_destroy(limited);

    float loss[3 * 3], parts[PARTS];
    wcodec_rssm *rssm;
    wcodec_rssm_summary summary;
    wcodec_rssm_input input = {.features = m.features, .loss = NAN};
    wcodec_rssm_output output = {.trajectories = loss, .weight_deltas = parts};
    assert_int_equal(wcodec_rssm_create(context, &m.o, m.members, m.head, NULL, &rssm, &err),
                     WCODEC_OK);
    assert_int_equal(wcodec_rssm_rollout(rssm, &input, 1001, &output, &summary, &err),
                     WCODEC_ERROR_USAGE);
    assert_string_equal(err.text, "steps is 1001: expected 0 to 1000");
    assert_int_equal(wcodec_rssm_rollout(rssm, &input, 2, &output, &summary, &err),
                     WCODEC_ERROR_USAGE);
    assert_non_null(strstr(err.text, "without a delta_head"));
    output.weight_deltas = NULL;
    input.reserved[0] = 1;
    assert_int_equal(wcodec_rssm_rollout(rssm, &input, 2, &output, &summary, &err),
                     WCODEC_ERROR_USAGE);
    input.reserved[0] = 0;
    allocator.left = 0;
    assert_int_equal(wcodec_rssm_rollout(rssm, &input, 2, &output, &summary, &err),
                     WCODEC_ERROR_MEMORY);
    allocator.left = SUPPORT_NEVER;

    /* A feature that is no number makes losses none; no bound hides it. */
    m.features[3] = NAN;
    assert_int_equal(wcodec_rssm_rollout(rssm, &input, 2, &output, &summary, &err), WCODEC_OK);
    assert_true(isnan(loss[1]) && isnan(loss[2]) && isnan(summary.loss) && isnan(summary.upper));
    wcodec_rssm_destroy(rssm);
    wcodec_rssm_destroy(NULL);
    wcodec_context_destroy(context);
    assert_int_equal(allocator.balance, 0);
    drop(&m);
}

static void test_confidence(void **unused)
{
    (void)unused;
    float errors[60];
    for (unsigned i = 0; i < 60; i++)
        errors[i] = i < 10 ? 1e6f : 0.25f;
    near("confidence", wcodec_rssm_confidence(0, NULL, 0, 2, 2), 0.4 + 0.4 * 0.7 + 0.2);
    near("confidence", wcodec_rssm_confidence(1, errors, 9, 2, 2), 0.2 + 0.4 * 0.7 + 0.2);
    near("confidence", wcodec_rssm_confidence(0, errors, 60, 2, 2), 0.4 + 0.4 * 0.8 + 0.2);
    near("confidence", wcodec_rssm_confidence(0, errors, 60, 2.5f, 2), 0.4 + 0.4 * 0.8 + 0.2 / 1.5);
    near("confidence", wcodec_rssm_confidence(0, errors, 60, 9, 2), 0.4 + 0.4 * 0.8 + 0.1);
    for (unsigned i = 0; i < 60; i++)
        errors[i] = 0;
    near("confidence", wcodec_rssm_confidence(3, errors, 10, -1, -1), 0.1 + 0.4 * 0.99 + 0.2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden),         cmocka_unit_test(test_definition),
        cmocka_unit_test(test_threads),        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_confidence),     cmocka_unit_test(test_philox),
        cmocka_unit_test(test_drawn_as_often),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
