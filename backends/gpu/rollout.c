/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

#include "backends/gpu/rollout.h"

/* Reads of a second or so on a GPU. */
enum { MATRICES = WCODEC_ROLLOUT_MATRICES, TILES = 16, PATIENCE = 1 << 21, HISTORY = 64 };

/* Of a part that reads weights in each step, at least. */
enum { ROWS = 32 };

const char *const wcodec_rollout_names[WCODEC_ROLLOUT_KINDS][WCODEC_RECURRENCE_FORMS] = {
    [WCODEC_ROLLOUT_OF_ENSEMBLES] =
        {
#define WCODEC_ROLLOUT_KERNEL(name, unit, inputs, gates, reset) #name,
#include "backends/kernels/rollouts.def"
#undef WCODEC_ROLLOUT_KERNEL
            [WCODEC_RECURRENCE_BEFORE] = "rollouts",
            [WCODEC_RECURRENCE_BEFORE_256] = "rollouts_256",
#define WCODEC_ROLLOUT_WARPS(name, columns, lanes, warps) [WCODEC_ROLLOUT_##name] = #name,
#include "backends/kernels/rollouts_warps.def"
#undef WCODEC_ROLLOUT_WARPS
        },
    [WCODEC_ROLLOUT_OF_UNITS] =
        {
#define WCODEC_ROLLOUT_KERNEL(name, unit, inputs, gates, reset) #unit,
#include "backends/kernels/rollouts.def"
#undef WCODEC_ROLLOUT_KERNEL
            "recurrence_before",
            "recurrence_after",
            "recurrence_before_256",
            "recurrence_after_256",
        },
    [WCODEC_ROLLOUT_THAT_MEET] =
        {
#define WCODEC_ROLLOUT_KERNEL(name, unit, inputs, gates, reset) #name "_met",
#include "backends/kernels/rollouts.def"
#undef WCODEC_ROLLOUT_KERNEL
#define WCODEC_ROLLOUT_WARPS(name, columns, lanes, warps) [WCODEC_ROLLOUT_##name] = #name "_met",
#include "backends/kernels/rollouts_warps.def"
#undef WCODEC_ROLLOUT_WARPS
        },
};

/* Columns that stay in registers: of W, of a unit by itself alone, of U_z and U_r, of U_h. */
static const uint32_t held[WCODEC_ROLLOUT_FORMS][MATRICES] = {
#define WCODEC_ROLLOUT_KERNEL(name, unit, inputs, gates, reset) {inputs, gates, reset},
#include "backends/kernels/rollouts.def"
#undef WCODEC_ROLLOUT_KERNEL
};

/* Rows of a part's matrices, for each of a gate. */
static const uint32_t gates_of[MATRICES] = {3, 2, 1};

static uint32_t divide_up(uint32_t a, uint32_t b)
{
    return (a + b - 1) / b;
}

static uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static uint32_t most(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

/* Of a unit by itself: what an input takes, and sums of W. */
static uint32_t inputs_vector(const struct wcodec_rollout_plan *p)
{
    return p->slices[WCODEC_ROLLOUT_W] * p->columns[WCODEC_ROLLOUT_W];
}

static uint32_t inputs_partials(const struct wcodec_rollout_plan *p)
{
    return 4 * divide_up(p->slices[WCODEC_ROLLOUT_W] * gates_of[WCODEC_ROLLOUT_W] * p->rows, 4);
}

/* Slices of all rows of a part's matrix: floats of a column of each. */
static uint64_t slices_of(const struct wcodec_rollout_plan *p, unsigned matrix)
{
    return (uint64_t)p->slices[matrix] * gates_of[matrix] * p->rows;
}

static uint64_t shared_bytes(const struct wcodec_rollout_plan *p)
{
    uint64_t floats =
        WCODEC_ROLLOUT_SHARED((uint64_t)p->vector, p->sizes.stochastic, p->rows, p->partials);
    if (p->sizes.unit != WCODEC_UNIT_NONE)
        floats = WCODEC_RECURRENCE_SHARED((uint64_t)p->vector, p->rows, p->partials,
                                          inputs_vector(p), inputs_partials(p));
    for (unsigned m = 0; m < MATRICES; m++)
        floats += p->kept[m] * slices_of(p, m);
    return sizeof(float) * floats;
}

/* Columns of U_z, U_r and U_h that have room in so many floats, as large a share of each. left:
 * what there is of them, of which they are taken. */
static void share(const struct wcodec_rollout_plan *p, uint64_t room, uint32_t *left, uint32_t *to)
{
    uint64_t all = 0;
    for (unsigned m = WCODEC_ROLLOUT_GATES; m < MATRICES; m++)
        all += left[m] * slices_of(p, m);
    for (unsigned m = WCODEC_ROLLOUT_GATES; m < MATRICES && all > 0; m++) {
        to[m] = (uint32_t)(left[m] * (room < all ? room : all) / all / 4 * 4);
        left[m] -= to[m];
    }
}

/* What is not held and has room stays in shared memory: all of W, which a unit by itself reads in
 * each step; as much of U_z and U_r as of U_h. */
static void keep(const struct wcodec_gpu_rollout_limits *limits, struct wcodec_rollout_plan *p)
{
    uint64_t room = (limits->shared - shared_bytes(p)) / sizeof(float);
    uint32_t left[MATRICES];
    for (unsigned m = 0; m < MATRICES; m++)
        left[m] = p->columns[m] - (m == WCODEC_ROLLOUT_W && p->sizes.unit == WCODEC_UNIT_NONE
                                       ? p->columns[m]
                                       : held[p->form][m]);
    if (left[WCODEC_ROLLOUT_W] * slices_of(p, WCODEC_ROLLOUT_W) <= room) {
        p->kept[WCODEC_ROLLOUT_W] = left[WCODEC_ROLLOUT_W];
        room -= left[WCODEC_ROLLOUT_W] * slices_of(p, WCODEC_ROLLOUT_W);
    }
    share(p, room, left, p->kept);
    share(p, limits->cache / sizeof(float), left, p->cached);
}

/* By so many parts, or so many of them as have rows where they are not those of a cluster: one
 * without would send nothing, so that others ran ahead of it. False: there are too few work-items,
 * or there is too little shared memory. */
static bool cut(const struct wcodec_rollout_sizes *s,
                const struct wcodec_gpu_rollout_limits *limits, unsigned form, uint32_t parts,
                struct wcodec_rollout_plan *p)
{
    *p = (struct wcodec_rollout_plan){.sizes = *s,
                                      .form = form,
                                      .items = limits->items,
                                      .parts = parts,
                                      .rows = divide_up(s->hidden, parts)};
    if (limits->exchanges)
        p->parts = divide_up(s->hidden, p->rows);
    uint64_t floats = (uint64_t)6 * p->rows;
    for (unsigned m = 0; m < MATRICES; m++) {
        const uint32_t rows = gates_of[m] * p->rows,
                       columns = m == WCODEC_ROLLOUT_W ? s->inputs : s->hidden,
                       held_columns =
                           m == WCODEC_ROLLOUT_W && s->unit == WCODEC_UNIT_NONE ? 0 : held[form][m],
                       slices = most(1, limits->items / rows);
        p->columns[m] = most(held_columns, 4 * divide_up(divide_up(columns, slices), 4));
        p->slices[m] = divide_up(columns, p->columns[m]);
        if (held_columns > 0 && p->slices[m] * rows > limits->items)
            return false;
        /* A unit by itself has another place for its inputs. */
        if (m != WCODEC_ROLLOUT_W || s->unit == WCODEC_UNIT_NONE) {
            p->vector = most(p->vector, p->slices[m] * p->columns[m]);
            p->partials = most(p->partials, 4 * divide_up(p->slices[m] * rows, 4));
        }
        floats += (uint64_t)rows * p->slices[m] * p->columns[m];
    }
    p->part_floats = (floats + 3) / 4 * 4;
    if (shared_bytes(p) > limits->shared)
        return false;
    if (limits->registers)
        keep(limits, p);
    return true;
}

/* Quads of a vector, for tensor cores. */
static uint32_t quads_of(uint32_t numbers)
{
    return divide_up(numbers, 64);
}

static uint64_t tensor_shared(const struct wcodec_rollout_plan *p, uint32_t tiles)
{
    const uint64_t inputs = quads_of(p->sizes.inputs), hidden = quads_of(p->parts * p->rows);
    const uint32_t warps = p->rows / 8;
    if (p->sizes.unit == WCODEC_UNIT_NONE)
        return WCODEC_TENSOR_SHARED_MODEL(inputs, hidden, warps, tiles, p->parts);
    return WCODEC_TENSOR_SHARED(inputs, hidden, warps, tiles, p->sizes.unit == WCODEC_UNIT_AFTER);
}

/* By tensor cores: as few parts as have a row for each hidden value, and as many tiles as there is
 * room for. */
static bool plan_tensor(const struct wcodec_rollout_sizes *s,
                        const struct wcodec_gpu_rollout_limits *limits,
                        struct wcodec_rollout_plan *p)
{
    const uint32_t most_rows = limits->tensor_items / 4;
    uint32_t parts = 1;
    while (parts < limits->parts && parts * most_rows < s->hidden)
        parts *= 2;
    *p = (struct wcodec_rollout_plan){
        .sizes = *s, .parts = parts, .rows = 64 * divide_up(divide_up(s->hidden, parts), 64)};
    p->items = 4 * p->rows;
    p->form = s->unit == WCODEC_UNIT_AFTER ? WCODEC_RECURRENCE_AFTER : WCODEC_RECURRENCE_BEFORE;
    p->part_floats = (uint64_t)(quads_of(s->inputs) + quads_of(parts * p->rows)) * p->rows / 8 *
                         (WCODEC_TENSOR_QUAD / sizeof(float)) +
                     (s->unit == WCODEC_UNIT_NONE ? 12 : 4) * p->rows;
    while (p->tiles < TILES && tensor_shared(p, p->tiles + 1) <= limits->shared)
        p->tiles++;
    return p->rows <= most_rows && p->tiles > 0;
}

/* Do registers hold all of U, and of W if it counts? */
static bool holds_all(const struct wcodec_rollout_plan *p, bool inputs)
{
    return (!inputs || p->columns[WCODEC_ROLLOUT_W] <= held[p->form][WCODEC_ROLLOUT_W]) &&
           p->columns[WCODEC_ROLLOUT_GATES] <= held[p->form][WCODEC_ROLLOUT_GATES] &&
           p->columns[WCODEC_ROLLOUT_RESET] <= held[p->form][WCODEC_ROLLOUT_RESET];
}

/* As few parts as hold all weights, by the forms up to `last`; a part that holds less is the faster
 * one of two. */
static bool hold(const struct wcodec_rollout_sizes *s,
                 const struct wcodec_gpu_rollout_limits *limits, unsigned last, bool inputs,
                 struct wcodec_rollout_plan *plan)
{
    for (uint32_t parts = 1; limits->registers && parts <= limits->parts; parts *= 2)
        for (unsigned form = 1; form <= last; form++)
            if (cut(s, limits, form, parts, plan) && holds_all(plan, inputs))
                return true;
    return false;
}

/* Those of rollout_warps.h, the smallest first. */
static const struct {
    uint32_t columns, lanes, warps;
} by_warps[] = {
#define WCODEC_ROLLOUT_WARPS(name, columns, lanes, warps) {columns, lanes, warps},
#include "backends/kernels/rollouts_warps.def"
#undef WCODEC_ROLLOUT_WARPS
};

static uint64_t warps_shared(const struct wcodec_rollout_plan *p, uint32_t history)
{
    return sizeof(float) * WCODEC_WARPS_SHARED((uint64_t)p->vector, p->sizes.inputs, history);
}

/* By warps whose registers hold all of U: of the first form that has as many columns, and as few
 * parts as have a warp for each row. */
static bool plan_warps(const struct wcodec_rollout_sizes *s,
                       const struct wcodec_gpu_rollout_limits *limits,
                       struct wcodec_rollout_plan *p)
{
    unsigned i = 0;
    while (i < sizeof by_warps / sizeof by_warps[0] &&
           by_warps[i].columns * by_warps[i].lanes < s->hidden)
        i++;
    if (!limits->registers || i == sizeof by_warps / sizeof by_warps[0] ||
        s->unit != WCODEC_UNIT_NONE || s->mode != WCODEC_ROLLOUT_PRODUCTION || s->stochastic > 32)
        return false;
    const uint32_t of_warp = 128 / by_warps[i].lanes,
                   warps = least(by_warps[i].warps, limits->items / 32);
    uint32_t parts = 1;
    while (parts < limits->parts && parts * warps * of_warp < s->hidden)
        parts *= 2;
    *p = (struct wcodec_rollout_plan){.sizes = *s,
                                      .form = WCODEC_ROLLOUT_WARPS_FIRST + i,
                                      .parts = parts,
                                      .rows = divide_up(s->hidden, parts),
                                      .vector = by_warps[i].columns * by_warps[i].lanes};
    p->items = 32 * divide_up(p->rows, of_warp);
    uint64_t floats = (uint64_t)6 * p->rows;
    for (unsigned m = 0; m < MATRICES; m++) {
        p->slices[m] = 1;
        p->columns[m] = 4 * divide_up(m == WCODEC_ROLLOUT_W ? s->inputs : s->hidden, 4);
        floats += (uint64_t)gates_of[m] * p->rows * p->columns[m];
    }
    p->part_floats = (floats + 3) / 4 * 4;
    p->takes_pinned = limits->takes_pinned;
    while (p->history < HISTORY && warps_shared(p, p->history + 1) <= limits->shared)
        p->history++;
    return parts <= limits->parts && p->items <= 32 * warps && p->history > 1;
}

bool wcodec_gpu_rollout_reads(const struct wcodec_rollout_plan *p)
{
    bool reads = false;
    for (unsigned m = WCODEC_ROLLOUT_GATES; p->tiles + p->history == 0 && m < MATRICES; m++)
        reads = reads || held[p->form][m] + p->kept[m] < p->columns[m];
    return reads;
}

/* Of parts that meet in memory, as many as then read nothing in a step, or all. */
static bool spread(const struct wcodec_rollout_sizes *sizes,
                   const struct wcodec_gpu_rollout_limits *limits, struct wcodec_rollout_plan *plan)
{
    bool there = false;
    uint32_t parts = most(1, least(limits->parts, sizes->hidden / ROWS));
    for (; parts <= limits->parts && (!there || wcodec_gpu_rollout_reads(plan)); parts++)
        there = cut(sizes, limits, WCODEC_ROLLOUT_FORMS - 1, parts, plan);
    return there;
}

static bool plan_parts(const struct wcodec_rollout_sizes *sizes,
                       const struct wcodec_gpu_rollout_limits *limits,
                       struct wcodec_rollout_plan *plan)
{
    if (sizes->rounded && limits->tensor_items > 0 && plan_tensor(sizes, limits, plan))
        return true;
    /* Parts of a unit by itself that hold less have its weights sooner, and few read W in each
     * step. */
    if (sizes->unit != WCODEC_UNIT_NONE &&
        (hold(sizes, limits, 1, true, plan) || hold(sizes, limits, 1, false, plan)))
        return true;
    if (plan_warps(sizes, limits, plan) ||
        hold(sizes, limits, WCODEC_ROLLOUT_FORMS - 1, false, plan))
        return true;
    if (limits->exchanges && limits->registers && spread(sizes, limits, plan))
        return true;
    /* Else all parts read, unless there is too little to be read. */
    uint32_t parts = limits->parts;
    while (parts > 1 && sizes->hidden / parts < ROWS)
        parts /= 2;
    return (limits->registers && cut(sizes, limits, 1, parts, plan)) ||
           cut(sizes, limits, 0, parts, plan);
}

bool wcodec_gpu_plan_rollout(const struct wcodec_rollout_sizes *sizes,
                             const struct wcodec_gpu_rollout_limits *limits,
                             struct wcodec_rollout_plan *plan)
{
    struct wcodec_gpu_rollout_limits own = *limits;
    /* Sums of a loss have an item each. */
    if (limits->items < WCODEC_ROLLOUT_LOSS_ITEMS)
        return false;
    if (limits->exchanges && sizes->unit != WCODEC_UNIT_NONE)
        own.parts = 1;
    if (!plan_parts(sizes, &own, plan))
        return false;
    plan->exchanges = limits->exchanges && plan->parts > 1;
    plan->takes_pinned = plan->takes_pinned && !plan->exchanges;
    return true;
}

uint32_t wcodec_gpu_rollout_shared(const struct wcodec_rollout_plan *p)
{
    if (p->history > 0)
        return (uint32_t)warps_shared(p, p->history);
    return (uint32_t)(p->tiles > 0 ? tensor_shared(p, p->tiles) : shared_bytes(p));
}

/* How weights are cut. */
static void put_cut(const struct wcodec_rollout_plan *p, uint64_t weights,
                    struct wcodec_rollout_launch *l)
{
    *l = (struct wcodec_rollout_launch){
        .weights = weights,
        .part_floats = p->part_floats,
        .parts = p->parts,
        .rows = p->rows,
        .hidden_count = p->sizes.hidden,
        .inputs = p->sizes.inputs,
        .vector = p->vector,
        .partials = p->partials,
    };
    for (unsigned m = 0; m < MATRICES; m++)
        l->cut[m] =
            (struct wcodec_rollout_cut){p->slices[m], p->columns[m], p->kept[m], p->cached[m]};
}

void wcodec_gpu_launch_rollout(const struct wcodec_ensemble_rollout *r, uint64_t weights,
                               uint64_t work, struct wcodec_rollout_launch *l)
{
    const struct wcodec_rollout_plan *p = r->plan;
    const struct wcodec_rollout_sizes *s = &p->sizes;
    const struct wcodec_rollout_work w = wcodec_rollout_work(p, r->steps, r->alike);
    const uint64_t size = sizeof(float);
    put_cut(p, weights, l);
    l->head = weights + size * s->members * p->parts * p->part_floats;
    l->features = work + size * w.features;
    l->hidden = work + size * w.hidden;
    l->exchange = p->exchanges ? work + size * w.exchange : 0;
    l->fault = work + size * w.fault;
    l->stay = work + size * w.stay;
    l->loss = work + size * w.loss;
    l->squares = work + size * w.squares;
    l->entropy = work + size * w.entropy;
    l->last = work + size * w.last;
    l->hidden_stride = r->alike ? 0 : s->hidden;
    l->stochastic = s->stochastic;
    l->steps = r->steps;
    l->mode = s->mode;
    l->seed = r->seed;
    l->bounded = r->bounded;
    l->patience = PATIENCE;
    l->history = p->history;
}

/* May kernels read and write several numbers at once? */
static bool are_wide(const struct wcodec_recurrence_launch *l)
{
    const uint64_t strides = l->values_sequence | l->out_sequence;
    return (l->values | l->out | l->last) % 16 == 0 && strides <= UINT32_MAX &&
           (strides | l->values_step | l->out_step | l->of.hidden_count) % 4 == 0;
}

/* As few rounds of clusters as there is room for, of as few tiles each as then are enough. */
static void put_tiles(const struct wcodec_rollout_plan *p, uint32_t members,
                      struct wcodec_recurrence_launch *l)
{
    const uint64_t at_once = most(members, 1), all = (l->sequences + 15) / 16,
                   rounds = (all + at_once * p->tiles - 1) / (at_once * p->tiles);
    l->all_tiles = (uint32_t)((all + at_once * rounds - 1) / (at_once * rounds));
    l->tiles = divide_up(l->all_tiles, 2);
    l->members = (uint32_t)((all + l->all_tiles - 1) / l->all_tiles);
    l->input_quads = quads_of(p->sizes.inputs);
    l->hidden_quads = quads_of(p->parts * p->rows);
    l->wide = are_wide(l);
}

void wcodec_gpu_launch_many(const struct wcodec_many_rollouts *m, uint32_t member, uint32_t members,
                            uint64_t weights, uint64_t work, struct wcodec_recurrence_launch *l)
{
    const struct wcodec_rollout_plan *p = m->plan;
    const struct wcodec_rollout_sizes *s = &p->sizes;
    const struct wcodec_many_work w = wcodec_many_work(p, m->starts, m->steps, m->alike);
    const uint64_t size = sizeof(float), before = member * m->starts;
    *l = (struct wcodec_recurrence_launch){
        .values = work + size * w.features,
        .begin = m->alike ? 0 : work + size * (w.hidden + before * s->hidden),
        .last = work + size * (w.last + before * s->hidden),
        .values_sequence = s->inputs,
        .steps = m->steps,
        .sequences = m->starts,
    };
    put_cut(p, weights + size * member * p->parts * p->part_floats, &l->of);
    l->of.loss = work + size * (w.loss + before * m->steps);
    l->of.entropy = work + size * (w.entropy + before * m->steps);
    l->of.mode = s->mode;
    put_tiles(p, members, l);
}

void wcodec_gpu_launch_sequences(const struct wcodec_sequences *q, uint32_t members,
                                 uint64_t weights, struct wcodec_recurrence_launch *l)
{
    const struct wcodec_rollout_plan *p = q->plan;
    *l = (struct wcodec_recurrence_launch){
        .values = q->values,
        .begin = q->hidden,
        .out = q->out,
        .last = q->last,
        .values_step = q->values_step,
        .values_sequence = q->values_sequence,
        .out_step = q->out_step,
        .out_sequence = q->out_sequence,
        .steps = q->steps,
        .sequences = q->sequences,
        .members = q->sequences < members ? (uint32_t)q->sequences : most(members, 1),
        .after = p->sizes.unit == WCODEC_UNIT_AFTER,
        .reverse = q->reverse,
        .inputs_vector = inputs_vector(p),
        .inputs_partials = inputs_partials(p),
    };
    put_cut(p, weights, &l->of);
    if (p->tiles > 0)
        put_tiles(p, members, l);
}

unsigned wcodec_gpu_sequences_form(const struct wcodec_rollout_plan *p,
                                   const struct wcodec_recurrence_launch *l)
{
    if (p->tiles == 0 || !l->wide || p->sizes.inputs % 4 != 0 || l->input_quads != 1 ||
        l->hidden_quads != 4)
        return p->form;
    return p->form == WCODEC_RECURRENCE_AFTER ? WCODEC_RECURRENCE_AFTER_256
                                              : WCODEC_RECURRENCE_BEFORE_256;
}

uint32_t wcodec_gpu_groups_shared(const struct wcodec_rollout_plan *p,
                                  const struct wcodec_recurrence_launch *l)
{
    if (p->tiles == 0 || p->sizes.unit != WCODEC_UNIT_NONE || p->rows != 64 || p->parts == 1 ||
        p->parts > WCODEC_GROUPS_MOST || l->input_quads != 1 || l->hidden_quads != p->parts)
        return 0;
    return WCODEC_GROUPS_SHARED(p->parts, divide_up(16 * l->all_tiles, WCODEC_GROUPS_SET));
}
