/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Rollouts on devices: what the CPU says, of all sizes; the same again; a device without them,
 * without room, without memory, and one that is lost. How devices plan them. */
#include "support_memory.h"
#include "support_plugins.h"
#include "support_load.h"
#include "backends/emulate/fibers.h"
#include "backends/gpu/rollout.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

enum { GATES = 3, STEPS_MOST = 70 };

struct sizes {
    wcodec_rssm_mode mode;
    size_t e, h, s, in, steps;
};

/* Weights at random, of members that do not run away. */
struct model {
    struct sizes n;
    float *memory, *head, *delta_head, *hidden, *features;
    wcodec_gru_weights members[8];
};

static void make(struct model *m, const struct sizes *n)
{
    const size_t of_member = GATES * n->h * (n->in + n->h + 1), both = n->h + n->s,
                 all = n->e * of_member + 11 * both + n->e * n->h + n->in;
    uint64_t seed = support_seed();
    *m = (struct model){.n = *n, .memory = malloc(all * sizeof(float))};
    assert_non_null(m->memory);
    for (size_t i = 0; i < all; i++)
        m->memory[i] = (float)((double)(support_random(&seed) >> 11) / 9007199254740992.0 * 2 - 1) *
                       (float)sqrt(1.0 / (double)n->h);
    for (size_t i = 0; i < n->e; i++) {
        float *w = m->memory + i * of_member, *u = w + GATES * n->h * n->in,
              *b = u + GATES * n->h * n->h;
        m->members[i] = (wcodec_gru_weights){
            .w_z = w,
            .w_r = w + n->h * n->in,
            .w_h = w + 2 * n->h * n->in,
            .u_z = u,
            .u_r = u + n->h * n->h,
            .u_h = u + 2 * n->h * n->h,
            .b_z = i % 2 == 0 ? b : NULL,
            .b_r = i % 3 == 0 ? b + n->h : NULL,
            .b_h = b + 2 * n->h,
        };
    }
    m->head = m->memory + n->e * of_member;
    m->delta_head = m->head + both;
    m->hidden = m->delta_head + 10 * both;
    m->features = m->hidden + n->e * n->h;
}

static wcodec_rssm *create(wcodec_context *context, const struct model *m, const char *memory)
{
    wcodec_rssm_options o;
    wcodec_rssm *rssm;
    wcodec_error err;
    wcodec_rssm_options_init(&o);
    o.ensemble = m->n.e;
    o.hidden = m->n.h;
    o.stochastic = m->n.s;
    o.inputs = m->n.in;
    o.mode = m->n.mode;
    o.memory = memory;
    if (wcodec_rssm_create(context, &o, m->members, m->head, m->delta_head, &rssm, &err) !=
        WCODEC_OK)
        fail_msg("%s", err.text);
    return rssm;
}

/* All that a rollout says. */
struct said {
    float trajectories[8 * (STEPS_MOST + 1)], mean[STEPS_MOST + 1], step_deltas[8 * STEPS_MOST],
        norms[8 * STEPS_MOST], hidden[8 * 4096], weight_deltas[WCODEC_RSSM_PARTS];
    wcodec_rssm_metrics metrics[8];
    wcodec_rssm_summary summary;
};

static wcodec_status roll(const wcodec_rssm *rssm, const struct model *m, bool hidden,
                          struct said *said, wcodec_error *err)
{
    const wcodec_rssm_input input = {.hidden = hidden ? m->hidden : NULL,
                                     .features = m->features,
                                     .loss = 2.5f,
                                     .gradient_norm = 1.5f,
                                     .learning_rate = 0.01f,
                                     .seed = 0x123456789abcdef};
    const wcodec_rssm_output output = {.trajectories = said->trajectories,
                                       .mean = said->mean,
                                       .step_deltas = said->step_deltas,
                                       .hidden_norms = said->norms,
                                       .hidden = said->hidden,
                                       .metrics = said->metrics,
                                       .weight_deltas = said->weight_deltas};
    memset(said, 0, sizeof *said);
    return wcodec_rssm_rollout(rssm, &input, m->n.steps, &output, &said->summary, err);
}

static void expect_near(const char *what, size_t i, double got, double want)
{
    if (!(fabs(got - want) <= 1e-5 * (1 + fabs(want))) && !(isnan(got) && isnan(want)))
        fail_msg("%s %zu is %.9g, and not %.9g", what, i, got, want);
}

static void expect_floats(const char *what, const float *got, const float *want, size_t count)
{
    for (size_t i = 0; i < count; i++)
        expect_near(what, i, (double)got[i], (double)want[i]);
}

static void expect_said(const struct model *m, const struct said *got, const struct said *want)
{
    const struct sizes *n = &m->n;
    expect_floats("loss", got->trajectories, want->trajectories, n->e * (n->steps + 1));
    expect_floats("mean", got->mean, want->mean, n->steps + 1);
    expect_floats("step delta", got->step_deltas, want->step_deltas, n->e * n->steps);
    expect_floats("norm", got->norms, want->norms, n->e * n->steps);
    expect_floats("hidden value", got->hidden, want->hidden, n->e * n->h);
    expect_floats("weight delta", got->weight_deltas, want->weight_deltas, WCODEC_RSSM_PARTS);
    for (size_t i = 0; i < n->e; i++) {
        expect_near("variance", i, (double)got->metrics[i].loss_variance,
                    (double)want->metrics[i].loss_variance);
        expect_near("smoothness", i, (double)got->metrics[i].smoothness,
                    (double)want->metrics[i].smoothness);
        expect_near("entropy", i, (double)got->metrics[i].entropy,
                    (double)want->metrics[i].entropy);
    }
    expect_near("the loss", 0, (double)got->summary.loss, (double)want->summary.loss);
    expect_near("the mean entropy", 0, (double)got->summary.entropy, (double)want->summary.entropy);
}

static const struct sizes shapes[] = {
    {WCODEC_RSSM_PRODUCTION, 3, 64, 32, 16, 10}, {WCODEC_RSSM_PRODUCTION, 2, 1, 1, 1, 7},
    {WCODEC_RSSM_PRODUCTION, 1, 33, 7, 3, 20},   {WCODEC_RSSM_REFERENCE, 2, 64, 64, 16, 10},
    {WCODEC_RSSM_REFERENCE, 3, 5, 5, 41, 6},     {WCODEC_RSSM_PRODUCTION, 2, 100, 100, 64, 0},
    {WCODEC_RSSM_PRODUCTION, 2, 145, 32, 64, 6}, {WCODEC_RSSM_PRODUCTION, 2, 128, 32, 64, 70},
    {WCODEC_RSSM_REFERENCE, 2, 300, 300, 64, 3}, {WCODEC_RSSM_PRODUCTION, 1, 513, 32, 64, 2},
    {WCODEC_RSSM_PRODUCTION, 2, 20, 3, 300, 4},  {WCODEC_RSSM_SAMPLED, 3, 64, 32, 16, 40},
    {WCODEC_RSSM_SAMPLED, 2, 33, 1, 16, 0},
};

/* Larger ones, for devices that are not emulated; drivers for processors take minutes. */
static const struct sizes large[] = {
    {WCODEC_RSSM_PRODUCTION, 5, 512, 32, 64, 50},   {WCODEC_RSSM_PRODUCTION, 8, 256, 32, 64, 50},
    {WCODEC_RSSM_PRODUCTION, 5, 256, 32, 64, 50},   {WCODEC_RSSM_PRODUCTION, 2, 1000, 32, 64, 20},
    {WCODEC_RSSM_PRODUCTION, 5, 1024, 32, 64, 50},  {WCODEC_RSSM_PRODUCTION, 1, 4096, 4096, 64, 3},
    {WCODEC_RSSM_PRODUCTION, 1, 200, 32, 4096, 5},  {WCODEC_RSSM_SAMPLED, 3, 1024, 32, 64, 20},
    {WCODEC_RSSM_REFERENCE, 2, 1030, 1030, 64, 10},
};

static struct said on_cpu, on_device, again;

/* Where rollouts begin. */
enum { BEGIN_FEATURES, BEGIN_HIDDEN, BEGIN_LARGE, BEGIN_NAN, BEGINNINGS };

static void begin_at(struct model *m, unsigned beginning)
{
    if (beginning == BEGIN_LARGE)
        for (size_t i = 0; i < m->n.e * m->n.h; i++)
            m->hidden[i] *= 8 * (float)sqrt((double)m->n.h);
    if (beginning == BEGIN_NAN)
        m->features[0] = NAN;
}

/* Whose memory an ensemble is in, as its sizes say it. */
static const char *memory_of(const wcodec_rssm *rssm)
{
    wcodec_rssm_options sizes;
    wcodec_rssm_options_init(&sizes);
    wcodec_rssm_sizes(rssm, &sizes);
    return sizes.memory;
}

static void try_shape(wcodec_context *context, const char *name, const struct sizes *n)
{
    struct model m;
    wcodec_error err;
    make(&m, n);
    wcodec_rssm *cpu = create(context, &m, NULL), *device = create(context, &m, name);
    for (unsigned hidden = 0; hidden < BEGINNINGS; hidden++) {
        const bool begins_with_hidden = hidden == BEGIN_HIDDEN || hidden == BEGIN_LARGE;
        begin_at(&m, hidden);
        assert_int_equal(roll(cpu, &m, begins_with_hidden, &on_cpu, &err), WCODEC_OK);
        if (roll(device, &m, begins_with_hidden, &on_device, &err) != WCODEC_OK)
            fail_msg("%s", err.text);
        expect_said(&m, &on_device, &on_cpu);
        assert_int_equal(roll(device, &m, begins_with_hidden, &again, &err), WCODEC_OK);
        assert_memory_equal(&again, &on_device, sizeof again);
        assert_int_equal(wcodec_rssm_rollout(device, &(wcodec_rssm_input){.features = m.features},
                                             0, &(wcodec_rssm_output){.trajectories = again.mean},
                                             NULL, &err),
                         WCODEC_OK);
    }
    assert_null(memory_of(cpu));
    if (strcmp(name, "fake") != 0 || wcodec_fibers_supported())
        assert_string_equal(memory_of(device), name);
    wcodec_rssm_destroy(device);
    wcodec_rssm_destroy(cpu);
    free(m.memory);
}

static void test_devices(void **state)
{
    static const char *const names[] = {"fake", "opencl", "cuda"};
    (void)state;
    for (size_t d = 0; d < sizeof names / sizeof names[0]; d++) {
        struct support_allocator allocator;
        struct support_log logged = {.size = 0};
        wcodec_options options;
        wcodec_context *context;
        setenv("WCODEC_FAKE", "", 1);
        if (d > 0 && !support_load_plugin(names[d]))
            continue;
        support_allocator_init(&allocator, SUPPORT_NEVER);
        wcodec_options_init(&options);
        options.backend = names[d];
        options.threads = 2;
        options.allocator = allocator.allocator;
        options.log = support_keep_line;
        options.log_opaque = &logged;
        options.log_level = WCODEC_LOG_INFO;
        if (wcodec_context_create(&options, &context, NULL) != WCODEC_OK) {
            print_message("%s: not tried\n", names[d]);
            assert_true(d > 0);
            continue;
        }
        for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
            try_shape(context, names[d], &shapes[i]);
        for (size_t i = 0; i < sizeof large / sizeof large[0] && d > 0; i++)
            if (d == 2 || (support_full() && large[i].h <= 1024 && large[i].in <= 64))
                try_shape(context, names[d], &large[i]);
        print_message("%s: rolled out\n%s", names[d], logged.text);
        if (d > 0 || wcodec_fibers_supported())
            assert_null(strstr(logged.text, "the CPU"));
        wcodec_context_destroy(context);
        assert_int_equal(allocator.balance, 0);
    }
}

/* Large hidden values that are forgotten in the first step leave nothing of their rounding. */
static void test_forgotten(void **state)
{
    static const char *const names[] = {"fake", "cuda"};
    const struct sizes n = {WCODEC_RSSM_PRODUCTION, 1, 128, 8, 16, 5};
    struct model m;
    wcodec_error err;
    (void)state;
    make(&m, &n);
    memset((float *)m.members[0].u_z, 0, GATES * n.h * n.h * sizeof(float));
    for (size_t i = 0; i < n.h; i++) {
        ((float *)m.members[0].b_z)[i] = 30;
        m.hidden[i] *= 1e6f;
    }
    setenv("WCODEC_FAKE", "", 1);
    for (size_t d = 0; d < sizeof names / sizeof names[0]; d++) {
        wcodec_options options;
        wcodec_context *context;
        wcodec_options_init(&options);
        options.backend = names[d];
        if (!support_load_plugin(d > 0 ? names[d] : NULL) ||
            wcodec_context_create(&options, &context, NULL) != WCODEC_OK)
            continue;
        wcodec_rssm *cpu = create(context, &m, NULL), *device = create(context, &m, names[d]);
        assert_int_equal(roll(cpu, &m, true, &on_cpu, &err), WCODEC_OK);
        assert_int_equal(roll(device, &m, true, &on_device, &err), WCODEC_OK);
        expect_said(&m, &on_device, &on_cpu);
        wcodec_rssm_destroy(device);
        wcodec_rssm_destroy(cpu);
        wcodec_context_destroy(context);
    }
    free(m.memory);
}

static wcodec_context *open_logged(const char *backend, struct support_allocator *allocator,
                                   struct support_log *logged)
{
    wcodec_options options;
    wcodec_context *context;
    wcodec_error err;
    support_allocator_init(allocator, SUPPORT_NEVER);
    wcodec_options_init(&options);
    options.backend = backend;
    options.threads = 1;
    options.allocator = allocator->allocator;
    options.log = support_keep_line;
    options.log_opaque = logged;
    options.log_level = WCODEC_LOG_INFO;
    *logged = (struct support_log){.size = 0};
    if (wcodec_context_create(&options, &context, &err) != WCODEC_OK)
        fail_msg("%s", err.text);
    return context;
}

/* Who is left to roll out says the same: a device without rollouts, one whose compiler fails, one
 * without room, and one that is lost, at any call, where the CPU is allowed. */
static void test_left_to_cpu(void **state)
{
    static const char *const modes[] = {"norollouts", "late-nocoders"};
    const struct sizes n = {WCODEC_RSSM_PRODUCTION, 2, 40, 8, 16, 5},
                       wide = {WCODEC_RSSM_REFERENCE, 1, 4096, 4096, 2, 0};
    struct model m;
    wcodec_error err;
    (void)state;
    if (!wcodec_fibers_supported())
        skip();
    make(&m, &n);
    for (unsigned i = 0; i < 3; i++) {
        struct support_log lines;
        struct support_allocator allocator;
        setenv("WCODEC_FAKE", i < 2 ? modes[i] : "", 1);
        support_load_plugin(NULL);
        wcodec_context *context = open_logged("fake", &allocator, &lines);
        struct model w;
        make(&w, &wide);
        const struct model *use = i == 2 ? &w : &m;
        wcodec_rssm *cpu = create(context, use, NULL), *device = create(context, use, "fake");
        assert_int_equal(roll(cpu, use, true, &on_cpu, &err), WCODEC_OK);
        assert_int_equal(roll(device, use, true, &on_device, &err), WCODEC_OK);
        assert_memory_equal(&on_device, &on_cpu, sizeof on_cpu);
        assert_true(strstr(lines.text, i == 1 ? "the CPU does" : "the CPU rolls them out") != NULL);
        assert_null(memory_of(device));
        wcodec_rssm_destroy(device);
        wcodec_rssm_destroy(cpu);
        wcodec_context_destroy(context);
        assert_int_equal(allocator.balance, 0);
        free(w.memory);
    }
    free(m.memory);
    setenv("WCODEC_FAKE", "", 1);
}

/* A member by several work-groups of an OpenCL device that meet in memory. True: they did. */
static bool try_parts(wcodec_context *context, const struct sizes *n)
{
    struct model m;
    wcodec_error err;
    make(&m, n);
    wcodec_rssm *cpu = create(context, &m, NULL), *device = create(context, &m, "opencl");
    assert_int_equal(roll(cpu, &m, true, &on_cpu, &err), WCODEC_OK);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(roll(device, &m, true, &on_device, &err), WCODEC_OK);
        expect_said(&m, &on_device, &on_cpu);
    }
    const bool met = memory_of(device) != NULL;
    wcodec_rssm_destroy(device);
    wcodec_rssm_destroy(cpu);
    free(m.memory);
    return met;
}

/* Two, of which a driver for processors runs both where there are two; then more than may run at
 * once, which end in either case. */
static void test_opencl_parts(void **state)
{
    static const struct sizes few[] = {{WCODEC_RSSM_PRODUCTION, 1, 128, 32, 64, 9},
                                       {WCODEC_RSSM_REFERENCE, 1, 101, 101, 16, 3},
                                       {WCODEC_RSSM_SAMPLED, 1, 65, 32, 16, 5}};
    wcodec_options options;
    (void)state;
    if (!support_load_plugin("opencl"))
        skip();
    for (unsigned parts = 2; parts <= 4; parts += 2) {
        wcodec_context *context;
        setenv("WCODEC_OPENCL_ROLLOUT_PARTS", parts == 2 ? "2" : "4", 1);
        wcodec_options_init(&options);
        options.backend = "opencl";
        if (wcodec_context_create(&options, &context, NULL) != WCODEC_OK)
            skip();
        for (size_t i = 0; i < sizeof few / sizeof few[0]; i++) {
            const bool met = try_parts(context, &few[i]);
            print_message("%u parts %s\n", parts, met ? "met" : "did not meet");
            assert_true(met || parts > 2 || sysconf(_SC_NPROCESSORS_ONLN) < 2 ||
                        getenv("POCL_MAX_PTHREAD_COUNT") != NULL);
        }
        wcodec_context_destroy(context);
    }
    unsetenv("WCODEC_OPENCL_ROLLOUT_PARTS");
}

/* Parts that do not run at once wait for each other in vain, which is no wrong result and no hang:
 * the CPU rolls out, and does from then on. */
static void test_apart(void **state)
{
    const struct sizes n = {WCODEC_RSSM_PRODUCTION, 1, 128, 8, 16, 5};
    struct support_log lines;
    struct support_allocator allocator;
    struct model m;
    wcodec_error err;
    (void)state;
    if (!wcodec_fibers_supported())
        skip();
    make(&m, &n);
    setenv("WCODEC_FAKE", "apart", 1);
    support_load_plugin(NULL);
    wcodec_context *context = open_logged("fake", &allocator, &lines);
    wcodec_rssm *cpu = create(context, &m, NULL), *device = create(context, &m, "fake");
    assert_string_equal(memory_of(device), "fake");
    assert_int_equal(roll(cpu, &m, true, &on_cpu, &err), WCODEC_OK);
    assert_int_equal(roll(device, &m, true, &on_device, &err), WCODEC_OK);
    assert_memory_equal(&on_device, &on_cpu, sizeof on_cpu);
    assert_non_null(strstr(lines.text, "waited for each other in vain"));
    assert_null(memory_of(device));
    /* What the device is not asked for takes no memory for it, nor time. */
    const long before = allocator.calls;
    assert_int_equal(roll(cpu, &m, true, &on_cpu, &err), WCODEC_OK);
    const long between = allocator.calls;
    assert_int_equal(roll(device, &m, true, &on_device, &err), WCODEC_OK);
    assert_int_equal(allocator.calls - between, between - before);
    assert_memory_equal(&on_device, &on_cpu, sizeof on_cpu);
    wcodec_rssm_destroy(device);
    wcodec_rssm_destroy(cpu);
    wcodec_context_destroy(context);
    assert_int_equal(allocator.balance, 0);
    setenv("WCODEC_FAKE", "", 1);
    free(m.memory);
}

/* Parts that are a cluster, as CUDA devices have them: with warps that have no hidden value, of
 * which one is late at each of its barriers, and none misses a turn. */
static void test_clusters(void **state)
{
    static const struct sizes few[] = {{WCODEC_RSSM_PRODUCTION, 1, 145, 32, 4, 4},
                                       {WCODEC_RSSM_REFERENCE, 2, 70, 70, 16, 3}};
    struct support_log lines;
    struct support_allocator allocator;
    wcodec_error err;
    (void)state;
    if (!wcodec_fibers_supported())
        skip();
    setenv("WCODEC_FAKE", "clusters", 1);
    support_load_plugin(NULL);
    wcodec_context *context = open_logged("fake", &allocator, &lines);
    for (size_t i = 0; i < sizeof few / sizeof few[0]; i++) {
        struct model m;
        make(&m, &few[i]);
        wcodec_rssm *cpu = create(context, &m, NULL), *device = create(context, &m, "fake");
        assert_int_equal(roll(cpu, &m, true, &on_cpu, &err), WCODEC_OK);
        assert_int_equal(roll(device, &m, true, &on_device, &err), WCODEC_OK);
        expect_said(&m, &on_device, &on_cpu);
        assert_string_equal(memory_of(device), "fake");
        wcodec_rssm_destroy(device);
        wcodec_rssm_destroy(cpu);
        free(m.memory);
    }
    wcodec_context_destroy(context);
    assert_int_equal(allocator.balance, 0);
    setenv("WCODEC_FAKE", "", 1);
}

/* A device's rollout is traced too, by its own values; learning is refused. */
static void test_traced(void **state)
{
    const struct sizes n = {WCODEC_RSSM_PRODUCTION, 2, 40, 8, 16, 5};
    struct model m;
    struct support_log lines = {.size = 0};
    wcodec_options options;
    wcodec_context *context;
    wcodec_error err;
    char last[64];
    (void)state;
    if (!wcodec_fibers_supported())
        skip();
    make(&m, &n);
    setenv("WCODEC_FAKE", "", 1);
    support_load_plugin(NULL);
    wcodec_options_init(&options);
    options.backend = "fake";
    options.threads = 1;
    options.log = support_keep_line;
    options.log_opaque = &lines;
    options.log_level = WCODEC_LOG_DEBUG;
    assert_int_equal(wcodec_context_create(&options, &context, NULL), WCODEC_OK);
    wcodec_rssm *rssm = create(context, &m, "fake");
    lines.size = 0;
    assert_int_equal(roll(rssm, &m, true, &on_device, &err), WCODEC_OK);
    assert_non_null(strstr(lines.text, "rollout by fake: 2 members, 40 hidden values"));
    /* It does not learn, but the CPU has its gradients. */
    const wcodec_rssm_lesson lesson = {.features = m.features, .steps = 1, .loss = 1};
    wcodec_rssm_learned learned = {0};
    assert_int_equal(wcodec_rssm_learn(rssm, NULL, &lesson, &learned, &err),
                     WCODEC_ERROR_UNSUPPORTED);
    assert_non_null(strstr(err.text, "does not learn"));
    assert_int_equal(wcodec_rssm_gradients(rssm, &lesson, NULL, NULL, &learned, &err), WCODEC_OK);
    assert_true(learned.norm > 0);
    snprintf(last, sizeof last, "member 1, step 5: loss %.9g,",
             (double)on_device.trajectories[n.e * (n.steps + 1) - 1]);
    assert_non_null(strstr(lines.text, last));
    wcodec_rssm_destroy(rssm);
    wcodec_context_destroy(context);
    free(m.memory);
}

/* A device that is lost at call number `at`; false: it was not called so often. */
static bool lost_at(unsigned at, const struct model *m, const char *backend)
{
    char mode[32];
    struct support_log lines;
    struct support_allocator allocator;
    wcodec_rssm_options o;
    wcodec_rssm *rssm = NULL;
    wcodec_error err = {0};
    snprintf(mode, sizeof mode, "lost-%u", at);
    setenv("WCODEC_FAKE", mode, 1);
    wcodec_context *context = open_logged(backend, &allocator, &lines);
    wcodec_rssm_options_init(&o);
    o.ensemble = m->n.e;
    o.hidden = m->n.h;
    o.stochastic = m->n.s;
    o.inputs = m->n.in;
    o.memory = "fake";
    wcodec_status status =
        wcodec_rssm_create(context, &o, m->members, m->head, m->delta_head, &rssm, &err);
    const bool made = status == WCODEC_OK;
    if (made)
        status = roll(rssm, m, true, &on_device, &err);
    const bool lost = strstr(lines.text, "is used no more") != NULL || status != WCODEC_OK;
    if (made)
        assert_true((memory_of(rssm) == NULL) == lost);
    if (status == WCODEC_OK)
        expect_said(m, &on_device, &on_cpu);
    else {
        assert_true(status == WCODEC_ERROR_DEVICE || status == WCODEC_ERROR_BACKEND);
        assert_non_null(strstr(err.text, "fake"));
        assert_true(!made || strchr(backend, ',') == NULL);
    }
    wcodec_rssm_destroy(rssm);
    wcodec_context_destroy(context);
    assert_int_equal(allocator.balance, 0);
    return lost;
}

static void test_lost(void **state)
{
    static const char *const backends[] = {"fake", "fake,cpu"};
    const struct sizes n = {WCODEC_RSSM_PRODUCTION, 2, 40, 8, 16, 5};
    struct model m;
    wcodec_error err;
    (void)state;
    if (!wcodec_fibers_supported())
        skip();
    make(&m, &n);
    support_load_plugin(NULL);
    wcodec_context *context = support_context(2, NULL);
    wcodec_rssm *cpu = create(context, &m, NULL);
    assert_int_equal(roll(cpu, &m, true, &on_cpu, &err), WCODEC_OK);
    wcodec_rssm_destroy(cpu);
    wcodec_context_destroy(context);
    for (unsigned b = 0; b < 2; b++) {
        unsigned calls = 1;
        while (lost_at(calls, &m, backends[b]))
            calls++;
        print_message("%s: lost at each of %u calls\n", backends[b], calls - 1);
        assert_true(calls > 8);
    }
    setenv("WCODEC_FAKE", "", 1);
    free(m.memory);
}

/* Each allocation fails once. */
static void test_memory(void **state)
{
    const struct sizes n = {WCODEC_RSSM_PRODUCTION, 2, 40, 8, 16, 5};
    struct model m;
    long fails = 0;
    (void)state;
    make(&m, &n);
    setenv("WCODEC_FAKE", "", 1);
    support_load_plugin(NULL);
    for (bool through = false; !through; fails++) {
        struct support_allocator allocator;
        wcodec_options options;
        wcodec_context *context = NULL;
        wcodec_rssm_options o;
        wcodec_rssm *rssm = NULL;
        wcodec_error err = {0};
        support_allocator_init(&allocator, fails);
        wcodec_options_init(&options);
        options.backend = "fake";
        options.threads = 1;
        options.allocator = allocator.allocator;
        wcodec_rssm_options_init(&o);
        o.ensemble = n.e;
        o.hidden = n.h;
        o.stochastic = n.s;
        o.inputs = n.in;
        o.memory = "fake";
        wcodec_status status = wcodec_context_create(&options, &context, &err);
        if (status == WCODEC_OK)
            status = wcodec_rssm_create(context, &o, m.members, m.head, m.delta_head, &rssm, &err);
        if (status == WCODEC_OK)
            status = roll(rssm, &m, false, &on_device, &err);
        through = status == WCODEC_OK;
        if (!through && status != WCODEC_ERROR_MEMORY && status != WCODEC_ERROR_BACKEND)
            fail_msg("allocation %ld: %s", fails, err.text);
        wcodec_rssm_destroy(rssm);
        if (context != NULL)
            wcodec_context_destroy(context);
        assert_int_equal(allocator.balance, 0);
    }
    print_message("%ld allocations\n", fails - 1);
    assert_true(fails > 8);
    free(m.memory);
}

static void expect_plan(const struct wcodec_rollout_plan *p, uint64_t shared)
{
    assert_true(wcodec_gpu_rollout_shared(p) <= shared);
    if (p->tiles > 0) {
        assert_true(p->sizes.rounded && p->rows % 64 == 0 && p->items == 4 * p->rows);
        assert_true(p->parts * p->rows >= p->sizes.hidden && p->part_floats % 4 == 0);
        return;
    }
    /* Parts wait for what each of the others makes, so that none may run ahead. */
    assert_true((p->parts - 1) * p->rows < p->sizes.hidden);
    assert_true(p->parts * p->rows >= p->sizes.hidden);
    assert_true(p->history == 0 || (p->history > 1 && p->items <= 256 && p->items % 32 == 0));
    assert_true(p->vector % 4 == 0 && p->partials % 4 == 0 && p->part_floats % 4 == 0);
    for (unsigned i = 0; i < WCODEC_ROLLOUT_MATRICES; i++) {
        const uint32_t columns = i == WCODEC_ROLLOUT_W ? p->sizes.inputs : p->sizes.hidden;
        assert_true(p->columns[i] % 4 == 0 && p->slices[i] * p->columns[i] >= columns);
        assert_true(p->kept[i] % 4 == 0 && p->cached[i] % 4 == 0);
        assert_true(p->kept[i] + p->cached[i] <= p->columns[i]);
        if ((i == WCODEC_ROLLOUT_W && p->sizes.unit != WCODEC_UNIT_NONE) || p->history > 0)
            continue;
        assert_true(p->slices[i] * p->columns[i] <= p->vector);
        assert_true(p->slices[i] * p->rows * (3 - i) <= p->partials);
    }
}

/* All hidden values, on large devices and on small ones. */
static void test_plans(void **state)
{
    static const struct wcodec_gpu_rollout_limits limits[] = {
        {512, 16, 227 << 10, true, false, true, 256, 0},
        {512, 8, 99 << 10, true, false, false, 256, 0},
        {512, 1, 48 << 10, false, false, false, 0, 0},
        {64, 1, 32 << 10, false, false, false, 256, 0},
        {32, 1, 16 << 10, false, false, false, 0, 0},
        {31, 1, 48 << 10, false, false, false, 0, 0},
        {512, 26, 48 << 10, true, true, true, 0, 144 << 10},
        {64, 4, 1 << 20, false, true, false, 0, 0},
        {512, 132, 227 << 10, true, true, false, 0, 0},
        {512, 132, 48 << 10, true, true, false, 0, 0},
        {64, 44, 48 << 10, false, true, false, 0, 0},
    };
    static const uint32_t inputs[] = {1, 64, 4096};
    enum { ALL = 3 * 3 * 4096 };
    (void)state;
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        unsigned planned = 0, tensor = 0;
        for (uint32_t k = 0; k < ALL; k++) {
            /* Ensembles of few and of many stochastic values, and units by themselves, of which
             * every other one may be by tensor cores. */
            const uint32_t hidden = k / 9 + 1, kind = k % 3;
            const struct wcodec_rollout_sizes s = {
                .members = kind == 2 ? 1 : 64,
                .hidden = hidden,
                .stochastic = kind == 0   ? 1
                              : kind == 1 ? hidden
                                          : 0,
                .inputs = inputs[k / 3 % 3],
                .unit = kind == 2 ? WCODEC_UNIT_AFTER : WCODEC_UNIT_NONE,
                .rounded = kind == 2 && hidden % 2 == 0,
            };
            struct wcodec_rollout_plan p;
            if (!wcodec_gpu_plan_rollout(&s, &limits[i], &p))
                continue;
            expect_plan(&p, limits[i].shared);
            assert_true(p.parts <= limits[i].parts);
            assert_int_equal(p.exchanges, limits[i].exchanges && p.parts > 1);
            assert_true(!p.exchanges || (kind != 2 && !p.takes_pinned));
            tensor += p.tiles > 0;
            planned++;
        }
        assert_int_equal(planned == ALL, i == 0 || i == 7);
        assert_int_equal(planned == 0, limits[i].items < WCODEC_ROLLOUT_LOSS_ITEMS);
        assert_int_equal(tensor > 0, limits[i].tensor_items > 0);
    }
}

/* Memory of another device than the context's. */
static void test_refused(void **state)
{
    const struct sizes n = {WCODEC_RSSM_PRODUCTION, 1, 4, 4, 4, 1};
    struct model m;
    wcodec_rssm_options o;
    wcodec_rssm *rssm;
    wcodec_error err = {0};
    (void)state;
    make(&m, &n);
    wcodec_context *context = support_context(1, NULL);
    wcodec_rssm_options_init(&o);
    o.ensemble = n.e;
    o.hidden = n.h;
    o.stochastic = n.s;
    o.inputs = n.in;
    o.memory = "cuda";
    assert_int_equal(wcodec_rssm_create(context, &o, m.members, m.head, m.delta_head, &rssm, &err),
                     WCODEC_ERROR_BACKEND);
    assert_non_null(strstr(err.text, "memory of cuda was asked for"));
    o.memory = "cpu";
    assert_int_equal(wcodec_rssm_create(context, &o, m.members, m.head, m.delta_head, &rssm, &err),
                     WCODEC_ERROR_UNSUPPORTED);
    assert_non_null(strstr(err.text, "the CPU does"));
    wcodec_context_destroy(context);
    free(m.memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_devices), cmocka_unit_test(test_left_to_cpu),
        cmocka_unit_test(test_apart),   cmocka_unit_test(test_opencl_parts),
        cmocka_unit_test(test_traced),  cmocka_unit_test(test_lost),
        cmocka_unit_test(test_memory),  cmocka_unit_test(test_plans),
        cmocka_unit_test(test_refused), cmocka_unit_test(test_forgotten),
        cmocka_unit_test(test_clusters)};
    return cmocka_run_group_tests(tests, support_find_plugins, NULL);
}
