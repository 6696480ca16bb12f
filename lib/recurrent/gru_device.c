/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* Weights go to the device once; what goes through them is memory and a queue of the caller's. */
#include "recurrent/gru_device.h"

#include "core/context.h"
#include "core/error.h"
#include "core/log.h"
#include "core/memory.h"
#include "recurrent/upload.h"

struct wcodec_gru_device {
    struct wcodec_rollout_plan plan;
    struct wcodec_opened *opened;
    struct wcodec_memory *weights;
};

static wcodec_status upload(const wcodec_gru *g, struct wcodec_gru_device *d, wcodec_error *err)
{
    const struct wcodec_backend *b = d->opened->backend;
    const size_t width = g->width, of_inputs = width * g->inputs, of_hidden = width * g->hidden;
    const struct wcodec_recurrent_weights weights = {
        .w = {g->of_inputs + of_inputs, g->of_inputs + 2 * of_inputs, g->of_inputs},
        .u = {g->of_hidden, g->of_hidden + of_hidden, g->of_hidden + 2 * of_hidden},
        .b = {g->bias + width, g->bias + 2 * width, g->bias},
        .c = g->bias + 3 * width,
        .block = WCODEC_GATES_BLOCK};
    struct wcodec_staging host = {.size = 0};
    struct wcodec_staging_owner owner = {.context = g->context,
                                         .device = d->opened,
                                         .purpose = "a recurrent unit",
                                         .limit = g->context->limits.max_memory};
    struct wcodec_recurrent_upload to = {&owner, &host, NULL, NULL, &d->plan};
    wcodec_status status = wcodec_opened_allocate(
        d->opened, WCODEC_MEMORY_DEVICE, sizeof(float) * d->plan.parts * d->plan.part_floats,
        &d->weights, err);
    if (status == WCODEC_OK)
        status = b->queue_create(d->opened->device, &to.queue, err);
    if (status != WCODEC_OK)
        return status;
    to.memory = d->weights;
    status = wcodec_recurrent_upload(&to, 0, &weights, err);
    b->queue_wait(to.queue, NULL);
    wcodec_staging_release(&owner, &host);
    b->queue_destroy(to.queue);
    return status;
}

wcodec_status wcodec_gru_device_create(wcodec_gru *g, const wcodec_gru_options *options,
                                       wcodec_error *err)
{
    const struct wcodec_rollout_sizes sizes = {
        .members = 1,
        .hidden = (uint32_t)g->hidden,
        .inputs = (uint32_t)g->inputs,
        .unit = g->form == WCODEC_GRU_RESET_BEFORE ? WCODEC_UNIT_BEFORE : WCODEC_UNIT_AFTER,
        .rounded = options->products == WCODEC_GRU_PRODUCTS_BF16};
    struct wcodec_opened *o = NULL;
    wcodec_error reason = {0};
    if (options->memory == NULL)
        return WCODEC_OK;
    wcodec_status status = wcodec_recurrent_device_of(g->context, options->memory, &o, err);
    if (status != WCODEC_OK)
        return status;
    struct wcodec_gru_device *d = wcodec_alloc_zeroed(&g->allocator, sizeof *d);
    if (d == NULL)
        return wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for a recurrent unit");
    d->opened = o;
    if (!o->backend->rollouts->plan(o->device, &sizes, &d->plan)) {
        wcodec_free(&g->allocator, d);
        return wcodec_fail(err, WCODEC_ERROR_UNSUPPORTED,
                           "%s has no room in a work-group's memory for a unit of %zu inputs and "
                           "%zu hidden values",
                           o->name, g->inputs, g->hidden);
    }
    if (sizes.rounded && d->plan.tiles == 0)
        wcodec_log(g->context, WCODEC_LOG_WARNING,
                   "%s has no tensor cores, or not enough room, for a unit of %zu inputs and %zu "
                   "hidden values: products are of binary32",
                   o->name, g->inputs, g->hidden);
    status = upload(g, d, &reason);
    if (status != WCODEC_OK) {
        status = wcodec_backends_failed(g->context, o, status, &reason, err);
        wcodec_gru_device_destroy(g, d);
        return status;
    }
    wcodec_free(&g->allocator, g->weights);
    g->weights = g->bias = g->of_inputs = g->of_hidden = NULL;
    g->device = d;
    return WCODEC_OK;
}

void wcodec_gru_device_destroy(const wcodec_gru *g, struct wcodec_gru_device *d)
{
    if (d == NULL)
        return;
    if (d->weights != NULL && wcodec_context_usable(g->context, NULL) == WCODEC_OK)
        d->opened->backend->memory_free(d->weights);
    wcodec_free(&g->allocator, d);
}

/* Is what the caller gives aligned, and there? */
static wcodec_status check(const wcodec_gru_input *input, const wcodec_gru_output *output,
                           wcodec_error *err)
{
    const struct {
        const char *what;
        const void *at;
    } operands[] = {{"values", input->values},
                    {"hidden", input->hidden},
                    {"the output's values", output->values},
                    {"the output's hidden", output->hidden}};
    for (unsigned i = 0; i < sizeof operands / sizeof operands[0]; i++)
        if ((uintptr_t)operands[i].at % sizeof(float) != 0)
            return wcodec_fail(err, WCODEC_ERROR_USAGE, "%s is not aligned to its elements",
                               operands[i].what);
    return input->values == NULL && input->steps > 0
               ? wcodec_fail(err, WCODEC_ERROR_USAGE, "values is missing")
               : WCODEC_OK;
}

static uint64_t native(const void *at)
{
    return (uint64_t)(uintptr_t)at;
}

wcodec_status wcodec_gru_device_run(const wcodec_gru *g, const struct wcodec_gru_strides *strides,
                                    const wcodec_gru_input *input, const wcodec_gru_output *output,
                                    wcodec_error *err)
{
    struct wcodec_opened *o = g->device->opened;
    const struct wcodec_sequences sequences = {.plan = &g->device->plan,
                                               .weights = g->device->weights,
                                               .values = native(input->values),
                                               .hidden = native(input->hidden),
                                               .out = native(output->values),
                                               .last = native(output->hidden),
                                               .values_step = strides->input_step,
                                               .values_sequence = strides->input_sequence,
                                               .out_step = strides->output_step,
                                               .out_sequence = strides->output_sequence,
                                               .steps = input->steps,
                                               .sequences = input->sequences,
                                               .reverse = input->reverse != 0};
    wcodec_error reason = {0};
    wcodec_status status = check(input, output, err);
    if (status != WCODEC_OK)
        return status;
    if (atomic_load(&o->lost))
        return wcodec_fail(err, WCODEC_ERROR_DEVICE, "%s: %s", o->name, o->loss);
    status = o->backend->rollouts->run_sequences(o->device, input->queue, &sequences, &reason);
    return status == WCODEC_OK ? status
                               : wcodec_backends_failed(g->context, o, status, &reason, err);
}

const char *wcodec_gru_device_name(const struct wcodec_gru_device *d)
{
    return d->opened->backend->name;
}

wcodec_gru_products wcodec_gru_device_products(const struct wcodec_gru_device *d)
{
    return d->plan.tiles > 0 ? WCODEC_GRU_PRODUCTS_BF16 : WCODEC_GRU_PRODUCTS_F32;
}
