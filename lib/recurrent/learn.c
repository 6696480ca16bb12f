/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Lessons: their gradients, and the step of descent; weights as the caller has them. */
#include "recurrent/learn.h"

#include "core/context.h"
#include "core/error.h"
#include "core/log.h"
#include "core/memory.h"
#include "core/options.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { BLOCK = WCODEC_RSSM_BLOCK, ARRAYS = 9 };

static const wcodec_rssm_learn_options defaults = {
    .struct_size = sizeof defaults, .rate = 1e-3f, .clip = 5};

void wcodec_rssm_learn_options_init_size(wcodec_rssm_learn_options *options, size_t size)
{
    wcodec_options_set(options, size, &defaults, sizeof defaults);
}

static wcodec_status check_number(const char *name, float value, float most, wcodec_error *err)
{
    if (value > 0 && value <= most)
        return WCODEC_OK;
    return wcodec_fail(err, WCODEC_ERROR_USAGE, "%s is %g: expected a number above 0, at most %g",
                       name, (double)value, (double)most);
}

static wcodec_status check_finite(const char *name, const float *values, size_t rows,
                                  size_t columns, wcodec_error *err)
{
    for (size_t i = 0; values != NULL && i < rows * columns; i++)
        if (!isfinite(values[i]))
            return wcodec_fail(err, WCODEC_ERROR_USAGE, "%s[%zu, %zu] is %s", name, i / columns,
                               i % columns, isnan(values[i]) ? "NaN" : "infinite");
    return WCODEC_OK;
}

static wcodec_status check_lesson(const wcodec_rssm *r, const wcodec_rssm_lesson *lesson,
                                  const wcodec_rssm_learned *learned, wcodec_error *err)
{
    wcodec_status status = wcodec_context_usable(r->context, err);
    if (status == WCODEC_OK)
        status = wcodec_reserved_check(lesson->reserved, sizeof lesson->reserved, "lesson", err);
    if (status == WCODEC_OK)
        status = wcodec_reserved_check(learned->reserved, sizeof learned->reserved, "learned", err);
    if (status != WCODEC_OK)
        return status;
    if (lesson->steps < 1 || lesson->steps > WCODEC_RSSM_DEPTH)
        return wcodec_fail(err, WCODEC_ERROR_USAGE,
                           "a lesson has %" PRIu64 " steps: expected 1 to %d", lesson->steps,
                           WCODEC_RSSM_DEPTH);
    status = check_finite("hidden", lesson->hidden, r->members, r->hidden, err);
    if (status == WCODEC_OK)
        status = check_finite("features", lesson->features, (size_t)lesson->steps, r->inputs, err);
    if (status == WCODEC_OK && !isfinite(lesson->loss))
        status = wcodec_fail(err, WCODEC_ERROR_USAGE, "loss is %s",
                             isnan(lesson->loss) ? "NaN" : "infinite");
    return status;
}

static size_t pupil_floats(const wcodec_rssm *r, size_t steps)
{
    return (8 * steps + 7) * r->width + r->stochastic;
}

static void place_pupil(const wcodec_rssm *r, size_t steps, float *at, struct wcodec_rssm_pupil *p)
{
    const size_t width = r->width;
    for (size_t k = 0; k < steps; k++, at += 8 * width)
        p->steps[k] = (struct wcodec_rssm_back){
            .before = at, .gate = at + width, .reset = at + 4 * width, .delta = at + 5 * width};
    p->values =
        (struct wcodec_rssm_values){.hidden = at, .stay = at + width, .stochastic = at + 7 * width};
    p->first = at + 4 * width;
    p->change = at + 5 * width;
    p->older = at + 6 * width;
}

/* Gradient of weight i of the head, over all members. */
static float head_gradient(const struct wcodec_rssm_learning *l, size_t i)
{
    const wcodec_rssm *r = l->rssm;
    float sum = 0;
    for (size_t e = 0; e < r->members; e++) {
        const struct wcodec_rssm_pupil *p = &l->pupils[e];
        sum = wcodec_gates_term(
            p->head, i < r->hidden ? p->values.hidden[i] : p->values.stochastic[i - r->hidden],
            sum);
    }
    return sum;
}

/* What came of it, to *learned. */
static wcodec_status put_learned(const struct wcodec_rssm_learning *l, wcodec_rssm_learned *learned,
                                 wcodec_error *err)
{
    const wcodec_rssm *r = l->rssm;
    double error = 0, squares = 0;
    for (size_t i = 0; i < r->members; i++) {
        const double distance = (double)l->pupils[i].loss - l->lesson->loss;
        error += distance * distance / 2;
        squares += l->pupils[i].squares;
    }
    for (size_t i = 0; i < r->hidden + r->stochastic; i++)
        squares += (double)head_gradient(l, i) * head_gradient(l, i);
    learned->error = (float)error;
    learned->norm = (float)sqrt(squares);
    if (!isfinite(learned->norm) || !isfinite(learned->error))
        return wcodec_fail(err, WCODEC_ERROR_USAGE,
                           "numbers of the lesson are so large that a gradient is infinite");
    for (size_t i = 0; i < r->members; i++) {
        const struct wcodec_rssm_pupil *p = &l->pupils[i];
        if (learned->losses != NULL)
            learned->losses[i] = p->loss;
        if (learned->first != NULL)
            memcpy(learned->first + i * r->hidden, p->first, r->hidden * sizeof *p->first);
        if (learned->hidden != NULL)
            memcpy(learned->hidden + i * r->hidden, p->values.hidden,
                   r->hidden * sizeof *p->values.hidden);
    }
    return WCODEC_OK;
}

/* Take all members through a lesson; *memory is the caller's to free, on failure too. */
static wcodec_status go_back(const wcodec_rssm *r, const wcodec_rssm_lesson *lesson,
                             struct wcodec_rssm_learning *l, float **memory,
                             wcodec_rssm_learned *learned, wcodec_error *err)
{
    const size_t steps = (size_t)lesson->steps, floats = pupil_floats(r, steps);
    *memory = wcodec_alloc_array(&r->allocator, r->members * floats, sizeof **memory);
    if (*memory == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for a lesson");
    l->rssm = r;
    l->lesson = lesson;
    for (size_t i = 0; i < r->members; i++)
        place_pupil(r, steps, *memory + i * floats, &l->pupils[i]);
    wcodec_run(r->context, wcodec_rssm_back_member, l, r->members);
    return put_learned(l, learned, err);
}

/* A matrix of a member, or its biases as one of a single column: where it lies, in blocks; which of
 * the deltas are its rows'. */
struct matrix {
    float *weights;
    size_t columns, gate;
    enum { OF_ONE, OF_FIRST, OF_INPUTS, OF_HIDDEN, OF_RESET } of;
};

enum { MATRICES = 12 };

static void list_matrices(const wcodec_rssm *r, const struct wcodec_rssm_member *m,
                          struct matrix list[MATRICES])
{
    const size_t width = r->width;
    for (size_t g = 0; g < WCODEC_RSSM_GATES; g++) {
        list[4 * g] = (struct matrix){m->bias + g * width, 1, g, OF_ONE};
        list[4 * g + 1] = (struct matrix){m->first + g * width, 1, g, OF_FIRST};
        list[4 * g + 2] =
            (struct matrix){m->inputs + g * (r->inputs - 1) * width, r->inputs - 1, g, OF_INPUTS};
        list[4 * g + 3] = (struct matrix){g < 2 ? m->gates + g * r->hidden * width : m->reset,
                                          r->hidden, g, g < 2 ? OF_HIDDEN : OF_RESET};
    }
}

/* What a matrix's weights multiply in a step. */
static const float *multiplied(const struct matrix *m, const struct wcodec_rssm_back *s)
{
    static const float one = 1;
    const float *const of[] = {[OF_ONE] = &one,
                               [OF_FIRST] = s->inputs,
                               [OF_INPUTS] = s->inputs + 1,
                               [OF_HIDDEN] = s->before,
                               [OF_RESET] = s->reset};
    return of[m->of];
}

struct descent {
    const struct wcodec_rssm_learning *learning;
    float rate; /* by which gradients are multiplied, clipped or not */
};

/* Task: a member's weights, less its gradients. */
static void descend(void *argument, size_t member)
{
    const struct descent *d = argument;
    const struct wcodec_rssm_learning *l = d->learning;
    const size_t width = l->rssm->width;
    struct matrix list[MATRICES];
    list_matrices(l->rssm, &l->rssm->member[member], list);
    for (unsigned i = 0; i < MATRICES; i++)
        for (size_t step = 0; step < l->lesson->steps; step++) {
            const struct wcodec_rssm_back *s = &l->pupils[member].steps[step];
            const float *x = multiplied(&list[i], s), *delta = s->delta + list[i].gate * width;
            float *w = list[i].weights;
            for (size_t block = 0; block < width / BLOCK; block++)
                for (size_t k = 0; k < list[i].columns; k++, w += BLOCK) {
                    const float scale = -d->rate * x[k];
                    for (unsigned lane = 0; lane < BLOCK; lane++)
                        w[lane] = wcodec_gates_term(scale, delta[block * BLOCK + lane], w[lane]);
                }
        }
}

wcodec_status wcodec_rssm_learn(wcodec_rssm *rssm, const wcodec_rssm_learn_options *options,
                                const wcodec_rssm_lesson *lesson, wcodec_rssm_learned *learned,
                                wcodec_error *err)
{
    wcodec_rssm_learn_options o = defaults;
    struct wcodec_rssm_learning l;
    float *memory = NULL;
    wcodec_status status =
        wcodec_options_take(options, &o, sizeof o, "wcodec_rssm_learn_options_init", err);
    if (status == WCODEC_OK)
        status = check_number("rate", o.rate, 1, err);
    if (status == WCODEC_OK)
        status = check_number("clip", o.clip, 1e6f, err);
    if (status == WCODEC_OK)
        status = check_lesson(rssm, lesson, learned, err);
    if (status == WCODEC_OK && rssm->device != NULL)
        status =
            wcodec_fail(err, WCODEC_ERROR_UNSUPPORTED,
                        "an ensemble in a device's memory does not learn: one of the CPU does");
    if (status == WCODEC_OK)
        status = go_back(rssm, lesson, &l, &memory, learned, err);
    if (status == WCODEC_OK) {
        const float clip = learned->norm > o.clip ? o.clip / learned->norm : 1;
        struct descent descent = {.learning = &l, .rate = o.rate * clip};
        wcodec_run(rssm->context, descend, &descent, rssm->members);
        for (size_t i = 0; i < rssm->hidden + rssm->stochastic; i++)
            rssm->head[i] = wcodec_gates_term(-descent.rate, head_gradient(&l, i), rssm->head[i]);
        wcodec_log(rssm->context, WCODEC_LOG_DEBUG,
                   "a lesson of %" PRIu64 " steps: error %.9g, norm of the gradients %.9g",
                   lesson->steps, (double)learned->error, (double)learned->norm);
    }
    wcodec_free(&rssm->allocator, memory);
    return status;
}

/* The caller's array of a kind and gate. */
static float *array_of(const wcodec_gru_values *v, const struct matrix *m)
{
    float *const w[] = {v->w_z, v->w_r, v->w_h}, *const u[] = {v->u_z, v->u_r, v->u_h},
                 *const b[] = {v->b_z, v->b_r, v->b_h};
    return m->of == OF_ONE ? b[m->gate] : m->of < OF_HIDDEN ? w[m->gate] : u[m->gate];
}

/* The weights of a member, row by row, or the gradients of a pupil. */
static void put_member(const wcodec_rssm *r, size_t member, const struct wcodec_rssm_pupil *pupil,
                       size_t steps, const wcodec_gru_values *values)
{
    struct matrix list[MATRICES];
    list_matrices(r, &r->member[member], list);
    for (unsigned n = 0; n < MATRICES; n++) {
        const struct matrix *m = &list[n];
        const bool is_w = m->of == OF_FIRST || m->of == OF_INPUTS;
        const size_t stride = is_w ? r->inputs : m->columns, at = m->of == OF_INPUTS ? 1 : 0;
        float *to = array_of(values, m);
        for (size_t i = 0; i < r->hidden && to != NULL; i++)
            for (size_t k = 0; k < m->columns; k++) {
                float value = m->weights[(i / BLOCK * m->columns + k) * BLOCK + i % BLOCK];
                if (pupil != NULL)
                    value = 0;
                for (size_t s = 0; s < steps; s++)
                    value = wcodec_gates_term(pupil->steps[s].delta[m->gate * r->width + i],
                                              multiplied(m, &pupil->steps[s])[k], value);
                to[i * stride + at + k] = value;
            }
    }
}

static wcodec_status check_values(const wcodec_rssm *r, const wcodec_gru_values *members,
                                  wcodec_error *err)
{
    wcodec_status status = WCODEC_OK;
    for (size_t i = 0; i < r->members && members != NULL && status == WCODEC_OK; i++)
        status =
            wcodec_reserved_check(members[i].reserved, sizeof members[i].reserved, "members", err);
    return status;
}

wcodec_status wcodec_rssm_gradients(const wcodec_rssm *rssm, const wcodec_rssm_lesson *lesson,
                                    const wcodec_gru_values *members, float *head,
                                    wcodec_rssm_learned *learned, wcodec_error *err)
{
    struct wcodec_rssm_learning l;
    float *memory = NULL;
    wcodec_status status = check_lesson(rssm, lesson, learned, err);
    if (status == WCODEC_OK)
        status = check_values(rssm, members, err);
    if (status == WCODEC_OK)
        status = go_back(rssm, lesson, &l, &memory, learned, err);
    for (size_t i = 0; i < rssm->members && members != NULL && status == WCODEC_OK; i++)
        put_member(rssm, i, &l.pupils[i], (size_t)lesson->steps, &members[i]);
    for (size_t i = 0; i < rssm->hidden + rssm->stochastic && head != NULL && status == WCODEC_OK;
         i++)
        head[i] = head_gradient(&l, i);
    wcodec_free(&rssm->allocator, memory);
    return status;
}

wcodec_status wcodec_rssm_weights(const wcodec_rssm *rssm, const wcodec_gru_values *members,
                                  float *head, float *delta_head, wcodec_error *err)
{
    const size_t both = rssm->hidden + rssm->stochastic;
    if (delta_head != NULL && rssm->delta_head == NULL)
        return wcodec_fail(err, WCODEC_ERROR_USAGE,
                           "delta_head is asked for of an ensemble without one");
    const wcodec_status status = check_values(rssm, members, err);
    if (status != WCODEC_OK)
        return status;
    for (size_t i = 0; i < rssm->members && members != NULL; i++)
        put_member(rssm, i, NULL, 0, &members[i]);
    if (head != NULL)
        memcpy(head, rssm->head, both * sizeof *head);
    if (delta_head != NULL)
        memcpy(delta_head, rssm->delta_head, WCODEC_RSSM_DELTA_ROWS * both * sizeof *delta_head);
    return WCODEC_OK;
}
