/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Rollouts of ensembles, from a call to its results.
 *
 *   gpu-rollout BACKEND [MEMBERS [STEPS]]
 *
 * A row for each number of hidden values: microseconds, the median of 101 calls after 20, of
 * MEMBERS (5) over STEPS (50), of no steps, which is what a call takes beside them, and by two
 * threads of the CPU. */
#define PROGRAM "gpu-rollout"
#include "bench/program.h"
#include "bench/random.h"
#include "bench/timing.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CALLS = 101, WARM = 20, CPU_CALLS = 21, INPUTS = 64, STOCHASTIC = 32 };

static void say(void *opaque, wcodec_log_level level, const char *text)
{
    (void)opaque, (void)level;
    fprintf(stderr, "%s\n", text);
}

static wcodec_context *open_device(const char *backend)
{
    wcodec_options options;
    wcodec_context *context;
    wcodec_error err;
    wcodec_options_init(&options);
    options.backend = backend;
    options.threads = 2;
    options.log = say;
    options.log_level = WCODEC_LOG_INFO;
    check(wcodec_context_create(&options, &context, &err), &err);
    return context;
}

/* Of weights of +-1/sqrt(hidden). */
static wcodec_rssm *make(wcodec_context *context, const char *memory, uint64_t members,
                         uint64_t hidden)
{
    const size_t of_member = (size_t)(3 * hidden * (INPUTS + hidden)), all = members * of_member;
    wcodec_gru_weights *weights = calloc(members, sizeof *weights);
    float *w = malloc((all + hidden + STOCHASTIC) * sizeof *w);
    wcodec_rssm_options options;
    wcodec_rssm *rssm;
    wcodec_error err;
    if (w == NULL || weights == NULL)
        fail("out of memory");
    for (size_t i = 0; i < all + hidden + STOCHASTIC; i++)
        w[i] = (float)(2 * uniform() - 1) / sqrtf((float)hidden);
    for (uint64_t i = 0; i < members; i++) {
        const float *in = w + i * of_member, *u = in + 3 * hidden * INPUTS;
        weights[i] = (wcodec_gru_weights){.w_z = in,
                                          .w_r = in + hidden * INPUTS,
                                          .w_h = in + 2 * hidden * INPUTS,
                                          .u_z = u,
                                          .u_r = u + hidden * hidden,
                                          .u_h = u + 2 * hidden * hidden};
    }
    wcodec_rssm_options_init(&options);
    options.ensemble = members;
    options.hidden = hidden;
    options.memory = memory;
    check(wcodec_rssm_create(context, &options, weights, w + all, NULL, &rssm, &err), &err);
    free(w);
    free(weights);
    return rssm;
}

/* Microseconds of a call. */
static double measure(const wcodec_rssm *rssm, uint64_t members, uint64_t steps, unsigned calls)
{
    float features[INPUTS], *loss = malloc(members * (steps + 1) * sizeof *loss);
    double seconds[CALLS];
    wcodec_rssm_summary summary;
    wcodec_error err;
    if (loss == NULL)
        fail("out of memory");
    for (unsigned i = 0; i < INPUTS; i++)
        features[i] = sinf((float)i);
    const wcodec_rssm_input input = {.features = features, .loss = 2.5f};
    const wcodec_rssm_output output = {.trajectories = loss};
    for (unsigned i = 0; i < WARM + calls; i++) {
        const double begin = wall();
        check(wcodec_rssm_rollout(rssm, &input, steps, &output, &summary, &err), &err);
        if (i >= WARM)
            seconds[i - WARM] = wall() - begin;
    }
    free(loss);
    return median(seconds, calls) * 1e6;
}

int main(int argc, char **argv)
{
    static const uint64_t sizes[] = {64, 128, 256, 512, 1024};
    const uint64_t members = argc > 2 ? strtoull(argv[2], NULL, 10) : 5,
                   steps = argc > 3 ? strtoull(argv[3], NULL, 10) : 50;
    if (argc < 2 || members < 1 || members > 64 || steps > 1000) {
        fprintf(stderr, "usage: gpu-rollout BACKEND [MEMBERS [STEPS]]\n");
        return 2;
    }
    wcodec_context *context = open_device(argv[1]);
    const size_t name = strcspn(argv[1], ":,");
    char memory[32];
    snprintf(memory, sizeof memory, "%.*s", (int)name, argv[1]);
    printf("| hidden | %s, %u x %u | no steps | two threads |\n| --- | --- | --- | --- |\n",
           argv[1], (unsigned)members, (unsigned)steps);
    for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        wcodec_rssm *device = make(context, memory, members, sizes[i]),
                    *cpu = make(context, NULL, members, sizes[i]);
        printf("| %u | %.1f | %.1f | %.0f |\n", (unsigned)sizes[i],
               measure(device, members, steps, CALLS), measure(device, members, 0, CALLS),
               measure(cpu, members, steps, CPU_CALLS));
        wcodec_rssm_destroy(device);
        wcodec_rssm_destroy(cpu);
    }
    wcodec_context_destroy(context);
    return 0;
}
