/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Memory of ensembles, as it is said beforehand and as an allocator counts it. */
#include "utils/bench.h"
#include "utils/signals.h"

#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

enum { HEADER = 64, STEPS = 2, MEMBERS_MOST = 10, HIDDEN_MOST = 1024 };

_Static_assert(HEADER % alignof(max_align_t) == 0, "memory after a header is aligned");

/* One thread uses it. */
struct counted {
    uint64_t now, most;
};

static void *count_reallocate(void *opaque, void *memory, size_t size)
{
    struct counted *c = opaque;
    unsigned char *base = memory ? (unsigned char *)memory - HEADER : NULL;
    size_t before = 0;
    if (base)
        memcpy(&before, base, sizeof before);
    if (size > SIZE_MAX - HEADER || !(base = realloc(base, size + HEADER)))
        return NULL;
    memcpy(base, &size, sizeof size);
    c->now += size - before;
    if (c->now > c->most)
        c->most = c->now;
    return base + HEADER;
}

static void *count_allocate(void *opaque, size_t size)
{
    return count_reallocate(opaque, NULL, size);
}

static void count_release(void *opaque, void *memory)
{
    struct counted *c = opaque;
    size_t size;
    if (!memory)
        return;
    unsigned char *base = (unsigned char *)memory - HEADER;
    memcpy(&size, base, sizeof size);
    c->now -= size;
    free(base);
}

/* Zeros are as good as any weights. */
static bool measure(struct app *app, wcodec_context *context, struct counted *c,
                    const wcodec_rssm_options *options, const float *zeros,
                    struct recurrent_result *r)
{
    wcodec_gru_weights members[MEMBERS_MOST];
    float trajectories[MEMBERS_MOST * (STEPS + 1)];
    wcodec_rssm_memory_info info;
    wcodec_rssm *rssm;
    wcodec_error err = {0};
    for (uint64_t i = 0; i < options->ensemble; i++)
        members[i] = (wcodec_gru_weights){
            .w_z = zeros, .w_r = zeros, .w_h = zeros, .u_z = zeros, .u_r = zeros, .u_h = zeros};
    const wcodec_rssm_input input = {.features = zeros, .loss = 1};
    const wcodec_rssm_output output = {.trajectories = trajectories};
    const uint64_t before = c->now;
    if (wcodec_rssm_memory(options, &info, &err) != WCODEC_OK ||
        wcodec_rssm_create(context, options, members, zeros, NULL, &rssm, &err) != WCODEC_OK)
        return app_fail_status(app, NULL, &err);
    c->most = c->now;
    const wcodec_status status = wcodec_rssm_rollout(rssm, &input, STEPS, &output, NULL, &err);
    wcodec_rssm_destroy(rssm);
    if (status != WCODEC_OK)
        return app_fail_status(app, NULL, &err);
    r->estimated = info.ensemble + info.rollout;
    r->measured = c->most - before;
    return true;
}

bool bench_recurrent_memory(struct app *app, struct recurrent_bench *bench)
{
    static const uint64_t hidden[] = {64, 128, 256, 512, 1024}, ensemble[] = {1, 3, 5, 10};
    struct counted counted = {0};
    wcodec_options options;
    wcodec_context *context = NULL;
    wcodec_error err = {0};
    float *zeros = calloc((size_t)HIDDEN_MOST * HIDDEN_MOST, sizeof *zeros);
    if (!zeros)
        return app_fail(app, EXIT_FAILED, "out of memory for weights");
    wcodec_options_init(&options);
    options.threads = 1;
    options.backend = "cpu";
    options.limits.max_memory = app->options.memory_limit;
    options.allocator = (wcodec_allocator){.allocate = count_allocate,
                                           .reallocate = count_reallocate,
                                           .release = count_release,
                                           .opaque = &counted};
    bool good = wcodec_context_create(&options, &context, &err) == WCODEC_OK ||
                app_fail_status(app, NULL, &err);
    for (unsigned i = 0; i < 20 && good && !signals_pending(); i++) {
        struct recurrent_result r = {.operation = "memory",
                                     .backend = "cpu",
                                     .threads = 1,
                                     .ensemble = ensemble[i % 4],
                                     .hidden = hidden[i / 4],
                                     .count = 1};
        wcodec_rssm_options sizes;
        wcodec_rssm_options_init(&sizes);
        sizes.ensemble = r.ensemble;
        sizes.hidden = r.hidden;
        good = measure(app, context, &counted, &sizes, zeros, &r);
        if (good)
            bench_recurrent_report(bench, &r);
    }
    wcodec_context_destroy(context);
    free(zeros);
    return good;
}
