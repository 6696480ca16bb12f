/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* An ensemble: making it, and what its members' rollouts say together. */
#include "recurrent/device.h"
#include "recurrent/many.h"
#include "recurrent/trace.h"

#include "backends/cpu/cpu_level.h"
#include "core/bytes.h"
#include "core/context.h"
#include "core/error.h"
#include "core/memory.h"
#include "core/options.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum {
    MEMBERS_MAX = WCODEC_RSSM_MEMBERS_MOST,
    UNITS_MAX = 4096,
    STEPS_MAX = 1000,
    ERRORS_OF = 50,
    ERRORS_FEW = 10
};

static const wcodec_rssm_options defaults = {.struct_size = sizeof defaults,
                                             .ensemble = 5,
                                             .hidden = 256,
                                             .stochastic = 32,
                                             .inputs = 64,
                                             .mode = WCODEC_RSSM_PRODUCTION,
                                             .products = WCODEC_GRU_PRODUCTS_F32};

void wcodec_rssm_options_init_size(wcodec_rssm_options *options, size_t size)
{
    wcodec_options_set(options, size, &defaults, sizeof defaults);
}

static wcodec_status check_size(const char *name, uint64_t size, uint64_t most, wcodec_error *err)
{
    if (size >= 1 && size <= most)
        return WCODEC_OK;
    return wcodec_fail(err, WCODEC_ERROR_USAGE, "%s is %" PRIu64 ": expected 1 to %" PRIu64, name,
                       size, most);
}

wcodec_status wcodec_rssm_options_check(const wcodec_rssm_options *from, wcodec_rssm_options *o,
                                        wcodec_error *err)
{
    *o = defaults;
    wcodec_status status = wcodec_options_take(from, o, sizeof *o, "wcodec_rssm_options_init", err);
    if (status == WCODEC_OK)
        status = check_size("ensemble", o->ensemble, MEMBERS_MAX, err);
    if (status == WCODEC_OK)
        status = check_size("hidden", o->hidden, UNITS_MAX, err);
    if (status == WCODEC_OK)
        status = check_size("stochastic", o->stochastic, o->hidden, err);
    if (status == WCODEC_OK)
        status = check_size("inputs", o->inputs, UNITS_MAX, err);
    if (status != WCODEC_OK)
        return status;
    if (o->mode != WCODEC_RSSM_PRODUCTION && o->mode != WCODEC_RSSM_REFERENCE &&
        o->mode != WCODEC_RSSM_SAMPLED)
        return wcodec_fail(err, WCODEC_ERROR_USAGE, "there is no mode %d", (int)o->mode);
    if (o->products != WCODEC_GRU_PRODUCTS_F32 && o->products != WCODEC_GRU_PRODUCTS_BF16)
        return wcodec_fail(err, WCODEC_ERROR_USAGE, "there are no products %d", (int)o->products);
    if (o->mode == WCODEC_RSSM_REFERENCE && o->stochastic != o->hidden)
        return wcodec_fail(err, WCODEC_ERROR_USAGE,
                           "stochastic is %" PRIu64
                           ": in the mode \"reference\" it is hidden, %" PRIu64,
                           o->stochastic, o->hidden);
    return WCODEC_OK;
}

/* Copy columns `first` to end - 1 of [rows, columns] to a member's order; all must be numbers. */
static wcodec_status take_columns(const float *from, size_t rows, size_t columns, size_t first,
                                  size_t end, float *to, const char *name, wcodec_error *err)
{
    for (size_t i = 0; i < rows; i++)
        for (size_t k = first; k < end; k++) {
            const float v = from[i * columns + k];
            const size_t block = i / WCODEC_RSSM_BLOCK;
            if (!isfinite(v))
                return wcodec_fail(err, WCODEC_ERROR_USAGE, "%s[%zu, %zu] is %s", name, i, k,
                                   isnan(v) ? "NaN" : "infinite");
            to[(block * (end - first) + k - first) * WCODEC_RSSM_BLOCK + i % WCODEC_RSSM_BLOCK] = v;
        }
    return WCODEC_OK;
}

/* Copy numbers as they are. */
static wcodec_status take_row(const float *from, size_t count, float *to, const char *name,
                              size_t row, wcodec_error *err)
{
    for (size_t i = 0; i < count; i++) {
        if (!isfinite(from[i]))
            return wcodec_fail(err, WCODEC_ERROR_USAGE, "%s[%zu, %zu] is %s", name, row, i,
                               isnan(from[i]) ? "NaN" : "infinite");
        to[i] = from[i];
    }
    return WCODEC_OK;
}

static wcodec_status take_member(const wcodec_rssm *r, const wcodec_gru_weights *from,
                                 const struct wcodec_rssm_member *to, wcodec_error *err)
{
    const size_t h = r->hidden, width = r->width, n = r->inputs;
    float *const gate[] = {to->inputs, to->inputs + (n - 1) * width,
                           to->inputs + 2 * (n - 1) * width};
    const struct {
        const char *name;
        const float *from;
        size_t columns, first, end;
        float *to;
    } parts[] = {
        {"W_z", from->w_z, n, 0, 1, to->first},
        {"W_r", from->w_r, n, 0, 1, to->first + width},
        {"W_h", from->w_h, n, 0, 1, to->first + 2 * width},
        {"W_z", from->w_z, n, 1, n, gate[0]},
        {"W_r", from->w_r, n, 1, n, gate[1]},
        {"W_h", from->w_h, n, 1, n, gate[2]},
        {"U_z", from->u_z, h, 0, h, to->gates},
        {"U_r", from->u_r, h, 0, h, to->gates + h * width},
        {"U_h", from->u_h, h, 0, h, to->reset},
        {"b_z", from->b_z, 1, 0, 1, to->bias},
        {"b_r", from->b_r, 1, 0, 1, to->bias + width},
        {"b_h", from->b_h, 1, 0, 1, to->bias + 2 * width},
    };
    wcodec_status status =
        wcodec_reserved_check(from->reserved, sizeof from->reserved, "weights", err);
    for (unsigned i = 0; i < sizeof parts / sizeof parts[0] && status == WCODEC_OK; i++)
        if (parts[i].from == NULL && parts[i].name[0] != 'b')
            status = wcodec_fail(err, WCODEC_ERROR_USAGE, "%s is missing", parts[i].name);
        else if (parts[i].from != NULL)
            status = take_columns(parts[i].from, h, parts[i].columns, parts[i].first, parts[i].end,
                                  parts[i].to, parts[i].name, err);
    return status;
}

static wcodec_status take_weights(wcodec_rssm *r, const wcodec_gru_weights *members,
                                  const float *head, const float *delta_head, wcodec_error *err)
{
    const size_t both = r->hidden + r->stochastic;
    float *at = r->weights;
    for (size_t i = 0; i < r->members; i++) {
        struct wcodec_rssm_member *m = &r->member[i];
        m->bias = at;
        m->first = m->bias + WCODEC_RSSM_GATES * r->width;
        m->inputs = m->first + WCODEC_RSSM_GATES * r->width;
        m->gates = m->inputs + (r->inputs - 1) * WCODEC_RSSM_GATES * r->width;
        m->reset = m->gates + r->hidden * 2 * r->width;
        at = m->reset + r->hidden * r->width;
        wcodec_status status = take_member(r, &members[i], m, err);
        if (status != WCODEC_OK) {
            wcodec_error_prefix(err, "member %zu", i);
            return status;
        }
    }
    r->head = at;
    wcodec_status status = take_row(head, both, r->head, "head", 0, err);
    if (delta_head == NULL || status != WCODEC_OK)
        return status;
    r->delta_head = at + both;
    for (unsigned row = 0; row < WCODEC_RSSM_DELTA_ROWS && status == WCODEC_OK; row++)
        status = take_row(delta_head + row * both, both, r->delta_head + row * both, "delta_head",
                          row, err);
    return status;
}

static size_t width_of(const wcodec_rssm_options *o)
{
    return (size_t)wcodec_align_u64(o->hidden, WCODEC_RSSM_BLOCK);
}

/* Of all members and heads. */
static uint64_t weight_bytes(const wcodec_rssm_options *o)
{
    const uint64_t of_member =
        (uint64_t)WCODEC_RSSM_GATES * width_of(o) * (1 + o->inputs + o->hidden);
    return (o->ensemble * of_member + (1 + WCODEC_RSSM_DELTA_ROWS) * (o->hidden + o->stochastic)) *
           sizeof(float);
}

wcodec_status wcodec_rssm_limit(const wcodec_context *context, const wcodec_rssm_options *o,
                                wcodec_error *err)
{
    const uint64_t bytes = weight_bytes(o);
    if (bytes <= context->limits.max_memory)
        return WCODEC_OK;
    return wcodec_fail(err, WCODEC_ERROR_LIMIT,
                       "the ensemble takes %" PRIu64 " bytes, and the limit of memory is %" PRIu64,
                       bytes, context->limits.max_memory);
}

static size_t struct_bytes(const wcodec_rssm_options *o)
{
    return sizeof(wcodec_rssm) + (size_t)o->ensemble * sizeof(struct wcodec_rssm_member);
}

wcodec_status wcodec_rssm_memory(const wcodec_rssm_options *options,
                                 wcodec_rssm_memory_info *memory, wcodec_error *err)
{
    wcodec_rssm_options o;
    const wcodec_status status = wcodec_rssm_options_check(options, &o, err);
    if (status != WCODEC_OK)
        return status;
    const wcodec_rssm shape = {.width = width_of(&o), .stochastic = (size_t)o.stochastic};
    *memory = (wcodec_rssm_memory_info){.ensemble = struct_bytes(&o) + weight_bytes(&o),
                                        .rollout = o.ensemble * wcodec_rssm_run_floats(&shape) *
                                                   sizeof(float)};
    return WCODEC_OK;
}

wcodec_status wcodec_rssm_create(wcodec_context *context, const wcodec_rssm_options *options,
                                 const wcodec_gru_weights *members, const float *head,
                                 const float *delta_head, wcodec_rssm **rssm, wcodec_error *err)
{
    wcodec_rssm_options o;
    wcodec_status status = wcodec_context_usable(context, err);
    if (status == WCODEC_OK)
        status = wcodec_rssm_options_check(options, &o, err);
    if (status == WCODEC_OK)
        status = wcodec_rssm_limit(context, &o, err);
    if (status != WCODEC_OK)
        return status;
    const uint64_t bytes = weight_bytes(&o);
    wcodec_rssm *r = wcodec_alloc_zeroed(&context->allocator, struct_bytes(&o));
    if (r != NULL) {
        if (bytes <= SIZE_MAX)
            r->weights = wcodec_alloc_zeroed(&context->allocator, (size_t)bytes);
        r->context = context;
        r->allocator = context->allocator;
        r->members = (size_t)o.ensemble;
        r->hidden = (size_t)o.hidden;
        r->stochastic = (size_t)o.stochastic;
        r->inputs = (size_t)o.inputs;
        r->width = width_of(&o);
        r->mode = o.mode;
        wcodec_cpu_gates_dsp_init(&r->dsp, wcodec_cpu_levels() & context->cpu_mask);
    }
    if (r == NULL || r->weights == NULL)
        status = wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for an ensemble");
    else
        status = take_weights(r, members, head, delta_head, err);
    if (status == WCODEC_OK)
        status = wcodec_rssm_device_create(r, o.memory, members, &r->device, err);
    if (status == WCODEC_OK)
        status = wcodec_rssm_tensor_create(r, &o, members, &r->tensor, err);
    if (status == WCODEC_OK)
        *rssm = r;
    else
        wcodec_rssm_destroy(r);
    return status;
}

void wcodec_rssm_sizes(const wcodec_rssm *rssm, wcodec_rssm_options *options)
{
    const bool on_device = rssm->device != NULL && !wcodec_rssm_device_is_left(rssm->device);
    const wcodec_rssm_options own = {
        .ensemble = rssm->members,
        .hidden = rssm->hidden,
        .stochastic = rssm->stochastic,
        .inputs = rssm->inputs,
        .mode = rssm->mode,
        .memory = on_device ? wcodec_rssm_device_name(rssm->device) : NULL,
        .products =
            on_device && rssm->tensor != NULL ? WCODEC_GRU_PRODUCTS_BF16 : WCODEC_GRU_PRODUCTS_F32,
    };
    wcodec_options_set(options, options->struct_size, &own, sizeof own);
}

void wcodec_rssm_destroy(wcodec_rssm *rssm)
{
    if (rssm == NULL)
        return;
    const wcodec_allocator allocator = rssm->allocator;
    wcodec_rssm_tensor_destroy(rssm->tensor);
    wcodec_rssm_device_destroy(rssm->device);
    wcodec_free(&allocator, rssm->weights);
    wcodec_free(&allocator, rssm);
}

/* Mean over the members of the losses after `steps`, and their variance. */
static double mean_loss(const struct wcodec_rssm_run *run, size_t step, double *variance)
{
    const size_t members = run->rssm->members;
    const float *loss = run->output->trajectories + step;
    double sum = 0;
    for (size_t i = 0; i < members; i++)
        sum += loss[i * (run->steps + 1)];
    const double mean = sum / (double)members;
    *variance = 0;
    for (size_t i = 0; i < members; i++)
        *variance += (loss[i * (run->steps + 1)] - mean) * (loss[i * (run->steps + 1)] - mean);
    *variance /= (double)members;
    return mean;
}

/* Row of the delta head times the means of [h; p]. */
static float delta_output(const struct wcodec_rssm_run *run, unsigned row)
{
    const wcodec_rssm *r = run->rssm;
    const float *weight = r->delta_head + row * (r->hidden + r->stochastic);
    double sum = 0;
    for (size_t i = 0; i < r->members; i++) {
        const float *h = wcodec_rssm_run_hidden(run, i), *p = wcodec_rssm_run_stochastic(run, i);
        for (size_t k = 0; k < r->hidden; k++)
            sum += (double)weight[k] * h[k];
        for (size_t k = 0; k < r->stochastic; k++)
            sum += (double)weight[r->hidden + k] * p[k];
    }
    return (float)(sum / (double)r->members);
}

static void put_weight_deltas(const struct wcodec_rssm_run *run, double loss, float *deltas)
{
    const wcodec_rssm_input *input = run->input;
    const double before = input->loss, scale = (double)input->learning_rate * input->gradient_norm *
                                               (1 + tanh(delta_output(run, 0))) *
                                               (1 + fmax(0, (before - loss) / before)) *
                                               (double)run->steps *
                                               (double)wcodec_rssm_sigmoid(delta_output(run, 1));
    for (unsigned part = 0; part < WCODEC_RSSM_PARTS; part++)
        deltas[part] = (float)(scale * (double)wcodec_rssm_sigmoid(delta_output(run, 2 + part)));
}

void wcodec_rssm_summarise(const struct wcodec_rssm_run *run, const double *entropy,
                           wcodec_rssm_summary *summary)
{
    const wcodec_rssm *r = run->rssm;
    double variance, sum = 0;
    const double loss = mean_loss(run, run->steps, &variance),
                 deviation = sqrt(variance) * (1 + 0.1 * sqrt((double)run->steps));
    for (size_t i = 0; i < r->members; i++)
        sum += entropy[i];
    *summary = (wcodec_rssm_summary){
        .loss = (float)loss,
        .variance = (float)variance,
        .deviation = (float)deviation,
        .aleatoric = (float)(deviation / 2),
        .epistemic = (float)(deviation / 2),
        .confidence = (float)(1 / (1 + deviation)),
        .lower = (float)(loss - 2 * deviation),
        .upper = (float)(loss + 2 * deviation),
        .entropy = run->steps == 0 ? 0 : (float)(sum / (double)r->members / (double)run->steps)};
    for (size_t t = 0; run->output->mean != NULL && t <= run->steps; t++)
        run->output->mean[t] = (float)mean_loss(run, t, &variance);
    if (run->output->weight_deltas != NULL)
        put_weight_deltas(run, loss, run->output->weight_deltas);
}

wcodec_status wcodec_rssm_steps_check(uint64_t steps, wcodec_error *err)
{
    if (steps <= STEPS_MAX)
        return WCODEC_OK;
    return wcodec_fail(err, WCODEC_ERROR_USAGE, "steps is %" PRIu64 ": expected 0 to %d", steps,
                       STEPS_MAX);
}

static wcodec_status check_rollout(const wcodec_rssm *rssm, const wcodec_rssm_input *input,
                                   uint64_t steps, const wcodec_rssm_output *output,
                                   wcodec_error *err)
{
    wcodec_status status = wcodec_context_usable(rssm->context, err);
    if (status == WCODEC_OK)
        status = wcodec_reserved_check(input->reserved, sizeof input->reserved, "input", err);
    if (status == WCODEC_OK)
        status = wcodec_reserved_check(output->reserved, sizeof output->reserved, "output", err);
    if (status == WCODEC_OK)
        status = wcodec_rssm_steps_check(steps, err);
    if (status != WCODEC_OK)
        return status;
    if (output->weight_deltas != NULL && rssm->delta_head == NULL)
        return wcodec_fail(err, WCODEC_ERROR_USAGE,
                           "weight_deltas are asked for of an ensemble without a delta_head");
    return WCODEC_OK;
}

/* By the device, or the CPU: *who. */
static wcodec_status run_members(const wcodec_rssm *rssm, struct wcodec_rssm_tasks *tasks,
                                 const char **who, wcodec_error *err)
{
    wcodec_error reason = {0};
    wcodec_status status = WCODEC_ERROR_UNSUPPORTED;
    if (rssm->device != NULL) {
        *who = wcodec_rssm_device_name(rssm->device);
        status = wcodec_rssm_device_run(rssm->device, tasks, &reason);
    }
    if (status != WCODEC_ERROR_UNSUPPORTED)
        return status == WCODEC_OK ? WCODEC_OK : wcodec_fail(err, status, "%s", reason.text);
    *who = "the CPU";
    wcodec_run(rssm->context, wcodec_rssm_run_member, tasks, rssm->members);
    return WCODEC_OK;
}

wcodec_status wcodec_rssm_rollout(const wcodec_rssm *rssm, const wcodec_rssm_input *input,
                                  uint64_t steps, const wcodec_rssm_output *output,
                                  wcodec_rssm_summary *summary, wcodec_error *err)
{
    double entropy[MEMBERS_MAX];
    struct wcodec_rssm_trace trace;
    wcodec_rssm_summary unwanted;
    const char *who;
    wcodec_status status = check_rollout(rssm, input, steps, output, err);
    if (status != WCODEC_OK)
        return status;
    const bool traces = wcodec_rssm_traces(rssm);
    const size_t floats = rssm->members * wcodec_rssm_run_floats(rssm),
                 traced = traces ? wcodec_rssm_trace_floats(rssm, (size_t)steps) : 0;
    float *memory = wcodec_alloc_array(&rssm->allocator, floats + traced, sizeof *memory);
    if (memory == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for a rollout");
    struct wcodec_rssm_tasks tasks = {.run = {.rssm = rssm,
                                              .input = input,
                                              .output = output,
                                              .steps = (size_t)steps,
                                              .memory = memory},
                                      .entropy = entropy};
    if (traces)
        wcodec_rssm_trace_begin(&tasks.run, memory + floats, &trace);
    if (summary == NULL)
        summary = &unwanted;
    status = run_members(rssm, &tasks, &who, err);
    if (status == WCODEC_OK)
        wcodec_rssm_summarise(&tasks.run, entropy, summary);
    if (status == WCODEC_OK && traces)
        wcodec_rssm_trace(&tasks.run, summary, who);
    wcodec_free(&rssm->allocator, memory);
    return status;
}

float wcodec_rssm_confidence(float deviation, const float *errors, uint64_t error_count, float fast,
                             float slow)
{
    const uint64_t last = error_count < ERRORS_OF ? error_count : ERRORS_OF;
    double known = 0.7, sum = 0;
    for (uint64_t i = 0; i < last; i++)
        sum += errors[error_count - 1 - i];
    if (error_count >= ERRORS_FEW)
        known = fmin(0.99, 1 / (1 + sum / (double)last));
    const double steady = fmax(0.5, 1 / (1 + 2 * fabs((double)fast - slow) / fabs((double)slow)));
    return (float)(0.4 / (1 + (double)deviation) + 0.4 * known + 0.2 * steady);
}
