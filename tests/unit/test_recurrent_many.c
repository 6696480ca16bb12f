/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Rollouts of many starts: on the CPU and on devices what each gives by itself; by tensor cores
 * each step within its bound of sums in binary64. What tensor cores do not take, a device that is
 * lost, memory that runs out. */
#include "support_memory.h"
#include "support_gru.h"
#include "support_load.h"
#include "support_plugins.h"
#include "backends/emulate/fibers.h"

#include <math.h>
#include <string.h>

enum { GATES = 3, STEPS = 2, DEVICE_ALLOCATIONS = 12 };

struct sizes {
    wcodec_rssm_mode mode;
    size_t e, h, s, in, starts;
};

/* Weights at random, of members that do not run away, and where rollouts begin. */
struct model {
    struct sizes n;
    float *memory, *head, *hidden, *features, *loss;
    wcodec_gru_weights members[3];
};

static float *floats(size_t count)
{
    float *p = calloc(count + 1, sizeof *p);
    assert_non_null(p);
    return p;
}

static void make(struct model *m, const struct sizes *n)
{
    const size_t of_member = GATES * n->h * (n->in + n->h + 1), both = n->h + n->s,
                 all = n->e * of_member + both + n->starts * (n->e * n->h + n->in + 1);
    uint64_t seed = support_seed();
    *m = (struct model){.n = *n, .memory = floats(all)};
    for (size_t i = 0; i < all; i++)
        m->memory[i] = (float)((double)(support_random(&seed) >> 11) / 9007199254740992.0 * 2 - 1);
    for (size_t i = 0; i < n->e * of_member + both; i++)
        m->memory[i] *= (float)sqrt(1.0 / (double)n->h);
    for (size_t i = 0; i < n->e; i++) {
        float *w = m->memory + i * of_member, *u = w + GATES * n->h * n->in,
              *b = u + GATES * n->h * n->h;
        m->members[i] = (wcodec_gru_weights){.w_z = w,
                                             .w_r = w + n->h * n->in,
                                             .w_h = w + 2 * n->h * n->in,
                                             .u_z = u,
                                             .u_r = u + n->h * n->h,
                                             .u_h = u + 2 * n->h * n->h,
                                             .b_z = b,
                                             .b_r = i == 0 ? b + n->h : NULL,
                                             .b_h = b + 2 * n->h};
    }
    m->head = m->memory + n->e * of_member;
    m->hidden = m->head + both;
    m->features = m->hidden + n->starts * n->e * n->h;
    m->loss = m->features + n->starts * n->in;
}

static wcodec_status create(wcodec_context *context, const struct model *m, const char *memory,
                            wcodec_gru_products products, wcodec_rssm **rssm, wcodec_error *err)
{
    wcodec_rssm_options o;
    wcodec_rssm_options_init(&o);
    o.ensemble = m->n.e;
    o.hidden = m->n.h;
    o.stochastic = m->n.s;
    o.inputs = m->n.in;
    o.mode = m->n.mode;
    o.memory = memory;
    o.products = products;
    return wcodec_rssm_create(context, &o, m->members, m->head, NULL, rssm, err);
}

/* All that rollouts say. */
struct said {
    float *trajectories, *hidden;
    wcodec_rssm_metrics *metrics;
    wcodec_rssm_summary *summaries;
};

static void begin(struct said *s, const struct sizes *n, size_t steps)
{
    s->trajectories = floats(n->starts * n->e * (steps + 1));
    s->hidden = floats(n->starts * n->e * n->h);
    s->metrics = calloc(n->starts * n->e, sizeof *s->metrics);
    s->summaries = calloc(n->starts, sizeof *s->summaries);
    assert_true(s->metrics != NULL && s->summaries != NULL);
}

static void drop(struct said *s)
{
    free(s->trajectories);
    free(s->hidden);
    free(s->metrics);
    free(s->summaries);
}

static wcodec_status roll(const wcodec_rssm *rssm, const struct model *m, bool hidden, size_t steps,
                          struct said *s, wcodec_error *err)
{
    const wcodec_rssm_starts starts = {.count = m->n.starts,
                                       .hidden = hidden ? m->hidden : NULL,
                                       .features = m->features,
                                       .loss = m->loss,
                                       .seed = UINT64_MAX - 1};
    const wcodec_rssm_courses courses = {.trajectories = s->trajectories,
                                         .hidden = s->hidden,
                                         .metrics = s->metrics,
                                         .summaries = s->summaries};
    return wcodec_rssm_rollout_many(rssm, &starts, steps, &courses, err);
}

static void roll_well(const wcodec_rssm *rssm, const struct model *m, bool hidden, size_t steps,
                      struct said *s)
{
    wcodec_error err;
    if (roll(rssm, m, hidden, steps, s, &err) != WCODEC_OK)
        fail_msg("%s", err.text);
}

/* To the bit what each start gives by itself. */
static void expect_each(const wcodec_rssm *rssm, const struct model *m, bool hidden, size_t steps)
{
    const struct sizes *n = &m->n;
    struct said all, one;
    begin(&all, n, steps);
    begin(&one, n, steps);
    roll_well(rssm, m, hidden, steps, &all);
    for (size_t b = 0; b < n->starts; b++) {
        const size_t member = b * n->e;
        const wcodec_rssm_input input = {.hidden = hidden ? m->hidden + member * n->h : NULL,
                                         .features = m->features + b * n->in,
                                         .loss = m->loss[b],
                                         .seed = UINT64_MAX - 1 + b};
        const wcodec_rssm_output output = {.trajectories = one.trajectories + member * (steps + 1),
                                           .hidden = one.hidden + member * n->h,
                                           .metrics = one.metrics + member};
        assert_int_equal(wcodec_rssm_rollout(rssm, &input, steps, &output, &one.summaries[b], NULL),
                         WCODEC_OK);
    }
    const size_t members = n->starts * n->e;
    assert_memory_equal(all.trajectories, one.trajectories, members * (steps + 1) * sizeof(float));
    assert_memory_equal(all.hidden, one.hidden, members * n->h * sizeof(float));
    assert_memory_equal(all.metrics, one.metrics, members * sizeof *all.metrics);
    assert_memory_equal(all.summaries, one.summaries, n->starts * sizeof *all.summaries);
    drop(&all);
    drop(&one);
}

static void test_cpu(void **state)
{
    static const struct sizes shapes[] = {{WCODEC_RSSM_PRODUCTION, 2, 40, 7, 5, 9},
                                          {WCODEC_RSSM_REFERENCE, 1, 6, 6, 8, 2},
                                          {WCODEC_RSSM_SAMPLED, 3, 20, 4, 1, 5}};
    (void)state;
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        struct model m;
        wcodec_rssm *rssm;
        make(&m, &shapes[i]);
        wcodec_context *context = support_context(i == 0 ? 4 : 1, NULL);
        assert_int_equal(create(context, &m, NULL, WCODEC_GRU_PRODUCTS_BF16, &rssm, NULL),
                         WCODEC_OK);
        expect_each(rssm, &m, true, STEPS);
        expect_each(rssm, &m, false, STEPS);
        expect_each(rssm, &m, true, 0);
        m.n.starts = 0;
        expect_each(rssm, &m, true, STEPS);
        wcodec_rssm_destroy(rssm);
        wcodec_context_destroy(context);
        free(m.memory);
    }
}

/* What is refused, before anything is done. */
static void test_refused(void **state)
{
    const struct sizes n = {WCODEC_RSSM_PRODUCTION, 1, 4, 2, 3, 2};
    struct model m;
    wcodec_rssm *rssm = NULL;
    wcodec_error err = {0};
    float trajectories[2 * (STEPS + 1)];
    (void)state;
    make(&m, &n);
    wcodec_context *context = support_context(1, NULL);
    assert_int_equal(create(context, &m, NULL, (wcodec_gru_products)7, &rssm, &err),
                     WCODEC_ERROR_USAGE);
    assert_non_null(strstr(err.text, "there are no products 7"));
    assert_int_equal(create(context, &m, NULL, WCODEC_GRU_PRODUCTS_F32, &rssm, &err), WCODEC_OK);
    wcodec_rssm_starts starts = {.count = 2, .features = m.features, .loss = m.loss};
    wcodec_rssm_courses courses = {.trajectories = trajectories};
    assert_int_equal(wcodec_rssm_rollout_many(rssm, &starts, 1001, &courses, &err),
                     WCODEC_ERROR_USAGE);
    assert_non_null(strstr(err.text, "steps is 1001: expected 0 to 1000"));
    starts.reserved[2] = 1;
    assert_int_equal(wcodec_rssm_rollout_many(rssm, &starts, 1, &courses, &err),
                     WCODEC_ERROR_USAGE);
    starts.reserved[2] = 0;
    courses.reserved[0] = 1;
    assert_int_equal(wcodec_rssm_rollout_many(rssm, &starts, 1, &courses, &err),
                     WCODEC_ERROR_USAGE);
    wcodec_rssm_destroy(rssm);
    wcodec_context_destroy(context);
    free(m.memory);
}

static void expect_near(const char *what, double got, double want)
{
    if (!(fabs(got - want) <= 1e-5 * (1 + fabs(want))))
        fail_msg("%s is %.9g, and not %.9g", what, got, want);
}

/* The loss and the entropy that hidden values have, in binary64. */
static double loss_of(const struct model *m, const float *h, double *entropy)
{
    const struct sizes *n = &m->n;
    double sum = 0, all = 0, stochastic = 0, logits = 0;
    for (size_t i = 0; i < n->h; i++)
        sum += (double)m->head[i] * (double)h[i];
    *entropy = 0.01;
    for (size_t i = 0; i < n->s; i++) {
        const double logit = (double)h[i * n->h / n->s], e = exp(logit);
        all += e;
        logits += e * logit;
        stochastic += (double)m->head[n->h + i] * (n->mode == WCODEC_RSSM_REFERENCE ? logit : e);
    }
    if (n->mode == WCODEC_RSSM_REFERENCE)
        return sum + stochastic;
    *entropy = log(all) - logits / all;
    return fmax(exp(fmin(fmax(sum + stochastic / all, -10), 10)), 1e-6);
}

/* A step of a member, as one of a unit: from hidden values to what has come of them. */
static void expect_step(const struct model *m, size_t member, const float *hidden,
                        const float *features, const struct said *got)
{
    const struct sizes *n = &m->n;
    const wcodec_gru_weights *w = &m->members[member];
    const float *const from[] = {w->w_z, w->w_r, w->w_h, w->u_z, w->u_r,
                                 w->u_h, w->b_z, w->b_r, w->b_h};
    wcodec_gru_options sizes = {.inputs = n->in, .hidden = n->h, .form = WCODEC_GRU_RESET_BEFORE};
    wcodec_gru_arrays arrays = {.reserved = {0}};
    for (unsigned i = 0; i < 9; i++)
        (&arrays.w_z)[i] = (wcodec_gru_array){.data = from[i], .dtype = WCODEC_DTYPE_F32};
    float *before = floats(n->starts * n->h), *after = floats(n->starts * n->h);
    for (size_t b = 0; b < n->starts; b++) {
        const size_t at = b * n->e + member;
        double entropy;
        memcpy(before + b * n->h, hidden + at * n->h, n->h * sizeof *before);
        memcpy(after + b * n->h, got->hidden + at * n->h, n->h * sizeof *after);
        const double loss = loss_of(m, got->hidden + at * n->h, &entropy);
        expect_near("a loss", (double)got->trajectories[2 * at + 1], loss);
        expect_near("an entropy", (double)got->metrics[at].entropy, entropy);
    }
    const wcodec_gru_input input = {.values = features,
                                    .steps = 1,
                                    .sequences = n->starts,
                                    .sequence_stride = n->in,
                                    .hidden = before};
    const wcodec_gru_output output = {.values = after, .sequence_stride = n->h};
    support_gru_expect(&sizes, &arrays, 1, &input, &output);
    free(before);
    free(after);
}

/* Each step by itself is within the bound; all at once are what they are one by one. */
static void expect_steps(const wcodec_rssm *rssm, struct model *m)
{
    const struct sizes *n = &m->n;
    struct said all, step;
    begin(&all, n, STEPS);
    begin(&step, n, 1);
    roll_well(rssm, m, true, STEPS, &all);
    for (size_t t = 0; t < STEPS; t++) {
        roll_well(rssm, m, true, 1, &step);
        for (size_t member = 0; member < n->e; member++)
            expect_step(m, member, m->hidden, m->features, &step);
        for (size_t i = 0; i < n->starts * n->e; i++)
            assert_float_equal(step.trajectories[2 * i + 1],
                               all.trajectories[i * (STEPS + 1) + t + 1], 1e-6);
        memcpy(m->hidden, step.hidden, n->starts * n->e * n->h * sizeof *m->hidden);
        /* Of one member: the others have losses of their own. */
        for (size_t b = 0; b < n->starts && n->e == 1; b++)
            m->features[b * n->in] = step.trajectories[2 * b + 1];
        if (n->e > 1)
            break;
    }
    drop(&all);
    drop(&step);
}

/* A start without hidden values has tanh of its features; one of NaN stays by itself; a start gives
 * the same whatever is beside it, and so again. */
static void expect_alone(const wcodec_rssm *rssm, struct model *m)
{
    const struct sizes n = m->n;
    struct said all, again;
    begin(&all, &n, STEPS);
    begin(&again, &n, STEPS);
    for (size_t b = 0; b < n.starts; b++)
        for (size_t i = 0; i < n.e * n.h; i++) {
            const size_t of = i % n.h;
            m->hidden[b * n.e * n.h + i] = of < n.in ? tanhf(m->features[b * n.in + of]) : 0;
        }
    roll_well(rssm, m, false, 0, &all);
    for (size_t i = 0; i < n.starts * n.e * n.h; i++)
        assert_float_equal(all.hidden[i], m->hidden[i], 1e-6);
    m->features[n.in - 1] = NAN;
    roll_well(rssm, m, false, STEPS, &all);
    roll_well(rssm, m, false, STEPS, &again);
    const size_t members = n.starts * n.e;
    assert_memory_equal(again.trajectories, all.trajectories,
                        members * (STEPS + 1) * sizeof(float));
    for (size_t i = 0; i < members; i++)
        assert_true(isnan(all.trajectories[i * (STEPS + 1) + STEPS]) == (i < n.e));
    struct model last = *m;
    last.n.starts = 1;
    last.features = m->features + (n.starts - 1) * n.in;
    last.loss = m->loss + n.starts - 1;
    roll_well(rssm, &last, false, STEPS, &again);
    assert_memory_equal(again.trajectories, all.trajectories + (members - n.e) * (STEPS + 1),
                        n.e * (STEPS + 1) * sizeof(float));
    drop(&all);
    drop(&again);
}

static wcodec_gru_products products_of(const wcodec_rssm *rssm)
{
    wcodec_rssm_options sizes;
    wcodec_rssm_options_init(&sizes);
    wcodec_rssm_sizes(rssm, &sizes);
    return sizes.products;
}

/* By tensor cores where the device has them, else one by one. */
static void try_shape(wcodec_context *context, const char *name, const struct sizes *n)
{
    struct model m;
    wcodec_rssm *rssm;
    wcodec_error err;
    make(&m, n);
    if (create(context, &m, name, WCODEC_GRU_PRODUCTS_BF16, &rssm, &err) != WCODEC_OK)
        fail_msg("%s", err.text);
    if (products_of(rssm) == WCODEC_GRU_PRODUCTS_BF16) {
        assert_true(n->mode != WCODEC_RSSM_SAMPLED);
        expect_steps(rssm, &m);
        expect_alone(rssm, &m);
        for (size_t b = 0; b < n->starts; b++)
            m.hidden[b * n->e * n->h] = 4.5f; /* more than they take */
    } else {
        assert_true(strcmp(name, "fake") != 0 || n->mode == WCODEC_RSSM_SAMPLED);
    }
    m.n.starts = n->starts < 4 ? n->starts : 4;
    m.features[n->in - 1] = 0.5f;
    expect_each(rssm, &m, true, STEPS);
    wcodec_rssm_destroy(rssm);
    free(m.memory);
}

static const struct sizes shapes[] = {
    {WCODEC_RSSM_PRODUCTION, 2, 7, 3, 3, 3},     {WCODEC_RSSM_REFERENCE, 1, 20, 20, 70, 5},
    {WCODEC_RSSM_PRODUCTION, 1, 64, 32, 4, 35},  {WCODEC_RSSM_SAMPLED, 1, 9, 4, 2, 3},
    {WCODEC_RSSM_PRODUCTION, 1, 200, 32, 60, 2},
};

/* Larger ones, for devices that are not emulated. */
static const struct sizes large[] = {
    {WCODEC_RSSM_PRODUCTION, 1, 256, 32, 64, 1500}, {WCODEC_RSSM_PRODUCTION, 2, 64, 32, 64, 300},
    {WCODEC_RSSM_REFERENCE, 1, 256, 256, 64, 40},   {WCODEC_RSSM_PRODUCTION, 2, 128, 32, 64, 33},
    {WCODEC_RSSM_PRODUCTION, 1, 250, 250, 64, 90},  {WCODEC_RSSM_PRODUCTION, 1, 512, 32, 64, 200},
    {WCODEC_RSSM_PRODUCTION, 1, 1000, 32, 10, 100},
};

/* Calls that were by tensor cores, and ensembles whose weights found no room there, and that
 * because of max_memory, as the log has it. */
static unsigned tensor_rollouts, without_weights, limits;

static void count_rollouts(void *opaque, wcodec_log_level level, const char *text)
{
    (void)opaque, (void)level;
    tensor_rollouts += strstr(text, "rollouts by tensor cores: ") != NULL;
    without_weights += strstr(text, "has no room for weights of tensor cores") != NULL;
    limits += strstr(text, "(a rollout of many starts needs more memory than the limit") != NULL;
}

static wcodec_context *open_context(const char *name, struct support_allocator *allocator,
                                    long fails, wcodec_error *err)
{
    wcodec_options options;
    wcodec_context *context = NULL;
    support_allocator_init(allocator, fails);
    wcodec_options_init(&options);
    options.backend = name;
    options.threads = 2;
    options.allocator = allocator->allocator;
    options.log = count_rollouts;
    options.log_level = WCODEC_LOG_DEBUG;
    return wcodec_context_create(&options, &context, err) == WCODEC_OK ? context : NULL;
}

static void test_devices(void **state)
{
    static const char *const names[] = {"fake", "opencl", "cuda"};
    wcodec_error err;
    (void)state;
    for (size_t d = 0; d < sizeof names / sizeof names[0]; d++) {
        struct support_allocator allocator;
        setenv("WCODEC_FAKE", "", 1);
        if (d > 0 ? !support_load_plugin(names[d]) : !wcodec_fibers_supported())
            continue;
        wcodec_context *context = open_context(names[d], &allocator, SUPPORT_NEVER, &err);
        if (context == NULL) {
            print_message("%s: not tried: %s\n", names[d], err.text);
            assert_true(d > 0);
            continue;
        }
        for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
            try_shape(context, names[d], &shapes[i]);
        for (size_t i = 0; i < sizeof large / sizeof large[0] && d == 2; i++)
            try_shape(context, names[d], &large[i]);
        print_message("%s: rolled out\n", names[d]);
        wcodec_context_destroy(context);
        assert_int_equal(allocator.balance, 0);
    }
    support_load_plugin(NULL);
}

/* As Hopper takes them, by clusters of two work-groups; also one start of one input. */
static void test_groups(void **state)
{
    static const struct sizes of[] = {{WCODEC_RSSM_PRODUCTION, 1, 128, 32, 4, 49},
                                      {WCODEC_RSSM_PRODUCTION, 1, 107, 9, 61, 3},
                                      {WCODEC_RSSM_REFERENCE, 1, 70, 70, 64, 5},
                                      {WCODEC_RSSM_PRODUCTION, 1, 65, 1, 1, 1}};
    struct support_allocator allocator;
    wcodec_error err;
    (void)state;
    if (!wcodec_fibers_supported())
        return;
    setenv("WCODEC_FAKE", "clusters", 1);
    support_load_plugin(NULL);
    wcodec_context *context = open_context("fake", &allocator, SUPPORT_NEVER, &err);
    assert_non_null(context);
    for (size_t i = 0; i < sizeof of / sizeof of[0]; i++)
        try_shape(context, "fake", &of[i]);
    wcodec_context_destroy(context);
    assert_int_equal(allocator.balance, 0);
}

/* Of the fake device, which works as `mode` says; max_memory 0: the default. */
static wcodec_context *open_fake(const char *mode, uint64_t max_memory,
                                 const wcodec_executor *executor)
{
    wcodec_options options;
    wcodec_context *context = NULL;
    wcodec_error err;
    setenv("WCODEC_FAKE", mode, 1);
    support_load_plugin(NULL);
    wcodec_options_init(&options);
    options.backend = "fake";
    options.threads = 2;
    options.limits.max_memory = max_memory;
    options.log = count_rollouts;
    options.log_level = WCODEC_LOG_DEBUG;
    if (executor != NULL)
        options.executor = *executor;
    if (wcodec_context_create(&options, &context, &err) != WCODEC_OK)
        fail_msg("%s", err.text);
    return context;
}

/* What rollouts of a model say on a fake device with little room; whose products it has. */
static wcodec_gru_products roll_within(const struct model *m, const char *mode, uint64_t max_memory,
                                       wcodec_gru_products products, size_t steps,
                                       struct said *said)
{
    wcodec_rssm *rssm;
    wcodec_error err;
    wcodec_context *context = open_fake(mode, max_memory, NULL);
    if (create(context, m, "fake", products, &rssm, &err) != WCODEC_OK)
        fail_msg("%s", err.text);
    const wcodec_gru_products own = products_of(rssm);
    tensor_rollouts = 0;
    roll_well(rssm, m, true, steps, said);
    wcodec_rssm_destroy(rssm);
    wcodec_context_destroy(context);
    setenv("WCODEC_FAKE", "", 1);
    return own;
}

static bool same(const struct said *a, const struct said *b, const struct sizes *n)
{
    const size_t members = n->starts * n->e;
    return memcmp(a->trajectories, b->trajectories, 2 * members * sizeof(float)) == 0 &&
           memcmp(a->hidden, b->hidden, members * n->h * sizeof(float)) == 0 &&
           memcmp(a->metrics, b->metrics, members * sizeof *a->metrics) == 0 &&
           memcmp(a->summaries, b->summaries, n->starts * sizeof *a->summaries) == 0;
}

/* With little room fewer are taken at once; with less they go one by one. */
static void test_room(void **state)
{
    static const struct {
        const char *mode;
        uint64_t max_memory;
    } rooms[] = {{"room-50000", 0}, {"", 30000}};
    const struct sizes n = {WCODEC_RSSM_PRODUCTION, 1, 20, 4, 6, 20},
                       many = {WCODEC_RSSM_PRODUCTION, 1, 20, 4, 6, 1000};
    struct model m;
    struct said by_tensor, one_by_one, got;
    (void)state;
    if (!wcodec_fibers_supported())
        skip();
    make(&m, &n);
    begin(&by_tensor, &n, 1);
    begin(&one_by_one, &n, 1);
    begin(&got, &n, 1);
    assert_int_equal(roll_within(&m, "", 0, WCODEC_GRU_PRODUCTS_BF16, 1, &by_tensor),
                     WCODEC_GRU_PRODUCTS_BF16);
    assert_int_equal(tensor_rollouts, 1);
    roll_within(&m, "", 0, WCODEC_GRU_PRODUCTS_F32, 1, &one_by_one);
    assert_false(same(&by_tensor, &one_by_one, &n));
    limits = 0;
    for (size_t i = 0; i < sizeof rooms / sizeof rooms[0]; i++) {
        assert_int_equal(
            roll_within(&m, rooms[i].mode, rooms[i].max_memory, WCODEC_GRU_PRODUCTS_BF16, 1, &got),
            WCODEC_GRU_PRODUCTS_F32);
        assert_true(same(&got, &one_by_one, &n));
        assert_int_equal(limits, i);
    }
    drop(&by_tensor);
    drop(&one_by_one);
    drop(&got);
    free(m.memory);
    make(&m, &many);
    m.hidden[0] = 1.00390625f; /* midway between two operands, the even one of which is below */
    begin(&got, &many, 0);
    assert_int_equal(roll_within(&m, "", 60000, WCODEC_GRU_PRODUCTS_BF16, 0, &got),
                     WCODEC_GRU_PRODUCTS_BF16);
    assert_int_equal(tensor_rollouts, 1);
    for (size_t i = 0; i < many.starts * many.h; i++)
        assert_float_equal(got.hidden[i], m.hidden[i], 1e-6);
    assert_memory_equal(got.trajectories, m.loss, many.starts * sizeof(float));
    drop(&got);
    free(m.memory);
}

/* A start that tensor cores do not take is what it is by itself, and changes no other. */
static void test_left(void **state)
{
    const struct sizes n = {WCODEC_RSSM_PRODUCTION, 2, 20, 4, 6, 5};
    const size_t own = n.e * n.h;
    struct model m;
    struct said without, with, single;
    (void)state;
    if (!wcodec_fibers_supported())
        skip();
    make(&m, &n);
    begin(&without, &n, 1);
    begin(&with, &n, 1);
    begin(&single, &n, 1);
    roll_within(&m, "", 0, WCODEC_GRU_PRODUCTS_BF16, 1, &without);
    m.hidden[own + 3] = 4.5f;
    m.hidden[3 * own - 1] = NAN;
    roll_within(&m, "", 0, WCODEC_GRU_PRODUCTS_BF16, 1, &with);
    roll_within(&m, "", 0, WCODEC_GRU_PRODUCTS_F32, 1, &single);
    for (size_t b = 0; b < n.starts; b++) {
        const struct said *want = b == 1 || b == 2 ? &single : &without;
        assert_memory_equal(with.hidden + b * own, want->hidden + b * own, own * sizeof(float));
        assert_memory_equal(with.trajectories + b * n.e * 2, want->trajectories + b * n.e * 2,
                            n.e * 2 * sizeof(float));
        assert_memory_equal(&with.summaries[b], &want->summaries[b], sizeof want->summaries[b]);
    }
    drop(&without);
    drop(&with);
    drop(&single);
    free(m.memory);
}

/* An executor that does other work before what it is given: rollouts by the same ensemble. */
struct helping {
    const wcodec_rssm *rssm;
    const struct model *model;
    struct said *said;
    unsigned times;
    bool busy;
};

static void run_helping(void *opaque, void (*task)(void *argument, size_t i), void *argument,
                        size_t count)
{
    struct helping *h = opaque;
    if (h->rssm != NULL && !h->busy) {
        h->busy = true;
        roll_well(h->rssm, h->model, true, 1, h->said);
        h->busy = false;
        h->times++;
    }
    for (size_t i = 0; i < count; i++)
        task(argument, i);
}

static void test_helping(void **state)
{
    const struct sizes n = {WCODEC_RSSM_PRODUCTION, 2, 20, 4, 6, 70};
    struct helping helping = {0};
    const wcodec_executor executor = {.run = run_helping, .concurrency = 2, .opaque = &helping};
    struct model m;
    struct said outer, inner;
    (void)state;
    if (!wcodec_fibers_supported())
        skip();
    make(&m, &n);
    begin(&outer, &n, 1);
    begin(&inner, &n, 1);
    wcodec_context *context = open_fake("", 0, &executor);
    wcodec_rssm *rssm;
    assert_int_equal(create(context, &m, "fake", WCODEC_GRU_PRODUCTS_BF16, &rssm, NULL), WCODEC_OK);
    helping = (struct helping){.rssm = rssm, .model = &m, .said = &inner};
    roll_well(rssm, &m, true, 1, &outer);
    assert_true(helping.times > 1);
    assert_true(same(&outer, &inner, &n));
    wcodec_rssm_destroy(rssm);
    wcodec_context_destroy(context);
    drop(&outer);
    drop(&inner);
    free(m.memory);
}

/* A rollout by the fake device's tensor cores; what comes of it, whether allocation `fails` does
 * not succeed or the device is lost. */
static wcodec_status run_once(const struct model *m, const char *backend, long fails, bool *failed,
                              wcodec_error *err)
{
    struct support_allocator allocator;
    struct said said;
    wcodec_rssm *rssm = NULL;
    wcodec_status status = WCODEC_ERROR_MEMORY;
    begin(&said, &m->n, 1);
    wcodec_context *context = open_context(backend, &allocator, fails, err);
    if (context != NULL)
        status = create(context, m, "fake", WCODEC_GRU_PRODUCTS_BF16, &rssm, err);
    if (status == WCODEC_OK)
        status = roll(rssm, m, true, 1, &said, err);
    for (size_t i = 0; i < m->n.starts && status == WCODEC_OK; i++) {
        double entropy;
        expect_near("a loss", (double)said.trajectories[2 * i + 1],
                    loss_of(m, said.hidden + i * m->n.h, &entropy));
    }
    wcodec_rssm_destroy(rssm);
    if (context != NULL)
        wcodec_context_destroy(context);
    assert_int_equal(allocator.balance, 0);
    *failed = allocator.left < 0;
    drop(&said);
    return status;
}

/* All allocations fail from each on; each of the device's fails once; it is lost at each call,
 * which the CPU may take over.
 */
static void test_failures(void **state)
{
    const struct sizes n = {WCODEC_RSSM_PRODUCTION, 1, 5, 3, 4, 3};
    struct model m;
    wcodec_error err = {0};
    wcodec_status status;
    char mode[32];
    bool failed = true;
    long fails = 0;
    (void)state;
    if (!wcodec_fibers_supported())
        skip();
    make(&m, &n);
    support_load_plugin(NULL);
    setenv("WCODEC_FAKE", "", 1);
    for (; failed; fails++) {
        status = run_once(&m, "fake", fails, &failed, &err);
        assert_true(status == WCODEC_OK || status == WCODEC_ERROR_MEMORY ||
                    status == WCODEC_ERROR_BACKEND);
    }
    without_weights = 0;
    for (unsigned at = 1; at <= DEVICE_ALLOCATIONS; at++) {
        snprintf(mode, sizeof mode, "memory-%u", at);
        setenv("WCODEC_FAKE", mode, 1);
        status = run_once(&m, "fake", SUPPORT_NEVER, &failed, &err);
        assert_true(status == WCODEC_OK || status == WCODEC_ERROR_MEMORY);
    }
    assert_int_equal(status, WCODEC_OK);
    assert_true(without_weights > 0);
    status = WCODEC_ERROR_DEVICE;
    unsigned calls = 0;
    for (unsigned at = 1; status != WCODEC_OK; at++) {
        snprintf(mode, sizeof mode, "lost-%u", at);
        setenv("WCODEC_FAKE", mode, 1);
        status = run_once(&m, "fake", SUPPORT_NEVER, &failed, &err);
        calls += status != WCODEC_OK;
        assert_true(status == WCODEC_OK || status == WCODEC_ERROR_DEVICE ||
                    status == WCODEC_ERROR_BACKEND);
    }
    print_message("%ld allocations, %u calls\n", fails - 1, calls);
    assert_true(fails > 12 && calls > 12);
    /* The last call, when all is made. */
    snprintf(mode, sizeof mode, "lost-%u", calls);
    setenv("WCODEC_FAKE", mode, 1);
    assert_int_equal(run_once(&m, "fake,cpu", SUPPORT_NEVER, &failed, &err), WCODEC_OK);
    setenv("WCODEC_FAKE", "", 1);
    free(m.memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cpu),     cmocka_unit_test(test_refused),
        cmocka_unit_test(test_devices), cmocka_unit_test(test_groups),
        cmocka_unit_test(test_room),    cmocka_unit_test(test_left),
        cmocka_unit_test(test_helping), cmocka_unit_test(test_failures)};
    return cmocka_run_group_tests(tests, support_find_plugins, NULL);
}
