/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* A gated recurrent unit: making it. */
#include "recurrent/gru.h"

#include "backends/cpu/cpu_level.h"
#include "core/bytes.h"
#include "core/context.h"
#include "core/error.h"
#include "core/memory.h"
#include "core/options.h"
#include "recurrent/array.h"
#include "recurrent/gru_device.h"

#include <inttypes.h>
#include <stdbool.h>

enum { HIDDEN_MAX = 4096, INPUTS_MAX = 65536, BLOCK = WCODEC_GATES_BLOCK };

static const wcodec_gru_options defaults = {
    .struct_size = sizeof defaults, .inputs = 64, .hidden = 256, .form = WCODEC_GRU_RESET_AFTER};

void wcodec_gru_options_init_size(wcodec_gru_options *options, size_t size)
{
    wcodec_options_set(options, size, &defaults, sizeof defaults);
}

/* Numbers of all weights. */
static uint64_t floats_of(const wcodec_gru_options *o)
{
    const uint64_t width = wcodec_align_u64(o->hidden, BLOCK);
    return width * (WCODEC_GRU_SUMS + 2 + 3 * (o->inputs + o->hidden));
}

wcodec_status wcodec_gru_options_check(const wcodec_context *context,
                                       const wcodec_gru_options *from, wcodec_gru_options *o,
                                       wcodec_error *err)
{
    *o = defaults;
    const wcodec_status status =
        wcodec_options_take(from, o, sizeof *o, "wcodec_gru_options_init", err);
    if (status != WCODEC_OK)
        return status;
    if (o->inputs < 1 || o->inputs > INPUTS_MAX)
        return wcodec_fail(err, WCODEC_ERROR_USAGE, "inputs is %" PRIu64 ": expected 1 to %d",
                           o->inputs, INPUTS_MAX);
    if (o->hidden < 1 || o->hidden > HIDDEN_MAX)
        return wcodec_fail(err, WCODEC_ERROR_USAGE, "hidden is %" PRIu64 ": expected 1 to %d",
                           o->hidden, HIDDEN_MAX);
    if (o->form != WCODEC_GRU_RESET_BEFORE && o->form != WCODEC_GRU_RESET_AFTER)
        return wcodec_fail(err, WCODEC_ERROR_USAGE, "there is no form %d", (int)o->form);
    if (o->products != WCODEC_GRU_PRODUCTS_F32 && o->products != WCODEC_GRU_PRODUCTS_BF16)
        return wcodec_fail(err, WCODEC_ERROR_USAGE, "there are no products %d", (int)o->products);
    if (floats_of(o) * sizeof(float) > context->limits.max_memory)
        return wcodec_fail(err, WCODEC_ERROR_LIMIT,
                           "the unit takes %" PRIu64 " bytes, and the limit of memory is %" PRIu64,
                           floats_of(o) * (uint64_t)sizeof(float), context->limits.max_memory);
    return WCODEC_OK;
}

static wcodec_status take_arrays(const wcodec_gru *g, const wcodec_gru_arrays *from,
                                 wcodec_error *err)
{
    const size_t h = g->hidden, n = g->inputs, width = g->width;
    float *const bias = g->bias, *const more = bias + WCODEC_GRU_SUMS * width;
    const struct {
        const char *name;
        const wcodec_gru_array *from;
        size_t columns;
        float *to;
    } parts[] = {
        {"W_z", &from->w_z, n, g->of_inputs + n * width},
        {"W_r", &from->w_r, n, g->of_inputs + 2 * n * width},
        {"W_h", &from->w_h, n, g->of_inputs},
        {"U_z", &from->u_z, h, g->of_hidden},
        {"U_r", &from->u_r, h, g->of_hidden + h * width},
        {"U_h", &from->u_h, h, g->of_hidden + 2 * h * width},
        {"b_z", &from->b_z, 1, bias + width},
        {"b_r", &from->b_r, 1, bias + 2 * width},
        {"b_h", &from->b_h, 1, bias},
        {"c_z", &from->c_z, 1, more},
        {"c_r", &from->c_r, 1, more + width},
        {"c_h", &from->c_h, 1, bias + 3 * width},
    };
    wcodec_status status =
        wcodec_reserved_check(from->reserved, sizeof from->reserved, "arrays", err);
    for (unsigned i = 0; i < sizeof parts / sizeof parts[0] && status == WCODEC_OK; i++) {
        const bool is_given = parts[i].from->data != NULL,
                   is_bias = parts[i].name[0] == 'b' || parts[i].name[0] == 'c';
        if (!is_given && !is_bias)
            status = wcodec_fail(err, WCODEC_ERROR_USAGE, "%s is missing", parts[i].name);
        else if (is_given && parts[i].name[0] == 'c' && g->form == WCODEC_GRU_RESET_BEFORE)
            status = wcodec_fail(err, WCODEC_ERROR_USAGE,
                                 "%s is given, which the form RESET_BEFORE has not", parts[i].name);
        else if (is_given)
            status = wcodec_gru_array_take(parts[i].from, h, parts[i].columns, parts[i].name,
                                           parts[i].to, err);
    }
    for (size_t i = 0; i < 2 * width; i++)
        bias[width + i] += more[i];
    return status;
}

wcodec_status wcodec_gru_create(wcodec_context *context, const wcodec_gru_options *options,
                                const wcodec_gru_arrays *arrays, wcodec_gru **gru,
                                wcodec_error *err)
{
    wcodec_gru_options o;
    wcodec_status status = wcodec_context_usable(context, err);
    if (status == WCODEC_OK)
        status = wcodec_gru_options_check(context, options, &o, err);
    if (status != WCODEC_OK)
        return status;
    const uint64_t floats = floats_of(&o);
    wcodec_gru *g = wcodec_alloc_zeroed(&context->allocator, sizeof *g);
    if (g != NULL) {
        if (floats <= SIZE_MAX / sizeof *g->weights)
            g->weights =
                wcodec_alloc_zeroed(&context->allocator, (size_t)floats * sizeof *g->weights);
        g->context = context;
        g->allocator = context->allocator;
        g->hidden = (size_t)o.hidden;
        g->inputs = (size_t)o.inputs;
        g->width = (size_t)wcodec_align_u64(o.hidden, BLOCK);
        g->form = o.form;
        wcodec_cpu_gates_dsp_init(&g->dsp, wcodec_cpu_levels() & context->cpu_mask);
    }
    if (g == NULL || g->weights == NULL) {
        status = wcodec_fail(err, WCODEC_ERROR_MEMORY, "out of memory for a recurrent unit");
    } else {
        g->bias = g->weights;
        g->of_inputs = g->bias + (WCODEC_GRU_SUMS + 2) * g->width;
        g->of_hidden = g->of_inputs + 3 * g->inputs * g->width;
        status = take_arrays(g, arrays, err);
    }
    if (status == WCODEC_OK)
        status = wcodec_gru_device_create(g, &o, err);
    if (status == WCODEC_OK)
        *gru = g;
    else
        wcodec_gru_destroy(g);
    return status;
}

void wcodec_gru_sizes(const wcodec_gru *gru, wcodec_gru_options *options)
{
    const wcodec_gru_options own = {
        .inputs = gru->inputs,
        .hidden = gru->hidden,
        .form = gru->form,
        .memory = gru->device != NULL ? wcodec_gru_device_name(gru->device) : NULL,
        .products = gru->device != NULL ? wcodec_gru_device_products(gru->device)
                                        : WCODEC_GRU_PRODUCTS_F32};
    wcodec_options_set(options, options->struct_size, &own, sizeof own);
}

void wcodec_gru_destroy(wcodec_gru *gru)
{
    if (gru == NULL)
        return;
    const wcodec_allocator allocator = gru->allocator;
    wcodec_gru_device_destroy(gru, gru->device);
    wcodec_free(&allocator, gru->weights);
    wcodec_free(&allocator, gru);
}
