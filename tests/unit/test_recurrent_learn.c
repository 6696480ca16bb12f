/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Ensembles that learn: gradients against finite differences and a plain way back, both in
 * binary64; what a lesson changes, by any threads and level; what is refused; and that losses come
 * nearer. */
#include "support_memory.h"

#include <math.h>
#include <string.h>

enum { GATES = 3, MOST_WEIGHTS = 2 * GATES * 50 * (50 + 9 + 1) + 100 };

/* An ensemble and a lesson. Weights lie as they are numbered: of each member W_z, W_r, W_h, U_z,
 * ..., b_h, row by row, then the head. */
struct course {
    wcodec_rssm_options o;
    size_t e, h, s, in, steps, of_member, count;
    float weights[MOST_WEIGHTS];
    float hidden[2 * 50], features[3 * 9];
    float loss;
};

/* Where array `n` of a member's nine begins. */
static size_t place(const struct course *c, unsigned n)
{
    const size_t w = c->h * c->in, u = c->h * c->h;
    return n < 3 ? n * w : n < 6 ? 3 * w + (n - 3) * u : 3 * (w + u) + (n - 6) * c->h;
}

static float number(uint64_t *seed)
{
    return (float)((double)(support_random(seed) >> 11) / 9007199254740992.0 * 2 - 1);
}

static void make(struct course *c, wcodec_rssm_mode mode, size_t e, size_t h, size_t s, size_t in,
                 size_t steps)
{
    uint64_t seed = support_seed();
    wcodec_rssm_options_init(&c->o);
    c->o.mode = mode;
    c->o.ensemble = c->e = e;
    c->o.hidden = c->h = h;
    c->o.stochastic = c->s = s;
    c->o.inputs = c->in = in;
    c->steps = steps;
    c->of_member = GATES * h * (in + h + 1);
    c->count = e * c->of_member + h + s;
    assert_true(c->count <= MOST_WEIGHTS);
    for (size_t i = 0; i < c->count; i++)
        c->weights[i] = number(&seed) * 1.5f / (float)sqrt((double)h);
    for (size_t i = 0; i < e * h; i++)
        c->hidden[i] = number(&seed);
    for (size_t i = 0; i < steps * in; i++)
        c->features[i] = number(&seed);
    c->loss = 0.4f;
}

static wcodec_rssm *create(wcodec_context *context, const struct course *c)
{
    wcodec_gru_weights members[2];
    wcodec_rssm *rssm;
    wcodec_error err;
    for (size_t i = 0; i < c->e; i++) {
        const float *w = c->weights + i * c->of_member;
        members[i] = (wcodec_gru_weights){.w_z = w + place(c, 0),
                                          .w_r = w + place(c, 1),
                                          .w_h = w + place(c, 2),
                                          .u_z = w + place(c, 3),
                                          .u_r = w + place(c, 4),
                                          .u_h = w + place(c, 5),
                                          .b_z = w + place(c, 6),
                                          .b_r = w + place(c, 7),
                                          .b_h = w + place(c, 8)};
    }
    if (wcodec_rssm_create(context, &c->o, members, c->weights + c->e * c->of_member, NULL, &rssm,
                           &err) != WCODEC_OK)
        fail_msg("%s", err.text);
    return rssm;
}

/* Arrays as weights lie. */
static void point(const struct course *c, float *values, wcodec_gru_values members[2])
{
    for (size_t i = 0; i < c->e; i++) {
        float *w = values + i * c->of_member;
        members[i] = (wcodec_gru_values){.w_z = w + place(c, 0),
                                         .w_r = w + place(c, 1),
                                         .w_h = w + place(c, 2),
                                         .u_z = w + place(c, 3),
                                         .u_r = w + place(c, 4),
                                         .u_h = w + place(c, 5),
                                         .b_z = w + place(c, 6),
                                         .b_r = w + place(c, 7),
                                         .b_h = w + place(c, 8)};
    }
}

static void weights_of(const wcodec_rssm *rssm, const struct course *c, float *values)
{
    wcodec_gru_values members[2];
    point(c, values, members);
    assert_int_equal(wcodec_rssm_weights(rssm, members, values + c->e * c->of_member, NULL, NULL),
                     WCODEC_OK);
}

static wcodec_rssm_lesson lesson_of(const struct course *c)
{
    return (wcodec_rssm_lesson){
        .hidden = c->hidden, .features = c->features, .steps = c->steps, .loss = c->loss};
}

/* A member's way through the lesson in binary64; weight `which` of all is greater by `by` in the
 * last step, by 0.7 of that in the one before, and so on. */
struct way {
    double before[3][50], z[3][50], r[3][50], c[3][50], h[50], p[50];
    double logit, loss;
};

static double weight(const struct course *c, size_t at, size_t which, double by)
{
    return c->weights[at] + (at == which ? by : 0);
}

static double sum_of(const struct course *c, size_t member, unsigned gate, size_t row,
                     const double *h, const float *x, size_t which, double by)
{
    const size_t base = member * c->of_member;
    double sum = weight(c, base + place(c, 6 + gate) + row, which, by);
    for (size_t k = 0; k < c->in; k++)
        sum += weight(c, base + place(c, gate) + row * c->in + k, which, by) * x[k];
    for (size_t k = 0; k < c->h; k++)
        sum += weight(c, base + place(c, 3 + gate) + row * c->h + k, which, by) * h[k];
    return sum;
}

static void go(const struct course *c, size_t member, size_t which, double by, struct way *w)
{
    double reset[50], sum = 0;
    for (size_t i = 0; i < c->h; i++)
        w->h[i] = c->hidden[member * c->h + i];
    for (size_t t = 0; t < c->steps; t++) {
        const float *x = c->features + t * c->in;
        const double scaled = by * pow(0.7, (double)(c->steps - 1 - t));
        memcpy(w->before[t], w->h, sizeof w->h);
        for (size_t i = 0; i < c->h; i++) {
            w->z[t][i] = 1 / (1 + exp(-sum_of(c, member, 0, i, w->h, x, which, scaled)));
            w->r[t][i] = 1 / (1 + exp(-sum_of(c, member, 1, i, w->h, x, which, scaled)));
            reset[i] = w->r[t][i] * w->h[i];
        }
        for (size_t i = 0; i < c->h; i++)
            w->c[t][i] = tanh(sum_of(c, member, 2, i, reset, x, which, scaled));
        for (size_t i = 0; i < c->h; i++)
            w->h[i] = (1 - w->z[t][i]) * w->h[i] + w->z[t][i] * w->c[t][i];
    }
    const bool is_reference = c->o.mode == WCODEC_RSSM_REFERENCE;
    for (size_t i = 0; i < c->s; i++)
        sum += w->p[i] = is_reference ? w->h[i] : exp(w->h[i * c->h / c->s]);
    w->logit = 0;
    for (size_t i = 0; i < c->s && !is_reference; i++)
        w->p[i] /= sum;
    for (size_t i = 0; i < c->h + c->s; i++)
        w->logit +=
            weight(c, c->e * c->of_member + i, which, by) * (i < c->h ? w->h[i] : w->p[i - c->h]);
    w->loss = is_reference ? w->logit : exp(fmax(-10, fmin(10, w->logit)));
}

static double error_of(const struct course *c, size_t which, double by)
{
    static struct way w;
    double sum = 0;
    for (size_t i = 0; i < c->e; i++) {
        go(c, i, which, by, &w);
        sum += (w.loss - c->loss) * (w.loss - c->loss) / 2;
    }
    return sum;
}

/* The way back of a step, as wcodec/recurrent.h defines the way forth; dh becomes that of the step
 * before. */
static void step_back(const struct course *c, size_t member, size_t t, const struct way *w,
                      double *dh, double *gradient)
{
    double dz[50], dr[50], dc[50], reset[50] = {0}, older[50];
    const float *weights = c->weights + member * c->of_member;
    const double *sums[] = {dz, dr, dc};
    for (size_t i = 0; i < c->h; i++) {
        dc[i] = dh[i] * w->z[t][i] * (1 - w->c[t][i] * w->c[t][i]);
        dz[i] = dh[i] * (w->c[t][i] - w->before[t][i]) * w->z[t][i] * (1 - w->z[t][i]);
    }
    for (size_t k = 0; k < c->h; k++)
        for (size_t i = 0; i < c->h; i++)
            reset[k] += weights[place(c, 5) + i * c->h + k] * dc[i];
    for (size_t i = 0; i < c->h; i++)
        dr[i] = reset[i] * w->before[t][i] * w->r[t][i] * (1 - w->r[t][i]);
    for (size_t k = 0; k < c->h; k++) {
        older[k] = dh[k] * (1 - w->z[t][k]) + reset[k] * w->r[t][k];
        for (size_t i = 0; i < c->h; i++)
            older[k] += weights[place(c, 3) + i * c->h + k] * dz[i] +
                        weights[place(c, 4) + i * c->h + k] * dr[i];
    }
    for (unsigned g = 0; g < GATES; g++)
        for (size_t i = 0; i < c->h; i++) {
            gradient[place(c, 6 + g) + i] += sums[g][i];
            for (size_t k = 0; k < c->in; k++)
                gradient[place(c, g) + i * c->in + k] += sums[g][i] * c->features[t * c->in + k];
            for (size_t k = 0; k < c->h; k++)
                gradient[place(c, 3 + g) + i * c->h + k] +=
                    sums[g][i] * (g == 2 ? w->r[t][k] : 1) * w->before[t][k];
        }
    for (size_t k = 0; k < c->h; k++)
        dh[k] = 0.7 * older[k];
}

static void plain_gradients(const struct course *c, double *gradient)
{
    static struct way w;
    double *of_head = gradient + c->e * c->of_member;
    const float *head = c->weights + c->e * c->of_member;
    memset(gradient, 0, c->count * sizeof *gradient);
    for (size_t e = 0; e < c->e; e++) {
        double dh[50], mean = 0;
        go(c, e, SIZE_MAX, 0, &w);
        const bool is_reference = c->o.mode == WCODEC_RSSM_REFERENCE;
        const double d = (w.loss - c->loss) * (is_reference ? 1 : fabs(w.logit) < 10 ? w.loss : 0);
        for (size_t i = 0; i < c->h; i++) {
            of_head[i] += d * w.h[i];
            dh[i] = d * head[i];
        }
        for (size_t i = 0; i < c->s; i++) {
            of_head[c->h + i] += d * w.p[i];
            mean += w.p[i] * head[c->h + i];
        }
        for (size_t i = 0; i < c->s; i++)
            if (is_reference)
                dh[i] += d * head[c->h + i];
            else
                dh[i * c->h / c->s] += d * w.p[i] * (head[c->h + i] - mean);
        for (size_t t = c->steps; t-- > 0;)
            step_back(c, e, t, &w, dh, gradient + e * c->of_member);
    }
}

static struct course course;
static float got[MOST_WEIGHTS], after[MOST_WEIGHTS];
static double want[MOST_WEIGHTS];

/* The library's gradients of the course, and their norm. */
static void gradients_of(const wcodec_rssm *rssm, const struct course *c,
                         wcodec_rssm_learned *learned)
{
    wcodec_gru_values members[2];
    const wcodec_rssm_lesson lesson = lesson_of(c);
    wcodec_error err;
    point(c, got, members);
    if (wcodec_rssm_gradients(rssm, &lesson, members, got + c->e * c->of_member, learned, &err) !=
        WCODEC_OK)
        fail_msg("%s", err.text);
}

static void expect_gradients(wcodec_rssm_mode mode, size_t e, size_t h, size_t s, size_t in,
                             size_t steps, size_t tried)
{
    double squares = 0, worst = 0;
    uint64_t seed = support_seed();
    wcodec_rssm_learned learned = {0};
    make(&course, mode, e, h, s, in, steps);
    wcodec_context *context = support_context(2, NULL);
    wcodec_rssm *rssm = create(context, &course);
    gradients_of(rssm, &course, &learned);
    plain_gradients(&course, want);
    for (size_t i = 0; i < course.count; i++)
        squares += want[i] * want[i];
    const double norm = sqrt(squares);
    assert_true(norm > 1e-3);
    assert_true(fabs(learned.norm - norm) <= 1e-5 * norm);
    assert_true(fabs(learned.error - error_of(&course, SIZE_MAX, 0)) <= 1e-5 * learned.error);
    for (size_t i = 0; i < course.count; i++)
        worst = fmax(worst, fabs(got[i] - want[i]) / norm);
    if (!(worst <= 2e-6))
        fail_msg("a gradient differs by %g of the norm", worst);
    for (size_t n = 0; n < tried; n++) {
        const size_t i = tried == course.count ? n : support_random(&seed) % course.count;
        const double by = 1e-5,
                     found = (error_of(&course, i, by) - error_of(&course, i, -by)) / (2 * by);
        if (!(fabs(want[i] - found) <= 1e-7 * norm) || !(fabs(got[i] - found) <= 2e-6 * norm))
            fail_msg("gradient %zu is %.9g, and %.9g, and not %.9g", i, got[i], want[i], found);
    }
    wcodec_rssm_destroy(rssm);
    wcodec_context_destroy(context);
}

static void test_gradients(void **unused)
{
    (void)unused;
    for (size_t steps = 1; steps <= 3; steps++) {
        expect_gradients(WCODEC_RSSM_PRODUCTION, 2, 7, 3, 4, steps,
                         2 * GATES * 7 * (4 + 7 + 1) + 10);
        expect_gradients(WCODEC_RSSM_REFERENCE, 2, 5, 5, 1, steps,
                         2 * GATES * 5 * (1 + 5 + 1) + 10);
        expect_gradients(WCODEC_RSSM_SAMPLED, 1, 33, 32, 9, steps, 50);
        expect_gradients(WCODEC_RSSM_PRODUCTION, 2, 50, 50, 9, steps, 50);
    }
    expect_gradients(WCODEC_RSSM_PRODUCTION, 1, 1, 1, 1, 3, GATES * 3 + 2);
}

/* A lesson takes rate times the gradients, clipped; what it says is what rollouts said; the weights
 * make an ensemble that says the same as the one that learnt. */
static void test_descent(void **unused)
{
    (void)unused;
    static float before[MOST_WEIGHTS], losses[2], first[100], hidden[100];
    for (unsigned clipped = 0; clipped < 2; clipped++) {
        wcodec_rssm_learned learned = {.losses = losses, .first = first, .hidden = hidden},
                            said = {0};
        wcodec_rssm_learn_options o;
        make(&course, WCODEC_RSSM_PRODUCTION, 2, 33, 8, 5, 2);
        wcodec_context *context = support_context(2, NULL);
        wcodec_rssm *rssm = create(context, &course);
        weights_of(rssm, &course, before);
        assert_memory_equal(before, course.weights, course.count * sizeof *before);
        gradients_of(rssm, &course, &said);
        wcodec_rssm_learn_options_init(&o);
        assert_true(o.rate == 1e-3f && o.clip == 5);
        o.rate = 0.25f;
        o.clip = clipped != 0 ? said.norm / 3 : said.norm * 2;
        float trajectory[2][2];
        const wcodec_rssm_input input = {.hidden = course.hidden, .features = course.features};
        const wcodec_rssm_output output = {.trajectories = &trajectory[0][0], .hidden = after};
        assert_int_equal(wcodec_rssm_rollout(rssm, &input, 1, &output, NULL, NULL), WCODEC_OK);
        const wcodec_rssm_lesson lesson = lesson_of(&course);
        assert_int_equal(wcodec_rssm_learn(rssm, &o, &lesson, &learned, NULL), WCODEC_OK);
        assert_memory_equal(first, after, course.e * course.h * sizeof *first);
        const wcodec_rssm_input second = {.hidden = first, .features = course.features + course.in};
        assert_true(learned.norm == said.norm && learned.error == said.error);
        weights_of(rssm, &course, after);
        const double rate = clipped != 0 ? 0.25 / 3 : 0.25;
        for (size_t i = 0; i < course.count; i++)
            assert_true(fabs(after[i] - (before[i] - rate * got[i])) <= 1e-6);
        wcodec_rssm *old = create(context, &course);
        assert_int_equal(wcodec_rssm_rollout(old, &second, 1, &output, NULL, NULL), WCODEC_OK);
        assert_memory_equal(hidden, after, course.e * course.h * sizeof *hidden);
        assert_true(losses[0] == trajectory[0][1] && losses[1] == trajectory[1][1]);
        weights_of(rssm, &course, course.weights);
        wcodec_rssm *same = create(context, &course);
        float other[2][2];
        const wcodec_rssm_output to = {.trajectories = &other[0][0]};
        assert_int_equal(wcodec_rssm_rollout(rssm, &input, 1, &output, NULL, NULL), WCODEC_OK);
        assert_int_equal(wcodec_rssm_rollout(same, &input, 1, &to, NULL, NULL), WCODEC_OK);
        assert_memory_equal(other, trajectory, sizeof other);
        wcodec_rssm_destroy(old);
        wcodec_rssm_destroy(same);
        wcodec_rssm_destroy(rssm);
        wcodec_context_destroy(context);
    }
}

/* The same weights after some lessons, by any threads and in plain C. */
static void test_same_everywhere(void **unused)
{
    (void)unused;
    static float first[MOST_WEIGHTS];
    make(&course, WCODEC_RSSM_PRODUCTION, 2, 50, 8, 9, 3);
    const wcodec_rssm_lesson lesson = lesson_of(&course);
    for (unsigned i = 0; i < 4; i++) {
        if (i == 3)
            setenv("WCODEC_CPU_MASK", "scalar", 1);
        wcodec_context *context = support_context(i == 3 ? 1 : i + 1, NULL);
        wcodec_rssm *rssm = create(context, &course);
        for (unsigned n = 0; n < 5; n++) {
            wcodec_rssm_learned learned = {0};
            assert_int_equal(wcodec_rssm_learn(rssm, NULL, &lesson, &learned, NULL), WCODEC_OK);
        }
        weights_of(rssm, &course, i == 0 ? first : after);
        if (i > 0)
            assert_memory_equal(after, first, course.count * sizeof *first);
        else
            assert_memory_not_equal(first, course.weights, course.count * sizeof *first);
        wcodec_rssm_destroy(rssm);
        wcodec_context_destroy(context);
    }
    unsetenv("WCODEC_CPU_MASK");
}

/* A series that comes again: its losses are said better and better, from hidden values that go on.
 */
static void test_losses_come_nearer(void **unused)
{
    (void)unused;
    enum { LESSONS = 6000, PERIOD = 6 };
    static const float series[PERIOD] = {2.0f, 1.6f, 1.3f, 1.1f, 0.9f, 1.5f};
    double begun = 0, ended = 0;
    float window[3 * 9] = {0}, start[100] = {0};
    wcodec_rssm_learn_options o;
    make(&course, WCODEC_RSSM_PRODUCTION, 2, 16, 4, 2, 3);
    wcodec_context *context = support_context(1, NULL);
    wcodec_rssm *rssm = create(context, &course);
    wcodec_rssm_learn_options_init(&o);
    o.rate = 0.2f;
    for (unsigned n = 0; n < LESSONS; n++) {
        for (unsigned k = 0; k < 3; k++) {
            window[2 * k] = series[(n + k) % PERIOD];
            window[2 * k + 1] = 1;
        }
        wcodec_rssm_learned learned = {.first = start};
        const wcodec_rssm_lesson lesson = {
            .hidden = start, .features = window, .steps = 3, .loss = series[(n + 3) % PERIOD]};
        assert_int_equal(wcodec_rssm_learn(rssm, &o, &lesson, &learned, NULL), WCODEC_OK);
        if (n < PERIOD)
            begun += learned.error;
        if (n >= LESSONS - PERIOD)
            ended += learned.error;
    }
    print_message("errors of a period: %g, then %g\n", begun, ended);
    assert_true(begun > 0.1 && ended < begun / 50);
    wcodec_rssm_destroy(rssm);
    wcodec_context_destroy(context);
}

static void expect_refused(wcodec_rssm *rssm, const wcodec_rssm_learn_options *o,
                           const wcodec_rssm_lesson *lesson, const char *text)
{
    wcodec_rssm_learned learned = {0};
    wcodec_error err;
    assert_int_equal(wcodec_rssm_learn(rssm, o, lesson, &learned, &err), WCODEC_ERROR_USAGE);
    if (strstr(err.text, text) == NULL)
        fail_msg("\"%s\" has no \"%s\"", err.text, text);
    weights_of(rssm, &course, after);
    assert_memory_equal(after, course.weights, course.count * sizeof *after);
}

static void test_refused(void **unused)
{
    (void)unused;
    static const struct {
        float rate, clip;
        const char *text;
    } options[] = {{0, 5, "rate is 0"},
                   {1.5f, 5, "rate is 1.5: expected a number above 0, at most 1"},
                   {NAN, 5, "rate is nan"},
                   {1, 0, "clip is 0"},
                   {1, INFINITY, "clip is inf"}};
    make(&course, WCODEC_RSSM_PRODUCTION, 2, 10, 4, 3, 2);
    wcodec_context *context = support_context(1, NULL);
    wcodec_rssm *rssm = create(context, &course);
    wcodec_rssm_lesson lesson = lesson_of(&course);
    wcodec_rssm_learn_options o;
    wcodec_rssm_learn_options_init(&o);
    for (unsigned i = 0; i < 5; i++) {
        o.rate = options[i].rate;
        o.clip = options[i].clip;
        expect_refused(rssm, &o, &lesson, options[i].text);
    }
    lesson.steps = 0;
    expect_refused(rssm, NULL, &lesson, "a lesson has 0 steps: expected 1 to 3");
    lesson.steps = 4;
    expect_refused(rssm, NULL, &lesson, "a lesson has 4 steps");
    lesson.steps = 2;
    course.features[4] = NAN;
    expect_refused(rssm, NULL, &lesson, "features[1, 1] is NaN");
    course.features[4] = 1;
    course.hidden[12] = -INFINITY;
    expect_refused(rssm, NULL, &lesson, "hidden[1, 2] is infinite");
    course.hidden[12] = 1;
    lesson.loss = 3e38f;
    expect_refused(rssm, NULL, &lesson, "a gradient is infinite");
    lesson.loss = NAN;
    expect_refused(rssm, NULL, &lesson, "loss is NaN");
    lesson.loss = 1;
    lesson.reserved[3] = 1;
    expect_refused(rssm, NULL, &lesson, "lesson");
    wcodec_error err;
    wcodec_gru_values members[2] = {{.reserved = {1}}};
    assert_int_equal(wcodec_rssm_weights(rssm, members, NULL, NULL, &err), WCODEC_ERROR_USAGE);
    assert_int_equal(wcodec_rssm_weights(rssm, NULL, NULL, after, &err), WCODEC_ERROR_USAGE);
    assert_non_null(strstr(err.text, "delta_head is asked for"));
    assert_int_equal(wcodec_rssm_weights(rssm, NULL, NULL, NULL, &err), WCODEC_OK);
    wcodec_rssm_destroy(rssm);
    wcodec_context_destroy(context);
}

static void test_memory(void **unused)
{
    (void)unused;
    struct support_allocator allocator;
    wcodec_rssm_learned learned = {0};
    make(&course, WCODEC_RSSM_PRODUCTION, 2, 10, 4, 3, 2);
    const wcodec_rssm_lesson lesson = lesson_of(&course);
    support_allocator_init(&allocator, SUPPORT_NEVER);
    wcodec_context *context = support_context(1, &allocator.allocator);
    wcodec_rssm *rssm = create(context, &course);
    const long before = allocator.balance;
    allocator.left = 0;
    assert_int_equal(wcodec_rssm_learn(rssm, NULL, &lesson, &learned, NULL), WCODEC_ERROR_MEMORY);
    assert_int_equal(wcodec_rssm_gradients(rssm, &lesson, NULL, NULL, &learned, NULL),
                     WCODEC_ERROR_MEMORY);
    allocator.left = SUPPORT_NEVER;
    weights_of(rssm, &course, after);
    assert_memory_equal(after, course.weights, course.count * sizeof *after);
    for (unsigned i = 0; i < 10000; i++)
        assert_int_equal(wcodec_rssm_learn(rssm, NULL, &lesson, &learned, NULL), WCODEC_OK);
    assert_int_equal(allocator.balance, before);
    wcodec_rssm_destroy(rssm);
    wcodec_context_destroy(context);
    assert_int_equal(allocator.balance, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gradients),       cmocka_unit_test(test_descent),
        cmocka_unit_test(test_same_everywhere), cmocka_unit_test(test_losses_come_nearer),
        cmocka_unit_test(test_refused),         cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
