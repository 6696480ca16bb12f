/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* A gated recurrent unit over sequences: some of them at a time, step by step. */
#include "recurrent/gru_device.h"

#include "core/context.h"
#include "core/error.h"
#include "core/memory.h"
#include "core/options.h"

#include <stdbool.h>
#include <string.h>

enum { TOGETHER = 4 /* sequences for which weights are read once */ };

/* What a thread needs: of each of its sequences sums, hidden values, and reset ones. */
struct gru_values {
    float *sums, *hidden, *reset;
};

struct gru_tasks {
    const wcodec_gru *gru;
    const wcodec_gru_input *input;
    const wcodec_gru_output *output;
    struct wcodec_gru_strides strides;
    size_t tasks;
    float *memory;
};

static size_t task_floats(const wcodec_gru *g)
{
    return TOGETHER * (WCODEC_GRU_SUMS + 2) * g->width;
}

/* The sums of all gates of `count` sequences to z, r and the candidate. */
static void finish_gates(const wcodec_gru *g, size_t count, const struct gru_values *v)
{
    const size_t width = g->width, sums = WCODEC_GRU_SUMS * width;
    for (size_t k = 0; k < count; k++) {
        float *of = v->sums + k * sums, *r = of + 2 * width, *after = of + 3 * width;
        g->dsp.sigmoids(of + width, 2 * width);
        for (size_t i = 0; i < width; i++)
            if (g->form == WCODEC_GRU_RESET_BEFORE)
                v->reset[k * width + i] = r[i] * v->hidden[k * width + i];
            else
                of[i] = wcodec_gates_term(r[i], after[i], of[i]);
    }
    if (g->form == WCODEC_GRU_RESET_BEFORE)
        g->dsp.products(v->sums, sums, width, g->of_hidden + 2 * g->hidden * width, v->reset, width,
                        g->hidden, count);
    for (size_t k = 0; k < count; k++)
        g->dsp.tangents(v->sums + k * sums, width);
}

/* h to h' of `count` sequences, whose inputs lie so far apart as `stride`. */
static void step(const wcodec_gru *g, const float *x, size_t stride, size_t count,
                 const struct gru_values *v)
{
    const bool is_before = g->form == WCODEC_GRU_RESET_BEFORE;
    const size_t width = g->width, sums = WCODEC_GRU_SUMS * width, gates = is_before ? 2 : 3;
    for (size_t k = 0; k < count; k++)
        memcpy(v->sums + k * sums, g->bias, sums * sizeof *v->sums);
    g->dsp.products(v->sums, sums, 3 * width, g->of_inputs, x, stride, g->inputs, count);
    g->dsp.products(v->sums + width, sums, gates * width, g->of_hidden, v->hidden, width, g->hidden,
                    count);
    finish_gates(g, count, v);
    for (size_t k = 0; k < count; k++) {
        const float *candidate = v->sums + k * sums, *z = candidate + width;
        float *hidden = v->hidden + k * width;
        for (size_t i = 0; i < width; i++) {
            const float old = is_before ? hidden[i] : candidate[i],
                        new = is_before ? candidate[i] : hidden[i], stays = (1 - z[i]) * old;
            hidden[i] = wcodec_gates_term(z[i], new, stays);
        }
    }
}

/* Sequences from `first` on, all steps. */
static void run_sequences(const struct gru_tasks *t, size_t first, size_t count,
                          const struct gru_values *v)
{
    const wcodec_gru *g = t->gru;
    const size_t steps = (size_t)t->input->steps, bytes = g->hidden * sizeof(float);
    memset(v->hidden, 0, TOGETHER * g->width * sizeof *v->hidden);
    for (size_t i = 0; i < count && t->input->hidden != NULL; i++)
        memcpy(v->hidden + i * g->width, t->input->hidden + (first + i) * g->hidden, bytes);
    for (size_t k = 0; k < steps; k++) {
        const size_t at = t->input->reverse != 0 ? steps - 1 - k : k;
        step(g, t->input->values + at * t->strides.input_step + first * t->strides.input_sequence,
             t->strides.input_sequence, count, v);
        for (size_t i = 0; i < count && t->output->values != NULL; i++)
            memcpy(t->output->values + at * t->strides.output_step +
                       (first + i) * t->strides.output_sequence,
                   v->hidden + i * g->width, bytes);
    }
    for (size_t i = 0; i < count && t->output->hidden != NULL; i++)
        memcpy(t->output->hidden + (first + i) * g->hidden, v->hidden + i * g->width, bytes);
}

/* Its share of the sequences, whole groups of them. */
static void run_task(void *argument, size_t task)
{
    const struct gru_tasks *t = argument;
    const size_t sequences = (size_t)t->input->sequences,
                 groups = (sequences + TOGETHER - 1) / TOGETHER;
    float *memory = t->memory + task * task_floats(t->gru);
    const struct gru_values v = {.sums = memory,
                                 .hidden = memory + TOGETHER * WCODEC_GRU_SUMS * t->gru->width,
                                 .reset =
                                     memory + TOGETHER * (WCODEC_GRU_SUMS + 1) * t->gru->width};
    for (size_t group = task * groups / t->tasks; group < (task + 1) * groups / t->tasks; group++) {
        const size_t first = group * TOGETHER, left = sequences - first;
        run_sequences(t, first, left < TOGETHER ? left : TOGETHER, &v);
    }
}

static size_t stride_or(uint64_t stride, size_t usual)
{
    return stride != 0 ? (size_t)stride : usual;
}

wcodec_status wcodec_gru_run(const wcodec_gru *gru, const wcodec_gru_input *input,
                             const wcodec_gru_output *output, wcodec_error *err)
{
    wcodec_status status = wcodec_context_usable(gru->context, err);
    if (status == WCODEC_OK)
        status = wcodec_reserved_check(input->reserved, sizeof input->reserved, "input", err);
    if (status == WCODEC_OK)
        status = wcodec_reserved_check(output->reserved, sizeof output->reserved, "output", err);
    if (status != WCODEC_OK || input->sequences == 0)
        return status;
    const size_t sequences = (size_t)input->sequences;
    const struct wcodec_gru_strides strides = {
        .input_step = stride_or(input->step_stride, sequences * gru->inputs),
        .input_sequence = stride_or(input->sequence_stride, gru->inputs),
        .output_step = stride_or(output->step_stride, sequences * gru->hidden),
        .output_sequence = stride_or(output->sequence_stride, gru->hidden)};
    if (gru->device != NULL)
        return wcodec_gru_device_run(gru, &strides, input, output, err);
    const size_t threads = wcodec_context_threads(gru->context),
                 groups = (sequences + TOGETHER - 1) / TOGETHER;
    struct gru_tasks t = {.gru = gru,
                          .input = input,
                          .output = output,
                          .strides = strides,
                          .tasks = groups < threads ? groups : threads};
    t.memory = wcodec_alloc_array(&gru->allocator, t.tasks * task_floats(gru), sizeof *t.memory);
    if (t.memory == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for %zu sequences", sequences);
    wcodec_run(gru->context, run_task, &t, t.tasks);
    wcodec_free(&gru->allocator, t.memory);
    return WCODEC_OK;
}
