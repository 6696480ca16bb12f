/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "backends/gpu/rollout.h"

enum { MATRICES = WCODEC_ROLLOUT_MATRICES };

const char *const wcodec_rollout_names[WCODEC_ROLLOUT_FORMS] = {
#define WCODEC_ROLLOUT_KERNEL(name, gates, reset) #name,
#include "backends/kernels/rollouts.def"
#undef WCODEC_ROLLOUT_KERNEL
};

/* Columns that stay in registers, of U_z and U_r and of U_h. */
static const uint32_t held[WCODEC_ROLLOUT_FORMS][2] = {
#define WCODEC_ROLLOUT_KERNEL(name, gates, reset) {gates, reset},
#include "backends/kernels/rollouts.def"
#undef WCODEC_ROLLOUT_KERNEL
};

/* Rows of a part's matrices, for each of a gate. */
static const uint32_t gates_of[MATRICES] = {3, 2, 1};

static uint32_t divide_up(uint32_t a, uint32_t b)
{
    return (a + b - 1) / b;
}

static uint32_t most(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

static uint64_t shared_bytes(const struct wcodec_rollout_plan *p)
{
    return sizeof(float) *
           (uint64_t)WCODEC_ROLLOUT_SHARED(p->vector, p->sizes.stochastic, p->rows, p->partials);
}

/* By so many parts; false: there are too few work-items, or there is too little shared memory. */
static bool cut(const struct wcodec_rollout_sizes *s,
                const struct wcodec_gpu_rollout_limits *limits, unsigned form, uint32_t parts,
                struct wcodec_rollout_plan *p)
{
    *p = (struct wcodec_rollout_plan){.sizes = *s,
                                      .form = form,
                                      .items = limits->items,
                                      .parts = parts,
                                      .rows = divide_up(s->hidden, parts)};
    uint64_t floats = (uint64_t)6 * p->rows;
    for (unsigned m = 0; m < MATRICES; m++) {
        const uint32_t rows = gates_of[m] * p->rows,
                       columns = m == WCODEC_ROLLOUT_W ? s->inputs : s->hidden,
                       held_columns = m == WCODEC_ROLLOUT_W ? 0 : held[form][m - 1],
                       slices = most(1, limits->items / rows);
        p->columns[m] = most(held_columns, 4 * divide_up(divide_up(columns, slices), 4));
        p->slices[m] = divide_up(columns, p->columns[m]);
        if (held_columns > 0 && p->slices[m] * rows > limits->items)
            return false;
        p->vector = most(p->vector, p->slices[m] * p->columns[m]);
        p->partials = most(p->partials, 4 * divide_up(p->slices[m] * rows, 4));
        floats += (uint64_t)rows * p->slices[m] * p->columns[m];
    }
    p->part_floats = (floats + 3) / 4 * 4;
    return shared_bytes(p) <= limits->shared;
}

/* Do registers hold all of U? */
static bool holds_all(const struct wcodec_rollout_plan *p)
{
    return p->columns[WCODEC_ROLLOUT_GATES] <= held[p->form][0] &&
           p->columns[WCODEC_ROLLOUT_RESET] <= held[p->form][1];
}

bool wcodec_gpu_plan_rollout(const struct wcodec_rollout_sizes *sizes,
                             const struct wcodec_gpu_rollout_limits *limits,
                             struct wcodec_rollout_plan *plan)
{
    /* Sums of a loss have an item each. */
    if (limits->items < WCODEC_ROLLOUT_LOSS_ITEMS)
        return false;
    /* As few parts as hold all weights; a part that holds less is the faster one of two. */
    for (uint32_t parts = 1; limits->registers && parts <= limits->parts; parts *= 2)
        for (unsigned form = 1; form < WCODEC_ROLLOUT_FORMS; form++)
            if (cut(sizes, limits, form, parts, plan) && holds_all(plan))
                return true;
    /* Else all parts read, unless there is too little to be read; with registers for what is on its
     * way, so that none hold weights. */
    uint32_t parts = limits->parts;
    while (parts > 1 && sizes->hidden / parts < 32)
        parts /= 2;
    return cut(sizes, limits, 0, parts, plan);
}

void wcodec_gpu_launch_rollout(const struct wcodec_ensemble_rollout *r, uint64_t weights,
                               uint64_t work, struct wcodec_gpu_rollout *l)
{
    const struct wcodec_rollout_plan *p = r->plan;
    const struct wcodec_rollout_sizes *s = &p->sizes;
    const struct wcodec_rollout_work w = wcodec_rollout_work(p, r->steps, r->alike);
    const uint64_t size = sizeof(float);
    *l = (struct wcodec_gpu_rollout){
        .groups = s->members * p->parts,
        .threads = p->items,
        .shared = (uint32_t)shared_bytes(p),
        .arguments = {.weights = weights,
                      .head = weights + size * s->members * p->parts * p->part_floats,
                      .features = work + size * w.features,
                      .hidden = work + size * w.hidden,
                      .stay = work + size * w.stay,
                      .loss = work + size * w.loss,
                      .squares = work + size * w.squares,
                      .entropy = work + size * w.entropy,
                      .last = work + size * w.last,
                      .part_floats = p->part_floats,
                      .parts = p->parts,
                      .rows = p->rows,
                      .hidden_count = s->hidden,
                      .hidden_stride = r->alike ? 0 : s->hidden,
                      .stochastic = s->stochastic,
                      .inputs = s->inputs,
                      .steps = r->steps,
                      .mode = s->mode,
                      .seed = r->seed,
                      .vector = p->vector,
                      .partials = p->partials,
                      .bounded = r->bounded}};
    for (unsigned m = 0; m < MATRICES; m++)
        l->arguments.cut[m] = (struct wcodec_rollout_cut){p->slices[m], p->columns[m]};
}
